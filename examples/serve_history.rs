//! Measures searches of the history in `$OOMDOC_HOME` by a server's clients while incidents are added: `cargo run
//! --release --example serve_history -- 50 30 500 300 1000000` (clients, seconds, searches per second of all clients
//! together or 0 for as many as possible, incidents added per second, incidents at the beginning, which are generated
//! where they are missing). Prints how many searches were answered, the milliseconds they took, and the memory used. It
//! asserts nothing.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use generate::Random;
use oomdoc::internal::history::{self, GroupFilter, GroupOrder, Live, Order, Query, Record, TrendBy};

#[allow(dead_code)]
#[path = "../benches/generate/mod.rs"]
mod generate;

/// Queries, and how many of each hundred ask them; `{}` is replaced by a random number.
const ASKED: [(&str, u64); 14] = [
    // The first page, and bookmarked links.
    ("", 14),
    ("is:open kind:gpu_oom", 8),
    ("is:open cluster:node-*", 6),
    ("cause:kv_cache_overcommit since:30d", 6),
    ("framework:verl phase:rollout", 6),
    ("model:qwen2.5-72b", 6),
    // A user types a query.
    ("opt", 5),
    ("optimizer", 8),
    ("node-{}", 12),
    ("host:node-{} since:90d", 8),
    ("optimzer kind:host_oom_ray", 4),
    ("\"pinned memory\"", 7),
    ("显存不足 framework:verl", 4),
    ("requested:>2GiB model:llama node-{}", 6),
];

fn main() -> Result<(), Box<dyn Error>> {
    let home = PathBuf::from(std::env::var_os("OOMDOC_HOME").ok_or("OOMDOC_HOME names no folder")?);
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let mut next = |otherwise: u64| words.next().unwrap_or(Ok(otherwise));
    let (clients, seconds, searches, incidents, least) = (next(50)?, next(30)?, next(500)?, next(300)?, next(0)?);
    let mut store = history::drain(&home, Duration::from_secs(3))?;
    for begin in (store.count("incidents")?..least).step_by(1024) {
        let records: Result<Vec<Record>, _> = (begin..least.min(begin + 1024)).map(record).collect();
        history::add(&mut store, &records?)?;
    }
    let begun = Instant::now();
    let live = Live::open(&store)?;
    println!("opened in {:.1} s, {} incidents", begun.elapsed().as_secs_f64(), store.count("incidents")?);
    let (is_over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let times: Mutex<Vec<(u64, usize, u64)>> = Mutex::default();
    let before = processor();
    let mut followed = Vec::new();
    let mut added = 0;
    thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        for client in 0..clients {
            let (live, is_over, answered, times) = (&live, &is_over, &answered, &times);
            scope.spawn(move || {
                let mut random = Random::new(0x9e37_79b9 * (client + 1));
                let pause = Duration::from_secs_f64(clients as f64 / searches.max(1) as f64);
                let mut due = Instant::now() + pause.mul_f64(client as f64 / clients as f64);
                let mut own = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    // Time counts from when the search was due, so that waiting for a turn is included.
                    let begun = if searches == 0 { Instant::now() } else { due };
                    let before = worked();
                    let which = ask(live, &mut random);
                    own.push((begun.elapsed().as_micros() as u64, which, worked() - before));
                    answered.fetch_add(1, Ordering::Relaxed);
                    due = if searches == 0 { Instant::now() } else { due + pause };
                }
                if let Ok(mut times) = times.lock() {
                    times.extend(own);
                }
            });
        }
        let kept = store.count("incidents")?;
        let begun = Instant::now();
        for second in 1..=seconds {
            let records: Result<Vec<Record>, _> = (0..incidents).map(|number| record(kept + added + number)).collect();
            // Committed in batches, as a server does with incidents that arrive together.
            for records in records?.chunks(30) {
                added += history::add(&mut store, records)? as u64;
            }
            let moment = Instant::now();
            live.follow(&store)?;
            followed.push(moment.elapsed().as_micros() as u64);
            thread::sleep((begun + Duration::from_secs(second)).saturating_duration_since(Instant::now()));
        }
        is_over.store(true, Ordering::Relaxed);
        Ok(())
    })?;
    let times = times.into_inner()?;
    let of = |which: Option<usize>| -> Vec<u64> {
        times.iter().filter(|(_, of, _)| which.is_none_or(|which| which == *of)).map(|(time, ..)| *time).collect()
    };
    println!(
        "{} answers in {seconds} s, {} a second; {added} incidents came in; load {}",
        answered.load(Ordering::Relaxed),
        answered.load(Ordering::Relaxed) / seconds.max(1),
        std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()
    );
    println!("processor: {:.1} s of {seconds} s, all that is measured here together", processor() - before);
    println!("all: {}", spread(of(None)));
    println!("a processor worked for: {}", spread(times.iter().map(|(_, _, worked)| *worked).collect()));
    println!("following: {}", spread(followed));
    for (which, name) in ASKED.iter().map(|(words, _)| *words).chain(["groups", "trends", "similar"]).enumerate() {
        println!("{name:40} {}", spread(of(Some(which))));
    }
    print!("{}", memory());
    let begun = Instant::now();
    history::settle(&mut store, &live)?;
    println!("snapshot written in {} ms", begun.elapsed().as_millis());
    Ok(())
}

/// Makes one random request, and returns which one.
fn ask(live: &Live, random: &mut Random) -> usize {
    let mut lot = random.below(106);
    let number = random.below(400);
    for (which, (words, of_hundred)) in ASKED.iter().enumerate() {
        if lot < *of_hundred {
            let words = words.replace("{}", &format!("{number:03}"));
            let query: Query = words.parse().unwrap_or_default();
            let found = live.search(&query, Order::Relevance, None, 25);
            // Some users look at the next page, too.
            if let Ok(found) = found
                && random.below(10) == 0
            {
                let _ = live.search(&query, Order::Relevance, found.next.as_ref(), 25);
            }
            return which;
        }
        lot -= of_hundred;
    }
    let all = Query::default();
    match lot % 3 {
        0 => drop(live.groups(&all, GroupFilter::All, GroupOrder::Last, None, 25)),
        1 => drop(live.trends(&all, TrendBy::Cause, 26, 6)),
        _ => {
            if let Ok(record) = record(random.below(100_000)) {
                drop(live.similar(&record, 5));
            }
        }
    }
    ASKED.len() + (lot % 3) as usize
}

/// A pseudo-random incident; the same number gives the same one.
fn record(number: u64) -> Result<Record, serde_json::Error> {
    let mut line = generate::incidents::incident(7, number);
    serde_json::from_value(line["incident"].take())
}

fn spread(mut times: Vec<u64>) -> String {
    times.sort_unstable();
    let at = |share: f64| times.get(((times.len().max(1) - 1) as f64 * share) as usize).copied().unwrap_or(0) as f64;
    let [half, most, worst] = [0.5, 0.99, 1.0].map(|share| at(share) / 1000.0);
    format!("{:7} times, median {half:7.2} ms, 99 % within {most:7.2} ms, all within {worst:7.2} ms", times.len())
}

/// Processor seconds of this process, which do not grow where other processes keep the machine busy.
fn processor() -> f64 {
    let words = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The fields after the name begin with the state; fields 11 and 12 (from 0) are user and system time in hundredths
    // of a second.
    let of = |place: usize| words.rsplit(')').next()?.split_whitespace().nth(place)?.parse::<f64>().ok();
    (of(11).unwrap_or(0.0) + of(12).unwrap_or(0.0)) / 100.0
}

/// Processor microseconds of this thread: the time an answer would take on an idle machine.
fn worked() -> u64 {
    let words = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    words.split_whitespace().next().and_then(|nanoseconds| nanoseconds.parse::<u64>().ok()).unwrap_or(0) / 1000
}

/// The kernel's figures on this process's memory.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines =
        status.lines().filter(|line| ["VmHWM", "VmRSS", "RssAnon", "RssFile"].iter().any(|of| line.starts_with(of)));
    lines.map(|line| format!("{line}\n")).collect()
}
