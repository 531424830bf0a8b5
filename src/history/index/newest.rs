//! What a query finds in one segment, newest first, and the counts of all it finds: pages are assembled from these.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use tantivy::collector::SegmentCollector;
use tantivy::columnar::ColumnValues;
use tantivy::query::Weight;
use tantivy::{DocId, SegmentReader};

use super::fields::{NUMBER, TIME};
use super::tally::{Column, Counts, SegmentTally, each_block};

/// An incident's place in the order of time: the greater, the earlier on the page. The id orders incidents of the same
/// second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::history) struct Moment {
    pub time: i64,
    /// The id as a number.
    pub number: Reverse<u64>,
}

/// The matches of a query in one segment.
#[derive(Debug)]
pub(in crate::history) struct SegmentPage {
    pub counts: Counts,
    /// Newest first, at most as many as requested.
    pub newest: Vec<(Moment, DocId)>,
}

/// Counts the matches of `weight` in `segment` and collects the newest `most` of them.
pub(super) fn page_of(
    weight: &dyn Weight,
    segment: &SegmentReader,
    columns: &[Column],
    most: usize,
) -> tantivy::Result<SegmentPage> {
    let mut tally = SegmentTally::new(segment, columns)?;
    let mut newest = Newest::new(segment, None, most)?;
    each_block(weight, segment, |documents| {
        tally.collect_block(documents);
        newest.take(documents, tally.times());
    })?;
    Ok(SegmentPage { counts: tally.harvest()?, newest: newest.sorted() })
}

/// The newest `most` matches of `weight` in `segment` that come after `after`.
pub(super) fn newest_of(
    weight: &dyn Weight,
    segment: &SegmentReader,
    after: Option<Moment>,
    most: usize,
) -> tantivy::Result<Vec<(Moment, DocId)>> {
    let (mut newest, times) = (Newest::new(segment, after, most)?, times(segment)?);
    let mut when = Vec::new();
    each_block(weight, segment, |documents| {
        when.resize(documents.len(), 0);
        times.get_vals(documents, &mut when);
        newest.take(documents, &when);
    })?;
    Ok(newest.sorted())
}

struct Newest {
    numbers: Arc<dyn ColumnValues<u64>>,
    after: Option<Moment>,
    most: usize,
    /// The least of them on top.
    found: BinaryHeap<Reverse<(Moment, DocId)>>,
}

impl Newest {
    fn new(segment: &SegmentReader, after: Option<Moment>, most: usize) -> tantivy::Result<Newest> {
        let numbers = segment.fast_fields().column_first_or_default::<u64>(NUMBER)?;
        Ok(Newest { numbers, after, most, found: BinaryHeap::with_capacity(most.min(1024) + 1) })
    }

    fn take(&mut self, documents: &[DocId], times: &[i64]) {
        for (document, time) in documents.iter().zip(times) {
            // Most documents are older than all that are kept; for those the id need not be looked up.
            let is_full = self.found.len() >= self.most;
            if is_full && self.found.peek().is_none_or(|Reverse((least, _))| *time < least.time) {
                continue;
            }
            let moment = Moment { time: *time, number: Reverse(self.numbers.get_val(*document)) };
            if self.after.is_some_and(|after| moment >= after) {
                continue;
            }
            self.found.push(Reverse((moment, *document)));
            if self.found.len() > self.most {
                self.found.pop();
            }
        }
    }

    fn sorted(self) -> Vec<(Moment, DocId)> {
        let mut found: Vec<(Moment, DocId)> = self.found.into_iter().map(|Reverse(found)| found).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }
}

/// The column of when each incident of a segment happened.
pub(super) fn times(segment: &SegmentReader) -> tantivy::Result<Arc<dyn ColumnValues<i64>>> {
    segment.fast_fields().column_first_or_default::<i64>(TIME)
}
