//! All of `rules/`: what oomdoc knows that is no code.
//!
//! In go the TOML files, those embedded in the binary or a user's folder; out comes [`Knowledge`], checked: every word
//! in it is of the vocabulary, every row can apply. Whoever needs a part of it receives it as an argument; nothing here
//! knows of logs or incidents.

mod causes;
mod frameworks;
mod knobs;
mod phases;
mod words;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use thiserror::Error;

pub use causes::{CaptureRow, CauseRule, Condition, EvidenceRow, ExampleRow, Must, NotAdvisedRow, PatchRow};
pub use frameworks::Framework;
pub use knobs::{Constraint, Direction, Knob, Spelling, Target, To, Turn, Type};
pub use phases::{FrameRole, FrameRow, Mark, Phases};
pub use words::{Language, Words};

/// A file of `rules/` that does not hold what it should.
#[derive(Debug, Error)]
pub enum KnowledgeError {
    /// It is no TOML, or none of the expected shape.
    #[error("rules/{file}: {error}")]
    Malformed {
        /// Path below `rules/`.
        file: String,
        /// Where and what.
        #[source]
        error: Box<toml::de::Error>,
    },
    /// It is well-formed and says something that cannot be.
    #[error("rules/{file}: {problem}")]
    Wrong {
        /// Path below `rules/`.
        file: String,
        /// What is wrong and what to do about it.
        problem: String,
    },
}

/// The files of `rules/` that are part of the binary: path below `rules/`, content.
static SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// What oomdoc knows.
pub struct Knowledge {
    /// Signs of phases.
    pub phases: Phases,
    /// Why memory runs out.
    pub causes: Vec<CauseRule>,
    /// What frameworks let one turn.
    pub knobs: Vec<Knob>,
    /// How frameworks are told, those on top first.
    pub frameworks: Vec<Framework>,
}

impl Knowledge {
    /// What is part of the binary.
    pub fn shipped() -> Result<Knowledge, KnowledgeError> {
        Knowledge::load(SHIPPED.iter().copied())
    }

    /// What `files` hold: path below `rules/`, content.
    pub fn load<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Knowledge, KnowledgeError> {
        let mut phases = phases::Builder::default();
        let (mut causes, mut knobs, mut frameworks) = (Vec::new(), Vec::new(), Vec::new());
        for (file, content) in files {
            match file.split_once('/').map(|(folder, _)| folder) {
                Some("phases") => phases.add(file, parse(file, content)?)?,
                Some("causes") => causes.push(parse::<CauseRule>(file, content)?),
                Some("knobs") => {
                    let file: knobs::KnobFile = parse(file, content)?;
                    let framework: Arc<str> = file.framework;
                    knobs.extend(file.knob.into_iter().map(|knob| Knob { framework: framework.clone(), ..knob }));
                }
                None if file == "frameworks.toml" => {
                    frameworks = parse::<frameworks::FrameworkFile>(file, content)?.framework;
                }
                _ => {}
            }
        }
        Ok(Knowledge { phases: phases.finish(), causes, knobs, frameworks })
    }
}

fn parse<T: DeserializeOwned>(file: &str, content: &str) -> Result<T, KnowledgeError> {
    toml::from_str(content).map_err(|error| KnowledgeError::Malformed { file: file.to_owned(), error: Box::new(error) })
}
