//! Divides the fields of a call among its commands: launchers start launchers, which start programs.
//!
//! `srun --mem=64G torchrun --nproc_per_node 8 train.py --bf16` is three commands, each with flags of its own. They are
//! told apart by the names in `rules/launchers.toml`; a word that ends in `.py` or follows `-m` is what a Python
//! launcher starts.

use std::ops::Range;

use crate::knowledge::{Launcher, Launchers, Starts, is_among};

/// One command in a chain of launchers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stage {
    pub program: String,
    /// The script, module or subcommand.
    pub target: Option<String>,
    pub arguments: Range<usize>,
    /// The field at which the command begins that this one starts.
    next: usize,
}

fn launchers() -> &'static Launchers {
    Launchers::shipped()
}

/// The commands in the fields of one call, outermost first.
pub(super) fn stages(fields: &[String]) -> Vec<Stage> {
    let (mut stages, mut at) = (Vec::<Stage>::new(), 0);
    while at < fields.len() {
        let mut stage = StageReader { fields }.read(at);
        // A target that a launcher runs is listed under the launcher's name.
        if let Some(launcher) = stages.last().filter(|_| stage.program.is_empty()) {
            stage.program.clone_from(&launcher.program);
        }
        at = stage.next.max(at + 1);
        stages.push(stage);
    }
    stages
}

/// A scheduler's directive, whose fields after the first are all arguments.
pub(super) fn directive(fields: &[String]) -> Stage {
    let end = fields.len();
    Stage { program: fields.first().cloned().unwrap_or_default(), target: None, arguments: 1.min(end)..end, next: end }
}

fn name(field: &str) -> &str {
    let name = field.rsplit('/').next().unwrap_or(field);
    name.strip_suffix(".exe").unwrap_or(name)
}

fn is_python(field: &str) -> bool {
    name(field)
        .strip_prefix("python")
        .is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

pub(in super::super) fn is_shell(field: &str) -> bool {
    is_among(&launchers().programs.shells, name(field))
}

pub(super) fn is_program(field: &str) -> bool {
    let word = name(field);
    is_python(field)
        || field.ends_with(".py")
        || field.ends_with(".sh")
        || launchers().programs.is_named(word)
        || is_launcher(word)
}

/// Whether a launcher has this name, which has another command behind it.
fn is_launcher(field: &str) -> bool {
    launchers().named().any(|(known, _)| known.split(' ').next() == Some(name(field)))
}

/// Whether the program and its subcommand run a container's image: `docker run`.
pub(super) fn runs_image(program: &str, target: Option<&str>) -> bool {
    let is_it = |known: &str| known.split_once(' ').is_some_and(|(name, sub)| name == program && Some(sub) == target);
    launchers().named().any(|(known, by)| by.starts == Starts::Container && is_it(known))
}

/// Whether a field is an option rather than a value.
pub(in super::super) fn is_option(field: &str) -> bool {
    let after = field.trim_start_matches('-');
    let dashes = field.len() - after.len();
    // Negative numbers, including `-inf`, are values.
    (1..=2).contains(&dashes)
        && after.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !matches!(after, "inf" | "nan" | "Infinity")
}

struct StageReader<'a> {
    fields: &'a [String],
}

impl StageReader<'_> {
    fn field(&self, at: usize) -> &str {
        self.fields.get(at).map_or("", String::as_str)
    }

    /// Reads the command that begins with field `at`.
    fn read(&self, at: usize) -> Stage {
        let program = self.field(at);
        // Options without a program: a fragment of a command line.
        if is_option(program) {
            return self.stage("", None, at..self.fields.len());
        }
        if is_python(program) {
            return self.python(at);
        }
        let is_module = at.checked_sub(1).is_some_and(|before| matches!(self.field(before), "-m" | "--module"));
        if is_module || program.ends_with(".py") || program.ends_with(".sh") {
            return self.stage("", Some(program), at + 1..self.fields.len());
        }
        let launcher = launchers().named().find_map(|(known, launcher)| {
            let words = known.split(' ').count();
            let is_it = known.split(' ').enumerate().all(|(word, known)| name(self.field(at + word)) == known);
            is_it.then_some((launcher, words))
        });
        match launcher {
            Some((launcher, words)) => {
                let target = self.fields.get(at + 1..at + words).unwrap_or_default().join(" ");
                let target = Some(target).filter(|target| !target.is_empty());
                let next = self.launched(launcher, at + words);
                // The image is no option of what runs it, where the command behind it was found.
                let is_behind_image = launcher.starts == Starts::Container && is_launcher(self.field(next));
                let end = if is_behind_image { next.saturating_sub(1) } else { self.options_end(next) };
                Stage { next, ..self.stage(name(program), target.as_deref(), at + words..end) }
            }
            None => {
                let subcommand = self.field(at + 1);
                let is_script = launchers().programs.takes_script(name(program)) && !is_option(subcommand);
                let is_word = subcommand.starts_with(|c: char| c.is_ascii_lowercase())
                    && subcommand.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte));
                let target = (is_script || is_word).then_some(subcommand).filter(|word| !word.is_empty());
                self.stage(name(program), target, at + 1 + usize::from(target.is_some())..self.fields.len())
            }
        }
    }

    fn stage(&self, program: &str, target: Option<&str>, arguments: Range<usize>) -> Stage {
        let end = arguments.end.min(self.fields.len());
        let arguments = arguments.start.min(end)..end;
        Stage { program: program.to_owned(), target: target.map(str::to_owned), arguments, next: self.fields.len() }
    }

    /// The end of a launcher's own options, before the `-m` or `--` that introduces the command at `next`.
    fn options_end(&self, next: usize) -> usize {
        let before = next.saturating_sub(1);
        if matches!(self.field(before), "-m" | "--module" | "--") { before } else { next }
    }

    /// `python3 -u -m module …`, `python train.py …`
    fn python(&self, start: usize) -> Stage {
        let mut at = start + 1;
        let program = name(self.field(start));
        loop {
            match self.field(at) {
                "-m" => break self.target(program, at + 1),
                "-X" | "-W" => at += 2,
                "-c" => break self.stage(program, None, at..self.fields.len()),
                option if option.starts_with('-') && option.len() > 1 => at += 1,
                "" => break self.stage(program, None, at..self.fields.len()),
                _ => break self.target(program, at),
            }
        }
    }

    /// Reads the script or module that Python starts, which may itself be a launcher.
    fn target(&self, program: &str, at: usize) -> Stage {
        let target = self.field(at);
        let launcher = launchers().named().find(|(known, by)| by.starts == Starts::Python && *known == target);
        let next = launcher.map_or(self.fields.len(), |(_, launcher)| self.launched(launcher, at + 1));
        Stage { next, ..self.stage(program, Some(target), at + 1..self.options_end(next)) }
    }

    /// The field at which the command begins that a launcher starts; the launcher's options begin at `start`.
    fn launched(&self, launcher: &Launcher, start: usize) -> usize {
        let mut at = start;
        // Whether the previous field is an option that may take this one as its value.
        let mut takes_value = false;
        while at < self.fields.len() {
            let field = self.field(at);
            let is_value = std::mem::take(&mut takes_value);
            match launcher.starts {
                _ if field == "--" => return at + 1,
                Starts::Python if matches!(field, "-m" | "--module") => return at + 1,
                Starts::Python if field.ends_with(".py") => return at,
                // The value of such an option may have the name of a program.
                Starts::Command if is_value && is_among(&launcher.names_something, self.field(at - 1)) => {}
                Starts::Command if is_program(field) => return at,
                // Behind the image may stand the command that runs in it, which is divided like any other.
                Starts::Container if !is_value && !is_option(field) => {
                    return at + usize::from(is_launcher(self.field(at + 1)));
                }
                // A module, or a script without `.py`. This is not done for `Starts::Command`, since `timeout 10h` and
                // `env A=1` have operands of their own first.
                Starts::Python if !is_value && !is_option(field) => return at,
                _ => {}
            }
            let letters = field.strip_prefix('-').unwrap_or_default();
            let is_switch = is_among(&launcher.switches, field)
                || !launcher.switch_letters.is_empty() && letters.chars().all(|c| launcher.switch_letters.contains(c));
            takes_value = is_option(field) && !field.contains('=') && !is_switch;
            at += 1;
        }
        at
    }
}
