//! Expiry: the leader removes servers that have had no instance for the job's time to live.
//!
//! A removal takes nothing back that an instance or an operator wants: see [`may_expire`], and the
//! guards of [`plan`]. `docs/adr/0026-servers-expire.md` has the alternatives.

use std::collections::BTreeMap;
use std::time::Duration;

use reg_center::Version;

use super::Context;
use crate::plan::{Plan, Step};
use crate::view::JobView;
use crate::{AuditRecord, Duty, JobConfig, ServerIp, ServerState, ServerTtl, server_of};

/// Divisor of the time to live: servers without instances are looked for at this part of it.
const CHECKS_PER_TTL: u32 = 16;

/// Servers that this process has seen without an instance, on its monotonic clock.
///
/// Each instance observes by itself, so that a new leader need not begin anew. A process knows
/// nothing about the time before it started, so that a server expires late rather than early.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IdleServers {
    since: BTreeMap<ServerIp, Duration>,
    next_check: Option<Duration>,
    /// True if an instance has gone after the last look, so that its server may be idle.
    has_gone: bool,
}

impl IdleServers {
    /// Records that the server has, or had, an instance.
    pub(crate) fn seen(&mut self, ip: &ServerIp) {
        self.since.remove(ip);
    }

    /// Records that an instance of the server has gone.
    pub(crate) fn gone(&mut self, ip: &ServerIp) {
        self.seen(ip);
        self.has_gone = true;
    }

    /// Looks for servers without instances, a few times within the time to live: at each call this
    /// would cost more than all other observations of a large job.
    pub(crate) fn observe(&mut self, view: &JobView, now: Duration) {
        let Some(ttl) = view.config().and_then(|config| config.server_ttl.time()) else {
            *self = Self::default();
            return;
        };
        let interval = ttl / CHECKS_PER_TTL;
        // A shorter time to live takes effect at once.
        let next = self.next_check.map(|next| next.min(now + interval));
        self.next_check = next;
        if next.is_some_and(|next| now < next) {
            return;
        }
        self.next_check = Some(now + interval);
        self.has_gone = false;
        let mut idle: BTreeMap<&ServerIp, Duration> =
            view.servers().map(|(ip, _)| (ip, now)).collect();
        for ip in view.instances().filter_map(server_of) {
            idle.remove(&ip);
        }
        let since = |(ip, now): (&ServerIp, Duration)| {
            (ip.clone(), self.since.get(ip).copied().unwrap_or(now))
        };
        self.since = idle.into_iter().map(since).collect();
    }

    /// Returns the time of the next look, on the monotonic clock, if a server may expire.
    pub(crate) fn next_wake(&self) -> Option<Duration> {
        self.next_check.filter(|_| self.has_gone || !self.since.is_empty())
    }

    /// Returns the servers that have had no instance for `ttl`.
    fn expired(&self, ttl: Duration, now: Duration) -> impl Iterator<Item = &ServerIp> {
        let is_over = move |since: &Duration| now.saturating_sub(*since) >= ttl;
        self.since.iter().filter(move |(_, since)| is_over(since)).map(|(ip, _)| ip)
    }
}

/// Returns true if the job's configuration lets a server of this state expire.
///
/// Unless the configuration includes all servers, one expires only if an instance that comes back
/// creates it in the same state: otherwise the expiry would undo an operator action.
fn may_expire(config: &JobConfig, state: ServerState) -> bool {
    match config.server_ttl {
        ServerTtl::Off => false,
        ServerTtl::Enabled(_) => state == ServerState::Enabled && !config.disabled,
        ServerTtl::All(_) => true,
    }
}

/// Removes expired servers, and records the removal for the audit.
///
/// A registration raises the counter of resharding requests, and an operator's change the version
/// of the server: a server that comes back meanwhile makes the transaction conflict.
pub(super) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let plan = Plan::as_leader(Duty::Cleanup, cx, "servers without instances have expired")?;
    let config = cx.view.config_in_force().filter(|_| cx.view.has_usable_config())?;
    // Java instances raise no counter when they register, so that none may come: ADR 26.
    if config.value.java.given_class().is_some() {
        return None;
    }
    let mut expired: Vec<_> = cx
        .idle_servers
        .expired(config.value.server_ttl.time()?, cx.now.mono)
        .filter_map(|ip| Some((ip, cx.view.server_state(ip)?, cx.view.server_version(ip)?)))
        .filter(|(ip, state, _)| may_expire(&config.value, *state) && !cx.view.has_instance_on(ip))
        .collect();
    // The record of a plan has one action. The other servers follow in the next plan.
    let is_enabled = |state| state == ServerState::Enabled;
    let act = if expired.iter().any(|(_, state, _)| is_enabled(*state)) {
        expired.retain(|(_, state, _)| is_enabled(*state));
        AuditRecord::EXPIRED
    } else {
        AuditRecord::EXPIRED_HELD_BACK
    };
    // A list that is cut would leave open which earlier changes of a server are in force.
    let targets: Vec<String> = expired.iter().map(|(ip, ..)| format!("server {ip}")).collect();
    let listed = AuditRecord::n_listed(targets.iter().map(String::as_str));
    expired.truncate(listed.min(cx.settings.items_per_plan));
    if expired.is_empty() {
        return None;
    }
    let (audit, mut log) = cx.view.audit()?;
    log.push(record(cx, config.value.server_ttl, audit, act, &targets[..expired.len()]));
    let remove = |(ip, _, version): (&ServerIp, _, _)| Step::remove_server(ip.clone(), version);
    let plan = plan
        .step(Step::config_unchanged(config.version))
        .step(Step::no_new_resharding_request(cx.view.resharding_requests()?))
        .steps(expired.into_iter().map(remove))
        .step(Step::set_audit(audit, log));
    Some(plan)
}

fn record(
    cx: &Context<'_>,
    ttl: ServerTtl,
    audit: Option<Version>,
    act: &str,
    targets: &[String],
) -> AuditRecord {
    // No other entry has the id: incarnations have unique ids, and each entry raises the version.
    let n = audit.map_or(0, |version| version.0 + 1);
    AuditRecord {
        id: format!("expired-{}-{n}", cx.me),
        at_ms: cx.present_ms(),
        who: cx.me.to_string(),
        why: format!("no instance for server_ttl = {ttl}"),
        act: act.to_owned(),
        target: AuditRecord::list(targets.iter().map(String::as_str)),
        what: "removed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, id, ip};
    use super::*;
    use crate::Dialect;
    use crate::wire::NodeKind;

    const TTL: Duration = Duration::from_secs(86_400);
    const EXPIRED: &str = "cleanup: servers without instances have expired\n  delete \
                           servers/10.0.0.9\n  create coordination/audit: expired server 10.0.0.9";

    /// Instance 1 leads, and server 9 has had no instance for the time to live.
    fn idle(state: &str) -> Scene {
        Scene::cluster(2, 1).server(9, state).passes(TTL)
    }

    #[test]
    fn server_without_instance_expires_after_ttl() {
        let all = |config: &mut JobConfig| config.server_ttl = ServerTtl::All(86_400);
        let off = |config: &mut JobConfig| config.server_ttl = ServerTtl::Off;
        let held_back = EXPIRED.replace("audit: expired", "audit: expired while held back");
        let rows = vec![
            ("the time to live is over", idle(""), EXPIRED),
            (
                "the time to live is not over",
                Scene::cluster(2, 1).server(9, "").passes(TTL - Duration::from_secs(1)),
                "nothing",
            ),
            ("no server expires", idle("").configure(off), "nothing"),
            ("another instance leads", idle("").member(2).led_by(2), "nothing"),
            ("the server is disabled", idle("DISABLED"), "nothing"),
            ("the server is paused", idle("PAUSED"), "nothing"),
            (
                "servers of the job start disabled",
                idle("").configure(|config| config.disabled = true),
                "nothing",
            ),
            ("disabled servers expire, too", idle("DISABLED").configure(all), &*held_back),
            ("the configuration is unusable", idle("").broken_config(), "nothing"),
        ];
        check(Duty::Cleanup, rows);
    }

    #[test]
    fn server_of_job_with_java_stays() {
        let with_class = |config: &mut JobConfig| config.java.job_class = "a.b.C".to_owned();
        let v3 = Scene::cluster_in(Dialect::V3, 2, 1).server(9, "ENABLED").passes(TTL);
        let rows = vec![
            ("a Java instance takes part", idle("").java(5), "nothing"),
            ("the configuration has a Java class", idle("").configure(with_class), "nothing"),
            ("3.x", v3, "nothing"),
        ];
        check(Duty::Cleanup, rows);
    }

    #[test]
    fn ttl_begins_when_last_instance_has_gone() {
        let mut scene = Scene::cluster(2, 1).member(9).passes(TTL).gone(9);
        scene.idle_servers.seen(&ip(9));
        assert_eq!(scene.wants(Duty::Cleanup), "nothing");
        let scene = scene.passes(TTL - Duration::from_secs(1));
        assert_eq!(scene.wants(Duty::Cleanup), "nothing");
        assert_eq!(scene.passes(TTL).wants(Duty::Cleanup), EXPIRED);
    }

    /// An instance came and went between two looks.
    #[test]
    fn ttl_begins_anew_with_each_instance() {
        let mut scene = Scene::cluster(2, 1).server(9, "").passes(TTL - Duration::from_secs(1));
        scene.idle_servers.seen(&ip(9));
        let scene = scene.passes(Duration::from_secs(1));
        assert_eq!(scene.wants(Duty::Cleanup), "nothing");
    }

    #[test]
    fn expiry_conflicts_when_server_comes_back() {
        let scene = || idle("");
        let plan = scene().plan(Duty::Cleanup).unwrap();
        assert!(scene().would_commit(&plan), "{plan}");
        let rows = [
            // A registration raises the counter in its transaction.
            ("an instance registers", scene().member(2).requested()),
            ("an operator disables the server", scene().server(9, "DISABLED")),
            ("an operator changes the configuration", scene().configure(|c| c.disabled = true)),
            ("another instance is elected", scene().led_by(2)),
            ("the first change is audited", scene().marked(&NodeKind::Audit)),
        ];
        for (case, changed) in rows {
            assert!(!changed.would_commit(&plan), "{case}: {plan}");
        }
    }

    /// The entry of the other change would be lost.
    #[test]
    fn expiry_conflicts_when_another_change_is_audited() {
        // The first look after its creation sees the server; it expires at the second.
        let audited = || idle("").commit_once(Duty::Cleanup).server(8, "").passes(TTL).passes(TTL);
        let plan = audited().plan(Duty::Cleanup).unwrap();
        assert!(audited().would_commit(&plan), "{plan}");
        assert!(!audited().marked(&NodeKind::Audit).would_commit(&plan), "{plan}");
    }

    #[test]
    fn registered_instance_keeps_its_server() {
        let scene = idle("").member(9);
        assert_eq!(scene.wants(Duty::Cleanup), "nothing");
    }

    #[test]
    fn expiry_is_recorded_with_its_reason() {
        let scene = idle("").commit_once(Duty::Cleanup);
        let (_, log) = scene.with_context(|cx| cx.view.audit()).unwrap();
        let record = log.records().next_back().unwrap();
        assert_eq!((&*record.act, &*record.target), ("expired", "server 10.0.0.9"));
        assert_eq!(record.who, id(1).to_string());
        assert_eq!(record.why, "no instance for server_ttl = 1d");
    }

    /// A later version of this project may have changed the format of the log.
    #[test]
    fn server_stays_while_removal_cannot_be_audited() {
        let newer = r#"[{"v":99}]"#;
        let scene = idle("").with_text(&NodeKind::Audit, newer);
        assert_eq!(scene.wants(Duty::Cleanup), "nothing");
    }

    #[test]
    fn one_transaction_removes_bounded_number_of_servers() {
        let servers = (100..=150).fold(Scene::cluster(2, 1), |scene, n| scene.server(n, ""));
        let plans = servers.passes(TTL).items_per_plan(20).settle(Duty::Cleanup);
        let deleted = |plan: &String| plan.matches("delete servers/").count();
        assert_eq!(plans.iter().map(deleted).collect::<Vec<_>>(), [20, 20, 11]);
    }

    /// A record whose list is cut hides all earlier changes of servers.
    #[test]
    fn records_of_expiries_name_all_their_servers() {
        let servers = (100..=150).fold(Scene::cluster(2, 1), |scene, n| scene.server(n, ""));
        let plans = servers.passes(TTL).items_per_plan(50).settle(Duty::Cleanup);
        assert_eq!(plans.len(), 2, "{plans:?}");
        for n in 100..=150 {
            let named = format!("server 10.0.0.{n}");
            assert!(plans.iter().any(|plan| plan.contains(&named)), "{named}: {plans:?}");
        }
        assert!(!plans.iter().any(|plan| plan.contains(AuditRecord::CUT)), "{plans:?}");
    }

    #[test]
    fn paused_and_enabled_servers_expire_in_records_of_their_own() {
        let all = |config: &mut JobConfig| config.server_ttl = ServerTtl::All(86_400);
        let servers = Scene::cluster(2, 1).server(8, "PAUSED").server(9, "").configure(all);
        let plans = servers.passes(TTL).settle(Duty::Cleanup);
        let has = |text| plans.iter().filter(|plan| plan.contains(text)).count();
        let records =
            ["audit: expired server 10.0.0.9", "audit: expired while held back server 10.0.0.8"];
        assert_eq!(records.map(has), [1, 1], "{plans:?}");
    }

    #[test]
    fn looks_are_as_rare_as_ttl_permits() {
        let mut scene = Scene::cluster(2, 1).server(9, "").passes(Duration::ZERO);
        let looked = scene.idle_servers.clone();
        scene = scene.passes(TTL / CHECKS_PER_TTL - Duration::from_secs(1)).server(8, "");
        assert_eq!(scene.idle_servers, looked);
        assert_eq!(looked.next_wake(), Some(Duration::from_secs(1) + TTL / CHECKS_PER_TTL));
    }
}
