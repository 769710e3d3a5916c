//! Operator actions, and processes that leave gracefully.

use std::time::Duration;

use checker::history::{Fact, ProcessEvent};
use coordination::{Event, OperatorStep};
use reg_center::{Lifetime, Txn};
use sharding::ShardingItem;

use super::act::Act;
use super::change::Change;
use super::faults::duration;
use super::node::{Leaving, Process};
use super::product;
use super::time::Planned;
use super::world::World;

impl World {
    /// Performs an operator action on a node, its server or its process. Returns false if it had no
    /// effect.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other acts do not concern a node")]
    pub(crate) fn operate_on(&mut self, act: &Act, index: usize) -> bool {
        let server = self.paths.server(&self.nodes[index].server);
        let instance =
            self.nodes[index].instance.as_ref().map(|instance| self.paths.instance(instance));
        let is_up = self.nodes[index].is_up();
        match act {
            Act::Server { data, .. } => self.operate(&Txn::new().put(server, data.clone())),
            Act::RemoveServer { .. } => self.operate(&Txn::new().delete(server)),
            Act::RemoveInstance { .. } => {
                instance.is_some_and(|path| self.operate(&Txn::new().delete(path)))
            }
            Act::TriggerNode { .. } => {
                instance.is_some_and(|path| self.operate(&Txn::new().put(path, "TRIGGER")))
            }
            Act::Trigger { parameter, .. } if is_up => {
                let parameter = parameter.as_deref().map(product::parameter);
                self.send_event(index, Event::TriggerRequested { parameter })
            }
            Act::Pause { ms, .. } if is_up => {
                let inc = self.nodes[index].inc;
                self.plan(duration(*ms), Planned::Unpause { node: index, inc });
                self.send_event(index, Event::Paused)
            }
            Act::Drain { deadline_ms, linger_ms, rejoin_ms, .. } if is_up => {
                let (linger, rejoin) = (duration(*linger_ms), duration(*rejoin_ms));
                self.nodes[index].leaving = Leaving { linger, rejoin };
                self.drain(index, duration(*deadline_ms));
                true
            }
            _ => false,
        }
    }

    fn send_event(&mut self, index: usize, event: Event) -> bool {
        self.handle(index, event);
        true
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all other acts concern a node")]
    pub(crate) fn operate_on_registry(&mut self, act: &Act) -> bool {
        if self.registry_down {
            return false;
        }
        match act {
            Act::Item { item, disabled: true } => {
                let path = self.paths.item_disabled(*item);
                self.operate(&Txn::new().create(path, "", Lifetime::Persistent))
            }
            Act::Item { item, disabled: false } => {
                self.operate(&Txn::new().delete(self.paths.item_disabled(*item)))
            }
            Act::Configure { change } => {
                self.change_settings(change);
                self.write_config()
            }
            Act::Poison { text } => {
                self.operate(&Txn::new().put(self.paths.config(), text.clone()))
            }
            Act::RemoveLeader => self.operate(&Txn::new().delete(self.paths.leader())),
            Act::RequestRun { items, parameter } => {
                let request = OperatorStep::RequestRun {
                    id: format!("request-{}", self.step),
                    by: "operator".to_owned(),
                    at_ms: self.true_wall(),
                    items: items.map(|some| (0..some).map(ShardingItem::new).collect()),
                    parameter: parameter.as_deref().map(product::parameter),
                };
                self.operate(&self.paths.layout.change(&[request]))
            }
            Act::Cancel { item, late_ms, again_ms } => self.cancel_item(*item, *late_ms, *again_ms),
            Act::Backfill { fires, items, concurrency } => {
                self.request_backfill(*fires, *items, *concurrency)
            }
            Act::CancelBackfill => self.cancel_backfill(),
            Act::Necessary => {
                let path = self.paths.necessary();
                self.operate(&Txn::new().create(path, "", Lifetime::Persistent))
            }
            _ => false,
        }
    }

    fn change_settings(&mut self, change: &Change) {
        let settings = &mut self.settings;
        match change {
            Change::Total(total) => settings.items = *total,
            Change::Failover(on) => settings.failover = *on,
            Change::Misfire(on) => settings.misfire = *on,
            Change::Monitor(on) => settings.monitor = *on,
            Change::Strategy(name) => settings.strategy.clone_from(name),
            Change::Period(seconds) => settings.period = *seconds,
            Change::Disabled(disabled) => settings.disabled = *disabled,
            Change::CatchUp(on) => settings.catch_up = *on,
            Change::Static(on) => settings.static_sharding = *on,
            Change::Jitter(ms) => settings.jitter_ms = *ms,
            Change::ExcludedDays(days) => settings.excluded_days.clone_from(days),
            Change::Limit(limit) => settings.cluster_concurrency = *limit,
            Change::Rate(max) => settings.starts = *max,
            Change::Group(max) => settings.group = *max,
            Change::CancelOverlaps(on) => settings.cancel_overlaps = *on,
            Change::Queue(max) => settings.queue = *max,
            Change::Parallel(max) => settings.parallel = *max,
            Change::Placement(rules) => settings.placement.clone_from(rules),
            Change::Nothing => {}
        }
    }

    pub(crate) fn write_config(&mut self) -> bool {
        let text = product::document(&self.settings, &self.script.profile);
        let txn = Txn::new().put(self.paths.config(), text);
        let Some((path, limits)) = product::group_limits(&self.settings) else {
            return self.operate(&txn);
        };
        let txn = if self.model.read(&path).is_some() {
            txn.put(path, limits)
        } else {
            txn.create(path, limits, Lifetime::Persistent)
        };
        self.operate(&txn)
    }

    // ---- leaving ----

    /// Begins the graceful shutdown of a process. Runs that have not ended at the deadline are
    /// cancelled.
    pub(crate) fn drain(&mut self, index: usize, deadline: Duration) {
        let server = self.nodes[index].server.to_string();
        self.record(index, Fact::Process { ev: ProcessEvent::Drain, server });
        let inc = self.nodes[index].inc;
        self.plan(deadline, Planned::Cancel { node: index, inc });
        self.handle(index, Event::Drain);
    }

    /// Ends a process that has left. Its session ends with it, unless it lingers because other jobs
    /// share it.
    pub(crate) fn leave(&mut self, index: usize) {
        if self.nodes[index].process == Process::Down {
            return;
        }
        self.coverage.count("graceful_leave");
        self.check_leave(index);
        let is_linked = self.nodes[index].is_linked();
        let server = self.nodes[index].server.to_string();
        self.record(index, Fact::Process { ev: ProcessEvent::Left, server });
        for pending in std::mem::take(&mut self.nodes[index].commits) {
            if pending.confirm.is_empty() && self.dice.one_in(2) {
                self.keep_late_request(index, pending.txn);
            }
        }
        let Leaving { linger, rejoin } = self.nodes[index].leaving;
        let session = self.nodes[index].session;
        self.end_process(index, rejoin);
        match session {
            Some(session) if linger > Duration::ZERO => {
                self.coverage.count("lingering_session");
                self.let_expire(session, linger);
            }
            Some(session) if is_linked => self.end_session(session),
            // Without a connection the registry does not learn of the end, so the session expires.
            Some(_) | None => {}
        }
    }
}
