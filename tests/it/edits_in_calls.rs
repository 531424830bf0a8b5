//! An edit of a call looks at the call first: what it passes on itself, which of several is meant, and whether a step of training needs what
//! the edit takes away.

use std::error::Error;

use crate::support::analyzed::{cause, diff, patches, refused, report, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Steps that print a level which grows, and a refusal in the forward pass of `train.py`.
fn growing() -> String {
    let steps: String =
        (0..7).map(|at| format!("epoch 0 step {} loss 1.{at} mem {}.25 GiB\n", at * 40, 4 + at * 2)).collect();
    let calls = [
        ("/w/train.py", "<module>", "out = net(x)"),
        ("torch/nn/modules/conv.py", "forward", "return self._conv_forward(input, self.weight, self.bias)"),
    ];
    steps + &stack(&calls) + &refused("192.00 MiB", 19.5)
}

fn training(body: &str) -> String {
    format!(
        "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(tiles, batch_size=6)\nfor epoch in range(9):\n    summed = 0\n    for x, y in loader:\n        out = net(x)\n        objective = crit(out, y) + penalty(net)\n        {body}\n        step(optimizer)\n"
    )
}

#[test]
fn a_sum_of_what_a_backward_pass_starts_from_loses_its_graph() -> Outcome {
    for body in [
        "objective.backward()\n        summed += objective",
        "scaler.scale(objective / 4).backward()\n        summed += objective",
        "accelerator.backward(objective)\n        summed += objective",
    ] {
        let end = report(&[("job.log", &growing()), ("train.py", &training(body))])?;
        assert_eq!((cause(&end)?, turned(&end)?[0]), ("gpu_memory_growth", "tensor.detach()"), "{body}");
        assert!(diff(&end)?.contains("+        summed += objective.detach()"), "{}", diff(&end)?);
        assert!(patches(&end)?.iter().all(|patch| patch.knob != "torch.no_grad()"), "{body}");
    }
    Ok(())
}

#[test]
fn a_number_has_no_graph_to_lose() -> Outcome {
    for body in [
        "objective.backward()\n        objective = objective.item()\n        summed += objective",
        "objective.backward()\n        loss = float(objective)\n        summed += loss",
    ] {
        let end = report(&[("job.log", &growing()), ("train.py", &training(body))])?;
        assert!(patches(&end)?.iter().all(|patch| patch.diff.as_deref().is_none_or(|diff| !diff.contains("detach"))));
        // A step of training has a backward pass, whatever grows.
        assert!(patches(&end)?.iter().all(|patch| patch.knob != "torch.no_grad()"), "{:?}", turned(&end)?);
    }
    Ok(())
}

#[test]
fn a_call_that_passes_an_argument_on_is_given_no_second_one() -> Outcome {
    let log = "Loading checkpoint shards:  25%|##5       | 2/8 [00:21<01:04, 10.7s/it]\n".to_owned()
        + &stack(&[
            ("/w/tune.py", "<module>", "model, tokenizer = FastLanguageModel.from_pretrained("),
            ("unsloth/models/loader.py", "from_pretrained", "model, tokenizer = dispatch_model.from_pretrained("),
            ("transformers/modeling_utils.py", "_load_state_dict_into_meta_model", "param = param[...].to(device)"),
        ])
        + &refused("136.00 MiB", 15.77);
    let script = "from unsloth import FastLanguageModel\nmodel, tokenizer = FastLanguageModel.from_pretrained(\n    model_name = \"unsloth/Qwen2.5-14B\",\n    load_in_4bit = False,\n)\n";
    let end = report(&[("job.log", &log), ("tune.py", script)])?;
    assert!(turned(&end)?[0].ends_with("load_in_4bit"), "{:?}", turned(&end)?);
    assert!(turned(&end)?.iter().all(|knob| !knob.ends_with("dtype")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn of_several_calls_the_one_of_the_task_that_held_the_memory_is_changed() -> Outcome {
    let log = |task: &str| {
        format!(
            "(raylet) [2025-05-06 11:02:09,330 E 77 77] (raylet) node_manager.cc:3194: 5 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 8c11, IP: 10.1.0.9) over the last time period.\nray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.1.0.9, ID: 8c11) where the task (task ID: 31aa, name={task}, pid=702, memory used=9.80GB) was running was 118.70GB / 124.00GB (0.957258), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 5e21) because it was the most recently scheduled task; to see more information about memory usage on this node, use `ray logs raylet.out -ip 10.1.0.9`.\n"
        )
    };
    let script = "import ray\nds = ray.data.read_binary_files(\"/d/scans\")\nds = ds.map_batches(unpack, batch_size=2048, num_cpus=1)\nds = ds.map_batches(Scorer, batch_size=320, concurrency=2)\nds.write_parquet(\"/d/out\")\n";
    for (task, line) in [
        ("ReadFiles->MapBatches(unpack)", "+ds = ds.map_batches(unpack, batch_size=128, num_cpus=1)"),
        ("MapWorker(MapBatches(Scorer)).submit", "+ds = ds.map_batches(Scorer, batch_size=20, concurrency=2)"),
    ] {
        let end = report(&[("job.log", &log(task)), ("score.py", script)])?;
        assert_eq!(turned(&end)?[0], "map_batches.batch_size", "{task}");
        assert!(diff(&end)?.contains(line), "{task}: {}", diff(&end)?);
    }
    Ok(())
}

#[test]
fn workers_that_the_launch_line_asks_for_are_fewer_there() -> Outcome {
    let log = "Traceback (most recent call last):\n  File \"/v/site-packages/torch/utils/data/dataloader.py\", line 1133, in _try_get_data\n    data = self._data_queue.get(timeout=timeout)\nRuntimeError: DataLoader worker (pid 6120) is killed by signal: Killed. \nslurmstepd: error: Detected 2 oom_kill events in StepId=88.0. Some of the step tasks have been OOM Killed.\nsrun: error: n3: task 1: Out Of Memory\n";
    let script = "import argparse, glob\nimport numpy as np\nfrom torch.utils.data import Dataset, DataLoader\nclass Waves(Dataset):\n    def __init__(self, root):\n        self.waves = []\n        for file in glob.glob(root):\n            self.waves.append((np.load(file), 0))\n    def __getitem__(self, at):\n        return self.waves[at]\np = argparse.ArgumentParser()\np.add_argument(\"--workers\", type=int, default=4)\na = p.parse_args()\nloader = DataLoader(Waves(\"*.npy\"), num_workers=a.workers, persistent_workers=True)\n";
    let job = "#!/bin/bash\n#SBATCH --ntasks-per-node=4\n#SBATCH --gres=gpu:4\n#SBATCH --mem=80G\nsrun python train.py --workers 16\n";
    let end = report(&[("job.log", log), ("train.py", script), ("job.sbatch", job)])?;
    assert_eq!(turned(&end)?[..2], ["--workers", "--mem"]);
    assert!(diff(&end)?.contains("+srun python train.py --workers 4"), "{}", diff(&end)?);
    assert!(
        patches(&end)?[1].diff.as_deref().is_some_and(|diff| diff.contains("--mem=160G")),
        "{:?}",
        patches(&end)?[1]
    );
    assert!(!turned(&end)?.contains(&"DataLoader.persistent_workers"), "{:?}", turned(&end)?);
    Ok(())
}

const POD: &str = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec:\n  pytorchReplicaSpecs:\n    Master:\n      replicas: 1\n      template:\n        spec:\n          containers:\n          - name: pytorch\n            image: registry/trainer:3\n            command: [\"torchrun\", \"--nproc_per_node=8\", \"adapt.py\"]\n            resources:\n              limits:\n                nvidia.com/gpu: 8\n                memory: 112Gi\n";

#[test]
fn ranks_that_fill_a_pod_with_a_model_each_load_it_to_their_own_gpu() -> Outcome {
    let log = "Loading checkpoint shards:  25%|##5       | 1/4 [00:08<00:24,  8.1s/it]\nE0720 10:11:12.300000 31 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 2 (pid: 66) of binary: /opt/conda/bin/python\n\n$ kubectl get pod adapt-master-0\nNAME             READY   STATUS      RESTARTS   AGE\nadapt-master-0   0/1     OOMKilled   0          81s\n";
    let script = "import os\nimport torch\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained(\"/models/Llama-3.1-8B\")\nmodel = model.to(torch.bfloat16).to(\"cuda\")\n";
    let end = report(&[("job.log", log), ("adapt.py", script), ("job.yaml", POD)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("checkpoint_load_duplication", "from_pretrained.device_map"));
    let told = diff(&end)?;
    assert!(told.contains("device_map={\"\": int(os.environ[\"LOCAL_RANK\"])}") && told.contains("bfloat16"), "{told}");
    // What eight copies in fp32 take, in place of what they were given.
    let limit = patches(&end)?.iter().find(|patch| patch.knob == "resources.limits.memory").ok_or("no limit")?;
    assert!(limit.diff.as_deref().is_some_and(|diff| diff.contains("+                memory: 264Gi")), "{limit:?}");
    Ok(())
}

#[test]
fn a_part_of_a_change_before_it_is_no_other_change() -> Outcome {
    let log = "Loading checkpoint shards:  40%|####      | 12/30 [02:51<04:13, 14.1s/it]\nE0311 02:02:02.500000 77 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 1 (pid: 131) of binary: /opt/conda/bin/python\nslurmstepd: error: Detected 1 oom_kill event in StepId=501.0. Some of the step tasks have been OOM Killed.\nsrun: error: n1: task 0: Out Of Memory\n";
    let fsdp = "distributed_type: FSDP\nfsdp_config:\n  fsdp_cpu_ram_efficient_loading: false\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_state_dict_type: SHARDED_STATE_DICT\n  fsdp_sync_module_states: false\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\n";
    let run = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --mem=700G\nsrun accelerate launch --config_file fsdp.yaml sft.py --model_name_or_path /m/Qwen2.5-72B\n";
    let end = report(&[("job.log", log), ("fsdp.yaml", fsdp), ("run.sh", run)])?;
    assert!(turned(&end)?[0].ends_with("fsdp_cpu_ram_efficient_loading"), "{:?}", turned(&end)?);
    assert!(turned(&end)?.iter().all(|knob| !knob.ends_with("fsdp_sync_module_states")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn a_factor_of_what_a_backward_pass_starts_from_has_no_graph() -> Outcome {
    for (body, kept) in [
        ("weight = len(x) / 32\n        (weight * objective).backward()\n        summed += weight", None),
        (
            "objective.backward()\n        objective = objective.cpu().detach().numpy()\n        summed += objective",
            None,
        ),
        ("objective.backward()\n        objective = objective.detach()\n        summed += objective", None),
        (
            "weight = len(x) / 32\n        (weight * objective).backward()\n        summed += objective",
            Some("objective"),
        ),
        (
            "objective = objective / x.size(0)\n        objective.backward()\n        summed += objective",
            Some("objective"),
        ),
    ] {
        let end = report(&[("job.log", &growing()), ("train.py", &training(body))])?;
        let told: String = patches(&end)?.iter().filter_map(|patch| patch.diff.clone()).collect();
        match kept {
            Some(name) => assert!(told.contains(&format!("+        summed += {name}.detach()")), "{body}: {told}"),
            None => assert!(!told.contains("detach()\n \n") && !told.contains("+        summed"), "{body}: {told}"),
        }
    }
    Ok(())
}

#[test]
fn a_sum_of_another_function_is_not_what_its_backward_pass_starts_from() -> Outcome {
    let script = |head: &str| {
        format!(
            "import torch\ndef train():\n    running = 0\n    for x, y in loader:\n        out = net(x)\n        objective = crit(out, y)\n        objective.backward()\n        running += objective.item()\n\n{head}def check():\n    total = 0\n    for x, y in loader:\n        objective = crit(net(x), y)\n        total += objective\n    print(total)\n"
        )
    };
    for head in ["@torch.no_grad()\n", ""] {
        let end = report(&[("job.log", &growing()), ("train.py", &script(head))])?;
        assert!(!serde_json::to_string(&end)?.contains("keeps the graph of every step"), "{head}");
        let told: String = patches(&end)?.iter().filter_map(|patch| patch.diff.clone()).collect();
        assert!(!told.contains("total += objective.detach()"), "{told}");
    }
    Ok(())
}

#[test]
fn weights_that_exceed_the_gpu_in_16_bit_are_not_only_halved() -> Outcome {
    let log = |gib| {
        "Loading checkpoint shards:  25%|##5       | 2/8 [00:21<01:04, 10.7s/it]\n".to_owned()
            + &stack(&[
                (
                    "/w/run.py",
                    "<module>",
                    "model = AutoModelForCausalLM.from_pretrained(\"Qwen/Qwen2.5-14B\").to(\"cuda\")",
                ),
                ("torch/nn/modules/module.py", "convert", "return t.to("),
            ])
            + &refused("136.00 MiB", gib)
    };
    let script = "import torch\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained(\"Qwen/Qwen2.5-14B\").to(\"cuda\")\n";
    let end = report(&[("job.log", &log(15.77)), ("run.py", script)])?;
    assert!(turned(&end)?.iter().all(|knob| !knob.ends_with("dtype")), "{:?}", turned(&end)?);
    let end = report(&[("job.log", &log(39.39)), ("run.py", script)])?;
    assert_eq!(turned(&end)?[0], "from_pretrained.torch_dtype");
    Ok(())
}
