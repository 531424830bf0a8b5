//! What DeepSpeed says of its settings while it starts.
//!
//! Mirrors `deepspeed/runtime/engine.py`, `config.py`, `zero/stage_1_and_2.py`, `zero/stage3.py`,
//! `zero/parameter_offload.py`, `zero/partition_parameters.py`, `utils/pin_memory_tracker.py`,
//! `csrc/adam/cpu_adam_impl.cpp` (0.14.5–0.19.5). From 0.17.6 on the logger shows warnings only.

use crate::parse::Example;
use crate::parse::table::Value::{Count, Dotted, Itself, Line, Number, Quoted, SizeBefore, Until, Version, Word};
use crate::parse::table::{Row, Table, fact, triggers};

/// See the module.
pub static SETTINGS: Table =
    Table { producer: "deepspeed", series: "DeepSpeed", triggers: &triggers(&ROWS), rows: &ROWS, examples: EXAMPLES };

const ROWS: [Row; 31] = [
    fact("DeepSpeed info: version=", Version(0), "deepspeed.version"),
    fact("DeepSpeed info: version=", Version(0), "version.deepspeed"),
    // ZeRO
    fact("CPU Offload: ", Word, "deepspeed.cpu_offload"),
    fact("Reduce bucket size ", Number, "deepspeed.reduce_bucket_size"),
    fact("Allgather bucket size ", Number, "deepspeed.allgather_bucket_size"),
    fact("Prefetch bucket size ", Number, "deepspeed.prefetch_bucket_size"),
    fact("Round robin gradient partitioning: ", Word, "deepspeed.round_robin_gradients"),
    fact("Total persistent parameters: ", Number, "deepspeed.persistent_parameters"),
    fact("ZeRO stage ", Number, "deepspeed.zero_stage").within(&["Creating "]),
    fact("insufficient memory", Itself, "deepspeed.flatten").within(&["Flattening param group"]),
    fact("sufficient memory", Itself, "deepspeed.flatten").within(&["Flattening param group"]),
    fact("num_elems = ", Count, "deepspeed.parameters").within(&["finished initializing model"]),
    fact("num_elems = ", Count, "job.parameters").within(&["finished initializing model"]),
    // optimizer
    fact("DeepSpeed Basic Optimizer = ", Word, "deepspeed.basic_optimizer"),
    fact("DeepSpeed Final Optimizer = ", Word, "deepspeed.final_optimizer"),
    fact(" is created with ", Word, "deepspeed.cpu_adam").within(&["Adam Optimizer #"]),
    // page-locked memory, in nominal bytes
    fact(" pinned across ", SizeBefore, "deepspeed.pinned"),
    fact(" pinned across ", Number, "deepspeed.pinned_allocations"),
    // the configuration as the engine prints it
    fact("zero_optimization_stage ", Dotted, "deepspeed.zero_stage"),
    fact("world_size ..", Dotted, "deepspeed.world_size"),
    fact("world_size ..", Dotted, "job.world_size"),
    fact("train_batch_size ..", Dotted, "deepspeed.train_batch_size"),
    fact("train_micro_batch_size_per_gpu  ", Dotted, "deepspeed.micro_batch_size"),
    fact("gradient_accumulation_steps ..", Dotted, "deepspeed.gradient_accumulation_steps"),
    fact("bfloat16_enabled ", Dotted, "deepspeed.bf16"),
    fact("fp16_enabled ", Dotted, "deepspeed.fp16"),
    fact("DeepSpeedZeroOffloadOptimizerConfig(device=", Quoted, "deepspeed.offload_optimizer"),
    fact("DeepSpeedZeroOffloadParamConfig(device=", Quoted, "deepspeed.offload_param"),
    // the estimator's table
    fact("HW: Setup with ", Until(" per node"), "deepspeed.estimate_hardware"),
    fact("SW: Model with ", Until(" total params"), "deepspeed.estimate_model"),
    fact(" | offload_", Line, "deepspeed.estimate"),
];

const EXAMPLES: &[Example] = &[
    Example {
        version: "deepspeed 0.5–0.19, the engine starts",
        text: "[2026-03-01 10:00:01,000] [INFO] [logging.py:107:log_dist] [Rank 0] DeepSpeed info: version=0.14.5, git-hash=unknown, git-branch=unknown\n[2026-03-01 10:00:02,000] [INFO] [logging.py:107:log_dist] [Rank 0] DeepSpeed Basic Optimizer = DeepSpeedCPUAdam\n[2026-03-01 10:00:02,100] [INFO] [logging.py:107:log_dist] [Rank 0] Creating torch.bfloat16 ZeRO stage 2 optimizer",
        states: &[
            ("deepspeed.version", "0.14.5"),
            ("version.deepspeed", "0.14.5"),
            ("deepspeed.basic_optimizer", "DeepSpeedCPUAdam"),
            ("deepspeed.zero_stage", "2"),
        ],
    },
    Example {
        version: "deepspeed 0.5–0.19, ZeRO-1/2",
        text: "[2026-03-01 10:00:03,000] [INFO] [stage_1_and_2.py:148:__init__] Reduce bucket size 500000000\n[2026-03-01 10:00:03,000] [INFO] [stage_1_and_2.py:149:__init__] Allgather bucket size 500000000\n[2026-03-01 10:00:03,000] [INFO] [stage_1_and_2.py:150:__init__] CPU Offload: True\n[2026-03-01 10:00:03,000] [INFO] [stage_1_and_2.py:151:__init__] Round robin gradient partitioning: False\n[2026-03-01 10:00:03,500] [INFO] [stage_1_and_2.py:445:__init__] Flattening param group 0 on CPU (insufficient memory)",
        states: &[
            ("deepspeed.reduce_bucket_size", "500000000"),
            ("deepspeed.allgather_bucket_size", "500000000"),
            ("deepspeed.cpu_offload", "True"),
            ("deepspeed.round_robin_gradients", "False"),
            ("deepspeed.flatten", "insufficient memory"),
        ],
    },
    Example {
        version: "deepspeed 0.5–0.19, ZeRO-3",
        text: "[2026-03-01 10:00:00,000] [INFO] [partition_parameters.py:348:__exit__] finished initializing model - num_params = 320, num_elems = 7.25B\n[2026-03-01 10:00:03,000] [INFO] [stage3.py:131:__init__] Prefetch bucket size 50000000\nParameter Offload: Total persistent parameters: 262144 in 128 params",
        states: &[
            ("deepspeed.parameters", "7.25B"),
            ("job.parameters", "7.25B"),
            ("deepspeed.prefetch_bucket_size", "50000000"),
            ("deepspeed.persistent_parameters", "262144"),
        ],
    },
    Example {
        version: "deepspeed, CPU Adam",
        text: "Adam Optimizer #0 is created with AVX512 arithmetic capability.",
        states: &[("deepspeed.cpu_adam", "AVX512")],
    },
    Example {
        version: "deepspeed ≥0.19.5, page-locked memory",
        text: "[2026-03-01 10:00:05,000] [INFO] [pin_memory_tracker.py:56:report] [pinned-memory ZeRO-3 optimizer init] 93.250 GB pinned across 412 allocations",
        states: &[("deepspeed.pinned", "93.250 GB"), ("deepspeed.pinned_allocations", "412")],
    },
    Example {
        version: "deepspeed 0.5–0.17.5, the configuration",
        text: "[2026-03-01 10:00:06,000] [INFO] [config.py:1007:print]   bfloat16_enabled ............. True\n[2026-03-01 10:00:06,000] [INFO] [config.py:1007:print]   gradient_accumulation_steps .. 16\n[2026-03-01 10:00:06,000] [INFO] [config.py:1007:print]   train_micro_batch_size_per_gpu  4\n[2026-03-01 10:00:06,000] [INFO] [config.py:1007:print]   world_size ................... 8\n[2026-03-01 10:00:06,000] [INFO] [config.py:1007:print]   zero_config .................. stage=3 contiguous_gradients=True offload_param=DeepSpeedZeroOffloadParamConfig(device=<OffloadDeviceEnum.nvme: 'nvme'>, nvme_path=PosixPath('/data'), pin_memory=True) offload_optimizer=DeepSpeedZeroOffloadOptimizerConfig(device='cpu', nvme_path=None, buffer_count=4, pin_memory=True)\n[2026-03-01 10:00:06,000] [INFO] [config.py:1007:print]   zero_optimization_stage ...... 3",
        states: &[
            ("deepspeed.bf16", "True"),
            ("deepspeed.gradient_accumulation_steps", "16"),
            ("deepspeed.micro_batch_size", "4"),
            ("job.world_size", "8"),
            ("deepspeed.offload_param", "nvme"),
            ("deepspeed.offload_optimizer", "cpu"),
            ("deepspeed.zero_stage", "3"),
        ],
    },
    Example {
        version: "deepspeed, the estimator",
        text: "HW: Setup with 2 nodes, 8 GPUs per node.\nSW: Model with 7250M total params, 512M largest layer params.\n  per CPU  |  per GPU |   Options\n  182.25GB |   2.25GB | offload_param=cpu , offload_optimizer=cpu , zero_init=1",
        states: &[
            ("deepspeed.estimate_hardware", "2 nodes, 8 GPUs"),
            ("deepspeed.estimate_model", "7250M"),
            ("deepspeed.estimate", "182.25GB |   2.25GB | offload_param=cpu , offload_optimizer=cpu , zero_init=1"),
        ],
    },
];
