//! Reads what the failing program itself advises: `You need to decrease --max-batch-prefill-tokens`.
//!
//! A program knows which of its options it ran into, which no rule about causes can know. PyTorch's hints do not count, because it prints
//! the same ones whatever happened.

use crate::knowledge::{AdviceWords, Direction, Knob, Turn, plain_name};

/// Verb and option are this close together, in bytes.
const NEAR: usize = 72;
/// The framework whose hints come with every message.
const ALWAYS_HINTING: &str = "torch";

/// The lines that advise something.
#[derive(Debug)]
pub struct Advice<'w> {
    /// In lower case, with options' names in plain form.
    lines: Vec<String>,
    words: &'w AdviceWords,
}

impl<'w> Advice<'w> {
    /// What `lines` advise in `words`.
    pub fn of<'l>(lines: impl Iterator<Item = &'l str>, words: &'w AdviceWords) -> Advice<'w> {
        let said = lines.map(|line| plain_name(&line.to_lowercase()));
        let is_idle = |line: &String| words.idle.iter().any(|phrase| line.contains(&**phrase));
        let is_advice = |line: &String| words.all().any(|word| line.contains(word)) && !is_idle(line);
        Advice { lines: said.filter(is_advice).collect(), words }
    }

    /// Whether a line advises to turn `knob` as `turn` does.
    pub(super) fn names(&self, knob: &Knob, turn: &Turn) -> bool {
        if self.lines.is_empty() || *knob.framework == *ALWAYS_HINTING {
            return false;
        }
        let mut ways = self.lines.iter().flat_map(|line| knob.names().filter_map(|name| self.way(line, name)));
        let own = turn.direction.or(turn.to.direction());
        ways.any(|way| own.is_none_or(|own| own == way))
    }

    /// The direction in which `line` advises to turn the option `name`, at its first mention that a verb stands by.
    fn way(&self, line: &str, name: &str) -> Option<Direction> {
        let name = plain_name(&name.to_lowercase());
        // A plain word is no name.
        let name = Some(name.as_str()).filter(|name| name.contains('_'))?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        // The dashes before an option are underscores in plain form.
        let mentions = line.match_indices(name).filter(|(at, name)| {
            !line[..*at].trim_end_matches("__").ends_with(is_part) && !line[at + name.len()..].starts_with(is_part)
        });
        mentions.into_iter().find_map(|(at, _)| {
            let before = &line[line.floor_char_boundary(at.saturating_sub(NEAR))..at];
            let behind = &line[at + name.len()..];
            let behind = &behind[..behind.floor_char_boundary(NEAR)];
            // The verb nearest before the name counts; `to a smaller value` may stand behind it.
            let nearest = |words: &[Box<str>]| words.iter().filter_map(|word| verbs(before, word).last()).max();
            let is_behind = |words: &[Box<str>]| words.iter().any(|word| verbs(behind, word).next().is_some());
            match (nearest(&self.words.lower), nearest(&self.words.raise)) {
                (None, None) if is_behind(&self.words.lower) => Some(Direction::Lower),
                (None, None) if is_behind(&self.words.raise) => Some(Direction::Raise),
                (None, None) => None,
                (lower, raise) if lower > raise => Some(Direction::Lower),
                _ => Some(Direction::Raise),
            }
        })
    }
}

/// Where words begin with `stem` in `text`: verbs, not names (`reduce_bucket_size`) and not comparisons (`smaller than`).
fn verbs<'t>(text: &'t str, stem: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(stem).map(|(at, _)| at).filter(move |at| {
        let rest = text[at + stem.len()..].trim_start_matches(|c: char| c.is_ascii_alphabetic());
        !text[..*at].ends_with(is_part) && !rest.starts_with(is_part) && !rest.trim_start().starts_with("than ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;

    #[test]
    fn the_option_that_the_program_names_is_known_with_its_direction() -> Result<(), Box<dyn std::error::Error>> {
        let knowledge = Knowledge::shipped()?;
        let way = |line: &str, name: &str| {
            let advice = Advice::of([line].into_iter(), &knowledge.advice);
            advice.lines.first().and_then(|said| advice.way(said, name))
        };
        let tgi = "Not enough memory to handle 32000 prefill tokens. You need to decrease `--max-batch-prefill-tokens`";
        assert_eq!(way(tgi, "--max-batch-prefill-tokens"), Some(Direction::Lower));
        assert_eq!(way(tgi, "--max-batch-total-tokens"), None);
        let vllm =
            "Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.";
        assert_eq!(way(vllm, "--gpu-memory-utilization"), Some(Direction::Raise));
        assert_eq!(way(vllm, "--max-model-len"), Some(Direction::Lower));
        let sglang = "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)";
        assert_eq!(way(sglang, "--mem-fraction-static"), Some(Direction::Lower));
        let told = [
            "[INFO:swift] Setting max_pixels: 602112. You can adjust this hyperparameter through the environment variable: `MAX_PIXELS`.",
        ];
        assert!(Advice::of(told.into_iter(), &knowledge.advice).lines.is_empty());
        assert_eq!(way("max_model_len=131072, max_num_seqs=256", "--max-model-len"), None);
        assert_eq!(way("max_model_len (8192) is smaller than the model's", "--max-model-len"), None);
        assert_eq!(way("reduce_bucket_size=5e8, allgather_bucket_size=5e8", "allgather_bucket_size"), None);
        Ok(())
    }
}
