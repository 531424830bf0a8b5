//! Reports that were damaged on their way into a log.

use crate::model::{Bytes, Event, FactValue, FigureName, Kind, Shortage, What};
use crate::parse::testing;

fn read(lines: &[&str]) -> Vec<Event> {
    testing::read(lines.join("\n").as_bytes())
}

fn shortage(event: &Event) -> Option<&Shortage> {
    match &event.what {
        What::Shortage(shortage) => Some(shortage),
        _ => None,
    }
}

/// For each event its kind, the victims' pids and the task that asked for memory.
fn kills(lines: &[&str]) -> Vec<(Kind, Vec<u32>, Option<String>)> {
    let told = |event: &Event| {
        let shortage = shortage(event)?;
        let pids = shortage.victims.iter().filter_map(|victim| victim.pid).collect();
        Some((shortage.kind, pids, text(event, "kernel.trigger")))
    };
    read(lines).iter().filter_map(told).collect()
}

fn text(event: &Event, key: &str) -> Option<String> {
    event.facts.iter().find(|fact| fact.key == key).and_then(|fact| match &fact.value {
        FactValue::Text(text) => Some(text.clone()),
        FactValue::Number(_) => None,
    })
}

fn number(event: &Event, key: &str) -> Option<f64> {
    event.facts.iter().find(|fact| fact.key == key).and_then(|fact| match fact.value {
        FactValue::Number(number) => Some(number),
        FactValue::Text(_) => None,
    })
}

fn bytes(event: &Event, name: FigureName) -> Option<i128> {
    event.figures.iter().find(|figure| figure.name == name)?.bytes.map(|bytes| bytes.0)
}

const TRIGGER: &str = "[  100.000001] python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0";
const USAGE: &str = "[  100.000002] memory: usage 1048576kB, limit 1048576kB, failcnt 7";
const KILL: &str = "[  100.000007] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,task=python3,pid=71,uid=0";
const VICTIM: &str = "[  100.000008] Memory cgroup out of memory: Killed process 71 (python3) total-vm:4096000kB, anon-rss:1000000kB, file-rss:4000kB, shmem-rss:0kB, UID:0 pgtables:2100kB oom_score_adj:0";
const REAPED: &str =
    "[  100.200001] oom_reaper: reaped process 71 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB";

fn of(line: &str, pid: &str, seconds: &str) -> String {
    line.replace("71", pid).replace("100.", seconds)
}

fn python() -> Option<String> {
    Some("python3".to_owned())
}

#[test]
fn several_kills_are_several_events() {
    let second = [TRIGGER, USAGE, KILL, VICTIM, REAPED].map(|line| of(line, "72", "101."));
    let mut lines = vec![TRIGGER, USAGE, KILL, VICTIM];
    lines.extend(second.iter().map(String::as_str));
    let both = [(Kind::HostOomCgroup, vec![71], python()), (Kind::HostOomCgroup, vec![72], python())];
    assert_eq!(kills(&lines), both);
    // The reaper of the first victim is late.
    lines.insert(6, REAPED);
    assert_eq!(kills(&lines), both);
    // Only the lines that somebody searched for.
    lines.retain(|line| line.contains("invoked") || line.contains("Killed"));
    assert_eq!(kills(&lines), both);
    let searched = [TRIGGER, REAPED];
    assert_eq!(kills(&searched).iter().map(|(_, pids, _)| pids.clone()).collect::<Vec<_>>(), [vec![71]]);
    lines.reverse();
    let mut reversed = both.clone();
    reversed.reverse();
    assert_eq!(kills(&lines), reversed);
    // The kernel rate-limits the reports of kills in quick succession.
    let third = of(VICTIM, "73", "101.");
    lines = vec![TRIGGER, USAGE, KILL, VICTIM, &third];
    let last = [both[0].clone(), (Kind::HostOomCgroup, vec![73], None)];
    assert_eq!(kills(&lines), last);
}

#[test]
fn newest_first_is_read_like_oldest_first() {
    let table = [
        "[  100.000003] Memory cgroup stats for /a:",
        "[  100.000003] anon 1024000000",
        "[  100.000003] file 4096000",
        "[  100.000004] Tasks state (memory values in pages):",
        "[  100.000005] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
        "[  100.000006] [     71]     0    71  1024000   251000  2150400        0             0 python3",
        "[  100.000006] [     72]     0    72  1024000   251000  2150400        0             0 python3",
    ];
    let mut lines = vec![TRIGGER, USAGE];
    lines.extend(table);
    lines.extend([KILL, VICTIM, REAPED]);
    let forward = read(&lines);
    lines.reverse();
    let backward = read(&lines);
    for events in [&forward, &backward] {
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].figures.len(), 9, "{:?}", events[0].figures);
        assert_eq!(number(&events[0], "memcg.anon"), Some(1_024_000_000.0));
        assert_eq!(shortage(&events[0]).map(|shortage| shortage.consumers.len()), Some(2));
        assert_eq!(text(&events[0], "kernel.trigger"), python());
    }
    // Two of them.
    let older: Vec<String> = lines.iter().map(|line| of(line, "70", "99.")).collect();
    lines.extend(older.iter().map(String::as_str));
    let both = [(Kind::HostOomCgroup, vec![71], python()), (Kind::HostOomCgroup, vec![70], python())];
    assert_eq!(kills(&lines), both);
}

#[test]
fn lines_of_others_may_stand_between() {
    let lines = [
        "step 12 loss 2.5",
        TRIGGER,
        "[  100.000001] nvidia 0000:65:00.0: enabling device",
        "  Batch: 40%|####      | 2/5 [00:01<00:02]",
        USAGE,
        "file 3",
        "[  100.000005] eth0: link up",
        KILL,
        "a line of the job",
        VICTIM,
        "another",
        REAPED,
    ];
    assert_eq!(kills(&lines), [(Kind::HostOomCgroup, vec![71], python())]);
    let far = vec!["[  100.000005] eth0: link up"; 1000];
    let lines: Vec<&str> = [TRIGGER].into_iter().chain(far).chain([KILL, VICTIM]).collect();
    assert_eq!(kills(&lines), [(Kind::HostOomKernel, vec![], python()), (Kind::HostOomCgroup, vec![71], None)]);
}

#[test]
fn a_report_cut_at_both_ends_is_read() {
    assert_eq!(kills(&[USAGE, KILL]), [(Kind::HostOomCgroup, vec![71], None)]);
    assert_eq!(kills(&[TRIGGER, USAGE]), [(Kind::HostOomCgroup, vec![], python())]);
    assert_eq!(kills(&[VICTIM]), [(Kind::HostOomCgroup, vec![71], None)]);
    assert_eq!(kills(&[REAPED, VICTIM]), [(Kind::HostOomCgroup, vec![71], None)]);
    let cut = KILL.split(",task=").next().unwrap_or_default();
    assert_eq!(kills(&[TRIGGER, cut]), [(Kind::HostOomCgroup, vec![], python())]);
    let events = read(&[cut]);
    assert_eq!(text(&events[0], "kernel.oom_memcg").as_deref(), Some("/a"));
    assert_eq!(text(&events[0], "kernel.task_memcg"), None, "its end is not to be seen");
}

#[test]
fn the_kernels_lines_may_be_glued_or_quoted() {
    let lines = [
        "Loading shards:  75%|#######   | 3/4 [00:08<00:02]Out of memory: Killed process 88 (python) total-vm:4000kB, anon-rss:3000kB, file-rss:0kB, shmem-rss:0kB",
        "Warning  OOMKilling  2m  kernel-monitor  Memory cgroup out of memory: Killed process 89 (python) total-vm:4000kB, anon-rss:3000kB, file-rss:0kB, shmem-rss:0kB",
    ];
    let both = [(Kind::HostOomKernel, vec![88], None), (Kind::HostOomCgroup, vec![89], None)];
    assert_eq!(kills(&lines), both);
}

#[test]
fn a_mention_is_no_event() {
    for line in [
        "pr_err(\"%s: Killed process %d (%s) total-vm:%lukB\", message, pid, comm);",
        "{\"pattern\": \"Killed process \\\\d+ (.+) total-vm:\\\\d+kB, anon-rss:\\\\d+kB\"}",
        "grep -E 'invoked oom-killer|Out of memory: Kill' /var/log/syslog",
        "Killed process 4711 (train.py)",
        "Killed process 4711",
        "kill process 4711 (train.py) if it hangs",
        "Out of memory and no killable processes is what the kernel says then",
        "see `Out of memory and no killable processes...` in mm/oom_kill.c",
        "vm.panic_on_oom = 1",
        "Mem-Info:",
        "total_vm      rss name",
        "oom_reaper: see mm/oom_kill.c",
        "oom-kill:constraint=",
        "memory: usage 12 GB",
        "python3 invoked oom-killer: gfp_mask=…",
    ] {
        assert!(read(&[line]).is_empty(), "{line}");
        // Nor does it take away what follows.
        assert_eq!(kills(&[line, TRIGGER, USAGE, KILL, VICTIM]), [(Kind::HostOomCgroup, vec![71], python())], "{line}");
    }
}

#[test]
fn statistics_of_others_are_none() {
    let lines = [
        "file 3",
        TRIGGER,
        "file 4",
        USAGE,
        "file 5",
        "[  100.000003] Memory cgroup stats for /a:",
        KILL,
        "file 6",
        VICTIM,
    ];
    let events = read(&lines);
    assert_eq!((events.len(), number(&events[0], "memcg.file")), (1, None));
}

#[test]
fn pages_are_as_large_as_the_victim_says() {
    let lines = [
        TRIGGER,
        "[  100.000005] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
        "[  100.000006] [     71]     0    71    64000    15688  2150400        2             0 python3",
        KILL,
        VICTIM,
    ];
    let events = read(&lines);
    assert_eq!(number(&events[0], "kernel.victim_footprint"), Some(15690.0 * 65536.0));
    assert_eq!(shortage(&events[0]).map(|shortage| shortage.consumers[0].bytes), Some(Bytes(15690 << 16)));
}

#[test]
fn blocks_of_the_order_are_counted() {
    let lines = [
        "python3 invoked oom-killer: gfp_mask=0x40cc0(GFP_KERNEL|__GFP_COMP), order=3, oom_score_adj=0",
        "Node 0 Normal free:9000kB min:800kB low:1000kB high:1200kB managed:900000kB",
        "Node 0 Normal: 1000*4kB (U) 500*8kB (UE) 20*16kB (M) 2*32kB (H) 0*64kB 5*128kB (C) = 9024kB",
        "Out of memory: Killed process 71 (python3) total-vm:4000kB, anon-rss:3000kB, file-rss:0kB, shmem-rss:0kB",
    ];
    let events = read(&lines);
    assert_eq!(number(&events[0], "kernel.free_blocks"), Some(7.0));
}

#[test]
fn huge_pages_of_all_nodes_are_added() {
    let lines = [
        "Mem-Info:",
        "Node 0 hugepages_total=512 hugepages_free=512 hugepages_surp=0 hugepages_size=2048kB",
        "Node 0 hugepages_total=1 hugepages_free=1 hugepages_surp=0 hugepages_size=1048576kB",
        "Node 1 hugepages_total=2 hugepages_free=0 hugepages_surp=0 hugepages_size=1048576kB",
        "Out of memory: Killed process 71 (python3) total-vm:4000kB, anon-rss:3000kB, file-rss:0kB, shmem-rss:0kB",
    ];
    let events = read(&lines);
    assert_eq!(number(&events[0], "kernel.hugepages_reserved"), Some((4u64 << 30) as f64));
    assert_eq!(number(&events[0], "kernel.hugepages_unused"), Some((2u64 << 30) as f64));
}

#[test]
fn no_limit_is_no_figure() {
    let lines = [TRIGGER, &USAGE.replace("limit 1048576kB", "limit 9007199254740988kB"), VICTIM];
    let events = read(&lines);
    assert_eq!(bytes(&events[0], FigureName::MemcgUsage), Some(1 << 30));
    assert_eq!(bytes(&events[0], FigureName::MemcgLimit), None);
}

#[test]
fn statistics_in_one_line_of_rsyslog_are_read() {
    let lines = [
        TRIGGER,
        USAGE,
        "[  100.000003] Memory cgroup stats for /a:",
        "[  100.000003] anon 900000000#012file 5000000#012kernel_stack 16384#012slab 1000",
        KILL,
        VICTIM,
    ];
    let events = read(&lines);
    assert_eq!(number(&events[0], "memcg.file"), Some(5_000_000.0));
    assert_eq!(number(&events[0], "memcg.slab"), Some(1000.0));
}

#[test]
fn statistics_of_the_groups_below_are_added() {
    let lines = [
        "Task in /job/task killed as a result of limit of /job",
        "Memory cgroup stats for /job: cache:8KB rss:1024KB",
        "Memory cgroup stats for /job/task: cache:16KB rss:2048KB",
        "Memory cgroup out of memory: Kill process 9 (a) score 9 or sacrifice child",
    ];
    let events = read(&lines);
    assert_eq!(number(&events[0], "memcg.anon"), Some(f64::from(3 << 20)));
    assert_eq!(number(&events[0], "memcg.file"), Some(f64::from(24 << 10)));
}

#[test]
fn what_a_width_broke_is_read_whole() {
    let within_words = read(&[
        "[  100.000008] Out of memory: Killed process 4711 (python3) total-vm:22144612kB, anon",
        "-rss:15823044kB, file-rss:12kB, shmem-rss:4kB, UID:0 pgtables:34567kB oom_score",
        "_adj:0",
        "[  100.200000] eth0: link up",
    ]);
    let between_words = read(&[
        "Out of memory: Killed process 4711 (python3)",
        "total-vm:22144612kB, anon-rss:15823044kB, file-rss:12kB,",
        "shmem-rss:4kB",
        "anon-rss is what nobody else holds",
    ]);
    for events in [within_words, between_words] {
        assert_eq!(events.len(), 1);
        for (name, kib) in [(FigureName::AnonRss, 15_823_044), (FigureName::FileRss, 12), (FigureName::ShmemRss, 4)] {
            assert_eq!(bytes(&events[0], name), Some(kib * 1024), "{name}");
        }
    }
    let killed = kills(&[
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_m",
        "emcg=/a,task_memcg=/a,task=python3,pid=4711,uid=0",
    ]);
    assert_eq!(killed, [(Kind::HostOomCgroup, vec![4711], None)]);
}
