//! One sample of everything that is observed, and its lines in the record.

use super::amount::Amount;
use super::cgroup::{Cgroups, Limit};
use super::gpu::{Gpu, Gpus};
use super::machine::Machine;
use super::pace::Headroom;
use super::processes::{Changes, Processes};
use super::session::Peak;

/// Observes a job.
pub(super) struct Watcher {
    pub processes: Processes,
    pub cgroups: Cgroups,
    gpus: Gpus,
    /// The number of samples so far.
    round: usize,
    /// The machine before the job began.
    pub first: Machine,
    pub machine: Machine,
    /// The fraction of the machine's memory that was available in each recent sample.
    least: std::collections::VecDeque<f64>,
    /// The most memory that the job used so far.
    pub peak: Peak,
}

/// The number of recent samples that tell whether memory was short before a kill.
const RECENT: usize = 30;

/// One sample.
#[derive(Default)]
pub(super) struct Sample {
    pub lines: Vec<String>,
    pub changes: Changes,
}

impl Watcher {
    /// Observes the tree below `root`. `cgroups` and `first` were read before the job began.
    pub fn new(root: u32, cgroups: Cgroups, gpus: Gpus, first: Machine) -> Watcher {
        let processes = Processes::of(root);
        Watcher {
            processes,
            cgroups,
            gpus,
            round: 0,
            machine: first.clone(),
            first,
            least: std::collections::VecDeque::new(),
            peak: Peak::default(),
        }
    }

    /// Takes a sample.
    pub fn look(&mut self) -> Sample {
        let changes = self.processes.look();
        self.round += 1;
        for pid in self.processes.some(self.round).chain(changes.begun.iter().copied()) {
            self.cgroups.add_process(pid);
        }
        self.cgroups.read();
        self.machine = Machine::now();
        self.least.extend(self.machine.available_share());
        if self.least.len() > RECENT {
            self.least.pop_front();
        }
        let gpus = self.gpus.now();
        self.peak.host = self.peak.host.max(self.processes.held().0);
        self.peak.gpu = gpus.iter().map(|gpu| self.held_on(gpu).0).max().max(self.peak.gpu);
        let mut lines = vec![self.machine.to_string()];
        lines.extend(self.cgroups.lines());
        lines.extend(gpus.iter().flat_map(|gpu| self.of_gpu(gpu)));
        lines.extend(self.processes.lines());
        Sample { lines, changes }
    }

    /// The smallest fraction of the machine's memory that was available lately.
    pub fn least_available(&self) -> Option<f64> {
        self.least.iter().copied().min_by(f64::total_cmp)
    }

    /// The headroom of each limit.
    pub fn rooms(&self) -> Vec<Headroom> {
        let machine = self.machine.available.map(|available| Headroom { of: "machine".to_owned(), bytes: available.0 });
        let of_group = self.cgroups.all().filter_map(|level| match (level.last.limit?, level.last.current?) {
            (Limit::At(Amount(limit)), Amount(current)) => {
                Some(Headroom { of: level.path.clone(), bytes: limit.saturating_sub(current) })
            }
            (Limit::None, _) => None,
        });
        machine.into_iter().chain(of_group).collect()
    }

    /// The memory of the job's processes on `gpu`; all that is used there if the driver does not list processes.
    fn held_on(&self, gpu: &Gpu) -> Amount {
        let own = gpu.processes.iter().filter(|(pid, _)| self.processes.get(*pid).is_some());
        if gpu.processes.is_empty() { gpu.used } else { Amount(own.map(|(_, held)| held.0).sum()) }
    }

    fn of_gpu(&self, gpu: &Gpu) -> Vec<String> {
        let Gpu { index, name, used, total, processes } = gpu;
        let whole = format!("GPU {index} {name}: used {used} of {total}");
        let who = |pid: u32| self.processes.get(pid).map_or_else(|| format!("process {pid} ?"), ToString::to_string);
        let mut held: Vec<&(u32, Amount)> = processes.iter().collect();
        held.sort_by_key(|(_, held)| *held);
        let held = held.into_iter().map(|(pid, held)| format!("GPU {index} {}: used {held}", who(*pid)));
        std::iter::once(whole).chain(held).collect()
    }
}
