//! Generates configurations in every format and style.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::Value;

/// Generated settings.
#[derive(Debug, Clone)]
pub enum Tree {
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

pub fn values() -> impl Strategy<Value = Value> {
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

pub fn trees() -> impl Strategy<Value = Tree> {
    let leaf = values().prop_map(Tree::Scalar);
    let inner = leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Tree::List),
            2 => prop::collection::btree_map(keys(), inner, 0..5).prop_map(Tree::Map),
        ]
    });
    prop::collection::btree_map(keys(), inner, 0..6).prop_map(Tree::Map)
}

/// A stream of decisions about style.
pub struct Taste<'a>(std::iter::Cycle<std::slice::Iter<'a, u8>>);

impl<'a> Taste<'a> {
    pub fn new(bytes: &'a [u8]) -> Taste<'a> {
        Taste(bytes.iter().cycle())
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
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
pub fn json(tree: &Tree, indent: usize, taste: &mut Taste<'_>) -> String {
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

/// YAML in any style. The result goes behind a key's colon or a dash; its lines are indented by `indent`.
pub fn yaml(tree: &Tree, indent: usize, unit: usize, in_list: bool, taste: &mut Taste<'_>) -> String {
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
        // The first child of an item goes on the line of its dash.
        if std::mem::take(&mut first) {
            text += &format!(" {content}");
        } else {
            text += taste.one_of(&["", "", "", " # it's", "\n", "\n# : {"]);
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

fn toml_scalar(value: &Value, taste: &mut Taste<'_>) -> String {
    match value {
        Value::Number(number) if taste.one_of(&[true, false]) => format!("{number:e}"),
        Value::Text(text) => {
            let is_literal = !text.chars().any(|c| c == '\'' || c.is_control());
            if is_literal && taste.one_of(&[false, true]) { format!("'{text}'") } else { json_text(text, '"') }
        }
        value => value.to_string(),
    }
}

fn toml_key(key: &str, taste: &mut Taste<'_>) -> String {
    let is_bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_bare && taste.one_of(&[true, true, false]) { key.to_owned() } else { json_text(key, '"') }
}

/// TOML within brackets.
fn toml_inline(tree: &Tree, taste: &mut Taste<'_>) -> String {
    match tree {
        Tree::Scalar(value) => toml_scalar(value, taste),
        Tree::List(items) => {
            let items: Vec<String> = items.iter().map(|item| toml_inline(item, taste)).collect();
            match taste.one_of(&[0, 1, 2]) {
                1 if !items.is_empty() => format!("[\n  {},  # it's, ]\n]", items.join(",\n  ")),
                _ => format!("[{}]", items.join(taste.one_of(&[", ", ","]))),
            }
        }
        Tree::Map(members) => {
            let member = |(key, value): (&String, &Tree)| {
                format!("{}{}{}", toml_key(key, taste), taste.one_of(&[" = ", "="]), toml_inline(value, taste))
            };
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

/// TOML in any style: sections with headers, as dotted keys, and in braces.
pub fn toml(tree: &Tree, taste: &mut Taste<'_>) -> String {
    let mut text = taste.one_of(&["", "# it's\n\n"]).to_owned();
    toml_section(tree, "", "", &mut text, taste);
    text
}

fn toml_section(tree: &Tree, header: &str, spelled: &str, text: &mut String, taste: &mut Taste<'_>) {
    let Tree::Map(members) = tree else { return };
    let indent = taste.one_of(&["", "", "  "]);
    let mut sections = Vec::new();
    for (key, value) in members {
        let name = toml_key(key, taste);
        let style = taste.one_of(&[0, 0, 1, 2]);
        match value {
            Tree::Map(_) if style == 0 && spelled.is_empty() => sections.push((name, value)),
            Tree::List(items)
                if style == 0
                    && spelled.is_empty()
                    && !items.is_empty()
                    && items.iter().all(|item| matches!(item, Tree::Map(_))) =>
            {
                sections.push((name, value));
            }
            Tree::Map(members) if style == 1 && !members.is_empty() => {
                toml_section(value, header, &format!("{spelled}{name}."), text, taste);
            }
            value => {
                let equals = taste.one_of(&[" = ", "=", "  = "]);
                let end = taste.one_of(&["", "", "  # it's", " # [x]", "\n\n# it's"]);
                *text += &format!("{indent}{spelled}{name}{equals}{}{end}\n", toml_inline(value, taste));
            }
        }
    }
    for (name, value) in sections {
        let path = if header.is_empty() { name } else { format!("{header}.{name}") };
        let gap = taste.one_of(&["\n", "", "\n# it's\n"]);
        match value {
            Tree::List(items) => {
                for item in items {
                    *text += &format!("{gap}[[{path}]]\n");
                    toml_section(item, &path, "", text, taste);
                }
            }
            value => {
                // A section that contains only sections needs no header.
                let Tree::Map(members) = value else { continue };
                let is_needed = members.is_empty() || members.values().any(|value| !matches!(value, Tree::Map(_)));
                if is_needed || taste.one_of(&[true, true, false]) {
                    *text += &format!("{gap}[{path}]{}\n", taste.one_of(&["", " # it's"]));
                    toml_section(value, &path, "", text, taste);
                } else {
                    for (name, value) in members {
                        let path = format!("{path}.{}", toml_key(name, taste));
                        *text += &format!("{gap}[{path}]\n");
                        toml_section(value, &path, "", text, taste);
                    }
                }
            }
        }
    }
}

/// A setting on a command line.
#[derive(Debug, Clone)]
pub struct Given {
    pub name: String,
    pub value: Value,
}

pub fn given() -> impl Strategy<Value = Vec<Given>> {
    let name = "[a-z][a-z_]{2,7}(\\.[a-z]{1,4})?";
    let words = prop_oneof![3 => "[a-z0-9_./:,%+-]{1,9}", 1 => "[ -~]{0,9}", 1 => "[a-zé ]{1,5}"];
    // A value must not look like a flag (leading dash) or an override (`=`).
    let words = words.prop_filter("a value", |word| !word.starts_with(['-', '+', '{']) && !word.contains('='));
    let values = prop_oneof![
        1 => Just(Value::Bool(true)),
        1 => any::<bool>().prop_map(Value::Bool),
        2 => (0u32..100_000).prop_map(|number| Value::Number(number.into())),
        1 => prop::sample::select(vec![5e8, 1e-6, 0.9, -1.0]).prop_map(Value::Number),
        3 => words.prop_map(Value::Text),
    ];
    prop::collection::btree_map(name, values, 0..8)
        .prop_map(|all| all.into_iter().map(|(name, value)| Given { name, value }).collect())
}

fn shell_word(value: &Value, bare_only: bool, taste: &mut Taste<'_>) -> Option<String> {
    let text = match value {
        Value::Bool(true) => taste.one_of(&["True", "true"]).to_owned(),
        Value::Bool(false) => taste.one_of(&["False", "false"]).to_owned(),
        Value::Number(number) if taste.one_of(&[true, false]) => format!("{number:e}"),
        value => value.to_string(),
    };
    let is_safe =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:,%+-".contains(&byte));
    match taste.one_of(&[0, 0, 1, 2]) {
        _ if bare_only => is_safe.then_some(text),
        0 if is_safe => Some(text),
        1 if !text.contains('\'') => Some(format!("'{text}'")),
        _ => Some(format!(
            "\"{}\"",
            text.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`")
        )),
    }
}

/// A launch script in any style.
pub fn shell(all: &[Given], taste: &mut Taste<'_>) -> String {
    let mut script = String::new();
    script += taste.one_of(&["", "#!/bin/bash\n#SBATCH --nodes=2  # two\n#SBATCH -c 4\n", "set -x\n"]);
    script += taste.one_of(&["", "export NCCL_DEBUG=INFO # it's\n", "export A=1 B='x y'\n\n"]);
    let kept = taste.one_of(&["command", "command", "string", "array", "heredoc", "nested"]);
    let bare_only = matches!(kept, "string" | "heredoc" | "nested");
    let gap = taste.one_of(&[" ", " \\\n    ", " \\  \n  "]);
    let gap = match kept {
        "array" => taste.one_of(&["\n    ", " ", "  # it's\n    "]),
        "string" | "heredoc" | "nested" => taste.one_of(&[" ", " \\\n    "]),
        _ => gap,
    };
    let mut arguments = Vec::new();
    for (number, Given { name, value }) in all.iter().enumerate() {
        let Some(mut word) = shell_word(value, bare_only, taste) else { continue };
        if taste.one_of(&[false, false, true]) {
            script += &format!("V{number}={word}{}\n", taste.one_of(&["", "  # V0"]));
            word = taste.one_of(&["$V", "${V", "\"$V"]).to_owned() + &number.to_string();
            word += if word.starts_with("${") {
                "}"
            } else if word.starts_with('"') {
                "\""
            } else {
                ""
            };
            // A value with blanks must not be split again.
            if bare_only && word.starts_with('"') || value.to_string().contains(' ') || value.to_string().is_empty() {
                word = format!("${{V{number}}}");
            }
            if (value.to_string().contains(' ') || value.to_string().is_empty()) && !bare_only {
                word = format!("\"{word}\"");
            }
        }
        arguments.push(match taste.one_of(&[0, 0, 1, 2]) {
            _ if *value == Value::Bool(true) && taste.one_of(&[true, false]) => format!("--{name}"),
            0 => format!("--{name} {word}"),
            1 => format!("--{name}={word}"),
            _ if name.contains('.') => format!("{name}={word}"),
            _ => format!("--{name} {word}"),
        });
    }
    let list = arguments.join(gap);
    let program =
        taste.one_of(&["python3 train.py", "srun -l torchrun --nproc_per_node=8 train.py", "deepspeed --module app.x"]);
    let end = taste.one_of(&["", "\n", " 2>&1 | tee log\n", " &\nwait\n"]);
    script
        + &match kept {
            "string" => format!("ARGS=\"{list}\"\n{program} $ARGS{end}"),
            "array" => format!("ARGS=({gap}{list}\n)\n{program} \"${{ARGS[@]}}\"{end}"),
            "heredoc" => format!("read -r -d '' args <<EOF\n{list}\nEOF\n{program} $args{end}"),
            "nested" => format!("bash -c \"{program} {list}\"{end}"),
            _ => format!("{program} {list}{end}"),
        }
}
