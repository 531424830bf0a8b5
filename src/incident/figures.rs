//! The figures that belong to an incident.

use super::Case;
use crate::model::{Event, FactValue, Figure, FigureName, Kind, PROCESS_IN_USE, Victim, What};

/// Figures of as many ranks tell what those of more would.
const MOST: usize = 96;

/// Whoever catches the error prints its memory within so many lines.
const BEHIND: u64 = 40;

/// What the incident's own messages state, then the last memory figures that were printed before its root, then what a
/// host's size is said to be in passing.
pub(super) fn of(case: &Case, kind: Kind, events: &[&Event], victims: &[Victim]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    let own = events.iter().flat_map(|event| &event.figures);
    let before = events.first().map(|root| &root.setting.memory).filter(|memory| !memory.is_empty());
    // The kernel's words stand in another log than the job's: there, the last figures of the job count.
    let last = case.endings.iter().map(|(_, ending)| &ending.memory).filter(|_| before.is_none() && kind.is_host());
    let behind = events.first().filter(|_| before.is_none()).into_iter().flat_map(|root| behind(case, root));
    let series = before.into_iter().chain(last).flat_map(|memory| memory.iter()).chain(behind);
    let sizes = case
        .events
        .iter()
        .filter(|event| kind.is_host() && event.what == What::Notice)
        .flat_map(|event| &event.figures)
        .filter(|figure| {
            matches!(figure.name, FigureName::NodeTotal | FigureName::NodeThreshold | FigureName::MemcgLimit)
        });
    // A shell or launcher that reports the victim's end states its number, and so does Ray above what a remote process raised.
    let is_victim = |pid: Option<u32>| pid.is_some() && victims.iter().any(|one| one.pid == pid);
    let reports = case.events.iter().filter(|event| match &event.what {
        What::Death(death) => is_victim(death.victim.pid),
        What::Traceback(_) => is_victim(event.origin.pid),
        _ => false,
    });
    let numbers = reports.flat_map(|event| &event.figures).filter(|figure| figure.name == FigureName::VictimPid);
    for figure in own.chain(series).chain(sizes).chain(numbers.take(1)) {
        if figures.len() < MOST && !figures.contains(figure) {
            figures.push(figure.clone());
        }
    }
    if figures.iter().all(|figure| figure.name != FigureName::VictimPid) {
        figures.extend(case.events.iter().find_map(|event| own_number(event, &is_victim)));
    }
    figures
}

/// What a process says in passing of its own number, where that is a victim's.
fn own_number(event: &Event, is_victim: &dyn Fn(Option<u32>) -> bool) -> Option<Figure> {
    let fact = event.facts.iter().find(|fact| fact.key == PROCESS_IN_USE && event.what == What::Notice)?;
    let FactValue::Number(pid) = fact.value else { return None };
    is_victim(Some(pid as u32)).then(|| Figure {
        name: FigureName::VictimPid,
        bytes: None,
        value: Some(pid),
        text: fact.at.text.clone(),
        source: fact.at.location.clone(),
        derived: None,
    })
}

/// The memory that was printed behind `root`: a summary of the allocator, a driver's table.
fn behind<'c>(case: &'c Case, root: &'c Event) -> impl Iterator<Item = &'c Figure> {
    let at = &root.at.location;
    let is_near = |figure: &&Figure| {
        let line = figure.source.line;
        figure.source.path == at.path && line > at.line && line.0 <= at.line.0 + BEHIND
    };
    case.endings.iter().flat_map(|(_, ending)| ending.memory.iter()).filter(is_near)
}
