//! The launcher: one process per run, between the worker and the script.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
    set_child_subreaper, wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use super::{EXEC, GO, Report};
use crate::script::liveness::{Listed, is_group_alive, processes};

/// Signals that are forwarded to the script.
const FORWARDED: [i32; 6] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];
/// Interval for polling the remaining processes: the end of a process with another parent raises no
/// signal here.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Time limit for killed processes to vanish.
const KILL_LIMIT: Duration = Duration::from_secs(5);

pub(super) fn serve(args: impl Iterator<Item = OsString>) -> ExitCode {
    match Launcher::start(args) {
        Ok(mut launcher) => launcher.run(),
        Err(error) => {
            eprintln!("error: the script's launcher: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Launcher {
    /// Channel to the worker. If the worker closes it or dies, the launcher kills the run.
    channel: UnixStream,
    signals: SignalDelivery<UnixStream, SignalOnly>,
    /// Id of the script's process, and of its process group.
    script: Pid,
    ended: Option<WaitStatus>,
    got_term: bool,
    killed_at: Option<Instant>,
}

impl Launcher {
    fn start(args: impl Iterator<Item = OsString>) -> io::Result<Self> {
        // A different name keeps `pkill` of the worker by name from the launcher.
        rustix::thread::set_name(c"script-launcher")?;
        let mut channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let (read, write) = UnixStream::pair()?;
        let signals = FORWARDED.iter().chain([&SIGCHLD]);
        let signals = SignalDelivery::with_pipe(read, write, SignalOnly, signals)?;
        set_child_subreaper(Some(getpid()))?;
        let script = match start_script(args, &mut channel) {
            Ok(script) => script,
            Err(error) => {
                report(&mut channel, Report::Failed(error.raw_os_error().unwrap_or(0)));
                return Err(error);
            }
        };
        report(&mut channel, Report::Started);
        // The launcher must not keep the output streams of the script open.
        let null = File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        let (ended, got_term, killed_at) = (None, false, None);
        Ok(Self { channel, signals, script, ended, got_term, killed_at })
    }

    /// Runs until no process of the run is alive, and returns the exit code.
    fn run(&mut self) -> ExitCode {
        loop {
            let has_children = self.reap();
            if self.ended.is_some() && (!has_children || !self.has_survivors()) {
                break;
            }
            if self.killed_at.is_some_and(|at| at.elapsed() > KILL_LIMIT) {
                break;
            }
            self.next_event();
            for signal in self.signals.pending().filter_map(Signal::from_named_raw) {
                if signal != Signal::CHILD {
                    self.got_term |= signal == Signal::TERM;
                    self.send(signal);
                }
            }
            if self.killed_at.is_some() {
                // Repeated in each round: a process can be adopted at any time.
                self.send(Signal::KILL);
            }
        }
        self.exit_code()
    }

    /// Waits for a signal, the end of the worker, or the next poll of the remaining processes.
    fn next_event(&mut self) {
        let is_ending = self.ended.is_some() || self.killed_at.is_some();
        let mut events = [
            PollFd::new(self.signals.get_read(), PollFlags::IN),
            PollFd::new(&self.channel, PollFlags::IN),
        ];
        // After the end of the worker its channel would always be ready.
        let n_events = if self.killed_at.is_some() { 1 } else { 2 };
        let polled = poll(&mut events[..n_events], is_ending.then_some(&POLL_INTERVAL));
        let is_worker_gone = polled.is_ok() && !events[1].revents().is_empty();
        if is_worker_gone && self.killed_at.is_none() {
            self.killed_at = Some(Instant::now());
        }
    }

    /// Reaps all children that have ended; returns true if others are left.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((id, status))) => {
                    if id == self.script {
                        self.ended = Some(status);
                        report(&mut self.channel, Report::Ended(status.as_raw()));
                        if self.got_term {
                            // A process that a shell with a trap was just starting may have missed
                            // the first signal.
                            self.send(Signal::TERM);
                        }
                    }
                }
                Ok(None) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Returns the live processes of the run: its process group, and adopted processes of this
    /// session. `None` if they cannot be listed.
    fn survivors(&self) -> Option<Vec<Listed>> {
        let launcher = getpid().as_raw_nonzero().get();
        let mut processes = processes()?;
        // Not `getsid`: it returns 0 for a session of another namespace, which is no valid id.
        let session = processes.iter().find(|process| process.id == getpid())?.session;
        processes.retain(|process| {
            let is_adopted = process.parent == launcher && process.session == session;
            self.is_in_group(process) || is_adopted
        });
        Some(processes)
    }

    fn is_in_group(&self, process: &Listed) -> bool {
        process.group == self.script.as_raw_nonzero().get()
    }

    fn has_survivors(&self) -> bool {
        let survivors = self.survivors();
        survivors.map_or_else(|| is_group_alive(self.script), |survivors| !survivors.is_empty())
    }

    /// Signals all processes of the run.
    fn send(&self, signal: Signal) {
        // Until the script is reaped, no other group can have its id. Later the group is checked
        // first.
        if self.ended.is_none() || is_group_alive(self.script) {
            let _ = kill_process_group(self.script, signal);
        }
        for process in self.survivors().into_iter().flatten() {
            if !self.is_in_group(&process) {
                let _ = kill_process(process.id, signal);
            }
        }
    }

    fn exit_code(&self) -> ExitCode {
        let status = self.ended.and_then(|status| {
            let by_signal = status.terminating_signal().map(|signal| signal + 128);
            u8::try_from(status.exit_status().or(by_signal)?).ok()
        });
        status.map_or(ExitCode::FAILURE, ExitCode::from)
    }
}

/// Sends a report to the worker. Errors are ignored: a worker that is gone reads no reports.
fn report(channel: &mut UnixStream, report: Report) {
    let _ = channel.write_all(format!("{report}\n").as_bytes());
}

/// Starts the process that becomes the script, in its own group, reports it, and waits until `exec`
/// has succeeded.
fn start_script(args: impl Iterator<Item = OsString>, worker: &mut UnixStream) -> io::Result<Pid> {
    use std::os::unix::process::CommandExt as _;

    let (mut channel, of_script) = UnixStream::pair()?;
    let mut command = Command::new("/proc/self/exe");
    command.arg(EXEC).arg(getpid().to_string()).args(args).process_group(0);
    let mut child = command.stdin(OwnedFd::from(of_script)).spawn()?;
    // `command` holds the other end of the channel, which would keep the read below from ending.
    drop(command);
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| io::Error::other("the script has no id"))?;
    report(worker, Report::Process(id.as_raw_nonzero().get()));
    // A process that is gone already has reported its failure.
    let _ = channel.write_all(&[GO]);
    match read_failure(channel)? {
        None => Ok(id),
        Some(error) => {
            child.wait()?;
            Err(error)
        }
    }
}

/// Returns the reason why the script could not be started; `None` if it was started.
fn read_failure(mut failure: UnixStream) -> io::Result<Option<io::Error>> {
    let mut code = String::new();
    failure.read_to_string(&mut code)?;
    let error = |code: &str| io::Error::from_raw_os_error(code.parse().unwrap_or(0));
    Ok((!code.is_empty()).then(|| error(&code)))
}
