//! What ran out, where, in which phase, with which figures.

use std::fmt::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::super::choice;
use super::super::plain::{amount, describe, describe_job, shorten};
use super::{BAD, BOLD, DIM, Page, words};
use crate::model::{Bytes, Consumer, Figure, Incident, Job, Phase};

/// Figures and consumers that are shown; the rest is counted.
const FIGURES: usize = 8;
const CONSUMERS: usize = 3;

impl Page {
    pub(super) fn incident(&mut self, incident: &Incident, job: &Job) -> fmt::Result {
        let recovered = if incident.recovered { self.labels.and_went_on } else { "" };
        let headline = words::headline(incident.kind, self.language);
        writeln!(self.text, "{BAD}{headline}{recovered}{BAD:#}  {DIM}{}{DIM:#}\n", incident.kind)?;
        if !incident.victim.is_unknown() {
            let others = incident.victims.len().saturating_sub(1);
            let others =
                if others > 0 { format!("  {DIM}{}{DIM:#}", (self.labels.others)(others)) } else { String::new() };
            self.row(self.labels.who, &format!("{}{others}", describe(&incident.victim)))?;
        }
        if let Some(job) = describe_job(job, self.labels) {
            self.row(self.labels.job, &job)?;
        }
        if let Some(failed) = &incident.failed_at {
            self.row(self.labels.when, failed)?;
        }
        self.phase(incident)?;
        if incident.seen.count > 0 {
            self.row(self.labels.before, &(self.labels.seen)(&incident.seen))?;
        }
        for earlier in &incident.seen.earlier {
            self.row("", &(self.labels.earlier)(earlier))?;
        }
        self.figures(&incident.figures)?;
        self.consumers(incident)
    }

    fn row(&mut self, label: &str, words: &str) -> fmt::Result {
        let label = padded(label, 6);
        writeln!(self.text, "  {BOLD}{label}{BOLD:#} {words}")
    }

    fn phase(&mut self, incident: &Incident) -> fmt::Result {
        let phase = &incident.phase;
        if phase.name == Phase::Unknown {
            return self.row(self.labels.phase, self.labels.phase_unknown);
        }
        let site = phase.site.as_deref().map(|site| format!(": {site}")).unwrap_or_default();
        let sure = words::sureness(phase.confidence, self.labels);
        self.row(
            self.labels.phase,
            &format!("{}{site}  {DIM}({sure}){DIM:#}", words::phase(phase.name, self.language)),
        )?;
        for cite in phase.evidence.iter().take(1) {
            writeln!(self.text, "         {DIM}{}  {}{DIM:#}", cite.location, shorten(&cite.text))?;
        }
        Ok(())
    }

    fn figures(&mut self, figures: &[Figure]) -> fmt::Result {
        let news = choice::figures(figures);
        if news.is_empty() {
            return Ok(());
        }
        self.heading(self.labels.figures)?;
        for figure in news.iter().take(FIGURES) {
            let Some(amount) = amount(figure) else { continue };
            let said = figure.text.trim();
            let is_said = said == amount || figure.value.is_some();
            let said = if is_said { String::new() } else { format!("“{said}”  ") };
            let meaning = padded(words::figure(figure.name, self.language), 30);
            writeln!(self.text, "  {meaning} {amount:>12}  {DIM}{said}{}{DIM:#}", figure.source)?;
        }
        self.rest(news.len(), FIGURES, self.labels.more_in_json)
    }

    fn consumers(&mut self, incident: &Incident) -> fmt::Result {
        if incident.consumers.is_empty() {
            return Ok(());
        }
        self.heading(self.labels.holders)?;
        let groups = alike(&incident.consumers);
        for group in groups.iter().take(CONSUMERS) {
            let Some(largest) = group.first() else { continue };
            let sum = Bytes(group.iter().map(|consumer| consumer.bytes.0).sum());
            let role = shorten(largest.role.as_deref().unwrap_or_default());
            let pid = largest.pid.map(|pid| format!("pid {pid}")).unwrap_or_default();
            let who = match group.len() {
                1 => format!("{pid:<12} {role}"),
                several => format!("{several} × {role}  {DIM}{} {} ({pid}){DIM:#}", self.labels.largest, largest.bytes),
            };
            writeln!(self.text, "  {:>12}  {who}  {DIM}{}{DIM:#}", sum.to_string(), largest.source)?;
        }
        self.rest(groups.len(), CONSUMERS, self.labels.more)
    }
}

/// Holders of one role together, who holds most first.
fn alike(consumers: &[Consumer]) -> Vec<Vec<&Consumer>> {
    let mut groups: Vec<Vec<&Consumer>> = Vec::new();
    for consumer in consumers {
        match groups.iter_mut().find(|group| consumer.role.is_some() && group[0].role == consumer.role) {
            Some(group) => group.push(consumer),
            None => groups.push(vec![consumer]),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.iter().map(|consumer| consumer.bytes).max()));
    groups
}

/// `words` in a column so wide: a Chinese character takes two.
fn padded(words: &str, width: usize) -> String {
    format!("{words}{}", " ".repeat(width.saturating_sub(words.width())))
}
