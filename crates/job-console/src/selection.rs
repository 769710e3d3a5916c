//! Selection of jobs and servers by name, as an address or a form has it.

use job_watch::JobPattern;
use operations::{Scope, ServerPattern};

/// Job names and patterns, separated by commas. `*` stands for any text, also for a comma.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection(Option<Vec<JobPattern>>);

impl Selection {
    /// Returns the selection of a text; of all jobs if it is absent or blank. A part that no job
    /// name can match selects none.
    pub(crate) fn of(text: Option<&str>) -> Self {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Self(None) };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Self(Some(parts.filter_map(|part| JobPattern::parse(part).ok()).collect()))
    }

    pub(crate) fn has(&self, job: &str) -> bool {
        let patterns = self.0.as_deref();
        patterns.is_none_or(|patterns| patterns.iter().any(|pattern| pattern.matches(job)))
    }
}

/// Returns the servers of all jobs whose address matches a pattern, or the fault of the pattern.
pub(crate) fn servers_of_all_jobs(text: &str) -> Result<Scope, String> {
    let pattern = ServerPattern::parse(text)
        .map_err(|valid| format!("servers is {text:?}; valid is {valid}"))?;
    Ok(Scope::matching(None, pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns_select_and_blank_selects_all() {
        for (text, job, expected) in [
            (None, "report", true),
            (Some(" "), "report", true),
            (Some("report"), "report", true),
            (Some("report"), "report-2", false),
            (Some("orders, report-*"), "report-2", true),
            (Some("orders, report-*,"), "orders", true),
            (Some("a*b"), "a,b", true),
            (Some("a/b"), "report", false),
            (Some(","), "report", false),
        ] {
            assert_eq!(Selection::of(text).has(job), expected, "{text:?} {job}");
        }
    }
}
