//! Verifies that an event comes from its forge.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::secret::Secret;

/// The HMAC-SHA256 of `message`; the key may have any length.
pub(super) fn sign(key: &[u8], message: &[u8]) -> Option<Vec<u8>> {
    Some(mac(key)?.chain_update(message).finalize().into_bytes().to_vec())
}

fn mac(key: &[u8]) -> Option<Hmac<Sha256>> {
    Hmac::<Sha256>::new_from_slice(key).ok()
}

/// Whether `header` (`sha256=…`) is the signature of `body` by one of `secrets`, in a time that reveals nothing about
/// them.
pub fn is_signed(secrets: &[Secret], header: &str, body: &[u8]) -> bool {
    let Some(signature) = header.strip_prefix("sha256=").and_then(hex) else { return false };
    let is_by = |secret: &Secret| {
        mac(secret.expose().as_bytes()).is_some_and(|mac| mac.chain_update(body).verify_slice(&signature).is_ok())
    };
    secrets.iter().fold(false, |found, secret| is_by(secret) | found)
}

/// Whether `token` is one of `secrets`. Digests are compared, so that the time reveals nothing about them.
pub fn is_known(secrets: &[Secret], token: &str) -> bool {
    const KEY: &[u8] = b"oomdoc";
    let digest = sign(KEY, token.as_bytes()).unwrap_or_default();
    let is_it =
        |secret: &Secret| mac(KEY).is_some_and(|mac| mac.chain_update(secret.expose()).verify_slice(&digest).is_ok());
    secrets.iter().fold(false, |found, secret| is_it(secret) | found)
}

fn hex(words: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = words.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?));
    if rest.is_empty() { bytes.collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_knows_a_secret_can_sign() {
        // The example in GitHub's documentation.
        let secrets = [Secret::new("another"), Secret::new("It's a Secret to Everybody")];
        let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert!(is_signed(&secrets, right, b"Hello, World!"));
        assert!(!is_signed(&secrets, right, b"Hello, World?"));
        assert!(!is_signed(&secrets[..1], right, b"Hello, World!"));
        for wrong in ["", "sha256=", "sha1=00", &right[..70], &right.replace("sha256=", ""), &right.replace('7', "é")]
        {
            assert!(!is_signed(&secrets, wrong, b"Hello, World!"), "{wrong}");
        }
        assert!(!is_signed(&[], right, b"Hello, World!"));
    }

    #[test]
    fn a_token_is_compared_whole() {
        let secrets = [Secret::new("old"), Secret::new("new")];
        assert!(is_known(&secrets, "new") && is_known(&secrets, "old"));
        assert!(!is_known(&secrets, "ne") && !is_known(&secrets, "newer") && !is_known(&secrets, ""));
        assert!(!is_known(&[], ""));
    }
}
