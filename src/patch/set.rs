//! Several changes that do together what none of them does alone, by the same arithmetic.

use super::{Proposed, Workbench};
use crate::model::{Kind, Need, PatchNeeds, PatchSet};

/// More changes than these at once are no advice.
const MOST: usize = 3;
/// So much of a device or host is kept free for what is not counted.
const SPARE: f64 = 0.05;

impl Workbench<'_> {
    /// What ran out, of `needs`.
    fn scarce(&self, needs: &PatchNeeds) -> Option<Need> {
        match self.kind {
            Kind::GpuOom => needs.gpu,
            kind if kind.is_host() => needs.host,
            _ => None,
        }
    }

    /// Whether the arithmetic explains why memory ran out: only then can it say what suffices.
    fn explains(&self) -> bool {
        let needs = self.prediction.map(|prediction| prediction.needs(self.phase));
        needs.and_then(|needs| self.scarce(&needs)).and_then(fits) == Some(false)
    }

    /// Whether what is needed after a change is no more than there is; `None` where the arithmetic does not say.
    pub(super) fn suffices(&self, needs: &PatchNeeds) -> Option<bool> {
        if self.explains() { self.scarce(needs).and_then(fits) } else { None }
    }

    /// The cheapest of `proposed`, which are ordered by how useful they are, that suffice together, where the first does not
    /// alone.
    pub(super) fn set(&self, proposed: &[Proposed<'_>]) -> Option<(Vec<usize>, PatchSet)> {
        if !self.explains() || proposed.first()?.patch.suffices == Some(true) {
            return None;
        }
        let needs = |places: &[usize]| {
            let then = self.with(places.iter().flat_map(|place| &proposed[*place].turned));
            Some(self.launch.predict(&then)?.needs(self.phase))
        };
        // What fills a device of unknown size is proposed last, if at all; what it frees elsewhere is no reason.
        let is_sound = |place: &usize| !self.may_overfill(&proposed[*place].patch.effect);
        let suffices = |needs: &PatchNeeds| {
            let others = [needs.gpu, needs.host].into_iter().flatten().filter_map(fits);
            self.suffices(needs) == Some(true) && others.into_iter().all(|fits| fits)
        };
        let mut sound = subsets(proposed.len()).into_iter().filter(|places| places.iter().all(is_sound));
        let (places, needs) = sound.find_map(|places| {
            let needs = needs(&places).filter(suffices)?;
            Some((places, needs))
        })?;
        let knobs = places.iter().map(|place| proposed[*place].patch.knob.clone()).collect();
        Some((places, PatchSet { knobs, needs }))
    }
}

fn fits(need: Need) -> Option<bool> {
    need.capacity.map(|capacity| need.bytes.gib() <= capacity.gib() * (1.0 - SPARE))
}

/// The places of up to [`MOST`] of `count` changes: few before many, then those that come first.
fn subsets(count: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    let mut last: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..MOST {
        let longer = |set: &Vec<usize>| {
            let from = set.last().map_or(0, |place| place + 1);
            (from..count).map(|place| [set.as_slice(), &[place]].concat()).collect::<Vec<_>>()
        };
        last = last.iter().flat_map(longer).collect();
        last.sort_by_key(|set| set.iter().sum::<usize>());
        all.extend(last.iter().cloned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_come_before_many_and_the_useful_before_others() {
        assert_eq!(subsets(3), [vec![0], vec![1], vec![2], vec![0, 1], vec![0, 2], vec![1, 2], vec![0, 1, 2]]);
        assert_eq!(subsets(0), Vec::<Vec<usize>>::new());
    }
}
