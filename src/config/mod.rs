//! Reads what a job was launched with, and edits it without disturbing its formatting.
//!
//! In goes a text: DeepSpeed's JSON, YAML, TOML, a launch script or a bare command line. Out come its settings, each
//! with its place ([`Entry`]), and, for a setting that should change, the whole new text with the smallest edit
//! ([`Document::set`]). This floor knows no framework and opens no file.
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

mod command_line;
mod comments;
mod diff;
mod dockerfile;
mod edit;
mod entry;
mod error;
mod flow;
mod format;
mod habits;
mod ini;
mod json;
mod kept;
mod log;
mod modelfile;
mod path;
#[cfg(feature = "python")]
mod python;
#[cfg(not(feature = "python"))]
#[path = "without_python.rs"]
mod python;
mod read_back;
mod reference;
mod relaunch;
mod runtime_options;
mod shell;
mod switch;
mod textproto;
mod toml;
mod tree;
mod value;
mod xml;
mod yaml;

use std::ops::Range;
use std::sync::Arc;

pub use diff::diff;
pub(crate) use dockerfile::key_of_step;
pub use entry::{Command, Entry, EntryKind};
pub use error::{ConfigError, EditError};
pub use format::Format;
pub use kept::KeptDocument;
pub use log::from_log;
pub(crate) use shell::{bare as shell_word, starts_program};
pub use value::Value;
pub(crate) use value::{is_collection, is_function, python_dictionary};

use edit::{Edit, LineStarts};
use entry::{FoundCommand, FoundSetting};
use error::Remark;
use path::PathStep;
use tree::{Flattening, Node, Target, TooMuch};

use crate::knowledge::{Launchers, Scheduler};
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

/// The parsed structure that edits need, by format.
#[derive(Debug, Clone)]
enum Body {
    Json(Option<Node>),
    Yaml(yaml::Stream),
    Toml(Node),
    Shell(Box<shell::Shell>),
    Ini,
    #[cfg_attr(not(feature = "python"), allow(dead_code))]
    Python(Box<python::Code>),
    /// Printed in a log, and thus never edited.
    Printed,
}

/// What a format's reader finds. Spans are bytes of the text.
#[derive(Debug, Clone)]
struct Parsed {
    body: Body,
    found: Vec<FoundSetting>,
    commands: Vec<FoundCommand>,
}

impl Parsed {
    /// A file of nested settings, without commands.
    fn new(body: Body, settings: Flattening) -> Parsed {
        Parsed { body, found: settings.entries, commands: Vec::new() }
    }

    /// The settings and commands of this part of a larger text, which has `known` commands before it. `place` maps spans to that text;
    /// definitions are not mapped.
    fn placed(
        self,
        known: usize,
        place: impl Fn(Range<usize>) -> Range<usize>,
    ) -> (Vec<FoundSetting>, Vec<FoundCommand>) {
        let setting = |found: FoundSetting| FoundSetting {
            command: found.command.map(|command| known + command),
            span: place(found.span.clone()),
            ..found
        };
        let command = |command: FoundCommand| FoundCommand { at: place(command.at..command.at).start, ..command };
        (self.found.into_iter().map(setting).collect(), self.commands.into_iter().map(command).collect())
    }
}

/// A setting to be made, and, in a script, its kind and the command that it is given to.
#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    key: &'a str,
    value: &'a Value,
    kind: Option<EntryKind>,
    command: Option<usize>,
}

impl Document {
    /// Reads `text` after recognising its format. `path` is the file as citations name it.
    pub fn read(path: impl Into<Arc<str>>, text: &str) -> Result<Document, ConfigError> {
        let path = path.into();
        Document::read_as(Format::of_file(&path, text), path, text)
    }

    /// Reads `text` as `format`.
    pub fn read_as(format: Format, path: impl Into<Arc<str>>, text: &str) -> Result<Document, ConfigError> {
        let (path, lines) = (path.into(), LineStarts::of(text));
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
            Ok(mut parsed) => {
                parsed.found.extend(runtime_options::within(format, text, &parsed.found));
                Ok(Document::assemble(format, path.clone(), text, parsed, cite))
            }
            Err(Remark { at, message }) => {
                let (line, column) = lines.locate(at);
                Err(ConfigError { path: path.clone(), line, column, message })
            }
        }
    }

    /// Turns the byte spans that a reader found into citations.
    fn assemble(
        format: Format,
        path: Arc<str>,
        text: &str,
        parsed: Parsed,
        cite: impl Fn(&Range<usize>) -> Citation,
    ) -> Document {
        let entry = |found: FoundSetting| Entry {
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

    /// The text as it stands; for a log, without the prefixes before its lines.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every setting, in the order of the text.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The commands that a launch script runs, or that the containers and jobs of a YAML file start, in order.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// The index of the main command: a script's own choice, else the command with the most settings.
    pub fn main_command(&self) -> Option<usize> {
        if let Body::Shell(shell) = &self.body {
            return shell.main();
        }
        let settings = |command: usize| self.entries.iter().filter(|entry| entry.command == Some(command)).count();
        // What compiles is the job only where nothing else runs.
        let builds = |command: usize| Launchers::shipped().programs.builds(&self.commands[command].program);
        (0..self.commands.len()).max_by_key(|command| (!builds(*command), settings(*command)))
    }

    /// The scheduler whose options stand in the script.
    pub fn scheduler(&self) -> Option<&'static Scheduler> {
        match &self.body {
            Body::Shell(shell) => shell.scheduler(),
            _ => None,
        }
    }

    /// The command lines in the comments of a YAML file.
    pub fn shown_commands(&self) -> impl Iterator<Item = &str> {
        let text = if matches!(self.body, Body::Yaml(_)) { self.text.as_str() } else { "" };
        comments::commands(text)
    }

    /// The effective setting named `key`. In a launch script this is the one given to the command with the most
    /// settings, if that has one, else the last. Leading dashes are ignored, and dashes within a name match `_`.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(self.choose(key, None, None)?)
    }

    /// How many leading steps of `key` exist in a TOML file or in the sections of a configuration in Python; 0 for other formats.
    pub fn reaches(&self, key: &str) -> usize {
        let root = match &self.body {
            Body::Toml(root) => root,
            Body::Python(code) => return code.reaches(key),
            _ => return 0,
        };
        let steps = path::parse(key).unwrap_or_default();
        let is_there = |depth: &usize| matches!(root.find(&steps[..*depth]), Ok(Target::Node { .. }));
        (0..=steps.len()).take_while(is_there).last().unwrap_or(0)
    }

    /// What the cells of a notebook printed, each line with the number of the line of the notebook in which it stands.
    pub fn printed(&self) -> Vec<(LineNumber, String)> {
        if let Body::Python(_) = self.body { python::printed(&self.text) } else { Vec::new() }
    }

    /// The options that a program in Python declares itself, without dashes; none if it leaves that to a library.
    pub fn declared_options(&self) -> &[String] {
        if let Body::Python(code) = &self.body { code.declared() } else { &[] }
    }

    /// The functions that a program in Python calls; none if this is no program.
    pub fn calls(&self) -> &[String] {
        if let Body::Python(code) = &self.body { &code.habits().calls } else { &[] }
    }

    /// Drops the settings that options of the program itself decide, as far as `is_given` says that these are given elsewhere.
    pub fn leave_out(&mut self, is_given: impl Fn(&str) -> bool) {
        if let Body::Python(code) = &self.body {
            self.entries.retain(|entry| !code.option(&entry.key).is_some_and(&is_given));
        }
    }

    fn choose(&self, key: &str, kind: Option<EntryKind>, command: Option<usize>) -> Option<usize> {
        match &self.body {
            Body::Shell(shell) => {
                let of_file = || self.holds_variables() && kind == Some(EntryKind::Env);
                let variable = || shell.choose(&self.entries, key, Some(EntryKind::Variable), None);
                shell.choose(&self.entries, key, kind, command).or_else(|| variable().filter(|_| of_file()))
            }
            _ => {
                let of_code = |kind| kind == EntryKind::Setting && matches!(self.body, Body::Python(_));
                let is_of =
                    |entry: &Entry, kind| entry.kind == kind || entry.kind == EntryKind::Variable && of_code(kind);
                let is_it = |entry: &Entry| {
                    entry.key == key
                        && kind.is_none_or(|kind| is_of(entry, kind))
                        && (command.is_none() || entry.command == command)
                };
                let is_setting = |entry: &Entry| is_it(entry) && entry.kind == EntryKind::Setting;
                self.entries.iter().rposition(is_setting).or_else(|| self.entries.iter().rposition(is_it))
            }
        }
    }

    /// The line of the test that decides a setting's value, or whether its command runs, where the outcome depends on
    /// how the script is launched: the reader assumes no arguments. If `key` is not set, the question is about the
    /// command that would get it.
    pub fn choice(&self, kind: EntryKind, command: Option<usize>, key: &str) -> Option<LineNumber> {
        let Body::Shell(shell) = &self.body else { return None };
        let places = match self.choose(key, Some(kind), command).and_then(|at| self.entries.get(at)) {
            Some(entry) => vec![Some(&entry.at.location), entry.defined.as_ref().map(|defined| &defined.location)],
            None => vec![command.or(shell.main()).and_then(|command| Some(&self.commands.get(command)?.at))],
        };
        let lines = LineStarts::of(&self.text);
        let choice = places.into_iter().flatten().find_map(|place| shell.choice(lines.offset(place)));
        choice.map(|at| lines.locate(at).0)
    }

    /// The text with `key` set to `value` and nothing else changed. An existing value is replaced in its own style; a
    /// missing key goes behind its siblings, in new sections where those are missing.
    ///
    /// In a launch script, a value that comes from a variable is changed at the variable's assignment, if that
    /// certainly runs and nothing else uses the variable. A missing name becomes an environment variable if it looks
    /// like one (`NCCL_DEBUG`), else an argument of the command with the most settings, in the style of its other
    /// arguments. A switch that is set to false is removed.
    pub fn set(&self, key: &str, value: &Value) -> Result<String, EditError> {
        self.edited(Wanted { key, value, kind: None, command: None })
    }

    /// [`Document::set`] for a launch script, where the kind of the setting and its command in [`Document::commands`]
    /// are known.
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
        let old = before.and_then(|at| self.entries.get(at));
        if old.is_some_and(|entry| self.reads_as(entry, value)) {
            return Ok(self.text.clone());
        }
        if let Some(opposite) = self.opposite(before, wanted) {
            return self.set_instead_of(&opposite, wanted);
        }
        let edits = match &self.body {
            Body::Shell(shell) => shell::set(&self.text, shell, before, wanted)?,
            // An argument of a program that the file starts: the word itself is replaced, or another goes behind its last option.
            Body::Yaml(_) if kind.is_some_and(|kind| kind != EntryKind::Setting) => match old {
                Some(entry) => self.replaced_everywhere(entry, value).ok_or_else(unwritable)?,
                None => {
                    let edit = self.appended(key, value, command).filter(|_| kind == Some(EntryKind::Flag));
                    vec![edit.ok_or_else(unwritable)?]
                }
            },
            Body::Ini => {
                let edit = match (old, kind) {
                    (Some(entry), _) => self.replaced(entry, value),
                    (None, Some(EntryKind::Flag)) => self.appended(key, value, command),
                    (None, Some(EntryKind::Env)) if dockerfile::is_dockerfile(&self.text) => {
                        dockerfile::added(&self.text, key, value)
                    }
                    (None, _) if modelfile::is_modelfile(&self.text) => modelfile::added(&self.text, key, value),
                    (None, _) if xml::is_xml(&self.text) => self.xml_added(key, value),
                    (None, kind) => ini::added(&self.text, kind.unwrap_or(EntryKind::Setting), key, value),
                };
                vec![edit.ok_or_else(unwritable)?]
            }
            Body::Python(code) => python::set(&self.text, code, old, key, value).ok_or_else(unwritable)?,
            // An option within a value.
            Body::Json(_) | Body::Toml(_) if old.is_some_and(|entry| entry.kind == EntryKind::Flag) => {
                vec![old.and_then(|entry| self.replaced(entry, value)).ok_or_else(unwritable)?]
            }
            body => body.set(&self.text, key, value)?,
        };
        let text = edit::apply(&self.text, edits);
        // Reading the result back catches every mistake with quotes and escapes.
        let written = Document::read_as(self.format, self.path.clone(), &text).map_err(|_| unwritable())?;
        // A word at the wrong place would begin a command of its own.
        if written.commands.len() != self.commands.len() && !self.is_script() {
            return Err(unwritable());
        }
        if self.has_set(&written, old, wanted) && self.others(key).eq(written.others(key)) {
            Ok(text)
        } else {
            Err(unwritable())
        }
    }

    fn is_script(&self) -> bool {
        matches!(self.body, Body::Shell(_))
    }

    /// The settings of a script that an edit of `key` must not change, since a slip there can change the meaning of a
    /// whole line. Variables are excluded because an edit may legitimately change the one that holds the value.
    fn others<'a>(&'a self, key: &'a str) -> impl Iterator<Item = (EntryKind, &'a str, Option<usize>, &'a str)> {
        fn base(key: &str) -> &str {
            key.trim_start_matches(['-', '+']).split('[').next().unwrap_or_default()
        }
        fn is_inside(inner: &str, outer: &str) -> bool {
            inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
        }
        let is_other = move |entry: &&Entry| {
            let is_variable = matches!(entry.kind, EntryKind::Variable | EntryKind::Env);
            // `--conf` before a pair stands there once more with another pair.
            let is_of_pairs = || entry.value == Value::Bool(true) && Launchers::shipped().introduces_pairs(&entry.key);
            let is_related = base(&entry.key) == base(key) || is_inside(key, &entry.key) || is_inside(&entry.key, key);
            self.is_script() && !is_variable && !is_related && !is_of_pairs() && !shell::changes_with(&entry.key, key)
        };
        let show = |entry: &'a Entry| (entry.kind, entry.key.as_str(), entry.command, entry.at.text.as_str());
        self.entries.iter().filter(is_other).map(show)
    }
}

fn parse(format: Format, text: &str) -> Result<Parsed, Remark> {
    match format {
        Format::Ini if modelfile::is_modelfile(text) => Ok(modelfile::read(text)),
        Format::Ini if dockerfile::is_dockerfile(text) => Ok(dockerfile::read(text)),
        Format::Ini if xml::is_xml(text) => {
            xml::read(text).ok_or_else(|| Remark::new(0, "elements that are not closed"))
        }
        Format::Ini => Ok(textproto::read(text).unwrap_or_else(|| ini::read(text))),
        Format::Json => {
            let root = json::read(text)?;
            let settings = flatten(root.iter().map(|root| (String::new(), root)))?;
            Ok(Parsed::new(Body::Json(root), settings))
        }
        Format::Python => python::read_code(text).ok_or_else(|| Remark::new(0, "neither Python code nor a notebook")),
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

/// The settings below `roots`; each root comes with the prefix of its keys.
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
            Body::Shell(_) | Body::Ini | Body::Python(_) | Body::Printed => Err(EditError::ReadOnly),
        }
    }
}

fn steps(key: &str) -> Result<Vec<PathStep>, EditError> {
    path::parse(key).ok_or_else(|| EditError::BadKey(key.to_owned()))
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod testing;
