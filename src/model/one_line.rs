/// Returns `words` without the characters that a terminal acts on: line ends, control characters, changes of writing direction. A file name
/// may contain any of them, and could otherwise imitate a line of oomdoc's output.
pub fn one_line(words: &str) -> String {
    words.chars().filter(|c| (!c.is_control() || *c == '\t') && !is_separator(*c)).collect()
}

/// Whether `c` changes the writing direction or ends a line or paragraph.
fn is_separator(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_that_reads_as_it_is_written() {
        assert_eq!(one_line("a\n::error::b\u{202e}gol.c\u{1b}[2J\u{2028}d"), "a::error::bgol.c[2Jd");
        assert_eq!(one_line("显存 job.log\t2"), "显存 job.log\t2");
    }
}
