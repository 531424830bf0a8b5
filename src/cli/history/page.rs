//! Lists of incidents as text, CSV or JSON.

use std::fmt::Write as _;
use std::io::Write as _;

use super::ListFormat;
use crate::cli::error::CliError;
use crate::cli::messages::translate;
use crate::cli::table::table;
use crate::history::{Document, Page};
use crate::knowledge::Language;
use crate::model::Bytes;

/// Values shown per facet.
const VALUES: usize = 4;

/// Prints `page`, whose first incident has the number `skipped` + 1.
pub(super) fn print(page: Page, format: ListFormat, skipped: usize, language: Language) -> Result<(), CliError> {
    let mut out = anstream::stdout();
    match format {
        ListFormat::Json => writeln!(out, "{}", serde_json::to_string_pretty(&page)?)?,
        ListFormat::Csv => out.write_all(csv(&page.incidents).as_bytes())?,
        ListFormat::Text if page.total == 0 => writeln!(out, "{}", translate("no incident", language))?,
        ListFormat::Text => {
            lines(&page.incidents, language).iter().try_for_each(|line| writeln!(out, "{line}"))?;
            writeln!(out, "\n{}", translate(&range(&page, skipped), language))?;
            out.write_all(facets(&page).as_bytes())?;
        }
    }
    Ok(())
}

fn range(page: &Page, skipped: usize) -> String {
    match page.incidents.len() {
        0 => format!("none of {} stands there", page.total),
        shown if shown == page.total => format!("{shown} in all"),
        shown => format!("{}–{} of {}", skipped + 1, skipped + shown, page.total),
    }
}

/// The columns of a list.
const HEADER: [&str; 9] = ["ID", "TIME", "KIND", "PHASE", "CAUSE", "MODEL", "HOST", "JOB", "OUTCOME"];

/// The header and one line per incident. Columns without any value are left out.
pub(super) fn lines(documents: &[Document], language: Language) -> Vec<String> {
    let rows: Vec<[String; 9]> = documents.iter().map(|document| row(document, language)).collect();
    let is_wanted = |column: &usize| rows.iter().any(|row| row[*column] != NOTHING);
    let wanted: Vec<usize> = (0..HEADER.len()).filter(is_wanted).collect();
    let pick = |row: &[String; 9]| wanted.iter().map(|column| row[*column].clone()).collect::<Vec<String>>();
    let all: Vec<Vec<String>> = std::iter::once(&HEADER.map(str::to_owned)).chain(&rows).map(pick).collect();
    table(&all).lines().map(str::to_owned).collect()
}

/// The cell of an unknown value.
const NOTHING: &str = "-";
/// The longest change in a list, in characters; `history show` has all of it.
const LONGEST_OUTCOME: usize = 48;

fn row(document: &Document, language: Language) -> [String; 9] {
    let words = |words: &Option<String>| words.clone().unwrap_or_else(|| NOTHING.to_owned());
    let tags = document.tags.iter().map(|tag| format!("#{tag}"));
    let job: Vec<String> = document.job.iter().cloned().chain(tags).collect();
    [
        document.id.clone(),
        document.time.get(..16).unwrap_or(&document.time).replace('T', " "),
        document.kind.to_string(),
        document.phase.to_string(),
        document.cause.clone(),
        words(&document.model.as_deref().map(|model| model.rsplit('/').next().unwrap_or(model).to_owned())),
        words(&document.host),
        words(&Some(job.join(" ")).filter(|job| !job.is_empty())),
        translate(&outcome(document), language).into_owned(),
    ]
}

/// The change that was tried, and whether it worked.
fn outcome(document: &Document) -> String {
    let how = match document.worked {
        Some(true) => "solved",
        Some(false) => "not yet",
        None => return NOTHING.to_owned(),
    };
    let Some(change) = &document.change else { return how.to_owned() };
    match change.char_indices().nth(LONGEST_OUTCOME) {
        Some((end, _)) => format!("{how}: {}…", &change[..end]),
        None => format!("{how}: {change}"),
    }
}

/// The facets in the text; the others have columns of their own or too many values.
const FACETS: [&str; 5] = ["cause", "framework", "host", "kind", "phase"];

/// The counts of facets with more than one value.
fn facets(page: &Page) -> String {
    let mut text = String::new();
    let shown = page.facets.iter().filter(|(name, values)| FACETS.contains(&name.as_ref()) && values.len() > 1);
    for (name, values) in shown {
        let mut values: Vec<(&String, &usize)> = values.iter().collect();
        values.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let shown: Vec<String> =
            values.iter().take(VALUES).map(|(value, count)| format!("{name}:{value} {count}")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}", shown.join(", "));
    }
    text
}

/// CSV (RFC 4180) with a header.
fn csv(documents: &[Document]) -> String {
    const HEADER: &str = "id,time,kind,phase,cause,confidence,framework,model,gpu,host,role,requested,node_used,worked,title,job,tags,outcome\n";
    let mut text = HEADER.to_owned();
    for document in documents {
        let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0.to_string()).unwrap_or_default();
        let words = |words: &Option<String>| words.clone().unwrap_or_default();
        let cells = [
            document.id.clone(),
            document.time.clone(),
            document.kind.to_string(),
            document.phase.to_string(),
            document.cause.clone(),
            format!("{:.3}", document.confidence),
            words(&document.framework),
            words(&document.model),
            words(&document.gpu),
            words(&document.host),
            words(&document.role),
            bytes(document.requested),
            bytes(document.node_used),
            document.worked.map(|worked| worked.to_string()).unwrap_or_default(),
            document.title.clone(),
            words(&document.job),
            document.tags.join(" "),
            words(&document.change),
        ];
        text += &cells.map(quoted).join(",");
        text.push('\n');
    }
    text
}

fn quoted(cell: String) -> String {
    match cell.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_hold_signs_are_quoted() {
        assert_eq!(quoted("plain".to_owned()), "plain");
        assert_eq!(quoted("a \"b\", c".to_owned()), "\"a \"\"b\"\", c\"");
    }
}
