//! Merges what `oomdoc.watch` wrote about a failure with the log's own message.
//!
//! Both report the same refusal in the same words. The log has the context of the job; the file has the process, the time, what held the
//! memory and, from a trainer's callback, the phase. If the log lacks the message, the file's event stands alone.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::{Event, LineContext, Origin, Victim, What};

/// The producer of these files.
const PRODUCER: &str = "watch";

/// The fact that names the parent of the writing process.
pub(crate) const LAUNCHER: &str = "watch.parent";

/// Whether `event` is a statement of such a file.
pub(crate) fn speaks(event: &Event) -> bool {
    event.producer == PRODUCER
}

/// Merges each pair of events about one refusal. `endings` are the contexts at the end of each input.
pub(super) fn join(events: &mut Vec<Event>, endings: &[(Arc<str>, LineContext)]) {
    let paths: HashSet<Arc<str>> =
        events.iter().filter(|event| speaks(event)).map(|event| event.at.location.path.clone()).collect();
    if paths.is_empty() {
        return;
    }
    let is_watched = |event: &Event| paths.contains(&event.at.location.path);
    let refused = |event: &Event| matches!(event.what, What::Shortage(_));
    let mut told: Vec<Event> = events.iter().filter(|event| is_watched(event) && refused(event)).cloned().collect();
    told.iter_mut().for_each(|event| complete(event, endings));
    let ends_of_stacks: HashSet<_> = events.iter().filter_map(end_of_stack).cloned().collect();
    let mut joined: HashSet<_> = HashSet::new();
    for event in &told {
        let is_twin = |other: &&mut Event| {
            !is_watched(other)
                && refused(other)
                && !joined.contains(&other.at.location)
                && same_words(other, event)
                && may_be(&other.origin, &event.origin)
                && ends_of_stacks.contains(&other.at.location)
        };
        if let Some(twin) = events.iter_mut().find(is_twin) {
            learn(twin, event);
            joined.insert(twin.at.location.clone());
            joined.insert(event.at.location.clone());
        }
    }
    // The log already has the stack of a merged event.
    events.retain(|event| {
        let place = end_of_stack(event).unwrap_or(&event.at.location);
        !is_watched(event) || speaks(event) || !joined.contains(place)
    });
    for event in events.iter_mut().filter(|event| is_watched(event) && refused(event)) {
        if let Some(whole) = told.iter().find(|whole| whole.at == event.at && whole.what == event.what) {
            *event = whole.clone();
        }
    }
}

/// The location of the exception, if `event` is a stack.
fn end_of_stack(event: &Event) -> Option<&crate::model::Location> {
    match &event.what {
        What::Traceback(stack) => stack.exception.as_ref().map(|exception| &exception.location),
        _ => None,
    }
}

/// Whether both state a refusal of the same kind in the same words.
fn same_words(a: &Event, b: &Event) -> bool {
    let kind = |event: &Event| match &event.what {
        What::Shortage(shortage) => Some(shortage.kind),
        _ => None,
    };
    kind(a) == kind(b) && a.at.text.trim() == b.at.text.trim()
}

/// Whether nothing contradicts that both are of one process.
fn may_be(a: &Origin, b: &Origin) -> bool {
    fn agree<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
        a.is_none() || b.is_none() || a == b
    }
    agree(&a.host, &b.host) && agree(&a.rank, &b.rank) && agree(&a.pid, &b.pid)
}

/// Adds the memory figures and the phase that its file states.
fn complete(event: &mut Event, endings: &[(Arc<str>, LineContext)]) {
    let Some((_, ending)) = endings.iter().find(|(path, _)| *path == event.at.location.path) else { return };
    let known: Vec<_> = event.figures.iter().map(|figure| figure.name).collect();
    event.figures.extend(ending.memory.iter().filter(|figure| !known.contains(&figure.name)).cloned());
    event.context.own = event.context.own.take().or_else(|| ending.any.clone());
}

/// Completes the log's event with what the file's event knows.
fn learn(known: &mut Event, told: &Event) {
    let Origin { host, rank, local_rank, pid, role } = std::mem::take(&mut known.origin);
    known.origin = Origin {
        host: host.or_else(|| told.origin.host.clone()),
        rank: rank.or(told.origin.rank),
        local_rank: local_rank.or(told.origin.local_rank),
        pid: pid.or(told.origin.pid),
        role: role.or_else(|| told.origin.role.clone()),
    };
    known.time = known.time.or(told.time);
    known.context.own = told.context.own.clone().or_else(|| known.context.own.take());
    for figure in &told.figures {
        if known.figures.iter().all(|stated| stated.name != figure.name) {
            known.figures.push(figure.clone());
        }
    }
    if let (What::Shortage(known), What::Shortage(told)) = (&mut known.what, &told.what) {
        let teller: Option<&Victim> = told.victims.first();
        match (known.victims.first_mut(), teller) {
            (Some(victim), Some(teller)) => *victim = victim.clone().or(teller),
            (None, Some(teller)) => known.victims.push(teller.clone()),
            _ => {}
        }
    }
}
