//! Values that go as far as the log's own figures ask, and changes that the program of this version takes.

use std::error::Error;

use oomdoc::model::Report;

use crate::support::analyzed::{added_lines, diff, patches, report, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The lines that the first change adds.
fn added(report: &Report) -> Outcome<Vec<String>> {
    Ok(added_lines(&diff(report)?).into_iter().map(str::to_owned).collect())
}

/// PyTorch's message of 2.x, with these amounts.
fn refused(requested: &str, capacity: f64, free: f64) -> String {
    let held = capacity - free;
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested}. GPU 0 has a total capacity of {capacity:.2} GiB of which {free:.2} GiB is free. Including non-PyTorch memory, this process has {held:.2} GiB memory in use. Of the allocated memory {:.2} GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.\n",
        held - 0.6
    )
}

#[test]
fn a_context_is_as_long_as_what_ollama_counts_leaves_room_for() -> Outcome {
    let log = |said: &str| {
        format!(
            "time=2025-01-18T09:20:41.310Z level=INFO source=memory.go:356 msg={said} layers.requested=-1 layers.model=29 layers.offload=29 layers.split=\"\" memory.available=\"[10.9 GiB]\" memory.gpu_overhead=\"0 B\" memory.required.full=\"17.2 GiB\" memory.required.partial=\"17.2 GiB\" memory.required.kv=\"7.0 GiB\" memory.required.allocations=\"[17.2 GiB]\" memory.weights.total=\"11.2 GiB\" memory.weights.repeating=\"10.8 GiB\" memory.weights.nonrepeating=\"426.4 MiB\" memory.graph.full=\"5.0 GiB\" memory.graph.partial=\"5.2 GiB\"\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 7168.00 MiB on device 0: cudaMalloc failed: out of memory\nllama_kv_cache_init: failed to allocate buffer for kv cache\n"
        )
    };
    let model = "FROM qwen2.5:7b\nPARAMETER num_ctx 65536\n";
    for said in ["\"offload to cuda\"", "offload library=cuda"] {
        let end = report(&[("job.log", &log(said)), ("Modelfile", model)])?;
        // Half would take 5.2 + 6.0 of 10.9 GiB.
        assert_eq!(added(&end)?, ["PARAMETER num_ctx 24576"], "{said}");
        // By itself a cache in 8 bits is ignored.
        let quantised = patches(&end)?.iter().find(|patch| patch.knob == "OLLAMA_KV_CACHE_TYPE").ok_or("no change")?;
        assert_eq!(quantised.with.first().map(|partner| &*partner.knob), Some("OLLAMA_FLASH_ATTENTION"));
    }
    Ok(())
}

#[test]
fn a_context_stops_where_the_models_training_did() -> Outcome {
    let log = "build: 5310 (1a2b3c4d) with MSVC 19.43 for x64
llama_model_load_from_file_impl: using device Vulkan0 (AMD Radeon RX 7600) - 8060 MiB free
ggml_vulkan: Found 1 Vulkan devices:
load_tensors: offloaded 33/33 layers to GPU
load_tensors:      Vulkan0 model buffer size =  4110.50 MiB
llama_context: n_ctx         = 65536
llama_context: n_ctx_per_seq (65536) > n_ctx_train (16384) -- possible training context overflow
llama_kv_cache_unified:    Vulkan0 KV buffer size =  8192.00 MiB
ggml_vulkan: Device memory allocation of size 536870912 failed.
ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory
llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache
";
    let launch = "llama-server -m my-8b-q4_k_m.gguf -ngl 99 -c 65536 --port 8080\n";
    let end = report(&[("job.log", log), ("serve.sh", launch)])?;
    assert_eq!(added(&end)?, [launch.trim().replace("65536", "16384")]);
    // As many layers as find room with their part of the cache, never more than there are; half of the cache still finds none.
    let layers = patches(&end)?.iter().find(|patch| patch.knob == "-ngl").ok_or("no layers")?;
    assert!(layers.diff.as_deref().is_some_and(|diff| diff.contains("-ngl 19 ")), "{:?}", layers.diff);
    assert!(!turned(&end)?.contains(&"--cache-type-k"));
    // On a larger card it does: such a build must be told to use flash attention, or it refuses a cache of values in 8 bits.
    let larger = log.replace("8060 MiB", "12040 MiB");
    let end = report(&[("job.log", &larger), ("serve.sh", launch)])?;
    assert!(turned(&end)?.contains(&"--flash-attn"), "{:?}", turned(&end));
    assert!(!turned(&end)?.contains(&"--cache-type-k"));
    let newer = larger.replace("build: 5310", "build: 6410");
    let end = report(&[("job.log", &newer), ("serve.sh", launch)])?;
    assert!(turned(&end)?.contains(&"--cache-type-k"), "{:?}", turned(&end));
    Ok(())
}

#[test]
fn a_group_that_goes_through_at_once_shrinks_as_far_as_what_is_free() -> Outcome {
    let code = "import numpy as np\nfrom my_masks import AutomaticMasks\n\nmasks = AutomaticMasks(\"vit_l.pth\", points_per_batch=512, device=\"cuda\")\nfound = masks.generate(np.load(\"scene.npy\"))\n";
    let log = |requested: &str| {
        stack(&[
            ("/w/scene.py", "<module>", "found = masks.generate(np.load(\"scene.npy\"))"),
            ("my_masks/automatic.py", "generate", "masks = F.interpolate(low, size, mode=\"bilinear\")"),
            ("torch/nn/functional.py", "interpolate", "return torch._C._nn.upsample_bilinear2d(input, output_size)"),
        ]) + &refused(requested, 23.65, 15.20)
    };
    let value = |requested: &str| -> Outcome<String> {
        let end = report(&[("job.log", &log(requested)), ("scene.py", code)])?;
        Ok(added(&end)?.concat())
    };
    // An eighth is 12 GiB, of the 15.2 that are free.
    assert!(value("96.00 GiB")?.contains("points_per_batch=64,"), "{}", value("96.00 GiB")?);
    assert!(value("24.50 GiB")?.contains("points_per_batch=256,"), "{}", value("24.50 GiB")?);
    Ok(())
}

#[test]
fn masks_of_everything_are_made_for_fewer_points_at_once() -> Outcome {
    let log = stack(&[
        ("/w/cells.py", "<module>", "masks = generator.generate(slide)"),
        (
            "segment_anything/automatic_mask_generator.py",
            "_process_batch",
            "masks, iou, _ = self.predictor.predict_torch(",
        ),
        ("segment_anything/modeling/sam.py", "postprocess_masks", "masks = F.interpolate(masks, original_size)"),
    ]) + &refused("57.22 GiB", 23.65, 16.40);
    // What nobody set is 64.
    let end = report(&[("job.log", &log)])?;
    assert_eq!(turned(&end)?[0], "SamAutomaticMaskGenerator.points_per_batch");
    Ok(())
}

#[test]
fn an_evaluation_that_generates_takes_as_many_as_training_did() -> Outcome {
    let code = "from transformers import Seq2SeqTrainingArguments\nargs = Seq2SeqTrainingArguments(\n    output_dir=\"out\",\n    per_device_train_batch_size=8,\n    per_device_eval_batch_size=128,\n    predict_with_generate=True,\n    generation_num_beams=4,\n)\n";
    let log = stack(&[
        ("/w/train.py", "<module>", "trainer.train()"),
        ("transformers/trainer.py", "_maybe_log_save_evaluate", "metrics = self._evaluate(trial, ignore_keys)"),
        ("transformers/trainer_seq2seq.py", "evaluate", "return super().evaluate(eval_dataset)"),
        ("transformers/trainer_seq2seq.py", "prediction_step", "tokens = self.model.generate(**inputs, **kwargs)"),
        ("transformers/generation/utils.py", "_beam_search", "outputs = self(**model_inputs, return_dict=True)"),
        ("transformers/models/t5/modeling_t5.py", "forward", "value_states = self.v(current_states)"),
    ]) + &refused("1.50 GiB", 39.39, 0.91);
    let end = report(&[("job.log", &log), ("train.py", code)])?;
    assert_eq!(added(&end)?, ["per_device_eval_batch_size=8,"]);
    Ok(())
}

#[test]
fn a_cache_for_many_shrinks_before_the_sequence_of_each() -> Outcome {
    let log = stack(&[
        ("/opt/tabbyAPI/main.py", "<module>", "entrypoint()"),
        ("/opt/tabbyAPI/backends/exllamav2/model.py", "load_model_sync", "for value in self.model.load_autosplit_gen("),
        ("exllamav2/model.py", "load_autosplit_gen", "raise RuntimeError(\"Insufficient VRAM for model and cache\")"),
    ]) + "RuntimeError: Insufficient VRAM for model and cache\n";
    let config =
        |cache: &str| format!("model:\n  model_dir: models\n  max_seq_len: 16384\n{cache}  cache_mode: FP16\n");
    let end = report(&[("job.log", &log), ("config.yml", &config("  cache_size: 49152\n"))])?;
    assert_eq!(added(&end)?, ["cache_size: 24576"]);
    assert_eq!(turned(&end)?[..2], ["model.cache_size", "model.cache_mode"]);
    let end = report(&[("job.log", &log), ("config.yml", &config("  cache_size: 16384\n"))])?;
    assert_eq!(turned(&end)?[0], "model.max_seq_len");
    Ok(())
}

#[test]
fn an_option_that_is_younger_than_the_image_is_not_offered() -> Outcome {
    let log = stack(&[
        ("sglang/srt/managers/scheduler.py", "event_loop_normal", "result = self.run_batch(batch)"),
        (
            "sglang/srt/models/qwen2_5_vl.py",
            "get_image_feature",
            "image_embeds = self.visual(pixel_values, grid_thw=grid)",
        ),
        ("sglang/srt/layers/attention/vision.py", "forward", "output = F.scaled_dot_product_attention(q, k, v)"),
    ]) + &refused("6.00 GiB", 79.10, 2.40);
    let launch = |tag: &str| {
        format!(
            "docker run --gpus all --ipc=host lmsysorg/sglang:{tag} python3 -m sglang.launch_server --model-path Qwen/Qwen2.5-VL-7B-Instruct --mem-fraction-static 0.8\n"
        )
    };
    let offered = |tag: &str| -> Outcome<bool> {
        let end = report(&[("job.log", &log), ("run.sh", &launch(tag))])?;
        Ok(turned(&end)?.contains(&"--limit-mm-data-per-request"))
    };
    assert!(!offered("v0.4.6.post5-cu124")?);
    assert!(offered("v0.5.8-cu129")?);
    // A share beyond what the engine takes by itself goes back to that first.
    let high = launch("v0.5.8-cu129").replace("0.8\n", "0.94\n");
    let end = report(&[("job.log", &log), ("run.sh", &high)])?;
    assert_eq!(turned(&end)?[0], "--mem-fraction-static");
    Ok(())
}

#[test]
fn a_small_host_gives_the_weights_straight_to_its_gpu() -> Outcome {
    let log = "Loading checkpoint shards:  33% 1/3 [00:18<00:36, 18.20s/it]\nYour session crashed after using all available RAM. If you are interested in access to high-RAM runtimes, you may want to check out Colab Pro.\n";
    let code = "from transformers import AutoModelForCausalLM, AutoTokenizer\ntok = AutoTokenizer.from_pretrained(\"org/my-7b\")\nmodel = AutoModelForCausalLM.from_pretrained(\"org/my-7b\")\nmodel = model.to(\"cuda\")\nprint(model.generate(**tok(\"Hi\", return_tensors=\"pt\").to(\"cuda\")))\n";
    let end = report(&[("job.log", log), ("chat.py", code)])?;
    // What such a session has for nothing is older than bf16.
    assert_eq!(
        added(&end)?,
        ["model = AutoModelForCausalLM.from_pretrained(\"org/my-7b\", torch_dtype=\"float16\", device_map=\"auto\")"]
    );
    // Nothing is trained that could lose an update.
    assert_eq!(patches(&end)?[0].cost.as_deref(), Some("A little precision."));
    Ok(())
}

#[test]
fn a_recording_of_hours_is_transcribed_with_attention_to_what_is_near() -> Outcome {
    let code = "import nemo.collections.asr as nemo_asr\n\nmodel = nemo_asr.models.EncDecRNNTBPEModel.from_pretrained(\"nvidia/parakeet-rnnt-1.1b\")\nmodel.cuda()\nprint(model.transcribe([\"lecture.wav\"]))\n";
    let log = stack(&[
        ("/w/transcribe.py", "<module>", "print(model.transcribe([\"lecture.wav\"]))"),
        (
            "nemo/collections/asr/models/rnnt_models.py",
            "_transcribe_forward",
            "encoded, length = self.forward(batch[0])",
        ),
        ("nemo/collections/asr/modules/conformer_encoder.py", "forward_internal", "audio_signal = layer("),
        (
            "nemo/collections/asr/parts/submodules/multi_head_attention.py",
            "forward",
            "matrix_bd = torch.matmul(q_with_bias_v, p.transpose(-2, -1))",
        ),
    ]) + &refused("96.40 GiB", 47.50, 42.10);
    let end = report(&[("job.log", &log), ("transcribe.py", code)])?;
    let lines = added(&end)?;
    assert!(
        lines.contains(&"model.change_attention_model(\"rel_pos_local_attn\", [256, 256])".to_owned()),
        "{lines:?}"
    );
    assert!(lines.contains(&"model.change_subsampling_conv_chunking_factor(1)".to_owned()), "{lines:?}");
    assert!(!turned(&end)?.iter().any(|knob| knob.contains("train_ds") || knob.contains("share")));
    Ok(())
}
