//! `fix --write` writes the intended file and leaves the rest of it as it was, or says why it does not.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::prelude::*;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const LOG: &str = "Traceback (most recent call last):
  File \"/opt/venv/lib/python3.11/site-packages/transformers/trainer.py\", line 3579, in training_step
    loss = self.compute_loss(model, inputs)
  File \"/opt/venv/lib/python3.11/site-packages/transformers/models/llama/modeling_llama.py\", line 700, in forward
    outputs = self.mlp(x)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.92 GiB. GPU 0 has a total capacity of 79.15 GiB of which 0.33 GiB is free.
";
const SCRIPT: &str = "#!/bin/bash\npython train.py --per_device_train_batch_size 8\n";

/// A log and a script in a folder of their own.
fn job(script: &str) -> Result<(tempfile::TempDir, PathBuf), std::io::Error> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("job.log"), LOG)?;
    let path = folder.path().join("run.sh");
    fs::write(&path, script)?;
    Ok((folder, path))
}

fn fix(script: &Path, how: &str) -> Command {
    let log = script.with_file_name("job.log");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.arg("fix").arg(log).arg(script).args(["--pick", "per_device_train_batch_size", how]);
    command
}

#[test]
fn a_link_stays_a_link_and_what_it_points_to_is_edited() -> Outcome {
    let (folder, script) = job("")?;
    let real = folder.path().join("real.sh");
    fs::write(&real, SCRIPT)?;
    fs::remove_file(&script)?;
    symlink("real.sh", &script)?;
    fix(&script, "--write").assert().success().stdout(contains("written"));
    assert!(fs::symlink_metadata(&script)?.is_symlink());
    assert_eq!(fs::read_to_string(&real)?, SCRIPT.replace(" 8", " 4"));
    fix(&script, "--write").assert().success().stdout(contains("already so"));
    Ok(())
}

#[test]
fn what_the_job_outlived_is_mended_on_request_only() -> Outcome {
    let (folder, script) = job(SCRIPT)?;
    let end = "slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2026-03-01T12:00:21 DUE TO TIME LIMIT ***\n";
    let log = format!(
        "step 100 loss 2.1\n{}WARNING: attempting to recover from OOM\nstep 200 loss 2.0\nstep 300 loss 1.9\n{end}",
        LOG.lines().last().unwrap_or_default().to_owned() + "\n"
    );
    fs::write(folder.path().join("job.log"), log)?;
    let mut bare = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    bare.arg("fix").arg(folder.path().join("job.log")).arg(&script);
    bare.assert().code(2).stderr(contains("nothing to fix").and(contains("time limit")));
    fix(&script, "--write").assert().success();
    Ok(())
}

#[test]
fn a_file_with_another_name_is_refused() -> Outcome {
    let (folder, script) = job(SCRIPT)?;
    fs::hard_link(&script, folder.path().join("other.txt"))?;
    fix(&script, "--write").assert().code(2).stderr(contains("hard links"));
    assert_eq!(fs::read_to_string(&script)?, SCRIPT);
    Ok(())
}

#[test]
fn a_read_only_file_is_refused() -> Outcome {
    let (_folder, script) = job(SCRIPT)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o444))?;
    fix(&script, "--write").assert().code(2).stderr(contains("read-only"));
    assert_eq!(fs::read_to_string(&script)?, SCRIPT);
    Ok(())
}

#[test]
fn owner_and_rights_stay_as_they_are() -> Outcome {
    let (_folder, script) = job(SCRIPT)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750))?;
    // Only root can change a file's owner.
    let is_given = chown(&script, Some(4321), Some(1234)).is_ok();
    let before = fs::metadata(&script)?;
    fix(&script, "--write").assert().success();
    let after = fs::metadata(&script)?;
    let rights = |file: &fs::Metadata| (file.uid(), file.gid(), file.permissions().mode());
    assert_eq!(rights(&after), rights(&before));
    assert!(!is_given || after.uid() == 4321);
    Ok(())
}

/// A stale file from an earlier fix was once shown instead of the current one.
#[test]
fn a_file_that_was_changed_since_is_shown_as_it_is() -> Outcome {
    let (_folder, script) = job(SCRIPT)?;
    fix(&script, "--write").assert().success();
    fs::write(&script, "python train.py --per_device_train_batch_size 64 --mine 1\n")?;
    fix(&script, "--diff").assert().success().stdout(contains("size 64 --mine 1"));
    fix(&script, "--write").assert().code(2).stderr(contains("changed since"));
    assert!(fs::read_to_string(&script)?.contains("size 64"));
    Ok(())
}

#[test]
fn of_two_fixes_at_once_one_writes_and_no_text_is_lost() -> Outcome {
    for _ in 0..4 {
        let (folder, script) = job(SCRIPT)?;
        let started: Vec<_> = (0..2).map(|_| fix(&script, "--write").spawn()).collect::<Result<_, _>>()?;
        let done: Vec<_> = started.into_iter().map(|mut child| child.wait()).collect::<Result<_, _>>()?;
        assert!(done.iter().any(|status| status.success()), "{done:?}");
        assert_eq!(fs::read_to_string(&script)?, SCRIPT.replace(" 8", " 4"));
        assert_eq!(fs::read_to_string(folder.path().join("run.sh.before-oomdoc"))?, SCRIPT);
    }
    Ok(())
}

/// The option once went to `sbatch run.sh`, behind a script that takes none.
#[test]
fn a_script_that_a_script_writes_is_edited_where_it_stands() -> Outcome {
    let (_folder, script) = job(&format!("#!/bin/bash\ncat > later.sh <<EOF\n{SCRIPT}EOF\nsbatch later.sh\n"))?;
    fix(&script, "--write").assert().success();
    let text = fs::read_to_string(&script)?;
    assert!(text.contains("--per_device_train_batch_size 4\nEOF\nsbatch later.sh\n"), "{text}");
    Ok(())
}

/// A batch size that an argument decides was once changed as if the script had been started without arguments, and no
/// message said so.
#[test]
fn what_an_argument_decides_is_said() -> Outcome {
    let script = "#!/bin/bash\nif [ \"$1\" = small ]; then\n  BATCH=2\nelse\n  BATCH=16\nfi\npython train.py --per_device_train_batch_size $BATCH\n";
    let (_folder, path) = job(script)?;
    let told = "run.sh:2 chooses this line";
    fix(&path, "--diff")
        .assert()
        .success()
        .stdout(contains("+python train.py --per_device_train_batch_size 8"))
        .stderr(contains(told));
    let (_folder, path) = job(SCRIPT)?;
    fix(&path, "--diff").assert().success().stderr(contains("chooses this line").not());
    Ok(())
}

/// Of two commands, the one with more options was once changed, although it runs only with an argument.
#[test]
fn a_command_that_runs_without_arguments_comes_first() -> Outcome {
    let script = "#!/bin/bash\nif [ -n \"$1\" ]; then\n  python train.py --resume_from_checkpoint $1 --per_device_train_batch_size 8\nelse\n  python train.py --per_device_train_batch_size 16\nfi\n";
    let (_folder, path) = job(script)?;
    fix(&path, "--diff")
        .assert()
        .success()
        .stdout(contains("-  python train.py --per_device_train_batch_size 16"))
        .stderr(contains("run.sh:2 chooses this line"));
    Ok(())
}

/// A `package.json` names launchers in its scripts, and was once given DeepSpeed's section.
#[test]
fn a_json_that_only_mentions_a_launcher_is_left_alone() -> Outcome {
    let (folder, _) = job("")?;
    fs::remove_file(folder.path().join("run.sh"))?;
    let log =
        LOG.replace("transformers/trainer.py", "deepspeed/runtime/zero/stage3.py").replace("training_step", "step");
    let log = log
        .replace("transformers/models/llama/modeling_llama.py", "torch/optim/adam.py")
        .replace("forward", "_init_group");
    fs::write(folder.path().join("job.log"), log)?;
    let package = "{\"scripts\": {\"train\": \"deepspeed train.py --deepspeed ds.json\"}}\n";
    let path = folder.path().join("package.json");
    fs::write(&path, package)?;
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.arg("fix").arg(folder.path()).args(["--pick", "zero_optimization.offload_optimizer.device", "--write"]);
    command.assert().code(2).stderr(contains("no edit of the given files makes this change"));
    assert_eq!(fs::read_to_string(&path)?, package);
    // The same advice is applied where the job's own configuration is among the inputs.
    fs::write(folder.path().join("ds.json"), "{\"zero_optimization\": {\"stage\": 3}}\n")?;
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.arg("fix").arg(folder.path()).args(["--pick", "zero_optimization.offload_optimizer.device"]);
    command.assert().success().stdout(contains("b/").and(contains("ds.json")));
    Ok(())
}

/// Of a job started twice, on two GPUs, once only the second start was fixed.
#[test]
fn a_job_that_is_started_twice_is_mended_twice() -> Outcome {
    let start = "python train.py --per_device_train_batch_size 8 --output_dir";
    let script = format!("#!/bin/bash\nCUDA_VISIBLE_DEVICES=0 {start} a &\nCUDA_VISIBLE_DEVICES=1 {start} b &\nwait\n");
    let (_folder, path) = job(&script)?;
    fix(&path, "--write").assert().success();
    assert_eq!(fs::read_to_string(&path)?, script.replace("size 8", "size 4"));
    Ok(())
}
