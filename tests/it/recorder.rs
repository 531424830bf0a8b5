//! `oomdoc run`: it passes output and signals through unchanged, keeps the log, and its record proves what happened.
#![cfg(target_os = "linux")]

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

type Outcome = Result<(), Box<dyn Error>>;

/// A folder in which jobs run.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Result<Place, Box<dyn Error>> {
        Ok(Place(tempfile::tempdir()?))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `oomdoc run --log job.log OPTIONS -- COMMAND`
    fn run(&self, options: &[&str], command: &[&str]) -> Command {
        let mut run = self.oomdoc();
        run.args(["run", "--log", "job.log", "--no-save"]).args(options).arg("--").args(command);
        run
    }

    fn oomdoc(&self) -> Command {
        let mut oomdoc = Command::new(env!("CARGO_BIN_EXE_oomdoc"));
        oomdoc
            .current_dir(self.0.path())
            .env("OOMDOC_HOME", self.file("home"))
            .env("OOMDOC_LANG", "en")
            .env("OOMDOC_NO_CONFIG", "1");
        oomdoc
    }

    fn shell(&self, options: &[&str], script: &str) -> std::io::Result<Output> {
        self.run(options, &["sh", "-c", script]).output()
    }

    /// The report of `oomdoc analyze job.log job.record`.
    fn report(&self) -> Result<Value, Box<dyn Error>> {
        let said =
            self.oomdoc().args(["analyze", "--no-save", "--format", "json", "job.log", "job.record"]).output()?;
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let report: Value = serde_json::from_slice(&said.stdout)?;
        self.citations_stand_there(&report)?;
        Ok(report)
    }

    /// Checks that each citation of the record is the exact text of its line.
    fn citations_stand_there(&self, report: &Value) -> Outcome {
        let record = fs::read_to_string(self.file("job.record"))?;
        let lines: Vec<&str> = record.lines().collect();
        let incidents = report["incidents"].as_array().into_iter().flatten();
        for cite in incidents.flat_map(|incident| incident["evidence"].as_array().into_iter().flatten()) {
            if cite["location"]["path"] == "job.record" {
                let line = lines[cite["location"]["line"].as_u64().unwrap_or_default() as usize - 1];
                assert!(line.contains(cite["text"].as_str().unwrap_or("?")), "{cite} is not in {line}");
            }
        }
        Ok(())
    }

    fn record(&self) -> std::io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.file("job.record"))?).into_owned())
    }
}

/// Waits until the command has printed a line.
fn first_line(child: &mut Child) -> Result<String, Box<dyn Error>> {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().ok_or("no output")?).read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

fn kill(signal: &str, pid: &str) -> Outcome {
    assert!(Command::new("kill").args([signal, pid]).status()?.success());
    Ok(())
}

fn numbers(record: &str) -> Vec<u64> {
    let number = |line: &str| line.split("oomdoc#").nth(1)?.split(' ').next()?.parse().ok();
    record.lines().filter_map(number).collect()
}

#[test]
fn the_status_is_the_commands() -> Outcome {
    let place = Place::new()?;
    for (script, status) in [("exit 0", 0), ("exit 7", 7), ("kill -SEGV $$", 139), ("kill -KILL $$", 137)] {
        assert_eq!(place.shell(&[], script)?.status.code(), Some(status), "{script}");
    }
    assert_eq!(place.run(&[], &["./nothing-here"]).output()?.status.code(), Some(127));
    fs::write(place.file("plain"), "text")?;
    assert_eq!(place.run(&[], &["./plain"]).output()?.status.code(), Some(126));
    Ok(())
}

#[test]
fn every_byte_passes_through_and_into_the_log() -> Outcome {
    let place = Place::new()?;
    let bytes: Vec<u8> = (0..3_000_017u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut child = place.run(&["--quiet-success"], &["cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().ok_or("no input")?;
    let given = bytes.clone();
    let writer = std::thread::spawn(move || input.write_all(&given));
    let said = child.wait_with_output()?;
    writer.join().map_err(|_| "the writer failed")??;
    assert!(said.stdout == bytes && said.status.success());
    assert!(fs::read(place.file("job.log"))? == bytes);
    Ok(())
}

#[test]
fn both_streams_stay_apart_and_success_may_be_quiet() -> Outcome {
    let place = Place::new()?;
    let said = place.shell(&["--quiet-success"], "printf out; printf err >&2")?;
    assert_eq!((said.stdout.as_slice(), said.stderr.as_slice()), (&b"out"[..], &b"err"[..]));
    let said = place.shell(&[], "printf out")?;
    assert!(said.stdout == b"out" && !said.stderr.is_empty(), "the report goes to standard error");
    Ok(())
}

#[test]
fn signals_reach_the_command() -> Outcome {
    for signal in ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"] {
        let place = Place::new()?;
        let script = format!("trap 'echo got; exit 5' {signal}; echo ready; while :; do sleep 0.05; done");
        let run = place.run(&[], &["sh", "-c", &script]);
        // Under `nohup` these tests ignore SIGHUP, which the command would inherit.
        let mut child = Command::new("env");
        child.arg("--default-signal").arg(run.get_program()).args(run.get_args());
        child.current_dir(place.0.path()).envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        assert_eq!(first_line(&mut child)?, "ready");
        kill(&format!("-{signal}"), &child.id().to_string())?;
        let said = child.wait_with_output()?;
        assert_eq!((said.status.code(), said.stdout.as_slice()), (Some(5), &b"got\n"[..]), "{signal}");
    }
    Ok(())
}

/// Runs `oomdoc run` on a pseudo-terminal made by Python, on which `typed` is entered once the command has printed a
/// line.
fn on_a_terminal(place: &Place, script: &str, typed: &str) -> Result<Output, Box<dyn Error>> {
    // In a shell's background, tests are started with SIGINT ignored, and no command could trap it.
    let terminal = "import os, pty, signal, sys\n\
        signal.signal(signal.SIGINT, signal.SIG_DFL)\n\
        def read(fd):\n    data = os.read(fd, 1024)\n    if b'ready' in data: os.write(fd, sys.argv[1].encode())\n    return data\n\
        sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[2:], read, lambda fd: b'')))\n";
    let run = place.run(&["--quiet-success"], &["sh", "-c", script]);
    let mut python = Command::new("python3");
    python.args(["-c", terminal, typed]).arg(run.get_program()).args(run.get_args());
    python.current_dir(place.0.path()).env("OOMDOC_HOME", place.file("home")).stdin(Stdio::null());
    Ok(python.output()?)
}

#[test]
fn a_terminal_stays_one_and_belongs_to_the_command() -> Outcome {
    let place = Place::new()?;
    let script = "test -t 0 && test -t 1 && test -t 2 && echo ready; read word; echo got $word";
    let said = on_a_terminal(&place, script, "word\n")?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.status.success() && text.contains("ready\r\n") && text.contains("got word\r\n"), "{text:?}");
    assert_eq!(fs::read(place.file("job.log"))?, b"ready\ngot word\n");
    let script = "trap 'echo interrupted; exit 4' INT; echo ready; while :; do sleep 0.05; done";
    let said = on_a_terminal(&place, script, "\u{3}")?;
    assert_eq!(said.status.code(), Some(4), "{}", String::from_utf8_lossy(&said.stdout));
    Ok(())
}

#[test]
fn the_log_has_a_bound() -> Outcome {
    let place = Place::new()?;
    let said = place.shell(&["--log-size", "64KiB", "--quiet-success"], "seq 1 100000")?;
    assert_eq!(said.stdout.iter().filter(|byte| **byte == b'\n').count(), 100_000);
    let log = fs::read_to_string(place.file("job.log"))?;
    assert!(log.len() < 65 << 10 && log.starts_with("1\n2\n") && log.ends_with("\n100000\n"));
    assert!(log.contains("bytes are left out here]"));
    Ok(())
}

#[test]
fn the_record_has_a_bound_and_masks_secrets() -> Outcome {
    let place = Place::new()?;
    let token = "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH";
    let script = format!("HF_TOKEN={token} sh -c 'sleep 3; :' --token {token}");
    place.shell(&["--record-size", "1KiB", "--interval", "0.1"], &script)?;
    let record = place.record()?;
    // The smallest record has 512 lines after its head, whatever size is asked for.
    assert!(record.len() <= (512 + 16) * 256 && !record.contains(token) && record.contains("‹"), "{record}");
    Ok(())
}

#[test]
fn a_strangers_kill_is_no_lack_of_memory() -> Outcome {
    let place = Place::new()?;
    let script = "echo step 1 loss 1.5; echo $$; exec sleep 600";
    let mut child = place.run(&[], &["sh", "-c", script]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    assert_eq!(first_line(&mut child)?, "step 1 loss 1.5");
    // The command is the leader of its group, and the recorder's only child.
    let pid = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id()))?;
    kill("-KILL", pid.trim())?;
    assert_eq!(child.wait()?.code(), Some(137));
    // The shell that started the recorder prints `Killed`, too.
    fs::OpenOptions::new().append(true).open(place.file("job.log"))?.write_all(b"Killed\n")?;
    let (report, record) = (place.report()?, place.record()?);
    match record.contains("but no kill for want of memory") {
        true => {
            assert_eq!(report["verdict"], "none", "{record}");
            assert_eq!(report["other_failure"]["name"], "cancelled");
        }
        // Another test's OOM kill or a shortage of memory came at the same time, so the record cannot tell who killed
        // the job.
        false => assert_eq!(report["verdict"], "sigkill_unattributed", "{record}"),
    }
    Ok(())
}

#[test]
fn a_limit_of_the_process_shows_beside_its_memory_error() -> Outcome {
    let place = Place::new()?;
    let leak = "import time\nheld = []\nfor step in range(10000):\n    held.append(bytearray(4 << 20))\n    print('step', step, 'loss 1.5', flush=True)\n    time.sleep(0.05)\n";
    fs::write(place.file("leak.py"), leak)?;
    let said = place.shell(&["--interval", "0.1"], "ulimit -v 300000; exec python3 leak.py")?;
    assert_eq!(said.status.code(), Some(1), "{}", String::from_utf8_lossy(&said.stderr));
    let (report, record) = (place.report()?, place.record()?);
    assert!(record.contains("python3: address space 293.0 MiB"), "{record}");
    assert_eq!(report["verdict"], "host_alloc_failure");
    let timeline = report["incidents"][0]["timeline"].as_array().ok_or("no timeline")?;
    let of_job = |point: &&Value| point["series"].as_str().is_some_and(|series| series.contains("python3"));
    let amounts: Vec<f64> = timeline.iter().filter(of_job).filter_map(|point| point["bytes"].as_f64()).collect();
    assert!(amounts.len() > 4 && amounts.iter().any(|amount| *amount > 2.0 * amounts[1]), "{amounts:?}");
    Ok(())
}

#[test]
fn a_running_tree_is_recorded() -> Outcome {
    let place = Place::new()?;
    let mut job = Command::new("sh").args(["-c", "sleep 600 & echo ready; wait"]).stdout(Stdio::piped()).spawn()?;
    first_line(&mut job)?;
    let pid = job.id().to_string();
    let mut recorder = place.oomdoc();
    recorder.args(["run", "--no-save", "--record", "job.record", "--interval", "0.1", "--attach", &pid]);
    let recorder = recorder.stderr(Stdio::piped()).spawn()?;
    while !place.record().is_ok_and(|record| record.contains(" sleep: rss ")) {
        std::thread::yield_now();
    }
    kill("-KILL", &pid)?;
    job.wait()?;
    let said = recorder.wait_with_output()?;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let record = place.record()?;
    let left = record.split(" sleep: rss ").next().and_then(|before| before.rsplit(' ').next()).ok_or("no sleep")?;
    kill("-KILL", left)?;
    assert!(record.contains(&format!("process {pid} sh: ")), "{record}");
    Ok(())
}

#[test]
fn a_killed_recorder_leaves_whole_lines_without_a_gap() -> Outcome {
    let seed: u64 = std::env::var("OOMDOC_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let rounds = if std::env::var_os("OOMDOC_LONG").is_some() { 200 } else { 12 };
    println!("OOMDOC_SEED={seed}");
    for round in 0..rounds {
        let place = Place::new()?;
        let options = ["--interval", "0.1", "--record-size", "1KiB"];
        let script = "echo $$; exec sleep 600";
        let mut child = place.run(&options, &["sh", "-c", script]).stdout(Stdio::piped()).spawn()?;
        let job = first_line(&mut child)?;
        let chance = (seed + round).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        std::thread::sleep(std::time::Duration::from_micros(chance % 1_500_000));
        child.kill()?;
        child.wait()?;
        kill("-KILL", &job)?;
        let Ok(bytes) = fs::read(place.file("job.record")) else { continue };
        assert!(bytes.chunks(256).all(|slot| slot.len() == 256 && slot[255] == b'\n'), "round {round}");
        let text = String::from_utf8(bytes)?;
        let mut numbers = numbers(&text);
        numbers.sort_unstable();
        numbers.dedup();
        // Every complete line that was written is there.
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "round {round}: {numbers:?}");
        let said = place.oomdoc().args(["analyze", "--no-save", "job.record"]).output()?;
        assert!(said.status.success(), "round {round}: {}", String::from_utf8_lossy(&said.stderr));
    }
    Ok(())
}

/// A cgroup with a limit, removed when dropped.
struct Cgroup {
    folder: PathBuf,
    limit: &'static str,
}

impl Cgroup {
    fn with_limit(name: &str, bytes: u64) -> Result<Cgroup, Box<dyn Error>> {
        let v1 = Path::new("/sys/fs/cgroup/memory");
        let (root, limit) = match v1.is_dir() {
            true => (v1, "memory.limit_in_bytes"),
            false => (Path::new("/sys/fs/cgroup"), "memory.max"),
        };
        let folder = root.join(format!("oomdoc-{name}-{}", std::process::id()));
        if limit == "memory.max" {
            fs::write(root.join("cgroup.subtree_control"), "+memory")?;
        }
        fs::create_dir(&folder)?;
        let cgroup = Cgroup { folder, limit };
        fs::write(cgroup.folder.join(cgroup.limit), bytes.to_string())?;
        Ok(cgroup)
    }

    fn procs(&self) -> String {
        self.folder.join("cgroup.procs").display().to_string()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The kernel keeps the cgroup until its last process is gone.
        for _ in 0..1000 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::yield_now();
        }
    }
}

const LEAK: &str = "import time\nheld = []\nfor step in range(10000):\n    held.append(bytearray(2 << 20))\n    print('step', step, 'loss 1.5', flush=True)\n    time.sleep(0.1)\n";

#[test]
#[ignore = "makes cgroups: as root"]
fn a_kill_by_a_cgroups_limit_is_proven_without_the_kernels_log() -> Outcome {
    let (place, cgroup) = (Place::new()?, Cgroup::with_limit("leak", 96 << 20)?);
    fs::write(place.file("leak.py"), LEAK)?;
    // The job's cgroup is a sibling of the recorder's, as with a transient systemd scope.
    let script = format!("echo $$ > {}; exec env RANK=3 python3 leak.py", cgroup.procs());
    let said = place.shell(&["--interval", "0.2"], &script)?;
    let (report, record) = (place.report()?, place.record()?);
    assert_eq!(said.status.code(), Some(137), "{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(report["verdict"], "host_oom_cgroup", "{record}");
    let incident = &report["incidents"][0];
    assert_eq!((&incident["victim"]["rank"], &incident["victim"]["role"]), (&3.into(), &"python3".into()));
    assert_eq!(incident["consumers"][0]["role"], "python3");
    let figure = |name: &str| {
        let figures = incident["figures"].as_array().into_iter().flatten();
        figures.into_iter().find(|figure| figure["name"] == name).map(|figure| figure["text"].clone())
    };
    assert_eq!(figure("memcg_limit"), Some("96.0 MiB".into()));
    assert_eq!(incident["diagnoses"][0]["cause"], "host_memory_growth", "{report:#}");
    Ok(())
}

#[test]
#[ignore = "makes cgroups: as root"]
fn the_kill_of_a_worker_is_seen_while_the_job_goes_on() -> Outcome {
    let (place, cgroup) = (Place::new()?, Cgroup::with_limit("worker", 64 << 20)?);
    fs::write(place.file("leak.py"), LEAK)?;
    let script = format!(
        "sh -c 'echo $$ > {}; exec python3 leak.py'; echo worker ended with $?; sleep 1; exit 9",
        cgroup.procs()
    );
    let said = place.shell(&["--interval", "0.2"], &script)?;
    let (report, record) = (place.report()?, place.record()?);
    assert_eq!(said.status.code(), Some(9));
    assert!(record.contains("oom_kill 0 to 1 in cgroup"), "{record}");
    assert_eq!(report["verdict"], "host_oom_cgroup", "{record}");
    Ok(())
}

#[test]
#[ignore = "mounts a small /dev/shm in a namespace of its own: as root"]
fn a_full_dev_shm_is_seen() -> Outcome {
    let place = Place::new()?;
    let fill = "import mmap, os, time\nfile = os.open('/dev/shm/x', os.O_CREAT | os.O_RDWR)\nos.ftruncate(file, 64 << 20)\nheld = mmap.mmap(file, 64 << 20)\nfor at in range(0, 64 << 20, 1 << 20):\n    held[at:at + (1 << 20)] = bytes(1 << 20)\n    time.sleep(0.02)\n";
    fs::write(place.file("fill.py"), fill)?;
    let oomdoc = env!("CARGO_BIN_EXE_oomdoc");
    let script = format!(
        "mount -t tmpfs -o size=16m tmpfs /dev/shm && exec {oomdoc} run --no-save --interval 0.1 --log job.log -- python3 fill.py"
    );
    let said = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .current_dir(place.0.path())
        .env("OOMDOC_HOME", place.file("home"))
        .output()?;
    assert_eq!(said.status.code(), Some(135), "{}", String::from_utf8_lossy(&said.stderr));
    assert_eq!(place.report()?["verdict"], "shm_exhausted", "{}", place.record()?);
    Ok(())
}
