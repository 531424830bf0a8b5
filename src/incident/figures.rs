//! The figures that belong to an incident.

use super::Case;
use crate::model::{Event, FactValue, Figure, FigureName, Kind, PROCESS_IN_USE, Severity, Victim, What};

/// Most figures of an incident; those of further ranks add nothing.
const MOST: usize = 96;

/// Code that catches the error prints its memory within this many lines.
const BEHIND: u64 = 40;

/// A message's own summary stands within this many lines behind it.
const AT_ONCE: u64 = 3;

/// The figures of the incident's own messages, then the last memory figures printed before its root, then sizes of the host that notices
/// state.
pub(super) fn of(case: &Case, kind: Kind, events: &[&Event], victims: &[Victim]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    let own = events.iter().flat_map(|event| &event.figures);
    let before = events.first().map(|root| &root.context.memory).filter(|memory| !memory.is_empty());
    // The kernel's messages stand in another log, so the job's last figures count; those of a cgroup do wherever they stand.
    let is_of_limit =
        |figure: &&Figure| before.is_none() || matches!(figure.name, FigureName::MemcgUsage | FigureName::MemcgLimit);
    let endings = case.endings.iter().filter(|_| kind.is_host());
    let last = endings.flat_map(|(_, ending)| ending.memory.iter()).filter(is_of_limit);
    // What is printed at once behind the message is of that moment, whatever was printed before.
    let at_once =
        events.first().filter(|_| before.is_some() && kind == Kind::GpuOom).into_iter().flat_map(|root| {
            behind(case, root).filter(|figure| figure.source.line.0 <= root.at.location.line.0 + AT_ONCE)
        });
    let behind = events.first().filter(|_| before.is_none()).into_iter().flat_map(|root| behind(case, root));
    let newest = |figure| events.first().and_then(|root| open_at(case, root, figure)).unwrap_or(figure);
    let before = before.into_iter().flat_map(|memory| memory.iter()).map(newest);
    let series = at_once.chain(before).chain(last).chain(behind);
    let notices = case.events.iter().filter(|event| kind.is_host() && event.what == What::Notice);
    let noticed = notices.flat_map(|event| &event.figures);
    let sizes = noticed.clone().filter(|figure| {
        matches!(figure.name, FigureName::NodeTotal | FigureName::NodeThreshold | FigureName::MemcgLimit)
    });
    // A table of the machine's memory that somebody printed beside the failure.
    let host_in_use = noticed.filter(|figure| figure.name == FigureName::HostUsed && figure.bytes.is_some());
    // A shell or launcher that reports the victim's end states its pid, and so does Ray above a remote process's exception.
    let is_victim = |pid: Option<u32>| pid.is_some() && victims.iter().any(|one| one.pid == pid);
    let reports = case.events.iter().filter(|event| match &event.what {
        What::Death(death) => is_victim(death.victim.pid),
        What::Traceback(_) => is_victim(event.origin.pid),
        _ => false,
    });
    let numbers = reports.flat_map(|event| &event.figures).filter(|figure| figure.name == FigureName::VictimPid);
    let warned = events.first().into_iter().flat_map(|root| warned(case, root));
    let warned =
        warned.filter(|figure| events.iter().flat_map(|event| &event.figures).all(|own| own.name != figure.name));
    for figure in own.chain(series).chain(warned).chain(sizes).chain(numbers.take(1)) {
        if figures.len() < MOST && !figures.contains(figure) {
            figures.push(figure.clone());
        }
    }
    if figures.iter().all(|figure| !matches!(figure.name, FigureName::HostUsed | FigureName::NodeUsed)) {
        figures.extend(host_in_use.take(1).cloned());
    }
    if figures.iter().all(|figure| figure.name != FigureName::VictimPid) {
        figures.extend(case.events.iter().find_map(|event| own_number(event, &is_victim)));
    }
    figures
}

/// The figures with which the program that made `root` warned of it: Dask's worker pauses at a share of its limit before its nanny restarts it.
/// Where several warned, none is known to be the one.
fn warned<'c>(case: &'c Case, root: &Event) -> impl Iterator<Item = &'c Figure> {
    let is_warning = |event: &&Event| {
        let is_pressure = matches!(&event.what, What::Shortage(shortage) if shortage.severity == Severity::Pressure);
        let (own, at) = (&event.at.location, &root.at.location);
        let says = is_pressure && !event.figures.is_empty();
        says && event.producer == root.producer && own.path == at.path && own.line < at.line
    };
    let mut warnings = case.events.iter().filter(is_warning);
    let only = warnings.next().filter(|_| warnings.next().is_none());
    only.into_iter().flat_map(|event| &event.figures)
}

/// The host's figure of the same name that was printed later than `figure` and still before `root`: a print of several lines was not over
/// when the failure began.
fn open_at<'c>(case: &'c Case, root: &Event, figure: &Figure) -> Option<&'c Figure> {
    let is_of_host = matches!(figure.name, FigureName::HostUsed | FigureName::HostPercent);
    let at = &root.at.location;
    let is_later = |other: &&Figure| {
        let (own, line) = (&figure.source, other.source.line);
        is_of_host
            && other.name == figure.name
            && other.source.path == at.path
            && own.path == at.path
            && line > own.line
            && line < at.line
    };
    case.endings.iter().flat_map(|(_, ending)| ending.memory.iter()).find(is_later)
}

/// The pid that a process states about itself, if it is a victim's.
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

/// The memory figures printed after `root`: an allocator's summary, a driver's table.
fn behind<'c>(case: &'c Case, root: &'c Event) -> impl Iterator<Item = &'c Figure> {
    let at = &root.at.location;
    let is_near = |figure: &&Figure| {
        let line = figure.source.line;
        figure.source.path == at.path && line > at.line && line.0 <= at.line.0 + BEHIND
    };
    case.endings.iter().flat_map(|(_, ending)| ending.memory.iter()).filter(is_near)
}
