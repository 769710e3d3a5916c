//! Healing: every fault ends, everything comes to rest, and then everything must be where it belongs.

use std::collections::BTreeSet;
use std::time::Duration;

use checker::history::Fact;
use coordination::{Coordinator, FireTime, JobView, Phase};
use reg_center::Txn;
use sharding::ShardingItem;

use super::clockwork::{millis, next_fire};
use super::node::{Node, Process};
use super::product;
use super::profile::STRATEGIES;
use super::record::Writer;
use super::world::World;

/// How many turns everybody gets before it counts as never becoming quiet.
const TURNS: usize = 4_000;
/// Waits that are longer are not waited for: they only look at everything once more. Several processes that do so once
/// a minute leave a longer gap somewhere.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

impl World {
    /// Lets everything happen that is under way, with fair turns, until nothing is. No fires come meanwhile.
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
        let waits: Vec<_> = self.nodes.iter().map(Node::waits).collect();
        self.fail("quiet", format!("it never becomes quiet: {waits:?}"));
    }

    /// Everybody does one of each.
    pub(crate) fn turn(&mut self) {
        for index in 0..self.nodes.len() {
            self.deliver_fire(index);
            self.poll(index);
            self.deliver(index);
            self.execute(index);
            self.reply(index);
            self.finish(index);
        }
        self.haunt();
    }

    /// Something can happen now.
    pub(crate) fn is_ready(&self) -> bool {
        let now = self.mono;
        let up = self.nodes.iter().filter(|node| node.is_up());
        let haunted = self.sessions.values().any(|session| !session.ghosts.is_empty());
        let ready = |node: &Node| {
            (!node.inbox.is_empty() && node.lag_until <= now)
                || (node.is_linked() && node.commits.iter().any(|c| c.not_before <= now))
                || !node.replies.is_empty()
                || !node.fires.is_empty()
                || node.runs.iter().any(|run| run.ends.is_some_and(|ends| ends <= now))
                || node.calls.iter().any(|call| call.ends <= now)
        };
        haunted || up.into_iter().any(ready)
    }

    /// Returns when something can happen next.
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

    /// Ends every fault and undoes what operators did.
    pub(crate) fn heal(&mut self) {
        self.recorder.tell(|| "! everything heals".to_owned());
        self.healing = true;
        self.registry_up();
        for index in 0..self.nodes.len() {
            self.heal_node(index);
        }
        for item in 0..12 {
            self.operate(&Txn::new().delete(self.paths.item_disabled(item)));
        }
        self.settings.disabled = false;
        // Items of an instance that never comes back would stay with it.
        self.settings.static_sharding = false;
        // Fires that come, and in time, are what the end is judged by.
        (self.settings.jitter_ms, self.settings.excluded_days) = (0, String::new());
        if !STRATEGIES.contains(&self.settings.strategy.as_str()) {
            self.settings.strategy = String::new();
        }
        self.write_config();
        self.record_outside(Writer::Nemesis, Fact::Healed);
        self.run_until_quiet();
        for index in 0..self.nodes.len() {
            let server = self.paths.server(&self.nodes[index].server);
            self.operate(&Txn::new().put(server, ""));
        }
        self.run_until_quiet();
        self.check_misfires();
        self.outlive_fast_clocks();
        for _ in 0..3 {
            self.fire_all();
        }
    }

    fn heal_node(&mut self, index: usize) {
        self.thaw(index);
        self.skew(index, 0);
        let now = self.mono;
        let node = &mut self.nodes[index];
        node.armed.clear();
        node.lag_until = now;
        for run in &mut node.runs {
            run.ends = Some(run.ends.unwrap_or(now));
        }
        match node.process {
            Process::Up => {
                self.relink(index);
                self.unpause(index);
            }
            // It starts when it was planned to.
            Process::Frozen | Process::Down => {}
        }
    }

    fn check_misfires(&mut self) {
        if !(self.settings.misfire && self.settings.monitor) {
            return;
        }
        let noted = self.observer.view().items().find_map(|(item, of)| {
            of.ledger.as_ref().filter(|l| l.value.misfire.is_some()).map(|_| item)
        });
        if let Some(item) = noted {
            self.fail("L2", format!("item {item} misfired and nobody runs it"));
        }
    }

    /// What a fast clock has fired counts until the right ones are past it.
    fn outlive_fast_clocks(&mut self) {
        let fires = self.observer.view().items();
        let recorded = fires.filter_map(|(_, of)| Some(of.ledger.as_ref()?.value.last_fire?.0));
        let seen = self.nodes.iter().filter_map(|node| Some(node.last_fire?.at));
        // Fires that lie further in the future are missed, and nothing remembers them.
        let horizon = self.true_wall() + product::MAX_TIME_DIFF_MS;
        let fires = recorded.chain(seen).filter(|fire| *fire <= horizon);
        let ahead = fires.max().map_or(0, |last| last - self.true_wall());
        self.advance(Duration::from_millis(u64::try_from(ahead).unwrap_or(0)));
        self.run_until_quiet();
    }

    /// Lets the next fire come on every node, and everything that follows from it. Returns the fire.
    pub(crate) fn fire_all(&mut self) -> FireTime {
        self.fire_again();
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
            let unclaimed = self.truth.unclaimed.get(&(item, fire)).copied().unwrap_or(0);
            let claimed = u32::from(self.truth.done.contains(&(item, fire)));
            if unclaimed + claimed != 1 {
                self.fail(
                    "L0",
                    format!("item {item} ran {} times for {fire}", unclaimed + claimed),
                );
            }
        }
    }

    // ---- the healed state ----

    /// Checks that there is one leader, that every item has an owner who is available, is idle, and is done with the
    /// last fire, and that nothing is queued, shown as running, or of a former life.
    pub(crate) fn check_healed(&mut self) {
        if self.violation.is_some() {
            return;
        }
        self.check_leadership();
        for index in 0..self.settings.items {
            self.check_healed_item(ShardingItem::new(index));
        }
        self.check_litter();
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            if !shows_the_truth(&node.coordinator, self.observer.view()) {
                self.fail("view", format!("the view of {index} differs from the truth"));
            } else if node.coordinator.status().phase != Phase::Active {
                self.fail("L1", format!("{index} takes no part"));
            }
        }
    }

    fn check_leadership(&mut self) {
        let view = self.observer.view();
        if !view.leader().is_some_and(|leader| view.is_available(leader)) {
            let text = format!("the leader is {:?}", view.leader());
            return self.fail("L3", text);
        }
        let mut assigned = self.paths.assignment(&self.model).unwrap_or_default();
        assigned.members.sort();
        let members = &assigned.members;
        let available: Vec<_> =
            view.instances().filter(|id| view.is_available(id)).map(ToString::to_string).collect();
        // Static sharding takes no notice of who comes.
        let joins_count = !self.settings.static_sharding;
        if *members != available && joins_count {
            let text = format!("assigned for {members:?}; available are {available:?}");
            return self.fail("S9", text);
        }
        let Some(config) = view.config() else { return };
        let made_for = (assigned.total, assigned.strategy.as_str());
        let in_force = (config.sharding_total_count, config.strategy.as_str());
        let asked = self.paths.requests(&self.model);
        if made_for != in_force {
            self.fail("S9", format!("assigned for {made_for:?}; in force is {in_force:?}"));
        } else if joins_count && asked != Some(assigned.handled) {
            let text = format!("request {asked:?} was made; {} was handled", assigned.handled);
            self.fail("S9", text);
        }
    }

    fn check_healed_item(&mut self, item: ShardingItem) {
        let view = self.observer.view();
        let of = view.item(item).clone();
        let owner = of.owner.as_ref().map(|owner| &owner.value);
        if !owner.is_some_and(|owner| view.is_available(owner)) {
            return self.fail("L1", format!("item {item} belongs to {owner:?}"));
        }
        let Some(last) = self.last_fire else { return };
        if !self.settings.monitor {
            let starts = self.truth.unclaimed.get(&(item, last)).copied().unwrap_or(0);
            if starts != 1 {
                self.fail("L0", format!("item {item} ran {starts} times for {last}"));
            }
            return;
        }
        let Some(ledger) = of.ledger.as_ref().map(|ledger| &ledger.value) else {
            return self.fail("L1", format!("item {item} has no record"));
        };
        if !ledger.is_idle() || ledger.misfire.is_some() {
            self.fail("L2", format!("item {item} is {}", ledger.summary()));
        } else if ledger.last_fire != Some(last) {
            self.fail("L0", format!("item {item} was not fired: {:?}", ledger.last_fire));
        }
    }

    fn check_litter(&mut self) {
        let (total, monitored) = (self.settings.items, self.settings.monitor);
        let litter = self.observer.view().items().find_map(|(item, of)| {
            let marked =
                of.running || of.queued || of.failover.is_some() || (of.misfire && monitored);
            let surplus = item.index() >= total && of.owner.is_some();
            (marked || surplus).then(|| format!("item {item}: {of:?}"))
        });
        let leftovers = self.paths.leftovers(&self.model);
        if let Some(text) = litter {
            self.fail("L7", text);
        } else if !leftovers.is_empty() {
            self.fail("L7", format!("left over: {leftovers:?}"));
        }
    }

    /// Virtual time since the beginning, in milliseconds.
    pub(crate) fn elapsed_ms(&self) -> i64 {
        millis(self.mono)
    }
}

/// Returns true if an instance sees nothing but the truth, and everything but items of others that it does not follow.
fn shows_the_truth(coordinator: &Coordinator, truth: &JobView) -> bool {
    let (shown, whole) = (coordinator.view().to_string(), truth.to_string());
    let (shown, whole): (BTreeSet<_>, BTreeSet<_>) =
        (shown.lines().collect(), whole.lines().collect());
    let unseen_items = whole.difference(&shown).all(|line| line.starts_with("item "));
    let own = coordinator.instance().into_iter().flat_map(|me| truth.items_of(me));
    let sees_own =
        own.map(|(item, _)| item).all(|item| coordinator.view().item(item).owner.is_some());
    shown.is_subset(&whole) && unseen_items && sees_own
}
