//! What people or logs say never becomes markup: a page with hostile words has the same tags and attributes as the page
//! with harmless ones.

use super::*;
use crate::history::{Likeness, Order, Query};
use crate::model::{Text, Texts};

const HOSTILE: &str = " \"'`><script>alert(1)</script><img src=x onerror=alert(1)>--></style></title><a href=\"javascript:alert(1)\">&lt;";
const HARMLESS: &str = " some words";

/// All pages that show words of others, with `added` appended to every word of an incident, of people and of a query.
fn pages(added: &str) -> Result<Vec<(&'static str, Markup)>, Box<dyn std::error::Error>> {
    let viewer = Viewer { name: Some(added), csrf: added, path: added, ..viewer(Language::En, Theme::Dark) };
    let told = |words: &str| format!("{words}{added}");
    let mut record = record("llama3-8b-optimizer-step")?;
    record.annotations = Annotations {
        job: Some("nightly".to_owned()),
        tags: vec!["blocked".to_owned()],
        notes: vec![Note {
            text: "words".to_owned(),
            link: Some("https://ci.example/".to_owned()),
            time: told("2026-11-22"),
        }],
        assignee: Some("mei".to_owned()),
        verdict: None,
    };
    record.texts(&mut |text| match text {
        Text::Own(words) | Text::Lines(words) | Text::Cited { words, .. } => words.push_str(added),
        Text::Shared(words) => *words = format!("{words}{added}").into(),
    });
    record.time = told("2026-11-22T00:27:09Z");
    let mut outcome = Outcome::of_words(&record, &told("smaller batch"), true);
    (outcome.note, outcome.link) = (Some(told("note")), Some(told("https://ci.example/")));
    let report = report_of(&record, Language::En)?;
    let document = Document {
        title: told("title"),
        change: Some(told("change")),
        worked: Some(true),
        ..Document::new(&record, None)
    };
    let row = IncidentRow { document: &document, count: Some(3) };
    let weeks = vec![(told("2026-11-16"), 1), (told("2026-11-23"), 2)];
    let query = told("pahse:forward");
    let error = query.parse::<Query>().err().ok_or("the query is read")?;
    let saved = [SavedQuery { name: told("name"), query: told("query") }];
    let list = IncidentList {
        query: &query,
        error: Some(&error),
        order: Order::Time,
        rows: vec![row],
        total: 1,
        facets: ["kind", "cause", "model", "week"]
            .into_iter()
            .map(|field| Facet { field, values: vec![(told("value"), 1)] })
            .collect(),
        saved: &saved,
        cursor: Some(added),
        next: Some(added),
        is_empty: false,
    };
    let alike = [Likeness {
        incident: document.clone(),
        score: 0.5,
        alike: vec![told("model x"), told("the same trouble: x"), told("cause x")],
    }];
    let parts = vec![told("part")];
    let key = told("1-0");
    let group_of = IncidentGroup { key: &key, parts: &parts, first: added, last: added, weeks: &weeks };
    let shown = IncidentPage {
        row,
        report: &report,
        annotations: &record.annotations,
        outcomes: &[outcome],
        similar: &alike,
        group: Some(group_of),
    };
    let group_row = GroupRow {
        key: told("1-0"),
        title: told("title"),
        kind: document.kind,
        phase: document.phase,
        count: 1,
        first: told("2026-11-16"),
        last: told("2026-11-16"),
        weeks: weeks.clone(),
        is_new: true,
        state: history::State::Reopened,
        solved_by: Some(told("change")),
    };
    let series = vec![Series { name: told("name"), weeks: weeks.clone() }];
    let fixes = vec![Fix {
        cause: Some(told("cause")),
        change: told("change"),
        worked: 1,
        failed: 1,
        last: told("2026-11-16"),
    }];
    let trend =
        TrendsPage { all: weeks.clone(), causes: series.clone(), clusters: series.clone(), models: series, fixes };
    let letter = DeadLetter {
        id: told("1"),
        hook: told("github"),
        problem: told("problem"),
        attempts: 3,
        time: told("2026-11-16"),
    };
    let audited = AuditRow {
        time: told("2026-11-16"),
        who: told("mei"),
        action: told("resolve"),
        target: told("1"),
        from: told("::1"),
    };
    Ok(vec![
        ("incidents", incidents(&viewer, &list)),
        ("incident", incident(&viewer, &shown)),
        (
            "groups",
            groups(
                &viewer,
                &GroupList {
                    tab: GroupTab::All,
                    counts: [1, 1, 1],
                    groups: std::slice::from_ref(&group_row),
                    next: Some(added),
                },
            ),
        ),
        ("group", group(&viewer, &GroupPage { group: &group_row, parts: &parts, incidents: vec![row] })),
        ("trends", trends(&viewer, &trend)),
        ("upload", upload(&viewer, added, Some(added))),
        ("result", result(&viewer, std::slice::from_ref(&report), Keeping::Offered { action: added })),
        ("kept", result(&viewer, std::slice::from_ref(&report), Keeping::Kept { incident: added })),
        ("diff", compare(&viewer, &record, &record)),
        ("diff of none", compare_none(&viewer, added, added)),
        ("login", login(&viewer, added, true)),
        ("problem", problem(&viewer, &ProblemPage { status: 404, detail: added, advice: Some(added) })),
        ("dead letters", dead_letters(&viewer, &[letter])),
        ("audit", audit(&viewer, &[audited], Some(added))),
    ])
}

/// The tags of a page with the names of their attributes, and the addresses in it that a browser would follow.
fn skeleton(page: &str) -> (Vec<String>, Vec<String>) {
    let (mut tags, mut followed) = (Vec::new(), Vec::new());
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let mut tag = String::new();
        // Up to the `>` outside of a quoted value.
        loop {
            let stop = rest.find(['"', '>']).unwrap_or(rest.len());
            tag.push_str(&rest[..stop]);
            let is_value = rest[stop..].starts_with('"');
            rest = rest.get(stop + 1..).unwrap_or_default();
            if !is_value {
                break;
            }
            let (value, after) = rest.split_once('"').unwrap_or((rest, ""));
            if tag.ends_with("href=") || tag.ends_with("action=") || tag.ends_with("src=") {
                followed.push(value.to_owned());
            }
            tag.push_str("\"\"");
            rest = after;
        }
        tags.push(tag);
    }
    (tags, followed)
}

#[test]
fn hostile_words_never_become_markup() -> Outcomes {
    for ((name, harmless), (_, hostile)) in pages(HARMLESS)?.iter().zip(&pages(HOSTILE)?) {
        let ((expected, _), (tags, followed)) = (skeleton(&harmless.0), skeleton(&hostile.0));
        assert!(expected.len() > 20, "{name} has {} tags", expected.len());
        for place in 0..expected.len().max(tags.len()) {
            assert_eq!(tags.get(place), expected.get(place), "{name}: tag {place}");
        }
        for address in followed {
            let is_ours = address.starts_with('/') && !address.starts_with("//")
                || address.starts_with('#')
                || address == "data:,";
            // Links that people wrote, and addresses that the caller passed in.
            let is_given = address.starts_with("https://ci.example/") || address.starts_with(" &quot;");
            assert!(is_ours || is_given, "{name} leads to {address}");
        }
    }
    Ok(())
}

#[test]
fn a_hostile_page_would_be_found() {
    let (tags, followed) = skeleton("<p title=\"a>b\">x<img src=\"/y\"></p><a href=\"javascript:x\">");
    assert_eq!(tags, ["p title=\"\"", "img src=\"\"", "/p", "a href=\"\""]);
    assert_eq!(followed, ["/y", "javascript:x"]);
}

#[test]
fn a_link_that_is_none_is_shown_as_words() {
    for link in ["javascript:alert(1)", "data:text/html,x", " https://x", "//x", "ftp://x"] {
        assert!(!parts::outward(link).0.contains("href"), "{link}");
    }
    assert!(parts::outward("https://x/?a=\"b").0.contains("href=\"https://x/?a=&quot;b\""));
}
