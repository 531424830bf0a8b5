//! Adds the lines around those that prove a report, for readers without the log. They are read again from the files,
//! since an analysis keeps only the lines that it cites.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::ops::RangeInclusive;
use std::sync::Arc;

use memchr::{memchr, memchr_iter, memmem};

use crate::model::{Citation, Column, LineNumber, Location, Report};
use crate::source::{Input, Places};

/// The number of lines before and after a cited line.
pub(super) const BESIDE: u64 = 2;
/// Further lines that are read only to find secrets that continue over several lines; they are not shown.
const MARGIN: u64 = 1;
/// The most citations of each kind that get context.
const CITES: usize = 50;
/// The end of the part of an input that is read again, in bytes, so that it does not take long.
const FARTHEST: u64 = 256 << 20;
/// The length in bytes at which a line is cut.
const LONGEST: usize = 400;
/// The most bytes of a line that are compared with its citation.
const COMPARED: usize = 64 << 10;
/// More lines than a private key has.
const LONGEST_KEY: u64 = 128;

/// Adds context lines to `report`. Standard input, pipes and files that have changed get none.
pub fn neighbours(report: &mut Report, paths: &[String], places: Places<'_>) {
    let cites = proof(report).flat_map(|cites| cites.iter().filter(|cite| cite.location.is_line()).take(CITES));
    report.neighbours = beside_all(cites, paths, places, "");
}

/// The lines around `cites` in what `paths` name in `places`; `prefix` stands before each path in citations.
pub fn beside_all<'c>(
    cites: impl Iterator<Item = &'c Citation>,
    paths: &[String],
    places: Places<'_>,
    prefix: &str,
) -> Vec<Citation> {
    let mut wanted: BTreeMap<Arc<str>, Vec<&Citation>> = BTreeMap::new();
    for cite in cites {
        if let Some(path) = cite.location.path.strip_prefix(prefix) {
            wanted.entry(path.into()).or_default().push(cite);
        }
    }
    let mut found = BTreeSet::new();
    // Nobody lists a bucket again for nothing.
    let files = if wanted.is_empty() { Vec::new() } else { places.walk(paths).0 };
    for file in files {
        let holds =
            |path: &Arc<str>| path.strip_prefix(&file).is_some_and(|rest| rest.is_empty() || rest.starts_with('!'));
        // Opening a pipe a second time would block.
        let is_there = || places.is_elsewhere(&file) || fs::metadata(&file).is_ok_and(|metadata| metadata.is_file());
        if !wanted.keys().any(holds) || !is_there() {
            continue;
        }
        let Ok(input) = places.open(&file) else { continue };
        input.expand(&mut |input| {
            if let Some(cites) = wanted.remove(&input.path) {
                found.extend(beside(input, &cites));
            }
            wanted.keys().any(holds)
        });
    }
    let told = |mut line: Citation| {
        line.location.path = format!("{prefix}{}", line.location.path).into();
        line
    };
    if prefix.is_empty() { found.into_iter().collect() } else { found.into_iter().map(told).collect() }
}

/// Drops the lines that were read only to find secrets.
pub(super) fn narrow(report: &mut Report) {
    report.neighbours = beside_proof(&report.neighbours, report);
}

/// The `lines` near a citation that proves `report`.
pub fn beside_proof(lines: &[Citation], report: &Report) -> Vec<Citation> {
    let cited: BTreeSet<(&str, u64)> = proof(report)
        .flatten()
        .flat_map(|Citation { location, .. }| around(location.line.0, BESIDE).map(|line| (&*location.path, line)))
        .collect();
    let is_beside = |line: &&Citation| cited.contains(&(&*line.location.path, line.location.line.0));
    lines.iter().filter(is_beside).cloned().collect()
}

/// The numbers of the lines up to `far` before and after `line`, including it.
fn around(line: u64, far: u64) -> RangeInclusive<u64> {
    line.saturating_sub(far).max(1)..=line.saturating_add(far)
}

/// The citations that prove a report, without those of its diagnoses.
fn proof(report: &Report) -> impl Iterator<Item = &Vec<Citation>> {
    let root = report.incidents.first().into_iter().flat_map(|incident| [&incident.phase.evidence, &incident.evidence]);
    root.chain(report.other_failure.iter().map(|failure| &failure.evidence))
}

/// The lines around `cites`, all of one input. Citations whose line has changed are skipped.
fn beside(input: Input<'_>, cites: &[&Citation]) -> Vec<Citation> {
    let path = input.path.clone();
    let lines: BTreeSet<u64> = cites.iter().map(|cite| cite.location.line.0).collect();
    let around = |line: u64| around(line, BESIDE + MARGIN);
    let near: BTreeSet<u64> = lines.iter().flat_map(|line| around(*line)).collect();
    let read = read(input, &near);
    let is_there = |cite: &&Citation| {
        read.get(&cite.location.line.0).is_some_and(|line| String::from_utf8_lossy(line).contains(&cite.text))
    };
    let still: BTreeSet<u64> =
        cites.iter().filter(|cite| is_there(cite)).flat_map(|cite| around(cite.location.line.0)).collect();
    let cite = |(number, line): (u64, Vec<u8>)| {
        let mut text = String::from_utf8_lossy(&line).trim_end().to_owned();
        text.truncate(text.floor_char_boundary(LONGEST));
        let location = Location { path: path.clone(), line: LineNumber(number), column: Column(1) };
        Citation::new(location, text)
    };
    read.into_iter().filter(|(number, _)| still.contains(number)).map(cite).collect()
}

/// The beginnings of the lines with the numbers `near`. Lines within private keys are left out, since a single one
/// cannot be recognised as secret.
fn read(input: Input<'_>, near: &BTreeSet<u64>) -> BTreeMap<u64, Vec<u8>> {
    let mut found = BTreeMap::new();
    let (Some(first), Some(last)) = (near.first(), near.last()) else { return found };
    let from = first.saturating_sub(LONGEST_KEY);
    let mut bytes = BufReader::with_capacity(1 << 20, input.take(FARTHEST));
    let (mut number, mut line, mut is_key) = (1, Vec::new(), false);
    // The analysis has already reported read errors.
    while let Ok(block) = bytes.fill_buf() {
        if block.is_empty() || number > *last {
            break;
        }
        let ahead = memchr_iter(b'\n', block).count() as u64;
        if line.is_empty() && number + ahead < from {
            number += ahead;
            let read = block.len();
            bytes.consume(read);
            continue;
        }
        let end = memchr(b'\n', block);
        let part = &block[..end.unwrap_or(block.len())];
        line.extend(&part[..part.len().min(COMPARED.saturating_sub(line.len()))]);
        let read = part.len() + usize::from(end.is_some());
        bytes.consume(read);
        if end.is_some() {
            keep(&mut found, near, number, &mut line, &mut is_key);
            number += 1;
        }
    }
    keep(&mut found, near, number, &mut line, &mut is_key);
    found
}

/// Finishes `line`: stores it if it is wanted and not part of a private key.
fn keep(found: &mut BTreeMap<u64, Vec<u8>>, near: &BTreeSet<u64>, number: u64, line: &mut Vec<u8>, is_key: &mut bool) {
    let ends = memmem::find(line, b"PRIVATE KEY-----").is_some() && memmem::find(line, b"-----END ").is_some();
    let begins = memmem::find(line, b"PRIVATE KEY-----").is_some() && !ends;
    *is_key |= begins;
    if near.contains(&number) && !*is_key && !line.is_empty() {
        found.insert(number, std::mem::take(line));
    }
    *is_key &= !ends;
    line.clear();
}
