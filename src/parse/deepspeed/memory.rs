//! DeepSpeed's own view of memory: `see_memory_usage`, the throughput timer, ZeRO-3's warning of flushed caches.
//!
//! Mirrors `deepspeed/runtime/utils.py:see_memory_usage` (0.3.16–0.19.5), `utils/timer.py`, `runtime/zero/stage3.py`. A print is three
//! lines: a label, the device, the host. Up to 0.17.5 each has the logger's prefix, from 0.18.3 on they have none, and the versions between
//! print nothing. Only rank 0 prints. Peaks count since the previous print; the host's figures are those of the whole machine, even within
//! a container.

use crate::knowledge::SlotType::{Percent, Size};
use crate::model::FigureName::{AllocatedPeak, HostPercent, HostUsed, TorchAllocated, TorchReserved};
use crate::model::{Event, Kind, Origin, Severity, What};
use crate::parse::table::{Table, TableRow, joined, memory};
use crate::parse::{Example, Follow, Grammar, Joint, Line, Record, origin, text};

/// See the module.
pub struct DeepSpeed;

/// The beginnings of the lines about the device and the host.
const DEVICE: &str = "Max_MA ";
const HOST: &str = "CPU Virtual Memory:";
const FLUSHES: &str = " pytorch allocator cache flushes since last step";

/// Parts of the labels that DeepSpeed itself prints. Labels of the user's own calls can be anything and are not read.
const LABELS: [&str; 18] = [
    "DeepSpeedZeRoOffload initialize [",
    "Stage 3 initialize beginning",
    "Before creating fp16 partitions",
    "After creating fp16 partitions",
    "Before creating fp32 partitions",
    "After creating fp32 partitions",
    "Before initializing optimizer states",
    "After initializing optimizer states",
    "After initializing ZeRO optimizer",
    "begin bf16_optimizer",
    "end bf16_",
    "before initializing group ",
    "after initializing group ",
    "before initialize_optimizer",
    "end initialize_optimizer",
    "DeepSpeed Engine: ",
    "Engine before ",
    "Engine after ",
];

const TABLE: Table = Table { producer: "deepspeed", series: "DeepSpeed", rows: ROWS };

const ROWS: &[TableRow] = &[
    memory("MA ", Size, TorchAllocated).within(&[DEVICE]),
    memory(DEVICE, Size, AllocatedPeak),
    memory("CA ", Size, TorchReserved).within(&[DEVICE]),
    memory("used = ", Size, HostUsed).within(&[HOST]),
    memory("percent = ", Percent, HostPercent).within(&[HOST]),
    memory("MemAllocated=", Size, TorchAllocated),
    memory("MaxMemAllocated=", Size, AllocatedPeak),
];

/// Most lines of other processes between two lines of one print.
const BETWEEN: u64 = 4;

impl Grammar for DeepSpeed {
    fn producer(&self) -> &'static str {
        "deepspeed"
    }

    fn triggers(&self) -> &'static [&'static str] {
        const OWN: [&str; 4] = [DEVICE, HOST, "MemAllocated=", FLUSHES];
        const ALL: [&str; OWN.len() + LABELS.len()] = joined(OWN, LABELS);
        &ALL
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let known = record.text();
        let wanted = if text::has(known, HOST) || text::has(known, FLUSHES) || text::has(known, "MemAllocated=") {
            return Follow::End;
        } else if text::has(known, DEVICE) {
            HOST
        } else {
            DEVICE
        };
        let body = next.body();
        if text::has(body, wanted) {
            return Follow::Join(Joint::Line);
        }
        let is_next_call =
            text::has(body, DEVICE) || text::has(body, HOST) || LABELS.iter().any(|label| text::has(body, label));
        match is_next_call || next.number.0 > record.last_number().0 + BETWEEN {
            true => Follow::End,
            false => Follow::Pass,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        if let Some(event) = flushes(record) {
            return vec![event];
        }
        let mut events = TABLE.read(record);
        for event in &mut events {
            let origin = Origin { rank: record.origin().rank.or(Some(0)), ..record.origin().clone() };
            event.what = What::Memory { series: origin::series("DeepSpeed", &origin) };
            event.facts.extend(label(record.text()).map(|label| record.fact("deepspeed.label", label)));
        }
        events
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// The first line, if it is a label.
fn label(text: &str) -> Option<&str> {
    let first = text.lines().next()?.trim();
    let is_label = !text::has(first, DEVICE) && !text::has(first, HOST);
    (is_label && LABELS.iter().any(|label| text::has(first, label))).then_some(first)
}

/// `3 pytorch allocator cache flushes since last step. this happens when there is high memory pressure …`
fn flushes(record: &Record) -> Option<Event> {
    let before = &record.text()[..text::find(record.text(), FLUSHES)?];
    let digits = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let count = &before[digits..];
    let number = count.parse::<f64>().ok()?;
    let mut event = origin::shortage(record, "deepspeed", count, Kind::GpuOom, Severity::Pressure, None);
    event.facts.push(record.number_fact("deepspeed.cache_flushes", count, number));
    Some(event)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "deepspeed ≤0.17.5",
        text: "[2026-03-01 10:00:00,100] [INFO] [utils.py:781:see_memory_usage] Before initializing optimizer states\n[2026-03-01 10:00:00,101] [INFO] [utils.py:782:see_memory_usage] MA 15.12 GB         Max_MA 16.4 GB         CA 17.31 GB         Max_CA 17 GB \n[2026-03-01 10:00:00,101] [INFO] [utils.py:789:see_memory_usage] CPU Virtual Memory:  used = 212.5 GB, percent = 42.1%",
        states: &[
            ("series", "DeepSpeed rank 0"),
            ("torch_allocated", "15.12 GB"),
            ("allocated_peak", "16.4 GB"),
            ("torch_reserved", "17.31 GB"),
            ("host_used", "212.5 GB"),
        ],
    },
    Example {
        version: "deepspeed ≥0.18.3, bare prints, another process between",
        text: "Engine before backward\nstep=4 loss=2.25\nMA 3.25 GB         Max_MA 3.5 GB         CA 3.75 GB         Max_CA 4 GB \nCPU Virtual Memory:  used = 24.5 GB, percent = 38.0%",
        states: &[("torch_allocated", "3.25 GB"), ("torch_reserved", "3.75 GB"), ("host_used", "24.5 GB")],
    },
    Example {
        version: "deepspeed ≤0.17.5, several nodes, the device's record alone",
        text: "node7: [2026-03-01 10:00:00,101] [INFO] [utils.py:832:see_memory_usage] MA 0.0 GB         Max_MA 41.25 GB         CA 41.5 GB         Max_CA 42 GB ",
        states: &[("series", "DeepSpeed rank 0 on node7"), ("allocated_peak", "41.25 GB")],
    },
    Example {
        version: "deepspeed, the host's record alone",
        text: "CPU Virtual Memory:  used = 1006.12 GB, percent = 99.6%",
        states: &[("host_used", "1006.12 GB")],
    },
    Example {
        version: "deepspeed 0.6–0.19, throughput timer",
        text: "[2026-03-01 10:00:36,500] [INFO] [timer.py:199:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=12.5, CurrSamplesPerSec=12.25, MemAllocated=31.25GB, MaxMemAllocated=44.5GB",
        states: &[("torch_allocated", "31.25GB"), ("allocated_peak", "44.5GB")],
    },
    Example {
        version: "deepspeed ≥0.6.0, ZeRO-3",
        text: "[2026-03-01 10:20:00,000] [WARNING] [stage3.py:1949:step] 3 pytorch allocator cache flushes since last step. this happens when there is high memory pressure and is detrimental to performance. if this is happening frequently consider adjusting settings to reduce memory consumption.",
        states: &[("pressure", "gpu_oom"), ("deepspeed.cache_flushes", "3")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FactValue;
    use crate::parse::testing;

    #[test]
    fn a_label_and_the_share_of_the_host_are_kept() {
        let events = testing::parse(&DeepSpeed, EXAMPLES[0].text);
        assert_eq!(events.len(), 1);
        let event = &events[0];
        assert_eq!(event.facts[0].value, FactValue::Text("Before initializing optimizer states".to_owned()));
        let percent = event.figures.iter().find(|figure| figure.name == HostPercent);
        assert_eq!(percent.map(|figure| (figure.text.as_str(), figure.value)), Some(("42.1%", Some(42.1))));
    }

    #[test]
    fn a_label_without_figures_states_nothing() {
        assert!(testing::parse(&DeepSpeed, "Engine before backward\nstep=4 loss=2.25").is_empty());
        assert!(testing::parse(&DeepSpeed, "MA 1.2").is_empty());
    }

    #[test]
    fn a_record_cut_off_states_what_is_there() {
        let events = testing::parse(&DeepSpeed, "MA 0.5 GB         Max_MA 1.5 GB         CA 2.");
        assert_eq!(
            events[0].figures.iter().map(|figure| figure.name).collect::<Vec<_>>(),
            [TorchAllocated, AllocatedPeak]
        );
    }
}
