//! What a history holds survives: several writers, killed ones, damaged files, other versions and other users.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use oomdoc::internal::store::DiskStore;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::home::{HANGS, HOST, Outcome, alone, analyze, copy_folder, json, log, oomdoc, settle, total};

#[test]
fn a_store_that_is_busy_broken_or_read_only_costs_no_analysis() -> Outcome {
    let home = tempfile::tempdir()?;
    let store = DiskStore::open(home.path())?;
    analyze(home.path(), &log("2026-10-01", "29.92"))?;
    drop(store);
    assert_eq!(json(home.path(), &["list"])?["total"], 1, "it waited in the spool");
    // A store whose format is unknown.
    let broken = tempfile::tempdir()?;
    fs::create_dir(broken.path().join("store"))?;
    fs::write(broken.path().join("store/FORMAT"), "nonsense")?;
    fs::write(broken.path().join("snapshot"), "nonsense")?;
    oomdoc(broken.path())
        .args(["analyze", "-"])
        .write_stdin(log("2026-10-01", "29.92"))
        .assert()
        .success()
        .stdout(contains("GPU out of memory"))
        .stderr(contains("reindex"));
    assert_eq!(fs::read_dir(broken.path().join("spool"))?.count(), 1, "and it is still there");
    oomdoc(Path::new("/proc/oomdoc"))
        .args(["analyze", "-"])
        .write_stdin(log("2026-10-01", "29.92"))
        .assert()
        .success()
        .stdout(contains("GPU out of memory"))
        .stderr(contains("not kept").and(contains("--home")));
    Ok(())
}

#[test]
fn many_processes_at_once_lose_nothing() -> Outcome {
    const PROCESSES: usize = 6;
    const EACH: usize = 4;
    let home = tempfile::tempdir()?;
    let folder = tempfile::tempdir()?;
    for round in 0..EACH {
        let mut children = Vec::new();
        for process in 0..PROCESSES {
            let path = folder.path().join(format!("{round}-{process}.log"));
            fs::write(&path, log(&format!("2026-10-{:02}", 1 + round * PROCESSES + process), "29.92"))?;
            let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
            command.arg("analyze").arg(&path).env("OOMDOC_HOME", home.path()).stdout(Stdio::null());
            children.push(command.spawn()?);
        }
        for mut child in children {
            assert!(child.wait()?.success());
        }
    }
    let listed = json(home.path(), &["list", "--limit", "1000"])?;
    assert_eq!(listed["total"], PROCESSES * EACH);
    settle(home.path())?;
    assert_eq!(json(home.path(), &["list"])?["total"], PROCESSES * EACH);
    let last = analyze(home.path(), &log("2026-11-30", "29.92"))?;
    assert_eq!(last["incidents"][0]["seen"]["count"], PROCESSES * EACH);
    oomdoc(home.path()).args(["history", "verify"]).assert().success();
    Ok(())
}

#[test]
fn the_spool_is_drained_without_anybody_waiting() -> Outcome {
    let home = tempfile::tempdir()?;
    analyze(home.path(), &log("2026-10-01", "29.92"))?;
    let begun = Instant::now();
    while oomdoc::internal::history::is_waiting(home.path()) {
        assert!(begun.elapsed() < HANGS, "nobody drains it");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[test]
fn old_incidents_go_and_solved_ones_may_stay() -> Outcome {
    let home = tempfile::tempdir()?;
    let old = analyze(home.path(), &log("2020-01-01", "29.92"))?;
    analyze(home.path(), &log("2020-01-02", "29.92"))?;
    analyze(home.path(), HOST)?;
    let id = old["incidents"][0]["id"].as_str().ok_or("no id")?;
    oomdoc(home.path()).args(["history", "resolve", id, "--patch", "1", "--worked"]).assert().success();
    let prune =
        |arguments: &[&str]| oomdoc(home.path()).args(["history", "prune", "--older-than"]).args(arguments).assert();
    prune(&["1 year"]).code(2).stderr(contains("1y"));
    prune(&["1y", "--keep-resolved"]).success().stdout("1 removed\n");
    assert_eq!(json(home.path(), &["list"])?["total"], 2);
    let seen = |report: Value| report["incidents"][0]["seen"]["count"].clone();
    assert_eq!(seen(analyze(home.path(), &log("2026-01-01", "29.92"))?), 1);
    prune(&["1y"]).success();
    oomdoc(home.path()).args(["history", "outcomes"]).assert().success().stdout(contains("nothing was told"));
    oomdoc(home.path()).args(["history", "verify"]).assert().success();
    oomdoc(home.path()).args(["history", "reindex"]).assert().success();
    Ok(())
}

/// A copy of a home written by the first version.
fn first_home() -> Result<tempfile::TempDir, Box<dyn Error>> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store-1");
    let home = tempfile::tempdir()?;
    copy_folder(&from, home.path())?;
    Ok(home)
}

#[test]
fn what_the_first_version_kept_is_read() -> Outcome {
    let home = first_home()?;
    let seen = &analyze(home.path(), &log("2026-11-01", "29.50"))?["incidents"][0]["seen"];
    assert_eq!((&seen["count"], &seen["last"]), (&Value::from(3), &Value::from("2026-10-09T10:00:00Z")));
    oomdoc(home.path()).args(["history", "verify"]).assert().success();
    assert_eq!(total(home.path(), "phase:optimizer_step requested:>29GiB before:2026-10-31")?, 2);
    assert_eq!(total(home.path(), "resolved:yes")?, 1);
    assert_eq!(json(home.path(), &["show", "f1a53"])?["outcomes"][0]["worked"], true);
    assert_eq!(json(home.path(), &["list"])?["total"], 4);
    Ok(())
}

/// Whether `whole` contains all of `part`; it may have newer fields besides.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, part)| whole.get(name).is_some_and(|whole| holds(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| holds(whole, part))
        }
        _ => whole == part,
    }
}

#[test]
fn what_the_first_version_exported_is_imported() -> Outcome {
    let home = tempfile::tempdir()?;
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/export-1.jsonl");
    oomdoc(home.path())
        .args(["history", "import"])
        .arg(&from)
        .assert()
        .success()
        .stdout("3 new, 0 known, 1 outcomes\n");
    let again = oomdoc(home.path()).args(["history", "export"]).output()?.stdout;
    let (again, from) = (String::from_utf8(again)?, fs::read_to_string(from)?);
    assert_eq!(again.lines().count(), from.lines().count());
    for (again, from) in again.lines().zip(from.lines()) {
        let (again, from): (Value, Value) = (serde_json::from_str(again)?, serde_json::from_str(from)?);
        assert!(holds(&again, &from), "nothing is lost on the way: {again} {from}");
    }
    assert_eq!(total(home.path(), "phase:optimizer_step requested:>29GiB resolved:yes")?, 1);
    Ok(())
}

#[test]
fn space_is_given_back() -> Outcome {
    let home = tempfile::tempdir()?;
    analyze(home.path(), &log("2026-10-01", "29.92"))?;
    settle(home.path())?;
    oomdoc(home.path()).args(["history", "compact"]).assert().success().stdout(contains("before"));
    assert_eq!(json(home.path(), &["list"])?["total"], 1);
    oomdoc(home.path()).args(["history", "verify"]).assert().success();
    Ok(())
}

#[test]
fn an_incident_survives_whoever_drains_it() -> Outcome {
    const ROUNDS: u32 = 30;
    let home = tempfile::tempdir()?;
    for round in 1..=ROUNDS {
        // The log is acknowledged when the analysis ends; from then on it must not get lost.
        analyze(home.path(), &log(&format!("2026-10-{round:02}"), "29.92"))?;
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        let mut drain =
            command.args(["history", "verify"]).env("OOMDOC_HOME", home.path()).stdout(Stdio::null()).spawn()?;
        // The kill comes at moments from before the store is open until after the last commit.
        std::thread::sleep(Duration::from_millis(u64::from(round * 7 % 120)));
        drain.kill()?;
        drain.wait()?;
    }
    assert_eq!(json(home.path(), &["list"])?["total"], ROUNDS);
    settle(home.path())?;
    assert_eq!(json(home.path(), &["list"])?["total"], ROUNDS);
    let seen = &analyze(home.path(), &log("2026-11-30", "29.92"))?["incidents"][0]["seen"];
    assert_eq!(seen["count"], ROUNDS, "each is counted once");
    Ok(())
}

#[test]
fn a_spool_file_that_makes_no_sense_is_set_aside() -> Outcome {
    let home = tempfile::tempdir()?;
    let spool = home.path().join("spool");
    fs::create_dir(&spool)?;
    fs::write(spool.join("00000000000000000001-1-0.json"), "{\"schema\":")?;
    analyze(home.path(), &log("2026-10-01", "29.92"))?;
    settle(home.path())?;
    assert_eq!(json(home.path(), &["list"])?["total"], 1);
    assert!(spool.join("00000000000000000001-1-0.unreadable").exists(), "nothing is thrown away");
    Ok(())
}

#[test]
fn two_teams_histories_become_one() -> Outcome {
    let (one, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let report = analyze(one.path(), &log("2026-10-01", "29.92"))?;
    analyze(one.path(), &log("2026-10-02", "29.92"))?;
    analyze(other.path(), &log("2026-10-02", "29.92"))?;
    analyze(other.path(), HOST)?;
    let id = report["incidents"][0]["id"].as_str().ok_or("no id")?;
    oomdoc(one.path()).args(["history", "resolve", id, "--knob=--zero_stage=3", "--worked"]).assert().success();
    let export = |home: &Path| -> Result<String, Box<dyn Error>> {
        Ok(String::from_utf8(oomdoc(home).args(["history", "export"]).output()?.stdout)?)
    };
    let import = |home: &Path, lines: String| oomdoc(home).args(["history", "import", "-"]).write_stdin(lines).assert();
    import(other.path(), export(one.path())?).success().stdout("1 new, 1 known, 1 outcomes\n");
    import(other.path(), export(one.path())?).success().stdout("0 new, 2 known, 0 outcomes\n");
    assert_eq!(json(other.path(), &["list"])?["total"], 3);
    let seen = &analyze(other.path(), &log("2026-11-01", "29.92"))?["incidents"][0]["seen"];
    assert_eq!((&seen["count"], &seen["worked"]), (&Value::from(2), &serde_json::json!(["--zero_stage=3"])));
    let whole = export(other.path())?;
    let copy = tempfile::tempdir()?;
    import(copy.path(), whole.clone()).success();
    assert_eq!(export(copy.path())?, whole, "the same history gives the same lines");
    import(copy.path(), "{\"incident\": 3}\n".to_owned()).code(2).stderr(contains("line 1"));
    Ok(())
}

/// A home whose history has this many incidents.
fn kept(incidents: u32) -> Result<tempfile::TempDir, Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    for day in 1..=incidents {
        analyze(home.path(), &log(&format!("2026-10-{day:02}"), "29.92"))?;
        settle(home.path())?;
    }
    Ok(home)
}

#[cfg(unix)]
#[test]
fn a_history_that_may_only_be_read_is_read() -> Outcome {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let home = kept(3)?;
    // An incident waits in the spool, which the reader may not empty.
    let store = DiskStore::open(home.path())?;
    analyze(home.path(), &log("2026-10-09", "29.92"))?;
    // Waits until the process that would move it into the store has given up.
    alone(home.path())?;
    drop(store);
    // Other users may have no access to the build folder.
    let place = tempfile::tempdir()?;
    let program = place.path().join("oomdoc");
    fs::copy(assert_cmd::cargo::cargo_bin!("oomdoc"), &program)?;
    for path in [place.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    for entry in walkdir::WalkDir::new(home.path()) {
        let entry = entry?;
        let mode = if entry.file_type().is_dir() { 0o555 } else { 0o444 };
        fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode))?;
    }
    let is_root = fs::metadata(home.path())?.uid() == 0;
    let ask = |arguments: &[&str]| -> Result<(bool, String, String), Box<dyn Error>> {
        let mut command = std::process::Command::new(&program);
        command.arg("history").args(arguments).env("OOMDOC_HOME", home.path()).current_dir("/");
        if is_root {
            // Permissions do not bind root, so the command runs as another user.
            command.uid(65_534);
        }
        let done = command.output()?;
        let text = |bytes| String::from_utf8(bytes);
        Ok((done.status.success(), text(done.stdout)?, text(done.stderr)?))
    };
    let list = ask(&["list"]).map_err(|error| format!("another user may not run {}: {error}", program.display()))?;
    assert!(list.0 && list.1.contains("4 in all") && list.2.is_empty(), "{list:?}");
    let id = list.1.lines().nth(1).and_then(|line| line.split(' ').next()).ok_or("no id")?;
    for (question, answer) in [
        (&["search", "29.92", "GiB"][..], "4 in all"),
        (&["stats"], "4 incidents"),
        (&["show", id], "29.92 GiB"),
        (&["similar", id], "100% alike"),
        (&["export"], "\"incident\""),
        (&["outcomes"], "nothing was told"),
    ] {
        let (is_fine, said, complaint) = ask(question)?;
        assert!(is_fine && said.contains(answer) && complaint.is_empty(), "{question:?}: {said} {complaint}");
    }
    let (is_fine, _, complaint) = ask(&["reindex"])?;
    assert!(!is_fine && complaint.contains("cannot be written"), "{complaint}");
    for entry in walkdir::WalkDir::new(home.path()).into_iter().flatten().filter(|entry| entry.file_type().is_dir()) {
        fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[test]
fn one_bad_bit_leaves_the_rest_of_a_history() -> Outcome {
    let home = kept(4)?;
    let journal = home.path().join("store/journal");
    let mut bytes = fs::read(&journal)?;
    // Damages the first incident, which is in the first change.
    let key = b"incidents/";
    let at = memchr::memmem::find(&bytes, key).ok_or("no incident")?;
    bytes[at + 200] ^= 1;
    fs::write(&journal, bytes)?;
    fs::remove_dir_all(home.path().join("index"))?;
    for asked in ["export", "verify", "compact", "list"] {
        oomdoc(home.path()).args(["history", asked]).assert().code(2).stderr(contains("history salvage"));
    }
    // sled holds the same incidents, so nothing is lost.
    oomdoc(home.path()).args(["history", "salvage"]).assert().success().stdout(contains("1 places made no sense"));
    assert_eq!(json(home.path(), &["list"])?["total"], 4);
    // Without sled's copy the damaged incident is lost.
    let mut bytes = fs::read(&journal)?;
    let at = memchr::memmem::find(&bytes, key).ok_or("no incident")?;
    bytes[at + 200] ^= 1;
    fs::write(&journal, bytes)?;
    fs::remove_dir_all(home.path().join("store/sled"))?;
    oomdoc(home.path()).args(["history", "salvage"]).assert().success();
    oomdoc(home.path()).args(["history", "verify"]).assert().success().stderr("");
    assert_eq!(json(home.path(), &["list"])?["total"], 3);
    assert_eq!(analyze(home.path(), &log("2026-11-30", "29.92"))?["incidents"][0]["seen"]["count"], 3);
    assert_eq!(String::from_utf8(oomdoc(home.path()).args(["history", "export"]).output()?.stdout)?.lines().count(), 4);
    Ok(())
}

#[test]
fn a_home_that_is_none_is_not_taken_for_an_empty_one() -> Outcome {
    let file = tempfile::NamedTempFile::new()?;
    for asked in ["list", "stats", "export", "verify"] {
        oomdoc(file.path()).args(["history", asked]).assert().code(2).stderr(contains("--home"));
    }
    let analysis = || {
        let mut command = oomdoc(file.path());
        command.args(["analyze", "-"]).write_stdin(log("2026-10-01", "29.92"));
        command
    };
    analysis().assert().success().stdout(contains("GPU out of memory")).stderr(contains("not kept"));
    let home = kept(1)?;
    fs::remove_file(home.path().join("store/FORMAT"))?;
    oomdoc(home.path()).args(["history", "list"]).assert().code(2).stderr(contains("salvage"));
    oomdoc(home.path()).args(["history", "salvage"]).assert().success();
    assert_eq!(json(home.path(), &["list"])?["total"], 1);
    Ok(())
}

#[test]
fn imported_ids_are_checked() -> Outcome {
    let home = kept(1)?;
    let export = String::from_utf8(oomdoc(home.path()).args(["history", "export"]).output()?.stdout)?;
    let mut line: Value = serde_json::from_str(&export)?;
    let import = |line: &Value| {
        let mut command = oomdoc(home.path());
        command.args(["history", "import", "-"]).write_stdin(line.to_string());
        command
    };
    for id in ["", "..", "a/b", "0123456789abcdeF", "0123456789abcdef0", "\u{1b}[31m", "0123456789abcde\n"] {
        line["incident"]["incident"]["id"] = id.into();
        import(&line).assert().code(2).stderr(contains("no id of an incident").and(contains("line 1")));
    }
    line["incident"]["incident"]["id"] = "0123456789abcdef".into();
    for key in ["a/b", "a\nb", &"a".repeat(65)] {
        let mut line = line.clone();
        line["incident"]["incident"]["fingerprint"]["key"] = key.into();
        import(&line).assert().code(2).stderr(contains("no name of a group"));
    }
    import(&line).assert().success().stdout("1 new, 0 known, 0 outcomes\n");
    Ok(())
}
