//! The report for a terminal: three lines that suffice, the change, and the proof, about a screen in all.

mod items;
mod wrap;

use anstyle::{AnsiColor, Style};

use super::details::{percent, printable, strip, without_shared_folder};
use super::lead::Lead;
use super::outline::{Item, Limits, Outline, Section};
use super::wording::Topic;
use super::wording::{self, Labels};
use super::{has_log, is_read};
use crate::knowledge::Language;
use crate::model::Report;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// The width of the column of labels.
const GUTTER: usize = 9;
/// The most logs that name a job among several.
const NAMED: usize = 4;
/// The indentation of changes.
const INDENT: usize = 2;

/// How much of a report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Length {
    /// What ran out, why, and what to do: three lines.
    Brief,
    /// About a screen.
    #[default]
    Screen,
    /// Everything that a person may want.
    Full,
}

/// The report as text with colours, which the caller strips if it does not print to a terminal. Lines are wrapped to
/// `width` columns, if given.
pub fn text(report: &Report, language: Language, length: Length, width: Option<usize>) -> String {
    let report = without_shared_folder(printable(report));
    let limits = if length == Length::Full { &Limits::FULL } else { &Limits::SCREEN };
    let outline = Outline::of(&report, language, limits);
    let mut page = TextPage { text: String::new(), language, labels: wording::labels(language), length, width };
    page.lead(&report, &outline.lead);
    match (length, &report.nodes) {
        // The logs of a missing node may be the important ones.
        (Length::Brief, Some(nodes)) if !nodes.unanswered.is_empty() => {
            let told = (page.labels.nodes)(nodes);
            page.text.push_str(&format!("{told}\n"));
        }
        (Length::Brief, _) => {}
        _ => page.body(&outline),
    }
    page.text
}

/// The reports of several jobs, each below a heading.
pub fn text_of_jobs(reports: &[Report], language: Language, length: Length, width: Option<usize>) -> String {
    let labels = wording::labels(language);
    let page = |(number, report): (usize, &Report)| {
        let read = report.inputs.iter().filter(|input| is_read(input));
        let paths: Vec<String> = read.take(NAMED).map(|input| strip(&input.path)).collect();
        let rest = report.inputs.iter().filter(|input| is_read(input)).count().saturating_sub(NAMED);
        let rest = if rest > 0 { format!(", {}", (labels.more)(rest)) } else { String::new() };
        let heading = format!("── {}: {}{rest}", (labels.job_of)(number, reports.len()), paths.join(", "));
        format!("{BOLD}{heading}{BOLD:#}\n{}", text(report, language, length, width))
    };
    match reports {
        [report] => text(report, language, length, width),
        reports => (1..).zip(reports).map(page).collect::<Vec<_>>().join("\n"),
    }
}

/// A screen being written.
struct TextPage {
    text: String,
    language: Language,
    labels: &'static Labels,
    length: Length,
    width: Option<usize>,
}

impl TextPage {
    fn lead(&mut self, report: &Report, lead: &Lead<'_>) {
        let root = report.subject();
        let style = match (root, &report.other_failure) {
            (Some(_), _) => BAD,
            (None, Some(_)) => WARN,
            (None, None) if !has_log(report) => WARN,
            (None, None) => GOOD,
        };
        let name = root.map(|root| root.kind.as_str());
        let name = name.or(report.other_failure.as_ref().map(|failure| failure.name.as_str()));
        let name = name.map(|name| format!("  {DIM}{name}{DIM:#}")).unwrap_or_default();
        self.line(0, &format!("{style}{}{style:#}{name}", lead.what));
        if let Some(ignored) = &lead.ignored {
            self.line(0, &format!("{WARN}{ignored}{WARN:#}"));
        }
        if let Some(why) = lead.why {
            let words = format!("{} ({})  {DIM}{}{DIM:#}", why.title, percent(why), why.cause);
            self.labelled(self.labels.why, &[words]);
        }
        if let Some((label, words)) = lead.action.as_ref().map(|action| action.labelled(self.labels)) {
            self.labelled(label, &[format!("{BOLD}{words}{BOLD:#}")]);
        }
    }

    fn body(&mut self, outline: &Outline<'_>) {
        let (changes, rest): (Vec<_>, Vec<_>) =
            outline.sections.iter().partition(|section| section.topic == Topic::Changes);
        let is_only = |section: &Section| section.items.iter().all(|item| matches!(item, Item::Input(_)));
        for section in changes {
            self.changes(&section.items);
        }
        if !rest.is_empty() && !rest.iter().all(|section| is_only(section)) {
            self.text.push('\n');
        }
        for (place, section) in rest.into_iter().enumerate() {
            if place > 0 && self.length == Length::Full {
                self.text.push('\n');
            }
            let lines: Vec<String> = section.items.iter().flat_map(|item| self.item(item)).collect();
            self.labelled(wording::tag(section.topic, self.language), &lines);
        }
        if outline.is_cut && self.length == Length::Screen {
            self.line(0, &format!("{DIM}{}{DIM:#}", self.labels.full));
        }
    }

    /// Writes `lines` beside a label.
    fn labelled(&mut self, label: &str, lines: &[String]) {
        for (place, line) in lines.iter().enumerate() {
            let label = wrap::padded(if place == 0 { label } else { "" }, GUTTER);
            let label = if place == 0 { format!("{BOLD}{label}{BOLD:#}") } else { label };
            let words = wrap::wrapped(line, self.width, GUTTER, self.language);
            self.text.extend([label.as_str(), words.as_str(), "\n"]);
        }
    }

    fn line(&mut self, indent: usize, line: &str) {
        let words = wrap::wrapped(line, self.width, indent, self.language);
        self.text.extend([" ".repeat(indent).as_str(), words.as_str(), "\n"]);
    }
}
