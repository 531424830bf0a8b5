//! The target of a knob: a value, a step from an unknown value, or an amount taken from the log or the memory plan.

use super::{Workbench, turn};
use crate::facts::{Facts, Value};
use crate::knowledge::{Direction, Knob, Language, Launchers, PatchRow, To, Turn, Type};
use crate::launch::{amount, host_by_share, host_memory, host_used};
use crate::model::{Bytes, Change, Phase, Scalar};
use crate::parse::granted;

/// A margin of a tenth over the need, so that slightly higher use does not kill the job again.
const MARGIN: f64 = 1.1;
/// The use at the time of the kill is only a lower limit of the need: a quarter more is a step worth trying.
const FURTHER: f64 = 1.25;
/// Of what is read whole, an unknown part was in memory when it was full: less than twice as much mostly ends the same way.
const OF_A_PART: f64 = 2.0;

/// Hardly a machine has more: where a pass would come to that by its end, it must keep less.
const MOST_AT_THE_END: Bytes = Bytes(4 << 40);

/// Steps that a row takes at once: halved more often, hardly a batch is left.
const MOST_STEPS: f64 = 6.0;

/// The target of a knob.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Goal {
    /// This value.
    Value(String),
    /// At least this value.
    AtLeast(String),
    /// A relative change.
    Step(Change),
    /// An unknown amount more.
    More,
}

impl Goal {
    /// The value to write into a file, if there is one.
    pub fn words(&self) -> Option<&str> {
        match self {
            Goal::Value(words) | Goal::AtLeast(words) => Some(words),
            Goal::Step(_) | Goal::More => None,
        }
    }

    /// The value of the knob's type, as reports show it, or the change that they describe instead.
    pub fn told(&self, knob: &Knob) -> (Option<Scalar>, Option<Change>) {
        match self {
            Goal::Value(words) => (Some(scalar(knob, words)), None),
            Goal::AtLeast(words) => (None, Some(Change::AtLeast(scalar(knob, words)))),
            Goal::Step(step) => (None, Some(step.clone())),
            Goal::More => (None, None),
        }
    }
}

/// `words` as a value of the knob's type.
pub(super) fn scalar(knob: &Knob, words: &str) -> Scalar {
    let number = || match (words.parse::<i64>(), words.parse::<f64>()) {
        (Ok(whole), _) => Some(Scalar::Integer(whole)),
        (_, Ok(number)) if number.is_finite() => Some(Scalar::Number(number)),
        _ => None,
    };
    let flag = || words.to_ascii_lowercase().parse().ok().map(Scalar::Flag);
    let typed = match knob.r#type {
        Type::Flag | Type::Bool => flag(),
        Type::Integer | Type::Number => number(),
        Type::Size | Type::Choice | Type::File | Type::Text => number(),
    };
    typed.unwrap_or_else(|| Scalar::Text(words.to_owned()))
}

/// The target to which `row` turns `knob` from its current value; `None` if it is there already or cannot go as far as
/// necessary.
pub(super) fn goal(
    bench: &Workbench<'_>,
    row: &PatchRow,
    knob: &Knob,
    turn: &Turn,
    from: Option<&str>,
) -> Option<Goal> {
    // A file that is given is edited itself.
    if knob.r#type == Type::File && from.is_some_and(|from| bench.launch.is_given(from)) {
        return None;
    }
    let limit_by = turn.limit_by.as_deref().and_then(|limit| bench.evaluator.compute(limit));
    let limited = limit_by.map(|limit| Turn { limit: Some(limit), ..turn.clone() });
    let turn = limited.as_ref().unwrap_or(turn);
    if let Some(amount) = row.amount.iter().find_map(|amount| bench.evaluator.compute(amount)) {
        return exactly(knob, turn, from, amount).map(Goal::Value);
    }
    match &row.to {
        Some(to) => return bench.facts.fill(to, Language::En).map(Goal::Value),
        None if turn.to == To::Need => return needed(bench, knob, from),
        None if let Some(other) = turn.instead.iter().find(|other| bench.holds(&other.when)) => {
            // What is there already, under either name, makes no more room.
            let usual = match &turn.to {
                To::Value(to) => Some(to.as_str()),
                _ => None,
            };
            let is_there =
                |from: &str| [Some(&*other.to), usual].into_iter().flatten().any(|to| turn::is_at(knob, from, to));
            return (!from.is_some_and(is_there)).then(|| Goal::Value(other.to.clone()));
        }
        None => {}
    }
    if let Some(few) = few(bench, turn, from) {
        return Some(Goal::Value(few));
    }
    // An expression of another kind of amount tells nothing to begin a step from.
    let from = from.filter(|from| !Launchers::shipped().programs.counts_cores(from));
    let steps = row.steps.iter().find_map(|steps| bench.evaluator.compute(steps));
    further(knob, turn, from, steps.map_or(1, |steps| steps.clamp(1.0, MOST_STEPS) as usize))
}

/// The limit `open` where there was none, lowered below the samples that were too long: above them it would change nothing. `None` if
/// they are too short to be cut.
pub(super) fn binding(bench: &Workbench<'_>, knob: &Knob, open: &str) -> Option<String> {
    /// Shorter samples are what people mean to train on.
    const LEAST: f64 = 2048.0;
    let is_length = knob.fact.as_deref() == Some("config.sequence_length");
    let samples = bench.facts.number("requested.sample_tokens").filter(|_| is_length);
    let (Some(samples), Ok(cap)) = (samples, open.parse::<f64>()) else { return Some(open.to_owned()) };
    let cap = std::iter::successors(Some(cap), |cap| Some(cap / 2.0)).take_while(|cap| *cap >= LEAST);
    cap.into_iter().find(|cap| *cap < samples).map(|cap| format!("{cap}"))
}

/// The value in place of one for each core of the machine, which is a number that nobody here knows.
fn few(bench: &Workbench<'_>, turn: &Turn, from: Option<&str>) -> Option<String> {
    let few = bench.knowledge.lever(&turn.name)?.few.as_ref()?;
    let is_lowered = turn.to.direction() == Some(Direction::Lower);
    let is_all = |from: &str| {
        let is_word = few.all.iter().any(|word| from.eq_ignore_ascii_case(word));
        is_word || Launchers::shipped().programs.counts_cores(from)
    };
    // A lever may also turn what holds many: a buffer of so many rows is no process.
    let is_enough = turn.limit.is_none_or(|limit| few.to.parse().is_ok_and(|few: f64| few >= limit));
    (is_lowered && is_enough && from.is_some_and(is_all)).then(|| few.to.to_string())
}

/// The target after so many `steps` of `turn`, or after as many of them as the knob's limit leaves.
fn further(knob: &Knob, turn: &Turn, from: Option<&str>, steps: usize) -> Option<Goal> {
    let first = turn::to(knob, turn, from)?;
    Some((1..steps).fold(first, |goal, _| match (&goal, &turn.to) {
        (Goal::Step(Change::Times(by)), To::Scale(step)) => Goal::Step(Change::Times(by * step)),
        (Goal::Value(value), To::Scale(_)) if from.is_some() => turn::to(knob, turn, Some(value)).unwrap_or(goal),
        _ => goal,
    }))
}

/// `amount` as a value of the knob, rounded to the safe side; `None` if it exceeds the knob's limit.
fn exactly(knob: &Knob, turn: &Turn, from: Option<&str>, amount: f64) -> Option<String> {
    // Of a lever that helps one way only, its step says which.
    let is_raised = match turn.to {
        To::Scale(by) if turn.direction.is_none() => by > 1.0,
        To::Add(by) if turn.direction.is_none() => by > 0.0,
        _ => turn.direction == Some(Direction::Raise),
    };
    let is_beyond = turn.limit.is_some_and(|limit| if is_raised { amount > limit } else { amount < limit });
    // What is set further than that already is not turned back.
    // A negative number stands for all there is.
    let own = from.and_then(|from| from.parse::<f64>().ok()).filter(|from| *from >= 0.0);
    let is_past = own.is_some_and(|from| match is_raised {
        true => from >= amount,
        false => knob.r#type != Type::Size && from <= amount,
    });
    if is_beyond || is_past || amount <= 0.0 {
        return None;
    }
    let rounded = |step: f64| {
        let steps = amount / step;
        if is_raised { (steps - 1e-6).ceil() * step } else { (steps + 1e-6).floor() * step }
    };
    Some(match knob.r#type {
        Type::Integer => format!("{}", rounded(1.0)),
        Type::Size => size(knob, from, amount),
        _ => format!("{}", (rounded(0.01) * 100.0).round() / 100.0),
    })
}

/// The host memory that the job needs, with a margin; if that is unknown, somewhat more than it had. `None` where no limit is set.
fn needed(bench: &Workbench<'_>, knob: &Knob, from: Option<&str>) -> Option<Goal> {
    if from.is_some_and(|from| knob.is_unlimited(from)) {
        return None;
    }
    let (reached, limit) = (reached(bench.facts), host_memory(bench.facts));
    let predicted = bench.prediction.and_then(|prediction| prediction.needs(bench.phase).host);
    // A prediction below the observed use is wrong.
    let need = predicted.map(|need| need.bytes).filter(|need| reached.is_none_or(|reached| *need >= reached));
    let own = from.and_then(|from| amount(knob, from)).filter(|own| *own > Bytes(0));
    // A setting for part of the limit, such as memory per CPU, grows in proportion to the limit.
    let part = match (own, limit) {
        _ if is_whole(knob) || from.is_none() && knob.is_of_site() => Some(1.0),
        // It is all that is known of what was granted.
        (Some(_), None) if reached.is_none() => Some(1.0),
        (Some(own), Some(limit)) if limit > Bytes(0) => Some(own.0 as f64 / limit.0 as f64),
        _ => None,
    };
    let reached = reached.or(limit).or(own);
    // A heap that is full itself says nothing of what stands beside it.
    let is_killed = bench.facts.text("kind") != Some("host_alloc_failure");
    let demand = bench.facts.number("config.host_demand").filter(|_| is_killed).map(|bytes| Bytes(bytes as i128));
    let at_the_end = at_the_end(bench.facts, reached);
    if bench.phase == Phase::Evaluation && at_the_end.is_some_and(|end| end > MOST_AT_THE_END) {
        return None;
    }
    // A number without a unit keeps the unit that its scheduler gives it.
    let bare = from.and_then(|from| from.parse::<f64>().ok()).filter(|_| !is_whole(knob));
    let written = |bytes: Bytes, margin: f64| match bare.zip(limit.filter(|limit| *limit > Bytes(0))) {
        Some((bare, limit)) => Some(format!("{}", (bare * bytes.0 as f64 * margin / limit.0 as f64).ceil())),
        None => part.map(|part| size(knob, from, bytes.0 as f64 * margin * part)),
    };
    let goal = match need {
        Some(need) => written(need, MARGIN).map(Goal::Value),
        None => {
            let is_part = bench.facts.says_yes("job.reads_whole") || holds_copies(bench.facts);
            let further = if is_part { OF_A_PART } else { FURTHER };
            let further = reached.map(|reached| Bytes((reached.0 as f64 * further) as i128));
            // What the job's own settings let it take has its margin.
            further
                .into_iter()
                .chain(demand)
                .chain(of_file(bench.facts))
                .chain(at_the_end)
                .chain(of_weights(bench.facts))
                .max()
                .and_then(|bytes| written(bytes, 1.0))
                .map(Goal::AtLeast)
        }
    };
    let goal = goal.unwrap_or(Goal::More);
    // No node grants more than it has.
    let asked = goal.words().and_then(granted).filter(|_| is_whole(knob));
    if asked.zip(machine(bench.facts)).is_some_and(|(asked, machine)| asked > machine) {
        return None;
    }
    // A setting that is already this high was not the limit that was reached.
    let is_enough = bare.is_none() && own.zip(goal.words().and_then(granted)).is_some_and(|(own, to)| own >= to);
    (!is_enough).then_some(goal)
}

/// Whether each rank and each of its workers gets its own copy of the samples that a data set holds, of which an unknown part was there.
fn holds_copies(facts: &Facts) -> bool {
    let records = facts.get("script.records").map(|records| &records.value);
    let has_workers = facts.number("config.num_workers").is_some_and(|workers| workers > 0.0);
    has_workers && matches!(records, Some(Value::List(records)) if !records.is_empty())
}

/// What a pass that keeps what it has done will hold once it is through, by how far its bar was when it held `reached`.
fn at_the_end(facts: &Facts, reached: Option<Bytes>) -> Option<Bytes> {
    let share = facts.number("progress.share").filter(|_| facts.says_yes("job.fills"))?;
    Some(Bytes((reached?.0 as f64 / share * MARGIN) as i128))
}

/// A table or text takes several times its file's size once it is read; the least of it that is worth a try.
const TIMES_THE_FILE: f64 = 3.0;

/// What it takes to read a file whole whose size a listing of its folder states.
fn of_file(facts: &Facts) -> Option<Bytes> {
    let file =
        facts.number("data.file_size").filter(|_| facts.says_yes("job.reads_whole") || facts.says_yes("job.table"))?;
    Some(Bytes((file * TIMES_THE_FILE) as i128))
}

/// What a process holds beside the weights it loads: its libraries, the context of a device, buffers for reading.
const BESIDE_WEIGHTS: Bytes = Bytes(4 << 30);

/// What it takes to load weights whole into the host's memory, where their model's size is known.
fn of_weights(facts: &Facts) -> Option<Bytes> {
    let weights = facts.number("model.in_16_bit").filter(|_| facts.says_yes("job.loads_whole"))?;
    Some(Bytes((weights * MARGIN) as i128 + BESIDE_WEIGHTS.0))
}

/// The memory of the whole machine, as the kernel states it, or as a share of it is stated beside its amount.
fn machine(facts: &Facts) -> Option<Bytes> {
    // Ray takes the limit of its container for the node's memory.
    let node = || facts.number("figures.node_total").filter(|_| facts.text("kind") == Some("host_oom_kernel"));
    node().map(|bytes| Bytes(bytes as i128)).or_else(|| host_by_share(facts))
}

/// Whether the knob covers all host memory of the job, rather than that per CPU or GPU.
fn is_whole(knob: &Knob) -> bool {
    knob.fact.is_some()
}

/// The memory in use when it ran out, or stated to be needed: a lower limit of the need.
fn reached(facts: &Facts) -> Option<Bytes> {
    // A machine that ran out needs more than it has.
    let is_machine = match facts.text("kind") {
        Some("host_oom_kernel") => true,
        Some("host_oom_userspace") => facts.get("figures.memcg_limit").is_none(),
        _ => false,
    };
    let whole = facts.number("figures.node_total").filter(|_| is_machine);
    // What was asked for at once was asked beside all that was held; many times the machine's memory is a mistake.
    let is_refused = facts.text("kind") == Some("host_alloc_failure");
    let total = facts.number("figures.node_total");
    let asked =
        facts.number("figures.requested").filter(|asked| is_refused && total.is_some_and(|total| *asked < 4.0 * total));
    // What a program says that it will take is as good as taken.
    let held = ["consumers.sum", "figures.memcg_limit", "host.needed"]
        .into_iter()
        .filter_map(|name| facts.number(name))
        .chain(whole)
        .chain(asked);
    let held = held.map(|bytes| Bytes(bytes as i128));
    host_used(facts).into_iter().chain(held).chain(of_all_tasks(facts)).chain(of_all_ranks(facts)).max()
}

/// What all ranks of a node hold that load alike, before any step.
fn of_all_ranks(facts: &Facts) -> Option<Bytes> {
    const LOADS: [&str; 4] = ["model_load", "checkpoint_resume", "setup", "unknown"];
    let is_before = facts.text("phase").is_some_and(|phase| LOADS.contains(&phase));
    let is_first = facts.number("progress.steps").is_none_or(|steps| steps < 1.0);
    let is_alike = facts.says_yes("job.ranks_load_alike");
    facts.number("host.ranks_sum").filter(|_| is_before && is_first && is_alike).map(|bytes| Bytes(bytes as i128))
}

/// What all tasks of a node used together, where the accounting states the largest of them: below a limit that was hit.
fn of_all_tasks(facts: &Facts) -> Option<Bytes> {
    let (tasks, limit) = (facts.number("config.tasks_per_node")?, host_memory(facts)?);
    let used = host_used(facts).filter(|used| *used < limit)?;
    let all = used.0 as f64 * tasks;
    (all > limit.0 as f64).then_some(Bytes(all as i128))
}

/// Amounts below a GiB are rounded to multiples of this.
const SMALL_STEP: Bytes = Bytes(64 << 20);

/// An amount of memory in whole units: the user's unit, else the knob's.
fn size(knob: &Knob, from: Option<&str>, bytes: f64) -> String {
    let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ' ';
    let own = from.map(|from| from.trim_start_matches(digits)).filter(|unit| !unit.is_empty());
    // Less than one of the user's units is written in the knob's.
    let holds = |unit: &&str| granted(&format!("1{unit}")).is_some_and(|one| bytes >= one.0 as f64);
    let own = own.filter(|unit| knob.unit.is_none() || holds(unit));
    let unit = own.or(knob.unit.as_deref()).unwrap_or("GiB");
    let one = granted(&format!("1{unit}")).unwrap_or(Bytes::GIB);
    // Even a limit in MiB is rounded to whole GiB, unless it is far smaller.
    let whole = if bytes > Bytes::GIB.0 as f64 { Bytes::GIB } else { SMALL_STEP };
    let step = (whole.0 as f64 / one.0 as f64).max(1.0);
    let steps = (bytes / (one.0 as f64 * step)).ceil();
    format!("{}{unit}", (steps * step).round())
}
