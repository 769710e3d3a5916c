//! Instances that join, lead, assign items and leave.

use std::collections::BTreeMap;

use checker::history::{Fact, ProcessEvent, RegOp, SessionEvent};
use serde_json::{Value, json};

use super::{Story, item_of, name};

impl Story {
    /// A process starts and registers. If it existed before, this is its next start.
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

    /// Returns the leader's operations that give each item its new owner; busy items become
    /// pending.
    pub(crate) fn assign_ops(&mut self, leader: &str, members: &[&str]) -> Vec<RegOp> {
        let total = u32::try_from(self.config["shardingTotalCount"].as_u64().unwrap()).unwrap();
        let sid = self.sid(leader);
        let mut ops = vec![self.check("/j/coordination/term")];
        let mut pending: BTreeMap<String, Vec<(u32, u32)>> = BTreeMap::new();
        for i in 0..total {
            let owner = self.id(members[i as usize % members.len()]);
            let state = self.ledgers.get(&i).map(|ledger| ledger["state"].clone());
            if self.owners.get(&i) != Some(&owner) && self.is_busy(i) {
                pending.entry(owner).or_default().push((i, i));
                continue;
            }
            if state.is_none() || state == Some(json!("retired")) {
                let latest = self.ledgers.values().filter_map(|l| l["last"].as_i64()).max();
                let mut ledger = self.ledgers.get(&i).cloned().unwrap_or(json!({ "token": 0 }));
                ledger["state"] = json!("idle");
                if let Some(latest) = latest {
                    ledger["last"] = json!(latest);
                }
                let op = self.ledger_op(sid, i, ledger);
                ops.push(op);
            }
            if self.owners.get(&i) != Some(&owner) {
                self.owners.insert(i, owner.clone());
                ops.extend(self.checks_of_slots(i));
                ops.push(self.put(sid, &format!("/j/sharding/{i}/instance"), Some(owner), false));
            }
        }
        let surplus: Vec<_> = self.ledgers.keys().copied().filter(|i| *i >= total).collect();
        for i in surplus.into_iter().filter(|i| item_of(*i).1 == 0) {
            let mut ledger = self.ledgers[&i].clone();
            if self.is_busy(i) || ledger["state"] == "retired" {
                continue;
            }
            ledger["state"] = json!("retired");
            let op = self.ledger_op(sid, i, ledger);
            ops.push(op);
            ops.extend(self.checks_of_slots(i));
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

    /// Returns the records of all slots of an item.
    fn slots_of(&self, item: u32) -> impl Iterator<Item = (u32, &Value)> {
        let of_item = self.ledgers.iter().filter(move |(i, _)| item_of(**i).0 == item);
        of_item.map(|(i, ledger)| (*i, ledger))
    }

    fn is_busy(&self, item: u32) -> bool {
        self.slots_of(item).any(|(_, ledger)| is_busy(&ledger["state"]))
    }

    /// Returns the checks that the records of the further slots of an item are unchanged.
    fn checks_of_slots(&self, item: u32) -> Vec<RegOp> {
        let further = self.slots_of(item).filter(|(i, _)| *i != item);
        further.map(|(i, _)| self.check(&format!("/j/ledger/{}", name(i)))).collect()
    }

    /// The leader, which is the first member, assigns the items in turn.
    pub(crate) fn assign(&mut self, members: &[&str]) -> &mut Self {
        let leader = members[0].to_owned();
        self.assign_by(&leader, members)
    }

    pub(crate) fn assign_by(&mut self, leader: &str, members: &[&str]) -> &mut Self {
        let ops = self.assign_ops(leader, members);
        self.commit(leader, ops)
    }

    /// A process reports an event of its own.
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

    /// A process deregisters and reports that it has left.
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
}

fn is_busy(state: &Value) -> bool {
    state == "running" || state == "orphan"
}
