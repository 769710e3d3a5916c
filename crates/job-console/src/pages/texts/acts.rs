//! Texts of operations.

use crate::pages::locale::{Lang, counts, messages};

messages! {
    remove_servers() "Remove servers" | "移除服务器";
    remove_servers_hint()
        "Removes the servers that match from all jobs, and shuts their instances down. What would be removed is shown first."
        | "从所有作业中移除匹配的服务器，并停止其实例。会先显示将移除的内容。";
    address_or_pattern()
        "IP address, or a pattern such as 10.0.*"
        | "IP 地址，或模式（如 10.0.*）";
    steps_of_transaction() "Steps of the transaction" | "事务步骤";
    no_repair_exists()
        "The present finding has no repair."
        | "当前的发现没有可用的修复。";
    repair_has_changed()
        "The repair has changed since it was shown. Check its steps, and confirm again."
        | "修复内容在显示之后已变化。请检查步骤后重新确认。";
    effect() "Effect" | "效果";
    matching_jobs_changed()
        "Other jobs match the filters by now. Check them, and confirm again."
        | "匹配筛选条件的作业已变化。请检查后重新确认。";
    no_job_matches() "No job matches the filters." | "没有匹配筛选条件的作业。";
    result() "Result" | "结果";
    changed() "changed" | "已更改";
    back() "Back" | "返回";
    cancel() "Cancel" | "取消";
    will_change() "Changes" | "更改";
    left_alone() "Left alone" | "保持不变";
    would_fail() "Fails" | "失败";
    nothing_changes() "Nothing changes." | "没有更改。";
    cannot_be_undone()
        "This cannot be undone. Export the job first if you may need it."
        | "无法撤销。如可能再次需要，请先导出该作业。";
    live_instances() "Live instances" | "存活实例";
    run_parameter()
        "Parameter of the runs (optional; not secret)"
        | "运行参数（可选；不要填写机密）";
    type_name(name: &str) "Type {name} to confirm" | "输入 {name} 以确认";
    even_if_alive() "Also shut its live instances down" | "同时关闭其存活实例";
    reason_required() "Reason (required, recorded)" | "原因（必填，将被记录）";
    although_stale()
        "I know that this page shows old data"
        | "我知道本页显示的是旧数据";
    recorded_as(name: &str) "Recorded as {name}." | "以 {name} 的身份记录。";
    pause_comes_back()
        "Enabling the server later puts the pause back, with its author and reason."
        | "之后启用服务器时会恢复暂停，并保留其操作人和原因。";
    disabled_without_items()
        "Instances of disabled servers get no items" | "已禁用服务器的实例不分配分片";
    resume_to_start()
        "It was paused before it was disabled. Resume it afterwards if it shall start items."
        | "禁用之前它处于暂停状态。如需启动分片，请随后恢复运行。";
    drained() "The drain is complete: no item runs here." | "排空已完成：此处没有运行中的分片。";
    request() "Requested run" | "运行请求";
    request_not_recorded()
        "This request is no longer recorded: a job keeps its last 32 changes. The items show their last runs."
        | "该请求已无记录：每个作业保留最近 32 次更改。分片显示其上次运行。";
    asked_instances() "Java instances take part, so these were asked to run their items:" | "有 Java 实例参与，因此请求了以下实例运行其分片：";
    request_progress(waiting: usize, running: usize, succeeded: usize, failed: usize)
        "{waiting} waiting · {running} running · {succeeded} succeeded · {failed} did not succeed"
        | "{waiting} 个等待 · {running} 个运行中 · {succeeded} 个成功 · {failed} 个未成功";
    request_unknown(unknown: usize)
        "{unknown} without a recorded run since the request"
        | "{unknown} 个自请求以来没有运行记录";
    request_is_cut() "The record does not name all items; the others are not listed." | "该记录未列出全部分片；其余分片未显示。";
    see_audit() "See the audit" | "查看审计";
}

impl Lang {
    /// Returns the effect of a pause of some servers, without a stop.
    pub(crate) fn paused_items_wait(self, items: usize) -> String {
        match (self, items) {
            (Self::English, 0) => "They own no items: all items start on the others".to_owned(),
            (Self::English, 1) => "Their item does not start".to_owned(),
            (Self::English, n) => format!("Their {n} items do not start"),
            (Self::Chinese, 0) => "它们不拥有分片，所有分片在其他服务器上启动".to_owned(),
            (Self::Chinese, n) => format!("其 {n} 个分片不启动"),
        }
    }
}

counts! {
    act_on_all(n) "Act on this job", "Act on all {n} jobs" | "对这 {n} 个作业执行操作";
    n_jobs_change(n) "1 job would change", "{n} jobs would change" | "{n} 个作业将更改";
    n_jobs_left(n) "1 is left alone", "{n} are left alone" | "{n} 个保持不变";
    first_jobs(n) "The first job is shown.", "The first {n} jobs are shown." | "仅显示前 {n} 个作业。";
    n_nodes(n) "1 node is removed." , "{n} nodes are removed." | "将移除 {n} 个节点。";
    n_pauses_replaced(n) "1 pause is replaced.", "{n} pauses are replaced." | "将替换 {n} 个暂停。";
    n_paused_again(n)
        "1 server is paused again, and starts nothing.", "{n} servers are paused again, and start nothing."
        | "{n} 台服务器将重新暂停，不启动任何分片。";
    n_without_instance(n)
        "1 job would have no available instance.", "{n} jobs would have no available instance."
        | "{n} 个作业将没有可用实例。";
    n_still_run(n)
        "The drain goes on: 1 item still runs here.", "The drain goes on: {n} items still run here."
        | "排空进行中：仍有 {n} 个分片在此运行。";
    n_changed(n) "Done: 1 change is written.", "Done: {n} changes are written." | "完成：已写入 {n} 项更改。";
}

impl Lang {
    /// Returns the title of an operation by the last part of its address.
    pub(crate) fn act_title(self, word: &str) -> String {
        match word {
            "run" => self.pick("Run now", "立即运行"),
            "rerun" | "rerun-failed" => self.pick("Rerun failed items", "重跑失败分片"),
            "cancel" => self.pick("Cancel runs", "取消运行"),
            "pause" => self.pick("Pause", "暂停"),
            "resume" => self.pick("Resume", "恢复"),
            "disable" => self.pick("Disable", "禁用"),
            "enable" => self.pick("Enable", "启用"),
            "drain" => self.pick("Drain", "排空"),
            "shut-down" => self.pick("Shut down", "关闭"),
            "remove" => self.pick("Remove", "移除"),
            other => other.to_owned(),
        }
    }

    /// Returns the operation of an audit record: the word as recorded, or its Chinese title.
    pub(crate) fn audited_act(self, act: &str) -> String {
        match (self, act) {
            (Self::English, act) => act.to_owned(),
            (Self::Chinese, "trigger") => "请求运行".to_owned(),
            (Self::Chinese, "update configuration") => "更改配置".to_owned(),
            (Self::Chinese, "shutdown") => "关闭".to_owned(),
            (Self::Chinese, "disable items") => "禁用分片".to_owned(),
            (Self::Chinese, "enable items") => "启用分片".to_owned(),
            (Self::Chinese, "create job") => "创建作业".to_owned(),
            (Self::Chinese, "remove job") => "移除作业".to_owned(),
            (Self::Chinese, "set group") => "设置组上限".to_owned(),
            (Self::Chinese, "remove group") => "移除组上限".to_owned(),
            (Self::Chinese, "fix") => "修复".to_owned(),
            (Self::Chinese, "backfill") => "补跑".to_owned(),
            (Self::Chinese, "cancel backfill") => "取消补跑".to_owned(),
            (Self::Chinese, "import") => "导入".to_owned(),
            (Self::Chinese, "expired") => "过期".to_owned(),
            (Self::Chinese, "expired while held back") => "暂停或禁用期间过期".to_owned(),
            (Self::Chinese, act) => self.act_title(act),
        }
    }

    /// Returns what an operation does, in one sentence.
    pub(crate) fn act_effect(self, word: &str) -> String {
        match word {
            "run" => self.pick(
                "Requests a run now. The schedule is not affected. An item that runs already runs again afterwards.",
                "请求立即运行，不影响调度。正在运行的分片在结束后再运行一次。",
            ),
            "rerun" | "rerun-failed" => self.pick(
                "Requests a run of each item whose last run did not succeed.",
                "请求重跑上次未成功的每个分片。",
            ),
            "cancel" => self.pick(
                "Ends unfinished runs: their code is asked to end, and is dropped after its grace. No instance runs them again. Later fires run as usual.",
                "结束未完成的运行：先请求其代码结束，宽限期后丢弃。没有实例会再次运行它们，之后的触发照常运行。",
            ),
            "pause" => self.pick(
                "Paused instances keep their items but start nothing, and miss their fires. Present runs go on.",
                "暂停的实例保留分片但不启动任何运行，会漏掉触发。当前运行继续。",
            ),
            "resume" => self.pick(
                "Paused instances start their items again at the next fire.",
                "暂停的实例从下次触发起重新启动其分片。",
            ),
            "disable" => self.pick(
                "Disabled servers and items start nothing. Present runs go on; servers lose their items once these are idle.",
                "禁用的服务器和分片不再启动。当前运行继续；服务器在分片空闲后失去它们。",
            ),
            "enable" => self.pick(
                "Enabled servers and items take part again.",
                "启用的服务器和分片重新参与。",
            ),
            "drain" => self.pick(
                "Disables the server for its jobs. No run is interrupted: its items get other owners as their runs end.",
                "对其作业禁用该服务器。不会中断运行：分片在其运行结束后换到其他所有者。",
            ),
            "shut-down" => self.pick(
                "Asks the instances to leave. Rust instances complete their runs first. Instances started later take part.",
                "请求实例离开。Rust 实例先完成其运行。之后启动的实例照常参与。",
            ),
            "remove" => self.pick(
                "Removes the nodes from the registry.",
                "从注册中心移除节点。",
            ),
            other => other.to_owned(),
        }
    }
}
