//! DeepSpeed's configuration: JSON as hjson allows it, since DeepSpeed reads its file with hjson.
//!
//! Mirrors `deepspeed/runtime/config.py` (`hjson.load`, 0.3–0.19): `//`, `#` and `/*…*/` comments, trailing and missing
//! commas, keys without quotes, single quotes. hjson's unquoted and triple-quoted strings are not read.
//!
//! Edits change the text itself. `jsonc-parser`'s tree for edits (`cst`, 0.34) does not read `#` comments, which
//! `CONFIG` in the tests has, and spreads a one-line object over several lines when a key is added
//! (`a_new_key_goes_behind_its_siblings`).

use std::ops::Range;
use std::sync::Arc;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::edit::{Edit, indentation};
use super::error::Remark;
use super::flow::{self, Layout};
use super::path::PathStep;
use super::tree::{Member, Node, Shape, Target};
use super::value::{based_number, is_collection, number, number_like, plain};
use super::{EditError, Value};

/// The root of the settings in `text`, or the first syntax error. `None` for a text without a value.
pub(super) fn read(text: &str) -> Result<Option<Node>, Remark> {
    // JSON does not allow a byte order mark. Three blanks replace its three bytes, so that every byte keeps its place.
    let shadow = flow::without_comments(text).replacen('\u{feff}', "   ", 1);
    match parse_to_ast(&shadow, &CollectOptions::default(), &ParseOptions::default()) {
        Ok(parsed) => Ok(parsed.value.as_ref().map(node)),
        Err(error) => Err(Remark::new(error.range().start, lowercase(&error.kind().to_string()))),
    }
}

/// Messages are printed behind `file:line:column:`, so they begin in lower case.
fn lowercase(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

fn node(value: &ast::Value<'_>) -> Node {
    let span = range(value);
    let shape = match value {
        ast::Value::NullKeyword(_) => Shape::Scalar(Value::Null),
        ast::Value::BooleanLit(literal) => Shape::Scalar(Value::Bool(literal.value)),
        ast::Value::StringLit(literal) => Shape::Scalar(Value::Text(literal.value.to_string())),
        ast::Value::NumberLit(literal) => {
            let words = literal.value;
            let number = number(words).or_else(|| based_number(words));
            Shape::Scalar(number.map_or_else(|| Value::Text(words.to_owned()), Value::Number))
        }
        ast::Value::Array(array) => Shape::List(array.elements.iter().map(|item| Arc::new(node(item))).collect()),
        ast::Value::Object(object) => Shape::Map(
            object
                .properties
                .iter()
                .map(|property| Member {
                    key: property.name.as_str().to_owned(),
                    at: range(&property.name),
                    value: Arc::new(node(&property.value)),
                })
                .collect(),
        ),
    };
    Node::new(span, shape)
}

fn range(ranged: &impl Ranged) -> Range<usize> {
    ranged.start()..ranged.end()
}

/// The edits that set `steps` to `value`.
pub(super) fn set(text: &str, root: &Node, steps: &[PathStep], value: &Value) -> Result<Vec<Edit>, EditError> {
    match root.find(steps)? {
        Target::Node { node: Node { shape: Shape::List(_) | Shape::Map(_), .. }, .. } => {
            Err(EditError::Section(super::path::join(steps)))
        }
        Target::Node { node, .. } => {
            let old = &text[node.span.clone()];
            Ok(vec![Edit::replace(node.span.clone(), scalar(value, old))])
        }
        Target::Missing { parent, rest, .. } => {
            let unit = unit(text, root);
            let render = |layout: Layout<'_>| child(text, parent, rest, value, layout);
            match &parent.shape {
                // `null` where a section should be: the section replaces it.
                Shape::Scalar(_) => {
                    let indent = indentation(text, parent.span.start).to_owned();
                    let layout = Layout { indent: Some(&indent), unit: &unit, newline: super::edit::newline(text) };
                    Ok(vec![Edit::replace(parent.span.clone(), section(rest, value, layout))])
                }
                _ => {
                    let key = super::path::join(steps);
                    let unwritable = || EditError::Unwritable { key, value: value.to_string() };
                    flow::insert(text, &parent.span, &parent.children(), &unit, render).ok_or_else(unwritable)
                }
            }
        }
    }
}

/// The blanks that one level of nesting adds, measured at the first setting.
fn unit(text: &str, root: &Node) -> String {
    let first = root.children().first().map_or(root.span.start, |child| child.start);
    let (outer, inner) = (indentation(text, root.span.start), indentation(text, first));
    match inner.strip_prefix(outer) {
        Some(unit) if !unit.is_empty() => unit.to_owned(),
        _ => "  ".to_owned(),
    }
}

/// The text of a new member or element of `parent`, written in the style of its siblings.
fn child(text: &str, parent: &Node, steps: &[PathStep], value: &Value, layout: Layout<'_>) -> String {
    let Some((first, rest)) = steps.split_first() else { return String::new() };
    let content = section(rest, value, layout);
    match (first, &parent.shape) {
        (PathStep::Key(name), Shape::Map(members)) => {
            let last = members.last();
            let quote = last.map_or('"', |last| text[last.at.clone()].chars().next().unwrap_or('"'));
            let colon = last.and_then(|last| text.get(last.at.end..last.value.span.start));
            let colon = colon.filter(|colon| colon.bytes().all(|byte| b": \t".contains(&byte))).unwrap_or(": ");
            format!("{}{colon}{content}", key(name, quote))
        }
        (PathStep::Key(name), _) => format!("{}: {content}", key(name, '"')),
        (PathStep::Index(_), _) => content,
    }
}

/// `value` wrapped in the new sections that `steps` name.
fn section(steps: &[PathStep], value: &Value, layout: Layout<'_>) -> String {
    let Some((first, rest)) = steps.split_first() else { return scalar(value, "") };
    let inner = layout.indent.map(|indent| format!("{indent}{}", layout.unit));
    let content = section(rest, value, Layout { indent: inner.as_deref(), ..layout });
    let content = match first {
        PathStep::Key(name) => format!("{}: {content}", key(name, '"')),
        PathStep::Index(_) => content,
    };
    let content = match (layout.indent, &inner) {
        (Some(outer), Some(inner)) => format!("{nl}{inner}{content}{nl}{outer}", nl = layout.newline),
        _ => content,
    };
    if matches!(first, PathStep::Key(_)) { format!("{{{content}}}") } else { format!("[{content}]") }
}

fn key(name: &str, quote: char) -> String {
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match quote {
        '"' => string(name, '"'),
        '\'' => string(name, '\''),
        _ if is_word => name.to_owned(),
        _ => string(name, '"'),
    }
}

/// `value` as JSON, in the style of `old`.
fn scalar(value: &Value, old: &str) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(new) if number(old).is_some() => number_like(old, *new),
        Value::Number(new) => plain(*new),
        Value::Text(text) if old.is_empty() && is_collection(text) => text.clone(),
        Value::Text(text) => string(text, if old.starts_with('\'') { '\'' } else { '"' }),
    }
}

fn string(text: &str, quote: char) -> String {
    let written = serde_json::Value::from(text).to_string();
    match quote {
        '"' => written,
        _ => format!("'{}'", written[1..written.len() - 1].replace("\\\"", "\"").replace('\'', "\\'")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cited, error, set, settings};
    use crate::config::{Document, EntryKind, Value};

    const CONFIG: &str = r#"// for two nodes
{
  "train_micro_batch_size_per_gpu": 2, // 4 runs out of memory
  bf16: {"enabled": true},
  'zero_optimization': {
    "stage": 3,  # was 2
    "offload_optimizer": {
      "device": "cpu", "ratio": 1.0
    },
    /* elements, not bytes */ "reduce_bucket_size": 5e8
  }
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.95]}},
}
"#;

    #[test]
    fn reads_what_hjson_allows() {
        assert_eq!(
            settings(CONFIG),
            [
                "train_micro_batch_size_per_gpu=2",
                "bf16.enabled=true",
                "zero_optimization.stage=3",
                "zero_optimization.offload_optimizer.device=cpu",
                "zero_optimization.offload_optimizer.ratio=1",
                "zero_optimization.reduce_bucket_size=500000000",
                "optimizer.type=AdamW",
                "optimizer.params.lr=0.0001",
                "optimizer.params.betas[0]=0.9",
                "optimizer.params.betas[1]=0.95",
            ]
        );
        assert_eq!(cited(CONFIG, "zero_optimization.reduce_bucket_size"), "10:53 5e8");
        assert_eq!(
            settings("\u{feff}{\"a\": \"x # y // z\", \"b\": null, c: 0x10}"),
            ["a=x # y // z", "b=null", "c=16"]
        );
        assert_eq!(settings("{}"), [""; 0]);
    }

    #[test]
    fn says_where_it_is_wrong() {
        assert_eq!(error("{\n  \"a\": 1,\n  \"b\": True\n}"), "file:3:8: unexpected word");
        assert_eq!(error("{\n  \"a\": [1, 2\n"), "file:2:8: unterminated array");
        assert_eq!(error("{\"a\": 1} {"), "file:1:10: text cannot contain more than one JSON value");
        assert_eq!(error("{ /* \"a\": 1}"), "file:1:3: unterminated comment block");
    }

    #[test]
    fn of_equal_keys_the_last_one_counts() {
        let text = "{\"zero\": {\n \"stage\": 2,\n \"stage\": 3}}";
        assert_eq!(settings(text), ["zero.stage=3"]);
        assert_eq!(set(text, "zero.stage", 1.0), "{\"zero\": {\n \"stage\": 2,\n \"stage\": 1}}");
    }

    /// `CONFIG` with one piece replaced.
    fn with(old: &str, new: &str) -> String {
        assert_eq!(CONFIG.matches(old).count(), 1, "{old}");
        CONFIG.replace(old, new)
    }

    #[test]
    fn replaces_a_value_in_its_style() {
        assert_eq!(set(CONFIG, "zero_optimization.reduce_bucket_size", 2e8), with("5e8", "2e8"));
        assert_eq!(set(CONFIG, "zero_optimization.reduce_bucket_size", 5e8), CONFIG);
        assert_eq!(set(CONFIG, "zero_optimization.offload_optimizer.ratio", 2.0), with("1.0", "2.0"));
        assert_eq!(set(CONFIG, "zero_optimization.offload_optimizer.device", "none"), with("\"cpu\"", "\"none\""));
        assert_eq!(set(CONFIG, "bf16.enabled", "auto"), with("true", "\"auto\""));
        assert_eq!(set(CONFIG, "optimizer.params.betas[1]", 0.999), with("0.95", "0.999"));
        assert_eq!(set("{a: 'x'}", "a", "\"'\\\n\u{1}"), r#"{a: '"\'\\\n\u0001'}"#);
    }

    #[test]
    fn a_new_key_goes_behind_its_siblings() {
        assert_eq!(
            set(CONFIG, "zero_optimization.offload_optimizer.pin_memory", false),
            with("\"ratio\": 1.0", "\"ratio\": 1.0, \"pin_memory\": false")
        );
        assert_eq!(
            set(CONFIG, "zero_optimization.overlap_comm", false),
            with("_size\": 5e8\n", "_size\": 5e8,\n    \"overlap_comm\": false\n")
        );
        assert_eq!(set(CONFIG, "optimizer.params.betas[2]", 1.0), with("0.95]", "0.95, 1]"));
        assert_eq!(
            set(CONFIG, "gradient_clipping", 1.0),
            with("0.95]}},\n", "0.95]}},\n  \"gradient_clipping\": 1,\n")
        );
        assert_eq!(
            set(CONFIG, "zero_optimization.offload_param.device", "cpu"),
            with("_size\": 5e8\n", "_size\": 5e8,\n    \"offload_param\": {\n      \"device\": \"cpu\"\n    }\n")
        );
        assert_eq!(set(CONFIG, "optimizer.params.a.b[0]", 1.0), with("0.95]}", "0.95], \"a\": {\"b\": [1]}}"));
        // A comment behind the last value stays there.
        assert_eq!(set("{\n\t\"a\": 1 // one\n}", "b", 2.0), "{\n\t\"a\": 1, // one\n\t\"b\": 2\n}");
        assert_eq!(set("{\"a\": 1 /* one\n */}", "b", 2.0), "{\"a\": 1, \"b\": 2 /* one\n */}");
        assert_eq!(
            set("{\r\n  \"a\": {\r\n  }\r\n}\r\n", "a.b", 2.0),
            "{\r\n  \"a\": {\r\n    \"b\": 2\r\n  }\r\n}\r\n"
        );
        assert_eq!(set("{\n  // nothing\n}", "a.b", true), "{\n  // nothing\n  \"a\": {\n    \"b\": true\n  }\n}");
        assert_eq!(set("{\"a\":1,\"b\":2}", "c.d", 3.0), "{\"a\":1,\"b\":2,\"c\":{\"d\": 3}}");
        assert_eq!(set("{}", "a", 1.0), "{\n  \"a\": 1\n}");
        assert_eq!(set("{\"a\": {}, \"b\": null}", "a.c", 1.0), "{\"a\": {\"c\": 1}, \"b\": null}");
        assert_eq!(set("{a: 1\n b: 2}", "c", 3.0), "{a: 1\n b: 2\n c: 3}");
        assert_eq!(set("{a: null}", "a.c", 3.0), "{a: {\n  \"c\": 3\n}}");
    }

    #[test]
    fn says_why_an_edit_cannot_be_made() {
        for (key, error) in [
            ("bf16", "`bf16` is a section, not a value"),
            ("bf16.enabled.x", "`bf16.enabled` is a value, not a section"),
            ("optimizer.params.betas[3]", "`optimizer.params.betas[3]`: the list has 2 elements"),
            ("bf16.", "`bf16.` is not a key"),
        ] {
            assert_eq!(set(CONFIG, key, 1.0), format!("error: {error}"));
        }
        assert_eq!(set(CONFIG, "bf16.enabled", f64::NAN), "error: `bf16.enabled` cannot be set to `NaN` here");
    }

    #[test]
    fn a_list_is_added_as_one() -> Result<(), Box<dyn std::error::Error>> {
        let list = Value::Text("[[[\"flash\"], \"all\"]]".to_owned());
        let document = Document::read("config.yaml", "{\n  \"a\": 1,\n  \"b\": {\"c\": 2}\n}\n")?;
        let set = document.set_as(EntryKind::Setting, None, "attention_config", &list)?;
        assert_eq!(set, "{\n  \"a\": 1,\n  \"b\": {\"c\": 2},\n  \"attention_config\": [[[\"flash\"], \"all\"]]\n}\n");
        let yaml = Document::read("config.yaml", "a: 1\n")?;
        assert_eq!(yaml.set("attention_config", &list)?, "a: 1\nattention_config: [[[\"flash\"], \"all\"]]\n");
        Ok(())
    }
}
