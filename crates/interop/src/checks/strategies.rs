//! Every strategy gives the same assignment whoever leads, for random memberships.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fastrand::Rng;
use reg_center::Revision;

use super::Setting;
use super::common::RECOVERY;
use crate::protocol::JobPlan;
use crate::stage::{Cast, Failure, Kind, Nodes};
use crate::suite::{JavaVersion, Report};

/// How many memberships are tried with each strategy.
const N_MEMBERSHIPS: usize = 100;
/// More items than some memberships have instances, and fewer than others.
const TOTAL: u32 = 7;
/// The most instances beside the two workers.
const MOST: usize = 9;
/// How often Java is asked to reshard.
const ATTEMPTS: u32 = 4;
/// How long one resharding may take on a busy machine.
const RESHARDING: Duration = Duration::from_secs(5);

/// The package of the strategies of 2.1.5.
macro_rules! classes {
    () => {
        "com.dangdang.ddframe.job.lite.api.strategy.impl."
    };
}

/// Who owns each item.
type Owners = BTreeMap<u32, String>;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.theatre.cast(setting.namespace).await?;
    let [java, rust] = cast.all([(Kind::Java, "java", 1), (Kind::Rust, "rust", 2)]).await?;
    let memberships = memberships(&mut Rng::with_seed(7));
    for (job, strategy) in strategies(setting.java) {
        let mut plan = JobPlan::new(job, TOTAL).idle();
        strategy.clone_into(&mut plan.strategy);
        let real = [java.schedule(&plan).await?, rust.schedule(&plan).await?];
        let trial = Trial { cast: &cast, job, java: setting.java, real, java_ip: &java.ip };
        trial.play(&memberships, report).await?;
    }
    java.leave().await?;
    rust.leave().await?;
    cast.tree.close().await
}

/// Jobs, whose names some strategies depend on, and what the release calls the strategies.
fn strategies(java: JavaVersion) -> Vec<(&'static str, &'static str)> {
    match java {
        JavaVersion::V2_1_5 => vec![
            ("average", concat!(classes!(), "AverageAllocationJobShardingStrategy")),
            ("oddHash", concat!(classes!(), "OdevitySortByNameJobShardingStrategy")),
            ("evenHash", concat!(classes!(), "OdevitySortByNameJobShardingStrategy")),
            ("rotated", concat!(classes!(), "RotateServerByNameJobShardingStrategy")),
        ],
        JavaVersion::V3_0_4 => vec![
            ("average", "AVG_ALLOCATION"),
            ("oddHash", "ODEVITY"),
            ("evenHash", "ODEVITY"),
            ("rotated", "ROUND_ROBIN"),
        ],
    }
}

/// Draws the instances that are there beside the two workers: addresses and process ids of all lengths, because their
/// order is that of their text.
fn memberships(rng: &mut Rng) -> Vec<BTreeSet<String>> {
    let mut instance = || {
        let n_digits = rng.u32(1..6);
        let pid = rng.u32(1..10_u32.pow(n_digits));
        format!("10.{}.{}.{}@-@{pid}", rng.u8(0..3), rng.u8(..), rng.u8(1..))
    };
    let pool: Vec<String> = std::iter::repeat_with(&mut instance).take(30).collect();
    let membership = |_| {
        let n = rng.usize(..=MOST);
        std::iter::repeat_with(|| pool[rng.usize(..pool.len())].clone()).take(n).collect()
    };
    (0..N_MEMBERSHIPS).map(membership).collect()
}

/// One job with one strategy.
struct Trial<'a> {
    cast: &'a Cast<'a>,
    job: &'a str,
    java: JavaVersion,
    /// The ids of the Java and the Rust worker.
    real: [String; 2],
    java_ip: &'a str,
}

impl Trial<'_> {
    async fn play(
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
        self.hand_over().await?;
        let mut differing = Vec::new();
        for (membership, java) in memberships.iter().zip(&by_java) {
            self.arrange(membership).await?;
            let rust = self.settled(java).await;
            if rust != *java {
                differing.push(format!("{membership:?}: Java {java:?}, Rust {rust:?}"));
            }
        }
        self.arrange(&BTreeSet::new()).await?;
        let expected = format!("the same for {N_MEMBERSHIPS} memberships");
        let found = match differing.as_slice() {
            [] => expected.clone(),
            some => format!("{} differ:\n        {}", some.len(), some.join("\n        ")),
        };
        report.holds(
            &format!("assignments of `{}`", self.job),
            &expected,
            &found,
            differing.is_empty(),
        );
        Ok(())
    }

    fn path(&self, below: &str) -> String {
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

    /// Lets Java's leader reshard, which it does at a run only, and returns the assignment.
    async fn ask_java(&self, membership: &BTreeSet<String>) -> Result<Owners, Failure> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let (before, n_ends) = (self.dealt_out(&self.cast.nodes()), self.n_ends());
            self.request_java().await?;
            match self.resharded(before, membership).await {
                Ok(owners) => {
                    self.idle(n_ends, &owners).await?;
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
        match (necessary, requested) {
            // Java has asked for the resharding already; then the run is what counts.
            (Ok(()) | Err(Failure::Conflict(_)), requested) => requested,
            (Err(other), _) => Err(other),
        }
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

    /// Returns how many runs of the job Java has ended.
    fn n_ends(&self) -> usize {
        let log = self.cast.log.entries();
        let ended =
            log.iter().filter(|entry| &*entry.who == "java").filter_map(|entry| entry.ended());
        ended.filter(|run| run.job == self.job).count()
    }

    /// Waits until Java has run its items, so that it heeds the next request.
    async fn idle(&self, n_ends: usize, owners: &Owners) -> Result<(), Failure> {
        let n_items = owners.values().filter(|owner| **owner == self.real[0]).count();
        let expected = format!("Java runs its {n_items} items of {}", self.job);
        let ended = self.cast.log.wait(RESHARDING, expected, |_| match self.n_ends() - n_ends {
            n if n >= n_items => Ok(()),
            n => Err(format!("{n} have ended")),
        });
        ended.await?;
        let expected = format!("no item of {} runs", self.job);
        let idle = self.cast.tree.wait(RESHARDING, expected, |nodes| {
            let mut items = 0..TOTAL;
            match items.any(|item| nodes.has(&self.path(&format!("sharding/{item}/running")))) {
                true => Err(nodes.draw(&self.path("sharding"))),
                false => Ok(()),
            }
        });
        idle.await
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

    /// Makes Rust lead: a disabled server abdicates, and is not elected.
    async fn hand_over(&self) -> Result<(), Failure> {
        let server = self.path(&format!("servers/{}", self.java_ip));
        self.cast.tree.put(&server, "DISABLED").await?;
        self.leads(&self.real[1]).await?;
        self.cast.tree.put(&server, self.enabled()).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_jobs_have_the_hashes_that_they_say() {
        let odd = |name| sharding::java_string_hash(name) % 2 != 0;
        assert!(odd("oddHash") && !odd("evenHash"));
        let named: Vec<_> =
            strategies(JavaVersion::V2_1_5).into_iter().map(|(job, _)| job).collect();
        assert!(named.contains(&"oddHash") && named.contains(&"evenHash"), "{named:?}");
    }

    #[test]
    fn memberships_differ_in_size() {
        let sizes: BTreeSet<usize> =
            memberships(&mut Rng::with_seed(7)).iter().map(BTreeSet::len).collect();
        assert!(sizes.contains(&0) && sizes.len() > 6, "{sizes:?}");
    }
}
