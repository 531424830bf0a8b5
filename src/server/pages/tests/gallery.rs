//! Renders every page from cases of corpus/.

use super::*;
use crate::history::{Likeness, Order, Query, Verdict, add, search, similar};
use crate::store::MemoryStore;

const CASES: [&str; 14] = [
    "llama3-8b-optimizer-step",
    "openrlhf-72b-resume",
    "openrlhf-72b-start",
    "ppo-13b-save",
    "easyr1-7b-vl-offload",
    "ring-attention-broadcast",
    "ray-monitor-kills-actor",
    "vllm-kv-cache-too-small",
    "dataloader-shm-full",
    "kubernetes-oomkilled",
    "deepspeed-zero3-offload-killed",
    "eager-attention-matrix",
    "rocm-backward",
    "losses-keep-graphs",
];
const MONDAYS: [&str; 12] = [
    "2026-09-07",
    "2026-09-14",
    "2026-09-21",
    "2026-09-28",
    "2026-10-05",
    "2026-10-12",
    "2026-10-19",
    "2026-10-26",
    "2026-11-02",
    "2026-11-09",
    "2026-11-16",
    "2026-11-23",
];

fn weeks(counts: impl Fn(u64) -> u64) -> Vec<(String, u64)> {
    (0..).zip(MONDAYS).map(|(place, monday)| (monday.to_owned(), counts(place))).collect()
}

fn row(document: &Document, place: usize) -> IncidentRow<'_> {
    IncidentRow { document, count: Some((place * 7 % 23 + 1) as u64) }
}

#[test]
fn every_page_is_made_in_both_languages_and_themes() -> Outcomes {
    let mut records = CASES.iter().map(|case| record(case)).collect::<Result<Vec<Record>, _>>()?;
    for (place, record) in records.iter_mut().enumerate() {
        record.time = format!("2026-11-{:02}T{:02}:27:09Z", 22 - place, (place * 5) % 24);
        record.annotations.assignee = [Some("mei"), None, None, Some("jonas")][place % 4].map(str::to_owned);
        record.annotations.verdict = [None, Some(true), None, Some(false)][place % 4].map(|resolved| Verdict {
            resolved,
            by: None,
            time: record.time.clone(),
        });
        record.annotations.tags =
            [vec!["nightly".to_owned()], vec![], vec!["rlhf".to_owned(), "blocked".to_owned()]][place % 3].clone();
    }
    let mut store = MemoryStore::default();
    add(&mut store, &records)?;
    let solved = Outcome {
        note: Some("with room to spare".to_owned()),
        link: Some("https://ci.example/runs/7".to_owned()),
        ..Outcome::of_patch(&records[0], 1, true)?
    };
    let failed = Outcome::of_words(&records[0], "smaller batch", false);
    history::resolve(&mut store, &solved)?;
    let found = search(&store, &"".parse::<Query>()?, Order::Time, 0, 50)?;
    for (language, name) in [(Language::En, "en"), (Language::Zh, "zh")] {
        let viewer = viewer(language, Theme::System);
        let page = found.clone().in_language(language);
        let facets = ["kind", "cause", "phase", "framework", "host"].into_iter().filter_map(|field| {
            let mut values: Vec<(String, u64)> =
                page.facets.get(field)?.iter().map(|(value, count)| (value.clone(), *count as u64)).collect();
            values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            Some(Facet { field, values })
        });
        let week = Facet {
            field: "week",
            values: MONDAYS.iter().rev().take(4).map(|monday| ((*monday).to_owned(), 3)).collect(),
        };
        let saved = [
            SavedQuery { name: "Large requests".to_owned(), query: "kind:gpu_oom requested:>2GiB".to_owned() },
            SavedQuery { name: "Not yet resolved".to_owned(), query: "resolved:no".to_owned() },
        ];
        let list = IncidentList {
            query: "",
            error: None,
            order: Order::Time,
            rows: page.incidents.iter().enumerate().map(|(place, document)| row(document, place)).collect(),
            total: 1234,
            facets: facets.chain([week]).collect(),
            saved: &saved,
            cursor: None,
            next: Some("abc"),
            is_empty: false,
        };
        keep(&format!("incidents-{name}"), &incidents(&viewer, &list))?;
        let narrowed = IncidentList {
            query: "kind:gpu_oom requested:>2GiB",
            rows: Vec::new(),
            total: 0,
            next: None,
            ..list.clone()
        };
        keep(&format!("nothing-{name}"), &incidents(&viewer, &narrowed))?;
        let asked = "显存 pahse:forward requested:>2GiB";
        let error = asked.parse::<Query>().err().ok_or("the query is read")?;
        keep(
            &format!("query-{name}"),
            &incidents(
                &viewer,
                &IncidentList { query: asked, error: Some(&error), rows: Vec::new(), next: None, ..list.clone() },
            ),
        )?;
        let empty = IncidentList {
            rows: Vec::new(),
            total: 0,
            facets: Vec::new(),
            saved: &[],
            next: None,
            is_empty: true,
            ..list.clone()
        };
        keep(&format!("empty-{name}"), &incidents(&viewer, &empty))?;

        let report = report_of(&records[0], language)?;
        let alike: Vec<Likeness> = similar(&store, &records[0], 5)?;
        let document = Document::new(&records[0], None).in_language(language);
        let annotations = Annotations {
            job: Some("llama3-nightly".to_owned()),
            tags: vec!["nightly".to_owned(), "blocked".to_owned()],
            notes: vec![Note {
                text: "Began with the longer sequences of last Tuesday.".to_owned(),
                link: Some("https://wiki.example/oom".to_owned()),
                time: "2026-11-22T09:00:00Z".to_owned(),
            }],
            ..Annotations::default()
        };
        let counts = weeks(|place| place * 5 % 7);
        let group_of = IncidentGroup {
            key: &document.group,
            parts: &records[0].incident.fingerprint.parts,
            first: "2026-09-08T01:00:00Z",
            last: &document.time,
            weeks: &counts,
        };
        let told = [solved.clone(), failed.clone()];
        let shown = IncidentPage {
            row: row(&document, 0),
            report: &report,
            annotations: &annotations,
            outcomes: &told,
            similar: &alike,
            group: Some(group_of),
        };
        keep(&format!("incident-{name}"), &incident(&viewer, &shown))?;

        let rows: Vec<GroupRow> = page
            .incidents
            .iter()
            .enumerate()
            .map(|(place, document)| GroupRow {
                key: document.group.clone(),
                title: document.title.clone(),
                kind: document.kind,
                phase: document.phase,
                count: place as u64 * 3 + 1,
                first: "2026-09-08T01:00:00Z".to_owned(),
                last: document.time.clone(),
                weeks: weeks(|week| (week * (place as u64 + 3)) % 9),
                is_new: place % 5 == 1,
                state: [history::State::Open, history::State::Resolved, history::State::Reopened][place % 3],
                solved_by: (place % 4 == 0).then(|| "--adam_offload false → true".to_owned()),
            })
            .collect();
        keep(
            &format!("groups-{name}"),
            &groups(&viewer, &GroupList { tab: GroupTab::All, counts: [14, 3, 2], groups: &rows, next: None }),
        )?;
        keep(
            &format!("group-{name}"),
            &group(
                &viewer,
                &GroupPage {
                    group: &rows[1],
                    parts: &records[0].incident.fingerprint.parts,
                    incidents: list.rows[..3].to_vec(),
                },
            ),
        )?;

        let series = |names: &[&str]| {
            names
                .iter()
                .zip(1u64..)
                .map(|(name, place)| Series {
                    name: (*name).to_owned(),
                    weeks: weeks(|week| (week * place + 3 * place) % (12 / place)),
                })
                .collect()
        };
        let trend = TrendsPage {
            all: weeks(|week| 9 + week * 5 % 13),
            causes: series(&["optimizer_states_on_gpu", "batch_too_large", "eager_attention", "dataloader_workers"]),
            clusters: series(&["h100-a", "h100-b", "a100"]),
            models: series(&["meta-llama/Llama-3-8B", "Qwen/Qwen2.5-72B", "internlm/internlm2-20b"]),
            fixes: vec![
                Fix {
                    cause: Some("optimizer_states_on_gpu".to_owned()),
                    change: "--adam_offload false → true".to_owned(),
                    worked: 12,
                    failed: 1,
                    last: "2026-11-21T00:00:00Z".to_owned(),
                },
                Fix {
                    cause: None,
                    change: "fewer workers".to_owned(),
                    worked: 3,
                    failed: 2,
                    last: "2026-11-02T00:00:00Z".to_owned(),
                },
            ],
        };
        keep(&format!("trends-{name}"), &trends(&viewer, &trend))?;
        keep(&format!("upload-{name}"), &upload(&viewer, "u1", None))?;
        keep(
            &format!("result-{name}"),
            &result(&viewer, std::slice::from_ref(&report), Keeping::Offered { action: "/upload/u1/keep" }),
        )?;
        keep(&format!("diff-{name}"), &compare(&viewer, &records[1], &records[2]))?;
    }
    Ok(())
}

/// Checks that the page has one heading and no markup that the policy forbids, and writes it to OOMDOC_PAGES, if set.
fn keep(name: &str, page: &Markup) -> Outcomes {
    let text = &page.0;
    assert_eq!(text.matches("<h1").count(), 1, "{name}");
    for forbidden in [" style=", "<style", " onclick", "javascript:", "<script>"] {
        assert!(!text.contains(forbidden), "{name} has {forbidden}");
    }
    if let Some(folder) = std::env::var_os("OOMDOC_PAGES") {
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.html")), text)?;
    }
    Ok(())
}
