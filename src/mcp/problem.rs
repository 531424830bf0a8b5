use thiserror::Error;

use crate::estimate::EstimateError;
use crate::fix::FixError;
use crate::history::HistoryError;

/// Why a tool failed, with advice: the assistant reads both and may try again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("error: {problem}\nhint: {advice}")]
pub struct Problem {
    problem: String,
    advice: String,
}

/// The advice for what should never happen.
const BUG: &str = "this is a bug in oomdoc: please report it";

impl Problem {
    /// A problem with advice.
    pub fn new(problem: impl Into<String>, advice: impl Into<String>) -> Problem {
        Problem { problem: problem.into(), advice: advice.into() }
    }

    /// The same problem with other advice.
    pub fn advising(self, advice: &str) -> Problem {
        Problem { advice: advice.to_owned(), ..self }
    }

    /// Something that should never happen.
    pub fn bug(problem: impl Into<String>) -> Problem {
        Problem::new(problem, BUG)
    }
}

impl From<crate::Error> for Problem {
    fn from(error: crate::Error) -> Problem {
        let crate::Error::NothingRead(unread) = &error else { return Problem::bug(error.to_string()) };
        let unread: Vec<String> = unread.iter().map(|error| format!("\n  {error}")).collect();
        let here = std::env::current_dir().map(|here| here.display().to_string()).unwrap_or_default();
        let advice = format!("name log files or folders by absolute paths (relative ones are seen from {here})");
        Problem::new(format!("{error}:{}", unread.concat()), advice)
    }
}

impl From<HistoryError> for Problem {
    fn from(error: HistoryError) -> Problem {
        let advice = match &error {
            HistoryError::NotFound { .. } => "`search_history` with an empty query lists the newest".to_owned(),
            error => error.advice(),
        };
        Problem::new(error.to_string(), advice)
    }
}

impl From<EstimateError> for Problem {
    fn from(error: EstimateError) -> Problem {
        let advice = match &error {
            EstimateError::Analysis(_) => return analysis(error),
            EstimateError::NoModel | EstimateError::UnknownModel(_) => {
                "give `model` as a size (`8b`), a name (`Qwen2.5-7B`) or the path of its config.json"
            }
            EstimateError::UnsizedModel(_) => {
                "give `parameters`, e.g. `8.03b`, or the path of its config.json as `model`"
            }
            EstimateError::NotGiven(_) => "name that file in `from` too, or give `zero`",
            EstimateError::Unbounded => "give the adapter's rank as `lora`",
            EstimateError::File { .. } | EstimateError::Config { .. } => {
                "give the config.json next to the model's weights"
            }
        };
        Problem::new(error.to_string(), advice)
    }
}

fn analysis(error: EstimateError) -> Problem {
    match error {
        EstimateError::Analysis(error) => error.into(),
        error => Problem::bug(error.to_string()),
    }
}

impl From<FixError> for Problem {
    fn from(error: FixError) -> Problem {
        let advice = match &error {
            FixError::SeveralJobs { .. } => "name the log and the configuration of one of them",
            FixError::NoSuchPatch { .. } => "`pick` takes a number or a knob of those",
            _ => return other_fix(error),
        };
        Problem::new(error.to_string(), advice)
    }
}

fn other_fix(error: FixError) -> Problem {
    match error {
        FixError::Analysis(error) => error.into(),
        error => Problem::new(error.to_string(), "`analyze` with the same arguments says what happened"),
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Problem {
        Problem::bug(error.to_string())
    }
}

impl From<crate::knowledge::KnowledgeError> for Problem {
    fn from(error: crate::knowledge::KnowledgeError) -> Problem {
        Problem::bug(error.to_string())
    }
}
