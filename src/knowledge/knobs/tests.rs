use super::*;
use crate::knowledge::{Knowledge, KnowledgeError};

type Outcome = Result<(), KnowledgeError>;

fn knob<'k>(knowledge: &'k Knowledge, framework: &str, id: &str) -> Option<&'k Knob> {
    knowledge.knobs.iter().find(|knob| &*knob.framework == framework && &*knob.id == id)
}

/// Framework, version (empty: unknown), knob, how that version spells it (empty: it does not have it).
const SPELLINGS: &[(&str, &str, &str, &str)] = &[
    ("openrlhf", "0.8.5", "zero_stage", "--zero_stage"),
    ("openrlhf", "0.10.1.post2", "zero_stage", "--zero_stage"),
    ("openrlhf", "0.10.2", "zero_stage", "--ds.zero_stage"),
    ("openrlhf", "", "zero_stage", "--ds.zero_stage"),
    ("openrlhf", "0.9.7", "max_new_tokens", "--generate_max_len"),
    ("openrlhf", "0.9.8", "max_new_tokens", "--max_new_tokens"),
    ("openrlhf", "0.11.0", "max_new_tokens", "--rollout.max_new_tokens"),
    ("openrlhf", "0.11.0", "actor_gradient_checkpointing", "--actor.gradient_checkpointing_enable"),
    ("openrlhf", "0.11.0", "ref_offload", "--ref.offload"),
    ("openrlhf", "0.2.5", "ref_offload", ""),
    ("openrlhf", "0.5.7", "vllm_enable_sleep", ""),
    ("openrlhf", "0.6.4", "use_dynamic_batch", ""),
    ("openrlhf", "0.11.0", "actor_init_on_gpu", ""),
    ("openrlhf", "", "actor_init_on_gpu", ""),
    ("verl", "0.1", "ppo_micro_batch_size_per_gpu", "actor_rollout_ref.actor.ppo_micro_batch_size"),
    ("verl", "0.2.0.post2", "ppo_micro_batch_size_per_gpu", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"),
    ("verl", "0.7.1", "critic_param_offload", "critic.model.fsdp_config.param_offload"),
    ("verl", "0.8.0", "critic_param_offload", "critic.fsdp.param_offload"),
    ("verl", "0.6.0", "update_weights_bucket_megabytes", "actor_rollout_ref.rollout.update_weights_bucket_megabytes"),
    (
        "verl",
        "0.7.1",
        "update_weights_bucket_megabytes",
        "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes",
    ),
    ("deepspeed", "0.12.2", "offload_optimizer_ratio", ""),
    ("deepspeed", "0.12.3", "offload_optimizer_ratio", "zero_optimization.offload_optimizer.ratio"),
    (
        "deepspeed",
        "0.5.8",
        "gather_16bit_weights_on_model_save",
        "zero_optimization.stage3_gather_fp16_weights_on_model_save",
    ),
    ("deepspeed", "0.10.0", "pipeline_loading_checkpoint", ""),
    ("torch", "2.0.1+cu118", "expandable_segments", ""),
    ("torch", "2.6.0+cu124", "expandable_segments", "PYTORCH_CUDA_ALLOC_CONF.expandable_segments"),
    ("torch", "2.9.1", "expandable_segments", "PYTORCH_ALLOC_CONF.expandable_segments"),
    ("torch", "2.9.1", "pinned_max_round_threshold_mb", ""),
    ("torch", "2.15.0", "pinned_max_round_threshold_mb", "PYTORCH_ALLOC_CONF.pinned_max_round_threshold_mb"),
    ("torch", "2.4.1", "roundup_bypass_threshold_mb", ""),
    ("vllm", "0.10.1.1", "kv_cache_memory_bytes", ""),
    ("vllm", "0.33.0", "swap_space", ""),
    ("sglang", "0.5.13.post1", "cuda_graph_max_bs", "--cuda-graph-max-bs"),
    ("sglang", "0.5.23", "cuda_graph_max_bs", "--cuda-graph-max-bs-decode"),
    ("ray", "2.1.0", "memory_usage_threshold", "RAY_memory_usage_threshold_fraction"),
    ("ray", "2.53.0", "worker_killing_policy", ""),
    ("trl", "0.15.2", "max_length", "--max_seq_length"),
    ("trl", "0.24.0", "use_liger_loss", "--use_liger_loss"),
    ("trl", "1.9.0", "use_liger_loss", "--use_liger_kernel"),
    ("megatron", "0.11.0", "optimizer_cpu_offload", ""),
    ("megatron", "0.13.0", "use_megatron_fsdp", "--use-custom-fsdp"),
    ("llamafactory", "0.9.1", "image_max_pixels", "image_resolution"),
    ("transformers", "5.23.0", "torch_dtype", "from_pretrained.dtype"),
    ("swift", "3.12.0", "tuner_type", "--train_type"),
];

#[test]
fn spells_each_knob_as_the_version_does() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    for (framework, version, id, expected) in SPELLINGS {
        let version = Some(*version).filter(|version| !version.is_empty());
        let found = knob(&knowledge, framework, id).map(|knob| knob.spelling_at(version).map_or("", |s| &s.name));
        assert_eq!(found, Some(*expected), "{framework} {version:?} {id}");
    }
    Ok(())
}

#[test]
fn knows_the_default_of_each_version() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    for (framework, version, id, expected) in [
        ("openrlhf", Some("0.6.3"), "vllm_gpu_memory_utilization", Some("0.9")),
        ("openrlhf", Some("0.6.4"), "vllm_gpu_memory_utilization", Some("0.95")),
        ("openrlhf", Some("0.9.10"), "micro_train_batch_size", Some("4")),
        ("openrlhf", None, "micro_train_batch_size", Some("1")),
        ("deepspeed", Some("0.19.4"), "offload_optimizer_pin_memory", Some("false")),
        ("deepspeed", Some("0.19.5"), "offload_optimizer_pin_memory", Some("true")),
        ("verl", Some("0.5.0"), "enforce_eager", Some("true")),
        ("verl", Some("0.6.0"), "enforce_eager", Some("false")),
        ("verl", Some("0.6.0"), "ppo_micro_batch_size_per_gpu", None),
    ] {
        let found = knob(&knowledge, framework, id).map(|knob| knob.default_at(version));
        assert_eq!(found, Some(expected), "{framework} {version:?} {id}");
    }
    Ok(())
}

#[test]
fn finds_a_knob_by_the_key_of_any_version() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    let known = |framework: &str, id: &str, key: &str| knob(&knowledge, framework, id).is_some_and(|k| k.knows(key));
    assert!(known("openrlhf", "zero_stage", "zero_stage"));
    assert!(known("openrlhf", "zero_stage", "--ds.zero_stage"));
    assert!(known("vllm", "gpu_memory_utilization", "gpu_memory_utilization"));
    assert!(known("system", "kubernetes_memory_limit", "spec.containers[0].resources.limits.memory"));
    assert!(known("deepspeed", "prefetch_bucket_size", "zero_optimization.prefetch_bucket_size"));
    assert!(known("deepspeed", "stage", "deepspeed.zero_optimization.stage"));
    assert!(known("system", "compose_shm_size", "services.trainer.shm_size"));
    assert!(known("system", "compose_shm_size", "trainer.shm_size"));
    assert!(!known("system", "compose_shm_size", "services.trainer.build.shm_size"));
    // A name without a dot is not found below other keys, and a dotted one not after a part of a word.
    assert!(!known("deepspeed", "train_micro_batch_size_per_gpu", "model.train_micro_batch_size_per_gpu"));
    assert!(!known("deepspeed", "stage", "not_zero_optimization.stage"));
    Ok(())
}

#[test]
fn says_what_a_value_means_as_a_fact() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    for (framework, id, value, expected) in [
        ("openrlhf", "adam_offload", "true", "cpu"),
        ("openrlhf", "zero_stage", "3", "3"),
        ("accelerate", "fsdp_sharding_strategy", "SHARD_GRAD_OP", "2"),
        ("llamafactory", "disable_gradient_checkpointing", "True", "false"),
        ("megatron", "recompute_granularity", "selective", "selective"),
        ("transformers", "torch_dtype", "torch.bfloat16", "bf16"),
    ] {
        assert_eq!(knob(&knowledge, framework, id).map(|knob| knob.meaning(value)), Some(expected), "{id} {value}");
    }
    Ok(())
}

#[test]
fn tells_the_version_from_the_spellings_in_use() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    let openrlhf = || knowledge.knobs.iter().filter(|knob| &*knob.framework == "openrlhf");
    let newest = |keys: &[&str]| newest_version_with(openrlhf(), keys.iter().copied());
    assert_eq!(newest(&["zero_stage", "adam_offload"]).as_deref(), Some("0.10.1.post2"));
    assert_eq!(newest(&["zero_stage", "flash_attn", "prompt_max_len"]).as_deref(), Some("0.8.9"));
    assert_eq!(newest(&["ds.zero_stage", "vllm.enable_sleep"]), None);
    assert_eq!(newest(&["input_key"]), None);
    Ok(())
}

#[test]
fn offers_a_frameworks_own_knob_before_what_it_stands_on() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    let first = |framework, lever, direction| {
        let found = knowledge.knobs_for(framework, lever, direction).next();
        found.map(|(knob, turn)| (format!("{}.{}", knob.framework, knob.id), turn.to.clone()))
    };
    let expected = |name: &str, to| Some((name.to_owned(), to));
    assert_eq!(first(Some("openrlhf"), "sharding", None), expected("openrlhf.zero_stage", To::Value("3".into())));
    assert_eq!(
        first(Some("openrlhf"), "kv_cache_share", Some(Direction::Lower)),
        expected("openrlhf.vllm_gpu_memory_utilization", To::Add(-0.1))
    );
    assert_eq!(
        first(Some("vllm"), "kv_cache_share", Some(Direction::Raise)),
        expected("vllm.gpu_memory_utilization", To::Add(0.05))
    );
    assert_eq!(first(Some("easyr1"), "input_size", None), expected("easyr1.max_pixels", To::Scale(0.5)));
    assert_eq!(first(Some("verl"), "shm_size", None), expected("verl.use_shm", To::Off));
    assert_eq!(first(None, "rollout_size", None), expected("torch.sb3_optimize_memory_usage", To::On));
    Ok(())
}

#[test]
fn refuses_what_does_not_hold_together() {
    let levers = "[[lever]]\nname = 'kv_cache_share'\nboth_ways = true\nmeaning = { en = 'a', zh = 'b' }\n\
                  [[lever]]\nname = 'sharding'\nmeaning = { en = 'a', zh = 'b' }\n";
    let facts = "[[fact]]\nname = 'config.zero_stage'\ntype = 'number'\nmeaning = { en = 'a', zh = 'b' }\n";
    let words = "moves = { en = 'a', zh = 'b' }\ncost = { en = 'a', zh = 'b' }";
    for (rows, expected) in [
        ("type = 'integer'\nspelling = []", "no name"),
        ("type = 'integer'\nspelling = [{ name = 'x', since = 'soon' }]", "`soon` is no version"),
        ("type = 'integer'\nspelling = [{ name = 'x', since = '2', until = '1' }]", "ends before it begins"),
        ("type = 'integer'\nspelling = [{ name = 'x' }, { name = 'y', since = '2' }]", "give `until` and `since`"),
        ("type = 'integer'\nspelling = [{ name = 'x' }]\ndefault = [{ value = '0.5' }]", "`0.5` is no integer"),
        (
            "type = 'integer'\nspelling = [{ name = 'x' }]\ndefault = [{ value = '1' }, { value = '2' }]",
            "needs a `since`",
        ),
        ("type = 'bool'\nspelling = [{ name = 'x' }]\nlever = [{ name = 'no', to = 'on' }]", "no lever `no`"),
        ("type = 'bool'\nspelling = [{ name = 'x' }]\nlever = [{ name = 'kv_cache_share', to = 'on' }]", "`direction`"),
        (
            "type = 'bool'\nspelling = [{ name = 'x' }]\nlever = [{ name = 'sharding', to = { scale = 2.0 } }]",
            "does not fit a bool",
        ),
        (
            "type = 'number'\nspelling = [{ name = 'x' }]\n\
             lever = [{ name = 'kv_cache_share', direction = 'raise', to = { add = -0.1 } }]",
            "goes the other way",
        ),
        (
            "type = 'integer'\nspelling = [{ name = 'x' }]\n\
             lever = [{ name = 'sharding', to = { value = '3' }, limit = 3 }]",
            "a limit needs a step",
        ),
        ("type = 'integer'\nspelling = [{ name = 'x' }]\nfact = 'config.stage'", "no fact `config.stage`"),
        ("type = 'flag'\nspelling = [{ name = 'x' }]\nfact = 'config.zero_stage'", "say what it `means`"),
        ("type = 'flag'\nspelling = [{ name = 'x' }]\nmeans = { true = '1' }", "`means` without a `fact`"),
    ] {
        let knobs = format!(
            "framework = 'x'\nsource = 'y'\n[[knob]]\nid = 'x'\ntarget = 'cli'\n{rows}\n{words}\n\
             [[knob]]\nid = 'y'\ntarget = 'cli'\ntype = 'flag'\nspelling = [{{ name = 'z' }}]\n{words}\n"
        );
        let files = [("levers.toml", levers), ("facts/configuration.toml", facts), ("knobs/x.toml", knobs.as_str())];
        let error = Knowledge::load(files.into_iter()).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with("rules/knobs/x.toml: x: ") && error.contains(expected), "{rows}\n{error}");
    }
}
