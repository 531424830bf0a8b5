//! Any bytes as a log: no panic, nothing cited that does not stand there, and the same report however the bytes are cut.

#![no_main]

use std::io::Cursor;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::report::Length;
use oomdoc::internal::source::Input;
use oomdoc::{Language, Options};
use serde_json::Value;

static KNOWLEDGE: LazyLock<Arc<Knowledge>> =
    LazyLock::new(|| Arc::new(Knowledge::shipped().expect("the shipped rules load")));

fuzz_target!(|bytes: &[u8]| {
    let whole = analyze(bytes, 1 << 24);
    let lossy = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = lossy.split('\n').collect();
    check(&whole, &lines);
    assert_eq!(whole, analyze(bytes, 64), "the report depends on the blocks");
});

fn analyze(bytes: &[u8], block: usize) -> Value {
    let input = Input::new("job.log", Cursor::new(bytes.to_vec())).expect("bytes in memory can be read");
    let options = Options::default().block(block).knowledge(Arc::clone(&KNOWLEDGE));
    let report = oomdoc::internal::analyze_inputs(vec![input], Vec::new(), &options).expect("a log gives a report");
    oomdoc::internal::report::text(&report, Language::Zh, Length::Full, None);
    serde_json::to_value(report).expect("a report can be written")
}

fn check(value: &Value, lines: &[&str]) {
    match value {
        Value::Object(fields) => {
            let source = fields.get("source").unwrap_or(value);
            if let (Some(line), Some(text)) = (source.get("line").and_then(Value::as_u64), fields.get("text")) {
                let text = text.as_str().unwrap_or_default();
                let stands = lines.get(line as usize - 1).is_some_and(|line| line.contains(text));
                assert!(stands, "line {line} does not say {text:?}");
            }
            fields.values().for_each(|field| check(field, lines));
        }
        Value::Array(items) => items.iter().for_each(|item| check(item, lines)),
        _ => {}
    }
}
