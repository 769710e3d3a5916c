//! The gate of a process. Every poll of every task passes through it, so a process can stop between
//! any two polls.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use lite::{Spawn, Task};
use parking_lot::Mutex;

/// Execution state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessState {
    /// Its tasks are polled.
    Running,
    /// As after SIGSTOP: its tasks keep their state, and their wake-ups are kept for the resume.
    Paused,
    /// As after SIGKILL: its tasks are never polled again, and never dropped while the world
    /// exists.
    Killed,
    /// The program has ended by itself. Its remaining tasks are never polled again.
    Ended,
}

/// Gate of one incarnation of a process.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    process: ProcessState,
    waiting: Vec<Waker>,
}

impl Gate {
    pub(crate) fn open() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State { process: ProcessState::Running, waiting: Vec::new() }),
        })
    }

    pub(crate) fn state(&self) -> ProcessState {
        self.state.lock().process
    }

    pub(crate) fn pause(&self) {
        let mut state = self.state.lock();
        if state.process == ProcessState::Running {
            state.process = ProcessState::Paused;
        }
    }

    /// Continues the process and wakes all tasks that were woken during the pause. Timers that came
    /// due meanwhile fire now.
    pub(crate) fn resume(&self) {
        let mut state = self.state.lock();
        if state.process == ProcessState::Paused {
            state.process = ProcessState::Running;
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) fn kill(&self) {
        self.state.lock().process = ProcessState::Killed;
    }

    /// Records that the program has ended by itself.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        if state.process != ProcessState::Killed {
            state.process = ProcessState::Ended;
        }
    }

    /// Returns true if a task may be polled. During a pause it keeps the waker for the resume.
    fn admits(&self, waker: &Waker) -> bool {
        let mut state = self.state.lock();
        match state.process {
            ProcessState::Running => true,
            ProcessState::Paused => {
                state.waiting.push(waker.clone());
                false
            }
            ProcessState::Killed | ProcessState::Ended => false,
        }
    }
}

/// Starts tasks behind a gate.
#[derive(Clone, Debug)]
pub(crate) struct GatedSpawn {
    pub(crate) gate: Arc<Gate>,
}

impl Spawn for GatedSpawn {
    fn spawn(&self, task: Task) {
        drop(tokio::spawn(Gated { gate: Arc::clone(&self.gate), task }));
    }
}

/// A task behind a gate. The runtime owns it, so a task of a killed process stays as it is until
/// the runtime ends.
struct Gated {
    gate: Arc<Gate>,
    task: Task,
}

impl Future for Gated {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.gate.admits(cx.waker()) { self.task.as_mut().poll(cx) } else { Poll::Pending }
    }
}
