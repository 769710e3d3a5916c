//! Whether something is under way, agreed between the one who sends and the one who waits.

use std::sync::atomic::{AtomicU8, Ordering};

/// Nothing was executed.
const IDLE: u8 = 0;
/// A request was sent and not answered.
const SENT: u8 = 1;
/// The one who waited was told an error; nothing must be sent any more.
const GIVEN_UP: u8 = 2;

/// The right to send the requests of one transaction, one after the other.
///
/// It ends when the caller is told an error. So at most the one request that is under way then can still be executed,
/// and it comes before everything that the same session sends later.
#[derive(Debug, Default)]
pub(super) struct Ticket(AtomicU8);

impl Ticket {
    /// Takes the right to send a request. Returns false if it was given up.
    pub(super) fn send(&self) -> bool {
        self.change(IDLE, SENT)
    }

    /// Notes that the request was answered and nothing was executed. Returns false if the right was given up.
    pub(super) fn refused(&self) -> bool {
        self.change(SENT, IDLE)
    }

    /// Gives the right up. Returns true if nothing was executed and nothing will be.
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
    fn giving_up_is_certain_between_requests_only_and_ends_them() {
        let idle = Ticket::default();
        assert!(idle.give_up());
        assert!(!idle.send());

        let sent = Ticket::default();
        assert!(sent.send());
        assert!(!sent.give_up());
        assert!(!sent.refused());
        assert!(!sent.send());

        let refused = Ticket::default();
        assert!(refused.send() && refused.refused() && refused.send() && refused.refused());
        assert!(refused.give_up());
    }
}
