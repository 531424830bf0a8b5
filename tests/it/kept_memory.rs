//! What keeps memory that the failing request lacked: engines beside the trainer, metrics, long samples, unbalanced experts, whole graphs.

use std::error::Error;

use crate::support::analyzed::{cause, diff, patches, refused, report, root, stack, turned};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A failing pass of verl's actor over padded batches.
fn entropy_of_padded_batches() -> String {
    let call = "ray.exceptions.RayTaskError(OutOfMemoryError): ray::WorkerDict.actor_rollout_compute_log_prob() (pid=812, ip=10.1.0.4, actor_id=c1, repr=<verl.single_controller.ray.base.WorkerDict object at 0x7e>)\n";
    let frames = [
        (
            "verl/workers/fsdp_workers.py",
            "compute_log_prob",
            "output, entropys = self.actor.compute_log_prob(data=data, calculate_entropy=True)",
        ),
        ("verl/workers/actor/dp_actor.py", "_forward_micro_batch", "entropy = verl_F.entropy_from_logits(logits)"),
        ("verl/utils/torch_functional.py", "entropy_from_logits", "pd = torch.nn.functional.softmax(logits, dim=-1)"),
    ];
    let stack = stack(&frames);
    format!(
        "(WorkerDict pid=809) After rollout offload, memory allocated (GB): 9.81, memory reserved (GB): 12.40\n{call}{}{}",
        stack.split_once('\n').map_or("", |(_, frames)| frames),
        refused("18.56 GiB", 79.11)
    )
}

fn of_verl(padding: &str) -> String {
    format!(
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=1024 data.max_response_length=8192 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.model.use_remove_padding={padding} actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8 actor_rollout_ref.rollout.name=vllm trainer.n_gpus_per_node=8 trainer.nnodes=1\n"
    )
}

#[test]
fn an_entropy_in_pieces_is_not_offered_where_padded_batches_ignore_it() -> Outcome {
    const CHUNKED: &str = "actor_rollout_ref.actor.entropy_from_logits_with_chunking";
    const BATCH: &str = "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu";
    let log = entropy_of_padded_batches();
    let end = report(&[("job.log", &log), ("run.sh", &of_verl("False"))])?;
    let knobs = turned(&end)?;
    assert_eq!((knobs.first(), knobs.contains(&CHUNKED)), (Some(&BATCH), false), "{knobs:?}");
    // One change that suffices needs no second one.
    assert!(root(&end)?.diagnoses[0].set.is_none());
    // Without the script the failing line shows the same.
    assert!(!turned(&report(&[("job.log", &log)])?)?.contains(&CHUNKED));
    let packed = log.replace(
        "entropy = verl_F.entropy_from_logits(logits)",
        "entropy_rmpad = self.compute_entropy_from_logits(logits_rmpad)",
    );
    assert!(turned(&report(&[("job.log", &packed), ("run.sh", &of_verl("True"))])?)?.contains(&CHUNKED));
    Ok(())
}

#[test]
fn a_figure_after_an_offload_is_no_sum_of_a_pass() -> Outcome {
    let end = report(&[("job.log", &entropy_of_padded_batches()), ("run.sh", &of_verl("False"))])?;
    let explained = &root(&end)?.memory.explains;
    assert!(explained.is_none(), "{explained:?}");
    Ok(())
}

/// OpenRLHF's actor, which makes room for its fp32 weights beside an engine of the same job.
fn beside_an_engine(first_line: &str) -> String {
    let raised = "ray.exceptions.RayTaskError(OutOfMemoryError): ray::ActorModelRayActor.init_model_from_pretrained() (pid=5512, ip=10.0.0.3)\n  File \"/w/openrlhf/trainer/ray/ppo_actor.py\", line 377, in init_model_from_pretrained\n    self.actor, self.actor_optim, self.actor_scheduler = strategy.prepare(\n";
    let refused = refused("1.10 GiB", 79.11)
        .replace(
            "Including non-PyTorch memory, this process has 79.06",
            "Process 5120 has 49.30 GiB memory in use. Including non-PyTorch memory, this process has 29.70",
        )
        .replace("78.41 GiB is allocated", "28.60 GiB is allocated");
    format!(
        "{first_line}Traceback (most recent call last):\n  File \"/w/openrlhf/cli/train_ppo_ray.py\", line 190, in train\n    ray.get(refs)\n{raised}{refused}"
    )
}

#[test]
fn an_engine_that_the_message_names_is_what_gives_way() -> Outcome {
    let script = "python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 8 --ref_num_nodes 1 --ref_num_gpus_per_node 8 --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --colocate_all_models --vllm_gpu_memory_utilization 0.6 --pretrain Qwen/Qwen2.5-14B-Instruct --micro_train_batch_size 1 --micro_rollout_batch_size 2 --zero_stage 3 --bf16 --gradient_checkpointing --advantage_estimator reinforce\n";
    let told = "(LLMRayActor pid=5120) INFO 10-04 10:00:02 [gpu_worker.py:255] Available KV cache memory: 30.90 GiB\n";
    let unsaid = "(LLMRayActor pid=5120) INFO 10-04 10:00:02 [loader.py:447] Loading weights took 7.10 seconds\n";
    for first_line in [told, unsaid] {
        let end = report(&[("job.log", &beside_an_engine(first_line)), ("run.sh", script)])?;
        assert_eq!(cause(&end)?, "colocated_memory_contention");
        let knobs = turned(&end)?;
        let is_of_engine = |knob: &&str| ["--vllm_enable_sleep", "--vllm_gpu_memory_utilization"].contains(knob);
        assert!(knobs.iter().take(2).all(is_of_engine), "{knobs:?}");
        assert_eq!(root(&end)?.phase.name.as_str(), "setup");
    }
    Ok(())
}

const METRICS: &str = "import torch\nimport lightning as L\nfrom torchmetrics.classification import MulticlassAveragePrecision, MulticlassROC, MulticlassAUROC\n\nclass Net(L.LightningModule):\n    def __init__(self, n):\n        super().__init__()\n        self.ap = MulticlassAveragePrecision(num_classes=n)\n        self.roc = MulticlassROC(num_classes=n, thresholds=None)\n        self.auc = MulticlassAUROC(num_classes=n, thresholds=50)\n\n    def validation_step(self, batch, _):\n        self.ap.update(self.net(batch[0]), batch[1])\n";

#[test]
fn metrics_that_keep_every_prediction_count_at_thresholds() -> Outcome {
    let own = [
        ("/w/fit.py", "<module>", "trainer.fit(Net(900), loaders)"),
        (
            "lightning/pytorch/loops/evaluation_loop.py",
            "_evaluation_step",
            "output = call._call_strategy_hook(trainer, hook_name, *step_args)",
        ),
        ("/w/fit.py", "validation_step", "self.ap.update(self.net(batch[0]), batch[1])"),
    ];
    let curve = [
        own.as_slice(),
        &[(
            "torchmetrics/functional/classification/precision_recall_curve.py",
            "_multiclass_precision_recall_curve_format",
            "preds = preds.transpose(0, 1).reshape(num_classes, -1).T",
        )],
    ]
    .concat();
    let log = stack(&curve) + &refused("24.00 MiB", 23.65);
    let end = report(&[("job.log", &log), ("fit.py", METRICS)])?;
    assert_eq!(cause(&end)?, "gpu_memory_growth");
    assert_eq!(turned(&end)?[0], "MulticlassAveragePrecision.thresholds");
    let edited = diff(&end)?;
    for line in [
        "+        self.ap = MulticlassAveragePrecision(num_classes=n, thresholds=100)",
        "+        self.roc = MulticlassROC(num_classes=n, thresholds=100)",
    ] {
        assert!(edited.contains(line), "{edited}");
    }
    // What has a table of its own keeps it, and the batch decides nothing.
    assert!(!edited.contains("+        self.auc"), "{edited}");
    assert!(!turned(&end)?.iter().any(|knob| knob.contains("batch_size")));

    let retrieval =
        [own.as_slice(), &[("torchmetrics/retrieval/base.py", "update", "self.preds.append(preds)")]].concat();
    let script = METRICS.replace("MulticlassAveragePrecision(num_classes=n)", "RetrievalMAP()");
    let end = report(&[("job.log", &(stack(&retrieval) + &refused("24.00 MiB", 23.65))), ("fit.py", &script)])?;
    assert!(diff(&end)?.contains("+        self.ap = RetrievalMAP(compute_on_cpu=True)"), "{}", diff(&end)?);
    // A table that is updated keeps nothing.
    let table = log
        .replace("_multiclass_precision_recall_curve_format", "_multiclass_precision_recall_curve_update_vectorized");
    assert!(
        !turned(&report(&[("job.log", &table), ("fit.py", METRICS)])?)?
            .iter()
            .any(|knob| knob.ends_with(".thresholds"))
    );
    Ok(())
}

#[test]
fn a_change_that_is_not_enough_brings_the_one_that_makes_it_so() -> Outcome {
    let recipe = "# tune run full_finetune_single_device --config own.yaml\nmodel:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\nbatch_size: 1\noptimizer:\n  _component_: torch.optim.AdamW\n  fused: True\n  lr: 2e-5\noptimizer_in_bwd: False\ngradient_accumulation_steps: 4\nenable_activation_checkpointing: True\ndtype: bf16\ntokenizer:\n  max_seq_len: 1024\n";
    let log = stack(&[
        ("recipes/full_finetune_single_device.py", "train", "current_loss.backward()"),
        ("torch/_tensor.py", "backward", "torch.autograd.backward("),
    ]) + &refused("112.00 MiB", 23.64);
    let end = report(&[("job.log", &log), ("own.yaml", recipe)])?;
    assert_eq!(cause(&end)?, "gradients_too_large");
    let set = root(&end)?.diagnoses[0].set.as_ref().ok_or("no set")?;
    assert_eq!(set.knobs, ["optimizer_in_bwd", "optimizer._component_"]);
    Ok(())
}

#[test]
fn what_the_job_prints_of_its_batches_tells_a_long_one() -> Outcome {
    let script = "import torch\nfrom torch.utils.data import DataLoader\nfrom transformers import HubertForCTC\nmodel = HubertForCTC.from_pretrained(\"facebook/hubert-large-ls960-ft\").cuda()\nloader = DataLoader(clips, batch_size=8, collate_fn=pad)\nfor n, (x, y) in enumerate(loader):\n    loss = model(x.cuda(), labels=y.cuda()).loss\n    loss.backward()\n    print(n, tuple(x.shape), f\"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB\", flush=True)\n";
    let prints: String = [230_000, 241_000, 236_500, 250_000, 244_000]
        .iter()
        .zip(0..)
        .map(|(length, n)| format!("{n} (8, {length}) 11.{n} GiB\n"))
        .collect();
    let frames = stack(&[
        ("/w/speech.py", "<module>", "loss = model(x.cuda(), labels=y.cuda()).loss"),
        (
            "transformers/models/hubert/modeling_hubert.py",
            "forward",
            "attn_weights = torch.bmm(query_states, key_states.transpose(1, 2))",
        ),
    ]);
    let log = format!("{prints}{frames}{}", refused("18.20 GiB", 39.39));
    let end = report(&[("job.log", &log), ("speech.py", script)])?;
    assert_eq!((cause(&end)?, turned(&end)?[0]), ("long_sequence_outlier", "longest sample"));
    // A quarter more than what has passed.
    let line = patches(&end)?[0].line.as_deref().unwrap_or_default();
    assert!(line.contains("312500"), "{line}");
    // The first batch was no longer than any other.
    let end = report(&[("job.log", &format!("{frames}{}", refused("18.20 GiB", 39.39))), ("speech.py", script)])?;
    assert_ne!(cause(&end)?, "long_sequence_outlier");
    Ok(())
}

#[test]
fn an_evaluation_of_a_whole_graph_wants_no_loader_for_training() -> Outcome {
    let script = "import torch\nfrom torch_geometric.loader import NeighborLoader\nfrom torch_geometric.nn import SAGEConv\nbatches = NeighborLoader(g, num_neighbors=[10, 5], input_nodes=split, batch_size=512)\n\n@torch.no_grad()\ndef evaluate(net):\n    net.eval()\n    return net(g.x.to(gpu), g.edge_index.to(gpu)).argmax(-1)\n";
    let log = stack(&[
        ("/w/nodes.py", "<module>", "evaluate(net)"),
        ("/w/nodes.py", "evaluate", "return net(g.x.to(gpu), g.edge_index.to(gpu)).argmax(-1)"),
        ("torch_geometric/nn/conv/sage_conv.py", "forward", "out = self.propagate(edge_index, x=x, size=size)"),
        ("torch_geometric/nn/conv/message_passing.py", "collect", "data = src.index_select(self.node_dim, index)"),
    ]) + &refused("61.20 GiB", 39.39);
    let end = report(&[("job.log", &log), ("nodes.py", script)])?;
    let knobs = turned(&end)?;
    assert_eq!(knobs[..2], ["layer-wise inference", "torch_geometric.transforms.ToSparseTensor"]);
    // By the script's own name of the graph.
    let line = patches(&end)?[0].line.as_deref().unwrap_or_default();
    assert!(line.contains("NeighborLoader(g, num_neighbors=[-1]"), "{line}");
    assert!(!knobs.iter().any(|knob| knob.ends_with("NeighborLoader")), "{knobs:?}");
    Ok(())
}

#[test]
fn experts_that_nothing_balances_are_balanced_first() -> Outcome {
    let launch = |router: &str| {
        format!(
            "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 --num-experts 16 --moe-router-topk 2 {router} --expert-model-parallel-size 8 --moe-grouped-gemm --micro-batch-size 1 --global-batch-size 256 --bf16 --use-distributed-optimizer --vocab-size 32000\n"
        )
    };
    let log = stack(&[
        ("/w/Megatron-LM/pretrain_gpt.py", "<module>", "pretrain("),
        (
            "/w/Megatron-LM/megatron/core/transformer/moe/moe_layer.py",
            "custom_forward",
            "expert_output, mlp_bias = self.experts(dispatched_input, tokens_per_expert)",
        ),
        (
            "/w/Megatron-LM/megatron/core/transformer/moe/experts.py",
            "forward",
            "intermediate_parallel = self.activation_func_with_probs(fc1_output, permuted_probs.unsqueeze(-1))",
        ),
    ]) + &refused("3.10 GiB", 79.11);
    let first = |router: &str| -> Outcome<(String, String)> {
        let end = report(&[("job.log", &log), ("pretrain.sh", &launch(router))])?;
        Ok((turned(&end)?[0].to_owned(), diff(&end)?))
    };
    let (knob, edited) = first("--moe-router-load-balancing-type none")?;
    assert_eq!(knob, "--moe-router-load-balancing-type");
    assert!(edited.contains("--moe-aux-loss-coeff 0.01"), "{edited}");
    // The loss has no weight unless it is given one.
    assert_eq!(first("--moe-router-load-balancing-type aux_loss")?.0, "--moe-aux-loss-coeff");
    let (balanced, _) = first("--moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2")?;
    assert!(!balanced.starts_with("--moe-router") && balanced != "--moe-aux-loss-coeff", "{balanced}");
    Ok(())
}
