//! Interprets the configurations of a job in the terms of its framework.
//!
//! In go the configurations that the user passed and those that the job printed, and the knobs of `rules/knobs/`. Out
//! come the framework, the setting of each knob, and facts for rules: what is set, and the defaults of what is not.

mod dialect;
mod digest;
mod facts;
mod holding;
mod implied;
mod index;
mod layout;
mod leaf;
mod missing_files;
mod part;
mod prediction;
mod ranks;
mod shape;
mod signs;
mod spare;
mod unread;
mod variables;

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::config::{Document, Entry, EntryKind, Format, Value};
use crate::facts::Facts;
use crate::knowledge::{CodeWords, Framework, Knob, Knowledge, Target, newest_version_with, plain_name};
use crate::model::Job;
use facts::StatedFact;
pub(crate) use facts::amount;
pub use implied::Inferred;
pub use index::Setting;
use index::SettingIndex;
pub(crate) use index::{file_of, without_file};
pub(crate) use layout::{
    USUAL, device_memory, device_wanted, host_by_share, host_memory, host_used, rolls_out, serves,
};
pub use layout::{state_capacity, state_limit};
pub use part::{Failed, of_job};
pub use prediction::{Comparison, Contradiction, MemoryChange, Prediction};
pub(crate) use ranks::state_ranks;
pub(crate) use shape::{lacks_vocabulary, name as described_name};
use signs::{has_keys, has_section, is_launched, is_named_in, is_yaml_by_name, starts};

/// What of `path` stands below `folder`, with the slash between them.
pub(crate) fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder).filter(|rest| rest.len() > 1 && rest.starts_with('/'))
}

/// The configurations of a job.
pub struct JobConfig<'k> {
    knowledge: &'k Knowledge,
    /// The framework that it ran on.
    framework: Option<&'k Framework>,
    /// The framework's version; if that is not stated, the newest one that the configuration fits.
    version: Option<Arc<str>>,
    /// Versions of what the framework stands on.
    versions: BTreeMap<Arc<str>, Arc<str>>,
    /// The user's own files in order of precedence, then what was printed.
    documents: Vec<Document>,
    /// Files of the same kind beside one that the launch names, of which it names none.
    spare: Vec<Document>,
    /// The file of a launcher that does not start the job.
    unread: Option<unread::Unread>,
    index: SettingIndex,
    /// The frameworks that the documents configure.
    configured: Vec<&'k Framework>,
    /// Whether what failed is a container beside the one that runs the framework.
    is_sidecar: bool,
    /// The facts of the configuration, computed on first use.
    stated: OnceLock<Vec<StatedFact>>,
    /// The job's own script, if it takes no options.
    script: OnceLock<Option<String>>,
}

impl<'k> JobConfig<'k> {
    /// Interprets the configuration of `job`: `files` are the user's own, `printed` is what the job printed.
    pub fn new(knowledge: &'k Knowledge, job: &Job, files: Vec<Document>, printed: Vec<Document>) -> JobConfig<'k> {
        let mut documents = files;
        // A command line takes precedence over the file that it names.
        documents.sort_by_key(|document| match document.format() {
            Format::Shell | Format::Ini => 0,
            Format::Yaml | Format::Toml => 1,
            Format::Json => 2,
            Format::Python => 3,
            Format::Log => 4,
        });
        variables::resolve(&mut documents);
        let spare = spare::take_out(&mut documents);
        let unread = unread::take_out(&mut documents, &printed, &knowledge.frameworks, job);
        documents.extend(printed);
        let index = SettingIndex::of(&documents);
        let keyed = index.frameworks_with_keys(&documents, &knowledge.knobs);
        // One key that another framework may have as well does not outweigh what the logs show.
        let said = knowledge.frameworks.iter().find(|known| job.framework.as_deref() == Some(&*known.name));
        let is_denied = |framework: &Framework| {
            said.is_some_and(|said| {
                said.name != framework.name && !said.carries_others && !framework.uses.contains(&said.name)
            })
        };
        // Nor do keys that it has, too: `gradient_checkpointing` is a word of many.
        let said_names: LazyCell<HashSet<String>, _> = LazyCell::new(|| {
            let stack = knowledge.stack(said.map(|said| &*said.name));
            let of_said = stack.iter().flat_map(|framework| knowledge.knobs.of(framework));
            of_said.flat_map(Knob::names).map(plain_name).collect()
        });
        let is_shared = |knob: &&Knob| knob.names().any(|name| said_names.contains(&plain_name(name)));
        // A single name may be anybody's: `batch_size`, `activation_checkpointing`. A path of names is not.
        let is_path = |knob: &&Knob| knob.names().all(|name| name.contains('.'));
        // Nor do keys that belong to what a framework is built on as well: those are of any program on that.
        let has_its_own = |framework: &Framework, keys: &[&Knob]| {
            let beneath = framework.uses.iter().flat_map(|name| knowledge.knobs.of(name)).flat_map(Knob::names);
            let beneath: HashSet<String> = beneath.map(plain_name).collect();
            keys.iter().any(|knob| knob.names().all(|name| !beneath.contains(&plain_name(name))))
        };
        let is_keyed = |framework: &Framework| {
            keyed.get(&framework.name).is_some_and(|keys| match is_denied(framework) {
                true => keys.iter().filter(|knob| !is_shared(knob)).count() > 1,
                false => (keys.len() > 1 || keys.iter().any(is_path)) && has_its_own(framework, keys),
            })
        };
        // A script's file name is anybody's, where the job's own stack or messages are of another framework.
        let launches = |framework: &Framework, document: &Document| match is_denied(framework) {
            true => is_named_in(document, |words| framework.is_launched_by_name(words)),
            false => is_launched(framework, document),
        };
        let configures = |framework: &&Framework| {
            is_keyed(framework)
                || documents.iter().any(|document| launches(framework, document) || has_keys(framework, document))
        };
        let configured: Vec<&Framework> = knowledge.frameworks.iter().filter(configures).collect();
        let of_job = |framework: &&Framework| job.framework.as_deref() == Some(&*framework.name);
        // The list has each framework before those that it is built on, so the first one that logs or configuration
        // show counts.
        let shown = |framework: &&Framework| {
            of_job(framework) || configured.iter().any(|configured| configured.name == framework.name)
        };
        // Keys that only one framework has are stronger evidence.
        let has_own = |framework: &&Framework| documents.iter().any(|document| has_keys(framework, document));
        let framework = knowledge.frameworks.iter().find(has_own).or_else(|| knowledge.frameworks.iter().find(shown));
        let is_called = |framework: &&Framework| {
            let is_it = |call: &String| framework.called_by.iter().any(|part| call.contains(part.as_str()));
            documents.iter().flat_map(Document::calls).any(is_it)
        };
        let called = || knowledge.frameworks.iter().find(is_called);
        let framework = match framework {
            Some(known) if known.carries_others => called().or(framework),
            None => called(),
            _ => framework,
        };
        let versions = job.versions.clone();
        let stated = OnceLock::new();
        let mut launch = JobConfig {
            knowledge,
            framework,
            version: None,
            versions,
            documents,
            spare,
            unread,
            index,
            configured,
            is_sidecar: false,
            stated,
            script: OnceLock::new(),
        };
        launch.version = launch.find_version(job);
        launch
    }

    /// This configuration as that of the part that failed, if several are started: scripts, containers, services, commands.
    pub fn of_part(mut self, failed: &Failed<'_>) -> JobConfig<'k> {
        let others = part::of_others(&self.documents, failed);
        if !others.is_empty() {
            let own = (0..).zip(self.documents).filter(|(index, _)| !others.contains(index));
            self.documents = own.map(|(_, document)| document).collect();
            self.index = SettingIndex::of(&self.documents);
            self.script = OnceLock::new();
        }
        self.index.enter(&self.documents, failed);
        self.is_sidecar = self.runs_beside_framework();
        self
    }

    /// Whether what failed is a container beside the one that runs the job's framework.
    pub fn is_sidecar(&self) -> bool {
        self.is_sidecar
    }

    fn runs_beside_framework(&self) -> bool {
        let Some(framework) = self.framework else { return false };
        let is_started = |words: &str| framework.is_launched_by(words);
        let mut parts = self.documents.iter().zip(self.index.parts());
        parts.any(|(document, part)| {
            part.as_ref().is_some_and(|part| {
                // Under whatever name it starts the framework: its options are those of the framework.
                let mut own = document.entries().iter().enumerate().filter(|(index, _)| !part.excludes(*index));
                let is_option = |entry: &Entry| entry.kind != EntryKind::Setting && self.is_option_of(framework, entry);
                part.has_failed && part.lacks(document, is_started) && !own.any(|(_, entry)| is_option(entry))
            })
        })
    }

    /// Whether `entry` sets an option of `framework` itself.
    fn is_option_of(&self, framework: &Framework, entry: &Entry) -> bool {
        self.knobs_of(&framework.name).any(|knob| knob.knows(&entry.key))
    }

    /// The command of `document` that failed, if it starts several and the logs tell which.
    pub fn failed_command(&self, document: &Document) -> Option<usize> {
        let mut parts = self.documents.iter().zip(self.index.parts());
        let (_, part) = parts.find(|(known, _)| known.path() == document.path())?;
        part.as_ref()?.command
    }

    /// The path of the container or service in `document` that runs `framework`, or the only one that the job may run in.
    pub fn container<'d>(&self, document: &'d Document, framework: &str) -> Option<&'d str> {
        let mut parts = self.documents.iter().zip(self.index.parts());
        let part = parts.find(|(known, _)| known.path() == document.path()).and_then(|(_, part)| part.as_ref());
        let known = self.knowledge.frameworks.iter().find(|known| *known.name == *framework).or(self.framework);
        let is_program = |words: &str| known.is_some_and(|known| known.is_launched_by(words));
        part::container_of(document, part, is_program)
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

    /// `job`, completed from the configuration where the logs left gaps.
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

    /// The version that the logs state, if it is that of the framework and not of one beneath it, else that of its container image.
    fn stated_version<'j>(&'j self, job: &'j Job) -> Option<&'j str> {
        let said = job.framework_version.as_deref().filter(|_| job.framework.as_deref() == self.framework());
        said.or_else(|| self.image_version(self.framework?))
    }

    /// The version that the tag of the framework's own container image names: `vllm/vllm-openai:v0.10.2`.
    fn image_version(&self, framework: &Framework) -> Option<&str> {
        let named = |entry: &'_ Entry| entry.key == "image" || entry.key.ends_with(".image");
        let images = self.documents.iter().flat_map(|document| {
            let set = document.entries().iter().filter(|entry| named(entry)).filter_map(|entry| match &entry.value {
                Value::Text(image) => Some(&**image),
                _ => None,
            });
            // `docker run` starts an image as a program, of whose name only the last step is known.
            let commands = document.commands().iter();
            set.chain(
                commands.flat_map(|command| command.operands.iter().chain([&command.program]).map(String::as_str)),
            )
        });
        images.into_iter().find_map(|image| {
            let (name, tag) = image.rsplit_once(':')?;
            let is_own = framework.is_launched_by(name) || framework.is_image(name);
            let tag = tag.strip_prefix('v').unwrap_or(tag);
            let version = &tag[..tag.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(tag.len())];
            Some(version.trim_end_matches('.')).filter(|version| is_own && version.contains('.'))
        })
    }

    /// The version that decides names and defaults of `knob`, if it is known.
    pub fn version_of(&self, knob: &Knob) -> Option<&str> {
        match self.framework() == Some(&*knob.framework) {
            true => self.version.as_deref(),
            false => self.versions.get(&knob.framework).map(|version| &**version),
        }
    }

    /// The user's own files, then what the job printed.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// Where a job on this framework sets knobs of the framework `lower`, if none of the user's configurations contains
    /// them.
    pub fn set_in(&self, lower: &str) -> Option<&'k str> {
        self.framework?.set_in.get(lower).map(|place| &**place)
    }

    /// Whether the job's configuration belongs to `framework`, so that settings it lacks have that framework's
    /// defaults.
    pub fn is_configured(&self, framework: &str) -> bool {
        self.configured.iter().any(|known| *known.name == *framework)
    }

    /// Whether an unset knob is at its default. This is unknown for knobs of a JSON file that was not passed.
    pub fn has_default(&self, knob: &Knob) -> bool {
        let is_given = || {
            let mut of_file = self.knobs_of(&knob.framework).filter(|other| other.target == Target::Json);
            of_file.any(|other| self.setting(other).is_some())
        };
        self.is_configured(&knob.framework) && (knob.target != Target::Json || is_given())
    }

    /// The knobs of the job, its framework's own first.
    pub fn knobs(&self) -> impl Iterator<Item = &'k Knob> {
        self.of_stack().filter(|knob| self.may_have(knob))
    }

    /// Whether `knob` may be the job's: not if it is generic, which matches settings of any program, and the job is known to run a
    /// framework with options of its own. A script on top of that framework has further ones.
    pub fn may_have(&self, knob: &Knob) -> bool {
        let is_parsed = || self.class_of(knob).is_none() || self.setting(knob).is_some();
        if self.is_unknown_to_the_script(knob) || knob.parsed_only && !is_parsed() {
            return false;
        }
        if !knob.is_generic() {
            return true;
        }
        let Some(framework) = self.framework().filter(|framework| self.is_configured(framework)) else { return true };
        let is_known = |key: &str| self.of_stack().any(|other| !other.is_generic() && other.knows(key));
        let is_of_script = |setting: Setting<'_>| setting.is_own() && !is_known(without_file(&setting.entry.key));
        self.knowledge.is_beneath_others(framework) && self.setting(knob).is_some_and(is_of_script)
    }

    /// Whether `knob` is an option that the job's script would refuse: it parses its options itself, and this is none of them. Libraries like
    /// diffusers parse nothing; their options are those of their examples.
    fn is_unknown_to_the_script(&self, knob: &Knob) -> bool {
        /// A parser of fewer options may add to those of a framework.
        const LEAST: usize = 3;
        let is_of_scripts = || {
            let known = self.knowledge.frameworks.iter().find(|known| known.name == knob.framework);
            knob.is_generic() || known.is_some_and(|known| known.leaves_options_to_scripts)
        };
        let declared = || self.documents.iter().flat_map(Document::declared_options);
        // A script that takes none has what a generic knob means in its code, if that has a name without the option's dashes.
        let has_no_options = || knob.called.is_none() && self.script_without_options().is_some();
        // Asked of every knob, and few jobs come with such a script.
        knob.target == Target::Cli
            && (declared().count() >= LEAST || has_no_options())
            && is_of_scripts()
            && self.setting(knob).is_none()
            && self.class_of(knob).is_none()
            && !declared().any(|option| knob.names().any(|name| plain_name(name) == *option))
    }

    /// The job's own script, if it takes no options: neither reads its code a command line, nor does a command give it any.
    pub fn script_without_options(&self) -> Option<&str> {
        // Asked of every knob: the code is read once.
        self.script.get_or_init(|| self.find_script_without_options().map(str::to_owned)).as_deref()
    }

    fn find_script_without_options(&self) -> Option<&str> {
        // What calls nothing is a configuration of some program.
        let is_script = |document: &&Document| document.format() == Format::Python && !document.calls().is_empty();
        let mut scripts = self.documents.iter().filter(is_script);
        let script = scripts.next()?;
        let takes = |code: &Document| CodeWords::shipped().may_read_options(code.text());
        if takes(script) || scripts.any(takes) {
            return None;
        }
        let name = part::name(script.path())?;
        let is_given = |document: &Document| {
            let runs = |at: usize| document.commands().get(at).and_then(part::script) == Some(name);
            let is_option = |entry: &Entry| matches!(entry.kind, EntryKind::Flag | EntryKind::Override);
            document.entries().iter().any(|entry| is_option(entry) && entry.command.is_some_and(runs))
        };
        (!self.documents.iter().any(is_given)).then_some(name)
    }

    /// Whether `knob` is an argument of a call that the job's own code, as far as it is given, does not make.
    pub fn lacks_call(&self, knob: &Knob) -> bool {
        let codes = || self.documents.iter().filter(|document| document.format() == Format::Python);
        let calls = || knob.names().filter(|name| !name.contains(' ')).filter_map(|name| name.rsplit_once('.'));
        let is_made = |code: &Document| {
            calls().any(|(call, _)| code.text().contains(call.rsplit('.').next().unwrap_or_default()))
        };
        knob.target == Target::Python && calls().next().is_some() && codes().next().is_some() && !codes().any(is_made)
    }

    fn of_stack(&self) -> impl Iterator<Item = &'k Knob> {
        self.knowledge.stack(self.framework()).into_iter().flat_map(|name| self.knobs_of(name))
    }

    pub(crate) fn knobs_of<'n>(&self, framework: &'n str) -> impl Iterator<Item = &'k Knob> + use<'k, 'n> {
        self.knowledge.knobs.of(framework)
    }

    /// The setting of `knob`, from the user's own files if they have it, else from what the job printed.
    pub fn setting(&self, knob: &Knob) -> Option<Setting<'_>> {
        self.index.setting(&self.documents, knob)
    }

    /// The variable for `knob`, an option that is not set, where a container gives its program's options as variables: `CUDA_GRAPHS`.
    pub fn as_variable<'n>(&self, knob: &'n Knob) -> Option<&'n str> {
        let is_variable = |name: &&str| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let name = knob.names().find(is_variable).filter(|_| knob.target == Target::Cli)?;
        let given: Vec<EntryKind> = self
            .knobs_of(&knob.framework)
            .filter(|other| other.target == Target::Cli)
            .filter_map(|other| self.setting(other).filter(Setting::is_own))
            .map(|setting| setting.entry.kind)
            .collect();
        let is_so = given.contains(&EntryKind::Env) && !given.contains(&EntryKind::Flag);
        (is_so && self.setting(knob).is_none_or(|setting| !setting.is_own())).then_some(name)
    }

    /// The name of `knob` for which a configuration in Python has the section.
    pub fn name_in_section<'n>(&self, knob: &'n Knob) -> Option<&'n str> {
        let mut codes = self.documents.iter().filter(|document| document.format() == Format::Python);
        let has = |document: &Document| knob.names().find(|name| has_section(document, name));
        if knob.target == Target::Yaml { codes.find_map(has) } else { None }
    }

    /// Whether `knob`, which is not set yet, can be added to `document`.
    pub fn takes(&self, document: &Document, knob: &Knob) -> bool {
        let is_of = |framework: &Framework| {
            let mut own = self.knobs_of(&framework.name);
            let here = |setting: Setting<'_>| setting.document.path() == document.path();
            is_launched(framework, document)
                || own.any(|knob| self.setting(knob).is_some_and(here))
                || self.framework() == Some(&*framework.name) && starts(framework, document)
        };
        let framework = self.knowledge.frameworks.iter().find(|framework| framework.name == knob.framework);
        let overrides = || document.entries().iter().any(|entry| entry.kind == EntryKind::Override);
        match (document.format(), knob.target) {
            (Format::Json, Target::Json) | (Format::Yaml, Target::Yaml) | (Format::Shell, Target::Cli) => {
                framework.is_some_and(is_of)
            }
            // YAML may be written as JSON is.
            (Format::Json, Target::Yaml) => is_yaml_by_name(document) && framework.is_some_and(is_of),
            // An option of the program that a container runs.
            (Format::Yaml | Format::Ini, Target::Cli) => {
                !document.commands().is_empty() && framework.is_some_and(is_of)
            }
            // Keys of a TOML file are command-line options of the program that reads it.
            (Format::Toml, Target::Cli) => framework.is_some_and(is_of),
            // A YAML key can be overridden on the command line if that already has overrides.
            (Format::Shell, Target::Yaml) => framework.is_some_and(is_of) && overrides(),
            // An argument of a call, which must stand there.
            (Format::Python, Target::Python) => true,
            // A configuration in Python has the section that it belongs to.
            (Format::Python, Target::Yaml) => {
                framework.is_some_and(is_of) && knob.names().any(|name| has_section(document, name))
            }
            (Format::Python, Target::Cli) => self.class_with(document, knob).is_some(),
            (Format::Shell | Format::Ini, Target::Env) => !document.commands().is_empty(),
            _ => false,
        }
    }
}

impl JobConfig<'_> {
    /// The class in the job's Python code of which `knob`, an option, is an argument, unless a command line or a file sets it.
    pub fn class_of(&self, knob: &Knob) -> Option<&str> {
        if knob.target != Target::Cli {
            return None;
        }
        let is_code = |document: &&Document| document.format() == Format::Python;
        match self.setting(knob).filter(Setting::is_own) {
            Some(Setting { document, .. }) => {
                Some(document).filter(is_code).and_then(|code| self.class_with(code, knob))
            }
            None => self.documents.iter().filter(is_code).find_map(|code| self.class_with(code, knob)),
        }
    }

    /// The class in `document`, Python code, of which `knob` is an argument: one of the knob's framework, else one that inherits the
    /// options of that framework. No other class takes them, even if its framework runs the knob's: it refuses what it does not know.
    pub fn class_with<'d>(&self, document: &'d Document, knob: &Knob) -> Option<&'d str> {
        let classes = document.commands().iter().map(|command| command.program.as_str());
        let call = |class: &str| CodeWords::shipped().call(class);
        let is_own = |class: &&str| call(class).is_some_and(|call| call.framework.as_deref() == Some(&*knob.framework));
        let inherits =
            |class: &&str| call(class).is_some_and(|call| call.inherits.iter().any(|of| **of == *knob.framework));
        classes.clone().find(is_own).or_else(|| classes.into_iter().find(inherits))
    }
}
