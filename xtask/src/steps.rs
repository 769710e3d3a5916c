//! Runs commands one after the other, echoes and times each, and stops at the first failure or
//! continues.

use std::env;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::background::Background;
use crate::error::with_causes;
use crate::{Error, workspace};

/// The steps of a task so far.
#[derive(Debug)]
pub(crate) struct Steps {
    started: Instant,
    /// Succeeded steps with their durations.
    done: Vec<(String, Duration)>,
    /// Errors of failed attempts.
    failed: Vec<Error>,
}

impl Steps {
    /// Begins a task.
    pub(crate) fn begin() -> Self {
        Self { started: Instant::now(), done: Vec::new(), failed: Vec::new() }
    }

    /// Runs a command as the next step.
    pub(crate) fn command(&mut self, name: &str, command: &mut Command) -> Result<(), Error> {
        self.step(name, || run(command))
    }

    /// Runs an action as the next step, and returns its result.
    pub(crate) fn step<T>(
        &mut self,
        name: &str,
        action: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let start = Instant::now();
        self.note(name, action().map(|made| (made, start.elapsed())))
    }

    /// Runs an action as the next step. If it fails, the task continues and its end reports the
    /// error.
    pub(crate) fn attempt(&mut self, name: &str, action: impl FnOnce() -> Result<(), Error>) {
        if let Err(error) = self.step(name, action) {
            eprintln!("error: {}", with_causes(&error));
            self.failed.push(error);
        }
    }

    /// Waits for a background program, prints its output, and counts it as the next step.
    pub(crate) fn join(&mut self, background: Background) -> Result<(), Error> {
        let name = background.name().to_owned();
        self.note(&name, background.end().map(|duration| ((), duration)))
    }

    fn note<T>(&mut self, name: &str, ended: Result<(T, Duration), Error>) -> Result<T, Error> {
        let failed = |error| Error::Step { step: name.to_owned(), source: Box::new(error) };
        let (made, duration) = ended.map_err(failed)?;
        self.done.push((name.to_owned(), duration));
        Ok(made)
    }

    /// Ends a task with its summary. Fails with all errors of failed attempts.
    pub(crate) fn end(self, task: &str) -> Result<(), Error> {
        // Steps in the background ran at the same time as others.
        println!("{}", self.summary(task, self.started.elapsed()));
        if self.failed.is_empty() { Ok(()) } else { Err(Error::Steps { failed: self.failed }) }
    }

    /// Returns one line with the succeeded steps, their durations and that of the task.
    fn summary(&self, task: &str, total: Duration) -> String {
        let mut line = format!("{task}: {} steps passed in {}", self.done.len(), seconds(total));
        for (n, (name, duration)) in self.done.iter().enumerate() {
            let separator = if n == 0 { ": " } else { ", " };
            write!(line, "{separator}{name} {}", seconds(*duration))
                .expect("writing to a string cannot fail");
        }
        line
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// Returns a cargo command that runs in the root of the workspace.
pub(crate) fn cargo(arguments: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments.split_whitespace()).current_dir(workspace());
    for (name, _) in env::vars_os().filter(|(name, _)| describes_a_package(name)) {
        command.env_remove(name);
    }
    command
}

/// Returns true for a variable by which cargo describes the package of the program that it runs:
/// this one.
///
/// Build scripts of dependencies look at these variables. With other values than in a shell, each
/// change between the two would build the dependencies again.
fn describes_a_package(name: &OsStr) -> bool {
    let prefixes = ["CARGO_MANIFEST_", "CARGO_PKG_"];
    name.to_str().is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
}

/// Returns the same command at a lower priority, so that it does not delay other steps.
pub(crate) fn niced(command: &Command) -> Command {
    let mut niced = Command::new("nice");
    niced.args(["-n", "10"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => niced.env(name, value),
            None => niced.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        niced.current_dir(folder);
    }
    niced
}

/// Echoes a command and runs it without input. Fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<(), Error> {
    let line = line(command);
    println!("$ {line}");
    let status = command.stdin(Stdio::null()).status();
    match status.map_err(|source| Error::Start { line: line.clone(), source })? {
        status if status.success() => Ok(()),
        status => Err(Error::Command { line, status }),
    }
}

/// Runs a command without input, and returns its status and its output. Output goes elsewhere where
/// the command says so.
pub(crate) fn output(command: &mut Command) -> Result<Output, Error> {
    let output = command.stdin(Stdio::null()).output();
    output.map_err(|source| Error::Start { line: line(command), source })
}

/// Runs a command without input, shows its messages, and returns its standard output. Fails unless
/// it succeeds.
pub(crate) fn stdout(command: &mut Command) -> Result<String, Error> {
    match output(command.stderr(Stdio::inherit()))? {
        Output { status, stdout, .. } if status.success() => {
            Ok(String::from_utf8_lossy(&stdout).into_owned())
        }
        Output { status, .. } => Err(Error::Command { line: line(command), status }),
    }
}

/// Returns whether a command succeeds, without showing its output.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Returns a command as text: environment variables, the program's name, the arguments.
pub(crate) fn line(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let settings = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}='{}'", name.to_string_lossy(), value?.to_string_lossy()))
    });
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    let words: Vec<String> =
        settings.chain([program.to_string_lossy().into_owned()]).chain(arguments).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_failure_ends_the_task_and_names_step_and_command() {
        let mut steps = Steps::begin();
        steps.command("good", &mut Command::new("true")).unwrap();
        let failures = [
            ("bad", Command::new("false"), "step `bad` failed: `false` ended with exit status: 1"),
            (
                "lost",
                Command::new("/no/such"),
                "step `lost` failed: cannot run `such`: No such file",
            ),
        ];
        for (name, mut command, expected) in failures {
            let error = steps.command(name, &mut command).unwrap_err();
            let message = with_causes(&error);
            assert!(message.starts_with(expected), "{message}");
        }
        let summary = steps.summary("x", Duration::ZERO);
        assert!(summary.starts_with("x: 1 steps passed in 0.0 s: "), "{summary}");
    }

    #[test]
    fn output_of_a_command_that_fails_is_an_error() {
        let print = |code| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("echo rustc 1.95.0; exit {code}")]);
            command
        };
        assert_eq!(stdout(&mut print(0)).unwrap(), "rustc 1.95.0\n");
        let message = with_causes(&stdout(&mut print(3)).unwrap_err());
        assert!(message.ends_with("ended with exit status: 3"), "{message}");
        let message = with_causes(&output(&mut Command::new("/no/such")).unwrap_err());
        assert!(message.starts_with("cannot run `such`: No such file"), "{message}");
    }

    #[test]
    fn cargo_does_not_inherit_the_description_of_this_package() {
        let described: Vec<_> =
            env::vars_os().map(|(name, _)| name).filter(|name| describes_a_package(name)).collect();
        assert!(described.len() > 4, "cargo describes the package of a test: {described:?}");
        let command = cargo("build");
        for command in [&niced(&command), &command] {
            for name in &described {
                let removed = command.get_envs().any(|(n, value)| n == *name && value.is_none());
                assert!(removed, "{name:?} is inherited by {command:?}");
            }
        }
        assert!(!describes_a_package(OsStr::new("CARGO_TARGET_DIR")));
    }

    #[test]
    fn failed_attempts_do_not_stop_the_task_and_are_named_at_its_end() {
        let mut steps = Steps::begin();
        let mut ran = Vec::new();
        for (name, program) in [("one", "false"), ("two", "true"), ("three", "/no/such")] {
            steps.attempt(name, || {
                ran.push(name);
                run(&mut Command::new(program))
            });
        }
        assert_eq!(ran, ["one", "two", "three"]);
        let summary = steps.summary("x", Duration::ZERO);
        assert!(summary.starts_with("x: 1 steps passed in 0.0 s: "), "{summary}");
        let message = with_causes(&steps.end("x").unwrap_err());
        let lines: Vec<&str> = message.lines().collect();
        assert_eq!(lines.len(), 3, "{message}");
        assert_eq!(lines[0], "these steps failed, the others passed:");
        assert_eq!(lines[1], "  step `one` failed: `false` ended with exit status: 1");
        assert!(lines[2].starts_with("  step `three` failed: cannot run `such`: No such file"));
    }

    #[test]
    fn task_without_failures_succeeds() {
        let mut steps = Steps::begin();
        steps.attempt("good", || run(&mut Command::new("true")));
        steps.end("x").unwrap();
    }

    #[test]
    fn summary_lists_the_steps_in_order() {
        let done = vec![
            ("unit tests".to_owned(), Duration::from_millis(1500)),
            ("doc tests".to_owned(), Duration::from_millis(250)),
        ];
        assert_eq!(
            Steps { done, ..Steps::begin() }.summary("test", Duration::from_secs(1)),
            "test: 2 steps passed in 1.0 s: unit tests 1.5 s, doc tests 0.2 s"
        );
    }

    #[test]
    fn command_is_echoed_as_on_a_command_line() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(line(&command), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }
}
