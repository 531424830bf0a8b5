//! What each rank held at its end, and which held far more than the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::Case;
use super::super::log_path::{node_of_path, rank_of_path};
use super::identity::Identity;
use super::nodes::Nodes;
use super::{KnownRank, Moment};
use crate::model::{Bytes, Figure, FigureName, Outlier, Ranks};
use crate::parse::series_process;

/// The figures of a rank's memory, the device's first.
const FIGURES: [FigureName; 9] = [
    FigureName::TorchAllocated,
    FigureName::TorchReserved,
    FigureName::ProcessInUse,
    FigureName::AnonRss,
    FigureName::WorkerUsed,
    FigureName::HostUsed,
    FigureName::NodeUsed,
    FigureName::MemcgUsage,
    FigureName::AllocatedPeak,
];
/// How many of them are the device's.
const OF_DEVICE: usize = 3;

/// An outlier holds at least this many bytes more than the median,
const LEAST: i128 = 1 << 30;
/// and differs from it by this many median deviations.
const DEVIATIONS: i128 = 6;
/// At most one in this many ranks may be an outlier.
const RARE: usize = 4;
/// Most outliers.
const MOST: usize = 16;

/// The last figure of each name. Printed figures and those that a failure states belong to different moments, so ranks are compared within
/// one of the two.
#[derive(Default)]
pub(super) struct RankMemory {
    printed: BTreeMap<FigureName, Bytes>,
    stated: BTreeMap<FigureName, Bytes>,
}

impl RankMemory {
    /// Adds a figure that was printed later.
    pub fn print(&mut self, name: FigureName, bytes: Option<Bytes>) {
        note(&mut self.printed, name, bytes);
    }

    /// Adds the figures that a message about its end states.
    pub fn state(&mut self, figures: &[Figure]) {
        figures.iter().for_each(|figure| note(&mut self.stated, figure.name, figure.bytes));
    }

    fn of(&self, name: FigureName) -> Option<Bytes> {
        self.stated.get(&name).or_else(|| self.printed.get(&name)).copied()
    }

    /// The figure to show: `figure`, else the first that it has.
    pub fn shown(&self, figure: Option<FigureName>, is_host: bool) -> Option<(FigureName, Bytes)> {
        let of = |name| Some((name, self.of(name)?));
        figure.and_then(of).or_else(|| preferred(is_host).find_map(of))
    }
}

fn note(figures: &mut BTreeMap<FigureName, Bytes>, name: FigureName, bytes: Option<Bytes>) {
    if let Some(bytes) = bytes.filter(|_| FIGURES.contains(&name)) {
        figures.insert(name, bytes);
    }
}

/// All figures, those of the memory that ran out first.
fn preferred(is_host: bool) -> impl Iterator<Item = FigureName> {
    let (device, host) = FIGURES.split_at(OF_DEVICE);
    let (first, then) = if is_host { (host, device) } else { (device, host) };
    first.iter().chain(then).copied()
}

/// The figure that most ranks have.
pub(super) fn figure<'a>(all: impl Iterator<Item = &'a RankMemory>, is_host: bool) -> Option<FigureName> {
    let mut counts: BTreeMap<FigureName, usize> = BTreeMap::new();
    for held in all {
        let names = FIGURES.iter().filter(|name| held.of(**name).is_some());
        names.for_each(|name| *counts.entry(*name).or_default() += 1);
    }
    let count = |name: &FigureName| counts.get(name).copied().unwrap_or(0);
    // `rev`, because `max_by_key` takes the last of equals.
    let names: Vec<FigureName> = preferred(is_host).filter(|name| count(name) > 0).collect();
    names.into_iter().rev().max_by_key(count)
}

/// Adds the figures of each series that names its rank or stands in a rank's own log.
pub(super) fn of_timeline(case: &Case, identity: &Identity, known: &mut BTreeMap<u32, KnownRank>) {
    let mut current: Option<(&Arc<str>, &Arc<str>, Option<u32>)> = None;
    for point in case.timeline.iter().chain(&case.last_figures) {
        let path = &point.source.path;
        let rank = match current {
            Some((series, of, rank)) if Arc::ptr_eq(series, &point.series) && of == path => rank,
            _ => {
                let process = series_process(&point.series);
                let by_pid = || identity.by_pid(process.host.as_ref(), process.pid?);
                process.rank.or_else(by_pid).or_else(|| rank_of_path(path))
            }
        };
        current = Some((&point.series, path, rank));
        let Some(rank) = rank else { continue };
        let one = known.entry(rank).or_default();
        one.held.print(point.name, Some(point.bytes));
        one.node = one.node.take().or_else(|| node_of_path(path));
        if one.last.as_ref().is_none_or(|last| last.path == *path && last.line < point.source.line) {
            one.last = Some(Moment { what: (), path: Arc::clone(path), line: point.source.line, time: None });
        }
    }
}

/// The ranks that held far more than the others, most first; all ranks of a node count as one.
pub(super) fn outliers(known: &BTreeMap<u32, KnownRank>, nodes: &Nodes) -> Vec<Outlier> {
    let mut outliers: Vec<Outlier> = Vec::new();
    for name in FIGURES {
        outliers.extend(of_figure(known, nodes, name, |held| &held.printed));
        outliers.extend(of_figure(known, nodes, name, |held| &held.stated));
    }
    outliers.sort_by_key(|outlier| std::cmp::Reverse(outlier.bytes.0 - outlier.median.0));
    let mut told: Vec<Outlier> = Vec::new();
    for outlier in outliers {
        // Other figures of the same ranks are not repeated.
        if told.len() < MOST && !told.iter().any(|known| known.ranks.iter().any(|rank| outlier.ranks.contains(rank))) {
            told.push(outlier);
        }
    }
    told
}

/// What a rank held.
#[derive(Clone, Copy)]
struct Amount {
    rank: u32,
    bytes: i128,
}

fn of_figure(
    known: &BTreeMap<u32, KnownRank>,
    nodes: &Nodes,
    name: FigureName,
    figures: fn(&RankMemory) -> &BTreeMap<FigureName, Bytes>,
) -> Vec<Outlier> {
    let mut of_node: BTreeMap<Option<usize>, Vec<Amount>> = BTreeMap::new();
    for (rank, one) in known {
        if let Some(bytes) = figures(&one.held).get(&name) {
            of_node.entry(nodes.place(one)).or_default().push(Amount { rank: *rank, bytes: bytes.0 });
        }
    }
    let all = || of_node.values().flatten().map(|amount| amount.bytes);
    let median = median(all());
    let deviation = self::median(all().map(|bytes| (bytes - median).abs()));
    let is_far = |amount: &Amount| {
        let more = amount.bytes - median;
        more >= LEAST && more > DEVIATIONS.saturating_mul(deviation)
    };
    let (count, far) = (all().count(), of_node.values().flatten().filter(|amount| is_far(amount)).count());
    if count < Ranks::FEWEST || far * RARE > count {
        return Vec::new();
    }
    let outlier = |amounts: &[Amount], node: Option<&Arc<str>>| Outlier {
        ranks: amounts.iter().map(|amount| amount.rank).collect(),
        node: node.cloned(),
        figure: name,
        bytes: Bytes(self::median(amounts.iter().map(|amount| amount.bytes))),
        median: Bytes(median),
        words: String::new(),
    };
    let of = |(node, amounts): (&Option<usize>, &Vec<Amount>)| {
        let far: Vec<Amount> = amounts.iter().copied().filter(is_far).collect();
        let node = node.and_then(|node| nodes.names.get(node)).filter(|_| far.len() > 1 && far.len() == amounts.len());
        match node {
            Some(node) => vec![outlier(&far, Some(node))],
            None => far.iter().map(|one| outlier(std::slice::from_ref(one), None)).collect(),
        }
    };
    of_node.iter().flat_map(of).collect()
}

/// The median, the lower one of an even count; 0 if there are no values.
fn median(values: impl Iterator<Item = i128>) -> i128 {
    let mut values: Vec<i128> = values.collect();
    match values.len().checked_sub(1) {
        Some(last) => *values.select_nth_unstable(last / 2).1,
        None => 0,
    }
}
