//! Descriptions of expressions in words.

use trigger::{CronCaveat, CronExpression};

#[test]
fn expressions_are_described_in_words() {
    let cases = [
        ("* * * * * ?", "every second"),
        ("0 * * * * ?", "at second 0, every minute"),
        ("0/5 * * * * ?", "every 5th second from 0, every minute"),
        ("0 0 * * * ?", "at second 0, minute 0, every hour"),
        ("* 5 * * * ?", "every second, minute 5, every hour"),
        ("10 0/5 * * * ?", "at second 10, every 5th minute from 0, every hour"),
        ("* * 12 * * ?", "every second, hour 12"),
        ("0 0 12 * * ?", "at 12:00:00"),
        (
            "0 10,44 14 ? 3 WED",
            "at second 0, minute 10 and minute 44, hour 14, on Wednesday, in March",
        ),
        (
            "0 0 22-2/2 1,15-20 * ?",
            "at second 0, minute 0, every 2nd hour from 22 to 2, on day 1 and days 15 to 20 of the month",
        ),
        ("0 0 12 */2 * ?", "at 12:00:00, on every 2nd day from 1 of the month"),
        ("0 0 12 1/0 5-6/0 ?", "at 12:00:00, on day 1 of the month, in May"),
        ("0 0 0 L * ?", "at 00:00:00, on the last day of the month"),
        ("0 0 0 L-1 * ?", "at 00:00:00, on the day before the last day of the month"),
        ("0 0 0 15W * ?", "at 00:00:00, on the working day nearest to day 15 of the month"),
        ("0 0 0 ? * L", "at 00:00:00, on Saturday"),
        ("0 0 0 ? * 6#3", "at 00:00:00, on the 3rd Friday of the month"),
        ("0 0 0 ? NOV-FEB MON-WED", "at 00:00:00, on Monday to Wednesday, in November to February"),
        (
            "0 0 0 1 */3 ? 2030-2040/2",
            "at 00:00:00, on day 1 of the month, in every 3rd month from January, in every 2nd year from 2030 to 2040",
        ),
        ("0 0 0 31 2 ?", "never (at 00:00:00, on day 31 of the month, in February)"),
    ];
    for (text, expected) in cases {
        assert_eq!(CronExpression::parse(text).unwrap().description(), expected, "{text}");
    }
}

#[test]
fn caveats_are_reported() {
    let cases = [
        (
            "0 0 12 * * ? * 2020  foo",
            "0 0 12 * * ? * 2020 FOO",
            "`2020 FOO` after the year has no effect",
        ),
        (
            "0 0 12 1W,15W * ?",
            "0 0 12 1W,15W * ?",
            "of the days of the month only 1W has an effect",
        ),
        ("0 0 12 * * ? 3000", "0 0 12 * * ? 3000", "it never fires"),
    ];
    for (text, canonical, caveat) in cases {
        let expression = CronExpression::parse(text).unwrap();
        assert_eq!(expression.as_str(), canonical);
        let caveats: Vec<_> = expression.caveats().iter().map(CronCaveat::to_string).collect();
        assert_eq!(caveats, [caveat], "{text}");
    }
}
