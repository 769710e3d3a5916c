//! Chinese texts of the effects of operations, of servers that are held back, and of findings. The
//! crate `operations` writes them in English. Reasons of operators stay as written.

use operations::FindingCode;

use super::patterns::filled;
use crate::pages::locale::Lang;

/// Targets of changes, by patterns as those of events.
const TARGETS: &[(&str, &str)] = &[
    ("server {}", "服务器 {0}"),
    ("remaining servers", "其余服务器"),
    ("instance {}", "实例 {0}"),
    ("items {} and later", "分片 {0} 及之后"),
    ("item {}", "分片 {0}"),
    ("configuration", "配置"),
    ("job", "作业"),
];

/// Effects of changes, and reasons why a target is left alone.
const EFFECTS: &[(&str, &str)] = &[
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
    ("a run of it is in progress", "正在运行"),
    ("no instance is alive to run it", "没有存活的实例可以运行"),
    ("asked to run its items", "请求运行其分片"),
    ("it is as wanted already", "已符合要求"),
    ("not tried, as the registry did not answer", "未尝试，因为注册中心没有响应"),
];

/// Servers and items that are held back, with the recorded change.
const HELD: &[(&str, &str)] = &[
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
    ("disable items by {} at {}: {}", "{0} 于 {1} 禁用：{2}"),
];

fn translated(lang: Lang, patterns: &[(&str, &str)], text: &str) -> Option<String> {
    match lang {
        Lang::English => None,
        Lang::Chinese => {
            patterns.iter().find_map(|(english, chinese)| filled(english, chinese, text, &[]))
        }
    }
}

impl Lang {
    /// Returns the target of a change in the language.
    pub(crate) fn target_of_change(self, text: &str) -> String {
        translated(self, TARGETS, text).unwrap_or_else(|| text.to_owned())
    }

    /// Returns the effect of a change, or why there is none, in Chinese. `None` for other
    /// languages, and for texts that are not of the closed set.
    pub(crate) fn effect_of_change(self, text: &str) -> Option<String> {
        translated(self, EFFECTS, text)
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
        ] {
            for (english, chinese) in patterns {
                let (mut text, mut expected) = ((*english).to_owned(), (*chinese).to_owned());
                for n in 0..english.matches("{}").count() {
                    text = text.replacen("{}", &format!("text-{n}"), 1);
                    expected = expected.replace(&format!("{{{n}}}"), &format!("text-{n}"));
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
}
