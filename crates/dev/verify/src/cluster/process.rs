//! A worker process: its start, messages, signals and end.

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
use crate::protocol::{Message, Order, Plan};
use crate::worker::LEFT_IN_ORDER;

/// Limit for the execution of an order. The worker may be waiting for a registry that is down.
const OBEY_LIMIT: Duration = Duration::from_secs(60);
/// Limit for the end of a killed process.
pub(super) const END_LIMIT: Duration = Duration::from_secs(30);

/// State of a worker process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    /// Stopped by SIGSTOP.
    Paused,
    /// Ordered to leave.
    Leaving,
    Ended,
}

/// A worker process. Dropping it kills the process, also when a test panics.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) name: String,
    /// Process id; `None` once the process may have been reaped, because the id may then belong to
    /// another process.
    pid: Mutex<Option<Pid>>,
    state: watch::Sender<State>,
    orders: mpsc::UnboundedSender<Order>,
    n_sent: AtomicU64,
    n_executed: watch::Sender<u64>,
    /// True if the harness expects the process to end.
    is_end_expected: AtomicBool,
    watcher: Mutex<Option<AbortHandle>>,
}

/// Handler of a worker's messages.
pub(super) trait Listener: Send + Sync + 'static {
    /// The worker has written to its history.
    fn wrote(&self);
    /// The worker has reached a point. Returns the order to continue, if the worker waits for one.
    fn reached(
        &self,
        process: &Arc<Process>,
        arm: u32,
        session: Option<i64>,
    ) -> impl Future<Output = Option<Order>> + Send;
    /// The worker has ended unexpectedly.
    fn ended_by_itself(&self, process: &Process, how: &str);
}

impl Process {
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
            return Err(harness(act(), std::io::Error::other("the process has no pipes")));
        };
        let (orders, inbox) = mpsc::unbounded_channel();
        let first_line = journal::line(plan).map_err(|error| harness(act(), error))?;
        tokio::spawn(write_orders(input, first_line, inbox));
        let process = Arc::new(Self {
            name: plan.name.clone(),
            pid: Mutex::new(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))),
            state: watch::Sender::new(State::Running),
            orders,
            n_sent: AtomicU64::new(0),
            n_executed: watch::Sender::new(0),
            is_end_expected: AtomicBool::new(false),
            watcher: Mutex::new(None),
        });
        // The watcher has a weak reference: dropping the last strong one ends the process and its
        // watcher.
        let watcher =
            tokio::spawn(watch_process(Arc::downgrade(&process), child, output, listener));
        *process.watcher.lock() = Some(watcher.abort_handle());
        Ok(process)
    }

    pub(super) fn state(&self) -> State {
        *self.state.borrow()
    }

    /// Changes the state. `Ended` is final.
    pub(super) fn enter(&self, next: State) {
        self.state.send_if_modified(|state| {
            let changes = *state != State::Ended && *state != next;
            if changes {
                *state = next;
            }
            changes
        });
    }

    /// Marks the end of the process as expected from now on.
    pub(super) fn expect_end(&self) {
        self.is_end_expected.store(true, Ordering::Relaxed);
    }

    pub(super) fn signal(&self, act: &'static str, signal: Signal) -> Result<Pid, ClusterError> {
        let pid = self.pid.lock().ok_or_else(|| refused(act, &self.name, "has ended"))?;
        kill_process(pid, signal).map_err(|error| harness(act, std::io::Error::from(error)))?;
        Ok(pid)
    }

    /// Stops the process and waits until all its threads are stopped.
    pub(super) fn pause(&self) -> Result<(), ClusterError> {
        let pid = self.signal("pause", Signal::STOP)?;
        self.wait_until_stopped(pid)?;
        self.enter(State::Paused);
        Ok(())
    }

    /// Waits until the process has stopped itself, after it has announced that.
    pub(super) fn stopped_by_itself(&self) -> Result<(), ClusterError> {
        let pid = self.pid.lock().ok_or_else(|| refused("pause", &self.name, "has ended"))?;
        self.wait_until_stopped(pid)?;
        self.enter(State::Paused);
        Ok(())
    }

    fn wait_until_stopped(&self, pid: Pid) -> Result<(), ClusterError> {
        // NOWAIT leaves the status to the task that reaps the process.
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

    /// Kills the process and waits for its end.
    pub(super) async fn kill(&self) -> Result<(), ClusterError> {
        self.expect_end();
        self.signal("kill", Signal::KILL)?;
        self.ended(END_LIMIT).await
    }

    /// Waits for the end of the process.
    pub(super) async fn ended(&self, limit: Duration) -> Result<(), ClusterError> {
        let mut state = self.state.subscribe();
        let ended = state.wait_for(|state| *state == State::Ended);
        match tokio::time::timeout(limit, ended).await {
            Ok(_) => Ok(()),
            Err(elapsed) => Err(harness(format!("wait for the end of {}", self.name), elapsed)),
        }
    }

    /// Sends an order without waiting, and returns its number.
    pub(super) fn send(&self, order: Order) -> u64 {
        // The order is lost if the process has ended; callers that need it wait for the answer.
        let _ = self.orders.send(order);
        self.n_sent.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Sends an order and waits until it is executed. A stopped process executes it after it
    /// continues.
    pub(super) async fn order(&self, act: &'static str, order: Order) -> Result<(), ClusterError> {
        let number = self.send(order);
        if self.state() == State::Paused {
            return Ok(());
        }
        let mut executed = self.n_executed.subscribe();
        let mut state = self.state.subscribe();
        let stands = state.wait_for(|state| matches!(state, State::Ended | State::Paused));
        tokio::select! {
            executed = tokio::time::timeout(OBEY_LIMIT, executed.wait_for(|executed| *executed >= number)) => {
                executed.map(drop).map_err(|elapsed| harness(format!("{act} {}", self.name), elapsed))
            }
            stands = stands => match stands.map(|state| *state) {
                // The process has stopped itself at a point, and executes the order later.
                Ok(State::Paused) => Ok(()),
                Ok(State::Running | State::Leaving | State::Ended) | Err(_) => {
                    Err(refused(act, &self.name, "has ended"))
                }
            },
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(pid) = self.pid.lock().take() {
            // The kill fails only if the process has ended.
            let _ = kill_process(pid, Signal::KILL);
        }
        if let Some(watcher) = self.watcher.lock().take() {
            watcher.abort();
        }
    }
}

/// Writes the plan and then orders, as long as the harness may send some. The end of the input ends
/// the process.
async fn write_orders(
    mut input: ChildStdin,
    first_line: Vec<u8>,
    mut orders: mpsc::UnboundedReceiver<Order>,
) {
    let mut line = Some(first_line);
    while let Some(bytes) = line {
        if input.write_all(&bytes).await.is_err() {
            // The process has ended, which its watcher reports.
            return;
        }
        line = orders.recv().await.and_then(|order| journal::line(&order).ok());
    }
}

/// Handles the messages of a process until it ends, and reaps it.
async fn watch_process(
    process: std::sync::Weak<Process>,
    mut child: Child,
    output: ChildStdout,
    listener: Arc<impl Listener>,
) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Some(process) = process.upgrade() else { return };
        match serde_json::from_str(&line) {
            Ok(Message::Wrote) => listener.wrote(),
            Ok(Message::Took) => process.n_executed.send_modify(|executed| *executed += 1),
            Ok(Message::Reached { arm, session }) => {
                if let Some(order) = listener.reached(&process, arm, session).await {
                    process.send(order);
                }
            }
            Err(error) => {
                tracing::warn!(worker = process.name, line, %error, "the worker sent an invalid message")
            }
        }
    }
    // The process id may be reused once the process is reaped, so no signal may be sent from here
    // on.
    let Some(process) = process.upgrade() else { return };
    process.pid.lock().take();
    let how = match child.wait().await {
        Ok(status) if status.code() == Some(LEFT_IN_ORDER) => None,
        Ok(status) => Some(status.to_string()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(how) = how.filter(|_| !process.is_end_expected.load(Ordering::Relaxed)) {
        listener.ended_by_itself(&process, &how);
    }
    process.enter(State::Ended);
    listener.wrote();
}
