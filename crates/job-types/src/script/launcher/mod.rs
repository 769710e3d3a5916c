//! The program that starts a script and ends it when the worker is gone.

#[cfg(target_os = "linux")]
mod exec;
mod report;
#[cfg(target_os = "linux")]
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;

use tokio::process::Command;

pub(super) use report::Report;

/// First argument of a launcher; the script and its arguments follow.
const LAUNCH: &str = "__launch-script";
/// First argument of the process that becomes the script; the id of the launcher, the script and
/// its arguments follow.
#[cfg(target_os = "linux")]
const EXEC: &str = "__exec-script";
/// Byte by which the launcher lets the process become the script.
#[cfg(target_os = "linux")]
const GO: u8 = 1;

/// A small process between a worker and each run of a script, so that no script outlives its
/// worker.
///
/// On Linux a launcher
///
/// - kills the script's process group with `SIGKILL` when the worker is gone, for any reason:
///   `kill -9`, a lack of memory, a crash;
/// - adopts and reaps the processes that the script leaves without a parent: no zombies are left,
///   even if the worker is the first process of a container;
/// - forwards `SIGTERM`, `SIGINT`, `SIGHUP`, `SIGQUIT`, `SIGUSR1` and `SIGUSR2` to the script, and
///   ends with its status, or 128 plus the number of the signal.
///
/// The system kills the script itself if its launcher dies. Processes that begin their own session
/// (`setsid`) are not part of the run, and survive. If the worker and the launcher are killed at
/// the same moment, the script dies, but its descendants survive. On other systems a launcher has
/// no effect: the worker starts the script itself.
///
/// # Examples
/// A program that starts scripts by itself calls [`serve`](Self::serve) before anything else:
/// ```no_run
/// use std::process::ExitCode;
///
/// use job_types::{Script, ScriptLauncher};
///
/// fn main() -> ExitCode {
///     if let Some(code) = ScriptLauncher::serve() {
///         return code;
///     }
///     let script = Script::new("/usr/bin/backup").launcher(ScriptLauncher::this_program());
///     // Schedule the script here.
///     ExitCode::SUCCESS
/// }
/// ```
/// Another program can use `ejob`: `ScriptLauncher::program("/usr/local/bin/ejob")`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLauncher {
    program: PathBuf,
}

impl ScriptLauncher {
    /// Returns the running program as launcher. Its `main` must call [`serve`](Self::serve) first.
    ///
    /// It uses the running executable, even if its file was replaced in the meantime.
    #[must_use]
    pub fn this_program() -> Self {
        Self::program("/proc/self/exe")
    }

    /// Returns another program as launcher: `ejob`, or one that calls [`serve`](Self::serve).
    #[must_use]
    pub fn program(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// Runs as launcher if a worker started this process as one, and returns the exit code.
    /// Otherwise returns `None` at once.
    ///
    /// Call it at the beginning of `main`, before any thread or runtime starts: it waits for all
    /// children of the process.
    #[must_use]
    pub fn serve() -> Option<ExitCode> {
        #[cfg(target_os = "linux")]
        {
            let mut args = std::env::args_os().skip(1);
            let first = args.next()?;
            match first.to_str()? {
                LAUNCH => Some(serve::serve(args)),
                EXEC => Some(exec::exec(args)),
                _ => None,
            }
        }
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// Returns the command that launches a program; its arguments follow.
    pub(super) fn command(&self, script: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(LAUNCH).arg(script);
        command
    }
}
