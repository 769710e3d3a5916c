//! Signs of life: of the session towards the server, and of the server towards the center.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_channel::mpsc;
use reg_center::{Lease, SessionId};
use tokio::sync::mpsc::UnboundedReceiver;
use tonic::Streaming;

use super::Shared;
use super::link::Link;
use super::watches::WatchNews;
use crate::client::messages::{LeaseKeepAliveRequest, LeaseKeepAliveResponse, WatchResponse};
use crate::client::{Client, Failure};

/// Number of keep-alives per timeout.
const BEATS: u32 = 6;
/// A server that has not answered for this part of the timeout cannot be used. Together with the
/// interval of the keep-alives, a center notices after half of the timeout at the latest.
const PATIENCE: u32 = 3;

/// The keep-alives of a session on one connection.
pub(super) struct KeepAlive {
    session: SessionId,
    requests: mpsc::UnboundedSender<LeaseKeepAliveRequest>,
    answers: Streaming<LeaseKeepAliveResponse>,
    /// When each request was sent that has no answer yet.
    unanswered: VecDeque<Instant>,
}

impl KeepAlive {
    pub(super) async fn begin(client: &Client, session: SessionId) -> Result<Self, Failure> {
        let (requests, receiver) = mpsc::unbounded();
        let unanswered = VecDeque::from([Instant::now()]);
        send(&requests, session);
        let answers = client.keep_alive(receiver).await?;
        Ok(Self { session, requests, answers, unanswered })
    }
}

fn send(requests: &mpsc::UnboundedSender<LeaseKeepAliveRequest>, session: SessionId) {
    // Fails only if the stream has ended, which the next answer reports.
    let _ = requests.unbounded_send(LeaseKeepAliveRequest { id: session.0 });
}

/// Keeps the lease of a session alive until its link ends.
///
/// The lease counts from the sending of each answered keep-alive. The leader restarts the time to
/// live when it gets the request, which is later.
pub(super) async fn keep_alive(
    link: Arc<Link>,
    shared: Arc<Shared>,
    timeout: Duration,
    keep_alive: KeepAlive,
) {
    let KeepAlive { session, requests, mut answers, mut unanswered } = keep_alive;
    let mut beats = tokio::time::interval(timeout / BEATS);
    beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = link.ended() => return,
            answer = answers.message() => match answer {
                Ok(Some(answer)) => {
                    let Some(sent) = unanswered.pop_front() else { continue };
                    if !extend(&shared.lease, session, sent, answer) {
                        return link.fail("the lease of the session is over");
                    }
                }
                Ok(None) => return link.fail("the server has ended the keep-alives"),
                Err(status) => return link.fail(&format!("keep-alive: {}", status.message())),
            },
            _ = beats.tick() => {
                let now = Instant::now();
                if is_late(unanswered.front(), now, timeout) {
                    return link.fail("the server does not answer keep-alives");
                }
                unanswered.push_back(now);
                send(&requests, session);
            }
        }
    }
}

/// Extends the lease after an answered keep-alive. Returns false if the lease is over.
fn extend(
    lease: &Lease,
    session: SessionId,
    sent: Instant,
    answer: LeaseKeepAliveResponse,
) -> bool {
    let seconds = u64::try_from(answer.ttl).unwrap_or(0);
    if seconds > 0 {
        lease.extend(session, sent, Duration::from_secs(seconds));
    }
    seconds > 0
}

fn is_late(oldest: Option<&Instant>, now: Instant, timeout: Duration) -> bool {
    oldest.is_some_and(|sent| now.duration_since(*sent) >= timeout / PATIENCE)
}

/// Delivers the answers of the watch stream until the link ends.
///
/// A stream can die without an error while the connection lives. So the server is asked for an
/// answer again and again, which it gives in order with all others. It answers only if the stream
/// has a watch: the key of the session is watched, which also reports its end at once.
pub(super) async fn watch(
    link: Arc<Link>,
    timeout: Duration,
    mut answers: Streaming<WatchResponse>,
    mut session_key: UnboundedReceiver<WatchNews>,
) {
    let mut asks = tokio::time::interval(timeout / BEATS);
    asks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut waiting_since = None;
    let cause = loop {
        tokio::select! {
            () = link.ended() => break link.cause(),
            answer = answers.message() => match answer {
                Ok(Some(answer)) => {
                    waiting_since = None;
                    if let Err(cause) = link.watches.deliver(answer) {
                        break cause;
                    }
                }
                Ok(None) => break "the server has ended the watches".to_owned(),
                Err(status) => break format!("watch: {}", status.message()),
            },
            news = session_key.recv() => match news {
                Some(WatchNews::Events(_)) => break "the session's key was changed".to_owned(),
                Some(WatchNews::Canceled { compacted, reason }) => {
                    break format!("the watch of the session's key has ended: {}", match compacted {
                        true => "its begin was compacted",
                        false => reason.as_str(),
                    });
                }
                None => break "the watch of the session's key has ended".to_owned(),
            },
            _ = asks.tick() => {
                let now = Instant::now();
                if is_late(waiting_since.as_ref(), now, timeout) {
                    break "the server does not answer on the watch stream".to_owned();
                }
                waiting_since.get_or_insert(now);
                link.watches.ask_for_progress();
            }
        }
    };
    link.fail(&cause);
    link.watches.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_time_to_live_ends_the_lease() {
        let (lease, session, now) = (Lease::default(), SessionId(1), Instant::now());
        lease.begin(session, now, Duration::from_secs(3));
        assert!(extend(&lease, session, now, LeaseKeepAliveResponse { ttl: 30 }));
        assert_eq!(lease.remaining(session, now), Some(Duration::from_secs(20)));
        for ttl in [0, -1] {
            assert!(!extend(&lease, session, now, LeaseKeepAliveResponse { ttl }), "{ttl}");
        }
    }

    #[test]
    fn a_server_is_late_after_a_third_of_the_timeout() {
        let (sent, timeout) = (Instant::now(), Duration::from_secs(3));
        let after = |ms| sent + Duration::from_millis(ms);
        assert!(!is_late(None, after(9_000), timeout));
        assert!(!is_late(Some(&sent), after(999), timeout));
        assert!(is_late(Some(&sent), after(1_000), timeout));
    }
}
