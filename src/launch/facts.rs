//! Turns settings into facts, whose names are shared by all frameworks.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use super::{JobConfig, part};
use crate::config::{Document, Entry};
use crate::facts::{Facts, Value};
use crate::knowledge::{Fact, FactType, Knob, Type};
use crate::model::{Bytes, Citation};
use crate::parse;

/// A fact of the configuration: its name, its value and its citations.
pub(super) type StatedFact = (Arc<str>, Value, Vec<Citation>);

impl JobConfig<'_> {
    /// Adds the facts that the configuration sets, and the defaults of what it does not set.
    pub fn configure(&self, facts: &mut Facts) {
        self.decide(facts, self.stated.get_or_init(|| self.state()));
        self.count_ranks(facts);
        self.watch_code(facts);
    }

    /// Adds what the given code does where it failed: `script.calls` and `script.keeps` of the files through which the stack passes. What data
    /// sets hold, `script.caches` and `script.records`, is asked of all files: workers read them, whose stacks nobody sees.
    fn watch_code(&self, facts: &mut Facts) {
        let frames = match facts.get("frames").map(|frames| &frames.value) {
            Some(Value::List(frames)) => frames.as_slice(),
            _ => &[],
        };
        let file = |frame: &Value| match frame {
            Value::Text(frame) => frame.rsplit_once(':').and_then(|(path, _)| part::name(path)).map(str::to_owned),
            _ => None,
        };
        let files: HashSet<String> = frames.iter().filter_map(file).collect();
        let mut programs: Vec<&Document> =
            self.documents.iter().filter(|document| !document.calls().is_empty()).collect();
        cite_places(facts, "script.caches", &programs, Document::caches);
        cite_places(facts, "script.records", &programs, Document::records);
        // A killed program left no stack, or that of its launcher: the only script that is given is the one.
        let is_shown = |document: &&Document| part::name(document.path()).is_some_and(|name| files.contains(name));
        if programs.len() > 1 {
            programs.retain(is_shown);
        }
        cite_places(facts, "script.hoards", &programs, Document::hoarded);
        cite_places(facts, "script.gathers", &programs, Document::gathered);
        if programs.is_empty() {
            return;
        }
        let calls = programs.iter().flat_map(|document| document.calls()).cloned().map(Value::Text).collect();
        facts.cite("script.calls", Value::List(calls), Vec::new());
        cite_places(facts, "script.converts", &programs, Document::converts);
        cite_places(facts, "script.keeps", &programs, Document::kept);
        cite_places(facts, "script.keeps_graphs", &programs, Document::keeps_graphs);
        cite_places(facts, "script.asks_with_graph", &programs, Document::asks_with_graph);
        watch_calls(facts, &programs);
    }

    /// Adds the number of ranks if the configuration gives their number per node. If it does not mention nodes, there
    /// is one.
    fn count_ranks(&self, facts: &mut Facts) {
        let Some(per_node) = facts.get("config.processes_per_node") else { return };
        let says_nodes = |knob: &Knob| knob.fact.as_deref() == Some("config.nodes") && self.setting(knob).is_some();
        let nodes = facts.get("config.nodes");
        let count = match (&per_node.value, nodes.map(|nodes| &nodes.value)) {
            (Value::Number(per_node), Some(Value::Number(nodes))) => per_node * nodes,
            (Value::Number(per_node), None) if !self.knobs().any(says_nodes) => *per_node,
            _ => return,
        };
        let cites = [Some(per_node), nodes].into_iter().flatten().flat_map(|known| known.cites.clone()).collect();
        facts.cite("job.world_size", Value::Number(count), cites);
    }

    /// The facts of the configuration, the most reliable first. They are the same for every incident.
    fn state(&self) -> Vec<StatedFact> {
        let always = self.framework.iter().flat_map(|framework| &framework.always);
        let mut all: Vec<StatedFact> =
            always.map(|(name, flag)| (name.clone(), Value::Flag(*flag), Vec::new())).collect();
        let set: Vec<(&Knob, &Entry)> =
            self.knobs().filter_map(|knob| Some((knob, self.setting(knob)?.entry))).collect();
        let names = set.iter().map(|(knob, _)| Value::Text(format!("{}.{}", knob.framework, knob.id))).collect();
        all.push((Arc::from("config.set"), Value::List(names), Vec::new()));
        // What is set to nothing where that means no limit.
        let is_open = |(knob, entry): &&(&Knob, &Entry)| {
            entry.value == crate::config::Value::Null && knob.lever.iter().any(|turn| turn.open.is_some())
        };
        let open: Vec<&(&Knob, &Entry)> = set.iter().filter(is_open).collect();
        if !open.is_empty() {
            let names = open.iter().map(|(_, entry)| Value::Text(entry.key.clone())).collect();
            let cites = open.iter().map(|(_, entry)| entry.at.clone()).collect();
            all.push((Arc::from("config.unlimited"), Value::List(names), cites));
        }
        let stack = self.framework.iter().flat_map(|framework| [&framework.name].into_iter().chain(&framework.uses));
        let stack = stack.map(|name| Value::Text(name.to_string())).collect();
        all.push((Arc::from("framework.stack"), Value::List(stack), Vec::new()));
        let commands = self.documents.iter().flat_map(Document::commands).map(|command| {
            let words = [&command.program].into_iter().chain(&command.target).chain(&command.operands);
            Value::Text(words.map(String::as_str).collect::<Vec<_>>().join(" "))
        });
        all.push((Arc::from("launch.commands"), Value::List(commands.collect()), Vec::new()));
        if let Some(unread) = &self.unread {
            all.push((Arc::from("launch.unread_file"), Value::Text(unread.path.clone()), Vec::new()));
            all.push((Arc::from("launch.unread_processes"), Value::Number(unread.processes), Vec::new()));
            all.push((Arc::from("launch.unread_kind"), Value::Text(unread.kind.clone()), Vec::new()));
        }
        if let Some(scheduler) = self.documents.iter().find_map(Document::scheduler) {
            all.push((Arc::from("launch.scheduler"), Value::Text(scheduler.name.clone()), Vec::new()));
        }
        let is_said: HashSet<&str> = set.iter().filter_map(|(knob, _)| knob.fact.as_deref()).collect();
        for (knob, entry) in set {
            let Some(fact) = self.fact(knob).filter(|_| !entry.is_open()) else { continue };
            if let Some(value) = meaning(knob, fact, &entry.value.to_string()) {
                all.push((fact.name.clone(), value, vec![entry.at.clone()]));
            }
        }
        // A fact that is set has no default, even if the value cannot be read: a file's name, a variable.
        let is_unsaid = |fact: &&Fact| !is_said.contains(&*fact.name);
        for knob in self.knobs() {
            let Some(fact) = self.fact(knob).filter(is_unsaid).filter(|_| self.has_default(knob)) else { continue };
            let default = knob.default_at(self.version_of(knob));
            if let Some(value) = default.and_then(|default| meaning(knob, fact, default)) {
                all.push((fact.name.clone(), value, Vec::new()));
            }
        }
        all
    }

    /// Whether the fact behind `knob` already has the value `to`.
    pub fn is_known_to_be(&self, facts: &Facts, knob: &Knob, to: &str) -> bool {
        let known = self.fact(knob).and_then(|fact| Some((fact, facts.get(&fact.name)?)));
        known.is_some_and(|(fact, known)| meaning(knob, fact, to).is_some_and(|value| value == known.value))
    }

    /// The whole number to which the job's own log says that `knob` is set.
    pub fn printed(&self, facts: &Facts, knob: &Knob) -> Option<String> {
        let number = facts.number(knob.printed.as_deref()?)?;
        (number >= 0.0 && number.fract() == 0.0).then(|| number.to_string())
    }

    fn fact(&self, knob: &Knob) -> Option<&Fact> {
        let name = knob.fact.as_deref()?;
        self.knowledge.facts.iter().find(|fact| *fact.name == *name)
    }

    /// `facts` as they would be with `knob` set to `to`. `decided` caches what dialects derive from the unchanged
    /// facts, which is the same for every knob.
    pub fn turned(&self, facts: &Facts, decided: &OnceLock<Facts>, knob: &Knob, to: &str) -> Facts {
        let mut turned = facts.clone();
        if let Some(fact) = self.fact(knob)
            && let Some(value) = meaning(knob, fact, to)
        {
            turned.replace(&fact.name, value);
        }
        self.set(&mut turned, knob, to);
        let before = || decided.get_or_init(|| self.decided(facts));
        // A dialect knows better than the knob what its value means for its fact: a prompt's length is not a sequence's.
        for (name, value) in self.decided_otherwise(before, &turned, knob) {
            turned.replace(&name, value);
        }
        turned
    }
}

/// Adds `name`: the words of `programs` at the places that `of` finds in each.
fn cite_places(facts: &mut Facts, name: &str, programs: &[&Document], of: impl Fn(&Document) -> Vec<Citation>) {
    let cites: Vec<Citation> = programs.iter().flat_map(|document| of(document)).collect();
    facts.cite(name, Value::List(cites.iter().map(|cite| Value::Text(cite.text.clone())).collect()), cites);
}

/// Adds what `programs` give to models and keep of what these give: whole outputs, a prompt many times, a whole graph.
fn watch_calls(facts: &mut Facts, programs: &[&Document]) {
    let text = |words: &str| Value::Text(words.to_owned());
    cite_places(facts, "script.piles", programs, Document::piles);
    let could_keep_less = programs.iter().any(|document| document.could_keep_less());
    facts.say("script.piles_largest", Value::Flag(could_keep_less));
    cite_places(facts, "script.repeats", programs, Document::repeats);
    let is_without = |line: &Value| match line {
        Value::Text(line) => programs.iter().any(|document| document.makes_no_graph(line.trim())),
        _ => false,
    };
    let without_graph = match facts.get("code").map(|code| &code.value) {
        Some(Value::List(code)) => code.iter().any(is_without),
        _ => false,
    };
    facts.say("script.without_graph", Value::Flag(without_graph));
    if let Some((graph, cite, layers)) = programs.iter().find_map(|document| document.whole_graph()) {
        facts.cite("script.graph", text(&graph.name), vec![cite]);
        if let Some(nodes) = &graph.nodes {
            facts.say("script.graph_nodes", text(nodes));
        }
        if layers > 0 {
            facts.say("script.graph_layers", Value::Number(layers as f64));
        }
    }
}

/// The amount of memory that `value` of `knob` is.
pub(crate) fn amount(knob: &Knob, value: &str) -> Option<Bytes> {
    let unit = knob.number.as_deref().unwrap_or("B");
    match value.trim().parse::<f64>() {
        Ok(_) => parse::granted(&format!("{}{unit}", value.trim())),
        Err(_) => parse::granted(value),
    }
}

/// A knob's value as a value of its fact; `None` if the fact cannot have it (`auto`, a limit of 0, which is none).
fn meaning(knob: &Knob, fact: &Fact, value: &str) -> Option<Value> {
    if knob.is_unlimited(value) {
        return None;
    }
    // The unit of `16Gi` is part of the number.
    let bytes = (knob.r#type == Type::Size && fact.r#type == FactType::Number).then(|| amount(knob, value)).flatten();
    bytes.map(|bytes| Value::Number(bytes.0 as f64)).or_else(|| stated(fact, knob.meaning(value)))
}

/// `words` as a value of the type of `fact`.
pub(super) fn stated(fact: &Fact, words: &str) -> Option<Value> {
    match fact.r#type {
        FactType::Text => fact.allows(words).then(|| Value::Text(words.to_owned())),
        FactType::Flag => words.to_ascii_lowercase().parse().ok().map(Value::Flag),
        // No knob has several values.
        FactType::List => None,
        FactType::Number => match Value::read(words) {
            Value::Number(number) if number.is_finite() => Some(Value::Number(number)),
            _ => None,
        },
    }
}
