//! Texts of backfills.

use operations::BackfillState;

use super::effects::translated;
use super::patterns::Patterns;
use crate::pages::locale::{Lang, counts, messages};

/// Reasons why a job has no backfills, by patterns as those of effects.
const OBSTACLES: &Patterns = &[
    ("Java instances run an item only for the present time", "Java 实例只为当前时间运行分片"),
    (
        "without monitoring items have no records to remember their past fires in",
        "不监控时，分片没有可记住过去触发的记录",
    ),
    (
        "with a fixed delay, the end of each run decides when the next fire comes",
        "固定延迟的作业由每次运行的结束决定下次触发的时间",
    ),
    ("it has no schedule, so it has no past fires", "它没有调度，因此没有过去的触发"),
];

/// Warnings of a preview, by patterns as those of effects.
const WARNINGS: &Patterns = &[(
    "the job has no time_zone, so these fires are computed in UTC; instances with another default \
     time zone have other fires",
    "作业没有 time_zone，因此这些触发按 UTC 计算；默认时区不同的实例有不同的触发",
)];

messages! {
    backfill() "Backfill" | "补跑";
    backfills() "Backfills" | "补跑";
    backfills_hint()
        "A backfill runs the fires of a past period again, each with its own time and in order. Scheduled fires come first."
        | "补跑再次运行过去一段时间的触发：每次触发用它自己的时间，按顺序进行。计划触发优先。";
    no_backfills() "No backfills" | "没有补跑";
    no_backfills_hint()
        "The backfill in progress and the last ended ones are listed here."
        | "正在进行的补跑和最近结束的补跑列于此处。";
    backfill_not_possible() "A backfill of this job is not possible" | "该作业无法补跑";
    one_backfill_at_a_time()
        "A job has one backfill at a time. A further one can be requested when the present one has ended."
        | "一个作业同时只有一次补跑。当前补跑结束后可以再请求一次。";
    request_backfill() "Run past fires again" | "再次运行过去的触发";
    request_backfill_hint()
        "The period includes its start and excludes its end; both lie in the past. The fires are shown first."
        | "时间段包含起点，不含终点；两者都在过去。会先显示各次触发。";
    items_of_backfill() "Items, such as 0,3-5; all if blank" | "分片，如 0,3-5；留空为全部";
    concurrency_of_backfill()
        "Number of fires that may be in progress at once"
        | "可以同时进行的触发数";
    show_fires() "Show the fires" | "查看触发";
    fires_ended() "Fires ended" | "已结束的触发";
    fires_at_once() "At once" | "同时进行";
    cancel_backfill() "Cancel backfill" | "取消补跑";
    cancel_backfill_hint()
        "No item gets a further fire, and requests that wait are dropped. Runs in progress go on; the operation “Cancel runs” ends them."
        | "没有分片再得到触发，等待中的请求被丢弃。正在进行的运行继续；“取消运行”操作可结束它们。";
    cancelled_by(who: &str) "cancelled by {who}" | "由 {who} 取消";
}

counts! {
    n_fires(n) "1 fire", "{n} fires" | "{n} 次触发";
    n_runs(n) "1 run", "{n} runs" | "{n} 次运行";
}

impl Lang {
    /// Returns the number of runs of a backfill, and how it comes about.
    pub(crate) fn runs_of_backfill(self, fires: usize, items: usize) -> String {
        let runs = self.n_runs(fires.saturating_mul(items));
        let (fires, items) = (self.n_fires(fires), self.n_items(items));
        match self {
            Self::English => format!("{runs}: {fires} of {items}"),
            Self::Chinese => format!("{runs}：{items}，各 {fires}"),
        }
    }

    pub(crate) fn backfill_state(self, state: BackfillState) -> String {
        match state {
            BackfillState::InProgress => self.pick("in progress", "进行中"),
            BackfillState::Cancelling => self.pick("cancelling", "正在取消"),
            BackfillState::Cancelled => self.pick("cancelled", "已取消"),
            BackfillState::Done => self.pick("done", "已完成"),
            _ => state.as_str().to_owned(),
        }
    }

    /// Returns why a backfill is not possible in Chinese; `None` for other languages, and for texts
    /// that are not of the closed set.
    pub(crate) fn obstacle_of_backfill(self, text: &str) -> Option<String> {
        translated(self, OBSTACLES, text)
    }

    /// Returns the warning of a preview in Chinese; `None` for other languages, and for texts that
    /// are not of the closed set.
    pub(crate) fn warning_of_backfill(self, text: &str) -> Option<String> {
        translated(self, WARNINGS, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_backfill_are_fires_times_items() {
        assert_eq!(Lang::English.runs_of_backfill(1, 1), "1 run: 1 fire of 1 item");
        assert_eq!(Lang::English.runs_of_backfill(3, 2), "6 runs: 3 fires of 2 items");
        assert_eq!(Lang::Chinese.runs_of_backfill(3, 2), "6 次运行：2 个分片，各 3 次触发");
    }
}
