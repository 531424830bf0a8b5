//! Names that come from rules and grammars and that every event carries; each is stored once, for as long as the process runs.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

/// A name that is kept for as long as the process runs.
pub type Word = &'static str;

static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// `word`, kept for as long as the process runs. Equal names are stored once, so that reading the rules again needs no more memory.
pub fn keep(word: &str) -> Word {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(word) = known.get(word) {
        return word;
    }
    let kept: &'static str = Box::leak(word.into());
    known.insert(kept);
    kept
}

/// Longer names are refused; those of rules and grammars are shorter.
const LONGEST: usize = 64;
/// At most this many names are kept, more than rules and grammars have: names from other processes must not fill the memory.
const MOST: usize = 1 << 16;

/// Writes a name for another process.
pub fn serialize<S: Serializer>(word: &Word, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(word)
}

/// Reads a name that another process wrote.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
    foreign(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn foreign(word: &str) -> Result<Word, &'static str> {
    if word.len() > LONGEST {
        return Err("a name that is longer than any");
    }
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).len();
    if known < MOST { Ok(keep(word)) } else { Err("more names than there are") }
}

/// The same for sets of names.
pub mod set {
    use std::collections::BTreeSet;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Word;

    /// Writes names for another process.
    pub fn serialize<S: Serializer>(words: &BTreeSet<Word>, serializer: S) -> Result<S::Ok, S::Error> {
        words.serialize(serializer)
    }

    /// Reads names that another process wrote.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<Word>, D::Error> {
        let words = BTreeSet::<String>::deserialize(deserializer)?;
        words.iter().map(|word| super::foreign(word).map_err(D::Error::custom)).collect()
    }
}
