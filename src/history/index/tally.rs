use std::collections::BTreeMap;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{ColumnValues, StrColumn};
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

use super::fields::{FACETS, HOST, JOB, MODEL, TIME};
use crate::history::stats::monday;

/// Stands between kind, phase, cause and framework.
pub(in crate::history) const SEPARATOR: &str = "\u{1f}";

/// What to count by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::history) enum Columns {
    /// Facets and hosts.
    Facets,
    /// Facets, hosts, models, jobs and weeks.
    Stats,
}

/// How many incidents there are of what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::history) struct Counts {
    pub total: u64,
    /// By kind, phase, cause and framework, with [`SEPARATOR`] between.
    pub facets: BTreeMap<String, u64>,
    /// By host.
    pub hosts: BTreeMap<String, u64>,
    /// By model.
    pub models: BTreeMap<String, u64>,
    /// By what people call the job.
    pub jobs: BTreeMap<String, u64>,
    /// By the day on which the week begins, counted from 1970.
    pub weeks: BTreeMap<i64, u64>,
}

/// Counts what a query finds.
pub(super) struct Tally(pub Columns);

impl Collector for Tally {
    type Fruit = tantivy::Result<Counts>;
    type Child = SegmentTally;

    fn for_segment(&self, _: SegmentOrdinal, segment: &SegmentReader) -> tantivy::Result<SegmentTally> {
        let columns = segment.fast_fields();
        let words = |name: &str| Ok::<_, tantivy::TantivyError>(Words::new(columns.str(name)?));
        let is_all = self.0 == Columns::Stats;
        let others = if is_all { Some([words(MODEL)?, words(JOB)?]) } else { None };
        let times = if is_all { Some(columns.column_first_or_default::<i64>(TIME)?) } else { None };
        Ok(SegmentTally { total: 0, words: [words(FACETS)?, words(HOST)?], others, times, weeks: BTreeMap::new() })
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(&self, segments: Vec<tantivy::Result<Counts>>) -> tantivy::Result<tantivy::Result<Counts>> {
        let mut all = Counts::default();
        for counts in segments {
            all += counts?;
        }
        Ok(Ok(all))
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.total += other.total;
        let Counts { total: _, facets, hosts, models, jobs, weeks: _ } = self;
        let pairs = [(facets, other.facets), (hosts, other.hosts), (models, other.models), (jobs, other.jobs)];
        for (known, more) in pairs {
            more.into_iter().for_each(|(name, count)| *known.entry(name).or_default() += count);
        }
        other.weeks.into_iter().for_each(|(week, count)| *self.weeks.entry(week).or_default() += count);
    }
}

pub(super) struct SegmentTally {
    total: u64,
    /// Facets and hosts.
    words: [Words; 2],
    /// Models and jobs.
    others: Option<[Words; 2]>,
    times: Option<Arc<dyn ColumnValues<i64>>>,
    weeks: BTreeMap<i64, u64>,
}

/// How often each word of a column was met.
struct Words {
    column: Option<(StrColumn, Arc<dyn ColumnValues<u64>>)>,
    counts: Vec<u32>,
    met: Vec<u64>,
}

impl Words {
    fn new(column: Option<StrColumn>) -> Words {
        let counts = vec![0; column.as_ref().map_or(0, |column| column.num_terms())];
        // Beyond the last word: there is none.
        let column = column.map(|column| {
            let values = column.ords().clone().first_or_default_col(u64::MAX);
            (column, values)
        });
        Words { column, counts, met: Vec::new() }
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

impl SegmentCollector for SegmentTally {
    type Fruit = tantivy::Result<Counts>;

    fn collect(&mut self, document: DocId, _: Score) {
        self.collect_block(&[document]);
    }

    fn collect_block(&mut self, documents: &[DocId]) {
        self.total += documents.len() as u64;
        self.words.iter_mut().chain(self.others.iter_mut().flatten()).for_each(|words| words.count(documents));
        if let Some(times) = &self.times {
            for document in documents {
                *self.weeks.entry(monday(times.get_val(*document))).or_default() += 1;
            }
        }
    }

    fn harvest(self) -> tantivy::Result<Counts> {
        let [facets, hosts] = self.words;
        let (models, jobs) = match self.others {
            Some([models, jobs]) => (models.named()?, jobs.named()?),
            None => Default::default(),
        };
        let (total, weeks) = (self.total, self.weeks);
        Ok(Counts { total, facets: facets.named()?, hosts: hosts.named()?, models, jobs, weeks })
    }
}
