//! What was acknowledged is still there after a power cut.
//!
//! A small library between a writer and the system (`power_cut/recorder.c`) records the writer's changes to files in
//! order. The test then simulates a power cut after any of these changes. What was synced by then survives. A later
//! write survives not at all, whole, or in pieces of 4 KiB in any order; of the changes to names in a folder, only the
//! first ones survive. Each resulting disk is opened anew, and everything acknowledged must be found. OOMDOC_SEED
//! repeats a run.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oomdoc::internal::history::{self, Order, Query, Record};
use oomdoc::internal::store::{Change, Store};

use crate::support::disks::{HANGS, is_long, library, seed};
use crate::support::generate::{self, Random};

type Done = Result<(), Box<dyn Error>>;

/// The file number that stands for a folder.
const FOLDER: usize = usize::MAX;
/// Bytes that a disk writes at once.
const PIECE: usize = 4096;
/// The file in which the writer acknowledges; it is not part of the simulated disk.
const ACKNOWLEDGED: &str = "acknowledged";

fn record(number: u64) -> Result<Record, Box<dyn Error>> {
    let mut line = generate::incidents::incident(13, number);
    Ok(serde_json::from_value(line["incident"].take())?)
}

/// The writer: opens the store five times, and writes incidents by way of the spool and records that are overwritten
/// repeatedly.
#[test]
#[ignore = "the writer of the other test"]
fn writes_what_is_recorded() -> Done {
    let Some(root) = std::env::var_os("RECORDER_ROOT").map(PathBuf::from) else { return Ok(()) };
    let home = root.join("home");
    let acknowledge = |word: &str| -> Done {
        use std::io::Write;
        let mut file = fs::OpenOptions::new().create(true).append(true).open(root.join(ACKNOWLEDGED))?;
        Ok(file.write_all(word.as_bytes())?)
    };
    let mut number = 0;
    for round in 0..5_u64 {
        for _ in 0..6 {
            let record = record(number)?;
            history::put(&home, &record)?;
            acknowledge(&format!("incident {}", record.incident.id))?;
            number += 1;
        }
        let mut store = history::drain(&home, HANGS)?;
        for turn in 0..6 {
            let value = format!("{} {}", round * 6 + turn, "x".repeat(1500));
            let other = Change::put(format!("test/{round}-{turn}"), vec![7; 3000]);
            store.commit(&[Change::put("test/again", value), other])?;
            acknowledge(&format!("again {}", round * 6 + turn))?;
        }
    }
    Ok(())
}

/// A change that the writer made.
#[derive(Debug)]
enum Recorded {
    Make(PathBuf),
    Folder(PathBuf),
    Write(PathBuf, usize, Vec<u8>),
    Cut(PathBuf, usize),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

/// Parses the recorder's log.
fn read(log: &[u8]) -> Option<Vec<Recorded>> {
    let mut rest = log;
    let mut changes = Vec::new();
    while let Some((op, after)) = rest.split_first() {
        rest = after;
        let path = PathBuf::from(String::from_utf8(bytes(&mut rest)?.to_vec()).ok()?);
        let offset = number(&mut rest)?;
        let data = bytes(&mut rest)?;
        changes.push(match op {
            b'c' => Recorded::Make(path),
            b'd' => Recorded::Folder(path),
            b'w' => Recorded::Write(path, offset, data.to_vec()),
            b't' => Recorded::Cut(path, offset),
            b's' => Recorded::Sync(path),
            b'r' => Recorded::Rename(path, PathBuf::from(String::from_utf8(data.to_vec()).ok()?)),
            b'u' => Recorded::Remove(path),
            _ => return None,
        });
    }
    Some(changes)
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let (number, after) = rest.split_first_chunk::<8>()?;
    *rest = after;
    Some(u64::from_le_bytes(*number) as usize)
}

fn bytes<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = number(rest)?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(bytes)
}

/// A file's content as of its last sync, and the changes since.
#[derive(Debug, Clone, Default)]
struct File {
    safe: Vec<u8>,
    since: Vec<Since>,
}

#[derive(Debug, Clone)]
enum Since {
    Piece(usize, Vec<u8>),
    Cut(usize),
}

impl File {
    fn write(&mut self, offset: usize, data: &[u8]) {
        let mut at = 0;
        while at < data.len() {
            let end = ((offset + at) / PIECE * PIECE + PIECE - offset).min(data.len());
            self.since.push(Since::Piece(offset + at, data[at..end].to_vec()));
            at = end;
        }
    }

    fn sync(&mut self) {
        for since in std::mem::take(&mut self.since) {
            since.apply(&mut self.safe);
        }
    }

    /// A content that a power cut may leave of the file.
    fn left(&self, how: u64, random: &mut Random) -> Vec<u8> {
        let mut content = self.safe.clone();
        for since in &self.since {
            let survives = match how {
                0 => false,
                1 => true,
                _ => random.below(2) == 0,
            };
            if survives {
                since.apply(&mut content);
            }
        }
        content
    }
}

impl Since {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Since::Cut(length) => content.resize(*length, 0),
            Since::Piece(offset, data) => {
                content.resize(content.len().max(offset + data.len()), 0);
                content[*offset..offset + data.len()].copy_from_slice(data);
            }
        }
    }
}

/// A change of a name; files are identified by numbers.
#[derive(Debug, Clone)]
enum Naming {
    Set(PathBuf, usize),
    Unset(PathBuf),
}

/// A disk: its names as programs see them, and as far as they are synced.
#[derive(Debug, Default)]
struct Disk {
    files: Vec<File>,
    now: BTreeMap<PathBuf, usize>,
    safe: BTreeMap<PathBuf, usize>,
    /// Changes of names since their folder was synced, in order.
    since: Vec<Naming>,
    acknowledged: Vec<String>,
}

impl Disk {
    fn apply(&mut self, change: &Recorded) {
        match change {
            Recorded::Folder(path) => self.name(Naming::Set(path.clone(), FOLDER)),
            Recorded::Make(path) => {
                self.files.push(File::default());
                self.name(Naming::Set(path.clone(), self.files.len() - 1));
            }
            Recorded::Write(path, _, data) if path.ends_with(ACKNOWLEDGED) => {
                self.acknowledged.push(String::from_utf8_lossy(data).into_owned());
            }
            Recorded::Write(path, offset, data) => {
                if let Some(file) = self.now.get(path) {
                    self.files[*file].write(*offset, data);
                }
            }
            Recorded::Cut(path, length) => {
                if let Some(file) = self.now.get(path) {
                    self.files[*file].since.push(Since::Cut(*length));
                }
            }
            Recorded::Sync(path) => match self.now.get(path) {
                Some(file) if *file != FOLDER => self.files[*file].sync(),
                _ => self.sync_folder(path),
            },
            Recorded::Rename(from, to) => {
                if let Some(file) = self.now.get(from).copied() {
                    self.name(Naming::Set(to.clone(), file));
                    self.name(Naming::Unset(from.clone()));
                }
            }
            Recorded::Remove(path) => self.name(Naming::Unset(path.clone())),
        }
    }

    fn name(&mut self, naming: Naming) {
        naming.apply(&mut self.now);
        self.since.push(naming);
    }

    fn sync_folder(&mut self, folder: &Path) {
        for naming in std::mem::take(&mut self.since) {
            let (Naming::Set(path, _) | Naming::Unset(path)) = &naming;
            match path.parent() == Some(folder) {
                true => naming.apply(&mut self.safe),
                false => self.since.push(naming),
            }
        }
    }

    /// Writes a state that a power cut may leave below `root`.
    fn cut(&self, from: &Path, root: &Path, random: &mut Random) -> Done {
        let how = random.below(4);
        let mut names = self.safe.clone();
        let first = match how {
            0 => 0,
            1 => self.since.len(),
            _ => random.below(self.since.len() as u64 + 1) as usize,
        };
        self.since[..first].iter().for_each(|naming| naming.apply(&mut names));
        for (path, file) in &names {
            // A file whose folder is gone cannot be found.
            let is_there = |folder: &&Path| names.get(*folder) == Some(&FOLDER);
            if *file == FOLDER
                || !path.ancestors().skip(1).take_while(|folder| *folder != from).all(|folder| is_there(&folder))
            {
                continue;
            }
            // The index can be rebuilt, and its renames bypass the recorder.
            let within = path.strip_prefix(from)?;
            if within.components().any(|part| part.as_os_str().to_string_lossy().starts_with("index")) {
                continue;
            }
            let place = root.join(within);
            fs::create_dir_all(place.parent().ok_or("no folder")?)?;
            fs::write(place, self.files[*file].left(how, random))?;
        }
        Ok(())
    }
}

impl Naming {
    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Naming::Set(path, file) => drop(names.insert(path.clone(), *file)),
            Naming::Unset(path) => drop(names.remove(path)),
        }
    }
}

/// Builds the recorder and runs the writer under it.
fn recorded(root: &Path, folder: &Path) -> Result<Vec<Recorded>, Box<dyn Error>> {
    let library = library("power_cut/recorder.c", folder)?;
    let log = folder.join("log");
    let done = Command::new(std::env::current_exe()?)
        .args(["power_cut::writes_what_is_recorded", "--exact", "--ignored", "--test-threads=1"])
        .env("LD_PRELOAD", &library)
        .env("RECORDER_ROOT", root)
        .env("RECORDER_LOG", &log)
        .output()?;
    if !done.status.success() {
        return Err(format!("the writer failed: {}", String::from_utf8_lossy(&done.stdout)).into());
    }
    let log = fs::read(&log).map_err(|error| format!("nothing was recorded, does LD_PRELOAD work here? {error}"))?;
    Ok(read(&log).ok_or("the record makes no sense")?)
}

/// Checks that the disk below `root` holds everything acknowledged.
fn is_whole(root: &Path, acknowledged: &[String], when: &str) -> Done {
    let home = root.join("home");
    fs::create_dir_all(&home)?;
    let page =
        history::ask(&home, &Query::default(), Order::Time, 0, usize::MAX).map_err(|e| format!("{when}: {e}"))?.found;
    let mut store = history::drain(&home, HANGS).map_err(|error| format!("{when}: {error}"))?;
    store.verify().map_err(|error| format!("{when}: {error}"))?;
    let again = store
        .get("test/again")?
        .and_then(|value| String::from_utf8_lossy(&value).split(' ').next()?.parse::<i64>().ok());
    for word in acknowledged {
        match word.split_once(' ') {
            Some(("incident", id)) => {
                assert!(page.incidents.iter().any(|document| document.id == id), "{when}: {id} is not found");
                history::find(&store, id).map_err(|error| format!("{when}: {error}"))?;
            }
            Some((_, number)) => {
                assert!(again >= number.parse().ok(), "{when}: it is {again:?}, and {number} was acknowledged");
            }
            None => return Err(format!("{word:?} makes no sense").into()),
        }
    }
    Ok(())
}

#[test]
fn a_power_cut_loses_nothing() -> Done {
    let images: u64 = if is_long() { 2000 } else { 200 };
    let seed = seed()?;
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.join("disk");
    fs::create_dir(&root)?;
    let changes = recorded(&root, folder.path())?;
    assert!(
        changes.iter().any(|change| matches!(change, Recorded::Sync(path) if path.ends_with("store/journal"))),
        "no sync was seen"
    );
    let mut random = Random::new(seed);
    let mut places: Vec<usize> = (0..images)
        // Every fourth cut falls into the first tenth of the changes: creating the store, where most can go wrong.
        .map(|image| random.below(changes.len() as u64 / if image % 4 == 0 { 10 } else { 1 } + 1) as usize)
        .collect();
    places.sort_unstable();
    let mut disk = Disk::default();
    let mut done = 0;
    std::thread::scope(|scope| -> Done {
        let mut checks = Vec::new();
        for place in places {
            changes[done..place].iter().for_each(|change| disk.apply(change));
            done = place;
            let image = tempfile::tempdir_in(folder.path())?;
            disk.cut(&root, image.path(), &mut random)?;
            let acknowledged = disk.acknowledged.clone();
            let when = format!("cut after change {place} of {}", changes.len());
            checks.push(
                scope.spawn(move || is_whole(image.path(), &acknowledged, &when).map_err(|error| error.to_string())),
            );
            if checks.len() == 4 {
                for check in checks.drain(..) {
                    check.join().map_err(|_| "see above")??;
                }
            }
        }
        for check in checks {
            check.join().map_err(|_| "see above")??;
        }
        Ok(())
    })
}
