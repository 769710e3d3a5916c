//! Namespaces in memory with real schedulers, and command lines that run on them.

#[path = "../../../operations/tests/support/accident.rs"]
pub(crate) mod accident;
pub(crate) mod terminal;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cli::{Exit, Fault, Place, Registries};
use coordination::{Dialect, JobName, Layout};
use lite::{JobBuilder, JobHandle, Scheduler, ShardingContext, job_fn};
use operations::JobSnapshot;
use parking_lot::Mutex;
use reg_center::{Lifetime, MemoryRegistry, NodePath, RegistryCenter, Txn};
use serde_json::Value;

use accident::{Accident, Then};

/// Deadline, longer than any test needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for a future with a deadline.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("did not happen within {PATIENCE:?}: {what}"))
}

/// Output and exit code of a command line.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) exit: Exit,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl CommandOutput {
    /// Returns the printed JSON document.
    pub(crate) fn json(&self) -> Value {
        document(self.out.as_bytes())
    }

    /// Asserts that the command succeeded, and returns the printed text.
    pub(crate) fn done(self) -> String {
        assert_eq!(self.exit, Exit::Done, "{self:?}");
        assert_eq!(self.err, "", "{self:?}");
        self.out
    }
}

/// Parses the JSON document of an answer; all its keys must be in snake case.
pub(crate) fn document(answer: &[u8]) -> Value {
    let text = || String::from_utf8_lossy(answer);
    let read = serde_json::from_slice(answer);
    let document: Value =
        read.unwrap_or_else(|error| panic!("not exactly one JSON document ({error}): {}", text()));
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        let fields = value.as_object().into_iter().flatten();
        for (key, value) in fields {
            let is_snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(key.chars().all(is_snake), "{key:?} is not in snake case: {}", text());
            open.push(value);
        }
        open.extend(value.as_array().into_iter().flatten());
    }
    document
}

/// Namespaces in memory, by their paths.
#[derive(Default)]
pub(crate) struct Memory {
    namespaces: Mutex<BTreeMap<String, MemoryRegistry>>,
    /// Fault of the next connection, and the number of the write at which it occurs.
    accident: Mutex<Option<(Then, usize)>>,
}

#[async_trait]
impl Registries for Memory {
    async fn open(&self, place: &Place) -> Result<Arc<dyn RegistryCenter>, Fault> {
        let mut namespaces = self.namespaces.lock();
        if !namespaces.contains_key(place.namespace()) && !place.may_create() {
            return Err(place.absent());
        }
        let registry = namespaces.entry(place.namespace().to_owned()).or_default();
        match self.accident.lock().take() {
            Some((then, at)) => Ok(Arc::new(Accident::new(registry, then, at))),
            None => Ok(Arc::new(registry.connect())),
        }
    }
}

/// The namespace `/jobs`, for command lines.
pub(crate) struct World {
    pub(crate) memory: Memory,
    pub(crate) registry: MemoryRegistry,
}

/// A scheduler with its job handle; dropping it ends the session.
pub(crate) struct Member {
    pub(crate) scheduler: Scheduler,
    pub(crate) handle: JobHandle,
}

impl World {
    pub(crate) fn new() -> Self {
        let (memory, registry) = (Memory::default(), MemoryRegistry::new());
        memory.namespaces.lock().insert("/jobs".to_owned(), registry.clone());
        Self { memory, registry }
    }

    /// Runs `ejob` on the namespace.
    pub(crate) async fn ejob(&self, arguments: &[&str]) -> CommandOutput {
        self.ejob_in("/jobs", arguments).await
    }

    /// Runs `ejob` on a connection with a fault, with a short read deadline.
    pub(crate) async fn ejob_with(
        &self,
        then: Then,
        at: usize,
        arguments: &[&str],
    ) -> CommandOutput {
        *self.memory.accident.lock() = Some((then, at));
        self.ejob(&[arguments, &["--timeout", "300ms"]].concat()).await
    }

    /// Runs `ejob` on another namespace.
    pub(crate) async fn ejob_in(&self, namespace: &str, arguments: &[&str]) -> CommandOutput {
        let mut out = Vec::new();
        let (exit, err) = self.ejob_to(&mut out, namespace, arguments).await;
        CommandOutput { exit, out: String::from_utf8(out).unwrap(), err }
    }

    /// Runs `ejob` with another standard output; returns the text of the standard error.
    pub(crate) async fn ejob_to(
        &self,
        out: &mut (dyn std::io::Write + Send),
        namespace: &str,
        arguments: &[&str],
    ) -> (Exit, String) {
        let place = ["ejob", "--zookeeper", "memory", "--namespace", namespace];
        let line = place.into_iter().chain(arguments.iter().copied());
        let mut err = Vec::new();
        let command = Box::pin(cli::run(line, &self.memory, out, &mut err));
        let exit = within("a command", command).await;
        (exit, String::from_utf8(err).unwrap())
    }

    /// Adds a member with the address `10.0.0.{n}` to a job and waits until it is registered.
    ///
    /// Item 3 fails, and so does every run with the parameter `fail`.
    pub(crate) async fn member(&self, n: u8, job: &str) -> Member {
        let center = Arc::new(self.registry.connect());
        let builder = Scheduler::builder(center).server_ip(&format!("10.0.0.{n}")).unwrap();
        let scheduler = builder.instance_name(n.to_string()).dialect(Dialect::V2).build().unwrap();
        let run = job_fn(|context: ShardingContext| async move {
            let shall_fail = context.request_parameter() == Some("fail");
            if shall_fail || context.item().index() == 3 { Err("it fails".into()) } else { Ok(()) }
        });
        let config = JobBuilder::new(job, 4).failover(true).description("counts").build().unwrap();
        let handle = scheduler.schedule(config, run).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        Member { scheduler, handle }
    }

    /// Waits until the job satisfies `wanted`.
    pub(crate) async fn until(&self, job: &str, what: &str, wanted: impl Fn(&JobSnapshot) -> bool) {
        let job = JobName::new(job).unwrap();
        let observer = self.registry.connect();
        let mut changes = observer.watch(&Layout::new(&job).root());
        within(what, async {
            loop {
                let model = self.registry.snapshot();
                let nodes = model.subtree(&Layout::new(&job).root()).cloned().collect();
                if wanted(&JobSnapshot::of_nodes(&job, nodes)) {
                    return;
                }
                changes.next().await.expect("the observer's centre is open");
            }
        })
        .await;
    }

    /// Adds two members, which share the four items of job `report`.
    pub(crate) async fn shared(&self) -> (Member, Member) {
        let members = (self.member(1, "report").await, self.member(2, "report").await);
        self.until("report", "both to share", |job| owned(job, 1) == 2 && owned(job, 2) == 2).await;
        members
    }

    /// Writes persistent nodes.
    pub(crate) async fn write(&self, nodes: &[(&str, &str)]) {
        let center = self.registry.connect();
        for (path, data) in nodes {
            let path = NodePath::parse(path).unwrap();
            let txn = Txn::new().create(path, (*data).to_owned(), Lifetime::Persistent);
            assert!(center.commit(txn).await.unwrap().is_committed(), "{data}");
        }
    }

    /// Returns the data of a node as text.
    pub(crate) fn stored(&self, path: &str) -> Option<String> {
        let node = self.registry.snapshot().read(&NodePath::parse(path).unwrap()).cloned();
        node.map(|node| String::from_utf8_lossy(&node.data).into_owned())
    }
}

/// Returns the number of items that the member `10.0.0.{n}` owns.
pub(crate) fn owned(job: &JobSnapshot, n: u8) -> usize {
    let id = format!("10.0.0.{n}@-@{n}");
    let is_its = |item| job.owner(item).is_some_and(|owner| owner.as_str() == id);
    job.items().into_iter().filter(|item| is_its(*item)).count()
}
