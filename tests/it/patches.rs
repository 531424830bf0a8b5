//! A patch changes one setting of the user's file to the value it states, and nothing else: for every case of `corpus/`
//! and for random configurations.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use oomdoc::Options;
use oomdoc::internal::config::{Document, Format};
use oomdoc::internal::model::{Edit, Given};
use oomdoc::internal::source::Input;
use oomdoc::model::{Patch, Report, Scalar};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Values by kind and key, in the order of the file: a key may occur several times.
fn settings(document: &Document) -> BTreeMap<(String, String), Vec<String>> {
    let mut settings: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for entry in document.entries() {
        let key = (format!("{:?}", entry.kind), entry.key.clone());
        settings.entry(key).or_default().push(entry.value.to_string());
    }
    settings
}

fn plain(name: &str) -> String {
    name.trim_start_matches(['-', '+']).replace('-', "_")
}

/// What is wrong with `patch` for a file whose text was `before`; none where the patch edits no file.
fn fault(before: &str, patch: &Patch) -> Outcome<Option<String>> {
    let Some(file) = &patch.file else { return Ok(None) };
    let after = oomdoc::internal::patch::apply(Format::of_file(file, before), file, before, &patch.edits);
    let after = after.ok_or_else(|| format!("{} cannot be written into {file}", patch.knob))?;
    fault_of(file, before, &after, patch)
}

/// What is wrong with `patch` if it turns `before` into `after`.
fn fault_of(file: &str, before: &str, after: &str, patch: &Patch) -> Outcome<Option<String>> {
    let (old, new) = (Document::read(file, before)?, Document::read(file, after)?);
    let (was, is) = (settings(&old), settings(&new));
    let keys: std::collections::BTreeSet<_> = was.keys().chain(is.keys()).collect();
    let changed: Vec<_> = keys.into_iter().filter(|key| was.get(*key) != is.get(*key)).collect();
    // A variable that holds options counts once as a whole and once for each option.
    let holds_another =
        |(_, key): &(String, String)| changed.iter().any(|(_, other)| other.starts_with(&format!("{key}.")));
    // And an option of a command that a YAML file lists, also as an element of that list.
    let has_flag = changed.iter().any(|(kind, _)| kind == "Flag");
    let is_listed = |(kind, key): &(String, String)| has_flag && kind == "Setting" && key.ends_with(']');
    let changed: Vec<_> = changed.iter().filter(|key| !holds_another(key) && !is_listed(key)).collect();
    let value = patch.edits.first().map(|edit| edit.to.to_string()).unwrap_or_default();
    let partners = patch.with.iter().map(|partner| (partner.knob.as_str(), partner.to.to_string()));
    let wanted: Vec<(&str, String)> = [(patch.knob.as_str(), value)].into_iter().chain(partners).collect();
    // A call behind what is kept from step to step is no setting.
    let without_call = |text: &str| text.replace(".detach().cpu()", "").replace(".detach()", "");
    if changed.is_empty() && patch.knob == "tensor.detach()" {
        return Ok((without_call(before) != without_call(after)).then(|| "it changes more than the call".to_owned()));
    }
    if changed.len() != wanted.len() {
        return Ok(Some(format!("it changes {changed:?}")));
    }
    Ok(changed.into_iter().find_map(|(kind, key)| {
        // The file may give the knob by its last steps only, or by one of its other names.
        let last = |name: &str| name.rsplit(['.', ':']).next().unwrap_or_default().to_owned();
        // A call of a method reads as the option that it sets.
        let is_called =
            |knob: &str| knob.strip_suffix("()").is_some_and(|call| key.contains(&format!(".{}:", last(call))));
        let is_named = |knob: &str| last(&plain(key)) == last(&plain(knob)) || is_called(knob);
        let Some((_, to)) = wanted.iter().find(|(knob, _)| is_named(knob)) else {
            return Some(format!("it changes {kind} {key}"));
        };
        let values = is.get(&(kind.clone(), key.clone())).cloned().unwrap_or_default();
        let is_said = values.iter().any(|value| value == to || number(value) == number(to));
        // Switching a flag off removes it.
        let is_gone = values.is_empty() && to == "false";
        (!is_said && !is_gone).then(|| format!("{key} is {values:?}"))
    }))
}

fn number(value: &str) -> Option<String> {
    value.parse::<f64>().ok().map(|number| number.to_string())
}

fn patches(report: &Report) -> impl Iterator<Item = &Patch> {
    report.incidents.iter().flat_map(|incident| &incident.diagnoses).flat_map(|diagnosis| &diagnosis.patches)
}

#[test]
fn every_patch_of_the_corpus_changes_what_it_says_and_nothing_else() -> Outcome<()> {
    let mut edits = 0;
    for case in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus"))? {
        let path = case?.path();
        let report = oomdoc::analyze(&[path.to_string_lossy().into_owned()], &Options::default());
        for patch in report.iter().flat_map(patches) {
            let Some(file) = &patch.file else { continue };
            let fault = fault(&fs::read_to_string(file)?, patch)?;
            assert_eq!(fault, None, "{file}: {}", patch.knob);
            edits += 1;
        }
    }
    assert!(edits >= 20, "{edits}");
    Ok(())
}

/// A DeepSpeed configuration: any subset of the relevant settings, in any order and layout, with unknown settings
/// between them.
fn deepspeed() -> impl Strategy<Value = String> {
    let zero = proptest::sample::subsequence(
        vec![
            "\"overlap_comm\": true",
            "\"contiguous_gradients\": true",
            "\"reduce_bucket_size\": 5e8",
            "\"sub_group_size\": 1000000000",
            "\"stage3_max_live_parameters\": 1e9",
            "\"offload_param\": {\"device\": \"none\"}",
            "\"nobody_knows\": [1, 2]",
        ],
        0..7,
    );
    let top = proptest::sample::subsequence(
        vec![
            "\"gradient_clipping\": 1.0",
            "\"train_micro_batch_size_per_gpu\": 2",
            "\"gradient_accumulation_steps\": 4",
            "\"data_types\": {\"grad_accum_dtype\": \"fp32\"}",
            "\"wall_clock_breakdown\": false",
        ],
        0..5,
    );
    let device = prop_oneof![Just("cpu"), Just("none")];
    let layout = (prop_oneof![Just("\n"), Just("\n    "), Just(" "), Just("\n\t")], any::<bool>());
    (zero.prop_shuffle(), top.prop_shuffle(), 2..=3u8, device, any::<bool>(), layout).prop_map(
        |(zero, top, stage, device, pin, (space, is_last))| {
            let offload = format!("\"offload_optimizer\": {{\"device\": \"{device}\", \"pin_memory\": {pin}}}");
            let mut members: Vec<String> = zero.into_iter().map(str::to_owned).collect();
            members.extend([offload, format!("\"stage\": {stage}")]);
            let zero = format!("\"zero_optimization\": {{{space}{}{space}}}", members.join(&format!(",{space}")));
            let mut top: Vec<String> = top.into_iter().map(str::to_owned).collect();
            top.push("\"bf16\": {\"enabled\": true}".to_owned());
            top.insert(if is_last { top.len() } else { 0 }, zero);
            format!("{{{space}{}\n}}\n", top.join(&format!(",{space}")))
        },
    )
}

/// A launch script: flags in any order, with or without `=`, on one line or several.
fn script() -> impl Strategy<Value = String> {
    let flags = proptest::sample::subsequence(
        vec![
            ("--gradient_checkpointing", ""),
            ("--adam_offload", ""),
            ("--flash_attn", ""),
            ("--packing_samples", ""),
            ("--max_len", "4096"),
            ("--learning_rate", "5e-6"),
            ("--input_template", "'User: {}\\n# no comment'"),
            ("--grad_accum_dtype", "fp32"),
        ],
        0..8,
    );
    let layout = (any::<bool>(), prop_oneof![Just(" \\\n    "), Just(" ")], any::<bool>());
    (flags.prop_shuffle(), 1..=8u32, 2..=3u8, layout).prop_map(
        |(flags, batch, stage, (equals, space, has_variable))| {
            let batch_written = if has_variable { "$MBS".to_owned() } else { batch.to_string() };
            let fixed = [("--pretrain", "meta-llama/Meta-Llama-3-8B".to_owned()), ("--bf16", String::new())];
            let set = [("--micro_train_batch_size", batch_written), ("--zero_stage", stage.to_string())];
            let chosen = flags.into_iter().map(|(flag, value)| (flag, value.to_owned()));
            let written = fixed.into_iter().chain(set).chain(chosen).map(|(flag, value)| match (&*value, equals) {
                ("", _) => flag.to_owned(),
                (value, true) => format!("{flag}={value}"),
                (value, false) => format!("{flag} {value}"),
            });
            let words: Vec<String> = written.collect();
            format!(
                "#!/bin/bash\nMBS={batch}  # sequences\ndeepspeed --module openrlhf.cli.train_sft{space}{}\n",
                words.join(space)
            )
        },
    )
}

/// Analyses the log of `case` with `text` as its configuration `name`, and returns what is wrong with any patch of it.
fn tried(case: &str, name: &str, text: &str, edits: &mut u32) -> Outcome<Option<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(case);
    let mut inputs = Vec::new();
    for log in ["job.log", "dmesg.log"] {
        if let Ok(bytes) = fs::read(folder.join(log)) {
            inputs.push(Input::new(log, Cursor::new(bytes))?);
        }
    }
    inputs.push(Input::new(name, Cursor::new(text.as_bytes().to_vec()))?);
    let report = oomdoc::internal::analyze_inputs(inputs, Vec::new(), &Options::default())?;
    for patch in patches(&report).filter(|patch| patch.file.is_some()) {
        *edits += 1;
        if let Some(fault) = fault(text, patch)? {
            return Ok(Some(format!("{}: {fault}\n{text}", patch.knob)));
        }
    }
    Ok(None)
}

/// Tries configurations from `made` with the log of `case`; most of them must have been edited.
fn hold(case: &str, name: &str, made: impl Strategy<Value = String>) -> Outcome<()> {
    const CASES: u32 = 24;
    let edits = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    runner.run(&made, |text| {
        let mut count = edits.get();
        let tried = tried(case, name, &text, &mut count);
        edits.set(count);
        match tried.map_err(|error| TestCaseError::fail(error.to_string()))? {
            Some(fault) => Err(TestCaseError::fail(fault)),
            None => Ok(()),
        }
    })?;
    assert!(edits.get() >= CASES, "{}", edits.get());
    Ok(())
}

#[test]
fn deepspeed_configurations_made_at_random_are_changed_in_one_place() -> Outcome<()> {
    hold("deepspeed-zero2-offload-killed-in-step", "ds_config.json", deepspeed())
}

#[test]
fn launch_scripts_made_at_random_are_changed_in_one_place() -> Outcome<()> {
    hold("llama3-8b-optimizer-step", "launch.sh", script())
}

fn knobs(report: &Report) -> Vec<String> {
    patches(report).map(|patch| patch.knob.clone()).collect()
}

fn of_case(case: &str) -> Outcome<Report> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(case);
    Ok(oomdoc::analyze(&[path.to_string_lossy().into_owned()], &Options::default())?)
}

#[test]
fn what_cannot_help_is_not_proposed() -> Outcome<()> {
    for (case, useless) in [
        // A single rank has nothing to shard with.
        ("llama3-8b-optimizer-step", &["--ds_tensor_parallel_size", "--zero_stage"][..]),
        // The engine always sleeps.
        ("easyr1-7b-vl-offload", &["--enable-sleep-mode"]),
        // These save memory of the GPU, but the host ran out.
        ("ray-monitor-kills-actor", &["TORCH_NCCL_AVOID_RECORD_STREAMS", "CUDA_VISIBLE_DEVICES"]),
        ("kubernetes-oomkilled", &["--memory", "--shm-size"]),
        ("slurm-step-out-of-memory", &["--memory"]),
        // Not even a single sequence fits.
        ("vllm-kv-cache-too-small", &["--max-num-seqs"]),
        ("mps-model-load", &["fully_shard()", "CPUOffloadPolicy"]),
        // The log shows no data loader and no optimizer.
        ("kubernetes-evicted", &["DataLoader.num_workers", "--num_envs"]),
        ("cuda-malloc-async", &["DataLoader.batch_size", "fully_shard()", "torch.optim.AdamW.foreach"]),
        // One process saves the gathered weights: neither an engine nor NCCL's buffers are involved.
        ("fsdp-full-state-dict-on-gpu", &["NCCL_BUFFSIZE", "--gpu_memory_utilization"]),
        ("jax-train-step", &["torch.utils.checkpoint.checkpoint()", "DataLoader.batch_size"]),
        ("tensorflow-convolution", &["torch.utils.checkpoint.checkpoint()", "DataLoader.batch_size"]),
    ] {
        let found = knobs(&of_case(case)?);
        assert!(!found.is_empty(), "{case}");
        assert!(!found.iter().any(|knob| useless.contains(&knob.as_str())), "{case}: {found:?}");
    }
    Ok(())
}

/// Where FSDP shards a Trainer's job, DeepSpeed's options have no effect.
#[test]
fn nothing_of_deepspeed_is_proposed_where_fsdp_shards() -> Outcome<()> {
    const LOG: &str = r#"Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/transformers/trainer.py", line 2541, in _inner_training_loop
    self.optimizer.step()
  File "/opt/venv/lib/python3.11/site-packages/torch/optim/adamw.py", line 175, in _init_group
    state["exp_avg_sq"] = torch.zeros_like(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB. GPU 2 has a total capacity of 79.15 GiB of which 411.88 MiB is free. Process 8821 has 78.74 GiB memory in use. Of the allocated memory 76.90 GiB is allocated by PyTorch, and 1.09 GiB is reserved by PyTorch but unallocated.
"#;
    let launched = |sharding: &str| -> Outcome<Vec<String>> {
        let script = format!("torchrun --nproc_per_node 8 sft.py --per_device_train_batch_size 2 {sharding}\n");
        let inputs = vec![Input::new("job.log", Cursor::new(LOG))?, Input::new("launch.sh", Cursor::new(script))?];
        Ok(knobs(&oomdoc::internal::analyze_inputs(inputs, Vec::new(), &Options::default())?))
    };
    let is_of_deepspeed = |knob: &String| knob.starts_with("zero_optimization");
    let (fsdp, deepspeed) = (launched("--fsdp full_shard")?, launched("--deepspeed ds.json")?);
    assert!(!fsdp.iter().any(is_of_deepspeed), "{fsdp:?}");
    assert!(deepspeed.iter().any(is_of_deepspeed), "{deepspeed:?}");
    Ok(())
}

#[test]
fn the_length_that_the_log_states_is_proposed() -> Outcome<()> {
    let report = of_case("vllm-kv-cache-too-small")?;
    let log =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/vllm-kv-cache-too-small/serve.log"))?;
    let length = patches(&report).find(|patch| patch.knob == "--max-model-len").ok_or("no length")?;
    let Some(Scalar::Integer(to)) = length.to else { return Err("a length is a number".into()) };
    assert!(log.contains(&format!("estimated maximum model length is {to}")), "{to}");
    Ok(())
}

#[test]
fn a_patch_says_what_is_needed_then() -> Outcome<()> {
    let report = of_case("llama3-8b-optimizer-step")?;
    let offload = patches(&report).find(|patch| patch.knob == "--adam_offload").ok_or("no offload")?;
    let need = offload.needs.gpu.ok_or("no need")?;
    assert_eq!(need.to_string(), "15.94 of 79.15 GiB");
    Ok(())
}

/// Where the log shows an eighth of the memory that the configuration should need, no saving is estimated.
#[test]
fn what_the_log_refutes_prices_nothing() -> Outcome<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/llama3-8b-optimizer-step");
    let log = fs::read_to_string(folder.join("job.log"))?;
    let analyzed = |log: String| -> Outcome<Report> {
        let script = fs::read(folder.join("launch.sh"))?;
        let inputs = vec![Input::new("job.log", Cursor::new(log))?, Input::new("launch.sh", Cursor::new(script))?];
        Ok(oomdoc::internal::analyze_inputs(inputs, Vec::new(), &Options::default())?)
    };
    let (sound, refuted) = (analyzed(log.clone())?, analyzed(log.replace("75.95 GiB", "9.49 GiB"))?);
    let first = |report: &Report| report.incidents.first().and_then(|incident| incident.diagnoses.first().cloned());
    let (sound, said) = (first(&sound).ok_or("no cause")?, first(&refuted).ok_or("no cause")?);
    assert!(sound.patches.iter().any(|patch| patch.effect.gpu_bytes.is_some()));
    assert!(said.patches.iter().all(|patch| patch.effect.gpu_bytes.is_none() && patch.needs.gpu.is_none()));
    assert_eq!(said.cause, sound.cause);
    assert!(said.confidence < 0.9 * sound.confidence, "{} {}", said.confidence, sound.confidence);
    let explains = refuted.incidents.first().and_then(|incident| incident.memory.explains.as_deref());
    assert!(explains.is_some_and(|words| words.starts_with("9.49 GiB was held")), "{explains:?}");
    Ok(())
}

#[test]
fn a_fault_is_noticed() -> Outcome<()> {
    let (before, after) = ("{\"a\": 1, \"b\": 2}", "{\"a\": 1, \"b\": 3}");
    let patch = |knob: &str, to: i64| -> Outcome<Patch> {
        let patch = serde_json::json!({
            "lever": "other", "knob": knob, "from": null, "to": to, "target": "json", "file": "c.json", "diff": null,
            "effect": {"gpu_bytes": null, "host_bytes": null}, "cost": null, "constraint": null,
        });
        let mut patch: Patch = serde_json::from_value(patch)?;
        patch.edits = vec![Edit {
            file: "c.json".into(),
            key: knob.to_owned(),
            to: Scalar::Integer(to),
            given: Given::Setting,
            command: None,
        }];
        Ok(patch)
    };
    assert_eq!(fault_of("a.json", before, after, &patch("b", 3)?)?, None);
    assert_eq!(fault(before, &patch("b", 3)?)?, None);
    assert!(fault_of("a.json", before, after, &patch("a", 3)?)?.is_some());
    assert!(fault_of("a.json", before, after, &patch("b", 4)?)?.is_some());
    assert!(fault_of("a.json", before, "{\"b\": 3}", &patch("b", 3)?)?.is_some());
    Ok(())
}

/// Moving Adam back to the GPUs would free the host, but overfill each GPU.
#[test]
fn what_fills_a_device_is_not_what_is_proposed() -> Outcome<()> {
    let report = of_case("openrlhf-72b-resume")?;
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first()).ok_or("no cause")?;
    let moved = first.patches.first().and_then(|patch| patch.effect.gpu_bytes);
    assert!(moved.is_none_or(|moved| moved.0 <= 0), "{moved:?}");
    Ok(())
}

/// PyTorch's allocator refuses an option that it does not know: the job would not start.
#[test]
fn an_option_is_of_the_version_that_printed_the_message() -> Outcome<()> {
    const BEGIN: &str = r#"Traceback (most recent call last):
  File "train.py", line 71, in <module>
    loss.backward()
  File "/opt/conda/lib/python3.8/site-packages/torch/_tensor.py", line 307, in backward
    torch.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)
"#;
    const OLD: &str = "RuntimeError: CUDA out of memory. Tried to allocate 1.16 GiB (GPU 3; 39.59 GiB total capacity; 21.02 GiB already allocated; 812.62 MiB free; 37.40 GiB reserved in total by PyTorch)\n";
    const OLDEST: &str = "RuntimeError: CUDA out of memory. Tried to allocate 1.16 GiB (GPU 3; 10.73 GiB total capacity; 4.41 GiB already allocated; 812.62 MiB free; 5.31 GiB cached)\n";
    const NEW: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 3 has a total capacity of 39.59 GiB of which 812.62 MiB is free. Process 4711 has 38.80 GiB memory in use. Of the allocated memory 21.02 GiB is allocated by PyTorch, and 16.38 GiB is reserved by PyTorch but unallocated.\n";
    // It takes over the words of PyTorch's older versions.
    const NPU: &str = "RuntimeError: NPU out of memory. Tried to allocate 1.16 GiB (NPU 3; 60.97 GiB total capacity; 31.02 GiB already allocated; 31.02 GiB current active; 812.62 MiB free; 58.40 GiB reserved in total by PyTorch)\n";
    let options = |log: String| -> Outcome<(bool, bool)> {
        let inputs = vec![Input::new("job.log", Cursor::new(log))?];
        let found = knobs(&oomdoc::internal::analyze_inputs(inputs, Vec::new(), &Options::default())?);
        let has = |option: &str| found.iter().any(|knob| knob.ends_with(option));
        // Nor does an option of another allocator take the place of one that is missing.
        assert!(!has("MALLOC_ARENA_MAX") && !has("vm.max_map_count"), "{found:?}");
        Ok((has("expandable_segments"), has("max_split_size_mb")))
    };
    // Where segments can grow, no block need stay whole.
    assert_eq!(options(format!("{BEGIN}{NEW}"))?, (true, false));
    assert_eq!(options(format!("{BEGIN}{OLD}"))?, (false, true));
    assert_eq!(options(format!("{BEGIN}{OLDEST}"))?, (false, false));
    assert_eq!(options(format!("{BEGIN}{NPU}"))?, (true, true));
    assert_eq!(options(format!("PyTorch version 1.13.1\n{BEGIN}{OLD}"))?, (false, true));
    assert_eq!(options(format!("PyTorch version 1.8.1\n{BEGIN}{OLD}"))?, (false, false));
    Ok(())
}
