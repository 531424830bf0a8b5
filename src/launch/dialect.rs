//! Derives facts from several settings together, by the dialect of the framework (`rules/dialects/`).
//!
//! A single setting is not always a fact: 16 sequences per update are a micro-batch only if batches are not filled up
//! by tokens. Facts that a dialect derives are derived only here. One that depends on an unknown fact stays open; it is
//! never guessed.

use std::collections::{BTreeMap, HashSet};

use super::JobConfig;
use super::facts::StatedFact;
use crate::config::{Command, Value as Words};
use crate::facts::{Answer, Evaluator, Expression, Facts, Value, names};
use crate::knowledge::{Condition, Dialect, FactRow, Knob, SettingRow};
use crate::model::Citation;

/// What the rows of a dialect say of a fact.
enum Verdict<'r> {
    /// Its value, and the row that gives it.
    Is(Value, &'r FactRow),
    /// No row applies, so a setting of the fact itself counts, if there is one.
    Nothing,
    /// A row needs a fact that is not known.
    Open,
}

impl JobConfig<'_> {
    /// Adds the `stated` facts, except those that the dialects of the job's stack derive, and then the derived ones.
    /// Facts that are already known are not overridden.
    pub(super) fn decide(&self, facts: &mut Facts, stated: &[StatedFact]) {
        let dialects = self.dialects();
        let mut rows = rows(&dialects);
        rows.retain(|name, _| facts.get(name).is_none());
        if !dialects.is_empty() {
            let surroundings = self.surroundings(facts);
            for (name, value, cites) in self.settings(&dialects).into_iter().chain(surroundings) {
                facts.cite(&name, value, cites);
            }
        }
        for (name, value, cites) in stated.iter().filter(|(name, ..)| !rows.contains_key(&**name)) {
            facts.cite(name, value.clone(), cites.clone());
        }
        settle(&rows, facts, stated);
    }

    /// `facts` with everything that dialects derive recomputed from the rest.
    pub(super) fn decided(&self, facts: &Facts) -> Facts {
        let dialects = self.dialects();
        decided(&rows(&dialects), facts)
    }

    /// Sets in `facts` to `to` what the dialects call the settings that `knob` is, so that further changes build on this one.
    pub(super) fn set(&self, facts: &mut Facts, knob: &Knob, to: &str) {
        let is_knob = |row: &SettingRow| row.keys.iter().any(|key| knob.knows(key));
        let value = read(&Words::of_word(to)).unwrap_or(Value::Text(String::new()));
        for dialect in self.dialects() {
            for (name, _) in dialect.setting.iter().filter(|(_, row)| is_knob(row)) {
                facts.replace(&format!("set.{name}"), value.clone());
            }
        }
    }

    /// The facts that dialects derive differently once `knob` is turned. `after` already holds the knob's own fact and setting at their
    /// new value; `before` yields what the dialects derived for the old one.
    pub(super) fn decided_otherwise<'f>(
        &self,
        before: impl FnOnce() -> &'f Facts,
        after: &Facts,
        knob: &Knob,
    ) -> Vec<(String, Value)> {
        let dialects = self.dialects();
        let rows = rows(&dialects);
        let is_knob = |row: &SettingRow| row.keys.iter().any(|key| knob.knows(key));
        let is_setting = dialects.iter().flat_map(|dialect| dialect.setting.values()).any(is_knob);
        let asks = |row: &&FactRow| {
            let mut asked = row.expressions().flat_map(|expression| names(expression));
            knob.fact.as_deref().is_some_and(|fact| row.asks_any(&[fact]) && asked.any(|name| name == fact))
        };
        if !is_setting && !rows.values().flatten().any(asks) {
            return Vec::new();
        }
        let (was, is) = (before(), decided(&rows, after));
        let changed = |name: &&str| was.get(name).map(|known| &known.value) != is.get(name).map(|known| &known.value);
        let changed = rows.keys().copied().filter(changed);
        changed.filter_map(|name| Some((name.to_owned(), is.get(name)?.value.clone()))).collect()
    }

    /// The dialects of the job's framework and of the frameworks beneath it, nearest first; none if no configuration is
    /// known.
    fn dialects(&self) -> Vec<&Dialect> {
        if self.documents.is_empty() {
            return Vec::new();
        }
        let stack = self.knowledge.stack(self.framework());
        let of = |name: &str| self.knowledge.dialects.iter().find(|dialect| *dialect.framework == *name);
        stack.into_iter().filter_map(of).collect()
    }

    /// How the job's framework spells what its dialect calls `name`.
    pub(crate) fn key_of(&self, name: &str) -> Option<&str> {
        let mut rows = self.dialects().into_iter().filter_map(|dialect| dialect.setting.get(name));
        rows.find_map(|row| row.keys.first()).map(|key| &**key)
    }

    /// The settings that dialects ask for, or their defaults: `set.…`.
    fn settings(&self, dialects: &[&Dialect]) -> Vec<StatedFact> {
        let (mut all, mut known) = (Vec::new(), HashSet::new());
        for (name, row) in dialects.iter().flat_map(|dialect| &dialect.setting) {
            if !known.insert(name) {
                continue;
            }
            let full = || format!("set.{name}").into();
            // A value known only by running the script (a launcher's `$SLURM_NNODES`) may be given elsewhere as well.
            let mut set = self.index.entries(&self.documents, &row.keys).peekable();
            match set.peek() {
                Some(_) => {
                    let known = set.find_map(|entry| Some((read(&entry.value)?, entry)));
                    all.extend(known.map(|(value, entry)| (full(), value, vec![entry.at.clone()])));
                }
                None => all.extend(row.default.as_ref().map(|value| (full(), value.into(), Vec::new()))),
            }
        }
        all
    }

    /// The commands, comments and files of the launch, the framework, and the stack in which it failed, if it did: `launch.…`.
    fn surroundings(&self, facts: &Facts) -> Vec<StatedFact> {
        let texts = |texts: Vec<String>| Value::List(texts.into_iter().map(Value::Text).collect());
        let commands = self.documents.iter().flat_map(|document| document.commands());
        let shown = commands.map(Command::typed);
        let comments = self.documents.iter().flat_map(|document| document.shown_commands()).map(str::to_owned);
        let files = self.documents.iter().map(|document| document.path().to_string()).collect();
        let mut all = vec![
            ("launch.commands".into(), texts(shown.collect()), Vec::new()),
            ("launch.comments".into(), texts(comments.collect()), Vec::new()),
            ("launch.files".into(), texts(files), Vec::new()),
            (
                "launch.frames".into(),
                facts.get("frames").map_or_else(|| texts(Vec::new()), |known| known.value.clone()),
                Vec::new(),
            ),
            ("launch.framework".into(), Value::Text(self.framework().unwrap_or_default().to_owned()), Vec::new()),
        ];
        all.extend(self.operands());
        all
    }

    /// The first operand of each command: `operand.vllm_serve`.
    fn operands(&self) -> impl Iterator<Item = StatedFact> {
        let commands = self.documents.iter().flat_map(|document| document.commands());
        commands.filter_map(|command| {
            let words = command.words().collect::<Vec<_>>().join("_");
            let is_word = words.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let value = read(&Words::Text(command.operands.first()?.clone()))?;
            is_word.then(|| (format!("operand.{words}").into(), value, Vec::new()))
        })
    }
}

/// The rows for each fact, those of the upper frameworks first.
fn rows<'d>(dialects: &[&'d Dialect]) -> BTreeMap<&'d str, Vec<&'d FactRow>> {
    let mut rows: BTreeMap<&str, Vec<&FactRow>> = BTreeMap::new();
    for (name, of_fact) in dialects.iter().flat_map(|dialect| &dialect.fact) {
        rows.entry(name).or_default().extend(of_fact);
    }
    rows
}

/// `facts` with what `rows` derive from the others.
fn decided(rows: &BTreeMap<&str, Vec<&FactRow>>, facts: &Facts) -> Facts {
    let mut rest = facts.without(|name| rows.contains_key(name));
    settle(rows, &mut rest, &[]);
    rest
}

/// Adds what `rows` derive from `facts`. If no row for a fact applies, the `stated` value counts.
fn settle(rows: &BTreeMap<&str, Vec<&FactRow>>, facts: &mut Facts, stated: &[StatedFact]) {
    let mut open: Vec<&str> = rows.keys().copied().collect();
    let mut asked = open.clone();
    while !asked.is_empty() {
        // Each round sees the facts that earlier rounds derived.
        let evaluator = Evaluator::new(facts);
        let of = |name| (name, rows.get(name).map_or(Verdict::Nothing, |rows| verdict(rows, &evaluator)));
        let verdicts: Vec<(&str, Verdict<'_>)> = asked.into_iter().map(of).collect();
        let mut derived = Vec::new();
        for (name, verdict) in verdicts {
            match verdict {
                Verdict::Is(value, row) => {
                    let cites = cites(row, &value, facts);
                    facts.cite(name, value, cites);
                }
                Verdict::Nothing => {
                    // Only what is set counts, not a knob's own default: a dialect would have a row for that.
                    let is_set = |(stated, _, cites): &&StatedFact| **stated == *name && !cites.is_empty();
                    let all = stated.iter().filter(is_set);
                    all.for_each(|(name, value, cites)| facts.cite(name, value.clone(), cites.clone()));
                }
                Verdict::Open => continue,
            }
            derived.push(name);
        }
        open.retain(|name| !derived.contains(name));
        // Only what asks for one of these may have another verdict now.
        let asks = |name: &&str| rows.get(name).into_iter().flatten().any(|row| row.asks_any(&derived));
        asked = open.iter().copied().filter(asks).collect();
    }
}

fn verdict<'r>(rows: &[&'r FactRow], evaluator: &Evaluator<'_>) -> Verdict<'r> {
    for row in rows {
        match row.when.as_ref().map_or(Answer::Yes, |when| evaluator.ask(when)) {
            Answer::Yes => {}
            Answer::No => continue,
            Answer::Missing(_) | Answer::Nonsense(_) => return Verdict::Open,
        }
        let value = match (&row.is, &row.by) {
            (Some(value), _) => Some(value.into()),
            (None, Some(expression)) => Expression::new(expression).ok().and_then(|expr| expr.value(evaluator)),
            (None, None) => None,
        };
        return value.map_or(Verdict::Open, |value| Verdict::Is(value, row));
    }
    Verdict::Nothing
}

/// The citations for `value`: those of the facts that `row` computes it from, else of those that its condition asks
/// for. An absence (`false`, `none`) has no citation.
fn cites(row: &FactRow, value: &Value, facts: &Facts) -> Vec<Citation> {
    let stands = |expression: &Option<Condition>| -> Vec<Citation> {
        let mut cites: Vec<Citation> = Vec::new();
        let asked = expression.iter().flat_map(|expression| names(expression)).filter_map(|name| facts.get(name));
        for cite in asked.flat_map(|known| &known.cites) {
            if !cites.contains(cite) {
                cites.push(cite.clone());
            }
        }
        cites
    };
    match (stands(&row.by), value) {
        (cites, _) if !cites.is_empty() => cites,
        (_, Value::Flag(false)) => Vec::new(),
        (_, Value::Text(words)) if words == "none" => Vec::new(),
        _ => stands(&row.when),
    }
}

/// A setting's value as a fact; `None` if only running the script would tell.
fn read(value: &Words) -> Option<Value> {
    Some(match value {
        Words::Null => Value::Text(String::new()),
        Words::Bool(flag) => Value::Flag(*flag),
        Words::Number(number) => Value::Number(*number),
        Words::Text(text) => {
            let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            if name.contains(['$', '`']) {
                return None;
            }
            // Arguments of a container are text, so a number must be recognised.
            Words::of_word(text).as_number().map_or_else(|| Value::Text(text.clone()), Value::Number)
        }
    })
}
