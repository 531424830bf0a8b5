//! What people who tried the program on jobs of their own stumbled over: what it took for a failure, for a cause, or for advice.

use std::error::Error;

use oomdoc::model::{Ending, FigureName, Kind, Patch, Report};

use crate::support::analyzed::report;

type Outcome = Result<(), Box<dyn Error>>;

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 1 has a total capacity of 79.11 GiB of which 1.21 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated memory 75.10 GiB is allocated by PyTorch, and 1.90 GiB is reserved by PyTorch but unallocated.\n";

fn verdict(log: &str) -> Result<Kind, Box<dyn Error>> {
    Ok(report(&[("job.log", log)])?.verdict)
}

/// The patches of the first cause.
fn patches(report: &Report) -> Vec<&Patch> {
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    first.map(|diagnosis| diagnosis.patches.iter().collect()).unwrap_or_default()
}

/// The lines that the first patch with a diff adds and removes.
fn changed(report: &Report) -> Vec<String> {
    let diff = patches(report).into_iter().find_map(|patch| patch.diff.clone()).unwrap_or_default();
    let is_changed = |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
    diff.lines().filter(is_changed).map(|line| line.replace(['+', '-'], " ").trim().to_owned()).collect()
}

/// The knobs that are to be changed, the first cause's first.
fn turned(report: &Report) -> Vec<&str> {
    patches(report).into_iter().map(|patch| &*patch.knob).collect()
}

#[test]
fn megatron_swift_has_options_of_its_own() -> Outcome {
    let log = format!(
        "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/w/ms-swift/swift/cli/_megatron/sft.py\", line 7, in <module>\n[rank3]:     megatron_sft_main()\n[rank3]:   File \"/w/Megatron-LM/megatron/core/transformer/mlp.py\", line 121, in forward\n[rank3]:     output, bias = self.linear_fc2(hidden)\n[rank3]: {OOM}"
    );
    let script = "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --tensor_model_parallel_size 2 --micro_batch_size 4 --global_batch_size 64 --recompute_granularity none --max_length 8192\n";
    let report = report(&[("job.log", &log), ("train.sh", script)])?;
    assert_eq!(turned(&report)[..2], ["--recompute_granularity", "--micro_batch_size"]);
    let partners: Vec<&str> = patches(&report)[0].with.iter().map(|partner| &*partner.knob).collect();
    assert_eq!(partners, ["--recompute_method", "--recompute_num_layers"]);
    Ok(())
}

#[test]
fn the_batch_is_turned_by_the_option_that_the_job_has() -> Outcome {
    for (frame, name, file, knob) in [
        (
            "llmfoundry/models/layers/ffn.py",
            "mpt.yaml",
            "max_seq_len: 2048\ndevice_train_microbatch_size: 8\n",
            "device_train_microbatch_size",
        ),
        (
            "olmo_core/nn/feed_forward.py",
            "run.sh",
            "torchrun --nproc-per-node=8 train.py run --train_module.rank_microbatch_size=16384\n",
            "--train_module.rank_microbatch_size",
        ),
        (
            "primus/train.py",
            "exp.yaml",
            "modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n      micro_batch_size: 2\n",
            "modules.pre_trainer.overrides.micro_batch_size",
        ),
        (
            "internlm/core/engine.py",
            "run.sh",
            "srun -n 8 python train.py --config ./configs/7B_sft.py\n",
            "data.micro_bsz",
        ),
    ] {
        let log = format!(
            "step 12 loss 2.1\nTraceback (most recent call last):\n  File \"/w/site-packages/{frame}\", line 80, in forward\n    return self.w2(self.w1(x))\n{OOM}"
        );
        let report = report(&[("job.log", &log), (name, file)])?;
        assert_eq!(turned(&report).first(), Some(&knob), "{frame}");
    }
    Ok(())
}

#[test]
fn the_engine_that_a_job_has_beside_its_training_is_not_killed() -> Outcome {
    let log = "(PolicyModelActor pid=4111) Train epoch [1/1]:  12%|█▎        | 2/16 [00:21<02:28, 10.61s/it]\nTraceback (most recent call last):\n  File \"/openrlhf/openrlhf/trainer/ray/ppo_actor.py\", line 262, in training_step\n    self.strategy.backward(loss, self.actor, self.actor_optim)\n  File \"/opt/conda/lib/python3.11/site-packages/deepspeed/runtime/zero/stage3.py\", line 2280, in backward\n    self.loss_scaler.backward(loss.float(), retain_graph=retain_graph)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.64 GiB. GPU 0 has a total capacity of 79.11 GiB of which 2.01 GiB is free. Process 41223 has 40.00 GiB memory in use. Including non-PyTorch memory, this process has 37.09 GiB memory in use. Of the allocated memory 31.02 GiB is allocated by PyTorch, and 2.80 GiB is reserved by PyTorch but unallocated.\n";
    let script = "python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 8 --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --colocate_all_models --vllm_gpu_memory_utilization 0.5 --pretrain Qwen/Qwen2.5-14B-Instruct --zero_stage 3\n";
    let own = report(&[("job.log", log), ("train.sh", script)])?;
    let first = own.incidents.first().and_then(|incident| incident.diagnoses.first()).ok_or("no diagnosis")?;
    assert_eq!(first.cause.to_string(), "colocated_memory_contention");
    assert_eq!(turned(&own)[..2], ["--vllm_enable_sleep", "--adam_offload"]);
    assert!(
        own.incidents
            .iter()
            .flat_map(|incident| &incident.diagnoses)
            .all(|diagnosis| diagnosis.patches.iter().all(|patch| !patch.knob.starts_with("kill")))
    );
    // Nobody shares anything: another job is on the GPU.
    let other = report(&[("job.log", log), ("train.sh", &script.replace("--colocate_all_models ", ""))])?;
    let first = other.incidents.first().and_then(|incident| incident.diagnoses.first()).ok_or("no diagnosis")?;
    assert_eq!(first.cause.to_string(), "gpu_shared_with_others");
    Ok(())
}

#[test]
fn shared_memory_that_is_set_never_shrinks() -> Outcome {
    let log = "RuntimeError: unable to write to file </torch_1123_3481932_12>: No space left on device (28)\nERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n";
    for (limit, wanted) in [("64Gi", "128Gi"), ("2Gi", "16Gi")] {
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: train\nspec:\n  containers:\n  - name: train\n    image: org/train:1\n    volumeMounts:\n    - name: shm\n      mountPath: /dev/shm\n  volumes:\n  - name: shm\n    emptyDir:\n      medium: Memory\n      sizeLimit: {limit}\n"
        );
        let report = report(&[("job.log", log), ("pod.yaml", &pod)])?;
        assert_eq!(changed(&report), [format!("sizeLimit: {limit}"), format!("sizeLimit: {wanted}")]);
    }
    Ok(())
}

#[test]
fn memory_is_bound_with_values_that_exist() -> Outcome {
    let log = "python3 invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO), order=0, oom_score_adj=0\noom-kill:constraint=CONSTRAINT_CPUSET,nodemask=1,cpuset=job_81,mems_allowed=1,global_oom,task_memcg=/slurm/uid_1001/job_81/step_0,task=python3,pid=61233,uid=1001\nOut of memory: Killed process 61233 (python3) total-vm:524924888kB, anon-rss:484412344kB, file-rss:120312kB, shmem-rss:0kB, UID:1001 pgtables:1015632kB oom_score_adj:0\n";
    let script = "#!/bin/bash\n#SBATCH --mem=0\n#SBATCH --mem-bind=local\nsrun numactl --membind=1 python3 train.py\n";
    let report = report(&[("dmesg.log", log), ("job.sbatch", script)])?;
    let bound: Vec<_> =
        patches(&report).into_iter().map(|patch| (&*patch.knob, patch.to.as_ref().map(ToString::to_string))).collect();
    assert_eq!(bound, [("--mem-bind", Some("none".to_owned())), ("--membind", Some("all".to_owned()))]);
    Ok(())
}

#[test]
fn a_job_that_says_it_is_done_survived_what_failed_before() -> Outcome {
    for end in [
        "{'train_runtime': 1200.0, 'train_loss': 1.0, 'epoch': 1.0}\n",
        "I1118 09:53:44.321000 20114 torch/distributed/elastic/agent/server/api.py:937] [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.\n",
        "2026-03-20 20:04:12 | INFO | fairseq_cli.train | done training in 36021.2 seconds\n",
        "Training finished. Saving final model to out/final\n",
    ] {
        let survived = report(&[("job.log", &format!("step 1200 loss 1.91\n{OOM}step 1300 loss 1.90\n{end}"))])?;
        assert_eq!(survived.verdict, Kind::None, "{end}");
        assert!(survived.incidents.iter().all(|incident| incident.recovered), "{end}");
        assert!(survived.other_failure.is_none(), "{end}");
    }
    // What fails after the end of the loop is what the job died of.
    assert_eq!(verdict(&format!("{{'train_runtime': 1200.0, 'epoch': 1.0}}\n{OOM}"))?, Kind::GpuOom);
    Ok(())
}

#[test]
fn a_failed_assertion_in_a_kernel_explains_every_later_call_of_cuda() -> Outcome {
    let assertion = "../aten/src/ATen/native/cuda/Indexing.cu:1236: indexSelectSmallIndex: block: [12,0,0], thread: [0,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n";
    let refused = "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n";
    assert_eq!(verdict(&format!("{assertion}{refused}"))?, Kind::None);
    assert_eq!(verdict(refused)?, Kind::GpuOom);
    Ok(())
}

#[test]
fn a_script_that_reads_a_whole_table_is_told_to_read_parts() -> Outcome {
    let kill = "[ 812.101010] Out of memory: Killed process 1533 (python) total-vm:9123456kB, anon-rss:7402112kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:15012kB oom_score_adj:0\n";
    let script = "import pandas as pd\ndf = pd.read_csv('clicks.csv')\ndf.groupby('item').size().to_csv('out.csv')\n";
    let told = report(&[("dmesg.log", kill), ("prep.py", script)])?;
    assert_eq!(turned(&told)[..2], ["only the columns that are used", "less of the data at once"]);
    assert!(!turned(&told).iter().any(|knob| knob.contains("num_workers") || knob.contains("batch")));
    // Spark reads its tables in parts.
    let spark = script
        .replace("import pandas as pd", "from pyspark.sql import SparkSession as pd")
        .replace("pd.read_csv", "spark.read.csv");
    let told = report(&[("dmesg.log", kill), ("prep.py", &spark)])?;
    assert!(!turned(&told).contains(&"less of the data at once"));
    Ok(())
}

#[test]
fn a_worker_that_nobody_names_ended_with_the_exception_above() -> Outcome {
    let gone = "RuntimeError: One or more background workers are no longer alive. Exiting. Please check the print statements above for the actual error message\n";
    let fault = "Exception in background worker 3:\nTraceback (most recent call last):\n  File \"/w/load.py\", line 3, in item\n    size = len(None)\nTypeError: object of type 'NoneType' has no len()\n";
    let raised =
        format!("Traceback (most recent call last):\n  File \"/w/run.py\", line 1, in <module>\n    train()\n{gone}");
    assert_eq!(verdict(&raised)?, Kind::SigkillUnattributed);
    assert_eq!(verdict(&format!("{fault}{raised}"))?, Kind::None);
    Ok(())
}

#[test]
fn a_worker_that_ends_itself_after_a_timeout_was_not_killed() -> Outcome {
    let timeout = "[rank1]:[E1102 08:22:10.331 ProcessGroupNCCL.cpp:629] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4412, OpType=ALLREDUCE, NumelIn=8388608, NumelOut=8388608, Timeout(ms)=600000) ran for 600042 milliseconds before timing out.\n";
    let gone = "(EngineCore_DP0 pid=150) ERROR 11-02 08:22:11 [multiproc_executor.py:154] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.\n";
    assert_eq!(verdict(&format!("{timeout}{gone}"))?, Kind::None);
    assert_eq!(verdict(gone)?, Kind::SigkillUnattributed);
    Ok(())
}

#[test]
fn what_is_only_spoken_of_is_no_failure() -> Outcome {
    for log in [
        // A server prints what its users ask.
        "INFO 11-20 09:31:11 [logger.py:43] Received request chatcmpl-81: prompt: '<|im_start|>user\\nI get torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. How do I fix this?<|im_end|>', params: SamplingParams(n=1)\nINFO:     10.1.2.3:41002 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n",
        "Nov 20 08:00:01 gpu07 systemd[1]: Listening on systemd-oomd.socket - Userspace Out-Of-Memory (OOM) Killer Socket.\n",
        "ts=2025-11-20T10:00:01.001Z caller=main.go:1009 level=info msg=\"Loaded rule\" name=PodOOMKilled expr=\"kube_pod_container_status_last_terminated_reason{reason=\\\"OOMKilled\\\"} > 0\"\n",
        // Requests wait until there is room again.
        "[2025-10-12 09:31:03 TP0] Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.6123 -> 0.7011\n[2025-10-12 09:31:09] INFO:     127.0.0.1:43310 - \"POST /generate HTTP/1.1\" 200 OK\n",
        "slurmstepd: error: *** JOB 88 ON gpu-c12 CANCELLED AT 2025-11-13T02:03:11 ***\nsrun: error: gpu-c12: task 0: Killed\n",
    ] {
        assert_eq!(verdict(log)?, Kind::None, "{log}");
    }
    Ok(())
}

#[test]
fn an_agent_reports_a_death_only_when_it_has_stopped_the_others() -> Outcome {
    let log = "W1118 01:41:02.551000 20114 site-packages/torch/distributed/elastic/multiprocessing/api.py:900] Sending process 51101 closing signal SIGTERM\nW1118 01:41:02.553000 20114 site-packages/torch/distributed/elastic/multiprocessing/api.py:900] Sending process 51102 closing signal SIGTERM\nE1118 01:41:32.121000 20114 site-packages/torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 0 (pid: 51100) of binary: /opt/conda/bin/python3.11\n";
    let report = report(&[("job.log", log)])?;
    let first = report.failure.sequence.first().ok_or("no sequence")?;
    assert!(matches!(first.ending, Ending::Signal { .. }), "{first:?}");
    assert!(first.time.is_none(), "the line tells when it was printed, not when the rank died");
    Ok(())
}

#[test]
fn ranks_of_the_job_on_one_gpu_are_no_other_processes() -> Outcome {
    let log = "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/w/train.py\", line 31, in <module>\n[rank2]:     ckpt = torch.load(\"last.pt\")\n[rank2]:   File \"/opt/conda/lib/python3.11/site-packages/torch/serialization.py\", line 1471, in load\n[rank2]:     return _load(\n[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 0 has a total capacity of 39.39 GiB of which 318.50 MiB is free. Process 20181 has 14.12 GiB memory in use. Process 20182 has 12.12 GiB memory in use. Including non-PyTorch memory, this process has 12.80 GiB memory in use.\nW1118 09:13:42.551000 20114 site-packages/torch/distributed/elastic/multiprocessing/api.py:900] Sending process 20181 closing signal SIGTERM\nW1118 09:13:42.553000 20114 site-packages/torch/distributed/elastic/multiprocessing/api.py:900] Sending process 20182 closing signal SIGTERM\nE1118 09:13:44.121000 20114 site-packages/torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) local_rank: 2 (pid: 20183) of binary: /opt/conda/bin/python3.11\n";
    let report = report(&[("job.log", log)])?;
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first()).ok_or("no diagnosis")?;
    assert_eq!(first.cause.to_string(), "checkpoint_load_duplication");
    assert_eq!(patches(&report).first().map(|patch| &*patch.knob), Some("torch.load.map_location"));
    Ok(())
}

#[test]
fn a_flag_of_a_container_is_changed_where_it_stands() -> Outcome {
    for file in [
        "services:\n  train:\n    image: acme/train:2\n    command: [\"python\", \"train.py\", \"--per_device_train_batch_size\", \"4\"]\n",
        "services:\n  train:\n    image: acme/train:2\n    command: >-\n      python train.py\n      --per_device_train_batch_size 4\n",
    ] {
        let log = format!("  File \"/w/train.py\", line 9, in <module>\n    loss.backward()\n{OOM}");
        let report = report(&[("job.log", &log), ("docker-compose.yml", file)])?;
        let lines = changed(&report);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0].replace('4', "2"), lines[1], "in the same place");
    }
    Ok(())
}

#[test]
fn an_option_of_the_program_stands_behind_the_image_it_runs_in() -> Outcome {
    let log = "(EngineCore_DP0 pid=92) ValueError: To serve at least one request with the models's max seq len (131072), (20.00 GiB KV cache is needed, which is larger than the available KV cache memory (8.91 GiB). Based on the available memory, the estimated maximum model length is 58368. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n";
    let script = "docker run --runtime nvidia --gpus all -v ~/.cache:/root/.cache -p 8000:8000 --ipc=host vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-14B\n";
    let added = |script: &str| -> Result<Vec<String>, Box<dyn Error>> {
        Ok(changed(&report(&[("job.log", log), ("run.sh", script)])?))
    };
    let lines = added(script)?;
    assert!(lines.last().is_some_and(|line| line.ends_with("max model len 58368")), "{lines:?}");
    // It is shorter already: the log tells what it would have to be at most.
    let shorter = added("vllm serve Qwen/Qwen3-14B --max-model-len 32768\n")?;
    assert!(!shorter.iter().any(|line| line.contains("58368")), "{shorter:?}");
    Ok(())
}

#[test]
fn a_server_is_not_advised_as_a_training_job() -> Outcome {
    let log = "(EngineCore_DP0 pid=92)   File \"/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_model_runner.py\", line 2635, in load_model\n(EngineCore_DP0 pid=92)     self.model = model_loader.load_model(\n(EngineCore_DP0 pid=92) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 503.19 MiB is free. Including non-PyTorch memory, this process has 78.60 GiB memory in use. Of the allocated memory 77.90 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n";
    let report = report(&[("job.log", log), ("run.sh", "vllm serve meta-llama/Llama-3.3-70B-Instruct\n")])?;
    let knobs: Vec<&str> = patches(&report).into_iter().map(|patch| &*patch.knob).collect();
    // What `fix` can write goes before a checkpoint that somebody must find.
    assert_eq!(knobs.first(), Some(&"--tensor-parallel-size"), "{knobs:?}");
    assert!(knobs.contains(&"a checkpoint in 4 bits"), "{knobs:?}");
    assert!(!knobs.iter().any(|knob| knob.starts_with("torch.load") || knob.starts_with("DataLoader")), "{knobs:?}");
    Ok(())
}

#[test]
fn one_key_does_not_make_a_framework_of_another() -> Outcome {
    let log = "Traceback (most recent call last):\n  File \"/venv/lib/python3.10/site-packages/lightning/pytorch/loops/evaluation_loop.py\", line 396, in _evaluation_step\n    output = call._call_strategy_hook(trainer, hook_name, *step_args)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n";
    let config = "trainer:\n  accelerator: gpu\n  devices: 1\ndata:\n  train_batch_size: 8\n";
    let report = report(&[("job.log", log), ("config.yaml", config)])?;
    assert_eq!(report.job.framework.as_deref(), Some("lightning"));
    Ok(())
}

#[test]
fn a_service_without_a_size_of_shared_memory_gets_one() -> Outcome {
    let log = "trainer-1  | RuntimeError: DataLoader worker (pid 98) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.\ntrainer-1 exited with code 1\n";
    let file = "services:\n  board:\n    image: acme/board:1\n  trainer:\n    image: acme/train:2\n    command: python train.py\n";
    let report = report(&[("job.log", log), ("docker-compose.yml", file)])?;
    assert_eq!(changed(&report), ["shm_size: 16g"]);
    let diff = patches(&report).first().and_then(|patch| patch.diff.clone()).unwrap_or_default();
    assert!(diff.contains("    command: python train.py\n+    shm_size: 16g"), "{diff}");
    Ok(())
}

#[test]
fn an_option_of_docker_stands_before_the_image_that_runs_a_launcher() -> Outcome {
    let log = "RuntimeError: DataLoader worker (pid 98) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.\n";
    let script = "IMAGE=acme/vlm:3\ndocker run --rm --gpus all -v /data:/data \\\n    -e HF_HOME=/data/hf \\\n    $IMAGE \\\n    torchrun --nproc_per_node=4 train.py --num_workers 12\n";
    let report = report(&[("job.log", log), ("run.sh", script)])?;
    let diff = patches(&report).first().and_then(|patch| patch.diff.clone()).unwrap_or_default();
    assert!(diff.contains("+    --shm-size 16g \\\n     $IMAGE"), "{diff}");
    Ok(())
}

#[test]
fn an_option_that_a_container_lacks_is_added_to_its_list() -> Outcome {
    let log = "(EngineCore_DP0 pid=92)   File \"/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_model_runner.py\", line 2635, in load_model\n(EngineCore_DP0 pid=92)     self.model = model_loader.load_model(\n(EngineCore_DP0 pid=92) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 503.19 MiB is free. Including non-PyTorch memory, this process has 78.60 GiB memory in use. Of the allocated memory 77.90 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n";
    let pod = |container: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: llm\nspec:\n  containers:\n    - name: llm\n      image: vllm/vllm-openai:v0.11.0\n{container}"
        )
    };
    for (container, added) in [
        (
            "      command: [\"vllm\", \"serve\", \"m\"]\n      args: [\"--max-model-len\", \"8192\"]\n",
            ", \"--tensor-parallel-size\", \"2\"]",
        ),
        (
            "      command:\n        - vllm\n        - serve\n        - m\n        - --max-model-len=8192\n",
            "- --tensor-parallel-size=2",
        ),
        (
            "      command:\n        - vllm\n        - serve\n        - m\n        - --max-model-len\n        - \"8192\"\n",
            "- \"--tensor-parallel-size\"",
        ),
    ] {
        let report = report(&[("job.log", log), ("pod.yaml", &pod(container))])?;
        let diff = patches(&report).first().and_then(|patch| patch.diff.clone()).unwrap_or_default();
        assert!(diff.contains(added), "{container}{diff}");
    }
    Ok(())
}

#[test]
fn of_several_containers_the_one_that_was_killed_is_changed() -> Outcome {
    let described = "Containers:\n  metrics:\n    Image:          prom/pushgateway:v1.8.0\n    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Limits:\n      memory:  128Mi\n  vllm:\n    State:          Running\n    Limits:\n      memory:          64Gi\nConditions:\n";
    let deployment = "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n        - name: metrics\n          image: prom/pushgateway:v1.8.0\n          resources:\n            limits: {memory: 128Mi}\n        - name: vllm\n          image: vllm/vllm-openai:v0.10.2\n          command: [vllm, serve, /models/llama-70b, --swap-space=16]\n          resources:\n            limits: {memory: 64Gi, nvidia.com/gpu: \"4\"}\n";
    let sidecar = report(&[("describe.txt", described), ("deploy.yaml", deployment)])?;
    assert_eq!(sidecar.incidents[0].victim.role.as_deref(), Some("metrics"));
    assert_eq!(changed(&sidecar).first().map(String::as_str), Some("limits: {memory: 128Mi}"));
    // What the server is started with does not reach the container beside it.
    assert!(patches(&sidecar).iter().all(|patch| patch.target == "system"), "{:?}", patches(&sidecar));
    let moved = described
        .replace("metrics:", "aside:")
        .replace("vllm:", "metrics:")
        .replace("aside:", "vllm:")
        .replace("128Mi", "64Gi");
    let server = report(&[("describe.txt", &moved), ("deploy.yaml", deployment)])?;
    let of_limit = patches(&server).into_iter().find(|patch| patch.knob == "resources.limits.memory");
    assert_eq!(of_limit.and_then(|patch| patch.from.as_deref()), Some("64Gi"));
    assert_eq!(server.job.framework_version.as_deref(), Some("0.10.2"));
    Ok(())
}

#[test]
fn of_several_servers_the_one_that_failed_is_changed() -> Outcome {
    let log = "(APIServer pid=1) INFO 11-02 08:21:01 [utils.py:233] non-default args: {'model': 'Qwen/Qwen2.5-32B-Instruct', 'max_model_len': 32768}\n(EngineCore_DP0 pid=112) INFO 11-02 08:21:44 [gpu_worker.py:298] Available KV cache memory: 6.11 GiB\n(EngineCore_DP0 pid=112) ERROR 11-02 08:21:45 [core.py:708] ValueError: To serve at least one request with the models's max seq len (32768), (8.00 GiB KV cache is needed, which is larger than the available KV cache memory (6.11 GiB). Based on the available memory, the estimated maximum model length is 25024. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n";
    let script = "CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen2.5-32B-Instruct --max-model-len 32768 --port 8000 &\nCUDA_VISIBLE_DEVICES=1 vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 16384 --enforce-eager --port 8001 &\nwait\n";
    let compose = "services:\n  llm:\n    image: vllm/vllm-openai:v0.11.0\n    command: --model Qwen/Qwen2.5-32B-Instruct --max-model-len 32768\n  small:\n    image: vllm/vllm-openai:v0.11.0\n    command: --model Qwen/Qwen2.5-1.5B-Instruct --max-model-len 16384 --enforce-eager\n";
    for (name, text) in [("start.sh", script), ("docker-compose.yml", compose)] {
        let report = report(&[("job.log", log), (name, text)])?;
        let diff = patches(&report).first().and_then(|patch| patch.diff.clone()).unwrap_or_default();
        let added: Vec<&str> = diff.lines().filter(|line| line.starts_with("+ ") || line.starts_with("+C")).collect();
        assert!(added.len() == 1 && added[0].contains("32B") && added[0].contains("25024"), "{name}: {diff}");
    }
    Ok(())
}

#[test]
fn a_flag_that_is_false_and_an_answer_that_is_passed_on_are_no_failure() -> Outcome {
    for log in [
        "{\"Status\":\"exited\",\"Running\":false,\"OOMKilled\":false,\"Dead\":false,\"Pid\":0,\"ExitCode\":0}\n",
        "INFO:     10.0.3.20:58650 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\ndata: {\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\"}}]}\n",
    ] {
        assert_eq!(verdict(log)?, Kind::None, "{log}");
    }
    Ok(())
}

#[test]
fn what_the_cluster_did_with_a_pod_explains_its_status() -> Outcome {
    let described = "Containers:\n  vllm:\n    State:          Terminated\n      Reason:       Error\n      Exit Code:    137\nEvents:\n  Type     Reason     Age   From               Message\n";
    let preempted = "  Warning  Preempted  2m    default-scheduler  Preempted by pod 7a1e on node gpu-3\n";
    let probed = "  Normal   Killing    3m    kubelet  Container vllm failed liveness probe, will be restarted\n";
    assert_eq!(verdict(described)?, Kind::SigkillUnattributed);
    for event in [preempted, probed] {
        assert_eq!(verdict(&format!("{described}{event}"))?, Kind::None, "{event}");
    }
    Ok(())
}

#[test]
fn a_job_that_finished_after_the_kernel_killed_another_process_survived() -> Outcome {
    let kernel = "[Mon Nov  3 09:03:12 2025] Out of memory: Killed process 9911 (chrome) total-vm:1211122kB, anon-rss:812211kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1122kB oom_score_adj:300\n";
    let log = |hour| {
        format!(
            "2025-11-03T0{hour}:00:00 INFO step 1000/1000 loss 1.1\n2025-11-03T0{hour}:00:09 INFO training finished, model saved\n"
        )
    };
    let survived = |hour| -> Result<bool, Box<dyn Error>> {
        let report = report(&[("dmesg.log", kernel), ("job.log", &log(hour))])?;
        Ok(report.incidents.iter().all(|incident| incident.recovered))
    };
    assert!(survived(9 - 1).is_ok_and(|survived| !survived), "the kill came later");
    assert!(survived(9).is_ok_and(|survived| !survived), "the kill came later");
    let later = report(&[("dmesg.log", kernel), ("job.log", &log(9).replace("T09:00", "T09:10"))])?;
    assert!(later.incidents.iter().all(|incident| incident.recovered));
    Ok(())
}

#[test]
fn all_of_a_nodes_memory_is_no_limit_to_be_raised() -> Outcome {
    let log = "slurmstepd: error: Detected 1 oom_kill event in StepId=41003.0. Some of the step tasks have been OOM Killed.\n";
    let raised = |memory: &str| -> Result<bool, Box<dyn Error>> {
        let script =
            format!("#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --mem={memory}\nsrun python train.py --lr 1e-5\n");
        let report = report(&[("job.log", log), ("run.sbatch", &script)])?;
        Ok(patches(&report).iter().any(|patch| patch.knob == "--mem"))
    };
    assert!(raised("64G")?);
    assert!(!raised("0")?);
    Ok(())
}

#[test]
fn the_option_that_the_program_names_goes_first_where_it_is_set() -> Outcome {
    let log = "2025-02-11T09:24:00.1Z  INFO text_generation_router: router/src/main.rs:1: Warming up model\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.42 GiB. GPU 1 has a total capacity of 47.54 GiB of which 1.91 GiB is free.\n2025-02-11T09:24:03.8Z ERROR warmup{max_input_length=Some(12000) max_prefill_tokens=32000}: text_generation_router_v3::client: backends/v3/src/client/mod.rs:45: Server error: Not enough memory to handle 32000 prefill tokens. You need to decrease `--max-batch-prefill-tokens`\n";
    let compose = "services:\n  tgi:\n    image: ghcr.io/huggingface/text-generation-inference:3.3.4\n    environment:\n      - MODEL_ID=mistralai/Mixtral-8x7B-Instruct-v0.1\n      - MAX_BATCH_PREFILL_TOKENS=32000\n      - MAX_TOTAL_TOKENS=20000\n";
    let report = report(&[("job.log", log), ("docker-compose.yml", compose)])?;
    let expected = ["- MAX_BATCH_PREFILL_TOKENS=32000", "- MAX_BATCH_PREFILL_TOKENS=16000"];
    let changed: Vec<String> = changed(&report).iter().map(|line| format!("- {}", line.trim_start())).collect();
    assert_eq!(changed, expected);
    Ok(())
}

#[test]
fn names_of_models_and_services_are_whole_and_variables_need_no_shell() -> Outcome {
    let log = "(EngineCore_DP0 pid=112) ERROR 11-02 08:21:45 [core.py:708] ValueError: To serve at least one request with the models's max seq len (32768), (8.00 GiB KV cache is needed, which is larger than the available KV cache memory (6.11 GiB). Based on the available memory, the estimated maximum model length is 25024. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n";
    let started = "(APIServer pid=1) INFO 11-02 08:21:01 [utils.py:233] non-default args: {'model': 'Qwen/Qwen2.5-32B-Instruct', 'max_model_len': 32768}\n";
    // The client beside the server names the same model.
    let client = "services:\n  llm:\n    image: vllm/vllm-openai:v0.11.0\n    command: Qwen/Qwen2.5-32B-Instruct --max-model-len 32768\n  app:\n    image: corp/app:3\n    environment:\n      - OPENAI_MODEL=Qwen/Qwen2.5-32B-Instruct\n      - discovery.type=single-node\n    command: python app.py\n";
    // So does the container that fetches it.
    let pod = "spec:\n  initContainers:\n    - name: fetch\n      image: corp/fetch:1\n      env:\n        - {name: MODEL_ID, value: Qwen/Qwen2.5-32B-Instruct}\n        - {name: my-var, value: x}\n      command: [sh, -c, 'fetch \"$MODEL_ID\"']\n  containers:\n    - name: vllm\n      image: vllm/vllm-openai:v0.11.0\n      command: [sh, -c, 'vllm serve Qwen/Qwen2.5-32B-Instruct --max-model-len 32768']\n";
    for (name, text) in [("docker-compose.yml", client), ("pod.yaml", pod)] {
        let report = report(&[("job.log", &format!("{started}{log}")), (name, text)])?;
        assert!(changed(&report).iter().any(|line| line.contains("25024")), "{name}: {:?}", patches(&report));
    }
    // `llama-server` is no process of the service `server`.
    let killed = "[  100.000100] llama-server invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n[  100.000200] memory: usage 16777216kB, limit 16777216kB, failcnt 12\n[  100.000300] Memory cgroup out of memory: Killed process 41234 (llama-server) total-vm:30000000kB, anon-rss:16000000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:100kB oom_score_adj:0\n";
    let compose = "services:\n  llama:\n    image: ghcr.io/ggml-org/llama.cpp:server\n    command: --model /models/q.gguf --ctx-size 65536\n    mem_limit: 16g\n  server:\n    image: nginx:1\n    mem_limit: 1g\n";
    let by_limit = report(&[("dmesg.log", killed), ("docker-compose.yml", compose)])?;
    assert_eq!(changed(&by_limit).first().map(String::as_str), Some("mem_limit: 16g"));
    // Without the limit nothing tells which service it was.
    let unknown = report(&[("dmesg.log", &killed.replace("limit 16777216kB", "")), ("docker-compose.yml", compose)])?;
    assert!(changed(&unknown).iter().all(|line| !line.contains("mem_limit")), "{:?}", patches(&unknown));
    Ok(())
}

#[test]
fn nothing_moves_to_a_host_that_is_full() -> Outcome {
    let log = "(WorkerDict pid=40126) verl actor_rollout_generate_sequences\nRay's memory monitor:\nPID     MEM(GB) COMMAND\n40126   11.20   ray::WorkerDict.actor_rollout_generate_sequences\n40125   11.17   ray::WorkerDict.actor_rollout_generate_sequences\n40032   11.17   ray::WorkerDict.actor_rollout_generate_sequences\n39907   0.54    ray::main_task\nray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n";
    let launch = "python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.fsdp_config.param_offload=False actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct\n";
    let report = report(&[("job.log", log), ("launch.sh", launch)])?;
    assert_eq!(report.verdict, Kind::HostOomRay);
    let all = report.incidents[0].diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
    let offloads: Vec<&Patch> = all.filter(|patch| patch.knob.contains("offload")).collect();
    assert!(offloads.iter().all(|patch| patch.from.as_deref().is_some_and(|from| from == "true")), "{offloads:?}");
    Ok(())
}

#[test]
fn the_number_that_a_scheduler_counts_for_each_slot_grows_in_its_own_unit() -> Outcome {
    let script = "#!/bin/bash\n#BSUB -J seg\n#BSUB -n 8\n#BSUB -M 4096\npython train.py --workers 8\n";
    let log = "INFO: volume 31/40\n\nJob <seg> was submitted from host <login2> by user <u> in cluster <hpc>\n\nTERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 130.\n\nResource usage summary:\n\n    Max Memory :                                 32768 MB\n    Total Requested Memory :                     32768.00 MB\n";
    let report = report(&[("job.log", log), ("job.bsub", script)])?;
    assert_eq!(changed(&report), ["#BSUB  M 4096", "#BSUB  M 5120"], "{:?}", patches(&report));
    Ok(())
}

#[test]
fn of_two_servers_in_two_scripts_the_one_that_failed_is_changed() -> Outcome {
    let server = |share: &str, mode: &str, more: &str| {
        format!(
            "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 8 --mem-fraction-static {share} --disaggregation-mode {mode} {more}\n"
        )
    };
    let (prefill, decode) = (server("0.85", "prefill", "--chunked-prefill-size 8192"), server("0.93", "decode", ""));
    let args = "[2025-11-24 03:00:01] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', mem_fraction_static=0.93, disaggregation_mode='decode', tp_size=8)\n";
    let stack = "[2025-11-24 03:11:32 TP5] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/sgl-workspace/sglang/python/sglang/srt/layers/logits_processor.py\", line 601, in _get_logits\n    logits = logits[:, : self.config.vocab_size].float()\n";
    let log = format!("{args}{stack}{OOM}");
    for (name, log) in [("server.log", log.clone()), ("decode.log", log.replace(args, ""))] {
        let report = report(&[(name, &log), ("prefill.sh", &prefill), ("decode.sh", &decode)])?;
        let diffs: Vec<&str> = patches(&report).into_iter().filter_map(|patch| patch.diff.as_deref()).collect();
        assert!(!diffs.is_empty() && diffs.iter().all(|diff| diff.contains("decode.sh")), "{name}: {diffs:?}");
    }
    Ok(())
}

#[test]
fn a_unit_of_systemd_is_a_configuration() -> Outcome {
    let unit = "[Unit]\nDescription=vLLM\n\n[Service]\nExecStart=/opt/bin/vllm serve org/model-70b \\\n  --max-model-len 131072\nRestart=on-failure\n";
    let log = "(EngineCore_DP0 pid=201) INFO 11-24 03:03:21 [gpu_worker.py:298] Available KV cache memory: 3.21 GiB\n(EngineCore_DP0 pid=201) ValueError: To serve at least one request with the models's max seq len (131072), (20.00 GiB KV cache is needed, which is larger than the available KV cache memory (3.21 GiB). Based on the available memory, the estimated maximum model length is 21024. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n";
    let report = report(&[("job.log", log), ("vllm.service", unit)])?;
    assert_eq!(changed(&report), ["max model len 131072", "max model len 21024"], "{:?}", patches(&report));
    Ok(())
}

#[test]
fn a_namespace_with_a_model_is_any_programs() -> Outcome {
    let report = report(&[("job.log", &format!("Namespace(model='resnet50', batch_size=256, lr=0.1)\n{OOM}"))])?;
    assert_ne!(report.job.framework.as_deref(), Some("vllm"));
    Ok(())
}

#[test]
fn a_change_stops_where_the_job_needs_it() -> Outcome {
    // verl refuses fewer tokens than the longest prompt and answer together.
    let script = "python3 -m verl.trainer.main_ppo \\\n  data.max_prompt_length=2048 \\\n  data.max_response_length=8192 \\\n  actor_rollout_ref.actor.use_dynamic_bsz=True \\\n  actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384\n";
    let stack = "Traceback (most recent call last):\n  File \"/w/verl/workers/actor/dp_actor.py\", line 430, in update_policy\n    loss.backward()\n";
    let training = report(&[("job.log", &format!("{stack}{OOM}")), ("run.sh", script)])?;
    assert!(changed(&training).concat().contains("ppo_max_token_len_per_gpu=10240"), "{:?}", patches(&training));

    // What is full was too small, however large it is.
    let pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: train\n      image: org/train:1\n      volumeMounts:\n        - {name: shm, mountPath: /dev/shm}\n  volumes:\n    - name: shm\n      emptyDir:\n        medium: Memory\n        sizeLimit: 64Gi\n";
    let full = "RuntimeError: unable to write to file </torch_1123_3481932_12>: No space left on device (28)\n";
    let shared = report(&[("job.log", full), ("pod.yaml", pod)])?;
    assert_eq!(changed(&shared), ["sizeLimit: 64Gi", "sizeLimit: 128Gi"], "{:?}", patches(&shared));
    Ok(())
}

#[test]
fn no_limit_is_raised_beyond_what_the_node_has() -> Outcome {
    let script = "#!/bin/bash\n#SBATCH --mem=500G\nsrun deepspeed --num_gpus 8 train.py --model_name_or_path meta-llama/Llama-2-70b-hf --deepspeed ds.json --bf16 True\n";
    let config = "{\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}}, \"bf16\": {\"enabled\": true}}";
    let log = "CPU Virtual Memory:  used = 492.21 GB, percent = 88.9%\nslurmstepd: error: Detected 1 oom_kill event in StepId=9912.0. Some of the step tasks have been OOM Killed.\n";
    let report = report(&[("job.log", log), ("job.sbatch", script), ("ds.json", config)])?;
    let is_raised = |patch: &&&Patch| patch.knob == "--mem";
    assert!(patches(&report).iter().find(is_raised).is_none(), "{:?}", patches(&report));
    Ok(())
}

#[test]
fn a_number_without_a_unit_counts_what_its_scheduler_counts() -> Outcome {
    let log =
        "slurmstepd: error: Detected 1 oom_kill event in StepId=9912.0. Some of the step tasks have been OOM Killed.\n";
    for (option, more) in [("--mem=64000", "--mem=79G"), ("--mem-per-cpu=8000", "--mem-per-cpu=10G")] {
        let script = format!("#!/bin/bash\n#SBATCH {option}\nsrun python train.py\n");
        let report = report(&[("job.log", log), ("job.sbatch", &script)])?;
        let lines = [option, more].map(|option| format!("#SBATCH {option}").replace(['+', '-'], " "));
        assert_eq!(changed(&report), lines, "{:?}", patches(&report));
    }
    Ok(())
}

#[test]
fn what_other_ranks_printed_says_nothing_of_the_one_that_failed() -> Outcome {
    let print = |rank: u32| {
        format!(
            "{rank:2}: [Rank {rank}] (after 1 iterations) memory (MB) | allocated: 41220.1 | max allocated: 70114.9 | reserved: 73022.0 | max reserved: 73022.0\n"
        )
    };
    let failed = format!(
        "27: [rank27]: Traceback (most recent call last):\n27: [rank27]:   File \"pretrain_gpt.py\", line 302, in <module>\n27: [rank27]: {OOM}"
    );
    let peaks = |log: &str| -> Result<usize, Box<dyn Error>> {
        let report = report(&[("job.log", log)])?;
        let figures = report.incidents.iter().flat_map(|incident| &incident.figures);
        Ok(figures.filter(|figure| figure.name == FigureName::AllocatedPeak).count())
    };
    assert_eq!(peaks(&format!("{}{}{failed}", print(24), print(0)))?, 0);
    assert_eq!(peaks(&format!("{}{}{failed}", print(27), print(0)))?, 1);
    Ok(())
}

#[test]
fn programs_are_offered_their_own_options_and_no_others() -> Outcome {
    let foreign = ["DataLoader", "max_length", "bfloat16", "batch_size", "fully_shard", "map_location"];
    let gromacs = (
        "                      :-) GROMACS - gmx mdrun, 2024.2 (-:\n\nUsing 8 MPI threads\n\nFatal error:\nAllocation of 1.61 GB on the device failed: cudaErrorMemoryAllocation: out of memory\n",
        "gmx mdrun -deffnm prod -ntmpi 8 -ntomp 4 -nb gpu -pme gpu -npme 1\n",
        "-ntmpi",
    );
    let merge = (
        "Executing graph:  14%|█▍        | 612/4371 [01:10<07:11,  8.71it/s]\nTraceback (most recent call last):\n  File \"/opt/mergekit/mergekit/graph.py\", line 197, in run\n    res = task.execute(**arguments)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total capacity of 23.65 GiB of which 2.20 GiB is free.\n",
        "mergekit-yaml merge.yaml ./merged --cuda\n",
        "--cuda",
    );
    let convert = (
        "INFO:hf-to-gguf:Exporting model...\nINFO:gguf.gguf_writer:/out/m.gguf: n_tensors = 1025, total_size = 134.2G\nWriting:   3%|▎         | 4.1G/134G [00:12<02:12, 301Mbyte/s]Killed\n",
        "python3 convert_hf_to_gguf.py /models/m --outfile /out/m.gguf --no-lazy\n",
        "--no-lazy",
    );
    for (log, script, own) in [gromacs, merge, convert] {
        let report = report(&[("job.log", log), ("run.sh", script)])?;
        let diagnoses = report.incidents.first().map(|incident| incident.diagnoses.as_slice()).unwrap_or_default();
        let knobs: Vec<&str> =
            diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches).map(|patch| &*patch.knob).collect();
        assert!(knobs.contains(&own), "{knobs:?}");
        assert!(knobs.iter().all(|knob| foreign.iter().all(|word| !knob.contains(word))), "{knobs:?}");
    }
    Ok(())
}

#[test]
fn a_runner_that_goes_away_after_a_dead_worker_was_not_cancelled_by_anybody() -> Outcome {
    let cancelled = "##[error]The operation was canceled.\n";
    let dead = "[gw2] node down: Not properly terminated\nreplacing crashed worker gw2\n";
    assert_eq!(verdict(&format!("{dead}{cancelled}"))?, Kind::SigkillUnattributed);
    assert_eq!(verdict(cancelled)?, Kind::None);
    Ok(())
}

#[test]
fn a_runner_that_is_shut_down_or_lost_is_undecided_unless_its_service_says_who_did_it() -> Outcome {
    let shut = "collected 640 items\n##[error]The runner has received a shutdown signal. This can happen when the runner service is stopped, or a manually started runner is canceled.\n##[error]The operation was canceled.\n";
    let lost = "##[error]The hosted runner: GitHub Actions 7 lost communication with the server. Anything in your workflow that terminates the runner process, starves it for CPU/Memory, or blocks its network access can cause this error.\n";
    let agent = "##[error]We stopped hearing from agent Azure Pipelines 3. Verify the agent machine is running and has a healthy network connection.\n";
    for log in [shut, lost, agent] {
        assert_eq!(verdict(log)?, Kind::SigkillUnattributed, "{log}");
    }
    let newer = "Canceling since a higher priority waiting request for 'tests-main' exists\n";
    assert_eq!(verdict(&format!("{newer}{shut}"))?, Kind::None);
    // Fewer test processes are the first thing to try, and no batch.
    let flow = "jobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: pytest tests -n auto\n";
    let end = report(&[("job.log", shut), ("ci.yml", flow)])?;
    assert!(crate::support::analyzed::diff(&end)?.contains("+      - run: pytest tests -n 2\n"));
    assert!(crate::support::analyzed::turned(&end)?.iter().all(|knob| !knob.contains("batch")));
    Ok(())
}

#[test]
fn who_is_killed_after_the_allocation_was_taken_back_was_not_short_of_memory() -> Outcome {
    let killed = "srun: error: node1: task 0: Killed\n";
    assert_eq!(
        verdict(&format!("salloc: Job allocation 608 has been revoked.\nsrun: forcing job termination\n{killed}"))?,
        Kind::None
    );
    assert_eq!(verdict(killed)?, Kind::SigkillUnattributed);
    Ok(())
}

#[test]
fn a_json_with_a_name_that_many_have_is_not_deepspeeds() -> Outcome {
    let own = "{\"batch_size\": 4, \"gradient_accumulation_steps\": 1, \"optimizer\": {\"optimizer\": \"ADAMW\"}}";
    let report = report(&[("job.log", OOM), ("config.json", own)])?;
    assert_ne!(report.job.framework.as_deref(), Some("deepspeed"));
    Ok(())
}

#[test]
fn a_value_is_written_as_the_version_takes_it() -> Outcome {
    let unit =
        "[Service]\nExecStart=/opt/bin/vllm serve Qwen/Qwen2-VL-7B-Instruct --limit-mm-per-prompt image=8,video=1\n";
    let stack = "ERROR 03-24 03:02:01 [core.py:343] Traceback (most recent call last):\n  File \"/usr/local/lib/python3.12/dist-packages/vllm/worker/worker.py\", line 229, in determine_num_available_blocks\n    self.model_runner.profile_run()\n  File \"/usr/local/lib/python3.12/dist-packages/vllm/model_executor/models/qwen2_vl.py\", line 312, in forward\n    output = F.scaled_dot_product_attention(q, k, v, dropout_p=0.0)\n";
    for version in ["0.7.3", "0.11.0"] {
        let log = format!("INFO 03-24 03:01:01 [api_server.py:912] vLLM API server version {version}\n{stack}{OOM}");
        let report = report(&[("job.log", &log), ("vllm.service", unit)])?;
        let to: Vec<String> = patches(&report)
            .into_iter()
            .filter(|patch| patch.knob == "--limit-mm-per-prompt")
            .filter_map(|patch| patch.to.as_ref().map(ToString::to_string))
            .collect();
        assert!(!to.is_empty(), "{:?}", patches(&report));
        assert!(to.iter().all(|to| to.starts_with('{') == (version == "0.11.0")), "{version}: {to:?}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_acquired_is_seldom_memory() -> Outcome {
    for log in [
        "ERROR Failed to acquire write lock for array 'weights' in zarr store: LockTimeout\n",
        "Unable to acquire token from the rate limiter: buffer full (100 MB/s)\n",
        "0/4 nodes are available: 4 Insufficient memory.\n",
        "INFO: there is not enough space for the checkpoint on /mnt/data, shared memory unaffected\n",
        "INFO query planner: hash join spilled to disk because hash build exceeded 256 MB memory limit\n",
        "OSError: unable to create shared memory segment: File exists: '/psm_1234'\n",
    ] {
        assert_eq!(verdict(log)?, Kind::None, "{log}");
    }
    Ok(())
}

#[test]
fn the_next_line_speaks_of_something_else() -> Outcome {
    for log in [
        "ERROR out of GPU memory\nINFO next step needs 9 GB\n",
        "engine: out of memory on device\nwatchdog: up\nother worker: rank 7 healthy\nGPU 2: 3 MiB used\n",
        "ERROR: failed to allocate tensor; model file is 13 GB\n",
    ] {
        let report = report(&[("job.log", log)])?;
        let incident = report.incidents.first().ok_or("nothing was found")?;
        assert!(
            incident.figures.iter().all(|figure| figure.name.as_str() != "requested"),
            "{log}{:?}",
            incident.figures
        );
        assert_eq!(incident.victim.rank, None, "{log}");
    }
    Ok(())
}
