//! Jobs that outlived a shortage of memory, or that had nothing to do with one.

use std::error::Error;

use oomdoc::model::{FigureName, Kind, OtherFailureName, Report};

use crate::support::analyzed::report;

type Outcome = Result<(), Box<dyn Error>>;

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.11 GiB is free.";
const KEY_ERROR: &str = "Traceback (most recent call last):\n  File \"/app/train.py\", line 99, in <module>\n    evaluate(model)\n  File \"/app/ev.py\", line 9, in evaluate\n    m = d[\"acc\"]\nKeyError: 'acc'\n";
const KILL: &str = "[Mon May  5 09:12:03 2025] chrome invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=300\n[Mon May  5 09:12:03 2025] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=docker-99aa.scope,mems_allowed=0-1,oom_memcg=/system.slice/docker-99aa.scope,task_memcg=/system.slice/docker-99aa.scope,task=java,pid=991,uid=0\n[Mon May  5 09:12:03 2025] Memory cgroup out of memory: Killed process 991 (java) total-vm:9088488kB, anon-rss:4241124kB, file-rss:2048kB, shmem-rss:0kB, UID:0 pgtables:10958kB oom_score_adj:300\n";

fn failure(report: &Report) -> Option<OtherFailureName> {
    report.other_failure.as_ref().map(|failure| failure.name)
}

#[test]
fn a_batch_size_that_did_not_fit_is_not_why_the_job_failed_later() -> Outcome {
    let steps = "{'loss': 2.31, 'grad_norm': 0.91, 'epoch': 0.01}\n{'loss': 2.01, 'grad_norm': 0.71, 'epoch': 0.62}\n";
    let log = format!("Trying batch size: 32\n{OOM}\nTrying batch size: 16\n{steps}{KEY_ERROR}");
    let survived = report(&[("job.log", &log)])?;
    assert_eq!((survived.verdict, failure(&survived)), (Kind::None, Some(OtherFailureName::PythonError)));
    assert!(survived.incidents.first().is_some_and(|incident| incident.recovered), "it is told all the same");
    assert!(survived.summary.starts_with("Not out of memory"), "{}", survived.summary);
    // Without a step between, the one may come of the other.
    let log = format!("{OOM}\n{KEY_ERROR}");
    assert_eq!(report(&[("job.log", &log)])?.verdict, Kind::GpuOom);
    Ok(())
}

#[test]
fn a_batch_size_that_was_lowered_until_an_evaluation_passed_is_not_why_it_failed_later() -> Outcome {
    let bar = "Evaluating: 100%|██████████| 313/313 [08:11<00:00,  1.57s/it]\n";
    let log = format!("Trying batch size 128\nWARNING: {OOM}\nDecreasing batch size to: 64.\n{bar}{KEY_ERROR}");
    let survived = report(&[("job.log", &log)])?;
    assert_eq!((survived.verdict, failure(&survived)), (Kind::None, Some(OtherFailureName::PythonError)));
    // Nothing was done since: the next failure may come of it.
    let log = format!("Trying batch size 128\nWARNING: {OOM}\nDecreasing batch size to: 64.\n{KEY_ERROR}");
    assert_eq!(report(&[("job.log", &log)])?.verdict, Kind::GpuOom);
    Ok(())
}

#[test]
fn the_attempt_that_died_last_is_told_if_the_job_came_further() -> Outcome {
    let stack = |file: &str, function: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"/w/sft.py\", line 88, in <module>\n    main()\n  File \"/w/{file}\", line 5, in {function}\n    work()\n"
        )
    };
    let saved = OOM.replace("2.50 GiB", "832.00 MiB");
    let steps = "{'loss': 1.22, 'epoch': 0.08}\n{'loss': 1.20, 'epoch': 0.09}\n";
    let log = format!(
        "== attempt 1\n{}{OOM}\n== attempt 2\n{steps}{}{saved}\n",
        stack("loss.py", "backward"),
        stack("save.py", "save")
    );
    let last = report(&[("job.log", &log)])?;
    let root = last.incidents.first().ok_or("no incident")?;
    let requested = root.figures.iter().find(|figure| figure.name == FigureName::Requested).map(|figure| &*figure.text);
    assert_eq!(requested, Some("832.00 MiB"));
    // The same failure again: the first one is told.
    let log = format!("{}{OOM}\n{steps}{}{saved}\n", stack("loss.py", "backward"), stack("loss.py", "backward"));
    let again = report(&[("job.log", &log)])?;
    assert_eq!(again.incidents.len(), 1);
    // A kill after steps on the host is another shortage than the GPU's before them.
    let kill = "slurmstepd: error: Detected 1 oom_kill event in StepId=5511.batch. Some of the step tasks have been OOM Killed.";
    let log = format!("{}{OOM}\n{steps}{kill}\n", stack("loss.py", "backward"));
    assert_eq!(report(&[("job.log", &log)])?.verdict, Kind::HostOomCgroup);
    Ok(())
}

#[test]
fn what_another_rank_does_after_a_shortage_does_not_excuse_it() -> Outcome {
    let steps = "[rank0] {'loss': 2.31, 'epoch': 0.01}\n[rank0] {'loss': 2.01, 'epoch': 0.62}\n[rank0] {'loss': 2.0, 'epoch': 0.7}\n";
    let prefixed = KEY_ERROR.lines().map(|line| format!("[rank0]: {line}\n")).collect::<String>();
    let log = format!("[rank3]: {OOM}\n{steps}{prefixed}");
    assert_eq!(report(&[("job.log", &log)])?.verdict, Kind::GpuOom);
    Ok(())
}

#[test]
fn a_process_of_others_that_the_kernel_killed_is_not_the_job() -> Outcome {
    let job = format!("2025-05-05 12:33:01 rank 0 pid 4411 step 120 loss 1.8\n{KEY_ERROR}");
    let beside = report(&[("dmesg.txt", KILL), ("job.log", &job)])?;
    assert_eq!((beside.verdict, failure(&beside)), (Kind::None, Some(OtherFailureName::PythonError)));
    // A job that just stops, that names the process, or whose worker was killed, is the one.
    let stopped = "2025-05-05 12:33:01 rank 0 pid 4411 step 120 loss 1.8\n";
    assert_eq!(report(&[("dmesg.txt", KILL), ("job.log", stopped)])?.verdict, Kind::HostOomCgroup);
    let named = format!("(TaskRunner pid=991) step:120 - actor/loss:0.12\n{KEY_ERROR}");
    assert_eq!(report(&[("dmesg.txt", KILL), ("job.log", &named)])?.verdict, Kind::HostOomCgroup);
    let worker = format!("RuntimeError: DataLoader worker (pid 991) is killed by signal: Killed.\n{KEY_ERROR}");
    assert_eq!(report(&[("dmesg.txt", KILL), ("job.log", &worker)])?.verdict, Kind::HostOomCgroup);
    Ok(())
}
