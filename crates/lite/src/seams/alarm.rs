//! Exact alarms: one thread of the process that sleeps through the last stretch before each.
//!
//! Tokio's timer goes by milliseconds, and rounds up twice. The thread is started by the first alarm and stays.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Somebody to wake, and when.
struct Alarm {
    at: Instant,
    wake: oneshot::Sender<()>,
}

/// Where the thread is told of alarms; `None` until there is one.
static CLERK: Mutex<Option<mpsc::Sender<Alarm>>> = Mutex::new(None);

/// Returns what is ready after `rest`. An error if there is no thread and none can be started.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(super) fn set(rest: Duration) -> io::Result<oneshot::Receiver<()>> {
    let at = Instant::now() + rest;
    let (wake, woken) = oneshot::channel();
    let mut clerk = CLERK.lock();
    let thread = match &*clerk {
        Some(thread) => thread,
        None => clerk.insert(start()?),
    };
    // The thread ends when nobody can tell it of alarms any more.
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
    // By time, and by number where several are due at the same one.
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
            // Whoever waited may be gone.
            let _ = first.remove().send(());
        }
    }
}
