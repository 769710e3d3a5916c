//! A token with a read position.

use std::ops::Range;

use crate::cron::error::CronParseErrorReason as Reason;

/// An invalid part of the expression.
pub(super) struct Fault {
    pub(super) span: Range<usize>,
    pub(super) reason: Reason,
}

pub(super) type Parse<T> = Result<T, Fault>;

/// A part of the expression in upper case, with a read position.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    /// Position of the part in the expression, in bytes.
    pub(super) start: usize,
    /// Number of bytes of the part that were read.
    pub(super) position: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    pub(super) fn eat(&mut self, symbol: char) -> bool {
        let found = self.rest().starts_with(symbol);
        if found {
            self.position += symbol.len_utf8();
        }
        found
    }

    pub(super) fn eat_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }

    /// Returns a fault that spans the text read since `from`.
    pub(super) fn fault_since(&self, from: usize, reason: Reason) -> Fault {
        Fault { span: self.start + from..self.start + self.position, reason }
    }

    /// Returns a fault that spans the unread text.
    pub(super) fn fault_in_rest(&self, reason: Reason) -> Fault {
        Fault { span: self.start + self.position..self.start + self.text.len(), reason }
    }

    pub(super) fn fault_in_all(&self, reason: Reason) -> Fault {
        Fault { span: self.start..self.start + self.text.len(), reason }
    }

    /// Succeeds at the end of the part; the error distinguishes a misplaced symbol from other text.
    pub(super) fn end(&self) -> Parse<()> {
        let Some(next) = self.rest().chars().next() else { return Ok(()) };
        let reason = misplaced(next).unwrap_or(Reason::TrailingText(self.rest().to_owned()));
        Err(self.fault_in_rest(reason))
    }

    /// Reads digits as a number that fits Java's `int`; `None` if no digit comes next.
    pub(super) fn integer(&mut self) -> Parse<Option<u32>> {
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
}

/// Returns the reason for a symbol that is valid elsewhere but not at its position.
pub(super) fn misplaced(symbol: char) -> Option<Reason> {
    match symbol {
        '?' => Some(Reason::MisplacedQuestionMark),
        'L' => Some(Reason::MisplacedL),
        'W' => Some(Reason::MisplacedW),
        '#' => Some(Reason::MisplacedHash),
        _ => None,
    }
}
