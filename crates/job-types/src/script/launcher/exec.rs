//! The process that becomes the script.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Runs a program in place of this process. It returns only if that fails; then the launcher reads
/// the reason (`errno`) from the socket that is the standard input.
pub(super) fn exec(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    // `exec` closes the copy, which is how the launcher notices the start.
    let Ok(mut launcher) = io::stdin().as_fd().try_clone_to_owned().map(File::from) else {
        return ExitCode::FAILURE;
    };
    let error = become_script(&mut args, &mut launcher);
    let code = error.raw_os_error().unwrap_or(0);
    let _ = launcher.write_all(code.to_string().as_bytes());
    ExitCode::FAILURE
}

fn become_script(args: &mut impl Iterator<Item = OsString>, channel: &mut File) -> io::Error {
    let launcher = args.next().and_then(|id| Pid::from_raw(id.to_str()?.parse().ok()?));
    let Some(program) = args.next() else { return io::ErrorKind::InvalidInput.into() };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    // A launcher that died before the line above causes no signal.
    if launcher.is_none() || getppid() != launcher {
        return io::ErrorKind::BrokenPipe.into();
    }
    // The worker must know this process before it starts others, which no signal would end.
    let mut go = [0];
    if let Err(error) = channel.read_exact(&mut go) {
        return error;
    }
    Command::new(program).args(args).stdin(Stdio::null()).exec()
}
