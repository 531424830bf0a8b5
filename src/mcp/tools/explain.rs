use std::sync::Arc;

use anstream::adapter::strip_str;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::answer::Answer;
use super::super::{Problem, Tools};
use super::Tool;
use crate::knowledge::{Glossary, Language};
use crate::rulebase;
use crate::watch::Watch;

/// The tool that explains a word.
pub(super) struct Explain;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// `fragmentation`, `weight_sync`, `--gpu-memory-utilization`, `deepspeed.offload_optimizer`, `host.memory` …
    word: String,
    /// The language of the explanation.
    #[serde(default)]
    language: Language,
}

/// The explanation of a word.
#[derive(Serialize, JsonSchema)]
pub(super) struct Explained {
    word: String,
    /// All meanings of the word in the knowledge base.
    text: String,
    /// Whether the text was cut.
    is_cut: bool,
}

/// The most bytes of explanation.
const MOST: usize = 5000;

impl Tool for Explain {
    const NAME: &'static str = "explain";
    const TITLE: &'static str = "Explain a word of reports";
    const DESCRIPTION: &'static str = "Explains a word of reports from the knowledge base: a cause (what it means, what helps and what does not), a \
kind, phase, figure, lever or fact, or a setting of a framework as the user spells it (what memory it moves, its default, what it costs).";
    type Arguments = Arguments;
    type Result = Explained;

    fn run(tools: &Tools, arguments: Arguments, _: &Arc<Watch>) -> Result<Answer, Problem> {
        let Arguments { word, language } = arguments;
        let options = tools.backend().options()?;
        let knowledge = options.knowledge.as_deref().ok_or_else(|| Problem::bug("there are no rules"))?;
        let text = rulebase::explain(&word, knowledge, &Glossary::shipped()?, language).map_err(|unknown| {
            let advice = match unknown.nearest.as_slice() {
                [] => "give a word of a report: a cause, phase, kind, figure, lever, fact, or a setting".to_owned(),
                nearest => format!("did you mean {}?", nearest.join(", ")),
            };
            Problem::new(format!("nothing is called `{}`", word.chars().take(100).collect::<String>()), advice)
        })?;
        let mut text = strip_str(&text).to_string();
        let is_cut = text.len() > MOST;
        text.truncate(text.floor_char_boundary(MOST));
        Answer::of(&Explained { word, text, is_cut })
    }
}
