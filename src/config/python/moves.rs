//! Statements that make a value or move it to a device: behind the first a call of a method can stand, which can replace the second,
//! `pipe.to("cuda")`.

use std::ops::Range;

use tree_sitter::Node as Syntax;

use super::super::edit::{Edit, indentation, line_end, line_start, newline};
use super::literal::Definitions;
use super::{Call, Code, dotted, frozen};
use crate::knowledge::{CodeCall, CodeWords, ends_in};

/// One such statement, or the end of one that also makes the value.
#[derive(Debug, Clone)]
pub(super) struct Move {
    /// The name of the value: `pipe`.
    name: String,
    /// What made it: `FluxPipeline.from_pretrained`.
    maker: String,
    /// The method: `to`.
    method: String,
    /// The call, or of `FluxPipeline.from_pretrained(…).to("cuda")` what stands behind the first call.
    span: Range<usize>,
    /// Whether the call is a statement by itself.
    is_statement: bool,
}

/// A statement that gives a name the value of a call.
#[derive(Debug, Clone)]
pub(super) struct Made {
    name: String,
    /// What makes it: `AutoModelForCausalLM.from_pretrained`.
    maker: String,
    statement: Range<usize>,
}

impl Made {
    /// What `assignment` makes.
    pub(super) fn of(definitions: &Definitions<'_>, assignment: Syntax<'_>) -> Option<Made> {
        let left = assignment.child_by_field_name("left").filter(|left| left.kind() == "identifier")?;
        let maker = maker(definitions, assignment.child_by_field_name("right")?)?;
        // In a condition or a loop others may be made instead.
        let is_plain = assignment.parent()?.kind() == "expression_statement";
        let made = Made { name: definitions.words(left).to_owned(), maker, statement: assignment.byte_range() };
        is_plain.then_some(made)
    }
}

impl Move {
    /// What `call` moves, if its value is that of a name.
    pub(super) fn of(definitions: &Definitions<'_>, call: Syntax<'_>) -> Option<Move> {
        let function = call.child_by_field_name("function").filter(|function| function.kind() == "attribute")?;
        let (object, method) = (function.child_by_field_name("object")?, function.child_by_field_name("attribute")?);
        let method = definitions.words(method).to_owned();
        if !CodeWords::shipped().moves(&method) || !is_to_device(definitions, call) {
            return None;
        }
        let parent = call.parent()?;
        match (object.kind(), parent.kind()) {
            ("identifier", "expression_statement") => {
                let name = definitions.words(object);
                let maker = maker(definitions, definitions.only(name)?)?;
                Some(Move { name: name.to_owned(), maker, method, span: call.byte_range(), is_statement: true })
            }
            ("call", "assignment") => {
                let is_name = |left: &Syntax<'_>| matches!(left.kind(), "identifier" | "attribute");
                let left = parent.child_by_field_name("left").filter(is_name)?;
                let (name, maker) = (definitions.words(left).to_owned(), maker(definitions, object)?);
                Some(Move { name, maker, method, span: object.end_byte()..call.end_byte(), is_statement: false })
            }
            _ => None,
        }
    }
}

/// The edits that call `method`: instead of what it replaces, else behind the statement that makes the only value that has it.
pub(super) fn call(text: &str, code: &Code, method: &str) -> Option<Vec<Edit>> {
    let row = CodeWords::shipped().call(method)?;
    if row.of_kept {
        let releases = code.habits.releases.iter().map(|(at, call)| Edit::insert(*at, call));
        return Some(releases.collect()).filter(|edits: &Vec<Edit>| !edits.is_empty());
    }
    if row.of_outputs {
        let edits = code.habits.largest.iter().map(|(span, with)| Edit::replace(span.clone(), with));
        return Some(edits.collect()).filter(|edits: &Vec<Edit>| !edits.is_empty());
    }
    if row.in_place_of.is_some() {
        let edits = code.habits.replaceable.get(method)?;
        return Some(edits.iter().map(|(span, with)| Edit::replace(span.clone(), with)).collect());
    }
    if row.of_cache {
        return empties(text, code);
    }
    if let Some(module) = &row.decorates {
        return without_graphs(text, code, &format!("{module}.{method}()"), module);
    }
    if !row.instead_of.is_empty() {
        return instead(text, code, row, method);
    }
    if row.behind_import.is_some() {
        return behind_import(text, code, row, method);
    }
    if !row.before.is_empty() {
        return before(text, code, row, method);
    }
    let is_meant = |made: &&Made| row.is_made_by(&made.maker);
    let mut all = code.made.iter().filter(is_meant);
    let made = all.next().filter(|_| all.next().is_none())?;
    // Where it is called already, something decides whether it is.
    if code.calls.iter().any(|call| ends_in(&call.name, method)) {
        return None;
    }
    let (start, end) = (made.statement.start, line_end(text, made.statement.end));
    let part = row.of_part.as_ref().map(|part| format!(".{part}")).unwrap_or_default();
    let call = format!("{}{part}.{method}({})", made.name, row.arguments);
    let line = format!("{}{}{call}", newline(text), indentation(text, start));
    // Behind another statement of the line nothing is known.
    let is_alone = text.get(made.statement.end..end)?.trim_start();
    (is_alone.is_empty() || is_alone.starts_with('#')).then(|| vec![Edit::insert(end, line)])
}

/// The edits that empty what a data set keeps before it keeps another sample.
fn empties(text: &str, code: &Code) -> Option<Vec<Edit>> {
    let before = |(at, call): &(usize, String)| {
        let start = line_start(text, *at);
        let indent = indentation(text, start);
        // Behind other words of the line there is no place for a statement.
        (start + indent.len() == *at).then(|| Edit::insert(start, format!("{indent}{call}{}", newline(text))))
    };
    let edits: Option<Vec<Edit>> = code.habits.clears.iter().map(before).collect();
    edits.filter(|edits| !edits.is_empty())
}

/// The edits that put the decorator `call` above each function that keeps graphs which nobody needs, and each other such statement into a
/// block of it, if the code knows `module` by its name.
fn without_graphs(text: &str, code: &Code, call: &str, module: &str) -> Option<Vec<Edit>> {
    let above = |at: &usize| Edit::insert(*at, format!("@{call}{}{}", newline(text), indentation(text, *at)));
    let mut edits: Vec<Edit> = code.habits.graphs.iter().map(above).collect();
    edits.extend(frozen::within(text, &code.habits.frozen, &format!("with {call}:"))?);
    Some(edits).filter(|edits| !edits.is_empty() && imports(text, module))
}

/// The edit that imports `module` before all else that is imported, unless something does already; `None` if there is no place for it.
pub(super) fn import(text: &str, module: &str) -> Option<Option<Edit>> {
    if imports(text, module) {
        return Some(None);
    }
    let is_import =
        |line: &str| (line.starts_with("import ") || line.starts_with("from ")) && !line.starts_with("from __future__");
    let mut starts = lines(text).filter(|(_, line)| is_import(line)).map(|(at, _)| at);
    let at = starts.next()?;
    Some(Some(Edit::insert(at, format!("import {module}{}", newline(text)))))
}

/// The lines of `text` with the byte at which each begins, without those of texts in three quotes.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut at, mut is_within) = (0, false);
    text.split_inclusive('\n').filter_map(move |line| {
        at += line.len();
        let marks = line.matches("\"\"\"").count() + line.matches("'''").count();
        let is_of_text = is_within || marks > 0;
        is_within ^= marks % 2 == 1;
        (!is_of_text).then_some((at - line.len(), line))
    })
}

/// The edit that calls `method` of `module` behind the line that imports it, by the name that it gets there.
fn behind_import(text: &str, code: &Code, row: &CodeCall, method: &str) -> Option<Vec<Edit>> {
    let module = row.behind_import.as_deref()?;
    if code.calls.iter().any(|call| ends_in(&call.name, method)) {
        return None;
    }
    let name = |line: &'_ str| -> Option<String> {
        let statement = line.split('#').next().unwrap_or_default();
        match statement.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["import", imported] if *imported == module => Some(module.to_owned()),
            ["import", imported, "as", name] if *imported == module => Some((*name).to_owned()),
            _ => None,
        }
    };
    let (at, name) = lines(text).find_map(|(at, line)| Some((at, name(line)?)))?;
    let part = row.of_part.as_ref().map(|part| format!(".{part}")).unwrap_or_default();
    let call = format!("{name}{part}.{method}({})", row.arguments);
    let line = format!("{}{}{call}", newline(text), indentation(text, at));
    Some(vec![Edit::insert(line_end(text, at), line)])
}

/// Whether code imports `module` by its own name, for all that stands in it.
fn imports(text: &str, module: &str) -> bool {
    let code = lines(text).map(|(_, line)| line.split('#').next().unwrap_or_default().trim_end());
    let mut imported = code.filter_map(|line| line.strip_prefix("import ")).flat_map(|names| names.split(','));
    imported.any(|name| name.trim() == module)
}

/// The edits that call `method` of a module that the code imports before each statement that calls what `row` names.
fn before(text: &str, code: &Code, row: &CodeCall, method: &str) -> Option<Vec<Edit>> {
    let module = row.of_part.as_deref()?;
    let root = module.split('.').next()?;
    if !imports(text, root) {
        return None;
    }
    let is_meant = |call: &&Call| row.before.iter().any(|name| ends_in(&call.name, name));
    let line = |call: &Call| {
        let start = line_start(text, call.span.start);
        let indent = indentation(text, start);
        // Within another statement there is no place before it.
        let is_statement = text.get(start + indent.len()..call.span.start).is_some_and(|words| words == call.name);
        is_statement
            .then(|| Edit::insert(start, format!("{indent}{module}.{method}({}){}", row.arguments, newline(text))))
    };
    let edits: Vec<Edit> = code.calls.iter().filter(is_meant).filter_map(line).collect();
    (!edits.is_empty()).then_some(edits)
}

/// The edits that call `method` instead of what moves the only value that has it. `None` if there is no such value, or there are several.
fn instead(text: &str, code: &Code, row: &CodeCall, method: &str) -> Option<Vec<Edit>> {
    let is_meant = |moved: &&Move| row.instead_of.contains(&moved.method) && row.is_made_by(&moved.maker);
    let mut moves = code.moves.iter().filter(is_meant);
    let moved = moves.next().filter(|_| moves.next().is_none())?;
    let call = format!("{}.{method}()", moved.name);
    if moved.is_statement {
        return Some(vec![Edit::replace(moved.span.clone(), call)]);
    }
    let line = format!("{}{}{call}", newline(text), indentation(text, moved.span.start));
    let end = line_end(text, moved.span.end);
    // A value that is made over several lines has no indentation of its own here.
    let is_one_line = text.get(..moved.span.start)?.rsplit('\n').next()?.contains(&moved.name);
    is_one_line.then(|| vec![Edit::delete(moved.span.clone()), Edit::insert(end, line)])
}

/// The edits that leave out what moves the value that the call ending at `end` makes: behind the call, or as a statement of its own.
pub(super) fn without_moves(text: &str, code: &Code, end: usize) -> Vec<Edit> {
    let behind = code.moves.iter().filter(|moved| !moved.is_statement && moved.span.start == end);
    let made = code.made.iter().find(|made| made.statement.contains(&end) || made.statement.end == end);
    let of_name = |moved: &&Move| moved.is_statement && made.is_some_and(|made| made.name == moved.name);
    let lines = code.moves.iter().filter(of_name).filter_map(|moved| {
        let (start, end) = (line_start(text, moved.span.start), line_end(text, moved.span.end));
        let next = text.get(end..)?.find('\n').map_or(end, |at| end + at + 1);
        let is_alone =
            text.get(start..moved.span.start)?.trim().is_empty() && text.get(moved.span.end..end)?.trim().is_empty();
        is_alone.then(|| Edit::delete(start..next))
    });
    behind.map(|moved| Edit::delete(moved.span.clone())).chain(lines).collect()
}

/// Whether the argument of `call` is a device, or none is needed.
fn is_to_device(definitions: &Definitions<'_>, call: Syntax<'_>) -> bool {
    let Some(arguments) = call.child_by_field_name("arguments") else { return false };
    match (arguments.named_child_count(), arguments.named_child(0)) {
        (0, _) => true,
        (1, Some(argument)) => {
            let words = definitions.words(argument).trim_matches(['"', '\'']).to_ascii_lowercase();
            CodeWords::shipped().is_device(&words)
        }
        _ => false,
    }
}

/// The first call of `FluxPipeline.from_pretrained(…).to("cuda")`.
fn maker(definitions: &Definitions<'_>, mut value: Syntax<'_>) -> Option<String> {
    loop {
        let function = value.child_by_field_name("function").filter(|_| value.kind() == "call")?;
        match function.child_by_field_name("object").filter(|object| object.kind() == "call") {
            Some(object) => value = object,
            None => return dotted(definitions, function),
        }
    }
}
