//! Signals of a stack's frames.

use super::Signals;
use crate::facts::tokens;
use crate::knowledge::{Libraries, installed};
use crate::model::Frame;

/// How many of the innermost frames count in full.
const INNERMOST: usize = 4;
/// The strength of frames further out.
const OUTER: f64 = 0.6;
/// Part of the frames of a call of a `torch.nn.Module`.
const CALLS_MODULE: &str = "_call_impl";

/// Adds the signals of `frames`, outermost first.
pub(super) fn add(signals: &mut Signals, frames: &[Frame], libraries: &Libraries) {
    if frames.is_empty() {
        return;
    }
    signals.add("stack:some".to_owned(), 1.0, None);
    let mut own_call_seen = false;
    for (depth, frame) in frames.iter().rev().enumerate() {
        let strength = if depth < INNERMOST { 1.0 } else { OUTER };
        let file = frame.file.replace('\\', "/");
        let cite = Some(&frame.at);
        let code = without_options(&frame.code);
        folders(&file).for_each(|word| signals.add(format!("path:{word}"), strength, cite));
        match libraries.package(&file) {
            Some((package, inner)) => {
                if depth < 2 * INNERMOST {
                    signals.add(format!("library:{}", package.to_ascii_lowercase()), strength, cite);
                }
                tokens(&frame.function).for_each(|word| signals.add(format!("function:{word}"), strength, cite));
                let from = inner.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
                tokens(inner[from..].trim_end_matches(".py"))
                    .for_each(|word| signals.add(format!("file:{word}"), strength, cite));
                let name = inner.rsplit('/').next().unwrap_or(inner);
                signals.add(format!("at:{name}:{}", frame.function), strength, cite);
            }
            None => {
                let name = file.rsplit('/').next().unwrap_or(&file).trim_end_matches(".py");
                // The word `test` in the name of a unit test does not mean evaluation.
                let is_unit_test = name.starts_with("test_") && frame.function.starts_with("test_");
                tokens(&frame.function)
                    .chain(tokens(name))
                    .filter(|word| !(is_unit_test && word == "test"))
                    .for_each(|word| signals.add(format!("own:{word}"), strength, cite));
                // The user's own innermost line tells what was being done.
                if !own_call_seen {
                    tokens(&code).for_each(|word| signals.add(format!("call:{word}"), 1.0, cite));
                }
                own_call_seen = true;
            }
        }
        tokens(&code).for_each(|word| signals.add(format!("code:{word}"), strength, cite));
        if depth == 0 {
            tokens(&code)
                .chain(tokens(&frame.function))
                .for_each(|word| signals.add(format!("last:{word}"), 1.0, cite));
        }
    }
    shape(signals, frames);
}

/// `code` without options that it only passes on: `resume=resuming` tells what may be done, not what is done.
fn without_options(code: &str) -> String {
    let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_.'\" ".contains(c));
    let is_option = |part: &str| part.split_once('=').is_some_and(|(name, value)| is_name(name) && is_name(value));
    let Some((called, arguments)) = code.split_once('(') else { return code.to_owned() };
    let kept = arguments.split_inclusive(['(', ',', ')']).filter(|part| {
        let argument = part.trim_end_matches([',', ')']);
        argument.ends_with('(') || !is_option(argument)
    });
    std::iter::once(called).chain(["("]).chain(kept).collect()
}

/// The words of the folders that contain `file`, without the user's home and the folder of installed packages.
fn folders(file: &str) -> impl Iterator<Item = String> {
    const DEEPEST: usize = 5;
    let folders = installed(file).unwrap_or(file).rsplit('/').skip(1).take(DEEPEST);
    folders.take_while(|folder| !["home", "Users", "root", "users"].contains(folder)).flat_map(tokens)
}

/// Signals of the stack as a whole. A stack that begins at `<module>` is complete: what it does not contain was not going on.
fn shape(signals: &mut Signals, frames: &[Frame]) {
    let whole = frames.first().is_some_and(|first| first.function.contains("<module>"));
    let has = |part: &str| frames.iter().any(|frame| frame.function.contains(part) || frame.file.contains(part));
    let calls_module = has(CALLS_MODULE) || has("_wrapped_call");
    let backward = has("backward") || has("autograd");
    let optimizer = has("optim");
    let innermost = frames.last().map(|frame| &frame.at);
    let mut say = |name: &str| signals.add(format!("stack:{name}"), 1.0, innermost);
    if whole {
        say("whole");
    }
    if calls_module && !backward && !optimizer {
        say("in_module");
        if whole {
            say("whole_in_module");
        }
    }
    if whole && !calls_module && !backward && !optimizer {
        say("whole_outside_module");
    }
    if frames.len() <= 2 {
        say("short");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_passed_on_says_nothing() {
        for (code, kept) in [
            ("state = init_state(config, mesh, resume=resuming)", "state = init_state(config, mesh,"),
            ("a, b = _C.render(*args)", "a, b = _C.render(*args)"),
            ("out = model(load(path = 3), labels = labels)", "out = model(load(,"),
            ("loss.backward()", "loss.backward()"),
            ("x = y", "x = y"),
        ] {
            assert_eq!(without_options(code), kept, "{code}");
        }
    }
}
