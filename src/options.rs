use std::sync::Arc;

use crate::facts::Value;
use crate::knowledge::{Knowledge, KnowledgeError, Language};
use crate::model::Experience;
use crate::settings::Site;
use crate::source::{Elsewhere, Places};
use crate::watch::Watch;
use crate::when::{Calendar, Written};

/// How to read and to write: `Options::default().language(Language::Zh).fact("gpu.memory", "80GiB")`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    pub(crate) language: Language,
    /// What the user knows and no log says: `model` is `8b`, `host.memory` is `500GiB`.
    pub(crate) facts: Vec<(String, Value)>,
    /// What to analyse with; absent: what is part of the binary.
    pub(crate) knowledge: Option<Arc<Knowledge>>,
    /// What came up and was tried before.
    pub(crate) experience: Arc<Experience>,
    /// Bytes read at a time.
    pub(crate) block: usize,
    pub(crate) threads: Option<usize>,
    /// What to go by where a log does not say when it was written.
    pub(crate) calendar: Calendar,
    /// When files were last written that cannot be asked here.
    pub(crate) written: Arc<Written>,
    /// What the user's settings say of the place where this is read.
    pub(crate) site: Arc<Site>,
    /// The node whose logs these are, where those of others are read elsewhere: its name stands before each path.
    pub(crate) node: Option<Arc<str>>,
    /// Whoever waits for the report.
    pub(crate) watch: Option<Arc<Watch>>,
    /// Who opens addresses; absent: nobody does.
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
    /// The language of what is said; English, unless told.
    pub fn language(self, language: Language) -> Options {
        Options { language, ..self }
    }

    /// What is known and no input says, as rules name it: `model` is `8b`, `host.memory` is `500GiB`. The first that says something
    /// counts.
    pub fn fact(mut self, name: impl Into<String>, value: &str) -> Options {
        self.facts.push((name.into(), Value::read(value)));
        self
    }

    /// Threads to read with; one for each core, unless told. The report is the same.
    pub fn threads(self, threads: usize) -> Options {
        Options { threads: Some(threads), ..self }
    }
}

impl Options {
    /// What to analyse with.
    pub(crate) fn known(&self) -> Result<Arc<Knowledge>, KnowledgeError> {
        self.knowledge.clone().map_or_else(|| Ok(Arc::new(Knowledge::shipped()?)), Ok)
    }

    /// Where paths lead.
    pub(crate) fn places(&self) -> Places<'_> {
        Places(self.elsewhere.as_deref())
    }

    /// `path` as it is told of.
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
