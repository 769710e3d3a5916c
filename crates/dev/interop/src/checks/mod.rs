//! The checks, one file each, and what they have in common.

mod account;
mod common;
mod configuring;
mod dumping;
mod joining;
mod leading;
mod misfiring;
mod operating;
mod rolling;
mod strategies;
mod takeover;
mod zones;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::stage::{Cast, Failure, Log, Theatre};
use crate::suite::{JavaVersion, Report};

/// How long a check may take on a busy machine: several times of what it usually takes.
const LIMIT: Duration = Duration::from_secs(300);

/// What a check does with its theatre; it returns early only if it cannot go on.
type Played<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;
type Play = for<'a> fn(&'a Setting<'a>, &'a mut Report) -> Played<'a>;

/// Where a check is played.
pub(crate) struct Setting<'a> {
    theatre: &'a Theatre,
    namespace: &'a str,
    java: JavaVersion,
    /// What the workers of the check say.
    log: Log,
}

impl Setting<'_> {
    /// Begins the check.
    async fn cast(&self) -> Result<Cast<'_>, Failure> {
        self.theatre.cast(self.namespace, self.log.clone()).await
    }
}

/// A row of the table of checks.
pub(crate) struct Check {
    pub(crate) number: u32,
    pub(crate) title: &'static str,
    play: Play,
}

impl Check {
    /// Plays the check. It fails as well if any worker says that it cannot go on, and if it takes too long.
    pub(crate) async fn play(
        &self,
        theatre: &Theatre,
        namespace: &str,
        java: JavaVersion,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let setting = Setting { theatre, namespace, java, log: Log::new() };
        let played = tokio::time::timeout(LIMIT, (self.play)(&setting, report)).await;
        said_beside(&setting.log, report);
        let (check, title) = (self.number, self.title);
        played.unwrap_or(Err(Failure::Overdue { check, title, after: LIMIT }))
    }
}

/// Judges what no check asks for: no worker may say that it cannot go on. What our workers could not make sense of in the
/// registry is worth knowing, and how often Java had to be reminded.
fn said_beside(log: &Log, report: &mut Report) {
    let entries = log.entries();
    for (who, text) in entries.iter().filter_map(|entry| Some((&entry.who, entry.error()?))) {
        report.failed(&format!("{who} cannot go on: {text}"));
    }
    let anomalies = entries.iter().filter_map(|entry| Some((&entry.who, entry.anomaly()?)));
    for (who, (job, text)) in anomalies.collect::<BTreeSet<_>>() {
        report.note(&format!("{who} tells of {job}: {text}"));
    }
    report.reminded(log.n_reminders());
}

pub(crate) const CHECKS: [Check; 9] = [
    Check {
        number: 1,
        title: "Rust joins a Java cluster, and every fire of every item runs once",
        play: |setting, report| Box::pin(joining::play(setting, report)),
    },
    Check {
        number: 2,
        title: "the leader is killed, and the other language leads",
        play: |setting, report| Box::pin(leading::play(setting, report)),
    },
    Check {
        number: 3,
        title: "an item whose worker is killed is taken over by the other language",
        play: |setting, report| Box::pin(takeover::play(setting, report)),
    },
    Check {
        number: 4,
        title: "a configuration that one language changes is followed by the other",
        play: |setting, report| Box::pin(configuring::play(setting, report)),
    },
    Check {
        number: 5,
        title: "the Java lifecycle API operates Rust instances and shows them rightly",
        play: |setting, report| Box::pin(operating::play(setting, report)),
    },
    Check {
        number: 6,
        title: "the three strategies of the release give the same assignment whoever leads",
        play: |setting, report| Box::pin(strategies::play(setting, report)),
    },
    Check {
        number: 7,
        title: "misfires and disabled items are respected across languages",
        play: |setting, report| Box::pin(misfiring::play(setting, report)),
    },
    Check {
        number: 8,
        title: "Java workers are replaced by Rust workers and back without a lost or doubled fire",
        play: |setting, report| Box::pin(rolling::play(setting, report)),
    },
    Check {
        number: 9,
        title: "the dump of a mixed namespace is what the Java client expects",
        play: |setting, report| Box::pin(dumping::play(setting, report)),
    },
];
