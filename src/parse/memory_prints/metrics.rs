//! The memory metrics of Hugging Face's `Trainer`.
//!
//! Mirrors `transformers/trainer_utils.py:TrainerMemoryTracker` and `trainer_pt_utils.py:metrics_format` (4.0–5.23):
//! `{init|train|eval|…}_mem_{cpu|gpu}_{alloc|peaked}_delta`, `before_init_mem_{cpu|gpu}`; bytes in the dictionary of the step, MiB in the
//! box at the end. An `alloc` delta is how much more memory a stage held at its end than at its beginning; a `peaked` delta is how much
//! more than that it held for a while.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{char, space0};
use nom::combinator::{opt, verify};
use nom::sequence::{preceded, terminated};
use nom::{IResult, Parser};

use crate::model::FigureName::{Other, TorchAllocated, WorkerUsed};
use crate::model::{Event, What};
use crate::parse::text::{self, Size};
use crate::parse::{Example, Grammar, Record, origin};

/// See the module.
pub struct Metrics;

impl Grammar for Metrics {
    fn producer(&self) -> &'static str {
        "transformers"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &["_mem_cpu", "_mem_gpu"]
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let whole = record.text();
        let starts = |c: char| c.is_ascii_lowercase();
        let words = whole.char_indices().filter(|(at, c)| starts(*c) && !whole[..*at].ends_with(is_name_part));
        words
            .filter_map(|(at, _)| metric(&whole[at..]).ok())
            .filter_map(|(_, (name, size))| {
                let figure = match name {
                    "before_init_mem_cpu" => WorkerUsed,
                    "before_init_mem_gpu" => TorchAllocated,
                    _ => Other,
                };
                let series = origin::series(name, record.origin());
                let mut event = record.event("transformers", size.text, What::Memory { series });
                event.figures.push(record.figure(figure, size)?);
                Some(event)
            })
            .collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_lowercase() || c == '_'
}

/// `train_mem_cpu_alloc_delta =       64MB`, `train_mem_cpu_alloc_delta': 67108864,`
fn metric(text: &str) -> IResult<&str, (&str, Size<'_>)> {
    let is_memory = |name: &str| ["_mem_cpu", "_mem_gpu"].iter().any(|part| name.contains(part));
    let name = verify(take_while1(is_name_part), is_memory);
    let boxed = preceded((space0, char('='), space0), text::size);
    let logged = preceded((opt(char('\'')), tag(": ")), terminated(text::plain_bytes, alt((tag(","), tag("}")))));
    (name, alt((boxed, logged))).parse(text)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "transformers 4.0–5.23, the box at the end",
        text: "***** train metrics *****\n  before_init_mem_cpu        =     2048MB\n  before_init_mem_gpu        =        0MB\n  train_mem_gpu_alloc_delta  =     3072MB\n  train_mem_gpu_peaked_delta =    12288MB",
        states: &[
            ("worker_used", "2048MB"),
            ("torch_allocated", "0MB"),
            ("series", "train_mem_gpu_peaked_delta"),
            ("other", "12288MB"),
        ],
    },
    Example {
        version: "transformers 4.0–5.23, the dictionary",
        text: "{'train_runtime': '512.5', 'train_loss': '1.25', 'init_mem_cpu_alloc_delta': 16777216, 'train_mem_cpu_alloc_delta': 67108864, 'before_init_mem_cpu': 1073741824, 'epoch': '2.0'}",
        states: &[
            ("series", "train_mem_cpu_alloc_delta"),
            ("other", "67108864"),
            ("other", "16777216"),
            ("worker_used", "1073741824"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    #[test]
    fn a_number_that_may_be_cut_off_is_not_read() {
        assert!(testing::parse(&Metrics, "{'train_mem_cpu_alloc_delta': 6710").is_empty());
        assert!(testing::parse(&Metrics, "  train_mem_gpu_alloc_delta  =     29").is_empty());
    }
}
