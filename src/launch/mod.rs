//! What a job was launched with, in the terms of its framework.
//!
//! In go the configurations that the user passed and those that the job printed, and the knobs of `rules/knobs/`; out come
//! the framework, the setting of each knob, and facts for rules: what is set, and what holds where nothing is set.

mod dialect;
mod digest;
mod facts;
mod index;
mod layout;
mod missing;
mod prediction;
mod shape;

use std::cell::OnceCell;
use std::sync::Arc;

use crate::config::{Document, Entry, EntryKind, Format};
use crate::facts::Facts;
use crate::knowledge::{Framework, Knob, Knowledge, Target, newest_version_with};
use crate::model::Job;
use facts::Stated;
use index::Index;
pub use index::Setting;
pub(crate) use index::without_file;
pub use layout::state_capacity;
pub(crate) use layout::{device_memory, host_memory, host_used, rolls_out, serves};
pub use prediction::{Comparison, Contradiction, Moved, Prediction};
pub(crate) use shape::name as described_name;

/// The configurations of a job.
pub struct JobConfig<'k> {
    knowledge: &'k Knowledge,
    /// What it ran on.
    framework: Option<&'k Framework>,
    /// Its version; else the newest that its configuration can be of.
    version: Option<Arc<str>>,
    /// The user's own files, those that overrule others first, then what was printed.
    documents: Vec<Document>,
    /// Places of settings by the last step of their names.
    index: Index,
    /// The frameworks whose configuration is among the documents.
    configured: Vec<&'k Framework>,
    /// What all of that says, once it was asked for.
    stated: OnceCell<Vec<Stated>>,
}

impl<'k> JobConfig<'k> {
    /// The launch of `job`: `files` are the user's own, `printed` is what the job said of its configuration.
    pub fn new(knowledge: &'k Knowledge, job: &Job, files: Vec<Document>, printed: Vec<Document>) -> JobConfig<'k> {
        let mut documents = files;
        // A command line overrules the file it names.
        documents.sort_by_key(|document| match document.format() {
            Format::Shell => 0,
            Format::Yaml | Format::Toml => 1,
            Format::Json => 2,
            Format::Log => 3,
        });
        documents.extend(printed);
        let index = Index::of(&documents);
        // Nobody's knobs need to be known where nothing is set.
        let keyed = if documents.is_empty() { Default::default() } else { index.keyed(&documents, &knowledge.knobs) };
        let configures = |framework: &&Framework| {
            keyed.contains(&framework.name)
                || documents.iter().any(|document| is_launched(framework, document) || has_keys(framework, document))
        };
        let configured: Vec<&Framework> = knowledge.frameworks.iter().filter(configures).collect();
        let of_job = |framework: &&Framework| job.framework.as_deref() == Some(&*framework.name);
        // A framework stands before what it is built on: of what the logs and the configuration show, the first decides.
        let shown = |framework: &&Framework| {
            of_job(framework) || configured.iter().any(|configured| configured.name == framework.name)
        };
        // Keys that nobody else has say more than any one of them.
        let is_keyed = |framework: &&Framework| documents.iter().any(|document| has_keys(framework, document));
        let framework = knowledge.frameworks.iter().find(is_keyed).or_else(|| knowledge.frameworks.iter().find(shown));
        let mut launch =
            JobConfig { knowledge, framework, version: None, documents, index, configured, stated: OnceCell::new() };
        launch.version = launch.find_version(job);
        launch
    }

    fn find_version(&self, job: &Job) -> Option<Arc<str>> {
        let framework = self.framework?;
        self.stated_version(job).map(Arc::from).or_else(|| {
            let keys = self.documents.iter().flat_map(Document::entries).map(|entry| &*entry.key);
            newest_version_with(self.knobs_of(&framework.name), keys)
        })
    }

    /// The framework's name.
    pub fn framework(&self) -> Option<&'k str> {
        self.framework.map(|framework| &*framework.name)
    }

    /// `job`, with what the configuration adds to what the logs said of it.
    pub fn complete(&self, job: Job) -> Job {
        let mut said = Facts::default();
        self.configure(&mut said);
        let stated = self.stated_version(&job).map(str::to_owned);
        Job {
            framework: self.framework().map(str::to_owned).or(job.framework),
            framework_version_at_most: self.version.as_deref().filter(|_| stated.is_none()).map(str::to_owned),
            framework_version: stated,
            model: job.model.or_else(|| said.text("config.model").map(str::to_owned)),
            config_digest: digest::digest(&self.documents),
            world_size: job.world_size.or_else(|| said.number("job.world_size").map(|ranks| ranks as u32)),
            ..job
        }
    }

    /// The version that the logs state, where it is the framework's own and not that of what it stands on.
    fn stated_version<'j>(&self, job: &'j Job) -> Option<&'j str> {
        job.framework_version.as_deref().filter(|_| job.framework.as_deref() == self.framework())
    }

    /// The version by which names and defaults of `knob` are chosen, where it is known.
    pub fn version_of(&self, knob: &Knob) -> Option<&str> {
        self.version.as_deref().filter(|_| self.framework() == Some(&*knob.framework))
    }

    /// The user's own files and what the job printed.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// Where a knob of `lower` is set for a job on the framework, if no configuration of the user's reaches it.
    pub fn set_in(&self, lower: &str) -> Option<&'k str> {
        self.framework?.set_in.get(lower).map(|place| &**place)
    }

    /// Whether the job's configuration is one of `framework`, so that what it does not set has that framework's default.
    pub fn is_configured(&self, framework: &str) -> bool {
        self.configured.iter().any(|known| *known.name == *framework)
    }

    /// Whether a knob of the job's that nobody sets is at its default. Of a JSON file that was not given nobody knows what it
    /// sets.
    pub fn has_default(&self, knob: &Knob) -> bool {
        let is_given = || {
            let mut of_file = self.knobs_of(&knob.framework).filter(|other| other.target == Target::Json);
            of_file.any(|other| self.setting(other).is_some())
        };
        self.is_configured(&knob.framework) && (knob.target != Target::Json || is_given())
    }

    /// The knobs that the job has, its framework's own first. Where its configuration is known, what looks like anybody's
    /// setting is none.
    pub fn knobs(&self) -> impl Iterator<Item = &'k Knob> {
        let is_known = self.framework().is_some_and(|framework| self.is_configured(framework));
        let knobs = self.knowledge.stack(self.framework()).into_iter().flat_map(|name| self.knobs_of(name));
        knobs.filter(move |knob| !(is_known && knob.is_generic()))
    }

    fn knobs_of<'n>(&self, framework: &'n str) -> impl Iterator<Item = &'k Knob> + use<'k, 'n> {
        self.knowledge.knobs.iter().filter(move |knob| *knob.framework == *framework)
    }

    /// What sets `knob`: in the user's own files if they do, else as the job printed it.
    pub fn setting(&self, knob: &Knob) -> Option<Setting<'_>> {
        self.index.setting(&self.documents, knob)
    }

    /// Whether a knob that nobody set yet belongs into `document`.
    pub fn takes(&self, document: &Document, knob: &Knob) -> bool {
        let is_of = |framework: &Framework| {
            let mut own = self.knobs_of(&framework.name);
            let here = |setting: Setting<'_>| setting.document.path() == document.path();
            is_launched(framework, document) || own.any(|knob| self.setting(knob).is_some_and(here))
        };
        let framework = self.knowledge.frameworks.iter().find(|framework| framework.name == knob.framework);
        let overrides = || document.entries().iter().any(|entry| entry.kind == EntryKind::Override);
        match (document.format(), knob.target) {
            (Format::Json, Target::Json) | (Format::Yaml, Target::Yaml) | (Format::Shell, Target::Cli) => {
                framework.is_some_and(is_of)
            }
            // TOML's keys are the options of whoever reads it.
            (Format::Toml, Target::Cli) => framework.is_some_and(is_of),
            // An override of a key, where the command line has such.
            (Format::Shell, Target::Yaml) => framework.is_some_and(is_of) && overrides(),
            (Format::Shell, Target::Env) => !document.commands().is_empty(),
            _ => false,
        }
    }
}

/// Whether `document` has keys that only configurations of `framework` have together.
fn has_keys(framework: &Framework, document: &Document) -> bool {
    let is_key = |key: &str| {
        let of = |entry: &&Entry| entry.kind == EntryKind::Setting && entry.key.strip_prefix(key).is_some_and(is_end);
        document.entries().iter().any(|entry| of(&entry))
    };
    framework.keys.iter().any(|keys| keys.iter().all(|key| is_key(key)))
}

/// Whether a key is over here: what follows leads into it.
fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
}

/// Whether `document` starts `framework`. JSON starts nothing, whatever commands its texts hold (`package.json`): its keys tell.
fn is_launched(framework: &Framework, document: &Document) -> bool {
    let is_named = |text: &str| framework.launched_by.iter().any(|words| text.contains(words));
    if document.format() == Format::Json {
        return document.entries().iter().any(|entry| is_named(&entry.key));
    }
    let is_code = |line: &&str| !line.trim_start().starts_with('#');
    // Asked for each of a hundred frameworks: nearly none is named anywhere.
    is_named(document.text()) && document.text().lines().filter(is_code).any(is_named)
}
