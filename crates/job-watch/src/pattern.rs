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
        operations::matches_pattern(&self.0, name)
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
    fn impossible_names_are_rejected() {
        for text in ["", "a/b", "a@-@b", "a@-@*", "a/*", &"x".repeat(129), &"*".repeat(129)] {
            assert!(JobPattern::parse(text).is_err(), "{text}");
        }
    }
}
