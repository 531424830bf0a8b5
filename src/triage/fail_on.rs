use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::model::{Kind, Report, UnknownWord};

/// What makes a command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum FailOn {
    /// Nothing.
    Never,
    /// Any shortage of memory.
    Any,
    /// A shortage of this kind.
    Kind(Kind),
}

impl FailOn {
    /// The word in flags and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            FailOn::Never => "none",
            FailOn::Any => "any",
            FailOn::Kind(kind) => kind.as_str(),
        }
    }

    /// Whether `report` is a failure. An incident that is accepted is none.
    pub fn holds(self, report: &Report) -> bool {
        let is_accepted = report.incidents.first().is_some_and(|root| root.ignored.is_some());
        !is_accepted
            && match self {
                FailOn::Never => false,
                FailOn::Any => report.verdict != Kind::None,
                FailOn::Kind(kind) => report.verdict == kind,
            }
    }
}

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(word: &str) -> Result<FailOn, String> {
        match word {
            "none" => Ok(FailOn::Never),
            "any" => Ok(FailOn::Any),
            word => word.parse().map(FailOn::Kind).map_err(|error: UnknownWord| error.to_string()),
        }
    }
}

impl TryFrom<String> for FailOn {
    type Error = String;

    fn try_from(word: String) -> Result<FailOn, String> {
        word.parse()
    }
}

impl From<FailOn> for String {
    fn from(fail_on: FailOn) -> String {
        fail_on.as_str().to_owned()
    }
}

impl JsonSchema for FailOn {
    fn schema_name() -> Cow<'static, str> {
        "FailOn".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let kinds = Kind::ALL.iter().filter(|kind| **kind != Kind::None).map(|kind| kind.as_str());
        let words: Vec<&str> = ["none", "any"].into_iter().chain(kinds).collect();
        json_schema!({ "type": "string", "description": "What makes a command fail.", "enum": words })
    }
}
