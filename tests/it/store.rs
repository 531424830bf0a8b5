//! The store keeps what it accepted, on disk and in memory alike, and reports what does not fit.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oomdoc::internal::knowledge::RuleFile;
use oomdoc::internal::store::{
    Change, DiskStore, MemoryStore, RuleChanges, Snapshot, Store, StoreError, View, import_rules, own_rules,
    remove_rules, salvage,
};
use proptest::prelude::*;

use crate::support::home::{self, copy_folder};

type Outcome = Result<(), Box<dyn Error>>;

/// Waits for the locks, because a store that was just dropped may release them a moment later.
fn open(home: &Path) -> Result<DiskStore, StoreError> {
    DiskStore::open_within(home, home::HANGS)
}

fn all(store: &dyn Store, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    let mut records = Vec::new();
    store.scan(prefix, &mut |key, value| records.push((key.to_owned(), value.to_owned())))?;
    Ok(records)
}

fn behind(store: &dyn Store, prefix: &str, after: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    let mut records = Vec::new();
    store.scan_after(prefix, Some(after), &mut |key, value| records.push((key.to_owned(), value.to_owned())))?;
    Ok(records)
}

/// The error of a store that must fail to open.
fn refusal(home: &Path) -> Result<StoreError, Box<dyn Error>> {
    open(home).err().ok_or_else(|| "it opened".into())
}

/// A home with two records and a snapshot, and the path of sled's file.
fn home() -> Result<(tempfile::TempDir, PathBuf), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let mut store = open(home.path())?;
    store.commit(&[Change::put("rules/user/a", "one"), Change::put("rules/user/b", vec![7; 40_000])])?;
    Snapshot::of(&store)?.write(home.path())?;
    drop(store);
    let data = home.path().join("store/sled/db");
    Ok((home, data))
}

#[test]
fn what_was_committed_is_there_after_reopening() -> Outcome {
    let (home, _) = home()?;
    let mut store = open(home.path())?;
    assert_eq!((store.change(), store.verify()?), (1, 2));
    assert_eq!(store.get("rules/user/a")?.as_deref(), Some(&b"one"[..]));
    assert_eq!(store.commit(&[Change::remove("rules/user/a"), Change::put("incidents/1", "x")])?, 2);
    drop(store);
    let mut store = open(home.path())?;
    assert_eq!((store.change(), store.verify()?), (2, 2));
    assert_eq!(store.get("rules/user/a")?, None);
    assert_eq!(all(&store, "rules/")?.len(), 1);
    Ok(())
}

#[test]
fn a_change_is_made_whole_or_not_at_all() -> Outcome {
    let (home, _) = home()?;
    let too_large = [Change::put("rules/user/c", "small"), Change::put("rules/user/d", vec![0; 65 << 10])];
    let (mut disk, mut memory) = (open(home.path())?, MemoryStore::default());
    for store in [&mut disk as &mut dyn Store, &mut memory] {
        let before = store.change();
        assert!(matches!(store.commit(&too_large), Err(StoreError::TooLarge { .. })));
        assert_eq!((store.get("rules/user/c")?, store.change()), (None, before));
    }
    Ok(())
}

#[test]
fn one_process_has_it_and_says_so() -> Outcome {
    let (home, _) = home()?;
    let _first = open(home.path())?;
    let error = DiskStore::open_within(home.path(), Duration::ZERO).err().ok_or("it opened twice")?;
    let holder = format!("process {}", std::process::id());
    assert!(matches!(&error, StoreError::Busy { holder: said, .. } if said.contains(&holder)), "{error}");
    assert!(error.advice().contains("wait"));
    Ok(())
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() -> Outcome {
    let home = tempfile::tempdir()?;
    let theirs = home.path().join("store/notes.txt");
    fs::create_dir(home.path().join("store"))?;
    fs::write(&theirs, "mine")?;
    assert!(matches!(refusal(home.path())?, StoreError::Foreign { .. }));
    assert_eq!(fs::read_dir(home.path().join("store"))?.count(), 1, "nothing was written");
    Ok(())
}

#[test]
fn a_newer_format_is_left_alone() -> Outcome {
    let (home, _) = home()?;
    let marker = home.path().join("store/FORMAT");
    let newer = fs::read_to_string(&marker)?.replace("format 3", "format 4");
    fs::write(&marker, &newer)?;
    let error = refusal(home.path())?;
    assert!(matches!(error, StoreError::Newer { found: 4, known: 3, .. }), "{error}");
    assert!(error.advice().contains("newer oomdoc"));
    assert_eq!(fs::read_to_string(&marker)?, newer);
    Ok(())
}

#[test]
fn a_store_that_lost_its_records_is_not_taken_for_an_empty_one() -> Outcome {
    let (home, _) = home()?;
    fs::remove_file(home.path().join("store/journal"))?;
    let error = refusal(home.path())?;
    assert!(matches!(error, StoreError::Damaged { .. }) && error.advice().contains("salvage"), "{error}");
    assert!(View::of(home.path()).is_err());
    assert_eq!(salvage(home.path())?.records, 2, "sled had them");
    assert_eq!(open(home.path())?.verify()?, 2);
    Ok(())
}

#[test]
fn what_sled_lost_is_found_in_the_journal() -> Outcome {
    let (home, data) = home()?;
    fs::remove_dir_all(home.path().join("store/sled"))?;
    let mut store = open(home.path())?;
    assert_eq!((store.change(), store.verify()?, data.exists()), (1, 2, true));
    Ok(())
}

#[test]
fn a_deleted_marker_is_no_empty_store() -> Outcome {
    let (home, _) = home()?;
    fs::remove_file(home.path().join("store/FORMAT"))?;
    assert!(DiskStore::is_in(home.path()));
    let error = refusal(home.path())?;
    assert!(matches!(error, StoreError::Damaged { .. }) && error.advice().contains("salvage"), "{error}");
    assert!(matches!(View::of(home.path()), Err(StoreError::Damaged { .. })));
    assert_eq!(salvage(home.path())?.records, 2);
    assert_eq!(all(&open(home.path())?, "rules/")?.len(), 2);
    Ok(())
}

#[test]
fn a_store_that_went_back_in_time_is_noticed() -> Outcome {
    let (home, _) = home()?;
    let journal = home.path().join("store/journal");
    let before = fs::read(&journal)?;
    let mut store = open(home.path())?;
    store.commit(&[Change::put("rules/user/c", "three")])?;
    Snapshot::of(&store)?.write(home.path())?;
    drop(store);
    fs::write(&journal, before)?;
    let error = refusal(home.path())?;
    assert!(matches!(error, StoreError::RolledBack { found: 1, seen: 2, .. }), "{error}");
    assert!(matches!(View::of(home.path()), Err(StoreError::RolledBack { .. })));
    let found = salvage(home.path())?;
    assert_eq!((found.records, found.gaps), (3, 0), "sled is not older");
    let store = open(home.path())?;
    assert_eq!((store.get("rules/user/c")?.as_deref(), store.change()), (Some(&b"three"[..]), 3));
    Ok(())
}

#[test]
fn a_journal_that_lost_its_end_is_noticed_while_sled_has_it() -> Outcome {
    let (home, _) = home()?;
    fs::remove_file(home.path().join("snapshot"))?;
    let journal = home.path().join("store/journal");
    let before = fs::read(&journal)?;
    open(home.path())?.commit(&[Change::put("rules/user/c", "three")])?;
    let after = fs::read(&journal)?;
    // The journal is cut within its last change.
    fs::write(&journal, &after[..(before.len() + after.len()) / 2])?;
    assert!(matches!(refusal(home.path())?, StoreError::RolledBack { found: 1, seen: 2, .. }));
    assert_eq!(salvage(home.path())?.records, 3);
    assert_eq!(open(home.path())?.verify()?, 3);
    Ok(())
}

/// A home with three hundred records, committed ten at a time, and the path of its journal.
fn full() -> Result<(tempfile::TempDir, PathBuf), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let mut store = open(home.path())?;
    for round in 0..30_u64 {
        let value = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().repeat(20);
        let put = |number| Change::put(format!("incidents/{round:02}-{number}"), value(round * 10 + number));
        store.commit(&(0..10).map(put).collect::<Vec<_>>())?;
    }
    let journal = home.path().join("store/journal");
    Ok((home, journal))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// A flipped bit in a record is always noticed and never copied, and a salvage keeps all other records.
    #[test]
    fn one_bad_bit_costs_one_record_at_most(at in any::<prop::sample::Index>(), bit in 0u8..8, is_sled_lost in any::<bool>()) {
        let check = || -> Outcome {
            let (home, journal) = full()?;
            let mut bytes = fs::read(&journal)?;
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            fs::write(&journal, &bytes)?;
            if is_sled_lost {
                fs::remove_dir_all(home.path().join("store/sled"))?;
            }
            // The bit may lie in an entry whose loss affects no record.
            let Err(error) = View::of(home.path()).map(drop) else { return Ok(()) };
            assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
            if let Ok(mut store) = open(home.path()) {
                assert!(matches!(store.compact(), Err(StoreError::Damaged { .. })));
                assert!(matches!(store.verify(), Err(StoreError::Damaged { .. })));
            }
            assert_eq!(fs::read(&journal)?.len(), bytes.len(), "nothing of it was lost");
            let found = salvage(home.path())?;
            assert_eq!(fs::read(&found.damaged)?.len(), bytes.len());
            let least = if is_sled_lost { 299 } else { 300 };
            assert!(found.gaps == 1 && found.records >= least, "{found:?}");
            let mut store = open(home.path())?;
            assert_eq!(store.verify()?, found.records);
            assert_eq!(all(&View::of(home.path())?, "incidents/")?.len() as u64, found.records);
            store.commit(&[Change::put("incidents/more", "x")])?;
            Ok(())
        };
        let done = check();
        prop_assert!(done.is_ok(), "{:?}", done.err());
    }
}

#[test]
fn looking_needs_no_leave_and_no_waiting() -> Outcome {
    let (home, _) = home()?;
    let mut store = open(home.path())?;
    let mut view = View::of(home.path())?;
    store.commit(&[Change::put("rules/user/c", "later")])?;
    view.commit(&[Change::remove("rules/user/a"), Change::put("rules/user/aa", "above")])?;
    let keys: Vec<String> = all(&view, "rules/user/")?.into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["rules/user/aa", "rules/user/b"]);
    assert_eq!((view.get("rules/user/a")?, view.get("rules/user/c")?), (None, None));
    assert_eq!(all(&View::of(home.path())?, "rules/")?.len(), 3, "nothing of it was written");
    assert_eq!(all(&View::of(&home.path().join("nowhere"))?, "")?.len(), 0);
    assert!(!home.path().join("nowhere").exists());
    Ok(())
}

#[test]
fn what_killed_processes_left_half_written_goes() -> Outcome {
    let (home, _) = home()?;
    let place = |name: &str| home.path().join(name);
    let [old, young, of_store, theirs] =
        ["snapshot.4711.new", "snapshot.4712.new", "store/FORMAT.4711.new", "notes.new"].map(place);
    for path in [&old, &young, &of_store, &theirs] {
        fs::write(path, "half")?;
    }
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    for path in [&old, &of_store, &theirs] {
        fs::File::options().write(true).open(path)?.set_modified(long_ago)?;
    }
    fs::write(home.path().join("store/journal.new"), "half")?;
    assert_eq!(open(home.path())?.verify()?, 2);
    assert!(!old.exists() && !of_store.exists() && !home.path().join("store/journal.new").exists());
    assert!(young.exists() && theirs.exists(), "somebody may be writing it, or it is none of ours");
    Ok(())
}

#[cfg(unix)]
#[test]
fn a_new_home_is_the_users_own() -> Outcome {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("data/oomdoc");
    open(&home)?;
    for made in [&home, &home.join("store")] {
        assert_eq!(fs::metadata(made)?.permissions().mode() & 0o777, 0o700, "{}", made.display());
    }
    Ok(())
}

#[test]
fn a_file_in_the_place_of_a_home_is_no_empty_history() -> Outcome {
    let file = tempfile::NamedTempFile::new()?;
    assert!(View::of(file.path()).is_err() && DiskStore::is_in(file.path()));
    assert!(Snapshot::read(file.path()).is_err());
    Ok(())
}

#[test]
fn a_half_written_snapshot_of_the_engine_is_cleared_away() -> Outcome {
    let (home, _) = home()?;
    let half = home.path().join("store/sled/snap.00000000000000FF.generating");
    fs::write(&half, [0; 17])?;
    assert_eq!(open(home.path())?.verify()?, 2);
    assert!(!half.exists());
    Ok(())
}

#[test]
fn a_store_whose_making_was_interrupted_is_made() -> Outcome {
    let (home, _) = home()?;
    let marker = home.path().join("store/FORMAT");
    fs::write(&marker, fs::read_to_string(&marker)?.replace("state ready", "state new"))?;
    fs::remove_dir_all(home.path().join("store/sled"))?;
    fs::remove_file(home.path().join("snapshot"))?;
    assert_eq!(open(home.path())?.verify()?, 0);
    Ok(())
}

/// A store most of whose records were removed, so that nearly all its space is unused.
fn bloated() -> Result<(tempfile::TempDir, DiskStore), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let mut store = open(home.path())?;
    for round in 0..40_u64 {
        // Incompressible values: the same noise, read from different offsets.
        let noise = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 56;
        let value = |number: u64| (0..60_000_u64).map(|at| noise(at + 60_000 * number) as u8).collect::<Vec<u8>>();
        let changes: Vec<Change> =
            (0..10).map(|each| Change::put(format!("a/{round}-{each}"), value(round * 10 + each))).collect();
        store.commit(&changes)?;
    }
    assert!(!store.is_bloated(), "there is nothing to give back");
    let gone: Vec<Change> = (0..40)
        .flat_map(|round| (0..10).map(move |each| Change::remove(format!("a/{round}-{each}"))))
        .skip(3)
        .collect();
    store.commit(&gone)?;
    Ok((home, store))
}

#[test]
fn removed_records_give_their_space_back() -> Outcome {
    let (home, mut store) = bloated()?;
    assert!(store.is_bloated());
    let before = (store.change(), store.verify()?, all(&store, "a/")?);
    let done = store.compact()?;
    assert!(done.after < done.before / 4, "{done:?}");
    assert_eq!((store.change(), store.verify()?, all(&store, "a/")?), before);
    assert!(!store.is_bloated());
    store.commit(&[Change::put("a/new", "x")])?;
    drop(store);
    let names: Vec<_> = fs::read_dir(home.path().join("store"))?.flatten().map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains(".new")), "{names:?}");
    assert_eq!(open(home.path())?.verify()?, before.1 + 1);
    Ok(())
}

#[test]
fn an_interrupted_compaction_leaves_the_old_or_the_new_store() -> Outcome {
    let (home, _) = home()?;
    let new = home.path().join("store/journal.new");
    // Interrupted while copying.
    fs::write(&new, "half")?;
    assert_eq!(open(home.path())?.verify()?, 2);
    assert!(!new.exists());
    // Interrupted after the copy, before sled was rebuilt.
    let old = home.path().join("old");
    copy_folder(&home.path().join("store/sled"), &old)?;
    let mut store = open(home.path())?;
    store.commit(&[Change::remove("rules/user/a")])?;
    store.compact()?;
    drop(store);
    fs::remove_dir_all(home.path().join("store/sled"))?;
    copy_folder(&old, &home.path().join("store/sled"))?;
    let mut store = open(home.path())?;
    assert_eq!((store.verify()?, all(&store, "rules/")?.len(), store.change()), (1, 1, 2));
    Ok(())
}

#[test]
fn a_place_that_cannot_be_written_is_named() -> Outcome {
    // Root may write into read-only folders, but not into those of the kernel.
    let refused = ["/sys/oomdoc", "/proc/oomdoc"].map(|home| refusal(Path::new(home)));
    for error in refused {
        let error = error?;
        assert!(matches!(error, StoreError::ReadOnly { .. } | StoreError::Io { .. }), "{error}");
        assert!(error.advice().contains("--home"));
    }
    let file = tempfile::NamedTempFile::new()?;
    assert!(matches!(refusal(file.path())?, StoreError::Io { .. }));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever damage sled's file has, all records are still there, and nothing panics.
    #[test]
    fn damage_of_sled_is_mended(at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<bool>()) {
        let check = || -> Outcome {
            let (home, data) = home()?;
            let mut bytes = fs::read(&data)?;
            // The unused end of the file is skipped.
            let written = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
            let at = at.index(written);
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
            fs::write(&data, bytes)?;
            let mut store = open(home.path())?;
            let records = all(&store, "rules/")?;
            assert_eq!((store.verify()?, records.len()), (2, 2));
            assert_eq!(records[0], ("rules/user/a".to_owned(), b"one".to_vec()));
            assert_eq!(all(&store, "rules/")?, records);
            Ok(())
        };
        prop_assert!(check().is_ok(), "{:?}", check().err());
    }

    /// The store on disk and the one in memory answer every query alike.
    #[test]
    fn disk_and_memory_agree(
        commits in proptest::collection::vec(
            proptest::collection::vec(("[a-c]/[a-c]", proptest::option::of("[a-z]{0,9}")), 0..4), 1..6,
        ),
    ) {
        let check = || -> Outcome {
            let home = tempfile::tempdir()?;
            let (mut disk, mut memory) = (open(home.path())?, MemoryStore::default());
            for changes in &commits {
                let changes: Vec<Change> = changes.iter().cloned().map(|(key, value)| Change {
                    key, value: value.map(String::into_bytes),
                }).collect();
                assert_eq!(disk.commit(&changes)?, memory.commit(&changes)?);
            }
            drop(disk);
            let mut disk = open(home.path())?;
            for prefix in ["a/", "b/", "c/", "a/b"] {
                assert_eq!(all(&disk, prefix)?, all(&memory, prefix)?);
            }
            // A view whose last commit is not yet merged into the records below it.
            let mut view = View::of(home.path())?;
            view.commit(&[Change::put("b/b", "above"), Change::remove("b/c")])?;
            for after in ["", "a/c", "b/", "b/a", "b/aa", "b/b", "b/~", "c/a"] {
                let of = |store: &dyn Store| -> Result<Vec<(String, Vec<u8>)>, StoreError> {
                    Ok(all(store, "b/")?.into_iter().filter(|(key, _)| key.as_str() > after).collect())
                };
                assert_eq!(behind(&disk, "b/", after)?, of(&disk)?, "disk after {after}");
                assert_eq!(behind(&memory, "b/", after)?, of(&memory)?, "memory after {after}");
                assert_eq!(behind(&view, "b/", after)?, of(&view)?, "view after {after}");
            }
            assert_eq!(disk.verify()? as usize, ["a/", "b/", "c/"].iter().map(|space| all(&memory, space).map_or(0, |r| r.len())).sum::<usize>());
            Ok(())
        };
        let done = check();
        prop_assert!(done.is_ok(), "{:?}", done.err());
    }
}

#[test]
fn rules_come_and_go() -> Outcome {
    let rule = |path: &str, content: &str| RuleFile { path: path.to_owned(), content: content.to_owned() };
    let (a, b) = (rule("causes/a.toml", "id = 'a'"), rule("knobs/b.toml", "knob = []"));
    let mut store = MemoryStore::default();
    let added = RuleChanges { added: vec![a.path.clone(), b.path.clone()], ..RuleChanges::default() };
    assert_eq!(import_rules(&mut store, &[a.clone(), b.clone()])?, added);
    assert_eq!(own_rules(&store)?, [a.clone(), b.clone()]);
    let again = import_rules(&mut store, &[rule(&a.path, "id = 'a2'"), b.clone()])?;
    assert_eq!((again.replaced, again.unchanged), (vec![a.path.clone()], vec![b.path.clone()]));
    let shipped = format!("rules/shipped/{}/causes/fragmentation.toml", env!("CARGO_PKG_VERSION"));
    assert!(store.get(&shipped)?.is_some());
    remove_rules(&mut store, &[&a.path])?;
    assert_eq!(own_rules(&store)?, [b]);
    Ok(())
}
