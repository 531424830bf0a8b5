//! What a process takes of a device besides its tensors.

use std::collections::BTreeMap;

use super::component::Component;
use super::layout::Layout;
use super::{Amount, amount};
use crate::model::Bytes;

/// CUDA's context with the kernels that are loaded: 0.14 GiB on a T4, 0.3 to 0.5 on an A100, 0.67 measured on an H100; what
/// lies between.
const CONTEXT: Bytes = Bytes(400 << 20);
/// The part of a plan that is given back when memory runs short.
pub(super) const CACHED_BLOCKS: &str = "cached blocks";
/// Share of what other moments of a step take that stays beside the hungriest one.
const REUSED: f64 = 0.75;
/// Share of what is there that lies between blocks.
const FRAGMENTED: f64 = 0.17;
/// Buffers of NCCL's communicators, by their number.
const COMMUNICATORS: Bytes = Bytes(1 << 30);

/// Its context, and communicators where there are several devices.
pub(super) fn context(layout: &Layout) -> Vec<Component> {
    let part = |name: &str, bytes: Bytes| Component::on_device(name, Amount::up_to(bytes), format!("up to {bytes}"));
    let mut parts = vec![part("context", CONTEXT)];
    if layout.cluster.devices() > 1 {
        parts.push(part("communicators", COMMUNICATORS));
    }
    parts
}

/// Blocks that PyTorch's allocator keeps beside the `held` tensors of the hungriest moment. It gives none back unless memory
/// runs out, and what is of another size it can use but in part: where each of `parts` had its own at its largest, a half to
/// three quarters of that stayed, and 1 to 21 per cent of all that there is (measured on an H100).
pub(super) fn cached_blocks(parts: &[Component], held: Amount) -> Component {
    let mut largest: BTreeMap<&str, Bytes> = BTreeMap::new();
    for part in parts.iter().filter(|part| !part.place.is_host()) {
        let known = largest.entry(&part.name).or_default();
        *known = (*known).max(part.bytes.middle());
    }
    let others = largest.into_values().sum::<Bytes>() - held.middle();
    let most = amount::scale(others, REUSED).max(amount::scale(held.middle(), FRAGMENTED));
    let formula = format!("up to {REUSED} × what other moments need on top, or {FRAGMENTED} × what this one holds");
    Component::on_device(CACHED_BLOCKS, Amount::up_to(most), formula)
}
