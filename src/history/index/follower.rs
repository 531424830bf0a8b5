use std::path::PathBuf;
use std::sync::Arc;

use tantivy::index::SegmentId;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy};

use super::error::IndexError;
use super::fields::Fields;
use super::reader::{Reader, open};
use super::state::IndexState;
use super::writer::{FEW, Missing, commit, make_anew, writer};
use super::{FOLDER, verified};
use crate::history::outcome::OutcomesByIncident;
use crate::store::DiskStore;

/// Decompressed blocks (16 KiB each) of stored documents that a reader caches per segment.
const BLOCKS: usize = 8;

/// The index of a store's home, kept open by the store's owner. It catches up with the store in milliseconds and merges
/// segments in the background.
pub(in crate::history) struct Follower {
    folder: PathBuf,
    index: Index,
    fields: Fields,
    writer: IndexWriter,
    reader: IndexReader,
    state: IndexState,
    /// The segments named in the list of verified files.
    noted: Vec<SegmentId>,
}

impl Follower {
    /// Opens the index in `store`'s home and brings it up to date; makes it anew if that is impossible.
    pub fn open(store: &DiskStore) -> Result<Follower, IndexError> {
        super::follow(store)?;
        let folder = store.home().join(FOLDER);
        let (_, state) = Reader::open_any(&folder, false)?;
        let (index, fields) = open(&folder)?;
        // One thread merges; the others are left to searches.
        let writer = writer(&index, 1, 1, FEW)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).doc_store_cache_num_blocks(BLOCKS);
        let reader = reader.try_into()?;
        let noted = index.searchable_segment_ids()?;
        Ok(Follower { folder, index, fields, writer, reader, state, noted })
    }

    /// Like [`Follower::open`], but makes the index anew in any case.
    pub fn anew(store: &DiskStore) -> Result<Follower, IndexError> {
        make_anew(store)?;
        Follower::open(store)
    }

    /// Brings it up to date with `store` and returns the outcomes of the incidents that were out of date; `None` if
    /// there were none. After an error it must not be used any more.
    pub fn follow(&mut self, store: &DiskStore) -> Result<Option<OutcomesByIncident>, IndexError> {
        let missing = Missing::of(store, &self.state)?;
        let mut told = None;
        if let Some(missing) = missing {
            told = Some(missing.write(store, &self.writer, &self.fields)?);
            commit(&mut self.writer, &missing.state)?;
            self.state = missing.state;
        }
        // A background merge may have changed the segments.
        let meta = self.index.load_metas()?;
        let segments: Vec<SegmentId> = meta.segments.iter().map(|segment| segment.id()).collect();
        if told.is_some() || segments != self.noted {
            verified::note(&meta, &self.folder);
            self.noted = segments;
            self.reader.reload()?;
        }
        Ok(told)
    }

    /// A reader of the index as it is now.
    pub fn reader(&self) -> Result<Arc<Reader>, IndexError> {
        let searcher = self.reader.searcher();
        match searcher.num_docs() == self.state.incidents {
            true => Ok(Arc::new(Reader { searcher, fields: self.fields.clone() })),
            false => Err(IndexError::Damaged(format!("{} incidents of {}", searcher.num_docs(), self.state.incidents))),
        }
    }
}
