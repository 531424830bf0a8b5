//! What settings say together, as the framework decides it (`rules/dialects/`).
//!
//! A setting alone is no fact yet: 16 sequences of an update are a micro-batch unless batches are filled up by tokens. Facts that a
//! dialect decides are decided here alone. What takes a fact that nobody knows stays open; it is never guessed.

use std::collections::{BTreeMap, HashSet};

use super::JobConfig;
use super::facts::Stated;
use crate::config::{Command, Value as Words};
use crate::facts::{Answer, Evaluator, Expression, Facts, Value, names};
use crate::knowledge::{Condition, Dialect, FactRow, Knob, SettingRow};
use crate::model::Citation;

/// What a dialect says of a fact.
enum Verdict<'r> {
    /// Its value, and the row that says so.
    Is(Value, &'r FactRow),
    /// No row holds: it is what is set, if it is.
    Nothing,
    /// It takes a fact that is not known.
    Open,
}

impl JobConfig<'_> {
    /// Adds to `facts` what is `stated`, less what the dialects of the job's stack decide, and what they decide. What is
    /// known goes before all of it.
    pub(super) fn decide(&self, facts: &mut Facts, stated: &[Stated]) {
        let dialects = self.dialects();
        let mut rows = rows(&dialects);
        rows.retain(|name, _| facts.get(name).is_none());
        if !dialects.is_empty() {
            for (name, value, cites) in self.settings(&dialects).into_iter().chain(self.surroundings()) {
                facts.cite(&name, value, cites);
            }
        }
        for (name, value, cites) in stated.iter().filter(|(name, ..)| !rows.contains_key(&**name)) {
            facts.cite(name, value.clone(), cites.clone());
        }
        settle(&rows, facts, stated);
    }

    /// `facts` as the dialects decide them from the rest alone.
    pub(super) fn decided(&self, facts: &Facts) -> Facts {
        let dialects = self.dialects();
        decided(&rows(&dialects), facts, [])
    }

    /// What dialects decide otherwise once `knob`, whose fact `after` has, is set to `to`; `before` is what they decided
    /// till then.
    pub(super) fn decided_otherwise<'f>(
        &self,
        before: impl FnOnce() -> &'f Facts,
        after: &Facts,
        knob: &Knob,
        to: &str,
    ) -> Vec<(String, Value)> {
        let dialects = self.dialects();
        let rows = rows(&dialects);
        let is_knob = |row: &SettingRow| row.keys.iter().any(|key| knob.knows(key));
        let settings = dialects.iter().flat_map(|dialect| &dialect.setting).filter(|(_, row)| is_knob(row));
        let mut settings = settings.map(|(name, _)| format!("set.{name}")).peekable();
        let asks = |row: &&FactRow| {
            let mut asked = [&row.by, &row.when].into_iter().flatten().flat_map(|expression| names(expression));
            asked.any(|name| knob.fact.as_deref() == Some(name))
        };
        if settings.peek().is_none() && !rows.values().flatten().any(asks) {
            return Vec::new();
        }
        let value = read(&Words::of_word(to)).unwrap_or(Value::Text(String::new()));
        let (was, is) = (before(), decided(&rows, after, settings.map(|name| (name, value.clone()))));
        let changed = |name: &&str| was.get(name).map(|known| &known.value) != is.get(name).map(|known| &known.value);
        let changed = rows.keys().copied().filter(changed);
        changed.filter_map(|name| Some((name.to_owned(), is.get(name)?.value.clone()))).collect()
    }

    /// The dialects of the job's framework and of what it stands on, nearest first; none where no configuration is known.
    fn dialects(&self) -> Vec<&Dialect> {
        if self.documents.is_empty() {
            return Vec::new();
        }
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
                None => all.extend(row.default.as_ref().map(|value| (full(), value.into(), Vec::new()))),
            }
        }
        all
    }

    /// What was launched, and which files say so: `launch.…`.
    fn surroundings(&self) -> Vec<Stated> {
        let texts = |texts: Vec<String>| Value::List(texts.into_iter().map(Value::Text).collect());
        let commands = self.documents.iter().flat_map(|document| document.commands());
        let shown = commands.map(Command::typed);
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
            let words = command.words().collect::<Vec<_>>().join("_");
            let is_word = words.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let value = read(&Words::Text(command.operands.first()?.clone()))?;
            is_word.then(|| (format!("operand.{words}").into(), value, Vec::new()))
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

/// What `rows` decide over the rest of `facts`, with what is `set` instead.
fn decided(
    rows: &BTreeMap<&str, Vec<&FactRow>>,
    facts: &Facts,
    set: impl IntoIterator<Item = (String, Value)>,
) -> Facts {
    let mut rest = facts.without(|name| rows.contains_key(name));
    set.into_iter().for_each(|(name, value)| rest.replace(&name, value));
    settle(rows, &mut rest, &[]);
    rest
}

/// Adds to `facts` what `rows` decide over them; where none of a fact's rows holds, what is `stated` of it.
fn settle(rows: &BTreeMap<&str, Vec<&FactRow>>, facts: &mut Facts, stated: &[Stated]) {
    let mut open: Vec<&str> = rows.keys().copied().collect();
    while !open.is_empty() {
        // Each round sees what the rounds before decided.
        let evaluator = Evaluator::new(facts);
        let before = open.len();
        open.retain(|name| {
            match rows.get(name).map_or(Verdict::Nothing, |rows| verdict(rows, &evaluator)) {
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
