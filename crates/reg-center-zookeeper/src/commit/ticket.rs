//! State of a transaction's current request, shared by the sending task and the caller.

use std::sync::atomic::{AtomicU8, Ordering};

/// No request was executed or is pending.
const IDLE: u8 = 0;
/// A request was sent and not answered.
const SENT: u8 = 1;
/// The caller got an error; no further request may be sent.
const GIVEN_UP: u8 = 2;

/// The permission to send the requests of one transaction, one after the other.
///
/// The permission ends when the caller gets an error. At most the one pending request can then
/// still be executed, and it comes before all later requests of the same session.
#[derive(Debug, Default)]
pub(super) struct Ticket(AtomicU8);

impl Ticket {
    /// Starts a request. Returns false if the caller has given up.
    pub(super) fn send(&self) -> bool {
        self.change(IDLE, SENT)
    }

    /// Records that the request was answered and not executed. Returns false if the caller has
    /// given up.
    pub(super) fn not_executed(&self) -> bool {
        self.change(SENT, IDLE)
    }

    /// Ends the permission. Returns true if no request was executed and none will be.
    pub(super) fn give_up(&self) -> bool {
        self.0.swap(GIVEN_UP, Ordering::AcqRel) == IDLE
    }

    fn change(&self, from: u8, to: u8) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn giving_up_has_a_known_outcome_only_between_requests() {
        let idle = Ticket::default();
        assert!(idle.give_up());
        assert!(!idle.send());

        let sent = Ticket::default();
        assert!(sent.send());
        assert!(!sent.give_up());
        assert!(!sent.not_executed());
        assert!(!sent.send());

        let answered = Ticket::default();
        assert!(answered.send() && answered.not_executed());
        assert!(answered.send() && answered.not_executed());
        assert!(answered.give_up());
    }
}
