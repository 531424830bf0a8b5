//! Replays the trace: memory in use after each of its events.
//!
//! A snapshot contains the memory at its end and the last events before it. The events are first undone back to the
//! trace's beginning, and then replayed. Of memory from before the trace, the size is known, and the stack only if it
//! is still in use.

use std::collections::HashMap;

use super::structure::{Action, Device, Entry, Stack};

/// An allocation in use.
#[derive(Debug, Clone, Copy)]
pub struct LiveAllocation {
    /// The requested size.
    pub size: u64,
    /// The size including rounding.
    pub room: u64,
    pub stack: Stack,
}

/// The allocator rounds sizes up to a multiple of this.
const ROUNDING: u64 = 512;

impl LiveAllocation {
    fn new(size: u64, stack: Stack) -> LiveAllocation {
        LiveAllocation { size, room: size.checked_next_multiple_of(ROUNDING).unwrap_or(size), stack }
    }
}

/// A change by an event.
pub enum Change {
    /// Memory was allocated.
    Taken(LiveAllocation),
    /// Memory was freed, and no stream needs it any more.
    Given(LiveAllocation),
}

/// The memory of a device at one moment of its trace.
pub struct Replay<'d> {
    device: &'d Device,
    /// Allocations in use, by address.
    pub live: HashMap<u64, LiveAllocation>,
    /// The sum of their requested sizes.
    pub in_use: u64,
    /// Memory reserved from the driver.
    pub reserved: u64,
    /// The number of events replayed.
    pub played: usize,
}

impl<'d> Replay<'d> {
    /// The state before the first event.
    pub fn new(device: &'d Device) -> Replay<'d> {
        let blocks = device.segments.iter().flat_map(|segment| &segment.blocks).filter(|block| block.is_active);
        let live = |block: &super::structure::Block| {
            (block.address, LiveAllocation { size: block.requested, room: block.size, stack: block.stack })
        };
        let mut live: HashMap<u64, LiveAllocation> = blocks.map(live).collect();
        let mut reserved: i128 = device.segments.iter().map(|segment| i128::from(segment.size)).sum();
        for entry in device.trace.iter().rev() {
            match entry.action {
                Action::Alloc => drop(live.remove(&entry.address)),
                // The entry's stack is that of the free, not of the allocation.
                Action::FreeCompleted => drop(live.insert(entry.address, LiveAllocation::new(entry.size, Stack::NONE))),
                _ => reserved -= reserving(entry),
            }
        }
        let in_use = live.values().fold(0, |sum: u64, live| sum.saturating_add(live.size));
        Replay { device, live, in_use, reserved: natural(reserved), played: 0 }
    }

    /// Replays the next event; `None` at the end. Changes are passed to `see`.
    pub fn step(&mut self, mut see: impl FnMut(Change)) -> Option<&'d Entry> {
        let entry = self.device.trace.get(self.played)?;
        self.played += 1;
        match entry.action {
            Action::Alloc => {
                let live = LiveAllocation::new(entry.size, entry.stack);
                let before = self.live.insert(entry.address, live);
                self.in_use = self.in_use.saturating_add(live.size);
                before.into_iter().for_each(|before| self.give(before, &mut see));
                see(Change::Taken(live));
            }
            Action::FreeCompleted => {
                let before = self.live.remove(&entry.address);
                before.into_iter().for_each(|before| self.give(before, &mut see));
            }
            _ => self.reserved = natural(i128::from(self.reserved) + reserving(entry)),
        }
        Some(entry)
    }

    fn give(&mut self, live: LiveAllocation, see: &mut impl FnMut(Change)) {
        self.in_use = self.in_use.saturating_sub(live.size);
        see(Change::Given(live));
    }
}

/// The change in memory reserved from the driver.
fn reserving(entry: &Entry) -> i128 {
    match entry.action {
        Action::SegmentAlloc | Action::SegmentMap => i128::from(entry.size),
        Action::SegmentFree | Action::SegmentUnmap => -i128::from(entry.size),
        _ => 0,
    }
}

fn natural(number: i128) -> u64 {
    u64::try_from(number.max(0)).unwrap_or(u64::MAX)
}
