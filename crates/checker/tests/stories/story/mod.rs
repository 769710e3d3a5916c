//! Histories written as short stories: a correct cluster, and hooks to break it.
//!
//! The job `j` fires every ten seconds; fire `k` comes ten times `k` seconds after the beginning of
//! the story.

mod faults;
mod members;
mod runs;
pub(crate) mod verdict;

use std::collections::BTreeMap;

use checker::history::{Fact, Record, RegOp};
use serde_json::{Value, json};

/// Wall clock time at the beginning, in milliseconds since 1970; a multiple of ten seconds.
pub(crate) const T0: i64 = 1_700_000_000_000;

/// Hook that changes the next ledger record before it is written.
type Tamper = Box<dyn FnOnce(&mut Value)>;

pub(crate) struct Story {
    pub(crate) records: Vec<Record>,
    now: u64,
    zxid: i64,
    seqs: BTreeMap<(String, u32), u64>,
    versions: BTreeMap<String, i32>,
    ephemerals: BTreeMap<String, i64>,
    sessions: BTreeMap<String, (i64, String)>,
    next_session: i64,
    incs: BTreeMap<String, u32>,
    /// Records of items and of further slots.
    pub(crate) ledgers: BTreeMap<u32, Value>,
    owners: BTreeMap<u32, String>,
    pub(crate) config: Value,
    strategy: String,
    tamper: Option<Tamper>,
    /// Permit that the next claim or takeover takes.
    permit: Option<u32>,
    /// The last starts that the next claim writes.
    starts: Option<Value>,
    /// The permit of the group `db` that the next claim or takeover takes.
    group_permit: Option<u32>,
    /// The last starts of the group `db` that the next claim writes.
    group_starts: Option<Value>,
    hides_gaps: bool,
    rseq: u64,
}

pub(crate) const OPERATOR: i64 = 1;

/// Returns the scheduled fire time of fire `k`, in milliseconds since 1970.
pub(crate) fn fire(k: i64) -> i64 {
    T0 + k * 10_000
}

/// Distance between the numbers of two slots of an item, in the numbers that stories use.
const FURTHER: u32 = 1_000;

/// Returns the number by which stories identify a further slot of an item.
pub(crate) const fn further(item: u32, slot: u32) -> u32 {
    item + slot * FURTHER
}

/// Returns the item and the slot of such a number; an item has the slot 0.
pub(crate) const fn item_of(i: u32) -> (u32, u32) {
    (i % FURTHER, i / FURTHER)
}

/// Returns the name of an item or a further slot in paths.
pub(crate) fn name(i: u32) -> String {
    match item_of(i) {
        (item, 0) => item.to_string(),
        (item, slot) => format!("{item}.{slot}"),
    }
}

impl Story {
    /// Starts a story with a job of `total` items and no instances.
    pub(crate) fn job(total: u32) -> Self {
        Self::requiring(total, &[])
    }

    pub(crate) fn requiring(total: u32, require: &[(&str, u64)]) -> Self {
        let config = json!({
            "jobName": "j", "jobType": "SIMPLE", "cron": "0/10 * * * * ?",
            "shardingTotalCount": total, "failover": true, "misfire": true,
            "monitorExecution": true, "jobShardingStrategyClass": ""
        });
        let mut story = Self {
            records: Vec::new(),
            now: 0,
            zxid: 0,
            seqs: BTreeMap::new(),
            versions: BTreeMap::new(),
            ephemerals: BTreeMap::new(),
            sessions: BTreeMap::new(),
            next_session: 100,
            incs: BTreeMap::new(),
            ledgers: BTreeMap::new(),
            owners: BTreeMap::new(),
            config,
            strategy: String::new(),
            tamper: None,
            permit: None,
            starts: None,
            group_permit: None,
            group_starts: None,
            hides_gaps: false,
            rseq: 0,
        };
        let require = require.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        story.says(
            "nemesis",
            Fact::RunMeta {
                v: 1,
                run: "story".into(),
                seed: None,
                backend: "embedded".into(),
                session_timeout_ms: 4_000,
                require,
                params: BTreeMap::new(),
            },
        );
        story.says("registry", Fact::SessionOpened { sid: OPERATOR, owner: String::new() });
        story.configure(|_| {});
        story
    }

    /// Starts a story with the instances `a` and `b` at 2 s. `a` leads; items are assigned in turn,
    /// beginning with `a`.
    pub(crate) fn cluster(total: u32) -> Self {
        let mut story = Self::job(total);
        story.at(0.1).join("a").join("b").at(0.5).lead("a");
        story.at(1.0).assign(&["a", "b"]);
        story.at(2.0);
        story
    }

    /// Sets the clock to a number of seconds after the beginning.
    pub(crate) fn at(&mut self, seconds: f64) -> &mut Self {
        let now = u64::try_from(std::time::Duration::from_secs_f64(seconds).as_nanos()).unwrap();
        assert!(now >= self.now, "a story cannot go back in time");
        self.now = now;
        self
    }

    pub(crate) fn says(&mut self, p: &str, fact: Fact) -> &mut Self {
        let inc = self.incs.get(p).copied().unwrap_or(0);
        let seq = self.seqs.entry((p.to_owned(), inc)).or_default();
        let wt = T0 + (self.now / 1_000_000) as i64;
        self.records.push(Record { p: p.into(), inc, seq: *seq, mt: self.now, wt, fact });
        *seq += 1;
        self.now += 1_000_000;
        self
    }

    pub(crate) fn id(&self, p: &str) -> String {
        self.sessions[p].1.clone()
    }

    pub(crate) fn sid(&self, p: &str) -> i64 {
        if p == "operator" { OPERATOR } else { self.sessions[p].0 }
    }

    /// Writes a node, and creates it if it does not exist; data `None` deletes it.
    pub(crate) fn put(
        &mut self,
        sid: i64,
        path: &str,
        data: Option<String>,
        ephemeral: bool,
    ) -> RegOp {
        let path = path.to_owned();
        let Some(data) = data else {
            self.versions.remove(&path);
            self.ephemerals.remove(&path);
            return RegOp::Delete { path };
        };
        match self.versions.get_mut(&path) {
            Some(version) => {
                *version += 1;
                RegOp::Set { path, ver: *version, data }
            }
            None => {
                self.versions.insert(path.clone(), 0);
                if ephemeral {
                    self.ephemerals.insert(path.clone(), sid);
                }
                RegOp::Create { path, data, ephemeral }
            }
        }
    }

    pub(crate) fn check(&self, path: &str) -> RegOp {
        RegOp::Check { path: path.into(), ver: Some(self.versions[path]) }
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.versions.contains_key(path)
    }

    /// Returns the next revision of the registry.
    pub(crate) fn next_revision(&mut self) -> i64 {
        self.zxid += 1;
        self.zxid
    }

    pub(crate) fn commit(&mut self, p: &str, ops: Vec<RegOp>) -> &mut Self {
        let (zxid, sid) = (self.next_revision(), self.sid(p));
        self.says("registry", Fact::Reg { zxid, sid, ops })
    }

    /// Writes one node in a transaction of its own.
    pub(crate) fn write(&mut self, p: &str, path: &str, data: Option<&str>) -> &mut Self {
        let op = self.put(self.sid(p), path, data.map(ToOwned::to_owned), false);
        self.commit(p, vec![op])
    }

    /// An operator changes the configuration.
    pub(crate) fn configure(&mut self, change: impl FnOnce(&mut Value)) -> &mut Self {
        change(&mut self.config);
        self.strategy = self.config["jobShardingStrategyClass"].as_str().unwrap().to_owned();
        let text = self.config.to_string();
        self.write("operator", "/j/config", Some(&text))
    }

    pub(crate) fn config_version(&self) -> u32 {
        self.versions["/j/config"] as u32
    }

    pub(crate) fn server(&self, p: &str) -> String {
        format!("10.0.0.{}", p.bytes().next().unwrap() - b'a' + 1)
    }

    /// Makes the story ignore that a node exists, so that later steps do not touch it.
    pub(crate) fn forget(&mut self, path: &str) -> Option<i32> {
        self.versions.remove(path)
    }

    /// Takes back the last write of a node that is not committed.
    pub(crate) fn versions_back(&mut self, path: &str) {
        let version = self.forget(path).map(|version| version - 1);
        self.remember(path, version);
    }

    pub(crate) fn remember(&mut self, path: &str, version: Option<i32>) {
        self.versions.extend(version.map(|version| (path.to_owned(), version)));
    }
}
