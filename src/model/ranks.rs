use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Bytes, FigureName, LineNumber};

/// Every rank of a large job: how it ended and what it held.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Ranks {
    /// Number of known ranks; `rows` may have fewer.
    pub count: usize,
    /// The rank that failed first, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u32>,
    /// The time of the first end, by a clock that is common to all ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
    /// The number of ranks per state, over all known ranks.
    pub states: Vec<StateCount>,
    /// What the `bytes` of a row measure if the row does not name its own figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<FigureName>,
    /// The nodes; rows refer to them by index.
    pub nodes: Vec<Arc<str>>,
    /// The ranks in order; if there are more than [`Ranks::MOST`], those that say most.
    pub rows: Vec<RankRow>,
    /// Ranks that held far more than the others, largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<Outlier>,
}

/// One rank. A field is absent if it is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RankRow {
    /// Global rank.
    pub rank: u32,
    /// Index of its node in `nodes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// How it ended.
    pub state: RankState,
    /// The memory that it held at its end, by the last figure that it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// What `bytes` measures, if it is not the figure of most ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<FigureName>,
    /// Seconds from the first end in the job to its own end. If the rank prints nothing about its end, seconds to its last line: negative
    /// if that is before the first end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_after: Option<f64>,
    /// The input with the line that says how it ended, as an index in the report's `inputs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<usize>,
    /// That line; the last line of a rank that prints nothing about its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineNumber>,
}

/// How many ranks ended in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StateCount {
    /// The way in which they ended.
    pub state: RankState,
    /// Number of ranks.
    pub count: usize,
}

/// How a rank ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RankState {
    /// It was refused memory, or killed because memory was short.
    RanOut,
    /// It was killed or disappeared, and nothing says why.
    Killed,
    /// It failed of something other than memory.
    Failed,
    /// Nothing says how it ended.
    Silent,
    /// It ended because others did: a collective that did not end, a lost peer, the launcher.
    Followed,
    /// It ended normally.
    Finished,
}

impl RankState {
    /// All states, the ones that explain most first.
    pub const ALL: [RankState; 6] = [
        RankState::RanOut,
        RankState::Killed,
        RankState::Failed,
        RankState::Silent,
        RankState::Followed,
        RankState::Finished,
    ];
}

/// One rank, or all ranks of one node, that held far more than the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Outlier {
    /// The ranks.
    pub ranks: Vec<u32>,
    /// Their node, if they are all ranks of one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Arc<str>>,
    /// The figure that was compared.
    pub figure: FigureName,
    /// The amount that the rank held; the median, if there are several ranks.
    pub bytes: Bytes,
    /// The median of all ranks.
    pub median: Bytes,
    /// `rank 1717 held 11.00 GiB more than the median`, in the report's language.
    pub words: String,
}

impl Ranks {
    /// Jobs with fewer ranks get no grid.
    pub const FEWEST: usize = 8;
    /// At most this many rows are kept; further ranks are only counted.
    pub const MOST: usize = 1 << 14;

    /// The row of the rank that failed first.
    pub fn first_row(&self) -> Option<&RankRow> {
        self.row(self.first?)
    }

    /// The row of a rank.
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

    /// The rows for which `is_wanted` holds, and the outliers among them; the counts stay those of all ranks.
    pub fn narrowed(&self, is_wanted: impl Fn(&RankRow) -> bool) -> Ranks {
        let rows: Vec<RankRow> = self.rows.iter().filter(|row| is_wanted(row)).cloned().collect();
        let is_there = |rank: &u32| rows.binary_search_by_key(rank, |row| row.rank).is_ok();
        let outliers = self.outliers.iter().filter(|outlier| outlier.ranks.iter().any(is_there)).cloned().collect();
        Ranks { rows, outliers, ..self.clone() }
    }
}
