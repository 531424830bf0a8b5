//! The pages are correct: links lead somewhere, commands parse, examples are read, and generated pages are up to date.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Component, Path, PathBuf};

use assert_cmd::Command;
use clap::error::ErrorKind;
use oomdoc::internal::knowledge::Knowledge;
use saphyr_parser::{Event, Parser};

use crate::support::pages::{Code, Page, top};

#[allow(dead_code)]
#[path = "../../examples/causes_doc.rs"]
mod causes_doc;
type Outcome = Result<(), Box<dyn Error>>;

/// The target of a page's link: a path from the top of the repository, and an anchor.
fn target<'l>(page: &Page, link: &'l str) -> (PathBuf, Option<&'l str>) {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    if path.is_empty() {
        return (page.path.clone(), anchor);
    }
    let mut whole = PathBuf::new();
    for part in page.path.parent().unwrap_or(Path::new("")).join(path).components() {
        match part {
            Component::ParentDir if whole.pop() => (),
            part => whole.push(part),
        }
    }
    (whole, anchor)
}

fn leads_elsewhere(link: &str) -> bool {
    link.contains("://") || link.starts_with("mailto:")
}

#[test]
fn links_lead_to_files_and_anchors_that_are_there() -> Outcome {
    let pages = Page::read_all()?;
    let anchors: BTreeMap<&Path, Vec<String>> = pages.iter().map(|page| (&*page.path, page.anchors())).collect();
    let mut broken = Vec::new();
    for page in &pages {
        for link in page.links.iter().filter(|link| !leads_elsewhere(link)) {
            let (path, anchor) = target(page, link);
            let is_there = match anchor {
                Some(anchor) => anchors.get(&*path).is_some_and(|anchors| anchors.iter().any(|known| known == anchor)),
                None => top().join(&path).exists(),
            };
            if !is_there {
                broken.push(format!("{}: {link}", page.path.display()));
            }
        }
    }
    assert!(pages.iter().map(|page| page.links.len()).sum::<usize>() > 300, "most links were not looked at");
    assert_eq!(broken, Vec::<String>::new());
    Ok(())
}

#[test]
fn the_site_has_every_page_of_docs_once_and_nothing_from_elsewhere() -> Outcome {
    let summary = Page::read(Path::new("docs/SUMMARY.md"))?;
    let mut listed: Vec<PathBuf> = summary.links.iter().map(|link| target(&summary, link).0).collect();
    listed.sort();
    let pages = Page::read_all()?;
    let of_docs = |page: &&Page| page.path.starts_with("docs") && page.path != summary.path;
    let docs: Vec<PathBuf> = pages.iter().filter(of_docs).map(|page| page.path.clone()).collect();
    assert_eq!(listed, docs, "docs/SUMMARY.md lists the pages of docs/");
    for page in pages.iter().filter(of_docs) {
        for link in page.links.iter().filter(|link| !leads_elsewhere(link)) {
            let is_within = target(page, link).0.starts_with("docs");
            assert!(is_within, "{}: the site has no {link}: name it instead of linking to it", page.path.display());
        }
    }
    Ok(())
}

#[test]
fn causes_and_levers_are_those_of_the_rules() -> Outcome {
    let written = causes_doc::render(&Knowledge::shipped()?, &top().join("corpus"))?;
    for (path, page) in &written {
        let shown = fs::read_to_string(top().join("docs").join(path)).unwrap_or_default();
        assert!(shown == *page, "docs/{path} is out of date: cargo run --example causes_doc -- docs");
    }
    for entry in fs::read_dir(top().join("docs/causes"))? {
        let name = format!("causes/{}", entry?.file_name().to_string_lossy());
        assert!(written.contains_key(&name), "docs/{name} is of no rule");
    }
    Ok(())
}

/// The words of each command in `script` that calls oomdoc, also through cargo. The bare name is no command.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    for line in script.replace("\\\n", " ").lines() {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for c in line.chars() {
            match (quote, c) {
                (Some(open), _) if open == c => quote = None,
                (Some(_), _) => word.get_or_insert_default().push(c),
                (None, '"' | '\'') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, '#') if word.is_none() => break,
                (None, ' ') => words.extend(word.take()),
                (None, '|' | ';' | '&') => {
                    words.extend(word.take());
                    commands.push(std::mem::take(&mut words));
                }
                (None, _) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        commands.push(words);
    }
    let called = |words: Vec<String>| match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["oomdoc", _, ..] => Some(words),
        ["uvx", "oomdoc", ..] => Some(words[1..].to_vec()),
        ["cargo", "run", "--release", "--", ..] => Some([&["oomdoc".to_owned()], &words[4..]].concat()),
        _ => None,
    };
    commands.into_iter().filter_map(called).collect()
}

#[test]
fn commands_are_read_as_a_shell_does() {
    let script = "kubectl logs job/train | oomdoc analyze - # a pipe\noomdoc history search 'a b:\"c d\"' \\\n  --json && oomdoc x\n#oomdoc y\ngrep oomdoc";
    let words: Vec<String> = commands(script).iter().map(|words| words.join("·")).collect();
    assert_eq!(words, ["oomdoc·analyze·-", "oomdoc·history·search·a b:\"c d\"·--json", "oomdoc·x"]);
}

/// The strings of a YAML document, which may hold scripts; none where it cannot be parsed.
fn strings(yaml: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let mut strings = Vec::new();
    for event in Parser::new_from_str(yaml) {
        if let (Event::Scalar(words, ..), _) = event? {
            strings.push(words.into_owned());
        }
    }
    Ok(strings)
}

/// Runs `oomdoc rules check` on `text` as a user's file of rules, which also runs its examples.
fn check_rules(text: &str, folder: &str) -> Outcome {
    let rules = tempfile::tempdir()?;
    fs::create_dir_all(rules.path().join(folder))?;
    fs::write(rules.path().join(folder).join("example.toml"), text)?;
    let mut oomdoc = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    let checked =
        oomdoc.env("OOMDOC_HOME", rules.path().join("home")).args(["rules", "check"]).arg(rules.path()).output()?;
    let said = String::from_utf8_lossy(&checked.stdout).into_owned() + &String::from_utf8_lossy(&checked.stderr);
    if checked.status.success() { Ok(()) } else { Err(said.into()) }
}

fn check_toml(text: &str) -> Outcome {
    let table: toml::Table = toml::from_str(text)?;
    let folders = [("cause", "causes"), ("knob", "knobs"), ("message", "messages"), ("secret", "redaction")];
    match folders.iter().find(|(key, _)| table.contains_key(*key)) {
        Some((_, folder)) => check_rules(text, folder),
        None => Ok(()),
    }
}

/// Checks that the command line accepts `words`, and that the files of this repository they name are read.
fn check_command(words: &[String]) -> Outcome {
    let parsed = oomdoc::internal::cli::command().try_get_matches_from(words);
    if let Err(error) = parsed
        && !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
    {
        return Err(format!("{}: {error}", words.join(" ")).into());
    }
    if words.iter().any(|word| word.starts_with("corpus/")) {
        let home = tempfile::tempdir()?;
        let mut oomdoc = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        let ran = oomdoc.current_dir(top()).env("OOMDOC_HOME", home.path()).args(&words[1..]).output()?;
        if !ran.status.success() {
            return Err(format!("{}: {}", words.join(" "), String::from_utf8_lossy(&ran.stderr)).into());
        }
    }
    Ok(())
}

fn check_code(Code { language, text }: &Code) -> Result<usize, Box<dyn Error>> {
    let scripts = match language.as_deref() {
        Some("sh" | "bash") => vec![text.clone()],
        Some("yaml") => strings(text)?,
        Some("toml") => return check_toml(text).map(|()| 0),
        Some("json") => return Ok(serde_json::from_str::<serde_json::Value>(text).map(|_| 0)?),
        // Commands are only checked in blocks marked `sh`, so an unmarked block may hold none.
        None if !commands(text).is_empty() => return Err("an indented command: put it between ```sh and ```".into()),
        _ => return Ok(0),
    };
    let commands: Vec<_> = scripts.iter().flat_map(|script| commands(script)).collect();
    commands.iter().try_for_each(|words| check_command(words))?;
    Ok(commands.len())
}

#[test]
fn code_on_the_pages_is_what_the_program_reads() -> Outcome {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in Page::read_all()? {
        for code in &page.code {
            match check_code(code) {
                Ok(commands) => count += commands,
                Err(error) => wrong.push(format!("{}: {error}\n{}", page.path.display(), code.text)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "only {count} commands were found");
    Ok(())
}
