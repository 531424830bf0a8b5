//! A process that is none of the job's holds most of a GPU: whatever line fails, and whatever the job needs by its configuration.

use std::error::Error;

use crate::support::analyzed::{cause, patches, report, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What PyTorch says where a stranger holds `other` GiB of 79.11 and the process itself `own`.
fn beside(device: u32, other: f64, own: f64) -> String {
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU {device} has a total capacity of 79.11 GiB of which {:.2} GiB is free. Process 918273 has {other:.2} GiB memory in use. Including non-PyTorch memory, this process has {own:.2} GiB memory in use. Of the allocated memory {:.2} GiB is allocated by PyTorch, and 80.00 MiB is reserved by PyTorch but unallocated.\n",
        79.11 - other - own,
        own - 1.0
    )
}

/// The stack of a rank on a node that makes Megatron's main parameters.
fn main_parameters() -> String {
    stack(&[
        ("/w/Megatron-LM/pretrain_gpt.py", "<module>", "pretrain("),
        (
            "/w/Megatron-LM/megatron/training/training.py",
            "setup_model_and_optimizer",
            "optimizer = get_megatron_optimizer(",
        ),
        (
            "/w/Megatron-LM/megatron/core/optimizer/distrib_optimizer.py",
            "_build_model_and_main_param_groups",
            "shard_main_param = shard_model_param.clone().float()",
        ),
    ])
}

fn labelled(label: &str, text: &str) -> String {
    text.lines().map(|line| format!("{label}{line}\n")).collect()
}

const BATCH: &str = "#!/bin/bash\n#SBATCH --nodes=16\n#SBATCH --gpus-per-node=8\nsrun torchrun --nnodes 16 --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --pipeline-model-parallel-size 2 --num-layers 48 --hidden-size 8192 --num-attention-heads 64 --seq-length 4096 --micro-batch-size 1 --bf16 --use-distributed-optimizer\n";

#[test]
fn the_node_of_a_left_over_process_is_left_out() -> Outcome {
    let log = labelled("gpu-017: [rank131]: ", &(main_parameters() + &beside(3, 57.3, 21.6)));
    for files in [vec![("job.log", &*log)], vec![("job.log", &*log), ("job.sbatch", BATCH)]] {
        let end = report(&files)?;
        assert_eq!(cause(&end)?, "gpu_shared_with_others");
        assert!(turned(&end)?.contains(&"end the process that holds the GPU"), "{:?}", turned(&end)?);
        assert!(turned(&end)?.iter().all(|knob| !knob.contains("parallel") && !knob.contains("offload")));
        if files.len() > 1 {
            let diff = patches(&end)?[0].diff.as_deref().ok_or("no edit")?;
            assert!(diff.contains("+#SBATCH --exclude=gpu-017"), "{diff}");
        }
    }
    // The same line on a GPU that nobody else uses.
    let alone = labelled(
        "gpu-017: [rank131]: ",
        &(main_parameters() + &beside(3, 0.0, 78.9).replace("Process 918273 has 0.00 GiB memory in use. ", "")),
    );
    assert_eq!(cause(&report(&[("job.log", &alone), ("job.sbatch", BATCH)])?)?, "optimizer_states_on_gpu");
    Ok(())
}

#[test]
fn a_stranger_decides_in_every_phase() -> Outcome {
    let passes = [
        vec![
            ("/w/train.py", "<module>", "loss = model(batch).loss"),
            ("torch/nn/functional.py", "cross_entropy", "return torch._C._nn.cross_entropy_loss("),
        ],
        vec![
            ("/w/train.py", "<module>", "loss.backward()"),
            ("torch/_tensor.py", "backward", "torch.autograd.backward("),
        ],
        vec![
            ("/w/train.py", "<module>", "opt.step()"),
            ("torch/optim/adamw.py", "_init_group", "state[\"exp_avg\"] = torch.zeros_like("),
        ],
        vec![
            ("/w/train.py", "<module>", "model = DDP(model)"),
            ("torch/nn/parallel/distributed.py", "_ddp_init_helper", "self.reducer = dist.Reducer("),
        ],
    ];
    for pass in passes {
        let log = labelled("[rank3]: ", &(stack(&pass) + &beside(3, 61.0, 17.9)));
        assert_eq!(cause(&report(&[("job.log", &log)])?)?, "gpu_shared_with_others", "{pass:?}");
        let own = labelled("[rank3]: ", &(stack(&pass) + &beside(3, 12.0, 66.9)));
        assert_ne!(cause(&report(&[("job.log", &own)])?)?, "gpu_shared_with_others", "{pass:?}");
    }
    Ok(())
}

#[test]
fn what_the_job_puts_there_itself_is_no_stranger() -> Outcome {
    let pass = stack(&[
        ("/w/rl.py", "<module>", "trainer.train()"),
        ("trl/trainer/grpo_trainer.py", "compute_loss", "loss.backward()"),
        ("torch/_tensor.py", "backward", "torch.autograd.backward("),
    ]);
    let log = labelled("[rank0]: ", &(pass + &beside(0, 47.0, 31.5)));
    let launch = "accelerate launch --num_processes 8 rl.py --model_name_or_path Qwen/Qwen3-4B --use_vllm true --vllm_mode colocate --bf16 true --per_device_train_batch_size 8\n";
    assert_ne!(cause(&report(&[("job.log", &log), ("run.sh", launch)])?)?, "gpu_shared_with_others");
    Ok(())
}

#[test]
fn a_program_that_the_script_starts_itself_gets_a_gpu_of_its_own() -> Outcome {
    let setup = stack(&[
        ("/w/rl.py", "<module>", "trainer.train()"),
        ("transformers/trainer.py", "train", "return inner_training_loop("),
        (
            "deepspeed/runtime/zero/stage3.py",
            "_create_fp32_partitions",
            "self.fp16_partitioned_groups_flat[i].to(self.device).clone().float().detach())",
        ),
    ]);
    let log = labelled("[rank0]: ", &(setup + &beside(0, 70.4, 6.2)));
    let script = "#!/bin/bash\nCUDA_VISIBLE_DEVICES=0 trl vllm-serve --model Qwen/Qwen2.5-7B-Instruct > serve.log 2>&1 &\nsleep 90\n\naccelerate launch --config_file zero3.yaml --num_processes 4 rl.py \\\n    --model_name_or_path Qwen/Qwen2.5-7B-Instruct --use_vllm True --vllm_mode server --bf16 True\n";
    let end = report(&[("job.log", &log), ("run.sh", script)])?;
    assert_eq!(cause(&end)?, "gpu_shared_with_others");
    let diff = patches(&end)?[0].diff.as_deref().ok_or("no edit")?;
    assert!(
        diff.contains("+CUDA_VISIBLE_DEVICES=1,2,3 accelerate launch --config_file zero3.yaml --num_processes 3 rl.py"),
        "{diff}"
    );
    // They are apart already: the holder is somebody else, and what the other program is given stays.
    let apart = script.replace("accelerate launch", "CUDA_VISIBLE_DEVICES=1,2,3,4 accelerate launch");
    let end = report(&[("job.log", &log), ("run.sh", &apart)])?;
    assert_eq!(cause(&end)?, "gpu_shared_with_others");
    let diffs = patches(&end)?.iter().filter_map(|patch| patch.diff.as_deref());
    assert!(diffs.into_iter().all(|diff| !diff.contains("vllm-serve")), "{:?}", turned(&end)?);
    assert!(!turned(&end)?.contains(&"devices of the main command"));
    Ok(())
}
