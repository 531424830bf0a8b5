use std::sync::Arc;

use crate::facts::Value;
use crate::knowledge::{Knowledge, Language};
use crate::model::Experience;
use crate::settings::Site;
use crate::watch::Watch;
use crate::when::Calendar;

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
    /// What the user's settings say of the place where this is read.
    pub(crate) site: Arc<Site>,
    /// Whoever waits for the report.
    pub(crate) watch: Option<Arc<Watch>>,
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
            site: Arc::default(),
            watch: None,
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
