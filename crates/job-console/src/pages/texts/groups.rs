//! Texts of groups of jobs.

use super::effects::translated;
use super::patterns::Patterns;
use crate::pages::locale::{Lang, counts, messages};

/// Limits, as the crate `operations` writes them.
const LIMITS: &Patterns = &[
    ("no limits", "没有上限"),
    ("unreadable", "无法读取"),
    ("at most 1 run at once", "最多同时 1 个运行"),
    ("at most {} runs at once", "最多同时 {0} 个运行"),
    ("at most 1 start in {}", "{0} 内最多启动 1 次"),
    ("at most {} starts in {}", "{1} 内最多启动 {0} 次"),
];

messages! {
    groups() "Groups" | "组";
    group() "Group" | "组";
    job_or_group() "Job or group" | "作业或组";
    groups_hint()
        "The jobs of a group share its limits. What is free goes to the waiting jobs in turn, one run each."
        | "组内作业共享上限。空闲名额按顺序分给等待的作业，每次一个运行。";
    no_groups() "No groups" | "没有组";
    no_groups_hint()
        "A job names its group in its configuration. The limits of the group are set here, by a job file, or by"
        | "作业在配置中写明所属的组。组的上限可在此处、由作业文件或以下命令设置：";
    name_contains() "Name" | "名称";
    runs_at_once() "Runs at once" | "同时运行";
    starts_in_period() "Starts" | "启动速率";
    waiting_jobs() "Waiting jobs" | "等待的作业";
    permit() "Permit" | "许可";
    place() "Place" | "位置";
    taken_of(taken: usize, max: u32) "{taken} of {max}" | "{max} 个中的 {taken} 个";
    no_limit() "no limit" | "没有限制";
    no_limits() "no limits" | "没有上限";
    permits_are_taken() "all permits taken" | "许可已用完";
    rate_is_reached() "start rate reached" | "已达启动速率";
    is_below_limits() "below its limits" | "未达上限";
    unreadable_limits()
        "The limits cannot be read, so no run of the jobs begins. Set them again."
        | "无法读取上限，因此作业不开始运行。请重新设置。";
    next_run_of_group() "The next run may begin at" | "下一次运行最早启动于";
    no_permit_is_taken() "No run has a permit." | "没有运行占用许可。";
    runs_take_no_permits()
        "The group does not limit the runs at once, so its runs take no permits."
        | "该组不限制同时运行数，因此其运行不占用许可。";
    no_job_waits() "No job waits." | "没有作业在等待。";
    jobs_of_group() "Jobs of the group" | "组内作业";
    no_job_in_group()
        "No job names this group in its configuration."
        | "没有作业在配置中写明该组。";
    last_changes() "Last changes" | "最近的更改";
    all_changes() "All changes" | "全部更改";
    no_change_of_group() "No change of the limits is recorded." | "没有上限更改的记录。";
    set_limits() "Set limits" | "设置上限";
    set_limits_hint()
        "Both limits are replaced, and an empty field is no limit. The change is shown first."
        | "两个上限都会被替换，留空表示没有限制。会先显示更改。";
    remove_limits() "Remove limits" | "移除上限";
    remove_limits_hint()
        "The jobs stay in the group, and are not limited any more: waiting runs begin."
        | "作业仍在组内，但不再受限：等待的运行会开始。";
    name_of_group() "Name of the group" | "组的名称";
    more_runs_than(taken: usize, max: u32)
        "Runs with permits: {taken}. They go on, and a new one begins when fewer than {max} are left."
        | "占用许可的运行：{taken} 个。它们会继续，剩余少于 {max} 个时才开始新的运行。";
}

counts! {
    n_jobs_in_group(n) "1 job is in the group:", "{n} jobs are in the group:" | "组内有 {n} 个作业：";
    n_jobs_wait(n) "1 job waits now.", "{n} jobs wait now." | "现有 {n} 个作业在等待。";
}

impl Lang {
    /// Returns the change of the limits of a group in Chinese. `None` for other languages, and for
    /// other texts.
    pub(super) fn change_of_limits(self, text: &str) -> Option<String> {
        let limits = |text: &str| {
            let known: Option<Vec<_>> =
                text.split(", ").map(|limit| translated(self, LIMITS, limit)).collect();
            Some(known?.join("，"))
        };
        let (before, after) = text.split_once(" -> ")?;
        Some(format!("{} → {}", limits(before)?, limits(after)?))
    }
}

#[cfg(test)]
mod tests {
    use coordination::{GroupLimits, GroupName, StartRate};
    use operations::GroupSnapshot;

    use super::*;

    #[test]
    fn changes_of_limits_are_translated() {
        let group = GroupSnapshot::new(GroupName::new("db").unwrap());
        let start_rate = StartRate::parse("9 in 1m");
        let both = GroupLimits { cluster_concurrency: Some(3), start_rate };
        let text = group.change_to(both).to_string();
        let expected = "没有上限 → 最多同时 3 个运行，1m 内最多启动 9 次";
        assert_eq!(Lang::Chinese.effect_of_change(&text).as_deref(), Some(expected));
        let text = "unreadable -> no limits";
        let expected = "无法读取 → 没有上限";
        assert_eq!(Lang::Chinese.effect_of_change(text).as_deref(), Some(expected));
        assert_eq!(Lang::English.effect_of_change(text), None);
        assert_eq!(Lang::Chinese.effect_of_change("a -> no limits"), None);
    }
}
