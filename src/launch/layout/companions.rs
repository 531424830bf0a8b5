//! Derives from facts what shares devices with the training: other models and an inference engine.

use super::Config;
use crate::facts::Evaluator;
use crate::knowledge::{CompanionHome, CompanionRow, EngineIs, Models, Trains};
use crate::memory::{Companion, Engine, Home, ModelSize, Sleep, Width};

/// The models of `rows` that exist in this job beside the trained one. `models` are those known by name.
pub(super) fn companions(
    rows: &[CompanionRow],
    config: Config<'_>,
    models: &Models,
    trained: &ModelSize,
) -> Vec<Companion> {
    if rows.is_empty() {
        return Vec::new();
    }
    let evaluator = Evaluator::new(config.0);
    let mut found: Vec<Companion> = Vec::new();
    for row in rows.iter().filter(|row| evaluator.holds(&row.when)) {
        if found.iter().any(|known| *known.name == *row.name) {
            continue;
        }
        let named = row.model.as_deref().and_then(|fact| models.find(config.0.text(fact)?));
        found.push(Companion {
            name: row.name.to_string(),
            size: named.map_or_else(|| trained.clone(), ModelSize::from),
            weights: Width::TWO,
            home: match row.home {
                CompanionHome::Replicated => Home::Replicated,
                CompanionHome::Sharded => Home::Sharded,
                CompanionHome::Host => Home::Host,
                CompanionHome::Trained => Home::Trained,
            },
        });
    }
    found
}

/// Whether a job of this kind (the fact `config.job`) trains on the answers of an inference engine.
pub(crate) fn rolls_out(job: &str) -> bool {
    matches!(job, "ppo" | "grpo")
}

/// The inference engine on the same devices; `None` if it runs elsewhere or its share of memory is unknown.
pub(super) fn engine(config: Config<'_>, trains: Trains) -> Option<Engine> {
    let rolls_out = config.text("job").is_none_or(rolls_out);
    let usual = trains.engine != EngineIs::Elsewhere || config.flag("colocate") == Some(true);
    let is_here = rolls_out && config.flag("engine_beside").unwrap_or(usual);
    let memory_share = config.number("kv_cache_share").filter(|_| is_here)?;
    let sleeps = config.flag("sleep_mode") == Some(true);
    Some(Engine {
        tensor_parallel: config.count("engine_tensor_parallel").unwrap_or(1),
        memory_share,
        sleep: if sleeps { Sleep::WeightsToHost } else { Sleep::Never },
        ..Engine::default()
    })
}
