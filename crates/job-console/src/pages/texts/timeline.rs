//! Texts of the timeline.

use crate::pages::locale::{Lang, messages};
use crate::pages::timeline::EventKind;

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
            other => match EventKind::of(other) {
                Some(EventKind { label: [english, chinese], .. }) => self.pick(english, chinese),
                None => self.outcome(other),
            },
        }
    }
}
