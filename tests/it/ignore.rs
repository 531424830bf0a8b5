//! `[[ignore]]`: incidents that are known and accepted.

use std::fs;
use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::home::Outcome;
use crate::support::project::Place;

fn json_of(path: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

#[test]
fn an_accepted_incident_fails_nothing_and_is_named() -> Outcome {
    let place = Place::new()?;
    let row = |until: &str| {
        format!(
            "[triage]\nfail_on = ['any']\n\n[[ignore]]\nkind = 'gpu_oom'\npath = 'logs/**'\nuntil = {until}\nreason = 'a test that fills <the> GPU'\n"
        )
    };
    let triage = || {
        let mut command = place.oomdoc();
        command.env("OOMDOC_TRIAGE_NOTIFY", "http://").args(["triage", "--no-save", "logs"]).assert()
    };
    let kept = |name: &str| fs::read_to_string(place.path("project/oomdoc-report").join(name));
    const TOLD: &str = "Ignored until 2999-12-31: a test that fills <the> GPU (oomdoc.toml:4)";
    place.project("[triage]\nfail_on = ['any']\n")?;
    triage().code(1).stderr(contains("no message was sent"));
    assert!(!kept("report.json")?.contains("\"ignored\"") && !kept("report.sarif")?.contains("suppressions"));

    place.project(&row("2999-12-31"))?;
    triage().code(0).stdout(contains(TOLD)).stderr("");
    let report = json_of(&place.path("project/oomdoc-report/report.json"))?;
    assert_eq!(report["verdict"], "gpu_oom", "it is accepted, not unsaid");
    assert_eq!(
        report["incidents"][0]["ignored"],
        json!({"reason": "a test that fills <the> GPU", "until": "2999-12-31", "by": "oomdoc.toml:4"})
    );
    assert!(kept("report.md")?.contains("Ignored until 2999-12-31: a test that fills"), "{}", kept("report.md")?);
    assert!(kept("report.html")?.contains("a test that fills &lt;the&gt; GPU (oomdoc.toml:4)"));
    let sarif: Value = serde_json::from_str(&kept("report.sarif")?)?;
    let suppressed = &sarif["runs"][0]["results"][0]["suppressions"];
    assert_eq!(suppressed, &json!([{"kind": "external", "status": "accepted", "justification": TOLD}]));
    let mut github = place.oomdoc();
    let github = github.env("GITHUB_ACTIONS", "true").args(["triage", "--no-save", "logs"]).assert().code(0);
    github.stdout(contains("::notice ").and(contains("::error").not()));
    place
        .oomdoc()
        .args(["analyze", "--no-save", "--fail-on", "any", "logs", "--brief"])
        .assert()
        .code(0)
        .stdout(contains(TOLD));
    place
        .oomdoc()
        .args(["analyze", "--no-save", "--format", "json", "--compact", "logs"])
        .assert()
        .stdout(contains("\"ignored\":{"));

    place.project(&row("2020-01-01"))?;
    triage().code(1).stdout(contains("Ignored").not()).stderr(
        contains("oomdoc.toml:4: no longer ignored since 2020-01-01: a test that fills <the> GPU")
            .and(contains("no message was sent")),
    );
    Ok(())
}

#[test]
fn all_that_a_row_says_must_hold() -> Outcome {
    let place = Place::new()?;
    let report = place.analyze(&[])?;
    let root = &report["incidents"][0];
    let (key, cause) = (
        root["fingerprint"]["key"].as_str().unwrap_or_default(),
        root["diagnoses"][0]["cause"].as_str().unwrap_or_default(),
    );
    let is_ignored = |row: &str| -> Result<bool, Box<dyn std::error::Error>> {
        place.project(&format!("[[ignore]]\nreason = 'known'\n{row}"))?;
        Ok(place.analyze(&[])?["incidents"][0]["ignored"].is_object())
    };
    for (row, ignored) in [
        (format!("fingerprint = '{key}'"), true),
        (format!("fingerprint = '{}'", &key[..8]), true),
        (format!("fingerprint = '1-{key}'"), true),
        ("fingerprint = '0000000000000000'".to_owned(), false),
        (format!("cause = '{cause}'"), true),
        ("cause = 'fragmentation'".to_owned(), cause == "fragmentation"),
        ("kind = 'gpu_oom'".to_owned(), true),
        ("kind = 'host_oom_ray'".to_owned(), false),
        ("path = 'logs/*.log'".to_owned(), true),
        ("path = 'job.log'".to_owned(), true),
        ("path = 'other/**'".to_owned(), false),
        (format!("cause = '{cause}'\nkind = 'host_oom_ray'"), false),
        (format!("cause = '{cause}'\nkind = 'gpu_oom'\nuntil = '2999-01-01'"), true),
    ] {
        assert_eq!(is_ignored(&row)?, ignored, "{row}");
    }
    Ok(())
}

/// Rows that match nothing do not fail a pipeline.
#[test]
fn a_row_that_fits_nothing_is_no_error() -> Outcome {
    let place = Place::new()?;
    place.project("[[ignore]]\nkind = 'host_oom_ray'\nreason = 'elsewhere'\n")?;
    place.oomdoc().args(["triage", "--no-save", "logs"]).assert().code(0).stderr("");
    Ok(())
}
