//! The cache of keys and values of an inference engine.

use super::{Amount, Engine, ModelSize, Width};
use crate::knowledge::Shape;
use crate::model::Bytes;

/// Bytes per token on one of `tensor_parallel` devices: keys and values of every layer, with at least one head per
/// device. Latent attention keeps one vector for all heads, whole on every device.
pub fn kv_bytes_per_token(shape: &Shape, width: Width, tensor_parallel: u64) -> Amount {
    let numbers = match &shape.latent_attention {
        Some(latent) => latent.key_value_rank + latent.position_dim,
        None => 2 * shape.kv_heads().div_ceil(tensor_parallel.max(1)) * shape.head_dim(),
    };
    super::Parameters::exactly(shape.layers * numbers).at(width)
}

impl Engine {
    /// Memory of its weights on one device.
    pub fn weights_on_device(&self, model: &ModelSize) -> Amount {
        model.parameters.shard(self.tensor_parallel).at(self.weights)
    }

    /// Its total memory on a device of `capacity`: `memory_share` of the whole, regardless of other users.
    pub fn pool(&self, capacity: Bytes) -> Bytes {
        super::amount::scale(capacity, self.memory_share)
    }

    /// The memory left for its cache on a device of `capacity`, before activations and graphs; negative if the weights
    /// do not fit.
    pub fn cache_on_device(&self, model: &ModelSize, capacity: Bytes) -> Amount {
        let (pool, weights) = (self.pool(capacity), self.weights_on_device(model));
        Amount { low: pool - weights.high, high: pool - weights.low }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{Knowledge, KnowledgeError};

    #[test]
    fn counts_a_token() -> Result<(), KnowledgeError> {
        let models = Knowledge::shipped()?.models;
        for (name, tensor_parallel, kib) in [
            ("Llama-3-8B", 1, 128.0),
            ("Qwen2.5-7B", 1, 56.0),
            ("Llama-2-13B", 1, 800.0),
            ("Qwen2.5-72B", 1, 320.0),
            ("Qwen2.5-72B", 8, 40.0),
            // Four heads on eight devices: each has one.
            ("Qwen2.5-7B", 8, 14.0),
            ("DeepSeek-V3", 8, 68.625),
        ] {
            let shape = models.iter().find(|model| &*model.name == name).map(|model| &model.shape);
            let token = shape.map(|shape| kv_bytes_per_token(shape, Width::TWO, tensor_parallel).low.0 as f64 / 1024.0);
            assert_eq!(token, Some(kib), "{name} on {tensor_parallel}");
        }
        Ok(())
    }

    #[test]
    fn the_share_is_of_the_whole_device() {
        let model = ModelSize::of_parameters(8_030_261_248);
        let engine = Engine { memory_share: 0.5, ..Engine::default() };
        let cache = engine.cache_on_device(&model, Bytes(80 << 30));
        assert_eq!(cache.low, Bytes((40 << 30) - 2 * 8_030_261_248));
        assert!(engine.cache_on_device(&model, Bytes(24 << 30)).high.0 < 0);
    }
}
