use std::path::PathBuf;

use etcetera::base_strategy::{BaseStrategy, choose_native_strategy};
use thiserror::Error;

/// The system has no folder for the user's data.
#[derive(Debug, Error)]
#[error("the system names no folder for your data")]
pub struct HomeUnknown;

/// The home folder: `named`, or else `oomdoc` in the platform's folder for data (`~/.local/share/oomdoc` on Linux). It
/// need not exist.
pub fn find_home(named: Option<PathBuf>) -> Result<PathBuf, HomeUnknown> {
    let of_platform = || choose_native_strategy().map(|strategy| strategy.data_dir().join("oomdoc"));
    match named {
        Some(home) => Ok(home),
        None => of_platform().map_err(|_| HomeUnknown),
    }
}
