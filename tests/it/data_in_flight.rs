//! What data loading holds: batches that are ready, tables that are read whole, shared memory of containers.

use std::error::Error;

use crate::support::analyzed::{patches, report, turned};

type Outcome = Result<(), Box<dyn Error>>;

const KILLED_WORKER: &str = "slurmstepd: error: Detected 1 oom_kill event in StepId=4419.0. Some of the step tasks have been OOM Killed.\nTraceback (most recent call last):\n  File \"/w/train.py\", line 9, in <module>\n    for clip, label in loader:\n  File \"/v/site-packages/torch/utils/data/dataloader.py\", line 1144, in _try_get_data\n    raise RuntimeError(f'DataLoader worker (pid(s) {pids_str}) exited unexpectedly') from e\nRuntimeError: DataLoader worker (pid(s) 51188) exited unexpectedly\n";

#[test]
fn batches_held_ready_go_before_workers() -> Outcome {
    let script = |factor: &str| {
        format!(
            "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(clips, batch_size=64, num_workers=6, prefetch_factor={factor})\nfor clip, label in loader:\n    net(clip).backward()\n"
        )
    };
    let many = report(&[("job.log", KILLED_WORKER), ("train.py", &script("32"))])?;
    assert!(patches(&many)?[0].diff.as_deref().is_some_and(|diff| diff.contains("prefetch_factor=2)")));
    let usual = report(&[("job.log", KILLED_WORKER), ("train.py", &script("4"))])?;
    assert_eq!(turned(&usual)?[0], "DataLoader.num_workers");
    Ok(())
}

#[test]
fn memory_that_nobody_asked_for_is_asked_for_first() -> Outcome {
    let log = "Loading data/visits.csv ...\nslurmstepd: error: Detected 1 oom_kill event in StepId=118.batch. Some of the step tasks have been OOM Killed.\n\n$ ls -lh data/visits.csv\n-rw-r--r-- 1 mira lab 6.2G Mar  3 10:22 data/visits.csv\n$ sacct -j 118 --format=JobID,State,ReqMem,MaxRSS\nJobID             State     ReqMem     MaxRSS\n------------ ---------- ---------- ----------\n118          OUT_OF_ME+      4000M\n118.batch    OUT_OF_ME+              4096120K\n";
    let script = "import pandas as pd\nprint(\"Loading data/visits.csv ...\", flush=True)\nvisits = pd.read_csv(\"data/visits.csv\")\nvisits.groupby(\"who\").size().to_csv(\"out.csv\")\n";
    let batch = "#!/bin/bash\n#SBATCH --partition=short\n#SBATCH --time=02:00:00\npython visits.py\n";
    let end = report(&[("job.log", log), ("visits.py", script), ("visits.sbatch", batch)])?;
    let shown = patches(&end)?[0].diff.as_deref().unwrap_or_default();
    assert!(shown.contains("+#SBATCH --mem=19G\n"), "{shown}");
    // What was asked for and did not suffice is another matter.
    let asked = batch.replace("--time", "--mem=64G\n#SBATCH --time");
    let log = "Loading data/visits.csv ...\nslurmstepd: error: Detected 1 oom_kill event in StepId=118.batch. Some of the step tasks have been OOM Killed.\n";
    let end = report(&[("job.log", log), ("visits.py", script), ("visits.sbatch", &asked)])?;
    assert_ne!(turned(&end)?[0], "--mem");
    Ok(())
}

#[test]
fn a_table_in_memory_is_told_by_the_one_that_held_it() -> Outcome {
    let log = |held: &str| {
        format!(
            "Map (num_proc=12):   7%|▋         | 8192/120000 [02:10<27:40, 67.32 examples/s]\nKilled\n[911204.202011] Out of memory: Killed process 8841 (python) total-vm:71204412kB, anon-rss:{held}kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:112044kB oom_score_adj:0\n$ free -g\n               total        used        free      shared  buff/cache   available\nMem:              62           3          57           0           1          58\n"
        )
    };
    let script = "from datasets import load_from_disk\nfrom transformers import WhisperFeatureExtractor\nextract = WhisperFeatureExtractor.from_pretrained(\"org/speech\")\ncalls = load_from_disk(\"data/calls\", keep_in_memory=True)\ncalls = calls.map(prepare, num_proc=12)\n";
    let whole = report(&[("job.log", &log("45981204")), ("prep.py", script)])?;
    assert_eq!(turned(&whole)?[0], "load_from_disk.keep_in_memory");
    let buffers = report(&[("job.log", &log("2981204")), ("prep.py", script)])?;
    assert_eq!(turned(&buffers)?[0], "map.writer_batch_size");
    Ok(())
}

const BUS_ERROR: &str = "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\nRuntimeError: DataLoader worker (pid 1733) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.\n";

#[test]
fn a_development_container_gets_shared_memory_from_its_file() -> Outcome {
    for (before, after) in [
        (
            "{\n  \"image\": \"python:3.11\",\n  \"runArgs\": [\"--gpus=all\"]\n}\n",
            "[\"--gpus=all\", \"--shm-size=8g\"]",
        ),
        ("// See the reference.\n{\n  \"build\": { \"dockerfile\": \"Dockerfile\" }\n}\n", "+    \"--shm-size=8g\"\n"),
    ] {
        let end = report(&[("job.log", BUS_ERROR), (".devcontainer/devcontainer.json", before)])?;
        let shown = patches(&end)?[0].diff.as_deref().unwrap_or_default();
        assert!(shown.contains(after), "{shown}");
    }
    let taken = "{\n  \"image\": \"python:3.11\",\n  \"runArgs\": [\"--shm-size=1g\"]\n}\n";
    let end = report(&[("job.log", BUS_ERROR), ("devcontainer.json", taken)])?;
    assert!(patches(&end)?[0].diff.is_none());
    Ok(())
}

#[test]
fn sixty_four_mebibytes_are_a_container() -> Outcome {
    let log = |size: &str| {
        format!(
            "{BUS_ERROR}$ df -h /dev/shm\nFilesystem      Size  Used Avail Use% Mounted on\nshm             {size}     0  {size}   0% /dev/shm\n"
        )
    };
    assert_eq!(turned(&report(&[("job.log", &log(" 64M"))])?)?[0], "--shm-size");
    assert!(turned(&report(&[("job.log", &log("512M"))])?)?[0].starts_with("mount"));
    Ok(())
}
