//! Removes a switch from a command or a directive.

use super::super::super::edit::{Edit, line_start, next_line};
use super::super::arguments::Argument;
use super::super::script::Call;
use super::super::{are_together, home};
use super::Editor;

impl Editor<'_> {
    /// Removes a switch, which has no value, with the blanks or the line that only belong to it.
    pub(super) fn without_switch(&self, call: &Call, switch: &Argument) -> Option<Vec<Edit>> {
        let name = call.fields.get(switch.name)?;
        let home = home(name);
        let (start, end) = (self.start(name, home)?, self.end(name, home)?);
        let beside =
            |at: Option<usize>| at.and_then(|at| call.fields.get(at)).filter(|field| are_together(field, name, home));
        let before = beside(switch.name.checked_sub(1)).and_then(|field| self.end(field, home));
        let next = beside(switch.name.checked_add(1)).and_then(|field| self.start(field, home));
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
