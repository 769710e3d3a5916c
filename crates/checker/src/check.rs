//! Runs all passes over one history.

use crate::history::Fact;
use crate::input::History;
use crate::options::Options;
use crate::pass::Facts;
use crate::replay::Replay;
use crate::report::{Report, Verdict};
use crate::{Violation, integrity, pass, timeline};

/// Number of violations that are reported with their surrounding records. A longer list is not
/// readable.
const SHOWN: usize = 25;

/// Judges a history.
///
/// # Examples
/// ```
/// use checker::{History, Options, Verdict, check};
///
/// // A history without records proves nothing.
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
    let facts = Facts::new(records, &replay, options);
    let found = pass::run(&facts);
    problems.extend(found.problems);
    violations.extend(found.violations);
    violations.sort_by_key(|violation| violation.at);
    for violation in violations.iter_mut().take(SHOWN) {
        violation.window = timeline::window(records, violation);
    }
    let mut tally = replay.tally.clone();
    tally.add(&found.tally);
    let verdict = if !violations.is_empty() {
        Verdict::Invalid
    } else if !problems.is_empty() {
        Verdict::Unknown
    } else {
        Verdict::Valid
    };
    Report {
        verdict,
        run: run_name(history),
        records: records.len(),
        properties: Report::judged(&tally, &violations),
        violations,
        problems,
        coverage: found.coverage,
        metrics: found.metrics,
        notes: found.notes,
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
        None => "an unnamed run".to_owned(),
    }
}
