//! Measures the cost of coordination, and of the same operations sent to the registry directly.
#![expect(
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "a measuring program rounds its figures and prints them"
)]

mod measure;
mod raw;
mod recorder;
mod report;
mod spread;
mod stage;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use report::{Machine, Report, Table};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measures the cost of coordination on ZooKeeper, and of the same operations sent to it directly
#[derive(Debug, Parser)]
#[command(name = "ejob-bench", version)]
struct Line {
    /// Fewer settings and rounds
    #[arg(long)]
    quick: bool,
    /// Only these measurements; all if none is named
    #[arg(value_enum)]
    only: Vec<Measurement>,
    /// Also measure the Java original; the folder of its worker, with `classes` and `lib`
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
    #[command(hide = true)]
    IdleJobsProcess { jobs: u32 },
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
        Some(Process::IdleJobsProcess { jobs }) => {
            measure::idle_jobs::in_a_process(jobs).await.map(|figures| println!("{figures}"))
        }
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
    let mut report = Report { machine: Machine::here(), tables: Vec::new() };
    println!("{}\n", report.machine);
    if line.only.contains(&Measurement::Java) && line.java.is_none() {
        return Err(
            "the measurement `java` needs `--java FOLDER`, the folder of the Java worker".into()
        );
    }
    for &measurement in Measurement::value_variants() {
        if line.only.is_empty() || line.only.contains(&measurement) {
            for table in measurement.tables(effort, line.java.as_deref()).await? {
                println!("{table}");
                report.tables.push(table);
            }
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

impl Measurement {
    async fn tables(self, effort: Effort, java: Option<&Path>) -> Outcome<Vec<Table>> {
        let table = match self {
            Self::Fire => measure::fire::measure(effort).await,
            Self::Resharding => measure::resharding::measure(effort).await,
            Self::Failover => measure::failover::measure(effort).await,
            Self::WatchLoad => measure::watch_load::measure(effort).await,
            Self::IdleJobs => measure::idle_jobs::measure(effort).await,
            Self::Lateness => measure::lateness::measure(effort).await,
            Self::Scale => measure::scale::measure(effort),
            Self::Server => measure::server::measure(effort).await,
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
