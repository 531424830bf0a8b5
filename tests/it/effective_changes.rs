//! A change that does nothing in the job at hand is not proposed: a flag that its version ignores, a limit above what it met, options of
//! another stage or family.

use std::error::Error;

use oomdoc::model::Report;

use crate::support::analyzed::{added_lines, cause, diff, refused, report, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What the kernel says of a container that hit its limit of 192 GiB.
const KILLED: &str = "[ 5021.110000] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n[ 5021.110050] memory: usage 201326592kB, limit 201326592kB, failcnt 4711\n[ 5021.110090] Memory cgroup out of memory: Killed process 9120 (python) total-vm:150038341kB, anon-rss:98398963kB, file-rss:81920kB, shmem-rss:0kB, UID:1001 pgtables:226040kB oom_score_adj:0\n";

fn megatron(options: &str) -> String {
    format!(
        "#!/bin/bash\n#SBATCH --mem=192G\ntorchrun --nproc_per_node 8 pretrain_gpt.py \\\n    --tensor-model-parallel-size 2 --num-layers 24 --hidden-size 2048 --num-attention-heads 16 \\\n    --micro-batch-size 2 --bf16 --use-distributed-optimizer {options} --save out\n"
    )
}

fn after(lines: &str, options: &str) -> Outcome<Report> {
    report(&[("job.log", &format!("{lines}{KILLED}")), ("run.sh", &megatron(options))])
}

#[test]
fn saving_in_parallel_is_not_offered_to_a_format_that_gathers() -> Outcome {
    let saving = |format: &str| format!("saving checkpoint at iteration     300 to out in {format} format\n");
    let old = after(&saving("torch"), "--ckpt-format torch")?;
    assert_eq!(turned(&old)?[0], "--ckpt-format");
    assert!(added_lines(&diff(&old)?)[0].contains("--ckpt-format torch_dist"));
    let new = after(&saving("torch_dist"), "--ckpt-format torch_dist")?;
    for report in [&old, &new] {
        assert!(!turned(report)?.contains(&"--ckpt-fully-parallel-save"));
    }
    assert!(!turned(&new)?.contains(&"--ckpt-format"));
    Ok(())
}

#[test]
fn what_is_not_loaded_anyway_is_not_left_out() -> Outcome {
    let offered = |lines: &str, options: &str| -> Outcome<bool> {
        Ok(turned(&after(lines, options)?)?.contains(&"--no-load-optim"))
    };
    let (release, usual) =
        (" loading release checkpoint from base\n", " loading distributed checkpoint from base at iteration 40\n");
    assert!(offered(usual, "--load base")?);
    assert!(!offered(usual, "--load base --finetune")?);
    assert!(!offered(release, "--load base")?);
    Ok(())
}

fn diffusers(options: &str) -> String {
    format!(
        "accelerate launch train_text_to_image_lora_sdxl.py \\\n  --pretrained_model_name_or_path=stabilityai/stable-diffusion-xl-base-1.0 \\\n  --resolution=1024 --train_batch_size=4 {options} \\\n  --output_dir=out\n"
    )
}

const SCRIPT: &str = "/w/train_text_to_image_lora_sdxl.py";

#[test]
fn a_frozen_encoder_has_nothing_to_recompute() -> Outcome {
    let of = |code: &str, deeper: (&str, &str, &str)| -> Outcome<Report> {
        let log = stack(&[(SCRIPT, "main", code), deeper]) + &refused("1.50 GiB", 23.65);
        report(&[("job.log", &log), ("run.sh", &diffusers("--mixed_precision=fp16"))])
    };
    let encoding = of(
        "model_input = vae.encode(pixel_values).latent_dist.sample()",
        ("diffusers/models/autoencoders/autoencoder_kl.py", "encode", "h = self._encode(x)"),
    )?;
    assert_eq!(turned(&encoding)?[0], "--train_batch_size");
    assert!(!turned(&encoding)?.contains(&"--gradient_checkpointing"));
    let denoising = of(
        "model_pred = unet(noisy_model_input, timesteps, prompt_embeds).sample",
        ("diffusers/models/unets/unet_2d_condition.py", "forward", "sample = upsample_block(hidden_states=sample)"),
    )?;
    assert!(turned(&denoising)?.contains(&"--gradient_checkpointing"));
    Ok(())
}

#[test]
fn a_validation_at_the_models_own_size_is_not_decoded_in_tiles() -> Outcome {
    let calls = [
        (SCRIPT, "log_validation", "images = [pipeline(**pipeline_args).images[0] for _ in range(4)]"),
        (
            "diffusers/pipelines/stable_diffusion_xl/pipeline_stable_diffusion_xl.py",
            "__call__",
            "image = self.vae.decode(latents, return_dict=False)[0]",
        ),
    ];
    let log = stack(&calls) + &refused("2.00 GiB", 23.65);
    let end = report(&[("job.log", &log), ("run.sh", &diffusers("--validation_prompt=cat"))])?;
    assert!(!turned(&end)?.iter().any(|knob| knob.contains("tiling")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn frozen_weights_are_halved_before_they_are_quantised_and_as_the_class_they_are() -> Outcome {
    let log =
        stack(&[(SCRIPT, "main", "unet.to(accelerator.device, dtype=weight_dtype)")]) + &refused("26.00 MiB", 7.79);
    let first = |options: &str| -> Outcome<Vec<String>> {
        let end = report(&[("job.log", &log), ("run.sh", &diffusers(options))])?;
        Ok(turned(&end)?.iter().map(|knob| (*knob).to_owned()).collect())
    };
    let whole = first("--mixed_precision=no")?;
    assert_eq!(whole[0], "--mixed_precision", "{whole:?}");
    assert!(!whole.iter().any(|knob| knob.contains("quantization_config")), "{whole:?}");
    let half = first("--mixed_precision=fp16")?;
    assert!(half.contains(&"UNet2DConditionModel.from_pretrained.quantization_config".to_owned()), "{half:?}");
    Ok(())
}

/// torchtune's configuration without a limit of length.
fn recipe(batch: u32) -> String {
    format!(
        "tokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: null\nmodel:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\nbatch_size: {batch}\nloss:\n  _component_: torch.nn.CrossEntropyLoss\ngradient_accumulation_steps: 1\nenable_activation_checkpointing: True\ndtype: bf16\n"
    )
}

#[test]
fn a_limit_of_length_cuts_the_samples_that_were_met() -> Outcome {
    let calls = [
        ("recipes/full_finetune_distributed.py", "_loss_step", "loss = self._loss_fn(logits, labels)"),
        ("torch/nn/functional.py", "cross_entropy", "return torch._C._nn.cross_entropy_loss("),
    ];
    // 8.00 GiB are 16743 tokens of 128256 words in four bytes.
    let log = "$ tune run full_finetune_distributed --config c.yaml\n".to_owned()
        + &stack(&calls)
        + &refused("8.00 GiB", 79.1);
    let of = |batch: u32| report(&[("job.log", &log), ("c.yaml", &recipe(batch))]);
    let limit = |end: &Report| -> Option<String> {
        let all = end.incidents[0].diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
        let found = all.into_iter().find(|patch| patch.knob == "tokenizer.max_seq_len")?;
        Some(found.to.as_ref()?.to_string())
    };
    let (one, four, sixteen) = (of(1)?, of(4)?, of(16)?);
    assert_eq!(cause(&one)?, "long_sequence_outlier");
    assert_eq!(limit(&one).as_deref(), Some("8192"));
    assert_eq!(cause(&four)?, "activations_too_large");
    assert_eq!(limit(&four).as_deref(), Some("4096"));
    assert_eq!(limit(&sixteen), None);
    assert!(turned(&sixteen)?.contains(&"loss._component_"), "{:?}", turned(&sixteen)?);
    Ok(())
}

#[test]
fn the_limit_of_a_pod_is_raised_in_the_pod() -> Outcome {
    let described = "$ kubectl describe pod tuner-0\nName:             tuner-0\nContainers:\n  tuner:\n    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Limits:\n      memory:          192Gi\n";
    let of = |more: &str| {
        report(&[("job.log", &format!("Loading checkpoint shards:  40%|████      | 2/5\n{KILLED}{more}"))])
    };
    assert_eq!(turned(&of(described)?)?[0], "resources.limits.memory");
    assert_eq!(turned(&of("")?)?[0], "memory.max");
    Ok(())
}

#[test]
fn a_node_is_not_asked_for_more_gpus_than_it_has() -> Outcome {
    let calls = [
        ("/w/train.py", "main", "optimizer.step()"),
        ("torch/optim/adamw.py", "_init_group", "state[\"exp_avg_sq\"] = torch.zeros_like("),
    ];
    let log = stack(&calls) + &refused("128.00 MiB", 39.39);
    let offered = |gpus: u32| -> Outcome<bool> {
        let launch = format!("#!/bin/bash\n#SBATCH --gres=gpu:{gpus}\ntorchrun --nproc_per_node {gpus} train.py\n");
        let end = report(&[("job.log", &log), ("run.sh", &launch)])?;
        Ok(turned(&end)?.iter().any(|knob| knob.contains("gres")))
    };
    assert!(!offered(8)?);
    Ok(())
}

#[test]
fn an_engine_whose_gpus_differ_in_what_is_free_shares_one_with_others() -> Outcome {
    let log = "[2026-03-01 10:00:00] server_args=ServerArgs(model_path='org/model-32b', tp_size=2, mem_fraction_static=0.85)\nRuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=20.75, local_gpu_memory=94.5, local_gpu_memory * 0.9=85.05\n";
    let end = report(&[("job.log", log)])?;
    assert_eq!(cause(&end)?, "gpu_shared_with_others");
    assert!(turned(&end)?[0].starts_with("kill "), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn pieces_that_lie_unused_are_joined_in_the_launch_script() -> Outcome {
    let pieces = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 768.00 MiB. GPU 0 has a total capacity of 47.41 GiB of which 310.25 MiB is free. Including non-PyTorch memory, this process has 47.10 GiB memory in use. Of the allocated memory 36.20 GiB is allocated by PyTorch, and 10.30 GiB is reserved by PyTorch but unallocated.\n";
    let log =
        stack(&[("/w/train.py", "main", "out = model(x)"), ("/w/model.py", "forward", "x = self.gelu(x)")]) + pieces;
    let of = |launch: &str| report(&[("job.log", &log), ("run.sh", launch)]);
    let end = of("#!/bin/bash\npython train.py --batch-size 16\n")?;
    assert_eq!(cause(&end)?, "fragmentation");
    assert_eq!(added_lines(&diff(&end)?), ["export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"]);
    let joined =
        of("#!/bin/bash\nexport PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\npython train.py --batch-size 16\n")?;
    assert_ne!(cause(&joined)?, "fragmentation");
    Ok(())
}

#[test]
fn images_that_are_encoded_before_the_training_have_a_batch_of_their_own() -> Outcome {
    let calls = [
        ("/w/sd-scripts/train_network.py", "train", "train_dataset_group.cache_latents(vae, args.vae_batch_size)"),
        (
            "/w/sd-scripts/library/train_util.py",
            "cache_batch_latents",
            "latents = vae.encode(img_tensors).latent_dist.sample().to(\"cpu\")",
        ),
        ("diffusers/models/autoencoders/autoencoder_kl.py", "encode", "h = self.encoder(x)"),
    ];
    let launch = "accelerate launch train_network.py --pretrained_model_name_or_path=base.safetensors --train_batch_size=2 --vae_batch_size=16 --cache_latents --network_module=networks.lora\n";
    let end = report(&[("job.log", &(stack(&calls) + &refused("1.25 GiB", 11.69))), ("run.sh", launch)])?;
    assert_eq!(turned(&end)?[0], "--vae_batch_size");
    assert!(!turned(&end)?.contains(&"--sdpa"), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn a_narrower_model_comes_behind_what_keeps_the_model() -> Outcome {
    let calls = [("/w/train.py", "main", "logits, loss = model(x, y)"), ("/w/model.py", "forward", "x = self.gelu(x)")];
    let log = stack(&calls) + &refused("640.00 MiB", 39.39);
    let code = "import torch\nfrom dataclasses import dataclass\nfrom model import GPT\n\n@dataclass\nclass NetConfig:\n    n_embd: int = 1024\n    n_layer: int = 12\n\nmodel = GPT(NetConfig()).cuda()\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor x, y in loader:\n    logits, loss = model(x, y)\n    loss.backward()\n    optimizer.step()\n";
    let end = report(&[("job.log", &log), ("run.sh", "python train.py --batch_size=32\n"), ("train.py", code)])?;
    let order = turned(&end)?;
    let place = |name: &str| order.iter().position(|knob| *knob == name);
    assert!(place("n_embd") > place("torch.utils.checkpoint.checkpoint()"), "{order:?}");
    assert!(place("n_embd").is_some(), "{order:?}");
    Ok(())
}
