//! What a worker says.

use std::io::{Write, stdout};
use std::process::exit;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::protocol::{Fact, Said};

/// The exit status of a worker that nobody hears any more.
const UNHEARD: i32 = 70;

/// Says what happened, now. A worker that cannot be heard ends: what it does from then on nobody would know.
pub(super) fn say(ev: Said) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let said = serde_json::to_vec(&Fact { at, ev }).map_err(std::io::Error::from);
    let said = said.and_then(|mut line| {
        line.push(b'\n');
        let mut output = stdout().lock();
        output.write_all(&line)?;
        output.flush()
    });
    if said.is_err() {
        exit(UNHEARD);
    }
}
