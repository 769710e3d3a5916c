//! From text to items: one function for each shape that a field can have.

use std::ops::Range;

use super::day_rule::DayRule;
use super::error::{CronParseError, CronParseErrorReason as Reason};
use super::expression::CronCaveat;
use super::field::{CronField, Item, values};

/// The fields of an expression that is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) seconds: Vec<Item>,
    pub(crate) minutes: Vec<Item>,
    pub(crate) hours: Vec<Item>,
    pub(crate) days: DayRule,
    pub(crate) months: Vec<Item>,
    pub(crate) years: Vec<Item>,
}

/// A valid expression: its canonical text, what it says, and what Quartz ignores of it.
pub(crate) struct Parsed {
    pub(crate) text: String,
    pub(crate) fields: Fields,
    pub(crate) caveats: Vec<CronCaveat>,
}

/// Reads an expression.
pub(crate) fn parse(expression: &str) -> Result<Parsed, CronParseError> {
    // Bytes keep their places, so that spans are valid in what the caller gave.
    let upper = expression.to_ascii_uppercase();
    let tokens = Tokens::split(&upper);
    tokens.parse().map_err(|(field, Fault { span, reason })| CronParseError {
        expression: expression.to_owned(),
        field,
        span,
        reason,
    })
}

/// A wrong part of the expression.
struct Fault {
    span: Range<usize>,
    reason: Reason,
}

type Parse<T> = Result<T, Fault>;

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
        // Parity: Quartz 2.3.2 does not look at what follows the year.
        if let Some(ignored) = self.tokens.get(CronField::ALL.len()..).filter(|t| !t.is_empty()) {
            caveats.push(CronCaveat::IgnoredText(joined(ignored)));
        }
        Ok(Parsed { text: joined(&self.tokens), fields, caveats })
    }

    /// Reads one field with `read`, or says that it is missing.
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

    /// Reads the two fields of days, of which exactly one is `?`.
    fn days(&self, caveats: &mut Vec<CronCaveat>) -> Result<DayRule, (CronField, Fault)> {
        use CronField::{DayOfMonth, DayOfWeek};
        let of_month =
            self.field(DayOfMonth, |token| token.unless_open(|t| t.day_of_month(caveats)))?;
        // A month that is missing is the first fault from the left, so it is named first.
        self.field(CronField::Month, |_| Ok(()))?;
        let of_week = self.field(DayOfWeek, |token| token.unless_open(Cursor::day_of_week))?;
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

/// A part of the expression and how far it has been read. Upper case.
#[derive(Clone)]
struct Cursor<'a> {
    text: &'a str,
    /// Where the part begins in the expression.
    start: usize,
    /// How much of the part has been read.
    position: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn eat(&mut self, symbol: char) -> bool {
        let found = self.rest().starts_with(symbol);
        if found {
            self.position += symbol.len_utf8();
        }
        found
    }

    fn eat_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }

    /// A fault in what has been read since `from`.
    fn fault_since(&self, from: usize, reason: Reason) -> Fault {
        Fault { span: self.start + from..self.start + self.position, reason }
    }

    /// A fault in what has not been read.
    fn fault_in_rest(&self, reason: Reason) -> Fault {
        Fault { span: self.start + self.position..self.start + self.text.len(), reason }
    }

    fn fault_in_all(&self, reason: Reason) -> Fault {
        Fault { span: self.start..self.start + self.text.len(), reason }
    }

    /// Succeeds at the end of the part; a symbol that is out of place is named as such.
    fn end(&self) -> Parse<()> {
        let Some(next) = self.rest().chars().next() else { return Ok(()) };
        let reason = misplaced(next).unwrap_or(Reason::TrailingText(self.rest().to_owned()));
        Err(self.fault_in_rest(reason))
    }

    /// Reads a field of days: `None` if it is `?`.
    fn unless_open<T>(&mut self, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<Option<T>> {
        if self.text == "?" { Ok(None) } else { read(self).map(Some) }
    }

    /// The items between the commas.
    fn items(&self) -> Vec<Cursor<'a>> {
        let mut start = self.start;
        let items = self.text.split(',').map(|text| {
            let item = Cursor { text, start, position: 0 };
            start += text.len() + 1;
            item
        });
        items.collect()
    }

    /// `item { "," item }`.
    fn list(&mut self, field: CronField) -> Parse<Vec<Item>> {
        self.items().into_iter().map(|mut item| item.item(field)).collect()
    }

    /// `"L" ["-" n] ["W"] | item { "," item }`, where an item may also be `nW`.
    fn day_of_month(&mut self, caveats: &mut Vec<CronCaveat>) -> Parse<DayRule> {
        if self.text.contains('L') {
            return self.last_day();
        }
        let mut has_w = false;
        let mut items = Vec::new();
        for mut item in self.items() {
            let (item, is_w) = item.day_of_month_item()?;
            items.push(item);
            has_w |= is_w;
        }
        if !has_w {
            return Ok(DayRule::Days(items));
        }
        // Parity: Quartz 2.3.2 keeps one flag for `W` and applies it to the smallest day.
        let day = values(CronField::DayOfMonth, &items).trailing_zeros();
        if items.len() > 1 {
            caveats.push(CronCaveat::OnlySmallestDay { day });
        }
        Ok(DayRule::NearestWeekday { day })
    }

    /// `item | n "W"`, and whether it is the latter.
    fn day_of_month_item(&mut self) -> Parse<(Item, bool)> {
        let mut ahead = self.clone();
        if let Some(day) = ahead.number(CronField::DayOfMonth)?
            && ahead.eat('W')
        {
            ahead.end()?;
            return Ok((Item::One(day), true));
        }
        Ok((self.item(CronField::DayOfMonth)?, false))
    }

    /// `"L" ["-" n] ["W"]`.
    fn last_day(&mut self) -> Parse<DayRule> {
        if self.text.contains(',') {
            return Err(self.fault_in_all(Reason::SpecialInList));
        }
        if !self.eat('L') {
            return Err(self.fault_in_all(Reason::MisplacedL));
        }
        let before = if self.eat('-') { self.days_before_last()? } else { 0 };
        let rule = if self.eat('W') {
            DayRule::NearestWeekdayToLastDay { before }
        } else {
            DayRule::LastDay { before }
        };
        if self.rest().is_empty() { Ok(rule) } else { Err(self.fault_in_all(Reason::MisplacedL)) }
    }

    fn days_before_last(&mut self) -> Parse<u32> {
        const MAX: u32 = 30;
        let from = self.position;
        match self.integer()? {
            Some(before) if before > MAX => {
                Err(self.fault_since(from, Reason::LastDayOffset(before)))
            }
            Some(before) => Ok(before),
            None => Err(self.fault_in_all(Reason::MisplacedL)),
        }
    }

    /// `"L" | day "L" | day "#" k | item { "," item }`.
    fn day_of_week(&mut self) -> Parse<DayRule> {
        const LAST: u32 = 7;
        if !self.text.contains(['L', '#']) {
            return self.list(CronField::DayOfWeek).map(DayRule::Weekdays);
        }
        if self.text.contains(',') {
            return Err(self.fault_in_all(Reason::SpecialInList));
        }
        if self.text == "L" {
            // Parity: alone it is the last day of a week, every Saturday.
            return Ok(DayRule::Weekdays(vec![Item::One(LAST)]));
        }
        let special =
            if self.text.contains('#') { Reason::MisplacedHash } else { Reason::MisplacedL };
        let Some(weekday) = self.number_or_name(CronField::DayOfWeek, special.clone())? else {
            return Err(self.fault_in_all(special));
        };
        if self.eat('#') {
            return Ok(DayRule::NthWeekday { weekday, nth: self.nth()? });
        }
        if self.rest() == "L" {
            return Ok(DayRule::LastWeekday { weekday });
        }
        Err(self.fault_in_all(special))
    }

    /// The number after `#`, to the end.
    fn nth(&mut self) -> Parse<u32> {
        let from = self.position;
        match self.integer()? {
            Some(nth @ 1..=5) if self.rest().is_empty() => Ok(nth),
            _ => {
                self.position = from;
                Err(self.fault_in_rest(Reason::NthOutOfRange))
            }
        }
    }

    /// A day of the week in front of `L` or `#`; a word that ends in `L` is a name and the `L`.
    fn number_or_name(&mut self, field: CronField, otherwise: Reason) -> Parse<Option<u32>> {
        if let Some(value) = self.number(field)? {
            return Ok(Some(value));
        }
        let name =
            self.rest().get(..3).filter(|name| name.chars().all(|c| c.is_ascii_alphabetic()));
        let Some(name) = name else { return Err(self.fault_in_all(otherwise)) };
        self.position += name.len();
        match field.value_of_name(name) {
            Some(value) => Ok(Some(value)),
            None => Err(self.fault_since(0, Reason::UnknownName(name.to_owned(), field))),
        }
    }

    /// `"*" [step] | step | v [step] | v "-" v [step] | NAME ["-" NAME]`, to the end.
    fn item(&mut self, field: CronField) -> Parse<Item> {
        let item = self.item_start(field)?;
        self.end()?;
        Ok(item)
    }

    fn item_start(&mut self, field: CronField) -> Parse<Item> {
        if self.text.is_empty() {
            return Err(self.fault_in_all(Reason::EmptyItem));
        }
        if self.eat('*') || self.rest().starts_with('/') {
            let step = self.step(field.max_step())?.unwrap_or(1);
            return Ok(Item::Every { step });
        }
        if let Some(first) = self.number(field)? {
            return self.after_number(field, first);
        }
        if let Some(first) = self.name(field)? {
            return self.after_name(field, first);
        }
        let next = self.rest().chars().next().expect("the item is not empty and nothing is read");
        let reason = misplaced(next).unwrap_or(Reason::NotAValue(self.rest().to_owned()));
        Err(self.fault_in_rest(reason))
    }

    /// What may follow the first number of an item.
    fn after_number(&mut self, field: CronField, first: u32) -> Parse<Item> {
        if !self.eat('-') {
            let step = self.step(field.max_step())?;
            return Ok(step.map_or(Item::One(first), |step| Item::From { first, step }));
        }
        let Some(last) = self.number(field)? else {
            let next_is_name = self.rest().starts_with(|c: char| c.is_ascii_alphabetic());
            let reason = if next_is_name { Reason::MixedRange } else { Reason::MissingRangeEnd };
            return Err(self.fault_in_rest(reason));
        };
        if field == CronField::Year && last < first {
            return Err(self.fault_since(0, Reason::BackwardYears));
        }
        // Parity: the step in a range may be of any size.
        let step = self.step(None)?.unwrap_or(1);
        Ok(Item::Range { first, last, step })
    }

    /// What may follow the first name of an item.
    fn after_name(&mut self, field: CronField, first: u32) -> Parse<Item> {
        let item = if self.eat('-') {
            let Some(last) = self.name(field)? else {
                let next_is_digit = self.rest().starts_with(|c: char| c.is_ascii_digit());
                let reason =
                    if next_is_digit { Reason::MixedRange } else { Reason::MissingRangeEnd };
                return Err(self.fault_in_rest(reason));
            };
            Item::Range { first, last, step: 1 }
        } else {
            Item::One(first)
        };
        if self.rest().starts_with('/') {
            return Err(self.fault_in_rest(Reason::StepAfterName));
        }
        Ok(item)
    }

    /// `["/" n]`, at most `max`.
    fn step(&mut self, max: Option<u32>) -> Parse<Option<u32>> {
        let from = self.position;
        if !self.eat('/') {
            return Ok(None);
        }
        let Some(step) = self.integer()? else {
            self.position = from;
            return Err(self.fault_in_rest(Reason::MissingStep));
        };
        match max {
            Some(max) if step > max => {
                Err(self.fault_since(from, Reason::StepTooLarge { step, max }))
            }
            _ => Ok(Some(step)),
        }
    }

    /// A value of the field as a number, if one comes next.
    fn number(&mut self, field: CronField) -> Parse<Option<u32>> {
        let from = self.position;
        let Some(value) = self.integer()? else { return Ok(None) };
        let (min, max) = (field.min(), field.max());
        let reason = if !field.is_range_checked() {
            // Quartz would take these for `?` and `*`, so no meaning is safe.
            matches!(value, 98 | 99).then_some(Reason::ReservedNumber(value))
        } else {
            (value < min || value > max).then_some(Reason::OutOfRange { value, min, max })
        };
        match reason {
            Some(reason) => Err(self.fault_since(from, reason)),
            None => Ok(Some(value)),
        }
    }

    /// Digits, if any come next, as a number that Java's `int` can hold.
    fn integer(&mut self) -> Parse<Option<u32>> {
        let from = self.position;
        let digits = self.eat_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Ok(None);
        }
        match digits.parse::<i32>().ok().and_then(|value| u32::try_from(value).ok()) {
            Some(value) => Ok(Some(value)),
            None => Err(self.fault_since(from, Reason::NumberTooLarge)),
        }
    }

    /// A name of the field, if letters come next.
    fn name(&mut self, field: CronField) -> Parse<Option<u32>> {
        if field.names().is_empty() {
            return Ok(None);
        }
        let from = self.position;
        let name = self.eat_while(|c| c.is_ascii_alphabetic());
        let mut letters = name.chars();
        match (letters.next(), letters.next()) {
            (None, _) => Ok(None),
            (Some(letter), None) if misplaced(letter).is_some() => {
                self.position = from;
                Ok(None)
            }
            _ => match field.value_of_name(name) {
                Some(value) => Ok(Some(value)),
                None => Err(self.fault_since(from, Reason::UnknownName(name.to_owned(), field))),
            },
        }
    }
}

/// Why a symbol that is valid somewhere is not valid where it stands.
fn misplaced(symbol: char) -> Option<Reason> {
    match symbol {
        '?' => Some(Reason::MisplacedQuestionMark),
        'L' => Some(Reason::MisplacedL),
        'W' => Some(Reason::MisplacedW),
        '#' => Some(Reason::MisplacedHash),
        _ => None,
    }
}
