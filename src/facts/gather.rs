//! Gathers the facts of one incident under the names that rules use.

use super::known::{Facts, Value};
use super::{pairs, prints, trend};
use crate::incident::FoundIncident;
use crate::knowledge::{Inputs, below_installation};
use crate::model::{
    Citation, Consumer, FactValue, Figure, FigureName, Incident, InputSummary, Job, Kind, Location, PhaseFinding, Role,
};

/// The facts of `found`, of its job and of the inputs; `told` are facts that the user states.
pub fn gather(found: &FoundIncident, job: &Job, inputs: &[InputSummary], told: &[(String, Value)]) -> Facts {
    let mut facts = Facts::default();
    // The user's facts have precedence over those found.
    for (name, value) in told {
        facts.say(name, value.clone());
    }
    let incident = &found.incident;
    facts.cite("kind", text(incident.kind.as_str()), incident.evidence.iter().take(1).cloned().collect());
    stack(&mut facts, found);
    facts.cite(
        "message",
        text(found.messages.first().map_or("", |message| &message.words)),
        found.messages.iter().take(1).map(|message| message.at.clone()).collect(),
    );
    facts.say("progress.count", Value::Number(found.progress as f64));
    if let Some((done, total)) = found.bar.filter(|(done, total)| 0 < *done && done < total) {
        facts.say("progress.share", Value::Number(done as f64 / total as f64));
    }
    // A bar that is full is of a pass that ended, such as loading; one of so many counts bytes.
    let counts_steps = |(done, total): &(u64, u64)| done < total && *total < 10_000_000;
    let done = found.bar.filter(counts_steps).map_or(0, |(done, _)| done);
    facts.say("progress.done_steps", Value::Number(done as f64));
    facts.say("progress.steps", Value::Number(found.steps as f64));
    facts.say("progress.first", Value::Flag(found.is_first));
    figures(&mut facts, incident);
    device(&mut facts, incident);
    holders(&mut facts, found);
    for fact in &found.facts {
        let value = match &fact.value {
            FactValue::Text(words) => text(words),
            FactValue::Number(number) => Value::Number(*number),
        };
        facts.cite(fact.key, value, vec![fact.at.clone()]);
    }
    left_gpu(&mut facts, incident);
    of_job(&mut facts, job);
    trend::add(&mut facts, incident);
    prints::add(&mut facts, &found.around);
    pairs::add(&mut facts, &found.around);
    facts.say("inputs.kernel", Value::Flag(inputs.iter().any(|input| input.role == Role::Kernel)));
    facts.say(
        "inputs.config",
        Value::Flag(inputs.iter().any(|input| matches!(input.role, Role::Config | Role::Script))),
    );
    facts.say("inputs.snapshot", Value::Flag(inputs.iter().any(|input| input.role == Role::Snapshot)));
    let producers: Vec<&String> = inputs.iter().flat_map(|input| &input.producers).collect();
    for (name, producer) in [("inputs.record", "recorder"), ("inputs.watch", "watch")] {
        facts.say(name, Value::Flag(producers.iter().any(|known| *known == producer)));
    }
    facts.say("producers", Value::List(producers.into_iter().map(|producer| text(producer)).collect()));
    facts
}

/// `smi.left_gpu`, the device that is full in a table for which somebody asked at a prompt behind the failure: the program had ended, so that
/// others hold it.
fn left_gpu(facts: &mut Facts, incident: &Incident) {
    let place = |name| facts.get(name).and_then(|known| known.cites.first()).map(|cite| cite.location.clone());
    let (Some(proof), Some(asked), Some(table)) =
        (incident.evidence.last().map(|cite| cite.location.clone()), place("smi.asked"), place("smi.full_gpu"))
    else {
        return;
    };
    let is_behind = |one: &Location, other: &Location| one.path == other.path && one.line < other.line;
    let own = incident.victim.device.map(f64::from);
    let is_its = |value: &Value| own.is_none_or(|own| *value == Value::Number(own));
    if is_behind(&proof, &asked)
        && is_behind(&asked, &table)
        && let Some(known) = facts.get("smi.full_gpu").filter(|known| is_its(&known.value)).cloned()
    {
        facts.cite("smi.left_gpu", known.value, known.cites);
    }
}

/// Adds the phase, once it is decided.
pub fn state_phase(facts: &mut Facts, phase: &PhaseFinding) {
    facts.cite("phase", text(phase.name.as_str()), phase.evidence.clone());
    facts.say("site", text(phase.site.as_deref().unwrap_or_default()));
    facts.say("phase_confidence", Value::Number(phase.confidence));
}

fn text(words: &str) -> Value {
    Value::Text(words.to_owned())
}

/// `frames`: `file:function`, outermost first; `code`: the source lines; `failing.code`: the innermost one, if no library's.
fn stack(facts: &mut Facts, found: &FoundIncident) {
    let frames = found
        .frames
        .iter()
        .map(|frame| text(&format!("{}:{}", below_installation(&frame.file.replace('\\', "/")), frame.function)))
        .collect();
    let last: Vec<Citation> = found.frames.last().map(|frame| frame.at.clone()).into_iter().collect();
    facts.cite("frames", Value::List(frames), last.clone());
    facts.cite("code", Value::List(found.frames.iter().map(|frame| text(&frame.code)).collect()), last.clone());
    // Empty where a library failed, so that conditions can ask for what it does not say.
    let is_own = |file: &str| below_installation(file) == file;
    let own = found.frames.last().filter(|frame| is_own(&frame.file.replace('\\', "/")));
    let cites = if own.is_some() { last } else { Vec::new() };
    facts.cite("failing.code", text(own.map_or("", |frame| &frame.code)), cites);
}

fn figures(facts: &mut Facts, incident: &Incident) {
    for figure in &incident.figures {
        if let Some(amount) = figure.amount() {
            facts.cite(&format!("figures.{}", figure.name), Value::Number(amount), cites(figure));
        }
    }
}

fn cites(figure: &Figure) -> Vec<Citation> {
    match &figure.derived {
        Some(derived) => derived.from.clone(),
        None => vec![Citation::new(figure.source.clone(), figure.text.clone())],
    }
}

/// The device's memory in the same facts for every version of the message. `gpu.held` is what PyTorch holds, `gpu.unused` the unused part
/// of it, `gpu.own` what the process holds, and `gpu.others` what is in use beyond that. `gpu.limit` is the capacity or the process' own
/// limit if that is lower, and `gpu.room` what the process could still have taken.
fn device(facts: &mut Facts, incident: &Incident) {
    let figure =
        |name: FigureName| incident.figures.iter().find(|figure| figure.name == name && figure.bytes.is_some());
    let known = |names: &[FigureName], sum: fn(&[f64]) -> f64| {
        let figures: Option<Vec<&Figure>> = names.iter().map(|name| figure(*name)).collect();
        let figures = figures?;
        let amounts: Vec<f64> = figures.iter().filter_map(|figure| figure.amount()).collect();
        Some((sum(&amounts), figures.into_iter().flat_map(cites).collect::<Vec<_>>()))
    };
    use FigureName::{
        GpuAllowed, GpuFree, GpuTotal, ProcessInUse, Requested, TorchAllocated, TorchReserved, TorchReservedUnallocated,
    };
    let first = |amounts: &[f64]| amounts[0];
    let difference = |amounts: &[f64]| (amounts[0] - amounts[1]).max(0.0);
    let held =
        known(&[TorchReserved], first).or_else(|| known(&[TorchAllocated, TorchReservedUnallocated], |a| a[0] + a[1]));
    // A reserve beyond the device beside less that is allocated was misread by whoever copied it: `3764 GiB` for `37.64 GiB`.
    let amount = |name| figure(name).and_then(Figure::amount);
    let figures = amount(TorchReserved).zip(amount(TorchAllocated)).zip(amount(GpuTotal));
    let is_torn = figures.is_some_and(|((reserved, allocated), total)| reserved > total && allocated <= total);
    let unused =
        known(&[TorchReservedUnallocated], first).or_else(|| known(&[TorchReserved, TorchAllocated], difference));
    let unused = unused.filter(|_| !is_torn);
    // In a container a process may not find itself among those on the device: "this process has 0 bytes memory in use".
    let told = known(&[ProcessInUse], first);
    let beside_torch = told.clone().zip(held.clone()).map(|((told, mut from), (held, more))| {
        from.extend(more);
        ((told - held).max(0.0), from)
    });
    let own = told.filter(|(told, _)| held.as_ref().is_none_or(|(held, _)| told >= held)).or_else(|| held.clone());
    let taken = known(&[GpuTotal, GpuFree], difference);
    let others = own.clone().zip(taken).map(|((own, mut from), (taken, more))| {
        from.extend(more);
        ((taken - own).max(0.0), from)
    });
    let least = |amounts: &[f64]| amounts.iter().copied().fold(f64::INFINITY, f64::min);
    let limit = known(&[GpuTotal, GpuAllowed], least).or_else(|| known(&[GpuTotal], first));
    let unclaimed = known(&[GpuAllowed], first).zip(held.clone().or_else(|| own.clone()));
    let room = known(&[GpuFree], first).map(|(free, mut from)| match unclaimed {
        Some(((allowed, more), (held, _))) if allowed - held < free => {
            from.extend(more);
            ((allowed - held).max(0.0), from)
        }
        _ => (free, from),
    });
    let share = known(&[Requested, GpuTotal], |amounts| amounts[0] / amounts[1].max(1.0));
    for (name, value) in [
        ("gpu.held", held),
        ("gpu.unused", unused),
        ("gpu.own", own),
        ("gpu.others", others),
        ("gpu.beside_torch", beside_torch),
        ("gpu.limit", limit),
        ("gpu.room", room),
        ("gpu.requested_share", share),
    ] {
        if let Some((amount, from)) = value {
            facts.cite(name, Value::Number(amount), from);
        }
    }
}

/// What `consumer` is called: a message may only number it, and a table of the same processes name it.
fn called(incident: &Incident, consumer: &Consumer) -> String {
    let is_same = |other: &&Consumer| consumer.pid.is_some() && other.pid == consumer.pid;
    let others = incident.consumers.iter().filter(is_same);
    let role = std::iter::once(consumer).chain(others).find_map(|consumer| consumer.role.clone());
    role.or_else(|| consumer.pid.map(|pid| format!("pid {pid}"))).unwrap_or_default()
}

/// Adds facts about victims and consumers.
fn holders(facts: &mut Facts, found: &FoundIncident) {
    let incident = &found.incident;
    let in_python = found.frames.iter().any(|frame| frame.file.ends_with(".py"));
    let number = |count: usize| Value::Number(count as f64);
    facts.say("victims.count", number(incident.victims.len()));
    let ranks = incident.victims.iter().filter(|victim| victim.rank.is_some() || victim.device.is_some()).count();
    facts.say("victims.ranks_count", number(ranks));
    if let Some(role) = &incident.victim.role {
        facts.say("victims.role", text(role));
    }
    if let Some(rank) = incident.victim.rank {
        facts.say("victims.rank", Value::Number(f64::from(rank)));
    }
    if let Some(host) = &incident.victim.host {
        facts.say("victims.host", text(host));
    }
    facts.say("consumers.count", number(incident.consumers.len()));
    let cite = |consumer: &Consumer| Citation::new(consumer.source.clone(), consumer.text.clone());
    if let Some(largest) = incident.consumers.first() {
        let sum: i128 = incident.consumers.iter().map(|consumer| consumer.bytes.0).sum();
        let cites: Vec<Citation> = incident.consumers.iter().take(3).map(cite).collect();
        facts.cite("consumers.sum", Value::Number(sum as f64), cites);
        facts.cite("consumers.largest", Value::Number(largest.bytes.0 as f64), vec![cite(largest)]);
        if let Some(pid) = largest.pid {
            facts.cite("consumers.largest_pid", Value::Number(f64::from(pid)), vec![cite(largest)]);
        }
        facts.cite("consumers.largest_role", text(&called(incident, largest)), vec![cite(largest)]);
        // Memory of others can be told only if the victim is known.
        if incident.victim.pid.is_some() {
            facts.say("consumers.others", Value::Number(held_by(incident, in_python, |of_job| !of_job)));
        }
    }
    facts.say("consumers.own", Value::Number(held_by(incident, in_python, |of_job| of_job)));
    // Of all or of none: who ends some of them has not freed the device.
    // Who may be the job itself, in a program that embeds Python, is not to be ended.
    let pids: Option<Vec<String>> = strangers(incident, false).map(|other| Some(other.pid?.to_string())).collect();
    if let Some(pids) = pids.filter(|pids| !pids.is_empty()) {
        facts.say("consumers.stranger_pids", text(&pids.join(" ")));
    }
    let other_programs = strangers(incident, in_python).filter(|other| in_python && is_other_program(other));
    facts.say("consumers.other_programs", Value::Number(other_programs.map(|other| other.bytes.0 as f64).sum()));
    facts.say("consumers.alike", number(alike(incident)));
    let kin = kin(incident);
    facts.say("consumers.kin", number(kin.len()));
    facts.say("consumers.kin_sum", Value::Number(kin.iter().map(|one| one.bytes.0 as f64).sum()));
    let other_ranks = others(incident, in_python, |_| true).filter(|consumer| consumer.is_rank());
    facts.say("consumers.ranks", Value::Number(other_ranks.map(|rank| rank.bytes.0 as f64).sum()));
    let roles = incident.consumers.iter().filter_map(|consumer| consumer.role.as_deref()).map(text).collect();
    facts.say("consumers.roles", Value::List(roles));
}

/// The consumers that are called like the largest one, which they include.
fn kin(incident: &Incident) -> Vec<&Consumer> {
    let Some(role) = incident.consumers.first().and_then(|largest| largest.role.as_deref()) else { return Vec::new() };
    incident.consumers.iter().filter(|consumer| consumer.role.as_deref() == Some(role)).collect()
}

/// How many consumers other than the victim hold as much as the largest of them, within a fiftieth: ranks of one job, as a rule.
fn alike(incident: &Incident) -> usize {
    let others =
        incident.consumers.iter().filter(|consumer| consumer.pid != incident.victim.pid).map(|other| other.bytes.0);
    let largest = others.clone().max().unwrap_or_default();
    others.filter(|bytes| largest - bytes <= largest / 50).count()
}

/// Bytes of all consumers except the victim that are `wanted`, a predicate on whether one belongs to the victim's job. It does if it has the
/// victim's name, if both are Ray workers, or, on a device, if the job's own log knows its pid.
fn held_by(incident: &Incident, in_python: bool, wanted: fn(bool) -> bool) -> f64 {
    others(incident, in_python, wanted).map(|other| other.bytes.0 as f64).sum()
}

/// The processes on the device that ran out which are not the job's. A table names each by its command, a process of the job or not: one
/// that leaves less than was asked for at once, by a program that held nothing yet, was there before it.
fn strangers(incident: &Incident, in_python: bool) -> impl Iterator<Item = &Consumer> {
    use FigureName::{GpuFree, GpuTotal, ProcessInUse, Requested, TorchAllocated, TorchReserved};
    /// What is asked for at its start by a program that shares out the whole device.
    const LEAST_SHARE: i128 = 4;
    let figure = |name| incident.figures.iter().find(|figure| figure.name == name)?.bytes;
    let holds = [ProcessInUse, TorchAllocated, TorchReserved].into_iter().any(|name| figure(name).is_some());
    let started = figure(GpuTotal).zip(figure(Requested)).filter(|_| !holds && figure(GpuFree).is_some());
    let started = started.filter(|(total, requested)| requested.0 > total.0 / LEAST_SHARE);
    let was_there = move |other: &Consumer| {
        started.is_some_and(|(total, requested)| !other.is_rank() && other.bytes.0 + requested.0 > total.0)
    };
    let unnamed = others(incident, in_python, |of_job| !of_job);
    let named = others(incident, in_python, |of_job| of_job).filter(move |other| was_there(other));
    unnamed.chain(named).filter(|_| incident.kind == Kind::GpuOom)
}

/// Whether a table names it by the path of a program that runs no Python, so that it is none of a job that is written in it:
/// `./PlateServer`, `/usr/lib/xorg/Xorg`. Python's processes may give themselves a title, which is no path.
fn is_other_program(consumer: &Consumer) -> bool {
    let command = consumer.role.as_deref().and_then(|role| role.split_whitespace().next()).unwrap_or_default();
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_path = command.starts_with(['/', '.']) && !command.starts_with("..") || command.contains('\\');
    is_path && !name.is_empty() && !Inputs::shipped().name.runs_python(command)
}

/// The consumers except the victim that are `wanted`.
fn others(incident: &Incident, in_python: bool, wanted: fn(bool) -> bool) -> impl Iterator<Item = &Consumer> {
    let victim = incident.victim.pid;
    let killed = incident.consumers.iter().find(|consumer| victim.is_some() && consumer.pid == victim);
    let name = killed.and_then(|consumer| consumer.role.as_ref());
    let of_ray = killed.is_some_and(Consumer::is_worker_of_ray);
    let on_device = incident.kind == Kind::GpuOom;
    let of_job = move |other: &Consumer| {
        let may_be_own = on_device && !(in_python && is_other_program(other)) || other.role.as_ref() == name;
        other.role.is_some() && !other.is_rank() && may_be_own || of_ray && other.is_worker_of_ray()
    };
    let own = incident.itself();
    let is_other = move |consumer: &&Consumer| {
        (victim.is_none() || consumer.pid != victim) && !own.is_some_and(|own| std::ptr::eq(own, *consumer))
    };
    incident.consumers.iter().filter(is_other).filter(move |other| wanted(of_job(other)))
}

/// Adds the facts of a job that do not depend on an incident.
pub fn of_job(facts: &mut Facts, job: &Job) {
    facts.say("job.framework", text(job.framework.as_deref().unwrap_or("unknown")));
    let words = [("job.version", &job.framework_version), ("job.model", &job.model), ("job.gpu", &job.gpu)];
    for (name, value) in words {
        if let Some(value) = value {
            facts.say(name, text(value));
        }
    }
    let numbers = [
        ("job.parameters", job.parameters.map(|count| count as f64)),
        ("job.world_size", job.world_size.map(f64::from)),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            facts.say(name, Value::Number(value));
        }
    }
}
