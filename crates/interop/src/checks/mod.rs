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

use std::future::Future;
use std::pin::Pin;

use crate::stage::{Failure, Theatre};
use crate::suite::{JavaVersion, Report};

/// What a check does with its theatre; it returns early only if it cannot go on.
type Played<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;
type Play = for<'a> fn(&'a Setting<'a>, &'a mut Report) -> Played<'a>;

/// Where a check is played.
pub(crate) struct Setting<'a> {
    theatre: &'a Theatre,
    namespace: &'a str,
    java: JavaVersion,
}

/// A row of the table of checks.
pub(crate) struct Check {
    pub(crate) number: u32,
    pub(crate) title: &'static str,
    play: Play,
}

impl Check {
    pub(crate) async fn play(
        &self,
        theatre: &Theatre,
        namespace: &str,
        java: JavaVersion,
        report: &mut Report,
    ) -> Result<(), Failure> {
        (self.play)(&Setting { theatre, namespace, java }, report).await
    }
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
        title: "every strategy gives the same assignment whoever leads",
        play: |setting, report| Box::pin(strategies::play(setting, report)),
    },
    Check {
        number: 7,
        title: "misfires and disabled items are respected across languages",
        play: |setting, report| Box::pin(misfiring::play(setting, report)),
    },
    Check {
        number: 8,
        title: "Java workers are replaced by Rust workers without a lost or doubled fire",
        play: |setting, report| Box::pin(rolling::play(setting, report)),
    },
    Check {
        number: 9,
        title: "the dump of a mixed namespace is what the Java client expects",
        play: |setting, report| Box::pin(dumping::play(setting, report)),
    },
];
