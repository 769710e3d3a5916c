//! The worker processes: started, killed, stopped, terminated, and started again.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Error;
use crate::evidence::FaultKind;
use crate::journal::{Journal, now_ms};
use crate::plan::{WORKERS, WorkerFault, WorkerStep, server_ip};

/// How long runs may go on after SIGTERM.
const DRAIN: &str = "5s";
/// How long a worker may take to end after SIGTERM: its drain, the shutdown grace of its scripts,
/// the end of its session while the registry is out, and the writes of its history.
const END_LIMIT: Duration = Duration::from_secs(60);
/// How long a supervisor waits until it starts a worker that ended by itself.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// The exit code of a worker that cannot reach the registry at its start.
const UNREACHABLE: i32 = 3;

/// How the workers of a run are started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// The program `ejob`.
    pub(crate) ejob: PathBuf,
    /// The folder with `jobs.toml`, histories and logs.
    pub(crate) folder: PathBuf,
    /// The ZooKeeper servers.
    pub(crate) zookeeper: String,
}

impl Launch {
    /// Returns `ejob` with the variables that name the registry.
    pub(crate) fn ejob(&self) -> Command {
        let mut command = Command::new(&self.ejob);
        command
            .current_dir(&self.folder)
            .env("EJOB_ZOOKEEPER", &self.zookeeper)
            .env("EJOB_NAMESPACE", "/chaos")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn history(&self, worker: usize) -> PathBuf {
        self.folder.join(format!("history-{}.db", worker + 1))
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
    /// SIGSTOP was sent at this time, by the wall clock; SIGCONT follows at the instant.
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
    /// There is no process until the instant.
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

/// All workers of a run. Dropping it kills them.
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

    /// Carries out the steps, each at its time since `start`, and returns when all workers run.
    pub(crate) fn play(&mut self, steps: &[WorkerStep], start: Instant) -> Result<(), Error> {
        let mut steps = steps.iter().peekable();
        loop {
            self.look_after()?;
            while let Some(step) = steps.next_if(|step| start + step.at <= Instant::now()) {
                self.begin(step)?;
            }
            let all_run = self.workers.iter().all(|one| matches!(one.state, State::Running));
            if steps.peek().is_none() && all_run {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn begin(&mut self, step: &WorkerStep) -> Result<(), Error> {
        let ip = server_ip(step.worker);
        let worker = &mut self.workers[step.worker];
        if !matches!(worker.state, State::Running) {
            self.journal.say(&format!("{ip} does not run: {:?} is left out", step.fault));
            return Ok(());
        }
        self.journal.say(&format!("{ip} {:?}", step.fault));
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

    /// Continues, ends and starts what is due.
    pub(crate) fn look_after(&mut self) -> Result<(), Error> {
        for n in 0..self.workers.len() {
            let (ip, now) = (server_ip(n), Instant::now());
            let worker = &mut self.workers[n];
            match worker.state {
                State::Running => {
                    let Some(status) = worker.child.try_wait().map_err(Error::System)? else {
                        continue;
                    };
                    // As a supervisor does: the registry may be out.
                    if status.code() == Some(UNREACHABLE) {
                        self.journal.say(&format!("{ip} could not reach the registry: {status}"));
                    } else {
                        self.journal.incident(format!("{ip} ended by itself: {status}"));
                    }
                    let (from_ms, until) = (now_ms(), now + RESTART_PAUSE);
                    worker.state = State::Down { kind: FaultKind::Kill, from_ms, until };
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
    pub(crate) fn end(&mut self) -> Result<(), Error> {
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
    pub(crate) fn check_logs(&self) -> Result<(), Error> {
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

    pub(crate) fn histories(&self) -> Vec<(String, PathBuf)> {
        (0..self.workers.len()).map(|n| (server_ip(n), self.launch.history(n))).collect()
    }
}

/// After SIGTERM a worker ends with 0, or with 1 if it cut runs short. During its start, and while
/// the registry is out, it may have been unreachable.
fn check_end(journal: &Journal, ip: &str, status: ExitStatus) {
    match status.code() {
        Some(0 | 1 | UNREACHABLE) => journal.say(&format!("{ip} ended after SIGTERM: {status}")),
        Some(_) | None => {
            journal.incident(format!("{ip} ended after SIGTERM with {status}; valid is 0 or 1"));
        }
    }
}

fn signal(child: &Child, signal: Signal) -> Result<(), Error> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| Error::System(std::io::ErrorKind::InvalidInput.into()))?;
    match kill_process(pid, signal) {
        // It has ended by itself, which is seen when it is looked after.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(Error::System(error.into())),
    }
}

impl Drop for Workers<'_> {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            // Fails only for a process that has ended.
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
    }
}

/// Returns the folder of a run as an absolute path, made and empty.
pub(crate) fn make_folder(folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
    let mut entries = fs::read_dir(folder).map_err(Error::file("read", folder))?;
    if entries.next().is_some() {
        return Err(Error::NotEmpty(folder.to_owned()));
    }
    folder.canonicalize().map_err(Error::file("find", folder))
}
