//! The memory of GPUs, by whichever driver is there: NVIDIA's library, loaded at run time, or its program; or what AMD's driver shows as
//! files.

mod nvml;
mod rocm;
mod smi;

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use nvml::Library;
use smi::Smi;

use super::amount::Amount;

/// A device at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gpu {
    pub index: u32,
    /// Without blanks.
    pub name: String,
    pub used: Amount,
    pub total: Amount,
    /// Who holds how much, by process id as the driver counts.
    pub processes: Vec<(u32, Amount)>,
}

/// The devices of this machine.
pub(super) struct Gpus {
    /// Until the driver answers, which may take seconds.
    loading: Option<Receiver<Option<Nvidia>>>,
    nvidia: Option<Nvidia>,
}

/// NVIDIA's driver, as it can be asked.
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

/// Where AMD's driver shows its devices.
const SYSFS: &str = "/sys/class";

impl Gpus {
    /// Begins to look for them.
    pub fn find() -> Gpus {
        let (found, loading) = mpsc::channel();
        // Nobody waits for it if it cannot be started.
        let _ = thread::Builder::new().name("nvml".to_owned()).spawn(move || drop(found.send(Nvidia::load())));
        Gpus { loading: Some(loading), nvidia: None }
    }

    /// What they hold now; none where no driver is there, or not yet.
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
