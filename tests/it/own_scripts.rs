//! Jobs that look like a framework's and are none: loops of one's own over a library's models, services, configurations with common keys.

use std::error::Error;

use oomdoc::model::{Kind, OtherFailureName, Phase};

use crate::support::analyzed::{patches, report, root, turned};

type Outcome = Result<(), Box<dyn Error>>;

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has a total capacity of 79.15 GiB of which 701.00 MiB is free. Including non-PyTorch memory, this process has 78.46 GiB memory in use. Of the allocated memory 77.10 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.\n";

/// A stack through a layer of a library's model, called from `call` in a script.
fn stack(call: &str) -> String {
    format!(
        "Traceback (most recent call last):\n  File \"/w/run.py\", line 52, in <module>\n    train()\n  File \"/w/run.py\", line 44, in train\n    {call}\n  File \"/v/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py\", line 61, in forward\n    hidden_states = self.act(hidden_states)\n{OOM}"
    )
}

#[test]
fn a_loop_of_ones_own_has_no_options_of_the_trainer() -> Outcome {
    let script = "from dataclasses import dataclass\nfrom transformers import AutoModelForCausalLM\n\n@dataclass\nclass Config:\n    micro_bs: int = 16\n    seq_len: int = 4096\n    recompute: bool = False\n\ndef train(cfg=Config()):\n    model = AutoModelForCausalLM.from_pretrained(\"org/m\").cuda()\n    if cfg.recompute:\n        model.gradient_checkpointing_enable()\n    model(next(batches(cfg.micro_bs))).loss.backward()\n";
    let own = report(&[("job.log", &stack("loss = model(batch).loss")), ("run.py", script)])?;
    let first = &patches(&own)?[0];
    assert!(first.diff.as_deref().is_some_and(|diff| diff.contains("+    micro_bs: int = 8")), "{first:?}");
    assert!(turned(&own)?.contains(&"model.gradient_checkpointing_enable()"), "{:?}", turned(&own)?);
    assert!(turned(&own)?.iter().all(|knob| !knob.starts_with("--per_device") && !knob.starts_with("--gradient_ch")));
    // What the trainer runs has its options.
    let trainer = "trainer.train()\n  File \"/v/site-packages/transformers/trainer.py\", line 2245, in train\n    return inner_training_loop(";
    let trained = report(&[("job.log", &stack(trainer))])?;
    assert_eq!(turned(&trained)?[0], "--per_device_train_batch_size");
    Ok(())
}

#[test]
fn one_key_that_everybody_uses_names_no_framework() -> Outcome {
    let log = stack("loss.backward()").replace("transformers/models/gpt_neox/modeling_gpt_neox.py", "torch/_tensor.py");
    let config = "batch_size: 16\nlr: 3.0e-4\nactivation_checkpointing: false\n";
    let script = "python train.py train.batch_size=32\n";
    let end = report(&[("job.log", &log), ("conf/train/default.yaml", config), ("launch.sh", script)])?;
    assert_eq!(end.job.framework.as_deref(), Some("pytorch"));
    // What the command line sets wins over the file.
    assert!(patches(&end)?[0].diff.as_deref().is_some_and(|diff| diff.contains("train.batch_size=16")));
    Ok(())
}

#[test]
fn the_pass_of_a_request_is_no_training_step() -> Outcome {
    let log = format!(
        "INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)\nERROR:    Exception in ASGI application\nTraceback (most recent call last):\n  File \"/app/main.py\", line 31, in score\n    h = model(**ids)\n  File \"/v/site-packages/transformers/models/qwen2/modeling_qwen2.py\", line 290, in forward\n    hidden_states = self.mlp(hidden_states)\n{OOM}"
    );
    let end = report(&[("job.log", &log)])?;
    assert_eq!(root(&end)?.phase.name, Phase::Inference);
    assert!(
        turned(&end)?.iter().all(|knob| !knob.contains("_train_") && !knob.contains("checkpoint")),
        "{:?}",
        turned(&end)?
    );
    Ok(())
}

#[test]
fn a_server_that_runs_a_layer_serves() -> Outcome {
    let log = format!(
        "[2026-11-20 10:00:00 TP1] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/python/sglang/srt/models/qwen2.py\", line 91, in forward\n    gate_up, _ = self.gate_up_proj(x)\n{OOM}"
    );
    let script =
        "python -m sglang.launch_server --model-path org/m --mem-fraction-static 0.92 --chunked-prefill-size 16384\n";
    let end = report(&[("job.log", &log), ("run.sh", script)])?;
    assert_eq!(root(&end)?.phase.name, Phase::Inference);
    assert_eq!(turned(&end)?[0], "--chunked-prefill-size");
    Ok(())
}

#[test]
fn a_loss_that_a_plugin_computes_brings_its_plugin() -> Outcome {
    let log = format!(
        "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/v/site-packages/axolotl/core/trainers/base.py\", line 300, in compute_loss\n[rank1]:     return super().compute_loss(\n[rank1]:   File \"/v/site-packages/transformers/loss/loss_utils.py\", line 36, in ForCausalLMLoss\n[rank1]:     logits = logits.float()\n[rank1]: {OOM}"
    );
    let config = "base_model: org/m\nsequence_len: 32768\nmicro_batch_size: 1\ngradient_checkpointing: true\nflash_attention: true\n";
    let with = |config: &str| report(&[("job.log", &log), ("config.yaml", config)]);
    let plain = with(config)?;
    let diff = patches(&plain)?[0].diff.clone().unwrap_or_default();
    assert!(diff.contains("+plugins:\n") && diff.contains("CutCrossEntropyPlugin\n+cut_cross_entropy: true"), "{diff}");
    // A list that is there grows.
    let listed = with(&format!("{config}plugins:\n  - org.other.Plugin\n"))?;
    let diff = patches(&listed)?[0].diff.clone().unwrap_or_default();
    assert!(!diff.contains("+plugins:") && diff.contains("+  - axolotl.integrations.cut_cross_entropy"), "{diff}");
    Ok(())
}

#[test]
fn who_fills_the_disk_of_a_pod_did_not_run_out_of_memory() -> Outcome {
    let log = "Status:           Failed\nReason:           Evicted\nMessage:          Pod ephemeral local storage usage exceeds the total limit of containers 100Gi. \nContainers:\n  train:\n    State:          Terminated\n      Reason:       Error\n      Exit Code:    137\n";
    let end = report(&[("pod.log", log)])?;
    assert_eq!(end.verdict, Kind::None);
    assert_eq!(end.other_failure.map(|failure| failure.name), Some(OtherFailureName::DiskFull));
    Ok(())
}

#[test]
fn a_script_that_parses_its_options_takes_no_others() -> Outcome {
    let parser = "import argparse\nfrom transformers import AutoModelForCausalLM\nap = argparse.ArgumentParser()\nap.add_argument('--bs', type=int)\nap.add_argument('--ctx', type=int)\nap.add_argument('--accum', type=int)\na = ap.parse_args()\n";
    let script = "python lora.py --bs 4 --ctx 4096 --accum 2\n";
    let end = report(&[("job.log", &stack("loss = model(batch).loss")), ("lora.py", parser), ("launch.sh", script)])?;
    let first = &patches(&end)?[0];
    // What keeps the global batch has the script's own name, too.
    assert!(first.diff.as_deref().is_some_and(|diff| diff.contains("--bs 2 --ctx 4096 --accum 4")), "{first:?}");
    let known = ["--bs", "--ctx", "--accum"];
    assert!(turned(&end)?.iter().all(|knob| !knob.starts_with("--") || known.contains(knob)), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn workers_that_the_call_asks_for_stay() -> Outcome {
    let log = "Traceback (most recent call last):\n  File \"/w/train.py\", line 9, in <module>\n    for x in dl:\n  File \"/v/site-packages/torch/utils/data/dataloader.py\", line 1251, in _try_get_data\n    data = self._data_queue.get(timeout=timeout)\nRuntimeError: DataLoader worker (pid 8812) is killed by signal: Killed. \nslurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n";
    let with = |arguments: &str| -> Result<String, Box<dyn Error>> {
        let script =
            format!("from torch.utils.data import DataLoader\ndl = DataLoader(ds, num_workers=32{arguments})\n");
        let end = report(&[("job.log", log), ("train.py", &script)])?;
        Ok(patches(&end)?[0].diff.clone().unwrap_or_default())
    };
    assert!(with(", prefetch_factor=8, persistent_workers=True")?.contains("+dl = DataLoader(ds, num_workers=8, "));
    assert!(with("")?.contains("+dl = DataLoader(ds, num_workers=0)"));
    Ok(())
}

#[test]
fn a_gathered_state_stays_on_one_rank() -> Outcome {
    let log = format!(
        "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/w/train.py\", line 4, in save\n[rank0]:     state = model.state_dict()\n[rank0]:   File \"/v/site-packages/torch/distributed/fsdp/_state_dict_utils.py\", line 715, in _post_state_dict_hook\n[rank0]:     processed_state_dict = _post_state_dict_hook_fn[fsdp_state._state_dict_type](\n[rank0]: {OOM}"
    );
    let script = "def save(model):\n    cfg = FullStateDictConfig(offload_to_cpu=False, rank0_only=False)\n    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, cfg):\n        torch.save(model.state_dict(), p)\n";
    let end = report(&[("job.log", &log), ("train.py", script)])?;
    let diff = patches(&end)?[0].diff.clone().unwrap_or_default();
    assert!(diff.contains("+    cfg = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)"), "{diff}");
    Ok(())
}

#[test]
fn copies_that_the_optimizer_makes_are_its_states() -> Outcome {
    let log = format!(
        "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/m/pretrain_gpt.py\", line 301, in <module>\n[rank2]:     pretrain(\n[rank2]:   File \"/m/megatron/training/training.py\", line 1069, in setup_model_and_optimizer\n[rank2]:     optimizer = get_megatron_optimizer(\n[rank2]:   File \"/m/megatron/core/optimizer/optimizer.py\", line 611, in __init__\n[rank2]:     main_param = param.detach().clone().float()\n[rank2]: {OOM}"
    );
    let end = report(&[("job.log", &log)])?;
    assert_eq!(&*root(&end)?.diagnoses[0].cause, "optimizer_states_on_gpu");
    Ok(())
}
