//! What an input states, as pairs of a name and the words for it: the form in which examples say what must be read.

use std::sync::Arc;

use super::{Extractor, Findings, Grammars};
use crate::model::{Basis, Exit, FactValue, Severity, What};
use crate::scan::{Extent, Scanner};

/// Everything that `input` states, as pairs like those of [`Example::states`](super::Example::states).
pub fn stated(input: &[u8], grammars: &Grammars) -> Vec<(String, String)> {
    // Examples are about grammars; the reader's judgements do not count.
    stated_by(Basis::Grammar, read_whole("example", input, grammars))
}

/// What the reader of general words takes `input` to state, and where it leaves that to the grammars, which know the format, what they state.
pub fn heard(input: &[u8], grammars: &Grammars) -> Vec<(String, String)> {
    let findings = read_whole("example", input, grammars);
    let is_read = findings.events.iter().any(|event| event.basis == Basis::Reader);
    stated_by(if is_read { Basis::Reader } else { Basis::Grammar }, findings)
}

/// What the reader of general words alone takes `input` to state.
pub fn believed(input: &[u8], grammars: &Grammars) -> Vec<(String, String)> {
    stated_by(Basis::Reader, read_whole("example", input, grammars))
}

fn stated_by(basis: Basis, mut findings: Findings) -> Vec<(String, String)> {
    findings.events.retain(|event| event.basis == basis);
    statements(&findings)
}

/// What is found in `input`, whose last line is complete; citations name it `path`.
pub fn read_whole(path: &str, input: &[u8], grammars: &Grammars) -> Findings {
    let mut extractor = Extractor::new(Arc::from(path), grammars);
    let mut scanner = Scanner::new(grammars.anchors(), Extent::DEFAULT);
    let whole = [input, b"\n"].concat();
    let mut rest = whole.as_slice();
    while scanner.read_from(&mut rest, 1 << 16, &mut extractor).is_ok_and(|read| read > 0) {}
    scanner.finish(&mut extractor);
    extractor.finish()
}

/// Everything that `events` state, as pairs like those of [`Example::states`].
pub(super) fn statements(findings: &Findings) -> Vec<(String, String)> {
    let mut stated = Vec::new();
    let mut say = |name: &str, words: String| stated.push((name.to_owned(), words));
    for event in &findings.events {
        match &event.what {
            What::Shortage(shortage) => {
                let name = match shortage.severity {
                    Severity::Fatal => "kind",
                    Severity::Swallowed => "swallowed",
                    Severity::Retried => "retried",
                    Severity::Pressure => "pressure",
                };
                say(name, shortage.kind.to_string());
                for victim in &shortage.victims {
                    victim.iter_words().for_each(|(name, words)| say(name, words));
                }
                shortage.consumers.iter().for_each(|consumer| say("consumer", consumer.text.clone()));
            }
            What::Death(death) => {
                say(
                    "exit",
                    match death.exit {
                        Exit::Signal(signal) => format!("signal {signal}"),
                        Exit::Code(code) => format!("code {code}"),
                        Exit::Vanished => "vanished".to_owned(),
                        Exit::Stopped => "stopped".to_owned(),
                    },
                );
                death.victim.iter_words().for_each(|(name, words)| say(name, words));
            }
            What::Failure(failure) => say("failure", failure.name.to_string()),
            What::Traceback(traceback) => {
                traceback.frames.iter().for_each(|frame| say("frame", frame.function.clone()));
                traceback.exception.iter().for_each(|exception| say("exception", exception.text.clone()));
            }
            What::Memory { series } => say("series", series.to_string()),
            What::Finished => say("finished", "yes".to_owned()),
            What::Notice => {}
        }
        event.figures.iter().for_each(|figure| say(figure.name.as_str(), figure.text.clone()));
        for fact in &event.facts {
            match &fact.value {
                FactValue::Text(text) => say(fact.key, text.clone()),
                FactValue::Number(_) => say(fact.key, fact.at.text.clone()),
            }
        }
    }
    for point in &findings.timeline {
        say("series", point.series.to_string());
        say(point.name.as_str(), point.text.clone());
    }
    stated
}
