//! How far a knob is turned.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Direction;

/// How to turn a knob.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum To {
    /// Switch it on.
    On,
    /// Switch it off.
    Off,
    /// Multiply by this; whole numbers stay whole and at least 1.
    Scale(f64),
    /// Add this.
    Add(f64),
    /// To this value; a part in angle brackets is for the user to fill in.
    Value(String),
    /// To the file or preset shipped beside the named one, by names without folders; where none is named, to what `unset` says.
    Sibling(BTreeMap<String, String>),
    /// To the same path below this folder, in place of the one that it stands in.
    Moved(String),
    /// To what the job needs according to the arithmetic or the log; else to at least what it reached.
    Need,
}

impl To {
    /// The direction in which it goes from any value, if it has one.
    pub fn direction(&self) -> Option<Direction> {
        let rises = match self {
            To::Scale(factor) => *factor > 1.0,
            To::Add(amount) => *amount > 0.0,
            To::On | To::Off | To::Value(_) | To::Sibling(_) | To::Moved(_) | To::Need => return None,
        };
        Some(if rises { Direction::Raise } else { Direction::Lower })
    }
}
