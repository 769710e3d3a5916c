//! A zone as a list of segments with a fixed offset. No other module handles clock changes.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use crate::calendar::{DAYS, SECONDS_PER_DAY, Wall};

use super::Repeats;

/// A period with a fixed offset: from `start`, in seconds since 1970-01-01T00:00:00Z, to the start
/// of the next segment, the wall clock is `offset` seconds ahead of UTC.
#[derive(Clone, Copy, Debug)]
struct Segment {
    start: i64,
    offset: i64,
}

/// All segments from before the first to after the last year with fires.
///
/// On the wall clock, the end of a segment and the start of the next one differ. If the start is
/// greater, a gap lies between them; if it is smaller, an overlap.
#[derive(Debug)]
pub(crate) struct Segments {
    segments: Box<[Segment]>,
    /// The segment at the begin of each stretch of 2^[`STRETCH_BITS`] seconds from 1970 on. From
    /// there it is one step, rarely two, to the segment of any second of the stretch.
    index: Box<[u16]>,
}

/// Size of a stretch as a power of two, in seconds. 2^23 seconds, 97 days, is about the length of
/// the shortest usual segment.
const STRETCH_BITS: u32 = 23;

impl Segments {
    pub(super) fn fixed(offset_seconds: i32) -> Segments {
        let only = Segment { start: i64::MIN, offset: offset_seconds.into() };
        Segments { segments: Box::new([only]), index: Box::new([0]) }
    }

    pub(super) fn of(zone: &TimeZone) -> Segments {
        // Some days more, because the wall clock of a zone may be ahead of UTC or behind.
        let margin = 7 * i64::from(SECONDS_PER_DAY);
        let first = Wall::FIRST.0 - margin;
        let end = Wall::new(DAYS, 0).0 + margin;
        let first = Timestamp::from_second(first).expect("1969 is a year of jiff's");

        let seconds = |offset: Offset| i64::from(offset.seconds());
        let mut segments =
            vec![Segment { start: i64::MIN, offset: seconds(zone.to_offset(first)) }];
        for change in zone.following(first) {
            let (start, offset) = (change.timestamp().as_second(), seconds(change.offset()));
            if start > end {
                break;
            }
            // Many changes concern only the name or the daylight flag.
            if segments.last().is_some_and(|before| before.offset != offset) {
                segments.push(Segment { start, offset });
            }
        }
        let index = index(&segments, end);
        Segments { segments: segments.into(), index }
    }

    /// Returns the reading of the wall clock at a second.
    pub(super) fn reading(&self, second: i64) -> Wall {
        Wall(second + self.segments[self.at(second)].offset)
    }

    /// Returns the first second from `second` on at which the wall clock shows a reading that
    /// `search` accepts.
    ///
    /// Within a segment the wall clock runs evenly, so one search finds the next match. If the
    /// match lies beyond the end of the segment, the search continues in the next segment, at its
    /// first reading. Gaps and overlaps matter only there. The loop ends with the last segment.
    pub(super) fn next_match(
        &self,
        second: i64,
        repeats: Repeats,
        search: impl Fn(Wall) -> Option<Wall>,
    ) -> Option<i64> {
        let mut place = self.at(second);
        let mut from = Wall(second + self.segments[place].offset);
        let mut found = search(from);
        loop {
            if let Some(wall) = found
                && self.end(place, repeats).is_none_or(|end| wall < end)
            {
                return Some(wall.0 - self.segments[place].offset);
            }
            place += 1;
            let start = self.start(place)?;
            let resume = match repeats {
                // Readings before `from` have already occurred.
                Repeats::LaterOfRemaining => start.max(from),
                Repeats::Later | Repeats::Both => start,
            };
            // No match lies between `from` and `found`, so a segment that begins there needs no new
            // search.
            let is_known = from <= resume && found.is_none_or(|wall| resume <= wall);
            if !is_known {
                found = search(resume);
            }
            from = resume;
        }
    }

    /// Returns the first reading of a segment; `None` beyond the last one.
    fn start(&self, place: usize) -> Option<Wall> {
        self.segments.get(place).map(|segment| Wall(segment.start + segment.offset))
    }

    /// Returns the exclusive end of the readings that count for a segment; `None` for the last one.
    fn end(&self, place: usize, repeats: Repeats) -> Option<Wall> {
        let next = self.segments.get(place + 1)?;
        let own = self.segments[place].offset;
        Some(Wall(
            next.start
                + match repeats {
                    // Readings that the next segment repeats count there.
                    Repeats::LaterOfRemaining | Repeats::Later => own.min(next.offset),
                    Repeats::Both => own,
                },
        ))
    }

    /// Returns the position of the segment of a second.
    fn at(&self, second: i64) -> usize {
        let stretch = usize::try_from(second >> STRETCH_BITS).unwrap_or(0);
        let mut place = usize::from(self.index[stretch.min(self.index.len() - 1)]);
        while self.segments.get(place + 1).is_some_and(|next| next.start <= second) {
            place += 1;
        }
        place
    }
}

/// Returns the segment at the begin of each stretch, up to `end`.
fn index(segments: &[Segment], end: i64) -> Box<[u16]> {
    let begins = (0..=end >> STRETCH_BITS).map(|stretch| stretch << STRETCH_BITS);
    let place = |begin| segments.partition_point(|segment| segment.start <= begin) - 1;
    begins
        .map(|begin| {
            u16::try_from(place(begin)).expect("no zone has more than 65535 clock changes")
        })
        .collect()
}

#[cfg(test)]
impl Segments {
    /// Returns true if the precondition of the search holds: successive overlaps do not touch each
    /// other.
    pub(super) fn are_in_order(&self) -> bool {
        let starts: Vec<_> =
            self.segments.iter().map(|s| (s.start, s.start.max(-1 << 40) + s.offset)).collect();
        starts.is_sorted()
    }
}
