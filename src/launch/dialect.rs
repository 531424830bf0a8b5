//! What settings say together, as the framework decides it (`rules/dialects/`).
//!
//! A setting alone is no fact yet: 16 sequences of an update are a micro-batch unless batches are filled up by tokens. Facts that a
//! dialect decides are decided here alone. What takes a fact that nobody knows stays open; it is never guessed.

use std::collections::{BTreeMap, HashSet};

use super::Launch;
use super::facts::Stated;
use crate::config::Value as Words;
use crate::facts::{Answer, Asker, Facts, Question, Value, names};
use crate::knowledge::{Condition, Dialect, FactRow, Knob, Plain, SettingRow};
use crate::model::Citation;

/// More rounds are a circle.
const MOST: usize = 12;

/// What a dialect says of a fact.
enum Verdict<'r> {
    /// Its value, and the row that says so.
    Is(Value, &'r FactRow),
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
        let mut rows = rows(&dialects);
        rows.retain(|name, _| known.get(name).is_none());
        let mut facts = known.clone();
        for (name, value, cites) in self.settings(&dialects).into_iter().chain(self.surroundings()) {
            facts.cite(&name, value, cites);
        }
        for (name, value, cites) in stated.iter().filter(|(name, ..)| !rows.contains_key(&**name)) {
            facts.cite(name, value.clone(), cites.clone());
        }
        settle(&rows, &mut facts, stated);
        let is_new = |name: &str| known.get(name).is_none();
        let all = facts.iter().filter(|(name, _)| is_new(name));
        all.map(|(name, fact)| (name.into(), fact.value.clone(), fact.cites.clone())).collect()
    }

    /// What dialects decide otherwise than `before` once `knob`, whose fact `after` has, is set to `to`.
    pub(super) fn decided_otherwise(
        &self,
        before: &Facts,
        after: &Facts,
        knob: &Knob,
        to: &str,
    ) -> Vec<(String, Value)> {
        let dialects = self.dialects();
        let rows = rows(&dialects);
        let is_knob = |row: &SettingRow| row.keys.iter().any(|key| knob.knows(key));
        let settings = dialects.iter().flat_map(|dialect| &dialect.setting).filter(|(_, row)| is_knob(row));
        let settings: Vec<String> = settings.map(|(name, _)| format!("set.{name}")).collect();
        let asks = |row: &&FactRow| {
            let expressions = [&row.by, &row.when].into_iter().flatten();
            knob.fact
                .as_ref()
                .is_some_and(|fact| expressions.into_iter().any(|expression| expression.contains(&**fact)))
        };
        if self.documents.is_empty() || settings.is_empty() && !rows.values().flatten().any(asks) {
            return Vec::new();
        }
        let undecided = |facts: &Facts| {
            let mut rest = Facts::default();
            for (name, known) in facts.iter().filter(|(name, _)| !rows.contains_key(name)) {
                rest.cite(name, known.value.clone(), known.cites.clone());
            }
            rest
        };
        let (mut was, mut is) = (undecided(before), undecided(after));
        let value = read(&Words::of_word(to)).unwrap_or(Value::Text(String::new()));
        settings.iter().for_each(|name| is.replace(name, value.clone()));
        settle(&rows, &mut was, &[]);
        settle(&rows, &mut is, &[]);
        let changed = |name: &&str| was.get(name).map(|known| &known.value) != is.get(name).map(|known| &known.value);
        let changed = rows.keys().copied().filter(changed);
        changed.filter_map(|name| Some((name.to_owned(), is.get(name)?.value.clone()))).collect()
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

/// What decides each fact, the rows of what stands above first.
fn rows<'d>(dialects: &[&'d Dialect]) -> BTreeMap<&'d str, Vec<&'d FactRow>> {
    let mut rows: BTreeMap<&str, Vec<&FactRow>> = BTreeMap::new();
    for (name, of_fact) in dialects.iter().flat_map(|dialect| &dialect.fact) {
        rows.entry(name).or_default().extend(of_fact);
    }
    rows
}

/// Adds to `facts` what `rows` decide over them; where none of a fact's rows holds, what is `stated` of it.
fn settle(rows: &BTreeMap<&str, Vec<&FactRow>>, facts: &mut Facts, stated: &[Stated]) {
    let mut open: Vec<&str> = rows.keys().copied().collect();
    for _ in 0..MOST {
        // Each round sees what the rounds before decided.
        let asker = Asker::new(facts);
        let before = open.len();
        open.retain(|name| {
            match rows.get(name).map_or(Verdict::Nothing, |rows| verdict(rows, &asker)) {
                Verdict::Is(value, row) => {
                    let cites = cites(row, &value, facts);
                    facts.cite(name, value, cites);
                }
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
}

fn verdict<'r>(rows: &[&'r FactRow], asker: &Asker<'_>) -> Verdict<'r> {
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
        return value.map_or(Verdict::Open, |value| Verdict::Is(value, row));
    }
    Verdict::Nothing
}

/// Where `value` stands: what `row` computes it from, else what it asks for. That something is not so stands nowhere.
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
