//! Everything that a driver waits for.

use std::future::pending;
use std::time::Duration;

use coordination::{Event, FencingToken, FireTime, OnceStage, Reply, Ticket};
use reg_center::{Change, Feed, Revision, SessionChange, SessionFeed};
use tokio::select;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::clock_check::ClockVerdict;
use crate::executor::FinishedRun;
use crate::seams::Seams;
use crate::{JobStatus, ShutdownReport};

/// How many changes, or ends, go into one batch. More than come in one moment, and little enough not to hold up everything
/// else while they are read.
const MAX_BATCH: usize = 10_000;

/// What a handle asks of its job. Each is answered when the coordinator knows.
#[derive(Debug)]
pub(crate) enum Request {
    Tell(Event, oneshot::Sender<()>),
    Status(oneshot::Sender<JobStatus>),
    Shutdown { deadline: Duration, report: oneshot::Sender<ShutdownReport> },
}

/// What the driver's own tasks have to say.
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
    /// An error handler wants the job to stop here.
    StopJob {
        reason: String,
    },
    /// The server of a job that was stopped is held back in the registry, or has been at this revision.
    HeldBack {
        revision: Revision,
    },
}

/// Where the driver's own tasks say it.
#[derive(Clone, Debug)]
pub(crate) struct Answers(mpsc::UnboundedSender<Box<Answer>>);

impl Answers {
    pub(crate) fn channel() -> (Self, mpsc::UnboundedReceiver<Box<Answer>>) {
        let (sender, inbox) = mpsc::unbounded_channel();
        (Self(sender), inbox)
    }

    /// The driver may have ended; then nobody waits for an answer.
    pub(crate) fn send(&self, answer: Answer) {
        let _ = self.0.send(Box::new(answer));
    }

    /// Waits until the driver has ended.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// One of the things that a driver waits for.
#[derive(Debug)]
pub(crate) enum Signal {
    Abort,
    Session(SessionChange),
    Request(Box<Request>),
    Answer(Answer),
    /// All runs that have ended by now, in order.
    Ended(Vec<FinishedRun>),
    Registry(Vec<Change>),
    Fire(FireTime),
    Wake,
}

/// Everything that a driver waits for, the most urgent first.
///
/// A channel keeps room for 32 messages also while it is empty: large messages are boxed, because most jobs do nothing most of the time.
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

impl Inbox {
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

    /// Returns the reasons to stop the job that nobody will ask for any more.
    pub(crate) fn left_over_stops(&mut self) -> impl Iterator<Item = String> {
        let answers = std::iter::from_fn(|| self.answers.try_recv().ok());
        answers.filter_map(|answer| match *answer {
            Answer::StopJob { reason } => Some(reason),
            Answer::Replied { .. }
            | Answer::Clock(_)
            | Answer::Called { .. }
            | Answer::HeldBack { .. } => None,
        })
    }

    /// Returns the fires that have come and that nobody will ask for any more.
    pub(crate) fn left_over_fires(&mut self) -> impl Iterator<Item = FireTime> {
        self.fires.close();
        std::iter::from_fn(|| self.fires.try_recv().ok())
    }
}

/// Returns the first of a queue with all that are there behind it, in order: whoever decides after each change alone decides in
/// the middle of a transaction, and whoever decides after each of a thousand ends looks at all items a thousand times.
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
    fn a_batch_is_all_that_is_there_in_order_up_to_a_limit() {
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
