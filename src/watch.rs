//! How far an analysis is, for whoever waits for it, and how to end it early.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared between an analysis and whoever watches it.
#[derive(Debug, Default)]
pub struct Watch {
    stopped: AtomicBool,
    shortages: AtomicUsize,
    /// Of inputs that were read to their end.
    done: AtomicU64,
    /// Of those being read.
    open: Mutex<Vec<Arc<AtomicU64>>>,
}

impl Watch {
    /// Ends reading: what came before is analysed. Whether it was ended before.
    pub fn stop(&self) -> bool {
        self.stopped.swap(true, Relaxed)
    }

    /// Whether reading was ended.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Bytes read so far, of packed inputs as they stand in their files.
    pub fn bytes_read(&self) -> u64 {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.done.load(Relaxed) + open.iter().map(|read| read.load(Relaxed)).sum::<u64>()
    }

    /// How often something ran out of memory, as far as that was read.
    pub fn shortages(&self) -> usize {
        self.shortages.load(Relaxed)
    }

    /// An input of which `read` counts the bytes is read now.
    pub(crate) fn begin(&self, read: Arc<AtomicU64>) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push(read);
    }

    /// It was read.
    pub(crate) fn end(&self, read: &Arc<AtomicU64>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|known| !Arc::ptr_eq(known, read));
        self.done.fetch_add(read.load(Relaxed), Relaxed);
    }

    /// So many more shortages were found.
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
