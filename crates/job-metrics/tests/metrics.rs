//! Metrics of a scheduler's events and runs, as a Prometheus recorder renders them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    DropReason, FencingToken, FireRange, FireTime, Gap, ItemRanges, JobEvent, JobName, MissReason,
    Outcome, RunSource,
};
use jiff::Timestamp;
use job_metrics::{METRICS, MetricKind, MetricsSubscriber};
use lite::{
    Clock, EventSubscriber, JobBuilder, JobRecord, RunReport, Scheduler, TokioClock, job_fn,
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};
use reg_center::MemoryRegistry;
use sharding::{InstanceId, ShardingItem};

fn recorder() -> PrometheusRecorder {
    let buckets = [1.0, 10.0];
    PrometheusBuilder::new().set_buckets(&buckets).unwrap().build_recorder()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_709_208_000 + seconds).unwrap()
}

fn send_event(subscriber: MetricsSubscriber, event: JobEvent) {
    let mut record = JobRecord::new(JobName::new("job").unwrap(), at(0), event);
    record.instance = Some(InstanceId::new("a"));
    subscriber.on_event(&record);
}

fn end_run(subscriber: MetricsSubscriber, source: RunSource, outcome: Outcome, token: u64) {
    let (job, instance) = (JobName::new("job").unwrap(), InstanceId::new("a"));
    let mut report = RunReport::new(job, instance, ShardingItem::new(0), at(0));
    report.source = source;
    report.token = FencingToken(token);
    report.began = at(2);
    report.waited = Duration::from_secs(1);
    report.ended = at(7);
    report.outcome = outcome;
    subscriber.on_run_ended(&report);
}

fn every_event() -> Vec<JobEvent> {
    let (item, fire) = (ShardingItem::new(0), FireTime(0));
    let (token, reason) = (FencingToken(1), "why".to_owned());
    let holder = InstanceId::new("b");
    let waiting = FireRange { first: fire, last: fire, count: 1 };
    vec![
        JobEvent::Joined { instance: holder.clone() },
        JobEvent::BecameLeader { term: 1 },
        JobEvent::Resharded {
            moved: 3,
            items: ItemRanges::default(),
            deferred: 1,
            instances: 2,
            reason: reason.clone(),
        },
        JobEvent::Claimed { item, fire, source: RunSource::Normal, token, past_fire: None },
        JobEvent::Claimed { item, fire, source: RunSource::Failover, token, past_fire: None },
        JobEvent::Fenced { item, token },
        JobEvent::MisfireNoted { item, waiting },
        JobEvent::Missed { item: Some(item), fire, reason: MissReason::StillRunning },
        JobEvent::Missed { item: None, fire, reason: MissReason::Paused },
        JobEvent::Gap {
            item,
            gap: Gap { first: fire, until: fire, count: None, config: None, changed_to: None },
        },
        JobEvent::Orphaned { item, fire, holder: holder.clone(), failover: true },
        JobEvent::Orphaned { item, fire, holder, failover: false },
        JobEvent::StrategyFailed { reason: reason.clone() },
        JobEvent::ConfigRejected { reason: reason.clone() },
        JobEvent::Anomaly { path: "/x".to_owned(), reason: reason.clone() },
        JobEvent::ChangesMissed { count: 1, nodes: "config changed".to_owned() },
        JobEvent::RequestDropped { id: reason.clone(), reason: DropReason::Leaving },
        JobEvent::CommitRefused { reason: reason.clone() },
        JobEvent::ClockDiffers { ahead_ms: 61_000 },
        JobEvent::ClockAgrees,
        JobEvent::Stopped { reason },
    ]
}

#[test]
fn each_event_updates_its_metric() {
    let recorder = recorder();
    let prometheus = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        let subscriber = MetricsSubscriber::new();
        for event in every_event() {
            send_event(subscriber, event);
        }
        subscriber.on_waiting_runs(&JobName::new("job").unwrap(), 3);
        end_run(subscriber, RunSource::Normal, Outcome::Succeeded, 1);
        end_run(subscriber, RunSource::Manual, Outcome::Failed, 0);
    });
    let text = prometheus.render();
    let mut seen: Vec<_> =
        text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    seen.sort_unstable();
    let mut expected = vec![
        r#"ejob_faults_total{job="job",kind="anomaly"} 1"#,
        r#"ejob_faults_total{job="job",kind="changes_missed"} 1"#,
        r#"ejob_faults_total{job="job",kind="clock_differs"} 1"#,
        r#"ejob_faults_total{job="job",kind="commit_refused"} 1"#,
        r#"ejob_faults_total{job="job",kind="config_rejected"} 1"#,
        r#"ejob_faults_total{job="job",kind="request_dropped"} 1"#,
        r#"ejob_faults_total{job="job",kind="stopped"} 1"#,
        r#"ejob_faults_total{job="job",kind="strategy_failed"} 1"#,
        r#"ejob_fire_delay_seconds_bucket{job="job",le="1"} 0"#,
        r#"ejob_fire_delay_seconds_bucket{job="job",le="10"} 1"#,
        r#"ejob_fire_delay_seconds_bucket{job="job",le="+Inf"} 1"#,
        r#"ejob_fire_delay_seconds_sum{job="job"} 3"#,
        r#"ejob_fire_delay_seconds_count{job="job"} 1"#,
        r#"ejob_fires_missed_total{job="job",reason="paused"} 1"#,
        r#"ejob_fires_missed_total{job="job",reason="still_running"} 1"#,
        r#"ejob_gaps_total{job="job"} 1"#,
        r#"ejob_items_moved_total{job="job"} 3"#,
        r#"ejob_joined{job="job"} 1"#,
        r#"ejob_last_success_timestamp_seconds{job="job"} 1709208007"#,
        r#"ejob_leader{job="job"} 1"#,
        r#"ejob_misfires_total{job="job"} 1"#,
        r#"ejob_orphans_total{job="job",failover="false"} 1"#,
        r#"ejob_orphans_total{job="job",failover="true"} 1"#,
        r#"ejob_reshardings_total{job="job"} 1"#,
        r#"ejob_run_duration_seconds_bucket{job="job",le="1"} 0"#,
        r#"ejob_run_duration_seconds_bucket{job="job",le="10"} 2"#,
        r#"ejob_run_duration_seconds_bucket{job="job",le="+Inf"} 2"#,
        r#"ejob_run_duration_seconds_sum{job="job"} 10"#,
        r#"ejob_run_duration_seconds_count{job="job"} 2"#,
        r#"ejob_run_wait_seconds_bucket{job="job",le="1"} 2"#,
        r#"ejob_run_wait_seconds_bucket{job="job",le="10"} 2"#,
        r#"ejob_run_wait_seconds_bucket{job="job",le="+Inf"} 2"#,
        r#"ejob_run_wait_seconds_sum{job="job"} 2"#,
        r#"ejob_run_wait_seconds_count{job="job"} 2"#,
        r#"ejob_runs_waiting{job="job"} 3"#,
        r#"ejob_runs_fenced_total{job="job"} 1"#,
        // Two runs were claimed. Two ended, and one of them was monitored.
        r#"ejob_runs_in_progress{job="job"} 1"#,
        r#"ejob_runs_total{job="job",source="manual",outcome="failed"} 1"#,
        r#"ejob_runs_total{job="job",source="normal",outcome="succeeded"} 1"#,
    ];
    expected.sort_unstable();
    assert_eq!(seen, expected);
}

#[test]
fn readme_and_table_list_every_metric_with_kind_and_labels() {
    let recorder = recorder();
    let prometheus = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        let subscriber = MetricsSubscriber::new();
        every_event().into_iter().for_each(|event| send_event(subscriber, event));
        subscriber.on_waiting_runs(&JobName::new("job").unwrap(), 3);
        end_run(subscriber, RunSource::Normal, Outcome::Succeeded, 1);
    });
    let text = prometheus.render();
    let page = include_str!("../../../docs/metrics.md");
    for metric in METRICS {
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Seconds => "histogram",
            _ => panic!("no Prometheus type for the kind of {metric:?}"),
        };
        assert!(text.contains(&format!("# TYPE {} {kind}\n", metric.name)), "{metric:?}\n{text}");
        assert!(text.contains(&format!("# HELP {} {}\n", metric.name, metric.meaning)));
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", metric.name)));
        let row = row.unwrap_or_else(|| panic!("the page has no row for {}", metric.name));
        assert!(row.contains(kind), "{row}");
        let line = text.lines().find(|line| line.starts_with(metric.name)).unwrap();
        for label in metric.labels {
            assert!(row.contains(&format!("`{label}`")), "{label}: {row}");
            assert!(line.contains(&format!("{label}=\"")), "{label}: {line}");
        }
        assert_eq!(
            line.matches("=\"").count() - line.matches("le=\"").count(),
            metric.labels.len()
        );
    }
    let rows = page.lines().filter(|line| line.starts_with("| `ejob_")).count();
    assert_eq!(rows, METRICS.len());
}

#[test]
fn scheduler_reports_metrics_from_joining_to_leaving() {
    let recorder = recorder();
    let prometheus = recorder.handle();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    metrics::with_local_recorder(&recorder, || runtime.unwrap().block_on(play()));
    let text = prometheus.render();
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.rsplit(' ').next()).unwrap_or_else(|| panic!("{name}\n{text}"))
    };
    assert_eq!(value(r#"ejob_runs_total{job="job",source="normal",outcome="succeeded"}"#), "3");
    assert_eq!(value(r#"ejob_runs_total{job="job",source="normal",outcome="panicked"}"#), "3");
    assert_eq!(value(r#"ejob_run_duration_seconds_sum{job="job"}"#), "12");
    assert_eq!(value(r#"ejob_runs_in_progress{job="job"}"#), "0");
    assert_eq!(value(r#"ejob_joined{job="job"}"#), "0", "the process has left the job");
    assert_eq!(value(r#"ejob_reshardings_total{job="job"}"#), "1");
    let delay: f64 = value(r#"ejob_fire_delay_seconds_sum{job="job"}"#).parse().unwrap();
    assert!(delay < 0.1, "{delay}");
}

/// Runs three fires of a job of two items. Each run takes two seconds, and item 1 panics.
async fn play() {
    let clock = Arc::new(TokioClock::starting_at(at(0)));
    let scheduler = Scheduler::builder(Arc::new(MemoryRegistry::new().connect()))
        .clock(clock.clone())
        .event_subscriber(MetricsSubscriber::new())
        .build()
        .unwrap();
    let config = JobBuilder::new("job", 2).cron("0/10 * * * * ?").build().unwrap();
    let job = job_fn(move |context| {
        let clock = clock.clone();
        async move {
            clock.sleep_until(clock.monotonic() + Duration::from_secs(2)).await;
            assert!(context.item().index() == 0, "a bug");
            Ok(())
        }
    });
    let handle = scheduler.schedule(config, job).await.unwrap();
    let mut events = handle.events();
    let mut settled = 0;
    while settled < 6 {
        let record = events.next().await.unwrap();
        settled += u32::from(matches!(record.event, JobEvent::Settled { .. }));
    }
    scheduler.shutdown(Duration::from_secs(5)).await;
}
