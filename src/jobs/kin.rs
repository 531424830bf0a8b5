//! Points for and against two logs belonging to one job.

use std::collections::BTreeSet;

use super::name::FolderRelation;
use super::trace::Trace;

/// Logs more seconds apart than this speak for two jobs.
pub(super) const FAR: f64 = 900.0;

/// The points for two logs belonging to one job; they do only if the sum is above 0.
pub(super) fn kinship(a: &Trace, b: &Trace) -> i32 {
    let mut points = folders(a, b);
    let of_session = a.path.of_session || b.path.of_session;
    if a.path.is_alike(&b.path) {
        points += 6;
    } else if of_session && a.path.folder_relation(&b.path) != FolderRelation::Elsewhere {
        points += 4;
    } else {
        points += agree(&a.path.names(), &b.path.names(), 0, -2);
    }
    points += agree(&a.path.ids, &b.path.ids, 8, -8);
    points += agree(&a.scripts, &b.scripts, 0, -3);
    points += agree(&a.models, &b.models, 1, -2);
    points += frameworks(a, b);
    points += if a.pids.is_disjoint(&b.pids) { 0 } else { 2 };
    points += match a.gap(b) {
        Some(gap) if gap > FAR => -4,
        Some(_) => 2,
        None => 0,
    };
    // A file of `oomdoc.watch` and a log that report the same refusal in the same words.
    points += if a.is_watched != b.is_watched { agree(&a.refusals, &b.refusals, 4, -4) } else { 0 };
    points += if a.has_other_launcher(b) { -8 } else { 0 };
    // Two logs with a shortage each are two jobs, unless something speaks for one.
    points + if a.ran_out && b.ran_out { -3 } else { 0 }
}

/// The points for the log of a kernel, or of what runs containers, being about `job`.
pub(super) fn kinship_of_node(node: &Trace, job: &Trace) -> i32 {
    // `describe.txt` is named after the command that wrote it.
    let named = if node.is_of_containers { 0 } else { agree(&node.path.names(), &job.path.names(), 1, -2) };
    let shares_pid = !node.pids.is_disjoint(&job.pids);
    let near = match node.gap(job) {
        Some(gap) if gap > FAR => -3,
        Some(_) => 2,
        None => 0,
    };
    folders(node, job).max(-1)
        + near
        + if shares_pid { 5 } else { 0 }
        + agree(&node.hosts, &job.hosts, 1, 0)
        + agree(&node.path.ids, &job.path.ids, 3, 0)
        + named
}

fn folders(a: &Trace, b: &Trace) -> i32 {
    match a.path.folder_relation(&b.path) {
        FolderRelation::Together => 1,
        FolderRelation::Below => -1,
        FolderRelation::Elsewhere => -4,
    }
}

/// The points if both sets have elements: `shared` if they share one, else `disjoint`.
fn agree(a: &BTreeSet<String>, b: &BTreeSet<String>, shared: i32, disjoint: i32) -> i32 {
    match (a.is_empty() || b.is_empty(), a.is_disjoint(b)) {
        (true, _) => 0,
        (false, true) => disjoint,
        (false, false) => shared,
    }
}

fn frameworks(a: &Trace, b: &Trace) -> i32 {
    match agree(&a.frameworks, &b.frameworks, 0, -3) {
        -3 if a.is_beneath_others != b.is_beneath_others => 0,
        points => points,
    }
}
