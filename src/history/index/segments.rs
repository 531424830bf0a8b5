//! Queries that run segment by segment, so that an answer can be reused as long as its segment is unchanged.

use std::any::Any;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tantivy::index::SegmentId;
use tantivy::query::{EnableScoring, Weight};
use tantivy::{DocAddress, DocId, Opstamp, SegmentReader};

use super::error::IndexError;
use super::newest::{Moment, SegmentPage, newest_of, page_of};
use super::reader::Reader;
use super::tally::Column;
use super::translate::translate;
use super::troubles::{Trouble, troubles_of};
use super::weekly::{Weekly, weekly_of};
use crate::history::Query;

/// Identifies a segment in its present state: a deletion makes a new key.
pub(in crate::history) type SegmentKey = (SegmentId, Option<Opstamp>);

/// Caches what was found in segments. A segment never changes, so that a slow search of a large one is needed only
/// once; new incidents are in small segments.
pub(in crate::history) trait SegmentCache {
    /// The cached answer to `question` about `segment`.
    fn known(&self, segment: SegmentKey, question: &str) -> Option<Arc<dyn Any + Send + Sync>>;
    /// Caches the answer `found`.
    fn keep(&self, segment: SegmentKey, question: &str, found: Arc<dyn Any + Send + Sync>, bytes: usize);
}

/// Answers found faster than this are not cached.
const WORTH: Duration = Duration::from_micros(300);

impl Reader {
    /// The result of `find` for `query` in each segment, in their order. `question` is the cache key: it must name the
    /// query and everything else the result depends on. `bytes` estimates a result's size.
    pub(super) fn each_segment<T: Send + Sync + 'static>(
        &self,
        query: &Query,
        question: &str,
        cache: &dyn SegmentCache,
        bytes: impl Fn(&T) -> usize,
        find: impl Fn(&dyn Weight, &SegmentReader) -> tantivy::Result<T>,
    ) -> Result<Vec<Arc<T>>, IndexError> {
        let mut found = Vec::new();
        for segment in self.searcher.segment_readers() {
            let key = (segment.segment_id(), segment.delete_opstamp());
            if let Some(Ok(known)) = cache.known(key, question).map(Arc::downcast::<T>) {
                found.push(known);
                continue;
            }
            let begun = Instant::now();
            let asked = translate(std::slice::from_ref(segment), &self.fields, query)?;
            let weight = asked.weight(EnableScoring::disabled_from_schema(self.searcher.schema()))?;
            let one = Arc::new(find(&*weight, segment)?);
            if begun.elapsed() > WORTH {
                cache.keep(key, question, one.clone(), bytes(&one));
            }
            found.push(one);
        }
        Ok(found)
    }
}

/// The number of newest incidents that are found along with the counts; no page is longer.
pub(in crate::history) const KEPT: usize = 100;

/// Estimated bytes of a name with its count.
const NAME: usize = 96;

impl Reader {
    /// The keys of its segments.
    pub fn segments(&self) -> Vec<SegmentKey> {
        self.searcher.segment_readers().iter().map(|one| (one.segment_id(), one.delete_opstamp())).collect()
    }

    /// For each segment the matches of `query`, counted by facets, weeks and `columns`, with the newest ones.
    pub fn pages(
        &self,
        query: &Query,
        columns: &[Column],
        cache: &dyn SegmentCache,
    ) -> Result<Vec<Arc<SegmentPage>>, IndexError> {
        let question = format!("page {columns:?} {query:?}");
        let bytes = |page: &SegmentPage| page.counts.names() * NAME + page.newest.len() * size_of::<(Moment, DocId)>();
        self.each_segment(query, &question, cache, bytes, |weight, segment| page_of(weight, segment, columns, KEPT))
    }

    /// The up to `most` newest matches of `query` after `after`; `pages` are the result of [`Reader::pages`] for the
    /// same query.
    pub fn newest(
        &self,
        query: &Query,
        pages: &[Arc<SegmentPage>],
        after: Option<Moment>,
        most: usize,
    ) -> Result<Vec<(Moment, DocAddress)>, IndexError> {
        let mut all = Vec::new();
        for ((ordinal, segment), page) in (0..).zip(self.searcher.segment_readers()).zip(pages) {
            let behind = |(moment, _): &&(Moment, DocId)| after.is_none_or(|after| *moment < after);
            let mut found: Vec<(Moment, DocId)> = page.newest.iter().filter(behind).copied().collect();
            if found.len() < most && page.newest.len() == KEPT {
                let asked = translate(std::slice::from_ref(segment), &self.fields, query)?;
                let weight = asked.weight(EnableScoring::disabled_from_schema(self.searcher.schema()))?;
                found = newest_of(&*weight, segment, after, most)?;
            }
            all.extend(found.into_iter().map(|(moment, document)| (moment, DocAddress::new(ordinal, document))));
        }
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.truncate(most);
        Ok(all)
    }

    /// The matches of `query` by group.
    pub fn troubles(
        &self,
        query: &Query,
        cache: &dyn SegmentCache,
    ) -> Result<HashMap<String, Trouble<DocAddress>>, IndexError> {
        let bytes = |troubles: &HashMap<String, Trouble<DocId>>| troubles.len() * (NAME + size_of::<Trouble<DocId>>());
        let question = format!("troubles {query:?}");
        let found = self.each_segment(query, &question, cache, bytes, troubles_of)?;
        let mut all: HashMap<String, Trouble<DocAddress>> = HashMap::new();
        for (ordinal, troubles) in (0..).zip(found) {
            for (name, trouble) in &*troubles {
                let trouble = trouble.at(|document| DocAddress::new(ordinal, document));
                match all.get_mut(name) {
                    Some(known) => known.with(&trouble),
                    None => drop(all.insert(name.clone(), trouble)),
                }
            }
        }
        Ok(all)
    }

    /// Counts the matches of `query` in the weeks that begin within `days`, by the values of the column called `column`
    /// and by week.
    pub fn weekly(
        &self,
        query: &Query,
        column: &str,
        days: RangeInclusive<i64>,
        cache: &dyn SegmentCache,
    ) -> Result<Weekly, IndexError> {
        let bytes = |weekly: &Weekly| weekly.values().map(|weeks| NAME + 48 * weeks.len()).sum();
        let question = format!("weekly {column} {days:?} {query:?}");
        let find = |weight: &dyn Weight, segment: &SegmentReader| weekly_of(weight, segment, column, days.clone());
        let mut all = Weekly::new();
        for found in self.each_segment(query, &question, cache, bytes, find)? {
            for (name, weeks) in &*found {
                let known = all.entry(name.clone()).or_default();
                weeks.iter().for_each(|(week, count)| *known.entry(*week).or_default() += count);
            }
        }
        Ok(all)
    }
}
