//! What a job was launched with, read and edited without disturbing its formatting.
//!
//! In goes a text: DeepSpeed's JSON, YAML, TOML, a launch script or a bare command line. Out come its settings with the place
//! of each ([`Entry`]), and, for a setting that should be another, the whole new text with the smallest change
//! ([`Document::set`]). No framework is known here and no file is opened.
//!
//! ```
//! use oomdoc::internal::config::Document;
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

mod comments;
mod diff;
mod edit;
mod entry;
mod error;
mod flow;
mod format;
mod json;
mod kept;
mod log;
mod path;
mod shell;
mod toml;
mod tree;
mod value;
mod yaml;

use std::ops::Range;
use std::sync::Arc;

pub use diff::diff;
pub use entry::{Command, Entry, EntryKind};
pub use error::{ConfigError, EditError};
pub use format::Format;
pub use kept::KeptDocument;
pub use log::from_log;
pub(crate) use shell::{bare as shell_word, starts_program};
pub use value::Value;

use edit::{Edit, Lines};
use entry::{Found, FoundCommand};
use error::Remark;
use path::Step;
use tree::{Flattening, Node, Target, TooMuch};

use crate::model::{Citation, LineNumber, Location};

/// A configuration: its text and the settings in it.
#[derive(Debug, Clone)]
pub struct Document {
    path: Arc<str>,
    format: Format,
    text: String,
    entries: Vec<Entry>,
    commands: Vec<Command>,
    body: Body,
}

/// What edits need to know of a text.
#[derive(Debug, Clone)]
enum Body {
    Json(Option<Node>),
    Yaml(yaml::Stream),
    Toml(Node),
    Shell(Box<shell::Shell>),
    /// A log printed it.
    Printed,
}

/// What a format's reader finds. Places are bytes of the text.
#[derive(Debug, Clone)]
struct Parsed {
    body: Body,
    found: Vec<Found>,
    commands: Vec<FoundCommand>,
}

impl Parsed {
    /// What nested settings make.
    fn new(body: Body, settings: Flattening) -> Parsed {
        Parsed { body, found: settings.entries, commands: Vec::new() }
    }
}

/// What to set, and, in a script, how it is to be given and to which command.
#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    key: &'a str,
    value: &'a Value,
    kind: Option<EntryKind>,
    command: Option<usize>,
}

impl Document {
    /// Reads `text`, whatever its format is. `path` is what citations name.
    pub fn read(path: impl Into<Arc<str>>, text: &str) -> Result<Document, ConfigError> {
        Document::read_as(Format::of(text), path, text)
    }

    /// Reads `text`, which is known to be of this format.
    pub fn read_as(format: Format, path: impl Into<Arc<str>>, text: &str) -> Result<Document, ConfigError> {
        let (path, lines) = (path.into(), Lines::of(text));
        let location = |at| {
            let (line, column) = lines.locate(at);
            Location { path: path.clone(), line, column }
        };
        let cite = |span: &Range<usize>| {
            let words = text.get(span.clone()).unwrap_or_default().lines().next().unwrap_or_default();
            let words = &words[..words.floor_char_boundary(Citation::LONGEST)];
            Citation::new(location(span.start), words)
        };
        match parse(format, text) {
            Ok(parsed) => Ok(Document::assemble(format, path.clone(), text, parsed, cite)),
            Err(Remark { at, message }) => {
                let (line, column) = lines.locate(at);
                Err(ConfigError { path: path.clone(), line, column, message })
            }
        }
    }

    /// A document of what a reader found, each place turned into a citation.
    fn assemble(
        format: Format,
        path: Arc<str>,
        text: &str,
        parsed: Parsed,
        cite: impl Fn(&Range<usize>) -> Citation,
    ) -> Document {
        let entry = |found: Found| Entry {
            at: cite(&found.span),
            defined: found.defined.as_ref().map(&cite),
            key: found.key,
            value: found.value,
            kind: found.kind,
            command: found.command,
            span: found.span,
        };
        let location = |at: usize| cite(&(at..at)).location;
        let command =
            |FoundCommand { program, target, operands, at }| Command { program, target, operands, at: location(at) };
        Document {
            entries: parsed.found.into_iter().map(entry).collect(),
            commands: parsed.commands.into_iter().map(command).collect(),
            body: parsed.body,
            text: text.to_owned(),
            format,
            path,
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

    /// As it stands; of a log, without what others put before its lines.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every setting, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The commands that a launch script runs, in order; those that the containers and jobs of a YAML file start.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// Command lines that its comments show, where it is a file of keys.
    pub fn shown_commands(&self) -> impl Iterator<Item = &str> {
        let text = if matches!(self.body, Body::Yaml(_)) { self.text.as_str() } else { "" };
        comments::commands(text)
    }

    /// The setting of this name that counts. In a launch script that is the one given to the command with the most
    /// settings, if it has one, else the last; dashes before the name are nothing, and those within are as good as `_`.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(self.choose(key, None, None)?)
    }

    /// How many steps of `key` lead into sections that are there, in a file of keys.
    pub fn reaches(&self, key: &str) -> usize {
        let Body::Toml(root) = &self.body else { return 0 };
        let steps = path::parse(key).unwrap_or_default();
        let is_there = |depth: &usize| matches!(root.find(&steps[..*depth]), Ok(Target::Node { .. }));
        (0..=steps.len()).take_while(is_there).last().unwrap_or(0)
    }

    fn choose(&self, key: &str, kind: Option<EntryKind>, command: Option<usize>) -> Option<usize> {
        match &self.body {
            Body::Shell(shell) => shell.choose(&self.entries, key, kind, command),
            _ => {
                let is_it = |entry: &Entry| {
                    entry.key == key
                        && kind.is_none_or(|kind| entry.kind == kind)
                        && (command.is_none() || entry.command == command)
                };
                let is_setting = |entry: &Entry| is_it(entry) && entry.kind == EntryKind::Setting;
                self.entries.iter().rposition(is_setting).or_else(|| self.entries.iter().rposition(is_it))
            }
        }
    }

    /// The line of the test that decides what a setting is, or whether its command is run, where that is up to whoever launches the
    /// script: read is what it does without arguments. A name that is not set stands for the command that it would be given to.
    pub fn choice(&self, kind: EntryKind, command: Option<usize>, key: &str) -> Option<LineNumber> {
        let Body::Shell(shell) = &self.body else { return None };
        let places = match self.choose(key, Some(kind), command).and_then(|at| self.entries.get(at)) {
            Some(entry) => vec![Some(&entry.at.location), entry.defined.as_ref().map(|defined| &defined.location)],
            None => vec![command.or(shell.main()).and_then(|command| Some(&self.commands.get(command)?.at))],
        };
        let lines = Lines::of(&self.text);
        let choice = places.into_iter().flatten().find_map(|place| shell.choice(lines.offset(place)));
        choice.map(|at| lines.locate(at).0)
    }

    /// The text with `key` set to `value`, and nothing else changed. A value that is there is replaced in its own style;
    /// a key that is missing goes behind its siblings, in sections that are made where they are missing.
    ///
    /// In a launch script a value that comes from a variable is changed where the script assigns it, if that is certain
    /// and nothing else uses it. A name that is missing is one of the environment if it looks like one (`NCCL_DEBUG`),
    /// else a setting of the command with the most of them, given as the others are. A switch that is set to false goes.
    pub fn set(&self, key: &str, value: &Value) -> Result<String, EditError> {
        self.edited(Wanted { key, value, kind: None, command: None })
    }

    /// [`Document::set`] for a launch script, where it is known what kind of setting it is and to which of
    /// [`Document::commands`] it is given.
    pub fn set_as(
        &self,
        kind: EntryKind,
        command: Option<usize>,
        key: &str,
        value: &Value,
    ) -> Result<String, EditError> {
        self.edited(Wanted { key, value, kind: Some(kind), command })
    }

    fn edited(&self, wanted: Wanted<'_>) -> Result<String, EditError> {
        let Wanted { key, value, kind, command } = wanted;
        let unwritable = || EditError::Unwritable { key: key.to_owned(), value: value.to_string() };
        if value.as_number().is_some_and(|number| !number.is_finite()) {
            return Err(unwritable());
        }
        let before = self.choose(key, kind, command);
        if before.and_then(|at| self.entries.get(at)).is_some_and(|entry| self.reads_as(entry, value)) {
            return Ok(self.text.clone());
        }
        let edits = match &self.body {
            Body::Shell(shell) => shell::set(&self.text, shell, before, wanted)?,
            // An argument of a program that the file starts: nothing but the word itself can be another.
            Body::Yaml(_) if kind.is_some_and(|kind| kind != EntryKind::Setting) => {
                let entry = before.and_then(|at| self.entries.get(at)).ok_or_else(unwritable)?;
                vec![self.replaced(entry, value).ok_or_else(unwritable)?]
            }
            body => body.set(&self.text, key, value)?,
        };
        let text = edit::apply(&self.text, edits);
        // Whatever quotes and escapes the text has: what was written is what is read.
        let written = Document::read_as(self.format, self.path.clone(), &text).map_err(|_| unwritable())?;
        let is_set = match written.choose(key, kind, command).and_then(|at| written.entries.get(at)) {
            Some(entry) => self.reads_as(entry, value),
            // A switch that is off is not there.
            None => self.is_script() && *value == Value::Bool(false),
        };
        if is_set && self.others(key).eq(written.others(key)) { Ok(text) } else { Err(unwritable()) }
    }

    /// The edit that puts `value` in the place of the word that `entry` is, where both are plain words.
    fn replaced(&self, entry: &Entry, value: &Value) -> Option<Edit> {
        let is_plain = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+/%".contains(&byte))
        };
        let word = value.to_string();
        let is_there =
            self.text.get(entry.span.clone()).map(Value::of_word) == Some(Value::of_word(&entry.value.to_string()));
        (is_there && is_plain(&word)).then(|| Edit::replace(entry.span.clone(), word))
    }

    fn is_script(&self) -> bool {
        matches!(self.body, Body::Shell(_))
    }

    /// Whether a setting is set to `value`. The words of a script have no type.
    fn reads_as(&self, entry: &Entry, value: &Value) -> bool {
        let word = |value: &Value| Value::of_word(&value.to_string());
        entry.value == *value || self.is_script() && word(&entry.value) == word(value)
    }

    /// What an edit of `key` must leave as it is: in a script, where a slip can change what a line is, every other setting
    /// as it is written. Not so the variables and flags that hold what is edited.
    fn others<'a>(&'a self, key: &'a str) -> impl Iterator<Item = (EntryKind, &'a str, Option<usize>, &'a str)> {
        fn base(key: &str) -> &str {
            key.trim_start_matches(['-', '+']).split('[').next().unwrap_or_default()
        }
        fn is_inside(inner: &str, outer: &str) -> bool {
            inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
        }
        let is_other = move |entry: &&Entry| {
            let is_variable = matches!(entry.kind, EntryKind::Variable | EntryKind::Env);
            let is_related = base(&entry.key) == base(key) || is_inside(key, &entry.key) || is_inside(&entry.key, key);
            self.is_script() && !is_variable && !is_related
        };
        let show = |entry: &'a Entry| (entry.kind, entry.key.as_str(), entry.command, entry.at.text.as_str());
        self.entries.iter().filter(is_other).map(show)
    }
}

fn parse(format: Format, text: &str) -> Result<Parsed, Remark> {
    match format {
        Format::Json => {
            let root = json::read(text)?;
            let settings = flatten(root.iter().map(|root| (String::new(), root)))?;
            Ok(Parsed::new(Body::Json(root), settings))
        }
        Format::Shell if shell::is_too_long(text) => Err(Remark::new(0, "more words than anybody launches a job with")),
        Format::Shell => Ok(shell::read(text)),
        Format::Log => Err(Remark::new(0, "a log may hold many configurations")),
        Format::Toml => {
            let root = toml::read(text)?;
            let settings = flatten(std::iter::once((String::new(), &root)))?;
            Ok(Parsed::new(Body::Toml(root), settings))
        }
        Format::Yaml => {
            let stream = yaml::read(text)?;
            let settings = flatten(stream.documents())?;
            let started = yaml::started(text, stream.documents().map(|(_, root)| root));
            let mut parsed = Parsed::new(Body::Yaml(stream), settings);
            parsed.found.extend(started.found);
            parsed.commands = started.commands;
            Ok(parsed)
        }
    }
}

/// The settings below `roots`, whose keys begin with what stands beside each.
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
            Body::Toml(root) => toml::set(text, root, &steps, value),
            Body::Shell(_) | Body::Printed => Err(EditError::ReadOnly),
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
