//! Recognises the first line of a configuration that a job printed.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::{memchr_iter, memchr2_iter, memchr3};

use super::super::shell;
use super::super::value::word_length;
use super::MANY;

/// The first line of a printed configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub notation: Notation,
    /// The part of the line that belongs to the configuration.
    pub part: Range<usize>,
}

/// The notation of a printed configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    /// A command line in shell syntax.
    Command,
    /// `['python3', '-u', 'train.py', …]`
    List,
    /// `model='x', seed=0` on a single line.
    Fields,
    /// `{…}` or `Name(…)`, up to the closing bracket on a later line. `is_named` means that its label calls it a
    /// configuration, so that a few settings suffice.
    Brackets { is_named: bool },
    /// `key=value,`, one per line, up to `)`.
    Assignments,
    /// `key ...... value`, one per line.
    Dots,
    /// `key : value`, one per line.
    Colons,
}

/// The configuration that begins in the line `body`, if any.
pub(super) fn head(body: &str) -> Option<Head> {
    let whole = |at: usize| at..body.len();
    // The trace of bash's `set -x`: one plus per level of nested shells.
    let plus = body.len() - body.trim_start_matches('+').len();
    if (1..=4).contains(&plus) && body[plus..].starts_with(' ') {
        let command = body[plus..].trim_start();
        let part = whole(body.len() - command.len());
        return shell::starts_program(command).then_some(Head { notation: Notation::Command, part });
    }
    if let Some(at) = prompt(body) {
        let part = whole(at);
        return shell::starts_program(&body[at..]).then_some(Head { notation: Notation::Command, part });
    }
    if MARKS.iter().any(|mark| body.contains(mark)) { marked(body) } else { unmarked(body) }
}

/// Where the command begins that somebody typed at the prompt of a shell: `(env) C:\work>python x.py`, `(env) ana@pc:~$ python x.py`.
fn prompt(body: &str) -> Option<usize> {
    /// More is no prompt.
    const LONGEST: usize = 200;
    let mut words = body;
    // Environments that are active.
    while let Some(rest) = words.strip_prefix('(') {
        let (name, rest) = rest.split_once(") ")?;
        words = if name.contains(['(', ' ']) { return None } else { rest };
    }
    words = words.strip_prefix("PS ").unwrap_or(words);
    let end = match words.as_bytes() {
        [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic() => words.find('>')? + 1,
        [b'$', b' ', ..] => 1,
        // `ana@pc:~/work$ `, `[ana@pc work]$ `
        _ => {
            let end = words.find("$ ")?;
            let place = &words[..end];
            let is_one = place.contains('@')
                && !place.trim_start_matches('[').trim_end_matches(']').contains(['"', '\'', '=', '(']);
            if !is_one || place.contains(' ') && !place.starts_with('[') {
                return None;
            }
            end + 1
        }
    };
    let command = words.get(end..)?.trim_start();
    (end <= LONGEST && !command.is_empty()).then(|| body.len() - command.len())
}

/// Whether a configuration may begin in this raw line, with its colours, prefixes and wrappers. A cheap test that
/// spares most lines the full reading.
pub(super) fn may_begin(raw: &[u8]) -> bool {
    // Colours and escapes may split the words searched for.
    memchr3(b'{', b'\x1b', b'\\', raw).is_some()
        || memchr2_iter(b'(', b'+', raw).any(|at| match raw[at] {
            b'(' => NAMES_END.iter().any(|end| raw[..at].ends_with(end.as_bytes())),
            _ => raw.get(at + 1).is_none_or(|next| matches!(next, b' ' | b'+')),
        })
        || FIRST_WORDS.as_ref().is_none_or(|words| words.is_match(raw))
}

/// How names of settings classes end: `TrainingArguments(`, `Namespace(`.
const NAMES_END: &[&str] = &["Namespace", "Arguments", "Args", "Config"];

/// Every line that only [`marked`] recognises contains one of these.
const MARKS: &[&str] = &["cmd = ", "Running entrypoint for job ", "['", " engine (v", "non-default args: {"];

/// Every line that [`unmarked`] recognises without a bracket contains one of these, dots or the title that torch prints, and every prompt
/// of a shell this or the backslash of a path.
const OTHERS: &[&str] = &[" .", "launch configs:", "$ "];

/// One search for all of them, because it is asked of every line.
static FIRST_WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(MARKS.iter().chain(OTHERS)).ok()
});

/// A configuration that known words introduce, or else one that [`unmarked`] recognises.
fn marked(body: &str) -> Option<Head> {
    let whole = |at: usize| at..body.len();
    // DeepSpeed's runner: `launcher/runner.py` (0.3–0.19).
    for (mark, names_job) in [("cmd = ", false), ("Running entrypoint for job ", true)] {
        if let Some(at) = body.find(mark) {
            let start = at + mark.len();
            // Ray's `dashboard/modules/job/job_supervisor.py` (2.0–2.60) prints the job's name before the command.
            let start = if names_job { start + body[start..].find(": ")? + 2 } else { start };
            return shell::starts_program(&body[start..])
                .then_some(Head { notation: Notation::Command, part: whole(start) });
        }
    }
    // DeepSpeed's `launcher/launch.py`: `process 812 spawned with command: [...]`, `[...] exits with return code = -9`.
    if let Some(at) = body.find("['").filter(|_| body.contains("command") || body.contains("exits with return code")) {
        return Some(Head { notation: Notation::List, part: whole(at) });
    }
    // vLLM's `v1/engine/core.py`, `engine/llm_engine.py` (0.2–0.33).
    if let Some(at) = body.find(" engine (v").and_then(|at| body[at..].find(" with config: ").map(|next| at + next)) {
        let start = at + " with config: ".len();
        return Some(Head { notation: Notation::Fields, part: whole(start) });
    }
    if let Some(at) = body.find("non-default args: {") {
        let (start, notation) = (at + "non-default args: ".len(), Notation::Brackets { is_named: true });
        return Some(Head { notation, part: whole(start) });
    }
    unmarked(body)
}

/// A configuration that is recognised by its form alone.
fn unmarked(body: &str) -> Option<Head> {
    let whole = |at: usize| at..body.len();
    let end = body.trim_end().len();
    if dots(body).is_some() {
        return Some(Head { notation: Notation::Dots, part: whole(0) });
    }
    // torch's `distributed/launcher/api.py`.
    if body.ends_with("launch configs:") {
        return Some(Head { notation: Notation::Colons, part: end..end });
    }
    if let Some(name) = call(body) {
        let rest = body[name.end + 1..].trim();
        // transformers' `TrainingArguments.__str__` puts each field on a line of its own.
        let (notation, start) = match rest.is_empty() {
            true => (Notation::Assignments, end),
            false => (Notation::Brackets { is_named: true }, name.start),
        };
        return Some(Head { notation, part: whole(start) });
    }
    let brace = body.find('{')?;
    let (label, inner) = (body[..brace].trim(), body[brace + 1..].trim_start());
    // A label with one of these is code, where the brace belongs to a call or an assignment.
    let is_code = label.contains(['(', '=', '.', '\'', '"']);
    let is_named = label.to_ascii_lowercase().contains("config") && !is_code || label == "json =";
    let begins = (inner.is_empty() && (is_named || label.is_empty())) || inner.starts_with(['\'', '"']);
    if !begins || label.len() > 80 || !is_named && is_whole_and_small(&body[brace..]) {
        return None;
    }
    Some(Head { notation: Notation::Brackets { is_named }, part: whole(brace) })
}

/// Whether all braces of `text` are closed and it has too few colons for a configuration. Metrics look like this, and
/// are printed as long as a job runs.
fn is_whole_and_small(text: &str) -> bool {
    let count = |byte: u8| memchr_iter(byte, text.as_bytes()).count();
    count(b':') < MANY && count(b'{') == count(b'}')
}

/// The name in `Namespace(`, `TrainingArguments(`, `ServerArgs(`, `GRPOConfig(`, if a field or the end of the line
/// follows.
fn call(body: &str) -> Option<Range<usize>> {
    body.match_indices('(').find_map(|(at, _)| {
        let name = body[..at].bytes().rev().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let (name, rest) = (at - name..at, &body[at + 1..]);
        let field = word_length(rest);
        let is_open = rest.trim().is_empty() || field > 0 && rest[field..].starts_with('=');
        let word = &body[name.clone()];
        let is_name =
            word.starts_with(|c: char| c.is_ascii_uppercase()) && NAMES_END.iter().any(|end| word.ends_with(end));
        (is_name && is_open).then_some(name)
    })
}

/// The spans of key and value in `  micro_batch_size ......... 4`, as Megatron's `training/arguments.py` and
/// DeepSpeed's `runtime/config.py` print it.
pub(super) fn dots(body: &str) -> Option<(Range<usize>, Range<usize>)> {
    let start = body.len() - body.trim_start().len();
    let name = word_length(&body[start..]);
    let rest = body[start + name..].strip_prefix(' ')?;
    let dots = rest.bytes().take_while(|byte| *byte == b'.').count();
    // DeepSpeed pads with dots to 29 columns, Megatron to 48.
    let is_full = dots >= 2 || name + dots >= 29;
    let value = rest[dots..].strip_prefix(' ')?;
    let from = body.len() - value.len();
    (name > 0 && is_full && !value.trim().is_empty())
        .then(|| (start..start + name, from..from + value.trim_end().len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_is_never_left_unread_and_most_lines_are() {
        let begin = [
            "(WorkerDict pid=4711) Namespace(batch_size=4, lr=1e-5)",
            "TrainingArguments(",
            "ServerArgs(model_path='x', tp_size=8)",
            "+ torchrun --nproc-per-node 8 train.py",
            "++ python train.py",
            "+",
            "(base) C:\\work>python train.py",
            "(env) ana@pc:~/work$ python train.py",
            "$ python train.py",
            "DeepSpeed config: {",
            "\x1b[36mGRPOConfig\x1b[0m(",
            "  micro_batch_size ............................... 4",
            "[2026-03-01 10:00:00] cmd = /usr/bin/python3 -u train.py",
            "INFO 06-10 10:55:03 [core.py:55] Initializing a V1 LLM engine (v0.9.0) with config: model='x'",
        ];
        for line in begin {
            assert!(may_begin(line.as_bytes()), "{line}");
        }
        let others = [
            "(WorkerDict pid=4711) step 3 | loss 0.1 | lr 1.0e+06",
            "(raylet) node_manager.cc:3250: 1 Workers (tasks / actors) killed",
            "  0%|          | 3/100 [00:01<00:33,  2.9it/s]",
        ];
        for line in others {
            assert!(!may_begin(line.as_bytes()), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_has_a_head_may_begin(line in "(\\+{0,3}|[A-Za-z ]{0,8})(Namespace|Args|Config|cmd = |x)?[ ({+.]{0,4}[a-z_=' ]{0,12}[.]{0,30} ?[0-9]?") {
            proptest::prop_assert!(head(&line).is_none() || may_begin(line.as_bytes()));
        }
    }
}
