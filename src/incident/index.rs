use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::other_failure::is_own_fault;
use super::root::CONTAINERS;
use crate::model::{Event, Exit, Kind, LineContext, LineNumber, Location, OtherFailureName, What};

/// Those who kill what does not end in time once they have stopped it.
const STOPPERS: [&str; 3] = ["slurm", "scheduler", "platform"];
/// The producer of what `ray stop` and Ray's jobs say of their end.
const RAY_STOP: &str = "ray_job";
/// The fact by which a message says that the whole job is done.
const FINISHED: &str = "trainer.finished";
/// The facts by which messages say that the program tries again with less.
const TRIES_AGAIN: [&str; 2] = ["trainer.tries_again", "elastic.retry"];

/// An index of the events of a case by input and line, so that a look-up costs the same however many events there are.
#[derive(Default)]
pub(super) struct Index {
    inputs: HashMap<Arc<str>, Input>,
    /// The events that say that the whole job is done.
    finishes: Vec<usize>,
}

/// The index of one input.
#[derive(Default)]
struct Input {
    /// The tracebacks as line and event index, sorted by line.
    stacks: Vec<(LineNumber, usize)>,
    /// By line the first traceback whose exception stands there.
    ends: HashMap<LineNumber, usize>,
    /// The last line that states an end or a failure.
    last_end: Option<LineNumber>,
    /// By line what ran out there.
    shortages: HashMap<LineNumber, Kind>,
    /// By rank the first line on which it says that it waited too long for its peers, and ends itself.
    timeouts: HashMap<u32, LineNumber>,
    /// The first event that states a failed assertion in a kernel.
    assertion: Option<usize>,
    /// The last line on which a trainer or launcher says that the whole job is done.
    last_finish: Option<LineNumber>,
    /// The lines on which the program says that it tries again.
    again: Vec<LineNumber>,
    /// The first line on which a scheduler announces that it ends the job.
    scheduler: Option<LineNumber>,
    /// The first line that states another failure.
    failure: Option<LineNumber>,
    /// The lines that state a fault that the program made itself, in order.
    faults: Vec<LineNumber>,
    /// The number of signs of progress in it.
    progress: Option<u64>,
    /// The failures and ends, as event indices in the order of lines. Exceptions that report a shortage are none.
    others: Vec<usize>,
}

impl Index {
    /// The index of `events`, sorted by line within each input, and of the contexts at the ends of inputs.
    pub fn of(events: &[Event], endings: &[(Arc<str>, LineContext)]) -> Index {
        let mut index = Index::default();
        let shortages: HashSet<&Location> =
            events.iter().filter(|event| is_shortage(event)).map(|event| &event.at.location).collect();
        for (number, event) in events.iter().enumerate() {
            let (path, line) = (&event.at.location.path, event.at.location.line);
            if event.facts.iter().any(|fact| fact.key == FINISHED) {
                index.finishes.push(number);
                let input = index.input(path);
                input.last_finish = input.last_finish.max(Some(line));
            }
            if !is_shortage(event) && event.facts.iter().any(|fact| TRIES_AGAIN.contains(&fact.key)) {
                index.input(path).again.push(line);
            }
            match &event.what {
                What::Traceback(stack) => {
                    let input = index.input(path);
                    if stack.exception.as_ref().is_some_and(|exception| !shortages.contains(&exception.location)) {
                        input.others.push(number);
                    }
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
                    input.others.push(number);
                    if !failure.follows && is_own_fault(failure.name) {
                        input.faults.push(line);
                    }
                    if failure.name == OtherFailureName::NcclTimeout
                        && let Some(rank) = event.origin.rank
                    {
                        input.timeouts.entry(rank).or_insert(line);
                    }
                    if failure.name == OtherFailureName::DeviceAssert {
                        input.assertion.get_or_insert(number);
                    }
                    // Who stops Ray does so because something has ended; what dies behind it is stopped all the same.
                    let is_cancelled = failure.name == OtherFailureName::Cancelled
                        && (!failure.follows && STOPPERS.contains(&event.producer) || event.producer == RAY_STOP);
                    let is_lost = failure.name == OtherFailureName::LostNode && !failure.follows;
                    let is_over = matches!(
                        failure.name,
                        OtherFailureName::TimeLimit | OtherFailureName::Preempted | OtherFailureName::ProbeFailed
                    ) || is_lost;
                    // The kubelet evicts who fills the disk.
                    let is_evicted = failure.name == OtherFailureName::DiskFull && event.producer == CONTAINERS;
                    if is_cancelled || is_over || is_evicted {
                        input.scheduler = earlier(input.scheduler, line);
                    }
                }
                What::Death(death) if death.exit == Exit::Code(0) => {}
                What::Death(_) => {
                    let input = index.input(path);
                    input.last_end = input.last_end.max(Some(line));
                }
                What::Shortage(shortage) => drop(index.input(path).shortages.insert(line, shortage.kind)),
                What::Memory { .. } | What::Finished | What::Notice => {}
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

    /// The tracebacks at most `lines` lines from `place`, as event indices, sorted by line.
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

    /// The number of signs of progress in the input of `place`, if it is a job's own log.
    pub fn progress(&self, place: &Location) -> u64 {
        self.at(place).and_then(|input| input.progress).unwrap_or(0)
    }

    /// Whether a later line than that of `place` states an end or a failure.
    pub fn ends_after(&self, place: &Location) -> bool {
        self.at(place).and_then(|input| input.last_end).is_some_and(|line| line > place.line)
    }

    /// What ran out by the message at `place`, if it is one of a shortage.
    pub fn shortage_at(&self, place: &Location) -> Option<Kind> {
        self.at(place)?.shortages.get(&place.line).copied()
    }

    /// The first line behind that of `place` on which the program says that it tries again.
    pub fn tries_again_after(&self, place: &Location) -> Option<LineNumber> {
        let again = &self.at(place)?.again;
        again.get(again.partition_point(|line| *line <= place.line)).copied()
    }

    /// The first failure behind the line of `place` that is no shortage, as an event index.
    pub fn fails_otherwise_after(&self, place: &Location, events: &[Event]) -> Option<usize> {
        let others = self.at(place).map_or(&[][..], |input| &input.others);
        let next = others.partition_point(|number| events[*number].at.location.line <= place.line);
        others.get(next).copied()
    }

    /// The events that say that the whole job is done, as indices.
    pub fn finishes(&self) -> &[usize] {
        &self.finishes
    }

    /// Whether a later line than that of `place` says that the whole job is done, and no end or failure follows it.
    pub fn finished_after(&self, place: &Location) -> bool {
        let finish =
            |input: &Input| input.last_finish.filter(|line| *line > place.line && Some(*line) > input.last_end);
        self.at(place).and_then(finish).is_some()
    }

    /// Whether a scheduler announced on an earlier line that it ends the job.
    pub fn scheduler_before(&self, place: &Location) -> bool {
        self.at(place).and_then(|input| input.scheduler).is_some_and(|line| line < place.line)
    }

    /// Whether the input of `place` says anywhere that a scheduler stopped the job: lists of containers and events have no order in time.
    pub fn scheduler_beside(&self, place: &Location) -> bool {
        self.at(place).is_some_and(|input| input.scheduler.is_some())
    }

    /// The first event of the input of `place` that states a failed assertion in a kernel.
    pub fn assertion(&self, place: &Location) -> Option<usize> {
        self.at(place)?.assertion
    }

    /// Whether on an earlier line `rank` waited too long for its peers: it then ends itself. Of a process whose rank nobody knows, whether
    /// any did: the process that is missed was gone long before, and those that vanish now end themselves.
    pub fn timed_out_before(&self, rank: Option<u32>, place: &Location) -> bool {
        /// Beyond so many lines a job may have gone on.
        const BESIDE: u64 = 3;
        let Some(input) = self.at(place) else { return false };
        let is_before = |line: &LineNumber| *line < place.line;
        match rank {
            Some(rank) => input.timeouts.get(&rank).is_some_and(is_before),
            None => input
                .timeouts
                .values()
                .filter(|line| is_before(line) && place.line.0 - line.0 <= BESIDE)
                .any(|line| !input.again.iter().any(|again| line < again && *again < place.line)),
        }
    }

    /// Whether a traceback ends, at most `lines` lines before `place`, in a fault that the program made itself.
    pub fn raised_fault_before(&self, place: &Location, lines: u64) -> bool {
        let Some(Input { faults, ends, .. }) = self.at(place) else { return false };
        let first = faults.partition_point(|line| line.0 < place.line.0.saturating_sub(lines));
        faults[first..].iter().take_while(|line| **line < place.line).any(|line| ends.contains_key(line))
    }

    /// Whether an earlier line states another failure.
    pub fn failed_before(&self, place: &Location) -> bool {
        self.at(place).and_then(|input| input.failure).is_some_and(|line| line < place.line)
    }
}

/// Whether `event` reports that memory ran short.
pub(super) fn is_shortage(event: &Event) -> bool {
    matches!(event.what, What::Shortage(_))
}

fn earlier(known: Option<LineNumber>, line: LineNumber) -> Option<LineNumber> {
    Some(known.map_or(line, |known| known.min(line)))
}
