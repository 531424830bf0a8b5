//! Reads files of `key=value` lines in sections: units of systemd, submit descriptions of HTCondor, WSL's settings.
//!
//! Of a unit, the command line of each `ExecStart=` is read as a script's and each variable of `Environment=` as a variable (systemd.service(5),
//! systemd.exec(5)). A submit description has no sections; its program is `executable` with `arguments` (HTCondor, condor_submit).

use std::ops::Range;

use super::edit::{Edit, line_start, newline};
use super::entry::FoundSetting;
use super::{Body, EntryKind, Parsed, Value, shell, toml};

/// The sections by which such a file is told from TOML.
const SECTIONS: [&str; 7] = ["[Unit]", "[Service]", "[Install]", "[Socket]", "[Slice]", "[Scope]", WSL];
/// The section of WSL's settings.
const WSL: &str = "[wsl2]";

/// How the names of the kernel's parameters begin (sysctl.d(5)).
const KERNELS: [&str; 6] = ["vm.", "kernel.", "fs.", "net.", "dev.", "user."];

/// Whether `text` is such a file.
pub(super) fn is_ini(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line));
    let is_queue = |line: &str| line == "queue" || line.starts_with("queue ");
    let is_executable =
        |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim_end().eq_ignore_ascii_case("executable"));
    lines.clone().next().is_some_and(|line| SECTIONS.contains(&line))
        || lines.clone().any(is_executable) && lines.clone().any(|line| is_queue(&line.to_ascii_lowercase()))
        || is_plain(lines.clone())
        || is_kernels(lines.clone())
        || is_properties(lines) && toml::read(text).is_err()
}

/// Whether each line sets a parameter of the kernel, as files of sysctl.d do: `vm.swappiness = 1`.
fn is_kernels<'t>(lines: impl Iterator<Item = &'t str> + Clone) -> bool {
    let is_set = |line: &str| {
        line.split_once('=').is_some_and(|(key, value)| {
            let key = key.trim().trim_start_matches('-');
            key.split('.').count() > 1
                && key.split('.').all(toml::is_bare)
                && KERNELS.iter().any(|root| key.starts_with(root))
                && !value.trim().is_empty()
        })
    };
    lines.clone().next().is_some() && lines.clone().all(is_set)
}

/// Whether each line is `key=value`, and some key is a path, which is no name in a shell: properties of Java, as Gradle has them.
fn is_properties<'t>(lines: impl Iterator<Item = &'t str> + Clone) -> bool {
    let key = |line: &'t str| line.split_once('=').map(|(key, _)| key.trim_end());
    let is_path = |key: &str| key.contains('.') && key.split('.').all(toml::is_bare);
    let is_key = |key: &str| toml::is_bare(key) || is_path(key);
    lines.clone().all(|line| key(line).is_some_and(is_key)) && lines.clone().any(|line| key(line).is_some_and(is_path))
}

/// Whether each line is `key = value`, and some value is a bare word, which TOML has in quotes: LightGBM's and XGBoost's `conf`, for example.
fn is_plain<'t>(lines: impl Iterator<Item = &'t str> + Clone) -> bool {
    const FEWEST: usize = 3;
    let assigned =
        |line: &'t str| line.split_once('=').map(|(key, value)| (key.trim_end(), without_comment(value).trim()));
    let is_setting = |line: &'t str| assigned(line).is_some_and(|(key, _)| toml::is_bare(key));
    // An assignment in a shell has no blanks around the sign.
    let is_spaced = |line: &str| line.contains(" = ");
    let is_bare = |line: &'t str| {
        assigned(line).is_some_and(|(_, value)| {
            !matches!(value, "true" | "false") && value.parse::<f64>().is_err() && toml::is_bare(value)
        })
    };
    lines.clone().count() >= FEWEST
        && lines.clone().all(|line| is_setting(line) && is_spaced(line))
        && lines.clone().any(is_bare)
}

/// Whether each line is a header or `key = value`, with several values that are words without quotes, and none in quotes: `config.cfg` and
/// its like. A single one may be a mistake in TOML; `; per script` behind a value is none.
pub(super) fn has_sections(text: &str) -> bool {
    const FEWEST: usize = 2;
    let mut words = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line)) {
        match line.split_once('=') {
            Some((key, value)) if toml::is_bare(key.trim_end()) => match value.trim_start().chars().next() {
                None | Some('"' | '\'' | '[' | '{') => return false,
                // Neither a comment of INI nor a bare list of numbers, `.1,.1`, is TOML.
                Some(_) if value.contains(" ;") || value.split(" #").next().is_some_and(|own| own.contains(',')) => {
                    words += FEWEST
                }
                Some(first) => words += usize::from(first.is_alphabetic() && !matches!(value.trim(), "true" | "false")),
            },
            _ if line.starts_with('[') && line.ends_with(']') => {}
            _ => return false,
        }
    }
    words >= FEWEST
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['#', ';'])
}

pub(super) fn read(text: &str) -> Parsed {
    let mut reader = IniReader { text, parsed: Parsed { body: Body::Ini, found: Vec::new(), commands: Vec::new() } };
    // Keys of a submit description may be written in any case.
    let is_submitted = !text.lines().any(|line| SECTIONS.contains(&line.trim()));
    let (mut at, mut submitted, mut is_of_wsl) = (0, Vec::new(), false);
    while at < text.len() {
        let end = end_of_line(text, at);
        let line = &text[at..end];
        if line.trim_start().starts_with('[') {
            is_of_wsl = line.trim() == WSL;
        }
        if let Some(equals) = line.find('=').filter(|_| !is_comment(line.trim_start())) {
            let start = at + equals + 1;
            // In a unit a sign is no comment behind a value.
            let end = if is_submitted { start + without_comment(&text[start..end]).len() } else { end };
            let (key, value) = (line[..equals].trim(), trimmed(text, start..end));
            let key = if is_submitted && !key.contains('.') { key.to_ascii_lowercase() } else { key.to_owned() };
            match &*key {
                _ if key.starts_with("Exec") => reader.command(value),
                "Environment" | "environment" => reader.variables(value),
                "executable" => submitted.splice(0..0, words(text, value)).for_each(drop),
                "arguments" => submitted.extend(words(text, value)),
                _ => {
                    let word = Value::of_word(&text[value.clone()]);
                    // `memory` alone may be anybody's.
                    let key = if is_of_wsl { format!("wsl2.{key}") } else { key };
                    reader.parsed.found.push(FoundSetting::new(&key, word, EntryKind::Setting, value));
                }
            }
        }
        at = end + 1;
    }
    if !submitted.is_empty() {
        let parsed = shell::read_words(submitted);
        reader.add(parsed, 0);
    }
    reader.parsed
}

/// The edit that adds a line for `key`, before the line that starts the program.
pub(super) fn added(text: &str, kind: EntryKind, key: &str, value: &Value) -> Option<Edit> {
    let start = text.match_indices("ExecStart=").map(|(at, _)| at).find(|at| line_start(text, *at) == *at)?;
    let line = match kind {
        EntryKind::Env => format!("Environment=\"{key}={value}\"{}", newline(text)),
        EntryKind::Setting => format!("{key}={value}{}", newline(text)),
        _ => return None,
    };
    Some(Edit::insert(start, line))
}

struct IniReader<'t> {
    text: &'t str,
    parsed: Parsed,
}

impl IniReader<'_> {
    /// `ExecStart=-/usr/bin/vllm serve model \` and the lines that continue it.
    fn command(&mut self, value: Range<usize>) {
        let line = &self.text[value.clone()];
        let start = value.start + (line.len() - line.trim_start_matches(['-', '@', ':', '+', '!', '|']).len());
        let parsed = shell::read(&self.text[start..value.end]);
        self.add(parsed, start);
    }

    /// `Environment="A=1" B=2`
    fn variables(&mut self, value: Range<usize>) {
        for (word, span) in words(self.text, value) {
            if let Some((name, value)) = word.split_once('=') {
                let span = span.end - value.len()..span.end;
                self.parsed.found.push(FoundSetting::new(name, Value::of_word(value), EntryKind::Env, span));
            }
        }
    }

    /// Adds what a command line holds that begins at the byte `base`.
    fn add(&mut self, mut parsed: Parsed, base: usize) {
        let moved = |span: Range<usize>| span.start + base..span.end + base;
        parsed.found.iter_mut().for_each(|found| found.defined = found.defined.take().map(moved));
        let (found, commands) = parsed.placed(self.parsed.commands.len(), moved);
        self.parsed.found.extend(found);
        self.parsed.commands.extend(commands);
    }
}

/// The end of the line that begins at the byte `at`, with the lines that continue it.
pub(super) fn end_of_line(text: &str, at: usize) -> usize {
    let mut end = at;
    loop {
        let line = text[end..].find('\n').map_or(text.len(), |length| end + length);
        if !text[end..line].trim_end().ends_with('\\') || line == text.len() {
            return line;
        }
        end = line + 1;
    }
}

/// A value without the comment behind it: `64MB   # min 64kB`.
fn without_comment(value: &str) -> &str {
    let is_sign = |(at, sign): &(usize, &str)| {
        let inner = value[..*at].trim();
        let is_open = inner.starts_with(['\'', '"']) && !(inner.len() > 1 && inner.ends_with(['\'', '"']));
        value[..*at].ends_with([' ', '\t']) && !is_open && matches!(*sign, "#" | ";")
    };
    value.match_indices(['#', ';']).find(is_sign).map_or(value, |(at, _)| &value[..at])
}

/// `span` without the blanks around what stands there.
pub(super) fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let value = &text[span.clone()];
    let start = span.start + (value.len() - value.trim_start().len());
    start..start.max(span.start + value.trim_end().len())
}

/// The words of a value, each with its place, without the quotes around it.
fn words(text: &str, span: Range<usize>) -> Vec<(String, Range<usize>)> {
    let (mut words, mut start, mut quote) = (Vec::new(), None, None);
    let value = &text[span.clone()];
    for (at, letter) in value.char_indices().chain([(value.len(), ' ')]) {
        let at = span.start + at;
        let ends = match quote {
            Some(open) => letter == open || at == span.end,
            None => letter.is_whitespace(),
        };
        match (start, ends) {
            (Some(begin), true) => {
                if begin < at {
                    words.push((text[begin..at].to_owned(), begin..at));
                }
                (start, quote) = (None, None);
            }
            (None, false) if matches!(letter, '"' | '\'') => (start, quote) = (Some(at + 1), Some(letter)),
            (None, false) if letter != '\\' => start = Some(at),
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use crate::config::{ConfigError, Document, EditError, EntryKind, Format};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    const UNIT: &str = "[Unit]\nDescription=a model = a server\n\n[Service]\n# of the host\nEnvironment=\"HF_HOME=/data/hf\" A=1\nExecStart=/opt/bin/vllm serve org/x-7b \\\n    --max-model-len 32768 --enforce-eager\nMemoryMax=200G\n";
    const SUBMITTED: &str =
        "executable = /usr/bin/python3\narguments = \"train.py --batch 4\"\nrequest_memory = 64GB\nqueue\n";

    fn settings(text: &str) -> Result<Vec<String>, ConfigError> {
        let document = Document::read("job", text)?;
        let show = |entry: &crate::config::Entry| format!("{:?} {}={}", entry.kind, entry.key, entry.value);
        Ok(document.entries().iter().map(show).collect())
    }

    #[test]
    fn a_unit_is_a_program_with_its_variables_and_limits() -> Outcome {
        assert_eq!(Format::of(UNIT), Format::Ini);
        assert_eq!(
            settings(UNIT)?,
            [
                "Setting Description=a model = a server",
                "Env HF_HOME=/data/hf",
                "Env A=1",
                "Flag max-model-len=32768",
                "Flag enforce-eager=true",
                "Setting MemoryMax=200G",
            ]
        );
        let document = Document::read("x.service", UNIT)?;
        assert_eq!(document.commands().iter().map(|command| command.typed()).collect::<Vec<_>>(), ["vllm serve"]);
        Ok(())
    }

    #[test]
    fn a_submit_description_is_a_program_with_its_request() -> Outcome {
        assert_eq!(Format::of(SUBMITTED), Format::Ini);
        assert_eq!(settings(SUBMITTED)?, ["Setting request_memory=64GB"]);
        assert_eq!(settings(&SUBMITTED.replace("exec", "Exec").replace("request_memory", "Request_Memory"))?.len(), 1);
        let plain = SUBMITTED.replace('"', "");
        assert_eq!(settings(&plain)?, ["Setting request_memory=64GB", "Flag batch=4"]);
        Ok(())
    }

    #[test]
    fn settings_without_sections_are_plain() -> Outcome {
        let text = "# of a booster\ntask = train\ndevice_type = gpu\nmax_bin = 255\n";
        assert_eq!(settings(text)?, ["Setting task=train", "Setting device_type=gpu", "Setting max_bin=255"]);
        // Few lines, a shell's assignments, and what is TOML.
        for other in ["a = b\nc = d\n", "a=b\nc=d\ne=f\n", "a = 1\nb = true\nc = \"d\"\n", "a = b\nc = d\nrun it\n"] {
            assert_ne!(Format::of(other), Format::Ini, "{other}");
        }
        Ok(())
    }

    #[test]
    fn keys_of_properties_are_paths() -> Outcome {
        let text = "# of a build\norg.gradle.jvmargs=-Xmx1g -Dfile.encoding=UTF-8\nandroid.useAndroidX=true\nname=x\n";
        let found = settings(text)?;
        let expected = [
            "Setting org.gradle.jvmargs=-Xmx1g -Dfile.encoding=UTF-8",
            "Setting android.useAndroidX=true",
            "Setting name=x",
            "Flag org.gradle.jvmargs:Xmx=1g",
        ];
        assert_eq!(found, expected);
        for other in ["A=1 python x.py --a.b=2\n", "a.b=c\npython train.py\n", "A=1\nB=2\n"] {
            assert_ne!(Format::of(other), Format::Ini, "{other}");
        }
        Ok(())
    }

    #[test]
    fn a_comment_behind_a_value_is_no_part_of_it() -> Outcome {
        let text = "max_connections = 300\t\t# (change requires restart)\nwork_mem = 64MB  # min 64kB\nport = 5432\nsearch = '#a' # b\n";
        let expected =
            ["Setting max_connections=300", "Setting work_mem=64MB", "Setting port=5432", "Setting search='#a'"];
        assert_eq!(settings(text)?, expected);
        Ok(())
    }

    #[test]
    fn toml_and_scripts_are_none() {
        for text in [
            "[experimental]\nx = 1\n",
            "[project]\nname = \"x\"\n",
            "[model]\nname = x\n",
            "queue=1\nexecutable=a\n./run\n",
        ] {
            assert_ne!(Format::of(text), Format::Ini, "{text}");
        }
    }

    #[test]
    fn changes_what_is_there_and_adds_what_is_not() -> Outcome {
        let document = Document::read("x.service", UNIT)?;
        let set = |kind, key: &str, value: &str| -> Result<String, EditError> {
            document.set_as(kind, None, key, &crate::config::Value::of_word(value))
        };
        assert_eq!(set(EntryKind::Setting, "MemoryMax", "240G")?, UNIT.replace("200G", "240G"));
        assert_eq!(set(EntryKind::Flag, "max-model-len", "8192")?, UNIT.replace("32768", "8192"));
        assert_eq!(set(EntryKind::Env, "A", "2")?, UNIT.replace("A=1", "A=2"));
        let more = UNIT.replace("--enforce-eager", "--enforce-eager --max-num-seqs 64");
        assert_eq!(set(EntryKind::Flag, "max-num-seqs", "64")?, more);
        let variable = UNIT.replace("ExecStart=", "Environment=\"B=3\"\nExecStart=");
        assert_eq!(set(EntryKind::Env, "B", "3")?, variable);
        assert_eq!(
            set(EntryKind::Setting, "MemoryHigh", "1G")?,
            UNIT.replace("ExecStart=", "MemoryHigh=1G\nExecStart=")
        );
        Ok(())
    }
}
