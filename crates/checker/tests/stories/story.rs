//! Histories told in a few words: a cluster that behaves, and hooks to make it misbehave.
//!
//! The job `j` fires every ten seconds; fire `k` is ten times `k` seconds after the beginning of the story.

use std::collections::BTreeMap;

use checker::history::{
    ExecEvent, Fact, FaultOutcome, NemesisEvent, ProcessEvent, Record, RegOp, RunId, SessionEvent,
};
use checker::{History, Options, Property, Report, Verdict, check};
use serde_json::{Value, json};

/// The wall clock at the beginning, a multiple of ten seconds.
pub(crate) const T0: i64 = 1_700_000_000_000;

/// A hook that changes the next record of an item before it is written.
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
    pub(crate) ledgers: BTreeMap<u32, Value>,
    owners: BTreeMap<u32, String>,
    pub(crate) config: Value,
    strategy: String,
    tamper: Option<Tamper>,
    rseq: u64,
}

pub(crate) const OPERATOR: i64 = 1;

/// Fire `k`, in milliseconds since 1970.
pub(crate) fn fire(k: i64) -> i64 {
    T0 + k * 10_000
}

impl Story {
    /// A job with this many items and nobody there yet.
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

    /// Two instances `a` and `b`; `a` leads; items are dealt out in turn, from `a` on. It is 2 s.
    pub(crate) fn cluster(total: u32) -> Self {
        let mut story = Self::job(total);
        story.at(0.1).join("a").join("b").at(0.5).lead("a");
        story.at(1.0).deal(&["a", "b"]);
        story.at(2.0);
        story
    }

    /// Moves the clock to so many seconds after the beginning.
    pub(crate) fn at(&mut self, seconds: f64) -> &mut Self {
        let now = u64::try_from(std::time::Duration::from_secs_f64(seconds).as_nanos()).unwrap();
        assert!(now >= self.now, "the story goes forward");
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

    /// Writes a node, created if it is not there; data `None` deletes it.
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

    pub(crate) fn commit(&mut self, p: &str, ops: Vec<RegOp>) -> &mut Self {
        self.zxid += 1;
        let (zxid, sid) = (self.zxid, self.sid(p));
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

    /// A process starts and registers; a later life of it if it was there before.
    pub(crate) fn join(&mut self, p: &str) -> &mut Self {
        if self.seqs.keys().any(|(name, _)| name == p) {
            *self.incs.entry(p.into()).or_default() += 1;
        }
        let server = self.server(p);
        self.says(p, Fact::Process { ev: ProcessEvent::Start, server: server.clone() });
        self.connect(p);
        self.says(p, Fact::Process { ev: ProcessEvent::Ready, server })
    }

    /// A process opens a session and registers in it.
    pub(crate) fn connect(&mut self, p: &str) -> &mut Self {
        let sid = self.next_session;
        self.next_session += 1;
        let (server, id) = (self.server(p), format!("{}@-@{sid}", self.server(p)));
        self.sessions.insert(p.into(), (sid, id.clone()));
        self.says("registry", Fact::SessionOpened { sid, owner: p.into() });
        let ev = SessionEvent::Connected;
        self.says(p, Fact::Session { ev, sid, instance: Some(id.clone()) });
        let mut ops = Vec::new();
        if !self.has(&format!("/j/servers/{server}")) {
            ops.push(self.put(sid, &format!("/j/servers/{server}"), Some(String::new()), false));
        }
        ops.push(self.put(sid, &format!("/j/instances/{id}"), Some(String::new()), true));
        ops.push(self.put(sid, "/j/coordination/request", Some(String::new()), false));
        self.commit(p, ops)
    }

    pub(crate) fn lead(&mut self, p: &str) -> &mut Self {
        let (sid, id) = self.sessions[p].clone();
        let term = Some(json!({ "leader": id }).to_string());
        let ops = vec![
            self.check(&format!("/j/instances/{id}")),
            self.put(sid, "/j/leader/election/instance", Some(id), true),
            self.put(sid, "/j/coordination/term", term, false),
        ];
        self.commit(p, ops)
    }

    /// Operations of the leader that give each item to its new owner; busy ones wait.
    pub(crate) fn deal_ops(&mut self, leader: &str, members: &[&str]) -> Vec<RegOp> {
        let total = u32::try_from(self.config["shardingTotalCount"].as_u64().unwrap()).unwrap();
        let sid = self.sid(leader);
        let mut ops = vec![self.check("/j/coordination/term")];
        let mut pending: BTreeMap<String, Vec<(u32, u32)>> = BTreeMap::new();
        for i in 0..total {
            let owner = self.id(members[i as usize % members.len()]);
            let state = self.ledgers.get(&i).map(|ledger| ledger["state"].clone());
            if self.owners.get(&i) != Some(&owner) && state.as_ref().is_some_and(is_busy) {
                pending.entry(owner).or_default().push((i, i));
                continue;
            }
            if state.is_none() || state == Some(json!("retired")) {
                let born = self.ledgers.values().filter_map(|l| l["last"].as_i64()).max();
                let mut ledger = self.ledgers.get(&i).cloned().unwrap_or(json!({ "token": 0 }));
                ledger["state"] = json!("idle");
                if let Some(born) = born {
                    ledger["last"] = json!(born);
                }
                let op = self.ledger_op(sid, i, ledger);
                ops.push(op);
            }
            if self.owners.get(&i) != Some(&owner) {
                self.owners.insert(i, owner.clone());
                ops.push(self.put(sid, &format!("/j/sharding/{i}/instance"), Some(owner), false));
            }
        }
        let surplus: Vec<_> = self.ledgers.keys().copied().filter(|i| *i >= total).collect();
        for i in surplus {
            let mut ledger = self.ledgers[&i].clone();
            if is_busy(&ledger["state"]) || ledger["state"] == "retired" {
                continue;
            }
            ledger["state"] = json!("retired");
            let op = self.ledger_op(sid, i, ledger);
            ops.push(op);
            if self.owners.remove(&i).is_some() {
                ops.push(self.put(sid, &format!("/j/sharding/{i}/instance"), None, false));
            }
        }
        let members: Vec<_> = members.iter().map(|p| self.id(p)).collect();
        let handled = self.versions["/j/coordination/request"];
        let record = json!({
            "members": members, "total": total, "strategy": self.strategy,
            "handled": handled, "pending": pending
        });
        ops.push(self.put(sid, "/j/coordination/assignment", Some(record.to_string()), false));
        ops
    }

    /// The leader deals the items out in turn; the first member leads.
    pub(crate) fn deal(&mut self, members: &[&str]) -> &mut Self {
        let leader = members[0].to_owned();
        self.deal_by(&leader, members)
    }

    pub(crate) fn deal_by(&mut self, leader: &str, members: &[&str]) -> &mut Self {
        let ops = self.deal_ops(leader, members);
        self.commit(leader, ops)
    }

    /// Changes the next record of an item that is written.
    pub(crate) fn tamper(&mut self, change: impl FnOnce(&mut Value) + 'static) -> &mut Self {
        self.tamper = Some(Box::new(change));
        self
    }

    pub(crate) fn ledger_op(&mut self, sid: i64, i: u32, mut ledger: Value) -> RegOp {
        if let Some(tamper) = self.tamper.take() {
            tamper(&mut ledger);
        }
        let text = ledger.to_string();
        self.ledgers.insert(i, ledger);
        self.put(sid, &format!("/j/ledger/{i}"), Some(text), false)
    }

    /// Writes the record of an item, changed from what it was.
    pub(crate) fn ledger(&mut self, p: &str, i: u32, change: impl FnOnce(&mut Value)) -> &mut Self {
        let mut ledger = self.ledgers[&i].clone();
        change(&mut ledger);
        let op = self.ledger_op(self.sid(p), i, ledger);
        self.commit(p, vec![op])
    }

    pub(crate) fn mark(&mut self, p: &str, path: &str, present: bool) -> Option<RegOp> {
        let there = self.has(path);
        let ephemeral = path.ends_with("running") || path.ends_with("failover");
        (there != present)
            .then(|| self.put(self.sid(p), path, present.then(String::new), ephemeral))
    }

    /// Commits a claim of fire `k`, without running it.
    pub(crate) fn only_claim(&mut self, p: &str, i: u32, source: &str, at: i64) -> &mut Self {
        let (sid, id) = self.sessions[p].clone();
        let mut ledger = self.ledgers[&i].clone();
        let noted = ledger.get("misfire").cloned();
        let map = ledger.as_object_mut().unwrap();
        map.retain(|key, _| !["merged", "misfire"].contains(&key.as_str()) || source == "MANUAL");
        if let Some(noted) = noted.filter(|_| source != "MANUAL") {
            let count = noted["count"].as_i64().unwrap() + i64::from(source == "NORMAL");
            ledger["merged"] = json!({ "first": noted["first"], "last": at, "count": count });
        }
        if source != "MANUAL" && ledger["last"].as_i64().is_none_or(|last| last < at) {
            ledger["previous"] = ledger["last"].clone();
            ledger["last"] = json!(at);
        }
        ledger["state"] = json!("running");
        ledger["holder"] = json!(id);
        ledger["fire"] = json!(at);
        ledger["source"] = json!(source);
        ledger["token"] = json!(ledger["token"].as_u64().unwrap() + 1);
        ledger["config"] = json!(self.config_version());
        let mut ops = vec![self.check(&format!("/j/instances/{id}"))];
        ops.push(self.ledger_op(sid, i, ledger));
        ops.extend(self.mark(p, &format!("/j/sharding/{i}/running"), true));
        ops.extend(self.mark(
            p,
            &format!("/j/sharding/{i}/misfire"),
            source == "MANUAL" && self.has(&format!("/j/sharding/{i}/misfire")),
        ));
        self.commit(p, ops)
    }

    /// Claims fire `k` and begins to run it.
    pub(crate) fn claim(&mut self, p: &str, i: u32, k: i64) -> &mut Self {
        self.claim_as(p, i, "NORMAL", fire(k))
    }

    pub(crate) fn claim_as(&mut self, p: &str, i: u32, source: &str, at: i64) -> &mut Self {
        self.only_claim(p, i, source, at).start(p, i)
    }

    pub(crate) fn run_id(&self, i: u32) -> RunId {
        let ledger = &self.ledgers[&i];
        let number = |key: &str| ledger[key].as_i64().unwrap_or_default();
        RunId { job: "j".into(), item: i, fire: number("fire"), token: number("token") as u64 }
    }

    /// The code of an item begins, as its record says.
    pub(crate) fn start(&mut self, p: &str, i: u32) -> &mut Self {
        let source = self.ledgers[&i]["source"].as_str().unwrap_or("NORMAL").to_owned();
        let (run, cfg) = (self.run_id(i), self.config_version());
        self.says(p, Fact::Exec { ev: ExecEvent::Start, run, source, cfg, result: None })
    }

    pub(crate) fn stop(&mut self, p: &str, i: u32, result: &str) -> &mut Self {
        let run = self.run_id(i);
        self.stop_run(p, run, result)
    }

    pub(crate) fn stop_run(&mut self, p: &str, run: RunId, result: &str) -> &mut Self {
        let result = Some(result.to_owned());
        let source = self.ledgers[&run.item]["source"].as_str().unwrap_or("NORMAL").to_owned();
        let cfg = self.config_version();
        self.says(p, Fact::Exec { ev: ExecEvent::End, run, source, cfg, result })
    }

    /// Records how a run ended.
    pub(crate) fn release(&mut self, p: &str, i: u32, outcome: &str) -> &mut Self {
        let mut ledger = self.ledgers[&i].clone();
        ledger["state"] = json!("idle");
        ledger["outcome"] = json!(outcome);
        let mut ops = vec![self.ledger_op(self.sid(p), i, ledger)];
        ops.extend(self.mark(p, &format!("/j/sharding/{i}/running"), false));
        ops.extend(self.mark(p, &format!("/j/sharding/{i}/failover"), false));
        self.commit(p, ops)
    }

    /// The run ends well, which is recorded.
    pub(crate) fn done(&mut self, p: &str, i: u32) -> &mut Self {
        self.stop(p, i, "ok").release(p, i, "succeeded")
    }

    pub(crate) fn effect(&mut self, i: u32, accepted: bool) -> &mut Self {
        let run = self.run_id(i);
        self.effect_of(run, accepted)
    }

    pub(crate) fn effect_of(&mut self, run: RunId, accepted: bool) -> &mut Self {
        self.rseq += 1;
        let rseq = self.rseq;
        self.says("resource", Fact::Effect { run, accepted, rseq })
    }

    /// The run of an item tells the resource that it begins.
    pub(crate) fn told(&mut self, i: u32, accepted: bool) -> &mut Self {
        let run = self.run_id(i);
        self.told_of(run, accepted)
    }

    pub(crate) fn told_of(&mut self, run: RunId, accepted: bool) -> &mut Self {
        self.rseq += 1;
        let rseq = self.rseq;
        self.says("resource", Fact::Announced { run, accepted, rseq })
    }

    /// All items of all owners run fire `k`, one second long.
    pub(crate) fn round(&mut self, k: i64) -> &mut Self {
        let owners: Vec<_> = self.owners.clone().into_iter().collect();
        let process = |story: &Self, id: &str| {
            story.sessions.iter().find(|(_, (_, of))| of == id).map(|(p, _)| p.clone()).unwrap()
        };
        self.at(k as f64 * 10.0 + 0.01);
        for (i, id) in &owners {
            let p = process(self, id);
            self.claim(&p, *i, k);
        }
        self.at(k as f64 * 10.0 + 1.0);
        for (i, id) in &owners {
            let p = process(self, id);
            self.done(&p, *i);
        }
        self
    }

    /// A fire met the running item and is noted.
    pub(crate) fn note(&mut self, p: &str, i: u32, k: i64) -> &mut Self {
        let at = fire(k);
        let mut ledger = self.ledgers[&i].clone();
        ledger["misfire"] = match ledger.get("misfire").and_then(|m| m["first"].as_i64()) {
            Some(first) => {
                json!({ "first": first, "last": at, "count": (at - first) / 10_000 + 1 })
            }
            None => json!({ "first": at, "last": at, "count": 1 }),
        };
        let mut ops = vec![self.ledger_op(self.sid(p), i, ledger)];
        ops.extend(self.mark(p, &format!("/j/sharding/{i}/misfire"), true));
        self.commit(p, ops)
    }

    pub(crate) fn nemesis(&mut self, ev: NemesisEvent, kind: &str, target: &str) -> &mut Self {
        let (kind, target) = (kind.to_owned(), target.to_owned());
        let outcome = FaultOutcome::Installed;
        self.says("nemesis", Fact::Nemesis { ev, kind, target, outcome, why: String::new() })
    }

    pub(crate) fn crash(&mut self, p: &str) -> &mut Self {
        self.nemesis(NemesisEvent::Point, "crash", p)
    }

    pub(crate) fn begin(&mut self, kind: &str, p: &str) -> &mut Self {
        self.nemesis(NemesisEvent::Begin, kind, p)
    }

    /// The clock of a process is wrong by so many milliseconds from now on.
    pub(crate) fn skew(&mut self, p: &str, ms: i64) -> &mut Self {
        let (kind, target, why) = ("skew".to_owned(), p.to_owned(), format!("ms={ms}"));
        let (ev, outcome) = (NemesisEvent::Begin, FaultOutcome::Installed);
        self.says("nemesis", Fact::Nemesis { ev, kind, target, outcome, why })
    }

    pub(crate) fn over(&mut self, kind: &str, p: &str) -> &mut Self {
        self.nemesis(NemesisEvent::End, kind, p)
    }

    /// The registry ends the session of a process.
    pub(crate) fn expire(&mut self, p: &str) -> &mut Self {
        let sid = self.sid(p);
        let gone: Vec<_> = self
            .ephemerals
            .iter()
            .filter(|(_, of)| **of == sid)
            .map(|(path, _)| path.clone())
            .collect();
        for path in &gone {
            self.versions.remove(path);
            self.ephemerals.remove(path);
        }
        self.zxid += 1;
        let zxid = self.zxid;
        self.says("registry", Fact::SessClose { zxid, sid, ephemerals: gone })
    }

    /// The leader finds a run without a holder.
    pub(crate) fn sweep(&mut self, leader: &str, i: u32) -> &mut Self {
        let sid = self.sid(leader);
        let mut ledger = self.ledgers[&i].clone();
        ledger["state"] = json!("orphan");
        let ops = vec![
            self.check("/j/coordination/term"),
            self.ledger_op(sid, i, ledger),
            self.put(sid, &format!("/j/leader/failover/items/{i}"), Some(String::new()), false),
        ];
        self.commit(leader, ops)
    }

    pub(crate) fn only_take_over(&mut self, p: &str, i: u32) -> &mut Self {
        let (sid, id) = self.sessions[p].clone();
        let mut ledger = self.ledgers[&i].clone();
        ledger["state"] = json!("running");
        ledger["holder"] = json!(id);
        ledger["source"] = json!("FAILOVER");
        ledger["token"] = json!(ledger["token"].as_u64().unwrap() + 1);
        ledger["config"] = json!(self.config_version());
        let mut ops = vec![self.ledger_op(sid, i, ledger)];
        ops.extend(self.mark(p, &format!("/j/sharding/{i}/running"), true));
        ops.extend(self.mark(p, &format!("/j/sharding/{i}/failover"), true));
        ops.extend(self.mark(p, &format!("/j/leader/failover/items/{i}"), false));
        self.commit(p, ops)
    }

    pub(crate) fn take_over(&mut self, p: &str, i: u32) -> &mut Self {
        self.only_take_over(p, i).start(p, i)
    }

    /// A process says something about its own life.
    pub(crate) fn process(&mut self, p: &str, ev: ProcessEvent) -> &mut Self {
        let server = self.server(p);
        self.says(p, Fact::Process { ev, server })
    }

    /// A process begins to leave.
    pub(crate) fn drain(&mut self, p: &str) -> &mut Self {
        self.process(p, ProcessEvent::Drain);
        let (sid, id) = self.sessions[p].clone();
        let ops = vec![
            self.put(sid, &format!("/j/coordination/draining/{id}"), Some(String::new()), true),
            self.put(sid, "/j/coordination/request", Some(String::new()), false),
        ];
        self.commit(p, ops)
    }

    /// A process takes itself out and says that it has left.
    pub(crate) fn leave(&mut self, p: &str) -> &mut Self {
        let (sid, id) = self.sessions[p].clone();
        let mut ops = Vec::new();
        for path in [
            "/j/leader/election/instance".to_owned(),
            format!("/j/coordination/draining/{id}"),
            format!("/j/instances/{id}"),
        ] {
            if self.ephemerals.get(&path) == Some(&sid) {
                ops.push(self.put(sid, &path, None, true));
            }
        }
        ops.push(self.put(sid, "/j/coordination/request", Some(String::new()), false));
        self.commit(p, ops).process(p, ProcessEvent::Left).expire(p)
    }

    pub(crate) fn heal(&mut self) -> &mut Self {
        self.says("nemesis", Fact::Healed)
    }

    pub(crate) fn once(&mut self, p: &str, stage: &str, k: i64, token: u64) -> &mut Self {
        let (job, stage) = ("j".to_owned(), stage.to_owned());
        self.says(p, Fact::Once { job, fire: fire(k), stage, token })
    }

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

fn is_busy(state: &Value) -> bool {
    state == "running" || state == "orphan"
}

/// Which properties a report finds broken.
pub(crate) fn broken(report: &Report) -> Vec<Property> {
    let mut broken: Vec<_> = report.violations.iter().map(|violation| violation.property).collect();
    broken.sort();
    broken.dedup();
    broken
}

/// A row: what is told after a cluster of two instances and two items has begun, at 2 s.
pub(crate) type Row = (&'static str, fn(&mut Story));

/// Each story breaks this property, and none that is not named.
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
            (!report.problems.is_empty()).then(|| "not acceptable".to_owned())
        }
    };
    assert_all(property, rows, wrong);
}

/// Each story looks suspicious and is right.
pub(crate) fn assert_good(property: Property, rows: &[Row]) {
    assert!(rows.len() >= 3, "{property}: at least three good stories");
    let wrong =
        |report: &Report| (report.verdict != Verdict::Valid).then(|| "not valid".to_owned());
    assert_all(property, rows, wrong);
}

/// Tells all stories, and fails with what is wrong about the verdicts.
fn assert_all(property: Property, rows: &[Row], wrong: impl Fn(&Report) -> Option<String>) {
    let failure = |(case, tell): &Row| {
        let mut story = Story::cluster(2);
        tell(&mut story);
        let report = story.judge();
        wrong(&report).map(|wrong| format!("{property}: {case}: {wrong}\n{report}"))
    };
    let failures: Vec<_> = rows.iter().filter_map(failure).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

impl Story {
    /// Forgets that a node is there, so that nothing touches it.
    pub(crate) fn forget(&mut self, path: &str) -> Option<i32> {
        self.versions.remove(path)
    }

    pub(crate) fn remember(&mut self, path: &str, version: Option<i32>) {
        self.versions.extend(version.map(|version| (path.to_owned(), version)));
    }
}
