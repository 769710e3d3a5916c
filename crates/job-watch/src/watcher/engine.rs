//! The loop of the watcher: it waits for changes and deadlines, and brings judgements, alerts,
//! messages and records up to date.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use coordination::JobName;
use jiff::Timestamp;
use operations::{Freshness, LiveNamespace, Updates};
use parking_lot::Mutex;
use reg_center::{Change, Feed, SessionChange, SessionFeed, SessionId};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::board::Board;
use super::outage::Outage;
use super::sender::Sender;
use super::view::Shown;
use super::{WallClock, WatchError, Watcher};
use crate::store::{SilenceView, Store, StoreError, watched_root};
use crate::{HistoryByJob, WatchFile};

/// Minimum interval of two judgements of changed jobs.
const UPDATE_INTERVAL: Duration = Duration::from_millis(250);
/// Time between the end of an outage and the first judgement. The registry can answer again before
/// it delivers what has changed meanwhile.
const SETTLING: Duration = Duration::from_secs(2);
/// Longest sleep, so that a step of the wall clock delays no deadline for longer.
const MAX_SLEEP: Duration = Duration::from_secs(60);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// Time for messages that are being sent when the watcher stops.
const LAST_MESSAGES: Duration = Duration::from_secs(10);

/// The state of the loop.
pub(super) struct Engine {
    file: Arc<WatchFile>,
    clock: WallClock,
    /// `None` if there is no history, or its reader has ended.
    history: Option<watch::Receiver<HistoryByJob>>,
    live: Arc<LiveNamespace>,
    updates: Updates,
    state: Feed,
    sessions: SessionFeed,
    /// The feed has delivered the whole state of watchers.
    is_state_shown: bool,
    /// Session, while the registry answers.
    session: Option<SessionId>,
    silences: SilenceView,
    board: Arc<Mutex<Board>>,
    sender: Sender,
    outage: Outage,
    /// Jobs that have changed since they were judged.
    changed: BTreeSet<JobName>,
    is_judged_once: bool,
    /// End of the settling after the last outage; `None` during an outage.
    settled: Option<Instant>,
    retry: Option<Instant>,
    pause: Duration,
    working: watch::Sender<bool>,
    shown: Arc<Mutex<Shown>>,
}

impl Engine {
    pub(super) fn new(watcher: Watcher, working: watch::Sender<bool>) -> Self {
        let Watcher { file, registry, name, clock, mut history, live, board, shown, ended: _ } =
            watcher;
        if let Some(facts) = &mut history {
            board.lock().history.clone_from(&facts.borrow_and_update());
        }
        Self {
            updates: live.updates(UPDATE_INTERVAL),
            state: registry.watch(&watched_root()),
            sessions: registry.session_feed(),
            is_state_shown: false,
            session: None,
            silences: SilenceView::default(),
            sender: Sender::new(Arc::clone(&file), registry, Arc::clone(&board), name),
            outage: Outage::new(Arc::clone(&file)),
            changed: BTreeSet::new(),
            is_judged_once: false,
            settled: Some(Instant::now()),
            retry: None,
            pause: FIRST_RETRY,
            working,
            file,
            clock,
            history,
            live,
            board,
            shown,
        }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) -> Result<(), WatchError> {
        loop {
            let now = (self.clock)();
            self.step(now).await?;
            let wake = self.wake_at(now);
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                change = self.sessions.next() => match change {
                    Some(change) => self.session_changed(change)?,
                    None => return Err(WatchError::Closed),
                },
                change = self.state.next() => match change {
                    Some(change) => self.state_changed(change),
                    None => return Err(WatchError::Closed),
                },
                done = self.sender.next_delivered() => self.sender.note_delivered(done),
                () = self.outage.next_done() => {}
                facts = next_facts(&mut self.history) => self.history_read(facts),
                update = self.updates.next() => match update {
                    Some(update) => self.changed.extend(update.jobs),
                    None => return Err(WatchError::Closed),
                },
                () = tokio::time::sleep_until(wake) => {}
            }
        }
        self.stop().await;
        Ok(())
    }

    /// Brings judgements, alerts, messages and records up to date.
    async fn step(&mut self, now: Timestamp) -> Result<(), WatchError> {
        let freshness = self.live.freshness();
        let is_current = self.is_current(freshness);
        self.outage.update(freshness, is_current, self.sender.was_last_sender());
        if is_current {
            self.judge(now);
        }
        if is_current && self.may_write() && self.retry.is_none_or(|at| at <= Instant::now()) {
            self.retry = None;
            let done = self.write(now).await;
            match done {
                Ok(()) => self.pause = FIRST_RETRY,
                Err(error) if error.is_transient() => {
                    tracing::warn!(%error, retry_in = ?self.pause, "the state is not stored");
                    self.sender.step_down();
                    self.retry = Some(Instant::now() + self.pause);
                    self.pause = (self.pause * 2).min(LONGEST_RETRY);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let is_working = is_current && self.may_write() && self.sender.is_sender();
        self.working.send_if_modified(|shown| std::mem::replace(shown, is_working) != is_working);
        let mut shown = self.shown.lock();
        shown.is_sender = self.sender.is_sender();
        shown.counts = self.sender.counts();
        shown.latency = self.sender.latency();
        Ok(())
    }

    /// Returns true if this watcher may send: it has a session, and knows the silences.
    fn may_write(&self) -> bool {
        self.session.is_some() && self.is_state_shown
    }

    /// Returns true if the states can be judged: they are current, and were so for a while.
    fn is_current(&mut self, freshness: Freshness) -> bool {
        match freshness {
            Freshness::Loading => false,
            Freshness::Stale { .. } => {
                self.settled = None;
                false
            }
            Freshness::Current => {
                *self.settled.get_or_insert_with(|| Instant::now() + SETTLING) <= Instant::now()
            }
        }
    }

    /// Elects, sends and stores.
    async fn write(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let Some(session) = self.session else { return Ok(()) };
        if !self.sender.is_sender() {
            if !self.sender.elect(session).await? {
                return Ok(());
            }
            // The stored memories can change each state, and the states end stored alerts.
            self.changed.extend(self.board.lock().jobs.keys().cloned());
            self.judge(now);
        }
        self.sender.send(&self.silences, now).await?;
        self.sender.persist().await
    }

    fn judge(&mut self, now: Timestamp) {
        let mut jobs = std::mem::take(&mut self.changed);
        let mut board = self.board.lock();
        if !self.is_judged_once {
            self.is_judged_once = true;
            jobs.extend(self.live.jobs().iter().map(|job| job.job().clone()));
            jobs.extend(self.file.named_jobs());
        }
        jobs.extend(board.due(now));
        for job in &jobs {
            let snapshot = self.live.job(job);
            board.note_leader(job, snapshot.as_deref());
            board.judge(&self.file, job, snapshot.as_deref(), now);
            if self.sender.is_sender() {
                board.alert(job, now);
            }
        }
        board.jobs.retain(|_, entry| !entry.is_over());
    }

    /// Judges all jobs by new facts of the history.
    fn history_read(&mut self, facts: Option<HistoryByJob>) {
        let Some(facts) = facts else {
            self.history = None;
            return;
        };
        let mut board = self.board.lock();
        board.history = facts;
        self.changed.extend(board.jobs.keys().cloned());
    }

    fn session_changed(&mut self, change: SessionChange) -> Result<(), WatchError> {
        tracing::debug!(%change, "session changed");
        match change {
            SessionChange::Connected { session, .. } => {
                self.session = Some(session);
                self.sender.keep_session(session);
            }
            SessionChange::Suspended { .. } => self.session = None,
            SessionChange::Lost { .. } => {
                self.session = None;
                self.sender.lose_session();
            }
            SessionChange::Closed => return Err(WatchError::Closed),
        }
        Ok(())
    }

    /// Applies changes of the state of watchers: silences, and the present sender.
    fn state_changed(&mut self, first: Change) {
        let mut next = Some(first);
        while let Some(change) = next.take().or_else(|| self.state.try_next()) {
            match change {
                Change::Init => {
                    self.silences.clear();
                    self.sender.see_sender(None);
                    self.is_state_shown = false;
                }
                Change::Ready => self.is_state_shown = true,
                Change::Entry(node) | Change::Put(node) => {
                    if node.path == Store::sender_path() {
                        self.sender.see_sender(node.stat.owner);
                    }
                    if let Err(error) = self.silences.put(&node.path, &node.data) {
                        tracing::warn!(%error, "the silences are ignored");
                    }
                }
                Change::Gone { path, .. } => {
                    if path == Store::sender_path() {
                        self.sender.see_sender(None);
                    }
                    self.silences.remove(&path);
                }
            }
        }
    }

    /// Returns the next time at which something is due without any event.
    fn wake_at(&self, now: Timestamp) -> Instant {
        let present = Instant::now();
        let now_ms = now.as_millisecond();
        let due = self.board.lock().next_due(&self.file, &self.silences, now_ms);
        let is_settled = self.settled.is_some_and(|at| at <= present);
        let may_write = self.may_write() && is_settled && self.retry.is_none();
        let message = if may_write { self.sender.next_due(&self.silences, now_ms) } else { None };
        let due = due.into_iter().chain(message).min();
        let due = due.map(|due| {
            let wait = u64::try_from(due.saturating_sub(now_ms)).unwrap_or_default();
            present + Duration::from_millis(wait).min(MAX_SLEEP)
        });
        let settled = self.settled.filter(|at| *at > present);
        let retry = self.retry.filter(|at| *at > present);
        let others = [retry, settled, self.outage.next_due(), Some(present + MAX_SLEEP)];
        let all = others.into_iter().flatten().chain(due);
        all.min().unwrap_or(present + MAX_SLEEP)
    }

    /// Waits for the messages that are being sent, and stores their outcomes.
    async fn stop(mut self) {
        self.sender.leave();
        let last = async {
            while self.sender.is_sending() {
                let done = self.sender.next_delivered().await;
                self.sender.note_delivered(done);
            }
        };
        // A message that takes longer is sent once more by the next sender.
        let _ = tokio::time::timeout(LAST_MESSAGES, last).await;
        if self.session.is_some() && self.sender.is_sender() {
            let stored = self.sender.store_outcomes((self.clock)()).await;
            let stored = match stored {
                Ok(()) => self.sender.persist_all().await,
                failed @ Err(_) => failed,
            };
            if let Err(error) = stored {
                tracing::warn!(%error, "the last state is not stored");
            }
        }
    }
}

/// Waits for new facts of the history; `None` after their source has ended.
async fn next_facts(history: &mut Option<watch::Receiver<HistoryByJob>>) -> Option<HistoryByJob> {
    match history {
        None => std::future::pending().await,
        Some(facts) => {
            facts.changed().await.ok()?;
            Some(facts.borrow_and_update().clone())
        }
    }
}
