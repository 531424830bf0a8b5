use crate::parse::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        version: "torch 1.9–2.0",
        text: "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 70121 closing signal SIGTERM\nERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 6 (pid: 70127) of binary: /usr/bin/python",
        states: &[
            ("exit", "stopped"),
            ("pid", "70121"),
            ("exit", "signal 9"),
            ("pid", "70127"),
            ("victim_pid", "pid: 70127"),
            ("launcher.pid", "70127"),
            ("launcher.local_rank", "6"),
        ],
    },
    Example {
        version: "torch 2.1–2.2",
        text: "[2026-03-01 10:00:00,123] torch.distributed.elastic.multiprocessing.api: [WARNING] Sending process 812 closing signal SIGTERM\n[2026-03-01 10:00:01,123] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: 0 (pid: 811) of binary: /usr/bin/python3",
        states: &[("exit", "stopped"), ("pid", "812"), ("exit", "code 1"), ("pid", "811")],
    },
    Example {
        version: "torch ≥2.3, behind a progress bar",
        text: "Map: 100%|██████████| 64/64 [00:00<?, ? examples/s]E0301 10:40:00.000000 4711 site-packages/torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -11) local_rank: 3 (pid: 23456) of binary: /usr/bin/python3.11",
        states: &[("exit", "signal 11"), ("pid", "23456")],
    },
    Example {
        version: "torch 1.9–2.9, the summary",
        text: "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n======================================================\ntrain.py FAILED\n------------------------------------------------------\nFailures:\n[1]:\n  time      : 2026-03-01_10:00:03\n  host      : node3\n  rank      : 12 (local_rank: 4)\n  exitcode  : -15 (pid: 5001)\n  error_file: <N/A>\n  traceback : Signal 15 (SIGTERM) received by PID 5001\n------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-03-01_10:00:01\n  host      : node3\n  rank      : 13 (local_rank: 5)\n  exitcode  : -9 (pid: 5002)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 5002\n======================================================\n",
        states: &[
            ("exit", "stopped"),
            ("rank", "12"),
            ("exit", "signal 9"),
            ("rank", "13"),
            ("pid", "5002"),
            ("host", "node3"),
            ("elastic.local_rank", "5"),
            ("victim_pid", "5002"),
        ],
    },
    Example {
        version: "torch ≥2.10, the summary, with a worker's traceback and no other failure",
        text: "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n============================================================\ntrain.py FAILED\n------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-03-01_10:00:01\n  host      : node1\n  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 31) \n  error_file: /tmp/torchelastic_x/attempt_0/0/error.json\n  traceback : Traceback (most recent call last):\n    File \"/home/me/train.py\", line 22, in main\n      rows.append(read(shard))\n  ValueError: no\n  \n============================================================\n",
        states: &[("exit", "code 1"), ("rank", "0"), ("pid", "31"), ("host", "node1")],
    },
    Example {
        version: "torch ≥1.10, the agent is told to stop",
        text: "WARNING:torch.distributed.elastic.agent.server.api:Received Signals.SIGTERM death signal, shutting down workers\nWARNING:torch.distributed.elastic.multiprocessing.api:Sending process 3721 closing signal SIGTERM\ntorch.distributed.elastic.multiprocessing.api.SignalException: Process 3700 got signal: 15\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
        states: &[("elastic.signal", "Signals.SIGTERM"), ("exit", "signal 15"), ("pid", "3700")],
    },
    Example {
        version: "torch ≥1.9, a terminal that is closed",
        text: "WARNING:torch.distributed.elastic.agent.server.api:Received 1 death signal, shutting down workers\nWARNING:torch.distributed.elastic.multiprocessing.api:Sending process 3721 closing signal SIGHUP\ntorch.distributed.elastic.multiprocessing.api.SignalException: Process 3700 got signal: 1\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
        states: &[("elastic.signal", "1"), ("failure", "cancelled")],
    },
];

#[cfg(test)]
mod tests {
    use crate::model::{Death, Exit, What};
    use crate::parse::testing;

    fn deaths(text: &str) -> Vec<Death> {
        let deaths = testing::read(text.as_bytes()).into_iter().filter_map(|event| match event.what {
            What::Death(death) => Some(death),
            _ => None,
        });
        deaths.collect()
    }

    #[test]
    fn the_first_failure_is_the_one_below_its_headline() {
        let deaths = deaths(super::EXAMPLES[3].text);
        let first: Vec<_> = deaths.iter().filter(|death| death.first).map(|death| death.victim.rank).collect();
        assert_eq!((deaths.len(), first), (2, vec![Some(13)]));
    }

    #[test]
    fn what_is_left_of_a_table_is_read() {
        let rest = "  host      : node1\n  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 6021)\n  error_file: <N/A>\n====================\nexit status 1";
        let deaths = deaths(rest);
        assert_eq!(deaths[0].victim.host.as_deref(), Some("node1"));
        assert_eq!((deaths[0].victim.rank, deaths[0].victim.pid, deaths[0].first), (Some(1), Some(6021), false));
        assert!(super::super::summary::begins("  rank      : 1 (local_ra"));
        assert!(testing::read(b"  exitcode  : -9 (pid: 48").is_empty());
    }

    #[test]
    fn a_first_failure_by_sigterm_came_from_elsewhere() {
        let table = "Root Cause (first observed failure):\n[0]:\n  rank      : 1 (local_rank: 1)\n  exitcode  : -15 (pid: 6021)\n";
        assert_eq!(deaths(table)[0].exit, Exit::Signal(15));
    }

    #[test]
    fn a_signal_of_the_terminal_is_no_death() {
        for words in ["Sending process 7 closing signal SIGHUP", "Sending process 7 closing signal SIGINT"] {
            let events = testing::read(words.as_bytes());
            assert!(events.iter().all(|event| matches!(event.what, What::Failure(_))), "{words}: {events:?}");
        }
        assert_eq!(deaths("Sending process 7 closing signal SIGTERM")[0].exit, Exit::Stopped);
        assert_eq!(deaths("Sending process 7 closing signal SIG")[0].exit, Exit::Stopped);
    }

    #[test]
    fn accelerates_smaller_batches_are_a_retry_until_none_is_left() {
        let events =
            testing::read(b"Decreasing batch size to: 4.\nRuntimeError: No executable batch size found, reached zero.");
        assert!(matches!(events[0].what, What::Notice) && events[0].facts[0].at.text == "4");
        let exhausted = |event: &crate::model::Event| matches!(event.what, What::Shortage(_));
        assert_eq!(events.iter().filter(|event| exhausted(event)).count(), 1);
    }

    #[test]
    fn a_table_in_a_raise_statement_is_none() {
        assert!(testing::read(b"    raise ChildFailedError(\n  name=entrypoint,\n").is_empty());
        assert!(testing::read(b"When a job failed (exitcode: -9) local_rank: 3 (pid: 1) of binary: x").is_empty());
    }
}
