//! Any text as a file of rules: it loads or says what is wrong with it, and what loads can be asked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oomdoc::internal::diagnosis::{Scene, calibrate, rank};
use oomdoc::internal::facts::{Facts, Value};
use oomdoc::internal::knowledge::Knowledge;
use oomdoc::model::{Kind, Phase};
use oomdoc::internal::signals::Signals;

const FILES: &[&str] = &[
    "causes/cause.toml",
    "knobs/framework.toml",
    "models/family.toml",
    "phases/framework.toml",
    "frameworks.toml",
    "levers.toml",
    "facts/job.toml",
    "calibration.toml",
    "messages/producer.toml",
    "signs/words.toml",
    "ranking/words.toml",
    "ranking/phases.toml",
    "ranking/causes.toml",
];

fuzz_target!(|input: (u8, &str)| {
    let (file, text) = (FILES[usize::from(input.0) % FILES.len()], input.1);
    let Ok(knowledge) = Knowledge::load([(file, text)].into_iter()) else { return };
    let mut facts = Facts::default();
    facts.say("kind", Value::Text("gpu_oom".to_owned()));
    let (signals, likely) = (Signals::default(), [(Phase::Backward, 0.7), (Phase::Forward, 0.3)]);
    let scene = Scene::new(&facts, &likely, &signals, &knowledge.ranking.causes);
    for kind in Kind::ALL {
        let (mut ranked, _) = rank(&knowledge.causes, *kind, &scene);
        calibrate(&mut ranked, *kind, &knowledge.calibration);
        let sum: f64 = ranked.iter().map(|found| found.confidence).sum();
        assert!(ranked.is_empty() || sum < 1.0 + 1e-6, "confidences sum to {sum}");
    }
    knowledge.models.find(text);
});
