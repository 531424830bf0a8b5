use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::HistoryPlace;
use crate::cli::error::CliError;
use crate::cli::language::spoken;
use crate::cli::messages::translate;
use crate::history::{Format, IndexName, Mark, index_template};
use crate::redact::Redactor;

/// Write incidents and outcomes as lines of JSON: for another home, or for OpenSearch and Elasticsearch
#[derive(Debug, Args)]
pub(super) struct Export {
    /// The file [default: standard output]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// `jsonl` for another home, `bulk` for a search engine
    #[arg(long, value_enum, default_value_t)]
    format: ExportFormat,
    /// The search engine's index
    #[arg(long, value_name = "NAME", default_value_t)]
    index: IndexName,
    /// Export only what changed since an earlier export: the mark that it printed; 0 is everything
    #[arg(long, value_name = "CHANGE", default_value_t)]
    since: Mark,
    /// Write the mark for the next export into this file
    #[arg(long, value_name = "FILE")]
    next: Option<PathBuf>,
    /// Write the search engine's index template instead
    #[arg(long, conflicts_with_all = ["format", "since", "next"])]
    template: bool,
}

/// The format of an export's lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    #[default]
    Jsonl,
    Bulk,
}

impl Export {
    pub fn run(self, place: &HistoryPlace, redactor: &Redactor) -> Result<(), CliError> {
        if self.template {
            let template = serde_json::to_string_pretty(&index_template(&self.index))?;
            return match &self.file {
                None => Ok(writeln!(io::stdout(), "{template}")?),
                Some(path) => fs::write(path, template + "\n").map_err(written(path)),
            };
        }
        // A full export for another home is rarely continued, so it does not print the mark.
        let is_asked = self.format == ExportFormat::Bulk || self.since != Mark::default();
        let format = match self.format {
            ExportFormat::Jsonl => Format::Lines,
            ExportFormat::Bulk => Format::Bulk(self.index),
        };
        let export = crate::history::Export { format, since: self.since };
        let next = match &self.file {
            None => {
                let mut out = BufWriter::new(io::stdout().lock());
                let (_, next) = place.export(export, redactor, &mut out)?;
                out.flush()?;
                if is_asked && self.next.is_none() {
                    anstream::eprintln!("{}", in_words(&format!("go on with --since {next}")));
                }
                next
            }
            Some(path) => {
                let mut file = Late { path, file: None };
                let (lines, next) = place.export(export, redactor, &mut file)?;
                file.finish().map_err(written(path))?;
                anstream::println!("{}", in_words(&format!("{lines} lines written; go on with --since {next}")));
                next
            }
        };
        match &self.next {
            Some(path) => fs::write(path, format!("{next}\n")).map_err(written(path)),
            None => Ok(()),
        }
    }
}

/// A file that is created on the first write: a failing export leaves an existing file intact.
struct Late<'p> {
    path: &'p Path,
    file: Option<BufWriter<File>>,
}

impl Late<'_> {
    fn file(&mut self) -> io::Result<&mut BufWriter<File>> {
        let file = match self.file.take() {
            Some(file) => file,
            None => BufWriter::new(File::create(self.path)?),
        };
        Ok(self.file.insert(file))
    }

    fn finish(mut self) -> io::Result<()> {
        let file = self.file()?;
        file.flush()?;
        file.get_ref().sync_all()
    }
}

impl Write for Late<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// `words` in the reader's language.
fn in_words(words: &str) -> String {
    translate(words, spoken()).into_owned()
}

/// The error that `path` cannot be written.
fn written(path: &Path) -> impl Fn(io::Error) -> CliError {
    move |error| CliError::Write { path: path.to_owned(), error }
}
