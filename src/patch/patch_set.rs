//! Finds several changes that together suffice according to the memory plan, when none does alone.

use super::proposed::Proposed;
use super::{Workbench, beside};
use crate::knowledge::{To, Turn};
use crate::launch::Prediction;
use crate::model::{Bytes, Kind, Need, Patch, PatchEffect, PatchNeeds, PatchSet};

/// The most changes in one set; more would be no advice.
const MOST: usize = 3;
/// The share of a device or host that is kept free for memory that is not counted.
const SPARE: f64 = 0.05;
/// The share that a cheaper change must leave free to be tried before a dearer one.
const ROOMY: f64 = 0.2;

/// More than this on a host of unknown size may well not be there.
const DOUBTFUL_ON_HOST: Bytes = Bytes(256 << 30);

impl Workbench<'_> {
    /// The need for the memory that ran out.
    fn scarce(&self, needs: &PatchNeeds) -> Option<Need> {
        match self.kind {
            Kind::GpuOom => needs.gpu,
            kind if kind.is_host() => needs.host,
            _ => None,
        }
    }

    /// Whether the prediction exceeds the memory that ran out. Only then can it say what suffices.
    pub(super) fn explains(&self) -> bool {
        let Some(prediction) = self.prediction else { return false };
        // Even where the bounds are too wide to name an amount, the lower one may be too much.
        let least = prediction.least(self.phase);
        [prediction.needs(self.phase), least].iter().any(|needs| self.scarce(needs).and_then(fits) == Some(false))
    }

    /// Whether the need after a change fits; `None` if the prediction cannot tell, or if it fits with next to nothing to spare.
    pub(super) fn suffices(&self, needs: &PatchNeeds) -> Option<bool> {
        let need = self.scarce(needs).filter(|_| self.explains())?;
        fits(need).filter(|fits| *fits || fits_within(need, 1.0) == Some(false))
    }

    /// Whether a change that moves `effect` frees less than was missing by the log's own figures: then it is not enough, whatever the sum of
    /// the parts says, and `needs` is no less than these figures leave. What a step of a number frees is known only where the parts explain
    /// all that was held.
    pub(super) fn is_short(&self, turn: &Turn, effect: &PatchEffect, needs: &mut PatchNeeds) -> bool {
        let is_counted = !matches!(turn.to, To::Scale(_) | To::Add(_)) || self.explains();
        let moved = effect.gpu_bytes.filter(|moved| *moved < Bytes(0) && self.kind == Kind::GpuOom && is_counted);
        let number = |name| self.facts.number(name).map(|bytes| bytes as i128);
        let figures = (moved, number("figures.requested"), number("figures.gpu_free"));
        let (Some(moved), Some(requested), Some(free)) = figures else { return false };
        let left = requested - free + moved.0;
        if let Some(need) = needs.gpu.as_mut().filter(|_| left > 0) {
            let lacking = need.capacity.map(|capacity| Bytes(capacity.0.saturating_add(left)));
            need.bytes = need.bytes.max(lacking.unwrap_or(need.bytes));
        }
        left > 0
    }

    /// Whether a change that moves `effect` frees next to nothing of what `needs` says is missing with it, where that is counted: nothing
    /// that grows with a batch is there before training.
    pub(super) fn is_drop(&self, effect: &PatchEffect, needs: &PatchNeeds) -> bool {
        /// The least share of what is missing that is worth a change.
        const WORTH: i128 = 20;
        let freed = effect.gpu_bytes.filter(|moved| *moved < Bytes(0) && self.kind == Kind::GpuOom);
        let freed = freed.filter(|_| self.phase.is_start());
        let (Some(moved), Some(need)) = (freed, needs.gpu) else { return false };
        let left = need.capacity.map_or(0, |capacity| need.bytes.0 - capacity.0);
        left > 0 && -moved.0 * WORTH < left - moved.0
    }

    /// Whether the largest need of `prediction` at any moment fits; `None` if it cannot tell.
    pub(super) fn lasts(&self, prediction: &Prediction) -> Option<bool> {
        prediction.most().and_then(fits)
    }

    /// If nothing suffices, moves the change that frees by far the most to the front of `proposed`: with one that cannot suffice, such as
    /// half of a batch, the job would only fail once more.
    pub(super) fn lead_with_most(&self, proposed: &mut [Proposed<'_>]) {
        const FAR_MORE: i128 = 2;
        let freed = |proposed: &Proposed<'_>| {
            let moved = match self.kind {
                Kind::GpuOom => proposed.patch.effect.gpu_bytes,
                _ => proposed.patch.effect.host_bytes,
            };
            moved.map_or(0, |moved| moved.0.saturating_neg())
        };
        let Some(first) = proposed.first().filter(|first| first.patch.suffices == Some(false) && !first.is_advised)
        else {
            return;
        };
        let least = freed(first).max(1).saturating_mul(FAR_MORE);
        let sound = (0..proposed.len()).filter(|place| !self.may_overfill(&proposed[*place].patch.effect));
        if let Some(most) =
            sound.max_by_key(|place| freed(&proposed[*place])).filter(|most| freed(&proposed[*most]) >= least)
        {
            proposed[..=most].rotate_right(1);
        }
    }

    /// What it costs, if its lever has a price and editing the job's files is enough.
    fn price_of(&self, proposed: &Proposed<'_>) -> Option<u32> {
        self.knowledge.lever(&proposed.patch.lever)?.price.filter(|_| !proposed.is_by_hand)
    }

    /// Whether it suffices, and a device of unknown size that trains large models may well hold what it takes there.
    fn is_enough(proposed: &Proposed<'_>) -> bool {
        /// What a device may have left, and what the smaller of those that train large models have in all, in GiB.
        const LEFT: f64 = 32.0;
        const IN_ALL: f64 = 76.0;
        let Proposed { patch, .. } = proposed;
        let moved = patch.effect.gpu_bytes.map_or(0.0, Bytes::gib);
        // What a device must hold in all says more than what it must hold besides.
        let fits = match patch.needs.gpu.filter(|need| need.capacity.is_none()) {
            Some(need) => need.bytes.gib() <= IN_ALL,
            None => moved <= LEFT,
        };
        patch.suffices == Some(true) && fits
    }

    /// Keeps the `most` first of `proposed`, and of those that suffice but may not fit on a device of unknown size the first.
    pub(super) fn keep(&self, proposed: &mut Vec<Proposed<'_>>, most: usize) {
        if let Some(late) = proposed.iter().position(Self::is_enough).filter(|place| *place >= most) {
            proposed.swap(late, most - 1);
        }
        proposed.truncate(most);
    }

    /// If the first change is known not to suffice, moves one that does before it, even if the device that must take what the host gives
    /// back is of unknown size: what is too small for sure helps nobody. Wherever they stand, what suffices goes before what does not.
    pub(super) fn lead_with_enough(&self, proposed: &mut [Proposed<'_>]) {
        let is_first_free =
            proposed.first().is_some_and(|first| first.patch.suffices == Some(false) && !first.is_advised);
        let enough = proposed.iter().position(Self::is_enough);
        if let Some(place) = enough.filter(|_| is_first_free && self.kind.is_host()) {
            proposed[..=place].rotate_right(1);
        }
        // By its own figures the job would fail again.
        let is_short =
            |other: &Proposed<'_>| other.patch.suffices == Some(false) && !other.is_advised && !other.row.first;
        if let Some(from) = proposed.iter().position(is_short).filter(|_| self.kind.is_host()) {
            proposed[from..].sort_by_key(|other| !Self::is_enough(other));
        }
    }

    /// If the first change fills the host by an amount of which nobody knows whether it is there, moves a cheaper one before it that leaves the
    /// host alone and with which the device fits; and whether it did.
    pub(super) fn lead_with_known(&self, proposed: &mut [Proposed<'_>]) -> bool {
        let fills_unknown = |patch: &Patch| {
            let is_more = patch.effect.host_bytes.is_some_and(|moved| moved > DOUBTFUL_ON_HOST);
            is_more && patch.needs.host.is_none_or(|need| need.capacity.is_none())
        };
        let is_free = |first: &&Proposed<'_>| !first.is_advised && !first.row.first && fills_unknown(&first.patch);
        let Some(most) = proposed.first().filter(is_free).and_then(|first| self.price_of(first)) else {
            return false;
        };
        let is_sound = |other: &Proposed<'_>| {
            let fits = self.scarce(&other.patch.needs).and_then(|need| fits_within(need, 1.0)) == Some(true);
            let is_cheaper = self.price_of(other).is_some_and(|price| price < most);
            fits && is_cheaper && other.patch.suffices != Some(false) && !fills_unknown(&other.patch)
        };
        let known = proposed.iter().position(is_sound).filter(|_| self.kind == Kind::GpuOom);
        known.inspect(|place| proposed[..=*place].rotate_right(1)).is_some()
    }

    /// Prices each change of a set by what it adds to those before it, since together they are what is proposed: offload beside
    /// sharding costs each host far less than alone.
    pub(super) fn price_in_turn(&self, set: &mut [Proposed<'_>]) {
        for place in 1..set.len() {
            let made = |count: usize| self.with(set[..count].iter().flat_map(|proposed| &proposed.turned));
            let then = made(place + 1);
            let Some((before, after)) = self.launch.predict(&made(place)).zip(self.launch.predict(&then)) else {
                return;
            };
            let moved = before.change_to(&after, self.phase);
            let (_, needs) = self.price(&&then);
            let patch = &mut set[place].patch;
            patch.effect = PatchEffect { gpu_bytes: moved.device, host_bytes: moved.host };
            // Whether they suffice is said of the set.
            (patch.needs, patch.suffices) = (needs, None);
        }
    }

    /// If the first change suffices, moves the cheapest that does so with room to spare before it: what only just fits would
    /// fail with the next longer sample.
    pub(super) fn lead_with_cheapest(&self, proposed: &mut [Proposed<'_>]) {
        let price = |proposed: &Proposed<'_>| {
            let lever = self.knowledge.lever(&proposed.patch.lever)?;
            lever.price.filter(|_| proposed.patch.suffices == Some(true) && !proposed.is_by_hand)
        };
        let is_free = |first: &&Proposed<'_>| !first.is_advised && !first.row.first;
        let Some(most) = proposed.first().filter(is_free).and_then(price) else { return };
        let is_roomy = |proposed: &Proposed<'_>| {
            self.scarce(&proposed.patch.needs).and_then(|need| fits_within(need, 1.0 - ROOMY)) == Some(true)
        };
        let cheaper = (0..proposed.len()).filter(|place| is_roomy(&proposed[*place]));
        let priced = cheaper.filter_map(|place| Some((price(&proposed[place])?, place)));
        if let Some((_, place)) = priced.filter(|(price, _)| *price < most).min() {
            proposed[..=place].rotate_right(1);
        }
    }

    /// The first sufficient combination of `proposed`, which are ordered by usefulness, if the first one does not suffice alone; or two that
    /// suffice with room to spare and cost less together, such as more ranks that share in two ways in place of an offload.
    pub(super) fn set(&self, proposed: &[Proposed<'_>]) -> Option<(Vec<usize>, PatchSet)> {
        if !self.explains() {
            return None;
        }
        let first = proposed.first()?;
        let is_enough = first.patch.suffices == Some(true);
        // Nor does what can be counted displace what the rule knows better and nobody counts.
        let is_uncounted = first.patch.suffices.is_none() && first.patch.effect == PatchEffect::default();
        if (is_enough && (first.is_advised || first.row.first)) || (is_uncounted && first.row.first) {
            return None;
        }
        let needs = |places: &[usize], share: f64| {
            let then = self.with(places.iter().flat_map(|place| &proposed[*place].turned));
            let needs = self.launch.predict(&then)?.needs(self.phase);
            let others = [needs.gpu, needs.host].into_iter().flatten().filter_map(fits);
            let is_roomy = self.scarce(&needs).and_then(|need| fits_within(need, share)) == Some(true);
            (self.suffices(&needs) == Some(true) && is_roomy && others.into_iter().all(|fits| fits)).then_some(needs)
        };
        // A change that may not fit on a device of unknown size is proposed last at most, so it is never part of a set.
        let is_sound = |place: &usize| !self.may_overfill(&proposed[*place].patch.effect);
        let all = subsets(proposed.len());
        let agree =
            |places: &[usize]| !beside::contradict(self.launch, places.iter().map(|place| &proposed[*place].patch));
        let sound = || all.iter().filter(|places| places.iter().all(is_sound) && agree(places));
        let mut tried = sound().take_while(|_| !is_enough);
        // Of a change that was turned until it suffices, the bounds may be too wide to name an amount.
        let is_bounded =
            |needs: &PatchNeeds| ![needs.gpu, needs.host].into_iter().flatten().any(|need| fits(need) == Some(false));
        let of_one = |places: &[usize]| match places {
            [only] => {
                Some(&proposed[*only].patch).filter(|patch| patch.suffices == Some(true)).map(|patch| patch.needs)
            }
            _ => None,
        };
        let enough = |places: &[usize]| needs(places, 1.0 - SPARE).or_else(|| of_one(places).filter(is_bounded));
        let found = tried.find_map(|places| Some((places.clone(), enough(places)?)));
        let with_first = || sound().find(|places| self.may_suffice(proposed, places));
        let found = found.or_else(|| Some((with_first()?.clone(), PatchNeeds::default())));
        let alone = [0];
        let known =
            if is_enough { Some(alone.as_slice()) } else { found.as_ref().map(|(places, _)| places.as_slice()) };
        let price = |places: &[usize]| places.iter().map(|place| self.price_of(&proposed[*place])).sum::<Option<u32>>();
        let most = known.and_then(price).filter(|_| self.kind == Kind::GpuOom);
        let cheaper = most.and_then(|most| {
            let mut pairs = sound().filter(|places| places.len() == 2 && price(places).is_some_and(|sum| sum < most));
            pairs.find_map(|places| Some((places.clone(), needs(places, 1.0 - ROOMY)?)))
        });
        let (places, needs) = cheaper.or(found)?;
        let knobs = places.iter().map(|place| proposed[*place].patch.knob.clone()).collect();
        Some((places, PatchSet { knobs, needs }))
    }
}

impl Workbench<'_> {
    /// The first change with the one that its rule says it needs, where no sum tells.
    pub(super) fn pair(&self, proposed: &[Proposed<'_>]) -> Option<(Vec<usize>, PatchSet)> {
        let is_needed = |other: &Proposed<'_>| other.row.with_first.as_ref().is_some_and(|when| self.holds(when));
        let first = proposed.first().filter(|first| !is_needed(first) && first.patch.suffices != Some(true))?;
        let is_edit = |other: &Proposed<'_>| other.patch.diff.is_some() == first.patch.diff.is_some();
        let second = (1..proposed.len()).find(|place| is_needed(&proposed[*place]) && is_edit(&proposed[*place]))?;
        let both = [first, &proposed[second]].map(|proposed| &proposed.patch);
        if beside::contradict(self.launch, both.into_iter()) {
            return None;
        }
        let knobs = both.map(|patch| patch.knob.clone()).to_vec();
        Some((vec![0, second], PatchSet { knobs, needs: PatchNeeds::default() }))
    }

    /// Whether the first change, which is known not to suffice alone, may do so with the others at `places`, each of which lowers what is
    /// needed at least: so much is known even where the bounds are too wide to name an amount.
    fn may_suffice(&self, proposed: &[Proposed<'_>], places: &[usize]) -> bool {
        let is_short = |first: &Proposed<'_>| first.patch.suffices == Some(false) && !first.is_advised;
        if places.len() < 2 || places[0] != 0 || self.kind != Kind::GpuOom || !proposed.first().is_some_and(is_short) {
            return false;
        }
        let then = |count: usize| self.with(places[..count].iter().flat_map(|place| &proposed[*place].turned));
        let least = |count: usize| self.launch.predict(&then(count))?.least(self.phase).gpu;
        let steps: Option<Vec<Need>> = (1..=places.len()).map(least).collect();
        let Some(steps) = steps else { return false };
        let falls = steps.windows(2).all(|pair| pair[1].bytes < pair[0].bytes);
        let (_, needs) = self.price(&&then(places.len()));
        let is_known_short = self.suffices(&needs) == Some(false) || needs.host.and_then(fits) == Some(false);
        falls && steps.last().copied().and_then(fits) == Some(true) && !is_known_short
    }
}

fn fits(need: Need) -> Option<bool> {
    fits_within(need, 1.0 - SPARE)
}

/// Whether it fits within `share` of what there is.
fn fits_within(need: Need, share: f64) -> Option<bool> {
    need.capacity.map(|capacity| need.bytes.gib() <= capacity.gib() * share)
}

/// The indices of up to [`MOST`] of `count` changes: smaller subsets first, and among equal sizes those with earlier
/// changes.
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
