//! The wording of the grid of ranks in every language.

use crate::knowledge::Language;
use crate::model::RankState;

pub(crate) struct RankWords {
    pub heading: &'static str,
    pub tag: &'static str,
    /// `64 ranks on 8 nodes`
    pub of: fn(usize, usize) -> String,
    /// The rank with which the failure began.
    pub first: &'static str,
    pub state: fn(RankState) -> &'static str,
    /// `12 s before the first end`
    pub earlier: fn(f64) -> String,
    /// `508 nodes`
    pub nodes: fn(usize) -> String,
    pub more_nodes: fn(usize) -> String,
    pub more_ranks: fn(usize) -> String,
    /// `the 8 ranks of gpu-05`
    pub ranks_of: fn(usize, &str) -> String,
    /// Who held how much more than the median, the median, and the figure.
    pub outlier: fn(&str, &str, &str, &str) -> String,
    /// The label of the page's switch.
    pub by_memory: &'static str,
}

const EN: RankWords = RankWords {
    heading: "Ranks",
    tag: "Ranks",
    of: |ranks, nodes| match nodes {
        0 => format!("{ranks} ranks"),
        1 => format!("{ranks} ranks on one node"),
        _ => format!("{ranks} ranks on {nodes} nodes"),
    },
    first: "the first",
    state: |state| match state {
        RankState::RanOut => "ran out of memory",
        RankState::Killed => "killed",
        RankState::Failed => "failed",
        RankState::Silent => "silent at the end",
        RankState::Followed => "ended with the others",
        RankState::Finished => "finished",
    },
    earlier: |seconds| format!("{seconds:.0} s before the first end"),
    nodes: |count| format!("{count} nodes"),
    more_nodes: |count| format!("and {count} more rows"),
    more_ranks: |count| format!("and {count} more ranks"),
    ranks_of: |ranks, node| format!("the {ranks} ranks of {node}"),
    outlier: |who, more, median, figure| format!("{who} held {more} more than the median of {median} ({figure})"),
    by_memory: "colour by memory",
};

const ZH: RankWords = RankWords {
    heading: "各 rank",
    tag: "rank",
    of: |ranks, nodes| match nodes {
        0 => format!("{ranks} 个 rank"),
        _ => format!("{nodes} 个节点上的 {ranks} 个 rank"),
    },
    first: "最先",
    state: |state| match state {
        RankState::RanOut => "内存不足",
        RankState::Killed => "被杀死",
        RankState::Failed => "失败",
        RankState::Silent => "结局未知",
        RankState::Followed => "随其他进程结束",
        RankState::Finished => "正常结束",
    },
    earlier: |seconds| format!("早于最先结束者 {seconds:.0} 秒"),
    nodes: |count| format!("{count} 个节点"),
    more_nodes: |count| format!("另有 {count} 行"),
    more_ranks: |count| format!("另有 {count} 个 rank"),
    ranks_of: |ranks, node| format!("{node} 的 {ranks} 个 rank"),
    outlier: |who, more, median, figure| format!("{who} 比中位数 {median} 多占用 {more}（{figure}）"),
    by_memory: "按内存着色",
};

pub(crate) fn words(language: Language) -> &'static RankWords {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}
