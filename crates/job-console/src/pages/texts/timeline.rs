//! Texts of the timeline.

use crate::pages::locale::{Lang, messages};

messages! {
    timeline() "Timeline" | "时间线";
    timeline_hint()
        "Events, runs that did not succeed (at their scheduled fire time), operator actions, and replaced configurations."
        | "事件、未成功的运行（按其计划触发时间）、操作记录和被替换的配置。";
    timeline_without_history()
        "This console has no history: only operator actions and replaced configurations are shown."
        | "此控制台没有历史存储：仅显示操作记录和被替换的配置。";
    nothing_happened() "Nothing was recorded" | "没有记录";
    nothing_happened_hint()
        "No source has an entry that meets the filters."
        | "没有符合筛选条件的记录。";
    more_at_this_time()
        "More entries have this time than are shown. Filter by job or kind to see them."
        | "此时刻的记录未全部显示。请按作业或类型筛选。";
    kind() "Kind" | "类型";
    text() "Text" | "内容";
    begin_utc() "From (UTC)" | "从（UTC）";
    end_utc() "Until (UTC)" | "到（UTC）";
    instance_or_author() "Instance or author" | "实例或操作者";
    latest() "Latest" | "最新";
}

impl Lang {
    /// Returns the kind of an entry in words.
    pub(crate) fn happening(self, kind: &str) -> String {
        match kind {
            "operator" => self.pick("operator action", "操作"),
            "configuration" => self.pick("configuration replaced", "配置被替换"),
            "missed" => self.pick("fire missed", "漏掉的触发"),
            "misfire_noted" => self.pick("misfire", "错过触发"),
            "gap" => self.pick("gap", "空档"),
            "orphaned" => self.pick("run orphaned", "运行等待接管"),
            "resharded" => self.pick("resharded", "重新分片"),
            "became_leader" => self.pick("leader elected", "选出主节点"),
            "lost_leadership" => self.pick("leadership lost", "失去主节点身份"),
            "joined" => self.pick("instance joined", "实例加入"),
            "left" => self.pick("instance left", "实例离开"),
            "suspended" => self.pick("connection lost", "连接中断"),
            "reconnected" => self.pick("connection restored", "连接恢复"),
            "session_lost" => self.pick("session lost", "会话失效"),
            "session_started" => self.pick("session started", "会话开始"),
            "fenced" => self.pick("run fenced", "运行被隔离"),
            "config_rejected" => self.pick("configuration rejected", "配置被拒绝"),
            "request_dropped" => self.pick("request dropped", "请求被丢弃"),
            "commit_refused" => self.pick("commit refused", "提交被拒绝"),
            "strategy_failed" => self.pick("strategy failed", "分片策略失败"),
            "anomaly" => self.pick("node unreadable", "节点不可读"),
            "clock_differs" => self.pick("clock differs", "时钟偏差"),
            "clock_agrees" => self.pick("clock agrees", "时钟一致"),
            "stopped" => self.pick("job stopped", "作业停止"),
            other => self.outcome(other),
        }
    }
}
