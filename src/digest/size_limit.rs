//! Limits the size of a digest, however much a node's logs state: proofs and the first statements are kept longest.

use super::DigestError;
use super::content::Content;
use crate::incident::InputFindings;
use crate::model::{Event, Severity, What};

/// The most bytes of a node's packed digest.
pub const LARGEST: usize = 256 << 10;

/// The most statements of a kind per log, before the limit is lowered.
const MOST: usize = 4096;

/// Packs `content` into [`LARGEST`] bytes. What does not fit is dropped, with a warning on its input.
pub fn packed(content: &mut Content) -> Result<Vec<u8>, DigestError> {
    let mut body = content.packed()?;
    let mut most = MOST;
    while body.len() > LARGEST && most > 0 {
        // About as much as fits, and less in each round.
        most = (most * LARGEST / body.len()).min(most / 2);
        thin(content, most);
        body = content.packed()?;
    }
    while body.len() > LARGEST {
        let half = content.summaries.len() / 2;
        keep_inputs(content, half);
        body = content.packed()?;
    }
    Ok(body)
}

/// Keeps the first `most` statements of each kind in each log, and printed configurations only of the first logs.
fn thin(content: &mut Content, most: usize) {
    for read in &mut content.reads {
        let before = read.findings.events.len();
        let mut seen = [0; Weight::COUNT];
        read.findings.events.retain(|event| {
            let seen = &mut seen[Weight::of(event) as usize];
            *seen += 1;
            *seen <= most.max(1)
        });
        let left_out = before - read.findings.events.len();
        read.findings.timeline.truncate(most);
        if left_out > 0 {
            let told = content.summaries.iter_mut().find(|summary| summary.path == read.path);
            told.into_iter().for_each(|summary| {
                summary.warning = Some(format!("{left_out} of {before} statements found no room in the node's digest"));
            });
        }
    }
    let logs = most / 64;
    content.beginnings.iter_mut().skip(logs.max(1)).for_each(|beginning| beginning.printed.clear());
    content.neighbours.truncate(most);
    if most < 64 {
        content.files.truncate(most);
        content.shown.truncate(most);
    }
    if most == 0 {
        content.beginnings.clear();
    }
}

/// Keeps `most` inputs: those that state a shortage first, then in order.
fn keep_inputs(content: &mut Content, most: usize) {
    let proves = |read: &&InputFindings| read.findings.events.iter().any(|event| Weight::of(event) == Weight::Shortage);
    let first = content.reads.iter().filter(proves).map(|read| &read.path);
    let all = first.chain(content.summaries.iter().map(|summary| &summary.path));
    let mut kept: Vec<_> = Vec::new();
    for path in all {
        if kept.len() < most && !kept.contains(path) {
            kept.push(path.clone());
        }
    }
    let before = content.summaries.len();
    content.retain(|path| kept.iter().any(|kept| **kept == *path));
    let told = content.summaries.first_mut();
    told.into_iter().for_each(|summary| {
        summary.warning = Some(format!("of {before} inputs {most} found room in the node's digest"));
    });
}

/// The importance of a statement, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    Shortage,
    End,
    Stack,
    Notice,
    Memory,
}

impl Weight {
    const COUNT: usize = 5;

    fn of(event: &Event) -> Weight {
        match &event.what {
            What::Shortage(shortage) if shortage.severity == Severity::Fatal => Weight::Shortage,
            What::Shortage(_) | What::Death(_) | What::Failure(_) | What::Finished => Weight::End,
            What::Traceback(_) => Weight::Stack,
            What::Notice => Weight::Notice,
            What::Memory { .. } => Weight::Memory,
        }
    }
}
