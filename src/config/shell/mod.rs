//! Launch scripts and bare command lines.
//!
//! A script is run in mind, from top to bottom: variables take the values it assigns, as far as it is certain to assign
//! them, and each flag is found where it stands, be that the command, an array, a string of flags or a here document. It is run
//! without arguments, in an environment that sets nothing: `${X:-8}` and `if [ -z "$1" ]` take their defaults. What only running it
//! would tell (`$(…)`, `$RANK`, a test of what nobody set) stays as it is written.

mod arguments;
mod arithmetic;
mod edit;
mod expand;
mod launch;
mod lexer;
mod options;
mod script;
mod words;

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::entry::{Found, FoundCommand};
use super::{Body, Entry, EntryKind, Format, Parsed, Value};
use arguments::{Argument, Form};
use expand::{Chunk, Field};
use launch::Stage;
use script::{Call, File, Role, Script};
use words::Quote;

pub(crate) use edit::bare;
pub(super) use edit::set;
pub(super) use launch::{is_option, is_shell};

/// A script and the settings in it.
#[derive(Debug, Clone)]
pub(super) struct Shell {
    script: Script,
    commands: Vec<Given>,
    /// What each setting is, in the order of the entries.
    origins: Vec<Origin>,
    embedded: Vec<Embedded>,
    /// The command with the most settings, of those that are run where the script is launched without arguments.
    main: Option<usize>,
}

/// A command and what is given to it.
#[derive(Debug, Clone)]
struct Given {
    call: usize,
    stage: Stage,
    arguments: Vec<Argument>,
    /// The fields that are no setting's.
    operands: Vec<usize>,
}

/// What a setting is, for those who would change it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// An argument of a command; of several values this one.
    Argument { command: usize, argument: usize, value: Option<usize> },
    /// An assignment.
    Assignment(usize),
    /// An option within an assignment's value.
    Option(usize, Range<usize>),
    /// A setting of a text inside of this one.
    Embedded(usize),
}

/// A configuration inside of a script: a file that it writes, or JSON given to a flag.
#[derive(Debug, Clone)]
struct Embedded {
    /// What its keys begin with: `ds_config.json:` or `runtime-env-json.`.
    prefix: String,
    /// Its text begins at this byte.
    base: usize,
    text: String,
    body: Body,
}

/// Every word is kept with its place, which takes much more memory than its letters: a script has fewer.
const MOST_WORDS: usize = 50_000;

/// Whether nobody wrote `text` to launch a job.
pub(super) fn is_too_long(text: &str) -> bool {
    let parts = |byte: &u8| byte.is_ascii_whitespace() || b";&|()<>".contains(byte);
    let bytes = text.as_bytes();
    bytes.windows(2).filter(|pair| parts(&pair[0]) && !parts(&pair[1])).nth(MOST_WORDS).is_some()
}

/// Reads `text`.
pub(super) fn read(text: &str) -> Parsed {
    settled(text, script::read(text))
}

/// The settings of a script that was run in mind.
fn settled(text: &str, script: Script) -> Parsed {
    let (mut commands, mut shown, mut directives) = (Vec::new(), Vec::new(), Vec::new());
    for (number, call) in script.calls.iter().enumerate() {
        let fields: Vec<String> = call.fields.iter().map(Field::text).collect();
        let goes_with = |name: usize, value: usize| match (call.fields.get(name), call.fields.get(value)) {
            (Some(name), Some(value)) => !is_spread(value) && are_together(value, name, home(name)),
            _ => false,
        };
        if call.is_directive {
            let stage = launch::directive(&fields);
            let (arguments, operands) = arguments::arguments(&fields, stage.arguments.clone(), goes_with);
            directives.push(Given { call: number, stage, arguments, operands });
            continue;
        }
        for stage in launch::stages(&fields) {
            let (arguments, operands) = arguments::arguments(&fields, stage.arguments.clone(), goes_with);
            let (program, target) = (stage.program.clone(), stage.target.clone());
            let words = operands.iter().filter_map(|at| fields.get(*at).cloned()).collect();
            shown.push(FoundCommand { program, target, operands: words, at: call.span.start });
            commands.push(Given { call: number, stage, arguments, operands });
        }
    }
    let weight = |given: &Given| {
        let is_run = script.calls.get(given.call).is_some_and(|call| !call.is_skipped);
        (is_run, given.arguments.len())
    };
    let main = (0..commands.len()).max_by_key(|at| commands.get(*at).map(weight));
    commands.extend(directives);
    let mut settings = Settings { text, found: Vec::new(), embedded: Vec::new() };
    settings.assignments(&script);
    for (number, given) in commands.iter().enumerate() {
        if let Some(call) = script.calls.get(given.call) {
            given
                .arguments
                .iter()
                .enumerate()
                .for_each(|(at, argument)| settings.argument(call, given, number, at, argument));
        }
    }
    for file in &script.files {
        settings.file(file);
    }
    settings.found.sort_by_key(|(at, _, _)| *at);
    let (found, origins) = settings.found.into_iter().map(|(_, found, origin)| (found, origin)).unzip();
    let body = Body::Shell(Box::new(Shell { script, commands, origins, embedded: settings.embedded, main }));
    Parsed { body, found, commands: shown }
}

/// Reads the words of one command, each with its place.
pub(super) fn read_words(words: Vec<(String, Range<usize>)>) -> Parsed {
    let at = words.first().map_or(0, |(_, span)| span.start);
    let field = |(text, span)| {
        // As in quotes that hold nothing to expand; what a word is a part of is not looked for in the text.
        let chunk = Chunk { text, span, quote: Quote::Single, is_exact: false, is_known: true, path: None };
        Field { chunks: vec![chunk], word: None }
    };
    let fields = words.into_iter().map(field).collect();
    let call = Call { fields, span: at..at, within: None, is_directive: false, is_skipped: false };
    let parsed = settled("", Script { calls: vec![call], ..Script::default() });
    // Nobody edits it.
    Parsed { body: Body::Printed, ..parsed }
}

/// Whether a command line begins with a program that launches jobs, or assigns a variable.
pub(crate) fn starts_program(command: &str) -> bool {
    let first = command.split_whitespace().next().unwrap_or_default();
    let name = words::name_length(first);
    let assigns = name > 0 && first[name..].starts_with('=') && !first[name..].starts_with("==");
    launch::is_program(first) || first == "export" || assigns
}

/// Collects settings, each with the place of the statement that it belongs to.
struct Settings<'a> {
    text: &'a str,
    found: Vec<(usize, Found, Origin)>,
    embedded: Vec<Embedded>,
}

impl Settings<'_> {
    fn assignments(&mut self, script: &Script) {
        for (number, assignment) in script.assignments.iter().enumerate() {
            let Some(value) = &assignment.value else { continue };
            let statement = match assignment.role {
                Role::Prefix(call) => script.calls.get(call).map_or(assignment.span.start, |call| call.span.start),
                _ => assignment.span.start,
            };
            let kind = if assignment.role == Role::Variable { EntryKind::Variable } else { EntryKind::Env };
            let place = place(value, 0).unwrap_or_else(|| assignment.place.clone());
            let mut found = valued(&assignment.name, value, kind, place.clone());
            found.command = None;
            self.found.push((statement, found, Origin::Assignment(number)));
            if let [chunk] = value.as_slice()
                && options::has_options(&assignment.name)
                && chunk.is_exact
            {
                for option in options::options(&chunk.text) {
                    let span = chunk.span.start + option.value.start..chunk.span.start + option.value.end;
                    let value = Value::of_word(&chunk.text[option.value.clone()]);
                    let key = format!("{}.{}", assignment.name, option.name);
                    let all = chunk.span.start + option.all.start..chunk.span.start + option.all.end;
                    self.found.push((statement, Found::new(&key, value, kind, span), Origin::Option(number, all)));
                }
            }
        }
    }

    fn argument(&mut self, call: &Call, given: &Given, command: usize, at: usize, argument: &Argument) {
        let kind = match argument.form {
            _ if call.is_directive => EntryKind::Directive,
            Form::Override(_) if given.stage.program == "env" => EntryKind::Env,
            Form::Override(_) => EntryKind::Override,
            _ => EntryKind::Flag,
        };
        let Some(name) = call.fields.get(argument.name) else { return };
        let home = home(name);
        let owner = Some(command).filter(|_| !call.is_directive);
        let values: Vec<Vec<Chunk>> = match argument.form {
            Form::Joined(from) | Form::Override(from) => vec![tail(name, from)],
            Form::Spaced => {
                let fields = call.fields.get(argument.values.clone()).unwrap_or_default();
                fields.iter().map(|field| field.chunks.clone()).collect()
            }
        };
        let many = values.len() > 1;
        if values.is_empty() {
            let span = place(&name.chunks, home).unwrap_or_else(|| call.span.clone());
            let found = Found::new(&argument.key, Value::Bool(true), kind, span);
            let origin = Origin::Argument { command, argument: at, value: None };
            self.found.push((call.span.start, Found { command: owner, ..found }, origin));
        }
        for (index, chunks) in values.into_iter().enumerate() {
            let key = if many { format!("{}[{index}]", argument.key) } else { argument.key.clone() };
            let end = place(&name.chunks, home).map_or(call.span.end, |span| span.end);
            let span = place(&chunks, home).unwrap_or(end..end);
            let found = Found { command: owner, ..valued(&key, &chunks, kind, span) };
            let origin = Origin::Argument { command, argument: at, value: many.then_some(index) };
            self.found.push((call.span.start, found, origin));
            if let [chunk] = chunks.as_slice()
                && chunk.text.starts_with('{')
                && chunk.is_exact
            {
                let inner = Inner { prefix: format!("{key}."), kind, command: owner, statement: call.span.start };
                self.embed(inner, chunk.span.clone(), Format::Json, &[]);
            }
        }
    }

    /// A file that the script writes.
    fn file(&mut self, file: &File) {
        let body = self.text.get(file.body.clone()).unwrap_or_default();
        let ends = |ends: &[&str]| ends.iter().any(|end| file.name.ends_with(end));
        let format = match body.trim_start().starts_with('{') {
            true => Format::Json,
            false if ends(&[".yaml", ".yml"]) => Format::Yaml,
            false => return,
        };
        let (prefix, kind, statement) = (format!("{}:", file.name), EntryKind::Setting, file.body.start);
        let inner = Inner { prefix, kind, command: None, statement };
        self.embed(inner, file.body.clone(), format, &file.references);
    }

    /// Reads a configuration inside of the script, in which `references` stand for values. Whatever looks like one and is none is just a text.
    fn embed(&mut self, inner: Inner, span: Range<usize>, format: Format, references: &[Chunk]) {
        let mut text = self.text.get(span.clone()).unwrap_or_default().to_owned();
        let base = span.start;
        // A variable where a value should be reads as a string that is as long.
        let mut stand_ins: Vec<(Range<usize>, &Chunk)> = Vec::new();
        for chunk in references {
            let place = chunk.reference(0).map_or(&chunk.span, |reference| &reference.span);
            let (Some(start), Some(end)) = (place.start.checked_sub(base), place.end.checked_sub(base)) else {
                continue;
            };
            let is_value = text.get(..start).is_some_and(|before| before.trim_end().ends_with([':', '[', ',']));
            if format == Format::Json && is_value && end >= start + 2 {
                text.replace_range(start..end, &format!("\"{:1$}\"", "", end - start - 2));
            }
            stand_ins.push((start..end, chunk));
        }
        let Ok(parsed) = super::parse(format, &text) else { return };
        let number = self.embedded.len();
        for mut found in parsed.found {
            if let Some((_, chunk)) = stand_ins.iter().find(|(place, _)| *place == found.span) {
                let known = Value::of_word(&chunk.text);
                found.value = if chunk.is_known { known } else { Value::Text(chunk.text.clone()) };
                found.defined = chunk.is_known.then(|| chunk.span.clone());
            }
            found.key.insert_str(0, &inner.prefix);
            found.span = found.span.start + base..found.span.end + base;
            (found.kind, found.command) = (inner.kind, inner.command);
            self.found.push((inner.statement, found, Origin::Embedded(number)));
        }
        self.embedded.push(Embedded { prefix: inner.prefix, base, text, body: parsed.body });
    }
}

/// What the settings of a configuration inside of a script have in common.
struct Inner {
    prefix: String,
    kind: EntryKind,
    command: Option<usize>,
    /// Where the statement stands that they belong to.
    statement: usize,
}

/// A setting whose value is what `chunks` say.
fn valued(key: &str, chunks: &[Chunk], kind: EntryKind, span: Range<usize>) -> Found {
    let text: String = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    let is_known = chunks.iter().all(|chunk| chunk.is_known);
    let value = if is_known { Value::of_word(&text) } else { Value::Text(text) };
    let defined = match chunks {
        [chunk] if is_known && chunk.depth() > 0 && chunk.span != span => Some(chunk.span.clone()),
        _ => None,
    };
    Found { defined, ..Found::new(key, value, kind, span) }
}

/// How many references lead from the command to where a flag stands.
fn home(name: &Field) -> usize {
    name.chunks.iter().map(Chunk::depth).min().unwrap_or(0)
}

/// Whether a field is a variable that nobody knows and that by its name holds arguments: `"$@"`, `$EXTRA_ARGS`,
/// `"${OPTIONS[@]}"`.
fn is_spread(field: &Field) -> bool {
    let [chunk] = field.chunks.as_slice() else { return false };
    let name = chunk.text.to_ascii_uppercase();
    let is_list = ["$@", "$*", "${@", "${*"].iter().any(|all| name.starts_with(all))
        || name.contains("[@]")
        || name.contains("[*]");
    !chunk.is_known
        && (is_list || ["ARG", "OPT", "FLAG", "PARAM", "CMD", "EXTRA"].iter().any(|word| name.contains(word)))
}

/// Whether two fields stand in the same text, to which `home` references lead.
fn are_together(one: &Field, other: &Field, home: usize) -> bool {
    let last = |field: &Field| {
        let reference = field.chunks.first().and_then(|chunk| chunk.reference(home.checked_sub(1)?));
        reference.map(|reference| reference.span.clone())
    };
    home == 0 || last(one).is_some() && last(one) == last(other)
}

/// Where `chunks` stand in what `home` references lead to.
fn place(chunks: &[Chunk], home: usize) -> Option<Range<usize>> {
    let spans = chunks.iter().map(|chunk| chunk.reference(home).map_or(&chunk.span, |reference| &reference.span));
    spans.cloned().reduce(|all, span| all.start.min(span.start)..all.end.max(span.end))
}

/// The chunks of a field from this byte on.
fn tail(field: &Field, from: usize) -> Vec<Chunk> {
    let (mut skip, mut chunks) = (from, Vec::new());
    for chunk in &field.chunks {
        let gone = skip.min(chunk.text.len());
        skip -= gone;
        // What is used up ends with the sign that sets; an empty string may follow.
        if gone == chunk.text.len() && gone > 0 {
            continue;
        }
        let start = if chunk.is_exact { chunk.span.start + gone } else { chunk.span.start };
        let text = chunk.text.get(gone..).unwrap_or_default().to_owned();
        chunks.push(Chunk { text, span: start..chunk.span.end, ..chunk.clone() });
    }
    chunks
}

impl Shell {
    /// The number of the command with the most settings.
    pub fn main(&self) -> Option<usize> {
        self.main
    }

    /// Where the test begins that decides whether this byte of the script counts, if whoever launches it has a say in that.
    pub fn choice(&self, at: usize) -> Option<usize> {
        self.script.choices.iter().filter(|choice| choice.contains(&at)).map(|choice| choice.start).max()
    }

    /// Which entry counts for `key`: of equal ones that of the main command, else the last. Where no key is spelled so,
    /// `-` and `_` are the same.
    pub fn choose(
        &self,
        entries: &[Entry],
        key: &str,
        kind: Option<EntryKind>,
        command: Option<usize>,
    ) -> Option<usize> {
        let key = key.trim_start_matches(['-', '+']);
        let fold = |key: &str| key.replace('-', "_");
        let fits = |entry: &Entry| {
            kind.is_none_or(|kind| entry.kind == kind) && (command.is_none() || entry.command == command)
        };
        let pick = |same: &dyn Fn(&str) -> bool| {
            let all = || entries.iter().enumerate().rev().filter(|(_, entry)| fits(entry) && same(&entry.key));
            let in_main = |(_, entry): &(usize, &Entry)| self.main.is_some() && entry.command == self.main;
            all().find(in_main).or_else(|| all().next()).map(|(at, _)| at)
        };
        pick(&|other| other == key).or_else(|| pick(&|other| fold(other) == fold(key)))
    }
}
