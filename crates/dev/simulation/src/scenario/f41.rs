//! F41: servers lose their instances while the leader is killed, and one comes back.
//!
//! ```text
//! c        killed       returns  killed ................... expired   returns
//! d        disabled, leaves ................................................ stays disabled
//! leader                           killed, the next one goes on with its own observation
//!          |--- a part of the TTL ---|------- TTL -------|
//! ```

use std::time::Duration;

use checker::history::RegOp;
use lite::ServerTtl;

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, server_of, work};

const ITEMS: u32 = 4;
/// The shortest time to live of a server, in seconds.
const TTL_SECONDS: u32 = 60;
const TTL: Duration = Duration::from_secs(TTL_SECONDS as u64);
/// Time of the first absence of c: it must not count for the second.
const FIRST_ABSENCE: Duration = Duration::from_secs(15);

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F41",
    title: "servers without instances under a change of the leader",
    shows: "a server is removed once it has had no instance for its time to live, and one that is disabled stays",
    catches: "a time that goes on although an instance came back, or ends with the leader; a removal without its audit",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> StepResult {
    let expires = |config: &mut lite::JobConfig| {
        config.server_ttl = ServerTtl::Enabled(TTL_SECONDS);
    };
    stage.assemble_with(ITEMS, &["a", "b", "c", "d"], &work(0.3), expires).await?;
    stage.disable("d", true).await?;
    stage.until_shared(3).await?;
    stage.close("d").await?;

    stage.kill("c").await?;
    stage.until_shared(2).await?;
    stage.elapse(FIRST_ABSENCE).await;
    stage.spawn("c", &work(0.3)).await?;
    stage.until_shared(3).await?;
    stage.kill("c").await?;
    stage.until_shared(2).await?;

    let leader = stage.leader().await?;
    stage.kill(&leader).await?;
    stage.until_shared(1).await?;
    stage.spawn(&leader, &work(0.3)).await?;
    stage.until_shared(2).await?;

    let limit = limit(stage.sessions(1.25) + stage.period());
    stage.elapse(limit).await;
    stage.spawn("c", &work(0.3)).await?;
    stage.until_shared(3).await?;
    stage.heal_and_settle(0..ITEMS).await
}

/// Returns the time within which a server is removed, from the end of its last instance. Servers
/// are looked at sixteen times within the time to live: once to find that the instance is gone, and
/// once to find that the time is over.
fn limit(recovery: Duration) -> Duration {
    TTL + TTL / 8 + recovery
}

/// A write that removes a server.
struct Removal<'a> {
    mt: u64,
    sid: i64,
    path: &'a str,
    /// True if the same transaction adds an entry to the audit.
    is_audited: bool,
}

fn removals<'a>(seen: &Seen<'a>) -> Vec<Removal<'a>> {
    let removals = seen.transactions().flat_map(|(mt, _, sid, ops)| {
        let is_audit = |op: &RegOp| match op {
            RegOp::Create { path, data, .. } | RegOp::Set { path, data, .. } => {
                path.ends_with("/coordination/audit") && data.contains("\"expired\"")
            }
            RegOp::Delete { .. } | RegOp::Check { .. } => false,
        };
        let is_audited = ops.iter().any(is_audit);
        let removed = ops.iter().filter_map(|op| match op {
            RegOp::Delete { path } => Some(path.as_str()),
            RegOp::Create { .. } | RegOp::Set { .. } | RegOp::Check { .. } => None,
        });
        let servers = removed.filter(|path| path.contains("/servers/"));
        servers.map(move |path| Removal { mt, sid, path, is_audited }).collect::<Vec<_>>()
    });
    removals.collect()
}

/// Returns the end of the session in which c was killed last.
fn last_absence(seen: &Seen<'_>) -> Option<u64> {
    let killed = seen.hits("crash").filter(|hit| hit.target == "c").last()?;
    let session = seen.session_at("c", killed.mt)?;
    Some(seen.closed(session)?.0)
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let removals = removals(seen);
    let paths: Vec<_> = removals.iter().map(|removal| removal.path).collect();
    let server = |p: &str| format!("servers/{}", server_of(p));
    let is_c_alone = matches!(paths[..], [path] if path.ends_with(&server("c")));
    findings.expect(is_c_alone, || format!("servers {paths:?} were removed, not that of c once"));
    for removal in &removals {
        findings.expect(removal.is_audited, || {
            format!("the removal of {} is not in the audit", removal.path)
        });
        let since = last_absence(seen).unwrap_or(u64::MAX);
        let took = Duration::from_nanos(removal.mt.saturating_sub(since));
        let limit = limit(seen.recovery());
        findings.expect((TTL..=limit).contains(&took), || {
            format!("{} was removed after {took:?}, not {TTL:?} to {limit:?}", removal.path)
        });
        let back = seen.runs().iter().any(|run| run.p == "c" && run.began > removal.mt);
        findings.expect(back, || "c ran nothing after its server had been removed".to_owned());
    }
    for p in ["a", "b", "c", "d"] {
        let exists = seen.nodes().contains(&server(p));
        findings.expect(exists, || format!("the server of {p} does not exist at the end"));
    }
    findings.each_fire_accounted_for_all(seen, 0..ITEMS);
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let kills = seen.hits("crash").count();
    findings
        .expect(kills == 3, || format!("{kills} processes were killed, not c twice and a leader"));
    let since = last_absence(seen).unwrap_or(u64::MAX);
    let terms = seen.terms();
    for removal in removals(seen) {
        let term = terms.iter().rfind(|(mt, _)| *mt < removal.mt);
        let is_later = term.is_some_and(|(mt, sid)| *mt > since && *sid == removal.sid);
        findings.expect(is_later, || {
            "the leader that removed the server led before the server was idle".to_owned()
        });
    }
    findings.into_sentences()
}
