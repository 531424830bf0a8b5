//! Reads ollama's Modelfile: the parameters that it gives to a model, `PARAMETER num_ctx 8192` (docs/modelfile.md of ollama).

use super::edit::{Edit, newline};
use super::entry::FoundSetting;
use super::{Body, EntryKind, Parsed, Value};

const PARAMETER: &str = "PARAMETER";

/// Whether `text` is one: a base model, then instructions that no Dockerfile has.
pub(super) fn is_modelfile(text: &str) -> bool {
    let mut words = lines(text).map(|(_, line)| line.split_whitespace().next().unwrap_or_default());
    let is_own = |word: &str| {
        [PARAMETER, "TEMPLATE", "SYSTEM", "ADAPTER", "MESSAGE"].iter().any(|own| word.eq_ignore_ascii_case(own))
    };
    let is_docker = |word: &str| ["RUN", "CMD", "ENTRYPOINT", "COPY", "WORKDIR", "ENV"].contains(&word);
    let mut rest = words.clone().skip(1);
    words.next().is_some_and(|first| first.eq_ignore_ascii_case("FROM")) && rest.any(is_own) && !words.any(is_docker)
}

pub(super) fn read(text: &str) -> Parsed {
    let mut parsed = Parsed { body: Body::Ini, found: Vec::new(), commands: Vec::new() };
    for (start, line) in lines(text) {
        let mut words = line.split_whitespace();
        if !words.next().is_some_and(|word| word.eq_ignore_ascii_case(PARAMETER)) {
            continue;
        }
        let Some((name, value)) = words.next().zip(words.next()) else { continue };
        if let Some(at) = line.rfind(value) {
            let span = start + at..start + at + value.len();
            parsed.found.push(FoundSetting::new(name, Value::of_word(value), EntryKind::Setting, span));
        }
    }
    parsed
}

/// The edit that adds a parameter at the end.
pub(super) fn added(text: &str, key: &str, value: &Value) -> Option<Edit> {
    let word = value.to_string();
    let is_plain = !word.is_empty() && !word.contains(|letter: char| letter.is_whitespace() || "\"'".contains(letter));
    let end = if text.ends_with('\n') { "" } else { newline(text) };
    is_plain.then(|| Edit::insert(text.len(), format!("{end}{PARAMETER} {key} {word}{}", newline(text))))
}

/// The lines outside of texts in three quotes, without blank ones and comments, each with its start.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> + Clone {
    let mut is_quoted = false;
    let starts = text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    starts.filter(move |(_, line)| {
        let was_quoted = is_quoted;
        is_quoted ^= line.matches("\"\"\"").count() % 2 == 1;
        let words = line.trim();
        !was_quoted && !words.is_empty() && !words.starts_with('#')
    })
}

#[cfg(test)]
mod tests {
    use crate::config::{Document, EntryKind, Value};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn parameters_are_read_and_changed() -> Outcome {
        let text = "FROM qwen2.5:32b\nSYSTEM \"\"\"\nPARAMETER num_ctx 1\n\"\"\"\nPARAMETER num_ctx 8192\n";
        let document = Document::read("Modelfile", text)?;
        assert_eq!(document.entries().len(), 1);
        let set = |key, value: f64| document.set_as(EntryKind::Setting, None, key, &Value::Number(value));
        assert_eq!(set("num_ctx", 4096.0)?, text.replace("8192", "4096"));
        assert_eq!(set("num_gpu", 60.0)?, format!("{text}PARAMETER num_gpu 60\n"));
        Ok(())
    }

    #[test]
    fn a_dockerfile_is_none() {
        assert!(!super::is_modelfile("FROM a\nRUN make\nCMD serve\n"));
    }
}
