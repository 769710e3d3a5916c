//! Healing: every fault ends, the cluster becomes quiet, and then its state must be complete and
//! clean.

use std::collections::BTreeSet;
use std::time::Duration;

use checker::history::Fact;
use coordination::{Coordinator, FireTime, JobView, Phase};
use reg_center::Txn;
use sharding::ShardingItem;

use super::clocks::{millis, next_fire};
use super::node::{Node, Process};
use super::product;
use super::profile::STRATEGIES;
use super::record::Writer;
use super::world::World;

/// Maximum number of turns until the cluster must be quiet.
pub(super) const TURNS: usize = 4_000;
/// Upper bound of the time in which a healed cluster runs a fire with a fixed delay and records its
/// end.
const DELAYED: Duration = Duration::from_secs(120);
/// Time in which two reads find the changes that a node has missed, a minute apart or less.
const RECONCILED: Duration = Duration::from_secs(90);
/// Maximum wait that counts as activity. Longer waits are for reconciling: several processes that
/// reconcile once a minute leave a longer gap.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

impl World {
    /// Takes turns until no activity is pending. No fires come meanwhile.
    pub(crate) fn run_until_quiet(&mut self) {
        self.fires_on = false;
        for _ in 0..TURNS {
            if self.violation.is_some() {
                return;
            }
            self.turn();
            if !self.is_ready() {
                match self.next_moment() {
                    Some(at) => self.advance(at.saturating_sub(self.mono)),
                    None => return,
                }
            }
        }
        self.fail_busy();
    }

    /// Reports that activities do not end.
    pub(super) fn fail_busy(&mut self) {
        let waits: Vec<_> = self.nodes.iter().map(Node::pending_work).collect();
        self.fail("quiet", format!("the cluster does not become quiet: {waits:?}"));
    }

    /// Lets each node perform each activity once.
    pub(crate) fn turn(&mut self) {
        for index in 0..self.nodes.len() {
            self.deliver_fire(index);
            self.poll(index);
            self.deliver(index);
            self.execute(index);
            self.reply(index);
            self.finish(index);
        }
        self.execute_late_request();
    }

    /// Returns true if an activity is possible now.
    pub(crate) fn is_ready(&self) -> bool {
        let now = self.mono;
        let up = self.nodes.iter().filter(|node| node.is_up());
        let has_late_requests =
            self.sessions.values().any(|session| !session.late_requests.is_empty());
        let ready = |node: &Node| {
            (!node.inbox.is_empty() && node.lag_until <= now)
                || (node.is_linked() && node.commits.iter().any(|c| c.not_before <= now))
                || !node.replies.is_empty()
                || !node.fires.is_empty()
                || node.runs.iter().any(|run| run.ends.is_some_and(|ends| ends <= now))
                || node.calls.iter().any(|call| call.ends <= now)
        };
        has_late_requests || up.into_iter().any(ready)
    }

    /// Returns the time of the next possible activity.
    pub(crate) fn next_moment(&self) -> Option<Duration> {
        let up = || self.nodes.iter().filter(|node| node.is_up());
        let wakes = up().filter_map(|node| node.coordinator.next_wake());
        let soon = self.mono + LONGEST_WAIT;
        let ends = up().flat_map(|node| node.runs.iter().filter_map(|run| run.ends));
        let returns = up().flat_map(|node| node.calls.iter().map(|call| call.ends));
        let sends = up().flat_map(|node| node.commits.iter().map(|commit| commit.not_before));
        let lags = up().map(|node| node.lag_until).filter(|at| *at > self.mono);
        wakes
            .filter(|at| *at < soon)
            .chain(ends)
            .chain(returns)
            .chain(sends)
            .chain(lags)
            .chain(self.agenda.next())
            .min()
    }

    /// Ends every fault and undoes the operator actions.
    pub(crate) fn heal(&mut self) {
        self.recorder.trace_line(|| "! healing begins".to_owned());
        self.healing = true;
        self.registry_up();
        for index in 0..self.nodes.len() {
            self.heal_node(index);
        }
        for item in 0..12 {
            self.operate(&Txn::new().delete(self.paths.item_disabled(item)));
        }
        self.settings.disabled = false;
        // Items of an instance that never returns would stay with it.
        self.settings.static_sharding = false;
        // The final state is judged by fires that come and begin on time.
        (self.settings.jitter_ms, self.settings.excluded_days) = (0, String::new());
        self.settings.ends_s = 0;
        (self.settings.cluster_concurrency, self.settings.starts) = (0, 0);
        self.settings.group = 0;
        // No instance might meet a required condition.
        if self.settings.placement.contains("require") {
            self.settings.placement = String::new();
        }
        let delay = std::mem::take(&mut self.settings.after_s);
        if !STRATEGIES.contains(&self.settings.strategy.as_str()) {
            self.settings.strategy = String::new();
        }
        self.write_config();
        self.record_outside(Writer::Nemesis, Fact::Healed);
        if self.has_missed_changes {
            self.run_until(RECONCILED, |_| false);
        }
        self.run_until_quiet();
        for index in 0..self.nodes.len() {
            let server = self.paths.server(&self.nodes[index].server);
            self.operate(&Txn::new().put(server, ""));
        }
        self.run_until_quiet();
        self.check_misfires();
        self.check_backfill_ended();
        self.wait_for_fast_clocks();
        for _ in 0..3 {
            self.fire_all();
        }
        if delay > 0 && self.settings.monitor {
            self.check_delay(delay);
        }
    }

    /// Checks that a job with a fixed delay goes on after the faults: three fires come and end. The
    /// next ones come by the period again.
    fn check_delay(&mut self, delay: u32) {
        self.settings.after_s = delay;
        self.write_config();
        let mut last = None;
        for _ in 0..4 {
            self.run_until(DELAYED, |world| world.observer.view().delayed_fire() > last);
            let next = self.observer.view().delayed_fire();
            if next <= last {
                self.fail("L4", format!("no fire follows from the end of the last one, {last:?}"));
                return;
            }
            last = next;
        }
        self.settings.after_s = 0;
        self.write_config();
        self.run_until_quiet();
        self.fire_all();
    }

    fn heal_node(&mut self, index: usize) {
        self.thaw(index);
        self.skew(index, 0);
        let now = self.mono;
        let node = &mut self.nodes[index];
        node.armed.clear();
        node.lag_until = now;
        node.misses_next = false;
        for run in &mut node.runs {
            run.ends = Some(run.ends.unwrap_or(now));
        }
        match node.process {
            Process::Up => {
                self.relink(index);
                self.unpause(index);
            }
            // It starts at its planned time.
            Process::Frozen | Process::Down => {}
        }
    }

    fn check_misfires(&mut self) {
        if !(self.settings.misfire && self.settings.monitor) {
            return;
        }
        let found = promises::waiting_misfire(self.observer.view());
        self.report(found);
    }

    /// Waits until the true time has passed all fires that fast clocks have run.
    fn wait_for_fast_clocks(&mut self) {
        let fires = self.observer.view().items();
        let recorded = fires.filter_map(|(_, of)| Some(of.ledger.as_ref()?.value.last_fire?.0));
        let seen = self.nodes.iter().filter_map(|node| Some(node.last_fire?.at));
        // Fires further in the future are missed, and no record contains them.
        let horizon = self.true_wall() + product::MAX_TIME_DIFF_MS;
        let fires = recorded.chain(seen).filter(|fire| *fire <= horizon);
        let ahead = fires.max().map_or(0, |last| last - self.true_wall());
        self.advance(Duration::from_millis(u64::try_from(ahead).unwrap_or(0)));
        self.run_until_quiet();
    }

    /// Lets the next fire come on every node, waits until the cluster is quiet, and returns the
    /// fire.
    pub(crate) fn fire_all(&mut self) -> FireTime {
        self.resume_fires();
        let wall = self.true_wall();
        let at = next_fire(wall, i64::from(self.settings.period) * 1_000);
        self.advance(Duration::from_millis(u64::try_from(at - wall).unwrap_or(0)));
        self.last_fire = Some(FireTime(at));
        self.run_until_quiet();
        FireTime(at)
    }

    /// Checks that every item ran once for a fire.
    pub(crate) fn check_all_ran(&mut self, fire: FireTime) {
        for item in (0..self.settings.items).map(ShardingItem::new) {
            let unclaimed = self.tracked.unclaimed.get(&(item, fire)).copied().unwrap_or(0);
            let claimed = u32::from(self.tracked.done.contains(&(item, fire)));
            if unclaimed + claimed != 1 {
                self.fail(
                    "L0",
                    format!("item {item} ran {} times for {fire}", unclaimed + claimed),
                );
            }
        }
    }

    // ---- the healed state ----

    /// Checks the final state: one leader, each item idle with an available owner and done with the
    /// last fire. No queue entry, mark or node of an earlier incarnation may remain.
    pub(crate) fn check_healed(&mut self) {
        if self.violation.is_some() {
            return;
        }
        self.check_quiescence();
        for index in 0..self.settings.items {
            self.check_healed_item(ShardingItem::new(index));
        }
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            if !view_matches(&node.coordinator, self.observer.view()) {
                self.fail("view", format!("the view of node {index} differs from the registry"));
            } else if node.coordinator.status().phase != Phase::Active {
                self.fail("L1", format!("node {index} is not active"));
            }
        }
    }

    /// Checks the final state by the rules that the exhaustive model shares.
    fn check_quiescence(&mut self) {
        let view = self.observer.view();
        let nodes = self.model.subtree(&self.paths.root).map(|node| &node.path);
        let mut found = promises::no_leader(view)
            .or_else(|| promises::stale_assignment(view))
            .or_else(|| promises::unavailable_owner(view));
        if self.settings.monitor {
            found = found
                .or_else(|| promises::unfinished_run(view))
                .or_else(|| promises::waiting_misfire(view));
        }
        let found = found
            .or_else(|| promises::stale_mark(view))
            .or_else(|| promises::stale_node(&self.paths.layout, nodes));
        self.report(found);
    }

    fn check_healed_item(&mut self, item: ShardingItem) {
        let Some(last) = self.last_fire else { return };
        if !self.settings.monitor {
            let starts = self.tracked.unclaimed.get(&(item, last)).copied().unwrap_or(0);
            if starts != 1 {
                self.fail("L0", format!("item {item} ran {starts} times for {last}"));
            }
            return;
        }
        let ledger = self.observer.view().item(item).ledger.as_ref().map(|ledger| &ledger.value);
        let Some(last_fire) = ledger.map(|ledger| ledger.last_fire) else {
            return self.fail("L1", format!("item {item} has no ledger record"));
        };
        if last_fire != Some(last) {
            let text = format!("item {item} did not run for the last fire, but for {last_fire:?}");
            self.fail("L0", text);
        }
    }

    /// Returns the virtual time since the beginning, in milliseconds.
    pub(crate) fn elapsed_ms(&self) -> i64 {
        millis(self.mono)
    }
}

/// Returns true if a view equals the registry's state, except for items of other instances that it
/// does not watch.
fn view_matches(coordinator: &Coordinator, registry: &JobView) -> bool {
    let (shown, whole) = (coordinator.view().to_string(), registry.to_string());
    let (shown, whole): (BTreeSet<_>, BTreeSet<_>) =
        (shown.lines().collect(), whole.lines().collect());
    // Nor does it watch further slots if the job does not allow them any more.
    let is_slot = |line: &str| line.starts_with("slot ") && line.contains(": idle");
    let unseen_items =
        whole.difference(&shown).all(|line| line.starts_with("item ") || is_slot(line));
    let own = coordinator.instance().into_iter().flat_map(|me| registry.items_of(me));
    let sees_own =
        own.map(|(item, _)| item).all(|item| coordinator.view().item(item).owner.is_some());
    shown.is_subset(&whole) && unseen_items && sees_own
}
