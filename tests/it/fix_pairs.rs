//! What `fix` writes for pairs of a configuration and a log, for more than thirty frameworks: it should be a change
//! that the framework's maintainers would recommend. The logs are modelled on the sources of the programs that print
//! them.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::support::analyzed::options;
use oomdoc::internal::fix::{self, FixError};
use oomdoc::internal::report;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What is proposed for the pair in `folder`, and the lines it changes.
fn proposal(folder: &Path) -> Outcome<String> {
    let report = fix::analyze(&[folder.to_string_lossy().into_owned()], &options())?;
    let patches = fix::pick(&report, &[])?;
    let mut said = String::new();
    for patch in &patches {
        writeln!(said, "{}", report::change(patch))?;
    }
    let mended = match fix::mend(&report, &patches) {
        // A setting within a program is only described, not written.
        Err(FixError::NoFile { lines, .. }) if !lines.is_empty() => {
            lines.iter().try_for_each(|line| writeln!(said, "  type: {line}"))?;
            Vec::new()
        }
        mended => mended?,
    };
    for mended in mended {
        let lines = mended.diff.lines().filter(|line| !line.starts_with("---") && !line.starts_with("+++"));
        for line in lines.filter(|line| line.starts_with(['+', '-'])) {
            writeln!(said, "  {line}")?;
        }
    }
    Ok(said)
}

#[test]
fn every_pair_gets_the_change_that_helps() -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fix");
    let mut pairs: Vec<_> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    pairs.sort();
    assert!(pairs.len() >= 80, "{}", pairs.len());
    let mut all = String::new();
    for pair in &pairs {
        let name = pair.file_name().unwrap_or_default().to_string_lossy();
        let said = proposal(pair).map_err(|error| format!("{name}: {error}"))?;
        writeln!(all, "{name}\n{said}")?;
    }
    insta::assert_snapshot!(all);
    Ok(())
}

#[test]
fn no_job_leaves_megatron_for_an_option_of_fsdp() -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fix/verl-megatron");
    let report = fix::analyze(&[folder.to_string_lossy().into_owned()], &options())?;
    let incident = report.incidents.first().ok_or("no incident")?;
    let patches = incident.diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
    let knobs: Vec<&str> = patches.map(|patch| patch.knob.as_str()).collect();
    assert!(knobs.iter().any(|knob| knob.contains("megatron.")), "{knobs:?}");
    assert!(!knobs.iter().any(|knob| knob.contains("fsdp_config")), "{knobs:?}");
    Ok(())
}
