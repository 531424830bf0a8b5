use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Value;
use crate::model::{Citation, Location};

/// One setting of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name: a path (`zero_optimization.stage`, `list[0]`), a flag without its dashes, a variable.
    pub key: String,
    /// What it is set to, variables resolved where the text assigns them.
    pub value: Value,
    /// What kind of name the key is.
    pub kind: EntryKind,
    /// The value as it stands there (its first line); of a switch without a value the switch.
    pub at: Citation,
    /// Where the value comes from when `at` only names it: a variable's assignment, an anchor.
    pub defined: Option<Citation>,
    /// Which of [`Document::commands`](super::Document::commands) it is given to.
    pub command: Option<usize>,
    /// Bytes of the document that hold the value.
    pub span: Range<usize>,
}

/// What kind of name a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A key of a configuration file or of a printed configuration.
    Setting,
    /// `--zero_stage 3`
    Flag,
    /// `data.rollout_batch_size=128`, of hydra and OmegaConf.
    Override,
    /// `export RAY_DEDUP_LOGS=0`, `CUDA_VISIBLE_DEVICES=0 python3 …`
    Env,
    /// `BATCH=128`: of the script itself, not of the processes it starts.
    Variable,
    /// `#SBATCH --mem=64G`
    Directive,
}

/// A command of a launch script. Of `srun torchrun train.py` there are three, each with settings of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Its name without its path; empty where a launcher runs the target.
    pub program: String,
    /// The script, module or subcommand that it runs.
    pub target: Option<String>,
    /// What is given to it besides settings.
    pub operands: Vec<String>,
    /// Where its call begins.
    pub at: Location,
}

impl Command {
    /// What it is called by: its program and what that runs, as far as there are both.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let words = [Some(self.program.as_str()), self.target.as_deref()];
        words.into_iter().flatten().filter(|word| !word.is_empty())
    }

    /// The same as one would type it: `deepspeed train.py`.
    pub fn typed(&self) -> String {
        self.words().collect::<Vec<_>>().join(" ")
    }
}

/// A command as the reader finds it.
#[derive(Debug, Clone)]
pub(super) struct FoundCommand {
    pub program: String,
    pub target: Option<String>,
    pub operands: Vec<String>,
    pub at: usize,
}

/// A setting as a format's reader finds it: places are bytes of the text.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub key: String,
    pub value: Value,
    pub kind: EntryKind,
    pub span: Range<usize>,
    pub defined: Option<Range<usize>>,
    pub command: Option<usize>,
}

impl Found {
    pub fn new(key: &str, value: Value, kind: EntryKind, span: Range<usize>) -> Found {
        Found { key: key.to_owned(), value, kind, span, defined: None, command: None }
    }
}
