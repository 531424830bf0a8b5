//! Help in the reader's language.
//!
//! Commands and arguments are described in English where they are declared; one table has the Chinese translations.
//! What the table lacks stays English.

use clap::builder::StyledStr;
use clap::{Arg, Command};

use crate::knowledge::Language;

/// The template of clap's help, with a Chinese heading for the usage.
const TEMPLATE: &str = "{before-help}{about-with-newline}\n用法：{usage}\n\n{all-args}{after-help}";

/// `command` with its help and that of its subcommands in `language`.
pub(super) fn in_language(command: Command, language: Language) -> Command {
    match language {
        Language::En => command,
        Language::Zh => chinese(command),
    }
}

fn chinese(mut command: Command) -> Command {
    // Clap adds the help and version arguments only in `build`.
    command.build();
    let about = translation(command.get_about());
    let after = translation(command.get_after_help());
    let mut command = command.help_template(TEMPLATE).subcommand_help_heading("命令").mut_args(argument);
    if let Some(about) = about {
        command = command.about(about);
    }
    if let Some(after) = after {
        command = command.after_help(after);
    }
    command.mut_subcommands(chinese)
}

fn argument(argument: Arg) -> Arg {
    let help = translation(argument.get_help());
    let heading = if argument.is_positional() { "参数" } else { "选项" };
    let argument = argument.help_heading(heading);
    match help {
        Some(help) => argument.help(help),
        None => argument,
    }
}

fn translation(english: Option<&StyledStr>) -> Option<&'static str> {
    let english = english?.to_string();
    let english = english.trim().trim_end_matches('.');
    TABLE.iter().find(|(known, _)| *known == english).map(|(_, chinese)| *chinese)
}

const TABLE: &[(&str, &str)] = &[
    (
        "Read the logs of this node into a small digest, which `merge` joins with those of other nodes",
        "把本节点的日志读成一份小摘要，由 `merge` 与其他节点的摘要合并",
    ),
    ("Write the digest to this file instead of standard output", "把摘要写入此文件，而不是标准输出"),
    ("What citations call this node [default: its host name]", "引文中本节点的名称 [默认：主机名]"),
    (
        "Join the digests of many nodes into the report that one analysis over all their logs would give",
        "把多个节点的摘要合并成一份报告，与一次分析全部日志所得相同",
    ),
    (
        "Digests of `oomdoc digest`, one or several in a file; `-` is standard input",
        "`oomdoc digest` 的摘要，一个文件可含一份或多份；`-` 为标准输入",
    ),
    ("Name a node that gave no digest", "给出没有交来摘要的节点"),
    ("Write the joined digest instead of a report, to be joined further", "写出合并后的摘要而不是报告，以便继续合并"),
    (
        "Serve the history to a team: pages, an HTTP API, and a bot that answers failed jobs",
        "为团队提供历史：网页、HTTP 接口，以及回复失败作业的机器人",
    ),
    (
        "Where to listen [default: `serve.listen` of your oomdoc.toml, else 127.0.0.1:8673, which only this machine reaches]",
        "监听地址 [默认：您自己的 oomdoc.toml 的 `serve.listen`，否则为只有本机可达的 127.0.0.1:8673]",
    ),
    (
        "The address by which people reach it, if it is behind a proxy: https://oomdoc.example.org",
        "前面有代理时，用户访问它的地址：https://oomdoc.example.org",
    ),
    ("What somebody without a token may do [default: nothing]", "没有令牌的人可以做什么 [默认：什么也不能做]"),
    ("Make, list and revoke the tokens that identify people and programs", "创建、列出和收回用来识别人与程序的令牌"),
    ("Make a token, and print it: it is shown once and kept nowhere", "创建令牌并打印：只显示一次，不保存在任何地方"),
    ("Whose token it is, or what it is for", "属于谁，或用于什么"),
    ("What it allows: `read`, `write` or `admin`", "允许的范围：`read`、`write` 或 `admin`"),
    ("Let it expire after this many days [default: never]", "多少天后失效 [默认：永不失效]"),
    ("List tokens", "列出令牌"),
    ("Revoke a token: its holder can do nothing with it from now on", "收回令牌：持有者从此什么也不能做"),
    ("Its id, or its name if no other has it", "它的编号；名称唯一时也可用名称"),
    (
        "The team's server, which keeps the history; '' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]",
        "保存历史的团队服务器；'' 表示没有 [默认：$OOMDOC_SERVER，您自己的 oomdoc.toml 的 `server.url`]",
    ),
    (
        "Move waiting incidents from the spool into the store, or hand them to the server, and bring the index up to date",
        "把暂存的事故移入存储或交给服务器，并更新索引",
    ),
    (
        "Serve oomdoc's tools to assistants that speak the Model Context Protocol, on standard input and output: docs/mcp.md",
        "通过标准输入输出，向支持模型上下文协议（MCP）的助手提供 oomdoc 的工具：docs/mcp.md",
    ),
    (
        "Read only files below this folder; may be repeated [default: whatever you may read]",
        "只读取此文件夹中的文件；可重复给出 [默认：您可读取的一切]",
    ),
    ("Keep no incident in the history, whatever the assistant asks", "不把任何事件存入历史，无论助手如何要求"),
    (
        "Run a command and record its memory, so that its end can be explained without the kernel's log",
        "运行命令并记录其内存，使其结局无需内核日志也能解释",
    ),
    ("The command and its arguments", "命令及其参数"),
    ("Record a running process and its children, until it ends", "记录已在运行的进程及其子进程，直到它结束"),
    (
        "Keep what the command prints in this file [default: oomdoc-TIME-HOST-PID.log]",
        "把命令的输出保存到此文件 [默认：oomdoc-时间-主机-PID.log]",
    ),
    ("Keep at most this much of it: the beginning and the end", "最多保存这么多：开头和结尾"),
    ("Keep no log: the command prints directly to oomdoc's own output", "不保存日志：命令直接打印到 oomdoc 自己的输出"),
    (
        "Write the record to this file [default: next to the log, ending in .record]",
        "把记录写到此文件 [默认：日志旁，以 .record 结尾]",
    ),
    ("Limit the size of the record", "记录文件的大小上限"),
    (
        "Sample memory at this interval; more often while it rises towards a limit",
        "每隔这么多秒查看一次内存；接近上限而上升时更频繁",
    ),
    ("Print nothing if the command succeeds", "命令成功时不输出报告"),
    (
        "If it runs out of memory, make the proposed change in copies of its files and run it again, at most N times",
        "内存不足时，在其文件的副本中做出建议的修改并重新运行，最多 N 次",
    ),
    (
        super::run::EXIT_CODES,
        "退出码：命令自身的退出码；被信号 n 结束时为 128 + n\n  0    使用 --attach：进程已结束\n  2    记录器无法启动，或选项有误\n  126  命令无法运行\n  127  没有该命令",
    ),
    (
        "Read this settings file instead of the project's oomdoc.toml [default: $OOMDOC_CONFIG]",
        "以此设置文件代替项目的 oomdoc.toml [默认：$OOMDOC_CONFIG]",
    ),
    ("Read no settings file; the same as OOMDOC_NO_CONFIG=1", "不读取任何设置文件；等同于 OOMDOC_NO_CONFIG=1"),
    (
        "Show the settings in effect, and where each comes from: docs/configuration.md",
        "显示生效的设置及其来源：docs/configuration.md",
    ),
    (
        "Show each value in effect, and the file and line, the variable or the flag that sets it",
        "显示生效的值，以及给出它的文件和行、变量或选项",
    ),
    (
        "A file or folder of rules [default: the shipped and the imported ones]",
        "规则文件或文件夹 [默认：自带的和导入的规则]",
    ),
    ("A file or folder of rules", "规则文件或文件夹"),
    ("A patch by its number in the report", "报告中该修改的编号"),
    (
        "Analyze in a pipeline: report files, an annotation, the step's summary, one comment on the pull or merge request",
        "在流水线中分析：报告文件、注解、步骤摘要，以及合并请求上的一条评论",
    ),
    (
        "Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]",
        "输出是否带颜色：`auto` 由终端、$NO_COLOR 和 $CLICOLOR_FORCE 决定 [默认：$OOMDOC_COLOR、oomdoc.toml 的 `color`，否则 auto]",
    ),
    ("Count by these only; comma-separated", "只按这些统计，逗号分隔"),
    ("Count only what `oomdoc history search` would find", "只统计 `oomdoc history search` 能找到的事件"),
    (
        "Count only what happened since: `30d`, `12w`, `6m`, `1y`, or a date",
        "只统计此后发生的：`30d`、`12w`、`6m`、`1y` 或日期",
    ),
    (
        "Name an incident's job and tag it, so that `job:` and `tag:` find it",
        "给事件的作业命名并加标签，之后可用 `job:` 和 `tag:` 找到",
    ),
    ("Name the job", "作业的名字"),
    ("Print no report; the exit code tells the result", "不打印报告，由退出码说明"),
    (
        "The shell: `bash`, `zsh`, `fish`, `elvish` or `powershell`",
        "shell：`bash`、`zsh`、`fish`、`elvish` 或 `powershell`",
    ),
    (
        "Write the completions of a shell: `oomdoc completions bash > ~/.local/share/bash-completion/completions/oomdoc`",
        "写出 shell 的命令补全：`oomdoc completions bash > ~/.local/share/bash-completion/completions/oomdoc`",
    ),
    ("Write the report to this file instead of printing it", "把报告写入此文件而不打印"),
    ("Name the job, so that `history search job:NAME` finds it", "给作业命名，之后可用 `history search job:NAME` 找到"),
    (
        "Say when it happened, where the log does not: `2026-11-20T10:00`, or a date",
        "日志没有写明时，指定发生的时间：`2026-11-20T10:00` 或日期",
    ),
    (
        "Show an incident as it was analysed, what was tried and what people say of it",
        "显示事件当时的分析、试过的办法和大家的备注",
    ),
    (
        "Tag the incident, so that `history search tag:TAG` finds it; comma-separated or repeated",
        "给事件加标签，之后可用 `history search tag:TAG` 找到；逗号分隔或重复给出",
    ),
    ("Remove these tags; comma-separated or repeated", "去掉这些标签；逗号分隔或重复给出"),
    ("The folder of your rules", "你的规则所在的文件夹"),
    ("The tags to add", "要添加的标签"),
    (
        "A note to keep; with --worked and no change, what you did",
        "其他说明；与 --worked 同用且未给出修改时，即你的做法",
    ),
    ("Its name: lower-case letters, digits and `_`", "名字：小写字母、数字和 `_`"),
    (
        "What you did instead, in your words: `--did \"moved the job to H200 nodes\"`",
        "你实际的做法，用自己的话：`--did \"把作业移到 H200 节点\"`",
    ),
    ("A link to more: a ticket, a page, a merge request", "更多信息所在：工单、页面或合并请求"),
    (
        "Words, \"words in a row\", field:value, figure:>2GiB, figure:[1GiB TO *], since:2026-10-01 or since:30d; all must hold, unless OR, NOT (or a minus) and parentheses say otherwise; `--` before a query that begins with a minus",
        "词、\"连续的词\"、field:value、figure:>2GiB、figure:[1GiB TO *]、since:2026-10-01 或 since:30d；默认须全部满足，可用 OR、NOT（或减号）和括号组合；以减号开头的查询前请加 `--`",
    ),
    (
        "Write a commented rule to start from, and a message of your own program that it recognises",
        "生成带注释的规则骨架，以及识别你自己程序的一条消息",
    ),
    ("Any other change: `--knob=--zero_stage=3`", "其他任何修改：`--knob=--zero_stage=3`"),
    (
        "Check your rules and keep them: from then on every analysis uses them",
        "检查并保存你的规则：此后每次分析都会使用",
    ),
    ("Count incidents by kind, cause, phase, model, framework and week", "按类型、原因、阶段、模型、框架和周统计事件"),
    ("DeepSpeed's ZeRO stage", "DeepSpeed 的 ZeRO 阶段"),
    ("Do not keep the incident in the history", "不把事件存入历史"),
    (
        "Exit with 1 if the verdict is one of these kinds (comma-separated) or `any`; `none` never does",
        "结论属于这些类型之一（逗号分隔）或为 `any` 时以 1 退出；`none` 表示从不",
    ),
    (
        "Exit with 1 if the verdict is one of these kinds (comma-separated) or `any`; `none` never does [default: `triage.fail_on` of oomdoc.toml, else none]",
        "结论属于这些类型之一（逗号分隔）或为 `any` 时以 1 退出；`none` 表示从不 [默认：oomdoc.toml 的 `triage.fail_on`，否则 none]",
    ),
    (
        "Explain a word of reports and rules: a cause, kind, phase, figure, lever, fact, or a knob as you spell it",
        "解释报告和规则中的词：原因、类型、阶段、数据项、手段、事实，或你所写的设置",
    ),
    (
        "Facts that nothing else states, as rules name them: `model=8b`, `gpu=A100-80G`, `host.memory=500GiB`",
        "其他输入中没有的事实，用规则中的名字：`model=8b`、`gpu=A100-80G`、`host.memory=500GiB`",
    ),
    ("Find earlier incidents, and record what solved them", "查找以往事件，并记录解决办法"),
    (
        "Find incidents by words, fields, figures and times: phase:optimizer_step requested:>2GiB \"pinned memory\"",
        "按词、字段、数值和时间查找事件：phase:optimizer_step requested:>2GiB \"pinned memory\"",
    ),
    (
        "Find incidents similar to another one, or to that of a log, and show what they share",
        "查找与某个事件或某份日志相似的事件，并说明相似之处",
    ),
    (
        "Find rules that can never fire, name what is not known, or fail their own examples",
        "找出永远不会生效、引用未知名字或通不过自带示例的规则",
    ),
    (
        "Find the cheapest changes with which it fits GPUs of this size: `80GiB`",
        "找出能放进这种显存的代价最小的修改：`80GiB`",
    ),
    ("Fit causes only, and leave the weights for phases as they are", "只拟合原因，阶段的权重保持不变"),
    (
        "Fit the weights of signals and the confidence of diagnoses to labelled incidents, and show how well that does on others",
        "用已标注的事件拟合信号权重和诊断把握，并显示在其他事件上的效果",
    ),
    ("Folders of the same form whose answers must stay right", "同样形式的文件夹，其答案必须保持正确"),
    ("Folders with one folder a case, each with its logs and its label", "每个案例一个子文件夹，内含日志和标注"),
    ("Forget the outcomes of incident ID, or of all incidents without one", "忘记事件 ID 的结果；不给出则忘记全部"),
    ("Free the space that removed incidents still take", "释放已删除事件仍占用的空间"),
    ("GPUs per node", "每个节点的 GPU 数"),
    ("GPUs that share each sequence", "共同处理每条序列的 GPU 数"),
    ("GPUs that split each layer", "切分每一层的 GPU 数"),
    ("How to show it", "显示方式"),
    ("How to show the report", "报告的显示方式"),
    ("How to show them", "显示方式"),
    (
        "Import what another history exported; incidents that are already here are not duplicated",
        "导入另一份历史的导出；已有的事件不会重复",
    ),
    ("It did not", "没有解决问题"),
    ("It solved the problem", "解决了问题"),
    ("Its id, or the beginning of it", "事件 id 或其开头"),
    ("Keep activations in host memory", "把激活值放在主机内存"),
    ("Keep optimizer states in host memory", "把优化器状态放在主机内存"),
    ("Keep only this many of the newest", "只保留这么多最新的事件"),
    (
        "Keep only this much of the newest, by their size in an export: `20GiB`",
        "只保留这么多最新的内容（按导出时的大小计）：`20GiB`",
    ),
    ("Keep those that a change solved", "保留已被某项修改解决的事件"),
    ("Keep weights in host memory (ZeRO stage 3, FSDP)", "把权重放在主机内存（ZeRO 阶段 3、FSDP）"),
    ("List incidents, newest first", "列出事件，最新的在前"),
    ("List the rules of causes and where they come from", "列出原因规则及其来源"),
    (
        "List, check, test and import rules: what oomdoc knows of the causes of out-of-memory failures",
        "列出、检查、测试和导入规则：oomdoc 对内存不足原因的知识",
    ),
    (
        "Logs, folders of them, configs, launch scripts, as for `analyze`",
        "日志、日志文件夹、配置、启动脚本，同 `analyze`",
    ),
    (
        "Logs, kernel logs, memory snapshots, folders and archives of them, configs, launch scripts; `-` is standard input, `s3://bucket/key`, `gs://…` and `https://…` what lies there",
        "日志、内核日志、显存快照、文件夹和压缩包、配置、启动脚本；`-` 表示标准输入，`s3://桶/键`、`gs://…` 和 `https://…` 表示该处的内容",
    ),
    ("Mask secrets in the output too, not only in what is kept or sent", "输出中也遮盖机密，而不只是在保存或发送时"),
    ("Memory of each host, or the container's limit: `1.4TiB`", "每台主机的内存，或容器上限：`1.4TiB`"),
    (
        "Move waiting incidents from the spool into the store, and bring the index up to date",
        "把等待中的事件移入存储，并更新索引",
    ),
    ("Number of nodes", "节点数"),
    (
        "Number of parameters, for a model that is not known by name: `8.03b`, `8030261248`",
        "参数量，用于名字未知的模型：`8.03b`、`8030261248`",
    ),
    ("Offload to ordinary instead of page-locked memory", "卸载到普通内存而不是页锁定内存"),
    ("Passes per optimizer step", "每次优化器更新的前向/反向次数"),
    ("Pipeline stages", "流水线阶段数"),
    (
        "Post a message about a failure to this address as JSON (Slack and others) [default: `triage.notify` of your oomdoc.toml]",
        "失败时向此地址发送一条 JSON 消息（Slack 等）[默认：您自己的 oomdoc.toml 的 `triage.notify`]",
    ),
    ("Post a message about it to this address as JSON (Slack and others)", "向此地址发送一条 JSON 消息（Slack 等）"),
    ("Print help (see more with '--help')", "显示帮助（`--help` 更详细）"),
    ("Print help (see a summary with '-h')", "显示帮助（`-h` 为摘要）"),
    ("Print help", "显示帮助"),
    ("Print the file itself, as a start for a rule of your own", "原样输出文件，可作为编写自己规则的起点"),
    ("Print this message or the help of the given subcommand(s)", "显示本帮助或某个子命令的帮助"),
    ("Print version", "显示版本"),
    ("PyTorch's FSDP instead of ZeRO", "用 PyTorch FSDP 代替 ZeRO"),
    ("Quantise the weights under an adapter", "量化适配器之下的权重"),
    ("Read and check every record and the index", "读取并检查每条记录和索引"),
    (
        "Rebuild everything derived from the incidents: the index, the groups, and what analyses are told",
        "重建由事件派生的一切：索引、分组和供分析使用的经验",
    ),
    (
        "Record what was tried after an incident and how it went: the next diagnosis takes it into account",
        "记录事件之后尝试了什么、效果如何：下次诊断会加以考虑",
    ),
    (
        "Remove an imported rule; a shipped rule that it replaced applies again",
        "删除导入的规则；被它取代的自带规则重新生效",
    ),
    ("Write everything to one file, while others go on writing", "把全部内容写入一个文件，不影响正在写入的进程"),
    ("The file; an older one is replaced once the new one is complete", "文件；已有的文件在新文件完整写好后才被替换"),
    ("Restore a backup into an empty home, after checking all of it", "检查整个备份后，在空的主目录中恢复历史"),
    ("The backup", "备份文件"),
    ("Remove old incidents", "删除旧事件"),
    ("Remove those older than this: `90d`, `12w`, `6m`, `1y`", "删除早于此期限的事件：`90d`、`12w`、`6m`、`1y`"),
    ("Run the examples of rules through the whole analysis", "用完整分析运行规则自带的示例"),
    (
        "Save whatever can still be read of a damaged history; the damaged file is kept",
        "抢救受损历史中仍可读取的内容；受损文件会保留",
    ),
    (
        "Say how much memory a job should need on each GPU and host, moment by moment, and what makes it fit",
        "估算作业每个时刻在每张 GPU 和每台主机上所需的内存，以及怎样才放得下",
    ),
    (
        "Say what ran out, where, in which phase and with which figures, and prove it",
        "分析：什么耗尽了、在哪里、哪个阶段、哪些数据，并给出证据",
    ),
    ("Sequences per forward and backward pass on one GPU", "单张 GPU 一次前向/反向的序列数"),
    (
        "Show a rule: what it says, what speaks for and against it, what it changes",
        "显示一条规则：内容、支持和反对的证据、建议的修改",
    ),
    ("Show an incident as it was analysed, and what was tried", "显示一个事件的分析结果和尝试过的办法"),
    ("Show at most this many", "最多显示的数目"),
    ("Show the change without writing it (the default)", "只显示修改，不写入（默认）"),
    ("Show the configuration change that the report proposes, or make it", "显示或写入报告建议的配置修改"),
    ("Show the parts of every moment, not only of the largest", "显示每个时刻的组成，而不只是最大的"),
    ("Show the whole text report, not only what fits on a screen", "显示完整的文本报告，而不只是一屏"),
    ("Show three lines: what ran out, why, and what to do", "只显示三行：什么耗尽了、为什么、怎么办"),
    ("Show what is known of this rank alone, in a job of many", "在有许多 rank 的作业中，只显示这个 rank 的情况"),
    ("Show what is known of the ranks of this node alone", "只显示这个节点上各 rank 的情况"),
    (
        "Show which changes worked here and how that affects diagnoses, or forget it",
        "显示哪些修改在这里有效及其对诊断的影响，或将其忘记",
    ),
    ("Skip this many first", "先跳过的数目"),
    ("The file [default: standard output]", "文件 [默认：标准输出]"),
    ("The file; `-` is standard input", "文件；`-` 表示标准输入"),
    ("The folder for the report as JSON, HTML, Markdown and SARIF", "存放 JSON、HTML、Markdown 和 SARIF 报告的文件夹"),
    (
        "The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]",
        "存放规则和历史的文件夹 [默认：$OOMDOC_HOME、oomdoc.toml 的 `home`，否则为数据文件夹]",
    ),
    ("The id of an incident, or a log", "事件 id 或日志"),
    ("The incident's id, or the beginning of it", "事件 id 或其开头"),
    ("The job's configuration, launch script or log, or a folder of them", "作业的配置、启动脚本或日志，或其文件夹"),
    (
        "The label's file name, JSON or TOML [default: truth.json or expected.toml]",
        "标注文件名，JSON 或 TOML [默认：truth.json 或 expected.toml]",
    ),
    (
        "The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]",
        "语言，`en` 或 `zh` [默认：$OOMDOC_LANG、oomdoc.toml 的 `language`，否则为系统语言]",
    ),
    ("The logs and the configuration to change, as for `analyze`", "日志和要修改的配置，同 `analyze`"),
    (
        "The model: a size (`8b`), a name (`Qwen2.5-7B`), a path of either, or its config.json",
        "模型：规模（`8b`）、名字（`Qwen2.5-7B`）、带有它们的路径，或其 config.json",
    ),
    ("The optimizer", "优化器"),
    (
        "The post-mortem for out-of-memory failures of LLM training and serving jobs",
        "大模型训练与推理作业内存不足的事后分析",
    ),
    ("The precision of training", "训练精度"),
    ("The rule's id, as `oomdoc rules list` shows it", "规则 id，见 `oomdoc rules list`"),
    ("The rule's id, or its file as `oomdoc rules check` names it", "规则 id，或 `oomdoc rules check` 显示的文件"),
    ("Tokens of the longest sequence", "最长序列的 token 数"),
    (
        "Tokens per pass on one GPU, if batches are packed or sorted by length",
        "批被打包或按长度排序时，单张 GPU 每次的 token 数",
    ),
    ("Train a LoRA adapter of this rank instead of the weights", "训练此秩的 LoRA 适配器而不是权重"),
    (
        "Use a loss that never holds all logits: Liger's fused or chunked cross entropy",
        "使用不完整保存 logits 的损失：Liger 融合或分块交叉熵",
    ),
    ("Use attention that keeps its tokens × tokens matrix", "使用保留 token × token 矩阵的注意力"),
    (
        "What the backward pass recomputes instead of keeping (gradient checkpointing)",
        "反向时重新计算而不保留的部分（梯度检查点）",
    ),
    ("What to sort by", "排序依据"),
    (
        "Which patches, by number or knob (comma-separated) [default: what the report proposes]",
        "选哪些修改，用编号或设置名（逗号分隔）[默认：报告的建议]",
    ),
    (
        "Tell this job's comment from others, if several jobs share a name [default: the job's name]",
        "多个同名作业运行时评论所属的名字 [默认：作业名]",
    ),
    (
        "With `--format json`: the verdict, causes, first patch and citations in less than 4 KB",
        "与 `--format json` 合用：4 KB 以内的结论、原因、首项修改和引用",
    ),
    (
        "Write incidents and outcomes as lines of JSON: for another home, or for OpenSearch and Elasticsearch",
        "把事件和结果写成 JSON 行：供其他机器使用，或供 OpenSearch 和 Elasticsearch 载入",
    ),
    ("`jsonl` for another home, `bulk` for a search engine", "`jsonl` 供其他机器使用，`bulk` 供搜索引擎使用"),
    ("The search engine's index", "搜索引擎的索引"),
    (
        "Export only what changed since an earlier export: the mark that it printed; 0 is everything",
        "只写某次导出之后的改动：填写那次导出给出的标记；0 表示全部",
    ),
    ("Write the mark for the next export into this file", "把下一次导出所用的标记写入此文件"),
    ("Write the search engine's index template instead", "改为写出搜索引擎的索引模板"),
    ("Write no comment", "不写评论"),
    (
        "Write one report over all logs, even if they seem to be from different jobs",
        "所有日志合为一份报告，即使它们看来属于不同作业",
    ),
    ("Write one report per log", "每份日志一份报告"),
    ("Write the change; a copy of each old file stays next to it", "写入修改；原文件的副本保留在旁边"),
    (
        "Write the numbers below RULES: ranking/phases.toml, ranking/causes.toml, calibration.toml",
        "把结果写到 RULES 之下：ranking/phases.toml、ranking/causes.toml、calibration.toml",
    ),
    (
        "`fragmentation`, `weight_sync`, `--gpu-memory-utilization`, `deepspeed.offload_optimizer` …",
        "例如 `fragmentation`、`weight_sync`、`--gpu-memory-utilization`、`deepspeed.offload_optimizer`",
    ),
    (
        super::analyze::EXIT_CODES,
        "退出码：\n  0  已读取输入，无论内容如何\n  1  结论属于 --fail-on 所列类型\n  2  没有可作为日志读取的内容，或命令有误；标准错误会说明",
    ),
];

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// All help texts of `command` and its subcommands, each with the command's path.
    fn texts(command: &Command, way: &str, all: &mut Vec<(String, String)>) {
        let way = format!("{way} {}", command.get_name());
        all.extend(command.get_about().map(|text| (way.clone(), text.to_string())));
        let helps = command.get_arguments().filter_map(|argument| argument.get_help());
        all.extend(helps.map(|text| (way.clone(), text.to_string())));
        command.get_subcommands().for_each(|below| texts(below, &way, all));
    }

    #[test]
    fn every_command_and_argument_has_chinese_help() {
        let mut all = Vec::new();
        texts(&in_language(crate::cli::Cli::command(), Language::Zh), "", &mut all);
        let is_chinese = |text: &str| text.chars().any(|sign| matches!(sign, '\u{4e00}'..='\u{9fff}'));
        let missing: Vec<_> = all.iter().filter(|(_, text)| !is_chinese(text)).collect();
        assert!(missing.is_empty() && all.len() > 80, "{missing:#?}");
    }
}
