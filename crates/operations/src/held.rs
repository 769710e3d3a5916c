//! Paused and disabled servers, with the last recorded change of each. Pure functions.

use coordination::{ServerIp, ServerState, server_of};
use jiff::Timestamp;

use crate::JobSnapshot;

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

    /// Returns true if no server is enabled and at least one is paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.enabled.is_empty() && !self.paused.is_empty()
    }
}

/// Returns the state of a paused or disabled server, with the last recorded change of it.
pub(crate) fn held_back(job: &JobSnapshot, ip: &ServerIp) -> Option<String> {
    let target = format!("server {ip}");
    match job.view().server_state(ip) {
        Some(ServerState::Enabled) => None,
        Some(state) => {
            Some(format!("{target} is {state}{}", in_brackets(last_change(job, &target))))
        }
        None => Some(format!("{target} has no record")),
    }
}

fn in_brackets(text: Option<String>) -> String {
    text.map_or_else(String::new, |text| format!(" ({text})"))
}

/// Returns the last recorded change of a server or an item: action, author, time and reason.
pub(crate) fn last_change(job: &JobSnapshot, target: &str) -> Option<String> {
    let is_about = |targets: &str| targets.split(", ").any(|one| one == target);
    let last = job.audit().rev().find(|record| is_about(&record.target))?;
    Some(format!("{} by {} at {}: {}", last.act, last.who, moment(last.at_ms), last.why))
}

/// Returns a time in milliseconds since 1970 UTC as RFC 3339.
pub(crate) fn moment(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |time| time.to_string())
}
