//! The ranks of a large job: a grid with a row per node and a sign per rank, and sentences on single ranks.

#[cfg(feature = "render")]
mod rows;
mod words;

use super::names;
use crate::knowledge::Language;
use crate::model::{Outlier, Ranks};
#[cfg(feature = "render")]
pub(super) use rows::{Node, Sign, is_telling, known_nodes, lines, nodes, row_words, signs};
pub(super) use words::{RankWords, words};

/// `ranks` with its outliers described in `language`.
pub fn in_words(mut ranks: Ranks, language: Language) -> Ranks {
    for outlier in &mut ranks.outliers {
        let Outlier { ranks: of, node, figure, bytes, median, .. } = &*outlier;
        let more = crate::model::Bytes(bytes.0 - median.0).to_string();
        let figure = names::figure(*figure, language);
        let who = match (node, of.as_slice()) {
            (Some(node), of) => (words(language).ranks_of)(of.len(), node),
            (None, of) => of.iter().map(|rank| format!("rank {rank}")).collect::<Vec<_>>().join(", "),
        };
        outlier.words = (words(language).outlier)(&who, &more, &median.to_string(), figure);
    }
    ranks
}

/// One line per rank of `report` and per outlier: the answer to questions about a rank or a node.
#[cfg(feature = "render")]
pub fn rank_rows(report: &crate::model::Report, language: Language) -> String {
    let report = super::details::printable(report);
    let Some(ranks) = &report.ranks else { return String::new() };
    let rows = ranks.rows.iter().map(|row| row_words(&report, ranks, row, language) + "\n");
    let outliers = ranks.outliers.iter().map(|outlier| outlier.words.clone() + "\n");
    rows.chain(outliers).collect()
}
