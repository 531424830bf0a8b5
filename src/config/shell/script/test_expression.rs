//! Evaluates `[ … ]` and the patterns of `case`, by which scripts choose their defaults.

use super::super::expand::{Holds, TestOperand};
use super::super::words::{Content, Quote, Word};
use super::ScriptReader;

impl ScriptReader<'_> {
    /// Whether the test `words` holds.
    pub(super) fn test(&mut self, words: &[Word]) -> Holds {
        let words = match words {
            [first, inner @ .., last] if matches!(first.bare(), Some("[" | "[[")) => {
                if !matches!(last.bare(), Some("]" | "]]")) {
                    return Holds::Unknown;
                }
                inner
            }
            [first, inner @ ..] if first.bare() == Some("test") => inner,
            _ => return Holds::Unknown,
        };
        match words {
            [not, words @ ..] if not.bare() == Some("!") && !words.is_empty() => self.primary(words).not(),
            words => self.primary(words),
        }
    }

    /// Begins a branch of the innermost `case`, behind the patterns that were read. If the subject of the `case` is
    /// unknown, nothing is decided.
    pub(super) fn branch(&mut self) {
        let patterns = std::mem::take(&mut self.patterns);
        let Some(Some(asked)) = self.cases.last().filter(|_| !patterns.is_empty()) else { return };
        let fits = |pattern: &Word| matches(pattern, asked);
        let fits: Vec<Option<bool>> = patterns.iter().map(fits).collect();
        self.scope.turn(false);
        self.scope.decide(match () {
            _ if fits.contains(&Some(true)) => Holds::Surely(true),
            _ if fits.contains(&None) => Holds::Unknown,
            _ => Holds::Surely(false),
        });
    }

    fn primary(&mut self, words: &[Word]) -> Holds {
        match words {
            [word] => self.is_empty(word).not(),
            [option, word] => match option.bare() {
                Some("-z") => self.is_empty(word),
                Some("-n") => self.is_empty(word).not(),
                _ => Holds::Unknown,
            },
            [left, operator, right] => self.compare(left, operator.bare().unwrap_or_default(), right),
            _ => Holds::Unknown,
        }
    }

    fn compare(&mut self, left: &Word, operator: &str, right: &Word) -> Holds {
        // Comparisons with a wildcard pattern are not evaluated.
        let is_pattern = right.parts.iter().any(|part| {
            part.quote == Quote::Bare
                && matches!(&part.content, Content::Literal(text) if text.contains(['*', '?', '[']))
        });
        let (left, right) = (self.tested(left), self.tested(right));
        let is_sure = matches!((&left, &right), (TestOperand::Text(_), TestOperand::Text(_)));
        let (left, right) = match (left, right) {
            (TestOperand::Text(left), TestOperand::Text(right)) => (left, right),
            (TestOperand::Argument, TestOperand::Text(other)) | (TestOperand::Text(other), TestOperand::Argument) => {
                (String::new(), other)
            }
            // A comparison with the empty string asks whether the variable is set.
            (TestOperand::Unset, TestOperand::Text(other)) | (TestOperand::Text(other), TestOperand::Unset)
                if other.is_empty() =>
            {
                (String::new(), other)
            }
            _ => return Holds::Unknown,
        };
        let numbers = |compare: fn(i64, i64) -> bool| Some(compare(left.parse().ok()?, right.parse().ok()?));
        let holds = match operator {
            "=" | "==" if !is_pattern => Some(left == right),
            "!=" if !is_pattern => Some(left != right),
            "-eq" => numbers(|left, right| left == right),
            "-ne" => numbers(|left, right| left != right),
            "-lt" => numbers(|left, right| left < right),
            "-le" => numbers(|left, right| left <= right),
            "-gt" => numbers(|left, right| left > right),
            "-ge" => numbers(|left, right| left >= right),
            _ => None,
        };
        match holds {
            Some(holds) if is_sure => Holds::Surely(holds),
            Some(holds) => Holds::Usually(holds),
            None => Holds::Unknown,
        }
    }

    fn is_empty(&mut self, word: &Word) -> Holds {
        match self.tested(word) {
            TestOperand::Text(text) => Holds::Surely(text.is_empty()),
            TestOperand::Argument | TestOperand::Unset => Holds::Usually(true),
            TestOperand::Unknown => Holds::Unknown,
        }
    }

    fn tested(&mut self, word: &Word) -> TestOperand {
        self.scope.tested(word, &self.source)
    }
}

/// Whether `text` matches a pattern. Of the patterns with wildcards, only a lone `*` is evaluated.
fn matches(pattern: &Word, text: &str) -> Option<bool> {
    let mut literal = String::new();
    for part in &pattern.parts {
        match &part.content {
            Content::Literal(words) if part.quote != Quote::Bare || !words.contains(['*', '?', '[']) => {
                literal += words;
            }
            Content::Literal(words) if words == "*" && pattern.parts.len() == 1 => return Some(true),
            _ => return None,
        }
    }
    Some(literal == text)
}
