//! What an input is: by its name where that leaves no choice, else by its first bytes, for nobody names a log as we would.

use memchr::memmem;

use crate::config::{Document, Format};
use crate::model::Role;

/// Lines enough to tell one kind of text from another.
const LINES: usize = 400;

/// What is never read, whatever words stand in it: code, its tests, documents.
const WRITTEN_BY_PEOPLE: &[&str] = &[
    "adoc", "c", "cc", "cpp", "cs", "css", "cu", "cuh", "cxx", "diff", "go", "h", "hh", "hpp", "htm", "html", "ipynb",
    "java", "jl", "js", "jsx", "kt", "lua", "markdown", "md", "patch", "php", "pl", "proto", "py", "pyi", "pyx", "rb",
    "rs", "rst", "scala", "sql", "swift", "tex", "ts", "tsx",
];
/// A launch script, however short.
const SCRIPTS: &[&str] = &["bash", "sbatch", "sh", "slurm", "zsh"];
/// What a program printed.
const LOGS: &[&str] = &["err", "log", "out", "stderr", "stdout"];
/// A configuration, unless it is what a cluster says of a pod.
const SETTINGS: &[&str] = &["yaml", "yml"];
/// Nothing but a configuration, whatever its lines look like.
const NOTHING_BUT_SETTINGS: &[&str] = &["toml"];

/// The role that the name and `head`, the beginning of an input, show, and what is odd about it. In doubt it is a log: a
/// configuration read as a log costs nothing, a log read as a configuration costs the diagnosis.
pub(super) fn of(path: &str, head: &[u8]) -> (Role, Option<String>) {
    let (role, warning) = by_content(head);
    if matches!(role, Role::Other) && warning.is_some() {
        return (role, warning);
    }
    let end = ending(path);
    let is_one_of = |ends: &[&str]| ends.contains(&end.as_str());
    match role {
        _ if is_one_of(WRITTEN_BY_PEOPLE) => {
            (Role::Other, Some("code or a document, not what a program printed: not read".to_owned()))
        }
        _ if is_one_of(NOTHING_BUT_SETTINGS) => (Role::Config, None),
        Role::Log | Role::Kernel if is_one_of(SCRIPTS) => (Role::Script, None),
        Role::Other if is_one_of(LOGS) => (Role::Log, None),
        Role::Log if is_one_of(SETTINGS) && !is_of_a_cluster(head) => (Role::Config, None),
        role => (role, warning),
    }
}

/// Whether the name says that a program printed it, though nothing may stand there but the command that it began with.
pub(super) fn is_named_log(path: &str) -> bool {
    LOGS.contains(&ending(path).as_str())
}

/// How the file's name ends, in small letters.
fn ending(path: &str) -> String {
    let name = path.rsplit(['/', '\\', ':']).next().unwrap_or_default();
    name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default()
}

/// Whether it is what Kubernetes says of pods, nodes and events: the state of what ran, not how it was to run.
fn is_of_a_cluster(head: &[u8]) -> bool {
    [&b"status:"[..], b"reason:", b"containerStatuses"].iter().any(|word| memmem::find(head, word).is_some())
}

/// The role that the first bytes show.
fn by_content(head: &[u8]) -> (Role, Option<String>) {
    if head.is_empty() {
        return (Role::Other, Some("empty".to_owned()));
    }
    if is_binary(head) {
        return (Role::Other, Some("binary: not read".to_owned()));
    }
    let text = String::from_utf8_lossy(head);
    if text.trim_start().starts_with('{')
        && let Some(role) = of_json(&text)
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

/// More than one byte in ten that no terminal would show. Leading zeros do not count: a log that was truncated while
/// a program held it open begins with them.
fn is_binary(head: &[u8]) -> bool {
    let text = &head[head.iter().take_while(|byte| **byte == 0).count()..];
    let odd = |byte: &&u8| matches!(byte, 0..=7 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    text.is_empty() || text.iter().filter(odd).count() * 10 > text.len()
}

/// JSON is a kernel log (`dmesg --json`), one log record a line, or a configuration.
fn of_json(text: &str) -> Option<Role> {
    let first = text.lines().next().unwrap_or_default();
    if text.contains("\"dmesg\": [") {
        return Some(Role::Kernel);
    }
    // A configuration on one line tells of no failure.
    let one_record_a_line = first.trim_end().ends_with('}') && (text.lines().count() > 1 || speaks_of_failure(first));
    // With comments, too: DeepSpeed reads them.
    let is_whole = Document::read_as(Format::Json, "", text).is_ok_and(|document| !document.entries().is_empty());
    let is_torn =
        text.len() as u64 >= super::HEAD && text.lines().nth(1).is_some_and(|line| line.trim_start().starts_with('"'));
    ((is_whole || is_torn) && !one_record_a_line).then_some(Role::Config)
}

/// Words that stand in no configuration, comments aside.
const FAILURE: &[&str] = &[
    "Traceback (most recent call last)",
    "out of memory",
    "OutOfMemory",
    "oom-kill",
    "Killed process",
    "exitcode",
    "exit code",
    "low on memory",
    "annot allocate memory",
    "memory exhausted",
    "bad_alloc",
    "OOMKilled",
    "SIGKILL",
    "显存不足",
    "内存不足",
    "Error: ",
    "error: ",
    "ERROR: ",
    "FATAL: ",
    "WARNING: ",
    "Warning: ",
    "[INFO]",
    "[ERROR]",
    " INFO ",
    " ERROR ",
    " WARNING ",
];

/// Whether any line of `text` may speak of a failure, which is known sooner of all than of each.
fn may_speak_of_failure(text: &str) -> bool {
    FAILURE.iter().any(|word| memmem::find(text.as_bytes(), word.as_bytes()).is_some())
}

fn speaks_of_failure(line: &str) -> bool {
    // A comment in a configuration may well say what it is there to avoid.
    let line = line.split(" #").next().unwrap_or_default().trim_end();
    // Nor has a script failed that says what it would print then.
    let is_said = !["#", "echo ", "printf "].iter().any(|start| line.trim_start().starts_with(start));
    is_said && FAILURE.iter().any(|word| line.contains(word))
}

/// A log that somebody put into comments: nothing else stands there, and a line of it tells of a failure.
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
        || line.starts_with("kern  :")
        || line.strip_prefix('<').and_then(|rest| rest.split_once('>')).is_some_and(|(_, rest)| stamped(rest))
        || line.contains(" kernel: ")
        || line.contains("invoked oom-killer:")
        || line.contains("oom-kill:constraint=")
        || line.contains("Killed process ")
        || line.contains("oom_reaper: ")
        || line.starts_with("CPU: ")
}

fn is_script(lines: &[&str]) -> bool {
    let code = || lines.iter().filter(|line| !line.trim_start().starts_with('#'));
    let shell = |line: &&&str| {
        let line = line.trim();
        line.ends_with('\\')
            || line.starts_with("--")
            || line.starts_with("export ")
            || line.starts_with("set -")
            || line.starts_with("#SBATCH")
            || [
                "source ",
                "cd ",
                "sbatch ",
                "srun ",
                "torchrun ",
                "deepspeed ",
                "python ",
                "python3 ",
                "accelerate ",
                "vllm serve ",
                "trl ",
                "swift ",
                "llamafactory-cli ",
                "docker run ",
                "ray job submit ",
                "bash ",
            ]
            .iter()
            .any(|word| line.starts_with(word))
            || line.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty()
                    && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_uppercase() || byte.is_ascii_digit())
            })
    };
    let total = code().count();
    lines.first().is_some_and(|line| line.starts_with("#!") && !line.contains("python"))
        || lines.iter().any(|line| line.starts_with("#SBATCH"))
        || (total > 0 && code().filter(shell).count() * 2 > total)
}

fn is_source_code(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("import ")
        || line.starts_with("def ")
        || line.starts_with("class ")
        || line.starts_with("return ")
        || (line.starts_with("from ") && line.contains(" import "))
        || line.starts_with("#include")
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

/// Whether it is YAML of more than one line's structure: lists in brackets and texts over several lines are no lines of YAML.
fn is_yaml(lines: &[&str], text: &str) -> bool {
    const FEWEST: usize = 3;
    let first = lines.iter().find(|line| !line.trim_start().starts_with('#'));
    // What opens a section is no line of a log.
    let opens = |line: &&str| is_yaml_line(line) && line.trim_end().ends_with(':');
    first.is_some_and(|line| is_yaml_line(line))
        && lines.iter().any(opens)
        && Document::read_as(Format::Yaml, "", text).is_ok_and(|document| document.entries().len() >= FEWEST)
}

/// Whether what is said behind a name is a sentence, as programs print it, and no setting's value.
fn is_sentence(line: &str) -> bool {
    const FEWEST: usize = 4;
    let value = line.split_once(": ").map_or("", |(_, value)| value).trim();
    let is_word =
        |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic() || b",.'".contains(&byte));
    !value.starts_with(['"', '\'', '[', '{', '#']) && value.split(' ').filter(is_word).count() >= FEWEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_inputs_apart_by_their_content() {
        let cases: &[(Role, &str)] = &[
            (Role::Config, "{\n \"zero_optimization\": {\"stage\": 3}\n}\n"),
            (Role::Config, "# launch\nworker:\n  actor:\n    offload_params: true\n  list:\n    - a\n"),
            (Role::Script, "#!/bin/bash\nset -x\npython3 -m openrlhf.cli.train_ppo_ray \\\n   --zero_stage 3\n"),
            (Role::Script, "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.9\n"),
            (Role::Script, "deepspeed --include localhost:0 train.py \\\n  --bf16\n"),
            (Role::Script, "TBS=128   # avoid CUDA out of memory\nMODEL=${1}\n"),
            (Role::Kernel, "{\n   \"dmesg\": [\n      {\n"),
            (Role::Kernel, "[    1.000001] Linux version 6.1\n[    1.000002] Command line: quiet\n"),
            (
                Role::Kernel,
                "Jan  5 15:19:27 node1 kernel: [ 5864.7] python invoked oom-killer: gfp_mask=0xd0, order=0\n",
            ),
            (
                Role::Log,
                "{\"log\":\"step 1\\n\",\"stream\":\"stdout\"}\n{\"log\":\"step 2\\n\",\"stream\":\"stdout\"}\n",
            ),
            (Role::Log, "{\"level\":\"error\",\"msg\":\"Traceback (most recent call last):\\n  File\"}\n"),
            (Role::Log, "  time      : 2026-03-01\n  host      : node3\n  exitcode  : -9 (pid: 23456)\n"),
            (Role::Kernel, "[Di Aug 12 03:54:03 2025] php-fpm invoked oom-killer: gfp_mask=0x1100cca\n"),
            (Role::Log, "slurmstepd: error: Job 1 exceeded memory limit (5 > 4), being killed\n"),
            (Role::Log, "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR\n"),
            (Role::Log, "[2023-10-30 14:14:35] 2023-10-30 06:14:35,574\tWARNING worker.py:2037 -- A worker died: x\n"),
            (Role::Config, "# run it\nmodel:\n  files: [\n    a.bin,\n    b.bin\n  ]\nlog_level: INFO  # or WARN\n"),
            (Role::Config, "kind: Job\nspec:\n  args:\n  - sh\n  - -c\n  - \"cd /w;\n    python3 train.py --a 1\"\n"),
            (
                Role::Script,
                "#!/bin/bash\nif [ ! -f x ]; then\n    echo \"Error: x is not there\"\nfi\npython train.py\n",
            ),
            (Role::Log, "job: 12\nstate:\n  Error: it ran out of memory\n  steps: 3\n"),
            (Role::Log, "step 1 loss 0.5\nstep 2 loss 0.4\n"),
            (Role::Log, "Killed\n"),
            (Role::Log, "# step 3\n# [rank2]: RuntimeError: CUDA out of memory.\n"),
            (Role::Log, "llama_kv_cache_init: failed to allocate buffer for kv cache\n"),
            (Role::Config, "# as small as CUDA out of memory asks for\nbatch: 2\n"),
            (Role::Other, "import torch\nfrom x import y\n\ndef main():\n    return 1\n"),
            (Role::Other, "\u{1}\u{2}\u{3}\u{4}\0\0\0binary"),
            (Role::Log, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0truncated while open\nstep 1\n"),
        ];
        for (role, head) in cases {
            assert_eq!(of("-", head.as_bytes()).0, *role, "{head}");
        }
        assert_eq!(of("-", b"").1.as_deref(), Some("empty"));
    }

    /// Sources, notebooks and documents were read as logs of the failures that they speak of, and short scripts as logs.
    #[test]
    fn what_the_name_says_counts_first() {
        const FAILS: &str = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
        let pod = "kind: Pod\nstatus:\n  containerStatuses:\n  - state:\n      terminated:\n        reason: OOMKilled\n        message: \"Error: x\"\n";
        for (role, path, head) in [
            (Role::Other, "src/lib.rs", FAILS),
            (Role::Other, "tests/test_oom.py", FAILS),
            (Role::Other, "analysis.ipynb", "{\"cells\": [{\"outputs\": [\"CUDA out of memory\"]}]}\n"),
            (Role::Other, "notes/README.MD", FAILS),
            (Role::Log, "job.log", FAILS),
            (Role::Log, "job.py.log", FAILS),
            (Role::Log, "job.log", "import torch\n"),
            (Role::Log, "slurm-12.out", FAILS),
            (Role::Log, "logs.tar:run.sh.out", FAILS),
            (Role::Script, "run.sh", "if [ -n \"$1\" ]; then\n  python train.py\nfi\n"),
            (Role::Script, "job.slurm", "echo \"Error: \"\n"),
            (Role::Config, "train.yaml", "note: it said Error: CUDA out of memory\n"),
            (Role::Log, "pod.yaml", pod),
            (Role::Config, "job.toml", "[job]\ndump_folder = \"out\"  # INFO and WARNING: \n"),
            (Role::Config, "job.toml", "A = 1\n"),
        ] {
            assert_eq!(of(path, head.as_bytes()).0, role, "{path}");
        }
    }
}
