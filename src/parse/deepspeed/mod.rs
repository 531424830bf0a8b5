//! DeepSpeed: its memory prints, the workspace of its inference kernels. Its `GB` are 2^30 bytes.

mod memory;
mod workspace;

pub(super) use memory::DeepSpeed;
pub(super) use workspace::Workspace;
