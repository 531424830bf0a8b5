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

/// A cause that rules know.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cause {
    /// Its name.
    cause: String,
    /// In a few words.
    title: String,
    /// The same in Chinese.
    title_zh: String,
}

/// The file that a rule would be.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Named {
    /// Its path below `rules/`: `causes/nvlink.toml`.
    pub name: Option<String>,
}

/// What a check found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checked {
    /// Whether nothing is wrong with it.
    fits: bool,
    /// What is wrong, or could be better.
    findings: Vec<Found>,
    /// Examples that were run.
    examples: usize,
}

/// Something about a rule that is not as it should be.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// Whether the rule cannot do what it says; otherwise it works and could be better.
    is_error: bool,
    /// The line, where one can be told.
    line: Option<usize>,
    /// What is wrong.
    problem: String,
    /// What to do about it.
    advice: String,
}

/// Lists causes.
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

/// Checks a rule.
pub async fn check(Query(named): Query<Named>, rule: Bytes) -> Result<Json<Checked>, Problem> {
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
