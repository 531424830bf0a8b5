//! The rows of the grid.

use super::{RankWords, words};
use crate::knowledge::Language;
use crate::model::{RankRow, RankState, Ranks, Report};
use crate::report::wording;

/// The most signs in a row.
const WIDEST: usize = 32;

/// How a rank is shown: a sign, and a CSS class.
pub(in crate::report) struct Sign {
    /// The character in a terminal and in the square on a page.
    pub sign: char,
    /// The CSS class.
    pub class: &'static str,
}

/// The signs by state; [`FIRST`] marks the rank with which the failure began.
const SIGNS: [(RankState, Sign); 6] = [
    (RankState::RanOut, Sign { sign: 'o', class: "ran-out" }),
    (RankState::Killed, Sign { sign: 'x', class: "killed" }),
    (RankState::Failed, Sign { sign: 'f', class: "failed" }),
    (RankState::Silent, Sign { sign: '?', class: "silent" }),
    (RankState::Followed, Sign { sign: '·', class: "followed" }),
    (RankState::Finished, Sign { sign: '=', class: "finished" }),
];
const FIRST: Sign = Sign { sign: '!', class: "first" };
const OTHER: Sign = Sign { sign: ' ', class: "other" };

fn sign(ranks: &Ranks, row: &RankRow) -> &'static Sign {
    match ranks.first == Some(row.rank) {
        true => &FIRST,
        false => SIGNS.iter().find(|(state, _)| *state == row.state).map_or(&OTHER, |(_, sign)| sign),
    }
}

/// The signs that occur, with their meanings.
pub(in crate::report) fn signs(ranks: &Ranks, language: Language) -> Vec<(&'static Sign, &'static str)> {
    let RankWords { first, state, .. } = words(language);
    let is_used = |sign: &Sign| ranks.rows.iter().any(|row| self::sign(ranks, row).sign == sign.sign);
    let all = SIGNS.iter().map(|(of, sign)| (sign, state(*of)));
    std::iter::once((&FIRST, *first)).chain(all).filter(|(sign, _)| is_used(sign)).collect()
}

/// Whether the grid contains any information beyond unknown states.
pub(in crate::report) fn is_telling(ranks: &Ranks) -> bool {
    !ranks.outliers.is_empty() || ranks.states.iter().any(|counted| counted.state != RankState::Silent)
}

/// The ranks of a node.
pub(in crate::report) struct Node<'a> {
    /// The node's name; if unknown, the range of its ranks.
    pub name: String,
    /// The ranks, each with its sign.
    pub cells: Vec<(&'a RankRow, &'static Sign)>,
}

impl Node<'_> {
    /// The common state of all ranks, if they ended alike.
    fn state(&self) -> Option<RankState> {
        let (first, _) = self.cells.first()?;
        let is_alike = |(row, sign): &(&RankRow, &Sign)| row.state == first.state && sign.sign != FIRST.sign;
        self.cells.iter().all(is_alike).then_some(first.state)
    }

    /// The sort key of the node: its most informative state.
    fn weight(&self) -> (bool, Option<RankState>) {
        let is_first = self.cells.iter().any(|(_, sign)| sign.sign == FIRST.sign);
        (!is_first, self.cells.iter().map(|(row, _)| row.state).min())
    }

    /// `7 × ended with the others, 1 × ran out of memory`
    pub fn counts(&self, language: Language) -> String {
        let RankWords { state, .. } = words(language);
        let count = |of: RankState| (self.cells.iter().filter(|(row, _)| row.state == of).count(), state(of));
        let counts = RankState::ALL.map(count).into_iter().filter(|(count, _)| *count > 0);
        counts.map(|(count, state)| format!("{count} × {state}")).collect::<Vec<_>>().join(wording::comma(language))
    }
}

/// The nodes in order; ranks without a node get rows of their own.
pub(in crate::report) fn nodes(ranks: &Ranks) -> Vec<Node<'_>> {
    let mut of_node: Vec<Vec<(&RankRow, &'static Sign)>> = ranks.nodes.iter().map(|_| Vec::new()).collect();
    let mut nowhere = Vec::new();
    for row in &ranks.rows {
        let node = row.node.and_then(|node| of_node.get_mut(node)).unwrap_or(&mut nowhere);
        node.push((row, sign(ranks, row)));
    }
    let named = ranks.nodes.iter().zip(of_node).filter(|(_, cells)| !cells.is_empty());
    let named = named.map(|(name, cells)| Node { name: name.to_string(), cells });
    let unnamed = nowhere.chunks(WIDEST).map(|cells| {
        let number = |cell: Option<&(&RankRow, _)>| cell.map_or(0, |(row, _)| row.rank);
        Node { name: format!("{}–{}", number(cells.first()), number(cells.last())), cells: cells.to_vec() }
    });
    named.chain(unnamed).collect()
}

/// A row of the grid as text.
struct Line {
    weight: (bool, Option<RankState>),
    name: String,
    words: String,
    /// If all ranks ended alike: the number of nodes in this row, their state, and the ranks per node.
    alike: Option<(usize, RankState, usize)>,
}

/// The whole section: the counts, the grid in at most `most` rows, the legend, the first rank, and the outliers; and
/// whether rows were left out.
pub(in crate::report) fn lines(report: &Report, ranks: &Ranks, language: Language, most: usize) -> (Vec<String>, bool) {
    let RankWords { state, of, more_nodes, more_ranks, .. } = words(language);
    let comma = wording::comma(language);
    let counts = ranks.states.iter().map(|counted| format!("{} {}", counted.count, state(counted.state)));
    let counts = counts.collect::<Vec<_>>().join(comma);
    let mut told = vec![format!("{}{}{counts}", of(ranks.count, known_nodes(ranks)), wording::colon(language))];
    told.extend(ranks.first_row().map(|row| row_words(report, ranks, row, language)));
    told.extend(ranks.outliers.iter().map(|outlier| outlier.words.clone()));
    let Grid { lines: rows, is_joined, left_out } = grid(ranks, language, most);
    let wide = rows.iter().map(|line| width(&line.name)).max().unwrap_or(0);
    for line in &rows {
        let mut name = line.name.as_str();
        for words in pieces(&line.words, line.alike.is_none()) {
            told.push(format!("{name}{}  {words}", " ".repeat(wide.saturating_sub(width(name)))));
            name = "";
        }
    }
    told.extend((left_out > 0).then(|| more_nodes(left_out)));
    let rest = ranks.count.saturating_sub(ranks.rows.len());
    told.extend((rest > 0).then(|| more_ranks(rest)));
    let meanings = signs(ranks, language).into_iter().map(|(sign, words)| format!("{} {words}", sign.sign));
    told.push(meanings.collect::<Vec<_>>().join("   "));
    (told, is_joined || left_out > 0)
}

fn width(name: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(name)
}

/// Splits signs into pieces of a row's width; words stay whole.
fn pieces(words: &str, is_signs: bool) -> Vec<String> {
    let signs: Vec<char> = words.chars().collect();
    match is_signs {
        true => signs.chunks(WIDEST).map(|piece| piece.iter().collect()).collect(),
        false => vec![words.to_owned()],
    }
}

/// The rows of the grid as text.
struct Grid {
    lines: Vec<Line>,
    /// Whether nodes that are not adjacent share a row.
    is_joined: bool,
    /// The number of rows that were left out.
    left_out: usize,
}

/// The rows, with adjacent nodes that ended alike merged.
fn grid(ranks: &Ranks, language: Language, most: usize) -> Grid {
    let mut lines: Vec<Line> = Vec::new();
    let mut began = String::new();
    for node in nodes(ranks) {
        let signs: String = node.cells.iter().map(|(_, sign)| sign.sign).collect();
        let alike = node.state().map(|state| (1, state, node.cells.len()));
        let line = Line { weight: node.weight(), name: node.name.clone(), words: signs, alike };
        match lines.last_mut() {
            // Adjacent nodes are named by the first and the last.
            Some(Line { name, alike: Some((count, state, size)), .. }) if Some((1, *state, *size)) == alike => {
                *count += 1;
                *name = format!("{began} … {}", node.name);
            }
            _ => {
                began = node.name;
                lines.push(line);
            }
        }
    }
    let is_joined = lines.len() > most;
    if is_joined {
        lines = together(lines, language);
    }
    let left_out = lines.len().saturating_sub(most);
    if left_out > 0 {
        let mut weights: Vec<_> = lines.iter().enumerate().map(|(place, line)| (line.weight, place)).collect();
        weights.sort_unstable();
        let shown: std::collections::HashSet<usize> = weights.iter().take(most).map(|(_, place)| *place).collect();
        let mut place = 0..;
        lines.retain(|_| place.next().is_some_and(|place| shown.contains(&place)));
    }
    for line in &mut lines {
        match line.alike {
            Some((count, state, size)) if count > 1 => {
                line.words = format!("{size} × {}", (words(language).state)(state));
            }
            _ => line.alike = None,
        }
    }
    Grid { lines, is_joined, left_out }
}

/// Merges all nodes that ended alike into one row each, wherever they are.
fn together(lines: Vec<Line>, language: Language) -> Vec<Line> {
    let mut rows: Vec<Line> = Vec::new();
    for line in lines {
        let known = line.alike.and_then(|(_, state, size)| {
            let is_like = |row: &&mut Line| row.alike.is_some_and(|(_, other, of)| (other, of) == (state, size));
            rows.iter_mut().find(is_like)
        });
        match (known, line.alike) {
            (Some(Line { name, alike: Some((count, ..)), .. }), Some((more, ..))) => {
                *count += more;
                *name = (words(language).nodes)(*count);
            }
            _ => rows.push(line),
        }
    }
    rows
}

/// `rank 26, gpu-04: ran out of memory, the first, at 19:30:04; 76.82 GiB in use by the process  gpu-04:/logs/rank_26.log:1234`
pub(in crate::report) fn row_words(report: &Report, ranks: &Ranks, row: &RankRow, language: Language) -> String {
    let RankWords { state, first, earlier, .. } = words(language);
    let labels = wording::labels(language);
    let comma = wording::comma(language);
    let node = ranks.node(row).map(|node| format!("{comma}{node}")).unwrap_or_default();
    let first = if ranks.first == Some(row.rank) { format!("{comma}{first}") } else { String::new() };
    let when = match row.seconds_after {
        Some(after) if after <= -1.0 => format!("{comma}{}", earlier(-after)),
        Some(after) if after >= 1.0 => (labels.later)(after),
        Some(_) => {
            let time = ranks.began.as_deref().and_then(|began| began.split_once('T'));
            time.map(|(_, time)| (labels.at)(time)).unwrap_or_default()
        }
        None => String::new(),
    };
    let held = row.bytes.map(|bytes| {
        let figure = ranks.figure_of(row).map(|name| format!(" {}", wording::figure(name, language)));
        format!("{comma}{bytes}{}", figure.unwrap_or_default())
    });
    let path = row.input.and_then(|input| report.inputs.get(input));
    let place = path.map(|input| match row.line {
        Some(line) => format!("  {}:{line}", input.path),
        None => format!("  {}", input.path),
    });
    format!(
        "rank {}{node}{}{}{first}{when}{}{}",
        row.rank,
        wording::colon(language),
        state(row.state),
        held.unwrap_or_default(),
        place.unwrap_or_default()
    )
}

/// How many nodes the ranks ran on; 0 if that is not known of each.
pub(in crate::report) fn known_nodes(ranks: &Ranks) -> usize {
    let all_known = ranks.rows.iter().all(|row| row.node.is_some());
    if all_known { ranks.nodes.len() } else { 0 }
}
