//! The size of a model that flags describe: pre-training starts from layers and widths, not from a name.

use crate::facts::Facts;
use crate::knowledge::{Experts, Shape};
use crate::memory::{ModelSize, Parameters};

/// The smallest and the largest vocabulary in use, in rows.
const VOCABULARIES: (u64, u64) = (32_000, 262_144);
/// The width of the convolution before a state-space layer, and the ratio of the layer's width to the model's (Mamba).
const CONVOLUTION: u64 = 4;
const EXPANSION: u64 = 2;

/// The facts `shape.…` of a model.
#[derive(Clone, Copy)]
struct Described<'f>(&'f Facts);

impl Described<'_> {
    /// A plausible number for a model. The bounds keep every product of them from overflowing.
    fn count(self, name: &str) -> Option<u64> {
        let most = match name {
            "layers" | "decoder_layers" | "heads" | "kv_heads" => 1 << 12,
            "head_dim" | "state_groups" | "state_dim" | "state_head_dim" => 1 << 14,
            "vocabulary" | "positions" => 1 << 24,
            "hidden" => 1 << 17,
            _ => 1 << 20,
        };
        let number = self.0.number(&format!("shape.{name}"))?;
        (0.0..=f64::from(most)).contains(&number).then_some(number as u64)
    }

    fn flag(self, name: &str) -> bool {
        self.0.says_yes(&format!("shape.{name}"))
    }

    /// The shape with a vocabulary of this many rows.
    fn shape(self, vocabulary: u64) -> Option<Shape> {
        let experts = match self.count("experts")? {
            0 => None,
            count => Some(Experts {
                count,
                active: self.count("expert_active")?,
                intermediate: self.count("expert_intermediate")?,
                shared: self.count("expert_shared")?,
                dense_layers: 0,
            }),
        };
        let shape = Shape {
            layers: self.count("layers")?,
            hidden: self.count("hidden")?,
            intermediate: self.count("intermediate")?,
            heads: self.count("heads")?,
            kv_heads: self.count("kv_heads"),
            head_dim: self.count("head_dim"),
            vocabulary,
            embedding: None,
            positions: self.count("positions")?,
            tied_embeddings: self.flag("tied"),
            gated_mlp: self.flag("gated"),
            biases: Vec::new(),
            norms_per_layer: 2,
            query_key_norm: false,
            embedding_norm: false,
            latent_attention: None,
            experts,
            vision: 0,
        };
        // The flags do not describe attention through a latent vector.
        (!self.flag("latent") && shape.is_sound()).then_some(shape)
    }

    /// Parameters of a layer including its normalisation: attention (`*`), an MLP (`-`) or a state-space layer (`M`).
    fn layer(self, kind: char) -> Option<u64> {
        let hidden = self.count("hidden")?;
        Some(match kind {
            '*' => {
                let head = self.count("head_dim")?;
                let (queries, keys) = (self.count("heads")? * head, self.count("kv_heads")? * head);
                2 * hidden * (queries + keys) + hidden
            }
            '-' => {
                let matrices = if self.flag("gated") { 3 } else { 2 };
                matrices * hidden * self.count("intermediate")? + hidden
            }
            'M' => {
                let inner = EXPANSION * hidden;
                let states = 2 * self.count("state_groups")? * self.count("state_dim")?;
                let heads = inner / self.count("state_head_dim")?.max(1);
                let mixed = inner + states;
                hidden * (inner + mixed + heads)
                    + mixed * (CONVOLUTION + 1)
                    + 3 * heads
                    + inner
                    + inner * hidden
                    + hidden
            }
            _ => return None,
        })
    }

    /// Parameters of a model whose layers are listed one by one in a pattern; its separators are not layers.
    fn hybrid(self) -> Option<u64> {
        let pattern = self.0.text("shape.pattern").filter(|pattern| pattern.len() <= 1 << 12)?;
        pattern.chars().filter(|kind| !matches!(kind, '|' | '/')).map(|kind| self.layer(kind)).sum()
    }

    /// Parameters of an encoder and a decoder that attends to it.
    fn encoder_and_decoder(self) -> Option<u64> {
        let decoder = self.count("decoder_layers").filter(|layers| *layers > 0)?;
        let (attention, mlp) = (self.layer('*')?, self.layer('-')?);
        Some(self.count("layers")? * (attention + mlp) + decoder * (2 * attention + mlp))
    }
}

/// The model that the launch's flags describe; `None` if they do not.
pub(super) fn described(facts: &Facts) -> Option<ModelSize> {
    let flags = Described(facts);
    let known = flags.count("vocabulary");
    let bounds = known.map_or(VOCABULARIES, |rows| (rows, rows));
    if let Some(layers) = flags.hybrid().or_else(|| flags.encoder_and_decoder()) {
        let hidden = flags.count("hidden")?;
        let ends = |rows: u64| hidden.saturating_mul(if flags.flag("tied") { rows } else { 2 * rows });
        let positions = flags.count("positions")? * hidden;
        let size = |rows: u64| layers + positions + ends(rows) + hidden;
        let parameters = Parameters::between(size(bounds.0), size(bounds.1));
        return Some(ModelSize { parameters, shape: None });
    }
    let (small, large) = (flags.shape(bounds.0)?, flags.shape(bounds.1)?);
    let parameters = Parameters::between(small.parameters(), large.parameters());
    Some(ModelSize { parameters, shape: known.map(|_| small) })
}

/// Whether the flags describe a model but for its vocabulary.
pub(crate) fn lacks_vocabulary(facts: &Facts) -> bool {
    let flags = Described(facts);
    let is_plain = flags.hybrid().or_else(|| flags.encoder_and_decoder()).is_none();
    is_plain && flags.count("vocabulary").is_none() && flags.shape(VOCABULARIES.0).is_some()
}

/// A description that stands in for a missing model name.
pub(crate) fn name(facts: &Facts) -> Option<String> {
    let (layers, hidden) = (facts.number("shape.layers"), facts.number("shape.hidden")?);
    let layers = match (layers, facts.text("shape.pattern")) {
        (Some(layers), _) => layers as usize,
        (None, Some(pattern)) => pattern.chars().filter(|kind| !matches!(kind, '|' | '/')).count(),
        (None, None) => return None,
    };
    Some(format!("{layers} layers of width {hidden}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Value;

    fn facts(numbers: &[(&str, f64)], flags: &[&str]) -> Facts {
        let mut facts = Facts::default();
        for (name, number) in numbers {
            facts.say(&format!("shape.{name}"), Value::Number(*number));
        }
        for name in flags {
            facts.say(&format!("shape.{name}"), Value::Flag(true));
        }
        facts
    }

    const LLAMA_2_7B: [(&str, f64); 9] = [
        ("layers", 32.0),
        ("hidden", 4096.0),
        ("intermediate", 11008.0),
        ("heads", 32.0),
        ("kv_heads", 32.0),
        ("head_dim", 128.0),
        ("vocabulary", 32000.0),
        ("positions", 0.0),
        ("experts", 0.0),
    ];

    #[test]
    fn flags_describe_a_published_model() {
        let size = described(&facts(&LLAMA_2_7B, &["gated"])).map(|size| size.parameters);
        assert_eq!(size, Some(Parameters::exactly(6_738_415_616)));
    }

    #[test]
    fn what_is_not_said_widens_the_bounds_or_leaves_it_open() {
        let without = |name: &str| -> Vec<(&str, f64)> {
            LLAMA_2_7B.iter().copied().filter(|(known, _)| *known != name).collect()
        };
        let open = described(&facts(&without("vocabulary"), &["gated", "tied"]));
        let parameters = open.as_ref().map(|size| size.parameters.high - size.parameters.low);
        assert_eq!(parameters, Some((262_144 - 32_000) * 4096));
        assert!(open.is_some_and(|size| size.shape.is_none()));
        assert!(described(&facts(&without("heads"), &["gated"])).is_none());
        assert!(described(&facts(&LLAMA_2_7B, &["gated", "latent"])).is_none());
    }

    #[test]
    fn counts_layers_that_differ() {
        // Mamba-2 of 130 million parameters: 24 state-space layers.
        let numbers = [
            ("hidden", 768.0),
            ("vocabulary", 50288.0),
            ("positions", 0.0),
            ("state_groups", 1.0),
            ("state_dim", 128.0),
            ("state_head_dim", 64.0),
        ];
        let mut facts = facts(&numbers, &["tied"]);
        facts.say("shape.pattern", Value::Text("M".repeat(24)));
        let size = described(&facts).map(|size| size.parameters.low as f64 / 128_989_632.0);
        assert!(size.is_some_and(|share| (share - 1.0).abs() < 0.01), "{size:?}");
    }
}
