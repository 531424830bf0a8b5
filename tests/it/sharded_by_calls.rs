//! Who shards what, by a script's own calls, by a launcher's file, or by what only the stack shows; a launch that is given beside a log takes
//! nothing of what the log says away.

use std::error::Error;

use crate::support::analyzed::{cause, diff, patches, report, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// What PyTorch says on a GPU of 47.40 GiB that the process fills.
fn refused(requested: &str, free: f64) -> String {
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested}. GPU 1 has a total capacity of 47.40 GiB of which {free:.2} GiB is free. Including non-PyTorch memory, this process has {:.2} GiB memory in use. Of the allocated memory {:.2} GiB is allocated by PyTorch, and 210.00 MiB is reserved by PyTorch but unallocated.\n",
        47.40 - free,
        46.20 - free
    )
}

fn of_rank(text: &str) -> String {
    text.lines().map(|line| format!("[rank1]: {line}\n")).collect()
}

fn gathering() -> String {
    of_rank(
        &(stack(&[
            ("/w/pretrain.py", "<module>", "loss = model(tokens, labels).loss"),
            (
                "torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py",
                "unshard",
                "self._all_gather_result = foreach_all_gather(",
            ),
            (
                "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py",
                "foreach_all_gather",
                "all_gather_output = torch.empty(",
            ),
        ]) + &refused("824.00 MiB", 0.3)),
    )
}

const SCRIPT: &str = "import torch\nfrom torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy\npolicy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)\nfor block in model.blocks:\n    fully_shard(block, mp_policy=policy, reshard_after_forward=False)\nfully_shard(model, mp_policy=policy)\nloss = model(tokens, labels).loss\nloss.backward()\n";

#[test]
fn weights_that_stay_gathered_are_dropped_by_the_call_that_keeps_them() -> Outcome {
    let end = report(&[("job.log", &gathering()), ("pretrain.py", SCRIPT)])?;
    assert_eq!(cause(&end)?, "weight_gather_spike");
    assert!(
        diff(&end)?.contains("+    fully_shard(block, mp_policy=policy, reshard_after_forward=True)"),
        "{}",
        diff(&end)?
    );
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("autocast") && !knob.contains("batch")));
    // What drops them already fails there by what else is kept.
    let drops = SCRIPT.replace(", reshard_after_forward=False", "");
    let end = report(&[("job.log", &gathering()), ("pretrain.py", &drops)])?;
    assert_eq!(cause(&end)?, "activations_too_large");
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("autocast")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn fsdp_1_has_its_own_class_and_strategy() -> Outcome {
    let log = of_rank(
        &(stack(&[
            ("/w/pretrain.py", "<module>", "loss = model(tokens, labels).loss"),
            ("torch/distributed/fsdp/_runtime_utils.py", "_unshard", "handle.unshard()"),
            (
                "torch/distributed/fsdp/_flat_param.py",
                "_alloc_padded_unsharded_flat_param",
                "_alloc_storage(unsharded_flat_param, flat_param._padded_unsharded_size)",
            ),
        ]) + &refused("824.00 MiB", 0.3)),
    );
    let script = "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy\nmodel = FSDP(model, auto_wrap_policy=policy, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)\nloss = model(tokens, labels).loss\nloss.backward()\n";
    let end = report(&[("job.log", &log), ("pretrain.py", script)])?;
    assert_eq!(cause(&end)?, "weight_gather_spike");
    assert!(diff(&end)?.contains("sharding_strategy=ShardingStrategy.FULL_SHARD"), "{}", diff(&end)?);
    assert!(!turned(&end)?.contains(&"CPUOffloadPolicy"), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn a_full_state_is_gathered_on_the_host_by_the_call_that_asks_for_it() -> Outcome {
    let log = "step 900 loss 1.44\n".to_owned()
        + &of_rank(
            &(stack(&[
                ("/w/tune.py", "save", "state = model.state_dict()"),
                (
                    "torch/distributed/fsdp/_state_dict_utils.py",
                    "_common_unshard_post_state_dict_hook",
                    "state_dict[fqn] = state_dict[fqn].clone().detach()",
                ),
            ]) + &refused("196.00 MiB", 0.1)),
        );
    let script = "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP, StateDictType\nmodel = FSDP(model, auto_wrap_policy=policy)\ndef save(path):\n    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):\n        state = model.state_dict()\n    torch.save(state, path)\n";
    let end = report(&[("job.log", &log), ("tune.py", script)])?;
    let diff = diff(&end)?;
    assert!(diff.contains("FullStateDictConfig(offload_to_cpu=True, rank0_only=True)"), "{diff}");
    assert!(!turned(&end)?.contains(&"CPUOffloadPolicy"), "{:?}", turned(&end)?);
    let own_class = script.replace(
        "StateDictType.FULL_STATE_DICT)",
        "StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True))",
    );
    let end = report(&[("job.log", &log), ("tune.py", &own_class)])?;
    assert!(turned(&end)?.iter().all(|knob| !knob.starts_with("state_dict_type")), "{:?}", turned(&end)?);
    Ok(())
}

/// DDP makes its buckets beside whole weights.
fn buckets() -> String {
    of_rank(
        &(stack(&[
            ("/w/run_clm.py", "main", "trainer.train()"),
            ("transformers/trainer.py", "train", "return inner_training_loop("),
            ("accelerate/accelerator.py", "prepare_model", "model = torch.nn.parallel.DistributedDataParallel("),
            ("torch/nn/parallel/distributed.py", "_ddp_init_helper", "self.reducer = dist.Reducer("),
        ]) + &refused("25.40 GiB", 19.1)),
    )
}

const LAUNCH: &str = "accelerate launch --config_file ddp.yaml run_clm.py --model_name_or_path org/m --per_device_train_batch_size 1 --bf16 --gradient_checkpointing\n";
const FILE: &str = "distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\n";

#[test]
fn the_launchers_file_shards_what_every_rank_holds() -> Outcome {
    for files in [
        vec![("job.log", buckets()), ("train.sh", LAUNCH.to_owned()), ("ddp.yaml", FILE.to_owned())],
        vec![("job.log", buckets()), ("ddp.yaml", FILE.to_owned())],
        vec![("job.log", buckets()), ("train.sh", LAUNCH.to_owned())],
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
        let end = report(&files)?;
        assert_eq!((cause(&end)?, turned(&end)?[0]), ("gradients_too_large", "distributed_type"));
        let diff = diff(&end)?;
        let is_given = files.iter().any(|(name, _)| *name == "ddp.yaml");
        assert_eq!(diff.contains("+distributed_type: FSDP"), is_given, "{diff}");
        assert_eq!(diff.contains("+  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP"), is_given, "{diff}");
        // What the knob's own lines say of its partners is not said again.
        let line = patches(&end)?[0].line.as_deref().unwrap_or_default();
        assert_eq!(line.matches("fsdp_config:").count(), usize::from(!is_given), "{line}");
    }
    // Where it shards already, its file says how.
    let sharded = FILE.replace("MULTI_GPU", "FSDP");
    let end = report(&[("job.log", &buckets()), ("train.sh", LAUNCH), ("ddp.yaml", &sharded)])?;
    assert!(!diff(&end)?.contains("distributed_type"), "{:?}", turned(&end)?);
    Ok(())
}

/// A stack of ZeRO-3 that makes a rank's part of the optimizer's copies.
fn partitions(other: f64, own: f64) -> String {
    let message = format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.55 GiB. GPU 2 has a total capacity of 79.15 GiB of which 1.90 GiB is free. {}Including non-PyTorch memory, this process has {own:.2} GiB memory in use. Of the allocated memory {:.2} GiB is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch but unallocated.\n",
        if other > 0.0 { format!("Process 40112 has {other:.2} GiB memory in use. ") } else { String::new() },
        own - 0.7
    );
    of_rank(
        &(stack(&[
            ("/w/sft.py", "<module>", "trainer.train()"),
            ("transformers/trainer.py", "train", "return inner_training_loop("),
            (
                "deepspeed/runtime/zero/stage3.py",
                "_create_fp32_partitions",
                "self.fp16_partitioned_groups_flat[i].to(self.device).clone().float().detach())",
            ),
        ]) + &message),
    )
}

/// The first cause that a log alone shows is also the first one beside the job's launch, unless that disproves it.
#[test]
fn a_launch_beside_the_log_takes_nothing_away() -> Outcome {
    let script = "accelerate launch --config_file sharded.yaml --num_processes 8 sft.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct --bf16 True --gradient_checkpointing True --per_device_train_batch_size 4\n";
    let ddp = "torchrun --nproc_per_node 8 sft.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct --bf16 True --per_device_train_batch_size 4\n";
    for (log, launch) in [
        (partitions(70.2, 7.0), script),
        (partitions(70.2, 7.0), ddp),
        (partitions(0.0, 77.2), script),
        (buckets(), LAUNCH),
        (
            buckets(),
            "torchrun --nproc_per_node 4 run_clm.py --model_name_or_path org/m --bf16 True --per_device_train_batch_size 1\n",
        ),
    ] {
        let alone = report(&[("job.log", &log)])?;
        let both = report(&[("job.log", &log), ("launch.sh", launch)])?;
        assert_eq!(cause(&alone)?, cause(&both)?, "{launch}");
        assert!(!turned(&both)?.is_empty(), "{launch}");
        // Nor does it need more than the ranks of the stack's own way of sharding.
        let most = patches(&both)?.iter().filter_map(|patch| patch.needs.gpu.as_ref()).map(|need| need.bytes.0).max();
        assert!(most.is_none_or(|most| most < 80 << 30), "{launch}: {:?}", turned(&both)?);
    }
    Ok(())
}
