//! Prefixes of the kernel, syslog, daemons and multi-node runners.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_till1, take_until, take_while_m_n, take_while1};
use nom::character::complete::{char, digit1, one_of, space0, space1, u32 as integer};
use nom::combinator::{opt, peek, recognize, verify};
use nom::sequence::{delimited, pair, preceded, terminated};
use nom::{IResult, Parser};

use super::super::clock;
use super::{Facts, blank, host_name, success};

/// `[12345.678901] ` of the kernel, `[ T1234]` of newer ones after it; `[12345.678901 <    0.000011>] ` of `dmesg -d`;
/// `[12345.678901] node1 kernel: ` of `journalctl -o short-monotonic`.
pub(super) fn kernel_stamp(text: &str) -> IResult<&str, Facts<'_>> {
    let since_last = delimited(tag(" <"), clock::uptime, char('>'));
    let (rest, (time, _)) = delimited(char('['), pair(clock::uptime, opt(since_last)), char(']')).parse(text)?;
    let (rest, _) = opt(delimited((space0, char('[')), (space0, one_of("TC"), integer), char(']'))).parse(rest)?;
    let (rest, _) = opt(char(' ')).parse(rest)?;
    let program = pair(terminated(host_name, char(' ')), alt((kernel_program, daemon)));
    let (rest, program) = opt(program).parse(rest)?;
    let facts = program.map_or(Facts::default(), |(host, facts)| Facts { host: Some(host), ..facts });
    Ok((rest, Facts { time: Some(time), ..facts }))
}

/// Android's log: `01-29 14:13:18.886   985  1454 E libc    : ` of `logcat -v threadtime`, `01-29 14:13:18.886 985-1454/com.app E/libc: ` and
/// `2026-01-29 14:13:18.886 985-1454 libc  com.app  E  ` of Android Studio. The pid is not that of another machine's kernel.
pub(super) fn logcat(text: &str) -> IResult<&str, Facts<'_>> {
    let word = || take_while1(|c: char| !c.is_whitespace() && c != '/');
    let level = || one_of("VDIWEFA");
    // Most lines with a time are not Android's; this check avoids parsing it twice.
    let stamp = || take_till1(char::is_whitespace);
    peek((stamp(), space1, stamp(), space1, digit1)).parse(text)?;
    let (rest, (time, _, pid)) = (alt((clock::iso, clock::month_day)), space1, integer).parse(text)?;
    let thread = || (char('-'), integer);
    let threadtime = (space1, integer, char(' '), level(), char(' '), take_until(": "), tag(": ")).map(|_| ());
    let older = (thread(), char('/'), word(), char(' '), level(), char('/'), take_until(": "), tag(": ")).map(|_| ());
    let newer = (thread(), space1, word(), space1, word(), space1, level(), space1).map(|_| ());
    let (rest, ()) = alt((threadtime, older, newer)).parse(rest)?;
    Ok((rest, Facts { time: Some(time), pid: Some(pid), ..Facts::default() }))
}

/// `[Nov20 08:28] ` and `[ +0.000011] ` of `dmesg -H`: a time to the minute, or the seconds since the previous line.
pub(super) fn human_stamp(text: &str) -> IResult<&str, Facts<'_>> {
    let digits = |count| take_while_m_n(count, count, |c: char| c.is_ascii_digit());
    let minute = (take_while_m_n(3, 3, char::is_alphabetic), digits(2), char(' '), digits(2), char(':'), digits(2));
    let since_last = (space0, char('+'), clock::uptime);
    let (rest, _) = delimited(char('['), alt((recognize(minute), recognize(since_last))), char(']')).parse(text)?;
    let (rest, _) = blank(rest)?;
    success(rest)
}

/// `<4>` of `dmesg -r`.
pub(super) fn kernel_level(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, _) =
        (char('<'), take_while_m_n(1, 3, |c: char| c.is_ascii_digit()), char('>'), peek(char('['))).parse(text)?;
    Ok((rest, Facts::default()))
}

/// `kern  :warn  : ` of `dmesg -x`, `kern: warning: [2026-03-01T10:00:00.123456789Z]: ` of Talos.
pub(super) fn dmesg_level(text: &str) -> IResult<&str, Facts<'_>> {
    let facility = alt((tag("kern"), tag("user"), tag("daemon"), tag("syslog")));
    let word = take_while1(|c: char| c.is_ascii_lowercase());
    let (rest, _) = (facility, space0, char(':'), space0, word, space0, char(':'), space1).parse(text)?;
    let (rest, time) = opt(delimited(char('['), clock::iso, tag("]: "))).parse(rest)?;
    Ok((rest, Facts { time, ..Facts::default() }))
}

/// `<13>1 2026-03-01T10:00:00Z host program 812 - - `
pub(super) fn syslog_5424(text: &str) -> IResult<&str, Facts<'_>> {
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

/// `Aug 12 03:54:03 node1 kernel: `, `Jan  5 15:19:27 kernel: `; blanks are left where somebody took the host out.
pub(super) fn syslog_time(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, time) = clock::syslog(text)?;
    let time = Some(time);
    let named = preceded(space1, pair(opt(terminated(host_name, char(' '))), alt((kernel_program, daemon))));
    let alone = delimited(char(' '), host_name, char(' ')).map(|host| (Some(host), Facts::default()));
    let (rest, (host, facts)) = alt((named, alone)).parse(rest)?;
    Ok((rest, Facts { host: host.or(facts.host), time, ..facts }))
}

/// `166233 Aug 12 03:54:03 node1 kernel: `, as `cat -n` and viewers number the lines of a journal.
pub(super) fn numbered(text: &str) -> IResult<&str, Facts<'_>> {
    preceded((digit1, space1, peek(syslog_time)), success).parse(text)
}

/// `kernel: `
pub(super) fn kernel_program(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, role) = terminated(tag("kernel"), (char(':'), blank)).parse(text)?;
    Ok((rest, Facts { role: Some(role), ..Facts::default() }))
}

/// `slurmstepd-node07: `, printed if several daemons run on a node.
pub(super) fn slurm_daemon(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, host) = delimited(tag("slurmstepd-"), host_name, (char(':'), blank)).parse(text)?;
    Ok((rest, Facts { host: Some(host), ..Facts::default() }))
}

/// `systemd-oomd[701]: `, `earlyoom[812]: `
pub(super) fn daemon(text: &str) -> IResult<&str, Facts<'_>> {
    let name = take_while1(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
    let pid = delimited(char('['), integer, char(']'));
    let (rest, (role, pid)) = terminated(pair(name, pid), (char(':'), blank)).parse(text)?;
    Ok((rest, Facts { role: Some(role), pid: Some(pid), ..Facts::default() }))
}

/// `trainer-1  | ` of docker compose.
pub(super) fn compose(text: &str) -> IResult<&str, Facts<'_>> {
    let (rest, role) = terminated(host_name, (space1, tag("| "))).parse(text)?;
    Ok((rest, Facts { role: Some(role), ..Facts::default() }))
}

/// `worker-1: `, `node3: ` of pdsh and DeepSpeed's multi-node runner.
pub(super) fn host_label(text: &str) -> IResult<&str, Facts<'_>> {
    // Words with a number that are not hosts.
    const NO_HOST: &[&str] = &[
        "step", "epoch", "iter", "loss", "layer", "batch", "shard", "cuda", "gpu", "cpu", "hip", "cuda:", "fp", "bf",
        "int", "stage", "test", "frame", "zero", "cc1plus", "cc", "collect", "lc", "h", "mp", "nvcc", "ld", "python",
    ];
    // systemd writes about its units in the same form.
    const UNITS: &[&str] = &[".service", ".scope", ".slice", ".mount", ".swap", ".socket", ".error"];
    // What has a number and stands before the mark of a rank is a host, whatever it is called: `gpu-0042: [rank3]: `.
    let is_before_rank = text.split_once(": ").is_some_and(|(_, rest)| rest.starts_with("[rank"));
    let numbered = |host: &str| {
        let is_other_word = || {
            NO_HOST.iter().any(|word| {
                host.strip_prefix(word)
                    .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || b"-_".contains(&byte)))
            })
        };
        host.bytes().any(|byte| byte.is_ascii_digit())
            && !UNITS.iter().any(|unit| host.ends_with(unit))
            && !host.ends_with("Error")
            && !host.ends_with("Exception")
            && (is_before_rank || !is_other_word())
    };
    let (rest, host) = terminated(verify(host_name, numbered), (char(':'), char(' '))).parse(text)?;
    match host.strip_prefix("rank").and_then(|rank| rank.parse().ok()) {
        Some(rank) => Ok((rest, Facts { rank: Some(rank), ..Facts::default() })),
        None => Ok((rest, Facts { host: Some(host), ..Facts::default() })),
    }
}

/// `10.0.0.7: ` of pdsh.
pub(super) fn address(text: &str) -> IResult<&str, Facts<'_>> {
    let dotted = verify(take_while1(|c: char| c.is_ascii_digit() || c == '.'), |address: &str| {
        address.matches('.').count() == 3
    });
    let (rest, host) = terminated(dotted, tag(": ")).parse(text)?;
    Ok((rest, Facts { host: Some(host), ..Facts::default() }))
}
