//! Prefixes of loggers: the time, the level, the place in the source.

use nom::branch::alt;
use nom::bytes::complete::{tag, take, take_till, take_while_m_n, take_while1};
use nom::character::complete::{char, digit1, multispace0, one_of, space0, space1, u32 as integer};
use nom::combinator::{opt, peek, recognize, value};
use nom::multi::many0_count;
use nom::sequence::{delimited, pair, preceded, terminated};
use nom::{IResult, Parser};

use super::super::clock;
use super::system::{daemon, kernel_program};
use super::{Facts, blank, host_name, source_place, success};

/// `[2026-03-01 10:00:00,000] [INFO] [utils.py:781:see_memory_usage] [Rank 0] ` of DeepSpeed, the same of Ray's C++ part `[2026-03-01
/// 10:41:03,229 E 1008 1008] (raylet) node_manager.cc:3250: `, and a plain `[2026-03-01 10:00:00] `; SGLang adds its parallel ranks,
/// `[2026-03-01 10:00:00 DP0 TP1] `.
pub(super) fn bracketed_time(text: &str) -> IResult<&str, Facts<'_>> {
    let stamp = alt((clock::iso, clock::ctime, clock::syslog, clock::us_date));
    let scrubbed = value(None, tag("DATE"));
    let level = (space1, one_of("DIWEFC"), space1, integer, space1, integer);
    let inside = (alt((scrubbed, stamp.map(Some))), opt(level), opt(preceded(space1, parallel_ranks)));
    let (rest, (time, level, role)) = delimited(char('['), inside, char(']')).parse(text)?;
    let (rest, _) = blank(rest)?;
    let pid = level.map(|(_, _, _, pid, _, _)| pid);
    Ok((rest, Facts { time, pid, role, ..Facts::default() }))
}

/// `DP0 TP1`: ranks within the dimensions of parallelism; none is the global rank.
fn parallel_ranks(text: &str) -> IResult<&str, &str> {
    let rank = || (alt((tag("TP"), tag("DP"), tag("PP"), tag("EP"), tag("CP"))), integer);
    recognize((rank(), many0_count((char(' '), rank())))).parse(text)
}

/// `[INFO] `, `[INFO|trainer.py:449] 2026-03-01 10:00:00,447 >> ` of transformers, `[INFO 2020-05-26 20:08:23] `,
/// `[INFO|2026-03-01 10:00:00] logging.py:143 >> ` of LLaMA-Factory.
pub(super) fn dated_level(text: &str) -> IResult<&str, Facts<'_>> {
    let place = preceded(char('|'), take_till(|c| c == ']'));
    let inside = preceded(one_of(" |"), clock::iso);
    let (rest, (time, _)) = delimited((char('['), level_name), pair(opt(inside), opt(place)), char(']')).parse(text)?;
    let (rest, _) = blank(rest)?;
    let (rest, later) = opt(terminated(clock::iso, (tag(" >>"), blank))).parse(rest)?;
    let (rest, _) = opt((module_place, tag(" >>"), blank)).parse(rest)?;
    Ok((rest, Facts { time: time.or(later), ..Facts::default() }))
}

/// `[W716 07:57:26.709 CUDACachingAllocator.cpp:508] `, `[E ProcessGroupNCCL.cpp:414] ` of PyTorch's C++ part.
pub(super) fn glog(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, (_, time, place)) =
        delimited(char('['), (one_of("DIWEF"), opt(clock::glog), preceded(opt(char(' ')), source_place)), char(']'))
            .parse(text)?;
    let (rest, _) = blank(rest)?;
    Ok((rest, Facts { time, place: Some(place), ..Facts::default() }))
}

/// `[titan] ` of torchtitan, `[TRT-LLM] ` of TensorRT-LLM.
pub(super) fn logger_name(text: &str) -> IResult<&str, Facts<'_>> {
    preceded((alt((tag("[titan]"), tag("[TRT-LLM]"))), blank), success).parse(text)
}

/// `[Stage-0] ` of a program that runs vLLM's workers and names each before what that one logs.
pub(super) fn labelled_level(text: &str) -> IResult<&str, Facts<'_>> {
    let label = take_while1(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    preceded((delimited(char('['), label, char(']')), char(' '), peek(level)), success).parse(text)
}

/// `[utils.py:781:see_memory_usage] `, `[core.py:459] `, `[v1/executor/multiproc_executor.py:558] `
pub(super) fn logger_place(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, place) = delimited(char('['), source_place, char(']')).parse(text)?;
    let (rest, _) = blank(rest)?;
    Ok((rest, Facts { place: Some(place), ..Facts::default() }))
}

/// `ERROR 06-10 10:55:03 [core.py:459] `, `INFO 02-03 03:43:48 llm_engine.py:316] ` of vLLM, `INFO:root:`,
/// `WARNING:torch.distributed.elastic.multiprocessing.api:` of Python's basic logging.
pub(super) fn level(text: &str) -> IResult<&str, Facts<'_>> {
    let place = delimited((char(' '), opt(char('['))), source_place, char(']'));
    let place = alt((place.map(Some), value(None, char(' '))));
    let vllm = terminated(preceded(char(' '), (clock::month_day, place)), opt(char(' ')));
    let basic = (char(':'), take_while1(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.')), char(':'));
    let (rest, said) = preceded(level_name, alt((vllm.map(Some), value(None, basic)))).parse(text)?;
    let (time, place) = said.map_or((None, None), |(time, place)| (Some(time), place));
    Ok((rest, Facts { time, place, ..Facts::default() }))
}

/// `INFO 2026-03-01T10:00:00.123456789Z [resource.labels.containerName: vllm] ` of Google Cloud's Logs Explorer, which shows a pod's lines.
pub(super) fn explorer(text: &str) -> IResult<&str, Facts<'_>> {
    let severity = alt((level_name, tag("DEFAULT"), tag("NOTICE"), tag("ALERT"), tag("EMERGENCY")));
    let label = (tag("[resource.labels."), take_till(|c| c == ']'), char(']'));
    let (rest, (_, _, time, _, _, _)) = (severity, char(' '), clock::iso, char(' '), label, blank).parse(text)?;
    Ok((rest, Facts { time: Some(time), ..Facts::default() }))
}

/// `E0301 10:40:00.000000 4711 torch/distributed/run.py:874] ` of glog and of torch's Python logging; the letter may be lost when people
/// copy a line.
pub(super) fn klog(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, (_, time, _, pid, place)) =
        (opt(one_of("IWEF")), clock::month_day, space1, opt(terminated(integer, space1)), source_place).parse(text)?;
    let (rest, _) = (char(']'), blank).parse(rest)?;
    Ok((rest, Facts { time: Some(time), pid, place: Some(place), ..Facts::default() }))
}

/// A time stamp, optionally followed by a host with a program, a level, or a source location: `2026-11-20 07:35:30,054\tINFO worker.py:2038
/// -- `, `10:52:29 node1 systemd-oomd[1261]: `, `2026-03-01T10:00:00+0000 node1 kernel: `; TensorFlow's `2026-03-01 10:00:00.123456: W
/// tensorflow/core/framework/op_kernel.cc:1780] `; Python's `03/01/2026 10:00:00 - INFO - __main__ - `.
pub(super) fn plain_time(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, time) = alt((clock::iso, clock::short_year, clock::us_date, clock::time_of_day)).parse(text)?;
    let time = Some(time);
    // PostgreSQL names the zone.
    let zone =
        (char(' '), take_while_m_n(3, 4, |c: char| c.is_ascii_uppercase()), peek((tag(" ["), digit1, tag("] "))));
    let (rest, _) = opt(zone).parse(rest)?;
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
    take_while1(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.')).parse(text)
}

/// `2026-03-01T10:00:00.123456789Z stderr F `
pub(super) fn cri(text: &str) -> IResult<&str, Facts<'_>> {
    let stream = (alt((tag("stdout"), tag("stderr"))), char(' '), one_of("FP"));
    // Most stamps have no `T`; this check avoids parsing them twice.
    peek((take(10usize), char('T'))).parse(text)?;
    let (rest, (time, _, _)) = (clock::iso, char(' '), stream).parse(text)?;
    let (rest, _) = blank(rest)?;
    Ok((rest, Facts { time: Some(time), ..Facts::default() }))
}

/// `logging.py:143`, `llamafactory.hparams.parser:401`
fn module_place(text: &str) -> IResult<&str, &str> {
    recognize((take_while1(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')), char(':'), integer))
        .parse(text)
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

/// `MD(14433,7fea2effd700,python):2026-03-01-10:00:00.932.181 [mindspore/ccsrc/minddata/dataset/util/arena.cc:250] Init] ` of MindSpore,
/// after the level, and `RUNTIME(14433,python):2026-03-01-10:00:00.932.181 [npu_driver.cc:900]` of CANN.
pub(super) fn ascend_module(text: &str) -> IResult<&str, Facts<'_>> {
    let module = take_while1(|c: char| c.is_ascii_uppercase() || c == '_');
    let process = delimited(char('('), terminated(integer, (char(','), take_till(|c| c == ')'))), tag("):"));
    let time = take_while1(|c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.'));
    let (rest, (_, pid, _, place)) =
        (module, process, time, delimited(tag(" ["), source_place, char(']'))).parse(text)?;
    let (rest, _) = blank(rest)?;
    let (rest, _) = opt((take_while1(|c: char| !matches!(c, ' ' | '[' | ']')), tag("] "))).parse(rest)?;
    Ok((rest, Facts { pid: Some(pid), place: Some(place), ..Facts::default() }))
}

/// `:1:hip_memory.cpp :303 : 9616777863 us: 4277 : [tid:0x7f2accbfe6c0] ` of AMD's runtime; newer versions print `us: [pid:4277
/// tid:0x7f2accbfe6c0] `.
pub(super) fn rocclr(text: &str) -> IResult<&str, Facts<'_>> {
    let file = take_while1(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
    let place = (char(':'), integer, char(':'), file, space0, char(':'), integer, space0, tag(": "));
    let (rest, _) = (place, digit1, tag(" us: ")).parse(text)?;
    let thread = || take_till(|c| c == ']');
    let older = terminated(integer, (space0, tag(": [tid:"), thread()));
    let newer = delimited(tag("[pid:"), integer, (tag(" tid:"), thread()));
    let (rest, pid) = terminated(alt((older, newer)), (char(']'), blank)).parse(rest)?;
    Ok((rest, Facts { pid: Some(pid), ..Facts::default() }))
}
