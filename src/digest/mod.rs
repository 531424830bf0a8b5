//! Splits an analysis in two halves, for logs on many machines.
//!
//! In goes what was read on one node; out comes a [`Digest`]. It is small, masked and self-contained, and can be joined
//! with those of other nodes, in any order and any number of steps, into the report that a single analysis of all logs
//! would give. A digest is the set of its runs, so joining is the union of sets. Nothing is weighed before all are
//! there.

mod clocks;
mod content;
mod error;
mod frame;
mod size_limit;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

pub use content::Content;
pub use error::DigestError;
use frame::Frame;
pub use size_limit::LARGEST;

use crate::model::{Citation, Nodes};
use crate::reading::Reading;
use crate::redact::Redactor;
use crate::when::WriteTimes;

/// The digest of the logs of some nodes.
#[derive(Debug, Default)]
pub struct Digest {
    frames: BTreeSet<Frame>,
}

impl Digest {
    /// The digest of what was read on `node`, with its secrets masked.
    pub fn of(node: &str, mut content: Content, redactor: &Redactor) -> Result<Digest, DigestError> {
        content.mask(redactor);
        let body = size_limit::packed(&mut content)?;
        Ok(Digest { frames: BTreeSet::from([Frame::of(node, body)]) })
    }

    /// A digest that records that `node` did not answer.
    pub fn unanswered(node: &str) -> Digest {
        Digest { frames: BTreeSet::from([Frame::of(node, Vec::new())]) }
    }

    /// Adds all digests that are concatenated in `bytes`, up to a damaged one.
    pub fn read(&mut self, bytes: impl Read) -> Result<(), DigestError> {
        let mut frames = frame::Frames::of(bytes);
        while let Some(frame) = frames.next()? {
            self.frames.insert(frame);
        }
        Ok(())
    }

    /// Adds the runs of `other`.
    pub fn add(&mut self, other: Digest) {
        self.frames.extend(other.frames);
    }

    /// Whether it covers no node.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The serialised form that [`Digest::read`] reads.
    pub fn bytes(&self) -> Vec<u8> {
        self.frames.iter().flat_map(Frame::bytes).collect()
    }

    /// The nodes that it covers, and those of them that did not answer.
    pub fn nodes(&self) -> Nodes {
        let all: BTreeSet<&str> = self.frames.iter().map(|frame| &*frame.node).collect();
        // A node counts as unanswered even if something else has its name, such as what a scheduler says about it.
        let unanswered =
            self.frames.iter().filter(|frame| frame.is_empty()).map(|frame| frame.node.to_string()).collect();
        Nodes { count: all.len() as u64, unanswered, clocks: Vec::new() }
    }

    /// Combines all runs as if they had been read here, with the errors of damaged ones.
    pub(crate) fn into_whole(self) -> Whole {
        let mut whole = Whole { nodes: self.nodes(), ..Whole::default() };
        let mut of_node: BTreeMap<Arc<str>, Vec<Frame>> = BTreeMap::new();
        for frame in self.frames {
            of_node.entry(Arc::clone(&frame.node)).or_default().push(frame);
        }
        for frames in of_node.into_values() {
            let contents = frames.iter().filter(|frame| !frame.is_empty()).map(Content::read);
            let (contents, damaged): (Vec<_>, Vec<_>) = contents.partition(Result::is_ok);
            whole.damaged.extend(damaged.into_iter().filter_map(Result::err));
            content::newest(contents.into_iter().flatten().collect())
                .into_iter()
                .for_each(|content| content.add_to(&mut whole));
        }
        whole.nodes.clocks = clocks::skews(&whole.reading.reads);
        whole
    }
}

/// The combined content of digests.
#[derive(Default)]
pub(crate) struct Whole {
    /// The reading, as if it had been made here.
    pub reading: Reading,
    /// The paths that users named, with their nodes' prefixes.
    pub named: Vec<String>,
    /// When each file was last written.
    pub written: WriteTimes,
    /// The nodes.
    pub nodes: Nodes,
    /// Lines around those that prove something.
    pub neighbours: Vec<Citation>,
    /// Digests that could not be unpacked.
    pub damaged: Vec<DigestError>,
}
