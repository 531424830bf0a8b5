//! How much speaks for two logs being of one job: points for and against.

use std::collections::BTreeSet;

use super::name::Apart;
use super::trace::Trace;

/// Logs that are so many seconds apart are of two jobs.
pub(super) const FAR: f64 = 900.0;

/// What speaks for two jobs' logs being one's; against it where it is not above 0.
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
    // What was written of a refusal, and the log that tells of the same one in the same words.
    points += if a.is_watched != b.is_watched { agree(&a.refusals, &b.refusals, 4, -4) } else { 0 };
    points += if a.has_other_launcher(b) { -8 } else { 0 };
    // Two logs that each tell of a shortage tell of two, unless something says that they are one's.
    points + if a.ran_out && b.ran_out { -3 } else { 0 }
}

/// What speaks for the log of a kernel telling of `job`.
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

/// Points where both name some, and share one or none.
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
