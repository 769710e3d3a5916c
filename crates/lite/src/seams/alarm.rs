//! Exact alarms: one thread per process that sleeps through the last milliseconds before each
//! alarm.
//!
//! Tokio's timer has a resolution of a millisecond, and rounds up twice. The thread is started by
//! the first alarm and stays.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// A time, and the channel to wake at that time.
struct Alarm {
    at: Instant,
    wake: oneshot::Sender<()>,
}

/// Sender of alarms to the thread; `None` before the first alarm.
static ALARM_THREAD: Mutex<Option<mpsc::Sender<Alarm>>> = Mutex::new(None);

/// Returns a receiver that is ready after `rest`. It is an error if the thread does not run and
/// cannot be started.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(super) fn set(rest: Duration) -> io::Result<oneshot::Receiver<()>> {
    let at = Instant::now() + rest;
    let (wake, woken) = oneshot::channel();
    let mut alarm_thread = ALARM_THREAD.lock();
    let thread = match &*alarm_thread {
        Some(thread) => thread,
        None => alarm_thread.insert(start()?),
    };
    // The thread runs as long as the static sender exists.
    let _ = thread.send(Alarm { at, wake });
    Ok(woken)
}

fn start() -> io::Result<mpsc::Sender<Alarm>> {
    let (alarms, inbox) = mpsc::channel();
    thread::Builder::new().name("ejob-alarm".to_owned()).spawn(move || run(&inbox))?;
    Ok(alarms)
}

#[expect(clippy::disallowed_methods, reason = "this is the clock")]
fn run(inbox: &mpsc::Receiver<Alarm>) {
    // Ordered by time. The number keeps alarms of the same time apart.
    let mut waiting: BTreeMap<(Instant, u64), oneshot::Sender<()>> = BTreeMap::new();
    for number in 0_u64.. {
        let next = match waiting.first_key_value() {
            Some(((at, _), _)) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(Alarm { at, wake }) => drop(waiting.insert((at, number), wake)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        while let Some(first) = waiting.first_entry().filter(|first| first.key().0 <= now) {
            // The receiver may have stopped waiting.
            let _ = first.remove().send(());
        }
    }
}
