//! A folder with several jobs gives one report for each, and no report contains anything of another job.

use std::error::Error;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const JOBS: [&str; 3] = ["llama3-8b-optimizer-step", "nccl-timeout", "earlyoom-terminates-preprocessing"];

fn corpus() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn oomdoc(arguments: &[&str], folder: &Path) -> Outcome<Command> {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.current_dir(folder).args(["analyze", "--no-save"]).args(arguments);
    command.env("OOMDOC_HOME", folder.join(".home"));
    Ok(command)
}

fn reports(arguments: &[&str], folder: &Path) -> Outcome<Vec<Value>> {
    let mut command = oomdoc(arguments, folder)?;
    let printed: Value = serde_json::from_slice(&command.args(["--format", "json"]).output()?.stdout)?;
    match printed["schema"].as_str() {
        Some("oomdoc.reports/1") => Ok(printed["reports"].as_array().ok_or("no reports")?.clone()),
        _ => Ok(vec![printed]),
    }
}

/// What a report says, without the paths of its inputs.
fn said(report: &Value) -> (Value, Value, Value, Value) {
    let first = &report["incidents"][0];
    let figures = first["figures"].as_array().map(|figures| {
        figures.iter().map(|figure| (figure["name"].clone(), figure["bytes"].clone())).collect::<Vec<_>>()
    });
    let figures = serde_json::to_value(figures).unwrap_or_default();
    (report["verdict"].clone(), first["phase"]["name"].clone(), first["diagnoses"][0]["cause"].clone(), figures)
}

/// Copies a case's inputs, each renamed by `name`.
fn copy(case: &str, to: &Path, name: impl Fn(&str) -> String) -> Outcome {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(corpus().join(case))? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && !["expected.toml", "README.md"].contains(&file.as_str()) {
            fs::copy(&path, to.join(name(&file)))?;
        }
    }
    Ok(())
}

/// Adds sources beside the logs whose text mentions failures.
fn add_sources(folder: &Path) -> Outcome {
    fs::write(
        folder.join("README.md"),
        "It dies with `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB`.\n",
    )?;
    fs::write(folder.join("main.rs"), "fn main() { panic!(\"CUDA out of memory. Tried to allocate 9.00 GiB\") }\n")?;
    Ok(())
}

#[test]
fn three_jobs_in_folders_of_their_own_are_three_reports() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut alone = Vec::new();
    for job in JOBS {
        copy(job, &folder.path().join(job), str::to_owned)?;
        alone.push(said(&reports(&[job], folder.path())?[0]));
    }
    add_sources(folder.path())?;
    let mut mixed: Vec<_> = reports(&["."], folder.path())?.iter().map(said).collect();
    alone.sort_by_key(|said| said.0.to_string());
    mixed.sort_by_key(|said| said.0.to_string());
    assert_eq!(mixed, alone);
    Ok(())
}

#[test]
fn three_jobs_in_one_folder_are_three_reports_each_with_its_own_script() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut alone = Vec::new();
    for (job, name) in JOBS.into_iter().zip(["llama8b", "qwen", "tokenize"]) {
        copy(job, folder.path(), |file| format!("{name}-{file}"))?;
        alone.push(said(&reports(&[&corpus().join(job).to_string_lossy()], folder.path())?[0]));
    }
    add_sources(folder.path())?;
    let found = reports(&["."], folder.path())?;
    let mut mixed: Vec<_> = found.iter().map(said).collect();
    alone.sort_by_key(|said| said.0.to_string());
    mixed.sort_by_key(|said| said.0.to_string());
    assert_eq!(mixed, alone);
    let edits = |report: &Value| report["incidents"][0]["diagnoses"][0]["patches"][0]["file"].clone();
    let llama = found.iter().find(|report| report["verdict"] == "gpu_oom").ok_or("no GPU")?;
    assert_eq!(edits(llama), "./llama8b-launch.sh");
    Ok(())
}

#[test]
fn the_logs_of_a_jobs_ranks_and_its_kernel_are_one_report() -> Outcome {
    let folder = tempfile::tempdir()?;
    let oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free.";
    for rank in 0..12 {
        fs::write(folder.path().join(format!("rank_{rank}.log")), format!("[rank{rank}]: {oom}\n"))?;
    }
    assert_eq!(reports(&["."], folder.path())?.len(), 1);
    let killed = corpus().join("torchrun-rank-killed");
    assert_eq!(reports(&[&killed.to_string_lossy()], folder.path())?.len(), 1);
    let ray = corpus().join("ray-monitor-kills-actor");
    assert_eq!(reports(&[&ray.to_string_lossy()], folder.path())?.len(), 1);
    Ok(())
}

#[test]
fn every_log_alone_or_all_together_where_the_user_says_so() -> Outcome {
    let folder = tempfile::tempdir()?;
    for job in JOBS {
        copy(job, &folder.path().join(job), str::to_owned)?;
    }
    let logs = reports(&["--each", "."], folder.path())?;
    // One of the jobs has its kernel log in a separate file.
    assert_eq!(logs.len(), 4);
    assert_eq!(reports(&["--together", "."], folder.path())?.len(), 1);
    oomdoc(&["--each", "--together", "."], folder.path())?.assert().code(2);
    oomdoc(&["."], folder.path())?.assert().success().stdout(contains("── job 2 of 3: "));
    oomdoc(&["--fail-on", "gpu_oom", "."], folder.path())?.assert().code(1);
    Ok(())
}

#[test]
fn each_job_of_a_folder_is_kept() -> Outcome {
    let folder = tempfile::tempdir()?;
    for job in [JOBS[0], JOBS[2]] {
        copy(job, &folder.path().join(job), str::to_owned)?;
    }
    let home = tempfile::tempdir()?;
    let run = |arguments: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        command.current_dir(folder.path()).args(arguments).env("OOMDOC_HOME", home.path()).output()
    };
    run(&["analyze", "."])?;
    let listed: Value = serde_json::from_slice(&run(&["history", "list", "--format", "json"])?.stdout)?;
    assert_eq!(listed["total"], 2);
    Ok(())
}

#[test]
fn fix_does_not_choose_between_two_jobs() -> Outcome {
    let folder = tempfile::tempdir()?;
    for job in [JOBS[0], "ring-attention-broadcast"] {
        copy(job, &folder.path().join(job), str::to_owned)?;
    }
    let fix = |paths: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        command
            .current_dir(folder.path())
            .arg("fix")
            .args(paths)
            .env("OOMDOC_HOME", folder.path().join(".home"))
            .assert()
    };
    fix(&["."]).code(2).stderr(contains("logs of 2 jobs").and(contains("name the log")));
    fix(&[JOBS[0]]).success().stdout(contains("--adam_offload"));
    Ok(())
}

#[test]
fn a_file_that_states_nothing_is_no_job_of_its_own() -> Outcome {
    let folder = tempfile::tempdir()?;
    copy(JOBS[0], folder.path(), str::to_owned)?;
    fs::write(folder.path().join("site.ent"), "<!ENTITY PARTITION \"<native>--partition=a</native>\">\n")?;
    assert_eq!(reports(&["."], folder.path())?.len(), 1);
    Ok(())
}

#[test]
fn a_pipeline_reports_on_each_job() -> Outcome {
    let folder = tempfile::tempdir()?;
    for job in JOBS {
        copy(job, &folder.path().join(job), str::to_owned)?;
    }
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.current_dir(folder.path()).args(["triage", ".", "--no-save", "--no-comment"]);
    command.env_remove("GITHUB_ACTIONS").env_remove("GITLAB_CI").env("OOMDOC_HOME", folder.path().join(".home"));
    command.args(["--output", "out"]).assert().success().stdout(contains("── job 3 of 3: "));
    let report: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("out/report.json"))?)?;
    assert_eq!(report["reports"].as_array().map(Vec::len), Some(3));
    Ok(())
}
