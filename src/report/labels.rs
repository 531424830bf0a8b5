//! The headings and labels of reports in every language. A missing translation does not compile.

use crate::knowledge::Language;
use crate::model::{ClockSkew, Earlier, Ignored, Nodes, Outcomes, Seen};

/// The most unanswered nodes that are named.
const NAMED: usize = 8;

/// The number of nodes that did not answer, and the names of the first ones.
fn unanswered(nodes: &Nodes) -> Option<(usize, String)> {
    let named: Vec<&str> = nodes.unanswered.iter().take(NAMED).map(String::as_str).collect();
    (!named.is_empty()).then(|| (nodes.unanswered.len(), named.join(", ")))
}

/// Headings and labels.
pub(super) struct Labels {
    pub who: &'static str,
    pub job: &'static str,
    pub comma: &'static str,
    pub up_to: fn(&str) -> String,
    pub ranks: fn(u32) -> String,
    pub when: &'static str,
    pub phase: &'static str,
    pub phase_unknown: &'static str,
    pub headline: fn(&str, &[String]) -> String,
    pub summary: fn(&str, &str, f64) -> String,
    pub and: &'static str,
    pub action: &'static str,
    pub attempt: &'static str,
    /// Before a change for a job that went on.
    pub if_again: &'static str,
    pub record: &'static str,
    pub look: &'static str,
    pub stack: &'static str,
    pub ends: &'static str,
    pub folded: fn(usize) -> String,
    pub later: fn(f64) -> String,
    pub at: fn(&str) -> String,
    pub which_ranks: fn(&str, usize) -> String,
    pub a_process: &'static str,
    pub full: &'static str,
    pub job_of: fn(usize, usize) -> String,
    pub tags: Tags,
    pub figures: &'static str,
    pub holders: &'static str,
    pub arithmetic: &'static str,
    pub why: &'static str,
    pub change: &'static str,
    pub first_steps: &'static str,
    pub other_edits: fn(&[String]) -> String,
    pub largest: &'static str,
    pub useless: &'static str,
    pub next_time: &'static str,
    pub proof: &'static str,
    pub also: &'static str,
    pub read: &'static str,
    pub sure: &'static str,
    pub likely: &'static str,
    pub perhaps: &'static str,
    pub went_on: &'static str,
    pub and_went_on: &'static str,
    pub followed: &'static str,
    pub preceded: &'static str,
    pub before: &'static str,
    pub seen: fn(&Seen) -> String,
    pub earlier: fn(&Earlier) -> String,
    pub outcomes: fn(Outcomes) -> String,
    pub not_enough: &'static str,
    pub then: &'static str,
    pub together: fn(&[String], Option<&str>) -> String,
    pub cost: &'static str,
    pub needs: &'static str,
    pub note: &'static str,
    pub timeline: &'static str,
    pub limit: &'static str,
    pub predicted: &'static str,
    pub observed: &'static str,
    pub copy: &'static str,
    pub copied: &'static str,
    pub figure: &'static str,
    pub amount: &'static str,
    pub place: &'static str,
    pub long_diff: &'static str,
    pub ignored: fn(&Ignored) -> String,
    pub this_run: &'static str,
    pub solved: &'static str,
    pub later_run: &'static str,
    pub what_it_was: &'static str,
    pub not_oom: &'static str,
    pub cannot_be_told: &'static str,
    pub healthy: &'static str,
    pub nothing_read: &'static str,
    pub more: fn(usize) -> String,
    pub nodes: fn(&Nodes) -> String,
    pub more_in_json: fn(usize) -> String,
    pub others: fn(usize) -> String,
}

/// Short labels for the narrow column beside a screen's sections.
#[derive(Clone, Copy)]
pub(super) struct Tags {
    pub job: &'static str,
    pub why: &'static str,
    pub figures: &'static str,
    pub holders: &'static str,
    pub arithmetic: &'static str,
    pub snapshot: &'static str,
    pub stack: &'static str,
    pub ends: &'static str,
    pub proof: &'static str,
    pub useless: &'static str,
    pub next_time: &'static str,
    pub also: &'static str,
    pub read: &'static str,
}

const EN: Labels = Labels {
    who: "who",
    job: "job",
    comma: ", ",
    up_to: |version| format!(" {version} or older"),
    ranks: |ranks| if ranks == 1 { "1 rank".to_owned() } else { format!("{ranks} ranks") },
    when: "when",
    phase: "phase",
    phase_unknown: "cannot be told from this input",
    headline: |what, details| match details {
        [] => what.to_owned(),
        details => format!("{what}: {}", details.join("; ")),
    },
    summary: |what, why, confidence| format!("{what}. {why} ({:.0}% sure).", confidence * 100.0),
    and: " and ",
    action: "Do",
    attempt: "Try",
    if_again: "If again",
    record: "Record",
    look: "Look at",
    stack: "Stack",
    ends: "How it ended",
    folded: |count| format!("… {count} more, then"),
    later: |seconds| match seconds {
        ..120.0 => format!(" {seconds:.0} s later"),
        _ => format!(" {:.0} min later", seconds / 60.0),
    },
    at: |time| format!(" at {time}"),
    which_ranks: |ranks, count| if count == 1 { format!("rank {ranks}") } else { format!("ranks {ranks}") },
    a_process: "a process",
    job_of: |number, count| format!("job {number} of {count}"),
    full: "`--full` shows everything; `--format html` makes a page with charts.",
    tags: Tags {
        job: "Job",
        why: "Why",
        figures: "Memory",
        holders: "Held by",
        arithmetic: "Sums",
        snapshot: "Snapshot",
        stack: "Stack",
        ends: "Ends",
        proof: "Proof",
        useless: "No help",
        next_time: "Record",
        also: "Also",
        read: "Read",
    },
    figures: "Figures",
    holders: "Who held the memory",
    arithmetic: "Arithmetic",
    why: "Why",
    change: "What to change",
    first_steps: "What usually helps",
    other_edits: |numbers| {
        format!("For the other edits: `oomdoc fix` on the same paths with `--pick {}`", numbers.join("` or `--pick "))
    },
    largest: "largest",
    useless: "What will not help",
    next_time: "To know more next time",
    proof: "Proof",
    also: "Also",
    read: "Read",
    sure: "sure",
    likely: "likely",
    perhaps: "perhaps",
    went_on: "went on",
    and_went_on: ", and the job went on",
    followed: "followed",
    preceded: "earlier",
    before: "before",
    seen: |seen| {
        let times = if seen.count == 1 { "once".to_owned() } else { format!("{} times", seen.count) };
        let last = day(&seen.last).map(|day| format!(", last on {day}")).unwrap_or_default();
        let worked = worked(seen, ", ").map(|worked| format!(", fixed by {worked}")).unwrap_or_default();
        format!("seen {times}{last}{worked}")
    },
    earlier: |earlier| {
        let Earlier { title, likeness, .. } = earlier;
        let worked = listed(&earlier.worked, ", ").map(|worked| format!(", fixed by {worked}")).unwrap_or_default();
        format!("seen before: `{}`, {}: {title} ({likeness}% alike){worked}", short(earlier), day_of(&earlier.time))
    },
    outcomes: |outcomes| format!("worked {} out of {} times here", outcomes.worked, outcomes.tried()),
    not_enough: "not enough on its own",
    then: "then ",
    together: |numbers, needs| {
        let (last, first) = numbers.split_last().map_or(("", &[][..]), |(last, first)| (last.as_str(), first));
        format!(
            "{} and {last} together{}",
            first.join(", "),
            needs.map(|needs| format!(": {needs}")).unwrap_or_default()
        )
    },
    cost: "cost",
    needs: "needs",
    note: "note",
    timeline: "Memory over time",
    limit: "limit",
    predicted: "predicted",
    observed: "observed",
    copy: "Copy",
    copied: "Copied",
    figure: "figure",
    amount: "amount",
    place: "where",
    long_diff: "The change is too long to show here; `oomdoc fix` shows and writes it.",
    ignored: |Ignored { reason, until, by }| {
        let until = until.as_deref().map(|until| format!(" until {until}")).unwrap_or_default();
        format!("Ignored{until}: {reason} ({by})")
    },
    this_run: "this run",
    solved: "Solved",
    later_run: "A later run went through",
    what_it_was: "What it was",
    not_oom: "Not out of memory",
    cannot_be_told: "Whether it was memory cannot be told",
    healthy: "No sign of a failure, out of memory or otherwise",
    nothing_read: "No log lines were read\n\n  Name a job's log, a kernel log, or a folder that holds either: oomdoc analyze job.log dmesg.log",
    more: |count| format!("and {count} more"),
    nodes: |nodes| {
        let said = match unanswered(nodes) {
            None => format!("logs of {} nodes, read where they lie", nodes.count),
            Some((count, names)) => {
                let rest = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
                format!("{count} of {} nodes did not answer: {names}{rest}", nodes.count)
            }
        };
        let clock = |ClockSkew { node, seconds }: &ClockSkew| {
            let side = if *seconds < 0.0 { "behind" } else { "ahead" };
            format!("; the clock of {node} is about {:.0} s {side}", seconds.abs())
        };
        said + &nodes.clocks.iter().take(NAMED).map(clock).collect::<String>()
    },
    more_in_json: |count| format!("and {count} more in --format json"),
    others: |count| format!(" and {count} more"),
};

const ZH: Labels = Labels {
    who: "对象",
    job: "作业",
    comma: "，",
    up_to: |version| format!("（{version} 或更早）"),
    ranks: |ranks| format!("{ranks} 个 rank"),
    when: "时间",
    phase: "阶段",
    phase_unknown: "仅凭这些输入无法判断",
    headline: |what, details| match details {
        [] => what.to_owned(),
        details => format!("{what}：{}", details.join("；")),
    },
    summary: |what, why, confidence| format!("{what}。{why}（把握 {:.0}%）。", confidence * 100.0),
    and: " 和 ",
    action: "建议",
    attempt: "可尝试",
    if_again: "若再现",
    record: "请记录",
    look: "查看",
    stack: "调用栈",
    ends: "各进程的结局",
    folded: |count| format!("… 略去 {count} 层"),
    later: |seconds| match seconds {
        ..120.0 => format!("（{seconds:.0} 秒后）"),
        _ => format!("（{:.0} 分钟后）", seconds / 60.0),
    },
    at: |time| format!("（{time}）"),
    which_ranks: |ranks, _| format!("rank {ranks} "),
    a_process: "一个进程",
    job_of: |number, count| format!("第 {number} 个作业，共 {count} 个"),
    full: "`--full` 显示全部内容，`--format html` 生成带图表的页面。",
    tags: Tags {
        job: "作业",
        why: "原因",
        figures: "数据",
        holders: "占用者",
        arithmetic: "核算",
        snapshot: "显存快照",
        stack: "调用栈",
        ends: "结局",
        proof: "证据",
        useless: "无效",
        next_time: "请记录",
        also: "此外",
        read: "已读取",
    },
    figures: "数据",
    holders: "内存占用者",
    arithmetic: "内存核算",
    why: "原因",
    change: "建议修改",
    first_steps: "这类情况下最常见的有效做法",
    other_edits: |numbers| {
        format!("用同样的路径运行 `oomdoc fix` 并加上 `--pick {}`，即可查看相应修改", numbers.join("`、`--pick "))
    },
    largest: "最大",
    useless: "改了也没用",
    next_time: "下次请记录",
    proof: "证据",
    also: "此外",
    read: "已读取",
    sure: "确定",
    likely: "很可能",
    perhaps: "可能",
    went_on: "之后恢复",
    and_went_on: "，但作业继续运行",
    followed: "随之发生",
    preceded: "发生在前",
    before: "此前",
    seen: |seen| {
        let last = day(&seen.last).map(|day| format!("，最近一次 {day}")).unwrap_or_default();
        let worked = worked(seen, "、").map(|worked| format!("，曾以此解决：{worked}")).unwrap_or_default();
        format!("出现过 {} 次{last}{worked}", seen.count)
    },
    earlier: |earlier| {
        let Earlier { title, likeness, .. } = earlier;
        let worked = listed(&earlier.worked, "、").map(|worked| format!("，曾以此解决：{worked}")).unwrap_or_default();
        format!("此前出现过：`{}`，{}：{title}（相似度 {likeness}%）{worked}", short(earlier), day_of(&earlier.time))
    },
    outcomes: |outcomes| format!("在这里试过 {} 次，{} 次有效", outcomes.tried(), outcomes.worked),
    not_enough: "单独不够",
    then: "随后 ",
    together: |numbers, needs| {
        format!("第 {} 项一起{}", numbers.join("、"), needs.map(|needs| format!("：{needs}")).unwrap_or_default())
    },
    cost: "代价",
    needs: "前提",
    note: "注意",
    timeline: "内存随时间变化",
    limit: "上限",
    predicted: "预测",
    observed: "实测",
    copy: "复制",
    copied: "已复制",
    figure: "数据项",
    amount: "数值",
    place: "位置",
    long_diff: "改动过长，此处不显示：可用 `oomdoc fix` 写入。",
    ignored: |Ignored { reason, until, by }| {
        let until = until.as_deref().map(|until| format!("（至 {until}）")).unwrap_or_default();
        format!("已忽略{until}：{reason}（{by}）")
    },
    this_run: "本次运行",
    solved: "已解决",
    later_run: "之后的运行已通过",
    what_it_was: "原先的问题",
    not_oom: "不是内存不足",
    cannot_be_told: "无法判断是否为内存不足",
    healthy: "没有发现任何失败迹象",
    nothing_read: "没有读到日志\n\n  请提供作业日志、内核日志或包含它们的文件夹：oomdoc analyze job.log dmesg.log",
    more: |count| format!("另有 {count} 项"),
    nodes: |nodes| {
        let said = match unanswered(nodes) {
            None => format!("{} 个节点的日志，均在原处读取", nodes.count),
            Some((count, names)) => {
                let rest = if count > NAMED { format!("，另有 {} 个", count - NAMED) } else { String::new() };
                format!("{} 个节点中有 {count} 个没有答复：{names}{rest}", nodes.count)
            }
        };
        let clock = |ClockSkew { node, seconds }: &ClockSkew| {
            let side = if *seconds < 0.0 { "慢" } else { "快" };
            format!("；{node} 的时钟约{side} {:.0} 秒", seconds.abs())
        };
        said + &nodes.clocks.iter().take(NAMED).map(clock).collect::<String>()
    },
    more_in_json: |count| format!("另有 {count} 项，见 --format json"),
    others: |count| format!("，另有 {count} 个"),
};

/// The day of an RFC 3339 time.
fn day(time: &Option<String>) -> Option<&str> {
    time.as_deref().map(day_of)
}

fn day_of(time: &str) -> &str {
    time.get(..10).unwrap_or(time)
}

/// The prefix of an id that `history show` needs.
fn short(earlier: &Earlier) -> &str {
    earlier.id.get(..8).unwrap_or(&earlier.id)
}

fn worked(seen: &Seen, comma: &str) -> Option<String> {
    listed(&seen.worked, comma)
}

fn listed(words: &[String], comma: &str) -> Option<String> {
    (!words.is_empty()).then(|| words.join(comma))
}

pub(super) fn labels(language: Language) -> &'static Labels {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}
