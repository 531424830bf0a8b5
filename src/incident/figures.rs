//! The figures that belong to an incident.

use crate::model::{Event, Figure};

/// Figures of as many ranks tell what those of more would.
const MOST: usize = 96;

/// What the incident's own messages state, then the last memory figures that were printed before its root.
pub(super) fn of(events: &[&Event]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    let before = events.first().map(|root| root.setting.memory.iter()).into_iter().flatten();
    for figure in events.iter().flat_map(|event| &event.figures).chain(before) {
        if figures.len() < MOST && !figures.contains(figure) {
            figures.push(figure.clone());
        }
    }
    figures
}
