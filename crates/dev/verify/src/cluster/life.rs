//! One worker process: started, listened to, signalled, reaped.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use testkit::harness::ClusterError;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use super::{harness, refused};
use crate::journal;
use crate::protocol::{Order, Plan, Word};
use crate::worker::LEFT_IN_ORDER;

/// How long a worker may take to obey; it may be waiting for a registry that is down.
const OBEY_LIMIT: Duration = Duration::from_secs(60);
/// How long the kernel may take to end a process that was killed.
pub(super) const END_LIMIT: Duration = Duration::from_secs(30);

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    /// It is stopped.
    Paused,
    /// It was told to leave.
    Leaving,
    Ended,
}

/// A worker process. Dropping it kills it, also when a test panics.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) name: String,
    /// Gone as soon as nobody may signal it any more, because the number may be another process's.
    pid: Mutex<Option<Pid>>,
    state: watch::Sender<State>,
    orders: mpsc::UnboundedSender<Order>,
    n_sent: AtomicU64,
    n_taken: watch::Sender<u64>,
    /// Whether somebody wants it to end.
    is_end_wanted: AtomicBool,
    attendant: Mutex<Option<AbortHandle>>,
}

/// What a worker's words mean to the harness.
pub(super) trait Listener: Send + Sync + 'static {
    /// It has written something.
    fn wrote(&self);
    /// It has reached a point. Returns the order that lets it go on, if it waits for one.
    fn reached(
        &self,
        life: &Arc<Life>,
        arm: u32,
        session: Option<i64>,
    ) -> impl Future<Output = Option<Order>> + Send;
    /// It has ended although nobody wanted that.
    fn ended_by_itself(&self, life: &Life, how: &str);
}

impl Life {
    /// Starts a process with a plan.
    pub(super) fn start(
        mut command: Command,
        plan: &Plan,
        listener: Arc<impl Listener>,
    ) -> Result<Arc<Self>, ClusterError> {
        let act = || format!("start worker {}", plan.name);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| harness(act(), error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(harness(act(), std::io::Error::other("it has no pipes")));
        };
        let (orders, inbox) = mpsc::unbounded_channel();
        let first_line = journal::line(plan).map_err(|error| harness(act(), error))?;
        tokio::spawn(hand_over(input, first_line, inbox));
        let life = Arc::new(Self {
            name: plan.name.clone(),
            pid: Mutex::new(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))),
            state: watch::Sender::new(State::Running),
            orders,
            n_sent: AtomicU64::new(0),
            n_taken: watch::Sender::new(0),
            is_end_wanted: AtomicBool::new(false),
            attendant: Mutex::new(None),
        });
        // The attendant holds no life: whoever drops the last one ends the process, and the attendant with it.
        let attendant = tokio::spawn(attend(Arc::downgrade(&life), child, output, listener));
        *life.attendant.lock() = Some(attendant.abort_handle());
        Ok(life)
    }

    pub(super) fn state(&self) -> State {
        *self.state.borrow()
    }

    /// Changes the state, but never back from the end.
    pub(super) fn enter(&self, next: State) {
        self.state.send_if_modified(|state| {
            let changes = *state != State::Ended && *state != next;
            if changes {
                *state = next;
            }
            changes
        });
    }

    /// From now on its end is no surprise.
    pub(super) fn expect_end(&self) {
        self.is_end_wanted.store(true, Ordering::Relaxed);
    }

    pub(super) fn signal(&self, act: &'static str, signal: Signal) -> Result<Pid, ClusterError> {
        let pid = self.pid.lock().ok_or_else(|| refused(act, &self.name, "has ended"))?;
        kill_process(pid, signal).map_err(|error| harness(act, std::io::Error::from(error)))?;
        Ok(pid)
    }

    /// Stops it and waits until all its threads stand still.
    pub(super) fn pause(&self) -> Result<(), ClusterError> {
        let pid = self.signal("pause", Signal::STOP)?;
        self.wait_until_stopped(pid)?;
        self.enter(State::Paused);
        Ok(())
    }

    /// Waits until it has stopped itself, as it has said it would.
    pub(super) fn stopped_by_itself(&self) -> Result<(), ClusterError> {
        let pid = self.pid.lock().ok_or_else(|| refused("pause", &self.name, "has ended"))?;
        self.wait_until_stopped(pid)?;
        self.enter(State::Paused);
        Ok(())
    }

    fn wait_until_stopped(&self, pid: Pid) -> Result<(), ClusterError> {
        // NOWAIT leaves the state to be collected by whoever reaps the process.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(pid), options)
            .map_err(|error| harness("pause", std::io::Error::from(error)))?;
        match status.is_some_and(|status| status.stopped()) {
            true => Ok(()),
            false => Err(refused("pause", &self.name, "has ended")),
        }
    }

    pub(super) fn resume(&self) -> Result<(), ClusterError> {
        self.signal("resume", Signal::CONT)?;
        self.enter(State::Running);
        Ok(())
    }

    /// Kills it and waits until it is gone.
    pub(super) async fn kill(&self) -> Result<(), ClusterError> {
        self.expect_end();
        self.signal("kill", Signal::KILL)?;
        self.ended(END_LIMIT).await
    }

    /// Waits for its end.
    pub(super) async fn ended(&self, limit: Duration) -> Result<(), ClusterError> {
        let mut state = self.state.subscribe();
        let ended = state.wait_for(|state| *state == State::Ended);
        match tokio::time::timeout(limit, ended).await {
            Ok(_) => Ok(()),
            Err(elapsed) => Err(harness(format!("wait for the end of {}", self.name), elapsed)),
        }
    }

    /// Gives an order without waiting.
    pub(super) fn send(&self, order: Order) -> u64 {
        // A process that has ended takes no orders; who needs it waits for the answer.
        let _ = self.orders.send(order);
        self.n_sent.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Gives an order and waits until it is taken. A stopped process takes it when it goes on.
    pub(super) async fn order(&self, act: &'static str, order: Order) -> Result<(), ClusterError> {
        let number = self.send(order);
        if self.state() == State::Paused {
            return Ok(());
        }
        let mut taken = self.n_taken.subscribe();
        let mut state = self.state.subscribe();
        let stands = state.wait_for(|state| matches!(state, State::Ended | State::Paused));
        tokio::select! {
            taken = tokio::time::timeout(OBEY_LIMIT, taken.wait_for(|taken| *taken >= number)) => {
                taken.map(drop).map_err(|elapsed| harness(format!("{act} {}", self.name), elapsed))
            }
            stands = stands => match stands.map(|state| *state) {
                // It has stopped itself at a point, and takes the order later.
                Ok(State::Paused) => Ok(()),
                Ok(State::Running | State::Leaving | State::Ended) | Err(_) => {
                    Err(refused(act, &self.name, "has ended"))
                }
            },
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(pid) = self.pid.lock().take() {
            // Fails only for a process that has ended.
            let _ = kill_process(pid, Signal::KILL);
        }
        if let Some(attendant) = self.attendant.lock().take() {
            attendant.abort();
        }
    }
}

/// Writes the plan and then orders, as long as somebody may give some. The end of the input ends the process.
async fn hand_over(
    mut input: ChildStdin,
    first_line: Vec<u8>,
    mut orders: mpsc::UnboundedReceiver<Order>,
) {
    let mut line = Some(first_line);
    while let Some(bytes) = line {
        if input.write_all(&bytes).await.is_err() {
            // The process has ended; its attendant tells.
            return;
        }
        line = orders.recv().await.and_then(|order| journal::line(&order).ok());
    }
}

/// Listens to a process until it ends, and reaps it.
async fn attend(
    life: std::sync::Weak<Life>,
    mut child: Child,
    output: ChildStdout,
    listener: Arc<impl Listener>,
) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Some(life) = life.upgrade() else { return };
        match serde_json::from_str(&line) {
            Ok(Word::Wrote) => listener.wrote(),
            Ok(Word::Took) => life.n_taken.send_modify(|taken| *taken += 1),
            Ok(Word::Reached { arm, session }) => {
                if let Some(order) = listener.reached(&life, arm, session).await {
                    life.send(order);
                }
            }
            Err(error) => tracing::warn!(worker = life.name, line, %error, "not understood"),
        }
    }
    // Its number is its own until it is reaped, and nobody may signal it afterwards.
    let Some(life) = life.upgrade() else { return };
    life.pid.lock().take();
    let how = match child.wait().await {
        Ok(status) if status.code() == Some(LEFT_IN_ORDER) => None,
        Ok(status) => Some(status.to_string()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(how) = how.filter(|_| !life.is_end_wanted.load(Ordering::Relaxed)) {
        listener.ended_by_itself(&life, &how);
    }
    life.enter(State::Ended);
    listener.wrote();
}
