//! Finds configuration files that the launch names but that were not passed as inputs.

use std::path::Path;

use super::{JobConfig, Setting};
use crate::config::Entry;
use crate::knowledge::{Language, Type};

impl JobConfig<'_> {
    /// Asks for the first such file, since with it more is known and patches become edits; `None` if all are there.
    pub fn ask_for_files(&self, language: Language) -> Option<String> {
        let files = self.knobs().filter(|knob| knob.r#type == Type::File);
        let entries = files.filter_map(|knob| self.setting(knob)).filter(Setting::is_own).map(|setting| setting.entry);
        let mut named = entries.map(|entry| (entry.value.to_string(), &entry.at.location));
        let (named, at) = named.find(|(named, _)| is_file(named) && !self.is_given(named))?;
        Some(match language {
            Language::En => format!("`{named}`, which {at} names, beside the log: changes become edits of it."),
            Language::Zh => format!("把 {at} 所引用的 `{named}` 与日志一起提供：修改建议会成为对它的编辑。"),
        })
    }

    /// Whether the job's files hold one that is called like `named`, or a script writes it.
    pub fn is_given(&self, named: &str) -> bool {
        let name = Path::new(named).file_name();
        let is_it = |path: &str| Path::new(path).file_name() == name;
        // The script may also write the file itself.
        let is_written = |entry: &Entry| entry.key.split_once(':').is_some_and(|(file, _)| is_it(file));
        self.documents.iter().any(|document| is_it(document.path()) || document.entries().iter().any(is_written))
    }
}

/// Whether the value is a file's name rather than one of the keywords that the option also accepts.
fn is_file(value: &str) -> bool {
    !value.contains(['$', '{', ' ']) && Path::new(value).extension().is_some()
}
