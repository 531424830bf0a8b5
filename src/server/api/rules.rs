use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::knowledge::{CauseRule, Origin, RuleFile};
use crate::rulebase::{self, Finding, RuleSource, Severity};
use crate::server::problem::Problem;
use crate::server::state::Server;

/// A cause that the rules know.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cause {
    /// Its identifier.
    cause: String,
    /// Its English title.
    title: String,
    /// Its Chinese title.
    title_zh: String,
}

/// The name under which a rule is checked.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CheckQuery {
    /// Its path below `rules/`: `causes/nvlink.toml`.
    pub name: Option<String>,
}

/// The result of a check.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checked {
    /// Whether no error was found.
    fits: bool,
    /// Errors and suggestions.
    findings: Vec<Found>,
    /// The number of examples that were run.
    examples: usize,
}

/// An error or a suggestion about a rule.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// True for an error: the rule cannot do what it says. False for a suggestion.
    is_error: bool,
    /// The line, where it is known.
    line: Option<usize>,
    /// What is wrong.
    problem: String,
    /// What to do about it.
    advice: String,
}

/// Lists the causes that the rules know.
pub async fn list(State(server): State<Arc<Server>>) -> Result<Json<Vec<Cause>>, Problem> {
    let knowledge = &server.rules.knowledge;
    knowledge.complete().map_err(|error| Problem::internal(&error))?;
    let cause = |rule: &CauseRule| Cause {
        cause: rule.cause.to_string(),
        title: rule.title.en.to_string(),
        title_zh: rule.title.zh.to_string(),
    };
    Ok(Json(knowledge.causes.iter().map(cause).collect()))
}

/// Checks a rule file together with the shipped rules.
pub async fn check(Query(named): Query<CheckQuery>, rule: Bytes) -> Result<Json<Checked>, Problem> {
    let path = named.name.unwrap_or_else(|| "causes/mine.toml".to_owned());
    let content = String::from_utf8(rule.to_vec()).map_err(|_| Problem::bad_request("a rule is text in UTF-8"))?;
    let checked = tokio::task::spawn_blocking(move || {
        let file = RuleFile { path: path.clone(), content };
        let mut sources = RuleSource::shipped();
        sources.push(RuleSource { origin: Origin::Own, shown: path, file });
        rulebase::check(&sources)
    });
    let checked = checked.await.map_err(|error| Problem::internal(&error))?;
    let checked = checked.map_err(|error| Problem::unprocessable(error.to_string()))?;
    let fits = !checked.fails();
    let found = |Finding { severity, file: _, line, problem, advice }: Finding| Found {
        is_error: severity == Severity::Error,
        line,
        problem,
        advice,
    };
    let (examples, findings) = (checked.examples, checked.findings.into_iter().map(found).collect());
    Ok(Json(Checked { fits, findings, examples }))
}
