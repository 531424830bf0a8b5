//! What people record about incidents: job names, tags, notes and their own solutions, and statistics of these.

use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::home::{HOST, Outcome, analyze, copy_folder, json as asked, log, oomdoc, settle, total};

/// An incident of which only the kind is known.
const BARE: &str = "step 1\ntorch.cuda.OutOfMemoryError: CUDA out of memory.\n";

/// Keeps the incident of `log` with `labels` for its job and tags, and returns its id.
fn kept(home: &Path, log: &str, labels: &[&str]) -> Result<String, Box<dyn std::error::Error>> {
    let done = oomdoc(home).args(["analyze", "--format", "json", "-"]).args(labels).write_stdin(log).output()?;
    let report: Value = serde_json::from_slice(&done.stdout)?;
    Ok(report["incidents"][0]["id"].as_str().ok_or("no incident")?.to_owned())
}

#[test]
fn a_list_says_what_its_columns_are() -> Outcome {
    let home = tempfile::tempdir()?;
    kept(home.path(), &log("2026-10-01", "29.92"), &[])?;
    for command in [&["list"][..], &["search", "phase:optimizer_step"]] {
        let printed = oomdoc(home.path()).arg("history").args(command).output()?.stdout;
        let printed = String::from_utf8(printed)?;
        let header: Vec<&str> = printed.lines().next().unwrap_or_default().split_whitespace().collect();
        assert_eq!(header, ["ID", "TIME", "KIND", "PHASE", "CAUSE"], "what is known of none has no column: {printed}");
    }
    Ok(())
}

#[test]
fn a_job_is_found_by_the_name_and_tags_that_people_gave_it() -> Outcome {
    let home = tempfile::tempdir()?;
    let first = kept(home.path(), &log("2026-10-01", "29.92"), &["--job", "llama-sft", "--tag", "prod,long"])?;
    let second = kept(home.path(), &log("2026-10-02", "12.00"), &[])?;
    let found = |query: &str| total(home.path(), query);
    // First from the spool, then from the index.
    for _ in 0..2 {
        assert_eq!((found("job:llama")?, found("tag:PROD")?, found("tag:pro")?, found("llama-sft")?), (1, 1, 0, 1));
        settle(home.path())?;
    }
    oomdoc(home.path())
        .args(["history", "tag", &second[..8], "prod", "--job", "qwen-rl"])
        .assert()
        .success()
        .stdout(contains("qwen-rl #prod"));
    assert_eq!((found("tag:prod")?, found("job:qwen")?, found("tag:prod -job:qwen")?), (2, 1, 1));
    oomdoc(home.path()).args(["history", "tag", &first, "--remove", "prod"]).assert().success();
    assert_eq!(found("tag:prod")?, 1);
    // Analysing the same log again keeps its tags.
    kept(home.path(), &log("2026-10-01", "29.92"), &["--tag", "again"])?;
    settle(home.path())?;
    let shown = asked(home.path(), &["show", &first])?;
    assert_eq!(shown["annotations"]["job"], "llama-sft");
    assert_eq!(shown["annotations"]["tags"], json!(["again", "long"]));
    let listed = asked(home.path(), &["list"])?;
    assert_eq!((&listed["total"], &listed["incidents"][0]["tags"]), (&json!(2), &json!(["prod"])));
    oomdoc(home.path()).args(["history", "list"]).assert().stdout(contains("llama-sft #again #long"));
    oomdoc(home.path()).args(["history", "tag", &first, "two words"]).assert().code(2).stderr(contains("one word"));
    oomdoc(home.path()).args(["history", "tag", &first]).assert().code(2);
    oomdoc(home.path()).args(["analyze", "-", "--no-save", "--job", "x"]).write_stdin("x\n").assert().code(2);
    Ok(())
}

#[test]
fn what_people_did_instead_is_told_next_time() -> Outcome {
    let home = tempfile::tempdir()?;
    let id = kept(home.path(), &log("2026-10-01", "29.92"), &[])?;
    let resolve = |arguments: &[&str]| oomdoc(home.path()).args(["history", "resolve", &id]).args(arguments).assert();
    resolve(&[]).code(2);
    resolve(&["--did", "prayed"]).code(2).stderr(contains("--worked"));
    resolve(&["--did", "restarted it", "--failed"]).success();
    oomdoc(home.path()).args(["history", "list"]).assert().stdout(contains("not yet: restarted it"));
    let did = ["--did", "moved it to H200 nodes", "--worked", "--note", "with hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"];
    resolve(&did).success();
    resolve(&["--note", "ask Ada", "--link", "https://wiki.example/oom"]).success().stdout(contains("noted"));
    oomdoc(home.path())
        .args(["history", "show", &id])
        .assert()
        .stdout(contains("moved it to H200 nodes  worked").and(contains("restarted it  failed")))
        .stdout(contains("ask Ada  https://wiki.example/oom").and(contains("hf_aBc").not()));
    oomdoc(home.path()).args(["history", "show", "--lang", "zh", &id]).assert().stdout(contains("采取的措施"));
    oomdoc(home.path()).args(["history", "list"]).assert().stdout(contains("solved: moved it to H200 nodes"));
    let next = analyze(home.path(), &log("2026-10-08", "29.00"))?;
    assert_eq!(next["incidents"][0]["seen"]["worked"], json!(["moved it to H200 nodes"]));
    // The solution is no lever of any cause, so it makes no cause more likely.
    assert_eq!(next["incidents"][0]["diagnoses"][0]["outcomes"], Value::Null);
    settle(home.path())?;
    let next = next["incidents"][0]["id"].as_str().ok_or("no id")?;
    let alike = asked(home.path(), &["similar", next])?;
    assert_eq!(alike["incidents"][0]["incident"]["change"], "moved it to H200 nodes");
    oomdoc(home.path()).args(["history", "similar", next]).assert().stdout(contains("solved: moved it"));
    // Where only a note is given, the note is the solution.
    oomdoc(home.path())
        .args(["history", "resolve", next, "--worked", "--note", "fewer workers", "--link", "https://x.example/1"])
        .assert()
        .success();
    oomdoc(home.path())
        .args(["history", "list"])
        .assert()
        .stdout(contains("solved: fewer workers (https://x.example/1)"));
    assert_eq!(total(home.path(), "resolved:true")?, 2);
    Ok(())
}

#[test]
fn notes_travel_with_an_export() -> Outcome {
    let (home, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let words = log("2026-10-01", "29.92");
    let id = kept(home.path(), &words, &["--tag", "ours"])?;
    kept(other.path(), &words, &["--job", "theirs"])?;
    oomdoc(other.path()).args(["history", "resolve", &id, "--note", "seen on every node"]).assert().success();
    let exported = oomdoc(other.path()).args(["history", "export"]).output()?.stdout;
    for done in ["0 new, 1 known", "0 new, 1 known"] {
        oomdoc(home.path())
            .args(["history", "import", "-"])
            .write_stdin(exported.clone())
            .assert()
            .stdout(contains(done));
    }
    let said = &asked(home.path(), &["show", &id])?["annotations"];
    assert_eq!((&said["job"], &said["tags"]), (&json!("theirs"), &json!(["ours"])));
    assert_eq!(said["notes"].as_array().map(Vec::len), Some(1));
    Ok(())
}

#[test]
fn incidents_of_which_nothing_is_known_are_not_the_same_trouble() -> Outcome {
    let home = tempfile::tempdir()?;
    for day in ["2026-10-01", "2026-10-02"] {
        let report = analyze(home.path(), &format!("[{day} 10:00:00,000] [INFO] [engine.py:12:step] ready\n{BARE}"))?;
        let root = &report["incidents"][0];
        assert_eq!(root["diagnoses"][0]["cause"], "unknown", "{root}");
        assert_eq!(root["seen"]["count"], 0, "{}", root["fingerprint"]);
        settle(home.path())?;
    }
    let listed = asked(home.path(), &["list"])?;
    assert_eq!(listed["total"], 2);
    assert_ne!(listed["incidents"][0]["group"], listed["incidents"][1]["group"]);
    let id = listed["incidents"][0]["id"].as_str().ok_or("no id")?;
    assert_eq!(asked(home.path(), &["similar", id])?["total"], 0);
    let group = listed["incidents"][0]["group"].as_str().ok_or("no group")?;
    assert_eq!(total(home.path(), &format!("group:{group}"))?, 1);
    oomdoc(home.path()).args(["history", "show", id]).assert().stdout(contains("grouped with no other"));
    Ok(())
}

#[test]
fn a_question_that_can_find_nothing_says_what_there_is() -> Outcome {
    let home = tempfile::tempdir()?;
    analyze(home.path(), &log("2026-10-01", "29.92"))?;
    let refused = |command: &str, query: &str, said: &str| {
        oomdoc(home.path()).args(["history", command, query]).assert().code(2).stderr(contains(said.to_owned()));
    };
    refused("search", "cause:foo", "optimizer_states_on_gpu");
    refused("search", "oom cause:fragmentatoin", "did you mean `fragmentation`");
    refused("search", "oom cause:fragmentatoin", "column 11");
    refused("stats", "framework:deepsped", "did you mean `deepspeed`");
    refused("search", "resolved:maybe", "resolved:yes or resolved:no");
    refused("search", "since:yesterday", "30d");
    assert_eq!((total(home.path(), "cause:fragmentation")?, total(home.path(), "cause:optimizer_states")?), (0, 1));
    assert_eq!(total(home.path(), "resolved:true")?, 0);
    Ok(())
}

#[test]
fn counts_are_of_a_query_and_a_time() -> Outcome {
    let home = tempfile::tempdir()?;
    for (date, job) in [("2020-10-01", "old"), ("2026-10-01", "llama"), ("2026-10-02", "llama")] {
        kept(home.path(), &log(date, "29.92"), &["--job", job])?;
    }
    kept(home.path(), HOST, &["--job", "rl"])?;
    // First with everything in the spool, then from the index.
    for _ in 0..2 {
        let all = asked(home.path(), &["stats"])?;
        assert_eq!((&all["total"], &all["jobs"]), (&json!(4), &json!({"old": 1, "llama": 2, "rl": 1})));
        assert_eq!(all["hosts"], json!({"10.0.0.9": 1}));
        let some = asked(home.path(), &["stats", "phase:optimizer_step", "--since", "2026-01-01", "--by", "job,kind"])?;
        let expected = json!({
            "total": 2,
            "by": {"job": [{"name": "llama", "count": 2}], "kind": [{"name": "gpu_oom", "count": 2}]}
        });
        assert_eq!(some, expected);
        settle(home.path())?;
    }
    let printed = oomdoc(home.path()).args(["history", "stats", "job:llama", "--by", "cause"]).output()?.stdout;
    assert_eq!(
        String::from_utf8(printed)?,
        format!("2 incidents\n\nby cause\n  optimizer_states_on_gpu  2  {}\n", "▇".repeat(20))
    );
    // An incident without a date counts as having happened when it was kept.
    assert_eq!(asked(home.path(), &["stats", "--since", "1d"])?["total"], 1);
    oomdoc(home.path()).args(["history", "stats", "--since", "soon"]).assert().code(2).stderr(contains("30d"));
    Ok(())
}

#[test]
fn records_of_the_first_version_can_be_tagged() -> Outcome {
    let home = tempfile::tempdir()?;
    copy_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store-1"), home.path())?;
    let listed = asked(home.path(), &["list"])?;
    let id = listed["incidents"][0]["id"].as_str().ok_or("no incident")?;
    oomdoc(home.path()).args(["history", "tag", id, "old", "--job", "first"]).assert().success();
    assert_eq!(total(home.path(), "tag:old job:first")?, 1);
    Ok(())
}
