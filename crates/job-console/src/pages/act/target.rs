//! Operations and their targets, as the address of a page names them.

use std::collections::BTreeSet;
use std::sync::Arc;

use coordination::{FireTime, JobName, ServerIp};
use operations::{Change, JobSnapshot, RunsToCancel, Scope};
use sharding::{InstanceId, ShardingItem};

use crate::namespaces::Namespace;
use crate::pages::query::{Address, encoded};
use crate::pages::timeline::time;
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
        match subject {
            Subject::Job => true,
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
        let whole = (!self.needs_server()).then_some("the whole job");
        let own = whole.into_iter().chain(Limit::ALL.into_iter().filter(accepts).map(Limit::words));
        let valid = Self::ALL.into_iter().filter(|one| wrong.is_for(*one)).map(Self::word);
        let (own, valid) = (own.collect::<Vec<_>>(), valid.collect::<Vec<_>>());
        Err(Problem::invalid(format!(
            "{name} is given; {word} is about {}, and only {} {} {}",
            listed(&own, "or"),
            listed(&valid, "and"),
            if valid.len() == 1 { "accepts" } else { "accept" },
            wrong.words()
        )))
    }

    /// Returns true if the operation on a job is about one of its servers.
    fn needs_server(self) -> bool {
        self == Self::Drain
    }
}

/// Parameter of the address that limits an operation on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Server,
    Item,
    Fire,
    Instance,
}

impl Limit {
    const ALL: [Self; 4] = [Self::Server, Self::Item, Self::Fire, Self::Instance];

    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Item => "item",
            Self::Fire => "fire",
            Self::Instance => "instance",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Server => "a server",
            Self::Item => "an item",
            Self::Fire => "a fire",
            Self::Instance => "an instance",
        }
    }

    fn is_for(self, operation: Operation) -> bool {
        match self {
            Self::Server => operation.is_for(Subject::Job) && operation.is_for(Subject::Server),
            Self::Fire => operation == Operation::Cancel,
            Self::Instance => operation == Operation::ShutDown,
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
    pub(super) fire: Option<FireTime>,
    pub(super) instance: Option<InstanceId>,
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
            let (job, item, fire, instance) = (None, None, None, None);
            return Ok(Self { operation, job, server, item, fire, instance });
        }
        let job = Some(JobName::new(name).map_err(operations::Error::from)?);
        let server = address.value("server").map(ip).transpose()?;
        let item = address.value("item").map(item).transpose()?;
        let fire = time(address, "fire")?.map(|time| FireTime(time.as_millisecond()));
        let instance = address.value("instance").map(InstanceId::new);
        let given = Limit::ALL.into_iter().map(Limit::name).filter(|name| address.has(name));
        if let [first, second, ..] = given.collect::<Vec<_>>().as_slice() {
            let detail = format!("{first} and {second} are both given; valid is one of them");
            return Err(Problem::invalid(detail));
        }
        if operation.needs_server() && server.is_none() {
            let detail = format!(
                "server is missing; valid is the address of a server of the job to {}",
                operation.word()
            );
            return Err(Problem::invalid(detail));
        }
        Ok(Self { operation, job, server, item, fire, instance })
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
            // The page of the server shows the progress of a drain.
            (Some(_), Some(server), _) if self.operation == Operation::Drain => {
                format!("servers/{}", encoded(server.as_str()))
            }
            (Some(job), _, None) if self.instance.is_some() => {
                format!("jobs/{}/placement", encoded(job.as_str()))
            }
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
            (Operation::Cancel, None) => Change::Cancel(match self.fire {
                Some(fire) => RunsToCancel::OfFire(fire),
                None => RunsToCancel::All,
            }),
            (Operation::Pause, _) => Change::Pause(scope()?),
            (Operation::Resume, _) => Change::Resume(scope()?),
            (Operation::Disable, Some(items)) => Change::DisableItems(items),
            (Operation::Enable, Some(items)) => Change::EnableItems(items),
            // The effects of a drain are those of this change.
            (Operation::Disable | Operation::Drain, _) => Change::Disable(scope()?),
            (Operation::Enable, None) => Change::Enable(scope()?),
            (Operation::ShutDown, _) => match &self.instance {
                Some(instance) => Change::ShutDownInstance(instance.clone()),
                None => Change::ShutDown(scope()?),
            },
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

/// Returns words as a list whose last one follows a conjunction.
fn listed(words: &[&str], conjunction: &str) -> String {
    match words.split_last() {
        Some((last, first)) if !first.is_empty() => {
            format!("{} {conjunction} {last}", first.join(", "))
        }
        Some((last, _)) => (*last).to_owned(),
        None => String::new(),
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
        let one = target("/n/a/jobs/report/act/shut-down?instance=10.0.0.7%40-%407").unwrap();
        let instance = InstanceId::new("10.0.0.7@-@7");
        assert_eq!(one.change(), Some(Change::ShutDownInstance(instance)));
        assert_eq!(one.page(), "jobs/report/placement");
        let fire = target("/n/a/jobs/report/act/cancel?fire=2024-02-29T12%3A00%3A00.001Z").unwrap();
        let noon = FireTime(1_709_208_000_001);
        assert_eq!(fire.change(), Some(Change::Cancel(RunsToCancel::OfFire(noon))));
        assert_eq!(fire.page(), "jobs/report");
        let drain = target("/n/a/jobs/report/act/drain?server=10.0.0.7").unwrap();
        assert!(matches!(drain.change(), Some(Change::Disable(scope))
            if scope.job().is_some() && scope.server().is_some()));
        assert_eq!(drain.page(), "servers/10.0.0.7");
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
                "item is given; shut-down is about the whole job, a server or an instance, and \
                 only run, cancel, disable and enable accept an item",
            ),
            (
                "/n/a/jobs/report/act/rerun?item=3",
                "item is given; rerun is about the whole job, and only run, cancel, disable and \
                 enable accept an item",
            ),
            (
                "/n/a/jobs/report/act/run?server=10.0.0.7",
                "server is given; run is about the whole job or an item, and only pause, resume, \
                 disable, enable, drain, shut-down and remove accept a server",
            ),
            (
                "/n/a/jobs/report/act/drain",
                "server is missing; valid is the address of a server of the job to drain",
            ),
            (
                "/n/a/jobs/report/act/drain?item=3",
                "item is given; drain is about a server, and only run, cancel, disable and enable \
                 accept an item",
            ),
            (
                "/n/a/jobs/report/act/pause?instance=10.0.0.7@-@7",
                "instance is given; pause is about the whole job or a server, and only shut-down \
                 accepts an instance",
            ),
            (
                "/n/a/jobs/report/act/shut-down?server=10.0.0.7&instance=10.0.0.7@-@7",
                "server and instance are both given; valid is one of them",
            ),
            (
                "/n/a/jobs/report/act/cancel?fire=noon",
                r#"fire is "noon"; valid is a UTC time such as 2024-02-29T12:00"#,
            ),
            (
                "/n/a/jobs/report/act/cancel?item=3&fire=2024-02-29T12:00:00Z",
                "item and fire are both given; valid is one of them",
            ),
            (
                "/n/a/jobs/report/act/run?fire=2024-02-29T12:00:00Z",
                "fire is given; run is about the whole job or an item, and only cancel accepts a \
                 fire",
            ),
            (
                "/n/a/jobs/report/act/cancel?server=10.0.0.7",
                "server is given; cancel is about the whole job, an item or a fire, and only \
                 pause, resume, disable, enable, drain, shut-down and remove accept a server",
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
