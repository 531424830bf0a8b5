//! The trace, played back: what was in use after each of its events.
//!
//! A snapshot holds the memory at its end and the last events before it. So it is first undone, event by event, up to the trace's
//! beginning, and then done again: what is in use from before the trace is known by its size, and by its stack if it is still there.

use std::collections::HashMap;

use super::structure::{Action, Device, Entry, Stack};

/// Memory that somebody has.
#[derive(Debug, Clone, Copy)]
pub struct Live {
    /// As it was asked for.
    pub size: u64,
    /// With what rounding adds.
    pub room: u64,
    pub stack: Stack,
}

/// The allocator rounds up to as many bytes.
const ROUNDING: u64 = 512;

impl Live {
    fn new(size: u64, stack: Stack) -> Live {
        Live { size, room: size.checked_next_multiple_of(ROUNDING).unwrap_or(size), stack }
    }
}

/// What an event changed.
pub enum Change {
    /// Somebody got memory.
    Taken(Live),
    /// Somebody gave it back, and no stream needs it any more.
    Given(Live),
}

/// The memory of a device at one moment of its trace.
pub struct Replay<'d> {
    device: &'d Device,
    /// What is in use, by address.
    pub live: HashMap<u64, Live>,
    /// The sum of its sizes.
    pub in_use: u64,
    /// What was taken from the driver.
    pub reserved: u64,
    /// How many events were played.
    pub played: usize,
}

impl<'d> Replay<'d> {
    /// Before the first event.
    pub fn new(device: &'d Device) -> Replay<'d> {
        let blocks = device.segments.iter().flat_map(|segment| &segment.blocks).filter(|block| block.is_active);
        let live = |block: &super::structure::Block| {
            (block.address, Live { size: block.requested, room: block.size, stack: block.stack })
        };
        let mut live: HashMap<u64, Live> = blocks.map(live).collect();
        let mut reserved: i128 = device.segments.iter().map(|segment| i128::from(segment.size)).sum();
        for entry in device.trace.iter().rev() {
            match entry.action {
                Action::Alloc => drop(live.remove(&entry.address)),
                // Its stack says who gave it back.
                Action::FreeCompleted => drop(live.insert(entry.address, Live::new(entry.size, Stack::NONE))),
                _ => reserved -= reserving(entry),
            }
        }
        let in_use = live.values().fold(0, |sum: u64, live| sum.saturating_add(live.size));
        Replay { device, live, in_use, reserved: natural(reserved), played: 0 }
    }

    /// Plays the next event; `None` at the end. What it changed goes to `see`.
    pub fn step(&mut self, mut see: impl FnMut(Change)) -> Option<&'d Entry> {
        let entry = self.device.trace.get(self.played)?;
        self.played += 1;
        match entry.action {
            Action::Alloc => {
                let live = Live::new(entry.size, entry.stack);
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

    fn give(&mut self, live: Live, see: &mut impl FnMut(Change)) {
        self.in_use = self.in_use.saturating_sub(live.size);
        see(Change::Given(live));
    }
}

/// How much more is taken from the driver.
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
