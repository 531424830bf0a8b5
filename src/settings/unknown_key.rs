//! Finds unknown keys and suggests known ones.

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::rulebase::nearest;

/// An unknown key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownKey {
    /// The key.
    pub key: String,
    /// Its offset in bytes.
    pub offset: usize,
    /// A suggestion, or the keys that are allowed.
    pub advice: String,
}

/// The first key in `content` that `schema` does not have.
pub(super) fn find(content: &str, schema: &Value) -> Option<UnknownKey> {
    let (table, _) = DeTable::parse_recoverable(content);
    in_table(table.get_ref(), schema, schema)
}

/// Whether one of the outermost keys in `content`, as far as it reads as TOML, is one that `schema` has, or is written much like one.
pub(super) fn has_any(content: &str, schema: &Value) -> bool {
    let (table, _) = DeTable::parse_recoverable(content);
    let Some(known) = resolved(schema, schema)["properties"].as_object() else { return true };
    let is_meant = |key: &str| known.contains_key(key) || !nearest(key, known.keys().map(String::as_str)).is_empty();
    table.get_ref().keys().any(|key| is_meant(key.get_ref().as_ref()))
}

fn in_table(table: &DeTable<'_>, schema: &Value, root: &Value) -> Option<UnknownKey> {
    let known = resolved(schema, root)["properties"].as_object()?;
    for (key, value) in table {
        let Some(inner) = known.get(key.get_ref().as_ref()) else {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let (key, offset) = (key.get_ref().to_string(), key.span().start);
            return Some(UnknownKey { advice: advice(&key, &names, root), key, offset });
        };
        let found = match value.get_ref() {
            DeValue::Table(table) => in_table(table, inner, root),
            DeValue::Array(rows) => {
                let items = &resolved(inner, root)["items"];
                rows.iter().find_map(|row| row.get_ref().as_table().and_then(|row| in_table(row, items, root)))
            }
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Follows a `$ref`.
fn resolved<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    reference.and_then(|path| root.pointer(path)).unwrap_or(schema)
}

/// A suggestion for `key`: one of `known`, the keys of its table, or a key of another table; otherwise all of `known`.
fn advice(key: &str, known: &[&str], root: &Value) -> String {
    const LEAST: usize = 3;
    let is_begun = |known: &&&str| key.len() >= LEAST && known.starts_with(key);
    let alike = |known: &[&str]| -> Vec<String> {
        let begun = known.iter().filter(is_begun);
        let mut alike: Vec<String> = begun.chain(&nearest(key, known.iter().copied())).map(|it| (*it).into()).collect();
        alike.dedup();
        alike
    };
    let mut meant = alike(known);
    if meant.is_empty() {
        meant = tables(root)
            .into_iter()
            .flat_map(|(table, keys)| {
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                alike(&keys).into_iter().map(move |key| format!("{table}{key}"))
            })
            .collect();
    }
    match meant.as_slice() {
        [] => format!("what may stand there: {}", known.join(", ")),
        meant => format!("did you mean `{}`?", meant.iter().take(3).cloned().collect::<Vec<_>>().join("` or `")),
    }
}

/// The keys of each table, with the prefix of the table.
fn tables(root: &Value) -> Vec<(String, Vec<String>)> {
    let keys = |schema: &Value| -> Vec<String> {
        resolved(schema, root)["properties"].as_object().map(|keys| keys.keys().cloned().collect()).unwrap_or_default()
    };
    let top = keys(root);
    let inner = top.iter().map(|name| (format!("{name}."), keys(&root["properties"][name])));
    let inner: Vec<_> = inner.collect();
    std::iter::once((String::new(), top.clone())).chain(inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_said() -> Result<(), serde_json::Error> {
        let schema = serde_json::to_value(super::super::schema())?;
        let said = |content: &str| {
            find(content, &schema).map(|unknown_key| (unknown_key.key, unknown_key.offset, unknown_key.advice))
        };
        for (content, key, offset, advice) in [
            ("langauge = 'zh'", "langauge", 0, "did you mean `language`?"),
            ("lang = 'zh'", "lang", 0, "did you mean `language`?"),
            ("[triage]\nfail-on = []", "fail-on", 9, "did you mean `fail_on`?"),
            ("\nfail_on = []", "fail_on", 1, "did you mean `triage.fail_on`?"),
            ("[[ignore]]\nreasons = ''", "reasons", 11, "did you mean `reason`?"),
            ("[[hosts]]\nname = 'a'\nfact = {}", "fact", 21, "did you mean `facts`?"),
            ("[trage]", "trage", 1, "did you mean `triage`?"),
            ("[triage]\nxyz = 1", "xyz", 9, "what may stand there: fail_on, notify"),
        ] {
            assert_eq!(said(content), Some((key.to_owned(), offset, advice.to_owned())), "{content}");
        }
        assert_eq!(said("[[hosts]]\nname = 'a'\nfacts = { anything = 1 }"), None);
        Ok(())
    }
}
