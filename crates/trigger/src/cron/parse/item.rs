//! Lists, ranges and steps, which are common to all fields.

use crate::cron::error::CronParseErrorReason as Reason;
use crate::cron::field::{CronField, Item};

use super::cursor::{Cursor, Parse, misplaced};

impl<'a> Cursor<'a> {
    /// Splits the part at its commas.
    pub(super) fn items(&self) -> Vec<Cursor<'a>> {
        let mut start = self.start;
        let items = self.text.split(',').map(|text| {
            let item = Cursor { text, start, position: 0 };
            start += text.len() + 1;
            item
        });
        items.collect()
    }

    /// Parses `item { "," item }`.
    pub(super) fn list(&mut self, field: CronField) -> Parse<Vec<Item>> {
        self.items().into_iter().map(|mut item| item.item(field)).collect()
    }

    /// Parses `"*" [step] | step | v [step] | v "-" v [step] | NAME ["-" NAME]`, which must end the
    /// part.
    pub(super) fn item(&mut self, field: CronField) -> Parse<Item> {
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
        let next =
            self.rest().chars().next().expect("the item is not empty, and no character was read");
        let reason = misplaced(next).unwrap_or(Reason::NotAValue(self.rest().to_owned()));
        Err(self.fault_in_rest(reason))
    }

    /// Parses the part of an item after its first number.
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

    /// Parses the part of an item after its first name.
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

    /// Parses `["/" n]` with `n` at most `max`.
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

    /// Parses a value of the field, if a number comes next.
    pub(super) fn number(&mut self, field: CronField) -> Parse<Option<u32>> {
        let from = self.position;
        let Some(value) = self.integer()? else { return Ok(None) };
        let (min, max) = (field.min(), field.max());
        let reason = if !field.is_range_checked() {
            // Quartz would treat these as `?` and `*`, so no meaning is safe.
            matches!(value, 98 | 99).then_some(Reason::ReservedNumber(value))
        } else {
            (value < min || value > max).then_some(Reason::OutOfRange { value, min, max })
        };
        match reason {
            Some(reason) => Err(self.fault_since(from, reason)),
            None => Ok(Some(value)),
        }
    }

    /// Parses a name of the field, if letters come next.
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
