//! One message of each kind that carries facts about memory, with what must be read from it, whichever grammar reads it. The grammars' own
//! examples cover each version.

use super::statements::statements;
use super::testing::find;

struct KnownMessage {
    /// The program that prints it.
    producer: &'static str,
    /// The message, all of its lines.
    text: &'static str,
    /// What it states: a name and the words for it.
    states: &'static [(&'static str, &'static str)],
    /// A statement that must not come out of it.
    never: Option<&'static str>,
}

#[test]
fn every_message_states_its_facts_and_no_more() {
    for row in ROWS {
        let stated = statements(&find(row.text.as_bytes()));
        for (name, words) in row.states {
            let found = stated.iter().any(|(known, said)| known == name && said == words);
            assert!(found, "{}: no {name} `{words}` in {stated:#?}", row.producer);
        }
        let wrong = stated.iter().find(|(known, _)| Some(known.as_str()) == row.never);
        assert!(wrong.is_none(), "{}: {wrong:?}", row.producer);
    }
}

const ROWS: &[KnownMessage] = &[
    KnownMessage {
        producer: "torch 1.4–1.9",
        text: "RuntimeError: CUDA out of memory. Tried to allocate 2.44 GiB (GPU 6; 39.41 GiB total capacity; 33.08 GiB already allocated; 1.63 GiB free; 36.92 GiB reserved in total by PyTorch)",
        states: &[
            ("kind", "gpu_oom"),
            ("device", "6"),
            ("requested", "2.44 GiB"),
            ("gpu_total", "39.41 GiB"),
            ("torch_allocated", "33.08 GiB"),
            ("gpu_free", "1.63 GiB"),
            ("torch_reserved", "36.92 GiB"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "torch 2.1, in a container",
        text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 2 has a total capacty of 47.54 GiB of which 3.81 MiB is free. Process 518802 has 47.53 GiB memory in use. Of the allocated memory 46.02 GiB is allocated by PyTorch, and 377.19 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        states: &[
            ("kind", "gpu_oom"),
            ("device", "2"),
            ("requested", "20.00 MiB"),
            ("gpu_free", "3.81 MiB"),
            ("process_in_use", "47.53 GiB"),
            ("torch_allocated", "46.02 GiB"),
            ("torch_reserved_unallocated", "377.19 MiB"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "torch 2.4–2.9, a neighbour and graphs",
        text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.88 GiB. GPU 4 has a total capacity of 79.15 GiB of which 912.44 MiB is free. Process 733120 has 24.60 GiB memory in use. Including non-PyTorch memory, this process has 53.65 GiB memory in use. Of the allocated memory 49.77 GiB is allocated by PyTorch, with 840.00 MiB allocated in private pools (e.g., CUDA Graphs), and 2.03 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
        states: &[
            ("kind", "gpu_oom"),
            ("device", "4"),
            ("requested", "1.88 GiB"),
            ("process_in_use", "24.60 GiB"),
            ("process_in_use", "53.65 GiB"),
            ("torch_allocated", "49.77 GiB"),
            ("torch_reserved_unallocated", "2.03 GiB"),
            ("torch.private_pools", "840.00 MiB"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "torch ≥2.10, a segment could not grow",
        text: "[rank5]:[W318 21:04:11.700000000 CUDACachingAllocator.cpp:508] expandable_segments: memory mapping failed with OOM on device 5 while trying to map 20971520 bytes (free: 9830400, total: 85045608448)",
        states: &[
            ("pressure", "gpu_oom"),
            ("rank", "5"),
            ("device", "5"),
            ("requested", "20971520 bytes"),
            ("gpu_free", "9830400"),
            ("gpu_total", "85045608448"),
        ],
        never: Some("kind"),
    },
    KnownMessage {
        producer: "torch, cudaMallocAsync",
        text: "torch.OutOfMemoryError: Allocation on device 1 would exceed allowed memory. (out of memory)\nCurrently allocated     : 13.20 GiB\nRequested               : 768.00 MiB\nDevice limit            : 15.77 GiB\nFree (according to CUDA): 11.31 MiB\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB",
        states: &[
            ("kind", "gpu_oom"),
            ("device", "1"),
            ("torch_allocated", "13.20 GiB"),
            ("requested", "768.00 MiB"),
            ("gpu_total", "15.77 GiB"),
            ("gpu_free", "11.31 MiB"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "torch_npu",
        text: "RuntimeError: NPU out of memory. Tried to allocate 518.00 MiB (NPU 3; 29.50 GiB total capacity; 26.71 GiB already allocated; 26.71 GiB current active; 210.08 MiB free; 27.64 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
        states: &[
            ("kind", "gpu_oom"),
            ("device", "3"),
            ("requested", "518.00 MiB"),
            ("torch_allocated", "26.71 GiB"),
            ("gpu_free", "210.08 MiB"),
            ("torch_reserved", "27.64 GiB"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "torch, XPU",
        text: "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.25 GiB. GPU 1 has a total capacity of 63.98 GiB of which 1.12 GiB is free. Of the allocated memory 59.91 GiB is allocated by PyTorch, and 1.40 GiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",
        states: &[
            ("kind", "gpu_oom"),
            ("device", "1"),
            ("requested", "2.25 GiB"),
            ("gpu_free", "1.12 GiB"),
            ("torch_reserved_unallocated", "1.40 GiB"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "torch, MPS",
        text: "RuntimeError: MPS backend out of memory (MPS allocated: 8.61 GB, other allocations: 402.11 MB, max allowed: 9.07 GB). Tried to allocate 96.00 MB on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",
        states: &[
            ("kind", "gpu_oom"),
            ("torch_allocated", "8.61 GB"),
            ("gpu_total", "9.07 GB"),
            ("requested", "96.00 MB"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "torch, the host's allocator",
        text: "RuntimeError: [enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 34359738368 bytes. Error code 12 (Cannot allocate memory)",
        states: &[("kind", "host_alloc_failure"), ("requested", "34359738368 bytes")],
        never: None,
    },
    KnownMessage {
        producer: "torch, /dev/shm",
        text: "RuntimeError: unable to open shared memory object </torch_77120_401558210_96> in read-write mode: No space left on device (28)",
        states: &[("kind", "shm_exhausted")],
        never: None,
    },
    KnownMessage {
        producer: "NCCL, device memory",
        text: "node6:4100:4411 [5] include/alloc.h:180 NCCL WARN Failed to CUDA calloc async 8388608 bytes",
        states: &[("kind", "gpu_oom"), ("host", "node6"), ("pid", "4100"), ("requested", "8388608 bytes")],
        never: None,
    },
    KnownMessage {
        producer: "NCCL, /dev/shm",
        text: "node6:4100:4411 [5] misc/shmutils.cc:87 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-Zq81Lm (size 9637888), error: No space left on device (28)",
        states: &[("kind", "shm_exhausted"), ("host", "node6"), ("requested", "size 9637888")],
        never: None,
    },
    KnownMessage {
        producer: "DeepSpeed ≤0.17, memory",
        text: "[2026-04-02 09:15:00,000] [INFO] [utils.py:781:see_memory_usage] After creating fp32 partitions\n[2026-04-02 09:15:00,100] [INFO] [utils.py:782:see_memory_usage] MA 21.55 GB         Max_MA 24.01 GB         CA 24.38 GB         Max_CA 24 GB \n[2026-04-02 09:15:00,200] [INFO] [utils.py:789:see_memory_usage] CPU Virtual Memory:  used = 402.7 GB, percent = 39.9%",
        states: &[
            ("series", "DeepSpeed rank 0"),
            ("torch_allocated", "21.55 GB"),
            ("allocated_peak", "24.01 GB"),
            ("torch_reserved", "24.38 GB"),
            ("host_used", "402.7 GB"),
        ],
        never: Some("kind"),
    },
    KnownMessage {
        producer: "DeepSpeed, allocator flushes",
        text: "[2026-04-02 09:40:00,000] [WARNING] [stage3.py:2658:step] 5 pytorch allocator cache flushes since last step. this happens when there is high memory pressure and is detrimental to performance. if this is happening frequently consider adjusting settings to reduce memory consumption.",
        states: &[("pressure", "gpu_oom"), ("deepspeed.cache_flushes", "5")],
        never: Some("kind"),
    },
    KnownMessage {
        producer: "DeepSpeed, launcher",
        text: "[2026-04-02 09:55:00,000] [ERROR] [launch.py:341:sigkill_handler] ['/usr/bin/python', '-u', 'sft.py', '--local_rank=3', '--deepspeed', 'zero3.json'] exits with return code = -9",
        states: &[("exit", "signal 9"), ("deepspeed.last_local_rank", "3")],
        never: Some("rank"),
    },
    KnownMessage {
        producer: "DeepSpeed, settings that exclude each other",
        text: "AssertionError: Partial offloading only supported for ZeRO Stage 3.",
        states: &[("failure", "config_error")],
        never: Some("kind"),
    },
    KnownMessage {
        producer: "torch elastic, the first failure",
        text: "E0402 09:55:00.000000 6120 site-packages/torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -9) local_rank: 6 (pid: 31877) of binary: /usr/bin/python3.11",
        states: &[("exit", "signal 9"), ("pid", "31877"), ("launcher.local_rank", "6")],
        never: Some("rank"),
    },
    KnownMessage {
        producer: "torch elastic ≥2.10, the summary",
        text: "Root Cause (first observed failure):\n[0]:\n  time      : 2026-04-02_09:55:00\n  host      : node4\n  rank      : 14 (local_rank: 6)\n  exitcode  : -9 (pid: 31877)  (SIGKILL)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 31877",
        states: &[("exit", "signal 9"), ("host", "node4"), ("rank", "14"), ("pid", "31877")],
        never: None,
    },
    KnownMessage {
        producer: "torch elastic ≤2.9, the summary",
        text: "Root Cause (first observed failure):\n[0]:\n  time      : 2026-04-02_09:55:00\n  host      : node4\n  rank      : 14 (local_rank: 6)\n  exitcode  : -9 (pid: 31877)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 31877",
        states: &[("exit", "signal 9"), ("host", "node4"), ("rank", "14"), ("pid", "31877")],
        never: None,
    },
    KnownMessage {
        producer: "Ray, the monitor's count",
        text: "(raylet) [2026-04-02 09:56:03,229 E 2210 2210] (raylet) node_manager.cc:3250: 3 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: 4be0c2d1, IP: 10.0.0.12) over the last time period. To see more information about the Workers killed on this node, use `ray logs raylet.out -ip 10.0.0.12`",
        states: &[("kind", "host_oom_ray"), ("host", "10.0.0.12"), ("ray.killed", "3")],
        never: None,
    },
    KnownMessage {
        producer: "Ray 2.2–2.49, the monitor",
        text: "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.0.0.12, ID: 4be0c2d1) where the task (task ID: 9d01f7aa, name=CriticWorker.compute_values, pid=66120, memory used=37.80GB) was running was 479.52GB / 503.00GB (0.953320), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 77ab10c2) because it was the most recently scheduled task; to see more information about memory usage on this node, use `ray logs raylet.out -ip 10.0.0.12`. To see the logs of the worker, use `ray logs worker-77ab10c2*out -ip 10.0.0.12. Top 10 memory users:\nPID\tMEM(GB)\tCOMMAND\n65011\t61.25\tray::WorkerDict\n66120\t37.80\tray::CriticWorker.compute_values",
        states: &[
            ("kind", "host_oom_ray"),
            ("pid", "66120"),
            ("role", "CriticWorker.compute_values"),
            ("worker_used", "memory used=37.80GB"),
            ("node_used", "479.52GB"),
            ("node_total", "503.00GB"),
            ("node_threshold", "threshold of 0.95"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "Ray ≥2.56, the monitor",
        text: "1 worker(s) were killed due to the node running low on memory. Memory on the node (IP: 10.0.0.12, ID: 4be0c2d1) was 479.52GB used / 503.00GB limit (0.953320)\nOOM kill reason: Memory usage 514880671744B exceeded threshold of 513088520192B (95.0% of 540092727296B limit)",
        states: &[
            ("kind", "host_oom_ray"),
            ("node_used", "Memory usage 514880671744B"),
            ("node_threshold", "threshold of 513088520192B"),
            ("node_total", "540092727296B limit"),
            ("ray.killed", "1"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "Ray, said again by other workers",
        text: "(WorkerDict pid=70233, ip=10.0.0.13) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 742.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 401.50 MiB is free. [repeated 6x across cluster]",
        states: &[
            ("kind", "gpu_oom"),
            ("host", "10.0.0.13"),
            ("pid", "70233"),
            ("role", "WorkerDict"),
            ("requested", "742.00 MiB"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "Ray, spilling",
        text: "(raylet) Spilled 32768 MiB, 407 objects, write throughput 844 MiB/s.",
        states: &[("series", "object store spilled"), ("other", "32768 MiB")],
        never: Some("kind"),
    },
    KnownMessage {
        producer: "kernel, who asked",
        text: "trainer invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=985",
        states: &[("kind", "host_oom_kernel"), ("kernel.trigger", "trainer")],
        never: None,
    },
    KnownMessage {
        producer: "kernel, the limit",
        text: "trainer invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=985\nmemory: usage 268435456kB, limit 268435456kB, failcnt 3310\nswap: usage 0kB, limit 9007199254740988kB, failcnt 0\nMemory cgroup stats for /kubepods.slice/pod1/cri-containerd-0a1b.scope:\nanon 201326592000\nfile 73400320000\nshmem 64424509440\nTasks state (memory values in pages):\n[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name\n[  40112]     0 40112 51200000 12000000 11990000     10000         0  99614720        0           985 trainer\noom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-0a1b.scope,mems_allowed=0-1,oom_memcg=/kubepods.slice/pod1,task_memcg=/kubepods.slice/pod1/cri-containerd-0a1b.scope,task=trainer,pid=40112,uid=0\nMemory cgroup out of memory: Killed process 40112 (trainer) total-vm:204800000kB, anon-rss:47960000kB, file-rss:40000kB, shmem-rss:0kB, UID:0 pgtables:97280kB oom_score_adj:985",
        states: &[
            ("kind", "host_oom_cgroup"),
            ("pid", "40112"),
            ("role", "trainer"),
            ("memcg_usage", "usage 268435456kB"),
            ("memcg_limit", "limit 268435456kB"),
            ("memcg.shmem", "shmem 64424509440"),
            ("kernel.oom_memcg", "/kubepods.slice/pod1"),
            ("kernel.constraint", "CONSTRAINT_MEMCG"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "kernel ≤5.2, the cgroup",
        text: "trainer invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0\nTask in /docker/77c1 killed as a result of limit of /docker/77c1\nmemory: usage 16777216kB, limit 16777216kB, failcnt 881\nMemory cgroup stats for /docker/77c1: cache:2064KB rss:16775168KB rss_huge:0KB shmem:1960KB mapped_file:24KB dirty:0KB writeback:0KB inactive_anon:1960KB active_anon:16775100KB inactive_file:40KB active_file:64KB unevictable:0KB\nMemory cgroup out of memory: Kill process 9120 (trainer) score 1001 or sacrifice child\nKilled process 9120 (trainer) total-vm:33554432kB, anon-rss:16775100kB, file-rss:24kB",
        states: &[("kind", "host_oom_cgroup"), ("memcg_limit", "limit 16777216kB"), ("memcg.anon", "rss:16775168KB")],
        never: None,
    },
    KnownMessage {
        producer: "kernel, the victim",
        text: "Memory cgroup out of memory: Killed process 40112 (trainer) total-vm:204800000kB, anon-rss:47960000kB, file-rss:40000kB, shmem-rss:0kB, UID:0 pgtables:97280kB oom_score_adj:985",
        states: &[
            ("kind", "host_oom_cgroup"),
            ("pid", "40112"),
            ("anon_rss", "anon-rss:47960000kB"),
            ("total_vm", "total-vm:204800000kB"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "Slurm",
        text: "slurmstepd: error: Detected 1 oom_kill event in StepId=90017.0. Some of the step tasks have been OOM Killed.\nsrun: error: node11: task 5: Out Of Memory",
        states: &[
            ("kind", "host_oom_cgroup"),
            ("host", "node11"),
            ("rank", "5"),
            ("slurm.job", "90017"),
            ("slurm.step", "0"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "Slurm, the page cache",
        text: "slurmstepd: error: Exceeded job memory limit at some point.",
        states: &[("slurm.limit_reached", "Exceeded job memory limit at some point.")],
        never: Some("kind"),
    },
    KnownMessage {
        producer: "kubelet, eviction",
        text: "The node was low on resource: memory. Threshold quantity: 100Mi, available: 41Mi. Container actor was using 401Gi, request is 96Gi, has larger consumption of memory. ",
        states: &[
            ("kind", "host_oom_userspace"),
            ("role", "actor"),
            ("worker_used", "401Gi"),
            ("container.request", "96Gi"),
            ("node.available", "41Mi"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "vLLM ≥0.11, the device is taken",
        text: "ValueError: Free memory on device cuda:2 (40.5/79.15 GiB) on startup is less than desired GPU memory utilization (0.92, 72.82 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        states: &[
            ("kind", "gpu_oom"),
            ("device", "2"),
            ("gpu_free", "40.5"),
            ("gpu_total", "79.15 GiB"),
            ("requested", "72.82 GiB"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "vLLM 0.9–0.10, the KV cache",
        text: "ValueError: To serve at least one request with the models's max seq len (65536), (12.00 GiB KV cache is needed, which is larger than the available KV cache memory (4.87 GiB). Based on the available memory, the estimated maximum model length is 26592. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
        states: &[
            ("kind", "gpu_oom"),
            ("requested", "12.00 GiB"),
            ("kv_cache_available", "4.87 GiB"),
            ("vllm.estimated_max_model_len", "26592"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "vLLM, asleep",
        text: "INFO 04-02 10:00:00 [gpu_worker.py:96] Sleep mode freed 48.75 GiB memory, 11.08 GiB memory is still in use.",
        states: &[("vllm.sleep_freed", "48.75 GiB"), ("other", "11.08 GiB")],
        never: Some("kind"),
    },
    KnownMessage {
        producer: "verl ≥0.4",
        text: "Before state_dict() in sharding manager memory, memory allocated (GB): 9.18, memory reserved (GB): 12.40, device memory used/total (GB): 15.93/79.15",
        states: &[("torch_allocated", "9.18"), ("torch_reserved", "12.40"), ("other", "15.93")],
        never: Some("kind"),
    },
    KnownMessage {
        producer: "EasyR1",
        text: "(WorkerDict pid=8123) After vllm wake up in sharding manager: 58.66 GB / 79.15 GB.",
        states: &[("series", "EasyR1 pid 8123"), ("other", "58.66 GB"), ("gpu_total", "79.15 GB")],
        never: Some("kind"),
    },
    KnownMessage {
        producer: "JAX",
        text: "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17.25GiB.",
        states: &[("kind", "gpu_oom"), ("requested", "17.25GiB")],
        never: None,
    },
    KnownMessage {
        producer: "earlyoom",
        text: "earlyoom[733]: sending SIGTERM to process 220417 uid 1000 \"python\": badness 801, VmRSS 40960 MiB",
        states: &[
            ("kind", "host_oom_userspace"),
            ("pid", "220417"),
            ("worker_used", "40960 MiB"),
            ("earlyoom.signal", "SIGTERM"),
        ],
        never: None,
    },
    KnownMessage {
        producer: "systemd-oomd",
        text: "systemd-oomd[644]: Killed /user.slice/user-1001.slice/tmux.scope due to memory pressure for /user.slice/user-1001.slice being 72.05% > 60.00% for > 30s with reclaim activity",
        states: &[("kind", "host_oom_userspace"), ("role", "tmux.scope"), ("node_threshold", "60.00%")],
        never: None,
    },
];
