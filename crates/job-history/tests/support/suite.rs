//! What every kind of store must do. A test file per kind says where the store is and how to read a table raw.

use std::collections::BTreeMap;

use coordination::{JobEvent, MissReason, Outcome, RunSource};
use futures_util::future::{BoxFuture, join_all};
use job_history::{
    EventQuery, FireOutcome, FirePage, FireQuery, FireRecord, History, HistoryOptions,
    HistorySubscriber,
};

use super::{DEADLINE, Run, Teller, at, fire, instance, item, open};

/// Reads columns of a table as texts, in the order of the first ones.
pub(crate) type Dump =
    Box<dyn Fn(&'static str, &'static [&'static str]) -> BoxFuture<'static, Vec<Vec<String>>>>;

/// A store that begins empty.
pub(crate) struct Place {
    pub(crate) options: HistoryOptions,
    pub(crate) dump: Dump,
    /// How milliseconds after the point look in a time of ElasticJob's tables.
    pub(crate) time: fn(&str) -> String,
    /// How truth looks in a column of ElasticJob's tables.
    pub(crate) truth: fn(bool) -> String,
}

/// Everything, one after the other, in one store.
pub(crate) async fn all(place: &Place) {
    many_may_open_it_at_once(place).await;
    each_fire_has_one_outcome_whoever_tells_first(place).await;
    the_tables_of_elasticjob_are_filled(place).await;
    events_are_kept_with_their_words(place).await;
    a_run_that_is_over_without_a_recorded_end_is_not_running(place).await;
    pages_and_counts_are_what_was_asked_for(place).await;
    two_that_write_the_same_fire_do_not_lose_a_fact(place).await;
    texts_of_any_kind_and_length_are_kept(place).await;
    times_far_away_are_kept(place).await;
    what_is_too_old_goes_and_the_rest_stays(place).await;
}

async fn many_may_open_it_at_once(place: &Place) {
    let opened = join_all((0..8).map(|_| History::open(place.options.clone()))).await;
    for history in opened {
        history.unwrap().close(DEADLINE).await.unwrap();
    }
    let versions = (place.dump)("ejob_history_version", &["version"]).await;
    assert_eq!(versions, [["1"], ["2"]], "each step is taken once");
}

fn teller(history: &History, job: &'static str, me: u8) -> Teller<HistorySubscriber> {
    Teller { subscriber: history.subscriber(), job, me }
}

fn run(item: u32, fire: i64, source: RunSource, token: u64) -> Run {
    Run { item, fire, source, token }
}

async fn fires_of(history: &History, job: &str) -> Vec<FireRecord> {
    history.fires(&FireQuery::default().job(job), 1_000, None).await.unwrap().fires
}

/// One row of a table of fires: item, seconds after noon, outcome, source, token, instance, began, ended, reason.
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

/// A story with all outcomes, told by two processes of which the one that takes over is sometimes the quicker to be stored.
async fn each_fire_has_one_outcome_whoever_tells_first(place: &Place) {
    use RunSource::{Failover, Misfire, Normal};
    for (job, later_first) in [("in-order", false), ("out-of-order", true)] {
        let (one, two) = (open(place.options.clone()).await, open(place.options.clone()).await);
        let (a, b) = (teller(&one, job, 1), teller(&two, job, 2));
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
        // Told twice, as after a transaction whose answer was lost.
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
                text("the item was still running, and runs for it afterwards"),
            ),
            (
                2,
                20,
                text("orphaned"),
                "NORMAL",
                4,
                ip1.clone(),
                20_010,
                -1,
                text("left unfinished by 10.0.0.1@-@1: not to be taken over"),
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
                text("no instance was there, or none could reach the registry"),
            ),
            (0, 10, text("missed"), "", 0, text(""), -1, -1, text("the item is disabled")),
            (1, 0, text("failed"), "NORMAL", 1, ip1.clone(), 10, 800, text("the disk is full")),
            (0, 0, text("succeeded"), "NORMAL", 1, ip1, 10, 900, text("")),
        ];
        let fires = fires_of(&two, job).await;
        assert_eq!(fires.iter().map(row).collect::<Vec<_>>(), expected, "{job}");
        assert_eq!(fires[3].left_by, Some(instance(1)), "who left it stays known");
        assert_eq!((fires[4].gap_until, fires[4].gap_count), (Some(at(60_000)), Some(5)));
        two.close(DEADLINE).await.unwrap();
    }
}

async fn the_tables_of_elasticjob_are_filled(place: &Place) {
    let history = open(place.options.clone()).await;
    let a = teller(&history, "java-tables", 7);
    let done = run(0, 0, RunSource::Manual, 1);
    a.claims(10, done);
    a.ends((10, 900), done, Outcome::Succeeded, "");
    a.settles(950, done, Outcome::Succeeded);
    a.claims(20, run(1, 0, RunSource::Misfire, 3));
    // Without monitoring only the end is told.
    a.ends((30, 1_040), run(2, 0, RunSource::Normal, 0), Outcome::Panicked, "a bug");
    // Its result does not count, but it ran.
    let fenced = run(3, 0, RunSource::Failover, 5);
    a.claims(40, fenced);
    a.ends((40, 2_000), fenced, Outcome::Interrupted, "");
    a.tell(2_100, JobEvent::Fenced { item: item(3), token: coordination::FencingToken(5) });
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
    let rows = (place.dump)("JOB_EXECUTION_LOG", &EXECUTIONS).await;
    let rows: Vec<_> = rows.into_iter().filter(|row| row[1] == "java-tables").collect();
    let execution = |item: u32, source: &str, cause: &str, ok, began: &str, ended: &str| {
        let time =
            |time: &str| if time.is_empty() { "NULL".to_owned() } else { (place.time)(time) };
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
            &(place.truth)(ok),
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
    let rows = (place.dump)("JOB_STATUS_TRACE_LOG", &STATES).await;
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
            &(place.time)(time),
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

async fn events_are_kept_with_their_words(place: &Place) {
    let history = open(place.options.clone()).await;
    let a = teller(&history, "events", 1);
    a.tell(0, JobEvent::Joined { instance: instance(1) });
    a.tell(1, JobEvent::BecameLeader { term: 3 });
    a.claims(2, run(0, 0, RunSource::Normal, 1));
    let all = JobEvent::Missed { item: None, fire: fire(5_000), reason: MissReason::Paused };
    a.tell(5_000, all);
    a.misses(5_001, 1, 5_000, MissReason::Superseded);
    history.flush(DEADLINE).await.unwrap();

    let query = EventQuery::default().job("events");
    let page = history.events(&query, 3, None).await.unwrap();
    let next = history.events(&query, 3, page.next.as_ref()).await.unwrap();
    let seen: Vec<_> = page.events.iter().chain(&next.events).collect();
    let told: Vec<_> = seen
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
    assert_eq!(told, expected.each_ref().map(|(kind, item, text)| (*kind, *item, text.as_str())));
    assert_eq!((page.next.is_some(), next.next), (true, None));
    assert_eq!(seen[1].fire, Some(at(5_000)));
    let leader = query.kind("became_leader").from(at(1)).until(at(2));
    assert_eq!(history.events(&leader, 10, None).await.unwrap().events, [seen[2].clone()]);
    // What an instance misses for all its items is no fate of an item: another one may run them.
    let fires = fires_of(&history, "events").await;
    assert_eq!(fires.iter().map(|fire| fire.item.index()).collect::<Vec<_>>(), [1, 0]);
    history.close(DEADLINE).await.unwrap();
}

/// Its process was killed, or its end is in the store of another one.
async fn a_run_that_is_over_without_a_recorded_end_is_not_running(place: &Place) {
    let history = open(place.options.clone()).await;
    let (a, b) = (teller(&history, "cut-short", 1), teller(&history, "cut-short", 2));
    let first = run(0, 0, RunSource::Normal, 1);
    a.claims(10, first);
    a.claims(10, run(1, 0, RunSource::Normal, 7));
    // Another job's, another item's and an earlier token say nothing.
    teller(&history, "cut-off", 2).claims(10_010, run(0, 10_000, RunSource::Normal, 2));
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

    // The same process has left another job, and goes on with this one.
    let left = JobEvent::Left { instance: instance(1) };
    teller(&history, "cut-off", 1).tell(25_000, left);
    history.flush(DEADLINE).await.unwrap();
    assert_eq!(outcomes().await, [since.clone(), running()]);

    a.tell(30_000, JobEvent::SessionLost { instance: instance(1) });
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

    // Its end was only late.
    a.settles(900, first, Outcome::Succeeded);
    history.flush(DEADLINE).await.unwrap();
    assert_eq!(outcomes().await, [words("succeeded", ""), over]);
    history.close(DEADLINE).await.unwrap();
}

async fn pages_and_counts_are_what_was_asked_for(place: &Place) {
    let history = open(place.options.clone()).await;
    let a = teller(&history, "pages", 1);
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
    assert_eq!((keys.len(), &keys), (100, &sorted), "each once, the latest first");

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

/// The same fires by several histories at once: what each knows must be in the end.
async fn two_that_write_the_same_fire_do_not_lose_a_fact(place: &Place) {
    let histories = join_all((0..3).map(|_| open(place.options.clone()))).await;
    for second in 0..40_i64 {
        let due = second * 1_000;
        let token = second.unsigned_abs() + 1;
        let [a, b, c] = [0, 1, 2].map(|n| teller(&histories[n], "same", 1));
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

async fn texts_of_any_kind_and_length_are_kept(place: &Place) {
    let history = open(place.options.clone()).await;
    let a = teller(&history, "月报 'x'; DROP TABLE ejob_fire", 1);
    let odd = run(0, 0, RunSource::Normal, 1);
    a.claims(0, odd);
    let cause = format!("🦀\0 it's \"odd\" \\ {}", "ö".repeat(10_000));
    a.ends((0, 1), odd, Outcome::Failed, &cause);
    a.settles(2, odd, Outcome::Failed);
    a.tell(3, JobEvent::StrategyFailed { reason: cause.clone() });
    history.flush(DEADLINE).await.unwrap();
    let stats = history.stats();
    assert_eq!((stats.refused, stats.dropped, stats.waiting()), (0, 0, 0), "{stats:?}");

    let fires = fires_of(&history, a.job).await;
    let kept: String = cause.replace('\0', "\u{fffd}").chars().take(4_000).collect();
    assert_eq!(fires[0].reason.as_deref(), Some(kept.as_str()));
    let events = history.events(&EventQuery::default().job(a.job), 9, None).await.unwrap();
    assert_eq!(events.events[0].text.chars().count(), 4_000);
    history.close(DEADLINE).await.unwrap();
}

/// A column of ElasticJob's may not hold a time; our own do.
async fn times_far_away_are_kept(place: &Place) {
    let history = open(place.options.clone()).await;
    let a = teller(&history, "far-away", 1);
    // In 1969, and in 2100.
    let times = [-super::NOON - 1_000, 4_102_444_800_000 - super::NOON];
    for time in times {
        let run = run(0, time, RunSource::Normal, 1);
        a.claims(time, run);
        a.ends((time, time), run, Outcome::Succeeded, "");
        a.settles(time, run, Outcome::Succeeded);
    }
    history.flush(DEADLINE).await.unwrap();
    assert_eq!(history.stats().refused, 0);
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

async fn what_is_too_old_goes_and_the_rest_stays(place: &Place) {
    let history = open(place.options.clone().prune_chunk(7)).await;
    let before = at(25_000);
    let of = |fires: &[FireRecord], old: bool| {
        fires.iter().filter(|fire| (fire.fire < before) == old).count()
    };
    let all = FireQuery::default();
    let fires = history.fires(&all, 1_000, None).await.unwrap().fires;
    let young = of(&fires, false);
    assert!(of(&fires, true) > 50 && young > 50, "the stories before have left enough");
    let executions = (place.dump)("JOB_EXECUTION_LOG", &["start_time"]).await;
    let limit = (place.time)("12:00:25.000");
    let young_executions =
        executions.iter().filter(|row| row[0] >= limit || row[0] == "NULL").count();

    let deleted = history.prune(before).await.unwrap();
    assert!(deleted > 100, "{deleted}");
    let fires = history.fires(&all, 1_000, None).await.unwrap().fires;
    assert_eq!((of(&fires, true), of(&fires, false)), (0, young));
    let executions = (place.dump)("JOB_EXECUTION_LOG", &["start_time"]).await;
    assert_eq!(executions.len(), young_executions);
    assert_eq!(history.prune(before).await.unwrap(), 0);
    history.close(DEADLINE).await.unwrap();

    // By age, in the background: all of it is of 2024.
    let day = std::time::Duration::from_secs(86_400);
    let history = open(place.options.clone().prune_chunk(7).keep_for(day)).await;
    let left = fires.len() as u64;
    let done = tokio::time::timeout(DEADLINE, history.wait_for(|stats| stats.pruned >= left));
    done.await.unwrap();
    history.close(DEADLINE).await.unwrap();
}

/// The column `source` of the table of states is gone in ElasticJob 3.0.5.
pub(crate) async fn states_without_source(options: HistoryOptions, dump: &Dump) {
    let history = open(options).await;
    let a = teller(&history, "states", 1);
    let run = run(0, 0, RunSource::Normal, 1);
    a.claims(10, run);
    a.ends((10, 900), run, Outcome::Succeeded, "");
    history.close(DEADLINE).await.unwrap();
    assert_eq!(history.stats().refused, 0);
    let states = dump("JOB_STATUS_TRACE_LOG", &["state"]).await;
    assert_eq!(states.concat(), ["TASK_FINISHED", "TASK_RUNNING", "TASK_STAGING"]);
}

/// Twenty fires of a round of their own.
pub(crate) fn claim_twenty(history: &History, round: u32) {
    let a = teller(history, "cut", 1);
    for n in 0..20 {
        a.claims(0, run(n, i64::from(round) * 1_000, RunSource::Normal, 1));
    }
}

/// All fires of so many rounds are there.
pub(crate) async fn all_claimed(history: &History, rounds: u32) {
    history.flush(DEADLINE).await.unwrap();
    let stats = history.stats();
    assert_eq!((stats.refused, stats.dropped, stats.waiting()), (0, 0, 0), "{stats:?}");
    assert_eq!(fires_of(history, "cut").await.len(), 20 * rounds as usize);
}
