//! A worker as the first process of a container.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::fault::Exit;

/// Starts this program again as the only child, hands signals on to it, and reads the status of
/// every process that ends without a parent. Ends with the status of the child, or 128 and the
/// number of its signal.
///
/// The worker cannot do that itself: its own children would be waited for by the wrong part of it.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    supervise(arguments).unwrap_or_else(|error| {
        eprintln!(
            "error: as the first process of a container: the worker could not be started: {error}"
        );
        ExitCode::from(Exit::Partly.code())
    })
}

fn supervise(arguments: &[OsString]) -> io::Result<ExitCode> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD])?;
    // In a group of its own: a terminal would signal both, and a second signal stops a worker at
    // once.
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

/// Reads the status of all children that have ended; returns that of `child` if it is one of them.
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
