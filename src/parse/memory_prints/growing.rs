//! An amount of memory in a free form that a program prints again and again: `step 12: buffered 480 MB`, `shard 3: 132 MB held`, `12/5000
//! [00:02<04:16, mem=4.5G]`, `'memory/held_gb': 18.2`.
//!
//! This is the last resort for lines that no other grammar reads: a number, a unit of memory, and words that recur with every print. A
//! single line says nothing; a rising series of them shows a leak in the logs of plain scripts.

use std::sync::Arc;

use super::super::record::table::joined;
use super::super::record::{origin, text};
use super::super::{Example, Grammar, Record, Size};
use crate::model::{Bytes, Event, FigureName, What};

/// See the module.
pub struct Growing;

/// The endings of an amount of memory.
const UNITS: [&str; 5] = [" MB", " GB", " MiB", " GiB", " kB"];
/// The names that programs give it.
const NAMES: [&str; 15] = [
    "mem=",
    "mem: ",
    "mem ",
    "memory=",
    "memory: ",
    "allocated=",
    "reserved=",
    "vram=",
    "vram ",
    "VRAM=",
    "VRAM: ",
    "VRAM ",
    "rss=",
    "rss ",
    "RSS ",
];
/// The endings of metrics' names that give the unit of their value.
const METRICS: [&str; 6] = ["_gb", "_GB", "_gib", "_GiB", "_mb", "_MB"];
/// What a progress bar ends with before its metrics: `4.17it/s, loss=0.31, mem_gb=5.21]`.
const RATES: [&str; 2] = ["it/s", "s/it"];
/// Of which a metric's name has one if it counts memory.
const OF_MEMORY: [&str; 6] = ["mem", "alloc", "reserved", "rss", "vram", "VRAM"];
/// Parts of names that say whose memory it is.
const OF_DEVICE: [&str; 4] = ["gpu", "cuda", "vram", "device"];
const OF_HOST: [&str; 6] = ["node", "host", "cpu", "ram", "rss", "sys"];
/// How many words before the amount name the series.
const WORDS: usize = 4;
/// Longer lines, in bytes, are not prints of a step.
const LONGEST: usize = 400;

impl Grammar for Growing {
    fn producer(&self) -> &'static str {
        "prints"
    }

    fn triggers(&self) -> &'static [&'static str] {
        const ALL: [&str; UNITS.len() + NAMES.len()] = joined(UNITS, NAMES);
        const WITH_METRICS: [&str; ALL.len() + METRICS.len()] = joined(ALL, METRICS);
        &WITH_METRICS
    }

    fn is_last_resort(&self) -> bool {
        true
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let line = record.text();
        if line.len() > LONGEST {
            return Vec::new();
        }
        let Some((before, size)) = named(line).or_else(|| metric(line)).or_else(|| amount(line)) else {
            return Vec::new();
        };
        let event = |(before, size): (&str, Size<'_>)| {
            let series: Arc<str> = origin::series(&label(before), record.origin());
            let mut event = record.event(self.producer(), line, What::Memory { series });
            event.figures.push(record.figure(FigureName::Other, size)?);
            Some(event)
        };
        let beside = is_of(before, &OF_DEVICE).then(|| of_host(line)).flatten();
        [Some((before, size)), beside].into_iter().flatten().filter_map(event).collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// `mem=4.5G` of a progress bar's end, `max_mem: 3456M`: an amount whose name says that it is memory and whose unit follows the number
/// directly.
fn named(line: &str) -> Option<(&str, Size<'_>)> {
    let starts = NAMES.iter().filter_map(|name| line.rfind(name).map(|at| at + name.len()));
    let is_joined = |start: usize, size: &Size<'_>| {
        let rest = &line[start + size.text.len()..];
        !size.text.contains(' ') && !rest.starts_with(char::is_alphanumeric)
    };
    starts.filter_map(|start| at(line, start)).find(|(before, size)| is_joined(before.len(), size))
}

/// The amount that is the host's in a line that gives a device's as well: `node_mem 52.4GiB gpu_mem 41.2GiB`.
fn of_host(line: &str) -> Option<(&str, Size<'_>)> {
    let starts = NAMES.iter().flat_map(|name| line.match_indices(name).map(|(at, name)| at + name.len()));
    starts.filter(|start| is_of(&line[..*start], &OF_HOST)).find_map(|start| at(line, start))
}

/// Whether the name at the end of `before` has one of `words` as a part: `node_mem `.
fn is_of(before: &str, words: &[&str]) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_/.-".contains(c);
    let name = before.trim_end_matches(|c: char| !is_part(c));
    let name = &name[name.trim_end_matches(is_part).len()..];
    name.split(['_', '/', '.', '-']).any(|part| words.iter().any(|word| part.eq_ignore_ascii_case(word)))
}

/// `'memory/allocated_gb': 18.20,`: a metric whose name says that it counts memory, and in which unit.
fn metric(line: &str) -> Option<(&str, Size<'_>)> {
    METRICS.iter().find_map(|ending| {
        let unit = if ending.starts_with("_g") || ending.starts_with("_G") { Bytes::GIB } else { Bytes::MIB };
        line.match_indices(ending).find_map(|(at, _)| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || "_/.-".contains(c);
            let name = &line[line[..at].trim_end_matches(is_part).len()..at];
            let (before, rest) = line.split_at(at + ending.len());
            let value = rest.trim_start_matches(['"', '\'']).trim_start().strip_prefix([':', '='])?.trim_start();
            let (rest, size) = text::counted(value, unit).ok()?;
            // At the end of a line the number may be cut off.
            let is_whole = rest.starts_with(|c: char| !c.is_alphanumeric() && c != '.' && c != '%');
            // `mem_mb` alone is what a job asks its scheduler for, unless it stands behind a bar's rate.
            let is_of_bar = || RATES.iter().any(|rate| line[..at].contains(rate));
            let is_memory = (name != "mem" || is_of_bar()) && OF_MEMORY.iter().any(|word| name.contains(word));
            (is_memory && is_whole && size.bytes? > Bytes(0)).then_some((before, size))
        })
    })
}

/// The last amount of memory in `line`, and the text before it.
fn amount(line: &str) -> Option<(&str, Size<'_>)> {
    let unit = UNITS.iter().filter_map(|unit| line.rfind(unit)).max()?;
    at(line, text::number_at_end(&line[..unit])?)
}

/// The amount of memory at `start`, and the text before it. A rate (`/s`) does not count.
fn at(line: &str, start: usize) -> Option<(&str, Size<'_>)> {
    let (rest, size) = text::size(&line[start..]).ok()?;
    (!rest.starts_with('/') && size.bytes? > Bytes(0)).then_some((&line[..start], size))
}

/// The name of the series: the last words before the amount, without numbers and without the names of these, `epoch 0 loss 0.3`; all words
/// where nothing else is left: `shard 3: 132 MB`.
fn label(before: &str) -> String {
    let all = before.split(|c: char| c.is_whitespace() || "=:,()[]".contains(c)).filter(|word| !word.is_empty());
    let is_word = |word: &str| word.chars().any(char::is_alphabetic) && !word.chars().any(|c| c.is_ascii_digit());
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && !is_word(word);
    let words: Vec<&str> = all.collect();
    let is_named = |at: usize| words.get(at + 1).is_none_or(|next| !is_number(next));
    let own = || (0..words.len()).filter(|at| words.get(*at).is_some_and(|word| is_word(word)));
    let named: Vec<&str> = own().filter(|at| is_named(*at)).map(|at| words[at]).collect();
    let told = if named.is_empty() { own().map(|at| words[at]).collect() } else { named };
    told[told.len().saturating_sub(WORDS)..].join(" ")
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "tqdm, set_postfix",
        text: "train:   3%|▎         | 160/5000 [00:08<04:16, 18.87it/s, mem=66.2G]\n\
               train:   3%|▎         | 162/5000 [00:08<04:16, 18.87it/s, mem=66.9G]\n\
               train:   3%|▎         | 164/5000 [00:08<04:16, 18.87it/s, mem=67.7G]\n\
               train:   3%|▎         | 166/5000 [00:08<04:16, 18.87it/s, mem=68.5G]\n\
               train:   3%|▎         | 168/5000 [00:08<04:16, 18.87it/s, mem=69.1G]",
        states: &[("other", "69.1G")],
    },
    Example {
        version: "a script, the unit at the number",
        text: "iter 500 mem 9.8GiB\niter 1000 mem 15.6GiB\niter 1500 mem 21.3GiB\niter 2000 mem 27.1GiB\niter 2500 mem 32.9GiB",
        states: &[("series", "mem"), ("other", "32.9GiB")],
    },
    Example {
        version: "a script, the host's beside the device's",
        text: "step 500 node_mem 52.4GiB gpu_mem 41.2GiB\nstep 1000 node_mem 71.0GiB gpu_mem 41.2GiB\nstep 1500 node_mem 89.7GiB gpu_mem 41.2GiB\nstep 2000 node_mem 108.3GiB gpu_mem 41.2GiB",
        states: &[("series", "node_mem"), ("other", "108.3GiB")],
    },
    Example {
        version: "metrics of a logger",
        text: "{'step': 11, 'loss': 1.25, 'memory/held_gb': 18.25}\n{'step': 12, 'loss': 1.25, 'memory/held_gb': 18.75}\n\
               {'step': 13, 'loss': 1.25, 'memory/held_gb': 19.25}\n{'step': 14, 'loss': 1.25, 'memory/held_gb': 19.75}\n\
               {'step': 15, 'loss': 1.25, 'memory/held_gb': 20.25}",
        states: &[("other", "20.25")],
    },
    Example {
        version: "Lightning's bar, with a metric of one's own",
        text: "Epoch 0:   4%|▍         | 40/900 [00:20<07:10,  2.00it/s, v_num=0, mem_gb=4.10]\n\
               Epoch 0:   9%|▉         | 80/900 [00:40<06:50,  2.00it/s, v_num=0, mem_gb=6.30]\n\
               Epoch 0:  13%|█▎        | 120/900 [01:00<06:30,  2.00it/s, v_num=0, mem_gb=8.50]\n\
               Epoch 0:  18%|█▊        | 160/900 [01:20<06:10,  2.00it/s, v_num=0, mem_gb=10.70]\n\
               Epoch 0:  22%|██▏       | 200/900 [01:40<05:50,  2.00it/s, v_num=0, mem_gb=12.90]",
        states: &[("other", "12.90")],
    },
    Example {
        version: "any program",
        text: "[rank1] step 11 loss 0.3 replay 448 MB\n[rank1] step 12 loss 0.3 replay 480 MB\n[rank1] step 13 loss 0.2 replay 512 MB\n\
           [rank1] step 14 loss 0.2 replay 544 MB\n[rank1] step 15 loss 0.2 replay 576 MB",
        states: &[("series", "replay rank 1"), ("other", "512 MB")],
    },
];

#[cfg(test)]
mod tests {
    use super::{amount, label};

    #[test]
    fn names_of_other_numbers_are_no_part_of_a_series_name() {
        for (before, name) in [
            ("epoch 0 step 150 loss 1.3402 mem ", "mem"),
            ("step 12: buffered ", "buffered"),
            ("epoch 2 train mem=", "train mem"),
            ("shard 3: ", "shard"),
            ("", ""),
        ] {
            assert_eq!(label(before), name, "{before}");
        }
    }

    #[test]
    fn an_amount_may_stand_behind_any_character() {
        for line in ["MA\u{fffd}12.5 GB", "內存12.5 GB", "12.5 GB"] {
            assert_eq!(amount(line).map(|(_, size)| size.text), Some("12.5 GB"), "{line}");
        }
    }
}
