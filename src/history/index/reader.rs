use std::path::{Path, PathBuf};

use tantivy::collector::sort_key::{SortBySimilarityScore, SortByStaticFastValue};
use tantivy::collector::{Count, TopDocs};
use tantivy::directory::MmapDirectory;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, Query as Asked, RangeQuery};
use tantivy::schema::{TantivyDocument, Value};
use tantivy::{DocAddress, Index, Order as Direction, ReloadPolicy, Searcher, Term};

use super::error::IndexError;
use super::fields::{self, Fields, TIME};
use super::reader_directory::ReaderDirectory;
use super::state::IndexState;
use super::tally::{Column, Counts, Tally};
use super::translate::{exactly, translate};
use super::{FOLDER, verified};
use crate::history::alike::{MIN_SCORE, Trait};
use crate::history::record::{ALONE, is_alone};
use crate::history::{Document, Order, Query};
use crate::store::{DiskStore, Snapshot};

/// The columns that a page of a list counts.
const PAGE: &[Column] = &[Column::Host, Column::Model, Column::Cluster];

/// With more incidents than this, a search uses several threads.
const MANY: u64 = 50_000;

/// An index that is up to date with the store, as far as that is known without opening the store.
pub(in crate::history) struct Reader {
    pub(super) searcher: Searcher,
    pub(super) fields: Fields,
}

impl Reader {
    /// Opens the index in `home`; fails if it is not up to date.
    pub fn open(home: &Path) -> Result<Reader, IndexError> {
        let (reader, state) = Reader::open_any(&home.join(FOLDER), false)?;
        if DiskStore::id(home).as_ref() != Some(&state.store) {
            return Err(IndexError::Foreign);
        }
        let Some((change, last)) = Snapshot::head(home) else {
            return Err(IndexError::Damaged("how far the history is cannot be told".to_owned()));
        };
        // After its last change a writer may have failed to write the snapshot, for example on a full disk; so the
        // store's own last change counts, too.
        let untold = || DiskStore::last_change(home).filter(|last| *last > change.max(state.change));
        match Some(last).filter(|last| *last > state.change).or_else(untold) {
            Some(last) => Err(IndexError::Behind { follows: state.change, last }),
            None => Ok(reader),
        }
    }

    /// Opens the index in `folder`, whichever store it belongs to, and returns it with its state.
    pub(super) fn open_any(folder: &Path, thoroughly: bool) -> Result<(Reader, IndexState), IndexError> {
        let (mut index, fields) =
            open_in(folder, |folder| Ok(Index::open(ReaderDirectory(MmapDirectory::open(folder)?))?))?;
        let meta = index.load_metas()?;
        let state = IndexState::read(meta.payload.as_deref())?;
        verified::check(&index, &meta, folder, thoroughly)?;
        if state.incidents > MANY {
            index
                .set_multithread_executor(std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8)))?;
        }
        // This reader shows one state of the index and need not see later commits.
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        match searcher.num_docs() == state.incidents {
            true => Ok((Reader { searcher, fields }, state)),
            false => Err(IndexError::Damaged(format!("{} incidents of {}", searcher.num_docs(), state.incidents))),
        }
    }

    /// The first `most` matches of `query` in `order`, and the counts of all matches.
    pub fn search(&self, query: &Query, order: Order, most: usize) -> Result<(Vec<Document>, Counts), IndexError> {
        let asked = translate(self.searcher.segment_readers(), &self.fields, query)?;
        let all = self.searcher.num_docs() as usize;
        if most == 0 || all == 0 {
            return Ok((Vec::new(), self.searcher.search(&asked, &Tally(PAGE))??));
        }
        let (first, tally) = (TopDocs::with_limit(most.min(all)), Tally(PAGE));
        let (places, counts): (Vec<DocAddress>, Counts) = match order {
            Order::Time => {
                let first = first.order_by_fast_field::<i64>(TIME, Direction::Desc);
                let (found, counts) = self.searcher.search(&asked, &(first, tally))?;
                (found.into_iter().map(|(_, place)| place).collect(), counts?)
            }
            // The best matches of a single word are found without scoring every document that has it.
            Order::Relevance if query.is_a_word() => (self.best(query, most)?, self.searcher.search(&asked, &tally)??),
            Order::Relevance => {
                let (found, counts) = self.searcher.search(&asked, &(first.order_by_score(), tally))?;
                (found.into_iter().map(|(_, place)| place).collect(), counts?)
            }
        };
        let found: Result<Vec<Document>, IndexError> = places.into_iter().map(|place| self.document(place)).collect();
        Ok((found?, counts))
    }

    /// The addresses of the `most` best matches of `query`.
    pub fn best(&self, query: &Query, most: usize) -> Result<Vec<DocAddress>, IndexError> {
        let most = most.min(self.searcher.num_docs() as usize);
        if most == 0 {
            return Ok(Vec::new());
        }
        let asked = translate(self.searcher.segment_readers(), &self.fields, query)?;
        let found = self.searcher.search(&asked, &TopDocs::with_limit(most).order_by_score())?;
        Ok(found.into_iter().map(|(_, place)| place).collect())
    }

    /// Counts the matches of `query`.
    pub fn count(&self, query: &Query, columns: &[Column]) -> Result<Counts, IndexError> {
        let asked = translate(self.searcher.segment_readers(), &self.fields, query)?;
        Ok(self.searcher.search(&asked, &Tally(columns))??)
    }

    /// Whether the index has the incident `id`.
    pub fn knows(&self, id: &str) -> Result<bool, IndexError> {
        Ok(self.searcher.search(&*exactly(self.fields.id, id), &Count)? > 0)
    }

    /// The up to `most` incidents that share the most of `traits` by weight, without the incident `without`.
    pub fn alike(&self, traits: &[Trait], without: &str, most: usize) -> Result<Vec<Document>, IndexError> {
        let fields = &self.fields;
        let itself = || (Occur::MustNot, exactly(fields.id, without));
        // No incident is more similar than one of the same group: if there are enough of those, nothing else is
        // searched.
        let group = traits.iter().find(|each| each.name == "group" && !is_alone(&each.word));
        if let Some(group) = group.filter(|_| most > 0 && self.searcher.num_docs() > 0) {
            let same = BooleanQuery::new(vec![(Occur::Must, exactly(fields.group, &group.word)), itself()]);
            let newest = TopDocs::with_limit(most.min(self.searcher.num_docs() as usize));
            let newest = newest.order_by_fast_field::<i64>(TIME, Direction::Desc);
            let found = self.searcher.search(&same, &newest)?;
            if found.len() == most {
                return found.into_iter().map(|(_, place)| self.document(place)).collect();
            }
        }
        let mut clauses: Vec<(Occur, Box<dyn Asked>)> = vec![itself()];
        if traits.iter().any(|each| each.name == "group" && is_alone(&each.word)) {
            clauses.push((Occur::MustNot, exactly(fields.group, ALONE)));
        }
        let unwanted = clauses.len();
        for Trait { name, word, weight } in traits {
            let asked: Box<dyn Asked> = match (*name, word.parse::<f64>()) {
                ("requested", Ok(bytes)) => {
                    let field = fields.figure(crate::model::FigureName::Requested);
                    let bound = |at: f64| std::ops::Bound::Included(Term::from_field_f64(field, at));
                    Box::new(RangeQuery::new(bound(bytes * 0.95), bound(bytes / 0.95)))
                }
                (name, _) => exactly(self.searcher.schema().get_field(name)?, word),
            };
            clauses.push((Occur::Should, Box::new(ConstScoreQuery::new(asked, *weight as f32))));
        }
        if clauses.len() == unwanted || self.searcher.num_docs() == 0 || most == 0 {
            return Ok(Vec::new());
        }
        let time = SortByStaticFastValue::<i64>::for_field(TIME);
        let order = ((SortBySimilarityScore, Direction::Desc), (time, Direction::Desc));
        let first = TopDocs::with_limit(most.min(self.searcher.num_docs() as usize)).order_by(order);
        let found = self.searcher.search(&BooleanQuery::new(clauses), &first)?;
        // The score is a sum of rounded f32 values.
        let enough = found.into_iter().filter(|((score, _), _)| f64::from(*score) > MIN_SCORE - 1e-3);
        enough.map(|(_, place)| self.document(place)).collect()
    }

    /// The document at `place`.
    pub fn document(&self, place: DocAddress) -> Result<Document, IndexError> {
        let stored: TantivyDocument = self.searcher.doc(place)?;
        let words = stored.get_first(self.fields.document).and_then(|value| value.as_str());
        let words = words.ok_or_else(|| IndexError::Damaged("an incident is not stored".to_owned()))?;
        Ok(serde_json::from_str(words)?)
    }
}

/// Opens the index in `folder`; fails if its schema is not the current one.
pub(super) fn open(folder: &Path) -> Result<(Index, Fields), IndexError> {
    open_in(folder, |folder| Ok(Index::open_in_dir(folder)?))
}

fn open_in(folder: &Path, open: impl Fn(&Path) -> Result<Index, IndexError>) -> Result<(Index, Fields), IndexError> {
    if !PathBuf::from(folder).join("meta.json").exists() {
        return Err(IndexError::Missing);
    }
    let index = open(folder)?;
    let (schema, fields) = fields::schema();
    if index.schema() != schema {
        return Err(IndexError::Format);
    }
    fields::register(&index);
    Ok((index, fields))
}
