//! The lines around the evidence on an HTML page, which people read without the log.

use std::error::Error;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use oomdoc::internal::source::Places;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free.";

fn oomdoc(folder: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    command.env_remove("CLICOLOR_FORCE").env("OOMDOC_HOME", folder.join("home")).current_dir(folder);
    command
}

fn page(folder: &Path, path: &str) -> Outcome<String> {
    let done = oomdoc(folder).args(["analyze", "--no-save", "--format", "html", path]).output()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?)
}

fn lines(before: &[&str], after: &[&str]) -> String {
    [before, &[OOM], after].concat().iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn two_lines_before_and_after_are_shown() -> Outcome {
    let folder = tempfile::tempdir()?;
    let log = lines(&["far above", "one <above>", "just above"], &["just below", "two below", "far below"]);
    fs::write(folder.path().join("job.log"), &log)?;
    let shown = page(folder.path(), "job.log")?;
    for line in ["one &lt;above&gt;", "just above", "just below", "two below"] {
        assert!(shown.contains(&format!("<span class=\"beside\">{line}</span>")), "{line}: {shown}");
    }
    assert!(!shown.contains("far above") && !shown.contains("far below"), "{shown}");
    // The same for a log within an archive. A pipe cannot be read twice, so its page has no such lines.
    let mut packed = tar::Builder::new(fs::File::create(folder.path().join("job.tar"))?);
    packed.append_path_with_name(folder.path().join("job.log"), "logs/job.log")?;
    packed.finish()?;
    assert!(page(folder.path(), "job.tar")?.contains("just above"));
    let piped =
        oomdoc(folder.path()).args(["analyze", "--no-save", "--format", "html", "-"]).write_stdin(log).output()?;
    let piped = String::from_utf8(piped.stdout)?;
    assert!(piped.contains("GPU out of memory") && !piped.contains("just above"), "{piped}");
    // Other formats do not include them.
    let json = oomdoc(folder.path()).args(["analyze", "--no-save", "--format", "json", "job.log"]).output()?.stdout;
    assert!(!String::from_utf8(json)?.contains("just above"));
    Ok(())
}

#[test]
fn the_place_is_found_again_far_into_a_log() -> Outcome {
    let folder = tempfile::tempdir()?;
    let far = "step 1 loss 2.5\n".repeat(300_000);
    fs::write(folder.path().join("job.log"), far + &lines(&["just above"], &["just below"]))?;
    let shown = page(folder.path(), "job.log")?;
    assert!(shown.contains("just above") && shown.contains("just below"), "{shown}");
    Ok(())
}

#[test]
fn a_log_that_is_another_one_by_now_has_none() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("job.log");
    fs::write(&path, lines(&["just above"], &[]))?;
    let paths = [path.display().to_string()];
    let mut report = oomdoc::analyze(&paths, &oomdoc::Options::default())?;
    fs::write(&path, "what\nelse\nis here\n")?;
    oomdoc::internal::report::neighbours(&mut report, &paths, Places(None));
    assert!(report.neighbours.is_empty(), "{:?}", report.neighbours);
    Ok(())
}

#[test]
fn secrets_beside_the_proof_do_not_leave() -> Outcome {
    let folder = tempfile::tempdir()?;
    let key = ["-----BEGIN RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn", "-----END RSA PRIVATE KEY-----"];
    // Only a key's last lines are near enough to be shown; its first ones are too far above.
    let before = [key[0], key[1], "AnotherLineOfTheKey0123456789", key[2]];
    let after = ["HF_TOKEN=hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789", "step 2"];
    fs::write(folder.path().join("job.log"), lines(&before, &after))?;
    oomdoc(folder.path())
        .args(["triage", "job.log"])
        .env_remove("GITHUB_ACTIONS")
        .env_remove("GITLAB_CI")
        .assert()
        .success();
    for name in ["report.html", "report.json", "report.md", "report.sarif"] {
        let sent = fs::read_to_string(folder.path().join("oomdoc-report").join(name))?;
        for secret in ["hf_aBcDeF", "MIIEpAIB", "AnotherLineOfTheKey"] {
            assert!(!sent.contains(secret), "{secret} is in {name}");
        }
    }
    let sent = fs::read_to_string(folder.path().join("oomdoc-report/report.html"))?;
    assert!(sent.contains("step 2") && sent.contains("‹"), "{sent}");
    Ok(())
}
