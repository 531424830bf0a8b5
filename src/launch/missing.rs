//! Configuration files that the launch names and nobody gave.

use std::path::Path;

use super::Launch;
use crate::config::Entry;
use crate::knowledge::{Language, Type};

impl Launch<'_> {
    /// What to give next time, so that more is known and patches become edits; nothing where all is there.
    pub fn ask_for_files(&self, language: Language) -> Option<String> {
        let (named, at) = self.missing_files().into_iter().next()?;
        Some(match language {
            Language::En => format!("`{named}`, which {} names, beside the log: changes become edits of it.", at),
            Language::Zh => format!("把 {} 所引用的 `{named}` 与日志一起提供：修改建议会成为对它的编辑。", at),
        })
    }

    /// The files, each with the place that names it.
    fn missing_files(&self) -> Vec<(String, String)> {
        let files = self.knobs().filter(|knob| knob.r#type == Type::File);
        let named = files.filter_map(|knob| self.setting(knob)).filter(|setting| setting.is_own());
        let missing =
            named.filter(|setting| is_file(setting.entry) && !self.is_given(&setting.entry.value.to_string()));
        missing.map(|setting| (setting.entry.value.to_string(), setting.entry.at.location.to_string())).collect()
    }

    fn is_given(&self, named: &str) -> bool {
        let name = Path::new(named).file_name();
        let is_it = |path: &str| Path::new(path).file_name() == name;
        // Or the script writes it.
        let is_written = |entry: &Entry| entry.key.split_once(':').is_some_and(|(file, _)| is_it(file));
        self.documents.iter().any(|document| is_it(document.path()) || document.entries().iter().any(is_written))
    }
}

/// Whether the value is a file's name, and not one of a few words that the option takes as well.
fn is_file(entry: &Entry) -> bool {
    let value = entry.value.to_string();
    !value.contains(['$', '{', ' ']) && Path::new(&value).extension().is_some()
}
