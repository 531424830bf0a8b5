//! What a job was launched with, read and edited without disturbing its formatting.
//!
//! In goes a text: DeepSpeed's JSON, YAML, a launch script or a bare command line. Out come its settings with the place
//! of each ([`Entry`]), and, for a setting that should be another, the whole new text with the smallest change
//! ([`Document::set`]). No framework is known here and no file is opened.
//!
//! ```
//! use oomdoc::config::Document;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "{\n  \"zero_optimization\": {\"stage\": 2},  // fits 8 GPUs\n}\n";
//! let config = Document::read("ds_config.json", text)?;
//! assert_eq!(config.get("zero_optimization.stage").and_then(|entry| entry.value.as_number()), Some(2.0));
//! let edited = config.set("zero_optimization.stage", &3.0.into())?;
//! assert_eq!(edited, "{\n  \"zero_optimization\": {\"stage\": 3},  // fits 8 GPUs\n}\n");
//! # Ok(())
//! # }
//! ```

mod diff;
mod edit;
mod entry;
mod error;
mod flow;
mod format;
mod json;
mod path;
mod tree;
mod value;
mod yaml;

use std::ops::Range;
use std::sync::Arc;

pub use diff::diff;
pub use entry::{Entry, EntryKind};
pub use error::{ConfigError, EditError};
pub use format::Format;
pub use value::Value;

use edit::{Edit, Lines};
use entry::Found;
use error::Remark;
use path::Step;
use tree::{Flattening, Node, TooMuch};

use crate::model::{Citation, Location};

/// A configuration: its text and the settings in it.
#[derive(Debug, Clone)]
pub struct Document {
    path: Arc<str>,
    format: Format,
    text: String,
    entries: Vec<Entry>,
    warnings: Vec<Warning>,
    body: Body,
}

/// Something in a configuration that is not what it seems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where.
    pub at: Location,
    /// What.
    pub message: String,
}

/// What edits need to know of a text.
#[derive(Debug, Clone)]
enum Body {
    Json(Option<Node>),
    Yaml(yaml::Stream),
}

/// What a format's reader finds. Places are bytes of the text.
#[derive(Debug, Clone)]
struct Parsed {
    body: Body,
    found: Vec<Found>,
    warnings: Vec<Remark>,
}

impl Document {
    /// Reads `text`, whatever its format is. `path` is what citations name.
    pub fn read(path: impl Into<Arc<str>>, text: &str) -> Result<Document, ConfigError> {
        Document::read_as(Format::of(text), path, text)
    }

    /// Reads `text`, which is known to be of this format.
    pub fn read_as(format: Format, path: impl Into<Arc<str>>, text: &str) -> Result<Document, ConfigError> {
        let (path, lines) = (path.into(), Lines::of(text));
        match parse(format, text) {
            Ok(parsed) => Ok(Document::assemble(format, path, text, &lines, parsed)),
            Err(Remark { at, message }) => {
                let (line, column) = lines.locate(at);
                Err(ConfigError { path, line, column, message })
            }
        }
    }

    fn assemble(format: Format, path: Arc<str>, text: &str, lines: &Lines, parsed: Parsed) -> Document {
        let location = |at| {
            let (line, column) = lines.locate(at);
            Location { path: path.clone(), line, column }
        };
        let cite = |span: &Range<usize>| {
            let words = text.get(span.clone()).unwrap_or_default().lines().next().unwrap_or_default();
            let words = &words[..words.floor_char_boundary(Citation::LONGEST)];
            Citation { location: location(span.start), text: words.to_owned() }
        };
        let entry = |found: Found| Entry {
            at: cite(&found.span),
            defined: found.defined.as_ref().map(cite),
            key: found.key,
            value: found.value,
            kind: found.kind,
            command: found.command,
            span: found.span,
        };
        let warning = |Remark { at, message }| Warning { at: location(at), message };
        Document {
            entries: parsed.found.into_iter().map(entry).collect(),
            warnings: parsed.warnings.into_iter().map(warning).collect(),
            body: parsed.body,
            text: text.to_owned(),
            format,
            path: path.clone(),
        }
    }

    /// What citations name.
    pub fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// How it is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// As it stands.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every setting, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What is odd in it: a key that stands twice, a quote that never ends.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The setting of this name that counts.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.key == key)
    }

    /// The text with `key` set to `value`, and nothing else changed. A value that is there is replaced in its own style;
    /// a key that is missing goes behind its siblings, in sections that are made where they are missing.
    pub fn set(&self, key: &str, value: &Value) -> Result<String, EditError> {
        let unwritable = || EditError::Unwritable { key: key.to_owned(), value: value.to_string() };
        if value.as_number().is_some_and(|number| !number.is_finite()) {
            return Err(unwritable());
        }
        if self.get(key).is_some_and(|entry| entry.value == *value) {
            return Ok(self.text.clone());
        }
        let text = edit::apply(&self.text, self.body.set(&self.text, key, value)?);
        // Whatever quotes and escapes the text has: what was written is what is read.
        let written = Document::read_as(self.format, self.path.clone(), &text).map_err(|_| unwritable())?;
        match written.get(key) {
            Some(entry) if entry.value == *value => Ok(text),
            _ => Err(unwritable()),
        }
    }

    /// The text without `key`, be it a value or a whole section, and nothing else changed.
    pub fn remove(&self, key: &str) -> Result<String, EditError> {
        let unremovable = |_| EditError::Unremovable(key.to_owned());
        let mut text = edit::apply(&self.text, self.body.remove(&self.text, key)?);
        // One that stands there twice goes twice.
        for _ in 1..self.body.count(key) {
            let rest = Document::read_as(self.format, self.path.clone(), &text).map_err(unremovable)?;
            text = edit::apply(&text, rest.body.remove(&text, key)?);
        }
        Document::read_as(self.format, self.path.clone(), &text).map_err(unremovable)?;
        Ok(text)
    }
}

fn parse(format: Format, text: &str) -> Result<Parsed, Remark> {
    match format {
        Format::Json => {
            let root = json::read(text)?;
            let settings = flatten(root.iter().map(|root| (String::new(), root)))?;
            Ok(Parsed { body: Body::Json(root), found: settings.entries, warnings: settings.warnings })
        }
        Format::Yaml => {
            let stream = yaml::read(text)?;
            let settings = flatten(stream.documents())?;
            Ok(Parsed { body: Body::Yaml(stream), found: settings.entries, warnings: settings.warnings })
        }
    }
}

/// The settings below `roots`, whose keys begin with what stands beside each, and what is odd in them.
fn flatten<'a>(roots: impl Iterator<Item = (String, &'a Node)>) -> Result<Flattening, Remark> {
    let mut settings = Flattening::default();
    for (prefix, root) in roots {
        settings
            .add(&prefix, root)
            .map_err(|TooMuch| Remark::new(root.span.start, "nested too deeply, or too much"))?;
    }
    Ok(settings)
}

impl Body {
    fn set(&self, text: &str, key: &str, value: &Value) -> Result<Vec<Edit>, EditError> {
        let steps = steps(key)?;
        match self {
            Body::Json(Some(root)) => json::set(text, root, &steps, value),
            Body::Json(None) => Err(EditError::NoSection(key.to_owned())),
            Body::Yaml(stream) => yaml::set(text, stream, &steps, value),
        }
    }

    fn remove(&self, text: &str, key: &str) -> Result<Vec<Edit>, EditError> {
        let steps = steps(key)?;
        match self {
            Body::Json(Some(root)) => json::remove(text, root, &steps),
            Body::Json(None) => Err(EditError::NotSet(key.to_owned())),
            Body::Yaml(stream) => yaml::remove(text, stream, &steps),
        }
    }

    /// How often `key` is set in one place.
    fn count(&self, key: &str) -> usize {
        let Ok(steps) = steps(key) else { return 0 };
        match self {
            Body::Json(root) => root.as_ref().map_or(0, |root| root.count(&steps)),
            Body::Yaml(stream) => stream.find(&steps).map_or(0, |(root, steps)| root.count(steps)),
        }
    }
}

fn steps(key: &str) -> Result<Vec<Step>, EditError> {
    path::parse(key).ok_or_else(|| EditError::BadKey(key.to_owned()))
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod testing;
