use std::sync::Arc;

use serde::Deserialize;

use super::causes::{Condition, PatchRow};
use super::language::Words;
use super::version::Version;

/// One file of `rules/defects/`: what some versions of programs do wrong with memory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefectFile {
    /// The defects.
    pub defect: Vec<Defect>,
    /// Logs and what must come out.
    #[serde(default)]
    pub example: Vec<DefectExample>,
}

/// What some versions of a program do wrong, so that memory runs out.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defect {
    /// Its name; unique.
    pub name: Arc<str>,
    /// The program, as `rules/frameworks.toml` and the facts `version.…` call it.
    pub program: Arc<str>,
    /// Whether `pip` installs the program, and under which name; absent: it is installed otherwise.
    #[serde(default)]
    pub package: Option<Arc<str>>,
    /// The first version that has it; absent: it is not known.
    #[serde(default)]
    pub since: Option<Version>,
    /// The first version without it.
    pub fixed: Version,
    /// The causes as which it shows.
    pub causes: Vec<Arc<str>>,
    /// A condition (CEL): in which jobs the cause may come from it.
    pub when: Condition,
    /// A condition (CEL): what shows that its code ran. Only then is it named where the version is not known, and comes first where it is.
    #[serde(default)]
    pub shown_by: Option<Condition>,
    /// What it does to which memory.
    pub why: Words,
    /// Where the program's authors say so.
    pub source: String,
    /// The change that ends it; made when it is read.
    #[serde(skip)]
    pub patch: PatchRow,
}

impl Defect {
    /// The defect with the change that ends it.
    pub(super) fn completed(self) -> Defect {
        let Defect { program, package, fixed, .. } = &self;
        let (knob, to) = match package {
            Some(package) => ("generic.package_version", format!("{package}>={fixed}")),
            None => ("generic.program_version", format!("{program} {fixed}")),
        };
        let patch = PatchRow { lever: "version".into(), knob: Some(knob.into()), to: Some(to), ..PatchRow::default() };
        Defect { patch, ..self }
    }

    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        let is_never = self.since.as_ref().is_some_and(|since| !self.is_in(since));
        is_never.then(|| format!("{}: `since` is not before `fixed`", self.name))
    }

    /// Whether `version` has it.
    pub fn is_in(&self, version: &Version) -> bool {
        *version < self.fixed && self.since.as_ref().is_none_or(|since| since <= version)
    }
}

/// A log and whether a defect must be named for it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefectExample {
    /// The defect.
    pub defect: Arc<str>,
    /// The log.
    pub log: String,
    /// The launch configuration beside it.
    #[serde(default)]
    pub config: Option<String>,
    /// Whether another version must be proposed because of the defect.
    pub is_named: bool,
}
