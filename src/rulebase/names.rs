use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::knowledge::{Fact, FactType, Glossary, Knowledge};
use crate::model::{FigureName, Kind, Phase};

use super::sources::RuleSource;

/// The facts that conditions may use, by name.
pub struct FactNames {
    facts: BTreeMap<Arc<str>, Known>,
    /// Names of settings in dialects, whose values can have any type.
    settings: BTreeSet<String>,
}

/// The type and values of a fact.
struct Known {
    r#type: FactType,
    /// Its possible values, if there are only a few.
    values: Vec<Arc<str>>,
}

impl FactNames {
    /// Facts from configurations and logs, every figure of the vocabulary, and facts that the user's own messages
    /// state.
    pub fn new(knowledge: &Knowledge, glossary: &Glossary) -> FactNames {
        let words = |words: &mut dyn Iterator<Item = &'static str>| words.map(Arc::from).collect();
        let stated = knowledge.facts.iter().chain(&glossary.facts).map(|Fact { name, r#type, values, .. }| {
            let values = match &**name {
                "kind" => words(&mut Kind::ALL.iter().map(|kind| kind.as_str())),
                "phase" => words(&mut Phase::ALL.iter().map(|phase| phase.as_str())),
                _ => values.clone(),
            };
            (name.clone(), Known { r#type: *r#type, values })
        });
        let figures = FigureName::ALL.iter().map(|figure| {
            (Arc::from(format!("figures.{figure}")), Known { r#type: FactType::Number, values: Vec::new() })
        });
        let mut facts: BTreeMap<Arc<str>, Known> = stated.chain(figures).collect();
        for (name, is_text) in knowledge.messages.iter().flat_map(|file| file.facts()) {
            let r#type = if is_text.unwrap_or(true) { FactType::Text } else { FactType::Number };
            facts.entry(Arc::from(name)).or_insert(Known { r#type, values: Vec::new() });
        }
        let dialects = knowledge.dialects.iter();
        let settings = dialects.flat_map(|dialect| {
            let set = dialect.setting.keys().map(|name| format!("set.{name}"));
            set.chain(dialect.fact.keys().filter(|name| name.starts_with("set.")).map(|name| name.to_string()))
        });
        let settings = settings.collect();
        FactNames { facts, settings }
    }

    /// Whether a dialect has a setting of this name.
    pub fn is_setting(&self, name: &str) -> bool {
        self.settings.contains(name)
    }

    /// Whether a condition may use `name`.
    pub fn is_known(&self, name: &str) -> bool {
        self.type_of(name).is_some() || self.is_setting(name)
    }

    /// The names most similar to `name`; if there are none, those with the same last part.
    pub fn nearest(&self, name: &str) -> Vec<String> {
        let all = || self.facts.keys().map(|known| &**known).chain(self.settings.iter().map(String::as_str));
        let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
        let alike = nearest(name, all());
        let found =
            if alike.is_empty() { all().filter(|known| last(known) == last(name)).take(3).collect() } else { alike };
        found.into_iter().map(str::to_owned).collect()
    }

    /// All names, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, FactType)> {
        self.facts.iter().map(|(name, known)| (&**name, known.r#type))
    }

    /// The type of a fact; `None` if there is no such fact.
    pub fn type_of(&self, name: &str) -> Option<FactType> {
        self.facts.get(name).map(|known| known.r#type)
    }

    /// The possible values of a fact; empty if they are not limited.
    pub fn values_of(&self, name: &str) -> &[Arc<str>] {
        self.facts.get(name).map_or(&[], |known| &known.values)
    }
}

/// Whether `word` is a valid name for a rule.
pub(super) fn is_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// The names in `known` that are most similar to `word`, the best first.
pub(crate) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Vec<&'k str> {
    const LIKE: f64 = 0.6;
    const MOST: usize = 3;
    let mut alike: Vec<(f64, &str)> = known
        .map(|known| (strsim::normalized_damerau_levenshtein(word, known), known))
        .filter(|(like, _)| *like >= LIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    alike.dedup_by_key(|(_, known)| *known);
    alike.into_iter().take(MOST).map(|(_, known)| known).collect()
}

/// The ids of rules in `sources` that are most similar to `id`.
pub fn nearest_rules(id: &str, sources: &[RuleSource]) -> Vec<String> {
    let rules: Vec<Arc<str>> = sources.iter().filter_map(|source| Some(source.cause()?.id)).collect();
    nearest(id, rules.iter().map(|id| &**id)).into_iter().map(str::to_owned).collect()
}

/// `did you mean …?` for an unknown word, if a known one is similar.
pub(super) fn suggestion<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    let alike: Vec<String> = nearest(word, known).into_iter().map(|known| format!("`{known}`")).collect();
    (!alike.is_empty()).then(|| format!("did you mean {}?", alike.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_guessed() {
        let words = ["optimizer_step", "backward", "forward", "rollout"];
        assert_eq!(nearest("optimiser_step", words.into_iter()), ["optimizer_step"]);
        assert_eq!(nearest("bakcward", words.into_iter())[0], "backward");
        assert!(nearest("sunday", words.into_iter()).is_empty());
    }
}
