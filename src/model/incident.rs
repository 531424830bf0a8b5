use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Basis, Citation, Figure, Kind, Location, Outcomes, Patch, PatchSet, Phase, TimelinePoint, When};

/// One failure: its root and all that belongs to it, several ranks as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Incident {
    /// Digest of the root's cited words, host, pid and time: this very occurrence.
    pub id: String,
    /// What groups occurrences of the same trouble.
    pub fingerprint: Fingerprint,
    /// What ran out.
    pub kind: Kind,
    /// On what the kind rests.
    #[serde(default)]
    pub basis: Basis,
    /// Whether the same work was retried and went on.
    pub recovered: bool,
    /// When the job's log begins, as it says.
    pub started: Option<String>,
    /// When the root was written.
    pub failed_at: Option<String>,
    /// When that was as a calendar has it; absent where nothing says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// What the job was doing.
    pub phase: PhaseFinding,
    /// Who was killed or refused first.
    pub victim: Victim,
    /// All who were killed or refused, the first one included.
    pub victims: Vec<Victim>,
    /// Who held the memory, largest first.
    pub consumers: Vec<Consumer>,
    /// The numbers that belong to it.
    pub figures: Vec<Figure>,
    /// Memory over time.
    pub timeline: Vec<TimelinePoint>,
    /// What the job should have needed beside what it did.
    pub memory: Memory,
    /// The lines that prove the kind.
    pub evidence: Vec<Citation>,
    /// Causes, likeliest first; never empty.
    pub diagnoses: Vec<Diagnosis>,
    /// Rules that could not be asked, and for want of what.
    pub not_checked: Vec<String>,
    /// What to record next time, as commands.
    pub capture_next: Vec<String>,
    /// Whether it was seen before.
    pub seen: Seen,
    /// That it is known and accepted, and raises no alarm; absent where nobody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<Ignored>,
}

/// Why an incident is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ignored {
    /// In the words of whoever accepts it.
    pub reason: String,
    /// The last day on which it is, UTC; absent where it has no end.
    #[serde(default)]
    pub until: Option<String>,
    /// The line that says so: `oomdoc.toml:12`.
    pub by: String,
}

/// What groups occurrences of the same trouble; versioned, so that an upgrade never regroups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fingerprint {
    /// Version of the recipe.
    pub version: u32,
    /// Digest of the parts.
    pub key: String,
    /// What went into it.
    pub parts: Vec<String>,
}

impl Fingerprint {
    /// The name of the group, unlike that of any other version.
    pub fn group(&self) -> String {
        format!("{}-{}", self.version, self.key)
    }

    /// Whether it says more than what ran out and in which phase: a role, a frame or a cause. Incidents of which nothing else
    /// is known have nothing in common.
    pub fn is_telling(&self) -> bool {
        const KIND_AND_PHASE: usize = 2;
        self.parts.iter().skip(KIND_AND_PHASE).any(|part| part != Phase::Unknown.as_str())
    }
}

/// What the job was doing, and how that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PhaseFinding {
    /// The phase.
    pub name: Phase,
    /// More closely: the innermost known place.
    pub site: Option<String>,
    /// 0–1.
    pub confidence: f64,
    /// The frames or lines that say so.
    pub evidence: Vec<Citation>,
    /// Whether a rule knew it, or words made it likely.
    #[serde(default)]
    pub basis: Basis,
    /// What else it may have been, likeliest first.
    #[serde(default)]
    pub alternatives: Vec<PhaseShare>,
}

impl Default for PhaseFinding {
    fn default() -> PhaseFinding {
        let (evidence, basis, alternatives) = (Vec::new(), Basis::Reader, Vec::new());
        PhaseFinding { name: Phase::Unknown, site: None, confidence: 0.0, evidence, basis, alternatives }
    }
}

impl PhaseFinding {
    /// The first of `ranked`, likeliest first, and what else it may have been; nobody knows why yet.
    pub fn ranked(ranked: &[(Phase, f64)]) -> PhaseFinding {
        let Some(((name, confidence), others)) = ranked.split_first() else { return PhaseFinding::default() };
        let others = others.iter().take_while(|(_, share)| *share >= PhaseShare::LEAST);
        let alternatives =
            others.map(|(name, confidence)| PhaseShare { name: *name, confidence: *confidence }).collect();
        PhaseFinding { name: *name, confidence: *confidence, alternatives, ..PhaseFinding::default() }
    }
}

/// A phase and how likely it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PhaseShare {
    /// The phase.
    pub name: Phase,
    /// 0–1.
    pub confidence: f64,
}

impl PhaseShare {
    /// A phase that is less likely than this is not named beside the likeliest.
    pub const LEAST: f64 = 0.05;
}

/// A process that was killed or refused memory. Each part as far as the input says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Victim {
    /// Node.
    pub host: Option<Arc<str>>,
    /// Global rank.
    pub rank: Option<u32>,
    /// Device as the process counts them.
    pub device: Option<u32>,
    /// Process id.
    pub pid: Option<u32>,
    /// Actor class, process name.
    pub role: Option<Arc<str>>,
}

impl Victim {
    /// Fills what is missing here from `other`.
    pub fn or(self, other: &Victim) -> Victim {
        Victim {
            host: self.host.or_else(|| other.host.clone()),
            rank: self.rank.or(other.rank),
            device: self.device.or(other.device),
            pid: self.pid.or(other.pid),
            role: match (self.role, &other.role) {
                (Some(cut), Some(whole)) if is_cut_from(&cut, whole) => Some(whole.clone()),
                (own, other) => own.or_else(|| other.clone()),
            },
        }
    }

    /// It on `host`, unless another one is known.
    pub(crate) fn on(self, host: &Option<Arc<str>>) -> Victim {
        Victim { host: self.host.or_else(|| host.clone()), ..self }
    }

    /// What is known of it, as pairs of a name and the words for it.
    pub fn iter_words(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let number = |name, value: Option<u32>| value.map(|value| (name, value.to_string()));
        let words = |name, value: &Option<Arc<str>>| value.as_ref().map(|value| (name, value.to_string()));
        [
            words("host", &self.host),
            number("rank", self.rank),
            number("device", self.device),
            number("pid", self.pid),
            words("role", &self.role),
        ]
        .into_iter()
        .flatten()
    }

    /// Whether nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        *self == Victim::default()
    }

    /// Whether both say the same wherever both say anything, and both say something of the same thing.
    pub fn may_be(&self, other: &Victim) -> bool {
        let agree = |same: Option<bool>| same.unwrap_or(true);
        fn both<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> Option<bool> {
            Some(a.as_ref()? == b.as_ref()?)
        }
        agree(both(&self.host, &other.host))
            && agree(both(&self.rank, &other.rank))
            && agree(both(&self.device, &other.device))
            && agree(both(&self.pid, &other.pid))
    }
}

/// Whether `role` is what the kernel keeps of a process' title, 15 bytes, where `whole` names it: `ray::RolloutWor` of the
/// actor class `RolloutWorker`.
fn is_cut_from(role: &str, whole: &str) -> bool {
    let title = role.strip_prefix("ray::").unwrap_or(role);
    role.len() == 15 && title.len() < whole.len() && whole.starts_with(title)
}

/// A process or group that held memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Consumer {
    /// Process id.
    pub pid: Option<u32>,
    /// Command, actor or cgroup.
    pub role: Option<String>,
    /// How much.
    pub bytes: super::Bytes,
    /// Where it is said.
    pub source: Location,
    /// The words that say it.
    pub text: String,
}

impl Consumer {
    /// Whether it is called as Ray calls the processes that it starts for a job.
    pub fn is_worker_of_ray(&self) -> bool {
        self.role.as_deref().and_then(ray_title).is_some()
    }
}

/// What a worker of Ray runs, by the title that it gives the process: `ray::Actor.method`, before 1.0 `ray_Actor:method()`.
pub fn ray_title(command: &str) -> Option<&str> {
    command.strip_prefix("ray::").or_else(|| command.strip_prefix("ray_"))
}

/// What the job should have needed beside what it did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Memory {
    /// By the arithmetic of training.
    pub predicted: Vec<Figure>,
    /// By the log.
    pub observed: Vec<Figure>,
    /// How the one explains the other.
    pub explains: Option<String>,
}

/// A cause and how sure of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diagnosis {
    /// A word of the vocabulary of causes.
    pub cause: Arc<str>,
    /// The rule that says so.
    pub rule: Arc<str>,
    /// 0–1; those of one incident sum to at most 1.
    pub confidence: f64,
    /// In a few words.
    pub title: String,
    /// In a sentence or two.
    pub why: String,
    /// The lines that support it.
    pub evidence: Vec<Citation>,
    /// Whether a rule's own evidence holds, or words made it likely.
    #[serde(default)]
    pub basis: Basis,
    /// What to change.
    pub patches: Vec<Patch>,
    /// The cheapest of them that suffice together, where the first does not alone and the arithmetic knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<PatchSet>,
    /// What not to change, and why.
    pub not_advised: Vec<NotAdvised>,
    /// How its remedies went here before, in incidents of the same kind and phase; absent where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Outcomes>,
}

/// A change that people try and that does not help here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NotAdvised {
    /// The knob.
    pub knob: String,
    /// Why not.
    pub why: String,
}

/// What the history knows of the same trouble.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Seen {
    /// How often.
    pub count: u64,
    /// First time.
    pub first: Option<String>,
    /// Last time.
    pub last: Option<String>,
    /// What made it go away.
    pub worked: Vec<String>,
    /// Incidents like it, the likest first; absent where nobody asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Earlier>,
}

/// An incident of the history that is like another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Earlier {
    /// Its id.
    pub id: String,
    /// When it happened, RFC 3339.
    pub time: String,
    /// Its cause in a few words.
    pub title: String,
    /// How like it is, 0–100; 100 is the same trouble.
    pub likeness: u8,
    /// What made its trouble go away.
    pub worked: Vec<String>,
}
