//! The one place that lets addresses be opened: for the arguments of `analyze` and `digest`, which somebody typed.

use std::sync::Arc;

use crate::source::Elsewhere;

/// `paths` as they may be told of, and who opens those that are addresses.
#[cfg(feature = "stores")]
pub(super) fn of_command_line(paths: Vec<String>) -> (Vec<String>, Option<Arc<dyn Elsewhere>>) {
    use crate::stores::{Environment, Patience, Stores};
    let (paths, stores) = Stores::of_command_line(paths, Environment::of_process(), Patience::default());
    (paths, stores.map(|stores| stores as Arc<dyn Elsewhere>))
}

/// Nobody does.
#[cfg(not(feature = "stores"))]
pub(super) fn of_command_line(paths: Vec<String>) -> (Vec<String>, Option<Arc<dyn Elsewhere>>) {
    use crate::source::address::{is_address, told};
    let paths = paths.into_iter().map(|path| if is_address(&path) { told(&path) } else { path });
    (paths.collect(), None)
}
