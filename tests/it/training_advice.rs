//! What is proposed first for trainers whose configuration is given.

use std::error::Error;

use oomdoc::model::OtherFailureName;

use crate::support::analyzed::{cause, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const RECIPE: &str = "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\nbatch_size: 2\noptimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\noptimizer_in_bwd: False\ngradient_accumulation_steps: 4\nenable_activation_checkpointing: True\ndtype: bf16\n";

#[test]
fn gradients_that_no_batch_makes_room_for_are_not_kept() -> Outcome {
    let log = stack(&[
        ("recipes/full_finetune_single_device.py", "train", "current_loss.backward()"),
        ("torch/_tensor.py", "backward", "torch.autograd.backward("),
    ]) + &refused("112.00 MiB", 23.64);
    let launch = "tune run full_finetune_single_device --config config.yaml\n";
    let files = [("job.log", &*log), ("config.yaml", RECIPE), ("launch.sh", launch)];
    let end = report(&files)?;
    let knobs = turned(&end)?;
    assert_eq!((cause(&end)?, knobs.first()), ("gradients_too_large", Some(&"optimizer_in_bwd")));
    let diff = root(&end)?.diagnoses[0].patches[0].diff.as_deref().unwrap_or_default();
    assert!(diff.contains("+gradient_accumulation_steps: 1"), "{diff}");
    // A larger GPU has room for both: there the batch decides.
    let roomy = log.replace("23.64", "39.39").replace("23.59", "39.34").replace("22.94", "38.69");
    assert_eq!(cause(&report(&[("job.log", &roomy), files[1], files[2]])?)?, "activations_too_large");
    Ok(())
}

#[test]
fn a_long_sequence_is_split_before_it_is_cut() -> Outcome {
    let log = stack(&[
        (
            "nemo/collections/nlp/models/language_modeling/megatron_gpt_model.py",
            "fwd_bwd_step",
            "losses = fwd_bwd_function(",
        ),
        ("megatron/core/tensor_parallel/cross_entropy.py", "calculate_logits_max", "logits = logits.float()"),
    ]) + &refused("7.83 GiB", 79.11);
    let config = "trainer:\n  devices: 8\n  num_nodes: 4\n  precision: bf16\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 32\n  encoder_seq_length: 131072\n  tensor_model_parallel_size: 8\n  context_parallel_size: 1\n  sequence_parallel: true\n  activations_checkpoint_granularity: full\n  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n";
    assert_eq!(turned(&report(&[("job.log", &log), ("config.yaml", config)])?)?[0], "model.context_parallel_size");
    Ok(())
}

#[test]
fn what_recomputation_makes_room_for_keeps_its_batch() -> Outcome {
    let log = stack(&[
        ("trl/trainer/sft_trainer.py", "training_step", "return super().training_step(*args)"),
        ("transformers/models/mixtral/modeling_mixtral.py", "forward", "hidden = self.act_fn(self.w1(x))"),
    ]) + &refused("58.00 MiB", 79.15);
    let script = |on: &str| {
        format!(
            "from trl import SFTConfig\ncfg = SFTConfig(output_dir=\"mx\", per_device_train_batch_size=4, max_length=2048, bf16=True, gradient_checkpointing={on})\n"
        )
    };
    let off = report(&[("job.log", &log), ("train.py", &script("False"))])?;
    assert_eq!(turned(&off)?[0], "gradient_checkpointing");
    let on = report(&[("job.log", &log), ("train.py", &script("True"))])?;
    assert_eq!(turned(&on)?[0], "per_device_train_batch_size");
    Ok(())
}

#[test]
fn ranks_that_load_to_the_gpu_that_the_call_names_are_given_their_own() -> Outcome {
    let oom = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 136.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 62.12 MiB is free. Process 3301 has 20.11 GiB memory in use. Process 3302 has 19.92 GiB memory in use. Process 3304 has 19.92 GiB memory in use. Including non-PyTorch memory, this process has 19.10 GiB memory in use. Of the allocated memory 18.60 GiB is allocated by PyTorch, and 1.00 MiB is reserved by PyTorch but unallocated.\n";
    let load = |to: &str| {
        let calls = [
            ("/w/train.py", "<module>", &*format!("model = AutoModel.from_pretrained(\"org/m\"{to})")),
            ("transformers/modeling_utils.py", "from_pretrained", ") = cls._load_pretrained_model("),
        ];
        stack(&calls).lines().map(|line| format!("[rank3]: {line}\n")).collect::<String>() + oom
    };
    let named = report(&[("job.log", &load(", device_map=\"cuda:0\""))])?;
    assert_eq!(turned(&named)?[0], "device_map by rank");
    let unnamed = report(&[("job.log", &load(""))])?;
    assert_eq!(turned(&unnamed)?[0], "torch.cuda.set_device()");
    Ok(())
}

#[test]
fn a_writer_that_failed_on_a_full_disk_has_a_full_disk() -> Outcome {
    let writer = "RuntimeError: [enforce fail at inline_container.cc:783] . PytorchStreamWriter failed writing file data/301: file write failed\n";
    let end = report(&[(
        "job.log",
        &format!(
            "{}{writer}\nOSError: [Errno 28] No space left on device\n",
            stack(&[("torch/serialization.py", "_save", "zip_file.write_record(name, storage, num_bytes)")])
        ),
    )])?;
    assert_eq!(end.other_failure.as_ref().map(|failure| failure.name), Some(OtherFailureName::DiskFull));
    Ok(())
}

#[test]
fn images_that_a_validation_makes_have_a_size_of_their_own() -> Outcome {
    let log = stack(&[
        ("train_text_to_image_lora_sdxl.py", "log_validation", "images.append(pipeline(**args).images[0])"),
        ("diffusers/models/autoencoders/vae.py", "forward", "sample = up_block(sample, latent_embeds)"),
    ]) + &refused("2.00 GiB", 15.7);
    let launch = "accelerate launch train_text_to_image_lora_sdxl.py --resolution=1024 --train_batch_size=1 --gradient_checkpointing --validation_prompt=ninja\n";
    let end = report(&[("job.log", &log), ("launch.sh", launch)])?;
    let knobs = turned(&end)?;
    // Tiles are as large as the images that this model makes by itself.
    assert_eq!(knobs[0], "training without a validation");
    assert!(!knobs.contains(&"--resolution"), "{knobs:?}");
    Ok(())
}
