//! What was acknowledged is still there and is found after a crash: killed processes and full disks.
//!
//! The writers are this test program again, started as its ignored tests. OOMDOC_LONG=1 runs ten times as many rounds;
//! OOMDOC_SEED chooses when they are killed.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use oomdoc::internal::history::{self, Order, Query, Record};
use oomdoc::internal::redact::Redactor;
use oomdoc::internal::store::DiskStore;

use crate::support::disks::{self, HANGS, is_long, seed};
use crate::support::generate;

type Done = Result<(), Box<dyn Error>>;

fn record(number: u64) -> Result<Record, Box<dyn Error>> {
    let mut line = generate::incidents::incident(11, number);
    Ok(serde_json::from_value(line["incident"].take())?)
}

/// A writing process and the ids it has reported as safe. Dropping it kills the process.
struct Writer {
    child: Child,
    said: Receiver<String>,
}

impl Writer {
    fn of(mut command: Command) -> Result<Writer, Box<dyn Error>> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        let (says, said) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(out).lines().map_while(Result::ok);
            let ids = lines.filter_map(|line| Some(line.strip_prefix("safe ")?.to_owned()).filter(|id| id.len() == 16));
            ids.map(|id| says.send(id)).take_while(Result::is_ok).count()
        });
        Ok(Writer { child, said })
    }

    /// Starts this program as the writer `name` on `home`, beginning with incident `from`.
    fn named(name: &str, home: &Path, from: u64) -> Result<Writer, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([&format!("crash::{name}"), "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
        command.env("CRASH_HOME", home).env("CRASH_FROM", from.to_string());
        Writer::of(command)
    }

    /// The next `most` ids reported as safe; fewer if the writer ends earlier.
    fn safe(&self, most: usize) -> Result<Vec<String>, Box<dyn Error>> {
        let mut ids = Vec::new();
        while ids.len() < most {
            match self.said.recv_timeout(HANGS) {
                Ok(id) => ids.push(id),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("the writer hangs behind {:?}", ids.last()).into());
                }
            }
        }
        Ok(ids)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// The arguments of a writer. None where the ignored tests are merely run with the others.
fn told() -> Option<(std::path::PathBuf, u64)> {
    let home = std::env::var_os("CRASH_HOME")?;
    Some((home.into(), std::env::var("CRASH_FROM").ok()?.parse().ok()?))
}

/// Reports `id` as safe.
fn acknowledge(id: &str) -> Done {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nsafe {id}")?;
    Ok(out.flush()?)
}

/// Checks that a search finds all of `ids`, each once.
fn is_found(home: &Path, ids: &BTreeSet<String>, when: &str) -> Done {
    let page = history::ask(home, &Query::default(), Order::Time, 0, usize::MAX)?.found;
    let found: BTreeSet<String> = page.incidents.iter().map(|document| document.id.clone()).collect();
    assert_eq!(found.len(), page.incidents.len(), "{when}: some are found twice");
    let lost: Vec<&String> = ids.difference(&found).collect();
    assert!(lost.is_empty(), "{when}: {lost:?} are lost of {}", ids.len());
    Ok(())
}

/// Checks that the store is undamaged and holds all of `ids`, and that the index agrees with it.
fn is_kept(home: &Path, ids: &BTreeSet<String>, when: &str) -> Done {
    let mut store = history::drain(home, HANGS)?;
    store.verify()?;
    let mut kept = BTreeSet::new();
    history::records(&store, &mut |record| {
        kept.insert(record.incident.id);
        Ok(())
    })?;
    assert!(ids.is_subset(&kept), "{when}: {:?} are lost", ids.difference(&kept).collect::<Vec<_>>());
    if let Some(error) = history::publish(&mut store)? {
        return Err(format!("{when}: {error}").into());
    }
    let answer = history::ask(home, &Query::default(), Order::Time, 0, usize::MAX)?;
    assert!(answer.without_index.is_none(), "{when}: {:?}", answer.without_index);
    assert_eq!(answer.found.total, kept.len(), "{when}");
    Ok(())
}

#[test]
#[ignore = "a writer of the other tests"]
fn writes_until_it_is_killed() -> Done {
    let Some((home, from)) = told() else { return Ok(()) };
    for number in from.. {
        let record = record(number)?;
        history::put(&home, &record)?;
        acknowledge(&record.incident.id)?;
        match number % 4 {
            1 => drop(history::drain(&home, HANGS)?),
            2 => drop(history::drain(&home, HANGS)?.compact()?),
            // A writer that imports incidents which never were in the spool.
            3 => {
                let mut store = history::drain(&home, HANGS)?;
                let line = generate::incidents::incident(12, number).to_string();
                history::import(&mut store, &mut line.as_bytes(), &Redactor::new(&[])?)?;
                history::publish(&mut store)?;
                let id = generate::incidents::incident(12, number)["incident"]["incident"]["id"].clone();
                acknowledge(id.as_str().ok_or("no id")?)?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[test]
#[ignore = "a writer of the other tests"]
fn dies_between_store_and_index() -> Done {
    let Some((home, from)) = told() else { return Ok(()) };
    let record = record(from)?;
    history::put(&home, &record)?;
    acknowledge(&record.incident.id)?;
    let mut store = DiskStore::open_within(&home, HANGS)?;
    history::add(&mut store, std::slice::from_ref(&record))?;
    if from % 2 == 0 {
        // Dies after index and snapshot were written and before the file in the spool is removed.
        history::publish(&mut store)?;
    }
    std::process::abort()
}

#[test]
fn whoever_is_killed_loses_nothing() -> Done {
    let mut random = generate::Random::new(seed()?);
    let home = tempfile::tempdir()?;
    let mut ids = BTreeSet::new();
    for round in 0..if is_long() { 300 } else { 30 } {
        let from = 1_000_000 * (round + 1);
        let when = format!("round {round}");
        if round % 5 == 4 {
            let mut writer = Writer::named("dies_between_store_and_index", home.path(), from + round / 5)?;
            let safe = writer.safe(usize::MAX)?;
            assert!(safe.len() == 1 && !writer.child.wait()?.success(), "{when}: it did not die");
            ids.extend(safe);
        } else {
            let mut writer = Writer::named("writes_until_it_is_killed", home.path(), from)?;
            // It is killed while starting, or at some moment after that many incidents.
            let least = if round % 3 == 0 { 0 } else { 1 + random.below(10) as usize };
            let safe = writer.safe(least)?;
            assert_eq!(safe.len(), least, "{when}: it ended by itself");
            ids.extend(safe);
            thread::sleep(Duration::from_millis(1 + random.below(60)));
            writer.child.kill()?;
            writer.child.wait()?;
            ids.extend(writer.safe(usize::MAX)?);
        }
        // The incidents must be found at once, and must be in the store after the next writer has recovered it.
        is_found(home.path(), &ids, &when)?;
        if round % 3 == 2 {
            is_kept(home.path(), &ids, &when)?;
        }
    }
    is_kept(home.path(), &ids, "at the end")
}

#[test]
#[ignore = "a writer of the other tests"]
fn writes_until_nothing_fits() -> Done {
    let Some((home, from)) = told() else { return Ok(()) };
    let mut failures = 0;
    for number in from.. {
        let record = record(number)?;
        match history::put(&home, &record) {
            Ok(_) => acknowledge(&record.incident.id)?,
            Err(_) => failures += 1,
        }
        if number % 8 == 7 && history::drain(&home, HANGS).is_err() {
            failures += 1;
        }
        if failures > 12 {
            break;
        }
    }
    Ok(())
}

/// Lets a writer fill the disk of `home`, makes room, and checks what it acknowledged. The shell commands `before` run
/// before the writer.
#[cfg(target_os = "linux")]
fn fills(home: &Path, before: &str, make_room: impl FnOnce() -> Done) -> Done {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{before} exec \"$0\" crash::writes_until_nothing_fits --exact --ignored --nocapture")])
        .arg(std::env::current_exe()?)
        .env("CRASH_HOME", home)
        .env("CRASH_FROM", "0");
    let mut writer = Writer::of(command)?;
    let ids: BTreeSet<String> = writer.safe(usize::MAX)?.into_iter().collect();
    assert!(writer.child.wait()?.success(), "a full disk is an answer, not an end");
    assert!(ids.len() > 8, "only {} fitted", ids.len());
    make_room()?;
    is_found(home, &ids, "with room again")?;
    is_kept(home, &ids, "with room again")
}

/// No file may grow beyond 700 KiB, so the store has room for no more than one segment.
#[cfg(target_os = "linux")]
#[test]
fn files_that_cannot_grow_lose_nothing() -> Done {
    let home = tempfile::tempdir()?;
    fills(home.path(), "trap '' XFSZ; ulimit -f 1400;", || Ok(()))
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "mounts a small disk: as root, cargo test --test it -- --ignored crash::a_mounted"]
fn a_mounted_disk_that_is_full_loses_nothing() -> Done {
    let disk = disks::Disk::of(5)?;
    fills(&disk.path().join("home"), "", || disk.grow(64))
}

#[test]
fn processes_that_analyse_at_once_lose_nothing() -> Done {
    const PROCESSES: u64 = 8;
    let each = if is_long() { 200 } else { 5 };
    let home = tempfile::tempdir()?;
    let folder = tempfile::tempdir()?;
    let analyze = |process: u64| -> Result<(), String> {
        for round in 0..each {
            let path = folder.path().join(format!("{process}-{round}.log"));
            let log = format!(
                "Traceback (most recent call last):\n  File \"/job/train.py\", line 210, in step\n    loss.backward()\n\
                 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}.{round:03} GiB. GPU 0 has a total capacity of \
                 79.15 GiB of which 1.12 GiB is free.\n",
                2 + process
            );
            fs::write(&path, log).map_err(|error| error.to_string())?;
            let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
            command.arg("analyze").arg(&path).env("OOMDOC_HOME", home.path()).stdout(Stdio::null());
            match command.status() {
                Ok(status) if status.success() => {}
                other => return Err(format!("{other:?}")),
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let processes: Vec<_> = (0..PROCESSES).map(|process| scope.spawn(move || analyze(process))).collect();
        processes.into_iter().try_for_each(|process| process.join().map_err(|_| "a thread failed".to_owned())?)
    })?;
    let page = history::ask(home.path(), &Query::default(), Order::Time, 0, usize::MAX)?.found;
    assert_eq!(page.total as u64, PROCESSES * each);
    let mut store = history::drain(home.path(), HANGS)?;
    store.verify()?;
    assert_eq!(history::stats(&store, &history::Query::default())?.total, PROCESSES * each);
    Ok(())
}
