//! `oomdoc run --retry`, and what one attempt of a job shows about the change made since the attempt before.
//!
//! No GPU is needed: the job prints a real job's log, and succeeds or fails according to its own settings.
#![cfg(target_os = "linux")]

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

type Outcome = Result<(), Box<dyn Error>>;

/// A folder with a launch script and a fake `deepspeed` that fails in the optimizer's first step unless it offloads.
struct Place(tempfile::TempDir);

/// The fake `deepspeed`: with `--adam_offload` it runs `then`, otherwise it prints the log of an OOM and fails.
fn deepspeed(then: &str) -> String {
    let log = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus/llama3-8b-optimizer-step/job.log");
    format!(
        "#!/bin/sh\nsleep 0.5\ncase \"$*\" in *--adam_offload*) {then};; esac\ncat {}\necho attempt >> attempts\nexit 1\n",
        log.display()
    )
}

impl Place {
    fn new(then: &str) -> Result<Place, Box<dyn Error>> {
        let place = Place(tempfile::tempdir()?);
        fs::write(place.file("deepspeed"), deepspeed(then))?;
        fs::set_permissions(place.file("deepspeed"), fs::Permissions::from_mode(0o755))?;
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus/llama3-8b-optimizer-step/launch.sh");
        fs::copy(script, place.file("launch.sh"))?;
        Ok(place)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn oomdoc(&self, arguments: &[&str]) -> Command {
        let mut oomdoc = Command::new(env!("CARGO_BIN_EXE_oomdoc"));
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap_or_default());
        oomdoc.args(arguments).current_dir(self.0.path()).env("PATH", path);
        oomdoc.env("OOMDOC_HOME", self.file("home")).env("OOMDOC_LANG", "en").env("OOMDOC_NO_CONFIG", "1");
        oomdoc
    }

    /// `oomdoc run --log job.log OPTIONS -- bash SCRIPT`
    fn run(&self, options: &[&str], script: &str) -> Result<(Output, String), Box<dyn Error>> {
        let arguments = [&["run", "--log", "job.log"], options, &["--", "bash", script]].concat();
        let output = self.oomdoc(&arguments).output()?;
        let said = String::from_utf8(output.stderr.clone())?;
        Ok((output, said))
    }

    /// The outcomes recorded for the only incident of the history.
    fn outcomes(&self) -> Result<Vec<Value>, Box<dyn Error>> {
        let json = |arguments: &[&str]| -> Result<Value, Box<dyn Error>> {
            Ok(serde_json::from_slice(&self.oomdoc(arguments).output()?.stdout)?)
        };
        let list = json(&["history", "list", "--format", "json"])?;
        let id = list["incidents"][0]["id"].as_str().ok_or("no incident")?.to_owned();
        let shown = json(&["history", "show", &id, "--format", "json"])?;
        Ok(shown["outcomes"].as_array().cloned().unwrap_or_default())
    }
}

#[test]
fn a_job_that_ran_out_of_memory_runs_again_with_the_proposed_change() -> Outcome {
    let place = Place::new("echo step 1 loss 2.1; exit 0")?;
    let original = fs::read_to_string(place.file("launch.sh"))?;
    let (output, said) = place.run(&["--retry", "2", "--interval", "0.1"], "launch.sh")?;
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("attempt 2 of 3, with --adam_offload  false → true"), "{said}");
    assert_eq!(fs::read_to_string(place.file("launch.sh"))?, original, "the user's own file is left alone");
    assert!(fs::read_to_string(place.file("launch.oomdoc-2.sh"))?.contains("--adam_offload"));
    assert!(place.file("job-2.log").exists() && place.file("job-2.record").exists());
    let outcomes = place.outcomes()?;
    let told: Vec<_> = outcomes.iter().map(|outcome| (&outcome["knob"], &outcome["worked"])).collect();
    assert_eq!(told, [(&"--adam_offload".into(), &true.into())], "{outcomes:?}");
    assert!(outcomes[0]["peak"]["before"]["host"].is_i64() && outcomes[0]["peak"]["after"]["host"].is_i64());
    let said = place.oomdoc(&["history", "outcomes"]).output()?;
    assert!(String::from_utf8(said.stdout)?.contains("worked 1 of 1"));
    Ok(())
}

#[test]
fn a_change_that_its_user_made_is_judged_too() -> Outcome {
    let place = Place::new("echo step 1 loss 2.1; exit 0")?;
    let (output, said) = place.run(&[], "launch.sh")?;
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!place.file("job-2.log").exists(), "nobody asked for a second attempt");
    let (_, said) = place.run(&[], "launch.sh")?;
    assert!(!said.contains("kept with incident"), "nothing was changed: {said}");
    let script = fs::read_to_string(place.file("launch.sh"))?;
    fs::write(place.file("launch.sh"), script.replace("--bf16", "--bf16 --adam_offload"))?;
    let (output, said) = place.run(&[], "launch.sh")?;
    assert!(output.status.success() && said.contains("--adam_offload  false → true worked"), "{said}");
    let outcomes = place.outcomes()?;
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    // An outcome is reported only once.
    let (_, said) = place.run(&[], "launch.sh")?;
    assert!(!said.contains("kept with incident"), "{said}");
    Ok(())
}

#[test]
fn a_job_that_dies_again_of_the_same_tells_that_the_change_failed() -> Outcome {
    let place = Place::new(":")?;
    let (output, said) = place.run(&["--retry", "1"], "launch.sh")?;
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("--adam_offload  false → true failed"), "{said}");
    assert_eq!(fs::read_to_string(place.file("attempts"))?.lines().count(), 2, "as often as was asked for");
    assert_eq!(place.outcomes()?[0]["worked"], false);
    Ok(())
}

#[test]
fn an_end_that_tells_nothing_is_no_outcome() -> Outcome {
    let place = Place::new("echo 'ValueError: no such dataset'; exit 1")?;
    let (output, said) = place.run(&["--retry", "1"], "launch.sh")?;
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("attempt 2 of 2") && !said.contains("kept with incident"), "{said}");
    assert_eq!(place.outcomes()?.len(), 0);
    Ok(())
}

#[test]
fn what_no_file_sets_is_not_tried() -> Outcome {
    let place = Place::new("exit 0")?;
    // The command that starts the job names no file that could be changed.
    fs::write(place.file("start"), "bash launch.sh\n")?;
    let (output, said) = place.run(&["--retry", "3"], "start")?;
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("it is not run again"), "{said}");
    assert_eq!(fs::read_to_string(place.file("attempts"))?.lines().count(), 1);
    Ok(())
}

#[test]
fn nothing_is_kept_where_nothing_is_to_be_saved() -> Outcome {
    let place = Place::new("exit 0")?;
    let (output, said) = place.run(&["--retry", "1", "--no-save"], "launch.sh")?;
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("kept with incident") && !place.file("home").exists(), "{said}");
    Ok(())
}

#[test]
fn signals_reach_the_second_attempt() -> Outcome {
    let place = Place::new("trap 'exit 5' TERM; echo again; while :; do sleep 0.05; done")?;
    let arguments = ["run", "--log", "job.log", "--retry", "2", "--", "bash", "launch.sh"];
    let mut run = place.oomdoc(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = BufReader::new(run.stdout.take().ok_or("no output")?);
    let is_again = output.lines().map_while(Result::ok).any(|line| line == "again");
    assert!(is_again, "it was not run again");
    assert!(Command::new("kill").args(["-TERM", &run.id().to_string()]).status()?.success());
    let until = Instant::now() + Duration::from_secs(60);
    while run.try_wait()?.is_none() && Instant::now() < until {
        std::thread::yield_now();
    }
    // `bash` waits for `deepspeed` and may itself end by the signal.
    let status = run.wait()?.code();
    assert!(matches!(status, Some(5 | 143)), "{status:?}");
    Ok(())
}

#[test]
fn a_job_that_somebody_ended_is_not_run_again() -> Outcome {
    let place = Place::new("exit 0")?;
    // The job prints that it has run out of memory, and then hangs.
    let hangs = deepspeed("exit 0").replace("exit 1\n", "echo hangs; sleep 600\n");
    fs::write(place.file("deepspeed"), hangs)?;
    let arguments = ["run", "--log", "job.log", "--retry", "2", "--", "bash", "launch.sh"];
    let mut run = place.oomdoc(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = BufReader::new(run.stdout.take().ok_or("no output")?);
    let mut lines = output.lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "hangs"));
    assert!(Command::new("kill").args(["-TERM", &run.id().to_string()]).status()?.success());
    lines.for_each(drop);
    assert_eq!(run.wait()?.code(), Some(143));
    assert_eq!(fs::read_to_string(place.file("attempts"))?.lines().count(), 1);
    Ok(())
}
