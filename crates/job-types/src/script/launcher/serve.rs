//! The launcher: one process per run, between the worker and the script.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
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

use super::{EXEC, Report};
use crate::script::living::{Listed, is_group_alive, processes};

/// Signals that are handed on to the script.
const FORWARDED: [i32; 6] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];
/// Period of looking at what the script has left: the end of a process with another parent raises
/// no signal here.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Upper bound of the time that killed processes have to vanish.
const KILL_LIMIT: Duration = Duration::from_secs(5);

pub(super) fn serve(args: impl Iterator<Item = OsString>) -> ExitCode {
    match Launcher::start(args) {
        Ok(mut launcher) => launcher.work(),
        Err(error) => {
            eprintln!("error: the script's launcher: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Launcher {
    /// The channel to the worker, who closes it to have the run killed, by its death too.
    channel: UnixStream,
    signals: SignalDelivery<UnixStream, SignalOnly>,
    /// The first process of the run, and its process group.
    script: Pid,
    ended: Option<WaitStatus>,
    was_asked_to_end: bool,
    killed_at: Option<Instant>,
}

impl Launcher {
    fn start(args: impl Iterator<Item = OsString>) -> io::Result<Self> {
        // Another name than the worker's, so that `pkill` by name does not hit both.
        rustix::thread::set_name(c"script-launcher")?;
        let mut channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let (read, write) = UnixStream::pair()?;
        let signals = FORWARDED.iter().chain([&SIGCHLD]);
        let signals = SignalDelivery::with_pipe(read, write, SignalOnly, signals)?;
        set_child_subreaper(Some(getpid()))?;
        let script = match start_script(args) {
            Ok(script) => script,
            Err(error) => {
                report(&mut channel, Report::Failed(error.raw_os_error().unwrap_or(0)));
                return Err(error);
            }
        };
        report(&mut channel, Report::Started(script.as_raw_nonzero().get()));
        // Only the run keeps its streams open.
        let null = File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        let (ended, was_asked_to_end, killed_at) = (None, false, None);
        Ok(Self { channel, signals, script, ended, was_asked_to_end, killed_at })
    }

    /// Returns when nothing of the run is alive.
    fn work(&mut self) -> ExitCode {
        loop {
            let has_children = self.reap();
            if self.ended.is_some() && (!has_children || !self.has_rest()) {
                break;
            }
            if self.killed_at.is_some_and(|at| at.elapsed() > KILL_LIMIT) {
                break;
            }
            self.next_event();
            for signal in self.signals.pending().filter_map(Signal::from_named_raw) {
                if signal != Signal::CHILD {
                    self.was_asked_to_end |= signal == Signal::TERM;
                    self.send(signal);
                }
            }
            if self.killed_at.is_some() {
                // Again each time: a process can be adopted after the last look.
                self.send(Signal::KILL);
            }
        }
        self.exit_code()
    }

    /// Waits for a signal, the end of the worker, or the next look at what is left.
    fn next_event(&mut self) {
        let is_ending = self.ended.is_some() || self.killed_at.is_some();
        let mut events = [
            PollFd::new(self.signals.get_read(), PollFlags::IN),
            PollFd::new(&self.channel, PollFlags::IN),
        ];
        // The channel of a worker that is gone would always be ready.
        let n_events = if self.killed_at.is_some() { 1 } else { 2 };
        let polled = poll(&mut events[..n_events], is_ending.then_some(&LOOK_AGAIN));
        let is_worker_gone = polled.is_ok() && !events[1].revents().is_empty();
        if is_worker_gone && self.killed_at.is_none() {
            self.killed_at = Some(Instant::now());
        }
    }

    /// Reads the status of all children that have ended; returns true if others are left.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((id, status))) => {
                    if id == self.script {
                        self.ended = Some(status);
                        report(&mut self.channel, Report::Ended(status.as_raw()));
                        if self.was_asked_to_end {
                            // A process that a shell with a trap was just starting has missed the
                            // first.
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

    /// Returns the processes of the run that are alive: its process group, and adopted processes of
    /// this session. `None` if they cannot be listed.
    fn rest(&self) -> Option<Vec<Listed>> {
        let me = getpid().as_raw_nonzero().get();
        let mut processes = processes()?;
        // Not by `getsid`: a session of another namespace is 0, which is no valid id.
        let session = processes.iter().find(|process| process.id == getpid())?.session;
        processes.retain(|process| {
            let is_adopted = process.parent == me && process.session == session;
            self.is_of_group(process) || is_adopted
        });
        Some(processes)
    }

    fn is_of_group(&self, process: &Listed) -> bool {
        process.group == self.script.as_raw_nonzero().get()
    }

    fn has_rest(&self) -> bool {
        self.rest().map_or_else(|| is_group_alive(self.script), |rest| !rest.is_empty())
    }

    /// Signals everything of the run.
    fn send(&self, signal: Signal) {
        // As long as the script was not waited for, its id is the group's; later the group is
        // looked for first.
        if self.ended.is_none() || is_group_alive(self.script) {
            let _ = kill_process_group(self.script, signal);
        }
        for process in self.rest().into_iter().flatten() {
            if !self.is_of_group(&process) {
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

/// A worker that is gone reads no reports.
fn report(channel: &mut UnixStream, report: Report) {
    let _ = channel.write_all(format!("{report}\n").as_bytes());
}

/// Starts the process that becomes the script, in a group of its own, and waits until it is the
/// script.
fn start_script(args: impl Iterator<Item = OsString>) -> io::Result<Pid> {
    use std::os::unix::process::CommandExt as _;

    let (failure, writer) = io::pipe()?;
    let mut command = Command::new("/proc/self/exe");
    command.arg(EXEC).arg(getpid().to_string()).args(args).process_group(0).stdin(writer);
    let mut child = command.spawn()?;
    // It holds the other end of the pipe.
    drop(command);
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| io::Error::other("the script has no id"))?;
    match reason(failure)? {
        None => Ok(id),
        Some(error) => {
            child.wait()?;
            Err(error)
        }
    }
}

/// Returns why the script could not be started; `None` if it was.
fn reason(mut failure: PipeReader) -> io::Result<Option<io::Error>> {
    let mut code = String::new();
    failure.read_to_string(&mut code)?;
    let error = |code: &str| io::Error::from_raw_os_error(code.parse().unwrap_or(0));
    Ok((!code.is_empty()).then(|| error(&code)))
}
