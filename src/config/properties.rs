//! What holds for every text and every edit: a setting reads back as what it was set to, everything else stays what it
//! was, and every line that is not about it stays as it stands.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;

use super::{Document, Format, Value, path, path::Step};

/// Settings as a generator makes them.
#[derive(Debug, Clone)]
enum Tree {
    Scalar(Value),
    List(Vec<Tree>),
    Map(BTreeMap<String, Tree>),
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z_]{1,8}",
        2 => "[ -~]{0,12}",
        1 => prop::sample::select(vec![
            "yes", "no", "true", "null", "~", "5e8", "1_000", "-", "- a", "a: b", "a #b", "#b", "//x", "/*x*/", "'", "\"",
            "\\", "é", "日本 語", "{", "[a]", "x,y", "\n", "a\tb", " ", "", "2001-01-01", "1:30", "0777", "@x", "%x",
            "`x`", "!x", "&x", "*x", "? x", ">", "|", "---", "...", "<<", "=", "a:", ":a", "\u{85}", "a\u{2028}b",
        ]).prop_map(str::to_owned),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::Bool),
        2 => (-1000i64..2_000_000_000).prop_map(|number| Value::Number(number as f64)),
        1 => prop::num::f64::NORMAL.prop_map(Value::Number),
        1 => prop::sample::select(vec![5e8, 1e-6, 0.9, 1e9, 0.0, 2.5]).prop_map(Value::Number),
        4 => words().prop_map(Value::Text),
    ]
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![8 => "[a-z_]{1,6}", 1 => "[a-z.]{1,6}", 1 => words()]
        .prop_filter("of one line, and no merge", |key| key != "<<" && !key.contains(['\n', '\u{85}', '\u{2028}']))
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = values().prop_map(Tree::Scalar);
    let inner = leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Tree::List),
            2 => prop::collection::btree_map(keys(), inner, 0..5).prop_map(Tree::Map),
        ]
    });
    prop::collection::btree_map(keys(), inner, 0..6).prop_map(Tree::Map)
}

/// Decisions of style, one after the other.
struct Taste<'a>(std::iter::Cycle<std::slice::Iter<'a, u8>>);

impl<'a> Taste<'a> {
    fn new(bytes: &'a [u8]) -> Taste<'a> {
        Taste(bytes.iter().cycle())
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let at = usize::from(self.0.next().copied().unwrap_or(0));
        choices[at % choices.len()]
    }
}

fn json_text(text: &str, quote: char) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            c if c == quote || c == '\\' => format!("\\{c}"),
            c if c.is_control() || c > '~' => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    format!("{quote}{escaped}{quote}")
}

fn json_scalar(value: &Value, taste: &mut Taste<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) if taste.one_of(&[true, false]) => format!("{number:e}"),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => json_text(text, taste.one_of(&['"', '"', '\''])),
    }
}

/// JSON as hjson allows it, in any style.
fn json(tree: &Tree, indent: usize, taste: &mut Taste<'_>) -> String {
    let (children, brackets): (Vec<String>, _) = match tree {
        Tree::Scalar(value) => return json_scalar(value, taste),
        Tree::List(items) => (items.iter().map(|item| json(item, indent + 2, taste)).collect(), ('[', ']')),
        Tree::Map(members) => {
            let member = |(key, value): (&String, &Tree)| {
                let is_word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
                let key = match taste.one_of(&[0, 0, 1, 2]) {
                    1 if is_word => key.clone(),
                    2 => json_text(key, '\''),
                    _ => json_text(key, '"'),
                };
                let colon = taste.one_of(&[": ", ":", " : "]);
                format!("{key}{colon}{}", json(value, indent + 2, taste))
            };
            (members.iter().map(member).collect(), ('{', '}'))
        }
    };
    let (open, close) = brackets;
    let multi = taste.one_of(&[true, true, false]);
    let commas = taste.one_of(&[true, true, true, false]) || !multi;
    let trailing = taste.one_of(&[false, false, true]) && commas;
    let mut text = String::from(open);
    for (at, child) in children.iter().enumerate() {
        if multi {
            text += &format!("\n{}{}", " ".repeat(indent + 2), taste.one_of(&["", "", "", "/* , { */ "]));
        }
        text += child;
        let last = at + 1 == children.len();
        if (commas && !last) || (last && trailing) {
            text += taste.one_of(&["", " "]);
            text += if multi { "," } else { ", " };
        }
        if multi {
            text += taste.one_of(&["", "", " // it's, }", "  # \"x", " /* ] */"]);
        }
    }
    if multi {
        text += &format!("{}\n{}", taste.one_of(&["", "", "\n    // done"]), " ".repeat(indent));
    }
    text.push(close);
    text
}

fn yaml_scalar(value: &Value, indent: usize, flow: bool, taste: &mut Taste<'_>) -> String {
    match value {
        Value::Null if flow => "null".to_owned(),
        Value::Null => taste.one_of(&["", "~", "null"]).to_owned(),
        Value::Bool(yes) => {
            taste.one_of(&[["false", "true"], ["no", "yes"], ["Off", "On"]])[usize::from(*yes)].to_owned()
        }
        Value::Number(number) if taste.one_of(&[true, false]) => format!("{number:e}"),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => {
            let is_word =
                text.len() > 3 && text != "null" && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            let is_printable = text.chars().all(|c| !c.is_control() && c < '\u{2000}' && c != '\u{85}');
            let is_line = is_printable && !text.is_empty() && !text.starts_with(' ') && !flow;
            match taste.one_of(&[0, 0, 1, 2, 3]) {
                0 if is_word && text != "true" && text != "false" => text.clone(),
                1 if is_printable => format!("'{}'", text.replace('\'', "''")),
                2 if is_line => {
                    format!("{}\n{:indent$}{text}", taste.one_of(&["|-", ">-", "|- # x"]), "")
                }
                _ => json_text(text, '"'),
            }
        }
    }
}

fn yaml_key(key: &str, taste: &mut Taste<'_>) -> String {
    yaml_scalar(&Value::Text(key.to_owned()), 0, true, taste)
}

/// YAML in flow style.
fn yaml_flow(tree: &Tree, taste: &mut Taste<'_>) -> String {
    let comma = taste.one_of(&[", ", ","]);
    match tree {
        Tree::Scalar(value) => yaml_scalar(value, 0, true, taste),
        Tree::List(items) => {
            let items: Vec<String> = items.iter().map(|item| yaml_flow(item, taste)).collect();
            format!("[{}]", items.join(comma))
        }
        Tree::Map(members) => {
            let member =
                |(key, value): (&String, &Tree)| format!("{}: {}", yaml_key(key, taste), yaml_flow(value, taste));
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

/// YAML in any style. What it returns goes behind a key's colon or a dash, where lines are indented by `indent`.
fn yaml(tree: &Tree, indent: usize, unit: usize, in_list: bool, taste: &mut Taste<'_>) -> String {
    let is_empty = match tree {
        Tree::Scalar(value) => {
            return format!(" {}", yaml_scalar(value, indent.max(1), false, taste)).trim_end().to_owned();
        }
        Tree::List(items) => items.is_empty(),
        Tree::Map(members) => members.is_empty(),
    };
    if is_empty || taste.one_of(&[false, false, false, true]) {
        return format!(" {}", yaml_flow(tree, taste));
    }
    let mut text = String::new();
    let mut first = in_list;
    let mut line = |content: String, indent: usize, taste: &mut Taste<'_>| {
        // The first child of an item stands behind its dash.
        if std::mem::take(&mut first) {
            text += &format!(" {content}");
        } else {
            text += taste.one_of(&["", "", "", " # it's", "\n", "\n# : {"]);
            // A comment would be part of what came before where that is a scalar of many lines.
            text += &format!("\n{:indent$}{content}", "");
        }
    };
    match tree {
        Tree::List(items) => {
            for item in items {
                let content = format!("-{}", yaml(item, indent + 2, unit, true, taste));
                line(content, indent, taste);
            }
        }
        Tree::Map(members) => {
            for (key, value) in members {
                let deeper = match value {
                    Tree::List(_) if taste.one_of(&[true, false]) => indent,
                    _ => indent + unit,
                };
                let content = format!("{}:{}", yaml_key(key, taste), yaml(value, deeper, unit, false, taste));
                line(content, indent, taste);
            }
        }
        Tree::Scalar(_) => {}
    }
    text
}

/// How each key reads.
fn settings(document: &Document) -> BTreeMap<String, Value> {
    document.entries().iter().map(|entry| (entry.key.clone(), entry.value.clone())).collect()
}

/// A key that is set, or one that could be: below a section that is there, or in sections that are missing.
fn some_key(tree: &Tree, at: Index, names: &[String]) -> String {
    fn collect(tree: &Tree, steps: &mut Vec<Step>, names: &[String], found: &mut Vec<Vec<Step>>) {
        let children: Vec<(Step, &Tree)> = match tree {
            Tree::Scalar(_) => return found.push(steps.clone()),
            Tree::List(items) => {
                found.push([steps.as_slice(), &[Step::Index(items.len())]].concat());
                items.iter().enumerate().map(|(at, item)| (Step::Index(at), item)).collect()
            }
            Tree::Map(members) => {
                for depth in 1..=names.len() {
                    let new: Vec<Step> = names[..depth].iter().cloned().map(Step::Key).collect();
                    if !members.contains_key(&names[0]) {
                        found.push([steps.as_slice(), &new].concat());
                    }
                }
                members.iter().map(|(key, value)| (Step::Key(key.clone()), value)).collect()
            }
        };
        for (step, child) in children {
            steps.push(step);
            collect(child, steps, names, found);
            steps.pop();
        }
    }
    let mut found = Vec::new();
    collect(tree, &mut Vec::new(), names, &mut found);
    path::join(&found[at.index(found.len())])
}

/// Lines of `before` that are not in `after`.
fn lines_lost(before: &str, after: &str) -> usize {
    super::diff("x", before, after).lines().skip(2).filter(|line| line.starts_with('-')).count()
}

/// Sets `key`, and fails if that does anything else.
fn check_set(format: Format, text: &str, key: &str, value: &Value) -> Result<(), TestCaseError> {
    let fail =
        |what: &str, after: &str| Err(TestCaseError::fail(format!("{what}: {key} = {value:?}\n{text}\n=>\n{after}")));
    let before =
        Document::read_as(format, "before", text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    let edited = match before.set(key, value) {
        Ok(edited) => edited,
        Err(error) => return fail(&error.to_string(), ""),
    };
    let Ok(after) = Document::read_as(format, "after", &edited) else { return fail("does not read", &edited) };
    if after.get(key).map(|entry| &entry.value) != Some(value) {
        return fail("is not set", &edited);
    }
    let (mut old, mut new) = (settings(&before), settings(&after));
    // A section that was `null` is none any more.
    let sections: Vec<String> =
        old.keys().filter(|other| key.starts_with(other.as_str()) && !new.contains_key(*other)).cloned().collect();
    sections.iter().chain([&key.to_owned()]).for_each(|key| {
        old.remove(key);
        new.remove(key);
    });
    if old != new {
        return fail("something else changed", &edited);
    }
    if after.set(key, value).as_deref() != Ok(&edited) {
        return fail("is set again", &edited);
    }
    let multiline = before.get(key).map_or(0, |entry| text[entry.span.clone()].lines().count());
    if lines_lost(text, &edited) > multiline.max(2) {
        return fail("lines changed", &edited);
    }
    Ok(())
}

/// Removes `key`, and fails if that does anything else.
fn check_remove(format: Format, text: &str, key: &str) -> Result<(), TestCaseError> {
    let fail = |what: &str, after: &str| Err(TestCaseError::fail(format!("{what}: {key}\n{text}\n=>\n{after}")));
    let before =
        Document::read_as(format, "before", text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    let edited = match before.remove(key) {
        Ok(edited) => edited,
        Err(error) => return fail(&error.to_string(), ""),
    };
    let Ok(after) = Document::read_as(format, "after", &edited) else { return fail("does not read", &edited) };
    let (mut old, new) = (settings(&before), settings(&after));
    old.remove(key);
    if old != new {
        return fail("something else changed", &edited);
    }
    Ok(())
}

/// A setting that can go without another one taking its name: not out of the middle of a list.
fn removable(document: &Document, at: Index) -> Option<String> {
    let keys: Vec<&str> =
        document.entries().iter().map(|entry| entry.key.as_str()).filter(|key| !key.contains('[')).collect();
    (!keys.is_empty()).then(|| keys[at.index(keys.len())].to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_edits_change_nothing_else(
        tree in trees(), taste in prop::collection::vec(any::<u8>(), 1..40), at: Index, value in values(),
        names in prop::collection::vec("[a-z]{9}", 1..3), crlf: bool,
    ) {
        let text = json(&tree, 0, &mut Taste::new(&taste));
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        check_set(Format::Json, &text, &some_key(&tree, at, &names), &value)?;
        if let Some(key) = Document::read_as(Format::Json, "x", &text).ok().and_then(|document| removable(&document, at)) {
            check_remove(Format::Json, &text, &key)?;
        }
    }

    #[test]
    fn yaml_edits_change_nothing_else(
        tree in trees(), taste in prop::collection::vec(any::<u8>(), 1..40), at: Index, value in values(),
        names in prop::collection::vec("[a-z]{9}", 1..3), crlf: bool,
    ) {
        let mut taste = Taste::new(&taste);
        let unit = taste.one_of(&[2, 4]);
        let text = yaml(&tree, 0, unit, false, &mut taste).trim_start().to_owned() + taste.one_of(&["", "\n", " # end\n", "\n\n"]);
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        check_set(Format::Yaml, &text, &some_key(&tree, at, &names), &value)?;
        if let Some(key) = Document::read_as(Format::Yaml, "x", &text).ok().and_then(|document| removable(&document, at)) {
            check_remove(Format::Yaml, &text, &key)?;
        }
    }

    #[test]
    fn no_text_is_too_odd(text in prop_oneof![
        "\\PC*",
        prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", "\"", "'", ":", ",", "#", "//", "/*", "*/", "\n", " ", "a", "1", "-", "\\", "é", "\r", "\t",
            "$", "(", ")", "<<EOF", "`", "--a", "=", "&", "|", ";", "export ", "a: ", "- ", "? ", "*a", "&a ", "!!x ", ">",
        ]), 0..60).prop_map(|parts| parts.concat()),
    ], value in values()) {
        for format in [Format::Json, Format::Yaml] {
            if let Ok(document) = Document::read_as(format, "x", &text) {
                for key in ["a", "a.b", "a[0]", "--a", "A"] {
                    let _ = document.set(key, &value);
                    let _ = document.remove(key);
                }
                for entry in document.entries() {
                    prop_assert!(text.get(entry.span.clone()).is_some());
                    let _ = document.set(&entry.key, &value);
                    let _ = document.remove(&entry.key);
                }
            }
        }
    }
}

/// Texts that would take forever, or the whole stack.
#[test]
fn hostile_texts_end_quickly() {
    let started = std::time::Instant::now();
    let piece = ["[", "{\"a\":", "[1,", "\"", "'", "/*", "#\n", "- ", "&a ", "? ", "a ", "é"];
    let mut texts: Vec<String> = piece.iter().map(|piece| piece.repeat((1 << 20) / piece.len())).collect();
    texts.extend(["{a:1,", "a:\n", "a: |\n", "- a\n"].map(|piece| piece.repeat(20_000)));
    for text in texts {
        for format in [Format::Json, Format::Yaml] {
            if let Ok(document) = Document::read_as(format, "x", &text) {
                let _ = document.set("b", &Value::Bool(true));
            }
        }
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
