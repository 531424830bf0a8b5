//! What holds a host's memory beside the processes' own: files in a tmpfs, a buffer of each rank, a copy in each rank, and what an evaluation
//! or a data set's map collects.

use std::error::Error;

use crate::support::analyzed::{cause, diff, patches, report, turned};

type Outcome = Result<(), Box<dyn Error>>;

/// A machine of 16 GiB without room, whose counters say how many pages are shared; the victim holds 900 MiB.
fn machine(shared: u64) -> String {
    format!(
        "[ 4120.300011] python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0
[ 4120.300022] Mem-Info:
[ 4120.300033] active_anon:1204 inactive_anon:3501220 isolated_anon:0
[ 4120.300034]  mapped:2201 shmem:{shared} pagetables:9012 bounce:0
[ 4120.300035]  free:25120 free_pcp:0 free_cma:0
[ 4120.300066] 4194304 pages RAM
[ 4120.300143] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=python3,pid=771,uid=1000
[ 4120.300154] Out of memory: Killed process 771 (python3) total-vm:9880400kB, anon-rss:921600kB, file-rss:2048kB, shmem-rss:0kB, UID:1000 pgtables:8887kB oom_score_adj:0
"
    )
}

#[test]
fn files_in_a_tmpfs_are_moved_to_a_disk() -> Outcome {
    let run = "python3 convert_hf_to_gguf.py /data/model --outtype f16 --outfile /tmp/model-f16.gguf\n";
    let log = format!("INFO:hf-to-gguf:Loading model: model\n{}", machine(3_000_000));
    let moved = report(&[("job.log", &log), ("run.sh", run)])?;
    assert_eq!(cause(&moved)?, "machine_wide_pressure");
    assert!(diff(&moved)?.contains("--outfile /var/tmp/model-f16.gguf"), "{}", diff(&moved)?);
    // A temporary file of the converter's would lie there as well.
    assert!(!turned(&moved)?.contains(&"--use-temp-file"), "{:?}", turned(&moved)?);
    // What another command reads is not moved from under it.
    let both = format!("{run}llama-quantize /tmp/model-f16.gguf /data/model-q4.gguf Q4_K_M\n");
    let read = report(&[("job.log", &log), ("run.sh", &both)])?;
    assert_eq!(turned(&read)?.first(), Some(&"--outfile"));
    assert!(patches(&read)?.first().is_some_and(|first| first.diff.is_none()), "{:?}", patches(&read)?);
    // The process itself was large.
    let own = report(&[("job.log", &machine(20_000)), ("run.sh", run)])?;
    assert!(!turned(&own)?.contains(&"--outfile"), "{:?}", turned(&own)?);
    Ok(())
}

const COMPOSE: &str = "\
services:
  index:
    image: registry/index:1
    command: python build.py --source /data/raw --scratch /dev/shm/parts --jobs 4
    mem_limit: 32g
";

/// A container of 32 GiB, in which so many bytes are shared.
fn container(shared: u64) -> String {
    format!(
        "kernel: python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
kernel: memory: usage 33554432kB, limit 33554432kB, failcnt 412
kernel: Memory cgroup stats for /docker/77ab:
kernel: anon {}
kernel: file {shared}
kernel: shmem {shared}
kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=77ab,mems_allowed=0,oom_memcg=/docker/77ab,task_memcg=/docker/77ab,task=python,pid=88,uid=0
kernel: Memory cgroup out of memory: Killed process 88 (python) total-vm:9880400kB, anon-rss:2921600kB, file-rss:2048kB, shmem-rss:40kB, UID:0 pgtables:8887kB oom_score_adj:0
",
        34_000_000_000 - shared
    )
}

#[test]
fn shared_memory_counts_in_the_limit_of_a_container() -> Outcome {
    let full = report(&[("job.log", &container(24_000_000_000)), ("compose.yaml", COMPOSE)])?;
    assert_eq!(turned(&full)?.first(), Some(&"--scratch"));
    assert!(
        diff(&full)?.contains("+    command: python build.py --source /data/raw --scratch /var/tmp/parts --jobs 4")
    );
    let own = report(&[("job.log", &container(2_000_000_000)), ("compose.yaml", COMPOSE)])?;
    assert_eq!(turned(&own)?.first(), Some(&"mem_limit"));
    Ok(())
}

#[test]
fn a_buffer_of_each_rank_is_compared_with_the_limit() -> Outcome {
    let values = |buffer: u32| {
        format!(
            "servingEngineSpec:
  modelSpec:
    - name: \"m\"
      repository: \"lmcache/vllm-openai\"
      modelURL: \"org/model-14b\"
      requestMemory: \"100Gi\"
      limitMemory: \"100Gi\"
      requestGPU: 2
      vllmConfig:
        tensorParallelSize: 2
      lmcacheConfig:
        enabled: true
        cpuOffloadingBufferSize: \"{buffer}\"
"
        )
    };
    let log = "(EngineCore_0 pid=12) INFO 11-02 10:00:11 [kv_cache_utils.py:849] GPU KV cache size: 412,352 tokens
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Limits:
      memory:          100Gi
";
    let large = report(&[("job.log", log), ("values.yaml", &values(64))])?;
    assert_eq!(turned(&large)?.first(), Some(&"lmcacheConfig.cpuOffloadingBufferSize"));
    // Half of 60 of 100 GiB, still text.
    assert!(diff(&large)?.contains("+        cpuOffloadingBufferSize: \"30\""), "{}", diff(&large)?);
    // Whoever raises the limit needs both buffers, a tenth, and what two processes take: 1.1 · 128 + 16.
    let raised =
        patches(&large)?.iter().filter_map(|patch| patch.diff.as_deref()).find(|diff| diff.contains("limitMemory"));
    assert!(raised.is_some_and(|diff| diff.contains("+      limitMemory: \"157Gi\"")), "{raised:?}");
    let small = report(&[("job.log", log), ("values.yaml", &values(8))])?;
    assert_eq!(turned(&small)?.first(), Some(&"resources.limits.memory"));
    Ok(())
}

#[test]
fn a_file_that_every_rank_reads_is_mapped() -> Outcome {
    let script = "\
import os
import torch
import torch.distributed as dist

dist.init_process_group('nccl')
net = build(os.environ['SIZE'])
weights = torch.load('/ckpt/last.pt', map_location='cpu')
net.load_state_dict(weights)
";
    let run = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --mem=400G\nsrun torchrun --nproc-per-node 8 resume.py\n";
    let log = "slurmstepd: error: Detected 3 oom_kill events in StepId=7001.0. Some of the step tasks have been OOM Killed.\nsrun: error: node4: task 0: Out Of Memory\n";
    let read = report(&[("job.log", log), ("resume.py", script), ("run.sbatch", run)])?;
    assert_eq!(cause(&read)?, "checkpoint_load_duplication");
    assert!(diff(&read)?.contains("map_location='cpu', mmap=True)"), "{}", diff(&read)?);
    // No loader of data is in sight.
    assert!(!turned(&read)?.contains(&"DataLoader.num_workers"), "{:?}", turned(&read)?);
    // One rank holds one copy.
    let alone = run.replace("--nproc-per-node 8", "--nproc-per-node 1");
    let one = report(&[("job.log", log), ("resume.py", script), ("run.sbatch", &alone)])?;
    assert_eq!(cause(&one)?, "container_limit_too_small");
    Ok(())
}

#[test]
fn an_evaluation_that_keeps_all_outputs_is_told_to_keep_less() -> Outcome {
    let arguments = "model_name_or_path: org/m\nper_device_train_batch_size: 2\nper_device_eval_batch_size: 2\neval_steps: 500\nbf16: true\n";
    let log = "{'loss': 1.21, 'grad_norm': 0.5, 'learning_rate': 9e-06, 'epoch': 0.4}
***** Running Evaluation *****
  Num examples = 20000
  Batch size = 2
 20%|██        | 250/1250 [04:01<16:04,  1.04it/s]
E1102 10:31:08.010000 1 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 1 (pid: 52) of binary: /usr/bin/python
";
    let kernel = "[88120.5] Memory cgroup out of memory: Killed process 52 (python) total-vm:198110212kB, anon-rss:98312044kB, file-rss:401212kB, shmem-rss:20112kB, UID:0 pgtables:260112kB oom_score_adj:0\n";
    let kept = report(&[("job.log", log), ("dmesg.log", kernel), ("args.yaml", arguments)])?;
    assert_eq!(cause(&kept)?, "host_memory_growth");
    // An option goes to the file in which the program's other options stand.
    assert!(diff(&kept)?.contains("+prediction_loss_only: true"), "{}", diff(&kept)?);
    Ok(())
}

#[test]
fn a_map_writes_more_often_before_it_has_fewer_processes() -> Outcome {
    let script = "\
from datasets import load_dataset

rows = load_dataset('parquet', data_files='/data/*.parquet', split='train', keep_in_memory=True)
rows = rows.map(prepare, batched=True, batch_size=32, num_proc=16, writer_batch_size=2000)
";
    let log = "Map (num_proc=16):   9%|▉         | 9000/100000 [10:22<1:41:03, 15.01 examples/s]
Traceback (most recent call last):
  File \"/opt/env/lib/python3.11/site-packages/datasets/utils/py_utils.py\", line 680, in _write_generator_to_queue
    for i, result in enumerate(func(**kwargs)):
  File \"/opt/env/lib/python3.11/site-packages/datasets/arrow_writer.py\", line 610, in write_batch
    self.write_table(pa_table, writer_batch_size)
pyarrow.lib.ArrowMemoryError: malloc of size 4294967296 failed
slurmstepd: error: Detected 2 oom_kill events in StepId=91.batch. Some of the step tasks have been OOM Killed.
";
    let run = "#!/bin/bash\n#SBATCH --mem=120G\npython prep.py\n";
    let full = report(&[("job.log", log), ("prep.py", script), ("run.sbatch", run)])?;
    let turned = turned(&full)?;
    assert_eq!(turned.first(), Some(&"map.writer_batch_size"), "{turned:?}");
    assert!(diff(&full)?.contains("writer_batch_size=100)"), "{}", diff(&full)?);
    assert!(turned.contains(&"load_dataset.keep_in_memory"), "{turned:?}");
    Ok(())
}

#[test]
fn windows_commits_for_each_spawned_worker() -> Outcome {
    let log = "Traceback (most recent call last):
  File \"<string>\", line 1, in <module>
  File \"C:\\\\Python310\\\\lib\\\\multiprocessing\\\\spawn.py\", line 116, in spawn_main
    exitcode = _main(fd, parent_sentinel)
  File \"D:\\\\env\\\\lib\\\\site-packages\\\\torch\\\\__init__.py\", line 130, in <module>
    raise err
OSError: [WinError 1455] The paging file is too small for this operation to complete. Error loading \"D:\\\\env\\\\lib\\\\site-packages\\\\torch\\\\lib\\\\cufft64_10.dll\" or one of its dependencies.
";
    let script = "from torch.utils.data import DataLoader\nloader = DataLoader(data, batch_size=4, num_workers=12)\nfor batch in loader:\n    step(batch)\n";
    let full = report(&[("job.log", log), ("train.py", script)])?;
    assert_eq!(cause(&full)?, "dataloader_memory");
    assert!(diff(&full)?.contains("num_workers=2)"), "{}", diff(&full)?);
    Ok(())
}

#[test]
fn what_stands_beside_an_executors_heap_is_raised_before_it_does_less() -> Outcome {
    let log = "26/11/12 03:19:40 ERROR YarnScheduler: Lost executor 3 on node9: Container killed by YARN for exceeding physical memory limits. 6.1 GB of 6 GB physical memory used. Consider boosting spark.executor.memoryOverhead.
Traceback (most recent call last):
  File \"tokens.py\", line 12, in <module>
    rows.write.parquet(out)
  File \"/usr/lib/spark/python/lib/pyspark.zip/pyspark/sql/readwriter.py\", line 1656, in parquet
";
    let run = "spark-submit --executor-memory 5g --conf spark.executor.memoryOverhead=1g tokens.py\n";
    let told = report(&[("job.log", log), ("submit.sh", run)])?;
    assert_eq!(cause(&told)?, "container_limit_too_small");
    assert!(diff(&told)?.contains("spark.executor.memoryOverhead=4g"), "{}", diff(&told)?);
    // The machine itself had memory.
    assert!(!turned(&told)?.iter().any(|knob| ["swapon", "other programs"].contains(knob)), "{:?}", turned(&told)?);
    Ok(())
}
