use crate::parse::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        version: "1: memory at a moment",
        text: "2026-11-20T10:00:01.000Z oomdoc#9 node7: machine: used 3337.9 MiB of 24105.0 MiB, available 20767.1 MiB, swap 0.0 MiB of 0.0 MiB, /dev/shm 8.1 MiB of 12052.0 MiB, oom_kill 0, pressure some 0.00 full 0.00\n\
               2026-11-20T10:00:01.000Z oomdoc#10 node7: cgroup /docker/9f2e: used 250.1 MiB of 256.0 MiB, peak 256.0 MiB, oom_kill 0, failcnt 12\n\
               2026-11-20T10:00:01.000Z oomdoc#11 node7: GPU 0 NVIDIA_H100: used 1234.5 MiB of 81559.0 MiB\n\
               2026-11-20T10:00:01.000Z oomdoc#12 node7: GPU 0 process 4711 python rank 3: used 1200.0 MiB\n\
               2026-11-20T10:00:01.000Z oomdoc#13 node7: process 4711 python rank 3: rss 12055.3 MiB, shared 120.0 MiB, locked 0.0 MiB, swap 0.0 MiB",
        states: &[
            ("series", "host"),
            ("host_used", "3337.9 MiB"),
            ("node_total", "24105.0 MiB"),
            ("series", "cgroup /docker/9f2e"),
            ("memcg_usage", "250.1 MiB"),
            ("memcg_limit", "256.0 MiB"),
            ("series", "GPU 0"),
            ("gpu_total", "81559.0 MiB"),
            ("series", "GPU 0 process 4711 python"),
            ("process_in_use", "1200.0 MiB"),
            ("series", "process 4711 python"),
            ("worker_used", "12055.3 MiB"),
        ],
    },
    Example {
        version: "1: a kill that the kernel counted",
        text: "2026-11-20T10:00:02.000Z oomdoc#20 node7: oom_kill 0 to 1 in cgroup /docker/9f2e; limit reached: /docker/9f2e, used 256.0 MiB of 256.0 MiB, failcnt 12 to 400\n\
               2026-11-20T10:00:02.000Z oomdoc#21 node7: held before: process 4711 python rank 3: rss 250.0 MiB\n\
               2026-11-20T10:00:02.000Z oomdoc#22 node7: ended: process 4711 python rank 3: signal 9, last rss 250.0 MiB",
        states: &[
            ("kind", "host_oom_cgroup"),
            ("pid", "4711"),
            ("rank", "3"),
            ("memcg_limit", "256.0 MiB"),
            ("kernel.oom_memcg", "/docker/9f2e"),
        ],
    },
    Example {
        version: "1: a kill of the machine's",
        text: "2026-11-20T10:00:02.000Z oomdoc#20 node7: oom_kill 0 to 1 in cgroup /user.slice; the machine had no more: used 24050.0 MiB of 24105.0 MiB",
        states: &[("kind", "host_oom_kernel"), ("node_total", "24105.0 MiB")],
    },
    Example {
        version: "1: a stranger's kill",
        text: "2026-11-20T10:00:02.000Z oomdoc#20 node7: ended: process 4711 python rank 3: signal 9, but no kill for want of memory: oom_kill 0 to 0 in cgroup /docker/9f2e, machine used 3337.9 MiB of 24105.0 MiB",
        states: &[("failure", "cancelled")],
    },
    Example {
        version: "1: full shared memory",
        text: "2026-11-20T10:00:02.000Z oomdoc#20 node7: ended: process 4711 python: signal 7, and /dev/shm was full: 64.0 MiB of 64.0 MiB",
        states: &[("kind", "shm_exhausted"), ("pid", "4711")],
    },
    Example {
        version: "1: an end",
        text: "2026-11-20T10:00:02.000Z oomdoc#20 node7: ended: process 4711 python: signal 11, last rss 250.0 MiB",
        states: &[("exit", "signal 11"), ("pid", "4711")],
    },
];
