//! With which settings a vLLM engine was started.
//!
//! Mirrors `vllm/engine/llm_engine.py`, `v1/engine/core.py` (`Initializing … with config:`), `entrypoints/utils.py`
//! (`non-default args:`), `entrypoints/openai/api_server.py` (0.3–0.33).

use crate::parse::Example;
use crate::parse::table::Value::{self, Number, Version};
use crate::parse::table::{Row, Table, fact};

/// See the module.
pub static SETTINGS: Table =
    Table { producer: "vllm", series: "vLLM", triggers: TRIGGERS, rows: &ROWS, examples: EXAMPLES };

const ARGUMENTS: &[&str] = &["non-default args", "LLM engine (v", "Namespace(", "EngineArgs("];

const TRIGGERS: &[&str] = &[
    "non-default args",
    "LLM engine (v",
    "Namespace(",
    "EngineArgs(",
    "vLLM API server version ",
    "Using max model len ",
    "Chunked prefill is enabled",
    "Setting attention block size to ",
];

const fn argument(words: &'static str, key: &'static str) -> Row {
    fact(words, Value::Option, key).within(ARGUMENTS)
}

const ROWS: [Row; 21] = [
    fact("LLM engine (v", Version(0), "version.vllm"),
    fact("vLLM API server version ", Version(0), "version.vllm"),
    argument("model", "job.model"),
    argument("gpu_memory_utilization", "vllm.gpu_memory_utilization"),
    argument("max_model_len", "vllm.max_model_len"),
    argument("max_seq_len", "vllm.max_model_len"),
    argument("max_num_seqs", "vllm.max_num_seqs"),
    argument("max_num_batched_tokens", "vllm.max_num_batched_tokens"),
    argument("tensor_parallel_size", "vllm.tensor_parallel_size"),
    argument("pipeline_parallel_size", "vllm.pipeline_parallel_size"),
    argument("data_parallel_size", "vllm.data_parallel_size"),
    argument("enforce_eager", "vllm.enforce_eager"),
    argument("dtype", "vllm.dtype"),
    argument("kv_cache_dtype", "vllm.kv_cache_dtype"),
    argument("quantization", "vllm.quantization"),
    argument("swap_space", "vllm.swap_space_setting"),
    argument("cpu_offload_gb", "vllm.cpu_offload"),
    argument("enable_sleep_mode", "vllm.enable_sleep_mode"),
    fact("Using max model len ", Number, "vllm.max_model_len"),
    fact("max_num_batched_tokens=", Number, "vllm.max_num_batched_tokens").within(&["Chunked prefill is enabled"]),
    fact("Setting attention block size to ", Number, "vllm.block_size"),
];

const EXAMPLES: &[Example] = &[
    Example {
        version: "vllm 0.8–0.33, V1",
        text: "(EngineCore_0 pid=4711) INFO 03-01 10:00:00 [core.py:61] Initializing a V1 LLM engine (v0.8.4) with config: model='/data/models/example-7b', speculative_config=None, tokenizer='/data/models/example-7b', skip_tokenizer_init=False, dtype=torch.bfloat16, max_seq_len=3072, download_dir=None, load_format=auto, tensor_parallel_size=2, pipeline_parallel_size=1, disable_custom_all_reduce=False, quantization=None, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda",
        states: &[
            ("version.vllm", "0.8.4"),
            ("job.model", "/data/models/example-7b"),
            ("vllm.max_model_len", "3072"),
            ("vllm.tensor_parallel_size", "2"),
            ("vllm.enforce_eager", "False"),
            ("vllm.dtype", "torch.bfloat16"),
        ],
    },
    Example {
        version: "vllm ≥0.10, what the user set",
        text: "(APIServer pid=4700) INFO 03-01 10:00:00 [api_server.py:1896] vLLM API server version 0.10.2\n(APIServer pid=4700) INFO 03-01 10:00:00 [utils.py:328] non-default args: {'model_tag': 'example/model-32b', 'max_model_len': 16384, 'gpu_memory_utilization': 0.95, 'max_num_seqs': 64, 'enforce_eager': True, 'model': 'example/model-32b', 'kv_cache_dtype': 'fp8'}\n(APIServer pid=4700) INFO 03-01 10:00:01 [scheduler.py:238] Chunked prefill is enabled with max_num_batched_tokens=8192.",
        states: &[
            ("version.vllm", "0.10.2"),
            ("job.model", "example/model-32b"),
            ("vllm.max_model_len", "16384"),
            ("vllm.gpu_memory_utilization", "0.95"),
            ("vllm.max_num_seqs", "64"),
            ("vllm.enforce_eager", "True"),
            ("vllm.kv_cache_dtype", "fp8"),
            ("vllm.max_num_batched_tokens", "8192"),
        ],
    },
    Example {
        version: "vllm 0.3–0.9, all arguments of the server",
        text: "INFO 03-01 10:00:00 api_server.py:585] args: Namespace(host=None, port=8000, model='example/model-7b', max_model_len=4096, tensor_parallel_size=1, swap_space=4, cpu_offload_gb=0, gpu_memory_utilization=0.9, max_num_seqs=256, quantization='awq')",
        states: &[
            ("job.model", "example/model-7b"),
            ("vllm.swap_space_setting", "4"),
            ("vllm.quantization", "awq"),
            ("vllm.max_num_seqs", "256"),
        ],
    },
];
