//! Groups: recurrences of the same incident.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Serialize;
use tantivy::DocAddress;

use super::trends::weeks_until;
use super::{CurrentIndex, Live};
use crate::history::index::{IndexError, KEPT, Trouble};
use crate::history::record::moment;
use crate::history::stats::{day_name, monday};
use crate::history::{Cursor, Document, HistoryError, Query};

/// The number of weeks that a group's counts cover, up to the current one.
const WEEKS: usize = 26;

/// The summary of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupSummary {
    /// Its name, as in the query `group:NAME`.
    pub group: String,
    /// How many of its incidents match the query.
    pub count: u64,
    /// When its first incident happened, whether or not that one matches the query, as RFC 3339.
    pub first: String,
    /// When its last incident happened.
    pub last: String,
    /// The matching incidents of each week, named by its Monday, oldest first.
    pub weeks: Vec<(String, u64)>,
    /// Whether anybody still has to look at it.
    pub state: GroupState,
    /// When one of its incidents was last resolved, as RFC 3339.
    pub resolved: Option<String>,
    /// Whether it occurred for the first time this week.
    pub is_new: bool,
    /// Its newest incident.
    pub newest: Document,
}

/// Whether anybody still has to look at a group: the latest verdict on any of its incidents counts, until the next
/// occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupState {
    /// Nobody has resolved it, or somebody reopened it since.
    Open,
    /// It was resolved and has not occurred since.
    Resolved,
    /// It was resolved and has occurred again.
    CameBack,
}

/// Which groups to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum GroupFilter {
    /// All groups.
    #[default]
    All,
    /// Groups that occurred for the first time this week.
    New,
    /// Groups in this state.
    In(GroupState),
}

/// The order of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum GroupOrder {
    /// By the last occurrence, the latest first.
    #[default]
    Last,
    /// By the first occurrence, the latest first.
    First,
    /// By the number of matching incidents, the most first.
    Count,
}

/// A page of groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupPage {
    /// The groups of this page, in the requested order.
    pub groups: Vec<GroupSummary>,
    /// How many groups match the query, whatever the filter.
    pub total: u64,
    /// How many of them are new this week.
    pub new: u64,
    /// How many of them came back after they were resolved.
    pub came_back: u64,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
    /// The generation of the history that the page shows.
    pub generation: u64,
}

type Troubles = HashMap<String, Trouble<DocAddress>>;

impl Live {
    /// A page of the groups with incidents that match `query`: at most `most` (capped at 100) of those after `after`.
    pub fn groups(
        &self,
        query: &Query,
        filter: GroupFilter,
        order: GroupOrder,
        after: Option<&Cursor>,
        most: usize,
    ) -> Result<Arc<GroupPage>, HistoryError> {
        let current = self.current();
        let most = most.min(KEPT);
        let today = jiff::Timestamp::now().as_second();
        let after = match after {
            None => None,
            Some(Cursor::Group { key, group }) => Some((Reverse(*key), group.clone())),
            Some(other) => return Err(HistoryError::Cursor { cursor: other.to_string() }),
        };
        let question = format!("groups {filter:?} {order:?} {after:?} {most} {} {query:?}", monday(today));
        self.ask(&current, question, || {
            // A group's state and first occurrence depend on all of its incidents, not only on those that match.
            let all = self.troubles(&current, &Query::default())?;
            let found = self.troubles(&current, query)?;
            let week = monday(today);
            let is_new = |of: &Trouble<DocAddress>| monday(of.first) == week;
            let (mut new, mut came_back, mut total) = (0, 0, 0);
            let mut wanted = Vec::new();
            for (group, trouble) in &*found {
                let Some(of) = all.get(group) else { continue };
                let state = state(of);
                total += 1;
                new += u64::from(is_new(of));
                came_back += u64::from(state == GroupState::CameBack);
                let is_wanted = match filter {
                    GroupFilter::All => true,
                    GroupFilter::New => is_new(of),
                    GroupFilter::In(wanted) => state == wanted,
                };
                let key = match order {
                    GroupOrder::Last => of.last.time,
                    GroupOrder::First => of.first,
                    GroupOrder::Count => trouble.count as i64,
                };
                let is_behind = || after.as_ref().is_none_or(|(k, name)| (&Reverse(key), group) > (k, name));
                if is_wanted && is_behind() {
                    wanted.push((Reverse(key), group, trouble.count, of));
                }
            }
            wanted.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
            let is_more = wanted.len() > most;
            wanted.truncate(most);
            let last = wanted.last().filter(|_| is_more);
            let next = last.map(|(key, group, ..)| Cursor::Group { key: key.0, group: (*group).clone() });
            let mut groups = Vec::new();
            for (_, group, count, of) in wanted {
                groups.push(GroupSummary {
                    group: group.clone(),
                    count,
                    first: moment(of.first),
                    last: moment(of.last.time),
                    weeks: self.weeks(&current, query, group, week)?,
                    state: state(of),
                    resolved: of.resolved.map(moment),
                    is_new: is_new(of),
                    newest: current.reader.document(of.newest)?,
                });
            }
            Ok(GroupPage { groups, total, new, came_back, next, generation: current.generation })
        })
    }

    fn troubles(&self, current: &CurrentIndex, query: &Query) -> Result<Arc<Troubles>, IndexError> {
        let find = || current.reader.troubles(query, &self.segments);
        match *query == Query::default() {
            // Every page needs this answer; the others are as many as there are queries.
            true => self.answers.ask(current.generation, "troubles".to_owned(), find),
            false => Ok(Arc::new(find()?)),
        }
    }

    /// How many incidents of `group` match the query in each of the last weeks.
    fn weeks(
        &self,
        current: &CurrentIndex,
        query: &Query,
        group: &str,
        week: i64,
    ) -> Result<Vec<(String, u64)>, IndexError> {
        let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
        for page in current.reader.pages(&query.in_group(group), &[], &self.segments)? {
            page.counts.weeks.iter().for_each(|(week, count)| *counts.entry(*week).or_default() += count);
        }
        let count = |week: i64| counts.get(&week).copied().unwrap_or(0);
        Ok(weeks_until(week, WEEKS).filter_map(|week| Some((day_name(week)?, count(week)))).collect())
    }
}

fn state<P>(of: &Trouble<P>) -> GroupState {
    match of.resolved {
        Some(resolved) if of.reopened.is_none_or(|reopened| reopened < resolved) => match of.last.time > resolved {
            true => GroupState::CameBack,
            false => GroupState::Resolved,
        },
        _ => GroupState::Open,
    }
}
