//! A program beside the steps of a task, without a word until its end.

use std::fs::File;
use std::io::{self, Seek};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Error;
use crate::steps::line;

/// A program that has been started. It is ended if nobody waits for it.
#[derive(Debug)]
pub(crate) struct Beside {
    name: String,
    line: String,
    start: Instant,
    child: Child,
    output: File,
}

impl Beside {
    /// Starts a program that starts no others, or none that outlive it.
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

    /// Waits for its end, shows what it has printed, and returns how long it took.
    pub(crate) fn end(mut self) -> Result<Duration, Error> {
        let line = self.line.clone();
        match self.shown().map_err(|source| Error::Start { line: line.clone(), source })? {
            status if status.success() => Ok(self.start.elapsed()),
            status => Err(Error::Command { line, status }),
        }
    }

    fn shown(&mut self) -> io::Result<std::process::ExitStatus> {
        let status = self.child.wait()?;
        println!("$ {}", self.line);
        self.output.rewind()?;
        io::copy(&mut self.output, &mut io::stdout())?;
        Ok(status)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Both do nothing if it has ended.
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
    fn what_has_run_beside_the_others_is_a_step_or_a_failure() {
        let mut steps = Steps::default();
        let start = |program| Beside::start("side", niced(&Command::new(program))).unwrap();
        let (good, bad) = (start("true"), start("false"));
        steps.command("main", &mut Command::new("true")).unwrap();
        steps.join(good).unwrap();
        let message = with_causes(&steps.join(bad).unwrap_err());
        assert_eq!(message, "step `side` failed: `nice -n 10 false` ended with exit status: 1");
    }

    #[test]
    fn what_nobody_waits_for_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        run(Command::new("mkfifo").arg(&pipe)).unwrap();
        let forever = ["-c", "exec 3> \"$1\"; exec tail -f /dev/null", "sh"];
        let mut command = Command::new("sh");
        command.args(forever).arg(&pipe);
        let beside = Beside::start("side", command).unwrap();
        // Opens once somebody writes; ends when nobody does any more.
        let mut reader = File::open(&pipe).unwrap();
        drop(beside);
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    }
}
