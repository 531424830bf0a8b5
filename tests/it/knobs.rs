//! The shipped knobs keep what the rules that name them rely on.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use oomdoc::internal::facts::{Answer, Evaluator, Facts, Value, names};
use oomdoc::internal::knowledge::{Direction, FactType, Knob, Knowledge};

use crate::support::named;

#[allow(dead_code)]
#[path = "../../examples/knobs_doc.rs"]
mod knobs_doc;

type Outcome = Result<(), Box<dyn Error>>;

/// Keywords of CEL, which are no facts.
const CEL: &[&str] = &["true", "false", "null", "in"];

/// The facts that `condition` uses.
fn asked(condition: &str) -> impl Iterator<Item = &str> {
    names(condition).into_iter().filter(|name| !CEL.contains(name))
}

/// A value for every fact in `knowledge`, of the fact's type.
fn all_facts(knowledge: &Knowledge, number: f64, flag: bool) -> Facts {
    let mut facts = Facts::default();
    for fact in &knowledge.facts {
        let value = match fact.r#type {
            FactType::Number => Value::Number(number),
            FactType::Flag => Value::Flag(flag),
            FactType::Text => Value::Text(fact.values.first().map_or("x", |value| value).to_owned()),
            FactType::List => Value::List(Vec::new()),
        };
        facts.say(&fact.name, value);
    }
    facts
}

#[test]
fn conditions_are_understood_and_name_known_facts() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    let (some, others) = (all_facts(&knowledge, 1.0, true), all_facts(&knowledge, 64.0, false));
    let evaluators = [Evaluator::new(&some), Evaluator::new(&others)];
    let nothing = Facts::default();
    let ignorant = Evaluator::new(&nothing);
    for knob in &knowledge.knobs {
        for row in &knob.constraint {
            let Some(condition) = row.unless.as_deref().or(row.only.as_deref()) else { continue };
            let of = format!("{}.{}: {condition}", knob.framework, knob.id);
            // Facts that only logs state are checked by `rules check`.
            let is_of_launch = |name: &str| knowledge.facts.iter().any(|fact| &*fact.name == name);
            if !asked(condition).into_iter().all(is_of_launch) {
                continue;
            }
            for evaluator in &evaluators {
                assert!(
                    matches!(evaluator.ask(condition), Answer::Yes | Answer::No),
                    "{of}: {:?}",
                    evaluator.ask(condition)
                );
            }
            let answer = ignorant.ask(condition);
            assert!(matches!(answer, Answer::Missing(_) | Answer::Yes), "{of}: {answer:?}");
        }
    }
    Ok(())
}

#[test]
fn conditions_say_what_the_frameworks_do() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    let refused = |framework: &str, id: &str, facts: &[(&str, Value)]| {
        let mut known = Facts::default();
        facts.iter().for_each(|(name, value)| known.say(name, value.clone()));
        let evaluator = Evaluator::new(&known);
        let knob = knowledge.knobs.iter().find(|knob| &*knob.framework == framework && &*knob.id == id);
        let mut rows = knob.into_iter().flat_map(|knob| &knob.constraint);
        rows.any(|row| {
            let holds = |condition: &Arc<str>| evaluator.ask(condition) == Answer::Yes;
            row.unless.as_ref().is_some_and(holds) || row.only.as_ref().is_some_and(|only| !holds(only))
        })
    };
    let number = |name, value| (name, Value::Number(value));
    let text = |name, value: &str| (name, Value::Text(value.to_owned()));
    let flag = |name, value| (name, Value::Flag(value));
    // DeepSpeed offloads whole sub-groups: 10 of them at a ratio of 0.9 give `int(0.9999…)` = 0, 11 give 1.
    let ratio = |stage, parameters| {
        vec![
            number("config.zero_stage", stage),
            number("config.offload_ratio", 0.9),
            number("job.parameters", parameters),
            number("job.world_size", 8.0),
            number("config.sub_group_size", 1e9),
            text("config.offload_optimizer", "cpu"),
        ]
    };
    assert!(refused("deepspeed", "offload_optimizer_ratio", &ratio(3.0, 80e9)));
    assert!(!refused("deepspeed", "offload_optimizer_ratio", &ratio(3.0, 88e9)));
    assert!(refused("deepspeed", "offload_optimizer_ratio", &ratio(2.0, 88e9)));
    assert!(refused("deepspeed", "offload_param_device", &[number("config.zero_stage", 2.0)]));
    assert!(refused("deepspeed", "pipeline_loading_checkpoint", &[number("config.zero_stage", 1.0)]));
    assert!(refused("deepspeed", "elastic_checkpoint", &[number("config.zero_stage", 3.0)]));
    assert!(refused("deepspeed", "stage", &[number("job.world_size", 1.0)]));
    assert!(!refused("deepspeed", "stage", &[]));
    assert!(refused("openrlhf", "vllm_enable_sleep", &[flag("config.colocate", false)]));
    assert!(!refused("openrlhf", "vllm_enable_sleep", &[flag("config.colocate", true)]));
    assert!(refused("openrlhf", "ref_offload", &[number("config.zero_stage", 2.0)]));
    assert!(refused("openrlhf", "deepspeed_enable_sleep", &[text("config.offload_optimizer", "cpu")]));
    assert!(refused("openrlhf", "micro_train_batch_size", &[flag("config.dynamic_batch", true)]));
    // Idle offload brings the states back to the GPU for the optimizer's step; switching it off helps the host in any
    // phase.
    let idle = |offload, phase| [flag("config.offload_idle_param", offload), text("phase", phase)];
    assert!(refused("verl", "param_offload", &idle(true, "optimizer_step")));
    assert!(!refused("verl", "param_offload", &idle(true, "rollout")));
    assert!(!refused("verl", "param_offload", &idle(false, "optimizer_step")));
    assert!(refused("verl", "ref_param_offload", &[]));
    assert!(refused("system", "docker_memory", &[text("kind", "host_oom_kernel")]));
    let of_docker = [text("kind", "host_oom_cgroup"), flag("job.docker", true), flag("job.compose", false)];
    let of_compose = [text("kind", "host_oom_cgroup"), flag("job.docker", true), flag("job.compose", true)];
    assert!(!refused("system", "docker_memory", &of_docker));
    assert!(refused("system", "docker_memory", &of_compose), "Compose's file says it");
    assert!(!refused("system", "compose_memory", &of_compose));
    assert!(refused("system", "compose_memory", &of_docker));
    assert!(refused("system", "docker_memory", &of_docker[..1]), "nothing shows that docker runs the job");
    let critic = |estimator| refused("verl", "critic_param_offload", &[text("config.advantage_estimator", estimator)]);
    assert!(critic("grpo") && !critic("gae"));
    Ok(())
}

#[test]
fn every_lever_is_within_reach_of_every_framework() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    // Frameworks without PyTorch lack many of these levers.
    let on_pytorch =
        knowledge.frameworks.iter().filter(|framework| framework.uses.iter().any(|name| &**name == "torch"));
    let frameworks = on_pytorch.map(|framework| Some(&*framework.name)).chain([None, Some("unheard-of")]);
    for framework in frameworks {
        for lever in knowledge.levers.iter().filter(|lever| &*lever.name != "other") {
            let ways = match lever.both_ways {
                true => vec![Some(Direction::Raise), Some(Direction::Lower)],
                false => vec![None],
            };
            for way in ways {
                let turned = knowledge.knobs_for(framework, &lever.name, way).next();
                assert!(turned.is_some(), "{framework:?} has no knob for {} {way:?}", lever.name);
            }
        }
    }
    Ok(())
}

/// Levers for which a framework has options of its own, which its knobs must therefore turn.
const OWN: &[(&str, &str)] = &[
    ("jax", "micro_batch allocator cache_release recomputation optimizer_precision load_placement device_choice"),
    ("tensorflow", "micro_batch allocator cache_release recomputation device_choice"),
    (
        "openrlhf",
        "micro_batch sequence_length input_size kv_cache_share rollout_size sharding more_host_offload \
         less_host_offload optimizer_precision gradient_precision recomputation attention_implementation \
         logits_memory bucket_size cuda_graphs cache_release weight_gather load_placement \
         checkpoint_save_placement worker_count",
    ),
    (
        "easyr1",
        "micro_batch sequence_length input_size concurrent_requests kv_cache_share rollout_size sharding \
         more_host_offload less_host_offload pinned_memory optimizer_precision gradient_precision \
         recomputation logits_memory cuda_graphs cache_release weight_gather load_placement \
         checkpoint_save_placement worker_count",
    ),
    (
        "verl",
        "micro_batch sequence_length input_size concurrent_requests kv_cache_share rollout_size sharding \
         more_host_offload less_host_offload pinned_memory optimizer_precision gradient_precision \
         recomputation logits_memory bucket_size cuda_graphs cache_release weight_gather load_placement \
         checkpoint_save_placement shm_size worker_count",
    ),
    (
        "deepspeed",
        "micro_batch sharding more_host_offload less_host_offload pinned_memory optimizer_precision \
         gradient_precision recomputation bucket_size cache_release weight_gather load_placement \
         load_concurrency checkpoint_save_placement",
    ),
    (
        "transformers",
        "micro_batch sequence_length input_size sharding more_host_offload pinned_memory optimizer_precision \
         gradient_precision recomputation attention_implementation logits_memory cache_release \
         load_placement checkpoint_save_placement worker_count",
    ),
    (
        "accelerate",
        "sharding more_host_offload less_host_offload pinned_memory recomputation weight_gather \
         load_placement load_concurrency checkpoint_save_placement",
    ),
    (
        "llamafactory",
        "sequence_length input_size kv_cache_share sharding more_host_offload optimizer_precision \
         gradient_precision recomputation attention_implementation logits_memory cuda_graphs load_placement \
         worker_count",
    ),
    (
        "trl",
        "sequence_length kv_cache_share rollout_size sharding more_host_offload less_host_offload \
         recomputation logits_memory cache_release weight_gather",
    ),
    (
        "swift",
        "sequence_length input_size kv_cache_share rollout_size sharding more_host_offload less_host_offload \
         optimizer_precision attention_implementation logits_memory cuda_graphs cache_release weight_gather \
         worker_count concurrent_requests",
    ),
    (
        "slime",
        "micro_batch sequence_length kv_cache_share rollout_size sharding logits_memory cache_release \
         weight_gather bucket_size concurrent_requests",
    ),
    (
        "megatron",
        "micro_batch sequence_length sharding more_host_offload less_host_offload pinned_memory \
         optimizer_precision gradient_precision recomputation attention_implementation logits_memory \
         bucket_size cache_release load_placement checkpoint_save_placement worker_count",
    ),
    (
        "vllm",
        "micro_batch sequence_length input_size concurrent_requests kv_cache_share sharding \
         more_host_offload less_host_offload pinned_memory cuda_graphs cache_release load_concurrency",
    ),
    (
        "sglang",
        "micro_batch sequence_length input_size concurrent_requests kv_cache_share sharding \
         more_host_offload less_host_offload pinned_memory cuda_graphs cache_release",
    ),
    ("tgi", "sequence_length concurrent_requests kv_cache_share sharding cuda_graphs"),
    (
        "llamacpp",
        "micro_batch sequence_length concurrent_requests sharding more_host_offload cache_release load_placement",
    ),
    ("lightning", "micro_batch sharding more_host_offload worker_count"),
    ("unsloth", "sequence_length recomputation optimizer_precision load_placement kv_cache_share more_host_offload"),
    (
        "torchtitan",
        "micro_batch sequence_length recomputation more_host_offload sharding optimizer_precision gradient_precision",
    ),
    ("nemo", "micro_batch sequence_length recomputation sharding worker_count"),
    (
        "nemo_rl",
        "micro_batch sequence_length recomputation more_host_offload kv_cache_share logits_memory cuda_graphs rollout_size sharding",
    ),
    (
        "megatron_swift",
        "micro_batch sequence_length input_size sharding more_host_offload less_host_offload optimizer_precision \
         gradient_precision recomputation attention_implementation logits_memory checkpoint_save_placement worker_count \
         kv_cache_share rollout_size cache_release",
    ),
    ("primus", "micro_batch sequence_length recomputation sharding more_host_offload logits_memory"),
    ("composer", "micro_batch sequence_length recomputation sharding more_host_offload checkpoint_save_placement"),
    ("olmo_core", "micro_batch sequence_length recomputation logits_memory"),
    ("internevo", "micro_batch sequence_length recomputation sharding"),
    ("levanter", "micro_batch sequence_length recomputation sharding logits_memory"),
    ("megatron_bridge", "micro_batch sequence_length recomputation sharding more_host_offload worker_count"),
    (
        "areal",
        "micro_batch sequence_length recomputation more_host_offload kv_cache_share concurrent_requests rollout_size worker_count",
    ),
    ("xtuner", "micro_batch sequence_length recomputation sharding more_host_offload"),
    ("lmdeploy", "kv_cache_share sequence_length concurrent_requests sharding cuda_graphs micro_batch"),
    ("ultralytics", "micro_batch input_size worker_count less_host_offload"),
    (
        "kohya",
        "micro_batch input_size recomputation more_host_offload optimizer_precision gradient_precision attention_implementation worker_count load_placement",
    ),
    (
        "diffusers",
        "micro_batch input_size recomputation more_host_offload optimizer_precision attention_implementation worker_count",
    ),
    ("gaussian_splatting", "micro_batch input_size more_host_offload optimizer_precision"),
    ("nerfstudio", "micro_batch input_size more_host_offload less_host_offload worker_count"),
    ("mmengine", "micro_batch input_size recomputation more_host_offload worker_count"),
    ("detectron2", "micro_batch input_size worker_count"),
    (
        "fairseq",
        "micro_batch sequence_length recomputation optimizer_precision gradient_precision sharding worker_count",
    ),
    ("litgpt", "micro_batch sequence_length optimizer_precision load_placement worker_count"),
    ("ollama", "sequence_length concurrent_requests load_placement more_host_offload attention_implementation"),
    ("tensorrt_llm", "kv_cache_share concurrent_requests sequence_length sharding"),
    ("gptqmodel", "micro_batch sequence_length sharding less_host_offload"),
    ("autoawq", "micro_batch sequence_length bucket_size"),
    ("llmcompressor", "micro_batch sequence_length more_host_offload load_placement"),
    ("modelopt", "micro_batch sequence_length load_placement"),
    ("roll", "micro_batch sequence_length recomputation more_host_offload kv_cache_share rollout_size sharding"),
    (
        "skyrl",
        "micro_batch sequence_length recomputation more_host_offload kv_cache_share rollout_size sharding cuda_graphs concurrent_requests",
    ),
    (
        "prime_rl",
        "micro_batch sequence_length recomputation more_host_offload less_host_offload logits_memory kv_cache_share concurrent_requests",
    ),
    ("optimum_habana", "cuda_graphs attention_implementation sequence_length cache_release"),
    ("webui", "more_host_offload attention_implementation input_size"),
    ("comfyui", "more_host_offload load_placement optimizer_precision attention_implementation input_size micro_batch"),
    ("ray", "object_store_size worker_count"),
    (
        "torch",
        "micro_batch sharding more_host_offload pinned_memory optimizer_precision gradient_precision \
         recomputation attention_implementation logits_memory allocator bucket_size cache_release \
         weight_gather load_placement load_concurrency checkpoint_save_placement worker_count",
    ),
    ("system", "host_memory_limit shm_size device_choice numa_placement huge_pages pinned_memory worker_count"),
    (
        "generic",
        "micro_batch sequence_length input_size concurrent_requests kv_cache_share rollout_size sharding \
         more_host_offload less_host_offload optimizer_precision gradient_precision logits_memory \
         cuda_graphs weight_gather object_store_size version",
    ),
];

#[test]
fn frameworks_turn_the_levers_they_have_options_for() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    for (framework, levers) in OWN {
        for lever in levers.split_whitespace() {
            assert!(knowledge.levers.iter().any(|known| &*known.name == lever), "{lever}");
            let mut own = knowledge.knobs.iter().filter(|knob| &*knob.framework == *framework);
            assert!(own.any(|knob| knob.turns(lever, None).is_some()), "{framework} has no knob for {lever}");
        }
    }
    Ok(())
}

#[test]
fn every_knob_is_within_reach_of_some_job() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    let stacks = knowledge.frameworks.iter().map(|framework| knowledge.stack(Some(&framework.name)));
    let reached: BTreeSet<&str> = stacks.flatten().collect();
    for knob in &knowledge.knobs {
        assert!(reached.contains(&*knob.framework), "no job has the knobs of {}", knob.framework);
    }
    Ok(())
}

#[test]
fn no_option_that_is_known_to_people_is_missing() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    let mut missing = Vec::new();
    for (framework, options) in named::OPTIONS {
        let own: Vec<&Knob> = knowledge.knobs.iter().filter(|knob| &*knob.framework == *framework).collect();
        missing.extend(
            options
                .split_whitespace()
                .filter(|option| !own.iter().any(|knob| knob.names().any(|name| name == *option))),
        );
    }
    assert_eq!(missing, Vec::<&str>::new());
    Ok(())
}

#[test]
fn causes_ask_for_facts_and_knobs_that_exist() -> Outcome {
    let knowledge = Knowledge::shipped()?;
    for cause in &knowledge.causes {
        let of_patches = cause.patch.iter().filter_map(|row| row.when.as_ref());
        let conditions = cause.evidence.iter().map(|row| &row.when).chain(&cause.when).chain(of_patches);
        for name in conditions.flat_map(|condition| asked(condition)).filter(|name| name.starts_with("config.")) {
            assert!(knowledge.facts.iter().any(|fact| &*fact.name == name), "{}: no fact `{name}`", cause.id);
        }
        for patch in &cause.patch {
            assert!(knowledge.levers.iter().any(|lever| lever.name == patch.lever), "{}: {}", cause.id, patch.lever);
        }
        for row in &cause.not_advised {
            let is_lever = knowledge.levers.iter().any(|lever| lever.name == row.knob);
            let ends = |name: &str| name.trim_start_matches('-').ends_with(&*row.knob);
            let is_knob = knowledge.knobs.iter().any(|knob| knob.id == row.knob || knob.names().any(ends));
            assert!(is_lever || is_knob, "{}: nothing is called `{}`", cause.id, row.knob);
        }
    }
    Ok(())
}

#[test]
fn the_page_of_knobs_is_up_to_date() -> Outcome {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/knobs.md"))?;
    let rendered = knobs_doc::render(&Knowledge::shipped()?)?;
    assert!(page == rendered, "run `cargo run --example knobs_doc > docs/knobs.md`");
    Ok(())
}
