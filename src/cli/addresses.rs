//! The one place that allows addresses to be opened: as arguments of `analyze` and `digest`, which the user typed.

use std::sync::Arc;

use crate::source::Elsewhere;

/// `paths` with addresses in the form without secrets, and the object that opens them, if there are any.
#[cfg(feature = "stores")]
pub(super) fn of_command_line(paths: Vec<String>) -> (Vec<String>, Option<Arc<dyn Elsewhere>>) {
    use crate::stores::{Environment, Patience, Stores};
    let (paths, stores) = Stores::of_command_line(paths, Environment::of_process(), Patience::default());
    (paths, stores.map(|stores| stores as Arc<dyn Elsewhere>))
}

/// Without the feature `stores` addresses cannot be opened; their secrets are removed all the same.
#[cfg(not(feature = "stores"))]
pub(super) fn of_command_line(paths: Vec<String>) -> (Vec<String>, Option<Arc<dyn Elsewhere>>) {
    use crate::source::address::{is_address, told};
    let paths = paths.into_iter().map(|path| if is_address(&path) { told(&path) } else { path });
    (paths.collect(), None)
}
