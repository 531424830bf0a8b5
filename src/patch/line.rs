//! The line to type or to write if no given file sets the knob.

use super::{container, loading};
use crate::config::{Command, EntryKind, Format, is_collection, python_dictionary, shell_word};
use crate::knowledge::{Knob, Launchers, Target};
use crate::launch::JobConfig;
use crate::model::Scalar;

/// The line that sets `knob` to `to`, ready to be pasted beside similar ones.
pub(super) fn line(launch: &JobConfig<'_>, knob: &Knob, spelling: &str, to: &Scalar) -> String {
    if let Some(line) = &knob.line {
        let line = line.replace("{to}", &to.to_string());
        return loading::as_loaded(launch, &line).unwrap_or(line);
    }
    match knob.target {
        Target::Env => prefixed(launch, spelling, to)
            .or_else(|| container::lines(launch, spelling, to))
            .unwrap_or_else(|| export(launch, spelling, to)),
        Target::Cli => match launch.class_of(knob) {
            Some(class) => format!("{class}(…, {spelling}={})", argument(to)),
            // A key of what the program printed is no option of it.
            None if is_only_printed(launch, knob) => format!("# {spelling}: {to}"),
            // Words, where the program takes no options.
            None if knob.called.is_some() && spelling.contains(' ') => format!("# {spelling}: {to}"),
            None if launch.as_variable(knob) == Some(spelling) => {
                container::lines(launch, spelling, to).unwrap_or_else(|| export(launch, spelling, to))
            }
            None => flag(launch, spelling, to),
        },
        Target::Yaml if launch.takes_overrides(knob) => format!("{spelling}={}", in_words(to)),
        Target::Yaml => nested(spelling, to),
        Target::Json => serde_json::to_string(&in_sections(spelling, to)).unwrap_or_default(),
        Target::Python => format!("{spelling} = {}", python(to)),
        Target::System => format!("{spelling}={to}"),
    }
}

/// Whether a generic knob is known only as a key of a configuration that the job printed.
fn is_only_printed(launch: &JobConfig<'_>, knob: &Knob) -> bool {
    let setting = launch.setting(knob).filter(|_| knob.is_generic());
    setting.is_some_and(|setting| !setting.is_own() && setting.entry.kind == EntryKind::Setting)
}

/// `NAME=value program …`, if a script sets the variable for that one program: what it exports has no effect there.
fn prefixed(launch: &JobConfig<'_>, spelling: &str, to: &Scalar) -> Option<String> {
    launch.documents().iter().filter(|document| document.format() == Format::Shell).find_map(|document| {
        let set = document.entries().iter().find(|entry| entry.kind == EntryKind::Env && entry.key == spelling)?;
        let place = &set.at.location;
        let line = document.text().lines().nth(usize::try_from(place.line.0.checked_sub(1)?).ok()?)?;
        let of_line = |command: &&Command| command.at.line == place.line && !line.contains("export ");
        let command = document.commands().iter().find(of_line)?;
        Some(format!("{spelling}={} {} …", in_words(to), command.typed()))
    })
}

/// `export NAME=value`
fn export(launch: &JobConfig<'_>, spelling: &str, to: &Scalar) -> String {
    match spelling.contains('.') {
        true => {
            let (name, value) = assigned(launch, spelling, to);
            format!("export {name}={value}")
        }
        false => format!("export {spelling}={}", in_words(to)),
    }
}

/// A variable and its value. An option within a variable is appended to those that are set: `expandable_segments:True`.
pub(super) fn assigned<'s>(launch: &JobConfig<'_>, spelling: &'s str, to: &Scalar) -> (&'s str, String) {
    let Some((name, option)) = spelling.split_once('.') else { return (spelling, to.to_string()) };
    let is_it = |key: &str| key == name || key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    let entries = launch.documents().iter().flat_map(|document| document.entries());
    let others = entries.filter(|entry| entry.kind == EntryKind::Env && is_it(&entry.key));
    let mut options: Vec<String> = Vec::new();
    for entry in others {
        let (own, value) = (entry.key.strip_prefix(name).unwrap_or_default(), in_python(&entry.value.to_string()));
        let own = own.trim_start_matches('.');
        if !own.is_empty() && own != option {
            options.push(format!("{own}:{value}"));
        }
    }
    options.dedup();
    options.push(format!("{option}:{}", python(to)));
    (name, options.join(","))
}

/// The option, behind the command if a log or a script shows it.
fn flag(launch: &JobConfig<'_>, spelling: &str, to: &Scalar) -> String {
    let dashed = if spelling.starts_with('-') { spelling.to_owned() } else { format!("--{spelling}") };
    let option = match to {
        Scalar::Flag(true) => dashed,
        Scalar::Flag(false) => return format!("# without {dashed}"),
        // A shell takes quotation marks and braces for its own.
        Scalar::Text(words) if is_collection(words) => format!("{dashed} {}", shell_word(words)),
        to => format!("{dashed} {to}"),
    };
    match launch.command() {
        Some(command) => format!("{command} … {option}"),
        None => option,
    }
}

/// `a.b: 3` as nested keys.
fn nested(spelling: &str, to: &Scalar) -> String {
    let steps: Vec<&str> = spelling.split('.').collect();
    let indented = steps.iter().enumerate().map(|(depth, step)| format!("{}{step}:", "  ".repeat(depth)));
    // A list or a mapping is not quoted.
    let words = to.to_string();
    let value = if words.starts_with(['[', '{']) { words } else { in_words(to) };
    format!("{} {value}", indented.collect::<Vec<_>>().join("\n"))
}

fn in_sections(spelling: &str, to: &Scalar) -> serde_json::Value {
    let value = serde_json::to_value(to).unwrap_or_default();
    spelling
        .rsplit('.')
        .fold(value, |inner, step| serde_json::Value::Object([(step.to_owned(), inner)].into_iter().collect()))
}

/// Quoted if a shell would interpret it.
fn in_words(to: &Scalar) -> String {
    let words = to.to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "._-/:+,%=".contains(c);
    if words.chars().all(is_plain) { words } else { format!("'{words}'") }
}

/// The value in Python's notation.
fn python(to: &Scalar) -> String {
    match to {
        Scalar::Flag(flag) => in_python(&flag.to_string()),
        to => to.to_string(),
    }
}

/// A value as Python's code has it.
fn argument(to: &Scalar) -> String {
    match to {
        Scalar::Text(words) => python_dictionary(words).unwrap_or_else(|| format!("{words:?}")),
        to => python(to),
    }
}

fn in_python(words: &str) -> String {
    match words {
        "true" => "True".to_owned(),
        "false" => "False".to_owned(),
        words => words.to_owned(),
    }
}

impl JobConfig<'_> {
    /// The command that starts the job, if a script or a log shows it: `deepspeed train.py`.
    fn command(&self) -> Option<String> {
        let scripts =
            self.documents().iter().filter(|document| matches!(document.format(), Format::Shell | Format::Log));
        let mut commands = scripts.flat_map(|document| document.commands());
        let programs = &Launchers::shipped().programs;
        commands.find(|command| programs.is_of_jobs(&command.program)).map(Command::typed)
    }

    /// Whether the command line overrides keys in the same top section as the knob.
    fn takes_overrides(&self, knob: &Knob) -> bool {
        let is_override = |key: &str| knob.names().any(|name| name.split('.').next() == key.split('.').next());
        let entries = self.documents().iter().flat_map(|document| document.entries());
        entries.into_iter().any(|entry| entry.kind == EntryKind::Override && is_override(&entry.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_not_quoted_in_yaml() {
        let list = Scalar::Text("['model']".to_owned());
        assert_eq!(nested("checkpoint.save_contents", &list), "checkpoint:\n  save_contents: ['model']");
        assert_eq!(nested("a.b", &Scalar::Text("x: y".to_owned())), "a:\n  b: 'x: y'");
    }
}
