//! Shorthands for tests. Errors are returned as `error: …`.

use super::{ConfigError, Document, EditError, Value};

fn read(text: &str) -> Result<Document, ConfigError> {
    Document::read("file", text)
}

/// `key=value` of every setting.
pub(super) fn settings(text: &str) -> Vec<String> {
    match read(text) {
        Ok(document) => document.entries().iter().map(|entry| format!("{}={}", entry.key, entry.value)).collect(),
        Err(error) => vec![format!("error: {error}")],
    }
}

/// Line, column and words of a setting's value.
pub(super) fn cited(text: &str, key: &str) -> String {
    match read(text).ok().as_ref().and_then(|document| document.get(key)) {
        Some(entry) => format!("{}:{} {}", entry.at.location.line, entry.at.location.column.0, entry.at.text),
        None => format!("error: no {key}"),
    }
}

/// The message of a text's syntax error.
pub(super) fn error(text: &str) -> String {
    read(text).err().map(|error| error.to_string()).unwrap_or_default()
}

/// `text` with `key` set.
pub(super) fn set(text: &str, key: &str, value: impl Into<Value>) -> String {
    edited(text, |document| document.set(key, &value.into()))
}

fn edited(text: &str, edit: impl FnOnce(Document) -> Result<String, EditError>) -> String {
    let document = read(text).map_err(|error| error.to_string());
    let edited = document.and_then(|document| edit(document).map_err(|error| error.to_string()));
    edited.unwrap_or_else(|error| format!("error: {error}"))
}
