//! A user with settings, in a project that has settings, too.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use super::home::{Outcome, log};

/// A user's home folder with a project in it. The project is a repository, so no settings above it apply.
pub struct Place {
    folder: TempDir,
}

impl Place {
    /// A project with the log of a job that failed in the optimizer's step.
    pub fn new() -> Result<Place, Box<dyn Error>> {
        let place = Place { folder: tempfile::tempdir()? };
        fs::create_dir_all(place.path("project/.git"))?;
        fs::create_dir_all(place.path("project/logs"))?;
        place.write("project/logs/job.log", &log("2026-10-01", "2.00"))?;
        Ok(place)
    }

    /// A path within the user's folder.
    pub fn path(&self, inner: &str) -> PathBuf {
        self.folder.path().join(inner)
    }

    /// Writes a file within the user's folder.
    pub fn write(&self, path: &str, content: &str) -> Outcome {
        let path = self.path(path);
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        Ok(fs::write(path, content)?)
    }

    /// Writes the project's settings.
    pub fn project(&self, content: &str) -> Outcome {
        self.write("project/oomdoc.toml", content)
    }

    /// Writes the user's own settings.
    pub fn own(&self, content: &str) -> Outcome {
        self.write(".config/oomdoc/oomdoc.toml", content)
    }

    /// The command, run in the project with an empty environment but for HOME.
    pub fn oomdoc(&self) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        command.env_clear().env("HOME", self.folder.path()).current_dir(self.path("project"));
        command
    }

    /// The output of `oomdoc config show`.
    pub fn show(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Result<Value, Box<dyn Error>> {
        let mut command = self.oomdoc();
        let done = command.envs(variables.iter().copied()).args(["config", "show", "--format", "json"]).args(arguments);
        let done = done.output()?;
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Ok(serde_json::from_slice(&done.stdout)?)
    }

    /// The report on the project's logs.
    pub fn analyze(&self, arguments: &[&str]) -> Result<Value, Box<dyn Error>> {
        let mut command = self.oomdoc();
        command.args(["analyze", "--no-save", "--format", "json", "logs"]).args(arguments);
        let done = command.output()?;
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Ok(serde_json::from_slice(&done.stdout)?)
    }
}
