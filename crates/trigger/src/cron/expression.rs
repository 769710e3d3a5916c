//! `CronExpression`: a parsed text in the dialect of Quartz.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::calendar::Wall;

use super::describe;
use super::error::CronParseError;
use super::parse::{Fields, parse};
use super::pattern::Pattern;

/// A cron expression in the dialect of Quartz 2.3.2.
///
/// Six fields or seven, separated by blanks or tabs, in upper or lower case: second, minute, hour,
/// day of month, month, day of week and, optionally, year.
///
/// | field | values | besides `*`, `a-b`, `*/n`, `a/n`, `a-b/n` and lists `a,b` |
/// |---|---|---|
/// | second, minute | 0-59 | |
/// | hour | 0-23 | |
/// | day of month | 1-31 | `?`, `L`, `L-n`, `LW`, `L-nW`, `nW` |
/// | month | 1-12 or JAN-DEC | |
/// | day of week | 1-7 or SUN-SAT, **1 is Sunday** | `?`, `L`, `dL`, `d#k` |
/// | year | [1970](crate::FIRST_YEAR) to [2126](crate::LAST_YEAR) | |
///
/// - Exactly one of day of month and day of week is `?`.
/// - A range whose end is smaller wraps around: `FRI-MON`, `22-2`. Years do not wrap.
/// - `*/n` and `/n` count from the first value of the field, `a/n` from `a`; neither wraps. A step
///   of 0 selects only the first value, except in `*/0` and `/0`, which select all values.
/// - `L` is the last day of the month, `L-3` three days before it, `15W` the working day (Monday to
///   Friday) nearest to the 15th in the same month, `LW` the last working day. As day of week, `6L`
///   is the last Friday of the month, `6#3` the third one, and `L` alone is every Saturday.
/// - Days that a month does not have are ignored.
///
/// Equal expressions have equal canonical texts: `0  0 12 ? * mon` equals `0 0 12 ? * MON`.
///
/// # Differences from Quartz
///
/// Quartz ignores text after a complete item (`5X`, `MONDAY`), empty items (`1,,2`) and steps after
/// names (`MON-FRI/2`). It treats 99 as `*`, and accepts expressions whose evaluation throws or
/// never ends. This crate rejects all of these with a [`CronParseError`]. Two accidents of Quartz
/// are accepted, because they have a well-defined meaning; [`caveats`](Self::caveats) reports them.
///
/// # Examples
///
/// ```
/// use trigger::CronExpression;
///
/// let expression: CronExpression = "0 0/15 9-17 ? * mon-fri".parse()?;
/// assert_eq!(expression.to_string(), "0 0/15 9-17 ? * MON-FRI");
/// assert_eq!(
///     expression.description(),
///     "at second 0, every 15th minute from 0, hours 9 to 17, on Monday to Friday"
/// );
/// assert!(!expression.never_fires());
/// # Ok::<(), trigger::CronParseError>(())
/// ```
#[derive(Clone)]
pub struct CronExpression {
    text: String,
    fields: Fields,
    caveats: Vec<CronCaveat>,
    /// Behind a pointer to keep copies small: the pattern takes some hundred bytes.
    pattern: Arc<Pattern>,
}

/// A part of a valid expression that may not have the intended meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CronCaveat {
    /// Text after the year, which is ignored, as in Quartz 2.3.2.
    IgnoredText(String),
    /// A list of days of the month with a `W`: only the working day nearest to the smallest day is
    /// used, as in Quartz 2.3.2.
    OnlySmallestDay {
        /// The smallest day of the list.
        day: u32,
    },
    /// No date satisfies the expression, for example February 30th or a year before 1970.
    NeverFires,
}

impl fmt::Display for CronCaveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CronCaveat::IgnoredText(text) => write!(f, "`{text}` after the year has no effect"),
            CronCaveat::OnlySmallestDay { day } => {
                write!(f, "of the days of the month only {day}W has an effect")
            }
            CronCaveat::NeverFires => f.write_str("it never fires"),
        }
    }
}

impl CronExpression {
    /// Parses an expression; the same as `text.parse()`.
    ///
    /// # Errors
    ///
    /// [`CronParseError`] with the field, the position and the valid form.
    pub fn parse(text: &str) -> Result<CronExpression, CronParseError> {
        let parsed = parse(text)?;
        let pattern = Arc::new(Pattern::new(&parsed.fields));
        Ok(CronExpression {
            text: parsed.text,
            fields: parsed.fields,
            caveats: parsed.caveats,
            pattern,
        })
    }

    /// Returns the canonical text: upper case, one blank between fields. Parses to an equal
    /// expression.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the meaning of the expression in words.
    ///
    /// The words are for people and may change between versions.
    ///
    /// # Examples
    ///
    /// ```
    /// # use trigger::CronExpression;
    /// let words = |text| CronExpression::parse(text).map(|e| e.description());
    /// assert_eq!(
    ///     words("0 30 2 L-3W * ?")?,
    ///     "at 02:30:00, on the working day nearest to 3 days before the last day of the month"
    /// );
    /// assert_eq!(
    ///     words("0 0 8,20 ? 1,7 6L 2030")?,
    ///     "at 08:00:00 and 20:00:00, on the last Friday of the month, in January and July, \
    ///      in 2030"
    /// );
    /// assert_eq!(
    ///     words("0 0 0 30 2 ?")?,
    ///     "never (at 00:00:00, on day 30 of the month, in February)"
    /// );
    /// # Ok::<(), trigger::CronParseError>(())
    /// ```
    pub fn description(&self) -> String {
        let words = describe::fields(&self.fields);
        if self.never_fires() { format!("never ({words})") } else { words }
    }

    /// Returns true if no date from [`FIRST_YEAR`](crate::FIRST_YEAR) to
    /// [`LAST_YEAR`](crate::LAST_YEAR) satisfies the expression, such as `0 0 0 30 2 ?`.
    ///
    /// The result does not depend on a zone or on the present time.
    /// [`CronSchedule::never_fires`](crate::CronSchedule::never_fires) also detects that all fire
    /// times lie in gaps of its zone. For years in the past see `next_after`.
    pub fn never_fires(&self) -> bool {
        self.pattern.next_reading(Wall::FIRST).is_none()
    }

    /// Returns the caveats that a user should see although the expression is valid; empty in most
    /// cases.
    ///
    /// # Examples
    ///
    /// ```
    /// # use trigger::{CronCaveat, CronExpression};
    /// let caveats = |text| CronExpression::parse(text).map(|e| e.caveats());
    /// assert_eq!(caveats("0 0 12 * * ?")?, []);
    /// assert_eq!(caveats("0 0 12 15W,20 * ?")?, [CronCaveat::OnlySmallestDay { day: 15 }]);
    /// assert_eq!(caveats("0 0 0 31 4 ?")?, [CronCaveat::NeverFires]);
    /// # Ok::<(), trigger::CronParseError>(())
    /// ```
    pub fn caveats(&self) -> Vec<CronCaveat> {
        let never = self.never_fires().then_some(CronCaveat::NeverFires);
        self.caveats.iter().cloned().chain(never).collect()
    }

    pub(crate) fn pattern(&self) -> &Pattern {
        &self.pattern
    }
}

impl FromStr for CronExpression {
    type Err = CronParseError;

    fn from_str(text: &str) -> Result<CronExpression, CronParseError> {
        CronExpression::parse(text)
    }
}

impl fmt::Display for CronExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for CronExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CronExpression").field(&self.text).finish()
    }
}

impl PartialEq for CronExpression {
    fn eq(&self, other: &CronExpression) -> bool {
        self.text == other.text
    }
}

impl Eq for CronExpression {}

impl std::hash::Hash for CronExpression {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}
