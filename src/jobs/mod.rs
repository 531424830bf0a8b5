//! Which inputs are of one job.
//!
//! In goes all that was read; out comes what was read of each job, in the order in which the first input of each was named.
//! What tells jobs apart, or together, are ids, ranks, names and folders, times, processes, programs and models, each with a
//! weight: no sign alone decides. Figures of two jobs never meet on a later floor.

mod kin;
mod name;
mod trace;

use std::collections::{BTreeMap, HashMap};

use kin::{kinship, kinship_of_kernel};
use trace::Trace;

use crate::incident::Read;
use crate::knowledge::Knowledge;
use crate::model::Role;

/// How inputs become reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// One report for each job that the inputs are of.
    #[default]
    ByJob,
    /// One report for each log.
    Each,
    /// One report over all.
    Together,
}

/// More than these, told apart by their names, are of one job: nobody launches so many from one folder.
const MOST: usize = 256;

/// The job of each of `reads`, counted from 0 in the order of the first input of each. `named` are the paths that the user gave.
pub(crate) fn of_logs(reads: &[Read], named: &[String], grouping: Grouping, knowledge: &Knowledge) -> Vec<usize> {
    let logs = reads.iter().filter(|read| read.role != Role::Kernel).count();
    match grouping {
        Grouping::Together => return vec![0; reads.len()],
        Grouping::Each => return (0..reads.len()).collect(),
        Grouping::ByJob if reads.len() < 2 || logs < 2 => return vec![0; reads.len()],
        Grouping::ByJob => {}
    }
    let mut traces: Vec<Trace> = Vec::new();
    let mut known: HashMap<name::Key, usize> = HashMap::new();
    // Hundreds of ranks write as many logs under one name.
    let of_read: Vec<usize> = reads
        .iter()
        .map(|read| {
            let trace = Trace::of(read, named, knowledge);
            let key = trace.place.key();
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

/// The group of each of `traces`: those that ended by themselves among each other, then each of the rest to whom it is kin most.
fn grouped(traces: &[Trace]) -> Vec<usize> {
    let mut group: Vec<usize> = (0..traces.len()).collect();
    let (own, others): (Vec<usize>, Vec<usize>) =
        (0..traces.len()).partition(|index| !traces[*index].is_kernel && traces[*index].has_end);
    for (place, one) in own.iter().enumerate() {
        for other in &own[..place] {
            if kinship(&traces[*one], &traces[*other]) > 0 {
                let (from, to) = (group[*one], group[*other]);
                group.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
            }
        }
    }
    // Beside those that ended: what only shows memory, or what the node's kernel says of them.
    let (quiet, kernels): (Vec<usize>, Vec<usize>) = others.into_iter().partition(|index| !traces[*index].is_kernel);
    let mut settled = own;
    for (place, one) in quiet.iter().enumerate() {
        let known: Vec<usize> = settled.iter().chain(&quiet[..place]).copied().collect();
        join_likeliest(*one, &known, &mut group, |other| kinship(&traces[*one], &traces[other]));
    }
    settled.extend(quiet);
    for one in kernels {
        join_likeliest(one, &settled, &mut group, |other| kinship_of_kernel(&traces[one], &traces[other]));
    }
    group
}

/// Puts `one` to the group that it is most kin to; to none where two are alike, or nothing speaks for any.
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

/// The groups of `of_read` as numbers from 0, in the order in which they first come.
fn in_order(of_read: &[usize], group: &[usize]) -> Vec<usize> {
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let number = |trace: &usize| {
        let next = numbers.len();
        *numbers.entry(group[*trace]).or_insert(next)
    };
    of_read.iter().map(number).collect()
}

/// The jobs whose configuration, script or document stands at `path`, of those whose logs are `logs`: those in the nearest folder; of
/// several there the one of the same name.
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
