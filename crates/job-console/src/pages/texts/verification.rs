//! Texts of verifications.

use job_history::Verdict;

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

impl Lang {
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
