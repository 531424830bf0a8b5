//! What work costs a processor: not how long it takes, which is another machine's matter.

use std::error::Error;
use std::time::Duration;

type Done = Result<(), Box<dyn Error>>;

/// A busy machine's caches make single measurements dear.
const ATTEMPTS: usize = 5;

/// Whether `large` costs less than `times` what `small` does, in one attempt of some.
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

/// How long this thread has a processor for `work`, which must use no other.
fn cost(work: impl Fn() -> Done) -> Result<Duration, Box<dyn Error>> {
    let before = spent()?;
    work()?;
    Ok(spent()? - before)
}

/// How long this thread had a processor.
fn spent() -> Result<Duration, Box<dyn Error>> {
    // It is counted when a thread lets go of one.
    std::thread::sleep(Duration::from_micros(1));
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = counts.split(' ').next().unwrap_or_default().parse()?;
    Ok(Duration::from_nanos(nanoseconds))
}
