//! Patterns of names: `*` stands for any characters.

use std::fmt;

use coordination::ServerIp;

/// Maximum length of a pattern of servers, in bytes: that of the longest IP address.
const MAX_BYTES: usize = 45;

/// Returns true if a pattern, in which `*` stands for any characters, also for none, matches a
/// whole name.
///
/// # Examples
/// ```
/// use operations::matches_pattern;
///
/// assert!(matches_pattern("report-*", "report-7") && !matches_pattern("report-*", "export-7"));
/// ```
#[must_use]
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    // The leftmost match of each part leaves the most text for the later ones.
    for part in parts {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(last)
}

/// IP address of a server, or a pattern such as `10.0.*`, as
/// [`matches_pattern`] reads it.
///
/// # Examples
/// ```
/// use coordination::ServerIp;
/// use operations::ServerPattern;
///
/// let pattern = ServerPattern::parse("10.0.*").expect("it is valid");
/// assert!(pattern.matches(&ServerIp::new("10.0.0.7")?));
/// assert!(pattern.exact().is_none());
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPattern(String);

impl ServerPattern {
    /// Checks a pattern.
    ///
    /// # Errors
    /// Description of valid patterns, if no IP address matches it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let is_pattern = text.contains('*') && text.len() <= MAX_BYTES;
        let is_of_ip = |byte: u8| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':' | b'*');
        let is_valid =
            if is_pattern { text.bytes().all(is_of_ip) } else { ServerIp::new(text).is_ok() };
        if is_valid { Ok(Self(text.to_owned())) } else { Err(Self::VALID) }
    }

    /// Description of valid patterns.
    pub const VALID: &'static str = "an IP address such as 10.0.0.7, or a pattern such as 10.0.*";

    /// Returns the server that the pattern names exactly; `None` for a pattern with `*`.
    #[must_use]
    pub fn exact(&self) -> Option<ServerIp> {
        if self.0.contains('*') { None } else { ServerIp::new(&self.0).ok() }
    }

    /// Returns true if a server matches.
    #[must_use]
    pub fn matches(&self, ip: &ServerIp) -> bool {
        matches_pattern(&self.0, ip.as_str())
    }
}

impl fmt::Display for ServerPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_stands_for_any_characters() {
        let rows = [
            ("report", "report", true),
            ("report", "report-7", false),
            ("report-*", "report-", true),
            ("report-*", "report", false),
            ("*", "", true),
            ("*", "anything", true),
            ("*-nightly", "report-nightly", true),
            ("*-nightly", "report-nightly-2", false),
            ("a*a", "a", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*aa", "aaa", true),
            ("a*aa", "aa", false),
            ("*b*", "abc", true),
            ("**", "x", true),
            ("月*", "月报", true),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn texts_that_match_no_address_are_rejected() {
        for text in ["", "host", "10.0.0", "10.0.*/x", "host-*", "10.0.0.999", &"*".repeat(46)] {
            assert_eq!(ServerPattern::parse(text), Err(ServerPattern::VALID), "{text}");
        }
        for text in ["*", "10.0.*", "2001:db8:*", "10.0.0.7", "::1"] {
            assert_eq!(ServerPattern::parse(text).unwrap().to_string(), text);
        }
    }
}
