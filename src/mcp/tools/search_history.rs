use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::answer::Answer;
use super::super::{Problem, Tools};
use super::Tool;
use super::incidents::Line;
use crate::history::{Order, Page};
use crate::knowledge::Language;
use crate::watch::Watch;

/// The tool that searches the history.
pub(super) struct SearchHistory;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Words, "words in a row", field:value (kind, phase, cause, framework, model, gpu, host, cluster, role, job, tag, assignee, file,
    /// id), figures (requested:>2GiB, requested:[1GiB TO *]), since:30d or since:2026-10-01, is:open, is:resolved; a OR b, NOT a or -a,
    /// parentheses. Side by side, all must hold. Empty: the newest incidents.
    #[serde(default)]
    query: String,
    /// At most this many, 1 to 20.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 20))]
    limit: usize,
    /// Leave out this many first: `next_offset` of the page before.
    #[serde(default)]
    offset: usize,
    /// What stands first.
    #[serde(default)]
    sort: Sort,
    /// The language of the titles.
    #[serde(default)]
    language: Language,
}

fn ten() -> usize {
    10
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Sort {
    #[default]
    Relevance,
    Time,
}

/// A page of search results.
#[derive(Serialize, JsonSchema)]
pub(super) struct SearchResult {
    /// The number of matches on all pages.
    total: usize,
    incidents: Vec<Line>,
    /// The offset of the next page; absent on the last.
    next_offset: Option<usize>,
    /// The most frequent values of each field, with counts, to narrow the query.
    facets: BTreeMap<String, BTreeMap<String, usize>>,
}

const MOST: usize = 20;
/// The largest offset: beyond it the query should be narrowed.
const DEEPEST: usize = 1000;
/// At most this many values per facet.
const VALUES: usize = 4;

impl Tool for SearchHistory {
    const NAME: &'static str = "search_history";
    const TITLE: &'static str = "Find earlier incidents";
    const DESCRIPTION: &'static str = "Finds earlier out-of-memory incidents by words, fields, figures and times, and says which were solved and \
by what change. `show_incident` shows one of them with its evidence.";
    type Arguments = Arguments;
    type Result = SearchResult;

    fn run(tools: &Tools, arguments: Arguments, _: &Arc<Watch>) -> Result<Answer, Problem> {
        let Arguments { query, limit, offset, sort, language } = arguments;
        if !(1..=MOST).contains(&limit) {
            return Err(Problem::new(
                format!("`limit` is {limit}"),
                format!("give 1 to {MOST}; `offset` gets the next page"),
            ));
        }
        if offset > DEEPEST {
            return Err(Problem::new(
                format!("`offset` is {offset}"),
                format!("ask more closely: no more than {DEEPEST} can be passed over"),
            ));
        }
        let order = match sort {
            Sort::Relevance => Order::Relevance,
            Sort::Time => Order::Time,
        };
        let Page { incidents, total, facets } = tools.backend().search(&query, order, offset, limit)?;
        let facets: BTreeMap<_, _> =
            facets.into_iter().map(|(name, values)| (name.into_owned(), most(values))).collect();
        // A page that is too long ends earlier, and the next one begins there.
        Answer::fitting(incidents.len().max(1), |step| {
            let shown = incidents.len() - step.min(incidents.len());
            Ok(SearchResult {
                total,
                incidents: incidents.iter().take(shown).map(|found| Line::of(found.clone(), language)).collect(),
                next_offset: Some(offset + shown).filter(|next| shown > 0 && *next < total),
                facets: facets.clone(),
            })
        })
    }
}

fn most(values: BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let mut values: Vec<(String, usize)> = values.into_iter().collect();
    values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    values.truncate(VALUES);
    values.into_iter().map(|(value, count)| (value.chars().take(80).collect(), count)).collect()
}
