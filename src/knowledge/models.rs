use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::KnowledgeError;
use crate::model::Bytes;

mod hf_config;
mod names;
mod parameters;

pub use hf_config::HfConfigError;
pub use names::ModelMatch;

/// One file of `rules/models/`: the models of one family.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelFile {
    /// The family.
    family: Arc<str>,
    /// Where the shapes were read.
    #[serde(rename = "source")]
    _source: String,
    /// What all shapes of the file share.
    #[serde(default)]
    common: toml::Table,
    #[serde(default)]
    model: Vec<ModelRow>,
    /// Tables of token embeddings of models whose other parts nobody needs.
    #[serde(default)]
    table: Vec<TokenTable>,
}

/// A model's table of token embeddings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenTable {
    /// The model.
    of: Arc<str>,
    /// Rows, padding included.
    vocabulary: u64,
    /// Numbers in a row.
    width: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelRow {
    name: Arc<str>,
    aliases: Vec<String>,
    published: u64,
    shape: toml::Table,
}

/// A published model.
#[derive(Debug, Clone)]
pub struct Model {
    /// Its name.
    pub name: Arc<str>,
    /// Its family.
    pub family: Arc<str>,
    /// Its spellings in paths and names; case and separators do not matter.
    pub aliases: Vec<String>,
    /// Total parameters according to its model card or the index of its files.
    pub published: u64,
    /// What it is built of.
    pub shape: Shape,
}

/// What a transformer is built of; enough to count its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Transformer layers.
    pub layers: u64,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Width within an MLP.
    pub intermediate: u64,
    /// Attention heads.
    pub heads: u64,
    /// Heads of keys and values, where they are fewer.
    #[serde(default)]
    pub kv_heads: Option<u64>,
    /// Width of a head, where it is not `hidden / heads`.
    #[serde(default)]
    pub head_dim: Option<u64>,
    /// Rows of the embedding, padding included.
    pub vocabulary: u64,
    /// Width of the embedding, where it is not `hidden`.
    #[serde(default)]
    pub embedding: Option<u64>,
    /// Rows of learned positions.
    #[serde(default)]
    pub positions: u64,
    /// Whether the output head is the embedding.
    #[serde(default)]
    pub tied_embeddings: bool,
    /// Whether an MLP has three matrices (SwiGLU, GeGLU) or two.
    #[serde(default = "yes")]
    pub gated_mlp: bool,
    /// What has a bias.
    #[serde(default)]
    pub biases: Vec<Bias>,
    /// Normalisations in a layer.
    #[serde(default = "two")]
    pub norms_per_layer: u64,
    /// Whether queries and keys are normalised head by head.
    #[serde(default)]
    pub query_key_norm: bool,
    /// Whether the embedding is normalised.
    #[serde(default)]
    pub embedding_norm: bool,
    /// Attention through a latent vector (DeepSeek's MLA) instead of heads of keys and values.
    #[serde(default)]
    pub latent_attention: Option<LatentAttention>,
    /// Experts instead of one MLP.
    #[serde(default)]
    pub experts: Option<Experts>,
    /// Parameters of a vision tower with its projector.
    #[serde(default)]
    pub vision: u64,
}

/// Something that may have a bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Bias {
    /// The projections to queries, keys and values.
    QueryKeyValue,
    /// The projection after attention.
    AttentionOutput,
    /// The matrices of the MLP.
    Mlp,
    /// Normalisations (LayerNorm).
    Norm,
    /// The output head.
    Head,
}

/// Multi-head latent attention as in DeepSeek-V2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LatentAttention {
    /// Width of the queries' latent vector; absent: queries are projected directly.
    #[serde(default)]
    pub query_rank: Option<u64>,
    /// Width of the latent vector of keys and values.
    pub key_value_rank: u64,
    /// Width of a head's part without position.
    pub position_free_dim: u64,
    /// Width of a head's part with rotary position, one for all heads' keys.
    pub position_dim: u64,
    /// Width of a head's values.
    pub value_dim: u64,
}

/// A mixture of experts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// Experts in a layer.
    pub count: u64,
    /// Experts that a token passes.
    pub active: u64,
    /// Width within an expert.
    pub intermediate: u64,
    /// Width within what every token passes, all shared experts together.
    #[serde(default)]
    pub shared: u64,
    /// First layers that have an ordinary MLP.
    #[serde(default)]
    pub dense_layers: u64,
}

fn yes() -> bool {
    true
}

fn two() -> u64 {
    2
}

impl Shape {
    /// Heads of keys and values.
    pub fn kv_heads(&self) -> u64 {
        self.kv_heads.unwrap_or(self.heads)
    }

    /// Width of a head.
    pub fn head_dim(&self) -> u64 {
        self.head_dim.unwrap_or(self.hidden / self.heads.max(1))
    }

    /// The first field outside the bounds of real transformers. Within the bounds no product of fields overflows.
    fn out_of_bounds(&self) -> Option<&'static str> {
        let experts = self.experts.as_ref();
        let latent = self.latent_attention.as_ref();
        let parts = [
            ("layers", 1, self.layers, 1 << 10),
            ("hidden", 1, self.hidden, 1 << 17),
            ("intermediate", 1, self.intermediate, 1 << 20),
            ("heads", 1, self.heads, 1 << 12),
            ("kv_heads", 1, self.kv_heads(), 1 << 12),
            ("head_dim", 1, self.head_dim(), 1 << 14),
            ("vocabulary", 1, self.vocabulary, 1 << 24),
            ("embedding", 1, self.embedding.unwrap_or(1), 1 << 17),
            ("positions", 0, self.positions, 1 << 24),
            ("norms_per_layer", 0, self.norms_per_layer, 1 << 4),
            ("experts", 0, experts.map_or(0, |experts| experts.count.max(experts.active)), 1 << 12),
            ("experts.intermediate", 0, experts.map_or(0, |e| e.intermediate.max(e.shared)), 1 << 20),
            ("query_rank", 0, latent.and_then(|latent| latent.query_rank).unwrap_or(0), 1 << 14),
            ("key_value_rank", 0, latent.map_or(0, |latent| latent.key_value_rank), 1 << 14),
            ("position_dim", 0, latent.map_or(0, |l| l.position_free_dim.max(l.position_dim)), 1 << 14),
            ("value_dim", 0, latent.map_or(0, |latent| latent.value_dim), 1 << 14),
            ("vision", 0, self.vision, 1 << 40),
        ];
        parts.into_iter().find(|(_, least, size, most)| !(least..=most).contains(&size)).map(|(part, ..)| part)
    }

    /// Whether all fields are within the bounds of real transformers.
    pub fn is_sound(&self) -> bool {
        self.out_of_bounds().is_none()
    }

    /// Whether `part` has a bias.
    pub fn has_bias(&self, part: Bias) -> bool {
        self.biases.contains(&part)
    }
}

/// Published models, by the names that paths give them.
#[derive(Debug, Default)]
pub struct Models {
    models: Vec<Model>,
    aliases: Vec<(names::NormalizedName, usize)>,
    tables: Vec<TokenTable>,
}

impl Models {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Model> {
        self.models.iter()
    }

    /// The arithmetic of a table of token embeddings that has exactly `bytes` in fp32 or in 16 bit, and the models that have such a table,
    /// a few of them.
    pub fn table_of_tokens(&self, bytes: Bytes) -> Option<(String, String)> {
        const MOST_NAMED: usize = 3;
        let of_models = self
            .models
            .iter()
            .map(|Model { name, shape, .. }| (name, shape.vocabulary, shape.embedding.unwrap_or(shape.hidden)));
        let others = self.tables.iter().map(|table| (&table.of, table.vocabulary, table.width));
        let tables: Vec<(&Arc<str>, u64, u64)> = of_models.chain(others).collect();
        [4, 2].into_iter().find_map(|bytes_each| {
            let is_it = |(_, vocabulary, width): &&(&Arc<str>, u64, u64)| {
                let numbers = vocabulary.checked_mul(*width).filter(|numbers| is_telling(*numbers));
                let size = numbers.and_then(|numbers| numbers.checked_mul(bytes_each));
                size.is_some_and(|size| Bytes(size.into()) == bytes)
            };
            let mut found = tables.iter().filter(is_it).peekable();
            let (_, vocabulary, width) = found.peek()?;
            let formula = format!("{vocabulary} vocabulary × {width} × {bytes_each} bytes");
            let names: Vec<&str> = found.map(|(name, ..)| &***name).take(MOST_NAMED).collect();
            Some((formula, names.join(" / ")))
        })
    }

    /// The smallest model one of whose layers has a matrix that takes `bytes` in 16 bit as PyTorch's allocator rounds it, with the arithmetic; of
    /// sizes only that hardly anything else has.
    pub fn matrix_of_layer(&self, bytes: Bytes) -> Option<(&Model, String)> {
        const STEP: u64 = 2 << 20;
        /// A multiple of a power of two by less than this is the size of many things.
        const LEAST_ODD: u64 = 7;
        let steps = u64::try_from(bytes.0).ok().filter(|bytes| *bytes > 0 && bytes % STEP == 0)? / STEP;
        if steps >> steps.trailing_zeros() < LEAST_ODD {
            return None;
        }
        let size = |model: &Model| model.shape.hidden.checked_mul(model.shape.intermediate)?.checked_mul(2);
        let is_it = |model: &&Model| {
            model.shape.experts.is_none() && size(model).is_some_and(|size| size.div_ceil(STEP) == steps)
        };
        let model = self.models.iter().filter(is_it).min_by_key(|model| model.published)?;
        Some((model, format!("{} × {} × 2 bytes", model.shape.intermediate, model.shape.hidden)))
    }

    pub(super) fn add(&mut self, file: &str, rows: ModelFile) -> Result<(), KnowledgeError> {
        let wrong = |problem: String| KnowledgeError::Wrong { file: file.to_owned(), problem };
        self.tables.extend(rows.table);
        for row in rows.model {
            let mut shape = rows.common.clone();
            shape.extend(row.shape);
            let shape: Shape =
                shape.try_into().map_err(|error| wrong(format!("the shape of {}: {error}", row.name)))?;
            if let Some(part) = shape.out_of_bounds() {
                return Err(wrong(format!("{} cannot have such a number of `{part}`", row.name)));
            }
            // A shape whose parameters do not add up to the published number has a mistake.
            let (counted, published) = (shape.parameters(), row.published);
            if counted.abs_diff(published) > published / 100 {
                let problem = format!("the shape of {} has {counted} parameters, {published} are published", row.name);
                return Err(wrong(problem));
            }
            for alias in &row.aliases {
                let name = names::NormalizedName::of(alias);
                if let Some((_, known)) = self.aliases.iter().find(|(known, _)| *known == name) {
                    let of = self.models.get(*known).map_or(&row.name, |model| &model.name);
                    return Err(wrong(format!("`{alias}` of {} is {of} already", row.name)));
                }
                self.aliases.push((name, self.models.len()));
            }
            self.models.push(Model {
                name: row.name,
                family: rows.family.clone(),
                aliases: row.aliases,
                published: row.published,
                shape,
            });
        }
        Ok(())
    }
}

/// Whether hardly anything but a table of tokens has so many numbers: batches and layers are near to powers of two.
fn is_telling(numbers: u64) -> bool {
    const LEAST_ODD_PART: u64 = 100;
    numbers > 0 && numbers >> numbers.trailing_zeros() > LEAST_ODD_PART
}

#[cfg(test)]
mod tests {
    use super::super::Knowledge;
    use crate::model::Bytes;

    #[test]
    fn a_matrix_of_a_layer_is_known_by_its_size() -> Result<(), Box<dyn std::error::Error>> {
        let models = Knowledge::shipped()?.models;
        let matrix =
            |mib: i128| models.matrix_of_layer(Bytes(mib << 20)).map(|(model, formula)| (model.published, formula));
        let (least, formula) = matrix(86).ok_or("a layer of a 7B model")?;
        assert!((5_000_000_000..8_000_000_000).contains(&least), "{least}");
        assert_eq!(formula, "11008 × 4096 × 2 bytes");
        // 128 MiB, 96 MiB and 160 MiB are sizes of anything, and the allocator never asks for 87.
        assert_eq!([128, 96, 160, 87, 0].map(matrix), [const { None }; 5]);
        Ok(())
    }

    #[test]
    fn a_table_of_tokens_is_known_by_its_size() -> Result<(), Box<dyn std::error::Error>> {
        let models = Knowledge::shipped()?.models;
        let clip = models.table_of_tokens(Bytes(151_781_376));
        assert_eq!(clip.as_ref().map(|(formula, _)| formula.as_str()), Some("49408 vocabulary × 768 × 4 bytes"));
        // 131072 × 2048 × 4 bytes is 1 GiB, and so is much else.
        assert_eq!(models.table_of_tokens(Bytes::GIB), None);
        Ok(())
    }

    #[test]
    fn an_alias_that_stands_twice_in_a_row_is_refused() {
        let family = "family = 'f'\nsource = 's'\n[[model]]\nname = 'M'\naliases = ['m-1b', 'm 1b']\npublished = 812\n\
            shape = { layers = 1, hidden = 4, intermediate = 8, heads = 1, vocabulary = 80 }\n";
        let refused = Knowledge::load([("models/f.toml", family)].into_iter());
        let problem = refused.map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(problem, Err("rules/models/f.toml: `m 1b` of M is M already".to_owned()));
    }
}
