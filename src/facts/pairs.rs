//! `requested.pairs_of_count`: a number that a line near the failure prints, where the request is that of a matrix of each with each of so
//! many: 149.01 GiB for 200,000 rows in 32 bit.

use super::known::{Facts, Value};
use crate::model::Citation;

/// With fewer rows the matrix is small, and a number of that size stands in many lines.
const FEWEST: u64 = 4096;
/// The bytes that a distance may take.
const WIDTHS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// How far a printed amount with two decimals may be from the true one.
const ROUNDING: f64 = 0.001;

/// Adds the fact if a number in `around` is that of the rows.
pub(super) fn add(facts: &mut Facts, around: &[Citation]) {
    let Some(requested) = facts.number("figures.requested") else { return };
    let is_side = |number: &u64| {
        let cells = (*number as f64) * (*number as f64);
        *number >= FEWEST && WIDTHS.iter().any(|width| (cells * width / requested - 1.0).abs() < ROUNDING)
    };
    let found = around.iter().find_map(|cite| Some((numbers(&cite.text).find(is_side)?, cite)));
    if let Some((number, cite)) = found {
        facts.cite("requested.pairs_of_count", Value::Number(number as f64), vec![cite.clone()]);
    }
}

/// The whole numbers of a line, `200000`, `200_000` and `200,000` alike.
fn numbers(line: &str) -> impl Iterator<Item = u64> + '_ {
    let words = line.split(|c: char| !c.is_ascii_digit() && c != '_' && c != ',');
    words.map(|words| words.trim_matches(['_', ','])).flat_map(|words| {
        let parts = || words.split(['_', ',']);
        // `[100000,768]` are two numbers.
        let is_grouped =
            parts().skip(1).all(|part| part.len() == 3) && parts().next().is_some_and(|first| first.len() <= 3);
        let whole = is_grouped.then(|| words.replace(['_', ','], ""));
        whole.into_iter().chain(parts().map(str::to_owned)).filter_map(|words| words.parse().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Column, LineNumber, Location};

    fn rows(requested: f64, line: &str) -> Option<f64> {
        let location = Location { path: "job.log".into(), line: LineNumber(1), column: Column(1) };
        let mut facts = Facts::default();
        facts.say("figures.requested", Value::Number(requested));
        add(&mut facts, &[Citation::new(location, line.to_owned())]);
        facts.number("requested.pairs_of_count")
    }

    #[test]
    fn a_matrix_of_each_with_each_is_told_by_its_rows() {
        let gib = f64::from(1 << 30);
        assert_eq!(rows(37.25 * gib, "features: torch.Size([100000, 768])"), Some(100_000.0));
        assert_eq!(rows(18.63 * gib, "kept 100,000 of 120,000 texts"), Some(100_000.0));
        assert_eq!(rows(74.51 * gib, "(100000, 768)"), Some(100_000.0));
        assert_eq!(rows(74.51 * gib, "[100000,768]"), Some(100_000.0));
        assert_eq!(rows(40.0 * gib, "(100000, 768)"), None);
        assert_eq!(rows(f64::from(2 << 20), "step 1024"), None);
    }
}
