//! The lines of a report about the memory of the whole machine.
//!
//! Mirrors `lib/show_mem.c:show_mem` and `mm/page_alloc.c:show_free_areas` (2.6–6.18).

use nom::bytes::complete::{tag, take_while};
use nom::character::complete::{char, space0, space1, u32 as integer, u64 as long};
use nom::combinator::{consumed, opt, recognize};
use nom::multi::many1;
use nom::sequence::{delimited, pair, preceded, terminated};
use nom::{IResult, Parser};

use super::line::{Detail, labelled, zone_name};
use crate::model::Bytes;
use crate::parse::text::{self, Size};

/// The size of a page, unless the report shows another.
pub(super) const USUAL_PAGE: Bytes = Bytes(4096);

/// `Node 0 Normal free:61900kB boost:8192kB min:61948kB low:… managed:12774792kB …`
#[derive(Debug, Clone, Copy)]
pub(super) struct Zone<'a> {
    pub title: &'a str,
    pub node: Option<u32>,
    pub name: &'a str,
    pub free: Size<'a>,
    /// Below this only the kernel's own emergencies get memory.
    pub min: Option<Size<'a>>,
    pub managed: Bytes,
}

impl Zone<'_> {
    pub fn is_below_minimum(&self) -> bool {
        self.min.is_some_and(|min| self.free.bytes < min.bytes)
    }
}

/// `Node 0 Normal: 6676*4kB (UME) 2120*8kB (UE) … = 62528kB`: free blocks by size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buddies<'a> {
    pub title: &'a str,
    pub node: Option<u32>,
    pub name: &'a str,
    /// The blocks; from the smallest, which is a page.
    blocks: &'a str,
}

impl Buddies<'_> {
    pub fn page(&self) -> Option<Bytes> {
        block(self.blocks).ok()?.1.1.bytes
    }

    /// How many free blocks are at least as large as this many pages.
    pub fn count_from(&self, pages: i64) -> u64 {
        let least = self.page().map(|page| page.0.saturating_mul(pages.into()));
        let blocks = many1(block).parse(self.blocks).map_or(Vec::new(), |(_, blocks)| blocks);
        let large = blocks.iter().filter(|(_, size)| size.bytes.map(|bytes| bytes.0) >= least);
        large.fold(0, |sum, (count, _)| sum.saturating_add(*count))
    }
}

/// `Node 0 hugepages_total=16 hugepages_free=0 hugepages_surp=0 hugepages_size=1048576kB`
#[derive(Debug, Clone, Copy)]
pub(super) struct HugePages<'a> {
    pub words: &'a str,
    pub reserved: Bytes,
    /// The part of `reserved` that is not in use.
    pub unused: Bytes,
}

/// `Free swap  = 84kB`, `Total swap = 25165820kB`
#[derive(Debug, Clone, Copy)]
pub(super) struct Swap<'a> {
    pub is_total: bool,
    pub size: Size<'a>,
}

pub(super) fn read(line: &str) -> Option<Detail<'_>> {
    let line = line.trim_start();
    zone(line)
        .map(Detail::Zone)
        .or_else(|| buddies(line).ok().map(|(_, buddies)| Detail::Buddies(buddies)))
        .or_else(|| huge_pages(line).ok().map(|(_, pages)| Detail::HugePages(pages)))
        .or_else(|| swap(line).ok().map(|(_, swap)| Detail::Swap(swap)))
        .or_else(|| ram(line).ok().map(|(_, (words, pages))| Detail::Ram(words, pages)))
        .or_else(|| is_counters(line).then_some(Detail::Counters(line)))
}

fn zone(line: &str) -> Option<Zone<'_>> {
    let (rest, (title, (node, name))) = consumed(zone_name).parse(line).ok()?;
    let free = labelled(rest.strip_prefix(' ').filter(|rest| rest.starts_with("free:"))?, "free:")?;
    let bytes = |label| labelled(rest, label).and_then(|size| size.bytes);
    let managed = bytes("managed:").or_else(|| bytes("present:")).unwrap_or_default();
    Some(Zone { title, node, name, free, min: labelled(rest, "min:"), managed })
}

fn buddies(line: &str) -> IResult<&str, Buddies<'_>> {
    let (rest, (title, (node, name))) = consumed(zone_name).parse(line)?;
    let (rest, blocks) = preceded(tag(": "), recognize(many1(block))).parse(rest)?;
    Ok((rest, Buddies { title, node, name, blocks }))
}

/// `6676*4kB (UME) `: the number of blocks and their size.
fn block(text: &str) -> IResult<&str, (u64, Size<'_>)> {
    let kinds = delimited(char('('), take_while(|c: char| c.is_ascii_uppercase()), char(')'));
    let size = terminated(text::size, (space0, opt(kinds), space0));
    pair(terminated(long, char('*')), size).parse(text)
}

fn huge_pages(line: &str) -> IResult<&str, HugePages<'_>> {
    let node = opt((tag("Node "), integer, space1));
    let total = preceded(tag("hugepages_total="), long);
    let free = preceded(tag(" hugepages_free="), long);
    let surplus = preceded(tag(" hugepages_surp="), long);
    let size = preceded(tag(" hugepages_size="), text::size);
    let (rest, (words, (_, total, free, _, size))) = consumed((node, total, free, surplus, size)).parse(line)?;
    let bytes = |count| size.bytes.and_then(|size| Bytes::of(count as f64, size)).unwrap_or_default();
    Ok((rest, HugePages { words, reserved: bytes(total), unused: bytes(free) }))
}

fn swap(line: &str) -> IResult<&str, Swap<'_>> {
    let label = nom::branch::alt((tag("Free swap").map(|_| false), tag("Total swap").map(|_| true)));
    let equals = (space0, nom::branch::alt((char('='), char(':'))), space0);
    let (rest, (words, (is_total, _, size))) = consumed((label, equals, text::size)).parse(line)?;
    Ok((rest, Swap { is_total, size: Size { text: words, ..size } }))
}

fn ram(line: &str) -> IResult<&str, (&str, u64)> {
    consumed(terminated(long, tag(" pages RAM"))).parse(line)
}

/// The lines that follow `Mem-Info:`, in an excerpt on the same line.
fn is_counters(line: &str) -> bool {
    let line = line.strip_prefix("Mem-Info:").unwrap_or(line).trim_start();
    const FIRST: [&str; 8] = [
        "active_anon:",
        "active_file:",
        "unevictable:",
        "slab_reclaimable:",
        "mapped:",
        "sec_pagetables:",
        "kernel_misc_reclaimable:",
        "free:",
    ];
    FIRST
        .iter()
        .any(|label| line.strip_prefix(label).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
}

/// Whether node `node` is in a list such as `0-1,3`.
pub(super) fn is_in(list: &str, node: u32) -> bool {
    list.split(',').any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        matches!((first.parse::<u32>(), last.parse::<u32>()), (Ok(first), Ok(last)) if (first..=last).contains(&node))
    })
}

/// Whether memory for `gfp_mask` may come from the zone `name`: `Normal` always, others as the flags say.
pub(super) fn may_come_from(name: &str, gfp_mask: &str) -> bool {
    let asks = |flag| gfp_mask.contains(flag);
    // Without names for the flags nothing is excluded.
    if !asks("GFP") {
        return true;
    }
    match name {
        "Movable" => asks("MOVABLE"),
        "HighMem" => asks("HIGH"),
        "Normal" => !asks("GFP_DMA"),
        "DMA32" => asks("DMA32") || !asks("GFP_DMA"),
        _ => true,
    }
}
