//! How Ray's jobs and clusters ended, as its command line reports it.
//!
//! Mirrors `python/ray/dashboard/modules/job/{cli,job_supervisor}.py`, `python/ray/scripts/scripts.py:stop`, `src/ray/rpc/rpc_client.h`
//! (1.9–2.60). Launch scripts run `ray stop` before they begin and when they clean up, so its messages do not prove that it made the job
//! fail.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::{i32 as integer, u32 as count};
use nom::combinator::{all_consuming, consumed};
use nom::sequence::{delimited, preceded, terminated};

use super::text::{self, read};
use super::{Example, Grammar, Record};
use crate::model::{Death, Event, Exit, Failure, OtherFailureName, Victim, What};

/// See the module.
pub struct RayJob;

impl Grammar for RayJob {
    fn producer(&self) -> &'static str {
        "ray_job"
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "Job entrypoint command failed with exit code ",
            "Job 'raysubmit_",
            " Ray processes",
            "/raylet ",
            "Failed to connect to GCS",
        ]
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let readings = [entrypoint, job, stopped, raylet, gcs];
        readings.iter().find_map(|reading| reading(record, record.text())).into_iter().collect()
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// `Job entrypoint command failed with exit code 1, last available logs`. Unless a signal ended it, the reason stands in the logs that
/// follow.
fn entrypoint(record: &Record, text: &str) -> Option<Event> {
    let message = text::after(text, "Job entrypoint command failed with exit code ")?;
    let (words, status) = read(consumed(integer), message)?;
    let what = match Exit::from_status(status) {
        exit @ Exit::Signal(_) => What::Death(Death { exit, victim: Victim::default(), first: false }),
        _ => What::Notice,
    };
    let mut event = record.event("ray_job", words, what);
    event.facts.push(record.number_fact("ray.exit_code", words, f64::from(status)));
    Some(event)
}

/// `Job 'raysubmit_LKFSP4hfiq2xPuz6' succeeded`, `… was stopped`. The reason of a failed job stands in its status message.
fn job(record: &Record, text: &str) -> Option<Event> {
    let message = text.find("Job 'raysubmit_").map(|at| &text[at..])?;
    let id = take_while1(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let end = alt((tag("succeeded"), tag("was stopped")));
    let (id, end) = read(all_consuming((delimited(tag("Job '"), id, tag("' ")), end)), message.trim_end())?;
    let what = match end {
        "succeeded" => What::Finished,
        _ => What::Failure(Failure { name: OtherFailureName::Cancelled, follows: false }),
    };
    let mut event = record.event("ray_job", message, what);
    event.facts.push(record.fact("ray.job", id));
    Some(event)
}

/// `Stopped all 10 Ray processes.`
fn stopped(record: &Record, text: &str) -> Option<Event> {
    let message = ["Stopped all ", "Stopped only "].iter().find_map(|words| text::after(text, words))?;
    let (words, number) = read(terminated(consumed(count), alt((tag(" Ray processes"), tag(" out of ")))), message)?;
    let what = What::Failure(Failure { name: OtherFailureName::Cancelled, follows: true });
    let mut event = record.event("ray_job", message, what);
    event.facts.push(record.number_fact("ray.stopped", words, f64::from(number)));
    Some(event)
}

/// ``Killed `/opt/ray/raylet/raylet --node_ip_address=10.0.0.2 …` (via SIGKILL)`` of `ray stop`.
fn raylet(record: &Record, text: &str) -> Option<Event> {
    let start = alt((tag("Killed `"), tag("Send termination request to `")));
    let at = ["Killed `", "Send termination request to `"].iter().find_map(|words| text.find(words))?;
    let program = take_while1(|c: char| !c.is_whitespace());
    let program = read(preceded(start, program), &text[at..])?;
    if !program.ends_with("/raylet") || !text.trim_end().ends_with(')') || !text.contains("` (via SIG") {
        return None;
    }
    let host = text::after(text, "--node_ip_address=").map(|host| text::token(host, "`").into());
    let victim = Victim { host, role: Some("raylet".into()), ..Victim::default() };
    let death = Death { exit: Exit::Stopped, victim, first: false };
    Some(record.event("ray_job", program, What::Death(death)))
}

/// `Failed to connect to GCS within 60 seconds. GCS may have been killed. It's either GCS is terminated by …`
fn gcs(record: &Record, text: &str) -> Option<Event> {
    let message = text.find("Failed to connect to GCS").map(|at| &text[at..])?;
    let is_whole =
        ["GCS may have been killed", "Please check `gcs_server.out`"].iter().any(|words| message.contains(words));
    if !is_whole || text::is_quoted(text, message) {
        return None;
    }
    let failure = Failure { name: OtherFailureName::Network, follows: true };
    Some(record.event("ray_job", message, What::Failure(failure)))
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "ray 2.0–2.60, a job that failed",
        text: "2026-03-01 18:57:03,337 ERR cli.py:72 -- Job 'raysubmit_LKFSP4hfiq2xPuz6' failed\n2026-03-01 18:57:03,337 INFO cli.py:86 -- Status message: Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 chars):",
        states: &[("ray.exit_code", "1")],
    },
    Example {
        version: "ray 2.0–2.60, a job that was killed",
        text: "Status message: Job entrypoint command failed with exit code -9. No logs available.",
        states: &[("exit", "signal 9"), ("ray.exit_code", "-9")],
    },
    Example {
        version: "ray 2.0–2.60, a job that ended well",
        text: "2026-03-01 18:57:03,337 SUCC cli.py:65 -- Job 'raysubmit_LKFSP4hfiq2xPuz6' succeeded",
        states: &[("finished", "yes"), ("ray.job", "raysubmit_LKFSP4hfiq2xPuz6")],
    },
    Example {
        version: "ray 2.0–2.60, a job that somebody stopped",
        text: "2026-03-01 18:57:03,337 WARN cli.py:69 -- Job 'raysubmit_LKFSP4hfiq2xPuz6' was stopped",
        states: &[("failure", "cancelled")],
    },
    Example {
        version: "ray 1.9–2.60, ray stop",
        text: "2026-03-01 10:34:22,483\tINFO scripts.py:1451 -- 1/1 stopped.\r2026-03-01 10:34:22,483\tSUCC scripts.py:1496 -- Stopped all 10 Ray processes.",
        states: &[("failure", "cancelled"), ("ray.stopped", "10")],
    },
    Example {
        version: "ray 1.9–2.60, ray stop --force",
        text: "2026-03-01 10:34:22,297\tVINFO scripts.py:1415 -- Killed `\x1b[1m/opt/venv/ray/core/src/ray/raylet/raylet --raylet_socket_name=/tmp/ray/raylet --node_ip_address=10.0.0.2 --maximum_startup_concurrency=2\x1b[22m\x1b[26m` \x1b[2m(via SIGKILL)\x1b[22m\x1b[26m ",
        states: &[("exit", "stopped"), ("role", "raylet"), ("host", "10.0.0.2")],
    },
    Example {
        version: "ray 2.0–2.60, the driver without its cluster",
        text: "[2026-03-01 10:35:22,986 E 186 262] rpc_client.h:204: Failed to connect to GCS within 60 seconds. GCS may have been killed. It's either GCS is terminated by `ray stop` or is killed unexpectedly. If it is killed unexpectedly, see the log file gcs_server.out.",
        states: &[("failure", "network")],
    },
];

#[cfg(test)]
mod tests {
    use crate::parse::testing;

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "            cli_logger.success(\"Stopped all {} Ray processes.\", total_procs_stopped)",
            "Did not find any active Ray processes.",
            "Killed `/opt/venv/bin/python3 train.py` (via SIGKILL)",
            "python3 -c 'print(1)' /opt/raylet/raylet --help",
            "    message = f\"Job entrypoint command failed with exit code {return_code}\"",
            "tail the logs of Job 'raysubmit_LKFSP4hfiq2xPuz6' succeeded by another",
        ] {
            assert!(testing::read(line.as_bytes()).is_empty(), "{line}");
        }
    }
}
