//! Text from logs as inert Markdown, on GitHub and on GitLab.

use super::super::details::strip;

/// Breaks up what the forge would act on; it is invisible.
const NOTHING: char = '\u{200b}';

/// Text within a sentence, with code where it has backticks: no other markup, no HTML, no links, no mentions, no
/// references to issues.
pub fn inline(text: &str) -> String {
    let text = strip(text);
    let pieces: Vec<&str> = text.trim().split('`').collect();
    let mut out = String::new();
    for (place, piece) in pieces.iter().enumerate() {
        let is_closed = place + 1 < pieces.len();
        match place % 2 {
            1 if is_closed => {
                // Two adjacent runs of backticks would be one.
                let apart = if out.ends_with('`') { " " } else { "" };
                out.extend([apart, &code(piece)]);
            }
            1 => out.extend(["\\`", &escape(piece)]),
            _ => out.push_str(&escape(piece)),
        }
    }
    out
}

fn escape(text: &str) -> String {
    let text = text.replace("://", &format!(":{NOTHING}//")).replace("www.", &format!("www{NOTHING}."));
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => out.extend(['\\', c]),
            // Mentions, issues, and GitLab's merge requests and snippets.
            '@' | '#' | '!' | '%' => out.extend([c, NOTHING]),
            c => out.push(c),
        }
    }
    out
}

/// Text as code within a line, verbatim except for what [`strip`] removes.
pub fn code(text: &str) -> String {
    let text = strip(text);
    let text = text.trim();
    let fence = "`".repeat(longest_run(text) + 1);
    if text.is_empty() {
        return String::new();
    }
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// [`code`] in a table's cell.
pub(super) fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Lines as a code block in `language`, each indented by `indent`.
pub fn block(text: &str, language: &str, indent: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let lines: Vec<String> = text.lines().map(|line| format!("{indent}{}\n", strip(line))).collect();
    format!("{indent}{fence}{language}\n{}{indent}{fence}\n", lines.concat())
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_mentions_nobody_and_marks_nothing_up() {
        assert_eq!(inline("<img src=x> @all fixes #1"), "&lt;img src=x&gt; @\u{200b}all fixes #\u{200b}1");
        assert_eq!(inline("![x](https://e.x)\n/close"), "!\u{200b}\\[x\\](https:\u{200b}//e.x)/close");
    }

    #[test]
    fn code_between_backticks_stays_code() {
        assert_eq!(inline("`A_B=1` and a_b"), "`A_B=1` and a\\_b");
        assert_eq!(inline("`a``b` `c"), "`a` `b` \\`c");
    }

    #[test]
    fn code_cannot_be_left() {
        assert_eq!(code("a ``` b"), "````a ``` b````");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(cell("a|b"), "`a\\|b`");
        assert_eq!(block("x\n```\n/close", "text", ""), "````text\nx\n```\n/close\n````\n");
    }
}
