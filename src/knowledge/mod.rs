//! Everything in `rules/`: what oomdoc knows that is not code.
//!
//! The input is TOML files, embedded in the binary or from a user's folder; the output is a checked [`Knowledge`]: every word in it belongs
//! to the vocabulary, and every row can apply. Other floors receive the parts that they need as arguments; nothing here knows of logs or
//! incidents.

mod calibration;
mod causes;
mod code;
mod defects;
mod dialects;
mod facts;
mod file;
mod frameworks;
mod glossary;
mod inputs;
mod knobs;
mod language;
mod launchers;
mod levers;
mod libraries;
mod messages;
mod models;
mod name;
mod part;
mod phases;
mod prices;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod progress;
mod ranking;
mod read;
mod retell;
mod secrets;
mod signs;
mod snapshot;
mod terms;
mod version;

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::{fmt, thread};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use file::File;
use knobs::GENERIC;

pub use calibration::{Calibration, log_odds, logistic};
pub use causes::{CauseRule, Condition, EvidenceRow, ExampleRow, Must, NotAdvisedRow, Origin, PatchRow};
pub use code::{CodeCall, CodeWords, ends_in, is_constant};
pub use defects::{Defect, DefectExample, DefectFile};
pub use dialects::{Dialect, DialectExample, FactRow, Plain, SettingRow};
pub use facts::{Fact, FactType};
pub use file::shipped_files;
pub use frameworks::{
    Behaviour, CompanionHome, CompanionRow, EngineIs, Framework, LauncherFile, Trains, TrainsIn, Wording,
};
pub use glossary::{Glossary, Word};
pub use inputs::{Endings, Inputs, NameWords, TextWords};
pub use knobs::{
    Constraint, DefaultValue, Direction, Knob, Knobs, Note, Section, Spelling, Target, To, Turn, Type, is_end,
    is_named, last_step, newest_version_with, plain_name,
};
pub use language::{Language, Words};
pub use launchers::{Launcher, Launchers, Programs, Scheduler, Starts, is_among};
pub use levers::{AdviceWords, Lever};
pub use libraries::{Libraries, below_installation, in_installation, installed};
pub use messages::{Message, MessageFile, Piece, Said, SlotName, SlotType, StatedExit, Template, VictimPart, Who};
#[cfg(test)]
pub use models::Model;
pub use models::{Experts, HfConfigError, ModelMatch, Models, Shape};
pub use part::Part;
pub use phases::{FrameRole, Mark, Phases};
pub use prices::{Price, Prices};
pub use progress::Progress;
pub use ranking::{Learned, Ranking, Weights, WordRow};
pub use retell::{LESS_LIKELY, again, retell, title_in, titles};
pub use secrets::{Secret, example as example_of_secret};
pub use signs::{FoundSign, Meaning, MemoryOf, NumberOf, Place, SignExample, SignExamples, SignRow, Signs};
pub use snapshot::SnapshotRules;
pub use terms::{closed_up, in_terms, phase_in_words};
pub use version::{Version, is_newer};

/// An error in a file of `rules/`.
#[derive(Debug, Error)]
pub enum KnowledgeError {
    /// It is not TOML, or has not the expected fields.
    #[error("rules/{file}: {error}")]
    Malformed {
        /// Path below `rules/`.
        file: String,
        /// The parser's error.
        #[source]
        error: Box<toml::de::Error>,
    },
    /// The build prepared it wrongly for the binary.
    #[error("rules/{file}, as prepared: {error}")]
    Unprepared {
        /// Path below `rules/`.
        file: String,
        /// The parser's error.
        #[source]
        error: Box<serde_json::Error>,
    },
    /// It is well-formed but its content is impossible.
    #[error("rules/{file}: {problem}")]
    Wrong {
        /// Path below `rules/`.
        file: String,
        /// What is wrong and what to do about it.
        problem: String,
    },
}

impl KnowledgeError {
    /// The file: its path below `rules/`.
    pub fn file(&self) -> &str {
        match self {
            KnowledgeError::Malformed { file, .. }
            | KnowledgeError::Unprepared { file, .. }
            | KnowledgeError::Wrong { file, .. } => file,
        }
    }

    /// What is wrong in it.
    pub fn problem(&self) -> String {
        match self {
            KnowledgeError::Malformed { error, .. } => error.message().to_owned(),
            KnowledgeError::Unprepared { error, .. } => error.to_string(),
            KnowledgeError::Wrong { problem, .. } => problem.clone(),
        }
    }

    /// The byte at which the error stands, if it is known.
    pub fn offset(&self) -> Option<usize> {
        let KnowledgeError::Malformed { error, .. } = self else { return None };
        Some(error.span()?.start)
    }
}

/// A file of rules that is not part of the binary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFile {
    /// Its path as below `rules/`: `causes/nvlink.toml`.
    pub path: String,
    /// Its content.
    pub content: String,
}

/// What oomdoc knows. Reading a log takes only the signs of phases and shortages, the messages and the frameworks; the other parts of the
/// shipped base are read once there is an incident.
pub struct Knowledge {
    /// Signs of phases.
    pub phases: Arc<Phases>,
    /// General signs of shortage.
    pub signs: Arc<Signs>,
    /// One-line messages, by producer.
    pub messages: Arc<[MessageFile]>,
    /// The causes for which memory runs out.
    pub causes: Part<Vec<CauseRule>>,
    /// What some versions of programs do wrong with memory.
    pub defects: Part<Vec<Defect>>,
    /// The knobs of all frameworks.
    pub knobs: Knobs,
    /// The levers that knobs turn.
    pub levers: Part<Vec<Lever>>,
    /// Words with which programs advise to turn an option.
    pub advice: Part<AdviceWords>,
    /// The facts of a configuration that conditions may use.
    pub facts: Part<Vec<Fact>>,
    /// How frameworks read their launch settings.
    pub dialects: Part<Vec<Dialect>>,
    /// How to recognise frameworks, those on top first.
    pub frameworks: Vec<Framework>,
    /// Words of messages that newer versions of a program no longer print.
    pub wordings: Vec<Wording>,
    /// Published models and their shapes.
    pub models: Part<Models>,
    /// The prices of changes that make a job fit.
    pub prices: Part<Prices>,
    /// How shares of the odds become confidence.
    pub calibration: Calibration,
    /// The weights of signals.
    pub ranking: Part<Ranking>,
    /// What secrets look like, which must not be kept or sent.
    pub secrets: Part<Vec<Secret>>,
}

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Knowledge({} causes, {} knobs)", self.causes.len(), self.knobs.iter().count())
    }
}

impl Knowledge {
    /// The lever of this name.
    pub fn lever(&self, name: &str) -> Option<&Lever> {
        self.levers.iter().find(|lever| *lever.name == *name)
    }

    /// The knowledge in the binary.
    pub fn shipped() -> Result<Knowledge, KnowledgeError> {
        let files = File::shipped();
        thread::scope(|scope| {
            // The signs of phases take as long as all else that is read at once.
            let phases = scope.spawn(|| read::phases(&files));
            let frameworks = read::frameworks(&files)?;
            let signs = Arc::new(read::signs(&files)?);
            // A test holds that they pass the checks of messages.
            let messages = read::messages(&files)?.into_iter().map(|(_, messages)| messages).collect();
            let calibration = read::calibration(&files)?;
            let phases = Arc::new(phases.join().unwrap_or_else(|panic| resume_unwind(panic))?);
            Ok(Knowledge {
                phases,
                signs,
                messages,
                causes: Part::later(|| read::causes(&File::shipped())),
                defects: Part::later(|| read::defects(&File::shipped())),
                // A test holds that they pass the checks of knobs.
                knobs: Knobs::shipped(),
                levers: Part::later(|| read::levers(&File::shipped())),
                advice: Part::later(|| read::advice(&File::shipped())),
                facts: Part::later(|| read::facts(&File::shipped())),
                dialects: Part::later(|| read::dialects(&File::shipped())),
                frameworks: frameworks.framework,
                wordings: frameworks.wording,
                models: Part::later(|| read::models(&File::shipped())),
                prices: Part::later(|| read::prices(&File::shipped())),
                calibration,
                ranking: Part::later(|| read::ranking(&File::shipped())),
                secrets: Part::later(|| read::secrets(&File::shipped())),
            })
        })
    }

    /// The knowledge in the binary with the user's `own` files added: a cause or knob of a known name replaces the shipped one.
    pub fn with_own(own: &[RuleFile]) -> Result<Knowledge, KnowledgeError> {
        if own.is_empty() {
            return Knowledge::shipped();
        }
        let files: Vec<File<'_>> = File::shipped().into_iter().chain(own.iter().map(File::own)).collect();
        Knowledge::of(&files)
    }

    /// Only the secrets of the binary and of the user's `own` files.
    pub fn secrets_with(own: &[RuleFile]) -> Result<Vec<Secret>, KnowledgeError> {
        let files: Vec<File<'_>> = File::shipped().into_iter().chain(own.iter().map(File::own)).collect();
        read::secrets(&files)
    }

    /// The knowledge in `files`, given as path below `rules/` and content.
    pub fn load<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Knowledge, KnowledgeError> {
        let files: Vec<File<'_>> = files.map(|(path, content)| File::written(Origin::Shipped, path, content)).collect();
        // These are never replaced by a user's and are read from the binary; here they are only checked.
        read::inputs(&files)?;
        read::launchers(&files)?;
        read::code(&files)?;
        read::progress(&files)?;
        read::snapshot(&files)?;
        Knowledge::of(&files)
    }

    fn of(files: &[File<'_>]) -> Result<Knowledge, KnowledgeError> {
        if let Some(stray) = files.iter().find(|file| !read::is_known(file)) {
            return Err(stray.wrong(
                "nothing is read from here; rules stand in causes/, defects/, knobs/, messages/, phases/, signs/, models/ or redaction/",
            ));
        }
        let (levers, facts, by_file) = (read::levers(files)?, read::facts(files)?, read::knobs(files)?);
        let mut known = HashSet::new();
        for (file, knobs) in &by_file {
            knobs::check(knobs, file.origin, &mut known, &levers, &facts).map_err(|problem| file.wrong(problem))?;
        }
        for (file, knobs) in &by_file {
            knobs::check_partners(knobs, &known).map_err(|problem| file.wrong(problem))?;
        }
        let messages = read::messages(files)?;
        if let Some((file, problem)) = messages.iter().find_map(|(file, known)| Some((file, known.problem()?))) {
            return Err(file.wrong(problem));
        }
        let messages = messages.into_iter().map(|(_, messages)| messages).collect();
        let knobs = Knobs::of_files(by_file.into_iter().map(|(_, knobs)| knobs));
        let frameworks = read::frameworks(files)?;
        Ok(Knowledge {
            phases: Arc::new(read::phases(files)?),
            signs: Arc::new(read::signs(files)?),
            messages,
            causes: read::causes(files)?.into(),
            defects: read::defects(files)?.into(),
            knobs,
            levers: levers.into(),
            advice: read::advice(files)?.into(),
            facts: facts.into(),
            dialects: read::dialects(files)?.into(),
            frameworks: frameworks.framework,
            wordings: frameworks.wording,
            models: read::models(files)?.into(),
            prices: read::prices(files)?.into(),
            calibration: read::calibration(files)?,
            ranking: read::ranking(files)?.into(),
            secrets: read::secrets(files)?.into(),
        })
    }

    /// Adds further secrets.
    pub fn add_secrets(&mut self, more: impl Iterator<Item = Secret>) -> Result<(), KnowledgeError> {
        let all: Vec<Secret> = self.secrets.read()?.iter().cloned().chain(more).collect();
        self.secrets = all.into();
        Ok(())
    }

    /// Reads every part that was not read yet, but for knobs; an error here is one of the shipped base.
    pub fn complete(&self) -> Result<(), KnowledgeError> {
        self.causes.read()?;
        self.defects.read()?;
        self.levers.read()?;
        self.advice.read()?;
        self.facts.read()?;
        self.dialects.read()?;
        self.models.read()?;
        self.prices.read()?;
        self.ranking.read()?;
        self.secrets.read()?;
        Ok(())
    }

    /// The packages whose frames are not the user's own.
    pub fn libraries(&self) -> Result<&Libraries, KnowledgeError> {
        self.ranking.read()?;
        Ok(&self.ranking.libraries)
    }

    /// Whether jobs of other frameworks build or run on `framework`, so that a part of a log that shows only `framework` may belong to
    /// another one.
    pub fn is_beneath_others(&self, framework: &str) -> bool {
        self.frameworks.iter().any(|known| {
            (&*known.name == framework && known.carries_others) || known.uses.iter().any(|used| &**used == framework)
        })
    }

    /// The frameworks whose knobs a job on `framework` has, its own first; the last is the generic one.
    pub fn stack<'k>(&'k self, framework: Option<&'k str>) -> Vec<&'k str> {
        let known = framework.and_then(|name| self.frameworks.iter().find(|known| &*known.name == name));
        let uses = known.map_or(PLAIN_PYTORCH.to_vec(), |known| known.uses.iter().map(|name| &**name).collect());
        framework.into_iter().chain(uses).chain([GENERIC]).collect()
    }

    /// The knobs that turn `lever` for a job on `framework`, in `direction` if that is given, in the order of its stack.
    pub fn knobs_for<'k>(
        &'k self,
        framework: Option<&'k str>,
        lever: &'k str,
        direction: Option<Direction>,
    ) -> impl Iterator<Item = (&'k Knob, &'k Turn)> {
        let turned = move |knob: &'k Knob| Some((knob, knob.turns(lever, direction)?));
        self.stack(framework).into_iter().flat_map(|framework| self.knobs.of(framework)).filter_map(turned)
    }
}

/// What a job of an unknown framework is built on.
const PLAIN_PYTORCH: &[&str] = &["torch", "system"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_prepared_says_what_is_written() -> Result<(), KnowledgeError> {
        let (prepared, written) = (Knowledge::shipped()?, Knowledge::load(shipped_files())?);
        prepared.complete()?;
        let without_examples = |rule: &CauseRule| CauseRule { example: Vec::new(), ..rule.clone() };
        let causes: Vec<CauseRule> = written.causes.iter().map(without_examples).collect();
        assert_eq!(format!("{:?}", *prepared.causes), format!("{causes:?}"));
        assert_eq!(format!("{:?}", *prepared.defects), format!("{:?}", *written.defects));
        let knobs = |knowledge: &Knowledge| knowledge.knobs.iter().map(|knob| format!("{knob:?}")).collect::<Vec<_>>();
        assert_eq!(knobs(&prepared), knobs(&written));
        assert_eq!(format!("{:?}", *prepared.levers), format!("{:?}", *written.levers));
        assert_eq!(format!("{:?}", *prepared.facts), format!("{:?}", *written.facts));
        assert_eq!(format!("{:?}", prepared.frameworks), format!("{:?}", written.frameworks));
        assert_eq!(format!("{:?}", *prepared.models), format!("{:?}", *written.models));
        assert_eq!(format!("{:?}", prepared.signs), format!("{:?}", written.signs));
        assert_eq!(prepared.calibration, written.calibration);
        assert!(prepared.knobs.iter().next().is_some() && !prepared.causes.is_empty());
        Ok(())
    }
}
