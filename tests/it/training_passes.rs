//! Advice for jobs whose stack or whose sums say which of several models, passes or terms took the memory.

use std::error::Error;

use oomdoc::model::{Bytes, Patch};

use crate::support::analyzed::{cause, patches, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const ACTOR: &str = "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu";
const REFERENCE: &str = "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu";
const CRITIC: &str = "critic.forward_micro_batch_size_per_gpu";

/// A step of reinforcement learning with a batch for each model's passes.
const EACH_ITS_OWN: &str = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae data.max_prompt_length=1024 data.max_response_length=3072 \\
    actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.actor.use_kl_loss=True \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 critic.ppo_micro_batch_size_per_gpu=2 \\
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=48 actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=40 \\
    critic.forward_micro_batch_size_per_gpu=44 trainer.n_gpus_per_node=8 trainer.nnodes=1
";

/// A pass of `worker` that ends in the function `called` of the model's own file.
fn pass(worker: (&str, &str), called: (&str, &str)) -> String {
    stack(&[
        ("/w/verl/verl/trainer/ppo/ray_trainer.py", "fit", "output = self.worker_group.run(batch)"),
        (&format!("/w/verl/verl/workers/{}", worker.0), worker.1, "output = self.model.run(data=data)"),
        (&format!("/w/verl/verl/workers/{}", called.0), called.1, "output = self._forward_micro_batch(micro_batch)"),
        ("/w/verl/verl/utils/torch_functional.py", "logprobs_from_logits", "logprobs = F.log_softmax(logits, dim=-1)"),
    ]) + &refused("22.30 GiB", 79.1)
}

#[test]
fn the_method_in_the_stack_chooses_whose_batch_is_made_smaller() -> Outcome {
    let cases = [
        (pass(("fsdp_workers.py", "compute_ref_log_prob"), ("actor/dp_actor.py", "compute_log_prob")), REFERENCE),
        (pass(("fsdp_workers.py", "compute_log_prob"), ("actor/dp_actor.py", "compute_log_prob")), ACTOR),
        (pass(("fsdp_workers.py", "compute_values"), ("critic/dp_critic.py", "compute_values")), CRITIC),
    ];
    for (log, own) in &cases {
        let end = report(&[("job.log", log), ("run.sh", EACH_ITS_OWN)])?;
        assert_eq!(turned(&end)?[0], *own, "{:?}", turned(&end)?);
        let others = [ACTOR, REFERENCE, CRITIC].into_iter().filter(|other| other != own);
        assert!(others.into_iter().all(|other| !turned(&end).is_ok_and(|turned| turned.contains(&other))), "{own}");
        // Samples of the greatest length would take more than there is.
        let is_there = |patch: &Patch| patch.effect.gpu_bytes.is_none_or(|moved| -moved.0 <= 80 << 30);
        assert!(patches(&end)?.iter().all(is_there), "{own}");
    }
    Ok(())
}

#[test]
fn an_update_is_of_the_actor_or_of_the_critic() -> Outcome {
    let update = |worker: &str, file: &str, function: &str| {
        stack(&[
            ("/w/verl/verl/workers/fsdp_workers.py", worker, "metrics = self.model.update(data=data)"),
            (file, function, "loss.backward()"),
            ("torch/_tensor.py", "backward", "torch.autograd.backward("),
        ]) + &refused("4.30 GiB", 79.1)
    };
    let critic = update("update_critic", "/w/verl/verl/workers/critic/dp_critic.py", "update_critic");
    let actor = update("update_actor", "/w/verl/verl/workers/actor/dp_actor.py", "update_policy");
    let (of_critic, of_actor) =
        ("critic.ppo_micro_batch_size_per_gpu", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu");
    for (log, own, other) in [(critic, of_critic, of_actor), (actor, of_actor, of_critic)] {
        let end = report(&[("job.log", &log), ("run.sh", EACH_ITS_OWN)])?;
        let turned = turned(&end)?;
        assert!(turned.contains(&own) && !turned.contains(&other), "{turned:?}");
    }
    Ok(())
}

#[test]
fn entropy_is_only_spared_where_it_is_computed() -> Outcome {
    let is_of_entropy = |knob: &&str| knob.contains("entropy");
    let reference = pass(("fsdp_workers.py", "compute_ref_log_prob"), ("actor/dp_actor.py", "compute_log_prob"));
    let end = report(&[("job.log", &reference), ("run.sh", EACH_ITS_OWN)])?;
    assert!(!turned(&end)?.iter().any(is_of_entropy), "{:?}", turned(&end)?);
    let actor = pass(("fsdp_workers.py", "compute_log_prob"), ("actor/dp_actor.py", "compute_log_prob"));
    let end = report(&[("job.log", &actor), ("run.sh", EACH_ITS_OWN)])?;
    assert!(turned(&end)?.iter().any(is_of_entropy), "{:?}", turned(&end)?);
    Ok(())
}

/// A full finetuning on one small GPU.
fn full(optimizer: &str) -> String {
    format!(
        "# tune run full_finetune_single_device --config full.yaml
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  max_seq_len: 1024
model:
  _component_: torchtune.models.llama3_1.llama3_1_8b
batch_size: 1
optimizer:
  _component_: {optimizer}
  lr: 1e-5
gradient_accumulation_steps: 4
optimizer_in_bwd: False
device: cuda
enable_activation_checkpointing: True
dtype: bf16
"
    )
}

#[test]
fn paged_states_take_no_room_of_the_gpu() -> Outcome {
    let log = "INFO:torchtune.utils._logging:Model is initialized with precision torch.bfloat16.\n".to_owned()
        + &stack(&[
            ("recipes/full_finetune_single_device.py", "train", "current_loss.backward()"),
            ("torch/autograd/graph.py", "_engine_run_backward", "return Variable._execution_engine.run_backward("),
        ])
        + &refused("112.00 MiB", 23.65);
    let end = report(&[("job.log", &log), ("full.yaml", &full("bitsandbytes.optim.PagedAdamW8bit"))])?;
    let first = &patches(&end)?[0];
    assert_eq!((&*first.knob, first.suffices), ("optimizer_in_bwd", Some(true)), "{first:?}");
    // States that stay on the GPU do not fit beside the weights.
    let end = report(&[("job.log", &log), ("full.yaml", &full("bitsandbytes.optim.AdamW8bit"))])?;
    let gradients = patches(&end)?.iter().find(|patch| *patch.knob == *"optimizer_in_bwd").ok_or("no change")?;
    assert_ne!(gradients.suffices, Some(true), "{gradients:?}");
    Ok(())
}

#[test]
fn the_cause_is_the_largest_term_of_what_was_held() -> Outcome {
    let config = |strategy: &str| {
        format!(
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_activation_checkpointing: true\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_offload_params: false\n  fsdp_sharding_strategy: {strategy}\n  fsdp_use_orig_params: true\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"
        )
    };
    let launch = "accelerate launch --config_file fsdp.yaml sft.py --model_name_or_path meta-llama/Llama-2-13b-hf --max_seq_length 1024 --per_device_train_batch_size 1 --gradient_accumulation_steps 4 --bf16\n";
    let log = stack(&[
        ("/w/sft.py", "<module>", "trainer.train()"),
        ("transformers/trainer.py", "training_step", "self.accelerator.backward(loss, **kwargs)"),
        ("torch/distributed/fsdp/_runtime_utils.py", "_post_backward_hook", "_reduce_grad(state, handle)"),
    ]) + &refused("606.00 MiB", 37.6);
    let end = report(&[("job.log", &log), ("fsdp.yaml", &config("SHARD_GRAD_OP")), ("run.sh", launch)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("weight_gather_spike", "fsdp_config.fsdp_sharding_strategy"));
    // The trainer wraps the model, no code of one's own.
    assert!(turned(&end)?.iter().all(|knob| !knob.starts_with("FSDP.")), "{:?}", turned(&end)?);
    let end = report(&[("job.log", &log), ("fsdp.yaml", &config("FULL_SHARD")), ("run.sh", launch)])?;
    assert_ne!(cause(&end)?, "weight_gather_spike");
    Ok(())
}

#[test]
fn shards_take_the_place_of_a_stage_that_leaves_each_rank_all_weights() -> Outcome {
    let log = stack(&[
        ("/w/axolotl/src/axolotl/utils/models.py", "load_model", "self.model = AutoModelForCausalLM.from_pretrained("),
        ("transformers/modeling_utils.py", "_load_state_dict_into_meta_model", "hf_quantizer.create_quantized_param("),
        ("bitsandbytes/functional.py", "quantize_4bit", "out = torch.zeros(((n + 1) // mod, 1))"),
    ]) + &refused("112.00 MiB", 23.64);
    let config = "base_model: meta-llama/Llama-3.1-70B\nload_in_4bit: true\nadapter: qlora\nlora_r: 16\nsequence_len: 1024\nmicro_batch_size: 1\nbf16: true\ngradient_checkpointing: true\ndeepspeed: deepspeed_configs/zero1.json\n";
    let launch = ("run.sh", "accelerate launch --num_processes 2 -m axolotl.cli.train q.yml\n");
    let end = report(&[("job.log", &log), ("q.yml", config), launch])?;
    let diff = patches(&end)?[0].diff.as_deref().unwrap_or_default();
    assert!(diff.contains("-deepspeed:") && diff.contains("+  - full_shard"), "{diff}");
    // A file is read by from_pretrained, and what the optimizer holds of an adapter is a drop.
    let is_idle = |knob: &&str| knob.contains("map_location") || knob.contains("offload_optimizer");
    assert!(!turned(&end)?.iter().any(is_idle), "{:?}", turned(&end)?);
    // The host has room; that it needs less says nothing.
    assert!(patches(&end)?.iter().all(|patch| patch.effect.host_bytes.is_none_or(|moved| moved > Bytes(0))));
    Ok(())
}

#[test]
fn what_was_printed_before_training_is_no_sum_of_training() -> Outcome {
    let log = "[2026-03-02 08:03:20,411] [INFO] [utils.py:803:see_memory_usage] After initializing optimizer states
[2026-03-02 08:03:20,412] [INFO] [utils.py:804:see_memory_usage] MA 42.19 GB         Max_MA 45.18 GB         CA 45.21 GB         Max_CA 45 GB
*********************[start] Initializing Ref Model [start] **********************
"
    .to_owned()
        + &stack(&[
            ("/w/DeepSpeed-Chat/training/step3_rlhf_finetuning/main.py", "main", "rlhf_engine = DeepSpeedRLHFEngine("),
            ("/w/DeepSpeed-Chat/dschat/rlhf/rlhf_engine.py", "_init_ref", "ref_engine, *_ = deepspeed.initialize(model=ref_model,"),
            ("deepspeed/runtime/engine.py", "_configure_distributed_model", "self.module.to(self.device)"),
        ])
        + &refused("200.00 MiB", 47.54);
    let launch = "deepspeed --num_gpus 8 main.py --actor_model_name_or_path facebook/opt-13b --critic_model_name_or_path facebook/opt-350m --per_device_training_batch_size 8 --actor_gradient_checkpointing --actor_zero_stage 2 --critic_zero_stage 2 --enable_hybrid_engine\n";
    let end = report(&[("job.log", &log), ("run.sh", launch)])?;
    assert_eq!(turned(&end)?[0], "--actor_zero_stage");
    let memory = format!("{:?}", root(&end)?.memory);
    assert!(!memory.contains("logits") && !memory.contains("reward"), "{memory}");
    assert!(!turned(&end)?.contains(&"torch.device.meta"), "{:?}", turned(&end)?);
    // Weights that are not sharded are not offloaded.
    assert!(!turned(&end)?.contains(&"--offload_reference_model"), "{:?}", turned(&end)?);
    let sharded = launch.replace("--actor_zero_stage 2", "--actor_zero_stage 3");
    let end = report(&[("job.log", &log), ("run.sh", &sharded)])?;
    assert!(turned(&end)?.contains(&"--offload_reference_model"), "{:?}", turned(&end)?);
    Ok(())
}
