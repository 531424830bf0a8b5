//! The store keeps its word, on a disk and in memory alike, and says what does not fit.

mod home;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use home::copy_folder;
use oomdoc::knowledge::RuleFile;
use oomdoc::store::{
    Change, DiskStore, MemoryStore, RuleChanges, Snapshot, Store, StoreError, import_rules, own_rules, remove_rules,
};
use proptest::prelude::*;

type Outcome = Result<(), Box<dyn Error>>;

const AT_ONCE: Duration = Duration::ZERO;

fn open(home: &Path) -> Result<DiskStore, StoreError> {
    DiskStore::open_within(home, AT_ONCE)
}

/// Behind a store that was just dropped: on a busy machine its lock may be let go a moment later.
fn reopen(home: &Path) -> Result<DiskStore, StoreError> {
    DiskStore::open_within(home, std::time::Duration::from_secs(30))
}

fn all(store: &dyn Store, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
    let mut records = Vec::new();
    store.scan(prefix, &mut |key, value| records.push((key.to_owned(), value.to_owned())))?;
    Ok(records)
}

/// The error of a store that must not open.
fn refusal(home: &Path) -> Result<StoreError, Box<dyn Error>> {
    open(home).err().ok_or_else(|| "it opened".into())
}

/// A home with two records and a snapshot, and sled's file in it.
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
    let store = reopen(home.path())?;
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
    let error = refusal(home.path())?;
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
    let newer = fs::read_to_string(&marker)?.replace("format 2", "format 3");
    fs::write(&marker, &newer)?;
    let error = refusal(home.path())?;
    assert!(matches!(error, StoreError::Newer { found: 3, known: 2, .. }), "{error}");
    assert!(error.advice().contains("newer oomdoc"));
    assert_eq!(fs::read_to_string(&marker)?, newer);
    Ok(())
}

#[test]
fn a_store_that_lost_its_records_is_not_taken_for_an_empty_one() -> Outcome {
    let (home, _) = home()?;
    fs::remove_dir_all(home.path().join("store/sled"))?;
    assert!(matches!(refusal(home.path())?, StoreError::Damaged { .. }));
    Ok(())
}

#[test]
fn a_store_that_went_back_in_time_is_noticed() -> Outcome {
    let (home, _) = home()?;
    let backup = tempfile::tempdir()?;
    let sled = home.path().join("store/sled");
    copy_folder(&sled, backup.path())?;
    let mut store = open(home.path())?;
    store.commit(&[Change::put("rules/user/c", "three")])?;
    Snapshot::of(&store)?.write(home.path())?;
    drop(store);
    fs::remove_dir_all(&sled)?;
    fs::rename(backup.path(), &sled)?;
    let error = refusal(home.path())?;
    assert!(matches!(error, StoreError::RolledBack { found: 1, seen: 2, .. }), "{error}");
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

/// A store of which nearly all was removed, and what is left.
fn bloated() -> Result<(tempfile::TempDir, DiskStore), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let mut store = open(home.path())?;
    for round in 0..40_u64 {
        // What cannot be packed: the same noise, told apart by where it begins.
        let noise = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 56;
        let value = |number: u64| (0..60_000_u64).map(|at| noise(at + 60_000 * number) as u8).collect::<Vec<u8>>();
        let changes: Vec<Change> =
            (0..10).map(|each| Change::put(format!("a/{round}-{each}"), value(round * 10 + each))).collect();
        store.commit(&changes)?;
    }
    assert!(!store.is_bloated()?, "there is nothing to give back");
    let gone: Vec<Change> = (0..40)
        .flat_map(|round| (0..10).map(move |each| Change::remove(format!("a/{round}-{each}"))))
        .skip(3)
        .collect();
    store.commit(&gone)?;
    Ok((home, store))
}

#[test]
fn removed_records_give_their_space_back() -> Outcome {
    let (home, store) = bloated()?;
    assert!(store.is_bloated()?);
    let before = (store.change(), store.verify()?, all(&store, "a/")?);
    let (mut store, done) = store.compact()?;
    assert!(done.after < done.before / 4, "{done:?}");
    assert_eq!((store.change(), store.verify()?, all(&store, "a/")?), before);
    assert!(!store.is_bloated()?);
    store.commit(&[Change::put("a/new", "x")])?;
    drop(store);
    let names: Vec<_> = fs::read_dir(home.path().join("store"))?.flatten().map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("sled.")), "{names:?}");
    assert_eq!(open(home.path())?.verify()?, before.1 + 1);
    Ok(())
}

#[test]
fn an_interrupted_compaction_leaves_the_old_or_the_new_store() -> Outcome {
    let (home, data) = home()?;
    let folder = home.path().join("store");
    let [engine, new, old] = ["sled", "sled.new", "sled.old"].map(|name| folder.join(name));
    // While it copied.
    fs::create_dir(&new)?;
    fs::write(new.join("db"), "half")?;
    assert_eq!(open(home.path())?.verify()?, 2);
    // Between the two renames.
    fs::rename(&engine, &old)?;
    fs::create_dir(&new)?;
    assert_eq!(open(home.path())?.verify()?, 2);
    // Before the old one was removed.
    fs::create_dir(&old)?;
    fs::write(old.join("db"), "old")?;
    assert_eq!(open(home.path())?.verify()?, 2);
    assert!(!new.exists() && !old.exists() && data.exists());
    Ok(())
}

#[test]
fn a_place_that_cannot_be_written_is_named() -> Outcome {
    // Root may write into folders that are marked read-only, but not into the kernel's own.
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

    /// A damaged file gives the records, or a named error: never a panic, never fewer records without a word.
    #[test]
    fn damage_is_noticed_or_harmless(at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<bool>()) {
        let check = || -> Outcome {
            let (home, data) = home()?;
            let mut bytes = fs::read(&data)?;
            // What was never written is of no interest.
            let written = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
            let at = at.index(written);
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
            fs::write(&data, bytes)?;
            match open(home.path()).and_then(|store| Ok((store.verify()?, all(&store, "rules/")?))) {
                Ok((count, records)) => {
                    assert_eq!((count, records.len()), (2, 2));
                    assert_eq!(records[0], ("rules/user/a".to_owned(), b"one".to_vec()));
                }
                Err(error) => assert!(!error.advice().is_empty(), "{error}"),
            }
            Ok(())
        };
        prop_assert!(check().is_ok(), "{:?}", check().err());
    }

    /// The twins agree, whatever is asked of them.
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
            let disk = reopen(home.path())?;
            for prefix in ["a/", "b/", "c/", "a/b"] {
                assert_eq!(all(&disk, prefix)?, all(&memory, prefix)?);
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
