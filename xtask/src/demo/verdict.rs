//! Checks of the written results.

use std::collections::BTreeMap;
use std::fmt;

use super::results::{Acceptance, ItemResult, Results};

/// An item that a worker was running when it was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Victim {
    pub(super) worker: String,
    pub(super) item: u64,
    pub(super) token: u64,
}

/// Data that the checks compare.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    /// The true number of lines of each file.
    pub(super) lines: &'a BTreeMap<String, u64>,
    /// The true number of all lines, by `wc -l`.
    pub(super) wc_total: u64,
    /// The results of the workers.
    pub(super) results: &'a Results,
    /// The orphaned items of the killed worker, at least one.
    pub(super) victims: &'a [Victim],
    /// The names of the workers that were not killed.
    pub(super) survivors: &'a [String],
}

/// Expected and found value of a check, and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) what: String,
    pub(super) expected: String,
    pub(super) found: String,
    pub(super) holds: bool,
}

impl Check {
    fn equal(what: &str, expected: impl fmt::Display, found: impl fmt::Display) -> Check {
        let (expected, found) = (expected.to_string(), found.to_string());
        Check { what: what.to_owned(), holds: expected == found, expected, found }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.holds { "ok    " } else { "FAILED" };
        let Check { what, expected, found, .. } = self;
        write!(f, "{verdict}  {what:<42} expected {expected}, found {found}")
    }
}

/// Returns all checks. The demonstration succeeds if all of them hold.
pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let mut checks = vec![
        total_of_lines(evidence),
        total_by_wc(evidence),
        lines_of_each_file(evidence),
        files_in_one_item(evidence),
        one_acceptance_per_item(evidence),
        results_are_what_was_accepted(evidence),
    ];
    checks.extend(evidence.victims.iter().map(|victim| takeover(evidence, victim)));
    checks
}

fn total_of_lines(evidence: &Evidence<'_>) -> Check {
    let expected: u64 = evidence.lines.values().sum();
    Check::equal("lines in all results", expected, total(evidence.results))
}

fn total_by_wc(evidence: &Evidence<'_>) -> Check {
    Check::equal("lines in all results, by `wc -l`", evidence.wc_total, total(evidence.results))
}

fn total(results: &Results) -> u64 {
    results.items.values().flat_map(|item| &item.files).map(|file| file.lines).sum()
}

fn lines_of_each_file(evidence: &Evidence<'_>) -> Check {
    let files = evidence.results.items.values().flat_map(|item| &item.files);
    let wrong = files.filter(|file| evidence.lines.get(&file.path) != Some(&file.lines));
    let wrong = wrong.map(|file| match evidence.lines.get(&file.path) {
        Some(lines) => format!("{} has {lines}, not {}", file.path, file.lines),
        None => format!("{} does not exist", file.path),
    });
    Check::equal("files with a wrong number of lines", "none", list(wrong))
}

fn files_in_one_item(evidence: &Evidence<'_>) -> Check {
    let mut counted: BTreeMap<&str, Vec<String>> =
        evidence.lines.keys().map(|path| (path.as_str(), Vec::new())).collect();
    for ItemResult { item, token, files, .. } in evidence.results.items.values() {
        for file in files {
            let counts = counted.entry(&file.path).or_default();
            counts.push(format!("item {item} token {token}"));
        }
    }
    let wrong = counted.iter().filter(|(_, counts)| counts.len() != 1);
    let wrong = wrong.map(|(path, counts)| format!("{path} ({})", list(counts.iter().cloned())));
    Check::equal("files not counted under exactly one token", "none", list(wrong))
}

/// Checks that no item has two accepted writes, which would count its files twice.
fn one_acceptance_per_item(evidence: &Evidence<'_>) -> Check {
    let wrong = evidence.results.items.keys().filter_map(|item| {
        let tokens =
            acceptances(evidence.results, *item).map(|accepted| accepted.token.to_string());
        let tokens: Vec<String> = tokens.collect();
        (tokens.len() != 1).then(|| format!("item {item} (tokens: {})", list(tokens.into_iter())))
    });
    Check::equal("items not accepted exactly once", "none", list(wrong))
}

fn results_are_what_was_accepted(evidence: &Evidence<'_>) -> Check {
    let wrong = evidence.results.items.values().filter(|result| {
        acceptances(evidence.results, result.item).last() != Some(&acceptance_of(result))
    });
    let wrong = wrong.map(|result| format!("item {}", result.item));
    let orphans = evidence.results.accepted.iter().map(|accepted| accepted.item);
    let orphans = orphans.filter(|item| !evidence.results.items.contains_key(item));
    let orphans = orphans.map(|item| format!("item {item} without a result"));
    Check::equal("results that differ from accepted.log", "none", list(wrong.chain(orphans)))
}

/// Returns the line of `accepted.log` that belongs to a result.
fn acceptance_of(result: &ItemResult) -> Acceptance {
    Acceptance {
        item: result.item,
        token: result.token,
        instance: result.instance.clone(),
        source: result.source.clone(),
        n_files: result.files.len() as u64,
        n_lines: result.files.iter().map(|file| file.lines).sum(),
    }
}

fn acceptances(results: &Results, item: u64) -> impl Iterator<Item = &Acceptance> {
    results.accepted.iter().filter(move |accepted| accepted.item == item)
}

fn takeover(evidence: &Evidence<'_>, victim: &Victim) -> Check {
    let Victim { worker, item, token } = victim;
    let result = evidence.results.items.get(item);
    let found = result.map(|ItemResult { source, instance, token, .. }| {
        format!("{source} by {instance}, token {token}")
    });
    Check {
        what: format!("item {item}, orphaned by {worker}, token {token}"),
        expected: format!("FAILOVER by another worker, token above {token}"),
        found: found.unwrap_or_else(|| "no result".to_owned()),
        holds: result.is_some_and(|result| {
            result.source == "FAILOVER"
                && evidence.survivors.contains(&result.instance)
                && result.token > *token
        }),
    }
}

/// Joins the findings, or returns `none` without any.
fn list(found: impl Iterator<Item = String>) -> String {
    let found: Vec<String> = found.collect();
    if found.is_empty() { "none".to_owned() } else { found.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::super::results::FileResult;
    use super::*;

    fn item(
        item: u64,
        token: u64,
        instance: &str,
        source: &str,
        files: &[(&str, u64)],
    ) -> ItemResult {
        let files =
            files.iter().map(|(path, lines)| FileResult { path: (*path).into(), lines: *lines });
        ItemResult {
            item,
            token,
            instance: instance.into(),
            source: source.into(),
            total_items: 2,
            files: files.collect(),
        }
    }

    /// Returns two items of three files. worker-1 was killed in item 1, and worker-2 took it over.
    fn good() -> Results {
        let items = [
            item(0, 4, "worker-2", "NORMAL", &[("a", 10), ("b", 5)]),
            item(1, 6, "worker-2", "FAILOVER", &[("c", 7)]),
        ];
        let accepted = items.iter().map(acceptance_of).collect();
        Results { items: items.map(|item| (item.item, item)).into(), accepted, n_rejected: 0 }
    }

    fn failures(results: &Results) -> Vec<String> {
        let lines = [("a", 10), ("b", 5), ("c", 7)].map(|(path, lines)| (path.to_owned(), lines));
        let evidence = Evidence {
            lines: &lines.into(),
            wc_total: 22,
            results,
            victims: &[Victim { worker: "worker-1".into(), item: 1, token: 5 }],
            survivors: &["worker-2".to_owned(), "worker-3".to_owned()],
        };
        let failed = checks(&evidence).into_iter().filter(|check| !check.holds);
        failed.map(|check| format!("{}: {}", check.what, check.found)).collect()
    }

    #[test]
    fn correct_takeover_passes_every_check() {
        assert_eq!(failures(&good()), Vec::<String>::new());
    }

    /// A change that makes the good results wrong.
    type Fault = fn(&mut Results);

    /// Replaces an item's result, and the line of the log with it.
    fn replace(results: &mut Results, item: ItemResult) {
        results.accepted.retain(|accepted| accepted.item != item.item);
        results.accepted.push(acceptance_of(&item));
        results.items.insert(item.item, item);
    }

    #[test]
    fn every_fault_fails_a_check_that_names_it() {
        let rows: [(&str, Fault, &str); 11] = [
            (
                "a lost item",
                |r| drop(r.items.remove(&1)),
                "item 1, orphaned by worker-1, token 5: no result",
            ),
            (
                "a lost file",
                |r| replace(r, item(0, 4, "worker-2", "NORMAL", &[("a", 10)])),
                "files not counted under exactly one token: b (none)",
            ),
            (
                "a file counted twice",
                |r| replace(r, item(1, 6, "worker-2", "FAILOVER", &[("c", 7), ("b", 5)])),
                "files not counted under exactly one token: b (item 0 token 4, item 1 token 6)",
            ),
            (
                "a wrong count",
                |r| replace(r, item(1, 6, "worker-2", "FAILOVER", &[("c", 8)])),
                "files with a wrong number of lines: c has 7, not 8",
            ),
            (
                "a file that does not exist",
                |r| replace(r, item(1, 6, "worker-2", "FAILOVER", &[("c", 7), ("d", 0)])),
                "files with a wrong number of lines: d does not exist",
            ),
            (
                "an item accepted twice",
                |r| r.accepted.insert(0, r.accepted[1].clone()),
                "items not accepted exactly once: item 1 (tokens: 6, 6)",
            ),
            (
                "a result without an accepted write",
                |r| r.accepted.truncate(1),
                "results that differ from accepted.log: item 1",
            ),
            (
                "a stale write over the accepted one",
                |r| r.items.get_mut(&0).unwrap().token = 3,
                "results that differ from accepted.log: item 0",
            ),
            (
                "written by the killed worker",
                |r| replace(r, item(1, 6, "worker-1", "FAILOVER", &[("c", 7)])),
                "item 1, orphaned by worker-1, token 5: FAILOVER by worker-1, token 6",
            ),
            (
                "not a failover",
                |r| replace(r, item(1, 6, "worker-3", "NORMAL", &[("c", 7)])),
                "item 1, orphaned by worker-1, token 5: NORMAL by worker-3, token 6",
            ),
            (
                "the token did not grow",
                |r| replace(r, item(1, 5, "worker-3", "FAILOVER", &[("c", 7)])),
                "item 1, orphaned by worker-1, token 5: FAILOVER by worker-3, token 5",
            ),
        ];
        for (case, fault, expected) in rows {
            let mut results = good();
            fault(&mut results);
            let failures = failures(&results);
            assert!(failures.iter().any(|failure| failure == expected), "{case}: {failures:#?}");
        }
    }
}
