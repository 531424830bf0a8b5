//! What a job is launched with: its command, written as a script, and the configuration files that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::config::{Document, Entry, EntryKind, Format, shell_word};
use crate::hexadecimal::hexadecimal;
use crate::knowledge::{Endings, Inputs, Knobs, is_among};
use crate::launch::without_file;

/// At most this many files, of at most this many bytes, are taken for configurations.
const MOST: usize = 16;
const LONGEST: u64 = 256 << 10;
/// At most this many names are looked up as files.
const MOST_LOOKS: usize = 128;
/// A command with more characters is written over several lines, one option per line.
const WIDTH: usize = 100;

/// A job's command and configuration files.
#[derive(Debug, Clone)]
pub struct Launched {
    /// The working directory.
    pub folder: PathBuf,
    /// A script that executes the command.
    pub script: String,
    /// The launch scripts and configurations that the command or another of these files names: their paths relative to
    /// the folder, and their texts.
    pub files: BTreeMap<String, String>,
}

impl Launched {
    /// The launch of `command` in `folder`; `None` where the command is not UTF-8.
    pub fn of(command: &[OsString], folder: &Path) -> Option<Launched> {
        let words: Vec<&str> = command.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
        Some(Launched::by_script(&script(&words), folder))
    }

    /// The launch of `script` in `folder`.
    pub fn by_script(script: &str, folder: &Path) -> Launched {
        let mut files = BTreeMap::new();
        let mut named: Vec<String> = names(script);
        // The job does not start before this loop ends, hence the bound.
        let mut looks = 0;
        while let Some(name) = named.pop().filter(|_| looks < MOST_LOOKS) {
            looks += 1;
            if files.len() < MOST
                && !files.contains_key(&name)
                && let Some(text) = text(&folder.join(&name))
            {
                // A name in a file may be relative to that file.
                let beside = Path::new(&name).parent().unwrap_or(Path::new(""));
                let here = |inner: String| match folder.join(&inner).is_file() {
                    true => inner,
                    false => beside.join(inner).to_string_lossy().into_owned(),
                };
                named.extend(names(&text).into_iter().take(MOST_LOOKS).map(here));
                files.insert(name, text);
            }
        }
        Launched { folder: folder.to_owned(), script: script.to_owned(), files }
    }

    /// The job's identity across attempts with other settings: a digest of its folder and of everything in its command
    /// and files except the values of `knobs` and the names of files.
    pub fn job(&self, knobs: &Knobs) -> String {
        let mut said: BTreeSet<String> = BTreeSet::from([self.folder.display().to_string()]);
        for document in self.documents() {
            for command in document.commands() {
                let words = command.words().chain(command.operands.iter().map(String::as_str));
                said.insert(words.filter(|word| !self.is_file(word)).collect::<Vec<&str>>().join(" "));
            }
            let entries = document.entries().iter().filter(|entry| entry.kind != EntryKind::Variable);
            let others = entries.filter(|entry| !self.is_file(&entry.value.to_string()) && !is_knob(entry, knobs));
            said.extend(others.map(|entry| format!("{}={}", entry.key, entry.value)));
        }
        let mut digest = Sha256::new();
        said.iter().for_each(|line| digest.update(format!("{line}\n")));
        hexadecimal(&digest.finalize()[..8])
    }

    /// The settings among `knobs`, by their keys.
    pub fn settings(&self, knobs: &Knobs) -> BTreeMap<String, String> {
        let documents: Vec<Document> = self.documents().collect();
        let entries = documents.iter().flat_map(Document::entries);
        let set = entries.filter(|entry| entry.kind != EntryKind::Variable && is_knob(entry, knobs));
        set.map(|entry| (plain_key(&entry.key).to_owned(), entry.value.to_string())).collect()
    }

    fn documents(&self) -> impl Iterator<Item = Document> {
        let command = Document::read_as(Format::Shell, "", &self.script).ok();
        let files = self.files.iter().filter_map(|(name, text)| Document::read(name.as_str(), text).ok());
        command.into_iter().chain(files)
    }

    fn is_file(&self, word: &str) -> bool {
        self.files.contains_key(word)
    }
}

/// A key as knobs spell it: without the file's name, an option's dashes and Hydra's `+`.
fn plain_key(key: &str) -> &str {
    without_file(key).trim_start_matches(['-', '+'])
}

fn is_knob(entry: &Entry, knobs: &Knobs) -> bool {
    let key = plain_key(&entry.key);
    knobs.iter().any(|knob| knob.knows(key) || knob.ends_in(key))
}

/// The words of a text that look like names of launch scripts or configurations.
fn names(text: &str) -> Vec<String> {
    let ends = &Inputs::shipped().ending;
    let is_one = |word: &&str| {
        let end = Endings::of(word);
        let known = [&ends.script, &ends.code, &ends.settings, &ends.nothing_but_settings];
        end == "json" || known.into_iter().any(|ends| is_among(ends, &end))
    };
    let parts = text.split(|c: char| c.is_whitespace() || "'\"`=;,()<>|&$".contains(c));
    let mut names: Vec<String> = parts.filter(is_one).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

/// The text of a regular file that is short enough for a configuration.
fn text(file: &Path) -> Option<String> {
    let is_one = fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LONGEST);
    is_one.then(|| fs::read_to_string(file).ok()).flatten()
}

/// A script that executes the command `words`.
fn script(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    let is_long = quoted.iter().map(|word| word.len() + 1).sum::<usize>() > WIDTH;
    let mut script = "#!/bin/sh\nexec".to_owned();
    for word in &quoted {
        script += if is_long && word.starts_with("--") { " \\\n    " } else { " " };
        script += word;
    }
    script + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn launched(folder: &Path, command: &str) -> Option<Launched> {
        let words: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        Launched::of(&words, folder)
    }

    #[test]
    fn a_script_becomes_its_command_word_for_word() -> Outcome {
        let words = ["printf", "%s|", "a b", "it's", "$HOME", "--x=1\n2", "", "--last"];
        let long = ["x"; 60].join("-");
        for words in [words.to_vec(), words.iter().copied().chain([long.as_str()]).collect()] {
            let said = std::process::Command::new("sh").arg("-c").arg(script(&words)).output()?;
            let expected: String = words[2..].iter().map(|word| format!("{word}|")).collect();
            assert_eq!(String::from_utf8(said.stdout)?, expected);
        }
        Ok(())
    }

    #[test]
    fn a_job_is_the_same_with_other_settings_and_another_with_another_model() -> Outcome {
        let (folder, knowledge) = (tempfile::tempdir()?, Knowledge::shipped()?);
        let at = folder.path();
        fs::write(at.join("ds.json"), "{\"zero_optimization\": {\"stage\": 2}}")?;
        fs::write(at.join("ds-2.json"), "{\"zero_optimization\": {\"stage\": 3}}")?;
        let of = |command: &str| launched(at, command).ok_or("no script");
        let first = of("deepspeed train.py --deepspeed ds.json --per_device_train_batch_size 8 --data a.jsonl")?;
        let second = of("deepspeed train.py --deepspeed ds-2.json --per_device_train_batch_size 4 --data a.jsonl")?;
        let other = of("deepspeed train.py --deepspeed ds.json --per_device_train_batch_size 8 --data b.jsonl")?;
        assert_eq!(first.job(&knowledge.knobs), second.job(&knowledge.knobs));
        assert_ne!(first.job(&knowledge.knobs), other.job(&knowledge.knobs));
        let settings = second.settings(&knowledge.knobs);
        assert_eq!(settings.get("per_device_train_batch_size").map(String::as_str), Some("4"));
        assert_eq!(settings.get("zero_optimization.stage").map(String::as_str), Some("3"));
        Ok(())
    }

    #[test]
    fn files_that_scripts_name_belong_to_the_job() -> Outcome {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("conf"))?;
        fs::write(
            folder.path().join("conf/run.sh"),
            "accelerate launch --config_file fsdp.yaml train.py conf/missing.json\n",
        )?;
        fs::write(folder.path().join("conf/fsdp.yaml"), "fsdp_config: {}\n")?;
        let launched = launched(folder.path(), "bash conf/run.sh").ok_or("no script")?;
        assert_eq!(launched.files.keys().collect::<Vec<_>>(), ["conf/fsdp.yaml", "conf/run.sh"]);
        Ok(())
    }
}
