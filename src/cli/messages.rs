//! Errors, warnings, hints and short texts in the reader's language.
//!
//! They are written in English where they arise; one table has the Chinese translations, with placeholders for values.
//! What the table lacks stays English.

use std::borrow::Cow;

use crate::knowledge::{Language, again};
use crate::model::OtherFailureName;
use crate::report::next_step;
use crate::source::address::is_address;

/// `words`, including values filled into them, in `language`.
pub(super) fn translate(words: &str, language: Language) -> Cow<'_, str> {
    match language {
        Language::En => Cow::Borrowed(words),
        // The colon in an address does not separate two messages.
        Language::Zh if is_address(words) && !words.contains(": ") => Cow::Borrowed(words),
        Language::Zh => {
            let place = OtherFailureName::ALL.iter().find(|name| next_step(**name, Language::En) == Some(words));
            if let Some(place) = place.and_then(|name| next_step(*name, language)) {
                return Cow::Borrowed(place);
            }
            again(words, TABLE, &|part| translate(part, language).into_owned()).map_or(Cow::Borrowed(words), Cow::Owned)
        }
    }
}

const TABLE: &[(&str, &str)] = &[
    ("error", "错误"),
    ("warning", "警告"),
    ("hint", "提示"),
    // What went wrong.
    ("cannot listen on {address}: {error}", "无法监听 {address}：{error}"),
    ("name another address with --listen, or end who has it", "请用 --listen 给出另一个地址，或结束占用它的程序"),
    ("the server cannot run: {error}", "服务器无法运行：{error}"),
    ("there is no token `{token}`", "没有令牌 `{token}`"),
    ("`oomdoc serve token list` lists them", "`oomdoc serve token list` 会列出它们"),
    ("there is no token yet, so that nobody can sign in", "还没有令牌，因此无人能够登录"),
    (
        "`oomdoc serve token create NAME --scope admin` makes one",
        "`oomdoc serve token create NAME --scope admin` 可创建一个",
    ),
    ("token {id} is shown once", "令牌 {id} 只显示一次"),
    ("put it where secrets are kept", "请把它放在保存机密的地方"),
    ("the token in {path} cannot be read: {error}", "无法读取 {path} 中的令牌：{error}"),
    ("check `server.token_file` of your oomdoc.toml", "请检查您的 oomdoc.toml 的 `server.token_file`"),
    ("the server {url}: {error}", "服务器 {url}：{error}"),
    (
        "ask whoever operates the server for a token, and name its file: docs/server.md",
        "请向服务器的管理者索取令牌，并给出其文件：docs/server.md",
    ),
    (
        "check the address; what waits for it is kept, and `--server ''` asks the history here",
        "请检查地址；等待它的内容会保留，`--server ''` 查询本机的历史",
    ),
    ("use an oomdoc as new as the server's", "请使用与服务器同样新的 oomdoc"),
    ("no digest could be read", "没有读到任何摘要"),
    (
        "`oomdoc digest PATH… -o node.digest` on each node writes one",
        "在每个节点上运行 `oomdoc digest PATH… -o node.digest` 可写出一份",
    ),
    ("a digest is no text for a terminal", "摘要不是可在终端中查看的文本"),
    (
        "write it to a file with -o, or into a pipe to `oomdoc merge -`",
        "请用 -o 写入文件，或通过管道交给 `oomdoc merge -`",
    ),
    ("this node has no name", "本节点没有名称"),
    ("name it with --node", "请用 --node 给出"),
    ("the logs name no {asked}", "日志中没有 {asked}"),
    (
        "a job of eight ranks or more has rows; leave --rank and --node out",
        "至少有八个 rank 的作业才有各 rank 的行；请去掉 --rank 和 --node",
    ),
    ("{count} ranks are known, and none of their nodes", "已知 {count} 个 rank，其节点均未知"),
    ("{count} ranks are known, on {nodes}", "已知 {count} 个 rank，位于 {nodes}"),
    ("the digest could not be written: {error}", "无法写出摘要：{error}"),
    ("check that there is room, and the paths", "请检查磁盘空间与路径"),
    ("take the digest of that node again; the report covers the others", "请重新获取该节点的摘要；报告涵盖其余节点"),
    ("is no digest: it does not begin as one", "不是摘要：开头不符"),
    (
        "is a digest of version {version}, which this oomdoc does not know yet",
        "是版本 {version} 的摘要，此 oomdoc 尚不认识",
    ),
    ("the digest of node {node} is cut off", "节点 {node} 的摘要被截断"),
    ("the digest of node {node} is damaged: {problem}", "节点 {node} 的摘要已损坏：{problem}"),
    ("nothing could be read as a log", "没有可作为日志读取的内容"),
    ("nothing could be read", "什么也没有读到"),
    ("`{path}` is not a command", "`{path}` 不是命令"),
    ("`oomdoc analyze {path}` says what happened there", "`oomdoc analyze {path}` 会说明发生了什么"),
    ("name a place that you can write to", "请给出可以写入的位置"),
    ("cannot read {path}: {error}", "无法读取 {path}：{error}"),
    ("cannot write {path}: {error}", "无法写入 {path}：{error}"),
    ("cannot run {command}: {error}", "无法运行 {command}：{error}"),
    ("the command cannot be watched: {error}", "无法监视该命令：{error}"),
    ("there is no process {pid}", "没有进程 {pid}"),
    ("`oomdoc run` records on Linux only", "`oomdoc run` 只在 Linux 上记录"),
    ("check the command, or the number of the process", "请检查命令或进程号"),
    (
        "run the command by itself, and give its log to `oomdoc analyze`",
        "请直接运行该命令，再把日志交给 `oomdoc analyze`",
    ),
    ("the record ends early: {error}", "记录提前结束：{error}"),
    ("the log is not whole: {error}", "日志不完整：{error}"),
    ("the command was not disturbed", "命令未受影响"),
    ("processes of the last attempt do not end", "上一次运行的进程没有结束"),
    ("end them, and run the command again", "请结束这些进程后再运行该命令"),
    ("it is not run again: {why}", "不再运行：{why}"),
    (
        "make a change by hand and run it again: the report says what there is",
        "请手动修改后再运行：报告中列出了可选的修改",
    ),
    ("nothing that the job is launched with sets {knob}", "启动该作业的命令和文件都没有设置 {knob}"),
    (
        "the command does not name {path}, so that it would not read a changed copy",
        "命令没有引用 {path}，不会读取修改后的副本",
    ),
    // Addresses.
    (
        "{address} is an address: only `oomdoc analyze` and `oomdoc digest` read those that their command line names",
        "{address} 是地址：只有 `oomdoc analyze` 和 `oomdoc digest` 会读取其命令行给出的地址",
    ),
    (
        "{address} is an address: this oomdoc was built without the feature `stores`",
        "{address} 是地址：此 oomdoc 构建时没有启用 `stores` 特性",
    ),
    (
        "this is no address of an object: name it as `s3://bucket/key`, without a query",
        "这不是对象的地址：请写成 `s3://bucket/key`，不带查询参数",
    ),
    (
        "its key begins with `/`, or has control characters or a folder `.` or `..` in it: copy it to another key",
        "它的键以 `/` 开头，或含有控制字符，或含有名为 `.`、`..` 的文件夹：请复制到另一个键",
    ),
    (
        "the credentials in the environment are not whole: set {variable}, too",
        "环境变量中的凭据不完整：还请设置 {variable}",
    ),
    (
        "the credentials of the environment expired ({code}): get new ones, as `aws configure export-credentials --format env` prints them",
        "环境变量中的凭据已过期（{code}）：请获取新的凭据，`aws configure export-credentials --format env` 会输出它们",
    ),
    (
        "the credentials of the environment expired ({code}): get new ones, as by `gcloud auth application-default login`",
        "环境变量中的凭据已过期（{code}）：请获取新的凭据，例如用 `gcloud auth application-default login`",
    ),
    ("the signature in the address expired ({code}): have it signed again", "地址中的签名已过期（{code}）：请重新签名"),
    (
        "what was signed has expired by the clock of the store ({code}): set the clock of this machine",
        "按存储服务的时钟，签名已过期（{code}）：请校准本机的时钟",
    ),
    (
        "the server refuses with status {status}: check the address, and what the environment says of stores",
        "服务器拒绝，状态码 {status}：请检查地址，以及环境变量中关于存储的设置",
    ),
    (
        "it is sent encoded ({encoding}), which cannot be unpacked here: store it as it is, or as gzip",
        "它以 {encoding} 编码传输，这里无法解开：请原样或以 gzip 存储",
    ),
    (
        "the proxy in {variable} cannot be used: name it as http://host:port",
        "无法使用 {variable} 中的代理：请写成 http://host:port",
    ),
    ("the settings in the environment cannot be used: {problem}", "环境变量中的设置无法使用：{problem}"),
    (
        "a Google key is not as it should be at line {line}, column {column}",
        "Google 密钥的格式在第 {line} 行第 {column} 列有误",
    ),
    (
        "there is nothing at this address: check it; a folder of a bucket ends in `/`",
        "此地址上没有内容：请检查地址；存储桶中的文件夹以 `/` 结尾",
    ),
    (
        "there is no such bucket: check its name, and AWS_ENDPOINT_URL where it does not lie at Amazon",
        "没有这个存储桶：请检查其名称；若不在 Amazon，请检查 AWS_ENDPOINT_URL",
    ),
    ("more than {count} objects lie there: name a part of them", "那里有超过 {count} 个对象：请只给出其中一部分"),
    (
        "it is not public: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        "它不是公开的：请设置 AWS_ACCESS_KEY_ID 和 AWS_SECRET_ACCESS_KEY",
    ),
    ("it is not public: set GOOGLE_APPLICATION_CREDENTIALS", "它不是公开的：请设置 GOOGLE_APPLICATION_CREDENTIALS"),
    (
        "access is denied with status {status}: check the address, and the signature or the password in it",
        "访问被拒绝，状态码 {status}：请检查地址及其中的签名或密码",
    ),
    (
        "access is denied ({code}): the credentials of the environment may not read it, or it is not there",
        "访问被拒绝（{code}）：环境变量中的凭据无权读取，或它不存在",
    ),
    ("the bucket is in another region: set AWS_REGION", "存储桶在另一个区域：请设置 AWS_REGION"),
    (
        "it changed while it was read: read it again, or a copy that nobody changes",
        "读取期间它发生了变化：请重新读取，或读取一份无人修改的副本",
    ),
    ("it is shorter than that", "它没有那么长"),
    ("the server answers with status {status}: try again later", "服务器返回状态码 {status}：请稍后重试"),
    ("its host is not known: check the name and the network", "无法解析其主机名：请检查名称和网络"),
    ("its server cannot be reached: {problem}", "无法连接其服务器：{problem}"),
    (
        "its server is not trusted ({problem}): name a file of certificates (PEM) with SSL_CERT_FILE",
        "其服务器不受信任（{problem}）：请用 SSL_CERT_FILE 给出证书文件（PEM）",
    ),
    ("its server leads to one without TLS: name that one", "其服务器转向了没有 TLS 的服务器：请直接给出后者"),
    ("its server does not answer: try again later", "其服务器没有应答：请稍后重试"),
    ("the connection broke again and again: try again later", "连接一再中断：请稍后重试"),
    (
        "the connection broke, and the server cannot go on where it did: fetch the file first",
        "连接中断，而服务器不能从中断处继续：请先下载该文件",
    ),
    ("its server answers in no way that is known: {how}", "其服务器的应答无法识别：{how}"),
    (
        "check the addresses, and what the environment says of stores: docs/addresses.md",
        "请检查地址，以及环境变量中关于存储的设置：docs/addresses.md",
    ),
    ("{path}: no lines of a log", "{path}：没有日志行"),
    ("{path}: a configuration", "{path}：是配置文件"),
    ("{path}: a launch script", "{path}：是启动脚本"),
    ("{path}: code or a document, not what a program printed: not read", "{path}：是代码或文档，不是程序输出：未读取"),
    ("{path} holds no incident", "{path} 中没有事件"),
    ("{path} was not imported", "{path} 没有导入"),
    ("{path} was not changed: {why}", "{path} 没有修改：{why}"),
    ("there is no imported rule `{id}`", "没有导入过规则 `{id}`"),
    ("nothing is called `{word}`", "没有名为 `{word}` 的内容"),
    ("{path} is no whole backup: {problem}", "{path} 不是完整的备份：{problem}"),
    ("take another copy of it, or an older one; nothing was restored", "请换一份副本或更早的备份；什么都没有恢复"),
    ("there is a history in {home} already", "{home} 中已有历史"),
    ("restore into another folder with --home, or move this one away", "请用 --home 恢复到其他目录，或先移走这个目录"),
    ("no incident `{id}`", "没有事件 `{id}`"),
    (
        "what changed after {since} is not known: it is too long ago, or of another history",
        "无法得知 {since} 之后的改动：时间太久，或属于另一份历史",
    ),
    (
        "export all of it, without --since, into a new index or file: what was removed meanwhile is not known",
        "请去掉 --since，把全部内容导出到新的索引或文件：其间删除了什么已无从得知",
    ),
    (
        "`{words}` is not where an export ended, such as 4711-8c1f22ab90de1234 or, for everything, 0",
        "`{words}` 不是某次导出的标记，标记形如 4711-8c1f22ab90de1234；0 表示全部",
    ),
    ("give what the last export said to go on with", "请填写上次导出给出的标记"),
    (
        "an index cannot be called `{name}`: only small letters, digits, `-`, `_` and `.`, no sign first",
        "索引不能命名为 `{name}`：只能用小写字母、数字、`-`、`_` 和 `.`，且不能以符号开头",
    ),
    ("choose another name", "请换一个名字"),
    ("go on with --since {next}", "下一次使用 --since {next}"),
    ("{lines} lines written; go on with --since {next}", "已写入 {lines} 行；下一次使用 --since {next}"),
    ("there is nothing to fix: {why}", "没有可修改的内容：{why}"),
    ("look at {place}", "请查看：{place}"),
    (
        "`oomdoc analyze` with the same paths shows the lines that say so",
        "`oomdoc analyze` 以同样的路径会显示说明这一点的日志行",
    ),
    ("there is no patch `{asked}`; there are {known}", "没有修改 `{asked}`；共有 {known}"),
    ("no edit of the given files makes this change: {knob}", "无法通过编辑给出的文件完成此修改：{knob}"),
    ("no model was given", "没有给出模型"),
    ("no model is called `{name}`, and it names no size", "没有名为 `{name}` 的模型，名字中也没有规模"),
    (
        "model `{name}` is named but unknown: give --parameters or its config.json",
        "模型 `{name}` 未知：请给出 --parameters 或其 config.json",
    ),
    ("`{file}` sets how the job is sharded, but was not given", "`{file}` 决定作业如何切分，但没有给出"),
    ("weights are quantised, but no adapter was given", "权重已量化，但没有给出适配器"),
    ("nothing was sent because secrets could not be masked: {error}", "没有发送，因为无法遮盖机密：{error}"),
    ("no message was sent: {error}", "没有发出消息：{error}"),
    ("the store {path} is in use by {holder}", "存储 {path} 正被 {holder} 使用"),
    ("the store {path} is damaged: {what}", "存储 {path} 已损坏：{what}"),
    ("the disk of {path} is full", "{path} 所在磁盘已满"),
    ("{path} cannot be written: {error}", "{path} 无法写入：{error}"),
    ("{path} is damaged", "{path} 已损坏"),
    ("the incident is not kept: {error}", "事件没有保存：{error}"),
    ("your rules are left out: {error}", "未使用你的规则：{error}"),
    ("your rules and history are left out: {error}", "未使用你的规则和历史：{error}"),
    (
        "{masked} of the texts above contain what looks like a secret, copied from the inputs",
        "上文有 {masked} 处疑似机密，来自输入",
    ),
    // Lists.
    ("no incident", "没有事件"),
    ("{shown} in all", "共 {shown} 个"),
    ("{from}–{to} of {total}", "第 {from}–{to} 个，共 {total} 个"),
    ("none of {total} stands there", "该处没有事件，共 {total} 个"),
    ("grouped by {parts}", "分组依据：{parts}"),
    ("solved", "已解决"),
    ("not yet", "未解决"),
    ("worked", "有效"),
    ("failed", "无效"),
    // What to do about it.
    (
        "set it yourself:{lines}or pick one that edits a file: {numbers}\nor name the launch script or configuration that sets it, next to the log",
        "请自行设置：{lines}或选择会修改文件的一项：{numbers}\n或在日志之外再给出设置它的启动脚本或配置",
    ),
    (
        "set it yourself:{lines}or name the launch script or configuration that sets it, next to the log",
        "请自行设置：{lines}或在日志之外再给出设置它的启动脚本或配置",
    ),
    (
        "set it yourself:{lines}or pick one that edits a file: {numbers}",
        "请自行设置：{lines}或选择会修改文件的一项：{numbers}",
    ),
    ("set it yourself:{lines}", "请自行设置：{lines}"),
    (
        "pick one that edits a file: {numbers}\nor name the launch script or configuration that sets it, next to the log",
        "请选择会修改文件的一项：{numbers}\n或在日志之外再给出设置它的启动脚本或配置",
    ),
    (
        "name the launch script or configuration that sets it, next to the log",
        "请在日志之外再给出设置它的启动脚本或配置",
    ),
    (
        "name a log file, a folder of logs, or `-` for standard input: `oomdoc analyze job.log dmesg.log`",
        "请给出日志文件、日志文件夹，或用 `-` 表示标准输入：`oomdoc analyze job.log dmesg.log`",
    ),
    ("this is a bug in oomdoc: please report it", "这是 oomdoc 自身的缺陷：请报告"),
    (
        "name the job's launch script or configuration: `oomdoc estimate --from launch.sh`",
        "请给出作业的启动脚本或配置：`oomdoc estimate --from launch.sh`",
    ),
    (
        "name a size, a model or its config.json: `oomdoc estimate --model 8b --gpus 8 --zero 3`",
        "请给出规模、模型或其 config.json：`oomdoc estimate --model 8b --gpus 8 --zero 3`",
    ),
    (
        "give `--parameters 8.03b`, or `--model config.json` with the file next to its weights",
        "请给出 `--parameters 8.03b`，或用 `--model config.json` 给出权重旁的文件",
    ),
    (
        "give it too: `--from launch.sh --from ds_config.json`, or set --zero",
        "请一并给出：`--from launch.sh --from ds_config.json`，或设置 --zero",
    ),
    ("give an adapter's rank with --lora", "请用 --lora 给出适配器的秩"),
    ("give the config.json next to the model's weights", "请给出模型权重旁的 config.json"),
    ("`oomdoc analyze` with the same paths says what happened", "用同样的路径运行 `oomdoc analyze` 查看发生了什么"),
    ("`oomdoc analyze` numbers them", "`oomdoc analyze` 会给出编号"),
    ("write one of them with --pick, and make the other change by hand", "用 --pick 写入其中一项，另一项手动修改"),
    (
        "copy your own change over by hand, remove the backup and run it again",
        "请手动转移你自己的修改，删除备份后重新运行",
    ),
    ("nothing was changed", "没有任何修改"),
    (
        "nothing was changed; `oomdoc fix … --diff` shows the edit for you to make",
        "没有任何修改；`oomdoc fix … --diff` 显示修改，可手动进行",
    ),
    (
        "name a .toml file or a folder of them; docs/writing-rules.md shows how to write one",
        "请给出 .toml 文件或其文件夹；写法见 docs/writing-rules.md",
    ),
    ("name a log that ended with an out-of-memory failure", "请给出以内存不足告终的日志"),
    ("name a folder with --home or $OOMDOC_HOME", "请用 --home 或 $OOMDOC_HOME 指定文件夹"),
    ("fix the errors above; `oomdoc rules check` shows them again", "请改正以上错误；`oomdoc rules check` 会再次显示"),
    ("`oomdoc rules check` says what to fix", "`oomdoc rules check` 会指出要改正之处"),
    ("`oomdoc rules list` lists the rules", "`oomdoc rules list` 列出规则"),
    ("`oomdoc history list` lists them", "`oomdoc history list` 列出事件"),
    ("did you mean {names}?", "是否指 {names}？"),
    ("write more of the id", "请写出 id 的更多位"),
    ("the report covers the others", "报告只涉及其余输入"),
    ("`--redact` masks it; what is kept or sent is always masked", "`--redact` 可将其遮盖；保存或发送的内容总会遮盖"),
    ("`oomdoc history reindex` rebuilds the index", "`oomdoc history reindex` 可重建索引"),
    ("`oomdoc history reindex` rebuilds it; nothing is lost", "`oomdoc history reindex` 可重建；不会丢失任何内容"),
    ("{place}: there is no key `{key}`", "{place}：没有键 `{key}`"),
    ("{place}: no fact is called `{name}`", "{place}：没有名为 `{name}` 的事实"),
    ("{place}: no cause is called `{name}`", "{place}：没有名为 `{name}` 的原因"),
    ("{place}: `{key}` may not be set by a project's file: {why}", "{place}：项目文件不能设置 `{key}`：{why}"),
    ("a repository could have oomdoc write outside of it", "仓库可能借此让 oomdoc 写到仓库之外"),
    ("a repository could have reports sent to whoever wrote it", "仓库可能借此把报告发给其作者"),
    ("set it in your own, {ways}", "请在您自己的文件中设置：{ways}"),
    ("{place}: no longer ignored since {until}: {reason}", "{place}：{until} 之后不再忽略：{reason}"),
    ("give it another `until`, or remove the row", "请更新 `until`，或删除该行"),
    ("{file} cannot hold settings: {problem}", "{file} 不能作为设置文件：{problem}"),
    (
        "{file} holds no settings of oomdoc, which is what --config names",
        "{file} 中没有 oomdoc 的设置，而 --config 指定的正是设置文件",
    ),
    (
        "name what the job was launched with beside its log: oomdoc analyze job.log config.yaml",
        "作业的启动配置请与日志并列写出：oomdoc analyze job.log config.yaml",
    ),
    ("it is not UTF-8", "不是 UTF-8"),
    ("it is larger than 1 MiB", "大于 1 MiB"),
    ("it is no file", "不是普通文件"),
    ("it is a link out of its folder", "是指向其文件夹之外的链接"),
    ("docs/configuration.md shows every key", "docs/configuration.md 列出所有键"),
    ("did you mean `{key}`?", "您是否想写 `{key}`？"),
    ("name a folder that is there with --root", "请用 --root 指定已有的文件夹"),
    ("name a folder with --home, or say --no-save", "请用 --home 指定文件夹，或使用 --no-save"),
    (
        "wait until that process is done, or end it; analyses go on meanwhile",
        "请等待该进程结束或将其终止；分析不受影响",
    ),
    ("make room and try again; what was acknowledged before is safe", "请腾出空间后重试；此前已确认的内容是安全的"),
    // Any other error about a path.
    ("{path}: {error}", "{path}：{error}"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_hints_are_told_in_chinese() {
        for (english, chinese) in [
            ("nothing could be read as a log", "没有可作为日志读取的内容"),
            ("the incident is not kept: the disk of /data is full", "事件没有保存：/data 所在磁盘已满"),
            ("nothing is called `optimiser_step`", "没有名为 `optimiser_step` 的内容"),
            (
                "cannot read https://host:8443/a.log: there is nothing at this address: check it; a folder of a bucket ends in `/`",
                "无法读取 https://host:8443/a.log：此地址上没有内容：请检查地址；存储桶中的文件夹以 `/` 结尾",
            ),
            ("something new", "something new"),
        ] {
            assert_eq!(translate(english, Language::Zh), chinese);
            assert_eq!(translate(english, Language::En), english);
        }
    }
}
