//! Parses the paths of a job's nodes.
//!
//! The crate has its own table of nodes, so that a mistake in the product's table is noticed.

use crate::names::{Name, Names};
use crate::slot::{self, Slot};

/// A node of a job, by its purpose. Parents and nodes that are not judged are `Other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Config,
    Instance(Name),
    Server(Name),
    Leader,
    Queued(Slot),
    Owner(u32),
    Running(Slot),
    Misfire(u32),
    Failover(Slot),
    ItemDisabled(u32),
    /// A node that items alone have, of a further slot.
    Misplaced(Slot),
    Ledger(Slot),
    Progress(Slot),
    Term,
    Request,
    Assignment,
    Backfills,
    Draining(Name),
    /// A permit of a run.
    Permit(u32),
    /// The last starts of a job with a start rate.
    Starts,
    /// The stable name of an instance.
    Named(Name),
    Other,
}

/// The node of all groups of jobs, which is no job.
const GROUPS: &str = "job@-@groups";

/// A node of a group, by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind<'a> {
    Limits,
    /// A permit of a run.
    Permit(u32),
    /// The last starts of the group.
    Starts,
    /// The place of a job in the line of waiting jobs.
    Place(&'a str),
}

/// Splits the path of a judged node of a group into the name of the group and the kind of node.
pub(crate) fn parse_group(path: &str) -> Option<(&str, GroupKind<'_>)> {
    let (group, node) =
        path.strip_prefix('/')?.strip_prefix(GROUPS)?.strip_prefix('/')?.split_once('/')?;
    let kind = match node.split_once('/') {
        None if node == "limits" => GroupKind::Limits,
        None if node == "starts" => GroupKind::Starts,
        Some(("permits", number)) => GroupKind::Permit(number.parse().ok()?),
        Some(("waiting", job)) => GroupKind::Place(job),
        None | Some(_) => return None,
    };
    Some((group, kind))
}

/// Splits `/job/rest` into the job and the kind of node.
pub(crate) fn parse<'a>(path: &'a str, names: &mut Names) -> Option<(&'a str, Kind)> {
    let (job, rest) = path.strip_prefix('/')?.split_once('/')?;
    if job == GROUPS {
        return None;
    }
    let mut parts = rest.split('/');
    let mut next = || parts.next().unwrap_or_default();
    let (first, second, third, fourth, more) = (next(), next(), next(), next(), next());
    if !more.is_empty() {
        return Some((job, Kind::Other));
    }
    let kind = match (first, second, third, fourth) {
        ("config", "", "", "") => Kind::Config,
        ("instances", id, "", "") if !id.is_empty() => Kind::Instance(names.of(id)),
        ("servers", ip, "", "") if !ip.is_empty() => Kind::Server(names.of(ip)),
        ("leader", "election", "instance", "") => Kind::Leader,
        ("leader", "failover", "items", i) => of_slot(i, Kind::Queued),
        ("sharding", i, "instance", "") => of_item(i, Kind::Owner),
        ("sharding", i, "running", "") => of_slot(i, Kind::Running),
        ("sharding", i, "misfire", "") => of_item(i, Kind::Misfire),
        ("sharding", i, "failover", "") => of_slot(i, Kind::Failover),
        ("sharding", i, "disabled", "") => of_item(i, Kind::ItemDisabled),
        ("ledger", i, "", "") => of_slot(i, Kind::Ledger),
        ("coordination", "progress", i, "") => of_slot(i, Kind::Progress),
        ("coordination", "term", "", "") => Kind::Term,
        ("coordination", "request", "", "") => Kind::Request,
        ("coordination", "assignment", "", "") => Kind::Assignment,
        ("coordination", "backfills", "", "") => Kind::Backfills,
        ("coordination", "draining", id, "") if !id.is_empty() => Kind::Draining(names.of(id)),
        ("coordination", "permits", n, "") => slot::number(n).map_or(Kind::Other, Kind::Permit),
        ("coordination", "starts", "", "") => Kind::Starts,
        ("coordination", "names", id, "") if !id.is_empty() => Kind::Named(names.of(id)),
        _ => Kind::Other,
    };
    Some((job, kind))
}

/// Parses the name of a slot. Any other text gives `Other`.
fn of_slot(text: &str, kind: impl FnOnce(Slot) -> Kind) -> Kind {
    Slot::parse(text).map_or(Kind::Other, kind)
}

/// Parses the number of an item, for a node that further slots do not have.
fn of_item(text: &str, kind: fn(u32) -> Kind) -> Kind {
    of_slot(text, |slot| if slot.is_first() { kind(slot.item) } else { Kind::Misplaced(slot) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_give_job_and_kind() {
        let mut names = Names::default();
        let (id, ip) = (names.of("10.0.0.1@-@7-x"), names.of("10.0.0.1"));
        let further = Slot { item: 3, number: 1 };
        let rows = [
            ("/j/config", Some(("j", Kind::Config))),
            ("/j/instances/10.0.0.1@-@7-x", Some(("j", Kind::Instance(id)))),
            ("/j/servers/10.0.0.1", Some(("j", Kind::Server(ip)))),
            ("/j/leader/election/instance", Some(("j", Kind::Leader))),
            ("/j/leader/election/latch", Some(("j", Kind::Other))),
            ("/j/leader/failover/items/10", Some(("j", Kind::Queued(Slot::first(10))))),
            ("/j/sharding/0/instance", Some(("j", Kind::Owner(0)))),
            ("/j/sharding/00/instance", Some(("j", Kind::Other))),
            ("/j/sharding/+1/instance", Some(("j", Kind::Other))),
            ("/j/sharding/3", Some(("j", Kind::Other))),
            ("/报告/ledger/4294967295", Some(("报告", Kind::Ledger(Slot::first(u32::MAX))))),
            ("/j/ledger/4294967296", Some(("j", Kind::Other))),
            ("/j/coordination/progress/3", Some(("j", Kind::Progress(Slot::first(3))))),
            ("/j/ledger/3.1", Some(("j", Kind::Ledger(further)))),
            ("/j/ledger/3.16", Some(("j", Kind::Other))),
            ("/j/sharding/3.1/running", Some(("j", Kind::Running(further)))),
            ("/j/sharding/3.1/failover", Some(("j", Kind::Failover(further)))),
            ("/j/leader/failover/items/3.1", Some(("j", Kind::Queued(further)))),
            ("/j/coordination/progress/3.1", Some(("j", Kind::Progress(further)))),
            ("/j/sharding/3.1/instance", Some(("j", Kind::Misplaced(further)))),
            ("/j/coordination/permits/3.1", Some(("j", Kind::Other))),
            ("/j/ledger", Some(("j", Kind::Other))),
            ("/j/ledger/1/2/3/4/5/6", Some(("j", Kind::Other))),
            ("/j/coordination/draining/10.0.0.1@-@7-x", Some(("j", Kind::Draining(id)))),
            ("/j/coordination/permits/3", Some(("j", Kind::Permit(3)))),
            ("/j/coordination/starts", Some(("j", Kind::Starts))),
            ("/j/coordination/names/10.0.0.1@-@7-x", Some(("j", Kind::Named(id)))),
            ("/j/coordination/backfills", Some(("j", Kind::Backfills))),
            ("/job@-@groups/coordination/starts", None),
            ("/j", None),
            ("j/config", None),
            ("", None),
        ];
        for (path, expected) in rows {
            assert_eq!(parse(path, &mut names), expected, "{path}");
        }
        assert_eq!(names.server_of(id), Some(ip));
        assert_eq!(names.server_of(ip), None);
    }

    #[test]
    fn nodes_of_groups_are_parsed() {
        let rows = [
            ("/job@-@groups/db/limits", Some(("db", GroupKind::Limits))),
            ("/job@-@groups/db/permits/3", Some(("db", GroupKind::Permit(3)))),
            ("/job@-@groups/db/starts", Some(("db", GroupKind::Starts))),
            ("/job@-@groups/db/waiting/report", Some(("db", GroupKind::Place("report")))),
            ("/job@-@groups/db/audit", None),
            ("/job@-@groups/db", None),
            ("/j/coordination/starts", None),
        ];
        for (path, expected) in rows {
            assert_eq!(parse_group(path), expected, "{path}");
        }
    }
}
