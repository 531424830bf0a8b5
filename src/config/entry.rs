use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Value;
use crate::knowledge::Launchers;
use crate::model::{Citation, Location};

/// One setting of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name: a path (`zero_optimization.stage`, `list[0]`), a flag without its dashes, or a variable.
    pub key: String,
    /// Its value. Variables are resolved if the text assigns them.
    pub value: Value,
    /// What kind of name the key is.
    pub kind: EntryKind,
    /// The first line of the value as written; for a switch without a value, the switch itself.
    pub at: Citation,
    /// The definition of the value where `at` only refers to it: a variable's assignment, an anchor.
    pub defined: Option<Citation>,
    /// The index in [`Document::commands`](super::Document::commands) of the command that it is given to.
    pub command: Option<usize>,
    /// The bytes of the value in the document.
    pub span: Range<usize>,
}

impl Entry {
    /// Whether only running the code or script would tell the value.
    pub fn is_open(&self) -> bool {
        matches!(&self.value, Value::Text(words) if words.contains('`'))
    }

    /// Whether its value tells how much: it is known, or as much as the machine has cores.
    pub fn tells_amount(&self) -> bool {
        !self.is_open() || self.counts_cores()
    }

    /// Whether it is computed from the number of the machine's cores: `os.cpu_count()`, `$(nproc)`.
    pub fn counts_cores(&self) -> bool {
        matches!(&self.value, Value::Text(words) if Launchers::shipped().programs.counts_cores(words))
    }
}

/// What kind of name a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A key of a configuration file or of a printed configuration.
    Setting,
    /// `--zero_stage 3`
    Flag,
    /// `data.rollout_batch_size=128`, as hydra and OmegaConf take it.
    Override,
    /// `export RAY_DEDUP_LOGS=0`, `CUDA_VISIBLE_DEVICES=0 python3 …`
    Env,
    /// `BATCH=128`: seen by the script only, not by the processes that it starts. In Python a name that is given one amount.
    Variable,
    /// `#SBATCH --mem=64G`
    Directive,
}

/// A command of a launch script. `srun torchrun train.py` is three commands, each with settings of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program's name without its path; the launcher's name where a launcher runs the target; empty if the call
    /// begins with an option.
    pub program: String,
    /// The script, module or subcommand that it runs.
    pub target: Option<String>,
    /// Its arguments that are not settings.
    pub operands: Vec<String>,
    /// The start of the call.
    pub at: Location,
}

impl Command {
    /// Whether Python itself is started, and no launcher.
    pub fn starts_python(&self) -> bool {
        self.program.starts_with("python")
    }

    /// The program and its target, leaving out whichever is missing.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let words = [Some(self.program.as_str()), self.target.as_deref()];
        words.into_iter().flatten().filter(|word| !word.is_empty())
    }

    /// The program and its target as one would type them: `deepspeed train.py`.
    pub fn typed(&self) -> String {
        self.words().collect::<Vec<_>>().join(" ")
    }
}

/// A command as a format's reader finds it; `at` is a byte offset in the text.
#[derive(Debug, Clone)]
pub(super) struct FoundCommand {
    pub program: String,
    pub target: Option<String>,
    pub operands: Vec<String>,
    pub at: usize,
}

/// A setting as a format's reader finds it; spans are bytes of the text.
#[derive(Debug, Clone)]
pub(super) struct FoundSetting {
    pub key: String,
    pub value: Value,
    pub kind: EntryKind,
    pub span: Range<usize>,
    pub defined: Option<Range<usize>>,
    pub command: Option<usize>,
}

impl FoundSetting {
    pub fn new(key: &str, value: Value, kind: EntryKind, span: Range<usize>) -> FoundSetting {
        FoundSetting { key: key.to_owned(), value, kind, span, defined: None, command: None }
    }
}
