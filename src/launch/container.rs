//! Chooses, of several containers in a Kubernetes file, the one whose settings count.

use crate::config::{Document, Entry, EntryKind};

/// A container of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Container {
    /// The path of its keys: `spec.template.spec.containers[1]`.
    path: String,
    /// Whether the incident's logs say that it failed; else it is only the likeliest.
    pub has_failed: bool,
}

impl Container {
    /// The container called `failed`, else the one that is granted a GPU. `None` if the document has no more than one, or if none of them
    /// stands out.
    pub fn of(document: &Document, failed: Option<&str>) -> Option<Container> {
        let entries = || document.entries().iter().filter(|entry| entry.kind == EntryKind::Setting);
        let within = |entry: &Entry| path(&entry.key).map(str::to_owned);
        let is_failed = |entry: &&Entry| {
            let path = path(&entry.key).unwrap_or_default();
            entry.key[path.len()..] == *".name" && failed == Some(&*entry.value.to_string())
        };
        let has_gpu = |entry: &&Entry| {
            let path = path(&entry.key).unwrap_or_default();
            entry.key[path.len()..].starts_with(".resources.limits")
                && entry.key.to_ascii_lowercase().contains(".com/gpu")
        };
        let first = entries().find_map(within)?;
        entries().filter_map(within).find(|path| *path != first)?;
        let failed = entries().find(is_failed).and_then(within).map(|path| Container { path, has_failed: true });
        let likeliest = || Some(Container { path: within(entries().find(has_gpu)?)?, has_failed: false });
        failed.or_else(likeliest)
    }

    /// Whether `key` belongs to another container.
    pub fn excludes(&self, key: &str) -> bool {
        path(key).is_some_and(|path| path != self.path)
    }

    /// Whether the container runs the main command of `document`.
    pub fn runs_job(&self, document: &Document) -> bool {
        let Some(command) = document.main_command().and_then(|main| document.commands().get(main)) else {
            return true;
        };
        // The words of a command line are settings of its container as well.
        let is_there = |entry: &&Entry| entry.at.location.line <= command.at.line && path(&entry.key).is_some();
        let before = document.entries().iter().filter(|entry| entry.kind == EntryKind::Setting).filter(is_there);
        before.max_by_key(|entry| entry.at.location.line).is_none_or(|entry| !self.excludes(&entry.key))
    }
}

/// The path of the container that the setting `key` belongs to.
fn path(key: &str) -> Option<&str> {
    let list = key.find("ontainers[")?;
    let end = list + key[list..].find(']')? + 1;
    Some(&key[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Format;

    const POD: &str = "spec:\n  initContainers:\n    - name: fetch\n      resources:\n        limits: {memory: 1Gi}\n  containers:\n    - name: vllm\n      command: [vllm, serve, --max-model-len=8192]\n      resources:\n        limits: {memory: 64Gi, nvidia.com/gpu: 4}\n    - name: metrics\n      resources:\n        limits: {memory: 128Mi}\n";

    fn chosen(failed: Option<&str>) -> Result<Option<(String, bool)>, crate::config::ConfigError> {
        let document = Document::read_as(Format::Yaml, "pod.yaml", POD)?;
        let container = Container::of(&document, failed);
        Ok(container.map(|container| (container.path.clone(), container.runs_job(&document))))
    }

    #[test]
    fn the_container_that_failed_counts_else_the_one_with_a_gpu() -> Result<(), crate::config::ConfigError> {
        assert_eq!(chosen(None)?, Some(("spec.containers[0]".to_owned(), true)));
        assert_eq!(chosen(Some("metrics"))?, Some(("spec.containers[1]".to_owned(), false)));
        assert_eq!(chosen(Some("fetch"))?, Some(("spec.initContainers[0]".to_owned(), false)));
        assert_eq!(chosen(Some("llama70b-0"))?, Some(("spec.containers[0]".to_owned(), true)));
        Ok(())
    }
}
