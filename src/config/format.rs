use serde::{Deserialize, Serialize};

use super::{dockerfile, ini, modelfile, textproto, toml, xml};
use crate::knowledge::{Inputs, Launchers};

/// The syntax of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JSON with the extensions of hjson.
    Json,
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
    /// Sections of `key=value` lines: a unit of systemd, a submit description of HTCondor, WSL's settings. Also a Dockerfile, XML,
    /// and the text format of protocol buffers.
    Ini,
    /// A launch script, or a bare command line.
    Shell,
    /// Python code, or a notebook with such code.
    Python,
    /// A configuration that a job printed into its log; see [`from_log`](super::from_log).
    Log,
}

impl Format {
    /// The format of the file at `path`: only code is told by its name.
    pub fn of_file(path: &str, text: &str) -> Format {
        let is_code = Inputs::shipped().ending.is_code(path);
        if is_code { Format::Python } else { Format::of(text) }
    }

    /// Recognises the format of `text` by its first words, not by a file name: people name configurations in any way.
    pub fn of(text: &str) -> Format {
        let text = text.trim_start_matches('\u{feff}');
        let is_comment = |line: &str| line.is_empty() || line.starts_with(['#', ';']) || line.starts_with("//");
        let mut lines = text.lines().map(str::trim);
        let is_script = lines
            .clone()
            .take_while(|line| is_comment(line))
            .any(|line| line.starts_with("#!") || Launchers::shipped().scheduler(line).is_some());
        match lines.find(|line| !is_comment(line)).unwrap_or_default() {
            _ if is_script => Format::Shell,
            _ if ini::is_ini(text)
                || modelfile::is_modelfile(text)
                || dockerfile::is_dockerfile(text)
                || textproto::is_textproto(text)
                || xml::is_xml(text) =>
            {
                Format::Ini
            }
            line if is_header(line) && ini::has_sections(text) && toml::read(text).is_err() => Format::Ini,
            line if is_header(line) || is_assignment(line) && toml::read(text).is_ok() => Format::Toml,
            line if is_json(line) => Format::Json,
            line if is_yaml(line) => Format::Yaml,
            _ => Format::Shell,
        }
    }
}

/// `{`, `{"key": …`, `{key: …`, `[{`; but neither `{ command; }` nor `[ -z "$A" ]`.
fn is_json(line: &str) -> bool {
    let is_test = line.starts_with("[ ") || line.starts_with("[[");
    match line.strip_prefix('{').map(str::trim_start) {
        None => line.starts_with("/*") || line.starts_with('[') && !is_test,
        Some(inner) => {
            let word = inner.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            inner.is_empty() || inner.starts_with(['"', '\'', '/', '#', '}']) || word.trim_start().starts_with(':')
        }
    }
}

/// `[section]`, `[[source]]`
fn is_header(line: &str) -> bool {
    let line = line.split_once(" #").map_or(line, |(line, _)| line).trim_end();
    let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let name = name.map(|name| name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name));
    name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.split('.').all(toml::is_bare))
}

/// `key = value`: an assignment in a shell has no blanks around `=`.
fn is_assignment(line: &str) -> bool {
    line.split_once(" = ").is_some_and(|(key, _)| key.split('.').all(toml::is_bare))
}

/// `key:`, `key: value`, `- item`, `---`, `%YAML 1.2`
fn is_yaml(line: &str) -> bool {
    let key = line.split_once(':').filter(|(_, value)| value.is_empty() || value.starts_with([' ', '\t']));
    // A command may have a colon in the JSON of one of its options.
    let is_command = |key: &str| key.contains(['$', '=', ';', '(']) || key.contains(" --") || key.contains(" '{");
    let is_key = |key: &str| !key.is_empty() && !is_command(key.trim_end()) && !key.starts_with('-');
    line == "---"
        || line == "-"
        || line.starts_with("--- ")
        || line.starts_with("- ")
        || line.starts_with("%YAML")
        || key.is_some_and(|(key, _)| is_key(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_formats_apart_by_their_first_words() {
        for (format, texts) in [
            (
                Format::Json,
                &["{\"a\": 1}", "// x\n{\n", "{ \"a\": 1 }", "{}", "/* x */ {}", "[1]", "\u{feff}{a: 1}"][..],
            ),
            (
                Format::Toml,
                &["[training]\nseq_len = 8", "# x\n[[a.b-c]]  # y\n", "max_steps = 20\n\n[model]\n", "a.b = [\n1]"][..],
            ),
            (Format::Ini, &["[General]\njob_type = slurm # or sge\ntask = all", "[a]\nb=c d\n; e\nf = g\n"]),
            (Format::Yaml, &["a: 1", "# x\n\na:\n  b: 1", "---\na: 1", "- a\n", "\"a b\": c", "apiVersion: v1"][..]),
            (
                Format::Shell,
                &[
                    "#!/bin/bash\na: b",
                    "set -x\n",
                    "A=1\n",
                    "python3 -m x \\\n --a 1",
                    "#SBATCH --mem=1\n",
                    "--a 1",
                    "serve model --images '{\"image\": 16}' --length 8192",
                    "x = print(1)",
                    "export A=b:c",
                    "[ -z \"$A\" ] && x",
                    "{ echo; }",
                    ": ${A:=1}",
                    "docker run -p 1:2 x",
                    "",
                ][..],
            ),
        ] {
            for text in texts {
                assert_eq!(Format::of(text), format, "{text}");
            }
        }
    }
}
