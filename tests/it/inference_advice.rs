//! What is advised where weights are loaded and served: amounts from the model's size, values that code can take, processes by their number.

use std::error::Error;

use oomdoc::model::Report;

use crate::support::analyzed::{added_lines, patches, report, turned};

type Outcome = Result<(), Box<dyn Error>>;

/// The lines that the change of `knob` adds to the given files.
fn added(report: &Report, knob: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let patch = patches(report)?.iter().find(|patch| &*patch.knob == knob);
    let patch = patch.ok_or_else(|| format!("no {knob} in {:?}", turned(report)))?;
    Ok(added_lines(patch.diff.as_deref().unwrap_or_default()).into_iter().map(str::to_owned).collect())
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
    for patch in patches(&end)? {
        assert!(!patch.diff.as_deref().unwrap_or_default().contains("\"nf4\")"), "{patch:?}");
    }
    Ok(())
}

#[test]
fn faster_whisper_is_a_program_of_its_own() -> Outcome {
    let log = "Traceback (most recent call last):\n  File \"/srv/subtitles.py\", line 4, in <module>\n    model = WhisperModel(\"large-v2\", device=\"cuda\", compute_type=\"float16\")\n  File \"/srv/venv/lib/python3.11/site-packages/faster_whisper/transcribe.py\", line 647, in __init__\n    self.model = ctranslate2.models.Whisper(\nRuntimeError: CUDA failed with error out of memory\n";
    let code = "from faster_whisper import WhisperModel\n\nmodel = WhisperModel(\"large-v2\", device=\"cuda\", compute_type=\"float16\")\nsegments, _ = model.transcribe(\"talk.mp3\")\n";
    let end = report(&[("job.log", log), ("subtitles.py", code)])?;
    assert_eq!(
        turned(&end)?.get(..3),
        Some(&["WhisperModel.compute_type", "WhisperModel.model_size_or_path", "WhisperModel.device"][..])
    );
    let call = |model: &str, device: &str, bits: &str| {
        format!("model = WhisperModel(\"{model}\", device=\"{device}\", compute_type=\"{bits}\")")
    };
    assert_eq!(added(&end, "WhisperModel.compute_type")?, [call("large-v2", "cuda", "int8_float16")]);
    assert_eq!(added(&end, "WhisperModel.model_size_or_path")?, [call("medium", "cuda", "float16")]);
    // Where 16 bit are refused.
    assert_eq!(added(&end, "WhisperModel.device")?, [call("large-v2", "cpu", "int8")]);
    // OpenAI's own program stays what it is.
    let own = log
        .replace("faster_whisper/transcribe.py", "whisper/transcribe.py")
        .replace("WhisperModel(\"large-v2\", device=\"cuda\", compute_type=\"float16\")", "load_model(\"large-v2\")");
    assert!(!turned(&report(&[("job.log", &own)])?)?.contains(&"WhisperModel.compute_type"));
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
    let all = patches(&end)?;
    let first = all.first().ok_or("no patch")?;
    assert_eq!(first.to.as_ref().map(ToString::to_string).as_deref(), Some("40117"), "{first:?}");
    assert_eq!(all.len(), 2, "{:?}", turned(&end)?);
    // A stranger's process is not ended before another device is tried, but its number is said all the same.
    let end = report(&[("job.log", &shared("0", "python annotate.py"))])?;
    let all = patches(&end)?;
    assert_eq!(turned(&end)?.first(), Some(&"CUDA_VISIBLE_DEVICES"));
    assert!(all.iter().any(|patch| patch.to.as_ref().is_some_and(|to| to.to_string() == "40117")), "{all:?}");
    Ok(())
}

#[test]
fn a_cache_in_8_bits_is_proposed_only_where_it_fits() -> Outcome {
    let log = |free: u32| {
        format!(
            "ggml_cuda_init: found 1 CUDA devices:\n  Device 0: NVIDIA GeForce RTX 3080, compute capability 8.6, VMM: yes\nllama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3080) - {free} MiB free\nllm_load_tensors: offloaded 33/33 layers to GPU\nllm_load_tensors:        CUDA0 model buffer size =  4403.49 MiB\nllama_init_from_model: n_ctx         = 65536\nllama_init_from_model: flash_attn    = 0\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device 0: cudaMalloc failed: out of memory\nllama_kv_cache_init: failed to allocate buffer for kv cache\n"
        )
    };
    let run = "./llama-server -m model.gguf -c 65536 -ngl 99\n";
    let all = |free| report(&[("job.log", &log(free)), ("run.sh", run)]);
    assert!(turned(&all(9900)?)?.contains(&"--flash-attn"), "{:?}", turned(&all(9900)?)?);
    // 4403 + 4424 MiB.
    assert!(!turned(&all(8800)?)?.contains(&"--flash-attn"), "{:?}", turned(&all(8800)?)?);
    Ok(())
}

#[test]
fn a_tag_is_as_large_as_what_is_available() -> Outcome {
    let log = |available: u64| {
        format!(
            "time=2025-02-11T18:02:40.552+01:00 level=WARN source=server.go:136 msg=\"model request too large for system\" requested=\"44.1 GiB\" available={available} total=\"31.2 GiB\" free=\"25.0 GiB\" swap=\"1.0 GiB\"\ntime=2025-02-11T18:02:40.552+01:00 level=INFO source=sched.go:428 msg=\"NewLlamaServer failed\" model=/root/.ollama/models/blobs/sha256-11 error=\"model requires more system memory (44.1 GiB) than is available\"\n"
        )
    };
    let tag = |available| {
        let end = report(&[("job.log", &log(available))])?;
        let to = patches(&end)?.iter().find(|patch| &*patch.knob == "ollama run").and_then(|patch| patch.to.clone());
        Ok::<_, Box<dyn Error>>(to.map(|to| to.to_string()).unwrap_or_default())
    };
    assert_eq!(tag(27_917_287_424)?, "<a tag of at most 32b in 4 bits>");
    assert_eq!(tag(7_247_757_312)?, "<a tag of at most 8b in 4 bits>");
    Ok(())
}

#[test]
fn an_engine_whose_weights_do_not_fit_gets_an_edit_that_holds_them() -> Outcome {
    let log = |model: &str| {
        format!(
            "INFO 05-20 11:02:01 [gpu_model_runner.py:1329] Starting to load model {model}...\nERROR 05-20 11:02:03 [core.py:396] Traceback (most recent call last):\nERROR 05-20 11:02:03 [core.py:396]   File \"/usr/lib/python3.12/site-packages/vllm/model_executor/model_loader/loader.py\", line 452, in load_model\nERROR 05-20 11:02:03 [core.py:396]     model = _initialize_model(vllm_config=vllm_config)\nERROR 05-20 11:02:03 [core.py:396] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 136.00 MiB. GPU 0 has a total capacity of 23.53 GiB of which 80.06 MiB is free. Of the allocated memory 22.90 GiB is allocated by PyTorch, and 45.62 MiB is reserved by PyTorch but unallocated.\n"
        )
    };
    let compose = |model: &str| {
        format!(
            "services:\n  engine:\n    image: vllm/vllm-openai:v0.8.5\n    command: >\n      --model {model}\n      --max-model-len 8192\n    deploy:\n      resources:\n        reservations:\n          devices:\n            - driver: nvidia\n              device_ids: [\"0\"]\n              capabilities: [gpu]\n"
        )
    };
    let end = |model: &str| report(&[("job.log", &log(model)), ("compose.yaml", &compose(model))]);
    let known = end("Qwen/Qwen2.5-14B-Instruct")?;
    assert_eq!(added(&known, "--model")?, ["--model Qwen/Qwen2.5-14B-Instruct-AWQ"]);
    assert_eq!(turned(&known)?.first(), Some(&"--model"));
    // Of others nobody knows a repository; the engine can still quantise while it loads.
    let other = end("mistralai/Mistral-Small-24B-Instruct-2501")?;
    assert!(!turned(&other)?.contains(&"--model"), "{:?}", turned(&other)?);
    assert!(added(&other, "--quantization")?.iter().any(|line| line.contains("--quantization bitsandbytes")));
    Ok(())
}

#[test]
fn options_are_given_to_the_line_that_starts_comfyui() -> Outcome {
    let log = "Total VRAM 6144 MB, total RAM 16310 MB\nSet vram state to: NORMAL_VRAM\ngot prompt\nRequested to load SDXL\n!!! Exception during processing !!! Allocation on device\nTraceback (most recent call last):\n  File \"/srv/ComfyUI/execution.py\", line 328, in execute\n    output_data = get_output_data(obj, input_data_all)\n  File \"/srv/ComfyUI/comfy/samplers.py\", line 210, in calc_cond_batch\n    output = model.apply_model(input_x, timestep_, **c)\ntorch.OutOfMemoryError: Allocation on device\n\nGot an OOM, unloading all loaded models.\n";
    let lowvram = |name: &str, script: &str| added(&report(&[("job.log", log), (name, script)])?, "--lowvram");
    assert_eq!(lowvram("start.sh", "cd ComfyUI\npython main.py --listen\n")?, ["python main.py --listen --lowvram"]);
    // Where paths have backslashes, the line is as it was but for the option.
    let batch = ".\\python_embeded\\python.exe -s ComfyUI\\main.py --windows-standalone-build\r\npause\r\n";
    assert_eq!(
        lowvram("run_nvidia_gpu.bat", batch)?,
        [".\\python_embeded\\python.exe -s ComfyUI\\main.py --windows-standalone-build --lowvram"]
    );
    // Where tiles of an image found no room, what decodes it can work elsewhere; attention has no part in it.
    let tiled =
        log.replace("comfy/samplers.py\", line 210, in calc_cond_batch", "comfy/sd.py\", line 464, in decode_tiled_");
    let end = report(&[("job.log", &tiled), ("start.sh", "cd ComfyUI\npython main.py --listen\n")])?;
    assert_eq!(added(&end, "--cpu-vae")?, ["python main.py --listen --cpu-vae"]);
    assert!(!turned(&end)?.contains(&"--use-pytorch-cross-attention"), "{:?}", turned(&end)?);
    // Another script is no line that starts it.
    assert_eq!(lowvram("start.sh", "python prepare.py --listen\n")?, [""; 0]);
    Ok(())
}
