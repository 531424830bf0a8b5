//! Writes what a line of a knob says of loading a model as the given script loads it.

use crate::config::Format;
use crate::knowledge::{CodeWords, Knob};
use crate::launch::JobConfig;

/// The call in the lines of knobs that stands for any that loads a model.
const ANY: &str = "AutoModelForCausalLM.from_pretrained(";
/// How a call that loads anything goes on behind its class.
const LOADS: &str = ".from_pretrained(";
/// Names under which older and newer versions take the same argument, or one within another.
const SAME: [(&str, &str); 3] =
    [("torch_dtype", "dtype"), ("quantization_config", "load_in_8bit"), ("quantization_config", "load_in_4bit")];
/// The longest call that is written out again.
const LONGEST: usize = 200;

/// Whether `knob` is set in the call that loads a model.
pub(super) fn is_meant(knob: &Knob) -> bool {
    knob.line.as_deref().is_some_and(|line| line.starts_with(ANY))
}

/// `line` with the class and the arguments by which the job's code loads its model, if it loads one in one place.
pub(super) fn as_loaded(launch: &JobConfig<'_>, line: &str) -> Option<String> {
    let added = line.strip_prefix(ANY)?.strip_suffix(')')?;
    let added = arguments(added).into_iter().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let codes = launch.documents().iter().filter(|document| document.format() == Format::Python);
    let mut calls = codes.flat_map(|document| calls(document.text()));
    let (class, given) = calls.next().filter(|_| calls.next().is_none())?;
    let replaces =
        |added: &str, own: &str| added == own || SAME.contains(&(added, own)) || SAME.contains(&(own, added));
    let is_new = |own: &&str| {
        let added = || added.iter().filter_map(|added| keyword(added));
        keyword(own).is_none_or(|own| !added().any(|added| replaces(added, own)))
    };
    let own =
        arguments(given).into_iter().filter(is_new).map(|own| own.split_whitespace().collect::<Vec<_>>().join(" "));
    let all = own.chain(added.iter().cloned()).collect::<Vec<_>>().join(", ");
    (all.len() <= LONGEST).then(|| format!("{class}{LOADS}{all})"))
}

/// The calls in `code` that load models: the class, and what stands between the brackets.
fn calls(code: &str) -> impl Iterator<Item = (&str, &str)> {
    code.match_indices(LOADS).filter_map(move |(at, _)| {
        let before = code.get(..at)?;
        let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
        let start = before.trim_end_matches(is_name).len();
        let (class, call) = (code.get(start..at)?, code.get(start..at + LOADS.len() - 1)?);
        let rest = code.get(at + LOADS.len()..)?;
        let is_class = class.rsplit('.').next().is_some_and(|name| name.starts_with(char::is_uppercase));
        let is_model = is_class && !CodeWords::shipped().has_no_weights(call);
        let is_comment = before.rsplit('\n').next().is_some_and(|line| line.contains('#'));
        let given = rest.get(..closing(rest)?)?;
        // A comment in it cannot stand on one line with what follows.
        (is_model && !is_comment && !given.contains('#')).then_some((class, given))
    })
}

/// Where the bracket closes in which `text` begins.
fn closing(text: &str) -> Option<usize> {
    Depths::of(text).find(|(_, depth, letter)| *depth == 0 && matches!(letter, ')' | ']' | '}')).map(|(at, _, _)| at)
}

/// The arguments of a call, of which commas in brackets and quotes are parts.
fn arguments(text: &str) -> Vec<&str> {
    let commas = Depths::of(text).filter(|(_, depth, letter)| *depth == 0 && *letter == ',').map(|(at, _, _)| at);
    let mut from = 0;
    let mut parts: Vec<&str> = Vec::new();
    for at in commas.chain([text.len()]) {
        parts.push(text.get(from..at).unwrap_or_default().trim());
        from = at + 1;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The name of an argument that has one: `device_map="auto"`.
fn keyword(argument: &str) -> Option<&str> {
    let (name, _) = argument.split_once('=')?;
    let name = name.trim();
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some(name)
}

/// The letters of a text outside quotes, each with its place and how many brackets are open around it.
struct Depths<'t> {
    letters: std::str::CharIndices<'t>,
    depth: usize,
}

impl<'t> Depths<'t> {
    fn of(text: &'t str) -> Depths<'t> {
        Depths { letters: text.char_indices(), depth: 0 }
    }
}

impl Iterator for Depths<'_> {
    type Item = (usize, usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        let (at, letter) = self.letters.next()?;
        match letter {
            '"' | '\'' => while self.letters.next().is_some_and(|(_, next)| next != letter) {},
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' if self.depth > 0 => {
                self.depth -= 1;
                return Some((at, self.depth + 1, letter));
            }
            _ => {}
        }
        Some((at, self.depth, letter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_taken_apart_at_its_own_commas() {
        let code = "tok = AutoTokenizer.from_pretrained(name)\nmodel = AutoModel.from_pretrained(\n    \"a, b\", f(1, 2), device_map={\"\": 0}, torch_dtype=t.half,\n).cuda()\n";
        let found: Vec<_> = calls(code).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "AutoModel");
        assert_eq!(arguments(found[0].1), ["\"a, b\"", "f(1, 2)", "device_map={\"\": 0}", "torch_dtype=t.half"]);
        assert_eq!(keyword("device_map={\"\": 0}"), Some("device_map"));
    }
}
