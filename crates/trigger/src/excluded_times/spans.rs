//! Spans between two readings of a wall clock.

use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::tz::Offset;

use crate::calendar::Wall;

use super::error::ExcludedTimesErrorReason as Reason;

/// Readings from `start` to before `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(super) start: Wall,
    pub(super) end: Wall,
    pub(super) reason: Arc<str>,
}

impl Span {
    pub(super) fn new(start: Wall, end: Wall, reason: Arc<str>) -> Result<Span, Reason> {
        if start < end { Ok(Span { start, end, reason }) } else { Err(Reason::Backwards) }
    }
}

/// Spans in ascending order that do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spans(Vec<Span>);

impl Spans {
    /// Sorts spans. Where several overlap, the one that begins first gives the reason.
    pub(super) fn new(mut spans: Vec<Span>) -> Spans {
        spans.sort_by_key(|span| (span.start, span.end));
        let mut end = Wall(i64::MIN);
        spans.retain_mut(|span| {
            span.start = span.start.max(end);
            end = end.max(span.end);
            span.start < span.end
        });
        Spans(spans)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the span that contains a reading.
    pub(super) fn at(&self, reading: Wall) -> Option<&Span> {
        let place = self.0.partition_point(|span| span.end <= reading);
        self.0.get(place).filter(|span| span.start <= reading)
    }

    /// Returns the first reading from `from` on that is in no span.
    pub(crate) fn first_included(&self, from: Wall) -> Wall {
        let mut first = from;
        while let Some(span) = self.at(first) {
            first = span.end;
        }
        first
    }

    /// Returns the reason of the span that contains a reading.
    pub(crate) fn reason_at(&self, reading: Wall) -> Option<&str> {
        self.at(reading).map(|span| &*span.reason)
    }
}

/// Parses text such as `2026-12-24T18:00..2026-12-27T06:00`; `None` if it is no span.
pub(super) fn parse(text: &str) -> Option<Result<(Wall, Wall), Reason>> {
    let (start, end) = text.split_once("..")?;
    let is_time = |text: &str| text.contains('T') && text.starts_with(|c: char| c.is_ascii_digit());
    if !is_time(start) {
        return None;
    }
    let reading = |text: &str| date_and_time(text.trim()).ok_or(Reason::Unknown);
    Some(reading(start).and_then(|start| Ok((start, reading(end)?))))
}

/// Parses `YYYY-MM-DDTHH:MM` or `YYYY-MM-DDTHH:MM:SS`.
fn date_and_time(text: &str) -> Option<Wall> {
    // The parser of jiff accepts offsets and other forms of times, too.
    let form = "2026-12-24T18:00:00";
    let is_alike = |(byte, example): (u8, u8)| match example {
        digit if digit.is_ascii_digit() => byte.is_ascii_digit(),
        separator => byte == separator,
    };
    let is_form = matches!(text.len(), 16 | 19) && text.bytes().zip(form.bytes()).all(is_alike);
    if !is_form {
        return None;
    }
    let reading: DateTime = text.parse().ok()?;
    let wall = Wall(Offset::UTC.to_timestamp(reading).ok()?.as_second());
    wall.day_and_second().map(|_| wall)
}
