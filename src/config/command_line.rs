//! Edits the command line of a program that a YAML file, a unit or a Dockerfile starts.

use super::edit::Edit;
use super::{Document, Entry, EntryKind, Value, reference, switch};
use crate::knowledge::Launchers;

impl Document {
    /// The edits that replace the value of `entry` of a YAML file: at the variable that it only refers to, and at each place that asks for the
    /// same part of a device.
    pub(super) fn replaced_everywhere(&self, entry: &Entry, value: &Value) -> Option<Vec<Edit>> {
        if !Launchers::shipped().is_part_of_device(&entry.key) {
            return self.replaced(entry, value).map(|edit| vec![edit]);
        }
        let alike = |other: &&Entry| other.key == entry.key && other.value == entry.value && other.kind == entry.kind;
        // Of several documents in the file, the others are of other pods.
        let own = self.part_around(entry.span.start);
        let is_beside = |other: &&Entry| own.contains(&other.span.start);
        self.entries.iter().filter(alike).filter(is_beside).map(|other| self.replaced(other, value)).collect()
    }

    /// The bytes of the YAML document of the file in which `at` stands.
    fn part_around(&self, at: usize) -> std::ops::Range<usize> {
        const MARK: &str = "\n---";
        let (before, behind) = self.text.split_at_checked(at).unwrap_or((&self.text, ""));
        before.rfind(MARK).unwrap_or(0)..behind.find(MARK).map_or(self.text.len(), |end| at + end)
    }

    /// The edit that replaces the word of `entry` by `value`, if both are plain words. A switch that is set to false is removed.
    pub(super) fn replaced(&self, entry: &Entry, value: &Value) -> Option<Edit> {
        if *value == Value::Bool(false) && self.is_switch(entry) {
            return switch::removed(&self.text, &entry.span);
        }
        // `-j` without a number, of which `-j 4` is one.
        if self.is_switch(entry) && value.as_number().is_some() {
            return Some(Edit::insert(entry.span.end, format!(" {value}")));
        }
        let word = value.to_string();
        let written = self.text.get(entry.span.clone())?;
        let reads = |entry: &Entry, written: &str| Value::of_word(written) == Value::of_word(&entry.value.to_string());
        let span = match reference::of(written) {
            // A value that others use as well, or that nothing here gives, takes the place of the reference.
            Some(name) if reference::of(&entry.value.to_string()) != Some(name) => {
                self.only_variable(name).map_or(&entry.span, |variable| &variable.span)
            }
            _ if reads(entry, written) => &entry.span,
            _ => return None,
        };
        is_plain_word(&word).then(|| Edit::replace(span.clone(), word))
    }

    /// The variable `name` in the environment of what the file starts, if it is given once and one place uses it.
    fn only_variable(&self, name: &str) -> Option<&Entry> {
        let mut given = self.entries.iter().filter(|entry| entry.kind == EntryKind::Env && entry.key == name);
        let only = given.next().filter(|_| given.next().is_none())?;
        (reference::uses(&self.text, name) == 1).then_some(only)
    }

    /// The edit that adds the option `key` behind the last one of a command that a YAML file starts: to its list, in the style of the last
    /// item, or to its text.
    pub(super) fn appended(&self, key: &str, value: &Value, command: Option<usize>) -> Option<Edit> {
        let command = command.or(self.main_command())?;
        let is_option = |entry: &&Entry| entry.command == Some(command) && entry.kind == EntryKind::Flag;
        let span = self.entries.iter().filter(is_option).map(|entry| entry.span.clone()).max_by_key(|span| span.end)?;
        let dashes = if key.chars().count() == 1 { "-" } else { "--" };
        let words = match value {
            Value::Bool(false) => return None,
            Value::Bool(true) => vec![format!("{dashes}{key}")],
            value => vec![format!("{dashes}{key}"), value.to_string()],
        };
        if !words.iter().all(|word| is_plain_word(word)) {
            return None;
        }
        let quote = self.text.get(span.end..)?.chars().next().filter(|letter| matches!(letter, '"' | '\''));
        let at = span.end + usize::from(quote.is_some());
        let rest = self.text.get(at..)?.trim_start();
        let line = self.text.get(..span.start)?.rsplit_once('\n').map_or("", |(_, line)| line);
        // A list holds texts, so what may read as something else is quoted.
        let item = |word: &String| match quote.or((!word.starts_with("--")).then_some('"')) {
            Some(quote) => format!("{quote}{word}{quote}"),
            None => word.clone(),
        };
        let is_item = |before: &str| {
            let before = before.trim_start_matches(['"', '\'']);
            before.is_empty() || before.starts_with('-') && before.ends_with('=')
        };
        let with: String = match line.trim_start().strip_prefix("- ") {
            _ if rest.starts_with([',', ']']) => words.iter().map(|word| format!(", {}", item(word))).collect(),
            // `- --name=value`, or two items; `- command: …` is another list.
            Some(before) if is_item(before) => {
                let indent = &line[..line.len() - line.trim_start().len()];
                let items = if before.contains('=') { vec![words.join("=")] } else { words.clone() };
                let with = items.iter().map(|word| format!("\n{indent}- {}", item(word))).collect::<String>();
                let end = self.text.get(at..)?.find('\n').map_or(self.text.len(), |length| at + length);
                return Some(Edit::insert(end, with));
            }
            _ => format!(" {}", words.join(" ")),
        };
        Some(Edit::insert(at, with))
    }

    /// Whether `entry` is an option without a value: `--no-lazy`.
    pub(super) fn is_switch(&self, entry: &Entry) -> bool {
        let word = self.text.get(entry.span.clone()).unwrap_or_default();
        entry.kind == EntryKind::Flag && entry.value == Value::Bool(true) && word.starts_with('-')
    }
}

/// Whether a word needs no quotes in any of the places that edits write to.
fn is_plain_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+/%".contains(&byte))
}
