//! What is advised where weights are loaded and served: amounts from the model's size, values that code can take, processes by their number.

use std::error::Error;

use oomdoc::model::{Patch, Report};

use crate::support::analyzed::report;

type Outcome = Result<(), Box<dyn Error>>;

/// The patches of the first cause.
fn patches(report: &Report) -> Vec<&Patch> {
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    first.map(|diagnosis| diagnosis.patches.iter().collect()).unwrap_or_default()
}

fn knobs(report: &Report) -> Vec<&str> {
    patches(report).iter().map(|patch| &*patch.knob).collect()
}

/// The lines that the change of `knob` adds to the given files.
fn added(report: &Report, knob: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let all = patches(report);
    let patch =
        all.iter().find(|patch| &*patch.knob == knob).ok_or_else(|| format!("no {knob} in {:?}", knobs(report)))?;
    let diff = patch.diff.clone().unwrap_or_default();
    let is_added = |line: &&str| line.starts_with('+') && !line.starts_with("+++");
    Ok(diff.lines().filter(is_added).map(|line| line[1..].trim().to_owned()).collect())
}

const DESCRIBED: &str = "Name:             chat-5d8f7c9b4-k2m8q
Containers:
  engine:
    Image:         vllm/vllm-openai:v0.9.1
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Restart Count:  3
    Limits:
      memory:          10Gi
      nvidia.com/gpu:  1
INFO 06-20 09:11:05 [gpu_model_runner.py:1595] Starting to load model MODEL...
Loading safetensors checkpoint shards:   0% Completed | 0/6 [00:00<?, ?it/s]
Loading safetensors checkpoint shards:  17% Completed | 1/6 [00:04<00:22,  4.52s/it]
";

fn pod(model: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: chat\nspec:\n  containers:\n    - name: engine\n      image: vllm/vllm-openai:v0.9.1\n      args: [\"--model\", \"{model}\"]\n      resources:\n        limits:\n          memory: 10Gi\n          nvidia.com/gpu: 1\n"
    )
}

#[test]
fn a_limit_below_the_weights_that_an_engine_reads_is_raised_beyond_them() -> Outcome {
    let limit = |model: &str| {
        let end = report(&[("job.log", &DESCRIBED.replace("MODEL", model)), ("pod.yaml", &pod(model))])?;
        added(&end, "resources.limits.memory")
    };
    // 14.77 B parameters in 16 bit are 27.5 GiB.
    assert_eq!(limit("Qwen/Qwen2.5-14B-Instruct")?, ["memory: 35Gi"]);
    // In 4 bits they are read from files that are far smaller.
    assert_eq!(limit("Qwen/Qwen2.5-14B-Instruct-AWQ")?, ["memory: 13Gi"]);
    Ok(())
}

#[test]
fn a_converter_names_the_model_whose_weights_it_holds() -> Outcome {
    let log = |name: &str| {
        format!(
            "Loading model file {name}/pytorch_model-00001-of-00003.bin\nLoading model file {name}/pytorch_model-00002-of-00003.bin\nKilled\n[  901.210044] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=python3,pid=2210,uid=1000\n[  901.210131] Out of memory: Killed process 2210 (python3) total-vm:20120440kB, anon-rss:11530112kB, file-rss:2048kB, shmem-rss:0kB, UID:1000 pgtables:24110kB oom_score_adj:0\n$ uname -r\n5.15.167.4-microsoft-standard-WSL2\n"
        )
    };
    let settings = "[wsl2]\nmemory=12GB\n";
    let memory = |name: &str| added(&report(&[("job.log", &log(name)), (".wslconfig", settings)])?, "wsl2.memory");
    // 13.02 B parameters in 16 bit are 24.2 GiB.
    assert_eq!(memory("models/Llama-2-13b-chat-hf")?, ["memory=31GB"]);
    assert_eq!(memory("models/of-our-own")?, ["memory=15GB"]);
    Ok(())
}

fn loading(file: &str, code: &str, library: &str, end: &str) -> String {
    format!(
        "Traceback (most recent call last):\n  File \"{file}\", line 4, in <module>\n    {code}\n  File \"/opt/venv/lib/python3.11/site-packages/{library}\", line 451, in to\n    module.to(device, dtype)\n{end}\n"
    )
}

const REFUSED: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 72.00 MiB. GPU 0 has a total capacity of 15.70 GiB of which 11.00 MiB is free. Of the allocated memory 15.20 GiB is allocated by PyTorch, and 20.10 MiB is reserved by PyTorch but unallocated.";

#[test]
fn an_argument_that_takes_an_object_is_given_one_with_its_import() -> Outcome {
    let log = loading("draw.py", "pipe.to(\"cuda\")", "diffusers/pipelines/pipeline_utils.py", REFUSED);
    let pipeline = "import torch\nfrom diffusers import StableDiffusion3Pipeline\n\npipe = StableDiffusion3Pipeline.from_pretrained(\"stabilityai/stable-diffusion-3.5-large\", torch_dtype=torch.bfloat16)\npipe.to(\"cuda\")\nimage = pipe(\"a boat\").images[0]\n";
    let end = report(&[("job.log", &log), ("draw.py", pipeline)])?;
    let lines = added(&end, "from_pretrained.quantization_config")?;
    assert_eq!(lines.first().map(String::as_str), Some("import diffusers.quantizers"), "{lines:?}");
    let object =
        "quantization_config=diffusers.quantizers.PipelineQuantizationConfig(quant_backend=\"bitsandbytes_4bit\"";
    assert!(lines.last().is_some_and(|line| line.contains(object)), "{lines:?}");
    // Of a single model the line says what class it needs; a word in its place would be refused.
    let part = pipeline
        .replace("StableDiffusion3Pipeline", "SD3Transformer2DModel")
        .replace("pipe(\"a boat\").images[0]", "pipe(latents)");
    let end = report(&[("job.log", &log), ("draw.py", &part)])?;
    for patch in patches(&end) {
        assert!(!patch.diff.as_deref().unwrap_or_default().contains("\"nf4\")"), "{patch:?}");
    }
    Ok(())
}

fn shared(device: &str, command: &str) -> String {
    format!(
        "INFO 09-14 08:20:11 [core.py:71] Initializing a V1 LLM engine (v0.10.1) with config: model='Qwen/Qwen3-14B', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1\nERROR 09-14 08:20:15 [core.py:632] EngineCore failed to start.\nERROR 09-14 08:20:15 [core.py:632] ValueError: Free memory on device (3.11/47.43 GiB) on startup is less than desired GPU memory utilization (0.9, 42.69 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n$ nvidia-smi\n|    {device}   N/A  N/A           40117      C   {command}                          44982MiB |\n"
    )
}

#[test]
fn what_an_earlier_engine_left_is_ended_by_its_number() -> Outcome {
    let end = report(&[("job.log", &shared("0", "VLLM::EngineCore"))])?;
    let all = patches(&end);
    let first = all.first().ok_or("no patch")?;
    assert_eq!(first.to.as_ref().map(ToString::to_string).as_deref(), Some("40117"), "{first:?}");
    assert_eq!(all.len(), 2, "{:?}", knobs(&end));
    // A stranger's process is not ended before another device is tried, but its number is said all the same.
    let end = report(&[("job.log", &shared("0", "python annotate.py"))])?;
    let all = patches(&end);
    assert_eq!(knobs(&end).first(), Some(&"CUDA_VISIBLE_DEVICES"));
    assert!(all.iter().any(|patch| patch.to.as_ref().is_some_and(|to| to.to_string() == "40117")), "{all:?}");
    Ok(())
}
