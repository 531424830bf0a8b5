//! Rules in the store: those that the user imported, and once per version those that the binary shipped.

use super::error::StoreError;
use super::{Change, Store};
use crate::knowledge::{RuleFile, shipped_files};

const USER: &str = "rules/user/";
const SHIPPED: &str = concat!("rules/shipped/", env!("CARGO_PKG_VERSION"), "/");

/// What an import changed, as paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RuleChanges {
    /// New files.
    pub added: Vec<String>,
    /// Files whose content changed.
    pub replaced: Vec<String>,
    /// Files that were there already.
    pub unchanged: Vec<String>,
}

/// The user's imported rules.
pub fn own_rules(store: &dyn Store) -> Result<Vec<RuleFile>, StoreError> {
    let mut files = Vec::new();
    store.scan("rules/", &mut |key, value| {
        if let Some(path) = key.strip_prefix(USER) {
            files.push(RuleFile { path: path.to_owned(), content: String::from_utf8_lossy(value).into_owned() });
        }
    })?;
    Ok(files)
}

/// Adds `files` to the user's rules. The shipped rules of this version are stored as well, so that after an upgrade a
/// diagnosis can still be read with the rules that made it.
pub fn import_rules(store: &mut dyn Store, files: &[RuleFile]) -> Result<RuleChanges, StoreError> {
    let mut done = RuleChanges::default();
    let mut changes = Vec::new();
    for RuleFile { path, content } in files {
        let key = format!("{USER}{path}");
        let list = match store.get(&key)? {
            None => &mut done.added,
            Some(known) if known == content.as_bytes() => &mut done.unchanged,
            Some(_) => &mut done.replaced,
        };
        list.push(path.clone());
        changes.push(Change::put(key, content.as_bytes()));
    }
    for (path, content) in shipped_files() {
        let key = format!("{SHIPPED}{path}");
        if store.get(&key)?.as_deref() != Some(content.as_bytes()) {
            changes.push(Change::put(key, content));
        }
    }
    store.commit(&changes)?;
    Ok(done)
}

/// Removes `paths` from the user's rules.
pub fn remove_rules(store: &mut dyn Store, paths: &[&str]) -> Result<(), StoreError> {
    let changes: Vec<Change> = paths.iter().map(|path| Change::remove(format!("{USER}{path}"))).collect();
    store.commit(&changes).map(drop)
}
