//! Properties that the memory of every job must have.

use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::memory::{
    Amount, Batch, Checkpoint, Cluster, Component, Export, Implementation, Layout, ModelSize, Moment, MomentPlan,
    Observed, Offload, OffloadDevice, OptimizerOffload, Parameters, Place, Plan, Precision, Recomputation, Requested,
    Resume, Rounding, Sharding, explain, size_matches,
};
use oomdoc::model::Bytes;
use proptest::prelude::*;

fn model(name: &str) -> ModelSize {
    let knowledge = Knowledge::shipped();
    let shape = knowledge.ok().and_then(|known| Some(known.models.iter().find(|m| &*m.name == name)?.shape.clone()));
    shape.map_or(ModelSize::of_parameters(0), ModelSize::of_shape)
}

const SHARDINGS: [Sharding; 7] = [
    Sharding::Replicated,
    Sharding::ZeroOne,
    Sharding::ZeroTwo,
    Sharding::ZeroThree,
    Sharding::FsdpFull,
    Sharding::FsdpGradOp,
    Sharding::FsdpHybrid,
];

const PRECISIONS: [Precision; 5] = [
    Precision::FP32,
    Precision::FP32_COMPUTED_IN_16_BIT,
    Precision::MIXED,
    Precision::MIXED_FP32_GRADIENTS,
    Precision::PURE_16_BIT,
];

fn any_layout() -> impl Strategy<Value = Layout> {
    let cluster = (1u64..4, 1u64..9).prop_map(|(nodes, devices)| Cluster::of(nodes, devices));
    let optimizer = prop::option::of((any::<bool>(), 0.0..=1.0f64))
        .prop_map(|offload| offload.map(|(pin, ratio)| OptimizerOffload { device: OffloadDevice::Cpu, pin, ratio }));
    let training = (0usize..7, 0usize..5, any::<bool>(), 1u64..5, prop::option::of((1u64..5, 1u64..8192)));
    (cluster, optimizer, training, any::<bool>()).prop_map(|(cluster, optimizer, training, old)| {
        let (sharding, precision, full, accumulation, batch) = training;
        let batch = batch.map(|(size, sequence)| Batch { accumulation, ..Batch::of(size, sequence) });
        Layout {
            cluster,
            sharding: SHARDINGS[sharding],
            precision: PRECISIONS[precision],
            offload: Offload { optimizer, ..Offload::default() },
            batch,
            recomputation: if full { Recomputation::Full } else { Recomputation::None },
            checkpoint: Checkpoint { resume: Resume::OwnPart, export: Export::EveryRank, ..Checkpoint::default() },
            implementation: Implementation { states_at_init: old, ..Implementation::default() },
            ..Layout::default()
        }
    })
}

fn any_model() -> impl Strategy<Value = ModelSize> {
    prop_oneof![
        (1u64..200_000_000_000).prop_map(ModelSize::of_parameters),
        (1u64..200_000_000_000).prop_map(|count| ModelSize { parameters: Parameters::named(count), shape: None }),
        Just(model("Qwen2.5-7B")),
        Just(model("Mixtral-8x7B")),
        Just(model("GPT-2")),
    ]
}

const STATES: [&str; 4] = ["weights", "gradients", "master weights", "optimizer states"];

fn states_on_device(planned: &MomentPlan) -> Amount {
    let of_states = |part: &&Component| part.place == Place::Device && STATES.contains(&part.name.as_str());
    planned.components.iter().filter(of_states).map(|part| part.bytes).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sums_equal_their_parts(model in any_model(), layout in any_layout()) {
        for planned in Plan::of(&model, &layout).moments {
            let all: Amount = planned.components.iter().map(|part| part.bytes).sum();
            prop_assert_eq!(planned.device() + planned.host(), all);
            for part in &planned.components {
                prop_assert!(part.bytes.low.0 >= 0 && part.bytes.low <= part.bytes.high, "{:?}", part);
            }
        }
    }

    #[test]
    fn more_shards_never_need_more_of_a_device(model in any_model(), layout in any_layout(), more in 2u64..5) {
        let layout = Layout { offload: Offload::default(), ..layout };
        let wider = Layout { cluster: Cluster { nodes: layout.cluster.nodes * more, ..layout.cluster.clone() }, ..layout.clone() };
        let (few, many) = (Plan::of(&model, &layout), Plan::of(&model, &wider));
        for (few, many) in few.moments.iter().zip(&many.moments) {
            prop_assert!(states_on_device(many).high <= states_on_device(few).high);
            prop_assert!(states_on_device(many).low <= states_on_device(few).low);
        }
    }

    #[test]
    fn a_higher_stage_never_needs_more_of_a_device(model in any_model(), layout in any_layout()) {
        let stages = [Sharding::Replicated, Sharding::ZeroOne, Sharding::ZeroTwo, Sharding::ZeroThree];
        let states = stages.map(|sharding| {
            let layout = Layout { sharding, offload: Offload::default(), ..layout.clone() };
            Plan::of(&model, &layout).at(Moment::OptimizerStep).map(states_on_device).unwrap_or_default().high
        });
        prop_assert!(states.is_sorted_by(|lower, higher| higher <= lower), "{:?}", states);
    }

    /// Bytes that offload takes off a node's devices are on its host. The host also holds fp32 gradients and copies,
    /// which a device has only during a step.
    #[test]
    fn offload_moves_and_never_creates(model in any_model(), layout in any_layout(), stage in 1usize..4) {
        let of = |optimizer| Layout {
            sharding: SHARDINGS[stage],
            precision: Precision::MIXED,
            offload: Offload { optimizer, ..Offload::default() },
            ..layout.clone()
        };
        let plan = |optimizer| Plan::of(&model, &of(optimizer));
        let (resident, offloaded) = (plan(None), plan(Some(OptimizerOffload::to_cpu(false))));
        let moved = ["master weights", "optimizer states"];
        let sum = |plan: &Plan, on_host: bool| -> i128 {
            let parts = plan.at(Moment::OptimizerStep).map(|planned| planned.components.clone()).unwrap_or_default();
            let counts = |part: &&Component| {
                part.place.is_host() == on_host && moved.contains(&part.name.as_str())
            };
            let bytes: i128 = parts.iter().filter(counts).map(|part| part.bytes.high.0).sum();
            if on_host { bytes } else { bytes * layout.cluster.devices_per_node as i128 }
        };
        prop_assert_eq!(sum(&resident, false), sum(&offloaded, true));
        prop_assert_eq!(sum(&offloaded, false), 0);
        // Pinning only rounds up, by less than a factor of two.
        let pinned = plan(Some(OptimizerOffload::to_cpu(true)));
        for moment in [Moment::AfterPrepare, Moment::OptimizerStep] {
            let of = |plan: &Plan| plan.at(moment).map(|planned| planned.host().high.0).unwrap_or_default();
            prop_assert!(of(&offloaded) <= of(&pinned) && of(&pinned) <= 2 * of(&offloaded));
        }
    }

    #[test]
    fn part_of_the_states_offloaded_adds_up(model in any_model(), layout in any_layout(), ratio in 0.0..=1.0f64) {
        let of = |optimizer| Layout {
            sharding: Sharding::ZeroThree,
            offload: Offload { optimizer, sub_group_size: 1_000_000, ..Offload::default() },
            ..layout.clone()
        };
        let states = |optimizer| -> i128 {
            let plan = Plan::of(&model, &of(optimizer));
            let parts = plan.at(Moment::OptimizerStep).map(|planned| planned.components.clone()).unwrap_or_default();
            let each = |part: &Component| match part.place {
                Place::Device => part.bytes.high.0 * layout.cluster.devices_per_node as i128,
                _ => part.bytes.high.0,
            };
            parts.iter().filter(|part| part.name == "optimizer states").map(each).sum()
        };
        let offload = OptimizerOffload { ratio, ..OptimizerOffload::to_cpu(false) };
        // Where a model's size is a range, more parameters may leave fewer for the host. Each end of the host's range,
        // and of a device's, then differs by less than one group.
        let Parameters { low, high } = model.parameters;
        let group = if low == high { 0 } else { 1_000_000 * 16 * layout.cluster.devices_per_node as i128 };
        let (whole, parts) = (states(None), states(Some(offload)));
        prop_assert!((whole..=whole + group).contains(&parts), "{} {}", whole, parts);
    }

    /// A match prints as the requested amount does.
    #[test]
    fn matches_have_the_requested_size(model in any_model(), layout in any_layout(), mib in 1i128..200_000) {
        let text = format!("{:.2} GiB", mib as f64 / 1024.0);
        let requested = Requested::printed(Bytes(mib << 20), &text, Rounding::Caching);
        for found in size_matches(&requested, &model, &layout) {
            let asked = Rounding::Caching.asked(found.bytes);
            prop_assert!((requested.low..=requested.high).contains(&asked), "{} as {:?}", text, found);
            prop_assert!((0.0..0.5).contains(&found.chance));
        }
    }

    #[test]
    fn explanations_hold(model in any_model(), layout in any_layout(), at in 0usize..40, share in 0.5..1.5f64) {
        let plan = Plan::of(&model, &layout);
        let planned = &plan.moments[at % plan.moments.len()];
        let observed = Bytes((planned.device().middle().0 as f64 * share) as i128);
        for found in explain(observed, Observed::Device, None, &plan) {
            let sum: Amount = found.parts.iter().map(|part| part.bytes).sum();
            prop_assert_eq!(sum, found.sum);
            prop_assert!(found.error.abs() <= 0.05);
        }
    }
}
