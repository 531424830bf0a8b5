use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Mutex;

/// Calls `ask`; returns `None` if it panics, and suppresses the panic's message.
pub(crate) fn quietly<T>(ask: impl FnOnce() -> T) -> Option<T> {
    static QUIET: Mutex<()> = Mutex::new(());
    thread_local! {
        static IS_QUIET: Cell<bool> = const { Cell::new(false) };
    }
    if IS_QUIET.replace(true) {
        return catch_unwind(AssertUnwindSafe(ask)).ok();
    }
    let one_at_a_time = QUIET.lock();
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let answer = catch_unwind(AssertUnwindSafe(ask));
    set_hook(hook);
    drop(one_at_a_time);
    IS_QUIET.set(false);
    answer.ok()
}
