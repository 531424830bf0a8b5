//! Messages that say why a vLLM engine did not start or stopped.
//!
//! Mirrors `vllm/worker/worker.py:raise_if_cache_size_invalid` (0.2–0.10), `v1/core/kv_cache_utils.py` (0.7–0.10; `kv_cache_planning.py` in
//! 0.33), `v1/worker/utils.py:request_memory`, `v1/worker/gpu_model_runner.py`, `v1/executor/multiproc_executor.py` (0.8–0.33). An engine
//! uses only the share of the device that it was given, so memory that it lacks may still be free.

use nom::branch::alt;
use nom::bytes::complete::{tag as word, take_until, take_while1 as characters};
use nom::bytes::streaming::{tag, take_while1};
use nom::character::complete::{char, i32 as status};
use nom::combinator::{consumed, map, map_opt, opt, recognize};
use nom::sequence::{delimited, preceded, separated_pair};
use nom::{IResult, Parser};

use crate::model::FigureName::{self, GpuFree, GpuIndex, GpuTotal, KvCacheAvailable, Requested};
use crate::model::{Bytes, Death, Event, Exit, Kind, Severity, Victim, What};
use crate::parse::text::{self, Size};
use crate::parse::{Example, Follow, Grammar, Joint, Line, Record, origin};

/// See the module.
pub struct VllmFailures;

const NO_BLOCKS: &str = "No available memory for the cache blocks";
const LENGTH: &str = "'s max seq len (";
/// Also where whoever posted it wrote it small.
const DEVICE: &str = "ree memory on device";
const TOO_LITTLE: &str = "less than desired GPU memory utilization (";
const WARM_UP: &str = "out of memory occurred when warming up ";
const DIED: &str = "died unexpectedly";
/// Only shows that the log is vLLM's.
const FATAL: &str = "Got fatal signal from worker processes, shutting down.";

impl Grammar for VllmFailures {
    fn producer(&self) -> &'static str {
        "vllm"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &[NO_BLOCKS, LENGTH, TOO_LITTLE, "out of memory", DIED]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[NO_BLOCKS, LENGTH, DEVICE, WARM_UP, DIED, FATAL]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    /// A terminal's width cuts a message within or between words: the joint that lets more be read is right.
    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let Some(last) = heads(record.text()).last().filter(|message| ReadClauses::of(message).is_cut) else {
            return Follow::End;
        };
        let goes_on = |between: &str| {
            let longer = format!("{last}{between}{}", next.body().trim_start());
            let reading = ReadClauses::of(&longer);
            reading.is_cut || reading.length > last.len()
        };
        match (goes_on(""), goes_on(" ")) {
            (true, _) => Follow::Join(Joint::Nothing),
            (_, true) => Follow::Join(Joint::Blank),
            _ => Follow::End,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let notice = record.text().contains(FATAL).then(|| record.event("vllm", record.text(), What::Notice));
        heads(record.text())
            .filter_map(|message| shortage(record, message))
            .chain(death(record))
            .chain(notice)
            .collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// The messages in `text`.
fn heads(text: &str) -> impl Iterator<Item = &str> {
    let words = [NO_BLOCKS, LENGTH, DEVICE, WARM_UP];
    let mut starts: Vec<usize> =
        words.into_iter().flat_map(|words| text.match_indices(words)).map(|(at, _)| at).collect();
    starts.sort_unstable();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &text[start..end])
}

/// One clause of a message.
#[derive(Debug, Clone, Copy)]
enum VllmClause<'a> {
    Size(FigureName, Size<'a>),
    /// Free and total memory.
    FreeOf(Size<'a>, Size<'a>),
    Number(&'static str, &'a str, f64),
    /// The requested share of the device, and its size.
    Share(&'a str, f64, Size<'a>),
    Device(&'a str, u32),
    Words,
}

impl VllmClause<'_> {
    /// Whether it proves that memory was refused.
    fn proves(&self) -> bool {
        matches!(
            self,
            VllmClause::Size(Requested, _) | VllmClause::Share(..) | VllmClause::Number("vllm.kv_cache_tokens", ..)
        )
    }
}

/// The clause at the beginning of `text`. `Incomplete` if more text might make it a clause.
fn clause(text: &str) -> IResult<&str, VllmClause<'_>> {
    alt((length_clause, device_clause, other_clause)).parse(text)
}

/// `To serve at least one request with the model's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available
/// KV cache memory (6.53 GiB). Based on …`: vLLM itself never closes the bracket. Before V1 `The model's max seq len (4096) is larger than
/// …`
fn length_clause(text: &str) -> IResult<&str, VllmClause<'_>> {
    let number = |key| move |(words, value)| VllmClause::Number(key, words, value);
    let needed = delimited((tag(", "), opt(tag("("))), size, tag(" KV cache is needed"));
    let available = delimited(tag(", which is larger than the available KV cache memory ("), size, tag(")"));
    let estimated = tag(". Based on the available memory, the estimated maximum model length is ");
    let stored = tag(" is larger than the maximum number of tokens that can be stored in KV cache (");
    alt((
        map(delimited(tag(LENGTH), decimal, tag(")")), number("vllm.max_model_len")),
        map(needed, |size| VllmClause::Size(Requested, size)),
        map(available, |size| VllmClause::Size(KvCacheAvailable, size)),
        map(delimited(estimated, digits, tag(".")), number("vllm.estimated_max_model_len")),
        map(delimited(stored, digits, tag(")")), number("vllm.kv_cache_tokens")),
    ))
    .parse(text)
}

/// `Free memory on device cuda:0 (31.2/79.15 GiB) on startup is less than desired GPU memory utilization (0.95, 75.2 GiB).` If there is
/// enough, newer versions print almost the same words.
fn device_clause(text: &str) -> IResult<&str, VllmClause<'_>> {
    let index = map_opt(take_while1(|c: char| c.is_ascii_digit()), |digits: &str| digits.parse().ok());
    let name = preceded(tag(" "), consumed((take_while1(|c: char| c.is_ascii_lowercase()), tag(":"), index)));
    let free_of = delimited(tag(" ("), separated_pair(gib, tag("/"), size), tag(")"));
    let share =
        delimited((tag(" on startup is "), tag(TOO_LITTLE)), separated_pair(decimal, tag(", "), size), tag(")"));
    alt((
        map(tag(DEVICE), |_| VllmClause::Words),
        map(name, |(words, (_, _, index))| VllmClause::Device(words, index)),
        map(free_of, |(free, total)| VllmClause::FreeOf(free, total)),
        map(share, |((words, share), size)| VllmClause::Share(words, share, size)),
    ))
    .parse(text)
}

fn other_clause(text: &str) -> IResult<&str, VllmClause<'_>> {
    let requests = delimited(take_while1(|c: char| c.is_alphabetic() || c == ' '), digits, tag(" dummy requests"));
    alt((
        map(alt((tag(NO_BLOCKS), tag(". Try increasing"))), |_| VllmClause::Words),
        map(preceded(tag(WARM_UP), requests), |(words, count)| VllmClause::Number("vllm.max_num_seqs", words, count)),
    ))
    .parse(text)
}

/// `1.71 GiB`, up to 0.8 `1.71 GB` of the same size. Streaming, so that a truncated number is never taken for a whole one.
fn size(text: &str) -> IResult<&str, Size<'_>> {
    let whole = recognize((opt(tag("-")), take_while1(is_amount), opt(tag(" ")), alt((tag("GiB"), tag("GB")))));
    map_opt(whole, |whole: &str| text::size(whole).ok().map(|(_, size)| size)).parse(text)
}

/// `30.25`, of GiB.
fn gib(text: &str) -> IResult<&str, Size<'_>> {
    map_opt(take_while1(is_amount), |words: &str| text::counted(words, Bytes::GIB).ok().map(|(_, size)| size))
        .parse(text)
}

fn is_amount(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

fn decimal(text: &str) -> IResult<&str, (&str, f64)> {
    map_opt(take_while1(is_amount), |words: &str| Some((words, words.parse().ok()?))).parse(text)
}

fn digits(text: &str) -> IResult<&str, (&str, f64)> {
    map_opt(take_while1(|c: char| c.is_ascii_digit()), |words: &str| Some((words, words.parse().ok()?))).parse(text)
}

/// The clauses read from a message.
struct ReadClauses<'a> {
    clauses: Vec<VllmClause<'a>>,
    /// The number of bytes read.
    length: usize,
    /// Whether the text ends where the message may go on.
    is_cut: bool,
}

impl ReadClauses<'_> {
    fn of(message: &str) -> ReadClauses<'_> {
        let (mut rest, mut clauses) = (message, Vec::new());
        loop {
            match clause(rest) {
                Ok((next, clause)) => {
                    clauses.push(clause);
                    rest = next;
                }
                Err(error) => {
                    return ReadClauses { clauses, length: message.len() - rest.len(), is_cut: error.is_incomplete() };
                }
            }
        }
    }
}

/// The shortage that `message` states, if it does not merely mention one.
fn shortage(record: &Record, message: &str) -> Option<Event> {
    let ReadClauses { clauses, .. } = ReadClauses::of(message);
    let is_statement = |words: &str| message.starts_with(words) && !text::is_quoted(record.text(), message);
    let no_blocks = is_statement(NO_BLOCKS) && (clauses.len() > 1 || is_exception(record.text(), message));
    if !(no_blocks || is_statement(WARM_UP) || clauses.iter().any(VllmClause::proves)) {
        return None;
    }
    let device = clauses.iter().find_map(|clause| match clause {
        VllmClause::Device(_, index) => Some(*index),
        _ => None,
    });
    let mut event = origin::shortage(record, "vllm", message, Kind::GpuOom, Severity::Fatal, device);
    for clause in clauses {
        match clause {
            VllmClause::Size(name, size) => event.figures.extend(record.figure(name, size)),
            VllmClause::FreeOf(free, total) => {
                event.figures.extend(record.figure(GpuFree, free));
                event.figures.extend(record.figure(GpuTotal, total));
            }
            VllmClause::Number(key, words, value) => event.facts.push(record.number_fact(key, words, value)),
            VllmClause::Share(words, share, size) => {
                event.facts.push(record.number_fact("vllm.gpu_memory_utilization", words, share));
                event.figures.extend(record.figure(Requested, size));
            }
            VllmClause::Device(words, index) => event.figures.push(record.number(GpuIndex, words, f64::from(index))),
            VllmClause::Words => {}
        }
    }
    Some(event)
}

/// Whether `message` is the text of an exception.
fn is_exception(text: &str, message: &str) -> bool {
    text[..text.len().saturating_sub(message.len())].trim_end().ends_with("Error:")
}

/// `Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor.`, the code from 0.11 on; for Ray's workers
/// `RayWorkerProc rank=[3] died unexpectedly, …`
fn death(record: &Record) -> Option<Event> {
    let part = text::each(record.text(), "Worker proc ").chain(text::each(record.text(), "RayWorkerProc ")).next()?;
    let (_, (role, rank, exit)) = dead_worker(part).ok()?;
    let exit = exit.map_or(Exit::Vanished, Exit::from_status);
    let victim = Victim { rank, role: Some(role.into()), host: record.origin().host.clone(), ..Victim::default() };
    Some(record.event("vllm", part, What::Death(Death { exit, victim, first: false })))
}

type DeadWorker<'a> = (&'a str, Option<u32>, Option<i32>);

fn dead_worker(text: &str) -> IResult<&str, DeadWorker<'_>> {
    let number = |text: &str| text.trim_start_matches(|c: char| !c.is_ascii_digit()).trim_end_matches(']').parse().ok();
    let name = preceded(word("Worker proc "), characters(|c: char| !c.is_whitespace()));
    let named = map(name, |name: &str| (name, name.rsplit(['-', '_']).next().and_then(number)));
    let by_ray = map((word("RayWorkerProc"), take_until(" died")), |(role, rank)| (role, number(rank)));
    let code = delimited(word(" (exit code: "), opt(status), (take_until(")"), char(')')));
    let end = (word(" "), word(DIED), opt(code), word(", shutting down"));
    let (rest, ((role, rank), (_, _, code, _))) = (alt((named, by_ray)), end).parse(text)?;
    Ok((rest, (role, rank, code.flatten())))
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "vllm 0.2–0.33, no room for the KV cache",
        text: "ERROR 03-01 10:00:00 [core.py:396] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
        states: &[("kind", "gpu_oom")],
    },
    Example {
        version: "vllm 0.2–0.10, V0, the longest request does not fit",
        text: "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache (12544). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
        states: &[("kind", "gpu_oom"), ("vllm.max_model_len", "32768"), ("vllm.kv_cache_tokens", "12544")],
    },
    Example {
        version: "vllm 0.8–0.10, V1, the longest request does not fit",
        text: "(EngineCore_0 pid=4711) ERROR 03-01 10:00:00 [core.py:700] ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (6.53 GiB). Based on the available memory, the estimated maximum model length is 53488. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
        states: &[
            ("kind", "gpu_oom"),
            ("pid", "4711"),
            ("requested", "16.00 GiB"),
            ("kv_cache_available", "6.53 GiB"),
            ("vllm.max_model_len", "131072"),
            ("vllm.estimated_max_model_len", "53488"),
        ],
    },
    Example {
        version: "vllm 0.33, V1, the longest request does not fit",
        text: "ValueError: To serve at least one request with the model's max seq len (40960), 5.62 GiB KV cache is needed, which is larger than the available KV cache memory (-0.25 GiB). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
        states: &[("kind", "gpu_oom"), ("requested", "5.62 GiB"), ("kv_cache_available", "-0.25 GiB")],
    },
    Example {
        version: "vllm 0.8, in GB",
        text: "ValueError: To serve at least one request with the models's max seq len (32768), (8.00 GB KV cache is needed, which is larger than the available KV cache memory (4.92 GB). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
        states: &[
            ("kind", "gpu_oom"),
            ("vllm.max_model_len", "32768"),
            ("requested", "8.00 GB"),
            ("kv_cache_available", "4.92 GB"),
        ],
    },
    Example {
        version: "vllm 0.9, V1, another process holds the device",
        text: "ValueError: Free memory on device (30.25/47.5 GiB) on startup is less than desired GPU memory utilization (0.9, 42.75 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        states: &[
            ("kind", "gpu_oom"),
            ("gpu_free", "30.25"),
            ("gpu_total", "47.5 GiB"),
            ("requested", "42.75 GiB"),
            ("vllm.gpu_memory_utilization", "0.9"),
        ],
    },
    Example {
        version: "vllm ≥0.11, V1, another process holds the device",
        text: "(EngineCore pid=4711) ERROR 03-01 10:00:00 [core.py:1136] ValueError: Free memory on device cuda:3 (31.2/79.15 GiB) on startup is less than desired GPU memory utilization (0.95, 75.2 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        states: &[
            ("kind", "gpu_oom"),
            ("gpu_index", "cuda:3"),
            ("device", "3"),
            ("gpu_free", "31.2"),
            ("requested", "75.2 GiB"),
        ],
    },
    Example {
        version: "vllm 0.8–0.33, warm-up",
        text: "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",
        states: &[("kind", "gpu_oom"), ("vllm.max_num_seqs", "1024")],
    },
    Example {
        version: "vllm 0.8–0.10, a worker is gone",
        text: "ERROR 03-01 10:00:00 [multiproc_executor.py:140] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.",
        states: &[("exit", "vanished"), ("role", "VllmWorker-1"), ("rank", "1")],
    },
    Example {
        version: "vllm 0.33, a worker was killed",
        text: "(EngineCore pid=4711) ERROR 03-01 10:00:00 [multiproc_executor.py:284] Worker proc VllmWorker-3 died unexpectedly (exit code: -9), shutting down executor.",
        states: &[("exit", "signal 9"), ("rank", "3")],
    },
    Example {
        version: "vllm 0.33, a worker of Ray is gone",
        text: "ERROR 03-01 10:00:00 [ray_executor_v2.py:464] RayWorkerProc rank=[3] died unexpectedly, shutting down executor.",
        states: &[("exit", "vanished"), ("rank", "3"), ("role", "RayWorkerProc")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    fn stated(text: &str) -> Vec<(String, String)> {
        let events = testing::parse(&VllmFailures, text);
        events
            .into_iter()
            .flat_map(|event| event.figures)
            .map(|figure| (figure.name.to_string(), figure.text))
            .collect()
    }

    #[test]
    fn a_small_first_letter_costs_nothing() {
        let text = "free memory on device cuda:0 (19.77/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, 19.84 GiB)";
        assert_eq!(stated(text), stated(&text.replace("free", "Free")));
        assert!(!stated(text).is_empty());
    }

    #[test]
    fn a_message_wrapped_at_a_terminals_width_is_read_whole() {
        let text = "(EngineCore_0 pid=7) ValueError: To serve at least one request with the models's max seq len (8192), (2.\n50 GiB KV cache is needed, which is larger than the available KV\ncache memory (1.25 GiB). Based on the available memory";
        let stated = stated(text);
        for (name, words) in [("kv_cache_available", "1.25 GiB"), ("requested", "2.")] {
            assert!(stated.contains(&(name.to_owned(), words.to_owned())), "{name} in {stated:?}");
        }
    }

    #[test]
    fn a_message_wrapped_between_its_words_is_read_whole() {
        let whole = "ValueError: Free memory on device cuda:1 (22.06/23.56 GiB) on startup is less than desired GPU memory utilization (0.95, 22.38 GiB).";
        assert!(stated(whole).len() > 2);
        for (at, _) in whole.match_indices(" ").skip(7).take(9) {
            let wrapped = format!("{}\n{}", &whole[..at], &whole[at + 1..]);
            assert_eq!(stated(&wrapped), stated(whole), "{wrapped}");
        }
    }

    #[test]
    fn a_message_cut_off_states_what_is_there() {
        let known = stated("models's max seq len (8192), (2.50 GiB KV cache is needed, which is larger than the avail");
        assert_eq!(known, [("requested".to_owned(), "2.50 GiB".to_owned())]);
        assert!(
            stated("Free memory on device (30.25/47.5 GiB) on startup is less than desired GPU memory util").is_empty()
        );
    }

    #[test]
    fn enough_memory_source_code_and_advice_are_no_failure() {
        for text in [
            "INFO 03-01 10:00:00 [gpu_worker.py:391] Free memory on device (78.5/79.25 GiB) on startup. Desired GPU memory utilization is (0.9, 71.33 GiB). Actual usage is 36.25 GiB for weight",
            "    raise ValueError(\"No available memory for the cache blocks. \"",
            "    f\"The model's max seq len ({max_model_len}) \"",
            "If you see `No available memory for the cache blocks`, raise the share",
            "the run had No available memory for the cache blocks again",
            "the ffmpeg process died unexpectedly (exit code: 1)",
        ] {
            assert!(testing::parse(&VllmFailures, text).is_empty(), "{text}");
        }
    }
}
