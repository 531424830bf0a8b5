use std::any::TypeId;
use std::borrow::Cow;
use std::sync::Arc;

use clap::{ArgAction, Args, Command, FromArgMatches};
use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::super::answer::Answer;
use super::super::arguments::ToldFacts;
use super::super::inputs::may_read;
use super::super::{Problem, Reach, Tools};
use super::Tool;
use super::analyze::options;
use crate::cli::Flags;
use crate::estimate::{self, Compact};
use crate::knowledge::Language;
use crate::watch::Watch;

/// The tool that estimates what a job needs.
pub(super) struct Estimate;

/// The arguments of `oomdoc estimate`: they are derived from its flags, so that these are defined only once.
#[derive(Debug)]
pub(super) struct Arguments {
    flags: Flags,
    facts: ToldFacts,
    language: Language,
}

/// The arguments that are not flags.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct Others {
    /// What the user knows and no input says, by the names that rules use.
    facts: ToldFacts,
    /// The language of the result's sentences.
    language: Language,
}

fn flags() -> Command {
    Flags::augment_args(Command::new("estimate").no_binary_name(true).disable_help_flag(true))
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Arguments, D::Error> {
        let mut given = JsonObject::deserialize(deserializer)?;
        let mut others = JsonObject::new();
        for name in ["facts", "language"] {
            others.extend(given.remove(name).map(|value| (name.to_owned(), value)));
        }
        let Others { facts, language } = serde_json::from_value(Value::Object(others)).map_err(D::Error::custom)?;
        let words = given.iter().map(|(name, value)| words(name, value)).collect::<Result<Vec<_>, _>>();
        let words = words.map_err(D::Error::custom)?.concat();
        let read = flags().try_get_matches_from(words).and_then(|matches| Flags::from_arg_matches(&matches));
        // Clap's message without the usage and the hint at `--help`.
        let plain = |error: clap::Error| {
            let said = error.render().to_string();
            let said = said.split("\n\nUsage:").next().unwrap_or_default();
            said.split("\n\nFor more").next().unwrap_or_default().trim_start_matches("error: ").trim_end().to_owned()
        };
        Ok(Arguments { flags: read.map_err(|error| D::Error::custom(plain(error)))?, facts, language })
    }
}

/// An argument as words of a command line.
fn words(name: &str, value: &Value) -> Result<Vec<String>, String> {
    let flag = format!("--{}", name.replace('_', "-"));
    match value {
        Value::Null | Value::Bool(false) => Ok(Vec::new()),
        Value::Bool(true) => Ok(vec![flag]),
        Value::Number(number) => Ok(vec![format!("{flag}={number}")]),
        Value::String(text) => Ok(vec![format!("{flag}={text}")]),
        Value::Array(values) => {
            Ok(values.iter().map(|value| words(name, value)).collect::<Result<Vec<_>, _>>()?.concat())
        }
        Value::Object(_) => Err(format!("`{name}` is an object: write words, a number, or yes or no")),
    }
}

impl JsonSchema for Arguments {
    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = JsonObject::new();
        for flag in flags().get_arguments() {
            let help = flag.get_help().map(|help| help.to_string()).unwrap_or_default();
            let values: Vec<String> =
                flag.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
            let mut schema = match flag.get_action() {
                ArgAction::SetTrue => json!({ "type": "boolean" }),
                ArgAction::Append => json!({ "type": "array", "items": { "type": "string" } }),
                _ if !values.is_empty() => json!({ "type": "string", "enum": values }),
                _ if flag.get_value_parser().type_id() == TypeId::of::<u64>() => {
                    json!({ "type": ["integer", "string"] })
                }
                _ => json!({ "type": "string" }),
            };
            schema["description"] = help.into();
            properties.insert(flag.get_id().as_str().to_owned(), schema);
        }
        let others = Others::json_schema(generator);
        if let Some(Value::Object(others)) = others.get("properties") {
            properties.extend(others.clone());
        }
        json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
    }
}

impl Tool for Estimate {
    const NAME: &'static str = "estimate";
    const TITLE: &'static str = "Estimate what a job needs";
    const DESCRIPTION: &'static str = "Says before a job runs how much memory each GPU and host should need, moment by moment, for a model, a \
layout and settings, as `oomdoc estimate` takes them; with `fit`, the cheapest changes with which it fits GPUs of that size. Amounts are \
bounds by arithmetic, not measurements.";
    type Arguments = Arguments;
    type Result = Compact;

    fn run(tools: &Tools, arguments: Arguments, watch: &Arc<Watch>) -> Result<Answer, Problem> {
        let Arguments { mut flags, facts, language } = arguments;
        let reach = tools.backend().reach();
        for path in &mut flags.from {
            *path = may_read(path, reach)?;
        }
        if let Some(path) = flags.model.as_mut().filter(|model| model.ends_with(".json")) {
            *path = may_read(path, reach)?;
        }
        let options = options(tools, &facts, language, watch)?;
        let estimate = estimate::estimate(&flags.job(), &options).map_err(|error| here(error.into(), reach))?;
        Answer::fitting(3, |step| Ok(estimate::compact(&estimate, language).shorter(step)))
    }
}

/// Replaces advice to name files where no files can be read.
fn here(problem: Problem, reach: &Reach) -> Problem {
    match reach {
        Reach::Pasted => {
            problem.advising("give a size (`8b`), a name (`Qwen2.5-7B`) or `parameters`, and the settings as arguments")
        }
        Reach::Files { .. } => problem,
    }
}
