//! Replay of a sequence on a registry: answers, trees and feeds must equal those of the reference.

use std::collections::BTreeMap;

use super::follower::Follower;
use super::{Answer, CLIENTS, NodeState, Reference, Sequence, Step};
use crate::contract::failure::{equal, fail, holds};
use crate::contract::stage::{Actor, Stage, path};
use crate::{Committed, Error, Node, NodePath, Op, Revision, SessionId, Txn, TxnOutcome};

/// Period of feed reads, in steps: each feed is read at every third step, so that changes coalesce.
const DRAIN_EVERY: usize = 3;

pub(in crate::contract) async fn replay(stage: &Stage<'_>, sequence: &Sequence) {
    let mut player = Player::new(stage).await;
    for (n, step) in sequence.steps().iter().enumerate() {
        player.place = format!("step {}, {step}", n + 1);
        player.play(step).await;
        let feeds = player.feeds.iter_mut().enumerate();
        for (_, feed) in feeds.filter(|(k, _)| (n + k) % DRAIN_EVERY == 0) {
            feed.drain(&player.reference, &mut player.numbers);
        }
    }
    player.place = "at the end".to_owned();
    player.finish().await;
}

/// Maps the sessions and revisions of the registry to the numbers of the reference.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    sessions: BTreeMap<SessionId, usize>,
    writes: BTreeMap<Revision, usize>,
}

impl Numbers {
    /// Records the revision of a write. Later writes have greater revisions.
    fn learn(&mut self, revision: Revision, write: usize) {
        let known = *self.writes.entry(revision).or_insert(write);
        equal!(known, write, "the number of the write that took {revision}");
        holds!(
            self.writes.values().is_sorted_by(|a, b| a < b),
            self,
            "greater revisions for later writes"
        );
    }

    /// Converts a node to the form of the reference.
    pub(super) fn state(&self, node: &Node) -> NodeState {
        let write = |revision| {
            let write = self.writes.get(&revision).copied();
            write.unwrap_or_else(|| {
                fail(
                    "the revision of a node",
                    format_args!("a revision of {self:?}"),
                    format_args!("{revision} in {node:?}"),
                )
            })
        };
        NodeState {
            data: node.data.clone(),
            version: node.stat.version.0,
            owner: node.stat.owner.map(|owner| self.session(owner)),
            created: write(node.stat.created),
            modified: write(node.stat.modified),
        }
    }

    fn session(&self, session: SessionId) -> usize {
        let number = self.sessions.get(&session).copied();
        number.unwrap_or_else(|| {
            fail("the owner of a node", format_args!("a session of {self:?}"), session)
        })
    }
}

struct Player<'s> {
    stage: &'s Stage<'s>,
    actors: Vec<Actor<'s>>,
    feeds: Vec<Follower>,
    reference: Reference,
    numbers: Numbers,
    place: String,
}

impl<'s> Player<'s> {
    async fn new(stage: &'s Stage<'s>) -> Self {
        let mut player = Self {
            stage,
            actors: Vec::new(),
            feeds: Vec::new(),
            reference: Reference::new(),
            numbers: Numbers::default(),
            place: "at the start".to_owned(),
        };
        for client in 0..CLIENTS {
            player.actors.push(stage.actor().await);
            player.record_session(client);
        }
        let root = player.actors[0].node("/").await;
        player.numbers.learn(root.stat.created, 0);
        player
    }

    /// Records the session of a client, which the reference has numbered last.
    fn record_session(&mut self, client: usize) {
        let session = self.actors[client].session();
        let taken = self.numbers.sessions.insert(session, self.reference.session(client));
        equal!(taken, None, "{}: the earlier client of session {session}", self.place);
    }

    async fn play(&mut self, step: &Step) {
        self.reference.apply(step);
        match step {
            Step::Commit { client, ops } => self.commit(*client, ops).await,
            Step::Look { client, path } => {
                self.actors[*client].sync().await;
                self.compare_node(*client, path).await;
                let listed = self.actors[*client].children(path).await;
                equal!(listed, self.reference.children(path.as_str()), "{}", self.place);
            }
            Step::Watch { client, root } => {
                let feed = self.actors[*client].feed(root.as_str());
                self.feeds.push(Follower::new(*client, root.clone(), feed));
            }
            Step::Flap { client } => {
                let mut changes = self.actors[*client].center.session_feed();
                self.actors[*client].await_connected(&mut changes).await;
                self.actors[*client].flap(&mut changes).await;
            }
            Step::Expire { client } => {
                let mut changes = self.actors[*client].center.session_feed();
                self.actors[*client].await_connected(&mut changes).await;
                self.actors[*client].renew(&mut changes).await;
                self.record_session(*client);
            }
            Step::Close { client } => {
                self.close(*client).await;
                self.actors[*client] = self.stage.actor().await;
                self.record_session(*client);
            }
        }
    }

    async fn commit(&mut self, client: usize, ops: &[Op]) {
        let txn = ops.iter().cloned().fold(Txn::new(), Txn::op);
        let outcome = self.actors[client].try_commit(txn).await;
        let wanted = self.reference.answer().clone();
        match (&outcome, &wanted) {
            (Ok(TxnOutcome::Committed(committed)), Answer::Committed(states)) => {
                self.compare_stats(committed, states);
                self.compare_effects(client, committed).await;
            }
            (Ok(TxnOutcome::Conflict(conflict)), Answer::Conflict { index, reason })
                if (conflict.index, conflict.reason) == (*index, *reason) => {}
            (Err(Error::Rejected { .. }), Answer::Rejected) => {}
            _ => fail(&self.place, format_args!("{wanted:?}"), format_args!("{outcome:?}")),
        }
    }

    /// Compares stats. A registry may omit a stat that the reference has, but must not differ.
    fn compare_stats(&mut self, committed: &Committed, wanted: &[Option<NodeState>]) {
        equal!(committed.stats.len(), wanted.len(), "{}", self.place);
        for (stat, wanted) in committed.stats.iter().zip(wanted) {
            let (Some(stat), wanted) = (stat, wanted) else { continue };
            let returned = (stat.version.0, stat.owner.map(|owner| self.numbers.session(owner)));
            let wanted = wanted.as_ref().map(|state| (state.version, state.owner));
            equal!(Some(returned), wanted, "{}: {committed:?}", self.place);
        }
    }

    /// Records the revision of the write and compares all nodes that it changed.
    async fn compare_effects(&mut self, client: usize, committed: &Committed) {
        let effects = self.reference.effects().to_vec();
        for (at, state) in &effects {
            if let Some(state) = state {
                let node = self.actors[client].node(at).await;
                self.numbers.learn(node.stat.modified, state.modified);
                if let Some(revision) = committed.revision {
                    equal!(
                        revision,
                        node.stat.modified,
                        "{}: the revision of the reply",
                        self.place
                    );
                }
            }
            self.compare_node(client, &path(at)).await;
        }
    }

    async fn compare_node(&self, client: usize, at: &NodePath) {
        let node = self.actors[client].read(at.as_str()).await;
        let state = node.map(|node| self.numbers.state(&node));
        equal!(state.as_ref(), self.reference.node(at.as_str()), "{}: {at}", self.place);
    }

    async fn close(&mut self, client: usize) {
        let closed = self.stage.within("the center closes", self.actors[client].center.close());
        equal!(closed.await, Ok(()), "{}: the answer to close", self.place);
        let (ending, staying) = self.feeds.drain(..).partition(|feed| feed.client == client);
        self.feeds = staying;
        let ending: Vec<Follower> = ending;
        for mut feed in ending {
            let end = feed.end(&self.reference, &mut self.numbers);
            self.stage.within("the feed of a closed center ends", end).await;
        }
    }

    async fn finish(mut self) {
        for client in 0..CLIENTS {
            let tree = self.actors[client].tree("/").await;
            let tree: Vec<_> =
                tree.iter().map(|node| (node.path.to_string(), self.numbers.state(node))).collect();
            let wanted = self.reference.subtree("/");
            let wanted: Vec<_> = wanted.map(|(at, node)| (at.to_owned(), node.clone())).collect();
            equal!(tree, wanted, "{}: the tree as client {client} reads it", self.place);
        }
        for feed in &mut self.feeds {
            let converge = feed.converge(&self.reference, &mut self.numbers);
            if self.stage.in_time(converge).await.is_err() {
                feed.fail_as_late(&self.reference);
            }
        }
        for client in 0..CLIENTS {
            self.reference.apply(&Step::Close { client });
            self.close(client).await;
        }
    }
}
