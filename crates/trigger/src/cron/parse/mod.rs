//! Parser: the expression is split into tokens, one for each field.
//!
//! In reading order: `cursor` (reading of a token), `item` (lists, ranges and steps), `days` (forms
//! that only days have).

mod cursor;
mod days;
mod item;

use super::day_rule::DayRule;
use super::error::{CronParseError, CronParseErrorReason as Reason};
use super::expression::CronCaveat;
use super::field::{CronField, Item};

use cursor::{Cursor, Fault, Parse};

/// The fields of a valid expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) seconds: Vec<Item>,
    pub(crate) minutes: Vec<Item>,
    pub(crate) hours: Vec<Item>,
    pub(crate) days: DayRule,
    pub(crate) months: Vec<Item>,
    pub(crate) years: Vec<Item>,
}

/// A valid expression: its canonical text, its fields, and the parts that Quartz ignores.
pub(crate) struct Parsed {
    pub(crate) text: String,
    pub(crate) fields: Fields,
    pub(crate) caveats: Vec<CronCaveat>,
}

/// Parses an expression.
pub(crate) fn parse(expression: &str) -> Result<Parsed, CronParseError> {
    // ASCII upper case keeps byte positions, so that spans are valid in the caller's text.
    let upper = expression.to_ascii_uppercase();
    let tokens = Tokens::split(&upper);
    tokens.parse().map_err(|(field, Fault { span, reason })| CronParseError {
        expression: expression.to_owned(),
        field,
        span,
        reason,
    })
}

/// The expression, split at blanks and tabs.
struct Tokens<'a> {
    end: usize,
    tokens: Vec<Cursor<'a>>,
}

impl<'a> Tokens<'a> {
    fn split(text: &'a str) -> Tokens<'a> {
        let mut tokens = Vec::new();
        let mut start = 0;
        for part in text.split([' ', '\t']) {
            if !part.is_empty() {
                tokens.push(Cursor { text: part, start, position: 0 });
            }
            start += part.len() + 1;
        }
        Tokens { end: text.len(), tokens }
    }

    /// Parses all fields from left to right, so that the first error is reported.
    fn parse(&self) -> Result<Parsed, (CronField, Fault)> {
        let list = |field| self.field(field, |token| token.list(field));
        let mut caveats = Vec::new();
        let fields = Fields {
            seconds: list(CronField::Second)?,
            minutes: list(CronField::Minute)?,
            hours: list(CronField::Hour)?,
            days: self.days(&mut caveats)?,
            months: list(CronField::Month)?,
            years: match self.tokens.get(CronField::Year as usize) {
                Some(_) => list(CronField::Year)?,
                None => vec![Item::Every { step: 1 }],
            },
        };
        // Parity: Quartz 2.3.2 ignores everything after the year.
        if let Some(ignored) = self.tokens.get(CronField::ALL.len()..).filter(|t| !t.is_empty()) {
            caveats.push(CronCaveat::IgnoredText(joined(ignored)));
        }
        Ok(Parsed { text: joined(&self.tokens), fields, caveats })
    }

    /// Parses one field with `read`, or reports that it is missing.
    fn field<T>(
        &self,
        field: CronField,
        read: impl FnOnce(&mut Cursor<'a>) -> Parse<T>,
    ) -> Result<T, (CronField, Fault)> {
        let Some(token) = self.tokens.get(field as usize) else {
            let span = self.end..self.end;
            return Err((field, Fault { span, reason: Reason::MissingField }));
        };
        read(&mut token.clone()).map_err(|fault| (field, fault))
    }

    /// Parses the two fields of days, of which exactly one is `?`.
    fn days(&self, caveats: &mut Vec<CronCaveat>) -> Result<DayRule, (CronField, Fault)> {
        use CronField::{DayOfMonth, DayOfWeek};
        let of_month = self
            .field(DayOfMonth, |token| token.unless_question_mark(|t| t.day_of_month(caveats)))?;
        // A missing month comes before the day of week, so it is reported first.
        self.field(CronField::Month, |_| Ok(()))?;
        let of_week =
            self.field(DayOfWeek, |token| token.unless_question_mark(Cursor::day_of_week))?;
        let fault = |reason| self.field(DayOfWeek, |token| Err(token.fault_in_all(reason)));
        match (of_month, of_week) {
            (Some(rule), None) | (None, Some(rule)) => Ok(rule),
            (Some(_), Some(_)) => fault(Reason::BothDaysGiven),
            (None, None) => fault(Reason::NoDayGiven),
        }
    }
}

fn joined(tokens: &[Cursor<'_>]) -> String {
    tokens.iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
}
