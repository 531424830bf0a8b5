//! Adds a missing setting: a flag behind the last one of its command, in the same layout; a variable beside the other
//! exports.

use std::ops::Range;

use super::super::super::edit::{Edit, indentation, is_blank, line_end, line_start, newline};
use super::super::super::{EditError, EntryKind, Value};
use super::super::arguments::{Argument, Form};
use super::super::expand::Field;
use super::super::script::{Assignment, Call, Role};
use super::super::words::{Quote, name_length};
use super::super::{CommandLine, allocator_options, are_together, batch, home, is_spread, option_words, part};
use super::{Editor, is_safe};
use crate::knowledge::Launchers;

/// The place of a new setting, and the text that separates it from what precedes it.
struct Gap {
    at: usize,
    text: String,
    /// Whether quotes are possible there.
    takes_quotes: bool,
}

impl Editor<'_> {
    /// Adds the wanted setting where a person would write it.
    pub(super) fn add(&self) -> Result<Option<Vec<Edit>>, EditError> {
        let key = self.wanted.key;
        if let Some(number) = self.shell.embedded.iter().position(|embedded| key.starts_with(&embedded.prefix)) {
            return self.change_embedded(number).map(Some);
        }
        if let Some((name, option)) = key.split_once('.')
            && let Some(separator) = allocator_options::separator(name)
        {
            return Ok(self.add_option(name, option, separator));
        }
        if let Some((list, index)) = key.strip_suffix(']').and_then(|key| key.rsplit_once('[')) {
            return self.add_value(list, index).map(Some);
        }
        // `RAY_memory_usage_threshold`, `CUDA_VISIBLE_DEVICES`
        let looks_like_variable = {
            let (first, rest) = key.split_once('_').unwrap_or((key, ""));
            let is_upper = |word: &str| word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
            name_length(key) == key.len() && first.len() > 1 && is_upper(first) && (!rest.is_empty() || key == first)
        };
        match self.wanted.kind {
            Some(EntryKind::Env | EntryKind::Variable) => Ok(self.add_variable(key, None)),
            None if looks_like_variable => Ok(self.add_variable(key, None)),
            Some(EntryKind::Directive) => Ok(self.add_directive()),
            kind => {
                let command = self.wanted.command.or(self.shell.main);
                if command.is_none()
                    && let Some(edits) = self.add_word()
                {
                    return Ok(Some(edits));
                }
                let command = command.ok_or_else(|| EditError::NoCommand(key.to_owned()))?;
                Ok(self.add_argument(command, kind))
            }
        }
    }

    /// Adds an option behind those in the variable that a program reads as part of its command line.
    fn add_word(&self) -> Option<Vec<Edit>> {
        let is_list = |assignment: &&Assignment| option_words::is_list(&assignment.name);
        let assignment = self.shell.script.assignments.iter().rev().find(is_list)?;
        let Some([chunk]) = assignment.value.as_deref() else { return None };
        let name = self.wanted.key.trim_start_matches('-');
        let words = match self.wanted.value {
            Value::Bool(true) => format!("--{name}"),
            _ => format!("--{name} {}", Some(self.written("", "True")).filter(|new| is_safe(new))?),
        };
        let is_quoted = chunk.quote != Quote::Bare || chunk.text.is_empty();
        (chunk.depth() == 0 && chunk.is_exact && is_quoted)
            .then(|| vec![Edit::insert(chunk.span.end, format!(" {words}"))])
    }

    /// Adds `item` behind the last one of the list that the option `list` is given: `--model_args a=1,b=2`.
    fn add_item(&self, call: &Call, command_line: &CommandLine, list: &str, item: &str) -> Option<Vec<Edit>> {
        let is_of = |argument: &&Argument| {
            matches!(argument.form, Form::Item(..)) && argument.key.split_once(' ').is_some_and(|(of, _)| of == list)
        };
        let last = command_line.arguments.iter().rev().find(is_of)?;
        let Form::Item(from, to) = last.form else { return None };
        let field = call.fields.get(last.name)?;
        let chunks = part(field, from, to);
        let [chunk] = chunks.as_slice() else { return None };
        let value = self.written("", "True");
        let is_plain = chunk.depth() == home(field) && chunk.is_exact && is_safe(&value);
        is_plain.then(|| vec![Edit::insert(chunk.span.end, format!(",{item}={value}"))])
    }

    fn add_argument(&self, command: usize, kind: Option<EntryKind>) -> Option<Vec<Edit>> {
        let (call, command_line) = self.command_line(command)?;
        if call.is_directive {
            return self.add_directive();
        }
        if let Some((list, item)) = self.wanted.key.trim_start_matches('-').split_once(' ') {
            return self.add_item(call, command_line, list, item);
        }
        let is_override = |argument: &&Argument| matches!(argument.form, Form::Override(_));
        let (overrides, flags): (Vec<&Argument>, Vec<&Argument>) = command_line.arguments.iter().partition(is_override);
        let key = self.wanted.key.trim_start_matches('-');
        let as_override = match kind {
            Some(EntryKind::Override) => true,
            None => {
                !overrides.is_empty() && !self.wanted.key.starts_with('-') && (flags.is_empty() || key.contains('.'))
            }
            _ => false,
        };
        if as_override && let Some(option) = Launchers::shipped().option_for_pairs(&command_line.stage.program) {
            return self.add_pair(call, command_line, option);
        }
        let siblings = if as_override { &overrides } else { &flags };
        let valued: Vec<&&Argument> = siblings.iter().filter(|argument| !argument.is_switch()).collect();
        let joined = as_override || valued.last().is_some_and(|argument| matches!(argument.form, Form::Joined(_)));
        let truth = self.truth(command);
        let flag = match self.wanted.key.len() - key.len() {
            _ if as_override => key.to_owned(),
            1 => format!("-{key}"),
            _ if key.len() == 1 => format!("-{key}"),
            _ => format!("--{key}"),
        };
        let is_switch = *self.wanted.value == Value::Bool(true)
            && !as_override
            && (flags.iter().any(|flag| flag.is_switch()) || !self.says_truth(call, &flags));
        let last = siblings.last().or(flags.last()).or(overrides.last());
        let gap = match last {
            Some(argument) => self.behind(call, command_line, argument)?,
            None => {
                let Range { start, end } = command_line.stage.arguments;
                let field = call.fields.get(end.max(start).checked_sub(1)?)?;
                let home = home(field);
                Gap { at: self.end(field, home)?, text: " ".to_owned(), takes_quotes: home == 0 }
            }
        };
        let new = self.quoted(&self.written("", truth), Quote::Bare, gap.takes_quotes && call.within.is_none())?;
        let words = match (is_switch, joined) {
            (true, _) => flag,
            (_, true) => format!("{flag}={new}"),
            (_, false) => format!("{flag} {new}"),
        };
        Some(vec![Edit::insert(gap.at, gap.text + &words)])
    }

    /// Adds a pair of name and value with the `option` before it, behind the last such pair, else behind the program: `--conf a.b=4g`. What
    /// stands at the end is for the program that it starts.
    fn add_pair(&self, call: &Call, command_line: &CommandLine, option: &str) -> Option<Vec<Edit>> {
        let is_option = |at: usize| call.fields.get(at).is_some_and(|field| field.text() == option);
        let is_pair = |argument: &&Argument| {
            matches!(argument.form, Form::Override(_)) && argument.name.checked_sub(1).is_some_and(is_option)
        };
        let last = command_line.arguments.iter().rev().find(is_pair);
        let begin = command_line.stage.arguments.start;
        let place = last.map_or(begin.checked_sub(1)?, |argument| argument.name);
        let field = call.fields.get(place)?;
        let (home, end) = (home(field), self.end(field, home(field))?);
        // In the layout of the next word of the command.
        let next = last.map_or(begin, |argument| argument.name - 1);
        let before = next.checked_sub(1).and_then(|before| call.fields.get(before));
        let start = call.fields.get(next).and_then(|next| self.start(next, home));
        let gap = before.and_then(|before| self.text.get(self.end(before, home)?..start?)).unwrap_or(" ");
        let is_gap = !gap.is_empty() && gap.chars().all(|c| c.is_whitespace() || c == '\\');
        let gap = if is_gap { gap } else { " " };
        let pair = format!("{}={}", self.wanted.key.trim_start_matches('-'), self.written("", "True"));
        let pair = self.quoted(&pair, Quote::Bare, home == 0 && call.within.is_none())?;
        Some(vec![Edit::insert(end, format!("{gap}{option} {pair}"))])
    }

    /// Whether any of these flags has `True` or `False` as its value.
    fn says_truth(&self, call: &Call, flags: &[&Argument]) -> bool {
        flags.iter().any(|flag| {
            let values = call.fields.get(flag.values.clone()).unwrap_or_default();
            values.iter().any(|value| matches!(value.text().as_str(), "True" | "False" | "true" | "false"))
        })
    }

    /// The place for a new argument behind this one, in the same layout.
    fn behind(&self, call: &Call, command_line: &CommandLine, argument: &Argument) -> Option<Gap> {
        let name = call.fields.get(argument.name)?;
        let home = home(name);
        let chunk = name.chunks.first()?;
        if let Some(reference) = home.checked_sub(1).and_then(|above| chunk.reference(above))
            && name.word.as_ref().is_none_or(|(_, depth)| *depth != home)
            && chunk.quote == Quote::Bare
        {
            // An unquoted `FLAG=--bf16` cannot hold a second word, so the new argument goes behind `$FLAG`.
            return Some(Gap { at: reference.span.end, text: " ".to_owned(), takes_quotes: false });
        }
        // The new argument goes behind operands that follow, which would otherwise become its values.
        let end = argument.values.end.max(argument.name + 1);
        let operands = (end..command_line.stage.arguments.end).take_while(|at| {
            let is_operand = |field: &Field| !is_spread(field) && are_together(field, name, home);
            command_line.operands.contains(at) && call.fields.get(*at).is_some_and(is_operand)
        });
        let last = call.fields.get(operands.last().unwrap_or(end - 1))?;
        let (start, end) = (self.start(name, home)?, self.end(last, home)?);
        let before = argument.name.checked_sub(1).and_then(|before| call.fields.get(before));
        let before = before.filter(|before| are_together(before, name, home)).and_then(|before| self.end(before, home));
        let gap = before.and_then(|before| self.text.get(before..start)).unwrap_or(" ");
        let takes_quotes = name.word.as_ref().is_some_and(|(_, depth)| *depth == home);
        let is_gap = !gap.is_empty() && gap.chars().all(|c| c.is_whitespace() || c == '\\');
        if !gap.contains('\n') || gap.contains('\\') && is_gap {
            return Some(Gap { at: end, text: if is_gap { gap } else { " " }.to_owned(), takes_quotes });
        }
        // Lines of an array: a comment stays on the line that it is about.
        let line = line_end(self.text, end);
        let rest = self.text[end..line].trim();
        let at = if rest.is_empty() || rest.starts_with('#') { line } else { end };
        let text = format!("{}{}", newline(self.text), indentation(self.text, start));
        Some(Gap { at, text, takes_quotes })
    }

    /// Adds one more value to a flag that has several.
    fn add_value(&self, list: &str, index: &str) -> Result<Vec<Edit>, EditError> {
        let not_set = || EditError::NotSet(list.to_owned());
        let unwritable =
            || EditError::Unwritable { key: self.wanted.key.to_owned(), value: self.wanted.value.to_string() };
        let list = list.trim_start_matches('-');
        let is_it = |argument: &&Argument| argument.key == list && argument.form == Form::Spaced;
        let command = self.wanted.command.or(self.shell.main).ok_or_else(not_set)?;
        let (call, command_line) = self.command_line(command).ok_or_else(not_set)?;
        let argument = command_line.arguments.iter().rev().find(is_it).ok_or_else(not_set)?;
        let len = argument.values.len();
        if index.parse() != Ok(len) {
            return Err(EditError::BeyondTheEnd { key: self.wanted.key.to_owned(), len });
        }
        let name = call.fields.get(argument.name).ok_or_else(unwritable)?;
        let last = call.fields.get(argument.values.end.max(argument.name + 1) - 1).ok_or_else(unwritable)?;
        let (home, end) = (home(name), self.end(last, home(name)).ok_or_else(unwritable)?);
        let new = self.quoted(&self.written("", "True"), Quote::Bare, home == 0 && call.within.is_none());
        Ok(vec![Edit::insert(end, format!(" {}", new.ok_or_else(unwritable)?))])
    }

    /// `#SBATCH --key=value` or `#PBS -l key=value` behind the last directive, or at the top.
    fn add_directive(&self) -> Option<Vec<Edit>> {
        let key = self.wanted.key.trim_start_matches('-');
        let value = self.written("", "True");
        let last = self.shell.script.calls.iter().rev().find(|call| call.is_directive);
        let mark = last.and_then(|call| call.fields.first()).map_or_else(|| "#SBATCH".to_owned(), Field::text);
        let line = match (self.wanted.value, key.len()) {
            // Chunks and resources of the whole job exclude each other.
            _ if key.contains(' ') && self.asks_by_chunk() => return None,
            (Value::Bool(true), _) => format!("{mark} --{key}"),
            (_, 1) => format!("{mark} -{key} {value}"),
            _ if key.contains(' ') => format!("{mark} -{key}={value}"),
            _ => format!("{mark} --{key}={value}"),
        };
        let line = is_safe(&value).then_some(line)?;
        let newline = newline(self.text);
        Some(vec![match last {
            Some(call) => Edit::insert(line_end(self.text, call.span.end), newline.to_owned() + &line),
            None if self.text.starts_with("#!") => Edit::insert(line_end(self.text, 0), newline.to_owned() + &line),
            None => Edit::insert(0, line + newline),
        }])
    }

    /// Whether a directive asks for chunks of resources: `#PBS -l select=2:ncpus=8`.
    fn asks_by_chunk(&self) -> bool {
        let is_directive =
            |line: &&CommandLine| self.shell.script.calls.get(line.call).is_some_and(|call| call.is_directive);
        let directives = self.shell.commands.iter().filter(is_directive);
        directives.flat_map(|line| &line.arguments).any(|argument| argument.key.ends_with(" select"))
    }

    /// Adds `expandable_segments:True` to the options of a variable.
    fn add_option(&self, name: &str, option: &str, separator: char) -> Option<Vec<Edit>> {
        let new = format!("{option}{separator}{}", self.written("", "True"));
        let new = is_safe(&new).then_some(new)?;
        let same = |assignment: &&Assignment| assignment.name == name;
        match self.shell.script.assignments.iter().rev().find(same) {
            None => self.add_variable(name, Some(&new)),
            Some(assignment) => match assignment.value.as_deref()? {
                [] => Some(vec![Edit::insert(assignment.place.end, new)]),
                [chunk] if chunk.depth() == 0 => {
                    let comma = if chunk.text.is_empty() { "" } else { "," };
                    Some(vec![Edit::insert(chunk.span.end, format!("{comma}{new}"))])
                }
                _ => None,
            },
        }
    }

    /// Adds a variable for the command: beside the assignments before it, behind the exports, or on a line of its own.
    fn add_variable(&self, name: &str, value: Option<&str>) -> Option<Vec<Edit>> {
        // `set` of Windows is no word of a shell, and would not be read back.
        if batch::is_batch(self.text) {
            return None;
        }
        let command = self.wanted.command.or(self.shell.main);
        let call = command.and_then(|command| self.command_line(command));
        let nested = call.is_some_and(|(call, _)| call.within.is_some());
        let value = value.map_or_else(|| self.written("", "True"), str::to_owned);
        let assignment = format!("{name}={}", self.quoted(&value, Quote::Bare, !nested)?);
        let (text, newline) = (self.text, newline(self.text));
        let Some((call, command_line)) = call else {
            let blank = text.is_empty() || text.ends_with('\n');
            let (before, after) = if blank { ("", newline) } else { (newline, "") };
            return Some(vec![Edit::insert(text.len(), format!("{before}export {assignment}{after}"))]);
        };
        let assignments = &self.shell.script.assignments;
        let prefix = assignments.iter().rev().find(|prefix| prefix.role == Role::Prefix(command_line.call));
        if let Some(prefix) = prefix {
            let rest = &text[prefix.span.end..];
            let gap = &rest[..rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\\').len()];
            return Some(vec![Edit::insert(prefix.span.end, format!("{gap}{assignment}"))]);
        }
        // `export` statements that are the only ones on their line.
        let begins_line = |at: usize| text[line_start(text, at)..at].bytes().all(is_blank);
        let ends_line = |at: usize| !text[..line_end(text, at)].trim_end().ends_with('\\');
        let export = assignments.iter().rev().find(|export| {
            let line = &text[line_start(text, export.span.start)..];
            export.role == Role::Export
                && export.within.is_none()
                && export.is_sure
                && export.span.end <= call.span.start
                && line.trim_start().starts_with("export ")
                && ends_line(export.span.end)
        });
        if let Some(export) = export {
            let indent = indentation(text, export.span.start);
            let at = line_end(text, export.span.end);
            return Some(vec![Edit::insert(at, format!("{newline}{indent}export {assignment}"))]);
        }
        // Of copies that run at once, each is given it.
        let first = self.shell.together.as_ref().map(|together| together.place.start);
        let at = first.filter(|first| *first < call.span.start && begins_line(*first)).unwrap_or(call.span.start);
        let start = line_start(text, at);
        let above = text[..start].trim_end_matches(['\n', '\r']);
        let follows_on = above.ends_with(['\\', '|']) || above.ends_with("&&");
        if !nested && begins_line(at) && !follows_on {
            let indent = indentation(text, at);
            return Some(vec![Edit::insert(start, format!("{indent}export {assignment}{newline}"))]);
        }
        Some(vec![Edit::insert(call.span.start, format!("{assignment} "))])
    }
}
