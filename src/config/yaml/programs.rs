//! Finds the programs that a YAML file starts, with their arguments: containers, jobs of Ray, services of compose, and
//! charts that pass lists of options on.

use std::ops::Range;

use crate::config::entry::{FoundCommand, FoundSetting};
use crate::config::shell::{self, is_option};
use crate::config::tree::{Member, Node, Shape};
use crate::config::{EntryKind, Parsed, Value};
use crate::knowledge::Launchers;

/// Keys whose lists form one command line in this order: the image's own program, the program that replaces it, its
/// arguments.
const COMMAND_LINE: [&str; 3] = ["entrypoint", "command", "args"];
/// The key of a script in SkyPilot's tasks and in steps of pipelines.
const SCRIPT: &str = "run";
/// The key of a list of command lines in GitLab's pipelines, one item each.
const SCRIPTS: &str = "script";
/// Keys of the environment: a list of names and values in Kubernetes, a mapping in compose.
const ENVIRONMENT: [&str; 2] = ["env", "environment"];

/// The programs that a file starts, and their settings.
#[derive(Debug, Default)]
pub(in crate::config) struct Started {
    pub found: Vec<FoundSetting>,
    pub commands: Vec<FoundCommand>,
}

/// A word of a command line with its span, without quotes.
type PlacedWord = (String, Range<usize>);

/// The programs that the documents below `roots` start; the nodes' spans are bytes of `text`.
pub(in crate::config) fn started<'n>(text: &str, roots: impl Iterator<Item = &'n Node>) -> Started {
    let mut reader = ProgramReader { text, started: Started::default() };
    roots.for_each(|root| reader.walk(root));
    reader.started
}

struct ProgramReader<'t> {
    text: &'t str,
    started: Started,
}

impl ProgramReader<'_> {
    /// Skips aliases: the node that an alias refers to is read at its anchor.
    fn walk(&mut self, node: &Node) {
        match &node.shape {
            Shape::Scalar(_) | Shape::Alias(_) => {}
            Shape::List(items) => items.iter().for_each(|item| self.walk(item)),
            Shape::Map(members) => self.mapping(members),
        }
    }

    fn mapping(&mut self, members: &[Member]) {
        let environment = self.environment(members);
        self.parts_of_devices(members);
        let mut line = Vec::new();
        for key in COMMAND_LINE {
            let Some(member) = members.iter().rfind(|member| member.key == key) else { continue };
            match &member.value.shape {
                Shape::List(items) => line.extend(self.words(items)),
                Shape::Scalar(Value::Text(script)) => self.script(script, &member.value.span, &environment),
                _ => {}
            }
        }
        self.line(line, &environment);
        for member in members.iter().filter(|member| !COMMAND_LINE.contains(&member.key.as_str())) {
            match &member.value.shape {
                Shape::List(items) if member.key == SCRIPTS => {
                    for (script, place) in self.words(items) {
                        self.script(&script, &place, &environment);
                    }
                }
                Shape::List(items) => {
                    let words = self.words(items);
                    match words.iter().any(|(word, _)| is_option(word)) {
                        true => self.line(words, &environment),
                        false => self.walk(&member.value),
                    }
                }
                // A run may have a name; a command of one line has an option.
                Shape::Scalar(Value::Text(script))
                    if member.key == SCRIPT && (script.contains('\n') || script.split(' ').any(is_option)) =>
                {
                    self.script(script, &member.value.span, &environment);
                }
                _ => self.walk(&member.value),
            }
        }
    }

    /// Records the variables of a container and returns their names and values.
    fn environment(&mut self, members: &[Member]) -> Vec<(String, String)> {
        let mut known = Vec::new();
        for member in members.iter().filter(|member| ENVIRONMENT.contains(&member.key.as_str())) {
            let scalar = |node: &Node| match &node.shape {
                Shape::Scalar(value) => Some(self.word(value, &node.span)),
                _ => None,
            };
            let item = |item: &Node| match variable(item) {
                Some((name, node)) => Some((name.to_owned(), scalar(node)?)),
                None => assignment(scalar(item)?),
            };
            let variables: Vec<(String, PlacedWord)> = match &member.value.shape {
                Shape::Map(own) => own.iter().filter_map(|own| Some((own.key.clone(), scalar(&own.value)?))).collect(),
                Shape::List(items) => items.iter().filter_map(|own| item(own)).collect(),
                _ => Vec::new(),
            };
            for (name, (word, place)) in variables {
                self.started.found.push(FoundSetting::new(&name, Value::of_word(&word), EntryKind::Env, place));
                known.push((name, word));
            }
        }
        known
    }

    /// Records which part of a device a container asks for, each time where the words stand that say so.
    fn parts_of_devices(&mut self, members: &[Member]) {
        for part in &Launchers::shipped().device_part {
            for Member { key, at, value } in members {
                let label = match &value.shape {
                    Shape::Scalar(Value::Text(words)) => Some(words.as_str()),
                    _ => None,
                };
                let Some(size) = part.size(key, label) else { continue };
                let span = if *key == part.label { &value.span } else { at };
                let Some(from) = self.text.get(span.clone()).and_then(|raw| raw.rfind(size)) else { continue };
                let place = span.start + from..span.start + from + size.len();
                let size = Value::Text(size.to_owned());
                self.started.found.push(FoundSetting::new(&part.setting, size, EntryKind::Flag, place));
            }
        }
    }

    /// The scalars of a list as words.
    fn words(&self, items: &[std::sync::Arc<Node>]) -> Vec<PlacedWord> {
        let word = |item: &std::sync::Arc<Node>| match &item.shape {
            Shape::Scalar(value) => Some(self.word(value, &item.span)),
            _ => None,
        };
        items.iter().filter_map(word).collect()
    }

    /// A scalar as it is written, without quotes: `0.80` must not become `0.8`.
    fn word(&self, value: &Value, span: &Range<usize>) -> PlacedWord {
        let raw = self.text.get(span.clone()).unwrap_or_default();
        match value {
            Value::Text(text) => match raw.find(text.as_str()) {
                Some(at) => (text.clone(), span.start + at..span.start + at + text.len()),
                None => (text.clone(), span.clone()),
            },
            _ => (raw.to_owned(), span.clone()),
        }
    }

    /// Reads the words of one command line, which may contain `sh -c` and a script.
    fn line(&mut self, mut words: Vec<PlacedWord>, environment: &[(String, String)]) {
        let runs = |pair: &[PlacedWord]| match pair {
            [(shell, _), (option, _)] => {
                shell::is_shell(shell) && option.starts_with('-') && option.ends_with('c') && !option.contains('=')
            }
            _ => false,
        };
        if let Some(at) = words.windows(2).position(runs) {
            let scripts = words.split_off((at + 2).min(words.len()));
            if let Some((script, span)) = scripts.first() {
                self.script(script, span, environment);
            }
            return;
        }
        for (word, _) in &mut words {
            for (name, value) in environment.iter().rev() {
                *word = word.replace(&format!("$({name})"), value);
            }
        }
        if words.is_empty() {
            return;
        }
        let parsed = shell::read_words(words);
        self.add(parsed, |span, text| {
            // In `--name=value`, only the value.
            let raw = text.get(span.clone()).unwrap_or_default();
            match raw.find('=').filter(|_| raw.starts_with('-') || raw.starts_with('+')) {
                Some(at) => span.start + at + 1..span.end,
                None => span,
            }
        });
    }

    /// Reads a script in `span`, to which the variables of `environment` are known.
    fn script(&mut self, script: &str, span: &Range<usize>, environment: &[(String, String)]) {
        let mut text = String::new();
        // Any other name would begin a command.
        let is_variable = |name: &str| !name.is_empty() && shell::name_length(name) == name.len();
        for (name, value) in environment.iter().filter(|(name, value)| is_variable(name) && !value.contains('\'')) {
            text += &format!("{name}='{value}'\n");
        }
        let before = text.len();
        text += script;
        for (name, _) in environment {
            // `${NAME}` has as many bytes as `$(NAME)`, so that spans stay valid.
            text = text.replace(&format!("$({name})"), &format!("${{{name}}}"));
        }
        let raw = self.text.get(span.clone()).unwrap_or_default();
        let places = Places::of(script, raw, span.clone());
        let mut parsed = shell::read(&text);
        parsed.found.retain(|found| found.span.start >= before);
        let moved = |at: usize| at.saturating_sub(before);
        self.add(parsed, |inner, _| places.at(moved(inner.start)..moved(inner.end)));
    }

    fn add(&mut self, mut parsed: Parsed, place: impl Fn(Range<usize>, &str) -> Range<usize>) {
        parsed.found.iter_mut().for_each(|found| found.defined = None);
        let (found, commands) = parsed.placed(self.started.commands.len(), |span| place(span, self.text));
        self.started.found.extend(found);
        self.started.commands.extend(commands);
    }
}

/// One variable of Compose's list: `NAME=value`.
fn assignment((word, span): PlacedWord) -> Option<(String, PlacedWord)> {
    let (name, value) = word.split_once('=')?;
    // Of a word that is written otherwise than it reads the value has no place.
    let is_verbatim = span.len() == word.len();
    is_verbatim.then(|| (name.to_owned(), (value.to_owned(), span.end - value.len()..span.end)))
}

/// One variable of Kubernetes' list: `name: X`, `value: Y`.
fn variable(item: &Node) -> Option<(&str, &Node)> {
    let Shape::Map(members) = &item.shape else { return None };
    let of = |key: &str| members.iter().rfind(|member| member.key == key).map(|member| &*member.value);
    match (&of("name")?.shape, of("value")) {
        (Shape::Scalar(Value::Text(name)), Some(value)) => Some((name, value)),
        _ => None,
    }
}

/// Maps the bytes of a scalar to the text. YAML folds lines and removes indentation and escapes, but changes no other
/// character.
struct Places {
    whole: Range<usize>,
    /// The offset of each byte of the scalar; empty if scalar and text do not match.
    places: Vec<usize>,
}

impl Places {
    fn of(scalar: &str, raw: &str, whole: Range<usize>) -> Places {
        let first = scalar.trim_start().chars().next();
        // The length of a block's header line, or of the opening quote.
        let header = match raw.as_bytes().first() {
            Some(b'|' | b'>') => raw.find('\n').map_or(raw.len(), |end| end + 1),
            Some(b'"' | b'\'') => 1,
            _ => 0,
        };
        let mut rest = raw.char_indices().skip_while(|(at, letter)| *at < header || Some(*letter) != first).peekable();
        let mut places = Vec::with_capacity(scalar.len() + 1);
        for letter in scalar.chars() {
            if !letter.is_whitespace() {
                while rest.next_if(|(_, other)| *other != letter && (other.is_whitespace() || *other == '\\')).is_some()
                {
                }
            }
            let at = match rest.peek() {
                Some((at, other)) if *other == letter => *at,
                // A blank may be a line ending in the text, or missing.
                _ if letter.is_whitespace() => match rest.peek() {
                    Some((at, _)) => *at,
                    None => raw.len(),
                },
                _ => return Places { whole, places: Vec::new() },
            };
            places.extend(std::iter::repeat_n(whole.start + at, letter.len_utf8()));
            rest.next_if(|(_, other)| *other == letter || letter.is_whitespace() && other.is_whitespace());
        }
        places.push(rest.peek().map_or(whole.end, |(at, _)| whole.start + at));
        Places { whole, places }
    }

    fn at(&self, inner: Range<usize>) -> Range<usize> {
        let start = self.places.get(inner.start);
        let last = inner.end.checked_sub(1).and_then(|last| self.places.get(last.max(inner.start)));
        match (start, last) {
            (Some(start), Some(last)) if inner.is_empty() => *start..*last.max(start),
            (Some(start), Some(last)) => *start..last + 1,
            _ => self.whole.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{ConfigError, Document, EntryKind, Value};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn settings(text: &str) -> Result<Vec<String>, ConfigError> {
        let document = Document::read("job.yaml", text)?;
        let of = |kind: EntryKind| document.entries().iter().filter(move |entry| entry.kind == kind);
        let all = of(EntryKind::Flag).chain(of(EntryKind::Env)).chain(of(EntryKind::Override));
        let at = |entry: &crate::config::Entry| entry.at.text.clone();
        Ok(all.map(|entry| format!("{}={} ({})", entry.key, entry.value, at(entry))).collect())
    }

    #[test]
    fn a_container_is_a_command_line() -> Outcome {
        let text = "spec:\n  containers:\n  - name: a\n    env:\n    - name: MODEL\n      value: org/x-7b\n    command: [\"python3\", \"-m\"]\n    \
                    args:\n    - server.main\n    - --model=$(MODEL)\n    - --tensor-parallel-size\n    - \"8\"\n    - --share=0.80\n    - --trust\n";
        assert_eq!(
            settings(text)?,
            [
                "model=org/x-7b ($(MODEL))",
                "tensor-parallel-size=8 (8)",
                "share=0.8 (0.80)",
                "trust=true (--trust)",
                "MODEL=org/x-7b (org/x-7b)",
            ]
        );
        let document = Document::read("job.yaml", text)?;
        let commands: Vec<_> = document.commands().iter().map(|c| (c.program.as_str(), c.target.as_deref())).collect();
        assert_eq!(commands, [("python3", Some("server.main"))]);
        Ok(())
    }

    #[test]
    fn a_shell_within_a_container_is_a_script() -> Outcome {
        for text in [
            "command:\n- sh\n- -c\n- \"cd /w; N=4;\n  serve --size $N --model $M\"\nenv:\n- {name: M, value: org/x}\n",
            "command: [bash, -lc]\nargs:\n- |\n  cd /w\n  N=4\n  serve --size $N \\\n    --model $M\nenv:\n- {name: M, value: org/x}\n",
            "entrypoint: |\n  cd /w\n  N=4\n  serve --size $N --model org/x\n",
            "num_nodes: 2\nrun: |\n  cd /w\n  N=4\n  serve --size $N --model org/x\n",
        ] {
            let found = settings(text)?;
            assert_eq!(found.first().map(String::as_str), Some("size=4 ($N)"), "{text}");
            assert!(found.get(1).is_some_and(|flag| flag.starts_with("model=org/x ")), "{text}\n{found:?}");
        }
        Ok(())
    }

    #[test]
    fn a_list_of_options_is_for_a_program() -> Outcome {
        let text = "spec:\n  engine:\n    extraArgs: [\"--share\", \"0.8\", '--eager']\n    names: [a, b]\n";
        assert_eq!(settings(text)?, ["share=0.8 (0.8)", "eager=true (--eager)"]);
        Ok(())
    }

    /// It was taken for an override of the program's configuration.
    #[test]
    fn what_env_sets_is_a_variable() -> Outcome {
        let text = "command: [env, NCCL_DEBUG=INFO, python3, train.py, --size=4, a.b=1]\n";
        assert_eq!(settings(text)?, ["size=4 (4)", "NCCL_DEBUG=INFO (NCCL_DEBUG=INFO)", "a.b=1 (a.b=1)"]);
        Ok(())
    }

    #[test]
    fn an_argument_is_changed_where_it_stands() -> Outcome {
        let text = "args:\n- --share\n- \"0.90\"\n- --size=4 # four\n- \"--name=$(N)\"\nenv:\n- name: N\n  value: x\n";
        let document = Document::read("job.yaml", text)?;
        let set = |key: &str, value: f64| document.set_as(EntryKind::Flag, Some(0), key, &Value::Number(value));
        assert_eq!(set("share", 0.8)?, text.replace("0.90", "0.8"));
        assert_eq!(set("size", 2.0)?, text.replace("=4", "=2"));
        // What only refers to a variable is changed there.
        assert_eq!(set("name", 1.0)?, text.replace("value: x", "value: 1"));
        // What is missing goes behind the last option, in its style.
        let last = "- \"--name=$(N)\"\n";
        assert_eq!(set("missing", 1.0)?, text.replace(last, &format!("{last}- \"--missing=1\"\n")));
        Ok(())
    }
}
