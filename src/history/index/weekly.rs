//! What a query finds in one segment, by week and by the value of a column.

use std::collections::{BTreeMap, HashMap};

use tantivy::SegmentReader;
use tantivy::query::Weight;

use super::newest::times;
use super::tally::each_block;
use crate::history::stats::monday;

/// Numbers of incidents by a column's word, then by the first day of the week, counted from 1970.
pub(in crate::history) type Weekly = BTreeMap<String, BTreeMap<i64, u64>>;

/// Counts the matches of `weight` in `segment` by the words of `column`, in the weeks that begin within `days`.
pub(super) fn weekly_of(
    weight: &dyn Weight,
    segment: &SegmentReader,
    column: &str,
    days: std::ops::RangeInclusive<i64>,
) -> tantivy::Result<Weekly> {
    let Some(words) = segment.fast_fields().str(column)? else { return Ok(Weekly::new()) };
    let (ordinals, times) = (words.ords().clone().first_or_default_col(u64::MAX), times(segment)?);
    let mut counts: HashMap<(u64, i64), u64> = HashMap::new();
    let (mut met, mut when) = (Vec::new(), Vec::new());
    each_block(weight, segment, |documents| {
        met.resize(documents.len(), 0);
        when.resize(documents.len(), 0);
        times.get_vals(documents, &mut when);
        ordinals.get_vals(documents, &mut met);
        for (word, time) in met.iter().zip(&when) {
            let week = monday(*time);
            if days.contains(&week) {
                *counts.entry((*word, week)).or_default() += 1;
            }
        }
    })?;
    let mut weekly = Weekly::new();
    for ((word, week), count) in counts {
        let mut name = String::new();
        if word != u64::MAX && words.ord_to_str(word, &mut name)? {
            *weekly.entry(name).or_default().entry(week).or_default() += count;
        }
    }
    Ok(weekly)
}
