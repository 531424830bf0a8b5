//! NVIDIA's management library (NVML), which comes with the driver.

use nvml_wrapper::Nvml;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;

use super::Gpu;
use crate::recorder::amount::Amount;

/// The loaded library.
pub(super) struct Library(Nvml);

impl Library {
    /// `None` without a driver.
    pub fn load() -> Option<Library> {
        Nvml::init().ok().map(Library)
    }

    /// The current state of the GPUs; one that does not answer is left out.
    pub fn now(&self) -> Vec<Gpu> {
        let count = self.0.device_count().unwrap_or_default();
        (0..count).filter_map(|index| self.device(index).ok()).collect()
    }

    fn device(&self, index: u32) -> Result<Gpu, NvmlError> {
        let device = self.0.device_by_index(index)?;
        let memory = device.memory_info()?;
        let name = device.name().unwrap_or_else(|_| "GPU".to_owned()).replace([' ', ':'], "_");
        let processes = device.running_compute_processes().unwrap_or_default();
        let processes = processes.into_iter().filter_map(|process| match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some((process.pid, Amount(bytes))),
            UsedGpuMemory::Unavailable => None,
        });
        let (used, total) = (Amount(memory.used), Amount(memory.total));
        Ok(Gpu { index, name, used, total, processes: processes.collect() })
    }
}
