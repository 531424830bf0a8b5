//! Facts of an incident by name, as rules use them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::knowledge::{Language, Plain, closed_up, in_terms, phase_in_words};
use crate::model::{Bytes, Citation};

/// A value that a rule can compare. Numbers of bytes are numbers; every number is a double.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Words.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// Several values.
    List(Vec<Value>),
}

impl Value {
    /// Parses a value that a user wrote: `3`, `500GiB`, `true`, `8b`.
    pub fn read(words: &str) -> Value {
        if let Ok(number) = words.parse() {
            return Value::Number(number);
        }
        if let Ok(flag) = words.parse() {
            return Value::Flag(flag);
        }
        match crate::parse::memory_size(words) {
            Some(bytes) => Value::Number(bytes.0 as f64),
            None => Value::Text(words.to_owned()),
        }
    }
}

impl From<&Plain> for Value {
    fn from(plain: &Plain) -> Value {
        match plain {
            Plain::Flag(flag) => Value::Flag(*flag),
            Plain::Number(number) => Value::Number(*number),
            Plain::Text(text) => Value::Text(text.clone()),
        }
    }
}

/// A value and the lines that state it.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// The value.
    pub value: Value,
    /// The words that state it.
    pub cites: Vec<Citation>,
    /// The value as text for people.
    pub shown: String,
}

/// Facts by dotted name: `figures.requested`, `kernel.constraint`, `config.zero_stage`.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    by_name: BTreeMap<String, Known>,
}

impl Facts {
    /// Adds a fact that no line states.
    pub fn say(&mut self, name: &str, value: Value) {
        self.cite(name, value, Vec::new());
    }

    /// Adds a fact that `cites` state. A known fact stays, because the root's own words are added first.
    pub fn cite(&mut self, name: &str, value: Value, cites: Vec<Citation>) {
        let shown = show(name, &value);
        self.by_name.entry(name.to_owned()).or_insert(Known { value, cites, shown });
    }

    /// Sets a fact, replacing a known one.
    pub fn replace(&mut self, name: &str, value: Value) {
        self.by_name.remove(name);
        self.say(name, value);
    }

    /// All facts except those whose names are `left_out`.
    pub fn without(&self, left_out: impl Fn(&str) -> bool) -> Facts {
        let kept = self.by_name.iter().filter(|(name, _)| !left_out(name));
        Facts { by_name: kept.map(|(name, known)| (name.clone(), known.clone())).collect() }
    }

    /// The fact of this name.
    pub fn get(&self, name: &str) -> Option<&Known> {
        self.by_name.get(name)
    }

    /// What states the fact of this name: nothing if it is unknown.
    pub fn cites(&self, name: &str) -> Vec<Citation> {
        self.get(name).map(|known| known.cites.clone()).unwrap_or_default()
    }

    /// The number of this name.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)?.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The text of this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.get(name)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the flag of this name is known to be set.
    pub fn says_yes(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Known { value: Value::Flag(true), .. }))
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Known)> {
        self.by_name.iter().map(|(name, known)| (name.as_str(), known))
    }

    /// Fills the `{names}` in `template`, which is in `language`, with facts; `None` if one is unknown.
    pub fn fill(&self, template: &str, language: Language) -> Option<String> {
        let (mut filled, mut rest) = (String::new(), template);
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}')?;
            filled.push_str(before);
            filled.push_str(&self.said(name, language)?);
            rest = behind;
        }
        filled.push_str(rest);
        Some(match language {
            Language::En => filled,
            Language::Zh => closed_up(&filled),
        })
    }

    /// The fact `name` as a sentence in `language` writes it: phases and terms of the arithmetic become words.
    fn said(&self, name: &str, language: Language) -> Option<Cow<'_, str>> {
        let shown = &self.get(name)?.shown;
        Some(match name {
            "phase" => shown.parse().map_or(Cow::Borrowed(shown), |phase| phase_in_words(phase, language).into()),
            "requested.quantity" | "requested.formula" => in_terms(shown, language),
            _ => Cow::Borrowed(shown),
        })
    }
}

/// Parts of names whose numbers are not bytes.
const PLAIN: &[&str] = &[
    "count",
    "index",
    "fraction",
    "share",
    "percent",
    "adj",
    "pid",
    "rank",
    "steps",
    "parameters",
    "stage",
    "order",
    "world_size",
    "size_of",
    "ratio",
    "tokens",
    "model_len",
];

fn show(name: &str, value: &Value) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    match value {
        Value::Number(number) if last.ends_with("share") || last.ends_with("fraction") => {
            format!("{:.0}%", number * 100.0)
        }
        // What ranks hold, and not the number of one.
        Value::Number(number) if last == "ranks" => Bytes(*number as i128).to_string(),
        Value::Number(number) if PLAIN.iter().any(|plain| last.contains(plain)) || number.abs() < 1024.0 => {
            format!("{number}")
        }
        Value::Number(number) if name.starts_with("config.") => format!("{number}"),
        Value::Number(number) => Bytes(*number as i128).to_string(),
        Value::Text(text) => text.clone(),
        Value::Flag(flag) => flag.to_string(),
        Value::List(items) => items.iter().map(|item| show(name, item)).collect::<Vec<_>>().join(", "),
    }
}
