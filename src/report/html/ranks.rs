//! The ranks of a large job as a grid of squares, coloured by how they ended or by what they held.

use maud::{Markup, html};

use super::super::ranks::{Node, RankWords, Sign, is_telling, known_nodes, nodes, row_words, signs, words};
use super::super::wording;
use super::plain;
use crate::knowledge::Language;
use crate::model::{Bytes, RankRow, Ranks, Report};

/// The number of shades for the amount held.
const SHADES: i128 = 9;

/// The grid; empty if there is none to show.
pub(super) fn grid(report: &Report, language: Language) -> Markup {
    let RankWords { heading, by_memory, state, of, more_ranks, .. } = words(language);
    html! {
        @if let Some(ranks) = report.ranks.as_ref().filter(|ranks| is_telling(ranks)) {
            @let comma = wording::comma(language);
            @let rest = ranks.count.saturating_sub(ranks.rows.len());
            h2 { (heading) }
            p {
                (of(ranks.count, known_nodes(ranks)))
                @for counted in &ranks.states { (comma) (counted.count) " " (state(counted.state)) }
                @if rest > 0 { " (" (more_ranks(rest)) ")" }
            }
            @if let Some(row) = ranks.first_row() { p { (plain(&row_words(report, ranks, row, language))) } }
            @if !ranks.outliers.is_empty() {
                ul { @for outlier in &ranks.outliers { li { (plain(&outlier.words)) } } }
            }
            div.ranks {
                @let scale = Scale::of(ranks);
                @if let Some(scale) = &scale {
                    label.by-memory hidden {
                        input type="checkbox"; " " (by_memory)
                        @if let Some(figure) = ranks.figure { ": " (wording::figure(figure, language)) }
                        " (" (Bytes(scale.least)) " – " (Bytes(scale.most)) ")"
                    }
                }
                p.legend {
                    @for (sign, meaning) in signs(ranks, language) {
                        span { i.rank.(sign.class) aria-hidden="true" { (sign.sign) } " " (meaning) }
                        " "
                    }
                }
                div.nodes { @for node in nodes(ranks) { (row(report, ranks, &node, scale.as_ref(), language)) } }
            }
        }
    }
}

/// The squares of a node, with a summary for screen readers.
fn row(report: &Report, ranks: &Ranks, node: &Node<'_>, scale: Option<&Scale>, language: Language) -> Markup {
    let name = plain(&node.name);
    let told = format!("{name}{}{}", wording::colon(language), node.counts(language));
    html! {
        div.node {
            span.dim { (name) }
            span.cells role="img" aria-label=(told) {
                @for (row, sign) in &node.cells {
                    @let Sign { sign, class } = sign;
                    @let shade = scale.and_then(|scale| scale.shade(ranks, row));
                    i.rank.(class).(shade.unwrap_or("unknown"))
                        title=(plain(&row_words(report, ranks, row, language))) { (sign) }
                }
            }
        }
    }
}

/// The range of what the ranks held, for the figure that most of them have.
struct Scale {
    least: i128,
    most: i128,
}

impl Scale {
    /// `None` if the amounts are unknown or all equal.
    fn of(ranks: &Ranks) -> Option<Scale> {
        let held = || ranks.rows.iter().filter(|row| row.figure.is_none()).filter_map(|row| row.bytes);
        let (least, most) = (held().min()?.0, held().max()?.0);
        (least < most).then_some(Scale { least, most })
    }

    /// The CSS class for the amount of `row`.
    fn shade(&self, ranks: &Ranks, row: &RankRow) -> Option<&'static str> {
        const CLASSES: [&str; SHADES as usize + 1] = ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"];
        let bytes = row.bytes.filter(|_| ranks.figure_of(row) == ranks.figure)?.0;
        let share = (bytes - self.least) * SHADES / (self.most - self.least);
        CLASSES.get(usize::try_from(share).ok()?).copied()
    }
}
