//! The inbox of a driver: all its channels, in order of urgency.

use std::future::pending;
use std::time::Duration;

use coordination::{Event, FencingToken, FireTime, JobName, Layout, OnceStage, Reply, Ticket};
use reg_center::{Change, Feed, Node, Revision, SessionChange, SessionFeed};
use tokio::select;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::clock_check::ClockVerdict;
use crate::executor::FinishedRun;
use crate::seams::Seams;
use crate::{JobStatus, ShutdownReport};

/// Maximum number of changes, or of run ends, in one batch. It exceeds the number that arrives at
/// once, and still bounds the time for which other signals wait.
const MAX_BATCH: usize = 10_000;

/// Request of a handle to its job. Each is answered when the coordinator has handled it.
#[derive(Debug)]
pub(crate) enum Request {
    Send(Event, oneshot::Sender<()>),
    Status(oneshot::Sender<JobStatus>),
    Shutdown { deadline: Duration, report: oneshot::Sender<ShutdownReport> },
}

/// Result that a task of the driver sends to it.
#[derive(Debug)]
pub(crate) enum Answer {
    Replied {
        ticket: Ticket,
        reply: Reply,
    },
    Clock(ClockVerdict),
    /// A once-per-cluster callback has returned.
    Called {
        stage: OnceStage,
        token: FencingToken,
    },
    /// An error handler wants the job to stop on this server.
    StopJob {
        reason: String,
    },
    /// The registry shows the server of a stopped job as paused or disabled, or did so at this
    /// revision.
    HeldBack {
        revision: Revision,
    },
    /// The nodes of the job, read apart from the feed; `None` if they could not be read.
    Read(Option<Vec<Node>>),
}

/// Sender of answers, for the tasks of the driver.
#[derive(Clone, Debug)]
pub(crate) struct Answers(mpsc::UnboundedSender<Box<Answer>>);

impl Answers {
    fn channel() -> (Self, mpsc::UnboundedReceiver<Box<Answer>>) {
        let (sender, inbox) = mpsc::unbounded_channel();
        (Self(sender), inbox)
    }

    /// Sends an answer. If the driver has ended, the answer is discarded.
    pub(crate) fn send(&self, answer: Answer) {
        let _ = self.0.send(Box::new(answer));
    }

    /// Waits until the driver has ended.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// The next input of a driver.
#[derive(Debug)]
pub(crate) enum Signal {
    Abort,
    Session(SessionChange),
    Request(Box<Request>),
    Answer(Answer),
    /// All runs that have ended so far, in order.
    Ended(Vec<FinishedRun>),
    Registry(Vec<Change>),
    Fire(FireTime),
    Wake,
}

/// All inputs of a driver, the most urgent first.
///
/// A channel reserves room for 32 messages even while it is empty. Large messages are boxed,
/// because most jobs are idle most of the time.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) abort: CancellationToken,
    pub(crate) sessions: SessionFeed,
    pub(crate) requests: mpsc::UnboundedReceiver<Box<Request>>,
    pub(crate) answers: mpsc::UnboundedReceiver<Box<Answer>>,
    pub(crate) ends: mpsc::UnboundedReceiver<Box<FinishedRun>>,
    pub(crate) feed: Feed,
    pub(crate) fires: mpsc::UnboundedReceiver<FireTime>,
}

/// Senders of the channels of an inbox.
#[derive(Debug)]
pub(crate) struct Senders {
    pub(crate) requests: mpsc::UnboundedSender<Box<Request>>,
    pub(crate) answers: Answers,
    pub(crate) ends: mpsc::UnboundedSender<Box<FinishedRun>>,
    pub(crate) fires: mpsc::UnboundedSender<FireTime>,
}

impl Inbox {
    /// Opens the channels of a job, and subscribes to the session and to the job's nodes.
    pub(crate) fn open(job: &JobName, seams: &Seams, abort: CancellationToken) -> (Self, Senders) {
        let (requests, requests_inbox) = mpsc::unbounded_channel();
        let (answers, answers_inbox) = Answers::channel();
        let (ends, ends_inbox) = mpsc::unbounded_channel();
        let (fires, fires_inbox) = mpsc::unbounded_channel();
        let inbox = Self {
            abort,
            sessions: seams.registry.session_feed(),
            requests: requests_inbox,
            answers: answers_inbox,
            ends: ends_inbox,
            feed: seams.registry.watch(&Layout::new(job).root()),
            fires: fires_inbox,
        };
        (inbox, Senders { requests, answers, ends, fires })
    }

    pub(crate) async fn next(&mut self, seams: &Seams, wake: Option<Duration>) -> Signal {
        let wake = async {
            match wake {
                Some(wake) => seams.clock.sleep_until(wake).await,
                None => pending().await,
            }
        };
        select! {
            biased;
            () = self.abort.cancelled() => Signal::Abort,
            Some(change) = self.sessions.next() => Signal::Session(change),
            Some(request) = self.requests.recv() => Signal::Request(request),
            Some(answer) = self.answers.recv() => Signal::Answer(*answer),
            Some(first) = self.ends.recv() => {
                Signal::Ended(batch(*first, || self.ends.try_recv().ok().map(|run| *run)))
            }
            Some(first) = self.feed.next() => {
                Signal::Registry(batch(first, || self.feed.try_next()))
            }
            Some(fire) = self.fires.recv() => Signal::Fire(fire),
            () = wake => Signal::Wake,
        }
    }

    /// Returns the queued reasons to stop the job. The driver calls it at its end.
    pub(crate) fn left_over_stops(&mut self) -> impl Iterator<Item = String> {
        let answers = std::iter::from_fn(|| self.answers.try_recv().ok());
        answers.filter_map(|answer| match *answer {
            Answer::StopJob { reason } => Some(reason),
            Answer::Replied { .. }
            | Answer::Clock(_)
            | Answer::Called { .. }
            | Answer::HeldBack { .. }
            | Answer::Read(_) => None,
        })
    }

    /// Returns the queued fires. The driver calls it at its end.
    pub(crate) fn left_over_fires(&mut self) -> impl Iterator<Item = FireTime> {
        self.fires.close();
        std::iter::from_fn(|| self.fires.try_recv().ok())
    }
}

/// Returns the first element of a queue and all queued behind it, in order.
///
/// A decision after each single change would be in the middle of a transaction. A decision after
/// each of a thousand ends would visit all items a thousand times.
fn batch<T>(first: T, next: impl FnMut() -> Option<T>) -> Vec<T> {
    std::iter::once(first).chain(std::iter::from_fn(next)).take(MAX_BATCH).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use reg_center::{Node, NodePath, Revision, Stat, Version, feed};

    use super::*;

    fn put(n: usize) -> Change {
        let stat = Stat {
            version: Version(0),
            created: Revision(1),
            modified: Revision(1),
            modified_at: None,
            owner: None,
        };
        let path = NodePath::root().join(&format!("{n:05}")).unwrap();
        Change::Put(Node { path, data: Bytes::new(), stat })
    }

    #[test]
    fn batch_has_all_queued_elements_in_order_up_to_a_limit() {
        for (case, n_sent, n_expected) in [
            ("one", 1, vec![1]),
            ("a transaction", 7, vec![7]),
            ("as many as fit", MAX_BATCH, vec![MAX_BATCH]),
            ("a flood", 2 * MAX_BATCH + 1, vec![MAX_BATCH, MAX_BATCH, 1]),
        ] {
            let (sender, mut feed) = feed::channel();
            let sent: Vec<_> = (0..n_sent).map(put).collect();
            for change in &sent {
                sender.send(change.clone());
            }
            let mut batches = Vec::new();
            while let Some(first) = feed.try_next() {
                batches.push(batch(first, || feed.try_next()));
            }
            assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), n_expected, "{case}");
            assert!(batches.concat() == sent, "{case}: the order has changed");
        }
    }
}
