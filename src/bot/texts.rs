//! What the bot says, in both languages.

use crate::knowledge::Language;

/// Words of one language.
#[derive(Debug)]
pub(super) struct Words {
    /// What a link to a job is called.
    pub page: &'static str,
    /// That so many of the same came since the last message.
    pub more: fn(u32) -> String,
    /// What can be asked for; `name` is ours.
    pub help: fn(&str) -> String,
    /// That a line makes no sense.
    pub not_understood: &'static str,
    /// That nothing is called so; what is spelled like it.
    pub unknown: fn(&str, &[String]) -> String,
    /// That no incident is known here.
    pub no_incident: &'static str,
    /// That there is no such incident.
    pub not_found: &'static str,
    /// That several are meant.
    pub which: &'static str,
    /// What stands above incidents that are alike.
    pub alike: &'static str,
    /// That there are none.
    pub none_alike: &'static str,
    /// That something helped, or did not.
    pub noted: fn(&str, &str, bool) -> String,
    /// That there is no such patch.
    pub no_patch: &'static str,
    /// That the comment was cut.
    pub cut: &'static str,
    /// That it helped then.
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
