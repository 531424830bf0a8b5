//! Any text as a condition or as a sentence with names in it: an answer, never a panic.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use oomdoc::Language;
use oomdoc::internal::facts::{Evaluator, Facts, Value, names};

static FACTS: LazyLock<Facts> = LazyLock::new(|| {
    let mut facts = Facts::default();
    facts.say("kind", Value::Text("gpu_oom".to_owned()));
    facts.say("figures.requested", Value::Number(2.0 * (1u64 << 30) as f64));
    facts.say("inputs.kernel", Value::Flag(false));
    facts.say("frames", Value::List(vec![Value::Text("torch/optim/adam.py:step".to_owned())]));
    facts
});

fuzz_target!(|condition: &str| {
    for name in names(condition) {
        assert!(condition.contains(name));
    }
    Evaluator::new(&FACTS).ask(condition);
    FACTS.fill(condition, Language::En);
});
