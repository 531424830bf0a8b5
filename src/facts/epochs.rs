//! How often a job had been through all of its samples, by the lines before its failure: `Epoch 12:  83%|…`, `epoch: [12/50]`, `'epoch': 3.2`.

use super::known::{Facts, Value};
use crate::model::Citation;

/// No program counts so far: a time or an id stands behind the word.
const MOST: f64 = 1e6;

/// Adds `progress.epochs_count`: how many epochs were over for certain, by the last line in `around` that numbers one.
pub(super) fn add(facts: &mut Facts, around: &[Citation]) {
    let numbered = |cite: &&Citation| epochs(&cite.text).is_some();
    if let Some(cite) = around.iter().rfind(numbered)
        && let Some(count) = epochs(&cite.text)
    {
        facts.cite("progress.epochs_count", Value::Number(count), vec![cite.clone()]);
    }
}

/// The epochs that are over by the last number of one in `line`. Whole numbers begin at 0 or 1, so that the first may be under way.
fn epochs(line: &str) -> Option<f64> {
    const WORD: &str = "epoch";
    let lower = line.to_ascii_lowercase();
    lower.rmatch_indices(WORD).find_map(|(at, _)| {
        let (before, behind) = (lower.get(..at)?, lower.get(at + WORD.len()..)?);
        let counts_all = ["max", "num", "total", "n", "per", "each", "every", "of", "warmup", "last", "until"];
        let word_before = before.trim_end_matches([' ', '_', '-', '\'', '"']);
        let word_before = word_before.rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        if before.ends_with(|c: char| c.is_ascii_alphabetic()) || counts_all.contains(&word_before) {
            return None;
        }
        let number = behind.trim_start_matches([' ', '\t', ':', '=', '[', '(', '#', '\'', '"']);
        if number.len() == behind.len() || behind.len() - number.len() > 8 {
            return None;
        }
        let length = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let (number, rest) = number.split_at(length);
        let number = number.trim_end_matches('.');
        let count: f64 = number.parse().ok().filter(|count| *count < MOST)?;
        // `epoch 3.5s`, `epoch 12min`: how long one takes.
        if rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        Some(if number.contains('.') { count.floor() } else { (count - 1.0).max(0.0) })
    })
}

#[cfg(test)]
mod tests {
    use super::epochs;

    #[test]
    fn the_number_of_an_epoch_is_read_in_whatever_form_it_is_printed() {
        for (line, count) in [
            ("Epoch 41:  83%|████████▎ | 2107/2538 [04:31<00:55,  7.75it/s, loss=0.0391]", 40.0),
            ("Epoch: [12][3400/3541]\tLoss 3.60 (4.01)", 11.0),
            ("[2026-11-20 10:00:01] epoch: [7/300], iter: 20", 6.0),
            ("{'loss': 1.2, 'learning_rate': 1e-05, 'epoch': 3.21}", 3.0),
            ("Epoch 5/10", 4.0),
            ("epoch=9 step=120 loss=0.2", 8.0),
            ("Epoch 0", 0.0),
        ] {
            assert_eq!(epochs(line), Some(count), "{line}");
        }
    }

    #[test]
    fn settings_and_times_are_no_epochs() {
        for line in [
            "num_epochs: 40",
            "  Num Epochs = 40",
            "max_epoch=300",
            "epochs: 12",
            "seconds per epoch: 120",
            "epoch time",
            "each epoch 12 files",
            "epoch 31s",
            "Starting epoch",
            "epoch1.pth was loaded",
            "epoch: 1732060801000",
        ] {
            assert_eq!(epochs(line), None, "{line}");
        }
    }
}
