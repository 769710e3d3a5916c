//! The namespaces that the console shows, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use coordination::{JobName, NodeKind, ServerIp};
use job_history::History;
use operations::{Freshness, JobSnapshot, LiveNamespace, Operations};
use reg_center::RegistryCenter;

use crate::alerts::Alerts;
use crate::api::EventHub;
use crate::findings::Findings;
use crate::pages::LastDay;
use crate::problem::{Answer, Problem};

/// One namespace: the jobs, kept current, and the operator actions on them.
#[derive(Debug)]
pub(crate) struct Namespace {
    /// Name in addresses, such as `orders`.
    pub(crate) name: String,
    pub(crate) live: LiveNamespace,
    pub(crate) operations: Operations,
    pub(crate) history: Option<History>,
    pub(crate) last_day: LastDay,
    pub(crate) events: EventHub,
    pub(crate) findings: Findings,
    pub(crate) alerts: Alerts,
}

impl Namespace {
    pub(crate) fn follow(
        name: String,
        registry: Arc<dyn RegistryCenter>,
        history: Option<History>,
    ) -> Self {
        let operations = Operations::new(Arc::clone(&registry));
        let alerts = Alerts::follow(Arc::clone(&registry));
        let (live, events) = (LiveNamespace::follow(registry), EventHub::default());
        let findings = Findings::follow(&live);
        let last_day = LastDay::default();
        Self { name, live, operations, history, last_day, events, findings, alerts }
    }

    /// Returns a job with a configuration.
    pub(crate) fn job(&self, name: &JobName) -> Answer<Arc<JobSnapshot>> {
        let found = self.live.job(name).filter(|job| job.has_config());
        found
            .ok_or_else(|| self.no_such_job(format!("namespace {:?} has no job {name}", self.name)))
    }

    /// Returns the nodes of a job, which may be leftovers without a configuration.
    pub(crate) fn nodes(&self, name: &JobName) -> Answer<Arc<JobSnapshot>> {
        self.live.job(name).ok_or_else(|| {
            self.no_such_job(format!("namespace {:?} has no node of job {name}", self.name))
        })
    }

    /// Fails while the jobs are not known yet.
    pub(crate) fn loaded(&self) -> Answer<()> {
        match self.live.freshness() {
            Freshness::Loading => Err(Problem::loading(&self.name)),
            Freshness::Current | Freshness::Stale { .. } => Ok(()),
        }
    }

    fn no_such_job(&self, detail: String) -> Problem {
        let absent = || Problem::not_found("no-such-job", detail);
        self.loaded().err().unwrap_or_else(absent)
    }
}

/// All namespaces of a console.
#[derive(Debug, Default)]
pub(crate) struct Namespaces(BTreeMap<String, Arc<Namespace>>);

impl Namespaces {
    pub(crate) fn add(&mut self, namespace: Namespace) {
        let namespace = Arc::new(namespace);
        crate::audit_copy::follow(&namespace);
        self.0.insert(namespace.name.clone(), namespace);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Namespace>> {
        self.0.values()
    }

    pub(crate) fn get(&self, name: &str) -> Answer<&Arc<Namespace>> {
        self.0.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            let detail = format!(
                "namespace is {name:?}; this console shows {}",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            );
            Problem::not_found("no-such-namespace", detail)
        })
    }
}

/// Returns true if a job knows a server or has an instance on it: the condition `server` of the API
/// and of the pages.
pub(crate) fn is_on_server(job: &JobSnapshot, ip: &ServerIp) -> bool {
    job.view().server_state(ip).is_some() || job.instances_on(ip).next().is_some()
}

/// Returns true for nodes whose data only callers who may change the configuration see: documents,
/// which may hold credentials, and nodes of other programs.
pub(crate) fn may_hold_secrets(kind: Option<&NodeKind>) -> bool {
    use NodeKind::{Config, FormerConfigs, OfItem};
    matches!(kind, None | Some(Config | FormerConfigs | OfItem(..)))
}
