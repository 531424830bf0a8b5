//! Processor time of work, which depends less on the machine's load than elapsed time.

use std::error::Error;
use std::time::Duration;

type Done = Result<(), Box<dyn Error>>;

/// Other processes on the machine disturb the caches, so a single measurement may be too high.
const ATTEMPTS: usize = 5;

/// Checks that `large` costs less than `times` as much as `small` in at least one of several attempts.
pub fn is_within(times: u32, small: impl Fn() -> Done, large: impl Fn() -> Done) -> Done {
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let (small, large) = (cost(&small)?, cost(&large)?);
        if large < small * times {
            return Ok(());
        }
        seen.push((small, large));
    }
    Err(format!("each time it cost more than {times} times as much: {seen:?}").into())
}

/// Processor time of this thread for `work`, which must not use other threads.
fn cost(work: impl Fn() -> Done) -> Result<Duration, Box<dyn Error>> {
    let before = spent()?;
    work()?;
    Ok(spent()? - before)
}

/// Processor time of this thread so far.
fn spent() -> Result<Duration, Box<dyn Error>> {
    // The count is updated when the thread yields the processor.
    std::thread::sleep(Duration::from_micros(1));
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = counts.split(' ').next().unwrap_or_default().parse()?;
    Ok(Duration::from_nanos(nanoseconds))
}
