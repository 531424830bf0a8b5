use clap::Args;

use super::error::CliError;
use crate::model::{Ranks, Report};

/// The ranks to show.
#[derive(Debug, Args)]
pub(super) struct RankRows {
    /// Show what is known of this rank alone, in a job of many
    #[arg(long, value_name = "N", conflicts_with_all = ["full", "brief", "compact"])]
    rank: Option<u32>,
    /// Show what is known of the ranks of this node alone
    #[arg(long = "node", value_name = "NAME", conflicts_with_all = ["full", "brief", "compact"])]
    node: Option<String>,
}

impl RankRows {
    /// Whether only some ranks were asked for.
    pub fn is_asked(&self) -> bool {
        self.rank.is_some() || self.node.is_some()
    }

    /// `reports` with only the requested ranks; `None` if all were requested.
    pub fn narrowed(&self, reports: &[Report]) -> Result<Option<Vec<Report>>, CliError> {
        if !self.is_asked() {
            return Ok(None);
        }
        let mut narrowed = reports.to_vec();
        for report in &mut narrowed {
            report.ranks = report.ranks.as_ref().map(|ranks| self.rows(ranks));
        }
        match narrowed.iter().flat_map(|report| &report.ranks).any(|ranks| !ranks.rows.is_empty()) {
            true => Ok(Some(narrowed)),
            false => Err(self.unknown(reports)),
        }
    }

    fn rows(&self, ranks: &Ranks) -> Ranks {
        ranks.narrowed(|row| {
            self.rank.is_none_or(|rank| rank == row.rank)
                && self.node.as_ref().is_none_or(|node| ranks.node(row).is_some_and(|known| **known == **node))
        })
    }

    fn unknown(&self, reports: &[Report]) -> CliError {
        let rank = self.rank.map(|rank| format!("rank {rank}"));
        let node = self.node.as_ref().map(|node| format!("node `{node}`"));
        let asked = rank.into_iter().chain(node).collect::<Vec<_>>().join(" on ");
        let known = || reports.iter().flat_map(|report| &report.ranks);
        let count = known().map(|ranks| ranks.count).sum();
        let nodes = known().flat_map(|ranks| &ranks.nodes).map(|node| node.to_string()).collect();
        CliError::NoRank { asked, count, nodes }
    }
}
