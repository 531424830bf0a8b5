//! The file format of digests: a line with the node, the length and the checksum, then the bytes. Digests can thus be
//! concatenated, and truncated or changed ones are detected.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{DigestError, LARGEST};
use crate::hexadecimal::hexadecimal;

/// The first bytes of a digest.
const MAGIC: &str = "oomdoc-digest ";
/// The version of the format.
const VERSION: u64 = 1;
/// The most bytes of a head.
const LONGEST_HEAD: u64 = 64 << 10;

/// What was read on one node in one run, packed.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Frame {
    pub node: Arc<str>,
    /// The checksum of the body.
    sha256: String,
    /// The packed content; empty if the node did not answer.
    pub body: Vec<u8>,
}

/// The line before the body.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    version: u64,
    node: Arc<str>,
    bytes: u64,
    sha256: String,
}

impl Frame {
    pub fn of(node: &str, body: Vec<u8>) -> Frame {
        Frame { node: node.into(), sha256: hexadecimal(&Sha256::digest(&body)), body }
    }

    /// Whether the node did not answer.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    pub fn bytes(&self) -> Vec<u8> {
        let Frame { node, sha256, body } = self;
        let head = Head { version: VERSION, node: node.clone(), bytes: body.len() as u64, sha256: sha256.clone() };
        // Texts and numbers always serialise.
        let head = serde_json::to_string(&head).unwrap_or_default();
        [MAGIC.as_bytes(), head.as_bytes(), b"\n", body].concat()
    }
}

/// The frames of a stream.
pub(super) struct Frames<R: Read> {
    bytes: BufReader<R>,
}

impl<R: Read> Frames<R> {
    pub fn of(bytes: R) -> Frames<R> {
        Frames { bytes: BufReader::new(bytes) }
    }

    /// The next frame; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Frame>, DigestError> {
        let mut line = Vec::new();
        // A program that concatenates digests may end each with a line feed.
        while line.trim_ascii().is_empty() {
            line.clear();
            if (&mut self.bytes).take(LONGEST_HEAD).read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
        }
        let head = str::from_utf8(&line).ok().and_then(|line| line.strip_prefix(MAGIC));
        let head = head.and_then(|head| serde_json::from_str::<serde_json::Value>(head).ok());
        let head = head.ok_or(DigestError::NoDigest)?;
        match head.get("version").and_then(serde_json::Value::as_u64) {
            Some(VERSION) => {}
            Some(version) => return Err(DigestError::Newer { version }),
            None => return Err(DigestError::NoDigest),
        }
        let Head { node, bytes, sha256, .. } = serde_json::from_value(head).map_err(|_| DigestError::NoDigest)?;
        let mut body = Vec::new();
        (&mut self.bytes).take(bytes.min(LARGEST as u64)).read_to_end(&mut body)?;
        if body.len() as u64 != bytes {
            return Err(DigestError::CutOff { node });
        }
        let frame = Frame::of(&node, body);
        if frame.sha256 != sha256 {
            return Err(DigestError::Damaged { node, problem: "its bytes are others than were written".to_owned() });
        }
        Ok(Some(frame))
    }
}
