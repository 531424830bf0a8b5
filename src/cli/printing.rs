//! Keeps output from being interpreted as commands by CI systems that parse what a step prints.

use std::io::IsTerminal;

use crate::model::one_line;

/// `text` for printing. In CI systems that parse output, commands in it are broken up: GitHub's at the beginning of a
/// line, and the `##` form of older GitHub, Azure Pipelines and TeamCity anywhere.
pub(super) fn without_ci_commands(text: &str) -> String {
    let obeys = ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"].iter().any(|name| std::env::var_os(name).is_some());
    if obeys { broken_up(text) } else { text.to_owned() }
}

/// The width for text: `COLUMNS`, or that of the terminal; `None` for a pipe, where lines are not wrapped.
pub(super) fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    said.or_else(|| {
        let is_terminal = std::io::stdout().is_terminal();
        is_terminal
            .then(terminal_size::terminal_size)
            .flatten()
            .map(|(terminal_size::Width(width), _)| usize::from(width))
    })
}

/// The `words` of an error or a warning for printing; they may contain file names, so hidden characters are removed.
pub(super) fn printable(words: &str) -> String {
    without_ci_commands(&words.lines().map(one_line).collect::<Vec<_>>().join("\n"))
}

fn broken_up(text: &str) -> String {
    let text = text.replace("##", "# #");
    let line = |line: &str| {
        let words = line.trim_start_matches(|c: char| c.is_whitespace());
        // Styles are stripped only on printing and must not hide a command.
        match anstream::adapter::strip_str(words).to_string().trim_start().starts_with("::") {
            true => line.replacen("::", ": :", 1),
            false => line.to_owned(),
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_a_command() {
        assert_eq!(
            broken_up("a::b\n  ::error::c\n\u{1b}[2m::d\n x ##[group]e"),
            "a::b\n  : :error::c\n\u{1b}[2m: :d\n x # #[group]e"
        );
        assert_eq!(printable("cannot read a\u{202e}b: no"), "cannot read ab: no");
    }
}
