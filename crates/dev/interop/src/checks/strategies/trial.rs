//! One job with one strategy: the assignments of a Java leader and of a Rust leader for each
//! membership.

use std::collections::BTreeSet;

use super::Owners;
use super::resharding::RESHARDING;
use crate::checks::common::RECOVERY;
use crate::stage::{CheckEnv, Failure};
use crate::suite::{JavaVersion, Report};

/// Index of the Java worker in pairs of both workers.
const JAVA: usize = 0;
/// Index of the Rust worker in pairs of both workers.
const RUST: usize = 1;

/// One job with one strategy.
pub(super) struct Trial<'a> {
    pub(super) env: &'a CheckEnv<'a>,
    pub(super) job: &'a str,
    pub(super) java: JavaVersion,
    /// The ids of the Java and the Rust worker.
    pub(super) real: [String; 2],
    /// Their addresses.
    pub(super) ips: [&'a str; 2],
}

impl Trial<'_> {
    pub(super) async fn run(
        &self,
        memberships: &[BTreeSet<String>],
        report: &mut Report,
    ) -> Result<(), Failure> {
        self.leads(&self.real[0]).await?;
        let mut by_java = Vec::new();
        for membership in memberships {
            self.arrange(membership).await?;
            by_java.push(self.reshard_by_java(membership).await?);
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
        let expected = format!("the same assignment for {} memberships", memberships.len());
        let found = match differing.as_slice() {
            [] => expected.clone(),
            some => format!("{} differ:\n        {}", some.len(), some.join("\n        ")),
        };
        let what = format!("assignments of `{}`", self.job);
        report.holds(&what, &expected, &found, differing.is_empty());
        Ok(())
    }

    /// Repeats the assignment by Java for memberships whose assignments differ, and returns the
    /// confirmed differences.
    ///
    /// The first assignment by Java may be that of the membership before, because its view lags.
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
            let java = self.reshard_by_java(membership).await?;
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
        let leads = self.env.tree.wait(RECOVERY, expected, |nodes| match nodes.leader(self.job) {
            Some(leader) if leader == id => Ok(()),
            other => Err(format!("{other:?}")),
        });
        leads.await
    }

    /// Registers exactly the instances of a membership in addition to the two workers, in one
    /// transaction.
    async fn arrange(&self, membership: &BTreeSet<String>) -> Result<(), Failure> {
        let mut present: BTreeSet<String> =
            self.env.nodes().instances(self.job).into_iter().collect();
        present.retain(|id| !self.real.contains(id));
        let mut changes = Vec::new();
        for removed in present.difference(membership) {
            changes.push((self.path(&format!("instances/{removed}")), None));
        }
        for new in membership.difference(&present) {
            let ip = new.split("@-@").next().unwrap_or(new);
            let server = self.path(&format!("servers/{ip}"));
            let known =
                self.env.nodes().has(&server) || changes.iter().any(|(path, _)| *path == server);
            if !known {
                changes.push((server, Some(self.enabled().to_owned())));
            }
            changes
                .push((self.path(&format!("instances/{new}")), Some(self.instance_data(new, ip))));
        }
        self.env.tree.ephemerals(&changes).await?;
        let wanted: BTreeSet<String> = membership.iter().chain(&self.real).cloned().collect();
        let seen = self.env.tree.wait(RECOVERY, format!("the instances {wanted:?}"), |nodes| {
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

    /// Waits until the assignment is as expected. After [`RESHARDING`] returns the present
    /// assignment.
    async fn settled(&self, expected: &Owners) -> Owners {
        let same = self.env.tree.wait(RESHARDING, "the same assignment", |nodes| {
            let owners = nodes.owners(self.job);
            if owners == *expected { Ok(owners) } else { Err(format!("{owners:?}")) }
        });
        match same.await {
            Ok(owners) => owners,
            Err(_) => self.env.nodes().owners(self.job),
        }
    }

    /// Makes the worker `to` the leader: the leader on a disabled server resigns and is not elected
    /// again.
    async fn hand_over(&self, from: usize, to: usize) -> Result<(), Failure> {
        let server = self.path(&format!("servers/{}", self.ips[from]));
        self.env.tree.put(&server, "DISABLED").await?;
        self.leads(&self.real[to]).await?;
        self.env.tree.put(&server, self.enabled()).await
    }
}
