//! Writes the page of scores on corpus/: `cargo run --example accuracy_doc > docs/corpus-scores.md`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::{self, Write};
use std::path::Path;
use std::sync::Arc;

use oomdoc::internal::fit::{self, Case, LabelError};
use oomdoc::internal::knowledge::Knowledge;
use oomdoc::model::Report;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", render()?);
    Ok(())
}

/// The page, in Markdown.
pub fn render() -> Result<String, Box<dyn Error>> {
    let knowledge = Arc::new(Knowledge::shipped()?);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let cases = match fit::read_cases(&corpus, None) {
        Err(LabelError::NoCases { .. } | LabelError::Unreadable { .. }) if !corpus.join("README.md").exists() => {
            Vec::new()
        }
        cases => cases?,
    };
    let mut scores = Scores::default();
    for case in &cases {
        scores.add(case, &fit::analyze(case, &knowledge)?);
    }
    Ok(scores.page(cases.len())?)
}

/// By label: the number of cases with this label, and how many of them were diagnosed so.
type Tally = BTreeMap<String, (usize, usize)>;

#[derive(Default)]
struct Scores {
    kinds: Tally,
    phases: Tally,
    causes: Tally,
    wrong: Vec<String>,
}

impl Scores {
    fn add(&mut self, case: &Case, report: &Report) {
        let root = report.incidents.first();
        let phase = root.map(|root| root.phase.name);
        let cause = root.and_then(|root| root.diagnoses.first()).map(|first| first.cause.to_string());
        self.wrong.extend(score(&mut self.kinds, "kind", &case.name, &case.kinds, Some(report.verdict)));
        self.wrong.extend(score(&mut self.phases, "phase", &case.name, &case.phases, phase));
        self.wrong.extend(score(&mut self.causes, "cause", &case.name, &case.causes, cause));
    }

    fn page(&self, cases: usize) -> Result<String, fmt::Error> {
        let mut page = format!("{HEAD}{cases} cases.\n");
        let tallies = [("kind", &self.kinds), ("phase", &self.phases), ("first cause", &self.causes)];
        for (title, tally) in tallies.into_iter().filter(|(_, tally)| !tally.is_empty()) {
            let (count, right) = tally.values().fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
            writeln!(page, "\n| {title} | cases | right |\n|---|---|---|")?;
            for (label, (count, right)) in tally {
                writeln!(page, "| `{label}` | {count} | {right} |")?;
            }
            writeln!(page, "| all | {count} | {right} |")?;
        }
        if !self.wrong.is_empty() {
            writeln!(page, "\nNot right:\n")?;
            self.wrong.iter().try_for_each(|wrong| writeln!(page, "- {wrong}"))?;
        }
        Ok(page)
    }
}

/// Counts a case under its label, and describes what is wrong with its diagnosis. A case without labels of this sort
/// does not count.
fn score<T: PartialEq + ToString>(
    tally: &mut Tally,
    what: &str,
    case: &str,
    labels: &[T],
    came_out: Option<T>,
) -> Option<String> {
    let row = tally.entry(labels.first()?.to_string()).or_default();
    row.0 += 1;
    match came_out {
        Some(said) if labels.contains(&said) => {
            row.1 += 1;
            None
        }
        said => {
            let said = said.map_or("nothing".to_owned(), |said| said.to_string());
            Some(format!("{case}: {what} `{said}`, not `{}`", labels[0].to_string()))
        }
    }
}

const HEAD: &str = "\
# Scores on corpus/

<!-- Written by `cargo run --example accuracy_doc > docs/corpus-scores.md`; do not edit. -->

What comes out of the cases in corpus/, by what their labels say. A case counts as right where one of the answers that its
label accepts comes out; a cause where it is the first diagnosis of the root incident. The rules were written with these cases at hand:
this page shows what oomdoc handles and what it does not, [accuracy.md](accuracy.md) how much that says of logs nobody here has seen.

";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_is_right_and_names_what_is_not() {
        let mut tally = Tally::new();
        assert_eq!(score(&mut tally, "kind", "a", &["x", "y"], Some("y")), None);
        assert_eq!(score(&mut tally, "kind", "b", &["x"], Some("z")), Some("b: kind `z`, not `x`".to_owned()));
        assert_eq!(score(&mut tally, "kind", "c", &[], Some("z")), None);
        assert_eq!(tally, Tally::from([("x".to_owned(), (2, 1))]));
    }
}
