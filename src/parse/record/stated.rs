//! Collects the figures and facts of one event; of several with one name the first counts.

use super::value::SlotValue;
use super::{Record, text::Size};
use crate::model::{Bytes, Event, Fact, Figure, FigureName, What};

/// See the module.
#[derive(Default)]
pub(in crate::parse) struct Stated<'a> {
    first: Option<&'a str>,
    pub figures: Vec<Figure>,
    pub facts: Vec<Fact>,
}

impl<'a> Stated<'a> {
    pub fn add_figure(&mut self, record: &Record, name: FigureName, text: &'a str, read: SlotValue) {
        let figure = match read {
            SlotValue::Bytes(bytes) => record.figure(name, Size { text, bytes: Some(bytes) }),
            SlotValue::Number(value) => Some(record.number(name, text, value)),
            SlotValue::Text => None,
        };
        if let Some(figure) = figure.filter(|new| self.figures.iter().all(|figure| figure.name != new.name)) {
            self.first = self.first.or(Some(text));
            self.figures.push(figure);
        }
    }

    pub fn add_fact(&mut self, record: &Record, key: &'static str, text: &'a str, read: SlotValue) {
        if self.facts.iter().any(|fact| fact.key == key) {
            return;
        }
        self.first = self.first.or(Some(text));
        self.facts.push(match read {
            SlotValue::Bytes(Bytes(bytes)) => record.number_fact(key, text, bytes as f64),
            SlotValue::Number(value) => record.number_fact(key, text, value),
            SlotValue::Text => record.fact(key, text),
        });
    }

    /// The event, of the sort that `what` makes, unless nothing was stated.
    pub fn event(self, record: &Record, producer: &'static str, what: impl FnOnce() -> What) -> Option<Event> {
        let mut event = record.event(producer, self.first?, what());
        (event.figures, event.facts) = (self.figures, self.facts);
        Some(event)
    }
}
