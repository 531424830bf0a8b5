//! What trainers and launchers say of the job: its size, its batch, its model, its versions.
//!
//! Mirrors transformers `trainer.py` and `commands/env.py` (4.0–5.23), peft `print_trainable_parameters`, Megatron-LM
//! `megatron/training/initialize.py`, DeepSpeed `launcher/launch.py` and `env_report.py`, Lightning
//! `fabric/utilities/distributed.py`, accelerate `state.py`, Ray's start. That training "finished" is the trainer's word
//! for its loop, not for the process: it is no event here.

use super::Example;
use super::table::Value::{self, Billions, Count, Number, Option as Keyword, Quoted, Until, Version, Word};
use super::table::{Row, Table, fact, triggers};

/// See the module.
pub static TRAINER: Table =
    Table { producer: "job", series: "job", triggers: &triggers(&ROWS), rows: &ROWS, examples: EXAMPLES };

/// How far from its name a version may stand.
const NEAR: Value = Version(40);
const HERE: Value = Version(0);

const ROWS: [Row; 51] = [
    // Hugging Face's Trainer
    fact("Num examples = ", Number, "trainer.examples"),
    fact("Num Epochs = ", Number, "trainer.epochs"),
    fact("Instantaneous batch size per device = ", Number, "trainer.micro_batch_size"),
    fact("accumulation) = ", Number, "trainer.train_batch_size").within(&["Total train batch size"]),
    fact("Gradient Accumulation steps = ", Number, "trainer.gradient_accumulation_steps"),
    fact("Total optimization steps = ", Number, "trainer.steps"),
    fact("Number of trainable parameters = ", Count, "trainer.trainable_parameters"),
    // how large the model is
    fact("trainable params: ", Count, "trainer.trainable_parameters").within(&["all params: "]),
    fact("all params: ", Count, "job.parameters").within(&["trainable params: "]),
    fact("Total number of parameters in billions: ", Billions, "job.parameters"),
    fact("number of parameters: ", Count, "job.parameters"),
    fact("Number of parameters: ", Count, "job.parameters"),
    fact("Total parameters: ", Count, "job.parameters"),
    fact("Total params: ", Count, "job.parameters"),
    // which it is
    fact("\"_name_or_path\": ", Quoted, "job.model"),
    fact("loading configuration file ", Until("/config.json"), "job.model").within(&["/config.json"]),
    fact("--model_name_or_path ", Word, "job.model"),
    fact("--actor_model_name_or_path ", Word, "job.model"),
    fact("--pretrain ", Word, "job.model"),
    fact("model_name_or_path", Keyword, "job.model"),
    // how many processes
    fact("dist_world_size=", Number, "job.world_size"),
    fact("using world size: ", Number, "job.world_size"),
    fact("MEMBER: 1/", Number, "job.world_size"),
    fact("Starting with ", Number, "job.world_size").within(&["distributed processes registered"]),
    fact("Num processes: ", Number, "job.world_size"),
    fact("WORLD INFO DICT: ", Until("\n"), "trainer.world_info"),
    fact("nnodes=", Number, "trainer.nodes").within(&["num_local_procs="]),
    fact("num_local_procs=", Number, "trainer.processes_per_node"),
    fact("data-parallel size: ", Number, "trainer.data_parallel_size"),
    fact("tensor-model-parallel size: ", Number, "trainer.tensor_parallel_size"),
    fact("and model-parallel size: ", Number, "trainer.tensor_parallel_size"),
    fact("pipeline-model-parallel size: ", Number, "trainer.pipeline_parallel_size"),
    // on which device
    fact("GPU = ", Until(". "), "job.gpu").within(&["Max memory"]),
    fact("GPU: ", Until(". "), "job.gpu").within(&["Max memory"]),
    // versions
    fact("PyTorch version", NEAR, "version.torch"),
    fact("torch version", NEAR, "version.torch"),
    fact("torch ", HERE, "version.torch"),
    fact("torch==", HERE, "version.torch"),
    fact("torch cuda version", NEAR, "version.cuda"),
    fact("CUDA Version: ", HERE, "version.cuda"),
    fact("Driver Version: ", HERE, "version.driver"),
    fact("NCCL version ", HERE, "version.nccl"),
    fact("transformers` version", NEAR, "version.transformers"),
    fact("transformers version", NEAR, "version.transformers"),
    fact("Transformers version", NEAR, "version.transformers"),
    fact("transformers==", HERE, "version.transformers"),
    fact("Accelerate` version", NEAR, "version.accelerate"),
    fact("Accelerate version", NEAR, "version.accelerate"),
    fact("accelerate version", NEAR, "version.accelerate"),
    fact("deepspeed info ", NEAR, "version.deepspeed"),
    fact("Ray version: ", HERE, "version.ray"),
];

const EXAMPLES: &[Example] = &[
    Example {
        version: "transformers 4.0–5.23, Trainer",
        text: "[INFO|trainer.py:2134] 2026-03-01 10:00:00,123 >> ***** Running training *****\n[INFO|trainer.py:2135] 2026-03-01 10:00:00,123 >>   Num examples = 50,000\n[INFO|trainer.py:2136] 2026-03-01 10:00:00,123 >>   Num Epochs = 3\n[INFO|trainer.py:2137] 2026-03-01 10:00:00,123 >>   Instantaneous batch size per device = 4\n[INFO|trainer.py:2140] 2026-03-01 10:00:00,123 >>   Total train batch size (w. parallel, distributed & accumulation) = 128\n[INFO|trainer.py:2141] 2026-03-01 10:00:00,123 >>   Gradient Accumulation steps = 8\n[INFO|trainer.py:2142] 2026-03-01 10:00:00,123 >>   Total optimization steps = 1,170\n[INFO|trainer.py:2143] 2026-03-01 10:00:00,123 >>   Number of trainable parameters = 8,000,000,000",
        states: &[
            ("trainer.examples", "50,000"),
            ("trainer.epochs", "3"),
            ("trainer.micro_batch_size", "4"),
            ("trainer.train_batch_size", "128"),
            ("trainer.gradient_accumulation_steps", "8"),
            ("trainer.steps", "1,170"),
            ("trainer.trainable_parameters", "8,000,000,000"),
        ],
    },
    Example {
        version: "peft 0.3–0.15",
        text: "trainable params: 8,388,608 || all params: 7,000,000,000 || trainable%: 0.1198",
        states: &[("trainer.trainable_parameters", "8,388,608"), ("job.parameters", "7,000,000,000")],
    },
    Example {
        version: "Megatron-LM 2019–2026",
        text: "using world size: 16, data-parallel size: 2, context-parallel size: 1, tensor-model-parallel size: 4, pipeline-model-parallel size: 2\nTotal number of parameters in billions: 2.50",
        states: &[
            ("job.world_size", "16"),
            ("trainer.data_parallel_size", "2"),
            ("trainer.tensor_parallel_size", "4"),
            ("trainer.pipeline_parallel_size", "2"),
            ("job.parameters", "2.50"),
        ],
    },
    Example {
        version: "Megatron-LM 2019–2020",
        text: "using world size: 32 and model-parallel size: 8 ",
        states: &[("job.world_size", "32"), ("trainer.tensor_parallel_size", "8")],
    },
    Example {
        version: "deepspeed 0.3–0.19, launcher",
        text: "[2026-03-01 10:00:00,000] [INFO] [runner.py:618:main] cmd = /usr/bin/python3 -u -m deepspeed.launcher.launch --world_info=eyJ9 --master_port=29500 train.py --model_name_or_path example/model-7b --deepspeed\n[2026-03-01 10:00:01,000] [INFO] [launch.py:152:main] WORLD INFO DICT: {'node1': [0, 1], 'node2': [0, 1]}\n[2026-03-01 10:00:01,000] [INFO] [launch.py:158:main] nnodes=2, num_local_procs=2, node_rank=0\n[2026-03-01 10:00:01,000] [INFO] [launch.py:170:main] dist_world_size=4",
        states: &[
            ("job.model", "example/model-7b"),
            ("trainer.world_info", "{'node1': [0, 1], 'node2': [0, 1]}"),
            ("trainer.nodes", "2"),
            ("trainer.processes_per_node", "2"),
            ("job.world_size", "4"),
        ],
    },
    Example {
        version: "Lightning 1.2–2.5",
        text: "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8\n----------------------------------------------------------------------------------------------------\ndistributed_backend=nccl\nAll distributed processes registered. Starting with 8 processes",
        states: &[("job.world_size", "8")],
    },
    Example {
        version: "transformers, the environment",
        text: "- `transformers` version: 4.46.3\n- Accelerate version: 1.1.1\n- PyTorch version (GPU?): 2.4.0+cu121 (True)\n- Using GPU in script?: yes",
        states: &[
            ("version.transformers", "4.46.3"),
            ("version.accelerate", "1.1.1"),
            ("version.torch", "2.4.0+cu121"),
        ],
    },
    Example {
        version: "deepspeed, ds_report",
        text: "torch version .................... 2.3.0+cu121\ndeepspeed info ................... 0.14.5, unknown, unknown\ntorch cuda version ............... 12.1",
        states: &[("version.torch", "2.3.0+cu121"), ("version.deepspeed", "0.14.5"), ("version.cuda", "12.1")],
    },
    Example {
        version: "Ray ≥2.0, NCCL, nvidia-smi",
        text: "2026-03-01 10:00:00,969\tINFO monitor.py:731 -- Ray version: 2.44.1\nNCCL version 2.21.5+cuda12.4\n| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |",
        states: &[
            ("version.ray", "2.44.1"),
            ("version.nccl", "2.21.5+cuda12.4"),
            ("version.driver", "550.54.15"),
            ("version.cuda", "12.4"),
        ],
    },
    Example {
        version: "Unsloth 2024–2026",
        text: "   \\\\   /|    GPU: NVIDIA L4. Num GPUs = 1. Max memory: 22.125 GB. Platform: Linux.",
        states: &[("job.gpu", "NVIDIA L4")],
    },
];
