//! Words of mixed text: runs of letters, digits and underscores in lower case (`max_split_size_mb` is one word);
//! Chinese, Japanese and Korean text as pairs of neighbouring characters, so that no dictionary is needed.

/// The words of `text`, in order.
pub fn tokens(text: &str) -> Vec<String> {
    let mut words = Vec::with_capacity(text.len() / 6);
    let mut word = String::new();
    let mut ideographs: Vec<char> = Vec::new();
    // The newline at the end closes the last word.
    for character in text.chars().chain(['\n']) {
        let is_wide = is_ideograph(character);
        if !is_wide {
            pairs(&mut ideographs, &mut words);
        }
        match character.is_alphanumeric() && !is_wide || character == '_' {
            // The common case in a log.
            true if character.is_ascii() => word.push(character.to_ascii_lowercase()),
            true => word.extend(character.to_lowercase()),
            false if !word.is_empty() => words.push(std::mem::take(&mut word)),
            false => {}
        }
        if is_wide {
            ideographs.push(character);
        }
    }
    words
}

/// Whether a word may be mistyped: short words and numbers are taken literally.
pub fn may_be_mistyped(word: &str) -> bool {
    word.chars().count() >= 5 && word.chars().all(|character| character.is_alphabetic() || character == '_')
}

/// The number of slips forgiven in `word`: one in up to 8 letters, two in more.
pub fn slips(word: &str) -> u8 {
    if word.chars().count() > 8 { 2 } else { 1 }
}

/// Whether `word` equals `meant` but for slips after the first letter.
pub fn is_like(word: &str, meant: &str) -> bool {
    word.chars().next() == meant.chars().next() && strsim::osa_distance(word, meant) <= usize::from(slips(meant))
}

fn pairs(ideographs: &mut Vec<char>, words: &mut Vec<String>) {
    match ideographs.as_slice() {
        [] => {}
        [one] => words.push(one.to_string()),
        several => words.extend(several.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
    ideographs.clear();
}

/// Whether words of this character's script are written without spaces between them.
pub fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_text_becomes_words_and_pairs() {
        assert_eq!(
            tokens("GPU显存不足: max_split_size_mb=128"),
            ["gpu", "显存", "存不", "不足", "max_split_size_mb", "128"]
        );
        assert_eq!(tokens("第 1 步"), ["第", "1", "步"]);
        assert_eq!(tokens(" \t"), [""; 0]);
    }

    #[test]
    fn slips_are_forgiven_in_long_words() {
        assert!(is_like("optimzer", "optimizer") && is_like("pinend", "pinned") && may_be_mistyped("pinned"));
        assert!(
            !is_like("step", "stop_it")
                && !is_like("linned", "pinned")
                && !may_be_mistyped("rank")
                && !may_be_mistyped("qwen72")
        );
    }
}
