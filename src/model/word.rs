//! Names that rules and grammars give and every event carries: kept once, for as long as the process runs.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

/// A name of ours.
pub type Word = &'static str;

static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// `word` for as long as the process runs. Rules have few names, and reading them again takes no more memory.
pub fn keep(word: &str) -> Word {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(word) = known.get(word) {
        return word;
    }
    let kept: &'static str = Box::leak(word.into());
    known.insert(kept);
    kept
}

/// A name of more bytes is none of ours.
const LONGEST: usize = 64;
/// More names than rules and grammars have: what comes from elsewhere may not fill the memory for good.
const MOST: usize = 1 << 16;

/// A name as it is written for another process.
pub fn serialize<S: Serializer>(word: &Word, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(word)
}

/// A name that another process wrote.
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

/// Several of them.
pub mod set {
    use std::collections::BTreeSet;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Word;

    /// Names as they are written for another process.
    pub fn serialize<S: Serializer>(words: &BTreeSet<Word>, serializer: S) -> Result<S::Ok, S::Error> {
        words.serialize(serializer)
    }

    /// Names that another process wrote.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<Word>, D::Error> {
        let words = BTreeSet::<String>::deserialize(deserializer)?;
        words.iter().map(|word| super::foreign(word).map_err(D::Error::custom)).collect()
    }
}
