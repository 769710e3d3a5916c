//! Performs acts: resolves their targets and applies faults.

use std::time::Duration;

use checker::history::{Fact, FaultOutcome, NemesisEvent, ProcessEvent};
use coordination::Event;

use super::act::{Act, Who};
use super::node::{Fate, Process};
use super::product;
use super::record::{Writer, process_name};
use super::time::Planned;
use super::world::World;

pub(crate) fn duration(ms: u32) -> Duration {
    Duration::from_millis(ms.into())
}

impl World {
    /// Performs an act, or skips it if it has no target.
    pub(crate) fn perform(&mut self, act: &Act) {
        self.recorder.trace_line(|| format!("! step {}: {act:?}", self.step));
        let target = act.who().and_then(|who| self.resolve(who));
        let is_done = match act.who() {
            Some(_) => target.is_some_and(|index| self.hit(act, index)),
            None => self.act_on_registry(act),
        };
        if is_done {
            self.coverage.count(act.kind());
            self.coverage.faults += 1;
        }
        if act.is_operator_action() {
            self.note_operator(act, target, is_done);
        } else if !is_done || !act.has_duration() {
            self.note_fault(NemesisEvent::Point, act.kind(), target, is_done);
        }
    }

    fn resolve(&self, who: Who) -> Option<usize> {
        let leader = self.observer.view().leader();
        let leads =
            |index: &usize| leader.is_some() && self.nodes[*index].instance.as_ref() == leader;
        match who {
            Who::Node(index) => usize::from(index).checked_rem(self.nodes.len()),
            Who::Leader => (0..self.nodes.len()).find(leads),
            Who::Runner(first) => {
                let n = self.nodes.len();
                let order = (0..n).map(|offset| (usize::from(first) + offset) % n);
                let runs = |index: &usize| {
                    !self.nodes[*index].runs.is_empty()
                        && self.nodes[*index].process != Process::Down
                };
                order.into_iter().find(runs)
            }
        }
    }

    /// Applies an act to a node. Returns false if it had no effect.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other acts do not concern a node")]
    fn hit(&mut self, act: &Act, index: usize) -> bool {
        if act.is_operator_action() {
            return self.operate_on(act, index);
        }
        if self.nodes[index].process == Process::Down {
            return false;
        }
        match *act {
            Act::LoseRequest { .. } => self.arm(index, Fate::LoseRequest),
            Act::LoseReply { .. } => self.arm(index, Fate::LoseReply),
            Act::LateRequest { .. } => self.arm(index, Fate::Late),
            Act::DelayRequest { ms, .. } => self.arm(index, Fate::Delay(duration(ms))),
            Act::Cut { ms, notice_ms, .. } => {
                self.cut_for(index, duration(ms), duration(notice_ms.min(ms)), "partition")
            }
            Act::Lag { ms, .. } => {
                self.nodes[index].lag_until = self.mono + duration(ms);
                true
            }
            Act::MissChange { .. } => {
                self.nodes[index].misses_next = true;
                true
            }
            Act::Expire { notice_ms, .. } => self.expire(index, duration(notice_ms)),
            Act::Crash { restart_ms, .. } => self.crash(index, duration(restart_ms)),
            Act::Freeze { ms, .. } => self.freeze(index, duration(ms)),
            Act::Skew { ms, .. } => self.skew(index, ms),
            Act::Refire { .. } => {
                let last = self.nodes[index].last_fire;
                self.nodes[index].fires.extend(last);
                last.is_some()
            }
            _ => false,
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all other acts are operator actions")]
    fn act_on_registry(&mut self, act: &Act) -> bool {
        match *act {
            Act::RegistryDown { ms, expire } => self.registry_goes_down(duration(ms), expire),
            _ => self.operate_on_registry(act),
        }
    }

    /// Arms a fate for the next commit of a node.
    fn arm(&mut self, index: usize, fate: Fate) -> bool {
        self.nodes[index].armed.push_back(fate);
        true
    }

    fn cut_for(
        &mut self,
        index: usize,
        length: Duration,
        notice: Duration,
        kind: &'static str,
    ) -> bool {
        if !self.cut(index, notice) {
            return false;
        }
        self.note_fault(NemesisEvent::Begin, kind, Some(index), true);
        self.nodes[index].link_fault = Some(kind);
        let epoch = self.nodes[index].epoch;
        self.plan(length, Planned::Relink { node: index, epoch });
        true
    }

    /// Ends a session at the registry and breaks its connection. The process notices later.
    pub(crate) fn expire(&mut self, index: usize, notice: Duration) -> bool {
        let Some(session) = self.nodes[index].session else { return false };
        if !self.sessions.contains_key(&session) {
            return false;
        }
        let back = notice + Duration::from_millis(self.dice.pick(&[0, 20, 200]));
        if self.cut(index, notice) {
            let epoch = self.nodes[index].epoch;
            self.plan(back, Planned::Relink { node: index, epoch });
        }
        self.end_session(session);
        true
    }

    /// Kills a process. Its session lives on until it expires.
    pub(crate) fn crash(&mut self, index: usize, restart: Duration) -> bool {
        if self.nodes[index].process == Process::Down {
            return false;
        }
        if !self.nodes[index].runs.is_empty() {
            self.coverage.count("crash_while_running");
        }
        if self.nodes[index].is_linked() {
            self.lose_contact(index);
        }
        for pending in std::mem::take(&mut self.nodes[index].commits) {
            if pending.confirm.is_empty() && self.dice.one_in(2) {
                self.keep_late_request(index, pending.txn);
            }
        }
        self.end_process(index, restart);
        true
    }

    pub(crate) fn end_process(&mut self, index: usize, restart: Duration) {
        let server = self.nodes[index].server.to_string();
        self.record(index, Fact::Process { ev: ProcessEvent::Exit, server });
        let node = &mut self.nodes[index];
        node.process = Process::Down;
        node.epoch += 1;
        node.link = super::node::Link::Cut { since: self.mono, noticed: true };
        node.runs.clear();
        node.calls.clear();
        node.commits.clear();
        node.replies.clear();
        node.fires.clear();
        node.inbox = super::inbox::Inbox::default();
        let inc = node.inc;
        self.plan(restart, Planned::Start { node: index, inc });
    }

    pub(crate) fn freeze(&mut self, index: usize, length: Duration) -> bool {
        if self.nodes[index].process != Process::Up {
            return false;
        }
        self.nodes[index].process = Process::Frozen;
        if self.nodes[index].is_linked() {
            self.lose_contact(index);
        }
        self.note_fault(NemesisEvent::Begin, "pause", Some(index), true);
        let inc = self.nodes[index].inc;
        self.plan(length, Planned::Thaw { node: index, inc });
        true
    }

    /// Continues a frozen process. It learns the state of its session later.
    pub(crate) fn thaw(&mut self, index: usize) {
        if self.nodes[index].process != Process::Frozen {
            return;
        }
        self.note_fault(NemesisEvent::End, "pause", Some(index), true);
        self.nodes[index].process = Process::Up;
        if !self.nodes[index].is_linked() {
            return;
        }
        let session = self.nodes[index].session;
        if let Some(session) = session.and_then(|id| self.sessions.get_mut(&id)) {
            session.ends = None;
        }
    }

    pub(crate) fn skew(&mut self, index: usize, ms: i64) -> bool {
        let was = std::mem::replace(&mut self.nodes[index].skew_ms, ms);
        if was != 0 {
            self.note_fault(NemesisEvent::End, "skew", Some(index), true);
        }
        if ms != 0 {
            self.note_fault(NemesisEvent::Begin, "skew", Some(index), true);
        }
        if was.abs().max(ms.abs()) >= product::MAX_TIME_DIFF_MS {
            // The timer is recalculated when a clock was set back far.
            let now = self.wall(index);
            if let Some(timer) = &mut self.nodes[index].timer {
                timer.next_ms = timer.next_ms.min(timer.schedule.next_after(now));
            }
            self.coverage.count("wrong_clock");
        }
        was != ms
    }

    fn registry_goes_down(&mut self, length: Duration, expire: bool) -> bool {
        if self.registry_down {
            return false;
        }
        self.note_fault(NemesisEvent::Begin, "registry_down", None, true);
        self.registry_down = true;
        self.outage_ends_sessions = expire;
        for index in 0..self.nodes.len() {
            let notice = Duration::from_millis(self.dice.pick(&[0, 0, 30, 200]));
            if self.cut(index, notice.min(length)) {
                let epoch = self.nodes[index].epoch;
                let late = Duration::from_millis(self.dice.between(0, 200));
                self.plan(length + late, Planned::Relink { node: index, epoch });
            }
        }
        self.plan(length, Planned::RegistryUp);
        true
    }

    /// Ends the outage of the registry. It counts the timeouts of all sessions anew, or has lost
    /// the sessions.
    pub(crate) fn registry_up(&mut self) {
        if !self.registry_down {
            return;
        }
        self.note_fault(NemesisEvent::End, "registry_down", None, true);
        self.registry_down = false;
        let timeout = duration(self.script.profile.session_ms);
        let waiting = self.sessions.iter().filter(|(_, session)| session.ends.is_some());
        for id in waiting.map(|(id, _)| *id).collect::<Vec<_>>() {
            if self.outage_ends_sessions {
                self.end_session(id);
            } else {
                self.let_expire(id, timeout);
            }
        }
    }

    // ---- records ----

    pub(crate) fn note_fault(
        &mut self,
        ev: NemesisEvent,
        kind: &str,
        target: Option<usize>,
        is_done: bool,
    ) {
        let target = target.map_or_else(|| "registry".to_owned(), process_name);
        let outcome = outcome(is_done);
        let kind = kind.to_owned();
        let fact = Fact::Nemesis { ev, kind, target, outcome, why: String::new() };
        self.record_outside(Writer::Nemesis, fact);
    }

    fn note_operator(&mut self, act: &Act, target: Option<usize>, is_done: bool) {
        let target = target.map(process_name).unwrap_or_default();
        let what = format!("{} {target}", act.kind()).trim_end().to_owned();
        self.record_outside(Writer::Nemesis, Fact::Operator { what, outcome: outcome(is_done) });
    }

    /// Resumes a paused process, which may start runs again.
    pub(crate) fn unpause(&mut self, index: usize) {
        self.handle(index, Event::Resumed);
    }
}

fn outcome(is_done: bool) -> FaultOutcome {
    if is_done { FaultOutcome::Installed } else { FaultOutcome::Skipped }
}
