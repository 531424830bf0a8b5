//! Reads XML as settings: what stands in an element without others, and what an element says of a `name` by its `value`:
//! `<policy domain="resource" name="memory" value="256MiB"/>`.
//!
//! Keys are the paths of elements: `clickhouse.profiles.default.max_memory_usage`. It is told by its first letters and by being read as a
//! whole; nothing is looked up or expanded.

use std::ops::Range;

use super::edit::{Edit, indentation, line_end, newline};
use super::entry::FoundSetting;
use super::ini::trimmed;
use super::{Body, Document, EntryKind, Parsed, Value};

/// More nesting than people write.
const DEEPEST: usize = 32;
/// More bytes of keys than people write: a long name is repeated in the key of each element below it.
const MOST: usize = 16 << 20;

/// Whether `text` is XML.
pub(super) fn is_xml(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let is_begun = start.starts_with("<?xml")
        || start.starts_with("<!--")
        || start.strip_prefix('<').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    is_begun && read(text).is_some()
}

/// An element that is open: the length of the path above it, where its content begins, and whether it has others.
struct Open {
    above: usize,
    content: usize,
    has_elements: bool,
}

/// The settings in `text`; `None` if it is not XML: each element is closed, and there is some.
pub(super) fn read(text: &str) -> Option<Parsed> {
    let (mut found, mut open, mut path, mut spent) = (Vec::new(), Vec::<Open>::new(), String::new(), 0);
    let (mut at, mut has_some) = (0, false);
    while let Some(start) = text.get(at..)?.find('<').map(|next| at + next) {
        let rest = &text[start..];
        if let Some(end) = skipped(rest)? {
            at = start + end;
            continue;
        }
        let end = start + tag_end(rest)?;
        let tag = &text[start + 1..end];
        at = end + 1;
        if let Some(name) = tag.strip_prefix('/') {
            let Open { above, content, has_elements } = open.pop()?;
            let is_it = path[above..].trim_start_matches('.') == name.trim();
            if !is_it {
                return None;
            }
            let span = trimmed(text, content..start);
            if !has_elements && !span.is_empty() && !text[span.clone()].contains("<![CDATA[") {
                let value = Value::of_word(&text[span.clone()]);
                found.push(FoundSetting::new(&path, value, EntryKind::Setting, span));
            }
            path.truncate(above);
            continue;
        }
        has_some = true;
        open.last_mut().into_iter().for_each(|parent| parent.has_elements = true);
        let is_empty = tag.ends_with('/');
        let name = tag.split(|c: char| c.is_whitespace() || c == '/').next().filter(|name| !name.is_empty())?;
        let above = path.len();
        path += if path.is_empty() { "" } else { "." };
        path += name;
        spent += path.len();
        if open.len() > DEEPEST || spent > MOST {
            return None;
        }
        if let Some((named, value)) = attribute(tag, "name").zip(attribute(tag, "value")) {
            let key = format!("{path}.{}", &tag[named]);
            let span = start + 1 + value.start..start + 1 + value.end;
            found.push(FoundSetting::new(&key, Value::of_word(&text[span.clone()]), EntryKind::Setting, span));
        }
        match is_empty {
            true => path.truncate(above),
            false => open.push(Open { above, content: at, has_elements: false }),
        }
    }
    (open.is_empty() && has_some).then_some(Parsed { body: Body::Ini, found, commands: Vec::new() })
}

/// The length of a comment, a declaration or an instruction at the start of `rest`; `None` if it does not end.
fn skipped(rest: &str) -> Option<Option<usize>> {
    const SKIPPED: [(&str, &str); 4] = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];
    let Some((_, end)) = SKIPPED.iter().find(|(start, _)| rest.starts_with(start)) else { return Some(None) };
    Some(Some(rest.find(end)? + end.len()))
}

/// Where the tag at the start of `rest` ends, outside of quotes.
fn tag_end(rest: &str) -> Option<usize> {
    let mut quote = None;
    rest.char_indices().find_map(|(at, letter)| {
        match (quote, letter) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
        None
    })
}

/// Where the value of the attribute `name` stands in a tag.
fn attribute(tag: &str, name: &str) -> Option<Range<usize>> {
    let mut places = tag.match_indices(name).map(|(at, _)| at);
    places.find_map(|at| {
        let rest = tag[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
        let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let is_word = tag[..at].ends_with(char::is_whitespace);
        let start = tag.len() - rest.len() + 1;
        let length = tag[start..].find(quote)?;
        is_word.then_some(start..start + length)
    })
}

impl Document {
    /// The edit that adds an element for `key` behind the last one beside it, in its layout.
    pub(super) fn xml_added(&self, key: &str, value: &Value) -> Option<Edit> {
        let (above, name) = key.rsplit_once('.')?;
        let is_beside = |key: &str| {
            key.strip_prefix(above).and_then(|rest| rest.strip_prefix('.')).is_some_and(|name| !name.contains('.'))
        };
        let last = self.entries.iter().rev().find(|entry| is_beside(&entry.key))?;
        let sibling = last.key.rsplit('.').next()?;
        let closing = format!("</{sibling}>");
        let rest = self.text.get(last.span.end..)?;
        let end = last.span.end + rest.find(&closing)? + closing.len();
        let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_.-+%".contains(c));
        let word = value.to_string();
        let is_alone = self.text.get(end..line_end(&self.text, end)).is_some_and(|rest| rest.trim().is_empty());
        let gap =
            if is_alone { format!("{}{}", newline(&self.text), indentation(&self.text, end)) } else { String::new() };
        (is_word(name) && is_word(&word)).then(|| Edit::insert(end, format!("{gap}<{name}>{word}</{name}>")))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Document, EntryKind, Format, Value};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    const USERS: &str = "<?xml version=\"1.0\"?>\n<!-- of all -->\n<server>\n  <profiles>\n    <default>\n      <max_memory>1000</max_memory>\n      <threads> 8 </threads>\n    </default>\n    <empty/>\n  </profiles>\n</server>\n";

    #[test]
    fn elements_are_settings() -> Outcome {
        let document = Document::read("users.xml", USERS)?;
        let show = |document: &Document| -> Vec<String> {
            document.entries().iter().map(|entry| format!("{}={}", entry.key, entry.value)).collect()
        };
        assert_eq!(document.format(), Format::Ini);
        assert_eq!(show(&document), ["server.profiles.default.max_memory=1000", "server.profiles.default.threads=8"]);
        let set = |key: &str, value: f64| document.set_as(EntryKind::Setting, None, key, &Value::Number(value));
        assert_eq!(set("server.profiles.default.max_memory", 2000.0)?, USERS.replace("1000", "2000"));
        let added = USERS.replace("</threads>\n", "</threads>\n      <spill>500</spill>\n");
        assert_eq!(set("server.profiles.default.spill", 500.0)?, added);
        let named = "<policymap>\n  <policy domain=\"resource\" name=\"memory\" value=\"256MiB\"/>\n</policymap>\n";
        assert_eq!(show(&Document::read("policy.xml", named)?), ["policymap.policy.memory=256MiB"]);
        Ok(())
    }

    #[test]
    fn what_is_not_closed_is_none() {
        for other in
            ["<a>", "<a></b>", "<a", "</a>", "<<<", "<step>\npython train.py\n", "<a b='>", "<!-- x", "x <a></a>"]
        {
            assert!(!super::is_xml(other), "{other}");
        }
        assert!(!super::is_xml(&"<a>".repeat(1 << 16)));
    }
}
