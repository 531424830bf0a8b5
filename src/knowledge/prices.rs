use serde::Deserialize;

use super::language::Words;

/// `rules/prices.toml`: what each change that `estimate --fit` may make costs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    pub flash_attention: Price,
    pub zero_1: Price,
    pub zero_2: Price,
    pub smaller_batch: Price,
    pub fused_loss: Price,
    pub resume_in_turn: Price,
    pub no_pin: Price,
    pub full_recomputation: Price,
    pub zero_3: Price,
    pub sequence_parallel: Price,
    pub optimizer_offload: Price,
    pub parameter_offload: Price,
    pub four_bit: Price,
    pub full_offload: Price,
    pub eight_bit_adam: Price,
    pub lora: Price,
    pub lora_on_four_bit: Price,
    pub more_nodes: Price,
}

/// What a change costs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Relative to other changes; the cheaper of two is made first.
    pub price: u32,
    /// In words.
    pub cost: Words,
}

impl Price {
    /// The price of the same change taken `steps` further.
    pub fn further(&self, steps: u32) -> Price {
        Price { price: self.price + steps, cost: self.cost.clone() }
    }
}
