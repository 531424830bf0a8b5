//! Talos Linux's own OOM controller, which kills a cgroup before the kernel has to.
//!
//! Mirrors `internal/app/machined/pkg/controllers/runtime/oom.go` of siderolabs/talos since 1.12, as the console's log shows it: the
//! message, then its fields as JSON.

use nom::bytes::complete::{tag, take_until};
use nom::sequence::delimited;
use nom::{IResult, Parser};

use crate::model::{Event, Kind, Severity, Shortage, Victim, What};
use crate::parse::{Example, Grammar, Record};

/// See the module.
pub struct Talos;

const KILL: &str = "Sending SIGKILL to cgroup";

impl Grammar for Talos {
    fn producer(&self) -> &'static str {
        "talos"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &[KILL]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[KILL]
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let text = record.text();
        let Some((_, cgroup)) = text.find(KILL).and_then(|at| cgroup(&text[at..]).ok()) else { return Vec::new() };
        let name = cgroup.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(cgroup);
        let victim =
            Victim { host: record.origin().host.clone(), role: Some(name.to_owned().into()), ..Victim::default() };
        let shortage = Shortage {
            kind: Kind::HostOomUserspace,
            severity: Severity::Fatal,
            victims: vec![victim],
            consumers: Vec::new(),
        };
        let mut event = record.event(self.producer(), text, What::Shortage(shortage));
        event.facts.push(record.fact("oomd.cgroup", cgroup));
        vec![event]
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// The path in `"cgroup": "…"`.
fn cgroup(text: &str) -> IResult<&str, &str> {
    let (text, _) = take_until("\"cgroup\": \"").parse(text)?;
    delimited(tag("\"cgroup\": \""), take_until("\""), tag("\"")).parse(text)
}

const EXAMPLES: &[Example] = &[Example {
    version: "Talos ≥1.12",
    text: "user: warning: [2026-03-01T10:00:00.913975631Z]: [talos] Sending SIGKILL to cgroup {\"component\": \"controller-runtime\", \"controller\": \"runtime.OOMController\", \"cgroup\": \"/sys/fs/cgroup/kubepods/burstable/pod0a1b\"}",
    states: &[("kind", "host_oom_userspace"), ("oomd.cgroup", "/sys/fs/cgroup/kubepods/burstable/pod0a1b")],
}];
