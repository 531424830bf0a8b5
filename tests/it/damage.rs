//! An incident's verdict must survive nearly everything that people, terminals and trackers do to a log; and text that
//! only sounds like a shortage of memory must not become an incident.

use std::error::Error;

use oomdoc::model::Kind;

use crate::support::analyzed::{cited, options};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Lines that prove an incident, both of known programs and of programs nobody has heard of.
const PROVEN: &[(Kind, &str)] = &[
    (
        Kind::GpuOom,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB. GPU 3 has a total capacity of 39.39 GiB of which 1.12 GiB is free.",
    ),
    (
        Kind::GpuOom,
        "RuntimeError: CUDA out of memory. Tried to allocate 640.00 MiB (GPU 0; 15.78 GiB total capacity; 13.90 GiB already allocated)",
    ),
    (Kind::GpuOom, "RuntimeError: CUDA error: out of memory"),
    (Kind::GpuOom, "tessera.device.OutOfMemoryError: GPU ran out of memory while allocating 91204 bytes for the arena"),
    (
        Kind::GpuOom,
        "ResourceExhaustedError: Out of memory error on GPU 1. Cannot allocate 768.500000MB memory on GPU 1",
    ),
    (Kind::GpuOom, "FATAL: kernel scheduler aborted: not enough GPU memory for 12 layers"),
    (Kind::GpuOom, "EngineError: failed to allocate 3.5 GiB of device memory for the key cache"),
    (Kind::GpuOom, "训练异常终止：显存不足，请检查批大小"),
    (
        Kind::HostAllocFailure,
        "numpy.core._exceptions.MemoryError: Unable to allocate 12.5 GiB for an array with shape (4096, 409600) and data type float64",
    ),
    (Kind::HostAllocFailure, "terminate called after throwing an instance of 'std::bad_alloc'"),
    (Kind::HostAllocFailure, "OSError: [Errno 12] Cannot allocate memory"),
    (Kind::HostAllocFailure, "loader thread panicked: failed to allocate 17179869184 bytes of host memory"),
    (Kind::HostOomCgroup, "worker-7 terminated by the platform, reason: OOMKilled, exit code: 137"),
    (Kind::SigkillUnattributed, "Process 'ForkPoolWorker-9' pid:418 exited with 'signal 9 (SIGKILL)'"),
    (Kind::SigkillUnattributed, "ERROR supervisor: child trainer-1 exited with code 137"),
];

type Damage = (&'static str, fn(&str) -> String);

/// The ways in which the lines are altered.
const DAMAGES: &[Damage] = &[
    ("stars", |line| format!("**{line}**")),
    ("quotes", |line| format!("> \"{line}\"")),
    ("backticks", |line| format!("`{line}`")),
    ("a table", |line| format!("| 12:04 | {line} | yes |")),
    ("entities", |line| line.replace('\'', "&#39;").replace('"', "&quot;").replace("of ", "of&nbsp;")),
    ("a web page's blanks", |line| line.replace(' ', "\u{a0}")),
    ("a lost letter", |line| line.chars().skip(1).collect()),
    ("three lost letters", |line| line.chars().skip(3).collect()),
    ("small letters", str::to_lowercase),
    ("a prefix that nobody knows", |line| format!("<<unit 4/b7>> @@ {line}")),
    ("doubled blanks", |line| line.replace(' ', "  ")),
    ("a wrap within words", |line| wrapped(line, 38)),
    ("another wrap within words", |line| wrapped(line, 27)),
    ("a wrap between words", |line| {
        let at = line.match_indices(' ').map(|(at, _)| at).find(|at| *at > 22).unwrap_or(0);
        format!("{}\n{}", &line[..at], line[at..].trim_start())
    }),
    ("carriage returns", |line| format!("{line}\r")),
    ("remnants of colours", |line| format!("[31m{line}[0m")),
    ("a comment", |line| format!("# {line}")),
];

fn wrapped(line: &str, width: usize) -> String {
    let (mut wrapped, mut column) = (String::new(), 0);
    for c in line.chars() {
        if column == width {
            wrapped.push('\n');
            column = 0;
        }
        wrapped.push(c);
        column += 1;
    }
    wrapped
}

#[test]
fn the_kind_survives_damage() -> Outcome {
    let options = options();
    let (mut lost, mut all) = (Vec::new(), 0);
    for (kind, line) in PROVEN {
        for (name, damage) in DAMAGES {
            let log = format!("preparing the run\n{}\nleaving\n", damage(line));
            let verdict = cited(&log, &options)?.verdict;
            all += 1;
            if verdict != *kind {
                lost.push(format!("{name}: {verdict} of {line}"));
            }
        }
    }
    assert!(lost.len() * 50 <= all, "{} of {all}\n{}", lost.len(), lost.join("\n"));
    Ok(())
}

/// Messages with figures, and what a copy from a web page makes of their blanks and signs.
#[test]
fn figures_survive_the_way_through_a_web_page() -> Outcome {
    let options = options();
    let messages = [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB. GPU 3 has a total capacity of 39.39 GiB of which 1.12 GiB is free. Of the allocated memory 36.50 GiB is allocated by PyTorch, and 512.25 MiB is reserved by PyTorch but unallocated. If >> it is large",
        "[ 5193.506735] memory: usage 524288kB, limit 524288kB, failcnt 0\n[ 5193.508964] Memory cgroup out of memory: Killed process 4711 (python) total-vm:499782kB, anon-rss:129183kB, file-rss:6866kB, shmem-rss:0kB",
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 36.9 GiB for an array with shape (70000, 70000) and data type float64",
    ];
    let copies: [Damage; 6] = [
        ("non-breaking blanks", |text| text.replace(' ', "\u{a0}")),
        ("narrow blanks", |text| text.replace(" GiB", "\u{202f}GiB").replace(" MiB", "\u{2009}MiB")),
        ("wide blanks", |text| text.replace(' ', "\u{3000}")),
        ("entities", |text| text.replace('>', "&gt;").replace(' ', "&nbsp;")),
        ("invisible characters", |text| text.replace(' ', " \u{200b}").replace(':', "\u{feff}:")),
        ("a quotation", |text| text.lines().map(|line| format!("> {line}\n")).collect()),
    ];
    for message in messages {
        let figures = |log: &str| -> Outcome<Vec<String>> {
            let report = cited(log, &options)?;
            let lines: Vec<&str> = log.lines().collect();
            let figures = report.incidents.first().ok_or_else(|| format!("no incident: {log}"))?.figures.iter();
            figures.clone().for_each(|figure| {
                let line = lines[figure.source.line.0 as usize - 1];
                assert!(line.contains(&figure.text), "{line}: {}", figure.text);
            });
            Ok(figures.map(|figure| format!("{} {:?} {:?}", figure.name, figure.bytes, figure.value)).collect())
        };
        let whole = figures(message)?;
        assert!(!whole.is_empty(), "{message}");
        for (name, copy) in copies {
            assert_eq!(figures(&copy(message))?, whole, "{name}: {message}");
        }
    }
    Ok(())
}

/// Conditions ask for a message's words; of a wrapped one they saw the first line only, and said something else.
#[test]
fn a_wrapped_message_means_what_it_means_in_one_line() -> Outcome {
    let options = options();
    let message = "ValueError: Free memory on device (5.25/23.65 GiB) on startup is less than desired GPU memory utilization (0.9, 21.28 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.";
    let cause = |log: &str| -> Outcome<String> {
        let report = cited(log, &options)?;
        Ok(report.incidents.first().and_then(|root| root.diagnoses.first()).ok_or("no cause")?.cause.to_string())
    };
    let whole = cause(message)?;
    assert_eq!(whole, "gpu_shared_with_others");
    for at in ["than desired", "desired GPU", "utilization (0.9"] {
        let at = message.find(at).ok_or("no such words")?;
        assert_eq!(cause(&format!("{}\n{}", &message[..at].trim_end(), &message[at..]))?, whole);
    }
    Ok(())
}

#[test]
fn a_message_that_is_cut_in_mid_word_is_still_one() -> Outcome {
    let options = options();
    for line in [
        "0: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to all",
        "RuntimeError: CUDA out of memo",
        "tessera.ArenaError: GPU out of mem",
    ] {
        assert_eq!(cited(&format!("preparing\n{line}"), &options)?.verdict, Kind::GpuOom, "{line}");
    }
    Ok(())
}

/// Lines that mention memory but are no incident.
const NEAR_MISSES: &[&str] = &[
    "Hint: if you get CUDA out of memory, lower --micro-batch-size",
    "You may run out of memory with this setting.",
    "Training with a batch of 64 might cause an out of memory error on smaller GPUs.",
    "Set expandable_segments to avoid OOM",
    "tests/test_arena.py::test_out_of_memory PASSED",
    "test_oom_is_handled (tests.arena.ArenaTest) ... ok",
    "oom_score_adj: 0",
    "vm.overcommit_memory = 1, vm.panic_on_oom = 0",
    "docker run --oom-kill-disable --memory 64g image",
    "  --skip-oom-check      do not check whether it would run out of memory",
    "    raise ArenaError(\"CUDA out of memory\")",
    "    except torch.cuda.OutOfMemoryError as error:",
    "    if \"out of memory\" in str(error):",
    "        logger.error(\"failed to allocate memory for %s\", name)",
    "{'loss': 1.25, 'oom_count': 0, 'num_ooms': 0}",
    "stats: oom_retries=0 alloc_failed=0 memory_limit=80GiB",
    "# How to fix CUDA out of memory errors",
    "See https://example.org/faq#cuda-out-of-memory",
    "Enabled the OOM killer of the scheduler",
    "memory limit of the container: 64GiB",
    "oom: false, exited: true, code: 0",
    "\"OOMKilled\": false,",
    "Fixed out of memory errors in the tokenizer (#1203)",
    "UserWarning: this may exhaust memory; not enough memory is reported as an error",
    "Uncorrectable memory error on DIMM 3",
    "RuntimeError: NCCL communicator was aborted on rank 3.",
    "Segmentation fault (core dumped)",
    "ERROR: failed to allocate port 29500 for the rendezvous",
    "ValueError: cannot allocate 4 workers to 3 nodes",
    "Insufficient permissions to read /data",
    "process exited with code 9",
    "slurmstepd: error: *** JOB 4711 ON node3 CANCELLED AT 2026-02-01T10:00:00 DUE TO TIME LIMIT ***",
    "sending SIGKILL to 8 workers that did not stop in 30 seconds",
    "Stopping container: grace period is over, killed with signal 9 on request",
    "batch 64: out of memory, trying again with 32",
    "The autoscaler restarts workers that were killed (exit code 137)",
    "Memory: 64 GiB total, 12 GiB free, none exhausted",
    "Prediction failed: Out-of-memory dataset is selected, but the raster is not tiled",
    "prompt: what does GPU out of memory mean?",
    "resource pool exhausted: no free slot for request 12",
];

#[test]
fn near_misses_stay_none() -> Outcome {
    let options = options();
    let mut wrong = Vec::new();
    for line in NEAR_MISSES {
        for log in [
            format!("{line}\n"),
            format!("step 1 loss 2.5\n{line}\nstep 2 loss 2.4\nstep 3 loss 2.3\nstep 4 loss 2.2\n"),
        ] {
            let verdict = cited(&log, &options)?.verdict;
            if verdict != Kind::None {
                wrong.push(format!("{verdict}: {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn what_was_tried_again_is_no_incident() -> Outcome {
    let steps: String = (0..20).map(|step| format!("step {step} loss 1.{step}\n")).collect();
    let log = format!("probing batch 64\nProbeError: GPU out of memory\nprobing batch 32\n{steps}");
    assert_eq!(cited(&log, &options())?.verdict, Kind::None);
    Ok(())
}
