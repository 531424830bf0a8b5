//! The single buffer that DeepSpeed's inference kernels (also in DeepSpeed-Chat's hybrid engine) allocate on the device.
//!
//! Mirrors `csrc/transformer/inference/includes/inference_context.h:GenWorkSpace` (0.5–0.19). The sizes without a unit are printed only if
//! it does not fit.

use crate::model::FigureName::{GpuFree, GpuTotal, Requested};
use crate::model::{Event, Kind, Severity};
use crate::parse::{Example, Follow, Grammar, Joint, Line, Record, origin, text};

/// See the module.
pub struct Workspace;

const REFUSED: &str = "Workspace can't be allocated";
const SIZE: &str = "Requested:\t";

impl Grammar for Workspace {
    fn producer(&self) -> &'static str {
        "deepspeed"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &[REFUSED]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[REFUSED, SIZE]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let wanted = if record.last_line().starts_with(SIZE) { "Free:\t" } else { "Total:\t" };
        match record.text().starts_with(SIZE) && record.len() < 3 && next.body().starts_with(wanted) {
            true => Follow::Join(Joint::Line),
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let sizes = [(SIZE, Requested), ("Free:\t", GpuFree), ("Total:\t", GpuTotal)];
        let figures: Vec<_> = sizes
            .into_iter()
            .filter_map(|(words, name)| Some((name, text::plain_bytes(text::after(record.text(), words)?).ok()?.1)))
            .filter_map(|(name, size)| record.figure(name, size))
            .collect();
        let refused = text::each(record.text(), REFUSED).find(|part| !text::is_quoted(record.text(), part));
        // A single size could belong to any program's output.
        let Some(part) = refused.or_else(|| (figures.len() == 3).then(|| record.text())) else { return Vec::new() };
        let mut event = origin::shortage(record, "deepspeed", part, Kind::GpuOom, Severity::Fatal, None);
        event.figures = figures;
        vec![event]
    }

    fn examples(&self) -> &'static [Example] {
        REFUSALS
    }
}

const REFUSALS: &[Example] = &[Example {
    version: "deepspeed 0.5–0.19, inference kernels",
    text: "Requested:\t1048576000\nFree:\t524288000\nTotal:\t25438126080\nTraceback (most recent call last):\nRuntimeError: Workspace can't be allocated, no enough memory.",
    states: &[
        ("kind", "gpu_oom"),
        ("requested", "1048576000"),
        ("gpu_free", "524288000"),
        ("gpu_total", "25438126080"),
    ],
}];

#[cfg(test)]
mod tests {
    use crate::parse::testing;

    #[test]
    fn one_size_is_no_refusal() {
        for text in ["Requested:\t1048576000", "Requested:\t10\nFree:\t5", "Requested:\t10\nother\nTotal:\t7"] {
            assert!(testing::read(text.as_bytes()).is_empty(), "{text}");
        }
        let code = "    throw std::runtime_error(\"Workspace can't be allocated, no enough memory.\");";
        assert!(testing::read(code.as_bytes()).is_empty());
    }
}
