use std::io;
use std::sync::Arc;

use thiserror::Error;

use super::origin::Place;

/// Settings that cannot hold.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// A file cannot be read.
    #[error("cannot read {file}: {error}")]
    Unreadable {
        /// Which.
        file: Arc<str>,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// A file is nothing that could be read as settings.
    #[error("{file} cannot hold settings: {problem}")]
    Unfit {
        /// Which.
        file: Arc<str>,
        /// What it is.
        problem: &'static str,
    },
    /// A line says something that cannot be.
    #[error("{place}: {problem}")]
    Wrong {
        /// Where.
        place: Place,
        /// What is wrong.
        problem: String,
        /// What was meant, or what to do.
        advice: String,
    },
    /// A variable says something that cannot be.
    #[error("${name}: {problem}")]
    Variable {
        /// Which.
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
            SettingsError::Wrong { advice, .. } => advice.clone(),
            SettingsError::Variable { name, .. } => format!("unset {name}, or set it as docs/configuration.md says"),
        }
    }
}
