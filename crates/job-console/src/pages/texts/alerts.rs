//! Texts of the alerts.

use job_watch::{ConditionKind, Severity};

use super::effects::HELD;
use super::patterns::{Patterns, sentences};
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

/// Sentences of the crate `job-watch` about expectations that do not hold, or are not judged.
const REASONS: &Patterns = &[
    ("the namespace has no job of this name", "命名空间中没有此名称的作业"),
    ("the job does not exist", "作业不存在"),
    ("the configuration cannot be read: {}", "配置无法读取：{0}"),
    ("the job has no configuration", "作业没有配置"),
    ("the job has no schedule, and runs on request only", "作业没有调度，只按请求运行"),
    ("{} of at least {} instances are alive", "应有至少 {1} 个存活实例，现有 {0} 个"),
    (
        "all servers are paused, and no item starts until one is resumed: {}",
        "所有服务器均已暂停，恢复之前没有分片启动：{0*}",
    ),
    ("no instance is available: {}", "没有可用的实例：{0*}"),
    ("the job is PAUSED", "作业已暂停"),
    ("the job is DISABLED", "作业已禁用"),
    (
        "all items are disabled, or their servers are paused or disabled",
        "所有分片已禁用，或其服务器已暂停或禁用",
    ),
    (
        "runs are not recorded, because monitor_execution is false",
        "未记录运行，因为 monitor_execution 为 false",
    ),
    ("item {} has no record; Java instances write none", "分片 {0} 没有记录；Java 实例不写记录"),
    ("the record of item {} cannot be read", "分片 {0} 的记录无法读取"),
    ("{} is not known to write records, as a Java instance", "{0*}可能是不写记录的 Java 实例"),
    (
        "a Java instance was alive after the last record of item {}",
        "在分片 {0} 的最后记录之后有 Java 实例存活",
    ),
    (
        "{} has not begun for the fire of {}; it was due by {}",
        "{0*}尚未开始 {1} 的触发；最晚应在 {2} 开始",
    ),
    ("{} is late", "{0*}延迟"),
    ("{} last succeeded at {}, over {} ago", "{0*}上次成功于 {1}，已超过 {2}"),
    ("{} has no known success within {}", "{0*}在 {1} 内没有已知的成功"),
    ("item {} runs on {} since {}, longer than {}", "分片 {0} 自 {2} 起在 {1} 上运行，超过 {3}"),
    ("item {} runs since {}, longer than {}", "分片 {0} 自 {1} 起运行，超过 {2}"),
    ("the last run of {} failed: {}", "{0*}最近一次运行失败：{1}"),
    ("the last run of {} failed", "{0*}最近一次运行失败"),
    ("the last {} runs of {} failed: {}", "{1*}最近 {0} 次运行失败：{2}"),
    ("the last {} runs of {} failed", "{1*}最近 {0} 次运行失败"),
    (
        "the last runs of items {} and {} more failed: {}",
        "分片 {0} 和另外 {1} 个的上次运行失败：{2}",
    ),
    ("the last runs of items {} and {} more failed", "分片 {0} 和另外 {1} 个的上次运行失败"),
    ("the last runs of items {} failed: {}", "分片 {0} 的上次运行失败：{1}"),
    ("the last runs of items {} failed", "分片 {0} 的上次运行失败"),
    ("and 1 more item", "另有 1 个分片"),
    ("and {} more items", "另有 {0} 个分片"),
];

/// Closed texts within the sentences. Those of servers are in [`HELD`].
const PARTS: &Patterns = &[
    ("item {} (no owner)", "分片 {0}（没有所有者）"),
    ("item {} (owner {}, which is gone)", "分片 {0}（所有者 {1} 已离开）"),
    ("item {} (owner {})", "分片 {0}（所有者 {1}）"),
];

impl Lang {
    /// Returns why an expectation does not hold, or is not judged, in Chinese. `None` for other
    /// languages, and for texts that are not of the closed set.
    pub(crate) fn reason_of_expectation(self, text: &str) -> Option<String> {
        if self == Self::English {
            return None;
        }
        let parts = [PARTS, HELD].concat();
        sentences(text, REASONS, &parts)
    }

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use coordination::JobName;
    use jiff::Timestamp;
    use job_watch::{Memory, Seen, WatchFile, evaluate};
    use operations::JobSnapshot;

    use super::*;

    fn translated(text: &str) -> String {
        Lang::Chinese.reason_of_expectation(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn each_reason_has_a_chinese_text() {
        for (english, chinese) in REASONS {
            let item = "item 3 (owner 10.0.0.1@-@7, which is gone)";
            let text = english.replace("{}", item);
            let shown = translated(&text);
            let first: String = chinese.split('{').next().unwrap_or_default().to_owned();
            assert!(shown.starts_with(&first), "{text}: {shown}");
        }
        let text =
            "item 3 (owner a) has not begun for the fire of b; it was due by c; and 2 more items";
        let expected = "分片 3（所有者 a）尚未开始 b 的触发；最晚应在 c 开始；另有 2 个分片";
        assert_eq!(translated(text), expected);
        let text = "the last 3 runs of item 0 (no owner) failed: the job does not exist; boom";
        let expected = "分片 0（没有所有者）最近 3 次运行失败：the job does not exist; boom";
        assert_eq!(translated(text), expected);
    }

    #[test]
    fn each_condition_has_chinese_texts() {
        let file = "[[expect]]\njob = \"report\"\nlate_after = \"1h\"\nmust_succeed_within = \"1h\"\n\
                    at_most = \"1h\"\nfailures = 1\ninstances_at_least = 1\n";
        let expectations = WatchFile::parse(file).unwrap().expectations_of("report");
        let nothing = JobSnapshot::of_nodes(&JobName::new("report").unwrap(), Vec::new());
        let memory = Memory::default();
        let seen = Seen::new(Some(&nothing), &memory);
        let found = evaluate(&expectations, seen, Timestamp::UNIX_EPOCH);
        let judged: BTreeSet<_> = found.iter().map(|one| one.expectation).collect();
        assert_eq!(judged, BTreeSet::from(ConditionKind::ALL), "the file has all conditions");
        for one in found {
            translated(one.state.why().expect("the job does not exist"));
            let kind = one.expectation;
            assert_ne!(Lang::Chinese.expectation_of(kind), kind.as_str());
        }
    }
}
