//! What a job died of if it was not memory: the name that the report gives it, and the line that proves it.

use std::error::Error;
use std::io::Cursor;

use oomdoc::Options;
use oomdoc::internal::analyze_inputs;
use oomdoc::internal::source::Input;
use oomdoc::model::{Kind, OtherFailureName, Report};

type Outcome = Result<(), Box<dyn Error>>;

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process has 78.04 GiB memory in use. Of the allocated memory 75.10 GiB is allocated by PyTorch, and 1.90 GiB is reserved by PyTorch but unallocated.";

/// Some steps of training.
const STEPS: &str = "{'loss': 2.05, 'grad_norm': 1.4, 'learning_rate': 2e-05, 'epoch': 0.01}\n{'loss': 2.01, 'grad_norm': 1.5, 'learning_rate': 2e-05, 'epoch': 0.02}\n";

fn report(log: &str) -> Result<Report, Box<dyn Error>> {
    let input = Input::new("job.log", Cursor::new(log.as_bytes().to_vec()))?;
    Ok(analyze_inputs(vec![input], Vec::new(), &Options::default())?)
}

/// A traceback that ends in `exception`.
fn traceback(exception: &str) -> String {
    format!(
        "Traceback (most recent call last):\n  File \"/w/train.py\", line 12, in <module>\n    main()\n{exception}\n"
    )
}

/// The name of the failure, and the first line that proves it.
fn named(log: &str) -> Result<Option<(OtherFailureName, String)>, Box<dyn Error>> {
    let report = report(log)?;
    assert_eq!(report.verdict, Kind::None, "{log}");
    Ok(report.other_failure.map(|failure| {
        let first = failure.evidence.into_iter().next().map(|cite| cite.text);
        (failure.name, first.unwrap_or_default())
    }))
}

#[test]
fn an_exception_is_named_by_what_it_says_and_is_the_proof() -> Outcome {
    for (name, exception) in [
        (OtherFailureName::NotANumber, "ValueError: The loss returned in `training_step` is nan."),
        (
            OtherFailureName::NotANumber,
            "AssertionError: Rank 5: found NaN in local forward loss calculation. Device: 2",
        ),
        (OtherFailureName::PortInUse, "OSError: [Errno 98] Address already in use"),
        (OtherFailureName::LaunchFailure, "RuntimeError: CUDA error: too many resources requested for launch"),
        (
            OtherFailureName::VersionMismatch,
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        ),
        (
            OtherFailureName::GpuUnavailable,
            "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        ),
        (OtherFailureName::ProcessLimit, "RuntimeError: can't start new thread"),
        (OtherFailureName::AccessDenied, "PermissionError: [Errno 13] Permission denied: '/ckpt/cuda/run7'"),
        (
            OtherFailureName::TensorMismatch,
            "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and BFloat16",
        ),
        (OtherFailureName::Timeout, "TimeoutError: Placement group with ID 1a2b was not ready after 1800 seconds"),
        (OtherFailureName::IoError, "EOFError: Ran out of input"),
        (
            OtherFailureName::ImportError,
            "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory",
        ),
        (OtherFailureName::PythonError, "KeyError: 'input_ids'"),
    ] {
        let expected = Some((name, exception.to_owned()));
        assert_eq!(named(&format!("{STEPS}{}", traceback(exception)))?, expected);
    }
    Ok(())
}

#[test]
fn an_error_that_points_to_another_one_is_no_cause() -> Outcome {
    let wrapped = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}";
    let exited = "embed-1 exited with code 1\n";
    for log in [traceback(wrapped), traceback(wrapped) + exited, format!("{wrapped}\n")] {
        let (name, proof) = named(&log)?.ok_or("a failure")?;
        assert_eq!((name, &*proof), (OtherFailureName::CauseElsewhere, wrapped), "{log}");
    }
    // Where the other one is there, it is the cause.
    let log = traceback("ValueError: 'rope_scaling' must have a factor") + &traceback(wrapped);
    assert_eq!(named(&log)?.map(|found| found.0), Some(OtherFailureName::PythonError));
    // The engine's exit code says that it was killed.
    let killed = report(&traceback(&wrapped.replace("{}", "{'EngineCore_0': -9}")))?;
    assert_eq!(killed.verdict, Kind::SigkillUnattributed);
    Ok(())
}

#[test]
fn a_quota_that_is_exhausted_is_no_memory() -> Outcome {
    let quota = "google.api_core.exceptions.ResourceExhausted: 429 The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus";
    assert_eq!(named(&traceback(quota))?.map(|(name, _)| name), Some(OtherFailureName::QuotaExceeded));
    let memory = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.";
    assert_eq!(report(&traceback(memory))?.verdict, Kind::GpuOom);
    Ok(())
}

#[test]
fn what_is_killed_after_its_node_was_lost_is_no_riddle() -> Outcome {
    let log = format!(
        "{STEPS}srun: error: Node failure on gpu-12\nslurmstepd: error: *** STEP 88213.0 ON gpu-11 CANCELLED AT 2026-03-01T04:12:31 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\nsrun: error: gpu-11: tasks 0-7: Killed\n"
    );
    let expected = Some((OtherFailureName::LostNode, "srun: error: Node failure on gpu-12".to_owned()));
    assert_eq!(named(&log)?, expected);
    // The kernel knows better.
    let killed = "[ 1200.323456] Out of memory: Killed process 4711 (python3) total-vm:512345678kB, anon-rss:500123456kB, file-rss:1234kB, shmem-rss:0kB, UID:1000 pgtables:1000000kB oom_score_adj:0\n";
    assert_eq!(report(&format!("{log}{killed}"))?.verdict, Kind::HostOomKernel);
    // And without any reason, it stays one.
    let alone = format!("{STEPS}srun: error: gpu-11: tasks 0-7: Killed\n");
    assert_eq!(report(&alone)?.verdict, Kind::SigkillUnattributed);
    Ok(())
}

#[test]
fn what_a_server_clears_away_after_its_own_fault_was_not_killed_for_memory() -> Outcome {
    let failed = traceback(
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please update your GPU driver",
    );
    let killed =
        "[2026-03-01 10:00:02] Received sigquit from a child process. It usually means the child failed.\nKilled\n";
    let (name, _) = named(&format!("{failed}{killed}"))?.ok_or("no failure is named")?;
    assert_eq!(name, OtherFailureName::VersionMismatch);
    // Far behind it, or behind an exception that says nothing, a kill is a kill.
    let steps = STEPS.repeat(20);
    for log in [format!("{failed}{steps}{killed}"), format!("{}{killed}", traceback("RuntimeError: it broke"))] {
        assert_eq!(report(&log)?.verdict, Kind::SigkillUnattributed, "{log}");
    }
    Ok(())
}

#[test]
fn what_the_job_went_on_after_is_not_what_it_died_of() -> Outcome {
    let warned = "ERROR: [Errno 98] Address already in use: the metrics are off\n";
    let mismatch = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x1024 and 768x3072)";
    let expected = Some((OtherFailureName::TensorMismatch, mismatch.to_owned()));
    assert_eq!(named(&format!("{warned}{STEPS}{}", traceback(mismatch)))?, expected);
    assert_eq!(report(&format!("{warned}{STEPS}{}", traceback(OOM)))?.verdict, Kind::GpuOom);
    Ok(())
}

#[test]
fn a_warning_is_no_failure() -> Outcome {
    for line in [
        "WARNING: Loss is nan, skipping batch",
        "WARNING: 429 Client Error: Too Many Requests for url: https://huggingface.co, retrying in 4 s",
        "[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).",
    ] {
        assert_eq!(named(&format!("{line}\n{STEPS}"))?, None, "{line}");
    }
    Ok(())
}
