//! Tells whether a text that was edited reads as it should.

use crate::knowledge::CodeWords;

use super::value::only_entry;
use super::{Body, Document, Entry, Value, Wanted, dockerfile, is_collection, is_function, python};

impl Document {
    /// Whether `written` has what is wanted, where this had `old`.
    pub(super) fn has_set(&self, written: &Document, old: Option<&Entry>, wanted: Wanted<'_>) -> bool {
        let Wanted { key, value, kind, command } = wanted;
        // A call in code reads as the option that it sets.
        if let Some(method) = python::called(key).filter(|_| matches!(self.body, Body::Python(_)))
            && written.entries.iter().any(|entry| entry.key.contains(&format!(".{method}:")))
        {
            return true;
        }
        match python::called(key).and_then(|method| CodeWords::shipped().call(method)) {
            // One behind what is kept ends that habit.
            Some(call) if call.of_kept => return self.releases() > 0 && written.releases() == 0,
            // One that leaves less of whole outputs leaves none of them.
            Some(call) if call.of_outputs => return self.largest() > 0 && written.largest() == 0,
            Some(call) if call.in_place_of.is_some() => {
                let left = |document: &Document| python::called(key).map_or(0, |class| document.replaceable(class));
                return left(self) > 0 && left(written) == 0;
            }
            Some(call) if call.of_cache => return self.clears() > 0 && written.clears() == 0,
            // A decorator ends the habit of what it decorates.
            Some(call) if call.decorates.is_some() => return self.graphs() > 0 && written.graphs() == 0,
            _ => {}
        }
        if dockerfile::step_of(key).is_some() && dockerfile::is_dockerfile(&written.text) {
            return dockerfile::gives(&written.text, key, value);
        }
        if old.is_none() && self.has_new_entry(written, key, value) {
            return true;
        }
        if old.is_none() && self.has_new_parts(written, key, value) {
            return true;
        }
        // In code a call has the name of its class before its own: `AutoModel.from_pretrained.dtype`.
        let longer = || {
            let ends = |entry: &&Entry| entry.key.strip_suffix(key).is_some_and(|start| start.ends_with('.'));
            written
                .entries
                .iter()
                .rev()
                .find(|entry| matches!(self.body, Body::Python(_)) && old.is_none() && ends(entry))
        };
        match written.choose(key, kind, command).and_then(|at| written.entries.get(at)).or_else(longer) {
            Some(entry) => self.reads_as(entry, value),
            // A switch that is off is absent.
            None => {
                let was_switch = || old.is_some_and(|entry| self.is_switch(entry));
                *value == Value::Bool(false) && (self.is_script() || was_switch())
            }
        }
    }

    /// Whether `written`, which is code, has the only entry of the dictionary `value` as a member of `key`, and this has none.
    fn has_new_entry(&self, written: &Document, key: &str, value: &Value) -> bool {
        let Value::Text(text) = value else { return false };
        let Some((name, code)) = only_entry(text).filter(|_| matches!(self.body, Body::Python(_))) else {
            return false;
        };
        let member = format!("{key}[\"{name}\"]");
        let is_it = |entry: &&Entry| {
            entry.key.strip_suffix(member.as_str()).is_some_and(|above| above.is_empty() || above.ends_with('.'))
        };
        let mut new = written.entries.iter().filter(is_it);
        new.any(|entry| entry.value.to_string().trim_matches('`') == code)
            && !self.entries.iter().any(|own| is_it(&own))
    }

    /// Whether `written` has parts of the list or object `value`, which reads as what stands in it.
    fn has_new_parts(&self, written: &Document, key: &str, value: &Value) -> bool {
        let is_part = |entry: &Entry| entry.key.strip_prefix(key).is_some_and(|rest| rest.starts_with(['[', '.']));
        matches!(value, Value::Text(words) if is_collection(words))
            && matches!(self.body, Body::Json(_) | Body::Yaml(_))
            && written.entries.iter().any(is_part)
            && !self.entries.iter().any(is_part)
    }

    /// Whether `entry` already has this value. In a script or a file of `key=value` lines, words carry no type, so they are compared as words.
    pub(super) fn reads_as(&self, entry: &Entry, value: &Value) -> bool {
        let word = |value: &Value| Value::of_word(&value.to_string());
        let is_of_words = self.is_script() || matches!(self.body, Body::Ini);
        // What only a run can tell reads as its text, and a type of a module by its own name: `torch.float16`.
        let is_code = |read: &str, text: &str| {
            let own = text.strip_suffix(read).is_some_and(|module| module.ends_with('.'));
            is_function(text) && (own || read.trim_matches('`') == text)
        };
        // A number that stood in quotes stays text.
        let is_quoted = matches!(self.body, Body::Yaml(_)) && matches!(entry.value, Value::Text(_));
        let is_of_words = is_of_words || is_quoted && matches!(value, Value::Number(_));
        let is_none = matches!(self.body, Body::Python(_)) && entry.value == Value::Null;
        matches!((&entry.value, value), (Value::Text(read), Value::Text(text)) if is_code(read, text))
            || is_none && matches!(value, Value::Text(text) if text == "None")
            || entry.value == *value
            || is_of_words && word(&entry.value) == word(value)
    }
}
