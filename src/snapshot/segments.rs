//! The segments at a moment of the trace, and their use.

use std::collections::BTreeMap;

use super::replay::Replay;
use super::structure::{Action, Device, Owner, Segment};
use crate::model::{Bytes, SegmentUse, UnusedMemory};

/// A range of memory reserved from the driver.
struct Piece {
    size: u64,
    owner: Owner,
    is_expandable: bool,
}

/// The segments of a device after some events of its trace, by address.
pub struct Segments {
    pieces: BTreeMap<u64, Piece>,
}

/// The number of parts in which a segment is shown.
const PARTS: u64 = 48;

impl Segments {
    /// The segments after the first `played` events: those at the snapshot's end with later events undone.
    pub fn after(device: &Device, played: usize) -> Segments {
        let piece = |segment: &Segment| {
            let Segment { size, owner, is_expandable, .. } = *segment;
            (segment.address, Piece { size, owner, is_expandable })
        };
        let mut segments = Segments { pieces: device.segments.iter().map(piece).collect() };
        for entry in device.trace.iter().skip(played).rev() {
            let piece = |is_expandable| Piece { size: entry.size, owner: entry.owner, is_expandable };
            match entry.action {
                Action::SegmentAlloc | Action::SegmentMap => segments.take_out(entry.address, entry.size),
                Action::SegmentFree => drop(segments.pieces.insert(entry.address, piece(false))),
                Action::SegmentUnmap => segments.put_in(entry.address, piece(true)),
                _ => {}
            }
        }
        segments
    }

    /// Removes `size` bytes from `address` on from the segment around it.
    fn take_out(&mut self, address: u64, size: u64) {
        let Some((start, piece)) = self.pieces.range(..=address).next_back() else { return };
        let (start, end, owner, is_expandable) =
            (*start, start.saturating_add(piece.size), piece.owner, piece.is_expandable);
        let cut_end = address.saturating_add(size).min(end);
        if address >= end {
            return;
        }
        self.pieces.remove(&start);
        for (from, to) in [(start, address), (cut_end, end)] {
            if from < to {
                self.pieces.insert(from, Piece { size: to - from, owner, is_expandable });
            }
        }
    }

    /// Adds a part of an expandable segment, merged with its neighbours.
    fn put_in(&mut self, address: u64, piece: Piece) {
        let (mut address, mut size, owner) = (address, piece.size, piece.owner);
        let before = self.pieces.range(..address).next_back();
        let before = before.filter(|(start, before)| {
            before.is_expandable && before.owner.stream == owner.stream && start.saturating_add(before.size) == address
        });
        if let Some(start) = before.map(|(start, _)| *start)
            && let Some(before) = self.pieces.remove(&start)
        {
            (address, size) = (start, size.saturating_add(before.size));
        }
        let end = address.saturating_add(size);
        let behind = self.pieces.get(&end).filter(|behind| behind.is_expandable && behind.owner.stream == owner.stream);
        if let Some(more) = behind.map(|behind| behind.size) {
            self.pieces.remove(&end);
            size = size.saturating_add(more);
        }
        self.pieces.insert(address, Piece { size, owner, is_expandable: true });
    }

    /// The use of each segment, largest first, and unused memory. The largest unused piece counts only segments that
    /// `asker` may allocate from.
    pub fn used(&self, replay: &Replay<'_>, asker: Option<Owner>) -> (Vec<SegmentUse>, UnusedMemory) {
        let mut live: Vec<(u64, u64)> = replay.live.iter().map(|(address, live)| (*address, live.room)).collect();
        live.sort_unstable();
        let mut unused = UnusedMemory::default();
        let mut segments: Vec<SegmentUse> = Vec::new();
        // Segments do not overlap; if a snapshot claims so, the overlapping part is dropped.
        let next = self.pieces.keys().skip(1).copied().chain([u64::MAX]);
        for ((address, piece), next) in self.pieces.iter().zip(next) {
            let end = address.saturating_add(piece.size).min(next);
            let first = live.partition_point(|(start, _)| start < address);
            let within = live[first..].iter().take_while(|(start, _)| *start < end);
            let mut gaps = Gaps { next: *address, end, ..Gaps::default() };
            within.for_each(|(start, room)| gaps.pass(*start, start.saturating_add(*room)));
            let segment = gaps.segment(*address, piece);
            let free = segment.bytes - segment.in_use;
            unused.bytes = unused.bytes + free;
            unused.pieces += segment.pieces;
            if segment.in_use > Bytes(0) {
                unused.split = unused.split + free;
            }
            if asker.is_none_or(|asker| asker == piece.owner) {
                unused.largest = unused.largest.max(segment.largest_unused);
            }
            segments.push(segment);
        }
        segments.sort_by_key(|segment| std::cmp::Reverse(segment.bytes));
        (segments, unused)
    }
}

/// Collects the gaps between the allocations of a segment.
#[derive(Default)]
struct Gaps {
    next: u64,
    end: u64,
    taken: Vec<(u64, u64)>,
    in_use: u64,
    largest: u64,
    pieces: u64,
}

impl Gaps {
    /// Records that the bytes from `start` to `end` are allocated.
    fn pass(&mut self, start: u64, end: u64) {
        let (start, end) = (start.max(self.next), end.min(self.end));
        if start >= end {
            return;
        }
        self.gap(start);
        self.in_use += end - start;
        self.taken.push((start, end));
        self.next = end;
    }

    /// Records the gap before `start`.
    fn gap(&mut self, start: u64) {
        let gap = start - self.next;
        self.largest = self.largest.max(gap);
        self.pieces += u64::from(gap > 0);
    }

    fn segment(mut self, address: u64, piece: &Piece) -> SegmentUse {
        self.gap(self.end);
        let size = self.end - address;
        SegmentUse {
            bytes: bytes(size),
            in_use: bytes(self.in_use),
            largest_unused: bytes(self.largest),
            pieces: self.pieces,
            stream: piece.owner.stream,
            is_private: piece.owner.pool.is_some(),
            is_expandable: piece.is_expandable,
            fill: self.fill(address, size),
        }
    }

    /// The fill of each part in percent.
    fn fill(&self, start: u64, size: u64) -> Vec<u8> {
        let part = size.div_ceil(PARTS).max(1);
        let mut taken = self.taken.as_slice();
        let share = |place: u64| {
            let from = start + place * part;
            let to = from.saturating_add(part).min(self.end);
            let ended = taken.partition_point(|(_, end)| *end <= from);
            taken = &taken[ended..];
            let within = taken.iter().take_while(|(begin, _)| *begin < to);
            let full: u64 = within.map(|(begin, end)| (*end).min(to) - (*begin).max(from)).sum();
            (full as f64 * 100.0 / (to - from).max(1) as f64).round() as u8
        };
        (0..size.div_ceil(part)).map(share).collect()
    }
}

/// Converts an amount to the type of reports.
pub fn bytes(amount: u64) -> Bytes {
    Bytes(amount.into())
}
