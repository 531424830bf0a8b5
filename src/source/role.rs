//! Decides the role of an input: by its name if that is unambiguous, else by its first bytes, because logs have all kinds of names.

use memchr::memmem;

use crate::config::{Document, Format};
use crate::knowledge::{Endings, Inputs, Launchers, TextWords, is_among};
use crate::model::Role;
use crate::snapshot::Recording;

/// How many lines are looked at.
const LINES: usize = 400;

/// The role that the name and `head`, the beginning of an input, show, and a warning. In doubt it is a log: a configuration read as a log
/// costs nothing, a log read as a configuration costs the diagnosis.
pub(crate) fn of(path: &str, head: &[u8]) -> (Role, Option<String>) {
    let (role, warning) = by_content(head);
    if matches!(role, Role::Other) && warning.is_some() {
        return (role, warning);
    }
    let (ends, end) = (&Inputs::shipped().ending, Endings::of(path));
    let is_one_of = |ends: &[String]| is_among(ends, &end);
    match role {
        _ if is_one_of(&ends.written_by_people) => {
            (Role::Other, Some("code or a document, not what a program printed: not read".to_owned()))
        }
        // Whatever words stand in it, of code only the settings are read.
        _ if is_one_of(&ends.code) => (Role::Config, None),
        _ if is_one_of(&ends.nothing_but_settings) => (Role::Config, None),
        Role::Log | Role::Kernel if is_one_of(&ends.script) => (Role::Script, None),
        Role::Other if is_one_of(&ends.log) => (Role::Log, None),
        Role::Log if is_one_of(&ends.settings) && !is_of_a_cluster(head) => (Role::Config, None),
        role => (role, warning),
    }
}

/// Whether the name is that of a log, even if the content is only the command with which it begins.
pub(super) fn is_named_log(path: &str) -> bool {
    is_among(&Inputs::shipped().ending.log, &Endings::of(path))
}

fn words() -> &'static TextWords {
    &Inputs::shipped().text
}

fn begins(line: &str, words: &[String]) -> bool {
    words.iter().any(|word| line.starts_with(word))
}

/// Whether it is a cluster's description of a pod that ran, not its specification.
fn is_of_a_cluster(head: &[u8]) -> bool {
    words().cluster.iter().any(|word| memmem::find(head, word.as_bytes()).is_some())
}

/// The role that the first bytes show.
fn by_content(head: &[u8]) -> (Role, Option<String>) {
    if Recording::may_be(head) {
        return (Role::Snapshot, None);
    }
    if head.is_empty() {
        return (Role::Other, Some("empty".to_owned()));
    }
    if is_binary(head) {
        return (Role::Other, Some("binary: not read".to_owned()));
    }
    let text = String::from_utf8_lossy(head);
    let body = behind_comments(&text);
    if body.starts_with('{')
        && let Some(role) = of_json(body)
    {
        return (role, None);
    }
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(LINES).collect();
    let share =
        |test: fn(&str) -> bool| lines.iter().filter(|line| test(line)).count() as f64 / lines.len().max(1) as f64;
    let role = if may_speak_of_failure(&text) && lines.iter().any(|line| speaks_of_failure(line)) {
        if share(is_kernel_line) > 0.5 { Role::Kernel } else { Role::Log }
    } else if share(is_kernel_line) > 0.5 {
        Role::Kernel
    } else if is_quoted_log(&lines) {
        Role::Log
    } else if is_script(&lines) {
        Role::Script
    } else if Format::of(&text) == Format::Ini {
        Role::Config
    } else if share(is_source_code) > 0.25 {
        Role::Other
    } else if share(is_sentence) < 0.5
        && (lines.iter().all(|line| is_yaml_line(line)) && share(|line| line.contains(':')) > 0.4
            || is_yaml(&lines, &text))
    {
        Role::Config
    } else {
        Role::Log
    };
    (role, None)
}

/// Whether more than a tenth of the bytes are control characters. Leading zeros do not count: a log that was truncated while a program held
/// it open begins with them.
fn is_binary(head: &[u8]) -> bool {
    let text = &head[head.iter().take_while(|byte| **byte == 0).count()..];
    let odd = |byte: &&u8| matches!(byte, 0..=7 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    text.is_empty() || text.iter().filter(odd).count() * 10 > text.len()
}

/// `text` from the first line on that is no comment of JSON: editors begin their files with one.
fn behind_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    while rest.starts_with("//") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}

/// The role of JSON: a kernel log (`dmesg --json`), a log with one record in each line, or a configuration.
fn of_json(text: &str) -> Option<Role> {
    let first = text.lines().next().unwrap_or_default();
    if text.contains("\"dmesg\": [") {
        return Some(Role::Kernel);
    }
    // A configuration on one line mentions no failure.
    let one_record_a_line = first.trim_end().ends_with('}') && (text.lines().count() > 1 || speaks_of_failure(first));
    // Comments are allowed, as in DeepSpeed.
    let is_whole = Document::read_as(Format::Json, "", text).is_ok_and(|document| !document.entries().is_empty());
    let is_torn =
        text.len() as u64 >= super::HEAD && text.lines().nth(1).is_some_and(|line| line.trim_start().starts_with('"'));
    ((is_whole || is_torn) && !one_record_a_line).then_some(Role::Config)
}

/// Whether any line of `text` may report a failure: one search over all is faster than one for each line.
fn may_speak_of_failure(text: &str) -> bool {
    words().failure.iter().any(|word| memmem::find(text.as_bytes(), word.as_bytes()).is_some())
}

fn speaks_of_failure(line: &str) -> bool {
    // A comment in a configuration may name the failure that it avoids.
    let line = line.split(" #").next().unwrap_or_default().trim_end();
    // A script may contain a message that it would print.
    !begins(line.trim_start(), &words().said) && words().failure.iter().any(|word| line.contains(word))
}

/// Whether it is a commented-out log: all lines are comments, and one reports a failure.
fn is_quoted_log(lines: &[&str]) -> bool {
    let quoted = |line: &&str| line.trim_start().strip_prefix('#').is_some_and(|rest| !rest.starts_with('!'));
    lines.iter().all(quoted) && lines.iter().any(|line| speaks_of_failure(line.trim_start().trim_start_matches('#')))
}

fn is_kernel_line(line: &str) -> bool {
    let line = line.trim_start();
    let stamped = |line: &str| {
        line.strip_prefix('[').and_then(|rest| rest.split_once(']')).is_some_and(|(stamp, _)| {
            stamp.trim_start().split_once('.').is_some_and(|(seconds, fraction)| {
                let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
                digits(seconds) && digits(fraction)
            })
        })
    };
    let dated = |line: &str| {
        line.strip_prefix('[').and_then(|rest| rest.split_once(']')).is_some_and(|(stamp, _)| {
            let words: Vec<&str> = stamp.split_whitespace().collect();
            matches!(words.as_slice(), [_, _, _, time, year] if time.matches(':').count() == 2 && year.len() == 4)
        })
    };
    stamped(line)
        || dated(line)
        || line.strip_prefix('<').and_then(|rest| rest.split_once('>')).is_some_and(|(_, rest)| stamped(rest))
        || begins(line, &words().kernel_begins)
        || words().kernel.iter().any(|word| line.contains(word))
}

fn is_script(lines: &[&str]) -> bool {
    let code = || lines.iter().filter(|line| !line.trim_start().starts_with('#'));
    let shell = |line: &&&str| {
        let line = line.trim();
        line.ends_with('\\')
            || begins(line, &words().script_begins)
            || line.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty()
                    && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_uppercase() || byte.is_ascii_digit())
            })
    };
    let total = code().count();
    lines.first().is_some_and(|line| line.starts_with("#!") && !line.contains("python"))
        || lines.iter().any(|line| Launchers::shipped().scheduler(line).is_some())
        || (total > 0 && code().filter(shell).count() * 2 > total)
}

fn is_source_code(line: &str) -> bool {
    let line = line.trim_start();
    begins(line, &words().code_begins) || line.starts_with("from ") && line.contains(" import ")
}

fn is_yaml_line(line: &str) -> bool {
    let line = line.trim_start();
    let key = |line: &str| {
        line.split_once(':').is_some_and(|(key, rest)| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./\"'".contains(&byte);
            !key.is_empty() && key.len() < 80 && key.bytes().all(plain) && (rest.is_empty() || rest.starts_with(' '))
        })
    };
    line.starts_with('#') || line.starts_with("- ") || line == "---" || key(line)
}

/// Whether the whole text is YAML, even if lines within bracketed lists or multi-line texts do not look like it.
fn is_yaml(lines: &[&str], text: &str) -> bool {
    const FEWEST: usize = 3;
    let first = lines.iter().find(|line| !line.trim_start().starts_with('#'));
    // A line that opens a section does not occur in logs.
    let opens = |line: &&str| is_yaml_line(line) && line.trim_end().ends_with(':');
    first.is_some_and(|line| is_yaml_line(line))
        && lines.iter().any(opens)
        && Document::read_as(Format::Yaml, "", text).is_ok_and(|document| document.entries().len() >= FEWEST)
}

/// Whether the text after a name is a sentence, as programs print it, and not a setting's value.
fn is_sentence(line: &str) -> bool {
    const FEWEST: usize = 4;
    let value = line.split_once(": ").map_or("", |(_, value)| value).trim();
    let is_word =
        |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic() || b",.'".contains(&byte));
    !value.starts_with(['"', '\'', '[', '{', '#']) && value.split(' ').filter(is_word).count() >= FEWEST
}
