//! Advice for training jobs in which the figures of the job itself decide what is enough.

use std::error::Error;

use crate::support::analyzed::{cause, patches, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A job on two nodes whose optimizer and parameters are offloaded, killed by its limit on a node that has far more.
const OFFLOADED: &str = "gpu31: [2026-02-03 09:11:40,210] [INFO] [config.py:1003:print]   zero_optimization_stage ...... 3
gpu31: Adam Optimizer #0 is created with AVX512 arithmetic capability.
gpu31: [2026-02-03 09:14:02,102] [INFO] [utils.py:789:see_memory_usage] CPU Virtual Memory:  used = 203.4 GB, percent = 13.5%
gpu31: [2026-02-03 09:14:02,500] [INFO] [utils.py:782:see_memory_usage] Before initializing optimizer states
slurmstepd: error: Detected 1 oom_kill event in StepId=88120.0. Some of the step tasks have been OOM Killed.
srun: error: gpu31: task 5: Out Of Memory
";

const ZERO_THREE: &str = "{\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}, \"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}}}\n";

#[test]
fn an_offload_that_the_gpus_have_room_for_is_taken_back() -> Outcome {
    let launch = |gpu: &str| {
        format!(
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n#SBATCH --gres=gpu:{gpu}:8\n#SBATCH --mem=256G\nsrun --label python sft.py --model_name_or_path Qwen/Qwen2.5-32B-Instruct --deepspeed ds.json --per_device_train_batch_size 2 --gradient_checkpointing True --bf16 True --max_seq_length 4096\n"
        )
    };
    let end = report(&[("job.log", OFFLOADED), ("ds.json", ZERO_THREE), ("job.sbatch", &launch("h100"))])?;
    assert_eq!(cause(&end)?, "host_offload_pressure");
    let first = &patches(&end)?[0];
    assert_eq!((&*first.knob, first.suffices), ("zero_optimization.offload_optimizer.device", Some(true)));
    // The node has six times as much as it was asked for.
    assert!(turned(&end)?[..3].contains(&"--mem"), "{:?}", turned(&end)?);
    // A small GPU has no room for the states.
    let small = report(&[("job.log", OFFLOADED), ("ds.json", ZERO_THREE), ("job.sbatch", &launch("rtx3090"))])?;
    assert!(!turned(&small)?.contains(&"zero_optimization.offload_optimizer.device"), "{:?}", turned(&small)?);
    // The number of a host is none of a GPU.
    assert_eq!(root(&end)?.victim.device, None);
    Ok(())
}

#[test]
fn what_sleeps_on_the_host_wakes_with_the_offload_that_is_taken_back() -> Outcome {
    let log = "(PolicyModelActor pid=4101) [2026-02-03 10:04:11,202] [INFO] [cpu_adam.py] Adam Optimizer #0 is created with AVX512 arithmetic capability.
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
Memory on the node (IP: 10.0.0.9, ID: 77aa) where the task (actor ID: 12ab, name=PolicyModelActor.__init__, pid=4101, memory used=80.20GB) was running was 181.70GB / 190.00GB (0.956316), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 9c) because it was the most recently scheduled task; to see more information about memory usage on this node, use `ray logs raylet.out -ip 10.0.0.9`. Top 10 memory users:
PID	MEM(GB)	COMMAND
4101	80.20	ray::PolicyModelActor
4102	79.90	ray::CriticModelActor
";
    let launch = "python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 8 --critic_num_nodes 1 --critic_num_gpus_per_node 8 --ref_num_nodes 1 --ref_num_gpus_per_node 8 --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --colocate_all_models --pretrain OpenRLHF/Llama-3-8b-sft-mixture --reward_pretrain OpenRLHF/Llama-3-8b-rm-700k --reward_num_nodes 1 --reward_num_gpus_per_node 8 --vllm_gpu_memory_utilization 0.5 --micro_train_batch_size 2 --prompt_max_len 1024 --generate_max_len 1024 --zero_stage 3 --bf16 --adam_offload --vllm_enable_sleep --deepspeed_enable_sleep --gradient_checkpointing\n";
    let end = report(&[("job.log", log), ("run.sh", launch)])?;
    let first = &patches(&end)?[0];
    assert_eq!((&*first.knob, first.suffices), ("--adam_offload", Some(true)), "{:?}", turned(&end)?);
    let diff = first.diff.as_deref().unwrap_or_default();
    let after = diff.lines().find(|line| line.starts_with("+python3")).ok_or("no edit")?;
    assert!(!after.contains("--deepspeed_enable_sleep") && after.contains("--vllm_enable_sleep"), "{after}");
    Ok(())
}

#[test]
fn a_request_as_large_as_the_model_is_of_one_unit() -> Outcome {
    let log = "loading meta-llama/Llama-2-7b-hf in float32\n".to_owned()
        + &stack(&[
            ("/w/ft.py", "main", "loss.backward()"),
            ("torch/_tensor.py", "backward", "torch.autograd.backward("),
        ])
        + &refused("25.10 GiB", 39.39);
    let script = |policy: &str| {
        format!(
            "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-2-7b-hf')\nmodel = FSDP(model, device_id=0{policy})\n"
        )
    };
    let launch = ("run.sh", "torchrun --nproc_per_node 8 ft.py --batch-size 2 --seq-len 1024\n");
    let end = report(&[("job.log", &log), ("ft.py", &script("")), launch])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("weight_gather_spike", "FSDP.auto_wrap_policy"));
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("batch") && !knob.contains("seq")), "{:?}", turned(&end)?);
    let wrapped = report(&[("job.log", &log), ("ft.py", &script(", auto_wrap_policy=policy")), launch])?;
    assert_eq!(turned(&wrapped)?[0], "FSDP.mixed_precision");
    Ok(())
}

#[test]
fn keys_of_the_trainer_are_no_keys_of_what_is_built_on_it() -> Outcome {
    let log = stack(&[
        ("/w/tune.py", "<module>", "trainer.train()"),
        ("transformers/trainer.py", "evaluate", "output = eval_loop("),
        ("transformers/trainer.py", "evaluation_loop", "all_preds.add(logits)"),
        ("transformers/trainer_pt_utils.py", "nested_concat", "return torch_pad_and_concatenate(tensors, new_tensors)"),
        (
            "transformers/trainer_pt_utils.py",
            "torch_pad_and_concatenate",
            "return torch.cat((tensor1, tensor2), dim=0)",
        ),
    ]) + &refused("12.30 GiB", 39.39);
    let options = "model_name_or_path: org/my-1b\nper_device_train_batch_size: 8\nper_device_eval_batch_size: 8\ngradient_accumulation_steps: 2\ngradient_checkpointing: true\nbf16: true\n";
    let end = report(&[("job.log", &log), ("options.yaml", options), ("run.sh", "python tune.py options.yaml\n")])?;
    assert_eq!(end.job.framework.as_deref(), Some("transformers"));
    // Half as many examples at a time pile up to as much.
    let knobs = turned(&end)?;
    assert_eq!(knobs, ["Trainer.preprocess_logits_for_metrics", "--eval_accumulation_steps"]);
    Ok(())
}
