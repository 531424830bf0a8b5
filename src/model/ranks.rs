use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Bytes, FigureName, LineNumber};

/// Every rank of a large job: how it ended and what it held.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Ranks {
    /// How many ranks are known; `rows` may have fewer.
    pub count: usize,
    /// The one with which it began, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u32>,
    /// When the first end was, by the clock that tells of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// How many ranks ended in which way, of all that are known.
    pub states: Vec<StateCount>,
    /// What the `bytes` of a row measure that names no figure of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<FigureName>,
    /// The nodes, which rows name by their place here.
    pub nodes: Vec<Arc<str>>,
    /// The ranks in order; of more than [`Ranks::MOST`] those that tell most.
    pub rows: Vec<RankRow>,
    /// Ranks that held far more than the others, most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<Outlier>,
}

/// One rank. What is absent is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RankRow {
    /// Global rank.
    pub rank: u32,
    /// Its node: a place in `nodes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// How it ended.
    pub state: RankState,
    /// What it held at its end, by the last figure of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// What that measures, where it is not the figure of most ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<FigureName>,
    /// Seconds from the first end to its own; of one that says nothing of its end, to its last line: negative before the first end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_after: Option<f64>,
    /// The input with the line that says how it ended: a place in the report's `inputs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<usize>,
    /// That line; of one that says nothing of its end its last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineNumber>,
}

/// How many ranks ended in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StateCount {
    /// In which.
    pub state: RankState,
    /// How many.
    pub count: usize,
}

/// How a rank ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RankState {
    /// It was refused memory, or killed for want of it.
    RanOut,
    /// It was killed or gone, and nothing says why.
    Killed,
    /// Something else failed in it.
    Failed,
    /// Nothing says how it ended.
    Silent,
    /// It ended because others did: a collective that did not end, a lost peer, the launcher.
    Followed,
    /// As it should.
    Finished,
}

impl RankState {
    /// All, the most telling first.
    pub const ALL: [RankState; 6] = [
        RankState::RanOut,
        RankState::Killed,
        RankState::Failed,
        RankState::Silent,
        RankState::Followed,
        RankState::Finished,
    ];
}

/// One rank, or all of one node, that held far more than the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Outlier {
    /// Which.
    pub ranks: Vec<u32>,
    /// The node that they are all of, where they are all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Arc<str>>,
    /// What is compared.
    pub figure: FigureName,
    /// What it held; of several the median.
    pub bytes: Bytes,
    /// What the median of all ranks held.
    pub median: Bytes,
    /// `rank 1717 held 11.00 GiB more than the median`, in the report's language.
    pub words: String,
}

impl Ranks {
    /// A job of fewer ranks needs no grid.
    pub const FEWEST: usize = 8;
    /// More rows than these are counted.
    pub const MOST: usize = 1 << 14;

    /// How the first rank ended, and which it is.
    pub fn first_row(&self) -> Option<&RankRow> {
        self.row(self.first?)
    }

    /// What is known of a rank.
    pub fn row(&self, rank: u32) -> Option<&RankRow> {
        let place = self.rows.binary_search_by_key(&rank, |row| row.rank).ok()?;
        self.rows.get(place)
    }

    /// The node of a row.
    pub fn node(&self, row: &RankRow) -> Option<&Arc<str>> {
        self.nodes.get(row.node?)
    }

    /// What the bytes of a row measure.
    pub fn figure_of(&self, row: &RankRow) -> Option<FigureName> {
        row.figure.or(self.figure)
    }

    /// The rows for which `is_wanted` holds, and the outliers among them; what counts all ranks stays.
    pub fn narrowed(&self, is_wanted: impl Fn(&RankRow) -> bool) -> Ranks {
        let rows: Vec<RankRow> = self.rows.iter().filter(|row| is_wanted(row)).cloned().collect();
        let is_there = |rank: &u32| rows.binary_search_by_key(rank, |row| row.rank).is_ok();
        let outliers = self.outliers.iter().filter(|outlier| outlier.ranks.iter().any(is_there)).cloned().collect();
        Ranks { rows, outliers, ..self.clone() }
    }
}
