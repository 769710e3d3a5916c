//! `worker`: runs the jobs of a file until a signal or an operator ends it.

mod audit_copy;
mod ending;
pub(crate) mod outlets;

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use coordination::{Dialect, JobConfig, JobName, ServerIp};
use futures_util::future::join_all;
use jiff::Timestamp;
use job_alerts::with_alerts;
use job_types::{
    DeclaredJob, FileChecks, Invalid, JobFile, JobFileError, ProcessOptions, ScriptLauncher,
};
use lite::{ConfigDifference, ErrorHandlers, GroupLimits, GroupName, JobHandle, Scheduler};
use operations::Operations;
use serde_json::json;
use sharding::{InstanceAttributes, InvalidPlacement, MAX_WEIGHT, StrategyRegistry};

use super::history::StoreArguments;
use super::readiness::Readiness;
use super::signals::Signals;
use crate::connect::{ConnectArguments, Place};
use crate::context::Context;
use crate::fault::Fault;
use crate::output::{Page, Table, Text, counted};
use crate::suggestion;
use crate::target::Target;
use crate::text::{at_least_one, clean, dialect, duration, server_ip};
use ending::Ending;
use outlets::Outlets;

#[derive(Debug, Args)]
pub(crate) struct WorkerArguments {
    /// File that declares the jobs: TOML or YAML
    file: PathBuf,
    /// Only check the file, without a connection or runs
    #[arg(long)]
    check: bool,
    /// Let the file win over stored configurations that differ [default: the stored ones win]
    #[arg(long)]
    overwrite: bool,
    /// IP address by which operators know this process [default: an address of this host]
    #[arg(long, value_name = "IP", value_parser = server_ip)]
    server_ip: Option<ServerIp>,
    /// Name that this process keeps across restarts, for jobs with static sharding
    #[arg(long, value_name = "NAME")]
    stable_name: Option<String>,
    /// Weight of this process, 1 to 100: its share of the items of jobs with placement [default:
    /// that of the file, otherwise 1]
    #[arg(long, env = "EJOB_WEIGHT", value_name = "WEIGHT",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_WEIGHT)))]
    weight: Option<u32>,
    /// Zone of this process, such as a rack or a data center, whose processes can fail together
    /// [default: that of the file]
    #[arg(long, env = "EJOB_ZONE", value_name = "ZONE", value_parser = zone)]
    zone: Option<String>,
    /// Label of this process for the placement rules of jobs; can be repeated [default: those of
    /// the file]
    #[arg(long = "label", env = "EJOB_LABELS", value_name = "KEY=VALUE", value_delimiter = ',',
        value_parser = label)]
    labels: Vec<(String, String)>,
    /// Dialect of new jobs: 2.1.5 or 3.x [default: that of the stored nodes, otherwise 2.1.5]
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    dialect: Option<Dialect>,
    /// Time zone of cron expressions without one; must be the same for all processes of a job
    #[arg(long, value_name = "ZONE")]
    default_time_zone: Option<String>,
    /// Items that run at the same time, of all jobs of the worker [default: the limit of the file,
    /// otherwise none]
    #[arg(long, value_name = "N", env = "EJOB_MAX_CONCURRENCY", value_parser = at_least_one)]
    max_concurrency: Option<usize>,
    /// Time that runs may continue after SIGTERM or ctrl-c
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    drain: Duration,
    /// Time without contact after which other instances take over
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    session_timeout: Duration,
    #[command(flatten)]
    store: StoreArguments,
    /// Serve Prometheus metrics on this port of the loopback address; 0 chooses a free port
    #[arg(long, value_name = "PORT")]
    metrics_port: Option<u16>,
    /// Serve dumps, as Java instances do, on this port of the loopback address; 0 chooses a free
    /// port
    #[arg(long, value_name = "PORT")]
    dump_port: Option<u16>,
}

impl WorkerArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        self.check_zone()?;
        let file = JobFile::read_checked(&self.file, &self)
            .map_err(|error| file_fault(&self.file, &error))?;
        // Files of groups alone are for `ejob apply`.
        if file.jobs().is_empty() {
            let path = self.file.display();
            let text = format!("{path}: jobs is empty; valid is at least one job for a worker");
            return Err(Fault::usage(text));
        }
        if self.check {
            return Ok(checked(&file));
        }
        let in_file = file.registry().map(Target::parse_of_file).transpose();
        let in_file = in_file.map_err(Fault::usage)?;
        let file = file.launcher(&ScriptLauncher::this_program());
        // Listen before the first line is printed, so that no later signal is lost.
        let mut signals = Signals::listen()?;
        let Some(outlets) = signals.unless(Outlets::open(&self)).await else {
            return Ok(stopped());
        };
        let outlets = outlets?;
        let connect = cx.connect().beside_file(in_file.is_some());
        let target = self.target(&connect, in_file.as_ref());
        let scheduler = self.scheduler(cx, &outlets, &file, &connect, target.clone());
        let Some(scheduler) = signals.unless(scheduler).await else {
            return Ok(stopped());
        };
        let (scheduler, operations) = match scheduler {
            Ok(opened) => opened,
            Err(fault) => {
                // Nothing has happened that the history would have to write.
                let _ = signals.unless(outlets.close()).await;
                return Err(fault);
            }
        };
        if let Some(open) = signals.unless(cx.open_nodes(&connect, target, None)).await.flatten() {
            tracing::warn!("{open}");
            cx.print_line(&format!("warning: {open}"));
        }
        if let Some(line) = outlets.metrics_line() {
            cx.print_line(&line);
        }
        let mut refused = Vec::new();
        define_groups(&scheduler, file.groups()).await?;
        let jobs = file.into_jobs();
        let readiness = &outlets.readiness;
        let work = self.work(cx, &scheduler, jobs, &mut refused, readiness, &mut signals);
        let ending = tokio::select! {
            biased;
            ending = work => ending,
            never = outlets.copy_audited_changes(&operations, &scheduler) => match never {},
        };
        let written = signals.unless(outlets.close()).await;
        let ending = ending?;
        let unwritten = || Err(Fault::refused("a signal came before the history was written"));
        Ok(ending.page(&refused, written.unwrap_or_else(unwritten)))
    }

    /// Checks the default time zone before anything is connected.
    fn check_zone(&self) -> Result<(), Fault> {
        let name = JobName::new("zone").map_err(Fault::usage)?;
        let time_zone = self.default_time_zone.clone();
        let config = JobConfig::new(name, 1).with(|it| it.time_zone = time_zone);
        operations::schedule_of(&config).map(drop).map_err(|error| {
            let (value, valid) = (error.value, error.valid);
            Fault::usage(format!("--default-time-zone is {value}; valid is {valid}"))
        })
    }

    fn target(
        &self,
        connect: &ConnectArguments,
        in_file: Option<&Target>,
    ) -> Result<Target, Fault> {
        let for_hosts = self.server_ip.as_ref().map(|_| "--server-ip");
        connect.worker_target(for_hosts, in_file)
    }

    async fn scheduler(
        &self,
        cx: &Context<'_>,
        outlets: &Outlets,
        file: &JobFile,
        connect: &ConnectArguments,
        target: Result<Target, Fault>,
    ) -> Result<(Scheduler, Operations), Fault> {
        let target = target?;
        let notice = target.notice();
        let (connect, session_timeout) = (connect.clone(), Some(self.session_timeout));
        let place = Place { connect, target, may_create: true, session_timeout };
        // Before the log lines of the connection, so that it is the first line of a terminal.
        cx.print_line(&notice);
        let registry = cx.open(place).await?;
        let operations = cx.operating(Arc::clone(&registry));
        let handlers = with_alerts(ErrorHandlers::default(), file.allow().outbound());
        let mut builder = outlets.subscribe(Scheduler::builder(registry)).error_handlers(handlers);
        if let Some(ip) = &self.server_ip {
            builder = builder.server_ip(ip.as_str())?;
        }
        if let Some(name) = &self.stable_name {
            builder = builder.stable_name(name.as_str());
        }
        builder = self.process(file).configure(builder)?;
        if let Some(dialect) = self.dialect {
            builder = builder.dialect(dialect);
        }
        if let Some(zone) = &self.default_time_zone {
            builder = builder.default_time_zone(zone)?;
        }
        Ok((builder.build()?, operations))
    }

    /// Returns the options of the process. Options of the command line and variables win over the
    /// file.
    fn process(&self, file: &JobFile) -> ProcessOptions {
        let mut process = file.process().clone();
        process.max_concurrency = self.max_concurrency.or(process.max_concurrency);
        process.weight = self.weight.or(process.weight);
        process.zone = self.zone.clone().or(process.zone);
        if !self.labels.is_empty() {
            process.labels = self.labels.iter().cloned().collect();
        }
        process
    }

    /// Registers the jobs, prints the ready line, and waits for the end.
    ///
    /// Jobs that cannot be registered are added to `refused`.
    async fn work(
        &self,
        cx: &Context<'_>,
        scheduler: &Scheduler,
        jobs: Vec<DeclaredJob>,
        refused: &mut Vec<RefusedJob>,
        readiness: &Readiness,
        signals: &mut Signals,
    ) -> Result<Ending, Fault> {
        let starting = async {
            let dumps = outlets::listen_for_dumps(scheduler, self.dump_port).await?;
            if let Some(dumps) = &dumps {
                cx.print_line(&format!("dumps: {}", dumps.local_addr()));
            }
            let handles = self.register(cx, scheduler, jobs, refused).await?;
            let handles = join(handles).await;
            let line = ready(scheduler, &handles, refused);
            cx.print_line(&line);
            readiness.start(scheduler, &line);
            let handles: Vec<JobHandle> = handles.into_iter().map(|(handle, _)| handle).collect();
            ended(&handles).await;
            Ok(())
        };
        let started: Option<Result<(), Fault>> = tokio::select! {
            biased;
            () = signals.next() => None,
            ended = starting => Some(ended),
        };
        readiness.leave();
        match started {
            None => {
                let deadline = self.drain;
                cx.print_line(&format!(
                    "leaving: runs may go on for {deadline:?}; a second signal stops at once"
                ));
                Ok(Ending::after(scheduler, deadline, signals).await)
            }
            Some(Ok(())) => {
                cx.print_line("leaving: an operator has shut all jobs down");
                Ok(Ending::after(scheduler, self.drain, signals).await)
            }
            Some(Err(fault)) => {
                Ending::after(scheduler, self.drain, signals).await;
                Err(fault)
            }
        }
    }
}

/// Stores the limits of the file's groups that have none, and warns of those that differ.
async fn define_groups(
    scheduler: &Scheduler,
    groups: &[(GroupName, GroupLimits)],
) -> Result<(), Fault> {
    for (group, limits) in groups {
        let stored = scheduler.define_group(group.clone(), *limits).await?;
        if stored != *limits {
            tracing::warn!(
                "group {group} has {stored} in the registry, and {limits} in the file; \
                 `ejob group set {group}` changes the stored limits"
            );
        }
    }
    Ok(())
}

/// Parses a zone.
fn zone(text: &str) -> Result<String, InvalidPlacement> {
    InstanceAttributes::default().with_zone(text).map(|_| text.to_owned())
}

/// Parses a label.
fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| "valid is KEY=VALUE, such as disk=ssd".to_owned())?;
    let checked = InstanceAttributes::default().with_label(key, value);
    checked.map(|_| (key.to_owned(), value.to_owned())).map_err(|error| error.to_string())
}

/// A fault that no registration accepts rejects the whole file, because a registration fails only
/// after other jobs have begun.
impl FileChecks for WorkerArguments {
    fn registry(&self, address: &str) -> Result<(), String> {
        Target::parse_of_file(address).map(drop)
    }

    fn job(&self, job: &DeclaredJob) -> Result<(), Invalid> {
        // A schedule that has ended affects its own job only, or an old job would stop all others
        // one day.
        let since = if self.check { Timestamp::now() } else { Timestamp::UNIX_EPOCH };
        operations::validate(job.config(), None, &StrategyRegistry::default(), since)
            .map_err(|error| Invalid::new(error.field, error.value, error.valid))?;
        if self.check { job.check_program() } else { Ok(()) }
    }
}

impl WorkerArguments {
    /// Registers the jobs concurrently, and prints the fields in which a stored configuration wins.
    ///
    /// A job that is rejected does not stop the others.
    ///
    /// # Errors
    /// The fault of the first job if none can be registered, and a fault that may be transient. A
    /// restarted worker registers that job, while this process would run without it.
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
                    tracing::error!(%job, %fault, "the job could not be registered");
                    if fault.is_transient() {
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
        self.print_differences(cx, &handles);
        for RefusedJob { job, fault } in &*refused {
            cx.print_line(&format!("job {job}: not registered: {fault}"));
        }
        Ok(handles)
    }

    /// Prints the fields in which a stored configuration wins over the file, and how to change
    /// that.
    fn print_differences(&self, cx: &Context<'_>, handles: &[JobHandle]) {
        let differ = |handle: &&JobHandle| !handle.config_differences().is_empty();
        let differing: Vec<&JobHandle> = handles.iter().filter(differ).collect();
        for handle in &differing {
            let job = handle.name();
            for ConfigDifference { field, stored, local, .. } in handle.config_differences() {
                let line =
                    format!("job {job}: stored {field} = {stored} wins over the file's {local}");
                cx.print_line(&clean(&line));
            }
        }
        if let Some(handle) = differing.first() {
            let (file, job) = (self.file.display(), handle.name());
            cx.print_line(&format!(
                "to make {file} win: `ejob worker {file} --overwrite`, or for one job \
                 `ejob config set {job} --jobs {file}`"
            ));
        }
    }
}

fn stopped() -> Page {
    Page::new("stopped before the worker was connected\n", &json!({ "jobs": [] }))
}

/// A job of the file that could not be registered, with the reason.
pub(crate) struct RefusedJob {
    pub(crate) job: JobName,
    pub(crate) fault: Fault,
}

/// Waits until each job has joined or failed to join; a job that fails keeps trying.
async fn join(handles: Vec<JobHandle>) -> Vec<(JobHandle, bool)> {
    let joined = join_all(handles.iter().map(JobHandle::joined)).await;
    let joined = handles.into_iter().zip(joined).map(|(handle, joined)| {
        if let Err(error) = &joined {
            tracing::error!(job = %handle.name(), %error, "the job has not joined yet");
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
    let listed = |label: &str, names: String| {
        if names.is_empty() { names } else { format!("; {label}: {names}") }
    };
    let joined = Some(named(true)).filter(|names| !names.is_empty());
    let joined = joined.as_deref().unwrap_or("nothing");
    let not_yet = listed("not yet", named(false));
    let refused = refused.iter().map(|refused| refused.job.as_str()).collect::<Vec<_>>();
    let refused = listed("not registered", refused.join(", "));
    format!("ready: {joined} on server {}{not_yet}{refused}", scheduler.server_ip())
}

/// Waits until all jobs have ended, which happens only if operators shut them down.
async fn ended(handles: &[JobHandle]) {
    let end_of = |handle: &JobHandle| {
        let (mut events, handle) = (handle.events(), handle.clone());
        async move { while !handle.has_ended() && events.next().await.is_some() {} }
    };
    join_all(handles.iter().map(end_of)).await;
}

/// Returns the fault of a file, with a line for each mistake, and with the error of the operating
/// system if there is one.
pub(crate) fn file_fault(path: &Path, error: &JobFileError) -> Fault {
    let path = path.display().to_string();
    let mut faults = error.each().map(|error| {
        let text = error.to_string();
        let text = if text.contains(&path) { text } else { format!("{path}: {text}") };
        match (error.source(), error) {
            (Some(source), JobFileError::Read { source: error, .. })
                if error.kind() == io::ErrorKind::NotFound =>
            {
                Fault::usage(format!("{text}: {source}; `ejob init` writes a file to begin with"))
            }
            (Some(source), _) => Fault::usage(format!("{text}: {source}")),
            (None, JobFileError::Job { invalid, .. }) => {
                let question = suggestion::of_value(&invalid.field, &invalid.value);
                Fault::usage(text).with_question(question)
            }
            (None, _) => Fault::usage(text),
        }
    });
    let first = faults.next().unwrap_or_else(|| Fault::usage(error));
    first.and(faults)
}

fn checked(file: &JobFile) -> Page {
    let configs: Vec<_> = file.jobs().iter().map(DeclaredJob::config).collect();
    let rows = configs.iter().map(|config| {
        let cron = config.cron.clone().unwrap_or_else(|| "on request".to_owned());
        vec![config.job_name.to_string(), config.sharding_total_count.to_string(), cron]
    });
    let mut text = Text::from(Table::new(&["JOB", "ITEMS", "CRON"], rows));
    let names: Vec<_> = configs.iter().map(|config| config.job_name.to_string()).collect();
    text.push_str(&format!("{} can be used\n", counted(names.len(), "job")));
    Page::new(text, &json!({ "jobs": names }))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        worker: WorkerArguments,
    }

    #[test]
    fn options_win_over_the_file_one_by_one() {
        let job = "[[jobs]]\nname = 'j'\nsharding_total_count = 1\nstored = true";
        let process = "max_concurrency = 8\nweight = 2\nzone = 'a'\nlabels = { disk = 'ssd' }";
        let file = JobFile::from_toml(&format!("{process}\n{job}")).unwrap();
        let of = |options: &[&str]| {
            let line = ["ejob", "jobs.toml"].iter().chain(options);
            let process = Line::try_parse_from(line).unwrap().worker.process(&file);
            let labels: Vec<_> = process.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
            let (max, weight) = (process.max_concurrency.unwrap(), process.weight.unwrap());
            format!("{max} {weight} {} {}", process.zone.unwrap(), labels.join(","))
        };
        let rows: [(&[&str], &str); 5] = [
            (&[], "8 2 a disk=ssd"),
            (&["--max-concurrency", "3"], "3 2 a disk=ssd"),
            (&["--weight", "1"], "8 1 a disk=ssd"),
            (&["--zone", "b"], "8 2 b disk=ssd"),
            (&["--label", "gpu=yes", "--label", "os=linux"], "8 2 a gpu=yes,os=linux"),
        ];
        for (options, expected) in rows {
            assert_eq!(of(options), expected, "{options:?}");
        }
    }
}
