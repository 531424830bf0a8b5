use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Deserialize;

use super::causes::Condition;
use super::language::Words;
use super::version::Version;
use crate::model::Phase;

mod check;
#[cfg(test)]
mod tests;

pub(super) use check::check;

/// One file of `rules/knobs/`: what a framework lets one turn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnobFile {
    /// The framework.
    pub framework: Arc<str>,
    /// Where this was read, with versions.
    #[serde(rename = "source")]
    _source: String,
    #[serde(default)]
    pub knob: Vec<Knob>,
}

/// A setting that moves memory, or that people take for one that does.
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
    /// What its values are.
    pub r#type: Type,
    /// How it is spelled, by version; the newest last.
    pub spelling: Vec<Spelling>,
    /// Its value where nobody sets it, by version; the newest last.
    #[serde(default)]
    pub default: Vec<DefaultValue>,
    /// What it turns, and how far; nothing where it is known for its fact, or for not helping.
    #[serde(default)]
    pub lever: Vec<Turn>,
    /// The fact that its value is, for rules: `config.zero_stage`. Knobs of several frameworks share one.
    #[serde(default)]
    pub fact: Option<Arc<str>>,
    /// What a value means as that fact, where it is not the value itself: `true` of `--adam_offload` is `cpu`. A value
    /// that neither stands here nor is allowed by the fact says nothing.
    #[serde(default)]
    pub means: BTreeMap<String, String>,
    /// What memory it moves.
    pub moves: Words,
    /// What it costs.
    pub cost: Words,
    /// What must hold for it to work.
    #[serde(default)]
    pub constraint: Vec<Constraint>,
    /// What is worth knowing besides, and no condition of its working.
    #[serde(default)]
    pub note: Vec<Note>,
    /// What one types or writes to set it, with its value as `{to}`, where that is not its name and value.
    #[serde(default)]
    pub line: Option<Arc<str>>,
    /// What a file of keys takes where nothing of it is set, if that is more than its name and value.
    #[serde(default)]
    pub section: Option<Section>,
    /// The unit of an amount of memory, where the user wrote none.
    #[serde(default)]
    pub unit: Option<Arc<str>>,
}

/// Keys that belong together, wherever a file has a place for them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// What marks each such place: they go beside it.
    pub beside: Arc<str>,
    /// Values one of which anywhere in the file says that there is such a thing already.
    pub taken: Vec<String>,
    /// Keys and their values: `[+]` is the first free place of a list, `{to}` the knob's value.
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
    /// The environment. An option within a variable stands behind a dot: `PYTORCH_CUDA_ALLOC_CONF.max_split_size_mb`.
    Env,
    /// The training script. An argument stands behind what takes it: `torch.load.map_location`.
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

/// What a knob's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// On when it stands there.
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

/// How a knob is spelled in a range of versions.
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

/// What a knob does to a lever.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The lever.
    pub name: Arc<str>,
    /// Which way, where a lever goes both ways.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// How to turn it, as a first step.
    pub to: To,
    /// Never beyond this.
    #[serde(default)]
    pub limit: Option<f64>,
    /// What it costs this way, where that is not the knob's own price.
    #[serde(default)]
    pub cost: Option<Words>,
    /// Where memory gets free by it, to choose among several knobs; empty: in every phase.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// What must be set with it, or it is refused or does nothing.
    #[serde(default)]
    pub with: Vec<With>,
}

/// A knob of the same framework that another one needs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct With {
    /// Its id.
    pub knob: Arc<str>,
    /// Its value; absent: as much more as the other becomes less, where the user set it.
    #[serde(default)]
    pub to: Option<String>,
    /// Other values that do as well.
    #[serde(default)]
    pub fits: Vec<String>,
}

/// Which way a lever is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// To more.
    Raise,
    /// To less.
    Lower,
}

impl Direction {
    /// The word for it in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::Raise => "raise",
            Direction::Lower => "lower",
        }
    }
}

/// How to turn a knob.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum To {
    /// Switch it on.
    On,
    /// Switch it off.
    Off,
    /// Multiply by this; whole numbers stay whole and at least 1.
    Scale(f64),
    /// Add this.
    Add(f64),
    /// To this value; in angle brackets stands what only the user knows.
    Value(String),
    /// To what the job needs, as far as the arithmetic or the log says; else to no less than it reached.
    Need,
}

/// What must hold for a knob to be accepted and to do what it says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// A condition (CEL) under which it is refused or does nothing, asked of the facts as the change leaves them.
    #[serde(default)]
    pub unless: Option<Condition>,
    /// A condition (CEL) without which it is not for this job: what is not known to hold does not.
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

/// The framework of the knobs that every script has in some form.
pub(super) const GENERIC: &str = "generic";

impl Knob {
    /// Whether it is nobody's in particular: the last resort.
    pub fn is_generic(&self) -> bool {
        &*self.framework == GENERIC
    }

    /// How `version` spells it; `None` where that version does not have it. An unknown version is the newest.
    pub fn spelling_at(&self, version: Option<&str>) -> Option<&Spelling> {
        match version.and_then(|version| version.parse::<Version>().ok()) {
            Some(version) => self.spelling.iter().rev().find(|spelling| spelling.is_of(&version)),
            None => self.spelling.last().filter(|spelling| spelling.until.is_none()),
        }
    }

    /// How it is spelled where its version is open: as every version takes it, if there is such a name, else as the newest
    /// does; `None` where the newest has it no more.
    pub fn spelling_for_all(&self) -> Option<&str> {
        let newest = self.spelling_at(None)?;
        let is_everywhere = |name: &&str| self.spelling.iter().all(|spelling| spelling.names().any(|own| own == *name));
        newest.names().find(is_everywhere).or(Some(&newest.name))
    }

    /// Its value in `version` where nobody sets it. An unknown version is the newest.
    pub fn default_at(&self, version: Option<&str>) -> Option<&str> {
        let version = version.and_then(|version| version.parse::<Version>().ok());
        let is_of = |default: &&DefaultValue| version.as_ref().is_none_or(|version| begun(&default.since, version));
        self.default.iter().rev().find(is_of).map(|default| default.value.as_str())
    }

    /// All its names in all versions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.spelling.iter().flat_map(Spelling::names)
    }

    /// Whether a configuration's `key` is this knob, of whatever version: leading dashes do not count, `-` and `_` are
    /// one. A dotted name may stand below other keys: `spec.containers[0].resources.limits.memory`.
    pub fn knows(&self, key: &str) -> bool {
        self.names().any(|name| is_named(name, key))
    }

    /// Whether `key` [is the end](is_end) of one of its names.
    pub fn ends_in(&self, key: &str) -> bool {
        self.names().any(|name| is_end(name, key))
    }

    /// What `value` is as the fact of this knob; itself where nothing else is said.
    pub fn meaning<'v>(&'v self, value: &'v str) -> &'v str {
        let value = value.trim();
        let said = self.means.iter().find(|(known, _)| known.eq_ignore_ascii_case(value));
        said.map_or(value, |(_, meaning)| meaning)
    }

    /// How it turns `lever`, that way where one is asked for.
    pub fn turns(&self, lever: &str, direction: Option<Direction>) -> Option<&Turn> {
        let fits = |turn: &&Turn| match (turn.direction, direction) {
            (Some(own), Some(asked)) => own == asked,
            _ => true,
        };
        self.lever.iter().filter(|turn| &*turn.name == lever).find(fits)
    }
}

impl Spelling {
    /// The name and those that are accepted beside it.
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

/// An option's name without what people leave out or mix up: leading dashes do not count, `-` and `_` are one.
pub fn plain_name(name: &str) -> String {
    name.trim_start_matches('-').replace('-', "_")
}

/// The last step of an option's or a key's name: `--zero-stage`, `zero_optimization.zero_stage` end alike.
pub fn last_step(name: &str) -> String {
    plain_name(name.rsplit_once('.').map_or(name, |(_, last)| last))
}

/// Whether [`plain_name`] of `key` is that of `name`, or ends in it below other keys. Asked of every knob and every setting,
/// so it copies neither.
pub fn is_named(name: &str, key: &str) -> bool {
    let (name, key) = (name.trim_start_matches('-').as_bytes(), key.trim_start_matches('-').as_bytes());
    let Some((above, end)) = key.len().checked_sub(name.len()).and_then(|above| key.split_at_checked(above)) else {
        return false;
    };
    let plain = |byte: &u8| if *byte == b'-' { b'_' } else { *byte };
    let is_same = || name.iter().map(plain).eq(end.iter().map(plain));
    (above.is_empty() || above.ends_with(b".") && name.contains(&b'.')) && is_same()
}

/// Whether `key`, of two steps at least, is the end of `name`, as where somebody shows a part of a file: `offload.offload_params`
/// of `worker.actor.offload.offload_params`.
pub fn is_end(name: &str, key: &str) -> bool {
    key.contains('.') && name.strip_suffix(key).is_some_and(|above| above.ends_with('.'))
}

/// The newest version that all of `keys` can be of, as far as they are known to `knobs`: a job that sets `--zero_stage` is
/// no newer than OpenRLHF 0.10.1.post2. `None` where the newest of all knows them.
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

/// The last version in which `key` is a name of `knob`, where there is a last.
fn last_version_of(knob: &Knob, key: &str) -> Option<Arc<str>> {
    let spelled = knob.spelling.iter().rev().find(|spelling| spelling.names().any(|name| is_named(name, key)))?;
    spelled.until.clone()
}
