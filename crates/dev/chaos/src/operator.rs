//! Commands of operators, and the configurations that result from them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Error;
use crate::evidence::{ConfigSpan, FaultKind, JobFacts};
use crate::jobs::JOBS;
use crate::journal::{Journal, now_ms};
use crate::plan::CommandStep;
use crate::workers::Launch;

/// Limit of a command: its longest waits for a connection and for a read, and a drain.
const COMMAND_LIMIT: Duration = Duration::from_secs(45);
/// Limit of the attempts to read a configuration back, including an outage.
const READ_BACK_LIMIT: Duration = Duration::from_secs(60);
/// Time in milliseconds after which all instances have a configuration and have assigned items for
/// it, counted from its read-back.
///
/// A session timeout is longer than any delay of a notification.
const SETTLING_MS: i64 = 4_000;
/// Maximum number of attempts of an undo command, which may fail during an outage.
const UNDO_TRIES: usize = 4;
const PAUSE: Duration = Duration::from_millis(200);

/// Result of a command.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The exit code; `None` if the command was killed at its limit.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// An operator that runs `ejob` commands.
#[derive(Debug)]
pub(crate) struct Operator<'a> {
    launch: Launch,
    journal: &'a Journal,
    configs: BTreeMap<&'static str, Vec<ConfigSpan>>,
    /// Number of commands by exit code.
    pub(crate) codes: BTreeMap<i32, usize>,
}

impl<'a> Operator<'a> {
    pub(crate) fn new(launch: Launch, journal: &'a Journal) -> Self {
        let initial = |job: &crate::jobs::Declared| {
            let (from_ms, settled_ms) = (i64::MIN, i64::MIN);
            let (cron, total) = (job.cron.to_owned(), job.total);
            (job.name, vec![ConfigSpan { from_ms, settled_ms, cron, total }])
        };
        let configs = JOBS.iter().map(initial).collect();
        Self { launch, journal, configs, codes: BTreeMap::new() }
    }

    /// Plays the steps one after the other, each not before its time since `start`.
    pub(crate) fn play(&mut self, steps: &[CommandStep], start: Instant) -> Result<(), Error> {
        let mut later_by = Duration::ZERO;
        for CommandStep { at, arguments, undo } in steps {
            let due = start + *at;
            later_by = later_by.max(Instant::now().saturating_duration_since(due));
            thread::sleep(due.saturating_duration_since(Instant::now()));
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            self.run_and_log(&words)?;
            if let Some((after, undo)) = undo {
                thread::sleep(*after);
                let words: Vec<&str> = undo.iter().map(String::as_str).collect();
                // A job or server that stays paused or disabled would hide the effects of later
                // faults.
                for _ in 0..UNDO_TRIES {
                    if self.run_and_log(&words)? == Some(0) {
                        break;
                    }
                }
            }
        }
        if later_by > Duration::from_secs(1) {
            self.journal.log(&format!("commands were up to {later_by:?} later than planned"));
        }
        Ok(())
    }

    /// Runs a command, logs and keeps its result, and returns its exit code.
    fn run_and_log(&mut self, words: &[&str]) -> Result<Option<i32>, Error> {
        let from_ms = now_ms();
        let line = words.join(" ");
        let answer = self.run(words)?;
        let outcome = match answer.code {
            None => format!("did not end within {COMMAND_LIMIT:?}"),
            Some(code) => format!("exit code {code}"),
        };
        self.journal.log(&format!("ejob {line}: {outcome} {}", answer.err.trim_end()));
        self.journal.fault(FaultKind::Command, format!("ejob {line}: {outcome}"), from_ms);
        match answer.code {
            None => self.journal.incident(format!("ejob {line}: {outcome}")),
            // 101 is a panic; 2 is a command line that the harness built wrong.
            Some(101 | 2) => {
                self.journal.incident(format!("ejob {line}: {outcome}: {}", answer.err));
            }
            Some(code) => *self.codes.entry(code).or_default() += 1,
        }
        if let ["config", "set", job, ..] = words {
            self.read_back(job, from_ms)?;
        }
        Ok(answer.code)
    }

    /// Reads the configuration in force after a change, whatever the result of the command.
    fn read_back(&mut self, job: &str, from_ms: i64) -> Result<(), Error> {
        let (cron, total) = self.config(job)?;
        let settled_ms = now_ms() + SETTLING_MS;
        let spans = self.configs.iter_mut().find(|(name, _)| **name == job);
        let Some((_, spans)) = spans else { return Ok(()) };
        let span = ConfigSpan { from_ms, settled_ms, cron, total };
        let is_same = |last: &ConfigSpan| last.cron == span.cron && last.total == span.total;
        if !spans.last().is_some_and(is_same) {
            spans.push(span);
        }
        Ok(())
    }

    fn config(&self, job: &str) -> Result<(String, u32), Error> {
        let deadline = Instant::now() + READ_BACK_LIMIT;
        loop {
            let answer = self.run(&["--json", "config", "get", job])?;
            let shown: Option<Value> = serde_json::from_str(&answer.out).ok();
            let config = shown.as_ref().map(|shown| &shown["config"]);
            let cron = config.and_then(|config| config["cron"].as_str());
            let total = config.and_then(|config| config["sharding_total_count"].as_u64());
            if let (Some(cron), Some(total)) = (cron, total.and_then(|n| u32::try_from(n).ok())) {
                return Ok((cron.to_owned(), total));
            }
            if Instant::now() >= deadline {
                let Answer { code, out, err } = answer;
                let reason = format!("exit code {code:?}, {out}{err}");
                return Err(Error::ReadBack { job: job.to_owned(), reason });
            }
            thread::sleep(PAUSE);
        }
    }

    /// Runs `ejob` until it ends, or kills it at the limit.
    pub(crate) fn run(&self, words: &[&str]) -> Result<Answer, Error> {
        // Files, because a full pipe would block the command.
        let (out, err) = (self.file("out"), self.file("err"));
        let create = |path: &PathBuf| File::create(path).map_err(Error::file("create", path));
        let mut command = self.launch.ejob();
        command.args(["--connect-timeout", "8s", "--timeout", "8s"]).args(words);
        command.stdin(Stdio::null()).stdout(create(&out)?).stderr(create(&err)?);
        let mut child = command.spawn().map_err(Error::file("start", &self.launch.ejob))?;
        let deadline = Instant::now() + COMMAND_LIMIT;
        let status = loop {
            match child.try_wait().map_err(Error::System)? {
                Some(status) => break Some(status),
                None if Instant::now() >= deadline => {
                    child.kill().map_err(Error::System)?;
                    child.wait().map_err(Error::System)?;
                    break None;
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        };
        let read = |path: &PathBuf| fs::read(path).map_err(Error::file("read", path));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let code = status.map(|status| status.code().unwrap_or(-1));
        Ok(Answer { code, out: text(read(&out)?), err: text(read(&err)?) })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.launch.folder.join(format!("command.{name}"))
    }

    /// Resumes and enables all jobs and items.
    pub(crate) fn release_all(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + READ_BACK_LIMIT;
        for job in &JOBS {
            let (_, total) = self.config(job.name)?;
            let items = format!("0-{}", total - 1);
            let lines: [&[&str]; 3] = [
                &["resume", job.name],
                &["enable", job.name],
                &["enable", job.name, "--items", &items],
            ];
            for words in lines {
                loop {
                    let answer = self.run(words)?;
                    if answer.code == Some(0) {
                        break;
                    }
                    if Instant::now() >= deadline {
                        let line = words.join(" ");
                        self.journal.incident(format!(
                            "ejob {line} after the faults: exit code {:?}; valid is 0: {}",
                            answer.code, answer.err
                        ));
                        break;
                    }
                    thread::sleep(PAUSE);
                }
            }
        }
        Ok(())
    }

    /// Runs `ejob doctor` until it finds no error, within a limit.
    pub(crate) fn check_health(&self, limit: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + limit;
        loop {
            let answer = self.run(&["doctor", "--twice", "5s", "--least", "warning"])?;
            if answer.code == Some(0) {
                self.journal.log("ejob doctor finds no error");
                return Ok(());
            }
            if Instant::now() >= deadline {
                self.journal.incident(format!(
                    "ejob doctor still has findings {limit:?} after the faults: exit code {:?}: {}{}",
                    answer.code, answer.out, answer.err
                ));
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
    }

    /// Returns the jobs with their configurations.
    pub(crate) fn jobs(&self) -> Vec<JobFacts> {
        let facts = |job: &crate::jobs::Declared| JobFacts {
            name: job.name.to_owned(),
            monitored: job.monitored,
            failover: job.failover,
            configs: self.configs.get(job.name).cloned().unwrap_or_default(),
        };
        JOBS.iter().map(facts).collect()
    }
}
