//! Rejected expressions: field, position and reason.

use trigger::{CronExpression, CronField, CronParseErrorReason as Reason};

#[test]
fn errors_have_field_position_and_reason() {
    use CronField::*;
    let text = str::to_owned;
    let range = |value, min, max| Reason::OutOfRange { value, min, max };
    let cases = [
        ("", Second, "", Reason::MissingField),
        ("0 0 12", DayOfMonth, "", Reason::MissingField),
        ("0 0 12 *", Month, "", Reason::MissingField),
        ("0 0 12 * *", DayOfWeek, "", Reason::MissingField),
        (
            "0\n0\n12\n*\n*\n?",
            Second,
            "\n0\n12\n*\n*\n?",
            Reason::TrailingText(text("\n0\n12\n*\n*\n?")),
        ),
        ("0 0 12 * * *", DayOfWeek, "*", Reason::BothDaysGiven),
        ("0 0 12 ? * ?", DayOfWeek, "?", Reason::NoDayGiven),
        ("? 0 12 * * ?", Second, "?", Reason::MisplacedQuestionMark),
        ("0 0 12 1,? * MON", DayOfMonth, "?", Reason::MisplacedQuestionMark),
        ("0 0 12 ?5 * MON", DayOfMonth, "?5", Reason::MisplacedQuestionMark),
        ("0 0 12 * * ? ?", Year, "?", Reason::MisplacedQuestionMark),
        ("0 1,,2 * * * ?", Minute, "", Reason::EmptyItem),
        ("0 0 , * * ?", Hour, "", Reason::EmptyItem),
        ("@ * * * * ?", Second, "@", Reason::NotAValue(text("@"))),
        ("MON * * * * ?", Second, "MON", Reason::NotAValue(text("MON"))),
        ("-5 * * * * ?", Second, "-5", Reason::NotAValue(text("-5"))),
        ("5x * * * * ?", Second, "x", Reason::TrailingText(text("X"))),
        ("0 5-10-20 * * * ?", Minute, "-20", Reason::TrailingText(text("-20"))),
        ("0 *5 * * * ?", Minute, "5", Reason::TrailingText(text("5"))),
        ("0 1.5 * * * ?", Minute, ".5", Reason::TrailingText(text(".5"))),
        ("0 0 12 ? * MONDAY", DayOfWeek, "MONDAY", Reason::UnknownName(text("MONDAY"), DayOfWeek)),
        ("0 0 12 ? FOO MON", Month, "FOO", Reason::UnknownName(text("FOO"), Month)),
        ("0 0 12 ? * FOO#1", DayOfWeek, "FOO", Reason::UnknownName(text("FOO"), DayOfWeek)),
        ("60 * * * * ?", Second, "60", range(60, 0, 59)),
        ("0 0 5-24 * * ?", Hour, "24", range(24, 0, 23)),
        ("0 0 12 0 * ?", DayOfMonth, "0", range(0, 1, 31)),
        ("0 0 12 32W * ?", DayOfMonth, "32", range(32, 1, 31)),
        ("0 0 12 1 5-0 ?", Month, "0", range(0, 1, 12)),
        ("0 0 12 ? * 8#1", DayOfWeek, "8", range(8, 1, 7)),
        ("0 0 99 * * ?", Hour, "99", range(99, 0, 23)),
        ("0 2147483648 * * * ?", Minute, "2147483648", Reason::NumberTooLarge),
        ("0 0 12 * * ? 99", Year, "99", Reason::ReservedNumber(99)),
        ("0 5- * * * ?", Minute, "", Reason::MissingRangeEnd),
        ("0 0 12 ? * MON-", DayOfWeek, "", Reason::MissingRangeEnd),
        ("0 0 12 ? * MON-6", DayOfWeek, "6", Reason::MixedRange),
        ("0 0 12 ? * 2-FRI", DayOfWeek, "FRI", Reason::MixedRange),
        ("0 0 12 * * ? 2030-2020", Year, "2030-2020", Reason::BackwardYears),
        ("0 */ * * * ?", Minute, "/", Reason::MissingStep),
        ("0 5/x * * * ?", Minute, "/x", Reason::MissingStep),
        ("0 */-5 * * * ?", Minute, "/-5", Reason::MissingStep),
        ("0 */60 * * * ?", Minute, "/60", Reason::StepTooLarge { step: 60, max: 59 }),
        ("0 0 0/24 * * ?", Hour, "/24", Reason::StepTooLarge { step: 24, max: 23 }),
        ("0 0 12 ? * MON-FRI/2", DayOfWeek, "/2", Reason::StepAfterName),
        ("0 0 12 1 JAN/3 ?", Month, "/3", Reason::StepAfterName),
        ("0 0 L * * ?", Hour, "L", Reason::MisplacedL),
        ("0 0 12 1 L ?", Month, "L", Reason::MisplacedL),
        ("0 0 12 5L * ?", DayOfMonth, "5L", Reason::MisplacedL),
        ("0 0 12 L- * ?", DayOfMonth, "L-", Reason::MisplacedL),
        ("0 0 12 LWX * ?", DayOfMonth, "LWX", Reason::MisplacedL),
        ("0 0 12 ? * LW", DayOfWeek, "LW", Reason::MisplacedL),
        ("0 0 12 ? * 2-4L", DayOfWeek, "2-4L", Reason::MisplacedL),
        ("0 0 12 L-31 * ?", DayOfMonth, "31", Reason::LastDayOffset(31)),
        ("0 0 12 W * ?", DayOfMonth, "W", Reason::MisplacedW),
        ("0 0 12 1-15W * ?", DayOfMonth, "W", Reason::MisplacedW),
        ("0 0 12 ? * 3W", DayOfWeek, "W", Reason::MisplacedW),
        ("0 0 12 ? * 2-4#2", DayOfWeek, "2-4#2", Reason::MisplacedHash),
        ("0 0 12 1#2 * ?", DayOfMonth, "#2", Reason::MisplacedHash),
        ("0 0 12 ? * 2#", DayOfWeek, "", Reason::NthOutOfRange),
        ("0 0 12 ? * 2#6", DayOfWeek, "6", Reason::NthOutOfRange),
        ("0 0 12 ? * 2#+1", DayOfWeek, "+1", Reason::NthOutOfRange),
        ("0 0 12 1,L * ?", DayOfMonth, "1,L", Reason::SpecialInList),
        ("0 0 12 ? * 2#1,3", DayOfWeek, "2#1,3", Reason::SpecialInList),
    ];
    for (expression, field, place, reason) in cases {
        let error = CronExpression::parse(expression).expect_err(expression);
        let found = (error.field, &expression[error.span.clone()], error.reason.clone());
        assert_eq!(found, (field, place, reason), "{expression:?}");
    }
}

#[test]
fn expression_of_unix_cron_is_answered_with_the_one_to_write() {
    let cases = [
        ("*/5 * * * *", Some("0 */5 * * * ?")),
        ("0 4 * * mon-fri", Some("0 0 4 ? * mon-fri")),
        ("0 0 4 * * *", Some("0 0 4 * * ?")),
        ("0 0 4 1 * * 2030", Some("0 0 4 1 * ? 2030")),
        // Unix cron counts days of the week from 0, so that a number is no suggestion.
        ("0 4 * * 1", None),
        ("0 0 4 * * 1", None),
        ("0 25 * * *", None),
        ("61 4 * * *", None),
        ("0 4 1 * 5", None),
    ];
    for (expression, expected) in cases {
        let shown = CronExpression::parse(expression).unwrap_err().to_string();
        let found = shown.split_once("write \"").map(|(_, rest)| rest.split('"').next().unwrap());
        assert_eq!(found, expected, "{expression:?}: {shown}");
    }
    let five = CronExpression::parse("*/5 * * * *").unwrap_err().to_string();
    assert!(five.contains("the seconds come first") && five.lines().count() == 3, "{five}");
}

#[test]
fn carets_mark_the_invalid_part() {
    let cases = [
        ("0 0 12 ? * MON-6", "  0 0 12 ? * MON-6\n                 ^"),
        ("0\t0 12 é * ?", "  0 0 12 é * ?\n         ^"),
        ("0 0 12", "  0 0 12\n        ^"),
        ("0 0 12 * * ? 2030-2020", "  0 0 12 * * ? 2030-2020\n               ^^^^^^^^^"),
    ];
    for (expression, expected) in cases {
        let shown = CronExpression::parse(expression).unwrap_err().to_string();
        let (_, drawing) = shown.split_once('\n').unwrap();
        assert_eq!(drawing, expected, "{expression:?}");
    }
}
