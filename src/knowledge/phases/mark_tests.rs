//! Tests the shipped rows with lines, bars and remote methods of each framework, so that a broken row fails.

use super::*;
use crate::knowledge::Knowledge;
use crate::model::Phase::*;

/// Line, phase, whether it says that the phase is over.
const LINES: &[(&str, Option<(Phase, bool)>)] = &[
    ("Engine before forward", Some((Forward, false))),
    ("Engine after backward", Some((Backward, true))),
    ("Engine before step", Some((OptimizerStep, false))),
    ("Before creating fp32 partitions", Some((Setup, false))),
    ("successfully read 4 ZeRO state_dicts for rank 3", Some((CheckpointResume, false))),
    ("[Torch] Saving /ckpt/global_step40/mp_rank_00_model_states.pt...", Some((CheckpointSave, false))),
    ("[Torch] Checkpoint global_step40 is ready now!", Some((CheckpointSave, true))),
    ("UserWarning: Failed to clone() tensor with name lm_head.weight. This may mean", Some((CheckpointSave, false))),
    ("> building train, validation, and test datasets for GPT ...", Some((DataLoading, false))),
    ("saving checkpoint at iteration     500 to /ckpt in torch_dist format", Some((CheckpointSave, false))),
    ("  successfully saved checkpoint from iteration     500 to /ckpt", Some((CheckpointSave, true))),
    (" validation loss at iteration 500 | lm loss value: 2.1E+00 |", Some((Evaluation, true))),
    ("🚀 Starting experience making with 128 samples", Some((Experience, false))),
    ("✨ Experience making completed in 00:01:12", Some((Experience, true))),
    (
        "update weight: model.embed_tokens.weight, dtype: torch.bfloat16, shape: torch.Size([32000, 4096])",
        Some((WeightSync, false)),
    ),
    ("⏰ Evaluation start time: 2026-02-03 04:05:06", Some((Evaluation, false))),
    (
        "Before init actor from HF AutoModel, memory allocated (GB): 0.0, memory reserved (GB): 0.0",
        Some((ModelLoad, false)),
    ),
    ("After building vllm rollout, memory allocated (GB): 31.2", Some((EngineInit, true))),
    ("After sync model weights in sharding manager, memory allocated (GB): 44.1", Some((WeightSync, false))),
    ("validation generation end", Some((Evaluation, false))),
    ("Before vllm offload in sharding manager: 58.32 GB / 79.19 GB.", Some((Rollout, true))),
    ("current_batch_size=64 >= rollout_batch_size=64. Finish generating.", Some((Rollout, true))),
    ("Loading optimizer from /ckpt/optim_world_size_8_rank_2.pt.", Some((CheckpointResume, false))),
    ("Compute log probs:  41%|████", Some((Experience, false))),
    ("***** Running training *****", Some((Setup, true))),
    ("***** Running Evaluation *****", Some((Evaluation, false))),
    ("{'eval_loss': 1.9, 'eval_runtime': 12.1, 'epoch': 0.5}", Some((Evaluation, true))),
    ("{'loss': 2.31, 'grad_norm': 0.9, 'learning_rate': 1e-05, 'epoch': 0.1}", Some((OptimizerStep, true))),
    ("Saving model checkpoint to out/checkpoint-500", Some((CheckpointSave, false))),
    ("Attempting to resume from out/checkpoint-500", Some((CheckpointResume, false))),
    ("Loading checkpoint shards:  75%|███████ ...... 3/4 [00:08<00:02,  2.83s/it]Killed", Some((ModelLoad, false))),
    ("Running tokenizer on dataset (num_proc=16):   3%|", Some((DataLoading, false))),
    ("Available KV cache memory: 1.71 GiB", Some((EngineInit, false))),
    ("Capturing the model for CUDA graphs. This may lead to unexpected consequences", Some((EngineInit, false))),
    ("init engine (profile, create kv cache, warmup model) took 21.20 seconds", Some((EngineInit, true))),
    ("Sleep mode freed 61.02 GiB memory, 3.11 GiB memory is still in use.", Some((WeightSync, false))),
    ("Avg prompt throughput: 10.1 tokens/s, Avg generation throughput: 99.0 tokens/s", Some((Inference, false))),
    ("Load weight begin. avail mem=78.31 GB", Some((EngineInit, false))),
    ("Async request to resume_memory_occupation timed out (attempt 1)", Some((WeightSync, false))),
    ("Decode batch, #running-req: 12, #token: 9312, token usage: 0.11", Some((Inference, false))),
    ("Method Prefill encountered an error.", Some((Inference, false))),
    (
        "Exception occurred while running RolloutWorker's function sync_model_from_actor: exception is",
        Some((WeightSync, false)),
    ),
    // Plain words in any program's spelling.
    ("level=info msg=\"loading checkpoint shards 6/9\"", Some((ModelLoad, false))),
    ("INFO: serializing model to /ckpt", Some((CheckpointSave, false))),
    ("Loading state dict from a.pt", Some((ModelLoad, false))),
    ("Saving the checkpoint (or staging if async is enabled).", Some((CheckpointSave, false))),
    ("Finished saving checkpoint to /ckpt/checkpoint_last.pt", Some((CheckpointSave, true))),
    ("Restoring states from the checkpoint path at last.ckpt", Some((CheckpointResume, false))),
    ("Restored all states from the checkpoint at last.ckpt", Some((CheckpointResume, true))),
    ("saving checkpoint to /dev/shm/ckpt", Some((CheckpointSave, false))),
    ("Resuming from checkpoint-500/optimizer.pt", Some((CheckpointResume, false))),
    ("=> loaded checkpoint 'model_best.pth' (epoch 3)", Some((CheckpointResume, true))),
    ("Running validation...", Some((Evaluation, false))),
    ("Starting evaluation at 2026-02-03-18:09:20", Some((Evaluation, false))),
    ("loading dataset shard 3", Some((DataLoading, false))),
    (
        "Unable to allocate 3.10 TiB for an array with shape (70000, 6000000) and data type int64",
        Some((DataLoading, false)),
    ),
    ("NCCL WARN Error while creating shared memory segment nccl-shm-recv-77 (size 9637888)", Some((Setup, false))),
    ("Map (num_proc=8):  11%|", Some((DataLoading, false))),
];

#[test]
fn lines_tell_their_phase() -> Result<(), KnowledgeError> {
    let phases = Knowledge::shipped()?.phases;
    for (line, expected) in LINES {
        assert_eq!(phases.line(line).map(|mark| (mark.phase, mark.ends)), *expected, "{line}");
    }
    Ok(())
}

#[test]
fn a_heading_is_all_of_its_line() -> Result<(), KnowledgeError> {
    let phases = Knowledge::shipped()?.phases;
    for (line, expected) in [("Training", Some(true)), ("==== Training ====", Some(true)), ("Training set: 5 GB", None)]
    {
        assert_eq!(phases.line(line).map(|mark| mark.ends), expected, "{line}");
    }
    Ok(())
}

#[test]
fn chatter_tells_no_phase() -> Result<(), KnowledgeError> {
    let phases = Knowledge::shipped()?.phases;
    for line in [
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default",
        "wandb: Waiting for W&B process to finish... (failed 1).",
        "Some weights of the model were not used; you should probably TRAIN this model on a down-stream task",
        "checkpoints are kept in /ckpt, the last 3; resume with --load",
        "Token indices sequence length is longer than the specified maximum sequence length",
        "huggingface/tokenizers: The current process just got forked, after parallelism has already been used.",
        "If you see CUDA out of memory, try to save memory with gradient checkpointing",
        "Using /root/.cache/torch_extensions/py310_cu121 as PyTorch extensions root...",
        "epoch 3 step 120 loss 2.31 lr 1.0e-05",
        "NCCL version 2.21.5+cuda12.4",
        "Processing 12 files with 4 workers",
        "save_steps=500, eval_steps=500, load_best_model_at_end=False",
        "Evaluation results will be written to out/eval.json at the end",
        "Special tokens have been added in the vocabulary, make sure the associated word embeddings are trained",
    ] {
        assert_eq!(phases.line(line), None, "{line}");
    }
    Ok(())
}

#[test]
fn bars_tell_their_phase() -> Result<(), KnowledgeError> {
    let phases = Knowledge::shipped()?.phases;
    for (label, expected) in [
        ("Loading checkpoint shards", Some(ModelLoad)),
        ("Loading weights", Some(ModelLoad)),
        ("Loading safetensors checkpoint shards", Some(EngineInit)),
        ("Capturing CUDA graph shapes", Some(EngineInit)),
        ("Capturing batches (bs=8 avail_mem=9.21 GB)", Some(EngineInit)),
        ("Processed prompts", Some(Inference)),
        ("make_experience", Some(Experience)),
        ("Compute log probs 3", Some(Experience)),
        ("Episode [2/10]", Some(Rollout)),
        ("Generate samples", Some(Rollout)),
        ("Train epoch [1/1]", Some(Backward)),
        ("Update policy", Some(Backward)),
        ("Eval stage of steps 500", Some(Evaluation)),
        ("Valid (loss 5.34) epoch 1", Some(Evaluation)),
        ("Validation DataLoader 0", Some(Evaluation)),
        ("Map (num_proc=8)", Some(DataLoading)),
        ("Generating train split", Some(DataLoading)),
        ("Tokenizing train dataset", Some(DataLoading)),
        ("Converting format of dataset (num_proc=16)", Some(DataLoading)),
        ("Saving checkpoint shards", Some(CheckpointSave)),
        ("Computing reference log probs for train dataset", Some(Experience)),
        ("Epoch 1", None),
        ("", None),
    ] {
        assert_eq!(phases.bar(label, false).map(|mark| mark.phase), expected, "{label}");
    }
    Ok(())
}

#[test]
fn remote_methods_tell_their_phase() -> Result<(), KnowledgeError> {
    let phases = Knowledge::shipped()?.phases;
    for (name, expected) in [
        ("WorkerDict.actor_rollout_ref_update_actor", Some(Backward)),
        ("WorkerDict.actor_rollout_compute_log_prob", Some(Experience)),
        ("WorkerDict.ref_compute_ref_log_probs", Some(Experience)),
        ("WorkerDict.actor_rollout_generate_sequences", Some(Rollout)),
        ("WorkerDict.actor_rollout_ref_init_model", Some(ModelLoad)),
        ("WorkerDict.critic_save_checkpoint", Some(CheckpointSave)),
        ("WorkerDict.actor_rollout_ref_prepare_rollout_engine", Some(WeightSync)),
        ("CriticModelRayActor.init_model_from_pretrained", Some(ModelLoad)),
        ("ReferenceModelActor.forward", Some(Experience)),
        ("PolicyModelActor.fit", Some(Backward)),
        ("ActorModelRayActor.fit", None),
        ("PolicyModelActor.broadcast_to_vllm", Some(WeightSync)),
        ("PolicyModelActor.make_experience", Some(Experience)),
        ("PolicyModelActor.__init__", None),
        ("LLMRayActor.generate", Some(Rollout)),
        ("RolloutGroup:0.sync_model_from_actor", Some(WeightSync)),
        ("RolloutWorker.sample", Some(Rollout)),
        ("ServeReplica:app:Model.handle_request_streaming", Some(Inference)),
        ("tokenize_shard", Some(DataLoading)),
        ("MapBatches(tokenize)", Some(DataLoading)),
        ("IDLE", None),
        ("main_task", None),
        ("Scheduler.regenerate", None),
    ] {
        assert_eq!(phases.method(name).map(|mark| mark.phase), expected, "{name}");
    }
    Ok(())
}
