//! Phrases common to all formats: titles, amounts, victims, and the effects of patches.

use super::device::call_device;
use super::selection::numbered;
use super::wording::{self};
use crate::knowledge::Language;
use crate::model::{Bytes, Figure, FigureName, Incident, OtherFailureName, Patch, Report, Victim};

/// The incidents that the report is not about.
pub(super) fn others(report: &Report) -> &[Incident] {
    let about = usize::from(report.subject().is_some());
    report.incidents.get(about..).unwrap_or_default()
}

/// The verdict as a title.
pub(super) fn title(report: &Report, language: Language) -> String {
    let labels = wording::labels(language);
    match (report.subject(), &report.other_failure) {
        (Some(root), _) => headline(root, language),
        (None, Some(failure)) => {
            let is_open = failure.name == OtherFailureName::CauseElsewhere;
            let verdict = if is_open { labels.cannot_be_told } else { labels.not_oom };
            format!("{verdict}: {}", wording::other_failure(failure.name, language))
        }
        // Only the first line; the advice below it is for a terminal.
        (None, None) if !super::has_log(report) => labels.nothing_read.lines().next().unwrap_or_default().to_owned(),
        (None, None) => labels.healthy.to_owned(),
    }
}

/// What ran out, and whether the job went on.
pub(super) fn headline(incident: &Incident, language: Language) -> String {
    let recovered = if incident.recovered { wording::labels(language).and_went_on } else { "" };
    call_device(&format!("{}{recovered}", wording::headline(incident.kind, language)), incident)
}

/// How `other` stands to the first incident of `report`: whether the job went on after it, and else which came first.
pub(super) fn standing(other: &Incident, report: &Report, language: Language) -> &'static str {
    let labels = wording::labels(language);
    let root = report.subject().and_then(|root| root.evidence.first());
    let is_first = other.evidence.first().zip(root).is_some_and(|(own, root)| own.location.is_before(&root.location));
    match is_first {
        _ if other.recovered => labels.went_on,
        true => labels.preceded,
        false => labels.followed,
    }
}

/// The phase, its site in the code, and how certain it is.
pub(super) fn phase(incident: &Incident, language: Language) -> String {
    let labels = wording::labels(language);
    let phase = &incident.phase;
    if phase.name == crate::model::Phase::Unknown {
        return labels.phase_unknown.to_owned();
    }
    let site = phase.site.as_deref().map(|site| format!(": {site}")).unwrap_or_default();
    format!("{}{site} ({})", wording::phase(phase.name, language), wording::sureness(phase.confidence, labels))
}

/// A figure's amount with its unit.
pub(super) fn amount(figure: &Figure) -> Option<String> {
    let is_share = matches!(figure.name, FigureName::NodeFraction | FigureName::NodeThreshold);
    match (figure.bytes, figure.value) {
        (Some(bytes), _) => Some(bytes.to_string()),
        (None, Some(value)) if is_share => Some(format!("{:.1}%", value * 100.0)),
        (None, Some(value)) => Some(value.to_string()),
        (None, None) => None,
    }
}

/// The victim: `rank 0, GPU 0`.
pub(super) fn describe(victim: &Victim, language: Language) -> String {
    let words = |(name, words): (&'static str, String)| match name {
        "role" => words,
        "host" => wording::on_host(&words, language),
        "device" => format!("GPU {words}"),
        name => format!("{name} {words}"),
    };
    let mut parts: Vec<(&'static str, String)> = victim.iter_words().collect();
    parts.sort_by_key(|(name, _)| ["role", "rank", "device", "pid", "host"].iter().position(|known| known == name));
    parts.into_iter().map(words).collect::<Vec<_>>().join(wording::comma(language))
}

/// The sentence that several patches belong together: `1 and 3 together: 61.20 of 79.15 GiB`, without the amount where it is not known.
pub(super) fn together(incident: &Incident, language: Language) -> Option<String> {
    let set = incident.diagnoses.first()?.set.as_ref()?;
    let shown = numbered(incident);
    let place = |knob: &String| Some(shown.iter().position(|patch| patch.knob == *knob)? + 1);
    let numbers: Option<Vec<String>> = set.knobs.iter().map(|knob| Some(place(knob)?.to_string())).collect();
    let needs = [set.needs.gpu, set.needs.host].into_iter().flatten().find(|need| need.capacity.is_some());
    let needs = needs.map(|needs| wording::needed(&needs, language));
    Some((wording::labels(language).together)(&numbers?, needs.as_deref()))
}

/// The effects of a patch and the needs after it: `GPU −133.64 GiB to 15.94 of 79.15 GiB, host +123.83 GiB`.
pub(super) fn effects(patch: &Patch, language: Language) -> Option<String> {
    let effects = [
        ("GPU", patch.effect.gpu_bytes, patch.needs.gpu),
        (wording::host(language), patch.effect.host_bytes, patch.needs.host),
    ];
    let said = effects.iter().filter_map(|(place, bytes, need)| {
        let moved = format!("{place} {}", signed((*bytes)?));
        let then = need.filter(|need| need.capacity.is_some()).map(|need| wording::down_to(&need, language));
        Some(format!("{moved}{}", then.unwrap_or_default()))
    });
    let not_enough = (patch.suffices == Some(false)).then(|| wording::labels(language).not_enough.to_owned());
    let said: Vec<String> = said.chain(not_enough).collect();
    (!said.is_empty()).then(|| said.join(wording::semicolon(language)))
}

/// The same of the patch at `number` of a set: behind the first each begins where the ones before it end.
pub(super) fn effects_in_turn(patch: &Patch, number: usize, is_proposed: bool, language: Language) -> Option<String> {
    let then = if is_proposed && number > 1 { wording::labels(language).then } else { "" };
    effects(patch, language).map(|effects| format!("{then}{effects}"))
}

fn signed(bytes: Bytes) -> String {
    if bytes > Bytes(0) { format!("+{bytes}") } else { format!("−{}", Bytes(-bytes.0)) }
}
