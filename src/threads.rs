//! Shares work out among threads.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does `work` for each of `items` on `threads` threads, the current one included.
pub(crate) fn each<T>(items: impl Iterator<Item = T> + Send, threads: usize, work: impl Fn(T) + Sync) {
    let queue = Mutex::new(items);
    let take = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(item) = next else { return };
            work(item);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(take);
        }
        take();
    });
}

/// What `work` makes of each of `items`, in their order, on `threads` threads.
pub(crate) fn map<I: Send, O: Send>(items: Vec<I>, threads: usize, work: impl Fn(I) -> O + Sync) -> Vec<O> {
    let made = Mutex::new(Vec::with_capacity(items.len()));
    let threads = threads.min(items.len());
    each(items.into_iter().enumerate(), threads, |(place, item)| {
        let one = (place, work(item));
        made.lock().unwrap_or_else(PoisonError::into_inner).push(one);
    });
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_unstable_by_key(|(place, _)| *place);
    made.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_several_threads_make_keeps_its_order() {
        for threads in 0..5 {
            assert_eq!(super::map((0..100).collect(), threads, |item| item * 2), Vec::from_iter((0..200).step_by(2)));
        }
    }
}
