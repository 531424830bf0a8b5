use std::error::Error;

use crate::config::{Document, EditError, EntryKind, Format, Value};

type Outcome = Result<(), Box<dyn Error>>;

const CODE: &str = r#"import torch
from trl import SFTConfig

BATCH = 8
args = SFTConfig(
    output_dir="out",
    per_device_train_batch_size=BATCH,
    max_length=1_024,  # most are shorter
    bf16=True  # A100
)
model = AutoModelForCausalLM.from_pretrained('org/my-7b', torch_dtype=torch.float32, device_map=places())
loader = DataLoader(data, batch_size=args.batch, num_workers=8)
"#;

fn code(text: &str) -> Result<Document, Box<dyn Error>> {
    Ok(Document::read("train.py", text)?)
}

/// `CODE` with `key` set.
fn set(kind: EntryKind, key: &str, value: impl Into<Value>) -> Result<Result<String, EditError>, Box<dyn Error>> {
    Ok(code(CODE)?.set_as(kind, None, key, &value.into()))
}

/// `CODE` with one piece replaced.
fn with(old: &str, new: &str) -> Result<String, EditError> {
    assert_eq!(CODE.matches(old).count(), 1, "{old}");
    Ok(CODE.replace(old, new))
}

#[test]
fn reads_arguments_and_what_they_stand_for() -> Outcome {
    let document = code(CODE)?;
    assert_eq!(document.format(), Format::Python);
    let shown: Vec<String> = document.entries().iter().map(|entry| format!("{}={}", entry.key, entry.value)).collect();
    assert_eq!(
        shown,
        [
            "BATCH=8",
            "SFTConfig:output_dir=out",
            "SFTConfig:per_device_train_batch_size=8",
            "SFTConfig:max_length=1024",
            "SFTConfig:bf16=true",
            "AutoModelForCausalLM.from_pretrained.pretrained_model_name_or_path=org/my-7b",
            "AutoModelForCausalLM.from_pretrained.torch_dtype=float32",
            "AutoModelForCausalLM.from_pretrained.device_map=`places()`",
            "DataLoader.dataset=`data`",
            "DataLoader.batch_size=`args.batch`",
            "DataLoader.num_workers=8",
        ]
    );
    let batch = document.get("SFTConfig:per_device_train_batch_size").ok_or("no batch")?;
    assert_eq!(batch.defined.as_ref().map(|at| at.location.line.0), Some(4));
    assert!(document.get("DataLoader.batch_size").is_some_and(|entry| entry.is_open()));
    Ok(())
}

#[test]
fn replaces_a_value_in_its_style_where_it_stands() -> Outcome {
    let flag = EntryKind::Flag;
    assert_eq!(set(flag, "SFTConfig:max_length", 512.0)?, with("1_024", "512"));
    assert_eq!(set(flag, "SFTConfig:bf16", false)?, with("bf16=True", "bf16=False"));
    assert_eq!(set(flag, "SFTConfig:per_device_train_batch_size", 4.0)?, with("BATCH = 8", "BATCH = 4"));
    let dtype = "AutoModelForCausalLM.from_pretrained.torch_dtype";
    assert_eq!(set(EntryKind::Setting, dtype, "bfloat16")?, with("torch.float32", "torch.bfloat16"));
    assert_eq!(set(EntryKind::Setting, "DataLoader.batch_size", 4.0)?, with("args.batch", "4"));
    Ok(())
}

#[test]
fn a_variable_that_others_use_is_left_alone() -> Outcome {
    let text = CODE.replace("batch_size=args.batch", "batch_size=BATCH");
    let edited = code(&text)?.set_as(EntryKind::Setting, None, "DataLoader.batch_size", &4.0.into())?;
    assert_eq!(edited, text.replace("DataLoader(data, batch_size=BATCH", "DataLoader(data, batch_size=4"));
    Ok(())
}

#[test]
fn a_new_argument_goes_behind_the_last_one() -> Outcome {
    let new = set(EntryKind::Flag, "SFTConfig:gradient_checkpointing", true)?;
    assert_eq!(new, with("bf16=True  # A100\n", "bf16=True,  # A100\n    gradient_checkpointing=True\n"));
    let new = set(EntryKind::Setting, "DataLoader.pin_memory", false)?;
    assert_eq!(new, with("num_workers=8", "num_workers=8, pin_memory=False"));
    let text = "f = LLM(\n    model=\"m\",  # the model\n)\n";
    let edited = code(text)?.set_as(EntryKind::Flag, None, "LLM:enforce_eager", &true.into())?;
    assert_eq!(edited, text.replace("# the model\n", "# the model\n    enforce_eager=True,\n"));
    assert_eq!(
        code("x = LLM()")?.set_as(EntryKind::Flag, None, "LLM:dtype", &"half".into())?,
        "x = LLM(dtype=\"half\")"
    );
    Ok(())
}

#[test]
fn what_a_module_has_is_written_as_code_and_imported() -> Outcome {
    let text = "from diffusers import Pipeline\n\npipe = Pipeline.from_pretrained(\"org/paint\")\n";
    let edited =
        code(text)?.set_as(EntryKind::Setting, None, "from_pretrained.torch_dtype", &"torch.float16".into())?;
    assert_eq!(
        edited,
        "import torch\nfrom diffusers import Pipeline\n\npipe = Pipeline.from_pretrained(\"org/paint\", torch_dtype=torch.float16)\n"
    );
    Ok(())
}

#[test]
fn refuses_what_would_not_be_certain() -> Outcome {
    let flag = EntryKind::Flag;
    let refused = |text: &str, kind, key: &str| -> Result<bool, Box<dyn Error>> {
        Ok(code(text)?.set_as(kind, None, key, &true.into()).is_err())
    };
    assert!(refused("a = LLM(**options)\n", flag, "LLM:enforce_eager")?, "it may stand among the options");
    assert!(refused("a = LLM(x=1)\nb = LLM(x=2)\n", flag, "LLM:enforce_eager")?, "which of them");
    assert!(refused("a = Other(x=1)\n", flag, "LLM:enforce_eager")?, "no such call");
    assert!(refused("a = LLM(x=1)\n", flag, "LLM:no-enable-prefix-caching")?, "no argument takes another back");
    let images = |text: &str| -> Result<bool, Box<dyn Error>> {
        Ok(code(text)?.set_as(flag, None, "LLM:limit_mm_per_prompt", &"image=1,video=0".into()).is_err())
    };
    assert!(images("a = LLM(model='m', limit_mm_per_prompt={'image': 8})\n")?, "no call takes an argument twice");
    assert!(images("a = LLM(model='m')\n")?, "Python takes a dictionary here");
    Ok(())
}

#[test]
fn defaults_of_the_programs_own_options_count_unless_they_are_given() -> Outcome {
    let text =
        "parser.add_argument('--batch-size', type=int, default=64)\nDataLoader(data, batch_size=args.batch_size)\n";
    let mut document = code(text)?;
    let edited = document.set_as(EntryKind::Setting, None, "DataLoader.batch_size", &32.0.into())?;
    assert_eq!(edited, text.replace("64", "32"));
    document.leave_out(|option| option == "batch_size");
    assert!(document.get("DataLoader.batch_size").is_none());
    Ok(())
}

#[test]
fn attributes_of_a_class_of_settings_are_settings() -> Outcome {
    let get = |text: &str, key: &str| -> Result<Option<f64>, Box<dyn Error>> {
        Ok(code(text)?.get(key).and_then(|entry| entry.value.as_number()))
    };
    let class = "class TrainConfig:\n    micro_bs: int = 16\n";
    assert_eq!(get(&format!("{class}cfg = TrainConfig()\n"), "micro_bs")?, Some(16.0));
    // What a call gives counts instead.
    assert_eq!(get(&format!("{class}cfg = TrainConfig(micro_bs=4)\n"), "micro_bs")?, Some(4.0));
    assert_eq!(get("class Encoder:\n    layers: int = 16\n", "layers")?, None);
    let module = "class Data:\n    def __init__(self, batch_size=8):\n        self.batch_size = batch_size\n    def load(self):\n        return DataLoader(x, batch_size=self.batch_size)\n";
    let document = code(&format!("{module}Data(batch_size=32)\n"))?;
    assert_eq!(document.get("DataLoader.batch_size").and_then(|entry| entry.value.as_number()), Some(32.0));
    let edited = document.set_as(EntryKind::Setting, None, "DataLoader.batch_size", &16.0.into())?;
    assert_eq!(edited, format!("{module}Data(batch_size=16)\n"));
    Ok(())
}

#[test]
fn members_of_settings_are_paths_as_in_a_file() -> Outcome {
    let text =
        "cfg = recipe()\ncfg.model.seq_length = 4096\nif fast:\n    cfg.model.num_layers = 2\nself.config.a.b = 1\n";
    let document = code(text)?;
    assert_eq!(document.get("model.seq_length").and_then(|entry| entry.value.as_number()), Some(4096.0));
    assert!(document.get("model.num_layers").is_none() && document.get("a.b").is_none());
    let edited = document.set_as(EntryKind::Setting, None, "model.seq_length", &2048.0.into())?;
    assert_eq!(edited, text.replace("4096", "2048"));
    let edited = document.set_as(EntryKind::Setting, None, "model.cp", &2.0.into())?;
    assert_eq!(edited, text.replace("4096\n", "4096\ncfg.model.cp = 2\n"));
    Ok(())
}

#[test]
fn what_is_only_done_on_a_condition_is_not_set() -> Outcome {
    let call = "model.gradient_checkpointing_enable()\n";
    assert_eq!(code(call)?.entries().len(), 1);
    assert_eq!(code(&format!("if args.ckpt:\n    {call}"))?.entries().len(), 0);
    Ok(())
}

#[test]
fn loaders_for_the_evaluation_do_not_hide_that_of_the_training() -> Outcome {
    let loaders = "train_loader = DataLoader(a, batch_size=8)\nval_loader = DataLoader(b, batch_size=512)\n";
    let batch = |text: &str| -> Result<Option<f64>, Box<dyn Error>> {
        Ok(code(text)?.get("DataLoader.batch_size").and_then(|entry| entry.value.as_number()))
    };
    assert_eq!(batch(loaders)?, Some(8.0));
    assert_eq!(batch("val_loader = DataLoader(b, batch_size=512)\n")?, Some(512.0));
    Ok(())
}

#[test]
fn a_configuration_in_python_is_all_settings() -> Outcome {
    let text = "max_length = 2048\nwith read_base():\n    from .base import *\ntrain_dataloader = dict(batch_size=2)\n";
    assert!(code(text)?.get("max_length").is_some());
    let computes = code("max_length = 2048\nmain(max_length)\n")?;
    assert!(computes.get("max_length").is_some_and(|name| name.kind == EntryKind::Variable));
    Ok(())
}

const NOTEBOOK: &str = r##"{
 "cells": [
  {"cell_type": "markdown", "source": ["SFTConfig(max_length=1)"]},
  {
   "cell_type": "code",
   "outputs": [{"name": "stdout", "text": ["step 1 \"ok\"\n", "step 2\n"]}, {"traceback": ["\u001b[31mError\u001b[0m: a\nb"]}],
   "source": [
    "!accelerate launch \\\n",
    "   train.py --batch 4\n",
    "%env CUDA_VISIBLE_DEVICES=0\n",
    "args = SFTConfig(\n",
    "    output_dir=\"out\",\n",
    "    max_length=2048\n",
    ")"
   ]
  }
 ],
 "nbformat": 4
}
"##;

#[test]
fn a_notebook_is_its_code_and_the_commands_in_it() -> Outcome {
    let document = Document::read("a.ipynb", NOTEBOOK)?;
    let shown: Vec<String> = document.entries().iter().map(|entry| format!("{}={}", entry.key, entry.value)).collect();
    assert_eq!(shown, ["SFTConfig:output_dir=out", "SFTConfig:max_length=2048", "batch=4", "CUDA_VISIBLE_DEVICES=0"]);
    let lines: Vec<u64> = document.entries().iter().map(|entry| entry.at.location.line.0).collect();
    assert_eq!(lines, [12, 13, 9, 10]);
    let typed: Vec<String> = document.commands().iter().map(|command| command.typed()).collect();
    assert_eq!(typed, ["SFTConfig", "accelerate launch", "accelerate train.py"]);
    Ok(())
}

#[test]
fn a_notebook_is_edited_within_its_texts() -> Outcome {
    let document = Document::read("a.ipynb", NOTEBOOK)?;
    let set = |key: &str, value: Value| document.set_as(EntryKind::Flag, None, key, &value);
    assert_eq!(set("SFTConfig:max_length", 512.0.into())?, NOTEBOOK.replace("2048", "512"));
    assert_eq!(set("SFTConfig:output_dir", "new".into())?, NOTEBOOK.replace("\\\"out\\\"", "\\\"new\\\""));
    let longer = NOTEBOOK.replace("max_length=2048\\n", "max_length=2048,\\n    bf16=True\\n");
    assert_eq!(set("SFTConfig:bf16", true.into())?, longer);
    Ok(())
}

#[test]
fn a_notebook_holds_what_its_cells_printed() -> Outcome {
    let printed = Document::read("a.ipynb", NOTEBOOK)?.printed();
    let shown: Vec<String> = printed.iter().map(|(number, line)| format!("{} {line}", number.0)).collect();
    assert_eq!(shown, ["6 step 1 \"ok\"", "6 step 2", "6 \u{1b}[31mError\u{1b}[0m: a", "6 b"]);
    Ok(())
}

#[test]
fn hostile_code_is_read_in_time() -> Outcome {
    for text in [
        format!("x = {}1", "(".repeat(100_000)),
        format!("a{}(c=1)", ".b".repeat(100_000)),
        "f(".repeat(100_000),
        "[{".repeat(50_000),
        "\"".repeat(100_001),
        "a = a\n".repeat(1000),
        "x = x + x\nf(a=x)".to_owned(),
    ] {
        code(&text)?;
    }
    Ok(())
}

#[test]
fn samples_are_held_by_data_sets_and_layers_are_not() -> Outcome {
    let class = |bases: &str, member: &str, length: &str| {
        format!(
            "import torch\nclass Held({bases}):\n    def __init__(self, n):\n        super().__init__()\n        for at in range(n):\n            self.held.append({member})\n    def __getitem__(self, at):\n        return self.held[at]\n{length}"
        )
    };
    let length = "    def __len__(self):\n        return len(self.held)\n";
    for (bases, member, length, count) in [
        ("torch.utils.data.Dataset", "(read(at), at)", length, 1),
        ("Dataset", "(read(at), at)", "", 1),
        ("object", "(read(at), at)", length, 1),
        ("nn.Module", "nn.Linear(8, 8)", "", 0),
        ("nn.Module", "nn.Linear(8, 8)", length, 0),
        ("object", "make(at)", "", 0),
    ] {
        let document = code(&class(bases, member, length))?;
        assert_eq!(document.records().len(), count, "{bases} {member} {length}");
    }
    Ok(())
}

#[test]
fn a_loader_takes_an_argument_of_its_own() -> Outcome {
    let text = "import torch\nmodel, tokenizer = FastLanguageModel.from_pretrained(model_name=\"org/my-7b\")\n";
    let set =
        |key: &str| Ok::<_, Box<dyn Error>>(code(text)?.set_as(EntryKind::Setting, None, key, &"bfloat16".into()));
    assert!(set("FastLanguageModel.from_pretrained.dtype")?.is_ok());
    assert!(set("FastLanguageModel.from_pretrained.torch_dtype")?.is_err());
    Ok(())
}
