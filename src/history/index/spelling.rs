use std::collections::BTreeSet;

use tantivy::query::FuzzyTermQuery;
use tantivy::schema::Field;
use tantivy::{SegmentReader, Term};

use crate::history::tokens::slips;

/// Whether any of `segments` has the term.
pub(super) fn is_known(segments: &[SegmentReader], term: &Term) -> tantivy::Result<bool> {
    for segment in segments {
        if segment.inverted_index(term.field())?.doc_freq(term)? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The words of `field` that equal `word` but for slips after its first letter.
pub(super) fn like(segments: &[SegmentReader], field: Field, word: &str) -> tantivy::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let Some(first) = word.chars().next() else { return Ok(found) };
    // The first letter is taken as correct, which excludes nearly all of the dictionary.
    let beyond = char::from_u32(first as u32 + 1).unwrap_or(char::MAX).to_string();
    let query = FuzzyTermQuery::new(Term::from_field_text(field, word), slips(word), true);
    for segment in segments {
        let index = segment.inverted_index(field)?;
        let automaton = query.automaton()?;
        let mut terms = index.terms().search(automaton).ge(first.to_string()).lt(&beyond).into_stream()?;
        while terms.advance() {
            found.extend(std::str::from_utf8(terms.key()).ok().filter(|like| *like != word).map(str::to_owned));
        }
    }
    Ok(found)
}

/// The terms of `field` whose text satisfies `holds`.
pub(super) fn all(
    segments: &[SegmentReader],
    field: Field,
    holds: impl Fn(&str) -> bool,
) -> tantivy::Result<Vec<Term>> {
    let mut found = BTreeSet::new();
    for segment in segments {
        let index = segment.inverted_index(field)?;
        let mut terms = index.terms().stream()?;
        while terms.advance() {
            if let Some(name) = std::str::from_utf8(terms.key()).ok().filter(|name| holds(name)) {
                found.insert(Term::from_field_text(field, name));
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// The terms of `field` that begin with `letters`.
pub(super) fn beginning(segments: &[SegmentReader], field: Field, letters: &str) -> tantivy::Result<Vec<Term>> {
    let mut found = BTreeSet::new();
    for segment in segments {
        let index = segment.inverted_index(field)?;
        let mut terms = index.terms().range().ge(letters).into_stream()?;
        while terms.advance() && terms.key().starts_with(letters.as_bytes()) {
            found.extend(std::str::from_utf8(terms.key()).ok().map(|name| Term::from_field_text(field, name)));
        }
    }
    Ok(found.into_iter().collect())
}
