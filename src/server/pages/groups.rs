//! The pages of groups: incidents with one fingerprint, over time.

use maud::{Markup, html};

use super::Viewer;
use super::chart::{Weeks, bars, sparkline, table};
use super::incidents::rows;
use super::layout::{Tab, page};
use super::links::{address, clause};
use super::parts::{IncidentRow, badge, day, empty, group_path, short, state};
use super::words::words;
use crate::history::State;
use crate::model::{Kind, Phase};
use crate::report;

/// A group in a list.
#[derive(Debug, Clone)]
pub struct GroupRow {
    /// Its key.
    pub key: String,
    /// The title of the likeliest cause of its newest incident.
    pub title: String,
    /// What ran out.
    pub kind: Kind,
    /// The phase in which it ran out.
    pub phase: Phase,
    /// How many incidents there are.
    pub count: u64,
    /// When the first one happened, RFC 3339.
    pub first: String,
    /// When the last one did.
    pub last: String,
    /// Counts by week, the oldest first.
    pub weeks: Vec<(String, u64)>,
    /// Open, resolved, or reopened where an incident followed the resolution.
    pub state: State,
    /// Whether its first incident was this week.
    pub is_new: bool,
    /// The change that made it go away.
    pub solved_by: Option<String>,
}

/// Which groups are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupTab {
    /// All of them.
    #[default]
    All,
    /// Groups whose first incident was this week.
    New,
    /// Groups with an incident after they were resolved.
    CameBack,
}

impl GroupTab {
    /// The tab's name in addresses.
    pub fn name(self) -> &'static str {
        match self {
            GroupTab::All => "",
            GroupTab::New => "new",
            GroupTab::CameBack => "came-back",
        }
    }

    /// The tab of that name; all groups for any other.
    pub fn of(name: &str) -> GroupTab {
        [GroupTab::New, GroupTab::CameBack].into_iter().find(|tab| tab.name() == name).unwrap_or_default()
    }
}

/// A page of a list of groups.
#[derive(Debug, Clone, Copy)]
pub struct GroupList<'a> {
    /// Which groups are listed.
    pub tab: GroupTab,
    /// How many groups each tab has.
    pub counts: [u64; 3],
    /// The groups on this page.
    pub groups: &'a [GroupRow],
    /// The cursor of the next page; absent on the last.
    pub next: Option<&'a str>,
}

/// The page of groups.
pub fn groups(viewer: &Viewer<'_>, list: &GroupList<'_>) -> Markup {
    let words = words(viewer.language);
    let tabs = [
        (GroupTab::All, words.all_groups),
        (GroupTab::New, words.new_this_week),
        (GroupTab::CameBack, words.came_back),
    ];
    let content = html! {
        h1 { (words.groups) }
        nav.tabs aria-label=(words.groups) {
            @for ((each, name), count) in tabs.into_iter().zip(list.counts) {
                a href=(address("/groups", &[("show", each.name())])) aria-current=[(each == list.tab).then_some("true")] {
                    (name) " " span.count { (count) }
                }
            }
        }
        @if list.groups.is_empty() { (empty(words.no_groups, html! { (words.no_groups_how) })) } @else {
            div.row.of-groups.head aria-hidden="true" {
                span { (words.what) }
                span { (words.over_time) }
                span.number { (words.seen) }
                span { (words.state) }
                span.number { (words.first_seen) }
                span.number { (words.last_seen) }
            }
            ol.list { @for row in list.groups { (one(viewer, row)) } }
        }
        @if let Some(next) = list.next {
            nav.paging { a.button rel="next" href=(address("/groups", &[("show", list.tab.name()), ("cursor", next)])) { (words.next_page) } }
        }
    };
    page(viewer, Tab::Groups, words.groups, content)
}

fn one(viewer: &Viewer<'_>, row: &GroupRow) -> Markup {
    let words = words(viewer.language);
    html! {
        li.row.of-groups {
            div.what {
                a.title href=(group_path(&row.key)) { (row.title) }
                @if row.is_new { " " span.flag { (words.new_this_week) } }
                p.meta {
                    (badge(row.kind, viewer))
                    span.id { (short(&row.key)) }
                    span { (report::phase_name(row.phase, viewer.language).replace('_', " ")) }
                    @if let Some(change) = &row.solved_by { span { (words.solved_by(change)) } }
                }
            }
            span.drawn { (sparkline(Weeks(&row.weeks), viewer)) }
            span.number.seen { span.hidden { (words.seen) " " } (row.count) "×" }
            span.of-state { (state(row.state, viewer)) }
            span.number.first { span.hidden { (words.first_seen) " " } (day(&row.first)) }
            span.number.time { span.hidden { (words.last_seen) " " } (day(&row.last)) }
        }
    }
}

/// A group with its newest incidents.
#[derive(Debug, Clone)]
pub struct GroupPage<'a> {
    /// The group.
    pub group: &'a GroupRow,
    /// What the incidents have in common: the parts of their fingerprint.
    pub parts: &'a [String],
    /// Its newest incidents.
    pub incidents: Vec<IncidentRow<'a>>,
}

/// The page of a group.
pub fn group(viewer: &Viewer<'_>, shown: &GroupPage<'_>) -> Markup {
    let words = words(viewer.language);
    let GroupPage { group, parts, incidents } = shown;
    let weeks = Weeks(&group.weeks);
    let content = html! {
        p.crumbs { a href="/groups" { (words.groups) } " / " code { (short(&group.key)) } }
        h1 { (group.title) }
        p.badges {
            (state(group.state, viewer)) (badge(group.kind, viewer))
            span { (report::phase_name(group.phase, viewer.language).replace('_', " ")) }
            @if group.is_new { span.flag { (words.new_this_week) } }
            @if let Some(change) = &group.solved_by { span { (words.solved_by(change)) } }
        }
        dl.facts {
            div { dt { (words.seen) } dd { (group.count) "×" } }
            div { dt { (words.first_seen) } dd { (day(&group.first)) } }
            div { dt { (words.last_seen) } dd { (day(&group.last)) } }
            div.wide { dt { (words.grouped_by) } dd { (parts.join(", ")) } }
        }
        h2 { (words.over_time) }
        div.chart {
            (bars(&group.title, weeks, weeks.most(), viewer))
            output.hint aria-live="off" { (words.incidents_a_week) }
        }
        (table(&group.title, &[(words.incidents, weeks)], viewer))
        h2 { (words.occurrences) " " a.more href=(address("/", &[("q", &clause("group", &group.key))])) { (words.all_incidents) } }
        (rows(viewer, incidents))
    };
    page(viewer, Tab::Groups, &group.title, content)
}
