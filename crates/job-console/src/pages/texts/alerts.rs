//! Texts of the alerts.

use job_watch::{ConditionKind, Severity};

use crate::alerts::Standing;
use crate::pages::locale::{Lang, messages};

messages! {
    alerts() "Alerts" | "告警";
    sender() "Messages are sent by" | "消息由以下监视器发送：";
    no_sender()
        "No watcher runs, so nothing is judged and no message is sent. Start one:"
        | "没有监视器在运行，因此不判断期望，也不发送消息。请启动：";
    watcher_ended()
        "The watcher of this console has ended, so no expectation is judged here. Start the console again. Reason:"
        | "此控制台的监视器已结束，因此这里不再判断期望。请重新启动控制台。原因：";
    unreadable_document()
        "A stored document of the watchers cannot be read; its violations and silences are not shown:"
        | "无法读取监视器存储的文档；其违反和静默未显示：";
    only_stored()
        "This console runs no watcher: only violations that the sender has stored, and silences, are shown. All states are shown by"
        | "此控制台没有运行监视器：仅显示发送者已存储的违反和静默。显示所有状态：";
    no_expectations() "No expectations" | "没有期望";
    no_expectations_hint()
        "Expectations of jobs stand in the file of a watcher. Violations and silences appear here."
        | "作业的期望写在监视器的文件中。违反和静默显示在此处。";
    expectation() "Expectation" | "期望";
    violated_expectation() "This expectation is violated:" | "违反了期望：";
    since_then() "since" | "自";
    until() "until" | "直到";
    last_message() "last message" | "上次消息";
    silence() "Silence" | "静默";
    change_silence() "Change the silence" | "更改静默";
    end_silence() "End the silence" | "结束静默";
    silence_hint()
        "No message is sent about violations that begin or continue during a silence. The state is still judged and shown."
        | "静默期间不发送违反的消息。状态仍会被判断和显示。";
    length_of_silence() "For" | "时长";
}

impl Lang {
    pub(crate) fn standing(self, state: Standing) -> String {
        match state {
            Standing::Violated => self.pick("violated", "违反"),
            Standing::Unknown => self.pick("unknown", "未知"),
            Standing::Pending => self.pick("pending", "等待中"),
            Standing::Suspended => self.pick("suspended", "已暂停判断"),
            Standing::Ok => self.pick("ok", "正常"),
            Standing::NotJudged => self.pick("not judged here", "此处未判断"),
        }
    }

    /// Returns what an expectation demands.
    pub(crate) fn expectation_of(self, kind: ConditionKind) -> String {
        match kind {
            ConditionKind::Exists => self.pick("the job exists", "作业存在"),
            ConditionKind::LateAfter => {
                self.pick("idle items begin their fires in time", "空闲分片按时开始触发")
            }
            ConditionKind::MustSucceedWithin => {
                self.pick("runs succeed often enough", "按时有成功的运行")
            }
            ConditionKind::AtMost => self.pick("no run takes too long", "运行时间不过长"),
            ConditionKind::Failures => self.pick("runs do not fail repeatedly", "运行不连续失败"),
            ConditionKind::InstancesAtLeast => self.pick("enough instances live", "存活实例足够"),
            _ => kind.as_str().to_owned(),
        }
    }

    pub(crate) fn watch_severity(self, severity: Severity) -> String {
        match severity {
            Severity::Info => self.pick("info", "提示"),
            Severity::Warning => self.pick("warning", "警告"),
            Severity::Critical => self.pick("critical", "严重"),
        }
    }
}
