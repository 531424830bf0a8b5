//! Finds incomplete numbers where a line was cut.

/// How many bytes at the end of the cut `line` may be part of an incomplete number: `Killed process 64`, `1.5 Gi`. A number with a whole
/// unit is complete: `2.00 GiB`.
pub(super) fn at_end(line: &[u8]) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"._,+-".contains(byte);
    let word = line.iter().rev().take_while(|byte| is_part(byte)).count();
    let (before, word) = line.split_at(line.len() - word);
    let is_unit = |unit: &[u8]| unit.ends_with(b"B") || unit.ends_with(b"bytes");
    let letters = word.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (digits, unit) = word.split_at(word.len() - letters);
    if digits.iter().any(u8::is_ascii_digit) {
        return if is_unit(unit) { 0 } else { word.len() };
    }
    // `1.5 Gi`: the beginning of a unit and the number before it.
    let is_begun = matches!(unit, [b'k' | b'K' | b'M' | b'G' | b'T' | b'P'] | [_, b'i']);
    let number = before.trim_ascii_end();
    let digits = number.iter().rev().take_while(|byte| byte.is_ascii_digit() || b".,".contains(byte)).count();
    if is_begun && digits > 0 { line.len() - (number.len() - digits) } else { 0 }
}

/// How many bytes at the start of `line`, whose beginning was cut off, may be the rest of a number.
pub(super) fn at_start(line: &[u8]) -> usize {
    line.iter().take_while(|byte| byte.is_ascii_digit() || b".,".contains(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Killed process 6411` was read as process 6 when the log was cut within the number.
    #[test]
    fn a_number_that_is_cut_off_is_none() {
        let left = |line: &str| line[..line.len() - at_end(line.as_bytes())].to_owned();
        for (line, kept) in [
            ("Killed process 6", "Killed process "),
            ("total-vm:1234", "total-vm:"),
            ("rss 1,04", "rss "),
            ("limit 1.", "limit "),
            ("allocate 2.50 G", "allocate "),
            ("allocate 2.50 Gi", "allocate "),
            ("allocate 2.50 GiB", "allocate 2.50 GiB"),
            ("allocate 2.50GiB", "allocate 2.50GiB"),
            ("allocate 7 bytes", "allocate 7 bytes"),
            ("memory 97%", "memory 97%"),
            ("out of memory", "out of memory"),
            ("Killed", "Killed"),
        ] {
            assert_eq!(left(line), kept, "{line}");
        }
        assert_eq!(at_start(b"411 (python3)"), 3);
        assert_eq!(at_start(b"python3"), 0);
    }
}
