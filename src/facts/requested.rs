//! Facts that explain what a requested size is for.

use super::known::{Facts, Value};
use super::word_match::tokens;
use crate::knowledge::Models;
use crate::memory::{
    Batch, Cluster, Family, Layout, ModelSize, Parallel, Parameters, Requested, Rounding, Sharding, SizeMatch,
    size_matches,
};
use crate::model::{Bytes, FigureName, Incident, Kind};

/// Highest probability of a chance match that still counts.
const MOST_CHANCE: f64 = 0.15;
/// Any other explanation must be this many times likelier to match by chance.
const DISTINCT: f64 = 3.0;

/// `requested.family`, `requested.quantity` and `requested.formula`, if the model is known and only one of its quantities has the requested
/// size: `2.32 GiB = 4096 tokens × 152064 vocabulary × 4 bytes`.
pub fn explain_request(facts: &mut Facts, incident: &Incident, models: &Models) {
    let figure =
        incident.figures.iter().find(|figure| figure.name == FigureName::Requested && figure.derived.is_none());
    let Some((figure, bytes)) = figure.and_then(|figure| Some((figure, figure.bytes?))) else { return };
    count_tokens(facts, bytes, models);
    // PyTorch's caching allocator prints its own request, which is rounded twice; other programs print the exact bytes.
    let is_exact = incident.kind != Kind::GpuOom || !figure.text.contains('.');
    let Some((name, model)) = model(facts, models) else {
        let counted = Some(bytes).filter(|_| !figure.text.contains('.'));
        if let Some((table, name)) = counted.and_then(|bytes| models.table_of_tokens(bytes)) {
            state(facts, Family::Weights, "token embeddings", format!("{} = {table}", figure.text), name);
        } else if let Some((model, matrix)) = models.matrix_of_layer(bytes).filter(|_| !is_exact) {
            // The model need not be that one, but it is as large or larger.
            const IN_16_BIT: u64 = 2;
            facts.say("requested.least_weights", Value::Number((model.published * IN_16_BIT) as f64));
            facts.say("requested.matrix", Value::Text(format!("{} = {matrix}", figure.text)));
            facts.say("requested.matrix_of", Value::Text(model.name.to_string()));
        }
        return;
    };
    let rounding = if is_exact { Rounding::Exact } else { Rounding::Caching };
    let layout = layout(facts);
    let mut matches = size_matches(&Requested::printed(bytes, &figure.text, rounding), &model, &layout);
    // A matrix of tokens by tokens is of sequences as long as the job's, and attention makes it.
    let sequence = layout.batch.map(|batch| batch.sequence);
    let may_be_attention = |found: &SizeMatch| {
        sequence.is_none_or(|own| found.multiple == Some(own))
            && may_come_from(facts, &["attn", "attention", "softmax"])
            && !is_of_tower(facts)
    };
    matches.retain(|found| found.quantity != "attention matrix" || may_be_attention(found));
    let most = tokens_of_step(facts);
    matches.retain(|found| most.zip(found.multiple).is_none_or(|(most, tokens)| tokens as f64 <= most));
    let Some(found) = distinct(&matches) else { return };
    // The size does not tell fp32 from twice as many tokens in 16 bit, so both formulas are shown; the job's own number of tokens does.
    let is_as_good = |other: &&SizeMatch| {
        (other.family, other.quantity) == (found.family, found.quantity) && other.chance < DISTINCT * found.chance
    };
    let mut formulas: Vec<&str> = matches.iter().filter(is_as_good).map(|found| &*found.formula).collect();
    let own = layout.batch.map(|batch| format!("{} tokens", batch.tokens(1)));
    if let Some(known) = own.and_then(|own| formulas.iter().position(|formula| formula.starts_with(&own))) {
        formulas = vec![formulas[known]];
    }
    formulas.truncate(2);
    let merged = merged_in_16_bit(facts, &model, found, &formulas);
    if let Some(merged) = &merged {
        formulas = vec![merged];
    }
    let formula = format!("{} = {}", figure.text, formulas.join(" or "));
    state(facts, found.family, found.quantity, formula, name);
}

/// An engine multiplies both inward matrices of a gated MLP at once, and computes in 16 bit unless it is told otherwise: twice the width by two
/// bytes, where a formula of `formulas` says once by four.
fn merged_in_16_bit(facts: &Facts, model: &ModelSize, found: &SizeMatch, formulas: &[&str]) -> Option<String> {
    let is_gated = model.shape.as_ref().is_some_and(|shape| shape.gated_mlp);
    let [formula] = formulas else { return None };
    let is_in_16_bit = facts.text("config.model_dtype") != Some("fp32") && may_come_from(facts, &["gate_up"]);
    let is_merged = found.quantity == "an intermediate of the MLP" && is_of_engine(facts) && is_in_16_bit;
    let (tokens, width) = formula.strip_suffix(" × 4 bytes")?.split_once(" tokens × ")?;
    (is_gated && is_merged).then(|| format!("{tokens} tokens × 2 × {width} × 2 bytes"))
}

/// Whether the job is an inference engine.
fn is_of_engine(facts: &Facts) -> bool {
    facts.text("config.job").is_some_and(|job| matches!(job, "serve" | "infer"))
}

/// `requested.least_tokens`: a tensor that has this size by the failing frames, of logits or within an MLP, is of at least so many tokens, since
/// no number in it is wider than four bytes.
fn count_tokens(facts: &mut Facts, bytes: Bytes, models: &Models) {
    const WIDEST: u64 = 4;
    let shape = model(facts, models).and_then(|(_, model)| model.shape);
    let Some(shape) = shape.filter(|_| facts.get("frames").is_some()) else { return };
    let is_of = |words: &[&str]| may_come_from(facts, words);
    let each = if is_of(&["logit", "log_softmax", "logps", "logprobs", "cross_entropy", "lm_head"]) {
        shape.vocabulary
    } else if is_of(&["mlp", "feed_forward", "gate_proj", "up_proj", "down_proj"]) {
        shape.intermediate
    } else {
        return;
    };
    let tokens = bytes.0 as f64 / (each * WIDEST).max(1) as f64;
    let cites = facts.cites("figures.requested");
    // Samples of a pass are padded to the longest of them.
    let samples = facts.number("config.micro_batch").filter(|samples| *samples >= 1.0).unwrap_or(1.0);
    facts.cite("requested.sample_tokens", Value::Number((tokens / samples).floor()), cites.clone());
    facts.cite("requested.least_tokens", Value::Number(tokens.floor()), cites);
}

/// States what the requested size is for, in which model.
fn state(facts: &mut Facts, family: Family, quantity: &str, formula: String, model: String) {
    let cites = facts.cites("figures.requested");
    facts.cite("requested.family", Value::Text(family.as_str().to_owned()), cites.clone());
    facts.cite("requested.quantity", Value::Text(quantity.to_owned()), cites.clone());
    facts.cite("requested.formula", Value::Text(formula), cites);
    facts.say("requested.model", Value::Text(model));
}

/// `requested.copies`, if all that PyTorch has allocated is the request once or several times over: buffers as large as all weights, one beside the
/// other, whatever the model. Of forty requests by activations hardly one is.
pub fn count_copies(facts: &mut Facts) {
    /// A smaller request is too common a size.
    const LEAST: f64 = (Bytes::GIB.0 / 2) as f64;
    const MOST_COPIES: f64 = 6.0;
    /// The rest of a division that still counts: figures are printed with two decimals, and some small tensors lie beside.
    const REST: f64 = 0.01;
    let (Some(requested), Some(allocated)) =
        (facts.number("figures.requested"), facts.number("figures.torch_allocated"))
    else {
        return;
    };
    let copies = allocated / requested;
    let whole = copies.round();
    if requested >= LEAST && (1.0..=MOST_COPIES).contains(&whole) && (copies - whole).abs() <= REST {
        let cites = facts.cites("figures.torch_allocated");
        facts.cite("requested.copies", Value::Number(whole), cites);
    }
}

/// Whether the failing stack has one of `words`, or nothing of it is known.
fn may_come_from(facts: &Facts, words: &[&str]) -> bool {
    let lists = ["frames", "code"].into_iter().filter_map(|name| match &facts.get(name)?.value {
        Value::List(items) => Some(items.iter()),
        _ => None,
    });
    let mut said = lists.flatten().peekable();
    let has =
        |text: &Value| matches!(text, Value::Text(text) if words.iter().any(|word| text.to_lowercase().contains(word)));
    said.peek().is_none() || said.any(has)
}

/// Whether the innermost frames are those of a tower of images, whose heads and patches are not the language model's.
fn is_of_tower(facts: &Facts) -> bool {
    const TOWERS: &[&str] = &["siglip", "vision", "visual", "clip", "vit"];
    const INNERMOST: usize = 4;
    let Some(Value::List(frames)) = facts.get("frames").map(|known| &known.value) else { return false };
    frames.iter().rev().take(INNERMOST).any(|frame| match frame {
        Value::Text(frame) => tokens(frame).any(|word| TOWERS.contains(&word.as_str())),
        _ => false,
    })
}

/// The most tokens that an engine takes in one step, where its launch or its log says so: nothing of a step has more. A sampler has one token of
/// each request.
fn tokens_of_step(facts: &Facts) -> Option<f64> {
    let is_of_engine = is_of_engine(facts);
    let most = |name| facts.number(name).filter(|most| is_of_engine && *most >= 1.0);
    let is_sampler = facts.get("frames").is_some() && may_come_from(facts, &["sampler"]);
    most("config.max_num_seqs").filter(|_| is_sampler).or_else(|| most("config.max_num_batched_tokens"))
}

/// The first match, unless it may be chance or another family matches as well.
fn distinct(matches: &[SizeMatch]) -> Option<&SizeMatch> {
    let (first, others) = matches.split_first()?;
    let other = others.iter().find(|other| other.family != first.family);
    let is_distinct = other.is_none_or(|other| other.chance >= DISTINCT * first.chance);
    (first.chance <= MOST_CHANCE && is_distinct).then_some(first)
}

/// The job's model by name or, failing that, by its number of parameters.
fn model(facts: &Facts, models: &Models) -> Option<(String, ModelSize)> {
    let names = ["model", "job.model", "config.model"].into_iter().filter_map(|name| facts.text(name));
    let named = names.into_iter().find_map(|name| Some((name.to_owned(), ModelSize::from(models.find(name)?))));
    named.or_else(|| {
        let count = facts.number("job.parameters").filter(|count| *count >= 1.0)?;
        Some((
            format!("a model of {} parameters", Parameters::exactly(count as u64)),
            ModelSize::of_parameters(count as u64),
        ))
    })
}

/// The job's layout, as far as it decides the sizes of single allocations.
fn layout(facts: &Facts) -> Layout {
    let count = |name: &str| facts.number(name).filter(|count| *count >= 1.0).map(|count| count as u64);
    let mut layout = Layout {
        sharding: match count("config.zero_stage") {
            Some(1) => Sharding::ZeroOne,
            Some(2) => Sharding::ZeroTwo,
            Some(3) => Sharding::ZeroThree,
            _ => Sharding::Replicated,
        },
        cluster: Cluster::of(1, count("job.world_size").unwrap_or(1)),
        parallel: Parallel {
            tensor: count("config.tensor_parallel").unwrap_or(1),
            pipeline: count("config.pipeline_parallel").unwrap_or(1),
            ..Parallel::default()
        },
        batch: count("config.micro_batch")
            .zip(count("config.sequence_length"))
            .map(|(batch, tokens)| Batch::of(batch, tokens)),
        ..Layout::default()
    };
    layout.buckets.reduce = count("config.reduce_bucket").unwrap_or(layout.buckets.reduce);
    layout.offload.sub_group_size = count("config.sub_group_size").unwrap_or(layout.offload.sub_group_size);
    layout
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;
    use crate::source::Input;
    use crate::{Options, analyze_inputs};

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    /// The causes found in `log`, each with its explanation, with the model given as `model`.
    fn why(log: &str, model: &str) -> Result<Vec<(String, String)>, Box<dyn std::error::Error>> {
        let input = Input::new("job.log", std::io::Cursor::new(log.as_bytes().to_vec()))?;
        let facts = vec![("model".to_owned(), Value::Text(model.to_owned()))];
        let report = analyze_inputs(vec![input], Vec::new(), &Options { facts, ..Options::default() })?;
        let diagnoses = report.incidents.into_iter().flat_map(|incident| incident.diagnoses);
        Ok(diagnoses.map(|diagnosis| (diagnosis.cause.to_string(), diagnosis.why)).collect())
    }

    fn out_of_memory(size: &str) -> String {
        format!(
            "Traceback (most recent call last):\n  File \"train.py\", line 40, in <module>\n    loss.backward()\n  \
             File \"/usr/lib/python3/site-packages/torch/_tensor.py\", line 525, in backward\n    torch.autograd.backward(\n\
             torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {size}. GPU 0 has a total capacity of 79.15 GiB \
             of which 1.01 GiB is free. Including non-PyTorch memory, this process has 78.13 GiB memory in use. Of the allocated \
             memory 70.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.\n"
        )
    }

    #[test]
    fn a_matrix_of_a_model_that_the_card_cannot_hold_says_that_weights_do_not_fit() -> Outcome {
        let log = "CUDA out of memory. Tried to allocate 86.00 MiB. GPU 0 has a total capacity of 7.78 GiB of which 61.00 MiB is \
                   free. Of the allocated memory 7.21 GiB is allocated by PyTorch, and 5.22 MiB is reserved by PyTorch but unallocated.";
        let first = |log: &str| why(log, "").map(|said| said.into_iter().next());
        let (cause, why) = first(log)?.ok_or("a cause")?;
        assert_eq!(cause, "weights_do_not_fit");
        assert!(why.contains("86.00 MiB = 11008 × 4096 × 2 bytes"), "{why}");
        // A card that holds such a model may as well have run out of something else.
        let (cause, _) = first(&log.replace("7.78 GiB", "79.15 GiB"))?.ok_or("a cause")?;
        assert_ne!(cause, "weights_do_not_fit");
        Ok(())
    }

    #[test]
    fn shows_the_arithmetic_of_logits() -> Outcome {
        let said = why(&out_of_memory("2.32 GiB"), "Qwen2.5-7B")?;
        let activations = said.iter().find(|(cause, _)| cause == "activations_too_large");
        let arithmetic = "2.32 GiB = 4096 tokens × 152064 vocabulary × 4 bytes";
        assert!(activations.is_some_and(|(_, why)| why.contains(arithmetic)), "{said:#?}");
        Ok(())
    }

    #[test]
    fn says_nothing_of_a_size_that_much_could_have() -> Outcome {
        for (size, model) in [("20.00 MiB", "Qwen2.5-7B"), ("1.37 GiB", "Qwen2.5-7B"), ("2.32 GiB", "nobody's model")] {
            let said = why(&out_of_memory(size), model)?;
            assert!(said.iter().all(|(_, why)| !why.contains(&format!("{size} ="))), "{size} {model}: {said:#?}");
        }
        Ok(())
    }

    #[test]
    fn one_of_two_families_is_not_chosen() -> Outcome {
        let models = Knowledge::shipped()?.models;
        let model = models.find("Qwen2.5-7B").map(ModelSize::from).ok_or("no such model")?;
        let requested =
            Requested::printed(Bytes::of(2.32, Bytes::GIB).unwrap_or_default(), "2.32 GiB", Rounding::Caching);
        let mut matches = size_matches(&requested, &model, &Layout::default());
        assert_eq!(distinct(&matches).map(|found| found.family), Some(crate::memory::Family::Logits));
        let mut rival = matches[0].clone();
        rival.family = crate::memory::Family::Weights;
        matches.push(rival);
        assert_eq!(distinct(&matches), None);
        Ok(())
    }
}
