//! Shortens a stack to what people look for: their own calls and the one that failed.

use crate::knowledge::Libraries;
use crate::model::{Call, Frame};

/// How many of the user's own innermost calls are shown.
const OWN: usize = 4;
/// Below them the innermost call of each of this many packages is shown.
const PACKAGES: usize = 3;
/// The standard library, whose calls only start or wrap others.
const PYTHON: &str = "python";

/// `frames`, outermost call first, without calls within libraries.
pub fn shortened(frames: &[Frame], libraries: &Libraries) -> Vec<Call> {
    let own: Vec<usize> = (0..frames.len()).filter(|at| libraries.is_own(&frames[*at].file)).collect();
    let below = own.last().map_or(0, |last| last + 1);
    let package = |at: usize| libraries.package(&frames[at].file).map_or("", |(package, _)| package);
    let ends_package = |at: &usize| *at + 1 == frames.len() || package(*at) != package(*at + 1);
    let is_innermost = |at: &usize| *at + 1 == frames.len();
    let packages = (below..frames.len()).filter(ends_package).filter(|at| is_innermost(at) || package(*at) != PYTHON);
    let packages: Vec<usize> = packages.collect();
    let mut shown: Vec<usize> = own.iter().rev().take(OWN).chain(own.first()).copied().collect();
    shown.extend(packages.iter().rev().take(PACKAGES));
    shown.sort_unstable();
    shown.dedup();
    let mut next = 0;
    let call = |at: usize| {
        let frame = &frames[at];
        let folded_before = at - std::mem::replace(&mut next, at + 1);
        Call {
            file: frame.file.clone(),
            file_line: file_line(&frame.at.text),
            function: frame.function.clone(),
            code: frame.code.clone(),
            is_own: libraries.is_own(&frame.file),
            folded_before,
            source: frame.at.clone(),
        }
    };
    shown.into_iter().map(call).collect()
}

/// The line number in the file, as Python prints it: `File "train.py", line 12, in main`.
fn file_line(text: &str) -> Option<u64> {
    let digits: String = text.split_once(", line ")?.1.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Citation, Column, LineNumber, Location};

    fn frame(file: &str, function: &str, line: u64) -> Frame {
        let location = Location { path: Arc::from("job.log"), line: LineNumber(line), column: Column(1) };
        let at = Citation::new(location, format!("  File \"{file}\", line {line}0, in {function}"));
        Frame { file: file.to_owned(), function: function.to_owned(), code: String::new(), at }
    }

    #[test]
    fn the_users_calls_stay_and_libraries_fold() {
        let torch = "/usr/lib/python3/site-packages/torch/nn/modules/module.py";
        let frames = [
            frame("/home/me/train.py", "<module>", 1),
            frame("/usr/lib/python3/site-packages/transformers/trainer.py", "train", 2),
            frame(torch, "_call_impl", 3),
            frame("/home/me/model.py", "forward", 4),
            frame(torch, "_call_impl", 5),
            frame("/usr/lib/python3/site-packages/torch/nn/functional.py", "linear", 6),
        ];
        let calls = shortened(&frames, &Libraries::default());
        let said: Vec<_> = calls
            .iter()
            .map(|call| (call.function.as_str(), call.is_own, call.folded_before, call.file_line))
            .collect();
        assert_eq!(
            said,
            [("<module>", true, 0, Some(10)), ("forward", true, 2, Some(40)), ("linear", false, 1, Some(60))]
        );
    }

    #[test]
    fn of_libraries_alone_each_shows_its_innermost_call() {
        let mut frames = vec![frame("/usr/lib/python3.10/runpy.py", "_run_code", 1)];
        frames.extend((2..5).map(|line| frame("/x/site-packages/vllm/engine.py", "step", line)));
        frames.extend((5..7).map(|line| frame("/x/site-packages/torch/nn/module.py", "forward", line)));
        let calls = shortened(&frames, &Libraries::default());
        let said: Vec<_> = calls.iter().map(|call| (call.function.as_str(), call.folded_before)).collect();
        assert_eq!(said, [("step", 3), ("forward", 1)]);
        assert!(shortened(&[], &Libraries::default()).is_empty());
    }
}
