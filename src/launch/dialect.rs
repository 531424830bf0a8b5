//! What settings say together, as the framework decides it (`rules/dialects/`).
//!
//! A setting alone is no fact yet: 16 sequences of an update are a micro-batch unless batches are filled up by tokens. Facts that a
//! dialect decides are decided here alone. What takes a fact that nobody knows stays open; it is never guessed.

use std::collections::{BTreeMap, HashSet};

use super::Launch;
use super::facts::Stated;
use crate::config::Value as Words;
use crate::facts::{Answer, Asker, Facts, Question, Value};
use crate::knowledge::{Dialect, FactRow, Plain};

/// More rounds are a circle.
const MOST: usize = 12;

/// What a dialect says of a fact.
enum Verdict {
    /// Its value.
    Is(Value),
    /// No row holds: it is what is set, if it is.
    Nothing,
    /// It takes a fact that is not known.
    Open,
}

impl Launch<'_> {
    /// `stated`, less what the dialects of the job's stack decide, and what they decide. `known` goes before all of it.
    pub(super) fn decide(&self, known: &Facts, stated: &[Stated]) -> Vec<Stated> {
        let dialects = self.dialects();
        if dialects.is_empty() || self.documents.is_empty() {
            return stated.to_vec();
        }
        let mut rows: BTreeMap<&str, Vec<&FactRow>> = BTreeMap::new();
        for (name, of_fact) in dialects.iter().flat_map(|dialect| &dialect.fact) {
            rows.entry(name).or_default().extend(of_fact);
        }
        rows.retain(|name, _| known.get(name).is_none());
        let mut facts = known.clone();
        for (name, value, cites) in self.settings(&dialects).into_iter().chain(self.surroundings()) {
            facts.cite(&name, value, cites);
        }
        for (name, value, cites) in stated.iter().filter(|(name, ..)| !rows.contains_key(&**name)) {
            facts.cite(name, value.clone(), cites.clone());
        }
        let mut open: Vec<&str> = rows.keys().copied().collect();
        for _ in 0..MOST {
            let before = open.len();
            // What no row decides is known once it is known that none does.
            open.retain(|name| {
                let asker = Asker::new(&facts);
                match verdict(&rows[name], &asker) {
                    Verdict::Is(value) => facts.say(name, value),
                    Verdict::Nothing => {
                        // Of a knob's own default the dialect would know.
                        let is_set = |(stated, _, cites): &&Stated| **stated == **name && !cites.is_empty();
                        let all = stated.iter().filter(is_set);
                        all.for_each(|(name, value, cites)| facts.cite(name, value.clone(), cites.clone()));
                    }
                    Verdict::Open => return true,
                }
                false
            });
            if open.len() == before {
                break;
            }
        }
        let is_new = |name: &str| known.get(name).is_none();
        let all = facts.iter().filter(|(name, _)| is_new(name));
        all.map(|(name, fact)| (name.into(), fact.value.clone(), fact.cites.clone())).collect()
    }

    /// The dialects of the job's framework and of what it stands on, nearest first.
    fn dialects(&self) -> Vec<&Dialect> {
        let stack = self.knowledge.stack(self.framework());
        let of = |name: &str| self.knowledge.dialects.iter().find(|dialect| *dialect.framework == *name);
        stack.into_iter().filter_map(of).collect()
    }

    /// What is set, and what holds where nothing is: `set.…`.
    fn settings(&self, dialects: &[&Dialect]) -> Vec<Stated> {
        let (mut all, mut known) = (Vec::new(), HashSet::new());
        for (name, row) in dialects.iter().flat_map(|dialect| &dialect.setting) {
            if !known.insert(name) {
                continue;
            }
            let full = || format!("set.{name}").into();
            // What only running the script would tell may stand elsewhere too: a launcher's `$SLURM_NNODES`.
            let mut set = self.index.all_of(&self.documents, &row.keys).peekable();
            match set.peek() {
                Some(_) => {
                    let known = set.find_map(|entry| Some((read(&entry.value)?, entry)));
                    all.extend(known.map(|(value, entry)| (full(), value, vec![entry.at.clone()])));
                }
                None => all.extend(row.default.as_ref().map(|value| (full(), plain(value), Vec::new()))),
            }
        }
        all
    }

    /// What was launched, and which files say so: `launch.…`.
    fn surroundings(&self) -> Vec<Stated> {
        let texts = |texts: Vec<String>| Value::List(texts.into_iter().map(Value::Text).collect());
        let commands = self.documents.iter().flat_map(|document| document.commands());
        let shown = commands.map(|command| {
            let words = [Some(command.program.as_str()), command.target.as_deref()];
            words.into_iter().flatten().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
        });
        let comments = self.documents.iter().flat_map(|document| document.shown_commands()).map(str::to_owned);
        let files = self.documents.iter().map(|document| document.path().to_string()).collect();
        let mut all = vec![
            ("launch.commands".into(), texts(shown.collect()), Vec::new()),
            ("launch.comments".into(), texts(comments.collect()), Vec::new()),
            ("launch.files".into(), texts(files), Vec::new()),
            ("launch.framework".into(), Value::Text(self.framework().unwrap_or_default().to_owned()), Vec::new()),
        ];
        all.extend(self.operands());
        all
    }

    /// What commands are given besides options, the first of each: `operand.vllm_serve`.
    fn operands(&self) -> impl Iterator<Item = Stated> {
        let commands = self.documents.iter().flat_map(|document| document.commands());
        commands.filter_map(|command| {
            let words = [command.program.as_str(), command.target.as_deref().unwrap_or_default()].join("_");
            let is_word = words.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let value = read(&Words::Text(command.operands.first()?.clone()))?;
            is_word.then(|| (format!("operand.{}", words.trim_end_matches('_')).into(), value, Vec::new()))
        })
    }
}

fn verdict(rows: &[&FactRow], asker: &Asker<'_>) -> Verdict {
    for row in rows {
        match row.when.as_ref().map_or(Answer::Yes, |when| asker.ask(when)) {
            Answer::Yes => {}
            Answer::No => continue,
            Answer::Missing(_) | Answer::Nonsense(_) => return Verdict::Open,
        }
        let value = match (&row.is, &row.by) {
            (Some(value), _) => Some(plain(value)),
            (None, Some(expression)) => Question::new(expression).ok().and_then(|question| question.value(asker)),
            (None, None) => None,
        };
        return value.map_or(Verdict::Open, Verdict::Is);
    }
    Verdict::Nothing
}

fn plain(value: &Plain) -> Value {
    match value {
        Plain::Flag(flag) => Value::Flag(*flag),
        Plain::Number(number) => Value::Number(*number),
        Plain::Text(text) => Value::Text(text.clone()),
    }
}

/// A setting's value; nothing where only running the script would tell.
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
            // A container's words carry no type.
            Words::of_word(text).as_number().map_or_else(|| Value::Text(text.clone()), Value::Number)
        }
    })
}
