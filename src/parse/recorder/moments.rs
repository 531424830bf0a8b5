//! Memory at a moment: points of the timeline.

use nom::Parser;
use nom::bytes::complete::tag;
use nom::sequence::preceded;

use super::PRODUCER;
use super::line::{RecordedProcess, process, used_of};
use crate::model::FigureName::{
    GpuTotal, HostUsed, MemcgLimit, MemcgUsage, NodeTotal, Other, ProcessInUse, WorkerUsed,
};
use crate::model::{Event, FigureName, Origin, What};
use crate::parse::text::{self, Size};
use crate::parse::{Record, origin};

/// The memory event that the `words` of a line state.
pub(super) fn events(record: &Record, words: &str) -> Vec<Event> {
    let event = resident(record, words)
        .or_else(|| labelled(record, words, "machine: ", "host", [HostUsed, NodeTotal]))
        .or_else(|| group(record, words))
        .or_else(|| device(record, words));
    event.into_iter().collect()
}

/// `process 4711 python rank 3: rss 12055.3 MiB, …`
fn resident(record: &Record, words: &str) -> Option<Event> {
    let (_, (process, size)) = (process, preceded(tag("rss "), text::size)).parse(words).ok()?;
    Some(of_process(record, "process", &process, [(WorkerUsed, Some(size))]))
}

fn of_process<const N: usize>(
    record: &Record,
    label: &str,
    RecordedProcess { pid, name, rank, .. }: &RecordedProcess<'_>,
    sizes: [(FigureName, Option<Size<'_>>); N],
) -> Event {
    let speaker = Origin { rank: *rank, pid: Some(*pid), role: Some((*name).into()), ..Origin::default() };
    let mut event = moment(record, &format!("{label} {pid} {name}"), sizes);
    event.origin = Origin { host: event.origin.host, ..speaker };
    event
}

/// `cgroup /a/b: used 250.1 MiB of 256.0 MiB, …`
fn group(record: &Record, words: &str) -> Option<Event> {
    let path = words.strip_prefix("cgroup ")?.split_once(": used ")?.0;
    let label = format!("cgroup {path}");
    labelled(record, words, &format!("{label}: "), &label, [MemcgUsage, MemcgLimit])
}

/// `GPU 0 NVIDIA_H100: used 1.0 MiB of 81559.0 MiB`, `GPU 0 process 4711 python rank 3: used 1.0 MiB`
fn device(record: &Record, words: &str) -> Option<Event> {
    let (index, rest) = words.strip_prefix("GPU ")?.split_once(' ')?;
    index.parse::<u32>().ok()?;
    if let Ok((_, (process, size))) = (process, preceded(tag("used "), text::size)).parse(rest) {
        return Some(of_process(record, &format!("GPU {index} process"), &process, [(ProcessInUse, Some(size))]));
    }
    let name = rest.split_once(": used ")?.0;
    let mut event =
        labelled(record, words, &format!("GPU {index} {name}: "), &format!("GPU {index}"), [Other, GpuTotal])?;
    event.facts.push(record.fact("job.gpu", &rest[..name.len()]));
    Some(event)
}

/// `LABEL: used A of B`
fn labelled(record: &Record, words: &str, label: &str, series: &str, names: [FigureName; 2]) -> Option<Event> {
    let (_, (used, of)) = used_of(words.strip_prefix(label)?).ok()?;
    Some(moment(record, series, [(names[0], Some(used)), (names[1], of)]))
}

fn moment<const N: usize>(record: &Record, series: &str, sizes: [(FigureName, Option<Size<'_>>); N]) -> Event {
    let words = text::line(record.text());
    let series = origin::series(series, &Origin::default());
    let mut event = record.event(PRODUCER, words, What::Memory { series });
    event.figures = sizes.into_iter().filter_map(|(name, size)| record.figure(name, size?)).collect();
    event
}
