//! Every kind of secret in `redaction/kinds.toml`, in every disguise, in everything that is kept or leaves the machine.

use std::cell::RefCell;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use oomdoc::Language;
use oomdoc::Options;
use oomdoc::internal::history::{self, Record};
use oomdoc::internal::knowledge::{Knowledge, example_of_secret};
use oomdoc::internal::redact::Redactor;
use oomdoc::internal::report::{self, Length};
use oomdoc::internal::source::Input;
use oomdoc::internal::store::MemoryStore;
use oomdoc::internal::triage::{self, Comment, Environment, Forge, HttpError, Patience};
use oomdoc::model::{Citation, Column, LineNumber, Location, Report};
use serde::Deserialize;

use crate::support::effort;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[derive(Deserialize)]
struct Table {
    shaped: Vec<String>,
    bounded: Vec<String>,
    named: Vec<String>,
    around: Vec<String>,
    blocks: Vec<String>,
    harmless: Vec<String>,
}

/// A text and the secret in it.
#[derive(Clone)]
struct Case {
    text: String,
    secret: String,
}

impl Case {
    fn read(row: &str) -> Outcome<Case> {
        let row = example_of_secret(row);
        let (before, rest) = row.split_once('«').ok_or_else(|| format!("no secret in {row}"))?;
        let (secret, after) = rest.split_once('»').ok_or("no end of the secret")?;
        Ok(Case { text: format!("{before}{secret}{after}"), secret: secret.to_owned() })
    }

    fn with(&self, secret: &str) -> String {
        self.text.replacen(&self.secret, secret, 1)
    }

    /// Whether `text` shows eight consecutive characters of the secret, ignoring characters between them; of a shorter
    /// secret, all of it.
    fn leaks(&self, text: &str) -> bool {
        let secret = squashed(&self.secret);
        match secret.len() {
            ..8 => text.contains(&self.secret),
            _ => {
                let text = squashed(text);
                (0..=secret.len() - 8).step_by(4).any(|at| text.contains(&secret[at..at + 8]))
            }
        }
    }
}

fn squashed(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}

fn table() -> Outcome<Table> {
    Ok(toml::from_str(include_str!("redaction/kinds.toml"))?)
}

fn cases(rows: &[String]) -> Outcome<Vec<Case>> {
    rows.iter().map(|row| Case::read(row)).collect()
}

fn redactor() -> Outcome<Redactor> {
    Ok(Redactor::new(&Knowledge::shipped()?.secrets)?)
}

/// Ways in which a log may disguise `case`: a name, and the text as it stands in the log.
fn disguises(case: &Case, is_bounded: bool, is_shaped: bool) -> Vec<(&'static str, String)> {
    let Case { text, secret } = case;
    let middle = secret.floor_char_boundary(secret.len() / 2);
    let (first, second) = secret.split_at(middle);
    let mut ways = vec![
        ("plain", text.clone()),
        ("colour", case.with(&format!("\u{1b}[33m{secret}\u{1b}[0m"))),
        ("mangled colour", case.with(&format!(r"\x1b[33m{secret}\x1b[0m"))),
        ("colour without its escape", case.with(&format!("[1;33m{secret}[0m"))),
        ("colour within", case.with(&format!("{first}\u{1b}[0m{second}"))),
        ("zero width", case.with(&format!("{first}\u{200b}{second}"))),
        ("escaped line end", format!(r"step 1\n{text}\nstep 2")),
        ("escaped tab", format!(r"step 1\t{text}\tstep 2")),
        ("in JSON", serde_json::json!({ "log": text }).to_string()),
        ("in JSON in JSON", format!(r#"{{\"log\":\"{}\"}}"#, text.replace('"', "\\\\\\\""))),
        ("quoted", format!("'{text}'")),
        ("in HTML", text.replace('"', "&quot;")),
        ("in a diff", text.lines().map(|line| format!("+{line}\n")).collect()),
    ];
    // A key without its first line is only recognised by whole lines.
    if secret.contains('\n') && text.starts_with(secret) {
        ways.retain(|(_, hidden)| hidden.starts_with(secret) || hidden.starts_with('+'));
    }
    if !is_bounded && is_shaped {
        ways.push(("behind a word", format!("word{text}")));
        ways.push(("behind a name", format!("word_{text}")));
    }
    if is_shaped {
        ways.push(("encoded", format!("x%3D{text}%26y")));
        ways.push(("encoded twice", format!("x%253D{text}")));
        ways.push(("as Python's bytes", format!("b'{text}'")));
        ways.push(("in a tuple", format!("('x', '{text}')")));
        ways.push(("in two strings", format!("\"{first}\" \"{second}\"")));
        ways.push(("added up", format!("'{first}' + '{second}'")));
        ways.push(("wrapped", format!("see {first}\n{second} there")));
        ways.push(("wrapped in a table", format!("│ {first} │\n│ {second} │")));
        ways.push(("wrapped by a shell", format!("x={first}\\\n  {second}")));
        ways.push(("full-width colon", format!("x：{text}")));
    }
    ways
}

#[test]
fn at_least_128_kinds_and_40_look_alikes() -> Outcome {
    let Table { shaped, bounded, named, around, blocks, harmless } = table()?;
    let mut kinds = [shaped, bounded, named, around, blocks].concat();
    kinds.sort();
    kinds.dedup();
    assert!(kinds.len() >= 128 && harmless.len() >= 40, "{} and {}", kinds.len(), harmless.len());
    Ok(())
}

#[test]
fn every_kind_is_masked_in_every_disguise() -> Outcome {
    let redactor = redactor()?;
    let table = table()?;
    let mut leaks = Vec::new();
    let groups = [
        (&table.shaped, false, true),
        (&table.bounded, true, true),
        (&table.named, true, false),
        (&table.around, true, false),
        (&table.blocks, true, false),
    ];
    for (rows, is_bounded, is_shaped) in groups {
        for case in cases(rows)? {
            for (way, text) in disguises(&case, is_bounded, is_shaped) {
                let masked = redactor.text(&text);
                if case.leaks(&masked) {
                    leaks.push(format!("{way}: {text:?} → {masked:?}"));
                }
                assert_eq!(masked.lines().count(), text.lines().count(), "{text:?} → {masked:?}");
            }
        }
    }
    assert!(leaks.is_empty(), "{} leak:\n{}", leaks.len(), leaks.join("\n"));
    Ok(())
}

#[test]
fn what_only_looks_like_a_secret_stays() -> Outcome {
    let redactor = redactor()?;
    let changed: Vec<String> = table()?
        .harmless
        .iter()
        .flat_map(|text| {
            [text.clone(), format!("+    {text}\n"), format!("\u{1b}[33m{text}\u{1b}[0m"), format!("'{text}'")]
        })
        .map(|text| (redactor.text(&text).into_owned(), text))
        .filter(|(masked, text)| masked != text)
        .map(|(masked, text)| format!("{text:?} → {masked:?}"))
        .collect();
    assert!(changed.is_empty(), "{}", changed.join("\n"));
    Ok(())
}

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free. ";
const LOG: &str = "Traceback (most recent call last):\n  File \"/w/train.py\", line 3, in main\n    loss.backward()\n";

/// `text` where it can stand in a single line, otherwise nothing.
fn in_one_line(text: &str) -> &str {
    if text.contains('\n') { "" } else { text }
}

/// The report on a log with `text` in its evidence, before it and after it, and on a script with `text` beside the
/// setting to change.
fn analyzed(text: &str, knowledge: &Arc<Knowledge>) -> Outcome<Report> {
    let line = in_one_line(text);
    let log = format!("[2026-10-01 12:00:00] step 1\n{text}\n{LOG}{OOM}{line}\n{text}\nstep 2\n");
    let script = format!(
        "#!/bin/bash\n# {line}\ndeepspeed --num_gpus 8 train.py \\\n    --per_device_train_batch_size 16 \\\n    --gradient_checkpointing False\n# {line}\n{text}\n"
    );
    let inputs = vec![
        Input::new("job.log", std::io::Cursor::new(log.into_bytes()))?,
        Input::new("run.sh", std::io::Cursor::new(script.into_bytes()))?,
    ];
    let options = Options::default().knowledge(Arc::clone(knowledge)).threads(1);
    Ok(oomdoc::internal::analyze_inputs(inputs, Vec::new(), &options)?)
}

fn cite(line: u64, text: &str) -> Citation {
    Citation::new(Location::new("job.log", LineNumber(line), Column(1)), text)
}

/// `report` with `text` in every field that may hold text from an input.
fn filled(mut report: Report, text: &str) -> Outcome<Report> {
    let line = in_one_line(text).to_owned();
    report.neighbours.extend((100..).zip(text.lines()).map(|(number, line)| cite(number, line)));
    let incident = report.incidents.first_mut().ok_or("no incident")?;
    incident.evidence.extend((100..).zip(text.lines()).map(|(number, line)| cite(number, line)));
    incident.victim.role = Some(line.as_str().into());
    incident.phase.site = Some(line.clone());
    incident.memory.explains = Some(text.to_owned());
    incident.figures.iter_mut().for_each(|figure| figure.text.clone_from(&line));
    report.job.model = Some(line.clone());
    report.inputs[0].warning = Some(line.clone());
    let diagnosis = incident.diagnoses.first_mut().ok_or("no diagnosis")?;
    diagnosis.why.clone_from(&line);
    for patch in &mut diagnosis.patches {
        let context: String = text.lines().map(|line| format!(" {line}\n")).collect();
        patch.diff = patch.diff.take().map(|diff| diff + &context);
        patch.from = Some(line.clone());
    }
    Ok(report)
}

/// A forge that remembers the comment.
#[derive(Default)]
struct Said(RefCell<String>);

impl Forge for Said {
    fn own(&self, _: &str) -> Result<Vec<Comment>, HttpError> {
        Ok(Vec::new())
    }
    fn create(&self, body: &str) -> Result<u64, HttpError> {
        body.clone_into(&mut self.0.borrow_mut());
        Ok(1)
    }
    fn update(&self, _: u64, _: &str) -> Result<(), HttpError> {
        Ok(())
    }
    fn delete(&self, _: u64) -> Result<(), HttpError> {
        Ok(())
    }
    fn address(&self, _: u64) -> Option<String> {
        None
    }
    fn patience(&self) -> Patience {
        Patience::default()
    }
}

/// Every output of `report` that leaves the machine or is kept.
fn outputs(report: &Report, redactor: &Redactor, knowledge: &Knowledge) -> Outcome<Vec<(&'static str, String)>> {
    let (sent, masked) = report::outgoing(report, redactor);
    assert!(masked > 0);
    let said = Said::default();
    triage::comment(&said, std::slice::from_ref(&sent), Language::En, &Environment::default())?;
    let (mut store, mut imported) = (MemoryStore::default(), MemoryStore::default());
    let record = Record::of(report, redactor)?.ok_or("no incident")?;
    history::add(&mut store, std::slice::from_ref(&record))?;
    let exported = |store: &MemoryStore| -> Outcome<String> {
        let mut lines = Vec::new();
        history::export(store, &mut lines)?;
        Ok(String::from_utf8(lines)?)
    };
    // An export of a user who had masking switched off.
    let verbatim = Record::of(report, &Redactor::new(&[])?)?.ok_or("no incident")?;
    let line = serde_json::json!({ "incident": verbatim }).to_string();
    history::import(&mut imported, &mut line.as_bytes(), redactor)?;
    Ok(vec![
        ("json", report::json(&sent)?),
        ("html", report::html(std::slice::from_ref(&sent), Language::En)),
        ("markdown and summary", report::markdown(&sent, Language::En)),
        ("text", report::text(&sent, Language::En, Length::Full, None)),
        ("sarif", report::sarif(std::slice::from_ref(&sent), Language::En, Path::new("."), &knowledge.causes)?),
        ("annotation", report::github(&sent, Language::En, Path::new("."))),
        ("comment", said.0.into_inner()),
        ("notify", report::brief(&sent, Language::En)),
        ("history", String::from_utf8(record.bytes()?)?),
        ("export", exported(&store)?),
        ("import", exported(&imported)?),
    ])
}

#[test]
fn nothing_that_leaves_has_a_secret() -> Outcome {
    let (redactor, knowledge) = (redactor()?, Arc::new(Knowledge::shipped()?));
    let Table { shaped, bounded, named, around, blocks, .. } = table()?;
    let base = analyzed("step 2", &knowledge)?;
    assert!(
        base.incidents[0].diagnoses.iter().any(|diagnosis| diagnosis.patches.iter().any(|patch| patch.diff.is_some()))
    );
    let mut leaks = Vec::new();
    for case in cases(&[shaped, bounded, named, around, blocks].concat())? {
        let plain = analyzed(&case.text, &knowledge)?;
        assert!(case.leaks(&report::json(&plain)?) || case.text.contains('\n'), "{} is nowhere", case.text);
        let colour = case.with(&format!("\u{1b}[33m{}\u{1b}[0m", case.secret));
        for (way, report) in [("analysed", plain), ("everywhere behind a colour", filled(base.clone(), &colour)?)] {
            let outputs = outputs(&report, &redactor, &knowledge)?;
            let leaking = outputs.iter().filter(|(_, text)| case.leaks(text)).map(|(name, _)| *name);
            leaks.extend(leaking.map(|name| format!("{way}, {name}: {}", case.text)));
        }
    }
    assert!(leaks.is_empty(), "{} leak:\n{}", leaks.len(), leaks.join("\n"));
    Ok(())
}

#[test]
fn a_token_that_a_terminal_broke_is_masked_in_both_its_lines() -> Outcome {
    let (redactor, knowledge) = (redactor()?, Arc::new(Knowledge::shipped()?));
    let base = analyzed("step 2", &knowledge)?;
    for case in cases(&table()?.shaped)? {
        let (first, second) = case.secret.split_at(case.secret.len() / 2);
        let mut report = base.clone();
        let lines = [format!("login with {first}"), format!("{second} failed")];
        report.incidents[0].evidence.extend((100..).zip(&lines).map(|(number, line)| cite(number, line)));
        for (name, text) in outputs(&report, &redactor, &knowledge)? {
            assert!(!case.leaks(&text), "{name}: {}", case.text);
            assert!(name != "json" || text.contains(" failed"), "{text}");
        }
    }
    Ok(())
}

#[test]
fn names_of_our_own_are_nobodys_secrets() -> Outcome {
    let knowledge = Arc::new(Knowledge::shipped()?);
    let mut everything = knowledge.secrets[0].clone();
    (everything.pattern, everything.unless, everything.harmless) = ("[a-z_0-9.]+".to_owned(), None, Vec::new());
    everything.triggers.clear();
    let report = analyzed("step 2", &knowledge)?;
    let (sent, _) = report::outgoing(&report, &Redactor::new(&[everything])?);
    let (was, is) = (&report.incidents[0], &sent.incidents[0]);
    assert_ne!(was.evidence[0].text, is.evidence[0].text);
    assert_eq!((was.kind, &was.id, was.phase.name), (is.kind, &is.id, is.phase.name));
    assert_eq!(was.fingerprint.key, is.fingerprint.key);
    assert_eq!(was.diagnoses[0].cause, is.diagnoses[0].cause);
    let amounts = |report: &Report| -> Vec<_> {
        report.incidents[0].figures.iter().map(|f| (f.name, f.bytes, f.value, f.source.line)).collect()
    };
    assert_eq!(amounts(&report), amounts(&sent));
    let again: Report = serde_json::from_str(&report::json(&sent)?)?;
    assert_eq!(again, sent);
    Ok(())
}

#[test]
fn a_report_without_secrets_is_sent_as_it_is() -> Outcome {
    let (redactor, knowledge) = (redactor()?, Arc::new(Knowledge::shipped()?));
    for text in &table()?.harmless {
        let report = analyzed(text, &knowledge)?;
        let (sent, masked) = report::outgoing(&report, &redactor);
        assert_eq!(report::json(&sent)?, report::json(&report)?);
        assert_eq!(masked, 0, "{text}");
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn the_cost_grows_as_the_text_does() -> Outcome {
    let redactor = redactor()?;
    let pieces = [
        "a",
        "\\",
        "\"",
        "' ",
        "'",
        "\n",
        " \n",
        "\\\n",
        "%25",
        "%",
        "\u{200b}",
        "token",
        "token=",
        "password: ",
        "--password ",
        "\"password\",",
        "a@b.",
        "x@",
        "https://a",
        "http://x?a",
        "-----BEGIN PRIVATE KEY-----",
        "ghp_a\n",
        "wandb ",
        "sk-a-",
        "eyJaaaaaaaaa.",
        "value: ",
        "A",
        "AB12+/",
        "curl -u ",
        "mysql ",
        "<password>",
        "api_key=[",
        "\u{1b}[",
        "\u{1b}]",
        "1:",
        "：",
        "\\u00",
        "login ",
        "│\n",
    ];
    for piece in pieces {
        let [short, long] = [1 << 14, 1 << 18].map(|bytes: usize| piece.repeat(bytes / piece.len()));
        let redact = |text: &str| -> Outcome {
            std::hint::black_box(redactor.text(text));
            Ok(())
        };
        redact(&short)?;
        // The input is sixteen times as long; quadratic time would be 256 times as much.
        effort::is_within(64, || redact(&short), || redact(&long)).map_err(|error| format!("{piece:?}: {error}"))?;
    }
    Ok(())
}
