//! The tools, one per file: arguments, description, result.

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

/// A tool that assistants can call.
trait Tool {
    const NAME: &'static str;
    const TITLE: &'static str;
    const DESCRIPTION: &'static str;
    /// Whether it may add an incident to the history. No tool changes anything else.
    const ADDS: bool = false;
    type Arguments: DeserializeOwned + JsonSchema;
    type Result: JsonSchema;

    fn run(tools: &Tools, arguments: Self::Arguments, watch: &Arc<Watch>) -> Result<Answer, Problem>;
}

/// A tool without its types.
pub(super) struct ToolEntry {
    pub name: &'static str,
    pub run: fn(&Tools, &JsonObject, &Arc<Watch>) -> Result<Answer, Problem>,
    described: fn() -> rmcp::model::Tool,
}

/// All tools, in the order in which they are useful.
pub(super) const TOOLS: [ToolEntry; 7] = [
    entry::<analyze::Analyze>(),
    entry::<propose_fix::ProposeFix>(),
    entry::<similar::Similar>(),
    entry::<search_history::SearchHistory>(),
    entry::<show_incident::ShowIncident>(),
    entry::<explain::Explain>(),
    entry::<estimate::Estimate>(),
];

const fn entry<T: Tool>() -> ToolEntry {
    ToolEntry {
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

/// The names of arguments that are paths.
const FILES: [&str; 2] = ["paths", "from"];

impl ToolEntry {
    /// The tool's description for a client; without arguments that are paths where no files can be read.
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

/// The report behind a kept incident, in `language`.
fn report_of(record: &Record, tools: &Tools, language: Language) -> Result<Report, Problem> {
    let options = tools.backend().options()?;
    let knowledge = options.knowledge.as_deref().ok_or_else(|| Problem::bug("there are no rules"))?;
    let Record { inputs, job, incident, failure, .. } = record.clone();
    let mut incident = incident;
    incident.seen = options.experience.seen(&incident.fingerprint, &incident.id);
    retell(&mut incident, knowledge, language);
    let report = report::assemble(inputs, job, incident.kind, vec![incident], None, failure, language);
    Ok(report::outgoing(&report, tools.backend().redactor()).0)
}
