//! Analyses texts as if they were files.

use std::error::Error;
use std::io::Cursor;

use oomdoc::Options;
use oomdoc::internal::analyze_inputs;
use oomdoc::internal::source::Input;
use oomdoc::model::{Incident, Report};

/// The report on files with these names and contents.
pub fn report(files: &[(&str, &str)]) -> Result<Report, Box<dyn Error>> {
    let inputs: Result<Vec<Input>, _> =
        files.iter().map(|(name, text)| Input::new(name, Cursor::new(text.as_bytes().to_vec()))).collect();
    Ok(analyze_inputs(inputs?, Vec::new(), &Options::default())?)
}

/// The first incident.
// Not every test asks for it.
#[allow(dead_code)]
pub fn root(report: &Report) -> Result<&Incident, Box<dyn Error>> {
    Ok(report.incidents.first().ok_or("no incident")?)
}
