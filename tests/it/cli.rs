//! The command as a user runs it.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

const OOM: &str = "RuntimeError: CUDA out of memory. Tried to allocate 1.16 GiB (GPU 3; 79.15 GiB total capacity; 74.02 GiB already allocated; 812.62 MiB free; 77.40 GiB reserved in total by PyTorch)\n";

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn oomdoc() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.env_remove("CLICOLOR_FORCE").env("OOMDOC_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/home-of-cli"));
    command
}

#[test]
fn reads_standard_input() {
    oomdoc()
        .args(["analyze", "-"])
        .write_stdin(OOM)
        .assert()
        .success()
        .stdout(contains("GPU out of memory"))
        .stdout(contains("-:1"));
}

/// Once the language could be chosen only by an option on every command.
#[test]
fn the_environment_chooses_the_language() {
    let said = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = oomdoc();
        for name in ["OOMDOC_LANG", "LC_ALL", "LC_MESSAGES", "LANG"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied()).args(["analyze", "--no-save", "-"]).args(arguments).write_stdin(OOM);
        command.assert().success()
    };
    said(&[], &[]).stdout(contains("GPU out of memory"));
    said(&[("LANG", "zh_CN.UTF-8")], &[]).stdout(contains("显存不足"));
    said(&[("OOMDOC_LANG", "zh"), ("LC_ALL", "C")], &[]).stdout(contains("显存不足"));
    said(&[("OOMDOC_LANG", "zh")], &["--lang", "en"]).stdout(contains("GPU out of memory"));
    let mut help = oomdoc();
    help.env("OOMDOC_LANG", "zh").arg("--help").assert().success().stdout(contains("用法").and(contains("分析")));
}

#[test]
fn json_holds_the_whole_contract() -> Outcome {
    let done = oomdoc().args(["analyze", "--format", "json", "-"]).write_stdin(OOM).output()?;
    assert_eq!(String::from_utf8_lossy(&done.stderr), "", "whoever reads standard error finds problems there");
    let report: serde_json::Value = serde_json::from_slice(&done.stdout)?;
    assert_eq!(report["schema"], "oomdoc.report/1");
    assert_eq!(report["verdict"], "gpu_oom");
    let incident = &report["incidents"][0];
    for field in ["victims", "consumers", "figures", "timeline", "diagnoses", "not_checked", "capture_next"] {
        assert!(incident[field].is_array(), "{field} is {}", incident[field]);
    }
    assert!(incident["diagnoses"].as_array().is_some_and(|diagnoses| !diagnoses.is_empty()));
    let requested = &incident["figures"][0];
    assert_eq!((&requested["name"], &requested["text"]), (&"requested".into(), &"1.16 GiB".into()));
    assert_eq!(requested["source"], serde_json::json!({"path": "-", "line": 1, "column": 53}));
    Ok(())
}

#[test]
fn colours_are_for_terminals() {
    let plain = || contains("\u{1b}[").not();
    oomdoc().args(["analyze", "-"]).write_stdin(OOM).assert().stdout(plain());
    oomdoc().args(["analyze", "-"]).env("CLICOLOR_FORCE", "1").write_stdin(OOM).assert().stdout(contains("\u{1b}["));
    oomdoc().args(["analyze", "-"]).env("NO_COLOR", "1").write_stdin(OOM).assert().stdout(plain());
}

#[test]
fn exit_status_tells_failure_only_where_asked() {
    let status = |fail_on: &str| oomdoc().args(["analyze", "--fail-on", fail_on, "-"]).write_stdin(OOM).assert();
    oomdoc().args(["analyze", "-"]).write_stdin(OOM).assert().code(0);
    status("any").code(1);
    status("host_oom_ray,gpu_oom").code(1);
    status("host_oom_ray").code(0);
    status("sunday").code(2).stderr(contains("host_oom_cgroup"));
    oomdoc().args(["analyze", "--fail-on", "any", "-"]).write_stdin("all is well\n").assert().code(0);
}

#[test]
fn what_cannot_be_read_is_said() -> Outcome {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("job.log");
    std::fs::write(&log, OOM)?;
    oomdoc()
        .args(["analyze", "/no/such/file"])
        .assert()
        .code(2)
        .stderr(contains("/no/such/file").and(contains("hint")));
    oomdoc()
        .args(["analyze", "/no/such/file"])
        .arg(&log)
        .assert()
        .code(0)
        .stdout(contains("cannot read /no/such/file"));
    oomdoc().arg("analyze").arg(folder.path()).assert().code(0).stdout(contains("GPU out of memory"));
    oomdoc().arg("analyze").assert().code(2).stderr(contains("PATH"));
    Ok(())
}

#[test]
fn odd_input_gets_a_clear_answer() -> Outcome {
    let folder = tempfile::tempdir()?;
    let cases: [(&str, Vec<u8>, &str); 5] = [
        ("empty", Vec::new(), "empty"),
        ("binary", (0u8..=255).cycle().take(70_000).collect(), "binary: not read"),
        (
            "utf-16",
            OOM.encode_utf16().fold(vec![0xff, 0xfe], |mut bytes, unit| {
                bytes.extend(unit.to_le_bytes());
                bytes
            }),
            "GPU out of memory",
        ),
        ("healthy", b"step 1 loss 0.5\nstep 2 loss 0.4\n".to_vec(), "No sign of a failure"),
        ("torn", [&[0xff, 0xfe - 1, 0x80][..], &OOM.as_bytes()[..60]].concat(), "GPU out of memory"),
    ];
    for (name, bytes, answer) in cases {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes)?;
        let done = oomdoc().arg("analyze").arg(&file).assert();
        match name {
            "empty" | "binary" => done.code(2).stderr(contains(answer)),
            _ => done.code(0).stdout(contains(answer)),
        };
    }
    Ok(())
}

#[test]
fn a_log_cannot_command_the_terminal() {
    let hostile = format!("\u{1b}]0;owned\u{7}\u{1b}[2J{OOM}");
    oomdoc()
        .args(["analyze", "-"])
        .write_stdin(hostile)
        .assert()
        .stdout(contains("owned").not())
        .stdout(contains("\u{1b}").not());
}

/// The log of a job that fails in the optimizer's step, and its launch script.
fn failed_step(folder: &std::path::Path) -> Result<[String; 2], Box<dyn std::error::Error>> {
    let log = "Traceback (most recent call last):\n  \
        File \"/opt/venv/lib/python3.11/site-packages/deepspeed/runtime/zero/stage_1_and_2.py\", line 1892, in step\n    \
        self._optimizer_step(i)\n  \
        File \"/opt/venv/lib/python3.11/site-packages/torch/optim/adamw.py\", line 176, in _init_group\n    \
        state[\"exp_avg\"] = torch.zeros_like(p, memory_format=torch.preserve_format)\n\
        torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 29.92 GiB. GPU 0 has a total capacity of 79.15 GiB of which 2.33 GiB is free.\n";
    let config =
        "{\n  // two GPUs\n  \"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"none\"}}\n}\n";
    let paths = [folder.join("job.log"), folder.join("ds_config.json")];
    std::fs::write(&paths[0], log)?;
    std::fs::write(&paths[1], config)?;
    Ok(paths.map(|path| path.display().to_string()))
}

#[test]
fn a_fix_is_written_once_and_the_file_before_it_is_kept() -> Outcome {
    let folder = tempfile::tempdir()?;
    let [log, config] = failed_step(folder.path())?;
    let fix = |how: &[&str]| oomdoc().args(["fix", &log, &config]).args(how).assert();
    let before = std::fs::read_to_string(&config)?;
    fix(&[])
        .success()
        .stdout(contains("+  \"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}"));
    assert_eq!(std::fs::read_to_string(&config)?, before);
    fix(&["--write"]).success().stdout(contains("written"));
    assert_eq!(std::fs::read_to_string(&config)?, before.replace("none", "cpu"));
    assert_eq!(std::fs::read_to_string(format!("{config}.before-oomdoc"))?, before);
    fix(&["--write"]).success().stdout(contains("already so"));
    std::fs::write(&config, "{\"zero_optimization\": {\"stage\": 3}}\n")?;
    fix(&["--write"]).code(2).stderr(contains("changed since"));
    Ok(())
}

#[test]
fn a_fix_without_a_file_says_what_is_missing() -> Outcome {
    let folder = tempfile::tempdir()?;
    let [log, config] = failed_step(folder.path())?;
    oomdoc().args(["fix", &log, "--diff"]).assert().code(2).stderr(contains("next to the log"));
    let bare = oomdoc().args(["fix", &log, &config]).assert().success();
    let knob = "zero_optimization.offload_optimizer.device";
    let picked = oomdoc().args(["fix", &log, &config, "--pick", knob]).assert().success();
    assert_eq!(bare.get_output().stdout, picked.get_output().stdout);
    let dashed = oomdoc().args(["fix", &log, &config, "--pick", "--nobody_knows", "--diff"]).assert();
    dashed.code(2).stderr(contains("no patch `--nobody_knows`"));
    oomdoc().args(["fix", &log, &config, "--pick", "17", "--diff"]).assert().code(2).stderr(contains("no patch `17`"));
    Ok(())
}

#[test]
fn confidence_is_fitted_on_labelled_incidents() -> Outcome {
    let folder = tempfile::tempdir()?;
    let rules = folder.path().join("rules");
    let fit = || {
        let mut command = oomdoc();
        command.args(["rules", "fit"]).arg(folder.path()).arg(format!("--write={}", rules.display()));
        command
    };
    fit().assert().code(2).stderr(contains("truth.json").and(contains("hint")));
    for name in ["a", "b", "c"] {
        let case = folder.path().join(name);
        std::fs::create_dir(&case)?;
        std::fs::write(case.join("job.log"), OOM)?;
        std::fs::write(case.join("expected.toml"), "kind = 'gpu_oom'\ncause = ['unknown', 'activations_too_large']\n")?;
    }
    fit().assert().code(0).stdout(contains("3 of them with an incident").and(contains("Brier")));
    let rules = std::fs::read_to_string(rules.join("calibration.toml"))?;
    // Diagnoses that are always right raise the confidence.
    let offset = rules.lines().find_map(|line| line.strip_prefix("offset = ")?.parse::<f64>().ok());
    assert!(offset.is_some_and(|offset| offset > 0.0), "{rules}");
    Ok(())
}

/// A folder of sources, or an empty file, once led to success and no message on standard error.
#[test]
fn nothing_that_is_a_log_is_said_so() -> Outcome {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).map(|()| path)
    };
    let (empty, code) = (write("empty.log", "")?, write("test_memory.py", OOM)?);
    let script = write("run.sh", "echo \"Error: CUDA out of memory\"\n")?;
    let analyze = |paths: &[&std::path::Path], more: &[&str]| {
        oomdoc().arg("analyze").args(paths).args(["--no-save"]).args(more).assert()
    };
    for paths in [[&*empty], [&code], [&script]] {
        analyze(&paths, &[]).code(2).stdout("").stderr(contains("nothing could be read as a log"));
        analyze(&paths, &["--fail-on", "any"]).code(2);
    }
    analyze(&[&code], &["--format", "json"]).code(2).stdout(contains("\"verdict\": \"none\""));
    // Beside a log that can be read, a missing one is only warned of.
    let (log, missing) = (write("job.log", OOM)?, folder.path().join("missing.log"));
    analyze(&[&log, &missing], &[]).success().stdout(contains("GPU out of memory")).stderr(contains("cannot read"));
    analyze(&[&log, &code], &[]).success().stderr("");
    oomdoc().args(["analyze", "--help"]).assert().success().stdout(contains("Exit codes:"));
    Ok(())
}

/// PowerShell's `>` writes UTF-16, which once had to be converted by hand first.
#[test]
fn a_log_in_utf_16_is_read() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("job.log");
    let text = format!("第一步\n{OOM}");
    for (mark, bytes) in [
        ([0xff, 0xfe], text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
        ([0xfe, 0xff], text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
    ] {
        std::fs::write(&path, [&mark[..], &bytes].concat())?;
        let done = oomdoc().args(["analyze", "--no-save"]).arg(&path).assert().success();
        done.stdout(contains("GPU out of memory").and(contains("job.log:2")));
    }
    Ok(())
}

/// A misspelt fact once had no effect and no message.
#[test]
fn a_fact_that_nothing_asks_for_is_an_error_that_says_what_may_be_meant() -> Outcome {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("job.log");
    std::fs::write(&log, OOM)?;
    let refused = |command: &[&str], fact: &str, meant: &str| {
        let asked = oomdoc().args(command).args(["--fact", fact]).assert();
        asked.code(2).stdout("").stderr(contains("no fact is called").and(contains(meant.to_owned())));
    };
    let path = log.to_string_lossy();
    for command in [&["analyze", "--no-save", &*path][..], &["triage", "--no-save", &path], &["fix", &path]] {
        refused(command, "host.memroy=500GiB", "did you mean host.memory");
        refused(command, "framework=verl", "did you mean job.framework");
    }
    refused(&["estimate", "--model", "8b"], "config.zero_stge=3", "did you mean config.zero_stage");
    assert!(!folder.path().join("oomdoc-report").exists());
    for fact in ["model=8b", "gpu=A100-80G", "host.memory=500GiB", "gpu.memory=80GiB", "config.zero_stage=3"] {
        oomdoc().args(["analyze", "--no-save", "--fact", fact]).arg(&log).assert().success();
    }
    oomdoc().args(["explain", "host.memory", "--lang", "zh"]).assert().success().stdout(contains("内存"));
    Ok(())
}

#[test]
fn a_path_where_a_command_should_be_is_answered_with_what_was_meant() {
    let refused = |word: &str| oomdoc().env("OOMDOC_LANG", "en").arg(word).assert().code(2);
    refused("job.log").stderr(contains("`oomdoc analyze job.log` says what happened there"));
    refused("Cargo.toml").stderr(contains("`oomdoc analyze Cargo.toml`"));
    refused("analyse").stderr(contains("a similar subcommand exists: 'analyze'"));
}

#[test]
fn a_report_goes_where_it_is_asked_to_go() -> Outcome {
    let folder = tempfile::tempdir()?;
    let analyze = |arguments: &[&str]| {
        let mut command = oomdoc();
        command.args(["analyze", "--no-save", "-"]).args(arguments).write_stdin(OOM);
        command.assert()
    };
    let file = folder.path().join("report.txt");
    let output = ["--color", "always", "--output", &file.display().to_string()];
    analyze(&output).success().stdout("");
    let written = std::fs::read_to_string(&file)?;
    assert!(written.starts_with("GPU out of memory"), "a file has no colours: {written:?}");
    analyze(&["--quiet", "--fail-on", "gpu_oom"]).code(1).stdout("").stderr("");
    let nowhere = folder.path().join("none/report.json").display().to_string();
    analyze(&["--format", "json", "-o", &nowhere]).code(2).stderr(contains("cannot write"));
    Ok(())
}

#[test]
fn colours_are_as_asked() {
    let coloured = |option: &str, variable: &str| {
        let mut command = oomdoc();
        command.args(["analyze", "--no-save", "-", "--color", option]).env(variable, "1").write_stdin(OOM);
        let printed = command.assert().success();
        String::from_utf8_lossy(&printed.get_output().stdout).contains('\u{1b}')
    };
    assert!(coloured("always", "NO_COLOR") && coloured("auto", "CLICOLOR_FORCE"));
    assert!(!coloured("never", "CLICOLOR_FORCE") && !coloured("auto", "NO_COLOR"));
}

#[test]
fn every_shell_has_its_completions() {
    for (shell, word) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef oomdoc"),
        ("fish", "complete -c oomdoc"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let written = oomdoc().args(["completions", shell]).assert().success();
        written.stdout(contains(word).and(contains("analyze")).and(contains("fail-on")));
    }
}
