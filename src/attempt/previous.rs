//! The previous attempt of a job that ran out of memory: how far it got and what its report proposed. It is kept until
//! the job runs again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::durable;
use crate::history::{Outcome, Peak, Record};
use crate::model::{Change, Scalar};
use crate::report;

const FOLDER: &str = "attempts";
/// The format's name. Fields may be added to the format but never renamed.
const SCHEMA: &str = "oomdoc.attempt/1";
/// An attempt that is older is removed: its job will not run again.
const FORGOTTEN: Duration = Duration::from_secs(180 * 24 * 3600);

/// The previous attempt of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreviousAttempt {
    /// `oomdoc.attempt/1`.
    pub schema: String,
    /// The settings that patches could change, with their values.
    pub settings: BTreeMap<String, String>,
    /// The largest number of each kind of progress line; `None` where there was no log.
    pub reached: Option<BTreeMap<String, f64>>,
    /// The most memory that it used.
    pub peak: Peak,
    /// The changes that its report proposed.
    pub proposals: Vec<Proposal>,
}

/// A proposed change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The outcome to record for it, except whether it worked.
    pub outcome: Outcome,
    /// The proposed value.
    pub to: Option<Scalar>,
    /// How far to change the value, where no value was proposed.
    pub change: Option<Change>,
}

impl PreviousAttempt {
    /// An attempt that ended with the incident of `record`.
    pub fn of(
        record: &Record,
        settings: BTreeMap<String, String>,
        reached: Option<BTreeMap<String, f64>>,
        peak: Peak,
    ) -> PreviousAttempt {
        let proposal = |patch: &crate::model::Patch| Proposal {
            outcome: Outcome { change: report::change(patch), ..Outcome::of_knob(record, &patch.knob, false) },
            to: patch.to.clone(),
            change: patch.change.clone(),
        };
        let proposals = report::numbered(&record.incident).into_iter().map(proposal).collect();
        PreviousAttempt { schema: SCHEMA.to_owned(), settings, reached, peak, proposals }
    }

    /// The previous attempt of `job` on this `rank`; `None` where there is none or its file cannot be read.
    pub fn find(home: &Path, job: &str, rank: Option<u32>) -> Option<PreviousAttempt> {
        serde_json::from_slice(&fs::read(file(home, job, rank)).ok()?).ok()
    }

    /// Keeps the attempt until the job runs again.
    pub fn keep(&self, home: &Path, job: &str, rank: Option<u32>) -> io::Result<()> {
        let folder = home.join(FOLDER);
        durable::make_folder(&folder)?;
        forget_old(&folder);
        durable::replace(&file(home, job, rank), &serde_json::to_vec(self)?)
    }

    /// Removes the previous attempt of `job`.
    pub fn forget(home: &Path, job: &str, rank: Option<u32>) {
        let _ = fs::remove_file(file(home, job, rank));
    }
}

fn file(home: &Path, job: &str, rank: Option<u32>) -> PathBuf {
    let of_rank = rank.map(|rank| format!("-rank{rank}")).unwrap_or_default();
    home.join(FOLDER).join(format!("{job}{of_rank}.json"))
}

fn forget_old(folder: &Path) {
    durable::sweep(folder);
    let is_old = |file: &fs::DirEntry| {
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        modified.is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > FORGOTTEN))
    };
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    files.filter(is_old).for_each(|file| drop(fs::remove_file(file.path())));
}
