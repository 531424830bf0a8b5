use std::sync::LazyLock;

use serde::Deserialize;

use super::file::File;
use super::launchers::is_among;
use super::read;
use crate::model::Role;

/// `rules/inputs.toml`: how to tell what an input is, and what its name says about the job that wrote it. Users cannot change it, because
/// inputs are classified before any rule is read.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// Endings of names.
    pub ending: Endings,
    /// Words in texts.
    pub text: TextWords,
    /// Words of the names of files and folders.
    pub name: NameWords,
    /// Inputs and what they are.
    #[serde(default)]
    pub example: Vec<InputExample>,
    /// Inputs and what they are not.
    #[serde(default)]
    pub near_miss: Vec<InputExample>,
}

/// Endings of the names of inputs, in lower case.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endings {
    /// Code, tests, documents.
    pub written_by_people: Vec<String>,
    /// Python code, of which the settings are read.
    pub code: Vec<String>,
    /// Launch scripts, however short.
    pub script: Vec<String>,
    /// Logs.
    pub log: Vec<String>,
    /// Configurations, unless the content is a cluster's description of a pod.
    pub settings: Vec<String>,
    /// Configurations, whatever the content looks like.
    pub nothing_but_settings: Vec<String>,
}

impl Endings {
    /// Whether the file at `path` is Python code.
    pub fn is_code(&self, path: &str) -> bool {
        is_among(&self.code, &Endings::of(path))
    }

    /// The ending of a file's name, in lower case.
    pub fn of(path: &str) -> String {
        let name = path.rsplit(['/', '\\', ':']).next().unwrap_or_default();
        name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default()
    }
}

/// Words that tell what a text is.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextWords {
    /// Words that occur in no configuration except in comments.
    pub failure: Vec<String>,
    /// Beginnings of lines that only mention a failure: what they would print or help to avoid.
    pub said: Vec<String>,
    /// Words before what a server repeats of its users' words.
    pub heard: Vec<String>,
    /// Parts of words that say what a program did about a refused allocation.
    pub answered: Vec<String>,
    /// Parts of words that say that what was killed is started again.
    pub again: Vec<String>,
    /// Parts of words that say that it is not.
    pub not_again: Vec<String>,
    /// Words of Kubernetes about a container that ran.
    pub cluster: Vec<String>,
    /// Words in a kernel's lines.
    pub kernel: Vec<String>,
    /// Beginnings of a kernel's lines.
    pub kernel_begins: Vec<String>,
    /// Beginnings of lines of launch scripts.
    pub script_begins: Vec<String>,
    /// Beginnings of lines of code.
    pub code_begins: Vec<String>,
}

impl TextWords {
    /// Whether `line`, of a refused allocation, also says what the program did about it.
    pub fn is_answered(&self, line: &str) -> bool {
        stand_in(&self.answered, &line.to_lowercase())
    }

    /// Whether `line`, of a kill, says that what was killed is started again.
    pub fn is_started_again(&self, line: &str) -> bool {
        let line = line.to_lowercase();
        stand_in(&self.again, &line) && !stand_in(&self.not_again, &line)
    }
}

fn stand_in(words: &[String], line: &str) -> bool {
    words.iter().any(|word| line.contains(word.as_str()))
}

/// Words of the names of files and folders.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameWords {
    /// Words before the number of a part of one job.
    pub parts: Vec<String>,
    /// Those of them of which a job has thousands.
    pub many_parts: Vec<String>,
    /// Words before the number of a job.
    pub jobs: Vec<String>,
    /// Words that name one of a job's programs, or mean nothing.
    pub programs: Vec<String>,
    /// Beginnings of names of a session's logs, which its workers share.
    pub session: Vec<String>,
    /// Parts of the paths of programs that run Python.
    pub runs_python: Vec<String>,
}

impl NameWords {
    /// Whether the program at the path `command` runs Python.
    pub fn runs_python(&self, command: &str) -> bool {
        stand_in(&self.runs_python, command)
    }
}

/// An input with a role.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputExample {
    /// The role that it has, or must not have.
    pub role: Role,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its beginning.
    pub head: String,
}

static SHIPPED: LazyLock<Inputs> = LazyLock::new(|| read::inputs(&File::shipped()).unwrap_or_default());

impl Inputs {
    /// The words in the binary.
    pub fn shipped() -> &'static Inputs {
        &SHIPPED
    }
}
