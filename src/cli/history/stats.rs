use std::collections::BTreeMap;
use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::{HistoryPlace, ListFormat, asked};
use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::cli::table::table;
use crate::history::{self, Stats as Counts};

/// Rows per table, and rows where one table was asked for.
const ROWS: usize = 8;
const MOST_ROWS: usize = 50;

/// Count incidents by kind, cause, phase, model, framework and week
#[derive(Debug, Args)]
pub(super) struct Stats {
    /// Count only what `oomdoc history search` would find
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
    /// Count only what happened since: `30d`, `12w`, `6m`, `1y`, or a date
    #[arg(long, value_name = "AGE|DATE", value_parser = since)]
    since: Option<String>,
    /// Count by these only; comma-separated
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    by: Vec<By>,
    /// How to show them
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Kind,
    Cause,
    Phase,
    Model,
    Framework,
    Host,
    Cluster,
    Job,
    Week,
}

impl By {
    /// The tables shown by default. `cluster` is left out: it would mostly repeat `host`.
    const ALL: [By; 8] = [By::Kind, By::Cause, By::Phase, By::Model, By::Framework, By::Host, By::Job, By::Week];

    fn name(self) -> &'static str {
        match self {
            By::Kind => "kind",
            By::Cause => "cause",
            By::Phase => "phase",
            By::Model => "model",
            By::Framework => "framework",
            By::Host => "host",
            By::Cluster => "cluster",
            By::Job => "job",
            By::Week => "week",
        }
    }

    /// The counts, the most frequent first; weeks in order of time.
    fn of(self, counts: &Counts) -> Vec<(&str, u64)> {
        let names = match self {
            By::Kind => &counts.kinds,
            By::Cause => &counts.causes,
            By::Phase => &counts.phases,
            By::Model => &counts.models,
            By::Framework => &counts.frameworks,
            By::Host => &counts.hosts,
            By::Cluster => &counts.clusters,
            By::Job => &counts.jobs,
            By::Week => return counts.weeks.iter().map(|(week, count)| (week.as_str(), *count)).collect(),
        };
        let mut rows: Vec<(&str, u64)> = names.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        rows
    }
}

/// Checks a point in time as queries spell it.
fn since(words: &str) -> Result<String, String> {
    match format!("since:{words}").parse::<history::Query>() {
        Ok(_) if !words.contains(char::is_whitespace) => Ok(words.to_owned()),
        _ => Err("write 30d, 12w, 6m, 1y or a date: 2026-10-01".to_owned()),
    }
}

impl Stats {
    pub fn run(self, settings: &Home, place: &HistoryPlace) -> Result<(), CliError> {
        let since = self.since.iter().map(|since| format!("since:{since}"));
        let query: Vec<String> = self.query.iter().cloned().chain(since).collect();
        let words = query.join(" ");
        let counts = place.stats(&words, &asked(&words, settings, place)?)?;
        let mut out = anstream::stdout();
        match self.format {
            ListFormat::Json if self.by.is_empty() => writeln!(out, "{}", serde_json::to_string_pretty(&counts)?)?,
            ListFormat::Json => {
                let by: BTreeMap<&str, Vec<_>> = self.by.iter().map(|by| (by.name(), rows_of(*by, &counts))).collect();
                let shown = json!({ "total": counts.total, "by": by });
                writeln!(out, "{}", serde_json::to_string_pretty(&shown)?)?;
            }
            ListFormat::Csv => {
                writeln!(out, "by,name,count")?;
                for by in if self.by.is_empty() { &By::ALL } else { &self.by[..] } {
                    for (name, count) in by.of(&counts) {
                        writeln!(out, "{},\"{}\",{count}", by.name(), name.replace('"', "\"\""))?;
                    }
                }
            }
            ListFormat::Text => out.write_all(self.text(&counts).as_bytes())?,
        }
        Ok(())
    }

    fn text(&self, counts: &Counts) -> String {
        let mut text = format!("{} incident{}\n", counts.total, if counts.total == 1 { "" } else { "s" });
        let (by, most) = if self.by.is_empty() { (&By::ALL[..], ROWS) } else { (&self.by[..], MOST_ROWS) };
        for by in by {
            let rows = by.of(counts);
            let all = rows.len();
            match (by, rows.as_slice()) {
                (_, []) => continue,
                // Among other tables the weeks are a sparkline.
                (By::Week, [(first, _), .., (last, _)]) if self.by.is_empty() => {
                    let weeks: Vec<u64> = rows.iter().map(|(_, count)| *count).collect();
                    text += &format!("\nby week, {first} to {last}\n  {}\n", sparkline(&weeks));
                }
                (By::Week, _) if self.by.is_empty() => continue,
                (by, _) => {
                    text += &format!("\nby {}\n{}", by.name(), table(&with_bars(&rows[..all.min(most)])));
                    if all > most {
                        text += &format!("  and {} more\n", all - most);
                    }
                }
            }
        }
        text
    }
}

/// The counts as JSON.
fn rows_of(by: By, counts: &Counts) -> Vec<serde_json::Value> {
    by.of(counts).into_iter().map(|(name, count)| json!({ "name": name, "count": count })).collect()
}

/// The rows with a bar for each count.
fn with_bars(rows: &[(&str, u64)]) -> Vec<[String; 3]> {
    const WIDTH: u64 = 20;
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let bar = |count: u64| "▇".repeat((count * WIDTH).div_ceil(most) as usize);
    rows.iter().map(|(name, count)| [format!("  {name}"), count.to_string(), bar(*count)]).collect()
}

/// One character per number, its height proportional to the number.
fn sparkline(numbers: &[u64]) -> String {
    const SIGNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = numbers.iter().copied().max().unwrap_or(0).max(1);
    numbers.iter().map(|number| SIGNS[(number * 7).div_ceil(most) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_is_as_high_as_its_numbers() {
        assert_eq!(sparkline(&[0, 1, 4, 8]), "▁▂▅█");
        assert_eq!(sparkline(&[0, 0]), "▁▁");
    }
}
