//! What keeps batch, sequences and loss as they are goes before what does not, and what a program does by itself is not offered.

use std::error::Error;

use oomdoc::model::Report;

use crate::support::analyzed::{patches, refused, report, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A launch of verl with these settings.
fn verl(settings: &[&str]) -> String {
    let all = ["algorithm.adv_estimator=grpo", "actor_rollout_ref.model.use_remove_padding=True"];
    let all: Vec<&str> = all.iter().chain(settings).copied().collect();
    format!(
        "python3 -m verl.trainer.main_ppo \\\n    {} \\\n    trainer.n_gpus_per_node=8 trainer.nnodes=1\n",
        all.join(" \\\n    ")
    )
}

fn update(call: (&str, &str, &str), end: &str) -> String {
    let calls = [
        ("/opt/verl/verl/workers/fsdp_workers.py", "update_actor", "metrics = self.actor.update_policy(data=data)"),
        call,
    ];
    stack(&calls) + end
}

#[test]
fn a_single_long_row_is_split_and_not_filled_up() -> Outcome {
    let log = update(
        ("/opt/verl/verl/workers/actor/dp_actor.py", "update_policy", "loss.backward()"),
        &refused("7.10 GiB", 79.11),
    );
    let launch = |micro: &str, answer: &str| {
        verl(&[
            "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct",
            "data.max_prompt_length=1024",
            &format!("data.max_response_length={answer}"),
            "actor_rollout_ref.model.enable_gradient_checkpointing=True",
            &format!("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu={micro}"),
        ])
    };
    let knobs = |launch: &str| -> Outcome<Vec<String>> {
        let end = report(&[("job.log", &log), ("run.sh", launch)])?;
        let all = end.incidents[0].diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
        Ok(all.map(|patch| patch.knob.clone()).collect())
    };
    let dynamic = "actor_rollout_ref.actor.use_dynamic_bsz".to_owned();
    let one = knobs(&launch("1", "24576"))?;
    assert_eq!(one[0], "actor_rollout_ref.actor.ulysses_sequence_parallel_size", "{one:?}");
    assert!(!one.contains(&dynamic), "{one:?}");
    // Its own budget of tokens, 16384, is less than such a row: verl stops with an assertion.
    assert!(!knobs(&launch("4", "24576"))?.contains(&dynamic));
    Ok(())
}

#[test]
fn a_sequence_is_shared_by_as_many_as_divide_its_heads() -> Outcome {
    let log = update(
        ("/opt/verl/verl/workers/actor/dp_actor.py", "update_policy", "loss.backward()"),
        &refused("7.10 GiB", 79.11),
    );
    let launch = |ranks: &str| {
        verl(&[
            // 28 heads.
            "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct",
            "data.max_response_length=65536",
            "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1",
            &format!("actor_rollout_ref.actor.ulysses_sequence_parallel_size={ranks}"),
        ])
    };
    let offered = |ranks: &str| -> Outcome<bool> {
        let end = report(&[("job.log", &log), ("run.sh", &launch(ranks))])?;
        Ok(turned(&end)?.contains(&"actor_rollout_ref.actor.ulysses_sequence_parallel_size"))
    };
    assert!(offered("2")?);
    assert!(!offered("4")?);
    Ok(())
}

#[test]
fn the_loss_stays_while_something_else_makes_room() -> Outcome {
    let log = update(
        (
            "/opt/verl/verl/utils/torch_functional.py",
            "entropy_from_logits",
            "pd = torch.nn.functional.softmax(logits, dim=-1)",
        ),
        &refused("9.28 GiB", 79.11),
    );
    let launch = verl(&[
        "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct",
        "data.max_prompt_length=1024",
        "data.max_response_length=4096",
        "actor_rollout_ref.actor.use_dynamic_bsz=True",
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=32768",
        "actor_rollout_ref.actor.entropy_coeff=0.002",
        "actor_rollout_ref.rollout.name=vllm",
    ]);
    let end = report(&[("job.log", &log), ("run.sh", &launch)])?;
    let place =
        |part: &str| -> Outcome<Option<usize>> { Ok(turned(&end)?.iter().position(|knob| knob.ends_with(part))) };
    assert!(place("chunking")?.is_some_and(|place| place < 2), "{:?}", turned(&end));
    assert!(place("entropy_coeff")?.is_none_or(|coefficient| place("chunking").ok().flatten() < Some(coefficient)));
    Ok(())
}

fn first(log: &str, files: &[(&str, &str)]) -> Outcome<String> {
    let all: Vec<(&str, &str)> = [("job.log", log)].into_iter().chain(files.iter().copied()).collect();
    let end: Report = report(&all)?;
    Ok(patches(&end)?.first().map(|patch| patch.knob.clone()).unwrap_or_default())
}

#[test]
fn tensor_parallel_ranks_share_what_each_of_them_holds_whole() -> Outcome {
    let log = stack(&[
        ("/w/pretrain_gpt.py", "<module>", "pretrain("),
        ("megatron/training/training.py", "train_step", "losses_reduced = forward_backward_func("),
        ("megatron/core/transformer/mlp.py", "forward", "intermediate, bias = self.linear_fc1(hidden_states)"),
    ]) + &refused("224.00 MiB", 79.11);
    let launch = |more: &str| {
        format!(
            "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --num-layers 48 --hidden-size 6144 --num-attention-heads 48 --seq-length 4096 --micro-batch-size 2 --global-batch-size 256 --bf16{more}\n"
        )
    };
    assert_eq!(first(&log, &[("run.sh", &launch(""))])?, "--sequence-parallel");
    assert_ne!(first(&log, &[("run.sh", &launch(" --sequence-parallel"))])?, "--sequence-parallel");
    Ok(())
}

#[test]
fn a_long_context_is_split_and_its_loss_compiled_before_it_is_cut() -> Outcome {
    let log = stack(&[
        ("torchtitan/train.py", "forward_backward_step", "loss = self.loss_fn(pred, labels)"),
        ("torchtitan/components/loss.py", "cross_entropy_loss", "return torch.nn.functional.cross_entropy("),
        ("torch/nn/functional.py", "cross_entropy", "return torch._C._nn.cross_entropy_loss("),
    ]) + &refused("15.66 GiB", 79.11);
    let config = "[job]\ndump_folder = \"./outputs\"\n\n[model]\nname = \"llama3\"\nflavor = \"8B\"\n\n[training]\nlocal_batch_size = 1\nseq_len = 32768\nsteps = 500\n\n[parallelism]\ncontext_parallel_degree = 1\n\n[activation_checkpoint]\nmode = \"full\"\n";
    let end = report(&[("job.log", &log), ("long.toml", config)])?;
    assert_eq!(turned(&end)?[..2], ["--parallelism.context_parallel_degree", "--compile.enable"]);
    Ok(())
}

#[test]
fn what_sharing_gpus_switches_on_by_itself_is_not_offered() -> Outcome {
    let log = "(MegatronTrainRayActor pid=2101) [2025-10-02 11:20:01] timer.py:24 - Timer update_weights start
(SGLangEngine pid=2290) [torch_memory_saver.cpp] CUresult error: 2 (out of memory)  file=csrc/utils.h func=cu_mem_create line=46
(SGLangEngine pid=2290) [2025-10-02 11:20:09] Child process unexpectedly failed with exitcode=1. pid=2411
";
    let launch = |more: &str| {
        format!(
            "SGLANG_ARGS=(\n   --rollout-num-gpus-per-engine 2\n   --sglang-mem-fraction-static 0.85\n)\nray job submit -- python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate{more} --hf-checkpoint /root/my-14b --tensor-model-parallel-size 2 ${{SGLANG_ARGS[@]}}\n"
        )
    };
    assert_eq!(first(log, &[("run.sh", &launch(""))])?, "--sglang-mem-fraction-static");
    Ok(())
}
