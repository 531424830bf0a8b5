//! TOML, as torchtitan, prime-rl and sd-scripts use it.
//!
//! Sections may come in any order, each once; a setting for a section without a header goes behind its nearest
//! relatives. The `toml` crate reads. Edits change the text itself, since `toml_edit` would rewrite the document with
//! its own line endings.

use std::ops::Range;
use std::sync::Arc;

use ::toml::Spanned;
use ::toml::de::{DeString, DeTable, DeValue};

use super::edit::{Edit, indentation, line_end, line_start, newline};
use super::error::Remark;
use super::flow::{self, Layout};
use super::path::{self, PathStep};
use super::tree::{Member, Node, Shape, Target};
use super::value::{based_number, number, number_like, plain};
use super::{EditError, Value};

/// The root of the settings in `text`, or the first syntax error.
pub(super) fn read(text: &str) -> Result<Node, Remark> {
    // A byte order mark becomes blanks, so that every byte keeps its place.
    let shadow = text.replacen('\u{feff}', "   ", 1);
    match DeTable::parse(&shadow) {
        Ok(root) => Ok(table(&shadow, 0..0, root.get_ref())),
        Err(error) => Err(Remark::new(error.span().map_or(0, |span| span.start), error.message())),
    }
}

fn table(text: &str, span: Range<usize>, members: &DeTable<'_>) -> Node {
    let member = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        // The span of a section with a header includes the key.
        let is_header = value.span().contains(&key.span().start);
        let value = Arc::new(node(text, value, !is_header));
        Member { key: key.get_ref().to_string(), at: key.span(), value }
    };
    let mut members: Vec<Member> = members.iter().map(member).collect();
    members.sort_by_key(|member| member.at.start);
    let is_flow = text[span.clone()].starts_with('{');
    let end = members.iter().map(|member| member.value.whole.end).max();
    Node { whole: span.start..end.unwrap_or(0).max(span.end), span, is_flow, shape: Shape::Map(members) }
}

fn node(text: &str, value: &Spanned<DeValue<'_>>, is_inline: bool) -> Node {
    let span = value.span();
    let words = text.get(span.clone()).unwrap_or_default();
    let shape = match value.get_ref() {
        DeValue::Table(members) => return table(text, span, members),
        DeValue::Array(items) => {
            let items: Vec<Arc<Node>> = items.iter().map(|item| Arc::new(node(text, item, true))).collect();
            let end = items.iter().map(|item| item.whole.end).max().unwrap_or(0).max(span.end);
            return Node { whole: span.start..end, span, is_flow: is_inline, shape: Shape::List(items) };
        }
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(yes) => Value::Bool(*yes),
        DeValue::Integer(_) | DeValue::Float(_) => {
            let number = number(words).or_else(|| based_number(words));
            number.map_or_else(|| Value::Text(words.to_owned()), Value::Number)
        }
        DeValue::Datetime(_) => Value::Text(words.to_owned()),
    };
    Node { is_flow: false, ..Node::new(span, Shape::Scalar(shape)) }
}

/// Whether a member is a section with a header of its own rather than a line of its parent.
fn has_header(text: &str, member: &Member) -> bool {
    text[line_start(text, member.at.start)..].trim_start().starts_with('[')
}

/// The edits that set `steps` to `value`.
pub(super) fn set(text: &str, root: &Node, steps: &[PathStep], value: &Value) -> Result<Vec<Edit>, EditError> {
    let unwritable = || EditError::Unwritable { key: path::join(steps), value: value.to_string() };
    // TOML has no null.
    if *value == Value::Null {
        return Err(unwritable());
    }
    match root.find(steps)? {
        Target::Node { node, .. } if matches!(node.shape, Shape::Scalar(_)) => {
            Ok(vec![Edit::replace(node.span.clone(), scalar(value, &text[node.span.clone()]))])
        }
        Target::Node { .. } => Err(EditError::Section(path::join(steps))),
        Target::Missing { parent, rest, .. } if parent.is_flow => {
            let render = |_: Layout<'_>| in_brackets(rest, value);
            flow::insert(text, &parent.span, &parent.children(), "  ", render).ok_or_else(unwritable)
        }
        Target::Missing { parent, rest, .. } => {
            let above = &steps[..steps.len() - rest.len()];
            below_header(text, parent, above, rest, value).map(|edit| vec![edit]).ok_or_else(unwritable)
        }
    }
}

/// Inserts `rest` into the section `parent`, which stands at the path `above`.
fn below_header(text: &str, parent: &Node, above: &[PathStep], rest: &[PathStep], value: &Value) -> Option<Edit> {
    let Shape::Map(members) = &parent.shape else { return None };
    let ((last, sections), newline) = (rest.split_last()?, newline(text));
    let line = format!("{} = {}", name(last)?, scalar(value, ""));
    let behind = |end: usize, line: &str| {
        Edit::insert(line_end(text, end), format!("{newline}{}{line}", indentation(text, end)))
    };
    let own = members.iter().rfind(|member| !has_header(text, member));
    let is_root = above.is_empty();
    let is_header = !is_root && text[parent.span.clone()].starts_with('[');
    // No header can address an element of an array of tables, so its subsections are spelled out in its lines.
    let is_of_list = above.iter().any(|step| matches!(step, PathStep::Index(_)));
    match own {
        _ if is_of_list && is_header => {
            let end = own.map_or(parent.span.end, |own| own.span().end);
            Some(behind(end, &format!("{} = {}", names(rest)?, scalar(value, ""))))
        }
        // A section whose lines spell out its name (`a.b = 1`): the new line does the same.
        Some(own) if !is_root && !is_header => {
            let spelled = text[line_start(text, own.at.start)..own.at.start].trim_start();
            Some(behind(own.span().end, &format!("{spelled}{} = {}", names(rest)?, scalar(value, ""))))
        }
        Some(own) if sections.is_empty() => Some(behind(own.span().end, &line)),
        None if sections.is_empty() && is_header => Some(behind(parent.span.end, &line)),
        None if sections.is_empty() && is_root => Some(first(text, members, &line, newline)),
        _ => {
            let header = names(&[above, sections].concat())?;
            let end = if parent.whole.end == 0 { text.trim_end().len() } else { line_end(text, parent.whole.end) };
            let gap = if end == 0 { String::new() } else { newline.repeat(2) };
            Some(Edit::insert(end, format!("{gap}[{header}]{newline}{line}")))
        }
    }
}

/// Inserts the first line that stands outside of all sections.
fn first(text: &str, members: &[Member], line: &str, newline: &str) -> Edit {
    match members.first() {
        Some(member) => Edit::insert(line_start(text, member.at.start), format!("{line}{newline}{newline}")),
        None => {
            let end = text.trim_end().len();
            Edit::insert(end, if end == 0 { line.to_owned() } else { format!("{newline}{line}") })
        }
    }
}

/// The text of a new member or element inside existing brackets.
fn in_brackets(steps: &[PathStep], value: &Value) -> String {
    let content = steps.iter().rev().fold(scalar(value, ""), |inner, step| match name(step) {
        Some(name) => format!("{{{name} = {inner}}}"),
        None => format!("[{inner}]"),
    });
    // The outermost brackets already exist in the text.
    content[1..content.len() - 1].to_owned()
}

/// A dotted key; `None` if a step is an index of a list.
fn names(steps: &[PathStep]) -> Option<String> {
    Some(steps.iter().map(name).collect::<Option<Vec<_>>>()?.join("."))
}

/// One key as written, quoted if necessary; `None` for an index of a list.
fn name(step: &PathStep) -> Option<String> {
    match step {
        PathStep::Index(_) => None,
        PathStep::Key(key) => Some(if is_bare(key) { key.clone() } else { string(key) }),
    }
}

/// Whether `key` needs no quotes.
pub(super) fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// `value` as TOML, in the style of the text `old`.
fn scalar(value: &Value, old: &str) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) if old.is_empty() => plain(*number),
        Value::Number(number) => number_like(old, *number),
        Value::Text(text) => {
            let is_literal = old.starts_with('\'') && !text.contains(|c: char| c == '\'' || c.is_control());
            if is_literal { format!("'{text}'") } else { string(text) }
        }
    }
}

fn string(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cited, error, set, settings};

    const CONFIG: &str = "# eight of them\n[training]\nlocal_batch_size = 8  # per GPU\nseq_len = 8_192\n\n[model]\nname = 'llama3'\n                          converters = [\"float8\"]\n\n[[data.source]]\nname = \"c4\"\n\n[trainer]  # as it is\n";

    fn with(old: &str, new: &str) -> String {
        assert_eq!(CONFIG.matches(old).count(), 1, "{old}");
        CONFIG.replace(old, new)
    }

    #[test]
    fn reads_settings_and_where_they_stand() {
        assert_eq!(
            settings(CONFIG),
            [
                "training.local_batch_size=8",
                "training.seq_len=8192",
                "model.name=llama3",
                "model.converters[0]=float8",
                "data.source[0].name=c4"
            ]
        );
        assert_eq!(cited(CONFIG, "training.seq_len"), "4:11 8_192");
        assert_eq!(settings("a.b = 0x10\nc = {d = 1979-05-27, e = inf}"), ["a.b=16", "c.d=1979-05-27", "c.e=inf"]);
        assert_eq!(settings("\u{feff}[a]\r\nb = true\r\n"), ["a.b=true"]);
        assert_eq!(error("[a]\nb = \n"), "file:2:5: string values must be quoted, expected literal string");
    }

    #[test]
    fn replaces_a_value_in_its_style() {
        assert_eq!(set(CONFIG, "training.local_batch_size", 4.0), with("= 8  #", "= 4  #"));
        assert_eq!(set(CONFIG, "training.seq_len", 4096.0), with("8_192", "4_096"));
        assert_eq!(set(CONFIG, "model.name", "qwen3"), with("'llama3'", "'qwen3'"));
        assert_eq!(set(CONFIG, "model.name", "it's"), with("'llama3'", "\"it's\""));
        assert_eq!(set(CONFIG, "data.source[0].name", "x"), with("\"c4\"", "\"x\""));
        assert_eq!(set("a.b = {c = 1e-6}", "a.b.c", 2e-5), "a.b = {c = 2e-5}");
    }

    #[test]
    fn a_new_key_goes_into_its_section() {
        assert_eq!(set(CONFIG, "training.steps", 10.0), with("8_192\n", "8_192\nsteps = 10\n"));
        assert_eq!(set(CONFIG, "trainer.ac", true), with("as it is\n", "as it is\nac = true\n"));
        assert_eq!(
            set(CONFIG, "training.dataloader.num_workers", 2.0),
            with("8_192\n", "8_192\n\n[training.dataloader]\nnum_workers = 2\n")
        );
        assert_eq!(
            set(CONFIG, "activation_checkpoint.mode", "full"),
            CONFIG.to_owned() + "\n[activation_checkpoint]\nmode = \"full\"\n"
        );
        assert_eq!(set(CONFIG, "data.seed", 1.0), with("\"c4\"\n", "\"c4\"\n\n[data]\nseed = 1\n"));
        assert_eq!(set(CONFIG, "steps", 1.0), with("[training]", "steps = 1\n\n[training]"));
        assert_eq!(set(CONFIG, "model.converters[1]", "mx"), with("\"float8\"]", "\"float8\", \"mx\"]"));
        assert_eq!(set("a.b = 1\n", "a.c.d", 2.0), "a.b = 1\na.c.d = 2\n");
        assert_eq!(set("a = {b = 1}\n", "a.c.d", 2.0), "a = {b = 1, c = {d = 2}}\n");
        assert_eq!(set("[a.b]\nc = 1", "a.d", 2.0), "[a.b]\nc = 1\n\n[a]\nd = 2");
        assert_eq!(set("[[a]]\n\n[b]\n", "a[0].c.d", 2.0), "[[a]]\nc.d = 2\n\n[b]\n");
        assert_eq!(set("[[a]]\nb = 1\n[[a]]\n", "a[0].c.d", 2.0), "[[a]]\nb = 1\nc.d = 2\n[[a]]\n");
        assert_eq!(set("[a]\r\nb = 1\r\n", "a.c", 2.0), "[a]\r\nb = 1\r\nc = 2\r\n");
    }

    #[test]
    fn says_why_an_edit_cannot_be_made() {
        assert_eq!(set(CONFIG, "training", 1.0), "error: `training` is a section, not a value");
        assert_eq!(set(CONFIG, "data.source[1].name", "x"), "error: `data.source[1].name` cannot be set to `x` here");
    }
}
