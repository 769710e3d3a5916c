//! Time zones: names and wall clocks.

mod error;
mod parse;
mod segments;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;

use crate::calendar::Wall;

pub use error::{ZoneError, ZoneErrorReason};
pub(crate) use segments::Segments;

/// A time zone: one of the IANA database, or a fixed offset such as `GMT+8`.
///
/// The database is part of the program. The host's database and its local zone are never read, so
/// the same build gives the same fire times everywhere.
///
/// Cloning is cheap, and clones share the table of clock changes (some kilobytes). A process with
/// many schedules in a zone should parse the zone once.
///
/// # Examples
///
/// ```
/// use trigger::Zone;
///
/// assert_eq!(Zone::parse("asia/shanghai")?.to_string(), "Asia/Shanghai");
/// assert_eq!(Zone::parse("GMT+8")?, Zone::parse("GMT+08:00")?);
/// assert_eq!(
///     Zone::parse("Shanghai").unwrap_err().to_string(),
///     "time zone is \"Shanghai\"; valid is an IANA name such as Asia/Shanghai, or an offset \
///      such as GMT+08:00; did you mean Asia/Shanghai?"
/// );
/// # Ok::<(), trigger::ZoneError>(())
/// ```
#[derive(Clone)]
pub struct Zone(Arc<Inner>);

struct Inner {
    name: String,
    segments: Segments,
}

/// Rule for a fire time that occurs twice on the wall clock, because clocks go back.
///
/// ```text
/// wall clock  00:30  01:00  01:30  01:00  01:30  02:00   (New York, 2026-11-01, `0 0/30 * * * ?`)
///                    |--- first -| |-- second -|
/// Later         x                    x      x      x
/// Both          x      x      x      x      x      x
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OverlapPolicy {
    /// Fires once, at the second occurrence, as Quartz does. A job that runs every few minutes is
    /// silent during the first half of an overlap.
    #[default]
    Later,
    /// Fires at each occurrence. Suits jobs that run every hour or more often. A job that runs at a
    /// fixed time inside the overlap runs twice on that day.
    Both,
}

/// Rule of a search for readings that occur twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// The later occurrence counts, and only of readings from that of the first instant on. This is
    /// Quartz's search: from the first pass of an overlap, it does not find readings before the
    /// present one, which the second pass repeats.
    LaterOfRemaining,
    /// The later occurrence counts.
    Later,
    /// Each occurrence counts.
    Both,
}

impl OverlapPolicy {
    /// Returns the rule of Quartz's search.
    pub(crate) fn of_remaining(self) -> Repeats {
        match self {
            OverlapPolicy::Later => Repeats::LaterOfRemaining,
            OverlapPolicy::Both => Repeats::Both,
        }
    }

    /// Returns the rule of a search whose result depends only on the instant.
    pub(crate) fn of_instant(self) -> Repeats {
        match self {
            OverlapPolicy::Later => Repeats::Later,
            OverlapPolicy::Both => Repeats::Both,
        }
    }
}

impl Zone {
    /// Returns Coordinated Universal Time.
    pub fn utc() -> Zone {
        Zone::fixed("UTC", 0)
    }

    /// Returns the zone of a name of the IANA database, or of an offset in Java's form: `GMT+8`,
    /// `GMT-03:30`, `GMT+0530`. Case is ignored.
    ///
    /// A positive offset is east of Greenwich, as in Java and ISO 8601. Caution: the database has
    /// names with the opposite sign, and `Etc/GMT+8` is eight hours *west*.
    ///
    /// # Errors
    ///
    /// [`ZoneError`] if there is no such zone. (Java silently uses GMT instead.)
    pub fn parse(name: &str) -> Result<Zone, ZoneError> {
        parse::parse(name)
    }

    fn fixed(name: impl Into<String>, offset_seconds: i32) -> Zone {
        Zone(Arc::new(Inner { name: name.into(), segments: Segments::fixed(offset_seconds) }))
    }

    /// Returns the canonical name: that of the database, or `GMT+08:00`. Parses to an equal zone.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the reading of the wall clock at the second of `at`.
    pub(crate) fn reading(&self, at: Timestamp) -> Wall {
        self.0.segments.reading(floor_second(at))
    }

    /// Returns the instant at which the wall clock shows a reading, the later one if it occurs
    /// twice; `None` if clocks skip it.
    pub(crate) fn instant_of(&self, wanted: Wall) -> Option<Timestamp> {
        let search = |from: Wall| (from <= wanted).then_some(wanted);
        self.next_match(Timestamp::MIN, Repeats::Later, search)
    }

    /// Returns the first instant after `after` at which the wall clock shows a reading that
    /// `search` accepts.
    ///
    /// `search` returns the smallest accepted reading that is not before the given one.
    pub(crate) fn next_match(
        &self,
        after: Timestamp,
        repeats: Repeats,
        search: impl Fn(Wall) -> Option<Wall>,
    ) -> Option<Timestamp> {
        let second = self.0.segments.next_match(floor_second(after) + 1, repeats, search)?;
        Timestamp::from_second(second).ok()
    }
}

/// Returns the second that contains an instant. `as_second` rounds up before 1970.
fn floor_second(at: Timestamp) -> i64 {
    at.as_second() - i64::from(at.subsec_nanosecond() < 0)
}

impl FromStr for Zone {
    type Err = ZoneError;

    fn from_str(name: &str) -> Result<Zone, ZoneError> {
        Zone::parse(name)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zone").field(&self.name()).finish()
    }
}

/// Zones are equal if they have the same name.
impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Zone {}
