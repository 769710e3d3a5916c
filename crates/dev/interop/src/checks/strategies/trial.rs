//! One job with one strategy: what Java's leader gives for each membership, and what Rust's.

use std::collections::BTreeSet;

use super::Owners;
use super::asking::RESHARDING;
use crate::checks::common::RECOVERY;
use crate::stage::{Cast, Failure};
use crate::suite::{JavaVersion, Report};

/// Where the Java worker stands in pairs of both.
const JAVA: usize = 0;
/// Where the Rust worker stands.
const RUST: usize = 1;

/// One job with one strategy.
pub(super) struct Trial<'a> {
    pub(super) cast: &'a Cast<'a>,
    pub(super) job: &'a str,
    pub(super) java: JavaVersion,
    /// The ids of the Java and the Rust worker.
    pub(super) real: [String; 2],
    /// Their addresses.
    pub(super) ips: [&'a str; 2],
}

impl Trial<'_> {
    pub(super) async fn play(
        &self,
        memberships: &[BTreeSet<String>],
        report: &mut Report,
    ) -> Result<(), Failure> {
        self.leads(&self.real[0]).await?;
        let mut by_java = Vec::new();
        for membership in memberships {
            self.arrange(membership).await?;
            by_java.push(self.ask_java(membership).await?);
        }
        self.hand_over(JAVA, RUST).await?;
        let mut differing = Vec::new();
        for (membership, java) in memberships.iter().zip(&by_java) {
            self.arrange(membership).await?;
            let rust = self.settled(java).await;
            if rust != *java {
                differing.push((membership, rust));
            }
        }
        let differing = self.confirmed(&differing).await?;
        self.arrange(&BTreeSet::new()).await?;
        let expected = format!("the same for {} memberships", memberships.len());
        let found = match differing.as_slice() {
            [] => expected.clone(),
            some => format!("{} differ:\n        {}", some.len(), some.join("\n        ")),
        };
        let what = format!("assignments of `{}`", self.job);
        report.holds(&what, &expected, &found, differing.is_empty());
        Ok(())
    }

    /// Asks Java once more for memberships for which it gave something else than Rust: what it gave first may have been
    /// for the membership before, because its view of the registry lags.
    async fn confirmed(
        &self,
        differing: &[(&BTreeSet<String>, Owners)],
    ) -> Result<Vec<String>, Failure> {
        if differing.is_empty() {
            return Ok(Vec::new());
        }
        self.hand_over(RUST, JAVA).await?;
        let mut confirmed = Vec::new();
        for (membership, rust) in differing {
            self.arrange(membership).await?;
            let java = self.ask_java(membership).await?;
            if java != *rust {
                confirmed.push(format!("{membership:?}: Java {java:?}, Rust {rust:?}"));
            }
        }
        Ok(confirmed)
    }

    pub(super) fn path(&self, below: &str) -> String {
        format!("/{}/{below}", self.job)
    }

    async fn leads(&self, id: &str) -> Result<(), Failure> {
        let expected = format!("{id} leads {}", self.job);
        let leads = self.cast.tree.wait(RECOVERY, expected, |nodes| match nodes.leader(self.job) {
            Some(leader) if leader == id => Ok(()),
            other => Err(format!("{other:?}")),
        });
        leads.await
    }

    /// Makes the instances of a membership, and no others, be there beside the two workers, all at once.
    async fn arrange(&self, membership: &BTreeSet<String>) -> Result<(), Failure> {
        let mut present: BTreeSet<String> =
            self.cast.nodes().instances(self.job).into_iter().collect();
        present.retain(|id| !self.real.contains(id));
        let mut changes = Vec::new();
        for gone in present.difference(membership) {
            changes.push((self.path(&format!("instances/{gone}")), None));
        }
        for new in membership.difference(&present) {
            let ip = new.split("@-@").next().unwrap_or(new);
            let server = self.path(&format!("servers/{ip}"));
            let known =
                self.cast.nodes().has(&server) || changes.iter().any(|(path, _)| *path == server);
            if !known {
                changes.push((server, Some(self.enabled().to_owned())));
            }
            changes
                .push((self.path(&format!("instances/{new}")), Some(self.instance_data(new, ip))));
        }
        self.cast.tree.ephemerals(&changes).await?;
        let wanted: BTreeSet<String> = membership.iter().chain(&self.real).cloned().collect();
        let seen = self.cast.tree.wait(RECOVERY, format!("the instances {wanted:?}"), |nodes| {
            let found: BTreeSet<String> = nodes.instances(self.job).into_iter().collect();
            if found == wanted { Ok(()) } else { Err(format!("{found:?}")) }
        });
        seen.await
    }

    fn enabled(&self) -> &'static str {
        match self.java {
            JavaVersion::V2_1_5 => "",
            JavaVersion::V3_0_4 => "ENABLED",
        }
    }

    fn instance_data(&self, id: &str, ip: &str) -> String {
        match self.java {
            JavaVersion::V2_1_5 => String::new(),
            JavaVersion::V3_0_4 => format!("jobInstanceId: {id}\nserverIp: {ip}\n"),
        }
    }

    /// Waits until the assignment is as expected; otherwise returns what it is after a while.
    async fn settled(&self, expected: &Owners) -> Owners {
        let same = self.cast.tree.wait(RESHARDING, "the same assignment", |nodes| {
            let owners = nodes.owners(self.job);
            if owners == *expected { Ok(owners) } else { Err(format!("{owners:?}")) }
        });
        match same.await {
            Ok(owners) => owners,
            Err(_) => self.cast.nodes().owners(self.job),
        }
    }

    /// Makes the other worker lead: a disabled server abdicates, and is not elected.
    async fn hand_over(&self, from: usize, to: usize) -> Result<(), Failure> {
        let server = self.path(&format!("servers/{}", self.ips[from]));
        self.cast.tree.put(&server, "DISABLED").await?;
        self.leads(&self.real[to]).await?;
        self.cast.tree.put(&server, self.enabled()).await
    }
}
