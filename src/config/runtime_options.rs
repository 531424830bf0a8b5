//! Finds options of a language's runtime within the values of variables and keys: `JAVA_OPTS="-Xms1g -Xmx4g"` of a container,
//! `org.gradle.jvmargs` of Gradle, `NODE_OPTIONS` of a workflow, the command in a script of `package.json`.
//!
//! Their names mean the same wherever they stand, so that neither the variable nor the program must be known.

use std::collections::HashSet;
use std::ops::Range;

use super::entry::FoundSetting;
use super::{EntryKind, Format, Value};
use crate::knowledge::Launchers;

/// An option within a text: its name without dashes, and where its value stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RuntimeOption<'t> {
    pub name: &'t str,
    pub value: Range<usize>,
}

/// The options of runtimes among the words of `text`.
pub(super) fn options(text: &str) -> Vec<RuntimeOption<'_>> {
    let is_border = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';');
    let mut found = Vec::new();
    let mut at = 0;
    for word in text.split(is_border) {
        // `NODE_OPTIONS=--max-old-space-size=4096`
        let inner = word.find("=-").map_or(0, |equals| equals + 1);
        if let Some((name, value)) = attached(&word[inner..]) {
            let start = at + inner + value;
            found.push(RuntimeOption { name, value: start..at + word.len() });
        }
        // Every border is one byte.
        at += word.len() + 1;
    }
    found
}

/// The name of an option of a runtime, and where its value begins: `-Xmx4g`, `-XX:MaxMetaspaceSize=256m`, `--max-old-space-size=4096`.
pub(super) fn attached(word: &str) -> Option<(&str, usize)> {
    let plain = word.strip_prefix('-')?.trim_start_matches('-');
    let dashes = word.len() - plain.len();
    let names = &Launchers::shipped().programs.runtime_options;
    names.iter().find_map(|name| {
        let rest = plain.strip_prefix(name.as_str())?;
        let value = rest.strip_prefix('=').unwrap_or(rest);
        let is_amount = value.starts_with(|c: char| c.is_ascii_digit());
        is_amount.then(|| (&plain[..name.len()], dashes + plain.len() - value.len()))
    })
}

/// The options within the values of `found`, which are settings of `text`, as settings of their own: `services.a.environment.JAVA_OPTS:Xmx`.
/// What is read already as the option of a command is none.
pub(super) fn within(format: Format, text: &str, found: &[FoundSetting]) -> Vec<FoundSetting> {
    // A script finds them where it reads its variables.
    if !matches!(format, Format::Json | Format::Yaml | Format::Toml | Format::Ini) {
        return Vec::new();
    }
    let mut inner: Vec<FoundSetting> = Vec::new();
    let flags = found.iter().filter(|setting| setting.kind == EntryKind::Flag);
    let mut known: HashSet<Range<usize>> = flags.map(|flag| flag.span.clone()).collect();
    for owner in found.iter().filter(|owner| matches!(owner.kind, EntryKind::Setting | EntryKind::Env)) {
        let Value::Text(words) = &owner.value else { continue };
        let raw = text.get(owner.span.clone()).unwrap_or_default();
        // Only where the value stands as it reads do its parts have a place.
        let Some(base) = raw.find(words.as_str()).map(|at| owner.span.start + at) else { continue };
        for RuntimeOption { name, value } in options(words) {
            let span = base + value.start..base + value.end;
            if known.insert(span.clone()) {
                let key = format!("{}:{name}", owner.key);
                let value = Value::of_word(words.get(value).unwrap_or_default());
                inner.push(FoundSetting::new(&key, value, EntryKind::Flag, span));
            }
        }
    }
    inner
}

#[cfg(test)]
mod tests {
    use crate::config::{Document, EntryKind, Value};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn options_within_values_are_changed_where_they_stand() -> Outcome {
        for (file, text, key, old, new) in [
            (
                "compose.yaml",
                "services:\n  a:\n    image: x/a:1\n    environment:\n      - OTHER=1\n      - JAVA_OPTS=-Xms1g -Xmx4g -XX:+UseG1GC\n",
                "services.a.environment[1]:Xmx",
                "-Xmx4g",
                "-Xmx6g",
            ),
            (
                "pod.yaml",
                "spec:\n  containers:\n  - name: a\n    env:\n    - name: JAVA_TOOL_OPTIONS\n      value: \"-XX:MaxMetaspaceSize=256m -Xmx4g\"\n",
                "spec.containers[0].env[0].value:Xmx",
                "-Xmx4g",
                "-Xmx6g",
            ),
            (
                "ci.yml",
                "jobs:\n  b:\n    steps:\n      - run: npm run build\n        env:\n          NODE_OPTIONS: --max-old-space-size=2048\n",
                "jobs.b.steps[0].env.NODE_OPTIONS:max-old-space-size",
                "2048",
                "6g",
            ),
            (
                "package.json",
                "{\"scripts\": {\"build\": \"NODE_OPTIONS=--max_old_space_size=2048 vite build\"}}\n",
                "scripts.build:max_old_space_size",
                "2048",
                "6g",
            ),
            (
                "app.service",
                "[Service]\nEnvironment=\"JAVA_OPTS=-Xmx4g -Xms1g\"\nExecStart=/opt/app/run\n",
                "JAVA_OPTS:Xmx",
                "4g",
                "6g",
            ),
            (
                "Dockerfile",
                "FROM x/jre:21\nENV JAVA_OPTS=\"-Xmx4g -Xms1g\"\nCMD [\"/run\"]\n",
                "JAVA_OPTS:Xmx",
                "4g",
                "6g",
            ),
            (
                "gradle.properties",
                "org.gradle.jvmargs=-Xmx4g -XX:MaxMetaspaceSize=256m\norg.gradle.parallel=true\n",
                "org.gradle.jvmargs:Xmx",
                "4g",
                "6g",
            ),
            ("run.sh", "export JAVA_OPTS=\"$JAVA_OPTS -Xmx4g -Xms1g\"\n./run\n", "Xmx", "4g", "6g"),
            ("run.sh", "java -Xms1g -Xmx4g -jar app.jar\n", "Xmx", "4g", "6g"),
        ] {
            let document = Document::read(file, text)?;
            let set = document.set_as(EntryKind::Flag, None, key, &Value::Text("6g".into()));
            assert_eq!(set, Ok(text.replace(old, new)), "{file}: {:?}", document.entries());
        }
        Ok(())
    }
}
