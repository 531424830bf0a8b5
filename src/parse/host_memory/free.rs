//! The table of `free`, with the command above it if it is there.

use super::PRODUCER;
use crate::model::{Bytes, Event, FigureName};
use crate::parse::text::{self, Size};
use crate::parse::{Record, statement};

/// Part of the header from procps 3.3.10 on.
pub(super) const HEADER: &str = "buff/cache";
/// Part of the header of older versions.
pub(super) const OLD_HEADER: &str = "    buffers     cached";

/// The unit of a bare `total`, where no command shows it. As kB it is 8 GiB or more: less may be MiB. As MiB it is 8 GiB to 1 TiB: no machine
/// that a log is kept of has as few kB, and hardly one as many GiB.
pub(in crate::parse) fn usual_unit(total: f64) -> Option<Bytes> {
    const SURELY_KB: f64 = (8u64 << 20) as f64;
    const SURELY_BYTES: f64 = (1u64 << 35) as f64;
    const SURELY_MIB: std::ops::RangeInclusive<f64> = 8_000.0..=1_100_000.0;
    match total {
        total if SURELY_MIB.contains(&total) => Some(Bytes::MIB),
        total if (SURELY_KB..SURELY_BYTES).contains(&total) => Some(Bytes::KIB),
        _ => None,
    }
}

/// Whether a record that begins with the command or the header goes on with `next`.
pub(super) fn goes_on(text: &str, next: &str) -> bool {
    let last = text.lines().next_back().unwrap_or(text);
    (is_header(last) && next.trim_start().starts_with("Mem:")) || (command(last).is_some() && is_header(next))
}

fn is_header(line: &str) -> bool {
    line.split_whitespace().take(3).eq(["total", "used", "free"])
        && (line.contains(HEADER) || line.contains(OLD_HEADER))
}

/// The unit that a command line after a prompt asks for: `$ free -g`.
fn command(line: &str) -> Option<Bytes> {
    // A cheap check first, because every line with a trigger of this grammar gets here.
    let prompt = ["$ free", "# free", "+ free", "free -"].into_iter().find(|prompt| line.contains(prompt))?;
    let (before, arguments) = line.rsplit_once(prompt)?;
    let arguments = match prompt {
        // Without a prompt it stands alone.
        "free -" => line.strip_prefix("free ").filter(|_| before.is_empty())?,
        _ => arguments,
    };
    let unit = |argument: &str| match argument {
        "-b" | "--bytes" => Some(Bytes(1)),
        "-m" | "--mebi" => Some(Bytes::MIB),
        "-g" | "--gibi" => Some(Bytes::GIB),
        "--mega" => Some(Bytes(1_000_000)),
        "--giga" => Some(Bytes(1_000_000_000)),
        _ if argument.starts_with('-') => Some(Bytes::KIB),
        _ => None,
    };
    match arguments.split_whitespace().next() {
        None => Some(Bytes::KIB),
        Some(argument) => unit(argument),
    }
}

/// The event of the table.
pub(super) fn table(record: &Record) -> Option<Event> {
    let mut lines = record.text().lines();
    let first = lines.next()?;
    let (command, header) = match is_header(first) {
        true => (None, first),
        false => (Some(command(first)?), lines.next().filter(|line| is_header(line))?),
    };
    let row = lines.next()?;
    let amounts: Vec<&str> = row.trim_start().strip_prefix("Mem:")?.split_whitespace().collect();
    let total: f64 = amounts.first().and_then(|total| total.parse().ok()).unwrap_or(0.0);
    let unit = command.or_else(|| usual_unit(total));
    let mut event = statement::notice(record, PRODUCER, row);
    for (column, words) in header.split_whitespace().zip(amounts) {
        let name = match column {
            "total" => FigureName::NodeTotal,
            "used" => FigureName::HostUsed,
            "available" => FigureName::Other,
            _ => continue,
        };
        let bytes = match words.parse::<f64>() {
            Ok(amount) => unit.and_then(|unit| Bytes::of(amount, unit)),
            Err(_) => text::size(words).ok().and_then(|(_, size)| size.bytes),
        };
        event.figures.extend(record.figure(name, Size { text: words, bytes }));
    }
    (!event.figures.is_empty()).then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    fn total(lines: &str) -> Option<Bytes> {
        let figures = testing::read(lines.as_bytes()).into_iter().flat_map(|event| event.figures);
        figures.filter(|figure| figure.name == FigureName::NodeTotal).find_map(|figure| figure.bytes)
    }

    const HEADER: &str = "              total        used        free      shared  buff/cache   available\n";

    #[test]
    fn the_command_tells_the_unit() {
        let row = "Mem:            503         410          12           3          80          88\n";
        assert_eq!(total(&format!("user@node1:~$ free -g\n{HEADER}{row}")), Some(Bytes(503 << 30)));
        assert_eq!(total(&format!("[root@node1 ~]# free -m\n{HEADER}{row}")), Some(Bytes(503 << 20)));
        assert_eq!(total(&format!("free -m\n{HEADER}{row}")), Some(Bytes(503 << 20)));
        assert_eq!(total(&format!("{HEADER}{row}")), None);
        assert_eq!(total(&format!("$ ls\n{HEADER}{row}")), None);
        let many = "Mem:          64223       60118         902           3        3203        2911\n";
        assert_eq!(total(&format!("{HEADER}{many}")), Some(Bytes(64_223 << 20)));
        assert_eq!(total(&format!("$ free -b\n{HEADER}{many}")), Some(Bytes(64_223)));
        let few = "Mem:        2015348     1203445       90221\n";
        assert_eq!(total(&format!("{HEADER}{few}")), None, "2 GB in kB, or 2 TB in MiB");
        assert_eq!(total(&format!("{HEADER}Mem:           503Gi       410Gi       12Gi")), Some(Bytes(503 << 30)));
    }

    #[test]
    fn the_old_table_is_read_too() {
        let header = "             total       used       free     shared    buffers     cached\n";
        let row = "Mem:     264134928  120344556  143790372          0     402112   90112000\n";
        assert_eq!(total(&format!("{header}{row}")), Some(Bytes(264_134_928 << 10)));
        assert_eq!(total(header), None);
    }
}
