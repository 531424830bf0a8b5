//! `oomdoc` with a home of its own, as a user runs it, and logs that contain an incident.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use serde_json::Value;

pub type Outcome = Result<(), Box<dyn Error>>;

/// How long to wait before a run counts as hung; far more than a slow machine needs.
pub const HANGS: Duration = Duration::from_secs(600);

/// The command with OOMDOC_HOME set to `home`.
pub fn oomdoc(home: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.env_remove("CLICOLOR_FORCE").env("OOMDOC_HOME", home);
    command
}

/// Copies the contents of the folder `from` into `to`.
pub fn copy_folder(from: &Path, to: &Path) -> Outcome {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry?;
        let copy = to.join(entry.path().strip_prefix(from)?);
        match entry.file_type().is_dir() {
            true => fs::create_dir_all(copy)?,
            false => drop(fs::copy(entry.path(), copy)?),
        }
    }
    Ok(())
}

/// The log of a job that fails in the optimizer's step on `date`, asking for `requested` GiB.
pub fn log(date: &str, requested: &str) -> String {
    format!(
        "[{date} 10:00:00,000] [INFO] [engine.py:12:step] ready\n\
         Traceback (most recent call last):\n  \
         File \"/opt/venv/lib/python3.11/site-packages/deepspeed/runtime/zero/stage_1_and_2.py\", line 1892, in step\n    \
         self._optimizer_step(i)\n  \
         File \"/opt/venv/lib/python3.11/site-packages/torch/optim/adamw.py\", line 176, in _init_group\n    \
         state[\"exp_avg\"] = torch.zeros_like(p, memory_format=torch.preserve_format)\n\
         torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested} GiB. GPU 0 has a total capacity of 79.15 GiB of which 2.33 GiB is free.\n"
    )
}

/// The log of a job that Ray killed because its node ran low on memory.
pub const HOST: &str = "(raylet) ray._private.memory_monitor: Memory on the node (IP: 10.0.0.9, ID: abc) where the task was running was 742.11GB / 755.51GB (0.982262), which exceeds the memory usage threshold of 0.95.\n\
    ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n";

/// The report on `log`.
pub fn analyze(home: &Path, log: &str) -> Result<Value, Box<dyn Error>> {
    let done = oomdoc(home).args(["analyze", "--format", "json", "-"]).write_stdin(log).output()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(serde_json::from_slice(&done.stdout)?)
}

/// The output of `oomdoc history` as JSON.
pub fn json(home: &Path, arguments: &[&str]) -> Result<Value, Box<dyn Error>> {
    let done = oomdoc(home).arg("history").args(arguments).args(["--format", "json"]).output()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(serde_json::from_slice(&done.stdout)?)
}

/// Waits until the store holds all analysed incidents.
pub fn settle(home: &Path) -> Outcome {
    oomdoc(home).args(["history", "verify"]).assert().success();
    // A process that is still running could repair what a test damages.
    alone(home)
}

/// Waits until the background processes of earlier analyses have ended.
pub fn alone(home: &Path) -> Outcome {
    let begun = Instant::now();
    // A process that is just starting may not show its arguments yet, so two looks must find none.
    let mut looks = 0;
    while looks < 2 {
        looks = if works_on(home) { 0 } else { looks + 1 };
        if begun.elapsed() > HANGS {
            return Err("a process that an analysis left behind hangs".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Whether a process with `home` in its arguments or environment is running; without /proc, none is seen.
fn works_on(home: &Path) -> bool {
    let name = home.as_os_str().as_encoded_bytes();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = std::process::id().to_string();
    let mut others = processes.map(|process| process.path()).filter(|path| !path.ends_with(&own));
    others.any(|process| {
        let says = |file: &str| {
            std::fs::read(process.join(file)).is_ok_and(|bytes| memchr::memmem::find(&bytes, name).is_some())
        };
        says("cmdline") || says("environ")
    })
}

/// How many incidents a search finds.
pub fn total(home: &Path, query: &str) -> Result<u64, Box<dyn Error>> {
    let done = oomdoc(home).args(["history", "search", "--format", "json", "--", query]).output()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found: Value = serde_json::from_slice(&done.stdout)?;
    found["total"].as_u64().ok_or_else(|| "no total".into())
}
