//! What the code of a program of one's own does or leaves out decides what is proposed.

use std::error::Error;

use crate::support::analyzed::{cause, report, root, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 44.42 GiB of which 301.31 MiB is free. Including non-PyTorch memory, this process has 44.12 GiB memory in use. Of the allocated memory 43.50 GiB is allocated by PyTorch, and 120.44 MiB is reserved by PyTorch but unallocated.\n";

/// A stack that ends at `code` in `function` of `train.py`.
fn stack(function: &str, code: &str, below: &str) -> String {
    format!(
        "Traceback (most recent call last):\n  File \"/w/train.py\", line 39, in <module>\n    train()\n  File \"/w/train.py\", line 19, in {function}\n    {code}\n  File \"/v/site-packages/{below}\n    return self.act(input)\n{OOM}"
    )
}

const MODEL: &str = "from transformers import AutoModel\nenc = AutoModel.from_pretrained(\"org/m\").cuda()\n";
const BERT: &str = "transformers/activations.py\", line 69, in forward";

#[test]
fn an_evaluation_that_keeps_its_graphs_is_told_to_keep_none() -> Outcome {
    let log = format!("ep 0 step 200 loss 0.77\nvalidating ...\n{}", stack("validate", "h = enc(**b)", BERT));
    let validate = "def validate(loader):\n    enc.eval()\n    for b in loader:\n        h = enc(**b)\n";
    let script = format!("{MODEL}{validate}def train():\n    validate(1)\ntrain()\n");
    let kept = report(&[("job.log", &log), ("train.py", &script)])?;
    assert_eq!(turned(&kept)?.first(), Some(&"torch.no_grad()"));
    let script = script.replace("def validate", "@torch.no_grad()\ndef validate");
    let free = report(&[("job.log", &log), ("train.py", &script)])?;
    assert!(!turned(&free)?.contains(&"torch.no_grad()"), "{:?}", turned(&free)?);
    Ok(())
}

#[test]
fn memory_that_grows_evenly_is_kept_by_the_script() -> Outcome {
    let steps: String = [4.61, 7.70, 10.81, 13.92, 17.01]
        .iter()
        .zip(0..)
        .fold(String::new(), |log, (gib, step)| log + &format!("epoch 0 iter {} loss 5.0 mem {gib}GiB\n", step * 200));
    let log = steps + &stack("train", "out = model(x)", "timm/layers/mlp.py\", line 44, in forward");
    let loop_of = |kept: &str| format!("def train():\n    for x in loader:\n        loss = model(x)\n        {kept}\n");
    let grows = report(&[("job.log", &log), ("train.py", &loop_of("running += loss"))])?;
    let (cause, knobs) = (cause(&grows)?, turned(&grows)?);
    assert_eq!((cause, knobs.first()), ("gpu_memory_growth", Some(&"tensor.detach()")));
    assert!(root(&grows)?.diagnoses[0].evidence.iter().any(|cite| cite.text == "running += loss"));
    // A number is no tensor.
    let number = report(&[("job.log", &log), ("train.py", &loop_of("running += loss.item()"))])?;
    assert!(!root(&number)?.diagnoses[0].evidence.iter().any(|cite| cite.text.contains("running")));
    Ok(())
}

#[test]
fn one_process_that_python_starts_has_nothing_to_shard_over() -> Outcome {
    let adam = "torch/optim/adam.py\", line 176, in _init_group";
    let log = stack("train", "opt.step()", adam)
        .replace("return self.act(input)", "state[\"exp_avg_sq\"] = torch.zeros_like(");
    let script = format!("{MODEL}opt = torch.optim.AdamW(enc.parameters())\ndef train():\n    opt.step()\ntrain()\n");
    let alone = report(&[("job.log", &log), ("train.py", &script), ("launch.sh", "python train.py\n")])?;
    let (cause, knobs) = (cause(&alone)?, turned(&alone)?);
    assert_eq!((cause, knobs.first()), ("optimizer_states_on_gpu", Some(&"bitsandbytes.optim.AdamW8bit")));
    assert!(!knobs.contains(&"DeepSpeed ZeRO-3 or FSDP"), "{knobs:?}");
    let many =
        report(&[("job.log", &log), ("train.py", &script), ("launch.sh", "torchrun --nproc_per_node 8 train.py\n")])?;
    assert!(turned(&many)?.iter().any(|knob| knob.contains("FSDP") || knob.contains("zero")), "{:?}", turned(&many)?);
    Ok(())
}

#[test]
fn weights_that_are_loaded_in_32_bits_are_loaded_in_16() -> Outcome {
    let to = "torch/nn/modules/module.py\", line 1341, in convert";
    let log = format!(
        "Loading checkpoint shards: 100%|██████████| 2/2 [00:09<00:00,  4.61s/it]\n{}",
        stack("train", "model.to(\"cuda\")", to)
    );
    let script = "from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained(\"org/m-7b\")\nmodel.to(\"cuda\")\n";
    let loaded = report(&[("job.log", &log), ("train.py", script), ("launch.sh", "python train.py\n")])?;
    assert_eq!(loaded.job.framework.as_deref(), Some("transformers"));
    let (cause, knobs) = (cause(&loaded)?, turned(&loaded)?);
    assert_eq!(cause, "weights_do_not_fit");
    assert!(knobs[0].starts_with("from_pretrained.") && knobs[0].contains("dtype"), "{knobs:?}");
    Ok(())
}

#[test]
fn a_step_far_above_the_peak_of_all_before_had_an_unusual_sample() -> Outcome {
    let large = |log: String| {
        log.replace("512.00 MiB. GPU", "16.00 GiB. GPU").replace("301.31 MiB", "6.30 GiB").replace("44.12", "38.11")
    };
    let failed = stack("train", "loss = model(**b)", "transformers/models/t5/modeling_t5.py\", line 548, in forward");
    let steps = "step 2100 src (8, 702) loss 0.911 peak 21.2GB\nstep 2150 src (8, 655) loss 0.874 peak 21.2GB\n";
    let outlier = report(&[("job.log", &large(format!("{steps}{failed}")))])?;
    assert_eq!(cause(&outlier)?, "long_sequence_outlier");
    // What earlier steps had needed as well is no exception.
    let steps = steps.replace("21.2GB", "41.0GB");
    let usual = report(&[("job.log", &large(format!("{steps}{failed}")))])?;
    assert_eq!(cause(&usual)?, "activations_too_large");
    Ok(())
}

#[test]
fn a_program_that_holds_all_of_its_data_is_told_to_hold_less() -> Outcome {
    let stack = |code: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"/w/extract.py\", line 126, in load_data\n    {code}\nMemoryError\n"
        )
    };
    let whole = report(&[("job.log", &stack("data = np.array(features)"))])?;
    assert_eq!(turned(&whole)?.first(), Some(&"less of the data at once"));
    let many =
        stack("rows = pool.map(read_row, names)").replace("MemoryError", "OSError: [Errno 12] Cannot allocate memory");
    assert_ne!(turned(&report(&[("job.log", &many)])?)?.first(), Some(&"less of the data at once"));
    Ok(())
}
