//! Background programs, whose output is printed at their end.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;
use crate::steps::line;

/// A started program. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Background {
    name: String,
    line: String,
    start: Instant,
    child: Child,
    output: File,
}

impl Background {
    /// Starts a program. Child processes of it must not outlive it.
    pub(crate) fn start(name: &str, mut command: Command) -> Result<Self, Error> {
        let line = line(&command);
        println!("$ {line} &");
        let start = Instant::now();
        let started = tempfile::tempfile().and_then(|output| {
            command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
            Ok((command.spawn()?, output))
        });
        match started {
            Ok((child, output)) => Ok(Self { name: name.to_owned(), line, start, child, output }),
            Err(source) => Err(Error::Start { line, source }),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Waits for its end, prints its output, and returns its duration.
    pub(crate) fn end(mut self) -> Result<Duration, Error> {
        let line = self.line.clone();
        match self.wait_and_print().map_err(|source| Error::Start { line: line.clone(), source })? {
            status if status.success() => Ok(self.start.elapsed()),
            status => Err(Error::Command { line, status }),
        }
    }

    fn wait_and_print(&mut self) -> io::Result<std::process::ExitStatus> {
        let status = self.child.wait()?;
        self.output.rewind()?;
        // The lock keeps the outputs of programs apart that end at the same time.
        let mut printed = io::stdout().lock();
        writeln!(printed, "$ {} ({:.1} s)", self.line, self.start.elapsed().as_secs_f64())?;
        io::copy(&mut self.output, &mut printed)?;
        Ok(status)
    }
}

/// Runs programs, at most `at_once` at the same time. After a failure no further program starts.
///
/// Returns the first error.
pub(crate) fn run_all(programs: Vec<Command>, at_once: usize) -> Result<(), Error> {
    let left = Mutex::new(programs.into_iter());
    let failure = Mutex::new(None);
    let run_next = || -> Option<()> {
        let command = left.lock().unwrap_or_else(PoisonError::into_inner).next()?;
        let ended = Background::start("one of several", command).and_then(Background::end);
        let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = ended {
            failure.get_or_insert(error);
        }
        failure.is_none().then_some(())
    };
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| while run_next().is_some() {});
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Both have no effect after the end of the program.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::error::with_causes;
    use crate::steps::{Steps, niced, run};

    #[test]
    fn background_program_is_counted_as_a_step_or_a_failure() {
        let mut steps = Steps::begin();
        let start = |program| Background::start("side", niced(&Command::new(program))).unwrap();
        let (good, bad) = (start("true"), start("false"));
        steps.command("main", &mut Command::new("true")).unwrap();
        steps.join(good).unwrap();
        let message = with_causes(&steps.join(bad).unwrap_err());
        assert_eq!(message, "step `side` failed: `nice -n 10 false` ended with exit status: 1");
    }

    #[test]
    fn programs_run_side_by_side_until_one_fails() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        run(Command::new("mkfifo").arg(&pipe)).unwrap();
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).current_dir(folder.path());
            command
        };
        // Each side of the pipe waits for the other.
        run_all(vec![shell(": > pipe"), shell(": < pipe"), shell(": > third")], 2).unwrap();
        assert!(folder.path().join("third").exists());
        let failing = vec![shell(": > first"), shell("exit 3"), shell(": > never")];
        let message = with_causes(&run_all(failing, 1).unwrap_err());
        assert_eq!(message, "`sh -c exit 3` ended with exit status: 3");
        assert!(folder.path().join("first").exists() && !folder.path().join("never").exists());
    }

    #[test]
    fn dropped_background_program_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        run(Command::new("mkfifo").arg(&pipe)).unwrap();
        let forever = ["-c", "exec 3> \"$1\"; exec tail -f /dev/null", "sh"];
        let mut command = Command::new("sh");
        command.args(forever).arg(&pipe);
        let background = Background::start("side", command).unwrap();
        // Opening waits for a writer. The stream ends with the last writer.
        let mut reader = File::open(&pipe).unwrap();
        drop(background);
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    }
}
