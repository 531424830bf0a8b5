//! The index answers every query as the store does, whatever happened to it.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use oomdoc::internal::history::{self, Answer, IndexError, Order, Page, Query, Record};
use oomdoc::internal::store::DiskStore;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::history_steps::{Step, make, query, record, step};
use crate::support::home::{HANGS, copy_folder};

type Done = Result<(), Box<dyn Error>>;

const ALL: usize = usize::MAX;

/// The part of an answer in which index and store must agree: ids and counts.
fn compared(page: Page) -> (Vec<String>, usize, Value) {
    let mut ids: Vec<String> = page.incidents.into_iter().map(|document| document.id).collect();
    ids.sort();
    (ids, page.total, json!(page.facets))
}

fn ask(home: &Path, words: &str) -> Result<Answer<Page>, Box<dyn Error>> {
    Ok(history::ask(home, &words.parse::<Query>()?, Order::Relevance, 0, ALL)?)
}

fn open(home: &Path) -> Result<DiskStore, Box<dyn Error>> {
    Ok(history::drain(home, HANGS)?)
}

/// A home whose history has `count` incidents.
fn home(count: u64) -> Result<tempfile::TempDir, Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let mut store = open(home.path())?;
    let records: Result<Vec<Record>, _> = (0..count).map(|number| record(number, &["pinned", "memory"])).collect();
    history::add(&mut store, &records?)?;
    assert!(history::publish(&mut store)?.is_none());
    Ok(home)
}

/// Builds a history by `steps`, and puts `queries` to the index and then to the store.
fn check(steps: &[Step], queries: &[String]) -> Done {
    let home = tempfile::tempdir()?;
    let home = home.path();
    let mut store = open(home)?;
    let mut waiting = Vec::new();
    for step in steps {
        match step {
            Step::Wait(number, words) => waiting.push(record(*number, words)?),
            Step::Publish => assert!(history::publish(&mut store)?.is_none()),
            step => make(&mut store, step)?,
        }
    }
    assert!(history::publish(&mut store)?.is_none());
    let waiting_ids: Vec<&str> = waiting.iter().map(|record| record.incident.id.as_str()).collect();
    waiting.iter().try_for_each(|record| history::put(home, record).map(drop))?;
    // The index and the spool answer while this process has the store open.
    let mut answers = Vec::new();
    for words in queries {
        let answer = ask(home, words)?;
        assert!(answer.without_index.is_none(), "{:?}", answer.without_index);
        answers.push(compared(answer.found));
    }
    let stats = history::ask_stats(home, &Query::default())?;
    let alike = waiting.first().map(|record| history::ask_similar(home, record, 5)).transpose()?;
    history::add(&mut store, &waiting)?;
    for (words, answer) in queries.iter().zip(answers) {
        let found = history::search(&store, &words.parse()?, Order::Time, 0, ALL)?;
        assert_eq!(answer, compared(found), "{words}, waiting {waiting_ids:?}");
    }
    assert_eq!(stats.found, history::stats(&store, &Query::default())?);
    if let (Some(alike), Some(record)) = (alike, waiting.first()) {
        assert_eq!(alike.found, history::similar(&store, record, 5)?);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_index_says_what_the_store_says(
        steps in proptest::collection::vec(step(), 1..24),
        queries in proptest::collection::vec(query(), 24),
    ) {
        let done = check(&steps, &queries);
        prop_assert!(done.is_ok(), "{:?}", done.err());
    }
}

#[test]
fn pages_follow_one_another() -> Done {
    let home = home(30)?;
    history::put(home.path(), &record(30, &["pinned", "memory"])?)?;
    for order in [Order::Relevance, Order::Time] {
        let query: Query = "\"pinned memory\"".parse()?;
        let mut seen = Vec::new();
        for skip in [0, 7, 14, 21, 28] {
            let page = history::ask(home.path(), &query, order, skip, 7)?.found;
            assert_eq!(page.total, 31);
            seen.extend(page.incidents.into_iter().map(|document| document.id));
        }
        let whole = history::ask(home.path(), &query, order, 0, ALL)?.found.incidents;
        assert_eq!(seen, whole.into_iter().map(|document| document.id).collect::<Vec<_>>());
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 31);
        assert!(history::ask(home.path(), &query, order, 40, 7)?.found.incidents.is_empty());
        assert!(history::ask(home.path(), &query, order, 0, 0)?.found.incidents.is_empty());
    }
    Ok(())
}

#[test]
fn what_fits_better_stands_first() -> Done {
    let home = tempfile::tempdir()?;
    let mut store = open(home.path())?;
    let records = [
        record(1, &["pinned", "memory", "and", "much", "else", "that", "nobody", "asked", "for"])?,
        record(2, &["pinned", "memory", "pinned", "memory"])?,
        record(3, &["pined"])?,
    ];
    history::add(&mut store, &records)?;
    history::publish(&mut store)?;
    let found = ask(home.path(), "pinned")?.found.incidents;
    let ids: Vec<&str> = found.iter().map(|document| document.id.as_str()).collect();
    assert_eq!(ids, [&records[1], &records[0], &records[2]].map(|record| record.incident.id.as_str()));
    Ok(())
}

/// The files of the index that hold data of incidents.
fn files(home: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(home.join("index"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with('.') && name != "checked.json" {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 10, ..ProptestConfig::default() })]

    /// Whatever damage an index has, all incidents are found, and the next writer repairs it.
    #[test]
    fn a_damaged_index_loses_no_answer(
        file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), bit in 0_u8..8, how in 0..3,
    ) {
        let check = || -> Done {
            let home = home(20)?;
            let path = file.get(&files(home.path())?).clone();
            let mut bytes = fs::read(&path)?;
            let at = at.index(bytes.len());
            match how {
                0 => fs::remove_file(&path)?,
                1 => fs::write(&path, &bytes[..at])?,
                _ => {
                    bytes[at] ^= 1 << bit;
                    fs::write(&path, &bytes)?;
                }
            }
            for words in ["\"pinned memory\"", "kind:gpu_oom", "after:2025 memory"] {
                let answer = ask(home.path(), words)?;
                let found = history::search(&open(home.path())?, &words.parse()?, Order::Time, 0, ALL)?;
                assert_eq!(compared(answer.found), compared(found), "{words} with {} at {at}", path.display());
            }
            let mut store = open(home.path())?;
            assert!(history::publish(&mut store)?.is_none());
            history::add(&mut store, &[record(99, &["anew"])?])?;
            assert!(history::publish(&mut store)?.is_none());
            let answer = ask(home.path(), "")?;
            assert!(answer.without_index.is_none(), "{:?}", answer.without_index);
            assert_eq!(answer.found.total, 21);
            Ok(())
        };
        let done = check();
        prop_assert!(done.is_ok(), "{:?}", done.err());
    }
}

#[test]
fn an_index_that_does_not_follow_is_told_apart() -> Done {
    let home = home(3)?;
    let index = home.path().join("index");
    let why = || Ok::<_, Box<dyn Error>>(ask(home.path(), "memory")?.without_index);
    assert!(why()?.is_none());
    // The index is behind: the store has changed since, and the snapshot says so.
    let before = tempfile::tempdir()?;
    copy_folder(&index, &before.path().join("index"))?;
    let mut store = open(home.path())?;
    history::add(&mut store, &[record(4, &["memory"])?])?;
    history::snapshot(&store)?;
    drop(store);
    assert!(matches!(why()?, Some(IndexError::Behind { .. })));
    history::publish(&mut open(home.path())?)?;
    assert!(why()?.is_none());
    // An old index was restored from a backup.
    fs::remove_dir_all(&index)?;
    copy_folder(&before.path().join("index"), &index)?;
    assert!(matches!(why()?, Some(IndexError::Behind { .. })));
    // The index belongs to another history.
    let other = self::home(2)?;
    fs::remove_dir_all(&index)?;
    copy_folder(&other.path().join("index"), &index)?;
    assert!(matches!(why()?, Some(IndexError::Foreign)));
    fs::remove_dir_all(&index)?;
    assert!(matches!(why()?, Some(IndexError::Missing)));
    let answer = ask(home.path(), "memory")?;
    assert_eq!(answer.found.total, 4);
    history::reindex(&mut open(home.path())?, &|_, _| {})?;
    assert!(why()?.is_none());
    Ok(())
}

#[test]
fn a_writer_makes_nobody_wait() -> Done {
    let home = home(5)?;
    let store = open(home.path())?;
    history::put(home.path(), &record(6, &["memory"])?)?;
    let (answered, answers) = channel();
    let place = home.path().to_owned();
    std::thread::spawn(move || {
        let answer = ask(&place, "memory").map(|answer| (answer.without_index.is_none(), answer.found.total));
        answered.send(answer.map_err(|error| error.to_string()))
    });
    // The answer arrives while the writer has the store open, and uses the index.
    let answer = answers.recv_timeout(HANGS).map_err(|_| "it waits for the writer")?;
    assert_eq!(answer?, (true, 6));
    drop(store);
    Ok(())
}
