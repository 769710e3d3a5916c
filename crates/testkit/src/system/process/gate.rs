//! The gate: every poll of every task of a process goes through it, so that a process can stop between any two polls.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use lite::{Spawn, Task};
use parking_lot::Mutex;

/// Whether a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// Its tasks are polled.
    Running,
    /// SIGSTOP: its tasks keep their state, and their wake-ups for later.
    Paused,
    /// SIGKILL: its tasks are never polled again, and never dropped while the world exists.
    Killed,
    /// The program has come to its own end, and what was left of its tasks with it.
    Ended,
}

/// The gate of one process life.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    life: Life,
    waiting: Vec<Waker>,
}

impl Gate {
    pub(crate) fn open() -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { life: Life::Running, waiting: Vec::new() }) })
    }

    pub(crate) fn life(&self) -> Life {
        self.state.lock().life
    }

    pub(crate) fn pause(&self) {
        let mut state = self.state.lock();
        if state.life == Life::Running {
            state.life = Life::Paused;
        }
    }

    /// Lets everything go on that was woken meanwhile: timers that came due in the pause all fire now.
    pub(crate) fn resume(&self) {
        let mut state = self.state.lock();
        if state.life == Life::Paused {
            state.life = Life::Running;
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) fn kill(&self) {
        self.state.lock().life = Life::Killed;
    }

    /// Notes that the program has come to its own end.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        if state.life != Life::Killed {
            state.life = Life::Ended;
        }
    }

    /// Returns true if a task may be polled; else remembers to wake it at the resume.
    fn admits(&self, waker: &Waker) -> bool {
        let mut state = self.state.lock();
        match state.life {
            Life::Running => true,
            Life::Paused => {
                state.waiting.push(waker.clone());
                false
            }
            Life::Killed | Life::Ended => false,
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

/// A task behind a gate. The runtime owns it: a killed one stays as it is until the runtime ends.
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
