//! Making Java's leader reshard, which it does at a run only.

use std::collections::BTreeSet;
use std::time::Duration;

use reg_center::Revision;

use super::trial::Trial;
use super::{Owners, TOTAL};
use crate::checks::common::{completes, now_ms};
use crate::stage::{Failure, Nodes};
use crate::suite::JavaVersion;

/// How often Java is asked to reshard.
const ATTEMPTS: u32 = 4;
/// How long one resharding may take on a busy machine.
pub(super) const RESHARDING: Duration = Duration::from_secs(10);

impl Trial<'_> {
    /// Lets Java's leader reshard, which it does at a run only, and returns the assignment once it is done with the run, so
    /// that it heeds the next request.
    pub(super) async fn ask_java(&self, membership: &BTreeSet<String>) -> Result<Owners, Failure> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let before = self.dealt_out(&self.cast.nodes());
            let asked = now_ms();
            self.request_java().await?;
            match self.resharded(before, membership).await {
                Ok(owners) => {
                    // What an earlier attempt has asked for has an earlier time.
                    completes(self.cast, "java", self.job, asked - 1).await?;
                    return Ok(owners);
                }
                // Java forgets requests that it gets while it runs.
                Err(failure) => last = Some(failure),
            }
        }
        Err(last.expect("there was an attempt"))
    }

    /// Asks for a resharding and for a run.
    async fn request_java(&self) -> Result<(), Failure> {
        let tree = &self.cast.tree;
        let java = &self.real[0];
        let necessary = tree.create(&self.path("leader/sharding/necessary"), "").await;
        let requested = match self.java {
            JavaVersion::V2_1_5 => {
                tree.put(&self.path(&format!("instances/{java}")), "TRIGGER").await
            }
            JavaVersion::V3_0_4 => tree.create(&self.path(&format!("trigger/{java}")), "").await,
        };
        // What is there already has been asked for: the resharding by Java itself, the run by an attempt that it is slow
        // to see.
        for asked in [necessary, requested] {
            match asked {
                Ok(()) | Err(Failure::Conflict(_)) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    /// Returns when the items were dealt out: Java makes all nodes of owners anew, in one transaction.
    fn dealt_out(&self, nodes: &Nodes) -> Option<Revision> {
        let created = |item| nodes.created(&self.path(&format!("sharding/{item}/instance")));
        (0..TOTAL).filter_map(created).max()
    }

    /// Waits until the items were dealt out anew.
    async fn resharded(
        &self,
        before: Option<Revision>,
        membership: &BTreeSet<String>,
    ) -> Result<Owners, Failure> {
        let [necessary, processing] =
            ["necessary", "processing"].map(|name| self.path(&format!("leader/sharding/{name}")));
        let expected = format!("Java reshards {} for {membership:?}", self.job);
        let done = self.cast.tree.wait(RESHARDING, expected, |nodes| {
            let owners = nodes.owners(self.job);
            let all = owners.len() == TOTAL as usize && self.dealt_out(nodes) > before;
            match all && !nodes.has(&necessary) && !nodes.has(&processing) {
                true => Ok(owners),
                false => Err(nodes.draw(&self.path("leader"))),
            }
        });
        done.await
    }
}
