use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use clap::Args;

use super::{Format, found};
use crate::cli::error::CliError;
use crate::cli::table::table;
use crate::history;

/// As many rows of a kind are shown.
const ROWS: usize = 8;

/// Count incidents by kind, cause, phase, model, framework and week
#[derive(Debug, Args)]
pub(super) struct Stats {
    /// How to show them
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Stats {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let found = found(home, history::ask_stats(home)?);
        let counts = [
            ("kind", &found.kinds),
            ("cause", &found.causes),
            ("phase", &found.phases),
            ("model", &found.models),
            ("framework", &found.frameworks),
        ];
        let mut out = anstream::stdout();
        match self.format {
            Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&found)?)?,
            Format::Csv => {
                writeln!(out, "by,name,count")?;
                for (by, counts) in counts {
                    for (name, count) in counts {
                        writeln!(out, "{by},\"{}\",{count}", name.replace('"', "\"\""))?;
                    }
                }
                for (week, count) in &found.weeks {
                    writeln!(out, "week,{week},{count}")?;
                }
            }
            Format::Text => {
                writeln!(out, "{} incidents", found.total)?;
                if let [(first, _), .., (last, _)] = found.weeks.as_slice() {
                    let weeks: Vec<u64> = found.weeks.iter().map(|(_, count)| *count).collect();
                    writeln!(out, "\nby week, {first} to {last}\n  {}", sparkline(&weeks))?;
                }
                for (by, counts) in counts.into_iter().filter(|(_, counts)| !counts.is_empty()) {
                    writeln!(out, "\nby {by}")?;
                    out.write_all(table(&rows(counts)).as_bytes())?;
                }
            }
        }
        Ok(())
    }
}

/// The most frequent ones, with bars.
fn rows(counts: &BTreeMap<String, u64>) -> Vec<[String; 3]> {
    const WIDTH: u64 = 20;
    let mut rows: Vec<(&String, &u64)> = counts.iter().collect();
    rows.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let most = rows.first().map_or(1, |(_, count)| **count).max(1);
    rows.into_iter()
        .take(ROWS)
        .map(|(name, count)| {
            [format!("  {name}"), count.to_string(), "▇".repeat((count * WIDTH).div_ceil(most) as usize)]
        })
        .collect()
}

/// One sign a number, as high as it is large.
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
