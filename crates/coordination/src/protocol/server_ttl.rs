//! Time to live of servers without instances.

use std::fmt;
use std::time::Duration;

/// Default of [`ServerTtl`], in seconds: a day.
pub const DEFAULT_SERVER_TTL_SECONDS: u32 = 24 * 60 * 60;

/// Minimum of [`ServerTtl`], in seconds. A shorter time would remove servers whose process is being
/// restarted.
pub const MIN_SERVER_TTL_SECONDS: u32 = 60;

/// Suffixes of times with their seconds, largest first.
const UNITS: [(char, u32); 4] = [('d', 24 * 60 * 60), ('h', 60 * 60), ('m', 60), ('s', 1)];

/// Time after which the leader removes the server of a job that has had no instance.
///
/// # Examples
/// ```
/// use coordination::ServerTtl;
///
/// assert_eq!(ServerTtl::default().to_string(), "1d");
/// assert_eq!(ServerTtl::parse("90m"), Some(ServerTtl::Enabled(5_400)));
/// assert_eq!(ServerTtl::parse("7d all").map(|ttl| ttl.to_string()).as_deref(), Some("7d all"));
/// assert_eq!(ServerTtl::parse("soon"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerTtl {
    /// Servers stay until an operator removes them.
    Off,
    /// Enabled servers are removed after this number of seconds. Disabled and paused servers stay,
    /// and so do all servers while the configuration disables those that join.
    Enabled(u32),
    /// All servers are removed after this number of seconds, disabled and paused ones included.
    All(u32),
}

impl Default for ServerTtl {
    fn default() -> Self {
        Self::Enabled(DEFAULT_SERVER_TTL_SECONDS)
    }
}

impl ServerTtl {
    /// Description of valid texts.
    pub const VALID: &'static str = "off, or a time of at least 1m such as 90m, 24h or 7d, followed by \" all\" if disabled and \
         paused servers are removed, too";

    /// Parses a text: `off`, or a whole number with a unit (`s`, `m`, `h` or `d`), such as `24h`,
    /// and the word `all` after it for [`All`](Self::All). `None` for other texts.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "off" {
            return Some(Self::Off);
        }
        let (time, make): (&str, fn(u32) -> Self) = match text.strip_suffix(" all") {
            Some(time) => (time, Self::All),
            None => (text, Self::Enabled),
        };
        let (unit, seconds) = UNITS.iter().find(|(unit, _)| time.ends_with(*unit))?;
        let number = time.strip_suffix(*unit).filter(|n| n.bytes().all(|b| b.is_ascii_digit()))?;
        number.parse::<u32>().ok()?.checked_mul(*seconds).map(make)
    }

    /// Returns the time; `None` if servers stay.
    #[must_use]
    pub fn time(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Enabled(seconds) | Self::All(seconds) => {
                Some(Duration::from_secs(seconds.into()))
            }
        }
    }

    /// Returns true if the time is long enough.
    pub(crate) fn is_valid(self) -> bool {
        self.time().is_none_or(|time| time.as_secs() >= MIN_SERVER_TTL_SECONDS.into())
    }
}

impl fmt::Display for ServerTtl {
    /// Writes the text that [`parse`](Self::parse) reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, suffix) = match self {
            Self::Off => return f.write_str("off"),
            Self::Enabled(seconds) => (*seconds, ""),
            Self::All(seconds) => (*seconds, " all"),
        };
        let fits = |(_, unit): &&(char, u32)| seconds.is_multiple_of(*unit);
        let (name, unit) = UNITS.iter().find(fits).unwrap_or(&('s', 1));
        write!(f, "{}{name}{suffix}", seconds / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_it_is_written() {
        for ttl in [
            ServerTtl::Off,
            ServerTtl::Enabled(60),
            ServerTtl::Enabled(5_400),
            ServerTtl::All(7 * 24 * 60 * 60),
            ServerTtl::All(61),
            ServerTtl::Enabled(u32::MAX),
        ] {
            assert_eq!(ServerTtl::parse(&ttl.to_string()), Some(ttl), "{ttl}");
        }
    }

    #[test]
    fn texts_that_are_no_time_are_rejected() {
        for text in [
            "",
            "1",
            "d",
            "1 d",
            "-1d",
            "+1d",
            "1.5h",
            "1w",
            "all",
            "1dall",
            "4294967296s",
            "99999d",
        ] {
            assert_eq!(ServerTtl::parse(text), None, "{text}");
        }
    }

    #[test]
    fn time_below_the_minimum_is_invalid() {
        for (ttl, valid) in [
            (ServerTtl::Off, true),
            (ServerTtl::Enabled(MIN_SERVER_TTL_SECONDS), true),
            (ServerTtl::Enabled(MIN_SERVER_TTL_SECONDS - 1), false),
            (ServerTtl::All(0), false),
        ] {
            assert_eq!(ttl.is_valid(), valid, "{ttl}");
        }
    }
}
