//! Patterns for names and paths, with `*`.

use std::path::{Component, Path, PathBuf};

use regex::{Regex, RegexBuilder};
use thiserror::Error;

/// An invalid pattern.
#[derive(Debug, Error)]
#[error("`{pattern}` is no pattern")]
pub struct BadPattern {
    pattern: String,
}

/// A pattern for host names: `*` is any characters, `?` one; case does not matter.
#[derive(Debug, Clone)]
pub struct NamePattern {
    regex: Regex,
}

impl NamePattern {
    /// Compiles a pattern.
    pub fn new(words: &str) -> Result<NamePattern, BadPattern> {
        Ok(NamePattern { regex: regex(words, &inner(words, "."))? })
    }

    /// Whether `name` matches, with or without its domain.
    pub fn matches(&self, name: &str) -> bool {
        self.regex.is_match(name) || name.split_once('.').is_some_and(|(host, _)| self.regex.is_match(host))
    }
}

/// A pattern for paths: `*` is any characters within a name, `**` any folders, `?` one character. A pattern without a
/// slash matches a name in any folder; one that matches a folder matches all below it.
#[derive(Debug, Clone)]
pub struct PathPattern {
    /// The pattern as written.
    pub written: String,
    regex: Regex,
}

impl PathPattern {
    /// Compiles a pattern relative to `folder`; without one it applies in any folder. `home` replaces `~`.
    pub fn new(words: &str, folder: Option<&Path>, home: Option<&Path>) -> Result<PathPattern, BadPattern> {
        let bad = || BadPattern { pattern: words.to_owned() };
        let below = words.trim_end_matches('/');
        if below.is_empty() {
            return Err(bad());
        }
        let expanded = below.strip_prefix("~/").and_then(|inner| Some(format!("{}/{inner}", slashed(home?))));
        let pattern = expanded.as_deref().unwrap_or(below).trim_start_matches("./");
        let anywhere = "(?:.*/)?".to_owned();
        let before = match folder {
            _ if pattern.starts_with('/') => String::new(),
            Some(folder) if pattern.contains('/') => {
                let ways = [Some(folder.to_owned()), folder.canonicalize().ok()];
                let ways: Vec<String> = ways.into_iter().flatten().map(|way| regex::escape(&slashed(&way))).collect();
                format!("(?:{})/", ways.join("|"))
            }
            _ => anywhere,
        };
        let regex = regex(words, &format!("{before}{}(?:/.*)?", inner(pattern, "[^/]")))?;
        Ok(PathPattern { written: words.to_owned(), regex })
    }

    /// Whether `path`, which may be a member of an archive (`a.tar!b`), matches as written or with links resolved.
    pub fn matches(&self, path: &str) -> bool {
        if path == "-" {
            return false;
        }
        let (file, member) = path.split_once('!').map_or((path, ""), |(file, member)| (file, member));
        let file = Path::new(file);
        let ways = [std::path::absolute(file).ok().map(|path| plain(&path)), file.canonicalize().ok()];
        let member = if member.is_empty() { String::new() } else { format!("/{}", member.replace('!', "/")) };
        ways.into_iter().flatten().any(|way| self.regex.is_match(&format!("{}{member}", slashed(&way))))
    }
}

/// Translates `pattern` into a regular expression in which `?` is `one`, and `*` any number of it.
fn inner(pattern: &str, one: &str) -> String {
    let (mut regex, mut rest) = (String::new(), pattern);
    while let Some(sign) = rest.chars().next() {
        let (words, length) = match sign {
            _ if rest.starts_with("**/") => ("(?:.*/)?".to_owned(), 3),
            _ if rest.starts_with("**") => (".*".to_owned(), 2),
            '*' => (format!("{one}*"), 1),
            '?' => (one.to_owned(), 1),
            sign => (regex::escape(sign.encode_utf8(&mut [0; 4])), sign.len_utf8()),
        };
        regex.push_str(&words);
        rest = &rest[length..];
    }
    regex
}

fn regex(written: &str, inner: &str) -> Result<Regex, BadPattern> {
    let built = RegexBuilder::new(&format!("^{inner}$")).dot_matches_new_line(true).case_insensitive(true).build();
    match built {
        Ok(regex) if !written.is_empty() => Ok(regex),
        _ => Err(BadPattern { pattern: written.to_owned() }),
    }
}

/// `path` without `..` and `.`, links unresolved.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn slashed(path: &Path) -> String {
    let path = path.to_string_lossy();
    if cfg!(windows) { path.replace('\\', "/") } else { path.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn hosts_are_matched_by_name() -> Outcome {
        let pattern = NamePattern::new("gpu-a100-*")?;
        for (name, matches) in [
            ("gpu-a100-17", true),
            ("GPU-A100-17", true),
            ("gpu-a100-17.cluster.example.org", true),
            ("my-gpu-a100-17", false),
            ("gpu-a10-17", false),
        ] {
            assert_eq!(pattern.matches(name), matches, "{name}");
        }
        assert!(NamePattern::new("node.0")?.matches("node.0") && !NamePattern::new("node.0")?.matches("nodex0"));
        assert!(NamePattern::new("").is_err());
        Ok(())
    }

    #[test]
    fn paths_are_matched_from_the_file_s_folder() -> Outcome {
        let folder = Path::new("/work/it");
        for (pattern, path, matches) in [
            ("*.pem", "/work/it/a/b.pem", true),
            ("*.pem", "/else/b.pem", true),
            ("*.pem", "/work/it/b.pem.log", false),
            ("secrets", "/work/it/secrets/deep/x", true),
            ("secrets/", "/work/it/secrets/x", true),
            ("secrets/*.log", "/work/it/secrets/x.log", true),
            ("secrets/*.log", "/work/it/secrets/a/x.log", false),
            ("secrets/**/*.log", "/work/it/secrets/a/x.log", true),
            ("secrets/**/*.log", "/work/it/secrets/x.log", true),
            ("secrets/x", "/else/secrets/x", false),
            ("**/secrets/x", "/work/it/a/secrets/x", true),
            ("/etc/**", "/etc/shadow", true),
            ("~/keys", "/home/me/keys/id", true),
            ("a/../secrets", "/work/it/a/../secrets", false),
            ("secrets/x", "/work/it/a/../secrets/x", true),
            ("logs/x", "/work/it/logs.tar!logs/x", false),
            ("x", "/work/it/logs.tar!logs/x", true),
            ("*", "-", false),
        ] {
            let read = PathPattern::new(pattern, Some(folder), Some(Path::new("/home/me")))?;
            assert_eq!(read.matches(path), matches, "{pattern} {path}");
        }
        assert!(PathPattern::new("secrets/x", None, None)?.matches("/else/secrets/x"));
        assert!(PathPattern::new("", None, None).is_err());
        Ok(())
    }
}
