//! What a query finds in one segment, by group.

use std::cmp::Reverse;
use std::collections::HashMap;

use tantivy::query::Weight;
use tantivy::{DocId, SegmentReader};

use super::fields::{NUMBER, REOPENED, RESOLVED, TROUBLE};
use super::newest::{Moment, times};
use super::tally::each_block;

/// The occurrences of one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::history) struct Trouble<P> {
    pub count: u64,
    /// When the first one happened, in seconds since 1970.
    pub first: i64,
    /// When the last one happened.
    pub last: Moment,
    /// The document of the newest incident.
    pub newest: P,
    /// When one of its incidents was last resolved.
    pub resolved: Option<i64>,
    /// When one of its incidents was last reopened.
    pub reopened: Option<i64>,
}

impl<P: Copy> Trouble<P> {
    /// Adds the occurrences of another segment.
    pub fn with(&mut self, other: &Trouble<P>) {
        self.count += other.count;
        self.first = self.first.min(other.first);
        if other.last > self.last {
            (self.last, self.newest) = (other.last, other.newest);
        }
        self.resolved = self.resolved.max(other.resolved);
        self.reopened = self.reopened.max(other.reopened);
    }

    /// The same with its newest incident's place converted.
    pub fn at<Q>(&self, place: impl FnOnce(P) -> Q) -> Trouble<Q> {
        let Trouble { count, first, last, newest, resolved, reopened } = *self;
        Trouble { count, first, last, newest: place(newest), resolved, reopened }
    }
}

/// The matches of `weight` in `segment`, by group. Incidents that cannot be told from others are left out.
pub(super) fn troubles_of(
    weight: &dyn Weight,
    segment: &SegmentReader,
) -> tantivy::Result<HashMap<String, Trouble<DocId>>> {
    let columns = segment.fast_fields();
    let Some(names) = columns.str(TROUBLE)? else { return Ok(HashMap::new()) };
    let (ordinals, times) = (names.ords().clone().first_or_default_col(u64::MAX), times(segment)?);
    let numbers = columns.column_first_or_default::<u64>(NUMBER)?;
    let (resolved, reopened) = (columns.column_opt::<i64>(RESOLVED)?, columns.column_opt::<i64>(REOPENED)?);
    let mut found: Vec<Option<Trouble<DocId>>> = vec![None; names.num_terms()];
    let (mut met, mut when) = (Vec::new(), Vec::new());
    each_block(weight, segment, |documents| {
        met.resize(documents.len(), 0);
        when.resize(documents.len(), 0);
        ordinals.get_vals(documents, &mut met);
        times.get_vals(documents, &mut when);
        for ((document, name), time) in documents.iter().zip(&met).zip(&when) {
            let Some(known) = found.get_mut(*name as usize) else { continue };
            let said = |column: &Option<tantivy::columnar::Column<i64>>| column.as_ref()?.first(*document);
            let last = Moment { time: *time, number: Reverse(numbers.get_val(*document)) };
            let (resolved, reopened) = (said(&resolved), said(&reopened));
            let one = Trouble { count: 1, first: *time, last, newest: *document, resolved, reopened };
            match known {
                Some(known) => known.with(&one),
                None => *known = Some(one),
            }
        }
    })?;
    let found: Vec<(u64, Trouble<DocId>)> = (0..).zip(found).filter_map(|(name, one)| Some((name, one?))).collect();
    let ordinals: Vec<u64> = found.iter().map(|(name, _)| *name).collect();
    let (mut named, mut troubles) = (HashMap::with_capacity(found.len()), found.into_iter());
    names.dictionary().sorted_ords_to_term_cb(&ordinals, |name| {
        let name = String::from_utf8_lossy(name).into_owned();
        named.extend(troubles.next().map(|(_, trouble)| (name, trouble)));
    })?;
    Ok(named)
}
