//! Progress bars: their labels and how far they are. Mirrors tqdm `std.py:format_meter` (4.x), ultralytics `utils/tqdm.py` (8.3.200–8.4),
//! which prints `100% ━━━━ 165/165 2.4it/s 1:08`, rich and Lightning (`━━━━ 165/165`).

use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, space0};
use nom::combinator::map_opt;
use nom::sequence::{preceded, separated_pair, terminated};
use nom::{IResult, Parser};

/// One state of one bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::parse) struct Bar<'a> {
    /// Its label; may be empty.
    pub label: &'a str,
    /// How many are done.
    pub done: u64,
    /// How many there are in all.
    pub total: u64,
}

impl Bar<'_> {
    pub fn is_full(&self) -> bool {
        self.total > 0 && self.done >= self.total
    }
}

/// The last bar in `body`: `Compute log probs:  76%|███▌  | 244/320 [08:56<02:05,  1.65s/it]`. Other output may stand
/// before and after it.
pub(in crate::parse) fn bar(body: &str) -> Option<Bar<'_>> {
    let mut shares = memchr::memrchr_iter(b'%', body.as_bytes());
    let Some(at) = shares.find(|at| body[*at..].starts_with(BAR)) else { return heavy_bar(body) };
    let percent = body[..at].trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    // Skips an earlier bar in the same line.
    let label = percent.rsplit_once('|').map_or(percent, |(_, meter)| meter.rsplit(']').next().unwrap_or(meter));
    let label = label.trim().trim_end_matches(':').trim_end();
    let (_, (done, total)) = count(body[at + BAR.len()..].split_once('|')?.1).ok()?;
    Some(Bar { label, done, total })
}

/// `      1/10       3.7G      1.305        960: 100% ━━━━━━━━━━━━ 165/165 2.4it/s 1:08`, with or without the share.
fn heavy_bar(body: &str) -> Option<Bar<'_>> {
    let (before, behind) = body.rsplit_once(HEAVY)?;
    let before = before.trim_end_matches(['━', '╸', '╺', '─']).trim_end();
    let share = |label: &str| label.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let before = before.strip_suffix('%').map_or(before, |label| &label[..share(label)]).trim_end();
    let (_, (done, total)) = fraction(behind.trim_start_matches(['━', '╸', '╺', '─'])).ok()?;
    Some(Bar { label: before.trim_end_matches(':').trim(), done, total })
}

/// `244/320 [`, `1.2k/3M [`
fn count(text: &str) -> IResult<&str, (u64, u64)> {
    terminated(fraction, (space0, tag("["))).parse(text)
}

/// `244/320`
fn fraction(text: &str) -> IResult<&str, (u64, u64)> {
    let number = || map_opt(take_while1(|c: char| c.is_ascii_alphanumeric() || c == '.'), scaled);
    preceded(space0, separated_pair(number(), char('/'), number())).parse(text)
}

fn scaled(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some((digits.parse::<f64>().ok()? * factor) as u64)
}

/// The unlabelled bars of one process.
#[derive(Debug, Default)]
pub(in crate::parse) struct Bars {
    /// State of the outermost one: done and total.
    outer: Option<(u64, u64)>,
}

impl Bars {
    /// Whether an unlabelled `bar` is nested in another one, which is not full: it appeared while that one was under way.
    pub fn is_nested(&mut self, bar: &Bar<'_>) -> bool {
        match self.outer {
            _ if !bar.label.is_empty() => false,
            Some((done, total)) if total != bar.total && 0 < done && done < total => true,
            _ => {
                self.outer = Some((bar.done, bar.total));
                false
            }
        }
    }
}

/// What a word in a line of progress belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::parse) enum ProgressWord {
    /// A bar.
    Bar,
    /// A loss.
    Loss,
    /// The number of a step.
    Step,
    /// Another figure that each step of a training loop reports: so many letters that must be a word of their own.
    Metric(usize),
}

/// Words that occur in lines of progress.
pub(in crate::parse) const WORDS: &[(&str, ProgressWord)] = &[
    (BAR, ProgressWord::Bar),
    (HEAVY, ProgressWord::Bar),
    ("loss", ProgressWord::Loss),
    ("step", ProgressWord::Step),
    ("iter", ProgressWord::Step),
    ("Step", ProgressWord::Step),
    ("Iter", ProgressWord::Step),
    ("epoch", ProgressWord::Step),
    ("Epoch", ProgressWord::Step),
    ("reward", ProgressWord::Metric(6)),
    ("ppl", ProgressWord::Metric(3)),
    ("nll", ProgressWord::Metric(3)),
    ("elbo", ProgressWord::Metric(4)),
    ("psnr", ProgressWord::Metric(4)),
    ("grad_norm", ProgressWord::Metric(9)),
    ("gnorm", ProgressWord::Metric(5)),
];

/// Stands between a bar's percentage and the bar.
const BAR: &str = "%|";
/// Part of a bar drawn with heavy lines.
const HEAVY: &str = "━━";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bars_among_other_output() {
        let read = |body| bar(body).map(|bar| (bar.label.to_owned(), bar.done, bar.total));
        assert_eq!(
            read("Compute log probs:  76%|███▌   | 244/320 [08:56<02:05,  1.65s/it]"),
            Some(("Compute log probs".into(), 244, 320))
        );
        assert_eq!(
            read("  5%|▎  | 1/20 [00:00<00:02,  7.01it/s] 10%|▌  | 2/20 [00:00<00:02]"),
            Some((String::new(), 2, 20))
        );
        assert_eq!(
            read("Train epoch [1/1]: 100%|██████████| 8/8 [02:00<00:00, pg=0.3]"),
            Some(("Train epoch [1/1]".into(), 8, 8))
        );
        assert_eq!(read("Map: 50%|█ | 1.5k/3k [00:01<00:01]"), Some(("Map".into(), 1500, 3000)));
        assert_eq!(
            read("                 Class     Images: 100% ━━━━━━━━━━━━ 21/21 2.3it/s 9.1s"),
            Some(("Class     Images".into(), 21, 21))
        );
        assert_eq!(read("Epoch 0 ━━━━━━━╸━━━━ 12/1875 0:00:03"), Some(("Epoch 0".into(), 12, 1875)));
        assert_eq!(read("100%| nonsense"), None);
        assert_eq!(read("━━━━━━ Summary ━━━━━━"), None);
    }

    #[test]
    fn a_bar_within_a_bar_is_told() {
        let mut bars = Bars::default();
        let mut nested = |body| bar(body).is_some_and(|bar| bars.is_nested(&bar));
        assert!(!nested(" 25%|██ | 5/20 [00:00<00:01,  7.74it/s]"));
        assert!(nested("  0%|  | 0/100 [00:00<?, ?it/s]"));
        assert!(nested("  2%|  | 2/100 [00:00<00:07, 13.73it/s]"));
        assert!(!nested(" 30%|██ | 6/20 [00:00<00:01,  7.74it/s]"));
        assert!(!nested("100%|██ | 20/20 [00:00<00:00,  7.74it/s]"));
        assert!(!nested("  0%|  | 0/50 [00:00<?, ?it/s]"));
    }
}
