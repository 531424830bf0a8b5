//! What a script of one's own keeps of a model's outputs, gives it at once and shares the GPU with decides what is proposed.

use std::error::Error;

use crate::support::analyzed::{cause, diff, patches, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A refused request of a process that holds `used` GiB, `allocated` of them PyTorch's, of a GPU of 47.41 GiB.
fn refused(requested: &str, used: &str, allocated: &str) -> String {
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested}. GPU 0 has a total capacity of 47.41 GiB of which 402.31 MiB is free. Including non-PyTorch memory, this process has {used} GiB memory in use. Of the allocated memory {allocated} GiB is allocated by PyTorch, and 95.40 MiB is reserved by PyTorch but unallocated.\n"
    )
}

const MODULE: &str = "import lightning as pl\nimport torch\nfrom transformers import AutoModelForCausalLM\n\n\nclass Tuned(pl.LightningModule):\n    def __init__(self):\n        super().__init__()\n        self.lm = AutoModelForCausalLM.from_pretrained(\"gpt2\")\n        self.seen, self.wanted = [], []\n\n    def training_step(self, batch, index):\n        return self.lm(**batch).loss\n\n    def validation_step(self, batch, index):\n        result = self.lm(**batch)\n        self.seen.append(result.logits)\n        self.wanted.append(batch[\"labels\"])\n\n    def on_validation_epoch_end(self):\n        scores = torch.cat(self.seen)\n        answers = torch.cat(self.wanted)\n        MEASURE\n        self.seen.clear()\n        self.wanted.clear()\n\n\npl.Trainer(max_epochs=2).fit(Tuned(), Texts(batch_size=16))\n";

fn validation() -> String {
    let bars = "Epoch 0:  25%|██▌       | 900/3600 [08:00<24:00,  1.87it/s, v_num=2]\nValidation DataLoader 0:  21%|██        | 30/140 [00:09<00:34,  3.20it/s]\n";
    bars.to_owned()
        + &stack(&[
            ("/w/tune.py", "<module>", "pl.Trainer(max_epochs=2).fit(Tuned(), Texts(batch_size=16))"),
            (
                "lightning/pytorch/loops/evaluation_loop.py",
                "_evaluation_step",
                "output = call._call_strategy_hook(trainer, hook_name, *step_args)",
            ),
            ("/w/tune.py", "validation_step", "result = self.lm(**batch)"),
            ("transformers/models/gpt2/modeling_gpt2.py", "forward", "logits = self.lm_head(hidden_states)"),
        ])
        + &refused("1.53 GiB", "47.01", "46.20")
}

#[test]
fn a_validation_that_keeps_its_logits_is_told_to_keep_what_it_uses() -> Outcome {
    let script = MODULE.replace(
        "MEASURE",
        "right = (scores[:, :-1].argmax(-1) == answers[:, 1:]).float().mean()\n        self.log(\"right\", right)",
    );
    let kept = report(&[("job.log", &validation()), ("tune.py", &script)])?;
    assert_eq!(cause(&kept)?, "gpu_memory_growth");
    let change = diff(&kept)?;
    assert!(change.contains("+        self.seen.append(result.logits.argmax(-1))"), "{change}");
    assert!(change.contains("+        right = (scores[:, :-1] == answers[:, 1:])"), "{change}");
    assert!(turned(&kept)?.iter().all(|knob| !knob.contains("batch_size")), "{:?}", turned(&kept)?);
    Ok(())
}

#[test]
fn outputs_of_which_all_is_used_go_to_the_host_with_what_they_are_compared_with() -> Outcome {
    let script = MODULE.replace("MEASURE", "self.log(\"error\", measure(scores, answers))");
    let kept = report(&[("job.log", &validation()), ("tune.py", &script)])?;
    assert_eq!(cause(&kept)?, "gpu_memory_growth");
    let on_host = patches(&kept)?.iter().find(|patch| &*patch.knob == "tensor.cpu()").ok_or("no change")?;
    let change = on_host.diff.clone().unwrap_or_default();
    assert!(change.contains("+        self.seen.append(result.logits.detach().cpu())"), "{change}");
    assert!(change.contains("+        self.wanted.append(batch[\"labels\"].cpu())"), "{change}");
    // What leaves little of an output keeps little.
    let script = script.replace("append(result.logits)", "append(result.logits.argmax(-1))");
    let small = report(&[("job.log", &validation()), ("tune.py", &script)])?;
    assert_ne!(cause(&small)?, "gpu_memory_growth");
    Ok(())
}

#[test]
fn a_loop_that_collects_logits_needs_no_smaller_batch() -> Outcome {
    let script = "import torch\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained(\"gpt2\").cuda().eval()\nrows = []\nfor batch in texts(batch_size=16):\n    with torch.no_grad():\n        result = model(**batch)\n    rows.append(result.logits)\ntorch.save(torch.cat(rows), \"rows.pt\")\n";
    let log = stack(&[
        ("/w/score.py", "<module>", "result = model(**batch)"),
        ("transformers/models/gpt2/modeling_gpt2.py", "forward", "logits = self.lm_head(hidden_states)"),
    ]) + &refused("1.53 GiB", "47.01", "46.20");
    let kept = report(&[("job.log", &log), ("score.py", script)])?;
    assert_eq!(cause(&kept)?, "gpu_memory_growth");
    let change = diff(&kept)?;
    assert!(change.contains("+    rows.append(result.logits.detach().cpu())"), "{change}");
    Ok(())
}

const TWO: &str = "import jax\nimport torch\nfrom transformers import AutoModel\nkey = jax.random.PRNGKey(1)\ntower = AutoModel.from_pretrained(\"org/tower\").cuda().eval()\nfor texts in batches(256):\n    with torch.no_grad():\n        h = tower(**texts).last_hidden_state\n    state = step(state, h)\nstate.params.block_until_ready()\nloss.backward()\n";

#[test]
fn what_another_framework_of_the_process_took_is_given_back() -> Outcome {
    let log = |allocated: &str| {
        stack(&[
            ("/w/two.py", "<module>", "h = tower(**texts).last_hidden_state"),
            ("torch/nn/modules/linear.py", "forward", "return F.linear(input, self.weight, self.bias)"),
        ]) + &refused("1.20 GiB", "47.01", allocated)
    };
    let shell = "#!/bin/bash\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=0.92\npython two.py\n";
    let set = report(&[("job.log", &log("1.31")), ("two.py", TWO), ("run.sh", shell)])?;
    assert_eq!(cause(&set)?, "gpu_shared_with_others");
    assert!(diff(&set)?.contains("+export XLA_PYTHON_CLIENT_MEM_FRACTION=0.5"), "{}", diff(&set)?);
    let shell = "#!/bin/bash\npython two.py\n";
    let unset = report(&[("job.log", &log("1.31")), ("two.py", TWO), ("run.sh", shell)])?;
    assert!(diff(&unset)?.contains("XLA_PYTHON_CLIENT_PREALLOCATE=false"), "{}", diff(&unset)?);
    // PyTorch's own, and under no_grad nothing is kept that could be computed again.
    let own = report(&[("job.log", &log("46.10")), ("two.py", TWO), ("run.sh", shell)])?;
    assert_ne!(cause(&own)?, "gpu_shared_with_others");
    assert!(turned(&own)?.iter().all(|knob| !knob.contains("checkpoint")), "{:?}", turned(&own)?);
    let script = TWO.replace("    with torch.no_grad():\n        h", "    h");
    let learned = report(&[("job.log", &log("46.10")), ("two.py", &script), ("run.sh", shell)])?;
    assert!(turned(&learned)?.iter().any(|knob| knob.contains("checkpoint")), "{:?}", turned(&learned)?);
    Ok(())
}

#[test]
fn ranks_that_each_load_the_model_let_the_first_one_load_it() -> Outcome {
    let log = "Loading checkpoint shards:  53%|█████▎    | 8/15 [02:12<01:55, 16.5s/it]\nE1121 02:13:44.120000 901 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 5 (pid: 917) of binary: /opt/conda/bin/python\n[1822031.551398] Out of memory: Killed process 917 (python) total-vm:214411020kB, anon-rss:121012332kB, file-rss:110220kB, shmem-rss:0kB, UID:1005 pgtables:259120kB oom_score_adj:0\n";
    let script = "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nfrom transformers import AutoModelForCausalLM\ntorch.distributed.init_process_group(\"nccl\")\nmodel = AutoModelForCausalLM.from_pretrained(\"meta-llama/Llama-2-70b-hf\")\nmodel = FSDP(model, device_id=rank)\noptimizer = torch.optim.AdamW(model.parameters())\n";
    let shell = "torchrun --nproc_per_node 8 tune.py\n";
    let each = report(&[("job.log", log), ("tune.py", script), ("run.sh", shell)])?;
    assert_eq!(cause(&each)?, "checkpoint_load_duplication");
    assert_eq!(turned(&each)?.first(), Some(&"the weights on rank 0 only"));
    Ok(())
}

#[test]
fn several_images_of_a_prompt_are_decoded_one_after_the_other() -> Outcome {
    let script = |prompts: &str| {
        format!(
            "import torch\nfrom diffusers import StableDiffusionXLPipeline\npipe = StableDiffusionXLPipeline.from_pretrained(\"org/xl\", torch_dtype=torch.float16).to(\"cuda\")\ndef draw(text, many=6):\n    return pipe(prompt={prompts}, num_inference_steps=25).images\n"
        )
    };
    let log = stack(&[
        ("/w/draw.py", "draw", "return pipe(prompt=[text] * many, num_inference_steps=25).images"),
        (
            "diffusers/pipelines/stable_diffusion_xl/pipeline_stable_diffusion_xl.py",
            "__call__",
            "image = self.vae.decode(latents, return_dict=False)[0]",
        ),
        ("diffusers/models/autoencoders/autoencoder_kl.py", "_decode", "dec = self.decoder(z)"),
        (
            "diffusers/models/upsampling.py",
            "forward",
            "hidden_states = F.interpolate(hidden_states, scale_factor=2.0, mode=\"nearest\")",
        ),
    ]) + &refused("6.00 GiB", "44.01", "43.20");
    let several = report(&[("job.log", &log), ("draw.py", &script("[text] * many"))])?;
    assert_eq!(turned(&several)?.first(), Some(&"AutoencoderKL.enable_slicing()"));
    Ok(())
}

#[test]
fn a_long_sample_of_a_padded_batch_is_bucketed() -> Outcome {
    let log = "I0000 00:00:1763510000.123456   10022 gpu_device.cc:2022] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 37533 MB memory:  -> device: 0, name: NVIDIA A100-SXM4-40GB, pci bus id: 0000:07:00.0, compute capability: 8.0\nEpoch 1/30\n    318/Unknown 201s 630ms/step - loss: 4.8120\n2026-03-01 10:00:00.305871: W tensorflow/core/framework/op_kernel.cc:1840] OP_REQUIRES failed at softmax_op_gpu.cu.cc:233 : RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[48,8,3211,3211] and type half on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\nTraceback (most recent call last):\n  File \"/w/speech.py\", line 9, in <module>\n    model.fit(ds, epochs=30)\ntensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:\nOOM when allocating tensor with shape[48,8,3211,3211] and type half on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:__inference_multi_step_on_iterator_48210]\n";
    let script = "import tensorflow as tf\nds = utterances().shuffle(2048).padded_batch(48, padded_shapes=([None, 80], [None]))\nmodel = transducer()\nmodel.compile(optimizer=\"adam\", loss=model.loss)\nmodel.fit(ds, epochs=30)\n";
    let padded = report(&[("job.log", log), ("speech.py", script)])?;
    assert_eq!(cause(&padded)?, "long_sequence_outlier");
    assert_eq!(turned(&padded)?.first(), Some(&"Dataset.bucket_by_sequence_length()"));
    Ok(())
}

#[test]
fn a_whole_graph_is_sampled_by_the_names_of_its_script() -> Outcome {
    let script = "import torch\nfrom torch_geometric.nn import GATConv\ngraph = products()[0].to(\"cuda\")\nclass Net(torch.nn.Module):\n    def __init__(self, width):\n        super().__init__()\n        self.first = GATConv(100, width)\n        self.last = GATConv(width, 47)\n    def forward(self, x, edges):\n        return self.last(self.first(x, edges).relu(), edges)\nnet = Net(128).cuda()\nout = net(graph.x, graph.edge_index)[known]\ntorch.nn.functional.cross_entropy(out, graph.y[known]).backward()\n";
    let log = stack(&[
        ("/w/net.py", "<module>", "out = net(graph.x, graph.edge_index)[known]"),
        (
            "torch_geometric/nn/conv/gat_conv.py",
            "forward",
            "out = self.propagate(edge_index, x=x, alpha=alpha, size=size)",
        ),
        ("torch_geometric/nn/conv/message_passing.py", "propagate", "out = self.message(**msg_kwargs)"),
    ]) + &refused("60.21 GiB", "9.01", "8.20");
    let whole = report(&[("job.log", &log), ("net.py", script)])?;
    assert_eq!(root(&whole)?.diagnoses.first().map(|first| &*first.rule), Some("whole_graph"));
    let first =
        patches(&whole)?.first().and_then(|patch| patch.to.as_ref()).map(ToString::to_string).unwrap_or_default();
    assert!(
        first.contains("NeighborLoader(graph, num_neighbors=[10] * 2, batch_size=1024, input_nodes=known)"),
        "{first}"
    );
    Ok(())
}

#[test]
fn the_reference_that_keeps_its_graph_is_named() -> Outcome {
    let script = "import copy\nimport torch\nfrom transformers import AutoModelForCausalLM\npolicy = AutoModelForCausalLM.from_pretrained(\"Qwen/Qwen2.5-1.5B\").cuda()\nref = copy.deepcopy(policy).eval()\noptimizer = torch.optim.AdamW(policy.parameters())\nfor batch in pairs:\n    chosen = score(policy, batch)\n    base = score(ref, batch)\n    (chosen - base).mean().backward()\n    optimizer.step()\n\ndef score(model, batch):\n    return model(**batch).logits.mean()\n";
    let log = stack(&[
        ("/w/pairs.py", "<module>", "base = score(ref, batch)"),
        ("/w/pairs.py", "score", "return model(**batch).logits.mean()"),
        (
            "transformers/models/qwen2/modeling_qwen2.py",
            "forward",
            "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))",
        ),
    ]) + &refused("280.00 MiB", "47.01", "46.20");
    let kept = report(&[("job.log", &log), ("pairs.py", script)])?;
    assert!(diff(&kept)?.contains("+    with torch.no_grad():\n+        base = score(ref, batch)"), "{}", diff(&kept)?);
    let why = root(&kept)?.diagnoses.first().map(|first| first.why.clone()).unwrap_or_default();
    assert!(why.contains("`base = score(ref, batch)` keeps the graph of a model that learns nothing"), "{why}");
    Ok(())
}
