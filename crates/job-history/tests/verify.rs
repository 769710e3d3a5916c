//! Verifications of a scheduler's history, as it is and with wrong records.
#![cfg(all(feature = "sqlite", feature = "verify"))]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use coordination::{JobName, Layout, MissReason, Outcome, RunSource};
use jiff::Timestamp;
use job_history::{Error, History, HistoryOptions, JudgedFire, Verdict, Verification, VerifyQuery};
use lite::{Clock as _, TokioClock};
use operations::JobSnapshot;
use reg_center::MemoryRegistry;
use sqlx::Connection as _;

use crate::scheduler::{Cluster, RecordingSubscriber, play};
use crate::support::{DEADLINE, Publisher, Run, at, open};

/// A history, and the registry and the time at its end.
struct Played {
    history: History,
    job: JobSnapshot,
    now: Timestamp,
}

impl Played {
    /// Plays a cluster of two instances, one of which dies during a run.
    async fn of(path: &Path) -> Self {
        let history = open(HistoryOptions::sqlite(path)).await;
        let (history, (job, now)) = tokio::task::spawn_blocking(|| {
            let end = in_virtual_time(&history);
            (history, end)
        })
        .await
        .unwrap();
        history.flush(DEADLINE).await.unwrap();
        Self { history, job, now }
    }

    /// Judges fires after the time in which their records may be on their way.
    async fn verified(&self, query: &VerifyQuery) -> Verification {
        let now = self.now + Duration::from_secs(120);
        self.history.verify(&self.job, now, query).await.unwrap()
    }

    /// Judges all fires.
    async fn all(&self) -> Verification {
        self.verified(&VerifyQuery::new(at(1_000), self.now)).await
    }
}

fn in_virtual_time(history: &History) -> (JobSnapshot, Timestamp) {
    let paused =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    paused.unwrap().block_on(async {
        let cluster = Cluster {
            registry: MemoryRegistry::new(),
            clock: Arc::new(TokioClock::starting_at(at(0))),
            recorded: RecordingSubscriber::default(),
        };
        let played = tokio::time::timeout(Duration::from_secs(3_600), play(&cluster, history));
        played.await.expect("the scenario did not end in time");
        let name = JobName::new("job").unwrap();
        let model = cluster.registry.snapshot();
        let nodes = model.subtree(&Layout::new(&name).root()).cloned().collect();
        (JobSnapshot::of_nodes(&name, nodes), cluster.clock.wall())
    })
}

fn findings(found: &Verification) -> Vec<&JudgedFire> {
    found.fires.iter().filter(|fire| fire.verdict.is_finding()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fires_of_a_cluster_with_a_lost_instance_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let played = Played::of(&folder.path().join("h.db")).await;
    let found = played.all().await;
    assert!(found.is_explained(), "{:?} {:?}", findings(&found), found.unjudged);
    assert!(found.counts.of(Verdict::Run) > 5, "{:?}", found.counts);
    assert!(found.counts.of(Verdict::Missed) > 0, "{:?}", found.counts);
    // The second instance has left before it could run the last misfire of item 2.
    let open = found.fires.iter().filter(|fire| fire.verdict == Verdict::Open);
    let open: Vec<_> = open.map(|fire| (fire.item.index(), fire.reason.as_deref())).collect();
    let waits = "the item was still running; the fire waits for the end of that run";
    assert_eq!(open, [(2, Some(waits))]);
    assert_eq!(found.counts.total(), found.fires.len() as u64);
    let reasons: Vec<_> = found.fires.iter().filter_map(|fire| fire.reason.as_deref()).collect();
    for reason in ["taken over from 10.0.0.1@-@1", "the disk is full", "the instance is leaving"] {
        assert!(reasons.iter().any(|it| it.contains(reason)), "{reason}: {reasons:?}");
    }
    let of_record = |fire: &JudgedFire| fire.record.as_ref().map(|it| it.item);
    assert!(found.fires.iter().all(|it| of_record(it).is_none_or(|item| item == it.item)));
    let first = played.verified(&VerifyQuery::new(at(1_000), played.now).limit(1)).await;
    assert_eq!((first.fires.len(), first.has_more), (1, true));
    assert_eq!(first.counts, found.counts, "a limit must not change the counts");
    played.history.close(DEADLINE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicated_run_and_deleted_record_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.db");
    let played = Played::of(&path).await;
    let before = played.all().await;
    let ran = |fire: &&JudgedFire| fire.verdict == Verdict::Run && fire.item.index() == 0;
    let mut runs = before.fires.iter().filter(ran);
    let (twice, deleted) = (runs.next().unwrap(), runs.next().unwrap());

    let fire = twice.fire.as_millisecond() - at(0).as_millisecond();
    let other =
        Publisher { subscriber: played.history.subscriber(), job: "job", instance_number: 9 };
    let run = Run { item: 0, fire, source: RunSource::Normal, token: 99 };
    other.ends((fire, fire + 1), run, Outcome::Succeeded, "");
    played.history.flush(DEADLINE).await.unwrap();
    let url = format!("sqlite:{}", path.display());
    let mut store = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let delete =
        sqlx::query("DELETE FROM ejob_fire WHERE job = 'job' AND item = 0 AND fire_ms = ?");
    let delete = delete.bind(deleted.fire.as_millisecond());
    assert_eq!(delete.execute(&mut store).await.unwrap().rows_affected(), 1);
    store.close().await.unwrap();

    let found = played.all().await;
    assert!(!found.is_explained());
    let [one, two] = &findings(&found)[..] else { panic!("{:?}", findings(&found)) };
    assert_eq!((one.fire, one.verdict), (twice.fire, Verdict::RunTwice));
    let reason = one.reason.as_deref().unwrap();
    assert!(reason.ends_with("and by 10.0.0.9@-@9 with token 99"), "{reason}");
    assert_eq!((two.fire, two.verdict), (deleted.fire, Verdict::Unexplained));
    let reason = "the history has no record of it; the registry shows later fires of the item";
    assert_eq!((two.reason.as_deref(), &two.record), (Some(reason), &None));
    assert_eq!(found.counts.of(Verdict::Run), before.counts.of(Verdict::Run) - 2);

    let twice_only = VerifyQuery::new(at(1_000), played.now).verdicts([Verdict::RunTwice]);
    let listed = played.verified(&twice_only).await;
    assert_eq!((listed.fires.len(), listed.counts), (1, found.counts));
    played.history.close(DEADLINE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gaps_reports_and_later_runs_count_across_the_ends_of_the_period() {
    let folder = tempfile::tempdir().unwrap();
    let played = Played::of(&folder.path().join("h.db")).await;
    let history = open(HistoryOptions::sqlite(folder.path().join("other.db"))).await;
    let a = Publisher { subscriber: history.subscriber(), job: "job", instance_number: 1 };
    // Item 0: a gap from before the period. Item 1: misfires until a run after the period.
    a.finds_gap(60_000, 0, -30_000, 40_000);
    a.misfires(10_000, 1, 10_000);
    a.misfires(20_000, 1, 20_000);
    let run = Run { item: 1, fire: 30_000, source: RunSource::Misfire, token: 1 };
    a.claims(30_000, run);
    a.ends((30_000, 30_001), run, Outcome::Succeeded, "");
    // A run of a request after the period stands for no fire.
    let manual = Run { fire: 25_001, source: RunSource::Manual, ..run };
    a.ends((25_001, 25_002), manual, Outcome::Succeeded, "");
    // Items 2 and 3: the instance misses the first fire with all items, and it ran item 2 after the
    // period, and item 3 before. Nothing is recorded of the second fire.
    a.misses_all(10_001, 10_000, MissReason::Paused);
    let b = Publisher { subscriber: history.subscriber(), job: "job", instance_number: 2 };
    let [before, after] = [0, 30_000].map(|fire| Run { fire, source: RunSource::Normal, ..run });
    b.ends((0, 1), Run { item: 2, ..before }, Outcome::Succeeded, "");
    a.ends((30_000, 30_001), Run { item: 2, ..after }, Outcome::Succeeded, "");
    a.ends((0, 1), Run { item: 3, ..before }, Outcome::Succeeded, "");
    b.ends((30_000, 30_001), Run { item: 3, ..after }, Outcome::Succeeded, "");
    // Another instance misses the second fire, and has never run these items.
    let c = Publisher { subscriber: history.subscriber(), job: "job", instance_number: 3 };
    c.misses_all(20_001, 20_000, MissReason::Paused);
    // A backfill runs the second fire of item 0, which lies in the gap, after the period.
    let backfill = Run { item: 0, fire: 90_001, source: RunSource::Backfill, token: 9 };
    a.claims_past_fire(90_001, backfill, 20_000);
    a.ends((90_001, 90_002), backfill, Outcome::Succeeded, "");
    a.settles(90_003, backfill, Outcome::Succeeded);
    history.flush(DEADLINE).await.unwrap();
    let query = VerifyQuery::new(at(5_000), at(25_000));
    let now = played.now + Duration::from_secs(120);
    let found = history.verify(&played.job, now, &query).await.unwrap();
    let of_item = |n: u32| -> Vec<_> {
        let fires = found.fires.iter().filter(|fire| fire.item.index() == n);
        fires.map(|fire| (fire.verdict, fire.reason.as_deref().unwrap_or_default())).collect()
    };
    let paused = (Verdict::Missed, "an instance missed it: the instance is paused");
    let stands = "the item was still running; its run of 2024-02-29T12:00:30Z stands for this fire";
    assert_eq!(of_item(1), [(Verdict::Missed, stands), (Verdict::Missed, stands)]);
    let gap = (Verdict::Missed, "an instance missed them: the instance is paused");
    let later = "a backfill ran it later, at 2024-02-29T12:01:30.001Z; an instance missed them: \
                 the instance is paused";
    assert_eq!(of_item(0), [gap, (Verdict::Run, later)]);
    for item in [2, 3] {
        assert_eq!(of_item(item)[0], paused);
        assert_eq!(of_item(item)[1].0, Verdict::Unexplained, "{:?}", of_item(item));
    }
    history.close(DEADLINE).await.unwrap();
    played.history.close(DEADLINE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_periods_are_refused_with_what_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let history = open(HistoryOptions::sqlite(folder.path().join("h.db"))).await;
    let job = JobSnapshot::of_nodes(&JobName::new("job").unwrap(), Vec::new());
    let year = 367 * 86_400_000;
    let rows = [
        (VerifyQuery::new(at(0), at(0)), "until", "a time after from"),
        (VerifyQuery::new(at(-year), at(0)), "until", "at most 366 days after from"),
        (VerifyQuery::new(at(2_000), at(3_000)), "from", "a time before now"),
        (VerifyQuery::new(at(0), at(1_000)).limit(0), "limit", "1 to 100000 fires"),
    ];
    for (query, named, valid) in rows {
        let error = history.verify(&job, at(1_000), &query).await.unwrap_err();
        let Error::InvalidOption { option, expected, .. } = error else { panic!("{error:?}") };
        assert_eq!((option, expected), (named, valid));
    }
    let found = history.verify(&job, at(1_000), &VerifyQuery::new(at(0), at(500))).await.unwrap();
    let [period] = &found.unjudged[..] else { panic!("{found:?}") };
    assert_eq!((period.from, period.until), (at(0), at(500)));
    assert_eq!(period.reason, "the history has no record of the job");
    assert!(!found.is_explained());
    history.close(DEADLINE).await.unwrap();
}
