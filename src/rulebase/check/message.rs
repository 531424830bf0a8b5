use crate::knowledge::MessageFile;
use crate::parse::{Grammars, stated};
use crate::rulebase::sources::RuleSource;

use super::{Finding, Notes, files_in};
use crate::rulebase::key_lines::KeyLines;

/// What a near miss must not state: that memory ran out, or that a process ended. It may well state another failure.
const PROOFS: [&str; 5] = ["kind", "swallowed", "retried", "pressure", "exit"];

/// Reads the examples of messages among `sources` and reports those with other results than they state. Returns the
/// numbers of messages and of examples.
pub(super) fn check(sources: &[&RuleSource], grammars: &Grammars, findings: &mut Vec<Finding>) -> (usize, usize) {
    let (mut messages, mut tried) = (0, 0);
    for (source, file) in files_in::<MessageFile>("messages", sources) {
        messages += file.message.len();
        tried += file.example.len() + file.near_miss.len();
        let lines = KeyLines::of(&source.file.content);
        let mut notes = Notes { findings, source, lines: &lines };
        if file.example.is_empty() {
            let advice = "add an [[example]] with what it states".to_owned();
            notes.expected(&["producer"], "no example shows what is read".to_owned(), advice);
        }
        for (index, example) in file.example.iter().enumerate() {
            let came = stated(example.text.as_bytes(), grammars);
            for (name, words) in &example.states {
                if !came.iter().any(|(known, said)| known == name && said == words) {
                    let problem = format!("example “{}” does not state {name} `{words}`", example.version);
                    let advice = format!("what came out: {}", shown(&came));
                    notes.error(&["example", &index.to_string()], problem, advice);
                }
            }
        }
        for (index, miss) in file.near_miss.iter().enumerate() {
            let came = stated(miss.text.as_bytes(), grammars);
            let proofs: Vec<_> = came.into_iter().filter(|(name, _)| PROOFS.contains(&name.as_str())).collect();
            if !proofs.is_empty() {
                let problem = format!("the near miss `{}` states something", miss.text);
                let advice = format!("what came out: {}", shown(&proofs));
                notes.error(&["near_miss", &index.to_string()], problem, advice);
            }
        }
    }
    (messages, tried)
}

/// `stated` for people.
pub(super) fn shown(stated: &[(String, String)]) -> String {
    let pairs: Vec<String> = stated.iter().map(|(name, words)| format!("{name} `{words}`")).collect();
    if pairs.is_empty() { "nothing".to_owned() } else { pairs.join(", ") }
}
