//! Texts of changed configurations.

use crate::pages::locale::{Lang, messages};

messages! {
    entry_of_job_file() "Entry of a job file (TOML)" | "作业文件中的条目（TOML）";
    entry_hint()
        "A job file with this entry declares the same configuration. The work of the job, and settings that only Java instances use, are not part of it."
        | "含有此条目的作业文件声明相同的配置。作业的工作内容以及仅供 Java 实例使用的设置不在其中。";
    copy() "Copy" | "复制";
    copied() "Copied" | "已复制";
    change_configuration() "Change configuration" | "更改配置";
    restore_configuration() "Restore a former configuration" | "恢复历史配置";
    create_job() "Create a job" | "创建作业";
    create_hint()
        "Processes that offer the template run the job. Nothing is written before you have seen the configuration and confirmed it."
        | "提供该模板的进程将运行此作业。在您查看并确认配置之前不会写入任何内容。";
    confirm_creation()
        "The job is stored with this configuration, and runs as soon as a process offers the template."
        | "将以此配置存储作业；有进程提供该模板时即开始运行。";
    template() "Template" | "模板";
    label_hint()
        "Optional: processes with other labels do not join the job."
        | "可选：使用其他标签的进程不会加入作业。";
    show_configuration() "Show the configuration" | "查看配置";
    other_fields_by_default()
        "All other fields have their default values."
        | "其他字段均为默认值。";
    edit_hint()
        "Nothing is written before you have seen the changes and confirmed them."
        | "在您查看并确认更改之前不会写入任何内容。";
    show_changes() "Show the changes" | "查看更改";
    confirm_changes()
        "These fields are written. Instances read them at once; items in progress complete first."
        | "将写入以下字段。实例会立即读取；正在运行的分片先完成。";
    write_configuration() "Write the configuration" | "写入配置";
    edit_again() "Edit again" | "继续编辑";
    not_valid() "is not valid:" | "无效：";
    field() "Field" | "字段";
    for_example() "For example" | "例如";
    fires_before() "Next fires now" | "当前的下次触发";
    fires_after() "Next fires after the change" | "更改后的下次触发";
    present_value() "Present value" | "当前值";
    new_value() "New value" | "新值";
    changed_meanwhile()
        "Another change was written after this form was made."
        | "此表单生成之后，配置已被更改。";
    typed_values_kept()
        "Your values are kept, and the other fields show their present values:"
        | "您输入的值已保留，其他字段显示当前值：";
    no_field_of_form_changed()
        "No field of this form has changed."
        | "此表单中的字段没有变化。";
    check_differences()
        "Check the differences again before you confirm them."
        | "请重新检查差异后再确认。";
    overwritten_at_start()
        "overwrite is on: the program's own configuration replaces this one when an instance starts."
        | "overwrite 已开启：实例启动时，程序自带的配置会覆盖此配置。";
    replaces_faulty_document()
        "The stored document cannot be read. The former one replaces all of it."
        | "存储的文档无法读取，将由历史文档整体替换。";
    former_configurations() "Former configurations" | "历史配置";
    no_former_configurations()
        "This configuration has not been replaced yet. The last 20 are kept here."
        | "此配置尚未被替换。此处保留最近 20 个。";
    replaced() "Replaced" | "替换时间";
    author() "By" | "操作人";
    by_author(who: &str) "by {who}" | "由 {who} 操作";
    was_replaced() "It was replaced" | "替换于";
    restoring_changes() "Fields that differ from the present configuration" | "与当前配置不同的字段";
    everything() "everything: the present one cannot be read" | "全部：当前配置无法读取";
    same_as_present() "none" | "无";
    failing_since_revision(revision: &str) "Failing since revision {revision} of" | "自修订 {revision} 起失败，时间";
    failing_since_change() "Failing since the configuration change of" | "自此次配置更改起失败，时间";
    items_since(items: &str)
        "Items {items}: the last success began at" | "分片 {items}：最后一次成功开始于";
    first_failure_at() ", and the first failure at" | "，首次失败开始于";
    change_is_undone()
        "The configuration from before this change is in force again; the next runs show whether that helps."
        | "此次更改之前的配置已重新生效；下次运行将表明是否有效。";
    restore_before_change() "Restore the configuration before it" | "恢复此前的配置";
    not_set() "not set" | "未设置";
    overlap_number() "N of queue or parallel" | "queue 或 parallel 的数目";
    overlap_queue() "queue: each gets a run of its own" | "queue：各自运行一次";
    overlap_parallel() "parallel: each runs at once" | "parallel：立即并行运行";
    overlap_cancel() "cancel: the unfinished run is cancelled" | "cancel：取消未完成的运行";
    overlap_none() "none: misfire alone decides" | "无：仅由 misfire 决定";
    repeated_both() "both: times that occur twice fire twice" | "both：出现两次的时刻触发两次";
    repeated_later() "the later one fires" | "仅较晚的一次触发";
    restore_this() "Restore" | "恢复";
    restore_this_label(time: &str) "Restore the configuration that was replaced at {time}" | "恢复 {time} 被替换的配置";
}

impl Lang {
    /// Returns what a field without a value means.
    pub(crate) fn config_unset(self, name: &str) -> String {
        match name {
            "cron" => self.pick("runs on request only", "仅按请求运行"),
            "time_zone" => "UTC".to_owned(),
            "excluded_days" | "excluded_times" => {
                self.pick("no time is excluded", "不排除任何时间")
            }
            "not_before" | "not_after" => self.pick("no limit", "没有限制"),
            "repeated_hour" => self.repeated_later(),
            "jitter" => self.pick("no delay", "没有延迟"),
            "overlap" => self.pick("misfire alone decides", "仅由 misfire 决定"),
            "cluster_concurrency" | "start_rate" => self.pick("no limit", "没有限制"),
            "catch_up" => self.pick("missed fires are not caught up", "不补跑漏掉的触发"),
            "group" => self.pick("no group", "没有组"),
            "strategy" => self.pick("average allocation", "平均分配"),
            "placement" => self.pick("no rules", "没有规则"),
            _ => self.not_set(),
        }
    }

    /// Returns the label of a field of a configuration.
    pub(crate) fn config_field(self, name: &str) -> String {
        match name {
            "cron" => self.pick("Schedule", "调度"),
            "time_zone" => self.pick("Time zone", "时区"),
            "excluded_days" => self.pick("Days without fires", "不触发的日期"),
            "excluded_times" => self.pick("Times without fires", "不触发的时段"),
            "not_before" => self.pick("First possible fire", "最早触发时间"),
            "not_after" => self.pick("Last possible fire", "最晚触发时间"),
            "repeated_hour" => {
                self.pick("Repeated hour when clocks go back", "时钟回拨时重复的时段")
            }
            "jitter" => self.pick("Upper bound of the start delay", "启动延迟上限"),
            "sharding_total_count" => self.pick("Number of items", "分片总数"),
            "sharding_item_parameters" => self.pick("Parameters of the items", "分片参数"),
            "job_parameter" => self.pick("Parameter of every run", "作业参数"),
            "failover" => self.pick("Take over orphaned runs", "失效转移"),
            "misfire" => self.pick("Run fires that met a busy item afterwards", "错过触发后补跑"),
            "overlap" => self.pick("Fires that meet an unfinished run", "遇到未完成运行的触发"),
            "monitor_execution" => self.pick("Record runs in the registry", "监控作业运行状态"),
            "max_time_diff" => self.pick("Bound of the clock difference", "最大时钟误差"),
            "reconcile_interval" => self.pick("Interval of reconciliation", "自诊断修复间隔"),
            "server_ttl" => {
                self.pick("Remove servers without instances after", "无实例服务器的移除时间")
            }
            "cluster_concurrency" => {
                self.pick("Runs at the same time in the cluster", "集群中同时运行数")
            }
            "start_rate" => self
                .pick("Runs that begin in a period in the cluster", "集群中一段时间内启动的运行数"),
            "group" => self.pick("Group of jobs that share limits", "共享上限的作业组"),
            "catch_up" => self.pick("Catch up missed fires", "补跑漏掉的触发"),
            "static_sharding" => self.pick("Items stay with their owners", "静态分片"),
            "strategy" => self.pick("Sharding strategy", "分片策略"),
            "placement" => self.pick("Placement rules", "放置规则"),
            "description" => self.pick("Description", "描述"),
            "disabled" => self.pick("Disable servers when they join", "服务器加入时禁用"),
            "overwrite" => self.pick(
                "The program's configuration replaces this one at start",
                "启动时以程序配置覆盖",
            ),
            other => other.to_owned(),
        }
    }
}
