//! Texts of verifications.

use job_history::Verdict;

use super::patterns::{Patterns, sentences};
use crate::pages::locale::{Lang, messages};

messages! {
    verification() "Verification" | "核查";
    verification_hint()
        "Judges each fire of a period by the history and the registry: was it run once, twice, or not, and why?"
        | "根据历史记录和注册中心判断一段时间内的每次触发：运行了一次、两次还是没有运行，以及原因。";
    judge_period() "Judge this period" | "核查此时段";
    verdict_title() "Verdict" | "结论";
    all_explained() "Nothing ran twice, and nothing is unexplained." | "没有运行两次的触发，也没有无法解释的触发。";
    not_judged() "Not judged:" | "未核查：";
    more_verdicts() "More fires have these verdicts. Choose a verdict or a shorter period." | "还有更多触发。请选择结论或更短的时段。";
    no_such_verdict() "No fire has this verdict" | "没有此结论的触发";
    no_such_verdict_hint() "The numbers above count all fires of the period." | "上面的数字统计了该时段的所有触发。";
}

/// Sentences of the crate `job-history` about verdicts.
const REASONS: &Patterns = &[
    ("it was run, but the job had 1 item then", "已运行，但当时作业有 1 个分片"),
    ("it was run, but the job had {} items then", "已运行，但当时作业有 {0} 个分片"),
    ("it was run, but the schedule has no fire at this time", "已运行，但调度在此时没有触发"),
    ("{} is an outcome of a later version", "{0} 是更高版本的结果"),
    ("a backfill ran it later, at {}; {}", "之后由 {0} 的补跑运行；{1*}"),
    ("a backfill ran it later, at {}", "之后由 {0} 的补跑运行"),
    ("a backfill of {} is not done with it", "{0} 的补跑尚未完成它"),
    (
        "the item was still running; its run of {} stands for this fire",
        "该分片仍在运行，由其 {0} 的运行代替此触发",
    ),
    (
        "the item was still running; the fire waits for the end of that run",
        "该分片仍在运行，此触发等待该运行结束",
    ),
    (
        "the item was still running, and no later run of the item is recorded",
        "该分片仍在运行，且没有之后的运行记录",
    ),
    (
        "the item was still running; the fire waited for a run of its own, and none is recorded",
        "该分片仍在运行，此触发等待自己的运行，但没有其记录",
    ),
    (
        "the code has ended; the history has no proof that the registry recorded it",
        "代码已结束；历史无法证明注册中心已记录",
    ),
    ("{} is gone; its run waits for a takeover", "{0} 已离开，其运行等待接管"),
    ("it is running on {}", "正在 {0} 上运行"),
    (
        "no end of the run on {} is recorded: the registry does not show the run any more",
        "没有 {0} 上运行的结束记录：注册中心已不显示该运行",
    ),
    ("no end of the run on {} is recorded: {}", "没有 {0} 上运行的结束记录：{1*}"),
    ("an instance missed it: {}", "某实例漏掉了它：{0*}"),
    (
        "no instance ran it, as the record of the item in the registry shows",
        "注册中心中该分片的记录显示没有实例运行它",
    ),
    ("no instance ran the fires of this gap", "没有实例运行此空档的触发"),
    (
        "no instance lived, or none could reach the registry",
        "没有存活的实例，或没有实例能访问注册中心",
    ),
    ("it is due now", "现在到期"),
    ("it is younger than a minute: its record may be on its way", "不到一分钟：其记录可能尚未到达"),
    (
        "the last fire that the registry has settled is {}, and no reason is on record",
        "注册中心结算的上次触发为 {0}，没有记录原因",
    ),
    ("the last fire that the registry has settled is {}", "注册中心结算的上次触发为 {0}"),
    ("the item is still running", "该分片仍在运行"),
    (
        "waits for a permit of the job ({} of {} are taken, cluster_concurrency): {}",
        "等待该作业的许可（集群上限 {1}，已占用 {0}）：{2}",
    ),
    (
        "the job has reached its start rate ({}, start_rate); the next run may begin at {}",
        "作业已达到启动速率（{0}）；下一次运行最早启动于 {1}",
    ),
    (
        "waits for a permit of the group {} ({} of {} are taken): {}",
        "等待组 {0} 的许可（{2} 个中已占用 {1} 个）：{3}",
    ),
    ("waits in the line of the group {}, behind {}", "在组 {0} 的队伍中等待，排在前面的有：{1}"),
    (
        "the group {} has reached its start rate ({}); the next run may begin at {}",
        "组 {0} 已达到启动速率（{1}）；下一次运行最早启动于 {2}",
    ),
    ("now the item is disabled", "现在该分片已禁用"),
    ("now no instance is alive", "现在没有存活的实例"),
    ("the history has no record of it", "历史没有其记录"),
    ("{} records of that time were lost", "该时段丢失了 {0} 条记录"),
    (
        "no run shows that the item was of an instance that missed it",
        "没有运行表明该分片属于漏掉它的实例",
    ),
    (
        "the job is not monitored, so missed fires are not recorded",
        "作业未启用监控，因此不记录漏掉的触发",
    ),
    ("the registry has no record of the item", "注册中心没有该分片的记录"),
    ("the registry shows later fires of the item", "注册中心显示该分片之后的触发"),
    ("Java instances record their runs in other tables", "Java 实例将运行记录在其他表中"),
    (
        "completed by {} with token {} and by {} with token {}",
        "由 {0}（令牌 {1}）和 {2}（令牌 {3}）完成",
    ),
    ("taken over from {}", "接管自 {0}"),
    ("the first record of the job in the history is later", "历史中该作业的首条记录晚于此时段"),
    ("the history has no record of the job", "历史没有该作业的记录"),
    ("the registry has no configuration of the job", "注册中心没有该作业的配置"),
];

impl Lang {
    /// Returns the reason of a verdict in Chinese. `None` for other languages, and for texts that
    /// are not of the closed set, such as the reason of a failed run.
    pub(crate) fn reason_of_verdict(self, outcome: Option<&str>, text: &str) -> Option<String> {
        if self == Self::English {
            return None;
        }
        let of_outcome = outcome.and_then(|outcome| self.reason_of_outcome(outcome, text));
        of_outcome.or_else(|| sentences(text, REASONS, super::events::PARTS))
    }

    /// Returns a verdict in words.
    pub(crate) fn verdict(self, verdict: Verdict) -> String {
        match verdict {
            Verdict::Run => self.pick("run", "已运行"),
            Verdict::RunTwice => self.pick("run twice", "运行两次"),
            Verdict::Missed => self.pick("missed", "漏掉"),
            Verdict::Unexplained => self.pick("unexplained", "无法解释"),
            Verdict::Open => self.pick("open", "未定"),
            _ => verdict.as_str().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_found() {
        for (english, chinese) in REASONS {
            let text = english.replace("{}", "§");
            let expected: String = chinese.split(['{', '}']).step_by(2).collect();
            let shown = Lang::Chinese.reason_of_verdict(None, &text);
            let shown = shown.map(|text| text.replace('§', ""));
            assert_eq!(shown, Some(expected), "an earlier pattern matches");
        }
        let text = "taken over from a; the supplier answered 503";
        let shown = Lang::Chinese.reason_of_verdict(Some("failed"), text);
        assert_eq!(shown.as_deref(), Some("接管自 a; the supplier answered 503"));
    }
}
