//! The runner: plays scenarios on a backend, judges them, and keeps all files.
//!
//! In reading order: `command_line` · `cases` (the scenarios) · this file.

mod cases;
mod command_line;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use checker::history::Record;
use checker::{Options, Verdict};
use testkit::harness::{ClusterError, ScenarioCluster};

use crate::cluster::{RealBackend, RealCluster, RealOptions};
use crate::journal;
use cases::{Case, Judged};
use command_line::{Backend, CommandLine};

pub use command_line::UsageError;

/// Maximum difference between the times of the registry's log and of processes.
///
/// ZooKeeper's log has the time of the proposal in whole milliseconds, and a log of the clients the
/// time at which a write was sent. Processes record the consequences when they see them.
const REAL_CLOCK_ERROR: Duration = Duration::from_millis(20);
/// Factor on time bounds, because real processes run on loaded machines.
const REAL_SCALE: f64 = 3.0;
/// Maximum number of attempts until a run counts. In real time a fault does not always hit its
/// target.
const ATTEMPTS: u64 = 3;
/// Difference of the seeds of two attempts.
const NEXT_ATTEMPT: u64 = 1_000;
/// Threads of the harness: proxies must go on while other tasks wait for servers.
const N_THREADS: usize = 4;

/// Failure of the runner.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The command line is invalid.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// A call to the operating system failed.
    #[error("cannot {act}")]
    System {
        /// The attempted action.
        act: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Returns the options for judging histories of real processes.
///
/// The time bounds are three times those of a simulation, and the clock error covers the times of
/// the registry's log.
#[must_use]
pub fn real_options() -> Options {
    Options { scale: REAL_SCALE, clock_error: REAL_CLOCK_ERROR, ..Options::default() }
}

fn system(act: &'static str) -> impl FnOnce(io::Error) -> RunError {
    move |source| RunError::System { act, source }
}

/// Plays the scenarios that the command line selects.
///
/// Exit codes: 0 if every run is valid, 1 if a promise is broken, 2 if a run does not count, 3 if
/// nothing could be played.
#[must_use]
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match play_all(&arguments, &mut io::stdout()) {
        Ok(verdict) => ExitCode::from(verdict.exit_code()),
        Err(error) => {
            // If stderr is gone, the error cannot be reported at all.
            let _ = writeln!(io::stderr(), "error: {}", with_causes(&error));
            ExitCode::from(3)
        }
    }
}

/// Plays one scenario after the other, and prints one line for each.
fn play_all(arguments: &[String], out: &mut dyn Write) -> Result<Verdict, RunError> {
    let command_line = CommandLine::parse(arguments)?;
    let program = std::env::current_exe().map_err(system("find this program"))?;
    let run = Run { backend: command_line.backend, folder: new_folder(&program)?, program };
    let mut worst = Verdict::Valid;
    for (case, seed) in command_line.selection()? {
        let attempts = (0..ATTEMPTS).map(|attempt| seed + attempt * NEXT_ATTEMPT);
        let mut verdict = Verdict::Unknown;
        for seed in attempts {
            verdict = run.play_and_report(case, seed, out)?;
            if verdict != Verdict::Unknown {
                break;
            }
        }
        worst = worse(worst, verdict);
    }
    writeln!(out, "{worst}; the files are in {}", run.folder.display())
        .map_err(system("print the verdict"))?;
    Ok(worst)
}

/// Settings that all plays of one call share.
struct Run {
    backend: Backend,
    folder: PathBuf,
    program: PathBuf,
}

impl Run {
    /// Plays a scenario once and prints its verdict.
    fn play_and_report(
        &self,
        case: Case,
        seed: u64,
        out: &mut dyn Write,
    ) -> Result<Verdict, RunError> {
        let begins = Instant::now();
        let played = self.play(case, seed);
        let took = begins.elapsed().as_secs_f64();
        let (verdict, details) = match played {
            Ok(judged) => (judged.verdict, judged.details),
            // The harness failed, so that the product cannot be judged.
            Err(error) => (Verdict::Unknown, with_causes(&*error)),
        };
        let (id, title) = (case.id(), case.title());
        let line = format!("{id} seed {seed:<4} {verdict:8} {took:6.1} s  {title}");
        writeln!(out, "{line}").map_err(system("print a verdict"))?;
        if verdict != Verdict::Valid {
            let folder = self.folder_of(case, seed);
            let again = again(self.backend, case, seed);
            writeln!(out, "{details}\nkept in {}\nagain: {again}", folder.display())
                .map_err(system("print a judgement"))?;
        }
        Ok(verdict)
    }

    fn folder_of(&self, case: Case, seed: u64) -> PathBuf {
        self.folder.join(format!("{}-{seed}", case.id()))
    }

    fn play(&self, case: Case, seed: u64) -> Result<Judged, Box<dyn Error + Send + Sync>> {
        let folder = self.folder_of(case, seed);
        let judged = match self.backend {
            Backend::Memory => Self::in_memory(case, seed)?,
            Backend::Real(backend) => self.on_real(backend, case, seed, folder.clone())?,
        };
        keep(&folder, &judged)?;
        Ok(judged)
    }

    fn in_memory(case: Case, seed: u64) -> Result<Judged, ClusterError> {
        testkit::run(async {
            let cluster = Box::new(ScenarioCluster::new(seed));
            case.play(cluster, seed, &Options::default()).await
        })
    }

    fn on_real(
        &self,
        backend: RealBackend,
        case: Case,
        seed: u64,
        folder: PathBuf,
    ) -> Result<Judged, Box<dyn Error + Send + Sync>> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(N_THREADS)
            .enable_all()
            .build()?;
        let run = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let worker = self.program.with_file_name("ejob-worker");
        let following = testkit::harness::following(seed);
        let options =
            RealOptions { backend, folder, worker, run, require: BTreeMap::new(), following };
        Ok(runtime.block_on(async {
            let cluster = Box::new(RealCluster::start(options).await?);
            case.play(cluster, seed, &real_options()).await
        })?)
    }
}

/// Returns the command that plays a scenario again with the same seed.
fn again(backend: Backend, case: Case, seed: u64) -> String {
    let backend = match backend {
        Backend::Memory => " --backend memory",
        Backend::Real(RealBackend::Sqlite) => " --backend sqlite",
        Backend::Real(RealBackend::Postgres) => " --backend postgres",
        Backend::Real(RealBackend::Etcd) => " --backend etcd",
        Backend::Real(RealBackend::Zookeeper) => "",
    };
    format!("cargo xtask verify{backend} --scenario {} --seed {seed}", case.id())
}

/// Writes the history and the report.
fn keep(folder: &Path, judged: &Judged) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let lines: Vec<Vec<u8>> = judged
        .records
        .iter()
        .map(|record: &Record| journal::line(record))
        .collect::<Result<_, _>>()?;
    std::fs::write(folder.join("history.jsonl"), lines.concat())?;
    std::fs::write(folder.join("report.txt"), &judged.details)
}

/// Creates the folder `target/verify/<time>-<process>`, for a program in `target/<profile>`.
fn new_folder(program: &Path) -> Result<PathBuf, RunError> {
    let target = program.ancestors().nth(2).unwrap_or(program);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("{}-{}", since.as_secs(), std::process::id());
    let folder = target.join("verify").join(name);
    std::fs::create_dir_all(&folder).map_err(system("create a folder for the run"))?;
    Ok(folder)
}

fn worse(one: Verdict, other: Verdict) -> Verdict {
    match (one, other) {
        (Verdict::Invalid, _) | (_, Verdict::Invalid) => Verdict::Invalid,
        (Verdict::Unknown, _) | (_, Verdict::Unknown) => Verdict::Unknown,
        (Verdict::Valid, Verdict::Valid) => Verdict::Valid,
    }
}

fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn worst_verdict_is_that_of_the_run() {
        let rows = [
            (Verdict::Valid, Verdict::Valid, Verdict::Valid),
            (Verdict::Valid, Verdict::Unknown, Verdict::Unknown),
            (Verdict::Unknown, Verdict::Invalid, Verdict::Invalid),
            (Verdict::Invalid, Verdict::Valid, Verdict::Invalid),
        ];
        for (one, other, expected) in rows {
            assert_eq!(worse(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn scenario_is_played_in_memory_and_kept() {
        let mut out = Vec::new();
        let verdict =
            play_all(&words("--backend memory --scenario S00 --seed 3"), &mut out).unwrap();
        let printed = String::from_utf8(out).unwrap();
        assert_eq!(verdict, Verdict::Valid, "{printed}");
        assert!(printed.starts_with("S00 seed 3    valid"), "{printed}");
        let folder = printed.trim_end().rsplit(' ').next().unwrap();
        let kept = Path::new(folder).join("S00-3").join("history.jsonl");
        let history = checker::History::read([&kept]).unwrap();
        assert!(history.records().len() > 100, "{}", kept.display());
    }

    #[test]
    fn printed_command_repeats_the_run() {
        let rows = [
            (Backend::Memory, "cargo xtask verify --backend memory --scenario F05 --seed 1001"),
            (
                Backend::Real(RealBackend::Sqlite),
                "cargo xtask verify --backend sqlite --scenario F05 --seed 1001",
            ),
            (
                Backend::Real(RealBackend::Postgres),
                "cargo xtask verify --backend postgres --scenario F05 --seed 1001",
            ),
            (
                Backend::Real(RealBackend::Etcd),
                "cargo xtask verify --backend etcd --scenario F05 --seed 1001",
            ),
            (
                Backend::Real(RealBackend::Zookeeper),
                "cargo xtask verify --scenario F05 --seed 1001",
            ),
        ];
        let f05 = Case::all().find(|case| case.id() == "F05").unwrap();
        for (backend, expected) in rows {
            let line = again(backend, f05, 1001);
            assert_eq!(line, expected);
            let options = words(line.strip_prefix("cargo xtask verify").unwrap());
            let repeated = CommandLine::parse(&options).unwrap();
            assert_eq!(repeated.backend, backend);
            let played = repeated.selection().unwrap();
            let played: Vec<_> = played.iter().map(|(case, seed)| (case.id(), *seed)).collect();
            assert_eq!(played, [("F05", 1001)]);
        }
    }

    #[test]
    fn unknown_verdict_is_printed_with_the_command_that_repeats_the_run() {
        let program = std::env::current_exe().unwrap();
        // No folder can be created below a file, so that the harness fails.
        let run = Run { backend: Backend::Memory, folder: program.clone(), program };
        let mut out = Vec::new();
        let verdict = run.play_and_report(Case::Smoke, 3, &mut out).unwrap();
        let printed = String::from_utf8(out).unwrap();
        assert_eq!(verdict, Verdict::Unknown, "{printed}");
        let again = "\nagain: cargo xtask verify --backend memory --scenario S00 --seed 3\n";
        assert!(printed.ends_with(again), "{printed}");
    }
}
