//! Files that `oomdoc.watch` writes (docs/watch.md), alone and beside the log of the same job. The files of
//! tests/fixtures/watch were written by python/torch_tests/jobs.py with torch 2.15 on a CPU.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

#[path = "../../examples/secrets.rs"]
#[allow(dead_code)]
mod secrets;

type Outcome = Result<(), Box<dyn Error>>;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/watch")
}

/// The files of a job: its log, and the file of `oomdoc.watch`.
fn files(job: &str) -> Result<[PathBuf; 2], Box<dyn Error>> {
    let folder = fixtures().join(job);
    let is_watched = |path: &PathBuf| path.to_string_lossy().contains("oomdoc-watch-");
    let all: Vec<PathBuf> =
        fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    let watched = all.iter().find(|path| is_watched(path)).ok_or("nothing was written")?;
    Ok([folder.join("job.log"), watched.clone()])
}

fn report(inputs: &[&Path]) -> Result<Value, Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let mut oomdoc = Command::cargo_bin("oomdoc")?;
    oomdoc.env("OOMDOC_HOME", home.path()).env("OOMDOC_NO_CONFIG", "1").env("OOMDOC_LANG", "en");
    let said = oomdoc.args(["analyze", "--no-save", "--format", "json"]).args(inputs).output()?;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    Ok(serde_json::from_slice(&said.stdout)?)
}

/// The only incident of `report`.
fn incident(report: &Value) -> &Value {
    let incidents = report["incidents"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(incidents.len(), 1, "{report:#}");
    assert_eq!(incidents[0]["victims"].as_array().map(Vec::len), Some(1), "{:#}", incidents[0]);
    &incidents[0]
}

#[test]
fn a_file_says_by_itself_what_ran_out_where_and_why() -> Outcome {
    for (job, phase, rank) in
        [("growing", Some("forward"), None), ("ranks", None, Some(1)), ("trainer-evaluation", Some("evaluation"), None)]
    {
        let [_, watched] = files(job)?;
        let report = report(&[&watched])?;
        let incident = incident(&report);
        assert_eq!(
            (incident["kind"].as_str(), incident["basis"].as_str()),
            (Some("host_alloc_failure"), Some("grammar")),
            "{job}"
        );
        // A bare `torch.empty` belongs to no phase.
        assert!(phase.is_none_or(|phase| incident["phase"]["name"] == phase), "{job}: {:#}", incident["phase"]);
        assert_eq!(incident["victim"]["rank"].as_u64(), rank, "{job}");
        assert_eq!(incident["victim"]["host"], "node7");
        assert!(incident["failed_at"].is_string() && incident["victim"]["pid"].is_u64(), "{job}");
    }
    Ok(())
}

#[test]
fn a_log_and_its_file_are_one_incident_of_one_job_in_any_order() -> Outcome {
    for job in ["growing", "ranks", "trainer-evaluation"] {
        let [log, watched] = files(job)?;
        let alone = report(&[&watched])?;
        for inputs in [[&*log, &*watched], [&*watched, &*log]] {
            let both = report(&inputs)?;
            let (one, two) = (incident(&alone), incident(&both));
            assert_eq!(
                (&one["victim"], &one["kind"], &one["phase"]["name"]),
                (&two["victim"], &two["kind"], &two["phase"]["name"]),
                "{job}"
            );
            // The evidence comes from the log, and figures that only the file has are added to it.
            let proof = two["evidence"][0]["path"].as_str().unwrap_or_default();
            assert!(proof.ends_with("job.log"), "{job}: {proof}");
            let figures = two["figures"].as_array().ok_or("no figures")?;
            let has = |name: &str, path: &Path| {
                figures
                    .iter()
                    .filter(|figure| figure["name"] == name)
                    .all(|figure| figure["source"]["path"] == *path.to_string_lossy())
                    && figures.iter().filter(|figure| figure["name"] == name).count() == 1
            };
            assert!(
                has("requested", &log) && has("worker_used", &watched) && has("host_used", &watched),
                "{job}: {figures:#?}"
            );
        }
    }
    Ok(())
}

#[test]
fn what_keeps_graphs_is_named_with_its_line() -> Outcome {
    let [log, watched] = files("growing")?;
    for inputs in [&[&*watched][..], &[&*log, &*watched]] {
        let report = report(inputs)?;
        let first = &incident(&report)["diagnoses"][0];
        assert_eq!(first["cause"], "host_memory_growth");
        assert!(first["why"].as_str().is_some_and(|why| why.contains("`history` keeps 824 tensors")), "{first:#}");
        let text = fs::read_to_string(&watched)?;
        let lines: Vec<&str> = text.lines().collect();
        let cites = first["evidence"].as_array().ok_or("no evidence")?;
        let stands = |cite: &&Value| {
            let line = cite["line"].as_u64().and_then(|line| lines.get(line as usize - 1));
            cite["path"] == *watched.to_string_lossy() && line.is_some_and(|line| line.contains("oomdoc: kept history"))
        };
        assert!(cites.iter().any(|cite| stands(&cite)), "{first:#}");
    }
    // The log alone does not show the cause.
    let report = report(&[&log])?;
    assert_ne!(incident(&report)["diagnoses"][0]["cause"], "host_memory_growth");
    Ok(())
}

#[test]
fn files_of_two_jobs_in_a_folder_go_each_to_its_own() -> Outcome {
    // The number in the name of the folder that holds both is of neither.
    for name in ["runs", "run.ab1234"] {
        let home = tempfile::tempdir()?;
        let folder = home.path().join(name);
        fs::create_dir(&folder)?;
        for (job, log) in [("growing", "first.log"), ("trainer-evaluation", "second.log")] {
            let [printed, watched] = files(job)?;
            fs::copy(&printed, folder.join(log))?;
            fs::copy(&watched, folder.join(watched.file_name().ok_or("no name")?))?;
        }
        let both = report(&[&folder])?;
        let reports = both["reports"].as_array().ok_or("one job")?;
        assert_eq!(reports.len(), 2, "{both:#}");
        for report in reports {
            incident(report);
            assert_eq!(report["inputs"].as_array().map(Vec::len), Some(2), "{report:#}");
        }
    }
    Ok(())
}

#[test]
fn several_ranks_files_are_one_incident() -> Outcome {
    let [_, watched] = files("ranks")?;
    let folder = tempfile::tempdir()?;
    let text = fs::read_to_string(&watched)?;
    for rank in 0..4 {
        let pid = 27890 + rank;
        let own = text.replace("rank 1 pid 27890", &format!("rank {rank} pid {pid}"));
        fs::write(folder.path().join(format!("oomdoc-watch-20261123T192459-node7-rank{rank}-{pid}.txt")), own)?;
    }
    let report = report(&[folder.path()])?;
    let incidents = report["incidents"].as_array().ok_or("several jobs")?;
    assert_eq!((incidents.len(), incidents[0]["victims"].as_array().map(Vec::len)), (1, Some(4)), "{report:#}");
    Ok(())
}

#[test]
fn a_file_that_was_cut_anywhere_states_nothing_that_does_not_stand_there() -> Outcome {
    let [_, watched] = files("growing")?;
    let whole = fs::read(&watched)?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("oomdoc-watch-cut.txt");
    for part in 1..=12 {
        fs::write(&path, &whole[..whole.len() * part / 12])?;
        let report = report(&[&path])?;
        let text = String::from_utf8_lossy(&whole);
        let incidents = report["incidents"].as_array().ok_or("no incidents")?;
        for figure in incidents.iter().flat_map(|incident| incident["figures"].as_array().into_iter().flatten()) {
            assert!(text.contains(figure["text"].as_str().ok_or("no text")?), "{figure}");
        }
    }
    Ok(())
}

#[test]
fn the_package_masks_what_the_rules_say() -> Outcome {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/oomdoc/_watch/secrets.json");
    assert!(
        fs::read_to_string(shipped)? == secrets::render()?,
        "run `cargo run --example secrets > python/oomdoc/_watch/secrets.json`"
    );
    Ok(())
}
