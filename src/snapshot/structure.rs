//! The structure of `torch.cuda.memory._snapshot()`, typed: `memorySnapshot` in
//! <https://github.com/pytorch/pytorch/blob/main/torch/csrc/cuda/Module.cpp>, and the same in C++ in
//! `memory_snapshot.cpp` beside it. Keys differ from version to version: unknown ones are ignored, missing ones have
//! neutral values.

use std::sync::Arc;

use thiserror::Error;

use super::pickle::{Pickle, PickleError};
use super::reader::Reader;

/// Why a file cannot be read as a snapshot.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SnapshotError {
    /// It is not a pickle of plain data.
    #[error("not read as a memory snapshot: {0}")]
    Pickle(#[from] PickleError),
    /// It is a pickle of something else.
    #[error("not read: a pickle of something else than PyTorch's memory snapshot")]
    Other,
    /// It repeats the same objects too often to be read.
    #[error("not read as a memory snapshot: the same lists stand in it over and over")]
    Endless,
    /// It is larger than the limit.
    #[error("not read as a memory snapshot: larger than {} GiB; record fewer events (max_entries)", Recording::LARGEST >> 30)]
    Large,
}

/// The recording of one process.
#[derive(Debug)]
pub struct Recording {
    /// The file.
    pub path: Arc<str>,
    /// The devices with memory or events, by number.
    pub devices: Vec<Device>,
    /// The stacks of allocations, as indices into `calls`, innermost first. The first stack is empty.
    pub stacks: Vec<Vec<u32>>,
    /// Every distinct call.
    pub calls: Vec<Call>,
    /// `PYTORCH_CUDA_ALLOC_CONF`, if it is set.
    pub settings: Option<String>,
}

/// The memory of one device.
#[derive(Debug, Default)]
pub struct Device {
    /// PyTorch's number of the device.
    pub number: u32,
    /// Memory reserved from the driver when the snapshot was taken, by address.
    pub segments: Vec<Segment>,
    /// The events before, oldest first.
    pub trace: Vec<Entry>,
}

/// Memory reserved from the driver in one piece.
#[derive(Debug)]
pub struct Segment {
    pub address: u64,
    pub size: u64,
    pub owner: Owner,
    pub is_expandable: bool,
    pub blocks: Vec<Block>,
}

/// Who may allocate from a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Owner {
    pub stream: i64,
    /// The pool, if it is private: that of a CUDA graph, or a `MemPool`.
    pub pool: Option<(i64, i64)>,
}

/// A part of a segment.
#[derive(Debug)]
pub struct Block {
    pub address: u64,
    /// The size including rounding.
    pub size: u64,
    /// The requested size.
    pub requested: u64,
    /// Whether a tensor uses it, or another stream still needs it.
    pub is_active: bool,
    pub stack: Stack,
}

/// An event of the allocator.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub action: Action,
    /// For an `oom`, the free memory of the device.
    pub address: u64,
    pub size: u64,
    pub owner: Owner,
    /// Microseconds on a clock of the machine.
    pub time: Option<i64>,
    pub stack: Stack,
}

/// The index of a stack in [`Recording::stacks`]; the empty one if none was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stack(pub u32);

impl Stack {
    /// None was recorded.
    pub const NONE: Stack = Stack(0);
}

/// One call of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call {
    pub file: Arc<str>,
    pub line: u64,
    pub function: Arc<str>,
}

/// The kind of a trace entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Alloc,
    FreeRequested,
    FreeCompleted,
    SegmentAlloc,
    SegmentFree,
    SegmentMap,
    SegmentUnmap,
    Snapshot,
    Oom,
    /// Any other, which is ignored: `annotate` and those of later versions.
    Other,
}

impl Action {
    const ALL: [(&str, Action); 9] = [
        ("alloc", Action::Alloc),
        ("free_requested", Action::FreeRequested),
        ("free_completed", Action::FreeCompleted),
        ("segment_alloc", Action::SegmentAlloc),
        ("segment_free", Action::SegmentFree),
        ("segment_map", Action::SegmentMap),
        ("segment_unmap", Action::SegmentUnmap),
        ("snapshot", Action::Snapshot),
        ("oom", Action::Oom),
    ];

    /// The action with this name in the snapshot.
    pub fn of(name: &[u8]) -> Action {
        let known = Action::ALL.iter().find(|(known, _)| known.as_bytes() == name);
        known.map_or(Action::Other, |(_, action)| *action)
    }

    /// Its name in the snapshot.
    pub fn name(self) -> &'static str {
        Action::ALL.iter().find(|(_, known)| *known == self).map_or("other", |(name, _)| name)
    }
}

impl Recording {
    /// The most bytes that are read.
    pub const LARGEST: u64 = 2 << 30;

    /// Whether an input that begins with `head` may be a snapshot: a pickle of protocol 2 to 5 that names segments.
    pub fn may_be(head: &[u8]) -> bool {
        let names = |word: &str| memchr::memmem::find(head, word.as_bytes()).is_some();
        matches!(head, [0x80, 2..=5, ..]) && (names("segments") || names("total_size") && names("blocks"))
    }

    /// Reads a snapshot from `bytes`, the content of the file at `path`.
    pub fn read(path: Arc<str>, bytes: &[u8]) -> Result<Recording, SnapshotError> {
        if bytes.len() as u64 > Recording::LARGEST {
            return Err(SnapshotError::Large);
        }
        let pickle = Pickle::read(bytes)?;
        Reader::new(&pickle).recording(path)
    }

    /// The calls of a stack, innermost first.
    pub fn calls(&self, stack: Stack) -> impl DoubleEndedIterator<Item = &Call> + Clone {
        let calls = self.stacks.get(stack.0 as usize).map_or(&[][..], Vec::as_slice);
        calls.iter().filter_map(|call| self.calls.get(*call as usize))
    }
}
