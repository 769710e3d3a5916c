//! Nodes of a job with any data, and an instance that handles them.

use arbitrary::{Result, Unstructured};
use coordination::{
    Command, Coordinator, Event, FireTime, JobEvent, Outcome, Reply, RequestParameter,
};
use reg_center::{Change, Conflict, ConflictReason, Node, Revision, SessionId};
use serde_json::{Number, Value};

use crate::job_tree::{
    OTHER_SESSION, SESSION, connected, good_nodes, node, now, snapshot, with_snapshot,
};

const STEPS: std::ops::RangeInclusive<usize> = 1..=12;
/// Prefixes of nodes whose data is JSON.
const JSON: [&str; 4] =
    ["ledger/", "coordination/term", "coordination/assignment", "coordination/once"];

/// Prefixes of nodes with several values.
const RICH: [&str; 5] =
    ["config", "ledger/", "coordination/assignment", "coordination/once", "coordination/triggers"];

/// Takes steps from `bytes`: changes of nodes, results of commits and runs, and due fires.
pub fn run(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let mut scene = Scene::new();
    let Ok(steps) = u.int_in_range(STEPS) else { return };
    let Ok(()) = scene.begin(&mut u) else { return };
    for _ in 0..steps {
        if scene.step(&mut u).is_err() {
            break;
        }
    }
    scene.check_repair();
}

struct Scene {
    coordinator: Coordinator,
    ms: u32,
    revision: u64,
    pending: Vec<Event>,
}

impl Scene {
    fn new() -> Self {
        Self { coordinator: connected(), ms: 0, revision: 1, pending: Vec::new() }
    }

    /// Shows the valid tree; the commands of the instance are then pending.
    fn begin(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let nodes = good_nodes();
        let nodes = nodes.into_iter().map(|(at, data, owner)| node(at, data, 0, 1, owner));
        self.handle(u, snapshot(nodes))
    }

    fn step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        self.ms += u.int_in_range(0..=20_000)?;
        match u.int_in_range(0..=9)? {
            0..=4 => self.show(u),
            5 => {
                let at = FireTime(i64::from(self.ms / 10_000) * 10_000);
                let missed: Vec<_> = (1..=u.int_in_range(0..=3)?)
                    .rev()
                    .map(|n| FireTime(at.0 - n * 10_000))
                    .collect();
                let event = Event::Fire { at, next: Some(FireTime(at.0 + 10_000)), missed };
                self.handle(u, event)
            }
            6 => {
                let events = [
                    Event::Wake,
                    Event::TriggerRequested { parameter: self.parameter() },
                    Event::Paused,
                    Event::Resumed,
                    Event::Suspended,
                    Event::LeaseExpired,
                    Event::Connected { session: SESSION, incarnation: crate::job_tree::ME.into() },
                    Event::Drain,
                ];
                let event = u.choose(&events)?.clone();
                self.handle(u, event)
            }
            _ if self.pending.is_empty() => self.handle(u, Event::Wake),
            _ => {
                let choice = u.choose_index(self.pending.len())?;
                let event = self.pending.swap_remove(choice);
                self.handle(u, event)
            }
        }
    }

    /// Returns a parameter of a manual request in every other millisecond. It draws no bytes, so
    /// that stored seeds keep their meaning.
    fn parameter(&self) -> Option<RequestParameter> {
        let text = "february ".repeat(usize::try_from(self.ms % 400).unwrap_or(1));
        (self.ms % 2 == 1).then(|| RequestParameter::new(&text).expect("a valid parameter"))
    }

    /// Shows a node with any data, or shows that it was deleted.
    fn show(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let nodes = good_nodes();
        // Mostly nodes with numbers and names in their data.
        let rich: Vec<_> =
            nodes.iter().filter(|(at, ..)| RICH.iter().any(|r| at.starts_with(r))).collect();
        let (at, good, owner) = if u.ratio(2, 3)? { *u.choose(&rich)? } else { u.choose(&nodes)? };
        self.revision += 1;
        if u.ratio(1, 6)? {
            let revision = Some(Revision(self.revision));
            let gone = Change::Gone { path: crate::job_tree::path(at), revision };
            return self.handle(u, Event::Registry(vec![gone]));
        }
        let data = data(u, good)?;
        let owner = if u.ratio(1, 8)? { Some(*u.choose(&SESSIONS)?).flatten() } else { *owner };
        let version = u.int_in_range(0..=u32::MAX)?;
        let put = node(at, data, version, self.revision, owner);
        let must_be_reported = JSON.iter().any(|json| at.starts_with(json))
            && serde_json::from_slice::<Value>(&put.data).is_err();
        let reported =
            self.handle_and_queue_replies(u, Event::Registry(vec![Change::Put(put.clone())]))?;
        assert!(reported || !must_be_reported, "the instance does not report {put:?}");
        Ok(())
    }

    fn handle(&mut self, u: &mut Unstructured<'_>, event: Event) -> Result<()> {
        self.handle_and_queue_replies(u, event).map(|_| ())
    }

    /// Handles an event, queues replies to its commands, and returns true if an anomaly was
    /// reported.
    fn handle_and_queue_replies(&mut self, u: &mut Unstructured<'_>, event: Event) -> Result<bool> {
        let mut commands = Vec::new();
        self.coordinator.handle(now(self.ms), event, &mut commands);
        let mut reported = false;
        for command in commands {
            assert!(!command.to_string().is_empty());
            match command {
                Command::Commit { ticket, txn, .. } => {
                    assert!(!txn.ops().is_empty(), "a commit without operations");
                    let reply = reply(u, self.revision)?;
                    self.pending.push(Event::Replied { ticket, reply });
                }
                Command::Start(items) => {
                    for item in items {
                        let outcome = *u.choose(&OUTCOMES)?;
                        let (item, slot, token) = (item.item, item.slot, item.token);
                        self.pending.push(Event::ItemFinished {
                            item,
                            slot,
                            token,
                            outcome,
                            reason: None,
                        });
                    }
                }
                Command::CallOnce { stage, token, .. } => {
                    self.pending.push(Event::OnceReturned { stage, token });
                }
                Command::Emit(JobEvent::Anomaly { path, reason }) => {
                    assert!(path.starts_with("/report/") && !reason.is_empty(), "{path}: {reason}");
                    reported = true;
                }
                Command::Emit(_)
                | Command::Follow(_)
                | Command::Read(_)
                | Command::Interrupt(_)
                | Command::Cancel(_)
                | Command::Schedule(_)
                | Command::LeaveRequested
                | Command::Left => {}
            }
        }
        let status = self.coordinator.status();
        assert!(
            status.owned.iter().all(|item| self.coordinator.view().item(*item).owner.is_some())
        );
        assert!(!self.coordinator.view().to_string().is_empty());
        let _ = (self.coordinator.next_wake(), self.coordinator.catch_up_since());
        Ok(reported)
    }

    /// Checks that valid values repair the view: it equals that of an instance that has seen
    /// nothing else.
    fn check_repair(mut self) {
        let nodes: Vec<Node> = good_nodes()
            .into_iter()
            .map(|(at, data, owner)| node(at, data, 7, self.revision + 1, owner))
            .collect();
        let puts = nodes.iter().cloned().map(Change::Put).collect();
        self.coordinator.handle(now(self.ms), Event::Registry(puts), &mut Vec::new());
        let fresh = with_snapshot(nodes);
        assert_eq!(self.coordinator.view(), fresh.view(), "valid values do not repair the view");
    }
}

const SESSIONS: [Option<SessionId>; 3] = [None, Some(SESSION), Some(OTHER_SESSION)];
const OUTCOMES: [Outcome; 6] = [
    Outcome::Succeeded,
    Outcome::Failed,
    Outcome::Panicked,
    Outcome::TimedOut,
    Outcome::Interrupted,
    Outcome::Cancelled,
];

fn reply(u: &mut Unstructured<'_>, revision: u64) -> Result<Reply> {
    let conflict = Conflict { index: 0, reason: ConflictReason::VersionMismatch };
    let replies = [
        Reply::Committed(Some(Revision(revision))),
        Reply::Committed(None),
        Reply::Conflict(conflict),
        Reply::HolderAlive,
        Reply::Unknown,
        Reply::NotExecuted,
        Reply::TooLarge,
    ];
    u.choose(&replies).copied()
}

/// Returns any bytes, or a valid document with one change.
fn data(u: &mut Unstructured<'_>, good: &str) -> Result<Vec<u8>> {
    Ok(match u.int_in_range(0..=5)? {
        0 => u.bytes(u.len().min(24))?.to_vec(),
        1 => good.as_bytes()[..u.int_in_range(0..=good.len())?].to_vec(),
        2 => good.as_bytes().to_vec(),
        _ => match serde_json::from_str::<Value>(good) {
            Ok(mut document) => {
                change(u, &mut document)?;
                document.to_string().into_bytes()
            }
            Err(_) => u.bytes(u.len().min(24))?.to_vec(),
        },
    })
}

/// Changes one value somewhere in a document.
fn change(u: &mut Unstructured<'_>, value: &mut Value) -> Result<()> {
    if u.ratio(1, 8)? {
        *value = other(u)?;
        return Ok(());
    }
    match value {
        Value::Array(values) if !values.is_empty() => {
            let choice = u.choose_index(values.len())?;
            if u.ratio(1, 6)? {
                let twice = values[choice].clone();
                values.push(twice);
                return Ok(());
            }
            change(u, &mut values[choice])
        }
        Value::Object(fields) if !fields.is_empty() => {
            let choice = u.choose_index(fields.len())?;
            let name = fields.keys().nth(choice).cloned().unwrap_or_default();
            if u.ratio(1, 8)? {
                fields.remove(&name);
                return Ok(());
            }
            change(u, &mut fields[&name])
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            *value = other(u)?;
            Ok(())
        }
    }
}

fn other(u: &mut Unstructured<'_>) -> Result<Value> {
    let number = |number: i128| Number::from_i128(number).map_or(Value::Null, Value::Number);
    let max = i128::from(u64::MAX);
    let values = [
        Value::Null,
        Value::Bool(true),
        Value::Array(Vec::new()),
        Value::Object(serde_json::Map::new()),
        Value::String(String::new()),
        Value::String(crate::job_tree::ME.into()),
        Value::String("a/b@-@\u{0}".into()),
        Value::String("running".into()),
        Value::String("orphan".into()),
        Value::String("retired".into()),
        number(0),
        number(1),
        number(-1),
        number(61),
        number(i128::from(i64::MAX)),
        number(i128::from(i64::MIN)),
        number(i128::from(u32::MAX)),
        number(max - 1),
        number(max),
    ];
    u.choose(&values).cloned()
}
