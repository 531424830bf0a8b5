//! A message that a user adds: imported without any Rust, read in a log, and used by a cause of the user's own.

use std::error::Error;
use std::fs;
use std::sync::Arc;

use oomdoc::internal::knowledge::{Knowledge, KnowledgeError, RuleFile};
use oomdoc::internal::rulebase::{RuleSource, check};
use oomdoc::{Options, analyze};

const MESSAGES: &str = r#"
producer = "house"

[[message]]
text = "arena exhausted"
pattern = "arena exhausted: wanted {requested:size} of {house.arena_limit:size} on card {device:number}"
kind = "gpu_oom"
phase = "rollout"

[[message]]
pattern = "arena policy: {house.policy:word}"

[[example]]
version = "house 3"
text = "arena exhausted: wanted 3.50 GiB of 40.00 GiB on card 5"
states = [["kind", "gpu_oom"], ["requested", "3.50 GiB"], ["house.arena_limit", "40.00 GiB"], ["device", "5"]]

[[near_miss]]
text = "raise ArenaError('arena exhausted: wanted 3.50 GiB')"
"#;

const CAUSE: &str = r#"
id = "house_arena"
cause = "kv_cache_overcommit"
kinds = ["gpu_oom"]
prior = -2.0
references = []

[title]
en = "The house's arena is too small"

[explanation]
en = "The arena hands out no more than its limit."

[not_concluded]
en = "Which tensors fill it."

[[evidence]]
group = "message"
when = 'house.policy == "strict" && house.arena_limit > 1.0e9'
log_odds = 8.0
why.en = "The arena says so."
"#;

const LOG: &str = "step 1\narena policy: strict\nERROR arena exhausted: wanted 3.50 GiB of 40.00 GiB on card 5\n";

type Outcome = Result<(), Box<dyn Error>>;

fn own(path: &str, content: &str) -> RuleFile {
    RuleFile { path: path.to_owned(), content: content.to_owned() }
}

fn report(knowledge: Knowledge) -> Result<serde_json::Value, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("job.log");
    fs::write(&log, LOG)?;
    let options = Options::default().knowledge(Arc::new(knowledge));
    Ok(serde_json::to_value(analyze(&[log.to_string_lossy().into_owned()], &options)?)?)
}

#[test]
fn a_users_message_is_read_without_any_rust() -> Outcome {
    assert_eq!(report(Knowledge::shipped()?)?["verdict"], "none");
    let report = report(Knowledge::with_own(&[own("messages/house.toml", MESSAGES)])?)?;
    assert_eq!(report["verdict"], "gpu_oom");
    let incident = &report["incidents"][0];
    assert_eq!(incident["phase"]["name"], "rollout");
    assert_eq!(incident["victim"]["device"], 5);
    let requested = &incident["figures"][0];
    assert_eq!((&requested["name"], &requested["text"]), (&"requested".into(), &"3.50 GiB".into()));
    assert_eq!(requested["source"]["line"], 3);
    Ok(())
}

#[test]
fn a_cause_may_ask_for_its_facts() -> Outcome {
    let files = [own("messages/house.toml", MESSAGES), own("causes/house_arena.toml", CAUSE)];
    let report = report(Knowledge::with_own(&files)?)?;
    let diagnosis = &report["incidents"][0]["diagnoses"][0];
    assert_eq!(diagnosis["rule"], "house_arena", "{diagnosis:#}");
    let folder = tempfile::tempdir()?;
    for file in &files {
        let path = folder.path().join(&file.path);
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        fs::write(path, &file.content)?;
    }
    let unknown = check(&RuleSource::read(folder.path())?)?.findings;
    assert!(unknown.iter().all(|finding| !finding.problem.contains("no fact is called")), "{unknown:#?}");
    Ok(())
}

#[test]
fn its_examples_are_checked() -> Outcome {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("messages"))?;
    let file = folder.path().join("messages/house.toml");
    fs::write(&file, MESSAGES)?;
    let checked = check(&RuleSource::read(folder.path())?)?;
    assert_eq!((checked.findings.as_slice(), checked.examples), (&[][..], 2));
    fs::write(&file, MESSAGES.replace("[\"requested\", \"3.50 GiB\"]", "[\"requested\", \"4 GiB\"]"))?;
    let checked = check(&RuleSource::read(folder.path())?)?;
    assert!(checked.fails() && checked.findings[0].problem.contains("4 GiB"), "{:#?}", checked.findings);
    Ok(())
}

#[test]
fn what_cannot_be_is_told() {
    for (content, problem) in [
        ("producer = \"x\"\n[[message]]\ntext = \"a\"", "states nothing"),
        ("producer = \"x\"\n[[message]]\nkind = \"gpu_oom\"", "so no line is it"),
        ("producer = \"x\"\n[[message]]\npattern = \"a {gone:size}\"", "no figure"),
        ("producer = \"x\"\n[[message]]\ntext = \" \"\nkind = \"gpu_oom\"", "every line"),
        ("producer = \"x\"\n[[message]]\ntext = \"a\"\nexit = \"signal\"", "slot `signal`"),
    ] {
        let told = Knowledge::with_own(&[own("messages/x.toml", content)]).map(|_| ());
        let is_told = matches!(&told, Err(KnowledgeError::Wrong { problem: said, .. }) if said.contains(problem));
        assert!(is_told, "{content}: {told:?}");
    }
}
