//! How much a host, a container and its parts are told to have: from what was held and what was done by then.

use std::error::Error;

use oomdoc::model::Patch;

use crate::support::analyzed::report;

type Outcome = Result<(), Box<dyn Error>>;

/// The changes against the first cause: the knob with its partners and values, and the diff.
fn changes(files: &[(&str, &str)]) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let report = report(files)?;
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    let told = |patch: &Patch| {
        let with = patch.with.iter().map(|partner| format!(" {} {}", partner.knob, partner.to));
        (patch.knob.clone() + &with.collect::<String>(), patch.diff.clone().unwrap_or_default())
    };
    Ok(first.map(|first| first.patches.iter().map(told).collect()).unwrap_or_default())
}

/// Whether a line of the first change's diff is added and contains all `words`.
fn first_adds(changes: &[(String, String)], words: &[&str]) -> bool {
    let added =
        |diff: &str| diff.lines().any(|line| line.starts_with('+') && words.iter().all(|word| line.contains(word)));
    changes.first().is_some_and(|(_, diff)| added(diff))
}

fn names(changes: &[(String, String)], knob: &str) -> bool {
    changes.iter().any(|(name, _)| name.starts_with(knob))
}

/// A container's limit of 48 GiB is reached at the given shard of 24.
fn merge(shard: u32) -> String {
    format!(
        "Loading checkpoint shards:   0%|          | 0/24 [00:00<?, ?it/s]
Loading checkpoint shards:  {}%|█████     | {shard}/24 [00:39<00:39,  3.27s/it]
[771204.120031] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
[771204.120040] memory: usage 50331648kB, limit 50331648kB, failcnt 3120
[771204.120061] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=51d2,mems_allowed=0,oom_memcg=/docker/51d2,task_memcg=/docker/51d2,task=python,pid=8114,uid=0
[771204.120070] Memory cgroup out of memory: Killed process 8114 (python) total-vm:81200300kB, anon-rss:49800200kB, file-rss:61020kB, shmem-rss:0kB, UID:0 pgtables:99344kB oom_score_adj:0
",
        shard * 100 / 24
    )
}

const MERGE: &str = "\
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained('/data/base', torch_dtype=torch.bfloat16, device_map=\"cpu\")
model = PeftModel.from_pretrained(model, '/data/adapter').merge_and_unload()
model.save_pretrained('/data/out')
";

#[test]
fn a_limit_grows_to_what_all_shards_take_and_the_swap_limit_with_it() -> Outcome {
    let run = "docker run --rm --memory=48g --memory-swap=48g -v /data:/data registry/tools:3 python merge.py\n";
    let log = merge(12);
    let files = [("job.log", log.as_str()), ("merge.py", MERGE), ("run.sh", run)];
    let half = changes(&files)?;
    // 48 GiB for 12 of 24 shards, and a tenth; docker refuses a lower limit of memory and swap together.
    assert!(first_adds(&half, &["--memory=106g", "--memory-swap=106g"]), "{half:?}");
    // The container sees no GPU, and the map places as it reads.
    assert!(!names(&half, "from_pretrained."), "{half:?}");
    let more = run.replace("--memory-swap=48g", "--memory-swap=256g");
    let enough = changes(&[("job.log", &log), ("merge.py", MERGE), ("run.sh", &more)])?;
    assert!(first_adds(&enough, &["--memory=106g", "--memory-swap=256g"]), "{enough:?}");
    let with_gpus = run.replace("--rm", "--rm --gpus all");
    let placed = changes(&[("job.log", &log), ("merge.py", MERGE), ("run.sh", &with_gpus)])?;
    assert!(names(&placed, "from_pretrained.device_map"), "{placed:?}");
    Ok(())
}

#[test]
fn a_bar_that_hardly_moved_says_nothing_of_the_end() -> Outcome {
    let run = "docker run --rm --memory=48g -v /data:/data registry/tools:3 python merge.py\n";
    let log = merge(1);
    let early = changes(&[("job.log", log.as_str()), ("merge.py", MERGE), ("run.sh", run)])?;
    assert!(first_adds(&early, &["--memory=60g"]), "{early:?}");
    Ok(())
}

#[test]
fn weights_of_a_known_size_are_the_least_that_a_limit_must_hold() -> Outcome {
    let log = merge(1);
    let script = MERGE.replace("/data/base", "Qwen/Qwen2.5-72B-Instruct");
    let job = "#!/bin/bash\n#SBATCH --mem=48G\n#SBATCH -p cpu\npython merge.py\n";
    let known = changes(&[("job.log", log.as_str()), ("merge.py", &script), ("run.sbatch", job)])?;
    // 72.7e9 parameters in 16 bit and a tenth, and what the process holds beside them.
    assert!(first_adds(&known, &["#SBATCH --mem=153G"]), "{known:?}");
    Ok(())
}

const DASK: &str = "\
2026-03-01 10:00:07,803 - distributed.worker.memory - WARNING - Worker is at 85% memory usage. Pausing worker.  Process memory: 6.35 GiB -- Worker memory limit: 7.45 GiB
2026-03-01 10:00:16,990 - distributed.nanny.memory - WARNING - Worker tcp://127.0.0.1:40417 (pid=5021) exceeded 95% memory budget. Restarting...
2026-03-01 10:00:40,118 - distributed.scheduler - ERROR - Task ('read-parquet-7ab', 11) marked as failed because 4 workers died while trying to run it
";

#[test]
fn workers_that_may_each_hold_more_are_fewer() -> Outcome {
    let script = |cluster: &str| {
        format!(
            "import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

client = Client(LocalCluster({cluster}))
df = dd.read_parquet('/data/events/*.parquet', split_row_groups=False)
df.groupby('user').size().compute()
"
        )
    };
    let told = |cluster: &str| changes(&[("job.log", DASK), ("count.py", &script(cluster))]);
    let both = told("n_workers=12, memory_limit='8GB'")?;
    assert!(first_adds(&both, &["n_workers=6", "memory_limit='16GB'"]), "{both:?}");
    assert!(names(&both, "dd.read_parquet.split_row_groups") && !names(&both, "other programs"), "{both:?}");
    // With one worker, and with limits that follow from the number of workers, only one of the two is turned.
    let single = told("n_workers=1, memory_limit='8GB'")?;
    assert!(first_adds(&single, &["n_workers=1,", "memory_limit='16GB'"]), "{single:?}");
    let shared = told("n_workers=12")?;
    assert!(first_adds(&shared, &["n_workers=6)"]), "{shared:?}");
    Ok(())
}

const RAY: &str = "\
(raylet) [2026-03-01 10:41:03,229 E 1008 1008] (raylet) node_manager.cc:3064: 9 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 71e7c98fd2bc, IP: 10.0.0.7) over the last time period. To see more information about the Workers killed on this node, use `ray logs raylet.out -ip 10.0.0.7`
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
Memory on the node (IP: 10.0.0.7, ID: 7c1be98fd2bc) where the task (task ID: 08258fe2, name=parse, pid=4410, memory used=3.32GB) was running was 60.91GB / 62.00GB (0.982419), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 63ba2ebe) because it was the most recently scheduled task; to see more information about memory usage on this node, use `ray logs raylet.out -ip 10.0.0.7`. To see the logs of the worker, use `ray logs worker-63ba2ebe*out -ip 10.0.0.7. Top 10 memory users:
PID	MEM(GB)	COMMAND
4410	3.32	ray::parse
4409	3.31	ray::parse
4408	3.30	ray::parse
4407	3.30	ray::parse
4406	3.29	ray::parse
4405	3.28	ray::parse
4404	3.27	ray::parse
4403	3.26	ray::parse
4402	3.25	ray::parse
4401	3.24	ray::parse
";

#[test]
fn tasks_ask_for_more_of_the_node() -> Outcome {
    let script = |decorator: &str| {
        format!(
            "import pandas as pd
import ray

ray.init()

@ray.remote({decorator})
def parse(path):
    return pd.read_parquet(path).shape

print(ray.get([parse.remote(path) for path in open('paths').read().split()]))
"
        )
    };
    let told = |decorator: &str| changes(&[("job.log", RAY), ("parse.py", &script(decorator))]);
    let counted = told("num_cpus=1, max_retries=2")?;
    assert!(first_adds(&counted, &["@ray.remote(num_cpus=2, max_retries=2)"]), "{counted:?}");
    assert!(!names(&counted, "torch.load"), "nothing is loaded: {counted:?}");
    // 3.32 GiB and a fifth, in whole GiB.
    let asked = told("memory=1024**3")?;
    assert!(first_adds(&asked, &["@ray.remote(memory=4294967296)"]), "{asked:?}");
    Ok(())
}

#[test]
fn a_merge_leaves_the_gpu_by_the_options_that_put_it_there() -> Outcome {
    let log = "\
Warmup loader cache: 100%|██████████| 3/3 [00:00<00:00, 2106.89it/s]
Executing graph:  22%|██▏       | 321/1457 [00:21<01:14, 15.27it/s]
Traceback (most recent call last):
  File \"/opt/venv/lib/python3.11/site-packages/mergekit/graph.py\", line 197, in run
    res = task.execute(**arguments)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1002.00 MiB. GPU 0 has a total capacity of 7.78 GiB of which 321.12 MiB is free. Including non-PyTorch memory, this process has 7.40 GiB memory in use. Of the allocated memory 7.02 GiB is allocated by PyTorch, and 212.50 MiB is reserved by PyTorch but unallocated.
";
    let told = |options: &str| {
        let run = format!("mergekit-yaml merge.yml ./out {options}--out-shard-size 5B\n");
        changes(&[("job.log", log), ("run.sh", &run)])
    };
    let both = told("--cuda --read-to-gpu ")?;
    assert!(first_adds(&both, &["mergekit-yaml merge.yml ./out --out-shard-size 5B"]), "{both:?}");
    assert!(!names(&both, "CUDA_VISIBLE_DEVICES"), "the program was told to use a GPU: {both:?}");
    let all = told("--gpu-rich ")?;
    assert!(first_adds(&all, &["mergekit-yaml merge.yml ./out --out-shard-size 5B"]), "{all:?}");
    Ok(())
}

#[test]
fn a_chart_states_the_limit_of_its_pods() -> Outcome {
    let log = "\
INFO 03-01 10:00:31 api_server.py:529] vLLM API server version 0.6.3
INFO 03-01 10:02:41 distributed_gpu_executor.py:57] # GPU blocks: 20412, # CPU blocks: 13107
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Limits:
      memory:          48Gi
";
    let values = "\
servingEngineSpec:
  modelSpec:
  - name: chat
    repository: vllm/vllm-openai
    modelURL: org/My-70B
    requestMemory: \"48Gi\"
    limitMemory: \"48Gi\"
    requestGPU: 2
    vllmConfig:
      tensorParallelSize: 2
      extraArgs: [\"--swap-space\", \"20\"]
";
    let told = changes(&[("job.log", log), ("values.yaml", values)])?;
    let limit = told.iter().find(|(knob, _)| knob.starts_with("resources.limits.memory"));
    // What was there, and 20 GiB of swap space for each of two GPUs; the request follows.
    let raised = |(_, diff): &&(String, String)| {
        diff.contains("limitMemory: \"88Gi\"") && diff.contains("requestMemory: \"88Gi\"")
    };
    assert!(limit.as_ref().is_some_and(raised), "{told:?}");
    Ok(())
}

#[test]
fn a_request_is_no_larger_than_the_limit() -> Outcome {
    let log = "\
Status:           Failed
Reason:           Evicted
Message:          The node was low on resource: memory. Threshold quantity: 100Mi, available: 65320Ki. Container train was using 125829120Ki, request is 32Gi, has larger consumption of memory.
";
    let pod = "\
apiVersion: v1
kind: Pod
metadata: {name: tune}
spec:
  containers:
  - name: train
    image: registry/train:1
    command: [python, train.py]
    resources:
      requests:
        memory: 32Gi
      limits:
        memory: 140Gi
";
    let told = changes(&[("job.log", log), ("pod.yaml", pod)])?;
    // 120 GiB and a quarter.
    assert_eq!(told.first().map(|(_, diff)| diff.matches("memory: 150Gi").count()), Some(2), "{told:?}");
    Ok(())
}

#[test]
fn what_was_given_no_gpu_is_placed_nowhere_else() -> Outcome {
    let log = merge(1);
    let told = |options: &str| {
        let job = format!("#!/bin/bash\n#SBATCH --mem=48G\n{options}python merge.py\n");
        changes(&[("job.log", log.as_str()), ("merge.py", MERGE), ("run.sbatch", &job)])
    };
    assert!(!names(&told("")?, "from_pretrained.device_map"));
    assert!(names(&told("#SBATCH --gres=gpu:1\n")?, "from_pretrained.device_map"));
    Ok(())
}

/// The scheduler's accounts show that memory was not what the job ended for.
#[test]
fn a_job_far_below_what_it_was_granted_gets_no_more_memory() -> Outcome {
    let log = |used: &str| {
        format!(
            "Epoch 2:  33%|███▎      | 5120/15400 [58:02<1:56:20,  1.47it/s, loss=0.61]\nsrun: error: node201: task 0: Killed\nsrun: Terminating StepId=881204.0\n$ sacct -j 881204 --format=JobID,State,ExitCode,ReqMem,MaxRSS,Elapsed\nJobID             State ExitCode     ReqMem     MaxRSS    Elapsed\n------------ ---------- -------- ---------- ---------- ----------\n881204           FAILED      9:0       192G              01:02:44\n881204.batch     FAILED      9:0                 4212K   01:02:44\n881204.0         FAILED      0:9          {used:>12}   01:02:43\n"
        )
    };
    assert!(changes(&[("job.log", &log("9120144K"))])?.is_empty());
    let script = ("job.sbatch", "#!/bin/bash\n#SBATCH --mem=192G\nsrun python train.py --num_workers 8\n");
    assert!(changes(&[("job.log", &log("9120144K")), script])?.is_empty());
    assert!(!changes(&[("job.log", &log("200120144K")), script])?.is_empty());
    Ok(())
}
