//! `docker inspect --format '{{.State.OOMKilled}} {{.State.ExitCode}}' trainer`, and what it answered on the next line.

use super::{DOCKER, PRODUCER, Record, killed, statement};
use crate::model::Event;

/// The field that the template asks for.
const FIELD: &str = ".State.OOMKilled";

/// Whether `line` is such a command: it only asks.
pub(super) fn asks(line: &str) -> bool {
    template(line).is_some_and(|template| template.contains(FIELD))
}

/// What was answered; nothing is known if no answer stands below the command.
pub(super) fn event(record: &Record) -> Option<Event> {
    let (question, answer) = record.text().split_once('\n').unwrap_or((record.text(), ""));
    let answer = answer.trim();
    let value = template(question).and_then(|template| value(template, answer));
    let mut event = match value {
        Some("true") => killed(record, answer, None),
        Some(_) => statement::notice(record, PRODUCER, answer),
        None => return Some(statement::notice(record, PRODUCER, question)),
    };
    event.producer = DOCKER;
    event.facts.extend(value.map(|value| record.fact("container.oom_killed", value)));
    Some(event)
}

/// The template within the quotes of the command.
fn template(line: &str) -> Option<&str> {
    let begin = line.find("{{")?;
    let end = line.rfind("}}").filter(|end| *end > begin)?;
    // `OOM={{.State.OOMKilled}}`: what stands before it belongs to it, up to the quote.
    let begin = line[..begin].rfind(['\'', '"', ' ']).map_or(begin, |quote| quote + 1);
    Some(&line[begin..end + 2])
}

/// The word of `answer` at the place of the field in `template`: `true` or `false`.
fn value<'a>(template: &str, answer: &'a str) -> Option<&'a str> {
    let (place, word) = template.split_whitespace().enumerate().find(|(_, word)| word.contains(FIELD))?;
    let (before, behind) = word.split_once("{{")?;
    let behind = behind.split_once("}}")?.1;
    let word = answer.split_whitespace().nth(place)?.strip_prefix(before)?;
    let value = if behind.is_empty() { word } else { word.strip_suffix(behind)? };
    matches!(value, "true" | "false").then_some(value)
}
