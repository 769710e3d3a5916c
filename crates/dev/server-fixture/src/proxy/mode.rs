//! Behaviours of the network between a client and its server.

use std::time::Duration;

/// The behaviour of a proxy.
///
/// | mode | new connections | existing connections | requests | replies |
/// |---|---|---|---|---|
/// | `Pass` | accepted | stay | pass | pass |
/// | `Delay` | accepted | stay | pass later | pass later |
/// | `BlackHole` | accepted | stay | held | held |
/// | `HoldReplies` | accepted | stay | pass | held |
/// | `HoldRequests` | accepted | stay | held | pass |
/// | `Close` | accepted, closed | closed (FIN) | – | – |
/// | `Reset` | accepted, reset | reset (RST) | – | – |
/// | `Refuse` | refused | closed (FIN) | – | – |
///
/// Held bytes and a held end of a stream continue in order when a later mode lets them pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// All bytes pass at once.
    Pass,
    /// All bytes are delayed by this time in each direction, so that a round trip takes twice as
    /// long.
    ///
    /// The delay does not limit the throughput. Bytes that arrived before or after this mode are
    /// not delayed, except behind delayed ones.
    Delay(Duration),
    /// No bytes pass, without notice to either side, as if a cable were pulled out.
    BlackHole,
    /// Requests are executed and their replies held, so that the outcome of a write is unknown.
    HoldReplies,
    /// Requests are held, while notifications and earlier replies pass.
    HoldRequests,
    /// Every connection ends in an orderly way, as if the server shut down.
    Close,
    /// Every connection is reset, as if a firewall had lost its state.
    Reset,
    /// New connections are refused and existing ones end in an orderly way, as if no server ran.
    Refuse,
}

/// Kind of end of a connection by the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// In an orderly way (FIN): each side reads the end of the stream.
    Close,
    /// By a reset (RST): each side gets an error.
    Reset,
}

/// A direction through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the client to the server.
    Requests,
    /// From the server to the client.
    Replies,
}

impl Mode {
    /// Returns whether bytes may leave the proxy in `direction`.
    pub(super) fn passes(self, direction: Direction) -> bool {
        match self {
            Mode::Pass | Mode::Delay(_) => true,
            Mode::HoldReplies => direction == Direction::Requests,
            Mode::HoldRequests => direction == Direction::Replies,
            Mode::BlackHole | Mode::Close | Mode::Reset | Mode::Refuse => false,
        }
    }

    /// Returns the delay of bytes that arrive now.
    pub(super) fn delay(self) -> Duration {
        match self {
            Mode::Delay(delay) => delay,
            Mode::Pass
            | Mode::BlackHole
            | Mode::HoldReplies
            | Mode::HoldRequests
            | Mode::Close
            | Mode::Reset
            | Mode::Refuse => Duration::ZERO,
        }
    }

    /// Returns the end of every connection, if this mode allows no connections.
    pub(super) fn cut(self) -> Option<Cut> {
        match self {
            Mode::Close | Mode::Refuse => Some(Cut::Close),
            Mode::Reset => Some(Cut::Reset),
            Mode::Pass
            | Mode::Delay(_)
            | Mode::BlackHole
            | Mode::HoldReplies
            | Mode::HoldRequests => None,
        }
    }

    /// Returns whether the proxy listens for connections.
    pub(super) fn listens(self) -> bool {
        self != Mode::Refuse
    }
}
