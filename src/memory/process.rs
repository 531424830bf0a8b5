//! Device memory of a process besides its tensors.

use std::collections::BTreeMap;

use super::component::Component;
use super::layout::Layout;
use super::{Amount, amount};
use crate::model::Bytes;

/// CUDA's context with loaded kernels, taken between the values measured: 0.14 GiB on a T4, 0.3 to 0.5 on an A100, 0.67
/// on an H100.
const CONTEXT: Bytes = Bytes(400 << 20);
/// The component that is released when memory runs short.
pub(super) const CACHED_BLOCKS: &str = "cached blocks";
/// The share of the other moments' memory that stays cached beside the largest moment.
const REUSED: f64 = 0.75;
/// The share of the memory held that is lost between blocks.
const FRAGMENTED: f64 = 0.17;
/// Buffers of NCCL's communicators, at most.
const COMMUNICATORS: Bytes = Bytes(1 << 30);

/// The process's context, and communicators if there are several devices.
pub(super) fn context(layout: &Layout) -> Vec<Component> {
    let part = |name: &str, bytes: Bytes| Component::on_device(name, Amount::up_to(bytes), format!("up to {bytes}"));
    let mut parts = vec![part("context", CONTEXT)];
    if layout.cluster.devices() > 1 {
        parts.push(part("communicators", COMMUNICATORS));
    }
    parts
}

/// Blocks that PyTorch's allocator caches beside the `held` tensors of the largest moment. It releases none until
/// memory runs out, and can reuse blocks of another size only in part: of the sum of all `parts` at their largest, a
/// half to three quarters stayed cached, and 1 to 21 per cent of the total (measured on an H100).
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
