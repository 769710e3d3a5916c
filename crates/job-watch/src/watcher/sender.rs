//! Sends messages while this watcher is the sender, and stores each step before it is done.
//!
//! A message passes through `sending` and `done`. If its outcome is unknown, because the service
//! did not answer or the sender was lost, it passes through `repeating` once, as a possible repeat.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use reg_center::{RegistryCenter, SessionId, Version};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::board::{Board, Notice};
use super::compose;
use super::delivery::{Delivered, Delivery, MessageCounts, Outcome};
use super::unstored::{set_stored, unstored};
use crate::WatchFile;
use crate::store::{
    MessageDoc, OutboxDoc, Phase, SilenceView, Store, StoreError, Stored, Term, Write, encode,
};

/// Maximum number of notices of one message.
const MAX_NOTICES: usize = 100;
/// Minimum interval of two writes of memories.
const PERSIST_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of documents that are stored at once.
const MAX_BATCH: usize = 500;

/// The records of the sender.
struct Lead {
    term: Term,
    outboxes: BTreeMap<String, Stored<OutboxDoc>>,
}

pub(crate) struct Sender {
    file: Arc<WatchFile>,
    registry: Arc<dyn RegistryCenter>,
    store: Store,
    board: Arc<Mutex<Board>>,
    name: String,
    lead: Option<Lead>,
    /// Session of the sender as the feed shows it.
    shown: Option<SessionId>,
    /// This watcher was elected, and no later sender was seen.
    was_last: bool,
    sending: JoinSet<Delivered>,
    /// Cancelled when the watcher stops.
    leaving: CancellationToken,
    /// Messages that are being sent, by channel: their numbers and tasks.
    in_flight: BTreeMap<String, (u64, Id)>,
    /// Outcomes that are not stored yet.
    outcomes: BTreeMap<String, (u64, Outcome)>,
    persisted: Option<Instant>,
    counts: MessageCounts,
}

impl Sender {
    pub(crate) fn new(
        file: Arc<WatchFile>,
        registry: Arc<dyn RegistryCenter>,
        board: Arc<Mutex<Board>>,
        name: String,
    ) -> Self {
        Self {
            store: Store::new(Arc::clone(&registry)),
            file,
            registry,
            board,
            name,
            lead: None,
            shown: None,
            was_last: false,
            sending: JoinSet::new(),
            leaving: CancellationToken::new(),
            in_flight: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            persisted: None,
            counts: MessageCounts::default(),
        }
    }

    pub(crate) fn is_sender(&self) -> bool {
        self.lead.is_some()
    }

    pub(crate) fn was_last_sender(&self) -> bool {
        self.was_last
    }

    pub(crate) fn is_sending(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Ends the pauses before repeats: the next sender repeats those messages.
    pub(crate) fn leave(&self) {
        self.leaving.cancel();
    }

    pub(crate) fn counts(&self) -> MessageCounts {
        self.counts
    }

    pub(crate) fn latency(&self) -> Option<Duration> {
        self.store.latency()
    }

    /// Notes the sender that the feed shows.
    pub(crate) fn see_sender(&mut self, session: Option<SessionId>) {
        self.shown = session;
    }

    /// Ends the term in memory; the records are read anew in the next one. Messages that are being
    /// sent continue, because the session lives.
    pub(crate) fn step_down(&mut self) {
        self.lead = None;
    }

    /// Stops everything that was done in another session.
    pub(crate) fn keep_session(&mut self, session: SessionId) {
        if self.lead.as_ref().is_some_and(|lead| lead.term.session != session) {
            self.lose_session();
        }
    }

    pub(crate) fn lose_session(&mut self) {
        self.lead = None;
        self.sending.abort_all();
        self.in_flight.clear();
    }

    /// Becomes the sender, unless another watcher is. Returns true if this watcher is the sender.
    pub(crate) async fn elect(&mut self, session: SessionId) -> Result<bool, StoreError> {
        if self.shown.is_some_and(|shown| shown != session) {
            self.was_last = false;
            return Ok(false);
        }
        let Some(term) = self.store.elect(session, &self.name).await? else { return Ok(false) };
        let documents = self.store.load().await?;
        let mut board = self.board.lock();
        board.adopt(documents.jobs);
        let channels = self.file.channels();
        board.retain_channels(|channel| channels.contains_key(channel));
        tracing::info!(name = self.name, term = term.number, "this watcher is the sender");
        (self.lead, self.was_last) = (Some(Lead { term, outboxes: documents.outboxes }), true);
        Ok(true)
    }

    /// Waits for the end of a message; pending while none is being sent.
    pub(crate) async fn next_delivered(&mut self) -> Result<Delivered, JoinError> {
        match self.sending.join_next().await {
            Some(delivered) => delivered,
            None => std::future::pending().await,
        }
    }

    /// Notes the outcome of a message. The outcome is unknown if the channel has panicked, and a
    /// task that was cancelled with its session has none.
    pub(crate) fn note_delivered(&mut self, delivered: Result<Delivered, JoinError>) {
        let (name, n, outcome) = match delivered {
            Ok(Delivered { delivery: Delivery { name, n, .. }, outcome }) => (name, n, outcome),
            Err(error) => {
                let is_it = |(_, (_, id)): &(&String, &(u64, Id))| *id == error.id();
                let found = self.in_flight.iter().find(is_it);
                let Some((name, (n, _))) = found.map(|(name, of)| (name.clone(), *of)) else {
                    return;
                };
                tracing::error!(channel = name, n, %error, "sending a message has failed");
                (name, n, Outcome::Unknown)
            }
        };
        if self.in_flight.get(&name).is_some_and(|(known, _)| *known == n) {
            self.in_flight.remove(&name);
        }
        self.counts.add(outcome);
        if outcome != Outcome::Interrupted {
            self.outcomes.insert(name, (n, outcome));
        }
    }

    /// Continues the messages of all channels, and begins new ones.
    pub(crate) async fn send(
        &mut self,
        silences: &SilenceView,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.repeat_unknown().await?;
        self.store_outcomes(now).await?;
        let now = now.as_millisecond();
        let channels: Vec<String> = self.file.channels().keys().cloned().collect();
        for channel in channels {
            if self.is_free(&channel, now) {
                let notices = self.board.lock().notices(&channel, &self.file, silences, now);
                if !notices.is_empty() {
                    self.begin(&channel, notices, now).await?;
                }
            }
        }
        Ok(())
    }

    /// Returns the messages that have ended, and whose end is not stored, with their outcomes.
    fn ended(&self) -> Vec<(String, OutboxDoc, Outcome)> {
        let outboxes = self.lead.iter().flat_map(|lead| &lead.outboxes);
        let ended = outboxes.filter(|(channel, outbox)| {
            outbox.value.phase != Phase::Done && !self.in_flight.contains_key(*channel)
        });
        let with_outcome = ended.map(|(channel, outbox)| {
            let known = self.outcomes.get(channel).filter(|(n, _)| *n == outbox.value.n);
            let outcome = known.map_or(Outcome::Unknown, |(_, outcome)| *outcome);
            (channel.clone(), outbox.value.clone(), outcome)
        });
        with_outcome.collect()
    }

    /// Returns the message to send once more, because its first sending has an unknown outcome.
    fn to_repeat(&self, channel: &str, doc: &OutboxDoc, outcome: Outcome) -> Option<MessageDoc> {
        let is_due = outcome == Outcome::Unknown
            && doc.phase == Phase::Sending
            && self.file.channels().contains_key(channel);
        doc.message.clone().filter(|_| is_due)
    }

    /// Sends the messages once more whose outcome is unknown.
    async fn repeat_unknown(&mut self) -> Result<(), StoreError> {
        for (channel, doc, outcome) in self.ended() {
            let Some(message) = self.to_repeat(&channel, &doc, outcome) else { continue };
            let n = doc.n;
            tracing::warn!(channel, n, "the outcome of the message is unknown, sending again");
            let repeating = OutboxDoc { phase: Phase::Repeating, ..doc };
            self.store_outbox(&channel, repeating, Vec::new()).await?;
            self.outcomes.remove(&channel);
            self.spawn(&channel, n, message, true);
        }
        Ok(())
    }

    /// Stores the outcomes of messages, except of those that are to be sent once more: the next
    /// sender sends them if this one stops.
    pub(crate) async fn store_outcomes(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let at = now.as_millisecond();
        for (channel, doc, outcome) in self.ended() {
            if self.to_repeat(&channel, &doc, outcome).is_some() {
                continue;
            }
            if outcome == Outcome::Unknown {
                tracing::warn!(channel, n = doc.n, "it is unknown whether the message arrived");
            }
            let done = OutboxDoc { phase: Phase::Done, message: None, at, ..doc };
            self.store_outbox(&channel, done, Vec::new()).await?;
            self.outcomes.remove(&channel);
        }
        Ok(())
    }

    /// Returns true if a new message of the channel may begin.
    fn is_free(&self, channel: &str, now: i64) -> bool {
        let Some(lead) = &self.lead else { return false };
        !self.in_flight.contains_key(channel)
            && lead.outboxes.get(channel).is_none_or(|outbox| {
                let since = now.saturating_sub(outbox.value.at);
                // The clock of a former sender may be ahead.
                let is_over = since >= self.interval() || since < 0;
                outbox.value.phase == Phase::Done && is_over
            })
    }

    fn interval(&self) -> i64 {
        i64::try_from(self.file.group_interval.as_millis()).unwrap_or(i64::MAX)
    }

    /// Stores that a message is being sent, together with the alerts that it reports, and sends it.
    async fn begin(
        &mut self,
        channel: &str,
        mut notices: Vec<Notice>,
        now: i64,
    ) -> Result<(), StoreError> {
        let (max_docs, max_bytes) = self.store.room();
        let total = notices.len();
        notices.truncate(MAX_NOTICES.min(max_docs));
        let Some(lead) = &self.lead else { return Ok(()) };
        let n = lead.outboxes.get(channel).map_or(0, |outbox| outbox.value.n) + 1;
        let (message, writes, docs) = {
            let mut board = self.board.lock();
            loop {
                let waiting = total - notices.len();
                let message = compose::message(&self.file, &board, &notices, waiting, n);
                let mut reported = board.jobs_of(&notices);
                reported.mark_reported(&notices, channel, n, now);
                let (writes, docs) = unstored(&mut reported, usize::MAX, usize::MAX);
                let message_bytes = encode(&message).len();
                let bytes = message_bytes + writes.iter().map(Write::bytes).sum::<usize>();
                let fits = message_bytes <= max_bytes / 2 && bytes <= max_bytes;
                if fits || notices.len() <= 1 {
                    board.jobs.append(&mut reported.jobs);
                    break (message, writes, docs);
                }
                notices.truncate(notices.len() / 2);
            }
        };
        let doc = OutboxDoc { n, phase: Phase::Sending, at: now, message: Some(message.clone()) };
        self.store_outbox(channel, doc, writes).await?;
        set_stored(&mut self.board.lock(), docs);
        self.spawn(channel, n, message, false);
        Ok(())
    }

    /// Stores the record of a channel, with other documents in the same transaction.
    async fn store_outbox(
        &mut self,
        channel: &str,
        doc: OutboxDoc,
        mut writes: Vec<Write>,
    ) -> Result<(), StoreError> {
        let Some(lead) = &mut self.lead else { return Ok(()) };
        let version = lead.outboxes.get(channel).and_then(|outbox| outbox.version);
        let data = Some(encode(&doc));
        writes.push(Write { path: Store::outbox_path(channel), version, data });
        let act = match doc.phase {
            Phase::Sending => "store that a message is being sent",
            Phase::Repeating => "store that a message is being repeated",
            Phase::Done => "store that a message is done",
        };
        self.store.commit(act, lead.term, writes).await?;
        let version = Some(version.map_or(Version(0), Version::next));
        lead.outboxes.insert(channel.to_owned(), Stored { value: doc, version });
        Ok(())
    }

    fn spawn(&mut self, channel: &str, n: u64, message: MessageDoc, is_repeat: bool) {
        let (Some(lead), Some(found)) = (&self.lead, self.file.channels().get(channel)) else {
            return;
        };
        let delivery = Delivery {
            name: channel.to_owned(),
            channel: Arc::clone(found),
            n,
            message,
            is_repeat,
            leaving: self.leaving.clone(),
        };
        let task = delivery.run(Arc::clone(&self.registry), lead.term.session);
        let id = self.sending.spawn(task).id();
        self.in_flight.insert(channel.to_owned(), (n, id));
    }

    /// Stores the documents that have changed, at intervals.
    pub(crate) async fn persist(&mut self) -> Result<(), StoreError> {
        if self.persisted.is_some_and(|last| last.elapsed() < PERSIST_INTERVAL) {
            return Ok(());
        }
        self.persisted = Some(Instant::now());
        self.persist_all().await
    }

    pub(crate) async fn persist_all(&mut self) -> Result<(), StoreError> {
        loop {
            let Some(lead) = &self.lead else { return Ok(()) };
            let (max_docs, max_bytes) = self.store.room();
            let (writes, docs) = {
                let mut board = self.board.lock();
                unstored(&mut board, max_docs.min(MAX_BATCH), max_bytes)
            };
            if writes.is_empty() {
                return Ok(());
            }
            self.store.commit("store the state of jobs", lead.term, writes).await?;
            set_stored(&mut self.board.lock(), docs);
        }
    }

    /// Returns the time at which a message or a write is due, in milliseconds since 1970 UTC.
    pub(crate) fn next_due(&self, silences: &SilenceView, now: i64) -> Option<i64> {
        let lead = self.lead.as_ref()?;
        let board = self.board.lock();
        let waits = |channel: &String| {
            !self.in_flight.contains_key(channel)
                && !board.notices(channel, &self.file, silences, now).is_empty()
        };
        let channels = self.file.channels().keys().filter(|channel| waits(channel));
        let free = |channel: &String| {
            let last = lead.outboxes.get(channel).map_or(now, |outbox| outbox.value.at);
            last.saturating_add(self.interval())
        };
        let message = channels.map(free).min();
        let is_unstored = board.jobs.values().any(|entry| entry.is_touched);
        let interval = i64::try_from(PERSIST_INTERVAL.as_millis()).unwrap_or(i64::MAX);
        message.into_iter().chain(is_unstored.then(|| now.saturating_add(interval))).min()
    }
}
