//! The wording of reports in every language, beside its labels. A missing translation does not compile.

pub(super) use super::connectives::{colon, comma, down_to, host, input, needed, on_host, semicolon, sentence};
use super::labels::Tags;
pub(super) use super::labels::{Labels, labels};
pub(crate) use super::names::phase;
pub(super) use super::names::{during, during_at, figure, headline, other_failure};
use super::ranks::words as rank_words;
use crate::knowledge::Language;
use crate::model::{Ending, Kind, Signal};

/// The topic of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    /// Changes to make.
    Changes,
    /// The job, and whether this came up before.
    Job,
    /// The causes.
    Why,
    /// The figures.
    Figures,
    /// The holders of memory.
    Holders,
    /// The sums that explain the figures.
    Arithmetic,
    /// The memory snapshots.
    Snapshot,
    /// The call that failed.
    Stack,
    /// How the processes ended.
    Ends,
    /// The grid of ranks of a large job.
    Ranks,
    /// The lines that prove it.
    Proof,
    /// Changes that do not help.
    Useless,
    /// Hints what to record next time.
    NextTime,
    /// Incidents that followed from the first.
    Also,
    /// The inputs.
    Read,
}

/// The word for a `confidence` (0–1).
pub(super) fn sureness(confidence: f64, labels: &Labels) -> &'static str {
    match confidence {
        0.9.. => labels.sure,
        0.6.. => labels.likely,
        _ => labels.perhaps,
    }
}

/// The amounts in a headline.
pub(super) enum Amounts {
    /// An allocation that was refused.
    Requested { requested: String, free: Option<String>, total: Option<String> },
    /// The amount in use and the total.
    InUse { used: String, total: String },
    /// A limit that was reached.
    Limit { limit: String },
    /// The amount that the victim held.
    Held { held: String },
    /// The amount left for the KV cache.
    Room { room: String },
}

/// `2.00 GiB requested, 1.10 GiB of 79.15 GiB free`
pub(super) fn amounts(amounts: &Amounts, language: Language) -> String {
    match (language, amounts) {
        (Language::En, Amounts::Requested { requested, free, total }) => match (free, total) {
            (Some(free), Some(total)) => format!("{requested} requested, {free} of {total} free"),
            (Some(free), None) => format!("{requested} requested, {free} free"),
            (None, Some(total)) => format!("{requested} requested of {total}"),
            (None, None) => format!("{requested} requested"),
        },
        (Language::En, Amounts::InUse { used, total }) => format!("{used} of {total} in use"),
        (Language::En, Amounts::Limit { limit }) => format!("the limit is {limit}"),
        (Language::En, Amounts::Held { held }) => format!("it held {held}"),
        (Language::En, Amounts::Room { room }) => match room.strip_prefix('-') {
            Some(over) => format!("{over} over its share before any KV cache"),
            None => format!("{room} left for the KV cache"),
        },
        (Language::Zh, Amounts::Requested { requested, free, total }) => match (free, total) {
            (Some(free), Some(total)) => format!("请求 {requested}，{total} 中剩余 {free}"),
            (Some(free), None) => format!("请求 {requested}，剩余 {free}"),
            (None, Some(total)) => format!("请求 {requested}，总量 {total}"),
            (None, None) => format!("请求 {requested}"),
        },
        (Language::Zh, Amounts::InUse { used, total }) => format!("{total} 中已用 {used}"),
        (Language::Zh, Amounts::Limit { limit }) => format!("上限 {limit}"),
        (Language::Zh, Amounts::Held { held }) => format!("占用 {held}"),
        (Language::Zh, Amounts::Room { room }) => match room.strip_prefix('-') {
            Some(over) => format!("尚未分配 KV cache 已超出份额 {over}"),
            None => format!("KV cache 仅剩 {room}"),
        },
    }
}

/// How `who`, which are `count` processes, ended, with `when` such as ` at 05:12:41`.
pub(super) fn ended(ending: &Ending, who: &str, count: usize, when: &str, language: Language) -> String {
    let was = if count == 1 { "was" } else { "were" };
    let how = match (language, ending) {
        (Language::En, Ending::Failed { failure }) => {
            return format!("{who} failed{when}: {}", other_failure(*failure, language));
        }
        (Language::Zh, Ending::Failed { failure }) => {
            return format!("{who} 失败{when}：{}", other_failure(*failure, language));
        }
        (Language::En, Ending::OutOfMemory { kind: Kind::ShmExhausted }) => format!("{who} ran out of shared memory"),
        (Language::En, Ending::OutOfMemory { kind }) if kind.is_host() => format!("{who} ran out of host memory"),
        (Language::En, Ending::OutOfMemory { .. }) => format!("{who} ran out of GPU memory"),
        (Language::En, Ending::Signal { signal: 9 }) => format!("{who} {was} killed (SIGKILL)"),
        (Language::En, Ending::Signal { signal }) => format!("{who} {was} ended by {}", Signal::name_of(*signal)),
        (Language::En, Ending::Stopped) => format!("{who} {was} stopped by the launcher"),
        (Language::En, Ending::Exited { status }) => format!("{who} exited with {status}"),
        (Language::En, Ending::Vanished) => format!("{who} vanished"),
        (Language::Zh, Ending::OutOfMemory { kind: Kind::ShmExhausted }) => format!("{who} 共享内存耗尽"),
        (Language::Zh, Ending::OutOfMemory { kind }) if kind.is_host() => format!("{who} 主机内存不足"),
        (Language::Zh, Ending::OutOfMemory { .. }) => format!("{who} 显存不足"),
        (Language::Zh, Ending::Signal { signal: 9 }) => format!("{who} 被杀死（SIGKILL）"),
        (Language::Zh, Ending::Signal { signal }) => format!("{who} 因 {} 终止", Signal::name_of(*signal)),
        (Language::Zh, Ending::Stopped) => format!("{who} 被启动器停止"),
        (Language::Zh, Ending::Exited { status }) => format!("{who} 退出，状态 {status}"),
        (Language::Zh, Ending::Vanished) => format!("{who} 消失"),
    };
    format!("{how}{when}")
}

/// The short label of a screen's section.
pub(super) fn tag(topic: Topic, language: Language) -> &'static str {
    let labels = labels(language);
    let Tags { job, why, figures, holders, arithmetic, snapshot, stack, ends, proof, useless, next_time, also, read } =
        labels.tags;
    match topic {
        Topic::Changes => labels.action,
        Topic::Job => job,
        Topic::Why => why,
        Topic::Figures => figures,
        Topic::Holders => holders,
        Topic::Arithmetic => arithmetic,
        Topic::Snapshot => snapshot,
        Topic::Stack => stack,
        Topic::Ends => ends,
        Topic::Ranks => rank_words(language).tag,
        Topic::Proof => proof,
        Topic::Useless => useless,
        Topic::NextTime => next_time,
        Topic::Also => also,
        Topic::Read => read,
    }
}

/// When it failed, for people: a time since the boot, as the kernel's log states it to the microsecond, in the unit that is read at a glance.
pub(super) fn moment(time: &str, language: Language) -> String {
    /// Seconds of each unit, from the largest; so many of it must have passed.
    const UNITS: [(f64, &str, &str); 3] = [(86_400.0, "days", "天"), (3600.0, "h", "小时"), (60.0, "min", "分钟")];
    const MANY: f64 = 2.0;
    let seconds = time.strip_prefix("up ").and_then(|rest| rest.strip_suffix(" s")?.parse::<f64>().ok());
    let Some(seconds) = seconds else { return time.to_owned() };
    let unit = UNITS.iter().find(|(unit, ..)| seconds >= MANY * unit);
    let (unit, en, zh) = unit.copied().unwrap_or((1.0, "s", "秒"));
    match language {
        Language::En => format!("{:.1} {en} after the boot", seconds / unit),
        Language::Zh => format!("开机后 {:.1} {zh}", seconds / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_since_the_boot_is_told_in_a_unit_that_people_read() {
        for (time, en, zh) in [
            ("up 734512.204000 s", "8.5 days after the boot", "开机后 8.5 天"),
            ("up 9000.000000 s", "2.5 h after the boot", "开机后 2.5 小时"),
            ("up 61.250000 s", "61.2 s after the boot", "开机后 61.2 秒"),
            ("2026-03-01T10:00:00", "2026-03-01T10:00:00", "2026-03-01T10:00:00"),
        ] {
            assert_eq!(moment(time, Language::En), en);
            assert_eq!(moment(time, Language::Zh), zh);
        }
    }
}
