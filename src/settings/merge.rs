use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::civil::Date;

use super::error::SettingsError;
use super::file::{Color, IgnoreRow, RedactionRow};
use super::find::{Places, Whose};
use super::host::HostFacts;
use super::ignore::Ignore;
use super::origin::{Held, Origin, Row};
use super::pattern::{NamePattern, PathPattern};
use super::read::Layer;
use super::serve::ServeTable;
use super::site::Site;
use crate::knowledge::{Language, Secret};
use crate::triage::FailOn;

/// Variables that name the reader's language where nothing of ours does, by rank.
const LOCALE: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];
/// A reason is a sentence or two, in letters.
const LONGEST_REASON: usize = 500;
/// With fewer signs a fingerprint might be anybody's.
const SHORTEST_KEY: usize = 8;

/// What the command line says of what a file could say, too.
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

/// What holds, and who says so.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The files that were read, those that go before others first.
    pub files: Vec<(Arc<str>, Whose)>,
    /// The reader's language.
    pub language: Held<Language>,
    /// The folder for what is the user's; without it the platform's.
    pub home: Option<Held<PathBuf>>,
    /// When there are colours.
    pub color: Held<Color>,
    /// Files and folders of rules.
    pub rules: Vec<Row<PathBuf>>,
    /// What is never read.
    pub never_read: Vec<Row<PathPattern>>,
    /// What else is secret.
    pub redaction: Vec<Row<Secret>>,
    /// Hosts that are known.
    pub hosts: Vec<Row<HostFacts>>,
    /// What makes `triage` fail.
    pub fail_on: Held<Vec<FailOn>>,
    /// To whom `triage` posts messages.
    pub notify: Option<Held<String>>,
    /// The address of the team's server.
    pub server: Option<Held<String>>,
    /// Where the token for it is.
    pub server_token: Option<Held<PathBuf>>,
    /// How `oomdoc serve` serves.
    pub serve: Option<Held<ServeTable>>,
    /// What is accepted.
    pub ignore: Vec<Row<Ignore>>,
}

impl Settings {
    /// What `flags`, the environment as `variable` tells it and the files in `layers`, those that go before others first, amount to.
    pub fn of(
        layers: &[Layer],
        flags: Flags,
        variable: &dyn Fn(&str) -> Option<OsString>,
        places: &Places,
    ) -> Result<Settings, SettingsError> {
        let environment = Environment { variable };
        let language = flagged(flags.language, "--lang")
            .or_else(|| environment.language(&["OOMDOC_LANG"]))
            .or_else(|| in_files(layers, &["language"], |layer| layer.file.language))
            .or_else(|| environment.language(&LOCALE))
            .unwrap_or_else(|| Held::default_of(Language::default()));
        let of_file = |layer: &Layer| layer.file.home.as_ref().map(|home| from_folder(home, layer, places));
        let home = flagged(flags.home, "--home")
            .or_else(|| environment.path("OOMDOC_HOME"))
            .or_else(|| in_files(layers, &["home"], of_file));
        let color = match (flagged(flags.color, "--color"), environment.read("OOMDOC_COLOR", str::parse)?) {
            (Some(flag), _) => flag,
            (None, Some(variable)) => variable,
            _ => in_files(layers, &["color"], |layer| layer.file.color)
                .unwrap_or_else(|| Held::default_of(Color::default())),
        };
        let words = |list: &str| list.split(',').map(|word| word.trim().parse()).collect::<Result<Vec<FailOn>, _>>();
        let fail_on = environment
            .read("OOMDOC_TRIAGE_FAIL_ON", words)?
            .or_else(|| in_files(layers, &["triage", "fail_on"], |layer| layer.file.triage.fail_on.clone()))
            .unwrap_or_else(|| Held::default_of(vec![FailOn::Never]));
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

    /// What an analysis is told of them, on the machine that is called `machine`.
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

fn flagged<T>(value: Option<T>, flag: &'static str) -> Option<Held<T>> {
    value.map(|value| Held { value, origin: Origin::Flag(flag) })
}

/// The value of the first file that has one.
fn in_files<T>(layers: &[Layer], key: &[&str], value: impl Fn(&Layer) -> Option<T>) -> Option<Held<T>> {
    layers.iter().find_map(|layer| Some(Held { value: value(layer)?, origin: layer.origin(key) }))
}

/// The rows of all files, each as `read` makes it of its row, its file and its key.
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

/// What variables say; an empty one says nothing.
struct Environment<'e> {
    variable: &'e dyn Fn(&str) -> Option<OsString>,
}

impl Environment<'_> {
    fn set(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn path(&self, name: &'static str) -> Option<Held<PathBuf>> {
        self.set(name).map(|path| Held { value: path.into(), origin: Origin::Variable(name) })
    }

    fn text(&self, name: &'static str) -> Option<Held<String>> {
        let value = self.set(name)?.to_string_lossy().into_owned();
        Some(Held { value, origin: Origin::Variable(name) })
    }

    fn read<T>(
        &self,
        name: &'static str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<Held<T>>, SettingsError> {
        let Some(words) = self.set(name) else { return Ok(None) };
        let value = read(&words.to_string_lossy()).map_err(|problem| SettingsError::Variable { name, problem })?;
        Ok(Some(Held { value, origin: Origin::Variable(name) }))
    }

    /// Chinese where the first of `names` that is set says `zh`, however it goes on (`zh_CN.UTF-8`), else English.
    fn language(&self, names: &[&'static str]) -> Option<Held<Language>> {
        let (name, words) = names.iter().find_map(|name| Some((*name, self.set(name)?)))?;
        let is_chinese = words.to_string_lossy().to_ascii_lowercase().starts_with("zh");
        let value = if is_chinese { Language::Zh } else { Language::En };
        Some(Held { value, origin: Origin::Variable(name) })
    }
}

/// `path` as a file names it: from its folder, or from `~`.
fn from_folder(path: &str, layer: &Layer, places: &Places) -> PathBuf {
    places.of_home(path).unwrap_or_else(|| layer.folder().join(path))
}

/// The paths that `row`, at `key`, is about: of a project or a named file from its folder, of the user's own from anywhere.
fn pattern(row: &str, layer: &Layer, key: &[&str], places: &Places) -> Result<PathPattern, SettingsError> {
    let folder = (layer.found.whose != Whose::User).then(|| layer.folder());
    PathPattern::new(row, folder.as_deref(), places.home.as_deref())
        .map_err(|error| layer.wrong(key, error.to_string(), "write a name, `*.pem`, or a path, `secrets/**`"))
}

fn secret(row: &RedactionRow, layer: &Layer, key: &[&str]) -> Result<Secret, SettingsError> {
    Secret::told(&row.name, row.pattern.as_deref(), &row.names)
        .map_err(|problem| layer.wrong(key, problem, "give a name, and a pattern or names: docs/configuration.md"))
}

fn ignore(row: &IgnoreRow, layer: &Layer, key: &[&str], places: &Places) -> Result<Ignore, SettingsError> {
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
            Settings::of(&[], Flags::default(), &variable, &Places::default())
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
