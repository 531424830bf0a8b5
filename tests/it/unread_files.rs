//! What a job did not use is none of its settings, and what it cannot use is not proposed: a launcher's file that nothing read, kernels that
//! its GPU lacks, changes that the code behind them undoes. What its log states of its settings counts.

use std::error::Error;

use oomdoc::model::Report;

use crate::support::analyzed::{diff, patches, refused, report, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const FSDP: &str = "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\n";

const SCRIPT: &str = "import torch\nfrom accelerate import Accelerator\nfrom transformers import AutoModelForCausalLM\naccelerator = Accelerator()\nmodel = AutoModelForCausalLM.from_pretrained(\"org/base-7b\")\noptimizer = torch.optim.AdamW(model.parameters())\nmodel, optimizer = accelerator.prepare(model, optimizer)\nfor batch in load():\n    accelerator.backward(model(**batch).loss)\n    optimizer.step()\n";

/// The optimizer of tune.py makes its states, and finds no room.
fn step() -> String {
    stack(&[
        ("/w/tune.py", "<module>", "optimizer.step()"),
        ("accelerate/optimizer.py", "step", "self.optimizer.step(closure)"),
        ("torch/optim/adamw.py", "_init_group", "state[\"exp_avg\"] = torch.zeros_like("),
    ]) + &refused("172.00 MiB", 79.1)
}

/// The command of the first change, and the file that it changes.
fn first(report: &Report) -> Outcome<(&str, Option<&str>)> {
    let first = patches(report)?.first().ok_or("no change")?;
    Ok((&first.knob, first.file.as_deref()))
}

#[test]
fn a_launchers_file_is_none_of_a_job_that_python_starts() -> Outcome {
    let run = "set -e\npython tune.py --data d.json\n";
    let files = [("job.log", &*step()), ("fsdp.yaml", FSDP), ("tune.py", SCRIPT), ("run.sh", run)];
    let alone = report(&files)?;
    assert_eq!(first(&alone)?, ("accelerate launch", Some("run.sh")));
    assert!(diff(&alone)?.contains("+accelerate launch --config_file fsdp.yaml tune.py --data d.json"));
    assert!(patches(&alone)?.iter().all(|patch| patch.file.as_deref() != Some("fsdp.yaml")));
    // The launcher reads it.
    let run = "set -e\naccelerate launch --config_file fsdp.yaml tune.py --data d.json\n";
    let together = report(&[("job.log", &step()), ("fsdp.yaml", FSDP), ("tune.py", SCRIPT), ("run.sh", run)])?;
    assert!(!turned(&together)?.contains(&"accelerate launch"), "{:?}", turned(&together)?);
    assert!(turned(&together)?.iter().any(|knob| knob.starts_with("fsdp_config")), "{:?}", turned(&together)?);
    Ok(())
}

#[test]
fn a_launcher_is_proposed_only_where_it_shares_what_one_process_holds() -> Outcome {
    let run = "python tune.py --data d.json\n";
    let files = |config: &str, run: &str| {
        report(&[("job.log", &step()), ("conf/fsdp.yaml", config), ("tune.py", SCRIPT), ("run.sh", run)])
    };
    let named = files(FSDP, run)?;
    assert!(diff(&named)?.contains("+accelerate launch --config_file conf/fsdp.yaml tune.py"));
    // Each process of these holds everything.
    let copies = files(&FSDP.replace("FSDP", "MULTI_GPU"), run)?;
    assert!(!turned(&copies)?.contains(&"accelerate launch"), "{:?}", turned(&copies)?);
    let one = files(FSDP, "export CUDA_VISIBLE_DEVICES=0\npython tune.py --data d.json\n")?;
    assert!(!turned(&one)?.contains(&"accelerate launch"), "{:?}", turned(&one)?);
    // What is installed is not started.
    let installs = files(FSDP, "pip install trl accelerate\npython tune.py --data d.json\n")?;
    assert!(turned(&installs)?.contains(&"accelerate launch"), "{:?}", turned(&installs)?);
    Ok(())
}

#[test]
fn a_log_that_states_one_process_outweighs_a_launchers_file() -> Outcome {
    let state = "Distributed environment: NO\nNum processes: 1\nProcess index: 0\nLocal process index: 0\nDevice: cuda\n\nMixed precision type: bf16\n";
    let end = report(&[("job.log", &(state.to_owned() + &step())), ("fsdp.yaml", FSDP), ("tune.py", SCRIPT)])?;
    assert_eq!(first(&end)?, ("accelerate launch", None));
    let state = state.replace("NO", "FSDP").replace("Num processes: 1", "Num processes: 4");
    let end = report(&[("job.log", &(state + &step())), ("fsdp.yaml", FSDP), ("tune.py", SCRIPT)])?;
    assert!(!turned(&end)?.contains(&"accelerate launch"), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn kernels_that_a_gpu_lacks_are_not_proposed() -> Outcome {
    let attention = |capacity: f64| {
        let code = "attention_probs = nn.functional.softmax(attention_scores, dim=-1)";
        let log = stack(&[
            ("/w/tune.py", "<module>", "trainer.train()"),
            ("transformers/trainer.py", "training_step", "loss = self.compute_loss(model, inputs)"),
            ("transformers/models/bert/modeling_bert.py", "forward", code),
        ]) + &refused("1.27 GiB", capacity);
        let run = "python tune.py --per_device_train_batch_size 64 --bf16\n";
        report(&[("job.log", &log), ("run.sh", run)])
    };
    let has = |report: &Report| {
        Ok::<bool, Box<dyn Error>>(turned(report)?.iter().any(|knob| knob.contains("attn_implementation")))
    };
    assert!(has(&attention(39.38)?)?);
    assert!(!has(&attention(14.74)?)?, "a T4");
    assert!(!has(&attention(15.77)?)?, "a V100");
    // An edit of a given file goes before one of code that nobody showed.
    assert_eq!(first(&attention(39.38)?)?.0, "--per_device_train_batch_size");
    Ok(())
}

#[test]
fn what_the_code_undoes_at_once_is_not_proposed() -> Outcome {
    let load = |call: &str| {
        let log = stack(&[
            ("/w/talk.py", "<module>", call),
            ("torch/nn/modules/module.py", "_apply", "param_applied = fn(param)"),
        ]) + "loading\n"
            + &refused("86.00 MiB", 7.8);
        let script = format!(
            "from transformers import AutoModel, AutoTokenizer\ntok = AutoTokenizer.from_pretrained(\"org/talk-7b\")\n{call}\nmodel.generate(**tok(\"hello\"))\n"
        );
        report(&[("job.log", &log), ("talk.py", &script)])
    };
    let chained = load("model = AutoModel.from_pretrained(\"org/talk-7b\", trust_remote_code=True).half().cuda()")?;
    let knobs = turned(&chained)?;
    assert!(!knobs.iter().any(|knob| knob.contains("dtype") || knob.contains("device_map")), "{knobs:?}");
    let bits = patches(&chained)?.iter().find(|patch| patch.knob.contains("load_in_4bit")).ok_or("no 4 bits")?;
    let line = bits.line.as_deref().unwrap_or_default();
    assert!(line.starts_with("AutoModel.from_pretrained(\"org/talk-7b\", trust_remote_code=True, quant"), "{line}");
    assert!(bits.constraint.as_deref().is_some_and(|needs| needs.contains(".half()")), "{:?}", bits.constraint);
    Ok(())
}

#[test]
fn quantised_weights_that_do_not_fit_need_more_than_another_placement() -> Outcome {
    let call = "model = AutoModelForCausalLM.from_pretrained(name, quantization_config=bits, device_map={\"\": 0})";
    let log = stack(&[
        ("/w/poem.py", "<module>", call),
        ("transformers/modeling_utils.py", "from_pretrained", "cls._load_pretrained_model("),
        ("transformers/quantizers/quantizer_bnb_4bit.py", "create_quantized_param", "new_value.to(target_device)"),
    ]) + &refused("32.00 MiB", 15.6);
    let script = format!(
        "from transformers import AutoModelForCausalLM, BitsAndBytesConfig\nname = \"org/base-40b\"\nbits = BitsAndBytesConfig(load_in_4bit=True)\n{call}\nprint(model.generate(ids))\n"
    );
    let end = report(&[("job.log", &log), ("poem.py", &script)])?;
    let knobs = turned(&end)?;
    assert!(knobs.first().is_some_and(|knob| knob.contains("second GPU")), "{knobs:?}");
    assert!(!knobs.iter().any(|knob| knob.ends_with(".device_map") || knob.contains("optimizer")), "{knobs:?}");
    Ok(())
}

#[test]
fn what_a_log_states_of_its_settings_counts() -> Outcome {
    let banner = "O^O/ \\_/ \\    Batch size per device = 8 | Gradient accumulation steps = 2\n\\        /    Data Parallel GPUs = 1 | Total batch size (8 x 2 x 1) = 16\n";
    let log = banner.to_owned()
        + &stack(&[
            ("/w/tune.py", "<module>", "trainer.train()"),
            ("unsloth/models/llama.py", "LlamaDecoderLayer_fast_forward", "hidden_states = self.mlp(hidden_states)"),
        ])
        + &refused("96.00 MiB", 14.74);
    let end = report(&[("job.log", &log)])?;
    let batch = patches(&end)?.iter().find(|patch| patch.knob.contains("per_device_train_batch_size"));
    let batch = batch.ok_or_else(|| format!("{:?}", turned(&end)))?;
    assert_eq!((batch.from.as_deref(), batch.to.as_ref().map(ToString::to_string).as_deref()), (Some("8"), Some("4")));
    assert_eq!(batch.with.first().map(|with| with.to.to_string()).as_deref(), Some("4"));
    Ok(())
}

#[test]
fn a_command_behind_the_prompt_of_a_shell_is_the_launch() -> Outcome {
    let from = |prompt: &str| {
        let log = format!("{prompt}whisperx talk.mp3 --model large-v2 --batch_size 24 --language en\n")
            + &stack(&[
                ("whisperx/transcribe.py", "cli", "result = model.transcribe(audio, batch_size=batch_size)"),
                ("whisperx/asr.py", "encode", "return self.model.encode(features, to_cpu=to_cpu)"),
            ])
            + "RuntimeError: CUDA failed with error out of memory\n";
        let end = report(&[("job.log", &log)])?;
        let batch = patches(&end)?.iter().find(|patch| patch.knob == "--batch_size");
        Ok::<Option<String>, Box<dyn Error>>(batch.and_then(|patch| patch.from.clone()))
    };
    let prompts =
        ["(wx) C:\\Users\\ana\\my talks>", "PS D:\\talks> ", "$ ", "(wx) ana@pc:~/talks$ ", "[ana@pc talks]$ "];
    for prompt in prompts {
        assert_eq!(from(prompt)?.as_deref(), Some("24"), "{prompt}");
    }
    assert_eq!(from("he paid $ ")?, None);
    Ok(())
}

#[test]
fn the_file_of_stage_three_goes_before_an_offload_where_a_ranks_part_fits() -> Outcome {
    let log = |requested: &str| {
        "trainable params: 7,615,616,512 || all params: 7,615,616,512 || trainable%: 100.0000\n".to_owned()
            + &stack(&[
                ("/w/LLaMA-Factory/src/llamafactory/train/sft/workflow.py", "run_sft", "trainer.train()"),
                ("deepspeed/runtime/zero/stage_1_and_2.py", "initialize_optimizer_states", "self.optimizer.step()"),
                ("torch/optim/adamw.py", "_init_group", "state[\"exp_avg_sq\"] = torch.zeros_like("),
            ])
            + &refused(requested, 39.39)
    };
    let config = "model_name_or_path: org/base-7b\nstage: sft\nfinetuning_type: full\ndeepspeed: examples/deepspeed/ds_z2_config.json\nper_device_train_batch_size: 1\nbf16: true\n";
    // A quarter of 4 bytes for each parameter, by which four ranks hold 28 GiB each; of two ranks each would hold 57.
    let four = report(&[("job.log", &log("7.09 GiB")), ("full.yaml", config)])?;
    assert!(diff(&four)?.contains("+deepspeed: examples/deepspeed/ds_z3_config.json"), "{}", diff(&four)?);
    let two = report(&[("job.log", &log("14.19 GiB")), ("full.yaml", config)])?;
    assert!(!diff(&two)?.contains("ds_z3_config.json"), "{}", diff(&two)?);
    Ok(())
}

#[test]
fn whole_matrices_beside_adapters_go_first() -> Outcome {
    let log = stack(&[
        ("/w/tune.py", "<module>", "trainer.train()"),
        ("transformers/trainer.py", "_inner_training_loop", "self.optimizer.step()"),
        ("torch/optim/adamw.py", "_init_group", "state[\"exp_avg_sq\"] = torch.zeros_like("),
    ]) + &refused("1.96 GiB", 23.6);
    let script = |saved: &str| {
        format!(
            "from peft import LoraConfig, get_peft_model\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained(\"org/base-8b\")\nmodel = get_peft_model(model, LoraConfig(r=8{saved}))\ntrainer = Trainer(model=model, args=TrainingArguments(output_dir=\"o\", bf16=True))\ntrainer.train()\n"
        )
    };
    let whole = script(", modules_to_save=[\"embed_tokens\", \"lm_head\"]");
    assert_eq!(first(&report(&[("job.log", &log), ("tune.py", &whole)])?)?.0, "LoraConfig.modules_to_save");
    let plain = report(&[("job.log", &log), ("tune.py", &script(""))])?;
    assert!(!turned(&plain)?.contains(&"LoraConfig.modules_to_save"), "{:?}", turned(&plain)?);
    // The tokens that are added must be learned.
    let added = whole.clone() + "model.resize_token_embeddings(len(tok))\n";
    let added = report(&[("job.log", &log), ("tune.py", &added)])?;
    assert!(!turned(&added)?.contains(&"LoraConfig.modules_to_save"), "{:?}", turned(&added)?);
    Ok(())
}
