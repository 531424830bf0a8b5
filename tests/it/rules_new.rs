//! A user's own rules, messages and knobs: created with `rules new`, and checked under the user's file names.

use std::fs;
use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;

use crate::support::home::{Outcome, oomdoc};

const KNOB: &str = r#"
framework = "torch"
source = "our fork of the trainer, 3.2"

[[knob]]
id = "offload_tower"
target = "cli"
type = "flag"
spelling = [{ name = "--offload-tower", since = "3.2" }]
lever = [{ name = "more_host_offload", to = "on" }]
moves.en = "The image tower's weights, to the host."
cost.en = "Its weights cross PCIe in every step."

[[knob.constraint]]
unless = 'config.sharded_by == "fsdp"'
text.en = "Not with FSDP."
"#;

/// The result and output of `oomdoc rules check` for one file in a folder of its own.
fn checked(folder: &Path, path: &str, content: &str) -> Result<(bool, String), Box<dyn std::error::Error>> {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().ok_or("no folder")?)?;
    fs::write(&file, content)?;
    let done = oomdoc(folder).args(["rules", "check"]).arg(&file).output()?;
    Ok((done.status.success(), String::from_utf8(done.stdout)?))
}

#[test]
fn a_new_rule_passes_its_checks_and_diagnoses() -> Outcome {
    let folder = tempfile::tempdir()?;
    let oomdoc = || {
        let mut command = oomdoc(&folder.path().join("home"));
        command.current_dir(folder.path());
        command
    };
    oomdoc()
        .args(["rules", "new", "arena_full"])
        .assert()
        .success()
        .stdout(contains("my-rules/causes/arena_full.toml").and(contains("oomdoc rules check my-rules")));
    oomdoc()
        .args(["rules", "check", "my-rules"])
        .assert()
        .success()
        .stdout(contains("1 rule, 1 message, 4 examples: 0 errors"));
    oomdoc().args(["rules", "test", "my-rules"]).assert().success().stdout(contains("2 passed, 0 failed"));
    oomdoc().args(["rules", "import", "my-rules"]).assert().success();
    let log = "step 3\narena exhausted: wanted 48.00 GiB of 40.00 GiB on card 5\n";
    for (language, words) in [("en", "more than all of the arena's 40.00 GiB"), ("zh", "超过显存池的总大小 40.00 GiB")]
    {
        oomdoc()
            .args(["analyze", "-", "--no-save", "--lang", language])
            .write_stdin(log)
            .assert()
            .stdout(contains("arena_full").and(contains(words)));
    }
    // An existing file is not overwritten.
    oomdoc().args(["rules", "new", "arena_full"]).assert().code(2).stderr(contains("is there already"));
    oomdoc().args(["rules", "new", "Arena-full"]).assert().code(2).stderr(contains("small letters"));
    assert!(!folder.path().join("my-rules/causes/Arena-full.toml").exists());
    Ok(())
}

#[test]
fn faults_are_told_by_the_users_own_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("mine.toml");
    fs::write(&file, "id = \"x\"\ncause = \"x\"\nkinds = 3\n")?;
    let place = format!("{}:3", file.display());
    oomdoc(folder.path()).args(["rules", "check"]).arg(&file).assert().code(1).stdout(contains(place.clone()));
    oomdoc(folder.path())
        .args(["rules", "test"])
        .arg(&file)
        .assert()
        .code(2)
        .stderr(contains(place).and(contains("rules check")).and(contains("fault of oomdoc").not()));
    Ok(())
}

#[test]
fn messages_of_ones_own_are_checked() -> Outcome {
    let folder = tempfile::tempdir()?;
    let check = |content: &str| checked(folder.path(), "messages/house.toml", content);
    let row = "[[message]]\ntext = \"arena exhausted\"\npattern = \"wanted {requested:size}\"\nkind = \"gpu_oom\"\n";
    let (fine, said) = check(&format!("producer = \"house\"\n{row}"))?;
    assert!(fine && said.contains("1 message") && said.contains("no example shows what is read"), "{said}");
    let (fine, said) = check(&format!("producer = \"house\"\n{}", row.replace("requested", "requestd")))?;
    assert!(!fine && said.contains("house.toml:4: error") && said.contains("which is no figure"), "{said}");
    let example = "[[example]]\nversion = \"1\"\ntext = \"arena exhausted: wanted 2 GiB\"\nstates = [[\"requested\", \"3 GiB\"]]\n";
    let (fine, said) = check(&format!("producer = \"house\"\n{row}{example}"))?;
    assert!(!fine && said.contains("house.toml:6: error") && said.contains("requested `2 GiB`"), "{said}");
    Ok(())
}

#[test]
fn knobs_of_ones_own_are_checked() -> Outcome {
    let folder = tempfile::tempdir()?;
    let check = |content: &str| checked(folder.path(), "knobs/ours.toml", content);
    let (fine, said) = check(KNOB)?;
    assert!(fine && said.contains("1 knob") && said.contains("lack Chinese words"), "{said}");
    for (wrong, problem) in [
        (KNOB.replace("\"torch\"", "\"torhc\""), "ours.toml:2: error: no job is of the framework `torhc`"),
        (KNOB.replace("more_host_offload", "more_offload"), "no lever `more_offload`"),
        (KNOB.replace("config.sharded_by", "config.shardedby"), "ours.toml:15: error: offload_tower"),
        (KNOB.replace("type = \"flag\"", "type = \"flg\""), "ours.toml:8: error"),
    ] {
        let (fine, said) = check(&wrong)?;
        assert!(!fine && said.contains(problem), "{problem}: {said}");
    }
    Ok(())
}

#[test]
fn a_rule_of_ones_own_needs_no_references() -> Outcome {
    let folder = tempfile::tempdir()?;
    oomdoc(folder.path()).args(["rules", "new", "bare", "--in"]).arg(folder.path()).assert().success();
    let path = folder.path().join("causes/bare.toml");
    let rule = fs::read_to_string(&path)?;
    assert!(rule.contains("# references"), "the skeleton has none: {rule}");
    oomdoc(folder.path()).args(["rules", "check"]).arg(folder.path()).assert().success();
    Ok(())
}
