//! Errors of cron expressions, with their position.

use std::fmt;
use std::ops::Range;

use super::field::CronField;

/// An error in a cron expression.
///
/// `Display` writes three lines: the reason with the valid form, the expression, and carets under
/// the invalid part. An expression of Unix cron is answered with the one that is probably meant.
///
/// # Examples
///
/// ```
/// use trigger::{CronExpression, CronField};
///
/// let error = CronExpression::parse("0 0 25 * * ?").unwrap_err();
/// assert_eq!((error.field, error.span.clone()), (CronField::Hour, 4..6));
/// assert_eq!(
///     error.to_string(),
///     "cron expression, hour: 25 is not within 0-23; valid are 0-23, ranges `a-b`, steps `*/n`, \
///      `a/n`, `a-b/n`, lists `a,b` of them, and `*`
///   0 0 25 * * ?
///       ^^"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CronParseError {
    /// The whole expression.
    pub expression: String,
    /// The invalid field, or the first missing one.
    pub field: CronField,
    /// The invalid part of the expression, as a range of bytes; empty at the end of the expression
    /// if a part is missing.
    pub span: Range<usize>,
    /// The reason.
    pub reason: CronParseErrorReason,
}

/// Reason why a cron expression is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CronParseErrorReason {
    /// The expression has fewer than six fields.
    #[error("the field is missing: an expression has six fields, or seven with the year")]
    MissingField,
    /// Neither day of month nor day of week is `?`.
    #[error("day of month and day of week are both given: one of them must be `?`")]
    BothDaysGiven,
    /// Both day of month and day of week are `?`.
    #[error("day of month and day of week are both `?`: one of them must be given")]
    NoDayGiven,
    /// A `?` in another field than those of days, or not alone in its field.
    #[error("`?` is valid only alone, and only as day of month or day of week")]
    MisplacedQuestionMark,
    /// The text before, between or after the commas of a list is empty.
    #[error("an item of the list is empty")]
    EmptyItem,
    /// A character that begins no item: `@`, `X`.
    #[error("`{0}` is not a value")]
    NotAValue(String),
    /// Text after a complete item, as in `5X`, which Quartz ignores.
    #[error("`{0}` follows a complete item")]
    TrailingText(String),
    /// A word that is not a name of a month or of a day of the week, or is longer than its first
    /// three letters.
    #[error("`{0}` is not the name of a {1}")]
    UnknownName(String, CronField),
    /// A number outside of the range of the field.
    #[error("{value} is not within {min}-{max}")]
    OutOfRange {
        /// The number.
        value: u32,
        /// The smallest valid value.
        min: u32,
        /// The greatest valid value.
        max: u32,
    },
    /// A number that is greater than 2147483647.
    #[error("the number is greater than {}", i32::MAX)]
    NumberTooLarge,
    /// 98 or 99 as a year, which Quartz treats as `?` and `*`.
    #[error("{0} is not a year: Quartz uses the number internally for `?` or `*`")]
    ReservedNumber(u32),
    /// A `-` without a number or name after it.
    #[error("a range needs a last value after `-`")]
    MissingRangeEnd,
    /// One end of a range is a number, the other a name: `MON-6`.
    #[error("a range is either of numbers or of names")]
    MixedRange,
    /// A range of years that ends before it begins; ranges of other fields wrap around.
    #[error("a range of years cannot end before it begins")]
    BackwardYears,
    /// A `/` without a number after it.
    #[error("a step needs a number after `/`")]
    MissingStep,
    /// A step that exceeds the field: `*/60` seconds.
    #[error("the step {step} is greater than {max}")]
    StepTooLarge {
        /// The step.
        step: u32,
        /// The greatest valid step.
        max: u32,
    },
    /// A step after a name, `MON-FRI/2`, which Quartz ignores.
    #[error("a step follows only numbers, as in `2-6/2`")]
    StepAfterName,
    /// `L` in another field than those of days, or at an invalid position.
    #[error(
        "`L` is valid only as `L`, `L-n`, `LW`, `L-nW` for the day of month and as `L`, `dL` for \
         the day of week"
    )]
    MisplacedL,
    /// The number in `L-n` is greater than 30.
    #[error("{0} days before the last day of the month is not within 0-30")]
    LastDayOffset(u32),
    /// `W` in another field than day of month, or not after a day of the month or `L`.
    #[error("`W` is valid only for the day of month, after a number of 1-31 or after `L` or `L-n`")]
    MisplacedW,
    /// `#` in another field than day of week, or not after one day of the week.
    #[error("`#` is valid only for the day of week, after one day of the week")]
    MisplacedHash,
    /// The text after `#` is not 1 to 5.
    #[error("a number of 1-5 must follow `#`")]
    NthOutOfRange,
    /// A list that contains `L` or `#`.
    #[error("`L` and `#` cannot be part of a list")]
    SpecialInList,
}

impl std::error::Error for CronParseError {}

impl CronParseError {
    /// Returns the expression that is probably meant, if it is one of Unix cron: five fields, or
    /// both days given of which one is `*`.
    fn suggestion(&self) -> Option<String> {
        let mut fields: Vec<&str> = self.expression.split_ascii_whitespace().collect();
        if self.reason == CronParseErrorReason::MissingField && fields.len() == 5 {
            fields.insert(0, "0");
        } else if self.reason != CronParseErrorReason::BothDaysGiven {
            return None;
        }
        let (of_month, of_week) = (*fields.get(3)?, *fields.get(5)?);
        // Unix cron counts the days of the week from 0, and this syntax from 1.
        match (of_month, of_week) {
            (_, "*") => fields[5] = "?",
            ("*", days) if !days.contains(|c: char| c.is_ascii_digit()) => fields[3] = "?",
            _ => return None,
        }
        let suggestion = fields.join(" ");
        super::parse::parse(&suggestion).ok().map(|_| suggestion)
    }
}

impl fmt::Display for CronParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expression, field, span, reason } = self;
        // Control characters would shift the carets, so they are shown as blanks.
        let shown: String =
            expression.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let indent = expression[..span.start].chars().count();
        let carets = expression[span.clone()].chars().count().max(1);
        match (self.suggestion(), reason) {
            (None, _) => {
                writeln!(f, "cron expression, {field}: {reason}; valid are {}", field.valid())?
            }
            (Some(meant), CronParseErrorReason::MissingField) => writeln!(
                f,
                "cron expression has five fields, as in Unix cron, and here the seconds come first: \
                 write {meant:?}; valid are six fields, or seven with the year"
            )?,
            (Some(meant), _) => writeln!(
                f,
                "cron expression: {reason}: write {meant:?}; valid are a day of month or a day of week, \
                 and `?` as the other one"
            )?,
        }
        writeln!(f, "  {shown}")?;
        write!(f, "  {:indent$}{:^<carets$}", "", "")
    }
}
