//! Keys as they are named. `object_store` takes `/a/` for `a`, and refuses a whole page of a listing for one `a//b`: what it is given
//! and gives back is made so that it has nothing to change.

use object_store::path::{Path, PathPart};

use super::{StoreError, percent};

/// What names the object `key` to `object_store`. A key that begins with `/`, has a segment `.` or `..`, or control characters it cannot ask
/// for: that is an error.
pub fn path(key: &str) -> Result<Path, StoreError> {
    let part = |path: Path, segment| PathPart::parse(segment).map(|part| path.join(part));
    match key.is_empty() || key.starts_with('/') {
        true => Err(StoreError::Key),
        false => key.split('/').try_fold(Path::ROOT, part).map_err(|_| StoreError::Key),
    }
}

/// A page of a listing whose keys are one plain segment each.
pub fn veiled(page: &str) -> String {
    const KEY: [&str; 2] = ["<Key>", "</Key>"];
    let mut parts = page.split(KEY[0]);
    let mut veiled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        veiled += KEY[0];
        match part.split_once(KEY[1]) {
            Some((key, rest)) => veiled.extend([&percent::encoded(key), KEY[1], rest]),
            None => veiled += part,
        }
    }
    veiled
}

/// The key of an object on such a page.
pub fn unveiled(location: &Path) -> String {
    unescaped(&String::from_utf8_lossy(&percent::decoded(location.as_ref())))
}

/// The characters that XML's `text` stands for.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(';').and_then(|(name, rest)| Some((entity(name)?, rest))) {
            Some((character, rest)) => {
                plain.push(character);
                plain += rest;
            }
            None => plain.extend(["&", part]),
        }
    }
    plain
}

fn entity(name: &str) -> Option<char> {
    let number = |code: &str| match code.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => code.parse().ok(),
    };
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => char::from_u32(number(name.strip_prefix('#')?)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_asked_for_as_they_are_named() {
        for key in ["a", "a//b", "run/", "a///", "日志/a b%2F.log", "..a/b.."] {
            assert_eq!(path(key).map(|path| path.to_string()), Ok(key.to_owned()));
        }
        for key in ["", "/", "/a", "a/./b", "a/..", "a\nb"] {
            assert_eq!(path(key), Err(StoreError::Key), "{key:?}");
        }
    }

    #[test]
    fn a_page_s_keys_come_back_as_they_are() -> Result<(), Box<dyn std::error::Error>> {
        let key = "/run//1/../ a&amp;b&#x2f;&#9;&lt;c&gt;&unknown;%41/";
        let page = veiled(&format!("<A><Key>{key}</Key><Size>1</Size></A><Key>"));
        let veil = page.strip_prefix("<A><Key>").and_then(|rest| rest.strip_suffix("</Key><Size>1</Size></A><Key>"));
        let location = Path::parse(veil.ok_or("another page")?)?;
        assert_eq!(unveiled(&location), "/run//1/../ a&b/\t<c>&unknown;%41/");
        Ok(())
    }
}
