//! Which labels of progress bars begin or end like one that is known. Every state of every bar is asked for, so nearly all of the known
//! ones are passed over by the byte with which they begin or end.

use super::Mark;

/// What labels say, by how they begin and by how they end.
pub(super) struct Bars {
    rows: Vec<(String, Mark)>,
    /// The rows in the order of their first bytes,
    by_first: Vec<(u8, usize)>,
    /// and in that of their last ones.
    by_last: Vec<(u8, usize)>,
}

impl Bars {
    /// Those of `rows`, in their order: of two that are as long the later one counts.
    pub fn new(rows: Vec<(String, Mark)>) -> Bars {
        let sorted = |byte: fn(&[u8]) -> Option<&u8>| {
            let bytes = rows.iter().enumerate().filter_map(|(row, (label, _))| Some((*byte(label.as_bytes())?, row)));
            let mut sorted: Vec<(u8, usize)> = bytes.collect();
            sorted.sort_unstable();
            sorted
        };
        let (by_first, by_last) = (sorted(<[u8]>::first), sorted(<[u8]>::last));
        Bars { rows, by_first, by_last }
    }

    /// What the longest row says that `label` begins or ends with.
    pub fn find(&self, label: &str) -> Option<&Mark> {
        let (first, last) = (label.as_bytes().first()?, label.as_bytes().last()?);
        let begin = of(&self.by_first, *first).filter(|row| label.starts_with(&self.rows[*row].0));
        let end = of(&self.by_last, *last).filter(|row| label.ends_with(&self.rows[*row].0));
        let longest = begin.chain(end).max_by_key(|row| (self.rows[*row].0.len(), *row))?;
        Some(&self.rows[longest].1)
    }
}

/// The rows of `byte` in `sorted`.
fn of(sorted: &[(u8, usize)], byte: u8) -> impl Iterator<Item = usize> {
    let start = sorted.partition_point(|(own, _)| *own < byte);
    sorted[start..].iter().take_while(move |(own, _)| *own == byte).map(|(_, row)| *row)
}
