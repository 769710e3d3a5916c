//! Time: the true one, the clocks of the nodes, fires, and what was planned.

use std::time::{Duration, SystemTime};

use checker::history::Fact;
use coordination::{Event, JobConfig};

use super::node::{DueFire, JobTimer, Node, Process};
use super::product;
use super::rhythm::Rhythm;
use super::time::Planned;
use super::world::World;

pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl World {
    /// Milliseconds since 1970 UTC by a clock that is right.
    pub(crate) fn true_wall(&self) -> i64 {
        self.epoch_ms + millis(self.mono)
    }

    /// The same by the clock of a node.
    pub(crate) fn wall(&self, index: usize) -> i64 {
        self.true_wall() + self.nodes[index].skew_ms
    }

    /// Sets the registry's clock, which is right.
    pub(crate) fn show_time(&mut self) {
        let since_epoch = Duration::from_millis(self.true_wall().unsigned_abs());
        self.model.set_clock(Some(SystemTime::UNIX_EPOCH + since_epoch));
    }

    /// Lets time pass: what is planned happens, fires come, nodes are woken.
    pub(crate) fn advance(&mut self, by: Duration) {
        self.mono += by;
        self.show_time();
        while let Some(planned) = self.agenda.pop(self.mono) {
            self.happen(planned);
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
            self.tell(index, Event::Wake);
        }
    }

    fn happen(&mut self, planned: Planned) {
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
                self.tell(node, Event::Resumed);
            }
            Planned::Cancel { node, inc } if is_inc(&self.nodes, node, inc) => self.interrupt(node),
            Planned::SessionEnds { session } => self.session_due(session),
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

    /// Another process takes the place of one that has ended.
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

    /// The process fires by this configuration from now on. If it joins, it takes part in a fire that has yet to begin; after
    /// a change, what has come and has yet to begin does so at once, and only what comes later counts.
    pub(crate) fn schedule(&mut self, index: usize, config: &JobConfig) {
        let (now, fires_on) = (self.wall(index), self.fires_on);
        let node = &mut self.nodes[index];
        if let Some(JobTimer { rhythm, next_ms }) = node.timer.take()
            && rhythm.has_delays()
            && next_ms <= now
            && fires_on
        {
            node.come(DueFire { at: next_ms, rhythm });
            self.coverage.fires += 1;
        }
        let joins = !std::mem::replace(&mut node.scheduled, true) && config.monitor_execution;
        node.timer = Rhythm::of(config).map(|rhythm| {
            let next_ms = if joins { rhythm.next_to_begin(now) } else { rhythm.next_after(now) };
            if next_ms > now + rhythm.period_ms {
                self.coverage.count("fires_of_a_day_left_out");
            }
            JobTimer { rhythm, next_ms }
        });
    }

    /// A clock that is late, or was set forward, fires once for the latest time; one that was set back waits.
    fn run_timer(&mut self, index: usize) {
        let wall = self.wall(index);
        let node = &mut self.nodes[index];
        let begun = |timer: &&mut JobTimer| timer.rhythm.begins(timer.next_ms) <= wall;
        let Some(timer) = node.timer.as_mut().filter(begun) else { return };
        if node.process != Process::Up {
            return;
        }
        let (rhythm, at) = (timer.rhythm, timer.rhythm.last_begun(timer.next_ms, wall));
        timer.next_ms = rhythm.next_after(at);
        if timer.next_ms > at + rhythm.period_ms {
            self.coverage.count("fires_of_a_day_left_out");
        }
        if rhythm.begins(at) > at {
            self.coverage.count("delayed_fire");
        }
        node.come(DueFire { at, rhythm });
        self.coverage.fires += 1;
    }

    pub(crate) fn deliver_fire(&mut self, index: usize) {
        if self.nodes[index].is_up()
            && let Some(DueFire { at, rhythm }) = self.nodes[index].fires.pop_front()
        {
            self.record_with(index, || Fact::Fire { job: product::JOB.to_owned(), fire: at });
            let since = self.nodes[index].coordinator.catch_up_since();
            self.tell(index, product::fire(at, rhythm, since));
        }
    }

    /// Forgets the fires of the time in which nobody fired.
    pub(crate) fn fire_again(&mut self) {
        self.fires_on = true;
        for index in 0..self.nodes.len() {
            let now = self.wall(index);
            if let Some(timer) = &mut self.nodes[index].timer {
                timer.next_ms = timer.rhythm.next_after(now);
            }
        }
    }
}

/// Returns the first time of a period after `now`.
pub(crate) fn next_fire(now: i64, period_ms: i64) -> i64 {
    Rhythm::every(period_ms).next_after(now)
}
