//! The items of a report as lines of a terminal.

use super::super::details::{end_in_words, percent, place_of, remarks, role_in_words, shorten, shorten_to};
use super::super::outline::Item;
use super::super::phrases::{amount, effects_in_turn};
use super::super::selection::{change, from_to};
use super::super::wording;
use super::wrap::padded;
use super::{ADDED, DIM, GOOD, GUTTER, INDENT, Length, REMOVED, TextPage, WARN};
use crate::knowledge::in_terms;
use crate::model::{Bytes, Call, Citation, Consumer, Figure, InputSummary, Patch};

impl TextPage {
    /// The changes: proposed ones with their edit, the others in one line each.
    pub(super) fn changes(&mut self, items: &[Item<'_>]) {
        let patches = items.iter().filter_map(|item| match item {
            Item::Patch { number, patch, is_proposed } => Some((*number, *patch, *is_proposed)),
            _ => None,
        });
        let patches: Vec<(usize, &Patch, bool)> = patches.collect();
        if patches.is_empty() {
            return;
        }
        self.text.push('\n');
        let is_set = patches.iter().filter(|(_, _, is_proposed)| *is_proposed).count() > 1;
        for (number, patch, is_proposed) in &patches {
            // The lead has already named the proposed one.
            match patch.outcomes {
                _ if !is_proposed || is_set || self.length == Length::Full => {
                    self.numbered(*number, patch, *is_proposed)
                }
                Some(outcomes) => self.line(INDENT, &format!("{GOOD}{}{GOOD:#}", (self.labels.outcomes)(outcomes))),
                None => {}
            }
            if *is_proposed || self.length == Length::Full {
                self.details(patch, *is_proposed);
            }
        }
        let others = patches.iter().filter(|(_, patch, is_proposed)| !is_proposed && patch.diff.is_some());
        let others: Vec<String> = others.map(|(number, ..)| number.to_string()).collect();
        if !others.is_empty() {
            self.line(INDENT, &format!("{DIM}{}{DIM:#}", (self.labels.other_edits)(&others)));
        }
    }

    fn numbered(&mut self, number: usize, patch: &Patch, is_proposed: bool) {
        let effects = effects_in_turn(patch, number, is_proposed, self.language)
            .map(|effects| format!("  ({effects})"))
            .unwrap_or_default();
        let tried = patch.outcomes.map(|outcomes| format!("  {GOOD}{}{GOOD:#}", (self.labels.outcomes)(outcomes)));
        self.line(INDENT, &format!("{number}. {}{effects}{}", change(patch), tried.unwrap_or_default()));
    }

    fn details(&mut self, patch: &Patch, is_proposed: bool) {
        if is_proposed {
            self.diff(patch);
        }
        let indent = " ".repeat(INDENT);
        for line in patch.line.iter().flat_map(|line| line.lines()) {
            self.text.extend([indent.as_str(), line, "\n"]);
        }
        for (label, words) in remarks(patch, self.labels) {
            self.line(INDENT, &format!("{DIM}{label}{}{words}{DIM:#}", wording::colon(self.language)));
        }
    }

    /// The changed lines with one line of context on each side, and a mark where lines between them are left out.
    fn diff(&mut self, patch: &Patch) {
        let lines: Vec<&str> = patch.diff.iter().flat_map(|diff| diff.lines()).collect();
        let is_header = |at: usize| lines.get(at).is_some_and(|line| line.starts_with("@@"));
        let is_changed = |at: usize| lines.get(at).is_some_and(|line| line.starts_with(['+', '-']));
        let is_near = |at: usize| is_changed(at) || is_changed(at + 1) || at.checked_sub(1).is_some_and(is_changed);
        let indent = " ".repeat(INDENT);
        let mut before = None;
        for (at, line) in lines.iter().enumerate().filter(|(at, _)| is_header(*at) || is_near(*at)) {
            let is_next = before.is_none_or(|before| before + 1 == at || is_header(before) || is_header(at));
            if !is_next {
                self.text.push_str(&format!("{indent}{DIM} …{DIM:#}\n"));
            }
            before = Some(at);
            let style = match line.as_bytes().first() {
                Some(b'+') => ADDED,
                Some(b'-') => REMOVED,
                _ => DIM,
            };
            self.text.push_str(&format!("{indent}{style}{line}{style:#}\n"));
        }
    }

    /// The lines of `item`.
    pub(super) fn item(&self, item: &Item<'_>) -> Vec<String> {
        let labels = self.labels;
        let line = match item {
            Item::Words(words) => words.clone(),
            Item::Rest(words) => format!("{DIM}{words}{DIM:#}"),
            Item::Cause(diagnosis) => {
                let tried = diagnosis.outcomes.map(|outcomes| format!("{DIM}{}{DIM:#}", (labels.outcomes)(outcomes)));
                return std::iter::once(diagnosis.why.clone()).chain(tried).collect();
            }
            Item::OtherCause(diagnosis) => {
                let why = if self.length == Length::Full {
                    wording::sentence(&diagnosis.why, self.language)
                } else {
                    String::new()
                };
                let (share, cause) = (percent(diagnosis), &diagnosis.cause);
                format!("{share}  {}{why}  {DIM}{cause}{DIM:#}", diagnosis.title)
            }
            Item::Cite(cite) => self.cite(cite),
            Item::Figure(figure, meaning) => return self.figure(figure, meaning).into_iter().collect(),
            Item::Holders(group) => self.holders(group),
            Item::Call(call) => self.call(call),
            Item::End(end) => format!("{}  {DIM}{}{DIM:#}", end_in_words(end, self.language), end.source.location),
            Item::Useless(row) => format!("{}{}{}", row.knob, wording::colon(self.language), row.why),
            Item::Follower(other, what) => {
                let at = other.evidence.first().map(|cite| cite.location.to_string()).unwrap_or_default();
                format!("{}, {what}  {DIM}{at}{DIM:#}", wording::headline(other.kind, self.language))
            }
            Item::Input(input) => self.input(input),
            Item::Patch { number, patch, .. } => format!("{number}. {} {}", patch.knob, from_to(patch)),
        };
        vec![line]
    }

    /// A citation on one line of the terminal.
    fn cite(&self, cite: &Citation) -> String {
        let place = cite.location.to_string();
        let room = self.width.map(|width| width.saturating_sub(GUTTER + place.len() + 4));
        let words = room.map_or_else(|| shorten(&cite.text), |room| shorten_to(&cite.text, room));
        format!("{DIM}{place}{DIM:#}  {words}")
    }

    fn figure(&self, figure: &Figure, meaning: &str) -> Option<String> {
        let amount = amount(figure)?;
        let said = figure.text.trim();
        let is_said = said == amount || figure.value.is_some();
        let said = if is_said { String::new() } else { format!("“{said}”  ") };
        let meaning = padded(meaning, 30);
        Some(format!("{meaning} {amount:>12}  {DIM}{said}{}{DIM:#}", figure.source))
    }

    fn holders(&self, group: &[&Consumer]) -> String {
        let at = group.first().map(|largest| largest.source.to_string()).unwrap_or_default();
        format!("{}  {DIM}{at}{DIM:#}", role_in_words(group, self.labels))
    }

    fn call(&self, call: &Call) -> String {
        let folded = match call.folded_before {
            0 => String::new(),
            count => format!("{DIM}{}{DIM:#}  ", (self.labels.folded)(count)),
        };
        let code = if call.code.is_empty() { String::new() } else { format!("  {}", shorten_to(&call.code, 80)) };
        let style = if call.is_own { anstyle::Style::new() } else { DIM };
        format!("{folded}{style}{} {}{code}{style:#}", place_of(call), call.function)
    }

    fn input(&self, input: &InputSummary) -> String {
        if let Some(warning) = &input.warning {
            return format!("{WARN}{}: {warning}{WARN:#}", input.path);
        }
        let what = wording::input(input.role, input.lines, self.language);
        let comma = wording::comma(self.language);
        let producers =
            if input.producers.is_empty() { String::new() } else { format!(": {}", input.producers.join(", ")) };
        format!(
            "{}  {DIM}{what}{comma}{}{producers}{DIM:#}",
            input.path,
            in_terms(&Bytes(input.bytes as i128).to_string(), self.language)
        )
    }
}
