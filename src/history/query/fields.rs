//! What can be asked for by name, and what is read as a value of it.

use std::str::FromStr;

use super::{Name, What};
use crate::facts::Value;
use crate::history::record::seconds;
use crate::history::stats::{DAY, monday};
use crate::history::{Age, State};
use crate::model::{FigureName, Kind, Phase};

/// What stands before a colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Kind,
    Phase,
    After,
    Before,
    Week,
    Resolved,
    Is,
    Name(Name),
    Figure(FigureName),
}

/// All but the figures.
const FIELDS: [(&str, Field); 21] = [
    ("kind", Field::Kind),
    ("phase", Field::Phase),
    ("after", Field::After),
    ("since", Field::After),
    ("before", Field::Before),
    ("week", Field::Week),
    ("resolved", Field::Resolved),
    ("is", Field::Is),
    ("id", Field::Name(Name::Id)),
    ("group", Field::Name(Name::Group)),
    ("cause", Field::Name(Name::Cause)),
    ("framework", Field::Name(Name::Framework)),
    ("model", Field::Name(Name::Model)),
    ("gpu", Field::Name(Name::Gpu)),
    ("host", Field::Name(Name::Host)),
    ("role", Field::Name(Name::Role)),
    ("job", Field::Name(Name::Job)),
    ("tag", Field::Name(Name::Tag)),
    ("file", Field::Name(Name::File)),
    ("cluster", Field::Name(Name::Cluster)),
    ("assignee", Field::Name(Name::Assignee)),
];

/// What is wrong with a name or a value, and what may be meant.
pub(super) type Slip = (String, String);

impl FromStr for Field {
    type Err = Slip;

    fn from_str(name: &str) -> Result<Field, Slip> {
        let figures = FigureName::ALL.iter().map(|figure| (figure.as_str(), Field::Figure(*figure)));
        one_of("field", name, FIELDS.into_iter().chain(figures))
            .map_err(|(problem, hint)| (problem, hint + "; in quotation marks it is text"))
    }
}

impl Field {
    /// What `value` asks for, which stands at this place in the query.
    pub fn what(self, value: &str, at: usize) -> Result<What, Slip> {
        match self {
            Field::Kind => one_of("kind", value, Kind::ALL.iter().map(|kind| (kind.as_str(), What::Kind(*kind)))),
            Field::Phase => {
                one_of("phase", value, Phase::ALL.iter().map(|phase| (phase.as_str(), What::Phase(*phase))))
            }
            Field::Is => {
                let states = [State::Open, State::Resolved, State::Reopened];
                one_of("state", value, states.into_iter().map(|state| (state.as_str(), What::Is(state))))
            }
            Field::Name(name) => Ok(What::Name { name, letters: value.trim_matches('*').to_lowercase(), at }),
            // What people write is rounded.
            Field::Figure(name) if value != "*" => {
                amount(value, 0.0).map(|amount| What::Figure(name, amount * 0.995, amount * 1.005))
            }
            Field::Figure(name) => Ok(What::Figure(name, f64::NEG_INFINITY, f64::INFINITY)),
            Field::After => Ok(What::Time(time(value)?, i64::MAX)),
            Field::Before => Ok(What::Time(i64::MIN, time(value)?)),
            Field::Week => {
                let monday = monday(time(value)?);
                Ok(What::Time(monday * DAY, (monday + 7) * DAY))
            }
            Field::Resolved => match value {
                "yes" | "true" => Ok(What::Resolved(true)),
                "no" | "false" => Ok(What::Resolved(false)),
                _ => Err((format!("`{value}` is neither yes nor no"), "write resolved:yes or resolved:no".to_owned())),
            },
        }
    }
}

/// An amount of memory, or any other number; `*` is `open`.
pub(super) fn amount(words: &str, open: f64) -> Result<f64, Slip> {
    match Value::read(&words.split_whitespace().collect::<String>()) {
        Value::Number(number) if number.is_finite() => Ok(number),
        _ if words == "*" => Ok(open),
        _ => {
            let hint = "write a number or an amount of memory: 0.95, 512MiB, 2.5GiB".to_owned();
            Err((format!("`{words}` is no amount"), hint))
        }
    }
}

/// A date, or a part of one, as the beginning of an RFC 3339 time, or an age; in seconds since 1970.
fn time(words: &str) -> Result<i64, Slip> {
    if let Ok(age) = words.parse::<Age>() {
        return Ok(age.ago());
    }
    let shape: String = words.chars().map(|sign| if sign.is_ascii_digit() { '0' } else { sign }).collect();
    let whole = ["0000", "0000-00", "0000-00-00", "0000-00-00T00:00", "0000-00-00T00:00:00", "0000-00-00T00:00:00Z"];
    let full = format!("{words}{}", "0000-01-01T00:00:00".get(words.len()..).unwrap_or_default());
    seconds(&full).filter(|_| whole.contains(&shape.as_str())).ok_or_else(|| {
        let hint = "write 2026-10-01, 2026-10-01T12:00, 2026-10, or how long ago: 30d, 12w, 6m, 1y".to_owned();
        (format!("`{words}` is no date"), hint)
    })
}

/// What `value` stands for in `all`.
fn one_of<T>(what: &str, value: &str, all: impl Iterator<Item = (&'static str, T)>) -> Result<T, Slip> {
    let (known, mut all): (Vec<&str>, Vec<T>) = all.unzip();
    match known.iter().position(|known| *known == value) {
        Some(place) => Ok(all.swap_remove(place)),
        None => Err(unknown(what, value, &known)),
    }
}

/// That there is no such value; what is spelled most like it is meant, or else one of all there are.
pub(super) fn unknown(what: &str, value: &str, known: &[&str]) -> Slip {
    let likeness = |known: &&&str| (strsim::jaro_winkler(value, known) * 1000.0) as u64;
    let hint = match known.iter().max_by_key(likeness) {
        Some(nearest) if likeness(&nearest) > 800 => format!("did you mean `{nearest}`?"),
        _ => format!("one of: {}", known.join(", ")),
    };
    (format!("there is no {what} `{value}`"), hint)
}
