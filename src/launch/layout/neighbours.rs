//! What shares devices with the training: an inference engine, as far as the facts and the framework say.

use super::Config;
use crate::knowledge::{EngineIs, Trains};
use crate::memory::{Engine, Sleep};

/// The inference engine on the same devices; `None` where it is elsewhere, or where nothing says how much it takes.
pub(super) fn engine(config: Config<'_>, trains: Trains) -> Option<Engine> {
    let is_here = trains.engine != EngineIs::Elsewhere || config.flag("colocate") == Some(true);
    let memory_share = config.number("kv_cache_share").filter(|_| is_here)?;
    let sleeps = config.flag("sleep_mode") == Some(true);
    Some(Engine {
        tensor_parallel: config.count("engine_tensor_parallel").unwrap_or(1),
        memory_share,
        sleep: if sleeps { Sleep::WeightsToHost } else { Sleep::Never },
        ..Engine::default()
    })
}
