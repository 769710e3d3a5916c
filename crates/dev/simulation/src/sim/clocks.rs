//! Time: the true time, the clocks of the nodes, fires, and planned events.

use std::time::{Duration, SystemTime};

use checker::history::Fact;
use coordination::{Event, JobConfig};

use super::node::{DueFire, JobTimer, Node, Process};
use super::product;
use super::schedule::{NEVER, SimSchedule};
use super::time::Planned;
use super::world::World;

pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl World {
    /// Returns the true time, in milliseconds since 1970 UTC.
    pub(crate) fn true_wall(&self) -> i64 {
        self.epoch_ms + millis(self.mono)
    }

    /// Returns the time by the clock of a node, in milliseconds since 1970 UTC.
    pub(crate) fn wall(&self, index: usize) -> i64 {
        self.true_wall() + self.nodes[index].skew_ms
    }

    /// Sets the registry's clock to the true time.
    pub(crate) fn show_time(&mut self) {
        let since_epoch = Duration::from_millis(self.true_wall().unsigned_abs());
        self.model.set_clock(Some(SystemTime::UNIX_EPOCH + since_epoch));
    }

    /// Advances virtual time: planned events happen, fires come due, and nodes wake.
    pub(crate) fn advance(&mut self, by: Duration) {
        self.mono += by;
        self.show_time();
        while let Some(planned) = self.agenda.pop(self.mono) {
            self.handle_planned(planned);
        }
        for index in 0..self.nodes.len() {
            if self.fires_on {
                self.run_timer(index);
            }
            self.wake(index);
        }
    }

    pub(crate) fn wake(&mut self, index: usize) {
        let node = &self.nodes[index];
        if node.is_up() && node.coordinator.next_wake().is_some_and(|at| at <= self.mono) {
            self.handle(index, Event::Wake);
        }
    }

    fn handle_planned(&mut self, planned: Planned) {
        let is_epoch = |nodes: &[Node], node: usize, epoch| nodes[node].epoch == epoch;
        let is_inc = |nodes: &[Node], node: usize, inc| nodes[node].inc == inc;
        match planned {
            Planned::Notice { node, epoch } if is_epoch(&self.nodes, node, epoch) => {
                self.notice(node);
            }
            Planned::LeaseEnds { node, epoch } if is_epoch(&self.nodes, node, epoch) => {
                self.lease_ends(node);
            }
            Planned::Relink { node, epoch } if is_epoch(&self.nodes, node, epoch) => {
                self.relink(node);
            }
            Planned::Thaw { node, inc } if is_inc(&self.nodes, node, inc) => self.thaw(node),
            Planned::Start { node, inc } if is_inc(&self.nodes, node, inc) => self.restart(node),
            Planned::Unpause { node, inc } if is_inc(&self.nodes, node, inc) => {
                self.handle(node, Event::Resumed);
            }
            Planned::Cancel { node, inc } if is_inc(&self.nodes, node, inc) => self.interrupt(node),
            Planned::SessionEnds { session } => self.session_due(session),
            Planned::RepeatCancel { item, token } => self.repeat_cancel(item, token),
            Planned::LateWrite { write } => self.write_late(write),
            Planned::RegistryUp => self.registry_up(),
            Planned::Notice { .. }
            | Planned::LeaseEnds { .. }
            | Planned::Relink { .. }
            | Planned::Thaw { .. }
            | Planned::Start { .. }
            | Planned::Unpause { .. }
            | Planned::Cancel { .. } => {}
        }
    }

    /// Starts another process in place of one that has ended.
    fn restart(&mut self, index: usize) {
        if self.nodes[index].process == Process::Down {
            let old = &self.nodes[index];
            self.nodes[index] =
                Node::new(index, old.inc + 1, old.epoch + 1, &self.script.profile.job);
            self.recorder.restart(index);
            self.start_process(index);
        }
    }

    // ---- fires ----

    /// Sets the configuration that the process fires by.
    ///
    /// A process that joins takes part in a fire that is delayed by jitter and has not begun. After
    /// a change, a due fire that has not begun begins at once, and the new schedule applies from
    /// then on.
    pub(crate) fn schedule(&mut self, index: usize, config: &JobConfig) {
        let (now, fires_on) = (self.wall(index), self.fires_on);
        let node = &mut self.nodes[index];
        if let Some(JobTimer { schedule, next_ms }) = node.timer.take()
            && schedule.has_delays()
            && next_ms <= now
            && fires_on
        {
            node.queue_fire(DueFire { at: next_ms, schedule });
            self.coverage.fires += 1;
        }
        let joins = !std::mem::replace(&mut node.scheduled, true) && config.monitor_execution;
        node.timer = SimSchedule::of(config).map(|schedule| {
            let next_ms =
                if joins { schedule.next_to_begin(now) } else { schedule.next_after(now) };
            if next_ms != NEVER && next_ms > now + schedule.period_ms {
                self.coverage.count("excluded_day");
                if config.excluded_times.is_some() {
                    self.coverage.count("excluded_time");
                }
            }
            JobTimer { schedule, next_ms }
        });
    }

    /// Runs the timer of a node. A late clock, or one that was set forward, fires once for the
    /// latest time; a clock that was set back waits.
    fn run_timer(&mut self, index: usize) {
        let wall = self.wall(index);
        let node = &mut self.nodes[index];
        let begun = |timer: &&mut JobTimer| {
            timer.next_ms != NEVER && timer.schedule.begins(timer.next_ms) <= wall
        };
        let Some(timer) = node.timer.as_mut().filter(begun) else { return };
        if node.process != Process::Up {
            return;
        }
        let (schedule, at) = (timer.schedule, timer.schedule.last_begun(timer.next_ms, wall));
        timer.next_ms = schedule.next_after(at);
        if timer.next_ms != NEVER && timer.next_ms > at + schedule.period_ms {
            self.coverage.count("excluded_day");
        }
        if schedule.begins(at) > at {
            self.coverage.count("delayed_fire");
        }
        node.queue_fire(DueFire { at, schedule });
        self.coverage.fires += 1;
    }

    pub(crate) fn deliver_fire(&mut self, index: usize) {
        if self.nodes[index].is_up()
            && let Some(DueFire { at, schedule }) = self.nodes[index].fires.pop_front()
        {
            self.record_with(index, || Fact::Fire { job: product::JOB.to_owned(), fire: at });
            let since = self.nodes[index].coordinator.catch_up_since();
            self.handle(index, product::fire(at, schedule, since));
        }
    }

    /// Resumes fires. The fires of the time without fires are forgotten.
    pub(crate) fn resume_fires(&mut self) {
        self.fires_on = true;
        for index in 0..self.nodes.len() {
            let now = self.wall(index);
            if let Some(timer) = &mut self.nodes[index].timer {
                timer.next_ms = timer.schedule.next_after(now);
            }
        }
    }
}

/// Returns the first fire of a period after `now`.
pub(crate) fn next_fire(now: i64, period_ms: i64) -> i64 {
    SimSchedule::every(period_ms).next_after(now)
}
