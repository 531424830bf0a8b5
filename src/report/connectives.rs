//! Punctuation and connecting words in every language.

use super::names::choose;
use crate::knowledge::Language;
use crate::model::{Need, Role};

/// `words` as a sentence behind text that has no full stop.
pub(super) fn sentence(words: &str, language: Language) -> String {
    format!("{}{words}", choose(language, ". ", "。"))
}

/// The host on which a process ran.
pub(super) fn on_host(host: &str, language: Language) -> String {
    match language {
        Language::En => format!("on {host}"),
        Language::Zh => format!("节点 {host}"),
    }
}

/// The separator of an enumeration.
pub(super) fn comma(language: Language) -> &'static str {
    choose(language, ", ", "，")
}

/// The separator of several effects.
pub(super) fn semicolon(language: Language) -> &'static str {
    choose(language, ", ", "；")
}

/// The punctuation behind a label.
pub(super) fn colon(language: Language) -> &'static str {
    choose(language, ": ", "：")
}

/// The word for host memory, as opposed to that of a GPU.
pub(super) fn host(language: Language) -> &'static str {
    choose(language, "host", "主机")
}

/// The need after a change and the capacity: ` to 15.94 of 79.15 GiB`.
pub(super) fn down_to(need: &Need, language: Language) -> String {
    match language {
        Language::En => format!(" to {need}"),
        Language::Zh => format!("，之后需 {}", needed(need, language)),
    }
}

/// `15.87 of 79.15 GiB`
pub(super) fn needed(need: &Need, language: Language) -> String {
    match (language, need.capacity) {
        (Language::Zh, Some(capacity)) => format!("{:.2} GiB（共 {:.2} GiB）", need.bytes.gib(), capacity.gib()),
        _ => need.to_string(),
    }
}

/// The role of an input, and how many lines of it were read.
pub(super) fn input(role: Role, lines: u64, language: Language) -> String {
    let (en, zh) = match role {
        Role::Log => ("log", "日志"),
        Role::Kernel => ("kernel", "内核日志"),
        Role::Config => ("config", "配置"),
        Role::Script => ("script", "启动脚本"),
        Role::Snapshot => ("memory snapshot", "显存快照"),
        Role::Other => ("other", "其他"),
    };
    let role = choose(language, en, zh);
    match (lines, language) {
        (0, _) => role.to_owned(),
        (lines, Language::En) => format!("{role}, {lines} lines"),
        (lines, Language::Zh) => format!("{role}，{lines} 行"),
    }
}
