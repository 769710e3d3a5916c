//! The simulated cluster and its step loop: each step lets one node perform one activity.

use std::collections::BTreeMap;
use std::time::Duration;

use checker::history::{Fact, ProcessEvent};
use coordination::{Command, Coordinator, Event, JobEvent, MissReason, Reply, RunSource};
use reg_center::model::Model;
use reg_center::{Change, Lifetime, SessionId, Txn};

use super::coverage::Coverage;
use super::dice::{Dice, Stream};
use super::inject::Injection;
use super::invariants::Tracked;
use super::node::Node;
use super::product::{self, Paths};
use super::profile::JobSettings;
use super::record::{Keep, Recorder};
use super::script::Script;
use super::sessions::Session;
use super::time::Agenda;
use super::work::Resource;

/// Start of the simulated time: a whole minute, in milliseconds since 1970. Runs with a midnight
/// begin less than a minute before that midnight, which is a minute later.
pub(crate) const EPOCH_MS: i64 = 1_700_000_040_000;

/// Activities of a step, in the order of the weights of a profile.
pub const ACTIVITIES: [&str; 7] =
    ["deliver", "execute", "reply", "poll", "finish", "fire", "advance"];

/// A violated property, or a run that does not become quiet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Id of the property, e.g. `S5`; `panic` if the product panicked, `quiet` if the run does not
    /// become quiet.
    pub property: String,
    /// Description of the violation.
    pub text: String,
    /// Step of the violation.
    pub step: u32,
    /// Records of the history around the violation, one line each; empty if the checker was not
    /// involved.
    pub window: Vec<String>,
}

/// The simulated cluster.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) script: Script,
    pub(crate) step: u32,
    next_act: usize,
    /// Random numbers of this step.
    pub(crate) dice: Dice,
    pub(crate) model: Model,
    pub(crate) paths: Paths,
    pub(crate) nodes: Vec<Node>,
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    /// A coordinator that sees every change at once; its view equals the registry's state.
    pub(crate) observer: Coordinator,
    pub(crate) operator: SessionId,
    pub(crate) mono: Duration,
    /// True time at the beginning of the run.
    pub(crate) epoch_ms: i64,
    pub(crate) agenda: Agenda,
    pub(crate) registry_down: bool,
    /// A node has missed a change, which a read has to find.
    pub(crate) has_missed_changes: bool,
    /// True if all sessions end during the outage.
    pub(crate) outage_ends_sessions: bool,
    /// Writes of operators that arrive late, by their numbers.
    pub(crate) late_writes: Vec<Txn>,
    pub(crate) n_instances: u32,
    pub(crate) settings: JobSettings,
    pub(crate) fires_on: bool,
    pub(crate) healing: bool,
    /// Last fire that came on all nodes together.
    pub(crate) last_fire: Option<coordination::FireTime>,
    pub(crate) resource: Resource,
    pub(crate) tracked: Tracked,
    pub(crate) recorder: Recorder,
    pub(crate) coverage: Coverage,
    pub(crate) injection: Option<Injection>,
    pub(crate) violation: Option<Violation>,
}

impl World {
    /// Creates a cluster whose processes have just started.
    pub(crate) fn new(script: Script, keep: Keep) -> Self {
        let mut model = Model::new();
        let operator = model.open_session();
        let nodes = usize::from(script.profile.nodes);
        let job = &script.profile.job;
        let mut world = Self {
            step: 0,
            next_act: 0,
            dice: Dice::at(script.seed, Stream::Schedule, 0),
            model,
            paths: Paths::new(),
            nodes: (0..nodes).map(|index| Node::new(index, 0, 0, job)).collect(),
            sessions: BTreeMap::new(),
            observer: product::coordinator(&product::server(usize::from(u8::MAX) - 2), job),
            operator,
            mono: Duration::ZERO,
            epoch_ms: match script.profile.midnight_s {
                0 => EPOCH_MS,
                seconds => EPOCH_MS + 60_000 - 1_000 * i64::from(seconds),
            },
            agenda: Agenda::default(),
            registry_down: false,
            has_missed_changes: false,
            outage_ends_sessions: false,
            late_writes: Vec::new(),
            n_instances: 0,
            settings: script.profile.job.clone(),
            fires_on: true,
            healing: false,
            last_fire: None,
            resource: Resource::default(),
            tracked: Tracked::default(),
            recorder: Recorder::new(keep, nodes),
            coverage: Coverage::default(),
            injection: None,
            violation: None,
            script,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        self.show_time();
        self.record_meta();
        self.observe_changes(vec![Change::Init, Change::Ready]);
        let document = product::document(&self.settings, &self.script.profile);
        if let Some((path, limits)) = product::group_limits(&self.settings) {
            self.operate(&Txn::new().create(path, limits, Lifetime::Persistent));
        }
        let path = self.paths.config();
        self.operate(&Txn::new().create(path, document, Lifetime::Persistent));
        for index in 0..self.nodes.len() {
            self.start_process(index);
        }
    }

    pub(crate) fn start_process(&mut self, index: usize) {
        let server = self.nodes[index].server.to_string();
        self.record(index, Fact::Process { ev: ProcessEvent::Start, server: server.clone() });
        self.record(index, Fact::Process { ev: ProcessEvent::Ready, server });
        self.relink(index);
    }

    pub(crate) fn observe_changes(&mut self, changes: Vec<Change>) {
        let now = product::now(self.true_wall(), None, self.mono);
        self.observer.handle(now, Event::Registry(changes), &mut Vec::new());
    }

    // ---- the step loop ----

    /// Returns true while the run has steps left and no violation.
    pub(crate) fn has_steps_left(&self) -> bool {
        self.violation.is_none() && self.step < self.script.profile.steps
    }

    pub(crate) fn step(&mut self) {
        self.step += 1;
        let (seed, moment) = (self.script.seed, 2 * u64::from(self.step));
        self.dice = Dice::at(seed, Stream::Schedule, moment);
        self.act();
        self.dice = Dice::at(seed, Stream::Schedule, moment + 1);
        let activity = self.dice.weighted(&self.script.profile.pace.weights);
        let index = self.dice.place(self.nodes.len());
        match activity {
            0 => self.deliver(index),
            1 => self.execute(index),
            2 => self.reply(index),
            3 => self.poll(index),
            4 => self.finish(index),
            5 => self.deliver_fire(index),
            _ => {
                self.advance(Duration::from_millis(self.script.profile.pace.quantum_ms.into()));
                self.execute_late_request();
            }
        }
    }

    fn act(&mut self) {
        while let Some(timed) = self.script.acts.get(self.next_act)
            && timed.step <= self.step
        {
            let act = timed.act.clone();
            self.next_act += 1;
            self.perform(&act);
        }
    }

    pub(crate) fn deliver(&mut self, index: usize) {
        // Healing is about the final state, not about every order of messages, so batches are
        // large.
        let most = if self.healing { 64 } else { usize::from(self.script.profile.pace.batch) };
        let node = &mut self.nodes[index];
        if node.is_up()
            && node.lag_until <= self.mono
            && let Some(event) = node.inbox.pop(most)
        {
            self.handle(index, event);
        }
    }

    pub(crate) fn poll(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        if node.is_linked() && node.is_up() {
            let pace = &self.script.profile.pace;
            node.inbox.poll(&self.model, pace, &mut self.dice);
        }
    }

    pub(crate) fn reply(&mut self, index: usize) {
        if self.nodes[index].is_up()
            && let Some((ticket, reply)) = self.nodes[index].replies.pop_front()
        {
            self.handle(index, Event::Replied { ticket, reply });
        }
    }

    // ---- events of nodes ----

    pub(crate) fn handle(&mut self, index: usize, event: Event) {
        self.handle_all(index, vec![event]);
    }

    /// Delivers events that arrive together to a coordinator, and executes its commands.
    pub(crate) fn handle_all(&mut self, index: usize, events: Vec<Event>) {
        for event in &events {
            self.recorder.mix(u64::from(self.step) << 8 | u64::try_from(index).unwrap_or(0));
            self.recorder.mix_bytes(event.name().as_bytes());
            self.recorder.trace_line(|| format!("{index} <- {event}"));
            self.record_session(index, event);
            self.note_received(index, event);
            // The reply to a write carries the registry's time. After an unknown outcome, the shell
            // asks for it.
            let replied =
                matches!(event, Event::Replied { reply: Reply::Committed(_) | Reply::Unknown, .. });
            self.nodes[index].knows_time |= replied;
            self.coverage.events += 1;
        }
        let registry_ms = self.nodes[index].knows_time.then(|| self.true_wall());
        let now = product::now(self.wall(index), registry_ms, self.mono);
        let mut commands = Vec::new();
        let release = self.release(index);
        let read: Vec<_> = events.into_iter().map(|event| release.read(event)).collect();
        self.nodes[index].coordinator.handle_all(now, read, &mut commands);
        for command in commands {
            self.recorder.trace_line(|| format!("{index} -> {command}"));
            self.execute_command(index, command);
        }
    }

    fn execute_command(&mut self, index: usize, command: Command) {
        match command {
            Command::Commit { ticket, txn, confirm_absent, .. } => {
                self.check_commit(index, ticket, &txn);
                let written = self.release(index).written(txn);
                self.send(index, ticket, written, confirm_absent);
            }
            Command::Start(items) => {
                items.into_iter().for_each(|start| self.start_run(index, &start));
            }
            Command::CallOnce { stage, fire, token } => self.call_once(index, stage, fire, token),
            Command::Interrupt(_) => self.interrupt(index),
            Command::Cancel(cancel) => self.cancel_run(index, &cancel),
            Command::Left => self.leave(index),
            Command::LeaveRequested => self.drain(index, Duration::from_secs(1)),
            Command::Schedule(config) => self.schedule(index, &config),
            Command::Emit(event) => self.emit(index, &event),
            Command::Follow(scope) => self.follow(index, scope),
            Command::Read(scope) => self.read(index, &scope),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "most events are only counted by their name"
    )]
    fn emit(&mut self, index: usize, event: &JobEvent) {
        let name = event.name();
        self.coverage.count(name);
        match event {
            JobEvent::Claimed { source: RunSource::Failover, .. } => {
                self.coverage.count("failover")
            }
            JobEvent::Claimed { source: RunSource::Misfire, .. } => self.coverage.count("misfire"),
            JobEvent::Resharded { deferred, .. } if *deferred > 0 => {
                self.coverage.count("deferred_move");
            }
            JobEvent::ChangesMissed { nodes, .. }
                if !self.has_missed_changes && !self.script.profile.is_slow() =>
            {
                self.fail("view", format!("node {index} reports changes as missed: {nodes}"));
            }
            JobEvent::Missed { item, fire, reason } => {
                if *reason == MissReason::QueueFull {
                    self.coverage.count("queue_full");
                }
                let (item, fire, reason) = (item.map(|i| i.index()), fire.0, reason.to_string());
                let job = product::JOB.to_owned();
                self.record_with(index, || Fact::Missed { job, item, fire, reason });
            }
            _ => {}
        }
        if let JobEvent::Gap { item, gap } = event {
            let (job, item) = (product::JOB.to_owned(), item.index());
            let (first, until, count) = (gap.first.0, gap.until.0, gap.count);
            self.record_with(index, || Fact::Gap { job, item, first, until, count });
        } else if !matches!(event, JobEvent::Missed { .. }) {
            let job = product::JOB.to_owned();
            let text = || event.to_string();
            self.record_with(index, || Fact::Event { job, name: name.to_owned(), text: text() });
        }
    }
}
