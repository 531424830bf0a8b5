use super::add::{Groups, Occurred};
use super::index::Building;
use super::{HistoryError, Progress};
use crate::store::DiskStore;

/// Makes everything anew that is derived from the incidents (the counts of the groups, and the index), reading each
/// incident once.
pub fn reindex(store: &mut DiskStore, progress: Progress) -> Result<(), HistoryError> {
    let mut groups = Groups::default();
    let mut read = Ok(());
    let index = Building::begin(store, progress, &mut |record| match serde_json::from_slice::<Occurred>(record) {
        Ok(occurred) => groups.add(occurred),
        Err(error) => read = Err(error),
    })?;
    read?;
    groups.commit(store)?;
    Ok(index.put_in_place(store)?)
}
