//! Pages by their addresses. The page and its stream use the same functions.

use std::collections::BTreeMap;
use std::sync::Arc;

use coordination::{GroupName, JobName, ServerIp};
use operations::{JobSnapshot, LiveNamespace};

use super::cx::Cx;
use super::history::{Past, RunsFilter};
use super::outcome::{self, Outcome};
use super::query::Address;
use super::shell::Body;
use super::{
    about, alerts, audit, doctor, groups, job, jobs, nodes, overview, running, servers, timeline,
};
use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// A page of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Overview,
    Jobs,
    Job(JobName, Tab),
    Outcome(Outcome),
    Running,
    Servers,
    Server(ServerIp),
    Groups,
    Group(GroupName),
    Timeline(timeline::Filter),
    Alerts,
    Doctor,
    Audit,
    Registry(Option<JobName>),
    About,
}

/// Tab of a job's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    Now,
    Runs,
    Schedule,
    Placement,
    Configuration,
    Verification,
    Backfills,
}

impl Tab {
    pub(crate) const ALL: [Self; 7] = [
        Self::Now,
        Self::Runs,
        Self::Schedule,
        Self::Placement,
        Self::Configuration,
        Self::Verification,
        Self::Backfills,
    ];

    /// Returns the last part of the address.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Now => "",
            Self::Runs => "runs",
            Self::Schedule => "schedule",
            Self::Placement => "placement",
            Self::Configuration => "configuration",
            Self::Verification => "verification",
            Self::Backfills => "backfills",
        }
    }
}

impl View {
    /// Returns the page at an address below `/n/{namespace}`.
    pub(crate) fn at(address: &Address) -> Answer<Self> {
        let job = |name: &str| JobName::new(name).map_err(operations::Error::from);
        let tab = |word: &str| Tab::ALL.into_iter().find(|tab| tab.path() == word);
        let segments = address.segments();
        let rest = segments.get(2..).unwrap_or_default();
        address.at_least("page", 1)?;
        Ok(match rest {
            [] => Self::Overview,
            ["jobs"] => {
                jobs::check(address)?;
                Self::Jobs
            }
            ["jobs", name] => {
                RunsFilter::of(address)?;
                Self::Job(job(name)?, Tab::Now)
            }
            ["jobs", name, word] if let Some(tab) = tab(word) => {
                if tab == Tab::Runs {
                    RunsFilter::of(address)?;
                }
                Self::Job(job(name)?, tab)
            }
            ["outcome"] => Self::Outcome(Outcome::of(address)?),
            ["running"] => Self::Running,
            ["servers"] => Self::Servers,
            ["servers", ip] => Self::Server(ServerIp::new(ip).map_err(operations::Error::from)?),
            ["groups"] => Self::Groups,
            ["groups", name] => Self::Group(GroupName::new(name).map_err(operations::Error::from)?),
            ["timeline"] => Self::Timeline(timeline::Filter::of(address)?),
            ["alerts"] => Self::Alerts,
            ["doctor"] => Self::Doctor,
            ["audit"] => Self::Audit,
            ["registry"] => Self::Registry(None),
            ["registry", name] => Self::Registry(Some(job(name)?)),
            ["about"] => Self::About,
            _ => {
                let detail = format!("/{} is no address of this console", address.text());
                return Err(Problem::not_found("no-such-address", detail));
            }
        })
    }

    /// Returns true if the stream of the page asks the history. A verification is made once: it is
    /// expensive, and its period does not change.
    pub(crate) fn follows_history(&self) -> bool {
        !matches!(self, Self::Job(_, Tab::Verification))
    }

    /// Returns the job that the page is about.
    pub(crate) fn job(&self) -> Option<&JobName> {
        match self {
            Self::Job(job, _) | Self::Registry(Some(job)) => Some(job),
            Self::Overview
            | Self::Jobs
            | Self::Outcome(_)
            | Self::Running
            | Self::Servers
            | Self::Server(_)
            | Self::Groups
            | Self::Group(_)
            | Self::Timeline(_)
            | Self::Alerts
            | Self::Doctor
            | Self::Audit
            | Self::Registry(None)
            | Self::About => None,
        }
    }

    /// Returns the snapshots that the page shows, beyond the summaries.
    pub(crate) fn snapshots(&self, namespace: &Namespace) -> Answer<Snapshots> {
        if let Some(job) = self.job() {
            // Leftovers without a configuration are no job, but have nodes.
            let job = if let Self::Registry(_) = self {
                namespace.nodes(job)?
            } else {
                namespace.job(job)?
            };
            return Ok(Snapshots(BTreeMap::from([(job.job().clone(), job)])));
        }
        let live = &namespace.live;
        let all = match self {
            Self::Outcome(_) | Self::Timeline(_) | Self::Audit => live.jobs(),
            Self::Server(ip) => jobs_of(live, ip),
            Self::Overview
            | Self::Jobs
            | Self::Job(..)
            | Self::Running
            | Self::Servers
            | Self::Groups
            | Self::Group(_)
            | Self::Alerts
            | Self::Doctor
            | Self::Registry(_)
            | Self::About => Vec::new(),
        };
        Ok(Snapshots(all.into_iter().map(|job| (job.job().clone(), job)).collect()))
    }

    /// Renders the page.
    pub(crate) fn body(&self, cx: &Cx<'_>, jobs: &Snapshots, past: &Past) -> Answer<Body> {
        match self {
            Self::Overview => Ok(overview::page(cx, past)),
            Self::Jobs => Ok(jobs::page(cx, past)),
            Self::Job(name, tab) => job::page(cx, jobs.one(name)?, *tab, past),
            Self::Outcome(outcome) => Ok(outcome::page(cx, jobs, outcome)),
            Self::Running => Ok(running::page(cx)),
            Self::Servers => Ok(servers::page(cx)),
            Self::Server(ip) => servers::server_page(cx, jobs, ip),
            Self::Groups => Ok(groups::page(cx)),
            Self::Group(name) => groups::group_page(cx, name),
            Self::Timeline(filter) => Ok(timeline::page(cx, jobs, past, filter)),
            Self::Alerts => Ok(alerts::page(cx)),
            Self::Doctor => Ok(doctor::page(cx)),
            Self::Audit => Ok(audit::page(cx, jobs, past)),
            Self::Registry(None) => Ok(nodes::list(cx)),
            Self::Registry(Some(name)) => Ok(nodes::page(cx, jobs.one(name)?)),
            Self::About => Ok(about::page(cx)),
        }
    }
}

/// Returns the jobs that know a server.
fn jobs_of(live: &LiveNamespace, ip: &ServerIp) -> Vec<Arc<JobSnapshot>> {
    let servers = live.servers();
    let server = servers.iter().find(|server| server.server_ip == ip.as_str());
    let names = server.into_iter().flat_map(|server| &server.job_names);
    names.filter_map(|name| live.job(&JobName::new(name).ok()?)).collect()
}

/// Snapshots of jobs by name.
#[derive(Debug, Default)]
pub(crate) struct Snapshots(BTreeMap<JobName, Arc<JobSnapshot>>);

impl Snapshots {
    pub(crate) fn get(&self, job: &JobName) -> Option<&JobSnapshot> {
        self.0.get(job).map(|job| &**job)
    }

    fn one(&self, job: &JobName) -> Answer<&JobSnapshot> {
        self.get(job).ok_or_else(|| {
            Problem::not_found("no-such-job", format!("the namespace has no job {job}"))
        })
    }

    /// Returns the jobs that have a configuration.
    pub(crate) fn configured(&self) -> impl Iterator<Item = &JobSnapshot> {
        self.0.values().map(|job| &**job).filter(|job| job.has_config())
    }
}
