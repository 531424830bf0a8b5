//! Decides which inputs belong to one job.
//!
//! The input is the findings of all logs; the output is a job for each log, numbered in the order in which the first log of each was named.
//! Ids, ranks, names and folders, times, processes, programs and models give points for and against two logs belonging together; no sign
//! alone decides. Later floors see one job at a time, so figures of two jobs are never mixed.

mod kin;
mod name;
mod trace;

use std::collections::{BTreeMap, HashMap};

use kin::{kinship, kinship_of_node};
use trace::Trace;

use crate::incident::InputFindings;
use crate::knowledge::Knowledge;
use crate::model::Role;

/// How inputs become reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// One report for each job.
    #[default]
    ByJob,
    /// One report for each log.
    Each,
    /// One report for all inputs.
    Together,
}

/// With more distinct names than this all logs are taken for one job, because nobody launches so many jobs from one folder.
const MOST: usize = 256;

/// The job of each of `reads`, numbered from 0 in the order of the first log of each. `named` are the paths that the user gave.
pub(crate) fn of_logs(
    reads: &[InputFindings],
    named: &[String],
    grouping: Grouping,
    knowledge: &Knowledge,
) -> Vec<usize> {
    let logs = reads.iter().filter(|read| read.role != Role::Kernel).count();
    match grouping {
        Grouping::Together => return vec![0; reads.len()],
        Grouping::Each => return (0..reads.len()).collect(),
        Grouping::ByJob if reads.len() < 2 || logs < 2 => return vec![0; reads.len()],
        Grouping::ByJob => {}
    }
    let common = name::common_folders(reads.iter().map(|read| &*read.path));
    let mut traces: Vec<Trace> = Vec::new();
    let mut known: HashMap<name::Key, usize> = HashMap::new();
    // Logs of ranks, which may be hundreds, share one name and one trace.
    let of_read: Vec<usize> = reads
        .iter()
        .map(|read| {
            let trace = Trace::of(read, named, common, knowledge);
            let key = trace.path.key();
            match known.get(&key) {
                Some(index) if !traces[*index].contradicts(&trace) => {
                    traces[*index].join(trace);
                    *index
                }
                _ => {
                    known.insert(key, traces.len());
                    traces.push(trace);
                    traces.len() - 1
                }
            }
        })
        .collect();
    if traces.len() > MOST {
        return vec![0; reads.len()];
    }
    in_order(&of_read, &grouped(&traces))
}

/// The group of each of `traces`. Logs that tell of an end are grouped first; each of the others then joins the group it is most akin to.
fn grouped(traces: &[Trace]) -> Vec<usize> {
    let mut group: Vec<usize> = (0..traces.len()).collect();
    let (own, others): (Vec<usize>, Vec<usize>) =
        (0..traces.len()).partition(|index| !traces[*index].is_of_node() && traces[*index].has_end);
    for (place, one) in own.iter().enumerate() {
        for other in &own[..place] {
            if kinship(&traces[*one], &traces[*other]) > 0 {
                let (from, to) = (group[*one], group[*other]);
                group.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
            }
        }
    }
    // Then the logs that only show memory, and what the nodes say.
    let (quiet, nodes): (Vec<usize>, Vec<usize>) = others.into_iter().partition(|index| !traces[*index].is_of_node());
    let mut settled = own;
    for (place, one) in quiet.iter().enumerate() {
        let known: Vec<usize> = settled.iter().chain(&quiet[..place]).copied().collect();
        join_likeliest(*one, &known, &mut group, |other| kinship(&traces[*one], &traces[other]));
    }
    settled.extend(quiet);
    for one in nodes {
        join_likeliest(one, &settled, &mut group, |other| kinship_of_node(&traces[one], &traces[other]));
    }
    group
}

/// Puts `one` into the group it is most akin to; into none if two groups are equal or nothing speaks for any.
fn join_likeliest(one: usize, known: &[usize], group: &mut [usize], kinship: impl Fn(usize) -> i32) {
    let mut of_group: BTreeMap<usize, i32> = BTreeMap::new();
    for other in known {
        let best = of_group.entry(group[*other]).or_insert(i32::MIN);
        *best = (*best).max(kinship(*other));
    }
    let Some((likeliest, kin)) = of_group.iter().max_by_key(|(_, kin)| **kin).map(|(group, kin)| (*group, *kin)) else {
        return;
    };
    let is_alone = of_group.values().filter(|other| **other == kin).count() == 1;
    if kin > 0 && is_alone {
        group[one] = likeliest;
    }
}

/// The groups of `of_read`, renumbered from 0 in order of appearance.
fn in_order(of_read: &[usize], group: &[usize]) -> Vec<usize> {
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let number = |trace: &usize| {
        let next = numbers.len();
        *numbers.entry(group[*trace]).or_insert(next)
    };
    of_read.iter().map(number).collect()
}

/// The jobs to which the configuration, script or document at `path` belongs: those with `logs` in the nearest folder, and of several the
/// one with the same name.
pub(crate) fn of_file(path: &str, logs: &[(&str, usize)]) -> Vec<usize> {
    let nearness = |log: &str| name::shared_folders(path, log);
    let near = logs.iter().map(|(log, _)| nearness(log)).max();
    let mut jobs: Vec<usize> =
        logs.iter().filter(|(log, _)| Some(nearness(log)) == near).map(|(_, job)| *job).collect();
    jobs.sort_unstable();
    jobs.dedup();
    let alike: Vec<usize> = logs
        .iter()
        .filter(|(log, job)| jobs.contains(job) && name::shares_name(path, log))
        .map(|(_, job)| *job)
        .collect();
    match alike.first() {
        Some(first) if alike.iter().all(|job| job == first) => vec![*first],
        _ => jobs,
    }
}
