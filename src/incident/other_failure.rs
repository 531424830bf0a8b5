//! What a job died of if it was not memory.

use std::collections::HashSet;

use super::Case;
use crate::model::{
    Citation, Event, Exit, FAILURE_ELSEWHERE, LineNumber, Location, OtherFailure, OtherFailureName, What,
};

/// Most lines of evidence.
const MOST_EVIDENCE: usize = 6;

/// The failure that caused the others; `None` if nothing failed.
pub(super) fn failure(case: &Case) -> Option<OtherFailure> {
    // What a job survived until it was done, it did not die of.
    let fatal = case.events.iter().filter(|event| !case.survived(event));
    let (pointers, others): (Vec<&Event>, Vec<&Event>) = fatal.partition(|event| points_elsewhere(event));
    let lines: HashSet<_> = pointers.iter().map(|event| line_of(event)).collect();
    let of_others = others.into_iter().filter_map(|event| Some((name(event)?, follows(event), event)));
    // The exception of such a line says no more than the line.
    let telling = of_others.filter(|(name, _, event)| !is_vague(*name) || !lines.contains(&line_of(event)));
    let of_pointers = pointers.iter().map(|event| (OtherFailureName::CauseElsewhere, false, *event));
    let named: Vec<(OtherFailureName, bool, &Event)> = telling.chain(of_pointers).collect();
    // A specific failure says more than an exit code, and a failure that tends to follow others is the last resort.
    let weight = |(name, follows, event): &(OtherFailureName, bool, &Event)| {
        // Hardware that fails and a node that is lost explain all other failures.
        let explains = matches!(name, OtherFailureName::GpuHardware | OtherFailureName::LostNode) && !follows;
        // That a process ended says less than that its error points to another one; what the job went on after was a warning.
        let is_bare = *name == OtherFailureName::Unknown && !pointers.is_empty();
        (!explains, is_vague(*name), is_bare, *follows, case.went_on(event), doubt(*name))
    };
    let likeliest = named.iter().min_by_key(|found| weight(found))?;
    let (chosen, _, _) = bug_of_a_peer(&named, likeliest).unwrap_or(likeliest);
    // An exception that has a better name is no evidence for a vague one.
    let others = named.iter().filter(|(name, _, _)| is_vague(*chosen) && !is_vague(*name));
    let others: HashSet<&Location> = others.map(|(_, _, event)| &event.at.location).collect();
    let mut evidence: Vec<Citation> = Vec::new();
    for (_, _, event) in named.iter().filter(|(name, _, event)| name == chosen && !others.contains(&event.at.location))
    {
        if evidence.len() < MOST_EVIDENCE && !evidence.contains(&event.at) {
            evidence.push(event.at.clone());
        }
    }
    Some(OtherFailure { name: *chosen, evidence })
}

/// Whether the name says only that something went wrong. Processes that lose a peer abort themselves.
fn is_vague(name: OtherFailureName) -> bool {
    use OtherFailureName as Name;
    matches!(name, Name::Unknown | Name::PythonError | Name::Abort | Name::CauseElsewhere)
}

/// Whether `event` says that the cause stands elsewhere, as the exception does with which a program answers the end of its own engine.
fn points_elsewhere(event: &Event) -> bool {
    event.what == What::Notice && event.facts.iter().any(|fact| fact.key == FAILURE_ELSEWHERE)
}

/// The line on which `event` stands.
fn line_of(event: &Event) -> (&str, LineNumber) {
    (&event.at.location.path, event.at.location.line)
}

/// Whether a program that fails so does it by itself, whatever becomes of other processes and of memory.
pub(super) fn is_own_fault(name: OtherFailureName) -> bool {
    use OtherFailureName as Name;
    matches!(
        name,
        Name::GpuUnavailable
            | Name::VersionMismatch
            | Name::AccessDenied
            | Name::QuotaExceeded
            | Name::PortInUse
            | Name::ImportError
            | Name::ConfigError
            | Name::TensorMismatch
            | Name::NotANumber
            | Name::DeviceAssert
            | Name::DiskFull
    )
}

/// How likely it is that another failure of the same log was the end.
fn doubt(name: OtherFailureName) -> u8 {
    match name {
        // A process that gets this far survived what it printed before, and its GPU is of no use after.
        OtherFailureName::DeviceAssert | OtherFailureName::IllegalMemoryAccess => 0,
        // The system names it exactly; what else could then not be written says less.
        OtherFailureName::DiskFull => 0,
        // What it says may be better named otherwise.
        OtherFailureName::Assertion | OtherFailureName::IoError | OtherFailureName::CauseElsewhere => 2,
        _ => 1,
    }
}

/// If the likeliest failure is one that follows others, the error that another process printed before it: its peers then lost that process.
fn bug_of_a_peer<'a>(
    named: &'a [(OtherFailureName, bool, &'a Event)],
    (likeliest, follows, lost): &(OtherFailureName, bool, &Event),
) -> Option<&'a (OtherFailureName, bool, &'a Event)> {
    let first =
        named.iter().filter(|(name, _, event)| name == likeliest && event.at.location.path == lost.at.location.path);
    let line = first.map(|(_, _, event)| event.at.location.line).min().filter(|_| *follows)?;
    let before = |event: &Event| event.at.location.path == lost.at.location.path && event.at.location.line < line;
    named.iter().find(|(name, _, event)| {
        *name == OtherFailureName::PythonError
            && before(event)
            && !event.origin.is_anonymous()
            && event.origin != lost.origin
    })
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
