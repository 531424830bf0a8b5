//! Reads unified diffs.

/// The number of the first line of the old file that a diff changes, from 1.
pub(super) fn first_changed_line(diff: &str) -> Option<u64> {
    let mut lines = diff.lines().skip_while(|line| !line.starts_with("@@ -"));
    let header = lines.next()?.strip_prefix("@@ -")?;
    let digits = header.split(|c: char| !c.is_ascii_digit()).next()?;
    let start: u64 = digits.parse().ok()?;
    let kept: Vec<&str> = lines.take_while(|line| line.starts_with(' ')).collect();
    Some((start + kept.len() as u64).max(1))
}

/// The CSS class for a line of a diff.
pub(super) fn class(line: &str) -> &'static str {
    match line.as_bytes().first() {
        Some(b'+') => "added",
        Some(b'-') => "removed",
        Some(b'@') => "hunk",
        _ => "kept",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_line_that_changes() {
        assert_eq!(first_changed_line("--- a/x\n+++ b/x\n@@ -21,4 +21,5 @@\n a\n b\n-c\n+d\n"), Some(23));
        assert_eq!(first_changed_line("--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+d\n"), Some(1));
        assert_eq!(first_changed_line("nothing"), None);
    }
}
