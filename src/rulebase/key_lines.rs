use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line of each key in a TOML file.
#[derive(Debug)]
pub(crate) struct KeyLines {
    /// Paths of keys, such as `evidence.2.when`, with their lines.
    lines: Vec<(String, usize)>,
}

impl KeyLines {
    /// The keys of `content`; none if it is not TOML.
    pub fn of(content: &str) -> KeyLines {
        let mut found = KeyLines { lines: Vec::new() };
        let (table, _) = DeTable::parse_recoverable(content);
        found.table("", table.get_ref(), content);
        found
    }

    fn table(&mut self, above: &str, table: &DeTable<'_>, content: &str) {
        for (key, value) in table {
            let path = format!("{above}{}", key.get_ref());
            self.add(path, key.span().start, value, content);
        }
    }

    fn add(&mut self, path: String, start: usize, value: &Spanned<DeValue<'_>>, content: &str) {
        match value.get_ref() {
            DeValue::Table(table) => self.table(&format!("{path}."), table, content),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.add(format!("{path}.{index}"), item.span().start, item, content);
                }
            }
            _ => {}
        }
        self.lines.extend(line_at(content, start).map(|line| (path, line)));
    }

    /// Whether there is a key at `path`.
    pub fn has(&self, path: &[&str]) -> bool {
        let wanted = path.join(".");
        self.lines.iter().any(|(known, _)| *known == wanted)
    }

    /// The line of the key at `path`, or of its nearest parent in the file.
    pub fn line(&self, path: &[&str]) -> Option<usize> {
        (1..=path.len()).rev().find_map(|length| {
            let wanted = path[..length].join(".");
            self.lines.iter().find(|(known, _)| *known == wanted).map(|(_, line)| *line)
        })
    }
}

/// The line of the byte at `offset`, from 1.
pub(crate) fn line_at(content: &str, offset: usize) -> Option<usize> {
    Some(content.get(..offset)?.matches('\n').count() + 1)
}

/// The line of the first text in backticks in `problem` that occurs in `content`.
pub(crate) fn line_of_words(content: &str, problem: &str) -> Option<usize> {
    let quoted = problem.split('`').skip(1).step_by(2).filter(|words| !words.is_empty());
    quoted.filter_map(|words| content.find(words)).find_map(|at| line_at(content, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_on_their_lines() {
        let lines = KeyLines::of(
            "id = 'a'\n\n[title]\nen = 'x'\n\n[[evidence]]\ngroup = 'g'\n\n[[evidence]]\nwhen = '''\nx'''\n",
        );
        assert_eq!(lines.line(&["id"]), Some(1));
        assert_eq!(lines.line(&["title", "en"]), Some(4));
        assert_eq!(lines.line(&["evidence", "0", "group"]), Some(7));
        assert_eq!(lines.line(&["evidence", "1", "when"]), Some(10));
        assert_eq!(lines.line(&["evidence", "1", "missing"]), Some(9));
        assert_eq!(lines.line(&["nowhere"]), None);
    }
}
