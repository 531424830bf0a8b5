//! What a question excludes, as a set of documents.
//!
//! `Exclude` of tantivy 0.27 asks what it excludes for any document (`DocSet::seek_danger`), also for one before the document at which
//! that stands. Phrases, ranges and intersections do not allow this: they panic where arithmetic is checked, and may pass over documents
//! elsewhere. A set of bits allows it. `tests/it/history_index.rs` finds such questions.

use tantivy::query::{BitSetDocSet, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{BitSet, DocId, DocSet, Score, SegmentReader, TERMINATED, Term};

/// The matches of a query, found before they are asked for.
#[derive(Debug)]
pub(super) struct Exclusion(pub Box<dyn Query>);

impl Clone for Exclusion {
    fn clone(&self) -> Exclusion {
        Exclusion(self.0.box_clone())
    }
}

impl Query for Exclusion {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(ExclusionWeight(self.0.weight(scoring)?)))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.0.query_terms(visitor);
    }
}

struct ExclusionWeight(Box<dyn Weight>);

impl Weight for ExclusionWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let mut matches = BitSet::with_max_value(reader.max_doc());
        let mut scorer = self.0.scorer(reader, boost)?;
        while scorer.doc() != TERMINATED {
            matches.insert(scorer.doc());
            scorer.advance();
        }
        Ok(Box::new(ConstScorer::new(BitSetDocSet::from(matches), boost)))
    }

    fn explain(&self, reader: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        self.0.explain(reader, document)
    }
}
