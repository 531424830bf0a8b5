use similar::TextDiff;

/// The changes from `before` to `after` as a unified diff that `patch -p1` and `git apply` read; empty if there are
/// none.
pub fn diff(path: &str, before: &str, after: &str) -> String {
    let lines = |text| -> Vec<&str> { str::split_inclusive(text, '\n').collect() };
    let name = path.trim_start_matches("./").trim_start_matches('/');
    // A tab marks the end of a name that contains blanks.
    let end = if name.contains(char::is_whitespace) { "\t" } else { "" };
    TextDiff::configure()
        .newline_terminated(true)
        .diff_slices(&lines(before), &lines(after))
        .unified_diff()
        .header(&format!("a/{name}{end}"), &format!("b/{name}{end}"))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_patch_reads() {
        let (before, after) = ("a\r\nb\r\nc", "a\r\nB\r\nc");
        assert_eq!(
            diff("/conf/ds.json", before, after),
            "--- a/conf/ds.json\n+++ b/conf/ds.json\n@@ -1,3 +1,3 @@\n a\r\n-b\r\n+B\r\n c\n\\ No newline at end of file\n"
        );
        assert_eq!(diff("./my run.sh", "x\n", "y\n"), "--- a/my run.sh\t\n+++ b/my run.sh\t\n@@ -1 +1 @@\n-x\n+y\n");
        assert_eq!(diff("a", before, before), "");
    }
}
