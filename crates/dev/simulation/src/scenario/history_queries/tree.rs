//! The other nodes in the registry's log: instances, owners, assignments, terms, sessions.

use std::collections::{BTreeMap, BTreeSet};

use checker::history::{Fact, RegOp};
use serde::Deserialize;

use super::{JOB, Seen};

/// A committed assignment.
#[derive(Clone, Debug)]
pub(crate) struct AssignmentSeen {
    pub(crate) mt: u64,
    pub(crate) zxid: i64,
    pub(crate) sid: i64,
    /// The instances of the assignment.
    pub(crate) members: Vec<String>,
    /// Version of the last handled request for resharding.
    pub(crate) handled: i32,
    /// Number of pending items.
    pub(crate) n_pending: usize,
}

#[derive(Deserialize)]
struct AssignmentDoc {
    members: Vec<String>,
    handled: i32,
    #[serde(default)]
    pending: BTreeMap<String, Vec<(u32, u32)>>,
}

impl<'a> Seen<'a> {
    fn writes(&self) -> impl DoubleEndedIterator<Item = (u64, i64, i64, &'a RegOp)> + use<'a> {
        self.transactions()
            .flat_map(|(mt, zxid, sid, ops)| ops.iter().map(move |op| (mt, zxid, sid, op)))
    }

    /// Returns all transactions: time, revision, session and operations.
    pub(crate) fn transactions(
        &self,
    ) -> impl DoubleEndedIterator<Item = (u64, i64, i64, &'a [RegOp])> + use<'a> {
        self.records().iter().filter_map(|record| {
            let Fact::Reg { zxid, sid, ops } = &record.fact else { return None };
            Some((record.mt, *zxid, *sid, ops.as_slice()))
        })
    }

    /// Returns the process that opened a session.
    pub(crate) fn opener_of(&self, sid: i64) -> Option<&'a str> {
        self.records().iter().find_map(|record| {
            let Fact::SessionOpened { sid: opened, owner } = &record.fact else { return None };
            (*opened == sid).then_some(owner.as_str())
        })
    }

    /// Returns all instances that ever registered, with their session and their process.
    pub(crate) fn instances(&self) -> Vec<(&'a str, i64, Option<&'a str>)> {
        let created = self.writes().filter_map(|(_, _, sid, op)| {
            let RegOp::Create { path, ephemeral: true, .. } = op else { return None };
            Some((below(path, "instances/")?, sid, self.opener_of(sid)))
        });
        created.collect()
    }

    /// Returns the process of an instance.
    pub(crate) fn process_of(&self, instance: &str) -> Option<&'a str> {
        self.instances().into_iter().rev().find(|(id, ..)| *id == instance)?.2
    }

    /// Returns the time and the revision at which a session ended at the registry.
    pub(crate) fn closed(&self, session: i64) -> Option<(u64, i64)> {
        self.records().iter().find_map(|record| {
            let Fact::SessClose { zxid, sid, .. } = &record.fact else { return None };
            (*sid == session).then_some((record.mt, *zxid))
        })
    }

    /// Returns the sessions of a process, in the order in which they were opened.
    pub(crate) fn sessions_of(&self, p: &str) -> Vec<i64> {
        let opened = self.records().iter().filter_map(|record| {
            let Fact::SessionOpened { sid, owner } = &record.fact else { return None };
            (owner == p).then_some(*sid)
        });
        opened.collect()
    }

    /// Returns the session of a process at this moment: the last one in which it had registered.
    pub(crate) fn session_at(&self, p: &str, mt: u64) -> Option<i64> {
        let registered =
            self.writes().filter(|(at, ..)| *at <= mt).filter_map(|(_, _, sid, op)| {
                let RegOp::Create { path, .. } = op else { return None };
                below(path, "instances/").map(|_| sid)
            });
        registered.rev().find(|sid| self.opener_of(*sid) == Some(p))
    }

    /// Returns all committed assignments in order.
    pub(crate) fn assignments(&self) -> Vec<AssignmentSeen> {
        let written = self.writes().filter_map(|(mt, zxid, sid, op)| {
            let data = written(op, "coordination/assignment")?;
            let doc: AssignmentDoc = serde_json::from_str(data).ok()?;
            let AssignmentDoc { members, handled, pending } = doc;
            let ranges = pending.values().flatten();
            let n_pending = ranges.map(|(first, last)| (last - first) as usize + 1).sum();
            Some(AssignmentSeen { mt, zxid, sid, members, handled, n_pending })
        });
        written.collect()
    }

    /// Returns the start of each term, and the session of its leader.
    pub(crate) fn terms(&self) -> Vec<(u64, i64)> {
        let begun = self
            .writes()
            .filter_map(|(mt, _, sid, op)| written(op, "coordination/term").map(|_| (mt, sid)));
        begun.collect()
    }

    /// Returns the final version of the counter of resharding requests.
    pub(crate) fn requests(&self) -> Option<i32> {
        self.writes().rev().find_map(|(_, _, _, op)| match op {
            RegOp::Set { path, ver, .. } if below(path, "coordination/request") == Some("") => {
                Some(*ver)
            }
            RegOp::Create { path, .. } if below(path, "coordination/request") == Some("") => {
                Some(0)
            }
            RegOp::Create { .. }
            | RegOp::Set { .. }
            | RegOp::Delete { .. }
            | RegOp::Check { .. } => None,
        })
    }

    /// Returns the changes of an item's owner: time and new owner, or `None` for no owner.
    pub(crate) fn owners(&self, item: u32) -> Vec<(u64, Option<&'a str>)> {
        let node = format!("sharding/{item}/instance");
        let changes = self.writes().filter_map(|(mt, _, _, op)| {
            if let RegOp::Delete { path } = op {
                return (below(path, &node) == Some("")).then_some((mt, None));
            }
            written(op, &node).map(|owner| (mt, Some(owner)))
        });
        changes.collect()
    }

    /// Returns the process that owned an item at this moment.
    pub(crate) fn owner_at(&self, item: u32, mt: u64) -> Option<&'a str> {
        let owner = self.owners(item).into_iter().rev().find(|(at, _)| *at <= mt)?.1?;
        self.process_of(owner)
    }

    /// Returns the nodes of a group at this moment, relative to its root, with the sessions that
    /// created them.
    pub(crate) fn group_nodes(&self, group: &str, mt: u64) -> BTreeMap<String, i64> {
        let mut nodes = BTreeMap::new();
        for record in self.records().iter().filter(|record| record.mt <= mt) {
            if let Fact::Reg { sid, ops, .. } = &record.fact {
                ops.iter().for_each(|op| apply_to_group(&mut nodes, group, *sid, op));
            } else if let Fact::SessClose { ephemerals, .. } = &record.fact {
                for path in ephemerals {
                    nodes.remove(below_group(path, group).unwrap_or_default());
                }
            }
        }
        nodes
    }

    /// Returns the nodes of the job at the end of the history, relative to its root.
    pub(crate) fn nodes(&self) -> BTreeSet<String> {
        let mut nodes = BTreeSet::new();
        for record in self.records() {
            if let Fact::Reg { ops, .. } = &record.fact {
                ops.iter().for_each(|op| apply(&mut nodes, op));
            } else if let Fact::SessClose { ephemerals, .. } = &record.fact {
                for path in ephemerals {
                    nodes.remove(below(path, "").unwrap_or_default());
                }
            }
        }
        nodes
    }
}

/// Adds the node of a group that an operation creates, or removes the one that it deletes.
fn apply_to_group(nodes: &mut BTreeMap<String, i64>, group: &str, sid: i64, op: &RegOp) {
    match op {
        RegOp::Create { path, .. } => {
            nodes.extend(below_group(path, group).map(|node| (node.to_owned(), sid)));
        }
        RegOp::Delete { path } => {
            nodes.remove(below_group(path, group).unwrap_or_default());
        }
        RegOp::Set { .. } | RegOp::Check { .. } => {}
    }
}

fn apply(nodes: &mut BTreeSet<String>, op: &RegOp) {
    match op {
        RegOp::Create { path, .. } => {
            nodes.extend(below(path, "").map(str::to_owned));
        }
        RegOp::Delete { path } => {
            nodes.remove(below(path, "").unwrap_or_default());
        }
        RegOp::Set { .. } | RegOp::Check { .. } => {}
    }
}

/// Returns the data that this operation writes to a node of the job.
fn written<'a>(op: &'a RegOp, node: &str) -> Option<&'a str> {
    let (RegOp::Create { path, data, .. } | RegOp::Set { path, data, .. }) = op else {
        return None;
    };
    (below(path, node) == Some("")).then_some(data)
}

/// Returns the part of a path below the job's root after a prefix.
fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    path.strip_prefix('/')?.strip_prefix(JOB)?.strip_prefix('/')?.strip_prefix(prefix)
}

/// Returns the part of a path below the root of a group.
fn below_group<'a>(path: &'a str, group: &str) -> Option<&'a str> {
    path.strip_prefix("/job@-@groups/")?.strip_prefix(group)?.strip_prefix('/')
}
