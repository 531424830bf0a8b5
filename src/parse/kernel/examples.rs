//! Reports of each version, as they stand in logs; see [`Example`].

use crate::parse::Example;

pub(super) const EXAMPLES: &[Example] = &[
    Example {
        version: "2.6.2x, the whole machine",
        text: "httpd invoked oom-killer: gfp_mask=0x201d2, order=0, oomkilladj=0\n\
            Mem-info:\n\
            Free swap  = 0kB\n\
            Total swap = 2097144kB\n\
            Out of Memory: Kill process 4209 (init.sh) score 80112 and children.\n\
            Out of memory: Killed process 4211 (java).",
        states: &[
            ("kind", "host_oom_kernel"),
            ("pid", "4211"),
            ("role", "java"),
            ("victim_pid", "Killed process 4211"),
            ("other", "Free swap  = 0kB"),
            ("other", "Total swap = 2097144kB"),
            ("other", "score 80112"),
            ("kernel.trigger", "httpd"),
            ("kernel.chosen_pid", "Kill process 4209"),
            ("kernel.gfp_mask", "0x201d2"),
        ],
    },
    Example {
        version: "2.6.32, RHEL 6",
        text: "Mar  3 04:11:09 node2 kernel: java invoked oom-killer: gfp_mask=0x280da, order=0, oom_adj=0, oom_score_adj=0\n\
            Mar  3 04:11:09 node2 kernel: java cpuset=/ mems_allowed=0-1\n\
            Mar  3 04:11:09 node2 kernel: Pid: 30211, comm: java Not tainted 2.6.32-754.el6.x86_64 #1\n\
            Mar  3 04:11:09 node2 kernel: [ pid ]   uid  tgid total_vm      rss cpu oom_adj oom_score_adj name\n\
            Mar  3 04:11:09 node2 kernel: [30100]   500 30100 11402331  7711201   5       0             0 java\n\
            Mar  3 04:11:09 node2 kernel: Out of memory: Kill process 30100 (java) score 911 or sacrifice child\n\
            Mar  3 04:11:09 node2 kernel: Killed process 30100, UID 500, (java) total-vm:45609324kB, anon-rss:30844792kB, file-rss:12kB",
        states: &[
            ("kind", "host_oom_kernel"),
            ("host", "node2"),
            ("victim_pid", "Killed process 30100"),
            ("role", "java"),
            ("total_vm", "total-vm:45609324kB"),
            ("anon_rss", "anon-rss:30844792kB"),
            ("file_rss", "file-rss:12kB"),
            ("oom_score_adj", "0"),
            ("consumer", "[30100]   500 30100 11402331  7711201   5       0             0 java"),
            ("kernel.release", "2.6.32-754.el6.x86_64"),
            ("kernel.trigger_pid", "30211"),
            ("kernel.mems_allowed", "0-1"),
        ],
    },
    Example {
        version: "3.10, RHEL 7, two nodes; rsyslog writes line feeds as #012",
        text: "rsyslogd invoked oom-killer: gfp_mask=0x201da, order=0, oom_score_adj=0\n\
            rsyslogd cpuset=/ mems_allowed=0-1\n\
            CPU: 9 PID: 1212 Comm: rsyslogd Not tainted 3.10.0-957.el7.x86_64 #1\n\
            Call Trace:\n\
            \x20[<ffffffff8b70c1aa>] dump_stack+0x19/0x1b\n\
            Mem-Info:\n\
            active_anon:6120331 inactive_anon:911204 isolated_anon:0#012 active_file:2077 inactive_file:1988 isolated_file:0#012 unevictable:12 dirty:4 writeback:6 unstable:0#012 slab_reclaimable:31442 slab_unreclaimable:20917#012 mapped:6120 shmem:77012 pagetables:30155 bounce:0#012 free:40221 free_pcp:0 free_cma:0\n\
            Node 0 DMA free:15904kB min:40kB low:48kB high:60kB present:15992kB managed:15908kB\n\
            Node 0 Normal free:40104kB min:40960kB low:51200kB high:61440kB present:15728640kB managed:15450112kB\n\
            Node 1 Normal free:61208kB min:44032kB low:55040kB high:66048kB present:16777216kB managed:16500736kB\n\
            Node 0 Normal: 2100*4kB (UEM) 800*8kB (UEM) 500*16kB (UEM) 541*32kB (UEM) 0*64kB = 40112kB\n\
            Node 0 hugepages_total=8 hugepages_free=8 hugepages_surp=0 hugepages_size=1048576kB\n\
            Node 1 hugepages_total=4 hugepages_free=4 hugepages_surp=0 hugepages_size=1048576kB\n\
            Free swap  = 0kB\n\
            Total swap = 4194300kB\n\
            8126464 pages RAM\n\
            [ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n\
            [ 7710]    27  7710  9120004  5500121   14101  1011200             0 postgres\n\
            [ 7802]  1002  7802  2800411  2401007    6990    28817             0 java\n\
            Out of memory: Kill process 7710 (postgres) score 701 or sacrifice child\n\
            Killed process 7710 (postgres) total-vm:36480016kB, anon-rss:22000484kB, file-rss:0kB, shmem-rss:0kB",
        states: &[
            ("kind", "host_oom_kernel"),
            ("victim_pid", "Killed process 7710"),
            ("other", "score 701"),
            ("other", "1011200"),
            ("node_total", "8126464 pages RAM"),
            ("oom_score_adj", "0"),
            ("kernel.anon", "active_anon:6120331"),
            ("kernel.slab", "slab_reclaimable:31442"),
            ("kernel.free_total", "free:40221"),
            ("kernel.zone", "Node 0 Normal"),
            ("kernel.free", "free:40104kB"),
            ("kernel.min", "min:40960kB"),
            (
                "kernel.hugepages_reserved",
                "Node 0 hugepages_total=8 hugepages_free=8 hugepages_surp=0 hugepages_size=1048576kB",
            ),
            ("kernel.swap_total", "Total swap = 4194300kB"),
        ],
    },
    Example {
        version: "3.13, a cgroup without limit for swap",
        text: "Feb 11 02:40:12 kernel: [ 9120.338440] trainer invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0\n\
            Feb 11 02:40:12 kernel: [ 9120.338446] CPU: 5 PID: 8811 Comm: trainer Tainted: G           OX 3.13.0-55-generic #94-Ubuntu\n\
            Feb 11 02:40:12 kernel: [ 9120.338493] Task in /mem/job killed as a result of limit of /mem\n\
            Feb 11 02:40:12 kernel: [ 9120.338495] memory: usage 1980kB, limit 1984kB, failcnt 7714\n\
            Feb 11 02:40:12 kernel: [ 9120.338495] memory+swap: usage 0kB, limit 18014398509481983kB, failcnt 0\n\
            Feb 11 02:40:12 kernel: [ 9120.338496] kmem: usage 16kB, limit 18014398509481983kB, failcnt 0\n\
            Feb 11 02:40:12 kernel: [ 9120.338497] Memory cgroup stats for /mem: cache:0KB rss:0KB rss_huge:0KB mapped_file:0KB writeback:0KB\n\
            Feb 11 02:40:12 kernel: [ 9120.338498] Memory cgroup stats for /mem/job: cache:12KB rss:1952KB rss_huge:0KB mapped_file:0KB writeback:20KB inactive_anon:560KB\n\
            Feb 11 02:40:12 kernel: [ 9120.338505] [ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n\
            Feb 11 02:40:12 kernel: [ 9120.338600] [ 8811]  60117  8811  2101300      401    4099  2080114             0 trainer\n\
            Feb 11 02:40:12 kernel: [ 9120.338607] Memory cgroup out of memory: Kill process 8811 (trainer) score 990 or sacrifice child\n\
            Feb 11 02:40:12 kernel: [ 9120.338608] Killed process 8811 (trainer) total-vm:8405200kB, anon-rss:1204kB, file-rss:400kB",
        states: &[
            ("kind", "host_oom_cgroup"),
            ("memcg_usage", "usage 1980kB"),
            ("memcg_limit", "limit 1984kB"),
            ("total_vm", "total-vm:8405200kB"),
            ("anon_rss", "anon-rss:1204kB"),
            ("other", "2080114"),
            ("kernel.oom_memcg", "/mem"),
            ("kernel.task_memcg", "/mem/job"),
            ("kernel.release", "3.13.0-55-generic"),
            ("memcg.anon", "rss:1952KB"),
            ("memcg.file", "cache:12KB"),
            ("memcg.kernel", "usage 16kB"),
        ],
    },
    Example {
        version: "4.6–4.14, a child dies in the place of its parent",
        text: "[91422.100100] python invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), nodemask=(null),  order=0, oom_score_adj=968\n\
            [91422.100181] Task in /kubepods/burstable/pod77/ab12 killed as a result of limit of /kubepods/burstable/pod77\n\
            [91422.100190] memory: usage 67108864kB, limit 67108864kB, failcnt 1\n\
            [91422.100199] [ pid ]   uid  tgid total_vm      rss nr_ptes nr_pmds swapents oom_score_adj name\n\
            [91422.100204] [21001]     0 21001 17301504 16021337   32011      66        0           968 python\n\
            [91422.100206] [21044]     0 21044   803211   700100    1501       8        0           968 pt_data_worker\n\
            [91422.100211] Memory cgroup out of memory: Kill process 21001 (python) score 1933 or sacrifice child\n\
            [91422.100300] Killed process 21044 (pt_data_worker) total-vm:3212844kB, anon-rss:2790100kB, file-rss:10300kB, shmem-rss:0kB\n\
            [91422.233001] oom_reaper: reaped process 21044 (pt_data_worker), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
        states: &[
            ("kind", "host_oom_cgroup"),
            ("pid", "21044"),
            ("role", "pt_data_worker"),
            ("kernel.chosen_pid", "Kill process 21001"),
            ("oom_score_adj", "968"),
            ("kernel.gfp_mask", "0x14000c0(GFP_KERNEL)"),
            ("kernel.order", "order=0"),
            ("kernel.reaped", "reaped process 21044"),
            ("shmem_rss", "shmem-rss:0kB"),
        ],
    },
    Example {
        version: "4.20, a patch: bytes",
        text: "[   71.100001] Task in /test killed as a result of limit of /test\n\
            [   71.100702] memory 67108864 (max 67112960)\n\
            [   71.101010] swap 0\n\
            [   71.101188] anon 66845824\n\
            [   71.101377] file 0\n\
            [   71.101601] slab 212992\n\
            [   71.109002] Memory cgroup out of memory: Kill process 2077 (bench) score 981 or sacrifice child\n\
            [   71.109871] Killed process 2077 (bench) total-vm:140288kB, anon-rss:65104kB, file-rss:308kB, shmemB",
        states: &[
            ("kind", "host_oom_cgroup"),
            ("memcg_usage", "memory 67108864"),
            ("memcg_limit", "max 67112960"),
            ("memcg.anon", "anon 66845824"),
            ("memcg.slab", "slab 212992"),
            ("file_rss", "file-rss:308kB"),
        ],
    },
    Example {
        version: "5.1–5.3, a name with a blank and a slash; cut",
        text: "[Wed Jul  3 06:07:08 2024] CPU 2/KVM invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=901\n\
            [Wed Jul  3 06:07:08 2024] CPU: 14 PID: 41190 Comm: CPU 2/KVM Not tainted 5.3.18-57-default #1 SLE15-SP3\n\
            [...]\n\
            [Wed Jul  3 06:07:08 2024] memory: usage 33550000kB, limit 33554432kB, failcnt 1207\n\
            [Wed Jul  3 06:07:08 2024] memory+swap: usage 0kB, limit 9007199254740988kB, failcnt 0\n\
            [Wed Jul  3 06:07:08 2024] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n\
            [Wed Jul  3 06:07:08 2024] [  41177]   107 41177  9151232  8300411  67108864        0           902 qemu-system-x86\n\
            [Wed Jul  3 06:07:08 2024] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-e1.scope,mems_allowed=0-3,oom_memcg=/kubepods.slice/pod5.slice,task_memcg=/kubepods.slice/pod5.slice/cri-containerd-e1.scope,task=qemu-system-x86,pid=41177,uid=107\n\
            [Wed Jul  3 06:07:08 2024] Memory cgroup out of memory: Killed process 41177 (qemu-system-x86) total-vm:36604928kB, anon-rss:33180044kB, file-rss:21600kB, shmem-rss:8kB",
        states: &[
            ("kind", "host_oom_cgroup"),
            ("kernel.trigger", "CPU 2/KVM"),
            ("kernel.constraint", "CONSTRAINT_MEMCG"),
            ("kernel.cpuset", "cri-containerd-e1.scope"),
            ("kernel.mems_allowed", "0-3"),
            ("kernel.oom_memcg", "/kubepods.slice/pod5.slice"),
            ("kernel.task_memcg", "/kubepods.slice/pod5.slice/cri-containerd-e1.scope"),
            ("oom_score_adj", "902"),
            ("shmem_rss", "shmem-rss:8kB"),
        ],
    },
    Example {
        version: "≥5.4, cgroup v2; statistics whose lines lack the stamp",
        text: "[Mi Okt  1 23:08:41 2025] python3 invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=985\n\
            [Mi Okt  1 23:08:41 2025]  mem_cgroup_out_of_memory+0x145/0x160\n\
            [Mi Okt  1 23:08:41 2025] memory: usage 524288000kB, limit 524288000kB, failcnt 91820\n\
            [Mi Okt  1 23:08:41 2025] swap: usage 8kB, limit 9007199254740988kB, failcnt 0\n\
            [Mi Okt  1 23:08:41 2025] Memory cgroup stats for /kubepods.slice/pod94eb.slice/cri-containerd-46b3.scope:\n\
            [Mi Okt  1 23:08:41 2025] anon 498216206336\n\
            \x20                         file 31457280000\n\
            \x20                         kernel 1520435200\n\
            \x20                         shmem 26843545600\n\
            \x20                         file_dirty 4194304\n\
            \x20                         file_writeback 8388608\n\
            \x20                         slab 33554432\n\
            [Mi Okt  1 23:08:41 2025] Tasks state (memory values in pages):\n\
            [Mi Okt  1 23:08:41 2025] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n\
            [Mi Okt  1 23:08:41 2025] [  23456]     0 23456 58023911 15023441 131072000        0           985 ray::WorkerDict\n\
            [Mi Okt  1 23:08:41 2025] [  23457]     0 23457 58023911 14900112 130072000        2           985 ray::WorkerDict\n\
            [Mi Okt  1 23:08:41 2025] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-46b3.scope,mems_allowed=0-1,oom_memcg=/kubepods.slice/pod94eb.slice,task_memcg=/kubepods.slice/pod94eb.slice/cri-containerd-46b3.scope,task=ray::WorkerDict,pid=23456,uid=0\n\
            [Mi Okt  1 23:08:41 2025] Memory cgroup out of memory: Killed process 23456 (ray::WorkerDict) total-vm:232095644kB, anon-rss:60040000kB, file-rss:53764kB, shmem-rss:0kB, UID:0 pgtables:128000kB oom_score_adj:985",
        states: &[
            ("kind", "host_oom_cgroup"),
            ("role", "ray::WorkerDict"),
            ("memcg_usage", "usage 524288000kB"),
            ("memcg_limit", "limit 524288000kB"),
            ("other", "swap: usage 8kB"),
            ("oom_score_adj", "oom_score_adj:985"),
            ("memcg.anon", "anon 498216206336"),
            ("memcg.file", "file 31457280000"),
            ("memcg.kernel", "kernel 1520435200"),
            ("memcg.shmem", "shmem 26843545600"),
            ("memcg.dirty", "file_dirty 4194304"),
            ("memcg.writeback", "file_writeback 8388608"),
            ("memcg.slab", "slab 33554432"),
            ("memcg.swap", "usage 8kB"),
            ("kernel.group_sum", "ray::WorkerDict × 2 = 122566881280"),
            ("consumer", "[  23457]     0 23457 58023911 14900112 130072000        2           985 ray::WorkerDict"),
        ],
    },
    Example {
        version: "6.1–6.7, the whole machine",
        text: "builder invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO), order=0, oom_score_adj=0\n\
            Mem-Info:\n\
            active_anon:2210014 inactive_anon:1400770 isolated_anon:0\n\
            \x20active_file:31 inactive_file:202 isolated_file:0\n\
            \x20unevictable:3070 dirty:61 writeback:12\n\
            \x20slab_reclaimable:98112 slab_unreclaimable:70455\n\
            \x20mapped:2011 shmem:20480 pagetables:27001\n\
            \x20sec_pagetables:0 bounce:0\n\
            \x20free:35110 free_pcp:0 free_cma:0\n\
            Node 0 active_anon:8840056kB inactive_anon:5603080kB active_file:124kB shmem:81920kB\n\
            Node 0 DMA32 free:66012kB boost:0kB min:14336kB low:17920kB high:21504kB present:3145728kB managed:3080192kB\n\
            lowmem_reserve[]: 0 0 14010 14010 14010\n\
            Node 0 Normal free:70100kB boost:4096kB min:70144kB low:84480kB high:98816kB present:14680064kB managed:14346240kB\n\
            4456448 pages RAM\n\
            oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=builder,pid=90817,uid=1004\n\
            Out of memory: Killed process 90817 (builder) total-vm:41203340kB, anon-rss:11020116kB, file-rss:16kB, shmem-rss:0kB, UID:1004 pgtables:80112kB oom_score_adj:0",
        states: &[
            ("kind", "host_oom_kernel"),
            ("kernel.constraint", "CONSTRAINT_NONE"),
            ("kernel.task_memcg", "/user.slice"),
            ("kernel.zone", "Node 0 Normal"),
            ("kernel.min", "min:70144kB"),
            ("kernel.shmem", "shmem:20480"),
            ("kernel.unevictable", "unevictable:3070"),
            ("kernel.ram", "4456448 pages RAM"),
        ],
    },
    Example {
        version: "≥6.8, no block of the size; bound to one node",
        text: "nvidia-persiste invoked oom-killer: gfp_mask=0x40dc0(GFP_KERNEL|__GFP_COMP|__GFP_ZERO), order=4, oom_score_adj=0\n\
            CPU: 1 UID: 0 PID: 911 Comm: nvidia-persiste Tainted: G           OE      6.11.0-21-generic #21-Ubuntu\n\
            Node 0 Normal free:9200000kB boost:0kB min:90112kB low:112640kB high:135168kB managed:131072000kB\n\
            Node 1 Normal free:120412kB boost:0kB min:90112kB low:112640kB high:135168kB managed:132120576kB\n\
            Node 1 Normal: 22011*4kB (UME) 3011*8kB (UME) 510*16kB (UM) 4*32kB (U) 2*64kB (U) 0*128kB 1*256kB (U) = 120412kB\n\
            Tasks state (memory values in pages):\n\
            [  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name\n\
            [   5120]     0  5120 58023911 15023441 15010000    13441         0 131072000        0             0 python3\n\
            oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask=1,cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/,task=python3,pid=5120,uid=0\n\
            Out of memory: Killed process 5120 (python3) total-vm:232095644kB, anon-rss:60040000kB, file-rss:53764kB, shmem-rss:0kB, UID:0 pgtables:128000kB oom_score_adj:0",
        states: &[
            ("kind", "host_oom_kernel"),
            ("kernel.constraint", "CONSTRAINT_MEMORY_POLICY"),
            ("kernel.nodemask", "1"),
            ("kernel.order", "order=4"),
            ("kernel.zone", "Node 1 Normal"),
            ("kernel.free_blocks", "Node 1 Normal"),
            ("kernel.release", "6.11.0-21-generic"),
            (
                "consumer",
                "[   5120]     0  5120 58023911 15023441 15010000    13441         0 131072000        0             0 python3",
            ),
        ],
    },
    Example {
        version: "≥5.3, cgroup v1; dmesg -x",
        text: "kern  :warn  : [ 1207.452887] pt_data_worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n\
            kern  :info  : [ 1207.453500] memory: usage 819200kB, limit 819200kB, failcnt 31\n\
            kern  :info  : [ 1207.453509] memory+swap: usage 819200kB, limit 819204kB, failcnt 0\n\
            kern  :info  : [ 1207.453513] Memory cgroup stats for /train:\n\
            kern  :info  : [ 1207.453515] cache 4096\n\
            kern  :info  : [ 1207.453516] rss 10\n\
            kern  :info  : [ 1207.453565] swap 0\n\
            kern  :info  : [ 1207.453601] total_cache 8192\n\
            kern  :info  : [ 1207.453602] total_rss 836763648\n\
            kern  :info  : [ 1207.453704] total_swap 12288\n\
            kern  :err   : [ 1207.453793] Memory cgroup out of memory: Killed process 6021 (python3) total-vm:902144kB, anon-rss:800412kB, file-rss:7012kB, shmem-rss:0kB, UID:0 pgtables:1804kB oom_score_adj:0",
        states: &[
            ("kind", "host_oom_cgroup"),
            ("kernel.trigger", "pt_data_worker"),
            ("memcg.anon", "total_rss 836763648"),
            ("memcg.file", "total_cache 8192"),
            ("memcg.swap", "total_swap 12288"),
            ("memcg.memory_and_swap_limit", "limit 819204kB"),
        ],
    },
    Example {
        version: "≥4.19, the whole cgroup dies",
        text: "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/pod9/c1,task_memcg=/pod9/c1,task=python3,pid=811,uid=0\n\
            Memory cgroup out of memory: Killed process 811 (python3) total-vm:9000000kB, anon-rss:8000000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1600kB oom_score_adj:979\n\
            Tasks in /pod9/c1 are going to be killed due to memory.oom.group set\n\
            Memory cgroup out of memory: Killed process 811 (python3) total-vm:9000000kB, anon-rss:8000000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1600kB oom_score_adj:979\n\
            Memory cgroup out of memory: Killed process 840 (bash) total-vm:8000kB, anon-rss:900kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:56kB oom_score_adj:979",
        states: &[("kind", "host_oom_cgroup"), ("pid", "811"), ("pid", "840"), ("kernel.oom_group", "/pod9/c1")],
    },
    Example {
        version: "≥2.6, by SysRq-f",
        text: "kworker/3:1 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1, oom_score_adj=0\n\
            Workqueue: events moom_callback\n\
            Node 0 DMA32 free:2410112kB min:40960kB low:51200kB high:61440kB present:3145728kB managed:3014656kB\n\
            Out of memory: Killed process 702 (packagekitd) total-vm:301224kB, anon-rss:20480kB, file-rss:18432kB, shmem-rss:0kB, UID:0 pgtables:212kB oom_score_adj:0",
        states: &[
            ("kind", "host_oom_kernel"),
            ("kernel.sysrq", "moom_callback"),
            ("kernel.order", "order=-1"),
            ("kernel.trigger", "kworker/3:1"),
            ("kernel.free", "free:2410112kB"),
        ],
    },
    Example {
        version: "≥2.6, vm.panic_on_oom",
        text: "[  412.000001] python invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0\n\
            [  412.000090] Kernel panic - not syncing: Out of memory: system-wide panic_on_oom is enabled",
        states: &[
            ("kind", "host_oom_kernel"),
            ("kernel.panic", "Kernel panic - not syncing: Out of memory: system-wide panic_on_oom is enabled"),
        ],
    },
    Example {
        version: "≥4.19, nobody to kill",
        text: "[    1.300011] [  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name\n\
            [    1.300107] Out of memory and no killable processes...\n\
            [    1.300260] Kernel panic - not syncing: System is deadlocked on memory",
        states: &[
            ("kind", "host_oom_kernel"),
            ("kernel.no_killable", "Out of memory and no killable processes..."),
            ("kernel.panic", "Kernel panic - not syncing: System is deadlocked on memory"),
        ],
    },
    Example {
        version: "newest first, journalctl -r",
        text: "03:14:19 node4 kernel: oom_reaper: reaped process 8820 (indexer), now anon-rss:0kB, file-rss:0kB, shmem-rss:16kB\n\
            03:14:19 node4 kernel: Out of memory: Killed process 8820 (indexer) total-vm:88080384kB, anon-rss:61203456kB, file-rss:0kB, shmem-rss:16kB, UID:1000 pgtables:140288kB oom_score_adj:0\n\
            03:14:19 node4 kernel: oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=indexer,pid=8820,uid=1000\n\
            03:14:19 node4 kernel: [   8820]  1000  8820 22020096 15300868 143654912        0             0 indexer\n\
            03:14:19 node4 kernel: [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n\
            03:14:19 node4 kernel: 16777216 pages RAM\n\
            03:14:18 node4 kernel: gnome-shell invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO), order=0, oom_score_adj=0",
        states: &[
            ("kind", "host_oom_kernel"),
            ("host", "node4"),
            ("victim_pid", "Killed process 8820"),
            ("kernel.trigger", "gnome-shell"),
            ("consumer", "[   8820]  1000  8820 22020096 15300868 143654912        0             0 indexer"),
            ("node_total", "16777216 pages RAM"),
        ],
    },
    Example {
        version: "≥5.0, only the choice",
        text: "[ 7120.400612] oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=(null),cpuset=job7,mems_allowed=1,3,global_oom,task_memcg=/job7,task=python3,pid=30417,uid=0",
        states: &[
            ("kind", "host_oom_kernel"),
            ("victim_pid", "pid=30417"),
            ("role", "python3"),
            ("kernel.constraint", "CONSTRAINT_CPUSET"),
            ("kernel.mems_allowed", "1,3"),
        ],
    },
    Example {
        version: "≥4.6, only the beginning",
        text: "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=985",
        states: &[("kind", "host_oom_kernel"), ("kernel.trigger", "python3"), ("kernel.order", "order=0")],
    },
    Example {
        version: "≥4.8, only the middle: the table's beginning",
        text: "[  492.668136] 1012736 pages RAM\n[  492.669366] 816128 pages HighMem/MovableOnly\n[  492.673008] Tasks state (memory values in pages):\n[  492.674226] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
        states: &[("kind", "host_oom_kernel")],
    },
    Example {
        version: "3.x–4.x, only the call trace",
        text: "[ 4771.273114]  [<ffffffff811928c2>] oom_kill_process+0x202/0x3c0\n[ 4771.273117]  [<ffffffff81192ce9>] out_of_memory+0x219/0x460",
        states: &[("kind", "host_oom_kernel")],
    },
    Example {
        version: "4.x on 32-bit ARM, only the call trace",
        text: "[58868.244248] [<8028db58>] (out_of_memory) from [<802da420>] (__alloc_pages_nodemask+0xbe8/0x121c)",
        states: &[("kind", "host_oom_kernel")],
    },
    Example {
        version: "≥5.3, only the cgroup's statistics",
        text: "Apr 17 09:17:11 node1 kernel: Memory cgroup stats for /jobs.slice/job9.slice:\nApr 17 09:17:11 node1 kernel: anon 14409728",
        states: &[("kind", "host_oom_cgroup")],
    },
    Example {
        version: "≥4.6, only the reaper",
        text: "[ 8801.200100] oom_reaper: reaped process 60233 (ray::rollout), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
        states: &[("kind", "host_oom_kernel"), ("victim_pid", "reaped process 60233"), ("role", "ray::rollout")],
    },
    Example {
        version: "≥4.19, the victim is ending already",
        text: "[ 8801.200100] Memory cgroup out of memory: OOM victim 4012 (python) is already exiting. Skip killing the task",
        states: &[("kind", "host_oom_cgroup"), ("victim_pid", "OOM victim 4012"), ("role", "python")],
    },
];
