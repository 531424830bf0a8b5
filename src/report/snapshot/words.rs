//! The wording of memory snapshots in every language.

use crate::knowledge::Language;
use crate::model::SnapshotMoment;

/// Headings and labels.
pub(in crate::report) struct SnapshotWords {
    pub heading: &'static str,
    pub moment: fn(SnapshotMoment) -> &'static str,
    /// Memory in use and reserved memory.
    pub in_use: fn(&str, &str) -> String,
    /// The peak of memory in use.
    pub peak: fn(&str) -> String,
    /// Unused memory, its number of pieces, and the largest.
    pub unused: fn(&str, u64, &str) -> String,
    /// That the largest piece was smaller than the request.
    pub too_small: fn(&str, &str) -> String,
    pub categories: &'static str,
    pub lines: &'static str,
    pub largest: &'static str,
    pub segments: &'static str,
    pub last_events: &'static str,
    pub history: &'static str,
    pub reserved: &'static str,
    pub others: &'static str,
    pub no_stack: &'static str,
    pub times: fn(u64) -> String,
    pub segment: fn(u64) -> String,
    pub stream: &'static str,
    pub private: &'static str,
    pub expandable: &'static str,
    pub refused_here: &'static str,
    pub events: fn(u64) -> String,
    pub before_end: fn(f64) -> String,
    pub comma: &'static str,
}

const EN: SnapshotWords = SnapshotWords {
    heading: "Memory snapshot",
    moment: |moment| match moment {
        SnapshotMoment::Refusal => "when the allocation was refused",
        SnapshotMoment::Peak => "at the peak of the trace",
        SnapshotMoment::End => "when it was taken",
    },
    in_use: |used, reserved| format!("{used} in use of {reserved} reserved"),
    peak: |peak| format!("peak {peak}"),
    unused: |bytes, pieces, largest| match pieces {
        1 => format!("{bytes} unused, in one piece"),
        pieces => format!("{bytes} unused, in {pieces} pieces, the largest {largest}"),
    },
    too_small: |largest, requested| {
        format!("Fragmented: no piece was larger than {largest}, and {requested} were asked for")
    },
    categories: "By purpose",
    lines: "By line of the program",
    largest: "Largest allocations",
    segments: "Segments",
    last_events: "Last events",
    history: "Memory in use over the trace",
    reserved: "reserved",
    others: "others",
    no_stack: "no Python stack recorded",
    times: |count| if count == 1 { "1 allocation".to_owned() } else { format!("{count} allocations") },
    segment: |count| if count == 1 { "1 segment".to_owned() } else { format!("{count} segments") },
    stream: "stream",
    private: "private pool",
    expandable: "expandable",
    refused_here: "refused",
    events: |count| format!("{count} events"),
    before_end: |seconds| format!("{seconds:.3} s before the end"),
    comma: ", ",
};

const ZH: SnapshotWords = SnapshotWords {
    heading: "显存快照",
    moment: |moment| match moment {
        SnapshotMoment::Refusal => "分配被拒绝时",
        SnapshotMoment::Peak => "记录中的峰值时刻",
        SnapshotMoment::End => "快照生成时",
    },
    in_use: |used, reserved| format!("使用中 {used}，共保留 {reserved}"),
    peak: |peak| format!("峰值 {peak}"),
    unused: |bytes, pieces, largest| format!("未使用 {bytes}，分为 {pieces} 块，最大一块 {largest}"),
    too_small: |largest, requested| format!("显存碎片化：最大的空闲块只有 {largest}，而请求的是 {requested}"),
    categories: "按用途",
    lines: "按程序行",
    largest: "最大的分配",
    segments: "段",
    last_events: "最后的事件",
    history: "记录期间的显存使用",
    reserved: "已保留",
    others: "其他",
    no_stack: "没有记录 Python 调用栈",
    times: |count| format!("{count} 次分配"),
    segment: |count| format!("{count} 个段"),
    stream: "流",
    private: "私有池",
    expandable: "可扩展",
    refused_here: "被拒绝",
    events: |count| format!("{count} 个事件"),
    before_end: |seconds| format!("结束前 {seconds:.3} 秒"),
    comma: "，",
};

pub(in crate::report) fn words(language: Language) -> &'static SnapshotWords {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}
