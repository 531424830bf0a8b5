//! Selects what is shown of an incident: a few causes, and a few numbered patches.

use crate::diagnosis::UNKNOWN;
use crate::model::{Bytes, Diagnosis, Figure, FigureName, Incident, Patch, PatchSet, Scalar};

/// The most causes, and the most patches of the first one.
const MOST: usize = 3;
/// The least confidence of a further cause; less likely ones appear only in other formats.
const LEAST: f64 = 0.02;

/// The least confidence of a further cause whose patch is proposed too, if the first one is known.
const WORTH: f64 = 0.1;

/// The causes worth showing: the first, and others that are not too unlikely.
pub fn telling(diagnoses: &[Diagnosis]) -> Vec<&Diagnosis> {
    let is_likely = |diagnosis: &&Diagnosis| diagnosis.confidence >= LEAST && &*diagnosis.cause != UNKNOWN;
    let others = diagnoses.iter().skip(1).filter(is_likely);
    diagnoses.iter().take(1).chain(others).take(MOST).collect()
}

/// The patches that get a number, from 1: those of the likeliest cause, with a set that suffices together first, then
/// the best one of each other cause.
pub fn numbered(incident: &Incident) -> Vec<&Patch> {
    let causes = telling(&incident.diagnoses);
    let (together, alone): (Vec<&Patch>, Vec<&Patch>) = match causes.first() {
        Some(first) => first.patches.iter().partition(|patch| is_in(first.set.as_ref(), patch)),
        None => return Vec::new(),
    };
    let first = together.into_iter().chain(alone).take(MOST);
    let is_decided = causes.first().is_some_and(|first| &*first.cause != UNKNOWN);
    let worth = causes.iter().skip(1).filter(|diagnosis| !is_decided || diagnosis.confidence >= WORTH);
    let others = worth.flat_map(|diagnosis| diagnosis.patches.iter().take(1));
    let mut shown: Vec<&Patch> = Vec::new();
    for patch in first.chain(others) {
        if shown.len() <= MOST && !shown.iter().any(|known| known.knob == patch.knob) {
            shown.push(patch);
        }
    }
    shown
}

/// The patches that the report proposes: the set that suffices together, else the first patch.
pub fn proposed(incident: &Incident) -> Vec<&Patch> {
    let set = incident.diagnoses.first().and_then(|first| first.set.as_ref());
    let count = set.map_or(1, |set| set.knobs.len());
    numbered(incident).into_iter().take(count).collect()
}

fn is_in(set: Option<&PatchSet>, patch: &Patch) -> bool {
    set.is_some_and(|set| set.knobs.contains(&patch.knob))
}

/// The figures worth showing: the first of each name, without those that appear elsewhere or do not help to decide
/// anything.
pub fn figures(figures: &[Figure]) -> Vec<&Figure> {
    use FigureName::{AnonRss, GpuIndex, HostPercent, OomScoreAdj, Other, TotalVm, VictimPid};
    let has_rss = figures.iter().any(|figure| figure.name == AnonRss);
    let is_noise = |figure: &Figure| match figure.name {
        GpuIndex | VictimPid | Other | OomScoreAdj | HostPercent => true,
        TotalVm => has_rss,
        _ => figure.bytes == Some(Bytes(0)),
    };
    let mut own: Vec<&Figure> = Vec::new();
    for figure in figures {
        if !own.iter().any(|known| known.name == figure.name) {
            own.push(figure);
        }
    }
    own.retain(|figure| !is_noise(figure));
    own
}

/// A patch in short: `--zero_stage  2 → 3`; a command is shown as it is.
pub fn change(patch: &Patch) -> String {
    let is_switched_on = patch.to == Some(Scalar::Flag(true)) && patch.from.is_none();
    if is_switched_on && patch.knob.contains([' ', '(']) {
        return patch.knob.clone();
    }
    // A class or a function that is to be called is no flag.
    let call = format!("{}(", patch.knob.rsplit('.').next().unwrap_or(&patch.knob));
    let is_call = is_switched_on && patch.line.as_deref().is_some_and(|line| line.contains(&call));
    if is_call { format!("{}(…)", patch.knob) } else { format!("{}  {}", patch.knob, from_to(patch)) }
}

/// The change of value, `2 → 3` or `× 0.5`, and the values of knobs that must be set along with it.
pub fn from_to(patch: &Patch) -> String {
    let from = patch.from.as_deref().map(|from| format!("{from} ")).unwrap_or_default();
    let by = match (&patch.to, &patch.change, &patch.from) {
        (Some(to), ..) => format!("→ {to}"),
        (None, Some(change), Some(_)) => format!("→ {change}"),
        (None, Some(change), None) => change.to_string(),
        (None, None, _) => "↑".to_owned(),
    };
    let with = patch.with.iter().map(|partner| format!(", {} → {}", partner.knob, partner.to));
    format!("{from}{by}{}", with.collect::<String>())
}
