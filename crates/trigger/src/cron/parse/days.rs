//! Forms that only the fields of days have.

use crate::cron::day_rule::DayRule;
use crate::cron::error::CronParseErrorReason as Reason;
use crate::cron::expression::CronCaveat;
use crate::cron::field::{CronField, Item, values};

use super::cursor::{Cursor, Parse};

impl Cursor<'_> {
    /// Parses a field of days; `None` if it is `?`.
    pub(super) fn unless_question_mark<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Parse<T>,
    ) -> Parse<Option<T>> {
        if self.text == "?" { Ok(None) } else { read(self).map(Some) }
    }

    /// Parses `"L" ["-" n] ["W"] | item { "," item }`, where an item may also be `nW`.
    pub(super) fn day_of_month(&mut self, caveats: &mut Vec<CronCaveat>) -> Parse<DayRule> {
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

    /// Parses `item | n "W"`; the flag is true for the latter.
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

    /// Parses `"L" ["-" n] ["W"]`.
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

    /// Parses `"L" | day "L" | day "#" k | item { "," item }`.
    pub(super) fn day_of_week(&mut self) -> Parse<DayRule> {
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

    /// Parses the number after `#`, which must end the part.
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

    /// Parses a day of the week before `L` or `#`. A word that ends in `L` is a name followed by
    /// the `L`.
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
}
