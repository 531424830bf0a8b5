use std::collections::BTreeMap;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{ColumnValues, StrColumn};
use tantivy::query::Weight;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

use super::fields::FACETS;
use super::newest::times;
use crate::history::stats::monday;

/// Separates kind, phase, cause and framework in the facets column.
pub(in crate::history) const SEPARATOR: &str = "\u{1f}";

/// The columns that incidents can be counted by besides facets and weeks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::history) enum Column {
    Host,
    Model,
    Cluster,
    /// The job's name, as people gave it.
    Job,
}

impl Column {
    /// Its name, in the index and on pages.
    pub fn name(self) -> &'static str {
        match self {
            Column::Host => "host",
            Column::Model => "model",
            Column::Cluster => "cluster",
            Column::Job => "job",
        }
    }
}

/// Numbers of incidents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::history) struct Counts {
    pub total: u64,
    /// By kind, phase, cause and framework, joined with [`SEPARATOR`].
    pub facets: BTreeMap<String, u64>,
    /// By the values of each column.
    pub columns: BTreeMap<Column, BTreeMap<String, u64>>,
    /// By the first day of the week, counted from 1970.
    pub weeks: BTreeMap<i64, u64>,
}

impl Counts {
    /// The number of distinct names.
    pub fn names(&self) -> usize {
        self.facets.len() + self.columns.values().map(BTreeMap::len).sum::<usize>() + self.weeks.len()
    }

    /// Removes and returns the counts by `column`.
    pub fn take(&mut self, column: Column) -> BTreeMap<String, u64> {
        self.columns.remove(&column).unwrap_or_default()
    }
}

/// Counts the matches of a query by facets, weeks and these columns.
pub(super) struct Tally<'c>(pub &'c [Column]);

impl Collector for Tally<'_> {
    type Fruit = tantivy::Result<Counts>;
    type Child = SegmentTally;

    fn for_segment(&self, _: SegmentOrdinal, segment: &SegmentReader) -> tantivy::Result<SegmentTally> {
        SegmentTally::new(segment, self.0)
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn collect_segment(
        &self,
        weight: &dyn Weight,
        ordinal: SegmentOrdinal,
        segment: &SegmentReader,
    ) -> tantivy::Result<tantivy::Result<Counts>> {
        let mut tally = self.for_segment(ordinal, segment)?;
        each_block(weight, segment, |documents| tally.collect_block(documents))?;
        Ok(tally.harvest())
    }

    fn merge_fruits(&self, segments: Vec<tantivy::Result<Counts>>) -> tantivy::Result<tantivy::Result<Counts>> {
        let mut all = Counts::default();
        for counts in segments {
            all += &counts?;
        }
        Ok(Ok(all))
    }
}

/// Calls `each` with blocks of the documents that `weight` finds in `segment`, without the deleted ones. The search
/// engine itself falls back to single documents as soon as a segment has any deletion.
pub(super) fn each_block(
    weight: &dyn Weight,
    segment: &SegmentReader,
    mut each: impl FnMut(&[DocId]),
) -> tantivy::Result<()> {
    let Some(alive) = segment.alive_bitset() else {
        return weight.for_each_no_score(segment, &mut |block| each(block));
    };
    let mut living = Vec::new();
    weight.for_each_no_score(segment, &mut |block| {
        living.clear();
        living.extend(block.iter().copied().filter(|document| alive.is_alive(*document)));
        each(&living);
    })
}

impl std::ops::AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, other: &Counts) {
        self.total += other.total;
        add(&mut self.facets, &other.facets);
        for (column, counts) in &other.columns {
            add(self.columns.entry(*column).or_default(), counts);
        }
        other.weeks.iter().for_each(|(week, count)| *self.weeks.entry(*week).or_default() += count);
    }
}

fn add(known: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (name, count) in more {
        match known.get_mut(name) {
            Some(known) => *known += count,
            None => drop(known.insert(name.clone(), *count)),
        }
    }
}

/// The counts of one segment.
pub(super) struct SegmentTally {
    total: u64,
    facets: Words,
    columns: Vec<(Column, Words)>,
    weeks: Weeks,
}

impl SegmentTally {
    pub fn new(segment: &SegmentReader, columns: &[Column]) -> tantivy::Result<SegmentTally> {
        let words = |name: &str| Words::new(segment, name);
        let columns = columns.iter().map(|column| Ok((*column, words(column.name())?)));
        let columns = columns.collect::<tantivy::Result<_>>()?;
        Ok(SegmentTally { total: 0, facets: words(FACETS)?, columns, weeks: Weeks::new(segment)? })
    }

    /// When the incidents of the last counted block happened, in the block's order.
    pub fn times(&self) -> &[i64] {
        &self.weeks.met
    }
}

impl SegmentCollector for SegmentTally {
    type Fruit = tantivy::Result<Counts>;

    fn collect(&mut self, document: DocId, _: Score) {
        self.collect_block(&[document]);
    }

    fn collect_block(&mut self, documents: &[DocId]) {
        self.total += documents.len() as u64;
        self.facets.count(documents);
        self.columns.iter_mut().for_each(|(_, words)| words.count(documents));
        self.weeks.count(documents);
    }

    fn harvest(self) -> tantivy::Result<Counts> {
        let columns = self.columns.into_iter().map(|(column, words)| Ok((column, words.named()?)));
        let columns = columns.filter(|counts| counts.as_ref().map_or(true, |(_, counts)| !counts.is_empty()));
        let columns = columns.collect::<tantivy::Result<_>>()?;
        Ok(Counts { total: self.total, facets: self.facets.named()?, columns, weeks: self.weeks.counted() })
    }
}

/// Counts the words of a column.
pub(super) struct Words {
    column: Option<(StrColumn, Arc<dyn ColumnValues<u64>>)>,
    counts: Vec<u32>,
    met: Vec<u64>,
}

impl Words {
    pub fn new(segment: &SegmentReader, name: &str) -> tantivy::Result<Words> {
        let column = segment.fast_fields().str(name)?;
        let counts = vec![0; column.as_ref().map_or(0, |column| column.num_terms())];
        // Documents without a word get an ordinal beyond the last one.
        let column = column.map(|column| {
            let values = column.ords().clone().first_or_default_col(u64::MAX);
            (column, values)
        });
        Ok(Words { column, counts, met: Vec::new() })
    }

    fn count(&mut self, documents: &[DocId]) {
        let Some((_, values)) = &self.column else { return };
        self.met.resize(documents.len(), 0);
        values.get_vals(documents, &mut self.met);
        for word in &self.met {
            if let Some(count) = self.counts.get_mut(*word as usize) {
                *count += 1;
            }
        }
    }

    fn named(self) -> tantivy::Result<BTreeMap<String, u64>> {
        let mut named = BTreeMap::new();
        let Some((column, _)) = self.column else { return Ok(named) };
        let met: Vec<(u64, u64)> =
            (0..).zip(self.counts).filter(|(_, count)| *count > 0).map(|(word, count)| (word, count.into())).collect();
        let words: Vec<u64> = met.iter().map(|(word, _)| *word).collect();
        let mut counts = met.iter().map(|(_, count)| *count);
        column.dictionary().sorted_ords_to_term_cb(&words, |word| {
            named.insert(String::from_utf8_lossy(word).into_owned(), counts.next().unwrap_or(0));
        })?;
        Ok(named)
    }
}

/// Counts incidents by week.
struct Weeks {
    times: Arc<dyn ColumnValues<i64>>,
    /// The first day of the first week in the segment.
    first: i64,
    counts: Vec<u32>,
    /// Counts by first day, for weeks beyond `counts`.
    others: BTreeMap<i64, u64>,
    met: Vec<i64>,
}

impl Weeks {
    /// Two centuries.
    const MOST: i64 = 52 * 200;

    fn new(segment: &SegmentReader) -> tantivy::Result<Weeks> {
        let times = times(segment)?;
        let (first, last) = (monday(times.min_value()), monday(times.max_value()));
        let weeks = (last.saturating_sub(first) / 7 + 1).clamp(0, Weeks::MOST);
        Ok(Weeks { times, first, counts: vec![0; weeks as usize], others: BTreeMap::new(), met: Vec::new() })
    }

    fn count(&mut self, documents: &[DocId]) {
        self.met.resize(documents.len(), 0);
        self.times.get_vals(documents, &mut self.met);
        for time in &self.met {
            let monday = monday(*time);
            match usize::try_from((monday - self.first) / 7).ok().and_then(|week| self.counts.get_mut(week)) {
                Some(count) => *count += 1,
                None => *self.others.entry(monday).or_default() += 1,
            }
        }
    }

    fn counted(self) -> BTreeMap<i64, u64> {
        let mut weeks = self.others;
        let row = (0..).zip(self.counts).filter(|(_, count)| *count > 0);
        weeks.extend(row.map(|(week, count)| (self.first + 7 * week, u64::from(count))));
        weeks
    }
}
