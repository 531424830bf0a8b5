//! What code does that is no setting.

use std::ops::Range;

/// The functions that code calls, and the results that it keeps from one pass of a loop to the next.
#[derive(Debug, Clone, Default)]
pub struct Habits {
    /// `torch.no_grad`, each once.
    pub calls: Vec<String>,
    /// Where a value is added to a sum or a list that outlives a step: `running += loss`, `self.outputs.append(logits)`. What a call makes of
    /// a value, as `loss.item()`, is another value, and what a backward pass or the caller needs is not kept by mistake.
    pub keeps: Vec<Range<usize>>,
    /// Where a call must stand behind such a value, by its name a tensor, so that neither its graph nor the device's memory is kept, and
    /// the call.
    pub releases: Vec<(usize, &'static str)>,
    /// Where a data set keeps what it has read: `self.cache[index] = image` in `__getitem__`.
    pub caches: Vec<Range<usize>>,
}
