//! Chinese texts of events. The history has the English sentences that
//! [`JobEvent`](coordination::JobEvent) writes. Texts of jobs and of other systems stay as written.

use operations::ItemBrief;

use super::patterns::{Patterns, filled, sentences};
use crate::pages::locale::Lang;

/// Sentences by the kind of event: the English pattern, in which `{}` stands for any text, and the
/// Chinese one. In the latter, `{0}` is the first of these texts as written, and `{0*}` is the same
/// text by [`PARTS`]. The first pattern of the kind that matches counts.
///
/// The free text of one kind can look like the sentence of another one.
const SENTENCES: &[(&str, &str, &str)] = &[
    ("joined", "joined as {}", "以 {0} 加入"),
    ("left", "{} left", "{0} 已离开"),
    ("suspended", "the connection to the registry is lost", "与注册中心的连接已中断"),
    (
        "reconnected",
        "reconnected in the same session: no connection {}",
        "在同一会话中重新连接：{0*} 无连接",
    ),
    ("session_lost", "the session of {} is lost", "{0} 的会话已失效"),
    ("session_started", "new session as {}: no connection {}", "以 {0} 开始新会话：{1*} 无连接"),
    ("became_leader", "became leader in term {}", "成为主节点，任期 {0}"),
    ("lost_leadership", "is no longer the leader", "不再是主节点"),
    (
        "resharded",
        "resharded for {}: {} moved: {}; {} pending ({})",
        "为 {0*}重新分片：{1*}移动：{2*}；{3} 个待移动（{4*}）",
    ),
    (
        "resharded",
        "resharded for {}: {} moved; {} pending ({})",
        "为 {0*}重新分片：{1*}移动；{2} 个待移动（{3*}）",
    ),
    // Earlier versions have not named the items.
    (
        "resharded",
        "resharded for {}: {} moved, {} pending ({})",
        "为 {0*}重新分片：{1*}移动，{2} 个待移动（{3*}）",
    ),
    (
        "cancelled",
        "the run of item {} for the fire of {}, token {}, was cancelled by {}: {}",
        "分片 {0} 对 {1} 的触发的运行（令牌 {2}）被 {3} 取消：{4}",
    ),
    (
        "fenced",
        "the result of item {} under token {} does not count: another instance had taken the run over",
        "分片 {0} 在令牌 {1} 下的结果无效：其运行已被其他实例接管",
    ),
    ("misfire_noted", "item {} was still running at {}", "分片 {0} 在{1*}仍在运行"),
    ("missed", "item {} missed the fire of {}: {}", "分片 {0} 漏掉了 {1} 的触发：{2*}"),
    ("missed", "missed the fire of {}: {}", "漏掉了 {0} 的触发：{1*}"),
    (
        "gap",
        "item {}: {} (by the schedule of configuration {}; configuration {} has replaced it meanwhile)",
        "分片 {0}：{1*}（按配置 {2} 的调度，其间已被配置 {3} 替换）",
    ),
    (
        "gap",
        "item {}: {} (configuration {} came into force meanwhile)",
        "分片 {0}：{1*}（其间配置 {2} 生效）",
    ),
    ("gap", "item {}: {}", "分片 {0}：{1*}"),
    (
        "orphaned",
        "the run of item {} for the fire of {} is orphaned and waits for a takeover: its holder {} is gone",
        "分片 {0} 对 {1} 的触发的运行等待接管：其持有者 {2} 已离开",
    ),
    (
        "orphaned",
        "the run of item {} for the fire of {} is orphaned and ends as interrupted: its holder {} is gone",
        "分片 {0} 对 {1} 的触发的运行以中断结束：其持有者 {2} 已离开",
    ),
    ("strategy_failed", "sharding strategy failed: {}", "分片策略失败：{0}"),
    ("config_rejected", "stored configuration rejected: {}", "存储的配置被拒绝：{0}"),
    (
        "changes_missed",
        "the registry did not deliver changes of 1 node: {}; the job is read anew",
        "注册中心没有推送 1 个节点的变更：{0}；该作业被重新读取",
    ),
    (
        "changes_missed",
        "the registry did not deliver changes of {} nodes: {}; the job is read anew",
        "注册中心没有推送 {0} 个节点的变更：{1}；该作业被重新读取",
    ),
    ("request_dropped", "request {} dropped: {}", "请求 {0} 被丢弃：{1*}"),
    ("commit_refused", "transaction too large: {}", "事务过大：{0}"),
    (
        "clock_differs",
        "this instance's clock is {} s behind the registry's",
        "此实例的时钟比注册中心慢 {0} 秒",
    ),
    (
        "clock_differs",
        "this instance's clock is {} s ahead of the registry's",
        "此实例的时钟比注册中心快 {0} 秒",
    ),
    (
        "clock_agrees",
        "this instance's clock agrees with the registry's again",
        "此实例的时钟与注册中心重新一致",
    ),
    (
        "stopped",
        "an error handler stopped the job on this server: {}",
        "错误处理器停止了此服务器上的作业：{0}",
    ),
];

/// Closed texts within sentences, by patterns as those of [`SENTENCES`].
pub(super) const PARTS: &Patterns = &[
    ("1 scheduled fire was not run: {}", "1 次计划触发未运行：{0}"),
    ("scheduled fires were not run: {} to before {}", "计划触发未运行：{0} 至 {1} 之前"),
    ("{} scheduled fires were not run: {} to before {}", "{0} 次计划触发未运行：{1} 至 {2} 之前"),
    ("the fire of {}", "{0} 的触发时"),
    ("{} fires from {} to {}", "{1} 至 {2} 的 {0} 次触发时"),
    ("the next fire came first", "下次触发先到"),
    ("the registry could not be reached {}", "{0*} 无法访问注册中心"),
    ("the item was still running", "该分片仍在运行"),
    ("the queue of the item was full", "该分片的队列已满"),
    ("a limit of the job or its group was reached", "已达到作业或其组的上限"),
    ("the item is disabled", "该分片已禁用"),
    ("the item is retired", "该分片已停用"),
    (
        "the Java instance that owns the item cannot take a parameter",
        "拥有该分片的 Java 实例不接受参数",
    ),
    ("the instance is paused", "该实例已暂停"),
    ("the server is disabled", "该服务器已禁用"),
    ("the clock differs too much from the registry's", "时钟与注册中心相差过大"),
    ("the instance is leaving", "该实例正在离开"),
    ("its outcome is unknown: it may have reached the registry", "结果未知：它可能已到达注册中心"),
    (
        "its parameter cannot reach the runs: the job is not monitored, or a Java instance leads",
        "其参数无法传到运行：作业未启用监控，或主节点为 Java 实例",
    ),
    (
        "its parameter is too long for this number of items: together they hold at most 16 MiB of parameters",
        "其参数对该分片数过长：所有分片的参数合计最多 16 MiB",
    ),
    ("since {}", "自 {0} 起"),
    ("from {} to {}", "{0} 至 {1}"),
    ("1 instance", "1 个实例"),
    ("{} instances", "{0} 个实例"),
    ("{} items", "{0} 个分片"),
    ("{} and {} more", "{0} 和另外 {1} 个"),
    ("1 item", "1 个分片"),
    ("the available instances changed", "可用实例已变化"),
    ("the number of items changed", "分片数已变化"),
    ("the strategy changed", "策略已变化"),
    ("resharding was requested", "已请求重新分片"),
    ("no items are assigned yet", "尚未分配分片"),
    ("owners differ from the assignment", "所有者与分配不一致"),
    ("pending items can move", "待移动的分片可以移动"),
    ("the placement rules or attributes changed", "放置规则或属性已变化"),
];

/// Reasons of outcomes in the history.
const OF_OUTCOMES: &Patterns = &[
    (
        "the holder {} is gone; another instance takes the run over",
        "持有者 {0} 已离开，其他实例将接管该运行",
    ),
    ("the holder {} is gone; the run is not taken over", "持有者 {0} 已离开，该运行不会被接管"),
    (
        "the item was still running; a later run of source MISFIRE covers it",
        "该分片仍在运行，由之后来源为 MISFIRE 的运行执行",
    ),
    (
        "no instance lived, or none could reach the registry",
        "没有存活的实例，或没有实例能访问注册中心",
    ),
    ("cancelled by {}: {} (its instance {} was lost)", "{0} 取消：{1}（其实例 {2} 已丢失）"),
    ("cancelled by {}: {}", "{0} 取消：{1}"),
    ("its instance {} was lost", "其实例 {0} 已丢失"),
    ("its future was dropped", "其代码被终止"),
    ("it was cancelled before its code was called", "在调用其代码之前已被取消"),
];

impl Lang {
    /// Returns the sentence of an event of a kind in the language, or as it is if it is unknown.
    pub(crate) fn event(self, kind: &str, text: &str) -> String {
        let shown = match self {
            Self::English => None,
            Self::Chinese => SENTENCES
                .iter()
                .filter(|(of, ..)| *of == kind)
                .find_map(|(_, english, chinese)| filled(english, chinese, text, PARTS)),
        };
        shown.unwrap_or_else(|| text.to_owned())
    }

    /// Returns the reason why the last run of an item did not succeed.
    pub(crate) fn failure_of_item(self, item: &ItemBrief, text: &str) -> String {
        let outcome = if item.orphaned { Some("orphaned") } else { item.outcome };
        let shown = outcome.and_then(|outcome| self.reason_of_outcome(outcome, text));
        shown.unwrap_or_else(|| text.to_owned())
    }

    /// Returns the reason of an outcome in Chinese. `None` for other languages, and for the texts
    /// of failures, which jobs write.
    pub(crate) fn reason_of_outcome(self, outcome: &str, text: &str) -> Option<String> {
        let patterns = match (self, outcome) {
            (Self::English, _) => return None,
            (_, "missed") => PARTS,
            (_, "misfired" | "gap" | "orphaned" | "interrupted" | "cancelled") => OF_OUTCOMES,
            _ => return None,
        };
        sentences(text, patterns, PARTS)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use coordination::{
        DropReason, FencingToken, FireRange, FireTime, Gap, JobEvent, MissReason, Outage, RunSource,
    };
    use reg_center::Version;
    use sharding::{InstanceId, ShardingItem};

    use super::*;
    use crate::pages::timeline::EVENTS;

    fn chinese(event: &JobEvent) -> String {
        Lang::Chinese.event(event.name(), &event.to_string())
    }

    #[test]
    fn each_event_has_a_chinese_text() {
        let (item, fire, token) = (ShardingItem::new(3), FireTime(1_000), FencingToken(4));
        let instance = || InstanceId::new("10.0.0.1@-@7");
        let outage = Outage { from_ms: 0, until_ms: Some(8_000) };
        let reason = || "§".to_owned();
        let missed = |item, reason| JobEvent::Missed { item, fire, reason };
        let orphaned = |failover| JobEvent::Orphaned { item, fire, holder: instance(), failover };
        let resharded = |moved: u32, instances, reason: &str| JobEvent::Resharded {
            moved: moved as usize,
            items: (0..moved).map(|n| ShardingItem::new(2 * n)).collect(),
            deferred: 1,
            instances,
            reason: reason.to_owned(),
        };
        let waiting = |count| FireRange { first: fire, last: FireTime(9_000), count };
        let gap = |count, config, changed_to| {
            let gap = Gap { first: fire, until: FireTime(9_000), count, config, changed_to };
            JobEvent::Gap { item, gap }
        };
        let dropped = |reason| JobEvent::RequestDropped { id: "§".to_owned(), reason };
        let events = [
            JobEvent::Joined { instance: instance() },
            JobEvent::Left { instance: instance() },
            JobEvent::Suspended,
            JobEvent::Reconnected { outage },
            JobEvent::SessionLost { instance: instance() },
            JobEvent::SessionStarted { instance: instance(), outage },
            JobEvent::BecameLeader { term: 7 },
            JobEvent::LostLeadership,
            resharded(1, 1, "the number of items changed"),
            resharded(2, 3, "the available instances changed"),
            resharded(2, 3, "the strategy changed"),
            resharded(2, 3, "resharding was requested"),
            resharded(2, 3, "no items are assigned yet"),
            resharded(0, 3, "owners differ from the assignment"),
            resharded(30, 3, "owners differ from the assignment"),
            resharded(1, 3, "pending items can move"),
            resharded(1, 3, "the placement rules or attributes changed"),
            JobEvent::Cancelled {
                item,
                fire,
                source: RunSource::Normal,
                holder: instance(),
                token,
                by: "§".to_owned(),
                why: reason(),
            },
            JobEvent::Fenced { item, token },
            JobEvent::MisfireNoted { item, waiting: waiting(1) },
            JobEvent::MisfireNoted { item, waiting: waiting(5) },
            missed(Some(item), MissReason::Superseded),
            missed(None, MissReason::Paused),
            missed(None, MissReason::StillRunning),
            missed(None, MissReason::QueueFull),
            missed(None, MissReason::LimitReached),
            missed(None, MissReason::ItemDisabled),
            missed(None, MissReason::ItemRetired),
            missed(None, MissReason::ServerDisabled),
            missed(None, MissReason::ClockDiffers),
            missed(None, MissReason::Leaving),
            missed(None, MissReason::ParameterNotCarried),
            missed(None, MissReason::RegistryUnreachable(outage)),
            missed(None, MissReason::RegistryUnreachable(Outage { until_ms: None, ..outage })),
            gap(Some(1), Some(Version(4)), None),
            gap(Some(5), Some(Version(4)), Some(Version(6))),
            gap(None, None, Some(Version(6))),
            orphaned(true),
            orphaned(false),
            dropped(DropReason::Leaving),
            dropped(DropReason::InDoubt),
            dropped(DropReason::ParameterNotCarried),
            dropped(DropReason::ParameterTooLarge),
            JobEvent::ChangesMissed { count: 1, nodes: reason() },
            JobEvent::ChangesMissed { count: 3, nodes: reason() },
            JobEvent::StrategyFailed { reason: reason() },
            JobEvent::ConfigRejected { reason: reason() },
            JobEvent::CommitRefused { reason: reason() },
            JobEvent::ClockDiffers { ahead_ms: 70_000 },
            JobEvent::ClockDiffers { ahead_ms: -70_000 },
            JobEvent::ClockAgrees,
            JobEvent::Stopped { reason: reason() },
        ];
        let mut kinds = BTreeSet::new();
        for event in events {
            kinds.insert(event.name());
            let (text, shown) = (event.to_string(), chinese(&event));
            assert_eq!(Lang::English.event(event.name(), &text), text);
            // Names of Java, units, versions and the times are as they are.
            let as_written = ["Java", "MiB", "v4", "v6", "T", "Z"];
            let words = as_written.iter().fold(shown.clone(), |text, word| text.replace(word, ""));
            assert!(!words.contains(|c: char| c.is_ascii_alphabetic()), "{text}: {shown}");
        }
        // An anomaly is a path and a free text: it has no words to translate.
        kinds.insert("anomaly");
        assert_eq!(kinds, BTreeSet::from(EVENTS.map(|kind| kind.word)));
        let shown = chinese(&resharded(2, 3, "the strategy changed"));
        assert_eq!(shown, "为 3 个实例重新分片：2 个分片移动：0, 2；1 个待移动（策略已变化）");
        let earlier = "resharded for 3 instances: 2 items moved, 1 pending (the strategy changed)";
        let shown = Lang::Chinese.event("resharded", earlier);
        assert_eq!(shown, "为 3 个实例重新分片：2 个分片移动，1 个待移动（策略已变化）");
    }

    #[test]
    fn free_texts_stay_as_written() {
        let reason = "nothing is left".to_owned();
        let (instance, id) = (InstanceId::new("1 item"), "the item is disabled".to_owned());
        let path = "/a/config".to_owned();
        for (event, expected) in [
            (JobEvent::StrategyFailed { reason: reason.clone() }, "分片策略失败：nothing is left"),
            (
                JobEvent::CommitRefused { reason: "the strategy changed".to_owned() },
                "事务过大：the strategy changed",
            ),
            (JobEvent::Joined { instance }, "以 1 item 加入"),
            (
                JobEvent::RequestDropped { id, reason: DropReason::Leaving },
                "请求 the item is disabled 被丢弃：该实例正在离开",
            ),
            (JobEvent::Anomaly { path, reason }, "/a/config: nothing is left"),
        ] {
            assert_eq!(chinese(&event), expected);
        }
        for kind in ["stopped", "failed", "operator"] {
            let text = "the supplier answered 503 and left";
            assert_eq!(Lang::Chinese.event(kind, text), text, "{kind}");
        }
    }

    /// The texts of the coordinator and of the runner are closed; those of failures are texts of
    /// jobs.
    #[test]
    fn reasons_of_interrupted_runs_have_chinese_texts() {
        for (text, expected) in [
            ("its instance 10.0.0.1@-@7 was lost", "其实例 10.0.0.1@-@7 已丢失"),
            ("its future was dropped", "其代码被终止"),
            ("it was cancelled before its code was called", "在调用其代码之前已被取消"),
        ] {
            let shown = |outcome| Lang::Chinese.reason_of_outcome(outcome, text);
            assert_eq!(shown("interrupted").as_deref(), Some(expected));
            assert_eq!(shown("orphaned").as_deref(), Some(expected));
            assert_eq!(shown("failed"), None);
            assert_eq!(Lang::English.reason_of_outcome("interrupted", text), None);
        }
    }
}
