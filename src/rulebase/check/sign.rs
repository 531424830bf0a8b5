use crate::knowledge::{SignExample, SignExamples};
use crate::model::{FigureName, Kind};
use crate::parse::{Grammars, believed, heard};
use crate::rulebase::sources::RuleSource;

use super::message::shown;
use super::{Finding, Notes, files_in};
use crate::rulebase::key_lines::KeyLines;

/// How a line is read that says that somebody was killed, and no more.
const KILLED: &str = "signal 9";

/// Reads the examples of signs among `sources` and reports those with other results than they state. Returns the number of examples.
pub(super) fn check(sources: &[&RuleSource], grammars: &Grammars, findings: &mut Vec<Finding>) -> usize {
    let mut tried = 0;
    for (source, file) in files_in::<SignExamples>("signs", sources) {
        tried += file.example.len() + file.near_miss.len();
        let lines = KeyLines::of(&source.file.content);
        let mut notes = Notes { findings, source, lines: &lines };
        if file.near_miss.is_empty() {
            let advice = "add a [[near_miss]]: a line that looks alike and says no such thing".to_owned();
            notes.expected(&["source"], "no near miss shows what is not meant".to_owned(), advice);
        }
        for (index, example) in file.example.iter().enumerate() {
            let came = heard(format!("{}\n{}", example.context, example.text).as_bytes(), grammars);
            if let Some(missing) = missing(example, &came) {
                let problem = format!("the example `{}` does not state {missing}", example.text);
                notes.error(&["example", &index.to_string()], problem, format!("what came out: {}", shown(&came)));
            }
        }
        for (index, miss) in file.near_miss.iter().enumerate() {
            let came = believed(miss.text.as_bytes(), grammars);
            if came.iter().any(|said| proof(said).is_some()) {
                let problem = format!("the near miss `{}` says that memory ran out", miss.text);
                notes.error(&["near_miss", &index.to_string()], problem, format!("what came out: {}", shown(&came)));
            }
        }
    }
    tried
}

/// The kind of failure that a pair of a name and its words states.
fn proof((name, words): &(String, String)) -> Option<String> {
    match name.as_str() {
        "kind" | "swallowed" | "retried" | "pressure" => Some(words.clone()),
        "exit" if words == KILLED => Some(Kind::SigkillUnattributed.to_string()),
        _ => None,
    }
}

/// What of `example` is not among what `came` out; its kind must be the only one.
fn missing(example: &SignExample, came: &[(String, String)]) -> Option<String> {
    let kinds: Vec<String> = came.iter().filter_map(proof).collect();
    if kinds != [example.kind.to_string()] {
        return Some(format!("kind `{}`", example.kind));
    }
    let states = |(name, words): &(&FigureName, &String)| {
        came.iter().find(|(known, _)| known == name.as_str()).is_some_and(|(_, said)| said == *words)
    };
    let missing = example.figures.iter().find(|figure| !states(figure));
    missing.map(|(name, words)| format!("{name} `{words}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::knowledge::{Knowledge, Origin, RuleFile};

    fn problems(content: &str) -> Result<Vec<(Option<usize>, String)>, Error> {
        let file = RuleFile { path: "signs/other.toml".to_owned(), content: content.to_owned() };
        let source = RuleSource { origin: Origin::Shipped, shown: file.path.clone(), file };
        let mut findings = Vec::new();
        check(&[&source], &crate::grammars(&Knowledge::shipped()?)?, &mut findings);
        Ok(findings.into_iter().map(|finding| (finding.line, finding.problem)).collect())
    }

    #[test]
    fn a_near_miss_that_says_something_is_named_with_its_line() -> Result<(), Error> {
        let said =
            "source = \"words\"\n\n[[near_miss]]\ntext = \"FATAL: task 4 was killed by the kernel OOM killer\"\n";
        let found = problems(said)?;
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0 == Some(3) && found[0].1.starts_with("the near miss `FATAL: task 4"), "{found:?}");
        assert!(problems(&said.replace("was killed by the kernel OOM killer", "ended"))?.is_empty());
        Ok(())
    }

    #[test]
    fn an_example_states_its_kind_and_its_figures() -> Result<(), Error> {
        let example = |figure: &str| {
            format!(
                "[[example]]\ntext = \"store::OutOfMemoryError: out of memory to allocate 7340032 bytes on device buffer\"\nkind = \"gpu_oom\"\n{figure}\n[[near_miss]]\ntext = \"done\"\n"
            )
        };
        assert_eq!(problems(&example("requested = \"7340032 bytes\""))?, []);
        let found = problems(&example("requested = \"8 GiB\""))?;
        assert!(found.len() == 1 && found[0].1.ends_with("does not state requested `8 GiB`"), "{found:?}");
        Ok(())
    }
}
