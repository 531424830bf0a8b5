//! Counts the parameters of a shape.
//!
//! They are counted matrix by matrix as the modelling files of transformers build them. Routers' biases, gates of shared experts and
//! attention sinks are left out; they are less than a ten-thousandth of any model.

use super::{Bias, Shape};

impl Shape {
    /// All parameters; an output head tied to the embedding counts once.
    pub fn parameters(&self) -> u64 {
        let layers = self.dense_layers() * self.dense_layer() + self.expert_layers() * self.expert_layer();
        layers + self.parameters_outside_layers()
    }

    /// Active parameters: all but the experts to which a token is not routed.
    pub fn active_parameters(&self) -> u64 {
        let idle = self.experts.as_ref().map_or(0, |experts| experts.count.saturating_sub(experts.active));
        let idle = idle * self.experts.as_ref().map_or(0, |experts| self.mlp(experts.intermediate));
        self.parameters() - self.expert_layers() * idle
    }

    /// Parameters of the largest layer, which are live at once if whole layers are gathered.
    pub fn largest_layer(&self) -> u64 {
        let dense = if self.dense_layers() > 0 { self.dense_layer() } else { 0 };
        let expert = if self.expert_layers() > 0 { self.expert_layer() } else { 0 };
        dense.max(expert)
    }

    /// Parameters of the embedding; an untied output head has as many.
    pub fn embedding_parameters(&self) -> u64 {
        self.vocabulary * self.embedding_width()
    }

    /// Parameters of the largest module by its own parameters, as `model_to_params` of DeepSpeed's estimators counts
    /// them: the embedding, or a matrix of the MLP. Experts that are one tensor are one module.
    pub fn largest_module(&self) -> u64 {
        let matrix = self.hidden * self.intermediate;
        self.embedding_parameters().max(matrix)
    }

    /// Parameters outside the transformer layers: embedding, head, positions, last normalisation, vision tower.
    pub fn parameters_outside_layers(&self) -> u64 {
        let embedding = self.embedding_parameters();
        let head = if self.tied_embeddings { 0 } else { embedding };
        let head_bias = if self.has_bias(Bias::Head) { self.vocabulary } else { 0 };
        // An embedding of another width is projected to the layers' width and back (OPT-350M, which then has no last norm).
        let (projections, last_norm) = match self.embedding {
            Some(width) => (2 * width * self.hidden, 0),
            None => (0, self.norm()),
        };
        let embedding_norm = if self.embedding_norm { self.norm() } else { 0 };
        embedding
            + head
            + head_bias
            + projections
            + self.positions * self.hidden
            + last_norm
            + embedding_norm
            + self.vision
    }

    /// Layers with an ordinary MLP.
    pub fn dense_layers(&self) -> u64 {
        self.layers - self.expert_layers()
    }

    /// Layers with experts.
    pub fn expert_layers(&self) -> u64 {
        self.experts.as_ref().map_or(0, |experts| self.layers.saturating_sub(experts.dense_layers))
    }

    /// Parameters of a LoRA adapter of `rank`: the least for queries and values only, the most for every matrix in every layer
    /// (`all-linear`). A matrix of n × m gets rank × (n + m).
    pub fn adapter_parameters(&self, rank: u64) -> (u64, u64) {
        let (query, key_value) = (self.heads * self.head_dim(), self.kv_heads() * self.head_dim());
        let matrix = |n: u64, m: u64| rank * (n + m);
        let least = match &self.latent_attention {
            Some(latent) => matrix(self.hidden, latent.key_value_rank),
            None => matrix(self.hidden, query) + matrix(self.hidden, key_value),
        };
        let attention = match &self.latent_attention {
            Some(latent) => {
                let width = self.heads * (latent.position_free_dim + latent.position_dim);
                let values = self.heads * (latent.position_free_dim + latent.value_dim);
                let query = match latent.query_rank {
                    Some(inner) => matrix(self.hidden, inner) + matrix(inner, width),
                    None => matrix(self.hidden, width),
                };
                query
                    + matrix(self.hidden, latent.key_value_rank + latent.position_dim)
                    + matrix(latent.key_value_rank, values)
                    + matrix(self.heads * latent.value_dim, self.hidden)
            }
            None => 2 * matrix(self.hidden, query) + 2 * matrix(self.hidden, key_value),
        };
        let mlp = |width: u64| if self.gated_mlp { 3 } else { 2 } * matrix(self.hidden, width);
        let experts = self.experts.as_ref().map_or(0, |experts| {
            experts.count * mlp(experts.intermediate) + if experts.shared > 0 { mlp(experts.shared) } else { 0 }
        });
        let most =
            self.dense_layers() * (attention + mlp(self.intermediate)) + self.expert_layers() * (attention + experts);
        (self.layers * least, most)
    }

    fn embedding_width(&self) -> u64 {
        self.embedding.unwrap_or(self.hidden)
    }

    fn dense_layer(&self) -> u64 {
        self.attention() + self.norms_per_layer * self.norm() + self.mlp(self.intermediate)
    }

    fn expert_layer(&self) -> u64 {
        let mlp = self.experts.as_ref().map_or(0, |experts| {
            let shared = if experts.shared > 0 { self.mlp(experts.shared) } else { 0 };
            experts.count * self.mlp(experts.intermediate) + shared + self.hidden * experts.count
        });
        self.attention() + self.norms_per_layer * self.norm() + mlp
    }

    fn attention(&self) -> u64 {
        let query_key_norm = if self.query_key_norm { 2 * self.head_dim() } else { 0 };
        if let Some(latent) = &self.latent_attention {
            let query_width = self.heads * (latent.position_free_dim + latent.position_dim);
            let query = match latent.query_rank {
                Some(rank) => self.hidden * rank + rank + rank * query_width,
                None => self.hidden * query_width,
            };
            let rank = latent.key_value_rank;
            let key_value = self.hidden * (rank + latent.position_dim)
                + rank
                + rank * self.heads * (latent.position_free_dim + latent.value_dim);
            return query + key_value + self.heads * latent.value_dim * self.hidden;
        }
        let (query, key_value) = (self.heads * self.head_dim(), self.kv_heads() * self.head_dim());
        let projected = query + 2 * key_value;
        let biases = if self.has_bias(Bias::QueryKeyValue) { projected } else { 0 }
            + if self.has_bias(Bias::AttentionOutput) { self.hidden } else { 0 };
        self.hidden * projected + query * self.hidden + biases + query_key_norm
    }

    fn mlp(&self, intermediate: u64) -> u64 {
        let inward = if self.gated_mlp { 2 } else { 1 };
        let biases = if self.has_bias(Bias::Mlp) { inward * intermediate + self.hidden } else { 0 };
        (inward + 1) * self.hidden * intermediate + biases
    }

    fn norm(&self) -> u64 {
        if self.has_bias(Bias::Norm) { 2 * self.hidden } else { self.hidden }
    }
}

#[cfg(test)]
mod tests {
    use crate::knowledge::{Knowledge, KnowledgeError, Model, Models};

    fn model<'k>(models: &'k Models, name: &str) -> Option<&'k Model> {
        models.iter().find(|model| &*model.name == name)
    }

    #[test]
    fn counts_what_is_published() -> Result<(), KnowledgeError> {
        let models = Knowledge::shipped()?.models;
        assert!(models.iter().count() > 150);
        for model in models.iter() {
            let (counted, published) = (model.shape.parameters(), model.published);
            assert!(counted.abs_diff(published) <= published / 100, "{}: {counted} of {published}", model.name);
        }
        // Exactly, where the hub states the exact number.
        for name in
            ["Llama-3-8B", "Qwen2.5-72B", "Qwen2.5-VL-7B", "Mixtral-8x7B", "OPT-350M", "BLOOM-7B1", "Falcon-40B"]
        {
            let model = model(&models, name);
            assert!(model.is_some_and(|model| model.shape.parameters() == model.published), "{name}");
        }
        Ok(())
    }

    #[test]
    fn counts_parts() -> Result<(), KnowledgeError> {
        let models = Knowledge::shipped()?.models;
        let shape = |name| model(&models, name).map(|model| &model.shape);
        assert_eq!(shape("Mixtral-8x7B").map(|shape| shape.active_parameters()), Some(12_879_925_248));
        assert_eq!(shape("Mixtral-8x7B").map(|shape| shape.largest_layer()), Some(1_451_270_144));
        assert_eq!(shape("DeepSeek-V3").map(|shape| shape.active_parameters() / 100_000_000), Some(375));
        assert_eq!(shape("Llama-3-8B").map(|shape| shape.largest_module()), Some(525_336_576));
        for shape in models.iter().map(|model| &model.shape).filter(|shape| shape.experts.is_none()) {
            assert_eq!(shape.active_parameters(), shape.parameters());
            assert_eq!(shape.layers * shape.largest_layer() + shape.parameters_outside_layers(), shape.parameters());
        }
        Ok(())
    }
}
