//! What others put around a line: time stamps of log shippers and kernels, ranks, Ray actors, loggers.
//!
//! Each prefix is a small grammar; they are peeled one after the other, in any stacking, until none fits. What a prefix
//! says becomes a fact of the line. Sources: ray `_private/worker.py:print_worker_logs` (2.60), torch
//! `distributed/elastic/multiprocessing/tail_log.py`, vllm `v1/utils.py` and `logger.py` (0.8–0.33), deepspeed
//! `utils/logging.py`, util-linux `dmesg.c`, systemd `logs-show.c`, the CRI and docker json-file log formats.

#[cfg(test)]
mod tests;

use std::ops::Range;

use memchr::memmem;
use nom::branch::alt;
use nom::bytes::complete::{tag, tag_no_case, take_till, take_until, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, multispace0, one_of, satisfy, space0, space1, u32 as integer};
use nom::combinator::{map_opt, opt, peek, recognize, rest, value, verify};
use nom::multi::many0_count;
use nom::sequence::{delimited, pair, preceded, separated_pair, terminated};
use nom::{IResult, Offset, Parser};

use super::clock;
use crate::model::Timestamp;

/// What the prefixes and suffixes of a line say. Spans are offsets into the line's text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Envelope {
    /// Node name or address.
    pub host: Option<Range<usize>>,
    /// Actor class, engine process, daemon.
    pub role: Option<Range<usize>>,
    /// Global rank.
    pub rank: Option<u32>,
    /// Rank within the node.
    pub local_rank: Option<u32>,
    /// Process id.
    pub pid: Option<u32>,
    /// The source file and line that its logger names: `core.py:330`.
    pub place: Option<Range<usize>>,
    /// When the line was written; of several stamps the innermost, which is the writer's own.
    pub time: Option<Timestamp>,
    /// How many more times Ray saw the line.
    pub repeated: u64,
    /// The line itself.
    pub body: Range<usize>,
}

/// What one prefix says.
#[derive(Debug, Clone, Copy, Default)]
struct Facts<'a> {
    host: Option<&'a str>,
    role: Option<&'a str>,
    rank: Option<u32>,
    local_rank: Option<u32>,
    pid: Option<u32>,
    place: Option<&'a str>,
    time: Option<Timestamp>,
}

/// More prefixes than this on one line are no prefixes.
const DEEPEST: usize = 10;

/// Reads the prefixes and suffixes of a line.
pub(super) fn peel(text: &str) -> Envelope {
    let mut envelope = Envelope::default();
    let (mut body, mut after_prefix) = (text, false);
    for _ in 0..DEEPEST {
        // Blanks between two prefixes mean nothing, before the first one they are the writer's indentation.
        let candidate = if after_prefix { body.trim_start() } else { body };
        let found = prefix(candidate).ok().or_else(|| if after_prefix { None } else { decorated(candidate) });
        let Some((remaining, facts)) = found else { break };
        let span = |word: &str| {
            let start = text.offset(word);
            start..start + word.len()
        };
        envelope.host = facts.host.map(span).or(envelope.host);
        envelope.role = facts.role.map(span).or(envelope.role);
        envelope.place = facts.place.map(span).or(envelope.place);
        envelope.rank = facts.rank.or(envelope.rank);
        envelope.local_rank = facts.local_rank.or(envelope.local_rank);
        envelope.pid = facts.pid.or(envelope.pid);
        envelope.time = facts.time.or(envelope.time);
        body = remaining;
        after_prefix = true;
    }
    let (body, repeated) = without_suffix(body);
    envelope.repeated = repeated;
    let start = text.offset(body);
    envelope.body = start..start + body.len();
    envelope
}

/// Takes off Ray's `[repeated 7x across cluster]`, its advice, and the right side of a box.
fn without_suffix(body: &str) -> (&str, u64) {
    let mut body = body.trim_end();
    let mut repeated = 0;
    if body.ends_with([')', ']'])
        && let Some(at) = body.rfind(" [repeated ")
        && let Some(count) =
            body[at + " [repeated ".len()..].split_once("x across cluster]").and_then(|(count, _)| count.parse().ok())
    {
        (body, repeated) = (&body[..at], count);
    }
    if let Some(boxed) = body.strip_suffix('│') {
        body = boxed.trim_end();
    }
    (body, repeated)
}

fn prefix(text: &str) -> IResult<&str, Facts<'_>> {
    match text.as_bytes().first() {
        Some(b'[') => alt((
            rank,
            host_and_rank,
            mpi_task,
            kernel_stamp,
            human_stamp,
            dated_level,
            bracketed_time,
            launcher_rank,
            glog,
            logger_name,
            logger_place,
        ))
        .parse(text),
        Some(b'(') => alt((vllm_worker, ray_actor)).parse(text),
        Some(b'<') => alt((kernel_level, syslog_5424)).parse(text),
        Some(b'0'..=b'9') => alt((cri, klog, plain_time, mpi_task, slurm_task, address)).parse(text),
        Some(b'A'..=b'Z') => alt((level, klog, syslog_time, bare_rank)).parse(text),
        Some(b'a'..=b'z') => {
            let process = alt((slurm_daemon, nccl, daemon, compose, host_label, torchrun_label, bare_rank));
            alt((dmesg_level, kernel_program, process)).parse(text)
        }
        Some(b'-') => preceded(tag("-- "), success).parse(text),
        Some(0xe2) => alt((tag("│"), tag("┃"))).map(|_| Facts::default()).parse(text),
        _ => Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::NoneOf))),
    }
}

/// A prefix that names a process, behind what people put before lines that they quote, comment out or list.
fn decorated(text: &str) -> Option<(&str, Facts<'_>)> {
    let bare = text.trim_start_matches(['#', '>', '|', '*', '-', '`', ' ']);
    // Most lines have neither prefix nor decoration, and were asked for a prefix already.
    if bare.len() == text.len() {
        return None;
    }
    let (mut below, mut facts) = prefix(bare).ok()?;
    // The time or the logger's name may stand before who it was.
    for _ in 0..DEEPEST {
        if facts.rank.is_some() || facts.pid.is_some() {
            return prefix(bare).ok();
        }
        (below, facts) = prefix(below.trim_start()).ok()?;
    }
    None
}

fn success(text: &str) -> IResult<&str, Facts<'_>> {
    Ok((text, Facts::default()))
}

/// The blank that separates a prefix from the line; or the line's end.
fn blank(text: &str) -> IResult<&str, ()> {
    alt((one_of(" \t").map(|_| ()), peek(verify(rest, str::is_empty)).map(|_| ()))).parse(text)
}

/// `[rank3]:`, `[Rank 3] `, `[RANK:3] `, `[rank: 3] `, and the same of a process: `[PID:4711] `.
fn rank(text: &str) -> IResult<&str, Facts<'_>> {
    let joint = take_while_m_n(0, 2, |c: char| " :-=".contains(c));
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

/// `[node1:3]: ` of launchers that name the machine and the rank.
fn host_and_rank(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, (host, _, rank)) = delimited(char('['), (host_name, char(':'), integer), tag("]:")).parse(text)?;
    let (rest, _) = blank(rest)?;
    Ok((rest, Facts { host: Some(host), rank: Some(rank), ..Facts::default() }))
}

/// `Rank 3: `, `rank=3 `, `rank:  3 | `, without brackets.
fn bare_rank(text: &str) -> IResult<&str, Facts<'_>> {
    let spoken = delimited((alt((tag("Rank"), tag("rank"), tag("RANK"))), opt(char(' '))), integer, char(':'));
    let set = preceded(alt((tag("rank="), tag("Rank="))), integer);
    let column = delimited((tag("rank:"), space1), integer, tag(" |"));
    let (rest, rank) = terminated(alt((spoken, set, column)), char(' ')).parse(text)?;
    Ok((rest, Facts { rank: Some(rank), ..Facts::default() }))
}

/// `[default0]:`, `[trainer1]:` of `torchrun --tee`; the number is the rank within the node.
fn launcher_rank(text: &str) -> IResult<&str, Facts<'_>> {
    let role = take_while1(|c: char| c.is_ascii_lowercase());
    let (rest, (_, local_rank)) = delimited(char('['), pair(role, integer), tag("]:")).parse(text)?;
    let (rest, _) = opt(char(' ')).parse(rest)?;
    Ok((rest, Facts { local_rank: Some(local_rank), ..Facts::default() }))
}

/// `[12345.678901] ` of the kernel, `[ T1234]` of newer ones behind it; `[12345.678901 <    0.000011>] ` of `dmesg -d`;
/// `[12345.678901] node1 kernel: ` of `journalctl -o short-monotonic`.
fn kernel_stamp(text: &str) -> IResult<&str, Facts<'_>> {
    let since_last = delimited(tag(" <"), clock::uptime, char('>'));
    let (rest, (time, _)) = delimited(char('['), pair(clock::uptime, opt(since_last)), char(']')).parse(text)?;
    let (rest, _) = opt(delimited((space0, char('[')), (space0, one_of("TC"), integer), char(']'))).parse(rest)?;
    let (rest, _) = opt(char(' ')).parse(rest)?;
    let program = pair(terminated(host_name, char(' ')), alt((kernel_program, daemon)));
    let (rest, program) = opt(program).parse(rest)?;
    let facts = program.map_or(Facts::default(), |(host, facts)| Facts { host: Some(host), ..facts });
    Ok((rest, Facts { time: Some(time), ..facts }))
}

/// `[Nov20 08:28] ` and then `[  +0.000011] ` of `dmesg -H`: to the minute, and since the line before.
fn human_stamp(text: &str) -> IResult<&str, Facts<'_>> {
    let digits = |count| take_while_m_n(count, count, |c: char| c.is_ascii_digit());
    let minute = (take_while_m_n(3, 3, char::is_alphabetic), digits(2), char(' '), digits(2), char(':'), digits(2));
    let since_last = (space0, char('+'), clock::uptime);
    let (rest, _) = delimited(char('['), alt((recognize(minute), recognize(since_last))), char(']')).parse(text)?;
    let (rest, _) = blank(rest)?;
    success(rest)
}

/// `<4>` of `dmesg -r`.
fn kernel_level(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, _) =
        (char('<'), take_while_m_n(1, 3, |c: char| c.is_ascii_digit()), char('>'), peek(char('['))).parse(text)?;
    Ok((rest, Facts::default()))
}

/// `kern  :warn  : ` of `dmesg -x`, `kern: warning: [2026-03-01T10:00:00.123456789Z]: ` of Talos.
fn dmesg_level(text: &str) -> IResult<&str, Facts<'_>> {
    let facility = alt((tag("kern"), tag("user"), tag("daemon"), tag("syslog")));
    let word = take_while1(|c: char| c.is_ascii_lowercase());
    let (rest, _) = (facility, space0, char(':'), space0, word, space0, char(':'), space1).parse(text)?;
    let (rest, time) = opt(delimited(char('['), clock::iso, tag("]: "))).parse(rest)?;
    Ok((rest, Facts { time, ..Facts::default() }))
}

/// `<13>1 2026-03-01T10:00:00Z host program 812 - - `
fn syslog_5424(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, _) = (char('<'), integer, char('>'), opt(tag("1 "))).parse(text)?;
    let (rest, time) = alt((clock::iso, clock::syslog)).parse(rest)?;
    let (rest, host) = delimited(char(' '), host_name, char(' ')).parse(rest)?;
    let structured =
        (word, char(' '), word, char(' '), word, char(' '), alt((tag("-"), delimited_box)), opt(char(' ')));
    let (rest, _) = opt(structured).parse(rest)?;
    Ok((rest, Facts { host: Some(host), time: Some(time), ..Facts::default() }))
}

fn word(text: &str) -> IResult<&str, &str> {
    take_till(char::is_whitespace).parse(text)
}

fn delimited_box(text: &str) -> IResult<&str, &str> {
    recognize(delimited(char('['), take_until("]"), char(']'))).parse(text)
}

/// `[2026-03-01 10:00:00,000] [INFO] [utils.py:781:see_memory_usage] [Rank 0] ` of DeepSpeed, the same of Ray's C++ part
/// `[2026-03-01 10:41:03,229 E 1008 1008] (raylet) node_manager.cc:3250: `, and a plain `[2026-03-01 10:00:00] `; SGLang's
/// has the ranks in it, `[2026-03-01 10:00:00 DP0 TP1] `.
fn bracketed_time(text: &str) -> IResult<&str, Facts<'_>> {
    let stamp = alt((clock::iso, clock::ctime, clock::syslog, clock::us_date));
    let scrubbed = value(None, tag("DATE"));
    let level = (space1, one_of("DIWEFC"), space1, integer, space1, integer);
    let inside = (alt((scrubbed, stamp.map(Some))), opt(level), opt(preceded(space1, parallel_ranks)));
    let (rest, (time, level, role)) = delimited(char('['), inside, char(']')).parse(text)?;
    let (rest, _) = blank(rest)?;
    let pid = level.map(|(_, _, _, pid, _, _)| pid);
    Ok((rest, Facts { time, pid, role, ..Facts::default() }))
}

/// `DP0 TP1`: ranks within the dimensions of parallelism, none of them the global one.
fn parallel_ranks(text: &str) -> IResult<&str, &str> {
    let rank = || (alt((tag("TP"), tag("DP"), tag("PP"), tag("EP"), tag("CP"))), integer);
    recognize((rank(), many0_count((char(' '), rank())))).parse(text)
}

/// `[INFO] `, `[INFO|trainer.py:449] 2026-03-01 10:00:00,447 >> ` of transformers, `[INFO 2020-05-26 20:08:23] `,
/// `[INFO|2026-03-01 10:00:00] logging.py:143 >> ` of LLaMA-Factory.
fn dated_level(text: &str) -> IResult<&str, Facts<'_>> {
    let place = preceded(char('|'), take_till(|c| c == ']'));
    let inside = preceded(one_of(" |"), clock::iso);
    let (rest, (time, _)) = delimited((char('['), level_name), pair(opt(inside), opt(place)), char(']')).parse(text)?;
    let (rest, _) = blank(rest)?;
    let (rest, later) = opt(terminated(clock::iso, (tag(" >>"), blank))).parse(rest)?;
    let (rest, _) = opt((module_place, tag(" >>"), blank)).parse(rest)?;
    Ok((rest, Facts { time: time.or(later), ..Facts::default() }))
}

/// `[W716 07:57:26.709 CUDACachingAllocator.cpp:508] `, `[E ProcessGroupNCCL.cpp:414] ` of PyTorch's C++ part.
fn glog(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, (_, time, place)) =
        delimited(char('['), (one_of("DIWEF"), opt(clock::glog), preceded(opt(char(' ')), source_place)), char(']'))
            .parse(text)?;
    let (rest, _) = blank(rest)?;
    Ok((rest, Facts { time, place: Some(place), ..Facts::default() }))
}

/// `[titan] ` of torchtitan, `[TRT-LLM] ` of TensorRT-LLM.
fn logger_name(text: &str) -> IResult<&str, Facts<'_>> {
    preceded((alt((tag("[titan]"), tag("[TRT-LLM]"))), blank), success).parse(text)
}

/// `[utils.py:781:see_memory_usage] `, `[core.py:459] `, `[v1/executor/multiproc_executor.py:558] `
fn logger_place(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, place) = delimited(char('['), source_place, char(']')).parse(text)?;
    let (rest, _) = blank(rest)?;
    Ok((rest, Facts { place: Some(place), ..Facts::default() }))
}

/// `file.py:12`, `file.cpp:12:function`
fn source_place(text: &str) -> IResult<&str, &str> {
    let path = |c: char| c.is_alphanumeric() || "_-./+".contains(c);
    let function = preceded(char(':'), take_while1(|c: char| c.is_alphanumeric() || "_<>.".contains(c)));
    recognize((verify(take_while1(path), |path: &str| path.contains('.')), char(':'), integer, opt(function)))
        .parse(text)
}

/// `logging.py:143`, `llamafactory.hparams.parser:401`
fn module_place(text: &str) -> IResult<&str, &str> {
    recognize((take_while1(|c: char| c.is_alphanumeric() || "_-./".contains(c)), char(':'), integer)).parse(text)
}

/// `(WorkerDict pid=12345, ip=10.0.0.7) `, `(pid=12345) `, `(raylet) `, `(raylet, ip=10.0.0.7) `, `(autoscaler +1h2m3s) `
fn ray_actor(text: &str) -> IResult<&str, Facts<'_>> {
    let pid = || preceded(tag("pid="), integer);
    let ip = preceded(tag(", ip="), take_while1(|c: char| c.is_ascii_hexdigit() || ".:".contains(c)));
    let daemon =
        alt((tag("raylet"), tag("gcs_server"), recognize((tag("autoscaler"), opt((char(' '), word_in_parens))))));
    let named = separated_pair(take_until(" pid="), char(' '), pid());
    let name_and_pid = alt((
        pid().map(|pid| (None, Some(pid))),
        daemon.map(|name: &str| (Some(name), None)),
        named.map(|(name, pid)| (Some(name), Some(pid))),
    ));
    let (rest, ((role, pid), host)) = delimited(char('('), pair(name_and_pid, opt(ip)), char(')')).parse(text)?;
    let (rest, _) = blank(rest)?;
    // Whatever is longer or contains a bracket is a sentence in parentheses.
    if role.is_some_and(|role: &str| role.len() > 120 || role.contains([')', '('])) {
        return Err(nom::Err::Error(nom::error::Error::new(text, nom::error::ErrorKind::TooLarge)));
    }
    let (rest, _) = opt((opt(char(' ')), source_place, tag(": "))).parse(rest)?;
    let role = role.map(|role| role.split(' ').next().unwrap_or(role));
    Ok((rest, Facts { role, pid, host, ..Facts::default() }))
}

fn word_in_parens(text: &str) -> IResult<&str, &str> {
    take_till(|c| c == ')').parse(text)
}

/// `(VllmWorker rank=1 pid=2978) `, `(EngineCore_DP0 pid=6880) ` (the latter reads as a Ray actor).
fn vllm_worker(text: &str) -> IResult<&str, Facts<'_>> {
    let name = take_while1(|c: char| c.is_alphanumeric() || c == '_');
    let inner = (
        name,
        preceded((opt(char(',')), tag(" rank=")), integer),
        opt(preceded((opt(char(',')), tag(" pid=")), integer)),
    );
    let (rest, (role, rank, pid)) = delimited(char('('), inner, char(')')).parse(text)?;
    let (rest, _) = blank(rest)?;
    Ok((rest, Facts { role: Some(role), rank: Some(rank), pid, ..Facts::default() }))
}

/// `2026-03-01T10:00:00.123456789Z stderr F `
fn cri(text: &str) -> IResult<&str, Facts<'_>> {
    let stream = (alt((tag("stdout"), tag("stderr"))), char(' '), one_of("FP"));
    let (rest, (time, _, _)) = (clock::iso, char(' '), stream).parse(text)?;
    let (rest, _) = blank(rest)?;
    Ok((rest, Facts { time: Some(time), ..Facts::default() }))
}

/// A stamp, then perhaps a host with a program, a level, or a place: `2026-11-20 07:35:30,054\tINFO worker.py:2038 -- `,
/// `10:52:29 node1 systemd-oomd[1261]: `, `2026-03-01T10:00:00+0000 node1 kernel: `; TensorFlow's `2026-03-01
/// 10:00:00.123456: W tensorflow/core/framework/op_kernel.cc:1780] `; Python's `03/01/2026 10:00:00 - INFO - __main__ - `.
fn plain_time(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, time) = alt((clock::iso, clock::short_year, clock::us_date, clock::time_of_day)).parse(text)?;
    let time = Some(time);
    let tensorflow = delimited((tag(": "), one_of("IWEF"), char(' ')), source_place, (char(']'), blank));
    let fields = (tag(" - "), dashed_field, tag(" - "), dashed_field, tag(" - "));
    if let (rest, Some(place)) = opt(alt((tensorflow.map(Some), value(None, fields)))).parse(rest)? {
        return Ok((rest, Facts { time, place, ..Facts::default() }));
    }
    let (rest, _) = blank(rest)?;
    let program = preceded(space0, pair(opt(terminated(host_name, char(' '))), alt((kernel_program, daemon))));
    if let (rest, Some((host, facts))) = opt(program).parse(rest)? {
        return Ok((rest, Facts { host: host.or(facts.host), time, ..facts }));
    }
    let with_level = (multispace0, level_name, space1, opt(terminated(source_place, tag(" -- "))));
    let (rest, place) = opt(with_level).parse(rest)?;
    let place = place.and_then(|(_, _, _, place)| place);
    Ok((rest, Facts { time, place, ..Facts::default() }))
}

/// A level or a logger's name of Python's logging, between dashes.
fn dashed_field(text: &str) -> IResult<&str, &str> {
    take_while1(|c: char| c.is_alphanumeric() || "_.".contains(c)).parse(text)
}

/// `Aug 12 03:54:03 node1 kernel: `, `Jan  5 15:19:27 kernel: `
fn syslog_time(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, time) = terminated(clock::syslog, char(' ')).parse(text)?;
    let time = Some(time);
    let named = pair(opt(terminated(host_name, char(' '))), alt((kernel_program, daemon)));
    let alone = host_name.map(|host| (Some(host), Facts::default()));
    let (rest, (host, facts)) = alt((named, terminated(alone, char(' ')))).parse(rest)?;
    Ok((rest, Facts { host: host.or(facts.host), time, ..facts }))
}

/// `kernel: `
fn kernel_program(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, role) = terminated(tag("kernel"), (char(':'), blank)).parse(text)?;
    Ok((rest, Facts { role: Some(role), ..Facts::default() }))
}

/// `slurmstepd-node07: ` where several daemons run on a node.
fn slurm_daemon(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, host) = delimited(tag("slurmstepd-"), host_name, (char(':'), blank)).parse(text)?;
    Ok((rest, Facts { host: Some(host), ..Facts::default() }))
}

/// `systemd-oomd[701]: `, `earlyoom[812]: `
fn daemon(text: &str) -> IResult<&str, Facts<'_>> {
    let name = take_while1(|c: char| c.is_alphanumeric() || "_-./".contains(c));
    let pid = delimited(char('['), integer, char(']'));
    let (rest, (role, pid)) = terminated(pair(name, pid), (char(':'), blank)).parse(text)?;
    Ok((rest, Facts { role: Some(role), pid: Some(pid), ..Facts::default() }))
}

/// `ERROR 06-10 10:55:03 [core.py:459] `, `INFO 02-03 03:43:48 llm_engine.py:316] ` of vLLM, `INFO:root:`,
/// `WARNING:torch.distributed.elastic.multiprocessing.api:` of Python's basic logging.
fn level(text: &str) -> IResult<&str, Facts<'_>> {
    let place = delimited((char(' '), opt(char('['))), source_place, char(']'));
    let place = alt((place.map(Some), value(None, char(' '))));
    let vllm = terminated(preceded(char(' '), (clock::month_day, place)), opt(char(' ')));
    let basic = (char(':'), take_while1(|c: char| c.is_alphanumeric() || "_.".contains(c)), char(':'));
    let (rest, said) = preceded(level_name, alt((vllm.map(Some), value(None, basic)))).parse(text)?;
    let (time, place) = said.map_or((None, None), |(time, place)| (Some(time), place));
    Ok((rest, Facts { time, place, ..Facts::default() }))
}

fn level_name(text: &str) -> IResult<&str, &str> {
    alt((
        tag("DEBUG"),
        tag("INFO"),
        tag("WARNING"),
        tag("WARN"),
        tag("ERROR"),
        tag("ERR"),
        tag("CRITICAL"),
        tag("FATAL"),
        tag("VINFO"),
        tag("SUCC"),
    ))
    .parse(text)
}

/// `E0301 10:40:00.000000 4711 torch/distributed/run.py:874] ` of glog and of torch's Python logging; the letter gets lost where
/// people copy a line.
fn klog(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, (_, time, _, pid, place)) =
        (opt(one_of("IWEF")), clock::month_day, space1, opt(terminated(integer, space1)), source_place).parse(text)?;
    let (rest, _) = (char(']'), blank).parse(rest)?;
    Ok((rest, Facts { time: Some(time), pid, place: Some(place), ..Facts::default() }))
}

/// `node3:1234:5678 [2] ` of NCCL: host, pid, thread, device.
fn nccl(text: &str) -> IResult<&str, Facts<'_>> {
    let device = delimited(tag(" ["), integer, tag("] "));
    let (rest, (host, _, pid, _, _, index)) =
        (host_name, char(':'), integer, char(':'), integer, device).parse(text)?;
    Ok((rest, Facts { host: Some(host), pid: Some(pid), local_rank: Some(index), ..Facts::default() }))
}

/// `trainer-1  | ` of docker compose.
fn compose(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, role) = terminated(host_name, (space1, tag("| "))).parse(text)?;
    Ok((rest, Facts { role: Some(role), ..Facts::default() }))
}

/// `worker-1: `, `node3: ` of pdsh and DeepSpeed's multi-node runner.
fn host_label(text: &str) -> IResult<&str, Facts<'_>> {
    // Words that carry a number and are no machine.
    const NO_HOST: &[&str] = &[
        "step", "epoch", "iter", "loss", "layer", "batch", "shard", "cuda", "gpu", "cpu", "hip", "cuda:", "fp", "bf",
        "int", "stage", "test", "frame", "zero", "cc1plus", "cc", "collect", "lc", "h", "mp", "nvcc", "ld", "python",
    ];
    // Units of systemd, of which it writes in the same shape.
    const UNITS: &[&str] = &[".service", ".scope", ".slice", ".mount", ".swap", ".socket", ".error"];
    let numbered = |host: &str| {
        host.bytes().any(|byte| byte.is_ascii_digit())
            && !UNITS.iter().any(|unit| host.ends_with(unit))
            && !NO_HOST.iter().any(|word| {
                host.strip_prefix(word)
                    .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || b"-_".contains(&byte)))
            })
    };
    let (rest, host) = terminated(verify(host_name, numbered), (char(':'), char(' '))).parse(text)?;
    match host.strip_prefix("rank").and_then(|rank| rank.parse().ok()) {
        Some(rank) => Ok((rest, Facts { rank: Some(rank), ..Facts::default() })),
        None => Ok((rest, Facts { host: Some(host), ..Facts::default() })),
    }
}

/// `traceback : ` of torch elastic's summary, behind which a whole traceback may begin.
fn torchrun_label(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, _) = (tag("traceback"), space1, tag(": "), peek(tag("Traceback"))).parse(text)?;
    success(rest)
}

/// `10.0.0.7: ` of pdsh.
fn address(text: &str) -> IResult<&str, Facts<'_>> {
    let dotted = verify(take_while1(|c: char| c.is_ascii_digit() || c == '.'), |address: &str| {
        address.matches('.').count() == 3
    });
    let (rest, host) = terminated(dotted, tag(": ")).parse(text)?;
    Ok((rest, Facts { host: Some(host), ..Facts::default() }))
}

/// `3: ` of `srun --label`; the task's number, which is the rank where each task is one.
fn slurm_task(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, rank) = terminated(
        map_opt(take_while_m_n(1, 4, |c: char| c.is_ascii_digit()), |task: &str| task.parse().ok()),
        tag(": "),
    )
    .parse(text)?;
    Ok((rest, Facts { rank: Some(rank), ..Facts::default() }))
}

/// `1,3<stderr>:` and `[1,3]<stderr>:` of mpirun.
fn mpi_task(text: &str) -> IResult<&str, Facts<'_>> {
    let stream = delimited(char('<'), alt((tag("stdout"), tag("stderr"))), tag(">:"));
    let task = preceded((integer, char(',')), integer);
    let (rest, rank) = terminated(delimited(opt(char('[')), task, opt(char(']'))), stream).parse(text)?;
    Ok((rest, Facts { rank: Some(rank), ..Facts::default() }))
}

fn host_name(text: &str) -> IResult<&str, &str> {
    recognize((satisfy(char::is_alphanumeric), take_while(|c: char| c.is_alphanumeric() || "-_.".contains(c))))
        .parse(text)
}

/// Where the message stands in a line of JSON that wraps one: docker's json-file, journald, `dmesg --json`, structured
/// loggers. `None` for any other line.
pub(super) fn wrapped_message(raw: &[u8]) -> Option<Range<usize>> {
    const KEYS: &[&[u8]] =
        &[b"\"log\":", b"\"MESSAGE\":", b"\"MESSAGE\" :", b"\"msg\":", b"\"message\":", b"\"textPayload\":"];
    let start = raw.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let rest = &raw[start..];
    let key = match rest.first()? {
        // Python's dictionaries, which most lines of many logs are, begin with an apostrophe.
        b'{' if rest[1..].trim_ascii_start().starts_with(b"'") => return None,
        b'{' => KEYS.iter().find_map(|key| memmem::find(rest, key).map(|at| at + key.len()))?,
        b'"' => KEYS.iter().find_map(|key| rest.starts_with(key).then_some(key.len()))?,
        _ => return None,
    };
    let quote = start + key + rest[key..].iter().position(|byte| *byte != b' ')?;
    if raw.get(quote) != Some(&b'"') {
        return None;
    }
    let mut end = quote + 1;
    while end < raw.len() && raw[end] != b'"' {
        end += if raw[end] == b'\\' { 2 } else { 1 };
    }
    Some(quote + 1..end.min(raw.len()))
}
