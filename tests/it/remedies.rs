//! Incidents whose remedy is known: what proves the cause, and what is proposed first.

use std::error::Error;

use oomdoc::model::{FigureName, Phase};

use crate::support::analyzed::{cause, diff, refused, report, root, stack, turned};

type Outcome = Result<(), Box<dyn Error>>;

/// The first frames of a script that asks a reference model at `line`.
fn reference(line: &str) -> String {
    stack(&[
        ("/w/prefer.py", "<module>", line),
        (
            "transformers/models/llama/modeling_llama.py",
            "forward",
            "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))",
        ),
    ]) + &refused("64.00 MiB", 44.42)
}

const LOAD: &str = "import torch\nfrom transformers import AutoModelForCausalLM\npolicy = AutoModelForCausalLM.from_pretrained(\"org/m\")\nref_model = AutoModelForCausalLM.from_pretrained(\"org/m\")\nopt = torch.optim.AdamW(policy.parameters())\n";

#[test]
fn a_reference_model_is_asked_without_a_graph() -> Outcome {
    let asked = "want = ref_model(**batch).logits";
    let own = "have = policy(**batch).logits";
    let script = |asked: &str| {
        format!(
            "{LOAD}for batch in loader:\n    {own}\n    {asked}\n    loss = prefer(have, want)\n    loss.backward()\n"
        )
    };
    let log = reference(asked);
    let kept = report(&[("job.log", &log), ("prefer.py", &script(asked))])?;
    assert_eq!(turned(&kept)?.first(), Some(&"torch.no_grad()"));
    let written = diff(&kept)?;
    assert!(written.contains("+    with torch.no_grad():\n+        want = ref_model(**batch).logits\n"), "{written}");
    // What learns, what is made, and what is settled already stays as it is.
    for settled in [
        "with torch.no_grad():\n        want = ref_model(**batch).logits",
        "ref_model = prepare(ref_model)",
        "want = compare(ref_model(**batch).logits, policy(**batch).logits)",
        // The gradient of what another model gave has to pass.
        "made = generator(batch.noise)\n    want = ref_model(made).logits",
        "owner = weakref.ref(policy)",
        "for part in batch: want = ref_model(**part).logits",
    ] {
        let free = report(&[("job.log", &reference(own)), ("prefer.py", &script(settled))])?;
        assert!(!diff(&free)?.contains("with torch.no_grad"), "{settled}: {}", diff(&free)?);
    }
    let frozen = script(asked).replace("opt =", "ref_model.requires_grad_(False)\nopt =");
    let free = report(&[("job.log", &log), ("prefer.py", &frozen)])?;
    assert!(!diff(&free)?.contains("with torch.no_grad"), "{}", diff(&free)?);
    Ok(())
}

#[test]
fn a_block_that_may_make_a_graph_is_none_without() -> Outcome {
    let line = "out = model(**batch)";
    let script = |block: &str| {
        format!(
            "import torch\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained(\"org/m\").cuda()\nopt = torch.optim.AdamW(model.parameters())\nfor batch in loader:\n    with {block}:\n        {line}\n    out.loss.backward()\n    opt.step()\n"
        )
    };
    let turned = |block: &str| -> Result<Vec<String>, Box<dyn Error>> {
        let told = report(&[("job.log", &reference(line)), ("prefer.py", &script(block))])?;
        Ok(turned(&told)?.into_iter().map(str::to_owned).collect())
    };
    let recomputes = |knobs: &[String]| knobs.iter().any(|knob| knob.contains("checkpoint"));
    assert!(recomputes(&turned("torch.set_grad_enabled(training)")?));
    assert!(!recomputes(&turned("torch.no_grad()")?));
    Ok(())
}

#[test]
fn statements_that_follow_each_other_share_a_block() -> Outcome {
    let asked = "chosen = ref_model(**batch.chosen).logits";
    let script = format!(
        "{LOAD}for batch in loader:\n    have = policy(**batch)\n    {asked}\n    refused = ref_model(\n        **batch.refused\n    ).logits\n    loss = prefer(have, chosen, refused)\n    loss.backward()\n"
    );
    let written = diff(&report(&[("job.log", &reference(asked)), ("prefer.py", &script)])?)?;
    assert_eq!(written.matches("with torch.no_grad():").count(), 1, "{written}");
    assert!(written.contains("+            **batch.refused\n+        ).logits\n"), "{written}");
    Ok(())
}

#[test]
fn a_profiling_pass_is_told_by_the_message_alone() -> Outcome {
    let oom = refused("19.63 GiB", 79.15);
    let line = format!(
        "(VllmWorkerProcess pid=214) ERROR 03-01 10:00:38 multiproc_worker_utils.py:233] Exception in worker VllmWorkerProcess while processing method determine_num_available_blocks: {}",
        oom.trim_start_matches("torch.OutOfMemoryError: ")
    );
    let profiled = report(&[("job.log", &line)])?;
    assert_eq!(cause(&profiled)?, "activations_too_large");
    // No cache exists yet: its share decides nothing.
    assert!(!turned(&profiled)?.contains(&"--gpu-memory-utilization"), "{:?}", turned(&profiled)?);
    Ok(())
}

#[test]
fn a_tensor_s_size_follows_from_its_shape_and_type() -> Outcome {
    let line = "OOM when allocating tensor with shape[150,256,160,160] and type half on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc";
    let refused = report(&[("job.log", line)])?;
    let figures = &root(&refused)?.figures;
    let requested = figures.iter().find(|figure| figure.name == FigureName::Requested).ok_or("no request")?;
    assert_eq!(requested.bytes.map(|bytes| bytes.0), Some(150 * 256 * 160 * 160 * 2));
    let derived = requested.derived.as_ref().ok_or("not derived")?;
    assert_eq!(derived.formula, "150 × 256 × 160 × 160 × 2 bytes");
    Ok(())
}

#[test]
fn a_container_s_limit_stands_below_both_of_its_ends() -> Outcome {
    let status = "    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n      Started:      Wed, 15 Jul 2026 15:00:35 +0800\n      Finished:     Wed, 15 Jul 2026 15:00:57 +0800\n    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n      Started:      Wed, 15 Jul 2026 14:59:57 +0800\n      Finished:     Wed, 15 Jul 2026 15:00:22 +0800\n    Ready:          False\n    Restart Count:  2\n    Limits:\n      cpu:     100m\n      memory:  300Mi\n";
    let killed = report(&[("job.log", status)])?;
    let figures = &root(&killed)?.figures;
    assert!(figures.iter().any(|figure| figure.name == FigureName::MemcgLimit && figure.text == "300Mi"));
    Ok(())
}

#[test]
fn a_data_loader_s_worker_is_read_though_its_pid_or_signal_is_left_out() -> Outcome {
    for line in [
        "RuntimeError: DataLoader worker (pid xxx) is killed by signal: Killed.",
        "DataLoader worker (pid XXXX) is killed by signal",
        "One of the subprocesses hasabruptly died during map operation。",
    ] {
        let died = report(&[("job.log", line)])?;
        let incident = root(&died)?;
        assert_eq!(incident.kind.as_str(), "sigkill_unattributed", "{line}");
    }
    Ok(())
}

#[test]
fn a_full_gpu_beside_a_free_one_is_the_wrong_one() -> Outcome {
    let row = |index: u32, used: &str| {
        format!(
            "|   {index}  Tesla V100-SXM2...  On   | 00000000:00:0{index}.0 Off |                    0 |\n| N/A   54C    P0   246W / 300W |  {used}MiB / 16130MiB |    100%      Default |\n+-------------------------------+----------------------+----------------------+\n"
        )
    };
    let table = format!("{}{}RuntimeError: CUDA error: out of memory\n", row(0, "15514"), row(1, "    0"));
    let busy = report(&[("job.log", &table)])?;
    assert_eq!(cause(&busy)?, "gpu_shared_with_others");
    let alike = format!("{}{}RuntimeError: CUDA error: out of memory\n", row(0, " 9514"), row(1, " 9200"));
    assert_ne!(cause(&report(&[("job.log", &alike)])?)?, "gpu_shared_with_others");
    Ok(())
}

#[test]
fn a_buffer_for_keys_and_values_is_the_cache() -> Outcome {
    let oom = refused("1.14 GiB", 79.35);
    let line = "self.value_buffer = [torch.empty((size, head_num, head_dim), dtype=dtype, device=\"cuda\") for _ in range(layer_num)]";
    let refused = report(&[("job.log", &format!("    {line}\n{oom}"))])?;
    assert_eq!(cause(&refused)?, "kv_cache_overcommit");
    Ok(())
}

#[test]
fn a_data_set_among_the_arguments_is_not_what_filled_a_gpu() -> Outcome {
    let oom = refused("86.00 MiB", 14.75);
    let log = format!(
        "Training:  18%|█▊        | 1935/10920 [17:45<1:13:32,  2.04it/s, loss=0.081]\nTraceback (most recent call last):\n  File \"/w/run.py\", line 6, in <module>\n    results = model.train(dataset=\"hub://answers\")\n{oom}"
    );
    let trained = report(&[("job.log", &log)])?;
    let phase = root(&trained)?.phase.name;
    assert_ne!(phase, Phase::DataLoading);
    Ok(())
}

#[test]
fn a_fork_is_refused_for_what_it_promises() -> Outcome {
    let log = "Traceback (most recent call last):\n  File \"/usr/lib/python3/site-packages/gunicorn/arbiter.py\", line 590, in spawn_workers\n    self.spawn_worker()\n  File \"/usr/lib/python3/site-packages/gunicorn/arbiter.py\", line 546, in spawn_worker\n    pid = os.fork()\nOSError: [Errno 12] Cannot allocate memory\n";
    let forked = report(&[("job.log", log)])?;
    assert_eq!(root(&forked)?.phase.name, Phase::Setup);
    assert_eq!(turned(&forked)?.first(), Some(&"vm.overcommit_memory"));
    Ok(())
}

#[test]
fn a_tokenizer_s_trainer_is_told_to_draw_sentences() -> Outcome {
    let log = "trainer_interface.cc(235) LOG(INFO) Done! 5200000 sentences are loaded\nunigram_model_trainer.cc(117) LOG(INFO) Using 2000000 sentences for making seed sentencepieces\nterminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n";
    let script = "spm_train --input=corpus.txt --model_prefix=spm --vocab_size=32000\n";
    let held = report(&[("job.log", log), ("launch.sh", script)])?;
    assert_eq!(cause(&held)?, "dataloader_memory");
    assert!(diff(&held)?.contains("--input_sentence_size=1000000 --shuffle_input_sentence"), "{}", diff(&held)?);
    Ok(())
}
