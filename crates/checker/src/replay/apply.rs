//! Applies committed writes to the replayed state, whether or not they were allowed.

use std::collections::btree_map::Entry;
use std::sync::Arc;

use crate::Property::S1;
use crate::cron::Schedule;
use crate::docs::{self, Ledger, State};
use crate::names::Name;
use crate::placement::Attributes;
use crate::replay::Replay;
use crate::replay::job::{InForce, Instance, Item, SlotState, Term};
use crate::replay::judge::{Judge, Txn, Write};
use crate::replay::nodes::JobIndex;
use crate::replay::trace::{Change, Claim, ClaimEnd, ConfigFrom, Ending, Membership};
use crate::slot::Slot;
use crate::tree::Kind;

impl Judge<'_> {
    /// Judges a write to a ledger record, where `place` is the index of the write in the
    /// transaction.
    ///
    /// Returns true if only the leader may make this write.
    pub(super) fn record(
        &mut self,
        i: Slot,
        place: usize,
        after: Option<&Result<Box<Ledger>, String>>,
    ) -> bool {
        let absent = SlotState::default();
        let slot = self.job.slot(i).unwrap_or(&absent);
        // If a transaction writes a record twice, each step is judged against the one before.
        let earlier = self.txn.writes[..place].iter().rev().find_map(|write| match write {
            Write::Ledger(other, Some(Ok(ledger))) if *other == i => Some(**ledger),
            Write::Config(_)
            | Write::Instance(..)
            | Write::Server(..)
            | Write::Leader(_)
            | Write::Term(_)
            | Write::Request(_)
            | Write::Assignment(_)
            | Write::Backfills(_)
            | Write::Draining(..)
            | Write::Named(..)
            | Write::Owner(..)
            | Write::Ledger(..)
            | Write::Progress(..)
            | Write::Starts(_)
            | Write::Mark(..) => None,
        });
        match (earlier.or(slot.ledger), after) {
            (Some(before), Some(Ok(after))) => self.ledger(i, slot, &before, after),
            (None, Some(Ok(after))) => {
                let new = after.state == State::Idle && after.token == 0;
                self.expect(new || slot.unreadable, S1, Some(i), |_| {
                    format!("the record begins as {:?}, token {}", after.state, after.token)
                });
                self.adds_slot(i, after);
                i.is_first()
            }
            (_, Some(Err(error))) => {
                self.violate(S1, Some(i), format!("the record cannot be read: {error}"));
                false
            }
            (_, None) => {
                let remains = self.job.config.is_some();
                self.expect(!remains, S1, Some(i), |_| {
                    "the record was deleted while the job exists".to_owned()
                });
                false
            }
        }
    }
}

impl Replay {
    /// Applies all writes of a transaction.
    pub(super) fn apply_txn(&mut self, job: JobIndex, txn: &Txn<'_>) {
        let mut all = false;
        let mut touched = Vec::new();
        for write in &txn.writes {
            match write {
                Write::Config(data) => self.apply_config(job, *data),
                Write::Instance(id, present) => self.apply_instance(job, *id, *present, txn.sid),
                Write::Server(ip, server) => {
                    let servers = &mut self.jobs[job].servers;
                    match server {
                        Some(server) => drop(servers.insert(*ip, *server)),
                        None => drop(servers.remove(ip)),
                    }
                    let (mt, trace) = (self.spot.mt, self.trace.job(job));
                    trace.servers.entry(*ip).or_default().push((mt, *server));
                }
                Write::Leader(leader) => self.apply_leader(job, *leader, txn.sid),
                Write::Term(term) => {
                    let version = term.as_ref().map(|(_, version)| *version);
                    let session = txn.sid;
                    self.jobs[job].term = version.map(|version| Term { version, session });
                    self.trace.job(job).terms += 1;
                }
                Write::Request(version) => self.jobs[job].request = *version,
                Write::Assignment(record) => self.apply_assignment(job, record.as_ref()),
                Write::Backfills(log) => {
                    let log = log.as_ref().and_then(|log| log.as_ref().ok());
                    self.jobs[job].backfills = log.cloned().unwrap_or_default();
                }
                Write::Draining(id, true) => {
                    self.jobs[job].draining.insert(*id);
                }
                Write::Draining(id, false) => {
                    self.jobs[job].draining.remove(id);
                }
                Write::Named(id, Some(name)) => {
                    self.jobs[job].names.insert(*id, *name);
                }
                Write::Named(id, None) => {
                    self.jobs[job].names.remove(id);
                }
                Write::Owner(item, owner) => self.item(job, *item).owner = *owner,
                Write::Ledger(item, ledger) => self.apply_ledger(job, *item, ledger.as_ref(), txn),
                Write::Starts(starts) => {
                    let read = starts.as_ref().and_then(|starts| starts.as_ref().ok());
                    self.jobs[job].starts = read.cloned().unwrap_or_default();
                }
                // No rule depends on an earlier progress.
                Write::Progress(..) => {}
                Write::Mark(kind, present) => self.apply_mark(job, *kind, *present),
            }
            match write {
                Write::Owner(item, _) | Write::Mark(Kind::ItemDisabled(item), _) => {
                    touched.push(*item);
                }
                Write::Ledger(slot, _) | Write::Mark(Kind::Running(slot), _) => {
                    touched.push(slot.item);
                }
                Write::Mark(Kind::Permit(_), _) | Write::Starts(_) => all = true,
                Write::Mark(..)
                | Write::Progress(..)
                | Write::Leader(_)
                | Write::Term(_)
                | Write::Request(_)
                | Write::Backfills(_)
                | Write::Named(..) => {}
                Write::Config(_)
                | Write::Instance(..)
                | Write::Server(..)
                | Write::Assignment(_)
                | Write::Draining(..) => all = true,
            }
        }
        if all {
            touched = self.jobs[job].items.keys().copied().collect();
        }
        touched.iter().for_each(|item| self.record_claimability(job, *item));
    }

    fn item(&mut self, job: JobIndex, item: u32) -> &mut Item {
        self.jobs[job].items.entry(item).or_default()
    }

    fn apply_config(&mut self, job: JobIndex, data: Option<(&str, i32)>) {
        let old = self.jobs[job].config.take();
        let before = old.as_ref().and_then(|old| old.config.clone());
        let known = self.jobs[job].configs_before.last();
        let is_new = before.as_ref().filter(|b| known.is_none_or(|known| !Arc::ptr_eq(b, known)));
        self.jobs[job].configs_before.extend(is_new.cloned());
        let mt = self.spot.mt;
        let Some((text, version)) = data else {
            let gone = ConfigFrom { mt, version: -1, readable: true, config: None, schedule: None };
            return self.trace.job(job).configs.push(gone);
        };
        // An unusable document leaves the last usable one in force.
        let read = docs::config(text).and_then(|config| {
            let schedule = Schedule::parse(&config.schedule_texts())?;
            Ok((Arc::new(config), schedule.map(Arc::new)))
        });
        let readable = read.is_ok();
        let (config, schedule) = match read {
            Ok((config, schedule)) => (Some(config), schedule),
            Err(_) => (before, old.and_then(|old| old.schedule)),
        };
        let (now, fires) = (config.clone(), schedule.clone());
        let from = ConfigFrom { mt, version, readable, config: now, schedule: fires };
        self.trace.job(job).configs.push(from);
        self.jobs[job].config = Some(InForce { version, readable, config, schedule });
    }

    fn apply_instance(&mut self, job: JobIndex, id: Name, data: Option<&str>, session: i64) {
        let read = data.and_then(|data| Attributes::read(self.names.text(id), data));
        match read {
            Some(read) => drop(self.jobs[job].attributes.insert(id, read)),
            None if data.is_some() => drop(self.jobs[job].overwritten.insert(id)),
            None => {}
        }
        let (instances, mt) = (&mut self.jobs[job].instances, self.spot.mt);
        if data.is_some() {
            // Java writes manual requests into the node of a registered instance; that is no new
            // registration.
            if let Entry::Vacant(absent) = instances.entry(id) {
                absent.insert(Instance { session, since: mt });
                let membership = Membership { instance: id, session, from: mt, until: None };
                self.trace.job(job).memberships.push(membership);
            }
        } else if instances.remove(&id).is_some() {
            end(&mut self.trace.job(job).memberships, id, mt);
        }
    }

    fn apply_leader(&mut self, job: JobIndex, leader: Option<Name>, session: i64) {
        let mt = self.spot.mt;
        if let Some(old) = std::mem::replace(&mut self.jobs[job].leader, leader) {
            end(&mut self.trace.job(job).leaderships, old, mt);
        }
        if let Some(instance) = leader {
            let membership = Membership { instance, session, from: mt, until: None };
            self.trace.job(job).leaderships.push(membership);
        }
    }

    fn apply_assignment(
        &mut self,
        job: JobIndex,
        record: Option<&Result<Box<docs::Assignment>, String>>,
    ) {
        let state = &mut self.jobs[job];
        state.assignment_unreadable = matches!(record, Some(Err(_)));
        state.assignment = match record {
            Some(Ok(assignment)) => Some((**assignment).clone()),
            Some(Err(_)) | None => None,
        };
        self.trace.job(job).reshardings += u64::from(record.is_some());
    }

    fn apply_mark(&mut self, job: JobIndex, kind: Kind, present: bool) {
        let mt = self.spot.mt;
        match kind {
            Kind::Running(slot) => self.jobs[job].slot_mut(slot).running = present,
            Kind::Misfire(item) => self.item(job, item).misfire = present,
            Kind::Failover(slot) => self.jobs[job].slot_mut(slot).failover = present,
            Kind::Queued(slot) => self.jobs[job].slot_mut(slot).queued = present,
            Kind::Permit(number) if present => drop(self.jobs[job].permits.insert(number)),
            Kind::Permit(number) => drop(self.jobs[job].permits.remove(&number)),
            Kind::ItemDisabled(item) => {
                let item = self.item(job, item);
                item.disabled = present;
                item.enabled_at = (!present).then_some(mt);
            }
            Kind::Config
            | Kind::Instance(_)
            | Kind::Server(_)
            | Kind::Leader
            | Kind::Owner(_)
            | Kind::Ledger(_)
            | Kind::Progress(_)
            | Kind::Term
            | Kind::Request
            | Kind::Assignment
            | Kind::Backfills
            | Kind::Draining(_)
            | Kind::Starts
            | Kind::Named(_)
            | Kind::Misplaced(_)
            | Kind::Other => {}
        }
    }

    fn apply_ledger(
        &mut self,
        job: JobIndex,
        i: Slot,
        record: Option<&Result<Box<Ledger>, String>>,
        txn: &Txn<'_>,
    ) {
        let spot = self.spot;
        let mut begun = txn.beside.iter().filter(|(slot, ..)| slot.item == i.item);
        let beside = begun.next().copied().filter(|_| i.is_first());
        let slot = self.jobs[job].slot_mut(i);
        let before = slot.ledger;
        let after = record.and_then(|record| record.as_ref().ok()).map(|ledger| **ledger);
        let last = |ledger: Option<Ledger>| ledger.and_then(|ledger| ledger.last);
        slot.unreadable = matches!(record, Some(Err(_)));
        slot.ledger = after;
        let change = Change { spot, session: txn.sid, before, after, beside };
        if i.is_first() {
            if last(after) > last(before) {
                self.item(job, i.item).advanced_at = Some(spot.mt);
            }
            self.trace.job(job).items.entry(i.item).or_default().changes.push(change);
        } else {
            self.trace.job(job).further.entry(i).or_default().push(change);
        }
        self.trace.job(job).retired +=
            u64::from(after.is_some_and(|after| after.state == State::Retired));

        let running = |ledger: Option<Ledger>| ledger.filter(|l| l.state == State::Running);
        let (was, is) = (running(before), running(after));
        if was.is_some() && was.map(|l| (l.run, l.token)) != is.map(|l| (l.run, l.token)) {
            self.record_end(job, i, after, txn.sid);
        }
        if is.is_some() && is.map(|l| (l.run, l.token)) != was.map(|l| (l.run, l.token)) {
            self.record_claim(job, i, before, is, txn.sid);
        }
        let slot = self.jobs[job].slot_mut(i);
        if after.is_none_or(|after| !after.is_busy()) {
            (slot.claim, slot.claimed_in) = (None, None);
        }
    }

    fn record_end(&mut self, job: JobIndex, i: Slot, after: Option<Ledger>, sid: i64) {
        let Some(slot) = self.jobs[job].slot(i) else { return };
        let by_holder = slot.claimed_in == Some(sid);
        let how = match after {
            Some(after) if after.state == State::Orphan => Ending::Orphaned,
            Some(after) if after.is_busy() => Ending::TakenAtOnce,
            Some(after) => Ending::Done(after.outcome),
            None => Ending::Done(None),
        };
        let claim = slot.claim.and_then(|claim| self.trace.claims.get_mut(claim));
        if let Some(claim) = claim {
            claim.end = Some(ClaimEnd { spot: self.spot, how, by_holder });
        }
    }

    fn record_claim(
        &mut self,
        job: JobIndex,
        i: Slot,
        before: Option<Ledger>,
        after: Option<Ledger>,
        session: i64,
    ) {
        let Some((after, run)) = after.and_then(|after| Some((after, after.run?))) else { return };
        let in_force = self.jobs[job].config.as_ref().map_or(-1, |config| config.version);
        let named = after.config.and_then(|named| i32::try_from(named).ok());
        let slot = self.jobs[job].slot_mut(i);
        let takes_over = before.filter(Ledger::is_busy).and(slot.claim);
        let claim = Claim {
            spot: self.spot,
            job,
            slot: i,
            fire: run.fire,
            source: run.source,
            span: run.span(),
            token: after.token,
            holder: run.holder,
            session,
            config: named.unwrap_or(in_force),
            takes_over,
            end: None,
        };
        slot.claim = Some(self.trace.claims.len());
        slot.claimed_in = Some(session);
        if matches!(run.source, docs::Source::Normal | docs::Source::Misfire) {
            self.item(job, i.item).covered.insert(claim.span.0, claim.span.1);
        }
        self.trace.claims.push(claim);
    }
}

/// Ends the open registration of an instance.
fn end(memberships: &mut [Membership], id: Name, mt: u64) {
    let open = memberships.iter_mut().rev().find(|m| m.instance == id && m.until.is_none());
    if let Some(membership) = open {
        membership.until = Some(mt);
    }
}
