//! Arguments that several tools take, and error messages for arguments that cannot be parsed.

use std::collections::BTreeMap;

use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::Problem;
use crate::facts::Value;
use crate::knowledge::{Glossary, Knowledge};
use crate::rulebase::FactNames;

/// Parses a tool's arguments. Serde does not say which argument it failed on, so each is left out in turn to find the
/// culprit.
pub(super) fn read<T: DeserializeOwned>(arguments: &JsonObject) -> Result<T, Problem> {
    let read = |arguments: JsonObject| serde_json::from_value::<T>(Json::Object(arguments));
    let error = match read(arguments.clone()) {
        Ok(read) => return Ok(read),
        Err(error) => error.to_string(),
    };
    let is_it = |name: &&String| {
        let others: JsonObject = arguments.iter().filter(|(key, _)| key != name).map(pair).collect();
        read(others).map_or_else(|other| other.to_string() != error, |_| true)
    };
    let problem = match arguments.keys().find(is_it).filter(|name| !error.contains(&format!("`{name}`"))) {
        Some(name) => format!("the argument `{name}` cannot be read: {error}"),
        None => format!("the arguments cannot be read: {error}"),
    };
    Err(Problem::new(problem, "the tool's input schema says what each argument is"))
}

fn pair((key, value): (&String, &Json)) -> (String, Json) {
    (key.clone(), value.clone())
}

/// Facts that the user knows and no input states, by the names that rules use.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct ToldFacts(BTreeMap<String, Json>);

impl JsonSchema for ToldFacts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ToldFacts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } })
    }
}

impl ToldFacts {
    /// The facts for an analysis. An unknown name is an error: it would silently have no effect.
    pub fn read(&self, knowledge: &Knowledge) -> Result<Vec<(String, Value)>, Problem> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let names = FactNames::new(knowledge, &Glossary::shipped()?);
        let fact = |(name, value): (&String, &Json)| match value {
            _ if !names.is_known(name) => Err(Problem::new(
                format!("no fact is called `{name}`"),
                match names.nearest(name) {
                    nearest if nearest.is_empty() => {
                        "facts are e.g. `model`, `gpu`, `host.memory`; `explain` knows each".to_owned()
                    }
                    nearest => format!("did you mean {}?", nearest.join(", ")),
                },
            )),
            Json::String(words) => Ok((name.clone(), Value::read(words))),
            Json::Number(number) => Ok((name.clone(), Value::read(&number.to_string()))),
            Json::Bool(flag) => Ok((name.clone(), Value::Flag(*flag))),
            _ => Err(Problem::new(
                format!("the fact `{name}` is neither words, a number nor yes or no"),
                "write it as `\"500GiB\"`, `8` or `true`",
            )),
        };
        self.0.iter().map(fact).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Arguments {
        #[allow(dead_code)]
        query: String,
        #[serde(default)]
        #[allow(dead_code)]
        limit: Option<usize>,
    }

    #[test]
    fn what_is_wrong_is_named() {
        let problem = |json: &str| {
            let arguments: JsonObject = serde_json::from_str(json).unwrap_or_default();
            read::<Arguments>(&arguments).map(|_| ()).map_err(|problem| problem.to_string())
        };
        assert_eq!(problem(r#"{"query":"a","limit":2}"#), Ok(()));
        for (json, named) in [
            (r#"{"query":"a","limit":"2"}"#, "the argument `limit` cannot be read: invalid type"),
            (r#"{"query":7}"#, "the argument `query` cannot be read: invalid type"),
            (r#"{"limit":7}"#, "missing field `query`"),
            (r#"{"query":"a","limitt":7}"#, "unknown field `limitt`"),
        ] {
            assert!(problem(json).is_err_and(|said| said.contains(named)), "{json}: {:?}", problem(json));
        }
    }
}
