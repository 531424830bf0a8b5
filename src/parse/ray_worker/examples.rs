use crate::parse::Example;

/// A message of each kind and wording.
pub(super) const EXAMPLES: &[Example] = &[
    Example {
        version: "ray 1.13–2.9, an actor",
        text: "ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.\n\tclass_name: RewardModelRayActor\n\tactor_id: 4b84892959f23076\n\tpid: 2220\n\tnamespace: bed26746-9634\n\tip: 10.0.0.6\nThe actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.",
        states: &[
            ("exit", "vanished"),
            ("pid", "2220"),
            ("role", "RewardModelRayActor"),
            ("host", "10.0.0.6"),
            ("ray.exit_type", "SYSTEM_ERROR"),
            ("ray.exit_detail", "Worker unexpectedly exits with a connection error code 2. End of file."),
            ("ray.actor_id", "4b84892959f23076"),
        ],
    },
    Example {
        version: "ray 2.10–2.60, a named actor in Kubernetes",
        text: "(TaskRunner pid=900) ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n(TaskRunner pid=900) \tclass_name: create_colocated_worker_cls.<locals>.WorkerDict\n(TaskRunner pid=900) \tactor_id: 8c22c88e5dbb3e56\n(TaskRunner pid=900) \tpid: 150008\n(TaskRunner pid=900) \tname: Y1y0SuWorkerDict_0:0\n(TaskRunner pid=900) \tnamespace: 880e7111-2116\n(TaskRunner pid=900) \tip: 10.0.0.8\n(TaskRunner pid=900) The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker exits unexpectedly. Worker exits with an exit code None. The worker may have exceeded K8s pod memory limits.",
        states: &[
            ("exit", "vanished"),
            ("pid", "150008"),
            ("role", "WorkerDict"),
            ("rank", "0"),
            ("ray.actor_name", "Y1y0SuWorkerDict_0:0"),
            ("ray.exit_detail", "Worker exits unexpectedly. Worker exits with an exit code None."),
        ],
    },
    Example {
        version: "ray 2.0–2.60, a status",
        text: "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: LLMRayActor\n\tactor_id: 8c22\n\tpid: 512\nThe actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker exits unexpectedly. Worker exits with an exit code 137.",
        states: &[("exit", "signal 9"), ("pid", "512")],
    },
    Example {
        version: "ray 1.13–2.60, killed on purpose",
        text: "ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.\n\tclass_name: Learner\n\tactor_id: 070eb5f0c919\n\tpid: 47978\nThe actor is dead because it was killed by `ray.kill`.",
        states: &[("exit", "stopped"), ("pid", "47978"), ("role", "Learner")],
    },
    Example {
        version: "ray 2.0–2.60, an actor that left",
        text: "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: Learner\n\tactor_id: 070eb5f0c919\n\tpid: 47978\nThe actor is dead because its worker process has died. Worker exit type: INTENDED_USER_EXIT Worker exit detail: Worker exits by an user request. exit_actor() is called.",
        states: &[("exit", "stopped"), ("ray.exit_type", "INTENDED_USER_EXIT")],
    },
    Example {
        version: "ray 2.10–2.60, the actor's node",
        text: "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: Worker\n\tactor_id: 070eb5f0c919\n\tip: 10.0.0.9\nThe actor died because its node has died. Node Id: 56b97436e673\n\tthe actor's node was terminated unexpectedly: health check failed due to missing too many heartbeats",
        states: &[("exit", "vanished"), ("host", "10.0.0.9"), ("role", "Worker")],
    },
    Example {
        version: "ray 2.10–2.60, the actor's node taken away",
        text: "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: Worker\n\tactor_id: 070eb5f0c919\n\tip: 10.0.0.9\nThe actor died because its node has died. Node Id: 56b97436e673\n\tthe actor's node was preempted: the spot instance is reclaimed",
        states: &[("failure", "preempted"), ("exit", "stopped")],
    },
    Example {
        version: "ray 1.13–2.49, the raylet",
        text: "(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. RayTask ID: ffffffff4b84 Worker ID: 195713e97a8a Node ID: 147925ec3d4b Worker IP address: 10.0.0.6 Worker port: 43959 Worker PID: 2220 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage.",
        states: &[
            ("exit", "vanished"),
            ("pid", "2220"),
            ("host", "10.0.0.6"),
            ("ray.worker_id", "195713e97a8a"),
            ("ray.exit_type", "SYSTEM_ERROR"),
        ],
    },
    Example {
        version: "ray 2.50–2.60, the raylet",
        text: "(raylet, ip=10.0.0.9) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. Lease ID: 000000003bfb Worker ID: 9c9f70e1ec75 Node ID: 84e52c8fad2a Worker IP address: 10.0.0.9 Worker port: 35991 Worker PID: 9954 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) the process was killed by the OOM killer due to high memory usage, (2) ray stop --force was called, or (3) the worker crashed unexpectedly due to SIGSEGV or another unexpected error.",
        states: &[("exit", "vanished"), ("pid", "9954"), ("host", "10.0.0.9")],
    },
    Example {
        version: "ray 2.0–2.60, gcs_server.out",
        text: "[2026-03-01 10:31:25,058 W 14 14] (gcs_server) gcs_worker_manager.cc:70: Reporting worker exit, worker id = d157182885a1, node id = ae287583364c, address = 10.0.0.2, exit_type = SYSTEM_ERROR, exit_detail = Worker unexpectedly exits with a connection error code 2. End of file. Some common causes include: (1) the process was killed by the OOM killer due to high memory usage.",
        states: &[("exit", "vanished"), ("host", "10.0.0.2"), ("ray.worker_id", "d157182885a1")],
    },
    Example {
        version: "ray 1.13–2.60, the cause alone",
        text: "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.",
        states: &[("exit", "vanished")],
    },
    Example {
        version: "ray 0.8–2.60, a task's worker",
        text: "ray.exceptions.WorkerCrashedError: The worker died unexpectedly while executing this task. Check python-core-worker-*.log files for more information.",
        states: &[("exit", "vanished")],
    },
    Example {
        version: "ray 1.0–2.60, a node",
        text: "(raylet) The node with node id: e9a4c98fd2bc and address: 10.0.0.12 and node name: 10.0.0.12 has been marked dead because the detector has missed too many heartbeats from it. This can happen when a \t(1) raylet crashes unexpectedly (OOM, preempted node, etc.) \n\t(2) raylet has lagging heartbeats due to slow network or busy workload.",
        states: &[("exit", "vanished"), ("host", "10.0.0.12"), ("role", "raylet")],
    },
    Example {
        version: "ray 2.10–2.60, gcs_server.out, a node",
        text: "[2026-03-01 10:31:25,835 I 14 21] (gcs_server) gcs_node_manager.cc:734: , death reason = UNEXPECTED_TERMINATION, death message = health check failed due to missing too many heartbeats node_id=ae287583364c node_name=10.0.0.12",
        states: &[("exit", "vanished"), ("host", "10.0.0.12"), ("role", "raylet")],
    },
    Example {
        version: "ray 2.4–2.60, the node of a task",
        text: "ray.exceptions.NodeDiedError: Task failed due to the node (where this task was running)  was dead or unavailable.\n\nThe node IP: 10.0.0.12, node ID: e9a4c98fd2bc\n\nThis can happen if the instance where the node was running failed, the node was preempted, or raylet crashed unexpectedly (e.g., due to OOM) etc.",
        states: &[("exit", "vanished"), ("host", "10.0.0.12"), ("role", "raylet")],
    },
    Example {
        version: "ray 1.13–2.60, the node of a task, from the same node",
        text: "ray.exceptions.LocalRayletDiedError: The task's local raylet died. Check raylet.out for more information.",
        states: &[("exit", "vanished"), ("role", "raylet")],
    },
    Example {
        version: "ray 2.2–2.60, the agent of a raylet",
        text: "(raylet, ip=10.0.0.7) Raylet is terminated. Termination is unexpected. Possible reasons include: (1) SIGKILL by the user or system OOM killer, (2) Invalid memory access from Raylet causing SIGSEGV or SIGBUS, (3) Other termination signals. Last 20 lines of the Raylet logs:",
        states: &[("exit", "vanished"), ("host", "10.0.0.7"), ("role", "raylet")],
    },
];
