//! Patterns of conditions, each prepared once.
//!
//! The language's own `matches` prepares its pattern at each call, and dialects ask some dozens of them again for each change that is priced:
//! that was a quarter of the work on a small log.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::Regex;

/// More patterns than all rules have. A condition can also make patterns from facts, which are not kept.
const MOST: usize = 256;

static PREPARED: LazyLock<Mutex<HashMap<Arc<str>, Regex>>> = LazyLock::new(Mutex::default);

/// Whether `pattern` is found in `text`; in an empty text, which is a setting that nobody made, none is.
pub(super) fn fits(text: &str, pattern: &str) -> Result<bool, String> {
    if text.is_empty() {
        return Ok(false);
    }
    let known = || PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known().get(pattern).cloned();
    if let Some(found) = found {
        return Ok(found.is_match(text));
    }
    let new = Regex::new(pattern).map_err(|error| error.to_string())?;
    let fits = new.is_match(text);
    let mut prepared = known();
    if prepared.len() < MOST {
        prepared.insert(pattern.into(), new);
    }
    Ok(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_found_anywhere_but_in_an_empty_text() {
        assert_eq!(fits("black-forest-labs/FLUX.1-dev", "(?i)flux[.]1"), Ok(true));
        assert_eq!(fits("black-forest-labs/FLUX.1-dev", "(?i)flux[.]1"), Ok(true));
        assert_eq!(fits("stabilityai/sdxl-turbo", "(?i)flux[.]1"), Ok(false));
        assert_eq!(fits("", ".*"), Ok(false));
        assert!(fits("text", "(").is_err());
    }
}
