//! Facts as variables of conditions: nested maps, each made when a condition asks for it first.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use cel::common::types::{CelBool, CelDouble, CelList, CelMap, CelMapKey, CelNull, CelString};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;

use super::known::{Facts, Value};

/// The facts by the first part of their names. They are prepared dozens of times for an incident, and most conditions ask for few.
pub(super) struct Variables<'f> {
    by_root: BTreeMap<&'f str, Tree<'f>>,
    assumed: Option<(String, Box<dyn Val>)>,
}

impl<'f> Variables<'f> {
    pub fn of(facts: &'f Facts) -> Variables<'f> {
        let mut alike: Vec<(&str, Tree<'_>)> = Vec::new();
        for (name, fact) in facts.iter() {
            let (root, rest) = name.split_once('.').map_or((name, None), |(root, rest)| (root, Some(rest)));
            // They come in the order of their names.
            match alike.last_mut() {
                Some((last, tree)) if *last == root => tree.facts.push((rest, &fact.value)),
                _ => alike.push((root, Tree { facts: vec![(rest, &fact.value)], ..Tree::default() })),
            }
        }
        let mut by_root: BTreeMap<&str, Tree<'_>> = BTreeMap::new();
        for (root, tree) in alike {
            by_root.entry(root).or_default().facts.extend(tree.facts);
        }
        Variables { by_root, assumed: None }
    }

    /// Sets `name`, which has no dots, to `value`.
    pub fn assume(&mut self, name: &str, value: &Value) {
        self.assumed = Some((name.to_owned(), to_cel(value)));
    }
}

impl VariableResolver for Variables<'_> {
    fn resolve<'b>(&'b self, name: &str) -> Option<CowVal<'b, 'b>> {
        let assumed = self.assumed.as_ref().filter(|(assumed, _)| assumed == name).map(|(_, value)| value);
        let of_facts = || self.by_root.get(name).map(|tree| tree.value.get_or_init(|| tree.to_value()));
        Some(CowVal::Borrowed(&**assumed.or_else(of_facts)?))
    }
}

/// Facts whose names begin alike, each with the rest of its name.
#[derive(Default)]
struct Tree<'f> {
    facts: Vec<(Option<&'f str>, &'f Value)>,
    /// What they are for conditions, once one has asked.
    value: OnceLock<Box<dyn Val>>,
}

impl<'f> Tree<'f> {
    /// In the evaluation's own types: through its general value each entry would be copied twice. A name that is both a value and a map becomes
    /// a map.
    fn to_value(&self) -> Box<dyn Val> {
        let mut children: BTreeMap<&str, Tree<'f>> = BTreeMap::new();
        for (name, value) in self.facts.iter().filter_map(|(name, value)| Some(((*name)?, *value))) {
            let (step, rest) = name.split_once('.').map_or((name, None), |(step, rest)| (step, Some(rest)));
            children.entry(step).or_default().facts.push((rest, value));
        }
        if children.is_empty() {
            return self.facts.first().map_or_else(|| Box::new(CelNull) as Box<dyn Val>, |(_, value)| to_cel(value));
        }
        let entries = children.into_iter().map(|(name, node)| (CelMapKey::from(name.to_owned()), node.to_value()));
        Box::new(CelMap::from(entries.collect::<HashMap<_, _>>()))
    }
}

fn to_cel(value: &Value) -> Box<dyn Val> {
    match value {
        Value::Number(number) => Box::new(CelDouble::from(*number)),
        Value::Text(text) => Box::new(CelString::from(text.clone())),
        Value::Flag(flag) => Box::new(CelBool::from(*flag)),
        Value::List(items) => Box::new(CelList::from(items.iter().map(to_cel).collect::<Vec<_>>())),
    }
}
