//! Ray's object store, whose pages lie in `/dev/shm`.
//!
//! Mirrors `python/ray/exceptions.py`, `src/ray/core_worker/store_provider/plasma_store_provider.cc`,
//! `src/ray/object_manager/plasma/create_request_queue.cc` and `object_lifecycle_manager.cc`, `python/ray/_private/services.py` (1.0–2.60).
//! The raylet writes MB for MiB; Python writes GB for 10^9 bytes. Because the store spills to disk, a full disk matters only once the store
//! is full too.

use nom::bytes::complete::{tag, take_while1};
use nom::combinator::opt;
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::text::{self, Giga, Size, read};
use super::{Example, Follow, Grammar, Joint, Line, Record};
use crate::model::{Event, FigureName, Kind, Severity, Shortage, Victim, What};

/// See the module.
pub struct RayStore;

/// The second line of an exception.
const REMARKS: [&str; 2] = ["The local object store is full of", "The object cannot be created because"];

impl Grammar for RayStore {
    fn producer(&self) -> &'static str {
        "ray_store"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &[
            "ObjectStoreFullError",
            "OutOfDiskError",
            "local object store is full",
            "Failed to create object",
            "exceeds /dev/shm size",
        ]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "ObjectStoreFullError: ",
            "OutOfDiskError: ",
            "local object store is full",
            "Failed to create object ",
            "Shared memory store full, falling back",
            "exceeds /dev/shm size",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let is_remark = |line: &str| REMARKS.iter().any(|remark| line.trim_start().starts_with(remark));
        let goes_on = record.text().contains("Error: ") && record.len() == 1 && !is_remark(record.text());
        match goes_on && is_remark(next.body()) {
            true => Follow::Join(Joint::Line),
            false => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let readings = [refused, raylet, spilled_over, too_small, exception];
        readings.iter().find_map(|reading| reading(record)).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// `Failed to put object d217… in object store because it is full. Object size is 516884584 bytes.`
fn refused(record: &Record) -> Option<Event> {
    let (message, _) = unquoted(record.text(), "Failed to put object ")?;
    let label = tag(" in object store because it is full. Object size is ");
    let (id, size) = read(preceded((tag("Failed to put object "),), (terminated(id, label), text::size)), message)?;
    let mut event = shortage(record, message, Severity::Fatal, &[(FigureName::Requested, size)]);
    event.facts.push(record.fact("ray.object_id", id));
    Some(event)
}

/// `Out-of-memory: Failed to create object 00ff… of size 20MB`, `Out-of-disk: …`
fn raylet(record: &Record) -> Option<Event> {
    let (message, before) = unquoted(record.text(), "Failed to create object ")?;
    if !before.ends_with("Out-of-memory: ") && !before.ends_with("Out-of-disk: ") {
        return None;
    }
    let (id, size) =
        read(preceded(tag("Failed to create object "), (terminated(id, tag(" of size ")), text::size)), message)?;
    let mut event = shortage(record, message, Severity::Fatal, &[(FigureName::Requested, size)]);
    event.facts.push(record.fact("ray.object_id", id));
    Some(event)
}

/// `Shared memory store full, falling back to allocating from filesystem: 105906176`
fn spilled_over(record: &Record) -> Option<Event> {
    let (message, _) =
        unquoted(record.text(), "Shared memory store full, falling back to allocating from filesystem: ")?;
    let (_, size) = text::plain_bytes(text::after(message, "filesystem: ")?).ok()?;
    Some(shortage(record, message, Severity::Swallowed, &[(FigureName::Requested, size)]))
}

/// `The configured object store size (15.03 GB) exceeds /dev/shm size (4.50 GB).`
fn too_small(record: &Record) -> Option<Event> {
    let (message, _) = unquoted(record.text(), "The configured object store size (")?;
    let size = || delimited(tag("("), |text| text::sized(text, Giga::Decimal), tag(")"));
    let label = |words: &'static str| preceded(tag(words), size());
    let sizes = (label("The configured object store size "), label(" exceeds /dev/shm size "));
    let (wanted, available) = read(sizes, message)?;
    let figures = [(FigureName::Requested, wanted), (FigureName::Other, available)];
    Some(shortage(record, message, Severity::Fatal, &figures))
}

/// An exception that says only that the store is full, or its second line alone.
fn exception(record: &Record) -> Option<Event> {
    const HEADS: [&str; 2] = ["ObjectStoreFullError: ", "OutOfDiskError: "];
    const PROOFS: [&str; 2] =
        ["The local object store is full of objects", "because the local object store is full and the local disk's"];
    let text = record.text();
    let begins = |head: &str| {
        let (message, _) = unquoted(text, head)?;
        message[head.len()..].starts_with(char::is_uppercase).then_some(message)
    };
    let proof = |words: &str| unquoted(text, words).map(|(message, _)| message);
    let head = HEADS.iter().find_map(|head| begins(head));
    let message = head.or_else(|| PROOFS.iter().find_map(|words| proof(words)))?;
    Some(shortage(record, message, Severity::Fatal, &[]))
}

/// `text` from `words` on and the text before it; `None` if code or prose quotes the words.
fn unquoted<'a>(text: &'a str, words: &str) -> Option<(&'a str, &'a str)> {
    let (before, message) = text.split_at(text.find(words)?);
    (!text::is_quoted(text, message)).then_some((message, before))
}

/// `d2173ce3…`, `ObjectID(d2173ce3…)`
fn id(text: &str) -> IResult<&str, &str> {
    let digits = take_while1(|c: char| c.is_ascii_hexdigit());
    delimited(opt(tag("ObjectID(")), digits, opt(tag(")"))).parse(text)
}

/// A shortage that `message` states. The raylet refuses on behalf of a process that it does not name.
fn shortage(record: &Record, message: &str, severity: Severity, figures: &[(FigureName, Size<'_>)]) -> Event {
    let origin = record.origin();
    let is_raylet = ["raylet", "gcs_server"].iter().any(|daemon| origin.role.as_deref() == Some(*daemon));
    let victim = match is_raylet {
        true => Victim { host: origin.host.clone(), ..Victim::default() },
        false => origin.process(),
    };
    let shortage = Shortage { kind: Kind::ShmExhausted, severity, victims: vec![victim], consumers: Vec::new() };
    let mut event = record.event("ray_store", message, What::Shortage(shortage));
    event.evidence = record.cites(message).split_off(1);
    event.figures = figures.iter().filter_map(|(name, size)| record.figure(*name, *size)).collect();
    event
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "ray 1.0–2.60, an object that does not fit",
        text: "ray.exceptions.ObjectStoreFullError: Failed to put object d2173ce386c38dcb in object store because it is full. Object size is 314572800 bytes.\nThe local object store is full of objects that are still in scope and cannot be evicted. Tip: Use the `ray memory` command to list active objects in the cluster.",
        states: &[("kind", "shm_exhausted"), ("requested", "314572800 bytes"), ("ray.object_id", "d2173ce386c38dcb")],
    },
    Example {
        version: "ray 0.8–1.0",
        text: "(Learner pid=812) ray.exceptions.ObjectStoreFullError: Failed to put object ffff4b84 after 6 attempts. Plasma store status:",
        states: &[("kind", "shm_exhausted"), ("pid", "812"), ("role", "Learner")],
    },
    Example {
        version: "ray 1.9–2.60, the disk is full as well",
        text: "ray.exceptions.OutOfDiskError: Local disk is full\nThe object cannot be created because the local object store is full and the local disk's utilization is over capacity (95% by default).Tip: Use `df` on this node to check disk usage and `ray memory` to check object store memory usage.",
        states: &[("kind", "shm_exhausted")],
    },
    Example {
        version: "ray 1.3–2.0, raylet.out",
        text: "[2026-03-01 10:33:59,864 I 83 92] (raylet) create_request_queue.cc:119: Out-of-memory: Failed to create object 00ffffff01000000 of size 512MB",
        states: &[("kind", "shm_exhausted"), ("requested", "512MB"), ("ray.object_id", "00ffffff01000000")],
    },
    Example {
        version: "ray 2.1–2.60, raylet.out",
        text: "[2026-03-01 10:33:59,864 I 83 92] (raylet) create_request_queue.cc:96: Out-of-disk: Failed to create object 00ffffff01000000 of size 20MB",
        states: &[("kind", "shm_exhausted"), ("requested", "20MB")],
    },
    Example {
        version: "ray 1.13–2.60, raylet.out, from disk instead",
        text: "[2026-03-01 10:33:58,120 I 83 92] (raylet) object_lifecycle_manager.cc:206: Shared memory store full, falling back to allocating from filesystem: 105906176\n[2026-03-01 10:33:59,864 I 83 92] (raylet) create_request_queue.cc:96: Out-of-disk: Failed to create object 00ffffff01000000 of size 101MB",
        states: &[
            ("swallowed", "shm_exhausted"),
            ("requested", "105906176"),
            ("kind", "shm_exhausted"),
            ("requested", "101MB"),
        ],
    },
    Example {
        version: "ray 1.0–2.60, /dev/shm too small to start",
        text: "ValueError: The configured object store size (15.032385536 GB) exceeds /dev/shm size (4.500000768 GB). This will harm performance. Consider deleting files in /dev/shm or increasing its size with --shm-size in Docker. To ignore this warning, set RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE=1.",
        states: &[("kind", "shm_exhausted"), ("requested", "15.032385536 GB"), ("other", "4.500000768 GB")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Bytes;
    use crate::parse::testing;

    #[test]
    fn units_are_those_of_whoever_speaks() {
        let requested = |text: &str| testing::read(text.as_bytes())[0].figures[0].bytes;
        assert_eq!(requested(EXAMPLES[3].text), Some(Bytes(512 << 20)));
        assert_eq!(requested(EXAMPLES[6].text), Some(Bytes(15_032_385_536)));
    }

    #[test]
    fn the_second_line_of_an_exception_is_no_event_of_its_own() {
        assert_eq!(testing::read(EXAMPLES[0].text.as_bytes()).len(), 1);
        assert_eq!(testing::read(EXAMPLES[2].text.as_bytes()).len(), 1);
        let second = EXAMPLES[2].text.lines().nth(1).unwrap_or_default();
        assert_eq!(testing::read(second.as_bytes()).len(), 1);
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "    except ray.exceptions.ObjectStoreFullError:",
            "        raise ObjectStoreFullError(message)",
            "            \"The local object store is full of objects that are still in \"",
            "  RAY_LOG(INFO) << \"Out-of-disk: Failed to create object \"",
            "raise ValueError('The configured object store size ({} GB) exceeds /dev/shm size ({} GB). This will harm')",
            "ErrImagePull: Failed to create object 12ab of size 20MB",
        ] {
            assert!(testing::read(line.as_bytes()).is_empty(), "{line}");
        }
    }
}
