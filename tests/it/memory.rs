//! Memory of whole jobs, calculated by hand.

use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::memory::{
    Adapter, Amount, Batch, Buckets, Checkpoint, Cluster, Companion, Engine, Export, Home, IdleOffload, Images,
    Implementation, Layout, ModelSize, Moment, MomentPlan, Observed, Offload, OffloadDevice, Optimizer, OptimizerKind,
    OptimizerOffload, Parallel, ParameterOffload, Parameters, Pinning, Place, Plan, Precision, Recomputation, Resume,
    Samples, Sharding, Sleep, Step, WeightsLoad, Width, explain, states,
};
use oomdoc::model::Bytes;

fn model(name: &str) -> ModelSize {
    let knowledge = Knowledge::shipped();
    let shape = knowledge.ok().and_then(|known| Some(known.models.iter().find(|m| &*m.name == name)?.shape.clone()));
    shape.map_or(ModelSize::of_parameters(0), ModelSize::of_shape)
}

/// Within 1 %, as the calculated amounts are rounded to GiB or to three digits.
fn near(amount: Bytes, gib: f64) -> bool {
    (amount.gib() / gib - 1.0).abs() < 0.01
}

fn host(plan: &Plan, moment: Moment) -> Bytes {
    plan.at(moment).map(|plan| plan.host().low).unwrap_or_default()
}

fn on_device(planned: Option<&MomentPlan>, name: &str) -> Amount {
    planned.and_then(|planned| planned.on_device(name)).map(|part| part.bytes).unwrap_or_default()
}

fn on_host(planned: Option<&MomentPlan>, name: &str) -> Amount {
    let mut parts = planned.into_iter().flat_map(|planned| &planned.components);
    parts.find(|part| part.name == name && part.place.is_host()).map(|part| part.bytes).unwrap_or_default()
}

fn offloaded(pin: bool) -> Offload {
    Offload { optimizer: Some(OptimizerOffload::to_cpu(pin)), ..Offload::default() }
}

mod a_72b_model_resumes_on_one_node {
    use super::*;

    fn layout(pin: bool) -> Layout {
        Layout {
            cluster: Cluster::of(1, 8),
            sharding: Sharding::ZeroThree,
            offload: offloaded(pin),
            buckets: Buckets { overlap: true, ..Buckets::default() },
            checkpoint: Checkpoint { resume: Resume::OwnPart, weights: WeightsLoad::Streamed, ..Checkpoint::default() },
            ..Layout::default()
        }
    }

    fn qwen() -> ModelSize {
        model("Qwen2.5-72B")
    }

    #[test]
    fn before_at_and_after_the_load() {
        let plan = Plan::of(&qwen(), &layout(false));
        assert!(near(host(&plan, Moment::AfterPrepare), 677.0));
        assert!(near(host(&plan, Moment::CheckpointResume), 1490.0));
        assert!(near(host(&plan, Moment::OptimizerStep), 1219.0));
    }

    #[test]
    fn pinned_buffers_round_up() {
        let plan = Plan::of(&qwen(), &layout(true));
        assert!(near(host(&plan, Moment::OptimizerStep), 1360.0));
        assert!(near(host(&plan, Moment::CheckpointResume), 1630.0));
        // The flat buffer of 16-bit gradients takes 32 GiB of each rank instead of 16.93 GiB.
        assert_eq!(on_host(plan.at(Moment::Backward), "gradients"), Amount::exactly(Bytes(8 * (32 << 30))));
        let native = Layout {
            implementation: Implementation { pinning: Pinning::Exact, ..Implementation::default() },
            ..layout(true)
        };
        assert!(near(host(&Plan::of(&qwen(), &native), Moment::OptimizerStep), 1219.0));
    }

    #[test]
    fn offloaded_weights_are_pinned_whatever_is_said() {
        let offload = Offload { parameters: Some(ParameterOffload { device: OffloadDevice::Cpu }), ..offloaded(true) };
        let plan = Plan::of(&qwen(), &Layout { offload, ..layout(true) });
        assert!(near(on_host(plan.at(Moment::Forward), "offloaded weights").low, 256.0));
        assert!(near(host(&plan, Moment::CheckpointResume), 1630.0 + 256.0));
        assert_eq!(on_device(plan.at(Moment::Forward), "weights"), Amount::ZERO);
    }

    #[test]
    fn loading_in_turn_needs_one_rank_more() {
        let checkpoint = |resume| Checkpoint { resume, ..layout(false).checkpoint };
        let in_turn = Layout { checkpoint: checkpoint(Resume::OwnPartInTurn), ..layout(false) };
        assert!(near(host(&Plan::of(&qwen(), &in_turn), Moment::CheckpointResume), 1219.0 + 34.0));
        let old = Implementation { states_at_init: true, ..Implementation::default() };
        let in_turn_old = Layout { implementation: old, ..in_turn };
        assert!(near(host(&Plan::of(&qwen(), &in_turn_old), Moment::CheckpointResume), 1219.0 + 102.0));
        // Up to 0.13.1 the states are allocated before they are loaded.
        let all_at_once = Layout { implementation: old, ..layout(false) };
        assert!(near(host(&Plan::of(&qwen(), &all_at_once), Moment::CheckpointResume), 2031.0));
    }

    #[test]
    fn what_helps_and_what_does_not() {
        let steady = |layout: &Layout| host(&Plan::of(&qwen(), layout), Moment::OptimizerStep);
        let before = steady(&layout(false));
        let with_ratio = |ratio| {
            let optimizer = Some(OptimizerOffload { ratio, ..OptimizerOffload::to_cpu(false) });
            Layout { offload: Offload { optimizer, ..offloaded(false) }, ..layout(false) }
        };
        // Ten sub-groups: at nine tenths all of them move, at eight tenths one stays on each device.
        assert_eq!(steady(&with_ratio(0.9)), before);
        assert!(near(before - steady(&with_ratio(0.8)), 119.0));
        let kept = |ratio| {
            let plan = Plan::of(&qwen(), &with_ratio(ratio));
            let kept = |name| on_device(plan.at(Moment::Forward), name).low;
            kept("master weights") + kept("fp32 gradients") + kept("optimizer states")
        };
        assert_eq!(kept(0.9), Bytes(0));
        assert!(near(kept(0.8), 14.9));
        let two_nodes = Layout { cluster: Cluster::of(2, 8), ..layout(false) };
        assert!(near(steady(&two_nodes), 1219.0 / 2.0));
        let checkpointed =
            Layout { recomputation: Recomputation::Full, batch: Some(Batch::of(1, 64)), ..layout(false) };
        assert_eq!(steady(&checkpointed), before);
    }

    #[test]
    fn a_device_holds_its_shard_and_what_is_live() {
        let plan = Plan::of(&qwen(), &layout(true));
        let forward = plan.at(Moment::Forward);
        assert!(near(on_device(forward, "weights").low, 16.93));
        let live = on_device(forward, "live parameters");
        assert!(near(live.low, 2.32) && live.high.gib() < 4.4, "{live}");
        assert!(near(on_device(forward, "gradient bucket").high, 1.86));
        // Without offload the states alone exceed any device.
        let resident = Plan::of(&qwen(), &Layout { offload: Offload::default(), ..layout(true) });
        let step = resident.at(Moment::OptimizerStep);
        let states: Amount = ["weights", "gradients", "master weights", "optimizer states"]
            .map(|name| on_device(step, name))
            .into_iter()
            .sum();
        assert!(near(states.low, 135.4), "{states}");
    }

    #[test]
    fn a_growing_host_is_explained() {
        let plan = Plan::of(&qwen(), &layout(true));
        let found = explain(Bytes(1400 << 30), Observed::Host, None, &plan);
        assert!(found.first().is_some_and(|found| found.error.abs() < 0.03), "{found:#?}");
    }
}

mod an_8b_model_on_one_device {
    use super::*;

    fn llama() -> ModelSize {
        model("Llama-3-8B")
    }

    #[test]
    fn states_by_precision() {
        let total = |precision, kind| {
            let optimizer = Optimizer { kind, ..Optimizer::default() };
            states(&llama(), &Layout { precision, optimizer, ..Layout::default() }).bytes
        };
        assert!(near(total(Precision::MIXED, OptimizerKind::AdamW).low, 119.7));
        assert!(near(total(Precision::FP32, OptimizerKind::AdamW).low, 119.7));
        assert!(near(total(Precision::MIXED_FP32_GRADIENTS, OptimizerKind::AdamW).low, 134.6));
        assert!(near(total(Precision::PURE_16_BIT, OptimizerKind::AdamW).low, 59.8));
        assert!(near(total(Precision::PURE_16_BIT, OptimizerKind::AdamW8Bit).low, 44.9));
        assert!(near(total(Precision::PURE_16_BIT, OptimizerKind::OneMoment).low, 44.9));
        assert!(near(total(Precision::MIXED, OptimizerKind::None).low, 15.0));
        let kahan = Optimizer { kahan: true, ..Optimizer::default() };
        let layout = Layout { precision: Precision::PURE_16_BIT, optimizer: kahan, ..Layout::default() };
        assert_eq!(states(&llama(), &layout).width, Width::exactly(10.0));
    }

    #[test]
    fn stages_alone_save_nothing_and_offload_moves_the_states() {
        let peak = |sharding| {
            let layout = Layout { sharding, ..Layout::default() };
            let plan = Plan::of(&llama(), &layout);
            let step = plan.at(Moment::OptimizerStep);
            ["weights", "gradients", "master weights", "optimizer states"]
                .map(|name| on_device(step, name))
                .into_iter()
                .sum::<Amount>()
        };
        for sharding in [Sharding::Replicated, Sharding::ZeroOne, Sharding::ZeroTwo, Sharding::ZeroThree] {
            assert!(near(peak(sharding).low, 119.7), "{sharding:?}");
        }
        let newest = Implementation { weights_beside_master: true, ..Implementation::default() };
        let layout = |pin| Layout {
            sharding: Sharding::ZeroTwo,
            offload: offloaded(pin),
            implementation: newest,
            ..Layout::default()
        };
        let (pageable, pinned) = (Plan::of(&llama(), &layout(false)), Plan::of(&llama(), &layout(true)));
        assert!(near(host(&pageable, Moment::OptimizerStep), 134.6));
        // 32 + 32 + 16 GiB are pinned, 59.8 GiB are not.
        assert!(near(host(&pinned, Moment::OptimizerStep), 139.8));
        let parts = pinned.at(Moment::OptimizerStep).into_iter().flat_map(|planned| &planned.components);
        let locked = parts.filter(|part| part.place == Place::HostPinned).map(|part| part.bytes.low).sum::<Bytes>();
        assert_eq!(locked, Bytes(80 << 30));
        let device = on_device(pinned.at(Moment::Backward), "weights")
            + on_device(pinned.at(Moment::Backward), "gradient buckets");
        assert!(near(device.low, 15.0 + 0.93));
    }

    #[test]
    fn the_first_step_needs_what_no_print_before_it_shows() {
        let layout = Layout { sharding: Sharding::ZeroTwo, ..Layout::default() };
        let plan = Plan::of(&llama(), &layout);
        let device = |moment| plan.at_step(moment, Step::First).map(|plan| plan.device().low.gib()).unwrap_or_default();
        assert!((device(Moment::AfterPrepare) - 44.9).abs() < 0.1);
        assert!((device(Moment::Backward) - 60.8).abs() < 0.1);
        // Gradients cast to fp32 and both moments are added.
        assert!(device(Moment::OptimizerStep) > 149.0);
        let old = Implementation { states_at_init: true, ..Implementation::default() };
        let old = Layout { implementation: old, ..layout };
        let plan = Plan::of(&llama(), &old);
        assert!(plan.at(Moment::AfterPrepare).is_some_and(|plan| near(plan.device().low, 104.7)));
    }

    #[test]
    fn an_adapter_trains_little() {
        let adapter = Some(Adapter { parameters: Parameters::exactly(41_943_040), weights: Width::TWO });
        let layout = Layout { adapter, sharding: Sharding::ZeroTwo, cluster: Cluster::of(1, 8), ..Layout::default() };
        let plan = Plan::of(&llama(), &layout);
        let step = plan.at(Moment::OptimizerStep);
        assert!(near(on_device(step, "weights").low, 14.96), "the base is whole on every device");
        assert_eq!(on_device(step, "optimizer states"), Amount::exactly(Bytes(8 * 41_943_040 / 8)));
        let quantised = Precision { weights: Width::between(0.55, 0.6), ..Precision::MIXED };
        let plan = Plan::of(&llama(), &Layout { precision: quantised, adapter, ..Layout::default() });
        let weights = on_device(plan.at(Moment::Forward), "weights");
        assert!(near(weights.low, 4.11) && near(weights.high, 4.49), "{weights}");
    }
}

mod a_13b_policy_saves {
    use super::*;

    fn llama() -> ModelSize {
        model("Llama-2-13B")
    }

    fn layout(export: Export) -> Layout {
        Layout {
            cluster: Cluster::of(1, 8),
            sharding: Sharding::ZeroTwo,
            offload: offloaded(true),
            checkpoint: Checkpoint { export, ..Checkpoint::default() },
            implementation: Implementation { weights_beside_master: true, ..Implementation::default() },
            engine: Some(Engine { sleep: Sleep::WeightsToHost, ..Engine::default() }),
            ..Layout::default()
        }
    }

    fn policy(plan: &Plan, moment: Moment) -> Bytes {
        let offloaded = ["master weights", "fp32 gradients", "16-bit weights", "optimizer states"];
        let on_host = |name: &&str| {
            let parts = plan.at(moment).into_iter().flat_map(|planned| &planned.components);
            parts
                .filter(|part| part.name == **name && part.place != Place::Device)
                .map(|part| part.bytes.low)
                .sum::<Bytes>()
        };
        offloaded.iter().map(on_host).sum()
    }

    #[test]
    fn nominal_and_pinned() {
        let plan = Plan::of(&llama(), &layout(Export::EveryRank));
        assert!(near(policy(&plan, Moment::OptimizerStep), 257.0));
        let pageable = Plan::of(&llama(), &Layout { offload: offloaded(false), ..layout(Export::EveryRank) });
        assert!(near(policy(&pageable, Moment::OptimizerStep), 218.0));
        let old = Implementation::default();
        let pageable = Layout { offload: offloaded(false), implementation: old, ..layout(Export::EveryRank) };
        assert!(near(policy(&Plan::of(&llama(), &pageable), Moment::OptimizerStep), 218.2 * 16.0 / 18.0));
    }

    #[test]
    fn every_rank_clones_what_one_writes() {
        let exported = |export| {
            let plan = Plan::of(&llama(), &layout(export));
            on_host(plan.at(Moment::CheckpointSave), "exported weights").low
        };
        assert!(near(exported(Export::EveryRank), 194.0));
        assert!(near(exported(Export::FirstRank), 24.25));
        let plan = Plan::of(&llama(), &layout(Export::EveryRank));
        assert!(near(on_host(plan.at(Moment::OptimizerStep), "weights of sleeping engines").low, 194.0));
        // 257 + 194 + 194 GiB without the object store exceed a limit of 500 GB, or of 500 GiB.
        assert!(host(&plan, Moment::CheckpointSave).gib() > 645.0 * 0.99);
        assert!(host(&plan, Moment::OptimizerStep).gib() < 452.0);
    }

    #[test]
    fn a_trained_critic_counts_as_much() {
        let critic = Companion { name: "critic".into(), size: llama(), weights: Width::TWO, home: Home::Trained };
        let layout = Layout { companions: vec![critic], engine: None, ..layout(Export::EveryRank) };
        let plan = Plan::of(&llama(), &layout);
        assert!(near(host(&plan, Moment::OptimizerStep), 514.0));
        assert!(near(on_device(plan.at(Moment::Forward), "critic weights").low, 24.25));
    }
}

mod a_7b_vision_model_learns_from_its_samples {
    use super::*;

    fn layout() -> Layout {
        Layout {
            cluster: Cluster { device_memory: Some(Bytes(40 << 30)), ..Cluster::of(1, 8) },
            sharding: Sharding::FsdpFull,
            precision: Precision::FP32_COMPUTED_IN_16_BIT,
            idle_offload: IdleOffload { parameters: true, optimizer: true },
            checkpoint: Checkpoint {
                weights: WeightsLoad::FirstRank(Width::FOUR),
                copies_shards: true,
                ..Checkpoint::default()
            },
            companions: vec![Companion {
                name: "reference".into(),
                size: model("Qwen2.5-VL-7B"),
                weights: Width::TWO,
                home: Home::Host,
            }],
            engine: Some(Engine {
                tensor_parallel: 2,
                memory_share: 0.6,
                sleep: Sleep::WeightsToHost,
                ..Engine::default()
            }),
            samples: Samples {
                images: Some(Images { pixels: 4_194_304, per_rank: 320 }),
                object_store: Bytes(212 << 30),
                ..Samples::default()
            },
            batch: Some(Batch::of(1, 4096)),
            ..Layout::default()
        }
    }

    #[test]
    fn a_device_in_the_update_and_in_the_rollout() {
        let plan = Plan::of(&model("Qwen2.5-VL-7B"), &layout());
        let update = plan.at(Moment::OptimizerStep);
        assert!(near(on_device(update, "weights").low, 3.86));
        assert!(near(on_device(update, "optimizer states").low, 7.72));
        assert!(near(on_device(update, "gradients").low, 3.86));
        assert_eq!(on_device(update, "engine asleep").high, Bytes(3 << 30));
        let rollout = plan.at(Moment::Rollout);
        assert_eq!(on_device(rollout, "weights"), Amount::ZERO);
        assert!(near(on_device(rollout, "engine weights").low, 15.4 / 2.0));
        assert!(rollout.is_some_and(|plan| near(plan.device().high, 24.0)));
    }

    #[test]
    fn a_host_by_its_parts() {
        let plan = Plan::of(&model("Qwen2.5-VL-7B"), &layout());
        let update = plan.at(Moment::Forward);
        let idle = on_host(update, "idle weights") + on_host(update, "idle optimizer states");
        // 92.6 GiB, and the rounding of pinned buffers.
        assert!(idle.low.gib() > 92.6 && idle.high.gib() < 92.6 * 1.45, "{idle}");
        assert!(near(on_host(update, "reference weights").low, 15.4));
        assert!(near(on_host(update, "weights of sleeping engines").low, 61.8));
        assert_eq!(on_host(update, "processed images"), Amount::exactly(Bytes(240 << 30)));
        assert!(near(on_host(plan.at(Moment::Init), "weights being loaded").low, 30.9));
        assert!(near(on_host(plan.at(Moment::CheckpointSave), "copied shards").low, 92.6));
        let small = Samples { images: Some(Images { pixels: 1_048_576, per_rank: 320 }), ..Samples::default() };
        let plan = Plan::of(&model("Qwen2.5-VL-7B"), &Layout { samples: small, ..layout() });
        assert_eq!(on_host(plan.at(Moment::Forward), "processed images"), Amount::exactly(Bytes(60 << 30)));
    }

    #[test]
    fn offload_between_updates_leaves_the_update_as_it_is() {
        let resident = Layout { idle_offload: IdleOffload::default(), ..layout() };
        let (idle, resident) =
            (Plan::of(&model("Qwen2.5-VL-7B"), &layout()), Plan::of(&model("Qwen2.5-VL-7B"), &resident));
        let device = |plan: &Plan, moment| plan.at(moment).map(|plan| plan.device());
        for moment in [Moment::Forward, Moment::Backward, Moment::OptimizerStep] {
            assert_eq!(device(&idle, moment), device(&resident, moment), "{moment:?}");
        }
        assert!(device(&idle, Moment::Rollout).map(|a| a.low) < device(&resident, Moment::Rollout).map(|a| a.low));
    }
}

#[test]
fn the_first_rank_of_a_ring_sends_all_samples() {
    let tokens = 134_217_728;
    let layout = Layout {
        cluster: Cluster::of(1, 8),
        parallel: Parallel { sequence: 4, ..Parallel::default() },
        sharding: Sharding::ZeroTwo,
        samples: Samples { broadcast_tokens: Some(tokens), ..Samples::default() },
        ..Layout::default()
    };
    let plan = Plan::of(&model("Llama-3-8B"), &layout);
    let sent = on_device(plan.at(Moment::WeightSync), "samples being sent");
    assert_eq!(sent.low, Bytes(6 << 30));
    // A smaller micro-batch does not send less.
    let smaller = Layout { batch: Some(Batch::of(1, 4096)), ..layout };
    let plan = Plan::of(&model("Llama-3-8B"), &smaller);
    assert_eq!(on_device(plan.at(Moment::WeightSync), "samples being sent"), sent);
}
