//! What is known of an incident, by name: what rules ask for.

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
    /// What a user wrote: `3`, `500GiB`, `true`, `8b`.
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

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// The value.
    pub value: Value,
    /// The words that state it.
    pub cites: Vec<Citation>,
    /// As people write it.
    pub shown: String,
}

/// Facts by dotted name: `figures.requested`, `kernel.constraint`, `config.zero_stage`.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    by_name: BTreeMap<String, Known>,
}

impl Facts {
    /// Adds what no single line states.
    pub fn say(&mut self, name: &str, value: Value) {
        self.cite(name, value, Vec::new());
    }

    /// Adds what `cites` state. What is known first stays: the root's own words come first.
    pub fn cite(&mut self, name: &str, value: Value, cites: Vec<Citation>) {
        let shown = show(name, &value);
        self.by_name.entry(name.to_owned()).or_insert(Known { value, cites, shown });
    }

    /// States something anew, whatever was known.
    pub fn replace(&mut self, name: &str, value: Value) {
        self.by_name.remove(name);
        self.say(name, value);
    }

    /// All but those whose names are `left_out`.
    pub fn without(&self, left_out: impl Fn(&str) -> bool) -> Facts {
        let kept = self.by_name.iter().filter(|(name, _)| !left_out(name));
        Facts { by_name: kept.map(|(name, known)| (name.clone(), known.clone())).collect() }
    }

    /// What is known under a name.
    pub fn get(&self, name: &str) -> Option<&Known> {
        self.by_name.get(name)
    }

    /// A number by name.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)?.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Words by name.
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.get(name)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Known)> {
        self.by_name.iter().map(|(name, known)| (name.as_str(), known))
    }

    /// `template`, which is in `language`, with `{names}` replaced by what they hold; `None` where one is not known.
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

    /// What `name` holds, as a sentence of `language` says it: phases and the terms of the arithmetic are words, not names.
    fn said(&self, name: &str, language: Language) -> Option<Cow<'_, str>> {
        let shown = &self.get(name)?.shown;
        Some(match name {
            "phase" => shown.parse().map_or(Cow::Borrowed(shown), |phase| phase_in_words(phase, language).into()),
            "requested.quantity" | "requested.formula" => in_terms(shown, language),
            _ => Cow::Borrowed(shown),
        })
    }
}

/// Names whose numbers are no bytes.
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
        Value::Number(number) if PLAIN.iter().any(|plain| last.contains(plain)) || number.abs() < 1024.0 => {
            format!("{number}")
        }
        Value::Number(number) if name.starts_with("config.") => format!("{number}"),
        Value::Number(number) => Bytes(*number as i64).to_string(),
        Value::Text(text) => text.clone(),
        Value::Flag(flag) => flag.to_string(),
        Value::List(items) => items.iter().map(|item| show(name, item)).collect::<Vec<_>>().join(", "),
    }
}
