//! Logs that were compressed or packed.
//!
//! An [`Input`] comes in; the inputs that it contains go out one after the other, each read while it is unpacked, and nothing is written to
//! disk. The format is told by the first bytes, never by the name. A member of an archive is called `archive!member`; a stream that is only
//! compressed keeps its name. The amount of unpacked bytes is bounded. Without the feature `archives` only tar is read.

mod bound;
#[cfg(feature = "archives")]
mod bzip2;
#[cfg(feature = "archives")]
mod gzip;
mod tar;
#[cfg(feature = "archives")]
mod unpack;
#[cfg(feature = "archives")]
mod xz;
#[cfg(feature = "archives")]
mod zip;
#[cfg(feature = "archives")]
mod zstd;

use std::io::{self, Read};

pub(super) use bound::Bound;
#[cfg(feature = "archives")]
use unpack::unpack;

use super::Input;

/// Deepest nesting of archives that is opened; a `.tar.gz` counts twice.
const DEEPEST: usize = 5;
/// Most members of one archive.
const MOST_MEMBERS: usize = 100_000;
/// A format of archives or compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
    Tar,
    Zip,
}

/// Takes the inputs in an archive; returns whether it wants more.
pub type Visit<'v> = dyn FnMut(Input<'_>) -> bool + 'v;

impl Format {
    /// The format of an input that begins with `head`.
    pub fn of(head: &[u8]) -> Option<Format> {
        const MAGIC: [(Format, &[u8]); 5] = [
            // The third byte is the method, and deflate is the only one.
            (Format::Gzip, &[0x1f, 0x8b, 8]),
            (Format::Zstd, &[0x28, 0xb5, 0x2f, 0xfd]),
            (Format::Xz, b"\xfd7zXZ\0"),
            // A digit for the block size follows.
            (Format::Bzip2, b"BZh"),
            // A member's header, which an empty archive does not have.
            (Format::Zip, b"PK\x03\x04"),
        ];
        let begins = MAGIC.iter().find(|(_, magic)| head.starts_with(magic));
        begins.map(|(format, _)| *format).or_else(|| tar::is_tar(head).then_some(Format::Tar))
    }

    fn name(self) -> &'static str {
        match self {
            Format::Gzip => "gzip",
            Format::Zstd => "zstd",
            Format::Xz => "xz",
            Format::Bzip2 => "bzip2",
            Format::Tar => "tar",
            Format::Zip => "zip",
        }
    }
}

impl Input<'_> {
    /// Hands this input to `visit`, or its members if it is packed. If it cannot be unpacked, `visit` gets an input with a warning.
    pub fn expand(self, visit: &mut Visit<'_>) {
        expand(self, 0, visit);
    }
}

/// Returns whether `visit` wants more.
fn expand(input: Input<'_>, depth: usize, visit: &mut Visit<'_>) -> bool {
    let Some(format) = input.format else { return visit(input) };
    let path = input.path.clone();
    if depth == DEEPEST {
        return visit(Input::unread(&path, "an archive too deep within others: not read".to_owned()));
    }
    unpack(input, format, depth, visit)
        .unwrap_or_else(|error| visit(Input::unread(&path, format!("{} that cannot be read: {error}", format.name()))))
}

#[cfg(not(feature = "archives"))]
fn unpack(input: Input<'_>, format: Format, depth: usize, visit: &mut Visit<'_>) -> io::Result<bool> {
    match format {
        Format::Tar => tar::members(input, depth, visit),
        _ => Err(io::Error::other("this oomdoc was built without the feature `archives`")),
    }
}

/// Hands over a member unless it is binary: an archive of a checkpoint has thousands of those.
fn hand_over(
    archive: &str,
    member: &str,
    bytes: impl Read + Send,
    bound: &Bound,
    depth: usize,
    visit: &mut Visit<'_>,
) -> io::Result<Handed> {
    let input = Input::packed(&format!("{archive}!{member}"), bytes, bound.clone())?;
    if input.format.is_none() && input.is_binary() {
        return Ok(Handed::Skipped);
    }
    Ok(if expand(input, depth + 1, visit) { Handed::Read } else { Handed::Enough })
}

/// What became of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handed {
    Read,
    Skipped,
    /// It was read, and no more is wanted.
    Enough,
}

/// Counts members, to warn about archives without a readable one.
#[derive(Default)]
struct Members {
    seen: usize,
    read: usize,
}

impl Members {
    /// Counts a member; returns whether to go on.
    fn add(&mut self, handed: Handed) -> io::Result<bool> {
        self.seen += 1;
        self.read += usize::from(handed != Handed::Skipped);
        if self.seen == MOST_MEMBERS {
            return Err(io::Error::other(format!("more than {MOST_MEMBERS} members; the others are not read")));
        }
        Ok(handed != Handed::Enough)
    }

    /// Hands over a warning if nothing in the archive could be read.
    fn finish(self, archive: &str, visit: &mut Visit<'_>) -> bool {
        self.read > 0 || visit(Input::unread(archive, "an archive without a text in it: not read".to_owned()))
    }
}

#[cfg(all(test, feature = "archives"))]
mod tests;
