//! Paused and disabled servers, with the recorded changes of each. Pure functions.

use coordination::{AuditRecord, ServerIp, ServerState, server_of};
use jiff::Timestamp;

use crate::{AuditTargets, JobSnapshot};

/// Servers with live instances, by their state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LiveServers {
    pub(crate) enabled: Vec<ServerIp>,
    pub(crate) paused: Vec<ServerIp>,
    /// Disabled, or without a record.
    pub(crate) disabled: Vec<ServerIp>,
}

impl LiveServers {
    pub(crate) fn of(job: &JobSnapshot) -> Self {
        let mut servers: Vec<ServerIp> = job.view().instances().filter_map(server_of).collect();
        servers.sort();
        servers.dedup();
        let mut all = Self::default();
        for ip in servers {
            match job.view().server_state(&ip) {
                Some(ServerState::Enabled) => all.enabled.push(ip),
                Some(ServerState::Paused) => all.paused.push(ip),
                Some(ServerState::Disabled) | None => all.disabled.push(ip),
            }
        }
        all
    }

    pub(crate) fn len(&self) -> usize {
        self.enabled.len() + self.paused.len() + self.disabled.len()
    }

    /// Returns the number of items that instances of paused servers own: these do not start.
    pub(crate) fn paused_items(&self, job: &JobSnapshot) -> usize {
        let paused = self.paused.iter().flat_map(|ip| job.instances_on(ip));
        paused.map(|id| job.tally().owned_by(id)).sum()
    }

    /// Returns true if no server is enabled and at least one is paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.enabled.is_empty() && !self.paused.is_empty()
    }
}

/// Returns the state of a paused or disabled server, with the last recorded change of it.
pub(crate) fn held_back(job: &JobSnapshot, ip: &ServerIp) -> Option<String> {
    let target = target_of(ip);
    match job.view().server_state(ip) {
        Some(ServerState::Enabled) => None,
        Some(state) => {
            let by = job.held_by(ip).map(described).or_else(|| last_change(job, &target));
            Some(format!("{target} is {state}{}", in_brackets(by)))
        }
        None => Some(format!("{target} has no record")),
    }
}

impl JobSnapshot {
    /// Returns the recorded change by which a server is paused or disabled. A pause that an
    /// enablement has put back is that of its own record.
    ///
    /// Returns `None` for an enabled server, and if no record shows the change: Java instances and
    /// other programs write none, only the last changes of a job are kept, and a later record of
    /// many servers may not name all of them.
    #[must_use]
    pub fn held_by(&self, ip: &ServerIp) -> Option<&AuditRecord> {
        let holds = Holds::of(self, ip);
        match self.view().server_state(ip)? {
            ServerState::Paused if holds.disablement.is_none() => holds.pause,
            ServerState::Disabled => holds.disablement,
            ServerState::Paused | ServerState::Enabled => None,
        }
    }

    /// Returns the recorded pause of a disabled server that its disablement has replaced: the state
    /// of a server is one value. Enabling the server puts this pause back.
    ///
    /// Returns `None` in the cases of [`held_by`](Self::held_by).
    #[must_use]
    pub fn replaced_pause(&self, ip: &ServerIp) -> Option<&AuditRecord> {
        let holds = Holds::of(self, ip);
        let is_disabled = self.view().server_state(ip) == Some(ServerState::Disabled);
        holds.pause.filter(|_| is_disabled && holds.disablement.is_some())
    }
}

/// Audited operations by which a server is held back, and the one that ends it.
const PAUSE: &str = "pause";
const DISABLE: &str = "disable";
/// A disablement that is the start of a drain.
pub(crate) const DRAIN: &str = "drain";
const ENABLE: &str = "enable";

/// Recorded changes that hold a server back.
#[derive(Clone, Copy, Debug, Default)]
struct Holds<'a> {
    /// The pause in force, or the one that the disablement has replaced.
    pause: Option<&'a AuditRecord>,
    disablement: Option<&'a AuditRecord>,
}

impl<'a> Holds<'a> {
    fn of(job: &'a JobSnapshot, ip: &ServerIp) -> Self {
        let mut changes: Vec<_> = changes_of(job, &target_of(ip)).collect();
        changes.reverse();
        changes.into_iter().fold(Self::default(), Self::after)
    }

    fn after(self, change: &'a AuditRecord) -> Self {
        match change.act.as_str() {
            PAUSE => Self { pause: Some(change), disablement: None },
            DISABLE | DRAIN => Self {
                // A disabled server is not disabled again. So after an earlier disablement, another
                // program has enabled it, which ended the pause.
                pause: self.pause.filter(|_| self.disablement.is_none()),
                disablement: Some(change),
            },
            // It puts the replaced pause back. Enabling a paused server ends the pause.
            ENABLE if self.disablement.is_some() => Self { disablement: None, ..self },
            _ => Self::default(),
        }
    }
}

fn target_of(ip: &ServerIp) -> String {
    format!("server {ip}")
}

/// Returns the recorded changes of a server or an item, the latest first.
fn changes_of<'a>(
    job: &'a JobSnapshot,
    target: &str,
) -> impl Iterator<Item = &'a AuditRecord> + use<'a> {
    let target = target.to_owned();
    let found = job.audit().rev().map_while(move |record| {
        let targets = AuditTargets::of(&record.target);
        // Which of the earlier changes is still in force is not known then.
        (!targets.may_lack(&target)).then(|| targets.has(&target).then_some(record))
    });
    found.flatten()
}

fn in_brackets(text: Option<String>) -> String {
    text.map_or_else(String::new, |text| format!(" ({text})"))
}

/// Returns the last recorded change of a server or an item: action, author, time and reason.
pub(crate) fn last_change(job: &JobSnapshot, target: &str) -> Option<String> {
    changes_of(job, target).next().map(described)
}

/// Returns a recorded change in one line: action, author, time and reason.
pub(crate) fn described(record: &AuditRecord) -> String {
    format!("{} by {} at {}: {}", record.act, record.who, moment(record.at_ms), record.why)
}

/// Returns a time in milliseconds since 1970 UTC as RFC 3339.
pub(crate) fn moment(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |time| time.to_string())
}
