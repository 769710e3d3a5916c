//! The program: plays and judges a run, judges a kept run again, or runs as the script of an item.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use chaos::evidence::Evidence;
use chaos::jobs::ItemArguments;
use chaos::judge::judge;
use chaos::report::Report;
use chaos::run::{Setup, read, run};
use chaos::{Error, plan::Plan};
use clap::{Args, Parser, Subcommand};

/// Random faults on real worker processes, and a judge of every scheduled fire.
#[derive(Debug, Parser)]
#[command(name = "ejob-chaos")]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Play a run and judge it
    Run(RunArguments),
    /// Judge a kept run
    Judge {
        /// The folder of the run
        folder: PathBuf,
    },
    /// Run as the script of an item
    #[command(hide = true)]
    Item(ItemArguments),
}

#[derive(Debug, Args)]
struct RunArguments {
    /// The program `ejob`
    #[arg(long)]
    ejob: PathBuf,
    /// Duration of the faults, in minutes
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u64).range(1..=600))]
    minutes: u64,
    /// Seed of all random choices [default: drawn and printed]
    #[arg(long)]
    seed: Option<u64>,
    /// Folder for the files of the run, empty or missing
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Parent of the run folders if `--keep` is missing
    #[arg(long, value_name = "DIR", default_value = "target/chaos")]
    runs: PathBuf,
    /// Only print the plan of the seed
    #[arg(long)]
    plan: bool,
}

fn main() -> ExitCode {
    let done = match CommandLine::parse().command {
        Command::Run(arguments) => arguments.run(),
        Command::Judge { folder } => read(&folder).and_then(|evidence| verdict(&evidence, &folder)),
        Command::Item(arguments) => arguments.run().map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {}", with_causes(&error));
            ExitCode::from(2)
        }
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl RunArguments {
    #[expect(clippy::print_stdout, reason = "the program prints the plan")]
    fn run(self) -> Result<bool, Error> {
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(0..1_000_000));
        let length = Duration::from_secs(self.minutes * 60);
        if self.plan {
            print!("{}", Plan::draw(seed, length));
            return Ok(true);
        }
        let now = jiff::Timestamp::now().as_second();
        let folder = self.keep.unwrap_or_else(|| self.runs.join(format!("{seed}-{now}")));
        let script = std::env::current_exe().map_err(Error::System)?;
        let setup = Setup { ejob: self.ejob, script, folder: folder.clone(), seed, length };
        verdict(&run(&setup)?, &folder)
    }
}

/// Prints the verdict, and writes the full report into the folder.
#[expect(clippy::print_stdout, reason = "the program prints the verdict")]
fn verdict(evidence: &Evidence, folder: &Path) -> Result<bool, Error> {
    let judgement = judge(evidence).map_err(Error::Judge)?;
    let report = |in_full| Report { evidence, judgement: &judgement, in_full };
    let path = folder.join("report.txt");
    let text = report(true).to_string();
    fs::write(&path, text).map_err(|source| Error::File { action: "write", path, source })?;
    println!("\n{}the files are in {}", report(false), folder.display());
    Ok(judgement.is_clean())
}
