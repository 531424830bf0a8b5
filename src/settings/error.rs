use std::io;
use std::sync::Arc;

use thiserror::Error;

use super::origin::FileLine;

/// Invalid settings.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// A file cannot be read.
    #[error("cannot read {file}: {error}")]
    Unreadable {
        /// The file.
        file: Arc<str>,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// A file is not suitable for settings.
    #[error("{file} cannot hold settings: {problem}")]
    Unfit {
        /// The file.
        file: Arc<str>,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A file that was named holds something else, as a job's own configuration does.
    #[error("{file} holds no settings of oomdoc, which is what --config names")]
    NotSettings {
        /// The file.
        file: Arc<str>,
    },
    /// A value in a file is invalid.
    #[error("{place}: {problem}")]
    Wrong {
        /// Its line.
        place: FileLine,
        /// What is wrong.
        problem: String,
        /// What to write instead.
        advice: String,
    },
    /// A variable has an invalid value.
    #[error("${name}: {problem}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What is wrong.
        problem: String,
    },
}

impl SettingsError {
    /// What to do about it.
    pub fn advice(&self) -> String {
        const WITHOUT: &str = "or run with --no-config";
        match self {
            SettingsError::Unreadable { .. } => format!("name a file that you can read with --config, {WITHOUT}"),
            SettingsError::Unfit { .. } => format!("docs/configuration.md shows what stands there; {}", &WITHOUT[3..]),
            SettingsError::NotSettings { .. } => {
                "name what the job was launched with beside its log: oomdoc analyze job.log config.yaml".to_owned()
            }
            SettingsError::Wrong { advice, .. } => advice.clone(),
            SettingsError::Variable { name, .. } => format!("unset {name}, or set it as docs/configuration.md says"),
        }
    }
}
