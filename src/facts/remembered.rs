//! Keeps what was made of texts, for the texts that are asked for again and again.

use std::cell::RefCell;
use std::collections::HashMap;

/// What was made of texts before, since a condition is asked, and a stack searched, dozens of times for an incident.
pub(super) struct Remembered<T> {
    by_text: RefCell<HashMap<Box<str>, T>>,
}

impl<T: Clone> Remembered<T> {
    /// More texts than an incident asks for again; then all are forgotten.
    const MOST: usize = 4096;
    /// Longer texts are seldom asked for again, and are not kept.
    const LONGEST: usize = 4096;

    pub fn new() -> Remembered<T> {
        Remembered { by_text: RefCell::default() }
    }

    /// What `make` makes of `text`. A failure is not remembered.
    pub fn of<E>(&self, text: &str, make: impl FnOnce(&str) -> Result<T, E>) -> Result<T, E> {
        if let Some(known) = self.by_text.borrow().get(text) {
            return Ok(known.clone());
        }
        let made = make(text)?;
        if text.len() > Self::LONGEST {
            return Ok(made);
        }
        let mut by_text = self.by_text.borrow_mut();
        if by_text.len() >= Self::MOST {
            by_text.clear();
        }
        by_text.insert(text.into(), made.clone());
        Ok(made)
    }
}
