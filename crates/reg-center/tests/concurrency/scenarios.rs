//! Scenarios of several threads. Each function is one run; the scheduler chooses the interleaving.

use std::sync::Arc;
use std::time::Duration;

use reg_center::SessionId;
use shuttle::future::block_on;
use shuttle::thread;

use crate::broken::{LateHub, late_channel};
use crate::changes::{Reader, entry, gone, put};
use crate::feed::{Change, Feed, channel};
use crate::session::{SessionChange, SessionFeed, SessionHub};

/// Reads until the feed ends.
fn read_all(mut feed: Feed) -> Reader {
    let mut reader = Reader::default();
    while let Some(change) = block_on(feed.next()) {
        reader.take(change);
    }
    reader
}

pub(crate) fn one_state_and_the_end() {
    let (sender, mut feed) = channel();
    let writer = thread::spawn(move || assert!(sender.send(put("a", 0))));
    assert_eq!(block_on(feed.next()), Some(put("a", 0)));
    assert_eq!(block_on(feed.next()), None);
    writer.join().expect("the writer ends");
}

pub(crate) fn feed_is_read_to_its_end() {
    let (sender, feed) = channel();
    let writer = thread::spawn(move || {
        for change in [Change::Init, entry("a", 0), Change::Ready, put("a", 1)] {
            assert!(sender.send(change));
        }
    });
    read_all(feed).assert_knows(&[("a", 1)]);
    writer.join().expect("the writer ends");
}

pub(crate) fn states_coalesce() {
    let (sender, feed) = channel();
    let writer = thread::spawn(move || {
        let first =
            [Change::Init, entry("a", 0), entry("b", 0), Change::Ready, put("a", 1), gone("b")];
        let again =
            [Change::Init, entry("a", 2), Change::Ready, put("c", 0), put("a", 3), put("c", 1)];
        first.into_iter().chain(again).for_each(|change| assert!(sender.send(change)));
    });
    read_all(feed).assert_knows(&[("a", 3), ("c", 1)]);
    writer.join().expect("the writer ends");
}

pub(crate) fn two_writers() {
    let (sender, feed) = channel();
    let sender = Arc::new(sender);
    let writers = ["a", "b"].map(|name| {
        let sender = Arc::clone(&sender);
        thread::spawn(move || (0..3).for_each(|version| assert!(sender.send(put(name, version)))))
    });
    drop(sender);
    read_all(feed).assert_knows(&[("a", 2), ("b", 2)]);
    for writer in writers {
        writer.join().expect("the writer ends");
    }
}

pub(crate) fn reader_goes() {
    let (sender, mut feed) = channel();
    let reader = thread::spawn(move || {
        let _ = feed.try_next();
    });
    block_on(sender.closed());
    assert!(sender.is_closed() && !sender.send(put("a", 1)));
    reader.join().expect("the reader ends");
}

fn lost(session: i64) -> SessionChange {
    SessionChange::Lost { session: SessionId(session) }
}

fn connected(session: i64) -> SessionChange {
    SessionChange::Connected { session: SessionId(session), timeout: Duration::from_secs(1) }
}

const N_CHANGES: usize = 4;

fn changes() -> [SessionChange; N_CHANGES] {
    [connected(1), lost(1), connected(2), SessionChange::Closed]
}

/// Asserts that a subscriber gets a suffix of the published changes, from the state at its
/// subscription on.
fn assert_gets_a_suffix(mut feed: SessionFeed) {
    let mut received = Vec::new();
    while let Some(change) = block_on(feed.next()) {
        received.push(change);
    }
    assert!(!received.is_empty() && changes().ends_with(&received), "{received:?}");
}

pub(crate) fn hub_delivers_to_a_subscriber() {
    let hub = Arc::new(SessionHub::new());
    let publisher = Arc::clone(&hub);
    let publisher =
        thread::spawn(move || changes().into_iter().for_each(|change| publisher.publish(change)));
    assert_gets_a_suffix(hub.subscribe());
    publisher.join().expect("the publisher ends");
    assert_eq!(hub.current(), Some(SessionChange::Closed));
}

pub(crate) fn hub_delivers_to_all() {
    let hub = Arc::new(SessionHub::new());
    let subscribers = [0, 1].map(|_| {
        let hub = Arc::clone(&hub);
        thread::spawn(move || assert_gets_a_suffix(hub.subscribe()))
    });
    drop(hub.subscribe());
    changes().into_iter().for_each(|change| hub.publish(change));
    for subscriber in subscribers {
        subscriber.join().expect("the subscriber ends");
    }
}

/// As [`feed_is_read_to_its_end`], with a channel that misses a wake-up.
pub(crate) fn late_waker() {
    let (sender, feed) = late_channel();
    let writer = thread::spawn(move || sender.send(7));
    assert_eq!(block_on(feed.next()), 7);
    writer.join().expect("the writer ends");
}

/// As [`hub_delivers_to_a_subscriber`], with a hub that reads its state before it adds the
/// subscriber.
pub(crate) fn late_subscriber() {
    let hub = Arc::new(LateHub::default());
    let publisher = Arc::clone(&hub);
    let publisher =
        thread::spawn(move || [1, 2].into_iter().for_each(|change| publisher.publish(change)));
    let (first, feed) = hub.subscribe();
    publisher.join().expect("the publisher ends");
    let received: Vec<_> = first.into_iter().chain(feed.lock().iter().copied()).collect();
    assert!([1, 2].ends_with(&received) && !received.is_empty(), "{received:?}");
}
