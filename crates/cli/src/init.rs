//! Supervision of a worker that is the first process of a container.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::fault::Exit;

/// Starts this program again as the only child, and forwards signals to it.
///
/// It also reads the status of every orphaned process. It ends with the status of the child, or
/// with 128 and the number of its signal. The worker cannot do this itself: reading the status of
/// any process would take that of a script from the code that waits for it.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    supervise(arguments).unwrap_or_else(|error| {
        eprintln!("error: the worker could not be started as the child of process 1: {error}");
        ExitCode::from(Exit::Partly.code())
    })
}

fn supervise(arguments: &[OsString]) -> io::Result<ExitCode> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD])?;
    // Its own process group: a terminal would signal both processes, and a second signal stops a
    // worker at once.
    let child = Command::new("/proc/self/exe").args(arguments).process_group(0).spawn()?;
    let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let child = child.ok_or_else(|| io::Error::other("the process has no id"))?;
    for signal in signals.forever().filter_map(Signal::from_named_raw) {
        if signal != Signal::CHILD {
            let _ = kill_process(child, signal);
        } else if let Some(status) = reap(child) {
            return Ok(exit_code(status));
        }
    }
    Err(io::Error::other("no signals can be received"))
}

/// Reads the status of all ended children; returns that of `child` if it is among them.
fn reap(child: Pid) -> Option<WaitStatus> {
    while let Ok(Some((id, status))) = wait(WaitOptions::NOHANG) {
        if id == child {
            return Some(status);
        }
    }
    None
}

fn exit_code(status: WaitStatus) -> ExitCode {
    let by_signal = status.terminating_signal().map(|signal| signal + 128);
    let code = status.exit_status().or(by_signal).and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}
