//! Replays the registry's log, revision by revision.

mod apply;
mod assignment;
mod backfill;
mod claim;
mod claimability;
mod decode;
mod expiry;
mod group;
pub(crate) mod job;
mod judge;
mod leader;
mod leave;
mod ledger;
pub(crate) mod nodes;
mod placement;
pub(crate) mod session;
mod slots;
pub(crate) mod trace;
mod watch;

use crate::Property::{self, S24};
use crate::history::{Fact, NemesisEvent, Record, RegOp};
use crate::names::Names;
use crate::options::{Bounds, Options};
use crate::tally::Tally;
use crate::tree::Kind;
use crate::violation::{Subject, Violation};
use group::{GroupWrite, Groups};
use job::Job;
use judge::{Judge, Txn, Write};
use nodes::{JobIndex, Nodes, Step};
use session::Sessions;
use trace::{Spot, Trace};
use watch::Watch;

/// Judges a history record by record, and reports each broken promise at the revision that breaks
/// it.
///
/// It judges the promises that the registry's log shows: S1, S1a, S2, S4–S12, S15, S16, S18,
/// S19 and S21 to S24, and L1–L3 and L7 after healing.
/// Promises about the job's code, the resource or the schedule need the complete history: see
/// [`check`](crate::check).
///
/// # Examples
/// ```
/// use checker::{Options, Property, Replay};
/// use checker::history::{Fact, Record, RegOp};
///
/// let mut replay = Replay::new(Options::default());
/// let data = |state: &str, token| format!(r#"{{"state":"{state}","token":{token}}}"#);
/// let path = "/report/ledger/0".to_owned();
/// let ops = [
///     RegOp::Create { path: path.clone(), data: data("idle", 4), ephemeral: false },
///     RegOp::Set { path, ver: 1, data: data("idle", 3) },
/// ];
/// let found: Vec<_> = (0..).zip(ops).flat_map(|(seq, op)| {
///     let fact = Fact::Reg { zxid: 1 + seq as i64, sid: 7, ops: vec![op] };
///     replay.apply(&Record { p: "registry".into(), inc: 0, seq, mt: seq, wt: 0, fact })
/// }).collect();
/// assert!(found.iter().any(|violation| violation.property == Property::S1));
/// ```
#[derive(Clone, Debug)]
pub struct Replay {
    pub(crate) bounds: Bounds,
    options: Options,
    pub(crate) names: Names,
    pub(crate) nodes: Nodes,
    pub(crate) sessions: Sessions,
    pub(crate) jobs: Vec<Job>,
    pub(crate) groups: Groups,
    pub(crate) trace: Trace,
    pub(crate) tally: Tally,
    watch: Watch,
    records: usize,
    spot: Spot,
    zxid: Option<i64>,
    found: Vec<Violation>,
    problems: Vec<String>,
}

impl Replay {
    /// Returns a replay without any records.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            bounds: options.bounds(0),
            options,
            names: Names::default(),
            nodes: Nodes::default(),
            sessions: Sessions::default(),
            jobs: Vec::new(),
            groups: Groups::new(),
            trace: Trace::default(),
            tally: Tally::default(),
            watch: Watch::default(),
            records: 0,
            spot: Spot::default(),
            zxid: None,
            found: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Applies the next record and returns the violations that it shows.
    ///
    /// Records come in the order of [`History::records`](crate::History::records).
    pub fn apply(&mut self, record: &Record) -> Vec<Violation> {
        self.spot = Spot { record: self.records, mt: record.mt, zxid: None };
        self.records += 1;
        match &record.fact {
            Fact::RunMeta { session_timeout_ms, .. } => {
                self.bounds = self.options.bounds(*session_timeout_ms);
            }
            Fact::SessionOpened { sid, owner } => {
                let session = self.sessions.entry(*sid);
                (session.owner, session.opened) = (Some(owner.clone()), Some(record.mt));
            }
            Fact::Session { sid, .. } => {
                let process_start =
                    session::ProcessStart { process: record.p.clone(), inc: record.inc };
                self.sessions.entry(*sid).process_start = Some(process_start);
            }
            Fact::Reg { zxid, sid, ops } => self.commit(*zxid, *sid, ops),
            Fact::SessClose { zxid, sid, ephemerals } => self.close(*zxid, *sid, ephemerals),
            Fact::Process { ev, .. } => self.process(&record.p, record.inc, *ev),
            Fact::Nemesis { ev: NemesisEvent::Begin | NemesisEvent::Point, .. } => {
                self.watch.disturbed(record.mt);
            }
            Fact::Healed => {
                self.watch.healed(record.mt);
                (0..self.jobs.len()).for_each(|job| self.update_conditions(job));
            }
            Fact::End => self.end(),
            Fact::Nemesis { ev: NemesisEvent::End, .. }
            | Fact::Fire { .. }
            | Fact::Event { .. }
            | Fact::Missed { .. }
            | Fact::Gap { .. }
            | Fact::Exec { .. }
            | Fact::Announced { .. }
            | Fact::Held { .. }
            | Fact::Effect { .. }
            | Fact::Once { .. }
            | Fact::Operator { .. }
            | Fact::HarnessFailure { .. } => {}
        }
        std::mem::take(&mut self.found)
    }

    /// Returns contradictions in the log. They are failures of the harness.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    fn problem(&mut self, text: impl std::fmt::Display) {
        // Later problems are consequences of the first ones.
        if self.problems.len() < 20 {
            self.problems.push(format!("record {}: {text}", self.spot.record));
        }
    }

    fn revision(&mut self, zxid: i64) {
        self.spot.zxid = Some(zxid);
        if self.zxid.is_some_and(|last| last >= zxid) {
            self.problem(format_args!(
                "revision {zxid} comes after {}",
                self.zxid.unwrap_or_default()
            ));
        }
        self.zxid = Some(zxid);
    }

    fn commit(&mut self, zxid: i64, sid: i64, ops: &[RegOp]) {
        self.revision(zxid);
        if self.sessions.is_closed(sid) {
            self.problem(format_args!("session {sid} commits after its end"));
        }
        let mut steps = Vec::with_capacity(ops.len());
        let of_groups = GroupWrite::of(ops);
        let mut ops = ops.iter().peekable();
        while let Some(op) = ops.next() {
            let reverted = ops.next_if(|next| reverts(op, next));
            for op in std::iter::once(op).chain(reverted) {
                match self.nodes.apply(op, sid, &mut self.names) {
                    Ok(step) if reverted.is_none() => steps.extend(step),
                    Ok(_) => {}
                    Err(problem) => self.problem(problem),
                }
            }
        }
        self.steps(sid, &steps, &of_groups);
        if !of_groups.is_empty() {
            self.apply_to_groups(&of_groups);
        }
    }

    fn close(&mut self, zxid: i64, sid: i64, ephemerals: &[String]) {
        self.revision(zxid);
        self.sessions.entry(sid).closed = Some(self.spot.mt);
        let mut steps = Vec::with_capacity(ephemerals.len());
        for path in ephemerals {
            match self.nodes.end(path, sid) {
                Ok(step) => steps.extend(step),
                Err(problem) => self.problem(problem),
            }
        }
        let left = self.nodes.of_session(sid).next().map(ToOwned::to_owned);
        if let Some(path) = left {
            self.problem(format_args!("{path} still exists although session {sid} has ended"));
        }
        let jobs = jobs_of(&steps);
        for job in jobs {
            let txn = self.txn(job, sid, &steps);
            self.apply_txn(job, &txn);
        }
        let of_groups = GroupWrite::ended(ephemerals);
        if !of_groups.is_empty() {
            self.apply_to_groups(&of_groups);
        }
        // The end of a holder's session changes no node of its runs, so every job is checked.
        (0..self.jobs.len()).for_each(|job| self.update_conditions(job));
    }

    /// Judges and applies a transaction, job by job.
    fn steps(&mut self, sid: i64, steps: &[Step<'_>], of_groups: &[GroupWrite<'_>]) {
        for job in jobs_of(steps) {
            let txn = Txn { of_groups: of_groups.to_vec(), ..self.txn(job, sid, steps) };
            if txn.writes.is_empty() {
                continue;
            }
            if !txn.by_operator {
                self.judge(job, &txn, |judge| judge.before());
            }
            self.apply_txn(job, &txn);
            self.update_group(job);
            let assigns =
                |write: &Write<'_>| matches!(write, Write::Assignment(_) | Write::Owner(..));
            if txn.writes.iter().any(assigns) {
                self.judge(job, &txn, |judge| judge.complete());
                // Operators may give an item to any instance; the leader takes it back.
                if !txn.by_operator {
                    self.judge(job, &txn, |judge| judge.placed());
                }
            }
            self.update_conditions(job);
        }
    }

    fn judge(&mut self, job: JobIndex, txn: &Txn<'_>, rules: impl FnOnce(&mut Judge<'_>)) {
        let mut judge = Judge {
            name: self.nodes.job_name(job),
            job: &self.jobs[job],
            txn,
            groups: &self.groups,
            sessions: &self.sessions,
            names: &self.names,
            trace: &self.trace,
            bounds: self.bounds,
            spot: self.spot,
            tally: &mut self.tally,
            found: &mut self.found,
        };
        rules(&mut judge);
    }

    fn violate(&mut self, property: Property, subject: Subject, message: String, since: usize) {
        let mut evidence = vec![since, self.spot.record];
        evidence.dedup();
        let at = self.spot.into();
        let window = Vec::new();
        self.found.push(Violation { property, at, subject, message, evidence, window });
    }
}

impl Judge<'_> {
    /// Applies the rules about a transaction and the revision before it.
    fn before(&mut self) {
        let txn = self.txn;
        self.election();
        self.returned_permits();
        self.owners_change_with_assignment();
        let mut as_leader = None;
        for (place, write) in txn.writes.iter().enumerate() {
            match write {
                Write::Owner(item, owner) => {
                    as_leader = Some("changes owners");
                    self.owner(*item, *owner);
                }
                Write::Assignment(Some(Ok(new))) => {
                    as_leader = Some("writes the assignment");
                    self.inputs(new);
                }
                Write::Assignment(_) => as_leader = Some("writes the assignment"),
                Write::Ledger(item, after) => {
                    if self.record(*item, place, after.as_ref()) {
                        as_leader = Some("changes a record in a way reserved for the leader");
                    }
                }
                Write::Progress(item, Some(token)) => self.progress(*item, token),
                Write::Backfills(new) => {
                    as_leader = Some("writes the log of backfills");
                    let new = new.as_ref().and_then(|new| new.as_ref().ok());
                    self.backfill_progress(new.map_or(&[], Vec::as_slice));
                }
                Write::Instance(id, None) => self.deregisters(*id),
                Write::Server(ip, None) => {
                    as_leader = Some("removes a server");
                    self.expires(*ip);
                }
                Write::Mark(Kind::Misplaced(slot), true) => {
                    let text = "a node that items alone have was written for a further slot";
                    self.violate(S24, Some(*slot), text.to_owned());
                }
                Write::Config(_)
                | Write::Instance(..)
                | Write::Server(..)
                | Write::Leader(_)
                | Write::Term(_)
                | Write::Request(_)
                | Write::Starts(_)
                | Write::Draining(..)
                | Write::Named(..)
                | Write::Progress(_, None)
                | Write::Mark(..) => {}
            }
        }
        if let Some(what) = as_leader {
            self.leader_writes(what);
        }
    }
}

/// Returns true if the second operation reverts the first one.
///
/// A registry without a check for absence creates and deletes a node instead.
fn reverts(op: &RegOp, next: &RegOp) -> bool {
    matches!((op, next), (RegOp::Create { path, .. }, RegOp::Delete { path: gone }) if path == gone)
}

/// Returns the jobs of the steps, each once.
fn jobs_of(steps: &[Step<'_>]) -> Vec<JobIndex> {
    let mut jobs: Vec<_> = Vec::with_capacity(1);
    for step in steps {
        if !jobs.contains(&step.job) {
            jobs.push(step.job);
        }
    }
    jobs
}
