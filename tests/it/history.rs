//! `oomdoc history` as a user runs it: incidents are kept, found, and improve the next diagnosis.

use std::error::Error;
use std::fs;
use std::path::Path;

use oomdoc::internal::store::DiskStore;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::home::{HOST, Outcome, analyze, json, log, oomdoc, settle, total};

#[test]
fn an_incident_is_kept_unless_told_otherwise() -> Outcome {
    let home = tempfile::tempdir()?;
    oomdoc(home.path()).args(["history", "list"]).assert().success().stdout("no incident\n");
    assert_eq!(fs::read_dir(home.path())?.count(), 0, "looking leaves nothing behind");
    oomdoc(home.path()).args(["analyze", "--no-save", "-"]).write_stdin(log("2026-10-01", "29.92")).assert().success();
    assert_eq!(fs::read_dir(home.path())?.count(), 0);
    oomdoc(home.path()).args(["analyze", "-"]).write_stdin("step 1\n").assert().success();
    assert_eq!(json(home.path(), &["list"])?, serde_json::json!({"incidents": [], "total": 0, "facets": {}}));
    let report = analyze(home.path(), &log("2026-10-01", "29.92"))?;
    let listed = json(home.path(), &["list"])?;
    assert_eq!(listed["total"], 1);
    let incident = &listed["incidents"][0];
    assert_eq!(incident["id"], report["incidents"][0]["id"]);
    assert_eq!(incident["phase"], "optimizer_step");
    assert_eq!(incident["requested"], 32_126_355_374_u64);
    let id = incident["id"].as_str().ok_or("no id")?;
    oomdoc(home.path())
        .args(["history", "show", &id[..6]])
        .assert()
        .success()
        .stdout(contains("29.92 GiB").and(contains("adamw.py:_init_group")));
    assert_eq!(json(home.path(), &["show", id])?["incident"]["id"], id);
    oomdoc(home.path()).args(["history", "show", "nonesuch"]).assert().code(2).stderr(contains("no incident"));
    Ok(())
}

/// A user who listed the history at once was told to rebuild an index that was only just being made.
#[test]
fn the_first_list_of_a_new_history_warns_of_nothing() -> Outcome {
    let home = tempfile::tempdir()?;
    let writer = DiskStore::open(home.path())?;
    analyze(home.path(), &log("2026-10-01", "29.92"))?;
    let list = || {
        let mut list = oomdoc(home.path());
        list.args(["history", "list"]).assert().success().stdout(contains("1 in all"))
    };
    list().stderr("");
    drop(writer);
    settle(home.path())?;
    list().stderr("");
    fs::remove_dir_all(home.path().join("index"))?;
    list().stderr(contains("there is no index"));
    Ok(())
}

#[test]
fn one_log_twice_is_one_occurrence() -> Outcome {
    let home = tempfile::tempdir()?;
    let settle = || settle(home.path());
    let seen = |log: &str| Ok::<_, Box<dyn Error>>(analyze(home.path(), log)?["incidents"][0]["seen"]["count"].clone());
    assert_eq!(seen(&log("2026-10-01", "29.92"))?, 0);
    settle()?;
    assert_eq!(seen(&log("2026-10-01", "29.92"))?, 0, "the same log is no other occurrence");
    settle()?;
    assert_eq!(seen(&log("2026-10-01", "29.92"))?, 0);
    settle()?;
    // The figures differ, but the failure is the same.
    assert_eq!(seen(&log("2026-10-08", "30.17"))?, 1);
    settle()?;
    assert_eq!(seen(&log("2026-10-09", "28.00"))?, 2);
    settle()?;
    assert_eq!(seen(HOST)?, 0, "another trouble");
    assert_eq!(json(home.path(), &["list"])?["total"], 4);
    Ok(())
}

#[test]
fn secrets_are_not_kept() -> Outcome {
    let home = tempfile::tempdir()?;
    let secrets = ["hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789", "ada@example.org", "hunter2secret"];
    let log = format!(
        "Traceback (most recent call last):\n  File \"/w/train.py\", line 3, in main\n    model.to(device)  # ada@example.org\n\
         RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free. HF_TOKEN={} password=hunter2secret\n",
        secrets[0]
    );
    let shown = oomdoc(home.path()).args(["analyze", "--format", "json", "-"]).write_stdin(log).output()?.stdout;
    let shown = String::from_utf8(shown)?;
    assert!(shown.contains(secrets[0]), "what is printed here is verbatim: {shown}");
    let kept = String::from_utf8(oomdoc(home.path()).args(["history", "export"]).output()?.stdout)?;
    assert!(kept.contains("\"redacted\":true") && kept.contains("2.00 GiB"), "{kept}");
    for secret in secrets {
        assert!(!kept.contains(secret), "{secret} was kept: {kept}");
        for entry in walkdir::WalkDir::new(home.path()).into_iter().flatten().filter(|entry| entry.path().is_file()) {
            let bytes = fs::read(entry.path())?;
            let is_there = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!is_there, "{secret} is in {}", entry.path().display());
        }
    }
    Ok(())
}

#[test]
fn incidents_are_found_by_what_they_say() -> Outcome {
    let home = tempfile::tempdir()?;
    for (date, requested) in [("2026-09-01", "29.92"), ("2026-10-05", "1.50"), ("2026-10-06", "3.00")] {
        analyze(home.path(), &log(date, requested))?;
    }
    analyze(home.path(), HOST)?;
    let found = |query: &str| total(home.path(), query);
    for (query, count) in [
        ("phase:optimizer_step", 3),
        ("kind:gpu_oom requested:>2GiB", 2),
        ("requested:[1GiB TO 2GiB]", 1),
        ("requested:3GiB", 1),
        ("node_used:[700GiB TO *]", 1),
        ("phase:optimizer_step after:2026-10", 2),
        ("phase:optimizer_step before:2026-10-06", 2),
        ("\"low on memory\"", 1),
        ("\"memory low\"", 0),
        ("adamw.py", 3),
        ("-adamw.py", 1),
        ("optimzer", 3),
        ("host:10.0.0.9", 1),
        ("resolved:no", 4),
        ("nonesuch", 0),
    ] {
        assert_eq!(found(query)?, count, "{query}");
    }
    let page =
        json(home.path(), &["search", "phase:optimizer_step", "--sort", "time", "--limit", "1", "--offset", "1"])?;
    assert_eq!((&page["total"], page["incidents"].as_array().map(Vec::len)), (&Value::from(3), Some(1)));
    assert_eq!(page["incidents"][0]["time"], "2026-10-05T10:00:00Z");
    assert_eq!(
        json(home.path(), &["search", "memory"])?["facets"]["kind"],
        serde_json::json!({"gpu_oom": 3, "host_oom_ray": 1})
    );
    oomdoc(home.path())
        .args(["history", "search", "oom phase:optimiser_step"])
        .assert()
        .code(2)
        .stderr(contains("column 11").and(contains("did you mean `optimizer_step`")));
    let csv = oomdoc(home.path()).args(["history", "list", "--format", "csv"]).output()?.stdout;
    assert_eq!(String::from_utf8(csv)?.lines().count(), 5);
    Ok(())
}

/// A history kept in one language was once found and shown only in that language.
#[test]
fn a_history_kept_in_one_language_is_read_in_the_other() -> Outcome {
    let home = tempfile::tempdir()?;
    let report = analyze(home.path(), &log("2026-10-01", "29.92"))?;
    let id = report["incidents"][0]["id"].as_str().ok_or("no id")?;
    for query in ["\"优化器状态放不进显存\"", "\"optimizer states do not fit\""] {
        assert_eq!(total(home.path(), query)?, 1, "{query}");
    }
    let listed = json(home.path(), &["list", "--lang", "zh"])?;
    assert_eq!(listed["incidents"][0]["title"], "优化器状态放不进显存");
    assert_eq!(json(home.path(), &["list"])?["incidents"][0]["title"], "Optimizer states do not fit on the GPU");
    let show = |language: &str| -> Result<String, Box<dyn std::error::Error>> {
        let shown = oomdoc(home.path()).args(["history", "show", id, "--lang", language]).assert().success();
        Ok(String::from_utf8(shown.get_output().stdout.clone())?)
    };
    let (in_zh, in_en) = (show("zh")?, show("en")?);
    assert!(in_zh.contains("优化器状态放不进显存") && in_zh.contains("失败发生在优化器更新阶段。"), "{in_zh}");
    assert!(in_zh.contains("代价：") && !in_zh.contains("It failed"), "{in_zh}");
    assert!(in_en.contains("It failed in the optimizer step."), "{in_en}");
    // The same from Chinese to English.
    let home = tempfile::tempdir()?;
    let words = log("2026-10-01", "29.92");
    oomdoc(home.path()).args(["analyze", "--lang", "zh", "-"]).write_stdin(words).assert().success();
    oomdoc(home.path())
        .args(["history", "show", id])
        .assert()
        .success()
        .stdout(contains("It failed in the optimizer step."));
    assert_eq!(total(home.path(), "\"optimizer states do not fit\"")?, 1);
    Ok(())
}

#[test]
fn chinese_and_english_words_are_found_in_mixed_text() -> Outcome {
    let home = tempfile::tempdir()?;
    let words = log("2026-10-01", "29.92");
    oomdoc(home.path()).args(["analyze", "--lang", "zh", "-"]).write_stdin(words).assert().success();
    for query in ["优化器", "\"优化器状态\"", "显存", "optimizer", "\"GPU 0\""] {
        assert_eq!(total(home.path(), query)?, 1, "{query}");
    }
    assert_eq!(total(home.path(), "器优化")?, 0);
    Ok(())
}

#[test]
fn what_made_it_go_away_is_told_next_time() -> Outcome {
    let home = tempfile::tempdir()?;
    let report = analyze(home.path(), &log("2026-10-01", "29.92"))?;
    let id = report["incidents"][0]["id"].as_str().ok_or("no id")?;
    let patches = report["incidents"][0]["diagnoses"][0]["patches"].as_array().ok_or("no patches")?;
    let second = patches[1]["knob"].as_str().ok_or("no knob")?;
    let resolve = |arguments: &[&str]| oomdoc(home.path()).args(["history", "resolve", id]).args(arguments).assert();
    resolve(&["--patch", "99", "--worked"]).code(2).stderr(contains("has no patch 99"));
    resolve(&["--patch", "1"]).code(2);
    resolve(&["--patch", "2", "--worked"]).success().stdout(contains("worked against"));
    resolve(&["--patch", "1", "--failed"]).success();
    assert_eq!(total(home.path(), "resolved:yes")?, 1);
    let next = oomdoc(home.path()).args(["analyze", "-"]).write_stdin(log("2026-10-08", "29.00")).output()?.stdout;
    let next = String::from_utf8(next)?;
    assert!(next.contains("seen once, last on 2026-10-01, fixed by"), "{next}");
    assert!(next.contains("worked 1 out of 1 times here") && next.contains("worked 1 out of 2 times here"), "{next}");
    let again = analyze(home.path(), &log("2026-10-08", "29.00"))?;
    let first = &again["incidents"][0]["diagnoses"][0]["patches"][0];
    assert_eq!((&first["knob"], &first["outcomes"]["worked"]), (&Value::from(second), &Value::from(1)));
    oomdoc(home.path())
        .args(["history", "outcomes"])
        .assert()
        .success()
        .stdout(contains(second).and(contains("× 2.00")));
    // Past outcomes must not change an incident's fingerprint: they would split the group.
    let group = |report: &Value| report["incidents"][0]["fingerprint"].clone();
    assert_eq!(group(&again), group(&report));
    oomdoc(home.path()).args(["history", "outcomes", "--reset"]).assert().success().stdout("2 forgotten\n");
    let forgotten = analyze(home.path(), &log("2026-10-08", "29.00"))?;
    assert_eq!(forgotten["incidents"][0]["diagnoses"], report_with(&forgotten, &report)?);
    Ok(())
}

/// The diagnoses of `before`, if those of `now` name the same knobs in the same order.
fn report_with(now: &Value, before: &Value) -> Result<Value, Box<dyn Error>> {
    let knobs = |report: &Value| -> Vec<Value> {
        let patches = report["incidents"][0]["diagnoses"][0]["patches"].as_array().cloned().unwrap_or_default();
        patches.into_iter().map(|patch| patch["knob"].clone()).collect()
    };
    match knobs(now) == knobs(before) {
        true => Ok(now["incidents"][0]["diagnoses"].clone()),
        false => Err("the order is another one".into()),
    }
}

#[test]
fn alike_incidents_are_found_and_explained() -> Outcome {
    let home = tempfile::tempdir()?;
    let report = analyze(home.path(), &log("2026-10-01", "29.92"))?;
    analyze(home.path(), &log("2026-10-02", "12.00"))?;
    analyze(home.path(), HOST)?;
    let id = report["incidents"][0]["id"].as_str().ok_or("no id")?;
    let found = json(home.path(), &["similar", id])?;
    assert_eq!(found["total"], 1);
    assert_eq!(found["incidents"][0]["score"], 1.0);
    let file = home.path().join("job.log");
    fs::write(&file, log("2026-10-03", "13.00"))?;
    oomdoc(home.path())
        .args(["history", "similar"])
        .arg(&file)
        .assert()
        .success()
        .stdout(contains("100% alike").and(contains("the same trouble")));
    assert_eq!(json(home.path(), &["list"])?["total"], 3, "looking keeps nothing");
    oomdoc(home.path())
        .args(["history", "stats"])
        .assert()
        .success()
        .stdout(contains("3 incidents").and(contains("gpu_oom")));
    let stats = json(home.path(), &["stats"])?;
    assert_eq!(stats["kinds"], serde_json::json!({"gpu_oom": 2, "host_oom_ray": 1}));
    Ok(())
}

#[test]
fn all_edits_are_shown_again() -> Outcome {
    let (home, folder) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let (job, config) = (folder.path().join("job.log"), folder.path().join("ds_config.json"));
    fs::write(&job, log("2026-10-01", "29.92"))?;
    fs::write(
        &config,
        "{\n  \"train_micro_batch_size_per_gpu\": 8,\n  \"zero_optimization\": {\n    \"stage\": 1\n  }\n}\n",
    )?;
    let analyze = |config: &Path| -> Result<Value, Box<dyn Error>> {
        let done = oomdoc(home.path()).args(["analyze", "--format", "json"]).arg(&job).arg(config).output()?;
        Ok(serde_json::from_slice(&done.stdout)?)
    };
    let report = analyze(&config)?;
    let edits = report["incidents"][0]["diagnoses"].as_array().into_iter().flatten();
    let edits = edits.flat_map(|diagnosis| diagnosis["patches"].as_array().into_iter().flatten());
    assert!(edits.filter(|patch| patch["diff"].is_string()).count() > 1, "{report}");
    let id = report["incidents"][0]["id"].as_str().ok_or("no id")?;
    settle(home.path())?;
    let shown = oomdoc(home.path()).args(["history", "show", id]).output()?.stdout;
    assert!(String::from_utf8(shown)?.matches("+++ ").count() > 1, "the report shows the first one only");
    // The same settings at another path have the same digest; other settings do not.
    let copy = folder.path().join("copy.json");
    fs::copy(&config, &copy)?;
    let digest = |report: &Value| report["job"]["config_digest"].clone();
    assert_eq!(digest(&analyze(&copy)?), digest(&report));
    fs::write(&copy, "{\"zero_optimization\": {\"stage\": 2}}")?;
    assert!(digest(&report).is_string() && digest(&analyze(&copy)?) != digest(&report));
    Ok(())
}

#[test]
fn secrets_of_ones_own_are_masked_too() -> Outcome {
    let (home, rules) = (tempfile::tempdir()?, tempfile::tempdir()?);
    fs::create_dir(rules.path().join("redaction"))?;
    let file = rules.path().join("redaction/ours.toml");
    let import = || oomdoc(home.path()).args(["rules", "import"]).arg(rules.path()).assert();
    fs::write(&file, "[[secret]]\nname = 'badge'\npattern = 'badge-[0-9'\nexamples = ['badge-7']\n")?;
    import().code(2);
    fs::write(&file, "[[secret]]\nname = 'badge'\npattern = 'badge-[0-9]+'\nexamples = ['badge-7']\n")?;
    import().success();
    analyze(home.path(), &log("2026-10-01", "29.92").replace("GPU 0 has", "badge-4711 GPU 0 has"))?;
    let kept = oomdoc(home.path()).args(["history", "export"]).output()?.stdout;
    assert!(contains("‹badge›").and(contains("badge-4711").not()).eval(&String::from_utf8(kept)?));
    Ok(())
}
