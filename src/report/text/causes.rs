//! Why, what to change, what does not help, what to record next time.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};

use super::super::choice::{from_to, numbered, proposed, telling};
use super::super::plain::{effects, together};
use super::{BOLD, DIM, GOOD, Page};
use crate::diagnosis::UNKNOWN;
use crate::model::{Diagnosis, Incident, Patch};

/// Lines of evidence, warnings and hints that are shown.
const EVIDENCE: usize = 2;
const USELESS: usize = 3;
const HINTS: usize = 3;

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

impl Page {
    pub(super) fn causes(&mut self, incident: &Incident) -> fmt::Result {
        if incident.diagnoses.is_empty() {
            return Ok(());
        }
        if let Some(words) = &incident.memory.explains {
            self.heading(self.labels.arithmetic)?;
            words.lines().try_for_each(|line| writeln!(self.text, "  {line}"))?;
        }
        self.heading(self.labels.why)?;
        let shown = telling(&incident.diagnoses);
        shown.iter().try_for_each(|diagnosis| self.diagnosis(diagnosis))?;
        self.patches(incident)?;
        self.useless(incident)?;
        if !incident.capture_next.is_empty() {
            self.heading(self.labels.next_time)?;
            for hint in incident.capture_next.iter().take(HINTS) {
                writeln!(self.text, "  {hint}")?;
            }
        }
        Ok(())
    }

    fn diagnosis(&mut self, diagnosis: &Diagnosis) -> fmt::Result {
        let percent = format!("{:.0}%", diagnosis.confidence * 100.0);
        writeln!(self.text, "  {BOLD}{percent:>4}  {}{BOLD:#}  {DIM}{}{DIM:#}", diagnosis.title, diagnosis.cause)?;
        writeln!(self.text, "        {}", diagnosis.why)?;
        if let Some(outcomes) = diagnosis.outcomes {
            writeln!(self.text, "        {DIM}{}{DIM:#}", (self.labels.outcomes)(outcomes))?;
        }
        for cite in diagnosis.evidence.iter().take(EVIDENCE) {
            self.cite("        ", cite)?;
        }
        Ok(())
    }

    fn patches(&mut self, incident: &Incident) -> fmt::Result {
        let shown = numbered(incident);
        if shown.is_empty() {
            return Ok(());
        }
        let is_known = incident.diagnoses.first().is_some_and(|diagnosis| &*diagnosis.cause != UNKNOWN);
        self.heading(if is_known { self.labels.change } else { self.labels.first_steps })?;
        let proposed = proposed(incident).len();
        for (number, patch) in (1..).zip(&shown) {
            self.patch(number, patch)?;
            if number <= proposed {
                self.diff(patch)?;
            }
        }
        if let Some(words) = together(incident, self.language) {
            writeln!(self.text, "  {BOLD}{words}{BOLD:#}")?;
        }
        // The proposal's edit stands there; the others are asked for.
        let others = (1..).zip(&shown).skip(proposed).filter(|(_, patch)| patch.diff.is_some());
        let others: Vec<String> = others.map(|(number, _): (usize, _)| number.to_string()).collect();
        if !others.is_empty() {
            writeln!(self.text, "  {DIM}{}{DIM:#}", (self.labels.other_edits)(&others))?;
        }
        Ok(())
    }

    fn patch(&mut self, number: usize, patch: &Patch) -> fmt::Result {
        let effects = effects(patch, self.language).map(|effects| format!("  ({effects})")).unwrap_or_default();
        writeln!(
            self.text,
            "  {number}. {BOLD}{}{BOLD:#}  {}{effects}  {DIM}{}{DIM:#}",
            patch.knob,
            from_to(patch),
            patch.lever
        )?;
        if let Some(outcomes) = patch.outcomes {
            writeln!(self.text, "     {GOOD}{}{GOOD:#}", (self.labels.outcomes)(outcomes))?;
        }
        for line in patch.line.iter().flat_map(|line| line.lines()) {
            writeln!(self.text, "     {line}")?;
        }
        for (label, words) in [(self.labels.cost, &patch.cost), (self.labels.needs, &patch.constraint)] {
            if let Some(words) = words {
                writeln!(self.text, "     {DIM}{label}: {words}{DIM:#}")?;
            }
        }
        Ok(())
    }

    /// The changed lines and one on each side: enough to find them.
    fn diff(&mut self, patch: &Patch) -> fmt::Result {
        let lines: Vec<&str> = patch.diff.iter().flat_map(|diff| diff.lines()).collect();
        let is_changed = |at: usize| lines.get(at).is_some_and(|line| line.starts_with(['+', '-']));
        let is_near = |at: usize| is_changed(at) || is_changed(at + 1) || at.checked_sub(1).is_some_and(is_changed);
        let is_shown = |(at, line): &(usize, &&str)| line.starts_with("@@") || is_near(*at);
        for (_, line) in lines.iter().enumerate().filter(is_shown) {
            let style = match line.as_bytes().first() {
                Some(b'+') => ADDED,
                Some(b'-') => REMOVED,
                _ => DIM,
            };
            writeln!(self.text, "     {style}{line}{style:#}")?;
        }
        Ok(())
    }

    fn useless(&mut self, incident: &Incident) -> fmt::Result {
        let rows: Vec<_> =
            incident.diagnoses.iter().take(1).flat_map(|diagnosis| &diagnosis.not_advised).take(USELESS).collect();
        if rows.is_empty() {
            return Ok(());
        }
        self.heading(self.labels.useless)?;
        for row in rows {
            writeln!(self.text, "  {BOLD}{}{BOLD:#}: {}", row.knob, row.why)?;
        }
        Ok(())
    }
}
