//! All of `rules/`: what oomdoc knows that is no code.
//!
//! In go the TOML files, those embedded in the binary or a user's folder; out comes [`Knowledge`], checked: every word
//! in it is of the vocabulary, every row can apply. Whoever needs a part of it receives it as an argument; nothing here
//! knows of logs or incidents.

mod calibration;
mod causes;
mod facts;
mod frameworks;
mod glossary;
mod knobs;
mod levers;
mod models;
mod phases;
mod version;
mod words;

use std::collections::HashSet;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use knobs::GENERIC;

pub use calibration::{Calibration, log_odds, logistic};
pub use causes::{CaptureRow, CauseRule, Condition, EvidenceRow, ExampleRow, Must, NotAdvisedRow, Origin, PatchRow};
pub use facts::{Fact, FactType, Shown};
pub use frameworks::{EngineIs, Framework, Trains, TrainsIn};
pub use glossary::{Glossary, Word};
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

/// A file of rules that is not part of the binary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFile {
    /// Its path as below `rules/`: `causes/nvlink.toml`.
    pub path: String,
    /// What it holds.
    pub content: String,
}

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

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Knowledge({} causes, {} knobs)", self.causes.len(), self.knobs.len())
    }
}

impl Knowledge {
    /// What is part of the binary.
    pub fn shipped() -> Result<Knowledge, KnowledgeError> {
        Knowledge::load(shipped_files())
    }

    /// What is part of the binary, with the user's `own` files over it: a cause or a knob of a known name takes the place
    /// of the shipped one, everything else is added.
    pub fn with_own(own: &[RuleFile]) -> Result<Knowledge, KnowledgeError> {
        let own = own.iter().map(|file| (Origin::Own, file.path.as_str(), file.content.as_str()));
        Knowledge::load_all(shipped_files().map(|(file, content)| (Origin::Shipped, file, content)).chain(own))
    }

    /// What `files` hold: path below `rules/`, content.
    pub fn load<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Knowledge, KnowledgeError> {
        Knowledge::load_all(files.map(|(file, content)| (Origin::Shipped, file, content)))
    }

    fn load_all<'a>(files: impl Iterator<Item = (Origin, &'a str, &'a str)>) -> Result<Knowledge, KnowledgeError> {
        let mut phases = phases::Builder::default();
        let (mut causes, mut frameworks) = (Vec::new(), Vec::new());
        let mut knobs: Vec<(&str, Vec<Knob>)> = Vec::new();
        let mut models = Models::default();
        let (mut levers, mut facts) = (Vec::new(), Vec::new());
        let mut calibration = Calibration::default();
        for (origin, file, content) in files {
            match (file.split_once('/').map(|(folder, _)| folder), origin) {
                (Some("phases"), _) => phases.add(file, parse(file, content)?)?,
                (Some("causes"), _) => add_cause(&mut causes, file, CauseRule { origin, ..parse(file, content)? })?,
                (Some("knobs"), _) => {
                    let rows: knobs::KnobFile = parse(file, content)?;
                    let of_file = rows.knob.into_iter().map(|knob| Knob { framework: rows.framework.clone(), ..knob });
                    let of_file: Vec<Knob> = of_file.collect();
                    if origin == Origin::Own {
                        let is_replaced = |knob: &Knob| {
                            of_file.iter().any(|own| (&own.framework, &own.id) == (&knob.framework, &knob.id))
                        };
                        knobs.iter_mut().for_each(|(_, known)| known.retain(|knob| !is_replaced(knob)));
                    }
                    knobs.push((file, of_file));
                }
                (Some("models"), _) => models.add(file, parse(file, content)?)?,
                (Some("glossary"), Origin::Shipped) => {}
                (None, Origin::Shipped) if file == "frameworks.toml" => {
                    frameworks = parse::<frameworks::FrameworkFile>(file, content)?.framework;
                }
                (None, Origin::Shipped) if file == "calibration.toml" => {
                    calibration = parse(file, content)?;
                    if let Some(problem) = calibration.problem() {
                        return Err(KnowledgeError::Wrong { file: file.to_owned(), problem: problem.to_owned() });
                    }
                }
                (None, Origin::Shipped) if file == "levers.toml" => {
                    levers = parse::<levers::LeverFile>(file, content)?.lever;
                }
                (None, Origin::Shipped) if file == "facts.toml" => {
                    facts = parse::<facts::FactFile>(file, content)?.fact;
                }
                _ => {
                    let problem = "nothing is read from here; rules stand in causes/, knobs/, phases/ or models/";
                    return Err(KnowledgeError::Wrong { file: file.to_owned(), problem: problem.to_owned() });
                }
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

/// The files of `rules/` that are part of the binary: path below `rules/`, content.
pub fn shipped_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHIPPED.iter().copied()
}

/// A user's own rule takes the place of the shipped one; two of one owner are a slip.
fn add_cause(causes: &mut Vec<CauseRule>, file: &str, rule: CauseRule) -> Result<(), KnowledgeError> {
    match causes.iter_mut().find(|known| known.id == rule.id) {
        Some(known) if known.origin != rule.origin => *known = rule,
        Some(_) => {
            let problem = format!("another file has a rule `{}`; give this one a name of its own", rule.id);
            return Err(KnowledgeError::Wrong { file: file.to_owned(), problem });
        }
        None => causes.push(rule),
    }
    Ok(())
}

fn parse<T: DeserializeOwned>(file: &str, content: &str) -> Result<T, KnowledgeError> {
    toml::from_str(content).map_err(|error| KnowledgeError::Malformed { file: file.to_owned(), error: Box::new(error) })
}
