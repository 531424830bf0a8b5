//! Starts a script by a launcher in the place of Python.

use super::edit;
use crate::config::Format;
use crate::launch::JobConfig;
use crate::model::{Edit, Given, Scalar};

/// The edit that starts the only script of the job that Python starts by the command `launcher` with the options `to`, and its diff.
pub(super) fn edits(launch: &JobConfig<'_>, launcher: &str, to: &Scalar) -> Option<(Vec<Edit>, Option<String>)> {
    let scripts = launch.documents().iter().filter(|document| document.format() == Format::Shell);
    let mut places = scripts.flat_map(|document| {
        let commands = document.commands().iter().enumerate().filter(|(_, command)| command.starts_python());
        commands.filter_map(move |(place, command)| Some((document, place, command.target.clone()?)))
    });
    let (document, place, key) = places.next().filter(|_| places.next().is_none())?;
    let to = Scalar::Text(format!("{launcher} {to}"));
    let edit = Edit { file: document.path().clone(), key, to, given: Given::Launcher, command: Some(place) };
    let edits = vec![edit];
    let diff = edit::diff(launch, &edits)?;
    Some((edits, Some(diff)))
}
