//! What a job outlived by trying again: with less, or from its beginning.

use std::collections::HashMap;
use std::sync::Arc;

use super::Case;
use crate::model::{Event, Frame, Kind, LineNumber, Severity, What};

/// So many lines after a shortage a program says that it tries again: the shortage's stack may stand between.
const SAID_WITHIN: u64 = 60;

/// So many training steps between two shortages of different memory show that the first did not bring about the second.
const APART: u64 = 2;

/// A shortage that ended something, and the stack that ends in it.
type Refused<'c> = (&'c Event, Option<&'c [Frame]>);

/// What the job did after its shortages.
pub(super) struct Attempts {
    /// For each input the number of training steps up to which its shortages were outlived: the same process trained on and then ran out
    /// of memory in another place, or the job trained on and ran out of other memory.
    outlived: HashMap<Arc<str>, u64>,
    /// The last line of each input that refuses memory.
    last: HashMap<Arc<str>, LineNumber>,
}

impl Attempts {
    pub fn of(case: &Case) -> Attempts {
        let mut outlived: HashMap<Arc<str>, u64> = HashMap::new();
        let refused = case.events.iter().filter(|event| is_fatal(event));
        let refused: Vec<Refused<'_>> =
            refused.map(|event| (event, case.stack_of(event).map(|(_, frames)| frames))).collect();
        let mut last: HashMap<Arc<str>, (&Event, Option<Refused<'_>>)> = HashMap::new();
        for &(event, stack) in &refused {
            let known = last.entry(Arc::clone(&event.at.location.path)).or_insert((event, None));
            known.0 = event;
            known.1 = stack.map(|_| (event, stack)).or(known.1);
        }
        for (event, stack) in refused {
            let Some((last, last_with_stack)) = last.get(&event.at.location.path) else { continue };
            let is_elsewhere = |(later, later_stack): Refused<'_>| {
                later.context.steps > event.context.steps
                    && later.origin == event.origin
                    && stack.is_some()
                    && innermost(stack) != innermost(later_stack)
            };
            let is_of_other_memory =
                kind(last) != kind(event) && last.context.steps >= event.context.steps.saturating_add(APART);
            if is_of_other_memory || last_with_stack.is_some_and(is_elsewhere) {
                let steps = outlived.entry(Arc::clone(&event.at.location.path)).or_default();
                *steps = (*steps).max(event.context.steps);
            }
        }
        let last = last.into_iter().map(|(path, (event, _))| (path, event.at.location.line)).collect();
        Attempts { outlived, last }
    }

    /// Whether the job outlived the shortage of `event`: it tried again, and came further before it failed.
    pub fn outlived(&self, case: &Case, event: &Event) -> bool {
        let trained_on = self.outlived.get(&event.at.location.path).is_some_and(|steps| event.context.steps <= *steps);
        trained_on || self.tried_again(case, event)
    }

    /// Whether the program says behind `event` that it tries again, and then goes on or fails of something else.
    fn tried_again(&self, case: &Case, event: &Event) -> bool {
        let here = &event.at.location;
        let Some(again) = case.index.tries_again_after(here).filter(|line| line.0 - here.line.0 <= SAID_WITHIN) else {
            return false;
        };
        let refused_later = || self.last.get(&here.path).is_some_and(|line| *line > again);
        let next = case.index.fails_otherwise_after(here, &case.events).map(|next| &case.events[next]);
        match next {
            Some(next) if next.at.location.line > again => {
                next.context.progress > event.context.progress || refused_later()
            }
            _ => refused_later() || !case.index.ends_after(here),
        }
    }
}

/// What ran out, by `event`.
fn kind(event: &Event) -> Option<Kind> {
    match &event.what {
        What::Shortage(shortage) => Some(shortage.kind),
        _ => None,
    }
}

/// Whether `event` is a refusal of memory or a kill for want of it.
fn is_fatal(event: &Event) -> bool {
    matches!(&event.what, What::Shortage(shortage) if shortage.severity == Severity::Fatal)
}

/// The file and the function of a stack's innermost call.
fn innermost(stack: Option<&[Frame]>) -> Option<(&str, &str)> {
    stack?.last().map(|frame| (&*frame.file, &*frame.function))
}
