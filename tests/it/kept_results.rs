//! What a program of one's own keeps from step to step, on the GPU and on the host, is found in its code and its prints.

use std::error::Error;

use crate::support::analyzed::{cause, patches, report, root, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const OOM: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 92.00 MiB. GPU 0 has a total capacity of 39.39 GiB of which 40.12 MiB is free. Including non-PyTorch memory, this process has 39.34 GiB memory in use. Of the allocated memory 38.61 GiB is allocated by PyTorch, and 210.20 MiB is reserved by PyTorch but unallocated.\n";

/// Steps whose print names the memory with `label`, and the stack of a refusal in `train.py`.
fn growing(label: &str) -> String {
    let steps: String =
        (0..8).map(|at| format!("epoch 0 step {} | loss 2.{at} | {label} {}.50 GB\n", at * 100, 4 + at * 4)).collect();
    steps
        + "Traceback (most recent call last):\n  File \"/w/train.py\", line 20, in <module>\n    main()\n  File \"/w/train.py\", line 9, in main\n    logits = model(x)\n  File \"/v/site-packages/torch/nn/modules/linear.py\", line 125, in forward\n    return F.linear(input, self.weight, self.bias)\n"
        + OOM
}

fn script(kept: &str) -> String {
    format!(
        "def main():\n    losses = []\n    for x in loader:\n        logits = model(x)\n        loss = logits.mean()\n        loss.backward()\n        {kept}\n    return losses\nmain()\n"
    )
}

#[test]
fn results_that_are_kept_with_their_graphs_lose_them() -> Outcome {
    for label in ["mem alloc", "allocated:", "gpu mem"] {
        let (log, script) = (growing(label), script("losses.append(loss)\n        feats.append(logits[:, -1])"));
        let end = report(&[("job.log", &log), ("train.py", &script)])?;
        assert_eq!((cause(&end)?, turned(&end)?[0]), ("gpu_memory_growth", "tensor.detach()"), "{label}");
        let diff = patches(&end)?[0].diff.as_deref().unwrap_or_default();
        for line in
            ["+        losses.append(loss.detach().cpu())", "+        feats.append(logits[:, -1].detach().cpu())"]
        {
            assert!(diff.contains(line), "{diff}");
        }
    }
    Ok(())
}

#[test]
fn of_all_that_a_model_gave_the_loss_is_kept() -> Outcome {
    let script = "def main():\n    losses = []\n    total = 0.0\n    for batch in loader:\n        out = model(**batch)\n        out.loss.backward()\n        optimizer.step()\n        losses.append(out)\n        total += out.loss\nmain()\n";
    let end = report(&[("job.log", &growing("mem alloc")), ("train.py", script)])?;
    let diff = patches(&end)?[0].diff.as_deref().unwrap_or_default();
    for line in ["+        losses.append(out.loss.detach().cpu())", "+        total += out.loss.detach()"] {
        assert!(diff.contains(line), "{diff}");
    }
    Ok(())
}

#[test]
fn what_a_backward_pass_needs_keeps_its_graph() -> Outcome {
    for kept in [
        "total += loss\n        total.backward()",
        "losses.append(loss)\n        mean = sum(losses)\n        mean.backward()",
        "names.append(name)",
    ] {
        let end = report(&[("job.log", &growing("mem alloc")), ("train.py", &script(kept))])?;
        assert!(patches(&end)?.iter().all(|patch| patch.knob != "tensor.detach()" || patch.diff.is_none()), "{kept}");
    }
    // A model gives its caller what it collects.
    let model = "def forward(self, x):\n    feats = []\n    for layer in self.layers:\n        feats.append(hidden)\n    return feats\ndef main():\n    model(x)\nmain()\n";
    let end = report(&[("job.log", &growing("mem alloc")), ("train.py", model)])?;
    assert!(patches(&end)?.iter().all(|patch| patch.diff.is_none()));
    Ok(())
}

#[test]
fn a_data_set_that_the_program_imports_keeps_what_it_reads() -> Outcome {
    let log = "Traceback (most recent call last):\n  File \"/w/train.py\", line 5, in <module>\n    for x in loader:\n  File \"/v/site-packages/torch/utils/data/dataloader.py\", line 1251, in _try_get_data\n    raise RuntimeError(f'DataLoader worker exited') from e\nRuntimeError: DataLoader worker (pid(s) 9114) exited unexpectedly\n";
    let train = "import torch\nfrom data.scenes import Scenes\nds = Scenes('/d')\nloader = torch.utils.data.DataLoader(ds, num_workers=6)\nfor x in loader:\n    step(x)\n";
    let data = |kept: &str| {
        format!(
            "class Scenes:\n    def __getitem__(self, i):\n        image = load(self.files[i])\n        {kept}\n        return image\n"
        )
    };
    let files = |data: &str| report(&[("job.log", log), ("train.py", train), ("scenes.py", data)]);
    let end = files(&data("self.cache[i] = image"))?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("host_memory_growth", "__getitem__.cache.clear()"));
    assert_eq!(cause(&files(&data("image = scale(image)"))?)?, "dataloader_memory");
    Ok(())
}

#[test]
fn a_validation_that_keeps_graphs_is_told_to_keep_none() -> Outcome {
    let log = format!(
        "step 500 loss 2.1\nTraceback (most recent call last):\n  File \"/w/train.py\", line 30, in main\n    validate(model, loader)\n  File \"/w/train.py\", line 8, in validate\n    out = model(x)\n  File \"/v/site-packages/torch/nn/modules/linear.py\", line 125, in forward\n    return F.linear(input, self.weight, self.bias)\n{OOM}"
    );
    let script = |above: &str, body: &str| {
        format!(
            "import torch\n\nclass Task:\n    {above}def validate(self, model, loader):\n        for x in loader:\n            {body}\n\n    def train(self, model, loader):\n        model(next(loader)).backward()\n"
        )
    };
    let diff = |script: &str| -> Outcome<String> {
        let end = report(&[("job.log", &log), ("train.py", script)])?;
        let all = patches(&end)?.iter().filter(|patch| patch.knob == "torch.no_grad()");
        Ok(all.filter_map(|patch| patch.diff.clone()).collect())
    };
    let told = diff(&script("", "out = model(x)"))?;
    assert!(told.contains("+    @torch.no_grad()\n     def validate(self"), "{told}");
    assert_eq!(told.matches("\n+").count(), 2, "only the header and one line: {told}");
    for settled in [
        script("@torch.inference_mode()\n    ", "out = model(x)"),
        script("", "with torch.no_grad(): out = model(x)"),
        script("", "model(x).backward()"),
        script("", "out = model(x)").replace("import torch", "from torch import nn"),
    ] {
        assert_eq!(diff(&settled)?, "", "{settled}");
    }
    Ok(())
}

#[test]
fn outputs_that_a_validation_appends_are_too_many_at_any_batch_size() -> Outcome {
    let log = format!(
        "Validation DataLoader 0:  55%|#####     | 441/800 [01:11<00:58,  6.11it/s]\nTraceback (most recent call last):\n  File \"/v/site-packages/lightning/pytorch/loops/evaluation_loop.py\", line 145, in run\n    self._evaluation_step(batch)\n  File \"/w/main.py\", line 15, in validation_step\n    self.kept.append({{\"logits\": logits.softmax(1), \"y\": y}})\n{OOM}"
    );
    let script = "dm = Data(batch_size=4)\nclass Seg:\n    def validation_step(self, batch, i):\n        self.kept.append({\"logits\": logits.softmax(1), \"y\": y})\n";
    let end = report(&[("job.log", &log), ("main.py", script)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("gpu_memory_growth", "metrics updated per batch"));
    assert!(!turned(&end)?.iter().any(|knob| knob.contains("batch_size")));
    Ok(())
}

#[test]
fn a_data_set_that_keeps_what_it_reads_grows_in_each_worker() -> Outcome {
    let log = |label: &str| {
        let steps: String = (1..6)
            .map(|at| {
                format!(
                    "Epoch 3/30:  4{at}%|####      | 4{at}0/1000 [10:11<14:40,  1.49s/it, {label}={}.5GiB]\n",
                    50 + at * 2
                )
            })
            .collect();
        steps
            + "slurmstepd: error: Detected 1 oom_kill event in StepId=9.0. Some of the step tasks have been OOM Killed.\n"
    };
    let script = "from torch.utils.data import DataLoader\nclass DS:\n    def __getitem__(self, i):\n        self.cache[i] = load(i)\n        return self.cache[i]\nloader = DataLoader(DS(), num_workers=24)\n";
    for label in ["rss", "host_mem"] {
        let end = report(&[("job.log", &log(label)), ("train.py", script)])?;
        assert_eq!(cause(&end)?, "host_memory_growth");
        let knobs = turned(&end)?;
        assert!(knobs.contains(&"__getitem__.cache.clear()") && knobs.contains(&"DataLoader.num_workers"), "{knobs:?}");
    }
    Ok(())
}

#[test]
fn a_dictionary_of_a_data_set_is_emptied_before_it_keeps_more() -> Outcome {
    let log = "it 500 loss 1.2\nit 1000 loss 1.1\nTraceback (most recent call last):\n  File \"/w/train.py\", line 4, in <module>\n    for x in loader:\nRuntimeError: DataLoader worker (pid 7001) is killed by signal: Killed. \n";
    let train = "from torch.utils.data import DataLoader\nfrom shards import Shards\nloader = DataLoader(Shards('/d'), num_workers=5)\nfor x in loader:\n    step(x)\n";
    let data = |made: &str, bound: &str| {
        format!(
            "class Shards:\n    def __init__(self, root):\n        self.seen = {made}\n\n    def __getitem__(self, i):\n        if i not in self.seen:\n{bound}            self.seen[i] = decode(i)\n        return self.seen[i]\n"
        )
    };
    let files = |data: &str| report(&[("job.log", log), ("train.py", train), ("shards.py", data)]);
    let end = files(&data("{}", ""))?;
    let first = &patches(&end)?[0];
    let wanted = "+            self.seen.clear()\n             self.seen[i] = decode(i)";
    assert!(first.diff.as_deref().is_some_and(|diff| diff.contains(wanted)), "{first:?}");
    // Each sample is kept by whichever of a few workers reads it.
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("worker")), "{:?}", turned(&end)?);
    // A list has no place for what it lost, and what is bounded does not grow.
    assert_eq!(patches(&files(&data("[None] * 9", ""))?)?[0].diff, None);
    let bounded = files(&data("{}", "            if len(self.seen) > 99: self.seen.clear()\n"))?;
    assert!(!turned(&bounded)?.contains(&"__getitem__.cache.clear()"));
    Ok(())
}

#[test]
fn arrays_that_a_loop_collects_on_the_host_are_named_largest_first() -> Outcome {
    let log = "  0%|          | 0/900 [00:00<?, ?it/s]\n 31%|###       | 280/900 [03:10<07:01,  1.47it/s]\nYour notebook tried to allocate more memory than is available. It has restarted.\n";
    let code = "scores, pictures, truths = [], [], []\nfor picture, truth in tqdm(loader):\n    out = model(picture.cuda())\n    scores.append(out.cpu().numpy())\n    pictures.append(picture.numpy())\n    truths.append(out.argmax(1).cpu())\n";
    let cell = |code: &str| {
        let lines: Vec<String> = code.lines().map(|line| format!("\"{line}\\n\"")).collect();
        format!(
            "{{\"cells\": [{{\"cell_type\": \"code\", \"metadata\": {{}}, \"outputs\": [], \"source\": [\"import torch\\n\"]}}, {{\"cell_type\": \"code\", \"metadata\": {{}}, \"outputs\": [], \"source\": [{}]}}], \"nbformat\": 4, \"nbformat_minor\": 4, \"metadata\": {{}}}}",
            lines.join(", ")
        )
    };
    let notebook = cell(code);
    for file in [("run.py", code), ("run.ipynb", notebook.as_str())] {
        let end = report(&[("job.log", log), file])?;
        assert_eq!(cause(&end)?, "host_memory_growth", "{}", file.0);
        let line = patches(&end)?[0].line.clone().unwrap_or_default();
        let told = "# instead of pictures.append(picture.numpy()), scores.append(out.cpu().numpy()): ";
        assert!(line.starts_with(told), "{line}");
        // Nobody raises the memory of such a session.
        assert!(turned(&end)?.iter().all(|knob| !knob.starts_with("memory.max")), "{:?}", turned(&end)?);
    }
    Ok(())
}

#[test]
fn what_grows_by_results_grows_with_any_batch() -> Outcome {
    let script =
        script("total += loss\n        preds.append(pred)").replace("model(x)\n", "DataLoader(d, batch_size=8)\n");
    let end = report(&[("job.log", &growing("mem alloc").replace(".50 GB", "500 MiB")), ("train.py", &script)])?;
    assert_eq!(cause(&end)?, "gpu_memory_growth");
    let end = report(&[("job.log", &growing("mem alloc")), ("train.py", &script)])?;
    assert!(turned(&end)?.iter().all(|knob| !knob.contains("batch")), "{:?}", turned(&end)?);
    let told = root(&end)?.diagnoses[0].why.contains("`total += loss` keeps the graph of every step");
    assert!(told, "{}", root(&end)?.diagnoses[0].why);
    Ok(())
}

/// A bar of Lightning, and a refusal in the middle of a pass of thousands of steps of a network for images.
fn midway(metric: fn(usize) -> String) -> String {
    let bars: String = (1..=6)
        .map(|at| {
            let done = at * 400;
            format!("Epoch 0:  {}%|██▍       | {done}/4000 [02:00<18:00,  3.33it/s, v_num=1{}]\n", at * 10, metric(at))
        })
        .collect();
    bars + "Traceback (most recent call last):\n  File \"/w/train.py\", line 14, in training_step\n    logits = self.net(x)\n"
        + OOM
}

const SEGMENTS: &str = "import lightning as L\nimport segmentation_models_pytorch as smp\nclass Lit(L.LightningModule):\n    def __init__(self):\n        super().__init__()\n        self.net = smp.Unet(\"resnet18\", classes=7)\n        self.seen = []\n    def training_step(self, batch, _):\n        x, y = batch\n        logits = self.net(x)\n        loss = criterion(logits, y)\n        self.seen.append(logits.detach().argmax(1))\n        return loss\nL.Trainer(max_epochs=9).fit(Lit(), Data(batch_size=16))\n";

#[test]
fn a_metric_of_a_bar_that_rises_evenly_is_growth() -> Outcome {
    let rising = midway(|at| format!(", mem_gb={}.50", 4 + at * 5));
    for files in [vec![("job.log", &*rising)], vec![("job.log", &*rising), ("train.py", SEGMENTS)]] {
        let end = report(&files)?;
        assert_eq!(cause(&end)?, "gpu_memory_growth");
        assert!(!turned(&end)?.iter().any(|knob| knob.contains("batch_size")), "{:?}", turned(&end)?);
    }
    // As much in each step is none.
    let level = midway(|at| format!(", mem_gb=31.{}0", at % 2));
    assert_eq!(cause(&report(&[("job.log", &level)])?)?, "activations_too_large");
    Ok(())
}

#[test]
fn what_a_script_keeps_explains_a_failure_after_thousands_of_steps() -> Outcome {
    let end = report(&[("job.log", &midway(|_| String::new())), ("train.py", SEGMENTS)])?;
    assert_eq!(cause(&end)?, "gpu_memory_growth");
    let diff = patches(&end)?[0].diff.as_deref().unwrap_or_default();
    assert!(diff.contains("+        self.seen.append(logits.detach().argmax(1).cpu())"), "{diff}");
    // What keeps nothing did not grow, and a network for images has no logits of a vocabulary.
    let keeps_nothing = SEGMENTS.replace("        self.seen.append(logits.detach().argmax(1))\n", "");
    let end = report(&[("job.log", &midway(|_| String::new())), ("train.py", &keeps_nothing)])?;
    assert_eq!(cause(&end)?, "activations_too_large");
    assert!(!turned(&end)?.iter().any(|knob| knob.contains("lm_head")), "{:?}", turned(&end)?);
    Ok(())
}

#[test]
fn outputs_of_a_model_that_learns_nothing_keep_no_graphs() -> Outcome {
    let script = |within: &str, kept: &str| {
        format!(
            "import torch\nfrom transformers import AutoModel, AutoTokenizer\nname = \"intfloat/e5-large\"\ntokens = AutoTokenizer.from_pretrained(name)\nmodel = AutoModel.from_pretrained(name).to(\"cuda\")\nmodel.eval()\nvectors = []\n{within}for part in parts:\n    given = tokens(part, return_tensors=\"pt\").to(\"cuda\")\n    out = model(**given).last_hidden_state\n    vectors.append({kept})\n"
        )
    };
    let log = "  4%|▍         | 52/1300 [00:20<08:04,  2.58it/s]\nTraceback (most recent call last):\n  File \"/w/embed.py\", line 10, in <module>\n    out = model(**given).last_hidden_state\n  File \"/v/site-packages/transformers/models/bert/modeling_bert.py\", line 466, in feed_forward_chunk\n    intermediate_output = self.intermediate(attention_output)\n".to_owned() + OOM;
    let end = report(&[("job.log", &log), ("embed.py", &script("", "out[:, 0]"))])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("gpu_memory_growth", "model.requires_grad_()"));
    let first = &patches(&end)?[0];
    assert!(first.diff.as_deref().is_some_and(|diff| diff.contains("+model.requires_grad_(False)")), "{first:?}");
    // Where there are no graphs, what is kept is the outputs.
    let settled = report(&[("job.log", &log), ("embed.py", &script("torch.set_grad_enabled(False)\n", "out"))])?;
    assert_eq!((cause(&settled)?, turned(&settled)?[0]), ("gpu_memory_growth", "tensor.cpu()"));
    Ok(())
}

#[test]
fn what_a_program_warned_of_is_believed() -> Outcome {
    let log = "WARNING ⚠️ inference results will accumulate in RAM unless `stream=True` is passed, causing potential out-of-memory\nerrors for large sources or long-running streams and videos.\nvideo 1/1 (frame 1/52000) /w/yard.mp4: 384x640 1 dog, 9.1ms\nvideo 1/1 (frame 31044/52000) /w/yard.mp4: 384x640 2 dogs, 9.0ms\nKilled\n";
    let code = "from ultralytics import YOLO\n\nnet = YOLO(\"yolo11n.pt\")\nfor found in net.predict(\"yard.mp4\", conf=0.4):\n    count(found.boxes)\n";
    let end = report(&[("job.log", log), ("count.py", code)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("host_memory_growth", "predict.stream"));
    let shown = patches(&end)?[0].diff.as_deref().unwrap_or_default();
    assert!(shown.contains("+for found in net.predict(\"yard.mp4\", conf=0.4, stream=True):\n"), "{shown}");
    assert!(turned(&end)?.iter().all(|knob| !["batch", "workers"].contains(knob)), "{:?}", turned(&end)?);
    // Another program's option, by the name that its warning gives.
    let other = "note: detections accumulate in RAM unless keep_frames=False is passed\nframe 100\nframe 200\nKilled\n";
    let end = report(&[("job.log", other)])?;
    assert_eq!(cause(&end)?, "host_memory_growth");
    assert_eq!(patches(&end)?[0].to.as_ref().map(ToString::to_string).as_deref(), Some("keep_frames=False"));
    Ok(())
}
