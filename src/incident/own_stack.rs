//! Whose a stack is: the calls in which a message was raised.

use std::borrow::Cow;

use super::Case;
use crate::model::{Citation, Event, Frame, What};
use crate::parse::is_own_exception;

impl Case {
    /// The traceback that ends in `event`: the one whose exception stands on the same line, else, if a damaged log separated the two, the
    /// nearest one of the same process.
    pub(super) fn stack_of(&self, event: &Event) -> Option<(&Event, &[Frame])> {
        const NEAR: u64 = 40;
        let here = &event.at.location;
        let stack = |index: usize| match &self.events[index].what {
            What::Traceback(stack) => Some((&self.events[index], stack.frames.as_slice())),
            _ => None,
        };
        let distance = |stack: &Event| stack.at.location.line.0.abs_diff(here.line.0);
        // A library may print a native stack below Python's, which tells less about the phase.
        let is_native = |stack: &Event| matches!(&stack.what, What::Traceback(stack) if stack.is_native);
        // A killed process prints no stack: one that ends in a refusal is of the process that was refused.
        let is_of_other = |stack: &Event| match (&stack.what, &event.what) {
            (What::Traceback(stack), What::Shortage(shortage)) => {
                let ran_out =
                    stack.exception.as_ref().and_then(|exception| self.index.shortage_at(&exception.location));
                shortage.kind.is_kill() && ran_out.is_some_and(|kind| !kind.is_kill())
            }
            _ => false,
        };
        // Below a message that stands under its own line of code, a launcher tells where it learned that a process is gone.
        let is_launchers = |stack: &Event, frames: &[Frame]| {
            frames.first().is_some_and(|frame| frame.at.location.line > here.line)
                && matches!(&stack.what, What::Traceback(stack) if stack.exception.as_ref().is_none_or(|exception| !is_own_exception(&exception.text)))
                && source_line_above(event).is_some()
        };
        let is_near = |(stack, frames): &(&Event, &[Frame])| !is_of_other(stack) && !is_launchers(stack, frames);
        let near = || self.index.stacks_near(here, NEAR).filter_map(stack).filter(is_near);
        let is_own = |stack: &Event| stack.origin.may_be(&event.origin);
        // A message that lost its prefix may belong to a stack that kept its own, if that stack has no exception.
        let may_be_own = |stack: &Event| {
            (event.origin.is_anonymous() || stack.origin.is_anonymous())
                && matches!(&stack.what, What::Traceback(stack) if stack.exception.is_none())
        };
        let nearest = |(stack, _): &(&Event, &[Frame])| (is_native(stack), distance(stack));
        self.index
            .stack_ending(here)
            .and_then(stack)
            .or_else(|| near().filter(|(stack, _)| is_own(stack)).min_by_key(nearest))
            .or_else(|| near().filter(|(stack, _)| may_be_own(stack)).min_by_key(nearest))
    }

    /// The stacks of `events`, followed by the source lines above their messages, which an excerpt may have kept.
    pub(super) fn frames_of(&self, events: &[&Event]) -> impl Iterator<Item = Cow<'_, [Frame]>> {
        let stacks = events.iter().filter_map(|event| self.stack_of(event)).map(|(_, frames)| Cow::Borrowed(frames));
        let lines = events.iter().filter_map(|event| source_line_above(event)).map(|frame| Cow::Owned(vec![frame]));
        stacks.chain(lines)
    }
}

/// The code before the message of `event`, as a frame: at the beginning of its line, into which copying may have joined two, or directly
/// above.
fn source_line_above(event: &Event) -> Option<Frame> {
    const NEAR: u64 = 3;
    /// Fewer blanks stand within code.
    const GAP: &str = "    ";
    let frame = |code: &str, at: &Citation| {
        Some(Frame { file: String::new(), function: String::new(), code: code.to_owned(), at: at.clone() })
    };
    let joined = event.at.text.trim_start().split_once(GAP);
    if let Some((code, _)) = joined.filter(|(code, _)| is_code(code)) {
        return frame(code, &event.at);
    }
    let here = event.at.location.line.0;
    let above = |cite: &&Citation| (1..=NEAR).contains(&here.saturating_sub(cite.location.line.0));
    let line = event.context.recent.iter().rev().filter(above).find(|cite| is_code(&cite.text))?;
    frame(line.text.trim(), line)
}

/// Whether `line` is a Python statement with a call: `scores = torch.matmul(q, k)`, `denom = (squares.sqrt() / root).add_(eps)`,
/// `return self.attention(`.
fn is_code(line: &str) -> bool {
    let line = line.trim();
    let is_target = |c: char| c.is_ascii_alphanumeric() || "_.,[]()'\" *+-:".contains(c);
    let is_part = |c: char| is_target(c) || "=/@".contains(c);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_]".contains(c);
    let is_whole_target =
        |target: &str| target.chars().all(is_target) && (!target.contains(' ') || target.contains(", "));
    let assigned = line
        .split_once(" = ")
        .filter(|(target, value)| is_whole_target(target) && !value.starts_with(|c: char| c.is_ascii_digit()));
    let assigned = assigned.map(|(_, value)| value);
    let value = assigned.or_else(|| line.strip_prefix("return "));
    let expression = value.unwrap_or(line).trim_start_matches('(');
    let Some((before, _)) = expression.split_once('(') else { return false };
    let is_method = !before.contains(' ') && before.contains('.');
    (value.is_some() || is_method)
        && before.ends_with(is_name)
        && before.chars().all(is_part)
        && !before.contains("://")
}
