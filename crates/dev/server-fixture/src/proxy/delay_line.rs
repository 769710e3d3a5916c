//! Queue of the bytes in one direction of a connection.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Number of held bytes from which a direction reads no more, so that backpressure reaches its
/// sender.
const CAPACITY_BYTES: usize = 4 << 20;

/// Content that has arrived and not yet left, in order, with the earliest moment to leave.
#[derive(Debug, Default)]
pub(super) struct DelayLine {
    parcels: VecDeque<Parcel>,
    held_bytes: usize,
    has_ended: bool,
}

#[derive(Debug)]
struct Parcel {
    due: Instant,
    content: Content,
}

/// A piece of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Bytes that have not left yet, never empty.
    Bytes(Vec<u8>),
    /// End of the stream.
    End(End),
}

/// Kind of the end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// In an orderly way, after the last byte.
    Finished,
    /// By a reset, or another error.
    Broken,
}

impl DelayLine {
    /// Adds content that arrives now and may leave after `delay`.
    pub(super) fn arrive(&mut self, content: Content, delay: Duration) {
        match &content {
            Content::Bytes(bytes) => self.held_bytes += bytes.len(),
            Content::End(_) => self.has_ended = true,
        }
        self.parcels.push_back(Parcel { due: Instant::now() + delay, content });
    }

    /// Returns whether more may arrive.
    pub(super) fn accepts(&self) -> bool {
        !self.has_ended && self.held_bytes < CAPACITY_BYTES
    }

    /// Returns the earliest moment for the first parcel to leave, or `None` without parcels.
    pub(super) fn due(&self) -> Option<Instant> {
        self.parcels.front().map(|parcel| parcel.due)
    }

    /// Returns the content that leaves next, due or not.
    pub(super) fn first(&self) -> Option<&Content> {
        self.parcels.front().map(|parcel| &parcel.content)
    }

    /// Removes the first `n_bytes` of the first parcel.
    pub(super) fn leave(&mut self, n_bytes: usize) {
        let Some(Parcel { content: Content::Bytes(bytes), .. }) = self.parcels.front_mut() else {
            return;
        };
        bytes.drain(..n_bytes);
        self.held_bytes -= n_bytes;
        if bytes.is_empty() {
            self.parcels.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Content {
        Content::Bytes(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn parcels_leave_in_order_and_in_pieces() {
        let mut line = DelayLine::default();
        line.arrive(bytes("abc"), Duration::from_secs(5));
        line.arrive(bytes("d"), Duration::ZERO);
        line.arrive(Content::End(End::Broken), Duration::ZERO);
        assert!(line.due().unwrap() > Instant::now(), "the first parcel is delayed");
        for (n_bytes, expected) in [(2, bytes("abc")), (1, bytes("c")), (1, bytes("d"))] {
            assert_eq!(line.first(), Some(&expected));
            line.leave(n_bytes);
        }
        assert_eq!(line.first(), Some(&Content::End(End::Broken)));
    }

    #[tokio::test]
    async fn full_line_and_ended_line_accept_no_content() {
        let mut line = DelayLine::default();
        line.arrive(Content::Bytes(vec![0; CAPACITY_BYTES]), Duration::ZERO);
        assert!(!line.accepts(), "full");
        line.leave(1);
        assert!(line.accepts(), "one byte has left");
        line.arrive(Content::End(End::Finished), Duration::ZERO);
        assert!(!line.accepts(), "ended");
    }
}
