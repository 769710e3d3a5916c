//! Verdicts about stories.

use checker::history::Fact;
use checker::{History, Options, Property, Report, Verdict, check};

use super::Story;

impl Story {
    /// Ends the story and judges it.
    pub(crate) fn judge(&mut self) -> Report {
        self.judge_with(&Options::default())
    }

    pub(crate) fn judge_with(&mut self, options: &Options) -> Report {
        if !self.records.iter().any(|record| record.fact == Fact::End) {
            self.says("nemesis", Fact::End);
        }
        check(&History::from_records(self.records.clone()), options)
    }
}

/// Returns the properties that a report lists as broken.
pub(crate) fn broken(report: &Report) -> Vec<Property> {
    let mut broken: Vec<_> = report.violations.iter().map(|violation| violation.property).collect();
    broken.sort();
    broken.dedup();
    broken
}

/// A row: a label, and the steps after a cluster of two instances and two items has started, at 2
/// s.
pub(crate) type Row = (&'static str, fn(&mut Story));

/// Asserts that each story breaks this property, and no property that is not listed.
pub(crate) fn assert_bad(property: Property, also: &[Property], rows: &[Row]) {
    assert!(rows.len() >= 3, "{property}: at least three bad stories");
    let wrong = |report: &Report| {
        let broken = broken(report);
        let unexpected = broken.iter().find(|p| **p != property && !also.contains(p));
        if !broken.contains(&property) {
            Some("not found".to_owned())
        } else if let Some(unexpected) = unexpected {
            Some(format!("{unexpected} as well"))
        } else if report.violations.iter().any(|violation| violation.window.is_empty()) {
            Some("a violation shows no records".to_owned())
        } else {
            (!report.problems.is_empty()).then(|| "the history has problems".to_owned())
        }
    };
    assert_all(property, rows, wrong);
}

/// Asserts that each story looks suspicious and is valid.
pub(crate) fn assert_good(property: Property, rows: &[Row]) {
    assert!(rows.len() >= 3, "{property}: at least three good stories");
    let wrong =
        |report: &Report| (report.verdict != Verdict::Valid).then(|| "not valid".to_owned());
    assert_all(property, rows, wrong);
}

/// Plays all stories and fails with the wrong verdicts.
fn assert_all(property: Property, rows: &[Row], wrong: impl Fn(&Report) -> Option<String>) {
    let failure = |(case, play): &Row| {
        let mut story = Story::cluster(2);
        play(&mut story);
        let report = story.judge();
        wrong(&report).map(|wrong| format!("{property}: {case}: {wrong}\n{report}"))
    };
    let failures: Vec<_> = rows.iter().filter_map(failure).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
