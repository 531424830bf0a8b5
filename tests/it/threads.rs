//! The report is the same however many threads read the inputs.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::sync::Arc;

use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::watch::Watch;
use oomdoc::{Options, analyze};

use crate::support::generate::{self, Kind};

type Outcome = Result<(), Box<dyn Error>>;

/// A folder of a job's logs: one of each kind, a compressed one, one in an archive, an empty one and a configuration.
fn folder() -> Result<tempfile::TempDir, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    for (index, kind) in Kind::ALL.into_iter().enumerate() {
        let mut log = Vec::new();
        // The incident's log is several blocks long, so that one file is also read by several threads.
        let size = if kind == Kind::Incident { 3 << 20 } else { 700_000 };
        generate::write(&mut log, kind, size, index as u64)?;
        fs::write(folder.path().join(format!("{}.log", kind.name())), &log)?;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&log)?;
        fs::write(folder.path().join(format!("{}.log.gz", kind.name())), packed.finish()?)?;
    }
    fs::write(folder.path().join("empty.log"), "")?;
    fs::write(folder.path().join("ds.json"), "{\"zero_optimization\": {\"stage\": 2}}\n")?;
    Ok(folder)
}

#[test]
fn any_number_of_threads_reports_alike() -> Outcome {
    let (folder, knowledge) = (folder()?, Arc::new(Knowledge::shipped()?));
    let whole = [folder.path().to_string_lossy().into_owned()];
    let alone = [folder.path().join("incident.log").to_string_lossy().into_owned()];
    for paths in [&whole, &alone] {
        let report = |threads, block| -> Result<String, Box<dyn Error>> {
            let knowledge = Arc::clone(&knowledge);
            let options = Options::default().knowledge(knowledge).threads(threads).block(block);
            Ok(serde_json::to_string_pretty(&analyze(paths, &options)?)?)
        };
        let one = report(1, 1 << 20)?;
        assert!(one.contains("\"kind\": \"gpu_oom\"") && one.contains("2.00 GiB"), "{one}");
        for (threads, block) in [(2, 1 << 20), (8, 300_000), (64, 65_536)] {
            assert_eq!(report(threads, block)?, one, "{threads} threads, blocks of {block}");
        }
    }
    Ok(())
}

#[test]
fn reading_that_was_ended_is_reported_as_such() -> Outcome {
    let folder = folder()?;
    let watch = Arc::new(Watch::default());
    watch.stop();
    let options = Options::default().watch(Arc::clone(&watch)).threads(1);
    let report = analyze(&[folder.path().join("incident.log").to_string_lossy().into_owned()], &options)?;
    let input = report.inputs.first().ok_or("no input")?;
    assert!(input.warning.as_deref().is_some_and(|warning| warning.contains("interrupted")), "{:?}", input.warning);
    assert!(input.bytes < 3 << 20, "{} bytes", input.bytes);
    assert_eq!(watch.bytes_read() / (1 << 20), 1);
    Ok(())
}
