//! A command that a script starts without waiting for it.

use super::loops::{Loop, says};
use super::{Spread, Word, is_assignment};
use crate::config::shell::launchers::{is_option, is_program};
use crate::knowledge::{Launchers, is_among};

/// Such a command.
#[derive(Debug, Clone)]
pub(super) struct Started {
    /// The program, and the device that it is given: commands with the same key share one.
    pub key: String,
    pub spread: Spread,
    /// Whether each run of the loop around it does something else.
    pub differs: bool,
    pub start: usize,
    pub end: usize,
}

impl Started {
    /// The command in `words`, the first `count` of which are assignments; `None` if it is not a program that works with a model.
    pub fn of(text: &str, words: &[Word], count: usize, around: Option<&Loop>) -> Option<Started> {
        let (first, last) = (words.first()?, words.last()?);
        let written = |word: &Word| text.get(word.span.clone()).unwrap_or_default();
        let program = program(&words[count..], written)?;
        let (mut devices, mut others) = (Vec::new(), Vec::new());
        for (at, word) in words.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| words.get(before)).map(written);
            let is_value = before.is_some_and(|before| before.starts_with('-') && names_device(before));
            let is_device = names_device(written(word)) && (is_assignment(word) || written(word).contains(['=', ':']));
            if is_value || is_device { devices.push(word) } else { others.push(word) }
        }
        let is_used = |word: &&Word| around.is_some_and(|around| around.is_used(word, text));
        let spread = match devices.iter().find(|word| is_used(word)) {
            Some(word) => over(written(word), around),
            None => Spread::One,
        };
        let device: Vec<&str> = devices.iter().map(|word| written(word)).collect();
        let key = format!("{program} {}", device.join(" "));
        let differs = others.iter().any(is_used);
        Some(Started { key, spread, differs, start: first.span.start, end: last.span.end })
    }
}

/// The name of the program that is started: `python train.py`, `wandb agent`.
fn program<'t>(words: &[Word], written: impl Fn(&Word) -> &'t str) -> Option<String> {
    let mut words: Vec<&str> = words.iter().map(written).collect();
    let programs = &Launchers::shipped().programs;
    let name = |word: &&str| word.rsplit('/').next().unwrap_or(word).to_owned();
    while words.first().is_some_and(|word| matches!(*word, "nohup" | "env" | "exec" | "setsid" | "stdbuf" | "nice")) {
        words.remove(0);
    }
    let first = words.first().map(name)?;
    let is_placed = is_among(&programs.placing, &first) || is_among(&programs.submitters, &first);
    if is_placed || is_among(&programs.remote, &first) {
        return None;
    }
    let second = words.get(1).copied().unwrap_or_default();
    if is_among(&programs.agents, &format!("{first} {second}")) {
        return Some(format!("{first} {second}"));
    }
    let runs = is_program(&first) && !is_among(&programs.utilities, &first);
    let script = words.iter().find(|word| word.ends_with(".py"));
    let module = words.iter().position(|word| *word == "-m").and_then(|at| words.get(at + 1));
    let target = script.or(module).copied().or(Some(second).filter(|second| !is_option(second)));
    runs.then(|| format!("{first} {}", target.unwrap_or_default()))
}

/// Whether an assignment or an option says on which device a program works.
fn names_device(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default().to_ascii_lowercase();
    let is_said = name.contains("visible_devices") || name.starts_with('-') && says_device(&name);
    is_said || word.contains("cuda:") || word.contains("device=")
}

fn says_device(name: &str) -> bool {
    let is_amount = ["per", "memory", "utilization", "num"].iter().any(|word| name.contains(word));
    ["gpu", "device"].iter().any(|word| name.contains(word)) && !is_amount
}

/// Over how many devices a loop spreads what it starts: `$((i % 4))`, written in `word` or where its variable is made.
fn over(word: &str, around: Option<&Loop>) -> Spread {
    let names = around.map(|around| around.names.as_slice()).unwrap_or_default();
    let made = names.iter().filter(|(name, _)| says(word, name)).map(|(_, made)| made.as_str());
    let devices = std::iter::once(word).chain(made).find_map(|words| {
        let behind = words.split_once('%')?.1.trim_start();
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        behind[..digits].parse().ok()
    });
    devices.map_or(Spread::Unknown, Spread::Over)
}
