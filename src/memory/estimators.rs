//! DeepSpeed's own estimates of what ZeRO needs, to the byte, so that a number that somebody computed with them can be
//! recognised and set right.
//!
//! `estimate_zero2_model_states_mem_needs` (`deepspeed/runtime/zero/stage_1_and_2.py`) and
//! `estimate_zero3_model_states_mem_needs` (`stage3.py`), the same from 0.14.3 to 0.19. They know no activations, buckets,
//! logits, rounding of pinned memory or checkpoints; the host's part of the former grows with all devices, not with a
//! node's; a quarter of it is a model in fp32 on every rank, which hardly anybody loads.

use crate::model::Bytes;

/// What an estimator is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    /// Parameters of the model.
    pub parameters: u64,
    /// Devices of a node.
    pub devices_per_node: u64,
    /// Nodes.
    pub nodes: u64,
    /// What is added for buffers: 1.5 where nobody says otherwise.
    pub buffer_factor: f64,
}

impl Setup {
    /// With the factor that is the default.
    pub fn of(parameters: u64, nodes: u64, devices_per_node: u64) -> Setup {
        Setup { parameters, devices_per_node, nodes, buffer_factor: 1.5 }
    }

    fn devices(self) -> u64 {
        (self.nodes * self.devices_per_node).max(1)
    }
}

/// What an estimator answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// On one host.
    pub host: Bytes,
    /// On one device.
    pub device: Bytes,
}

/// What stage 3 offloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offloaded {
    /// Nothing.
    Nothing,
    /// The optimizer.
    Optimizer,
    /// The optimizer and the weights.
    OptimizerAndParameters,
}

/// Stage 2. Before 0.14.3 (`fp32_gradients` false) it took the gradients for 4 bytes and the weights too.
pub fn zero2(setup: Setup, offload: bool, fp32_gradients: bool) -> Estimate {
    let (parameters, devices) = (setup.parameters, setup.devices());
    if offload {
        let host = (parameters * (4 * devices).max(16)) as f64 * setup.buffer_factor;
        return Estimate { host: whole(host), device: exact(2 * parameters) };
    }
    let shared = |bytes: u64| whole((bytes * parameters) as f64 / devices as f64);
    let device = match fp32_gradients {
        true => exact(2 * parameters) + shared(18),
        false => exact(4 * parameters) + shared(16),
    };
    let host = (parameters * 4 * setup.devices_per_node) as f64 * setup.buffer_factor;
    Estimate { host: whole(host), device }
}

/// Stage 3; `largest_module` is the parameters of the largest module without its children, `zero_init` whether the model
/// is built sharded (`deepspeed.zero.Init`).
pub fn zero3(setup: Setup, largest_module: u64, offload: Offloaded, zero_init: bool) -> Estimate {
    let (parameters, devices) = (setup.parameters, setup.devices());
    let of_node = 1.0 / setup.nodes.max(1) as f64;
    let factor = setup.buffer_factor;
    let module = exact(4 * largest_module);
    let shared = |bytes: u64| whole((bytes * parameters) as f64 / devices as f64);
    // Python multiplies whole numbers first, then by fractions from left to right; so does this.
    let states = |bytes: u64| match zero_init {
        true => whole((parameters * bytes) as f64 * of_node * factor),
        false => {
            let copies = (4 * setup.devices_per_node) as f64;
            whole(parameters as f64 * copies.max(bytes as f64 * of_node) * factor)
        }
    };
    match offload {
        Offloaded::OptimizerAndParameters => Estimate { host: states(18), device: module },
        Offloaded::Optimizer => Estimate { host: states(16), device: module + shared(2) },
        Offloaded::Nothing => {
            let loaded = if zero_init { largest_module } else { parameters };
            let host = whole((loaded * 4 * setup.devices_per_node) as f64 * factor);
            Estimate { host, device: module + shared(18) }
        }
    }
}

/// Python's `int()` of a number that is not negative.
fn whole(bytes: f64) -> Bytes {
    Bytes(bytes as i64)
}

fn exact(bytes: u64) -> Bytes {
    Bytes(i64::try_from(bytes).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// nodes, devices a node; host and device in bytes, worked out from the formulas by hand.
    #[test]
    fn zero2_says_what_deepspeed_says() {
        const P: u64 = 7_000_000_001;
        for (nodes, devices, offload, new, host, device) in [
            // P·16·1.5 and 2·P
            (1, 1, true, true, 168_000_000_024, 14_000_000_002),
            // P·max(4·8, 16)·1.5 and 2·P
            (1, 8, true, true, 336_000_000_048, 14_000_000_002),
            // with every device of both nodes: P·64·1.5
            (2, 8, true, true, 672_000_000_096, 14_000_000_002),
            // P·4·8·1.5 and 2·P + ⌊18·P / 8⌋
            (1, 8, false, true, 336_000_000_048, 29_750_000_004),
            (2, 8, false, true, 336_000_000_048, 21_875_000_003),
            // 4·P + ⌊16·P / 8⌋
            (1, 8, false, false, 336_000_000_048, 42_000_000_006),
        ] {
            let estimate = zero2(Setup::of(P, nodes, devices), offload, new);
            assert_eq!((estimate.host.0, estimate.device.0), (host, device), "{nodes}×{devices} {offload} {new}");
        }
    }

    #[test]
    fn zero3_says_what_deepspeed_says() {
        use Offloaded::{Nothing, Optimizer, OptimizerAndParameters};
        const P: u64 = 7_000_000_001;
        const L: u64 = 500_000_000;
        for (nodes, devices, offload, zero_init, host, device) in [
            // P·18·1.5 and 4·L
            (1, 8, OptimizerAndParameters, true, 189_000_000_027, 2_000_000_000),
            // P·max(4·8, 18)·1.5
            (1, 8, OptimizerAndParameters, false, 336_000_000_048, 2_000_000_000),
            // P·18/2·1.5
            (2, 8, OptimizerAndParameters, true, 94_500_000_013, 2_000_000_000),
            // P·16·1.5 and 4·L + ⌊2·P / 8⌋
            (1, 8, Optimizer, true, 168_000_000_024, 3_750_000_000),
            (1, 1, Optimizer, false, 168_000_000_024, 16_000_000_002),
            // 4·L·8·1.5 and 4·L + ⌊18·P / 8⌋
            (1, 8, Nothing, true, 24_000_000_000, 17_750_000_002),
            (1, 8, Nothing, false, 336_000_000_048, 17_750_000_002),
        ] {
            let estimate = zero3(Setup::of(P, nodes, devices), L, offload, zero_init);
            assert_eq!(
                (estimate.host.0, estimate.device.0),
                (host, device),
                "{nodes}×{devices} {offload:?} {zero_init}"
            );
        }
    }

    /// Against what DeepSpeed itself printed, where a table of that lies beside the repository.
    #[test]
    fn agrees_with_a_recorded_table() -> Result<(), Box<dyn std::error::Error>> {
        let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/reference/deepspeed-estimators.json");
        let Ok(table) = std::fs::read_to_string(table) else { return Ok(()) };
        let table: Value = serde_json::from_str(&table)?;
        let mut compared = 0;
        for (stage, rows) in [(2, &table["zero2"]["rows"]), (3, &table["zero3"]["rows"])] {
            for row in rows.as_array().into_iter().flatten() {
                let number = |key: &str| row[key].as_u64().unwrap_or_default();
                let says = |key: &str| row[key].as_bool().unwrap_or_default();
                let setup = Setup {
                    parameters: number("total_params"),
                    devices_per_node: number("num_gpus_per_node"),
                    nodes: number("num_nodes"),
                    buffer_factor: row["additional_buffer_factor"].as_f64().unwrap_or_default(),
                };
                let offload = match (says("cpu_offload"), says("cpu_offload_params")) {
                    (true, true) => Offloaded::OptimizerAndParameters,
                    (true, false) => Offloaded::Optimizer,
                    (false, _) => Offloaded::Nothing,
                };
                let estimate = match stage {
                    2 => zero2(setup, says("cpu_offload"), true),
                    _ => zero3(setup, number("largest_layer_params"), offload, says("zero_init")),
                };
                let expected = (row["cpu_mem"].as_i64(), row["gpu_mem"].as_i64());
                assert_eq!((Some(estimate.host.0), Some(estimate.device.0)), expected, "{row}");
                compared += 1;
            }
        }
        assert!(compared > 0);
        Ok(())
    }
}
