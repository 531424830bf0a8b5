//! Any text as a configuration: it reads or says why not; an edited one reads again; what is set already stays as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oomdoc::internal::config::{self, Document, Value};
use oomdoc::model::LineNumber;

/// Entries of one document that are edited.
const MOST: usize = 8;

fuzz_target!(|text: &str| {
    config::from_log("job.log", LineNumber::FIRST, text.as_bytes());
    let Ok(document) = Document::read("config", text) else { return };
    for entry in document.entries().iter().take(MOST) {
        for value in [Value::Number(7.0), Value::Bool(true), Value::Text("a b'\"#".to_owned())] {
            let Ok(edited) = document.set(&entry.key, &value) else { continue };
            let again = Document::read_as(document.format(), "config", &edited);
            let again = again.unwrap_or_else(|error| panic!("{} = {value:?}: {error}\n{edited}", entry.key));
            let twice = again.set(&entry.key, &value);
            assert_eq!(twice.as_deref().ok(), Some(&*edited), "{} = {value:?} twice", entry.key);
            config::diff("config", text, &edited);
        }
    }
});
