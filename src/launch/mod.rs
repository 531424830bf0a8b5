//! What a job was launched with, in the terms of its framework.
//!
//! In go the configurations that the user passed and those that the job printed, and the knobs of `rules/knobs/`; out come
//! the framework, the setting of each knob, and facts for rules: what is set, and what holds where nothing is set.

mod facts;

use std::sync::Arc;

use crate::config::{Document, Entry, EntryKind, Format};
use crate::knowledge::{Framework, Knob, Knowledge, Target, newest_version_with};
use crate::model::Job;

/// The configurations of a job.
pub struct Launch<'k> {
    knowledge: &'k Knowledge,
    /// What it ran on.
    framework: Option<&'k Framework>,
    /// Its version; else the newest that its configuration can be of.
    version: Option<Arc<str>>,
    /// The user's own files, those that overrule others first, then what was printed.
    documents: Vec<Document>,
    /// The frameworks whose configuration is among the documents.
    configured: Vec<&'k Framework>,
}

/// A knob as a configuration sets it.
#[derive(Clone, Copy)]
pub struct Setting<'l> {
    /// Where.
    pub document: &'l Document,
    /// What.
    pub entry: &'l Entry,
}

impl<'k> Launch<'k> {
    /// The launch of `job`: `files` are the user's own, `printed` is what the job said of its configuration.
    pub fn new(knowledge: &'k Knowledge, job: &Job, files: Vec<Document>, printed: Vec<Document>) -> Launch<'k> {
        let mut documents = files;
        // A command line overrules the file it names.
        documents.sort_by_key(|document| match document.format() {
            Format::Shell => 0,
            Format::Yaml => 1,
            Format::Json => 2,
            Format::Log => 3,
        });
        documents.extend(printed);
        let configures =
            |framework: &&Framework| documents.iter().any(|document| is_of(framework, document, knowledge));
        let configured: Vec<&Framework> = knowledge.frameworks.iter().filter(configures).collect();
        let of_job = |framework: &&Framework| job.framework.as_deref() == Some(&*framework.name);
        // A framework stands before what it is built on: of what the logs and the configuration show, the first decides.
        let shown = |framework: &&Framework| {
            of_job(framework) || configured.iter().any(|configured| configured.name == framework.name)
        };
        let framework = knowledge.frameworks.iter().find(shown);
        let mut launch = Launch { knowledge, framework, version: None, documents, configured };
        launch.version = launch.find_version(job);
        launch
    }

    fn find_version(&self, job: &Job) -> Option<Arc<str>> {
        let framework = self.framework?;
        let stated = job.framework_version.as_deref().filter(|_| job.framework.as_deref() == Some(&*framework.name));
        stated.map(Arc::from).or_else(|| {
            let keys: Vec<&str> = self.documents.iter().flat_map(Document::entries).map(|entry| &*entry.key).collect();
            newest_version_with(self.knobs_of(&framework.name), &keys)
        })
    }

    /// The framework's name.
    pub fn framework(&self) -> Option<&'k str> {
        self.framework.map(|framework| &*framework.name)
    }

    /// `job`, with what the configuration adds to what the logs said of it.
    pub fn complete(&self, job: Job) -> Job {
        Job { framework: self.framework().map(str::to_owned).or(job.framework), ..job }
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

    /// The knobs that the job has, its framework's own first.
    pub fn knobs(&self) -> impl Iterator<Item = &'k Knob> {
        self.knowledge.stack(self.framework()).into_iter().flat_map(|name| self.knobs_of(name))
    }

    fn knobs_of<'n>(&self, framework: &'n str) -> impl Iterator<Item = &'k Knob> + use<'k, 'n> {
        self.knowledge.knobs.iter().filter(move |knob| *knob.framework == *framework)
    }

    /// What sets `knob`: in the user's own files if they do, else as the job printed it.
    pub fn setting(&self, knob: &Knob) -> Option<Setting<'_>> {
        self.documents.iter().find_map(|document| setting_in(document, knob))
    }

    /// Whether a knob that nobody set yet belongs into `document`.
    pub fn takes(&self, document: &Document, knob: &Knob) -> bool {
        let of_framework = || {
            let own = |framework: &Framework| framework.name == knob.framework;
            let known = self.knowledge.frameworks.iter().find(|framework| own(framework));
            known.is_some_and(|framework| is_of(framework, document, self.knowledge))
        };
        match (document.format(), knob.target) {
            (Format::Json, Target::Json) | (Format::Yaml, Target::Yaml) => of_framework(),
            (Format::Shell, Target::Cli) => of_framework(),
            // An override of a key, where the command line has such.
            (Format::Shell, Target::Yaml) => {
                of_framework() && document.entries().iter().any(|entry| entry.kind == EntryKind::Override)
            }
            (Format::Shell, Target::Env) => !document.commands().is_empty(),
            _ => false,
        }
    }
}

/// Whether `document` starts or configures `framework`.
fn is_of(framework: &Framework, document: &Document, knowledge: &Knowledge) -> bool {
    let is_launched = || {
        let code = |line: &&str| !line.trim_start().starts_with('#');
        document.text().lines().filter(code).any(|line| framework.launched_by.iter().any(|words| line.contains(words)))
    };
    // A file of keys names no program: its keys tell.
    let is_keyed = || {
        let target = match document.format() {
            Format::Json => Target::Json,
            Format::Yaml => Target::Yaml,
            Format::Shell | Format::Log => return false,
        };
        let mut own = knowledge.knobs.iter().filter(|knob| knob.framework == framework.name && knob.target == target);
        own.any(|knob| knob.names().any(|name| name.contains(['.', '_'])) && setting_in(document, knob).is_some())
    };
    is_launched() || is_keyed()
}

/// What sets `knob` in `document`, the one that counts.
fn setting_in<'d>(document: &'d Document, knob: &Knob) -> Option<Setting<'d>> {
    let is_meant = |entry: &&Entry| suits(knob.target, entry.kind) && knob.knows(without_file(&entry.key));
    let named = document.entries().iter().rfind(is_meant)?;
    let entry = document.get(&named.key).filter(|entry| suits(knob.target, entry.kind)).unwrap_or(named);
    Some(Setting { document, entry })
}

/// A key without the file that a script writes it to: `ds_config.json:zero_optimization.stage`.
fn without_file(key: &str) -> &str {
    key.split_once(':').map_or(key, |(_, key)| key)
}

/// Whether a knob of this target can be set by such an entry. A variable of a script is none of the processes it starts.
fn suits(target: Target, kind: EntryKind) -> bool {
    match kind {
        EntryKind::Variable => false,
        EntryKind::Env => target == Target::Env,
        EntryKind::Setting | EntryKind::Flag | EntryKind::Override | EntryKind::Directive => target != Target::Env,
    }
}
