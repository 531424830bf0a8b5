//! The writers that run while the disk fails: this program again, started as its ignored tests. They go on after any
//! refused write.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use oomdoc::internal::history::{self, Outcome, Record};
use oomdoc::internal::redact::Redactor;
use oomdoc::internal::store::{Change, DiskStore, Store};

use crate::support::generate;

type Done = Result<(), Box<dyn Error>>;

/// Begins each line that acknowledges something.
pub const KEPT: &str = "kept ";
const PATIENCE: Duration = Duration::from_secs(3);

/// The home to write to. None where the ignored tests are merely run with the others.
fn told() -> Option<PathBuf> {
    std::env::var_os("WRITER_HOME").map(PathBuf::from)
}

/// An incident, and the same as a line of an export.
pub fn incident(number: u64) -> Result<(Record, String), Box<dyn Error>> {
    let mut line = generate::incidents::incident(17, number);
    let text = line.to_string();
    Ok((serde_json::from_value(line["incident"].take())?, text))
}

/// A large incident that cannot be compressed.
fn large(number: u64) -> Result<(Record, String), Box<dyn Error>> {
    let (mut record, _) = incident(number)?;
    let mut random = generate::Random::new(number | 1);
    let noise: String = (0..30_000).map(|_| char::from(b'!' + random.below(90) as u8)).collect();
    if let Some(first) = record.incident.evidence.first_mut() {
        first.text = noise;
    }
    let line = format!("{{\"incident\":{}}}", serde_json::to_string(&record)?);
    Ok((record, line))
}

fn acknowledge(what: &str, id: &str) -> Done {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{KEPT}{what} {id}")?;
    Ok(out.flush()?)
}

/// Opens the store and commits, repeatedly.
#[test]
#[ignore = "a writer of the other tests"]
fn commits() -> Done {
    let Some(home) = told() else { return Ok(()) };
    for round in 0..3 {
        let Ok(mut store) = DiskStore::open_within(&home, PATIENCE) else { continue };
        for turn in 0..3 {
            let key = format!("test/{round}-{turn}");
            let changes = [
                Change::put(&key, vec![turn as u8; 30_000]),
                Change::put("test/again", vec![round as u8; 2000]),
                Change::remove(format!("test/{round}-x")),
            ];
            let is_taken = store.commit(&changes).is_ok();
            if is_taken {
                acknowledge("key", &key)?;
            }
            // A refused commit must leave no record, and an accepted one must be there.
            let _ = store.get(&key).map(|found| assert_eq!(found.is_some(), is_taken));
        }
        if round == 1 {
            let _ = store.compact();
        }
        drop(store);
    }
    Ok(())
}

/// Uses a history as users do: keeps, imports, resolves and publishes.
#[test]
#[ignore = "a writer of the other tests"]
fn keeps_a_history() -> Done {
    let Some(home) = told() else { return Ok(()) };
    let redactor = Redactor::new(&[])?;
    for number in 0..2 {
        let (record, _) = incident(number)?;
        if history::put(&home, &record).is_ok() {
            acknowledge("incident", &record.incident.id)?;
        }
        let Ok(mut store) = history::drain(&home, PATIENCE) else { continue };
        let (imported, line) = incident(100 + number)?;
        if history::import(&mut store, &mut line.as_bytes(), &redactor).is_ok() {
            acknowledge("incident", &imported.incident.id)?;
        }
        if history::resolve(&mut store, &Outcome::of_knob(&imported, "--zero_stage", true)).is_ok() {
            acknowledge("told", &imported.incident.id)?;
        }
        let _ = history::publish(&mut store);
        if store.commit(&[Change::put(format!("rules/user/{number}"), "x")]).is_ok() {
            acknowledge("rule", &format!("rules/user/{number}"))?;
        }
        let _ = history::snapshot(&store);
        drop(store);
    }
    Ok(())
}

/// Keeps small incidents, and then imports large ones.
#[test]
#[ignore = "a writer of the other tests"]
fn fills_the_disk() -> Done {
    let Some(home) = told() else { return Ok(()) };
    let redactor = Redactor::new(&[])?;
    let from = 1_000_000 + u64::from(std::process::id()) * 1000;
    let mut refused = 0;
    for number in from..from + 30 {
        let (record, _) = incident(number)?;
        match history::put(&home, &record) {
            Ok(_) => acknowledge("incident", &record.incident.id)?,
            Err(_) => refused += 1,
        }
        if number % 10 == 9 {
            refused += u64::from(history::drain(&home, PATIENCE).is_err());
        }
    }
    // Many at once, then fewer.
    for at_once in [120, 40, 10, 1, 1] {
        let mut lines = (from + 100..from + 100 + at_once)
            .map(|number| Ok(large(number + at_once)?.1))
            .collect::<Result<Vec<_>, Box<dyn Error>>>()?;
        lines.push(String::new());
        let Ok(mut store) = history::drain(&home, PATIENCE) else { continue };
        if history::import(&mut store, &mut lines.join("\n").as_bytes(), &redactor).is_ok() {
            for number in from + 100..from + 100 + at_once {
                acknowledge("incident", &large(number + at_once)?.0.incident.id)?;
            }
        }
        let _ = history::publish(&mut store);
    }
    println!("{refused} were refused");
    Ok(())
}
