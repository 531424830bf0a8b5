use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Basis, Bytes, Citation, Figure, FigureName, Kind, Location, Outcomes, Patch, PatchSet, Phase, TimelinePoint, When,
};

/// One failure: its root event and all that belongs to it, with the ranks that failed alike as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Incident {
    /// Digest of the root's cited words, host, pid and time: it identifies this occurrence.
    pub id: String,
    /// Groups the occurrences of the same problem.
    pub fingerprint: Fingerprint,
    /// What ran out.
    pub kind: Kind,
    /// How the kind was recognised.
    #[serde(default)]
    pub basis: Basis,
    /// Whether the same work was retried and went on.
    pub recovered: bool,
    /// When the job's log begins, as the log writes it.
    pub started: Option<String>,
    /// When the root was written, as the log writes it.
    pub failed_at: Option<String>,
    /// The same as a calendar time; absent if nothing states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// What the job was doing.
    pub phase: PhaseFinding,
    /// The process that was killed or refused memory first.
    pub victim: Victim,
    /// All processes that were killed or refused memory, including the first.
    pub victims: Vec<Victim>,
    /// The processes that held the memory, largest first.
    pub consumers: Vec<Consumer>,
    /// The numbers that belong to the incident.
    pub figures: Vec<Figure>,
    /// Memory over time.
    pub timeline: Vec<TimelinePoint>,
    /// The memory that the job should need by calculation, next to what the log states.
    pub memory: Memory,
    /// The lines that prove the kind.
    pub evidence: Vec<Citation>,
    /// Causes, likeliest first; never empty.
    pub diagnoses: Vec<Diagnosis>,
    /// Rules that could not be evaluated, with the input that is missing.
    pub not_checked: Vec<String>,
    /// What to record next time, as commands.
    pub capture_next: Vec<String>,
    /// Whether the problem occurred before.
    pub seen: Seen,
    /// Why it is accepted and raises no alarm; absent if it is not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<Ignored>,
}

impl Incident {
    /// The consumer that is the failed process itself under another number. In a container the driver numbers processes as the host does, and
    /// PyTorch does not find itself among them. If the message does not state what "this process" holds, the consumer that holds what
    /// PyTorch reserved, plus at most a context, is the process itself.
    pub(crate) fn itself(&self) -> Option<&Consumer> {
        const CONTEXT: i128 = 2 << 30;
        // The message's own figures tell which of the processes it lists it is about.
        let number = self.figures.iter().find(|figure| figure.name == FigureName::VictimPid);
        let is_numbered = |consumer: &&Consumer, number: &Figure| {
            let (own, said) = (&consumer.source, &number.source);
            consumer.pid.is_some()
                && consumer.pid.map(f64::from) == number.value
                && (&own.path, own.line) == (&said.path, said.line)
        };
        let numbered = number.filter(|_| self.kind == Kind::GpuOom);
        let numbered = numbered.and_then(|number| self.consumers.iter().find(|consumer| is_numbered(consumer, number)));
        if numbered.is_some() {
            return numbered;
        }
        let figure = |name: FigureName| self.figures.iter().find(|figure| figure.name == name)?.bytes;
        let reserved = figure(FigureName::TorchReserved).or_else(|| {
            let unused = figure(FigureName::TorchReservedUnallocated).unwrap_or_default();
            figure(FigureName::TorchAllocated).map(|allocated| Bytes(allocated.0 + unused.0))
        })?;
        let is_unsaid =
            self.kind == Kind::GpuOom && figure(FigureName::ProcessInUse).is_none_or(|told| told < reserved);
        let is_own = |consumer: &&Consumer| (reserved.0..=reserved.0 + CONTEXT).contains(&consumer.bytes.0);
        self.consumers.iter().filter(|_| is_unsaid).find(is_own)
    }

    /// The processes that held the memory; on a device without the failed one, whose own amount is told as such.
    pub(crate) fn holders(&self) -> impl Iterator<Item = &Consumer> {
        let own = self.itself();
        let is_failed = |consumer: &Consumer| {
            self.kind == Kind::GpuOom && consumer.pid.is_some() && consumer.pid == self.victim.pid
        };
        let is_itself = move |consumer: &Consumer| own.is_some_and(|own| std::ptr::eq(own, consumer));
        self.consumers.iter().filter(move |consumer| !is_failed(consumer) && !is_itself(consumer))
    }
}

/// Why an incident is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ignored {
    /// The reason that the user gave.
    pub reason: String,
    /// The last day (UTC) on which it is accepted; absent if there is no end.
    #[serde(default)]
    pub until: Option<String>,
    /// The line that says so: `oomdoc.toml:12`.
    pub by: String,
}

/// Groups occurrences of the same problem; it has a version, so that an upgrade does not regroup them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fingerprint {
    /// Version of the way in which it is made.
    pub version: u32,
    /// Digest of the parts.
    pub key: String,
    /// The values that it was made from.
    pub parts: Vec<String>,
}

impl Fingerprint {
    /// Name of the group, which includes the version.
    pub fn group(&self) -> String {
        format!("{}-{}", self.version, self.key)
    }

    /// Whether it has a role or a frame besides the kind, the phase and the cause. These three are words for all jobs: incidents that share
    /// only them, and no stack and no program, are not the same problem.
    pub fn is_telling(&self) -> bool {
        const WORDS_OF_ALL: usize = 3;
        let is_known = |part: &String| part != Phase::Unknown.as_str();
        self.parts.len() > WORDS_OF_ALL && self.parts.iter().skip(WORDS_OF_ALL - 1).any(is_known)
    }
}

/// What the job was doing, and how that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PhaseFinding {
    /// The phase.
    pub name: Phase,
    /// The innermost known place in it.
    pub site: Option<String>,
    /// How likely the phase is, 0–1.
    pub confidence: f64,
    /// The frames or lines that show it.
    pub evidence: Vec<Citation>,
    /// Whether a rule determined it, or the words of the log made it likely.
    #[serde(default)]
    pub basis: Basis,
    /// Other possible phases, likeliest first.
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
    /// Whether it is likely enough to be named in a sentence.
    pub fn is_likely(&self) -> bool {
        const LIKELY: f64 = 0.5;
        self.name != Phase::Unknown && self.confidence >= LIKELY
    }

    /// The first of `ranked`, which is sorted with the likeliest first, with the others as alternatives and without evidence.
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
    /// How likely it is, 0–1.
    pub confidence: f64,
}

impl PhaseShare {
    /// A phase that is less likely than this is not listed as an alternative.
    pub const LEAST: f64 = 0.05;
}

/// A process that was killed or refused memory. A field is absent if the input does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Victim {
    /// Its node.
    pub host: Option<Arc<str>>,
    /// Global rank.
    pub rank: Option<u32>,
    /// Number of the device, as the process counts.
    pub device: Option<u32>,
    /// Process id.
    pub pid: Option<u32>,
    /// Actor class or process name.
    pub role: Option<Arc<str>>,
}

impl Victim {
    /// Takes the fields that are missing here from `other`.
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

    /// The same process with `host`, if it has no host yet.
    pub(crate) fn on(self, host: &Option<Arc<str>>) -> Victim {
        Victim { host: self.host.or_else(|| host.clone()), ..self }
    }

    /// The known fields as pairs of a name and a text.
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

    /// Whether no field is known.
    pub fn is_unknown(&self) -> bool {
        *self == Victim::default()
    }

    /// Whether no known field contradicts the same field of `other`; the roles are not compared.
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

/// Whether `role` is `whole` as the kernel shortens a process title, to 15 bytes: `ray::RolloutWor` for the actor class `RolloutWorker`.
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
    /// The amount that it held.
    pub bytes: super::Bytes,
    /// Where the log states it.
    pub source: Location,
    /// The words that state it.
    pub text: String,
}

impl Consumer {
    /// The role of a process of which nothing is known but that the job's launcher reports its end.
    pub const RANK: &'static str = "a rank of this job";

    /// Whether nothing is known of it but that the job's launcher reports its end.
    pub fn is_rank(&self) -> bool {
        self.role.as_deref() == Some(Self::RANK)
    }

    /// Whether it has the title that Ray gives to the processes it starts for a job.
    pub fn is_worker_of_ray(&self) -> bool {
        self.role.as_deref().and_then(ray_title).is_some()
    }
}

/// What a worker of Ray runs, read from its process title: `ray::Actor.method`, or `ray_Actor:method()` before Ray 1.0.
pub fn ray_title(command: &str) -> Option<&str> {
    command.strip_prefix("ray::").or_else(|| command.strip_prefix("ray_"))
}

/// The memory that the job should need by calculation, next to what the log states.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Memory {
    /// Computed from the settings of the job.
    pub predicted: Vec<Figure>,
    /// Stated by the log.
    pub observed: Vec<Figure>,
    /// How the computed figures explain the observed ones.
    pub explains: Option<String>,
}

/// A cause and how likely it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diagnosis {
    /// A word of the vocabulary of causes.
    pub cause: Arc<str>,
    /// The rule that found it.
    pub rule: Arc<str>,
    /// How likely it is, 0–1; those of one incident sum to at most 1.
    pub confidence: f64,
    /// The cause in a few words.
    pub title: String,
    /// The explanation in a sentence or two.
    pub why: String,
    /// The lines that support it.
    pub evidence: Vec<Citation>,
    /// Whether a rule's own evidence holds, or the words of the log made it likely.
    #[serde(default)]
    pub basis: Basis,
    /// What to change.
    pub patches: Vec<Patch>,
    /// The cheapest patches that together free enough memory, if the first alone does not and the needs can be computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<PatchSet>,
    /// What not to change, and why.
    pub not_advised: Vec<NotAdvised>,
    /// The outcomes of its remedies in earlier incidents of the same kind and phase; absent if none were reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Outcomes>,
}

/// A change that people often try but that does not help here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NotAdvised {
    /// The setting.
    pub knob: String,
    /// Why it does not help.
    pub why: String,
}

/// What the history knows about the same problem.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Seen {
    /// How often it occurred.
    pub count: u64,
    /// Time of the first occurrence.
    pub first: Option<String>,
    /// Time of the last occurrence.
    pub last: Option<String>,
    /// The changes that solved it.
    pub worked: Vec<String>,
    /// Similar incidents, the most similar first; absent if they were not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Earlier>,
}

/// An incident of the history that is similar to another one.
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
    /// How similar it is, 0–100; 100 means the same problem.
    pub likeness: u8,
    /// The changes that solved its problem.
    pub worked: Vec<String>,
}
