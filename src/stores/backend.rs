use std::io::Read;
use std::ops::Range;

use super::StoreError;

/// Who answers for a part of an object.
pub trait Backend: Send + Sync {
    /// The bytes `range` of `key`, as far as there are so many; if it is still what `known` says.
    fn get(&self, key: &str, range: Range<u64>, known: Option<&Version>) -> Result<Answer, StoreError>;
}

/// What an object's bytes belong to.
#[derive(Debug, Clone)]
pub struct Version {
    /// Bytes of all of it; `None` where nobody counted them.
    pub size: Option<u64>,
    /// What changes with its bytes.
    pub tag: Option<String>,
    /// When it was written, as its server says it.
    pub written: Option<String>,
}

impl Version {
    /// Whether bytes of both belong together.
    pub fn is(&self, other: &Version) -> bool {
        self.size == other.size
            && match (&self.tag, &other.tag) {
                (Some(tag), Some(other)) => tag == other,
                _ => self.written == other.written,
            }
    }

    /// What a request must name for an answer of this version alone. Weak tags match nothing there.
    pub fn if_match(&self) -> Option<&str> {
        self.tag.as_deref().filter(|tag| !tag.starts_with("W/"))
    }
}

/// What was answered.
pub struct Answer {
    /// Of what.
    pub version: Version,
    /// Whether it is what was asked for; else it is all, from the beginning.
    pub is_part: bool,
    /// The bytes.
    pub body: Box<dyn Read + Send>,
}
