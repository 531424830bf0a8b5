//! How the job at hand spells a knob.

use super::{Workbench, each_call};
use crate::config::{Entry, EntryKind, Format};
use crate::knowledge::{Knob, Target, Type, is_named, plain_name};
use crate::launch::{file_of, without_file};

impl Workbench<'_> {
    /// The job's name for a knob or lever; `None` if the job has no such knob.
    pub(super) fn spelled(&self, name: &str) -> Option<String> {
        let name = name.rsplit_once('/').map_or(name, |(_, knob)| knob);
        let is_named = |knob: &Knob| *knob.id == *name || knob.lever.iter().any(|turn| *turn.name == *name);
        // What is refused because the program cannot have it is no option of it; of a known program that is another matter.
        let is_refused = |knob: &Knob| {
            let mut always = knob.constraint.iter().filter(|row| knob.is_generic() && row.when.is_none());
            always.any(|row| row.unless.as_ref().is_some_and(|unless| self.holds(unless)))
        };
        let is_of_job = |knob: &Knob| {
            knob.constraint.iter().filter_map(|row| row.only.as_ref()).all(|only| self.holds(only)) && !is_refused(knob)
        };
        let is_meant = |knob: &&Knob| is_named(knob) && self.counts(&knob.framework) && is_of_job(knob);
        // Of a lever's knobs first one that holds an amount: what is said of a smaller batch is not said of a switch.
        let is_amount =
            |knob: &&Knob| *knob.id == *name || matches!(knob.r#type, Type::Integer | Type::Number | Type::Size);
        let mut meant = self.launch.knobs().filter(is_meant);
        let first = meant.next()?;
        let knob = std::iter::once(first).chain(meant).find(is_amount).unwrap_or(first);
        self.spelling(knob)
    }

    /// The job's spelling of `knob`: as the user writes it, as the failure names it, or as the framework's version
    /// does.
    pub(super) fn spelling(&self, knob: &Knob) -> Option<String> {
        let name = self.name_in_version(knob)?;
        Some(if self.launch.class_of(knob).is_some() { plain_name(&name) } else { name })
    }

    fn name_in_version(&self, knob: &Knob) -> Option<String> {
        if let Some(name) = each_call::first_name(self.launch, knob) {
            return Some(name);
        }
        let setting = self.launch.setting(knob);
        if let Some(setting) = setting.filter(|_| knob.is_generic() || !knob.holds.is_empty()) {
            return Some(as_written(setting.entry));
        }
        let key = setting.map(|setting| plain_name(without_file(&setting.entry.key)));
        // An argument of a call stands below the call's module: `lightning.Trainer.precision`.
        let in_code = setting.filter(|setting| setting.document.format() == Format::Python).and_then(|setting| {
            let is_it = |name: &&str| {
                !name.starts_with('-') && !name.contains('*') && is_named(name, without_file(&setting.entry.key))
            };
            knob.names().find(is_it)
        });
        let written = key.and_then(|key| knob.names().find(|name| plain_name(name) == key)).or(in_code);
        let of_file = setting.and_then(|setting| {
            let mut own = knob.names().filter_map(|name| Some(file_of(name)?.1));
            own.find(|own| *own == setting.entry.key)
        });
        if let Some(own) = of_file.filter(|_| written.is_none()) {
            return Some(own.to_owned());
        }
        if let Some(written) = written {
            return (!self.is_of_another_version(knob, written)).then(|| written.to_owned());
        }
        // Named with its program, `make -j`, it is shown as it stands there.
        let of_program = setting.filter(|setting| setting.entry.kind == EntryKind::Flag).and_then(|setting| {
            let own = plain_name(&setting.entry.key);
            let mut options = knob.names().filter_map(|name| Some(name.rsplit_once(' ')?.1));
            options.find(|option| plain_name(option) == own)
        });
        if let Some(option) = of_program {
            return Some(option.to_owned());
        }
        if let Some(name) = self.launch.as_variable(knob) {
            return Some(name.to_owned());
        }
        if let Some(name) = self.launch.name_in_section(knob) {
            return Some(name.to_owned());
        }
        // A script without options has the value in its code.
        if let Some((called, script)) = knob.called.as_ref().zip(self.launch.script_without_options()) {
            return Some(format!("{called} in {script}"));
        }
        let version = self.launch.version_of(knob);
        let spelled = match version {
            Some(_) => &*knob.spelling_at(version)?.name,
            None => knob.spelling_for_all()?,
        };
        // If the error message names a variable, this version reads that one.
        let message = self.facts.text("message").unwrap_or_default();
        let is_variable = |name: &&str| name.split('.').next().is_some_and(|base| message.contains(base));
        let is_env = knob.target == Target::Env;
        let named = knob.names().filter(|_| is_env).find(is_variable);
        Some(named.unwrap_or(spelled).to_owned())
    }

    /// Whether the job's version takes other values for the name `written`, which another knob describes.
    fn is_of_another_version(&self, knob: &Knob, written: &str) -> bool {
        let version = self.launch.version_of(knob);
        let is_of_it = |knob: &Knob| knob.spelling_at(version).is_some();
        let mut others = self.launch.knobs_of(&knob.framework).filter(|other| other.id != knob.id);
        version.is_some() && !is_of_it(knob) && others.any(|other| other.knows(written) && is_of_it(other))
    }
}

/// The name of a setting as the user writes it: an option with its dashes.
fn as_written(entry: &Entry) -> String {
    let key = without_file(&entry.key);
    let has = |option: String| entry.at.text.contains(&option);
    let dashes = match entry.kind {
        EntryKind::Flag if key.len() == 1 || has(format!("-{key}")) && !has(format!("--{key}")) => "-",
        EntryKind::Flag => "--",
        _ => "",
    };
    format!("{dashes}{key}")
}
