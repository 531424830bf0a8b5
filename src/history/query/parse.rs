//! From a query's text to its clauses.
//!
//! The grammar is our own. Tried instead, on the tests' queries and on lines as people paste them: the one that tantivy has
//! (`tantivy-query-grammar` 0.27, `parse_query_lenient`). Its syntax tree keeps no places, so that nothing could point at the column of
//! a word that is no phase, no field or no amount: `phase:optimiser_step` and `node_used:>viel` are fine to it. It tears amounts with a blank
//! (`node_used:[700 GiB TO *]` becomes 700 to `GiB` and the words `TO`, `*`), and drops words that stand twice. And signs of an error line are
//! operators: `AssertionError: [rank0]: x^2 ~3` becomes a range, a boost and four complaints, `/dev/shm/x: No` a field, `step()` the unparsed
//! end. What would have to escape all that before it must tell fields, quotes and amounts apart, which is all that is done here.

use std::str::FromStr;

use super::error::QueryError;
use super::{Clause, NAMES, Query, What};
use crate::facts::Value;
use crate::history::record::seconds;
use crate::history::stats::monday;
use crate::history::tokens::tokens;
use crate::history::{Age, State};
use crate::model::FigureName;

/// Fields that are neither names nor figures.
const OTHERS: [&str; 8] = ["kind", "phase", "after", "since", "before", "week", "resolved", "is"];

impl FromStr for Query {
    type Err = QueryError;

    fn from_str(query: &str) -> Result<Query, QueryError> {
        let mut reader = QueryReader { query, characters: query.chars().collect(), place: 0 };
        let mut clauses = Vec::new();
        while reader.skip_blanks() {
            clauses.extend(reader.clause()?);
        }
        Ok(Query { clauses })
    }
}

/// What is read, and how far.
struct QueryReader<'q> {
    query: &'q str,
    characters: Vec<char>,
    place: usize,
}

impl QueryReader<'_> {
    /// Whether anything follows the blanks.
    fn skip_blanks(&mut self) -> bool {
        while self.next_is(char::is_whitespace) {
            self.place += 1;
        }
        self.place < self.characters.len()
    }

    fn next_is(&self, is: impl Fn(char) -> bool) -> bool {
        self.characters.get(self.place).copied().is_some_and(is)
    }

    fn take(&mut self, sign: char) -> bool {
        let is_there = self.next_is(|character| character == sign);
        self.place += usize::from(is_there);
        is_there
    }

    fn take_while(&mut self, is: impl Fn(char) -> bool) -> String {
        let from = self.place;
        while self.next_is(&is) {
            self.place += 1;
        }
        self.characters[from..self.place].iter().collect()
    }

    fn error(&self, at: usize, problem: impl Into<String>, hint: Option<String>) -> QueryError {
        QueryError { query: self.query.to_owned(), column: at + 1, problem: problem.into(), hint }
    }

    /// A clause; none where it holds signs only.
    fn clause(&mut self) -> Result<Option<Clause>, QueryError> {
        let negated = self.take('-');
        let at = self.place;
        let what = if self.next_is(|character| character == '"') {
            words(&self.quoted()?).map(|what| (at, what))
        } else {
            let word = self.take_while(|character| !character.is_whitespace() && character != ':' && character != '"');
            let is_field = !word.is_empty() && self.next_is(|character| character == ':');
            if is_field && word.chars().all(|character| character.is_ascii_lowercase() || character == '_') {
                self.place += 1;
                let value = self.place;
                Some((value, self.field(&word, at)?))
            } else {
                // A colon elsewhere is a sign like any other: `RuntimeError::what`.
                let rest = self.take_while(|character| !character.is_whitespace() && character != '"');
                words(&format!("{word}{rest}")).map(|what| (at, what))
            }
        };
        Ok(what.map(|(at, what)| Clause { negated, at, what }))
    }

    fn quoted(&mut self) -> Result<String, QueryError> {
        let at = self.place;
        self.place += 1;
        let text = self.take_while(|character| character != '"');
        if !self.take('"') {
            return Err(self.error(at, "this quotation does not end", Some("close it with \"".to_owned())));
        }
        Ok(text)
    }

    fn value(&mut self) -> Result<(usize, String), QueryError> {
        let at = self.place;
        let value = if self.next_is(|character| character == '"') {
            self.quoted()?
        } else {
            self.take_while(|character| !character.is_whitespace())
        };
        match value.is_empty() {
            true => Err(self.error(at, "a value is missing", None)),
            false => Ok((at, value)),
        }
    }

    fn field(&mut self, name: &str, at: usize) -> Result<What, QueryError> {
        if let Ok(figure) = name.parse::<FigureName>() {
            return self.figure(figure);
        }
        if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == name) {
            let (_, value) = self.value()?;
            return Ok(What::Name(*name, value.trim_matches('*').to_lowercase()));
        }
        if !OTHERS.contains(&name) {
            let known = OTHERS.into_iter().chain(NAMES.iter().map(|(known, _)| *known));
            let known = known.chain(FigureName::ALL.iter().map(|figure| figure.as_str()));
            return Err(self.error(at, format!("there is no field `{name}`"), Some(nearest(name, known))));
        }
        let (at, value) = self.value()?;
        match name {
            "kind" => value.parse().map(What::Kind).map_err(|_| {
                let known = crate::model::Kind::ALL.iter().map(|kind| kind.as_str());
                self.error(at, format!("there is no kind `{value}`"), Some(nearest(&value, known)))
            }),
            "phase" => value.parse().map(What::Phase).map_err(|_| {
                let known = crate::model::Phase::ALL.iter().map(|phase| phase.as_str());
                self.error(at, format!("there is no phase `{value}`"), Some(nearest(&value, known)))
            }),
            "resolved" => match value.as_str() {
                "yes" | "true" => Ok(What::Resolved(true)),
                "no" | "false" => Ok(What::Resolved(false)),
                _ => {
                    let hint = "write resolved:yes or resolved:no".to_owned();
                    Err(self.error(at, format!("`{value}` is neither yes nor no"), Some(hint)))
                }
            },
            "is" => match [State::Open, State::Resolved, State::Reopened].into_iter().find(|one| one.as_str() == value)
            {
                Some(state) => Ok(What::Is(state)),
                None => {
                    let hint = "write is:open, is:resolved or is:reopened".to_owned();
                    Err(self.error(at, format!("there is no state `{value}`"), Some(hint)))
                }
            },
            name => match time(&value) {
                Some(time) if name == "week" => Ok(What::Week(monday(time))),
                Some(time) if name == "before" => Ok(What::Before(time)),
                Some(time) => Ok(What::After(time)),
                None => {
                    let hint =
                        "write 2026-10-01, 2026-10-01T12:00, 2026-10, or how long ago: 30d, 12w, 6m, 1y".to_owned();
                    Err(self.error(at, format!("`{value}` is no date"), Some(hint)))
                }
            },
        }
    }

    /// `>2GiB`, `>=2GiB`, `<2GiB`, `<=2GiB`, `[1GiB TO *]` or the number itself.
    fn figure(&mut self, name: FigureName) -> Result<What, QueryError> {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        if self.take('[') {
            low = self.bound(f64::NEG_INFINITY)?;
            self.skip_blanks();
            let at = self.place;
            let to = self.take_while(char::is_alphabetic);
            if to != "TO" {
                return Err(self.error(at, "`TO` is missing", Some("write [1GiB TO 2GiB]".to_owned())));
            }
            high = self.bound(f64::INFINITY)?;
            self.skip_blanks();
            if !self.take(']') {
                return Err(self.error(self.place, "`]` is missing", Some("write [1GiB TO 2GiB]".to_owned())));
            }
        } else if self.take('>') {
            let is_included = self.take('=');
            let bound = self.bound(low)?;
            low = if is_included { bound } else { bound.next_up() };
        } else if self.take('<') {
            let is_included = self.take('=');
            let bound = self.bound(high)?;
            high = if is_included { bound } else { bound.next_down() };
        } else {
            // What people write is rounded.
            let bound = self.bound(f64::NAN)?;
            (low, high) = if bound.is_nan() { (low, high) } else { (bound * 0.995, bound * 1.005) };
        }
        Ok(What::Figure(name, low, high))
    }

    /// An amount; `*` is `open`.
    fn bound(&mut self, open: f64) -> Result<f64, QueryError> {
        self.skip_blanks();
        let at = self.place;
        let mut word = self.take_while(|character| !character.is_whitespace() && character != ']');
        if word == "*" {
            return Ok(open);
        }
        // `2 GiB` is one amount.
        let before = self.place;
        self.skip_blanks();
        let unit = self.take_while(|character| character.is_ascii_alphabetic());
        match unit.to_lowercase().as_str() {
            "b" | "bytes" | "kib" | "mib" | "gib" | "tib" | "kb" | "mb" | "gb" | "tb" => word += &unit,
            _ => self.place = before,
        }
        match Value::read(&word) {
            Value::Number(number) if number.is_finite() => Ok(number),
            _ => {
                let hint = "write a number or an amount of memory: 0.95, 512MiB, 2.5GiB".to_owned();
                Err(self.error(at, format!("`{word}` is no amount"), Some(hint)))
            }
        }
    }
}

fn words(text: &str) -> Option<What> {
    let words = tokens(text);
    (!words.is_empty()).then_some(What::Words(words))
}

/// A date, or a part of one, as the beginning of an RFC 3339 time, or an age; in seconds since 1970.
fn time(words: &str) -> Option<i64> {
    if let Ok(age) = words.parse::<Age>() {
        return Some(age.ago());
    }
    let shape: String = words.chars().map(|sign| if sign.is_ascii_digit() { '0' } else { sign }).collect();
    let whole = ["0000", "0000-00", "0000-00-00", "0000-00-00T00:00", "0000-00-00T00:00:00", "0000-00-00T00:00:00Z"];
    let full = format!("{words}{}", "0000-01-01T00:00:00".get(words.len()..).unwrap_or_default());
    seconds(&full).filter(|_| whole.contains(&shape.as_str()))
}

/// What is spelled most like `word`, then all there is.
pub(super) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> String {
    let known: Vec<&str> = known.collect();
    let likeness = |known: &&&str| (strsim::jaro_winkler(word, known) * 1000.0) as u64;
    match known.iter().max_by_key(likeness) {
        Some(nearest) if likeness(&nearest) > 800 => format!("did you mean `{nearest}`?"),
        _ => format!("one of: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::query::Name;
    use crate::model::{Kind, Phase};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn all(query: &str) -> Result<Vec<What>, QueryError> {
        Ok(query.parse::<Query>()?.clauses.into_iter().map(|clause| clause.what).collect())
    }

    #[test]
    fn fields_figures_times_and_words() -> Outcome {
        let query = "phase:optimizer_step kind:gpu_oom model:\"Qwen2.5-72B\" requested:>=2GiB node_used:[700 GiB TO *] \
                     after:2026-10-01 \"pinned memory\" 显存不足 resolved:yes";
        let words = |words: &[&str]| What::Words(words.iter().map(|word| (*word).to_owned()).collect());
        let gib = f64::from(1 << 30);
        assert_eq!(
            all(query)?,
            [
                What::Phase(Phase::OptimizerStep),
                What::Kind(Kind::GpuOom),
                What::Name(Name::Model, "qwen2.5-72b".to_owned()),
                What::Figure(FigureName::Requested, 2.0 * gib, f64::INFINITY),
                What::Figure(FigureName::NodeUsed, 700.0 * gib, f64::INFINITY),
                What::After(1_790_812_800),
                words(&["pinned", "memory"]),
                words(&["显存", "存不", "不足"]),
                What::Resolved(true),
            ]
        );
        assert_eq!(all("")?, []);
        assert_eq!(all("RuntimeError: x")?.len(), 2);
        Ok(())
    }

    #[test]
    fn an_error_points_at_its_column() {
        for (query, column, said) in [
            ("phase:optimiser_step", 7, "optimizer_step"),
            ("显存 pahse:forward", 4, "phase"),
            ("oom requested:>2GB node_used:>viel", 31, "amount"),
            ("requested:[1GiB 2GiB]", 17, "[1GiB TO 2GiB]"),
            ("requested:[1GiB TO 2GiB", 24, "[1GiB TO 2GiB]"),
            ("after:yesterday", 7, "2026-10-01"),
            ("after:2026-13-01", 7, "2026-10-01"),
            ("kind:", 6, "field:value"),
            ("say \"when", 5, "close it"),
        ] {
            match query.parse::<Query>() {
                Ok(read) => assert_eq!(format!("{read:?}"), "an error", "{query}"),
                Err(error) => {
                    assert_eq!(error.column, column, "{error}");
                    assert!(error.advice().contains(said), "{query}: {}", error.advice());
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_query_is_read_or_refused_at_a_column_of_it(query in "[-a-z:\"\\[\\]<>=* 显0-9]{0,24}") {
            if let Err(error) = query.parse::<Query>() {
                proptest::prop_assert!((1..=query.chars().count() + 1).contains(&error.column), "{}", error);
            }
        }
    }
}
