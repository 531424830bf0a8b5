use serde::Deserialize;

use super::language::Words;

/// `rules/prices.toml`: what each change costs that `estimate --fit` may make.
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
    /// Beside the prices of other changes: of two, the cheaper one is made.
    pub price: u32,
    /// In words.
    pub cost: Words,
}

impl Price {
    /// Of the same change, so many steps further.
    pub fn further(&self, steps: u32) -> Price {
        Price { price: self.price + steps, cost: self.cost.clone() }
    }
}
