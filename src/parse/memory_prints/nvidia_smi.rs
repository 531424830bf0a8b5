//! The table of `nvidia-smi`, as jobs and people print it into a log.
//!
//! Each device has two rows, its name and its memory (drivers 375–580):
//!
//! ```text
//! |   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |
//! | N/A   31C    P0              62W / 400W |  61036MiB / 81920MiB |     97%      Default |
//! ```
//!
//! Below them, each process on a device has one: device, instances (from driver 450 on), process id, type, command, memory.
//!
//! ```text
//! |    0   N/A  N/A         2291110      C   python train_embed.py                 59142MiB |
//! ```

use nom::bytes::complete::{tag, take_until};
use nom::character::complete::{char, space0, space1, u32 as integer};
use nom::sequence::{preceded, separated_pair};
use nom::{IResult, Parser};

use crate::model::FigureName::{GpuTotal, Other};
use crate::model::{Bytes, Event, SMI_COMMAND, SMI_DEVICE, SMI_HELD, SMI_PID, What};
use crate::parse::text::{self, Size};
use crate::parse::{Example, Follow, Grammar, Joint, Line, Record, origin};

/// See the module.
pub struct NvidiaSmi;

/// The bus of a device; drivers from 545 on write it further to the right.
const BUS: &str = " 00000000:";
const OLD_BUS: &str = "| 0000";
const MEMORY: &str = "MiB / ";
const PROCESS: &str = "MiB |";
/// The devices by which a table tells how many there are.
const LISTED: [(u32, &str); 4] =
    [(0, "smi.first_gpu"), (1, "smi.second_gpu"), (3, "smi.fourth_gpu"), (7, "smi.eighth_gpu")];
/// What a process uses a device for: computing, graphics, both.
const TYPES: [&str; 4] = ["C", "G", "C+G", "M+C"];

impl Grammar for NvidiaSmi {
    fn producer(&self) -> &'static str {
        "nvidia-smi"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[BUS, OLD_BUS, MEMORY, PROCESS]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        match record.len() == 1 && device(record.text()).is_ok() && memory(next.body()).is_some() {
            true => Follow::Join(Joint::Line),
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let device = device(record.text()).ok().map(|(_, device)| device);
        let mut events = Vec::new();
        let memory = record.text().lines().last().and_then(memory);
        if let Some((used, total)) = memory {
            let label = device.map_or("GPU".to_owned(), |(index, _)| format!("GPU {index}"));
            let series = origin::series(&label, record.origin());
            let mut event = record.event("nvidia-smi", used.text, What::Memory { series });
            event.figures =
                [(Other, used), (GpuTotal, total)].into_iter().filter_map(|(n, s)| record.figure(n, s)).collect();
            events.push(event);
        }
        if let Some((index, name)) = device {
            let mut event = record.event("nvidia-smi", name, What::Notice);
            event.facts.push(record.fact("job.gpu", name));
            let listed = LISTED.iter().find(|(listed, _)| *listed == index);
            event.facts.extend(listed.map(|(_, fact)| record.fact(fact, name)));
            let occupancy = memory.and_then(|(used, total)| Some((occupancy(used.bytes?, total.bytes?)?, used.text)));
            event.facts.extend(occupancy.map(|(fact, words)| record.number_fact(fact, words, f64::from(index))));
            events.push(event);
        }
        if events.is_empty() {
            events.extend(process(record.text()).map(|process| to_event(record, &process)));
        }
        events
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// Number and name of the device in the first row; after the name stands the persistence mode, `On` or `Off`.
fn device(text: &str) -> IResult<&str, (u32, &str)> {
    let (rest, (index, cell)) =
        (preceded((char('|'), space1), integer), preceded(tag("  "), take_until("|"))).parse(text)?;
    let (rest, _) = (char('|'), space1, tag("0000")).parse(rest)?;
    let name = cell.trim().trim_end_matches("On").trim_end_matches("Off").trim();
    Ok((rest, (index, name)))
}

/// Used and total memory in the second row.
fn memory(text: &str) -> Option<(Size<'_>, Size<'_>)> {
    let cell = |text| separated_pair(text::size, (space0, char('/'), space0), text::size).parse(text);
    let cells = text.trim().strip_prefix('|')?.strip_suffix('|')?.split('|');
    cells.filter_map(|text| cell(text.trim()).ok()).find(|(rest, _)| rest.is_empty()).map(|(_, sizes)| sizes)
}

/// The fact that a device is nearly full, or nearly empty.
fn occupancy(used: Bytes, total: Bytes) -> Option<&'static str> {
    match (used.0 * 20 > total.0 * 17, used.0 * 50 < total.0) {
        (true, _) => Some("smi.full_gpu"),
        (_, true) => Some("smi.free_gpu"),
        _ => None,
    }
}

/// A row of the processes.
struct Process<'t> {
    device: u32,
    /// The process id as it is written.
    pid: &'t str,
    command: &'t str,
    held: Size<'t>,
}

/// The process of a row; the cells between the device and the process id are those of a MIG device.
fn process(text: &str) -> Option<Process<'_>> {
    let cells = text.trim().strip_prefix('|')?.strip_suffix('|')?.trim();
    let (rest, held) = cells.rsplit_once(' ')?;
    let held = text::size(held).ok().filter(|(rest, _)| rest.is_empty())?.1;
    let (device, mut rest) = rest.split_once(' ')?;
    let mut pid = "";
    loop {
        let (word, behind) = rest.trim_start().split_once(' ')?;
        if TYPES.contains(&word) {
            let command = behind.trim();
            pid.parse::<u32>().ok()?;
            return Some(Process { device: device.parse().ok()?, pid, command, held });
        }
        (pid, rest) = (word, behind);
    }
}

fn to_event(record: &Record, Process { device, pid, command, held }: &Process<'_>) -> Event {
    let mut event = record.event("nvidia-smi", held.text, What::Notice);
    event.facts.push(record.fact(SMI_COMMAND, command));
    event.facts.extend(pid.parse().map(|number| record.number_fact(SMI_PID, pid, number)));
    event.facts.push(record.number_fact(SMI_DEVICE, held.text, f64::from(*device)));
    event.facts.extend(held.bytes.map(|bytes| record.number_fact(SMI_HELD, held.text, bytes.0 as f64)));
    event
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "driver 450–580, a process",
        text: "|    0   N/A  N/A         2291110      C   python train_embed.py                 59142MiB |",
        states: &[("smi.command", "python train_embed.py"), ("smi.pid", "2291110"), ("smi.held", "59142MiB")],
    },
    Example {
        version: "driver 375–440, a process",
        text: "|    1      8121      C   /usr/bin/python3                           9113MiB |",
        states: &[("smi.command", "/usr/bin/python3"), ("smi.pid", "8121"), ("smi.held", "9113MiB")],
    },
    Example {
        version: "driver 510–580",
        text: "|   3  NVIDIA A100-SXM4-80GB          On  | 00000000:B7:00.0 Off |                    0 |\n| N/A   31C    P0              62W / 400W |  61036MiB / 81920MiB |     97%      Default |",
        states: &[
            ("series", "GPU 3"),
            ("other", "61036MiB"),
            ("gpu_total", "81920MiB"),
            ("job.gpu", "NVIDIA A100-SXM4-80GB"),
            ("smi.fourth_gpu", "NVIDIA A100-SXM4-80GB"),
        ],
    },
    Example {
        version: "driver 545–580, a wider table",
        text: "|   0  NVIDIA GeForce RTX 3080        Off |   00000000:0A:00.0  On |                  N/A |\n|  0%   39C    P8             18W / 320W |    1203MiB /  10240MiB |      2%      Default |",
        states: &[
            ("series", "GPU 0"),
            ("other", "1203MiB"),
            ("gpu_total", "10240MiB"),
            ("job.gpu", "NVIDIA GeForce RTX 3080"),
            ("smi.first_gpu", "NVIDIA GeForce RTX 3080"),
        ],
    },
    Example {
        version: "driver 510–580, a device that is full",
        text: "|   2  NVIDIA A100-SXM4-80GB          On  | 00000000:87:00.0 Off |                    0 |\n| N/A   58C    P0             310W / 400W |  80912MiB / 81920MiB |    100%      Default |",
        states: &[
            ("series", "GPU 2"),
            ("other", "80912MiB"),
            ("job.gpu", "NVIDIA A100-SXM4-80GB"),
            ("smi.full_gpu", "80912MiB"),
        ],
    },
    Example {
        version: "driver 375–470",
        text: "|   1  Tesla V100-SXM2...  Off  | 00000000:1A:00.0 Off |                    0 |\n| N/A   44C    P0    81W / 300W |   9216MiB / 16160MiB |     40%      Default |",
        states: &[
            ("series", "GPU 1"),
            ("other", "9216MiB"),
            ("gpu_total", "16160MiB"),
            ("job.gpu", "Tesla V100-SXM2..."),
            ("smi.second_gpu", "Tesla V100-SXM2..."),
        ],
    },
    Example {
        version: "the second row alone",
        text: "| N/A   31C    P0    62W / 400W |   1036MiB / 40960MiB |      0%      Default |",
        states: &[("series", "GPU"), ("other", "1036MiB")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    #[test]
    fn other_tables_are_no_device() {
        for text in [
            "| 12MiB / 40MiB done |",
            "downloaded 12MiB / 40MiB",
            "| a | 0000 |",
            "|   1  x",
            "| 1 x C 12MiB |",
            "| a 1 C x 12MiB |",
        ] {
            assert!(testing::parse(&NvidiaSmi, text).is_empty(), "{text}");
        }
    }
}
