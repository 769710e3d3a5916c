//! Patterns of job names.

use std::fmt;

use coordination::{ID_DELIMITER, JobName, MAX_JOB_NAME_BYTES};

/// A job name, or a pattern in which `*` stands for any characters, also for none.
///
/// # Examples
/// ```
/// use job_watch::JobPattern;
///
/// let pattern = JobPattern::parse("report-*").unwrap();
/// assert!(pattern.matches("report-7") && !pattern.matches("export-7"));
/// assert!(pattern.exact().is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPattern(String);

impl JobPattern {
    /// Checks a pattern.
    ///
    /// # Errors
    /// The reason why no job can have such a name.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.contains('*') {
            JobName::new(text).map_err(|error| error.to_string())?;
        } else if text.len() > MAX_JOB_NAME_BYTES
            || text.contains(['/', '\0'])
            || text.contains(ID_DELIMITER)
        {
            return Err(format!("no job name of at most {MAX_JOB_NAME_BYTES} bytes matches it"));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the job that the pattern names exactly; `None` for a pattern with `*`.
    #[must_use]
    pub fn exact(&self) -> Option<JobName> {
        if self.0.contains('*') { None } else { JobName::new(&self.0).ok() }
    }

    /// Returns true if a job name matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let (first, rest) = match self.0.split_once('*') {
            None => return self.0 == name,
            Some(parts) => parts,
        };
        let Some(mut name) = name.strip_prefix(first) else { return false };
        let mut parts: Vec<&str> = rest.split('*').collect();
        let last = parts.pop().unwrap_or_default();
        // The leftmost match of each part leaves the most text for the later ones.
        for part in parts {
            match name.find(part) {
                Some(at) => name = &name[at + part.len()..],
                None => return false,
            }
        }
        name.ends_with(last)
    }
}

impl fmt::Display for JobPattern {
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
            ("*", "anything", true),
            ("*-nightly", "report-nightly", true),
            ("*-nightly", "report-nightly-2", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*aa", "aaa", true),
            ("a*aa", "aa", false),
            ("**", "x", true),
            ("月*", "月报", true),
        ];
        for (pattern, name, expected) in rows {
            let pattern = JobPattern::parse(pattern).unwrap();
            assert_eq!(pattern.matches(name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn impossible_names_are_rejected() {
        for text in ["", "a/b", "a@-@b", "a@-@*", "a/*", &"x".repeat(129), &"*".repeat(129)] {
            assert!(JobPattern::parse(text).is_err(), "{text}");
        }
    }
}
