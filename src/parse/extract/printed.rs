//! The memory figures that an input printed last, of all ranks together and of each.

use std::cell::RefCell;
use std::sync::Arc;

use crate::model::{Figure, FigureName};

/// Figures of ranks that are kept; those of further ranks displace the oldest.
const MOST: usize = 96;
/// What a node has and uses is the same for all ranks on it.
const SHARED: [FigureName; 4] =
    [FigureName::HostUsed, FigureName::HostPercent, FigureName::NodeUsed, FigureName::NodeTotal];

/// What memory was printed last.
#[derive(Default)]
pub(super) struct Printed {
    /// The last figure of each name, whoever printed it.
    last: Arc<[Figure]>,
    /// The last figure of each name and rank, the latest at the end.
    of_ranks: Vec<(u32, Figure)>,
    /// What [`Printed::of`] answered last for a rank, since most lines come between two prints.
    answered: RefCell<Option<(u32, Arc<[Figure]>)>>,
}

impl Printed {
    /// Adds the figures of one print, by a rank if its line names one.
    pub fn add(&mut self, figures: &[Figure], rank: Option<u32>) {
        self.answered.take();
        let mut last = self.last.to_vec();
        for figure in figures {
            match last.iter_mut().find(|known| known.name == figure.name) {
                Some(known) => replace(known, figure),
                None => last.push(figure.clone()),
            }
        }
        self.last = last.into();
        for (rank, figure) in rank.into_iter().flat_map(|rank| figures.iter().map(move |figure| (rank, figure))) {
            let is_it = |(own, known): &(u32, Figure)| *own == rank && known.name == figure.name;
            let known = self.of_ranks.iter().position(is_it).map(|at| self.of_ranks.remove(at).1);
            let mut kept = known.unwrap_or_else(|| figure.clone());
            replace(&mut kept, figure);
            self.of_ranks.push((rank, kept));
            if self.of_ranks.len() > MOST {
                self.of_ranks.remove(0);
            }
        }
    }

    /// The last figure of each name. Of a rank that is known, those of its own; what other ranks held says nothing about it.
    pub fn of(&self, rank: Option<u32>) -> Arc<[Figure]> {
        let Some(rank) = rank.filter(|_| !self.of_ranks.is_empty()) else { return self.last.clone() };
        let mut answered = self.answered.borrow_mut();
        match &*answered {
            Some((known, figures)) if *known == rank => Arc::clone(figures),
            _ => Arc::clone(&answered.insert((rank, self.of_rank(rank))).1),
        }
    }

    fn of_rank(&self, rank: u32) -> Arc<[Figure]> {
        let is_of = |figure: &Figure, own: bool| {
            self.of_ranks.iter().any(|(by, known)| (*by == rank) == own && known.source == figure.source)
        };
        let counts = |figure: &&Figure| SHARED.contains(&figure.name) || is_of(figure, true) || !is_of(figure, false);
        let mut figures: Vec<Figure> = self.last.iter().filter(counts).cloned().collect();
        for (_, figure) in self.of_ranks.iter().filter(|(by, _)| *by == rank) {
            if figures.iter().all(|known| known.name != figure.name) {
                figures.push(figure.clone());
            }
        }
        figures.into()
    }
}

/// Replaces a figure by a later one of its name. A peak that is reset at every print counts with the maximum of all prints.
fn replace(known: &mut Figure, new: &Figure) {
    if new.name != FigureName::AllocatedPeak || known.bytes < new.bytes {
        *known = new.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Bytes, Column, LineNumber, Location};

    fn figure(name: FigureName, bytes: i128, line: u64) -> Figure {
        let source = Location { path: "job.log".into(), line: LineNumber(line), column: Column(1) };
        Figure { name, bytes: Some(Bytes(bytes)), value: None, text: String::new(), source, derived: None }
    }

    fn bytes(printed: &Printed, rank: Option<u32>) -> Vec<(FigureName, i128)> {
        printed.of(rank).iter().filter_map(|figure| Some((figure.name, figure.bytes?.0))).collect()
    }

    #[test]
    fn a_rank_has_its_own_figures_and_its_nodes() {
        use FigureName::{AllocatedPeak, HostUsed, TorchReserved};
        let mut printed = Printed::default();
        printed.add(&[figure(AllocatedPeak, 7, 1), figure(TorchReserved, 8, 1)], Some(24));
        printed.add(&[figure(TorchReserved, 5, 2), figure(HostUsed, 9, 2)], Some(0));
        assert_eq!(bytes(&printed, Some(0)), [(TorchReserved, 5), (HostUsed, 9)]);
        assert_eq!(bytes(&printed, Some(24)), [(AllocatedPeak, 7), (HostUsed, 9), (TorchReserved, 8)]);
        assert_eq!(bytes(&printed, Some(27)), [(HostUsed, 9)]);
        assert_eq!(bytes(&printed, None), [(AllocatedPeak, 7), (TorchReserved, 5), (HostUsed, 9)]);
        // What no rank printed may be anybody's.
        printed.add(&[figure(TorchReserved, 6, 3)], None);
        assert_eq!(bytes(&printed, Some(27)), [(TorchReserved, 6), (HostUsed, 9)]);
    }

    #[test]
    fn ranks_beyond_those_kept_displace_the_oldest() {
        let mut printed = Printed::default();
        for rank in 0..1000 {
            printed.add(&[figure(FigureName::TorchReserved, i128::from(rank), u64::from(rank))], Some(rank));
        }
        assert_eq!(printed.of_ranks.len(), MOST);
        assert_eq!(bytes(&printed, Some(999)), [(FigureName::TorchReserved, 999)]);
    }
}
