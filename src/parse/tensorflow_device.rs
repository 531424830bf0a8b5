//! What TensorFlow says of each device that it finds, over several lines.
//!
//! Mirrors `tensorflow/core/common_runtime/gpu/gpu_device.cc` (0.6–1.4). Later versions put the two sizes on one line, which is a row of
//! `rules/messages/tensorflow.toml`.

use super::table::{Table, fact, memory};
use super::{Example, Follow, Grammar, Joint, Line, Record};
use crate::knowledge::SlotType::Size;
use crate::model::{Event, FigureName};

/// See the module.
pub struct TensorFlowDevice;

const HEAD: &str = "Found device ";
/// The beginnings of the lines that follow.
const ROWS_BEGIN: [&str; 5] = ["name: ", "major: ", "pciBusID", "Total memory: ", "Free memory: "];

const TABLE: Table = Table {
    producer: "tensorflow",
    series: "TensorFlow's device",
    rows: &[
        memory("Total memory: ", Size, FigureName::GpuTotal).within(PROPERTIES),
        fact("Free memory: ", Size, "tensorflow.free_at_start").within(PROPERTIES),
    ],
};
const PROPERTIES: &[&str] = &["with properties"];

impl Grammar for TensorFlowDevice {
    fn producer(&self) -> &'static str {
        "tensorflow"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[HEAD]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let next = next.body().trim_start();
        match record.len() <= ROWS_BEGIN.len() && ROWS_BEGIN.iter().any(|begin| next.starts_with(begin)) {
            true => Follow::Join(Joint::Line),
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        TABLE.read(record)
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

const EXAMPLES: &[Example] = &[Example {
    version: "tensorflow 0.6–1.4",
    text: "I tensorflow/core/common_runtime/gpu/gpu_device.cc:885] Found device 0 with properties: \nname: Tesla K80\nmajor: 3 minor: 7 memoryClockRate (GHz) 0.8235\npciBusID 0000:00:1e.0\nTotal memory: 11.17GiB\nFree memory: 512.25MiB",
    states: &[("gpu_total", "11.17GiB"), ("tensorflow.free_at_start", "512.25MiB")],
}];
