//! Edits of what serves or runs a model: the change that costs nothing leads, and it stands where the user's file or code has it.

use std::error::Error;

use oomdoc::model::{Patch, Report};

use crate::support::analyzed::report;

type Outcome = Result<(), Box<dyn Error>>;

/// The first patch of the first cause, and the lines that it adds.
fn leading(report: &Report) -> Result<(&Patch, Vec<String>), Box<dyn Error>> {
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    let patch = first.and_then(|diagnosis| diagnosis.patches.first()).ok_or("no patch")?;
    let diff = patch.diff.clone().unwrap_or_default();
    let is_added = |line: &&str| line.starts_with('+') && !line.starts_with("+++");
    Ok((patch, diff.lines().filter(is_added).map(|line| line[1..].to_owned()).collect()))
}

/// The names of all knobs that are proposed for the first cause.
fn knobs(report: &Report) -> Vec<&str> {
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    first.map(|diagnosis| diagnosis.patches.iter().map(|patch| &*patch.knob).collect()).unwrap_or_default()
}

fn stack(frames: &[(&str, &str, &str)], end: &str) -> String {
    let mut text = String::from("Traceback (most recent call last):\n");
    for (file, function, code) in frames {
        text += &format!("  File \"{file}\", line 12, in {function}\n    {code}\n");
    }
    text + end + "\n"
}

#[test]
fn a_trainer_gives_its_cache_back_before_the_engine_wakes_up() -> Outcome {
    let log = stack(
        &[
            ("/work/loop.py", "<module>", "engine.wake_up()"),
            ("/v/site-packages/vllm/entrypoints/llm.py", "wake_up", "self.llm_engine.wake_up(tags)"),
            (
                "/v/site-packages/vllm/device_allocator/cumem.py",
                "create_and_map",
                "python_create_and_map(*allocation_handle)",
            ),
        ],
        "RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62",
    );
    let code = |import: &str| {
        format!(
            "{import}\nfrom vllm import LLM\nengine = LLM(model=\"org/my-7b\", gpu_memory_utilization=0.4, enable_sleep_mode=True)\nfor batch in batches:\n    engine.wake_up()\n    outs = engine.generate(batch)\n    engine.sleep(level=1)\n    loss = objective(policy, outs)\n    loss.backward()\n"
        )
    };
    let known = code("import torch");
    let torch = report(&[("job.log", &log), ("loop.py", &known)])?;
    let (patch, lines) = leading(&torch)?;
    assert_eq!((&*patch.knob, lines), ("torch.cuda.empty_cache()", vec!["    torch.cuda.empty_cache()".to_owned()]));
    // Where the module has no such name, nothing is written.
    let other = code("import torch.nn as nn");
    assert_eq!(leading(&report(&[("job.log", &log), ("loop.py", &other)])?)?.0.diff, None);
    Ok(())
}

#[test]
fn images_of_a_batch_are_decoded_one_after_the_other_before_tiles_leave_seams() -> Outcome {
    let log = stack(
        &[
            ("/work/paint.py", "<module>", "images = pipe("),
            (
                "/v/site-packages/diffusers/pipelines/flux/pipeline_flux.py",
                "__call__",
                "image = self.vae.decode(latents, return_dict=False)[0]",
            ),
            (
                "/v/site-packages/diffusers/models/autoencoders/autoencoder_kl.py",
                "decode",
                "decoded = self._decode(z).sample",
            ),
            (
                "/v/site-packages/diffusers/models/autoencoders/vae.py",
                "forward",
                "sample = up_block(sample, latent_embeds)",
            ),
        ],
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 12.00 GiB. GPU 0 has a total capacity of 44.40 GiB of which 9.12 GiB is free. Including non-PyTorch memory, this process has 35.28 GiB memory in use. Of the allocated memory 34.51 GiB is allocated by PyTorch, and 251.04 MiB is reserved by PyTorch but unallocated.",
    );
    let code = |count: u32| {
        format!(
            "import torch\nfrom diffusers import FluxPipeline\n\npipe = FluxPipeline.from_pretrained(\"org/my-flux\", torch_dtype=torch.bfloat16)\npipe.enable_model_cpu_offload()\nimages = pipe(\"a lake\", num_images_per_prompt={count}).images\n"
        )
    };
    let several = report(&[("job.log", &log), ("paint.py", &code(12))])?;
    let (patch, lines) = leading(&several)?;
    assert_eq!(&*patch.knob, "AutoencoderKL.enable_slicing()");
    assert_eq!(lines, ["pipe.vae.enable_slicing()"]);
    assert!(knobs(&several).contains(&"AutoencoderKL.enable_tiling()"));
    Ok(())
}

#[test]
fn room_for_adapters_is_that_of_the_rank_that_their_own_file_says() -> Outcome {
    let log = stack(
        &[
            (
                "/v/site-packages/vllm/v1/worker/gpu_model_runner.py",
                "load_model",
                "self.model = self.load_lora_model(self.model,",
            ),
            (
                "/v/site-packages/vllm/lora/models.py",
                "_create_lora_modules",
                "new_module.create_lora_weights(self.lora_slots)",
            ),
            ("/v/site-packages/vllm/lora/layers.py", "create_lora_weights", "torch.zeros("),
        ],
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB. GPU 0 has a total capacity of 23.57 GiB of which 61.44 MiB is free. Including non-PyTorch memory, this process has 23.31 GiB memory in use.",
    );
    let launch =
        "vllm serve org/my-7b --enable-lora --max-loras 16 --max-lora-rank 256 --lora-modules law=/adapters/law\n";
    let adapter = |rank: u32| format!("{{\"peft_type\": \"LORA\", \"r\": {rank}, \"lora_alpha\": 32}}");
    for (rank, wanted) in [(16, "--max-lora-rank 16"), (24, "--max-lora-rank 32")] {
        let files = [("job.log", &*log), ("run.sh", launch), ("adapter_config.json", &adapter(rank))];
        let report = report(&files)?;
        let (patch, lines) = leading(&report)?;
        assert_eq!(&*patch.knob, "--max-lora-rank");
        assert!(lines[0].contains(wanted), "{lines:?}");
    }
    // Of two adapters the larger rank counts, and which files are all of them nobody knows.
    let (one, other) = (adapter(8), adapter(128));
    let files = [
        ("job.log", &*log),
        ("run.sh", launch),
        ("law/adapter_config.json", &one),
        ("tax/adapter_config.json", &other),
    ];
    let two = report(&files)?;
    let lines = leading(&two)?.1;
    assert!(!lines.iter().any(|line| line.contains("--max-lora-rank 8 ")), "{lines:?}");
    Ok(())
}

#[test]
fn what_keeps_everything_on_the_gpu_is_taken_away_first() -> Outcome {
    let oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 72.00 MiB. GPU 0 has a total capacity of 15.70 GiB of which 55.19 MiB is free.";
    let log = "Set vram state to: HIGH_VRAM\nloaded completely 9.5367431640625e+25 9319.23095703125 True\n".to_owned()
        + &stack(
            &[
                ("/opt/ComfyUI/execution.py", "execute", "output_data = get_output_data(obj, input_data_all)"),
                ("/opt/ComfyUI/nodes.py", "load_unet", "model = comfy.sd.load_diffusion_model(unet_path)"),
                (
                    "/opt/ComfyUI/comfy/ops.py",
                    "__init__",
                    "self.weight = torch.nn.Parameter(torch.empty((out_features, in_features)))",
                ),
            ],
            oom,
        );
    let report = report(&[("job.log", &log), ("run.sh", "python main.py --listen --highvram\n")])?;
    assert_eq!(leading(&report)?.1, ["python main.py --listen"]);
    assert!(!knobs(&report).contains(&"--reserve-vram"));
    Ok(())
}

#[test]
fn an_attribute_of_what_a_class_has_made_is_a_setting() -> Outcome {
    let log = stack(
        &[
            ("/work/build.py", "<module>", "index.add(vectors)"),
            ("/v/site-packages/faiss/class_wrappers.py", "replacement_add", "self.add_c(n, swig_ptr(x))"),
        ],
        "RuntimeError: Error in virtual void* faiss::gpu::StandardGpuResourcesImpl::allocMemory(const faiss::gpu::AllocRequest&) at /project/faiss/faiss/gpu/StandardGpuResources.cpp:452: Error: 'err == cudaSuccess' failed: StandardGpuResources: alloc fail type FlatData dev 0 space Device stream 0x1 size 25769803776 bytes (cudaMalloc error out of memory [2])",
    );
    let code = "import faiss\nres = faiss.StandardGpuResources()\nflat = faiss.GpuIndexFlatConfig()\nflat.useFloat16 = False\nindex = faiss.GpuIndexFlatL2(res, 768, flat)\nindex.add(vectors)\n";
    let own = report(&[("job.log", &log), ("build.py", code)])?;
    assert_eq!(leading(&own)?.1, ["flat.useFloat16 = True"]);
    // The class itself takes no arguments.
    let unset = report(&[("job.log", &log), ("build.py", &code.replace("flat.useFloat16 = False\n", ""))])?;
    assert_eq!(leading(&unset)?.0.diff, None);
    Ok(())
}

#[test]
fn what_is_placed_by_a_map_is_moved_no_more() -> Outcome {
    let log = stack(
        &[
            (
                "/work/ask.py",
                "<module>",
                "model = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.float16).to(\"cuda\")",
            ),
            ("/v/site-packages/transformers/modeling_utils.py", "to", "return super().to(*args, **kwargs)"),
            ("/v/site-packages/torch/nn/modules/module.py", "convert", "return t.to("),
        ],
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 0 has a total capacity of 23.57 GiB of which 121.50 MiB is free. Including non-PyTorch memory, this process has 23.44 GiB memory in use. Of the allocated memory 23.02 GiB is allocated by PyTorch, and 12.00 MiB is reserved by PyTorch but unallocated.",
    );
    let made = "model = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.float16)";
    for moved in [".to(\"cuda\")\n", "\nmodel.to(\"cuda\")\n"] {
        let code = format!(
            "import torch\nfrom transformers import AutoModelForCausalLM\nNAME = \"org/my-14b\"\n{made}{moved}model.eval()\nprint(model.generate(ids))\n"
        );
        let report = report(&[("job.log", &log), ("ask.py", &code)])?;
        let patches = &report.incidents[0].diagnoses[0].patches;
        let patch = patches.iter().find(|patch| patch.knob.ends_with("device_map")).ok_or("no device_map")?;
        let diff = patch.diff.clone().unwrap_or_default();
        assert!(diff.contains(&format!("+{}, device_map=\"auto\")\n", &made[..made.len() - 1])), "{diff}");
        assert!(!diff.lines().any(|line| !line.starts_with('-') && line.contains("cuda")), "{diff}");
        assert!(!patches.iter().any(|patch| patch.knob.ends_with("torch_dtype")));
    }
    Ok(())
}

#[test]
fn a_video_that_the_profile_runs_is_left_out() -> Outcome {
    let log = "INFO 05-22 09:40:31 [core.py:58] Initializing a V1 LLM engine (v0.9.1) with config: model='Qwen/Qwen2.5-VL-7B-Instruct', max_seq_len=32768, tensor_parallel_size=1\nINFO 05-22 09:40:46 [gpu_model_runner.py:1620] Encoder cache will be initialized with a budget of 98304 tokens, and profiled with 1 video items of the maximum feature size.\n".to_owned()
        + &stack(
            &[
                ("/v/site-packages/vllm/v1/worker/gpu_model_runner.py", "profile_run", "outputs = self.model.get_multimodal_embeddings("),
                ("/v/site-packages/vllm/model_executor/models/qwen2_5_vl.py", "_process_video_input", "video_embeds = self.visual(pixel_values_videos, grid_thw=grid_thw)"),
            ],
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.57 GiB of which 1.71 GiB is free.",
        );
    let code = "from vllm import LLM\nllm = LLM(\n    model=\"Qwen/Qwen2.5-VL-7B-Instruct\",\n    limit_mm_per_prompt={\"image\": 4, \"video\": 2},\n    mm_processor_kwargs={\"min_pixels\": 200704, \"max_pixels\": 12845056},\n)\n";
    let report = report(&[("job.log", &log), ("read.py", code)])?;
    assert_eq!(leading(&report)?.1, ["    limit_mm_per_prompt={\"image\": 4, \"video\": 0},"]);
    assert!(!knobs(&report).contains(&"max_num_seqs"), "{:?}", knobs(&report));
    Ok(())
}

#[test]
fn an_engine_without_a_cache_takes_what_its_neighbour_leaves() -> Outcome {
    let log = "llm-1    | INFO 09-14 08:11:31 [gpu_worker.py:298] Available KV cache memory: 29.61 GiB\nembed-1  | INFO 09-14 08:11:58 [core.py:75] Initializing a V1 LLM engine (v0.10.2) with config: model='org/my-embedder', dtype=torch.float16, max_seq_len=8192, tensor_parallel_size=1\nembed-1  | (EngineCore_DP0 pid=272) ERROR 09-14 08:12:01 [core.py:718] ValueError: Free memory on device (5.10/79.15 GiB) on startup is less than desired GPU memory utilization (0.9, 71.24 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\nembed-1 exited with code 1\n";
    let service = |name: &str, command: &str| {
        format!(
            "  {name}:\n    image: vllm/vllm-openai:v0.10.2\n    command: {command}\n    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, device_ids: [\"0\"], capabilities: [gpu]}}]}}}}}}\n"
        )
    };
    let file = |task: &str| {
        format!(
            "services:\n{}{}",
            service("llm", "--model org/my-14b"),
            service("embed", &format!("--model org/my-embedder{task}"))
        )
    };
    let embeds = report(&[("job.log", log), ("compose.yaml", &file(" --task embed"))])?;
    let lines = leading(&embeds)?.1;
    assert_eq!(lines, ["    command: --model org/my-embedder --task embed --gpu-memory-utilization 0.05"]);
    let generates = report(&[("job.log", log), ("compose.yaml", &file(""))])?;
    assert!(leading(&generates)?.1.is_empty());
    Ok(())
}

#[test]
fn attention_without_its_matrix_costs_nothing_and_goes_before_fewer_requests() -> Outcome {
    let log = "time=2025-03-03T10:11:20.411Z level=INFO source=routes.go:1238 msg=\"Listening on [::]:11434 (version 0.5.7)\"\ntime=2025-03-03T10:12:02.118Z level=INFO source=sched.go:714 msg=\"new model will fit in available VRAM in single GPU, loading\" model=/root/.ollama/models/blobs/sha256-5 gpu=GPU-1 parallel=6 available=16527654912 required=\"15.2 GiB\"\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 3200.02 MiB on device 0: cudaMalloc failed: out of memory\nggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 3355443200\nllama_new_context_with_model: failed to allocate compute buffers\n";
    let compose = "services:\n  ollama:\n    image: ollama/ollama:0.5.7\n    environment:\n      OLLAMA_NUM_PARALLEL: \"6\"\n      OLLAMA_FLASH_ATTENTION: \"0\"\n";
    let report = report(&[("job.log", log), ("compose.yaml", compose)])?;
    assert_eq!(leading(&report)?.1, ["      OLLAMA_FLASH_ATTENTION: \"1\""]);
    let patches = &report.incidents[0].diagnoses[0].patches;
    let parallel = patches.iter().find(|patch| patch.knob == "OLLAMA_NUM_PARALLEL").ok_or("not there")?;
    assert_eq!(parallel.to.as_ref().map(ToString::to_string).as_deref(), Some("3"));
    Ok(())
}
