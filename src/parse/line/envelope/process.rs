//! Prefixes that name the process that wrote a line: ranks, workers, tasks.

use nom::branch::alt;
use nom::bytes::complete::{tag, tag_no_case, take_until, take_while_m_n, take_while1};
use nom::character::complete::{char, one_of, space0, space1, u32 as integer};
use nom::combinator::{map_opt, not, opt, peek, verify};
use nom::number::complete::double;
use nom::sequence::{delimited, pair, preceded, terminated};
use nom::{IResult, Parser};

use super::super::clock;
use super::{Facts, blank, host_name, source_place, success};
use crate::model::{Clock, Timestamp};

/// `[rank3]:`, `[Rank 3] `, `[RANK:3] `, `[rank: 3] `, and the same with a pid: `[PID:4711] `.
pub(super) fn rank(text: &str) -> IResult<&str, Facts<'_>> {
    let joint = take_while_m_n(0, 2, |c: char| matches!(c, ' ' | ':' | '-' | '='));
    let label = alt((tag_no_case("rank").map(|_| true), tag_no_case("pid").map(|_| false)));
    let (rest, (is_rank, _, number)) =
        delimited(char('['), (label, joint, integer), (char(']'), opt(char(':')))).parse(text)?;
    let (rest, _) = opt(char(' ')).parse(rest)?;
    let facts = match is_rank {
        true => Facts { rank: Some(number), ..Facts::default() },
        false => Facts { pid: Some(number), ..Facts::default() },
    };
    Ok((rest, facts))
}

/// `[watch node7 rank 3 pid 4711] ` of `oomdoc.watch` (docs/watch.md).
pub(super) fn watched(text: &str) -> IResult<&str, Facts<'_>> {
    let process = (host_name, opt(preceded(tag(" rank "), integer)), preceded(tag(" pid "), integer));
    let (rest, (host, rank, pid)) = delimited(tag("[watch "), process, char(']')).parse(text)?;
    // The blanks after the first one are the writer's indentation.
    let (rest, _) = opt(char(' ')).parse(rest)?;
    Ok((rest, Facts { host: Some(host), rank, pid: Some(pid), ..Facts::default() }))
}

/// `[node1:3]: ` of launchers that name the machine and the rank.
pub(super) fn host_and_rank(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, (host, _, rank)) = delimited(char('['), (host_name, char(':'), integer), tag("]:")).parse(text)?;
    let (rest, _) = blank(rest)?;
    Ok((rest, Facts { host: Some(host), rank: Some(rank), ..Facts::default() }))
}

/// `Rank 3: `, `rank=3 `, `rank:  3 | `, without brackets, and `rank3]: ` of which the first character was lost.
pub(super) fn bare_rank(text: &str) -> IResult<&str, Facts<'_>> {
    let spoken = delimited((alt((tag("Rank"), tag("rank"), tag("RANK"))), opt(char(' '))), integer, char(':'));
    let set = preceded(alt((tag("rank="), tag("Rank="))), integer);
    let column = delimited((tag("rank:"), space1), integer, tag(" |"));
    let cut = delimited(tag("rank"), integer, tag("]:"));
    let (rest, rank) = terminated(alt((spoken, set, column, cut)), char(' ')).parse(text)?;
    Ok((rest, Facts { rank: Some(rank), ..Facts::default() }))
}

/// `[default0]:`, `[trainer1]:` of `torchrun --tee`; the number is the rank within the node.
pub(super) fn launcher_rank(text: &str) -> IResult<&str, Facts<'_>> {
    let role = take_while1(|c: char| c.is_ascii_lowercase());
    let (rest, (_, local_rank)) = delimited(char('['), pair(role, integer), tag("]:")).parse(text)?;
    let (rest, _) = opt(char(' ')).parse(rest)?;
    Ok((rest, Facts { local_rank: Some(local_rank), ..Facts::default() }))
}

/// `traceback : ` of torch elastic's summary, if a whole traceback follows it.
pub(super) fn torchrun_label(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, _) = (tag("traceback"), space1, tag(": "), peek(tag("Traceback"))).parse(text)?;
    success(rest)
}

/// `3: ` of `srun --label`: the task's number, which is the rank if each task is one rank. ` 3: 0xb7a940 node::Abort()` is a stack of Node's.
pub(super) fn slurm_task(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, rank) = terminated(
        map_opt(take_while_m_n(1, 4, |c: char| c.is_ascii_digit()), |task: &str| task.parse().ok()),
        (tag(": "), not(tag("0x"))),
    )
    .parse(text)?;
    Ok((rest, Facts { rank: Some(rank), ..Facts::default() }))
}

/// `1,3<stderr>:` and `[1,3]<stderr>:` of mpirun.
pub(super) fn mpi_task(text: &str) -> IResult<&str, Facts<'_>> {
    let stream = delimited(char('<'), alt((tag("stdout"), tag("stderr"))), tag(">:"));
    let task = preceded((integer, char(',')), integer);
    let (rest, rank) = terminated(delimited(opt(char('[')), task, opt(char(']'))), stream).parse(text)?;
    Ok((rest, Facts { rank: Some(rank), ..Facts::default() }))
}

/// `node3:1234:5678 [2] ` of NCCL: host, pid, thread, device.
pub(super) fn nccl(text: &str) -> IResult<&str, Facts<'_>> {
    let device = delimited(tag(" ["), integer, tag("] "));
    let (rest, (host, _, pid, _, _, index)) =
        (host_name, char(':'), integer, char(':'), integer, device).parse(text)?;
    Ok((rest, Facts { host: Some(host), pid: Some(pid), local_rank: Some(index), ..Facts::default() }))
}

/// `[3] NCCL INFO `, `[3] include/shm.h:28 NCCL WARN `: the same where a copy lost its beginning.
pub(super) fn nccl_device(text: &str) -> IResult<&str, Facts<'_>> {
    let device = delimited(char('['), integer, tag("] "));
    let place = opt(terminated(source_place, char(' ')));
    let (rest, index) = terminated(device, peek((place, tag("NCCL ")))).parse(text)?;
    Ok((rest, Facts { local_rank: Some(index), ..Facts::default() }))
}

/// `[1420] FATAL: ` of PostgreSQL, behind the time: the process, then the level, which stays.
pub(super) fn pid_before_level(text: &str) -> IResult<&str, Facts<'_>> {
    const LEVELS: &[&str] = &["PANIC", "FATAL", "ERROR", "WARNING", "NOTICE", "HINT", "DETAIL", "STATEMENT", "LOG"];
    let level = verify(take_until(":"), |level: &str| LEVELS.contains(&level));
    let (rest, pid) = terminated(delimited(char('['), integer, tag("] ")), peek(level)).parse(text)?;
    Ok((rest, Facts { pid: Some(pid), ..Facts::default() }))
}

/// `[1693470012.118450] [node3:2218 :0]        mm_posix.c:226  UCX  ERROR ` of UCX: seconds since 1970, host, process, thread.
pub(super) fn ucx(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, seconds) = delimited(char('['), double, tag("] ")).parse(text)?;
    let inside = (host_name, char(':'), integer, space0, char(':'), integer);
    let (rest, (host, _, pid, ..)) = delimited(char('['), inside, char(']')).parse(rest)?;
    let (rest, place) = delimited(space1, source_place, (space1, tag("UCX"), space1)).parse(rest)?;
    let time = Some(Timestamp { clock: Clock::Wall, seconds });
    Ok((rest, Facts { host: Some(host), pid: Some(pid), place: Some(place), time, ..Facts::default() }))
}

/// `[0]PETSC ERROR: `: the rank; the words stay.
pub(super) fn petsc(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, rank) = delimited(char('['), integer, (char(']'), peek(tag("PETSC ERROR: ")))).parse(text)?;
    Ok((rest, Facts { rank: Some(rank), ..Facts::default() }))
}

/// `4711:M 03 Jun 2022 10:14:33.902 # ` of Redis: process and role, the time, the level.
pub(super) fn redis(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, pid) = terminated(integer, (char(':'), one_of("MCSX"), char(' '))).parse(text)?;
    let date = (
        integer,
        char(' '),
        take_while_m_n(3, 3, |c: char| c.is_ascii_alphabetic()),
        char(' '),
        opt((integer, char(' '))),
    );
    let (rest, _) = (date, clock::time_of_day, char(' '), one_of("#*-."), char(' ')).parse(rest)?;
    Ok((rest, Facts { pid: Some(pid), ..Facts::default() }))
}

/// A process between parentheses: a worker of vLLM or an actor or daemon of Ray. Every line of some logs begins so, and it is taken apart by
/// hand because that costs a tenth of trying one alternative after the other.
pub(super) fn in_parentheses(text: &str) -> IResult<&str, Facts<'_>> {
    let read = || {
        let (inside, rest) = text.strip_prefix('(')?.split_once(')')?;
        let (rest, ()) = blank(rest).ok()?;
        if let Some(facts) = vllm_worker(inside) {
            return Some((rest, facts));
        }
        let facts = ray_actor(inside)?;
        let (rest, _) = opt((opt(char(' ')), source_place, tag(": "))).parse(rest).ok()?;
        Some((rest, facts))
    };
    read().ok_or_else(|| nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::Alt)))
}

/// `WorkerDict pid=12345, ip=10.0.0.7`, `DTensorPolicyWorker[rank=6] pid=12345`, `pid=12345`, `raylet`, `raylet, ip=10.0.0.7`, `autoscaler +1h2m3s`
fn ray_actor(inside: &str) -> Option<Facts<'_>> {
    const LONGEST: usize = 120;
    let is_of_address = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':');
    let field = |text, name: &str| {
        let (before, value): (&str, &str) = str::rsplit_once(text, '=')?;
        Some((before.strip_suffix(name)?, value))
    };
    let (process, host) = match field(inside, ", ip") {
        Some((_, ip)) if ip.is_empty() || !ip.bytes().all(is_of_address) => return None,
        Some((process, ip)) => (process, Some(ip)),
        None => (inside, None),
    };
    if let Some((name, pid)) = field(process, "pid") {
        let pid = Some(number(pid)?);
        if name.is_empty() {
            return Some(Facts { pid, host, ..Facts::default() });
        }
        let name = name.strip_suffix(' ')?;
        // Anything longer or with a bracket is a sentence in parentheses.
        let role = name.split(' ').next().filter(|_| name.len() <= LONGEST && !name.contains('('))?;
        // An actor may call itself by its rank as well.
        let (role, rank) = match role.strip_suffix(']').and_then(|role| role.split_once("[rank=")) {
            Some((role, rank)) => (role, Some(number(rank)?)),
            None => (role, None),
        };
        return Some(Facts { role: Some(role), rank, pid, host, ..Facts::default() });
    }
    let is_daemon = matches!(process, "raylet" | "gcs_server" | "autoscaler") || process.starts_with("autoscaler ");
    let role = process.split(' ').next().filter(|_| is_daemon && process.len() <= LONGEST);
    Some(Facts { role: Some(role?), host, ..Facts::default() })
}

/// A number of digits alone.
fn number(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|_| !digits.starts_with('+'))
}

/// `VllmWorker rank=1 pid=2978`, `TrainWorker, rank=2, pid=45`, `Worker_TP1 pid=2978`; `EngineCore_DP0 pid=6880` reads as a Ray actor.
fn vllm_worker(inside: &str) -> Option<Facts<'_>> {
    let end = inside.find(|c: char| !c.is_alphanumeric() && c != '_').filter(|end| *end > 0)?;
    let (role, mut rest) = inside.split_at(end);
    let mut field = |name: &str| {
        let value = rest.strip_prefix(',').unwrap_or(rest).strip_prefix(name)?;
        let (value, behind) = value.split_at(value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len()));
        rest = behind;
        number(value)
    };
    let (told, pid) = (field(" rank="), field(" pid="));
    if !rest.is_empty() || told.is_none() && !(role.starts_with("Worker_") && pid.is_some()) {
        return None;
    }
    Some(Facts { role: Some(role), rank: told.or_else(|| rank_of_worker(role)), pid, ..Facts::default() })
}

/// The global rank in a worker's name of vLLM, `Worker_DP1_PP0_TP3_EP7`: the worker's place in each group of more than one. Expert parallelism
/// spans data and tensor parallelism. In a later stage or replica the rank depends on the size of the groups, which the name does not give.
/// vllm `v1/executor/multiproc_executor.py:setup_proc_title_and_log_prefix` (0.11–0.33).
fn rank_of_worker(name: &str) -> Option<u32> {
    let place = |group: &str| {
        name.split('_').find_map(|part| part.strip_prefix(group)).and_then(|digits| digits.parse::<u32>().ok())
    };
    let (data, stage, tensor, expert) = (place("DP"), place("PP"), place("TP"), place("EP"));
    if place("PCP").is_some_and(|context| context > 0) {
        return None;
    }
    match (data.unwrap_or(0), stage.unwrap_or(0)) {
        (0, 0) => tensor.or(expert).or(stage).or(data),
        (_, 0) if stage.is_none() => expert.or(data.filter(|_| tensor.is_none())),
        (0, _) if tensor.is_none() && expert.is_none() => stage,
        _ => None,
    }
}
