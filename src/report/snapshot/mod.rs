//! Memory snapshots as lines of text, common to all pages.

mod words;

use super::details::shorten_to;
use crate::knowledge::{Language, SnapshotRules, in_installation};
use crate::model::{Allocation, Bytes, CategoryUse, LineUse, Report, Snapshot, SnapshotMoment, TraceEvent};
pub(super) use words::{SnapshotWords, words};

/// The least share of memory in use that is worth a line on a screen.
const LEAST: f64 = 0.005;

/// The snapshots of `report`, that of the device which ran out first.
pub(super) fn ordered(report: &Report) -> Vec<&Snapshot> {
    let device = report.incidents.first().and_then(|root| root.victim.device);
    let mut snapshots: Vec<&Snapshot> = report.snapshots.iter().collect();
    snapshots.sort_by_key(|snapshot| {
        (device.is_some_and(|device| device != snapshot.device), snapshot.moment != SnapshotMoment::Refusal)
    });
    snapshots
}

/// `snapshot` in at least two lines: its totals, their purposes, up to `lines` lines of the program, and with
/// `everything` the largest allocations and the last events.
pub(super) fn lines(snapshot: &Snapshot, language: Language, lines: usize, everything: bool) -> Vec<String> {
    let words = words(language);
    let mut said = vec![headline(snapshot, language)];
    said.extend(fragmented(snapshot, language));
    let least = if everything { 0.0 } else { LEAST };
    let is_worth = |bytes: Bytes| bytes > Bytes(0) && bytes.0 as f64 >= least * snapshot.in_use.0 as f64;
    let categories: Vec<String> = snapshot
        .categories
        .iter()
        .filter(|used| is_worth(used.bytes))
        .map(|used| share(used, snapshot.in_use, language))
        .collect();
    said.extend((!categories.is_empty()).then(|| categories.join(" · ")));
    let shown = snapshot.lines.iter().filter(|line| is_worth(line.bytes)).take(lines);
    said.extend(shown.map(|line| line_words(line, language)));
    if everything {
        said.extend((!snapshot.largest.is_empty()).then(|| format!("{}:", words.largest)));
        said.extend(snapshot.largest.iter().map(|largest| allocation(largest, language)));
        said.extend((!snapshot.last_events.is_empty()).then(|| format!("{}:", words.last_events)));
        said.extend(snapshot.last_events.iter().map(|last| event(last, language)));
        said.extend(snapshot.settings.iter().map(|settings| format!("PYTORCH_CUDA_ALLOC_CONF={settings}")));
    }
    said
}

/// `GPU 0 when the allocation was refused: 23.46 GiB in use of 23.97 GiB reserved; 0.51 GiB unused, in 12 pieces, the largest 96.00 MiB`
pub(super) fn headline(snapshot: &Snapshot, language: Language) -> String {
    let words = words(language);
    let unused = &snapshot.unused;
    let unused = (words.unused)(&unused.bytes.to_string(), unused.pieces, &unused.largest.to_string());
    let peak = (snapshot.peak > snapshot.in_use).then(|| (words.peak)(&snapshot.peak.to_string()));
    let in_use = (words.in_use)(&snapshot.in_use.to_string(), &snapshot.reserved.to_string());
    let parts: Vec<String> = [Some(in_use), peak, Some(unused)].into_iter().flatten().collect();
    let device = format!("GPU {} {}", snapshot.device, (words.moment)(snapshot.moment));
    format!("{device}{}{}", super::wording::colon(language), parts.join(super::wording::semicolon(language)))
}

/// The sentence that the refused allocation would have fitted if unused memory were in one piece, where that is so.
pub(super) fn fragmented(snapshot: &Snapshot, language: Language) -> Option<String> {
    let refused = snapshot.refused.as_ref().filter(|_| snapshot.moment == SnapshotMoment::Refusal)?;
    let unused = &snapshot.unused;
    let is_fragmented = unused.bytes >= refused.requested && unused.largest < refused.requested;
    is_fragmented.then(|| (words(language).too_small)(&unused.largest.to_string(), &refused.requested.to_string()))
}

/// `optimizer states 9.80 GiB (42%)`
fn share(used: &CategoryUse, whole: Bytes, language: Language) -> String {
    let share = used.bytes.0 as f64 * 100.0 / whole.0.max(1) as f64;
    let share = if share < 0.5 { "<1%".to_owned() } else { format!("{share:.0}%") };
    format!("{} {} ({share})", category(&used.name, language), used.bytes)
}

/// The name of a category.
pub(super) fn category(name: &str, language: Language) -> &str {
    SnapshotRules::shipped().words(name, language)
}

/// `   9.80 GiB  /workspace/train.py:15 step  optimizer states`
fn line_words(line: &LineUse, language: Language) -> String {
    let amount = line.bytes.to_string();
    format!("{amount:>12}  {}  {}", place(line, language), category(&line.category, language))
}

/// `train.py:15 step`; paths of packages are relative to the folder in which packages are installed.
pub(super) fn place(line: &LineUse, language: Language) -> String {
    if line.file.is_empty() {
        return words(language).no_stack.to_owned();
    }
    let file = in_installation(&line.file).unwrap_or(&line.file);
    // C++ functions have no line, and names of several hundred characters.
    match line.file_line {
        0 => shorten_to(line.function.split('(').next().unwrap_or_default(), 80),
        number => format!("{file}:{number} {}", shorten_to(&line.function, 80)),
    }
}

fn allocation(largest: &Allocation, language: Language) -> String {
    let times = if largest.count > 1 { format!("{} × ", largest.count) } else { String::new() };
    let amount = format!("{times}{}", largest.bytes);
    format!("{amount:>18}  {}  {}", callers(largest, language), category(&largest.category, language))
}

/// The calls of an allocation, innermost first: `train.py:15 step ← train.py:30 main`.
pub(super) fn callers(largest: &Allocation, language: Language) -> String {
    const CALLS: usize = 3;
    let own = largest.stack.iter().rev().filter(|call| call.is_own);
    let shown: Vec<&crate::model::Call> = match largest.stack.last() {
        Some(innermost) if !innermost.is_own => std::iter::once(innermost).chain(own).take(CALLS).collect(),
        _ => own.take(CALLS).collect(),
    };
    let said = shown.iter().map(|call| format!("{} {}", super::details::place_of(call), call.function));
    let said: Vec<String> = said.collect();
    if said.is_empty() { words(language).no_stack.to_owned() } else { said.join(" ← ") }
}

fn event(last: &TraceEvent, language: Language) -> String {
    let amount = last.bytes.to_string();
    let when = last.seconds_before.map(|seconds| format!("  {}", (words(language).before_end)(seconds)));
    let line = last.line.as_deref().map(event_line).unwrap_or_default();
    format!("{:<14} {amount:>12}  {line}{}", last.action, when.unwrap_or_default())
}

/// The line of an event; paths of packages are relative to the folder in which packages are installed.
pub(super) fn event_line(line: &str) -> String {
    shorten_to(in_installation(line).unwrap_or(line), 100)
}
