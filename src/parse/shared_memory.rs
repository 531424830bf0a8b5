//! Shared memory that is full: `/dev/shm`, as its users and `df` report it.
//!
//! Mirrors `aten/src/ATen/MapAllocator.cpp` and `torch/csrc/DataLoader.cpp` (0.4–2.15),
//! `torch/utils/data/_utils/signal_handling.py`, NCCL's `src/misc/shmutils.cc` and `src/include/shm.h` (2.3–2.32),
//! UCX's `mm_posix.c`, CPython's `OSError`, coreutils' `df`.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till1, take_until, take_while1};
use nom::bytes::streaming;
use nom::character::complete::multispace1;
use nom::combinator::{recognize, rest, verify};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::text::{self, Size};
use super::wrap::{self, Progress};
use super::{Example, Follow, Grammar, Joint, Line, Record, statement};
use crate::model::{Bytes, Event, FactValue, FigureName, Kind, OtherFailureName, Victim};

const PRODUCER: &str = "shared_memory";

/// See the module.
pub struct SharedMemory;

impl Grammar for SharedMemory {
    fn producer(&self) -> &'static str {
        PRODUCER
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["No space left on device", "(shm)", "killed by signal"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "unable to open shared memory object",
            "unable to allocate shared memory(shm)",
            "unable to write to file </torch",
            "killed by signal: Bus error",
            ") is killed by signal:",
            SEMAPHORES[0],
            SEMAPHORES[1],
            "Unexpected bus error encountered in worker",
            FAILED_CALL,
            "shared memory segment",
            "failed to create shared memory file",
            "failed to extend /dev/shm",
            "'/dev/shm/",
            "Please check that /dev/shm",
            "% /dev/shm",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    /// NCCL before 2.18 prints the reason in one line and the size in the next, perhaps with a return code's line between them; for
    /// Python's semaphores a source line precedes the reason.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let goes_on = |first: &str, second: &str| record.text().contains(first) && next.body().contains(second);
        let is_whole =
            goes_on(FAILED_CALL, "shared memory segment") || SEMAPHORES.iter().any(|code| goes_on(code, NO_SPACE));
        let passes = goes_on(FAILED_CALL, "NCCL INFO ") && is_result(next.body());
        let cut = text::spoken(record.text(), WORKER)
            .next()
            .and_then(|begun| wrap::joint(begun, next.body(), told_of_worker));
        match (cut, record.len()) {
            (_, 1..=3) if is_whole && !record.last_line().contains("segment") => Follow::Join(Joint::Line),
            (Some(joint), 1 | 2) => Follow::Join(joint),
            (_, 1 | 2) if passes => Follow::Join(Joint::Line),
            _ => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let text = record.text();
        if let Some(row) = text.lines().find(|line| line.contains("% /dev/shm")) {
            return usage(record, row).into_iter().collect();
        }
        torch(record).or_else(|| nccl(record)).or_else(|| other(record)).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// With this NCCL before 2.18 begins to name the refused system call.
const FAILED_CALL: &str = "NCCL WARN Call to ";

/// `include/shm.h:41 -> 2`: the return code of an NCCL function.
fn is_result(line: &str) -> bool {
    line.rsplit_once(" -> ").is_some_and(|(_, result)| result.trim().parse::<u8>().is_ok())
}

/// `victim` could not get shared memory.
fn exhausted(record: &Record, words: &str, victim: Victim) -> Event {
    statement::shortage(record, PRODUCER, words, Kind::ShmExhausted, victim)
}

/// Python's semaphores are files in /dev/shm. This is the source line of the call that creates them in `multiprocessing/synchronize.py`
/// (3.4–3.14); versions before 3.9 print the call's last line instead.
const SEMAPHORES: [&str; 2] = ["_multiprocessing.SemLock(", "    unlink_now)"];
/// The system's words if there is no room for a file.
const NO_SPACE: &str = "No space left on device";

/// Failures of torch's storages in shared memory and of its data loader's workers.
fn torch(record: &Record) -> Option<Event> {
    let text = record.text();
    let semaphore = SEMAPHORES.iter().find_map(|code| text::after(text, code));
    if let Some(reason) = semaphore.and_then(|behind| text::each(behind, NO_SPACE).next()) {
        return Some(exhausted(record, text::line(reason), record.origin().process()));
    }
    if let Some(words) = text::spoken(text, WORKER).next() {
        return worker_killed(record, text::line(words));
    }
    if let Some(words) = text::spoken(text, "Unexpected bus error encountered in worker").next() {
        return Some(exhausted(record, text::line(words), Victim::default()));
    }
    let object = [
        "unable to open shared memory object ",
        "unable to allocate shared memory(shm) for file ",
        "unable to write to file ",
    ];
    let (words, (file, reason)) = object.iter().find_map(|head| {
        let words = text::line(text::spoken(text, head).next()?);
        Some((words, storage(&words[head.len()..]).ok()?.1))
    })?;
    // A file that another process has removed already, or that it may not open, takes no memory.
    let is_about_the_file = ["No such file or directory", "Permission denied", "File exists"];
    let mut event = if reason.contains("Too many open files") {
        statement::failure(record, PRODUCER, words, OtherFailureName::ProcessLimit)
    } else if is_about_the_file.iter().any(|words| reason.contains(words)) {
        statement::failure(record, PRODUCER, words, OtherFailureName::IoError)
    } else {
        exhausted(record, words, record.origin().process())
    };
    event.facts.push(record.fact("shm.file", file));
    Some(event)
}

/// `</torch_12345_1830012345_512> in read-write mode: No space left on device (28)`, or nothing after the name, which people cut.
fn storage(text: &str) -> IResult<&str, (&str, &str)> {
    (delimited(tag("<"), recognize((tag("/torch"), take_until(">"))), tag(">")), rest).parse(text)
}

/// `DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible that …`: a worker gets SIGBUS when it touches a page for
/// which `/dev/shm` has no room.
fn worker_killed(record: &Record, words: &str) -> Option<Event> {
    let (_, (pid, _)) = (loader_worker, tag("is killed by signal: Bus error")).parse(words).ok()?;
    let number = pid.parse().ok();
    let mut event = exhausted(record, words, statement::worker(record, number));
    event.figures.extend(number.map(|number| record.number(FigureName::VictimPid, pid, f64::from(number))));
    Some(event)
}

/// With this PyTorch begins its messages about a data loader's worker.
const WORKER: &str = "DataLoader worker (pid";

/// How much of the message about a worker's bus error `text` holds.
fn told_of_worker(text: &str) -> Progress {
    let pid = (streaming::tag(WORKER), streaming::take_until(")"), streaming::tag(")"));
    wrap::progress(text, (pid, streaming::tag(" is killed by signal: Bus error")))
}

/// `DataLoader worker (pid 4711) `, or with what somebody put in the number's place.
fn loader_worker(text: &str) -> IResult<&str, &str> {
    let hidden = verify(take_while1(|c: char| c != ')' && !c.is_whitespace()), |hidden: &str| hidden.len() <= 12);
    let pid = delimited(alt((tag("(pid "), tag("(pid(s) "))), hidden, tag(") "));
    preceded(tag("DataLoader worker "), pid).parse(text)
}

/// `Error while creating shared memory segment /dev/shm/nccl-Ab12Cd (size 16515072), error: No space left on device (28)`, and the wordings
/// of other versions.
fn nccl(record: &Record) -> Option<Event> {
    let text = record.text();
    let heads = [
        "Error while creating shared memory segment ",
        "Error: failed to create shared memory file ",
        "Error: failed to extend /dev/shm",
        "Call to posix_fallocate failed",
        "Call to fallocate failed",
    ];
    let words = heads.iter().find_map(|head| {
        text::each(text, head).map(text::line).find(|words| {
            let before = text::before(text, words);
            before.trim_end().ends_with("NCCL WARN") || text::may_begin(before)
        })
    })?;
    // Other reasons than a full file system are a missing permission or a full table of files; the oldest message names no reason.
    let reason = ["error: ", " error ", "failed: ", "failed : "]
        .iter()
        .find_map(|label| text::after(text, label))
        .map(text::line);
    let mut event = match reason.filter(|reason| !reason.contains(NO_SPACE)) {
        None => exhausted(record, words, statement::speaker_through_nccl(record)),
        Some(reason) => {
            let refusal = text.lines().find(|line| line.contains(reason)).unwrap_or(words);
            statement::failure(record, PRODUCER, refusal, OtherFailureName::NcclError)
        }
    };
    event.evidence = record.cites(text).into_iter().filter(|cite| cite.location != event.at.location).collect();
    event.figures.extend(segment_size(words).and_then(|size| record.figure(FigureName::Requested, size)));
    Some(event)
}

/// `(size 16515072)`, `to 16515076 bytes`
fn segment_size(words: &str) -> Option<Size<'_>> {
    let size = text::each(words, "size ").find_map(|part| {
        let (_, stated) = terminated(recognize((tag("size "), text::digits)), tag(")")).parse(part).ok()?;
        let bytes = text::byte_count(&stated["size ".len()..]).ok()?.1.bytes;
        Some(Size { text: stated, bytes })
    });
    size.or_else(|| {
        let extended = |part| delimited(tag(" to "), text::byte_count, tag(",")).parse(part);
        text::each(words, " to ").find_map(|part| extended(part).ok()).map(|(_, size)| size)
    })
}

/// `OSError: [Errno 28] No space left on device: '/dev/shm/…'`, UCX's complaint.
fn other(record: &Record) -> Option<Event> {
    let text = record.text();
    let words = match text.contains("'/dev/shm/") {
        true => text::line(text::spoken(text, "No space left on device").next()?),
        false => text.contains("Not enough memory to write").then(|| text::line(text))?,
    };
    let mut event = exhausted(record, words, record.origin().process());
    let total = text::after(text, "total of ").and_then(|rest| text::byte_count(rest).ok());
    event.figures.extend(total.and_then(|(_, size)| record.figure(FigureName::Requested, size)));
    Some(event)
}

/// A row of `df`: `tmpfs            64M   12M   52M  19% /dev/shm`; without units it counts blocks of 1 KiB.
fn usage(record: &Record, row: &str) -> Option<Event> {
    let (_, (size, used, available)) = row_of_df(row.trim_start()).ok()?;
    let mut event = statement::notice(record, PRODUCER, row);
    for (key, words) in [("shm.size", size), ("shm.used", used), ("shm.available", available)] {
        let bytes = match words.parse::<f64>() {
            Ok(blocks) => Bytes::of(blocks, Bytes::KIB),
            Err(_) => text::size(words).ok().and_then(|(_, size)| size.bytes),
        };
        let fact = |bytes: Bytes| FactValue::Number(bytes.0 as f64);
        event.facts.extend(bytes.map(|bytes| crate::model::Fact { value: fact(bytes), ..record.fact(key, words) }));
    }
    Some(event)
}

fn row_of_df(row: &str) -> IResult<&str, (&str, &str, &str)> {
    let cell = |text| terminated(take_till1(char::is_whitespace), multispace1).parse(text);
    let (rest, (_, size, used, available, _, _)) =
        (cell, cell, cell, cell, text::digits, tag("% /dev/shm")).parse(row)?;
    Ok((rest, (size, used, available)))
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "torch 0.4–2.14",
        text: "RuntimeError: unable to open shared memory object </torch_12345_1830012345_512> in read-write mode: No space left on device (28)",
        states: &[("kind", "shm_exhausted"), ("shm.file", "/torch_12345_1830012345_512")],
    },
    Example {
        version: "torch 2.15",
        text: "RuntimeError: unable to allocate shared memory(shm) for file </torch_812_99120034_3>: No space left on device (28)",
        states: &[("kind", "shm_exhausted"), ("shm.file", "/torch_812_99120034_3")],
    },
    Example {
        version: "Python 3.4–3.14, a lock's semaphore in /dev/shm",
        text: "    sl = self._semlock = _multiprocessing.SemLock(\nOSError: [Errno 28] No space left on device",
        states: &[("kind", "shm_exhausted")],
    },
    Example {
        version: "Python 3.4–3.8",
        text: "    unlink_now)\nOSError: [Errno 28] No space left on device",
        states: &[("kind", "shm_exhausted")],
    },
    Example {
        version: "torch 0.3–1.13, copying into shared memory",
        text: "RuntimeError: unable to write to file </torch_18692_1954506624>: No space left on device (28)",
        states: &[("kind", "shm_exhausted")],
    },
    Example {
        version: "torch ≥0.3, a worker of the data loader; the first line is the worker's, the second the trainer's",
        text: "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\nRuntimeError: DataLoader worker (pid 31402) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
        states: &[("kind", "shm_exhausted"), ("pid", "31402"), ("victim_pid", "31402")],
    },
    Example {
        version: "torch, as narrow windows wrap it",
        text: "RuntimeError: DataLoader worker (pid 31402) is killed by signal: Bus\nerror. It is possible that dataloader's workers are out of shared\nmemory. Please try to raise your shared memory limit.",
        states: &[("kind", "shm_exhausted"), ("victim_pid", "31402")],
    },
    Example {
        version: "NCCL ≥2.18",
        text: "node3:1234:5678 [2] misc/shmutils.cc:87 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-Ab12Cd (size 16515072), error: No space left on device (28)",
        states: &[
            ("kind", "shm_exhausted"),
            ("requested", "size 16515072"),
            ("host", "node3"),
            ("pid", "1234"),
            ("device", "2"),
        ],
    },
    Example {
        version: "NCCL ≥2.18, the lines before it",
        text: "node3:1234:5678 [2] misc/shmutils.cc:69 NCCL WARN Error: failed to extend /dev/shm/nccl-Ab12Cd to 16515076 bytes, error: No space left on device (28)\nnode3:1234:5678 [2] misc/shmutils.cc:71 NCCL WARN Error: failed to create shared memory file /dev/shm/nccl-XXXXXX, error No space left on device (28)",
        states: &[("kind", "shm_exhausted"), ("requested", "16515076 bytes")],
    },
    Example {
        version: "NCCL 2.3–2.17",
        text: "include/shm.h:28 NCCL WARN Call to posix_fallocate failed: No space left on device\ninclude/shm.h:48 NCCL WARN Error while creating shared memory segment nccl-shm-recv-5d0a1c22b4-0-1-3 (size 5246976)",
        states: &[("kind", "shm_exhausted"), ("requested", "size 5246976")],
    },
    Example {
        version: "NCCL 2.3–2.6, with the place between",
        text: "node3:1234:5678 [2] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\nnode3:1234:5678 [2] NCCL INFO include/shm.h:41 -> 2\n\nnode3:1234:5678 [2] include/shm.h:48 NCCL WARN Error while creating shared memory segment nccl-shm-send-71c2 (size 9637888)",
        states: &[("kind", "shm_exhausted"), ("requested", "size 9637888"), ("pid", "1234"), ("device", "2")],
    },
    Example {
        version: "CPython",
        text: "OSError: [Errno 28] No space left on device: '/dev/shm/psm_4f0a'",
        states: &[("kind", "shm_exhausted")],
    },
    Example {
        version: "df -h",
        text: "RuntimeError: unable to open shared memory object </torch_1_2> in read-write mode: No space left on device (28)\nFilesystem      Size  Used Avail Use% Mounted on\ntmpfs            64M   12M   52M  19% /dev/shm",
        states: &[("shm.size", "64M"), ("shm.used", "12M"), ("shm.available", "52M")],
    },
];

#[cfg(test)]
mod tests {
    use crate::model::{Exit, What};
    use crate::parse::testing;

    fn states(text: &str) -> Vec<String> {
        let states = testing::read(text.as_bytes()).into_iter().filter_map(|event| match event.what {
            What::Shortage(shortage) => Some(shortage.kind.to_string()),
            What::Failure(failure) => Some(failure.name.to_string()),
            What::Death(death) if death.exit == Exit::KILL => Some("killed".to_owned()),
            _ => None,
        });
        states.collect()
    }

    #[test]
    fn other_reasons_are_no_shortage() {
        let opened = "unable to open shared memory object </torch_12_34> in read-write mode: Too many open files (24)";
        assert_eq!(states(opened), ["process_limit"]);
        let removed =
            "unable to open shared memory object </torch_12_34> in read-write mode: No such file or directory (2)";
        assert_eq!(states(removed), ["io_error"]);
        let segment = "NCCL WARN Error while creating shared memory segment nccl-shm-send-1 (size 5246976)";
        for reason in [
            "failed: Permission denied",
            "failed : Too many open files",
            "failed : Permission denied\nnode1:7:9 [0] NCCL INFO include/shm.h:41 -> 2\n",
        ] {
            let denied = format!("node1:7:9 [0] NCCL WARN Call to shm_open {reason}\nnode1:7:9 [0] {segment}");
            assert_eq!(states(&denied), ["nccl_error"], "{denied}");
        }
    }

    #[test]
    fn the_reason_and_the_size_are_one_event() {
        let text = "NCCL WARN Call to posix_fallocate failed: No space left on device\nNCCL WARN Error while creating shared memory segment nccl-shm-recv-1 (size 5246976)";
        let events = testing::read(text.as_bytes());
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].evidence.len(), 1);
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "Raise --shm-size when a DataLoader worker is killed by signal: Bus error",
            "NCCL INFO Allocated 16515076 bytes of shared memory in /dev/shm/nccl-Ab12Cd",
            "INFO using '/dev/shm/cache' for shards",
        ] {
            assert_eq!(states(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn what_is_cut_off_is_not_invented() {
        let cut = "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-Ab12Cd (size 3303";
        assert!(testing::read(cut.as_bytes()).iter().all(|event| event.figures.is_empty()));
        assert!(testing::read(b"tmpfs   64M 12M  19% /dev/shm").is_empty());
    }
}
