use std::sync::Arc;

use serde::Deserialize;

use super::KnowledgeError;
use super::facts::{Fact, FactFile};
use super::file::File;
use super::language::Words;

/// `rules/glossary/`: what the words of reports and rules mean. An analysis does not need it; it is read only to explain or to check rules.
#[derive(Debug, Default)]
pub struct Glossary {
    /// Kinds, phases and figures.
    pub words: Vec<Word>,
    /// The facts, beside those of `rules/facts/`, that conditions may use: what a log states about the incident.
    pub facts: Vec<Fact>,
}

/// A word of the vocabulary.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    /// The sort of word: `kind`, `phase`, `figure`.
    pub of: Arc<str>,
    /// The word.
    pub name: Arc<str>,
    /// What it means.
    pub meaning: Words,
    /// Whose messages state it, and in which words.
    #[serde(default)]
    pub source: Option<Arc<str>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GlossaryWords {
    word: Vec<Word>,
}

impl Glossary {
    /// The glossary in the binary.
    pub fn shipped() -> Result<Glossary, KnowledgeError> {
        let mut glossary = Glossary::default();
        for file in File::shipped() {
            match file.path {
                "glossary/words.toml" => glossary.words = file.read::<GlossaryWords>()?.word,
                path if path.starts_with("glossary/") => glossary.facts.extend(file.read::<FactFile>()?.fact),
                _ => {}
            }
        }
        Ok(glossary)
    }

    /// Finds a word of the vocabulary by its sort and name.
    pub fn word(&self, of: &str, name: &str) -> Option<&Word> {
        self.words.iter().find(|word| &*word.of == of && &*word.name == name)
    }
}
