use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Body, Command, ConfigError, Document, Entry, Format};
use crate::model::{Text, Texts};

/// A document in the form in which it is handed to another process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptDocument {
    /// A file; the receiving process parses its text again.
    File {
        /// The path in citations.
        path: Arc<str>,
        /// Its syntax.
        format: Format,
        /// The whole file.
        text: String,
    },
    /// A configuration that a log printed. Its text cannot be parsed again, so its settings are kept.
    Printed {
        /// The log, as citations name it.
        path: Arc<str>,
        /// The printed text.
        text: String,
        /// The settings in it.
        entries: Vec<Entry>,
        /// The commands in it.
        commands: Vec<Command>,
    },
}

impl From<Document> for KeptDocument {
    fn from(Document { path, format, text, entries, commands, body: _ }: Document) -> KeptDocument {
        match format {
            Format::Log => KeptDocument::Printed { path, text, entries, commands },
            format => KeptDocument::File { path, format, text },
        }
    }
}

impl TryFrom<KeptDocument> for Document {
    type Error = ConfigError;

    fn try_from(kept: KeptDocument) -> Result<Document, ConfigError> {
        match kept {
            KeptDocument::File { path, format, text } => Document::read_as(format, path, &text),
            KeptDocument::Printed { path, text, entries, commands } => {
                Ok(Document { path, format: Format::Log, text, entries, commands, body: Body::Printed })
            }
        }
    }
}

impl KeptDocument {
    /// The path in citations.
    pub fn path(&self) -> &str {
        match self {
            KeptDocument::File { path, .. } | KeptDocument::Printed { path, .. } => path,
        }
    }
}

impl Texts for KeptDocument {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        match self {
            KeptDocument::File { path, format: _, text } => {
                path.texts(see);
                see(Text::Lines(text));
            }
            KeptDocument::Printed { path, text, entries, commands } => {
                path.texts(see);
                see(Text::Lines(text));
                entries.texts(see);
                commands.texts(see);
            }
        }
    }
}

impl Texts for Entry {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Entry { key, value, kind: _, at, defined, command: _, span: _ } = self;
        key.texts(see);
        match value {
            super::Value::Text(words) => words.texts(see),
            super::Value::Null | super::Value::Bool(_) | super::Value::Number(_) => {}
        }
        at.texts(see);
        defined.texts(see);
    }
}

impl Texts for Command {
    fn texts(&mut self, see: &mut dyn FnMut(Text<'_>)) {
        let Command { program, target, operands, at } = self;
        program.texts(see);
        target.texts(see);
        operands.texts(see);
        at.path.texts(see);
    }
}
