//! Groups: the same trouble, again and again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Serialize;
use tantivy::DocAddress;

use super::trends::weeks_until;
use super::{Live, Now};
use crate::history::index::{IndexError, KEPT, Trouble};
use crate::history::record::moment;
use crate::history::stats::{day_name, monday};
use crate::history::{Cursor, Document, HistoryError, Query};

/// So many weeks of a group are counted, up to this one.
const WEEKS: usize = 26;

/// A group's incidents, in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupSummary {
    /// Its name, as `group:` asks for it.
    pub group: String,
    /// How many incidents the query finds in it.
    pub count: u64,
    /// When the trouble came up first, RFC 3339, whatever the query.
    pub first: String,
    /// When it came up last.
    pub last: String,
    /// How many the query finds in each week, named by its Monday, the oldest first.
    pub weeks: Vec<(String, u64)>,
    /// Whether anybody still has to look at it.
    pub state: GroupState,
    /// When one of its incidents was resolved last, RFC 3339.
    pub resolved: Option<String>,
    /// Whether it came up this week for the first time.
    pub is_new: bool,
    /// Its newest incident.
    pub newest: Document,
}

/// Whether anybody still has to look at a group. What was said last of any of its incidents counts, until it happens again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupState {
    /// Nobody said that it is resolved, or somebody said since that it is not.
    Open,
    /// It was resolved, and did not come up since.
    Resolved,
    /// It was resolved, and came up again.
    CameBack,
}

/// Which groups to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum GroupFilter {
    /// All.
    #[default]
    All,
    /// Those that came up this week for the first time.
    New,
    /// Those in this state.
    In(GroupState),
}

/// Which group stands first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum GroupOrder {
    /// The one that came up last.
    #[default]
    Last,
    /// The one that came up for the first time last.
    First,
    /// The one of which the query finds most.
    Count,
}

/// A page of groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupPage {
    /// In order.
    pub groups: Vec<GroupSummary>,
    /// How many the query finds, whatever their state.
    pub total: u64,
    /// How many of them are new this week.
    pub new: u64,
    /// How many came back.
    pub came_back: u64,
    /// Where the next page begins, where there is one.
    pub next: Option<Cursor>,
    /// Which state of the history was asked.
    pub generation: u64,
}

type Troubles = HashMap<String, Trouble<DocAddress>>;

impl Live {
    /// A page of the groups that have incidents for which `query` asks: at most `most` (100 are the most) of those behind `after`.
    pub fn groups(
        &self,
        query: &Query,
        filter: GroupFilter,
        order: GroupOrder,
        after: Option<&Cursor>,
        most: usize,
    ) -> Result<Arc<GroupPage>, HistoryError> {
        let now = self.now();
        let most = most.min(KEPT);
        let today = jiff::Timestamp::now().as_second();
        let after = match after {
            None => None,
            Some(Cursor::Group { key, group }) => Some((Reverse(*key), group.clone())),
            Some(other) => return Err(HistoryError::Cursor { cursor: other.to_string() }),
        };
        let question = format!("groups {filter:?} {order:?} {after:?} {most} {} {query:?}", monday(today));
        self.ask(&now, question, || {
            // What a group is follows from all of its incidents, whatever the query finds.
            let all = self.troubles(&now, &Query::default())?;
            let found = self.troubles(&now, query)?;
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
                    weeks: self.weeks(&now, query, group, week)?,
                    state: state(of),
                    resolved: of.resolved.map(moment),
                    is_new: is_new(of),
                    newest: now.reader.document(of.newest)?,
                });
            }
            Ok(GroupPage { groups, total, new, came_back, next, generation: now.generation })
        })
    }

    fn troubles(&self, now: &Now, query: &Query) -> Result<Arc<Troubles>, IndexError> {
        let find = || now.reader.troubles(query, &self.segments);
        match *query == Query::default() {
            // Every page asks for all of them, and there are as many of others as people think of.
            true => self.answers.ask(now.generation, "troubles".to_owned(), find),
            false => Ok(Arc::new(find()?)),
        }
    }

    /// How many of `group` the query finds in each of the last weeks.
    fn weeks(&self, now: &Now, query: &Query, group: &str, week: i64) -> Result<Vec<(String, u64)>, IndexError> {
        let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
        for page in now.reader.pages(&query.in_group(group), &[], &self.segments)? {
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
