//! Properties of every text and every edit: a setting reads back as the value it was set to, all other settings keep
//! their values, and unrelated lines stay as they are.

mod generate;

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;

use generate::{Given, Taste, Tree, given, json, shell, toml, trees, values, yaml};

use super::{Document, EditError, Entry, EntryKind, Format, Value, path, path::PathStep};

/// The value of each key. Items of a YAML list that are also read as a program's arguments count only once.
fn settings(document: &Document) -> BTreeMap<String, Value> {
    let entries = document.entries().iter().filter(|entry| !is_argument(document, entry));
    entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect()
}

fn is_argument(document: &Document, entry: &Entry) -> bool {
    document.format() == Format::Yaml && entry.kind != EntryKind::Setting
}

/// A key that is set, or one that could be set, in an existing section or in new ones.
fn some_key(tree: &Tree, at: Index, names: &[String]) -> String {
    fn collect(tree: &Tree, steps: &mut Vec<PathStep>, names: &[String], found: &mut Vec<Vec<PathStep>>) {
        let children: Vec<(PathStep, &Tree)> = match tree {
            Tree::Scalar(_) => return found.push(steps.clone()),
            Tree::List(items) => {
                found.push([steps.as_slice(), &[PathStep::Index(items.len())]].concat());
                items.iter().enumerate().map(|(at, item)| (PathStep::Index(at), item)).collect()
            }
            Tree::Map(members) => {
                for depth in 1..=names.len() {
                    let new: Vec<PathStep> = names[..depth].iter().cloned().map(PathStep::Key).collect();
                    if !members.contains_key(&names[0]) {
                        found.push([steps.as_slice(), &new].concat());
                    }
                }
                members.iter().map(|(key, value)| (PathStep::Key(key.clone()), value)).collect()
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

/// TOML has no null.
fn without_null(tree: Tree) -> Tree {
    match tree {
        Tree::Scalar(Value::Null) => Tree::Scalar(Value::Bool(false)),
        Tree::Scalar(value) => Tree::Scalar(value),
        Tree::List(items) => Tree::List(items.into_iter().map(without_null).collect()),
        Tree::Map(members) => Tree::Map(members.into_iter().map(|(key, tree)| (key, without_null(tree))).collect()),
    }
}

/// The number of lines of `before` that are missing in `after`.
fn lines_lost(before: &str, after: &str) -> usize {
    super::diff("x", before, after).lines().skip(2).filter(|line| line.starts_with('-')).count()
}

/// A value as the format reads it: words of a command line have no type.
fn as_read(format: Format, value: &Value) -> Value {
    if format == Format::Shell { Value::of_word(&value.to_string()) } else { value.clone() }
}

/// Sets `key`, and fails if anything else changes.
fn check_set(format: Format, text: &str, key: &str, value: &Value) -> Result<(), TestCaseError> {
    let fail =
        |what: &str, after: &str| Err(TestCaseError::fail(format!("{what}: {key} = {value:?}\n{text}\n=>\n{after}")));
    let before =
        Document::read_as(format, "before", text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    // Some values cannot be written in some places of a script, but plain words always can.
    let is_plain =
        |text: &str| text.starts_with(char::is_alphanumeric) && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let edited = match before.set(key, value) {
        Ok(edited) => edited,
        Err(EditError::Unwritable { .. }) if format == Format::Shell && !is_plain(&value.to_string()) => return Ok(()),
        Err(error) => return fail(&error.to_string(), ""),
    };
    let Ok(after) = Document::read_as(format, "after", &edited) else { return fail("does not read", &edited) };
    let is_switched_off =
        before.get(key).is_some_and(|entry| entry.at.text.starts_with('-')) && *value == Value::Bool(false);
    // A number that stood in quotes stays text.
    let is_quoted = format == Format::Yaml
        && matches!(value, Value::Number(_))
        && before.get(key).is_some_and(|entry| matches!(entry.value, Value::Text(_)));
    let wanted = if is_quoted { Value::Text(value.to_string()) } else { as_read(format, value) };
    let is_set = |read: &Value| *read == wanted || as_read(format, read) == as_read(format, value);
    if !is_switched_off && !after.get(key).is_some_and(|entry| is_set(&entry.value)) {
        return fail("is not set", &edited);
    }
    let (mut old, mut new) = (settings(&before), settings(&after));
    // A value that comes from a variable is changed there.
    let is_from_variable = before.get(key).is_some_and(|entry| entry.defined.is_some());
    for all in [&mut old, &mut new] {
        all.retain(|key, _| key != "ARGS" && !(is_from_variable && key.starts_with('V')));
    }
    // A section that was `null` is no longer listed as a value.
    let sections: Vec<String> =
        old.keys().filter(|other| key.starts_with(other.as_str()) && !new.contains_key(*other)).cloned().collect();
    sections.iter().chain([&key.to_owned()]).for_each(|key| {
        let key = if format == Format::Shell { key.trim_start_matches('-') } else { key };
        old.remove(key);
        new.remove(key);
    });
    if old != new {
        return fail("something else changed", &edited);
    }
    if !is_switched_off && after.set(key, value).as_deref() != Ok(&edited) {
        return fail("is set again", &edited);
    }
    let multiline = before.get(key).map_or(0, |entry| text[entry.span.clone()].lines().count());
    if lines_lost(text, &edited) > multiline.max(2) {
        return fail("lines changed", &edited);
    }
    Ok(())
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
        let key = some_key(&tree, at, &names);
        // A list in which a word looks like an option is read as a program's arguments, no longer as items.
        prop_assume!(!(key.contains('[') && matches!(&value, Value::Text(word) if word.starts_with('-'))));
        check_set(Format::Yaml, &text, &key, &value)?;
    }

    #[test]
    fn toml_edits_change_nothing_else(
        tree in trees(), taste in prop::collection::vec(any::<u8>(), 1..40), at: Index, value in values(),
        names in prop::collection::vec("[a-z]{9}", 1..3), crlf: bool,
    ) {
        let tree = without_null(tree);
        let text = toml(&tree, &mut Taste::new(&taste));
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        let key = some_key(&tree, at, &names);
        let comments = |text: &str| text.matches("# it's").count();
        let document = Document::read_as(Format::Toml, "x", &text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        // An array of tables takes no plain value.
        let is_section = text.contains("[[") && key.ends_with(']') && !key.ends_with("\"]");
        match value {
            _ if is_section && document.set(&key, &value).is_err() => {}
            Value::Null => prop_assert!(document.set(&key, &value).is_err()),
            value => {
                check_set(Format::Toml, &text, &key, &value)?;
                prop_assert_eq!(document.set(&key, &value).map(|after| comments(&after)), Ok(comments(&text)));
            }
        }
    }

    #[test]
    fn shell_edits_change_nothing_else(
        all in given(), taste in prop::collection::vec(any::<u8>(), 1..40), at: Index, value in values(), crlf: bool,
    ) {
        let text = shell(&all, &mut Taste::new(&taste));
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        let document = Document::read_as(Format::Shell, "x", &text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let found = settings(&document);
        for Given { name, value } in &all {
            if let Some(found) = found.get(name) {
                prop_assert_eq!(as_read(Format::Shell, found), as_read(Format::Shell, value), "{}\n{}", name, text);
            }
        }
        let new = ["--new_flag".to_owned(), "NEW_VARIABLE".to_owned()];
        // Other settings depend on the variables.
        let keys: Vec<&String> = found.keys().filter(|key| !key.starts_with('V') && *key != "ARGS").chain(&new).collect();
        check_set(Format::Shell, &text, keys[at.index(keys.len())], &value)?;
    }

    #[test]
    fn no_text_is_too_odd(text in prop_oneof![
        "\\PC*",
        prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", "\"", "'", ":", ",", "#", "//", "/*", "*/", "\n", " ", "a", "1", "-", "\\", "é", "\r", "\t",
            "$", "(", ")", "<<EOF", "a = ", "[a]\n", "`", "--a", "=", "&", "|", ";", "export ", "a: ", "- ", "? ", "*a", "&a ", "!!x ", ">",
        ]), 0..60).prop_map(|parts| parts.concat()),
    ], value in values()) {
        for format in [Format::Json, Format::Yaml, Format::Toml, Format::Shell] {
            if let Ok(document) = Document::read_as(format, "x", &text) {
                for key in ["a", "a.b", "a[0]", "--a", "A"] {
                    let _ = document.set(key, &value);
                }
                for entry in document.entries() {
                    prop_assert!(text.get(entry.span.clone()).is_some());
                    let _ = document.set(&entry.key, &value);
                }
            }
        }
    }
}

/// Texts that might never finish or overflow the stack.
#[test]
fn hostile_texts_end() {
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        read_hostile_texts();
        ended.send(())
    });
    // Far more than a slow machine needs, so only a hanging run fails.
    assert_eq!(end.recv_timeout(std::time::Duration::from_secs(600)), Ok(()));
}

fn read_hostile_texts() {
    let piece = [
        "[",
        "{\"a\":",
        "[1,",
        "\"",
        "'",
        "/*",
        "#\n",
        "- ",
        "&a ",
        "? ",
        "a ",
        "é",
        "$(",
        "${a:-",
        "`",
        "\\",
        "A=$A$A\n",
        "<<E\n",
        "(",
        "if ",
        "x --a 1\n",
        "\\\n",
        "bash -c \"",
    ];
    let mut texts: Vec<String> = piece.iter().map(|piece| piece.repeat((1 << 17) / piece.len())).collect();
    texts.push("[".repeat(1 << 20));
    texts.extend(["{a:1,", "a:\n", "a: |\n", "- a\n"].map(|piece| piece.repeat(10_000)));
    for text in texts {
        for format in [Format::Json, Format::Yaml, Format::Toml, Format::Shell] {
            if let Ok(document) = Document::read_as(format, "x", &text) {
                let _ = document.set("b", &Value::Bool(true));
            }
        }
    }
}
