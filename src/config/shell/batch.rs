//! Batch files of Windows, read as scripts: their words are those of a shell but for the signs of paths and of lines that go on.

use std::borrow::Cow;

/// The bytes that a batch file has in other places than a shell's script have their counterpart, byte by byte, so that each word stands
/// where it stood; anything else stays as it is.
pub(super) fn as_script(text: &str) -> Cow<'_, str> {
    if !is_batch(text) {
        return Cow::Borrowed(text);
    }
    let mut lines = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (words, end) = line.split_at(line.trim_end().len());
        let (words, goes_on) = words.strip_suffix('^').map_or((words, false), |words| (words, true));
        let is_remark = words.trim_start().get(..4).is_some_and(|start| start.eq_ignore_ascii_case("rem "));
        match is_remark {
            true => lines.extend(std::iter::once('#').chain(std::iter::repeat_n(' ', words.len().saturating_sub(1)))),
            false => lines.push_str(&words.replace('\\', "/")),
        }
        lines.push_str(if goes_on { "\\" } else { "" });
        lines.push_str(end);
    }
    Cow::Owned(lines)
}

/// Whether a line says what only a batch file says, or starts a program by a path of Windows.
pub(super) fn is_batch(text: &str) -> bool {
    let says = |line: &str| {
        let first = line.split_whitespace().next().unwrap_or_default().trim_matches('"').to_ascii_lowercase();
        let is_path = first.contains('\\') && [".exe", ".bat", ".cmd"].iter().any(|end| first.ends_with(end));
        line.eq_ignore_ascii_case("@echo off") || is_path
    };
    !text.starts_with("#!") && text.contains(['\\', '@']) && text.lines().map(str::trim).any(says)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_stays_where_it_stands() {
        let text = "@echo off\r\nrem starts it\r\n.\\python\\python.exe -s App\\main.py ^\r\n  --listen\r\npause\r\n";
        let script = as_script(text);
        assert_eq!(script.len(), text.len());
        assert_eq!(
            script,
            "@echo off\r\n#            \r\n./python/python.exe -s App/main.py \\\r\n  --listen\r\npause\r\n"
        );
        for shell in ["python a.py \\\n --b 1\n", "echo \"a\\b\"\n", "#!/bin/sh\n.\\x.exe\n"] {
            assert_eq!(as_script(shell), shell);
        }
    }
}
