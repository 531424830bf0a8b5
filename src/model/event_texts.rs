//! The texts of events that come from inputs, as `texts.rs` lists those of reports.

use std::sync::Arc;

use super::{
    Death, Event, Fact, FactValue, Failure, Frame, LineContext, Mention, Origin, PhaseMark, Shortage, Text, Texts,
    Traceback, What,
};

impl Texts for Event {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Event {
            what,
            producer: _,
            basis: _,
            at,
            unbroken,
            evidence,
            figures,
            facts,
            origin,
            time: _,
            repeated: _,
            others,
            context,
        } = self;
        what.texts(see);
        at.texts(see);
        unbroken.texts(see);
        evidence.texts(see);
        figures.texts(see);
        facts.texts(see);
        origin.texts(see);
        others.iter_mut().for_each(|Mention { process, line: _, time: _ }| process.texts(see));
        context.texts(see);
    }
}

impl Texts for What {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        match self {
            What::Shortage(Shortage { kind: _, severity: _, victims, consumers }) => {
                victims.texts(see);
                consumers.texts(see);
            }
            What::Death(Death { exit: _, victim, first: _ }) => victim.texts(see),
            What::Traceback(Traceback { frames, exception, is_native: _ }) => {
                frames.texts(see);
                exception.texts(see);
            }
            What::Memory { series } => series.texts(see),
            What::Failure(Failure { name: _, follows: _ }) | What::Finished | What::Notice => {}
        }
    }
}

impl Texts for Frame {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Frame { file, function, code, at } = self;
        [file, function, code].into_iter().for_each(|text| text.texts(see));
        at.texts(see);
    }
}

impl Texts for Origin {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Origin { host, rank: _, local_rank: _, pid: _, role } = self;
        [host, role].into_iter().for_each(|text| text.texts(see));
    }
}

impl Texts for Fact {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Fact { key: _, value, at } = self;
        match value {
            FactValue::Text(words) => words.texts(see),
            FactValue::Number(_) => {}
        }
        at.texts(see);
    }
}

impl Texts for LineContext {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let LineContext {
            own,
            any,
            memory,
            progress: _,
            bar: _,
            steps: _,
            is_first_step: _,
            seen: _,
            place,
            recent,
            stamps: _,
        } = self;
        own.texts(see);
        any.texts(see);
        shared(memory, see);
        place.texts(see);
        shared(recent, see);
    }
}

/// Many events share one slice; it stays shared if none of its texts was changed.
fn shared<T: Texts + Clone + PartialEq>(items: &mut Arc<[T]>, see: &mut dyn FnMut(Text<'_>)) {
    let mut own = items.to_vec();
    own.texts(see);
    if own[..] != items[..] {
        *items = own.into();
    }
}

impl Texts for PhaseMark {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let PhaseMark { phase: _, site, ended: _, encloses: _, confidence: _, at } = self;
        site.texts(see);
        at.texts(see);
    }
}
