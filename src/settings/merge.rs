use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::civil::Date;

use super::error::SettingsError;
use super::file::{Color, IgnoreRow, RedactionRow};
use super::find::{FileOwner, SearchPaths};
use super::host::HostFacts;
use super::ignore::Ignore;
use super::layer::Layer;
use super::origin::{Origin, Row, Setting};
use super::pattern::{NamePattern, PathPattern};
use super::serve::ServeTable;
use super::site::Site;
use crate::knowledge::{Language, Secret};
use crate::triage::FailOn;

/// Variables with the reader's locale, in order of precedence.
const LOCALE: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];
/// The longest reason in characters.
const LONGEST_REASON: usize = 500;
/// A shorter beginning of a fingerprint could match by chance.
const SHORTEST_KEY: usize = 8;

/// The flags that override settings.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--lang`.
    pub language: Option<Language>,
    /// `--home`.
    pub home: Option<PathBuf>,
    /// `--color`.
    pub color: Option<Color>,
    /// `--server`.
    pub server: Option<String>,
}

/// The effective settings, each with its origin.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The files that were read, in order of precedence.
    pub files: Vec<(Arc<str>, FileOwner)>,
    /// The reader's language.
    pub language: Setting<Language>,
    /// The home folder; by default the platform's.
    pub home: Option<Setting<PathBuf>>,
    /// When output is coloured.
    pub color: Setting<Color>,
    /// Files and folders of rules.
    pub rules: Vec<Row<PathBuf>>,
    /// Files that are never read.
    pub never_read: Vec<Row<PathPattern>>,
    /// Further secrets.
    pub redaction: Vec<Row<Secret>>,
    /// Facts about hosts.
    pub hosts: Vec<Row<HostFacts>>,
    /// The verdicts for which `triage` fails.
    pub fail_on: Setting<Vec<FailOn>>,
    /// The address to which `triage` posts messages.
    pub notify: Option<Setting<String>>,
    /// The address of the team's server.
    pub server: Option<Setting<String>>,
    /// The file with the token for it.
    pub server_token: Option<Setting<PathBuf>>,
    /// Settings of `oomdoc serve`.
    pub serve: Option<Setting<ServeTable>>,
    /// Incidents that are accepted.
    pub ignore: Vec<Row<Ignore>>,
}

impl Settings {
    /// Merges `flags`, the environment (which `variable` looks up) and the files in `layers`, which are in order of
    /// precedence.
    pub fn of(
        layers: &[Layer],
        flags: Flags,
        variable: &dyn Fn(&str) -> Option<OsString>,
        places: &SearchPaths,
    ) -> Result<Settings, SettingsError> {
        let environment = Environment { variable };
        let language = flagged(flags.language, "--lang")
            .or_else(|| environment.language(&["OOMDOC_LANG"]))
            .or_else(|| in_files(layers, &["language"], |layer| layer.file.language))
            .or_else(|| environment.language(&LOCALE))
            .unwrap_or_else(|| Setting::default_of(Language::default()));
        let of_file = |layer: &Layer| layer.file.home.as_ref().map(|home| from_folder(home, layer, places));
        let home = flagged(flags.home, "--home")
            .or_else(|| environment.path("OOMDOC_HOME"))
            .or_else(|| in_files(layers, &["home"], of_file));
        let color = match (flagged(flags.color, "--color"), environment.read("OOMDOC_COLOR", str::parse)?) {
            (Some(flag), _) => flag,
            (None, Some(variable)) => variable,
            _ => in_files(layers, &["color"], |layer| layer.file.color)
                .unwrap_or_else(|| Setting::default_of(Color::default())),
        };
        let words = |list: &str| list.split(',').map(|word| word.trim().parse()).collect::<Result<Vec<FailOn>, _>>();
        let fail_on = environment
            .read("OOMDOC_TRIAGE_FAIL_ON", words)?
            .or_else(|| in_files(layers, &["triage", "fail_on"], |layer| layer.file.triage.fail_on.clone()))
            .unwrap_or_else(|| Setting::default_of(vec![FailOn::Never]));
        let notify = environment
            .text("OOMDOC_TRIAGE_NOTIFY")
            .or_else(|| in_files(layers, &["triage", "notify"], |layer| layer.file.triage.notify.clone()));
        let server = flagged(flags.server, "--server")
            .or_else(|| environment.text("OOMDOC_SERVER"))
            .or_else(|| in_files(layers, &["server", "url"], |layer| layer.file.server.url.clone()));
        let of_file =
            |layer: &Layer| layer.file.server.token_file.as_ref().map(|path| from_folder(path, layer, places));
        let server_token = environment
            .path("OOMDOC_SERVER_TOKEN_FILE")
            .or_else(|| in_files(layers, &["server", "token_file"], of_file));
        Ok(Settings {
            files: layers.iter().map(|layer| (Arc::clone(&layer.found.shown), layer.found.whose)).collect(),
            language,
            home,
            color,
            rules: rows(
                layers,
                "rules",
                |layer| &layer.file.rules,
                |row: &String, layer, key| layer.inside(row, key, places),
            )?,
            never_read: rows(
                layers,
                "never_read",
                |layer| &layer.file.never_read,
                |row: &String, layer, key| pattern(row, layer, key, places),
            )?,
            redaction: rows(layers, "redaction", |layer| &layer.file.redaction, secret)?,
            hosts: rows(
                layers,
                "hosts",
                |layer| &layer.file.hosts,
                |row, layer, key| {
                    let pattern = NamePattern::new(&row.name).map_err(|error| {
                        layer.wrong(&[key, &["name"]].concat(), error.to_string(), "write a host's name: gpu-a100-*")
                    })?;
                    let mut facts = Vec::new();
                    row.facts.iter().for_each(|(name, fact)| fact.flat(name, &mut facts));
                    Ok(HostFacts { name: row.name.clone(), pattern, facts })
                },
            )?,
            fail_on,
            notify,
            server,
            server_token,
            serve: in_files(layers, &["serve"], |layer| layer.file.serve.clone()),
            ignore: rows(
                layers,
                "ignore",
                |layer| &layer.file.ignore,
                |row, layer, key| ignore(row, layer, key, places),
            )?,
        })
    }

    /// What analyses need to know, on the machine called `machine`.
    pub fn site(&self, machine: Option<String>, today: Option<Date>) -> Site {
        Site {
            hosts: self.hosts.iter().map(|known| known.value.clone()).collect(),
            machine,
            never_read: self.never_read.iter().map(|row| (row.value.clone(), row.place.clone())).collect(),
            ignore: self.ignore.iter().map(|row| row.value.clone()).collect(),
            today,
        }
    }
}

fn flagged<T>(value: Option<T>, flag: &'static str) -> Option<Setting<T>> {
    value.map(|value| Setting { value, origin: Origin::Flag(flag) })
}

/// The value in the first file that has one.
fn in_files<T>(layers: &[Layer], key: &[&str], value: impl Fn(&Layer) -> Option<T>) -> Option<Setting<T>> {
    layers.iter().find_map(|layer| Some(Setting { value: value(layer)?, origin: layer.origin(key) }))
}

/// The rows of all files, converted by `read`, which gets the row, its file and its key.
fn rows<'l, R: 'l, T>(
    layers: &'l [Layer],
    key: &str,
    list: impl Fn(&'l Layer) -> &'l Vec<R>,
    read: impl Fn(&'l R, &'l Layer, &[&str]) -> Result<T, SettingsError>,
) -> Result<Vec<Row<T>>, SettingsError> {
    let mut all = Vec::new();
    for layer in layers {
        for (index, row) in list(layer).iter().enumerate() {
            let index = index.to_string();
            let key = [key, index.as_str()];
            all.push(Row { value: read(row, layer, &key)?, place: layer.place(&key) });
        }
    }
    Ok(all)
}

/// The environment; an empty variable counts as unset.
struct Environment<'e> {
    variable: &'e dyn Fn(&str) -> Option<OsString>,
}

impl Environment<'_> {
    fn set(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn path(&self, name: &'static str) -> Option<Setting<PathBuf>> {
        self.set(name).map(|path| Setting { value: path.into(), origin: Origin::Variable(name) })
    }

    fn text(&self, name: &'static str) -> Option<Setting<String>> {
        let value = self.set(name)?.to_string_lossy().into_owned();
        Some(Setting { value, origin: Origin::Variable(name) })
    }

    fn read<T>(
        &self,
        name: &'static str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<Setting<T>>, SettingsError> {
        let Some(words) = self.set(name) else { return Ok(None) };
        let value = read(&words.to_string_lossy()).map_err(|problem| SettingsError::Variable { name, problem })?;
        Ok(Some(Setting { value, origin: Origin::Variable(name) }))
    }

    /// Chinese if the first of `names` that is set begins with `zh` (`zh_CN.UTF-8`), else English.
    fn language(&self, names: &[&'static str]) -> Option<Setting<Language>> {
        let (name, words) = names.iter().find_map(|name| Some((*name, self.set(name)?)))?;
        let is_chinese = words.to_string_lossy().to_ascii_lowercase().starts_with("zh");
        let value = if is_chinese { Language::Zh } else { Language::En };
        Some(Setting { value, origin: Origin::Variable(name) })
    }
}

/// Resolves a path in a file: relative to the file's folder, or below `~`.
fn from_folder(path: &str, layer: &Layer, places: &SearchPaths) -> PathBuf {
    places.of_home(path).unwrap_or_else(|| layer.folder().join(path))
}

/// A path pattern in the row at `key`. In the user's own file it applies to any folder, in others only below the
/// file's.
fn pattern(row: &str, layer: &Layer, key: &[&str], places: &SearchPaths) -> Result<PathPattern, SettingsError> {
    let folder = (layer.found.whose != FileOwner::User).then(|| layer.folder());
    PathPattern::new(row, folder.as_deref(), places.home.as_deref())
        .map_err(|error| layer.wrong(key, error.to_string(), "write a name, `*.pem`, or a path, `secrets/**`"))
}

fn secret(row: &RedactionRow, layer: &Layer, key: &[&str]) -> Result<Secret, SettingsError> {
    Secret::told(&row.name, row.pattern.as_deref(), &row.names)
        .map_err(|problem| layer.wrong(key, problem, "give a name, and a pattern or names: docs/configuration.md"))
}

fn ignore(row: &IgnoreRow, layer: &Layer, key: &[&str], places: &SearchPaths) -> Result<Ignore, SettingsError> {
    let IgnoreRow { fingerprint, cause, kind, path, until, reason } = row;
    let wrong = |name: &str, problem: &str, advice: &str| {
        Err(layer.wrong(&[key, &[name]].concat(), problem.to_owned(), advice.to_owned()))
    };
    let reason = reason.trim();
    if reason.is_empty() || reason.chars().count() > LONGEST_REASON {
        return wrong("reason", "a reason has 1 to 500 letters", "say why the incident is accepted");
    }
    if fingerprint.is_none() && cause.is_none() && kind.is_none() && path.is_none() {
        return wrong("reason", "this row would ignore every incident", "add a fingerprint, cause, kind or path");
    }
    if fingerprint.as_ref().is_some_and(|key| key.len() < SHORTEST_KEY) {
        return wrong("fingerprint", "a fingerprint has eight signs or more", "copy it from the report in JSON");
    }
    let path = path.as_ref().map(|row| pattern(row, layer, &[key, &["path"]].concat(), places)).transpose()?;
    Ok(Ignore {
        fingerprint: fingerprint.clone(),
        cause: cause.clone(),
        kind: *kind,
        path,
        until: *until,
        reason: reason.to_owned(),
        by: layer.place(key).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_s_locale_decides_where_nothing_else_does() -> Result<(), SettingsError> {
        let of = |variables: &[(&str, &str)]| {
            let variable =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            Settings::of(&[], Flags::default(), &variable, &SearchPaths::default())
        };
        for (variables, language) in [
            (&[][..], Language::En),
            (&[("LANG", "zh_CN.UTF-8")][..], Language::Zh),
            (&[("LANG", "de_DE.UTF-8")][..], Language::En),
            (&[("LC_ALL", "C"), ("LANG", "zh_CN.UTF-8")][..], Language::En),
            (&[("LC_ALL", ""), ("LC_MESSAGES", "zh_TW"), ("LANG", "en_US")][..], Language::Zh),
            (&[("OOMDOC_LANG", "en"), ("LC_ALL", "zh_CN.UTF-8")][..], Language::En),
            (&[("OOMDOC_LANG", "zh"), ("LC_ALL", "C")][..], Language::Zh),
        ] {
            assert_eq!(of(variables)?.language.value, language, "{variables:?}");
        }
        Ok(())
    }
}
