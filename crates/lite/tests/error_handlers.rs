//! Error handlers: the failures that they receive, and their effect on the job.

use crate::support;

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use coordination::{JobName, Layout, ServerIp, ServerState, encode_config};
use lite::{
    Clock, ErrorHandler, ErrorHandlerType, ErrorHandlers, FailedIn, HandlerSettings, IgnoreErrors,
    InvalidConfig, JavaFields, JavaFields2, JavaFields3, JavaSettings, JobBuilder, JobConfig,
    JobError, JobEvent, JobHandle, JobListener, MissReason, Outcome, Reaction, RetryPolicy, RunEnd,
    RunFailure, ShardingContext, StopOnErrors, TokioClock, job_fn,
};
use parking_lot::Mutex;
use reg_center::{Lifetime, RegistryCenter, Txn};
use tokio::sync::mpsc;
use tracing::Level;

use support::log::Log;
use support::{Cluster, Member, Runs, event, settled, within};

const SECOND: Duration = Duration::from_secs(1);

/// Sends each failure to the test, and returns a fixed reaction.
struct Forwarding(mpsc::UnboundedSender<RunFailure>, Reaction);

#[async_trait]
impl ErrorHandler for Forwarding {
    fn name(&self) -> &str {
        "FORWARDING"
    }

    async fn handle(&self, failure: &RunFailure) -> Result<Reaction, JobError> {
        self.0.send(failure.clone()).unwrap();
        Ok(self.1)
    }
}

fn forwarding(reaction: Reaction) -> (Forwarding, mpsc::UnboundedReceiver<RunFailure>) {
    let (sender, failures) = mpsc::unbounded_channel();
    (Forwarding(sender, reaction), failures)
}

/// A job whose items fail, panic and hang; item 3 succeeds.
fn every_outcome() -> impl lite::Job {
    job_fn(|context: ShardingContext| async move {
        match context.item().index() {
            0 => Err("the disk is full".into()),
            1 => panic!("a bug"),
            2 => pending().await,
            _ => Ok(()),
        }
    })
}

fn failing() -> impl lite::Job {
    job_fn(|_| async { Err("the disk is full".into()) })
}

/// A stored configuration of 3.x that chooses an error handler.
fn choosing(handler: &str, properties: &[(&str, &str)]) -> JobConfig {
    let props: BTreeMap<_, _> =
        properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let error_handler = Some(handler.to_owned());
    let fields = JavaFields::V3(JavaFields3 { error_handler, props, ..JavaFields3::default() });
    let java = JavaSettings { fields, ..JavaSettings::default() };
    JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).java_settings(java).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn handlers_receive_runs_that_fail_panic_or_time_out_and_no_others() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let ((first, mut failures), (second, mut again)) =
        (forwarding(Reaction::GoOn), forwarding(Reaction::GoOn));
    let handle = member
        .scheduler
        .schedule(JobBuilder::new("job", 4).build().unwrap(), every_outcome())
        .timeout(SECOND)
        .retry(RetryPolicy::new(2))
        .error_handler(first)
        .error_handler(second)
        .await
        .unwrap();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let failure = within("a failure", failures.recv()).await.unwrap();
        assert_eq!(failure.failed_in, FailedIn::Code);
        assert_eq!(within("the second handler", again.recv()).await.unwrap(), failure);
        let item = failure.run.item.index();
        seen.push((item, failure.outcome(), failure.attempts, failure.error().to_owned()));
    }
    seen.sort_unstable();
    let late = "not finished after 1s: it ignored its cancellation, and its future was dropped";
    let expected = [
        (0, Outcome::Failed, 2, "the disk is full".to_owned()),
        (1, Outcome::Panicked, 1, "a bug".to_owned()),
        (2, Outcome::TimedOut, 2, late.to_owned()),
    ];
    assert_eq!(seen, expected);
    let report = within("the shutdown", handle.shutdown(SECOND)).await.unwrap();
    assert!(report.deregistered);
    assert!(failures.recv().await.is_none(), "the handler receives no successful run");
}

#[tokio::test(start_paused = true)]
async fn handlers_do_not_receive_cancelled_runs() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let (handler, mut failures) = forwarding(Reaction::GoOn);
    let job = job_fn(|context: ShardingContext| async move {
        context.cancelled().await;
        Err("not finished".into())
    });
    let config = JobBuilder::new("job", 1).build().unwrap();
    let handle = member.scheduler.schedule(config, job).error_handler(handler).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    let mut events = handle.events();
    handle.trigger().await.unwrap();
    event(&mut events, "a claim", |event| matches!(event, JobEvent::Claimed { .. })).await;
    handle.shutdown(Duration::ZERO).await.unwrap();
    assert!(failures.recv().await.is_none());
}

/// A listener that fails after each run.
struct FailingListener;

#[async_trait]
impl JobListener for FailingListener {
    fn name(&self) -> &str {
        "failing-listener"
    }

    async fn after(&self, _: &ShardingContext, _: &RunEnd) -> Result<(), JobError> {
        Err("no lamp".into())
    }
}

#[tokio::test(start_paused = true)]
async fn handlers_receive_failures_of_listeners_after_a_run() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let (handler, mut failures) = forwarding(Reaction::GoOn);
    let handle = member
        .scheduler
        .schedule(JobBuilder::new("job", 1).build().unwrap(), job_fn(|_| async { Ok(()) }))
        .listener(FailingListener)
        .error_handler(handler)
        .await
        .unwrap();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    let failure = within("a failure", failures.recv()).await.unwrap();
    let (listener, outcome) = ("failing-listener".to_owned(), Outcome::Failed);
    let failed_in = FailedIn::After { listener, outcome, error: "no lamp".to_owned() };
    assert_eq!((failure.run.outcome, &failure.failed_in), (Outcome::Succeeded, &failed_in));
    let text = failure.to_string();
    assert!(
        text.contains("listener failing-listener failed after item 0 for the fire of 2024-"),
        "{text}"
    );
    assert!(text.ends_with("no lamp"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn log_writes_an_error_and_ignore_does_not() {
    let rows: [(&str, JobConfig, usize); 4] = [
        ("nothing", JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).build().unwrap(), 1),
        ("LOG", choosing("LOG", &[]), 1),
        ("blank", choosing(" ", &[]), 1),
        ("IGNORE", choosing("IGNORE", &[]), 0),
    ];
    for (case, config, expected) in rows {
        let (log, _guard) = Log::listen();
        let cluster = Cluster::new();
        let member = cluster.member(1);
        let handle = member.scheduler.schedule(config, failing()).await.unwrap();
        settled(&mut handle.events(), Outcome::Failed).await;
        member.scheduler.abort();
        let text = log.text();
        let errors: Vec<&str> = text.lines().filter(|line| line.contains("ERROR")).collect();
        assert_eq!(errors.len(), expected, "{case}: {text}");
        for error in errors {
            let is_of_the_run = error.contains("item{job=job ") && error.contains(" item=0 ");
            assert!(is_of_the_run && error.contains("item failed"), "{error}");
            assert!(error.contains("error=\"the disk is full\""), "{error}");
            assert_eq!(error.matches("the disk is full").count(), 1, "{error}");
        }
    }
}

/// A handler with a defect.
enum Broken {
    Hangs,
    Fails,
    Panics,
    PanicsAtOnce,
}

#[async_trait]
impl ErrorHandler for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn handle_now(&self, _: &RunFailure) -> Option<Reaction> {
        assert!(!matches!(self, Self::PanicsAtOnce), "another bug");
        None
    }

    async fn handle(&self, _: &RunFailure) -> Result<Reaction, JobError> {
        match self {
            Self::Fails => Err("no mail today".into()),
            Self::Panics => panic!("another bug"),
            Self::Hangs | Self::PanicsAtOnce => pending().await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn runs_do_not_wait_for_a_handler_and_its_failures_are_logged() {
    let rows = [
        (Broken::Hangs, "the handler took longer than 25s"),
        (Broken::Fails, "no mail today"),
        (Broken::Panics, "the handler panicked: another bug"),
        (Broken::PanicsAtOnce, "another bug"),
    ];
    for (handler, error) in rows {
        let (log, _guard) = Log::listen();
        let cluster = Cluster::new();
        let member = cluster.member(1);
        let config = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).build().unwrap();
        let handle = member
            .scheduler
            .schedule(config, failing())
            .error_handler(handler)
            .error_handler_timeout(25 * SECOND)
            .await
            .unwrap();
        let mut events = handle.events();
        let began = cluster.clock.monotonic();
        settled(&mut events, Outcome::Failed).await;
        settled(&mut events, Outcome::Failed).await;
        assert!(cluster.clock.monotonic() - began <= 20 * SECOND, "{error}");
        cluster.pass(30 * SECOND).await;
        member.scheduler.abort();
        let text = log.text();
        let is_logged = text.lines().any(|line| {
            line.contains("error handler failed")
                && line.contains("handler=\"broken\"")
                && line.contains(error)
        });
        assert!(is_logged, "{error}: {text}");
        assert!(text.contains("item failed"), "{error}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn failures_beyond_the_queue_limit_are_logged() {
    let (log, _guard) = Log::listen_at(Level::WARN);
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let config = JobBuilder::new("job", 20).cron(support::EVERY_TEN_SECONDS).build().unwrap();
    let handle = member
        .scheduler
        .schedule(config, failing())
        .error_handler(Broken::Hangs)
        .error_handler_timeout(Duration::from_secs(3600))
        .await
        .unwrap();
    let mut events = handle.events();
    for _ in 0..55 * 20 {
        settled(&mut events, Outcome::Failed).await;
    }
    member.scheduler.abort();
    let text = log.text();
    let count = |part: &str| text.lines().filter(|line| line.contains(part)).count();
    let n_rejected = count("1024 failures already wait for the handler");
    assert_eq!(n_rejected, 55 * 20 - 1_024, "{text}");
    assert_eq!(count("item failed"), 55 * 20 - 1_024);
}

/// Waits until the job has missed a fire because it is paused.
async fn missed_while_paused(events: &mut lite::JobEvents) {
    let is_missed =
        |event: &JobEvent| matches!(event, JobEvent::Missed { reason: MissReason::Paused, .. });
    event(events, "a fire that is missed", is_missed).await;
}

#[tokio::test(start_paused = true)]
async fn throw_stops_the_job_on_this_server_until_the_server_is_resumed() {
    type Chosen = fn(&Member, JobConfig, Runs) -> lite::Registration;
    fn job(runs: Runs) -> impl lite::Job {
        job_fn(move |context: ShardingContext| {
            runs.note(&context);
            let first = runs.all().len() == 1;
            async move { if first { Err("the key is s3cret".into()) } else { Ok(()) } }
        })
    }
    let rows: [(&str, JobConfig, Chosen); 3] = [
        ("stored", choosing("THROW", &[]), |member, config, runs| {
            member.scheduler.schedule(config, job(runs))
        }),
        ("given", choosing("LOG", &[]), |member, config, runs| {
            member.scheduler.schedule(config, job(runs)).error_handler(StopOnErrors)
        }),
        ("of the program", choosing("LOG", &[]), |member, config, runs| {
            let (handler, failures) = forwarding(Reaction::StopJob);
            Box::leak(Box::new(failures));
            member.scheduler.schedule(config, job(runs)).error_handler(handler)
        }),
    ];
    for (case, config, chosen) in rows {
        let (cluster, runs) = (Cluster::new(), Runs::default());
        let member = cluster.member(1);
        let handle = chosen(&member, config, runs.clone()).await.unwrap();
        let mut events = handle.events();
        let stop = event(&mut events, "the stop", |e| matches!(e, JobEvent::Stopped { .. })).await;
        let JobEvent::Stopped { reason } = stop.event else { unreachable!("{case}") };
        assert!(reason.contains("item 0 failed for the fire of 2024-02-29T"), "{case}: {reason}");
        let paused = || cluster.stored("job", &["servers", "10.0.0.1"]).unwrap() == "PAUSED";
        cluster.until("job", "a paused server", paused).await;
        for _ in 0..3 {
            missed_while_paused(&mut events).await;
        }
        assert_eq!(runs.all().len(), 1, "{case}");
        let status = handle.status().await.unwrap();
        assert_eq!((status.paused, status.stopped), (true, Some(reason.clone())), "{case}");
        let audit = cluster.stored("job", &["coordination", "audit"]).unwrap();
        assert!(audit.contains(&reason) && audit.contains("server 10.0.0.1"), "{case}: {audit}");
        let everything = cluster.everything();
        let secret =
            |(_, data): &&(String, Vec<u8>)| String::from_utf8_lossy(data).contains("s3cret");
        let with_secret: Vec<_> = everything.iter().filter(secret).map(|(path, _)| path).collect();
        let only_in_the_record = with_secret.iter().all(|path| path.contains("/ledger/"));
        assert!(only_in_the_record, "{case}: the error text is in other nodes: {with_secret:?}");

        set_server(&cluster, ServerState::Enabled).await;
        runs.until("a run after the resumption", |seen| seen.len() > 1).await;
        let status = handle.status().await.unwrap();
        assert_eq!((status.paused, status.stopped), (false, None), "{case}");
    }
}

async fn set_server(cluster: &Cluster, state: ServerState) {
    let layout = Layout::new(&JobName::new("job").unwrap()).speaking(lite::Dialect::V3);
    let txn = layout.set_server(&ServerIp::new("10.0.0.1").unwrap(), state);
    let operator = cluster.registry.connect();
    assert!(operator.commit(txn).await.unwrap().is_committed());
}

#[tokio::test(start_paused = true)]
async fn a_stopped_job_is_still_stopped_after_a_restart() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let member = cluster.member(1);
    let job = |runs: &Runs| {
        let runs = runs.clone();
        job_fn(move |context: ShardingContext| {
            runs.note(&context);
            async { Err("the disk is full".into()) }
        })
    };
    let handle = member.scheduler.schedule(choosing("THROW", &[]), job(&runs)).await.unwrap();
    let paused = || cluster.stored("job", &["servers", "10.0.0.1"]).unwrap() == "PAUSED";
    runs.until("the first run", |seen| seen.len() == 1).await;
    cluster.until("job", "a paused server", paused).await;
    handle.shutdown(SECOND).await.unwrap();
    member.center.close().await.unwrap();

    let again = cluster.member_with(1, |builder| builder.instance_name("again"));
    let handle = again.scheduler.schedule(choosing("THROW", &[]), job(&runs)).await.unwrap();
    missed_while_paused(&mut handle.events()).await;
    assert_eq!(runs.all().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pause_by_the_program_outlasts_the_stop() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let member = cluster.member(1);
    let noted = runs.clone();
    let job = job_fn(move |context: ShardingContext| {
        noted.note(&context);
        async { Err("the disk is full".into()) }
    });
    let handle = member.scheduler.schedule(choosing("THROW", &[]), job).await.unwrap();
    let mut events = handle.events();
    event(&mut events, "the stop", |event| matches!(event, JobEvent::Stopped { .. })).await;
    handle.pause().await.unwrap();
    let paused = || cluster.stored("job", &["servers", "10.0.0.1"]).unwrap() == "PAUSED";
    cluster.until("job", "a paused server", paused).await;
    set_server(&cluster, ServerState::Enabled).await;
    missed_while_paused(&mut events).await;
    let status = handle.status().await.unwrap();
    assert_eq!((status.paused, status.stopped), (true, None));
    handle.resume().await.unwrap();
    runs.until("a run after both resumptions", |seen| seen.len() == 2).await;
}

/// A type with one property, whose handlers forward failures to the test.
struct ForwardingType(mpsc::UnboundedSender<RunFailure>);

impl ErrorHandlerType for ForwardingType {
    fn name(&self) -> &str {
        "com.acme.Forwarding"
    }

    fn make(&self, settings: &HandlerSettings<'_>) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
        match settings.properties.get("forwarding.to").map(String::as_str) {
            None | Some("us") => Ok(Arc::new(Forwarding(self.0.clone(), Reaction::GoOn))),
            Some(other) => Err(InvalidConfig::new("forwarding.to", format!("{other:?}"), "us")),
        }
    }
}

fn member_with_forwarding(cluster: &Cluster) -> (Member, mpsc::UnboundedReceiver<RunFailure>) {
    let (sender, failures) = mpsc::unbounded_channel();
    let types = ErrorHandlers::default().with(ForwardingType(sender));
    (cluster.member_with(1, |builder| builder.error_handlers(types)), failures)
}

/// Stores the first configuration of a job, as another client.
pub(crate) async fn store(cluster: &Cluster, config: &JobConfig) {
    let path = support::path("job", &["config"]);
    let txn = Txn::new().create(path, encode_config(config), Lifetime::Persistent);
    assert!(cluster.registry.connect().commit(txn).await.unwrap().is_committed());
}

#[tokio::test(start_paused = true)]
async fn an_invalid_handler_choice_is_rejected_and_nothing_is_written() {
    let rows = [
        (choosing("EMIAL", &[]), "error_handler", "one of IGNORE, LOG, THROW, com.acme.Forwarding"),
        (choosing("com.acme.Forwarding", &[("forwarding.to", "them")]), "forwarding.to", "us"),
    ];
    for (config, field, valid) in rows {
        let cluster = Cluster::new();
        let (member, _failures) = member_with_forwarding(&cluster);
        let before = cluster.everything();
        let error = member.scheduler.schedule(config.clone(), failing()).await.unwrap_err();
        let fault = error.as_invalid_config().unwrap();
        assert_eq!(fault.field, field);
        assert!(fault.valid.starts_with(valid), "{fault}");
        assert_eq!(cluster.everything(), before);

        // The stored configuration is in force, and its choice is checked too.
        store(&cluster, &config).await;
        let local = JobBuilder::new("job", 1).build().unwrap();
        let error = member.scheduler.schedule(local.clone(), failing()).await.unwrap_err();
        assert_eq!(error.as_invalid_config().unwrap().field, field);
        let given = member.scheduler.schedule(local, failing()).error_handler(IgnoreErrors);
        given.await.unwrap();
    }
}

/// A type that panics.
struct Panicking;

impl ErrorHandlerType for Panicking {
    fn name(&self) -> &str {
        "PANICKING"
    }

    fn make(&self, _: &HandlerSettings<'_>) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
        panic!("a bug")
    }
}

#[tokio::test(start_paused = true)]
async fn a_type_that_panics_is_rejected_and_the_job_goes_on() {
    let cluster = Cluster::new();
    let types = || ErrorHandlers::default().with(Panicking);
    let member = cluster.member_with(1, |builder| builder.error_handlers(types()));
    let chosen = choosing("PANICKING", &[]);
    let error = member.scheduler.schedule(chosen.clone(), failing()).await.unwrap_err();
    assert_eq!(error.as_invalid_config().unwrap().value, "\"PANICKING\"");

    let handle = member.scheduler.schedule(choosing("LOG", &[]), failing()).await.unwrap();
    let mut events = handle.events();
    cluster.configure(&chosen).await;
    let is_rejection = |event: &JobEvent| matches!(event, JobEvent::ConfigRejected { .. });
    event(&mut events, "a rejection", is_rejection).await;
    settled(&mut events, Outcome::Failed).await;
    handle.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_later_invalid_choice_leaves_the_former_handler_in_force() {
    let cluster = Cluster::new();
    let (member, mut failures) = member_with_forwarding(&cluster);
    let chosen = choosing("com.acme.Forwarding", &[("forwarding.to", "us")]);
    let handle = member.scheduler.schedule(chosen, failing()).await.unwrap();
    let mut events = handle.events();
    within("a failure", failures.recv()).await.unwrap();

    cluster.configure(&choosing("EMIAL", &[])).await;
    let is_rejection = |event: &JobEvent| matches!(event, JobEvent::ConfigRejected { .. });
    let record = event(&mut events, "a rejection", is_rejection).await;
    assert!(record.event.to_string().contains("error_handler is \"EMIAL\""), "{record}");
    let fault = handle.status().await.unwrap().config_fault.unwrap();
    assert!(fault.contains("EMIAL"), "{fault}");
    while failures.try_recv().is_ok() {}
    within("the former handler", failures.recv()).await.unwrap();

    cluster.configure(&choosing("IGNORE", &[])).await;
    let is_repaired = |fault: Option<String>| fault.is_none();
    let mut repaired = false;
    while !repaired {
        settled(&mut events, Outcome::Failed).await;
        repaired = is_repaired(handle.status().await.unwrap().config_fault);
    }
    while failures.try_recv().is_ok() {}
    settled(&mut events, Outcome::Failed).await;
    settled(&mut events, Outcome::Failed).await;
    assert!(failures.try_recv().is_err(), "the former handler receives no more failures");
}

#[tokio::test(start_paused = true)]
async fn classes_of_2_1_5_are_used_if_the_process_has_a_type_of_their_name() {
    let of_class = |class: &str| {
        let exception_handler = class.to_owned();
        let fields = JavaFields2 { exception_handler, ..JavaFields2::default() };
        let java = JavaSettings { fields: JavaFields::V2(fields), ..JavaSettings::default() };
        let job = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).java_settings(java);
        job.build().unwrap()
    };
    for (class, is_known, warned) in
        [("com.acme.Forwarding", true, false), ("com.acme.Other", false, true)]
    {
        let (log, _guard) = Log::listen();
        let cluster = Cluster::new();
        let (member, mut failures) = member_with_forwarding(&cluster);
        let handle = member.scheduler.schedule(of_class(class), failing()).await.unwrap();
        settled(&mut handle.events(), Outcome::Failed).await;
        handle.shutdown(SECOND).await.unwrap();
        assert_eq!(failures.try_recv().is_ok(), is_known, "{class}");
        let text = log.text();
        assert_eq!(text.contains("no error handler of this class"), warned, "{text}");
        assert_eq!(text.contains("item failed"), !is_known, "{text}");
    }
}

/// A handler whose calls take three seconds, `close` included.
struct Slow(Arc<TokioClock>, Arc<Mutex<Vec<&'static str>>>);

impl Slow {
    async fn call(&self, name: &'static str) {
        self.0.sleep_until(self.0.monotonic() + 3 * SECOND).await;
        self.1.lock().push(name);
    }
}

#[async_trait]
impl ErrorHandler for Slow {
    async fn handle(&self, _: &RunFailure) -> Result<Reaction, JobError> {
        self.call("handled").await;
        Ok(Reaction::GoOn)
    }

    async fn close(&self) {
        self.call("closed").await;
    }
}

/// Returns the finished calls of a slow handler at the end of a shutdown with this deadline, and
/// the duration of the shutdown.
async fn shut_down_within(deadline: Duration) -> (Vec<&'static str>, Duration) {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let done = Arc::new(Mutex::new(Vec::new()));
    let handler = Slow(cluster.clock.clone(), done.clone());
    let config = JobBuilder::new("job", 1).build().unwrap();
    let handle: JobHandle =
        member.scheduler.schedule(config, failing()).error_handler(handler).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    let mut events = handle.events();
    handle.trigger().await.unwrap();
    settled(&mut events, Outcome::Failed).await;
    let began = cluster.clock.monotonic();
    let report = within("the shutdown", handle.shutdown(deadline)).await.unwrap();
    assert!(report.deregistered);
    let took = cluster.clock.monotonic() - began;
    let done = done.lock().clone();
    (done, took)
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_the_handlers_up_to_its_deadline() {
    let (done, took) = shut_down_within(10 * SECOND).await;
    assert_eq!(done, ["handled", "closed"]);
    assert!(took >= 6 * SECOND && took < 7 * SECOND, "{took:?}");
    let (done, took) = shut_down_within(Duration::ZERO).await;
    assert_eq!(done, Vec::<&str>::new());
    assert!(took <= 2 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn failures_left_at_the_end_of_a_shutdown_are_logged_and_not_handled() {
    let (log, _guard) = Log::listen_at(Level::WARN);
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let done = Arc::new(Mutex::new(Vec::new()));
    let handler = Slow(cluster.clock.clone(), done.clone());
    let config = JobBuilder::new("job", 3).build().unwrap();
    let registration = member.scheduler.schedule(config, failing()).error_handler(handler);
    let handle = registration.await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    let mut events = handle.events();
    handle.trigger().await.unwrap();
    for _ in 0..3 {
        settled(&mut events, Outcome::Failed).await;
    }
    within("the shutdown", handle.shutdown(2 * SECOND)).await.unwrap();
    cluster.pass(60 * SECOND).await;
    assert_eq!(*done.lock(), ["handled"], "the second call was in progress at the end");
    let text = log.text();
    let given_up =
        |line: &&str| line.contains("the job ended in this process before the handler was done");
    assert_eq!(text.lines().filter(given_up).count(), 2, "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("item failed")).count(), 2, "{text}");
}

/// An error whose text panics.
#[derive(Debug)]
struct PanickingText;

impl std::fmt::Display for PanickingText {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("a bug in a text")
    }
}

impl std::error::Error for PanickingText {}

/// A handler whose name panics, and that stops the job.
struct PanickingName;

#[async_trait]
impl ErrorHandler for PanickingName {
    fn name(&self) -> &str {
        panic!("a bug in a name")
    }

    fn handle_now(&self, _: &RunFailure) -> Option<Reaction> {
        Some(Reaction::StopJob)
    }

    async fn handle(&self, _: &RunFailure) -> Result<Reaction, JobError> {
        Ok(Reaction::StopJob)
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_whose_name_panics_can_stop_the_job() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let config = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).build().unwrap();
    let registration = member.scheduler.schedule(config, failing()).error_handler(PanickingName);
    let handle = registration.await.unwrap();
    let mut events = handle.events();
    let stop = event(&mut events, "the stop", |e| matches!(e, JobEvent::Stopped { .. })).await;
    let JobEvent::Stopped { reason } = stop.event else { unreachable!() };
    assert!(reason.starts_with("error handler whose name panics: item 0 failed"), "{reason}");
}

/// A handler that fails with an error whose text panics.
struct FailsWithPanickingText;

#[async_trait]
impl ErrorHandler for FailsWithPanickingText {
    fn name(&self) -> &str {
        "speechless"
    }

    async fn handle(&self, _: &RunFailure) -> Result<Reaction, JobError> {
        Err(PanickingText.into())
    }
}

#[async_trait]
impl JobListener for FailsWithPanickingText {
    fn name(&self) -> &str {
        panic!("a bug in a name")
    }

    async fn after(&self, _: &ShardingContext, _: &RunEnd) -> Result<(), JobError> {
        Err(PanickingText.into())
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_whose_text_panics_is_handled_as_any_other() {
    let (log, _guard) = Log::listen_at(Level::WARN);
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let job = job_fn(|_| async { Err(PanickingText.into()) });
    let config = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).build().unwrap();
    let (forwarding, mut failures) = forwarding(Reaction::GoOn);
    let handle = member
        .scheduler
        .schedule(config, job)
        .listener(FailsWithPanickingText)
        .error_handler(FailsWithPanickingText)
        .error_handler(forwarding)
        .await
        .unwrap();
    let mut events = handle.events();
    for _ in 0..2 {
        settled(&mut events, Outcome::Failed).await;
        for _ in ["the code", "the listener"] {
            let failure = within("a failure", failures.recv()).await.unwrap();
            assert_eq!(failure.error(), "an error whose text panics: a bug in a text");
        }
    }
    assert!(log.text().contains("a bug in a text"), "{}", log.text());
}

/// A type that counts how often its handlers are made and closed, and that can be broken.
#[derive(Clone, Default)]
struct Counting {
    made: Arc<AtomicU32>,
    closed: Arc<AtomicU32>,
    is_broken: Arc<AtomicBool>,
}

impl Counting {
    fn counts(&self) -> (u32, u32) {
        (self.made.load(Ordering::SeqCst), self.closed.load(Ordering::SeqCst))
    }
}

impl ErrorHandlerType for Counting {
    fn name(&self) -> &str {
        "COUNTING"
    }

    fn reads(&self, property: &str) -> bool {
        property.starts_with("counting.")
    }

    fn make(&self, settings: &HandlerSettings<'_>) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
        assert!(settings.properties.keys().all(|name| self.reads(name)), "{settings:?}");
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(InvalidConfig::new("counting.secret", "missing", "an existing secret"));
        }
        self.made.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(Counted(self.clone())))
    }
}

struct Counted(Counting);

#[async_trait]
impl ErrorHandler for Counted {
    async fn handle(&self, _: &RunFailure) -> Result<Reaction, JobError> {
        Ok(Reaction::GoOn)
    }

    async fn close(&self) {
        self.0.closed.fetch_add(1, Ordering::SeqCst);
    }
}

/// Waits until a configuration is in force.
async fn in_force(cluster: &Cluster, handle: &JobHandle, config: &JobConfig) {
    cluster.configure(config).await;
    let mut events = handle.events();
    while handle.status().await.unwrap().config.as_deref() != Some(config) {
        within("an event", events.next()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_made_again_only_if_a_property_that_its_type_reads_changes() {
    let cluster = Cluster::new();
    let counting = Counting::default();
    let types = ErrorHandlers::default().with(counting.clone());
    let member = cluster.member_with(1, |builder| builder.error_handlers(types));
    let first = choosing("COUNTING", &[("counting.to", "us"), ("streaming.process", "true")]);
    let handle = member.scheduler.schedule(first.clone(), failing()).await.unwrap();
    settled(&mut handle.events(), Outcome::Failed).await;
    let (made, closed) = counting.counts();
    assert_eq!(closed, 0);

    let rows = [
        (choosing("COUNTING", &[("counting.to", "us"), ("streaming.process", "false")]), 0),
        (choosing("COUNTING", &[("counting.to", "them")]), 1),
    ];
    for (config, changes) in rows {
        in_force(&cluster, &handle, &config).await;
        settled(&mut handle.events(), Outcome::Failed).await;
        assert_eq!(counting.counts(), (made + changes, closed + changes), "{config:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_later_choice_that_cannot_be_made_is_retried_with_growing_delays() {
    let cluster = Cluster::new();
    let counting = Counting::default();
    let types = ErrorHandlers::default().with(counting.clone());
    let member = cluster.member_with(1, |builder| builder.error_handlers(types));
    // The job has no schedule, so that no other event wakes it.
    let of = |handler: &str| {
        let java = choosing(handler, &[]).java;
        JobBuilder::new("job", 1).java_settings(java).build().unwrap()
    };
    let handle = member.scheduler.schedule(of("LOG"), failing()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    counting.is_broken.store(true, Ordering::SeqCst);
    let mut events = handle.events();
    cluster.configure(&of("COUNTING")).await;
    let is_rejection = |event: &JobEvent| matches!(event, JobEvent::ConfigRejected { .. });
    event(&mut events, "a rejection", is_rejection).await;
    cluster.pass(3600 * SECOND).await;
    assert!(handle.status().await.unwrap().config_fault.is_some());

    counting.is_broken.store(false, Ordering::SeqCst);
    cluster.pass(301 * SECOND).await;
    assert_eq!(handle.status().await.unwrap().config_fault, None);
    assert_eq!(counting.counts(), (1, 0));
}
