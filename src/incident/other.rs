//! What a job died of when it was no lack of memory.

use super::Case;
use crate::model::{Citation, Event, Exit, OtherFailure, OtherFailureName, What};

/// As many lines say enough.
const MOST_EVIDENCE: usize = 6;

/// The failure that the others followed; `None` when nothing failed.
pub(super) fn failure(case: &Case) -> Option<OtherFailure> {
    let named: Vec<(OtherFailureName, bool, &Event)> =
        case.events.iter().filter_map(|event| Some((name(event)?, follows(event), event))).collect();
    // A name says more than an exit code, and what only follows is the last resort.
    let weight = |(name, follows, _): &(OtherFailureName, bool, &Event)| {
        // Survivors of a lost peer abort themselves.
        let vague = matches!(name, OtherFailureName::Unknown | OtherFailureName::PythonError | OtherFailureName::Abort);
        (vague, *follows)
    };
    let (chosen, _, _) = named.iter().min_by_key(|found| weight(found))?;
    let evidence: Vec<Citation> = named
        .iter()
        .filter(|(name, _, _)| name == chosen)
        .map(|(_, _, event)| event.at.clone())
        .take(MOST_EVIDENCE)
        .collect();
    Some(OtherFailure { name: *chosen, evidence })
}

fn name(event: &Event) -> Option<OtherFailureName> {
    match &event.what {
        What::Failure(failure) => Some(failure.name),
        What::Death(death) => match death.exit {
            Exit::Signal(11) => Some(OtherFailureName::Segfault),
            Exit::Signal(6) => Some(OtherFailureName::Abort),
            Exit::Signal(2) => Some(OtherFailureName::Cancelled),
            Exit::Code(0) | Exit::Stopped => None,
            _ => Some(OtherFailureName::Unknown),
        },
        What::Traceback(stack) => stack.exception.as_ref().map(|_| OtherFailureName::PythonError),
        What::Shortage(_) | What::Memory { .. } | What::Finished | What::Notice => None,
    }
}

fn follows(event: &Event) -> bool {
    matches!(&event.what, What::Failure(failure) if failure.follows)
}
