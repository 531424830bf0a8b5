//! What was acknowledged is still there after a disk was full or failed, and no process waits for ever.
//!
//! A writer runs with a small library between it and the system (`failing_disk/faults.c`). The library lets the
//! writer's changes to files fail: the first, the second, and so on, either once or from that change on; or it limits
//! the total size of all files. An ignored test does the same with real disks, which only root can mount. OOMDOC_LONG=1
//! tries every change and more rounds; OOMDOC_SEED chooses the changes.

#![cfg(target_os = "linux")]

mod writers;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use oomdoc::internal::history::{self, Order, Query};
use oomdoc::internal::store::{Change, Store};

use writers::{KEPT, incident};

use crate::support::disks::{Disk, HANGS, is_long, library, seed};
use crate::support::generate;

type Done = Result<(), Box<dyn Error>>;

/// Number of writers that run at the same time.
const AT_ONCE: usize = 2;
/// Number of faults tried without OOMDOC_LONG.
const SOME: usize = 60;
const NO_SPACE: i32 = 28;
const NO_DEVICE: i32 = 5;

/// What goes wrong.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Nothing,
    /// Change number `number` fails with `error`; with `on`, all later changes fail, too.
    At {
        number: u64,
        error: i32,
        on: bool,
    },
    /// The disk has this much room, in MB.
    Room(u64),
}

/// Builds the library that makes changes fail.
fn faulty(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    library("failing_disk/faults.c", folder)
}

/// Runs `writer` on `home` until it ends, or kills it after `killed`. Returns what it acknowledged, and how many
/// changes it made.
fn write(
    writer: &str,
    home: &Path,
    library: Option<&Path>,
    fault: Fault,
    killed: Option<Duration>,
) -> Result<(BTreeSet<String>, u64), Box<dyn Error>> {
    let root = home.parent().ok_or("no root")?;
    let count = tempfile::NamedTempFile::new()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        &format!("failing_disk::writers::{writer}"),
        "--exact",
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env("WRITER_HOME", home).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(library) = library {
        command.env("LD_PRELOAD", library).env("FAULT_ROOT", root).env("FAULT_COUNT", count.path());
    }
    match fault {
        Fault::Nothing => {}
        Fault::Room(megabytes) => drop(command.env("FAULT_ROOM", (megabytes << 20).to_string())),
        Fault::At { number, error, on } => {
            command.env("FAULT_AT", number.to_string()).env("FAULT_ERROR", error.to_string());
            on.then(|| command.env("FAULT_ON", "1"));
        }
    }
    let begun = Instant::now();
    let mut child = command.spawn()?;
    let out = child.stdout.take().ok_or("no output")?;
    let said = thread::spawn(move || BufReader::new(out).lines().map_while(Result::ok).collect::<Vec<String>>());
    let ended = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if begun.elapsed() > killed.unwrap_or(HANGS) => break None,
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    if ended.is_none() {
        child.kill()?;
        child.wait()?;
    }
    let said = said.join().map_err(|_| "the output cannot be read")?;
    match ended {
        None if killed.is_none() => return Err(format!("{fault:?}: it hung behind {:?}", said.last()).into()),
        Some(status) if !status.success() => return Err(format!("{fault:?}: {status}, {said:?}").into()),
        _ => {}
    }
    let kept = said.iter().filter_map(|line| line.strip_prefix(KEPT).map(str::to_owned)).collect();
    let count = fs::read_to_string(count.path())?.trim().parse().unwrap_or(0);
    if library.is_some() && killed.is_none() && count == 0 {
        return Err("no change was counted: does LD_PRELOAD work here?".into());
    }
    Ok((kept, count))
}

/// Checks that the store in `home` opens, is undamaged, holds all of `kept`, exports it and accepts more.
fn is_whole(home: &Path, kept: &BTreeSet<String>, when: &str) -> Done {
    let said = |error: &dyn std::fmt::Display| format!("{when}: {error}");
    // Asked before the store is opened for writing, because the index may have fallen behind.
    let found = history::ask(home, &Query::default(), Order::Time, 0, usize::MAX).map_err(|error| said(&error))?.found;
    let found: BTreeSet<String> = found.incidents.into_iter().map(|document| document.id).collect();
    let mut store = history::drain(home, HANGS).map_err(|error| said(&error))?;
    store.verify().map_err(|error| said(&error))?;
    let mut lines = Vec::new();
    history::export(&store, &mut lines).map_err(|error| said(&error))?;
    let lines = String::from_utf8(lines)?;
    for what in kept {
        match what.split_once(' ') {
            Some(("incident", id)) => {
                assert!(found.contains(id), "{when}: {id} is not found");
                assert!(lines.contains(&format!("\"id\":\"{id}\"")), "{when}: {id} is not exported");
            }
            Some(("told", id)) => {
                assert!(!history::outcomes(&store, Some(id))?.is_empty(), "{when}: what was told of {id} is lost")
            }
            Some((_, key)) => assert!(store.get(key)?.is_some(), "{when}: {key} is lost"),
            None => return Err(format!("{what:?} makes no sense").into()),
        }
    }
    let (more, _) = incident(99_000_000)?;
    history::add(&mut store, std::slice::from_ref(&more)).map_err(|error| said(&error))?;
    store.commit(&[Change::put("test/more", "x")]).map_err(|error| said(&error))?;
    assert!(history::publish(&mut store).map_err(|error| said(&error))?.is_none(), "{when}: no index");
    drop(store);
    let store = history::drain(home, HANGS).map_err(|error| said(&error))?;
    assert!(history::find(&store, &more.incident.id).is_ok(), "{when}: nothing more is taken");
    Ok(())
}

/// Runs `writer` once with each of `faults`.
fn each(writer: &str, library: &Path, faults: &[Fault]) -> Done {
    let next = Mutex::new(faults.iter());
    let run = || -> Result<(), String> {
        loop {
            let Some(fault) = next.lock().map_err(|_| "see above")?.next() else { return Ok(()) };
            let disk = tempfile::tempdir().map_err(|error| error.to_string())?;
            let home = disk.path().join("home");
            let written = write(writer, &home, Some(library), *fault, None);
            let kept = written.map_err(|error| error.to_string())?.0;
            is_whole(&home, &kept, &format!("{fault:?}")).map_err(|error| error.to_string())?;
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(run)).collect();
        threads.into_iter().try_for_each(|thread| Ok(thread.join().map_err(|_| "see above")??))
    })
}

/// Every change that `writer` makes to a file, with each way in which it may fail.
fn faults(writer: &str, library: &Path) -> Result<Vec<Fault>, Box<dyn Error>> {
    let disk = tempfile::tempdir()?;
    let (kept, changes) = write(writer, &disk.path().join("home"), Some(library), Fault::Nothing, None)?;
    assert!(kept.len() >= 6 && changes > 30, "{kept:?}, {changes} changes");
    let at = |number| {
        [(NO_DEVICE, false), (NO_SPACE, false), (NO_SPACE, true)].map(|(error, on)| Fault::At { number, error, on })
    };
    println!("{writer} makes {changes} changes to files");
    Ok((1..=changes).flat_map(at).collect())
}

/// Shuffles the faults, so that a part of them is of all kinds.
fn shuffled(mut faults: Vec<Fault>) -> Result<Vec<Fault>, Box<dyn Error>> {
    let mut random = generate::Random::new(seed()?);
    for place in (1..faults.len()).rev() {
        faults.swap(place, random.below(place as u64 + 1) as usize);
    }
    Ok(faults)
}

/// Lets each change that `writer` makes to files fail in its own run, or a selection of them.
fn any_write_may_fail(writer: &str) -> Done {
    let folder = tempfile::tempdir()?;
    let library = faulty(folder.path())?;
    let faults = shuffled(faults(writer, &library)?)?;
    each(writer, &library, if is_long() { &faults } else { &faults[..SOME.min(faults.len())] })
}

#[test]
fn any_write_of_a_commit_may_fail() -> Done {
    any_write_may_fail("commits")
}

#[test]
fn any_write_of_a_history_may_fail() -> Done {
    any_write_may_fail("keeps_a_history")
}

/// Fills the disk of `home` three times, the last two times killing the writer; then checks that all is found while the
/// disk is full.
fn fill(
    home: &Path,
    library: Option<&Path>,
    fault: Fault,
    random: &mut generate::Random,
    when: &str,
) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let mut all = BTreeSet::new();
    for round in 0..3 {
        let killed = (round > 0).then(|| Duration::from_millis(30 + random.below(1500)));
        all.extend(write("fills_the_disk", home, library, fault, killed)?.0);
    }
    assert!(all.len() > 20, "{when}: only {} fitted", all.len());
    // Reading needs no room on the disk.
    let store = history::look(home).map_err(|error| format!("{when}, full: {error}"))?;
    for id in all.iter().filter_map(|what| what.strip_prefix("incident ")) {
        assert!(history::find(&store, id).is_ok(), "{when}, full: {id} is lost");
    }
    Ok(all)
}

#[test]
fn a_disk_that_fills_during_an_import_loses_nothing() -> Done {
    let folder = tempfile::tempdir()?;
    let library = faulty(folder.path())?;
    let mut random = generate::Random::new(seed()?);
    for megabytes in if is_long() { vec![3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20] } else { vec![6, 9] } {
        let disk = tempfile::tempdir()?;
        let (home, when) = (disk.path().join("home"), format!("{megabytes} MB"));
        let kept = fill(&home, Some(&library), Fault::Room(megabytes), &mut random, &when)?;
        is_whole(&home, &kept, &when)?;
    }
    Ok(())
}

#[test]
#[ignore = "mounts small disks: as root, cargo test --test it -- --ignored failing_disk::a_mounted"]
fn a_mounted_disk_that_fills_loses_nothing() -> Done {
    let mut random = generate::Random::new(seed()?);
    for round in 0..if is_long() { 30 } else { 5 } {
        let megabytes = [6, 7, 8, 9, 12][round % 5];
        let disk = Disk::of(megabytes)?;
        let (home, when) = (disk.path().join("home"), format!("round {round}, {megabytes} MB"));
        let kept = fill(&home, None, Fault::Nothing, &mut random, &when)?;
        disk.grow(64)?;
        is_whole(&home, &kept, &when)?;
    }
    Ok(())
}
