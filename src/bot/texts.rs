//! The bot's words, in both languages.

use crate::knowledge::Language;

/// The words of one language.
#[derive(Debug)]
pub(super) struct Words {
    /// The text of a link to a job.
    pub page: &'static str,
    /// How many of the same came since the last message.
    pub more: fn(u32) -> String,
    /// The list of commands, for a bot called `name`.
    pub help: fn(&str) -> String,
    /// The line is not understood.
    pub not_understood: &'static str,
    /// Nothing has this name; these are spelled similarly.
    pub unknown: fn(&str, &[String]) -> String,
    /// No incident of the conversation is known.
    pub no_incident: &'static str,
    /// There is no incident with this id.
    pub not_found: &'static str,
    /// Several incidents are possible.
    pub which: &'static str,
    /// The heading of similar incidents.
    pub alike: &'static str,
    /// There are no similar incidents.
    pub none_alike: &'static str,
    /// It was recorded that a change worked, or that it did not.
    pub noted: fn(&str, &str, bool) -> String,
    /// There is no patch with this number.
    pub no_patch: &'static str,
    /// The comment was cut.
    pub cut: &'static str,
    /// What helped then.
    pub helped: fn(&str) -> String,
}

pub(super) fn words(language: Language) -> &'static Words {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}

const EN: Words = Words {
    page: "the job",
    more: |more| format!("and {more} more since the last message"),
    help: |name| {
        format!(
            "Write at the beginning of a line:\n\n\
             - `@{name} explain WORD…`: what a cause, a phase, a figure or a setting means\n\
             - `@{name} similar [ID]`: earlier incidents like this one, and what helped\n\
             - `@{name} resolve [ID] --did \"what you did\" --worked`: keep what was done and how it went; \
             `--failed` where it did not help; `--patch NUMBER` or `--knob NAME=VALUE` in place of `--did`; `--note \"…\"`"
        )
    },
    not_understood: "This line makes no sense to me.",
    unknown: |word, nearest| match nearest {
        [] => format!("Nothing is called {word}."),
        nearest => format!("Nothing is called {word}. Did you mean {}?", nearest.join(", ")),
    },
    no_incident: "I know of no incident in this conversation: name one, `oomdoc history list` lists them.",
    not_found: "No incident has this id.",
    which: "Which one? Write its id:",
    alike: "Incidents like it:",
    none_alike: "No earlier incident is like it.",
    noted: |incident, change, worked| match worked {
        true => format!("Noted for {incident}: {change} worked."),
        false => format!("Noted for {incident}: {change} did not help."),
    },
    no_patch: "The report has no change of that number.",
    cut: "The rest is left out: it is longer than a comment may be.",
    helped: |change| format!("what helped: {change}"),
};

const ZH: Words = Words {
    page: "查看作业",
    more: |more| format!("自上条消息以来还有 {more} 次"),
    help: |name| {
        format!(
            "请写在一行的开头：\n\n\
             - `@{name} explain 词…`：原因、阶段、数据项或设置的含义\n\
             - `@{name} similar [编号]`：类似的历史事件，以及当时有效的改动\n\
             - `@{name} resolve [编号] --did \"做了什么\" --worked`：记录做了什么、结果如何；无效时用 `--failed`；\
             `--patch 序号` 或 `--knob 名称=值` 可代替 `--did`；`--note \"…\"`"
        )
    },
    not_understood: "看不懂这一行。",
    unknown: |word, nearest| match nearest {
        [] => format!("没有叫 {word} 的。"),
        nearest => format!("没有叫 {word} 的。您是指 {} 吗？", nearest.join("、")),
    },
    no_incident: "此对话中没有已知的事件：请写明编号，`oomdoc history list` 会列出它们。",
    not_found: "没有这个编号的事件。",
    which: "是哪一个？请写明编号：",
    alike: "类似的事件：",
    none_alike: "没有类似的历史事件。",
    noted: |incident, change, worked| match worked {
        true => format!("已记录 {incident}：{change} 有效。"),
        false => format!("已记录 {incident}：{change} 无效。"),
    },
    no_patch: "报告中没有这个序号的改动。",
    cut: "其余部分已省略：超过了评论的长度上限。",
    helped: |change| format!("当时有效：{change}"),
};
