use std::collections::HashMap;
use std::sync::Arc;

use crate::model::{Event, LineNumber, Location, OtherFailureName, Setting, What};

/// Where the events of a case stand, so that what one asks of all others costs the same however many there are.
#[derive(Default)]
pub(super) struct Index {
    inputs: HashMap<Arc<str>, Input>,
}

/// What stands where in one input.
#[derive(Default)]
struct Input {
    /// The tracebacks, by their lines.
    stacks: Vec<(LineNumber, usize)>,
    /// The first one whose exception stands on a line.
    ends: HashMap<LineNumber, usize>,
    /// The last line on which something ended or failed.
    last_end: Option<LineNumber>,
    /// The first on which a scheduler said that it ends the job.
    scheduler: Option<LineNumber>,
    /// The first on which something else had failed.
    failure: Option<LineNumber>,
    /// How many signs of progress it shows.
    progress: Option<u64>,
}

impl Index {
    /// Of `events`, in which those of one input stand in the order of its lines, and of what was going on at the ends of inputs.
    pub fn of(events: &[Event], endings: &[(Arc<str>, Setting)]) -> Index {
        let mut index = Index::default();
        for (number, event) in events.iter().enumerate() {
            let (path, line) = (&event.at.location.path, event.at.location.line);
            match &event.what {
                What::Traceback(stack) => {
                    let input = index.input(path);
                    input.stacks.push((line, number));
                    input.last_end = input.last_end.max(Some(line));
                    if let Some(exception) = &stack.exception {
                        input.ends.entry(exception.location.line).or_insert(number);
                        input.failure = earlier(input.failure, exception.location.line);
                    }
                }
                What::Failure(failure) => {
                    let input = index.input(path);
                    input.last_end = input.last_end.max(Some(line));
                    input.failure = earlier(input.failure, line);
                    if matches!(failure.name, OtherFailureName::TimeLimit | OtherFailureName::Preempted) {
                        input.scheduler = earlier(input.scheduler, line);
                    }
                }
                What::Death(_) => {
                    let input = index.input(path);
                    input.last_end = input.last_end.max(Some(line));
                }
                What::Shortage(_) | What::Memory { .. } | What::Finished | What::Notice => {}
            }
        }
        for (path, ending) in endings {
            index.input(path).progress.get_or_insert(ending.progress);
        }
        index.inputs.values_mut().for_each(|input| input.stacks.sort_unstable());
        index
    }

    fn input(&mut self, path: &Arc<str>) -> &mut Input {
        self.inputs.entry(Arc::clone(path)).or_default()
    }

    fn at(&self, place: &Location) -> Option<&Input> {
        self.inputs.get(&place.path)
    }

    /// The tracebacks at most so many lines from `place`, as numbers of events, by their lines.
    pub fn stacks_near(&self, place: &Location, lines: u64) -> impl Iterator<Item = usize> + '_ {
        let (from, to) = (place.line.0.saturating_sub(lines), place.line.0.saturating_add(lines));
        let stacks = self.at(place).map_or(&[][..], |input| &input.stacks);
        let first = stacks.partition_point(|(line, _)| line.0 < from);
        stacks[first..].iter().take_while(move |(line, _)| line.0 <= to).map(|(_, number)| *number)
    }

    /// The first traceback whose exception stands on the line of `place`.
    pub fn stack_ending(&self, place: &Location) -> Option<usize> {
        self.at(place)?.ends.get(&place.line).copied()
    }

    /// How many signs of progress the input of `place` shows, where it is a job's own.
    pub fn progress(&self, place: &Location) -> u64 {
        self.at(place).and_then(|input| input.progress).unwrap_or(0)
    }

    /// Whether something ended or failed on a later line than that of `place`.
    pub fn ends_after(&self, place: &Location) -> bool {
        self.at(place).and_then(|input| input.last_end).is_some_and(|line| line > place.line)
    }

    /// Whether a scheduler had said on an earlier line that it ends the job.
    pub fn scheduler_before(&self, place: &Location) -> bool {
        self.at(place).and_then(|input| input.scheduler).is_some_and(|line| line < place.line)
    }

    /// Whether something else had failed on an earlier line.
    pub fn failed_before(&self, place: &Location) -> bool {
        self.at(place).and_then(|input| input.failure).is_some_and(|line| line < place.line)
    }
}

fn earlier(known: Option<LineNumber>, line: LineNumber) -> Option<LineNumber> {
    Some(known.map_or(line, |known| known.min(line)))
}
