use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use anstyle::Style;
use clap::Args;

use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::cli::language::Lang;
use crate::knowledge::{CauseRule, Condition, Direction, Language, Origin};
use crate::rulebase::{RuleSource, nearest_rules};

/// Show a rule: what it says, what speaks for and against it, what it changes
#[derive(Debug, Args)]
pub(super) struct Show {
    /// The rule's id, as `oomdoc rules list` shows it
    id: String,
    /// Print the file itself, as a start for a rule of your own
    #[arg(long)]
    toml: bool,
    #[command(flatten)]
    lang: Lang,
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

impl Show {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let sources = super::sources(None, home)?;
        // The user's rules come last and replace shipped ones.
        let found = sources
            .iter()
            .rev()
            .find_map(|source| Some((source, source.cause()?)).filter(|(_, rule)| *rule.id == *self.id));
        let Some((source, rule)) = found else {
            let nearest = nearest_rules(&self.id, &sources);
            return Err(CliError::Unexplained { word: self.id, nearest });
        };
        let text = if self.toml { source.file.content.clone() } else { page(source, &rule, self.lang.language) };
        anstream::stdout().write_all(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

fn page(source: &RuleSource, rule: &CauseRule, language: Language) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write_page(&mut page, source, rule, language);
    page
}

fn write_page(page: &mut String, source: &RuleSource, rule: &CauseRule, language: Language) -> std::fmt::Result {
    let origin = match rule.origin {
        Origin::Shipped => concat!("shipped ", env!("CARGO_PKG_VERSION")),
        Origin::Own => "yours",
    };
    writeln!(
        page,
        "{BOLD}{}{BOLD:#}: {}  {DIM}{origin}, {}{DIM:#}",
        rule.id,
        rule.title.in_language(language),
        source.shown
    )?;
    writeln!(page, "  {}", rule.explanation.in_language(language))?;
    writeln!(page, "  {DIM}It does not say:{DIM:#} {}", rule.not_concluded.in_language(language))?;
    let kinds: Vec<&str> = rule.kinds.iter().map(|kind| kind.as_str()).collect();
    writeln!(page, "\n  {DIM}concludes{DIM:#} {} {DIM}of{DIM:#} {}", rule.cause, kinds.join(", "))?;
    if let Some(when) = &rule.when {
        writeln!(page, "  {DIM}only if{DIM:#} {when}")?;
    }
    writeln!(page, "\n{BOLD}Evidence{BOLD:#}, in log-odds; of each group the strongest row that holds counts")?;
    writeln!(page, "  {:+5.1}  {DIM}before any evidence{DIM:#}", rule.prior)?;
    for row in &rule.evidence {
        let why = row.why.in_language(language);
        writeln!(page, "  {:+5.1}  {}: {why}\n         {DIM}{}{DIM:#}", row.log_odds, row.group, row.when)?;
    }
    if !rule.patch.is_empty() {
        writeln!(page, "\n{BOLD}What to change{BOLD:#}")?;
    }
    for row in &rule.patch {
        let way = row.direction.map(Direction::as_str).map(|way| format!("{way} ")).unwrap_or_default();
        let knob = row.knob.as_ref().map(|knob| format!(" by {knob}")).unwrap_or_default();
        writeln!(page, "  {way}{}{knob}{}", row.lever, condition(row.when.as_ref()))?;
    }
    if !rule.not_advised.is_empty() {
        writeln!(page, "\n{BOLD}What does not help{BOLD:#}")?;
    }
    for row in &rule.not_advised {
        writeln!(page, "  {}: {}{}", row.knob, row.why.in_language(language), condition(row.when.as_ref()))?;
    }
    if !rule.capture.is_empty() {
        writeln!(page, "\n{BOLD}What to record next time{BOLD:#}")?;
    }
    for row in &rule.capture {
        writeln!(page, "  {}{}", row.text.in_language(language), condition(row.when.as_ref()))?;
    }
    if !rule.example.is_empty() {
        writeln!(page, "\n{BOLD}Examples{BOLD:#}")?;
    }
    for example in &rule.example {
        writeln!(page, "  {}: must be {}", example.name, example.must.as_str())?;
    }
    rule.references.iter().try_for_each(|link| writeln!(page, "\n{DIM}{link}{DIM:#}"))
}

fn condition(when: Option<&Condition>) -> String {
    when.map(|when| format!("  {DIM}if {when}{DIM:#}")).unwrap_or_default()
}
