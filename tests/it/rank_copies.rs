//! Ranks of one node that each read a whole model into the host's memory, and changes that go together or need an edit to lead.

use std::error::Error;

use crate::support::analyzed::{cause, patches, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A rank that is killed at `limit` GiB while it holds `held`, with its shards half read.
fn killed(held: f64, limit: f64) -> String {
    let kib = |gib: f64| (gib * 1_048_576.0) as u64;
    format!(
        "[rank0]: Loading checkpoint shards: 100%|██████████| 8/8 [00:52<00:00,  6.5s/it]\n[rank1]: Loading checkpoint shards:  88%|████████▊ | 7/8 [00:52<00:07,  7.5s/it]\n[51000.100000] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n[51000.100100] memory: usage {limit}kB, limit {limit}kB, failcnt 7001\n[51000.100200] Memory cgroup out of memory: Killed process 8123 (python) total-vm:{virtual}kB, anon-rss:{held}kB, file-rss:4096kB, shmem-rss:0kB, UID:1001 pgtables:64020kB oom_score_adj:0\n",
        limit = kib(limit),
        virtual = kib(held * 1.5),
        held = kib(held),
    )
}

fn launch(memory: u32, ranks: u32, more: &str) -> String {
    format!(
        "#!/bin/bash\n#SBATCH --gres=gpu:{ranks}\n#SBATCH --mem={memory}G\ndeepspeed --num_gpus {ranks} tune.py --model_name_or_path mistralai/Mistral-7B-v0.1 --bf16 {more} --output_dir out\n"
    )
}

const ZERO_2: &str = "{\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 2}}\n";
const OFFLOAD: &str = "{\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}}}\n";

fn granted(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("+#SBATCH --mem="))?;
    line.trim_start_matches("+#SBATCH --mem=").trim_end_matches('G').parse().ok()
}

#[test]
fn a_limit_holds_what_each_rank_holds_times_their_number() -> Outcome {
    let script = launch(160, 6, "--deepspeed ds.json");
    let log = killed(26.2, 160.0);
    let end = report(&[("job.log", &log), ("run.sh", &script), ("ds.json", ZERO_2)])?;
    assert_eq!(cause(&end)?, "checkpoint_load_duplication");
    let diffs: Vec<&str> = patches(&end)?.iter().filter_map(|patch| patch.diff.as_deref()).collect();
    let granted = diffs.iter().find_map(|diff| granted(diff)).ok_or("no limit is raised")?;
    assert!(granted >= 6.0 * 26.2, "{granted}");
    Ok(())
}

#[test]
fn a_rank_that_reads_for_the_others_is_no_copy() -> Outcome {
    let log = killed(121.0, 160.0);
    let script = launch(160, 6, "--deepspeed ds.json");
    let end = report(&[("job.log", &log), ("run.sh", &script), ("ds.json", ZERO_2)])?;
    assert_ne!(cause(&end)?, "checkpoint_load_duplication");
    Ok(())
}

#[test]
fn an_offload_of_what_is_not_made_yet_is_not_taken_back() -> Outcome {
    let script = launch(160, 6, "--deepspeed ds.json");
    let end = report(&[("job.log", &killed(26.2, 160.0)), ("run.sh", &script), ("ds.json", OFFLOAD)])?;
    assert_eq!(cause(&end)?, "checkpoint_load_duplication");
    let all = root(&end)?.diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
    let knobs: Vec<&str> = all.map(|patch| &*patch.knob).collect();
    assert!(!knobs.iter().any(|knob| knob.contains("offload_optimizer")), "{knobs:?}");
    Ok(())
}

/// A step of AdamW that finds no room for a moment.
fn update() -> String {
    stack(&[
        ("/w/fit.py", "main", "opt.step()"),
        ("/v/site-packages/torch/optim/adamw.py", "_init_group", "state[\"exp_avg_sq\"] = torch.zeros_like("),
    ]) + &refused("96.00 MiB", 23.69)
}

#[test]
fn a_value_of_two_words_is_written_where_its_knob_knows_it() -> Outcome {
    let code = "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained(\"mistralai/Mistral-7B-v0.1\")\nargs = TrainingArguments(output_dir=\"out\", per_device_train_batch_size=1, gradient_checkpointing=True, bf16=True)\nTrainer(model=model, args=args, train_dataset=rows).train()\n";
    let log = update().replace("/w/fit.py", "/w/tune.py");
    let script = "torchrun --standalone --nproc_per_node=4 tune.py\n";
    let end = report(&[("job.log", &log), ("tune.py", code), ("run.sh", script)])?;
    let all = patches(&end)?;
    let shards = all.iter().find(|patch| patch.knob == "fsdp").ok_or_else(|| format!("{:?}", turned(&end)))?;
    assert!(shards.diff.as_deref().is_some_and(|diff| diff.contains("fsdp=\"full_shard auto_wrap\"")), "{shards:?}");
    Ok(())
}

#[test]
fn a_first_pass_of_many_tokens_gets_a_smaller_batch_beside_recomputation() -> Outcome {
    let config = |batch: u32| {
        format!(
            "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\nfinetuning_type: full\ndeepspeed: examples/deepspeed/ds_z2_config.json\ncutoff_len: 8192\nper_device_train_batch_size: {batch}\ngradient_accumulation_steps: 2\ndisable_gradient_checkpointing: true\nbf16: true\n"
        )
    };
    let log = "  0%|          | 0/840 [00:00<?, ?it/s]\n".to_owned()
        + &stack(&[
            ("/app/src/llamafactory/train/sft/workflow.py", "run_sft", "trainer.train()"),
            ("transformers/trainer.py", "training_step", "loss = self.compute_loss(model, inputs)"),
            (
                "transformers/models/qwen2/modeling_qwen2.py",
                "forward",
                "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))",
            ),
        ])
        + &refused("1.45 GiB", 79.11);
    let set = |batch: u32| -> Outcome<Vec<String>> {
        let end = report(&[("job.log", &log), ("sft.yaml", &config(batch))])?;
        Ok(root(&end)?.diagnoses[0].set.as_ref().map(|set| set.knobs.clone()).unwrap_or_default())
    };
    let both = set(6)?;
    assert!(
        both.len() == 2 && both[0].contains("gradient_checkpointing") && both[1].contains("batch_size"),
        "{both:?}"
    );
    // A batch of one sample has nothing to halve.
    assert!(set(1)?.is_empty());
    Ok(())
}
