//! Operations and their targets, as the address of a page names them.

use std::collections::BTreeSet;
use std::sync::Arc;

use coordination::{JobName, ServerIp};
use operations::{Change, JobSnapshot, RunsToCancel, Scope};
use sharding::ShardingItem;

use crate::namespaces::Namespace;
use crate::pages::query::{Address, encoded};
use crate::problem::{Answer, Problem};

/// An operation on a job or on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Run,
    Rerun,
    Cancel,
    Pause,
    Resume,
    Disable,
    Enable,
    Drain,
    ShutDown,
    Remove,
}

/// Kind of the object that an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Job,
    Server,
}

impl Subject {
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Job => "/n/{namespace}/jobs/{job}",
            Self::Server => "/n/{namespace}/servers/{server}",
        }
    }
}

impl Operation {
    pub(super) const ALL: [Self; 10] = [
        Self::Run,
        Self::Rerun,
        Self::Cancel,
        Self::Pause,
        Self::Resume,
        Self::Disable,
        Self::Enable,
        Self::Drain,
        Self::ShutDown,
        Self::Remove,
    ];

    /// Returns the last part of the address.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Rerun => "rerun",
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Disable => "disable",
            Self::Enable => "enable",
            Self::Drain => "drain",
            Self::ShutDown => "shut-down",
            Self::Remove => "remove",
        }
    }

    /// Returns true if the operation requests runs.
    pub(super) fn is_run(self) -> bool {
        matches!(self, Self::Run | Self::Rerun)
    }

    pub(super) fn is_for(self, subject: Subject) -> bool {
        let is_of_job = self.is_run() || self == Self::Cancel;
        let is_drain = self == Self::Drain;
        match subject {
            Subject::Job => !is_drain,
            Subject::Server => !is_of_job,
        }
    }

    /// Refuses a limit that the operation does not have: more would change than the address names.
    fn check_limits(self, subject: Subject, address: &Address) -> Answer<()> {
        let accepts = |limit: &Limit| subject == Subject::Job && limit.is_for(self);
        let mut given =
            Limit::ALL.into_iter().filter(|limit| address.value(limit.name()).is_some());
        let Some(wrong) = given.find(|limit| !accepts(limit)) else { return Ok(()) };
        let (name, word) = (wrong.name(), self.word());
        if subject == Subject::Server {
            let detail = format!("{name} is given; {word} is about the whole server");
            return Err(Problem::invalid(detail));
        }
        let own = Limit::ALL.into_iter().find(accepts);
        let own = own.map(|limit| format!(" or {}", limit.words())).unwrap_or_default();
        let valid = Self::ALL.into_iter().filter(|one| wrong.is_for(*one));
        let valid: Vec<&str> = valid.map(Self::word).collect();
        let (last, first) = valid.split_last().unwrap_or((&"none", &[]));
        Err(Problem::invalid(format!(
            "{name} is given; {word} is about the whole job{own}, and only {} and {last} accept {}",
            first.join(", "),
            wrong.words()
        )))
    }
}

/// Parameter of the address that limits an operation on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Server,
    Item,
}

impl Limit {
    const ALL: [Self; 2] = [Self::Server, Self::Item];

    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Item => "item",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Server => "a server",
            Self::Item => "an item",
        }
    }

    fn is_for(self, operation: Operation) -> bool {
        match self {
            Self::Server => operation.is_for(Subject::Job) && operation.is_for(Subject::Server),
            Self::Item => {
                matches!(
                    operation,
                    Operation::Run | Operation::Cancel | Operation::Disable | Operation::Enable
                )
            }
        }
    }
}

/// An operation with its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) operation: Operation,
    pub(super) job: Option<JobName>,
    pub(super) server: Option<ServerIp>,
    pub(super) item: Option<ShardingItem>,
}

impl Target {
    /// Returns the operation that an address names.
    pub(super) fn of(address: &Address) -> Answer<Self> {
        let segments = address.segments();
        let (kind, name, word) = match segments.as_slice() {
            ["n", _, kind, name, "act", word] => (*kind, *name, *word),
            _ => return Err(unknown(address)),
        };
        let operation = Operation::ALL.into_iter().find(|one| one.word() == word);
        let operation = operation.ok_or_else(|| unknown(address))?;
        let ip = |text: &str| ServerIp::new(text).map_err(operations::Error::from);
        let subject = if kind == "servers" { Subject::Server } else { Subject::Job };
        operation.check_limits(subject, address)?;
        if subject == Subject::Server {
            let server = Some(ip(name)?);
            return Ok(Self { operation, job: None, server, item: None });
        }
        let job = Some(JobName::new(name).map_err(operations::Error::from)?);
        let server = address.value("server").map(ip).transpose()?;
        let item = address.value("item").map(item).transpose()?;
        if server.is_some() && item.is_some() {
            return Err(Problem::invalid("server and item are both given; valid is one of them"));
        }
        Ok(Self { operation, job, server, item })
    }

    /// Returns what the operation is about, as a reader types it to confirm a removal.
    pub(super) fn name(&self) -> String {
        match (&self.job, &self.server) {
            (_, Some(server)) => server.to_string(),
            (Some(job), None) => job.to_string(),
            (None, None) => String::new(),
        }
    }

    /// Returns true if the operation removes the job itself.
    pub(super) fn removes_job(&self) -> bool {
        self.operation == Operation::Remove && self.server.is_none()
    }

    /// Returns the page to which the reader returns.
    pub(super) fn page(&self) -> String {
        match (&self.job, &self.server, self.item) {
            (Some(_), None, None) if self.removes_job() => "jobs".to_owned(),
            (Some(job), _, Some(item)) => format!("jobs/{}?item={item}", encoded(job.as_str())),
            (Some(job), _, None) => format!("jobs/{}", encoded(job.as_str())),
            (None, Some(_), _) if self.operation == Operation::Remove => "servers".to_owned(),
            (None, Some(server), _) => format!("servers/{}", encoded(server.as_str())),
            (None, None, _) => String::new(),
        }
    }

    /// Returns the page that follows the requested runs, by the id of the request.
    pub(super) fn page_of_request(&self, id: &str) -> String {
        let job = self.job.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("jobs/{}?request={}", encoded(&job), encoded(id))
    }

    /// Returns the change, unless the operation removes the job.
    pub(super) fn change(&self) -> Option<Change> {
        let scope = || Scope::new(self.job.clone(), self.server.clone()).ok();
        let items = self.item.map(|item| BTreeSet::from([item]));
        Some(match (self.operation, items) {
            (Operation::Run, items) => Change::Run(items),
            (Operation::Rerun, _) => Change::RerunFailed,
            (Operation::Cancel, Some(items)) => Change::Cancel(RunsToCancel::OfItems(items)),
            (Operation::Cancel, None) => Change::Cancel(RunsToCancel::All),
            (Operation::Pause, _) => Change::Pause(scope()?),
            (Operation::Resume, _) => Change::Resume(scope()?),
            (Operation::Disable, Some(items)) => Change::DisableItems(items),
            (Operation::Enable, Some(items)) => Change::EnableItems(items),
            // The effects of a drain are those of this change.
            (Operation::Disable | Operation::Drain, _) => Change::Disable(scope()?),
            (Operation::Enable, None) => Change::Enable(scope()?),
            (Operation::ShutDown, _) => Change::ShutDown(scope()?),
            (Operation::Remove, _) if self.removes_job() => return None,
            (Operation::Remove, _) => Change::RemoveServers(scope()?),
        })
    }

    /// Returns the snapshots that the change is about.
    pub(super) fn jobs(&self, namespace: &Namespace) -> Answer<Vec<Arc<JobSnapshot>>> {
        if let Some(job) = &self.job {
            return Ok(vec![namespace.job(job)?]);
        }
        let knows = |job: &JobSnapshot| {
            self.server.as_ref().is_some_and(|ip| job.view().server_state(ip).is_some())
        };
        let jobs = namespace.live.jobs().into_iter();
        Ok(jobs.filter(|job| job.has_config() && knows(job)).collect())
    }
}

fn item(text: &str) -> Answer<ShardingItem> {
    let number = text.parse().map_err(|_| {
        Problem::invalid(format!("item is {text:?}; valid is the number of an item, from 0"))
    })?;
    Ok(ShardingItem::new(number))
}

fn unknown(address: &Address) -> Problem {
    let detail = format!("/{} is no operation of this console", address.text());
    Problem::not_found("no-such-address", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(uri: &str) -> Answer<Target> {
        Target::of(&Address::of(&uri.parse().unwrap()))
    }

    #[test]
    fn address_names_the_operation_and_its_target() {
        let pause = target("/n/a/jobs/report/act/pause?server=10.0.0.7").unwrap();
        assert!(matches!(pause.change(), Some(Change::Pause(scope))
            if scope.job().is_some() && scope.server().is_some()));
        let disable = target("/n/a/jobs/report/act/disable?item=3").unwrap();
        let items = BTreeSet::from([ShardingItem::new(3)]);
        assert_eq!(disable.change(), Some(Change::DisableItems(items)));
        assert_eq!(disable.page(), "jobs/report?item=3");
        let remove = target("/n/a/jobs/report/act/remove").unwrap();
        assert!(remove.removes_job() && remove.change().is_none());
        let server = target("/n/a/servers/10.0.0.7/act/remove").unwrap();
        assert!(matches!(server.change(), Some(Change::RemoveServers(_))));
        assert_eq!(server.name(), "10.0.0.7");
    }

    #[test]
    fn wrong_targets_are_rejected_with_the_valid_values() {
        for (uri, expected) in [
            (
                "/n/a/jobs/report/act/fly",
                "/n/a/jobs/report/act/fly is no operation of this console",
            ),
            (
                "/n/a/jobs/report/act/run?item=x",
                r#"item is "x"; valid is the number of an item, from 0"#,
            ),
            (
                "/n/a/jobs/report/act/disable?item=1&server=10.0.0.7",
                "server and item are both given; valid is one of them",
            ),
            (
                "/n/a/jobs/report/act/shut-down?item=3",
                "item is given; shut-down is about the whole job or a server, and only run, \
                 cancel, disable and enable accept an item",
            ),
            (
                "/n/a/jobs/report/act/rerun?item=3",
                "item is given; rerun is about the whole job, and only run, cancel, disable and \
                 enable accept an item",
            ),
            (
                "/n/a/jobs/report/act/run?server=10.0.0.7",
                "server is given; run is about the whole job or an item, and only pause, resume, \
                 disable, enable, shut-down and remove accept a server",
            ),
            (
                "/n/a/servers/10.0.0.7/act/pause?item=3",
                "item is given; pause is about the whole server",
            ),
        ] {
            assert_eq!(target(uri).unwrap_err().detail, expected, "{uri}");
        }
    }
}
