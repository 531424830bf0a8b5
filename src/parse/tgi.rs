//! Text Generation Inference: how many tokens it takes at once, by what its warm-up found free.
//!
//! Mirrors `router/src/main.rs` (0.9–2.2) and `backends/v3/src/lib.rs` (2.3–3.3): the number is the whole KV cache, so what
//! the device lacks later was given away here.

use super::Example;
use super::table::Value::Number;
use super::table::{Row, Table, fact, triggers};

/// See the module.
pub static TGI: Table =
    Table { producer: "tgi", series: "TGI", triggers: &triggers(&ROWS), rows: &ROWS, examples: EXAMPLES };

const ROWS: [Row; 2] = [
    fact("Setting max batch total tokens to ", Number, "tgi.max_batch_total_tokens"),
    fact("Inferred max batch total tokens: ", Number, "tgi.max_batch_total_tokens"),
];

const EXAMPLES: &[Example] = &[Example {
    version: "TGI 0.9–3.3",
    text: "2026-03-01T10:00:00.370247Z  INFO text_generation_router::server: router/src/server.rs:1651: Setting max batch total tokens to 20480",
    states: &[("tgi.max_batch_total_tokens", "20480")],
}];
