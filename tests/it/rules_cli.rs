//! `oomdoc rules` and `oomdoc explain` as a user runs them.

use std::error::Error;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

type Outcome = Result<(), Box<dyn Error>>;

const RULE: &str = r#"
id = "image_tower_on_gpu"
cause = "image_tower_on_gpu"
kinds = ["gpu_oom"]
prior = -3.0
references = ["https://example.org/wiki/image-tower"]
title.en = "The image tower is not offloaded"
title.zh = "图像编码器没有卸载"
explanation.en = "Our trainer keeps the image tower on the GPU."
explanation.zh = "我们的训练器把图像编码器留在显存里。"
not_concluded.en = "That the language model is small enough."
not_concluded.zh = "不能据此认为语言模型足够小。"

[[evidence]]
group = "frames"
when = 'frames.says("image tower")'
log_odds = 7.0
why.en = "It failed inside the image tower."
why.zh = "失败发生在图像编码器内部。"

[[patch]]
lever = "input_size"

[[example]]
name = "inside the tower"
must = "first"
log = '''
Traceback (most recent call last):
  File "/workspace/ours/image_tower.py", line 88, in forward
    patches = self.project(pixels)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free.
'''

[[example]]
name = "elsewhere"
must = "absent"
log = '''
Traceback (most recent call last):
  File "/workspace/ours/language.py", line 12, in forward
    return self.mlp(x)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free.
'''
"#;

const LOG: &str = r#"Traceback (most recent call last):
  File "/workspace/ours/image_tower.py", line 90, in forward
    patches = self.project(pixels)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.20 GiB is free.
"#;

fn oomdoc(home: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.env_remove("CLICOLOR_FORCE").env("OOMDOC_HOME", home);
    command
}

/// A folder of rules with a single file.
fn rules(content: &str) -> Result<tempfile::TempDir, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("image_tower.toml"), content)?;
    Ok(folder)
}

#[test]
fn the_shipped_rules_pass_their_own_checks() -> Outcome {
    let home = tempfile::tempdir()?;
    oomdoc(home.path()).args(["rules", "check"]).assert().success().stdout(contains("0 errors, 0 warnings"));
    oomdoc(home.path())
        .args(["rules", "test"])
        .assert()
        .success()
        .stdout(contains("0 failed").and(contains("passed  fragmentation")));
    assert_eq!(fs::read_dir(home.path())?.count(), 0, "reading leaves nothing behind");
    Ok(())
}

#[test]
fn a_rule_of_ones_own_goes_from_file_to_diagnosis() -> Outcome {
    let (home, folder) = (tempfile::tempdir()?, rules(RULE)?);
    let oomdoc = || oomdoc(home.path());
    let analyze = || {
        let mut command = oomdoc();
        command.args(["analyze", "--format", "json", "-"]).write_stdin(LOG);
        command
    };
    analyze().assert().success().stdout(contains("image_tower_on_gpu").not());
    oomdoc()
        .args(["rules", "check"])
        .arg(folder.path())
        .assert()
        .success()
        .stdout(contains("no shipped rule concludes"));
    oomdoc().args(["rules", "test"]).arg(folder.path()).assert().success().stdout(contains("2 passed, 0 failed"));
    oomdoc().args(["rules", "import"]).arg(folder.path()).assert().success().stdout(contains("1 new"));
    analyze().assert().success().stdout(contains("\"cause\": \"image_tower_on_gpu\""));
    oomdoc().args(["rules", "list"]).assert().success().stdout(contains("image_tower_on_gpu").and(contains("yours")));
    oomdoc().args(["rules", "show", "image_tower_on_gpu"]).assert().success().stdout(contains("image tower"));
    oomdoc().args(["explain", "image_tower_on_gpu", "--lang", "zh"]).assert().success().stdout(contains("图像编码器"));
    oomdoc().args(["rules", "import"]).arg(folder.path()).assert().success().stdout(contains("1 unchanged"));
    // Only writers open the store, so an analysis works while one has it open.
    let store = oomdoc::internal::store::DiskStore::open(home.path())?;
    analyze().assert().success().stdout(contains("image_tower_on_gpu"));
    drop(store);
    oomdoc().args(["rules", "remove", "image_tower"]).assert().code(2).stderr(contains("image_tower_on_gpu"));
    oomdoc().args(["rules", "remove", "image_tower_on_gpu"]).assert().success();
    analyze().assert().success().stdout(contains("image_tower_on_gpu").not());
    Ok(())
}

#[test]
fn a_rule_of_a_known_name_takes_the_place_of_the_shipped_one() -> Outcome {
    let home = tempfile::tempdir()?;
    let shipped = oomdoc(home.path()).args(["rules", "show", "--toml", "fragmentation"]).output()?.stdout;
    let own = String::from_utf8(shipped)?.replace("The allocator's cache is fragmented", "Ask the platform team");
    let folder = rules(&own)?;
    oomdoc(home.path()).args(["rules", "import"]).arg(folder.path()).assert().success();
    let listed = contains("yours, instead of").and(contains("Ask the platform team"));
    oomdoc(home.path()).args(["rules", "list"]).assert().success().stdout(listed);
    oomdoc(home.path()).args(["rules", "remove", "fragmentation"]).assert().success();
    oomdoc(home.path()).args(["rules", "list"]).assert().success().stdout(contains("Ask the platform team").not());
    Ok(())
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_refused() -> Outcome {
    let home = tempfile::tempdir()?;
    let line = |needle: &str, content: &str| {
        content.lines().position(|line| line.contains(needle)).map_or(0, |place| place + 1)
    };
    for (from, to, needle, said) in [
        ("frames.says(\"image tower\")", "phase == \"forwards\"", "when =", "did you mean `forward`"),
        ("frames.says(\"image tower\")", "kind == \"host_oom_ray\"", "when =", "can never hold"),
        ("frames.says(\"image tower\")", "figures.requestet > 1.0", "when =", "`figures.requested`"),
        ("frames.says(\"image tower\")", "phase ==", "when =", "cannot be read"),
        ("lever = \"input_size\"", "lever = \"inputsize\"", "lever =", "did you mean `input_size`"),
        ("lever = \"input_size\"", "lever = \"input_size\"\nknob = \"vllm.max_pixel\"", "knob =", "no knob is called"),
        ("log_odds = 7.0", "log_odds = inf", "log_odds =", "the weight is inf"),
        ("group = \"frames\"", "group = \"\"", "group =", "the group has no name"),
        ("must = \"absent\"", "must = \"first\"", "must = \"first\"", "must be first"),
        ("inside the image tower", "inside {figures.sunday}", "{figures.sunday}", "never shown"),
        ("prior = -3.0", "prior = \"low\"", "prior =", "invalid type"),
    ] {
        let content = RULE.replacen(from, to, 1);
        let folder = rules(&content)?;
        let place = match needle {
            "must = \"first\"" => {
                content.lines().count() - content.lines().rev().position(|line| line.contains(needle)).unwrap_or(0)
            }
            needle => line(needle, &content),
        };
        let place = format!("image_tower.toml:{place}: ");
        let found = contains(said).and(contains(place)).and(contains("error")).and(contains("hint"));
        oomdoc(home.path()).args(["rules", "check"]).arg(folder.path()).assert().code(1).stdout(found);
        oomdoc(home.path())
            .args(["rules", "import"])
            .arg(folder.path())
            .assert()
            .code(2)
            .stderr(contains("was not imported"));
    }
    oomdoc(home.path()).args(["rules", "list"]).assert().success().stdout(contains("yours").not());
    Ok(())
}

#[test]
fn a_missing_translation_is_a_warning_for_ones_own_rules() -> Outcome {
    let home = tempfile::tempdir()?;
    let folder = rules(&RULE.replace("title.zh = \"图像编码器没有卸载\"\n", ""))?;
    let said =
        contains("warning").and(contains("the Chinese words of 1 sentences are missing")).and(contains("0 errors"));
    oomdoc(home.path()).args(["rules", "check"]).arg(folder.path()).assert().success().stdout(said);
    oomdoc(home.path()).args(["rules", "import"]).arg(folder.path()).assert().success();
    let shown = oomdoc(home.path()).args(["rules", "list", "--lang", "zh"]).assert().success();
    shown.stdout(contains("The image tower is not offloaded"));
    Ok(())
}

#[test]
fn an_example_that_fails_says_what_came_out() -> Outcome {
    let home = tempfile::tempdir()?;
    let folder = rules(&RULE.replace("must = \"absent\"", "must = \"first\""))?;
    let said = contains("FAILED  image_tower_on_gpu").and(contains("verdict gpu_oom")).and(contains("1 failed"));
    oomdoc(home.path()).args(["rules", "test"]).arg(folder.path()).assert().code(1).stdout(said);
    Ok(())
}

#[test]
fn a_snapshot_that_does_not_fit_costs_nobody_the_analysis() -> Outcome {
    let (home, folder) = (tempfile::tempdir()?, rules(RULE)?);
    oomdoc(home.path()).args(["rules", "import"]).arg(folder.path()).assert().success();
    let path = home.path().join("snapshot");
    let whole = fs::read_to_string(&path)?;
    let newer = whole.replacen("oomdoc snapshot 1", "oomdoc snapshot 9", 1);
    for (content, said) in [(&whole[..whole.len() / 2], "is damaged"), (newer.as_str(), "has format 9")] {
        fs::write(&path, content)?;
        let warned = contains("warning").and(contains(said)).and(contains("hint"));
        oomdoc(home.path())
            .args(["analyze", "-"])
            .write_stdin(LOG)
            .assert()
            .success()
            .stderr(warned)
            .stdout(contains("GPU out of memory"));
    }
    // The next import rewrites the file with everything imported before.
    oomdoc(home.path()).args(["rules", "import"]).arg(folder.path()).assert().success();
    oomdoc(home.path()).args(["analyze", "-"]).write_stdin(LOG).assert().success().stderr(contains("warning").not());
    Ok(())
}

#[test]
fn a_home_of_ones_own_is_named_on_the_command_line() -> Outcome {
    let (ignored, home, folder) = (tempfile::tempdir()?, tempfile::tempdir()?, rules(RULE)?);
    let new = home.path().join("deep/er");
    oomdoc(ignored.path()).args(["rules", "import", "--home"]).arg(&new).arg(folder.path()).assert().success();
    assert!(new.join("snapshot").is_file() && fs::read_dir(ignored.path())?.count() == 0);
    oomdoc(ignored.path()).arg("--home").arg(&new).args(["rules", "list"]).assert().success().stdout(contains("yours"));
    let refused =
        oomdoc(ignored.path()).args(["rules", "import", "--home", "/proc/oomdoc"]).arg(folder.path()).assert();
    refused.code(2).stderr(contains("/proc/oomdoc").and(contains("hint")));
    Ok(())
}

#[test]
fn words_are_explained_or_guessed() -> Outcome {
    let home = tempfile::tempdir()?;
    let explain = |word: &str| oomdoc(home.path()).args(["explain", word]).assert();
    explain("host_oom_cgroup")
        .success()
        .stdout(contains("reached its limit").and(contains("container_limit_too_small")));
    explain("--gpu-memory-utilization").success().stdout(contains("vllm.").and(contains("cost")));
    // The word has several meanings: a figure, a fact in rules, and a lever.
    explain("micro_batch").success().stdout(contains("lever"));
    explain("optimiser_step").code(2).stderr(contains("optimizer_step"));
    explain("qqqqq").code(2).stderr(contains("nothing is called `qqqqq`"));
    Ok(())
}
