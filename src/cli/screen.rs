//! What a pipeline would obey where a step prints it.

use std::io::IsTerminal;

use crate::model::one_line;

/// `text` as it is printed: in a pipeline that obeys what steps print, nothing of it is a command. Those of GitHub begin a line, or stand
/// anywhere in their older form, as do those of Azure Pipelines and TeamCity.
pub(super) fn printed(text: &str) -> String {
    let obeys = ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"].iter().any(|name| std::env::var_os(name).is_some());
    if obeys { disobeyed(text) } else { text.to_owned() }
}

/// The columns of the terminal that reads; `COLUMNS` says otherwise. Who reads through a pipe gets lines as long as they are.
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

/// `words` of an error or a warning, which may name files: lines that read as they are written.
pub(super) fn said(words: &str) -> String {
    printed(&words.lines().map(one_line).collect::<Vec<_>>().join("\n"))
}

fn disobeyed(text: &str) -> String {
    let text = text.replace("##", "# #");
    let line = |line: &str| {
        let words = line.trim_start_matches(|c: char| c.is_whitespace());
        // Styles are taken out only when it is printed.
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
            disobeyed("a::b\n  ::error::c\n\u{1b}[2m::d\n x ##[group]e"),
            "a::b\n  : :error::c\n\u{1b}[2m: :d\n x # #[group]e"
        );
        assert_eq!(said("cannot read a\u{202e}b: no"), "cannot read ab: no");
    }
}
