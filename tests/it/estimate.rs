//! What `oomdoc estimate` predicts before a run, against what jobs of the corpus did need.

use std::error::Error;
use std::fs;

use assert_cmd::Command;
use oomdoc::Options;
use oomdoc::estimate::{Estimate, Fits, Need, estimate};
use oomdoc::internal::cli::Flags;
use oomdoc::internal::memory::{Moment, Step};
use oomdoc::model::Bytes;

type Outcome = Result<(), Box<dyn Error>>;

fn corpus(case: &str) -> String {
    format!("{}/corpus/{case}", env!("CARGO_MANIFEST_DIR"))
}

fn of(flags: Flags) -> Result<Estimate, Box<dyn Error>> {
    Ok(estimate(&flags.job(), &Options::default())?)
}

fn at(estimate: &Estimate, moment: Moment, step: Step) -> Result<&Need, String> {
    let found = estimate.moments.iter().find(|need| need.plan.moment == moment && need.plan.step == step);
    found.ok_or_else(|| format!("no {moment:?}"))
}

/// Whether `amount` is within 5 % of `gib`.
fn near(amount: Bytes, gib: f64) -> bool {
    (amount.gib() / gib - 1.0).abs() < 0.05
}

#[test]
fn an_8b_model_on_one_gpu_is_what_its_log_says() -> Outcome {
    let estimate = of(Flags { from: vec![corpus("llama3-8b-optimizer-step")], ..Flags::default() })?;
    assert!(near(at(&estimate, Moment::AfterPrepare, Step::First)?.gpu.high, 44.87));
    // What remains after backward, when the activations are gone.
    let backward = at(&estimate, Moment::Backward, Step::First)?;
    let kept: Bytes = backward.plan.components.iter().filter(|part| part.is_state()).map(|part| part.bytes.high).sum();
    assert!(near(kept, 60.99), "{kept}");
    // The job fails asking for 29.92 GiB beside 75.95 GiB; what it would have needed then is the amount of the step.
    assert!(at(&estimate, Moment::OptimizerStep, Step::Later)?.gpu.low > Bytes(80 << 30));
    Ok(())
}

#[test]
fn a_72b_model_that_cannot_resume_can_once_ranks_load_in_turn() -> Outcome {
    let limits = (Some(Bytes(80 << 30)), Some(Bytes(1434 << 30)));
    let from = vec![corpus("openrlhf-72b-resume")];
    let estimate = of(Flags { from, fit: limits.0, host: limits.1, ..Flags::default() })?;
    assert_eq!(estimate.layout.cluster.devices(), 8);
    // 22 bytes per parameter, and page-locked buffers are rounded up.
    assert!(near(at(&estimate, Moment::CheckpointResume, Step::Later)?.host.high, 1631.0));
    assert!(near(at(&estimate, Moment::OptimizerStep, Step::Later)?.host.high, 1360.0));
    let fit = estimate.fit.ok_or("nothing was looked for")?;
    let [in_turn, unpinned] = &fit.changes[..] else { return Err(format!("{:?}", fit.changes).into()) };
    assert_eq!((fit.fits, &*in_turn.flag, &*unpinned.flag), (Fits::Surely, "pipeline_loading_checkpoint", "--no-pin"));
    assert!(near(fit.before.host.high - in_turn.then.host.high, 237.0), "{fit:?}");
    // The change does not affect the GPU.
    assert_eq!(fit.before.gpu, unpinned.then.gpu);
    Ok(())
}

#[test]
fn ranks_and_the_models_beside_the_actor_are_those_of_the_script() -> Outcome {
    let script = corpus("ppo-13b-save/launch.sh");
    let estimate = of(Flags { from: vec![script.clone()], ..Flags::default() })?;
    assert_eq!(estimate.layout.cluster.devices(), 4);
    let beside = |estimate: &Estimate| -> Vec<String> {
        estimate.layout.companions.iter().map(|companion| companion.name.clone()).collect()
    };
    // The critic and the reward model have GPUs of their own.
    assert_eq!(beside(&estimate), ["reference"]);
    let prepared = at(&estimate, Moment::AfterPrepare, Step::First)?.gpu.high;
    let folder = tempfile::tempdir()?;
    let changed = |from: &str, to: &str| -> Result<Estimate, Box<dyn Error>> {
        let path = folder.path().join("launch.sh");
        std::fs::write(&path, std::fs::read_to_string(&script)?.replace(from, to))?;
        of(Flags { from: vec![path.to_string_lossy().into_owned()], ..Flags::default() })
    };
    let alone = changed("--init_kl_coef 0.01", "--init_kl_coef 0")?;
    assert!(beside(&alone).is_empty());
    let freed = prepared - at(&alone, Moment::AfterPrepare, Step::First)?.gpu.high;
    assert!(near(freed, 24.24), "{freed}");
    assert_eq!(beside(&changed("--colocate_actor_ref", "--colocate_all_models")?), ["reference", "critic", "reward"]);
    assert_eq!(changed("--actor_num_nodes 1", "--actor_num_nodes 2")?.layout.cluster.devices(), 8);
    // The number of nodes is an unknown argument.
    let unknown = changed("--actor_num_nodes 1", "--actor_num_nodes $1")?;
    assert_eq!(unknown.layout.cluster.devices(), 4);
    assert!(unknown.assumptions.iter().any(|words| words.contains("one node")), "{:?}", unknown.assumptions);
    Ok(())
}

#[test]
fn the_cheapest_change_that_fits_is_found() -> Outcome {
    let job = |gpus, gib: i128, host: Option<i128>| Flags {
        model: Some("Llama-3-8B".to_owned()),
        gpus: Some(gpus),
        zero: Some(0),
        micro_batch: Some(1),
        sequence: Some(2048),
        fit: Some(Bytes(gib << 30)),
        host: host.map(|gib| Bytes(gib << 30)),
        ..Flags::default()
    };
    for (flags, fits, expected) in [
        // On 8 × 80 GB, sharding is enough: no recomputation, no offload.
        (job(8, 80, None), Fits::Surely, vec!["--zero 1"]),
        // One GPU has nothing to shard with, so its optimizer is offloaded to the host.
        (job(1, 80, None), Fits::Surely, vec!["--zero 2 --adam-offload"]),
        // Where the host has no room, a lower precision of the optimizer comes before any change to the training.
        (job(1, 96, Some(100)), Fits::Surely, vec!["--optimizer adamw-8bit"]),
        (job(1, 200, None), Fits::Surely, vec![]),
        (job(1, 4, None), Fits::Not, vec!["--fused-loss", "--recomputation full", "--lora 16 --quantised 4bit"]),
    ] {
        let asked = format!("{flags:?}");
        let fit = of(flags)?.fit.ok_or("nothing was looked for")?;
        let changes: Vec<&str> = fit.changes.iter().map(|change| change.flag.as_str()).collect();
        assert_eq!((fit.fits, changes), (fits, expected), "{asked}");
    }
    Ok(())
}

#[test]
fn an_adapter_is_bounded_by_the_matrices_it_may_be_for() -> Outcome {
    let lora =
        |quantised| Flags { model: Some("Llama-2-7B".to_owned()), lora: Some(16), quantised, ..Flags::default() };
    let plain = of(lora(None))?;
    let adapter = plain.layout.adapter.ok_or("no adapter")?.parameters;
    // PEFT counts 8 388 608 for q_proj and v_proj, 39 976 960 for all linear layers.
    assert_eq!((adapter.low, adapter.high), (8_388_608, 39_976_960));
    let quantised = of(lora(Some(oomdoc::internal::cli::Quantised::FourBit)))?;
    let weights = |estimate: &Estimate| estimate.peak_of_gpu().map(|need| need.gpu.high);
    assert!(weights(&quantised) < weights(&plain));
    Ok(())
}

#[test]
fn an_adapter_of_a_model_of_unknown_shape_has_wide_bounds() -> Outcome {
    let estimate = of(Flags { model: Some("8b".to_owned()), lora: Some(16), ..Flags::default() })?;
    let adapter = estimate.layout.adapter.ok_or("no adapter")?.parameters;
    // Of Llama-3-8B PEFT counts 6 815 744 for q_proj and v_proj, 41 943 040 for all linear layers.
    assert!((1_000_000..=6_815_744).contains(&adapter.low), "{}", adapter.low);
    assert!((41_943_040..=300_000_000).contains(&adapter.high), "{}", adapter.high);
    Ok(())
}

#[test]
fn every_format_says_the_same() -> Outcome {
    let run = |format: &str, more: &[&str]| -> Result<String, Box<dyn Error>> {
        let mut oomdoc = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        let job =
            ["estimate", "--model", "Qwen2.5-7B", "--gpus", "2", "--zero", "3", "--fit", "24GiB", "--format", format];
        let printed = oomdoc.args(job).args(more).assert().success();
        Ok(String::from_utf8(printed.get_output().stdout.clone())?)
    };
    let json: serde_json::Value = serde_json::from_str(&run("json", &[])?)?;
    assert_eq!(json["schema"], "oomdoc.estimate/1");
    let step = json["moments"].as_array().and_then(|all| all.iter().find(|need| need["moment"] == "optimizer_step"));
    let bytes = step.and_then(|need| need["gpu"]["low"].as_i64()).map(i128::from).ok_or("no optimizer step")?;
    // The batch is unknown, so there is no upper bound.
    assert_eq!(json["is_least"], true);
    let shown = format!("≥ {}", Bytes(bytes));
    let flag = json["fit"]["changes"][0]["flag"].as_str().ok_or("no change")?.to_owned();
    for text in [run("text", &[])?, run("markdown", &[])?, run("text", &["--lang", "zh", "--all"])?] {
        assert!(text.contains(&shown) && text.contains(&flag), "{shown}, {flag}:\n{text}");
    }
    Ok(())
}

#[test]
fn the_peak_has_what_the_process_takes_besides() -> Outcome {
    let job = Flags {
        model: Some("Qwen2.5-1.5B".to_owned()),
        micro_batch: Some(2),
        sequence: Some(1024),
        recomputation: Some(oomdoc::internal::cli::Recomputation::Full),
        lora: Some(16),
        ..Flags::default()
    };
    let estimate = of(job)?;
    let peak = estimate.peak_of_gpu().ok_or("no peak")?;
    let named = |name: &str| peak.plan.process.iter().any(|part| part.name == name);
    assert!(named("context") && named("cached blocks"), "{:?}", peak.plan.process);
    // The range reaches from the tensors alone, whose errors partly cancel out, to more than the tensors.
    let tensors = peak.plan.device();
    assert!(peak.gpu.low >= tensors.low && peak.gpu.high > tensors.high, "{} of {tensors}", peak.gpu);
    assert!(!estimate.is_least);
    Ok(())
}

#[test]
fn a_token_budget_is_halved_and_long_sequences_are_shared_out() -> Outcome {
    let job = |gib: i128, budget, sequence| Flags {
        model: Some("Llama-3-8B".to_owned()),
        gpus: Some(8),
        zero: Some(3),
        recomputation: Some(oomdoc::internal::cli::Recomputation::Full),
        token_budget: budget,
        sequence: Some(sequence),
        micro_batch: budget.is_none().then_some(1),
        fused_loss: true,
        fit: Some(Bytes(gib << 30)),
        ..Flags::default()
    };
    let changes = |flags: Flags| -> Result<Vec<String>, Box<dyn Error>> {
        let fit = of(flags)?.fit.ok_or("nothing was looked for")?;
        let spare = fit.spare.ok_or("it does not fit")?;
        assert!(fit.fits == Fits::Surely && spare.gpu > Bytes(0), "{fit:?}");
        Ok(fit.changes.into_iter().map(|change| change.flag).collect())
    };
    assert_eq!(changes(job(48, Some(65_536), 8192))?, ["--token-budget 32768"]);
    assert_eq!(changes(job(80, None, 262_144))?, ["--sequence-parallel 4"]);
    Ok(())
}

#[test]
fn a_quantised_base_lets_an_adapter_fit() -> Outcome {
    let job = Flags {
        model: Some("Qwen2.5-7B".to_owned()),
        micro_batch: Some(1),
        sequence: Some(1024),
        recomputation: Some(oomdoc::internal::cli::Recomputation::Full),
        lora: Some(8),
        fit: Some(Bytes(12 << 30)),
        ..Flags::default()
    };
    let fit = of(job)?.fit.ok_or("nothing was looked for")?;
    let changes: Vec<&str> = fit.changes.iter().map(|change| change.flag.as_str()).collect();
    assert_eq!((fit.fits, changes), (Fits::Surely, vec!["--quantised 4bit"]), "{fit:?}");
    Ok(())
}

#[test]
fn what_it_cannot_know_it_asks_for() -> Outcome {
    let refused = |args: &[&str]| -> Result<String, Box<dyn Error>> {
        let mut oomdoc = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
        let refused = oomdoc.arg("estimate").args(args).assert().code(2);
        Ok(String::from_utf8(refused.get_output().stderr.clone())?)
    };
    assert!(refused(&["--gpus", "8"])?.contains("no model was given"));
    assert!(refused(&["--model", "nonesuch"])?.contains("nonesuch"));
    assert!(refused(&["--model", "8b", "--zero", "2", "--fsdp", "full"])?.contains("--fsdp"));
    Ok(())
}

#[test]
fn a_model_that_is_named_but_unknown_is_refused_by_its_name() -> Outcome {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("run.sh");
    fs::write(&script, "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=/models/house-blend\n")?;
    let run = |more: &[&str]| {
        Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"))
            .arg("estimate")
            .arg("--from")
            .arg(&script)
            .args(more)
            .assert()
    };
    let refused = run(&[]).code(2);
    let said = String::from_utf8(refused.get_output().stderr.clone())?;
    assert!(said.contains("`/models/house-blend` is named but unknown: give --parameters"), "{said}");
    let answered = run(&["--parameters", "8.03b"]).success();
    assert!(String::from_utf8(answered.get_output().stdout.clone())?.contains("8.03 B"));
    Ok(())
}

#[test]
fn what_the_user_says_overrules_what_the_configuration_decides() -> Outcome {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("run.sh");
    fs::write(
        &script,
        "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type full --deepspeed zero3\n",
    )?;
    let from = vec![script.to_string_lossy().into_owned()];
    let read = of(Flags { from: from.clone(), ..Flags::default() })?;
    assert_eq!(read.shown["sharding"], "zero_three");
    assert_eq!((read.framework.as_deref(), read.job.as_deref()), (Some("swift"), Some("sft")));
    assert_eq!(read.shown["batch"]["micro_batch"], 1);
    assert_eq!(read.shown["batch"]["sequence"], serde_json::Value::Null);
    let said = of(Flags { from, zero: Some(2), lora: Some(8), ..Flags::default() })?;
    assert_eq!(
        (said.layout.sharding, said.layout.adapter.is_some()),
        (oomdoc::internal::memory::Sharding::ZeroTwo, true)
    );
    assert_eq!(said.shown["adapter"]["kind"], "lora");
    Ok(())
}

#[test]
fn a_configuration_that_is_only_named_is_asked_for() -> Outcome {
    let folder = tempfile::tempdir()?;
    let launch = folder.path().join("sft.yaml");
    fs::write(
        &launch,
        "model_name_or_path: Qwen/Qwen3-4B\nfinetuning_type: full\ndeepspeed: own/spread.json\nbf16: true\n",
    )?;
    let run = |more: &[&str]| {
        Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"))
            .arg("estimate")
            .arg("--from")
            .arg(&launch)
            .args(more)
            .assert()
    };
    let said = String::from_utf8(run(&[]).code(2).get_output().stderr.clone())?;
    assert!(said.contains("`own/spread.json`"), "{said}");
    run(&["--zero", "3"]).success();
    Ok(())
}

/// A launch script in a folder of its own.
fn launched(script: &str) -> Result<(tempfile::TempDir, Flags), std::io::Error> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("launch.sh");
    fs::write(&path, script)?;
    let from = vec![path.to_string_lossy().into_owned()];
    Ok((folder, Flags { from, ..Flags::default() }))
}

/// Megatron's gradients were once counted as DDP's buckets and again, beside copies that its optimizer does not make; and a new model was
/// loaded by every rank.
#[test]
fn megatron_keeps_eighteen_bytes_for_each_parameter() -> Outcome {
    let script = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\\n --swiglu --ffn-hidden-size 11008 --vocab-size 32000 --untie-embeddings-and-output-weights --position-embedding-type rope \\\n --seq-length 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 --tensor-model-parallel-size 2 --recompute-granularity full\n";
    let (_folder, flags) = launched(script)?;
    let estimate = of(flags)?;
    let on_rank = estimate.size.parameters.low as f64 / 2.0;
    let step = at(&estimate, Moment::OptimizerStep, Step::Later)?;
    let tensors = step.plan.device().low.0 as f64;
    assert!((tensors / on_rank - 18.0).abs() < 0.01, "{} bytes", tensors / on_rank);
    assert_eq!(step.plan.device().high, step.plan.device().low, "{:?}", step.plan.components);
    assert_eq!(estimate.peak_of_host().map(|need| need.host.high), None);
    // The optimizer's 12 bytes are shared by four replicas.
    let (_folder, flags) = launched(&script.replace("--bf16", "--bf16 --use-distributed-optimizer"))?;
    let shared = of(flags)?;
    let step = at(&shared, Moment::OptimizerStep, Step::Later)?.plan.device();
    assert!((step.high.0 as f64 / on_rank - 9.0).abs() < 0.01, "{step}");
    // A checkpoint is read.
    let (_folder, flags) = launched(&script.replace("--bf16", "--bf16 --load /data/checkpoints"))?;
    assert!(of(flags)?.peak_of_host().is_some());
    Ok(())
}

#[test]
fn only_what_is_missing_of_a_shape_is_asked_for() -> Outcome {
    let script = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 2 --bf16\n";
    let (_folder, flags) = launched(script)?;
    let said = of(flags)?.assumptions.join("\n");
    assert!(said.contains("`vocab-size`") && !said.contains("shape is unknown"), "{said}");
    let (_folder, flags) = launched(&script.replace("--bf16", "--bf16 --vocab-size 50257"))?;
    assert!(!of(flags)?.is_least);
    Ok(())
}

/// The buckets of DDP once stood twice in the sum of backward.
#[test]
fn no_part_is_counted_twice() -> Outcome {
    let estimate = of(Flags {
        model: Some("Qwen2.5-1.5B".to_owned()),
        gpus: Some(4),
        zero: Some(0),
        micro_batch: Some(2),
        sequence: Some(1024),
        ..Flags::default()
    })?;
    for need in &estimate.moments {
        let mut names: Vec<_> = need.plan.components.iter().map(|part| (&part.name, part.place.is_host())).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all, "{:?}: {names:?}", need.plan.moment);
    }
    Ok(())
}

/// Files of a launch in a folder of their own.
fn launch(files: &[(&str, &str)]) -> Result<(tempfile::TempDir, Flags), std::io::Error> {
    let folder = tempfile::tempdir()?;
    for (name, text) in files {
        fs::write(folder.path().join(name), text)?;
    }
    let from = vec![folder.path().to_string_lossy().into_owned()];
    Ok((folder, Flags { from, ..Flags::default() }))
}

/// A script's own `--model` once named none, since only trainers were asked how they spell it.
#[test]
fn a_script_of_ones_own_names_its_model() -> Outcome {
    let spread = "{\"train_micro_batch_size_per_gpu\": 2, \"zero_optimization\": {\"stage\": 1}, \"bf16\": {\"enabled\": true}}\n";
    let script = "deepspeed --num_gpus 2 tune.py --model Qwen/Qwen2.5-3B --deepspeed_config spread.json\n";
    let (_folder, flags) = launch(&[("spread.json", spread), ("run.sh", script)])?;
    assert_eq!(of(flags)?.model, "Qwen/Qwen2.5-3B");
    Ok(())
}

/// NeMo's description of a model was once not read.
#[test]
fn a_model_that_nemo_describes_is_counted() -> Outcome {
    let config = "name: megatron_gpt\ntrainer:\n  devices: 4\n  num_nodes: 1\n  precision: bf16\nmodel:\n  mcore_gpt: True\n  micro_batch_size: 2\n  tensor_model_parallel_size: 2\n  encoder_seq_length: 2048\n  num_layers: 32\n  hidden_size: 4096\n  ffn_hidden_size: 16384\n  num_attention_heads: 32\n  megatron_amp_O2: True\n  optim:\n    name: distributed_fused_adam\n";
    let (_folder, flags) = launch(&[("gpt.yaml", config)])?;
    let estimate = of(flags)?;
    assert_eq!((estimate.framework.as_deref(), estimate.layout.parallel.tensor), (Some("nemo"), 2));
    let said = estimate.assumptions.join("\n");
    assert!(estimate.is_least && said.contains("vocabulary") && !said.contains("no sharding"), "{said}");
    let named = config.replace("  mcore_gpt: True\n", "  mcore_gpt: True\n  override_vocab_size: 51200\n");
    let (_folder, flags) = launch(&[("gpt.yaml", &named)])?;
    let counted = of(flags)?;
    assert!(!counted.is_least && near(Bytes(counted.size.parameters.low as i128), 6.67e9 / Bytes::GIB.0 as f64));
    Ok(())
}

/// A file of another trainer's that only looked configured once decided that FSDP shares the states out; and `--bf16` stood beside the
/// assumption that nobody had named a precision.
#[test]
fn the_names_of_shipped_files_and_stated_numbers_count() -> Outcome {
    let config = "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: full\ndeepspeed: examples/deepspeed/ds_z3_config.json\ndataset: house\ncutoff_len: 2048\nbf16: true\n";
    let (_folder, flags) =
        launch(&[("tune.yaml", config), ("run.sh", "NPROC_PER_NODE=4 llamafactory-cli train tune.yaml\n")])?;
    let estimate = of(flags)?;
    assert_eq!(estimate.layout.sharding, oomdoc::internal::memory::Sharding::ZeroThree);
    let script = "accelerate launch --num_processes 2 -m trl.scripts.dpo --model_name_or_path Qwen/Qwen2.5-0.5B --bf16 --max_length 512\n";
    let (_folder, flags) = launch(&[("run.sh", script)])?;
    let said = of(flags)?.assumptions.join("\n");
    assert!(!said.contains("no precision"), "{said}");
    Ok(())
}

/// A recipe of torchtune for one device was once told to use ZeRO and to offload Adam, of which it has neither.
#[test]
fn a_framework_is_told_to_do_only_what_it_can() -> Outcome {
    let config = "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\ntokenizer:\n  max_seq_len: 1024\noptimizer:\n  _component_: torch.optim.AdamW\nbatch_size: 1\nenable_activation_checkpointing: True\ndtype: bf16\n";
    let (_folder, flags) = launch(&[("8B_full_single_device.yaml", config)])?;
    let fit = of(Flags { fit: Some(Bytes(64 << 30)), ..flags })?.fit.ok_or("nothing was looked for")?;
    let changes: Vec<&str> = fit.changes.iter().map(|change| change.flag.as_str()).collect();
    assert_eq!((fit.fits, changes), (Fits::Surely, vec!["--optimizer adamw-8bit"]), "{fit:?}");
    Ok(())
}

/// A job on no GPU was once laid out on one.
#[test]
fn nothing_is_counted_for_no_gpu() {
    for flag in [
        "--gpus",
        "--nodes",
        "--micro-batch",
        "--sequence",
        "--token-budget",
        "--accumulation",
        "--lora",
        "--tensor-parallel",
        "--pipeline-parallel",
        "--sequence-parallel",
    ] {
        let asked = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"))
            .args(["estimate", "--model", "8b", flag, "0"])
            .assert();
        let said = String::from_utf8_lossy(&asked.code(2).get_output().stderr).into_owned();
        assert!(said.contains(flag) && said.contains("at least 1"), "{said}");
    }
}
