//! A user with settings of their own, in a project with some.

// No test needs all of it.
#![allow(dead_code)]

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::home::{Outcome, log};

/// A user's folder, and a project's in it, which is a repository: nothing above counts.
pub struct Place {
    folder: TempDir,
}

impl Place {
    /// With a log of a job that failed in the optimizer's step.
    pub fn new() -> Result<Place, Box<dyn Error>> {
        let place = Place { folder: tempfile::tempdir()? };
        fs::create_dir_all(place.path("project/.git"))?;
        fs::create_dir_all(place.path("project/logs"))?;
        place.write("project/logs/job.log", &log("2026-10-01", "2.00"))?;
        Ok(place)
    }

    /// What lies in the user's folder.
    pub fn path(&self, inner: &str) -> PathBuf {
        self.folder.path().join(inner)
    }

    /// Puts a file there.
    pub fn write(&self, path: &str, content: &str) -> Outcome {
        let path = self.path(path);
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        Ok(fs::write(path, content)?)
    }

    /// The project's settings.
    pub fn project(&self, content: &str) -> Outcome {
        self.write("project/oomdoc.toml", content)
    }

    /// The user's own.
    pub fn own(&self, content: &str) -> Outcome {
        self.write(".config/oomdoc/oomdoc.toml", content)
    }

    /// The command in the project, in an environment of its own.
    pub fn oomdoc(&self) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        command.env_clear().env("HOME", self.folder.path()).current_dir(self.path("project"));
        command
    }

    /// What `oomdoc config show` says.
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
