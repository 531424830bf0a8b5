//! Finds where a knob is set or could be set, and makes the edits that set it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::config::{self, Command, Document, Entry, EntryKind, Format, Value};
use crate::knowledge::{CodeWords, Knob, Launchers, Target, plain_name};
use crate::launch::{JobConfig, Setting};
use crate::model::{Edit, Given, Scalar};

/// The value of a setting that goes.
pub(super) const REMOVED: &str = "(removed)";

/// Whether `knob` is a call behind what code keeps from step to step: `tensor.detach()`.
pub(super) fn changes_what_is_kept(knob: &Knob) -> bool {
    let mut methods = knob.names().filter_map(|name| name.strip_suffix("()")?.rsplit('.').next());
    methods.any(|method| CodeWords::shipped().call(method).is_some_and(|row| row.of_kept))
}

/// Whether a setting goes.
pub(super) fn is_removal(to: &Scalar) -> bool {
    matches!(to, Scalar::Text(words) if words == REMOVED)
}

/// The edit that sets `knob` to `to`, where it is set already, else in a configuration of its framework. `None` if
/// there is no such file, or if only the user knows the value.
pub(super) fn edit(
    launch: &JobConfig<'_>,
    knob: &Knob,
    spelling: &str,
    setting: Option<Setting<'_>>,
    to: &Scalar,
    roles: [Option<&str>; 2],
) -> Option<Edit> {
    // A value of several words that the program knows is one value all the same: `full_shard auto_wrap`.
    let is_known = matches!(to, Scalar::Text(words) if knob.means.contains_key(words));
    if is_open(to) && !is_known || is_object(knob, spelling, to) {
        return None;
    }
    let setting = setting.filter(Setting::is_own).map(|setting| launch.variable_behind(setting).unwrap_or(setting));
    if let Some(Setting { document, entry }) = setting {
        let file = document.path().clone();
        let (key, to) = (entry.key.clone(), to.clone());
        // What a name in code is given is a setting of the code.
        let is_code = document.format() == Format::Python && entry.kind == EntryKind::Variable;
        let given = match is_code {
            _ if is_removal(&to) => Given::Removed,
            true => Given::Setting,
            false if document.holds_variables() => Given::Env,
            false => given(entry.kind)?,
        };
        let edit = Edit { file, key, to, given, command: entry.command };
        let text = applied(document, std::slice::from_ref(&edit))?;
        // A path that the file names elsewhere, too, is written by one command and read by another.
        let is_left =
            !knob.holds.is_empty() && text.replace(&edit.to.to_string(), "").contains(&entry.value.to_string());
        return (!is_left).then_some(edit);
    }
    // What is an argument of the code's class is no option of the command that starts the code.
    let is_of_code = launch.class_of(knob).is_some();
    let is_meant = |document: &&Document| !is_of_code || document.format() == Format::Python;
    let documents = launch
        .documents()
        .iter()
        .filter(|document| launch.takes(document, knob))
        .filter(is_meant)
        .filter(|_| !is_removal(to));
    let edits = documents.filter_map(|document| {
        let given = match (document.format(), knob.target) {
            (Format::Shell | Format::Ini, Target::Env) => Given::Env,
            (Format::Shell, Target::Yaml) => Given::Override,
            (Format::Shell | Format::Ini, _) | (Format::Yaml | Format::Python, Target::Cli) => Given::Flag,
            _ => Given::Setting,
        };
        let (file, key) = (document.path().clone(), key_in(launch, document, knob, spelling));
        // Of several programs that a file starts, the one that has other options of the knob's framework.
        let is_meant = |number: &usize| {
            let mut own = document.entries().iter().filter(|entry| entry.command == Some(*number));
            own.any(|entry| launch.knobs_of(&knob.framework).any(|known| known.knows(&entry.key)))
        };
        let is_listed = matches!(document.format(), Format::Yaml | Format::Ini) && given == Given::Flag;
        let failed = launch.failed_command(document).filter(|_| given == Given::Flag);
        let of_script = || {
            let is_flag = document.format() == Format::Shell && given == Given::Flag;
            script_behind(document).filter(|_| is_flag && !Launchers::shipped().has_options_of(&knob.framework))
        };
        let command = failed.or_else(|| (0..document.commands().len()).filter(|_| is_listed).find(is_meant));
        let command = command.or_else(of_script);
        (!is_listed || command.is_some()).then(|| (document, Edit { file, key, to: to.clone(), given, command }))
    });
    let is_possible = |(document, edit): &(&Document, Edit)| can_be_made(document, std::slice::from_ref(edit));
    // Words that tell people what to do are no key that anything reads.
    let is_key = |(document, edit): &(&Document, Edit)| is_key(document.format(), &edit.key);
    let in_its_configuration = edits.filter(is_key).find(is_possible);
    let of_launcher = || of_launcher(launch, knob, spelling, to).find(is_possible);
    let of_part = || of_part(launch, knob, to, roles).find(is_possible);
    let of_chart = || of_chart(launch, knob, to).find(is_possible);
    let of_options = || of_options(launch, knob, spelling, to).find(is_possible);
    let made = in_its_configuration.or_else(of_launcher).or_else(of_part).or_else(of_chart).or_else(of_options);
    made.map(|(_, edit)| edit)
}

/// Whether a program may read `key` from a file of this format: `zero_optimization.stage`, not `optimizer states on NVMe` or
/// `torch.no_grad()`. Code is edited where it has the call; within an option's value there are names as well: `--model_args dtype`.
fn is_key(format: Format, key: &str) -> bool {
    let is_name = |word: &str| !word.contains(|c: char| c.is_whitespace() || "()<>'\"".contains(c));
    let is_of_option = || key.starts_with('-') && key.split(' ').count() == 2 && key.split(' ').all(is_name);
    format == Format::Python || is_name(key) || is_of_option()
}

/// The script that the main command of `document` starts, if that command is a launcher: what stands behind the script is the script's.
fn script_behind(document: &Document) -> Option<usize> {
    let (main, commands) = (document.main_command()?, document.commands());
    let launcher = commands.get(main)?;
    let runs_script = |command: &Command| command.target.as_deref().is_some_and(|target| target.ends_with(".py"));
    let behind = (main + 1..commands.len()).take_while(|at| commands[*at].at == launcher.at);
    behind.filter(|at| runs_script(&commands[*at])).find(|_| !runs_script(launcher))
}

/// The edits that give `knob`, an option, to the section of a chart's values in which the program's other options stand:
/// `modelSpec[0].vllmConfig.maxModelLen`. Of several such sections none is known to be meant.
fn of_chart<'a>(
    launch: &'a JobConfig<'_>,
    knob: &'a Knob,
    to: &'a Scalar,
) -> impl Iterator<Item = (&'a Document, Edit)> {
    let names = knob.names().filter(|name| knob.target == Target::Cli && !name.contains([' ', '*']));
    let within: Vec<(&str, &str)> = names.filter_map(|name| name.rsplit_once('.')).collect();
    let documents = launch.documents().iter().filter(|document| document.format() == Format::Yaml);
    documents.filter_map(move |document| {
        let settings = || document.entries().iter().filter(|entry| entry.kind == EntryKind::Setting);
        within.iter().find_map(|(section, name)| {
            let ends = |above: &&str| *above == *section || above.ends_with(&format!(".{section}"));
            let above = |entry: &'a Entry| Some(entry.key.rsplit_once('.')?.0).filter(ends);
            let sections: BTreeSet<&str> = settings().filter_map(above).collect();
            let section = sections.first().filter(|_| sections.len() == 1)?;
            let (file, key) = (document.path().clone(), format!("{section}.{name}"));
            Some((document, Edit { file, key, to: to.clone(), given: Given::Setting, command: None }))
        })
    })
}

/// The edits that give `knob`, an option, to a file in which several options of its program stand under their own names:
/// `per_device_train_batch_size: 8`.
fn of_options<'a>(
    launch: &'a JobConfig<'_>,
    knob: &'a Knob,
    spelling: &'a str,
    to: &'a Scalar,
) -> impl Iterator<Item = (&'a Document, Edit)> {
    const FEWEST: usize = 2;
    let of_command = knob.target == Target::Cli && !knob.is_generic() && !spelling.contains(['.', ' ', '*']);
    let documents = launch.documents().iter().filter(move |document| of_command && document.format() == Format::Yaml);
    documents.filter_map(move |document| {
        let is_option = |entry: &&Entry| {
            let mut known = launch.knobs_of(&knob.framework).filter(|known| known.target == Target::Cli);
            entry.kind == EntryKind::Setting
                && !entry.key.contains(['.', '['])
                && known.any(|known| known.knows(&entry.key))
        };
        let has_options = document.entries().iter().filter(is_option).nth(FEWEST - 1).is_some();
        let (file, key) = (document.path().clone(), plain_name(spelling));
        has_options.then(|| (document, Edit { file, key, to: to.clone(), given: Given::Setting, command: None }))
    })
}

/// The edits that give `knob` to the part of a file that it belongs to, `services.*.shm_size`: the part that is called like the process
/// that failed, else the only one.
fn of_part<'a>(
    launch: &'a JobConfig<'_>,
    knob: &'a Knob,
    to: &'a Scalar,
    roles: [Option<&'a str>; 2],
) -> impl Iterator<Item = (&'a Document, Edit)> {
    let within = knob.names().find_map(|name| name.split_once(".*."));
    let documents = launch.documents().iter().filter(|document| document.format() == Format::Yaml);
    documents.filter_map(move |document| {
        let (above, key) = within?;
        let below = |entry: &'a Entry| entry.key.strip_prefix(above)?.strip_prefix('.')?.split('.').next();
        let parts: BTreeSet<&str> = document.entries().iter().filter_map(below).collect();
        // Compose numbers the containers of a service.
        let unnumbered = |role: &'a str| role.trim_end_matches(|c: char| c.is_ascii_digit() || "-_".contains(c));
        let named =
            roles.iter().copied().flatten().find_map(|role| parts.get(role).or_else(|| parts.get(unnumbered(role))));
        let part = named.or_else(|| parts.first().filter(|_| parts.len() == 1))?;
        let (file, key) = (document.path().clone(), format!("{above}.{part}.{key}"));
        Some((document, Edit { file, key, to: to.clone(), given: Given::Setting, command: None }))
    })
}

/// Whether `edits`, applied in turn, are possible in `document` and change it.
pub(super) fn can_be_made(document: &Document, edits: &[Edit]) -> bool {
    applied(document, edits).is_some()
}

/// The key for `knob` in `document`. In TOML it has no dashes; of the knob's names, the one with the most existing
/// sections is taken.
fn key_in(launch: &JobConfig<'_>, document: &Document, knob: &Knob, spelling: &str) -> String {
    match document.format() {
        Format::Toml => {}
        // An argument of the class that takes the framework's options.
        Format::Python if knob.target == Target::Cli => {
            let class = launch.class_with(document, knob).unwrap_or_default();
            return format!("{class}:{}", plain_name(spelling));
        }
        // An option of a container's program.
        Format::Yaml | Format::Ini if knob.target == Target::Cli => return spelling.trim_start_matches('-').to_owned(),
        _ => return spelling.to_owned(),
    }
    let names = std::iter::once(spelling).chain(knob.names()).map(plain_name);
    names.min_by_key(|name| Reverse(document.reaches(name))).unwrap_or_default()
}

/// The edits that give `knob`, an option of the program that starts the job, to that program in a script. The knob's
/// line names the command, `docker run --shm-size={to} …` or `spark-submit --conf a.b={to} …`, or begins like a scheduler's
/// directive, `#SBATCH --mem={to}`.
fn of_launcher<'a>(
    launch: &'a JobConfig<'_>,
    knob: &'a Knob,
    spelling: &'a str,
    to: &'a Scalar,
) -> impl Iterator<Item = (&'a Document, Edit)> {
    let line = knob.line.as_deref().filter(|_| knob.target == Target::System);
    let command = line.and_then(|line| Some(line.split_once(spelling)?.0.trim())).filter(|words| !words.is_empty());
    let scripts = launch.documents().iter().filter(|document| document.format() == Format::Shell);
    command.into_iter().flat_map(move |words| {
        let pairs = words.split_once(' ').filter(|(program, option)| {
            Launchers::shipped().option_for_pairs(program).is_some_and(|known| known == *option)
        });
        scripts.clone().filter_map(move |document| {
            let is_it = |command: &Command| match pairs {
                Some((program, _)) => command.program == program,
                None => command.typed() == words,
            };
            let (given, command) = match document.commands().iter().position(is_it) {
                Some(command) if pairs.is_some() => (Given::Override, Some(command)),
                Some(command) => (Given::Flag, Some(command)),
                None if document.scheduler().is_some_and(|scheduler| *scheduler.mark == *words) => {
                    (Given::Directive, None)
                }
                None => return None,
            };
            let (file, key) = (document.path().clone(), spelling.to_owned());
            Some((document, Edit { file, key, to: to.clone(), given, command }))
        })
    })
}

/// Repeats `edit` for the other commands of the script that run the same program with the same value: a job started
/// twice, on two GPUs or nodes, must be changed twice.
pub(super) fn alike(launch: &JobConfig<'_>, edit: &Edit) -> Vec<Edit> {
    let Some(document) = launch.documents().iter().find(|document| *document.path() == edit.file) else {
        return Vec::new();
    };
    // Of several, the one that failed is known.
    if launch.failed_command(document).is_some() {
        return Vec::new();
    }
    let commands = document.commands();
    let entry = |number: usize| {
        let own = document.entries().iter().filter(move |entry| entry.command == Some(number));
        own.into_iter().find(|entry| entry.key == edit.key && entry.kind == kind(edit.given))
    };
    let Some((own, value)) = edit.command.and_then(|own| Some((own, &entry(own)?.value))) else { return Vec::new() };
    let runs = |number: usize| commands.get(number).map(Command::typed);
    let others = (0..commands.len()).filter(|number| *number != own && runs(*number) == runs(own));
    let is_alike = |number: &usize| entry(*number).is_some_and(|entry| entry.value == *value);
    others.filter(is_alike).map(|number| Edit { command: Some(number), ..edit.clone() }).collect()
}

/// The test in a launch script that decides whether one of `edits` takes effect, if its outcome depends on how the
/// script is launched.
pub(super) fn choice(launch: &JobConfig<'_>, edits: &[Edit]) -> Option<String> {
    edits.iter().find_map(|edit| {
        let document = launch.documents().iter().find(|document| *document.path() == edit.file)?;
        let line = document.choice(kind(edit.given), edit.command, &edit.key)?;
        Some(format!("{}:{}", edit.file, line.0))
    })
}

/// The diff of all files that `edits` change; `None` if an edit is impossible.
pub(super) fn diff(launch: &JobConfig<'_>, edits: &[Edit]) -> Option<String> {
    let mut diff = String::new();
    for document in launch.documents() {
        let own: Vec<Edit> = edits.iter().filter(|edit| edit.file == *document.path()).cloned().collect();
        if !own.is_empty() {
            diff += &config::diff(document.path(), document.text(), &applied(document, &own)?);
        }
    }
    (!diff.is_empty()).then_some(diff)
}

/// The text of `document` after applying `edits` in turn; `None` if one is impossible or nothing changes.
fn applied(document: &Document, edits: &[Edit]) -> Option<String> {
    apply(document.format(), document.path(), document.text(), edits).filter(|text| text != document.text())
}

/// The `text` of the file `path` after applying `edits` in turn; `None` if one is impossible.
pub fn apply(format: Format, path: &str, text: &str, edits: &[Edit]) -> Option<String> {
    let mut text = text.to_owned();
    for Edit { key, to, given, command, .. } in edits {
        let document = Document::read_as(format, path, &text).ok()?;
        if *given == Given::Removed {
            text = document.without(key).ok()?;
            continue;
        }
        if *given == Given::Launcher {
            text = document.relaunched((*command)?, &to.to_string())?;
            continue;
        }
        let value = value(to);
        text = document.set_as(kind(*given), *command, key, &value).ok()?;
    }
    Some(text)
}

/// Whether only the user knows the value.
pub(super) fn is_open(to: &Scalar) -> bool {
    matches!(to, Scalar::Text(words) if words.contains(['<', ' ']) && !config::is_collection(words) && !config::is_function(words))
}

/// Whether `to` is only the name of what code must make there, by the knob's line: `quantization_config=BitsAndBytesConfig(…)`.
fn is_object(knob: &Knob, spelling: &str, to: &Scalar) -> bool {
    let Some(line) = knob.line.as_deref().filter(|_| knob.target == Target::Python) else { return false };
    let argument = spelling.rsplit('.').next().unwrap_or(spelling);
    let made = line.split_once(&format!("{argument}=")).map(|(_, made)| made);
    let class = made.and_then(|made| made.split_once('(')).map(|(class, _)| class);
    let is_class = class.is_some_and(|class| {
        class.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && class.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
    });
    is_class && !matches!(to, Scalar::Text(words) if config::is_function(words))
}

fn value(to: &Scalar) -> Value {
    match to {
        Scalar::Flag(flag) => Value::Bool(*flag),
        Scalar::Integer(number) => Value::Number(*number as f64),
        Scalar::Number(number) => Value::Number(*number),
        Scalar::Text(words) => Value::Text(words.clone()),
    }
}

fn kind(given: Given) -> EntryKind {
    match given {
        Given::Setting | Given::Removed | Given::Launcher => EntryKind::Setting,
        Given::Flag => EntryKind::Flag,
        Given::Override => EntryKind::Override,
        Given::Env => EntryKind::Env,
        Given::Directive => EntryKind::Directive,
    }
}

/// How a setting of this kind is given. `None` for a script's variable, which does not reach the processes that it
/// starts.
pub(super) fn given(kind: EntryKind) -> Option<Given> {
    Some(match kind {
        EntryKind::Setting => Given::Setting,
        EntryKind::Flag => Given::Flag,
        EntryKind::Override => Given::Override,
        EntryKind::Env => Given::Env,
        EntryKind::Directive => Given::Directive,
        EntryKind::Variable => return None,
    })
}
