//! The worker process: reads orders from the standard input and executes them until the end.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::net::Ipv4Addr;
use std::process::{ExitCode, exit};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use coordination::{Dialect, JavaFields, JavaSettings};
use lite::{
    DumpListener, DumpOptions, JobBuilder, JobConfig, JobEvent, JobHandle, JobRecord, Scheduler,
};
use reg_center::RegistryCenter;
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tracing_subscriber::EnvFilter;

use super::job::{Behaviour, WorkingJob};
use super::output::emit;
use super::{JOB_CLASS, WorkerError, causes};
use crate::protocol::{Action, JobPlan, Order, Registry, WorkerEvent};

/// Exit status of a worker whose suite has ended.
const ORPHANED: i32 = 71;
/// Longest wait for runs when the worker leaves.
const DRAIN: Duration = Duration::from_secs(30);

pub(super) fn run() -> Result<ExitCode, WorkerError> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| WorkerError::System {
        action: "request a kill signal for the end of the suite",
        source: error.into(),
    })?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|source| WorkerError::System { action: "read the first line", source })?;
    let registry: Registry = parse(&line)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime =
        runtime.map_err(|source| WorkerError::System { action: "start a runtime", source })?;
    runtime.block_on(serve_orders(registry))
}

fn parse<T: DeserializeOwned>(line: &str) -> Result<T, WorkerError> {
    serde_json::from_str(line).map_err(|error| WorkerError::Input(format!("{line:?}: {error}")))
}

/// Reads orders on a thread of its own. If the input ends, the suite has ended, and this process
/// exits.
fn orders() -> mpsc::UnboundedReceiver<String> {
    let (sender, orders) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            // The receiver is dropped when the worker leaves.
            let _ = sender.send(line);
        }
        exit(ORPHANED);
    });
    orders
}

async fn serve_orders(registry: Registry) -> Result<ExitCode, WorkerError> {
    let mut orders = orders();
    let options = ZookeeperOptions::new(&registry.addresses)
        .namespace(format!("/{}", registry.namespace))
        .session_timeout(Duration::from_millis(registry.session_ms));
    let center: Arc<dyn RegistryCenter> = ZookeeperCenter::connect(options).await?;
    let scheduler = Scheduler::builder(Arc::clone(&center))
        .default_time_zone(&registry.time_zone)?
        .event_subscriber(publish)
        .build()?;
    let mut worker = Worker {
        scheduler,
        registry,
        behaviours: BTreeMap::new(),
        handles: BTreeMap::new(),
        dumps: None,
    };
    emit(WorkerEvent::Ready);
    while let Some(line) = orders.recv().await {
        let Order { order, action } = parse(&line)?;
        let leaves = matches!(action, Action::Leave);
        let (value, error) = match worker.execute(action).await {
            Ok(value) => (value, None),
            Err(error) => (Value::Null, Some(causes(&error))),
        };
        emit(WorkerEvent::Answer { order, value, error });
        if leaves {
            worker.scheduler.shutdown(DRAIN).await;
            // If the request fails, the registry ends the session after its timeout.
            let _ = center.close().await;
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn publish(record: &JobRecord) {
    let (name, text) = (record.event.name().to_owned(), record.event.to_string());
    let settled =
        if let JobEvent::Settled { fire, .. } = record.event { Some(fire.0) } else { None };
    emit(WorkerEvent::Event { job: record.job.to_string(), name, text, settled });
}

struct Worker {
    scheduler: Scheduler,
    registry: Registry,
    behaviours: BTreeMap<String, watch::Sender<Behaviour>>,
    handles: BTreeMap<String, JobHandle>,
    /// The listener for dumps, from the first job on.
    dumps: Option<DumpListener>,
}

impl Worker {
    async fn execute(&mut self, action: Action) -> Result<Value, WorkerError> {
        match action {
            Action::Schedule { job } => Ok(Value::String(self.schedule(job).await?)),
            Action::Work { job, usual_ms, hold } => {
                let usual = Duration::from_millis(usual_ms);
                self.behaviour(&job).send_replace(Behaviour { usual, hold });
                Ok(Value::Null)
            }
            Action::Trigger { job } => {
                let handle = self.handles.get(&job).ok_or(WorkerError::NoJob(job))?;
                handle.trigger().await?;
                Ok(Value::Null)
            }
            Action::Call { call, .. } => Err(WorkerError::NoCall(call)),
            Action::Leave => Ok(Value::Null),
        }
    }

    fn behaviour(&mut self, job: &str) -> &watch::Sender<Behaviour> {
        self.behaviours.entry(job.to_owned()).or_default()
    }

    /// Returns the fields of a configuration that only Java reads.
    fn java_settings(&self) -> JavaSettings {
        let dialect =
            if self.registry.release.starts_with('2') { Dialect::V2 } else { Dialect::V3 };
        let mut java = JavaSettings::of(dialect);
        JOB_CLASS.clone_into(&mut java.job_class);
        if let JavaFields::V2(fields) = &mut java.fields {
            fields.monitor_port = self.registry.dump_port;
        }
        java
    }

    /// Answers dumps as a Java worker does: on all addresses of this host, at one port for the only
    /// job.
    async fn listen_for_dumps(&mut self, job: &str) -> Result<(), WorkerError> {
        let port = u16::try_from(self.registry.dump_port).ok().filter(|_| self.dumps.is_none());
        if let Some(port) = port {
            let options = DumpOptions::at((Ipv4Addr::UNSPECIFIED, port).into()).job(job);
            self.dumps = Some(self.scheduler.listen_for_dumps(options).await?);
        }
        Ok(())
    }

    async fn schedule(&mut self, plan: JobPlan) -> Result<String, WorkerError> {
        self.listen_for_dumps(&plan.name).await?;
        let behaviour = self.behaviour(&plan.name).subscribe();
        let mut config = config(plan)?;
        config.java = self.java_settings();
        let handle = self.scheduler.schedule(config, WorkingJob { behaviour }).await?;
        handle.joined().await?;
        let instance = handle.status().await?.instance.ok_or(WorkerError::NoInstance)?;
        self.handles.insert(handle.name().to_string(), handle);
        Ok(instance.to_string())
    }
}

fn config(plan: JobPlan) -> Result<JobConfig, WorkerError> {
    let minutes = u64::from(plan.reconcile_interval_minutes);
    Ok(JobBuilder::new(plan.name, plan.total)
        .cron(plan.cron)
        .sharding_item_parameters(plan.item_parameters)
        .job_parameter(plan.job_parameter)
        .failover(plan.failover)
        .misfire(plan.misfire)
        .monitor_execution(plan.monitor_execution)
        .overwrite(plan.overwrite)
        .strategy(plan.strategy)
        .reconcile_interval(Duration::from_secs(minutes * 60))
        .build()?)
}
