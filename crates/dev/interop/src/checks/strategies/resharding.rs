//! Resharding by a Java leader, which reshards only when a run begins.

use std::collections::BTreeSet;
use std::time::Duration;

use reg_center::Revision;

use super::trial::Trial;
use super::{Owners, TOTAL};
use crate::checks::common::{completes, now_ms};
use crate::stage::{Failure, Nodes};
use crate::suite::JavaVersion;

/// Maximum number of requests to a Java leader.
const ATTEMPTS: u32 = 4;
/// Longest duration of a resharding on a busy machine.
pub(super) const RESHARDING: Duration = Duration::from_secs(10);

impl Trial<'_> {
    /// Makes the Java leader reshard by a requested run, and returns the assignment.
    ///
    /// Java ignores requests during a run, so that this waits for the end of the run.
    pub(super) async fn reshard_by_java(
        &self,
        membership: &BTreeSet<String>,
    ) -> Result<Owners, Failure> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let before = self.assigned_at(&self.env.nodes());
            let requested_at = now_ms();
            self.request_resharding().await?;
            match self.resharded(before, membership).await {
                Ok(owners) => {
                    // The run of an earlier attempt has an earlier fire time.
                    completes(self.env, "java", self.job, requested_at - 1).await?;
                    return Ok(owners);
                }
                // Java drops requests that it gets during a run.
                Err(failure) => last = Some(failure),
            }
        }
        Err(last.expect("there was an attempt"))
    }

    /// Requests a resharding and a run.
    async fn request_resharding(&self) -> Result<(), Failure> {
        let tree = &self.env.tree;
        let java = &self.real[0];
        let necessary = tree.create(&self.path("leader/sharding/necessary"), "").await;
        let requested = match self.java {
            JavaVersion::V2_1_5 => {
                tree.put(&self.path(&format!("instances/{java}")), "TRIGGER").await
            }
            JavaVersion::V3_0_4 => tree.create(&self.path(&format!("trigger/{java}")), "").await,
        };
        // A conflict means that the node exists: Java has announced the resharding itself, or has
        // not yet seen the request of an earlier attempt.
        for created in [necessary, requested] {
            match created {
                Ok(()) | Err(Failure::Conflict(_)) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// Returns the revision of the last assignment: Java creates all owner nodes again, in one
    /// transaction.
    fn assigned_at(&self, nodes: &Nodes) -> Option<Revision> {
        let created = |item| nodes.created(&self.path(&format!("sharding/{item}/instance")));
        (0..TOTAL).filter_map(created).max()
    }

    /// Waits until the items are assigned again.
    async fn resharded(
        &self,
        before: Option<Revision>,
        membership: &BTreeSet<String>,
    ) -> Result<Owners, Failure> {
        let [necessary, processing] =
            ["necessary", "processing"].map(|name| self.path(&format!("leader/sharding/{name}")));
        let expected = format!("Java reshards {} for {membership:?}", self.job);
        let done = self.env.tree.wait(RESHARDING, expected, |nodes| {
            let owners = nodes.owners(self.job);
            let all = owners.len() == TOTAL as usize && self.assigned_at(nodes) > before;
            match all && !nodes.has(&necessary) && !nodes.has(&processing) {
                true => Ok(owners),
                false => Err(nodes.draw(&self.path("leader"))),
            }
        });
        done.await
    }
}
