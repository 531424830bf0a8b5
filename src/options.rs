use std::sync::{Arc, LazyLock};
use std::thread;

use crate::facts::Value;
use crate::knowledge::{Knowledge, KnowledgeError, Language};
use crate::model::Experience;
use crate::settings::Site;
use crate::source::{Elsewhere, Places};
use crate::watch::Watch;
use crate::when::{Calendar, WriteTimes};

/// How to analyse: `Options::default().language(Language::Zh).fact("gpu.memory", "80GiB")`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    pub(crate) language: Language,
    /// Facts that the user states: `model` is `8b`, `host.memory` is `500GiB`.
    pub(crate) facts: Vec<(String, Value)>,
    /// The knowledge to use; `None` for the one in the binary.
    pub(crate) knowledge: Option<Arc<Knowledge>>,
    /// Earlier incidents, and what was tried against them.
    pub(crate) experience: Arc<Experience>,
    /// Bytes read at a time.
    pub(crate) block: usize,
    pub(crate) threads: Option<usize>,
    /// How to date an incident if its log has no complete time.
    pub(crate) calendar: Calendar,
    /// The write times of files that are on other machines.
    pub(crate) written: Arc<WriteTimes>,
    /// The user's settings for the machine on which inputs are read.
    pub(crate) site: Arc<Site>,
    /// The node whose logs these are, if logs of other nodes are read elsewhere. Its name prefixes each path.
    pub(crate) node: Option<Arc<str>>,
    /// Reports progress, and can stop the analysis.
    pub(crate) watch: Option<Arc<Watch>>,
    /// Opens addresses; `None` if they cannot be opened.
    pub(crate) elsewhere: Option<Arc<dyn Elsewhere>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            language: Language::En,
            facts: Vec::new(),
            knowledge: None,
            experience: Arc::default(),
            block: 1 << 20,
            threads: None,
            calendar: Calendar::default(),
            written: Arc::default(),
            site: Arc::default(),
            node: None,
            watch: None,
            elsewhere: None,
        }
    }
}

impl Options {
    /// The language of the report; English by default.
    pub fn language(self, language: Language) -> Options {
        Options { language, ..self }
    }

    /// States a fact, as rules name it: `model` is `8b`, `host.memory` is `500GiB`. The first value for a name counts.
    pub fn fact(mut self, name: impl Into<String>, value: &str) -> Options {
        self.facts.push((name.into(), Value::read(value)));
        self
    }

    /// The number of threads that read; one per core by default. It does not affect the report.
    pub fn threads(self, threads: usize) -> Options {
        Options { threads: Some(threads), ..self }
    }
}

impl Options {
    /// The knowledge to use.
    pub(crate) fn known(&self) -> Result<Arc<Knowledge>, KnowledgeError> {
        self.knowledge.clone().map_or_else(|| Ok(Arc::new(Knowledge::shipped()?)), Ok)
    }

    /// The number of threads to use.
    pub(crate) fn cores(&self) -> usize {
        // The system is asked once: it reads the limits of control groups.
        static CORES: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));
        self.threads.unwrap_or_else(|| *CORES).max(1)
    }

    /// Where paths and addresses are opened.
    pub(crate) fn places(&self) -> Places<'_> {
        Places(self.elsewhere.as_deref())
    }

    /// `path` as it is shown: with the node's prefix, if there is one.
    pub(crate) fn told(&self, path: &Arc<str>) -> Arc<str> {
        self.node.as_ref().map_or_else(|| Arc::clone(path), |node| format!("{node}:{path}").into())
    }
}

/// For this repository's own tests.
#[doc(hidden)]
impl Options {
    pub fn knowledge(self, knowledge: Arc<Knowledge>) -> Options {
        Options { knowledge: Some(knowledge), ..self }
    }

    pub fn block(self, block: usize) -> Options {
        Options { block, ..self }
    }

    pub fn watch(self, watch: Arc<Watch>) -> Options {
        Options { watch: Some(watch), ..self }
    }
}
