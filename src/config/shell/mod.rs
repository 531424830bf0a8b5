//! Reads and edits launch scripts and bare command lines.
//!
//! A script is interpreted from top to bottom without running anything. Variables take the values that it certainly
//! assigns, and each flag is found where it is written: in the command, an array, a string of flags or a here document.
//! The interpretation assumes no arguments and an empty environment, so `${X:-8}` and `if [ -z "$1" ]` take their
//! defaults. Whatever depends on execution (`$(…)`, `$RANK`, a test of an unset variable) stays as it is written.

mod allocator_options;
mod arguments;
mod arithmetic;
mod batch;
mod beside;
mod edit;
mod expand;
mod launchers;
mod lexer;
mod option_words;
mod script;
mod together;
mod words;

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::entry::{FoundCommand, FoundSetting};
use super::runtime_options::{self, RuntimeOption};
use super::{Body, Entry, EntryKind, Format, Parsed, Value};
use arguments::{Argument, Form};
use expand::{Chunk, Field};
use launchers::Stage;
use script::{Call, Role, Script, WrittenFile};
use together::Together;
use words::Quote;

use crate::knowledge::{Launchers, Scheduler};

pub(super) use beside::changes_with;
pub(crate) use edit::bare;
pub(super) use edit::{set, without};
pub(super) use launchers::{is_option, is_shell};
pub(super) use words::{is_too_long, name_length};

/// A script and the settings in it.
#[derive(Debug, Clone)]
pub(super) struct Shell {
    script: Script,
    commands: Vec<CommandLine>,
    /// The origin of each entry, in the same order.
    origins: Vec<Origin>,
    embedded: Vec<Embedded>,
    /// What it starts at once.
    together: Option<Together>,
    /// The command with the most settings, preferring those that run when the script is launched without arguments.
    main: Option<usize>,
}

/// A command of a script with its arguments.
#[derive(Debug, Clone)]
struct CommandLine {
    call: usize,
    stage: Stage,
    arguments: Vec<Argument>,
    /// The indices of the fields that belong to no setting.
    operands: Vec<usize>,
}

/// What an entry was read from, which decides how it is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// An argument of a command. `value` is the index of one of several values.
    Argument { command: usize, argument: usize, value: Option<usize> },
    /// An assignment.
    Assignment(usize),
    /// An option within an assignment's value.
    Option(usize, Range<usize>),
    /// A setting in the embedded configuration with this index.
    Embedded(usize),
    /// How many processes the script starts at once.
    Together,
    /// The devices of the main command, beside one that runs in the background.
    Beside(Box<beside::Beside>),
    /// A word in the value of a variable whose words are options: a switch, or the value of an option.
    Word(Range<usize>),
}

/// A configuration within a script: a file that it writes, or JSON given to a flag.
#[derive(Debug, Clone)]
struct Embedded {
    /// The prefix of its keys: `ds_config.json:` or `runtime-env-json.`.
    prefix: String,
    /// The offset of its text in the script.
    base: usize,
    text: String,
    body: Body,
}

/// Reads a script.
pub(super) fn read(text: &str) -> Parsed {
    let text = batch::as_script(text);
    settled(&text, script::read(&text))
}

/// Collects the settings of an interpreted script.
fn settled(text: &str, script: Script) -> Parsed {
    let (mut commands, mut shown, mut directives) = (Vec::new(), Vec::new(), Vec::new());
    for (number, call) in script.calls.iter().enumerate() {
        let fields: Vec<String> = call.fields.iter().map(Field::text).collect();
        let goes_with = |name: usize, value: usize| match (call.fields.get(name), call.fields.get(value)) {
            (Some(name), Some(value)) => !is_spread(value) && are_together(value, name, home(name)),
            _ => false,
        };
        if call.is_directive {
            let stage = launchers::directive(&fields);
            let (arguments, operands) = arguments::arguments(&fields, stage.arguments.clone(), goes_with);
            let scheduler = Launchers::shipped().scheduler(&stage.program);
            let lists = scheduler.map_or(&[][..], |scheduler| &scheduler.lists);
            let arguments = arguments::listed(&fields, arguments, lists, &[',', ':', '[', ']', ' ']);
            directives.push(CommandLine { call: number, stage, arguments, operands });
            continue;
        }
        for stage in launchers::stages(&fields) {
            // `make -j install` has no number.
            let builds = Launchers::shipped().programs.builds(&stage.program);
            let is_number = |name: usize, value: usize| match (fields.get(name), fields.get(value)) {
                (Some(name), Some(value)) if builds && Launchers::shipped().programs.says_build_jobs(name) => {
                    arguments::may_be_number(value)
                }
                _ => true,
            };
            let goes_with = |name: usize, value: usize| is_number(name, value) && goes_with(name, value);
            let (arguments, operands) = arguments::arguments(&fields, stage.arguments.clone(), goes_with);
            let (program, target) = (stage.program.clone(), stage.target.clone());
            let started = [Some(&*program), target.as_deref()].into_iter().flatten();
            let lists = started.flat_map(|name| Launchers::shipped().lists_of(name)).cloned().collect::<Vec<_>>();
            let arguments = arguments::listed(&fields, arguments, &lists, &[',']);
            let words = operands.iter().filter_map(|at| fields.get(*at).cloned()).collect();
            shown.push(FoundCommand { program, target, operands: words, at: call.span.start });
            commands.push(CommandLine { call: number, stage, arguments, operands });
        }
    }
    let weight = |command_line: &CommandLine| {
        let is_run = script.calls.get(command_line.call).is_some_and(|call| !call.is_skipped);
        let Stage { program, target, .. } = &command_line.stage;
        let runs_image = launchers::runs_image(program, target.as_deref());
        (is_run, !runs_image, command_line.arguments.len())
    };
    let main = (0..commands.len()).max_by_key(|at| commands.get(*at).map(weight));
    commands.extend(directives);
    let main_call = main.and_then(|main| commands.get(main)).map(|main| main.call);
    let mut settings = Settings { text, main_call, found: Vec::new(), embedded: Vec::new() };
    settings.assignments(&script);
    for (number, command_line) in commands.iter().enumerate() {
        if let Some(call) = script.calls.get(command_line.call) {
            command_line
                .arguments
                .iter()
                .enumerate()
                .for_each(|(at, argument)| settings.argument(call, command_line, number, at, argument));
        }
    }
    for file in &script.files {
        settings.file(file);
    }
    let together = together::read(text);
    settings.found.extend(together.iter().map(|together| {
        let value = Value::Number(together.count as f64);
        let found = FoundSetting::new(together::KEY, value, EntryKind::Setting, together.place.clone());
        (together.place.start, found, Origin::Together)
    }));
    settings.found.extend(beside::settings(text, &script, &commands, main));
    settings.found.sort_by_key(|(at, _, _)| *at);
    let (found, origins) = settings.found.into_iter().map(|(_, found, origin)| (found, origin)).unzip();
    let body = Body::Shell(Box::new(Shell { script, commands, origins, embedded: settings.embedded, together, main }));
    Parsed { body, found, commands: shown }
}

/// Reads the words of one command, each with its span.
pub(super) fn read_words(words: Vec<(String, Range<usize>)>) -> Parsed {
    let at = words.first().map_or(0, |(_, span)| span.start);
    let field = |(text, span)| {
        // As if single-quoted: nothing is expanded. `is_exact` is false because the words are not looked up in a text.
        let chunk = Chunk { text, span, quote: Quote::Single, is_exact: false, is_known: true, path: None };
        Field { chunks: vec![chunk], word: None }
    };
    let fields = words.into_iter().map(field).collect();
    let call = Call { fields, span: at..at, within: None, is_directive: false, is_skipped: false };
    let parsed = settled("", Script { calls: vec![call], ..Script::default() });
    // Such a command is never edited.
    Parsed { body: Body::Printed, ..parsed }
}

/// Whether a command line begins with a program that launches jobs, or assigns a variable.
pub(crate) fn starts_program(command: &str) -> bool {
    let first = command.split_whitespace().next().unwrap_or_default();
    let name = words::name_length(first);
    let assigns = name > 0 && first[name..].starts_with('=') && !first[name..].starts_with("==");
    launchers::is_program(first) || first == "export" || assigns
}

/// Collects settings together with the offset of the statement that each belongs to.
struct Settings<'a> {
    text: &'a str,
    /// The call of the main command.
    main_call: Option<usize>,
    found: Vec<(usize, FoundSetting, Origin)>,
    embedded: Vec<Embedded>,
}

impl Settings<'_> {
    fn assignments(&mut self, script: &Script) {
        for (number, assignment) in script.assignments.iter().enumerate() {
            let Some(value) = &assignment.value else { continue };
            // What another command has is no setting of the job.
            let is_main = |call| self.main_call.is_none_or(|main| main == call);
            if matches!(assignment.role, Role::Prefix(call) if !is_main(call))
                && beside::is_of_background(self.text, script, assignment)
            {
                continue;
            }
            let statement = match assignment.role {
                Role::Prefix(call) => script.calls.get(call).map_or(assignment.span.start, |call| call.span.start),
                _ => assignment.span.start,
            };
            let kind = if assignment.role == Role::Variable { EntryKind::Variable } else { EntryKind::Env };
            let place = place(value, 0).unwrap_or_else(|| assignment.place.clone());
            let mut found = valued(&assignment.name, value, kind, place.clone());
            found.command = None;
            self.found.push((statement, found, Origin::Assignment(number)));
            self.options_in(assignment, statement);
            if let [chunk] = value.as_slice()
                && let Some(separator) = allocator_options::separator(&assignment.name)
                && chunk.is_exact
            {
                for option in allocator_options::options(&chunk.text, separator) {
                    let span = chunk.span.start + option.value.start..chunk.span.start + option.value.end;
                    let value = Value::of_word(&chunk.text[option.value.clone()]);
                    let key = format!("{}.{}", assignment.name, option.name);
                    let all = chunk.span.start + option.all.start..chunk.span.start + option.all.end;
                    self.found.push((
                        statement,
                        FoundSetting::new(&key, value, kind, span),
                        Origin::Option(number, all),
                    ));
                }
            }
        }
    }

    /// The options in the value of a variable that a program reads as part of its command line.
    fn options_in(&mut self, assignment: &script::Assignment, statement: usize) {
        for chunk in assignment.value.iter().flatten().filter(|chunk| chunk.is_exact && chunk.depth() == 0) {
            for RuntimeOption { name, value } in runtime_options::options(&chunk.text) {
                let span = chunk.span.start + value.start..chunk.span.start + value.end;
                let found = FoundSetting::new(name, Value::of_word(&chunk.text[value]), EntryKind::Flag, span.clone());
                self.found.push((statement, found, Origin::Word(span)));
            }
        }
        let Some([chunk]) = assignment.value.as_deref() else { return };
        if !chunk.is_exact || !option_words::is_list(&assignment.name) {
            return;
        }
        for option in option_words::options(&chunk.text) {
            let moved = |span: Range<usize>| chunk.span.start + span.start..chunk.span.start + span.end;
            let (value, span) = match option.value {
                Some(span) => (Value::of_word(&chunk.text[span.clone()]), moved(span)),
                None => (Value::Bool(true), moved(option.word)),
            };
            let found = FoundSetting::new(option.name, value, EntryKind::Flag, span.clone());
            self.found.push((statement, found, Origin::Word(span)));
        }
    }

    fn argument(&mut self, call: &Call, command_line: &CommandLine, command: usize, at: usize, argument: &Argument) {
        let kind = match argument.form {
            _ if call.is_directive => EntryKind::Directive,
            Form::Override(_) if command_line.stage.program == "env" => EntryKind::Env,
            Form::Override(_) => EntryKind::Override,
            _ => EntryKind::Flag,
        };
        let Some(name) = call.fields.get(argument.name) else { return };
        let home = home(name);
        let owner = Some(command).filter(|_| !call.is_directive);
        let values: Vec<Vec<Chunk>> = match argument.form {
            Form::Joined(from) | Form::Override(from) => vec![tail(name, from)],
            Form::Item(from, to) => vec![part(name, from, to)],
            Form::Spaced => {
                let fields = call.fields.get(argument.values.clone()).unwrap_or_default();
                fields.iter().map(|field| field.chunks.clone()).collect()
            }
        };
        let many = values.len() > 1;
        if values.is_empty() {
            let span = place(&name.chunks, home).unwrap_or_else(|| call.span.clone());
            let found = FoundSetting::new(&argument.key, Value::Bool(true), kind, span);
            let origin = Origin::Argument { command, argument: at, value: None };
            self.found.push((call.span.start, FoundSetting { command: owner, ..found }, origin));
        }
        for (index, chunks) in values.into_iter().enumerate() {
            let key = if many { format!("{}[{index}]", argument.key) } else { argument.key.clone() };
            let end = place(&name.chunks, home).map_or(call.span.end, |span| span.end);
            let span = place(&chunks, home).unwrap_or(end..end);
            let found = FoundSetting { command: owner, ..valued(&key, &chunks, kind, span) };
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
    fn file(&mut self, file: &WrittenFile) {
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

    /// Reads a configuration within the script; `references` are the variables in it. A text that only looks like a
    /// configuration is ignored.
    fn embed(&mut self, inner: Inner, span: Range<usize>, format: Format, references: &[Chunk]) {
        let mut text = self.text.get(span.clone()).unwrap_or_default().to_owned();
        let base = span.start;
        // A variable in the place of a JSON value is replaced by a string of the same length, so that the text can be
        // parsed.
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

/// What all settings of an embedded configuration have in common.
struct Inner {
    prefix: String,
    kind: EntryKind,
    command: Option<usize>,
    /// The offset of the statement that they belong to.
    statement: usize,
}

/// A setting with the value that `chunks` make.
fn valued(key: &str, chunks: &[Chunk], kind: EntryKind, span: Range<usize>) -> FoundSetting {
    let text: String = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    let is_known = chunks.iter().all(|chunk| chunk.is_known);
    let value = if is_known { Value::of_word(&text) } else { Value::Text(text) };
    let defined = match chunks {
        [chunk] if is_known && chunk.depth() > 0 && chunk.span != span => Some(chunk.span.clone()),
        _ => None,
    };
    FoundSetting { defined, ..FoundSetting::new(key, value, kind, span) }
}

/// How many variable references lead from the command to the text that contains the flag; 0 if the command contains it
/// itself.
fn home(name: &Field) -> usize {
    name.chunks.iter().map(Chunk::depth).min().unwrap_or(0)
}

/// Whether a field is an unknown variable whose name says that it holds arguments: `"$@"`, `$EXTRA_ARGS`,
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

/// Whether two fields are written in the same text, the one that `home` references lead to.
fn are_together(one: &Field, other: &Field, home: usize) -> bool {
    let last = |field: &Field| {
        let reference = field.chunks.first().and_then(|chunk| chunk.reference(home.checked_sub(1)?));
        reference.map(|reference| reference.span.clone())
    };
    home == 0 || last(one).is_some() && last(one) == last(other)
}

/// The span of `chunks` in the text that `home` references lead to.
fn place(chunks: &[Chunk], home: usize) -> Option<Range<usize>> {
    let spans = chunks.iter().map(|chunk| chunk.reference(home).map_or(&chunk.span, |reference| &reference.span));
    spans.cloned().reduce(|all, span| all.start.min(span.start)..all.end.max(span.end))
}

/// The chunks of a field from byte `from` on.
fn tail(field: &Field, from: usize) -> Vec<Chunk> {
    let (mut skip, mut chunks) = (from, Vec::new());
    for chunk in &field.chunks {
        let gone = skip.min(chunk.text.len());
        skip -= gone;
        // A chunk that ends with `=` is used up; an empty string may follow it.
        if gone == chunk.text.len() && gone > 0 {
            continue;
        }
        let start = if chunk.is_exact { chunk.span.start + gone } else { chunk.span.start };
        let text = chunk.text.get(gone..).unwrap_or_default().to_owned();
        chunks.push(Chunk { text, span: start..chunk.span.end, ..chunk.clone() });
    }
    chunks
}

/// The chunks of a field between two bytes.
fn part(field: &Field, from: usize, to: usize) -> Vec<Chunk> {
    let mut left = to.saturating_sub(from);
    let mut chunks = tail(field, from);
    for chunk in &mut chunks {
        let kept = left.min(chunk.text.len());
        left -= kept;
        if chunk.is_exact {
            chunk.span.end -= chunk.text.len() - kept;
        }
        chunk.text.truncate(kept);
    }
    chunks.retain(|chunk| !chunk.text.is_empty());
    chunks
}

impl Shell {
    /// The scheduler that reads the script's directives.
    pub fn scheduler(&self) -> Option<&'static Scheduler> {
        let directive = self.script.calls.iter().find(|call| call.is_directive)?;
        Launchers::shipped().scheduler(&directive.fields.first()?.text())
    }

    /// The index of the main command: the one with the most settings, but what runs a container's image only if nothing runs in it.
    pub fn main(&self) -> Option<usize> {
        self.main
    }

    /// The start of the innermost test that decides whether this byte of the script takes effect, if its outcome
    /// depends on how the script is launched.
    pub fn choice(&self, at: usize) -> Option<usize> {
        self.script.choices.iter().filter(|choice| choice.contains(&at)).map(|choice| choice.start).max()
    }

    /// The index of the entry that is effective for `key`: that of the main command, else the last. If no key is
    /// spelled exactly so, `-` and `_` are treated alike.
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
