//! Models that are run or served, and not trained: their phases, their causes, their advice. And trainers beside which something is served.

use std::error::Error;

use oomdoc::model::{Kind, Phase};

use crate::support::analyzed::{report, root};

type Outcome = Result<(), Box<dyn Error>>;

const OOM: &str = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB (GPU 0; 23.69 GiB total capacity; 21.60 GiB already allocated; 500.69 MiB free; 22.20 GiB reserved in total by PyTorch)\n";

/// The phase, the first cause, and what its patches turn.
fn told(inputs: &[(&str, &str)]) -> Result<(Phase, String, Vec<String>), Box<dyn Error>> {
    let report = report(inputs)?;
    let incident = root(&report)?;
    let first = incident.diagnoses.first().ok_or("no cause")?;
    Ok((incident.phase.name, first.cause.to_string(), first.patches.iter().map(|patch| patch.knob.clone()).collect()))
}

#[test]
fn a_command_that_serves_was_working_on_a_request() -> Outcome {
    for command in [
        "python3 -m fastchat.serve.cli --model-path org/model-13b",
        "python inference.py --weights w.pt",
        "python webui.py --share",
    ] {
        let (phase, cause, knobs) = told(&[("job.log", OOM), ("launch.sh", command)])?;
        assert_eq!(phase, Phase::Inference, "{command}");
        assert_eq!(cause, "activations_too_large", "{command}");
        assert!(!knobs.iter().any(|knob| knob.contains("checkpoint") || knob.contains("Adam")), "{command}: {knobs:?}");
    }
    Ok(())
}

#[test]
fn an_image_is_no_sequence_of_tokens() -> Outcome {
    let log = format!("Testing 0 DSC_0412\n\tTile 1/1\nError {OOM}");
    let (_, _, knobs) =
        told(&[("job.log", &log), ("launch.sh", "python inference_realesrgan.py -n RealESRGAN_x4plus -i in")])?;
    assert_eq!(knobs[0], "--tile");
    assert!(!knobs.iter().any(|knob| knob.contains("model-len") || knob.contains("max_length")), "{knobs:?}");
    Ok(())
}

/// Where nothing says what a sample is, the size of the card does: small ones mostly train on images, large ones on text.
#[test]
fn what_samples_are_is_guessed_by_the_card() -> Outcome {
    let small = "RuntimeError: CUDA out of memory. Tried to allocate 64.00 MiB (GPU 0; 7.77 GiB total capacity; 6.85 GiB already allocated; 59.12 MiB free; 148.04 MiB cached)\n";
    let large = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 512.75 MiB is free. Of the allocated memory 74.02 GiB is allocated by PyTorch, and 1.86 GiB is reserved by PyTorch but unallocated.\n";
    let offered = |log: &str| -> Result<Vec<String>, Box<dyn Error>> {
        let report = report(&[("job.log", log)])?;
        let patches = root(&report)?.diagnoses.iter().take(3).flat_map(|diagnosis| diagnosis.patches.iter().take(3));
        Ok(patches.map(|patch| patch.knob.clone()).collect())
    };
    let (small, large) = (offered(small)?, offered(large)?);
    assert!(
        small.iter().any(|knob| knob == "the input's size") && !small.iter().any(|knob| knob == "--max_length"),
        "{small:?}"
    );
    assert!(
        large.iter().any(|knob| knob == "--max_length") && !large.iter().any(|knob| knob == "the input's size"),
        "{large:?}"
    );
    Ok(())
}

/// Of a program that was killed and says nothing the number of its processes and the host's memory are what people change.
#[test]
fn who_is_killed_without_a_word_is_told_of_processes_and_memory() -> Outcome {
    let report = report(&[("job.log", "Tokenizing the corpus\nKilled\n")])?;
    let patches = root(&report)?.diagnoses.iter().flat_map(|diagnosis| diagnosis.patches.iter().take(3));
    let knobs: Vec<&str> = patches.map(|patch| patch.knob.as_str()).collect();
    assert!(knobs.contains(&"RAM") && knobs.contains(&"worker processes"), "{knobs:?}");
    Ok(())
}

/// A word of serving, or a page that is up, says nothing of a job that prints steps with their losses behind it.
#[test]
fn what_prints_losses_is_trained() -> Outcome {
    for line in [
        "Serving samples from chat_server dataset 'inference_test' (serve=True)",
        "Running on local URL:  http://127.0.0.1:7860",
        "Listening on http://0.0.0.0:6006",
        "Transcribing data set samples for the cache",
    ] {
        let log = format!("{line}\nEpoch 1 step 10 loss 2.11\nEpoch 1 step 20 loss 2.05\n{OOM}");
        let (phase, _, knobs) = told(&[("job.log", &log), ("launch.sh", "python sft.py --batch_size 4 --lr 2e-5")])?;
        assert_ne!(phase, Phase::Inference, "{line}");
        assert_eq!(knobs.first().map(String::as_str), Some("--batch_size"), "{line}");
        assert!(!knobs.iter().any(|knob| knob.contains("no_grad")), "{line}: {knobs:?}");
    }
    Ok(())
}

#[test]
fn a_trainer_in_a_web_uis_folder_is_no_web_ui() -> Outcome {
    let log = format!(
        "Traceback (most recent call last):\n  File \"/w/stable-diffusion-webui/sd-scripts/sdxl_train_network.py\", line 176, in <module>\n    trainer.train(args)\n  File \"/w/stable-diffusion-webui/sd-scripts/train_network.py\", line 806, in train\n    noise_pred = self.call_unet(args)\n{OOM}"
    );
    assert_eq!(report(&[("job.log", &log)])?.job.framework.as_deref(), Some("kohya"));
    Ok(())
}

/// Weights, gradients and moments are buffers of one size, and activations are not.
#[test]
fn a_request_that_divides_all_that_is_allocated_is_a_copy_of_the_weights() -> Outcome {
    let message = |requested: &str, allocated: &str| {
        format!(
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested} GiB (GPU 0; 39.39 GiB total capacity; {allocated} GiB already allocated; 1.02 GiB free; 38.20 GiB reserved in total by PyTorch)\n"
        )
    };
    let (_, cause, _) = told(&[("job.log", &message("12.55", "37.68"))])?;
    assert_eq!(cause, "optimizer_states_on_gpu");
    let (_, cause, _) = told(&[("job.log", &message("12.55", "33.10"))])?;
    assert_ne!(cause, "optimizer_states_on_gpu");
    Ok(())
}

#[test]
fn an_allocation_of_a_table_of_tokens_is_a_model_being_loaded() -> Outcome {
    let refused = |bytes: u64| {
        format!(
            "RuntimeError: [enforce fail at alloc_cpu.cpp:72] data. DefaultCPUAllocator: not enough memory: you tried to allocate {bytes} bytes.\n"
        )
    };
    let report = report(&[("job.log", &refused(151_781_376))])?;
    let incident = root(&report)?;
    assert_eq!((incident.kind, incident.phase.name), (Kind::HostAllocFailure, Phase::ModelLoad));
    let whys: String = incident.diagnoses.iter().map(|diagnosis| diagnosis.why.as_str()).collect();
    assert!(whys.contains("49408 vocabulary × 768 × 4 bytes"), "{whys}");
    assert_eq!(told(&[("job.log", &refused(1 << 30))])?.0, Phase::Unknown);
    Ok(())
}

#[test]
fn of_failed_and_stopped_ranks_the_failed_one_is_the_victim() -> Outcome {
    let log = "RuntimeError: [enforce fail at alloc_cpu.cpp:83] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 268435456 bytes. Error code 12 (Cannot allocate memory)\n[2026-03-01 10:00:38,757] torch.distributed.elastic.multiprocessing.api: [WARNING] Sending process 86503 closing signal SIGTERM\n[2026-03-01 10:00:38,763] torch.distributed.elastic.multiprocessing.api: [WARNING] Sending process 86504 closing signal SIGTERM\n[2026-03-01 10:00:48,546] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: 2 (pid: 86505) of binary: /usr/bin/python3\n";
    assert_eq!(root(&report(&[("job.log", log)])?)?.victim.pid, Some(86505));
    Ok(())
}

#[test]
fn a_machine_called_gpu07_has_no_device_7() -> Outcome {
    let log = "slurmstepd: error: Detected 1 oom_kill event in StepId=551.0. Some of the step tasks have been OOM Killed.\nsrun: error: gpu07: task 6: Out Of Memory\n";
    let report = report(&[("job.log", log)])?;
    let victim = &root(&report)?.victim;
    assert_eq!((victim.rank, victim.device), (Some(6), None));
    Ok(())
}

/// The stack tells what a job runs on, not a library that its script imports for something else or an option that others have, too.
#[test]
fn one_import_or_option_makes_no_program() -> Outcome {
    let log = format!(
        "Epoch 1 step 10 loss 2.11\nTraceback (most recent call last):\n  File \"/w/train.py\", line 40, in <module>\n    loss.backward()\n  File \"/v/site-packages/torch/_tensor.py\", line 522, in backward\n{OOM}"
    );
    for import in [
        "onnxruntime",
        "tensorrt",
        "cudf",
        "whisperx",
        "spacy",
        "sentence_transformers",
        "esm",
        "dgl",
        "paddle",
        "demucs",
    ] {
        let script =
            format!("import torch\nimport {import}\nloader = torch.utils.data.DataLoader(data, batch_size=64)\n");
        let (_, _, knobs) =
            told(&[("job.log", &log), ("train.py", &script), ("launch.sh", "python train.py --execution-threads 4")])?;
        assert_eq!(knobs.first().map(String::as_str), Some("DataLoader.batch_size"), "{import}: {knobs:?}");
    }
    Ok(())
}

/// Windows promises no more than RAM and paging file have; elsewhere there is none.
#[test]
fn only_windows_has_a_paging_file() -> Outcome {
    let windows = "RuntimeError: [enforce fail at ..\\c10\\core\\impl\\alloc_cpu.cpp:72] data. DefaultCPUAllocator: not enough memory: you tried to allocate 104857600 bytes.";
    let linux = "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 104857600 bytes. Error code 12 (Cannot allocate memory)";
    for (log, has) in [(windows, true), (linux, false)] {
        let (_, _, knobs) = told(&[("job.log", log)])?;
        assert_eq!(knobs.iter().any(|knob| knob == "paging file"), has, "{log}: {knobs:?}");
    }
    Ok(())
}
