use std::collections::BTreeSet;

use tantivy::TantivyDocument;
use tantivy::schema::Field;

use super::fields::Fields;
use super::tally::SEPARATOR;
use crate::history::record::{ALONE, is_alone, seconds};
use crate::history::tokens::{is_ideograph, tokens};
use crate::history::{Document, OutcomeSummary, Record, Verdict};
use crate::model::FigureName;

/// The indexed form of `record`, given the outcomes reported for it.
pub(super) fn document(
    fields: &Fields,
    record: &Record,
    told: Option<&OutcomeSummary>,
) -> Result<TantivyDocument, serde_json::Error> {
    let shown = Document::new(record, told);
    let mut document = TantivyDocument::new();
    let mut add = |field: Field, value: Option<&str>| {
        if let Some(value) = value {
            document.add_text(field, value);
        }
    };
    add(fields.id, Some(&shown.id));
    add(fields.kind, Some(shown.kind.as_str()));
    add(fields.phase, Some(shown.phase.as_str()));
    add(fields.cause, Some(&shown.cause));
    add(fields.framework, shown.framework.as_deref());
    add(fields.model, shown.model.as_deref());
    add(fields.gpu, shown.gpu.as_deref());
    add(fields.host, shown.host.as_deref());
    add(fields.cluster, shown.cluster.as_deref());
    add(fields.assignee, shown.assignee.as_deref());
    add(fields.state, Some(shown.state.as_str()));
    add(fields.role, shown.role.as_deref());
    add(fields.site, shown.site.as_deref());
    add(fields.group, Some(&shown.group));
    match is_alone(&shown.group) {
        true => add(fields.group, Some(ALONE)),
        false => add(fields.trouble, Some(&shown.group)),
    }
    add(fields.worked, shown.worked.map(|worked| if worked { "yes" } else { "no" }));
    add(fields.job, shown.job.as_deref());
    shown.tags.iter().for_each(|tag| add(fields.tag, Some(tag)));
    shown.inputs.iter().for_each(|input| add(fields.file, Some(input)));
    let facets = [shown.kind.as_str(), shown.phase.as_str(), &shown.cause, shown.framework.as_deref().unwrap_or("")];
    add(fields.facets, Some(&facets.join(SEPARATOR)));
    let words = tokens(&record.text());
    add(fields.words, Some(&words.join("\n")));
    let parts = parts(&words);
    add(fields.parts, (!parts.is_empty()).then_some(&parts));
    let pairs = pairs(&words);
    add(fields.pairs, (!pairs.is_empty()).then_some(&pairs));
    document.add_text(fields.document, serde_json::to_string(&shown)?);
    document.add_i64(fields.time, record.seconds());
    document.add_u64(fields.number, number(&shown.id));
    if let Some(Verdict { resolved, time, .. }) = &shown.verdict {
        let field = if *resolved { fields.resolved } else { fields.reopened };
        document.add_i64(field, seconds(time).unwrap_or(0));
    }
    for name in FigureName::ALL {
        if let Some(amount) = record.figure(*name) {
            document.add_f64(fields.figure(*name), amount);
        }
    }
    Ok(document)
}

/// The id as a number that sorts like the id.
pub(super) fn number(id: &str) -> u64 {
    u64::from_str_radix(id, 16).unwrap_or_default()
}

/// The parts of compound words, without duplicates, one per line.
fn parts(words: &[String]) -> String {
    let mut parts: BTreeSet<&str> = BTreeSet::new();
    for word in words {
        match word.chars().next() {
            Some(first) if is_ideograph(first) => {
                parts.extend(word.char_indices().map(|(at, sign)| &word[at..at + sign.len_utf8()]));
            }
            _ if word.contains('_') => parts.extend(word.split('_').filter(|part| !part.is_empty())),
            _ => {}
        }
    }
    parts.into_iter().collect::<Vec<&str>>().join("\n")
}

/// Each word with its successor, one pair per line.
fn pairs(words: &[String]) -> String {
    let mut pairs = String::new();
    for pair in words.windows(2) {
        if !pairs.is_empty() {
            pairs.push('\n');
        }
        pairs.push_str(&pair[0]);
        pairs.push(' ');
        pairs.push_str(&pair[1]);
    }
    pairs
}
