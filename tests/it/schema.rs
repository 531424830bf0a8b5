//! The shipped JSON Schemas match the types, and real reports conform to them.

use std::error::Error;
use std::fs;
use std::path::Path;

use oomdoc::Options;
use serde_json::{Value, json};

#[path = "../../examples/schema.rs"]
#[allow(dead_code)]
mod written;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn validator() -> Outcome<jsonschema::Validator> {
    Ok(jsonschema::validator_for(&serde_json::to_value(oomdoc::internal::schema::report())?)?)
}

#[test]
fn the_shipped_schemas_are_up_to_date() -> Outcome {
    let shipped = [
        ("report", "", oomdoc::internal::schema::report()),
        ("estimate", "-- estimate ", oomdoc::internal::schema::estimate()),
        ("oomdoc", "-- oomdoc ", oomdoc::internal::schema::settings()),
    ];
    for (name, argument, of_types) in shipped {
        let shipped = fs::read_to_string(root().join(format!("docs/{name}.schema.json")))?;
        let is_same = shipped == written::render(&of_types)?;
        assert!(is_same, "run `cargo run --example schema {argument}> docs/{name}.schema.json`");
    }
    Ok(())
}

/// The causes that programs reading a report may count on. A name may be added; none is changed or removed.
const CAUSES: [&str; 26] = [
    "activations_too_large",
    "allocator_fault",
    "checkpoint_load_duplication",
    "checkpoint_save_gather",
    "colocated_memory_contention",
    "container_limit_too_small",
    "dataloader_memory",
    "fragmentation",
    "gpu_memory_growth",
    "gpu_shared_with_others",
    "gradients_too_large",
    "host_memory_growth",
    "host_offload_pressure",
    "hugepage_reservation",
    "kv_cache_overcommit",
    "long_sequence_outlier",
    "machine_wide_pressure",
    "object_store_pressure",
    "optimizer_states_on_gpu",
    "pinned_memory_pressure",
    "placement_constraint",
    "rollout_batch_materialised",
    "shm_too_small",
    "too_many_workers",
    "weight_gather_spike",
    "weights_do_not_fit",
];

#[test]
fn shipped_rules_conclude_the_causes_that_readers_of_reports_know() -> Outcome {
    let mut concluded = std::collections::BTreeSet::new();
    for entry in fs::read_dir(root().join("rules/causes"))? {
        let rule: toml::Table = fs::read_to_string(entry?.path())?.parse()?;
        concluded.extend(rule.get("cause").and_then(|cause| cause.as_str()).map(str::to_owned));
    }
    concluded.remove("unknown");
    assert!(concluded.iter().eq(CAUSES.iter()), "{concluded:#?}");
    Ok(())
}

#[cfg(feature = "server")]
#[test]
fn the_shipped_description_of_the_interface_is_up_to_date() -> Outcome {
    let shipped: Value = serde_json::from_str(&fs::read_to_string(root().join("docs/openapi.json"))?)?;
    let is_same = shipped == oomdoc::internal::server::openapi();
    assert!(is_same, "run `cargo run --example schema -- openapi > docs/openapi.json`");
    Ok(())
}

#[test]
fn estimates_keep_to_the_schema() -> Outcome {
    let validator = jsonschema::validator_for(&serde_json::to_value(oomdoc::internal::schema::estimate())?)?;
    let questions: [&[&str]; 4] = [
        &["--model", "8b", "--gpus", "8", "--zero", "3", "--adam-offload"],
        &["--model", "Qwen2.5-7B", "--gpus", "4", "--sequence", "8192", "--micro-batch", "2", "--fit", "24GiB"],
        &["--parameters", "1234567", "--gpus", "1"],
        &["--from", "corpus/llama3-8b-optimizer-step"],
    ];
    for question in questions {
        let mut command = assert_cmd::Command::cargo_bin("oomdoc")?;
        let answer = command.current_dir(root()).args(["estimate", "--format", "json"]).args(question).output()?;
        assert!(answer.status.success(), "{question:?}: {}", String::from_utf8_lossy(&answer.stderr));
        let value: Value = serde_json::from_slice(&answer.stdout)?;
        let faults: Vec<String> =
            validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(faults.is_empty(), "{question:?}: {}", faults.join("\n"));
    }
    Ok(())
}

#[test]
fn reports_keep_to_the_schema() -> Outcome {
    let validator = validator()?;
    for entry in fs::read_dir(root().join("corpus"))? {
        let case = entry?.path();
        if !case.is_dir() || case.ends_with("tools") {
            continue;
        }
        let report = oomdoc::analyze(&[case.display().to_string()], &Options::default())?;
        let value: Value = serde_json::from_str(&oomdoc::internal::report::json(&report)?)?;
        let faults: Vec<String> =
            validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(faults.is_empty(), "{}: {}", case.display(), faults.join("\n"));
    }
    Ok(())
}

#[test]
fn the_schema_refuses_what_is_no_report() -> Outcome {
    let validator = validator()?;
    let log = root().join("corpus/llama3-8b-optimizer-step/job.log");
    let report = oomdoc::analyze(&[log.display().to_string()], &Options::default())?;
    let report = serde_json::to_value(&report)?;
    let harms: [fn(&mut Value); 4] = [
        |report| report["verdict"] = json!("sunday"),
        |report| report["incidents"][0]["figures"][0]["source"]["line"] = json!("first"),
        |report| report["incidents"][0]["timeline"] = Value::Null,
        |report| {
            report.as_object_mut().map(|fields| fields.remove("schema"));
        },
    ];
    assert!(validator.is_valid(&report));
    for (place, harm) in harms.iter().enumerate() {
        let mut harmed = report.clone();
        harm(&mut harmed);
        assert!(!validator.is_valid(&harmed), "harm {place}");
    }
    Ok(())
}
