//! What ranks share out before samples are cut, and changes that only suffice together.

use std::error::Error;

use oomdoc::model::Phase;

use crate::support::analyzed::{added_lines, cause, diff, patches, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const FSDP: &str = "distributed_type: FSDP\nfsdp_config:\n  fsdp_activation_checkpointing: false\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_sharding_strategy: SHARD_GRAD_OP\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\n";

#[test]
fn weights_that_stay_gathered_are_dropped_again() -> Outcome {
    let log = stack(&[
        ("transformers/trainer.py", "training_step", "loss = self.compute_loss(model, inputs)"),
        (
            "torch/distributed/fsdp/fully_sharded_data_parallel.py",
            "forward",
            "output = self._fsdp_wrapped_module(*args, **kwargs)",
        ),
        (
            "transformers/models/llama/modeling_llama.py",
            "forward",
            "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))",
        ),
    ]) + &refused("86.00 MiB", 23.64);
    let launch = "accelerate launch --config_file fsdp.yaml train.py --model_name_or_path meta-llama/Llama-2-7b-hf --block_size 2048 --per_device_train_batch_size 2 --gradient_accumulation_steps 2 --bf16 True\n";
    let end = |config: &str| report(&[("job.log", &log), ("fsdp.yaml", config), ("launch.sh", launch)]);
    let kept = end(FSDP)?;
    assert!(turned(&kept)?[..2].contains(&"fsdp_config.fsdp_sharding_strategy"), "{:?}", turned(&kept)?);
    let version_2 =
        FSDP.replace("fsdp_sharding_strategy: SHARD_GRAD_OP", "fsdp_version: 2\n  fsdp_reshard_after_forward: false");
    let kept = end(&version_2)?;
    assert!(turned(&kept)?[..2].contains(&"fsdp_config.fsdp_reshard_after_forward"), "{:?}", turned(&kept)?);
    let dropped = end(&FSDP.replace("SHARD_GRAD_OP", "FULL_SHARD"))?;
    assert!(!turned(&dropped)?.contains(&"fsdp_config.fsdp_sharding_strategy"));
    Ok(())
}

#[test]
fn experts_are_shared_out_before_dense_matrices() -> Outcome {
    let log = stack(&[
        (
            "/w/megatron/training/training.py",
            "setup_model_and_optimizer",
            "model = get_model(model_provider_func, model_type)",
        ),
        ("/w/megatron/core/distributed/param_and_grad_buffer.py", "__init__", "self.grad_data = torch.zeros("),
    ]) + &refused("48.20 GiB", 79.11);
    let launch = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 40 --hidden-size 2048 --num-attention-heads 32 --ffn-hidden-size 6144 --moe-ffn-hidden-size 768 --num-experts 64 --moe-router-topk 4 --tensor-model-parallel-size 2 --bf16 --use-distributed-optimizer --seq-length 4096 --micro-batch-size 1 --swiglu --vocab-size 151936\n";
    let end = report(&[("job.log", &log), ("launch.sh", launch)])?;
    assert_eq!(turned(&end)?[0], "--expert-model-parallel-size");
    assert!(diff(&end)?.contains("--expert-model-parallel-size 4"), "{}", diff(&end)?);
    let dense = launch.replace("--moe-ffn-hidden-size 768 --num-experts 64 --moe-router-topk 4 ", "");
    assert!(!turned(&report(&[("job.log", &log), ("launch.sh", &dense)])?)?.contains(&"--expert-model-parallel-size"));
    // What does not divide the experts, or the ranks, is refused at the start.
    for (old, new, size) in [
        ("--num-experts 64", "--num-experts 60", 4),
        ("--nproc_per_node 8", "--nnodes 2 --nproc_per_node 6", 2),
        ("--nproc_per_node 8", "--nnodes 2 --nproc_per_node 8", 8),
    ] {
        let end = report(&[("job.log", &log), ("launch.sh", &launch.replace(old, new))])?;
        assert!(diff(&end)?.contains(&format!("--expert-model-parallel-size {size}")), "{new}: {}", diff(&end)?);
    }
    let shared = launch.replace("--bf16", "--expert-model-parallel-size 4 --bf16");
    assert_ne!(turned(&report(&[("job.log", &log), ("launch.sh", &shared)])?)?[0], "--expert-model-parallel-size");
    Ok(())
}

#[test]
fn a_batch_that_is_handed_round_is_no_rollout() -> Outcome {
    let log = stack(&[
        ("swift/llm/train/sft.py", "train", "trainer.train(trainer.args.resume_from_checkpoint)"),
        (
            "transformers/trainer.py",
            "_inner_training_loop",
            "batch, count = self.get_batch_samples(epoch_iterator, number, device)",
        ),
        (
            "swift/trainers/sequence_parallel/utils.py",
            "__iter__",
            "dist.broadcast_object_list(batch, src=source, group=self.sp_group)",
        ),
        (
            "torch/distributed/distributed_c10d.py",
            "broadcast_object_list",
            "broadcast(object_sizes_tensor, src=global_src, group=group)",
        ),
        ("torch/distributed/distributed_c10d.py", "broadcast", "work = group.broadcast([tensor], opts)"),
    ]) + "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3356, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nFailed to CUDA calloc async 6291456 bytes\n";
    let launch = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type full --torch_dtype bfloat16 --sequence_parallel_size 2 --max_length 65536 --per_device_train_batch_size 1 --deepspeed zero3\n";
    let end = report(&[("job.log", &log), ("run.sh", launch)])?;
    assert_eq!(root(&end)?.phase.name, Phase::DataLoading);
    assert_eq!(cause(&end)?, "activations_too_large");
    assert_eq!(turned(&end)?[0], "--sequence_parallel_size");
    Ok(())
}

#[test]
fn frozen_weights_are_shared_out_before_samples_are_cut() -> Outcome {
    let log = stack(&[
        ("transformers/trainer.py", "training_step", "self.accelerator.backward(loss, **kwargs)"),
        ("torch/autograd/graph.py", "_engine_run_backward", "return Variable._execution_engine.run_backward("),
    ]) + &refused("3.48 GiB", 79.15);
    let launch = "NPROC_PER_NODE=4 swift sft --model Qwen/Qwen2.5-32B-Instruct --train_type lora --torch_dtype bfloat16 --per_device_train_batch_size 1 --max_length 6144 --attn_impl flash_attn\n";
    let end = report(&[("job.log", &log), ("run.sh", launch)])?;
    let knobs = turned(&end)?;
    let place = |knob: &str| knobs.iter().position(|other| *other == knob).unwrap_or(usize::MAX);
    assert_eq!(place("--use_liger_kernel"), 0, "{knobs:?}");
    assert!(place("--deepspeed") < place("--max_length"), "{knobs:?}");
    // ms-swift recomputes unless it is told not to.
    let why = |end| -> Outcome<String> { Ok(serde_json::to_string(&root(end)?.diagnoses[0])?) };
    assert!(!why(&end)?.contains("Not all activations are recomputed"));
    let off = launch.replace("--attn_impl", "--gradient_checkpointing false --attn_impl");
    assert!(why(&report(&[("job.log", &log), ("run.sh", &off)])?)?.contains("Not all activations are recomputed"));
    Ok(())
}

#[test]
fn a_model_in_32_bit_is_halved_before_another_one_is_trained() -> Outcome {
    let log = stack(&[
        ("/home/u/tune.py", "<module>", "trainer.train()"),
        ("torch/optim/adamw.py", "_init_group", "state[\"exp_avg\"] = torch.zeros_like("),
    ]) + &refused("224.00 MiB", 79.15);
    let script = "from transformers import AutoModelForCausalLM\nfrom trl import SFTConfig, SFTTrainer\n\nmodel = AutoModelForCausalLM.from_pretrained(\"Qwen/Qwen2.5-7B\")\nargs = SFTConfig(output_dir=\"out\", per_device_train_batch_size=1, max_length=1024, bf16=True)\ntrainer = SFTTrainer(model=model, args=args, train_dataset=data)\ntrainer.train()\n";
    let end = report(&[("job.log", &log), ("tune.py", script)])?;
    assert_eq!(turned(&end)?[0], "from_pretrained.torch_dtype");
    assert!(turned(&end)?.contains(&"optim"));
    let adapter = patches(&end)?.iter().find(|patch| patch.knob.ends_with(".peft_config")).ok_or("no adapter")?;
    assert_eq!(adapter.knob, "SFTTrainer.peft_config");
    let added = adapter.diff.clone().unwrap_or_default();
    assert!(added_lines(&added).contains(&"import peft"), "{added}");
    assert!(added.contains("peft_config=peft.LoraConfig("), "{added}");
    Ok(())
}

#[test]
fn a_server_takes_all_cards_of_its_pod() -> Outcome {
    let log = stack(&[
        ("vllm/v1/worker/gpu_model_runner.py", "load_model", "self.model = get_model(vllm_config=self.vllm_config)"),
        (
            "vllm/model_executor/layers/linear.py",
            "create_weights",
            "weight = Parameter(torch.empty(sum(output_partition_sizes),",
        ),
    ]) + &refused("448.00 MiB", 79.10);
    let pod = |gpus: u32| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: chat\nspec:\n  template:\n    spec:\n      containers:\n      - name: vllm\n        image: vllm/vllm-openai:v0.8.5\n        args:\n        - --model=meta-llama/Llama-3.1-70B-Instruct\n        - --max-model-len=8192\n        resources:\n          limits:\n            nvidia.com/gpu: \"{gpus}\"\n"
        )
    };
    let end = |gpus| report(&[("job.log", &log), ("deploy.yaml", &pod(gpus))]);
    assert!(diff(&end(4)?)?.contains("--tensor-parallel-size=4"), "{}", diff(&end(4)?)?);
    assert!(diff(&end(8)?)?.contains("--tensor-parallel-size=8"), "{}", diff(&end(8)?)?);
    assert!(!diff(&end(1)?)?.contains("--tensor-parallel-size=4"));
    // 28 heads are not shared out to 8 cards.
    let seven = refused("448.00 MiB", 14.58);
    let log = log.replace(&refused("448.00 MiB", 79.10), &seven);
    let pod = pod(8).replace("meta-llama/Llama-3.1-70B-Instruct", "Qwen/Qwen2.5-7B-Instruct");
    let end = report(&[("job.log", &log), ("deploy.yaml", &pod)])?;
    assert!(diff(&end)?.contains("--tensor-parallel-size=4"), "{}", diff(&end)?);
    Ok(())
}

#[test]
fn a_limit_of_a_node_holds_the_copies_of_its_own_ranks() -> Outcome {
    let log = "Loading checkpoint shards:  25%|##5       | 1/4 [00:08<00:24,  8.1s/it]\nE0720 10:11:12.300000 31 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 2 (pid: 66) of binary: /opt/conda/bin/python\nslurmstepd: error: Detected 1 oom_kill event in StepId=501.0. Some of the step tasks have been OOM Killed.\nsrun: error: n1: task 0: Out Of Memory\n";
    let script = "import torch\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained(\"/models/Llama-3.1-8B\")\nmodel = model.to(\"cuda\")\n";
    let end = |limit: u32| {
        let job = format!(
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --mem={limit}G\nsrun torchrun --nnodes=2 --nproc_per_node=8 adapt.py\n"
        );
        report(&[("job.log", log), ("adapt.py", script), ("job.sbatch", &job)])
    };
    for limit in [120, 300] {
        let end = end(limit)?;
        for patch in patches(&end)?.iter().filter(|patch| patch.knob == "--mem") {
            // A limit that holds them all is no lower one afterwards.
            let Some(to) = patch.to.as_ref().map(ToString::to_string) else { continue };
            let amount: f64 = to.trim_end_matches(|end: char| !end.is_ascii_digit()).parse().unwrap_or_default();
            assert!(amount > f64::from(limit), "{limit}: {to}");
        }
    }
    Ok(())
}

#[test]
fn no_total_is_told_that_no_device_could_have() -> Outcome {
    let log = stack(&[
        ("transformers/trainer.py", "training_step", "loss = self.compute_loss(model, inputs)"),
        ("transformers/models/llama/modeling_llama.py", "forward", "hidden_states = self.mlp(hidden_states)"),
    ]) + &refused("216.00 MiB", 39.39);
    let config = FSDP.replace("SHARD_GRAD_OP", "FULL_SHARD");
    let launch = "accelerate launch --config_file fsdp.yaml train.py --model_name_or_path meta-llama/Llama-2-13b-hf --block_size 8192 --per_device_train_batch_size 4 --bf16 True\n";
    let end = report(&[("job.log", &log), ("fsdp.yaml", &config), ("launch.sh", launch)])?;
    for patch in patches(&end)? {
        let most = patch.needs.gpu.and_then(|need| Some(need.bytes.gib() / need.capacity?.gib()));
        assert!(most.is_none_or(|share| share <= 1.2), "{}: {most:?}", patch.knob);
    }
    Ok(())
}
