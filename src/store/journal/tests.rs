use proptest::prelude::*;

use super::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A journal of six changes with three records each, of which every second is noted as done; returns the end of each
/// change.
fn journal(folder: &Path) -> io::Result<Vec<u64>> {
    Journal::create(folder)?;
    let mut journal = Journal::open(folder, std::fs::metadata(folder.join(FILE))?.len())?;
    let mut ends = vec![journal.size()];
    for change in 1..=6_u64 {
        let keys: Vec<String> = (0..3).map(|number| format!("a/{change}-{number}")).collect();
        let records: Vec<Sealed<'_>> = keys.iter().map(|key| (key.as_str(), Some(&b"value"[..]))).collect();
        journal.append(change, &records)?;
        ends.push(journal.size());
        if change % 2 == 0 {
            journal.done(DoneNote { change, is_in_engine: true, live: 0 })?;
        }
    }
    Ok(ends)
}

#[test]
fn what_was_appended_is_found() -> Outcome {
    let folder = tempfile::tempdir()?;
    journal(folder.path())?;
    let places = Places::read(&folder.path().join(FILE))??;
    assert_eq!((places.change, places.count("a/"), places.count("a/3-")), (6, 18, 3));
    assert_eq!(places.get("a/6-2").transpose()?.as_deref(), Some(&b"value"[..]));
    let (done, length) = end(folder.path())?.ok_or("no end")?;
    assert_eq!((done.change, length), (6, places.end));
    Ok(())
}

#[test]
fn a_change_that_is_not_whole_at_the_end_is_none() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ends = journal(folder.path())?;
    let whole = std::fs::read(folder.path().join(FILE))?;
    for cut in (ends[0] as usize)..whole.len() {
        std::fs::write(folder.path().join(FILE), &whole[..cut])?;
        let places = Places::read(&folder.path().join(FILE))??;
        let change = ends.iter().rposition(|end| *end <= cut as u64).ok_or("before the beginning")?;
        assert_eq!((places.change, places.count("")), (change as u64, 3 * change as u64), "cut at {cut}");
        let mut journal = Journal::open(folder.path(), places.end)?;
        journal.append(places.change + 1, &[("b/new", Some(b"value"))])?;
        assert_eq!(Places::read(&folder.path().join(FILE))??.count("b/"), 1, "cut at {cut}");
    }
    Ok(())
}

proptest! {
    /// Damage is reported wherever something was acknowledged after it, and costs a salvage at most one record.
    #[test]
    fn damage_is_never_taken_for_the_end(at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let check = || -> Outcome {
            let folder = tempfile::tempdir()?;
            journal(folder.path())?;
            let path = folder.path().join(FILE);
            let mut bytes = std::fs::read(&path)?;
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            std::fs::write(&path, &bytes)?;
            match Places::read(&path)? {
                // Only a note was hit, which is not needed.
                Ok(places) => assert_eq!((places.change, places.count("")), (6, 18)),
                Err(damage) => assert!(!damage.is_empty()),
            }
            let found = Readable::read(&path)?;
            assert!(found.places.len() >= 17 && found.gaps == 1, "{found:?}");
            Ok(())
        };
        let done = check();
        prop_assert!(done.is_ok(), "{:?}", done.err());
    }
}
