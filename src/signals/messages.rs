//! Signals of the words in messages and the lines around them.

use super::Signals;
use crate::facts::tokens;
use crate::incident::{FoundIncident, Route};
use crate::model::Citation;

/// Most bytes of a message; the rest may be another message glued to it.
const LONGEST_MESSAGE: usize = 1200;
/// Most bytes of a line that are read.
const LONGEST_LINE: usize = 400;
/// Most messages of one incident.
const MESSAGES: usize = 4;
/// How many of the last lines around count as near.
const NEAR: usize = 12;

/// Adds the words of the messages of `found` and of the lines around them. Frames are left out, because the stack has its own signals.
pub(super) fn add(signals: &mut Signals, found: &FoundIncident) {
    for message in found.messages.iter().take(MESSAGES) {
        words(&message.words, LONGEST_MESSAGE, |word| signals.add(format!("message:{word}"), 1.0, Some(&message.at)));
    }
    for (file, cite) in &found.places {
        let stem = file.rsplit_once('.').map_or(&**file, |(stem, _)| stem);
        signals.add(format!("place:{}", stem.to_ascii_lowercase()), 1.0, Some(cite));
    }
    let is_message = |cite: &Citation| found.messages.iter().any(|message| message.at.location == cite.location);
    let is_frame = |cite: &Citation| {
        found.frames.iter().any(|frame| {
            frame.at.location.line == cite.location.line || !frame.code.is_empty() && cite.text.trim() == &*frame.code
        })
    };
    let in_stack = |cite: &Citation| cite.text.contains("File \"") || cite.text.contains("Traceback (most");
    // Lines before the end of a phase no longer count: weights are loaded before training begins.
    let ended = found.signs.iter().filter(|sign| sign.route == Route::EndedMark).find_map(|sign| sign.evidence.first());
    let is_over = |cite: &Citation| {
        ended.is_some_and(|mark| mark.location.path == cite.location.path && cite.location.line <= mark.location.line)
    };
    let said = found.around.iter();
    let said = said.filter(|cite| !is_message(cite) && !is_frame(cite) && !in_stack(cite) && !is_over(cite));
    for (place, cite) in said.rev().enumerate() {
        words(&cite.text, LONGEST_LINE, |word| {
            if place < NEAR {
                signals.add(format!("near:{word}"), 1.0, Some(cite));
            }
            signals.add(format!("around:{word}"), 1.0, Some(cite));
        });
    }
}

fn words(text: &str, longest: usize, each: impl FnMut(String)) {
    tokens(&text[..text.floor_char_boundary(longest)]).for_each(each);
}
