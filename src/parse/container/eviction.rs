//! Evictions by the kubelet.
//!
//! Mirrors `pkg/kubelet/eviction/helpers.go` (1.12–1.34).

use nom::branch::alt;
use nom::bytes::complete::{tag, take_until};
use nom::combinator::opt;
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};

use super::{PRODUCER, quantity};
use crate::model::{Consumer, Event, FigureName, Kind, OtherFailureName, Severity, Shortage, Victim, What};
use crate::parse::text::{self, Size};
use crate::parse::{Joint, Record, statement};

pub(super) const RESOURCE: &str = "The node was low on resource: ";
pub(super) const CONDITION: &str = "The node had condition: ";
/// Evictions of a pod that filled its part of the disk.
pub(super) const LOCAL_STORAGE: [&str; 2] = [
    "Pod ephemeral local storage usage exceeds the total limit of containers ",
    " exceeded its local ephemeral storage limit ",
];

/// `The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi. Container trainer was using
/// 712Gi, request is 64Gi, has larger consumption of memory. `
pub(super) fn event(record: &Record) -> Option<Event> {
    let text = record.text();
    if LOCAL_STORAGE.iter().any(|words| text.contains(words)) {
        return Some(statement::failure(record, PRODUCER, text::line(text), OtherFailureName::DiskFull));
    }
    let words = [RESOURCE, CONDITION].iter().find_map(|head| text::each(text, head).next()).map(text::line)?;
    let (rest, resource) = resource(words).ok()?;
    // The message may be broken before a container.
    let rest = &text[text::before(text, rest).len()..];
    match resource {
        "memory" | "MemoryPressure" => {}
        "ephemeral-storage" | "nodefs" | "imagefs" | "inodes" | "DiskPressure" => {
            return Some(statement::failure(record, PRODUCER, words, OtherFailureName::DiskFull));
        }
        _ => return Some(statement::failure(record, PRODUCER, words, OtherFailureName::Unknown)),
    }
    let containers: Vec<(&str, Size<'_>, Option<Size<'_>>)> = text::each(rest, "Container ")
        .filter_map(|words| container(words).ok())
        .map(|(_, container)| container)
        .collect();
    let mut consumers: Vec<Consumer> = containers
        .iter()
        .filter_map(|(name, using, _)| {
            let figure = record.figure(FigureName::WorkerUsed, *using)?;
            Some(Consumer {
                pid: None,
                role: Some((*name).to_owned()),
                bytes: figure.bytes?,
                source: figure.source,
                text: figure.text,
            })
        })
        .collect();
    consumers.sort_by_key(|consumer| std::cmp::Reverse(consumer.bytes));
    let role = consumers.first().and_then(|consumer| consumer.role.as_deref()).map(Into::into);
    let victims = vec![Victim { role, ..Victim::default() }];
    let shortage = Shortage { kind: Kind::HostOomUserspace, severity: Severity::Fatal, victims, consumers };
    let mut event = statement::event(record, PRODUCER, words, What::Shortage(shortage));
    for (_, using, request) in containers {
        event.figures.extend(record.figure(FigureName::WorkerUsed, using));
        let fact =
            request.and_then(|size| Some(record.number_fact("container.request", size.text, size.bytes?.0 as f64)));
        event.facts.extend(fact);
    }
    let amount =
        |label| text::after(rest, label).and_then(|rest| quantity(rest.trim_start()).ok()).map(|(_, amount)| amount);
    let threshold = amount("Threshold quantity:");
    event.figures.extend(threshold.and_then(|amount| record.figure(FigureName::NodeThreshold, amount)));
    for (key, amount) in [("node.eviction_threshold", threshold), ("node.available", amount("available:"))] {
        let fact = amount.and_then(|amount| Some(record.number_fact(key, amount.text, amount.bytes?.0 as f64)));
        event.facts.extend(fact);
    }
    Some(event)
}

/// Whether `next` is the rest of the message of which `read` is the beginning, broken before one of its containers.
pub(super) fn goes_on(read: &str, next: &str) -> Option<Joint> {
    let begun = [RESOURCE, CONDITION].iter().find_map(|head| read.find(head))?;
    // YAML folds what stands in quotes at its width.
    let quote = read[..begun].chars().next_back().filter(|c| ['\'', '"'].contains(c));
    let is_folded = quote.is_some_and(|quote| !read[begun..].contains(quote)) && next.starts_with(' ');
    let is_container = next.trim_start().starts_with("Container ") && next.contains(" was using ");
    if is_folded { Some(Joint::Blank) } else { is_container.then_some(Joint::Line) }
}

/// `The node was low on resource: memory.`, `The node had condition: [MemoryPressure].`
fn resource(words: &str) -> IResult<&str, &str> {
    let low = delimited(tag(RESOURCE), take_until("."), tag("."));
    let condition = delimited((tag(CONDITION), tag("[")), take_until("]"), tag("]"));
    alt((low, condition)).parse(words)
}

/// `Container trainer was using 712Gi, request is 64Gi, …`, before 1.27 `…, which exceeds its request of 0.`
fn container(words: &str) -> IResult<&str, (&str, Size<'_>, Option<Size<'_>>)> {
    let name = delimited(tag("Container "), take_until(" was using "), tag(" was using "));
    let request = preceded(alt((tag(", request is "), tag(", which exceeds its request of "))), quantity);
    // The line may be cut off after the first amount.
    (name, quantity, opt(request)).parse(words)
}
