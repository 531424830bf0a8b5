use crate::Error;
use crate::knowledge::{Knowledge, MessageFile};
use crate::parse::{GRAMMARS, Grammars, stated};
use crate::rulebase::sources::RuleSource;

use super::{Finding, Severity};

/// What a near miss must not state: that memory ran out, or that a process ended. Another failure it may well be.
const PROOFS: [&str; 5] = ["kind", "swallowed", "retried", "pressure", "exit"];

/// Reads the examples of messages among `sources`, and notes what does not come out as they say; how many there were.
pub(super) fn check(
    sources: &[RuleSource],
    knowledge: &Knowledge,
    findings: &mut Vec<Finding>,
) -> Result<usize, Error> {
    let messages = sources.iter().filter(|source| source.file.path.starts_with("messages/"));
    // What cannot be read at all was noted before.
    let files: Vec<_> = messages
        .filter_map(|source| Some((source, toml::from_str::<MessageFile>(&source.file.content).ok()?)))
        .collect();
    if files.is_empty() {
        return Ok(0);
    }
    let grammars = Grammars::new(GRAMMARS, knowledge).map_err(|error| Error::Search(error.to_string()))?;
    let mut tried = 0;
    for (source, file) in &files {
        let mut error = |problem: String, advice: String| {
            let file = source.shown.clone();
            findings.push(Finding { severity: Severity::Error, file, line: None, problem, advice });
        };
        for example in &file.example {
            tried += 1;
            let came = stated(example.text.as_bytes(), &grammars);
            for (name, words) in &example.states {
                if !came.iter().any(|(known, said)| known == name && said == words) {
                    let problem = format!("example “{}” does not state {name} `{words}`", example.version);
                    error(problem, format!("what came out: {}", shown(&came)));
                }
            }
        }
        for miss in &file.near_miss {
            tried += 1;
            let came = stated(miss.text.as_bytes(), &grammars);
            let proofs: Vec<_> = came.into_iter().filter(|(name, _)| PROOFS.contains(&name.as_str())).collect();
            if !proofs.is_empty() {
                let problem = format!("the near miss `{}` states something", miss.text);
                error(problem, format!("what came out: {}", shown(&proofs)));
            }
        }
    }
    Ok(tried)
}

fn shown(stated: &[(String, String)]) -> String {
    let pairs: Vec<String> = stated.iter().map(|(name, words)| format!("{name} `{words}`")).collect();
    if pairs.is_empty() { "nothing".to_owned() } else { pairs.join(", ") }
}
