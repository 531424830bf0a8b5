//! A value that stands in a given file is edited there, whatever it is called and however the file is written.

use std::error::Error;

use crate::support::analyzed::{added_lines, patches, report, root};

type Outcome = Result<(), Box<dyn Error>>;

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.25 GiB. GPU 0 has a total capacity of 79.15 GiB of which 701.00 MiB is free. Including non-PyTorch memory, this process has 78.46 GiB memory in use. Of the allocated memory 77.10 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.\n";

/// A model of a library fails in `call`, a line of the script run.py.
fn forward(call: &str) -> String {
    format!(
        "Traceback (most recent call last):\n  File \"/w/run.py\", line 9, in <module>\n    {call}\n  File \"/v/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py\", line 61, in forward\n    hidden_states = self.act(hidden_states)\n{OOM}"
    )
}

/// Weights are loaded by `call`, a line of the script run.py.
fn loading(call: &str) -> String {
    format!(
        "Traceback (most recent call last):\n  File \"/w/run.py\", line 5, in <module>\n    {call}\n  File \"/v/site-packages/diffusers/pipelines/pipeline_utils.py\", line 482, in to\n    module.to(device, dtype)\n  File \"/v/site-packages/torch/nn/modules/module.py\", line 1340, in to\n    return self._apply(convert)\n{OOM}"
    )
}

/// The added lines of all edits that are proposed.
fn added(files: &[(&str, &str)]) -> Result<Vec<String>, Box<dyn Error>> {
    let report = report(files)?;
    let patches = root(&report)?.diagnoses.iter().flat_map(|diagnosis| &diagnosis.patches);
    let lines = patches.filter_map(|patch| patch.diff.as_deref()).flat_map(added_lines);
    Ok(lines.map(str::to_owned).collect())
}

fn has(files: &[(&str, &str)], line: &str) -> Outcome {
    let added = added(files)?;
    assert!(added.iter().any(|own| own == line), "{line}\n{added:#?}");
    Ok(())
}

#[test]
fn a_constant_or_an_argument_in_the_jobs_code_is_its_batch_size() -> Outcome {
    let log = forward("for out in pipe(prompts, batch_size=BATCH):");
    let script = "from transformers import pipeline\nBATCH = 32\npipe = pipeline(\"text-generation\", model=\"org/m\")\nfor out in pipe(prompts, batch_size=BATCH):\n    print(out)\n";
    has(&[("job.log", &log), ("run.py", script)], "BATCH = 16")?;
    let literal = script.replace("batch_size=BATCH", "batch_size=32");
    let log = forward("for out in pipe(prompts, batch_size=32):");
    has(&[("job.log", &log), ("run.py", &literal)], "for out in pipe(prompts, batch_size=16):")?;
    // Of several the one counts that the stack shows; what maps a data set is none.
    let several = format!("{literal}ds.map(f, batch_size=4000)\nother(rows, batch_size=7)\n");
    let files = [("job.log", &*log), ("run.py", &*several)];
    has(&files, "for out in pipe(prompts, batch_size=16):")?;
    let added = added(&files)?;
    assert!(added.iter().all(|line| !line.contains("ds.map(") && !line.contains("other(")), "{added:#?}");
    Ok(())
}

#[test]
fn a_script_without_options_is_told_of_them_in_words() -> Outcome {
    let log = forward("model(**batch)");
    let script = "from transformers import AutoModel\nmodel = AutoModel.from_pretrained(\"org/m\")\nfor batch in load():\n    model(**batch)\n";
    let own = report(&[("job.log", &log), ("run.py", script)])?;
    let knobs: Vec<&str> = patches(&own)?.iter().map(|patch| &*patch.knob).collect();
    assert!(knobs.contains(&"the batch size in run.py"), "{knobs:?}");
    // One that reads its command line in some way may have such an option.
    let reads = format!("import argparse\nap = argparse.ArgumentParser()\n{script}");
    let own = report(&[("job.log", &log), ("run.py", &reads)])?;
    assert!(patches(&own)?.iter().any(|patch| patch.knob == "--batch_size"));
    Ok(())
}

#[test]
fn a_key_at_any_depth_of_a_configuration_is_its_batch_size() -> Outcome {
    let log = forward("model(**batch).loss.backward()");
    let config = "data:\n  loader:\n    batch_size: 8\noptim:\n  accum: 2\nval:\n  loader:\n    batch_size: 64\n";
    let script = "python run.py config.yaml\n";
    let added = added(&[("job.log", &log), ("config.yaml", config), ("launch.sh", script)])?;
    assert!(added.starts_with(&["batch_size: 4".to_owned(), "accum: 4".to_owned()]), "{added:#?}");
    Ok(())
}

#[test]
fn an_image_and_a_service_start_programs_with_options() -> Outcome {
    let log = "/w/app.py: [2025-01-01 10:00:00 +0000] [7] [INFO] Booting worker with pid: 7\nTraceback (most recent call last):\n  File \"/v/site-packages/gunicorn/arbiter.py\", line 609, in spawn_worker\n    worker.init_process()\n  File \"/w/app.py\", line 7, in <module>\n    model = AutoModel.from_pretrained(\"org/m\").to(\"cuda\")\n  File \"/v/site-packages/transformers/modeling_utils.py\", line 2905, in to\n    return super().to(*args, **kwargs)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 48.00 MiB. GPU 0 has a total capacity of 23.68 GiB of which 29.44 MiB is free. Process 41 has 7.46 GiB memory in use. Process 42 has 7.46 GiB memory in use. Process 43 has 7.46 GiB memory in use. Including non-PyTorch memory, this process has 1.24 GiB memory in use. Of the allocated memory 812.10 MiB is allocated by PyTorch, and 10.00 MiB is reserved by PyTorch but unallocated.\n";
    let image = "FROM pytorch/pytorch:2.4.0\nCMD [\"gunicorn\", \"app:app\", \"-w\", \"4\"]\n";
    has(&[("job.log", log), ("Dockerfile", image)], "CMD [\"gunicorn\", \"app:app\", \"-w\", \"1\"]")?;
    let service = "services:\n  api:\n    build: .\n    command: gunicorn app:app --workers=4\n";
    has(&[("job.log", log), ("compose.yaml", service)], "command: gunicorn app:app --workers=1")
}

#[test]
fn what_a_container_is_given_wins_over_the_default_in_the_code() -> Outcome {
    let log = "extract-1  | ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\nextract-1  | RuntimeError: DataLoader worker (pid 77) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.\n";
    let code = "import argparse\nap = argparse.ArgumentParser()\nap.add_argument(\"--workers\", type=int, default=8)\na = ap.parse_args()\ndl = DataLoader(ds, num_workers=a.workers)\n";
    let service = "services:\n  extract:\n    image: x\n    command: python extract.py --workers 12\n";
    let files = [("job.log", log), ("extract.py", code), ("compose.yaml", service)];
    has(&files, "command: python extract.py --workers 6")
}

#[test]
fn a_container_gets_a_variable_in_its_environment() -> Outcome {
    let log = "time=2025-04-20T10:00:01.300Z level=INFO source=types.go:130 msg=\"inference compute\" id=0 library=cpu variant=\"\" compute=\"\" driver=0.0 name=\"\" total=\"24.0 GiB\" available=\"23.2 GiB\"\ntime=2025-04-20T10:01:10.512Z level=WARN source=server.go:133 msg=\"model request too large for system\" requested=\"45.6 GiB\" available=24588120064 total=\"24.0 GiB\" free=\"22.9 GiB\" swap=\"0 B\"\ntime=2025-04-20T10:01:10.513Z level=INFO source=sched.go:430 msg=\"NewLlamaServer failed\" model=/root/.ollama/models/blobs/sha256-48 error=\"model requires more system memory (45.6 GiB) than is available (22.9 GiB)\"\n";
    let service = "services:\n  ollama:\n    image: ollama/ollama:0.6.5\n";
    let pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: ollama\n    image: ollama/ollama:0.6.5\n";
    for (file, lines) in [
        (service.to_owned(), vec!["environment:", "OLLAMA_KV_CACHE_TYPE: q8_0"]),
        (
            format!("{service}    environment: [A=1]\n"),
            vec!["environment: [A=1, OLLAMA_KV_CACHE_TYPE=q8_0, OLLAMA_FLASH_ATTENTION=1]"],
        ),
        (
            format!("{service}    environment:\n    - A=1\n"),
            vec!["- OLLAMA_KV_CACHE_TYPE=q8_0", "- OLLAMA_FLASH_ATTENTION=1"],
        ),
        (pod.to_owned(), vec!["env:", "- name: OLLAMA_KV_CACHE_TYPE", "value: q8_0"]),
        (
            format!("{pod}    env:\n    - name: A\n      value: \"1\"\n"),
            vec!["- name: OLLAMA_KV_CACHE_TYPE", "value: q8_0", "- name: OLLAMA_FLASH_ATTENTION"],
        ),
    ] {
        let added = added(&[("job.log", log), ("compose.yaml", &file)])?;
        assert!(added.windows(lines.len()).any(|own| own == lines), "{lines:?}\n{added:#?}");
    }
    Ok(())
}

#[test]
fn a_pipeline_is_offloaded_instead_of_moved() -> Outcome {
    let log = loading("pipe.to(\"cuda\")");
    let script = "from diffusers import FluxPipeline\npipe = FluxPipeline.from_pretrained(\"org/flux\")\npipe.to(\"cuda\")\nimage = pipe(\"a cat\").images[0]\n";
    has(&[("job.log", &log), ("run.py", script)], "pipe.enable_model_cpu_offload()")?;
    let chained = script.replace("\"org/flux\")\npipe.to(\"cuda\")", "\"org/flux\").to(\"cuda\")");
    let log = loading("pipe = FluxPipeline.from_pretrained(\"org/flux\").to(\"cuda\")");
    let files = [("job.log", &*log), ("run.py", &*chained)];
    has(&files, "pipe = FluxPipeline.from_pretrained(\"org/flux\")")?;
    has(&files, "pipe.enable_model_cpu_offload()")
}

#[test]
fn a_reservation_is_raised_with_the_limit() -> Outcome {
    let log = "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 137.\n\nResource usage summary:\n\n    CPU time :                                   81.02 sec.\n    Max Memory :                                 32 GB\n    Total Requested Memory :                     32 GB\n";
    let script = "#!/bin/bash\n#BSUB -M 32GB\n#BSUB -R \"select[mem>1000] rusage[mem=32GB:ngpus=1] span[hosts=1]\"\npython prep.py\n";
    let added = added(&[("job.log", log), ("launch.sh", script)])?;
    let wanted = "#BSUB -R \"select[mem>1000] rusage[mem=40GB:ngpus=1] span[hosts=1]\"";
    assert!(added.iter().any(|line| line == wanted), "{added:#?}");
    Ok(())
}

#[test]
fn a_variable_of_one_program_is_not_exported() -> Outcome {
    let log = format!(
        "Traceback (most recent call last):\n  File \"/v/site-packages/swift/cli/sft.py\", line 10, in <module>\n    sft_main()\n  File \"/v/site-packages/transformers/modeling_utils.py\", line 4900, in _load_state_dict_into_meta_model\n    param = param[...].to(param_device)\n{}",
        OOM.replace("78.46 GiB", "9.11 GiB")
            .replace("77.10 GiB", "8.60 GiB")
            .replace("Including", "Process 20817 has 69.34 GiB memory in use. Including")
    );
    let script = "CUDA_VISIBLE_DEVICES=0 swift sft --model org/m --train_type lora\n";
    let own = report(&[("job.log", &log), ("launch.sh", script)])?;
    let line = patches(&own)?.first().and_then(|patch| patch.line.as_deref());
    assert_eq!(line, Some("CUDA_VISIBLE_DEVICES='<a free GPU>' swift sft …"));
    Ok(())
}

#[test]
fn a_name_of_the_code_is_its_batch_size_and_recomputation_follows_the_model() -> Outcome {
    let log = forward("loss = model(x, labels=x).loss");
    let script = "from transformers import AutoModelForCausalLM\ndef main():\n    batch_size = 24\n    model = AutoModelForCausalLM.from_pretrained(\"org/m\").cuda()\n    for x in load(batch_size):\n        loss = model(x, labels=x).loss\n        loss.backward()\nmain()\n";
    let files = [("job.log", &*log), ("run.py", script)];
    has(&files, "batch_size = 12")?;
    has(&files, "model.gradient_checkpointing_enable()")?;
    // Where something else decides whether it is called, nothing is added.
    let decided = script.replace(".cuda()\n", ".cuda()\n    if RECOMPUTE: model.gradient_checkpointing_enable()\n");
    let added = added(&[("job.log", &*log), ("run.py", &decided)])?;
    assert!(!added.contains(&"model.gradient_checkpointing_enable()".to_owned()), "{added:#?}");
    Ok(())
}

#[test]
fn a_models_configuration_of_triton_is_no_log() -> Outcome {
    let log = "I0312 08:10:12.340011 1 grpc_server.cc:2466] \"Started GRPCInferenceService at 0.0.0.0:8001\"\n2025-03-12 08:14:51.123456789 [E:onnxruntime:log, sequential_executor.cc:516 ExecuteKernel] Non-zero status code returned while running Softmax node. Name:'/bert/encoder/layer.3/attention/self/Softmax' Status Message: /workspace/onnxruntime/onnxruntime/core/framework/bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream*, bool, onnxruntime::WaitNotificationFn) Failed to allocate memory for requested buffer of size 2147483648\n";
    let model = "platform: \"onnxruntime_onnx\"\nmax_batch_size: 128\ninput [ { name: \"ids\" dims: [ 512 ] } ]\ninstance_group [ { count: 6 } ]\ndynamic_batching { preferred_batch_size: [ 64, 128 ] }\n";
    let files = [("job.log", log), ("config.pbtxt", model)];
    has(&files, "max_batch_size: 64")?;
    has(&files, "dynamic_batching { preferred_batch_size: [ 64, 64 ] }")?;
    has(&files, "instance_group [ { count: 1 } ]")
}
