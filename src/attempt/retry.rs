//! The next attempt: makes the proposed change in copies of the job's files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

use super::launched::Launched;
use crate::config::{self, Format};
use crate::durable;
use crate::fix::{self, FixError};
use crate::model::{Edit, Patch, Report};
use crate::{patch, report};

/// Why the job cannot be run again with a change.
#[derive(Debug, Error)]
pub enum RetryError {
    /// Nothing is proposed.
    #[error(transparent)]
    Nothing(#[from] FixError),
    /// No file and no option of the command sets what is proposed.
    #[error("nothing that the job is launched with sets {}", .0.join(", "))]
    NoEdit(Vec<String>),
    /// The command would not read the copy of this file.
    #[error("the command does not name {0}, so that it would not read a changed copy")]
    NotNamed(String),
    /// A copy cannot be written.
    #[error("{path}: {error}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
}

/// A job with a change made.
#[derive(Debug)]
pub struct ChangedJob {
    /// The job as it is to be launched next.
    pub launched: Launched,
    /// The changes in words.
    pub changes: Vec<String>,
    /// The changes as a unified diff.
    pub diff: String,
}

/// Makes the change that `report` proposes in copies of the files of `launched`. In the report the command is a file
/// called `script`; `attempt` becomes part of the copies' names.
pub fn change(launched: &Launched, script: &str, report: &Report, attempt: u32) -> Result<ChangedJob, RetryError> {
    let patches = advised(report)?;
    let before: BTreeMap<&str, &str> =
        launched.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let edited = edited(&before, &launched.script, script, &patches)?;
    let changes = patches.iter().map(|patch| report::change(patch)).collect();
    let diff = edited.iter().map(|(name, text)| {
        let old = if *name == script {
            launched.script.as_str()
        } else {
            before.get(name.as_str()).copied().unwrap_or_default()
        };
        config::diff(name, old, text)
    });
    let diff = diff.collect();
    let launched = copied(launched, edited, script, attempt)?;
    Ok(ChangedJob { launched, changes, diff })
}

/// The proposed patches, if all of them are edits of files. Otherwise the first patch against the likeliest cause that
/// is one, unless it is known not to suffice.
fn advised(report: &Report) -> Result<Vec<&Patch>, RetryError> {
    let proposed = fix::pick(report, &[])?;
    let has_edit = |patch: &&Patch| patch.diff.is_some();
    if proposed.iter().all(has_edit) {
        return Ok(proposed);
    }
    let against_it = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    let mut others = against_it.iter().flat_map(|diagnosis| &diagnosis.patches);
    let other = others.find(|patch| has_edit(patch) && patch.suffices != Some(false));
    let knobs = || proposed.iter().filter(|patch| !has_edit(patch)).map(|patch| patch.knob.clone()).collect();
    Ok(vec![other.ok_or_else(|| RetryError::NoEdit(knobs()))?])
}

/// The new texts of the files that `patches` edit, including the command's script.
fn edited(
    files: &BTreeMap<&str, &str>,
    command: &str,
    script: &str,
    patches: &[&Patch],
) -> Result<BTreeMap<String, String>, RetryError> {
    let edits: Vec<&Edit> = patches.iter().flat_map(|patch| &patch.edits).collect();
    let names: BTreeSet<&str> = edits.iter().map(|edit| &*edit.file).collect();
    let after = |name: &str| {
        let text = if name == script { Some(command) } else { files.get(name).copied() };
        let text = text.ok_or_else(|| RetryError::NotNamed(name.to_owned()))?;
        let own: Vec<Edit> = edits.iter().filter(|edit| &*edit.file == name).map(|edit| (*edit).clone()).collect();
        let knobs = || patches.iter().map(|patch| patch.knob.clone()).collect();
        let text =
            patch::apply(Format::of_file(name, text), name, text, &own).ok_or_else(|| RetryError::NoEdit(knobs()))?;
        Ok((name.to_owned(), text))
    };
    names.into_iter().map(after).collect()
}

/// The job with the `edited` files copied, and every reference to one pointing to its copy.
fn copied(
    launched: &Launched,
    edited: BTreeMap<String, String>,
    script: &str,
    attempt: u32,
) -> Result<Launched, RetryError> {
    let mut texts: BTreeMap<String, String> = edited;
    let mut command = texts.remove(script).unwrap_or_else(|| launched.script.clone());
    let changed: Vec<String> = texts.keys().cloned().collect();
    // A file that names a copied file is copied as well, because it must name the copy.
    loop {
        let names: Vec<String> = texts.keys().cloned().collect();
        let more = launched.files.iter().find(|(name, text)| {
            let mention = Mention { folder: &launched.folder, by: name };
            !texts.contains_key(*name) && names.iter().any(|named| replaced(text, &mention, named, named).is_some())
        });
        let Some((name, text)) = more else { break };
        texts.insert(name.clone(), text.clone());
    }
    let copies: BTreeMap<String, String> = texts.keys().map(|name| (name.clone(), copy_of(name, attempt))).collect();
    for (name, copy) in &copies {
        let name_copy = |by: &str, text: &mut String| {
            if let Some(new) = replaced(text, &Mention { folder: &launched.folder, by }, name, copy) {
                *text = new;
            }
        };
        name_copy("", &mut command);
        texts.iter_mut().for_each(|(by, text)| name_copy(by, text));
    }
    for (name, text) in &texts {
        let path = launched.folder.join(&copies[name]);
        let original = launched.folder.join(name);
        durable::replace_like(&path, text.as_bytes(), &original).map_err(|error| RetryError::File { path, error })?;
    }
    let next = Launched::by_script(&command, &launched.folder);
    match changed.iter().find(|name| !next.files.contains_key(&copies[*name])) {
        None => Ok(next),
        Some(name) => {
            copies.values().for_each(|copy| drop(fs::remove_file(launched.folder.join(copy))));
            Err(RetryError::NotNamed(name.clone()))
        }
    }
}

/// The path of a copy: `conf/ds.json` becomes `conf/ds.oomdoc-2.json`. It stays in the same folder so that relative
/// paths in it remain valid.
fn copy_of(name: &str, attempt: u32) -> String {
    let path = Path::new(name);
    let end = path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.rsplit_once(".oomdoc-").map_or(&*stem, |(stem, _)| stem);
    path.with_file_name(format!("{stem}.oomdoc-{attempt}{end}")).to_string_lossy().into_owned()
}

/// The place where a path is mentioned: a file of the job, or, with an empty `by`, its command.
struct Mention<'p> {
    folder: &'p Path,
    by: &'p str,
}

impl Mention<'_> {
    /// Whether `path`, relative to the job's folder or to the mentioning file, is the job's file `name`. A path with
    /// variables never is.
    fn is(&self, path: &str, name: &str) -> bool {
        let beside = Path::new(self.by).parent().unwrap_or(Path::new(""));
        let real = |path: PathBuf| fs::canonicalize(path).ok();
        let meant = real(self.folder.join(name));
        let found = [self.folder.join(path), self.folder.join(beside).join(path)].into_iter().find_map(real);
        !path.contains('$') && meant.is_some() && found == meant
    }
}

/// `text`, found at `mention`, with mentions of the file `name` replaced by `copy`; `None` where there are none.
fn replaced(text: &str, mention: &Mention<'_>, name: &str, copy: &str) -> Option<String> {
    let own = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let (base, copy) = (own(name)?, own(copy)?);
    let is_of_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let is_of_path = |c: char| is_of_name(c) || "/~${}".contains(c);
    let (mut new, mut last) = (String::new(), 0);
    for (at, _) in text.match_indices(&base) {
        let end = at + base.len();
        let path = &text[text[..at].trim_end_matches(is_of_path).len()..end];
        let is_whole = !text[..at].ends_with(is_of_name) && !text[end..].starts_with(is_of_name);
        if at >= last && is_whole && mention.is(path, name) {
            new += &text[last..at];
            new += &copy;
            last = end;
        }
    }
    (last > 0).then(|| new + &text[last..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_lie_beside_the_originals() {
        assert_eq!(copy_of("conf/ds.json", 2), "conf/ds.oomdoc-2.json");
        assert_eq!(copy_of("conf/ds.oomdoc-2.json", 3), "conf/ds.oomdoc-3.json");
        assert_eq!(copy_of("launch", 2), "launch.oomdoc-2");
    }

    #[test]
    fn a_file_is_named_by_its_path_and_no_other_by_its_name() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        for name in ["a", "b"] {
            fs::create_dir(folder.path().join(name))?;
            fs::write(folder.path().join(name).join("ds.json"), "{}")?;
        }
        let named = |text: &str, by: &str| {
            let mention = Mention { folder: folder.path(), by };
            replaced(text, &mention, "a/ds.json", "a/ds.oomdoc-2.json")
        };
        let text = "deepspeed train.py --deepspeed ./a/ds.json --model=b/ds.json --x a/my-ds.json --y $M/ds.json";
        let expected = text.replace("./a/ds.json", "./a/ds.oomdoc-2.json");
        assert_eq!(named(text, ""), Some(expected));
        assert_eq!(named("--deepspeed ds.json", "a/run.sh").as_deref(), Some("--deepspeed ds.oomdoc-2.json"));
        assert_eq!(named("--deepspeed ds.json", "b/run.sh"), None);
        assert_eq!(named("a/ds.json.bak", ""), None);
        Ok(())
    }

    #[test]
    fn who_names_a_changed_file_is_copied_too() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("launch.sh"), "deepspeed train.py --deepspeed ds.json\n")?;
        fs::write(folder.path().join("ds.json"), "{\"a\": 1}\n")?;
        let command = ["bash", "launch.sh"].map(std::ffi::OsString::from);
        let launched = Launched::of(&command, folder.path()).ok_or("no script")?;
        let edited = BTreeMap::from([("ds.json".to_owned(), "{\"a\": 2}\n".to_owned())]);
        let next = copied(&launched, edited, "job.command", 2)?;
        assert_eq!(next.script, "#!/bin/sh\nexec bash launch.oomdoc-2.sh\n");
        assert_eq!(fs::read_to_string(folder.path().join("ds.oomdoc-2.json"))?, "{\"a\": 2}\n");
        assert!(next.files["launch.oomdoc-2.sh"].contains("--deepspeed ds.oomdoc-2.json"));
        assert_eq!(fs::read_to_string(folder.path().join("ds.json"))?, "{\"a\": 1}\n");
        Ok(())
    }

    #[test]
    fn a_file_that_the_command_does_not_name_is_not_copied() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("ds.json"), "{}\n")?;
        let mut launched = Launched::by_script("#!/bin/sh\nexec ./train\n", folder.path());
        launched.files.insert("ds.json".to_owned(), "{}\n".to_owned());
        let edited = BTreeMap::from([("ds.json".to_owned(), "{\"a\": 2}\n".to_owned())]);
        assert!(matches!(copied(&launched, edited, "job.command", 2), Err(RetryError::NotNamed(_))));
        assert!(!folder.path().join("ds.oomdoc-2.json").exists());
        Ok(())
    }
}
