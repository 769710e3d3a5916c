//! The log of sign-ins, sign-outs and refusals.

use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Role;

/// Target of the log lines.
pub(super) const TARGET: &str = "job_console::access";

const INTERVAL: Duration = Duration::from_secs(60);

/// Most lines of each kind in an interval.
const MAX_LINES: u32 = 60;

/// Most characters of a name that a client has sent.
const MAX_CHARACTERS: usize = 64;

/// Most characters of a reason, which may quote a header.
const MAX_REASON: usize = 300;

/// Writes the log. A flood of refusals does not suppress sign-ins.
#[derive(Debug, Default)]
pub(super) struct AccessLog {
    sign_ins: Gate,
    sign_outs: Gate,
    refusals: Gate,
}

/// Lets a number of lines pass in an interval, and counts the others.
#[derive(Debug, Default)]
struct Gate(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    began: Option<Instant>,
    lines: u32,
    suppressed: u64,
}

impl Gate {
    /// Returns the number of suppressed lines before this one, or `None` if it is suppressed.
    fn pass(&self) -> Option<u64> {
        let now = Instant::now();
        let mut window = self.0.lock();
        if window.began.is_none_or(|began| now.duration_since(began) >= INTERVAL) {
            (window.began, window.lines) = (Some(now), 0);
        }
        if window.lines >= MAX_LINES {
            window.suppressed += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.suppressed))
    }
}

impl AccessLog {
    pub(super) fn signed_in(&self, name: &str, role: Role, client: Option<IpAddr>) {
        if let Some(suppressed) = self.sign_ins.pass() {
            let (user, client) = (shown(name), address(client));
            tracing::info!(target: TARGET, user, %role, client, suppressed, "signed in");
        }
    }

    pub(super) fn signed_out(&self, name: &str, client: Option<IpAddr>) {
        if let Some(suppressed) = self.sign_outs.pass() {
            let (user, client) = (shown(name), address(client));
            tracing::info!(target: TARGET, user, client, suppressed, "signed out");
        }
    }

    /// Logs a refusal with its reason, and the name if the client has given one.
    pub(super) fn refused(&self, reason: &str, name: Option<&str>, client: Option<IpAddr>) {
        if let Some(suppressed) = self.refusals.pass() {
            let (user, client) = (name.map(shown), address(client));
            let reason: String =
                reason.chars().filter(|c| !c.is_control()).take(MAX_REASON).collect();
            tracing::warn!(target: TARGET, reason, user, client, suppressed, "refused");
        }
    }
}

/// Returns the beginning of a text without characters that act on a terminal or on a log file.
fn shown(text: &str) -> String {
    text.chars().take(MAX_CHARACTERS).flat_map(char::escape_debug).collect()
}

fn address(client: Option<IpAddr>) -> String {
    client.map_or_else(|| "unknown".to_owned(), |client| client.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lines_are_limited_and_suppressed_ones_counted() {
        let gate = Gate::default();
        for _ in 0..MAX_LINES {
            assert_eq!(gate.pass(), Some(0));
        }
        assert_eq!((gate.pass(), gate.pass()), (None, None));
        tokio::time::advance(INTERVAL).await;
        assert_eq!((gate.pass(), gate.pass()), (Some(2), Some(0)));
    }

    #[test]
    fn texts_of_clients_are_short_and_cannot_forge_lines() {
        assert_eq!(shown("an\nna\u{1b}[31m\u{202e}"), "an\\nna\\u{1b}[31m\\u{202e}");
        assert_eq!(shown(&"x".repeat(1000)), "x".repeat(MAX_CHARACTERS));
    }
}
