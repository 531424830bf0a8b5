//! GPU memory: from NVIDIA's management library, loaded at run time, or else its program; and from the files of AMD's
//! driver.

mod nvml;
mod rocm;
mod smi;

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use nvml::Library;
use smi::Smi;

use super::amount::Amount;

/// A GPU at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gpu {
    pub index: u32,
    /// Blanks replaced by underscores.
    pub name: String,
    pub used: Amount,
    pub total: Amount,
    /// The memory of each process, by the process ids that the driver reports.
    pub processes: Vec<(u32, Amount)>,
}

/// The GPUs of this machine.
pub(super) struct Gpus {
    /// Set until NVIDIA's driver answers, which may take seconds.
    loading: Option<Receiver<Option<Nvidia>>>,
    nvidia: Option<Nvidia>,
}

/// The way to query NVIDIA's driver.
enum Nvidia {
    Library(Box<Library>),
    Program(Smi),
}

impl Nvidia {
    fn load() -> Option<Nvidia> {
        Library::load()
            .map(|library| Nvidia::Library(Box::new(library)))
            .or_else(|| Smi::start("nvidia-smi").map(Nvidia::Program))
    }

    fn now(&self) -> Vec<Gpu> {
        match self {
            Nvidia::Library(library) => library.now(),
            Nvidia::Program(program) => program.now(),
        }
    }
}

/// The folder with the files of AMD's driver.
const SYSFS: &str = "/sys/class";

impl Gpus {
    /// Starts looking for a driver.
    pub fn find() -> Gpus {
        let (found, loading) = mpsc::channel();
        // Without the thread `now` finds the channel closed and goes on without NVIDIA's driver.
        let _ = thread::Builder::new().name("nvml".to_owned()).spawn(move || drop(found.send(Nvidia::load())));
        Gpus { loading: Some(loading), nvidia: None }
    }

    /// The current state of all GPUs; empty without a driver or before it has answered.
    pub fn now(&mut self) -> Vec<Gpu> {
        if let Some(loading) = &self.loading {
            match loading.try_recv() {
                Ok(nvidia) => (self.nvidia, self.loading) = (nvidia, None),
                Err(mpsc::TryRecvError::Empty) => {}
                Err(mpsc::TryRecvError::Disconnected) => self.loading = None,
            }
        }
        let nvidia = self.nvidia.as_ref().map(Nvidia::now).unwrap_or_default();
        if nvidia.is_empty() { rocm::now(Path::new(SYSFS)) } else { nvidia }
    }
}
