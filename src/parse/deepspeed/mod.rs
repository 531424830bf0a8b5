//! DeepSpeed: its memory prints, its settings, the workspace of its inference kernels. Its `GB` are 2^30 bytes.

mod memory;
mod settings;
mod workspace;

pub(super) use memory::DeepSpeed;
pub(super) use settings::SETTINGS;
pub(super) use workspace::{WORKSPACE_SIZE, Workspace};
