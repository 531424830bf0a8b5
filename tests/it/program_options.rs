//! What programs can be told that hold more than they need: the option that the program has, with a value of its own.

use std::error::Error;

use crate::support::analyzed::{cause, patches, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[test]
fn a_gan_accumulates_over_smaller_passes_and_keeps_its_batch() -> Outcome {
    let log = "Training options:\n{\n  \"batch_size\": 64,\n  \"batch_gpu\": 64,\n  \"num_gpus\": 1\n}\n\n".to_owned()
        + &stack(&[
            ("/w/stylegan3/train.py", "main", "launch_training(c=c, desc=desc)"),
            ("/w/stylegan3/training/training_loop.py", "training_loop", "loss.accumulate_gradients(phase=phase.name)"),
            ("/w/stylegan3/training/loss.py", "accumulate_gradients", "loss_Dgen.mean().mul(gain).backward()"),
            ("torch/autograd/__init__.py", "backward", "Variable._execution_engine.run_backward("),
        ])
        + &refused("512.00 MiB", 11.75);
    let script = "python train.py --outdir=out --cfg=stylegan3-t --data=d.zip --gpus=1 --batch=64 --gamma=2\n";
    let end = report(&[("job.log", &log), ("train.sh", script)])?;
    assert_eq!(turned(&end)?[0], "--batch-gpu");
    let diff = patches(&end)?[0].diff.as_deref().ok_or("no edit")?;
    assert!(diff.contains("--batch=64") && diff.contains("--batch-gpu=16"), "{diff}");
    let alone = report(&[("job.log", &log)])?;
    assert!(turned(&alone)?.iter().all(|knob| !knob.contains("batch_size")), "{:?}", turned(&alone)?);
    Ok(())
}

#[test]
fn a_launch_script_does_not_turn_the_cause_of_growing_gaussians() -> Outcome {
    let log = stack(&[
        ("/w/gaussian-splatting/train.py", "training", "gaussians.densify_and_prune(threshold, 0.005, extent, size)"),
        (
            "/w/gaussian-splatting/scene/gaussian_model.py",
            "densify_and_prune",
            "self.densify_and_split(grads, max_grad, extent)",
        ),
        (
            "/w/gaussian-splatting/scene/gaussian_model.py",
            "cat_tensors_to_optimizer",
            "stored_state[\"exp_avg\"] = torch.cat((stored_state[\"exp_avg\"], zeros), dim=0)",
        ),
    ]) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 640.00 MiB. GPU 0 has a total capacity of 15.70 GiB of which 310.00 MiB is free. Including non-PyTorch memory, this process has 15.20 GiB memory in use. Of the allocated memory 12.90 GiB is allocated by PyTorch, and 1.80 GiB is reserved by PyTorch but unallocated.\n";
    let alone = report(&[("job.log", &log)])?;
    let given = report(&[("job.log", &log), ("run.sh", "python train.py -s data/park -m out --eval\n")])?;
    for end in [&alone, &given] {
        assert_eq!(cause(end)?, "gpu_memory_growth");
        assert_eq!(turned(end)?[..2], ["--data_device", "--densify_grad_threshold"]);
        assert!(turned(end)?.iter().all(|knob| !knob.contains("batch_size") && !knob.contains("detach")));
    }
    Ok(())
}

#[test]
fn a_scene_whose_images_fill_the_host_keeps_fewer_of_them() -> Outcome {
    let log = "$ ns-train nerfacto --data data/mill\nSetting up training dataset...\nCaching all 1120 images.\nLoading data batch ━━━━━━━━━━ 71% 0:00:21\nKilled\nMar 02 14:25:31 box kernel: oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=user.slice,mems_allowed=0,global_oom,task_memcg=/user.slice,task=ns-train,pid=4122,uid=1000\nMar 02 14:25:31 box kernel: Out of memory: Killed process 4122 (ns-train) total-vm:48402100kB, anon-rss:29874112kB, file-rss:131072kB, shmem-rss:4096kB, UID:1000 pgtables:63324kB oom_score_adj:0\n";
    let end = report(&[("job.log", log)])?;
    assert_eq!(
        turned(&end)?[..2],
        ["--pipeline.datamanager.train-num-images-to-sample-from", "nerfstudio-data --downscale-factor"]
    );
    assert!(turned(&end)?.iter().all(|knob| !knob.starts_with("DataLoader")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn a_recording_far_longer_than_the_mean_is_left_out_by_an_absolute_length() -> Outcome {
    let log = " | > Max audio length: 882000.0\n | > Min audio length: 11025.0\n | > Avg audio length: 70000.0\n   --> STEP: 300/512 -- GLOBAL_STEP: 300\n     | > loss_gen: 2.4412  (2.3921)\n".to_owned()
        + &stack(&[
            ("trainer/trainer.py", "train_step", "outputs, loss_dict = self._optimize("),
            ("TTS/tts/models/vits.py", "forward", "z, m_q, logs_q, y_mask = self.posterior_encoder(y, y_lengths, g=g)"),
        ])
        + &refused("280.00 MiB", 23.69);
    let config = "{\n  \"model\": \"vits\",\n  \"batch_size\": 32,\n  \"mixed_precision\": true,\n  \"max_audio_len\": null,\n  \"max_text_len\": null\n}\n";
    let end = report(&[("job.log", &log), ("config.json", config)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("long_sequence_outlier", "max_audio_len"));
    assert!(patches(&end)?[0].diff.as_deref().is_some_and(|diff| diff.contains("\"max_audio_len\": 350000")));
    // Half of nothing is nothing.
    let usual = log.replace("882000.0", "90000.0");
    let end = report(&[("job.log", &usual), ("config.json", config)])?;
    let all = root(&end)?.diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
    assert!(all.into_iter().all(|patch| !patch.knob.contains("max_audio_len")));
    Ok(())
}

#[test]
fn weights_that_do_not_fit_one_gpu_are_served_in_fewer_bits() -> Outcome {
    let log = "INFO 03-01 10:00:00 [api_server.py:712] vLLM API server version 0.6.6\nINFO 03-01 10:00:02 llm_engine.py:234] Initializing an LLM engine (v0.6.6) with config: model='Qwen/Qwen2.5-14B-Instruct', dtype=torch.bfloat16, max_seq_len=4096, tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None\n".to_owned()
        + &stack(&[
            ("vllm/worker/model_runner.py", "load_model", "self.model = get_model(vllm_config=self.vllm_config)"),
            ("vllm/model_executor/layers/linear.py", "create_weights", "weight = Parameter(torch.empty(sum(output_partition_sizes),"),
        ])
        + &refused("136.00 MiB", 23.65);
    let end = report(&[("job.log", &log)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("weights_do_not_fit", "--model"));
    let why = &root(&end)?.diagnoses[0].why;
    assert!(why.contains("27.51 GiB"), "{why}");
    let sharded = patches(&end)?.iter().find(|patch| patch.knob.contains("tensor-parallel"));
    let needs = sharded.and_then(|patch| patch.constraint.as_deref()).unwrap_or_default();
    assert!(sharded.is_none() || needs.contains("second GPU"), "{needs}");
    let pair = log.replace("tensor_parallel_size=1", "tensor_parallel_size=2");
    assert_ne!(turned(&report(&[("job.log", &pair)])?)?[0], "a checkpoint in 4 bits");
    Ok(())
}

#[test]
fn a_speech_model_that_is_too_large_is_replaced_by_a_smaller_one() -> Outcome {
    let log = "$ whisper talk.mp3 --model large-v3\n".to_owned()
        + &stack(&[
            ("whisper/transcribe.py", "cli", "model = load_model(model_name, device=device, download_root=model_dir)"),
            ("whisper/__init__.py", "load_model", "return model.to(device)"),
            ("torch/nn/modules/module.py", "convert", "return t.to("),
        ])
        + &refused("20.00 MiB", 5.80);
    let end = report(&[("job.log", &log)])?;
    assert_eq!(turned(&end)?[..2], ["--model", "faster-whisper"]);
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("torch.load")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn a_pipeline_on_an_apple_gpu_makes_fewer_images_at_once_within_the_limit() -> Outcome {
    let script = "import torch\nfrom diffusers import StableDiffusionPipeline\npipe = StableDiffusionPipeline.from_pretrained(\"org/sd\")\npipe = pipe.to(\"mps\")\nprompts = [\"a cat\"] * 4\nimages = pipe(prompts, height=768, width=768).images\n";
    let log = stack(&[
        ("/w/train_images.py", "<module>", "images = pipe(prompts, height=768, width=768).images"),
        ("diffusers/pipelines/stable_diffusion/pipeline_stable_diffusion.py", "__call__", "noise_pred = self.unet("),
        ("diffusers/models/attention_processor.py", "__call__", "hidden_states = F.scaled_dot_product_attention("),
    ]) + "RuntimeError: MPS backend out of memory (MPS allocated: 7.81 GB, other allocations: 9.12 GB, max allowed: 18.13 GB). Tried to allocate 2.25 GB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).\n";
    let end = report(&[("job.log", &log), ("train_images.py", script)])?;
    let knobs = turned(&end)?;
    assert_eq!(knobs[0], "prompts of one call");
    assert!(
        knobs.contains(&"from_pretrained.torch_dtype")
            && knobs.contains(&"DiffusionPipeline.enable_attention_slicing()")
    );
    assert!(
        root(&end)?
            .diagnoses
            .iter()
            .flat_map(|diagnosis| &diagnosis.patches)
            .all(|patch| !patch.knob.contains("WATERMARK"))
    );
    Ok(())
}

#[test]
fn a_sum_that_the_run_has_outlived_is_not_told() -> Outcome {
    let log = "{'loss': 1.31, 'grad_norm': 0.4, 'learning_rate': 9.1e-05, 'epoch': 0.18}\nSaving model checkpoint to /out/checkpoint-500\nslurmstepd: error: Detected 1 oom_kill event in StepId=77.batch. Some of the step tasks have been OOM Killed.\n";
    let config = "distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 2\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_offload_params: false\n  fsdp_state_dict_type: FULL_STATE_DICT\n";
    let script = "#!/bin/bash\n#SBATCH --gres=gpu:a6000:2\n#SBATCH --mem=48G\naccelerate launch --config_file fsdp.yaml train.py --model_name meta-llama/Llama-2-13b-hf --bf16\n";
    let end = report(&[("job.log", log), ("fsdp.yaml", config), ("job.sbatch", script)])?;
    let first = &patches(&end)?[0];
    assert_eq!((cause(&end)?, &*first.knob), ("checkpoint_save_gather", "fsdp_config.fsdp_state_dict_type"));
    assert!(first.needs.host.is_none() && first.suffices.is_none(), "{:?}", first.needs);
    Ok(())
}

#[test]
fn one_process_of_the_trainer_is_not_told_to_share_with_others() -> Outcome {
    let log = stack(&[
        ("/w/tune.py", "<module>", "trainer.train()"),
        ("transformers/trainer.py", "_inner_training_loop", "self.optimizer.step()"),
        ("torch/optim/adamw.py", "_init_group", "state[\"exp_avg\"] = torch.zeros_like("),
    ]) + &refused("54.00 MiB", 23.65);
    let end = report(&[("job.log", &log)])?;
    assert_eq!(cause(&end)?, "optimizer_states_on_gpu");
    assert!(
        turned(&end)?.iter().all(|knob| !knob.contains("FSDP") && !knob.contains("offload")),
        "{:?}",
        turned(&end)?
    );
    Ok(())
}

#[test]
fn a_strangers_option_is_known_by_the_words_with_which_its_name_ends() -> Outcome {
    let log = stack(&[
        ("/w/nav/train_field_nav.py", "<module>", "train(args)"),
        ("/w/nav/train_field_nav.py", "train", "obs = env.render_all()"),
        ("/w/nav/env.py", "render_all", "img = torch.zeros(self.n, 3, self.h, self.w, device=\"cuda:0\")"),
    ]) + &refused("2.25 GiB", 23.65);
    let script = "python train_field_nav.py --task walk --camera_num_envs 192 --field_resolution 1024 --eval_field_resolution 2048 --vocab_size 50000\n";
    let end = report(&[("job.log", &log), ("train.sh", script)])?;
    let knobs = turned(&end)?;
    // What the job sets comes before what its code, which nobody showed, may have.
    assert_eq!(knobs[0], "--field_resolution");
    assert!(knobs.contains(&"--camera_num_envs"), "{knobs:?}");
    assert!(!knobs.iter().any(|knob| ["--eval_field_resolution", "--vocab_size"].contains(knob)), "{knobs:?}");
    Ok(())
}

#[test]
fn a_command_at_the_head_of_a_log_says_what_its_options_are() -> Outcome {
    let log = "$ mlx_lm.lora --model org/small-4bit --train --data ./d --batch-size 8 --num-layers 32\nStarting training..., iters: 1000\nIter 1: Val loss 2.104, Val took 22.1s\nlibc++abi: terminating due to uncaught exception of type std::runtime_error: [METAL] Command buffer execution failed: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n";
    let end = report(&[("job.log", log)])?;
    let first = &patches(&end)?[0];
    assert_eq!((&*first.knob, first.from.as_deref()), ("--batch-size", Some("8")), "{first:?}");
    let turned = turned(&end)?;
    assert!(["--grad-checkpoint", "--num-layers"].iter().all(|knob| turned.contains(knob)), "{turned:?}");
    Ok(())
}

#[test]
fn a_booster_is_turned_by_the_arguments_of_its_own_class() -> Outcome {
    let log = "Traceback (most recent call last):\n  File \"/w/boost.py\", line 4, in <module>\n    model.fit(rows, target)\n  File \"/v/site-packages/catboost/core.py\", line 5201, in fit\n    self._fit(X, y, cat_features)\n  File \"_catboost.pyx\", line 5023, in _catboost._CatBoost._train\n_catboost.CatBoostError: catboost/cuda/cuda_lib/memory_pool/stack_like_memory_pool.h:306: Error: Out of memory. Requested 1850.25; Free 720.5\n";
    for (arguments, turned_first) in [
        ("depth=10, border_count=254", "border_count=32"),
        ("depth=10", "CatBoostRegressor(task_type=\"GPU\", depth=8)"),
    ] {
        let script = format!(
            "from catboost import CatBoostRegressor\n\nmodel = CatBoostRegressor(task_type=\"GPU\", {arguments})\nmodel.fit(rows, target)\n"
        );
        let end = report(&[("job.log", log), ("boost.py", &script)])?;
        let shown = patches(&end)?[0].diff.as_deref().unwrap_or_default();
        assert!(shown.contains(turned_first), "{shown} {:?}", turned(&end)?);
    }
    Ok(())
}
