//! `nvidia-smi`, for where NVIDIA's library cannot be loaded, as in a static binary. It repeats its answers by itself
//! (`--query-gpu`, `--query-compute-apps`, `--loop-ms`; drivers 450–580).

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Gpu;
use crate::recorder::amount::Amount;

/// The queries for devices and for processes. Answers are lines of comma-separated values, amounts in MiB.
const DEVICES: &str = "--query-gpu=index,uuid,name,memory.used,memory.total";
const PROCESSES: &str = "--query-compute-apps=timestamp,gpu_uuid,pid,used_memory";
/// The interval of answers in milliseconds.
const EVERY: u64 = 1000;
/// Older answers are ignored: where no process runs nothing is printed, and the driver may hang.
const STALE: Duration = Duration::from_millis(3 * EVERY);

/// The running programs; dropping this ends them.
pub(super) struct Smi {
    said: Arc<Mutex<Answers>>,
    running: Vec<Child>,
}

/// Their latest answers.
#[derive(Default)]
struct Answers {
    /// Devices by index, each with its UUID and the time of the answer.
    devices: BTreeMap<u32, (String, Gpu, Instant)>,
    /// Processes by the device's UUID.
    processes: BTreeMap<String, DeviceUse>,
}

/// The processes on a device according to the answer with the time stamp `time`, which arrived at `came`.
struct DeviceUse {
    time: String,
    came: Instant,
    by: Vec<(u32, Amount)>,
}

impl Smi {
    /// `None` where the program cannot be started.
    pub fn start(program: &str) -> Option<Smi> {
        let mut smi = Smi { said: Arc::default(), running: Vec::new() };
        smi.ask(program, DEVICES, Answers::device)?;
        smi.ask(program, PROCESSES, Answers::process)?;
        Some(smi)
    }

    fn ask(&mut self, program: &str, what: &str, hear: fn(&mut Answers, &[&str]) -> Option<()>) -> Option<()> {
        let mut asked = Command::new(program);
        asked.args([what, "--format=csv,noheader,nounits", &format!("--loop-ms={EVERY}")]);
        let mut child = asked.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let answers = child.stdout.take()?;
        self.running.push(child);
        let said = Arc::clone(&self.said);
        let listen = move || {
            // Lines that are no answer are ignored.
            for line in BufReader::new(answers).lines().map_while(Result::ok) {
                let fields: Vec<&str> = line.split(',').map(str::trim).collect();
                let _ = hear(&mut lock(&said), &fields);
            }
        };
        thread::Builder::new().name("nvidia-smi".to_owned()).spawn(listen).ok().map(drop)
    }

    /// The GPUs according to the latest answers.
    pub fn now(&self) -> Vec<Gpu> {
        let said = lock(&self.said);
        let of = |uuid: &String| {
            let held = said.processes.get(uuid).filter(|held| held.came.elapsed() < STALE);
            held.map(|held| held.by.clone()).unwrap_or_default()
        };
        let fresh = said.devices.values().filter(|(_, _, came)| came.elapsed() < STALE);
        fresh.map(|(uuid, gpu, _)| Gpu { processes: of(uuid), ..gpu.clone() }).collect()
    }
}

impl Drop for Smi {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            // Not waited for: a process that hangs in the driver does not end.
            let _ = child.try_wait();
        }
    }
}

impl Answers {
    fn device(&mut self, fields: &[&str]) -> Option<()> {
        let [index, uuid, name, used, total] = fields else { return None };
        let (index, used, total) = (index.parse().ok()?, mebibytes(used)?, mebibytes(total)?);
        let gpu = Gpu { index, name: name.replace([' ', ':'], "_"), used, total, processes: Vec::new() };
        self.devices.insert(index, ((*uuid).to_owned(), gpu, Instant::now()));
        Some(())
    }

    fn process(&mut self, fields: &[&str]) -> Option<()> {
        let [time, uuid, pid, held_amount] = fields else { return None };
        let new = || DeviceUse { time: (*time).to_owned(), came: Instant::now(), by: Vec::new() };
        let held = self.processes.entry((*uuid).to_owned()).or_insert_with(new);
        if held.time != *time {
            *held = new();
        }
        // The amount is `[N/A]` in a container whose processes the driver cannot see.
        held.by.push((pid.parse().ok()?, mebibytes(held_amount)?));
        Some(())
    }
}

fn mebibytes(text: &str) -> Option<Amount> {
    let mebibytes: u64 = text.parse().ok()?;
    mebibytes.checked_mul(1 << 20).map(Amount)
}

fn lock(said: &Mutex<Answers>) -> MutexGuard<'_, Answers> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// A script stands in for the program: tests need no GPU.
    #[test]
    fn hears_what_the_program_repeats() -> Outcome {
        let folder = tempfile::tempdir()?;
        let program = folder.path().join("nvidia-smi");
        let script = "#!/bin/sh\ncase $1 in\n\
            --query-gpu*) echo '1, GPU-b, NVIDIA H100 80GB HBM3, 70000, 81559'; echo '0, GPU-a, NVIDIA H100 80GB HBM3, 4, 81559';;\n\
            *) echo 'time 1, GPU-b, 10, 1'; echo 'time 2, GPU-b, 4711, 69990'; echo 'time 2, GPU-b, 4712, [N/A]';;\nesac\nexec sleep 600\n";
        std::fs::write(&program, script)?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        let smi = Smi::start(program.to_str().ok_or("no name")?).ok_or("it does not start")?;
        let mut gpus = smi.now();
        while gpus.len() < 2 || gpus[1].processes != [(4711, Amount(69990 << 20))] {
            thread::yield_now();
            gpus = smi.now();
        }
        assert_eq!((gpus[0].index, gpus[0].used, gpus[0].processes.len()), (0, Amount(4 << 20), 0));
        assert_eq!((gpus[1].name.as_str(), gpus[1].total), ("NVIDIA_H100_80GB_HBM3", Amount(81559 << 20)));
        let running: Vec<u32> = smi.running.iter().map(Child::id).collect();
        drop(smi);
        let is_running = |pid: &u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            status.contains("State:") && !status.contains("State:\tZ")
        };
        while running.iter().any(is_running) {
            thread::yield_now();
        }
        Ok(())
    }

    #[test]
    fn a_machine_without_the_program_has_none() {
        assert!(Smi::start("/nothing/nvidia-smi").is_none());
    }

    #[test]
    fn what_is_no_answer_is_passed_over() {
        let mut said = Answers::default();
        for line in [
            "",
            "No devices were found",
            "0, GPU-a",
            "0, GPU-a, name, [N/A], 1",
            "0, GPU-a, name, 99999999999999999999, 1",
        ] {
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            assert!(said.device(&fields).is_none(), "{line}");
        }
        assert!(said.devices.is_empty());
    }
}
