//! Markdown for comments and chats: the verdict, the cause and the change are visible, the proof is folded away.

mod escape;

use std::fmt::{self, Write};

use super::details::{end_in_words, percent, place_of, remarks, role_in_words, shorten};
use super::lead::Lead;
use super::outline::{Item, Limits, Outline, Section};
use super::phrases::{amount, effects_in_turn};
use super::selection::from_to;
use super::wording::Topic;
use super::wording::{self, Labels};
use crate::knowledge::Language;
use crate::model::{Call, Figure, Patch, Report};
use escape::cell;
pub use escape::{block, code, inline};

/// The longest diff in bytes: a forge's comment takes 65,536 characters.
const LONGEST_DIFF: usize = 6000;
/// The most inputs that are named.
const INPUTS: usize = 8;

/// The report as Markdown (GitHub's and GitLab's dialects). Text from logs has no effect: no markup, mentions or links.
pub fn markdown(report: &Report, language: Language) -> String {
    let mut page = MarkdownPage { text: String::new(), language, labels: wording::labels(language) };
    // Writing to a string does not fail.
    let _ = page.write(report);
    page.text
}

/// The reports of several jobs, one below the other.
pub fn markdown_of_jobs(reports: &[Report], language: Language) -> String {
    reports.iter().map(|report| markdown(report, language)).collect::<Vec<_>>().join("\n---\n\n")
}

/// A comment being written.
struct MarkdownPage {
    text: String,
    language: Language,
    labels: &'static Labels,
}

impl MarkdownPage {
    fn write(&mut self, report: &Report) -> fmt::Result {
        let outline = Outline::of(report, self.language, &Limits::FULL);
        self.lead(&outline.lead)?;
        outline.sections.iter().try_for_each(|section| self.section(section))?;
        self.inputs(report)
    }

    fn lead(&mut self, lead: &Lead<'_>) -> fmt::Result {
        writeln!(self.text, "### {}\n", inline(&lead.what))?;
        if let Some(ignored) = &lead.ignored {
            writeln!(self.text, "{}\n", inline(ignored))?;
        }
        if let Some(why) = lead.why {
            let (share, title, cause) = (percent(why), inline(&why.title), code(&why.cause));
            writeln!(self.text, "**{}** {title} ({share}) {cause}\n", self.labels.why)?;
        }
        let Some(action) = &lead.action else { return Ok(()) };
        let (label, words) = action.labelled(self.labels);
        // A hint is a sentence; a change is code.
        let words = if action.is_hint() { inline(words) } else { code(words) };
        writeln!(self.text, "**{label}** {words}\n")
    }

    /// The change, the job and the cause are visible; the proof is folded away.
    fn section(&mut self, section: &Section<'_>) -> fmt::Result {
        let items = &section.items;
        match section.topic {
            Topic::Read => Ok(()),
            Topic::Changes => {
                writeln!(self.text, "#### {}\n", section.heading)?;
                items.iter().try_for_each(|item| self.item(item))?;
                writeln!(self.text)
            }
            Topic::Job => items.iter().try_for_each(|item| match item {
                Item::Words(words) => writeln!(self.text, "{}\n", inline(words)),
                item => self.item(item),
            }),
            Topic::Why => {
                let (cites, said): (Vec<&Item>, Vec<&Item>) =
                    items.iter().partition(|item| matches!(item, Item::Cite(_)));
                said.into_iter().try_for_each(|item| self.item(item))?;
                writeln!(self.text)?;
                match cites.as_slice() {
                    [] => Ok(()),
                    cites => self.fold(section.heading, |page| cites.iter().try_for_each(|item| page.item(item))),
                }
            }
            Topic::Figures => self.fold(section.heading, |page| page.figures(items)),
            Topic::Stack | Topic::Arithmetic | Topic::Snapshot | Topic::Ranks => {
                self.fold(section.heading, |page| page.block(items))
            }
            _ => self.fold(section.heading, |page| items.iter().try_for_each(|item| page.item(item))),
        }
    }

    fn item(&mut self, item: &Item<'_>) -> fmt::Result {
        let labels = self.labels;
        match item {
            Item::Words(words) | Item::Rest(words) => writeln!(self.text, "- {}", inline(words)),
            Item::Cause(diagnosis) => writeln!(self.text, "{}\n", inline(&diagnosis.why)),
            Item::OtherCause(other) => {
                let (share, title, cause) = (percent(other), inline(&other.title), code(&other.cause));
                writeln!(self.text, "- {share} {title} {cause}: {}", inline(&other.why))
            }
            Item::Cite(cite) => {
                writeln!(self.text, "- {} {}", code(&cite.location.to_string()), code(&shorten(&cite.text)))
            }
            Item::Figure(..) | Item::Call(_) | Item::Input(_) => Ok(()),
            Item::Holders(group) => {
                let at = group.first().map(|largest| code(&largest.source.to_string())).unwrap_or_default();
                writeln!(self.text, "- {} {at}", inline(&role_in_words(group, labels)))
            }
            Item::Patch { number, patch, is_proposed } => self.patch(*number, patch, *is_proposed),
            Item::Useless(row) => writeln!(self.text, "- {}: {}", code(&row.knob), inline(&row.why)),
            Item::End(end) => {
                let at = code(&end.source.location.to_string());
                writeln!(self.text, "- {} {at}", inline(&end_in_words(end, self.language)))
            }
            Item::Follower(other, what) => {
                let at = other.evidence.first().map(|cite| code(&cite.location.to_string())).unwrap_or_default();
                writeln!(self.text, "- {}, {what} {at}", wording::headline(other.kind, self.language))
            }
        }
    }

    fn patch(&mut self, number: usize, patch: &Patch, is_proposed: bool) -> fmt::Result {
        let effects = effects_in_turn(patch, number, is_proposed, self.language)
            .map(|effects| format!(" ({effects})"))
            .unwrap_or_default();
        writeln!(self.text, "{number}. {} {}{effects}", code(&patch.knob), code(&from_to(patch)))?;
        for (label, words) in remarks(patch, self.labels) {
            writeln!(self.text, "   - {label}{}{}", wording::colon(self.language), inline(words))?;
        }
        if let Some(line) = &patch.line {
            write!(self.text, "\n{}", block(line, "", "   "))?;
        }
        match &patch.diff {
            Some(diff) if diff.len() > LONGEST_DIFF => writeln!(self.text, "   - {}", self.labels.long_diff),
            Some(diff) => write!(self.text, "\n{}", block(diff, "diff", "   ")),
            None => Ok(()),
        }
    }

    fn figures(&mut self, items: &[Item<'_>]) -> fmt::Result {
        let Labels { figure, amount: number, place, .. } = self.labels;
        writeln!(self.text, "| {figure} | {number} | {place} |\n|---|--:|---|")?;
        for item in items {
            match item {
                Item::Figure(figure, meaning) => self.figure(figure, meaning)?,
                Item::Rest(words) => writeln!(self.text, "\n{words}")?,
                _ => {}
            }
        }
        Ok(())
    }

    fn figure(&mut self, figure: &Figure, meaning: &str) -> fmt::Result {
        let Some(amount) = amount(figure) else { return Ok(()) };
        writeln!(self.text, "| {meaning} | {amount} | {} |", cell(&figure.source.to_string()))
    }

    /// Sums and calls as a block of lines.
    fn block(&mut self, items: &[Item<'_>]) -> fmt::Result {
        let line = |item: &Item<'_>| match item {
            Item::Words(words) | Item::Rest(words) => Some(words.clone()),
            Item::Call(call) => Some(self.call(call)),
            _ => None,
        };
        let lines: Vec<String> = items.iter().filter_map(line).collect();
        write!(self.text, "{}", block(&lines.join("\n"), "text", ""))
    }

    fn call(&self, call: &Call) -> String {
        let folded = match call.folded_before {
            0 => String::new(),
            count => format!("{}  ", (self.labels.folded)(count)),
        };
        format!("{folded}{} {}  {}", place_of(call), call.function, call.code).trim_end().to_owned()
    }

    fn inputs(&mut self, report: &Report) -> fmt::Result {
        let paths: Vec<String> = report.inputs.iter().take(INPUTS).map(|input| code(&input.path)).collect();
        let rest = report.inputs.len().saturating_sub(INPUTS);
        let rest = if rest > 0 { format!(", {}", (self.labels.more)(rest)) } else { String::new() };
        writeln!(self.text, "oomdoc {}. {}: {}{rest}", inline(&report.version), self.labels.read, paths.join(", "))?;
        if let Some(nodes) = &report.nodes {
            writeln!(self.text, "- {}", inline(&(self.labels.nodes)(nodes)))?;
        }
        for input in report.inputs.iter().filter(|input| input.warning.is_some()).take(INPUTS) {
            writeln!(self.text, "- {}: {}", code(&input.path), inline(input.warning.as_deref().unwrap_or_default()))?;
        }
        Ok(())
    }

    /// Folds what `write` writes under a summary.
    fn fold(&mut self, summary: &str, write: impl FnOnce(&mut MarkdownPage) -> fmt::Result) -> fmt::Result {
        writeln!(self.text, "<details><summary>{summary}</summary>\n")?;
        write(self)?;
        writeln!(self.text, "\n</details>\n")
    }
}
