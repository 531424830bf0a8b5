use std::io::Write;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::HistoryPlace;
use crate::cli::error::CliError;
use crate::cli::language::Lang;
use crate::cli::printing;
use crate::history::{self, Annotations, Outcome, Record, Verdict};
use crate::knowledge::{Knowledge, Language, retell};
use crate::model::Incident;
use crate::report::{self, Length};

/// Show an incident as it was analysed, what was tried and what people say of it
#[derive(Debug, Args)]
pub(super) struct Show {
    /// Its id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// How to show it
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    format: ShowFormat,
    #[command(flatten)]
    lang: Lang,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShowFormat {
    Text,
    Json,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    record: Record,
    outcomes: Vec<Outcome>,
}

impl Show {
    /// Shows the incident; `knowledge` is loaded only for the text format, to render it in the reader's language.
    pub fn run(
        self,
        place: &HistoryPlace,
        knowledge: impl FnOnce() -> Result<Arc<Knowledge>, CliError>,
    ) -> Result<(), CliError> {
        let (mut record, outcomes) = place.show(&self.id)?;
        let mut out = anstream::stdout();
        match self.format {
            ShowFormat::Json => writeln!(out, "{}", serde_json::to_string_pretty(&Shown { record, outcomes })?)?,
            ShowFormat::Text => {
                retell(&mut record.incident, &*knowledge()?, self.lang.language);
                let Record { time, inputs, job, incident, failure, annotations, .. } = record;
                writeln!(out, "{}  {time}", incident.id)?;
                writeln!(out, "{}\n", grouped(&incident, self.lang.language))?;
                let shown =
                    report::assemble(inputs, job, incident.kind, vec![incident], None, failure, self.lang.language);
                out.write_all(report::text(&shown, self.lang.language, Length::Full, printing::width()).as_bytes())?;
                // The report includes the diff of the first patch only.
                let patches = shown.incidents.first().map(report::numbered).unwrap_or_default();
                for (number, patch) in (1..).zip(patches).skip(1) {
                    if let Some(diff) = &patch.diff {
                        writeln!(out, "\n{number}. {}\n{}", patch.knob, diff.trim_end())?;
                    }
                }
                out.write_all(annotation_text(&annotations, &outcomes, self.lang.language).as_bytes())?;
            }
        }
        Ok(())
    }
}

/// What the incident has in common with others of its group.
fn grouped(incident: &Incident, language: Language) -> String {
    let fingerprint = &incident.fingerprint;
    match (fingerprint.is_telling(), language) {
        (true, Language::En) => format!("grouped by {}", fingerprint.parts.join(", ")),
        (true, Language::Zh) => format!("分组依据：{}", fingerprint.parts.join("、")),
        (false, Language::En) => "grouped with no other: neither a cause, a frame nor a role is known".to_owned(),
        (false, Language::Zh) => "不与其他事故归为一组：原因、调用栈和角色均未知".to_owned(),
    }
}

/// The annotations and outcomes of an incident as text.
fn annotation_text(annotations: &Annotations, outcomes: &[Outcome], language: Language) -> String {
    let (job, tags, did, notes, worked, failed) = match language {
        Language::En => ("Job", "Tags", "What was done", "Notes", "worked", "failed"),
        Language::Zh => ("作业", "标签", "采取的措施", "备注", "有效", "无效"),
    };
    let (assignee, state, resolved, reopened) = match language {
        Language::En => ("Assignee", "State", "resolved", "reopened"),
        Language::Zh => ("负责人", "状态", "已解决", "重新打开"),
    };
    let day = |time: &str| time.get(..10).unwrap_or(time).to_owned();
    let joined = |parts: &[Option<&str>]| parts.iter().copied().flatten().collect::<Vec<_>>().join("  ");
    let mut sections: Vec<(&str, Vec<String>)> = vec![
        (job, annotations.job.iter().cloned().collect()),
        (tags, Some(annotations.tags.join(" ")).into_iter().filter(|tags| !tags.is_empty()).collect()),
    ];
    let outcome = |outcome: &Outcome| {
        let how = if outcome.worked { worked } else { failed };
        let line = format!("{}  {how}  {}", outcome.change, day(&outcome.time));
        let memory: Option<String> = outcome.peak.map(|peak| peak.descriptions().collect::<Vec<String>>().join(", "));
        let memory = memory.filter(|memory| !memory.is_empty());
        let more = joined(&[memory.as_deref(), outcome.note.as_deref(), outcome.link.as_deref()]);
        if more.is_empty() { line } else { format!("{line}\n    {more}") }
    };
    sections.push((did, outcomes.iter().map(outcome).collect()));
    let note = |note: &history::Note| {
        let text = Some(note.text.as_str()).filter(|text| !text.is_empty());
        format!("{}  {}", day(&note.time), joined(&[text, note.link.as_deref()]))
    };
    sections.push((assignee, annotations.assignee.iter().cloned().collect()));
    let verdict = |verdict: &Verdict| {
        let how = if verdict.resolved { resolved } else { reopened };
        joined(&[Some(how), Some(&day(&verdict.time)), verdict.by.as_deref()])
    };
    sections.push((state, annotations.verdict.iter().map(verdict).collect()));
    sections.push((notes, annotations.notes.iter().map(note).collect()));
    sections.retain(|(_, lines)| !lines.is_empty());
    sections.iter().map(|(name, lines)| format!("\n{name}\n  {}\n", lines.join("\n  "))).collect()
}
