use crate::parse::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        version: "kubectl describe pod",
        text: "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n      Started:      Sun, 01 Mar 2026 10:00:00 +0000\n      Finished:     Sun, 01 Mar 2026 10:31:00 +0000\n    Ready:          False\n    Restart Count:  2\n    Limits:\n      cpu:             16\n      memory:          500Gi\n      nvidia.com/gpu:  8\n    Requests:\n      memory:  64Gi",
        states: &[("kind", "host_oom_cgroup"), ("memcg_limit", "500Gi")],
    },
    Example {
        version: "kubectl get pod",
        text: "NAME        READY   STATUS      RESTARTS      AGE\ntrainer-0   0/1     OOMKilled   3 (2m ago)    12m",
        states: &[("kind", "host_oom_cgroup"), ("role", "trainer-0")],
    },
    Example {
        version: "kubectl get pod -o json",
        text: "                        \"exitCode\": 137,\n                        \"finishedAt\": \"2026-03-01T10:31:00Z\",\n                        \"reason\": \"OOMKilled\",",
        states: &[("kind", "host_oom_cgroup"), ("exit", "signal 9")],
    },
    Example {
        version: "docker inspect",
        text: "            \"OOMKilled\": true,\n            \"Dead\": false,\n            \"Pid\": 0,\n            \"ExitCode\": 137,",
        states: &[("kind", "host_oom_cgroup"), ("container.oom_killed", "true"), ("exit", "signal 9")],
    },
    Example {
        version: "docker inspect, another end",
        text: "            \"OOMKilled\": false,\n            \"ExitCode\": 1,",
        states: &[("container.oom_killed", "false"), ("exit", "code 1")],
    },
    Example {
        version: "docker inspect --format, true",
        text: "$ docker inspect -f 'OOM={{.State.OOMKilled}} {{.State.ExitCode}}' trainer\nOOM=true 137",
        states: &[("kind", "host_oom_cgroup"), ("container.oom_killed", "true")],
    },
    Example {
        version: "docker inspect --format, false",
        text: "$ docker inspect -f '{{.State.ExitCode}} {{.State.OOMKilled}}' trainer\n137 false",
        states: &[("container.oom_killed", "false")],
    },
    Example {
        version: "kubelet 1.27–1.34, eviction",
        text: "Message:  The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi. Container trainer was using 712Gi, request is 64Gi, has larger consumption of memory. ",
        states: &[
            ("kind", "host_oom_userspace"),
            ("worker_used", "712Gi"),
            ("consumer", "712Gi"),
            ("role", "trainer"),
            ("container.request", "64Gi"),
            ("node.eviction_threshold", "100Mi"),
            ("node.available", "52Mi"),
        ],
    },
    Example {
        version: "kubelet 1.12–1.26, eviction",
        text: "The node was low on resource: memory. Container sidecar was using 51200Ki, which exceeds its request of 0. Container trainer was using 83886080Ki, which exceeds its request of 64Gi. ",
        states: &[("kind", "host_oom_userspace"), ("role", "trainer"), ("worker_used", "83886080Ki")],
    },
];

#[cfg(test)]
mod tests {
    use crate::model::What;
    use crate::parse::testing;

    fn states(text: &str) -> Vec<String> {
        let states = testing::read(text.as_bytes()).into_iter().filter_map(|event| match event.what {
            What::Shortage(shortage) => Some(shortage.kind.to_string()),
            What::Failure(failure) => Some(failure.name.to_string()),
            What::Death(death) => Some(format!("{:?} {}", death.exit, death.victim.role.unwrap_or_default())),
            What::Finished => Some("finished".to_owned()),
            _ => None,
        });
        states.collect()
    }

    #[test]
    fn an_end_without_a_reason_is_a_death() {
        let flyte = "[train-n0-0] terminated with exit code (137). Reason [Error]. Message: ";
        assert_eq!(states(flyte), ["Signal(9) train-n0-0"]);
        assert_eq!(states(&flyte.replace("Error", "OOMKilled")), ["host_oom_cgroup"]);
        assert_eq!(states("      Reason:       Error\n      Exit Code:    137\n"), ["Signal(9) "]);
        assert_eq!(states("trainer-1 exited with code 137"), ["Signal(9) trainer-1"]);
        assert_eq!(states("trainer-1 exited with code 0"), ["finished"]);
    }

    #[test]
    fn the_kernels_kills_are_told_by_the_kubelet_and_by_containerd() {
        let node = "Warning  SystemOOM  2m  kubelet  System OOM encountered, victim process: python3, pid: 23456";
        assert_eq!(states(node), ["host_oom_kernel"]);
        assert_eq!(testing::read(node.as_bytes())[0].figures[0].text, "23456");
        let id = "4f66ad9a4b1c2d3e4f5061728394a5b6c7d8e9f00112233445566778899aabbc";
        let task = format!("time=\"2026-03-01T10:31:00Z\" level=info msg=\"TaskOOM event container_id:\\\"{id}\\\"\"");
        let events = testing::read(task.as_bytes());
        assert!(events[0].facts.iter().any(|fact| fact.at.text == id), "{events:?}");
        assert_eq!(states("OutOfMemoryError: Container killed due to memory usage"), ["host_oom_cgroup"]);
    }

    #[test]
    fn dockers_events_name_the_container() {
        let oom = "2026-03-01T10:31:00.000000000Z container oom 4f66ad9a4b1c (image=train:1, name=trainer)";
        assert_eq!(states(oom), ["host_oom_cgroup"]);
        let kept = "[2026-03-29 01:17:56] container oom Container ID: 4f66ad9a4b1c Container Name: notes";
        assert_eq!(states(kept), ["host_oom_cgroup"]);
        let die =
            "2026-03-01T10:31:00.000000000Z container die 4f66ad9a4b1c (exitCode=137, image=train:1, name=trainer)";
        assert_eq!(states(die), ["Signal(9) trainer"]);
    }

    #[test]
    fn a_full_disk_is_no_lack_of_memory() {
        assert_eq!(states("The node was low on resource: ephemeral-storage. "), ["disk_full"]);
        let pod = "Message:  Pod ephemeral local storage usage exceeds the total limit of containers 50Gi. ";
        assert_eq!(states(pod), ["disk_full"]);
        let container = "Container trainer exceeded its local ephemeral storage limit \"20Gi\". ";
        assert_eq!(states(container), ["disk_full"]);
        assert_eq!(states("Message: Pod The node had condition: [MemoryPressure]. "), ["host_oom_userspace"]);
    }

    #[test]
    fn a_mention_is_no_event() {
        for line in [
            "If the pod gets OOMKilled, raise its limit",
            "            \"ExitCode\": 0,",
            "    Exit Code:    0",
            "  Message: container was not OOMKilled",
            "the container oom score is 985",
            "level=info msg=\"TaskOOM event handler registered\" runtime=io.containerd.runc.v2",
            "it exited with code 1 and",
        ] {
            assert_eq!(states(line), Vec::<String>::new(), "{line}");
        }
    }
}
