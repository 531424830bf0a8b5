//! An analysis in two halves, for logs that lie on many machines.
//!
//! In goes what was read on one node; out comes a [`Digest`]: small, masked, of its own, and joined with those of other nodes in any
//! order and any number of steps into the report that one analysis over all their logs would give. A digest is the set of the runs
//! that it is made of, so that joining is the union of sets; nothing is weighed before all are there.

mod bound;
mod clocks;
mod content;
mod error;
mod frame;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

pub use bound::LARGEST;
pub use content::Content;
pub use error::DigestError;
use frame::Frame;

use crate::model::{Citation, Nodes};
use crate::reading::Reading;
use crate::redact::Redactor;
use crate::when::Written;

/// What the logs of some nodes state.
#[derive(Debug, Default)]
pub struct Digest {
    frames: BTreeSet<Frame>,
}

impl Digest {
    /// Of what was read on `node`, less the secrets in it.
    pub fn of(node: &str, mut content: Content, redactor: &Redactor) -> Result<Digest, DigestError> {
        content.mask(redactor);
        let body = bound::packed(&mut content)?;
        Ok(Digest { frames: BTreeSet::from([Frame::of(node, body)]) })
    }

    /// That `node` gave nothing.
    pub fn unanswered(node: &str) -> Digest {
        Digest { frames: BTreeSet::from([Frame::of(node, Vec::new())]) }
    }

    /// Adds all digests that stand one behind another in `bytes`, up to one that is damaged.
    pub fn read(&mut self, bytes: impl Read) -> Result<(), DigestError> {
        let mut frames = frame::Frames::of(bytes);
        while let Some(frame) = frames.next()? {
            self.frames.insert(frame);
        }
        Ok(())
    }

    /// Adds what `other` is made of.
    pub fn add(&mut self, other: Digest) {
        self.frames.extend(other.frames);
    }

    /// Whether it is of no node.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// All of it, as [`Digest::read`] takes it.
    pub fn bytes(&self) -> Vec<u8> {
        self.frames.iter().flat_map(Frame::bytes).collect()
    }

    /// The nodes that it is of, and those of them that gave nothing.
    pub fn nodes(&self) -> Nodes {
        let all: BTreeSet<&str> = self.frames.iter().map(|frame| &*frame.node).collect();
        // Also where something else bears its name, such as what a scheduler says of it.
        let unanswered =
            self.frames.iter().filter(|frame| frame.is_empty()).map(|frame| frame.node.to_string()).collect();
        Nodes { count: all.len() as u64, unanswered, clocks: Vec::new() }
    }

    /// What all of it amounts to, as if it had been read here; and what cannot be read again.
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

/// What digests amount to.
#[derive(Default)]
pub(crate) struct Whole {
    /// As if it had been read here.
    pub reading: Reading,
    /// The paths that users named, as they are told of.
    pub named: Vec<String>,
    /// When files were last written.
    pub written: Written,
    /// The nodes.
    pub nodes: Nodes,
    /// Lines beside those that prove something.
    pub neighbours: Vec<Citation>,
    /// What could not be read again.
    pub damaged: Vec<DigestError>,
}
