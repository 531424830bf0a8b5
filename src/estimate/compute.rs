//! Computes an estimate from flags and configurations.

use std::fs;
use std::sync::Arc;

use super::{Estimate, EstimateError, Need, PlannedJob, SCHEMA, Serving, fit, layout_json};
use crate::facts::{self, Facts, Value};
use crate::incident;
use crate::knowledge::{Knowledge, Shape};
use crate::launch::{self, Failed, JobConfig, USUAL, described_name, lacks_vocabulary, serves};
use crate::memory::{ModelSize, Plan, SHAPE_UNKNOWN};
use crate::model::Job;
use crate::settings::Site;
use crate::{Error, Options, read};

/// Estimates what the job `planned` needs, moment by moment, on each device and host.
pub fn estimate(planned: &PlannedJob, options: &Options) -> Result<Estimate, EstimateError> {
    let knowledge = &*options.known().map_err(Error::from)?;
    knowledge.complete().map_err(Error::from)?;
    let mut known = Facts::default();
    for (name, value) in planned.facts.iter().chain(&options.facts) {
        known.say(name, value.clone());
    }
    let site = &options.site;
    for (name, value) in site.facts_here() {
        known.say(name, value.clone());
    }
    let is_counted = ["config.processes_per_node", "config.nodes"].iter().any(|name| known.number(name).is_some());
    let (job, launch) = launched(&planned.from, knowledge, site)?;
    // The ranks that the configuration counts are not those of what the user says.
    let job = Job { world_size: job.world_size.filter(|_| !is_counted), ..job };
    // What the user says takes precedence over the configuration.
    facts::of_job(&mut known, &job);
    launch.configure(&mut known);
    // If the sharding is set in a file that was not passed, it is unknown.
    let is_open = known.text("config.sharding").is_none() && known.number("config.zero_stage").is_none();
    if let Some(named) = known.text("set.deepspeed").filter(|named| is_open && named.ends_with(".json")) {
        return Err(EstimateError::NotGiven(named.to_owned()));
    }
    let read = known.clone();
    let job = known.text("config.job").map(str::to_owned);
    let is_served = job.as_deref().is_some_and(serves);
    let per_node = known.number("config.processes_per_node");
    let mut assumed = Vec::new();
    let is_unsharded = known.text("config.sharding").is_none();
    let mut assume = |name: &str, value: f64, words: &str| {
        if known.number(name).is_none() {
            known.say(name, Value::Number(value));
            assumed.push(words.to_owned());
        }
    };
    match per_node {
        Some(ranks) => assume("job.world_size", ranks, "one node: no other number was given"),
        None => assume("job.world_size", 1.0, "one GPU: no other number was given"),
    }
    if !is_served && is_unsharded {
        assume("config.zero_stage", 0.0, "nothing is sharded over the ranks: no sharding was given");
    }
    let trains = launch.trains(&known).unwrap_or_else(|| {
        if !is_served {
            assumed.push("16-bit weights and gradients, fp32 master weights: no precision was given".to_owned());
        }
        USUAL
    });
    let (model, size) = model(planned, &known, &launch, knowledge, site)?;
    let layout = launch.layout(&known, &size, trains).ok_or(EstimateError::Unbounded)?;
    let serving = is_served.then(|| Serving { memory_share: known.number("config.kv_cache_share") });
    let Plan { moments, assumptions } = match &serving {
        Some(serving) => Plan::of_engine(&size, &layout, serving.memory_share),
        None => Plan::of(&size, &layout),
    };
    // Where all but one number is known, that one is asked for.
    let asked = launch.key_of("vocabulary").filter(|_| size.shape.is_none() && lacks_vocabulary(&known));
    assumed.extend(assumptions.into_iter().map(|words| match asked {
        Some(key) if words == SHAPE_UNKNOWN => format!(
            "not counted: activations and logits; only the vocabulary's size is unknown: say `{key}` in the launch, or give the model's config.json by --model"
        ),
        _ => words,
    }));
    let limits = planned.limits.filter(|_| !is_served);
    Ok(Estimate {
        schema: SCHEMA,
        framework: launch.framework().map(str::to_owned),
        job,
        serving,
        model,
        shown: layout_json::layout_json(&layout, &read, !planned.from.is_empty()),
        moments: moments.into_iter().map(Need::from).collect(),
        is_least: !Plan::is_whole(&size, &layout),
        assumptions: assumed,
        fit: limits.map(|limits| fit::search(&size, &layout, limits, &knowledge.prices.without(launch.lacks()))),
        size,
        layout,
    })
}

/// Reads the job and its configuration from `paths`.
fn launched<'k>(
    paths: &[String],
    knowledge: &'k Knowledge,
    site: &Arc<Site>,
) -> Result<(Job, JobConfig<'k>), EstimateError> {
    if paths.is_empty() {
        let job = Job::default();
        let launch = JobConfig::new(knowledge, &job, Vec::new(), Vec::new());
        return Ok((job, launch));
    }
    let mut reading = read(paths, knowledge, &Options { site: Arc::clone(site), ..Options::default() })?;
    let job = incident::build(std::mem::take(&mut reading.reads), knowledge).job;
    let printed = reading.take_printed();
    let launch = JobConfig::new(knowledge, &job, launch::of_job(reading.files, std::iter::empty()), printed)
        .of_part(&Failed::default());
    let job = launch.complete(job);
    Ok((job, launch))
}

/// The model's name and size.
fn model(
    planned: &PlannedJob,
    facts: &Facts,
    launch: &JobConfig<'_>,
    knowledge: &Knowledge,
    site: &Site,
) -> Result<(String, ModelSize), EstimateError> {
    let Some(asked) = &planned.model else {
        let named = ["model", "config.model", "job.model"].into_iter().find_map(|name| facts.text(name));
        let named = named.filter(|name| !name.is_empty());
        let unknown = || named.map_or(EstimateError::NoModel, |name| EstimateError::UnsizedModel(name.to_owned()));
        let counted = planned.parameters.map(|count| (ModelSize::of_parameters(count), Vec::new()));
        // A shape is more precise than a number, and a number more precise than a rounded name.
        let found = launch.model(facts).filter(|(size, _)| size.shape.is_some() || counted.is_none());
        let (size, cites) = found.or(counted).ok_or_else(unknown)?;
        let name = named.or(cites.first().map(|cite| &*cite.text)).map(str::to_owned);
        return Ok((name.or_else(|| described_name(facts)).unwrap_or_default(), size));
    };
    if asked.ends_with(".json") {
        if let Some(refused) = site.refuses(asked) {
            return Err(Error::NothingRead(vec![refused]).into());
        }
        let text = fs::read_to_string(asked).map_err(|error| EstimateError::File { path: asked.clone(), error })?;
        let shape =
            Shape::from_hf_config(&text).map_err(|error| EstimateError::Config { path: asked.clone(), error })?;
        return Ok((asked.clone(), ModelSize::of_shape(shape)));
    }
    let found = knowledge.models.find(asked).ok_or_else(|| EstimateError::UnknownModel(asked.clone()))?;
    Ok((asked.clone(), found.into()))
}
