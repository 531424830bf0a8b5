//! Memory figures that jobs print beside their steps: points of the timeline, never a failure.

mod growing;
mod metrics;
mod nvidia_smi;
mod process;
mod system_tables;

pub(super) use growing::Growing;
pub(super) use metrics::Metrics;
pub(super) use nvidia_smi::NvidiaSmi;
pub(super) use process::ProcessMemory;
pub(super) use system_tables::SystemTables;
