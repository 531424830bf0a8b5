//! Removes a switch from a command or a directive.

use super::super::super::edit::{Edit, line_start, next_line};
use super::super::arguments::Argument;
use super::super::script::Call;
use super::super::{are_together, home};
use super::Editor;

impl Editor<'_> {
    /// Removes an option and its values with the blanks or the line that only belong to it.
    pub(super) fn without_option(&self, call: &Call, option: &Argument) -> Option<Vec<Edit>> {
        let name = call.fields.get(option.name)?;
        let home = home(name);
        let last = option.values.clone().next_back().unwrap_or(option.name);
        let beside =
            |at: Option<usize>| at.and_then(|at| call.fields.get(at)).filter(|field| are_together(field, name, home));
        let (start, end) = (self.start(name, home)?, self.end(call.fields.get(last)?, home)?);
        let before = beside(option.name.checked_sub(1)).and_then(|field| self.end(field, home));
        let next = beside(last.checked_add(1)).and_then(|field| self.start(field, home));
        if call.is_directive && call.fields.len() == 2 {
            return Some(vec![Edit::delete(line_start(self.text, start)..next_line(self.text, end))]);
        }
        let line = line_start(self.text, start)..next_line(self.text, end);
        let rest = self.text[end..line.end].trim();
        let gap = before.and_then(|before| self.text.get(before..start));
        Some(vec![Edit::delete(match (gap, next) {
            // A line of an array is removed with its comment.
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
