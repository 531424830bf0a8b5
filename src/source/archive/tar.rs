//! tar, read as a stream: POSIX.1-1988 (ustar), POSIX.1-2001 (pax) and GNU, as far as names and sizes go.

use std::io::{self, Read};

use super::{Members, Visit, hand_over};
use crate::source::Input;

/// Headers and contents are aligned to blocks of this many bytes.
const BLOCK: usize = 512;
/// The place of `ustar` in a header, for POSIX and GNU.
const MAGIC: std::ops::Range<usize> = 257..262;
/// Most bytes of a name.
const LONGEST_NAME: u64 = 64 << 10;

pub(super) fn is_tar(head: &[u8]) -> bool {
    head.get(MAGIC) == Some(b"ustar")
}

pub(super) fn members(mut input: Input<'_>, depth: usize, visit: &mut Visit<'_>) -> io::Result<bool> {
    let (path, bound) = (input.path.clone(), input.bound.clone());
    let mut members = Members::default();
    let mut long_name = None;
    while let Some(header) = Header::read(&mut input)? {
        let mut content = (&mut input).take(header.size);
        match header.kind {
            Kind::File => {
                let name = long_name.take().unwrap_or(header.name);
                if !members.add(hand_over(&path, &name, &mut content, &bound, depth, visit)?)? {
                    return Ok(false);
                }
            }
            Kind::GnuName => long_name = Some(text(&read_name(&mut content)?)),
            Kind::Pax => long_name = pax_path(&read_name(&mut content)?).or(long_name),
            Kind::Other => {
                long_name = None;
            }
        }
        // Skips the unread rest and the padding up to the next block.
        let left = content.limit() + (BLOCK as u64 - header.size % BLOCK as u64) % BLOCK as u64;
        io::copy(&mut (&mut input).take(left), &mut io::sink())?;
    }
    Ok(members.finish(&path, visit))
}

/// The header before a member's content.
struct Header {
    name: String,
    size: u64,
    kind: Kind,
}

enum Kind {
    File,
    /// The name of the next member, if it is long.
    GnuName,
    /// Attributes of the next member, its name among them.
    Pax,
    /// A folder, a link, a device.
    Other,
}

impl Header {
    /// The next header; `None` at the end, which is a block of zeros or the end of the input.
    fn read(input: &mut impl Read) -> io::Result<Option<Header>> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            match input.read(&mut block[filled..])? {
                0 if filled == 0 => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if !is_tar(&block) {
            return Err(io::Error::other("a member's header is damaged"));
        }
        let (name, prefix) = (text(&block[..100]), text(&block[345..500]));
        // GNU keeps binary data in place of the prefix.
        let has_prefix = !prefix.is_empty() && &block[MAGIC.end..MAGIC.end + 1] == b"\0";
        let name = if has_prefix { format!("{prefix}/{name}") } else { name };
        let size = number(&block[124..136]).ok_or_else(|| io::Error::other("a member's size is damaged"))?;
        let kind = match block[156] {
            b'0' | 0 | b'7' => Kind::File,
            b'L' => Kind::GnuName,
            b'x' => Kind::Pax,
            _ => Kind::Other,
        };
        Ok(Some(Header { name, size, kind }))
    }
}

/// Octal digits, or with the first bit set a binary number.
fn number(field: &[u8]) -> Option<u64> {
    if field.first()? & 0x80 != 0 {
        return field.last_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes));
    }
    u64::from_str_radix(text(field).trim(), 8).ok()
}

/// Up to the first zero.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn read_name(content: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut name = Vec::new();
    content.take(LONGEST_NAME).read_to_end(&mut name)?;
    Ok(name)
}

/// The value of `path` among `25 path=logs/worker.out` and the like.
fn pax_path(attributes: &[u8]) -> Option<String> {
    let lines = String::from_utf8_lossy(attributes);
    lines.lines().find_map(|line| line.split_once(" path=")).map(|(_, path)| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fixtures were written by `tar --format=gnu` and `tar --format=pax`, with a name of 130 letters.
    #[test]
    fn reads_long_names_of_both_dialects() -> Result<(), Box<dyn std::error::Error>> {
        let long = "n".repeat(130);
        for archive in [&include_bytes!("fixtures/gnu.tar")[..], include_bytes!("fixtures/pax.tar")] {
            let mut seen = Vec::new();
            Input::new("logs.tar", archive)?.expand(&mut |mut input| {
                let mut content = String::new();
                let _ = input.read_to_string(&mut content);
                seen.push((input.path.to_string(), content));
                true
            });
            let expected = [(format!("logs.tar!{long}"), "first\n"), ("logs.tar!short".to_owned(), "second\n")];
            assert_eq!(seen, expected.map(|(path, content)| (path, content.to_owned())));
        }
        Ok(())
    }

    #[test]
    fn sizes_are_octal_or_binary() {
        assert_eq!(number(b"00000000012\0"), Some(10));
        assert_eq!(number(b"        12 \0"), Some(10));
        assert_eq!(number(&[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]), Some(2 << 32));
        assert_eq!(number(b"twelve bytes"), None);
    }
}
