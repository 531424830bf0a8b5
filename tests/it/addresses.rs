//! `oomdoc analyze` and `oomdoc digest` read logs at addresses; no other command opens an address.

// Each test uses only part of the module.
#[allow(dead_code)]
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::assistant::Assistant;
use crate::support::files::{Answered, Server};
use crate::support::home::{self, Outcome, oomdoc};

const LOG: &str = "corpus/llama3-8b-optimizer-step/job.log";

/// A server that answers every request with the log.
fn server() -> std::io::Result<Server> {
    let log = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(LOG))?;
    Server::start(move |_, asked| Answered::of(asked, &log, "\"1\""))
}

/// Whether `words` stand in any file below `folder`.
fn stands_in(folder: &Path, words: &str) -> std::io::Result<bool> {
    let mut files = walkdir::WalkDir::new(folder).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    files.try_fold(false, |found, file| {
        Ok(found || memchr::memmem::find(&fs::read(file.path())?, words.as_bytes()).is_some())
    })
}

#[test]
fn the_report_is_that_of_the_file_under_a_name_without_secrets() -> Outcome {
    let server = server()?;
    let folder = tempfile::tempdir()?;
    let address = format!("http://me:hush@{}/job.log?X-Amz-Signature=hush&sig=hush", server.host);
    let name = format!("http://{}/job.log", server.host);
    for format in ["text", "json", "markdown", "sarif", "github"] {
        let analyze = |input: &str, home: &str| {
            oomdoc(&folder.path().join(home))
                .args(["analyze", "--format", format, "--when", "2026-11-24", input])
                .output()
        };
        let (there, here) = (analyze(&address, "there")?, analyze(LOG, "here")?);
        let (there, here) = (
            String::from_utf8(there.stdout)? + &String::from_utf8(there.stderr)?,
            String::from_utf8(here.stdout)? + &String::from_utf8(here.stderr)?,
        );
        assert!(!there.contains("hush"), "{there}");
        if matches!(format, "json" | "markdown") {
            assert!(there.contains(&name));
            assert_eq!(there.replace(&name, LOG), here);
        }
    }
    let digest = oomdoc(folder.path()).args(["digest", "--node", "a", &address]).output()?;
    assert!(digest.status.success() && !digest.stdout.is_empty());
    fs::write(folder.path().join("a.digest"), &digest.stdout)?;
    let merged =
        oomdoc(folder.path()).args(["merge", "--format", "json"]).arg(folder.path().join("a.digest")).output()?;
    assert!(String::from_utf8(merged.stdout)?.contains(&format!("a:{name}")));
    let there = folder.path().join("there");
    home::settle(&there)?;
    assert_eq!(home::total(&there, "gpu_oom")?, 1);
    assert!(!stands_in(folder.path(), "hush")?);
    Ok(())
}

#[test]
fn the_page_shows_the_lines_beside_the_proof() -> Outcome {
    const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free.";
    let lines = format!("far above\none above\njust above\n{OOM}\njust below\ntwo below\nfar below\n");
    let server = Server::start(move |_, asked| match &*asked.path {
        "/job.log?sig=hush" => Answered::of(asked, lines.as_bytes(), "\"1\""),
        _ => Answered::new(404, "", ""),
    })?;
    let folder = tempfile::tempdir()?;
    let address = format!("http://{}/job.log?sig=hush", server.host);
    let page = oomdoc(folder.path()).args(["analyze", "--no-save", "--format", "html", &address]).output()?;
    let digest = oomdoc(folder.path()).args(["digest", "--node", "a", &address]).output()?;
    fs::write(folder.path().join("a.digest"), &digest.stdout)?;
    let merged = oomdoc(folder.path())
        .args(["merge", "--no-save", "--format", "html"])
        .arg(folder.path().join("a.digest"))
        .output()?;
    for page in [page.stdout, merged.stdout] {
        let page = String::from_utf8(page)?;
        for line in ["one above", "just above", "just below", "two below"] {
            assert!(page.contains(&format!("<span class=\"beside\">{line}</span>")), "{line}: {page}");
        }
        assert!(!page.contains("far above") && !page.contains("far below") && !page.contains("hush"), "{page}");
    }
    Ok(())
}

#[test]
fn errors_say_what_where_and_what_to_do_without_secrets() -> Outcome {
    let server = Server::start(|_, _| Answered::new(404, "", ""))?;
    let folder = tempfile::tempdir()?;
    let address = format!("http://me:hush@{}/job.log?sig=hush", server.host);
    for (language, words) in [("en", "there is nothing at this address: check it"), ("zh", "此地址上没有内容")]
    {
        let done = oomdoc(folder.path()).args(["analyze", "--lang", language, &address]).output()?;
        let said = String::from_utf8(done.stderr)?;
        assert_eq!(done.status.code(), Some(2));
        assert!(said.contains(words) && said.contains(&server.host) && !said.contains("hush"), "{said}");
    }
    // An address that fails does not keep the other inputs from being analysed.
    let done = oomdoc(folder.path()).args(["analyze", "--no-save", LOG, &address]).output()?;
    let said = String::from_utf8(done.stderr)?;
    assert!(
        done.status.success() && said.contains("there is nothing at this address") && !said.contains("hush"),
        "{said}"
    );
    Ok(())
}

#[test]
fn no_other_command_opens_an_address() -> Outcome {
    let server = server()?;
    let folder = tempfile::tempdir()?;
    let address = format!("http://{}/job.log?sig=hush", server.host);
    let bucket = "s3://logs/job.log".to_owned();
    for address in [&address, &bucket] {
        for arguments in [
            vec!["triage", address],
            vec!["fix", address],
            vec!["estimate", "--from", address],
            vec!["history", "similar", address],
            vec!["merge", address],
            vec!["history", "import", address],
            vec!["rules", "check", address],
        ] {
            let mut command = oomdoc(folder.path());
            command.env("AWS_ENDPOINT_URL", format!("http://{}", server.host));
            let done = command.args(&arguments).output()?;
            // `triage` succeeds without a report, so that a pipeline goes on.
            assert!(arguments[0] == "triage" || !done.status.success(), "{arguments:?}");
        }
    }
    let done = oomdoc(folder.path()).args(["triage", &address]).output()?;
    let said = String::from_utf8(done.stderr)?;
    assert!(said.contains("only `oomdoc analyze` and `oomdoc digest` read those") && !said.contains("hush"), "{said}");
    let mut assistant = Assistant::new(folder.path(), &[])?;
    for path in [&address, &bucket] {
        let problem = assistant.problem("analyze", json!({ "paths": [path] }))?;
        assert!(!problem.contains("hush"), "{problem}");
    }
    assert!(server.asked().is_empty(), "{:?}", server.asked());
    Ok(())
}
