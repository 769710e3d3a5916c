//! A run from its start to its evidence.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use zookeeper_fixture::{Ensemble, ServerOptions};

use crate::Error;
use crate::evidence::{Evidence, FaultKind, Phase};
use crate::history;
use crate::jobs;
use crate::journal::{Journal, now_ms};
use crate::operator::Operator;
use crate::plan::{Plan, SERVERS, ServerStep};
use crate::workers::{Launch, Workers, make_folder};

/// How long the workers may take until every item of every job has run, at first and after the
/// faults: a session timeout, a resharding, the longest period and the longest script.
const CALM_LIMIT: Duration = Duration::from_secs(90);
/// How long the workers go on after the last fire that is judged: longer than the longest script
/// and the longest period, so that its misfires and gaps are recorded.
const TAIL: Duration = Duration::from_secs(15);

/// What a run needs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program `ejob`.
    pub ejob: PathBuf,
    /// The program of this crate, which is the script of all items.
    pub script: PathBuf,
    /// The folder for everything that the run leaves behind; made if it is missing.
    pub folder: PathBuf,
    /// The seed of the plan.
    pub seed: u64,
    /// How long faults go on.
    pub length: Duration,
}

/// Carries out a run and returns its evidence, which is also in `evidence.json` of the folder.
///
/// # Errors
/// The harness itself failed: a process or a server could not be started, a file could not be
/// written, or the workers did not become calm in time.
pub fn run(setup: &Setup) -> Result<Evidence, Error> {
    let folder = make_folder(&setup.folder)?;
    let log = folder.join("harness.log");
    let journal = Journal::new(File::create(&log).map_err(Error::file("create", &log))?);
    let plan = Plan::draw(setup.seed, setup.length);
    let plan_file = folder.join("plan.txt");
    fs::write(&plan_file, plan.to_string()).map_err(Error::file("write", &plan_file))?;
    journal.say(&format!(
        "seed {}, {:?} of faults; the plan is {}",
        setup.seed,
        setup.length,
        plan_file.display()
    ));
    // The ensemble belongs to this thread: its servers die with the thread that started them.
    let options = ServerOptions::default().tick(Duration::from_millis(100));
    let mut ensemble = Ensemble::start_with(SERVERS, &options)?;
    let lines = folder.join("lines.jsonl");
    let file = folder.join("jobs.toml");
    let text = jobs::file(&setup.script, &lines, setup.seed);
    fs::write(&file, text).map_err(Error::file("write", &file))?;
    let ejob = setup.ejob.canonicalize().map_err(Error::file("find", &setup.ejob))?;
    let zookeeper = ensemble.connect_string();
    let launch = Launch { ejob, folder: folder.clone(), zookeeper };
    let mut operator = Operator::new(launch.clone(), &journal);
    let mut workers = Workers::start(launch, &journal)?;
    until_calm(&lines, &operator, &mut workers)?;
    journal.say("every item has run: the faults begin");
    let first_ms = now_ms();
    let start = Instant::now();
    thread::scope(|scope| -> Result<(), Error> {
        let worker_faults = scope.spawn(|| workers.play(&plan.workers, start));
        let commands = scope.spawn(|| operator.play(&plan.commands, start));
        let server_faults = play_servers(&mut ensemble, &plan.servers, start, &journal);
        let joined = [worker_faults.join(), commands.join()];
        for result in joined {
            result.map_err(|_| Error::Thread)??;
        }
        server_faults
    })?;
    journal.say("the faults are over");
    operator.release_all()?;
    until_calm(&lines, &operator, &mut workers)?;
    operator.check_health(CALM_LIMIT)?;
    let last_ms = now_ms();
    journal.say("every item has run again");
    let tail_end = Instant::now() + TAIL;
    while Instant::now() < tail_end {
        workers.look_after()?;
        thread::sleep(Duration::from_millis(100));
    }
    workers.end()?;
    workers.check_logs()?;
    journal.say(&format!("exit codes of commands and how often: {:?}", operator.codes));
    let (rows, events) = history::read_all(&workers.histories())?;
    let (faults, incidents) = journal.take();
    let evidence = Evidence {
        seed: setup.seed,
        first_ms,
        last_ms,
        jobs: operator.jobs(),
        lines: jobs::read_lines(&lines)?,
        rows,
        events,
        faults,
        incidents,
    };
    write(&evidence, &evidence_file(&folder))?;
    Ok(evidence)
}

/// Returns where the evidence of a run is in its folder.
#[must_use]
pub fn evidence_file(folder: &Path) -> PathBuf {
    folder.join("evidence.json")
}

fn write(evidence: &Evidence, path: &Path) -> Result<(), Error> {
    let text = serde_json::to_string(evidence);
    let text = text.map_err(|source| Error::Json { path: path.to_owned(), source })?;
    fs::write(path, text).map_err(Error::file("write", path))
}

/// Reads the evidence of a run that was kept.
///
/// # Errors
/// The file is missing or unreadable.
pub fn read(folder: &Path) -> Result<Evidence, Error> {
    let path = evidence_file(folder);
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    serde_json::from_str(&text).map_err(|source| Error::Json { path, source })
}

/// Waits until every item of every job has begun a scheduled run for a fire from now on.
fn until_calm(
    lines: &Path,
    operator: &Operator<'_>,
    workers: &mut Workers<'_>,
) -> Result<(), Error> {
    let from_ms = now_ms();
    let deadline = Instant::now() + CALM_LIMIT;
    let mut missing: BTreeSet<(String, u32)> = BTreeSet::new();
    for job in operator.jobs() {
        let total = job.configs.last().map_or(0, |config| config.total);
        missing.extend((0..total).map(|item| (job.name.clone(), item)));
    }
    loop {
        workers.look_after()?;
        if lines.exists() {
            for line in jobs::read_lines(lines)? {
                if line.phase == Phase::Begin && line.fire_ms >= from_ms {
                    missing.remove(&(line.job, line.item));
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Error::NotCalm { after: CALM_LIMIT, missing: format!("{missing:?}") });
        }
        thread::sleep(Duration::from_millis(500));
    }
}

fn play_servers(
    ensemble: &mut Ensemble,
    steps: &[ServerStep],
    start: Instant,
    journal: &Journal,
) -> Result<(), Error> {
    for ServerStep { at, server, down } in steps {
        thread::sleep((start + *at).saturating_duration_since(Instant::now()));
        let from_ms = now_ms();
        let (kind, target) = match server {
            Some(n) => {
                ensemble.server_mut(*n).kill()?;
                (FaultKind::ServerDown, format!("{}", n + 1))
            }
            None => {
                ensemble.kill_all()?;
                (FaultKind::Outage, "all".to_owned())
            }
        };
        journal.say(&format!("{kind}: {target}, for {down:?}"));
        thread::sleep(*down);
        ensemble.launch_missing()?;
        journal.fault(kind, target, from_ms);
    }
    Ok(())
}
