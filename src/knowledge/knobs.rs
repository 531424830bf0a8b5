use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Deserialize;

use super::causes::Condition;
use super::language::Words;
use super::version::Version;

mod by_framework;
mod check;
#[cfg(test)]
mod tests;
mod to;
mod turn;

pub use by_framework::Knobs;
pub(super) use check::{check, check_partners};
pub use to::To;
pub use turn::{Direction, Turn};

/// One file of `rules/knobs/`: the knobs of a framework.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnobFile {
    /// The framework.
    pub framework: Arc<str>,
    /// Where this was read, with versions.
    #[serde(rename = "source")]
    _source: String,
    /// What must hold for any of its knobs to work.
    #[serde(default)]
    pub constraint: Vec<Constraint>,
    #[serde(default)]
    pub knob: Vec<Knob>,
}

/// A setting that moves memory, or that people believe to move it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knob {
    /// Its name within the framework, for rules and for `explain`.
    pub id: Arc<str>,
    /// Set from the file.
    #[serde(skip)]
    pub framework: Arc<str>,
    /// Where it is set.
    pub target: Target,
    /// The type of its values.
    pub r#type: Type,
    /// How it is spelled, by version; the newest last.
    pub spelling: Vec<Spelling>,
    /// Its default, by version; the newest last.
    #[serde(default)]
    pub default: Vec<DefaultValue>,
    /// The levers that it turns, and how far; empty if it is listed only for its fact or for not helping.
    #[serde(default)]
    pub lever: Vec<Turn>,
    /// The fact that its value becomes: `config.zero_stage`. Knobs of several frameworks may share one.
    #[serde(default)]
    pub fact: Option<Arc<str>>,
    /// The fact's value for a value of the knob, if it is not the same: `true` of `--adam_offload` means `cpu`. A value that is neither
    /// listed here nor allowed by the fact says nothing.
    #[serde(default)]
    pub means: BTreeMap<String, String>,
    /// The folders by which it is known: any option or variable whose value is a path below one of them is this knob, whatever its name.
    #[serde(default)]
    pub holds: Vec<Arc<str>>,
    /// What it is called where the job's program takes no options: `the batch size`.
    #[serde(default)]
    pub called: Option<Arc<str>>,
    /// Of a generic knob: words with which names of users' own options end, `num envs` of `camera_num_envs` and `NUM_ENVS`.
    #[serde(default)]
    pub ends: Vec<Arc<str>>,
    /// Whether only a command line has it: no class in code takes it as an argument.
    #[serde(default)]
    pub parsed_only: bool,
    /// Whether it is an argument that every call which its names know must be given, as each metric of a script.
    #[serde(default)]
    pub each_call: bool,
    /// The fact by which the program's own log states its value, where no configuration is given.
    #[serde(default)]
    pub printed: Option<Arc<str>>,
    /// Whether it is the command of a launcher, its value the launcher's options: it takes the place of the `python` that starts the script.
    #[serde(default)]
    pub starts_script: bool,
    /// The memory that it moves, in words.
    pub moves: Words,
    /// What it costs.
    pub cost: Words,
    /// What it costs where nothing is trained, if that is something else.
    #[serde(default)]
    pub inference_cost: Option<Words>,
    /// Whether it makes the job learn something else, such as another loss: others that turn the lever as well go before it.
    #[serde(default)]
    pub changes_training: bool,
    /// What must hold for it to work.
    #[serde(default)]
    pub constraint: Vec<Constraint>,
    /// Remarks that are not conditions.
    #[serde(default)]
    pub note: Vec<Note>,
    /// What to type or write to set it, with its value as `{to}`, if that is not simply name and value.
    #[serde(default)]
    pub line: Option<Arc<str>>,
    /// What to add to a file of keys that has nothing of it yet, if that is more than name and value.
    #[serde(default)]
    pub section: Option<Section>,
    /// The unit of amounts of memory that are written for it, if the user has not chosen one.
    #[serde(default)]
    pub unit: Option<Arc<str>>,
    /// What a number without a unit counts, if not bytes: `MiB` for Slurm, `site` where each site decides that, and whether it is counted
    /// for the job or for each of its slots.
    #[serde(default)]
    pub number: Option<Arc<str>>,
}

/// Keys that are added together.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// The key that marks each place for them: they are added beside it. Empty: at the root.
    #[serde(default)]
    pub beside: Arc<str>,
    /// The name of the only file that takes them, whatever its format.
    #[serde(default)]
    pub file: Option<Arc<str>>,
    /// Values that show, anywhere in the file, that such a section exists already; also before a `=`.
    pub taken: Vec<String>,
    /// Keys and their values: `[+]` is the first free index of a list, `{to}` the knob's value.
    pub keys: Vec<[String; 2]>,
}

/// Where a knob is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// A command line.
    Cli,
    /// A JSON file.
    Json,
    /// A YAML file, or an override of one on a command line.
    Yaml,
    /// The environment. An option within a variable follows a dot: `PYTORCH_CUDA_ALLOC_CONF.max_split_size_mb`.
    Env,
    /// The training script. An argument follows its function and a dot: `torch.load.map_location`.
    Python,
    /// The machine, container or scheduler.
    System,
}

impl Target {
    /// The word for it in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Target::Cli => "cli",
            Target::Json => "json",
            Target::Yaml => "yaml",
            Target::Env => "env",
            Target::Python => "python",
            Target::System => "system",
        }
    }
}

/// The type of a knob's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// An option without a value, on if present.
    Flag,
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// An amount of memory with a unit.
    Size,
    /// One of several words.
    Choice,
    /// Another file with settings.
    File,
    /// Anything.
    Text,
}

impl Type {
    /// The word for it in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Type::Flag => "flag",
            Type::Bool => "bool",
            Type::Integer => "integer",
            Type::Number => "number",
            Type::Size => "size",
            Type::Choice => "choice",
            Type::File => "file",
            Type::Text => "text",
        }
    }
}

/// The spelling of a knob in a range of versions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spelling {
    /// As one writes it: `--zero_stage`, `zero_optimization.stage`.
    pub name: Arc<str>,
    /// Other names that these versions accept.
    #[serde(default)]
    pub also: Vec<Arc<str>>,
    /// The first version that knows it.
    #[serde(default)]
    pub since: Option<Arc<str>>,
    /// The last version that knows it.
    #[serde(default)]
    pub until: Option<Arc<str>>,
}

/// A knob's default in a range of versions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultValue {
    /// The value.
    pub value: String,
    /// The first version that has it.
    #[serde(default)]
    pub since: Option<Arc<str>>,
}

/// What must hold for a knob to be accepted and to have its effect.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// A condition (CEL) under which it is refused or has no effect, evaluated on the facts after the change.
    #[serde(default)]
    pub unless: Option<Condition>,
    /// A condition (CEL) that must be known to hold for the knob to apply to a job.
    #[serde(default)]
    pub only: Option<Condition>,
    /// A condition (CEL) without which there is nothing to say.
    #[serde(default)]
    pub when: Option<Condition>,
    /// The knob that sees to it, where it is changed along.
    #[serde(default)]
    pub settled_by: Option<Arc<str>>,
    /// The same in words.
    pub text: Words,
}

/// A remark about a knob.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// A condition (CEL) without which there is nothing to say.
    #[serde(default)]
    pub when: Option<Condition>,
    /// The knob that sees to it, where it is changed along.
    #[serde(default)]
    pub settled_by: Option<Arc<str>>,
    /// It.
    pub text: Words,
}

/// The pseudo-framework of knobs that every script has in some form.
pub(super) const GENERIC: &str = "generic";

impl Knob {
    /// Whether it belongs to no framework in particular and is the last resort.
    pub fn is_generic(&self) -> bool {
        &*self.framework == GENERIC
    }

    /// Its spelling in `version`; `None` if that version does not have it. An unknown version counts as the newest.
    pub fn spelling_at(&self, version: Option<&str>) -> Option<&Spelling> {
        match version.and_then(|version| version.parse::<Version>().ok()) {
            Some(version) => self.spelling.iter().rev().find(|spelling| spelling.is_of(&version)),
            None => self.spelling.last().filter(|spelling| spelling.until.is_none()),
        }
    }

    /// Its spelling if the version is unknown: a name that all versions accept, if there is one, else the newest; `None` if the newest
    /// version no longer has it.
    pub fn spelling_for_all(&self) -> Option<&str> {
        let newest = self.spelling_at(None)?;
        let is_everywhere = |name: &&str| self.spelling.iter().all(|spelling| spelling.names().any(|own| own == *name));
        newest.names().find(is_everywhere).or(Some(&newest.name))
    }

    /// Its default in `version`. An unknown version counts as the newest.
    pub fn default_at(&self, version: Option<&str>) -> Option<&str> {
        let version = version.and_then(|version| version.parse::<Version>().ok());
        let is_of = |default: &&DefaultValue| version.as_ref().is_none_or(|version| begun(&default.since, version));
        self.default.iter().rev().find(is_of).map(|default| default.value.as_str())
    }

    /// All that it may cost.
    pub fn costs(&self) -> impl Iterator<Item = &Words> {
        [&self.cost].into_iter().chain(&self.inference_cost)
    }

    /// All its names in all versions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.spelling.iter().flat_map(Spelling::names)
    }

    /// Whether a configuration's `key` is this knob in any version: leading dashes do not count, `-` and `_` are the same. A dotted name
    /// may stand below other keys: `spec.containers[0].resources.limits.memory`.
    pub fn knows(&self, key: &str) -> bool {
        self.names().any(|name| is_named(name, key))
    }

    /// Whether `key` [is the end](is_end) of one of its names.
    pub fn ends_in(&self, key: &str) -> bool {
        self.names().any(|name| is_end(name, key))
    }

    /// Whether each site decides what its numbers count.
    pub fn is_of_site(&self) -> bool {
        self.number.as_deref() == Some("site")
    }

    /// Whether `value` sets no limit: schedulers and containers take 0 for all that the node has.
    pub fn is_unlimited(&self, value: &str) -> bool {
        let is_limit = self.r#type == Type::Size && self.lever.iter().any(|turn| turn.to == To::Need);
        is_limit && value.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse() == Ok(0.0)
    }

    /// The fact's value for the knob's `value`; the same unless `means` says otherwise.
    pub fn meaning<'v>(&'v self, value: &'v str) -> &'v str {
        let value = value.trim();
        let said = self.means.iter().find(|(known, _)| known.eq_ignore_ascii_case(value));
        said.map_or(value, |(_, meaning)| meaning)
    }

    /// How it turns `lever`, in `direction` if that is given.
    pub fn turns(&self, lever: &str, direction: Option<Direction>) -> Option<&Turn> {
        let fits = |turn: &&Turn| match (turn.direction, direction) {
            (Some(own), Some(asked)) => own == asked,
            _ => true,
        };
        self.lever.iter().filter(|turn| &*turn.name == lever).find(fits)
    }
}

impl Spelling {
    /// All accepted names, the main one first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.name).chain(self.also.iter().map(|name| &**name))
    }

    fn is_of(&self, version: &Version) -> bool {
        let over = self.until.as_deref().and_then(|until| until.parse::<Version>().ok());
        begun(&self.since, version) && over.is_none_or(|until| *version <= until)
    }
}

/// Whether `version` is not older than `since`.
fn begun(since: &Option<Arc<str>>, version: &Version) -> bool {
    since.as_deref().and_then(|since| since.parse::<Version>().ok()).is_none_or(|since| since <= *version)
}

/// An option's name in normal form: without leading dashes and with `_` for `-`.
pub fn plain_name(name: &str) -> String {
    name.trim_start_matches('-').replace('-', "_")
}

/// The last component of an option's or key's name in normal form: the same for `--zero-stage` and `zero_optimization.zero_stage`.
pub fn last_step(name: &str) -> String {
    plain_name(name.rsplit_once('.').map_or(name, |(_, last)| last))
}

/// Whether `key` has the same [`plain_name`] as `name`, or ends with it below other keys. A step `*` of the name is any one step of the
/// key, `services.*.shm_size`, and `[*]` any item of a list. It is called for every pair of knob and setting and thus copies nothing.
pub fn is_named(name: &str, key: &str) -> bool {
    if name.contains('*') {
        let is_item = |list: &str, key: &str| key.strip_prefix(list).is_some_and(|rest| rest.starts_with('['));
        let is_step = |(name, key): (&str, &str)| match name.strip_suffix("[*]") {
            Some(list) => is_item(list, key),
            None => name == "*" || is_named(name, key),
        };
        return name.split('.').count() == key.split('.').count() && name.split('.').zip(key.split('.')).all(is_step);
    }
    let (name, key) = (name.trim_start_matches('-').as_bytes(), key.trim_start_matches('-').as_bytes());
    let Some((above, end)) = key.len().checked_sub(name.len()).and_then(|above| key.split_at_checked(above)) else {
        return false;
    };
    let plain = |byte: &u8| if *byte == b'-' { b'_' } else { *byte };
    let is_same = || name.iter().map(plain).eq(end.iter().map(plain));
    (above.is_empty() || above.ends_with(b".") && name.contains(&b'.')) && is_same()
}

/// Whether `key`, of at least two components, is the end of `name`, as in an excerpt of a file: `offload.offload_params` of
/// `worker.actor.offload.offload_params`.
pub fn is_end(name: &str, key: &str) -> bool {
    key.contains('.') && name.strip_suffix(key).is_some_and(|above| above.ends_with('.'))
}

/// The newest version that has all of `keys`, as far as `knobs` know them: a job that sets `--zero_stage` is no newer than OpenRLHF
/// 0.10.1.post2. `None` if the newest version has them all.
pub fn newest_version_with<'k, 'n>(
    knobs: impl Iterator<Item = &'k Knob>,
    keys: impl IntoIterator<Item = &'n str>,
) -> Option<Arc<str>> {
    let mut by_end: HashMap<String, Vec<&str>> = HashMap::new();
    for key in keys {
        by_end.entry(last_step(key)).or_default().push(key);
    }
    let keys_of = |knob: &'k Knob| knob.names().filter_map(|name| by_end.get(&last_step(name))).flatten();
    let lasts = knobs.flat_map(|knob| keys_of(knob).filter_map(|key| last_version_of(knob, key)));
    lasts.min_by(|a, b| a.parse::<Version>().ok().cmp(&b.parse::<Version>().ok()))
}

/// The last version in which `key` is a name of `knob`, if that has ended.
fn last_version_of(knob: &Knob, key: &str) -> Option<Arc<str>> {
    let spelled = knob.spelling.iter().rev().find(|spelling| spelling.names().any(|name| is_named(name, key)))?;
    spelled.until.clone()
}
