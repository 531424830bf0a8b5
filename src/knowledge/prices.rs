use serde::Deserialize;

use super::language::Words;

/// `rules/prices.toml`: what each change that `estimate --fit` may make costs.
#[derive(Debug, Clone, Default, Deserialize)]
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
    /// Whether the job's framework cannot make the change.
    #[serde(skip)]
    pub is_lacking: bool,
}

impl Prices {
    /// The prices for a framework that cannot make the changes called `lacks`.
    pub fn without(&self, lacks: &[Box<str>]) -> Prices {
        let mut prices = self.clone();
        for name in lacks {
            if let Some((_, price)) = prices.named().into_iter().find(|(known, _)| *known == &**name) {
                price.is_lacking = true;
            }
        }
        prices
    }

    fn named(&mut self) -> [(&'static str, &mut Price); 18] {
        [
            ("flash_attention", &mut self.flash_attention),
            ("zero_1", &mut self.zero_1),
            ("zero_2", &mut self.zero_2),
            ("smaller_batch", &mut self.smaller_batch),
            ("fused_loss", &mut self.fused_loss),
            ("resume_in_turn", &mut self.resume_in_turn),
            ("no_pin", &mut self.no_pin),
            ("full_recomputation", &mut self.full_recomputation),
            ("zero_3", &mut self.zero_3),
            ("sequence_parallel", &mut self.sequence_parallel),
            ("optimizer_offload", &mut self.optimizer_offload),
            ("parameter_offload", &mut self.parameter_offload),
            ("four_bit", &mut self.four_bit),
            ("full_offload", &mut self.full_offload),
            ("eight_bit_adam", &mut self.eight_bit_adam),
            ("lora", &mut self.lora),
            ("lora_on_four_bit", &mut self.lora_on_four_bit),
            ("more_nodes", &mut self.more_nodes),
        ]
    }
}

impl Price {
    /// The price of the same change taken `steps` further.
    pub fn further(&self, steps: u32) -> Price {
        Price { price: self.price + steps, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{Knowledge, KnowledgeError};

    #[test]
    fn frameworks_lack_changes_that_there_are() -> Result<(), KnowledgeError> {
        let knowledge = Knowledge::shipped()?;
        let mut prices = Prices::default();
        let known: Vec<&str> = prices.named().into_iter().map(|(name, _)| name).collect();
        for framework in knowledge.frameworks.iter() {
            assert!(framework.lacks.iter().all(|name| known.contains(&&**name)), "{}", framework.name);
        }
        Ok(())
    }
}
