//! Descriptions of schedules in Chinese. The crate `trigger` writes them in English: rules are
//! joined by `; `, phrases and lists by `, ` and ` and `.

use super::patterns::{Patterns, filled};
use crate::pages::locale::Lang;

/// Parts of a description. The first that matches counts.
const PARTS: &Patterns = &[
    ("every {} from {}T{}Z", "自 {1}T{2}Z 起每 {0}"),
    ("once at {}", "{0} 一次"),
    ("{} after the end of each run", "每次运行结束之后 {0}"),
    ("on every {} day from {} of the month", "每月从 {1*} 日起每 {0*} 天"),
    ("on the working day nearest to day {} of the month", "每月最接近 {0} 日的工作日"),
    ("on the working day nearest to {}", "最接近{0*}的工作日"),
    ("on the last day of the month", "每月最后一天"),
    ("on the day before the last day of the month", "每月倒数第二天"),
    ("on {} days before the last day of the month", "每月最后一天之前 {0} 天"),
    ("the last day of the month", "每月最后一天"),
    ("the day before the last day of the month", "每月倒数第二天"),
    ("{} days before the last day of the month", "每月最后一天之前 {0} 天"),
    ("on the last {} of the month", "每月最后一个{0*}"),
    ("on the {} {} of the month", "每月第 {0*} 个{1*}"),
    ("on day {} of the month", "每月 {0} 日"),
    ("on days {} to {} of the month", "每月 {0} 至 {1} 日"),
    ("on day {}", "每月 {0} 日"),
    ("on days {} to {}", "每月 {0} 至 {1} 日"),
    ("day {} of the month", "{0} 日"),
    ("days {} to {} of the month", "{0} 至 {1} 日"),
    ("every {} day from {} of the month", "从 {1*} 日起每 {0*} 天"),
    ("on {}", "{0*}"),
    ("in {}", "{0*}"),
    ("at {}", "{0*}"),
    ("every {} {} from {}", "从 {2*} 起每 {0*} {1*}"),
    ("every {} from {}", "从 {1*} 起每{0*}"),
    ("every {}", "每{0*}"),
    ("second {}", "第 {0} 秒"),
    ("minute {}", "第 {0} 分"),
    ("hour {}", "{0} 时"),
    ("day {}", "{0} 日"),
    ("seconds {} to {}", "第 {0} 至 {1} 秒"),
    ("minutes {} to {}", "第 {0} 至 {1} 分"),
    ("hours {} to {}", "{0} 至 {1} 时"),
    ("days {} to {}", "{0} 至 {1} 日"),
    ("{} to {}", "{0*} 至 {1*}"),
    ("second", "秒"),
    ("minute", "分钟"),
    ("hour", "小时"),
    ("day", "天"),
    ("day of week", "天"),
    ("month", "个月"),
    ("year", "年"),
    ("Monday", "星期一"),
    ("Tuesday", "星期二"),
    ("Wednesday", "星期三"),
    ("Thursday", "星期四"),
    ("Friday", "星期五"),
    ("Saturday", "星期六"),
    ("Sunday", "星期日"),
    ("January", "一月"),
    ("February", "二月"),
    ("March", "三月"),
    ("April", "四月"),
    ("May", "五月"),
    ("June", "六月"),
    ("July", "七月"),
    ("August", "八月"),
    ("September", "九月"),
    ("October", "十月"),
    ("November", "十一月"),
    ("December", "十二月"),
    ("{}st", "{0}"),
    ("{}nd", "{0}"),
    ("{}rd", "{0}"),
    ("{}th", "{0}"),
];

fn part(text: &str) -> String {
    let found = PARTS.iter().find_map(|(english, chinese)| filled(english, chinese, text, PARTS));
    found.unwrap_or_else(|| text.to_owned())
}

fn rule(text: &str) -> String {
    if let Some(never) = text.strip_prefix("never (").and_then(|rest| rest.strip_suffix(')')) {
        return format!("从不（{}）", rule(never));
    }
    let phrases = text.split(", ");
    let phrases = phrases.map(|phrase| {
        let parts: Vec<String> = phrase.split(" and ").map(part).collect();
        parts.join("和")
    });
    phrases.collect::<Vec<_>>().join("，")
}

impl Lang {
    /// Returns the description of a schedule in Chinese. `None` for other languages, and if a word
    /// of it is unknown.
    pub(crate) fn description_of_schedule(self, english: &str) -> Option<String> {
        if self == Self::English {
            return None;
        }
        let rules: Vec<String> = english.split("; ").map(rule).collect();
        let shown = rules.join("；");
        let has_words = shown.split(|c: char| !c.is_ascii_alphabetic()).any(|word| word.len() > 2);
        (!has_words).then_some(shown)
    }
}

#[cfg(test)]
mod tests {
    use trigger::{JobSchedule, Zone};

    use super::*;

    #[test]
    fn schedules_are_described_in_chinese() {
        for (rules, expected) in [
            ("0 0 2 * * ?", "02:00:00"),
            ("0 30 8,20 ? * MON-FRI", "08:30:00和20:30:00，星期一 至 星期五"),
            ("* * * * * ?", "每秒"),
            ("0 * * * * ?", "第 0 秒，每分钟"),
            ("0/5 * * * * ?", "从 0 起每 5 秒，每分钟"),
            (
                "0 0 22-2/2 1,15-20 * ?",
                "第 0 秒，第 0 分，从 22 至 2 起每 2 小时，每月 1 日和15 至 20 日",
            ),
            ("0 0 12 */2 * ?", "12:00:00，每月从 1 日起每 2 天"),
            ("0 0 0 L * ?", "00:00:00，每月最后一天"),
            ("0 0 0 L-1 * ?", "00:00:00，每月倒数第二天"),
            ("0 0 0 15W * ?", "00:00:00，每月最接近 15 日的工作日"),
            ("0 30 2 L-3W * ?", "02:30:00，最接近每月最后一天之前 3 天的工作日"),
            ("0 0 0 ? * 6#3", "00:00:00，每月第 3 个星期五"),
            ("0 0 8 ? 1,7 6L 2030", "08:00:00，每月最后一个星期五，一月和七月，2030"),
            (
                "0 0 0 1 */3 ? 2030-2040/2",
                "00:00:00，每月 1 日，从 一月 起每 3 个月，从 2030 至 2040 起每 2 年",
            ),
            ("0 0 0 31 2 ?", "从不（00:00:00，每月 31 日，二月）"),
            ("@every 90s; 0 0 2 * * ?", "自 1970-01-01T00:00:00Z 起每 90s；02:00:00"),
            ("@at 2026-12-24T09:00:00", "2026-12-24T09:00:00Z 一次"),
            ("@after 1h 30m", "每次运行结束之后 1h 30m"),
        ] {
            let english = JobSchedule::parse(rules, &Zone::utc()).unwrap().description();
            let shown = Lang::Chinese.description_of_schedule(&english);
            assert_eq!(shown.as_deref(), Some(expected), "{english}");
        }
        assert_eq!(Lang::Chinese.description_of_schedule("at noon of a holiday"), None);
        assert_eq!(Lang::English.description_of_schedule("every second"), None);
    }
}
