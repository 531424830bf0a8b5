//! Writes settings into Python code.

use super::super::Value;
use super::super::edit::{Edit, indentation, line_end, line_start, newline};
use super::super::entry::Entry;
use super::super::value::{is_function, module_of, number, number_like, only_entry, plain, python_dictionary};
use super::literal::is_member;
use super::{Call, Code, moves, notebook};
use crate::knowledge::{CodeWords, ends_in};

/// The edits that give the setting `key` the value: in place of the old one, which `before` describes, else as another argument of the
/// only call that it can belong to. `None` if there is no such call.
pub(in super::super) fn set(
    text: &str,
    code: &Code,
    before: Option<&Entry>,
    key: &str,
    value: &Value,
) -> Option<Vec<Edit>> {
    let Some(places) = &code.notebook else { return in_code(text, code, before, key, value) };
    let before = match before {
        Some(entry) => Some(Entry { span: places.within(&entry.span)?, ..entry.clone() }),
        None => None,
    };
    let edits = in_code(places.code(), code, before.as_ref(), key, value)?;
    Some(
        edits
            .into_iter()
            .map(|edit| Edit::replace(places.outside(&edit.span), notebook::escaped(&edit.with)))
            .collect(),
    )
}

fn in_code(text: &str, code: &Code, before: Option<&Entry>, key: &str, value: &Value) -> Option<Vec<Edit>> {
    let Some(entry) = before else { return added(text, code, key, value) };
    // What a magic starts is a command line, whose words need no quotes.
    if entry.command.is_some() {
        return Some(vec![Edit::replace(entry.span.clone(), value.to_string())]);
    }
    let span = code.written.get(key).unwrap_or(&entry.span);
    let old = text.get(span.clone())?;
    Some([Edit::replace(span.clone(), literal(value, old))].into_iter().chain(import_for(text, value)?).collect())
}

/// The edit that imports what `value` is of, where it is code and that is not imported; `None` if it cannot be imported.
fn import_for(text: &str, value: &Value) -> Option<Option<Edit>> {
    let Value::Text(code) = value else { return Some(None) };
    module_of(only_entry(code).map_or(code, |(_, value)| value))
        .map_or(Some(None), |module| moves::import(text, module))
}

/// The method of which `key` is a call: `DiffusionPipeline.enable_model_cpu_offload()`.
pub(in super::super) fn called(key: &str) -> Option<&str> {
    key.strip_suffix("()")?.rsplit('.').next()
}

fn added(text: &str, code: &Code, key: &str, value: &Value) -> Option<Vec<Edit>> {
    if let Some(method) = called(key) {
        return moves::call(text, code, method).filter(|_| *value == Value::Bool(true));
    }
    if let Some(edit) = assigned(text, code, key, value) {
        return Some([edit].into_iter().chain(import_for(text, value)?).collect());
    }
    let (function, argument, takes_options) = match key.split_once(':') {
        Some((class, option)) => (class, option, true),
        None => key.rsplit_once('.').map(|(function, argument)| (function, argument, false))?,
    };
    let argument = argument.trim_start_matches('-').replace('-', "_");
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    // `--no-…` takes back what an argument says.
    if !is_name(&argument) || argument.starts_with("no_") {
        return None;
    }
    let is_called = |call: &&Call| call.takes_options == takes_options && ends_in(&call.name, function);
    let sections = code.sections.iter().filter(|section| section.name == function);
    let calls: Vec<&Call> = code.calls.iter().filter(is_called).chain(sections).collect();
    // Of several, all but one may load what has no weights, such as a tokenizer.
    let mut weighty = calls.iter().filter(|call| !CodeWords::shipped().has_no_weights(&call.name));
    let call = match calls.as_slice() {
        [call] => call,
        _ => weighty.next().filter(|_| weighty.next().is_none())?,
    };
    if !call.is_open {
        return None;
    }
    // No call takes an argument twice, as one that stands there as a dictionary, whose members are the settings. A new dictionary is left to
    // the user, since it would be read back as its members, too; but for one entry whose value is code, which is told by its name.
    let is_dictionary =
        matches!(value, Value::Text(text) if python_dictionary(text).is_some() && only_entry(text).is_none());
    let words = CodeWords::shipped();
    let is_taken = call.names.iter().any(|own| *own == argument || words.says_the_same(own, &argument));
    if is_dictionary || is_taken || words.passes(&call.name, &argument) {
        return None;
    }
    let mut edits = argument_edits(text, call, &format!("{argument}={}", literal(value, "")));
    edits.extend(import_for(text, value)?);
    // What is reduced before must not be reduced again.
    if let Some(reduction) = code.reductions.iter().find(|reduction| reduction.argument == argument) {
        let calls = reduction.calls.as_ref()?;
        edits.extend(calls.iter().map(|(span, value)| Edit::replace(span.clone(), value.clone())));
    }
    let places = words.call(&call.name).is_some_and(|row| row.places.contains(&argument));
    if places {
        edits.extend(moves::without_moves(text, code, call.span.end));
    }
    Some(edits)
}

/// Whether every call of `code` that could be given the argument `key`, `from_pretrained.dtype`, gives it on itself.
pub(in super::super) fn passes_itself(code: &Code, key: &str) -> bool {
    let Some((function, argument)) = key.rsplit_once('.') else { return false };
    let words = CodeWords::shipped();
    let is_called = |call: &&Call| ends_in(&call.name, function) && !words.has_no_weights(&call.name);
    let mut calls = code.calls.iter().filter(is_called).peekable();
    calls.peek().is_some() && calls.all(|call| words.passes(&call.name, argument))
}

/// Another statement behind those that set members of the same section: `cfg.model.recompute_method = "uniform"`.
fn assigned(text: &str, code: &Code, key: &str, value: &Value) -> Option<Edit> {
    let (section, name) = key.rsplit_once('.')?;
    let section = code.assigned.get(section)?;
    let indent = indentation(text, section.last.start);
    let line = format!("{}{indent}{}.{name} = {}", newline(text), section.object, literal(value, ""));
    Some(Edit::insert(line_end(text, section.last.end), line))
}

/// The edits that write another argument behind the last one, on a line of its own if that has one.
fn argument_edits(text: &str, call: &Call, argument: &str) -> Vec<Edit> {
    let close = call.span.end.saturating_sub(1);
    let Some(last) = &call.last else { return vec![Edit::insert(close, argument)] };
    let indent = indentation(text, last.start);
    let begins_line = line_start(text, last.start) + indent.len() == last.start;
    let end = line_end(text, last.end);
    if !begins_line || close <= end {
        let with = if begins_line { format!(",{}{indent}{argument}", newline(text)) } else { format!(", {argument}") };
        return vec![Edit::insert(last.end, with)];
    }
    let line = format!("{}{indent}{argument}", newline(text));
    match text.get(last.end..end).is_some_and(|rest| rest.trim_start().starts_with(',')) {
        true => vec![Edit::insert(end, format!("{line},"))],
        false => vec![Edit::insert(last.end, ","), Edit::insert(end, line)],
    }
}

/// `value` as Python writes it, in the style of `old`.
fn literal(value: &Value, old: &str) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(new) if number(old).is_some() => number_like(old, *new),
        Value::Number(new) => plain(*new),
        Value::Text(text) if is_function(text) || text == "None" => text.clone(),
        Value::Text(text) => {
            let is_name = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let is_like =
                |of: &str, was: &str| matches!(of, "torch" | "jnp" | "np") || is_member(of, was) && is_member(of, text);
            match old.split_once('.').filter(|(of, was)| is_name && is_like(of, was)) {
                Some((of, _)) => format!("{of}.{text}"),
                None => {
                    let quote = if old.starts_with('\'') { '\'' } else { '"' };
                    let text = text.replace('\\', "\\\\").replace(quote, &format!("\\{quote}"));
                    format!("{quote}{text}{quote}")
                }
            }
        }
    }
}
