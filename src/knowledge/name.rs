//! Names that rules give and every event carries: kept once, for as long as the process runs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer};

static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// `word` for as long as the process runs. Rules have few names, and reading them again takes no more memory.
pub(super) fn keep(word: &str) -> &'static str {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(word) = known.get(word) {
        return word;
    }
    let kept: &'static str = Box::leak(word.into());
    known.insert(kept);
    kept
}

/// A name in a file of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name(&'static str);

impl Name {
    /// Its letters.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        Ok(Name(keep(&String::deserialize(deserializer)?)))
    }
}
