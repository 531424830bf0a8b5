//! Lines that a training loop prints at each step without a word for it: the same words again and again, around other numbers.

use std::hash::{DefaultHasher, Hasher as _};

/// The last lines that may have been of a loop.
#[derive(Debug, Default)]
pub(super) struct LoopLines {
    /// Their words, and how often each occurred.
    shapes: [(u64, u32); 4],
    next: usize,
}

/// So often must the words be the same.
const OFTEN: u32 = 3;

impl LoopLines {
    /// Whether `body`, which has a figure that loops report, has the words of others before it. What an evaluation or a rollout prints
    /// does not count: `may_begin` says whether no such phase is under way.
    pub fn is_of_loop(&mut self, body: &str, may_begin: bool) -> bool {
        let is_number = |byte: u8| byte.is_ascii_digit() || b" .,-+%".contains(&byte);
        let (mut hasher, mut numbers, mut within) = (DefaultHasher::new(), 0, false);
        for byte in body.bytes() {
            numbers += u32::from(byte.is_ascii_digit() && !within);
            within = byte.is_ascii_digit();
            if !is_number(byte) {
                hasher.write_u8(byte);
            }
        }
        let shape = hasher.finish();
        let before = self.shapes.iter().any(|(known, times)| *known == shape && *times >= OFTEN);
        if !may_begin {
            return before && numbers > 1;
        }
        let known = self.shapes.iter().position(|(known, _)| *known == shape).unwrap_or_else(|| {
            self.next = (self.next + 1) % self.shapes.len();
            self.shapes[self.next] = (shape, 0);
            self.next
        });
        let (_, times) = &mut self.shapes[known];
        *times += 1;
        *times >= OFTEN && numbers > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_line_of_the_same_words_is_of_a_loop() {
        let mut lines = LoopLines::default();
        let told =
            ["it 10 | loss 1.20", "it 20 | loss 1.1", "it 30 | loss 1.05", "loss: see the docs", "it 40 | loss 1.0"];
        assert_eq!(told.map(|line| lines.is_of_loop(line, true)), [false, false, true, false, true]);
        let mut lines = LoopLines::default();
        assert!(!["loss = x"; 4].map(|line| lines.is_of_loop(line, true)).contains(&true));
    }

    #[test]
    fn what_an_evaluation_prints_is_of_no_training_loop() {
        let mut lines = LoopLines::default();
        let told = ["doc 1: nll 3.1", "doc 2: nll 3.0", "doc 3: nll 2.9", "doc 4: nll 3.2"];
        assert!(!told.map(|line| lines.is_of_loop(line, false)).contains(&true));
        assert_eq!(
            ["t 1 nll 3.1", "t 2 nll 3.0", "t 3 nll 2.9"].map(|line| lines.is_of_loop(line, true)),
            [false, false, true]
        );
        assert!(lines.is_of_loop("t 4 nll 2.8", false));
    }
}
