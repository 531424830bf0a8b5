//! Prepares on several threads what one of them goes through in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Items that a thread prepares at once: few enough that no thread waits long for another one's.
const CHUNK: usize = 64;

/// Calls `each` with what `prepare` makes of every chunk of `items`, in their order. `prepare` runs on `threads` threads, the current one
/// included; `each` only on this one.
pub(super) fn in_order<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    prepare: impl Fn(&[I]) -> T + Sync,
    mut each: impl FnMut(T),
) {
    let chunks: Vec<&[I]> = items.chunks(CHUNK).collect();
    let others = threads.min(chunks.len()).saturating_sub(1);
    if others == 0 {
        chunks.into_iter().map(prepare).for_each(each);
        return;
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let place = next.fetch_add(1, Ordering::Relaxed);
        Some((place, prepare(chunks.get(place)?)))
    };
    thread::scope(|scope| {
        let (sender, done) = mpsc::channel();
        for _ in 0..others {
            let sender = sender.clone();
            let take = &take;
            scope.spawn(move || while take().is_some_and(|prepared| sender.send(prepared).is_ok()) {});
        }
        drop(sender);
        let (mut early, mut wanted) = (BTreeMap::new(), 0);
        // Own work is the last resort but one: what others have prepared is used up first, and waiting helps nobody.
        while let Some((place, prepared)) = done.try_recv().ok().or_else(&take).or_else(|| done.recv().ok()) {
            early.insert(place, prepared);
            while let Some(prepared) = early.remove(&wanted) {
                each(prepared);
                wanted += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn keeps_the_order_on_any_number_of_threads(count in 0usize..1000, threads in 1usize..6) {
            let items: Vec<usize> = (0..count).collect();
            let mut seen = Vec::new();
            in_order(&items, threads, |chunk| chunk.iter().map(|item| item * 2).collect::<Vec<_>>(), |chunk| seen.extend(chunk));
            proptest::prop_assert_eq!(seen, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}
