//! Taking out what is set, with what only belongs to it.

use super::super::super::edit::{Edit, line_start, next_line};
use super::super::arguments::Argument;
use super::super::script::Call;
use super::super::{are_together, home};
use super::Editor;

impl Editor<'_> {
    /// Takes a flag out with its values, or one value of several.
    pub(super) fn without_argument(&self, call: &Call, argument: &Argument, value: Option<usize>) -> Option<Vec<Edit>> {
        let (first, last) = match value {
            Some(index) => (argument.values.start + index, argument.values.start + index),
            None => (argument.name, argument.values.end.max(argument.name + 1) - 1),
        };
        let name = call.fields.get(argument.name)?;
        let home = home(name);
        let (start, end) = (self.start(call.fields.get(first)?, home)?, self.end(call.fields.get(last)?, home)?);
        let beside =
            |at: Option<usize>| at.and_then(|at| call.fields.get(at)).filter(|field| are_together(field, name, home));
        let before = beside(first.checked_sub(1)).and_then(|field| self.end(field, home));
        let next = beside(last.checked_add(1)).and_then(|field| self.start(field, home));
        if call.is_directive && call.fields.len() == last - first + 2 {
            return Some(vec![Edit::delete(line_start(self.text, start)..next_line(self.text, end))]);
        }
        let line = line_start(self.text, start)..next_line(self.text, end);
        let rest = self.text[end..line.end].trim();
        let gap = before.and_then(|before| self.text.get(before..start));
        Some(vec![Edit::delete(match (gap, next) {
            // A line of its own, of an array: it goes with its comment.
            (Some(gap), _)
                if gap.contains('\n') && !gap.contains('\\') && (rest.is_empty() || rest.starts_with('#')) =>
            {
                line
            }
            (Some(gap), _) if gap.chars().all(|c| c.is_whitespace() || c == '\\') => start - gap.len()..end,
            (_, Some(next)) if next >= end => start..next,
            _ => start..end,
        })])
    }
}
