//! The context of a run: its values at the start, and its updates.

use crate::support;

use std::future::pending;
use std::time::Duration;

use coordination::{Backfill, FireTime, JobName, Layout, OperatorStep, UnknownFields};
use futures_util::future::BoxFuture;
use lite::{
    EventSubscriber, JobBuilder, JobConfig, JobEvent, JobHandle, JobRecord, RequestParameter,
    RetryPolicy, RunReport, Scheduler, ShardingContext, ShardingItem, job_fn,
};
use reg_center::{Lifetime, NodePath, RegistryCenter, Txn};
use tokio::sync::mpsc;

use support::{Cluster, Member, Runs, within};

/// A job whose runs never end by themselves, and the contexts of its runs.
struct Held {
    member: Member,
    handle: JobHandle,
    contexts: mpsc::UnboundedReceiver<ShardingContext>,
}

async fn held(cluster: &Cluster, config: JobConfig) -> Held {
    let member = cluster.member(1);
    let (given, contexts) = mpsc::unbounded_channel();
    let job = job_fn(move |context| {
        given.send(context).unwrap();
        pending()
    });
    let handle = member.scheduler.schedule(config, job).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    Held { member, handle, contexts }
}

impl Held {
    async fn next(&mut self) -> ShardingContext {
        within("a run", self.contexts.recv()).await.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn the_context_is_written_as_elasticjob_writes_it() {
    let head =
        r#"{"jobName":"job","taskId":"job@-@0@-@READY@-@10.0.0.1@-@1","shardingTotalCount":1,"#;
    let rows = [
        ("nothing set", "", "", r#""jobParameter":"","shardingItem":0}"#),
        (
            "parameters",
            "x=1&y",
            "0=A B",
            r#""jobParameter":"x\u003d1\u0026y","shardingItem":0,"shardingParameter":"A B"}"#,
        ),
        (
            "characters with and without escapes in HTML and JSON",
            "<'\"\\>\n\u{1}\u{2028}作业/\u{7f}",
            "0=北京",
            "\"jobParameter\":\"\\u003c\\u0027\\\"\\\\\\u003e\\n\\u0001\\u2028作业/\u{7f}\",\"shardingItem\":0,\"shardingParameter\":\"北京\"}",
        ),
    ];
    for (case, job_parameter, parameters, tail) in rows {
        let cluster = Cluster::new();
        let config = JobBuilder::new("job", 1)
            .job_parameter(job_parameter)
            .sharding_item_parameters(parameters)
            .build()
            .unwrap();
        let context = held(&cluster, config).await.next().await;
        assert_eq!(context.to_java_json(), format!("{head}{tail}"), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_request_parameter_is_passed_beside_the_job_parameter() {
    let cluster = Cluster::new();
    let config = JobBuilder::new("job", 1).job_parameter("all").build().unwrap();
    let member = cluster.member(1);
    let (given, mut contexts) = mpsc::unbounded_channel();
    let job = job_fn(move |context: ShardingContext| {
        given.send(context).unwrap();
        async { Err("again".into()) }
    });
    let policy = RetryPolicy::new(2);
    let handle = member.scheduler.schedule(config, job).retry(policy).await.unwrap();
    within("joining", handle.joined()).await.unwrap();

    handle.trigger_with(RequestParameter::new("2024-02 & <3").unwrap()).await.unwrap();
    handle.trigger().await.unwrap();

    let mut seen = Vec::new();
    for _ in 0..4 {
        let context = within("an attempt", contexts.recv()).await.unwrap();
        assert_eq!(context.job_parameter(), "all");
        seen.push((context.attempt(), context.request_parameter().map(str::to_owned)));
        let json = context.to_java_json();
        let tail = r#""shardingItem":0,"requestParameter":"2024-02 \u0026 \u003c3"}"#;
        assert_eq!(json.ends_with(tail), context.request_parameter().is_some(), "{json}");
        assert!(json.ends_with(tail) || json.ends_with(r#""shardingItem":0}"#), "{json}");
    }
    let february = Some("2024-02 & <3".to_owned());
    assert_eq!(seen, [(1, february.clone()), (2, february), (1, None), (2, None)]);
}

/// An action after which runs should wind down.
type Cause = for<'a> fn(&'a Cluster, &'a Held) -> BoxFuture<'a, Option<Scheduler>>;

async fn put(cluster: &Cluster, path: NodePath, data: &str) {
    let operator = cluster.registry.connect();
    let txn = if cluster.registry.snapshot().read(&path).is_some() {
        Txn::new().put(path, data.to_owned())
    } else {
        Txn::new().create(path, data.to_owned(), Lifetime::Persistent)
    };
    assert!(operator.commit(txn).await.unwrap().is_committed());
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the shutdown waits in a task of the test")]
async fn a_run_should_wind_down_after_each_of_these_causes() {
    let rows: [(&str, Cause); 5] = [
        ("the instance is paused", |_, held| {
            Box::pin(async {
                held.handle.pause().await.unwrap();
                None
            })
        }),
        ("the item is disabled", |cluster, _| {
            Box::pin(async {
                put(cluster, support::path("job", &["sharding", "0", "disabled"]), "").await;
                None
            })
        }),
        ("the server is disabled", |cluster, _| {
            Box::pin(async {
                put(cluster, support::path("job", &["servers", "10.0.0.1"]), "DISABLED").await;
                None
            })
        }),
        ("the instance leaves", |_, held| {
            Box::pin(async {
                let handle = held.handle.clone();
                tokio::spawn(async move { handle.shutdown(Duration::from_secs(3600)).await });
                None
            })
        }),
        ("the item is to move", |cluster, held| {
            Box::pin(async {
                // Instances are sorted by their ids in descending order, and the first one gets the
                // only item.
                let other = cluster.member(2);
                let config = held.handle.status().await.unwrap().config.unwrap();
                let job = job_fn(|_| async { Ok(()) });
                other.scheduler.schedule((*config).clone(), job).await.unwrap();
                Some(other.scheduler)
            })
        }),
    ];
    for (case, cause) in rows {
        let cluster = Cluster::new();
        let config = JobBuilder::new("job", 1).build().unwrap();
        let mut held = held(&cluster, config).await;
        let context = held.next().await;
        assert!(!context.should_wind_down(), "{case}");

        let _other = cause(&cluster, &held).await;

        within(case, context.winding_down()).await;
        assert!(context.should_wind_down() && !context.is_cancelled(), "{case}");
        held.member.scheduler.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_may_stay_again_should_no_longer_wind_down() {
    let cluster = Cluster::new();
    let mut held = held(&cluster, JobBuilder::new("job", 1).build().unwrap()).await;
    let context = held.next().await;
    held.handle.pause().await.unwrap();
    within("the pause", context.winding_down()).await;
    held.handle.resume().await.unwrap();
    assert!(!context.should_wind_down());
}

#[tokio::test(start_paused = true)]
async fn a_run_keeps_its_configuration_and_can_read_the_one_in_force() {
    let cluster = Cluster::new();
    let config = JobBuilder::new("job", 1).build().unwrap();
    let mut held = held(&cluster, config.clone()).await;
    let context = held.next().await;

    cluster.configure(&config.with(|it| it.description = "changed".into())).await;

    // The status is answered after the changes from the registry that precede it.
    let changed = async {
        loop {
            let status = held.handle.status().await.unwrap();
            if status.config.is_some_and(|config| config.description == "changed") {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    within("the change", changed).await;
    assert_eq!(context.latest_config().description, "changed");
    assert_eq!(context.config().description, "");
}

/// Sends the past fire of each claimed and each ended run.
struct PastFires(tokio::sync::mpsc::UnboundedSender<(&'static str, Option<FireTime>)>);

impl EventSubscriber for PastFires {
    fn on_event(&self, record: &JobRecord) {
        if let JobEvent::Claimed { past_fire, .. } = record.event {
            self.0.send(("claim", past_fire)).unwrap();
        }
    }

    fn on_run_ended(&self, report: &RunReport) {
        self.0.send(("end", report.past_fire)).unwrap();
    }
}

/// The code does what it would have done at the past fire.
#[tokio::test(start_paused = true)]
async fn run_of_a_backfill_sees_the_past_fire() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let (sender, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let member = cluster.member_with(1, |builder| builder.event_subscriber(PastFires(sender)));
    let (keys, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let job = {
        let runs = runs.clone();
        job_fn(move |context: ShardingContext| {
            runs.note(&context);
            let times = (context.fire_time(), context.run_time());
            let (key, keys) = (context.idempotency_key(), keys.clone());
            async move { Ok(keys.send((times, key))?) }
        })
    };
    let config = JobBuilder::new("job", 1).cron("0 0 6 * * ?").build().unwrap();
    let handle = member.scheduler.schedule(config, job).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    let past = [FireTime(1_700_000_000_000), FireTime(1_700_086_400_000)];
    let backfill = Backfill {
        id: "b".into(),
        by: "anna".to_owned(),
        why: "wrong rates".to_owned(),
        at: FireTime(1_709_208_000_001),
        from_ms: past[0].0,
        until_ms: past[1].0 + 1,
        fires: past.to_vec(),
        total: past.len(),
        items: [ShardingItem::new(0)].into(),
        concurrency: 1,
        done: 0,
        cancel: None,
        ended_ms: None,
        unknown: UnknownFields::default(),
    };
    let step = OperatorStep::SetBackfills { log: [backfill].into_iter().collect(), expect: None };
    let txn = Layout::new(&JobName::new("job").unwrap()).change(&[step]);
    assert!(cluster.registry.connect().commit(txn).await.unwrap().is_committed());
    for (n, fire) in (0..).zip(past) {
        let ((fire_time, run_time), key) = within("the run", seen.recv()).await.unwrap();
        assert_eq!(fire_time.as_millisecond(), fire.0);
        assert_eq!(run_time.as_millisecond(), 1_709_208_000_001 + 2 * n);
        assert_eq!(key, format!("job/0/{}", fire.0), "that of the scheduled run");
        for report in ["claim", "end"] {
            assert_eq!(within(report, ended.recv()).await.unwrap(), (report, Some(fire)));
        }
    }
    assert!(runs.all().iter().all(|run| run.source == "BACKFILL"), "{:?}", runs.all());
}
