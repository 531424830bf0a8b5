use std::io::{self, Cursor};
use std::sync::Arc;

use crate::knowledge::{CauseRule, DefectExample, ExampleRow, Knowledge, Must};
use crate::model::{Kind, Patch, Report};
use crate::source::Input;
use crate::{Error, Options, analyze_inputs};

/// The outcome of an example.
#[derive(Debug, Clone)]
pub struct ExampleOutcome {
    /// The rule.
    pub rule: Arc<str>,
    /// The example's name.
    pub example: String,
    /// What the report had to say of the rule's cause.
    pub must: Must,
    /// The report's verdict.
    pub verdict: Kind,
    /// The causes in the report, likeliest first, with their confidences.
    pub named: Vec<(Arc<str>, f64)>,
    /// Why the example fails; `None` if it holds.
    pub problem: Option<String>,
}

/// Runs every example of `rule` through the whole analysis.
pub fn try_examples(rule: &CauseRule, knowledge: &Arc<Knowledge>) -> Result<Vec<ExampleOutcome>, Error> {
    rule.example.iter().map(|example| try_example(example, rule, knowledge)).collect()
}

fn try_example(example: &ExampleRow, rule: &CauseRule, knowledge: &Arc<Knowledge>) -> Result<ExampleOutcome, Error> {
    let report = report(example.inputs(), knowledge)?;
    let diagnoses = report.incidents.first().map_or(&[][..], |root| &root.diagnoses);
    let named: Vec<(Arc<str>, f64)> =
        diagnoses.iter().map(|diagnosis| (diagnosis.cause.clone(), diagnosis.confidence)).collect();
    let problem = problem(example, rule, &report, &named);
    Ok(ExampleOutcome {
        rule: rule.id.clone(),
        example: example.name.clone(),
        must: example.must,
        verdict: report.verdict,
        named,
        problem,
    })
}

impl ExampleRow {
    /// Its log and its configuration as inputs.
    pub fn inputs(&self) -> Vec<Input<'static>> {
        inputs(&self.log, self.config.as_deref())
    }
}

/// The log and the configuration of an example as inputs.
fn inputs(log: &str, config: Option<&str>) -> Vec<Input<'static>> {
    let texts = [("job.log", Some(log)), ("config", config)];
    let open =
        |(name, text): (&str, Option<&str>)| Some(Input::new(name, Cursor::new(format!("{}\n", text?).into_bytes())));
    let inputs: io::Result<Vec<Input>> = texts.into_iter().filter_map(open).collect();
    // Reading from memory cannot fail.
    inputs.unwrap_or_default()
}

fn report(inputs: Vec<Input<'static>>, knowledge: &Arc<Knowledge>) -> Result<Report, Error> {
    analyze_inputs(inputs, Vec::new(), &Options { knowledge: Some(Arc::clone(knowledge)), ..Options::default() })
}

/// The patches that are proposed for the log of `example`.
pub(super) fn proposed(example: &DefectExample, knowledge: &Arc<Knowledge>) -> Result<Vec<Patch>, Error> {
    let report = report(inputs(&example.log, example.config.as_deref()), knowledge)?;
    let diagnoses = report.incidents.into_iter().flat_map(|incident| incident.diagnoses);
    Ok(diagnoses.flat_map(|diagnosis| diagnosis.patches).collect())
}

fn problem(example: &ExampleRow, rule: &CauseRule, report: &Report, named: &[(Arc<str>, f64)]) -> Option<String> {
    let place = named.iter().position(|(cause, _)| *cause == rule.cause);
    let holds = match example.must {
        Must::First => place == Some(0),
        Must::TopThree => place.is_some_and(|place| place < 3),
        Must::NotFirst => place != Some(0),
        Must::Absent => place.is_none(),
    };
    if report.incidents.is_empty() && matches!(example.must, Must::First | Must::TopThree) {
        return Some("no out-of-memory incident was found in the log".to_owned());
    }
    if !holds {
        return Some(match place {
            Some(place) => format!("{} is cause number {} of {}", rule.cause, place + 1, named.len()),
            None => format!("{} is not among the causes", rule.cause),
        });
    }
    let lever = example.lever.as_ref()?;
    let diagnosis = report.incidents.first()?.diagnoses.get(place?)?;
    let turned = diagnosis.patches.iter().any(|patch| patch.lever == *lever);
    (!turned).then(|| format!("no patch turns {lever}"))
}
