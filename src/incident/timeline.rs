use std::collections::HashSet;
use std::sync::Arc;

use super::Case;
use super::log_path::node_of_path;
use crate::model::{Event, TimelinePoint};
use crate::parse::Findings;

/// How many leading points of an input's timeline belong to plotted series.
pub(super) fn plotted(timeline: &[TimelinePoint]) -> usize {
    series(timeline).take(Findings::SERIES).map(<[_]>::len).sum()
}

/// Memory over time around `events`. If a job has too many series, those of the logs with these events are kept, then those of logs beside
/// them, then the first others. What each rank held at the end is in the grid.
pub(super) fn of(case: &Case, events: &[&Event]) -> Vec<TimelinePoint> {
    let series: Vec<&[TimelinePoint]> = series(&case.timeline).collect();
    if series.len() <= Findings::SERIES {
        return case.timeline.clone();
    }
    let near = Near::of(events);
    let mut nearest: Vec<usize> = (0..series.len()).collect();
    nearest.sort_by_cached_key(|number| series[*number].first().map(|point| near.distance(&point.source.path)));
    nearest.truncate(Findings::SERIES);
    nearest.sort_unstable();
    nearest.into_iter().flat_map(|number| series[number].iter().cloned()).collect()
}

/// The points of each series.
fn series(timeline: &[TimelinePoint]) -> impl Iterator<Item = &[TimelinePoint]> {
    timeline.chunk_by(|a, b| a.name == b.name && a.series == b.series && a.source.path == b.source.path)
}

/// The logs, folders and nodes of an incident's events.
struct Near<'e> {
    logs: HashSet<&'e str>,
    folders: HashSet<&'e str>,
    nodes: HashSet<Arc<str>>,
}

impl<'e> Near<'e> {
    fn of(events: &[&'e Event]) -> Near<'e> {
        let logs: HashSet<&str> = events.iter().map(|event| &*event.at.location.path).collect();
        let folders = logs.iter().filter_map(|log| folder(log)).collect();
        let nodes = logs.iter().filter_map(|log| node_of_path(log)).collect();
        Near { logs, folders, nodes }
    }

    /// 0 for a log of an event, 1 for one in the same folder or of the same node, 2 for any other.
    fn distance(&self, log: &str) -> u8 {
        if self.logs.contains(log) {
            return 0;
        }
        let beside = folder(log).is_some_and(|folder| self.folders.contains(folder))
            || node_of_path(log).is_some_and(|node| self.nodes.contains(&node));
        if beside { 1 } else { 2 }
    }
}

fn folder(log: &str) -> Option<&str> {
    log.rsplit_once(['/', '\\']).map(|(folder, _)| folder)
}
