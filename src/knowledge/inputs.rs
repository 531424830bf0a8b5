use std::sync::LazyLock;

use serde::Deserialize;

use super::file::File;
use super::read;
use crate::model::Role;

/// `rules/inputs.toml`: what an input is, and what its name says of the job that wrote it. The same for everybody: inputs are told apart
/// before any rule is asked.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// How names end.
    pub ending: Endings,
    /// What stands in texts.
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

/// How the names of inputs end, in small letters.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endings {
    /// Code, its tests, documents.
    pub written_by_people: Vec<String>,
    /// Launch scripts, however short.
    pub script: Vec<String>,
    /// What programs printed.
    pub log: Vec<String>,
    /// Configurations, unless they are what a cluster says of a pod.
    pub settings: Vec<String>,
    /// Configurations, whatever their lines look like.
    pub nothing_but_settings: Vec<String>,
}

/// Words that tell what a text is.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextWords {
    /// Stand in no configuration, comments aside.
    pub failure: Vec<String>,
    /// How a line begins that only says what it would print, or is there to avoid.
    pub said: Vec<String>,
    /// What Kubernetes says of what ran.
    pub cluster: Vec<String>,
    /// Stand in lines of a kernel's.
    pub kernel: Vec<String>,
    /// How lines of a kernel's begin.
    pub kernel_begins: Vec<String>,
    /// How lines of launch scripts begin.
    pub script_begins: Vec<String>,
    /// How lines of code begin.
    pub code_begins: Vec<String>,
}

/// Words of the names of files and folders.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameWords {
    /// What numbers the parts of one job.
    pub parts: Vec<String>,
    /// Of these the parts of which a job has thousands.
    pub many_parts: Vec<String>,
    /// What numbers jobs.
    pub jobs: Vec<String>,
    /// What says which of a job's programs wrote, or nothing at all.
    pub programs: Vec<String>,
    /// How the logs of a session begin that its workers share.
    pub session: Vec<String>,
}

/// An input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputExample {
    /// What it is, or what it is not.
    pub role: Role,
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// Its beginning.
    pub head: String,
}

static SHIPPED: LazyLock<Inputs> = LazyLock::new(|| read::inputs(&File::shipped()).unwrap_or_default());

impl Inputs {
    /// What is part of the binary.
    pub fn shipped() -> &'static Inputs {
        &SHIPPED
    }
}
