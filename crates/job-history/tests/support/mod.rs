//! Records for a history, and the suite that all kinds of stores must pass.
#![allow(dead_code, reason = "each test file uses only a part of it")]

pub(crate) mod server;
pub(crate) mod suite;

use std::time::Duration;

use coordination::{
    FencingToken, FireRange, FireTime, Gap, JobEvent, JobName, MissReason, Outcome, RunSource,
};
use jiff::Timestamp;
use job_history::{History, HistoryOptions};
use lite::{EventSubscriber, JobRecord, RunReport};
use sharding::{InstanceId, ShardingItem};

/// Longer than any test takes.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// 2024-02-29 12:00 UTC, in milliseconds: fire 0 of every test.
pub(crate) const NOON: i64 = 1_709_208_000_000;

pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(NOON + ms).unwrap()
}

pub(crate) fn fire(ms: i64) -> FireTime {
    FireTime(NOON + ms)
}

pub(crate) fn instance(n: u8) -> InstanceId {
    InstanceId::new(format!("10.0.0.{n}@-@{n}"))
}

pub(crate) fn item(n: u32) -> ShardingItem {
    ShardingItem::new(n)
}

pub(crate) async fn open(options: HistoryOptions) -> History {
    match History::open(options).await {
        Ok(history) => history,
        Err(error) => panic!("{error}"),
    }
}

/// One instance that publishes records of a job.
pub(crate) struct Publisher<S> {
    pub(crate) subscriber: S,
    pub(crate) job: &'static str,
    pub(crate) instance_number: u8,
}

/// A run of a test.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) item: u32,
    pub(crate) fire: i64,
    pub(crate) source: RunSource,
    pub(crate) token: u64,
}

impl<S: EventSubscriber> Publisher<S> {
    pub(crate) fn publish(&self, ms: i64, event: JobEvent) {
        let job = JobName::new(self.job).unwrap();
        let mut record = JobRecord::new(job, at(ms), event);
        record.instance = Some(instance(self.instance_number));
        self.subscriber.on_event(&record);
    }

    pub(crate) fn claims(&self, ms: i64, run: Run) {
        let Run { source, token, .. } = run;
        let (item, fire, token) = (item(run.item), fire(run.fire), FencingToken(token));
        self.publish(ms, JobEvent::Claimed { item, fire, source, token, past_fire: None });
    }

    /// Reports the claim of a backfill's run, which repeats a past fire.
    pub(crate) fn claims_past_fire(&self, ms: i64, run: Run, past: i64) {
        let Run { source, token, .. } = run;
        let (item, fire_of_run, token) = (item(run.item), fire(run.fire), FencingToken(token));
        let past_fire = Some(fire(past));
        self.publish(ms, JobEvent::Claimed { item, fire: fire_of_run, source, token, past_fire });
    }

    /// Reports that the code has ended, before the run is completed.
    pub(crate) fn ends(&self, (began, ended): (i64, i64), run: Run, outcome: Outcome, why: &str) {
        let (job, instance) = (JobName::new(self.job).unwrap(), instance(self.instance_number));
        let mut report = RunReport::new(job, instance, item(run.item), at(began));
        report.fire = fire(run.fire);
        report.source = run.source;
        report.token = FencingToken(run.token);
        report.ended = at(ended);
        report.outcome = outcome;
        report.cause = (!why.is_empty()).then(|| why.to_owned());
        self.subscriber.on_run_ended(&report);
    }

    pub(crate) fn settles(&self, ms: i64, run: Run, outcome: Outcome) {
        let Run { source, token, .. } = run;
        let (item, fire, token) = (item(run.item), fire(run.fire), FencingToken(token));
        self.publish(ms, JobEvent::Settled { item, fire, source, token, outcome });
    }

    pub(crate) fn misses(&self, ms: i64, n: u32, due: i64, reason: MissReason) {
        self.publish(ms, JobEvent::Missed { item: Some(item(n)), fire: fire(due), reason });
    }

    /// Reports that the instance misses a fire with all its items.
    pub(crate) fn misses_all(&self, ms: i64, due: i64, reason: MissReason) {
        self.publish(ms, JobEvent::Missed { item: None, fire: fire(due), reason });
    }

    pub(crate) fn misfires(&self, ms: i64, n: u32, due: i64) {
        let waiting = FireRange { first: fire(due), last: fire(due), count: 1 };
        self.publish(ms, JobEvent::MisfireNoted { item: item(n), waiting });
    }

    pub(crate) fn finds_gap(&self, ms: i64, n: u32, first: i64, until: i64) {
        let gap = Gap {
            first: fire(first),
            until: fire(until),
            count: Some(5),
            config: None,
            changed_to: None,
        };
        self.publish(ms, JobEvent::Gap { item: item(n), gap });
    }

    pub(crate) fn finds_orphan(&self, ms: i64, n: u32, due: i64, holder: u8, failover: bool) {
        let (fire, holder) = (fire(due), instance(holder));
        self.publish(ms, JobEvent::Orphaned { item: item(n), fire, holder, failover });
    }
}
