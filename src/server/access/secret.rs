//! Secrets: random hexadecimal words, their digests, and a comparison in constant time.

use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;

/// `bytes` random bytes that cannot be guessed, as twice as many hexadecimal digits. Fails where the system has no
/// randomness.
pub fn random(bytes: usize) -> std::io::Result<String> {
    let mut drawn = vec![0; bytes];
    getrandom::fill(&mut drawn).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(hexadecimal(&drawn))
}

/// The digest under which `secret` is stored and looked up.
pub fn digest(secret: &str) -> String {
    hexadecimal(&Sha256::digest(secret))
}

/// Whether `a` and `b` are equal, in a time that does not depend on where they differ.
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differing) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_words_differ_and_are_compared_whole() -> std::io::Result<()> {
        let (a, b) = (random(16)?, random(16)?);
        assert_eq!(a.len(), 32);
        assert!(a != b && is_same(a.as_bytes(), a.as_bytes()) && !is_same(a.as_bytes(), b.as_bytes()));
        assert!(!is_same(b"abc", b"ab") && !is_same(b"", b"a") && is_same(b"", b""));
        Ok(())
    }
}
