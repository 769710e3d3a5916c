//! The checks, one file each, and what they have in common.

mod account;
mod joining;

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

pub(crate) const CHECKS: [Check; 1] = [Check {
    number: 1,
    title: "Rust joins a Java cluster, and every fire of every item runs once",
    play: |setting, report| Box::pin(joining::play(setting, report)),
}];
