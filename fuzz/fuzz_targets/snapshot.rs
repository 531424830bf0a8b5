//! Any bytes as a memory snapshot: it is read or refused, and what is read can be summed up.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use oomdoc::internal::knowledge::Knowledge;
use oomdoc::internal::snapshot::{Recording, Shown};

static KNOWLEDGE: LazyLock<Option<Knowledge>> = LazyLock::new(|| Knowledge::shipped().ok());

fuzz_target!(|bytes: &[u8]| {
    let (Ok(recording), Some(knowledge)) = (Recording::read("snapshot.pickle".into(), bytes), &*KNOWLEDGE) else { return };
    assert!(Shown::of(&recording, knowledge).is_ok());
});
