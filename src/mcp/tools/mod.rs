//! The tools, one a file: what each takes, does and writes.

mod analyze;
mod estimate;
mod explain;
mod incidents;
mod propose_fix;
mod search_history;
mod show_incident;
mod similar;

use std::sync::Arc;

use rmcp::model::{JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answer::Answer;
use super::{Problem, Reach, Tools, arguments, schema};
use crate::history::Record;
use crate::knowledge::{Language, retell};
use crate::model::Report;
use crate::report;
use crate::watch::Watch;

/// What assistants may call.
trait Tool {
    const NAME: &'static str;
    const TITLE: &'static str;
    const DESCRIPTION: &'static str;
    /// Whether the history may have one incident more afterwards; nothing else ever changes.
    const ADDS: bool = false;
    /// What it takes.
    type Arguments: DeserializeOwned + JsonSchema;
    /// What it writes.
    type Result: JsonSchema;

    fn run(tools: &Tools, arguments: Self::Arguments, watch: &Arc<Watch>) -> Result<Answer, Problem>;
}

/// One tool, whatever its types.
pub(super) struct Row {
    pub name: &'static str,
    pub run: fn(&Tools, &JsonObject, &Arc<Watch>) -> Result<Answer, Problem>,
    described: fn() -> rmcp::model::Tool,
}

/// All of them, in the order in which they are of use.
pub(super) const TOOLS: [Row; 7] = [
    row::<analyze::Analyze>(),
    row::<propose_fix::ProposeFix>(),
    row::<similar::Similar>(),
    row::<search_history::SearchHistory>(),
    row::<show_incident::ShowIncident>(),
    row::<explain::Explain>(),
    row::<estimate::Estimate>(),
];

const fn row<T: Tool>() -> Row {
    Row {
        name: T::NAME,
        run: |tools, given, watch| T::run(tools, arguments::read(given)?, watch),
        described: described::<T>,
    }
}

fn described<T: Tool>() -> rmcp::model::Tool {
    let annotations = ToolAnnotations::new().read_only(!T::ADDS).destructive(false).idempotent(true).open_world(false);
    rmcp::model::Tool::new(T::NAME, T::DESCRIPTION, schema::of_arguments::<T::Arguments>())
        .with_title(T::TITLE)
        .with_raw_output_schema(schema::of_result::<T::Result>())
        .with_annotations(annotations)
}

/// Arguments that name files.
const FILES: [&str; 2] = ["paths", "from"];

impl Row {
    /// As a client is told of it: arguments that nobody there may give are left out.
    pub fn described(&self, reach: &Reach) -> rmcp::model::Tool {
        let mut tool = (self.described)();
        if *reach == Reach::Pasted {
            let mut taken = (*tool.input_schema).clone();
            if let Some(Value::Object(properties)) = taken.get_mut("properties") {
                FILES.iter().for_each(|name| drop(properties.remove(*name)));
            }
            tool.input_schema = Arc::new(taken);
        }
        tool
    }
}

/// What is kept of an incident as the report that it was made of, told in `language`.
fn told(record: &Record, tools: &Tools, language: Language) -> Result<Report, Problem> {
    let options = tools.backend().options()?;
    let knowledge = options.knowledge.as_deref().ok_or_else(|| Problem::bug("there are no rules"))?;
    let Record { inputs, job, incident, failure, .. } = record.clone();
    let mut incident = incident;
    incident.seen = options.experience.seen(&incident.fingerprint, &incident.id);
    retell(&mut incident, knowledge, language);
    let report = report::assemble(inputs, job, incident.kind, vec![incident], None, failure, language);
    Ok(report::outgoing(&report, tools.backend().redactor()).0)
}
