//! All text of the pages that is not part of a report, in both languages. A text without a translation does not
//! compile.

use crate::knowledge::Language;
use crate::model::Kind;

macro_rules! words {
    ($($name:ident: $en:literal, $zh:literal;)*) => {
        /// The words of one language.
        pub struct Words {
            $(pub $name: &'static str),*
        }
        static EN: Words = Words { $($name: $en),* };
        static ZH: Words = Words { $($name: $zh),* };
    };
}

words! {
    // The frame of every page.
    skip: "Skip to content", "跳到正文";
    main_menu: "Main", "主导航";
    incidents: "Incidents", "事故";
    groups: "Groups", "分组";
    trends: "Trends", "趋势";
    upload: "Upload", "上传";
    dead_letters: "Dead letters", "死信";
    audit: "Audit log", "审计日志";
    sign_in: "Sign in", "登录";
    sign_out: "Sign out", "退出";
    to_dark: "Dark", "深色";
    to_light: "Light", "浅色";
    other_language: "中文", "English";
    // Incidents.
    search: "Search", "搜索";
    search_label: "Search incidents", "搜索事故";
    search_hint: "phase:optimizer_step (requested:>2GiB OR \"pinned memory\") since:30d", "phase:optimizer_step (requested:>2GiB OR 显存) since:30d";
    newest: "Newest", "最新";
    best: "Best match", "最相关";
    order: "Order", "排序";
    saved: "SavedQuery queries", "已存查询";
    save: "Save", "保存";
    save_query: "Save this query", "保存此查询";
    name: "Name", "名称";
    narrow: "Narrow", "筛选";
    no_such_query: "This query cannot be read", "无法理解此查询";
    first_page: "First page", "首页";
    next_page: "Next page", "下一页";
    requested: "Requested", "请求大小";
    seen: "Seen", "次数";
    state: "State", "状态";
    assignee: "Assignee", "负责人";
    when: "Time", "时间";
    what: "What", "内容";
    open: "Open", "未解决";
    resolved: "Resolved", "已解决";
    reopened: "Reopened", "重新打开";
    nobody: "nobody", "无人";
    nothing_yet: "Nothing was kept yet", "还没有任何事故";
    nothing_yet_how: "Upload a log, or let jobs hand theirs over:", "上传一份日志，或让作业自行提交：";
    nothing_found: "Nothing fits this query", "没有符合此查询的事故";
    nothing_found_how: "Take a clause away, or look at all incidents.", "去掉一个条件，或查看全部事故。";
    all_incidents: "All incidents", "全部事故";
    remove_filter: "no longer narrowed by", "取消筛选";
    unassigned: "Unassigned", "未分配";
    // Names of facets and fields.
    kind: "Kind", "类型";
    cause: "Cause", "原因";
    phase: "Phase", "阶段";
    framework: "Framework", "框架";
    model: "Model", "模型";
    cluster: "Cluster", "集群";
    host: "Host", "主机";
    week: "Week", "周";
    role: "Role", "角色";
    site: "Place in the code", "代码位置";
    gpu: "Accelerator", "加速卡";
    // An incident.
    resolve: "Resolve…", "解决…";
    reopen: "Reopen", "重新打开";
    what_was_done: "What was done", "采取的措施";
    in_own_words: "something else, in your own words", "其他（用自己的话说明）";
    it_worked: "It went away", "问题消失";
    it_did_not: "It did not help", "没有帮助";
    note: "Note", "备注";
    notes: "Notes", "备注";
    link: "Link", "链接";
    add_note: "Add a note", "添加备注";
    add: "Add", "添加";
    tags: "Tags", "标签";
    tags_hint: "words to find it by", "便于查找的词";
    assign: "Assign", "分配";
    tried: "What was tried", "尝试过的办法";
    nothing_tried: "Nobody said yet what was tried.", "还没有人说明尝试了什么。";
    worked: "worked", "有效";
    failed: "failed", "无效";
    similar: "Similar incidents", "相似事故";
    nothing_similar: "None is like it.", "没有相似的事故。";
    the_same: "the same trouble", "同一问题";
    group: "Group", "分组";
    alone: "Too little is known of it to group it with others.", "信息太少，无法与其他事故归为一组。";
    grouped_by: "Grouped by", "分组依据";
    raw: "As JSON", "JSON 原文";
    compare: "Compare", "对比";
    about_it: "About this incident", "关于此事故";
    actions: "Actions", "操作";
    job: "Job", "作业";
    // Groups.
    new_this_week: "New this week", "本周新增";
    came_back: "Came back", "再次出现";
    all_groups: "All groups", "全部分组";
    first_seen: "First seen", "首次出现";
    last_seen: "Last seen", "最近出现";
    over_time: "Over time", "随时间变化";
    no_groups: "No group fits", "没有符合的分组";
    no_groups_how: "A group comes into being with its first incident.", "第一次事故出现时即形成分组。";
    occurrences: "Occurrences", "出现记录";
    // Trends.
    by_cause: "By cause", "按原因";
    by_cluster: "By cluster", "按集群";
    by_model: "By model", "按模型";
    what_fixed_what: "What fixed what", "什么办法解决了什么";
    change: "Change", "改动";
    incidents_a_week: "Incidents a week", "每周事故数";
    values: "Values", "数值";
    no_trends: "There is nothing to draw yet", "还没有可绘制的数据";
    no_fixes: "Nobody said yet what helped. Resolve an incident, and it stands here.", "还没有人说明什么有效。解决一个事故后会显示在这里。";
    // Upload.
    upload_title: "Analyse a log", "分析日志";
    drop: "Drop logs here, or choose them", "把日志拖到这里，或选择文件";
    drop_more: "Logs, kernel logs, launch scripts and configurations, plain or packed. Nothing is kept unless you say so.", "日志、内核日志、启动脚本和配置，原样或压缩均可。除非你要求，否则不会保存。";
    choose: "Choose files", "选择文件";
    paste: "Or paste what was printed", "或粘贴输出内容";
    analyse: "Analyse", "分析";
    sent: "sent", "已发送";
    read: "read", "已读取";
    shortages: "shortages seen so far", "目前发现的内存不足";
    no_shortages: "no shortage seen so far", "目前未发现内存不足";
    is_read: "Reading…", "正在读取…";
    concluding: "Everything was sent; concluding…", "已全部发送，正在分析…";
    upload_failed: "The upload failed", "上传失败";
    stop: "Stop", "停止";
    not_kept: "Not kept. It goes away within the hour.", "未保存，一小时内自动消失。";
    keep: "Keep it", "保存到历史";
    kept: "Kept in the history", "已保存到历史";
    nothing_to_keep: "There is no incident in it to keep.", "其中没有可保存的事故。";
    // Two incidents.
    compared: "Two incidents compared", "两个事故的对比";
    differs: "differs", "不同";
    settings: "Settings", "设置";
    figures: "Figures", "数值";
    parameters: "Parameters", "参数量";
    world_size: "Ranks", "进程数";
    config_digest: "Digest of the settings", "设置摘要";
    not_known: "not known", "未知";
    choose_two: "Name two incidents", "请指定两个事故";
    first: "First", "第一个";
    second: "Second", "第二个";
    // Signing in.
    token: "Token", "令牌";
    token_how: "An administrator makes one on the server's machine:", "由管理员在服务器上创建：";
    wrong_token: "This token is not known, has expired, or was taken back.", "令牌无效、已过期或已被撤销。";
    // What went wrong.
    to_incidents: "To the incidents", "返回事故列表";
    // For administrators.
    who: "Who", "谁";
    did: "Did", "操作";
    on: "On", "对象";
    from_where: "From", "来自";
    hook: "Hook", "来源";
    problem: "Problem", "问题";
    attempts: "Attempts", "次数";
    retry: "Retry", "重试";
    no_letters: "No work was given up", "没有被放弃的任务";
    no_letters_how: "What cannot be answered after several attempts stands here.", "多次尝试仍无法完成的任务会列在这里。";
    no_audit: "Nothing was written down yet", "还没有记录";
}

/// The words of `language`.
pub fn words(language: Language) -> &'static Words {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}

impl Words {
    fn is_chinese(&self) -> bool {
        std::ptr::eq(self, &raw const ZH)
    }

    /// The number of incidents, as text.
    pub fn counted(&self, count: u64) -> String {
        match (self.is_chinese(), count) {
            (true, _) => format!("{} 个事故", grouped(count)),
            (false, 1) => "1 incident".to_owned(),
            (false, _) => format!("{} incidents", grouped(count)),
        }
    }

    /// The place of an error in a query.
    pub fn at_column(&self, column: usize) -> String {
        if self.is_chinese() { format!("第 {column} 个字符") } else { format!("at column {column}") }
    }

    /// The label of a chart: how many incidents in how many weeks.
    pub fn in_weeks(&self, count: u64, weeks: usize) -> String {
        match self.is_chinese() {
            true => format!("{weeks} 周内 {}", self.counted(count)),
            false => format!("{} in {weeks} weeks", self.counted(count)),
        }
    }

    /// A week by its Monday.
    pub fn week_of(&self, monday: &str) -> String {
        if self.is_chinese() { format!("{monday} 起的一周") } else { format!("Week of {monday}") }
    }

    /// Which change solved an incident.
    pub fn solved_by(&self, change: &str) -> String {
        if self.is_chinese() { format!("已由 {change} 解决") } else { format!("solved by {change}") }
    }

    /// How many rows of a comparison differ.
    pub fn rows_differ(&self, count: usize) -> String {
        match (self.is_chinese(), count) {
            (true, 0) => "没有不同之处".to_owned(),
            (true, _) => format!("{count} 处不同"),
            (false, 0) => "nothing differs".to_owned(),
            (false, 1) => "1 row differs".to_owned(),
            (false, _) => format!("{count} rows differ"),
        }
    }

    /// The name of a facet or field; its identifier where it has none.
    pub fn field<'n>(&self, name: &'n str) -> &'n str {
        match name {
            "kind" => self.kind,
            "cause" => self.cause,
            "phase" => self.phase,
            "framework" => self.framework,
            "model" => self.model,
            "cluster" => self.cluster,
            "host" => self.host,
            "week" => self.week,
            "role" => self.role,
            "site" => self.site,
            "gpu" => self.gpu,
            "requested" => self.requested,
            "state" => self.state,
            "assignee" => self.assignee,
            name => name,
        }
    }

    /// A title for an HTTP status.
    pub fn status(&self, status: u16) -> &'static str {
        let (en, zh) = match status {
            400 => ("The request makes no sense", "请求无法理解"),
            401 => ("Sign in first", "请先登录"),
            403 => ("Not allowed", "没有权限"),
            404 => ("Not found", "未找到"),
            408 => ("Too slow", "传输太慢"),
            413 => ("Too large", "内容过大"),
            421 => ("Not for this server", "不是发给此服务器的请求"),
            422 => ("Nothing can be made of it", "内容无法处理"),
            429 => ("Too many requests", "请求过多"),
            503 => ("Not now", "暂时不可用"),
            _ => ("The server failed", "服务器出错"),
        };
        if self.is_chinese() { zh } else { en }
    }

    /// What ran out, in few words.
    pub fn badge(&self, kind: Kind) -> &'static str {
        let (en, zh) = match kind {
            Kind::GpuOom => ("GPU", "显存"),
            Kind::HostOomKernel => ("Host, kernel", "主机·内核"),
            Kind::HostOomCgroup => ("Cgroup", "cgroup"),
            Kind::HostOomUserspace => ("Host, daemon", "主机·守护进程"),
            Kind::HostOomRay => ("Node, Ray", "节点·Ray"),
            Kind::HostAllocFailure => ("Host, refused", "主机·分配失败"),
            Kind::ShmExhausted => ("Shared memory", "共享内存"),
            Kind::SigkillUnattributed => ("SIGKILL", "SIGKILL"),
            Kind::None => ("No OOM", "非内存不足"),
        };
        if self.is_chinese() { zh } else { en }
    }
}

/// A number with its thousands separated.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 7, 999, 1000, 1_234_567].map(grouped), ["0", "7", "999", "1,000", "1,234,567"]);
    }
}
