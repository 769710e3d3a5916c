//! `worker`: runs the jobs of a file until it is told to end.

mod ending;
mod metrics_port;
mod outlets;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use coordination::{Dialect, JobConfig, JobName, ServerIp};
use futures_util::future::join_all;
use jiff::Timestamp;
use job_alerts::with_alerts;
use job_types::{Allow, DeclaredJob, JobFile, JobFileError, ScriptLauncher};
use lite::{ConfigDifference, ErrorHandlers, JobHandle, Scheduler};
use serde_json::json;
use sharding::StrategyRegistry;

use super::history::StoreArguments;
use crate::context::Context;
use crate::fault::Fault;
use crate::output::{Page, counted, table};
use crate::text::{clean, dialect, duration, server_ip};
use ending::{Ending, Signals};
use outlets::Outlets;

#[derive(Debug, Args)]
pub(crate) struct WorkerArguments {
    /// The file that declares the jobs: TOML or YAML
    file: PathBuf,
    /// Only check the file: nothing is connected and nothing runs
    #[arg(long)]
    check: bool,
    /// Let the file win where the stored configuration of a job differs from it [default: the stored one wins]
    #[arg(long)]
    overwrite: bool,
    /// The address that operators know this process by [default: an address of this host]
    #[arg(long, value_name = "IP", value_parser = server_ip)]
    server_ip: Option<ServerIp>,
    /// A name that this process has in all its lives, for jobs with static sharding
    #[arg(long, value_name = "NAME")]
    stable_name: Option<String>,
    /// In which dialect new jobs are stored: 2.1.5 or 3.x [default: that of what is stored, else 2.1.5]
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    dialect: Option<Dialect>,
    /// The zone of cron expressions without one; the same for all processes of a job
    #[arg(long, value_name = "ZONE")]
    default_time_zone: Option<String>,
    /// How long runs may go on after SIGTERM or ctrl-c
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    drain: Duration,
    /// After how long without contact the others take over
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    session_timeout: Duration,
    #[command(flatten)]
    store: StoreArguments,
    /// Serve metrics to Prometheus on this port of the loopback address; 0 is any free port
    #[arg(long, value_name = "PORT")]
    metrics_port: Option<u16>,
    /// Answer dumps, as Java instances do, on this port of the loopback address; 0 is any free port
    #[arg(long, value_name = "PORT")]
    dump_port: Option<u16>,
}

impl WorkerArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let file = JobFile::read(&self.file).map_err(|error| file_fault(&self.file, &error))?;
        // A worker refuses the whole file for what can never be used. An expression whose last fire has passed concerns its own
        // job alone, or an old job would stop the others one day.
        let since = if self.check { Timestamp::now() } else { Timestamp::UNIX_EPOCH };
        check_configurations(&self.file, &file, since)?;
        self.check_zone()?;
        if self.check {
            file.check_programs().map_err(|error| file_fault(&self.file, &error))?;
            return Ok(checked(&file));
        }
        let file = file.launcher(&ScriptLauncher::this_program());
        // Before anything is announced: whoever sends a signal from now on is heard.
        let mut signals = Signals::listen()?;
        let Some(outlets) = signals.unless(Outlets::open(&self)).await else {
            return Ok(stopped());
        };
        let outlets = outlets?;
        let Some(scheduler) = signals.unless(self.scheduler(cx, &outlets, file.allow())).await
        else {
            return Ok(stopped());
        };
        let scheduler = match scheduler {
            Ok(scheduler) => scheduler,
            Err(fault) => {
                // Nothing has happened that could be written.
                let _ = signals.unless(outlets.close()).await;
                return Err(fault);
            }
        };
        if let Some(open) = signals.unless(cx.open_nodes(None)).await.flatten() {
            tracing::warn!("{open}");
            cx.say(&format!("warning: {open}"));
        }
        if let Some(line) = outlets.metrics_line() {
            cx.say(&line);
        }
        let mut refused = Vec::new();
        let jobs = file.into_jobs();
        let ending = self.work(cx, &scheduler, jobs, &mut refused, &mut signals).await;
        let written = signals.unless(outlets.close()).await;
        let ending = ending?;
        let unwritten = || Err(Fault::refused("a signal came before everything was written"));
        Ok(ending.page(&refused, written.unwrap_or_else(unwritten)))
    }

    /// Before anything is connected.
    fn check_zone(&self) -> Result<(), Fault> {
        let name = JobName::new("zone").map_err(Fault::usage)?;
        let time_zone = self.default_time_zone.clone();
        let config = JobConfig { time_zone, ..JobConfig::new(name, 1) };
        operations::schedule_of(&config).map(drop).map_err(|error| {
            let (value, valid) = (error.value, error.valid);
            Fault::usage(format!("--default-time-zone is {value}; valid is {valid}"))
        })
    }

    async fn scheduler(
        &self,
        cx: &Context<'_>,
        outlets: &Outlets,
        allow: &Allow,
    ) -> Result<Scheduler, Fault> {
        let namespace = cx.connect().namespace()?;
        let registry = cx.registry(&namespace, true, Some(self.session_timeout)).await?;
        let handlers = with_alerts(ErrorHandlers::default(), allow.outbound());
        let mut builder = outlets.subscribe(Scheduler::builder(registry)).error_handlers(handlers);
        if let Some(ip) = &self.server_ip {
            builder = builder.server_ip(ip.as_str())?;
        }
        if let Some(name) = &self.stable_name {
            builder = builder.stable_name(name.as_str());
        }
        if let Some(dialect) = self.dialect {
            builder = builder.dialect(dialect);
        }
        if let Some(zone) = &self.default_time_zone {
            builder = builder.default_time_zone(zone)?;
        }
        Ok(builder.build()?)
    }

    /// Registers the jobs, says that it is ready, and waits for the end. Adds the jobs that cannot be registered to `refused`.
    async fn work(
        &self,
        cx: &Context<'_>,
        scheduler: &Scheduler,
        jobs: Vec<DeclaredJob>,
        refused: &mut Vec<RefusedJob>,
        signals: &mut Signals,
    ) -> Result<Ending, Fault> {
        let starting = async {
            let dumps = outlets::listen_for_dumps(scheduler, self.dump_port).await?;
            if let Some(dumps) = &dumps {
                cx.say(&format!("dumps: {}", dumps.local_addr()));
            }
            let handles = self.register(cx, scheduler, jobs, refused).await?;
            let handles = join(handles).await;
            cx.say(&ready(scheduler, &handles, refused));
            let handles: Vec<JobHandle> = handles.into_iter().map(|(handle, _)| handle).collect();
            ended(&handles).await;
            Ok(())
        };
        let started: Option<Result<(), Fault>> = tokio::select! {
            biased;
            () = signals.next() => None,
            ended = starting => Some(ended),
        };
        match started {
            None => {
                let deadline = self.drain;
                cx.say(&format!(
                    "leaving: runs may go on for {deadline:?}; a second signal stops at once"
                ));
                Ok(Ending::after(scheduler, deadline, signals).await)
            }
            Some(Ok(())) => {
                cx.say("leaving: an operator has shut all jobs down");
                Ok(Ending::after(scheduler, self.drain, signals).await)
            }
            Some(Err(fault)) => {
                Ending::after(scheduler, self.drain, signals).await;
                Err(fault)
            }
        }
    }
}

impl WorkerArguments {
    /// Registers the jobs side by side, and prints in which fields a stored configuration wins over the file. A job that is
    /// refused does not stop the others.
    ///
    /// # Errors
    /// The fault of the first job if none can be registered, and a fault that may pass: the next start of the worker
    /// registers that job, where this process would go on without it.
    async fn register(
        &self,
        cx: &Context<'_>,
        scheduler: &Scheduler,
        jobs: Vec<DeclaredJob>,
        refused: &mut Vec<RefusedJob>,
    ) -> Result<Vec<JobHandle>, Fault> {
        let registrations = jobs.into_iter().map(|job| async {
            let name = job.config().job_name.clone();
            (name, job.schedule(scheduler).overwrite(self.overwrite).await)
        });
        let mut handles = Vec::new();
        for (job, registered) in join_all(registrations).await {
            match registered {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    let fault = Fault::from(error);
                    tracing::error!(%job, %fault, "the job is not registered");
                    if fault.may_pass() {
                        return Err(fault);
                    }
                    refused.push(RefusedJob { job, fault });
                }
            }
        }
        match refused.first() {
            Some(first) if handles.is_empty() => return Err(first.fault.clone()),
            _ => {}
        }
        self.say_differences(cx, &handles);
        for RefusedJob { job, fault } in &*refused {
            cx.say(&format!("job {job}: not registered: {fault}"));
        }
        Ok(handles)
    }

    /// Prints in which fields a stored configuration wins over the file, and how to make the file win.
    fn say_differences(&self, cx: &Context<'_>, handles: &[JobHandle]) {
        let differ = |handle: &&JobHandle| !handle.config_differences().is_empty();
        let differing: Vec<&JobHandle> = handles.iter().filter(differ).collect();
        for handle in &differing {
            let job = handle.name();
            for ConfigDifference { field, stored, local } in handle.config_differences() {
                let line =
                    format!("job {job}: stored {field} = {stored} wins over the file's {local}");
                cx.say(&clean(&line));
            }
        }
        if let Some(handle) = differing.first() {
            let (file, job) = (self.file.display(), handle.name());
            cx.say(&format!(
                "to make {file} win: `ejob worker {file} --overwrite`, or for one job \
                 `ejob config set {job} --jobs {file}`"
            ));
        }
    }
}

fn stopped() -> Page {
    Page::new("stopped before it was connected\n", &json!({ "jobs": [] }))
}

/// A job of the file that could not be registered.
pub(crate) struct RefusedJob {
    pub(crate) job: JobName,
    pub(crate) fault: Fault,
}

/// Waits until each job has joined; returns which have. One that cannot join yet goes on trying.
async fn join(handles: Vec<JobHandle>) -> Vec<(JobHandle, bool)> {
    let joined = join_all(handles.iter().map(JobHandle::joined)).await;
    let joined = handles.into_iter().zip(joined).map(|(handle, joined)| {
        if let Err(error) = &joined {
            tracing::error!(job = %handle.name(), %error, "the job does not take part yet");
        }
        (handle, joined.is_ok())
    });
    joined.collect()
}

fn ready(scheduler: &Scheduler, handles: &[(JobHandle, bool)], refused: &[RefusedJob]) -> String {
    let named = |wanted: bool| {
        let jobs = handles.iter().filter(|(_, has_joined)| *has_joined == wanted);
        jobs.map(|(handle, _)| handle.name().as_str()).collect::<Vec<_>>().join(", ")
    };
    let listed = |label: &str, names: String| match names.is_empty() {
        true => names,
        false => format!("; {label}: {names}"),
    };
    let joined = Some(named(true)).filter(|names| !names.is_empty());
    let joined = joined.as_deref().unwrap_or("nothing");
    let not_yet = listed("not yet", named(false));
    let refused = refused.iter().map(|refused| refused.job.as_str()).collect::<Vec<_>>();
    let refused = listed("not registered", refused.join(", "));
    format!("ready: {joined} on server {}{not_yet}{refused}", scheduler.server_ip())
}

/// Waits until all jobs have ended, which they do by themselves only if operators want it.
async fn ended(handles: &[JobHandle]) {
    let end_of = |handle: &JobHandle| {
        let (mut events, handle) = (handle.events(), handle.clone());
        async move { while !handle.has_ended() && events.next().await.is_some() {} }
    };
    join_all(handles.iter().map(end_of)).await;
}

/// Names what is wrong with a file, with what the operating system says.
pub(crate) fn file_fault(path: &Path, error: &JobFileError) -> Fault {
    let path = path.display().to_string();
    let text = error.to_string();
    let text = if text.contains(&path) { text } else { format!("{path}: {text}") };
    match error.source() {
        Some(source) => Fault::usage(format!("{text}: {source}")),
        None => Fault::usage(text),
    }
}

/// A configuration that no registration accepts would be noticed only after other jobs have begun.
fn check_configurations(path: &Path, file: &JobFile, now: Timestamp) -> Result<(), Fault> {
    let strategies = StrategyRegistry::default();
    file.jobs().iter().try_for_each(|job| {
        let config = job.config();
        operations::validate(config, None, &strategies, now).map_err(|error| {
            let (line, name) = (job.line_of(error.field), config.job_name.as_str());
            Fault::usage(format!("{}: line {line}: job {name:?}: {error}", path.display()))
        })
    })
}

fn checked(file: &JobFile) -> Page {
    let configs: Vec<_> = file.jobs().iter().map(DeclaredJob::config).collect();
    let rows = configs.iter().map(|config| {
        let cron = config.cron.clone().unwrap_or_else(|| "on request".to_owned());
        vec![config.job_name.to_string(), config.sharding_total_count.to_string(), cron]
    });
    let text = table(&["JOB", "ITEMS", "CRON"], rows);
    let names: Vec<_> = configs.iter().map(|config| config.job_name.to_string()).collect();
    let text = format!("{text}{} can be used\n", counted(names.len(), "job"));
    Page::new(text, &json!({ "jobs": names }))
}
