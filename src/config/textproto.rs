//! Reads the text format of protocol buffers, in which Triton's models are configured (`config.pbtxt`).
//!
//! A field is `name: value`, or a message in braces; of a list in brackets each item is a field (protobuf.dev/reference/protobuf/textformat-spec).
//! An entry of a map, `parameters { key: "a" value: { string_value: "1" } }`, is a setting by its own name: `parameters.a`.
//! It is told from everything else by being read as a whole: no log reads so.

use std::ops::Range;

use super::entry::FoundSetting;
use super::{Body, EntryKind, Parsed, Value};

/// More nesting than people write.
const DEEPEST: usize = 32;

/// Whether `text` is in this format.
pub(super) fn is_textproto(text: &str) -> bool {
    read(text).is_some()
}

/// The settings in `text`; `None` if it is not in this format: fields with values, and some message that no colon precedes, as YAML would
/// have.
pub(super) fn read(text: &str) -> Option<Parsed> {
    // Nothing is read of a text that has no brace.
    let reader = if text.contains(['{', '[']) { Reader::of(text)? } else { return None };
    let is_it = reader.has_message && reader.has_value;
    is_it.then(|| Parsed { body: Body::Ini, found: reader.found, commands: Vec::new() })
}

/// More bytes of keys than people write: a long name is repeated in the key of each field below it.
const MOST: usize = 64 << 20;

struct Reader<'t> {
    text: &'t str,
    at: usize,
    found: Vec<FoundSetting>,
    has_message: bool,
    has_value: bool,
    /// The bytes of keys so far.
    spent: usize,
}

impl<'t> Reader<'t> {
    /// What is read of the whole of `text`; `None` if it is not in this format.
    fn of(text: &'t str) -> Option<Reader<'t>> {
        let mut reader = Reader { text, at: 0, found: Vec::new(), has_message: false, has_value: false, spent: 0 };
        reader.fields("", 0)?;
        (reader.at == text.len()).then_some(reader)
    }

    /// Skips blanks and comments, and returns what stands there.
    fn next(&mut self) -> Option<char> {
        loop {
            let rest = self.text.get(self.at..)?;
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            let rest = &rest[blank..];
            if !rest.starts_with('#') {
                return rest.chars().next();
            }
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    fn take(&mut self, letter: char) -> bool {
        let is_there = self.next() == Some(letter);
        self.at += if is_there { letter.len_utf8() } else { 0 };
        is_there
    }

    /// The letters from here on that belong to a name or a number.
    fn word(&mut self) -> Option<Range<usize>> {
        self.next()?;
        let rest = self.text.get(self.at..)?;
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_.+-".contains(letter);
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let span = self.at..self.at + length;
        self.at = span.end;
        (length > 0).then_some(span)
    }

    /// The fields of the message at `path`, up to its end.
    fn fields(&mut self, path: &str, depth: usize) -> Option<()> {
        while let Some(letter) = self.next() {
            if letter == '}' {
                break;
            }
            let name = self.word()?;
            let name =
                self.text.get(name).filter(|name| name.starts_with(|letter: char| letter.is_ascii_alphabetic()))?;
            self.spent = self.spent.saturating_add(path.len() + name.len());
            if self.spent > MOST {
                return None;
            }
            let key = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let has_colon = self.take(':');
            if !has_colon && !self.is_message() {
                return None;
            }
            self.has_message |= !has_colon && path.is_empty();
            self.has_value |= has_colon && path.is_empty();
            self.value(&key, depth)?;
            let _ = self.take(',') || self.take(';');
        }
        Some(())
    }

    /// Whether a message stands here, or a list of some: only before these a colon may be left out.
    fn is_message(&mut self) -> bool {
        let first = self.next();
        let rest = self.text.get(self.at..).unwrap_or_default();
        first == Some('{') || rest.strip_prefix('[').is_some_and(|list| list.trim_start().starts_with('{'))
    }

    fn value(&mut self, key: &str, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match self.next()? {
            '{' => {
                self.take('{');
                let first = self.found.len();
                self.fields(key, depth + 1)?;
                self.name_entry(key, first);
                self.take('}').then_some(())
            }
            '[' => {
                self.take('[');
                let mut index = 0;
                while self.next()? != ']' {
                    self.spent = self.spent.saturating_add(key.len());
                    if self.spent > MOST {
                        return None;
                    }
                    self.value(&format!("{key}[{index}]"), depth + 1)?;
                    index += 1;
                    let _ = self.take(',');
                }
                self.take(']').then_some(())
            }
            quote @ ('"' | '\'') => {
                let start = self.at + 1;
                let inner = self.text.get(start..)?.split(['\n', quote]).next()?;
                let end = start + inner.len();
                self.at = end;
                self.take(quote).then_some(())?;
                self.add(key, start..end)
            }
            _ => {
                let word = self.word()?;
                self.add(key, word)
            }
        }
    }

    /// Gives the only value of the message at `path`, whose fields begin at `first`, the name that stands there as its key.
    fn name_entry(&mut self, path: &str, first: usize) {
        let Some([name, value]) = self.found.get_mut(first..) else { return };
        let is_value =
            value.key.strip_prefix(path).is_some_and(|rest| rest.starts_with(".value.") && rest.ends_with("_value"));
        if let (Value::Text(words), true) = (&name.value, is_value && name.key.strip_prefix(path) == Some(".key")) {
            value.key = format!("{path}.{words}");
            self.found.remove(first);
            // YAML has commas between fields.
            self.has_message = true;
        }
    }

    fn add(&mut self, key: &str, span: Range<usize>) -> Option<()> {
        let value = Value::of_word(self.text.get(span.clone())?);
        self.found.push(FoundSetting::new(key, value, EntryKind::Setting, span));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Document, EntryKind, Format, Value};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    const MODEL: &str = "name: \"reranker\"  # of the search\nmax_batch_size: 128\ninput [ { name: \"ids\" dims: [ 512, -1 ] } ]\ninstance_group [ { count: 6 kind: KIND_GPU } ]\ndynamic_batching { preferred_batch_size: [ 64, 128 ] }\nparameters: { key: \"a\" value: { string_value: \"0.9\" } }\n";

    #[test]
    fn a_model_has_its_fields_by_their_paths() -> Outcome {
        assert_eq!(Format::of(MODEL), Format::Ini);
        let document = Document::read("config.pbtxt", MODEL)?;
        let shown: Vec<String> =
            document.entries().iter().map(|entry| format!("{}={}", entry.key, entry.value)).collect();
        assert_eq!(
            shown,
            [
                "name=reranker",
                "max_batch_size=128",
                "input[0].name=ids",
                "input[0].dims[0]=512",
                "input[0].dims[1]=-1",
                "instance_group[0].count=6",
                "instance_group[0].kind=KIND_GPU",
                "dynamic_batching.preferred_batch_size[0]=64",
                "dynamic_batching.preferred_batch_size[1]=128",
                "parameters.a=0.9",
            ]
        );
        let set = |key: &str| document.set_as(EntryKind::Setting, None, key, &Value::Number(1.0));
        assert_eq!(set("instance_group[0].count")?, MODEL.replace("count: 6", "count: 1"));
        assert_eq!(set("max_batch_size")?, MODEL.replace("max_batch_size: 128", "max_batch_size: 1"));
        Ok(())
    }

    #[test]
    fn an_entry_of_a_map_has_its_own_name() -> Outcome {
        let lines = "name: \"llm\"\nparameters: {\n  key: \"share\"\n  value: {\n    string_value: \"0.9\"\n  }\n}\nparameters: {\n  key: \"mode\"\n  value: { string_value: \"v1\" }\n}\n";
        let document = Document::read("config.pbtxt", lines)?;
        let shown: Vec<String> =
            document.entries().iter().map(|entry| format!("{}={}", entry.key, entry.value)).collect();
        assert_eq!(shown, ["name=llm", "parameters.share=0.9", "parameters.mode=v1"]);
        let edited = document.set_as(EntryKind::Setting, None, "parameters.share", &Value::Number(0.8))?;
        assert_eq!(edited, lines.replace("0.9", "0.8"));
        Ok(())
    }

    #[test]
    fn what_reads_otherwise_is_none() {
        for other in [
            "a: 1\nb: [1, 2]\nc: {d: 1}\n",
            "server {\n  listen 80;\n}\n",
            "a { color: red; }\n",
            "step: 1 loss [nan]\n",
            "ERROR: x {\n",
            "a: 1\nb { c: 2 }\nTraceback (most recent call last):\n",
        ] {
            assert!(!super::is_textproto(other), "{other}");
        }
    }
}
