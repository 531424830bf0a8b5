//! Jobs whose settings stand in Python: scripts, configurations in Python, notebooks.

use std::error::Error;

use oomdoc::model::{Kind, Phase, Report, Role};

use crate::support::analyzed::report;

type Outcome = Result<(), Box<dyn Error>>;

const LOG: &str = r#"  0%|          | 0/1250 [00:00<?, ?it/s]Traceback (most recent call last):
  File "/home/user/train.py", line 38, in <module>
    trainer.train()
  File "/opt/conda/lib/python3.10/site-packages/transformers/trainer.py", line 3572, in training_step
    loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)
  File "/opt/conda/lib/python3.10/site-packages/transformers/models/llama/modeling_llama.py", line 1214, in forward
    loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.vocab_size, **kwargs)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB. GPU 0 has a total capacity of 23.65 GiB of which 3.61 GiB is free. Including non-PyTorch memory, this process has 20.02 GiB memory in use. Of the allocated memory 19.31 GiB is allocated by PyTorch, and 262.60 MiB is reserved by PyTorch but unallocated.
"#;

const TRAIN: &str = r#"from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("meta-llama/Meta-Llama-3-8B", torch_dtype=torch.bfloat16)
args = SFTConfig(
    output_dir="out",
    per_device_train_batch_size=8,
    gradient_accumulation_steps=4,
    gradient_checkpointing=True,
)
SFTTrainer(model=model, args=args, peft_config=LoraConfig(r=16)).train()
"#;

/// The lines that the first patch adds and removes.
fn changed(report: &Report) -> Vec<String> {
    let first = report.incidents.first().and_then(|incident| incident.diagnoses.first());
    let diff = first.and_then(|first| first.patches.first()?.diff.clone()).unwrap_or_default();
    let is_changed = |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
    diff.lines().filter(is_changed).map(str::to_owned).collect()
}

#[test]
fn a_trainers_arguments_are_changed_in_the_script() -> Outcome {
    let report = report(&[("job.log", LOG), ("train.py", TRAIN)])?;
    assert_eq!(report.job.framework.as_deref(), Some("trl"));
    assert_eq!(report.job.model.as_deref(), Some("meta-llama/Meta-Llama-3-8B"));
    assert_eq!(
        changed(&report),
        [
            "-    per_device_train_batch_size=8,",
            "-    gradient_accumulation_steps=4,",
            "+    per_device_train_batch_size=2,",
            "+    gradient_accumulation_steps=16,",
        ]
    );
    let patch = report.incidents[0].diagnoses[0].patches.first().ok_or("no patch")?;
    assert_eq!(patch.knob, "per_device_train_batch_size", "an argument has no dashes");
    Ok(())
}

#[test]
fn of_a_folder_of_code_only_what_the_stack_names_counts() -> Outcome {
    let other = TRAIN.replace("size=8", "size=64").replace("SFTConfig", "DPOConfig");
    let report = report(&[("a/train.py", TRAIN), ("a/other.py", &other), ("job.log", LOG)])?;
    assert_eq!(changed(&report).first().map(String::as_str), Some("-    per_device_train_batch_size=8,"));
    Ok(())
}

#[test]
fn words_in_code_are_no_failure() -> Outcome {
    let test =
        "def test_oom():\n    expect(message=\"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\")\n";
    assert_eq!(report(&[("test_oom.py", test)])?.verdict, Kind::None);
    assert_eq!(report(&[("test_oom.py", "# CUDA out of memory\n")])?.inputs[0].role, Role::Other);
    Ok(())
}

#[test]
fn an_engines_arguments_are_added_to_its_call() -> Outcome {
    let log = "INFO 03-04 10:12:05 [core.py:53] Initializing a V1 LLM engine (v0.8.5) with config: model='Qwen/Qwen2.5-14B-Instruct', dtype=torch.bfloat16, max_seq_len=32768, tensor_parallel_size=1\nERROR 03-04 10:12:52 [core.py:396] ValueError: To serve at least one request with the models's max seq len (32768), (6.00 GiB KV cache is needed, which is larger than the available KV cache memory (3.20 GiB). Based on the available memory, the estimated maximum model length is 17472. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n";
    let code = "from vllm import LLM\nllm = LLM(\"Qwen/Qwen2.5-14B-Instruct\", gpu_memory_utilization=0.9)\n";
    let report = report(&[("job.log", log), ("infer.py", code)])?;
    assert_eq!(
        changed(&report),
        [
            "-llm = LLM(\"Qwen/Qwen2.5-14B-Instruct\", gpu_memory_utilization=0.9)",
            "+llm = LLM(\"Qwen/Qwen2.5-14B-Instruct\", gpu_memory_utilization=0.9, max_model_len=17472)",
        ]
    );
    Ok(())
}

#[test]
fn a_notebook_is_log_and_configuration_in_one() -> Outcome {
    let strings = |text: &str| {
        let lines: Vec<String> = text.split_inclusive('\n').map(|line| format!("    {line:?}")).collect();
        lines.join(",\n")
    };
    let notebook = format!(
        "{{\"cells\": [{{\n  \"cell_type\": \"code\",\n  \"outputs\": [{{\"output_type\": \"stream\", \"text\": [\n{}\n  ]}}],\n  \"source\": [\n{}\n  ]\n}}], \"nbformat\": 4}}\n",
        strings(LOG),
        strings(TRAIN)
    );
    let report = report(&[("tune.ipynb", &notebook)])?;
    assert_eq!(report.verdict, Kind::GpuOom);
    let incident = report.incidents.first().ok_or("no incident")?;
    assert_eq!(incident.phase.name, Phase::Forward);
    let line = incident.evidence.first().ok_or("no evidence")?.location.line.0;
    assert!(notebook.lines().nth(line as usize - 1).is_some_and(|line| line.contains("Tried to allocate 7.83 GiB")));
    assert_eq!(changed(&report).first().map(String::as_str), Some("-    \"    per_device_train_batch_size=8,\\n\","));
    Ok(())
}
