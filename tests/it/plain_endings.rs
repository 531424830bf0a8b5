//! How jobs end in words of their own, and who died by the word of whoever started them.

use std::error::Error;

use oomdoc::model::{FigureName, Kind};

use crate::support::analyzed::{report, root};

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn a_program_that_says_how_long_it_took_outlived_what_it_caught() -> Outcome {
    let caught = "sort 030/090   caught MemoryError in part 2 (numpy.core._exceptions._ArrayMemoryError: Unable to allocate 9.54 GiB for an array with shape (1280000, 1000) and data type float64), halving it\n";
    let killed = "sort 060/090   part 5 exited 137, resubmitted (attempt 2/3)\n";
    let done = format!("sort 001/090\n{caught}{killed}sort 090/090\ndone in 0:41:09, 3 parts\n");
    assert_eq!(report(&[("job.log", &done)])?.verdict, Kind::None);
    let open = "sort 001/090\nsort 060/090   part 5 exited 137, giving up\n";
    assert_eq!(report(&[("job.log", open)])?.verdict, Kind::SigkillUnattributed);
    for end in [
        "worker 3 exited 137, restart limit reached: no more restarts",
        "part 5 exited 137 (attempt 3 of 3), giving up",
    ] {
        let log = format!("sort 001/090\n{end}\ndone in 0:10:00, 3 parts\n");
        assert_eq!(report(&[("job.log", &log)])?.verdict, Kind::SigkillUnattributed, "{end}");
    }
    Ok(())
}

#[test]
fn what_a_shell_says_behind_a_failure_does_not_undo_it() -> Outcome {
    for failed in [
        "CUDA error: out of memory",
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: cudaMalloc failed: out of memory",
    ] {
        let log = format!("loading weights\n{failed}\nUploading logs\nDone in 3 s\n");
        assert_eq!(report(&[("job.log", &log)])?.verdict, Kind::GpuOom, "{failed}");
    }
    Ok(())
}

#[test]
fn the_launcher_of_the_only_node_knows_the_pid_of_a_rank() -> Outcome {
    let log = "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/srv/run.py\", line 10, in main\n[rank2]:     y = self.net(x)\n[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has a total capacity of 79.11 GiB of which 1.10 GiB is free.\nE0930 01:12:54.200000 7000 torch/distributed/elastic/multiprocessing/api.py:833] failed (exitcode: 1) local_rank: 2 (pid: 7003) of binary: /opt/venv/bin/python\n";
    let known = report(&[("job.log", log)])?;
    assert_eq!(root(&known)?.victim.pid, Some(7003));
    let other = report(&[("job.log", &log.replace("local_rank: 2", "local_rank: 5"))])?;
    assert_eq!(root(&other)?.victim.pid, None, "another rank's");
    Ok(())
}

#[test]
fn an_eviction_that_yaml_folds_says_what_was_used() -> Outcome {
    let log = "status:\n  message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available:\n    60000Ki. Container mine was using 120000000Ki, request is 32Gi, has larger\n    consumption of memory. '\n  reason: Evicted\n";
    let report = report(&[("job.log", log)])?;
    let used = root(&report)?.figures.iter().find(|figure| figure.name == FigureName::WorkerUsed);
    assert_eq!(used.map(|figure| &*figure.text), Some("120000000Ki"));
    Ok(())
}
