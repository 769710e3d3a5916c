//! Times at which a schedule has no fires because its configuration excludes them.

use std::fmt;

use jiff::Timestamp;

use crate::calendar::Wall;
use crate::zone::Repeats;

use super::JobSchedule;

/// An exclusion that contains an instant, as displays show it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exclusion {
    /// The reason of the entry that excludes the instant, or the entry itself; `excluded day` for
    /// one of the excluded days.
    pub reason: String,
    /// First instant that no day or time excludes; `None` if there is none until the end of
    /// [`LAST_YEAR`](crate::LAST_YEAR).
    pub until: Option<Timestamp>,
}

/// Writes text such as `excluded: backup until 2026-03-07T22:00:00Z`.
impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Some(until) => write!(f, "excluded: {} until {until}", self.reason),
            None => write!(f, "excluded: {}, without end", self.reason),
        }
    }
}

impl JobSchedule {
    /// Returns the exclusion that contains an instant; `None` if nothing excludes it. Its end is
    /// that of all exclusions that follow each other without a gap.
    ///
    /// The period from `not_before` to `not_after` has no influence.
    #[must_use]
    pub fn exclusion_at(&self, at: Timestamp) -> Option<Exclusion> {
        // Instants outside of the years with fires are not excluded.
        self.zone.reading(at).day_and_second()?;
        let mut until = self.first_included(at);
        if until == Some(at) {
            return None;
        }
        while let Some(end) = until {
            let next = self.first_included(end);
            if next == until {
                break;
            }
            until = next;
        }
        Some(Exclusion { reason: self.reason_at(at), until })
    }

    /// Returns the end of an exclusion that contains an instant, or the instant itself if nothing
    /// excludes it. `None` if the exclusion has no end.
    pub(super) fn first_included(&self, at: Timestamp) -> Option<Timestamp> {
        let reading = self.zone.reading(at);
        if self.first_reading(reading)? != reading {
            // The wall clock finds the end of the exclusion: where clocks are set back across it,
            // an excluded reading returns for a moment.
            return self.zone.next_match(at, Repeats::Both, |from| self.first_reading(from));
        }
        let zoned = self.excluded_times.iter().flat_map(|times| times.zoned());
        for (zone, spans) in zoned {
            let reading = zone.reading(at);
            if spans.first_included(reading) != reading {
                let search = |from| Some(spans.first_included(from));
                return zone.next_match(at, Repeats::Both, search);
            }
        }
        Some(at)
    }

    /// Returns the first reading of the wall clock from `from` on that is not excluded.
    fn first_reading(&self, from: Wall) -> Option<Wall> {
        let mut from = from.max(Wall::FIRST);
        loop {
            let (day, _) = from.day_and_second()?;
            let included = self.excluded.as_ref().map_or(Some(day), |days| days.next_included(day));
            let included = included?;
            if included != day {
                from = Wall::new(included, 0);
            }
            match self.excluded_times.as_ref().and_then(|times| times.local_at(from)) {
                None => return Some(from),
                Some((end, _)) => from = end,
            }
        }
    }

    /// Returns the reason of an exclusion that contains an instant.
    fn reason_at(&self, at: Timestamp) -> String {
        let reading = self.zone.reading(at);
        let times = self.excluded_times.as_deref();
        let local = times.and_then(|times| times.local_at(reading)).map(|(_, reason)| reason);
        let mut zoned = times.into_iter().flat_map(|times| times.zoned());
        let reason =
            local.or_else(|| zoned.find_map(|(zone, spans)| spans.reason_at(zone.reading(at))));
        reason.unwrap_or("excluded day").to_owned()
    }
}
