//! Questions to one segment after another, which are not asked again as long as the segment is what it was.

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

/// A segment as it is: what is removed from it makes it another.
pub(in crate::history) type SegmentKey = (SegmentId, Option<Opstamp>);

/// What was found in segments earlier. A segment never changes, so that what took long to find need be found once; what is new lies in
/// small ones.
pub(in crate::history) trait Found {
    /// What was found in `segment` when `question` was asked.
    fn known(&self, segment: SegmentKey, question: &str) -> Option<Arc<dyn Any + Send + Sync>>;
    /// Keeps what was found.
    fn keep(&self, segment: SegmentKey, question: &str, found: Arc<dyn Any + Send + Sync>, bytes: usize);
}

/// What is found faster is not kept.
const WORTH: Duration = Duration::from_micros(300);

impl Reader {
    /// What `find` finds of `query` in each segment, in their order; `question` names what is looked for and how, `bytes` says
    /// how large an answer is about.
    pub(super) fn each_segment<T: Send + Sync + 'static>(
        &self,
        query: &Query,
        question: &str,
        known: &dyn Found,
        bytes: impl Fn(&T) -> usize,
        find: impl Fn(&dyn Weight, &SegmentReader) -> tantivy::Result<T>,
    ) -> Result<Vec<Arc<T>>, IndexError> {
        let mut found = Vec::new();
        for segment in self.searcher.segment_readers() {
            let key = (segment.segment_id(), segment.delete_opstamp());
            if let Some(Ok(known)) = known.known(key, question).map(Arc::downcast::<T>) {
                found.push(known);
                continue;
            }
            let begun = Instant::now();
            let asked = translate(std::slice::from_ref(segment), &self.fields, query)?;
            let weight = asked.weight(EnableScoring::disabled_from_schema(self.searcher.schema()))?;
            let one = Arc::new(find(&*weight, segment)?);
            if begun.elapsed() > WORTH {
                known.keep(key, question, one.clone(), bytes(&one));
            }
            found.push(one);
        }
        Ok(found)
    }
}

/// As many of the newest are found together with the counts; a page is no longer.
pub(in crate::history) const KEPT: usize = 100;

/// About what a name with its count takes.
const NAME: usize = 96;

impl Reader {
    /// What it consists of.
    pub fn segments(&self) -> Vec<SegmentKey> {
        self.searcher.segment_readers().iter().map(|one| (one.segment_id(), one.delete_opstamp())).collect()
    }

    /// What `query` finds, counted by facets, weeks and `columns`, and the newest of each segment.
    pub fn pages(
        &self,
        query: &Query,
        columns: &[Column],
        known: &dyn Found,
    ) -> Result<Vec<Arc<SegmentPage>>, IndexError> {
        let question = format!("page {columns:?} {query:?}");
        let bytes = |page: &SegmentPage| page.counts.names() * NAME + page.newest.len() * size_of::<(Moment, DocId)>();
        self.each_segment(query, &question, known, bytes, |weight, segment| page_of(weight, segment, columns, KEPT))
    }

    /// The newest `most` that `query` finds behind `after`, of which `pages` are the beginnings.
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

    /// What `query` finds, by trouble.
    pub fn troubles(
        &self,
        query: &Query,
        known: &dyn Found,
    ) -> Result<HashMap<String, Trouble<DocAddress>>, IndexError> {
        let bytes = |troubles: &HashMap<String, Trouble<DocId>>| troubles.len() * (NAME + size_of::<Trouble<DocId>>());
        let question = format!("troubles {query:?}");
        let found = self.each_segment(query, &question, known, bytes, troubles_of)?;
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

    /// What `query` finds in the weeks that begin within `days`, by week and by what the column called `column` holds.
    pub fn weekly(
        &self,
        query: &Query,
        column: &str,
        days: RangeInclusive<i64>,
        known: &dyn Found,
    ) -> Result<Weekly, IndexError> {
        let bytes = |weekly: &Weekly| weekly.values().map(|weeks| NAME + 48 * weeks.len()).sum();
        let question = format!("weekly {column} {days:?} {query:?}");
        let find = |weight: &dyn Weight, segment: &SegmentReader| weekly_of(weight, segment, column, days.clone());
        let mut all = Weekly::new();
        for found in self.each_segment(query, &question, known, bytes, find)? {
            for (name, weeks) in &*found {
                let known = all.entry(name.clone()).or_default();
                weeks.iter().for_each(|(week, count)| *known.entry(*week).or_default() += count);
            }
        }
        Ok(all)
    }
}
