//! Masks secrets in what leaves the process: what is stored and what is sent. What is printed here stays verbatim.
//!
//! In go texts, or any value that becomes JSON, and the rows of `rules/redaction/`; out comes the same with masks like
//! `‹hf-token›`. Citations that were changed say so. Figures, paths and line numbers stay as they are.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::{Captures, Regex, RegexSet};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::knowledge::Secret;

/// Why nothing could be masked.
#[derive(Debug, Error)]
pub enum RedactError {
    /// A row's pattern is no regular expression.
    #[error("secrets cannot be looked for: {0}")]
    Pattern(#[from] regex::Error),
    /// A value is not the same kind of value afterwards.
    #[error("what was masked cannot be read back: {0}")]
    Json(#[from] serde_json::Error),
}

/// Finds secrets and masks them.
pub struct Redactor {
    /// All patterns at once: nearly every text holds none.
    any: RegexSet,
    patterns: Vec<Pattern>,
}

/// One pattern, which is read only where it is needed: most never are.
struct Pattern {
    mask: String,
    pattern: String,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn mask(&self, text: &str) -> String {
        match self.regex.get_or_init(|| Regex::new(&self.pattern).ok()) {
            Some(regex) => regex.replace_all(text, |found: &Captures<'_>| replace(found, &self.mask)).into_owned(),
            // It is part of the set, so that it can be read; all else would let a secret through.
            None => self.mask.clone(),
        }
    }
}

impl Redactor {
    /// Masks what `secrets` describe.
    pub fn new(secrets: &[Secret]) -> Result<Redactor, RedactError> {
        let pattern = |secret: &Secret| Pattern {
            mask: format!("‹{}›", secret.name),
            pattern: secret.pattern.clone(),
            regex: OnceLock::new(),
        };
        let any = RegexSet::new(secrets.iter().map(|secret| &secret.pattern))?;
        Ok(Redactor { any, patterns: secrets.iter().map(pattern).collect() })
    }

    /// `text` without its secrets; borrowed where it holds none.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        for place in self.any.matches(text) {
            let changed = self.patterns[place].mask(&masked);
            if changed != masked {
                masked = Cow::Owned(changed);
            }
        }
        masked
    }

    /// `value` without its secrets, in all its strings.
    pub fn value<T: Serialize + DeserializeOwned>(&self, value: &T) -> Result<T, RedactError> {
        let mut json = serde_json::to_value(value)?;
        self.json(&mut json);
        Ok(serde_json::from_value(json)?)
    }

    /// Masks in place; whether anything was masked.
    pub fn json(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => match self.text(text) {
                Cow::Owned(masked) => {
                    *text = masked;
                    true
                }
                Cow::Borrowed(_) => false,
            },
            Value::Array(items) => items.iter_mut().fold(false, |masked, item| self.json(item) | masked),
            Value::Object(fields) => {
                let mut masked = false;
                let mut is_citation = false;
                for (name, field) in fields.iter_mut() {
                    let changed = self.json(field);
                    masked |= changed;
                    is_citation |= changed && name == "text";
                }
                if is_citation && fields.contains_key("line") {
                    fields.insert("redacted".to_owned(), Value::Bool(true));
                }
                masked
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// All that was found, with `mask` instead of its group `secret` or of all of it.
fn replace(found: &Captures<'_>, mask: &str) -> String {
    let whole = found.get_match();
    let secret = found.name("secret").unwrap_or(whole);
    let (before, after) = (secret.start() - whole.start(), secret.end() - whole.start());
    [&whole.as_str()[..before], mask, &whole.as_str()[after..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn redactor() -> Result<(Redactor, Vec<Secret>), Box<dyn std::error::Error>> {
        let secrets = Knowledge::shipped()?.secrets.to_vec();
        Ok((Redactor::new(&secrets)?, secrets))
    }

    #[test]
    fn every_row_does_what_its_examples_say() -> Outcome {
        let (redactor, secrets) = redactor()?;
        assert!(secrets.len() >= 20);
        for secret in &secrets {
            let alone = Redactor::new(std::slice::from_ref(secret))?;
            for example in &secret.examples {
                let mask = format!("‹{}›", secret.name);
                assert!(alone.text(example).contains(&mask), "{}: {example}", secret.name);
                let masked = redactor.text(example);
                let found = secret.regex()?;
                let words = found.captures(example).ok_or("not found")?;
                let words = words.name("secret").unwrap_or(words.get_match()).as_str();
                assert!(!masked.contains(words), "{} is left of {example}: {masked}", secret.name);
            }
            for example in &secret.counter_examples {
                assert_eq!(redactor.text(example), example.as_str(), "{}", secret.name);
            }
        }
        Ok(())
    }

    #[test]
    fn figures_paths_and_line_numbers_stay() -> Outcome {
        let (redactor, _) = redactor()?;
        for text in [
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB",
            "File \"/opt/conda/lib/python3.11/site-packages/deepspeed/runtime/zero/stage3.py\", line 2081, in step",
            "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/kubepods.slice/pod0a1b2c3d,task=python3,pid=4211,uid=1000",
            "(WorkerDict pid=4211, ip=10.1.2.3) kv_cache_dtype=auto, max_tokens=4096, past_key_values=None",
            "0123456789abcdef0123456789abcdef01234567",
            "--max_new_tokens 1024 --pad_token_id 151643 --hidden-key-size 128",
        ] {
            assert_eq!(redactor.text(text), text);
        }
        Ok(())
    }

    #[test]
    fn a_changed_citation_says_so() -> Outcome {
        let (redactor, _) = redactor()?;
        let mut value = serde_json::json!([
            {"path": "job.log", "line": 3, "column": 1, "text": "HF_TOKEN=hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"},
            {"path": "job.log", "line": 4, "column": 1, "text": "step 4"},
            {"title": "mail ada@example.org"},
        ]);
        assert!(redactor.json(&mut value));
        assert_eq!(value[0]["redacted"], true);
        assert!(!value[0]["text"].to_string().contains("aBcDeF"));
        assert_eq!(value[1], serde_json::json!({"path": "job.log", "line": 4, "column": 1, "text": "step 4"}));
        assert_eq!(value[2], serde_json::json!({"title": "mail ‹e-mail›"}));
        Ok(())
    }

    #[test]
    fn masking_twice_changes_nothing_more() -> Outcome {
        let (redactor, secrets) = redactor()?;
        for example in secrets.iter().flat_map(|secret| &secret.examples) {
            let once = redactor.text(example).into_owned();
            assert_eq!(redactor.text(&once), once);
        }
        Ok(())
    }
}
