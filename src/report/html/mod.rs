//! One self-contained page: no network access, readable in light and dark, printable.
//!
//! Everything from an input passes through maud's escaping; only the style and the script are inserted raw.

mod bars;
mod plot;
mod ranks;
mod snapshot;

use std::ops::Range;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::context_lines::BESIDE;
use super::details::{describe_job, end_in_words, percent, place_of, remarks, strip};
use super::device::call_device;
use super::diff::class;
use super::lead::Lead;
use super::phrases::{amount, describe, effects_in_turn, headline, others, phase, standing, title, together};
use super::selection::{from_to, proposed};
use super::wording::{self, Labels};
use super::{has_log, numbered, selection, telling};
use crate::diagnosis::UNKNOWN;
use crate::knowledge::Language;
use crate::model::{Bytes, Citation, Collapse, Consumer, Diagnosis, Incident, Kind, NotAdvised, Patch, Report};

/// The style of a page that contains only reports.
const PAGE: &str = include_str!("page.css");
/// The style of a report's parts on any page; colours and headings belong to the page.
pub const STYLE: &str = include_str!("parts.css");
/// The script of a report's parts on any page.
pub const SCRIPT: &str = include_str!("script.js");
/// Forbids fetching, framing and sending anything.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// The most citations, inputs and processes that are shown.
const CITES: usize = 50;
const INPUTS: usize = 200;
const CONSUMERS: usize = 20;

/// The reports of jobs as one HTML file.
pub fn html(reports: &[Report], language: Language) -> String {
    let page = |report| HtmlPage { report, language, labels: wording::labels(language) };
    let pages: Vec<HtmlPage<'_>> = reports.iter().map(page).collect();
    document(&pages, language).into_string()
}

/// A report as part of a page that includes [`STYLE`] and [`SCRIPT`]; it contains neither style nor script itself.
pub fn embedded(report: &Report, language: Language) -> Markup {
    HtmlPage { report, language, labels: wording::labels(language) }.body()
}

fn document(pages: &[HtmlPage<'_>], language: Language) -> Markup {
    let title = pages.first().map(|page| title(page.report, language)).unwrap_or_default();
    html! {
        (DOCTYPE)
        html lang=(match language { Language::En => "en", Language::Zh => "zh" }) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="referrer" content="no-referrer";
                title { (title) " – oomdoc" }
                style { (PreEscaped(PAGE)) (PreEscaped(STYLE)) }
            }
            body {
                @for (place, page) in pages.iter().enumerate() {
                    @if place > 0 { hr; }
                    @if pages.len() > 1 { p.dim { ((page.labels.job_of)(place + 1, pages.len())) } }
                    (page.body())
                }
                @if let Some(page) = pages.first() {
                    footer { "oomdoc " (page.report.version) " · " (page.report.schema) }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

struct HtmlPage<'a> {
    report: &'a Report,
    language: Language,
    labels: &'static Labels,
}

impl HtmlPage<'_> {
    fn body(&self) -> Markup {
        html! {
            (self.lead())
            @match self.report.subject() {
                Some(root) => {
                    (self.incident(root))
                    (self.followers(others(self.report)))
                }
                None => {
                    (snapshot::snapshots(self.report, self.language))
                    @if let Some(failure) = &self.report.other_failure {
                        (self.collapse())
                        (ranks::grid(self.report, self.language))
                        h2 { (self.labels.proof) }
                        (self.proof(&failure.evidence))
                        (self.followers(others(self.report)))
                    } @else {
                        (ranks::grid(self.report, self.language))
                    }
                }
            }
            (self.inputs())
        }
    }

    /// What ran out, why, and what to do.
    fn lead(&self) -> Markup {
        let lead = Lead::of(self.report, self.language);
        let action = lead.action.as_ref().map(|action| (action.is_hint(), action.labelled(self.labels)));
        html! {
            h1 class=(self.mood()) { (plain(&lead.what)) }
            @if let Some(ignored) = &lead.ignored { p.lead { (plain(ignored)) } }
            @if let Some(why) = lead.why {
                p.lead { b { (self.labels.why) } " " (plain(&why.title)) " (" (percent(why)) ") " code.dim { (why.cause) } }
            }
            @if let Some((is_hint, (label, words))) = action {
                p.lead { b { (label) } " " @if is_hint { (plain(words)) } @else { code { (plain(words)) } } }
            }
        }
    }

    /// The call that failed, and how the processes ended.
    fn collapse(&self) -> Markup {
        let Collapse { stack, sequence } = &self.report.failure;
        html! {
            @if !stack.is_empty() {
                h2 { (self.labels.stack) }
                pre.stack {
                    @for call in stack {
                        @if call.folded_before > 0 { span.dim { ((self.labels.folded)(call.folded_before)) } "\n" }
                        span class=(if call.is_own { "own" } else { "dim" }) { (plain(&place_of(call))) " " (plain(&call.function)) }
                        @if !call.code.is_empty() { "\n    " (plain(&call.code)) }
                        "\n"
                    }
                }
            }
            @if sequence.len() > 1 || sequence.first().is_some_and(|end| end.count > 1) {
                h2 { (self.labels.ends) }
                ol.ends {
                    @for end in sequence {
                        li { (plain(&end_in_words(end, self.language))) " " code.dim { (plain(&end.source.location.to_string())) } }
                    }
                }
            }
        }
    }

    fn mood(&self) -> &'static str {
        let is_read = has_log(self.report);
        if self.report.subject().is_some_and(|root| root.ignored.is_some()) {
            return "warn";
        }
        match (self.report.verdict, &self.report.other_failure, self.report.incidents.is_empty()) {
            (Kind::None, None, true) if is_read => "good",
            (Kind::None, _, _) => "warn",
            _ => "bad",
        }
    }

    fn incident(&self, incident: &Incident) -> Markup {
        let Labels { who, job: of, when, phase: doing, before, figures, why, proof, next_time, .. } = self.labels;
        html! {
            table {
                @if !incident.victim.is_unknown() { tr { th { (who) } td { (plain(&call_device(&describe(&incident.victim, self.language), incident))) } } }
                @if let Some(job) = describe_job(&self.report.job, self.labels) { tr { th { (of) } td { (plain(&job)) } } }
                @if let Some(failed) = &incident.failed_at { tr { th { (when) } td { (plain(failed)) } } }
                tr { th { (doing) } td { (plain(&phase(incident, self.language))) } }
                @if incident.seen.count > 0 {
                    tr { th { (before) } td { (plain(&(self.labels.seen)(&incident.seen))) } }
                }
                @for earlier in &incident.seen.earlier {
                    tr { th {} td.dim { (plain(&(self.labels.earlier)(earlier))) } }
                }
                tr { th { "id" } td { code { (incident.id) } " " code.dim { "oomdoc history show " (incident.id.get(..8).unwrap_or(&incident.id)) } } }
            }
            @if !incident.diagnoses.is_empty() {
                h2 { (why) }
                @for (place, diagnosis) in telling(&incident.diagnoses).into_iter().enumerate() { (self.diagnosis(place, diagnosis)) }
            }
            (self.patches(incident))
            (self.useless(incident.diagnoses.first().map_or(&[], |first| &first.not_advised)))
            @if !incident.figures.is_empty() {
                h2 { (figures) }
                (self.figures(incident))
            }
            (plot::timeline(incident, self.language))
            (bars::memory(incident, self.language))
            (self.consumers(incident))
            (snapshot::snapshots(self.report, self.language))
            (self.collapse())
            (ranks::grid(self.report, self.language))
            h2 { (proof) }
            (self.proof(&incident.phase.evidence))
            (self.proof(&incident.evidence))
            @if !incident.capture_next.is_empty() {
                h2 { (next_time) }
                ul { @for hint in &incident.capture_next { li { (plain(hint)) } } }
            }
        }
    }

    /// The evidence for a cause. It is folded away for all but the first, so that the change is not far below.
    fn diagnosis(&self, place: usize, diagnosis: &Diagnosis) -> Markup {
        let percent = percent(diagnosis);
        html! {
            h3 { (percent) " " (plain(&diagnosis.title)) " " code.dim { (diagnosis.cause) } }
            p { (plain(&diagnosis.why)) }
            @if place == 0 || diagnosis.evidence.is_empty() {
                (self.cites(&diagnosis.evidence))
            } @else {
                details {
                    summary.dim { (self.labels.proof) ": " (diagnosis.evidence.len()) }
                    (self.cites(&diagnosis.evidence))
                }
            }
        }
    }

    fn patches(&self, incident: &Incident) -> Markup {
        let (shown, count) = (numbered(incident), proposed(incident).len());
        let is_known = incident.diagnoses.first().is_some_and(|diagnosis| &*diagnosis.cause != UNKNOWN);
        html! {
            @if !shown.is_empty() {
                h2 { (if is_known { self.labels.change } else { self.labels.first_steps }) }
                @for (number, patch) in (1..).zip(shown) { (self.patch(number, patch, number <= count)) }
                @if let Some(words) = together(incident, self.language) { p { strong { (words) } } }
            }
        }
    }

    fn patch(&self, number: usize, patch: &Patch, is_proposed: bool) -> Markup {
        let Labels { copy, copied, .. } = self.labels;
        html! {
            h3 {
                (number) ". " code { (plain(&patch.knob)) } " " (plain(&from_to(patch)))
                @if let Some(effects) = effects_in_turn(patch, number, is_proposed, self.language) { span.dim { " (" (effects) ")" } }
            }
            @for (label, words) in remarks(patch, self.labels) {
                p { (label) (wording::colon(self.language)) (plain(words)) }
            }
            @if let Some(line) = &patch.line { pre { (line) } }
            @if let Some(diff) = &patch.diff {
                div.patch {
                    button.copy type="button" data-copied=(copied) { (copy) }
                    // Verbatim, since the copied text is meant for `git apply`.
                    pre {
                        @for (place, line) in diff.split_inclusive('\n').enumerate() {
                            // The first two lines name the file.
                            span class=(if place < 2 { "hunk" } else { class(line) }) { (line) }
                        }
                    }
                }
            }
        }
    }

    fn useless(&self, rows: &[NotAdvised]) -> Markup {
        html! {
            @if !rows.is_empty() {
                h2 { (self.labels.useless) }
                ul { @for row in rows { li { code { (plain(&row.knob)) } ": " (plain(&row.why)) } } }
            }
        }
    }

    fn figures(&self, incident: &Incident) -> Markup {
        let Labels { figure: name, amount: number, place, .. } = self.labels;
        html! {
            table {
                tr { th { (name) } th.number { (number) } th { (place) } }
                @for figure in selection::figures(&incident.figures) {
                    @if let Some(amount) = amount(figure) {
                        tr {
                            td { (call_device(wording::figure(figure.name, self.language), incident)) }
                            td.number { (amount) }
                            td.dim { code { (plain(&figure.source.to_string())) } " " (plain(&figure.text)) }
                        }
                    }
                }
            }
        }
    }

    fn consumers(&self, incident: &Incident) -> Markup {
        let holders: Vec<&Consumer> = incident.holders().collect();
        html! {
            @if !holders.is_empty() {
                h2 { (self.labels.holders) }
                table {
                    @for consumer in holders.iter().take(CONSUMERS) {
                        tr {
                            td.number { (consumer.bytes) }
                            td { @if let Some(pid) = consumer.pid { "pid " (pid) } }
                            td { (plain(consumer.role.as_deref().unwrap_or_default())) }
                            td.dim { code { (plain(&consumer.source.to_string())) } }
                        }
                    }
                }
                @if holders.len() > CONSUMERS {
                    p.dim { ((self.labels.more)(holders.len() - CONSUMERS)) }
                }
            }
        }
    }

    fn cites(&self, cites: &[Citation]) -> Markup {
        self.lines(cites, 0)
    }

    /// The lines that prove the incident, each with its context.
    fn proof(&self, cites: &[Citation]) -> Markup {
        self.lines(cites, BESIDE)
    }

    fn lines(&self, cites: &[Citation], beside: u64) -> Markup {
        html! {
            @for cite in cites.iter().take(CITES) {
                @let line = cite.location.line.0;
                pre.cite {
                    span.dim { (plain(&cite.location.to_string())) } "\n"
                    @for before in self.beside(cite, line.saturating_sub(beside)..line) {
                        span.beside { (strip(&before.text)) } "\n"
                    }
                    (plain(&cite.text))
                    @for after in self.beside(cite, line + 1..line + 1 + beside) {
                        "\n" span.beside { (strip(&after.text)) }
                    }
                }
            }
            @if cites.len() > CITES { p.dim { ((self.labels.more_in_json)(cites.len() - CITES)) } }
        }
    }

    /// The context lines with these `numbers` in the input of `cite`, as far as they were read.
    fn beside(&self, cite: &Citation, numbers: Range<u64>) -> impl Iterator<Item = &Citation> {
        let path = cite.location.path.clone();
        let is_beside =
            move |other: &&Citation| other.location.path == path && numbers.contains(&other.location.line.0);
        self.report.neighbours.iter().filter(is_beside)
    }

    fn followers(&self, others: &[Incident]) -> Markup {
        html! {
            @if !others.is_empty() {
                h2 { (self.labels.also) }
                @for other in others {
                    details {
                        summary {
                            (headline(other, self.language)) ", "
                            (standing(other, self.report, self.language))
                        }
                        (self.cites(&other.evidence))
                    }
                }
            }
        }
    }

    fn inputs(&self) -> Markup {
        let inputs = &self.report.inputs;
        html! {
            h2 { (self.labels.read) }
            @if let Some(nodes) = &self.report.nodes { p { (plain(&(self.labels.nodes)(nodes))) } }
            table {
                @for input in inputs.iter().take(INPUTS) {
                    tr {
                        td { code { (plain(&input.path)) } }
                        td.number { (Bytes(input.bytes as i128)) }
                        td.dim { (input.producers.join(", ")) }
                        td { @if let Some(warning) = &input.warning { (plain(warning)) } }
                    }
                }
            }
            @if inputs.len() > INPUTS { p.dim { ((self.labels.more)(inputs.len() - INPUTS)) } }
        }
    }
}

/// Text from an input without control characters; it is escaped where it is inserted.
fn plain(text: &str) -> String {
    strip(text).trim().to_owned()
}
