//! Where bytes come from.
//!
//! The input is the paths that a user names: files, folders (read recursively), `-` for standard input, and addresses if the caller may
//! open them. The output is [`Input`]s: streams of UTF-8 bytes with the role that name and first bytes show; archives become their members.
//! Nothing here reads a whole file.

pub(crate) mod address;
mod archive;
mod blocks;
mod elsewhere;
pub mod record;
pub(crate) mod role;
mod utf16;
mod walk;

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use thiserror::Error;

use crate::model::{Role, one_line};
use archive::{Bound, Format};
pub use blocks::read_blocks;
pub use elsewhere::{Elsewhere, Places};
pub use walk::{leads_to, walk};

/// An input that could not be read; the others are still read.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The path does not exist or cannot be read.
    #[error("{} {}: {error}", SourceError::UNREADABLE, one_line(.path))]
    Unreadable {
        /// As the user named it.
        path: String,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// A folder without a regular file in it.
    #[error("{} is a folder without a file in it", one_line(.path))]
    EmptyFolder {
        /// As the user named it.
        path: String,
    },
    /// The user's settings say that it is never read.
    #[error("{} is not read: {by} says `never_read`", one_line(.path))]
    NeverRead {
        /// As the user named it.
        path: String,
        /// The line that says so.
        by: String,
    },
    /// An address, which the caller may not open.
    #[error("{path} is an address: {}", SourceError::WHO_OPENS)]
    Address {
        /// The address without secrets.
        path: String,
    },
}

impl SourceError {
    /// The words with which the message begins.
    pub const UNREADABLE: &str = "cannot read";

    /// Who may open addresses.
    const WHO_OPENS: &str = match cfg!(feature = "stores") {
        true => "only `oomdoc analyze` and `oomdoc digest` read those that their command line names",
        false => "this oomdoc was built without the feature `stores`",
    };

    /// The input it is about.
    pub fn path(&self) -> &str {
        match self {
            SourceError::Unreadable { path, .. }
            | SourceError::EmptyFolder { path }
            | SourceError::NeverRead { path, .. }
            | SourceError::Address { path } => path,
        }
    }
}

/// A stream of bytes, with what its beginning shows.
pub struct Input<'a> {
    /// As the user named it; `-` is standard input.
    pub path: Arc<str>,
    /// What it is.
    pub role: Role,
    /// What is odd about it.
    pub warning: Option<String>,
    /// Its size, if that is known beforehand.
    pub size: Option<u64>,
    bytes: Box<dyn Read + Send + 'a>,
    format: Option<Format>,
    bound: Bound,
    /// Whether it is a record of `oomdoc run`, whose lines are not in the order in which they were written.
    pub is_record: bool,
    /// Opens it again for random access, if that is possible.
    reopen: Option<Reopen>,
}

/// Bytes with random access.
pub trait Seekable: Read + Seek + Send {}

impl<S: Read + Seek + Send> Seekable for S {}

/// Opens an input again.
pub type Reopen = Box<dyn Fn() -> io::Result<Box<dyn Seekable>> + Send>;

/// The name of standard input.
const STDIN: &str = "-";

/// How many bytes decide what an input is.
const HEAD: u64 = 64 << 10;

fn head_of(bytes: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    bytes.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

/// Whether `path` is that of a log, whatever its content. What is typed or piped in has no name and is one, too, if it tells anything.
pub(crate) fn is_named_log(path: &str) -> bool {
    path == STDIN || role::is_named_log(path)
}

impl Input<'static> {
    /// Opens the file at `path`, or standard input for `-`.
    pub fn open(path: &str) -> Result<Input<'static>, SourceError> {
        let unreadable = |error| SourceError::Unreadable { path: path.to_owned(), error };
        if path == STDIN {
            return Input::new(path, io::stdin()).map_err(unreadable);
        }
        if address::is_address(path) {
            return Err(SourceError::Address { path: address::told(path) });
        }
        let file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
        let input = Input::new(path, file).map_err(unreadable)?;
        let path = path.to_owned();
        let reopen = move || Ok(Box::new(File::open(&path)?) as Box<dyn Seekable>);
        Ok(Input { size, reopen: size.map(|_| Box::new(reopen) as Reopen), ..input })
    }

    /// An input behind an address, with its size if known, and a way to open it again for random access if there is one.
    pub fn of_elsewhere(
        path: &str,
        bytes: impl Read + Send + 'static,
        size: Option<u64>,
        reopen: Option<Reopen>,
    ) -> io::Result<Input<'static>> {
        Ok(Input { size, reopen, ..Input::new(path, bytes)? })
    }
}

impl<'a> Input<'a> {
    /// Any stream of bytes, under a name that the caller chooses.
    pub fn new(path: &str, bytes: impl Read + Send + 'a) -> io::Result<Input<'a>> {
        let bound = Bound::new();
        Input::packed(path, bound.count(bytes), bound)
    }

    /// A member of another input, or its unpacked content.
    fn packed(path: &str, mut bytes: impl Read + Send + 'a, bound: Bound) -> io::Result<Input<'a>> {
        let mut head = head_of(&mut bytes)?;
        let mut bytes: Box<dyn Read + Send + 'a> = Box::new(bytes);
        if let Some(order) = utf16::Order::of(&head) {
            let mut head_of_text = Cursor::new(head);
            head_of_text.set_position(utf16::Order::MARK);
            bytes = Box::new(utf16::Decoded::new(head_of_text.chain(bytes), order));
            head = head_of(&mut bytes)?;
        }
        let format = Format::of(&head);
        let is_record = record::is_record(&head);
        let (role, warning) = if format.is_some() {
            (Role::Other, None)
        } else if is_record {
            (Role::Log, None)
        } else {
            role::of(path, &head)
        };
        let bytes = Box::new(Cursor::new(head).chain(bytes));
        Ok(Input { path: path.into(), role, warning, size: None, bytes, format, bound, is_record, reopen: None })
    }

    /// An input of which nothing can be read; `warning` says why.
    fn unread(path: &str, warning: String) -> Input<'a> {
        Input {
            path: path.into(),
            role: Role::Other,
            warning: Some(warning),
            size: None,
            bytes: Box::new(io::empty()),
            format: None,
            bound: Bound::new(),
            is_record: false,
            reopen: None,
        }
    }

    /// Whether its name is that of a log.
    pub fn is_named_log(&self) -> bool {
        is_named_log(&self.path)
    }

    /// Whether it is not text.
    fn is_binary(&self) -> bool {
        self.role == Role::Other && self.warning.is_some()
    }

    /// A counter of the bytes read so far from the file or stream that the user named, before unpacking.
    pub fn bytes_read(&self) -> Arc<AtomicU64> {
        self.bound.read()
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}
