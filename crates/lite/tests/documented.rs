//! The tables of keys and of operator calls are complete, and the tests that they name exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Every key of ElasticJob-Lite 1.x, 2.1.5 and 3.x.
const KEYS: &str = "
    jobName jobClass jobType cron timeZone shardingTotalCount shardingItemParameters jobParameter description failover misfire
    monitorExecution maxTimeDiffSeconds reconcileIntervalMinutes monitorPort jobShardingStrategyClass jobShardingStrategyType
    job_exception_handler jobErrorHandlerType executor_service_handler jobExecutorServiceHandlerType
    jobExecutorThreadPoolSizeProviderType jobListenerTypes jobExtraConfigurations streamingProcess streaming.process
    scriptCommandLine script.command.line http.uri http.method http.data http.content.type
    http.connect.timeout.milliseconds http.read.timeout.milliseconds disabled overwrite label staticSharding fetchDataCount
    concurrentDataProcessThreadCount processCountIntervalSeconds email.* dingtalk.* wechat.* serverLists namespace
    baseSleepTimeMilliseconds maxSleepTimeMilliseconds maxRetries sessionTimeoutMilliseconds
    connectionTimeoutMilliseconds digest ensembleTracker elasticjob.tracing.type elasticjob.tracing.includeJobNames
    elasticjob.tracing.excludeJobNames elasticjob.dump.enabled elasticjob.dump.port
    elasticjob.preferred.network.interface elasticjob.preferred.network.ip";

/// Every call of the lifecycle APIs of 2.1.5 and 3.x.
const CALLS: &str = "
    trigger disable enable shutdown remove sharding get update getAllJobsBriefInfo getJobBriefInfo getJobsTotalCount
    getJobsBriefInfoByIp getAllServersBriefInfo getServersTotalCount getShardingInfo dump";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the rows of all tables of a page in `docs/coverage` whose last column is `test`, cell by
/// cell.
fn rows(page: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(workspace().join("docs/coverage").join(page)).unwrap();
    let (mut rows, mut in_table) = (Vec::new(), false);
    for line in text.lines() {
        let Some(inner) = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) else {
            in_table = false;
            continue;
        };
        let cells: Vec<String> = inner.split('|').map(|cell| cell.trim().to_owned()).collect();
        let is_rule = cells.iter().all(|cell| cell.starts_with("---"));
        if !in_table {
            in_table = cells.last().is_some_and(|last| last == "test");
        } else if !is_rule {
            rows.push(cells);
        }
    }
    assert!(!rows.is_empty(), "{page} has no table with tests");
    rows
}

/// Returns the texts between back-ticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Returns the names of all tests in a file.
fn tests_in(file: &Path) -> BTreeSet<String> {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (mut names, mut follows_test) = (BTreeSet::new(), false);
    for line in text.lines().map(str::trim) {
        follows_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        if follows_test && let Some(name) = function.and_then(|rest| rest.split('(').next()) {
            names.insert(name.to_owned());
            follows_test = false;
        }
    }
    names
}

/// Returns the error in the last cell of a row.
fn fault(cell: &str) -> Option<String> {
    let mut file: Option<PathBuf> = None;
    let mut n_tests = 0;
    for word in quoted(cell) {
        if word.ends_with(".rs") {
            file = Some(workspace().join("crates").join(word));
            continue;
        }
        let Some(file) = &file else { return Some(format!("{word} has no file before it")) };
        if !tests_in(file).contains(word) {
            return Some(format!("{} has no test {word}", file.display()));
        }
        n_tests += 1;
    }
    (n_tests == 0).then(|| "no test is named".to_owned())
}

#[test]
fn every_key_is_in_the_table_with_an_existing_test_or_a_reason() {
    let rows = rows("configuration.md");
    for row in &rows {
        assert_eq!(row.len(), 3, "{row:?}");
        let (keys, here, test) = (&row[0], &row[1], &row[2]);
        let is_left_out = here.starts_with("Left out: ");
        match fault(test) {
            Some(_) if is_left_out && test == "—" => {}
            Some(fault) => panic!("{keys}: {fault}"),
            None => {}
        }
    }
    let known: BTreeSet<&str> = rows.iter().flat_map(|row| quoted(&row[0])).collect();
    let missing: Vec<&str> = KEYS.split_whitespace().filter(|key| !known.contains(key)).collect();
    assert!(missing.is_empty(), "{missing:?} are in no table");
}

#[test]
fn every_call_is_in_the_table_with_an_existing_test() {
    let rows = rows("operations.md");
    for row in &rows {
        let fault = fault(row.last().unwrap());
        assert!(fault.is_none(), "{}: {}", row[0], fault.unwrap_or_default());
    }
    let known: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| quoted(&row[0]))
        .map(|call| call.split('(').next().unwrap_or(call))
        .collect();
    let text = rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>().join("\n");
    let is_missing = |call: &&str| !known.contains(call) && !text.contains(&format!("{call} `"));
    let missing: Vec<&str> = CALLS.split_whitespace().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?} are in no table");
}

#[test]
fn a_missing_test_is_reported() {
    let here = "`lite/tests/documented.rs`";
    let rows = [
        (format!("{here} `a_missing_test_is_reported`"), true),
        (format!("{here} `a_missing_test`"), false),
        (format!("{here} `tests_in`"), false),
        (here.to_owned(), false),
        ("`a_missing_test_is_reported`".to_owned(), false),
        ("—".to_owned(), false),
    ];
    for (cell, expected) in rows {
        assert_eq!(fault(&cell).is_none(), expected, "{cell}");
    }
}

/// Returns the code of the first Rust block of a page that is a whole program.
fn program_of(page: &str) -> &str {
    let (_, code) = page.split_once("```rust,no_run\n").unwrap();
    code.split_once("```").unwrap().0
}

#[test]
fn pages_have_the_programs_of_the_examples() {
    let rows = [
        (
            include_str!("../../../docs/tutorial.md"),
            include_str!("../../registry/examples/cron_job.rs"),
        ),
        (
            include_str!("../../../docs/how-to/write-a-strategy.md"),
            include_str!("../../sharding/examples/custom_strategy.rs"),
        ),
        (
            include_str!("../../../docs/testing-your-job.md"),
            include_str!("../../testkit/tests/billing.rs"),
        ),
    ];
    for (page, program) in rows {
        assert!(program.ends_with(&format!("\n\n{}", program_of(page))), "{program}");
    }
}
