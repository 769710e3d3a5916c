//! All passes over one history.

use std::collections::BTreeMap;

use crate::history::Fact;
use crate::input::History;
use crate::options::Options;
use crate::replay::Replay;
use crate::report::{Report, Verdict};
use crate::{Violation, integrity};

/// Judges a history.
///
/// # Examples
/// ```
/// use checker::{History, Options, Verdict, check};
///
/// // Nothing recorded shows nothing.
/// let report = check(&History::from_records(Vec::new()), &Options::default());
/// assert_eq!(report.verdict, Verdict::Unknown);
/// ```
#[must_use]
pub fn check(history: &History, options: &Options) -> Report {
    let records = history.records();
    let mut problems = history.problems().to_vec();
    problems.extend(integrity::problems(records));
    let mut replay = Replay::new(options.clone());
    let mut violations: Vec<Violation> = Vec::new();
    for record in records {
        violations.extend(replay.apply(record));
    }
    problems.extend(replay.problems().iter().cloned());
    violations.sort_by_key(|violation| violation.at);
    let verdict = match (violations.is_empty(), problems.is_empty()) {
        (false, _) => Verdict::Invalid,
        (true, false) => Verdict::Unknown,
        (true, true) => Verdict::Valid,
    };
    Report {
        verdict,
        run: run_name(history),
        records: records.len(),
        properties: Report::judged(&replay.tally, &violations),
        violations,
        problems,
        coverage: BTreeMap::new(),
        metrics: BTreeMap::new(),
        notes: Vec::new(),
    }
}

fn run_name(history: &History) -> String {
    let meta = history.records().iter().find_map(|record| match &record.fact {
        Fact::RunMeta { run, seed, backend, .. } => Some((run, seed, backend)),
        _ => None,
    });
    match meta {
        Some((run, Some(seed), backend)) => format!("{run}, seed {seed}, {backend}"),
        Some((run, None, backend)) => format!("{run}, {backend}"),
        None => "a run without a name".to_owned(),
    }
}
