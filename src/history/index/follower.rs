use std::path::PathBuf;
use std::sync::Arc;

use tantivy::index::SegmentId;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy};

use super::error::IndexError;
use super::fields::Fields;
use super::reader::{Reader, open};
use super::state::State;
use super::writer::{FEW, Missing, Told, commit, make_anew, writer};
use super::{FOLDER, verified};
use crate::store::DiskStore;

/// Blocks of stored incidents that a reader keeps unpacked for each segment, 16 KiB each.
const BLOCKS: usize = 8;

/// The index of a store's home, held open by the store's owner: it is brought to where the store is in milliseconds, and merges
/// in the background.
pub(in crate::history) struct Follower {
    folder: PathBuf,
    index: Index,
    fields: Fields,
    writer: IndexWriter,
    reader: IndexReader,
    state: State,
    /// The segments of which the list of verified files knows.
    noted: Vec<SegmentId>,
}

impl Follower {
    /// Opens the index of `store`'s home and brings it to where the store is; makes it anew where it cannot be brought there.
    pub fn open(store: &DiskStore) -> Result<Follower, IndexError> {
        super::follow(store)?;
        let folder = store.home().join(FOLDER);
        let (_, state) = Reader::open_any(&folder, false)?;
        let (index, fields) = open(&folder)?;
        // One thread merges: the others are wanted for searches.
        let writer = writer(&index, 1, 1, FEW)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).doc_store_cache_num_blocks(BLOCKS);
        let reader = reader.try_into()?;
        let noted = index.searchable_segment_ids()?;
        Ok(Follower { folder, index, fields, writer, reader, state, noted })
    }

    /// The same of an index that is made anew, whatever is there.
    pub fn anew(store: &DiskStore) -> Result<Follower, IndexError> {
        make_anew(store)?;
        Follower::open(store)
    }

    /// Brings it to where `store` is: what was told of the incidents that it did not know as they are; `None` where there were
    /// none. It is not to be used any more after an error.
    pub fn follow(&mut self, store: &DiskStore) -> Result<Option<Told>, IndexError> {
        let missing = Missing::of(store, &self.state)?;
        let mut told = None;
        if let Some(missing) = missing {
            told = Some(missing.write(store, &self.writer, &self.fields)?);
            commit(&mut self.writer, &missing.state)?;
            self.state = missing.state;
        }
        // Segments may have been merged meanwhile.
        let meta = self.index.load_metas()?;
        let segments: Vec<SegmentId> = meta.segments.iter().map(|segment| segment.id()).collect();
        if told.is_some() || segments != self.noted {
            verified::note(&meta, &self.folder);
            self.noted = segments;
            self.reader.reload()?;
        }
        Ok(told)
    }

    /// What can be asked now.
    pub fn reader(&self) -> Result<Arc<Reader>, IndexError> {
        let searcher = self.reader.searcher();
        match searcher.num_docs() == self.state.incidents {
            true => Ok(Arc::new(Reader { searcher, fields: self.fields.clone() })),
            false => Err(IndexError::Damaged(format!("{} incidents of {}", searcher.num_docs(), self.state.incidents))),
        }
    }
}
