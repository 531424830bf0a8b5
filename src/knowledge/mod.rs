//! All of `rules/`: what oomdoc knows that is no code.
//!
//! In go the TOML files, those embedded in the binary or a user's folder; out comes [`Knowledge`], checked: every word
//! in it is of the vocabulary, every row can apply. Whoever needs a part of it receives it as an argument; nothing here
//! knows of logs or incidents.

mod calibration;
mod causes;
mod facts;
mod frameworks;
mod knobs;
mod levers;
mod models;
mod phases;
mod version;
mod words;

use std::collections::HashSet;

use serde::de::DeserializeOwned;
use thiserror::Error;

pub use calibration::{Calibration, log_odds, logistic};
pub use causes::{CaptureRow, CauseRule, Condition, EvidenceRow, ExampleRow, Must, NotAdvisedRow, PatchRow};
pub use facts::{Fact, FactType};
pub use frameworks::Framework;
pub use knobs::{Constraint, DefaultValue, Direction, Knob, Spelling, Target, To, Turn, Type, newest_version_with};
pub use levers::Lever;
pub use models::{Bias, Experts, Found, HfConfigError, LatentAttention, Model, Models, Shape};
pub use phases::{FrameRole, FrameRow, Mark, Phases};
pub use version::Version;
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
    /// What frameworks let one turn, by framework, the most useful of a lever first.
    pub knobs: Vec<Knob>,
    /// What knobs turn.
    pub levers: Vec<Lever>,
    /// The names that conditions may use of a configuration.
    pub facts: Vec<Fact>,
    /// How frameworks are told, those on top first.
    pub frameworks: Vec<Framework>,
    /// Published models and their shapes.
    pub models: Models,
    /// How sure to be of a diagnosis.
    pub calibration: Calibration,
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
        let mut models = Models::default();
        let (mut levers, mut facts) = (Vec::new(), Vec::new());
        let mut calibration = Calibration::default();
        for (file, content) in files {
            match file.split_once('/').map(|(folder, _)| folder) {
                Some("phases") => phases.add(file, parse(file, content)?)?,
                Some("causes") => causes.push(parse::<CauseRule>(file, content)?),
                Some("knobs") => {
                    let rows: knobs::KnobFile = parse(file, content)?;
                    let of_file = rows.knob.into_iter().map(|knob| Knob { framework: rows.framework.clone(), ..knob });
                    knobs.push((file, of_file.collect::<Vec<Knob>>()));
                }
                Some("models") => models.add(file, parse(file, content)?)?,
                None if file == "frameworks.toml" => {
                    frameworks = parse::<frameworks::FrameworkFile>(file, content)?.framework;
                }
                None if file == "calibration.toml" => {
                    calibration = parse(file, content)?;
                    if let Some(problem) = calibration.problem() {
                        return Err(KnowledgeError::Wrong { file: file.to_owned(), problem: problem.to_owned() });
                    }
                }
                None if file == "levers.toml" => levers = parse::<levers::LeverFile>(file, content)?.lever,
                None if file == "facts.toml" => facts = parse::<facts::FactFile>(file, content)?.fact,
                _ => {}
            }
        }
        let mut known = HashSet::new();
        for (file, knobs) in &knobs {
            let wrong = |problem| KnowledgeError::Wrong { file: (*file).to_owned(), problem };
            knobs::check(knobs, &mut known, &levers, &facts).map_err(wrong)?;
        }
        let knobs = knobs.into_iter().flat_map(|(_, knobs)| knobs).collect();
        Ok(Knowledge { phases: phases.finish(), causes, knobs, levers, facts, frameworks, models, calibration })
    }

    /// Whose knobs a job on `framework` has, its own first; the last is nobody's in particular.
    pub fn stack<'k>(&'k self, framework: Option<&'k str>) -> Vec<&'k str> {
        let known = framework.and_then(|name| self.frameworks.iter().find(|known| &*known.name == name));
        let uses = known.map_or(PLAIN_PYTORCH.to_vec(), |known| known.uses.iter().map(|name| &**name).collect());
        framework.into_iter().chain(uses).chain([GENERIC]).collect()
    }

    /// The knobs that turn `lever` for a job on `framework`, that way where one is asked for, in the order of its stack.
    pub fn knobs_for<'k>(
        &'k self,
        framework: Option<&'k str>,
        lever: &'k str,
        direction: Option<Direction>,
    ) -> impl Iterator<Item = (&'k Knob, &'k Turn)> {
        let of = |framework: &'k str| self.knobs.iter().filter(move |knob| &*knob.framework == framework);
        let turned = move |knob: &'k Knob| Some((knob, knob.turns(lever, direction)?));
        self.stack(framework).into_iter().flat_map(of).filter_map(turned)
    }
}

/// What a job of an unknown framework stands on.
const PLAIN_PYTORCH: &[&str] = &["torch", "system"];
/// The knobs that every script has in some form: the last resort.
const GENERIC: &str = "generic";

fn parse<T: DeserializeOwned>(file: &str, content: &str) -> Result<T, KnowledgeError> {
    toml::from_str(content).map_err(|error| KnowledgeError::Malformed { file: file.to_owned(), error: Box::new(error) })
}
