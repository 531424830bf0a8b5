//! Finds the cheapest changes with which a job fits.
//!
//! Every combination of changes is tried, the cheapest first; their prices are in `rules/prices.toml`.

mod ladders;

use serde::Serialize;

use ladders::{Rung, ladders};

use crate::knowledge::{Prices, Words};
use crate::memory::{Amount, Layout, ModelSize, Plan};
use crate::model::Bytes;

/// The share of its nominal memory that a device lacks or keeps for itself.
const ROOM: f64 = 0.02;
/// The share of a host for memory that is not counted: the system, libraries, data.
const HOST_ROOM: f64 = 0.05;

/// What there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Limits {
    /// On each device.
    pub gpu: Bytes,
    /// On each host, where that is known.
    pub host: Option<Bytes>,
}

/// What to change so that a job fits.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fit {
    /// What there is.
    pub limits: Limits,
    /// Whether it then fits.
    pub fits: Fits,
    /// As it is.
    pub before: Peaks,
    /// What to change, in the order in which one builds on another; empty where nothing need be.
    pub changes: Vec<Change>,
    /// What is then left of what there is, by the bounds by which it fits; nothing where it does not.
    pub spare: Option<Spare>,
}

/// What is left of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Spare {
    /// Of each device.
    pub gpu: Bytes,
    /// Of each host, where that is known.
    pub host: Option<Bytes>,
}

/// Whether something fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fits {
    /// Even the upper bounds do.
    Surely,
    /// The lower bounds do.
    Perhaps,
    /// Nothing that is known here makes it fit; the changes are those that come nearest.
    Not,
}

/// What the hungriest moments need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Peaks {
    /// On each device.
    pub gpu: Amount,
    /// On each host.
    pub host: Amount,
}

/// One change, and what is needed with it and those before it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Change {
    /// As this command spells it.
    pub flag: String,
    /// What it costs.
    pub cost: Words,
    /// What is needed then.
    pub then: Peaks,
}

impl Peaks {
    fn of(model: &ModelSize, layout: &Layout) -> Peaks {
        let moments = Plan::of(model, layout).moments;
        let most = |amounts: Vec<Amount>| amounts.into_iter().fold(Amount::ZERO, Amount::max);
        Peaks {
            gpu: most(moments.iter().map(|moment| moment.device_needed()).collect()),
            host: most(moments.iter().map(|moment| moment.host_kept()).collect()),
        }
    }

    fn fits(self, limits: Limits) -> Fits {
        let fits = |bound: fn(Amount) -> Bytes| {
            beyond(bound(self.gpu), limits.gpu, ROOM) <= 0.0
                && limits.host.is_none_or(|host| beyond(bound(self.host), host, HOST_ROOM) <= 0.0)
        };
        match () {
            _ if fits(|need| need.high) => Fits::Surely,
            _ if fits(|need| need.low) => Fits::Perhaps,
            _ => Fits::Not,
        }
    }

    /// The missing GiB of device and host together.
    fn lacks(self, limits: Limits) -> f64 {
        let host = limits.host.map_or(0.0, |host| beyond(self.host.low, host, HOST_ROOM).max(0.0));
        beyond(self.gpu.low, limits.gpu, ROOM).max(0.0) + host
    }

    /// What is left, by those bounds by which it fits.
    fn spare(self, limits: Limits, fits: Fits) -> Option<Spare> {
        let need = |amount: Amount| match fits {
            Fits::Surely => Some(amount.high),
            Fits::Perhaps => Some(amount.low),
            Fits::Not => None,
        };
        let host = limits.host.and_then(|host| Some(host - need(self.host)?));
        Some(Spare { gpu: limits.gpu - need(self.gpu)?, host })
    }
}

/// The need in GiB beyond the capacity less its share `room`.
fn beyond(need: Bytes, capacity: Bytes, room: f64) -> f64 {
    need.gib() - capacity.gib() * (1.0 - room)
}

/// The cheapest changes of `layout` with which `model` fits `limits`; if none do, those that come nearest.
pub fn search(model: &ModelSize, layout: &Layout, limits: Limits, prices: &Prices) -> Fit {
    let ladders = ladders(model, layout, prices);
    let mut choices: Vec<(u32, Vec<&Rung>)> = vec![(0, Vec::new())];
    for ladder in &ladders {
        for place in 0..choices.len() {
            for rung in ladder {
                let (price, chosen) = &choices[place];
                choices.push((price + rung.price.price, [&chosen[..], &[rung]].concat()));
            }
        }
    }
    choices.sort_by_key(|(price, chosen)| (*price, chosen.len()));
    let mut perhaps: Option<Vec<&Rung>> = None;
    let mut nearest: Option<(f64, Vec<&Rung>)> = None;
    for (_, chosen) in choices {
        let peaks = Peaks::of(model, &changed(layout, &chosen));
        match peaks.fits(limits) {
            Fits::Surely => return fit(model, layout, limits, chosen),
            Fits::Perhaps => {
                perhaps.get_or_insert(chosen);
            }
            Fits::Not => {
                let lacks = peaks.lacks(limits);
                if nearest.as_ref().is_none_or(|(least, _)| lacks < *least) {
                    nearest = Some((lacks, chosen));
                }
            }
        }
    }
    let chosen = perhaps.or(nearest.map(|(_, chosen)| chosen)).unwrap_or_default();
    fit(model, layout, limits, chosen)
}

fn changed(layout: &Layout, rungs: &[&Rung]) -> Layout {
    let mut layout = layout.clone();
    rungs.iter().for_each(|rung| (rung.change)(&mut layout));
    layout
}

fn fit(model: &ModelSize, layout: &Layout, limits: Limits, chosen: Vec<&Rung>) -> Fit {
    let then = |count: usize| Peaks::of(model, &changed(layout, &chosen[..count]));
    let change = |(place, rung): (usize, &&Rung)| Change {
        flag: rung.flag.clone(),
        cost: rung.price.cost.clone(),
        then: then(place + 1),
    };
    let changes = chosen.iter().enumerate().map(change).collect();
    let after = then(chosen.len());
    // Without activations, upper bounds are unknown.
    let fits = match after.fits(limits) {
        Fits::Surely if !Plan::is_whole(model, layout) => Fits::Perhaps,
        fits => fits,
    };
    Fit { limits, fits, before: then(0), changes, spare: after.spare(limits, fits) }
}
