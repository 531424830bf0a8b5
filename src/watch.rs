//! The progress of an analysis, and a way to stop it early.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared between an analysis and its observer.
#[derive(Debug, Default)]
pub struct Watch {
    stopped: AtomicBool,
    shortages: AtomicUsize,
    /// Bytes of inputs that have been read completely.
    done: AtomicU64,
    /// Counters of the bytes of inputs that are being read.
    open: Mutex<Vec<Arc<AtomicU64>>>,
}

impl Watch {
    /// Stops reading; what was read so far is analysed. Returns whether it was already stopped.
    pub fn stop(&self) -> bool {
        self.stopped.swap(true, Relaxed)
    }

    /// Whether reading was stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// The bytes read so far; packed inputs count as stored.
    pub fn bytes_read(&self) -> u64 {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.done.load(Relaxed) + open.iter().map(|read| read.load(Relaxed)).sum::<u64>()
    }

    /// The number of shortages found so far.
    pub fn shortages(&self) -> usize {
        self.shortages.load(Relaxed)
    }

    /// Begins an input whose bytes are counted by `read`.
    pub(crate) fn begin(&self, read: Arc<AtomicU64>) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push(read);
    }

    /// Ends an input.
    pub(crate) fn end(&self, read: &Arc<AtomicU64>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|known| !Arc::ptr_eq(known, read));
        self.done.fetch_add(read.load(Relaxed), Relaxed);
    }

    /// Adds to the number of shortages found.
    pub(crate) fn add_shortages(&self, more: usize) {
        self.shortages.fetch_add(more, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_is_open_and_what_is_done() {
        let watch = Watch::default();
        let (first, second) = (Arc::new(AtomicU64::new(3)), Arc::new(AtomicU64::new(4)));
        watch.begin(first.clone());
        watch.begin(second.clone());
        second.fetch_add(10, Relaxed);
        assert_eq!(watch.bytes_read(), 17);
        watch.end(&first);
        second.fetch_add(1, Relaxed);
        assert_eq!(watch.bytes_read(), 18);
        assert!(!watch.stop() && watch.is_stopped() && watch.stop());
    }
}
