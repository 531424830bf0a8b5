//! Names and victims made from a record's origin: the name of a series of figures, the victim of a shortage.

use std::sync::Arc;

use super::Record;
use crate::model::{Event, Kind, Origin, Severity, Shortage, Victim, What};

/// The name of a series of memory figures: `DeepSpeed rank 0 on node1`, `vLLM pid 6880`. If a pid is known, the role is left out, because a
/// process may change its title.
pub(in crate::parse) fn series(label: &str, origin: &Origin) -> Arc<str> {
    let mut name = label.to_owned();
    match origin {
        Origin { rank: Some(rank), .. } => name += &format!(" rank {rank}"),
        Origin { pid: Some(pid), .. } => name += &format!(" pid {pid}"),
        Origin { local_rank: Some(rank), .. } => name += &format!(" local rank {rank}"),
        Origin { role: Some(role), .. } => name += &format!(" {role}"),
        _ => {}
    }
    if let Some(host) = &origin.host {
        name += &format!(" on {host}");
    }
    Arc::from(name)
}

/// The process in a name that [`series`] made: its rank or pid, and its host.
pub(crate) fn process(series: &str) -> Victim {
    let (name, host) = series.rsplit_once(" on ").map_or((series, None), |(name, host)| (name, Some(host)));
    let number = |label: &str| name.rsplit_once(label).and_then(|(_, number)| number.parse().ok());
    let is_local = name.contains(" local rank ");
    let rank = number(" rank ").filter(|_| !is_local);
    Victim { rank, pid: number(" pid "), host: host.map(Arc::from), ..Victim::default() }
}

/// The statement in `part` of the record that its writer was refused memory of this kind.
pub(in crate::parse) fn shortage(
    record: &Record,
    producer: &'static str,
    part: &str,
    kind: Kind,
    severity: Severity,
    device: Option<u32>,
) -> Event {
    let victims = vec![Victim { device, ..record.origin().process() }];
    record.event(producer, part, What::Shortage(Shortage { kind, severity, victims, consumers: Vec::new() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_named_after_its_process() {
        let origin =
            Origin { pid: Some(7), role: Some("Worker".into()), host: Some("node1".into()), ..Origin::default() };
        assert_eq!(series("vLLM", &origin).as_ref(), "vLLM pid 7 on node1");
        assert_eq!(series("verl", &Origin { rank: Some(3), ..origin }).as_ref(), "verl rank 3 on node1");
        assert_eq!(series("SGLang", &Origin { role: Some("TP0".into()), ..Origin::default() }).as_ref(), "SGLang TP0");
        assert_eq!(series("GPU 0", &Origin::default()).as_ref(), "GPU 0");
    }

    #[test]
    fn a_series_says_whose_it_is() {
        let known = |series: &str| {
            let Victim { rank, pid, host, .. } = process(series);
            (rank, pid, host.map(|host| host.to_string()))
        };
        assert_eq!(known("DeepSpeed rank 17 on node1"), (Some(17), None, Some("node1".to_owned())));
        assert_eq!(known("vLLM pid 7"), (None, Some(7), None));
        assert_eq!(known("torch local rank 3"), (None, None, None));
        assert_eq!(known("GPU 0"), (None, None, None));
    }
}
