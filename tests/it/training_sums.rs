//! Advice for training jobs in which the figures of the job itself decide what is enough.

use std::error::Error;

use crate::support::analyzed::{cause, patches, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A job on two nodes whose optimizer and parameters are offloaded, killed by its limit on a node that has far more.
const OFFLOADED: &str = "gpu31: [2026-02-03 09:11:40,210] [INFO] [config.py:1003:print]   zero_optimization_stage ...... 3
gpu31: Adam Optimizer #0 is created with AVX512 arithmetic capability.
gpu31: [2026-02-03 09:14:02,102] [INFO] [utils.py:789:see_memory_usage] CPU Virtual Memory:  used = 203.4 GB, percent = 13.5%
gpu31: [2026-02-03 09:14:02,500] [INFO] [utils.py:782:see_memory_usage] Before initializing optimizer states
slurmstepd: error: Detected 1 oom_kill event in StepId=88120.0. Some of the step tasks have been OOM Killed.
srun: error: gpu31: task 5: Out Of Memory
";

const ZERO_THREE: &str = "{\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}, \"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}}}\n";

#[test]
fn an_offload_that_the_gpus_have_room_for_is_taken_back() -> Outcome {
    let launch = |gpu: &str| {
        format!(
            "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n#SBATCH --gres=gpu:{gpu}:8\n#SBATCH --mem=256G\nsrun --label python sft.py --model_name_or_path Qwen/Qwen2.5-32B-Instruct --deepspeed ds.json --per_device_train_batch_size 2 --gradient_checkpointing True --bf16 True --max_seq_length 4096\n"
        )
    };
    let end = report(&[("job.log", OFFLOADED), ("ds.json", ZERO_THREE), ("job.sbatch", &launch("h100"))])?;
    assert_eq!(cause(&end)?, "host_offload_pressure");
    let first = &patches(&end)?[0];
    assert_eq!((&*first.knob, first.suffices), ("zero_optimization.offload_optimizer.device", Some(true)));
    // The node has six times as much as it was asked for.
    assert!(turned(&end)?[..3].contains(&"--mem"), "{:?}", turned(&end)?);
    // A small GPU has no room for the states.
    let small = report(&[("job.log", OFFLOADED), ("ds.json", ZERO_THREE), ("job.sbatch", &launch("rtx3090"))])?;
    assert!(!turned(&small)?.contains(&"zero_optimization.offload_optimizer.device"), "{:?}", turned(&small)?);
    // The number of a host is none of a GPU.
    assert_eq!(root(&end)?.victim.device, None);
    Ok(())
}

#[test]
fn what_sleeps_on_the_host_wakes_with_the_offload_that_is_taken_back() -> Outcome {
    let log = "(PolicyModelActor pid=4101) [2026-02-03 10:04:11,202] [INFO] [cpu_adam.py] Adam Optimizer #0 is created with AVX512 arithmetic capability.
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
Memory on the node (IP: 10.0.0.9, ID: 77aa) where the task (actor ID: 12ab, name=PolicyModelActor.__init__, pid=4101, memory used=80.20GB) was running was 181.70GB / 190.00GB (0.956316), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 9c) because it was the most recently scheduled task; to see more information about memory usage on this node, use `ray logs raylet.out -ip 10.0.0.9`. Top 10 memory users:
PID	MEM(GB)	COMMAND
4101	80.20	ray::PolicyModelActor
4102	79.90	ray::CriticModelActor
";
    let launch = "python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 8 --critic_num_nodes 1 --critic_num_gpus_per_node 8 --ref_num_nodes 1 --ref_num_gpus_per_node 8 --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --colocate_all_models --pretrain OpenRLHF/Llama-3-8b-sft-mixture --reward_pretrain OpenRLHF/Llama-3-8b-rm-700k --reward_num_nodes 1 --reward_num_gpus_per_node 8 --vllm_gpu_memory_utilization 0.5 --micro_train_batch_size 2 --prompt_max_len 1024 --generate_max_len 1024 --zero_stage 3 --bf16 --adam_offload --vllm_enable_sleep --deepspeed_enable_sleep --gradient_checkpointing\n";
    let end = report(&[("job.log", log), ("run.sh", launch)])?;
    let first = &patches(&end)?[0];
    assert_eq!((&*first.knob, first.suffices), ("--adam_offload", Some(true)), "{:?}", turned(&end)?);
    let diff = first.diff.as_deref().unwrap_or_default();
    let after = diff.lines().find(|line| line.starts_with("+python3")).ok_or("no edit")?;
    assert!(!after.contains("--deepspeed_enable_sleep") && after.contains("--vllm_enable_sleep"), "{after}");
    Ok(())
}

#[test]
fn a_request_as_large_as_the_model_is_of_one_unit() -> Outcome {
    let log = "loading meta-llama/Llama-2-7b-hf in float32\n".to_owned()
        + &stack(&[
            ("/w/ft.py", "main", "loss.backward()"),
            ("torch/_tensor.py", "backward", "torch.autograd.backward("),
        ])
        + &refused("25.10 GiB", 39.39);
    let script = |policy: &str| {
        format!(
            "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-2-7b-hf')\nmodel = FSDP(model, device_id=0{policy})\n"
        )
    };
    let launch = ("run.sh", "torchrun --nproc_per_node 8 ft.py --batch-size 2 --seq-len 1024\n");
    let end = report(&[("job.log", &log), ("ft.py", &script("")), launch])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("weight_gather_spike", "FSDP.auto_wrap_policy"));
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("batch") && !knob.contains("seq")), "{:?}", turned(&end)?);
    let wrapped = report(&[("job.log", &log), ("ft.py", &script(", auto_wrap_policy=policy")), launch])?;
    assert_eq!(turned(&wrapped)?[0], "FSDP.mixed_precision");
    Ok(())
}

#[test]
fn keys_of_the_trainer_are_no_keys_of_what_is_built_on_it() -> Outcome {
    let log = stack(&[
        ("/w/tune.py", "<module>", "trainer.train()"),
        ("transformers/trainer.py", "evaluate", "output = eval_loop("),
        ("transformers/trainer.py", "evaluation_loop", "all_preds.add(logits)"),
        ("transformers/trainer_pt_utils.py", "nested_concat", "return torch_pad_and_concatenate(tensors, new_tensors)"),
        (
            "transformers/trainer_pt_utils.py",
            "torch_pad_and_concatenate",
            "return torch.cat((tensor1, tensor2), dim=0)",
        ),
    ]) + &refused("12.30 GiB", 39.39);
    let options = "model_name_or_path: org/my-1b\nper_device_train_batch_size: 8\nper_device_eval_batch_size: 8\ngradient_accumulation_steps: 2\ngradient_checkpointing: true\nbf16: true\n";
    let end = report(&[("job.log", &log), ("options.yaml", options), ("run.sh", "python tune.py options.yaml\n")])?;
    assert_eq!(end.job.framework.as_deref(), Some("transformers"));
    // Half as many examples at a time pile up to as much.
    let knobs = turned(&end)?;
    assert_eq!(knobs, ["Trainer.preprocess_logits_for_metrics", "--eval_accumulation_steps"]);
    Ok(())
}

#[test]
fn an_engine_beside_its_trainer_gets_a_share_of_what_is_free() -> Outcome {
    let oom = "ValueError: Free memory on device (40.00/79.15 GiB) on startup is less than desired GPU memory utilization (0.85, 67.28 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n";
    let log = stack(&[
        ("/w/rl.py", "<module>", "trainer = GRPOTrainer("),
        ("trl/trainer/grpo_trainer.py", "__init__", "self.llm = LLM("),
        ("vllm/v1/worker/gpu_worker.py", "init_device", "raise ValueError("),
    ]) + oom;
    let script = "from trl import GRPOConfig, GRPOTrainer\nargs = GRPOConfig(output_dir='o', use_vllm=True, vllm_mode='colocate', vllm_gpu_memory_utilization=0.85)\ntrainer = GRPOTrainer(model='Qwen/Qwen2.5-7B-Instruct', args=args)\n";
    let launch = ("run.sh", "torchrun --nproc_per_node 4 rl.py\n");
    let end = report(&[("job.log", &log), ("rl.py", script), launch])?;
    let first = &patches(&end)?[0];
    assert_eq!(cause(&end)?, "colocated_memory_contention");
    assert_eq!(
        (&*first.knob, first.to.as_ref().map(ToString::to_string).as_deref()),
        ("vllm_gpu_memory_utilization", Some("0.25"))
    );
    // An engine of another program finds what others hold.
    let alone = stack(&[("vllm/v1/worker/gpu_worker.py", "init_device", "raise ValueError(")]) + oom;
    assert_eq!(cause(&report(&[("job.log", &alone)])?)?, "gpu_shared_with_others");
    Ok(())
}

#[test]
fn a_limit_is_no_less_than_what_the_program_says_that_it_needs() -> Outcome {
    let log = "/v/site-packages/stable_baselines3/common/buffers.py:242: UserWarning: This system does not have apparently enough memory to store the complete replay buffer 84.70GB > 60.00GB\nKilled\n    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n";
    let script = "from stable_baselines3 import SAC\nmodel = SAC('CnnPolicy', env, buffer_size=1_500_000)\nmodel.learn(total_timesteps=1)\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: sac}\nspec:\n  containers:\n  - name: train\n    image: r/sb3:2\n    command: [\"python\", \"sac.py\"]\n    resources:\n      limits: {memory: 48Gi}\n";
    let end = report(&[("job.log", log), ("sac.py", script), ("pod.yaml", pod)])?;
    let knobs = turned(&end)?;
    assert!(knobs[0].ends_with("buffer_size"), "{knobs:?}");
    let limit = patches(&end)?.iter().find(|patch| *patch.lever == *"host_memory_limit").ok_or("no limit")?;
    // 84.70 GB are 78.9 GiB, and a quarter more is room.
    assert!(limit.diff.as_deref().is_some_and(|diff| diff.contains("memory: 99Gi")), "{limit:?}");
    Ok(())
}

#[test]
fn quantised_weights_are_neither_given_a_type_nor_loaded_by_each_rank() -> Outcome {
    let log = stack(&[
        ("axolotl/loaders/model.py", "load", "skip_move_to_device = self._build_model()"),
        ("transformers/quantizers/quantizer_bnb_4bit.py", "create_quantized_param", "new_value = bnb.nn.Params4bit("),
        ("bitsandbytes/functional.py", "quantize_4bit", "out = torch.zeros(((n + 1) // mod, 1))"),
    ]) + &refused("112.00 MiB", 23.64);
    let config = "base_model: meta-llama/Llama-3.1-70B\nload_in_4bit: true\nadapter: qlora\nlora_r: 16\nsequence_len: 1024\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nbf16: auto\ngradient_checkpointing: true\n";
    let launch = ("run.sh", "CUDA_VISIBLE_DEVICES=0,1 axolotl train q.yml\n");
    let end = report(&[("job.log", &log), ("q.yml", config), launch])?;
    let diff = patches(&end)?[0].diff.as_deref().unwrap_or_default();
    for line in ["fsdp:", "  - full_shard", "  fsdp_cpu_ram_efficient_loading: true", "  fsdp_offload_params: true"] {
        assert!(diff.lines().any(|added| added.strip_prefix('+') == Some(line)), "{line}: {diff}");
    }
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("dtype")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn what_a_quantised_model_does_not_take_an_earlier_one_holds() -> Outcome {
    let calls = [
        ("/w/cell.py", "<module>", "model = prepare_model_for_kbit_training(model)"),
        ("peft/utils/other.py", "prepare_model_for_kbit_training", "param.data = param.data.to(torch.float32)"),
    ];
    let script = "from transformers import AutoModelForCausalLM, BitsAndBytesConfig\nfrom peft import prepare_model_for_kbit_training\nmodel = AutoModelForCausalLM.from_pretrained('meta-llama/Meta-Llama-3-8B', quantization_config=BitsAndBytesConfig(load_in_4bit=True))\nmodel = prepare_model_for_kbit_training(model)\n";
    let end = report(&[("job.log", &(stack(&calls) + &refused("1.96 GiB", 15.77))), ("cell.py", script)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("gpu_memory_growth", "del model; gc.collect()"));
    // One of them fills a small card by itself.
    let small = report(&[("job.log", &(stack(&calls) + &refused("1.96 GiB", 7.79))), ("cell.py", script)])?;
    assert_ne!(cause(&small)?, "gpu_memory_growth");
    Ok(())
}

#[test]
fn a_denoiser_that_does_not_fit_is_quantised() -> Outcome {
    let log = stack(&[
        ("/w/train_dreambooth_lora_flux.py", "main", "transformer.to(accelerator.device, dtype=weight_dtype)"),
        ("torch/nn/modules/module.py", "to", "return self._apply(convert)"),
    ]) + &refused("90.00 MiB", 23.64);
    let launch = "export MODEL=black-forest-labs/FLUX.1-dev\naccelerate launch train_dreambooth_lora_flux.py --pretrained_model_name_or_path=$MODEL --resolution=512 --train_batch_size=1 --gradient_checkpointing --rank=16\n";
    let end = report(&[("job.log", &log), ("run.sh", launch)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("weights_do_not_fit", "from_pretrained.quantization_config"));
    // What is trained whole has to be held whole.
    let whole = (log.replace("_lora", ""), launch.replace("_lora", ""));
    let end = report(&[("job.log", &whole.0), ("run.sh", &whole.1)])?;
    assert!(!turned(&end)?.contains(&"from_pretrained.quantization_config"), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn a_framework_that_only_reads_data_leaves_the_gpu() -> Outcome {
    let created = "2026-02-09 15:00:00.121311: I tensorflow/core/common_runtime/gpu/gpu_device.cc:2022] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 78000 MB memory:  -> device: 0, name: NVIDIA A100-SXM4-80GB, pci bus id: 0000:07:00.0, compute capability: 8.0\n";
    let refused = "2026-02-09 15:00:10.117311: E external/xla/xla/stream_executor/cuda/cuda_executor.cc:1109] failed to allocate 1.03GiB (1107296256 bytes) from device: RESOURCE_EXHAUSTED: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n";
    let log = created.to_owned()
        + refused
        + &stack(&[("/w/train.py", "main", "params = jax.jit(model.init)(key, x)")])
        + "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 346270720 bytes.\n";
    let script = "import jax\nimport tensorflow as tf\nBATCH_SIZE = 256\nparams = jax.jit(model.init)(key, x)\n";
    let end = report(&[("job.log", &log), ("train.py", script)])?;
    assert_eq!(turned(&end)?[0], "tf.config.set_visible_devices()");
    Ok(())
}

#[test]
fn objects_that_workers_copy_page_by_page_are_held_otherwise() -> Outcome {
    let log = (1..=5)
        .map(|step| format!("step {} loss 3.{step} node_mem {}.5GiB gpu_mem 20.1GiB\n", step * 100, 20 + step * 9))
        .collect::<String>()
        + "RuntimeError: DataLoader worker (pid 771) is killed by signal: Killed. \n[Wed Feb 25 10:49:52 2026] memory: usage 67108864kB, limit 67108864kB, failcnt 2\n[Wed Feb 25 10:49:52 2026] Memory cgroup out of memory: Killed process 771 (pt_data_worker) total-vm:21811032kB, anon-rss:2120416kB, file-rss:90112kB, shmem-rss:20480kB, UID:0 pgtables:13212kB oom_score_adj:984\n";
    let script = |made: &str| {
        format!(
            "import json\nfrom torch.utils.data import Dataset, DataLoader\nclass Pairs(Dataset):\n    def __init__(self, path):\n        self.rows = {made}\n    def __getitem__(self, i):\n        return self.rows[i]\nloader = DataLoader(Pairs('p'), batch_size=64, num_workers=8)\n"
        )
    };
    let objects = report(&[("job.log", &log), ("train.py", &script("[json.loads(line) for line in open(path)]"))])?;
    assert_eq!(cause(&objects)?, "dataloader_memory");
    assert!(turned(&objects)?.contains(&"records in Arrow or NumPy"), "{:?}", turned(&objects)?);
    // One mapped array has nothing to copy.
    let mapped = report(&[("job.log", &log), ("train.py", &script("np.load(path, mmap_mode='r')"))])?;
    assert!(!turned(&mapped)?.contains(&"records in Arrow or NumPy"), "{:?}", turned(&mapped)?);
    Ok(())
}

#[test]
fn two_ways_of_sharing_go_before_an_offload() -> Outcome {
    let log = "  distributed_optimizer ........................... False\nbuilding GPT model ...\n > number of parameters on (tensor, pipeline) model parallel rank (0, 0): 11032080384\n".to_owned()
        + &stack(&[
            ("/w/Megatron-LM/megatron/training/training.py", "setup_model_and_optimizer", "optimizer = get_megatron_optimizer("),
            ("/w/Megatron-LM/megatron/core/optimizer/optimizer.py", "__init__", "main_param = param.detach().clone().float()"),
        ])
        + &refused("280.00 MiB", 79.11);
    let launch = "srun torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 --sequence-parallel --num-layers 48 --hidden-size 6144 --num-attention-heads 48 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 256 --recompute-activations --use-flash-attn --bf16 --vocab-file gpt2-vocab.json\n";
    let end = report(&[("job.log", &log), ("run.sh", launch)])?;
    let set = root(&end)?.diagnoses[0].set.as_ref().ok_or("no set")?;
    assert_eq!(
        set.knobs.iter().map(|knob| &**knob).collect::<Vec<_>>(),
        ["--use-distributed-optimizer", "--tensor-model-parallel-size"]
    );
    Ok(())
}

/// A host that is full of what four GPUs offload to it; what follows `dmesg` may list the GPUs.
fn offloaded_to_a_small_host(gpus: &str) -> String {
    format!(
        "$ deepspeed --num_gpus 4 tune.py --model_name_or_path meta-llama/Llama-2-13b-hf --deepspeed ds.json --bf16 True --per_device_train_batch_size 1 --gradient_checkpointing True
[2026-03-04 08:10:11,900] [INFO] [config.py:1001:print]   world_size ................... 4
[2026-03-04 08:10:20,870] [INFO] [utils.py:781:see_memory_usage] Before initializing optimizer states
[2026-03-04 08:11:02,204] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 5203
[Wed Mar  4 08:11:01 2026] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice,task=python,pid=5203,uid=1000
[Wed Mar  4 08:11:01 2026] Out of memory: Killed process 5203 (python) total-vm:111233440kB, anon-rss:44911232kB, file-rss:71044kB, shmem-rss:2052kB, UID:1000 pgtables:98212kB oom_score_adj:0
$ free -g
               total        used        free      shared  buff/cache   available
Mem:             180          12         163           0           5         166
{gpus}"
    )
}

#[test]
fn what_is_too_little_by_its_own_figures_stands_behind_what_is_enough() -> Outcome {
    let offloads = "{\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}, \"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}}, \"train_micro_batch_size_per_gpu\": \"auto\"}\n";
    let listed = "$ nvidia-smi --query-gpu=name,memory.total --format=csv,noheader\nNVIDIA A100-SXM4-80GB, 81920 MiB\nNVIDIA A100-SXM4-80GB, 81920 MiB\n";
    for gpus in [listed, ""] {
        let end = report(&[("job.log", &offloaded_to_a_small_host(gpus)), ("ds.json", offloads)])?;
        assert_eq!(cause(&end)?, "host_offload_pressure");
        let first = &patches(&end)?[0];
        assert_eq!(
            (&*first.knob, first.suffices),
            ("zero_optimization.offload_optimizer.device", Some(true)),
            "{gpus}"
        );
        let short = patches(&end)?.iter().position(|patch| patch.suffices == Some(false));
        let enough = patches(&end)?.iter().rposition(|patch| patch.suffices == Some(true));
        assert!(short.is_none_or(|short| enough.is_some_and(|enough| enough < short)), "{:?}", turned(&end)?);
    }
    Ok(())
}

#[test]
fn words_for_people_are_no_key_of_a_file() -> Outcome {
    let offloads = "{\n  \"bf16\": {\"enabled\": true},\n  \"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}},\n  \"train_micro_batch_size_per_gpu\": \"auto\"\n}\n";
    let end = report(&[("job.log", &offloaded_to_a_small_host("")), ("ds.json", offloads)])?;
    let disk = patches(&end)?.iter().find(|patch| patch.knob.contains("NVMe")).ok_or("no disk")?;
    // What to write is said, since only the user knows the path of the disk.
    assert_eq!((disk.diff.as_deref(), disk.edits.len()), (None, 0));
    assert!(disk.line.as_deref().is_some_and(|line| line.contains("\"device\": \"nvme\"")), "{disk:?}");
    Ok(())
}

/// A script that trains a whole model of 7 billion parameters on a GPU of 24 GiB, where it failed.
fn whole_model(end: (&str, &str, &str)) -> String {
    stack(&[("/w/tune.py", "<module>", "trainer.train()"), ("transformers/trainer.py", "training_step", end.2), end])
        + &refused("112.00 MiB", 23.6)
}

const BACKWARD: (&str, &str, &str) = ("torch/autograd/graph.py", "_engine_run_backward", "return run_backward(");
const FORWARD: (&str, &str, &str) = (
    "transformers/models/mistral/modeling_mistral.py",
    "forward",
    "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))",
);

#[test]
fn states_that_exceed_the_gpu_decide_in_every_pass() -> Outcome {
    let script = "import torch\nfrom transformers import AutoModelForCausalLM\nfrom trl import SFTConfig, SFTTrainer\nmodel = AutoModelForCausalLM.from_pretrained(\"mistralai/Mistral-7B-v0.1\", torch_dtype=torch.bfloat16)\nargs = SFTConfig(output_dir=\"o\", per_device_train_batch_size=2, gradient_checkpointing=True, max_length=2048, bf16=True)\ntrainer = SFTTrainer(model=model, args=args, train_dataset=data)\ntrainer.train()\n";
    for (failed, expected) in [(BACKWARD, "gradients_too_large"), (FORWARD, "optimizer_states_on_gpu")] {
        let end = report(&[("job.log", &whole_model(failed)), ("tune.py", script)])?;
        assert_eq!(cause(&end)?, expected);
        let knobs = turned(&end)?;
        assert!(knobs[0].contains("peft_config") || knobs[0].contains("optim"), "{knobs:?}");
        assert!(!knobs.iter().any(|knob| knob.contains("batch_size") || knob.contains("max_length")), "{knobs:?}");
        // Adapters leave room, so that the batch counts again.
        let adapters = script.replace("train_dataset=data", "train_dataset=data, peft_config=LoraConfig(r=16)");
        let end = report(&[("job.log", &whole_model(failed)), ("tune.py", &adapters)])?;
        assert_eq!(cause(&end)?, "activations_too_large", "{failed:?}");
    }
    Ok(())
}

#[test]
fn the_number_of_trained_parameters_is_enough_to_tell() -> Outcome {
    for (count, expected) in [("7,241,732,096", "gradients_too_large"), ("41,943,040", "activations_too_large")] {
        let log = format!(
            "trainable params: {count} || all params: 7,241,732,096 || trainable%: 1.0\n{}",
            whole_model(BACKWARD)
        );
        assert_eq!(cause(&report(&[("job.log", &log)])?)?, expected, "{count}");
    }
    Ok(())
}

#[test]
fn an_evaluation_whose_logits_find_no_room_takes_the_batch_of_training() -> Outcome {
    let log = stack(&[
        ("/w/tune.py", "<module>", "trainer.train()"),
        ("transformers/trainer.py", "evaluate", "output = eval_loop("),
        ("transformers/trainer.py", "evaluation_loop", "losses, logits, labels = self.prediction_step(model, inputs)"),
        ("transformers/loss/loss_utils.py", "ForCausalLMLoss", "logits = logits.float()"),
    ]) + &refused("15.66 GiB", 47.4);
    let options = "base_model: NousResearch/Meta-Llama-3.1-8B\nadapter: lora\nlora_r: 16\nsequence_len: 4096\nmicro_batch_size: 2\neval_batch_size: 8\ngradient_checkpointing: true\nbf16: true\n";
    let end = report(&[("job.log", &log), ("config.yml", options), ("run.sh", "axolotl train config.yml\n")])?;
    let first = &patches(&end)?[0];
    assert_eq!(
        (&*first.knob, first.to.as_ref().map(ToString::to_string).as_deref()),
        ("eval_batch_size", Some("2")),
        "{:?}",
        turned(&end)?
    );
    Ok(())
}

#[test]
fn what_fsdp_wraps_is_said_where_there_may_be_ranks_only() -> Outcome {
    let log = stack(&[
        ("/w/tune.py", "<module>", "trainer.train()"),
        ("transformers/trainer.py", "training_step", "loss = self.compute_loss(model, inputs)"),
        FORWARD,
    ]) + &refused("112.00 MiB", 39.5);
    let launch = "python tune.py --model_name_or_path mistralai/Mistral-7B-v0.1 --bf16 True --per_device_train_batch_size 1 --gradient_checkpointing False\n";
    let end = report(&[("job.log", &log), ("run.sh", launch)])?;
    let found = patches(&end)?.iter().find(|patch| patch.knob.contains("gradient_checkpointing"));
    let needs = found.ok_or("no recomputation")?.constraint.as_deref().unwrap_or_default();
    assert!(!needs.contains("fsdp_config"), "{needs}");
    Ok(())
}
