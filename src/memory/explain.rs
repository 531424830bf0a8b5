//! Explains an observed figure as a sum of a plan's parts, and tells which states cannot fit.

use super::component::{Component, Place};
use super::plan::{Moment, MomentPlan, Plan, Step};
use super::{Amount, Layout, ModelSize, Width, states::Job};
use crate::model::Bytes;

/// The largest error, as a share of the figure, of a sum that explains it.
const TOLERANCE: f64 = 0.05;
/// The widest bounds, as a share of the figure, of a sum that explains it: wider ones would match anything.
const WIDEST: f64 = 0.5;
/// The most parts whose subsets are tried: more are too many to try and prove nothing.
const MOST_PARTS: usize = 14;
/// The most explanations that are worth reading.
const MOST: usize = 3;

/// An observed figure as a sum of parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The moment of the sum.
    pub moment: Moment,
    /// Before or after the first step.
    pub step: Step,
    /// The parts that add up to it.
    pub parts: Vec<Component>,
    /// The other parts of the plan at that moment.
    pub left_out: Vec<Component>,
    /// The sum of the parts.
    pub sum: Amount,
    /// The distance from the observed figure to the nearest bound of the sum, as a share of the figure; negative if the
    /// sum is below.
    pub error: f64,
    /// The explanation as text.
    pub words: String,
}

/// The memory that an observed figure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observed {
    /// Memory of one device.
    Device,
    /// Memory of one host.
    Host,
}

impl Observed {
    fn holds(self, place: Place) -> bool {
        place.is_host() == (self == Observed::Host)
    }
}

/// The sums of parts of `plan` that explain `observed`, best first: near it, with narrow bounds and few parts left out.
/// States are part of every sum; other parts come and go. If `moment` is given, only that moment is tried.
pub fn explain(observed: Bytes, at: Observed, moment: Option<Moment>, plan: &Plan) -> Vec<Explanation> {
    let mut found: Vec<(f64, Explanation)> = Vec::new();
    for planned in plan.moments.iter().filter(|planned| moment.is_none_or(|moment| moment == planned.moment)) {
        let mut parts: Vec<&Component> =
            planned.components.iter().filter(|part| at.holds(part.place) && !part.bytes.is_nothing()).collect();
        parts.sort_by_key(|part| part.is_state());
        let tried = parts.iter().filter(|part| !part.is_state()).count().min(MOST_PARTS);
        for chosen in 0u32..1 << tried {
            let is_chosen = |place: usize| place >= tried || chosen & (1 << place) != 0;
            let sum: Amount = parts.iter().enumerate().filter(|(i, _)| is_chosen(*i)).map(|(_, part)| part.bytes).sum();
            let error = error(observed, sum);
            let spread = (sum.high.0 - sum.low.0) as f64 / observed.0.max(1) as f64;
            if error.abs() > TOLERANCE || spread > WIDEST {
                continue;
            }
            // Each part left out costs something, however small it is.
            let left_out = parts.iter().enumerate().filter(|(i, _)| !is_chosen(*i)).count();
            let cost = error.abs() + 0.1 * spread + 0.005 * left_out as f64;
            if found.len() >= MOST && found.last().is_some_and(|(worst, _)| *worst <= cost) {
                continue;
            }
            let split = |chosen: bool| {
                let taken = parts.iter().enumerate().filter(|(i, _)| is_chosen(*i) == chosen);
                let mut taken: Vec<Component> = taken.map(|(_, part)| (*part).clone()).collect();
                taken.sort_by_key(|part| !part.is_state());
                taken
            };
            let explanation = explanation(observed, planned, split(true), split(false), sum, error);
            // Moments share parts; only the first moment with the same sum is reported.
            if found.iter().any(|(_, known)| known.words_alike(&explanation)) {
                continue;
            }
            found.push((cost, explanation));
            found.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            found.truncate(MOST);
        }
    }
    found.into_iter().map(|(_, explanation)| explanation).collect()
}

impl Explanation {
    fn words_alike(&self, other: &Explanation) -> bool {
        self.parts == other.parts && self.left_out.len() <= other.left_out.len()
    }
}

fn explanation(
    observed: Bytes,
    planned: &MomentPlan,
    parts: Vec<Component>,
    left_out: Vec<Component>,
    sum: Amount,
    error: f64,
) -> Explanation {
    let off = match error {
        0.0 if sum.low != sum.high => "within its bounds".to_owned(),
        error => format!("{:+.1} %", error * 100.0),
    };
    let words = format!("{observed} at {} = {} = {sum} ({off})", planned.moment.as_str(), joined(&parts));
    Explanation { moment: planned.moment, step: planned.step, parts, left_out, sum, error, words }
}

fn joined(parts: &[Component]) -> String {
    parts.iter().map(Component::to_string).collect::<Vec<_>>().join(" + ")
}

/// The distance from `observed` to the nearest bound of `sum`, as a share of `observed`; 0 within the bounds.
fn error(observed: Bytes, sum: Amount) -> f64 {
    let off = match observed {
        observed if observed < sum.low => sum.low - observed,
        observed if observed > sum.high => sum.high - observed,
        _ => Bytes(0),
    };
    off.0 as f64 / observed.0.max(1) as f64
}

/// The total of all training states, wherever they are: weights, gradients, master weights, optimizer states.
#[derive(Debug, Clone, PartialEq)]
pub struct States {
    /// Bytes per trained parameter.
    pub width: Width,
    /// Their total over all ranks.
    pub bytes: Amount,
    /// `8.03 B × 16 bytes`.
    pub formula: String,
}

impl States {
    /// A text saying that they exceed `capacity`, the memory of one device or of all that share them; `None` if they
    /// may fit.
    pub fn beyond(&self, capacity: Bytes) -> Option<String> {
        (self.bytes.low > capacity).then(|| format!("{} = {} > {capacity}", self.formula, self.bytes))
    }
}

/// The states of training `model` in `layout`, summed over the ranks that share them.
pub fn states(model: &ModelSize, layout: &Layout) -> States {
    let job = Job { model, layout };
    let precision = layout.precision;
    let trained = layout.trained_on_rank(model);
    let moments = if layout.optimizer.paged { Width::ZERO } else { job.states_width() };
    let steps = moments.plus(precision.master.unwrap_or(Width::ZERO));
    let (width, kept) = match layout.adapter {
        None => (precision.weights.plus(precision.gradients).plus(steps), Amount::ZERO),
        Some(adapter) => {
            (adapter.weights.plus(precision.gradients).plus(steps), layout.on_rank(model).at(precision.weights))
        }
    };
    let (width, trained) = match trained.high {
        0 => (precision.weights, layout.on_rank(model)),
        _ => (width, trained),
    };
    let bytes = trained.at(width) + kept;
    let formula = match kept.is_nothing() {
        true => format!("{trained} × {width} bytes"),
        false => format!("{} × {} bytes + {trained} × {width} bytes", layout.on_rank(model), precision.weights),
    };
    States { width, bytes, formula }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Cluster, Sharding};

    fn llama_on_one_device() -> (ModelSize, Layout) {
        let cluster =
            Cluster { device_memory: Some(Bytes::of(79.2, Bytes::GIB).unwrap_or_default()), ..Cluster::default() };
        (ModelSize::of_parameters(8_030_261_248), Layout { sharding: Sharding::ZeroTwo, cluster, ..Layout::default() })
    }

    #[test]
    fn explains_what_lies_on_a_device_after_prepare() {
        let (model, layout) = llama_on_one_device();
        let plan = Plan::of(&model, &layout);
        let found = explain(Bytes(46 << 30), Observed::Device, Some(Moment::AfterPrepare), &plan);
        let words = found.first().map(|found| found.words.as_str());
        let expected = "46.00 GiB at after_prepare = weights 14.96 GiB + master weights 29.92 GiB = 44.87 GiB (-2.5 %)";
        assert_eq!(words, Some(expected));
        // Without a moment, the parts tell it.
        let found = explain(Bytes(61 << 30), Observed::Device, None, &plan);
        assert_eq!(
            found.first().map(|found| (found.moment, found.step)),
            Some((Moment::Backward, Step::First)),
            "{found:#?}"
        );
        assert!(
            explain(Bytes(30 << 30), Observed::Device, Some(Moment::Backward), &plan)
                .iter()
                .all(|f| f.error.abs() < 0.05)
        );
    }

    #[test]
    fn says_what_cannot_fit() {
        let (model, layout) = llama_on_one_device();
        let states = states(&model, &layout);
        assert_eq!(states.formula, "8.03 B × 16 bytes");
        let device = layout.cluster.device_memory.unwrap_or_default();
        assert_eq!(states.beyond(device).as_deref(), Some("8.03 B × 16 bytes = 119.66 GiB > 79.20 GiB"));
        assert_eq!(states.beyond(Bytes(2 * device.0)), None);
    }

    #[test]
    fn says_nothing_of_what_no_sum_explains() {
        let (model, layout) = llama_on_one_device();
        let plan = Plan::of(&model, &layout);
        assert!(explain(Bytes(3 << 30), Observed::Device, None, &plan).is_empty());
        assert!(explain(Bytes(46 << 30), Observed::Host, None, &plan).is_empty());
        assert!(explain(Bytes(0), Observed::Device, None, &plan).is_empty());
    }
}
