//! Chinese texts of the effects of operations, of servers that are held back, and of findings. The
//! crate `operations` writes them in English. Reasons of operators stay as written.

use coordination::AuditRecord;
use operations::FindingCode;

use super::patterns::{Patterns, sentences};
use crate::pages::locale::Lang;

/// Targets of changes, by patterns as those of events.
const TARGETS: &Patterns = &[
    ("server {}", "服务器 {0}"),
    ("remaining servers", "其余服务器"),
    ("instance {}", "实例 {0}"),
    ("items {} and later", "分片 {0} 及之后"),
    ("item {}", "分片 {0}"),
    ("configuration", "配置"),
    ("limits", "上限"),
    ("backfill {}", "补跑 {0}"),
    ("all items", "所有分片"),
    ("job", "作业"),
];

/// Effects of changes, and reasons why a target is left alone.
const EFFECTS: &Patterns = &[
    ("enabled; it was disabled", "启用；之前为禁用"),
    ("enabled; it was paused", "启用；之前为暂停"),
    ("disabled; it was enabled", "禁用；之前为启用"),
    (
        "disabled; it was paused, and enabling it will pause it again",
        "禁用；之前为暂停，启用时将重新暂停",
    ),
    (
        "disabled; it was paused, and enabling it will not pause it again: no record shows who paused it",
        "禁用；之前为暂停，启用时不会重新暂停：没有暂停的记录",
    ),
    ("paused again: the pause by {} at {}: {}", "重新暂停：{0} 于 {1} 的暂停：{2}"),
    ("it is enabled already", "已启用"),
    ("it is paused already", "已暂停"),
    ("it is disabled already", "已禁用"),
    ("it is disabled, which includes a pause", "已禁用，其中包含暂停"),
    ("it is disabled", "已禁用"),
    ("paused", "暂停"),
    ("enabled", "启用"),
    ("disabled", "禁用"),
    (
        "paused; Java instances there treat it as disabled and lose their items",
        "暂停；其上的 Java 实例将其视为禁用并失去分片",
    ),
    (
        "a Java instance of 2.1.5 runs there and would ignore the pause; disable the server instead",
        "其上运行 2.1.5 的 Java 实例，它会忽略暂停；请改为禁用该服务器",
    ),
    ("the job does not know it; it has {}", "该作业没有此服务器；它有 {0}"),
    ("removed; shut down: {}", "移除；关闭：{0}"),
    ("removed; asked to leave: {}", "移除；请求离开：{0}"),
    ("removed", "移除"),
    ("asked to leave", "请求离开"),
    ("no instance of the job lives there", "其上没有该作业的存活实例"),
    ("asked to run now", "请求立即运行"),
    ("asked to run now, with a parameter", "请求立即运行，带参数"),
    ("it waits until a server is enabled: {}", "在启用服务器之前等待：{0*}"),
    ("it waits until a server is resumed: {}", "在恢复服务器之前等待：{0*}"),
    ("items {} wait until it is resumed: {}", "分片 {0} 在恢复之前等待：{1*}"),
    (
        "asked to run its items; it is busy, and a busy Java instance drops the request",
        "请求运行其分片；它正忙，而忙碌的 Java 实例会丢弃请求",
    ),
    ("a run of it is in progress", "正在运行"),
    ("no run is unfinished", "没有未完成的运行"),
    ("no run for the fire of {} is unfinished", "{0} 的触发没有未完成的运行"),
    ("it does not run", "未在运行"),
    (
        "run for the fire of {}, token {}, is cancelled on {}",
        "取消 {0} 的触发在 {2} 上的运行，令牌 {1}",
    ),
    (
        "orphaned run for the fire of {}, token {}, is ended by the leader",
        "{0} 的触发的孤立运行由主节点结束，令牌 {1}",
    ),
    ("its run has ended meanwhile", "其运行已在此期间结束"),
    ("{} has cancelled its run already: {}", "{0} 已取消其运行：{1}"),
    ("it has an earlier request that it has not seen yet", "它有一个尚未看到的更早请求"),
    (
        "it is not available: its server is disabled, or it is leaving",
        "不可用：其服务器已禁用，或它正在离开",
    ),
    ("no instance is alive to run it", "没有存活的实例可以运行"),
    ("asked to run its items", "请求运行其分片"),
    ("it is as wanted already", "已符合要求"),
    ("they are as wanted already", "已符合要求"),
    ("not tried, as the registry did not answer", "未尝试，因为注册中心没有响应"),
    ("not tried, as the limits of its group were not set", "未尝试，因为未能设置其所在组的上限"),
    ("repaired", "已修复"),
    (
        "backfill {}: 1 fire from {} to {}, {} at once, by all items",
        "补跑 {0}：1 次触发，从 {1} 到 {2}，同时进行 {3} 次，所有分片",
    ),
    (
        "backfill {}: {} fires from {} to {}, {} at once, by all items",
        "补跑 {0}：{1} 次触发，从 {2} 到 {3}，同时进行 {4} 次，所有分片",
    ),
    (
        "backfill {}: 1 fire from {} to {}, {} at once, by items {}",
        "补跑 {0}：1 次触发，从 {1} 到 {2}，同时进行 {3} 次，分片 {4}",
    ),
    (
        "backfill {}: {} fires from {} to {}, {} at once, by items {}",
        "补跑 {0}：{1} 次触发，从 {2} 到 {3}，同时进行 {4} 次，分片 {5}",
    ),
    ("disabled items {} drop them", "禁用的分片 {0} 丢弃它们"),
    ("no instance is available yet", "尚无可用的实例"),
    ("its schedule has no fires from {} to {}", "从 {0} 到 {1}，其调度没有触发"),
    ("it has ended", "已结束"),
    (
        "cancelled after {} of {} fires; runs in progress go on",
        "在 {1} 次触发中完成 {0} 次后取消；正在进行的运行继续",
    ),
    ("{} has cancelled it already: {}", "{0} 已将其取消：{1}"),
    ("created from the template {}, label {}", "由模板 {0} 创建，标签 {1}"),
    ("created from the template {}", "由模板 {0} 创建"),
];

/// Reasons for the owners of items.
const PLACEMENT: &Patterns = &[
    ("no instance may own it", "没有实例可以拥有它"),
    ("pinned to {}", "固定于 {0}"),
    ("no available instance has {}", "没有可用实例满足 {0}"),
    ("kept where it was", "保持原处"),
    ("first owner", "首个所有者"),
    ("moved: its owner is not available", "移动：所有者不可用"),
    ("moved: {} is required", "移动：要求 {0}"),
    ("moved: {} is preferred", "移动：优先 {0}"),
    ("moved: zone {} is full", "移动：可用区 {0} 已满"),
    ("moved: an instance joined", "移动：有实例加入"),
    ("moved: its owner is above its share", "移动：所有者超出其份额"),
    ("the job would have fewer items", "作业的分片将减少"),
];

/// Servers and items that are held back, with the recorded change.
pub(super) const HELD: &Patterns = &[
    ("server {} is paused (pause by {} at {}: {})", "服务器 {0} 已暂停（{1} 于 {2} 暂停：{3}）"),
    (
        "server {} is disabled (disable by {} at {}: {})",
        "服务器 {0} 已禁用（{1} 于 {2} 禁用：{3}）",
    ),
    ("server {} is disabled (drain by {} at {}: {})", "服务器 {0} 已禁用（{1} 于 {2} 排空：{3}）"),
    ("server {} is paused", "服务器 {0} 已暂停"),
    ("server {} is disabled", "服务器 {0} 已禁用"),
    ("server {} has no record", "服务器 {0} 没有记录"),
    ("{} is leaving", "{0} 正在离开"),
    ("{} does not meet {}, which the placement rules require", "{0} 不满足放置规则要求的 {1}"),
    ("disable items by {} at {}: {}", "{0} 于 {1} 禁用：{2}"),
];

/// Steps of the transactions of repairs. The nodes in them are paths.
const STEPS: &Patterns = &[
    ("go on only if {} is absent", "仅当 {0} 不存在时继续"),
    ("go on only if {} is {}", "仅当 {0} 为 {1} 时继续"),
    ("create {}", "创建 {0}"),
    ("remove {} ({})", "移除 {0}（{1}）"),
    ("seal the node of {} for its removal", "封存 {0} 的节点以便移除"),
    ("make server {} enabled", "将服务器 {0} 设为启用"),
    ("make server {} paused", "将服务器 {0} 设为暂停"),
    ("make server {} disabled", "将服务器 {0} 设为禁用"),
    ("ask {} to run now", "请求 {0} 立即运行"),
    ("set the last fire of item {} back to {}", "将分片 {0} 的上次触发设回 {1}"),
    ("clear the last fire of item {}", "清除分片 {0} 的上次触发"),
    ("store the class {} in the root node", "在根节点中存储类 {0}"),
    ("record author and reason", "记录操作人和原因"),
];

pub(super) fn translated(lang: Lang, patterns: &Patterns, text: &str) -> Option<String> {
    match lang {
        Lang::English => None,
        Lang::Chinese => sentences(text, patterns, HELD),
    }
}

impl Lang {
    /// Returns the target of a change in the language.
    pub(crate) fn target_of_change(self, text: &str) -> String {
        translated(self, TARGETS, text).unwrap_or_else(|| text.to_owned())
    }

    /// Returns the reason for the owner of an item in the language.
    pub(crate) fn placement_reason(self, text: &str) -> String {
        translated(self, PLACEMENT, text).unwrap_or_else(|| text.to_owned())
    }

    /// Returns the targets of an audit record in the language. Names of jobs and nodes stay.
    pub(crate) fn audited_targets(self, text: &str) -> String {
        let targets = text.split(AuditRecord::SEPARATOR);
        let targets: Vec<_> = targets.map(|one| self.target_of_change(one)).collect();
        targets.join(&self.pick(AuditRecord::SEPARATOR, "、"))
    }

    /// Returns a step of a repair in Chinese, as [`effect_of_change`](Self::effect_of_change).
    pub(crate) fn step_of_repair(self, text: &str) -> Option<String> {
        translated(self, STEPS, text)
    }

    /// Returns the effect of a change, or why there is none, in Chinese. `None` for other
    /// languages, and for texts that are not of the closed set.
    pub(crate) fn effect_of_change(self, text: &str) -> Option<String> {
        translated(self, EFFECTS, text).or_else(|| self.change_of_limits(text))
    }

    /// Returns why a server or an item is held back in the language.
    pub(crate) fn held_back(self, text: &str) -> String {
        translated(self, HELD, text).unwrap_or_else(|| text.to_owned())
    }

    /// Returns the kind of a finding in Chinese. The English word is its code.
    pub(crate) fn finding_kind(self, code: FindingCode) -> Option<&'static str> {
        if self == Self::English {
            return None;
        }
        Some(match code {
            FindingCode::Unread => "无法读取",
            FindingCode::NoConfig => "没有配置",
            FindingCode::BadConfig => "配置错误",
            FindingCode::ConfigHarmsJava => "配置损害 Java 实例",
            FindingCode::MixedEncoding => "节点格式混用",
            FindingCode::LeftoverInstance => "残留的实例节点",
            FindingCode::NoServerRecord => "服务器没有记录",
            FindingCode::DeadServer => "服务器没有实例",
            FindingCode::AddressHarmsJava => "地址损害 Java 实例",
            FindingCode::HeldBack => "暂停或禁用",
            FindingCode::NoLeader => "没有主节点",
            FindingCode::LeaderDisabled => "主节点所在服务器已禁用",
            FindingCode::OrphanedRunMark => "孤立的运行标记",
            FindingCode::RunOfEarlierIncarnation => "早先会话的运行标记",
            FindingCode::RunKept => "未移除的运行标记",
            FindingCode::OrphanedTakeoverMark => "孤立的接管标记",
            FindingCode::StaleQueueEntry => "过期的队列项",
            FindingCode::RunNotRecorded => "没有记录的运行",
            FindingCode::Orphan => "孤立运行",
            FindingCode::OrphanedTrigger => "孤立的运行请求",
            FindingCode::Unassigned => "分片没有所有者",
            FindingCode::SurplusItems => "多余的分片",
            FindingCode::Failing => "失败",
            FindingCode::BadRecord => "损坏的记录",
            FindingCode::NewerRecord => "更高版本的记录",
            FindingCode::FutureFire => "未来的触发",
            FindingCode::Necessary => "已请求重新分片",
            FindingCode::Processing => "重新分片停滞",
            FindingCode::GroupLimitsUnreadable => "无法读取的组上限",
            FindingCode::OrphanedGroupPermit => "孤立的组许可",
            FindingCode::StaleGroupPlace => "过期的组排队位置",
            FindingCode::StrayNode => "位置错误的节点",
            FindingCode::Version1 => "1.x 的节点",
            FindingCode::Anomaly => "无法读取的节点",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_is_found_and_keeps_its_texts() {
        for (patterns, shown) in [
            (TARGETS, Lang::target_of_change as fn(Lang, &str) -> String),
            (EFFECTS, |lang, text| lang.effect_of_change(text).unwrap_or_default()),
            (HELD, Lang::held_back),
            (STEPS, |lang, text| lang.step_of_repair(text).unwrap_or_default()),
        ] {
            for (english, chinese) in patterns {
                let (mut text, mut expected) = ((*english).to_owned(), (*chinese).to_owned());
                for n in 0..english.matches("{}").count() {
                    text = text.replacen("{}", &format!("text-{n}"), 1);
                    for place in [format!("{{{n}}}"), format!("{{{n}*}}")] {
                        expected = expected.replace(&place, &format!("text-{n}"));
                    }
                }
                assert_eq!(shown(Lang::Chinese, &text), expected, "an earlier pattern matches");
                assert!(!expected.contains('{'), "{expected}");
            }
        }
        assert_eq!(Lang::English.effect_of_change("paused"), None);
        assert_eq!(Lang::Chinese.effect_of_change("paused twice"), None);
    }

    #[test]
    fn each_finding_has_a_chinese_kind() {
        for code in FindingCode::ALL {
            assert!(Lang::Chinese.finding_kind(*code).is_some(), "{code}");
        }
    }

    #[test]
    fn texts_of_the_audit_are_translated_in_their_parts() {
        let zh = Lang::Chinese;
        let targets = "server 10.0.0.1, item 3, all items, configuration, report, …";
        let expected = "服务器 10.0.0.1、分片 3、所有分片、配置、report、…";
        assert_eq!(zh.audited_targets(targets), expected);
        assert_eq!(Lang::English.audited_targets(targets), targets);
        for (text, expected) in [
            ("paused", Some("暂停")),
            (
                "enabled; it was paused; disabled; it was enabled",
                Some("启用；之前为暂停；禁用；之前为启用"),
            ),
            (
                "asked to run now; it waits until a server is resumed: server a is paused (pause \
                 by anna at noon: release); server b is paused",
                Some(
                    "请求立即运行；在恢复服务器之前等待：服务器 a 已暂停（anna 于 noon 暂停：release）；服务器 b 已暂停",
                ),
            ),
            ("cron: \"a\" -> \"b\"", None),
        ] {
            assert_eq!(zh.effect_of_change(text).as_deref(), expected, "{text}");
        }
    }
}
