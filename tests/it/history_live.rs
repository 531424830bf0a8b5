//! The index that a server holds open agrees with the store after any change, and its pages follow one another without
//! gaps.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;

use oomdoc::internal::history::{
    self, Cursor, FixFilter, FoundPage, GroupFilter, GroupOrder, GroupState, Live, Order, Outcome, Query, TrendBy,
    Verdict,
};
use oomdoc::internal::store::DiskStore;
use proptest::prelude::*;

use crate::support::history_steps::{Step, make, query, record, step};
use crate::support::home::HANGS;

type Done = Result<(), Box<dyn Error>>;
type Facets = BTreeMap<String, BTreeMap<String, usize>>;

fn open(home: &std::path::Path) -> Result<DiskStore, Box<dyn Error>> {
    Ok(history::drain(home, HANGS)?)
}

/// The incidents of all pages of an answer, with total and facets.
fn all(live: &Live, words: &str, order: Order, most: usize) -> Result<(Vec<String>, u64, Facets), Box<dyn Error>> {
    let query: Query = words.parse()?;
    let (mut ids, mut after): (Vec<String>, Option<Cursor>) = (Vec::new(), None);
    loop {
        let found = live.search(&query, order, after.as_ref(), most)?;
        ids.extend(found.incidents.iter().map(|document| document.id.clone()));
        match &found.next {
            Some(next) => after = Some(next.to_string().parse()?),
            None => return Ok((ids, found.total, facets(&found))),
        }
    }
}

fn facets(found: &FoundPage) -> Facets {
    let mut facets = Facets::new();
    for facet in found.facets.iter().filter(|facet| !facet.values.is_empty()) {
        let values = facet.values.iter().map(|value| (value.value.clone(), value.count as usize));
        facets.insert(facet.name.to_owned(), values.collect());
    }
    facets
}

/// Builds a history by `steps`, updates the index now and then, and puts `queries` to it.
fn check(steps: &[Step], queries: &[String]) -> Done {
    let home = tempfile::tempdir()?;
    let mut store = open(home.path())?;
    let live = Live::open(&store)?;
    let mut generation = live.generation();
    for step in steps {
        make(&mut store, step)?;
        if matches!(step, Step::Publish) {
            let is_new = live.follow(&store)?;
            assert_eq!(live.generation() > generation, is_new);
            generation = live.generation();
            // Asked now to fill the caches, which must not answer later queries.
            all(&live, "memory", Order::Time, 3)?;
            live.groups(&Query::default(), GroupFilter::All, GroupOrder::Last, None, 3)?;
        }
    }
    live.follow(&store)?;
    assert!(!live.follow(&store)?, "there is nothing new");
    for words in queries {
        let page = history::search(&store, &words.parse()?, Order::Time, 0, usize::MAX)?;
        let ids: Vec<String> = page.incidents.iter().map(|document| document.id.clone()).collect();
        let mut wanted = Facets::new();
        for (name, values) in page.facets.iter().filter(|(name, _)| **name != "host") {
            wanted.insert(name.to_string(), values.clone());
        }
        assert_eq!(all(&live, words, Order::Time, 2)?, (ids.clone(), page.total as u64, wanted), "{words}");
        let mut best = all(&live, words, Order::Relevance, 3)?.0;
        best.sort();
        let mut ids = ids;
        ids.sort();
        assert_eq!(best, ids, "{words}");
        assert_eq!(*live.stats(&words.parse()?)?, history::stats(&store, &words.parse()?)?, "{words}");
        let groups = live.groups(&words.parse()?, GroupFilter::All, GroupOrder::Count, None, 100)?;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for document in &page.incidents {
            *counts.entry(document.group.clone()).or_default() += 1;
        }
        let found: BTreeMap<String, u64> =
            groups.groups.iter().map(|group| (group.group.clone(), group.count)).collect();
        assert_eq!(found, counts, "{words}");
        for by in [TrendBy::Cause, TrendBy::Cluster, TrendBy::Model, TrendBy::Kind] {
            let trend = live.trends(&words.parse()?, by, 104, 1)?;
            let of = trend.series.iter().map(|series| &series.counts).chain([&trend.others]).flatten().sum::<u64>();
            let recent = |document: &&history::Document| trend.weeks.first().is_some_and(|week| document.time >= *week);
            let recent = page.incidents.iter().filter(recent).count();
            assert!(of <= recent as u64, "{words}");
        }
    }
    if let Ok(one) = history::find(&store, &record(3, &[])?.incident.id) {
        assert_eq!(*live.similar(&one, 5)?, history::similar(&store, &one, 5)?);
    }
    assert_eq!(live.fixes(&FixFilter::default()), history::fixes(&store, &FixFilter::default())?);
    drop((live, store));
    // The next process finds an index that is up to date.
    let answer = history::ask_stats(home.path(), &Query::default())?;
    assert!(answer.without_index.is_none(), "{:?}", answer.without_index);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn what_is_held_open_says_what_the_store_says(
        steps in proptest::collection::vec(step(), 1..24),
        queries in proptest::collection::vec(query(), 8),
    ) {
        let done = check(&steps, &queries);
        prop_assert!(done.is_ok(), "{:?}", done.err());
    }
}

#[test]
fn pages_stay_what_they_are_while_incidents_are_added() -> Done {
    let home = tempfile::tempdir()?;
    let mut store = open(home.path())?;
    let some = |numbers: std::ops::Range<u64>| {
        numbers.map(|number| record(number, &["memory"])).collect::<Result<Vec<_>, _>>()
    };
    history::add(&mut store, &some(0..150)?)?;
    let live = Live::open(&store)?;
    let query: Query = "memory".parse()?;
    let before = all(&live, "memory", Order::Time, 100)?.0;
    let (mut seen, mut after, mut next) = (Vec::new(), None, 150);
    loop {
        let found = live.search(&query, Order::Time, after.as_ref(), 7)?;
        seen.extend(found.incidents.iter().map(|document| document.id.clone()));
        let Some(cursor) = found.next.clone() else { break };
        after = Some(cursor);
        history::add(&mut store, &some(next..next + 5)?)?;
        assert!(live.follow(&store)?);
        next += 5;
    }
    // No incident is shown twice, and all those that existed at the beginning are shown in their order.
    let known: Vec<&String> = seen.iter().filter(|id| before.contains(id)).collect();
    assert_eq!(known, before.iter().collect::<Vec<_>>());
    let mut once = seen.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), seen.len());
    // A cursor of a list in another order is refused.
    let best = Cursor::Best { generation: 1, skip: 3 };
    assert!(live.search(&query, Order::Time, Some(&best), 7).is_err());
    let page = live.search(&query, Order::Relevance, None, 7)?;
    assert!(!page.has_shifted);
    history::add(&mut store, &some(900..901)?)?;
    live.follow(&store)?;
    assert!(live.search(&query, Order::Relevance, page.next.as_ref(), 7)?.has_shifted);
    Ok(())
}

#[test]
fn a_group_that_was_resolved_comes_back() -> Done {
    let home = tempfile::tempdir()?;
    let mut store = open(home.path())?;
    let mut first = record(1, &["memory"])?;
    first.time = "2026-05-04T10:00:00Z".to_owned();
    history::add(&mut store, std::slice::from_ref(&first))?;
    let live = Live::open(&store)?;
    let group = || -> Result<_, Box<dyn Error>> {
        let page = live.groups(&Query::default(), GroupFilter::All, GroupOrder::Last, None, 10)?;
        Ok(page.groups.first().map(|group| (group.state, group.count)).ok_or("no group")?)
    };
    assert_eq!(group()?, (GroupState::Open, 1));
    let mut say = |resolved: bool, time: &str| -> Done {
        let mut one = history::find(&store, &first.incident.id)?;
        one.annotations.verdict = Some(Verdict { resolved, by: None, time: time.to_owned() });
        history::annotate(&mut store, &one)?;
        live.follow(&store)?;
        Ok(())
    };
    say(true, "2026-05-05T10:00:00Z")?;
    assert_eq!(group()?, (GroupState::Resolved, 1));
    say(false, "2026-05-06T10:00:00Z")?;
    assert_eq!(group()?, (GroupState::Open, 1));
    say(true, "2026-05-07T10:00:00Z")?;
    let mut second = first.clone();
    second.incident.id = "00000000000000ff".to_owned();
    second.time = "2026-06-01T10:00:00Z".to_owned();
    history::add(&mut store, &[second])?;
    live.follow(&store)?;
    assert_eq!(group()?, (GroupState::CameBack, 2));
    let page = live.groups(&Query::default(), GroupFilter::In(GroupState::CameBack), GroupOrder::Count, None, 10)?;
    assert_eq!((page.total, page.came_back, page.groups.len()), (1, 1, 1));
    assert_eq!(page.groups[0].newest.id, "00000000000000ff");
    // A change that worked resolves the incident again.
    let one = history::find(&store, "00000000000000ff")?;
    history::resolve(&mut store, &Outcome::of_knob(&one, "--zero_stage=3", true))?;
    live.follow(&store)?;
    assert_eq!(group()?, (GroupState::Resolved, 2));
    let fixes = live.fixes(&FixFilter { group: Some(one.group()), ..FixFilter::default() });
    assert_eq!(fixes.iter().map(|fix| (fix.change.as_str(), fix.worked)).collect::<Vec<_>>(), [("--zero_stage=3", 1)]);
    assert!(live.fixes(&FixFilter { group: Some("other".to_owned()), ..FixFilter::default() }).is_empty());
    Ok(())
}

#[test]
fn a_damaged_index_is_made_anew_while_it_is_held_open() -> Done {
    let home = tempfile::tempdir()?;
    let mut store = open(home.path())?;
    let records: Result<Vec<_>, _> = (0..40).map(|number| record(number, &["memory"])).collect();
    history::add(&mut store, &records?)?;
    let live = Live::open(&store)?;
    for entry in fs::read_dir(home.path().join("index"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            fs::write(&path, "{}")?;
        }
    }
    history::add(&mut store, &[record(40, &["memory"])?])?;
    live.follow(&store)?;
    assert_eq!(live.search(&"memory".parse()?, Order::Time, None, 5)?.total, 41);
    history::add(&mut store, &[record(41, &["memory"])?])?;
    assert!(live.follow(&store)?);
    assert_eq!(live.search(&"memory".parse()?, Order::Time, None, 5)?.total, 42);
    Ok(())
}

#[test]
fn many_ask_while_one_follows() -> Done {
    let home = tempfile::tempdir()?;
    let mut store = open(home.path())?;
    let live = Live::open(&store)?;
    std::thread::scope(|scope| -> Done {
        let askers: Vec<_> = (0..4)
            .map(|asker| {
                let live = &live;
                scope.spawn(move || {
                    let mut last = 0;
                    while last < 60 {
                        let words = ["", "memory", "is:open", "pinned"][asker];
                        let Ok(query) = words.parse::<Query>() else { return false };
                        match live.search(&query, Order::Relevance, None, 5) {
                            Ok(found) if found.total >= last => last = found.total,
                            _ => return false,
                        }
                    }
                    true
                })
            })
            .collect();
        for number in 0..60 {
            history::add(&mut store, &[record(number, &["pinned", "memory"])?])?;
            live.follow(&store)?;
        }
        assert!(askers.into_iter().all(|asker| asker.join().unwrap_or(false)));
        Ok(())
    })
}
