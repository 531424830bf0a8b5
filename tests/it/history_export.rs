//! Exports of a history to search engines: documents match their template, and increments add up to the whole.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::Path;

use oomdoc::internal::store::DiskStore;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::home::{HOST, Outcome, alone, analyze, json as asked, log, oomdoc, settle};

/// Cases of many kinds.
const CASES: [&str; 8] = [
    "llama3-8b-optimizer-step",
    "kubernetes-oomkilled",
    "easyr1-7b-vl-offload",
    "dataloader-shm-full",
    "jax-train-step",
    "earlyoom-terminates-preprocessing",
    "deepspeed-zero2-offload-killed-in-step",
    "github-actions-log",
];

/// The documents of a search engine, by id.
type Documents = BTreeMap<String, Value>;

/// The output of `history export` with `arguments`.
fn exported(home: &Path, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let done = oomdoc(home).args(["history", "export"]).args(arguments).output()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?)
}

/// Applies `lines` to `documents` as Elasticsearch's `_bulk` does, following its grammar strictly: one action per line,
/// and a document only after `index`.
fn load(documents: &mut Documents, lines: &str, index: &str) -> Outcome {
    assert!(lines.is_empty() || lines.ends_with('\n'), "the last line ends, too");
    let mut lines = lines.lines();
    let mut removes = false;
    while let Some(line) = lines.next() {
        let action: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(line)?;
        let (verb, meta) = action.first_key_value().filter(|_| action.len() == 1).ok_or("not one action")?;
        let id = meta.get("_id").ok_or("no id")?;
        assert_eq!((meta.len(), meta.get("_index").map(String::as_str)), (2, Some(index)), "{line}");
        match &**verb {
            "index" => {
                let document: Value = serde_json::from_str(lines.next().ok_or("no document")?)?;
                assert!(document.is_object() && !removes, "{line}");
                documents.insert(id.clone(), document);
            }
            "delete" => {
                documents.remove(id);
                removes = true;
            }
            _ => return Err(format!("`{verb}` is no action of ours").into()),
        }
    }
    Ok(())
}

/// Checks `value` against `mapping`; the fields that occur are added to `seen`.
fn fits(at: &str, value: &Value, mapping: &Value, seen: &mut BTreeSet<String>) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{at}: {what}: {value} by {mapping}"));
    if let Some(fields) = mapping.get("properties") {
        let Some(object) = value.as_object() else { return wrong("no object") };
        return object.iter().try_for_each(|(name, value)| {
            let at = format!("{at}.{name}");
            let mapping = fields.get(name).ok_or_else(|| format!("{at} is in no mapping"))?;
            fits(&at, value, mapping, seen)
        });
    }
    seen.insert(at.to_owned());
    let each = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let is_of: fn(&Value) -> bool = match mapping["type"].as_str() {
        // `strict_date_optional_time`, in UTC.
        Some("date") => |value| value.as_str().is_some_and(|time| time.parse::<jiff::Timestamp>().is_ok()),
        Some("keyword" | "text") => |value| value.as_str().is_some_and(|words| !words.is_empty()),
        Some("long") => Value::is_i64,
        Some("double") => Value::is_number,
        Some("boolean") => Value::is_boolean,
        _ => return wrong("no type"),
    };
    if each.is_empty() || !each.iter().all(is_of) { wrong("another type") } else { Ok(()) }
}

/// Checks that an engine would accept the mapping `properties`; all its fields are added to `known`.
fn is_mapping(at: &str, properties: &Value, known: &mut BTreeSet<String>) -> Result<(), String> {
    for (name, mapping) in properties.as_object().ok_or("no properties")? {
        let at = format!("{at}.{name}");
        let parameters: Vec<&str> = mapping.as_object().ok_or("no mapping")?.keys().map(String::as_str).collect();
        match (mapping["type"].as_str(), &parameters[..]) {
            (None, ["properties"]) => is_mapping(&at, &mapping["properties"], known)?,
            (Some("text"), ["fields", "type"]) => is_mapping(&at, &mapping["fields"], &mut BTreeSet::new())?,
            (Some("keyword"), ["ignore_above", "type"]) => {
                // An engine's terms may have at most 32,766 bytes, and a character takes up to four in UTF-8.
                let longest = mapping["ignore_above"].as_u64().filter(|longest| *longest * 4 <= 32_766);
                longest.ok_or(format!("{at}: a term may be too long"))?;
            }
            (Some("text" | "date" | "long" | "double" | "boolean"), ["type"]) => {}
            _ => return Err(format!("{at}: {mapping}")),
        }
        if mapping.get("properties").is_none() {
            known.insert(at);
        }
    }
    Ok(())
}

/// A home with an incident of each case, one of which has every field that an incident can have.
fn told() -> Result<tempfile::TempDir, Box<dyn Error>> {
    let (home, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for case in CASES {
        oomdoc(other.path()).arg("analyze").arg(corpus.join(case)).args(["--format", "json"]).assert().success();
    }
    let lines = exported(other.path(), &[])?;
    let (first, others) = lines.split_once('\n').ok_or("nothing is there")?;
    let mut first: Value = serde_json::from_str(first)?;
    let record = &mut first["incident"];
    record["job"]["gpu"] = json!("H100");
    record["job"]["parameters"] = json!(8_030_261_248_u64);
    record["annotations"] = json!({
        "job": "sft", "tags": ["long-context"], "assignee": "ada",
        "notes": [{ "text": "node 7 again", "link": "https://wiki.example/oom", "time": "2026-10-01T10:00:00Z" }],
        "verdict": { "resolved": false, "by": "ada", "time": "2099-10-01T10:00:00Z" },
    });
    let id = record["incident"]["id"].as_str().ok_or("no id")?.to_owned();
    let lines = format!("{first}\n{others}");
    oomdoc(home.path()).args(["history", "import", "-"]).write_stdin(lines).assert().success();
    oomdoc(home.path()).args(["history", "resolve", &id, "--did", "moved to H200", "--worked"]).assert().success();
    Ok(home)
}

#[test]
fn documents_fit_the_template_and_every_field_of_it_is_said() -> Outcome {
    let home = told()?;
    let template: Value = serde_json::from_str(&exported(home.path(), &["--template"])?)?;
    let mappings = &template["template"]["mappings"];
    let mut known = BTreeSet::new();
    is_mapping("", &mappings["properties"], &mut known)?;
    assert_eq!((&template["index_patterns"], &mappings["dynamic"]), (&json!(["oomdoc-incidents"]), &json!(false)));
    let (mut documents, mut seen) = (Documents::new(), BTreeSet::new());
    let lines = exported(home.path(), &["--format", "bulk"])?;
    load(&mut documents, &lines, "oomdoc-incidents")?;
    let total = asked(home.path(), &["list"])?["total"].as_u64();
    assert_eq!((documents.len(), lines.lines().count() as u64), (CASES.len(), 2 * total.ok_or("no total")?));
    for (id, document) in &documents {
        fits("", document, mappings, &mut seen)?;
        assert_eq!(&document["id"], id);
    }
    // Which figures occur depends on the jobs, so not all of them are expected.
    let unsaid =
        known.difference(&seen).filter(|field| !field.starts_with(".bytes.") && !field.starts_with(".figures."));
    assert_eq!(unsaid.collect::<Vec<_>>(), Vec::<&String>::new(), "nobody says them");
    assert!(seen.contains(".bytes.requested") && seen.contains(".figures.node_fraction"), "{seen:?}");
    // Loading the same export again changes nothing.
    let once = documents.clone();
    load(&mut documents, &exported(home.path(), &["--format", "bulk"])?, "oomdoc-incidents")?;
    assert_eq!(documents, once);
    // The check does reject wrong documents.
    for (field, odd) in [("kind", json!(3)), ("saved", json!("yesterday")), ("rank", json!(0.5)), ("odd", json!("x"))] {
        let mut document = json!({});
        document[field] = odd;
        assert!(fits("", &document, mappings, &mut seen).is_err(), "{field}");
    }
    Ok(())
}

#[test]
fn documents_say_what_the_history_says() -> Outcome {
    let home = tempfile::tempdir()?;
    let report = analyze(home.path(), &log("2026-10-01", "29.92"))?;
    let id = report["incidents"][0]["id"].as_str().ok_or("no id")?;
    let mut documents = Documents::new();
    load(&mut documents, &exported(home.path(), &["--format", "bulk", "--index", "team-ooms"])?, "team-ooms")?;
    let document = &documents[id];
    for (field, said) in [
        ("@timestamp", json!("2026-10-01T10:00:00Z")),
        ("kind", json!("gpu_oom")),
        ("phase", json!("optimizer_step")),
        ("cause", json!("optimizer_states_on_gpu")),
        ("state", json!("open")),
        ("title", report["incidents"][0]["diagnoses"][0]["title"].clone()),
        ("summary", json!([report["incidents"][0]["diagnoses"][0]["why"]])),
        // 29.92, 79.15 and 2.33 GiB.
        ("bytes", json!({ "requested": 32126355374_u64, "gpu_total": 84986665370_u64, "gpu_free": 2501818450_u64 })),
    ] {
        assert_eq!(document[field], said, "{field}");
    }
    assert_eq!(document["group"], asked(home.path(), &["list"])?["incidents"][0]["group"]);
    assert!(exported(home.path(), &["--template", "--index", "team-ooms"])?.contains("\"team-ooms\""));
    oomdoc(home.path())
        .args(["history", "export", "--format", "bulk", "--index", "Team"])
        .assert()
        .code(2)
        .stderr(contains("cannot be called `Team`"));
    Ok(())
}

#[test]
fn what_is_a_secret_by_now_does_not_leave() -> Outcome {
    let home = tempfile::tempdir()?;
    analyze(home.path(), &log("2026-10-01", "29.92"))?;
    settle(home.path())?;
    assert!(exported(home.path(), &["--format", "bulk"])?.contains("29.92 GiB"));
    let settings = home.path().join("oomdoc.toml");
    fs::write(&settings, "[[redaction]]\nname = \"amount\"\npattern = '29\\.92 GiB'\n")?;
    let settings = settings.to_str().ok_or("an odd path")?;
    let lines = exported(home.path(), &["--format", "bulk", "--config", settings])?;
    assert!(!lines.contains("29.92 GiB") && lines.contains("‹amount›"), "{lines}");
    Ok(())
}

/// After each change of a history, an engine that loaded every increment holds the same as an empty one that loads a
/// whole export.
#[test]
fn increments_add_up_to_the_whole() -> Outcome {
    let (home, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let mark = home.path().join("mark");
    let (mut documents, mut sizes) = (Documents::new(), Vec::new());
    let mut ids: Vec<String> = Vec::new();
    analyze(other.path(), HOST)?;
    let foreign = exported(other.path(), &[])?;
    let history = |arguments: &[&str]| oomdoc(home.path()).arg("history").args(arguments).assert().success();
    for step in 0..9 {
        match step {
            0 | 4 => {
                for day in 1..=3 {
                    let report = analyze(home.path(), &log(&format!("20{}-10-0{day}", 19 + step), "29.92"))?;
                    ids.push(report["incidents"][0]["id"].as_str().ok_or("no id")?.to_owned());
                }
                settle(home.path())?;
            }
            1 => drop(history(&["resolve", &ids[0], "--knob=--zero_stage=3", "--worked"])),
            2 => drop(history(&["tag", &ids[1], "long-context"])),
            3 => drop(history(&["outcomes", "--reset", &ids[0]])),
            5 => drop(history(&["prune", "--older-than", "5y"])),
            6 => drop(oomdoc(home.path()).args(["history", "import", "-"]).write_stdin(&*foreign).assert().success()),
            7 => drop(history(&["compact"])),
            _ => {}
        }
        let since = fs::read_to_string(&mark).unwrap_or_else(|_| "0".to_owned());
        let next = mark.to_str().ok_or("an odd path")?;
        let lines = exported(home.path(), &["--format", "bulk", "--since", &since, "--next", next])?;
        load(&mut documents, &lines, "oomdoc-incidents")?;
        sizes.push(lines.lines().count());
        let mut whole = Documents::new();
        load(&mut whole, &exported(home.path(), &["--format", "bulk"])?, "oomdoc-incidents")?;
        assert_eq!(documents, whole, "step {step}");
    }
    assert_eq!(sizes, [6, 2, 2, 2, 6, 3, 2, 0, 0], "and nothing besides");
    Ok(())
}

#[test]
fn what_waits_is_exported_and_again_when_the_store_has_it() -> Outcome {
    let home = tempfile::tempdir()?;
    analyze(home.path(), &log("2026-10-01", "29.92"))?;
    settle(home.path())?;
    let store = DiskStore::open(home.path())?;
    analyze(home.path(), &log("2026-10-02", "29.92"))?;
    alone(home.path())?;
    let file = home.path().join("batch.ndjson");
    let path = file.to_str().ok_or("an odd path")?;
    let said = exported(home.path(), &["--format", "bulk", path])?;
    let mark = said.trim().strip_prefix("4 lines written; go on with --since ").ok_or(said.clone())?;
    drop(store);
    oomdoc(home.path())
        .args(["history", "resolve", "--did", "waited", "--worked"])
        .arg(id_of(&file, 0)?)
        .assert()
        .success();
    let mut documents = Documents::new();
    load(&mut documents, &exported(home.path(), &["--format", "bulk", "--since", mark])?, "oomdoc-incidents")?;
    assert_eq!(documents.len(), 2, "the one that was resolved, and the one that waited");
    Ok(())
}

/// The id of document number `number` in `file`.
fn id_of(file: &Path, number: usize) -> Result<String, Box<dyn Error>> {
    let lines = fs::read_to_string(file)?;
    let action: Value = serde_json::from_str(lines.lines().nth(2 * number).ok_or("no such line")?)?;
    Ok(action["index"]["_id"].as_str().ok_or("no id")?.to_owned())
}

#[test]
fn whoever_was_away_for_too_long_is_told() -> Outcome {
    let (home, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    for home in [&home, &other] {
        analyze(home.path(), &log("2026-10-01", "29.92"))?;
        settle(home.path())?;
    }
    let mark = |home: &Path| -> Result<String, Box<dyn Error>> {
        let file = home.join("mark");
        exported(home, &["--next", file.to_str().ok_or("an odd path")?])?;
        Ok(fs::read_to_string(file)?.trim().to_owned())
    };
    let file = home.path().join("batch.ndjson");
    fs::write(&file, "what was there")?;
    let export = |since: &str| {
        let mut command = oomdoc(home.path());
        command.args(["history", "export", "--format", "bulk", "--since", since]).arg(&file).assert()
    };
    export(&mark(other.path())?).code(2).stderr(contains("of another history").and(contains("without --since")));
    export("4711").code(2).stderr(contains("is not where an export ended"));
    let own = mark(home.path())?;
    let ahead = own.replacen(|sign: char| sign.is_ascii_digit(), "99", 1);
    export(&ahead).code(2);
    assert_eq!(fs::read_to_string(&file)?, "what was there");
    export(&own).success().stdout(contains("0 lines written"));
    // Salvaging a damaged journal leaves no record of what was lost, so an increment cannot be computed.
    oomdoc(home.path()).args(["history", "salvage"]).assert().success();
    export(&own).code(2);
    export(&mark(home.path())?).success();
    Ok(())
}

#[test]
fn lines_for_another_home_go_on_too() -> Outcome {
    let (home, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let gone = analyze(home.path(), &log("2019-10-01", "29.92"))?;
    analyze(home.path(), &log("2026-10-01", "29.92"))?;
    settle(home.path())?;
    let file = home.path().join("mark");
    let next = file.to_str().ok_or("an odd path")?;
    let import = |lines: String, said: &'static str| {
        oomdoc(other.path()).args(["history", "import", "-"]).write_stdin(lines).assert().success().stdout(said);
    };
    import(exported(home.path(), &["--next", next])?, "2 new, 0 known, 0 outcomes\n");
    let report = analyze(home.path(), HOST)?;
    settle(home.path())?;
    let id = report["incidents"][0]["id"].as_str().ok_or("no id")?;
    oomdoc(home.path()).args(["history", "resolve", id, "--did", "less", "--worked"]).assert().success();
    oomdoc(home.path()).args(["history", "prune", "--older-than", "5y"]).assert().success();
    let lines = exported(home.path(), &["--since", &fs::read_to_string(&file)?])?;
    let removed = json!({ "removed": { "incident": gone["incidents"][0]["id"] } });
    assert_eq!(
        lines.lines().map(|line| &line[..11]).collect::<Vec<_>>(),
        ["{\"incident\"", "{\"outcome\":", "{\"removed\":"]
    );
    assert!(lines.ends_with(&format!("{removed}\n")), "{lines}");
    import(lines, "1 new, 0 known, 1 outcomes\n");
    assert_eq!(asked(other.path(), &["list"])?["total"], 3, "an import removes nothing");
    Ok(())
}

#[cfg(all(feature = "server", unix))]
#[test]
fn a_servers_history_is_exported_by_whoever_may() -> Outcome {
    use crate::support::served::{Served, token};
    let (home, own) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let (admin, writer) = (token(home.path(), "ada", "admin")?, token(home.path(), "bob", "write")?);
    let served = Served::start(home.path(), &[])?;
    served.analyze(&admin, &log("2026-10-01", "29.92"))?;
    let id = served.analyze(&admin, &log("2026-10-02", "29.92"))?;
    let url = format!("http://{}", served.address);
    let export = |token: &str, arguments: &[&str]| {
        let mut command = oomdoc(own.path());
        command.env("OOMDOC_SERVER", &url).env("OOMDOC_SERVER_TOKEN", token).args(["history", "export"]);
        command.args(arguments).assert()
    };
    let file = own.path().join("mark");
    let next = file.to_str().ok_or("an odd path")?;
    let batch = own.path().join("batch.ndjson");
    let path = batch.to_str().ok_or("an odd path")?;
    export(&admin, &["--format", "bulk", "--next", next, path]).success().stdout(contains("4 lines written"));
    let mut documents = Documents::new();
    load(&mut documents, &fs::read_to_string(&batch)?, "oomdoc-incidents")?;
    assert_eq!(documents.len(), 2);
    served.post(&format!("/api/v1/incidents/{id}/notes"), &admin, &json!({ "text": "node 7 again" }))?;
    let since = fs::read_to_string(&file)?;
    export(&admin, &["--format", "bulk", "--index", "ooms", "--since", &since, path]).success();
    let mut documents = Documents::new();
    load(&mut documents, &fs::read_to_string(&batch)?, "ooms")?;
    assert_eq!(documents[&id]["notes"], json!(["node 7 again"]));
    assert_eq!(documents.len(), 1, "only what changed");
    export(&admin, &[]).success().stdout(contains("{\"incident\"").count(2)).stderr("");
    export(&writer, &[]).code(2).stderr(contains("not allowed"));
    export(&admin, &["--since", "12-00ff00ff00ff00ff"]).code(2).stderr(contains("of another history"));
    assert_eq!(served.get("/api/v1/export?since=12", &admin)?.status, 400);
    assert_eq!(served.get("/api/v1/export?format=bulk&index=A", &admin)?.status, 400);
    Ok(())
}
