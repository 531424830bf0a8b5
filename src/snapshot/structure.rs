//! What `torch.cuda.memory._snapshot()` gives, typed: <https://github.com/pytorch/pytorch/blob/main/torch/csrc/cuda/Module.cpp>,
//! `memorySnapshot`, and the same in C++ in `memory_snapshot.cpp` beside it. Keys that nobody asks for are passed over, those that are missing are nothing: they differ from version to version.

use std::sync::Arc;

use thiserror::Error;

use super::pickle::{Pickle, PickleError};
use super::reader::Reader;

/// Why a file is not read as a snapshot.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SnapshotError {
    /// It is no pickle that could be one.
    #[error("not read as a memory snapshot: {0}")]
    Pickle(#[from] PickleError),
    /// It is a pickle of something else.
    #[error("not read: a pickle of something else than PyTorch's memory snapshot")]
    Other,
    /// It holds the same objects so often that nobody could go through it.
    #[error("not read as a memory snapshot: the same lists stand in it over and over")]
    Endless,
    /// It is larger than anything that is read.
    #[error("not read as a memory snapshot: larger than {} GiB; record fewer events (max_entries)", Recording::LARGEST >> 30)]
    Large,
}

/// What one process recorded.
#[derive(Debug)]
pub struct Recording {
    /// The file.
    pub path: Arc<str>,
    /// The devices that held or did anything, by their numbers.
    pub devices: Vec<Device>,
    /// Where memory was asked for: numbers of `calls`, innermost first. The first is empty.
    pub stacks: Vec<Vec<u32>>,
    /// Every call, once.
    pub calls: Vec<Call>,
    /// `PYTORCH_CUDA_ALLOC_CONF`, where it is set.
    pub settings: Option<String>,
}

/// The memory of one device.
#[derive(Debug, Default)]
pub struct Device {
    /// As PyTorch counts it.
    pub number: u32,
    /// What it had taken from the driver when the snapshot was taken, by address.
    pub segments: Vec<Segment>,
    /// What it did before, oldest first.
    pub trace: Vec<Entry>,
}

/// Memory that was taken from the driver in one piece.
#[derive(Debug)]
pub struct Segment {
    pub address: u64,
    pub size: u64,
    pub owner: Owner,
    pub is_expandable: bool,
    pub blocks: Vec<Block>,
}

/// Who may be given memory of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Owner {
    pub stream: i64,
    /// The pool, where it is a private one: of a CUDA graph, or a `MemPool`.
    pub pool: Option<(i64, i64)>,
}

/// A part of a segment.
#[derive(Debug)]
pub struct Block {
    pub address: u64,
    /// With what rounding adds.
    pub size: u64,
    /// As it was asked for.
    pub requested: u64,
    /// Whether a tensor has it, or another stream is not done with it.
    pub is_active: bool,
    pub stack: Stack,
}

/// What the allocator did.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub action: Action,
    /// Of an `oom`: what the device had free.
    pub address: u64,
    pub size: u64,
    pub owner: Owner,
    /// Microseconds, by a clock of the machine.
    pub time: Option<i64>,
    pub stack: Stack,
}

/// The number of a stack in [`Recording::stacks`], the empty one where none was recorded.
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

/// What an entry of the trace is of.
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
    /// One that is passed over: `annotate` and what later versions have.
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

    /// The one with this name in the snapshot.
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
    /// More bytes are not read.
    pub const LARGEST: u64 = 2 << 30;

    /// Whether an input that begins with `head` may be a snapshot: a pickle of protocol 2 to 5 in which segments are named.
    pub fn may_be(head: &[u8]) -> bool {
        let names = |word: &str| memchr::memmem::find(head, word.as_bytes()).is_some();
        matches!(head, [0x80, 2..=5, ..]) && (names("segments") || names("total_size") && names("blocks"))
    }

    /// Reads the snapshot that `bytes`, the file at `path`, are.
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
