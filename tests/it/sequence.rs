//! The order in which a job's processes ended, and the call that failed.

use std::error::Error;
use std::io::Cursor;

use oomdoc::Language;
use oomdoc::Options;
use oomdoc::internal::analyze_inputs;
use oomdoc::internal::report::{self, Length};
use oomdoc::internal::source::Input;
use oomdoc::model::{Ending, Kind, OtherFailureName, Report};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const SHORTAGE: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity of 79.15 GiB of which 1.10 GiB is free.";

fn analyzed(log: String) -> Outcome<Report> {
    let input = Input::new("job.log", Cursor::new(log.into_bytes()))?;
    Ok(analyze_inputs(vec![input], Vec::new(), &Options::default())?)
}

#[test]
fn one_rank_ran_out_seven_timed_out_and_the_launcher_stopped_them() -> Outcome {
    let others = [0, 1, 2, 3, 4, 6, 7];
    let mut log = format!("2026-11-20 19:30:04,120 [rank5] ERROR {SHORTAGE}\n");
    for rank in others {
        log += &format!(
            "2026-11-20 19:30:16,{} [rank{rank}]:[E1120 19:30:16.200000000 ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=51877, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n",
            200 + rank
        );
    }
    for rank in others {
        log += &format!(
            "W1120 19:30:20.300000 4242 torch/distributed/elastic/multiprocessing/api.py:900] Sending process {} closing signal SIGTERM\n",
            5000 + rank
        );
    }
    let report = analyzed(log)?;
    let said: Vec<_> =
        report.failure.sequence.iter().map(|end| (end.ending, end.count, end.seconds_after.map(f64::round))).collect();
    assert_eq!(
        said,
        [
            (Ending::OutOfMemory { kind: Kind::GpuOom }, 1, Some(0.0)),
            (Ending::Failed { failure: OtherFailureName::NcclTimeout }, 7, Some(12.0)),
            (Ending::Stopped, 7, Some(16.0)),
        ]
    );
    let text = anstream::adapter::strip_str(&report::text(&report, Language::En, Length::Screen, None)).to_string();
    assert!(text.contains("rank 5 ran out of GPU memory at 19:30:04"), "{text}");
    assert!(text.contains("ranks 0–4, 6, 7") && text.contains("12 s later"), "{text}");
    Ok(())
}

#[test]
fn what_the_job_went_through_is_no_end() -> Outcome {
    let steps: String = (0..20).map(|step| format!("step {step} loss 2.1\n")).collect();
    let report = analyzed(format!("{steps}{SHORTAGE}\nOut of memory, retrying with batch size 4\n{steps}{steps}"))?;
    assert!(report.failure.sequence.is_empty(), "{:?}", report.failure.sequence);
    Ok(())
}

#[test]
fn a_killed_process_is_one_however_many_tell_of_it() -> Outcome {
    let log = "\
[rank1]: step 10 loss 2.1
Mar  2 14:01:10 node1 kernel: Out of memory: Killed process 4711 (python3) total-vm:36880400kB, anon-rss:24024320kB, file-rss:20480kB, shmem-rss:0kB, UID:0 pgtables:8887kB oom_score_adj:0
E0302 14:01:12.000000 4242 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 1 (pid: 4711) of binary: /usr/bin/python3
";
    let report = analyzed(log.to_owned())?;
    let ends: Vec<_> = report.failure.sequence.iter().map(|end| (end.ending, end.count)).collect();
    assert_eq!(ends, [(Ending::OutOfMemory { kind: Kind::HostOomKernel }, 1)]);
    Ok(())
}
