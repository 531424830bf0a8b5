//! Analyses texts as if they were files.

use std::error::Error;
use std::io::Cursor;
use std::sync::{Arc, LazyLock};

use oomdoc::Options;
use oomdoc::internal::analyze_inputs;
use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::source::Input;
use oomdoc::model::{Diagnosis, Incident, Patch, Report};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The report on files with these names and contents.
pub fn report(files: &[(&str, &str)]) -> Outcome<Report> {
    let inputs: Result<Vec<Input>, _> =
        files.iter().map(|(name, text)| Input::new(name, Cursor::new(text.as_bytes().to_vec()))).collect();
    Ok(analyze_inputs(inputs?, Vec::new(), &options())?)
}

/// Default options, with the rules read once for hundreds of logs.
pub fn options() -> Options {
    static KNOWLEDGE: LazyLock<Option<Arc<Knowledge>>> = LazyLock::new(|| Knowledge::shipped().ok().map(Arc::new));
    KNOWLEDGE.clone().map_or_else(Options::default, |knowledge| Options::default().knowledge(knowledge))
}

/// The report on `log`, whose evidence stands there.
pub fn cited(log: &str, options: &Options) -> Outcome<Report> {
    let input = Input::new("job.log", Cursor::new(log.to_owned().into_bytes()))?;
    let report = analyze_inputs(vec![input], Vec::new(), options)?;
    let lines: Vec<&str> = log.lines().collect();
    for cite in report.incidents.iter().flat_map(|incident| &incident.evidence) {
        let line = lines.get(cite.location.line.0 as usize - 1).ok_or("a line that is not there")?;
        assert!(line.contains(cite.text.trim()), "{line}: {}", cite.text);
    }
    Ok(report)
}

/// The first incident.
pub fn root(report: &Report) -> Outcome<&Incident> {
    Ok(report.incidents.first().ok_or("no incident")?)
}

fn first(report: &Report) -> Outcome<&Diagnosis> {
    Ok(root(report)?.diagnoses.first().ok_or("no cause")?)
}

/// The first cause.
pub fn cause(report: &Report) -> Outcome<&str> {
    Ok(&first(report)?.cause)
}

/// The changes against it.
pub fn patches(report: &Report) -> Outcome<&[Patch]> {
    Ok(&first(report)?.patches)
}

/// The knobs that these turn.
pub fn turned(report: &Report) -> Outcome<Vec<&str>> {
    Ok(patches(report)?.iter().map(|patch| &*patch.knob).collect())
}

/// The diff of the first of them, empty if there is none.
pub fn diff(report: &Report) -> Outcome<String> {
    Ok(patches(report)?.first().and_then(|patch| patch.diff.clone()).unwrap_or_default())
}

/// The lines that `diff` adds, without their signs and indentation.
pub fn added_lines(diff: &str) -> Vec<&str> {
    let is_added = |line: &&str| line.starts_with('+') && !line.starts_with("+++");
    diff.lines().filter(is_added).map(|line| line[1..].trim()).collect()
}

/// What the allocator of a GPU of `capacity` GiB says.
pub fn refused(requested: &str, capacity: f64) -> String {
    let held = capacity - 0.05;
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested}. GPU 0 has a total capacity of {capacity:.2} GiB of which 20.50 MiB is free. Including non-PyTorch memory, this process has {held:.2} GiB memory in use. Of the allocated memory {:.2} GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.\n",
        capacity - 0.7
    )
}

/// A traceback through these calls: file, function and code, outermost first.
pub fn stack(calls: &[(&str, &str, &str)]) -> String {
    let head = "Traceback (most recent call last):\n".to_owned();
    calls.iter().fold(head, |text, (file, function, code)| {
        let folder = if file.starts_with('/') { "" } else { "/v/lib/python3.11/site-packages/" };
        text + &format!("  File \"{folder}{file}\", line 77, in {function}\n    {code}\n")
    })
}
