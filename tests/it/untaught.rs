//! Programs that nobody taught us: their own options, their own words.

use std::collections::BTreeSet;
use std::error::Error;

use oomdoc::model::{FigureName, Kind, Patch, Report};

use crate::support::analyzed::{report, root};

type Outcome = Result<(), Box<dyn Error>>;

const STACK: &str = "Traceback (most recent call last):\n  File \"/w/net.py\", line 122, in <module>\n    main(args)\n  File \"/v/site-packages/torch/nn/modules/module.py\", line 1501, in _call_impl\n    return forward_call(*args, **kwargs)\n  File \"/w/net.py\", line 41, in forward\n    h = self.layer(h)\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB (GPU 0; 79.20 GiB total capacity; 76.06 GiB already allocated; 201.31 MiB free; 77.51 GiB reserved in total by PyTorch)\n";

/// The patches of the first cause for a job that was launched so.
fn patches(script: &str) -> Result<Vec<Patch>, Box<dyn Error>> {
    let report = report(&[("job.log", STACK), ("launch.sh", script)])?;
    Ok(root(&report)?.diagnoses.first().ok_or("no cause")?.patches.clone())
}

/// The amount of the figure `name`, as the log writes it.
fn figure(report: &Report, name: FigureName) -> Result<Option<&str>, Box<dyn Error>> {
    Ok(root(report)?.figures.iter().find(|figure| figure.name == name).map(|figure| &*figure.text))
}

#[test]
fn an_option_is_turned_as_its_program_spells_it() -> Outcome {
    for (script, knob, line) in [
        ("python net.py --batchsize 16", "--batchsize", "+python net.py --batchsize 8"),
        ("python net.py --bs 16", "--bs", "+python net.py --bs 8"),
        ("torchrun --nproc_per_node=1 net.py --train-batch-size=16", "--train-batch-size", "--train-batch-size=8"),
        ("python net.py data.batch_size=16", "data.batch_size", "+python net.py data.batch_size=8"),
        ("python net.py --max_len 2048 --batch 1", "--max_len", "+python net.py --max_len 1024 --batch 1"),
        ("python net.py --imgsz 640 --batch 1", "--imgsz", "+python net.py --imgsz 320 --batch 1"),
    ] {
        let patches = patches(script)?;
        let patch = patches.iter().find(|patch| patch.knob == knob).ok_or_else(|| format!("{script}: no {knob}"))?;
        assert!(patch.diff.as_deref().is_some_and(|diff| diff.contains(line)), "{script}: {:?}", patch.diff);
    }
    Ok(())
}

#[test]
fn an_option_that_is_at_its_end_is_not_turned_elsewhere() -> Outcome {
    let knobs: Vec<String> = patches("python net.py --batch_size 1")?.into_iter().map(|patch| patch.knob).collect();
    assert!(!knobs.iter().any(|knob| knob.to_lowercase().contains("batch_size")), "{knobs:?}");
    Ok(())
}

#[test]
fn options_of_a_framework_are_none_of_a_stranger() -> Outcome {
    let script = "deepspeed net.py --deepspeed ds.json";
    let json = r#"{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 2}}"#;
    let report = report(&[("job.log", STACK), ("launch.sh", script), ("ds.json", json)])?;
    let patches = root(&report)?.diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
    let turned: BTreeSet<&str> = patches.map(|patch| &*patch.knob).collect();
    assert!(turned.contains("train_micro_batch_size_per_gpu") && !turned.contains("train_batch_size"), "{turned:?}");
    Ok(())
}

#[test]
fn only_options_of_the_script_that_failed_are_turned() -> Outcome {
    for (script, edit) in [
        ("python net.py --batch_size 32\npython evaluate.py --batch_size 256", Some("+python net.py --batch_size 16")),
        ("python tokenize_data.py --batch_size 512\npython net.py --epochs 3", None),
        ("dd if=/dev/zero of=/tmp/x bs=1024\npython net.py", None),
        ("docker run --batch 4 image python net.py", None),
        ("python net.py --batch_size 128 --microbatch 4", Some("+python net.py --batch_size 128 --microbatch 2")),
        ("python net.py --batch_size auto", None),
    ] {
        let patches = patches(script)?;
        let diff =
            patches.iter().filter(|patch| &*patch.lever == "micro_batch").find_map(|patch| patch.diff.as_deref());
        assert_eq!(diff.is_some(), edit.is_some(), "{script}: {diff:?}");
        assert!(edit.is_none_or(|edit| diff.is_some_and(|diff| diff.contains(edit))), "{script}: {diff:?}");
    }
    Ok(())
}

#[test]
fn only_keys_of_the_training_are_turned() -> Outcome {
    let launch = ("launch.sh", "python net.py --config exp.yaml");
    let both = "train:\n  dataloader:\n    batch_size: 16\nval:\n  dataloader:\n    batch_size: 256\n";
    let model = r#"{"model_type": "clip_vision_model", "image_size": 336, "patch_size": 14}"#;
    for (files, edited) in [
        (vec![launch, ("exp.yaml", both)], Some("+    batch_size: 8")),
        (
            vec![launch, ("exp.yaml", "data:\n  batch_size: 8\n"), ("base.yaml", "data:\n  batch_size: 64\n")],
            Some("+  batch_size: 4"),
        ),
        (vec![launch, ("inference.yaml", "data:\n  batch_size: 64\n")], None),
        (vec![launch, ("config.json", model)], None),
    ] {
        let files: Vec<(&str, &str)> = [("job.log", STACK)].into_iter().chain(files).collect();
        let report = report(&files)?;
        let first = root(&report)?.diagnoses.first().ok_or("no cause")?;
        let diffs: Vec<&str> = first.patches.iter().filter_map(|patch| patch.diff.as_deref()).collect();
        assert_eq!(
            diffs.iter().any(|diff| edited.is_some_and(|edit| diff.contains(edit))),
            edited.is_some(),
            "{diffs:?}"
        );
        assert!(edited.is_some() || diffs.is_empty(), "{diffs:?}");
    }
    Ok(())
}

#[test]
fn workers_are_an_option_too() -> Outcome {
    let log = "Traceback (most recent call last):\n  File \"/v/site-packages/torch/utils/data/dataloader.py\", line 1133, in _try_get_data\nRuntimeError: DataLoader worker (pid 71) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.\n";
    let report = report(&[("job.log", log), ("launch.sh", "python net.py --workers 12")])?;
    let mut patches = root(&report)?.diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
    assert!(patches.any(|patch| patch.knob == "--workers" && patch.diff.is_some()));
    Ok(())
}

#[test]
fn a_less_likely_cause_leads_with_what_is_new() -> Outcome {
    let message = STACK.lines().last().unwrap_or_default();
    let report = report(&[("job.log", message), ("launch.sh", "torchrun --nproc_per_node=1 train.py")])?;
    let diagnoses = &root(&report)?.diagnoses;
    let [first, second, ..] = diagnoses.as_slice() else { return Err("one cause".into()) };
    let is_known = |patch: &&Patch| first.patches.iter().any(|known| known.knob == patch.knob);
    let known = second.patches.iter().skip_while(|patch| !is_known(patch)).count();
    assert_eq!(known, second.patches.iter().filter(is_known).count());
    assert!(known > 0 && known < second.patches.len(), "{:?}", second.patches);
    Ok(())
}

#[test]
fn advice_to_its_user_is_no_retry() -> Outcome {
    let log = "RuntimeError: Malloc pin memory failed, host out of memory, tried to allocate size: 4294967296. You might be able to retry after freeing up memory\n";
    let report = report(&[("job.log", log)])?;
    assert_eq!((report.verdict, root(&report)?.recovered), (Kind::HostAllocFailure, false));
    assert_eq!(figure(&report, FigureName::Requested)?, Some("4294967296"));
    Ok(())
}

#[test]
fn a_functions_name_is_no_hint() -> Outcome {
    let log = "store: error: try_init_buf: Unable to allocate memory for 1073676288 bytes\n";
    assert_eq!(report(&[("job.log", log)])?.verdict, Kind::HostAllocFailure);
    for hint in ["try_alloc: retried, Unable to allocate memory is expected", "test_out_of_memory: passed"] {
        assert_eq!(report(&[("job.log", hint)])?.verdict, Kind::None, "{hint}");
    }
    Ok(())
}

#[test]
fn a_warning_before_the_kill_says_how_much_there_was() -> Outcome {
    let log = "distributed.worker.memory - WARNING - Worker is at 92% memory usage. Pausing worker.  Process memory: 7.21 GiB -- Worker memory limit: 7.76 GiB\ndistributed.nanny.memory - WARNING - Worker tcp://10.0.0.5:40155 (pid=58123) exceeded 95% memory budget. Restarting...\n";
    let report = report(&[("job.log", log)])?;
    assert_eq!(figure(&report, FigureName::WorkerUsed)?, Some("7.21 GiB"));
    assert_eq!(figure(&report, FigureName::MemcgLimit)?, Some("7.76 GiB"));
    Ok(())
}

#[test]
fn a_hexadecimal_amount_says_how_it_was_read() -> Outcome {
    let log = "==17==FATAL: ThreadSanitizer: internal allocator is out of memory trying to allocate 0x200000 bytes\n";
    let report = report(&[("job.log", log)])?;
    let requested = root(&report)?.figures.iter().find(|figure| figure.name == FigureName::Requested).ok_or("none")?;
    assert_eq!(requested.derived.as_ref().map(|derived| &*derived.formula), Some("0x200000 = 2097152 bytes"));
    Ok(())
}

#[test]
fn swap_of_the_machine_is_no_cache_of_an_engine() -> Outcome {
    let log = "Aug  5 14:12:01 node1 kernel: pid 41203 (java), jid 0, uid 0, was killed: out of swap space\n";
    let report = report(&[("messages", log)])?;
    assert!(root(&report)?.diagnoses.iter().all(|diagnosis| &*diagnosis.cause != "host_offload_pressure"));
    Ok(())
}
