//! The change of the configuration since which items fail, by the history and the former
//! configurations.
//!
//! The note says what is known, and no more: the last success of the items began before the change,
//! and all of their runs that began after it failed. It does not say that the change is the cause.

use std::collections::BTreeMap;

use coordination::{FormerConfig, JobConfig, NodeKind};
use jiff::Timestamp;
use job_history::FireRecord;
use maud::{Markup, html};
use operations::{FieldChange, JobLine, JobSnapshot, differences, item_ranges};
use reg_center::Revision;

use crate::access::Permission;
use crate::pages::configure::config_value;
use crate::pages::cx::Cx;
use crate::pages::history::Past;

/// Outcomes of runs whose code failed. An interrupted run does not show whether it works.
const FAILED: [&str; 3] = ["failed", "panicked", "timed_out"];

/// A run that has succeeded or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    began: Timestamp,
    has_succeeded: bool,
}

/// Returns the runs of each item that have succeeded or failed, in the order of their starts.
fn runs(rows: &[FireRecord]) -> BTreeMap<u32, Vec<Run>> {
    let mut by_item: BTreeMap<u32, Vec<Run>> = BTreeMap::new();
    for row in rows {
        let (outcome, has_succeeded) = (row.outcome.as_str(), row.outcome.as_str() == "succeeded");
        let Some(began) = row.began.filter(|_| has_succeeded || FAILED.contains(&outcome)) else {
            continue;
        };
        by_item.entry(row.item.index()).or_default().push(Run { began, has_succeeded });
    }
    by_item.values_mut().for_each(|runs| runs.sort_unstable());
    by_item
}

/// Items that fail since the same changes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FailingSince {
    /// Indexes of the changes between the last success and the first failure, the oldest first.
    changes: Vec<usize>,
    items: Vec<u32>,
    /// Latest start of the last successful runs.
    last_success: Timestamp,
    /// Earliest start of the first failed runs.
    first_failure: Timestamp,
}

/// Returns the items that fail since a change; the largest group, if they fail since several ones.
///
/// `complete_from` is the time from which the history has all runs.
fn failing_since(
    runs: &BTreeMap<u32, Vec<Run>>,
    changes: &[Timestamp],
    complete_from: Timestamp,
) -> Option<FailingSince> {
    let mut groups: BTreeMap<Vec<usize>, FailingSince> = BTreeMap::new();
    for (item, runs) in runs {
        let Some((success, failure)) = turn(runs) else { continue };
        if success < complete_from {
            continue;
        }
        let between = |at: &Timestamp| success < *at && *at <= failure;
        let found = changes.iter().enumerate().filter(|(_, at)| between(at));
        let changes: Vec<usize> = found.map(|(index, _)| index).collect();
        if changes.is_empty() {
            continue;
        }
        let group = groups.entry(changes.clone()).or_insert_with(|| FailingSince {
            changes,
            items: Vec::new(),
            last_success: success,
            first_failure: failure,
        });
        group.items.push(*item);
        group.last_success = group.last_success.max(success);
        group.first_failure = group.first_failure.min(failure);
    }
    groups.into_values().max_by_key(|group| group.items.len())
}

/// Returns the start of an item's last successful run, and that of the first failed run after it.
/// `None` if its last run has succeeded, or none has.
fn turn(runs: &[Run]) -> Option<(Timestamp, Timestamp)> {
    let last_success = runs.iter().rposition(|run| run.has_succeeded)?;
    Some((runs.get(last_success)?.began, runs.get(last_success + 1)?.began))
}

/// A change of the configuration: the document before it, and the one after it.
struct Change<'a> {
    before: &'a FormerConfig,
    at: Timestamp,
    fields: Vec<FieldChange>,
    /// Revision of the configuration after the change; known for the last one.
    revision: Option<Revision>,
}

fn change<'a>(job: &JobSnapshot, all: &'a [FormerConfig], index: usize) -> Option<Change<'a>> {
    let before = all.get(index)?;
    let after: Option<JobConfig> = match all.get(index + 1) {
        Some(next) => job.restored(next).ok(),
        None => job.config().cloned(),
    };
    let pair = job.restored(before).ok().zip(after);
    let fields = pair.map(|(before, after)| differences(&before, &after)).unwrap_or_default();
    // One transaction writes the configuration and this log.
    let log = job.node(&NodeKind::FormerConfigs).filter(|_| index + 1 == all.len());
    let revision = log.map(|node| node.stat.modified);
    Some(Change {
        before,
        at: Timestamp::from_millisecond(before.replaced_ms).ok()?,
        fields,
        revision,
    })
}

/// Returns a note if items fail since a change of the configuration.
pub(super) fn note(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine, past: &Past) -> Markup {
    found(cx, job, line, past).unwrap_or_default()
}

fn found(cx: &Cx<'_>, job: &JobSnapshot, line: &JobLine, past: &Past) -> Option<Markup> {
    let Past::Fires(fires) = past else { return None };
    let all: Vec<FormerConfig> = job.former_configs().ok()?.iter().cloned().collect();
    let times = all.iter().map(|one| Timestamp::from_millisecond(one.replaced_ms));
    let times: Vec<Timestamp> = times.collect::<Result<_, _>>().ok()?;
    // A success may be among the records that the history lacks.
    let complete_from = fires.dropped.map_or(Timestamp::MIN, |dropped| dropped.last);
    let since = failing_since(&runs(&fires.rows), &times, complete_from)?;
    let (lang, zone) = (cx.lang(), line.time_zone.as_deref());
    let last = change(job, &all, *since.changes.last()?)?;
    let others = since.changes.len() - 1;
    let is_undone = is_in_force(job, last.before);
    let facts = html! {
        (lang.items_since(&item_ranges(&since.items))) " "
        (cx.time(since.last_success, zone)) (lang.first_failure_at()) " "
        (cx.time(since.first_failure, zone)) (lang.stop())
    };
    let name = line.job_name.as_str();
    Some(html! {
        section.why.bad #failing-since aria-label=(lang.configuration()) {
            div {
                b {
                    @match last.revision {
                        Some(revision) => (lang.failing_since_revision(&revision.to_string())),
                        None => (lang.failing_since_change()),
                    }
                    " " (cx.when(last.at, zone)) " " (lang.by_author(&last.before.who))
                }
                (lang.colon()) (last.before.why) (lang.stop()) " " (facts)
                @if others > 0 { " " (lang.n_other_changes(others)) }
                @if is_undone { " " (lang.change_is_undone()) }
                ul.plain {
                    @for FieldChange { field, from, to } in &last.fields {
                        li { code { (field) } (lang.colon()) (config_value(cx, field, from)) " → " (config_value(cx, field, to)) }
                    }
                }
            }
            div.acts {
                a.button href={ (cx.job(name)) "/configuration#former-title" } { (lang.former_configurations()) }
                @if !is_undone && cx.may(Permission::Configure, Some(name)) {
                    a.button href={ (cx.job(name)) "/configuration/restore?replaced=" (last.before.replaced_ms) } {
                        (lang.restore_before_change()) "…"
                    }
                }
            }
        }
    })
}

/// Returns true if the present configuration equals a former one.
fn is_in_force(job: &JobSnapshot, former: &FormerConfig) -> bool {
    let before = job.restored(former).ok();
    before
        .zip(job.config())
        .is_some_and(|(before, present)| differences(present, &before).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    /// Runs of items: the starts of those that succeeded, and of those that failed.
    type Runs<'a> = &'a [(&'a [i64], &'a [i64])];

    #[test]
    fn change_lies_between_the_last_success_and_the_first_failure() {
        // Runs of the items, times of changes, time from which the history is complete, and the
        // expected changes, items, last success and first failure.
        type Expected<'a> = Option<(&'a [usize], &'a [u32], i64, i64)>;
        type Row<'a> = (&'a str, Runs<'a>, &'a [i64], i64, Expected<'a>);
        let rows: [Row<'_>; 11] = [
            ("one change", &[(&[10, 20], &[30, 40])], &[25], 0, Some((&[0], &[0], 20, 30))),
            ("no change", &[(&[10, 20], &[30, 40])], &[], 0, None),
            ("changed before the last success", &[(&[10, 20], &[30])], &[15], 0, None),
            ("changed after the first failure", &[(&[10], &[20, 30])], &[25], 0, None),
            ("a success since", &[(&[10, 30], &[20])], &[15], 0, None),
            ("never succeeded", &[(&[], &[20, 30])], &[15], 0, None),
            ("the success may be lost", &[(&[10], &[30])], &[20], 11, None),
            ("a run at the time of the change", &[(&[20], &[30])], &[20], 0, None),
            (
                "several changes",
                &[(&[10], &[40])],
                &[5, 20, 30, 50],
                0,
                Some((&[1, 2], &[0], 10, 40)),
            ),
            (
                "most items",
                &[(&[10], &[20]), (&[30], &[41]), (&[31], &[42]), (&[33], &[])],
                &[15, 35],
                0,
                Some((&[1], &[1, 2], 31, 41)),
            ),
            ("no runs", &[(&[], &[])], &[15], 0, None),
        ];
        for (case, items, changes, complete_from, expected) in rows {
            let run = |has_succeeded| move |began: &i64| Run { began: at(*began), has_succeeded };
            let of_item = |(good, bad): &(&[i64], &[i64])| {
                let mut runs: Vec<Run> =
                    good.iter().map(run(true)).chain(bad.iter().map(run(false))).collect();
                runs.sort_unstable();
                runs
            };
            let runs = (0..).zip(items.iter().map(of_item)).collect();
            let changes: Vec<_> = changes.iter().map(|time| at(*time)).collect();
            let found = failing_since(&runs, &changes, at(complete_from));
            let expected = expected.map(|(changes, items, success, failure)| FailingSince {
                changes: changes.to_vec(),
                items: items.to_vec(),
                last_success: at(success),
                first_failure: at(failure),
            });
            assert_eq!(found, expected, "{case}");
        }
    }
}
