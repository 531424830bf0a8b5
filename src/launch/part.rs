//! Chooses, of several containers, services or commands that a file starts, the one that failed.

use std::collections::HashSet;

use crate::config::{Command, Document, Entry, EntryKind, Format, Value};
use crate::model::{Bytes, Location};
use crate::parse::granted;

/// What the logs tell of the part that failed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failed<'f> {
    /// What it may be called: a container, a service, a process.
    pub names: [Option<&'f str>; 3],
    /// The memory limit that was hit.
    pub limit: Option<Bytes>,
    /// The model that it worked with.
    pub model: Option<&'f str>,
}

/// The part of a file that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Its command with the most settings.
    pub command: Option<usize>,
    /// Whether the logs show that it failed; else it is only the likeliest.
    pub has_failed: bool,
    /// The path of its keys, if it is a container or a service: `spec.template.spec.containers[1]`.
    path: Option<String>,
    /// The indices of the entries that belong to others.
    others: HashSet<usize>,
}

impl Part {
    /// The part of `document` that `failed` describes, else the container that is granted a GPU. `None` if it has no more than one, or if none
    /// of them stands out.
    pub fn of(document: &Document, failed: &Failed<'_>) -> Option<Part> {
        match document.format() {
            Format::Yaml => Part::of_containers(document, failed),
            Format::Shell => Part::of_commands(document, failed),
            _ => None,
        }
    }

    fn of_containers(document: &Document, failed: &Failed<'_>) -> Option<Part> {
        let settings = || document.entries().iter().filter(|entry| entry.kind == EntryKind::Setting);
        let mut paths: Vec<&str> = Vec::new();
        for path in settings().filter_map(|entry| path(&entry.key)) {
            if paths.last() != Some(&path) && !paths.contains(&path) {
                paths.push(path);
            }
        }
        if paths.len() < 2 {
            return None;
        }
        let places = &Places::of(document);
        let of = |holder: &str| {
            document.entries().iter().filter(move |entry| places.path(entry) == Some(holder)).collect::<Vec<&Entry>>()
        };
        let only = |is_it: &dyn Fn(&str) -> bool| {
            let mut found = paths.iter().copied().filter(|path| is_it(path));
            found.next().filter(|_| found.next().is_none())
        };
        let known = only(&|path| failed.names.iter().flatten().any(|name| is_called(path, &of(path), name)))
            .or_else(|| {
                only(&|path| failed.limit.is_some_and(|limit| of(path).iter().any(|entry| limits(entry, limit))))
            })
            .or_else(|| {
                only(&|path| failed.model.is_some_and(|model| of(path).iter().any(|entry| names(entry, model))))
            });
        let has_gpu = |path: &str| of(path).iter().any(|entry| entry.key.to_ascii_lowercase().contains(".com/gpu"));
        let path = known.or_else(|| paths.iter().copied().find(|path| has_gpu(path)))?;
        let entries = document.entries().iter().enumerate();
        let is_other = |entry: &Entry| places.path(entry).is_some_and(|other| other != path);
        let others: HashSet<usize> = entries.filter(|(_, entry)| is_other(entry)).map(|(index, _)| index).collect();
        let size = |command: usize| of(path).iter().filter(|entry| entry.command == Some(command)).count();
        let command = (0..document.commands().len())
            .filter(|command| places.at(&document.commands()[*command].at) == Some(path))
            .max_by_key(|command| size(*command));
        Some(Part { command, has_failed: known.is_some(), path: Some(path.to_owned()), others })
    }

    /// Of several calls of one program, the only one that works with the model that failed.
    fn of_commands(document: &Document, failed: &Failed<'_>) -> Option<Part> {
        let (model, main) = (failed.model?, document.main_command()?);
        let typed = document.commands().get(main)?.typed();
        let alike: Vec<usize> =
            (0..document.commands().len()).filter(|command| document.commands()[*command].typed() == typed).collect();
        let works_with = |command: &&usize| {
            let operands = document.commands()[**command].operands.iter();
            let mut own = document.entries().iter().filter(|entry| entry.command == Some(**command));
            operands.into_iter().any(|word| is_model(word, model)) || own.any(|entry| names(entry, model))
        };
        let mut meant = alike.iter().filter(works_with);
        let command = *meant.next().filter(|_| alike.len() > 1)?;
        if meant.next().is_some() {
            return None;
        }
        let is_other = |entry: &Entry| entry.command.is_some_and(|own| own != command && alike.contains(&own));
        let entries = document.entries().iter().enumerate();
        let others = entries.filter(|(_, entry)| is_other(entry)).map(|(index, _)| index).collect();
        Some(Part { command: Some(command), has_failed: true, path: None, others })
    }

    /// Whether the entry with this index belongs to another part.
    pub fn excludes(&self, entry: usize) -> bool {
        self.others.contains(&entry)
    }

    /// Whether `is_of` holds for words of others, but for none of its own: words of values, and of commands as one types them.
    pub fn lacks(&self, document: &Document, is_of: impl Fn(&str) -> bool) -> bool {
        let Some(own) = self.path.as_deref() else { return false };
        let places = Places::of(document);
        let says = |is_own: bool| {
            let is_there = |path: Option<&str>| path.is_some_and(|path| (path == own) == is_own);
            let mut values = document.entries().iter().filter(|entry| is_there(places.path(entry)));
            let mut commands = document.commands().iter().filter(|command| is_there(places.at(&command.at)));
            values.any(|entry| matches!(&entry.value, Value::Text(words) if is_of(words)))
                || commands.any(|command: &Command| is_of(&command.typed()))
        };
        says(false) && !says(true)
    }
}

/// The containers and services of a document, by their places. Options and variables have no path: they stand within the value of a key.
struct Places<'d> {
    /// In the order of the text.
    keys: Vec<((u64, u64), Option<&'d str>)>,
}

impl<'d> Places<'d> {
    fn of(document: &'d Document) -> Places<'d> {
        let settings = document.entries().iter().filter(|entry| entry.kind == EntryKind::Setting);
        let mut keys: Vec<_> = settings.map(|entry| (place(&entry.at.location), path(&entry.key))).collect();
        keys.sort_by_key(|(place, _)| *place);
        Places { keys }
    }

    fn path(&self, entry: &'d Entry) -> Option<&'d str> {
        match entry.kind {
            EntryKind::Setting => path(&entry.key),
            _ => self.at(&entry.at.location),
        }
    }

    fn at(&self, location: &Location) -> Option<&'d str> {
        let behind = self.keys.partition_point(|(key, _)| *key <= place(location));
        self.keys.get(behind.checked_sub(1)?)?.1
    }
}

fn place(location: &Location) -> (u64, u64) {
    (location.line.0, location.column.0)
}

/// The path of the container or service that the setting `key` belongs to.
fn path(key: &str) -> Option<&str> {
    const CONTAINERS: &str = "ontainers[";
    const SERVICES: &str = "services.";
    if let Some(list) = key.find(CONTAINERS) {
        return Some(&key[..list + key[list..].find(']')? + 1]);
    }
    let name = key.strip_prefix(SERVICES)?;
    Some(&key[..SERVICES.len() + name.find('.')?])
}

/// Whether the container or service at `path` is called `name`. Compose numbers the containers of a service.
fn is_called(path: &str, entries: &[&Entry], name: &str) -> bool {
    let is_named = |entry: &&Entry| {
        let key = &entry.key[path.len().min(entry.key.len())..];
        matches!(key, ".name" | ".container_name") && *entry.value.to_string() == *name
    };
    let service = path.strip_prefix("services.");
    let is_service = |service: &str| {
        let number = name.rsplit_once(service).map(|(_, number)| number.trim_start_matches(['-', '_']));
        number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
    };
    entries.iter().any(|entry| entry.kind == EntryKind::Setting && is_named(entry)) || service.is_some_and(is_service)
}

/// Whether `entry` is a memory limit of about `limit`.
fn limits(entry: &Entry, limit: Bytes) -> bool {
    let is_limit = entry.key.ends_with(".limits.memory") || entry.key.ends_with(".mem_limit");
    let near = |own: Bytes| own.0.abs_diff(limit.0) <= limit.0.unsigned_abs() / 100;
    is_limit && granted(&entry.value.to_string()).is_some_and(near)
}

fn names(entry: &Entry, model: &str) -> bool {
    matches!(&entry.value, Value::Text(words) if is_model(words, model))
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
    const SERVICES: &str = "services:\n  llm:\n    image: vllm/vllm-openai:v0.11.0\n    command: --model Qwen/Qwen2.5-32B-Instruct --max-model-len 32768\n    mem_limit: 64g\n  small:\n    image: vllm/vllm-openai:v0.11.0\n    command: --model Qwen/Qwen2.5-1.5B-Instruct --max-model-len 16384 --enforce-eager\n    mem_limit: 8g\n";
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

    fn named(name: &str) -> Failed<'_> {
        Failed { names: [Some(name), None, None], ..Failed::default() }
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
        let length = |failed| counted(Format::Yaml, SERVICES, failed, "max-model-len");
        let model = |name| Failed { model: Some(name), ..Failed::default() };
        assert_eq!(length(named("llm-1"))?, Some(("32768".into(), true)));
        assert_eq!(length(named("small-1"))?, Some(("16384".into(), true)));
        assert_eq!(length(model("/models/Qwen2.5-32B-Instruct"))?, Some(("32768".into(), true)));
        assert_eq!(length(Failed::default())?, None);
        Ok(())
    }

    #[test]
    fn of_two_calls_of_a_program_the_model_tells_which_one_failed() -> Outcome {
        let length = |failed| counted(Format::Shell, SCRIPT, failed, "max-model-len");
        let model = |name| Failed { model: Some(name), ..Failed::default() };
        assert_eq!(length(model("Qwen/Qwen2.5-32B-Instruct"))?, Some(("32768".into(), true)));
        assert_eq!(length(model("Qwen/Qwen2.5-7B-Instruct"))?, Some(("16384".into(), true)));
        assert_eq!(length(model("Qwen/Qwen3-8B"))?, None);
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
