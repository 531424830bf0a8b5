//! Reads a Dockerfile: the program that its image starts, and the variables that this program gets.
//!
//! `ENTRYPOINT` and `CMD` are one command line if both are lists (docs.docker.com/reference/dockerfile); of several of one kind the last
//! counts. What builds the image is no part of the job; of what compiles there it is read how much does so at once.

use std::ops::Range;

use super::edit::{Edit, line_start, newline};
use super::entry::FoundSetting;
use super::{Body, EntryKind, Parsed, Value, shell};
use crate::knowledge::Launchers;

/// Whether `text` is a Dockerfile: it begins with its base image, after arguments for that; or it is the part of one that says what is started.
pub(super) fn is_dockerfile(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    if is_part(lines.clone()) {
        return true;
    }
    let first = lines.find(|line| !line.starts_with("ARG ")).unwrap_or_default();
    let mut words = first.split_whitespace();
    words.next() == Some("FROM") && !matches!(words.nth(1), Some("import")) && !super::modelfile::is_modelfile(text)
}

/// Whether all `lines` are instructions, and one of them is a list of words to start.
fn is_part<'t>(lines: impl Iterator<Item = &'t str> + Clone) -> bool {
    const INSTRUCTIONS: [&str; 12] = [
        "ADD ",
        "ARG ",
        "CMD ",
        "COPY ",
        "ENTRYPOINT ",
        "ENV ",
        "EXPOSE ",
        "HEALTHCHECK ",
        "LABEL ",
        "RUN ",
        "USER ",
        "WORKDIR ",
    ];
    let starts = |line: &str| line.starts_with("CMD [\"") || line.starts_with("ENTRYPOINT [\"");
    lines.clone().any(starts) && lines.clone().all(|line| INSTRUCTIONS.iter().any(|word| line.starts_with(word)))
}

pub(super) fn read(text: &str) -> Parsed {
    let mut parsed = Parsed { body: Body::Ini, found: Vec::new(), commands: Vec::new() };
    let mut program: [Option<Range<usize>>; 2] = [None, None];
    let mut steps: Vec<Range<usize>> = Vec::new();
    for (instruction, span) in instructions(text) {
        match instruction.to_ascii_uppercase().as_str() {
            // A later stage begins anew.
            "FROM" => {
                program = [None, None];
                parsed.found.clear();
            }
            "ENTRYPOINT" => program[0] = Some(span),
            "CMD" => program[1] = Some(span),
            "ENV" => variables(text, span, &mut parsed.found),
            "RUN" => steps.push(span),
            _ => {}
        }
    }
    let mut words = Vec::new();
    for span in program.into_iter().flatten() {
        match list(text, &span) {
            Some(list) => words.extend(list),
            None => add(&mut parsed, shell::read(&text[span.clone()]), span.start),
        }
    }
    if !words.is_empty() {
        let mut listed = shell::read_words(words);
        // Of `--name=value` only the value.
        for found in &mut listed.found {
            let raw = text.get(found.span.clone()).unwrap_or_default();
            if let Some(at) = raw.find('=').filter(|_| raw.starts_with('-')) {
                found.span.start += at + 1;
            }
        }
        add(&mut parsed, listed, 0);
    }
    steps.into_iter().for_each(|step| build_jobs(&mut parsed, text, step));
    parsed
}

/// Adds the commands of the step of a build at `step` that compile, with how many processes do so at once: of all that a step does the only
/// thing that decides its memory.
fn build_jobs(parsed: &mut Parsed, text: &str, step: Range<usize>) {
    let mut words = text.get(step.clone()).unwrap_or_default();
    // The builder's own options: `--mount=type=cache,target=/root/.cache`.
    while let Some((_, behind)) = words.split_once(char::is_whitespace).filter(|_| words.starts_with("--")) {
        words = behind.trim_start();
    }
    let programs = &Launchers::shipped().programs;
    // A list, or none of these programs.
    if words.starts_with('[') || !programs.builders.iter().any(|name| words.contains(name.as_str())) {
        return;
    }
    let mut inner = shell::read(words);
    let builds: Vec<bool> = inner.commands.iter().map(|command| programs.builds(&command.program)).collect();
    let is_kept = |at: usize| builds.get(at).copied().unwrap_or(false);
    inner.found.retain(|found| programs.says_build_jobs(&found.key) && found.command.is_some_and(is_kept));
    for found in &mut inner.found {
        let kept = found.command.map(|at| (0..at).filter(|at| is_kept(*at)).count());
        found.command = kept;
    }
    let mut at = 0..builds.len();
    inner.commands.retain(|_| at.next().is_some_and(is_kept));
    add(parsed, inner, step.end - words.len());
}

/// The key of a variable that a step of the build gets, not the program of the image: `RUN make:MAX_JOBS`.
pub(crate) fn key_of_step(step: &str, name: &str) -> String {
    format!("{RUN}{step}:{name}")
}

const RUN: &str = "RUN ";

/// The step and the variable of such a key.
pub(super) fn step_of(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix(RUN)?.rsplit_once(':')
}

/// The edit that adds the variable `key` before the line that names the program, or before the step of the build that needs it. What the
/// step assigns itself is changed there: that wins over what is given to it.
pub(super) fn added(text: &str, key: &str, value: &Value) -> Option<Edit> {
    let starts = |instruction: &str| ["CMD", "ENTRYPOINT"].iter().any(|name| instruction.eq_ignore_ascii_case(name));
    let (span, name) = match step_of(key) {
        Some((step, name)) => (place_of(text, step, name)?, name),
        None => (instructions(text).filter(|(instruction, _)| starts(instruction)).last()?.1, key),
    };
    let word = value.to_string();
    let is_plain = !word.contains(|letter: char| letter.is_whitespace() || "\"'\\$".contains(letter));
    if let Some(own) = step_of(key).and_then(|_| assigned(text.get(span.clone())?, name)) {
        let own = span.start + own.start..span.start + own.end;
        return is_plain.then(|| Edit::replace(own, word));
    }
    is_plain.then(|| Edit::insert(line_start(text, span.start), format!("ENV {name}={word}{}", newline(text))))
}

/// Where the step `step` stands, if it is the only one of its words, whatever it assigns to `name`. A log shows the lines of a step as one.
fn place_of(text: &str, step: &str, name: &str) -> Option<Range<usize>> {
    let words = |step: &str| {
        let mut step = step.to_owned();
        if let Some(own) = assigned(&step, name) {
            step.replace_range(own, "");
        }
        step.split_whitespace().filter(|word| *word != "\\").map(str::to_owned).collect::<Vec<_>>()
    };
    let wanted = words(step);
    let is_it = |(instruction, span): &(&str, Range<usize>)| {
        instruction.eq_ignore_ascii_case("RUN") && text.get(span.clone()).is_some_and(|own| words(own) == wanted)
    };
    let mut places = instructions(text).filter(is_it).map(|(_, span)| span);
    places.next().filter(|_| places.next().is_none())
}

/// The number or word that the step `step` itself assigns to the variable `name`: `MAX_JOBS=32 python setup.py install`.
fn assigned(step: &str, name: &str) -> Option<Range<usize>> {
    let mut from = 0;
    loop {
        let at = from + step.get(from..)?.find(name)?;
        let end = at + name.len();
        let is_begun = step[..at].ends_with(|c: char| c.is_whitespace() || c == ';') || at == 0;
        if let Some(value) = step.get(end..)?.strip_prefix('=').filter(|_| is_begun) {
            let is_border = |c: char| c.is_whitespace() || matches!(c, ';' | '&' | '"' | '\'' | '$');
            let length = value.find(is_border).unwrap_or(value.len());
            return (length > 0).then_some(end + 1..end + 1 + length);
        }
        from = end;
    }
}

/// Whether the step of `key` gets its variable with `value`: from itself, or from the nearest line above it in its stage.
pub(super) fn gives(text: &str, key: &str, value: &Value) -> bool {
    let Some((place, name)) = step_of(key).and_then(|(step, name)| Some((place_of(text, step, name)?, name))) else {
        return false;
    };
    let step = text.get(place.clone()).unwrap_or_default();
    if let Some(own) = assigned(step, name) {
        return step.get(own) == Some(&*value.to_string());
    }
    let mut given = None;
    for (instruction, span) in instructions(text).take_while(|(_, span)| span.start < place.start) {
        let mut found = Vec::new();
        match instruction.to_ascii_uppercase().as_str() {
            "FROM" => given = None,
            "ENV" => variables(text, span, &mut found),
            _ => {}
        }
        given = found.into_iter().rev().find(|found| found.key == name).map(|found| found.value).or(given);
    }
    given.is_some_and(|given| given.to_string() == value.to_string())
}

/// The instructions of `text`: their names, and what stands behind these, with the lines that continue it.
fn instructions(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let (start, end) = (at, super::ini::end_of_line(text, at));
            at = end + 1;
            let line = text[start..end].trim_start();
            let name = line.split_whitespace().next().unwrap_or_default();
            if !name.is_empty() && !name.starts_with('#') {
                let begin = end - line.len() + name.len();
                let rest = &text[begin..end];
                let begin = begin + (rest.len() - rest.trim_start().len());
                return Some((name, begin..begin.max(end - (rest.len() - rest.trim_end().len()))));
            }
        }
        None
    })
}

/// `["gunicorn", "app:app"]`, each word with its place within the quotes.
fn list(text: &str, span: &Range<usize>) -> Option<Vec<(String, Range<usize>)>> {
    let raw = text.get(span.clone())?;
    let words: Vec<String> = serde_json::from_str(raw).ok()?;
    let mut from = 0;
    let placed = words.into_iter().map(|word| {
        let at = from + raw.get(from..)?.find(&format!("\"{word}\""))? + 1;
        from = at + word.len() + 1;
        Some((word.clone(), span.start + at..span.start + at + word.len()))
    });
    placed.collect()
}

/// `A=1 B="two"`, or `A 1`.
fn variables(text: &str, span: Range<usize>, found: &mut Vec<FoundSetting>) {
    let raw = &text[span.clone()];
    let mut add = |name: &str, value: &str, at: usize| {
        let inner = value.trim_matches(['"', '\'']);
        let at = span.start + at + value.find(inner).unwrap_or_default();
        found.push(FoundSetting::new(name, Value::of_word(inner), EntryKind::Env, at..at + inner.len()));
    };
    let first = raw.split_whitespace().next().unwrap_or_default();
    if first.is_empty() {
        return;
    }
    if !first.contains('=') {
        let value = raw[first.len()..].trim_start();
        return add(first, value, raw.len() - value.len());
    }
    let mut quote = None;
    let is_between = |letter: char| match quote {
        Some(open) => {
            if letter == open {
                quote = None;
            }
            false
        }
        None if matches!(letter, '"' | '\'') => {
            quote = Some(letter);
            false
        }
        None => letter.is_ascii_whitespace() || letter == '\\',
    };
    let mut at = 0;
    for word in raw.split(is_between) {
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) {
            add(name, value, at + name.len() + 1);
        }
        at += word.len() + 1;
    }
}

/// Adds what a command line holds that begins at the byte `base`.
fn add(parsed: &mut Parsed, mut more: Parsed, base: usize) {
    let moved = |span: Range<usize>| span.start + base..span.end + base;
    more.found.iter_mut().for_each(|found| found.defined = found.defined.take().map(moved));
    let (found, commands) = more.placed(parsed.commands.len(), moved);
    parsed.found.extend(found);
    parsed.commands.extend(commands);
}

#[cfg(test)]
mod tests {
    use crate::config::{Document, EntryKind, Format, Value};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    const LISTED: &str = "# the server\nARG BASE=x\nFROM pytorch/pytorch:2.4.0\nRUN pip install --no-cache-dir gunicorn\nENV OMP_NUM_THREADS=4 A=\"1\"\nCMD [\"gunicorn\", \"app:app\", \"-w\", \"4\", \"--timeout=300\"]\n";

    fn settings(text: &str) -> Result<Vec<String>, crate::config::ConfigError> {
        let document = Document::read("Dockerfile", text)?;
        let show = |entry: &crate::config::Entry| format!("{:?} {}={}", entry.kind, entry.key, entry.value);
        Ok(document.entries().iter().map(show).collect())
    }

    #[test]
    fn an_image_starts_a_program_with_variables() -> Outcome {
        assert_eq!(Format::of(LISTED), Format::Ini);
        assert_eq!(settings(LISTED)?, ["Env OMP_NUM_THREADS=4", "Env A=1", "Flag w=4", "Flag timeout=300"]);
        let words = "FROM a AS build\nENV B 2\nCMD build --x 1\nFROM b\nENV C 3\nENTRYPOINT serve \\\n  --size 8\n";
        assert_eq!(settings(words)?, ["Env C=3", "Flag size=8"]);
        Ok(())
    }

    #[test]
    fn what_the_program_gets_is_changed_in_its_list() -> Outcome {
        let document = Document::read("Dockerfile", LISTED)?;
        let set = |kind, key: &str, value: &str| document.set_as(kind, None, key, &Value::of_word(value));
        assert_eq!(set(EntryKind::Flag, "w", "1")?, LISTED.replace("\"-w\", \"4\"", "\"-w\", \"1\""));
        assert_eq!(set(EntryKind::Flag, "timeout", "9")?, LISTED.replace("300", "9"));
        assert_eq!(set(EntryKind::Flag, "threads", "2")?, LISTED.replace("300\"", "300\", \"--threads\", \"2\""));
        assert_eq!(set(EntryKind::Env, "OMP_NUM_THREADS", "1")?, LISTED.replace("THREADS=4", "THREADS=1"));
        assert_eq!(set(EntryKind::Env, "B", "2")?, LISTED.replace("CMD", "ENV B=2\nCMD"));
        Ok(())
    }

    #[test]
    fn a_step_of_the_build_gets_a_variable_in_its_own_stage() -> Outcome {
        let text = "FROM a AS build\nRUN make deps\nRUN make\nFROM b\nCMD serve\n";
        let document = Document::read("Dockerfile", text)?;
        let set = |step| document.set_as(EntryKind::Env, None, &super::key_of_step(step, "J"), &Value::of_word("4"));
        assert_eq!(set("make")?, text.replace("RUN make\n", "ENV J=4\nRUN make\n"));
        assert!(set("make test").is_err());
        Ok(())
    }

    #[test]
    fn what_a_step_assigns_itself_is_changed_there() -> Outcome {
        for (step, own) in [
            ("J=32 make", "J=32 make"),
            ("export J=32 && make", "export J=32 && make"),
            ("pip install x && J=32 make", "pip install x \\\n    && J=32 make"),
        ] {
            let text = format!("FROM a\nENV XJ=1\nRUN {own}\nCMD serve\n");
            let document = Document::read("Dockerfile", &text)?;
            let set = document.set_as(EntryKind::Env, None, &super::key_of_step(step, "J"), &Value::of_word("4"));
            assert_eq!(set?, text.replace("J=32", "J=4"));
        }
        Ok(())
    }

    #[test]
    fn what_only_begins_alike_is_none() {
        for other in ["from x import y\n", "FROM x import y\n", "SELECT 1\nFROM t\n", "export A=1\nFROM=2 run\n"] {
            assert!(!super::is_dockerfile(other), "{other}");
        }
    }
}
