//! The time of an incident whose log gives no date or no year, and queries by time over months of such logs.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::home::{Outcome, json as asked, oomdoc, settle, total};

/// 2026-11-20 08:00:00 UTC.
const WRITTEN: u64 = 1_795_161_600;
const STACK: &str = "Traceback (most recent call last):\n  File \"/w/train.py\", line 9, in main\n    loss.backward()\n\
                     torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";

/// The report's time for the incident of `log`, which was last written on 20 November 2026.
fn when(folder: &Path, log: &str, arguments: &[&str]) -> Result<Value, Box<dyn std::error::Error>> {
    let path = folder.join("job.log");
    fs::write(&path, log)?;
    File::options().write(true).open(&path)?.set_modified(UNIX_EPOCH + Duration::from_secs(WRITTEN))?;
    let done = oomdoc(&folder.join("home"))
        .args(["analyze", "--format", "json"])
        .args(arguments)
        .arg(&path)
        .env("TZ", "UTC")
        .output()?;
    let report: Value = serde_json::from_slice(&done.stdout)?;
    Ok(report["incidents"][0]["when"].clone())
}

#[test]
fn a_log_without_a_date_is_of_the_day_on_which_it_was_written() -> Outcome {
    let folder = tempfile::tempdir()?;
    let when = |log: &str| when(folder.path(), log, &[]);
    let of_file = |time: &str| json!({"time": time, "derived": "file"});
    assert_eq!(when(STACK)?, of_file("2026-11-20T08:00:00Z"));
    assert_eq!(when(&format!("07:30:00 step 1\n{STACK}"))?, of_file("2026-11-20T07:30:00Z"));
    assert_eq!(when(&format!("23:30:00 step 1\n{STACK}"))?, of_file("2026-11-19T23:30:00Z"));
    assert_eq!(when(&format!("INFO 03-01 07:30:00 [core.py:1] step\n{STACK}"))?, of_file("2026-03-01T07:30:00Z"));
    assert_eq!(when(&format!("INFO 12-24 07:30:00 [core.py:1] step\n{STACK}"))?, of_file("2025-12-24T07:30:00Z"));
    Ok(())
}

#[test]
fn lines_around_go_before_the_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let when = |log: &str| when(folder.path(), log, &[]);
    let started = "[2026-10-01 10:00:00,000] [INFO] [engine.py:12:step] ready\n";
    let later = "[2026-10-03 12:00:00,000] [INFO] [engine.py:12:step] loss\n";
    let of_lines = |time: &str| json!({"time": time, "derived": "lines"});
    assert_eq!(when(&format!("{started}{later}{STACK}"))?, of_lines("2026-10-03T12:00:00Z"));
    assert_eq!(when(&format!("{started}11:30:00 step 1\n{STACK}"))?, of_lines("2026-10-01T11:30:00Z"));
    let own = "2026-10-04 09:00:00,123 ERROR torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
    assert_eq!(when(&format!("{started}{own}"))?, json!({"time": "2026-10-04T09:00:00Z", "derived": null}));
    Ok(())
}

#[test]
fn the_user_says_otherwise() -> Outcome {
    let folder = tempfile::tempdir()?;
    let log = format!("07:30:00 step 1\n{STACK}");
    let when = |told: &str| when(folder.path(), &log, &["--when", told]);
    assert_eq!(when("2026-02-03T10:00")?, json!({"time": "2026-02-03T10:00:00Z", "derived": "user"}));
    assert_eq!(when("2026-02-03")?, json!({"time": "2026-02-03T07:30:00Z", "derived": "user"}));
    oomdoc(folder.path())
        .args(["analyze", "-", "--when", "yesterday"])
        .assert()
        .code(2)
        .stderr(contains("2026-11-20T10:00"));
    // A time given later replaces the one estimated when the incident was first kept.
    let home = folder.path().join("home");
    settle(&home)?;
    when("2026-02-04")?;
    settle(&home)?;
    assert_eq!(
        (total(&home, "")?, asked(&home, &["list"])?["incidents"][0]["time"].as_str()),
        (1, Some("2026-02-04T07:30:00Z"))
    );
    Ok(())
}

#[test]
fn months_of_logs_without_dates_can_be_asked_about() -> Outcome {
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    when(folder.path(), &format!("07:30:00 step 1\n{STACK}"), &[])?;
    when(folder.path(), &format!("INFO 03-01 07:31:00 [core.py:1] step\n{STACK}"), &[])?;
    when(folder.path(), &format!("07:32:00 step 1\n{STACK}"), &["--when", "2025-06-01"])?;
    // First from the spool, then from the index.
    for _ in 0..2 {
        let found = |query: &str| total(&home, query);
        assert_eq!(
            (found("since:2026-11-01")?, found("before:2026-01")?, found("since:2026-02 before:2026-04")?),
            (1, 1, 1)
        );
        settle(&home)?;
    }
    let listed = asked(&home, &["list"])?;
    let times: Vec<(&Value, &Value)> = listed["incidents"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|incident| (&incident["time"], &incident["time_derived"]))
        .collect();
    assert_eq!(times[0], (&json!("2026-11-20T07:30:00Z"), &json!("file")));
    assert_eq!(times[2], (&json!("2025-06-01T07:32:00Z"), &json!("user")));
    Ok(())
}
