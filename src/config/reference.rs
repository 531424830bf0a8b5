//! References to variables as whole values: `$SHARE`, `${SHARE}`, `${SHARE:-0.9}` and Kubernetes' `$(SHARE)`.

use super::{Document, Entry, EntryKind, Format, Value, shell};

impl Document {
    /// The variable of another file that `entry` of a YAML file only refers to, as compose fills it in.
    pub(crate) fn refers_to(&self, entry: &Entry) -> Option<&str> {
        let written = self.text().get(entry.span.clone()).filter(|_| self.format() == Format::Yaml)?;
        // Kubernetes' own form is of the container's environment.
        let name = of(written).filter(|_| !written.contains("$("))?;
        // Hydra's `${batch_size}` is the key of that name.
        let is_own = |other: &Entry| other.key == name && other.span != entry.span;
        (!self.entries().iter().any(is_own)).then_some(name)
    }

    /// Gives entries that only refer to a variable of another file what `value` says of that variable.
    pub(crate) fn resolve(&mut self, value: impl Fn(&str) -> Option<Value>) {
        let resolved = |entry: &Entry| self.refers_to(entry).and_then(&value);
        let values: Vec<Option<Value>> = self.entries.iter().map(resolved).collect();
        for (entry, value) in self.entries.iter_mut().zip(values) {
            entry.value = value.unwrap_or_else(|| entry.value.clone());
        }
    }

    /// Whether it is a file of variables for what another file starts, as `.env` is: a script that starts nothing.
    pub(crate) fn holds_variables(&self) -> bool {
        self.format() == Format::Shell
            && self.commands().is_empty()
            && self.entries().iter().all(|entry| entry.kind == EntryKind::Variable)
    }

    /// How often the text refers to the variable `name`.
    pub(crate) fn uses_of(&self, name: &str) -> usize {
        // Code asks for it by its name alone.
        let quoted = ["\"", "'"].map(|quote| format!("{quote}{name}{quote}"));
        let asked = || quoted.iter().map(|name| self.text.matches(name.as_str()).count()).sum::<usize>();
        uses(&self.text, name) + if self.format() == Format::Python { asked() } else { 0 }
    }
}

/// The name of the variable that `written`, with or without quotes, only refers to.
pub(super) fn of(written: &str) -> Option<&str> {
    let inner = written.trim_matches(['"', '\'']).strip_prefix('$')?;
    let closed = |open, close| inner.strip_prefix(open).and_then(|inner| inner.strip_suffix(close));
    let name = match closed('{', '}').or_else(|| closed('(', ')')) {
        Some(inner) => inner.split_once(":-").or(inner.split_once('-')).map_or(inner, |(name, _)| name),
        None => inner,
    };
    (!name.is_empty() && shell::name_length(name) == name.len()).then_some(name)
}

/// How often `text` refers to the variable `name`.
pub(super) fn uses(text: &str, name: &str) -> usize {
    let behind = text.match_indices(name).filter(|(at, _)| {
        let before = &text[..*at];
        before.ends_with('$') || before.ends_with("${") || before.ends_with("$(")
    });
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    behind.filter(|(at, _)| !text[at + name.len()..].starts_with(is_part)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_whole_value() {
        for written in ["$SHARE", "\"$SHARE\"", "${SHARE}", "$(SHARE)", "${SHARE:-0.9}", "${SHARE-0.9}"] {
            assert_eq!(of(written), Some("SHARE"), "{written}");
        }
        for written in ["SHARE", "$", "$1", "0.$SHARE", "$SHARE.0", "$(nproc --all)", "${SHARE%x}", "$((SHARE))"] {
            assert_eq!(of(written), None, "{written}");
        }
    }

    #[test]
    fn counts_references_not_names() {
        assert_eq!(uses("SHARE=1 $SHARE ${SHARE:-2} $(SHARE) $SHARES A_SHARE", "SHARE"), 3);
    }
}
