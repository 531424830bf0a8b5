//! A damaged backup is refused, and restoring one brings back exactly what was there. Records beyond the limits of a
//! history are removed, and the groups keep counting what stays.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use oomdoc::internal::history::{self, Outcome, Query, Retention};
use oomdoc::internal::store::{Change, DiskStore, Snapshot, Store};
use predicates::str::contains;

use crate::support::history_steps::record;
use crate::support::home::HANGS;

type Done = Result<(), Box<dyn Error>>;

/// A home whose history has `count` incidents and an outcome.
fn home(count: u64) -> Result<(tempfile::TempDir, DiskStore), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let mut store = history::drain(home.path(), HANGS)?;
    let records: Result<Vec<_>, _> = (0..count).map(|number| record(number, &["pinned", "显存不足"])).collect();
    let records = records?;
    history::add(&mut store, &records)?;
    history::resolve(&mut store, &Outcome::of_knob(&records[0], "--zero_stage=3", true))?;
    store.commit(&[Change::put("tokens/a", "hashed")])?;
    assert!(history::publish(&mut store)?.is_none());
    Ok((home, store))
}

fn exported(home: &Path) -> Result<String, Box<dyn Error>> {
    let mut lines = Vec::new();
    history::export(&history::look(home)?, &mut lines)?;
    Ok(String::from_utf8(lines)?)
}

/// All groups in the store, as raw bytes by their keys.
fn groups(store: &dyn Store) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn Error>> {
    let mut groups = BTreeMap::new();
    store.scan("groups/", &mut |key, value| drop(groups.insert(key.to_owned(), value.to_owned())))?;
    Ok(groups)
}

#[test]
fn what_is_restored_is_what_was_there() -> Done {
    let (home, store) = home(30)?;
    // One more incident waits in the spool, while this process has the store open.
    history::put(home.path(), &record(30, &["waiting"])?)?;
    let file = home.path().join("history.backup");
    let done = history::backup(home.path(), &file)?;
    assert_eq!(history::verify_backup(&file)?, done);
    let other = tempfile::tempdir()?;
    let place = other.path().join("new");
    assert_eq!(history::restore(&file, &place)?, done);
    assert_eq!(exported(&place)?, exported(home.path())?);
    assert_eq!(exported(&place)?.lines().count(), 32);
    drop(store);
    let mut restored = history::drain(&place, HANGS)?;
    let original = history::drain(home.path(), HANGS)?;
    assert_eq!(groups(&restored)?, groups(&original)?);
    assert_eq!(restored.get("tokens/a")?.as_deref(), Some(&b"hashed"[..]));
    assert_eq!(restored.verify()?, original.count("incidents")? + original.count("groups")? + 2);
    assert_eq!(Snapshot::read(&place)?.experience, Snapshot::read(home.path())?.experience);
    // The restored history is searchable at once and can be added to.
    let found = history::ask_stats(&place, &Query::default())?;
    assert!(found.without_index.is_none());
    assert_eq!(found.found.total, 31);
    history::add(&mut restored, &[record(31, &["more"])?])?;
    assert!(history::publish(&mut restored)?.is_none());
    let names: Vec<_> = fs::read_dir(&place)?.collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = names.iter().map(|name| name.file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.contains("new")), "{names:?}");
    Ok(())
}

#[test]
fn a_backup_that_is_not_whole_is_refused() -> Done {
    let (home, _store) = home(2)?;
    let file = home.path().join("history.backup");
    history::backup(home.path(), &file)?;
    let whole = fs::read(&file)?;
    let other = tempfile::tempdir()?;
    let (part, place) = (other.path().join("part"), other.path().join("home"));
    for end in 0..whole.len() {
        fs::write(&part, &whole[..end])?;
        assert!(history::verify_backup(&part).is_err(), "cut at {end} of {}", whole.len());
    }
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&part, damaged)?;
        // A zstd header can be spelt in several ways, so a changed bit may leave the content the same; otherwise the
        // backup is refused.
        if history::verify_backup(&part).is_ok() {
            history::restore(&part, &place)?;
            assert_eq!(exported(&place)?, exported(home.path())?, "a bit at {at}");
            fs::remove_dir_all(&place)?;
        }
    }
    fs::write(&part, [&whole[..], b"\n"].concat())?;
    assert!(history::restore(&part, &place).is_err());
    assert!(!place.exists(), "nothing is made of it");
    Ok(())
}

#[test]
fn the_command_line_backs_up_and_restores() -> Done {
    let (home, store) = home(3)?;
    let other = tempfile::tempdir()?;
    let file = other.path().join("b");
    let oomdoc = |home: &Path, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oomdoc"));
        command.env("OOMDOC_NO_CONFIG", "1").arg("--home").arg(home).arg("history").args(words);
        command
    };
    let path = file.to_string_lossy().into_owned();
    // While another process has the store open.
    oomdoc(home.path(), &["backup", &path]).assert().success().stdout(contains("records"));
    drop(store);
    oomdoc(home.path(), &["restore", &path]).assert().code(2).stderr(contains("already"));
    let place = other.path().join("home");
    oomdoc(&place, &["restore", &path]).assert().success().stdout(contains("records restored"));
    assert_eq!(exported(&place)?, exported(home.path())?);
    fs::write(&file, "oomdoc backup 2\nfrom tomorrow")?;
    let third = other.path().join("third");
    oomdoc(&third, &["restore", &path]).assert().code(2).stderr(contains("another version"));
    oomdoc(&place, &["prune"]).assert().code(2);
    oomdoc(&place, &["prune", "--keep-incidents", "1"]).assert().success().stdout("2 removed\n");
    Ok(())
}

#[test]
fn what_is_oldest_goes_first() -> Done {
    let (home, mut store) = home(60)?;
    let newest = |store: &DiskStore| -> Result<Vec<String>, Box<dyn Error>> {
        let page = history::search(store, &Query::default(), history::Order::Time, 0, usize::MAX)?;
        Ok(page.incidents.into_iter().map(|document| document.id).collect())
    };
    let before = newest(&store)?;
    let nothing = Retention::default();
    assert_eq!(history::prune(&mut store, &nothing)?, 0);
    let few = Retention { incidents: Some(40), ..nothing };
    assert_eq!(history::prune(&mut store, &few)?, 20);
    assert_eq!(newest(&store)?, before[..40]);
    let size: u64 = {
        let mut size = 0;
        store.scan("incidents/", &mut |_, value| size += value.len() as u64)?;
        size
    };
    assert_eq!(history::prune(&mut store, &Retention { bytes: Some(size / 2), ..nothing })?, 20);
    assert_eq!(newest(&store)?, before[..20]);
    // The groups agree with a fresh count.
    let counted = groups(&store)?;
    history::reindex(&mut store, &|_, _| {})?;
    assert_eq!(counted, groups(&store)?);
    // Incidents that arrived after the expired ones were listed stay.
    let expired = Retention { incidents: Some(5), ..nothing }.expired(&history::look(home.path())?)?;
    history::add(&mut store, &[record(90, &["late"])?])?;
    assert_eq!(history::remove_expired(&mut store, &expired)?, 15);
    assert_eq!(newest(&store)?.len(), 6);
    let counted = groups(&store)?;
    history::reindex(&mut store, &|_, _| {})?;
    assert_eq!(counted, groups(&store)?);
    Ok(())
}
