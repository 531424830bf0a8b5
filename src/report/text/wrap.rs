//! Wraps lines to the width of a terminal.

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::knowledge::Language;

/// The extra indentation of continuation lines.
const HANGING: usize = 2;
/// The least width that is assumed for a terminal.
const NARROWEST: usize = 40;

/// Wraps `line`, which begins in column `indent`, to `width` columns. A longer word stays whole, so that it can be
/// copied.
pub(super) fn wrapped(line: &str, width: Option<usize>, indent: usize, language: Language) -> String {
    let Some(width) = width else { return line.to_owned() };
    let deeper = " ".repeat(indent + HANGING);
    // The caller has already written the indent of the first line.
    let before = " ".repeat(indent);
    let separator = match language {
        Language::En => WordSeparator::AsciiSpace,
        Language::Zh => WordSeparator::Custom(words),
    };
    let options = Options::new(width.max(NARROWEST))
        .initial_indent(&before)
        .subsequent_indent(&deeper)
        .word_separator(separator)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false);
    textwrap::fill(line, options).split_off(indent)
}

/// Splits at blanks and between Chinese characters, keeping closing punctuation with the character before it.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let mut starts = vec![0];
    let mut before: Option<char> = None;
    let mut is_escape = false;
    for (at, c) in line.char_indices() {
        let is_wide = |c: char| c.width() == Some(2);
        let closes = "，。、；：？！）》」』”’…".contains(c);
        if let Some(last) = before
            && !is_escape
            && !closes
            && (last == ' ' && c != ' '
                || is_wide(c) && last != ' ' && !"（《「『“‘".contains(last)
                || is_wide(last) && c != ' ')
        {
            starts.push(at);
        }
        // An escape sequence is not a word.
        is_escape = c == '\u{1b}' || is_escape && c != 'm';
        before = Some(c);
    }
    let ends = starts.clone().into_iter().skip(1).chain([line.len()]);
    Box::new(starts.into_iter().zip(ends).map(|(from, to)| Word::from(&line[from..to])).collect::<Vec<_>>().into_iter())
}

/// Pads `words` to `width` columns; a Chinese character takes two.
pub(super) fn padded(words: &str, width: usize) -> String {
    format!("{words}{}", " ".repeat(width.saturating_sub(words.width())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_and_hangs() {
        let line = "It failed in the optimizer's step, \u{1b}[1mwhich asked for\u{1b}[0m 29.92 GiB of memory at once.";
        let text = wrapped(line, Some(40), 9, Language::En);
        let widths: Vec<usize> = text.lines().map(textwrap::core::display_width).collect();
        assert!(widths.iter().all(|width| *width <= 40) && widths[0] <= 31, "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("           ")), "{text}");
        assert_eq!(wrapped(line, None, 9, Language::En), line);
    }

    #[test]
    fn chinese_breaks_between_characters_but_not_before_a_stop() {
        let line =
            "优化器状态放不下，需要把它们卸载到主机内存。同时也可以换用 --adam_offload 选项，或者增加显卡的数量。";
        let text = wrapped(line, Some(40), 0, Language::Zh);
        assert!(text.lines().all(|line| line.width() <= 40 && !line.trim_start().starts_with(['，', '。'])), "{text}");
        assert_eq!(text.replace("\n  ", "").replace(' ', ""), line.replace(' ', ""));
    }

    #[test]
    fn a_long_word_stays_whole() {
        let path = "/a/very/long/path/that/nobody/could/copy/if/it/were/broken.log:12";
        assert!(wrapped(&format!("see {path}"), Some(40), 0, Language::En).contains(path));
    }
}
