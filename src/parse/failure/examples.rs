use crate::parse::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        version: "libstdc++",
        text: "terminate called after throwing an instance of 'std::runtime_error'\n  what():  Socket Timeout",
        states: &[("failure", "abort")],
    },
    Example {
        version: "df",
        text: "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sdc        251G  251G     0 100% /data",
        states: &[("disk.full", "/data")],
    },
    Example {
        version: "Python, a module",
        text: "ModuleNotFoundError: No module named 'flash_attn'",
        states: &[("failure", "import_error")],
    },
    Example {
        version: "Python, an assertion, and DeepSpeed's of its configuration",
        text: "AssertionError: shapes differ\nAssertionError: Partial offloading only supported for ZeRO Stage 3.",
        states: &[("failure", "assertion"), ("failure", "config_error")],
    },
    Example {
        version: "argparse, pydantic",
        text: "train.py: error: unrecognized arguments: --local-rank=0\npydantic_core._pydantic_core.ValidationError: 1 validation error for DeepSpeedZeroConfig",
        states: &[("failure", "config_error")],
    },
    Example {
        version: "Python, interrupted",
        text: "  File \"/opt/lib/threading.py\", line 324, in wait\nKeyboardInterrupt",
        states: &[("failure", "cancelled")],
    },
    Example {
        version: "Python, another exception",
        text: "[rank0]: KeyError: 'input_ids'",
        states: &[("failure", "python_error")],
    },
];

#[cfg(test)]
mod tests {
    use crate::model::What;
    use crate::parse::testing;

    fn failures(text: &str) -> Vec<(String, bool)> {
        let failures = testing::read(text.as_bytes()).into_iter().filter_map(|event| match event.what {
            What::Failure(failure) => Some((failure.name.to_string(), failure.follows)),
            _ => None,
        });
        failures.collect()
    }

    #[test]
    fn lost_connections_follow() {
        for line in [
            "ConnectionResetError: [Errno 104] Connection reset by peer",
            "system msg for write_line failure : Broken pipe",
            "RuntimeError: [pair.cc:545] Read error [127.0.0.1]:20001: Connection reset by peer. This is typical.",
            "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 3/4 clients joined.",
        ] {
            assert_eq!(failures(line), [("network".to_owned(), true)], "{line}");
        }
        let http = "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hub', port=443): Max retries exceeded with url: /x";
        assert_eq!(failures(http), [("network".to_owned(), false)]);
    }

    #[test]
    fn what_others_read_is_left_to_them() {
        for line in [
            "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed. ",
            "SystemError: (Fatal) DataLoader process (pid   4711) exited is killed by signal: Killed.",
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
            "RuntimeError: unable to open shared memory object </torch_1_2> in read-write mode: No space left on device (28)",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            "MemoryError",
            "terminate called after throwing an instance of 'std::bad_alloc'",
            "Kernel panic - not syncing: Out of memory: system-wide panic_on_oom is enabled",
            "slurmstepd: error: xcgroup_instantiate: unable to create cgroup '/x' : No space left on device",
        ] {
            assert_eq!(failures(line), [], "{line}");
        }
    }

    #[test]
    fn images_that_are_always_full_are_no_full_disk() {
        let snap = "/dev/loop3       64M   64M     0 100% /snap/core20/1234";
        assert!(testing::read(snap.as_bytes()).is_empty());
        assert!(testing::read(b"Map: 100% /data").is_empty());
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "    raise ConnectionError(\"Connection reset by peer\")",
            "    except (OSError, ValueError):",
            "This could be caused by a segmentation fault while calling the function",
            "(3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.",
            "Sequence group 12 is preempted by PreemptionMode.RECOMPUTE mode",
            "Retrying when the Connection refused goes away",
            "UserWarning: no",
            "Error: usage",
            "loss: Error 0.3",
            "SystemExit: 0",
        ] {
            assert_eq!(failures(line), [], "{line}");
        }
    }
}
