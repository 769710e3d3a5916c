//! A store with injected faults.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reg_center::{Beat, Node, NodePath, Op, Revision, Scope, SessionId};

use crate::store::{Batch, Failure, News, Result, Store};

/// How accesses to the file behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Pass,
    /// Every access fails at once, as if the file was gone.
    Fail,
    /// The next access fails.
    FailOnce,
    /// Every access waits and then fails, as if another process held the lock.
    FailAfter(Duration),
    /// Every access takes longer.
    Delay(Duration),
    /// The next commit happens and its outcome is lost. Then every access fails. Before the commit
    /// accesses pass: a failed poll would suspend the session, and the commit would not be tried.
    LoseReply,
}

pub(super) struct FaultyStore<S> {
    inner: S,
    mode: Arc<Mutex<Mode>>,
}

impl<S: Store> FaultyStore<S> {
    pub(super) fn new(inner: S, mode: Arc<Mutex<Mode>>) -> Self {
        Self { inner, mode }
    }

    fn access<T>(&mut self, access: impl FnOnce(&mut S) -> Result<T>) -> Result<T> {
        let mode = *self.mode.lock();
        let injected = || Err(Failure::NotDone("injected".to_owned()));
        match mode {
            Mode::Pass | Mode::LoseReply => access(&mut self.inner),
            Mode::Fail => injected(),
            Mode::FailOnce => {
                *self.mode.lock() = Mode::Pass;
                injected()
            }
            Mode::FailAfter(wait) => {
                std::thread::sleep(wait);
                injected()
            }
            Mode::Delay(wait) => {
                std::thread::sleep(wait);
                access(&mut self.inner)
            }
        }
    }
}

impl<S: Store> Store for FaultyStore<S> {
    fn reopen(&mut self) -> Result<()> {
        self.access(S::reopen)
    }

    fn open_session(&mut self, timeout: Duration) -> Result<SessionId> {
        self.access(|store| store.open_session(timeout))
    }

    fn beat(&mut self) -> Result<()> {
        self.access(S::beat)
    }

    fn end_session(&mut self, session: SessionId) -> Result<()> {
        self.access(|store| store.end_session(session))
    }

    fn end_silent(&mut self, silent: &[Beat]) -> Result<()> {
        self.access(|store| store.end_silent(silent))
    }

    fn beats(&mut self) -> Result<(Vec<Beat>, Vec<Beat>)> {
        self.access(S::beats)
    }

    fn commit(&mut self, txns: &[&[Op]]) -> Result<Batch> {
        if *self.mode.lock() == Mode::LoseReply {
            // Before the commit: a test that sees its effect may set the next mode at once.
            *self.mode.lock() = Mode::Fail;
            self.inner.commit(txns)?;
            return Err(Failure::Unknown("injected".to_owned()));
        }
        self.access(|store| store.commit(txns))
    }

    fn read(&mut self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        self.access(|store| store.read(paths))
    }

    fn children(&mut self, path: &NodePath) -> Result<Option<Vec<String>>> {
        self.access(|store| store.children(path))
    }

    fn snapshot(&mut self, scope: &Scope) -> Result<(Revision, Vec<Node>)> {
        self.access(|store| store.snapshot(scope))
    }

    fn news(&mut self, after: Revision) -> Result<News> {
        self.access(|store| store.news(after))
    }

    fn was_written(&mut self) -> Result<bool> {
        self.access(S::was_written)
    }
}
