//! NVIDIA's own program, where its library cannot be loaded, as by a static binary: `nvidia-smi`, which repeats its answers
//! (`--query-gpu`, `--query-compute-apps`, `--loop-ms`; drivers 450–580).

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Gpu;
use crate::recorder::amount::Amount;

/// What is asked of devices, and of processes on them. The answers are lines with commas, amounts in MiB.
const DEVICES: &str = "--query-gpu=index,uuid,name,memory.used,memory.total";
const PROCESSES: &str = "--query-compute-apps=timestamp,gpu_uuid,pid,used_memory";
/// Answers come as often as this, in milliseconds.
const EVERY: u64 = 1000;
/// An older answer is none: where nothing runs nothing is said of processes, and the driver may hang.
const STALE: Duration = Duration::from_millis(3 * EVERY);

/// The program, running; it ends with this.
pub(super) struct Smi {
    said: Arc<Mutex<Said>>,
    running: Vec<Child>,
}

/// What it said last.
#[derive(Default)]
struct Said {
    /// Devices by their numbers, each with its name for itself, and when that was said.
    devices: BTreeMap<u32, (String, Gpu, Instant)>,
    /// Processes by the names of devices for themselves.
    processes: BTreeMap<String, Held>,
}

/// Who holds how much of a device, by the answer that names this time, and when that came.
struct Held {
    time: String,
    came: Instant,
    by: Vec<(u32, Amount)>,
}

impl Smi {
    /// `None` where there is no such program.
    pub fn start(program: &str) -> Option<Smi> {
        let mut smi = Smi { said: Arc::default(), running: Vec::new() };
        smi.ask(program, DEVICES, Said::device)?;
        smi.ask(program, PROCESSES, Said::process)?;
        Some(smi)
    }

    fn ask(&mut self, program: &str, what: &str, hear: fn(&mut Said, &[&str]) -> Option<()>) -> Option<()> {
        let mut asked = Command::new(program);
        asked.args([what, "--format=csv,noheader,nounits", &format!("--loop-ms={EVERY}")]);
        let mut child = asked.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let answers = child.stdout.take()?;
        self.running.push(child);
        let said = Arc::clone(&self.said);
        let listen = move || {
            // What is no answer is passed over.
            for line in BufReader::new(answers).lines().map_while(Result::ok) {
                let fields: Vec<&str> = line.split(',').map(str::trim).collect();
                let _ = hear(&mut lock(&said), &fields);
            }
        };
        thread::Builder::new().name("nvidia-smi".to_owned()).spawn(listen).ok().map(drop)
    }

    /// The devices as they were said to be last.
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
            // Not waited for: one that hangs in the driver does not end.
            let _ = child.try_wait();
        }
    }
}

impl Said {
    fn device(&mut self, fields: &[&str]) -> Option<()> {
        let [index, uuid, name, used, total] = fields else { return None };
        let (index, used, total) = (index.parse().ok()?, mebibytes(used)?, mebibytes(total)?);
        let gpu = Gpu { index, name: name.replace([' ', ':'], "_"), used, total, processes: Vec::new() };
        self.devices.insert(index, ((*uuid).to_owned(), gpu, Instant::now()));
        Some(())
    }

    fn process(&mut self, fields: &[&str]) -> Option<()> {
        let [time, uuid, pid, held_amount] = fields else { return None };
        let new = || Held { time: (*time).to_owned(), came: Instant::now(), by: Vec::new() };
        let held = self.processes.entry((*uuid).to_owned()).or_insert_with(new);
        if held.time != *time {
            *held = new();
        }
        // `[N/A]` in a container whose processes the driver does not know.
        held.by.push((pid.parse().ok()?, mebibytes(held_amount)?));
        Some(())
    }
}

fn mebibytes(text: &str) -> Option<Amount> {
    let mebibytes: u64 = text.parse().ok()?;
    mebibytes.checked_mul(1 << 20).map(Amount)
}

fn lock(said: &Mutex<Said>) -> MutexGuard<'_, Said> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// There is no device here: a script answers as the program does.
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
        let mut said = Said::default();
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
