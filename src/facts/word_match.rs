//! Splits names and sentences into words.

/// Longer runs of letters are encoded data, not words.
const LONGEST: usize = 24;

/// The words of `text`, in lower case: `loadStateDict`, `load_state_dict` and `load state dict` are three each. Single letters and numbers
/// are left out. A run of characters beyond ASCII is split into pairs, because Chinese has no blanks.
pub fn tokens(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphabetic()).flat_map(words)
}

fn words(run: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous = ' ';
    let mut characters = run.chars().peekable();
    let mut close = |word: &mut String| {
        if (2..=LONGEST).contains(&word.len()) {
            words.push(std::mem::take(word));
        }
        word.clear();
    };
    while let Some(c) = characters.next() {
        if !c.is_ascii() {
            close(&mut word);
            if let Some(next) = characters.peek().filter(|next| !next.is_ascii()) {
                word.extend([c, *next]);
                close(&mut word);
            }
            previous = c;
            continue;
        }
        // `CUDAGraph` is `CUDA` and `Graph`.
        let next_is_small = characters.peek().is_some_and(char::is_ascii_lowercase);
        let begins =
            c.is_ascii_uppercase() && (previous.is_ascii_lowercase() || previous.is_ascii_uppercase() && next_is_small);
        if begins {
            close(&mut word);
        }
        word.push(c.to_ascii_lowercase());
        previous = c;
    }
    close(&mut word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        tokens(text).collect()
    }

    #[test]
    fn splits_names_however_they_are_joined() {
        for name in [
            "load_state_dict",
            "loadStateDict",
            "LoadStateDict",
            "load.state-dict",
            "LOAD_STATE_DICT",
            "load state dict",
        ] {
            assert_eq!(of(name), ["load", "state", "dict"], "{name}");
        }
        assert_eq!(of("CUDAGraph.replay"), ["cuda", "graph", "replay"]);
        assert_eq!(of("fc1.x_2 = F.relu(x)"), ["fc", "relu"]);
        assert_eq!(of("显存不足"), ["显存", "存不", "不足"]);
        assert_eq!(of(&"a".repeat(40)), [""; 0]);
    }
}
