//! Measures the cost of coordination, and of the same operations sent to the registry directly.
#![expect(
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "a measuring program rounds its figures and prints them"
)]

mod backend;
mod measure;
mod raw;
mod recorder;
mod replay;
mod report;
mod spread;
mod stage;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use backend::Backend;
use clap::{Parser, Subcommand, ValueEnum};
use report::{Machine, Report, Table};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measures the cost of coordination on a registry, and of operations sent to it directly
#[derive(Debug, Parser)]
#[command(name = "ejob-bench", version)]
struct Line {
    /// Fewer settings and rounds
    #[arg(long)]
    quick: bool,
    /// The registry that is measured
    #[arg(long, value_enum, default_value_t = Backend::Zookeeper)]
    backend: Backend,
    /// Only these measurements; all that exist on the registry if none is named
    #[arg(value_enum)]
    only: Vec<Measurement>,
    /// Also measure the Java original (on ZooKeeper); the folder of its worker, with `classes` and
    /// `lib`
    #[arg(long, value_name = "FOLDER")]
    java: Option<PathBuf>,
    /// Write all figures to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the ratios into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(subcommand)]
    process: Option<Process>,
}

/// Subcommands for child processes of this program.
#[derive(Debug, Subcommand)]
enum Process {
    #[command(name = "idle-jobs-process", hide = true)]
    IdleJobs { jobs: u32 },
    #[command(name = "console-process", hide = true)]
    ReadModel { jobs: u32, items: u32 },
    #[command(name = "console-views", hide = true)]
    Views { jobs: u32, items: u32 },
    #[command(name = "console-site", hide = true)]
    Site { jobs: u32, items: u32 },
}

/// Available measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measurement {
    /// One fire: requests, round trips, times
    Fire,
    /// An instance joins
    Resharding,
    /// An instance is lost
    Failover,
    /// From a commit to the feed of another session
    FeedLatency,
    /// Commits and claims a second
    Rates,
    /// Packets sent to instances that share a job
    WatchLoad,
    /// Many idle jobs
    IdleJobs,
    /// Lateness of runs
    Lateness,
    /// Registry load of a job in simulated clusters too large for this machine
    Scale,
    /// Capacity of one server on this machine
    Server,
    /// The read model of the console with a million items, and its pages
    Console,
    /// The Java original compared with this project; only with `--java`
    Java,
}

/// Size of the settings and number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    Quick,
    Full,
}

impl Effort {
    /// Number of rounds of each measurement.
    pub(crate) fn rounds(self) -> usize {
        match self {
            Self::Quick => 3,
            Self::Full => 7,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let line = Line::parse();
    let outcome = match line.process {
        Some(Process::IdleJobs { jobs }) => measure::idle_jobs::in_a_process(line.backend, jobs)
            .await
            .map(|figures| println!("{figures}")),
        Some(Process::ReadModel { jobs, items }) => {
            measure::console::model::in_a_process(jobs, items)
                .await
                .map(|figures| println!("{figures}"))
        }
        Some(Process::Views { jobs, items }) => measure::console::views::in_a_process(jobs, items)
            .await
            .map(|figures| println!("{figures}")),
        Some(Process::Site { jobs, items }) => measure::console::site::serve(jobs, items).await,
        None => run(&line).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(line: &Line) -> Outcome<()> {
    let effort = if line.quick { Effort::Quick } else { Effort::Full };
    let chosen = line.measurements()?;
    let backend = line.backend;
    let machine = Machine::here();
    let mut report = Report { backend: backend.name(), machine, tables: Vec::new() };
    println!("registry {backend}, {}\n", report.machine);
    for measurement in chosen {
        for table in measurement.tables(backend, effort, line.java.as_deref()).await? {
            println!("{table}");
            report.tables.push(table);
        }
    }
    if let Some(file) = &line.json {
        std::fs::write(file, serde_json::to_string_pretty(&report)?)?;
    }
    if let Some(file) = &line.svg {
        std::fs::write(file, report::plot(&report.tables)?)?;
    }
    Ok(())
}

impl Line {
    /// Returns the measurements to take, in the order of their declaration.
    fn measurements(&self) -> Result<Vec<Measurement>, String> {
        let backend = self.backend;
        let missing = self.only.iter().find(|measurement| !measurement.exists_on(backend));
        if let Some(measurement) = missing {
            return Err(format!(
                "the measurement `{}` needs `--backend zk`; `--backend {backend}` has {}",
                measurement.name(),
                names(&available(backend))
            ));
        }
        if self.java.is_some() && backend != Backend::Zookeeper {
            return Err(format!("`--java` needs `--backend zk`, not `{backend}`"));
        }
        if self.only.contains(&Measurement::Java) && self.java.is_none() {
            let needed =
                "the measurement `java` needs `--java FOLDER`, the folder of the Java worker";
            return Err(needed.to_owned());
        }
        let mut chosen = available(backend);
        if !self.only.is_empty() {
            chosen.retain(|measurement| self.only.contains(measurement));
        }
        Ok(chosen)
    }
}

/// Returns the measurements that exist on a registry.
fn available(backend: Backend) -> Vec<Measurement> {
    let all = Measurement::value_variants().iter().copied();
    all.filter(|measurement| measurement.exists_on(backend)).collect()
}

/// Returns the names on the command line, as a list.
fn names(measurements: &[Measurement]) -> String {
    let names: Vec<String> = measurements.iter().map(|measurement| measurement.name()).collect();
    names.join(", ")
}

impl Measurement {
    /// Returns the name on the command line.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns false for a measurement that needs ZooKeeper's counters, an instance of the Java
    /// original, or no registry at all, unless the registry is ZooKeeper.
    fn exists_on(self, backend: Backend) -> bool {
        match self {
            Self::Fire
            | Self::Resharding
            | Self::Failover
            | Self::FeedLatency
            | Self::Rates
            | Self::IdleJobs => true,
            Self::WatchLoad
            | Self::Lateness
            | Self::Scale
            | Self::Server
            | Self::Console
            | Self::Java => backend == Backend::Zookeeper,
        }
    }

    async fn tables(
        self,
        backend: Backend,
        effort: Effort,
        java: Option<&Path>,
    ) -> Outcome<Vec<Table>> {
        let table = match self {
            Self::Fire => measure::fire::measure(backend, effort).await,
            Self::Resharding => measure::resharding::measure(backend, effort).await,
            Self::Failover => measure::failover::measure(backend, effort).await,
            Self::FeedLatency => measure::feed_latency::measure(backend, effort).await,
            Self::Rates => measure::rates::measure(backend, effort).await,
            Self::WatchLoad => measure::watch_load::measure(effort).await,
            Self::IdleJobs => measure::idle_jobs::measure(backend, effort).await,
            Self::Lateness => measure::lateness::measure(effort).await,
            Self::Scale => measure::scale::measure(effort),
            Self::Server => measure::server::measure(effort).await,
            Self::Console => {
                let model = measure::console::measure(effort)?;
                return Ok(vec![model, measure::console::views::measure(effort)?]);
            }
            Self::Java => {
                return match java {
                    Some(java) => measure::java::measure(java, effort).await,
                    None => Ok(Vec::new()),
                };
            }
        };
        Ok(vec![table?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(line: &str) -> Result<String, String> {
        let words = ["ejob-bench"].into_iter().chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.measurements().map(|measurements| names(&measurements))
    }

    #[test]
    fn measurements_of_a_registry_are_all_that_exist_there_or_the_named_ones() {
        let rows = [
            ("--backend zk rates fire", "fire, rates"),
            ("fire", "fire"),
            ("--java folder java", "java"),
            ("--backend sqlite", "fire, resharding, failover, feed-latency, rates, idle-jobs"),
            ("--backend postgres failover", "failover"),
            ("--backend etcd feed-latency", "feed-latency"),
        ];
        for (line, expected) in rows {
            assert_eq!(chosen(line).as_deref(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn a_combination_that_does_not_exist_is_refused_with_those_that_do() {
        let rows = [
            (
                "--backend sqlite fire scale",
                "the measurement `scale` needs `--backend zk`; `--backend sqlite` has fire, \
                 resharding, failover, feed-latency, rates, idle-jobs",
            ),
            ("--backend etcd --java folder", "`--java` needs `--backend zk`, not `etcd`"),
            ("java", "the measurement `java` needs `--java FOLDER`, "),
            ("--backend redis", "error: invalid value 'redis' for '--backend <BACKEND>'"),
        ];
        for (line, expected) in rows {
            let error = chosen(line).unwrap_err();
            assert!(error.starts_with(expected), "{line}: {error}");
        }
        let error = chosen("--backend redis").unwrap_err();
        assert!(error.contains("[possible values: zk, sqlite, postgres, etcd]"), "{error}");
    }
}
