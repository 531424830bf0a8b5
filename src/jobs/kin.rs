//! Points for and against two logs belonging to one job.

use std::collections::BTreeSet;

use super::name::Apart;
use super::trace::Trace;

/// Logs more seconds apart than this speak for two jobs.
pub(super) const FAR: f64 = 900.0;

/// The points for two logs belonging to one job; they do only if the sum is above 0.
pub(super) fn kinship(a: &Trace, b: &Trace) -> i32 {
    let mut points = folders(a, b);
    let of_session = a.place.of_session || b.place.of_session;
    if a.place.is_alike(&b.place) {
        points += 6;
    } else if of_session && a.place.apart(&b.place) != Apart::Elsewhere {
        points += 4;
    } else {
        points += agree(&a.place.names(), &b.place.names(), 0, -2);
    }
    points += agree(&a.place.ids, &b.place.ids, 8, -8);
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

/// The points for a kernel's log being about `job`.
pub(super) fn kinship_of_kernel(kernel: &Trace, job: &Trace) -> i32 {
    let shares_pid = !kernel.pids.is_disjoint(&job.pids);
    let near = match kernel.gap(job) {
        Some(gap) if gap > FAR => -3,
        Some(_) => 2,
        None => 0,
    };
    folders(kernel, job).max(-1)
        + near
        + if shares_pid { 5 } else { 0 }
        + agree(&kernel.hosts, &job.hosts, 1, 0)
        + agree(&kernel.place.ids, &job.place.ids, 3, 0)
        + agree(&kernel.place.names(), &job.place.names(), 1, -2)
}

fn folders(a: &Trace, b: &Trace) -> i32 {
    match a.place.apart(&b.place) {
        Apart::Together => 1,
        Apart::Below => -1,
        Apart::Elsewhere => -4,
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
