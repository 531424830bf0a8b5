//! What code does that is no setting.

use std::ops::Range;

/// The functions that code calls, and the results that it keeps from one pass of a loop to the next.
#[derive(Debug, Clone, Default)]
pub struct Habits {
    /// `torch.no_grad`, each once.
    pub calls: Vec<String>,
    /// Where a name is added to a sum or a list within a loop: `running += loss`, `losses.append(loss)`. What a call makes of a value, as
    /// `loss.item()`, is another value.
    pub keeps: Vec<Range<usize>>,
}
