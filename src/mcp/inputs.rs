//! The inputs of an analysis: files of this machine, pasted texts, or both.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Problem, Reach};
use crate::model::{Report, one_line};
use crate::source::{self, Input, SourceError};
use crate::{Grouping, Options};

/// The most bytes of all pasted texts of a call together; more belongs in a file.
pub(super) const MOST_PASTED: usize = 8 << 20;
/// At most this many paths and texts per call; a folder counts once.
const MOST_INPUTS: usize = 200;
/// At most this many characters of a pasted text's name are kept.
const LONGEST_NAME: usize = 200;
/// File systems that the kernel generates on reading: they contain no logs but secrets of processes.
const SYSTEM: [&str; 2] = ["/proc", "/sys"];

/// A pasted text.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pasted {
    /// Its name in citations, e.g. `job.log`, `dmesg.log`, `launch.sh`, `ds_config.json`.
    #[serde(default)]
    name: Option<String>,
    /// The text, verbatim and whole.
    text: String,
}

/// Inputs that were checked against [`Reach`].
#[derive(Debug)]
pub(super) struct Inputs {
    paths: Vec<String>,
    texts: Vec<(String, Vec<u8>)>,
}

impl Inputs {
    /// Checks that everything in `paths` and `texts` may be read.
    pub fn new(paths: Vec<String>, texts: Vec<Pasted>, reach: &Reach) -> Result<Inputs, Problem> {
        if paths.is_empty() && texts.is_empty() {
            let given = if *reach == Reach::Pasted { "`texts`" } else { "`paths` or `texts`" };
            return Err(Problem::new(
                "nothing to read was given",
                format!("give the log, and what else there is, as {given}"),
            ));
        }
        if paths.len() + texts.len() > MOST_INPUTS {
            let problem = format!("{} inputs were given; there may be {MOST_INPUTS}", paths.len() + texts.len());
            return Err(Problem::new(problem, "name the folder that they are in"));
        }
        let bytes: usize = texts.iter().map(|pasted| pasted.text.len()).sum();
        if bytes > MOST_PASTED {
            let problem = format!("the pasted texts have {bytes} bytes; they may have {MOST_PASTED}");
            return Err(Problem::new(problem, "name the file in `paths`, or paste the part around the failure"));
        }
        let paths = paths.iter().map(|path| may_read(path, reach)).collect::<Result<_, _>>()?;
        let name = |(place, name): (usize, Option<String>)| match name {
            Some(name) => one_line(&name).chars().take(LONGEST_NAME).collect(),
            None if place == 0 => "pasted.log".to_owned(),
            None => format!("pasted-{}.log", place + 1),
        };
        let texts = texts.into_iter().enumerate();
        let texts = texts.map(|(place, Pasted { name: called, text })| (name((place, called)), text.into_bytes()));
        Ok(Inputs { paths, texts: texts.collect() })
    }

    /// Analyses the inputs; one report per job that they belong to.
    pub fn analyze(&self, options: &Options) -> Result<Vec<Report>, Problem> {
        if self.texts.is_empty() {
            return Ok(crate::analyze_jobs(&self.paths, options, Grouping::ByJob)?);
        }
        let (files, unreadable) = source::walk(&self.paths);
        self.with_files(files, unreadable, options, |file| {
            options.site.refuses(file).map_or_else(|| Input::open(file), Err)
        })
    }

    /// The report on the only job that ran out of memory, with its configuration as it was before an earlier fix.
    pub fn to_fix(&self, options: &Options) -> Result<Report, Problem> {
        let (files, unreadable) = crate::fix::files(&self.paths);
        let reports = self.with_files(files, unreadable, options, |file| crate::fix::open(file, options))?;
        Ok(crate::fix::only_job(reports)?)
    }

    fn with_files(
        &self,
        files: Vec<String>,
        mut unreadable: Vec<SourceError>,
        options: &Options,
        open: impl Fn(&str) -> Result<Input<'static>, SourceError>,
    ) -> Result<Vec<Report>, Problem> {
        let (mut inputs, mut named) = (Vec::new(), self.paths.clone());
        for file in files {
            match open(&file) {
                Ok(input) => inputs.push(input),
                Err(error) => unreadable.push(error),
            }
        }
        for (name, text) in &self.texts {
            let input = Input::new(name, Cursor::new(text.clone()));
            inputs.push(input.map_err(|error| Problem::bug(format!("{name}: {error}")))?);
            named.push(name.clone());
        }
        if inputs.is_empty() {
            return Err(crate::Error::NothingRead(unreadable).into());
        }
        Ok(crate::analyze_inputs_by_job(inputs, unreadable, &named, options)?)
    }
}

/// Checks that `path` may be read and returns it with `~` expanded. A missing file is reported when it is opened.
pub(super) fn may_read(path: &str, reach: &Reach) -> Result<String, Problem> {
    let Reach::Files { below } = reach else {
        return Err(Problem::new("this server reads no files", "paste what is to be read"));
    };
    let shown = one_line(path);
    let refused = |why: &str, advice: &str| Err(Problem::new(format!("{shown} is not read: {why}"), advice));
    if path == "-" {
        return refused("standard input is this conversation", "paste what is to be read as `texts`");
    }
    let path = at_home(path);
    let real = path.canonicalize();
    let is_below = |folder: &PathBuf| real.as_ref().is_ok_and(|real| real.starts_with(folder));
    if !below.is_empty() && !below.iter().any(is_below) {
        let folders: Vec<String> = below.iter().map(|folder| folder.display().to_string()).collect();
        return refused(
            "it is not below the folders that may be read",
            &format!("these may be read: {}", folders.join(", ")),
        );
    }
    if let Ok(real) = &real {
        if SYSTEM.iter().any(|system| real.starts_with(system)) {
            return refused("the system makes it up", "name a log file or a folder of logs");
        }
        if !real.is_file() && !real.is_dir() {
            return refused("it is neither a file nor a folder", "name a log file or a folder of logs");
        }
    }
    Ok(path.to_string_lossy().into_owned())
}

/// Expands `~/`, which assistants use and no shell expands here.
fn at_home(path: &str) -> PathBuf {
    let below = path.strip_prefix("~/").and_then(|below| Some(std::env::home_dir()?.join(below)));
    below.unwrap_or_else(|| Path::new(path).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn said<T>(result: Result<T, Problem>) -> String {
        result.map_or_else(|problem| problem.to_string(), |_| String::new())
    }

    #[test]
    fn only_what_may_be_read_is() -> Outcome {
        let folder = tempfile::tempdir()?;
        let (inside, outside) = (folder.path().join("logs"), folder.path().join("secret.log"));
        std::fs::create_dir(&inside)?;
        std::fs::write(inside.join("job.log"), "x\n")?;
        std::fs::write(&outside, "x\n")?;
        let shown = |path: &Path| path.display().to_string();
        let (any, few) = (Reach::Files { below: Vec::new() }, Reach::Files { below: vec![inside.canonicalize()?] });
        assert_eq!(said(may_read(&shown(&inside.join("job.log")), &few)), "");
        assert_eq!(said(may_read(&shown(&outside), &any)), "");
        let dots = format!("{}/../secret.log", shown(&inside));
        #[cfg(unix)]
        std::os::unix::fs::symlink(&outside, inside.join("link.log"))?;
        for path in [shown(&outside), dots, shown(&inside.join("link.log")), "nowhere.log".to_owned()] {
            assert!(said(may_read(&path, &few)).contains("not below the folders"), "{path}");
        }
        assert!(said(may_read("-", &any)).contains("standard input"));
        assert!(said(may_read("job.log", &Reach::Pasted)).contains("reads no files"));
        assert_eq!(said(may_read("nowhere.log", &any)), "", "reading says that it is not there");
        if cfg!(target_os = "linux") {
            assert!(said(may_read("/proc/self/environ", &any)).contains("the system makes it up"));
            assert!(said(may_read("/dev/zero", &any)).contains("neither a file nor a folder"));
        }
        Ok(())
    }

    #[test]
    fn there_is_a_bound_to_what_is_pasted() {
        let pasted = |text: String| Pasted { name: None, text };
        let many = (0..=MOST_INPUTS).map(|_| pasted(String::new())).collect();
        assert!(said(Inputs::new(Vec::new(), many, &Reach::Pasted)).contains("201 inputs"));
        let long = vec![pasted("x".repeat(MOST_PASTED)), pasted("x".to_owned())];
        assert!(said(Inputs::new(Vec::new(), long, &Reach::Pasted)).contains("8388609 bytes"));
        assert!(said(Inputs::new(Vec::new(), Vec::new(), &Reach::Pasted)).contains("as `texts`"));
    }
}
