//! Finds the model that a path or name means: `/models/Qwen/Qwen2___5-72B`, `models--meta-llama--Llama-2-13b-hf/snapshots/…`, `8b`.

use super::{Model, Models};

/// What a name tells about a model.
#[derive(Debug, Clone, Copy)]
pub enum ModelMatch<'k> {
    /// This model, or one of the same shape.
    Model(&'k Model),
    /// Only its size: the number of parameters, rounded as in the name.
    Size(u64),
}

impl Models {
    /// The model that `name` means: a name, a path, a repository of a hub. The part nearest to the end of a path decides, and in it the
    /// longest alias; a size (`8b`) counts only if no part names a model.
    pub fn find(&self, name: &str) -> Option<ModelMatch<'_>> {
        let parts = || name.split(['/', '\\']).rev();
        parts()
            .chain([name])
            .find_map(|part| self.named(part))
            .map(ModelMatch::Model)
            .or_else(|| parts().find_map(size).map(ModelMatch::Size))
    }

    fn named(&self, part: &str) -> Option<&Model> {
        let part = NormalizedName::of(part);
        let fits = self.aliases.iter().filter_map(|(alias, model)| {
            let missing = part.mentions(alias)?;
            Some((alias.letters.len(), std::cmp::Reverse(missing), *model))
        });
        fits.max().map(|(_, _, model)| &self.models[model])
    }
}

/// Letters and digits of a name in lower case, and before which of them a separator stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NormalizedName {
    letters: Vec<char>,
    separated: Vec<bool>,
}

impl NormalizedName {
    pub(super) fn of(text: &str) -> NormalizedName {
        let mut name = NormalizedName { letters: Vec::new(), separated: Vec::new() };
        let mut separated = false;
        for letter in text.chars() {
            match letter.is_alphanumeric() {
                true => {
                    name.letters.extend(letter.to_lowercase().next());
                    name.separated.push(separated);
                    separated = false;
                }
                false => separated = true,
            }
        }
        name
    }

    /// Whether it contains `alias` as whole words, and how many of the alias's separators between digits it lacks: `Qwen2-57B` mentions
    /// `Qwen2.5-7B` with one lacking and `Qwen2-57B` with none, `Qwen25-7B` only the former.
    fn mentions(&self, alias: &NormalizedName) -> Option<usize> {
        let last = self.letters.len().checked_sub(alias.letters.len())?;
        let begins = |at: usize| at == 0 || self.separated[at];
        let ends = |at: usize| at == self.letters.len() || self.separated[at];
        let stands = |at: &usize| begins(*at) && ends(at + alias.letters.len());
        (0..=last).filter(stands).filter_map(|at| self.lacks(alias, at)).min()
    }

    fn lacks(&self, alias: &NormalizedName, at: usize) -> Option<usize> {
        let mut lacking = 0;
        for (place, letter) in alias.letters.iter().enumerate() {
            if self.letters[at + place] != *letter {
                return None;
            }
            let between_digits = place > 0 && letter.is_ascii_digit() && alias.letters[place - 1].is_ascii_digit();
            match (self.separated[at + place], alias.separated[place]) {
                (true, false) if between_digits => return None,
                (false, true) if between_digits => lacking += 1,
                _ => {}
            }
        }
        Some(lacking)
    }
}

/// The size that a name states: `8b`, `chat-13B`, `560m`, `1.5b`. Not `8bit`, `a3b` (active parameters) or `8x7b`.
fn size(name: &str) -> Option<u64> {
    let name = name.to_ascii_lowercase();
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    name.match_indices(['b', 'm']).find_map(|(end, unit)| {
        if name[end + 1..].starts_with(char::is_alphanumeric) || of_experts(&name[end + 1..]) {
            return None;
        }
        let before = name[..end].trim_end_matches(is_of_number);
        let word = before.trim_end_matches(char::is_alphabetic);
        if before.len() - word.len() == 1 {
            return None;
        }
        let number: f64 = name[before.len()..end].trim_start_matches('.').parse().ok()?;
        let parameters = number * if unit == "b" { 1e9 } else { 1e6 };
        (1e6..1e13).contains(&parameters).then_some(parameters.round() as u64)
    })
}

/// Whether a number of experts follows, as in `17b-16e`, where the size counts only active parameters.
fn of_experts(rest: &str) -> bool {
    let digits = rest.trim_start_matches(['-', '_']);
    let unit = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    digits.len() < rest.len()
        && unit.len() < digits.len()
        && unit.strip_prefix('e').is_some_and(|end| !end.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::{Knowledge, KnowledgeError};

    #[test]
    fn finds_the_model_that_a_path_means() -> Result<(), KnowledgeError> {
        let knowledge = Knowledge::shipped()?;
        for (path, name) in [
            ("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen2.5-VL-7B"),
            ("/models/Qwen/Qwen2___5-72B-Instruct", "Qwen2.5-72B"),
            ("meta-llama/Llama-2-13b-hf", "Llama-2-13B"),
            ("meta-llama/Meta-Llama-3-8B", "Llama-3-8B"),
            ("OpenRLHF/Llama-3-8b-sft-mixture", "Llama-3-8B"),
            ("~/hf/models--meta-llama--Llama-3.1-70B-Instruct/snapshots/1605565b", "Llama-3-70B"),
            ("/ckpt/qwen25_7b_sft/global_step_100/actor/huggingface", "Qwen2.5-7B"),
            ("deepseek-r1-distill-qwen-32b", "Qwen2.5-32B"),
            ("deepseek-ai/DeepSeek-R1", "DeepSeek-V3"),
            ("/data/llama-2-7b/../Qwen3-30B-A3B", "Qwen3-30B-A3B"),
            ("Qwen2-57B-A14B-Instruct", "Qwen2-57B-A14B"),
            ("Qwen2-57B", "Qwen2-57B-A14B"),
            ("Qwen2.5/7B-Instruct", "Qwen2.5-7B"),
            ("D:\\models\\chatglm3-6b", "ChatGLM3-6B"),
            ("internlm/internlm2_5-7b-chat", "InternLM2-7B"),
            ("facebook/opt-1.3b", "OPT-1.3B"),
            ("gpt2-xl", "GPT-2-XL"),
            ("microsoft/phi-1_5", "Phi-1.5"),
        ] {
            let found = knowledge.models.find(path);
            assert!(matches!(found, Some(ModelMatch::Model(model)) if &*model.name == name), "{path}: {found:?}");
        }
        Ok(())
    }

    #[test]
    fn a_size_says_less_than_a_name() -> Result<(), KnowledgeError> {
        let knowledge = Knowledge::shipped()?;
        for (name, parameters) in
            [("8b", 8_000_000_000), ("13B", 13_000_000_000), ("my-model-1.5b", 1_500_000_000), ("rm_560m", 560_000_000)]
        {
            let found = knowledge.models.find(name);
            assert!(matches!(found, Some(ModelMatch::Size(size)) if size == parameters), "{name}: {found:?}");
        }
        for nothing in [
            "",
            "/data/output",
            "Llama-4-Scout-17B-16E",
            "llama-8bit",
            "experts-8x7b",
            "run-a3b",
            "step_100",
            "b",
            "0b",
            "MyOPT-13",
        ] {
            assert!(knowledge.models.find(nothing).is_none(), "{nothing}");
        }
        assert!(matches!(knowledge.models.find("myllama-7b"), Some(ModelMatch::Size(7_000_000_000))));
        Ok(())
    }

    #[test]
    fn every_alias_finds_its_own_model() -> Result<(), KnowledgeError> {
        let knowledge = Knowledge::shipped()?;
        for model in knowledge.models.iter() {
            for alias in &model.aliases {
                let found = knowledge.models.find(alias);
                assert!(
                    matches!(found, Some(ModelMatch::Model(known)) if known.name == model.name),
                    "{alias}: {found:?}"
                );
            }
        }
        Ok(())
    }
}
