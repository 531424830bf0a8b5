/// Fills in the placeholders of `text`: `⟨36⟩` becomes that many letters and digits; `⟨hex 32⟩`, `⟨lower 8⟩`, `⟨upper 16⟩` (both with
/// digits) and `⟨digits 10⟩` choose the alphabet. So no example looks like a secret in any file, which secret scanners would report.
pub fn example(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, note)) = rest.split_once('⟨') {
        let Some((note, after)) = note.split_once('⟩') else { break };
        out.push_str(before);
        let (alphabet, length) = note.split_once(' ').unwrap_or(("", note));
        let seed = text.bytes().chain(out.bytes()).fold(7, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte));
        out.extend(noise(alphabet, seed).take(length.parse().unwrap_or_default()));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Pseudo-random characters of an alphabet.
fn noise(alphabet: &str, mut seed: u64) -> impl Iterator<Item = char> {
    const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
    const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const DIGITS: &[u8] = b"0123456789";
    // The kinds of characters alternate, so that even a short run has each of them.
    let turns: [&[u8]; 4] = match alphabet {
        "hex" => [b"abcdef", DIGITS, b"abcdef", DIGITS],
        "lower" => [LOWER, DIGITS, LOWER, LOWER],
        "upper" => [UPPER, DIGITS, UPPER, UPPER],
        "digits" => [DIGITS; 4],
        _ => [LOWER, UPPER, DIGITS, UPPER],
    };
    (0..).map(move |place: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let letters = turns[place % turns.len()];
        letters[(seed >> 33) as usize % letters.len()] as char
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_become_noise_that_is_always_the_same() {
        let text = example("a ⟨8⟩ b ⟨hex 4⟩ c ⟨digits 3⟩ ⟨");
        assert_eq!(text, example("a ⟨8⟩ b ⟨hex 4⟩ c ⟨digits 3⟩ ⟨"));
        let words: Vec<&str> = text.split(' ').collect();
        assert_eq!(words.iter().map(|word| word.chars().count()).collect::<Vec<_>>(), [1, 8, 1, 4, 1, 3, 1]);
        assert!(words[3].bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
        assert_ne!(example("⟨8⟩"), example("⟨8⟩ "));
    }
}
