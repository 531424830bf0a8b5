//! What every renderer says in the same words: titles, amounts, who was hit, what a patch changes.

use super::choice::numbered;
use super::words::{self, Labels};
use crate::knowledge::Language;
use crate::model::{Bytes, Figure, FigureName, Incident, Job, Patch, Report, Text, Texts, Victim, one_line};

/// A cited line is cut to this many characters.
const WIDTH: usize = 150;

/// The verdict in a line.
pub(super) fn title(report: &Report, language: Language) -> String {
    let labels = words::labels(language);
    match (report.incidents.first(), &report.other_failure) {
        (Some(root), _) => headline(root, language),
        (None, Some(failure)) => format!("{}: {}", labels.not_oom, words::other_failure(failure.name, language)),
        // Its first line; what to do about it is for a terminal.
        (None, None) if report.inputs.iter().all(|input| input.lines == 0) => {
            labels.nothing_read.lines().next().unwrap_or_default().to_owned()
        }
        (None, None) => labels.healthy.to_owned(),
    }
}

/// What ran out, and whether the job went on.
pub(super) fn headline(incident: &Incident, language: Language) -> String {
    let recovered = if incident.recovered { words::labels(language).and_went_on } else { "" };
    format!("{}{recovered}", words::headline(incident.kind, language))
}

/// The phase, more closely, and how sure that is.
pub(super) fn phase(incident: &Incident, language: Language) -> String {
    let labels = words::labels(language);
    let phase = &incident.phase;
    if phase.name == crate::model::Phase::Unknown {
        return labels.phase_unknown.to_owned();
    }
    let site = phase.site.as_deref().map(|site| format!(": {site}")).unwrap_or_default();
    format!("{}{site} ({})", words::phase(phase.name, language), words::sureness(phase.confidence, labels))
}

/// A figure's number with its unit.
pub(super) fn amount(figure: &Figure) -> Option<String> {
    let is_share = matches!(figure.name, FigureName::NodeFraction | FigureName::NodeThreshold);
    match (figure.bytes, figure.value) {
        (Some(bytes), _) => Some(bytes.to_string()),
        (None, Some(value)) if is_share => Some(format!("{:.1}%", value * 100.0)),
        (None, Some(value)) => Some(value.to_string()),
        (None, None) => None,
    }
}

/// Who was hit: `rank 0, GPU 0`.
pub(super) fn describe(victim: &Victim) -> String {
    let words = |(name, words): (&'static str, String)| match name {
        "role" => words,
        "host" => format!("on {words}"),
        "device" => format!("GPU {words}"),
        name => format!("{name} {words}"),
    };
    let mut parts: Vec<(&'static str, String)> = victim.iter_words().collect();
    parts.sort_by_key(|(name, _)| ["role", "rank", "device", "pid", "host"].iter().position(|known| known == name));
    parts.into_iter().map(words).collect::<Vec<_>>().join(", ")
}

/// What the job is: `openrlhf up to 0.10.1.post2, Qwen2.5-72B, 8 ranks`.
pub(super) fn describe_job(job: &Job, labels: &Labels) -> Option<String> {
    let framework = job.framework.as_deref().map(|name| {
        let version = job.framework_version.as_deref().map(|version| format!(" {version}"));
        let at_most = job.framework_version_at_most.as_deref().map(labels.up_to);
        format!("{name}{}", version.or(at_most).unwrap_or_default())
    });
    let model = job.model.as_deref().map(shorten);
    let ranks = job.world_size.map(labels.ranks);
    let parts: Vec<String> = [framework, model, ranks, job.gpu.clone()].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// That several patches suffice together: `1 and 3 together: 61.20 of 79.15 GiB`.
pub(super) fn together(incident: &Incident, language: Language) -> Option<String> {
    let set = incident.diagnoses.first()?.set.as_ref()?;
    let shown = numbered(incident);
    let place = |knob: &String| Some(shown.iter().position(|patch| patch.knob == *knob)? + 1);
    let numbers: Option<Vec<String>> = set.knobs.iter().map(|knob| Some(place(knob)?.to_string())).collect();
    let needs = [set.needs.gpu, set.needs.host].into_iter().flatten().find(|need| need.capacity.is_some());
    Some((words::labels(language).together)(&numbers?, &needs?.to_string()))
}

/// What a patch moves, and what is needed then: `GPU −133.64 GiB to 15.94 of 79.15 GiB, host +123.83 GiB`.
pub(super) fn effects(patch: &Patch, language: Language) -> Option<String> {
    let effects =
        [("GPU", patch.effect.gpu_bytes, patch.needs.gpu), ("host", patch.effect.host_bytes, patch.needs.host)];
    let said = effects.iter().filter_map(|(place, bytes, need)| {
        let moved = format!("{place} {}", signed((*bytes)?));
        let known = need.filter(|need| need.capacity.is_some());
        Some(known.map_or(moved.clone(), |need| format!("{moved} to {need}")))
    });
    let not_enough = (patch.suffices == Some(false)).then(|| words::labels(language).not_enough.to_owned());
    let said: Vec<String> = said.chain(not_enough).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

fn signed(bytes: Bytes) -> String {
    if bytes > Bytes(0) { format!("+{bytes}") } else { format!("−{}", Bytes(-bytes.0)) }
}

/// One line, cut where it gets long.
pub(super) fn shorten(text: &str) -> String {
    let words = strip(text);
    let words = words.trim();
    match words.char_indices().nth(WIDTH) {
        Some((cut, _)) => format!("{} …", &words[..cut]),
        None => words.to_owned(),
    }
}

/// Without what a terminal or a browser would obey: control sequences, line ends, changes of the direction of writing.
pub(super) fn strip(text: &str) -> String {
    one_line(&anstream::adapter::strip_str(text).to_string())
}

/// `report` as a screen may show it: whatever stems from inputs is lines of our own making, and obeyed by nobody.
pub(super) fn printable(report: &Report) -> Report {
    let mut report = report.clone();
    report.texts(&mut |text| match text {
        Text::Own(words) => *words = strip(words),
        Text::Lines(lines) => *lines = lines.lines().map(strip).collect::<Vec<_>>().join("\n"),
        Text::Shared(words) => *words = strip(words).into(),
        Text::Cited { location, words, .. } => {
            location.path = strip(&location.path).into();
            *words = strip(words);
        }
    });
    report
}
