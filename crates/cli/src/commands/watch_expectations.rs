//! `watch`: watches expectations of jobs, checks them once, and silences them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use coordination::JobName;
use jiff::Timestamp;
use job_watch::{
    ConditionKind, HistoryByJob, JobAssessment, Silence, Silences, State, StoreError, WatchError,
    WatchFile, WatchFileError, Watcher, assess_with_history,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::java_history::{JavaHistory, JavaHistoryArguments};
use super::metrics_port::MetricsPort;
use super::service::ServiceManager;
use super::signals::Signals;
use crate::context::{Context, Reasoned};
use crate::fault::{Exit, Fault};
use crate::output::{Column, Page, Table, Text, counted, line};
use crate::text::{duration, job_name, moment, one_line};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct WatchArguments {
    /// File with the expectations, in TOML
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// Only check the file, and print the state of each expectation once; exit code 8 if one is
    /// violated
    #[arg(long)]
    check: bool,
    /// Time without contact after which another watcher sends
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    session_timeout: Duration,
    /// Serve metrics of the whole namespace on this port of the loopback address; 0 chooses a free
    /// port
    #[arg(long, value_name = "PORT")]
    metrics_port: Option<u16>,
    #[command(flatten)]
    history: JavaHistoryArguments,
    #[command(subcommand)]
    command: Option<WatchCommand>,
}

#[derive(Debug, Subcommand)]
enum WatchCommand {
    /// Hold messages about an expectation of a job back for a time
    Silence(SilenceArguments),
    /// List the silences that are not over
    Silences,
}

#[derive(Debug, Args)]
struct SilenceArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    /// Expectation: exists, late_after, must_succeed_within, at_most, failures or
    /// instances_at_least
    #[arg(value_parser = expectation)]
    expectation: ConditionKind,
    /// Time that the silence lasts
    #[arg(long = "for", value_name = "TIME", value_parser = duration, required_unless_present = "end")]
    lasts: Option<Duration>,
    /// End the silence now
    #[arg(long, conflicts_with = "lasts")]
    end: bool,
    #[command(flatten)]
    reasoned: Reasoned,
}

fn expectation(text: &str) -> Result<ConditionKind, String> {
    ConditionKind::parse(text).ok_or_else(|| {
        let all = ConditionKind::ALL.map(ConditionKind::as_str).join(", ");
        format!("valid is one of {all}")
    })
}

impl WatchArguments {
    /// Returns true if the command runs until a signal ends it.
    pub(crate) fn is_service(&self) -> bool {
        self.command.is_none() && !self.check
    }

    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let Self { file, check: is_check, session_timeout, metrics_port, history, command } = self;
        match (command, file) {
            (Some(WatchCommand::Silence(given)), _) => given.run(cx).await,
            (Some(WatchCommand::Silences), _) => silences(cx).await,
            (None, Some(path)) => {
                let file = WatchFile::read(&path).map_err(|error| file_fault(&path, &error))?;
                let history = history.open().await?;
                if is_check {
                    return check(cx, &file, history.as_ref()).await;
                }
                watch(cx, file, session_timeout, metrics_port, history).await
            }
            (None, None) => Err(Fault::usage("the file with the expectations is missing")),
        }
    }
}

async fn watch(
    cx: &Context<'_>,
    file: WatchFile,
    timeout: Duration,
    metrics_port: Option<u16>,
    history: Option<JavaHistory>,
) -> Result<Page, Fault> {
    // Listen before the first line is printed, so that no later signal is lost.
    let mut signals = Signals::listen()?;
    let target = cx.connect().target()?;
    let opening = cx.registry(target, false, Some(timeout));
    let Some(registry) = signals.unless(opening).await else {
        return Ok(ended("stopped before the watcher was connected"));
    };
    let channels = counted(file.channel_count(), "channel");
    let mut watcher = Watcher::new(file, registry?, watcher_name());
    if let Some(history) = history {
        watcher = watcher.history(history.facts().await?);
    }
    let _metrics = match metrics_port {
        None => None,
        Some(port) => {
            let view = watcher.view();
            let port = MetricsPort::open_for(port, move || view.prometheus()).await?;
            cx.print_line(&format!("metrics: http://{}/metrics", port.local_addr()));
            Some(port)
        }
    };
    let manager = ServiceManager::begin();
    let line = format!("watching; messages go to {channels}");
    cx.print_line(&line);
    manager.ready(&line);
    let stop = CancellationToken::new();
    let watching = watcher.run(stop.clone());
    tokio::pin!(watching);
    let result = tokio::select! {
        result = &mut watching => result,
        () = signals.next() => {
            stop.cancel();
            manager.leaving();
            cx.print_line("stopping: messages that are being sent have 10 s");
            tokio::select! {
                result = &mut watching => result,
                () = signals.next() => return Ok(ended("stopped at once").ending(Exit::Partly)),
            }
        }
    };
    match result {
        Ok(()) => Ok(ended("stopped")),
        Err(WatchError::Store(error)) => Err(store_fault(error)),
        Err(error) => Err(Fault::new(Exit::Unreachable, error)),
    }
}

/// Returns the name of this process among the watchers of a registry.
pub(super) fn watcher_name() -> String {
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    format!("{host}@{}", std::process::id())
}

fn ended(text: &str) -> Page {
    Page::new(line(text), &json!({ "ended": text }))
}

async fn check(
    cx: &Context<'_>,
    file: &WatchFile,
    history: Option<&JavaHistory>,
) -> Result<Page, Fault> {
    let history = match history {
        Some(history) => history.read().await?,
        None => HistoryByJob::new(),
    };
    let registry = cx.registry(cx.connect().target()?, false, None).await?;
    let namespace = cx.operating(Arc::clone(&registry)).namespace().await?;
    let jobs: Vec<_> = namespace.configured().collect();
    let found = assess_with_history(file, registry, &jobs, &history, Timestamp::now()).await;
    let found = found.map_err(store_fault)?;
    let rows: Vec<_> = found.iter().map(row).collect();
    let violated = found.iter().filter(|one| is_violated(one)).count();
    let columns = [
        Column::plain("JOB"),
        Column::plain("EXPECTATION"),
        Column::state("STATE"),
        Column::state("SEVERITY"),
        Column::time("SINCE"),
        Column::text("WHY"),
    ];
    let mut text = Text::default();
    if !rows.is_empty() {
        text.push(Table::new(&columns, rows));
    }
    text.push_str(&format!("{}, {violated} violated\n", counted(found.len(), "expectation")));
    for (job, error) in &namespace.unread {
        text.push_str(&line(&format!("job {job} could not be read: {error}")));
    }
    let unread: Vec<_> = namespace.unread.iter().map(|(job, _)| job).collect();
    let all: Vec<_> = found.iter().map(document).collect();
    let exit = match (violated, namespace.unread.is_empty()) {
        (0, true) => Exit::Done,
        (0, false) => Exit::Partly,
        _ => Exit::Findings,
    };
    let page = Page::new(text, &json!({ "expectations": all, "unread": unread }));
    Ok(page.ending(exit))
}

fn is_violated(one: &JobAssessment) -> bool {
    matches!(one.assessment.state, State::Violated { .. })
}

/// Returns the time since which a violation lasts, or until which a deadline runs.
fn time(state: &State) -> Option<Timestamp> {
    match state {
        State::Violated { since, .. } => Some(*since),
        State::Pending { until } => Some(*until),
        State::Ok | State::Unknown { .. } | State::Suspended { .. } => None,
    }
}

fn row(one: &JobAssessment) -> Vec<String> {
    let state = &one.assessment.state;
    let since = match state {
        State::Pending { until } => format!("until {until}"),
        State::Violated { since, .. } => since.to_string(),
        State::Ok | State::Unknown { .. } | State::Suspended { .. } => "-".to_owned(),
    };
    vec![
        one.job.clone(),
        one.assessment.expectation.to_string(),
        state.as_str().to_owned(),
        one.severity.as_str().to_owned(),
        since,
        state.why().map_or_else(|| "-".to_owned(), one_line),
    ]
}

fn document(one: &JobAssessment) -> Value {
    let state = &one.assessment.state;
    let (since, until) = match (state, time(state)) {
        (State::Pending { .. }, until) => (None, until),
        (_, since) => (since, None),
    };
    json!({
        "job": one.job,
        "expectation": one.assessment.expectation.as_str(),
        "state": state.as_str(),
        "severity": one.severity.as_str(),
        "since_ms": since.map(Timestamp::as_millisecond),
        "until_ms": until.map(Timestamp::as_millisecond),
        "why": state.why(),
    })
}

impl SilenceArguments {
    async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.reasoned.by()?;
        let registry = cx.registry(cx.connect().target()?, false, None).await?;
        let (job, kind, now) = (self.job, self.expectation, Timestamp::now());
        let until = match self.lasts.filter(|_| !self.end) {
            None => now,
            Some(lasts) => {
                now.checked_add(lasts).map_err(|error| Fault::usage(format!("--for: {error}")))?
            }
        };
        let silence = Silence {
            expectation: kind,
            until: until.as_millisecond(),
            by: by.who().to_owned(),
            why: by.why().to_owned(),
        };
        Silences::new(registry).set(&job, silence, now).await.map_err(store_fault)?;
        let text = match self.end {
            true => format!("{kind} of job {job} is not silenced any more"),
            false => format!("{kind} of job {job} is silenced until {until}"),
        };
        let until_ms = (!self.end).then_some(until.as_millisecond());
        let document =
            json!({ "job": job.as_str(), "expectation": kind.as_str(), "until_ms": until_ms });
        Ok(Page::new(line(&text), &document))
    }
}

async fn silences(cx: &Context<'_>) -> Result<Page, Fault> {
    let registry = cx.registry(cx.connect().target()?, false, None).await?;
    let all = Silences::new(registry).list(Timestamp::now()).await.map_err(store_fault)?;
    let each =
        || all.iter().flat_map(|one| one.silences.iter().map(move |silence| (&one.job, silence)));
    let rows: Vec<_> = each()
        .map(|(job, silence)| {
            let Silence { expectation, until, by, why } = silence;
            vec![job.to_string(), expectation.to_string(), moment(*until), by.clone(), why.clone()]
        })
        .collect();
    let documents: Vec<_> = each()
        .map(|(job, silence)| {
            json!({
                "job": job.as_str(),
                "expectation": silence.expectation.as_str(),
                "until_ms": silence.until,
                "by": silence.by,
                "why": silence.why,
            })
        })
        .collect();
    let columns = [
        Column::plain("JOB"),
        Column::plain("EXPECTATION"),
        Column::time("UNTIL"),
        Column::plain("BY"),
        Column::text("WHY"),
    ];
    let text = match rows.is_empty() {
        true => Text::from("no silences\n"),
        false => Table::new(&columns, rows).into(),
    };
    Ok(Page::new(text, &json!({ "silences": documents })))
}

pub(super) fn file_fault(path: &Path, error: &WatchFileError) -> Fault {
    match error {
        WatchFileError::Read { .. } => Fault::usage(error),
        WatchFileError::Syntax { .. } | WatchFileError::Invalid { .. } | _ => {
            Fault::usage(format!("{}: {error}", path.display()))
        }
    }
}

fn store_fault(error: StoreError) -> Fault {
    match error {
        StoreError::Registry { source, .. } => source.into(),
        StoreError::Deadline { .. } => Fault::new(Exit::Unreachable, error),
        StoreError::Conflict { .. } => Fault::new(Exit::Stale, error),
        StoreError::Newer { .. } | StoreError::Damaged { .. } | StoreError::TooLarge { .. } | _ => {
            Fault::refused(error)
        }
    }
}
