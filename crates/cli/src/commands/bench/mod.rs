//! `bench`: measures the latency of a registry, in a namespace that is removed afterwards.

mod measure;
mod scratch;
mod summary;

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use clap::Args;
use reg_center::{NodePath, RegistryCenter};
use serde_json::json;

use crate::context::Context;
use crate::fault::Fault;
use crate::output::{Page, Table};
use crate::target::{Target, ZookeeperTarget};
use crate::waiting;
use measure::Bench;
use scratch::Scratch;
use summary::Summary;

/// Default namespace of the measurements.
const NAMESPACE: &str = "/ejob-bench";
const MAX_ROUNDS: u32 = 100_000;
const MAX_BYTES: u32 = 100_000;

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Number of rounds of each measurement
    #[arg(long, value_name = "COUNT", default_value = "200", value_parser = count(MAX_ROUNDS))]
    rounds: NonZeroU32,
    /// Number of sessions to open
    #[arg(long, value_name = "COUNT", default_value = "10", value_parser = count(1_000))]
    sessions: NonZeroU32,
    /// Numbers of operations of a transaction, including the check that guards the writes
    #[arg(long, value_name = "COUNT,...", default_value = "2,10,100", value_delimiter = ',', value_parser = operations)]
    operations: Vec<NonZeroUsize>,
    /// Number of bytes of each read and write
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_BYTES)))]
    bytes: u32,
}

impl BenchArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let (target, namespace) = cx.connect().bench_target(NAMESPACE)?;
        let place = Place::of(target, &namespace)?;
        let registry = cx.registry(place.parent.clone(), place.may_create, None).await?;
        let other = cx.registry(place.parent.clone(), place.may_create, None).await?;
        let scratch = Scratch::make(registry.as_ref(), place.root, &namespace).await?;
        let measuring = self.measure(cx, &place.parent, &registry, &other, &scratch);
        let measured = tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => Err(Fault::refused("stopped by ctrl-c")),
            measured = waiting::shown("measuring", measuring) => measured,
        };
        // The namespace is removed after a failed measurement as well.
        let removed = scratch.remove(registry.as_ref()).await;
        match (measured, removed) {
            (Ok(measured), Ok(())) => Ok(self.page(&namespace, &measured)),
            (Err(fault), Ok(())) => Err(fault),
            (measured, Err(fault)) => {
                let exit = measured.as_ref().map_or_else(Fault::exit, |_| fault.exit());
                let first = measured.err().map(|first| format!("{first}; ")).unwrap_or_default();
                let left = format!(
                    "{first}{namespace} could not be removed: {fault}; the next bench there removes it"
                );
                Err(Fault::new(exit, left))
            }
        }
    }

    async fn measure(
        &self,
        cx: &Context<'_>,
        parent: &Target,
        registry: &Arc<dyn RegistryCenter>,
        other: &Arc<dyn RegistryCenter>,
        scratch: &Scratch,
    ) -> Result<Vec<Summary>, Fault> {
        let rounds = self.rounds.get();
        let bench =
            Bench { registry: registry.as_ref(), root: scratch.root(), rounds, bytes: self.bytes };
        let mut all = vec![bench.reads().await?];
        for (number, n_operations) in self.operations.iter().enumerate() {
            all.push(bench.transactions(number, n_operations.get()).await?);
        }
        all.push(bench.notifications(other.as_ref()).await?);
        all.push(measure::sessions(cx, parent, self.sessions.get()).await?);
        Ok(all)
    }

    fn page(&self, namespace: &str, measured: &[Summary]) -> Page {
        let headings = ["MEASUREMENT", "ROUNDS", "MIN", "MEDIAN", "MAX"];
        let text = Table::new(&headings, measured.iter().map(Summary::row));
        let document = json!({
            "namespace": namespace,
            "bytes": self.bytes,
            "measured": measured,
        });
        Page::new(text, &document)
    }
}

/// The namespace of the measurements, as a node of its parent.
struct Place {
    parent: Target,
    /// The parent may be created if it is missing.
    may_create: bool,
    root: NodePath,
}

impl Place {
    fn of(target: Target, namespace: &str) -> Result<Self, Fault> {
        let path = NodePath::parse(namespace);
        let path = path.map_err(|error| Fault::usage(format!("--namespace: {error}")))?;
        let parent = path.parent().ok_or_else(|| {
            let valid = "valid is a node that does not exist yet, such as /ejob-bench";
            Fault::usage(format!(
                "--namespace is \"/\", which cannot be created and removed; {valid}"
            ))
        })?;
        match target {
            Target::Zookeeper(target) => {
                let root = NodePath::root().join(path.name()).map_err(Fault::usage)?;
                let (may_create, namespace) = (parent.is_root(), parent.to_string());
                let parent = Target::Zookeeper(ZookeeperTarget { namespace, ..target });
                Ok(Self { parent, may_create, root })
            }
            parent @ (Target::File(_) | Target::Memory) => {
                Ok(Self { parent, may_create: false, root: path })
            }
            // A registry without jobs can be measured, too.
            parent @ Target::Server(_) => Ok(Self { parent, may_create: true, root: path }),
        }
    }
}

/// Parses a number from 1 to `max`.
fn count(max: u32) -> impl Fn(&str) -> Result<NonZeroU32, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number: &NonZeroU32| number.get() <= max);
        number.ok_or_else(|| format!("valid is a number from 1 to {max}"))
    }
}

fn operations(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.trim().parse().ok().filter(|n: &NonZeroUsize| (2..=1_000).contains(&n.get()));
    number.ok_or_else(|| "valid are numbers from 2 to 1000, such as 2,10,100".to_owned())
}
