//! The shape of a model from the `config.json` beside its weights, as transformers writes it (`configuration_*.py`, 4.x and 5.x: the keys
//! differ by model type, their meaning does not).

use serde_json::Value;
use thiserror::Error;

use super::{Bias, Experts, LatentAttention, Shape};

/// Why no shape can be read from a `config.json`.
#[derive(Debug, Error)]
pub enum HfConfigError {
    /// It is not JSON.
    #[error("no JSON: {0}")]
    NoJson(#[from] serde_json::Error),
    /// A key that every shape needs.
    #[error("it does not say `{0}`")]
    Missing(&'static str),
    /// A field outside the bounds of real transformers.
    #[error("no transformer has such a number of `{0}`")]
    OutOfBounds(&'static str),
}

/// No field of a real model is larger.
const LARGEST: u64 = 1 << 24;

/// Model types whose MLP has two matrices.
const UNGATED: &[&str] = &[
    "gpt2",
    "opt",
    "bloom",
    "gpt_neox",
    "gpt_neo",
    "gptj",
    "falcon",
    "RefinedWeb",
    "RefinedWebModel",
    "phi",
    "starcoder2",
    "gpt_bigcode",
    "mpt",
    "codegen",
];
/// Model types whose output head is the embedding by default, without a key that says so.
const TIED: &[&str] =
    &["gpt2", "opt", "bloom", "gemma", "gemma2", "gemma3", "gemma3_text", "gpt_bigcode", "starcoder2", "gpt_neo"];
/// Model types with a bias in everything but the output head.
const BIASED: &[&str] = &["gpt2", "opt", "bloom", "gpt_neox", "gpt_neo", "phi", "gpt_bigcode", "starcoder2"];
/// Model types with a bias in queries, keys and values without a key that says so.
const QUERY_BIASED: &[&str] =
    &["qwen", "qwen2", "qwen2_moe", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"];
/// Model types that normalise queries and keys.
const QUERY_KEY_NORMED: &[&str] =
    &["qwen3", "qwen3_moe", "qwen3_vl", "qwen3_vl_text", "qwen3_vl_moe", "gemma3", "gemma3_text"];
/// Model types with four normalisations in a layer.
const FOUR_NORMS: &[&str] = &["gemma2", "gemma3", "gemma3_text", "glm4", "glm4v", "glm4v_text"];

impl Shape {
    /// Reads `config.json`. For a multimodal model it takes the language model and, if enough is given, the vision tower.
    pub fn from_hf_config(text: &str) -> Result<Shape, HfConfigError> {
        let whole: Value = serde_json::from_str(text)?;
        let nested = ["text_config", "llm_config", "language_config"].iter().find_map(|key| whole.get(key));
        let nested = nested.or_else(|| whole.get("thinker_config")?.get("text_config"));
        // A key that the nested part lacks is taken from the whole.
        let config = Config { parts: [nested, Some(&whole)].into_iter().flatten().collect() };
        let shape = config.shape(vision(&whole))?;
        match shape.out_of_bounds() {
            Some(part) => Err(HfConfigError::OutOfBounds(part)),
            None => Ok(shape),
        }
    }
}

struct Config<'v> {
    parts: Vec<&'v Value>,
}

impl Config<'_> {
    fn value(&self, keys: &[&str]) -> Option<&Value> {
        self.parts.iter().find_map(|part| keys.iter().find_map(|key| part.get(key).filter(|value| !value.is_null())))
    }

    fn number(&self, keys: &[&str]) -> Option<u64> {
        self.value(keys)?.as_u64().filter(|number| *number <= LARGEST)
    }

    fn needed(&self, keys: &[&'static str]) -> Result<u64, HfConfigError> {
        let number = self.number(keys).filter(|number| *number > 0);
        number.ok_or_else(|| HfConfigError::Missing(keys.first().copied().unwrap_or_default()))
    }

    fn says(&self, key: &str) -> bool {
        self.value(&[key]).and_then(Value::as_bool).unwrap_or(false)
    }

    fn is_one_of(&self, types: &[&str]) -> bool {
        let is_one = |part: &&Value| part.get("model_type").and_then(Value::as_str).is_some_and(|t| types.contains(&t));
        self.parts.iter().any(is_one)
    }

    fn shape(&self, vision: u64) -> Result<Shape, HfConfigError> {
        let layers = self.needed(&["num_hidden_layers", "n_layer", "num_layers", "n_layers"])?;
        let hidden = self.needed(&["hidden_size", "n_embd", "d_model", "n_embed"])?;
        let heads = self.needed(&["num_attention_heads", "n_head", "n_heads", "num_heads"])?;
        // Some models write the padded size of the vocabulary beside `vocab_size`.
        let vocabulary = self.needed(&["padded_vocab_size", "vocab_size"])?;
        let intermediate = self
            .number(&["ffn_hidden_size", "intermediate_size", "n_inner", "ffn_dim", "inner_hidden_size"])
            .unwrap_or(4 * hidden);
        let intermediate = match self.is_one_of(&["qwen"]) {
            true => intermediate / 2,
            false => intermediate,
        };
        Ok(Shape {
            layers,
            hidden,
            intermediate,
            heads,
            kv_heads: self.kv_heads(),
            head_dim: self.number(&["head_dim", "kv_channels"]),
            vocabulary,
            embedding: self.number(&["word_embed_proj_dim"]).filter(|width| *width != hidden),
            positions: self.positions(),
            tied_embeddings: match self.value(&["tie_word_embeddings"]).and_then(Value::as_bool) {
                Some(tied) => tied,
                None => self.is_one_of(TIED),
            },
            gated_mlp: !self.is_one_of(UNGATED),
            biases: self.biases(),
            norms_per_layer: match () {
                () if self.is_one_of(FOUR_NORMS) => 4,
                () if self.is_one_of(&["phi", "gptj"]) => 1,
                () => 2,
            },
            query_key_norm: self.is_one_of(QUERY_KEY_NORMED) || self.says("use_qk_norm"),
            embedding_norm: self.is_one_of(&["bloom"]),
            latent_attention: self.latent_attention(),
            experts: self.experts(intermediate),
            vision,
        })
    }

    fn kv_heads(&self) -> Option<u64> {
        if self.says("multi_query") && !self.says("new_decoder_architecture") {
            return Some(1);
        }
        self.number(&["num_key_value_heads", "multi_query_group_num", "num_kv_heads", "n_head_kv"])
    }

    fn positions(&self) -> u64 {
        match () {
            // OPT adds two rows as an offset (`OPTLearnedPositionalEmbedding`).
            () if self.is_one_of(&["opt"]) => self.number(&["max_position_embeddings"]).map_or(0, |rows| rows + 2),
            () if self.is_one_of(&["gpt2", "gpt_neo", "gpt_bigcode"]) => {
                self.number(&["n_positions", "max_position_embeddings"]).unwrap_or(0)
            }
            () => 0,
        }
    }

    fn biases(&self) -> Vec<Bias> {
        let all = self.is_one_of(BIASED);
        let attention = all || self.says("attention_bias") || self.says("bias");
        let query = attention || self.says("add_qkv_bias") || self.is_one_of(QUERY_BIASED);
        let mlp = all || self.says("mlp_bias") || self.is_one_of(&["gptj", "gpt_oss"]);
        let norm = all || self.is_one_of(&["gptj", "falcon", "RefinedWeb", "RefinedWebModel"]);
        let head = self.is_one_of(&["phi", "gptj"]);
        [
            (query, Bias::QueryKeyValue),
            (attention, Bias::AttentionOutput),
            (mlp, Bias::Mlp),
            (norm, Bias::Norm),
            (head, Bias::Head),
        ]
        .into_iter()
        .filter_map(|(has, bias)| has.then_some(bias))
        .collect()
    }

    fn latent_attention(&self) -> Option<LatentAttention> {
        Some(LatentAttention {
            query_rank: self.number(&["q_lora_rank"]),
            key_value_rank: self.number(&["kv_lora_rank"])?,
            position_free_dim: self.number(&["qk_nope_head_dim"])?,
            position_dim: self.number(&["qk_rope_head_dim"])?,
            value_dim: self.number(&["v_head_dim"])?,
        })
    }

    fn experts(&self, dense: u64) -> Option<Experts> {
        let count =
            self.number(&["num_experts", "num_local_experts", "n_routed_experts"]).filter(|experts| *experts > 1)?;
        let intermediate = self.number(&["moe_intermediate_size"]).unwrap_or(dense);
        let shared = self.number(&["n_shared_experts"]).map(|experts| experts * intermediate);
        Some(Experts {
            count,
            active: self.number(&["num_experts_per_tok", "num_experts_per_token", "moe_topk"]).unwrap_or(1),
            intermediate,
            shared: self.number(&["shared_expert_intermediate_size"]).or(shared).unwrap_or(0),
            dense_layers: self.number(&["first_k_dense_replace"]).unwrap_or(0),
        })
    }
}

/// Parameters of a vision transformer and its patch merger, without biases and normalisations; 0 if its depth or width is unknown.
fn vision(whole: &Value) -> u64 {
    let Some(part) = whole.get("vision_config") else { return 0 };
    let config = Config { parts: vec![part] };
    // With `embed_dim` beside it, `hidden_size` is the language model's width (Qwen2-VL).
    let width = config.number(&["embed_dim", "hidden_size"]);
    let depth = config.number(&["depth", "num_hidden_layers"]);
    let (Some(width @ ..=0x2_0000), Some(depth @ ..=1024)) = (width, depth) else { return 0 };
    let ratio = config.number(&["mlp_ratio"]).unwrap_or(4);
    let intermediate = config.number(&["intermediate_size"]).unwrap_or(ratio * width);
    let matrices = if config.is_one_of(&["qwen2_5_vl"]) { 3 } else { 2 };
    let merger = config.number(&["spatial_merge_size"]).map_or(0, |side| {
        let merged = width * side.min(16).pow(2);
        let out = match part.get("embed_dim") {
            Some(_) => config.number(&["hidden_size"]),
            None => config.number(&["out_hidden_size"]),
        };
        merged * merged + merged * out.unwrap_or(0)
    });
    depth * (4 * width * width + matrices * width * intermediate) + merger
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_keys_of_many_families() -> Result<(), HfConfigError> {
        let llama = r#"{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": false}"#;
        assert_eq!(Shape::from_hf_config(llama)?.parameters(), 8_030_261_248);
        let gpt2 = r#"{"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
            "n_inner": null, "vocab_size": 50257}"#;
        assert_eq!(Shape::from_hf_config(gpt2)?.parameters(), 124_439_808);
        let chatglm = r#"{"model_type": "chatglm", "hidden_size": 4096, "ffn_hidden_size": 13696, "num_layers": 28,
            "num_attention_heads": 32, "multi_query_group_num": 2, "kv_channels": 128, "padded_vocab_size": 65024,
            "vocab_size": 65024, "add_qkv_bias": true, "tie_word_embeddings": false}"#;
        assert_eq!(Shape::from_hf_config(chatglm)?.parameters(), 6_243_584_000);
        let moe = r#"{"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "head_dim": 128,
            "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 151936,
            "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "tie_word_embeddings": false}"#;
        assert_eq!(Shape::from_hf_config(moe)?.parameters(), 30_532_122_624);
        let latent = r#"{"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
            "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 102400,
            "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
            "moe_intermediate_size": 1408, "first_k_dense_replace": 1}"#;
        assert_eq!(Shape::from_hf_config(latent)?.parameters(), 15_706_484_224);
        let falcon = r#"{"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "bias": false,
            "num_attention_heads": 71, "multi_query": true, "vocab_size": 65024, "tie_word_embeddings": true}"#;
        assert_eq!(Shape::from_hf_config(falcon)?.kv_heads(), 1);
        Ok(())
    }

    #[test]
    fn counts_the_vision_tower_nearly() -> Result<(), HfConfigError> {
        let config = r#"{"model_type": "qwen2_5_vl", "hidden_size": 3584, "intermediate_size": 18944,
            "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
            "tie_word_embeddings": false, "vision_config": {"model_type": "qwen2_5_vl", "depth": 32,
            "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "spatial_merge_size": 2,
            "out_hidden_size": 3584}}"#;
        let parameters = Shape::from_hf_config(config)?.parameters();
        assert!(parameters.abs_diff(8_292_166_656) < 8_292_166_656 / 1000, "{parameters}");
        Ok(())
    }

    #[test]
    fn says_what_is_missing() {
        assert!(matches!(Shape::from_hf_config("{"), Err(HfConfigError::NoJson(_))));
        let none = Shape::from_hf_config(r#"{"hidden_size": 8, "num_hidden_layers": 0}"#);
        assert!(matches!(none, Err(HfConfigError::Missing("num_hidden_layers"))));
        assert!(Shape::from_hf_config("[]").is_err());
        let huge = r#"{"hidden_size": 16777216, "num_hidden_layers": 16777216, "num_attention_heads": 16777216,
            "vocab_size": 16777216, "vision_config": {"depth": 1024, "hidden_size": 131072, "spatial_merge_size": 9999,
            "intermediate_size": 16777216, "out_hidden_size": 16777216, "mlp_ratio": 16777216}}"#;
        assert!(matches!(Shape::from_hf_config(huge), Err(HfConfigError::OutOfBounds("layers"))));
    }
}
