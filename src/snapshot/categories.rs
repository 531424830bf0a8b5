//! Assigns a purpose and a line of the program to allocations, by their stacks.

use std::sync::Arc;

use super::structure::{Call, Recording, Stack};
use crate::incident;
use crate::knowledge::{Knowledge, Libraries, SnapshotRules};
use crate::model::{Citation, Frame, Location};

/// The category of each stack of a recording.
pub struct Categories {
    rules: &'static SnapshotRules,
    /// The rule row that each call of the recording matches.
    rows: Vec<Option<usize>>,
    of_stack: Vec<usize>,
}

impl Categories {
    /// Categorises the stacks of `recording`: by the first row of `rules/snapshot.toml` that one of a stack's calls
    /// matches, else by the phase that the stack shows.
    pub fn of(recording: &Recording, knowledge: &Knowledge) -> Categories {
        let rules = SnapshotRules::shipped();
        let rows: Vec<Option<usize>> =
            recording.calls.iter().map(|call| rules.row(&call.file, &call.function)).collect();
        let row = |calls: &Vec<u32>| calls.iter().filter_map(|call| *rows.get(*call as usize)?).min();
        let phase = |stack: Stack| incident::phase_of(&frames_of(recording, stack), knowledge);
        let category = |(number, calls): (usize, &Vec<u32>)| match row(calls) {
            Some(row) => rules.category_of_row(row),
            None => phase(Stack(number as u32)).map_or(rules.unknown(), |phase| rules.category_of_phase(phase)),
        };
        let of_stack = recording.stacks.iter().enumerate().map(category).collect();
        Categories { rules, rows, of_stack }
    }

    /// The number of the call whose line is the most useful: the innermost of the user's own, else the innermost of
    /// Python. If no Python call was recorded, as in the backward pass on a GPU, it is the innermost that matches a
    /// category.
    pub fn place(&self, recording: &Recording, stack: Stack, libraries: &Libraries) -> Option<u32> {
        let calls = recording.stacks.get(stack.0 as usize)?;
        let innermost = |wanted: &dyn Fn(&Call) -> bool| {
            calls.iter().copied().find(|call| recording.calls.get(*call as usize).is_some_and(wanted))
        };
        let tells = |call: &u32| self.rows.get(*call as usize).copied().flatten().is_some();
        innermost(&|call| libraries.is_own(&call.file))
            .or_else(|| innermost(&|call| call.file.ends_with(".py")))
            .or_else(|| calls.iter().copied().find(tells))
    }

    /// The number of categories, including the unknown one.
    pub fn count(&self) -> usize {
        self.rules.category.len() + 1
    }

    /// The number of the unknown category.
    pub fn unknown(&self) -> usize {
        self.rules.unknown()
    }

    /// The category's number for `stack`.
    pub fn number(&self, stack: Stack) -> usize {
        self.of_stack.get(stack.0 as usize).copied().unwrap_or(self.unknown())
    }

    /// The category's name for `stack`.
    pub fn name(&self, stack: Stack) -> Arc<str> {
        self.name_of(self.number(stack))
    }

    /// The name of the category with this number.
    pub fn name_of(&self, number: usize) -> Arc<str> {
        self.rules.name(number)
    }
}

/// The Python calls of `stack`, outermost first, like the frames of a log's traceback.
pub fn frames_of(recording: &Recording, stack: Stack) -> Vec<Frame> {
    let is_python = |file: &str| file.ends_with(".py") || file.starts_with('<');
    let calls = recording.calls(stack).filter(|call| is_python(&call.file));
    let frame = |call: &Call| {
        let text = format!("File \"{}\", line {}, in {}", call.file, call.line, call.function);
        Frame {
            file: call.file.to_string(),
            function: call.function.to_string(),
            code: String::new(),
            at: Citation::new(Location::of_whole(&recording.path), text),
        }
    };
    calls.rev().map(frame).collect()
}
