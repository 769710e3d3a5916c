//! The script job: it runs a program or a shell command for each item and fire.

mod check;
mod environment;
mod error;
mod group;
mod launched;
mod launcher;
mod liveness;
mod output;
mod process;
mod progress;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use lite::{Job, JobError, Masks, OutputStream, ShardingContext};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::process::Command;

use crate::{Invalid, SecretText};
pub use error::ScriptError;
pub use launcher::ScriptLauncher;
use output::Output;
use process::Process;

/// Time that output is read after the end of a script, if a descendant still has the streams open.
const OUTPUT_LINGER: Duration = Duration::from_secs(1);

/// Way in which a script gets its sharding context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptContext {
    /// By environment variables, which [`Script`] lists.
    #[default]
    Environment,
    /// By environment variables and, as for scripts of ElasticJob, by one more argument at the end:
    /// [`ShardingContext::to_java_json`], byte for byte. For [`Script::shell`] it is `$1`.
    Argument,
    /// Not at all, for programs that do not distinguish items.
    None,
}

/// A job that runs a program for each item and fire.
///
/// The program gets the environment of this process, and these variables unless
/// [`context`](Self::context) disables them:
///
/// | variable | value |
/// |---|---|
/// | `EJOB_JOB_NAME` | name of the job |
/// | `EJOB_TASK_ID` | task id, as ElasticJob writes it |
/// | `EJOB_SHARDING_TOTAL_COUNT` | number of items of the job |
/// | `EJOB_JOB_PARAMETER` | parameter of the job; empty if it has none |
/// | `EJOB_REQUEST_PARAMETER` | parameter of the manual request; absent if it has none |
/// | `EJOB_SHARDING_ITEM` | the item, from 0 |
/// | `EJOB_SLOT` | slot of the item, 0 unless runs of the item overlap (`overlap = "parallel n"`) |
/// | `EJOB_SHARDING_PARAMETER` | parameter of the item; absent if it has none |
/// | `EJOB_FIRE_TIME` | scheduled fire time, `2024-02-29T12:00:10Z` |
/// | `EJOB_FIRST_FIRE_TIME` | first fire that the run stands for; absent if it is the only one |
/// | `EJOB_FIRE_COUNT` | number of fires that the run stands for, at least 1 |
/// | `EJOB_SOURCE` | `NORMAL`, `MISFIRE`, `FAILOVER`, `MANUAL` or `BACKFILL` |
/// | `EJOB_INSTANCE` | instance of the run |
/// | `EJOB_FENCING_TOKEN` | fencing token, to be sent to the store with every effect |
/// | `EJOB_IDEMPOTENCY_KEY` | the same for all runs of one fire of the item |
/// | `EJOB_EXECUTION_ID` | unique for every run |
/// | `EJOB_ATTEMPT` | number of the attempt of the run, from 1 |
///
/// Standard input is empty. Standard output and error are logged line by line, at most 1 000 lines
/// of 8 KiB per run; [`max_logged_lines`](Self::max_logged_lines) changes the number. The last 20
/// lines, at most 4 KiB, are in the error of a failed run. A status other than 0 is a failure, and
/// so is an end by a signal.
///
/// # End of a run
/// The program has its own process group. If the run is cancelled or times out, the group gets
/// `SIGTERM`. Processes that are alive after the [`grace`](Self::grace) get `SIGKILL`.
///
/// If the future is dropped, the group is killed at once. That happens when the session is lost, or
/// when [`Registration::shutdown_grace`](lite::Registration::shutdown_grace) (default 1 s) is
/// shorter than the grace.
///
/// A run ends with its process group. If the program ends by itself, the rest of the group has up
/// to 1 s to close the output, and is then ended in the same way. Zombies do not count. A process
/// that must survive the run begins its own session (`setsid`).
///
/// # If the worker is killed
/// On Linux, with a [`launcher`](Self::launcher), the script is killed with its worker, unless it
/// [outlives](Self::outlives_worker) the worker. Without a launcher, and on other systems, it runs
/// on beside the run that takes over: guard its effects by `EJOB_FENCING_TOKEN`.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use job_types::{Script, SecretText};
///
/// let script = Script::new("/usr/bin/backup")
///     .arg("--full")
///     .env("BACKUP_PASSWORD", SecretText::parse("${file:/run/secrets/backup}")?)
///     .grace(Duration::from_secs(3));
/// assert_eq!(script.argv().collect::<Vec<_>>(), ["/usr/bin/backup", "--full"]);
/// # Ok::<(), job_types::Invalid>(())
/// ```
///
/// # Example: a shell command
/// ```
/// // Parameters are variables: they never become part of the command.
/// let script = job_types::Script::shell(
///     r#"grep -c "$EJOB_SHARDING_PARAMETER" /var/log/orders | tee "/tmp/$EJOB_SHARDING_ITEM""#,
/// );
/// ```
#[derive(Clone)]
pub struct Script {
    program: String,
    args: Vec<String>,
    env: BTreeMap<String, SecretText>,
    inherits: bool,
    directory: Option<PathBuf>,
    grace: Duration,
    max_logged: u64,
    context: ScriptContext,
    launcher: Option<ScriptLauncher>,
    outlives_worker: bool,
}

impl Script {
    /// Returns a job that runs a program, without a shell. A name without a slash is searched in
    /// `PATH`.
    #[must_use]
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            inherits: true,
            directory: None,
            grace: Duration::from_secs(5),
            max_logged: 1_000,
            context: ScriptContext::default(),
            launcher: None,
            outlives_worker: false,
        }
    }

    /// Splits a command line into the program and its arguments, as a POSIX shell does, and returns
    /// a job that runs it without a shell.
    ///
    /// Words are separated by blanks, tabs and line breaks. Single quotes protect all characters. A
    /// backslash protects `$`, `` ` ``, `"`, `\` and a line break within double quotes, and any
    /// character outside of quotes. A word that begins with `#` begins a comment. Nothing else is
    /// special: no variables, wildcards, pipes or redirections. ElasticJob splits differently: it
    /// leaves quotes around arguments with blanks.
    ///
    /// # Errors
    /// [`Invalid`] if the line has no program or an unclosed quote.
    ///
    /// # Examples
    /// ```
    /// use job_types::Script;
    ///
    /// let script = Script::parse(r#"report.sh -x 'a b' "it's" c\ d $HOME"#)?;
    /// let words: Vec<_> = script.argv().collect();
    /// assert_eq!(words, ["report.sh", "-x", "a b", "it's", "c d", "$HOME"]);
    /// # Ok::<(), job_types::Invalid>(())
    /// ```
    pub fn parse(line: &str) -> Result<Self, Invalid> {
        let words = shell_words::split(line).ok().filter(|words| !words.is_empty());
        let words = words.filter(|words| !words[0].is_empty()).ok_or_else(|| {
            let valid = "a program and its arguments, every quote with its end";
            Invalid::new("script.command", format!("{line:?}"), valid)
        })?;
        let mut words = words.into_iter();
        let program = words.next().unwrap_or_default();
        Ok(Self { args: words.collect(), ..Self::new(program) })
    }

    /// Returns a job that passes a command to `/bin/sh -c`, with `ejob` as `$0`.
    #[must_use]
    pub fn shell(command: impl Into<String>) -> Self {
        Self { args: vec!["-c".into(), command.into(), "ejob".into()], ..Self::new("/bin/sh") }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets an environment variable. The variables of the table above take precedence.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: SecretText) -> Self {
        self.env.insert(name.into(), value);
        self
    }

    /// Controls whether the script inherits the environment of this process. Default yes, as in
    /// ElasticJob.
    ///
    /// Variables that begin with `EJOB_` are never inherited: they may hold credentials of the
    /// worker.
    #[must_use]
    pub fn inherits_environment(self, inherits: bool) -> Self {
        Self { inherits, ..self }
    }

    /// Sets the working directory of the script. Default is the one of this process.
    #[must_use]
    pub fn directory(self, directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()), ..self }
    }

    /// Sets the time from `SIGTERM` to `SIGKILL`. Default 5 s.
    #[must_use]
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Sets the maximum number of logged output lines per run. Default 1 000.
    #[must_use]
    pub fn max_logged_lines(self, max_logged: u64) -> Self {
        Self { max_logged, ..self }
    }

    /// Sets the way in which the script gets its context. Default [`ScriptContext::Environment`].
    #[must_use]
    pub fn context(self, context: ScriptContext) -> Self {
        Self { context, ..self }
    }

    /// Sets the launcher, which ends the script if the worker is killed (on Linux). Default none.
    #[must_use]
    pub fn launcher(self, launcher: ScriptLauncher) -> Self {
        Self { launcher: Some(launcher), ..self }
    }

    /// Controls whether the script survives a killed worker in spite of a
    /// [`launcher`](Self::launcher). Default no.
    ///
    /// Cancellations, timeouts and a shutdown of the worker still end the script.
    #[must_use]
    pub fn outlives_worker(self, outlives_worker: bool) -> Self {
        Self { outlives_worker, ..self }
    }

    /// Returns the program and its arguments, without the context.
    pub fn argv(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.program.as_str()).chain(self.args.iter().map(String::as_str))
    }

    /// Checks that all references of the environment can be resolved, before a run needs them.
    ///
    /// # Errors
    /// [`ScriptError::Environment`] names the variable and the reference.
    pub fn check_secrets(&self) -> Result<(), ScriptError> {
        self.secrets().try_for_each(|variable| variable.map(drop))
    }

    /// Returns each variable with its value, and with the values of the references in it.
    fn secrets(
        &self,
    ) -> impl Iterator<Item = Result<(&str, SecretString, Vec<SecretString>), ScriptError>> {
        self.env.iter().map(|(name, value)| match value.resolve_with_values() {
            Ok((value, secrets)) => Ok((name.as_str(), value, secrets)),
            Err(source) => {
                let program = self.program.clone();
                Err(ScriptError::Environment { program, name: name.clone(), source })
            }
        })
    }

    /// Returns the launcher, if the runs use one.
    fn effective_launcher(&self) -> Option<&ScriptLauncher> {
        let has_launcher = cfg!(target_os = "linux") && !self.outlives_worker;
        if has_launcher { self.launcher.as_ref() } else { None }
    }

    /// Starts the program, and returns the masks of the secrets that it gets.
    fn start(&self, context: &ShardingContext) -> Result<(Process, Masks), ScriptError> {
        let launcher = self.effective_launcher();
        let mut command = match launcher {
            Some(launcher) => launcher.command(&self.program),
            None => Command::new(&self.program),
        };
        command.args(&self.args);
        if self.context == ScriptContext::Argument {
            command.arg(context.to_java_json());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if !self.inherits {
            command.env_clear();
        }
        for name in environment::worker_variables() {
            command.env_remove(name);
        }
        let mut masks = Masks::default();
        for variable in self.secrets() {
            let (name, value, secrets) = variable?;
            command.env(name, value.expose_secret());
            secrets.iter().for_each(|secret| masks.add(secret.expose_secret()));
        }
        if self.context != ScriptContext::None {
            for (name, value) in environment::variables(context) {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
        }
        if let Some(directory) = &self.directory {
            command.current_dir::<&Path>(directory);
        }
        let started = match launcher {
            Some(_) => Process::launch(command),
            None => Process::start(command),
        };
        let failed = |source| ScriptError::Start { program: self.program.clone(), source };
        Ok((started.map_err(failed)?, masks))
    }

    async fn run(&self, context: &ShardingContext) -> Result<(), ScriptError> {
        let (mut process, masks) = self.start(context)?;
        let output = Output::new(self.max_logged, Some(context), masks);
        let streams = process.take_output();
        let read = async {
            let Some((stdout, stderr)) = streams else { return };
            let stdout = output.copy(OutputStream::Stdout, stdout);
            tokio::join!(stdout, output.copy(OutputStream::Stderr, stderr));
        };
        let ended = self.wait_and_end(context, &mut process, read).await?;
        let (program, tail) = (self.program.clone(), output.tail());
        match ended {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(ScriptError::Failed { program, status, tail }),
            None => Err(ScriptError::Ended { program, tail }),
        }
    }

    /// Waits for the end of the program or the cancellation, and ends the whole process group.
    ///
    /// Returns the status of the program; `None` if the run was cancelled.
    async fn wait_and_end(
        &self,
        context: &ShardingContext,
        process: &mut Process,
        read: impl Future<Output = ()>,
    ) -> Result<Option<ExitStatus>, ScriptError> {
        let program = || self.program.clone();
        let mut read = std::pin::pin!(read);
        let mut has_read = false;
        let ended = {
            let mut ended = std::pin::pin!(async {
                let started = process.started().await;
                started.map_err(|source| ScriptError::Start { program: program(), source })?;
                let ended = process.wait().await;
                ended.map_err(|source| ScriptError::Lost { program: program(), source })
            });
            loop {
                tokio::select! {
                    biased;
                    () = context.cancelled() => break None,
                    () = &mut read, if !has_read => has_read = true,
                    status = &mut ended => break Some(status?),
                }
            }
        };
        if ended.is_some() && !has_read {
            has_read = tokio::time::timeout(OUTPUT_LINGER, &mut read).await.is_ok();
        }
        {
            let mut end = std::pin::pin!(process.end(self.grace));
            // The output is still read, because a full pipe could keep the script from ending.
            loop {
                tokio::select! {
                    biased;
                    () = &mut end => break,
                    () = &mut read, if !has_read => has_read = true,
                }
            }
        }
        if !has_read {
            // A process that has left the group may keep the streams open forever.
            let _ = tokio::time::timeout(OUTPUT_LINGER, &mut read).await;
        }
        Ok(ended)
    }
}

#[async_trait]
impl Job for Script {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        Ok(self.run(&context).await?)
    }
}

/// Shows neither the arguments nor the environment, because both may hold secrets.
impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("program", &self.program).finish_non_exhaustive()
    }
}
