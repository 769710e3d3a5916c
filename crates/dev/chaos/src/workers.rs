//! Worker processes: their starts, faults and ends.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Error;
use crate::evidence::FaultKind;
use crate::journal::{Journal, now_ms};
use crate::plan::{WORKERS, WorkerFault, WorkerStep, server_ip};

/// Drain time of a worker after SIGTERM.
const DRAIN: &str = "5s";
/// Limit of the end of a worker after SIGTERM. It covers the drain, the shutdown grace of the
/// scripts, the close of the session during an outage, and the writes of the history.
const END_LIMIT: Duration = Duration::from_secs(60);
/// Delay before the restart of a worker that ended by itself, as a supervisor has it.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// Exit code of a worker that cannot reach the registry at its start.
const UNREACHABLE: i32 = 3;

/// Settings for the start of the workers.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// The program `ejob`.
    pub(crate) ejob: PathBuf,
    /// The folder with `jobs.toml`, histories and logs.
    pub(crate) folder: PathBuf,
    /// The ZooKeeper servers.
    pub(crate) zookeeper: String,
    /// True if `setpriv` exists, which lets a process die with the thread that started it.
    pub(crate) dies_with_parent: bool,
}

impl Launch {
    /// Returns true if `setpriv` can be started.
    pub(crate) fn has_setpriv() -> bool {
        let mut command = Command::new("setpriv");
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Returns the command `ejob` with the variables that name the registry.
    pub(crate) fn ejob(&self) -> Command {
        // `setpriv` executes `ejob` in its place, so that the process id stays the same.
        let mut command = if self.dies_with_parent {
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "KILL"]).arg(&self.ejob);
            command
        } else {
            Command::new(&self.ejob)
        };
        command
            .current_dir(&self.folder)
            .env("EJOB_ZOOKEEPER", &self.zookeeper)
            .env("EJOB_NAMESPACE", "/chaos")
            .stdin(Stdio::null());
        command
    }

    fn history(&self, worker: usize) -> PathBuf {
        self.folder.join(format!("history-{}.db", worker + 1))
    }

    /// Returns the history of each worker, by server IP.
    pub(crate) fn histories(&self) -> Vec<(String, PathBuf)> {
        (0..WORKERS).map(|n| (server_ip(n), self.history(n))).collect()
    }

    fn log(&self, worker: usize) -> PathBuf {
        self.folder.join(format!("worker-{}.log", worker + 1))
    }

    fn start(&self, worker: usize) -> Result<Child, Error> {
        let path = self.log(worker);
        let log = OpenOptions::new().create(true).append(true).open(&path);
        let log = log.map_err(Error::file("open", &path))?;
        let history = format!("sqlite:{}", self.history(worker).display());
        let mut command = self.ejob();
        command.args(["worker", "jobs.toml", "--session-timeout", "4s", "--drain", DRAIN]);
        command.args(["--server-ip", &server_ip(worker), "--history", &history]);
        command.stdout(log.try_clone().map_err(Error::file("open", &path))?).stderr(log);
        command.spawn().map_err(Error::file("start", &self.ejob))
    }
}

#[derive(Debug)]
enum State {
    Running,
    /// SIGSTOP was sent at `from_ms`; SIGCONT follows at `until`.
    Stopped {
        from_ms: i64,
        until: Instant,
    },
    /// SIGTERM was sent.
    Ending {
        from_ms: i64,
        since: Instant,
        down: Duration,
    },
    /// The worker has no process until `until`.
    Down {
        kind: FaultKind,
        from_ms: i64,
        until: Instant,
    },
}

#[derive(Debug)]
struct Worker {
    child: Child,
    state: State,
}

/// All workers of a run. Dropping the value kills them.
#[derive(Debug)]
pub(crate) struct Workers<'a> {
    launch: Launch,
    journal: &'a Journal,
    workers: Vec<Worker>,
}

impl<'a> Workers<'a> {
    pub(crate) fn start(launch: Launch, journal: &'a Journal) -> Result<Self, Error> {
        let mut workers = Self { launch, journal, workers: Vec::new() };
        for n in 0..WORKERS {
            let child = workers.launch.start(n)?;
            workers.workers.push(Worker { child, state: State::Running });
        }
        Ok(workers)
    }

    /// Watches the workers until `phase` ends, and plays the steps once the faults begin.
    ///
    /// At the end it searches the logs for panics. One thread does all this, because workers die
    /// with the thread that started them.
    pub(crate) fn play(&mut self, steps: &[WorkerStep], phase: &Phases) -> Result<(), Error> {
        let mut steps = steps.iter().peekable();
        while !phase.is_ending() {
            self.update()?;
            if let Some(start) = phase.faults_start() {
                while let Some(step) = steps.next_if(|step| start + step.at <= Instant::now()) {
                    self.begin(step)?;
                }
                let all_run = self.workers.iter().all(|one| matches!(one.state, State::Running));
                if steps.peek().is_none() && all_run {
                    phase.set_healed();
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.end()?;
        self.check_logs()
    }

    fn begin(&mut self, step: &WorkerStep) -> Result<(), Error> {
        let ip = server_ip(step.worker);
        let worker = &mut self.workers[step.worker];
        if !matches!(worker.state, State::Running) {
            self.journal.log(&format!("{ip} is not running, so that {:?} is skipped", step.fault));
            return Ok(());
        }
        self.journal.log(&format!("{ip} {:?}", step.fault));
        let from_ms = now_ms();
        worker.state = match step.fault {
            WorkerFault::Kill(down) => {
                signal(&worker.child, Signal::KILL)?;
                worker.child.wait().map_err(Error::System)?;
                State::Down { kind: FaultKind::Kill, from_ms, until: Instant::now() + down }
            }
            WorkerFault::Stop(lasts) => {
                signal(&worker.child, Signal::STOP)?;
                State::Stopped { from_ms, until: Instant::now() + lasts }
            }
            WorkerFault::Terminate(down) => {
                signal(&worker.child, Signal::TERM)?;
                State::Ending { from_ms, since: Instant::now(), down }
            }
        };
        Ok(())
    }

    /// Continues, ends and starts workers that are due.
    fn update(&mut self) -> Result<(), Error> {
        for n in 0..self.workers.len() {
            let (ip, now) = (server_ip(n), Instant::now());
            let worker = &mut self.workers[n];
            match worker.state {
                State::Running => {
                    let Some(status) = worker.child.try_wait().map_err(Error::System)? else {
                        continue;
                    };
                    // The worker may have started while the registry was unreachable. A supervisor
                    // would restart it.
                    let kind = FaultKind::Ended;
                    if status.code() == Some(UNREACHABLE) {
                        self.journal.log(&format!("{ip} could not reach the registry: {status}"));
                    } else {
                        self.journal.incident(format!("{ip} ended by itself: {status}"));
                    }
                    let (from_ms, until) = (now_ms(), now + RESTART_PAUSE);
                    worker.state = State::Down { kind, from_ms, until };
                }
                State::Stopped { from_ms, until } if until <= now => {
                    signal(&worker.child, Signal::CONT)?;
                    self.journal.fault(FaultKind::Stop, ip, from_ms);
                    worker.state = State::Running;
                }
                State::Ending { from_ms, since, down } => {
                    if let Some(status) = worker.child.try_wait().map_err(Error::System)? {
                        check_end(self.journal, &ip, status);
                        let kind = FaultKind::Terminate;
                        worker.state = State::Down { kind, from_ms, until: now + down };
                    } else if since.elapsed() > END_LIMIT {
                        let text = format!("{ip} did not end within {END_LIMIT:?} of SIGTERM");
                        self.journal.incident(text);
                        signal(&worker.child, Signal::KILL)?;
                        worker.child.wait().map_err(Error::System)?;
                        let kind = FaultKind::Kill;
                        worker.state = State::Down { kind, from_ms, until: now + down };
                    }
                }
                State::Down { kind, from_ms, until } if until <= now => {
                    worker.child = self.launch.start(n)?;
                    worker.state = State::Running;
                    self.journal.fault(kind, ip, from_ms);
                }
                State::Stopped { .. } | State::Down { .. } => {}
            }
        }
        Ok(())
    }

    /// Terminates all workers and waits until they have ended.
    fn end(&mut self) -> Result<(), Error> {
        for worker in &self.workers {
            signal(&worker.child, Signal::TERM)?;
        }
        let deadline = Instant::now() + END_LIMIT;
        for (n, worker) in self.workers.iter_mut().enumerate() {
            let ip = server_ip(n);
            let status = loop {
                match worker.child.try_wait().map_err(Error::System)? {
                    None if Instant::now() < deadline => {
                        std::thread::sleep(Duration::from_millis(50));
                    }
                    status => break status,
                }
            };
            match status {
                Some(status) => check_end(self.journal, &ip, status),
                None => {
                    let text = format!("{ip} did not end within {END_LIMIT:?} of SIGTERM");
                    self.journal.incident(text);
                }
            }
        }
        Ok(())
    }

    /// Looks for panics in the logs of all workers.
    fn check_logs(&self) -> Result<(), Error> {
        for n in 0..self.workers.len() {
            let path = self.launch.log(n);
            let log = fs::read(&path).map_err(Error::file("read", &path))?;
            let log = String::from_utf8_lossy(&log);
            for line in log.lines().filter(|line| line.contains("panicked at")) {
                self.journal.incident(format!("{} panicked: {line}", server_ip(n)));
            }
        }
        Ok(())
    }
}

/// Phases of a run, for the thread of the workers.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    faults_start: OnceLock<Instant>,
    is_healed: AtomicBool,
    is_ending: AtomicBool,
}

impl Phases {
    /// Starts the faults, and returns their start.
    pub(crate) fn begin_faults(&self) -> Instant {
        *self.faults_start.get_or_init(Instant::now)
    }

    fn faults_start(&self) -> Option<Instant> {
        self.faults_start.get().copied()
    }

    fn set_healed(&self) {
        self.is_healed.store(true, Ordering::Release);
    }

    /// Returns true once all faults of workers have ended and all workers run.
    pub(crate) fn is_healed(&self) -> bool {
        self.is_healed.load(Ordering::Acquire)
    }

    /// Lets the workers end.
    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }
}

/// Ends the workers when it is dropped, so that they also end if its thread fails.
#[derive(Debug)]
pub(crate) struct EndOnDrop<'a>(pub(crate) &'a Phases);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Checks the exit code of a worker after SIGTERM: 0, or 1 if it cancelled runs.
///
/// A worker that was starting, or ended during an outage, may report the registry as unreachable.
fn check_end(journal: &Journal, ip: &str, status: ExitStatus) {
    match status.code() {
        Some(0 | 1 | UNREACHABLE) => journal.log(&format!("{ip} ended after SIGTERM: {status}")),
        Some(_) | None => {
            journal.incident(format!("{ip} ended after SIGTERM with {status}; valid is 0 or 1"));
        }
    }
}

fn signal(child: &Child, signal: Signal) -> Result<(), Error> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| Error::System(std::io::ErrorKind::InvalidInput.into()))?;
    match kill_process(pid, signal) {
        // The worker has ended by itself, which the next update finds.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(Error::System(error.into())),
    }
}

impl Drop for Workers<'_> {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            // The kill fails only if the process has ended.
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
    }
}

/// Creates the folder of a run and returns its absolute path. The folder must be empty.
pub(crate) fn make_folder(folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
    let mut entries = fs::read_dir(folder).map_err(Error::file("read", folder))?;
    if entries.next().is_some() {
        return Err(Error::NotEmpty(folder.to_owned()));
    }
    folder.canonicalize().map_err(Error::file("find", folder))
}
