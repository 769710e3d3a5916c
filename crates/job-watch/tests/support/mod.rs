//! Jobs as their nodes are stored, without a registry.

pub(crate) mod world;

use coordination::{Dialect, JavaSettings, JobConfig, JobName, encode_config};
use jiff::{Timestamp, ToSpan as _};
use job_watch::{
    Assessment, ConditionKind, HistoryFacts, Memory, Seen, State, WatchFile, evaluate,
};
use operations::JobSnapshot;
use reg_center::{Node, NodePath, Revision, SessionId, Stat, Version};
use serde_json::{Value, json};

/// Noon, at which the jobs of the tests fire: they fire every ten minutes.
pub(crate) fn noon() -> Timestamp {
    "2024-02-29T12:00:00Z".parse().unwrap()
}

/// Returns a time in seconds after noon.
pub(crate) fn at(seconds: i64) -> Timestamp {
    noon().checked_add(seconds.seconds()).unwrap()
}

pub(crate) fn name() -> JobName {
    JobName::new("report").unwrap()
}

/// Nodes of the job `report` with two items, both owned by instance 1, which lives.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    dialect: Dialect,
    config: JobConfig,
    nodes: Vec<(String, String, bool)>,
}

impl Job {
    pub(crate) fn rust(dialect: Dialect) -> Self {
        Self::empty(dialect).server(1, "").instance(1, true).owner(0, 1).owner(1, 1)
    }

    pub(crate) fn java(dialect: Dialect) -> Self {
        Self::empty(dialect).server(1, "").instance(1, false).owner(0, 1).owner(1, 1)
    }

    /// Returns the job without instances.
    pub(crate) fn empty(dialect: Dialect) -> Self {
        let mut config = JobConfig::new(name(), 2);
        config.java = JavaSettings::of(dialect);
        config.cron = Some("0 0/10 * * * ?".to_owned());
        Self { dialect, config, nodes: Vec::new() }
    }

    pub(crate) fn config(mut self, change: impl FnOnce(&mut JobConfig)) -> Self {
        change(&mut self.config);
        self
    }

    fn put(mut self, path: &str, data: impl Into<String>, is_ephemeral: bool) -> Self {
        self.nodes.retain(|(known, ..)| known != path);
        self.nodes.push((path.to_owned(), data.into(), is_ephemeral));
        self
    }

    pub(crate) fn without(mut self, path: &str) -> Self {
        self.nodes.retain(|(known, ..)| known != path);
        self
    }

    pub(crate) fn server(self, n: u8, state: &str) -> Self {
        let enabled = if self.dialect == Dialect::V3 { "ENABLED" } else { "" };
        let state = if state.is_empty() { enabled } else { state };
        self.put(&format!("/servers/10.0.0.{n}"), state, false)
    }

    pub(crate) fn instance(self, n: u8, is_rust: bool) -> Self {
        let id = format!("10.0.0.{n}@-@{n}");
        let data = match (self.dialect, is_rust) {
            (Dialect::V2, true) => "RUST".to_owned(),
            (Dialect::V2, false) => String::new(),
            (Dialect::V3, is_rust) => {
                let mark = if is_rust { "# RUST\n" } else { "" };
                format!("jobInstanceId: {id}\nserverIp: 10.0.0.{n}\n{mark}")
            }
        };
        self.put(&format!("/instances/{id}"), data, true)
    }

    /// Removes the instance, as at the end of its session.
    pub(crate) fn killed(self, n: u8) -> Self {
        self.without(&format!("/instances/10.0.0.{n}@-@{n}"))
    }

    pub(crate) fn owner(self, item: u32, n: u8) -> Self {
        self.put(&format!("/sharding/{item}/instance"), format!("10.0.0.{n}@-@{n}"), false)
    }

    pub(crate) fn disabled(self, item: u32) -> Self {
        self.put(&format!("/sharding/{item}/disabled"), "", false)
    }

    /// Adds the mark of a run, as Java instances write it.
    pub(crate) fn mark(self, item: u32) -> Self {
        self.put(&format!("/sharding/{item}/running"), "", true)
    }

    /// Adds the marks of a run of instance `n` in 3.x with failover, of which one is persistent.
    pub(crate) fn lasting_mark(self, item: u32, n: u8) -> Self {
        let holder = format!("10.0.0.{n}@-@{n}");
        let marked = self.put(&format!("/sharding/{item}/running"), holder, false);
        marked.put(&format!("/sharding/{item}/alive"), "", true)
    }

    pub(crate) fn record(self, item: u32, record: &Value) -> Self {
        self.put(&format!("/ledger/{item}"), record.to_string(), false)
    }

    /// Adds the record of a further slot, such as `0.1`.
    pub(crate) fn slot_record(self, slot: &str, record: &Value) -> Self {
        self.put(&format!("/ledger/{slot}"), record.to_string(), false)
    }

    /// Adds the record of a run for a fire that ended; all times in seconds after noon.
    pub(crate) fn ended(self, item: u32, token: u64, outcome: &str, fire: i64, ended: i64) -> Self {
        let [fire, began, ended] = [fire, fire, ended].map(|s| at(s).as_millisecond());
        let failure = if outcome == "succeeded" { None } else { Some("disk full") };
        let record = json!({
            "v": 1, "state": "idle", "token": token, "last": fire, "config": 0,
            "outcome": outcome, "failed": u8::from(failure.is_some()), "began": began,
            "ended": ended,
        });
        let mut record = record;
        if let Some(failure) = failure {
            record["failure"] = failure.into();
        }
        self.record(item, &record)
    }

    /// Adds the record of a run of instance 1 that goes on.
    pub(crate) fn running(self, item: u32, token: u64, fire: i64, last: Option<&str>) -> Self {
        let fire = at(fire).as_millisecond();
        let mut record = json!({
            "v": 1, "state": "running", "holder": "10.0.0.1@-@1", "fire": fire,
            "source": "NORMAL", "token": token, "last": fire, "config": 0, "began": fire,
        });
        if let Some(last) = last {
            record["outcome"] = last.into();
        }
        self.record(item, &record)
    }

    pub(crate) fn snapshot(&self) -> JobSnapshot {
        let root = format!("/{}", self.config.job_name);
        let config = ("/config".to_owned(), encode_config(&self.config), false);
        let nodes = self.nodes.iter().chain([&config]).map(|(path, data, is_ephemeral)| Node {
            path: NodePath::parse(&format!("{root}{path}")).unwrap(),
            data: data.clone().into(),
            stat: Stat {
                version: Version(0),
                created: Revision(1),
                modified: Revision(1),
                modified_at: None,
                owner: is_ephemeral.then_some(SessionId(1)),
            },
        });
        JobSnapshot::of_nodes(&self.config.job_name, nodes.collect())
    }
}

/// A watcher's knowledge about one job.
pub(crate) struct Watched {
    pub(crate) file: WatchFile,
    pub(crate) memory: Memory,
    pub(crate) history: Option<HistoryFacts>,
}

impl Watched {
    /// Begins with one `[[expect]]` table for the job `report`, which has these further keys.
    pub(crate) fn new(keys: &str) -> Self {
        let file = WatchFile::parse(&format!("[[expect]]\njob = \"report\"\n{keys}\n")).unwrap();
        Self { file, memory: Memory::default(), history: None }
    }

    /// Observes the job at a time in seconds after noon, and judges all expectations.
    pub(crate) fn see(&mut self, job: Option<&Job>, seconds: i64) -> Vec<Assessment> {
        let expectations = self.file.expectations_of("report");
        let snapshot = job.map(Job::snapshot);
        self.memory.observe(snapshot.as_ref(), &expectations, at(seconds));
        let seen = Seen::new(snapshot.as_ref(), &self.memory).history(self.history.as_ref());
        evaluate(&expectations, seen, at(seconds))
    }

    /// Returns the state of one expectation after an observation, as text: the state, its time in
    /// seconds after noon, and its reason.
    pub(crate) fn state(&mut self, kind: ConditionKind, job: Option<&Job>, seconds: i64) -> String {
        let all = self.see(job, seconds);
        let found = all.iter().find(|assessment| assessment.expectation == kind).unwrap();
        shown(&found.state)
    }
}

pub(crate) fn shown(state: &State) -> String {
    let seconds = |time: &Timestamp| (time.as_millisecond() - noon().as_millisecond()) / 1_000;
    match state {
        State::Ok => "ok".to_owned(),
        State::Pending { until } => format!("pending until {}", seconds(until)),
        State::Violated { since, why } => format!("violated since {}: {why}", seconds(since)),
        State::Unknown { why } => format!("unknown: {why}"),
        State::Suspended { why } => format!("suspended: {why}"),
    }
}
