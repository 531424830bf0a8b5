//! What is kept of an attempt that ran out of memory until the job runs again: how far it got, and what was proposed.

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
/// The format's name. Fields may be added to it, never renamed.
const SCHEMA: &str = "oomdoc.attempt/1";
/// A job that did not run again for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(180 * 24 * 3600);

/// See the module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forerunner {
    /// `oomdoc.attempt/1`.
    pub schema: String,
    /// What was set of all that patches turn.
    pub settings: BTreeMap<String, String>,
    /// How far it got, by kinds of lines; `None` where there was no log.
    pub reached: Option<BTreeMap<String, f64>>,
    /// The most memory it took.
    pub peak: Peak,
    /// What the report advised.
    pub proposals: Vec<Proposal>,
}

/// A change that was advised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// What will be told of it, but for how it went.
    pub outcome: Outcome,
    /// The value that was advised.
    pub to: Option<Scalar>,
    /// How far to turn it, where that is all that was said.
    pub change: Option<Change>,
}

impl Forerunner {
    /// Of the incident that `record` keeps, which has the `settings`, and what it `reached`.
    pub fn of(
        record: &Record,
        settings: BTreeMap<String, String>,
        reached: Option<BTreeMap<String, f64>>,
        peak: Peak,
    ) -> Forerunner {
        let proposal = |patch: &crate::model::Patch| Proposal {
            outcome: Outcome { change: report::change(patch), ..Outcome::of_knob(record, &patch.knob, false) },
            to: patch.to.clone(),
            change: patch.change.clone(),
        };
        let proposals = report::numbered(&record.incident).into_iter().map(proposal).collect();
        Forerunner { schema: SCHEMA.to_owned(), settings, reached, peak, proposals }
    }

    /// Of `job` as this `rank` of it ran; `None` where it did not, or nobody can read what was kept.
    pub fn find(home: &Path, job: &str, rank: Option<u32>) -> Option<Forerunner> {
        serde_json::from_slice(&fs::read(file(home, job, rank)).ok()?).ok()
    }

    /// Keeps it until the job runs again.
    pub fn keep(&self, home: &Path, job: &str, rank: Option<u32>) -> io::Result<()> {
        let folder = home.join(FOLDER);
        durable::make_folder(&folder)?;
        forget_old(&folder);
        durable::replace(&file(home, job, rank), &serde_json::to_vec(self)?)
    }

    /// Forgets what was kept of `job`: it went on.
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
