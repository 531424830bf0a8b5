//! `%41` for `A`, as addresses have it.

/// `text` with everything but letters and digits of ASCII encoded.
pub fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// The bytes that `text` stands for; a `%` without two digits behind it is itself.
pub fn decoded(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => bytes.extend(std::iter::once(byte).chain(part.bytes().skip(2))),
            None => bytes.extend(std::iter::once(b'%').chain(part.bytes())),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded() {
        for text in ["", "a b/c%2F", "日志//./x&amp;", "%", "%zz%4"] {
            assert_eq!(decoded(&encoded(text)), text.as_bytes());
        }
        for (text, bytes) in [("p%40ss%", "p@ss%"), ("%+1%é%e6%97%a5", "%+1%é日"), ("a+b", "a+b")] {
            assert_eq!(decoded(text), bytes.as_bytes());
        }
    }
}
