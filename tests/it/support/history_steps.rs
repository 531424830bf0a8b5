//! Random histories, made of steps.

use std::error::Error;

use oomdoc::internal::history::{self, Outcome, Record, Retention, Verdict};
use oomdoc::internal::store::DiskStore;
use proptest::prelude::*;
use serde_json::json;

use super::generate;

type Done = Result<(), Box<dyn Error>>;

/// Words that evidence is made of: words within other words, misspellings, numbers, Chinese within English.
const WORDS: [&str; 18] = [
    "memory",
    "pinned",
    "pined",
    "optimizer",
    "optimizer_step",
    "max_split_size_mb",
    "_init_group",
    "GiB",
    "显存不足",
    "显存",
    "存",
    "out of memory",
    "buffer",
    "bufer",
    "0x7f",
    "128",
    "GPU显存",
    "out",
];
const QUERIES: [&str; 26] = [
    "memory",
    "\"pinned memory\"",
    "pinned",
    "optimizer",
    "optimzer",
    "init",
    "显存",
    "存",
    "\"显存不足\"",
    "\"out of memory\"",
    "\"memory memory\"",
    "-memory",
    "-pinned",
    "-\"pinned memory\"",
    "buffer",
    "split",
    "128",
    "kind:gpu_oom",
    "-kind:gpu_oom",
    "phase:backward",
    "framework:speed",
    "host:node-0",
    "requested:>2GiB",
    "requested:[1GiB TO 8GiB]",
    "resolved:yes",
    "resolved:no",
];
const MORE: [&str; 22] = [
    "after:2025",
    "before:2026-02-03",
    "model:qwen",
    "file:rank_1",
    "cause:memory",
    "role:actor",
    "gpu:h100",
    "node_used:[300GiB TO *]",
    "gpu_free:<1GiB",
    "id:3",
    "cluster:node-*",
    "assignee:ann",
    "assignee:*",
    "-assignee:*",
    "is:open",
    "is:resolved",
    "is:reopened",
    "week:2026-02-04",
    "-week:2025-06",
    "group:alone",
    "kind:(gpu_oom OR host_oom_ray)",
    "requested:(<1GiB OR >8GiB)",
];

/// Incident `number` with `words` as its evidence.
pub fn record(number: u64, words: &[&str]) -> Result<Record, Box<dyn Error>> {
    let mut line = generate::incidents::incident(7, number);
    let evidence = json!([{"path": "job.log", "line": 1, "column": 1, "text": words.join(" ")}]);
    line["incident"]["incident"]["evidence"] = evidence;
    Ok(serde_json::from_value(line["incident"].take())?)
}

/// A change of a history.
#[derive(Debug, Clone)]
pub enum Step {
    Keep(u64, Vec<&'static str>),
    Wait(u64, Vec<&'static str>),
    Resolve(u64, bool),
    Say(u64, Option<bool>),
    Prune,
    Publish,
}

pub fn step() -> impl Strategy<Value = Step> {
    let words = || proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..9);
    prop_oneof![
        6 => (0..12_u64, words()).prop_map(|(number, words)| Step::Keep(number, words)),
        2 => (12..16_u64, words()).prop_map(|(number, words)| Step::Wait(number, words)),
        2 => (0..12_u64, any::<bool>()).prop_map(|(number, worked)| Step::Resolve(number, worked)),
        2 => (0..12_u64, any::<Option<bool>>()).prop_map(|(number, verdict)| Step::Say(number, verdict)),
        1 => Just(Step::Prune),
        2 => Just(Step::Publish),
    ]
}

pub fn query() -> impl Strategy<Value = String> {
    let clause = prop_oneof![proptest::sample::select(&QUERIES[..]), proptest::sample::select(&MORE[..])];
    let joint = || proptest::sample::select(&[" ", " ", " OR ", " AND ", " NOT ", " OR -"][..]);
    clause.prop_map(str::to_owned).prop_recursive(3, 12, 3, move |inner| {
        let others = proptest::collection::vec((joint(), inner.clone()), 0..3);
        (proptest::sample::select(&["", "NOT ", "-"][..]), inner, others).prop_map(|(before, first, others)| {
            let others: String = others.into_iter().flat_map(|(joint, clause)| [joint.to_owned(), clause]).collect();
            format!("{before}({first}{others})")
        })
    })
}

/// Gives the incident `id` an assignee, or marks it as resolved or unresolved.
fn say(store: &mut DiskStore, id: &str, verdict: Option<bool>) -> Done {
    let Ok(mut record) = history::find(store, id) else { return Ok(()) };
    match verdict {
        None => record.annotations.assignee = Some("Ann".to_owned()),
        Some(resolved) => {
            let verdict = Verdict { resolved, by: Some("Ann".to_owned()), time: history::now() };
            record.annotations.verdict = Some(verdict);
        }
    }
    Ok(history::annotate(store, &record)?)
}

/// Applies `step` to `store`; incidents meant for the spool are added directly.
pub fn make(store: &mut DiskStore, step: &Step) -> Done {
    match step {
        Step::Keep(number, words) | Step::Wait(number, words) => {
            history::add(store, &[record(*number, words)?])?;
        }
        Step::Resolve(number, worked) => {
            let id = record(*number, &[])?.incident.id;
            if let Ok(found) = history::find(store, &id) {
                history::resolve(store, &Outcome::of_knob(&found, "--zero_stage=3", *worked))?;
            }
        }
        Step::Say(number, verdict) => say(store, &record(*number, &[])?.incident.id, *verdict)?,
        Step::Prune => {
            let retention = Retention { age: Some("2y".parse()?), keep_resolved: true, ..Retention::default() };
            history::prune(store, &retention)?;
        }
        Step::Publish => {}
    }
    Ok(())
}
