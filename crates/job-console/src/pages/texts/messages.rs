//! Sentences and labels.

use crate::pages::locale::{counts, messages};

messages! {
    // Frame.
    overview() "Overview" | "概览";
    jobs() "Jobs" | "作业";
    running_now() "Running now" | "正在运行";
    servers() "Servers" | "服务器";
    doctor() "Doctor" | "诊断";
    audit() "Audit" | "审计";
    registry() "Registry" | "注册中心";
    about() "About" | "关于";
    sections() "Sections" | "导航";
    path() "Path" | "路径";
    page() "page" | "页面";
    pages() "Pages" | "分页";
    previous() "Previous" | "上一页";
    next() "Next" | "下一页";
    older() "Older" | "更早";
    page_of(page: usize, pages: usize) "Page {page} of {pages}" | "第 {page} / {pages} 页";
    namespace() "Namespace" | "命名空间";
    namespaces() "Namespaces" | "命名空间";
    search() "Search jobs" | "搜索作业";
    palette() "Go to a job, server or page" | "跳转到作业、服务器或页面";
    palette_hint() "Name of a job, server or page" | "作业、服务器或页面的名称";
    skip_to_content() "Skip to the content" | "跳到内容";
    language() "Language" | "语言";
    theme() "Theme" | "主题";
    times_in() "Times in" | "时间显示";
    save() "Save" | "保存";
    sign_out() "Sign out" | "退出登录";
    close() "Close" | "关闭";
    keys() "Keyboard shortcuts" | "键盘快捷键";
    key_search() "Search" | "搜索";
    key_rows() "Next or previous row" | "下一行或上一行";
    key_open() "Open the row" | "打开该行";
    key_leave() "Leave a dialog" | "离开对话框";
    operation() "Operation" | "操作";
    operations() "Operations" | "操作";
    more_operations() "More operations" | "更多操作";
    more_rows(n: &str) "{n} more: show" | "另有 {n} 条：显示";
    to_start() "To the overview" | "前往概览";
    outcome_unknown()
        "The change may have happened. Check the job before you repeat it."
        | "该更改可能已生效。重试前请先检查作业。";

    // Age of the data.
    live() "live" | "实时";
    offline() "offline" | "已断开";
    as_of() "as of" | "截至";
    age_of_data() "Age of the data on this page" | "本页数据的时效";
    loading() "loading" | "加载中";
    stale() "old data" | "数据已旧";
    loading_banner()
        "The console is reading the namespace for the first time. Jobs may be missing."
        | "控制台正在首次读取命名空间，可能缺少作业。";
    stale_banner()
        "The registry does not answer. This page shows its last known state, of"
        | "注册中心没有响应。本页显示的是最后已知的状态，时间为";
    cut_banner()
        "This page no longer gets changes from the console. Last contact:"
        | "本页不再收到控制台的更新。最后联系：";
    in_time(length: &str) "in {length}" | "{length}后";
    ago(length: &str) "{length} ago" | "{length}前";
    or_earlier() "or earlier" | "或更早";

    // Overview.
    needs_attention() "Needs attention" | "需要关注";
    verdict_no_jobs() "This namespace has no jobs yet." | "该命名空间还没有作业。";
    no_problem() "No job needs attention." | "没有需要关注的作业。";
    problem() "Problem" | "问题";
    last_day() "Last 24 hours" | "最近 24 小时";
    next_fires() "Next fires" | "下次触发";
    no_fires() "No fires are scheduled." | "没有计划中的触发。";
    no_failures() "No run has failed." | "没有失败的运行。";
    since() "Since" | "自";
    why() "Why" | "原因";

    // Empty lists.
    no_jobs() "No jobs yet" | "还没有作业";
    no_jobs_hint()
        "A job appears here as soon as a process has registered it in this namespace. A worker starts the jobs of a file:"
        | "进程在此命名空间注册作业后，作业即显示于此。用工作进程启动文件中的作业：";
    no_history() "No history" | "没有历史记录";
    no_history_hint()
        "The console shows runs of the past if it knows the store to which the instances write them:"
        | "若控制台知道实例写入运行记录的存储，即可显示过去的运行：";
    history_failed() "The history does not answer:" | "历史存储没有响应：";
    history_lacks(records: u64)
        "Records that the history lacks: {records}, between" | "历史记录缺少 {records} 条，时间范围：";
    history_lacks_hint()
        "A process could not store them in time: runs and events of that time can be missing."
        | "进程未能及时写入，此期间的运行和事件可能缺失。";
    no_match() "Nothing matches" | "没有匹配项";
    show_all() "Show all" | "显示全部";
    first_items(n: usize) "The fire has more items; these are {n} of them." | "该触发还有更多分片，此处显示其中 {n} 个。";
    no_runs() "No runs" | "没有运行记录";
    no_runs_hint() "The history has no fires that match." | "历史记录中没有匹配的触发。";
    nothing_runs() "Nothing runs" | "没有正在运行的分片";
    nothing_runs_hint()
        "Runs appear here while they are in progress. The overview shows the next fires."
        | "运行进行期间显示于此。概览页显示下次触发。";
    no_servers() "No servers" | "没有服务器";
    no_servers_hint()
        "A server appears here as soon as an instance on it has joined a job:"
        | "服务器上的实例加入作业后即显示于此：";
    no_findings() "No findings" | "没有发现问题";
    no_findings_hint()
        "No job has leftovers, damaged records or stuck state."
        | "没有作业存在残留、损坏的记录或停滞的状态。";
    no_records() "No records" | "没有记录";
    no_records_hint()
        "Each operation on a job is recorded with its author and its reason."
        | "对作业的每次操作都记录操作人和原因。";
    no_namespaces() "No namespaces" | "没有命名空间";
    no_namespaces_hint()
        "Name a registry when you start the console:"
        | "启动控制台时请指定注册中心：";

    // Columns and fields.
    job() "Job" | "作业";
    server() "Server" | "服务器";
    address() "Address" | "地址";
    instance() "Instance" | "实例";
    instances() "Instances" | "实例";
    item() "Item" | "分片";
    items() "Items" | "分片";
    no_item_matches() "No item is in this state now." | "当前没有处于此状态的分片。";
    item_numbers() "Item numbers" | "分片编号";
    items_succeeded() "Succeeded" | "成功数";
    parameter() "Parameter" | "参数";
    owner() "Owner" | "所有者";
    owners() "Owners" | "所有者";
    state() "State" | "状态";
    status() "Status" | "状态";
    all() "All" | "全部";
    none() "none" | "无";
    token() "Token" | "令牌";
    started() "Started" | "开始";
    ended() "Ended" | "结束";
    duration() "Duration" | "时长";
    against_median() ", against the median" | "（与中位数比较）";
    fire() "Fire" | "触发";
    scheduled() "Scheduled" | "计划时间";
    distance() "Distance" | "距今";
    next_fire() "Next fire" | "下次触发";
    last_end() "Last end" | "上次结束";
    outcome_title() "Outcome" | "结果";
    failure() "Failure" | "失败原因";
    output() "Output" | "输出";
    show_output() "Show" | "查看";
    cancel_fire() "Cancel all runs for this fire" | "取消此次触发的所有运行";
    no_output() "The run has no output in the history: it wrote none, or its worker keeps none." | "历史中没有该运行的输出：它没有写出任何内容，或者其工作进程不保留输出。";
    earlier_lines() "Earlier lines:" | "更早的行：";
    attempt(n: u32) "attempt {n}" | "第 {n} 次尝试";
    progress() "Progress" | "进度";
    all_runs() "All runs" | "所有运行";
    counted_runs(succeeded: u64, failed: u64)
        "{succeeded} succeeded, {failed} failed" | "成功 {succeeded} 次，失败 {failed} 次";
    processed_in_all_runs() "Processed records, in all runs" | "已处理的记录（所有运行）";
    processed(succeeded: u64, failed: u64)
        "{succeeded} succeeded, {failed} failed" | "成功 {succeeded} 条，失败 {failed} 条";
    schedule() "Schedule" | "调度";
    label() "Label" | "标签";
    filter() "Filter" | "筛选";
    search_jobs() "Name, description or cron" | "名称、描述或 cron";
    severity() "Severity" | "严重程度";
    finding() "Finding" | "发现";
    evidence() "Evidence" | "证据";
    repair() "Repair" | "修复";
    no_repair() "none" | "无";
    error() "error" | "错误";
    warning() "warning" | "警告";
    info() "information" | "信息";
    who() "Who" | "操作人";
    target() "Target" | "对象";
    reason() "Reason" | "原因";
    time_title() "Time" | "时间";
    node() "Node" | "节点";
    meaning() "Meaning" | "含义";
    value() "Value" | "值";
    version() "Version" | "版本";
    revision() "Revision" | "修订";
    dialect() "Dialect" | "格式";
    embedded() "Embedded" | "内置";
    signed_in_as() "Signed in as" | "登录身份";
    from() "From" | "从";
    to() "To" | "到";
    when() "When" | "时间";

    // States.
    running() "running" | "运行中";
    waiting() "waiting" | "等待";
    late() "late" | "延迟";
    disabled() "disabled" | "已禁用";
    of_n_jobs(held: usize, jobs: usize)
        "held back for {held} of {jobs} jobs" | "{jobs} 个作业中有 {held} 个被暂停或禁用";
    running_items() "Running items" | "运行中的分片";
    paused_for() "Paused for" | "暂停的作业";
    disabled_for() "Disabled for" | "禁用的作业";
    orphaned() "orphaned" | "孤立";
    no_owner() "no owner" | "无所有者";
    taken_over() "taken over" | "已接管";
    taken_over_from() "taken over from" | "接管自";
    past_fire() "past fire" | "过去的触发";
    requested() "a request waits" | "有请求等待";
    on() "on" | "在";
    moves_to() "moves to" | "将移至";
    on_request() "on request" | "按请求";
    on_request_hint() "The job has no schedule. It runs when it is requested." | "该作业没有调度，按请求运行。";
    no_instances() "no instance" | "无实例";
    gone() "gone" | "已离开";
    leaving() "leaving" | "正在离开";
    no_record() "no record" | "无记录";
    leader() "leader" | "主节点";
    ephemeral() "ephemeral" | "临时";
    unreadable() "unreadable" | "无法读取";
    unknown_node() "unknown" | "未知";
    folder() "folder" | "目录";
    root_of_job() "root of the job" | "作业的根节点";
    of_session() "of session" | "属于会话";
    written() "Written" | "写入时间";
    no_data() "empty" | "空";

    // The page of a job.
    views_of_job() "Views of the job" | "作业视图";
    runs() "Runs" | "运行记录";
    placement() "Placement" | "分配";
    configuration() "Configuration" | "配置";
    conditions() "Conditions" | "条件";
    last_fires() "Last fires" | "最近触发";
    median() "Median" | "中位数";
    median_is(length: &str) "The median of its runs is {length}." | "其运行的中位数为 {length}。";
    slowest() "Slowest" | "最慢";
    missed() "Missed" | "漏掉";
    failed_fires() "Failed fires" | "失败的触发";
    fails_at_times() "fails at times" | "时有失败";
    fails_mostly() "fails mostly" | "多数失败";
    last_hour() "last hour" | "最近一小时";
    failed_in_last_day() "Failed in 24 h" | "24 小时内失败";
    failed_of(failed: u64, all: u64)
        "{failed} of {all} runs of its items failed in the last hour, and the last ones succeeded."
        | "最近一小时内，其分片的 {all} 次运行中有 {failed} 次失败，最近的运行成功。";
    stays_until()
        "The item stays there until its run ends or the session of its instance is lost."
        | "该分片停留在此，直到运行结束或其实例的会话丢失。";
    item_runs_long(item: u32) "Item {item} still runs past the next fire" | "分片 {item} 在下次触发之后仍在运行";
    fire_not_begun(item: u32) "The due fire of item {item} has not begun" | "分片 {item} 到期的触发尚未开始";
    stop() "." | "。";
    colon() ": " | "：";
    semicolon() "; " | "；";
    held_by() "on" | "位于";
    by(who: &str) "by {who}" | "操作人 {who}";
    runs_since() "runs the item since" | "运行该分片，自";
    owner_gone() "The owner of the item is gone:" | "该分片的所有者已离开：";
    rate_reached(rate: &str) "The job has reached its start rate ({rate}); the next run may begin at" | "该作业已达到启动速率（{rate}）；下一次运行最早启动于";
    delay_not_begun()
        "The delay to the next fire begins when this fire has ended on all items:"
        | "距下次触发的延迟从此次触发在所有分片上结束时开始：";
    waits_for_fire() "No problem found; the next fire is at" | "未发现问题；下次触发于";
    failover_on() "failover on" | "已开启失效转移";
    leader_is() "Leader is" | "主节点为";
    no_leader() "No instance leads" | "没有主节点";
    all_owned() "All items have owners" | "所有分片都有所有者";
    assignment_current() "The assignment is current" | "分配为最新";
    spark_label(fires: usize, failed: usize)
        "Durations of the last {fires} fires; {failed} failed"
        | "最近 {fires} 次触发的时长；其中 {failed} 次失败";
    gantt_label() "Runs of the items over time" | "各分片运行的时间分布";
    fire_at(time: &str, outcome: &str, length: &str)
        "Fire of {time}: {outcome}, {length}" | "{time} 的触发：{outcome}，{length}";
    cron() "Expression" | "表达式";
    in_words() "In words" | "文字描述";
    zone() "Time zone" | "时区";
    excluded_days() "Excluded days" | "排除日";
    excluded_times() "Excluded times" | "排除时段";
    excluded() "Excluded" | "已排除";
    not_before() "Not before" | "不早于";
    not_after() "Not after" | "不晚于";
    repeated_hour() "Repeated hour" | "重复的时段";
    jitter() "Jitter" | "抖动";
    misfire() "Misfires" | "错过触发";
    config_fault() "The configuration cannot be used:" | "配置无法使用：";
    document() "Document as stored" | "存储的文档";
    document_hidden()
        "Hidden: the document may hold secrets. It is shown to roles that may change it."
        | "已隐藏：文档可能含有机密，仅对可更改它的角色显示。";
    dry_run() "Dry run" | "试算";
    dry_run_hint()
        "Computes the moves of items that a change would cause. Nothing is changed."
        | "计算更改会引起的分片移动，不做任何改动。";
    servers_to_join() "Servers where an instance would join" | "将有实例加入的服务器";
    attributes_to_join() "Weight, zone and labels of these instances" | "这些实例的权重、可用区和标签";
    instances_to_leave() "Instances that would leave" | "将离开的实例";
    servers_to_disable() "Servers that would be disabled" | "将禁用的服务器";
    servers_to_enable() "Servers that would be enabled" | "将启用的服务器";
    strategy() "Strategy" | "策略";
    as_now() "as now" | "保持现状";
    other_count() "Number of items" | "分片数";
    placement_rules() "Placement rules" | "放置规则";
    needs_label(condition: &str) "excluded: {condition} is required" | "已排除：要求 {condition}";
    compute() "Compute" | "计算";
    clear() "Clear" | "清除";
    items_to_move() "Items that would move" | "将移动的分片";
    all_items_then() "All items after the change" | "更改后的所有分片";
    no_instance_left()
        "No instance would be available: items keep their owners, and none of them runs."
        | "将没有可用的实例：分片保留所有者，但都不运行。";
    java_leads()
        "A Java instance leads; it moves all items at once."
        | "主节点为 Java 实例，会一次移动所有分片。";
    after_run() "when its run has ended" | "其运行结束后";
    at_once() "at once" | "立即";

    // Other pages.
    last_held_by() "Last operation:" | "最近的操作：";
    comma() "," | "、";
    for_all_jobs(n: usize) "for all {n} jobs" | "（全部 {n} 个作业）";
    jobs_of_server() "Jobs that know this server" | "已知该服务器的作业";
    server_sum(instances: usize, jobs: usize, running: usize)
        "Live instances: {instances} · jobs: {jobs} · running items: {running}"
        | "存活实例：{instances} · 作业：{jobs} · 运行中的分片：{running}";
    doctor_hint()
        "Findings of the diagnosis of all jobs and groups. A repair is one guarded transaction."
        | "对所有作业和组的诊断结果。每项修复是一个受保护的事务。";
    audit_of_history() "Earlier changes, and those of removed jobs, come from the history." | "更早的更改以及已移除作业的更改来自历史。";
    audit_hint()
        "The last 32 changes of each job and group by this console and by ejob, with author and reason."
        | "每个作业和组最近 32 次由控制台或 ejob 所做的更改，含操作人和原因。";
    registry_hint()
        "The nodes of a job with their meaning. Nothing can be changed here."
        | "作业的节点及其含义，此处只读。";

    // Nodes of items.
    waiting_item(item: u32) "item {item} waits for a takeover" | "分片 {item} 等待接管";
    item_node(item: u32) "item {item}" | "分片 {item}";
    unknown_of_item(item: u32) "unknown node of item {item}" | "分片 {item} 的未知节点";
    owner_of(item: u32) "owner of item {item}" | "分片 {item} 的所有者";
    mark_of(item: u32) "mark of a run of item {item}" | "分片 {item} 的运行标记";
    alive_of(item: u32) "session of the holder of item {item}" | "分片 {item} 持有者的会话";
    misfire_of(item: u32) "mark of a misfire of item {item}" | "分片 {item} 的错过标记";
    takeover_of(item: u32) "mark of a takeover of item {item}" | "分片 {item} 的接管标记";
    disabled_item(item: u32) "item {item} is disabled" | "分片 {item} 已禁用";
    counted_item(item: u32) "item {item} is counted for callbacks" | "分片 {item} 已计入回调";
    record_of(item: u32) "ledger record of item {item}" | "分片 {item} 的账本记录";
    progress_of(item: u32) "progress of item {item}" | "分片 {item} 的进度";
    checkpoint_of(item: u32) "checkpoint of item {item}" | "分片 {item} 的检查点";
}

impl crate::pages::locale::Lang {
    pub(crate) fn verdict_bad(self, n: usize, jobs: usize) -> String {
        match (self, n) {
            (Self::English, 1) => format!("1 of {jobs} jobs needs attention."),
            (Self::English, _) => format!("{n} of {jobs} jobs need attention."),
            (Self::Chinese, _) => format!("{jobs} 个作业中有 {n} 个需要关注。"),
        }
    }

    pub(crate) fn servers_paused(self, paused: usize, of: usize) -> String {
        match (self, paused == of) {
            (Self::English, true) => format!("All {of} servers are paused"),
            (Self::English, false) if paused == 1 => format!("1 of {of} servers is paused"),
            (Self::English, false) => format!("{paused} of {of} servers are paused"),
            (Self::Chinese, true) => format!("全部 {of} 台服务器已暂停"),
            (Self::Chinese, false) => format!("{of} 台服务器中有 {paused} 台已暂停"),
        }
    }

    pub(crate) fn servers_disabled(self, disabled: usize, of: usize) -> String {
        match (self, disabled) {
            (Self::English, 1) => format!("1 of {of} servers is disabled"),
            (Self::English, _) => format!("{disabled} of {of} servers are disabled"),
            (Self::Chinese, _) => format!("{of} 台服务器中有 {disabled} 台已禁用"),
        }
    }

    pub(crate) fn items_on(self, items: usize, instances: usize) -> String {
        match self {
            Self::English => format!("{} on {}", self.n_items(items), self.n_instances(instances)),
            Self::Chinese => format!("{}，{}", self.n_items(items), self.n_instances(instances)),
        }
    }

    pub(crate) fn n_moves(self, moves: usize, waiting: usize) -> String {
        let all = self.moves(moves);
        if waiting == 0 { all } else { format!("{all} {}", self.of_them_wait(waiting)) }
    }

    pub(crate) fn all_well(self, running: usize) -> String {
        match running {
            0 => self.pick("All is well.", "一切正常。"),
            n => format!("{} {}", self.pick("All is well.", "一切正常。"), self.items_run(n)),
        }
    }
}

counts! {
    n_left_out(n) "1 line left out", "{n} lines left out" | "略去 {n} 行";
    n_items(n) "1 item", "{n} items" | "{n} 个分片";
    n_instances(n) "1 instance", "{n} instances" | "{n} 个实例";
    n_running(n) "1 running", "{n} running" | "{n} 个运行中";
    n_failing(n) "1 failing", "{n} failing" | "{n} 个失败";
    n_late(n) "1 item is late", "{n} items are late" | "{n} 个分片延迟";
    n_findings(n) "1 finding", "{n} findings" | "{n} 项发现";
    n_unowned(n) "1 item has no owner", "{n} items have no owner" | "{n} 个分片没有所有者";
    n_pending(n) "1 item is pending until its run ends", "{n} items are pending until their runs end" | "{n} 个分片将在运行结束后移动";
    n_orphaned(n) "1 orphaned run waits for a takeover", "{n} orphaned runs wait for a takeover" | "{n} 次孤立运行等待接管";
    found(n) "1 match", "{n} in all" | "共 {n} 项";
    for_jobs(n) "for the job", "for the jobs" | "，作业：";
    n_other_changes(n)
        "1 other change lies between them, too.", "{n} other changes lie between them, too."
        | "其间另有 {n} 次更改。";
    and_more(n) "and 1 more", "and {n} more" | "另有 {n} 项";
    more_bytes(n) "1 more byte", "{n} more bytes" | "另有 {n} 字节";
    n_more_fail_at_times(n)
        "1 more job failed several times in the last hour.", "{n} more jobs failed several times in the last hour."
        | "另有 {n} 个作业在最近一小时内多次失败。";
    n_fail_at_times(n) "1 job fails at times.", "{n} jobs fail at times." | "{n} 个作业时有失败。";
    verdict_good(n) "The job is well.", "All {n} jobs are well." | "全部 {n} 个作业正常。";
    verdict_running(n) "1 item runs now.", "{n} items run now." | "当前有 {n} 个分片在运行。";
    items_run(n) "1 item runs now.", "{n} items run now." | "{n} 个分片正在运行。";
    members_then(n) "1 instance would be available.", "{n} instances would be available." | "将有 {n} 个可用实例。";
    moves(n) "1 item would move.", "{n} items would move." | "{n} 个分片将移动。";
    of_them_wait(n) "1 of them when its run ends.", "{n} of them when their runs end." | "其中 {n} 个在运行结束后移动。";
}
