//! Chinese texts of findings. The crate `operations` writes them in English. Texts of other systems
//! stay as written.

use super::effects::HELD;
use super::patterns::{Patterns, sentences};
use crate::pages::locale::Lang;

/// Sentences of findings.
const FINDINGS: &Patterns = &[
    ("the job could not be read: {}", "作业无法读取：{0}"),
    (
        "the job has no configuration: remove its nodes, unless another application uses them",
        "作业没有配置：请移除其节点，除非其他应用在使用它们",
    ),
    (
        "{}; Rust instances keep the last readable one, Java instances fail: update the configuration",
        "{0}；Rust 实例保留上一份可读的配置，Java 实例失败：请更新配置",
    ),
    (
        "Java instances of 3.x fail at fields that they do not know: {}",
        "3.x 的 Java 实例遇到未知字段会失败：{0}",
    ),
    (
        "Java instances of 2.1.5 fail without a cron expression",
        "2.1.5 的 Java 实例没有 cron 表达式会失败",
    ),
    (
        "the node is written in the dialect {}, but the job uses {}: this instance of 3.x cannot read the configuration, but gets items",
        "节点以 {0} 的格式写入，而作业使用 {1}：此 3.x 实例无法读取配置，却会分配到分片",
    ),
    (
        "the node is written in the dialect {}, but the job uses {}: this instance of 2.1.5 cannot read the configuration; Java 3.x leaders give it no items",
        "节点以 {0} 的格式写入，而作业使用 {1}：此 2.1.5 实例无法读取配置；Java 3.x 主节点不给它分片",
    ),
    (
        "the node is written in the dialect {}, but the job uses {}: Java instances of 3.0.2 and later do not treat this server as enabled",
        "节点以 {0} 的格式写入，而作业使用 {1}：3.0.2 及以后的 Java 实例不认为此服务器已启用",
    ),
    (
        "the node is written in the dialect {}, but the job uses {}: all instances treat it as enabled, as intended",
        "节点以 {0} 的格式写入，而作业使用 {1}：所有实例按预期认为它已启用",
    ),
    (
        "the node is written in the dialect {}, but the job uses {}: a leftover of another release, which no instance reads",
        "节点以 {0} 的格式写入，而作业使用 {1}：其他版本的残留，没有实例读取",
    ),
    (
        "{}; no run of the group's jobs begins until they are stored again: ejob group set {}",
        "{0}；该组的作业不开始运行，直到重新设置上限：ejob group set {1}",
    ),
    (
        "{} holds the permit for item {} of {} (token {}), but the item's record shows no such run: if it does not run the item, restart it",
        "{0} 持有作业 {2} 的分片 {1} 的许可（令牌 {3}），但该分片的记录中没有这次运行：如果它没有运行该分片，请重启它",
    ),
    (
        "no session owns this permit for item {} of {}, which does not run under token {}: no instance returns it, and it counts against the limit of the group",
        "没有会话拥有作业 {1} 的分片 {0} 的这个许可，该分片没有以令牌 {2} 运行：没有实例归还它，它占用组的上限",
    ),
    (
        "no session owns this permit without a readable run: no instance returns it, and it counts against the limit of the group",
        "没有会话拥有这个许可，也无法读取其运行：没有实例归还它，它占用组的上限",
    ),
    (
        "the job {} does not exist, but it has a place in the line of the group, which keeps a share of its permits and starts from other jobs",
        "作业 {0} 不存在，但它在该组的队伍中占有位置，使其他作业得不到一份许可和启动",
    ),
    (
        "the job {} is in group {}, but it has a place in the line of the group, which keeps a share of its permits and starts from other jobs",
        "作业 {0} 在组 {1} 中，但它在该组的队伍中占有位置，使其他作业得不到一份许可和启动",
    ),
    (
        "the job {} is in no group, but it has a place in the line of the group, which keeps a share of its permits and starts from other jobs",
        "作业 {0} 不在任何组中，但它在该组的队伍中占有位置，使其他作业得不到一份许可和启动",
    ),
    (
        "no instance waits for {}, but it has a place in the line of the group, which keeps a share of its permits and starts from other jobs",
        "没有实例为 {0} 等待，但它在该组的队伍中占有位置，使其他作业得不到一份许可和启动",
    ),
    (
        "its name is no item: Java instances read it as a number at every run with failover, and fail",
        "其名称不是分片：启用失效转移时，Java 实例每次运行都将其读作数字并失败",
    ),
    (
        "its name is no address: no instance reads the state of this server",
        "其名称不是地址：没有实例读取此服务器的状态",
    ),
    (
        "its name is no id such as 10.0.0.7@-@4123: Java instances of 2.1.5 fail to assign items",
        "其名称不是 10.0.0.7@-@4123 这样的标识：2.1.5 的 Java 实例无法分配分片",
    ),
    (
        "only ElasticJob 1.x has it: no Java instance of 2.1.5 or 3.x and no Rust instance reads it: {}",
        "仅 ElasticJob 1.x 有此节点：2.1.5 或 3.x 的 Java 实例和 Rust 实例都不读取：{0}",
    ),
    ("instances ignore the node: {}", "实例忽略该节点：{0}"),
    (
        "these servers own no items, so that all items start on the others: {}",
        "这些服务器不拥有分片，所有分片在其他服务器上启动：{0*}",
    ),
    ("items of these servers do not start: {}", "这些服务器的分片不启动：{0*}"),
    ("no instance gets items: {}", "没有实例分配到分片：{0*}"),
    ("no item of the job starts: {}", "作业没有分片启动：{0*}"),
    (
        "no session owns it, but Java gives it items; a Rust instance removes it",
        "没有会话拥有它，但 Java 会给它分片；Rust 实例会移除它",
    ),
    (
        "no session owns it, but Java gives it items, which no instance runs",
        "没有会话拥有它，但 Java 会给它分片，而没有实例运行这些分片",
    ),
    (
        "its server has no record, so it gets no items: restart the instance to create one",
        "其服务器没有记录，因此不分配分片：请重启该实例以创建记录",
    ),
    (
        "no instance runs there; remove the server if none will come back",
        "其上没有运行中的实例；如不再恢复，请移除该服务器",
    ),
    (
        "no instance runs there; the server is paused, and stays so if instances come back; remove the server if none will",
        "其上没有运行中的实例；该服务器已暂停，实例恢复后仍保持暂停；如不再恢复，请移除该服务器",
    ),
    (
        "no instance runs there; the server is disabled, and stays so if instances come back; remove the server if none will",
        "其上没有运行中的实例；该服务器已禁用，实例恢复后仍保持禁用；如不再恢复，请移除该服务器",
    ),
    ("Java reacts to IPv4 addresses only", "Java 只处理 IPv4 地址"),
    ("Java treats it as online while {} is online", "{0} 在线时，Java 认为它也在线"),
    (
        "{} leads, but its server is disabled: it may have won the first election",
        "{0} 是主节点，但其服务器已禁用：它可能赢得了首次选举",
    ),
    ("instances are available, but none leads", "有可用的实例，但没有主节点"),
    ("the leader node names {}, which is not registered", "主节点记录为 {0}，而它未注册"),
    (
        "the mark says that an unnamed instance runs the item, but that instance is gone; {}",
        "标记显示一个未命名的实例正在运行该分片，但该实例已离开；{0*}",
    ),
    (
        "the mark says that {} runs the item, but that instance is gone; {}",
        "标记显示 {0} 正在运行该分片，但该实例已离开；{1*}",
    ),
    (
        "the mark is older than {}, which reuses the id of an earlier incarnation or has reconnected; remove the node if nothing runs there",
        "标记早于 {0}，它重用了早先会话的标识或已重新连接；如其上没有运行，请移除该节点",
    ),
    (
        "{} runs one fire at a time and has begun a later one: Java never runs this item again; remove the node if nothing runs there",
        "{0} 一次只运行一个触发，并已开始之后的触发：Java 不再运行该分片；如其上没有运行，请移除该节点",
    ),
    (
        "{} marks the item as running, but its record shows no run: no instance starts it while the mark exists; {} removes the mark when its run has ended; if it does not run the item, restart it",
        "{0} 将该分片标记为运行中，但其记录中没有运行：标记存在期间没有实例启动它；运行结束后 {1} 会移除标记；如它没有运行该分片，请重启它",
    ),
    ("{} had taken over the item, but is gone", "{0} 曾接管该分片，但已离开"),
    (
        "the job has no such item, but Java instances would run it",
        "作业没有此分片，但 Java 实例会运行它",
    ),
    (
        "failover is off; if it is switched on, Java instances would run the item",
        "失效转移已关闭；若开启，Java 实例会运行该分片",
    ),
    (
        "the orphaned run waits for a takeover, and no instance is available",
        "孤立运行等待接管，而没有可用的实例",
    ),
    ("the orphaned run waits for a takeover", "孤立运行等待接管"),
    ("the instance that was asked to run its items is gone", "被请求运行其分片的实例已离开"),
    (
        "a manual request, which no instance reads until a Rust instance joins",
        "手动请求，在 Rust 实例加入之前没有实例读取",
    ),
    (
        "{} has no live owner: the job uses static sharding, so they wait for their instances to return",
        "{0*} 没有存活的所有者：作业使用静态分片，因此等待其实例恢复",
    ),
    (
        "{} have no live owner: the job uses static sharding, so they wait for their instances to return",
        "{0*} 没有存活的所有者：作业使用静态分片，因此等待其实例恢复",
    ),
    (
        "{} has no live owner: no instance runs them until the next resharding",
        "{0*} 没有存活的所有者：下次重新分片之前没有实例运行",
    ),
    (
        "{} have no live owner: no instance runs them until the next resharding",
        "{0*} 没有存活的所有者：下次重新分片之前没有实例运行",
    ),
    (
        "the job has {} items; no instance runs these surplus items: {}",
        "作业有 {0} 个分片；没有实例运行以下多余的分片：{1}",
    ),
    ("the last run of every item failed; {}", "每个分片的上次运行都失败；{0*}"),
    ("the last run of {} failed; {}", "{0*} 的上次运行失败；{1*}"),
    ("the last runs of {} failed; {}", "{0*} 的上次运行失败；{1*}"),
    (
        "no instance runs the item until its record is repaired: {}",
        "在修复其记录之前没有实例运行该分片：{0}",
    ),
    ("instances of this version leave it alone: {}", "此版本的实例不处理它：{0}"),
    (
        "an instance with a wrong clock has settled the fire of {}: the item starts no fire before that time; it can be set back once its run has ended",
        "时钟错误的实例已结算 {0} 的触发：该分片在此之前不启动任何触发；其运行结束后可以设回",
    ),
    (
        "an instance with a wrong clock has settled the fire of {}: the item starts no fire before that time",
        "时钟错误的实例已结算 {0} 的触发：该分片在此之前不启动任何触发",
    ),
    (
        "resharding is requested, and Java instances start nothing until it is done: {}",
        "已请求重新分片，完成之前 Java 实例不启动任何分片：{0*}",
    ),
    (
        "no session owns the flag, so it never goes away: Java instances start nothing",
        "没有会话拥有该标志，它不会消失：Java 实例不启动任何分片",
    ),
    (
        "the leader has been resharding since the earlier snapshot: its strategy may have failed; restart it",
        "主节点自上次快照以来一直在重新分片：其策略可能已失败；请重启它",
    ),
    (
        "another session than the leader's owns the flag: Java instances start nothing until that session ends",
        "该标志由主节点以外的会话拥有：该会话结束之前 Java 实例不启动任何分片",
    ),
];

/// Closed texts within the sentences. Those of servers are in [`HELD`].
const PARTS: &Patterns = &[
    (
        "a Rust instance removes the mark at the next fire at the latest",
        "Rust 实例最晚在下次触发时移除标记",
    ),
    (
        "Java no longer runs the item, and its leader waits for it forever at the next resharding",
        "Java 不再运行该分片，其主节点在下次重新分片时会一直等待它",
    ),
    ("no instance is available to own items", "没有可用的实例来拥有分片"),
    ("no instance leads", "没有主节点"),
    ("the leader waits for {}", "主节点在等待 {0*}"),
    ("the leader reshards at its next fire", "主节点在下次触发时重新分片"),
    ("item {} failed at {}: {}", "分片 {0} 于 {1} 失败：{2}"),
    ("item {} panicked at {}: {}", "分片 {0} 于 {1} 崩溃：{2}"),
    ("item {} timed_out at {}: {}", "分片 {0} 于 {1} 超时：{2}"),
    ("item {} interrupted at {}: {}", "分片 {0} 于 {1} 中断：{2}"),
    ("item {} failed at {}", "分片 {0} 于 {1} 失败"),
    ("item {} panicked at {}", "分片 {0} 于 {1} 崩溃"),
    ("item {} timed_out at {}", "分片 {0} 于 {1} 超时"),
    ("item {} interrupted at {}", "分片 {0} 于 {1} 中断"),
    ("item {} failed: {}", "分片 {0} 失败：{1}"),
    ("item {} panicked: {}", "分片 {0} 崩溃：{1}"),
    ("item {} timed_out: {}", "分片 {0} 超时：{1}"),
    ("item {} interrupted: {}", "分片 {0} 中断：{1}"),
    ("item {} failed", "分片 {0} 失败"),
    ("item {} panicked", "分片 {0} 崩溃"),
    ("item {} timed_out", "分片 {0} 超时"),
    ("item {} interrupted", "分片 {0} 中断"),
    ("item {}", "分片 {0}"),
    ("items {}", "分片 {0}"),
];

impl Lang {
    /// Returns the text of a finding in Chinese. `None` for other languages, and for texts that are
    /// not of the closed set.
    pub(crate) fn finding_text(self, text: &str) -> Option<String> {
        if self == Self::English {
            return None;
        }
        let parts = [PARTS, HELD].concat();
        sentences(text, FINDINGS, &parts)
    }
}

#[cfg(test)]
mod tests {
    use operations::FindingCode;

    use super::*;

    /// A text of each kind of finding, as the crate `operations` writes it.
    fn examples_of(code: FindingCode) -> &'static [&'static str] {
        match code {
            FindingCode::Unread => &["the job could not be read: §"],
            FindingCode::NoConfig => &[
                "the job has no configuration: remove its nodes, unless another application uses them",
            ],
            FindingCode::BadConfig => &[
                "§; Rust instances keep the last readable one, Java instances fail: update the configuration",
            ],
            FindingCode::ConfigHarmsJava => &[
                "Java instances of 3.x fail at fields that they do not know: §",
                "Java instances of 2.1.5 fail without a cron expression",
            ],
            FindingCode::MixedEncoding => &[
                "the node is written in the dialect 3.x, but the job uses 2.1.5: this instance of 3.x cannot read the configuration, but gets items",
                "the node is written in the dialect 3.x, but the job uses 2.1.5: all instances treat it as enabled, as intended",
            ],
            FindingCode::LeftoverInstance => &[
                "no session owns it, but Java gives it items; a Rust instance removes it",
                "no session owns it, but Java gives it items, which no instance runs",
            ],
            FindingCode::NoServerRecord => &[
                "its server has no record, so it gets no items: restart the instance to create one",
            ],
            FindingCode::DeadServer => &[
                "no instance runs there; remove the server if none will come back",
                "no instance runs there; the server is paused, and stays so if instances come back; remove the server if none will",
            ],
            FindingCode::AddressHarmsJava => &[
                "Java reacts to IPv4 addresses only",
                "Java treats it as online while 10.0.0.12 is online",
            ],
            FindingCode::HeldBack => &[
                "no item of the job starts: server 10.0.0.1 is paused (pause by § at 2024-02-29T12:00:00Z: §; §); server 10.0.0.2 is disabled",
                "these servers own no items, so that all items start on the others: server 10.0.0.1 is paused",
            ],
            FindingCode::NoLeader => &[
                "instances are available, but none leads",
                "the leader node names \"10.0.0.1@-@7\", which is not registered",
            ],
            FindingCode::LeaderDisabled => &[
                "10.0.0.1@-@7 leads, but its server is disabled: it may have won the first election",
            ],
            FindingCode::OrphanedRunMark => &[
                "the mark says that 10.0.0.1@-@7 runs the item, but that instance is gone; a Rust instance removes the mark at the next fire at the latest",
                "the mark says that an unnamed instance runs the item, but that instance is gone; Java no longer runs the item, and its leader waits for it forever at the next resharding",
            ],
            FindingCode::RunOfEarlierIncarnation => &[
                "the mark is older than 10.0.0.1@-@7, which reuses the id of an earlier incarnation or has reconnected; remove the node if nothing runs there",
            ],
            FindingCode::RunKept => &[
                "10.0.0.1@-@7 runs one fire at a time and has begun a later one: Java never runs this item again; remove the node if nothing runs there",
            ],
            FindingCode::OrphanedTakeoverMark => {
                &["10.0.0.1@-@7 had taken over the item, but is gone"]
            }
            FindingCode::StaleQueueEntry => &[
                "the job has no such item, but Java instances would run it",
                "failover is off; if it is switched on, Java instances would run the item",
            ],
            FindingCode::RunNotRecorded => &[
                "10.0.0.1@-@7 marks the item as running, but its record shows no run: no instance starts it while the mark exists; 10.0.0.1@-@7 removes the mark when its run has ended; if it does not run the item, restart it",
            ],
            FindingCode::Orphan => &[
                "the orphaned run waits for a takeover",
                "the orphaned run waits for a takeover, and no instance is available",
            ],
            FindingCode::OrphanedTrigger => &[
                "the instance that was asked to run its items is gone",
                "a manual request, which no instance reads until a Rust instance joins",
            ],
            FindingCode::Unassigned => &[
                "item 3 has no live owner: no instance runs them until the next resharding",
                "items 3, 4 have no live owner: the job uses static sharding, so they wait for their instances to return",
            ],
            FindingCode::SurplusItems => {
                &["the job has 2 items; no instance runs these surplus items: 3, 4"]
            }
            FindingCode::Failing => &[
                "the last run of every item failed; item 0 failed at 2024-02-29T12:00:00Z: §; §",
                "the last runs of items 1, 2 failed; item 1 timed_out",
            ],
            FindingCode::BadRecord => {
                &["no instance runs the item until its record is repaired: §"]
            }
            FindingCode::NewerRecord => &["instances of this version leave it alone: §"],
            FindingCode::FutureFire => &[
                "an instance with a wrong clock has settled the fire of 2024-02-29T12:00:00Z: the item starts no fire before that time; it can be set back once its run has ended",
            ],
            FindingCode::Necessary => &[
                "resharding is requested, and Java instances start nothing until it is done: the leader waits for items 1, 2",
            ],
            FindingCode::Processing => &[
                "no session owns the flag, so it never goes away: Java instances start nothing",
                "another session than the leader's owns the flag: Java instances start nothing until that session ends",
            ],
            FindingCode::GroupLimitsUnreadable => &[
                "§; no run of the group's jobs begins until they are stored again: ejob group set §",
            ],
            FindingCode::OrphanedGroupPermit => &[
                "§ holds the permit for item 1 of § (token 4), but the item's record shows no such run: if it does not run the item, restart it",
                "no session owns this permit for item 1 of §, which does not run under token 4: no instance returns it, and it counts against the limit of the group",
                "no session owns this permit without a readable run: no instance returns it, and it counts against the limit of the group",
            ],
            FindingCode::StaleGroupPlace => &[
                "the job § does not exist, but it has a place in the line of the group, which keeps a share of its permits and starts from other jobs",
                "the job § is in group §, but it has a place in the line of the group, which keeps a share of its permits and starts from other jobs",
                "the job § is in no group, but it has a place in the line of the group, which keeps a share of its permits and starts from other jobs",
                "no instance waits for §, but it has a place in the line of the group, which keeps a share of its permits and starts from other jobs",
            ],
            FindingCode::StrayNode => {
                &["its name is no address: no instance reads the state of this server"]
            }
            FindingCode::Version1 => &[
                "only ElasticJob 1.x has it: no Java instance of 2.1.5 or 3.x and no Rust instance reads it: /a/b",
            ],
            FindingCode::Anomaly => &["instances ignore the node: §"],
            _ => &[],
        }
    }

    /// Texts without words to translate: names of systems, ids, times and nodes.
    const AS_WRITTEN: &[&str] =
        &["Java", "Rust", "ElasticJob", "IPv4", "cron", "ejob group set", "x", "T", "Z", "/a/b"];

    #[test]
    fn each_finding_has_a_chinese_text() {
        for code in FindingCode::ALL {
            let examples = examples_of(*code);
            assert!(!examples.is_empty(), "{code} has no example");
            for text in examples {
                let shown =
                    Lang::Chinese.finding_text(text).unwrap_or_else(|| panic!("{code}: {text}"));
                let words =
                    AS_WRITTEN.iter().fold(shown.clone(), |text, word| text.replace(word, ""));
                assert!(!words.contains(|c: char| c.is_ascii_alphabetic()), "{text}: {shown}");
                assert_eq!(Lang::English.finding_text(text), None);
            }
        }
        assert_eq!(Lang::Chinese.finding_text("something else"), None);
    }

    #[test]
    fn each_pattern_is_found() {
        for (english, chinese) in FINDINGS {
            let text = english.replace("{}", "§");
            let expected: String = chinese.split(['{', '}']).step_by(2).collect();
            let shown = Lang::Chinese.finding_text(&text).map(|text| text.replace('§', ""));
            assert_eq!(shown, Some(expected), "an earlier pattern matches");
        }
    }
}
