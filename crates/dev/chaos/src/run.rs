//! Plays a run and collects its evidence.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use zookeeper_fixture::{Ensemble, ServerOptions};

use crate::Error;
use crate::evidence::{Evidence, FaultKind, Phase};
use crate::history;
use crate::jobs::{self, LineReader};
use crate::journal::{Journal, now_ms};
use crate::operator::Operator;
use crate::plan::{Plan, SERVERS, ServerStep};
use crate::workers::{EndOnDrop, Launch, Phases, Workers, make_folder};

/// Limit until every item of every job has run, before and after the faults.
///
/// It covers a session timeout, a resharding, the longest period and the longest script.
const CALM_LIMIT: Duration = Duration::from_secs(90);
/// Time that the workers run after the last judged fire. It is longer than the longest script and
/// the longest period, so that misfires and gaps of that fire are recorded.
const TAIL: Duration = Duration::from_secs(15);

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program `ejob`.
    pub ejob: PathBuf,
    /// The program of this crate, which is the script of all items.
    pub script: PathBuf,
    /// The folder for the files of the run; created if it is missing.
    pub folder: PathBuf,
    /// The seed of the plan.
    pub seed: u64,
    /// The duration of the faults.
    pub length: Duration,
}

/// Plays a run and returns its evidence, which is also in `evidence.json` of the folder.
///
/// # Errors
/// The harness itself failed: a process or a server could not be started, a file could not be
/// written, or the items did not run in time.
pub fn run(setup: &Setup) -> Result<Evidence, Error> {
    let folder = make_folder(&setup.folder)?;
    let log = folder.join("harness.log");
    let journal = Journal::new(File::create(&log).map_err(Error::file("create", &log))?);
    let plan = Plan::draw(setup.seed, setup.length);
    let plan_file = folder.join("plan.txt");
    fs::write(&plan_file, plan.to_string()).map_err(Error::file("write", &plan_file))?;
    journal.log(&format!(
        "seed {}, {:?} of faults; the plan is in {}",
        setup.seed,
        setup.length,
        plan_file.display()
    ));
    // This thread owns the ensemble, because servers die with the thread that started them.
    let options = ServerOptions::default().tick(Duration::from_millis(100));
    let mut ensemble = Ensemble::start_with(SERVERS, &options)?;
    let lines = folder.join("lines.jsonl");
    let file = folder.join("jobs.toml");
    let text = jobs::file(&setup.script, &lines, setup.seed);
    fs::write(&file, text).map_err(Error::file("write", &file))?;
    let ejob = setup.ejob.canonicalize().map_err(Error::file("find", &setup.ejob))?;
    let zookeeper = ensemble.connect_string();
    let dies_with_parent = Launch::has_setpriv();
    let launch = Launch { ejob, folder: folder.clone(), zookeeper, dies_with_parent };
    let mut operator = Operator::new(launch.clone(), &journal);
    let mut reader = LineReader::new(lines);
    let phases = Phases::default();
    let (first_ms, last_ms) = thread::scope(|scope| {
        let workers = scope.spawn(|| {
            let mut workers = Workers::start(launch.clone(), &journal)?;
            workers.play(&plan.workers, &phases)
        });
        let window = {
            let _end = EndOnDrop(&phases);
            play(&plan, &mut ensemble, &mut operator, &mut reader, &phases, &journal)
        };
        let ended = workers.join().map_err(|_| Error::Thread)?;
        // If the workers' thread failed, the other failures are consequences.
        ended.and(window)
    })?;
    journal.log(&format!("number of commands by exit code: {:?}", operator.codes));
    let (rows, events) = history::read_all(&launch.histories())?;
    let (faults, incidents) = journal.take();
    let evidence = Evidence {
        seed: setup.seed,
        first_ms,
        last_ms,
        jobs: operator.jobs(),
        lines: reader.into_lines()?,
        rows,
        events,
        faults,
        incidents,
    };
    write(&evidence, &evidence_file(&folder))?;
    Ok(evidence)
}

/// Plays the plan, and returns the first and the last instant whose fires are judged.
fn play(
    plan: &Plan,
    ensemble: &mut Ensemble,
    operator: &mut Operator<'_>,
    reader: &mut LineReader,
    phases: &Phases,
    journal: &Journal,
) -> Result<(i64, i64), Error> {
    wait_for_runs(reader, operator)?;
    journal.log("every item has run: the faults begin");
    let first_ms = now_ms();
    let start = phases.begin_faults();
    thread::scope(|scope| {
        let commands = scope.spawn(|| operator.play(&plan.commands, start));
        let server_faults = play_servers(ensemble, &plan.servers, start, journal);
        commands.join().map_err(|_| Error::Thread)?.and(server_faults)
    })?;
    let deadline = Instant::now() + CALM_LIMIT;
    while !phases.is_healed() {
        if Instant::now() >= deadline {
            let missing = "workers after the last fault".to_owned();
            return Err(Error::NotCalm { after: CALM_LIMIT, missing });
        }
        thread::sleep(Duration::from_millis(100));
    }
    journal.log("the faults have ended");
    operator.release_all()?;
    wait_for_runs(reader, operator)?;
    operator.check_health(CALM_LIMIT)?;
    let last_ms = now_ms();
    journal.log("every item has run again");
    thread::sleep(TAIL);
    Ok((first_ms, last_ms))
}

/// Returns the path of the evidence in the folder of a run.
#[must_use]
pub fn evidence_file(folder: &Path) -> PathBuf {
    folder.join("evidence.json")
}

fn write(evidence: &Evidence, path: &Path) -> Result<(), Error> {
    let text = serde_json::to_string(evidence);
    let text = text.map_err(|source| Error::Json { path: path.to_owned(), source })?;
    fs::write(path, text).map_err(Error::file("write", path))
}

/// Reads the evidence of a kept run.
///
/// # Errors
/// The file is missing or invalid.
pub fn read(folder: &Path) -> Result<Evidence, Error> {
    let path = evidence_file(folder);
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    serde_json::from_str(&text).map_err(|source| Error::Json { path, source })
}

/// Waits until every item of every job has begun a run of a fire that is due from now on.
fn wait_for_runs(reader: &mut LineReader, operator: &Operator<'_>) -> Result<(), Error> {
    let from_ms = now_ms();
    let deadline = Instant::now() + CALM_LIMIT;
    let mut missing: BTreeSet<(String, u32)> = BTreeSet::new();
    for job in operator.jobs() {
        let total = job.configs.last().map_or(0, |config| config.total);
        missing.extend((0..total).map(|item| (job.name.clone(), item)));
    }
    loop {
        for line in reader.read_on()? {
            if line.phase == Phase::Begin && line.fire_ms >= from_ms {
                missing.remove(&(line.job.clone(), line.item));
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
        journal.log(&format!("{kind}: {target}, for {down:?}"));
        thread::sleep(*down);
        ensemble.launch_missing()?;
        journal.fault(kind, target, from_ms);
    }
    Ok(())
}
