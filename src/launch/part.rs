//! Chooses, of several containers, services or commands that a file starts, the one that failed.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::config::{Command, Document, Entry, EntryKind, Format, Value};
use crate::knowledge::{CodeWords, last_step};
use crate::model::{Bytes, Frame, Location};
use crate::parse::granted;

/// What the logs tell of the part that failed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failed<'f> {
    /// The name of the container or service.
    pub name: Option<&'f str>,
    /// The memory limit that was hit.
    pub limit: Option<Bytes>,
    /// The model that it worked with.
    pub model: Option<&'f str>,
    /// The log in which it failed, as citations name it.
    pub log: Option<&'f str>,
    /// What the process that held most is called: `ReadFiles->MapBatches(decode)`.
    pub task: Option<&'f str>,
    /// Its stack.
    pub frames: &'f [Frame],
}

/// `files` without code of others: of several files with code, those count that the stack in `frames` or a command names; if none is named,
/// the only one that gives a framework options. What an option of the program decides does not count if a command gives that option.
pub fn of_job<'f>(mut files: Vec<Document>, frames: impl Iterator<Item = &'f str>) -> Vec<Document> {
    // `gunicorn.conf.py` is no code of the job's: a server reads it, whatever it runs.
    let is_code = |document: &Document| document.format() == Format::Python && !document.path().ends_with(".conf.py");
    if !files.iter().any(is_code) {
        return files;
    }
    let started =
        files.iter().flat_map(Document::commands).flat_map(|command| command.target.iter().chain(&command.operands));
    let mut named: HashSet<String> = started.filter_map(|path| name(path)).map(str::to_owned).collect();
    named.extend(frames.filter_map(name).map(str::to_owned));
    let is_named = |document: &&Document| name(document.path()).is_some_and(|name| named.contains(name));
    let codes: Vec<&Document> = files.iter().filter(|document| is_code(document)).collect();
    let of_stack: Vec<&Document> = codes.iter().copied().filter(is_named).collect();
    let with_options: Vec<&Document> =
        codes.iter().copied().filter(|document| !document.commands().is_empty()).collect();
    let mut counts = match (of_stack.as_slice(), codes.as_slice(), with_options.as_slice()) {
        ([], [_], _) => codes,
        ([], _, [_]) => with_options,
        _ => of_stack,
    };
    // A data set runs in workers, whose stacks nobody sees.
    let imported: HashSet<&str> = counts.iter().flat_map(|document| document.imports()).collect();
    let is_imported = |document: &&Document| stem(document.path()).is_some_and(|name| imported.contains(name));
    counts.extend(files.iter().filter(|document| document.holds_data()).filter(is_imported));
    let kept: HashSet<Arc<str>> = counts.into_iter().map(|document| document.path().clone()).collect();
    files.retain(|document| !is_code(document) || kept.contains(document.path()));
    let starts = |document: &&Document| matches!(document.format(), Format::Shell | Format::Ini | Format::Yaml);
    let given = files.iter().filter(starts).flat_map(Document::entries);
    let given: HashSet<String> =
        given.filter(|entry| entry.kind == EntryKind::Flag).map(|entry| entry.key.replace('-', "_")).collect();
    files.iter_mut().for_each(|document| document.leave_out(|option| given.contains(option)));
    files
}

/// A file's name without its folder.
pub(super) fn name(path: &str) -> Option<&str> {
    path.rsplit(['/', '\\', ':']).next().filter(|name| !name.is_empty())
}

/// The documents of others, by their indices: of several scripts that start the same program, as of prefill and decode servers, all but
/// the one that the failing log shows.
pub(super) fn of_others(documents: &[Document], failed: &Failed<'_>) -> HashSet<usize> {
    let Some(log) = failed.log else { return HashSet::new() };
    let program = |document: &Document| {
        let is_script = document.format() == Format::Shell;
        let main = document.main_command().filter(|_| is_script);
        main.and_then(|main| Some(document.commands().get(main)?.typed()))
    };
    let programs: Vec<Option<String>> = documents.iter().map(program).collect();
    let twin =
        |program: &&Option<String>| program.is_some() && programs.iter().filter(|own| own == program).count() > 1;
    let Some(program) = programs.iter().find(twin) else { return HashSet::new() };
    let twins: Vec<usize> = (0..documents.len()).filter(|index| programs[*index] == *program).collect();
    let is_printed = |document: &&Document| document.format() == Format::Log && &**document.path() == log;
    let printed: Vec<&Entry> = documents.iter().filter(is_printed).flat_map(Document::entries).collect();
    let contradictions: Vec<usize> = twins.iter().map(|twin| contradictions(&documents[*twin], &printed)).collect();
    let least = contradictions.iter().min().copied().unwrap_or_default();
    let by_settings = || twins.iter().zip(&contradictions).filter(|(_, own)| **own == least).map(|(twin, _)| *twin);
    let by_name = || by_settings().filter(|twin| stem(documents[*twin].path()) == stem(log));
    let Some(own) = only(by_settings()).or_else(|| only(by_name())) else { return HashSet::new() };
    let is_other = |(index, document): &(usize, &Document)| match document.format() {
        Format::Log => &**document.path() != log,
        _ => *index != own && twins.contains(index),
    };
    documents.iter().enumerate().filter(is_other).map(|(index, _)| index).collect()
}

/// How many settings of `document` have another value where they were printed.
fn contradictions(document: &Document, printed: &[&Entry]) -> usize {
    let name = |entry: &Entry| last_step(&entry.key).replace('-', "_");
    let differs = |own: &&Entry| {
        let same = printed.iter().filter(|entry| name(entry) == name(own));
        let mut values = same.map(|entry| entry.value.to_string()).peekable();
        values.peek().is_some() && values.all(|value| value != own.value.to_string())
    };
    document.entries().iter().filter(differs).count()
}

/// The only one.
fn only(mut all: impl Iterator<Item = usize>) -> Option<usize> {
    all.next().filter(|_| all.next().is_none())
}

/// A file's name without its folder and ending.
fn stem(path: &str) -> Option<&str> {
    Path::new(path).file_stem()?.to_str()
}

/// The part of a file that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// The command that failed, as far as the logs tell: its own settings count, and those that it lacks are added to it.
    pub command: Option<usize>,
    /// Whether the logs show that it failed; else it is only the likeliest.
    pub has_failed: bool,
    /// The indices of the entries that belong to others.
    others: HashSet<usize>,
    /// The indices of the commands that belong to others.
    other_commands: HashSet<usize>,
}

impl Part {
    /// The part of `document` that `failed` describes, else the likeliest. `None` if it has no more than one, or if none of them stands out.
    pub fn of(document: &Document, failed: &Failed<'_>) -> Option<Part> {
        match document.format() {
            Format::Yaml => Part::of_containers(document, failed),
            Format::Shell => Part::of_commands(document, failed).or_else(|| Part::of_scripts(document, failed)),
            Format::Python => Part::of_functions(document, failed),
            _ => None,
        }
    }

    /// Of several calls that put rows through functions, those with the function that the failed task is called by: `decode.map_batches` for
    /// `ReadFiles->MapBatches(decode)`.
    fn of_functions(document: &Document, failed: &Failed<'_>) -> Option<Part> {
        let words: HashSet<&str> = failed.task?.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let function = |entry: &Entry| {
            let (call, _) = entry.key.rsplit_once('.').filter(|_| entry.kind == EntryKind::Setting)?;
            let (function, _) = call.rsplit_once('.').filter(|_| CodeWords::shipped().is_of_data(call))?;
            Some(words.contains(function))
        };
        let entries = || document.entries().iter().enumerate();
        if !entries().any(|(_, entry)| function(entry) == Some(true)) {
            return None;
        }
        let others = entries().filter(|(_, entry)| function(entry) == Some(false)).map(|(index, _)| index).collect();
        Some(Part { command: None, has_failed: true, others, other_commands: HashSet::new() })
    }

    /// The containers or services that are called so, else those of which the limit was hit; else the likeliest are the only one that works
    /// with the model, or those that are granted a GPU.
    fn of_containers(document: &Document, failed: &Failed<'_>) -> Option<Part> {
        let containers = containers(document);
        let chosen = |is_it: &dyn Fn(&Container<'_>) -> bool| {
            let chosen: HashSet<usize> = (0..containers.len()).filter(|index| is_it(&containers[*index])).collect();
            (!chosen.is_empty() && chosen.len() < containers.len()).then_some(chosen)
        };
        let surely = chosen(&|container| failed.name.is_some_and(|name| container.is_called(name)))
            .or_else(|| chosen(&|container| failed.limit.is_some_and(|limit| container.is_limited_to(limit))));
        let has_failed = surely.is_some();
        let by_model = || {
            let works = |container: &Container<'_>| failed.model.is_some_and(|model| container.works_with(model));
            chosen(&|container| !container.is_of_beginning() && works(container)).filter(|chosen| chosen.len() == 1)
        };
        let (chosen, is_told) = match surely.or_else(by_model) {
            Some(chosen) => (chosen, true),
            None => (chosen(&|container| container.has_gpu())?, false),
        };
        let others = || (0..containers.len()).filter(|index| !chosen.contains(index)).map(|index| &containers[index]);
        let only = chosen.iter().next().filter(|_| is_told && chosen.len() == 1).map(|index| &containers[*index]);
        Some(Part {
            command: only.and_then(Container::main_command),
            has_failed,
            others: others().flat_map(|container| &container.entries).map(|(index, _)| *index).collect(),
            other_commands: others().flat_map(|container| &container.commands).map(|(index, _)| *index).collect(),
        })
    }

    /// Of several calls of one program, the only one that works with the model that failed.
    fn of_commands(document: &Document, failed: &Failed<'_>) -> Option<Part> {
        let (model, main) = (failed.model?, document.main_command()?);
        let commands = document.commands();
        let typed = commands.get(main)?.typed();
        let alike: HashSet<usize> = (0..commands.len()).filter(|command| commands[*command].typed() == typed).collect();
        let of_entries =
            document.entries().iter().filter(|entry| names(entry, model)).filter_map(|entry| entry.command);
        let of_operands = (0..commands.len()).filter(|command| has_operand(&commands[*command], model));
        let meant: HashSet<usize> = of_entries.chain(of_operands).filter(|command| alike.contains(command)).collect();
        let command = *meant.iter().next().filter(|_| meant.len() == 1 && alike.len() > 1)?;
        Some(Part::of_command(document, command, alike))
    }

    /// Of several scripts of Python, the one that the stack names: the data is prepared before it, the model evaluated after it. Of two calls
    /// of that script, the one that trains.
    fn of_scripts(document: &Document, failed: &Failed<'_>) -> Option<Part> {
        let commands = document.commands();
        let of_stack: HashSet<&str> = failed.frames.iter().filter_map(|frame| name(&frame.file)).collect();
        let scripts: Vec<(usize, &str)> =
            (0..commands.len()).filter_map(|at| Some((at, script(&commands[at])?))).collect();
        let evaluates = |at: usize| {
            let mut own = document.entries().iter().filter(|entry| entry.command == Some(at));
            own.any(|entry| is_of_evaluation(&last_step(&entry.key)))
        };
        let named = scripts.iter().filter(|(_, script)| of_stack.contains(script)).map(|(at, _)| *at);
        let command = only(named.clone()).or_else(|| only(named.filter(|at| !evaluates(*at))))?;
        (scripts.len() > 1).then(|| Part::of_command(document, command, scripts.iter().map(|(at, _)| *at)))
    }

    /// The part of `command`, which failed, of which the others of `commands` are no part.
    fn of_command(document: &Document, command: usize, commands: impl IntoIterator<Item = usize>) -> Part {
        let other_commands: HashSet<usize> = commands.into_iter().filter(|own| *own != command).collect();
        let is_other = |entry: &Entry| entry.command.is_some_and(|own| other_commands.contains(&own));
        let entries = document.entries().iter().enumerate();
        let others = entries.filter(|(_, entry)| is_other(entry)).map(|(index, _)| index).collect();
        Part { command: Some(command), has_failed: true, others, other_commands }
    }

    /// Whether the entry with this index belongs to another part.
    pub fn excludes(&self, entry: usize) -> bool {
        self.others.contains(&entry)
    }

    /// Whether `is_of` holds for words of others, but for none of its own: words of values, and of commands as one types them.
    pub fn lacks(&self, document: &Document, is_of: impl Fn(&str) -> bool) -> bool {
        let says = |is_other: bool| {
            let entries = document.entries().iter().enumerate();
            let mut entries = entries.filter(|(index, _)| self.others.contains(index) == is_other);
            let commands = document.commands().iter().enumerate();
            let mut commands = commands.filter(|(index, _)| self.other_commands.contains(index) == is_other);
            entries.any(|(_, entry)| matches!(&entry.value, Value::Text(words) if is_of(words)))
                || commands.any(|(_, command)| is_of(&command.typed()))
        };
        says(true) && !says(false)
    }
}

/// Words of options, keys and files that are about something else than training.
const EVALUATION: &[&str] = &[
    "eval",
    "evaluate",
    "evaluation",
    "val",
    "valid",
    "validation",
    "validate",
    "test",
    "infer",
    "inference",
    "predict",
];

/// Whether the name of an option, a key or a file says that it is about evaluation.
pub(super) fn is_of_evaluation(name: &str) -> bool {
    let is_said = |word: &str| EVALUATION.iter().any(|other| word.eq_ignore_ascii_case(other));
    name.split(|c: char| !c.is_alphanumeric()).any(is_said)
}

/// The script of Python that a command runs, without its folder.
pub(super) fn script(command: &Command) -> Option<&str> {
    command.words().filter(|word| word.ends_with(".py")).find_map(name)
}

/// A container or service of a file, with all that stands in it.
struct Container<'d> {
    /// The path of its keys: `spec.template.spec.containers[1]`, `services.trainer`.
    path: &'d str,
    entries: Vec<(usize, &'d Entry)>,
    commands: Vec<(usize, &'d Command)>,
}

impl Container<'_> {
    /// Whether it is called `name`. Compose numbers the containers of a service and puts the project's name before it.
    fn is_called(&self, name: &str) -> bool {
        let says_so = |entry: &Entry| {
            let key = entry.key.get(self.path.len()..).unwrap_or_default();
            matches!(key, ".name" | ".container_name") && entry.value.to_string() == name
        };
        let is_divided = |before: &str| before.is_empty() || before.ends_with(['-', '_']);
        let is_service = |service: &str| {
            let unnumbered = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['-', '_']);
            [name, unnumbered].iter().any(|name| name.strip_suffix(service).is_some_and(is_divided))
        };
        self.entries.iter().any(|(_, entry)| entry.kind == EntryKind::Setting && says_so(entry))
            || self.path.strip_prefix(SERVICES).is_some_and(is_service)
    }

    /// Whether its memory is limited to about `limit`.
    fn is_limited_to(&self, limit: Bytes) -> bool {
        let near = |own: Bytes| own.0.abs_diff(limit.0) <= limit.0.unsigned_abs() / 100;
        self.entries.iter().any(|(_, entry)| {
            let is_limit = entry.key.ends_with(".limits.memory") || entry.key.ends_with(".mem_limit");
            is_limit && granted(&entry.value.to_string()).is_some_and(near)
        })
    }

    /// Its command with the most settings.
    fn main_command(&self) -> Option<usize> {
        let settings = |command| self.entries.iter().filter(|(_, entry)| entry.command == Some(command)).count();
        self.commands.iter().map(|(command, _)| *command).max_by_key(|command| settings(*command))
    }

    fn works_with(&self, model: &str) -> bool {
        self.entries.iter().any(|(_, entry)| names(entry, model))
            || self.commands.iter().any(|(_, command)| has_operand(command, model))
    }

    fn has_gpu(&self) -> bool {
        self.entries.iter().any(|(_, entry)| entry.key.to_ascii_lowercase().contains(".com/gpu"))
    }

    /// Whether it runs only before the others begin.
    fn is_of_beginning(&self) -> bool {
        self.path.contains("initContainers[")
    }
}

/// The path of the container or service in `document` that runs a program which `is_program` knows by its words; of several none. Those
/// that `part` excludes do not count.
pub(super) fn container_of<'d>(
    document: &'d Document,
    part: Option<&Part>,
    is_program: impl Fn(&str) -> bool,
) -> Option<&'d str> {
    let is_other = |at: usize| part.is_some_and(|part| part.excludes(at));
    let mut containers = containers(document);
    containers
        .retain(|container| !container.is_of_beginning() && !container.entries.iter().all(|(at, _)| is_other(*at)));
    if containers.len() > 1 {
        let runs = |container: &Container<'_>| {
            let mut commands = container.commands.iter();
            let mut texts = container.entries.iter().filter_map(|(_, entry)| match &entry.value {
                Value::Text(words) => Some(words),
                _ => None,
            });
            commands.any(|(_, command)| is_program(&command.typed())) || texts.any(|words| is_program(words))
        };
        containers.retain(runs);
    }
    match containers.as_slice() {
        [only] => Some(only.path),
        _ => None,
    }
}

const SERVICES: &str = "services.";

/// The containers and services of `document`. Options and variables have no path: they stand within the value of a key.
fn containers(document: &Document) -> Vec<Container<'_>> {
    let place = |location: &Location| (location.line.0, location.column.0);
    let settings = document.entries().iter().filter(|entry| entry.kind == EntryKind::Setting);
    let mut keys: Vec<_> = settings.map(|entry| (place(&entry.at.location), path(&entry.key))).collect();
    keys.sort_by_key(|(place, _)| *place);
    let path_at = |location: &Location| {
        let behind = keys.partition_point(|(key, _)| *key <= place(location));
        keys.get(behind.checked_sub(1)?)?.1
    };
    let mut containers: Vec<Container<'_>> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (index, entry) in document.entries().iter().enumerate() {
        let path = if entry.kind == EntryKind::Setting { path(&entry.key) } else { path_at(&entry.at.location) };
        let Some(path) = path else { continue };
        let own = *known.entry(path).or_insert_with(|| {
            containers.push(Container { path, entries: Vec::new(), commands: Vec::new() });
            containers.len() - 1
        });
        containers[own].entries.push((index, entry));
    }
    for (index, command) in document.commands().iter().enumerate() {
        if let Some(own) = path_at(&command.at).and_then(|path| known.get(path)) {
            containers[*own].commands.push((index, command));
        }
    }
    containers
}

/// The path of the container or service that the setting `key` belongs to.
pub(super) fn path(key: &str) -> Option<&str> {
    const CONTAINERS: &str = "ontainers[";
    if let Some(list) = key.find(CONTAINERS) {
        return Some(&key[..list + key[list..].find(']')? + 1]);
    }
    let name = key.strip_prefix(SERVICES)?;
    Some(&key[..SERVICES.len() + name.find('.')?])
}

fn names(entry: &Entry, model: &str) -> bool {
    matches!(&entry.value, Value::Text(words) if is_model(words, model))
}

fn has_operand(command: &Command, model: &str) -> bool {
    command.operands.iter().any(|word| is_model(word, model))
}

/// Whether `words` are a model's name or path with the same last part as `model`.
fn is_model(words: &str, model: &str) -> bool {
    let last = |name: &str| name.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    !model.is_empty() && last(words) == last(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), crate::config::ConfigError>;

    const POD: &str = "spec:\n  initContainers:\n    - name: fetch\n      command: [aws, s3, sync]\n      resources:\n        limits: {memory: 1Gi}\n  containers:\n    - name: vllm\n      command: [vllm, serve, --max-model-len=8192]\n      resources:\n        limits: {memory: 64Gi, nvidia.com/gpu: 4}\n    - name: metrics\n      resources:\n        limits: {memory: 128Mi}\n";
    const COMPOSE: &str = "services:\n  llm:\n    image: vllm/vllm-openai:v0.11.0\n    command: --model Qwen/Qwen2.5-32B-Instruct --max-model-len 32768\n    mem_limit: 64g\n  small:\n    image: vllm/vllm-openai:v0.11.0\n    command: --model Qwen/Qwen2.5-1.5B-Instruct --max-model-len 16384 --enforce-eager\n    mem_limit: 8g\n";
    const SCRIPT: &str = "CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen2.5-32B-Instruct --max-model-len 32768 &\nCUDA_VISIBLE_DEVICES=1 vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 16384 --enforce-eager &\n";

    /// The value of `key` that counts, and whether it is known to be of the part that failed.
    fn counted(
        format: Format,
        text: &str,
        failed: Failed<'_>,
        key: &str,
    ) -> Result<Option<(String, bool)>, crate::config::ConfigError> {
        let document = Document::read_as(format, "file", text)?;
        let part = Part::of(&document, &failed);
        let mut entries = document.entries().iter().enumerate().filter(|(_, entry)| entry.key.ends_with(key));
        let counted = part.and_then(|part| {
            let (_, entry) = entries.find(|(index, _)| !part.excludes(*index))?;
            Some((entry.value.to_string(), part.has_failed))
        });
        Ok(counted)
    }

    fn working_with(model: &str) -> Failed<'_> {
        Failed { model: Some(model), ..Failed::default() }
    }

    fn named(name: &str) -> Failed<'_> {
        Failed { name: Some(name), ..Failed::default() }
    }

    #[test]
    fn the_container_that_failed_counts_else_the_one_with_a_gpu() -> Outcome {
        let limit = |failed| counted(Format::Yaml, POD, failed, "limits.memory");
        assert_eq!(limit(Failed::default())?, Some(("64Gi".into(), false)));
        assert_eq!(limit(named("metrics"))?, Some(("128Mi".into(), true)));
        assert_eq!(limit(named("fetch"))?, Some(("1Gi".into(), true)));
        assert_eq!(limit(named("llama70b-0"))?, Some(("64Gi".into(), false)));
        let hit = Failed { limit: Some(Bytes(128 << 20)), ..Failed::default() };
        assert_eq!(limit(hit)?, Some(("128Mi".into(), true)));
        Ok(())
    }

    #[test]
    fn options_belong_to_the_service_that_starts_them() -> Outcome {
        let length = |failed| counted(Format::Yaml, COMPOSE, failed, "max-model-len");
        assert_eq!(length(named("llm-1"))?, Some(("32768".into(), true)));
        assert_eq!(length(named("small-1"))?, Some(("16384".into(), true)));
        assert_eq!(length(working_with("/models/Qwen2.5-32B-Instruct"))?, Some(("32768".into(), false)));
        assert_eq!(length(Failed::default())?, None);
        assert_eq!(length(named("proj-small-1"))?, Some(("16384".into(), true)));
        assert_eq!(length(named("webllm-1"))?, None);
        Ok(())
    }

    #[test]
    fn of_two_calls_of_a_program_the_model_tells_which_one_failed() -> Outcome {
        let length = |failed| counted(Format::Shell, SCRIPT, failed, "max-model-len");
        assert_eq!(length(working_with("Qwen/Qwen2.5-32B-Instruct"))?, Some(("32768".into(), true)));
        assert_eq!(length(working_with("Qwen/Qwen2.5-7B-Instruct"))?, Some(("16384".into(), true)));
        assert_eq!(length(working_with("Qwen/Qwen3-8B"))?, None);
        Ok(())
    }

    #[test]
    fn a_container_that_does_not_start_the_program_is_beside_it() -> Outcome {
        let document = Document::read_as(Format::Yaml, "pod.yaml", POD)?;
        let is_vllm = |words: &str| words.contains("vllm serve");
        let beside = |name| Part::of(&document, &named(name)).is_some_and(|part| part.lacks(&document, is_vllm));
        assert!(beside("metrics") && beside("fetch"));
        assert!(!beside("vllm"));
        Ok(())
    }
}
