//! Edits where a value stands, though it is used elsewhere: variables of a manifest, of a file and of a script, words of a server's command
//! line, parts of devices, parameters of the kernel, the job's own code, the file beside the one that is named.

use std::error::Error;

use oomdoc::model::Report;

use crate::support::analyzed::{cause, diff, patches, refused, report, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The lines that the first change takes and adds, without their indentation.
fn changed(report: &Report) -> Outcome<Vec<String>> {
    let diff = diff(report)?;
    let is_changed = |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
    Ok(diff.lines().filter(is_changed).map(|line| format!("{}{}", &line[..1], line[1..].trim())).collect())
}

fn captured() -> String {
    "INFO 11-18 09:01:40 [gpu_model_runner.py:1347] Model loading took 13.5084 GiB and 12.1 seconds\n".to_owned()
        + &stack(&[
            ("vllm/v1/worker/gpu_model_runner.py", "capture_model", "self._dummy_run(num_tokens)"),
            ("vllm/model_executor/layers/activation.py", "forward_cuda", "out = torch.empty(output_shape)"),
        ])
        + &refused("64.00 MiB", 23.64)
}

#[test]
fn a_value_of_the_manifest_is_changed_at_its_variable() -> Outcome {
    let log = captured();
    for reference in ["$SHARE", "$(SHARE)", "${SHARE}"] {
        let manifest = |more: &str| {
            format!(
                "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: llm\n    image: vllm/vllm-openai:v0.8.5\n    command: [sh, -c]\n    args:\n    - >\n      vllm serve org/tiny-7b --max-model-len 4096\n      --gpu-memory-utilization {reference}{more}\n    env:\n    - name: SHARE\n      value: \"0.97\"\n"
            )
        };
        let end = report(&[("job.log", &log), ("pod.yaml", &manifest(""))])?;
        assert_eq!(changed(&end)?, ["-value: \"0.97\"", "+value: \"0.9\""], "{reference}");
        // What something else uses as well stays.
        let shared = report(&[("job.log", &log), ("pod.yaml", &manifest(&format!(" --label {reference}")))])?;
        assert_eq!(changed(&shared)?[1], format!("+--gpu-memory-utilization 0.9 --label {reference}"));
    }
    let list = "spec:\n  containers:\n  - image: vllm/vllm-openai:v0.8.5\n    args: [\"--model=org/tiny-7b\", \"--gpu-memory-utilization=$(SHARE)\"]\n    env: [{name: SHARE, value: \"0.97\"}]\n";
    let end = report(&[("job.log", &log), ("pod.yaml", list)])?;
    assert_eq!(changed(&end)?[1], "+env: [{name: SHARE, value: \"0.9\"}]");
    Ok(())
}

#[test]
fn a_value_of_compose_is_changed_in_the_file_that_gives_it() -> Outcome {
    let log = captured();
    let compose = "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: --model org/tiny-7b --max-model-len 4096 --gpu-memory-utilization ${SHARE:-0.5}\n";
    let variables = "# of compose\nSHARE=0.97\nHF_HOME=/data/hf\n";
    let end = report(&[("job.log", &log), ("compose.yaml", compose), (".env", variables)])?;
    assert_eq!(changed(&end)?, ["-SHARE=0.97", "+SHARE=0.9"]);
    let script = "#!/bin/sh\nexport SHARE=0.97\ndocker compose up llm\n";
    let end = report(&[("job.log", &log), ("compose.yaml", compose), ("up.sh", script)])?;
    assert_eq!(changed(&end)?, ["-export SHARE=0.97", "+export SHARE=0.9"]);
    // Of two files that set it nobody knows which one counts.
    let end = report(&[("job.log", &log), ("compose.yaml", compose), (".env", variables), ("up.sh", script)])?;
    assert!(!changed(&end)?.iter().any(|line| line.contains("SHARE=0.9")), "{:?}", changed(&end)?);
    Ok(())
}

fn workers(head: &str) -> String {
    let held: String = (7301..7304).map(|pid| format!("Process {pid} has 6.10 GiB memory in use. ")).collect();
    head.to_owned()
        + &stack(&[
            ("gunicorn/arbiter.py", "spawn_worker", "worker.init_process()"),
            ("/srv/tagger.py", "<module>", "model = AutoModel.from_pretrained(NAME).to(\"cuda\")"),
            ("torch/nn/modules/module.py", "convert", "return t.to("),
        ])
        + &format!(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 21.99 GiB of which 300.06 MiB is free. {held}Including non-PyTorch memory, this process has 3.20 GiB memory in use. Of the allocated memory 2.90 GiB is allocated by PyTorch, and 1.87 MiB is reserved by PyTorch but unallocated.\n"
        )
}

#[test]
fn workers_of_an_image_before_the_application_win_over_the_file() -> Outcome {
    let log = workers("");
    let file = "FROM python:3.11\nCMD [\"gunicorn\", \"-c\", \"gunicorn.conf.py\", \"-w\", \"6\", \"tagger:app\"]\n";
    let settings = "bind = \"0.0.0.0:80\"\nworkers = 1\n";
    for files in [
        &[("job.log", &*log), ("Dockerfile", file), ("gunicorn.conf.py", settings)][..],
        &[("job.log", &log), ("Dockerfile", file)],
    ] {
        let end = report(files)?;
        assert_eq!(cause(&end)?, "too_many_workers");
        assert!(
            diff(&end)?.contains("+CMD [\"gunicorn\", \"-c\", \"gunicorn.conf.py\", \"-w\", \"1\", \"tagger:app\"]")
        );
    }
    Ok(())
}

#[test]
fn a_server_that_boots_workers_has_its_own_on_the_gpu() -> Outcome {
    let booted: String = (31..35)
        .map(|pid| format!("[2026-11-05 10:10:01 +0000] [{pid}] [INFO] Booting worker with pid: {pid}\n"))
        .collect();
    let end = report(&[("job.log", &workers(&booted))])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("too_many_workers", "workers of the web server"));
    assert_eq!(cause(&report(&[("job.log", &workers(""))])?)?, "gpu_shared_with_others");
    Ok(())
}

#[test]
fn trials_that_share_a_gpu_get_the_part_that_the_largest_takes() -> Outcome {
    let log = "(ImplicitFunc pid=611) ".to_owned()
        + &(stack(&[
            ("ray/tune/trainable/function_trainable.py", "<lambda>", "self._status_reporter.run("),
            ("/home/u/fit.py", "fit", "loss.backward()"),
        ]) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity of 44.40 GiB of which 50.00 MiB is free. Process 608 has 13.10 GiB memory in use. Process 609 has 13.90 GiB memory in use. Process 610 has 9.10 GiB memory in use. Including non-PyTorch memory, this process has 8.20 GiB memory in use. Of the allocated memory 7.90 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated.\n")
            .replace('\n', "\n(ImplicitFunc pid=611) ");
    for (call, part) in [
        ("tune.with_resources(fit, {\"cpu\": 4, \"gpu\": 0.25})", "\"gpu\": 0.34"),
        ("tune.with_resources(fit, resources={\"gpu\": 0.25})", "\"gpu\": 0.34"),
    ] {
        let code = format!(
            "from ray import tune\nfrom fit import fit\n\ntuner = tune.Tuner({call}, param_space={{\"lr\": 0.1}})\ntuner.fit()\n"
        );
        let end = report(&[("job.log", &log), ("search.py", &code)])?;
        assert_eq!(cause(&end)?, "too_many_workers");
        assert!(diff(&end)?.contains(part), "{}", diff(&end)?);
    }
    Ok(())
}

#[test]
fn ranks_that_the_code_sends_to_one_gpu_get_their_own() -> Outcome {
    let held: String = (7301..7304).map(|pid| format!("Process {pid} has 5.91 GiB memory in use. ")).collect();
    let line = "model = AutoModelForCausalLM.from_pretrained(NAME, device_map={\"\": 0})";
    let log = stack(&[
        ("/work/tune.py", "<module>", line),
        ("transformers/modeling_utils.py", "_load_state_dict_into_meta_model", "param = param.to(param_device)"),
    ]) + &format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 320.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which 190.44 MiB is free. {held}Including non-PyTorch memory, this process has 5.80 GiB memory in use. Of the allocated memory 5.11 GiB is allocated by PyTorch, and 211.32 MiB is reserved by PyTorch but unallocated.\n"
    );
    let log: String = log.lines().map(|line| format!("[rank3]: {line}\n")).collect();
    let code = format!(
        "\"\"\"Fine-tunes.\"\"\"\nfrom __future__ import annotations\nimport torch\nfrom transformers import AutoModelForCausalLM\n\n{line}\n"
    );
    let end = report(&[("job.log", &log), ("tune.py", &code), ("run.sh", "torchrun --nproc_per_node 4 tune.py\n")])?;
    let new = "device_map={\"\": int(os.environ[\"LOCAL_RANK\"])}";
    assert_eq!(
        changed(&end)?,
        ["+import os".to_owned(), format!("-{line}"), format!("+{}", line.replace("device_map={\"\": 0}", new))]
    );
    let imported = code.replace("import torch", "import os\nimport torch");
    let end =
        report(&[("job.log", &log), ("tune.py", &imported), ("run.sh", "torchrun --nproc_per_node 4 tune.py\n")])?;
    assert_eq!(changed(&end)?.len(), 2);
    Ok(())
}

#[test]
fn what_only_reads_data_leaves_the_gpu_where_it_is_imported() -> Outcome {
    let log = "2026-11-13 09:12:11.410031: I tensorflow/core/common_runtime/gpu/gpu_device.cc:2022] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 21500 MB memory:  -> device: 0, name: NVIDIA L4, pci bus id: 0000:00:1e.0, compute capability: 8.9\n2026-11-13 09:12:15.310002: E external/xla/xla/stream_executor/cuda/cuda_driver.cc:1005] failed to alloc 301989888 bytes on device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n".to_owned()
        + &stack(&[("/home/u/fit_flax.py", "<module>", "params = model.init(jax.random.PRNGKey(0), x)")])
        + "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2359296 bytes.\n";
    let code = "import jax\nimport tensorflow as tf  # for its data sets\nfrom nets import net\n\nds = tf.data.Dataset.range(9)\nparams = net.init(jax.random.PRNGKey(0), 1)\n";
    let end = report(&[("job.log", &log), ("fit_flax.py", code)])?;
    assert_eq!(changed(&end)?, ["+tf.config.set_visible_devices([], \"GPU\")"]);
    assert!(patches(&end)?[0].diff.as_deref().is_some_and(|diff| diff.contains("# for its data sets\n+tf.config")));
    assert!(!turned(&end)?.contains(&"kill <the other process on the GPU>"));
    let hidden = code.replace("from nets", "tf.config.set_visible_devices([], \"GPU\")\nfrom nets");
    assert!(diff(&report(&[("job.log", &log), ("fit_flax.py", &hidden)])?)?.is_empty());
    Ok(())
}

#[test]
fn a_part_of_a_gpu_is_named_anew_at_each_place() -> Outcome {
    let log = "INFO 11-10 11:10:20 [api_server.py:1044] args: Namespace(model='org/tiny-13b', dtype='float16', tensor_parallel_size=1)\n".to_owned()
        + &stack(&[
            ("vllm/v1/worker/gpu_model_runner.py", "load_model", "self.model = get_model(vllm_config=self.vllm_config)"),
            ("vllm/model_executor/layers/linear.py", "create_weights", "weight = Parameter(torch.empty(sum(output_partition_sizes),"),
        ])
        + &refused("270.00 MiB", 9.5);
    let manifest = "kind: Deployment\nspec:\n  template:\n    spec:\n      nodeSelector: {nvidia.com/mig.config: all-1g.10gb}\n      containers:\n      - name: server\n        image: vllm/vllm-openai:v0.8.5\n        args: [--model=org/tiny-13b]\n        env:\n        - {name: NVIDIA_VISIBLE_DEVICES, value: MIG-1c8f3e52}\n        resources:\n          requests:\n            nvidia.com/mig-1g.10gb: 1\n          limits:\n            nvidia.com/mig-1g.10gb: 1\n";
    let end = report(&[("job.log", &log), ("deploy.yaml", manifest)])?;
    let named = patches(&end)?.iter().find(|patch| patch.knob.starts_with("nvidia.com/mig")).ok_or("not offered")?;
    let diff = named.diff.as_deref().unwrap_or_default();
    let added: Vec<&str> = diff.lines().filter(|line| line.starts_with('+') && line.contains("gb")).collect();
    assert_eq!(cause(&end)?, "weights_do_not_fit");
    assert!(added.len() == 3 && added.iter().all(|line| line.contains("2g.20gb")), "{diff}");
    Ok(())
}

#[test]
fn a_parameter_of_the_kernel_is_changed_in_its_file() -> Outcome {
    let kernel = "[402117.200000] python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0\n[402117.200000] Mem-Info:\n[402117.200000] Node 0 hugepages_total=24064 hugepages_free=24064 hugepages_surp=0 hugepages_size=2048kB\n[402117.200000] Free swap  = 0kB\n[402117.200000] Total swap = 0kB\n[402117.200000] 16515072 pages RAM\n[402117.200000] Tasks state (memory values in pages):\n[402117.200000] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n[402117.200000] [   3301]  1000    3301  9220100  2011200 18100800        0             0 python3\n[402117.210000] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice/user-1000.slice/session-4.scope,task=python3,pid=3301,uid=1000\n[402117.210000] Out of memory: Killed process 3301 (python3) total-vm:36880400kB, anon-rss:8024320kB, file-rss:20480kB, shmem-rss:0kB, UID:1000 pgtables:17676kB oom_score_adj:0\n";
    for (file, new) in [
        ("# huge pages for the database\nvm.nr_hugepages = 24064\nvm.swappiness = 1\n", "+vm.nr_hugepages = 0"),
        ("vm.nr_hugepages=24064\n", "+vm.nr_hugepages=0"),
    ] {
        let end = report(&[("kern.log", kernel), ("80-pages.conf", file)])?;
        assert_eq!((cause(&end)?, changed(&end)?.last().map(String::as_str)), ("hugepage_reservation", Some(new)));
    }
    Ok(())
}

#[test]
fn a_file_beside_the_one_that_is_named_is_named_instead() -> Outcome {
    let log = "[2026-11-19 14:02:21,010] [INFO] [stage_1_and_2.py:151:__init__] Reduce bucket size 500000000\n"
        .to_owned()
        + &stack(&[
            (
                "transformers/trainer.py",
                "_inner_training_loop",
                "model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer)",
            ),
            ("deepspeed/runtime/engine.py", "_configure_zero_optimizer", "optimizer = DeepSpeedZeroOptimizer("),
            ("deepspeed/runtime/zero/stage_1_and_2.py", "__init__", "self.device).clone().float().detach()"),
        ])
        + &refused("7.63 GiB", 79.11);
    let two = "{\n  \"bf16\": {\"enabled\": \"auto\"},\n  \"zero_optimization\": {\n    \"stage\": 2,\n    \"overlap_comm\": true\n  }\n}\n";
    let three = two.replace("\"stage\": 2", "\"stage\": 3");
    let offload = three.replace("true\n", "true,\n    \"offload_optimizer\": {\"device\": \"cpu\"}\n");
    let settings = "model_name_or_path: Qwen/Qwen2.5-32B-Instruct\nstage: sft\nfinetuning_type: full\ndeepspeed: configs/b_two.json\nbf16: true\nper_device_train_batch_size: 1\n";
    let run = "FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train fit.yaml\n";
    let base = [("job.log", log.as_str()), ("fit.yaml", settings), ("run.sh", run), ("b_two.json", two)];
    let with = |more: &[(&'static str, &str)]| {
        let mut files: Vec<(&str, &str)> = base.to_vec();
        files.extend(more.iter().map(|(name, text)| (*name, *text)));
        report(&files)
    };
    assert_eq!(changed(&with(&[])?)?, ["-\"stage\": 2,", "+\"stage\": 3,"]);
    let named = ["-deepspeed: configs/b_two.json", "+deepspeed: configs/a_three.json"];
    assert_eq!(changed(&with(&[("a_three.json", &three)])?)?, named);
    // One that fills the host besides is another change.
    assert_eq!(changed(&with(&[("a_three.json", &offload)])?)?, ["-\"stage\": 2,", "+\"stage\": 3,"]);
    Ok(())
}

#[test]
fn a_merge_keeps_its_gpu_and_loses_what_fills_it() -> Outcome {
    let log = "INFO:root:Planning operations\n".to_owned()
        + &stack(&[
            ("mergekit/merge.py", "run_merge", "for _task, value in exec.run(quiet=options.quiet):"),
            ("mergekit/graph.py", "run", "res = task.execute(**arguments)"),
            ("mergekit/merge_methods/slerp.py", "lerp", "return (1 - t) * v0 + t * v1"),
        ])
        + &refused("270.00 MiB", 23.64);
    let run = "#!/bin/sh\nmergekit-yaml plan.yml /out --cuda --low-cpu-memory --copy-tokenizer\n";
    let end = report(&[("job.log", &log), ("merge.sh", run)])?;
    assert_eq!(changed(&end)?[1], "+mergekit-yaml plan.yml /out --cuda --copy-tokenizer");
    assert_eq!(cause(&end)?, "weights_do_not_fit");
    let alone = run.replace(" --low-cpu-memory", "");
    let end = report(&[("job.log", &log), ("merge.sh", &alone)])?;
    assert_eq!(changed(&end)?[1], "+mergekit-yaml plan.yml /out --copy-tokenizer");
    Ok(())
}
