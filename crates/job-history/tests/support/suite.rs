//! Suite that every kind of store must pass. Each kind has a test file, which sets up the store and
//! reads its tables directly.

use std::collections::BTreeMap;
use std::time::Duration;

use coordination::{AuditSubject, JobEvent, MissReason, Outcome, RunSource};
use futures_util::future::{BoxFuture, join_all};
use jiff::Timestamp;
use job_history::{
    AuditQuery, Error, EventQuery, FireOutcome, FirePage, FireQuery, FireRecord, History,
    HistoryOptions, HistorySubscriber, JavaFailures, OutputQuery,
};
use lite::{EventSubscriber as _, OutputLine, OutputStream};

use super::{DEADLINE, Publisher, Run, at, fire, instance, item, open};

/// Time after which a writer gives up a connection to a killed server, and tries again.
const OUTAGE: Duration = Duration::from_secs(5);

/// Reads columns of a table as texts, ordered by the first two columns.
pub(crate) type Dump =
    Box<dyn Fn(&'static str, &'static [&'static str]) -> BoxFuture<'static, Vec<Vec<String>>>>;

/// Runs a statement.
pub(crate) type Execute = Box<dyn Fn(String) -> BoxFuture<'static, ()>>;

/// An empty store.
pub(crate) struct TestStore {
    pub(crate) execute: Execute,
    pub(crate) options: HistoryOptions,
    pub(crate) dump: Dump,
    /// Converts a time of day with milliseconds to the form in ElasticJob's tables.
    pub(crate) time: fn(&str) -> String,
    /// Converts a boolean to the form in ElasticJob's tables.
    pub(crate) truth: fn(bool) -> String,
}

/// Runs all tests of the suite in order, in one store.
pub(crate) async fn all(store: &TestStore) {
    concurrent_opens_migrate_each_step_once(store).await;
    each_fire_has_one_outcome_in_any_order_of_writes(store).await;
    gap_has_the_reason_of_an_instance_that_missed_its_fires(store).await;
    runs_of_a_backfill_keep_their_past_fire(store).await;
    elasticjob_tables_have_all_runs_and_states(store).await;
    events_are_stored_with_kind_and_text(store).await;
    run_without_recorded_end_becomes_unknown(store).await;
    runs_of_an_item_at_once_have_a_row_each(store).await;
    pages_and_counts_match_the_query(store).await;
    concurrent_writers_of_a_fire_lose_no_fact(store).await;
    #[cfg(feature = "verify")]
    verification_finds_two_completed_runs(store).await;
    special_and_long_texts_are_stored(store).await;
    times_beyond_the_java_columns_are_stored(store).await;
    output_has_the_first_and_last_lines_of_a_run(store).await;
    ends_of_java_runs_are_found(store).await;
    audited_changes_are_stored_once(store).await;
    audited_changes_of_groups_are_apart_from_those_of_jobs(store).await;
    only_old_rows_are_pruned(store).await;
}

async fn concurrent_opens_migrate_each_step_once(store: &TestStore) {
    let opened = join_all((0..8).map(|_| History::open(store.options.clone()))).await;
    for history in opened {
        history.unwrap().close(DEADLINE).await.unwrap();
    }
    let versions = (store.dump)("ejob_history_version", &["version"]).await;
    assert_eq!(
        versions,
        [["1"], ["2"], ["3"], ["4"], ["5"], ["6"], ["7"]],
        "each step must be applied once"
    );
}

fn publisher(
    history: &History,
    job: &'static str,
    instance_number: u8,
) -> Publisher<HistorySubscriber> {
    Publisher { subscriber: history.subscriber(), job, instance_number }
}

fn run(item: u32, fire: i64, source: RunSource, token: u64) -> Run {
    Run { item, fire, source, token }
}

async fn fires_of(history: &History, job: &str) -> Vec<FireRecord> {
    history.fires(&FireQuery::default().job(job), 1_000, None).await.unwrap().fires
}

/// One row of a table of fires: item, seconds after noon, outcome, source, token, instance, began,
/// ended, reason.
type Row = (u32, i64, String, &'static str, u64, String, i64, i64, String);

fn row(fire: &FireRecord) -> Row {
    let ms =
        |time: Option<jiff::Timestamp>| time.map_or(-1, |time| time.as_millisecond() - super::NOON);
    (
        fire.item.index(),
        (fire.fire.as_millisecond() - super::NOON) / 1_000,
        fire.outcome.to_string(),
        fire.source.map_or("", RunSource::as_str),
        fire.token.map_or(0, |token| token.0),
        fire.instance.as_ref().map(ToString::to_string).unwrap_or_default(),
        ms(fire.began),
        ms(fire.ended),
        fire.reason.clone().unwrap_or_default(),
    )
}

/// Covers all outcomes, with records of two instances. In the second round the records of the
/// instance that takes over are stored first.
async fn each_fire_has_one_outcome_in_any_order_of_writes(store: &TestStore) {
    use RunSource::{Failover, Misfire, Normal};
    for (job, later_first) in [("in-order", false), ("out-of-order", true)] {
        let (one, two) = (open(store.options.clone()).await, open(store.options.clone()).await);
        let (a, b) = (publisher(&one, job, 1), publisher(&two, job, 2));
        let first = || {
            let ok = run(0, 0, Normal, 1);
            a.claims(10, ok);
            a.ends((11, 900), ok, Outcome::Succeeded, "");
            a.settles(950, ok, Outcome::Succeeded);
            let bad = run(1, 0, Normal, 1);
            a.claims(10, bad);
            a.ends((12, 800), bad, Outcome::Failed, "the disk is full");
            a.settles(950, bad, Outcome::Failed);
            a.misses(10_000, 0, 10_000, MissReason::ItemDisabled);
            a.claims(20_010, run(0, 20_000, Normal, 2));
            a.misfires(30_000, 0, 30_000);
            a.misfires(40_000, 0, 40_000);
            a.claims(20_010, run(2, 20_000, Normal, 4));
        };
        let second = || {
            b.finds_orphan(45_000, 0, 20_000, 1, true);
            let taken = run(0, 20_000, Failover, 3);
            b.claims(45_100, taken);
            b.ends((45_101, 45_200), taken, Outcome::Succeeded, "");
            b.settles(45_300, taken, Outcome::Succeeded);
            b.claims(45_400, run(0, 40_000, Misfire, 4));
            b.finds_orphan(45_000, 2, 20_000, 1, false);
            b.finds_gap(60_000, 1, 10_000, 60_000);
        };
        if later_first {
            second();
            two.flush(DEADLINE).await.unwrap();
            first();
        } else {
            first();
            one.flush(DEADLINE).await.unwrap();
            second();
        }
        one.close(DEADLINE).await.unwrap();
        two.flush(DEADLINE).await.unwrap();
        // A repeated record, as after a transaction with an unknown outcome.
        b.finds_orphan(45_000, 0, 20_000, 1, true);
        two.flush(DEADLINE).await.unwrap();

        let (ip1, ip2) = ("10.0.0.1@-@1".to_owned(), "10.0.0.2@-@2".to_owned());
        let text = str::to_owned;
        let expected: Vec<Row> = vec![
            (0, 40, text("running"), "MISFIRE", 4, ip2.clone(), 45_400, -1, text("")),
            (
                0,
                30,
                text("misfired"),
                "",
                0,
                text(""),
                -1,
                -1,
                text("the item was still running; a later run of source MISFIRE covers it"),
            ),
            (
                2,
                20,
                text("interrupted"),
                "NORMAL",
                4,
                ip1.clone(),
                20_010,
                -1,
                text("the holder 10.0.0.1@-@1 is gone; the run is not taken over"),
            ),
            (0, 20, text("succeeded"), "FAILOVER", 3, ip2, 45_100, 45_200, text("")),
            (
                1,
                10,
                text("gap"),
                "",
                0,
                text(""),
                -1,
                -1,
                text("no instance lived, or none could reach the registry"),
            ),
            (0, 10, text("missed"), "", 0, text(""), -1, -1, text("the item is disabled")),
            (1, 0, text("failed"), "NORMAL", 1, ip1.clone(), 10, 800, text("the disk is full")),
            (0, 0, text("succeeded"), "NORMAL", 1, ip1, 10, 900, text("")),
        ];
        let fires = fires_of(&two, job).await;
        assert_eq!(fires.iter().map(row).collect::<Vec<_>>(), expected, "{job}");
        assert_eq!(fires[3].former_holder, Some(instance(1)), "the former holder must stay known");
        assert_eq!((fires[4].gap_until, fires[4].gap_count), (Some(at(60_000)), Some(5)));
        two.close(DEADLINE).await.unwrap();
    }
}

/// A takeover changes the source, and the row still has the past fire.
async fn runs_of_a_backfill_keep_their_past_fire(store: &TestStore) {
    let history = open(store.options.clone()).await;
    let job = "backfilled";
    let (a, b) = (publisher(&history, job, 1), publisher(&history, job, 2));
    a.claims_past_fire(90_001, run(0, 90_001, RunSource::Backfill, 7), 10_000);
    b.claims_past_fire(95_000, run(0, 90_001, RunSource::Failover, 8), 10_000);
    b.ends((95_000, 95_001), run(0, 90_001, RunSource::Failover, 8), Outcome::Succeeded, "");
    a.claims(100_000, run(0, 100_000, RunSource::Normal, 9));
    history.flush(DEADLINE).await.unwrap();
    let fires = fires_of(&history, job).await;
    let past: Vec<_> = fires.iter().map(|fire| (fire.source, fire.past_fire)).collect();
    let takeover = (Some(RunSource::Failover), Some(at(10_000)));
    assert_eq!(past, [(Some(RunSource::Normal), None), takeover]);
    history.close(DEADLINE).await.unwrap();
}

/// A paused instance reports its missed fires without an item, and a later claim proves a gap.
async fn gap_has_the_reason_of_an_instance_that_missed_its_fires(store: &TestStore) {
    let history = open(store.options.clone()).await;
    let (a, other) = (publisher(&history, "gaps", 1), publisher(&history, "other-gaps", 2));
    a.misses_all(10_001, 10_000, MissReason::Paused);
    a.misses_all(20_001, 20_000, MissReason::Leaving);
    other.misses_all(30_001, 30_000, MissReason::ServerDisabled);
    // The first gap has two reports, the second one none: a miss at its end is after it.
    a.finds_gap(60_000, 0, 10_000, 30_000);
    a.misses_all(60_001, 60_000, MissReason::Paused);
    a.finds_gap(90_000, 0, 30_000, 60_000);
    history.flush(DEADLINE).await.unwrap();
    let fires = fires_of(&history, "gaps").await;
    let reasons: Vec<_> = fires.iter().map(|fire| fire.reason.as_deref().unwrap()).collect();
    let none = "no instance lived, or none could reach the registry";
    assert_eq!(reasons, [none, "an instance missed them: the instance is paused"]);
    history.close(DEADLINE).await.unwrap();
}

async fn elasticjob_tables_have_all_runs_and_states(store: &TestStore) {
    let history = open(store.options.clone()).await;
    let a = publisher(&history, "java-tables", 7);
    let done = run(0, 0, RunSource::Manual, 1);
    a.claims(10, done);
    a.ends((10, 900), done, Outcome::Succeeded, "");
    a.settles(950, done, Outcome::Succeeded);
    a.claims(20, run(1, 0, RunSource::Misfire, 3));
    // An unmonitored run has only a report of its end.
    a.ends((30, 1_040), run(2, 0, RunSource::Normal, 0), Outcome::Panicked, "a bug");
    // A fenced run has run, although its result does not count.
    let fenced = run(3, 0, RunSource::Failover, 5);
    a.claims(40, fenced);
    a.ends((40, 2_000), fenced, Outcome::Interrupted, "");
    a.publish(2_100, JobEvent::Fenced { item: item(3), token: coordination::FencingToken(5) });
    history.close(DEADLINE).await.unwrap();

    const EXECUTIONS: [&str; 10] = [
        "sharding_item",
        "job_name",
        "task_id",
        "hostname",
        "ip",
        "execution_source",
        "failure_cause",
        "is_success",
        "start_time",
        "complete_time",
    ];
    let rows = (store.dump)("JOB_EXECUTION_LOG", &EXECUTIONS).await;
    let rows: Vec<_> = rows.into_iter().filter(|row| row[1] == "java-tables").collect();
    let execution = |item: u32, source: &str, cause: &str, ok, began: &str, ended: &str| {
        let time =
            |time: &str| if time.is_empty() { "NULL".to_owned() } else { (store.time)(time) };
        let cause = if cause.is_empty() { "NULL" } else { cause };
        let task_id = format!("java-tables@-@{item}@-@READY@-@10.0.0.7@-@7");
        let row: [&str; 10] = [
            &item.to_string(),
            "java-tables",
            &task_id,
            "host-7",
            "10.0.0.7",
            source,
            cause,
            &(store.truth)(ok),
            &time(began),
            &time(ended),
        ];
        row.map(str::to_owned).to_vec()
    };
    let expected = [
        execution(0, "NORMAL_TRIGGER", "", true, "12:00:00.010", "12:00:00.900"),
        execution(1, "MISFIRE", "", false, "12:00:00.020", ""),
        execution(2, "NORMAL_TRIGGER", "a bug", false, "12:00:00.030", "12:00:01.040"),
        execution(3, "FAILOVER", "interrupted", false, "12:00:00.040", "12:00:02.000"),
    ];
    assert_eq!(rows, expected);

    const STATES: [&str; 9] = [
        "sharding_item",
        "state",
        "job_name",
        "slave_id",
        "original_task_id",
        "source",
        "execution_type",
        "message",
        "creation_time",
    ];
    let rows = (store.dump)("JOB_STATUS_TRACE_LOG", &STATES).await;
    let rows: Vec<_> = rows.into_iter().filter(|row| row[2] == "java-tables").collect();
    let state = |item: u32, state: &str, message: &str, time: &str| {
        let row: [&str; 9] = [
            &format!("[{item}]"),
            state,
            "java-tables",
            "10.0.0.7",
            "",
            "LITE_EXECUTOR",
            "READY",
            message,
            &(store.time)(time),
        ];
        row.map(str::to_owned).to_vec()
    };
    let begin = "Job 'java-tables' execute begin.";
    let expected = [
        state(0, "TASK_FINISHED", "", "12:00:00.900"),
        state(0, "TASK_RUNNING", "", "12:00:00.010"),
        state(0, "TASK_STAGING", begin, "12:00:00.010"),
        state(1, "TASK_RUNNING", "", "12:00:00.020"),
        state(1, "TASK_STAGING", begin, "12:00:00.020"),
        state(2, "TASK_ERROR", "a bug", "12:00:01.040"),
        state(2, "TASK_RUNNING", "", "12:00:00.030"),
        state(2, "TASK_STAGING", begin, "12:00:00.030"),
        state(3, "TASK_ERROR", "interrupted", "12:00:02.000"),
        state(3, "TASK_RUNNING", "", "12:00:00.040"),
        state(3, "TASK_STAGING", begin, "12:00:00.040"),
    ];
    assert_eq!(rows, expected);
}

async fn events_are_stored_with_kind_and_text(store: &TestStore) {
    let history = open(store.options.clone()).await;
    let a = publisher(&history, "events", 1);
    a.publish(0, JobEvent::Joined { instance: instance(1) });
    a.publish(1, JobEvent::BecameLeader { term: 3 });
    a.claims(2, run(0, 0, RunSource::Normal, 1));
    let all = JobEvent::Missed { item: None, fire: fire(5_000), reason: MissReason::Paused };
    a.publish(5_000, all);
    a.misses(5_001, 1, 5_000, MissReason::Superseded);
    history.flush(DEADLINE).await.unwrap();

    let query = EventQuery::default().job("events");
    let page = history.events(&query, 3, None).await.unwrap();
    let next = history.events(&query, 3, page.next.as_ref()).await.unwrap();
    let seen: Vec<_> = page.events.iter().chain(&next.events).collect();
    let summaries: Vec<_> = seen
        .iter()
        .map(|event| (event.kind.as_str(), event.item.map(|i| i.index()), event.text.as_str()))
        .collect();
    let due = fire(5_000).to_string();
    let expected = [
        ("missed", Some(1), format!("item 1 missed the fire of {due}: the next fire came first")),
        ("missed", None, format!("missed the fire of {due}: the instance is paused")),
        ("became_leader", None, "became leader in term 3".to_owned()),
        ("joined", None, "joined as 10.0.0.1@-@1".to_owned()),
    ];
    assert_eq!(
        summaries,
        expected.each_ref().map(|(kind, item, text)| (*kind, *item, text.as_str()))
    );
    assert_eq!((page.next.is_some(), next.next), (true, None));
    assert_eq!(seen[1].fire, Some(at(5_000)));
    let leader = query.kind("became_leader").from(at(1)).until(at(2));
    assert_eq!(history.events(&leader, 10, None).await.unwrap().events, [seen[2].clone()]);
    // A miss of all items of an instance decides no outcome: another instance may run the items.
    let fires = fires_of(&history, "events").await;
    assert_eq!(fires.iter().map(|fire| fire.item.index()).collect::<Vec<_>>(), [1, 0]);
    history.close(DEADLINE).await.unwrap();
}

/// A job with `overlap = parallel`: the tokens of its runs are those of their slots.
async fn runs_of_an_item_at_once_have_a_row_each(store: &TestStore) {
    let history = open(store.options.clone()).await;
    let a = publisher(&history, "parallel", 1);
    let first = run(0, 0, RunSource::Normal, 5);
    let beside = run(0, 10_000, RunSource::Normal, 1);
    let third = run(0, 20_000, RunSource::Normal, 6);
    a.claims(10, first);
    a.claims(10_010, beside);
    a.settles(15_000, first, Outcome::Succeeded);
    a.claims(20_010, third);
    // It names the item alone, and decides no outcome.
    let fenced = JobEvent::Fenced { item: item(0), token: coordination::FencingToken(1) };
    a.publish(21_000, fenced);
    history.flush(DEADLINE).await.unwrap();
    let outcomes = async || {
        let fires = fires_of(&history, "parallel").await.into_iter().rev();
        fires.map(|fire| fire.outcome.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(outcomes().await, ["succeeded", "running", "running"]);
    let query = FireQuery::default().job("parallel").outcome(FireOutcome::new("running"));
    assert_eq!(history.fires(&query, 10, None).await.unwrap().fires.len(), 2);
    a.settles(25_000, beside, Outcome::Failed);
    history.flush(DEADLINE).await.unwrap();
    assert_eq!(outcomes().await, ["succeeded", "failed", "running"]);
    history.close(DEADLINE).await.unwrap();
}

/// The process of the run was killed, or the end of the run is in another store.
async fn run_without_recorded_end_becomes_unknown(store: &TestStore) {
    let history = open(store.options.clone()).await;
    let (a, b) = (publisher(&history, "cut-short", 1), publisher(&history, "cut-short", 2));
    let first = run(0, 0, RunSource::Normal, 1);
    a.claims(10, first);
    a.claims(10, run(1, 0, RunSource::Normal, 7));
    // Claims of another job, of another item, or with an earlier token prove nothing.
    publisher(&history, "cut-off", 2).claims(10_010, run(0, 10_000, RunSource::Normal, 2));
    b.claims(10_010, run(2, 10_000, RunSource::Normal, 2));
    b.claims(10_010, run(1, 10_000, RunSource::Normal, 6));
    history.flush(DEADLINE).await.unwrap();
    let outcomes = async || {
        let fires = fires_of(&history, "cut-short").await;
        let of_noon = fires.into_iter().rev().filter(|fire| fire.fire == at(0));
        let words = of_noon.map(|f| (f.outcome.to_string(), f.reason.unwrap_or_default()));
        words.collect::<Vec<_>>()
    };
    let words = |outcome: &str, reason: &str| (outcome.to_owned(), reason.to_owned());
    let running = || words("running", "");
    assert_eq!(outcomes().await, [running(), running()]);

    b.claims(20_010, run(0, 20_000, RunSource::Normal, 2));
    history.flush(DEADLINE).await.unwrap();
    let since = words("unknown", "no end is recorded here; the item has run again since");
    assert_eq!(outcomes().await, [since.clone(), running()]);

    // The same instance leaves another job, and goes on with this one.
    let left = JobEvent::Left { instance: instance(1) };
    publisher(&history, "cut-off", 1).publish(25_000, left);
    history.flush(DEADLINE).await.unwrap();
    assert_eq!(outcomes().await, [since.clone(), running()]);

    a.publish(30_000, JobEvent::SessionLost { instance: instance(1) });
    history.flush(DEADLINE).await.unwrap();
    let over = words("unknown", "no end is recorded here; the session of the instance is over");
    assert_eq!(outcomes().await, [since, over.clone()]);
    let query = FireQuery::default().job("cut-short");
    for (word, expected) in [("unknown", 2), ("running", 3), ("succeeded", 0)] {
        let query = query.clone().outcome(FireOutcome::new(word));
        let rows = history.fires(&query, 1_000, None).await.unwrap().fires;
        let counts = history.counts(&query).await.unwrap();
        let counted: u64 = counts.iter().map(|count| count.fires).sum();
        assert_eq!((rows.len(), counted), (expected, expected as u64), "{word}");
        assert!(counts.iter().all(|count| count.outcome.as_str() == word), "{counts:?}");
    }

    // The end arrives late, and replaces `unknown`.
    a.settles(900, first, Outcome::Succeeded);
    history.flush(DEADLINE).await.unwrap();
    assert_eq!(outcomes().await, [words("succeeded", ""), over]);
    history.close(DEADLINE).await.unwrap();
}

async fn pages_and_counts_match_the_query(store: &TestStore) {
    let history = open(store.options.clone()).await;
    let a = publisher(&history, "pages", 1);
    for second in 0..50_i64 {
        for item in 0..2 {
            let run = run(item, second * 1_000, RunSource::Normal, second.unsigned_abs() + 1);
            let bad = item == 1 && second % 5 == 0;
            let outcome = if bad { Outcome::Failed } else { Outcome::Succeeded };
            a.claims(second * 1_000, run);
            a.settles(second * 1_000 + 100, run, outcome);
        }
    }
    history.flush(DEADLINE).await.unwrap();

    let query = FireQuery::default().job("pages");
    let mut page: FirePage = history.fires(&query, 7, None).await.unwrap();
    let mut all = page.fires.clone();
    while let Some(next) = page.next {
        page = history.fires(&query, 7, Some(&next)).await.unwrap();
        all.extend(page.fires.clone());
    }
    let keys: Vec<_> = all.iter().map(|f| (f.fire, f.item)).collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    sorted.dedup();
    assert_eq!((keys.len(), &keys), (100, &sorted), "each fire must occur once, the latest first");

    let failed = FireOutcome::from(Outcome::Failed);
    let rows = [
        (query.clone(), 90, 10),
        (query.clone().item(item(1)), 40, 10),
        (query.clone().from(at(10_000)).until(at(20_000)), 18, 2),
        (query.clone().outcome(failed.clone()), 0, 10),
        (query.clone().instance(instance(1)).item(item(0)), 50, 0),
        (query.clone().instance(instance(9)), 0, 0),
        (FireQuery::default().job("PAGES"), 0, 0),
    ];
    for (query, succeeded, bad) in rows {
        let counts = history.counts(&query).await.unwrap();
        let counts: BTreeMap<_, _> =
            counts.into_iter().map(|count| (count.outcome, count.fires)).collect();
        let count = |word: &FireOutcome| counts.get(word).copied().unwrap_or(0);
        let expected = (succeeded, bad);
        assert_eq!((count(&Outcome::Succeeded.into()), count(&failed)), expected, "{query:?}");
        let rows = history.fires(&query, 1_000, None).await.unwrap().fires.len() as u64;
        assert_eq!(rows, succeeded + bad, "{query:?}");
    }
    history.close(DEADLINE).await.unwrap();
}

/// Several histories write facts of the same fires at the same time. No fact may be lost.
async fn concurrent_writers_of_a_fire_lose_no_fact(store: &TestStore) {
    let histories = join_all((0..3).map(|_| open(store.options.clone()))).await;
    for second in 0..40_i64 {
        let due = second * 1_000;
        let token = second.unsigned_abs() + 1;
        let [a, b, c] = [0, 1, 2].map(|n| publisher(&histories[n], "same", 1));
        a.claims(due, run(0, due, RunSource::Normal, token));
        b.ends((due, due + 5), run(0, due, RunSource::Normal, token), Outcome::Failed, "why");
        c.settles(due + 9, run(0, due, RunSource::Normal, token), Outcome::Failed);
        tokio::task::yield_now().await;
    }
    for history in &histories {
        history.flush(DEADLINE).await.unwrap();
    }
    let fires = fires_of(&histories[0], "same").await;
    assert_eq!(fires.len(), 40);
    for fire in fires {
        assert_eq!((fire.outcome.as_str(), fire.reason.as_deref()), ("failed", Some("why")));
        let took = fire.ended.unwrap().duration_since(fire.began.unwrap());
        assert_eq!(took.as_millis(), 5, "{fire:?}");
    }
    for history in histories {
        history.close(DEADLINE).await.unwrap();
    }
}

/// Two instances complete a fire, and each writes its own run: the later one is stored first.
#[cfg(feature = "verify")]
async fn verification_finds_two_completed_runs(store: &TestStore) {
    use job_history::{Verdict, VerifyQuery};

    let (one, two) = (open(store.options.clone()).await, open(store.options.clone()).await);
    let (a, b) = (publisher(&one, "verified", 1), publisher(&two, "verified", 2));
    let (first, second) = (run(0, 0, RunSource::Normal, 1), run(0, 0, RunSource::Failover, 2));
    b.ends((900, 950), second, Outcome::Failed, "why");
    two.flush(DEADLINE).await.unwrap();
    a.ends((10, 990), first, Outcome::Succeeded, "");
    a.finds_gap(60_000, 1, -10_000, 20_000);
    a.misses_all(10_001, 10_000, MissReason::Paused);
    a.misfires(10_000, 2, 10_000);
    a.claims(30_000, run(2, 30_000, RunSource::Misfire, 3));
    one.flush(DEADLINE).await.unwrap();
    let job = coordination::JobName::new("verified").unwrap();
    let job = operations::JobSnapshot::of_nodes(&job, Vec::new());
    let query = VerifyQuery::new(at(0), at(25_000));
    let found = two.verify(&job, at(60_000), &query).await.unwrap();
    let verdicts: Vec<_> = found
        .fires
        .iter()
        .map(|fire| (fire.item.index(), fire.verdict, fire.reason.as_deref().unwrap_or_default()))
        .collect();
    let twice = "completed by 10.0.0.1@-@1 with token 1 and by 10.0.0.2@-@2 with token 2";
    let stands = "the item was still running; its run of 2024-02-29T12:00:30Z stands for this fire";
    assert_eq!(verdicts, [(0, Verdict::RunTwice, twice), (2, Verdict::Missed, stands)]);
    let [period] = &found.unjudged[..] else { panic!("{found:?}") };
    assert_eq!(period.reason, "the registry has no configuration of the job");
    const COLUMNS: [&str; 5] =
        ["fire_ms", "first_done_token", "first_done_by", "last_done_token", "last_done_by"];
    let cells = (store.dump)("ejob_fire", &COLUMNS).await;
    let noon = super::NOON.to_string();
    let expected = [&*noon, "1", "10.0.0.1@-@1", "2", "10.0.0.2@-@2"];
    assert!(cells.iter().any(|row| *row == expected), "{cells:?}");
    one.close(DEADLINE).await.unwrap();
    two.close(DEADLINE).await.unwrap();
}

async fn special_and_long_texts_are_stored(store: &TestStore) {
    let history = open(store.options.clone()).await;
    let a = publisher(&history, "月报 'x'; DROP TABLE ejob_fire", 1);
    let odd = run(0, 0, RunSource::Normal, 1);
    a.claims(0, odd);
    let cause = format!("🦀\0 it's \"odd\" \\ {}", "ö".repeat(10_000));
    a.ends((0, 1), odd, Outcome::Failed, &cause);
    a.settles(2, odd, Outcome::Failed);
    a.publish(3, JobEvent::StrategyFailed { reason: cause.clone() });
    history.flush(DEADLINE).await.unwrap();
    let stats = history.stats();
    assert_eq!((stats.rejected, stats.dropped, stats.waiting()), (0, 0, 0), "{stats:?}");

    let fires = fires_of(&history, a.job).await;
    let kept: String = cause.replace('\0', "\u{fffd}").chars().take(4_000).collect();
    assert_eq!(fires[0].reason.as_deref(), Some(kept.as_str()));
    let events = history.events(&EventQuery::default().job(a.job), 9, None).await.unwrap();
    assert_eq!(events.events[0].text.chars().count(), 4_000);
    history.close(DEADLINE).await.unwrap();
}

/// Columns of ElasticJob's tables cannot hold every time; those of `ejob_fire` can.
async fn times_beyond_the_java_columns_are_stored(store: &TestStore) {
    let history = open(store.options.clone()).await;
    let a = publisher(&history, "far-away", 1);
    // In 1969, and in 2100.
    let times = [-super::NOON - 1_000, 4_102_444_800_000 - super::NOON];
    for time in times {
        let run = run(0, time, RunSource::Normal, 1);
        a.claims(time, run);
        a.ends((time, time), run, Outcome::Succeeded, "");
        a.settles(time, run, Outcome::Succeeded);
    }
    history.flush(DEADLINE).await.unwrap();
    assert_eq!(history.stats().rejected, 0);
    let fires = fires_of(&history, "far-away").await;
    let seen: Vec<_> = fires.iter().rev().map(|fire| fire.ended).collect();
    assert_eq!(seen, times.map(|time| Some(at(time))));
    let last = fires[0].fire;
    history.prune(at(times[0] - 1)).await.unwrap();
    assert_eq!(fires_of(&history, "far-away").await.len(), 2);
    let all = FireQuery::default().job("far-away").from(last);
    assert_eq!(history.counts(&all).await.unwrap()[0].fires, 1);
    history.close(DEADLINE).await.unwrap();
}

/// The rows are those that ElasticJob 2.1.5 and 3.0.4 write: one for each item, with a task id of
/// all items of the instance. Rows whose instance is of this project are left out.
async fn ends_of_java_runs_are_found(store: &TestStore) {
    let (java, rust) = ("0,1,2@-@READY@-@10.0.0.9@-@47114", "1@-@READY@-@10.0.0.9@-@47114-k3f9a");
    let rows = [
        ("legacy", java, 0, true, Some("13:00:01")),
        ("legacy", java, 0, true, Some("14:00:01")),
        ("legacy", java, 0, false, Some("15:00:01")),
        ("legacy", java, 0, false, Some("13:30:01")),
        ("legacy", java, 0, false, Some("15:10:01")),
        ("legacy", rust, 0, false, Some("15:20:01")),
        ("legacy", java, 0, false, None),
        ("legacy", java, 1, false, Some("12:00:09")),
        ("legacy", java, 1, true, Some("13:00:09")),
        ("legacy", rust, 1, true, Some("15:00:09")),
        ("legacy", java, 2, false, None),
        ("broken", java, 0, false, Some("13:00:01")),
    ];
    for (n, (job, task, item, is_success, ended)) in rows.into_iter().enumerate() {
        let ended = ended.map_or("NULL".to_owned(), |time| format!("'2024-02-29 {time}'"));
        let statement = format!(
            "INSERT INTO JOB_EXECUTION_LOG (id, job_name, task_id, hostname, ip, sharding_item, \
             execution_source, is_success, start_time, complete_time, failure_cause) \
             VALUES ('java-{n}', '{job}', '{job}@-@{task}', 'old', '10.0.0.9', {item}, 'NORMAL_TRIGGER', \
             {}, '2024-02-29 12:59:59', {ended}, 'cause {n}')",
            (store.truth)(is_success)
        );
        (store.execute)(statement).await;
    }
    let history = open(store.options.clone()).await;
    let zone = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    let found = history.java_successes(&zone).await.unwrap();
    let (two, one) = ("2024-02-29T13:00:01Z", "2024-02-29T12:00:09Z");
    let times = [two, one].map(|time| time.parse::<Timestamp>().unwrap().as_millisecond());
    assert_eq!(found["legacy"], (0..).zip(times).collect());
    assert!(!found.contains_key("broken"), "{found:?}");

    let found = history.java_failures(&zone).await.unwrap();
    let of = |job: &str| -> Vec<_> {
        let of_item = |(item, runs): (&u32, &JavaFailures)| {
            let times = [runs.first_ms, runs.last_ms];
            let times = times.map(|ms| Timestamp::from_millisecond(ms).unwrap().to_string());
            (*item, runs.count, times, runs.cause.clone())
        };
        found.get(job).into_iter().flatten().map(of_item).collect()
    };
    let (first, last) = ("2024-02-29T14:00:01Z".to_owned(), "2024-02-29T14:10:01Z".to_owned());
    assert_eq!(of("legacy"), [(0, 2, [first, last], Some("cause 4".to_owned()))]);
    let only = "2024-02-29T12:00:01Z".to_owned();
    assert_eq!(of("broken"), [(0, 1, [only.clone(), only], Some("cause 11".to_owned()))]);
    history.close(DEADLINE).await.unwrap();
}

async fn only_old_rows_are_pruned(store: &TestStore) {
    let history = open(store.options.clone().prune_chunk(7)).await;
    let before = at(25_000);
    let of = |fires: &[FireRecord], old: bool| {
        fires.iter().filter(|fire| (fire.fire < before) == old).count()
    };
    let all = FireQuery::default();
    let fires = history.fires(&all, 1_000, None).await.unwrap().fires;
    let young = of(&fires, false);
    assert!(of(&fires, true) > 50 && young > 50, "the tests before must have written enough rows");
    let executions = (store.dump)("JOB_EXECUTION_LOG", &["start_time"]).await;
    let limit = (store.time)("12:00:25.000");
    let young_executions =
        executions.iter().filter(|row| row[0] >= limit || row[0] == "NULL").count();

    let deleted = history.prune(before).await.unwrap();
    assert!(deleted > 100, "{deleted}");
    let fires = history.fires(&all, 1_000, None).await.unwrap().fires;
    assert_eq!((of(&fires, true), of(&fires, false)), (0, young));
    let executions = (store.dump)("JOB_EXECUTION_LOG", &["start_time"]).await;
    assert_eq!(executions.len(), young_executions);
    assert_eq!(history.prune(before).await.unwrap(), 0);
    history.close(DEADLINE).await.unwrap();

    // Prunes by age in the background: all rows are of 2024.
    let day = std::time::Duration::from_secs(86_400);
    let history = open(store.options.clone().prune_chunk(7).keep_for(day)).await;
    let left = fires.len() as u64;
    let done = tokio::time::timeout(DEADLINE, history.wait_for(|stats| stats.pruned >= left));
    done.await.unwrap();
    history.close(DEADLINE).await.unwrap();
}

/// Writes states to a table without the column `source`, which ElasticJob 3.0.5 has dropped.
pub(crate) async fn states_without_source(options: HistoryOptions, dump: &Dump) {
    let history = open(options).await;
    let a = publisher(&history, "states", 1);
    let run = run(0, 0, RunSource::Normal, 1);
    a.claims(10, run);
    a.ends((10, 900), run, Outcome::Succeeded, "");
    history.close(DEADLINE).await.unwrap();
    assert_eq!(history.stats().rejected, 0);
    let states = dump("JOB_STATUS_TRACE_LOG", &["state"]).await;
    assert_eq!(states.concat(), ["TASK_FINISHED", "TASK_RUNNING", "TASK_STAGING"]);
}

/// Publishes twenty claims with the fire time of this round.
pub(crate) fn claim_twenty(history: &History, round: u32) {
    let a = publisher(history, "cut", 1);
    for n in 0..20 {
        a.claims(0, run(n, i64::from(round) * 1_000, RunSource::Normal, 1));
    }
}

/// Checks that all claims of these rounds are stored.
pub(crate) async fn all_claimed(history: &History, rounds: u32) {
    history.flush(DEADLINE).await.unwrap();
    let stats = history.stats();
    assert_eq!((stats.rejected, stats.dropped, stats.waiting()), (0, 0, 0), "{stats:?}");
    assert_eq!(fires_of(history, "cut").await.len(), 20 * rounds as usize);
}

/// Writes before, during and after an outage of a server. `set` restarts the server, or kills it
/// for false.
pub(crate) async fn killed_server_loses_no_record(url: &str, mut set: impl FnMut(bool)) {
    let options = HistoryOptions::url(url).unwrap().batch_size(5).connect_deadline(OUTAGE);
    let history = open(options).await;
    claim_twenty(&history, 0);
    set(false);
    claim_twenty(&history, 1);
    let failed = history.wait_for(|stats| stats.retries > 0);
    tokio::time::timeout(DEADLINE, failed).await.expect("the writer has noticed the outage");
    set(true);
    claim_twenty(&history, 2);
    all_claimed(&history, 3).await;
    history.close(DEADLINE).await.unwrap();
}

/// Checks that a user whom the server does not accept is an error at once, without the password.
pub(crate) async fn wrong_password_is_not_shown(url: &str) {
    let mut url = url::Url::parse(url).unwrap();
    url.set_username("no_such_user").unwrap();
    let options = HistoryOptions::url(url.as_str()).unwrap().password("hunter2");
    assert!(!format!("{options:?}").contains("hunter2"));
    let error = History::open(options).await.unwrap_err();
    assert!(matches!(error, Error::Unusable { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
}

/// Checks that a history is written by TLS, and that a server of another authority is rejected.
/// `url` ends before the path of the trusted authority.
pub(crate) async fn only_with_the_authority(url: &str, trusted: &str, other: &str) {
    let folder = tempfile::tempdir().unwrap();
    let options = |name: &str, pem: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        HistoryOptions::url(&format!("{url}{}", path.display())).unwrap()
    };
    let history = open(options("trusted.pem", trusted)).await;
    claim_twenty(&history, 0);
    all_claimed(&history, 1).await;
    history.close(DEADLINE).await.unwrap();
    let error = History::open(options("other.pem", other)).await.unwrap_err();
    assert!(matches!(error, Error::Unusable { .. }), "a retry cannot help: {error:?}");
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
}

/// Publishes a line of output.
fn writes(history: &History, run: Run, seq: u64, left_out: Option<std::ops::Range<u64>>) {
    let job = coordination::JobName::new("output").unwrap();
    let mut line = OutputLine::new(job, instance(1), item(run.item), fire(run.fire));
    line.token = coordination::FencingToken(run.token);
    line.seq = seq;
    line.at = at(run.fire + i64::try_from(seq).unwrap());
    line.stream = if seq.is_multiple_of(2) { OutputStream::Stdout } else { OutputStream::Stderr };
    line.text = format!("line {seq} 每日 \u{0}");
    line.left_out = left_out;
    history.subscriber().on_output(&line);
}

async fn output_has_the_first_and_last_lines_of_a_run(store: &TestStore) {
    let history = open(store.options.clone()).await;
    let (first, other) = (run(0, 0, RunSource::Normal, 1), run(1, 0, RunSource::Normal, 1));
    for seq in 0..10 {
        // The lines 0 to 2 are the first ones, and the last ones are at most three.
        writes(&history, first, seq, (seq > 5).then(|| 3..seq - 2));
    }
    writes(&history, other, 0, None);
    writes(&history, run(0, 0, RunSource::Failover, 2), 0, None);
    // A repeated line, as after a transaction with an unknown outcome.
    writes(&history, first, 9, Some(3..7));
    history.flush(DEADLINE).await.unwrap();

    let query = OutputQuery::of_fire("output", at(0));
    let numbers = |page: &job_history::OutputPage| {
        let lines = page.lines.iter().map(|l| (l.item.index(), l.token.0, l.seq));
        lines.collect::<Vec<_>>()
    };
    let all = history.output(&query, 1_000, None).await.unwrap();
    let expected = [0, 1, 2, 7, 8, 9].map(|seq| (0, 1, seq));
    let expected: Vec<_> = expected.into_iter().chain([(0, 2, 0), (1, 1, 0)]).collect();
    assert_eq!(numbers(&all), expected);
    assert_eq!(all.lines[3].missing_since(Some(&all.lines[2])), 4);
    assert_eq!(all.lines[6].missing_since(Some(&all.lines[5])), 0, "another run");
    assert_eq!((all.lines[1].stream.as_str(), all.lines[1].at), ("stderr", at(1)));
    assert_eq!(all.lines[1].text, "line 1 每日 \u{fffd}");

    let mut paged = Vec::new();
    let mut end = None;
    loop {
        let page = history.output(&query, 3, end.as_ref()).await.unwrap();
        paged.extend(numbers(&page));
        end = page.end.or(end);
        if !page.has_more {
            break;
        }
    }
    assert_eq!(paged, expected);
    // A page after the end is empty until a line follows.
    assert!(history.output(&query, 3, end.as_ref()).await.unwrap().lines.is_empty());

    let of_item = query.clone().item(item(0));
    let last = history.last_output(&of_item, 2, None).await.unwrap();
    assert_eq!((numbers(&last), last.has_more), (vec![(0, 1, 9), (0, 2, 0)], true));
    let before = history.last_output(&of_item, 9, last.end.as_ref()).await.unwrap();
    assert_eq!((numbers(&before), before.has_more), (expected[..5].to_vec(), false));
    let errors = history.output(&of_item.stream(OutputStream::Stderr), 9, None).await.unwrap();
    assert_eq!(numbers(&errors), [(0, 1, 1), (0, 1, 7), (0, 1, 9)]);
    history.close(DEADLINE).await.unwrap();
}

fn change(n: i64) -> coordination::AuditRecord {
    coordination::AuditRecord {
        id: format!("change-{n}"),
        at_ms: super::NOON + n,
        who: "anna".to_owned(),
        why: "每日".to_owned(),
        act: "pause".to_owned(),
        target: "10.0.0.7".to_owned(),
        what: "paused".to_owned(),
    }
}

fn job_subject(name: &str) -> AuditSubject {
    AuditSubject::from(&coordination::JobName::new(name).unwrap())
}

fn group_subject(name: &str) -> AuditSubject {
    AuditSubject::from(&coordination::GroupName::new(name).unwrap())
}

async fn audited_changes_are_stored_once(store: &TestStore) {
    let (one, two) = (open(store.options.clone()).await, open(store.options.clone()).await);
    let (job, other) = (job_subject("audited"), job_subject("other"));
    for history in [&one, &two] {
        for n in 0..5 {
            assert!(history.record_audit(&job, &change(n)).await);
        }
        // Ids are unique within a job only.
        assert!(history.record_audit(&other, &change(3)).await);
        history.flush(DEADLINE).await.unwrap();
    }
    let query = AuditQuery::default().job("audited");
    let page = one.audit(&query, 3, None).await.unwrap();
    let ids = |page: &job_history::AuditPage| {
        page.records.iter().map(|found| found.record.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&page), ["change-4", "change-3", "change-2"]);
    assert_eq!(page.records[0].record, change(4));
    let rest = one.audit(&query, 3, page.next.as_ref()).await.unwrap();
    assert_eq!((ids(&rest), rest.next), (vec!["change-1".to_owned(), "change-0".to_owned()], None));
    let all = one.audit(&AuditQuery::default().from(at(3)), 9, None).await.unwrap();
    assert_eq!(ids(&all), ["change-4", "change-3", "change-3"]);
    let last = one.last_audits().await.unwrap();
    assert_eq!((last[&job], last[&other]), (super::NOON + 4, super::NOON + 3));
    one.close(DEADLINE).await.unwrap();
    assert!(!one.record_audit(&job, &change(9)).await, "it is closed");
    two.close(DEADLINE).await.unwrap();
}

async fn audited_changes_of_groups_are_apart_from_those_of_jobs(store: &TestStore) {
    let history = open(store.options.clone()).await;
    // The longest name, and names that a job and a group share.
    let longest = "g".repeat(coordination::MAX_JOB_NAME_BYTES);
    let subjects = [
        job_subject("shared"),
        job_subject("group shared"),
        group_subject("shared"),
        group_subject(&longest),
    ];
    for (subject, n) in subjects.iter().zip(100..) {
        assert!(history.record_audit(subject, &change(n)).await);
    }
    // Ids are unique within a job or a group only.
    assert!(history.record_audit(&subjects[2], &change(100)).await);
    history.flush(DEADLINE).await.unwrap();
    assert_eq!(history.stats().rejected, 0);

    let found = async |query: AuditQuery| {
        let page = history.audit(&query, 9, None).await.unwrap();
        let records = page.records.into_iter();
        records.map(|found| (found.subject, found.record.id)).collect::<Vec<_>>()
    };
    let expected = |subject: &AuditSubject, n: i64| (subject.clone(), format!("change-{n}"));
    let of_job = found(AuditQuery::default().job("shared")).await;
    assert_eq!(of_job, [expected(&subjects[0], 100)]);
    let of_group = found(AuditQuery::default().group("shared")).await;
    assert_eq!(of_group, [expected(&subjects[2], 102), expected(&subjects[2], 100)]);
    let of_longest = found(AuditQuery::default().group(&*longest)).await;
    assert_eq!(of_longest, [expected(&subjects[3], 103)]);
    assert_eq!(found(AuditQuery::default().job("shared").group("shared")).await, []);

    let query = AuditQuery::default().from(at(100));
    let (mut all, mut next) = (Vec::new(), None);
    loop {
        let page = history.audit(&query, 2, next.as_ref()).await.unwrap();
        all.extend(page.records.into_iter().map(|found| (found.subject, found.record.id)));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(all, found(query).await, "pages have changes of jobs and of groups");
    assert_eq!(all.len(), 5);
    let last = history.last_audits().await.unwrap();
    assert_eq!(subjects.map(|subject| last[&subject] - super::NOON), [100, 101, 102, 103]);
    history.close(DEADLINE).await.unwrap();
}
